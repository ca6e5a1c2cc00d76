"""The records that `--audit` writes: their form, and whether a file of them is unchanged.

A record is a line of JSON in exactly one form: sorted keys, no spaces, ASCII only.  Its `digest` is the SHA-256 of the
record without that key in the same form; `previous` is the digest of the record before it.  See docs/laboratories.md.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from exhume.errors import SourceError, Span
from exhume.io import activity
from exhume.io.files import open_regular, pread
from exhume.io.local import open_untouched
from exhume.io.output.stream import LONGEST_LINE
from exhume.io.source import STREAM_CHUNK

SCHEMA = "exhume.audit-record/1"
"""The `schema` of every record."""

CHANGED = "changed: it is not the text that its digest covers"
"""The problem of a record that was edited; the text follows "the record is"."""


def canonical(record: Mapping[str, Any]) -> bytes:
    """The only form in which a record is written and accepted."""
    text = json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.encode("ascii")


def digest_of(record: Mapping[str, Any]) -> str:
    """The digest of a record: the SHA-256 of the record without its own `digest`."""
    return hashlib.sha256(canonical({key: value for key, value in record.items() if key != "digest"})).hexdigest()


def parse_record(line: bytes) -> tuple[dict[str, Any], str | None]:
    """Return the record of a line, without the line's end, and the problem with it, if anything.

    Raises `ValueError` if the line is not a record at all.  Duplicate or reordered keys, other spaces, another spelling
    of a value, or any other byte that the writer does not write are a wrong line, whatever JSON makes of them.
    """
    try:
        record = json.loads(line)
        whole = isinstance(record, dict) and canonical(record) == line  # exactly as it is written
    except (ValueError, RecursionError) as error:
        raise ValueError("not a record") from error
    if not (isinstance(record, dict) and isinstance(record.get("digest"), str) and type(record.get("number")) is int):
        raise ValueError("not a record")
    if not isinstance(record.get("previous", 0), str | None):
        raise ValueError("not a record")
    if record.get("schema") != SCHEMA:
        return record, f"not a record of {SCHEMA}"
    return record, None if whole and record["digest"] == digest_of(record) else CHANGED


def facts_of(path: str) -> dict[str, Any]:
    """Facts about a file, read without changing it: size, SHA-256, times, mode, extended attributes; or the error."""
    try:
        if not _is_file(Path(path).stat().st_mode):
            return {"error": "not a regular file"}
        fd = open_untouched(path)
        try:
            found = os.fstat(fd)
            hashed, size = hashlib.sha256(), 0
            while piece := pread(fd, STREAM_CHUNK, size):
                hashed.update(piece)
                size += len(piece)
                activity.count(len(piece))
        finally:
            os.close(fd)
    except (OSError, ValueError) as error:
        return {"error": getattr(error, "strerror", None) or str(error)}
    # Times in nanoseconds are text: they need more digits than a double has, with which some programs read JSON.
    facts: dict[str, Any] = {"size": size, "sha256": hashed.hexdigest(), "mtime_ns": str(found.st_mtime_ns)}
    facts |= {"atime_ns": str(found.st_atime_ns), "mode": oct(found.st_mode), "xattrs": _xattrs(path)}
    return facts


def _xattrs(path: str) -> dict[str, str]:
    """Return the extended attributes of a file, values in hexadecimal; none where the system has none."""
    try:
        return {name: os.getxattr(path, name).hex() for name in sorted(os.listxattr(path))}
    except (OSError, AttributeError):
        return {}


def files_of(path: str) -> Iterator[str]:
    """The files that a path stands for: itself, or all below a directory, sorted; none for anything else."""
    try:
        kind = Path(path).stat().st_mode
    except (OSError, ValueError):
        return
    if stat.S_ISDIR(kind):
        for folder, folders, files in os.walk(path):
            folders.sort()
            for name in sorted(files):
                inner = Path(folder) / name
                if stat.S_ISREG(inner.lstat().st_mode):
                    yield os.fspath(inner)
    elif _is_file(kind):
        yield path


def _is_file(mode: int) -> bool:
    """Return whether a mode is that of something with bytes to hash: a regular file or a block device (a disk)."""
    return stat.S_ISREG(mode) or stat.S_ISBLK(mode)


def read_digests(path: str) -> list[str]:
    """Return the digests in a file: each is a line, alone or as `exhume: audit DIGEST`; other lines are ignored.

    Raises `SourceError` if the file cannot be read or contains no digest.
    """
    found = []
    with open_regular(path) as lines:
        while line := lines.readline(LONGEST_LINE):
            if (digest := re.fullmatch(rb"(?:exhume: audit )?([0-9A-Fa-f]{64})\s*", line)) is not None:
                found.append(digest[1].decode("ascii").lower())
    if not found:
        raise SourceError("no digests in this file", span=Span(path, 0, 0))
    return found


def check(path: str, *, files: bool = True) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Check a file of records: yields the result for each record, and for each file that a record names.

    Yields `(line, "record", facts)` for each record, with `digest`, `run` (what was done, when and with which outcome)
    and, if it is wrong, `problem`; and `(line, "file", facts)`
    for each of its inputs and outputs, with `state`: `unchanged`, `changed` or `missing`, or `not_checked` for anything
    but files: remote objects, standard input and output. Checking stops at the first line that is not a record.

    Raises:
        SourceError: The file cannot be read, or is not a regular file.
    """
    before: str | None = None  # digest of the record before
    states: dict[tuple[str, str], str] = {}  # (name, digest): state; a file named in many records is hashed once
    with open_regular(path) as lines:
        number = 0
        while line := lines.readline(LONGEST_LINE + 1):  # a longer line is cut, and so not a record
            number += 1
            try:
                record, wrong = parse_record(line.removesuffix(b"\n"))
                digest, done = record["digest"], _run(record)
                problem = _problem(record, number, before, line, wrong)
                named = list(_files(record)) if files else []
                others = list(_others(record)) if files else []
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                yield number, "record", {"problem": "not a record"}
                return
            yield number, "record", {"digest": digest, "run": done, **({"problem": problem} if problem else {})}
            before = digest
            for role, name, kept in named:
                if (name, kept) not in states:
                    states[name, kept] = _state(name, kept)
                yield number, "file", {"name": name, "role": role, "state": states[name, kept]}
            for role, name in others:
                yield number, "file", {"name": name, "role": role, "state": "not_checked"}


