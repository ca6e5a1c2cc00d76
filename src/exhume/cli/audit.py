"""`--audit FILE`: one record of a run, chained to the record before it; and the check of such a file.

A record is a line of JSON.  Its `digest` is the SHA-256 of the record without that key, written with sorted keys and
without spaces; `previous` is the digest of the record before it.  See docs/laboratories.md.
"""

from __future__ import annotations

import hashlib
import json
import locale
import os
import socket
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from exhume.cli.digested import Digested, digested
from exhume.cli.outcome import Outcome
from exhume.errors import ExhumeError
from exhume.io import witness
from exhume.io.files import open_regular
from exhume.io.jsonout import jsonable
from exhume.io.local import open_untouched
from exhume.io.output.ledger import LONGEST_LINE, Ledger
from exhume.io.portable import pread
from exhume.io.source import STREAM_CHUNK

SCHEMA = "exhume.audit-record/1"

MOST_FINDINGS = 10_000
"""Findings that are kept in a record; the rest is counted."""

MOST_ANSWERS = 10_000
"""Answers of a store, for each object, whose digests are kept; the rest is counted."""

VARIABLES = ("EXHUME_", "PYTHON", "LC_", "LANG", "TZ")
"""Beginnings of the names of environment variables that a record keeps."""


def digest_of(record: Mapping[str, Any]) -> str:
    """The digest of a record: the SHA-256 of the record without its own `digest`."""
    rest = {key: value for key, value in record.items() if key != "digest"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


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
        finally:
            os.close(fd)
    except (OSError, ValueError) as error:
        return {"error": getattr(error, "strerror", None) or str(error)}
    facts: dict[str, Any] = {"size": size, "sha256": hashed.hexdigest(), "mtime_ns": str(found.st_mtime_ns)}
    facts |= {"atime_ns": str(found.st_atime_ns), "mode": oct(found.st_mode), "xattrs": _xattrs(path)}
    return facts


def _xattrs(path: str) -> dict[str, str]:
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
    return stat.S_ISREG(mode) or stat.S_ISBLK(mode)


def _absolute(path: witness.Path) -> str:
    return os.path.abspath(path)  # noqa: PTH100 - resolve() would follow links


class Audit(witness.Witness):
    """The witness of one run, and its record."""

    def __init__(self, path: str) -> None:
        self._ledger = Ledger(path)
        self._ledger.last()  # a file that cannot be continued is refused before anything is done
        self._own = _absolute(path)
        self._inputs: dict[str, dict[str, Any]] = {}
        self._read: dict[str, list[tuple[int, int]]] = {}
        self._remote: dict[str, dict[str, Any]] = {}
        self.streams: tuple[Digested | None, Digested | None] = (None, None)
        """Standard input and output."""
        self._outputs: dict[str, None] = {}
        self._told: list[dict[str, Any]] = []
        self._total = 0
        self._lock = threading.RLock()
        self._started = time.time_ns()

    def opened(self, path: witness.Path) -> None:
        for name in files_of(os.fspath(path)):
            whole = _absolute(name)
            with self._lock:
                if whole not in self._inputs and whole != self._own and not self._is_output(whole):
                    self._inputs[whole] = facts_of(whole)

    def _is_output(self, path: str) -> bool:
        """Whether this run made a file, or has begun it and not finished it."""
        folders = (path, *map(os.fspath, Path(path).parents))
        return any(one in self._outputs or one.endswith(".part") for one in folders)

    def read(self, path: witness.Path, start: int, end: int) -> None:
        self._add(_absolute(path), start, end)

    def _add(self, name: str, start: int, end: int) -> None:
        with self._lock:
            spans = self._read.setdefault(name, [])
            if spans and spans[-1][0] <= start <= spans[-1][1]:
                spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
            else:
                spans.append((start, end))

    def fetched(self, name: str, facts: Mapping[str, Any], start: int, data: bytes) -> None:
        end, digest = start + len(data), hashlib.sha256(data).hexdigest()
        self._add(name, start, end)
        with self._lock:
            known = self._remote.setdefault(name, {"fetched": [], "fetched_total": 0})
            known.update(facts)
            known["fetched_total"] += 1
            if len(known["fetched"]) < MOST_ANSWERS:
                known["fetched"].append({"start": start, "end": end, "sha256": digest})

    def made(self, path: witness.Path) -> None:
        self._outputs[_absolute(path)] = None

    def told(self, what: str, facts: Mapping[str, Any]) -> None:
        with self._lock:
            self._total += 1
        if len(self._told) < MOST_FINDINGS:
            self._told.append({"kind": what, **jsonable(facts)})

    def record(self, context: click.Context, outcome: int, error: BaseException | None) -> dict[str, Any]:
        """The whole record, except for the keys that make it a link of the chain."""
        from exhume.cli.about import about

        installed = about()
        options = {name: value for name, value in context.params.items() if name != "audit"}
        body: dict[str, Any] = {
            "schema": SCHEMA,
            "tool": {"name": "exhume", **installed.to_dict()},
            "command": context.command_path.split()[1:],
            "options": jsonable({name: _plain(value) for name, value in options.items()}),
            "environment": {
                "directory": os.fspath(Path.cwd()),
                "host": socket.gethostname(),
                "user": os.getuid() if hasattr(os, "getuid") else None,
                "encoding": locale.getpreferredencoding(do_setlocale=False),
                "variables": {k: v for k, v in sorted(os.environ.items()) if k.startswith(VARIABLES)},
            },
            "started_ns": str(self._started),
            "ended_ns": str(time.time_ns()),
            "inputs": [self._input(name) for name in sorted(self._inputs)],
            "remote": [
                {"name": name, **self._remote[name], "read": merged(self._read[name])} for name in sorted(self._remote)
            ],
            "stdin": self.streams[0] and self.streams[0].facts(),
            "stdout": self.streams[1] and self.streams[1].facts(),
            "outputs": [
                {"name": name, **_kept(facts_of(name))} for path in self._outputs for name in sorted(files_of(path))
            ],
            "findings": self._told,
            "findings_total": self._total,
            "exit_code": outcome,
            "error": error.to_dict() if isinstance(error, ExhumeError) else error and type(error).__name__,
        }
        result: dict[str, Any] = json.loads(json.dumps(jsonable(body), default=str))
        return result

    def _input(self, name: str) -> dict[str, Any]:
        before, after = self._inputs[name], facts_of(name)
        changed = sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))
        return {"name": name, **before, "changed": changed, "after": {key: after.get(key) for key in changed},
                "read": merged(self._read.get(name, []))}  # fmt: skip

    def finish(self, context: click.Context, outcome: int, error: BaseException | None) -> str:
        """Adds the record to the file; returns its digest."""
        body = self.record(context, outcome, error)

        def link(last: bytes | None) -> bytes:
            before: dict[str, Any] = json.loads(last) if last is not None else {"number": 0, "digest": None}
            body.update(number=before["number"] + 1, previous=before["digest"])
            body["digest"] = digest_of(body)
            return json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode("ascii")

        self._ledger.append(link)
        digest: str = body["digest"]
        return digest

    def close(self) -> None:
        """Closes the file."""
        self._ledger.close()


