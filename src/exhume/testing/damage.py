"""Damage for tests: helpers that always change the bytes, every damage of a kind, and how a reader deals with each."""

from __future__ import annotations

import enum
import hashlib
import json
import random
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple

import exhume
from exhume.archive import MemberArchive
from exhume.errors import ExhumeError
from exhume.findings import Severity, Verdict
from exhume.io.jsonout import jsonable
from exhume.io.tree import MemoryTree


def flip(data: bytes, offset: int, mask: int = 0xFF) -> bytes:
    """Return the data with one byte XORed.  Raises `ValueError` for a `mask` of 0, which would change nothing."""
    if not mask & 0xFF:
        raise ValueError("a mask of 0 changes nothing")
    out = bytearray(data)
    out[offset] ^= mask & 0xFF
    return bytes(out)


def overwrite(data: bytes, offset: int, new: bytes) -> bytes:
    """Return the data with bytes replaced in place.  Raises `ValueError` when that changes nothing."""
    out = data[:offset] + new + data[offset + len(new) :]
    if out == data:
        raise ValueError("the new bytes equal the old ones")
    return out


def zero_sector(data: bytes, offset: int, size: int = 512) -> bytes:
    """A run of zeros where a bad sector was (clipped at the end)."""
    end = min(len(data), offset + size)
    return data[:offset] + bytes(end - offset) + data[end:]


def swap(data: bytes, first: tuple[int, int], second: tuple[int, int]) -> bytes:
    """Return the data with two half-open ranges exchanged.

    Raises `ValueError` unless `first` ends before `second` starts.
    """
    (a, b), (c, d) = first, second
    if not a <= b <= c <= d <= len(data):
        raise ValueError("ranges overlap or are out of order")
    return data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:]


def duplicate(data: bytes, start: int, end: int) -> bytes:
    """A range written twice in a row."""
    return data[:end] + data[start:end] + data[end:]


def every_flip(data: bytes, mask: int = 0xFF, step: int = 1) -> Iterator[tuple[int, bytes]]:
    """`(offset, damaged)` for each byte."""
    for offset in range(0, len(data), step):
        yield offset, flip(data, offset, mask)


def every_truncation(data: bytes, step: int = 1) -> Iterator[tuple[int, bytes]]:
    """`(length, cut)` for each shorter length."""
    for length in range(0, len(data), step):
        yield length, data[:length]


def sample_offsets(size: int, count: int, seed: int = 0) -> list[int]:
    """`count` distinct, reproducible offsets below `size` (all of them when there are fewer)."""
    if size <= count:
        return list(range(size))
    return sorted(random.Random(seed).sample(range(size), count))  # noqa: S311 - reproducible is what is wanted


SECTOR = 512


class Damage(NamedTuple):
    """One change of a file: its kind, its offset, and a function that applies it."""

    kind: str
    offset: int
    change: Callable[[bytes], bytes]


class DamageOutcome(enum.StrEnum):
    """What became of a damage."""

    FOUND = "found"  # verify, or reading all of it, says that something is wrong or could not be checked
    WARNED = "warned"  # verify warns, but calls it ok: the bytes may be meant so
    HARMLESS = "harmless"  # nothing is reported, and everything that is read is unchanged
    UNNOTICED = "unnoticed"  # nothing is reported, and something that is read differs
    CRASHED = "crashed"  # an error other than one of exhume's came out


def every_bit(data: bytes) -> Iterator[Damage]:
    """Each bit flipped."""
    for offset in range(len(data)):
        for bit in range(8):
            yield Damage("bit", offset, partial(flip, offset=offset, mask=1 << bit))


def every_cut(data: bytes) -> Iterator[Damage]:
    """The file cut at each byte."""
    for offset in range(len(data)):
        yield Damage("cut", offset, itemgetter(slice(offset)))


def every_sector(data: bytes, size: int = SECTOR) -> Iterator[Damage]:
    """Each sector zeroed, then exchanged with the next one; changes without effect are left out."""
    for offset in range(0, len(data), size):
        changes = {"zeroed sector": partial(zero_sector, offset=offset, size=size)}
        end = min(offset + 2 * size, len(data))
        if offset + size < end:
            changes["swapped sectors"] = partial(swap, first=(offset, offset + size), second=(offset + size, end))
        for kind, change in changes.items():
            if change(data) != data:
                yield Damage(kind, offset, change)


def every_damage(data: bytes) -> Iterator[Damage]:
    """All of these, one kind after the other."""
    yield from every_bit(data)
    yield from every_cut(data)
    yield from every_sector(data)


Files = Mapping[str, bytes]
"""The files of an archive by name; one that is a single file has the name ""."""


def content(archive: Any) -> str:
    """SHA-256 over an archive's whole content, in its order, and over its `info` except file sizes."""
    facts = json.dumps(_without_sizes(jsonable(archive.info().to_dict())), sort_keys=True)
    found = hashlib.sha256(facts.encode("utf-8", "surrogatepass"))
    for item in _items(archive):
        found.update(b"%d\0" % len(item) + item)
    return found.hexdigest()


def _without_sizes(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_sizes(item) for key, item in value.items() if key not in ("size", "stored_size")}
    return [_without_sizes(item) for item in value] if isinstance(value, list) else value


def _items(archive: Any) -> Iterator[bytes]:
    """Everything in an archive, in its order: members with names, keys and values, records, messages or lines."""
    if isinstance(archive, MemberArchive):
        for name in sorted(archive.names()):
            yield name.encode("utf-8", "surrogatepass")
            if archive.stat(name).kind != "directory":
                yield archive.read_member(name)
    elif archive.format == "leveldb":
        yield from (part for row in archive.database.live_versions() for part in (row.key, row.value))
    elif archive.format == "zs":
        yield from archive.records()
    elif archive.format == "ark":
        for message in archive.messages():
            yield f"{message.time_ns} {message.channel}".encode() + bytes(message.data)
    else:
        yield from archive.json_lines()


def target_of(files: Files) -> Any:
    """A target that opens as the archive that consists of the files."""
    return files[""] if set(files) == {""} else MemoryTree(files)


def judge(files: Files, name: str, damage: Damage, format: str, usual: str) -> DamageOutcome:
    """What becomes of a damage of the file `name`; `usual` is the `content` of the undamaged archive."""
    damaged = {**files, name: damage.change(files[name])}
    try:
        told = {one.severity for one in exhume.verify(target_of(damaged), format=format)}
        if Verdict.of_severities(told) is not Verdict.OK:
            return DamageOutcome.FOUND
        with exhume.open(target_of(damaged), format=format) as archive:
            same = content(archive) == usual
        return (
            DamageOutcome.WARNED
            if Severity.WARNING in told
            else DamageOutcome.HARMLESS
            if same
            else DamageOutcome.UNNOTICED
        )
    except ExhumeError:
        return DamageOutcome.FOUND
    except Exception:  # the test is that nothing else is raised
        return DamageOutcome.CRASHED
