"""Does this look like a bundle?

A bundle is a directory with `index/` (a LevelDB database) and shards, the files with content.  Confidences are between
0 and 1; a format with a higher one is preferred, so weak evidence gets little.
"""

from __future__ import annotations

from exhume_ksy.facts.data_bundle_shard import DataBundleShard

from exhume.counts import counted
from exhume.errors import ExhumeError, Span
from exhume.formats.data_bundle.names import INDEX, hint_opening, shard_number
from exhume.formats.leveldb.names import classify_name
from exhume.formats.leveldb.probe import owns as owns_file
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.registry import Identification

SHARD_MAGIC = DataBundleShard.magic
"""The first bytes of a shard, `daBS`."""


def probe(source: Source | Tree) -> Identification | None:
    """Recognize a directory with `index/` and shards; a lone shard is reported, but not opened by itself."""
    if isinstance(source, Source):
        if source.read_up_to(0, len(SHARD_MAGIC)) == SHARD_MAGIC:
            return Identification("databundle", 0.3, source.span(0, source.size), ("starts as a shard of a bundle",))
        return None
    names = [*source.files(), *source.names(INDEX)]
    shards = [name for name in names if shard_number(name) is not None]
    in_index = [name.removeprefix(f"{INDEX}/") for name in names if name.startswith(f"{INDEX}/")]
    kinds = {classify_name(name)[0] for name in in_index} - {"other"}  # of the files of the database
    if not shards and not kinds:
        return None
    if kinds and shards:
        hint_opening(source)
    evidence = []
    confidence = 0.0
    if kinds:
        confidence += 0.3
        evidence.append("a database in index/")
    if shards and {"current", "manifest"} <= kinds:
        confidence += 0.65  # over a network, reading each shard would cost more than it is worth
        evidence.append(counted(len(shards), "shards"))
    elif shards:
        good = any(_is_shard(source, name) for name in shards[:4])  # a few: each costs a read
        confidence += 0.65 if good else 0.25
        evidence.append(f"{counted(len(shards), 'shards')}{', starting with daBS' if good else ''}")
    return Identification("databundle", min(confidence, 0.98), Span(source.name, 0, 0), tuple(evidence))


def owns(name: str) -> bool:
    """Whether a file with this name, relative to the bundle, belongs to it: a shard, the directory of the index, or a
    file in that.
    """
    folder, _, last = name.partition("/")
    return shard_number(name) is not None or (folder == INDEX and (not last or owns_file(last)))


def _is_shard(tree: Tree, name: str) -> bool:
    """Whether a file starts like a shard; False when it cannot be read."""
    try:
        with tree.source(name) as shard:
            return shard.read_up_to(0, len(SHARD_MAGIC)) == SHARD_MAGIC
    except ExhumeError:
        return False
