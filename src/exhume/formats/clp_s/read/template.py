"""Layout of the records of one schema: columns in order, and the JSON skeleton that every row fills.

The schema tree has a node for each key path and type.  A schema lists the nodes of its records: the ordered entries are
values outside of structured arrays; the unordered ones are runs, one for each structured array, in which markers open
nested arrays and objects.

A template is a flat list of tokens (no recursion: archives nest a thousand levels deep), from which the printer makes
its operations and `events()` its dicts.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import IntEnum
from functools import cached_property
from typing import Final

from exhume.errors import ExhumeError, Span
from exhume.formats.clp_s import checks
from exhume.formats.clp_s.layout import ROOT, NodeType, Schema, SchemaTree, is_marker, marker_parts
from exhume.formats.clp_s.layout_schemas import MOST_SPECS, ColumnSpec, Schemas
from exhume.tuples import NamedTuple

MAX_STEPS: Final = 1_000_000
"""Steps through the tree that laying out any schema may take: a bound on the time that crafted schemas cost."""

STEPS_PER_ENTRY: Final = 64
"""Further steps for each entry of the schema; real schemas take a few per entry in all."""

_UNORDERED_UNSUPPORTED: Final = (NodeType.UNSTRUCTURED_ARRAY, NodeType.DATE_STRING, NodeType.TIMESTAMP)
"""Types that cannot be printed in the unordered part of a schema."""


Roots = Sequence[tuple[bytes, bytes | None]]
"""The roots that make up a record, as pairs (key of the root, name): the content of the root becomes the member `name`
of the record, or, if the name is None, its members become members of the record."""


class Kind(IntEnum):
    """Kinds of template tokens."""

    OBJECT = 0  # opens an object
    ARRAY = 1  # opens an array
    CLOSE = 2
    COLUMN = 3  # the value of column `column`
    NULL = 4
    EMPTY_OBJECT = 5
    EMPTY_ARRAY = 6


class Token(NamedTuple):
    """One token; `key` is None for array elements and for the record itself.

    `bare`: upstream leaves out the (empty) key of this container.
    """

    kind: Kind
    key: bytes | None = None
    column: int = -1
    bare: bool = False


CLOSE: Final = Token(Kind.CLOSE)  # ends the innermost open object or array


class _Container(NamedTuple):
    """An open container of a run: the end of its entries, and the nodes that are open in it, the innermost last.

    An array has only its own node open; an object its own and those of plain sub-objects, which no marker opens.
    """

    end: int
    opened: list[int]
    is_object: bool


class SchemaLayout:
    """The columns of a schema and the runs of its structured arrays.

    Raises CLPS-331 (node does not exist), CLPS-332 (malformed run), CLPS-334 (column type that cannot be in a run),
    CLPS-335 (node without a place in a record).
    """

    def __init__(self, tree: SchemaTree, schema: Schema, where: Span | None = None) -> None:
        """Find the columns of `schema` among the nodes of `tree`; `where` is the stored range that errors name."""
        self.tree = tree
        self.schema = schema
        self.where = where
        self.runs: dict[int, list[Token]] = {}
        """Tokens of the elements of each structured array by its node; if a node has several runs, of the first one."""
        self.repeated: set[int] = set()
        """Structured arrays with several runs."""
        ordered, has_column = schema.ordered, tree.has_column  # `has_column`: by node, whether its type stores values
        if ordered and (min(ordered) < 0 or max(ordered) >= len(tree)):
            raise self._bad_node(next(node for node in ordered if not 0 <= node < len(tree)))
        self.nodes: list[int] = [node for node in ordered if has_column[node]]
        """The node of each column: first those outside of structured arrays, then those of the runs."""
        self.num_ordered: int = len(self.nodes)
        """Number of columns outside of structured arrays."""
        if len(schema.entries) > schema.num_ordered:
            self._steps_left = MAX_STEPS + STEPS_PER_ENTRY * len(schema.entries)
            self._parse_runs()
        outer = (*ordered, *self.runs)  # what is not inside of a structured array
        if not tree.misplaced.isdisjoint(outer) or len(set(self.nodes[: self.num_ordered])) < self.num_ordered:
            raise self._misplaced(outer)
        types = tree.types
        self.node_types: bytes = bytes([types[node] for node in self.nodes])
        """The node type of each column."""

    def spec(self, index: int) -> ColumnSpec:
        """Return the description of the column at `index` of `nodes`."""
        node, unordered = self.nodes[index], index >= self.num_ordered
        # Schemas share most of their columns, and there may be thousands of both.
        key = (index, node, unordered)
        found = self.tree.specs.get(key)
        if found is None:
            if len(self.tree.specs) >= MOST_SPECS:
                self.tree.specs.clear()
            found = self.tree.specs[key] = ColumnSpec(index, node, self.tree.types[node], unordered)
        return found

    @cached_property
    def columns(self) -> list[ColumnSpec]:
        """All columns in the order of `nodes`; made on request, because a search examines only a few."""
        return [self.spec(index) for index in range(len(self.nodes))]

    @cached_property
    def by_node(self) -> dict[int, int]:
        """Index of the column of each node outside of structured arrays."""
        return {node: index for index, node in enumerate(self.nodes[: self.num_ordered])}

    def _bad_node(self, node: int) -> ExhumeError:
        """Return the error for a schema entry that no node of the schema tree has."""
        return checks.BAD_SCHEMA_NODE.error(
            f"schema {self.schema.schema_id}", span=self.where, expected=f"0 to {len(self.tree) - 1}", actual=node
        )

    def _misplaced(self, outer: Sequence[int]) -> ExhumeError:
        """The error about the first of these entries that no record can show, or that has two columns."""
        wrong = next((node for node in outer if node in self.tree.misplaced), None)
        if wrong is None:
            plain = self.nodes[: self.num_ordered]
            wrong = next(node for node in plain if plain.count(node) > 1)
            detail = f"node {wrong} twice, as of records with two equal keys"
        else:
            detail = f"node {wrong}, which is not in objects alone"
        return checks.MISPLACED_NODE.error(f"schema {self.schema.schema_id} names {detail}", span=self.where)

    def _bad_run(self, detail: str) -> ExhumeError:
        return checks.BAD_RUN.error(f"schema {self.schema.schema_id}: {detail}", span=self.where)

    def _step(self, count: int = 1) -> None:
        """Count steps of the work.  Raises the rule `TOO_COMPLEX` when all are used up."""
        self._steps_left -= count
        if self._steps_left < 0:
            raise checks.TOO_COMPLEX.error(f"schema {self.schema.schema_id}", span=self.where)

    def _column(self, node: int) -> int:
        """Add the column of a node in a run; -1 when its type stores nothing."""
        if not self.tree.has_column[node]:
            return -1
        self.nodes.append(node)
        return len(self.nodes) - 1

    def _parse_runs(self) -> None:
        """Split the unordered entries into one run per structured array; see `runs`.

        Raises CLPS-331, 332 or 334.
        """
        entries = self.schema.unordered
        count = len(entries)
        plain = self._next_plain(entries)
        at = 0
        while at < count:
            entry = entries[at]
            if not is_marker(entry):  # an entry outside of runs: an array without elements
                if not 0 <= entry < len(self.tree):
                    raise self._bad_node(entry)
                if self.tree.types[entry] != NodeType.STRUCTURED_ARRAY:
                    raise self._bad_run(f"node {entry} at entry {at} is in no array, and is none")
                self._add_run(entry, [])
                at += 1
                continue
            node_type, length = marker_parts(entry)
            if node_type != NodeType.STRUCTURED_ARRAY or length > count - at - 1:
                raise self._bad_run(f"marker {entry:#010x} at entry {at}")
            node = self._container(entries, plain, at, at + 1 + length, node_type, ROOT)
            tokens = self._run(entries, plain, at + 1, at + 1 + length, node)
            self._add_run(node, tokens)
            at += 1 + length

    def _add_run(self, node: int, tokens: list[Token]) -> None:
        """Add the run of a structured array, unless there is one."""
        if node in self.runs:
            self.repeated.add(node)
        self.runs.setdefault(node, tokens)

    def _next_plain(self, entries: Sequence[int]) -> list[int]:
        """For each entry, the position of the next entry (it included) that is not a marker."""
        following = len(entries)
        out = [0] * len(entries)
        for at in range(len(entries) - 1, -1, -1):
            if not is_marker(entries[at]):
                following = at
            out[at] = following
        return out

    def _container(
        self, entries: Sequence[int], plain: list[int], at: int, end: int, node_type: int, enclosing: int
    ) -> int:
        """Return the node of the container (array or object) that the marker at `at` opens.

        A marker has only the type and number of its entries, up to `end`.  So the node is the topmost one of that type
        between the first node inside (`plain`: see `_next_plain`) and `enclosing`.  Raises CLPS-331 or 332.
        """
        first = plain[at]
        if first >= end:
            raise self._bad_run(f"the container at entry {at} holds no node")
        node = entries[first]  # the first node inside, from which to go up
        if not 0 <= node < len(self.tree):
            raise self._bad_node(node)
        found = -1
        while node not in (enclosing, ROOT):
            if self.tree.types[node] == node_type:
                found = node
            node = self.tree.parents[node]
            self._step()
        if found < 0 or node != enclosing:
            raise self._bad_run(f"the container at entry {at} is not in the tree")
        return found

    def _run(self, entries: Sequence[int], plain: list[int], at: int, end: int, array: int) -> list[Token]:
        """Return the tokens of the elements of a structured array: those of its entries `[at, end)`.

        `array` is the node of the array.  Raises CLPS-331, 332 or 334.
        """
        tree = self.tree
        tokens: list[Token] = []
        containers = [_Container(end, [array], False)]
        while containers:
            container_end, opened, is_object = containers[-1]
            if at == container_end:
                # Close the plain sub-objects, and then the container; the caller closes the outermost array.
                tokens += [CLOSE] * (len(opened) - 1)
                containers.pop()
                if containers:
                    tokens.append(CLOSE)
                continue
            entry = entries[at]
            self._step()
            if is_marker(entry):
                node_type, length = marker_parts(entry)
                if length > container_end - at - 1 or node_type not in (NodeType.STRUCTURED_ARRAY, NodeType.OBJECT):
                    raise self._bad_run(f"marker {entry:#010x} inside a run")
                if is_object and node_type == NodeType.OBJECT:
                    raise self._bad_run("an object marker directly inside an object")
                # Open the container; its entries come next.
                node = self._container(entries, plain, at, at + 1 + length, node_type, opened[0])
                key = self._field(tokens, opened, node) if is_object else None
                kind = Kind.ARRAY if node_type == NodeType.STRUCTURED_ARRAY else Kind.OBJECT
                tokens.append(Token(kind, key, bare=key == b""))
                containers.append(_Container(at + 1 + length, [node], kind is Kind.OBJECT))
                at += 1
                continue
            if not 0 <= entry < len(tree):
                raise self._bad_node(entry)
            key = self._field(tokens, opened, entry) if is_object else None
            tokens.append(self._leaf(entry, key))
            at += 1
        return tokens

    def _field(self, tokens: list[Token], opened: list[int], node: int) -> bytes:
        """Make the parent of `node` the innermost open sub-object, and return the key of `node`.

        Closes plain sub-objects that do not contain it, and opens those that lead to it; `opened` is updated.
        """
        tree = self.tree
        chain = []  # objects to open, from the inside out
        parent = tree.parents[node]
        depth = {opened_node: index for index, opened_node in enumerate(opened)}
        self._step(len(opened))
        while parent not in depth:
            if parent == ROOT:
                raise self._bad_run(f"node {node} is not below its object")
            chain.append(parent)
            parent = tree.parents[parent]
            self._step()
        keep = depth[parent] + 1
        tokens += [CLOSE] * (len(opened) - keep)
        del opened[keep:]
        for ancestor in reversed(chain):
            key = tree.keys[ancestor]
            tokens.append(Token(Kind.OBJECT, key, bare=key == b""))
            opened.append(ancestor)
        return tree.keys[node]

    def _leaf(self, node: int, key: bytes | None) -> Token:
        """Return the token of a node without children in a run, and add its column.  Raises CLPS-332 or 334."""
        match self.tree.types[node]:
            case NodeType.OBJECT:
                return Token(Kind.EMPTY_OBJECT, key)
            case NodeType.STRUCTURED_ARRAY:
                return Token(Kind.EMPTY_ARRAY, key)
            case NodeType.NULL_VALUE:
                return Token(Kind.NULL, key)
            case unsupported if unsupported in _UNORDERED_UNSUPPORTED:
                raise checks.UNSUPPORTED_COLUMN.error(
                    f"schema {self.schema.schema_id}", span=self.where, actual=f"node {node}"
                )
        column = self._column(node)
        if column < 0:
            raise self._bad_run(f"node {node} of type {self.tree.types[node]} inside a run")
        return Token(Kind.COLUMN, key, column)

    def tokens(self, *, complete: bool = False, nodes: Collection[int] | None = None, roots: Roots = ()) -> list[Token]:
        """The record template as tokens, from the opening of the record to its closing.

        `complete` adds what upstream does not print: root arrays (the record is the array then) and auto-generated
        keys (as member `@`).  `nodes` keeps only these leaf nodes and structured arrays (a projection).  `roots`
        selects the roots of the tree that the record has, each with the name of its member or None.
        """
        tree = self.tree
        # Structured arrays count as leaves: their content is in `runs`
        leaves = (*self.schema.ordered, *sorted(self.runs))
        # `found`: the roots of the tree above them; `children`: by node, its children among the nodes in use.
        found, children = self._grown(leaves if nodes is None else [node for node in leaves if node in nodes])
        if roots:
            return self._with_neighbors(roots, found, children)
        # The record is the first root object without a key, the only one that upstream prints.
        objects = [root for root in found if tree.types[root] == NodeType.OBJECT]
        record = next((root for root in objects if tree.keys[root] == b""), None)
        others = [root for root in found if tree.types[root] != NodeType.METADATA and root != record]
        if record is None and complete and not objects and len(others) == 1:
            return self._array(others[0], None)  # the record is an array
        out = [Token(Kind.OBJECT)]
        if record is not None:
            self._members(out, record, children, self.by_node)
        if complete:  # the other roots are members of the record, with names that no member has
            taken = set() if record is None else {tree.keys[child] for child in children[record]}
            self._add_roots(out, others, taken, children)
        out.append(CLOSE)
        return out

    def _grown(self, leaves: Sequence[int]) -> tuple[list[int], dict[int, list[int]]]:
        """Return the roots above these leaves, and the children of each node on the way, both in the order in which
        they are met.
        """
        parents = self.tree.parents
        roots: list[int] = []
        children: dict[int, list[int]] = {}
        for leaf in leaves:
            pending: list[tuple[int, int]] = []  # (parent, child) on the way up, the leaf first
            node = leaf
            while node not in children:
                children[node] = []
                parent = parents[node]
                if parent == ROOT:
                    roots.append(node)
                    break
                pending.append((parent, node))
                node = parent
            # Children are attached root first, so that siblings are in the order in which their subtrees were met.
            for parent, child in reversed(pending):
                children[parent].append(child)
        return roots, children

    def _array(self, node: int, key: bytes | None) -> list[Token]:
        """The tokens of an array of either kind; `key`: see `Token`."""
        if self.tree.types[node] == NodeType.UNSTRUCTURED_ARRAY:
            return [Token(Kind.COLUMN, key, self.by_node[node])]
        run = self.runs.get(node)
        return [Token(Kind.ARRAY, key), *run, CLOSE] if run else [Token(Kind.EMPTY_ARRAY, key)]

    def _with_neighbors(self, roots: Roots, found: Sequence[int], children: dict[int, list[int]]) -> list[Token]:
        """Return the tokens of a record that is made of several roots, such as user and auto-generated keys.

        `found`: the roots, and `children`: those of each node, as `_grown` returns them.
        """
        nodes = {self.tree.keys[root]: root for root in found if self.tree.types[root] == NodeType.OBJECT}
        out = [Token(Kind.OBJECT)]
        for key, member in roots:
            out += [] if member is None else [Token(Kind.OBJECT, member)]
            if key in nodes:
                self._members(out, nodes[key], children, self.by_node)
            out += [] if member is None else [CLOSE]
        out.append(CLOSE)
        return out

    def _add_roots(
        self, out: list[Token], roots: Sequence[int], taken: set[bytes], children: dict[int, list[int]]
    ) -> None:
        """Add further roots as members of the record, named by their keys.

        `@` is put before a name until it is not in `taken`, the names of the members.  `children`: see `_grown`.
        """
        for root in roots:
            key = self.tree.keys[root] or b"@"
            while key in taken:
                key = b"@" + key
            taken.add(key)
            if self.tree.types[root] != NodeType.OBJECT:
                out += self._array(root, key)
                continue
            out.append(Token(Kind.OBJECT, key))
            self._members(out, root, children, self.by_node)
            out.append(CLOSE)

    def _members(self, out: list[Token], root: int, children: dict[int, list[int]], column_of: dict[int, int]) -> None:
        """Add the tokens of the members of an object, depth first, in the order in which they were added.

        `children` is by node, `column_of` has the column index of each leaf.  A leaf without a column or a constant
        value is left out.
        """
        tree = self.tree
        stack = [iter(children[root])]  # members still to come, of each open object
        while stack:
            node = next(stack[-1], None)
            if node is None:
                stack.pop()
                if stack:
                    out.append(CLOSE)
                continue
            key, node_type = tree.keys[node], tree.types[node]
            if node_type == NodeType.OBJECT:
                if children[node]:
                    out.append(Token(Kind.OBJECT, key))
                    stack.append(iter(children[node]))
                else:
                    out.append(Token(Kind.EMPTY_OBJECT, key))
            elif node_type == NodeType.STRUCTURED_ARRAY:
                out += self._array(node, key)
            elif node_type == NodeType.NULL_VALUE:
                out.append(Token(Kind.NULL, key))
            elif node in column_of:
                out.append(Token(Kind.COLUMN, key, column_of[node]))


def has_layout(schemas: Schemas, schema_id: int, tree: SchemaTree) -> bool:
    """Return whether the schema of this id, which must exist, can be laid out: it has no invalid nodes or runs."""
    columns, place = schemas.columns, schemas.place(schema_id)
    nodes = columns.entries_value(place)
    # Without runs, as a rule: only the nodes have to exist.  A fast test, as there may be as many schemas as records.
    if columns.num_ordered[place] == len(set(nodes)):
        return not nodes or (min(nodes) >= 0 and max(nodes) < len(tree) and tree.misplaced.isdisjoint(nodes))
    try:
        SchemaLayout(tree, schemas[schema_id])
    except ExhumeError:
        return False
    return True
