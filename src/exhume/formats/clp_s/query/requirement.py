"""What the records of a table have to fulfil: a resolved condition, reduced to checks of the columns that are there."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from exhume.formats.clp_s.layout import MAX_NODE_ID, NodeType, Schema, is_marker
from exhume.formats.clp_s.query.condition import EXISTS, MISSING, AllOf, ColumnTest, Condition, tests_of
from exhume.formats.clp_s.query.operand import ARRAYS, type_names
from exhume.formats.clp_s.query.options import Dialect
from exhume.formats.clp_s.query.tree import Key

if TYPE_CHECKING:
    from exhume.formats.clp_s.query.resolve import Resolver


@dataclass(frozen=True, slots=True)
class Check:
    """A filter on the columns of `node` (None: of all columns, by type) of one table.

    `types` are the literal types at stake; `rest`: keys that are left for the elements of an unstructured array.
    """

    test: ColumnTest
    node: int | None
    types: int
    rest: tuple[Key, ...] = ()

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for checks with equal results: the test by its identity, since hashing it takes longer than a check."""
        return (self.node, id(self.test), self.types, self.rest)


@dataclass(frozen=True, slots=True)
class EveryPart:
    """All of the parts."""

    parts: tuple[Requirement, ...]


@dataclass(frozen=True, slots=True)
class AnyPart:
    """One of the parts."""

    parts: tuple[Requirement, ...]


Requirement = bool | Check | EveryPart | AnyPart


def simplify(kind: type[EveryPart | AnyPart], parts: Iterator[Requirement]) -> Requirement:
    """Parts under one node, constants folded away."""
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
    """All checks below a part."""
    stack = [part]
    while stack:
        part = stack.pop()
        if isinstance(part, Check):
            yield part
        elif not isinstance(part, bool):
            stack += part.parts


def fold(part: Requirement, decide: Callable[[Check], Requirement]) -> Requirement:
    """The same part with each check replaced by what `decide` makes of it."""
    if isinstance(part, bool):
        return part
    if isinstance(part, Check):
        return decide(part)
    folded = []
    for inner in part.parts:
        folded.append(fold(inner, decide))  # noqa: PERF401 - a frame less per level
    return simplify(type(part), iter(folded))


def describe_check(check: Check) -> str:
    """A check in words."""
    where = "any column" if check.node is None else f"node {check.node}"
    return f"{check.test} ({where}: {', '.join(type_names(check.types))})"


class SchemaRequirements:
    """What a resolved condition requires of the records of each schema.

    Hundreds of schemas differ in columns that the query does not name: those that agree on what it names share a part.
    """

    def __init__(
        self, condition: Condition, resolver: Resolver, schemas: Mapping[int, Schema], dialect: Dialect
    ) -> None:
        self.condition = condition
        self.resolver = resolver
        self.schemas = schemas
        self.last: bool = dialect.last_column
        # By the identity of the test, which the condition keeps alive: to hash one takes longer than to answer it.
        self._named: dict[int, tuple[frozenset[int], tuple[Key, ...]]] = {}
        self._everything = False
        for test in tests_of(condition):
            if test.column.everything:
                self._everything = True
            else:
                self._named[id(test)] = resolver.nodes(test)
        self._parts: dict[tuple[int | None, ...], Requirement] = {}

    def part(self, schema_id: int) -> Requirement:
        """What the records of a schema have to fulfil."""
        order = self._schema(schema_id)
        types = self._types(order) if self._everything else 0
        searched = [self._column(nodes, order) for nodes, _ in self._named.values()]
        key = (types, *searched)
        found = self._parts.get(key)
        if found is None:
            found = self._part(self.condition, types, dict(zip(self._named, searched, strict=True)))
            self._parts[key] = found
        return found

    def _part(self, condition: Condition, types: int, searched: Mapping[int, int | None]) -> Requirement:
        """`types`: the literal types of the schema's columns; `searched`: the node for each test of a named column."""
        if isinstance(condition, ColumnTest):
            if condition.column.everything:
                return self._any_column(condition, types)
            return self._one_column(condition, searched[id(condition)])
        parts = []
        for child in condition.children:
            parts.append(self._part(child, types, searched))  # noqa: PERF401 - a frame less per level
        return simplify(EveryPart if isinstance(condition, AllOf) else AnyPart, iter(parts))

    def _schema(self, schema_id: int) -> tuple[int, ...]:
        """The nodes of a schema in its order."""
        nodes, size = tuple(self.schemas[schema_id].entries), len(self.resolver.tree)
        if nodes and (min(nodes) < 0 or max(nodes) >= min(size, MAX_NODE_ID + 1)):  # markers, or no nodes
            nodes = tuple(n for n in nodes if not is_marker(n) and 0 <= n < size)
        return nodes

    def _types(self, order: Collection[int]) -> int:
        """The literal types of these columns."""
        tree = self.resolver.tree
        metadata = tree.roots.get((b"", NodeType.METADATA))
        types = 0
        for node in order:
            if metadata is None or tree.parents[node] != metadata:
                types |= self.resolver.types[node]
        return types

    def _column(self, nodes: frozenset[int], order: Sequence[int]) -> int | None:
        """The one node of a schema that is searched for a column."""
        if nodes.isdisjoint(order):
            return None
        return next(node for node in (reversed(order) if self.last else order) if node in nodes)

    @staticmethod
    def _any_column(test: ColumnTest, types: int) -> Requirement:
        if test.op in (EXISTS, MISSING):
            return True
        types &= test.types
        return Check(test, None, types) if types else test.inverted

    def _one_column(self, test: ColumnTest, node: int | None) -> Requirement:
        rest = self._named[id(test)][1]
        if test.op == MISSING:
            return node is None
        if node is None:
            return False
        types = self.resolver.types[node]
        if test.op == EXISTS:
            return Check(test, node, types, rest) if rest and types == ARRAYS else True
        return Check(test, node, types, rest if types == ARRAYS else ())
