"""Resolves the columns of a query in the schema tree: the nodes that a path names."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from exhume.errors import LimitExceededError
from exhume.formats.clp_s.layout import NodeType, SchemaTree
from exhume.formats.clp_s.query.condition import NEVER, Any, ColumnTest, Condition, join
from exhume.formats.clp_s.query.operand import ARRAYS, BOOLEANS, FLOATS, INTEGERS, NULLS, STRINGS, TEXTS, TIMES
from exhume.formats.clp_s.query.tree import Key

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

_KNOWN: Final = frozenset(LITERAL_TYPES)

MAX_STEPS: Final = 3_000_000
"""Steps through the tree for one query; real archives take a few for each node and column."""

Nodes = tuple[frozenset[int], tuple[Key, ...]]
"""The nodes a column names, and the keys left over inside an unstructured array."""


class Resolver:
    """Finds the tree nodes that columns name; filters on absent columns are removed."""

    def __init__(self, tree: SchemaTree) -> None:
        """Prepare to find the columns of `tree` that paths in queries name."""
        self.tree = tree
        self.types: list[int] = [LITERAL_TYPES.get(NodeType(t), 0) if t in _KNOWN else 0 for t in tree.types]
        self.all_types: int = 0
        for kind in set(self.types):
            self.all_types |= kind
        self._named: dict[int, dict[bytes, list[int]]] = {}
        self._steps = 0
        self._missed: set[str] = set()
        self._met: set[str] = set()
        self._found: dict[tuple[object, ...], Nodes] = {}

    def run(self, condition: Condition) -> Condition:
        """Return the condition with only columns that exist; a path with wildcards becomes one filter for each node."""
        if not isinstance(condition, ColumnTest):
            children = []
            for child in condition.children:
                children.append(self.run(child))  # noqa: PERF401 - a frame less per level
            return join(type(condition), children)
        column = condition.column
        if column.everything:
            return condition if condition.types & self.all_types else NEVER
        nodes, _ = self.nodes(condition)
        if not nodes:
            self._missed.add(str(column))
            return NEVER
        self._met.add(str(column))
        if not column.open:
            return condition
        spelled = []
        for node in sorted(nodes):
            path = self._path(node, column.namespace)
            if path is not None:
                test = replace(condition, column=replace(column, keys=path), types=self.types[node])
                if self.nodes(test)[0]:
                    spelled.append(test)
        return join(Any, spelled)

    @property
    def unknown(self) -> list[str]:
        """Columns that no filter found."""
        return sorted(self._missed - self._met)

    def _path(self, node: int, namespace: str) -> tuple[Key, ...] | None:
        """The keys from the root of the namespace's objects to a node."""
        root = self.tree.roots.get((namespace.encode(), NodeType.OBJECT))
        path = self.tree.path(node)
        self._spend(len(path))
        if path[0] != root:
            return None
        return tuple(Key(self.tree.keys[n]) for n in path[1:])

    def nodes(self, test: ColumnTest) -> Nodes:
        """The nodes that a filter's column names, of the filter's types."""
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
        """The children of a node that key `at` of a path (past its end: only nodes without a key) can accept."""
        children = self.tree.children[node]
        wild = at < len(keys) and keys[at].any
        if not wild and len(children) > 8:
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
        """Walk the tree and the keys in step.

        A wildcard takes any number of levels, none included.  A node with an empty key is passed without using up a
        key of the column (array levels have empty keys), also after the last one.
        """
        tree, keys = self.tree, test.column.keys
        count = len(keys)
        closed = not test.column.open
        work = [(0, 0, start)]
        if keys[0].any:
            work.append((0, 1, start))
        heapq.heapify(work)
        level, seen = 0, set[tuple[int, int]]()
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
            if closed and tree.types[node] == NodeType.UNSTRUCTURED_ARRAY:
                rest = keys[following:]
                nodes.add(node)
                continue
            if following == count and test.types & self.types[node]:
                nodes.add(node)
                continue
            if following < count and keys[following].any:
                heapq.heappush(work, (depth, following, node))
            for position in (at,) if empty else (following, at) if wild else (following,):
                for child in self._candidates(node, keys, position):
                    heapq.heappush(work, (depth + 1, position, child))
        return rest
