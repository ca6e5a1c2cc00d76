"""File names of a bundle: which are shards, which are the index, and which of them opening reads.

A shard is a file with content, the index a LevelDB database in `index/` whose rows say where files are.  Requests are
made in advance and together because, for a remote bundle, each one takes long.

Spec: "Path to bytes" in `docs/formats/data_bundle.md`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from exhume.formats.leveldb.names import SMALL_TABLES, classify_name, hint_rows, opening_files

if TYPE_CHECKING:
    from exhume.io.tree import Tree

INDEX = "index"
"""The directory of the index below the bundle."""

FEW_SHARDS = 8
"""The most shards whose size is requested when a bundle is opened whose listing has no sizes (an index page)."""

# Numbers are padded to 8 digits; larger ones have more.
SHARD_NAME = re.compile(r"shard-([0-9]{8,20})", re.ASCII)


def shard_name(number: int) -> str:
    """The file name of a shard."""
    return f"shard-{number:08d}"


def shard_number(name: str) -> int | None:
    """The number of a shard by its file name; None for a file that is not a shard."""
    match = SHARD_NAME.fullmatch(name)
    return int(match[1]) if match and shard_name(int(match[1])) == name else None


def index_files(tree: Tree, *kinds: str) -> list[str]:
    """Files of the index of these kinds (`table`, `log`, ...), by their names below the bundle."""
    folder = f"{INDEX}/"
    return [
        name
        for name in tree.names()
        if name.startswith(folder) and classify_name(name.removeprefix(folder))[0] in kinds
    ]


def is_at_hand(tree: Tree) -> bool:
    """Whether reading every row of the index is cheap: it is one small table or log, or the listing has no sizes.

    Listings of local files have no sizes; nor have those of index pages, where every file is requested anyway.
    """
    sizes = [tree.listed_size(name) for name in index_files(tree, "table", "log")]
    filled = [size for size in sizes if size]
    return None in sizes or (len(filled) <= 1 and sum(filled) <= SMALL_TABLES)


def hint_opening(tree: Tree) -> None:
    """Request, all at once, what opening reads: the manifest of the index, and its rows if that is cheap.

    It also requests the sizes of shards, if a listing does not have them.
    """
    shards = [name for name in tree.names() if shard_number(name) is not None]
    hint_rows(
        tree,
        index_files(tree, "table", "log") if is_at_hand(tree) else (),
        heads=opening_files(tree, f"{INDEX}/"),
        sizes=[*index_files(tree, "other"), *shards[:FEW_SHARDS]],
    )
