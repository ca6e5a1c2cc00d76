"""A stream is read from its beginning: it is one part."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from exhume.formats.kv_ir.info import walk
from exhume.formats.kv_ir.reader import KvIrArchive
from exhume.formats.kv_ir.units import EventForm
from exhume.parts import Part, Selection


def plan(archive: KvIrArchive, size: int | None, options: dict[str, Any]) -> Iterator[Part]:
    """One part, whatever its size: a key may be declared anywhere before the events that use it."""
    yield Part((), archive.source.size)


def items(archive: KvIrArchive, part: Selection, options: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    """Events as `(auto, user)`."""
    return archive.events()


def table(archive: KvIrArchive, part: Selection, options: dict[str, Any]) -> Any:
    """The events as `to_arrow` returns them."""
    return archive.to_arrow(**options)


def tally(archive: KvIrArchive, jobs: int) -> int:
    """The number of events, read and counted; their strings are not decoded again, which verification has done."""
    return walk(archive, EventForm.KEYS, jobs)[0].decoder.events