def _kept(facts: dict[str, Any]) -> dict[str, Any]:
    return {key: facts[key] for key in ("size", "sha256", "error") if key in facts}


def _plain(value: Any) -> Any:
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def merged(spans: list[tuple[int, int]]) -> list[list[int]]:
    """Half-open spans, sorted, with those that touch each other joined."""
    out: list[list[int]] = []
    for start, end in sorted(spans):
        if out and start <= out[-1][1]:
            out[-1][1] = max(end, out[-1][1])
        else:
            out.append([start, end])
    return out


def audited(path: str, call: Callable[[], Any]) -> Any:
    """Returns what `call` returns, and adds a record of the run to a file; the record's digest goes to standard error.

    Raises what `call` raises, `SourceError` or `WriterError` if the record cannot be written, and `click.UsageError` if
    other processes would do the work.
    """
    context = click.get_current_context()
    if "retries" in context.params and (context.params["cluster"] or context.params["jobs"] != 1):
        raise click.UsageError("--audit records what this process does: leave out --jobs and --cluster", context)
    audit = Audit(path)
    try:
        for parameter in context.command.params:
            if isinstance(parameter, click.Argument):
                given = context.params.get(parameter.name or "")
                for one in given if isinstance(given, tuple) else (given,):
                    if isinstance(one, str | os.PathLike):
                        audit.opened(one)
        witness.active = audit
        error: BaseException | None = None
        result: Any = None
        try:
            with digested() as audit.streams:
                result = call()
                sys.stdout.flush()
        except BaseException as raised:
            error = raised
            raise
        finally:
            witness.active = None
            code = _code(error) if error is not None else int(result or 0)
            click.echo(f"exhume: audit {audit.finish(context, code, error)}", err=True)
    finally:
        witness.active = None
        audit.close()
    return result


