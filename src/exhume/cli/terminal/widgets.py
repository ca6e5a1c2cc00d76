"""Widgets of the terminal browser: the bytes of a file or payload, and the tree of files, sections and fields.

The bytes are read only for the lines on the screen, and the children of a node when it is unfolded.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import work
from textual.binding import Binding
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Tree
from textual.widgets.tree import TreeNode

from exhume.cli.terminal.outline import Item
from exhume.cli.terminal.screen import FIELD_PALETTE
from exhume.errors import ExhumeError
from exhume.layout.trees import Field, Trees

WIDE, NARROW = 16, 8  # bytes per line
DIGITS = 8  # of an offset, at least
FIXED = 12  # columns besides four for each byte, with `DIGITS` of the offset
BLOCK = 64 << 10  # bytes per read
FIRST = 64  # elements of a long array that get colors

FAINT = Style(dim=True)  # bytes without a field
OFFSET = Style(color="cyan")
FIELDS = [Style(color=f"color({color})") for color in FIELD_PALETTE]
"""Styles of neighboring fields, which repeat."""
CHOSEN = Style(color="bright_white", bgcolor="grey35", bold=True)  # bytes of the chosen item
CHOSEN_DAMAGED = Style(bgcolor="grey35")  # added to DAMAGED, whose color stays
DAMAGED = Style(color="bright_red", bold=True)  # bytes of findings
CURSOR = Style(reverse=True)
PLAIN = Style()
"""With `NO_COLOR`, Textual changes the style of every piece of text, and each must have one."""


class HexView(ScrollView, can_focus=True):
    """Offset, 16 bytes and their characters per line; arrow keys move a cursor."""

    BINDINGS: ClassVar = [
        Binding("left", "move(-1)", show=False),
        Binding("right", "move(1)", show=False),
        Binding("up", "line(-1)", show=False),
        Binding("down", "line(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("home", "edge(0)", show=False),
        Binding("end", "edge(1)", show=False),
        Binding("enter", "choose", "Show field"),
    ]

    class Chosen(Message):
        """Enter was pressed on a byte."""

        def __init__(self, offset: int) -> None:
            super().__init__()
            self.offset = offset

    def __init__(self) -> None:
        """Start without bytes."""
        super().__init__()
        self._read: Callable[[int, int], bytes] = lambda start, size: b""
        self.base: int = 0  # offset that is shown for the first byte
        self.length: int = 0  # bytes
        self.row: int = WIDE  # bytes per line
        self.cursor: int = 0  # offset, from `base` on
        self.chosen: tuple[int, int] = (0, 0)  # highlighted range
        self._starts: list[int] = []  # of the fields that have colors, ascending
        self._ends: list[int] = []  # of the same fields
        self._damage: list[tuple[int, int]] = []  # half-open ranges
        self._block: tuple[int, bytes] = (-1, b"")  # the block read last: its position from 0, and its bytes

    def show(self, read: Callable[[int, int], bytes], base: int, length: int) -> None:
        """Show other bytes; `read(start, size)` counts from their first byte, which is shown as `base`."""
        self._read, self.base, self.length = read, base, length
        self._block = (-1, b"")
        self._starts, self._ends, self._damage, self.chosen = [], [], [], (base, base)
        self.cursor = base
        self._lay_out()
        self.scroll_to(0, 0, animate=False)

    def _lay_out(self) -> None:
        """Choose the bytes per line that fit, and set the size of the scrolled area."""
        fixed = FIXED + self._digits() - DIGITS
        self.row = WIDE if self.size.width >= fixed + WIDE * 4 else NARROW
        lines = -(-self.length // self.row)  # rounded up
        self.virtual_size: Size = Size(fixed + self.row * 4, max(1, lines))
        self.refresh()

    def _digits(self) -> int:
        """Return the number of hexadecimal digits of an offset."""
        return max(DIGITS, len(f"{self.base + self.length:x}"))

    def on_resize(self) -> None:
        """Show as many bytes in a line as fit."""
        self._lay_out()
        self._follow()

    def color(self, trees: Iterable[Field], *, payload: bool) -> None:
        """Give each innermost field of some trees a color."""
        found = []
        for tree in trees:
            for node in _begun(tree):
                if node.span is None or (node.children and not node.omitted):
                    continue
                if payload != (node.span.payload is not None):  # of the other bytes: stored, or decompressed
                    continue
                start, end = node.span.local
                if start < end:
                    found.append((start, end))
        found.sort()
        self._starts, self._ends = [start for start, _ in found], [end for _, end in found]
        self.refresh()

    def mark(self, damage: list[tuple[int, int]]) -> None:
        """Show these ranges as damaged."""
        self._damage = damage
        self.refresh()

    def choose(self, start: int, end: int) -> None:
        """Highlight the bytes `[start, end)` and scroll to them."""
        self.chosen = (start, end)
        self.cursor = start
        self._follow()

    def _follow(self) -> None:
        """Scroll to the line of the cursor."""
        line = (self.cursor - self.base) // self.row
        self.scroll_to_region(Region(0, line, 1, 1), animate=False, force=True)
        self.refresh()

    def action_move(self, by: int) -> None:
        """Move the cursor by bytes."""
        last = self.base + max(0, self.length - 1)
        self.cursor = min(last, max(self.base, self.cursor + by))
        self._follow()

    def action_line(self, by: int) -> None:
        """Move the cursor by lines."""
        self.action_move(by * self.row)

    def action_page(self, by: int) -> None:
        """Move the cursor by screens."""
        self.action_move(by * max(1, self.size.height - 1) * self.row)

    def action_edge(self, end: int) -> None:
        """Move the cursor to the first or the last byte."""
        self.action_move(self.length if end else -self.length)

    def action_choose(self) -> None:
        """Report the byte at the cursor."""
        self.post_message(self.Chosen(self.cursor))

    def _line(self, at: int) -> bytes:
        """The bytes of a line, from a block that is kept; nothing where they cannot be read."""
        from exhume.errors import ExhumeError

        first = at - at % BLOCK
        kept, data = self._block
        if kept != first:
            try:
                data = self._read(first, min(BLOCK, self.length - first))
            except ExhumeError:
                data = b""
            self._block = first, data
        return data[at - first : at - first + self.row]

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        line = y + self.scroll_offset.y
        at = line * self.row
        if at >= self.length:
            return Strip.blank(self.size.width, PLAIN)
        digits = self._digits()
        pairs = [Segment(f"{self.base + at:0{digits}x}  ", OFFSET)]
        chars: list[Segment] = [Segment(" ", PLAIN)]
        data = self._line(at)
        for number in range(self.row):
            if number >= len(data):
                pairs.append(Segment("   ", PLAIN))
                continue
            style = self._style(self.base + at + number)
            byte = data[number]
            pairs += [Segment(f"{byte:02x}", style), Segment("  " if number == self.row // 2 - 1 else " ", PLAIN)]
            chars.append(Segment(chr(byte) if 32 <= byte < 127 else ".", style))
        if len(data) <= self.row // 2 - 1:  # a short last line lacks the gap in the middle
            pairs.append(Segment(" ", PLAIN))
        strip = Strip([*pairs, *chars])
        return strip.crop(self.scroll_offset.x, self.scroll_offset.x + self.size.width).extend_cell_length(
            self.size.width, PLAIN
        )

    def _style(self, offset: int) -> Style:
        """Return the color of one byte: its field's, then damage, then selection, then the cursor."""
        at = bisect_right(self._starts, offset) - 1
        style = FIELDS[at % len(FIELDS)] if at >= 0 and offset < self._ends[at] else FAINT
        is_damaged = any(start <= offset < end for start, end in self._damage)
        if is_damaged:
            style = DAMAGED
        start, end = self.chosen
        if start <= offset < end:
            style += CHOSEN_DAMAGED if is_damaged else CHOSEN
        return style + CURSOR if offset == self.cursor else style


