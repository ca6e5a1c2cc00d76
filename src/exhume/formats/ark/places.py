"""The places of a log's files: manifests in a directory, the log root around one, and how to recognize a split."""

from __future__ import annotations

from exhume.errors import ExhumeError
from exhume.formats.ark.layout import HEADER_WINDOW, SPLIT_STARTS, parse_split_header
from exhume.io.opening import parent_tree
from exhume.io.source import Source
from exhume.io.tree import Tree


def neighbors(source: Source) -> Tree | None:
    """The log root around a manifest file: two levels up, or the directory itself if it has `splits/`."""
    for levels in (2, 1):
        tree = parent_tree(source, levels)
        if tree is not None and tree.names("splits"):
            return tree
    return parent_tree(source, 2)


def is_split(source: Source) -> bool:
    """Whether a file is a split: its header parses and its index starts inside the file."""
    head = source.read_up_to(0, HEADER_WINDOW)
    if not head.startswith(SPLIT_STARTS):
        return False
    try:
        header = parse_split_header(head, source.span(0, len(head)))
    except ExhumeError:
        return False
    return header.index_offset >= header.size and bool(header.mappings or not header.item_count)
