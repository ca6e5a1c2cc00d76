"""Resolves the columns of a query: the nodes of the schema tree that a path names, and columns that start with `$`.

The schema tree has a node for each key and type below another node; a path such as `a.b` may name several.  Columns
that start with `$` are answered by metadata about records as a whole: timestamp ranges, and the range index (which
lists the ingestion units, such as input files, with their properties and the numbers of their records).

`keys` are the keys of a path, `rest` those that are left below an array stored as text; `op` is an operator of the
query, `dialect` what KQL means in the archive's version; `ignore_case` is for values, not keys.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from typing import Any, Final

from exhume.errors import LimitExceededError
from exhume.formats.clp_s.layout import NodeType, RangeEntry, SchemaTree, TimestampEncoding, TimestampRange
from exhume.formats.clp_s.query.condition import EXISTS, MISSING, NEVER, AllOf, AnyOf, ColumnTest, Condition, join
from exhume.formats.clp_s.query.operand import (
    ARRAYS,
    BOOLEANS,
    FLOATS,
    INTEGERS,
    NULLS,
    STRINGS,
    TEXTS,
    TIMES,
    Operand,
    compare,
)
from exhume.formats.clp_s.query.tree import EQUAL, GREATER_EQUAL, LESS, LESS_EQUAL, Column, Dialect, Key
from exhume.formats.clp_s.query.wildcard import Wildcard

LITERAL_TYPES: Final = {
    NodeType.INTEGER: INTEGERS,
    NodeType.DELTA_INTEGER: INTEGERS,
    NodeType.FLOAT: FLOATS,
    NodeType.FORMATTED_FLOAT: FLOATS,
    NodeType.DICTIONARY_FLOAT: FLOATS,
    NodeType.CLP_STRING: TEXTS,
    NodeType.VAR_STRING: STRINGS,
    NodeType.BOOLEAN: BOOLEANS,
    NodeType.UNSTRUCTURED_ARRAY: ARRAYS,
    NodeType.NULL_VALUE: NULLS,
    NodeType.DATE_STRING: TIMES,
    NodeType.TIMESTAMP: TIMES,
}
"""The literal type of each node type; other nodes have none."""

_KNOWN: Final = frozenset(LITERAL_TYPES)  # node types that have values

MANY_CHILDREN: Final = 8
"""Number of children of a node above which they are indexed by key."""

MAX_STEPS: Final = 3_000_000
"""Steps through the tree for one query; real archives take a few for each node and column."""

Nodes = tuple[frozenset[int], tuple[Key, ...]]
"""The nodes that a column names, and the rest of its path if they are arrays stored as text."""


class Resolver:
    """Finds the tree nodes that columns name, and removes filters on columns that the archive does not have."""

    def __init__(self, tree: SchemaTree) -> None:
        """Prepare to find the columns of `tree` that paths in queries name."""
        self.tree = tree
        # By node, its literal type as a bit, 0 if it has no values; and all of them together.
        self.types: list[int] = [
            LITERAL_TYPES.get(NodeType(node_type), 0) if node_type in _KNOWN else 0 for node_type in tree.types
        ]
        self.all_types: int = 0
        for kind in set(self.types):
            self.all_types |= kind
        self._named: dict[int, dict[bytes, list[int]]] = {}  # by node: its children by key
        self._steps = 0
        self._missed: set[str] = set()  # columns that a filter did not find
        self._met: set[str] = set()  # columns that a filter found
        self._found: dict[tuple[object, ...], Nodes] = {}  # results of `nodes`

    def run(self, condition: Condition) -> Condition:
        """Return the condition with only columns that exist; a path with wildcards becomes one filter for each node."""
        if not isinstance(condition, ColumnTest):
            children = []
            for child in condition.children:
                children.append(self.run(child))  # noqa: PERF401 - a frame less per level
            return join(type(condition), children)
        column = condition.column
        if column.everything:  # the lone wildcard: any column with a value of the filter's types
            return condition if condition.types & self.all_types else NEVER
        nodes, _ = self.nodes(condition)
        if not nodes:
            self._missed.add(str(column))
            return NEVER
        self._met.add(str(column))
        if not column.open:
            return condition
        spelled = []  # a filter for each node, with its path instead of the wildcards
        for node in sorted(nodes):
            path = self._path(node, column.namespace)
            if path is not None:
                test = condition._replace(column=column._replace(keys=path), types=self.types[node])
                # A node below a level without a key (in an array) is not found by its own path, of whose keys such a
                # level uses up none.
                if self.nodes(test)[0]:
                    spelled.append(test)
        return join(AnyOf, spelled)

    @property
    def unknown(self) -> list[str]:
        """Columns of the query that no filter found."""
        return sorted(self._missed - self._met)

    def _path(self, node: int, namespace: str) -> tuple[Key, ...] | None:
        """Return the keys from the root of the namespace's objects to a node; None if it is below another root."""
        root = self.tree.roots.get((namespace.encode(), NodeType.OBJECT))
        path = self.tree.path(node)
        self._spend(len(path))
        if path[0] != root:
            return None
        return tuple(Key(self.tree.keys[node]) for node in path[1:])

    def nodes(self, test: ColumnTest) -> Nodes:
        """Return the nodes that a filter's column names, of the filter's types; kept for the next filter on it."""
        column = test.column
        key = (column.keys, column.namespace, test.types, test.metadata)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._walk(test)
        return found

    def _walk(self, test: ColumnTest) -> Nodes:
        """Return the nodes that a test's path names, and the keys below the last node."""
        column, tree = test.column, self.tree
        nodes: set[int] = set()
        rest: tuple[Key, ...] = ()
        for (name, kind), root in tree.roots.items():
            if name == column.namespace.encode() and (kind == NodeType.METADATA) == test.metadata:
                for child in self._candidates(root, column.keys, 0):
                    rest = self._walk_from(child, test, nodes, rest)
        return frozenset(nodes), rest

    def _candidates(self, node: int, keys: tuple[Key, ...], at: int) -> Sequence[int]:
        """The children of a node that may match key `at` of a path; past its end, only nodes without a key can.

        The result may have others: it only saves time at nodes with many children, which are indexed by key.
        """
        children = self.tree.children[node]
        wild = at < len(keys) and keys[at].any
        if not wild and len(children) > MANY_CHILDREN:
            named = self._named.get(node)
            if named is None:
                named = self._named[node] = {}
                for child in children:
                    named.setdefault(self.tree.keys[child], []).append(child)
            empty = named.get(b"", [])
            children = sorted({*named.get(keys[at].name, ()), *empty}) if at < len(keys) else empty
        self._spend(len(children) + 1)
        return children

    def _spend(self, steps: int) -> None:
        """Count steps in the tree. Raises `LimitExceededError` after `MAX_STEPS`."""
        self._steps += steps
        if self._steps > MAX_STEPS:
            raise LimitExceededError(
                "the schema tree is too large for this query", format="clp-s", expected=f"at most {MAX_STEPS} steps"
            )

    def _walk_from(self, start: int, test: ColumnTest, nodes: set[int], rest: tuple[Key, ...]) -> tuple[Key, ...]:
        """Walk the tree from `start` and the keys of the column in step, and add the nodes that it names to `nodes`.

        Returns the rest of the path below an array stored as text if there is one, else `rest`.

        A wildcard takes any number of levels, none included.  A node with an empty key is passed without using up a
        key of the column (array levels have empty keys), also after the last one.
        """
        tree, keys = self.tree, test.column.keys
        count = len(keys)
        closed = not test.column.open
        # What is still to be compared: (depth in the tree, index of the next key, node), in order of depth.
        work = [(0, 0, start)]
        if keys[0].any:
            work.append((0, 1, start))
        heapq.heapify(work)
        level, seen = 0, set[tuple[int, int]]()  # (next key, node) that were met at the current depth
        while work:
            depth, at, node = heapq.heappop(work)
            if depth != level:
                level = depth
                seen.clear()
            if (at, node) in seen:
                continue
            seen.add((at, node))
            empty = not tree.keys[node]
            wild = at < count and keys[at].any
            if not (wild or empty or (at < count and tree.keys[node] == keys[at].name)):
                continue
            following = min(at + 1, count)
            # An array is searched as text for the remaining keys.
            if closed and tree.types[node] == NodeType.UNSTRUCTURED_ARRAY:
                rest = keys[following:]
                nodes.add(node)
                continue
            # The path ends here, with a type that the filter can match.
            if following == count and test.types & self.types[node]:
                nodes.add(node)
                continue
            if following < count and keys[following].any:
                heapq.heappush(work, (depth, following, node))
            # The next key for the children: the same after an empty key; a wildcard may take them as well, or end here.
            for position in (at,) if empty else (following, at) if wild else (following,):
                for child in self._candidates(node, keys, position):
                    heapq.heappush(work, (depth + 1, position, child))
        return rest