class OutlineTree(Tree[Item]):
    """Items as nodes.  Threads load them, one at a time, so that the screen stays responsive."""

    class Shown(Message):
        """An item was chosen, or its children were loaded."""

        def __init__(self, item: Item) -> None:
            super().__init__()
            self.item = item

    def __init__(self, lock: threading.Lock) -> None:
        super().__init__("archive")
        self.show_root = False
        self._loading = lock  # held while an item's children are made

    def add_items(self, node: TreeNode[Item], items: Sequence[Item]) -> None:
        """Add items below a node."""
        for item in items:
            label = Text(item.label, "bold red" if item.bad else "dim" if item.kind in ("note", "group") else "")
            if item.make is None:
                node.add_leaf(label, item)
            else:
                node.add(label, item)

    def choose_first(self) -> None:
        """Choose the first item, for Enter to unfold, unless another was chosen meanwhile."""
        if self.cursor_line < 0:
            self.move_cursor_to_line(0)

    def on_tree_node_expanded(self, event: Tree.NodeExpanded[Item]) -> None:
        """Load the children of a node when it is first unfolded."""
        event.stop()
        if event.node.data is not None and not event.node.children:
            self._load(event.node)

    def on_tree_node_highlighted(self, event: Tree.NodeHighlighted[Item]) -> None:
        """Report the chosen item."""
        event.stop()
        if event.node.data is not None:
            self.post_message(self.Shown(event.node.data))

    @work(thread=True, group="load")
    def _load(self, node: TreeNode[Item]) -> None:
        """Make the children of a node in a thread."""
        items = self._made(node.data)
        self.app.call_from_thread(self._loaded, node, items)

    def _made(self, item: Item | None) -> list[Item]:
        """The children of an item; a note where they cannot be read."""
        if item is None or item.make is None:
            return []
        try:
            with self._loading:
                return item.make()
        except ExhumeError as error:
            return [Item(str(error), "note", bad=True)]

    def _loaded(self, node: TreeNode[Item], items: list[Item]) -> None:
        """Add children that a thread made, unless another thread was faster; show the node again if it is chosen."""
        if not node.children:
            self.add_items(node, items)
        if node is self.cursor_node and node.data is not None:
            self.post_message(self.Shown(node.data))

    def unfold(self, path: Sequence[int], holds: Callable[[Item], bool]) -> None:
        """Unfold the node at `path` (numbers of children from the root), and below it the last child for which `holds`
        is true, repeatedly; choose the node where that ends.  Called by a thread.
        """
        node: TreeNode[Item] = self.root
        for number in path:
            node = self._children_of(node)[number]
        while inside := [child for child in self._children_of(node) if child.data is not None and holds(child.data)]:
            node = inside[-1]
        self.app.call_from_thread(self._choose, node)

    def _children_of(self, node: TreeNode[Item]) -> list[TreeNode[Item]]:
        """The children of a node, loaded if they are not."""
        if not node.children and node.data is not None and node.data.make is not None:
            items = self._made(node.data)
            self.app.call_from_thread(self._loaded, node, items)
        return list(node.children)

    def _choose(self, node: TreeNode[Item]) -> None:
        """Expand the parents of a node and put the cursor on it once they are drawn."""
        above = node.parent
        while above is not None:
            above.expand()
            above = above.parent
        self.call_after_refresh(self._settle, node)

    def _settle(self, node: TreeNode[Item]) -> None:
        """Put the cursor on a node whose parents are expanded and drawn."""
        self.move_cursor(node)
        self.scroll_to_node(node, animate=False)
        if node.data is not None:
            self.post_message(self.Shown(node.data))


def is_stored(item: Item) -> bool:
    """Whether an item is a field of stored bytes, or a group of such fields."""
    return item.kind in ("field", "group") and item.span is not None and item.span.payload is None


def _begun(node: Field) -> Iterator[Field]:
    """Yield a field and all fields in it, but only the first `FIRST` elements of an array that is parsed on demand."""
    yield node
    for child in islice(node.children, FIRST) if isinstance(node.children, Trees) else node.children:
        yield from _begun(child)


def holds_byte(item: Item, offset: int) -> bool:
    """Whether the byte at `offset` (in the file, or the payload that is shown) is in the range `place` of an item."""
    return item.place is not None and item.place[0] <= offset < item.place[1]