TARGETS = ("target", "targets", "inputs", "images", "left", "right", "database", "records", "spec")
"""Names of the arguments that name files."""


def _run(record: dict[str, Any]) -> dict[str, Any]:
    """Times (ISO 8601, UTC), verb, targets, exit code and outputs of a run.  Propagates errors of a wrong record."""
    options, outputs = record.get("options") or {}, record.get("outputs") or ()
    given = (options.get(name) or [] for name in TARGETS)
    targets = [str(one) for value in given for one in (value if isinstance(value, list) else [value])]
    return {
        "started": _iso(record.get("started_ns")),
        "ended": _iso(record.get("ended_ns")),
        "verb": " ".join(map(str, record.get("command") or ())),
        "targets": targets,
        "exit_code": record.get("exit_code"),
        "outputs": [str(one["name"]) for one in outputs],
    }


def _iso(ns: Any) -> str | None:
    """Nanoseconds since 1970, given as a string, as ISO 8601 in UTC; None for anything else."""
    if not (isinstance(ns, str) and re.fullmatch(r"[0-9]{1,19}", ns)):
        return None
    seconds, rest = divmod(int(ns), 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"


def _files(record: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """The files that a record has digests of: the role, the name, and the digest at the end of the run."""
    for role in ("inputs", "outputs"):
        for one in record.get(role, ()):
            if "sha256" in one:
                kept = _after(one) if role == "inputs" else one["sha256"]
                if not (isinstance(one["name"], str) and isinstance(kept, str)):
                    raise TypeError
                yield role[:-1], one["name"], kept


def _others(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Digests in a record of anything but files: the role and the name, `-` for standard input and output."""
    for one in record.get("remote", ()):
        if not isinstance(one["name"], str):
            raise TypeError
        yield "input", one["name"]
    for role, name in (("input", "stdin"), ("output", "stdout")):
        if record.get(name) is not None:
            yield role, "-"


def _after(one: dict[str, Any]) -> str:
    """Return the digest of an input at the end of the run: `after` has it if it changed during the run."""
    digest: str = (one.get("after") or {}).get("sha256") or one["sha256"]
    return digest


def _problem(record: dict[str, Any], number: int, before: str | None, line: bytes, wrong: str | None) -> str | None:
    """Return what is incorrect in a record at its place in the chain of hashes; None if nothing is.

    `before` is the hash of the record before.
    """
    if not line.endswith(b"\n"):
        return "the record is truncated"
    if wrong is not None:
        return f"the record is {wrong}"
    if record["previous"] != before:
        return "the record does not follow the one before it: one was removed, added or changed"
    if record["number"] != number:
        return "the records are not numbered one by one"
    return None


def _state(path: str, digest: str) -> str:
    """Return whether a file has the recorded digest now: `unchanged`, `changed`, or `missing` if it cannot be read."""
    facts = facts_of(path)
    if "error" in facts:
        return "missing"
    return "unchanged" if facts["sha256"] == digest else "changed"
