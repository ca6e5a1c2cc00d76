"""The results of `info()` and `entries()` for a KV-IR stream.

Its keys are nodes of two trees: auto-generated ones, which the logger adds itself, and those of its user.  A key has a
path in its tree, and is numbered in the order of the declarations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from exhume.archive import Entry
from exhume.errors import ExhumeError, SourceError
from exhume.findings import Finding
from exhume.formats.kv_ir import checks
from exhume.formats.kv_ir.chunks import ALL, decode_ahead
from exhume.formats.kv_ir.layout import NODES, Tags
from exhume.formats.kv_ir.model import KeyedStream, StreamInfo
from exhume.formats.kv_ir.passes import Units
from exhume.formats.kv_ir.units import EventForm

SPACES = ("auto", "user")
"""The two trees of keys, each a name space of its own: those of the logger, those of its user."""


@dataclass(frozen=True, slots=True)
class KvIrInfo(StreamInfo):
    """Result of `info` for a stream of key-value pairs: with its keys, by tree."""

    keys: Mapping[str, Sequence[Mapping[str, Any]]]

    def to_dict(self) -> dict[str, Any]:
        """The documented JSON of `exhume info --json`."""
        return self.document({}, {"auto_keys": list(self.keys["auto"]), "user_keys": list(self.keys["user"])})


def walk(archive: KeyedStream, how: EventForm = EventForm.CHECK, jobs: int = 1) -> tuple[Units, list[Finding]]:
    """Read the whole stream, passing over faulty events; return its units and the findings.

    `how`: `EventForm.CHECK` or `KEYS`, which does not check strings. `jobs` threads share the work (0: one per core).
    """
    units = archive.units()
    found: list[Finding] = []
    judged = True  # False once keys cannot be numbered: then faults of later events would be consequences of that
    for _ in decode_ahead(units, how, jobs):
        pass
    for trouble in units.faults(how):
        if judged:
            found.append(Finding.from_error(trouble.error))
        judged = judged and trouble.status not in checks.LOSES_COUNT
    return units, found


def collect(archive: KeyedStream) -> KvIrInfo:
    """The info of a stream; damaged events are left out and listed as findings."""
    units, found = walk(archive)
    keys = {space: list(_keys(units, space)) for space in SPACES}
    return KvIrInfo.of(archive, units, archive.user_metadata, found, keys=keys)


def escaped(name: bytes) -> str:
    """A name as a part of a path, different for different names: bytes that are not UTF-8 become `\\xNN`."""
    return name.replace(b"\\", b"\\\\").replace(b".", b"\\.").decode("utf-8", "backslashreplace")


def lead(names_logger: bool, name: bytes) -> str:
    """What precedes the path of a user's key at the top level, `name` being its name.

    A backslash, as in queries, if the path could be taken for that of a key of the logger (`names_logger`: it has any).
    """
    return "\\" if names_logger and name.startswith(b"@") else ""


def paths(units: Units, space: str) -> Iterator[tuple[str, str, int]]:
    """Yield `(path, type, offset in the stream)` of every key of a tree, `auto` or `user`.

    Names in a path are separated by dots; a dot or backslash in a name has a backslash before it.  Paths of keys of the
    logger begin with `@`, as in queries; where there are any, an `@` that begins a user's path has a backslash.
    """
    has_auto = space == "user" and bool(units.decoder.nodes(True))
    known = [""]  # paths by number; number 0 is the root
    for parent, type, raw, offset in units.decoder.nodes(space == "auto"):
        name = escaped(raw)
        before = f"{known[parent]}." if parent else "@" if space == "auto" else lead(has_auto, raw)
        known.append(f"{before}{name}")
        yield known[-1], NODES[Tags(type)], offset


def _keys(units: Units, space: str) -> Iterator[Mapping[str, Any]]:
    """The keys of a tree as they are listed in the JSON of `info`."""
    for path, type, _offset in paths(units, space):
        yield {"key": path, "type": type}


def key_entries(archive: KeyedStream) -> Iterator[Entry]:
    """One entry for each key; then the error of the first event that cannot be read, or at which reading ends, is
    raised: after it there may be more keys.  Propagates the errors of reading the file.
    """
    units = archive.units()
    problem: ExhumeError | None = None
    try:
        for _ in units.steps(EventForm.KEYS, ALL):
            pass
    except SourceError:
        raise
    except ExhumeError as error:
        problem = error
    for space in SPACES:
        for number, (path, type, offset) in enumerate(paths(units, space), 1):
            span = units.stream.span(offset, offset)
            details: dict[str, Any] = {"type": type, "namespace": space, "node": number}
            if span.payload is not None:  # inside zstd frames: no offset in the file
                details["payload_offset"] = offset
            yield Entry("key", path, number, offset=None if span.payload else span.start, details=details)
    if problem is not None:
        raise problem


def tally(archive: KeyedStream, jobs: int) -> int:
    """Count the events by reading the stream.  Strings are not decoded: verification, which runs first, has done it."""
    units, _ = walk(archive, EventForm.KEYS, jobs)
    return units.decoder.events
