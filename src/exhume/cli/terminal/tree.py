"""The tree of files, sections and fields as a widget that loads the children of a node when it is unfolded."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from rich.text import Text
from textual import work
from textual.message import Message
from textual.widgets import Tree
from textual.widgets.tree import TreeNode

from exhume.cli.terminal.outline import Item
from exhume.errors import ExhumeError


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
        self._loading = lock

    def add_items(self, node: TreeNode[Item], items: Sequence[Item]) -> None:
        """Add items below a node."""
        for item in items:
            label = Text(item.label, "bold red" if item.bad else "dim" if item.kind in ("note", "group") else "")
            if item.make is None:
                node.add_leaf(label, item)
            else:
                node.add(label, item)

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
        if not node.children:
            self.add_items(node, items)
        if node is self.cursor_node and node.data is not None:
            self.post_message(self.Shown(node.data))

    def unfold(self, path: Sequence[int], holds: Callable[[Item], bool]) -> None:
        """Unfold children by number, then those that hold something, and choose the last; called by a thread."""
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
        above = node.parent
        while above is not None:
            above.expand()
            above = above.parent
        self.call_after_refresh(self._settle, node)

    def _settle(self, node: TreeNode[Item]) -> None:
        self.move_cursor(node)
        self.scroll_to_node(node, animate=False)
        if node.data is not None:
            self.post_message(self.Shown(node.data))


def holds_byte(item: Item, offset: int) -> bool:
    """Whether a byte is in the range of an item."""
    return item.place is not None and item.place[0] <= offset < item.place[1]