LOG_EVENT_IDX: Final = Column((Key(b"log_event_idx"),))
"""The internal column that numbers the records in the order of the input."""


def outside(condition: Condition, ranges: Sequence[tuple[TimestampRange, Column]], dialect: Dialect) -> bool | None:
    """Return the result of a condition for all records, if the time ranges alone determine it; else None.

    `ranges`: each with the column whose values it bounds.
    """
    if isinstance(condition, ColumnTest):
        verdict = _test_range(condition, ranges, dialect)
        return verdict if verdict is None or not condition.inverted else not verdict
    both = isinstance(condition, AllOf)
    unknown = False
    for child in condition.children:
        verdict = outside(child, ranges, dialect)
        if verdict is (not both):  # False decides an AND, True an OR
            return verdict
        unknown |= verdict is None
    return None if unknown else both


def _test_range(test: ColumnTest, ranges: Sequence[tuple[TimestampRange, Column]], dialect: Dialect) -> bool | None:
    """Compare a filter with the recorded time range of its column, before any table is read.

    Return True if every record matches, False if none does, None if the range does not settle it.
    """
    if test.operand is None or test.column.open or not test.types & (INTEGERS | FLOATS | TIMES):
        return None
    found = next((found for found, column in ranges if column.keys == test.column.keys), None)
    if found is None:
        return None
    begin, end = found.begin, found.end
    if begin is None or end is None:
        return None
    operand = test.operand
    value: int | float | None
    if found.encoding == TimestampEncoding.EPOCH:  # integers
        value = operand.integer if operand.milliseconds is None else operand.milliseconds
        # Older native searches cut 1.5 to 1 when they compare values, but compare the range with 1.5 itself.
        if dialect.legacy_instants and operand.real is not None and value != operand.real:
            value = operand.real
    else:
        value = operand.real
    if value is None:
        return None
    if test.op == EQUAL:
        return None if begin <= value <= end else False
    # If the most unlikely time of the range matches, all do; if the likeliest does not, none does.
    likeliest, most_unlikely = (begin, end) if test.op in (LESS, LESS_EQUAL) else (end, begin)
    if compare(test.op, most_unlikely, value):
        return True
    return None if compare(test.op, likeliest, value) else False


