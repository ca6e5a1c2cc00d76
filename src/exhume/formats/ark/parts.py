"""Ark logs in parts: one split file each.  Messages are in time order within a part, not from one to the next.

This is the interface that `exhume.parts` uses to share an archive between machines: `plan` names the parts, `items` and
`table` read one.  A part is a range of `references`, the uses of split files by the manifest, or all (an empty one).
`tally` is for salvage, which compares the number of messages in its output with those that it wrote.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from exhume.formats.ark.collection import ArkLogSet
from exhume.formats.ark.filters import topic_matcher
from exhume.formats.ark.reader import ArkArchive
from exhume.formats.ark.recover import UNTIMED
from exhume.io.tree import Tree
from exhume.parts import Part, Selection


def plan(archive: ArkArchive | ArkLogSet, size: int | None, options: dict[str, Any]) -> Iterator[Part]:
    """One part for each split that may hold messages of the selected channels; no split file is read.

    `size` is not used as a number, since a split is not divided; None requests one part for all.
    """
    if not isinstance(archive, ArkArchive):
        archive.messages()  # raises for a directory of several logs: one has to be named
        return
    if size is None or archive.single_split is not None or not archive.references:
        yield Part()
        return
    wanted = topic_matcher(options.get("topics") or options.get("topic"))
    for each in archive.references:
        shown = [channel for channel in each.channels.values() if wanted(channel.name)]
        if not each.is_hidden and any(each.acceptance.accepts_name(channel.name) for channel in shown):
            yield Part((each.rank, each.rank + 1))


TAKES = ("topics", "start_ns", "stop_ns", "latched", "decode", "reverse", "on_missing", "on_error", "findings")
"""The options of `items`: those of `ArkArchive.messages`."""


def items(archive: ArkArchive, part: Selection, options: dict[str, Any]) -> Iterator[Any]:
    """Messages; latched ones are not replayed unless there is only one part."""
    _restrict(archive, part)
    chosen: dict[str, Any] = {"latched": False, **options} if part else options
    return archive.messages(**chosen)


def table(archive: ArkArchive, part: Selection, options: dict[str, Any]) -> Any:
    """The messages of one channel (`topic=`) as in `to_arrow`."""
    _restrict(archive, part)
    return archive.to_arrow(**options)


def _restrict(archive: ArkArchive, part: Selection) -> None:
    """Make an archive show only the splits of a part; it is opened for this part alone."""
    if part:
        first, stop = part
        archive.references = archive.references[first:stop]


def tally(archive: ArkArchive, jobs: int) -> int:
    """The number of messages: in the index of each split, however often the log shows it, and without time, as salvage
    keeps them next to a log.  Indexes are enough, since the output is verified before, which reads the messages.
    """
    total = sum(archive.facts(one).item_count for one in {each.identifier for each in archive.references})
    tree = archive.source
    if isinstance(tree, Tree):
        for name in tree.names():
            if name.startswith(f"{UNTIMED}/"):
                with tree.source(name) as source:
                    # One line of JSON per message.
                    total += sum(bytes(chunk).count(b"\n") for chunk in source.chunks(0, source.size))
    return total