def _code(error: BaseException) -> int:
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return int(Outcome.INTERRUPTED)
    return int(Outcome.USAGE if isinstance(error, click.UsageError) else Outcome.FAILED)


# Whether a file of records still holds


def check(path: str, *, files: bool = True) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Checks a file of records: yields what is found for each record, and for each file that a record names.

    Yields `(line, "record", facts)` for each record, with `problem` where it does not hold, and `(line, "file", facts)`
    for each of its inputs and outputs, with `state`: `same`, `changed` or `missing`, or `not checked` for what is no
    file: remote objects, standard input and output. Checking stops at the first line that is not a record.

    Raises:
        SourceError: The file cannot be read, or is not a regular file.
    """
    before: str | None = None
    states: dict[tuple[str, str], str] = {}
    with open_regular(path) as lines:
        number = 0
        while line := lines.readline(LONGEST_LINE + 1):
            number += 1
            try:
                record = json.loads(line)
                digest = record["digest"]
                problem = _problem(record, number, before, line)
                named = list(_files(record)) if files else []
                others = list(_others(record)) if files else []
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                yield number, "record", {"problem": "not a record"}
                return
            yield number, "record", {"digest": digest, **({"problem": problem} if problem else {})}
            before = digest
            for role, name, kept in named:
                if (name, kept) not in states:
                    states[name, kept] = _state(name, kept)
                yield number, "file", {"name": name, "role": role, "state": states[name, kept]}
            for role, name in others:
                yield number, "file", {"name": name, "role": role, "state": "not checked"}


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
    """What a record has digests of that is no file: the role and the name, `-` for standard input and output."""
    for one in record.get("remote", ()):
        if not isinstance(one["name"], str):
            raise TypeError
        yield "input", one["name"]
    for role, name in (("input", "stdin"), ("output", "stdout")):
        if record.get(name) is not None:
            yield role, "-"


def _after(one: dict[str, Any]) -> str:
    digest: str = (one.get("after") or {}).get("sha256") or one["sha256"]
    return digest


def _problem(record: dict[str, Any], number: int, before: str | None, line: bytes) -> str | None:
    if not line.endswith(b"\n"):
        return "the record is cut short"
    if record.get("schema") != SCHEMA:
        return f"not a record of {SCHEMA}"
    if record["digest"] != digest_of(record):
        return "the record was changed: it does not have its digest"
    if record["previous"] != before:
        return "the record does not follow the one before it: one was removed, added or changed"
    if record["number"] != number:
        return "the records are not numbered one by one"
    return None


def _state(path: str, digest: str) -> str:
    facts = facts_of(path)
    if "error" in facts:
        return "missing"
    return "same" if facts["sha256"] == digest else "changed"
