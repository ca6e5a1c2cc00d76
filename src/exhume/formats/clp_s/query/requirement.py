"""Requirements: what the records of one table have to fulfill to match a query.

A table has the records of one schema (set of schema tree nodes; a node is a key path with a type).  A requirement is
the resolved condition of the query, reduced to checks of the columns that the table's schema has; True or False if that
decides it.  Arrays that are stored as text are checked element by element (`ArrayTest`).  "Native search" is that of
the reference implementation, whose results these are to equal.  `dialect` is what KQL means in the archive's version;
`resolver` finds the nodes that the column of a test names.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from exhume.formats.clp_s.layout import MAX_NODE_ID, NodeType, Schema, is_marker
from exhume.formats.clp_s.query.condition import EXISTS, MISSING, AllOf, ColumnTest, Condition, tests_of
from exhume.formats.clp_s.query.operand import ARRAYS, FLOATS, type_names
from exhume.formats.clp_s.query.tree import EQUAL, Dialect, Key
from exhume.formats.clp_s.query.wildcard import STAR, Wildcard
from exhume.tuples import NamedTuple

if TYPE_CHECKING:
    from exhume.formats.clp_s.query.resolve import Resolver


class Check(NamedTuple):
    """A test of the columns of one node of a table.

    Attributes:
        test: The test, from the condition of the query.
        node: The node; None for all columns of the given types.
        types: The literal types that may match, as bits.
        rest: The keys of the column's path below the node, which is then an array stored as text.
    """

    test: ColumnTest
    node: int | None
    types: int
    rest: tuple[Key, ...] = ()

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for checks with equal results: the test by its identity, since hashing it takes longer than a check."""
        return (self.node, id(self.test), self.types, self.rest)


class EveryPart(NamedTuple):
    """A requirement that is met if all of its parts are."""

    parts: tuple[Requirement, ...]


class AnyPart(NamedTuple):
    """A requirement that is met if one of its parts is."""

    parts: tuple[Requirement, ...]


Requirement = bool | Check | EveryPart | AnyPart


def simplify(kind: type[EveryPart | AnyPart], parts: Iterator[Requirement]) -> Requirement:
    """Join parts by AND or OR: constants are folded away, and parts of the same kind are merged."""
    # True does not change an AND, nor False an OR; the other constant decides it.
    neutral = kind is EveryPart
    kept: list[Requirement] = []
    for part in parts:
        if isinstance(part, bool):
            if part is not neutral:
                return part
        elif isinstance(part, kind):
            kept += part.parts
        else:
            kept.append(part)
    if not kept:
        return neutral
    return kept[0] if len(kept) == 1 else kind(tuple(kept))


def checks_of(part: Requirement) -> Iterator[Check]:
    """Yield all checks in a requirement."""
    stack = [part]
    while stack:
        part = stack.pop()
        if isinstance(part, Check):
            yield part
        elif not isinstance(part, bool):
            stack += part.parts


def fold(part: Requirement, decide: Callable[[Check], Requirement]) -> Requirement:
    """Return a requirement with each check replaced by the result of `decide`, and simplified."""
    if isinstance(part, bool):
        return part
    if isinstance(part, Check):
        return decide(part)
    folded = []
    for inner in part.parts:
        folded.append(fold(inner, decide))  # noqa: PERF401 - a frame less per level
    return simplify(type(part), iter(folded))


def describe_check(check: Check) -> str:
    """Return a check in words, for `--explain-plan`."""
    where = "any column" if check.node is None else f"node {check.node}"
    return f"{check.test} ({where}: {', '.join(type_names(check.types))})"


