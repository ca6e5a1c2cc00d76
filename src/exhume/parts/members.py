"""Archives of members in parts: each part is a range of members in the order of their bytes, and reads the index.

Members are the files in an archive.  A part is a share of an archive that a distributed job reads on its own; its
selection is `(first, stop)`, positions in `stored_order`, or `()` for all members.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

from exhume.parts import Part, Selection, ranges

if TYPE_CHECKING:
    from exhume.tabular.arrow import Member


class Members(Protocol):
    """An archive of members as its parts use it; see `exhume.archive.MemberArchive`."""

    def entries(self) -> Iterator[Member]:
        """The members, in a fixed order."""

    def will_read(self, entries: Any, /) -> None:
        """Announce that these members will be read."""

    def read_member(self, name: str, /) -> bytes:
        """The bytes of a member."""

    @property
    def to_arrow(self) -> Callable[..., Any]:
        """The table of the members."""


def stored_order(archive: Members) -> list[Member]:
    """The members in the order of their bytes; those without a place, directories too, come last."""

    def place(entry: Member) -> tuple[bool, Any, int]:
        """Sort key: whether it has no place, its shard if the archive has several files, its offset."""
        shard = entry.details.get("shard")
        offset = entry.offset if entry.offset is not None else entry.details.get("shard_offset")
        return offset is None, shard if shard is not None else 0, offset or 0

    return sorted(archive.entries(), key=place)


def plan(archive: Members, size: int | None, options: dict[str, Any]) -> Iterator[Part]:
    """Ranges of members, as positions in `stored_order`."""
    sizes = [entry.size or 0 for entry in stored_order(archive)]
    if size is None or not sizes:
        yield Part((), sum(sizes))
        return
    for first, stop, stored in ranges(sizes, size):
        yield Part((first, stop), stored)


TAKES = ("data",)
"""The options that `items` has and `table` has not."""


def items(archive: Members, part: Selection, options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """`{"name", "size", "offset", "data"}` of each member, no directories; without `data` when that option is False."""
    entries = stored_order(archive)
    chosen = entries[slice(*part)] if part else entries
    if options.get("data", True):
        archive.will_read(chosen)
    for entry in chosen:
        if entry.kind == "directory":
            continue
        row: dict[str, Any] = {"name": entry.name, "size": entry.size, "offset": entry.offset}
        if options.get("data", True) and entry.name is not None:
            row["data"] = archive.read_member(entry.name)
        yield row


def table(archive: Members, part: Selection, options: dict[str, Any]) -> Any:
    """The member table (`Archive.to_arrow`) of these members."""
    return archive.to_arrow(**options, entries=stored_order(archive)[slice(*part)] if part else None)


def tally(archive: Members, jobs: int) -> int:
    """The number of members, without directories."""
    return sum(entry.kind != "directory" for entry in archive.entries())
