"""Where the files of a log lie: manifests in a directory, the log root around one, and what a split looks like."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Final

from exhume.errors import ExhumeError
from exhume.formats.ark.layout import HEADER_WINDOW, SPLIT_STARTS, parse_split_header
from exhume.formats.ark.rbuf.guid import is_guid
from exhume.io.opening import parent_tree
from exhume.io.source import Source
from exhume.io.tree import Tree

PARTIAL_SUFFIX: Final = ".partial"
"""What a writer calls a manifest until the log is closed."""


def find_manifests(tree: Tree, *, unfinished: bool = False, below: bool = True) -> list[str]:
    """Manifest files of a log root, or (unless not `below`) of the log roots below a directory, by name."""
    names = [name for name in tree.names("manifests") if _is_manifest(name, unfinished)]
    if not names and below:
        names = [
            name
            for name in tree.names()
            if PurePosixPath(name).parent.name == "manifests" and _is_manifest(name, unfinished)
        ]
    finished = {name for name in names if not name.endswith(PARTIAL_SUFFIX)}
    return [name for name in names if name in finished or name.removesuffix(PARTIAL_SUFFIX) not in finished]


def _is_manifest(name: str, unfinished: bool) -> bool:
    last = PurePosixPath(name).name
    return is_guid(last) or (unfinished and last.endswith(PARTIAL_SUFFIX) and is_guid(last[: -len(PARTIAL_SUFFIX)]))


def neighbours(source: Source) -> Tree | None:
    """The log root around a manifest file: two levels up, or the directory itself when it holds `splits/`."""
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
