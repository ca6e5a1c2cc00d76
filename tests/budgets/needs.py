"""Which limits protect which format, and how much of each a small archive needs: found by trying."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import exhume
from exhume.errors import ExhumeError, LimitExceededError
from exhume.findings import Severity
from exhume.late import resolve
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.registry import formats
from exhume.testing.damage import Files, content, target_of
from exhume.testing.selftest import files_of
from tests.flips.archives import SUBJECTS
from tests.flips.make_samples import write_log

SMALLEST = {
    "caf": "caf", "clp-s": "clp-s 0.5.1", "databundle": "databundle zlib", "kv-ir": "kv-ir, zstd",
    "clp-ir": "clp-ir, zstd with checksum",
    "leveldb": "leveldb snappy", "zs": "zs deflate",
}  # fmt: skip
FORMATS = ("ark", *SMALLEST)

WITHOUT = {"expansion": "expansion_floor", "expansion_floor": "expansion"}
"""Pairs of limits whose larger one counts: to try one, the other is 0."""

TOP = 1 << 16
"""No small archive needs more of anything."""


NEEDS: dict[str, dict[str, int]] = {
    "payload_size": {"ark": 27, "clp-ir": 52, "clp-s": 64, "databundle": 300, "kv-ir": 61, "leveldb": 117, "zs": 55},
    "expansion": {"ark": 1, "clp-s": 3, "databundle": 2, "leveldb": 3, "zs": 2},
    "expansion_floor": {"ark": 27, "clp-s": 537, "databundle": 287, "leveldb": 126, "zs": 76},
    "structure_size": {"ark": 3278, "clp-s": 537, "databundle": 188, "leveldb": 81, "zs": 166},
    "index_size": {"caf": 420},
    "entries": {"caf": 8, "clp-s": 5, "databundle": 6, "leveldb": 1, "zs": 9},
    "depth": {"caf": 4},
    "name_size": {},
}
"""The least value of each limit with which the small archive of a format is read whole, as `need` finds it."""

_ERROR = Severity.ERROR

OTHERS = {"expansion_floor": "expansion", "structure_size": "payload_size"}
"""The limit that a refusal may name instead: the floor belongs to the other, and a section is bounded by either."""


@functools.cache
def small(format: str, name: str) -> Files:
    """The files of an archive of a format that a limit can refuse, none larger than 4 KB."""
    if (format, name) == ("caf", "depth"):
        index = b'{"format_version":"1.0","files":{},"x":{"y":{"z":{}}}}'
        found: Files = {"": index + len(index).to_bytes(4, "little")}
    elif format != "ark":
        found = SUBJECTS[SMALLEST[format]].files()
    else:
        with tempfile.TemporaryDirectory() as folder:
            write_log(Path(folder) / "log", ("zstd",))
            found = files_of(Path(folder) / "log")
    assert max(map(len, found.values())) <= 4096
    return found


def limits_of(name: str, value: int) -> Limits:
    """The usual limits with one of them changed."""
    other = {WITHOUT[name]: 0} if name in WITHOUT else {}
    return DEFAULT_LIMITS._replace(**{name: value}, **other)


@functools.cache
def limit_codes() -> frozenset[str]:
    """The codes of refusals by a limit: these do not say that anything is damaged."""
    rules = [rule for one in formats().values() for rule in resolve(one.package, one.rules)]
    found = (rule.code for rule in rules if issubclass(rule.error_type, LimitExceededError))
    return frozenset((LimitExceededError.default_code, *found))


def refusals(format: str, name: str, value: int) -> list[str]:
    """Every error that is reported when everything in an archive is read within a limit, beginning with its code."""
    target: Any = target_of(small(format, name))
    found: list[str] = []

    def each(work: Callable[[], object]) -> None:
        try:
            work()
        except ExhumeError as error:
            found.append(f"{error.code} {error}")

    def read() -> None:
        with exhume.open(target, format=format, limits=limits_of(name, value)) as archive:
            each(lambda: found.extend(f"{one.code} {one}" for one in archive.verify() if one.is_problem))
            each(lambda: content(archive))
            each(lambda: list(archive.sections()))

    each(read)
    return found


def need(format: str, name: str) -> int:
    """The least value with which an archive is read whole; 0 for limits that do not protect its format."""
    if not refusals(format, name, 0):
        return 0
    low, high = 0, TOP
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if refusals(format, name, middle) else (low, middle)
    return high
