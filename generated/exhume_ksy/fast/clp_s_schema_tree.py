"""Compiled from ksy/clp_s_schema_tree.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations

import struct
from array import array

from ._layout import LayoutError, View, native, short

_unpack0 = struct.Struct("<Q").unpack_from
_unpack1 = struct.Struct("<iQ").unpack_from


class ClpSSchemaTree:
    """The merged parse tree: every key path and value type that occurs in any record of the archive. A node is
    numbered by its position and comes after its parent. Read from the source code of clp-s; the format description
    leaves this section open.
    """
    __slots__ = ('num_nodes', 'nodes')
    num_nodes: int
    nodes: NodeColumns


def read_clp_s_schema_tree(view: View, at: int, end: int) -> tuple[ClpSSchemaTree, int]:
    """`clp_s_schema_tree` at `at`, and where it ends. Raises `LayoutError`."""
    value = ClpSSchemaTree()
    if end - at < 8:
        raise short("num_nodes", at, end, 8)
    (num_nodes,) = _unpack0(view, at)
    at += 8
    if num_nodes > (end - at) // 13:
        raise LayoutError("num_nodes", at - 8, at, f"at most {(end - at) // 13}", num_nodes)
    value.num_nodes = num_nodes
    nodes = scan_node(view, at, end, num_nodes if num_nodes > 0 else 0)
    if nodes.problem is not None:
        nodes.problem.within("nodes")
        raise nodes.problem
    at = nodes.resume_at
    nodes.parent = value
    value.nodes = nodes
    return value, at


class Node:
    """One key below its parent, with the type of its values."""
    __slots__ = ('parent_id', 'len_key', 'key', 'type', '_name', '_path', '_parent')
    parent_id: int
    """Position of the parent, or -1 for the root of a namespace."""
    len_key: int
    key: View
    """Unescaped key of the JSON object in UTF-8."""
    type: int
    """What its values are."""

    @property
    def name(self) -> str:
        """The key as text."""
        try:
            return self._name
        except AttributeError:
            pass
        self._name = str(self.key, 'UTF-8')
        return self._name

    @property
    def path(self) -> str:
        """The keys from the root down to this one, joined by dots."""
        try:
            return self._path
        except AttributeError:
            pass
        self._path = self.name if self.parent_id < 0 else self._parent.nodes[self.parent_id].path + self.name if self._parent.nodes[self.parent_id].parent_id < 0 else self._parent.nodes[self.parent_id].path + '.' + self.name
        return self._path


def read_node(view: View, at: int, end: int, parent: ClpSSchemaTree | None = None) -> tuple[Node, int]:
    """`clp_s_schema_tree::node` at `at`, and where it ends. Raises `LayoutError`."""
    value = Node()
    value._parent = parent
    if end - at < 12:
        raise short((("parent_id", 4), ("len_key", 12),), at, end, 12)
    parent_id, len_key = _unpack1(view, at)
    at += 12
    value.parent_id = parent_id
    value.len_key = len_key
    if len_key > end - at:
        raise LayoutError("len_key", at - 8, at, f"at most {end - at}", len_key)
    key = view[at : at + len_key]
    at += len_key
    value.key = key
    if at >= end:
        raise short("type", at, end, 1)
    type = view[at]
    at += 1
    value.type = type
    return value, at


class NodeColumns:
    """Many `clp_s_schema_tree::node`, one column per field; see `scan_node`."""
    __slots__ = ('view', 'end', 'at', 'problem', 'resume_at', 'parent', 'parent_id', 'key_start', 'key_end', 'type')

    def __init__(self, view: View, end: int) -> None:
        self.view: View = view
        self.end: int = end
        self.at: array[int] = array("q")
        """Where each element begins."""
        self.problem: LayoutError | None = None
        """What does not fit; None when all does."""
        self.resume_at: int = end
        """Where what follows the last element begins."""
        self.parent_id: array[int] = array("i")
        self.key_start: array[int] = array("q")
        self.key_end: array[int] = array("q")
        self.type: array[int] = array("B")
        self.parent = None

    def __len__(self) -> int:
        return len(self.at)

    def __getitem__(self, index: int) -> Node:
        """One element as an object."""
        return read_node(self.view, self.at[index], self.end, self.parent)[0]

    def key(self, index: int) -> View:
        """The bytes of one element."""
        return self.view[self.key_start[index] : self.key_end[index]]


def scan_node(view: View, at: int, end: int, count: int | None = None) -> NodeColumns:
    """The `clp_s_schema_tree::node` from `at` to `end`, or `count` of them, as columns; does not raise, see `problem`."""
    columns = NodeColumns(view, end)
    if native is not None:
        at = native.clp_s_schema_tree_node(columns, view, at, end, -1 if count is None else min(count, end))
    first = at
    add_at = columns.at.append
    add_parent_id = columns.parent_id.append
    add_key_start = columns.key_start.append
    add_key_end = columns.key_end.append
    add_type = columns.type.append
    try:
        while at < end if count is None else len(columns.at) < count:
            first = at
            if end - at < 12:
                raise short((("parent_id", 4), ("len_key", 12),), at, end, 12)
            parent_id, len_key = _unpack1(view, at)
            at += 12
            if len_key > end - at:
                raise LayoutError("len_key", at - 8, at, f"at most {end - at}", len_key)
            at_key = at
            at = end_key = at + len_key
            if at >= end:
                raise short("type", at, end, 1)
            type = view[at]
            at += 1
            add_at(first)
            add_parent_id(parent_id)
            add_key_start(at_key)
            add_key_end(end_key)
            add_type(type)
    except LayoutError as error:
        error.within(f"[{len(columns.at)}]")
        columns.problem = error.with_traceback(None)  # a traceback holds this call, and so the columns
        columns.resume_at = first
    else:
        columns.resume_at = at
    return columns