class SchemaRequirements:
    """The requirement of a resolved condition for the records of each schema.

    Hundreds of schemas differ only in columns that the query does not name: they share a requirement, which is computed
    once.
    """

    def __init__(
        self, condition: Condition, resolver: Resolver, schemas: Mapping[int, Schema], dialect: Dialect
    ) -> None:
        """Find the nodes that each test of the condition names."""
        self.condition = condition
        self.resolver = resolver
        self.schemas = schemas
        self.last: bool = dialect.last_column  # of several matching nodes of a schema, the last one is searched
        # The nodes and the rest of the path of each test, by its identity: hashing a test takes longer than a check.
        self._named: dict[int, tuple[frozenset[int], tuple[Key, ...]]] = {}
        # Whether a test is of any column.
        self._everything = False
        for test in tests_of(condition):
            if test.column.everything:
                self._everything = True
            else:
                self._named[id(test)] = resolver.nodes(test)
        # Requirements by what determines them: the types of all columns, and the node for each test.
        self._parts: dict[tuple[int | None, ...], Requirement] = {}

    def part(self, schema_id: int) -> Requirement:
        """Return what the records of a schema have to fulfill.

        Schemas with the same columns for the query share the result.
        """
        order = self._schema(schema_id)  # its nodes
        # The types matter only to tests of any column: schemas that differ in nothing else share the result.
        types = self._types(order) if self._everything else 0
        searched = [self._column(nodes, order) for nodes, _ in self._named.values()]
        key = (types, *searched)
        found = self._parts.get(key)
        if found is None:
            found = self._part(self.condition, types, dict(zip(self._named, searched, strict=True)))
            self._parts[key] = found
        return found

    def _part(self, condition: Condition, types: int, searched: Mapping[int, int | None]) -> Requirement:
        """Return what a condition requires of one schema.

        `types`: the literal types of the schema's columns; `searched`: the node for each test of a named column.
        """
        if isinstance(condition, ColumnTest):
            if condition.column.everything:
                return self._any_column(condition, types)
            return self._one_column(condition, searched[id(condition)])
        parts = []
        for child in condition.children:
            parts.append(self._part(child, types, searched))  # noqa: PERF401 - a frame less per level
        return simplify(EveryPart if isinstance(condition, AllOf) else AnyPart, iter(parts))

    def _schema(self, schema_id: int) -> tuple[int, ...]:
        """Return the nodes of a schema in its order, without those that do not exist."""
        nodes, size = tuple(self.schemas[schema_id].entries), len(self.resolver.tree)
        if nodes and (min(nodes) < 0 or max(nodes) >= min(size, MAX_NODE_ID + 1)):  # markers, or no nodes
            nodes = tuple(node for node in nodes if not is_marker(node) and 0 <= node < size)
        return nodes

    def _types(self, order: Collection[int]) -> int:
        """Return the literal types of these nodes as bits, without the archive's internal columns (metadata)."""
        tree = self.resolver.tree
        metadata = tree.roots.get((b"", NodeType.METADATA))
        types = 0
        for node in order:
            if metadata is None or tree.parents[node] != metadata:
                types |= self.resolver.types[node]
        return types

    def _column(self, nodes: frozenset[int], order: Sequence[int]) -> int | None:
        """Return the node of a schema (nodes in `order`) that is searched for a column; None if it has none.

        If several `nodes` of the column are in it, this is the first or last, by the dialect.
        """
        if nodes.isdisjoint(order):
            return None
        return next(node for node in (reversed(order) if self.last else order) if node in nodes)

    @staticmethod
    def _any_column(test: ColumnTest, types: int) -> Requirement:
        """Return what a test of any column requires; `types` are those of the schema's columns."""
        if test.op in (EXISTS, MISSING):
            return True
        types &= test.types
        return Check(test, None, types) if types else test.inverted

    def _one_column(self, test: ColumnTest, node: int | None) -> Requirement:
        """Return what a test of one column requires, given the node of that column in the schema."""
        _, rest = self._named[id(test)]  # keys of the path that are inside an array
        if test.op == MISSING:
            return node is None
        if node is None:
            return False
        types = self.resolver.types[node]
        if test.op == EXISTS:
            # A path that continues inside an array: only its text shows whether the key exists.
            return Check(test, node, types, rest) if rest and types == ARRAYS else True
        return Check(test, node, types, rest if types == ARRAYS else ())


MOST_KNOWN: Final = 1 << 16
"""Results for different arrays that are kept, to bound the memory."""


class _Members(list[tuple[str, Any]]):
    """The members of a JSON object in order, equal names included."""


def _parse_array(text: bytes) -> Any:
    """Parse the JSON text of an array; bytes that are not UTF-8 become lone surrogates."""
    decoded = text.decode("utf-8", "surrogateescape")
    import json

    return json.loads(decoded, strict=False, object_pairs_hook=_Members)