class RangeFilters:
    """Turns filters on `$` columns, which the range index answers, into conditions on `log_event_idx`."""

    def __init__(self, range_index: Sequence[RangeEntry], *, ignore_case: bool) -> None:
        self.range_index = range_index
        self.ignore_case = ignore_case

    def run(self, condition: Condition) -> Condition:
        """Return the condition without `$` columns: each is replaced by the record numbers of its matching ranges."""
        if not isinstance(condition, ColumnTest):
            children = []
            for child in condition.children:
                children.append(self.run(child))  # noqa: PERF401 - a frame less per level
            return join(type(condition), children)
        if condition.column.namespace != "$":
            return condition
        starts: list[int] = []
        ends: list[int] = []
        # The record numbers of the units that match; adjacent ranges are joined.
        for entry in self.range_index:
            if range_matches(condition, entry.properties, ignore_case=self.ignore_case):
                if ends and ends[-1] == entry.start:
                    ends[-1] = entry.end
                else:
                    starts.append(entry.start)
                    ends.append(entry.end)
        within = [
            AllOf((_position(GREATER_EQUAL, start), _position(LESS, end)))
            for start, end in zip(starts, ends, strict=True)
        ]
        return join(AnyOf, within)


def _position(op: str, value: int) -> ColumnTest:
    """Return a filter on the number of a record."""
    operand = Operand(INTEGERS, None, value, value, float(value))
    return ColumnTest(LOG_EVENT_IDX, op, INTEGERS, operand, metadata=True)


def range_matches(test: ColumnTest, properties: Mapping[str, Any], *, ignore_case: bool) -> bool:
    """Return whether the properties of an ingestion unit (nested maps) fulfill a filter on a `$` column."""
    keys = test.column.keys
    names = [key.name.decode("utf-8", "surrogateescape") for key in keys]
    work: list[tuple[int, Any]] = [(0, properties)]  # (index of the next key, value that it is searched in)
    if keys and keys[0].any:
        work.append((1, properties))
    # A wildcard stands for any number of levels: it is kept, or passed, at each level.
    while work:
        at, value = work.pop()
        if at == len(keys):
            if _property_matches(test, value, ignore_case):
                return True
        elif isinstance(value, Mapping):
            if keys[at].any:
                for inner in value.values():
                    work += ((at, inner), (at + 1, inner))
            elif names[at] in value:
                inner = value[names[at]]
                work.append((at + 1, inner))
                if at + 1 < len(keys) and keys[at + 1].any:
                    work.append((at + 2, inner))
    return False


def _property_matches(test: ColumnTest, value: Any, ignore_case: bool) -> bool:
    """Whether one property of a range (a value of the range index) fulfills a filter on a `$` column."""
    kinds = {bool: BOOLEANS, int: INTEGERS, float: FLOATS, str: STRINGS | TEXTS, type(None): NULLS}.get(type(value), 0)
    if not test.types & kinds:
        return False
    if test.op in (EXISTS, MISSING):
        return test.op == EXISTS
    operand = test.operand
    assert operand is not None
    if isinstance(value, bool):  # before integers, as a bool is one in Python
        found = operand.boolean is not None and test.op == EQUAL and value == operand.boolean
    elif isinstance(value, int):
        if value >= 1 << 63:  # the native search reads it as an int64
            value -= 1 << 64
        found = operand.integer is not None and compare(test.op, value, operand.integer)
    elif isinstance(value, float):
        found = operand.real is not None and compare(test.op, value, operand.real)
    elif isinstance(value, str):
        text = value.encode("utf-8", "surrogateescape")
        needed = TEXTS if b" " in text else STRINGS
        found = (
            test.op == EQUAL
            and operand.text is not None
            and bool(operand.types & needed)
            and Wildcard(operand.text, ignore_case).matches(text)
        )
    else:
        return False
    return found != test.inverted
