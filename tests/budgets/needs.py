"""Which limits protect which format, and how much of each a small archive needs: found by trying."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from typing import Any

import exhume
from exhume.errors import ExhumeError, LimitExceededError
from exhume.findings import Severity
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.testing.damage import Files, content, target_of
from exhume.testing.selftest import files_of
from tests.flips.archives import SUBJECTS
from tests.flips.make_samples import write_log

SMALLEST = {
    "caf": "caf", "clp-s": "clp-s 0.5.1", "databundle": "databundle zlib", "kv-ir": "kv-ir, zstd",
    "leveldb": "leveldb snappy", "zs": "zs deflate",
}  # fmt: skip
FORMATS = ("ark", *SMALLEST)

WITHOUT = {"expansion": "expansion_floor", "expansion_floor": "expansion"}
"""Limits of which only the larger counts: to try one, the other is 0."""

TOP = 1 << 16
"""No small archive needs more of anything."""


NEEDS: dict[str, dict[str, int]] = {
    "payload_size": {"ark": 27, "clp-s": 537, "databundle": 300, "leveldb": 126, "zs": 76},
    "expansion": {"ark": 1, "clp-s": 3, "databundle": 2, "leveldb": 3, "zs": 2},
    "expansion_floor": {"ark": 27, "clp-s": 537, "databundle": 287, "leveldb": 126, "zs": 76},
    "structure_size": {"ark": 3278, "clp-s": 537, "databundle": 188, "leveldb": 54, "zs": 166},
    "index_size": {"caf": 420},
    "entries": {"caf": 8, "clp-s": 5, "databundle": 1, "leveldb": 1, "zs": 9},
    "depth": {"caf": 4},
    "name_size": {},
}
"""The least value of each limit with which the small archive of a format is read whole, as `need` finds it."""

WORDS = {
    "payload_size": "payload_size|the block's payload decompresses to more than is allowed",
    "expansion": "expansion|the block's payload decompresses to more than is allowed",
    "expansion_floor": "expansion|the block's payload decompresses to more than is allowed",
    "structure_size": "structure_size|a section is larger than is allowed",
    "depth": "nested too deep",
}
"""What a refusal says, where that is not the name of the limit."""


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


def refused(format: str, name: str, value: int) -> str | None:
    """What is said when everything in an archive is read within a limit: None, or the words of a refusal.

    Raises what comes out when that is no refusal.
    """
    target: Any = target_of(small(format, name))
    try:
        with exhume.open(target, format=format, limits=limits_of(name, value)) as archive:
            for finding in archive.verify():
                if finding.severity is Severity.ERROR:
                    return f"{finding.code} {finding.message}"
            content(archive)
            list(archive.sections())
    except LimitExceededError as error:
        return f"{error.code} {error}"
    except ExhumeError as error:
        return f"not a limit: {error!r}"
    return None


def need(format: str, name: str) -> int:
    """The least value with which an archive is read whole; 0 for limits that do not protect its format."""
    if refused(format, name, 0) is None:
        return 0
    low, high = 0, TOP
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if refused(format, name, middle) is None else (middle, high)
    return high