class ArrayTest:
    """Tests whether an array, given as its JSON text, contains a value that a filter looks for.

    A filter on one column follows the keys that are left of its path through objects; a filter on any column examines
    all values.  As in the native search a range over array elements means "differs from", and a number that cannot be
    an integer is compared with integers without its fraction.
    """

    def __init__(self, check: Check, *, ignore_case: bool) -> None:
        """Prepare one check of an array column; `keys` is the rest of its path, which is searched in the JSON text."""
        self.test: ColumnTest = check.test
        self.anywhere: bool = check.node is None  # a filter on any column examines all values
        self.keys: list[str] = [key.name.decode("utf-8", "surrogateescape") for key in check.rest]
        operand = check.test.operand
        self.exists: bool = check.test.op == EXISTS  # whether only the key has to exist, with any value
        self.equal: bool = check.test.op == EQUAL  # else "differs from" for numbers, see the class
        self.operand = operand
        # For strings; None if the filter cannot match any.
        self.pattern: Wildcard | None = (
            Wildcard(operand.text, ignore_case) if operand is not None and operand.text is not None else None
        )
        self.numbers: bool = operand is not None and operand.number  # whether numbers can match
        if self.anywhere:
            self.numbers = self.numbers and bool(check.types & FLOATS)
        self.needle: bytes = self._needle()
        self._known: dict[bytes, bool] = {}  # results by text

    def _needle(self) -> bytes:
        """Return bytes that an array without escapes must contain for a string in it to match; b"" if unknown.

        This is the longest part of the pattern without wildcards, quotes and backslashes.  It helps only if nothing but
        strings can match.
        """
        operand = self.operand
        if operand is None or self.pattern is None or not self.equal or self.numbers or self.pattern.ignore_case:
            return b""
        # Also nulls or booleans can match, which do not contain the bytes.
        if operand.null or operand.boolean is not None:
            return b""
        longest, piece = b"", bytearray()
        for code in [*self.pattern.codes, STAR]:
            if code < STAR and code not in b'"\\':
                piece.append(code)
                continue
            longest = max(longest, bytes(piece), key=len)
            piece.clear()
        return longest

    def rules_out(self, text: bytes) -> bool:
        """Whether the text of one or more arrays cannot contain a match, decided without parsing it."""
        return bool(self.needle) and self.needle not in text and b"\\" not in text

    def verdict(self, text: bytes) -> bool:
        """The result of `matches`, computed once per text because arrays repeat."""
        found = self._known.get(text)
        if found is None:
            if len(self._known) > MOST_KNOWN:
                self._known.clear()
            found = self._known[text] = not self.rules_out(text) and self.matches(text)
        return found

    def matches(self, text: bytes) -> bool:
        """Whether the array of this text matches; what is not JSON does not."""
        try:
            return self._elements(_parse_array(text), 0)
        except (ValueError, RecursionError):
            return False

    def _elements(self, items: Any, depth: int) -> bool:
        """Return whether one of several JSON values fulfills the filter, see `_value`."""
        return any(self._value(item, depth) for item in items)

    def _value(self, item: Any, depth: int) -> bool:
        """Whether a JSON value fulfills the filter; `depth` is how many of `keys` were followed to it."""
        if isinstance(item, _Members):
            if self.anywhere:
                return self._elements([value for _, value in item], depth)
            return self._members(item, depth)
        if isinstance(item, list):
            return self._elements(item, depth)
        operand = self.operand
        if self.exists or operand is None:
            return False
        if item is None:
            return operand.null and self.equal
        if depth != len(self.keys) and not self.anywhere:  # keys are left, and only objects have members to follow
            return False
        if isinstance(item, bool):
            return operand.boolean is not None and self.equal and item is operand.boolean
        if isinstance(item, str):
            return (
                self.equal
                and self.pattern is not None
                and self.pattern.matches(item.encode("utf-8", "surrogateescape"))
            )
        if not self.numbers:
            return False
        if isinstance(item, float):
            is_same = item == operand.real
        else:  # as the native search stores integers in 64 bits
            is_same = (item - operand.array_integer) % (1 << 64) == 0
        return is_same == self.equal

    def _members(self, item: _Members, depth: int) -> bool:
        """Return whether an object inside an array passes the test at this depth of its keys."""
        if depth >= len(self.keys):
            return False
        for name, value in item:
            if name == self.keys[depth]:
                if depth + 1 == len(self.keys) and self.exists:
                    return True
                return self._value(value, depth + 1)
        return False
