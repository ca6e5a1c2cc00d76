"""`--audit FILE`: append a record of this run to a log, for evidence that can be checked later.

A record is one line of JSON: command, options, environment, the files and objects that were read (with digests), the
files that were written, findings and exit code.  It contains the digest of the record before it, so that records form a
chain.  Standard input and output are counted and hashed while the run lasts.  `exhume.cli.records` defines and checks
records; `exhume audit` (`cmd_audit.py`) lists them.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import locale
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import click

from exhume.cli import ExitCode, output_is_closed
from exhume.cli.progress import ProgressBar
from exhume.cli.records import SCHEMA, canonical, digest_of, facts_of, files_of, parse_record
from exhume.errors import ExhumeError, Span, WriterError
from exhume.io import activity
from exhume.io.jsonout import jsonable
from exhume.io.output.stream import AppendOnlyLog
from exhume.redaction import redact_all, redact_option


class HashingStream(io.RawIOBase):
    """A binary stream that hashes all bytes read or written through it.

    It has no file descriptor, so that no data can bypass it (`os.sendfile` and the like need one).
    """

    def __init__(self, stream: Any) -> None:
        super().__init__()
        self._stream = stream
        self._hash = hashlib.sha256()
        self.size: int = 0  # bytes that have passed

    def facts(self) -> dict[str, Any] | None:
        """Size and SHA-256 of what has passed; None when nothing has."""
        return {"size": self.size, "sha256": self._hash.hexdigest()} if self.size else None

    def readable(self) -> bool:
        return bool(self._stream.readable())

    def writable(self) -> bool:
        return bool(self._stream.writable())

    def isatty(self) -> bool:
        return bool(self._stream.isatty())

    def readinto(self, buffer: Any, /) -> int:
        """Fill `buffer` from the stream, counting and hashing the bytes on the way. Returns their number."""
        view = memoryview(buffer).cast("B")
        # `read1` returns what is available, without waiting for a full buffer.
        read = getattr(self._stream, "read1", self._stream.read)
        data: bytes = read(len(view))
        view[: len(data)] = data
        self._passed(data)
        return len(data)

    def write(self, data: Any, /) -> int:
        """Write bytes and add them to the digest."""
        view = memoryview(data).cast("B")
        self._stream.write(view)
        self._passed(view)
        return len(view)

    def flush(self) -> None:
        if self.writable():
            self._stream.flush()

    def _passed(self, data: bytes | memoryview) -> None:
        """Count and hash bytes that were read or written."""
        self._hash.update(data)
        self.size += len(data)


@contextlib.contextmanager
def digested() -> Iterator[tuple[HashingStream | None, HashingStream | None]]:
    """Replace standard input and output by hashing ones while entered; yields both.

    One is None if it is closed, is not readable, or has no bytes below it (as in tests that replace it by text).
    """
    real = sys.stdin, sys.stdout
    given, made = (HashingStream(one.buffer) if hasattr(one, "buffer") else None for one in real)
    if given is not None and not given.readable():  # descriptor 0 is a file that is written
        given = None
    try:
        if given is not None:
            sys.stdin = _text(io.BufferedReader(given), real[0])
        if made is not None:
            real[1].flush()
            sys.stdout = _text(made, real[1], write_through=True)
        yield given, made
    finally:
        sys.stdin, sys.stdout = real


def _text(stream: Any, like: TextIO, *, write_through: bool = False) -> TextIO:
    """Wrap a binary stream as text, with the encoding and error handler of the stream that it replaces."""
    return io.TextIOWrapper(stream, like.encoding, like.errors, write_through=write_through)


MOST_FINDINGS = 10_000
"""Findings that are kept in a record; the rest is counted."""

MOST_ANSWERS = 10_000
"""Answers of a store, for each object, whose digests are kept; the rest is counted."""

VARIABLES = ("EXHUME_", "PYTHON", "LC_", "LANG", "TZ")
"""Beginnings of the names of environment variables that a record keeps."""


def _absolute(path: activity.Path) -> str:
    """Return the absolute path, without following links, so that a record names what the user named."""
    return os.path.abspath(path)  # noqa: PTH100 - resolve() would follow links


class Audit(activity.RunObserver):
    """The observer of one run, and its record."""

    def __init__(self, path: str) -> None:
        """Open the log at `path` and read its last record.  Raises errors of a log that cannot be continued."""
        self._log = AppendOnlyLog(path)
        try:
            self._previous(self._log.last())  # a file that cannot be continued is refused before anything is done
        except BaseException:
            self._log.close()
            raise
        self._own = _absolute(path)  # the log itself is not an input
        self._inputs: dict[str, dict[str, Any]] = {}  # path: size, times, digest when it was opened (`facts_of`)
        self._read: dict[str, list[tuple[int, int]]] = {}  # path or URL: half-open ranges of bytes
        self._remote: dict[str, dict[str, Any]] = {}  # URL: its facts and the answers of the server
        self.streams: tuple[HashingStream | None, HashingStream | None] = (None, None)
        """Standard input and output."""
        self._outputs: dict[str, None] = {}  # paths in the order of writing (an ordered set)
        self._reported: list[dict[str, Any]] = []  # the first `MOST_FINDINGS` findings, as JSON
        self._total = 0  # number of all findings
        self._lock = threading.RLock()
        self._started = time.time_ns()  # nanoseconds since 1970

    def on_open(self, path: activity.Path) -> None:
        """Record the size and times of each file at `path`, unless it belongs to the outputs of the run."""
        for name in files_of(os.fspath(path)):
            whole = _absolute(name)
            with self._lock:
                if whole not in self._inputs and whole != self._own and not self._is_output(whole):
                    self._inputs[whole] = facts_of(whole)

    def _is_output(self, path: str) -> bool:
        """Whether this run wrote a file, or is writing it: unfinished outputs and their folders end in `.part`."""
        folders = (path, *map(os.fspath, Path(path).parents))
        return any(one in self._outputs or one.endswith(".part") for one in folders)

    def on_read(self, path: activity.Path, start: int, end: int) -> None:
        self._add(_absolute(path), start, end)

    def _add(self, name: str, start: int, end: int) -> None:
        """Record that bytes `[start, end)` of the object `name` were read, merged with the range before where they
        meet.
        """
        with self._lock:
            spans = self._read.setdefault(name, [])
            first, last = spans[-1] if spans else (0, -1)  # without a range before, none that `start` can be in
            if first <= start <= last:
                spans[-1] = (first, max(end, last))
            else:
                spans.append((start, end))

    def on_fetch(self, name: str, facts: Mapping[str, Any], start: int, data: bytes) -> None:
        """Record the range and SHA-256 of a remote answer.

        Details of the first `MOST_ANSWERS` are kept, then their number only.
        """
        end, digest = start + len(data), hashlib.sha256(data).hexdigest()
        self._add(name, start, end)
        with self._lock:
            known = self._remote.setdefault(name, {"fetched": [], "fetched_total": 0})
            known.update(facts)
            known["fetched_total"] += 1
            if len(known["fetched"]) < MOST_ANSWERS:
                known["fetched"].append({"start": start, "end": end, "sha256": digest})

    def on_write(self, path: activity.Path) -> None:
        self._outputs[_absolute(path)] = None

    def on_result(self, what: str, facts: Mapping[str, Any]) -> None:
        """Record a result that a verb reported, such as a verdict, for the audit record."""
        with self._lock:
            self._total += 1
        if len(self._reported) < MOST_FINDINGS:
            self._reported.append({"kind": what, **jsonable(facts)})

    def record(self, context: click.Context, outcome: int, error: BaseException | None) -> dict[str, Any]:
        """The whole record, except for the keys that make it a link of the chain (`number`, `previous`, `digest`).

        `outcome` is the exit code of the run, `error` the exception that ended it, if any.
        Passwords and tokens in options and URLs are redacted.  Times are strings, as in all JSON of exhume.
        """
        from exhume.cli.about import about

        installed = about()
        stdin, stdout = self.streams
        options = {name: value for name, value in context.params.items() if name != "audit"}
        # Options of stores may be passwords.
        if "storage" in options:
            options["storage"] = [redact_option(one) for one in options["storage"]]
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
                "variables": {name: value for name, value in sorted(os.environ.items()) if name.startswith(VARIABLES)},
            },
            "started_ns": str(self._started),
            "ended_ns": str(time.time_ns()),
            # Files that were read, objects of stores, and standard input and output (None if they were not used).
            "inputs": [self._input(name) for name in sorted(self._inputs)],
            "remote": [
                {"name": name, **self._remote[name], "read": merged(self._read[name])} for name in sorted(self._remote)
            ],
            "stdin": stdin and stdin.facts(),
            "stdout": stdout and stdout.facts(),
            "outputs": [
                {"name": name, **_kept(facts_of(name))}
                for name in dict.fromkeys(name for path in self._outputs for name in sorted(files_of(path)))
            ],
            "findings": self._reported,
            "findings_total": self._total,
            "exit_code": outcome,
            "error": error.to_dict() if isinstance(error, ExhumeError) else error and type(error).__name__,
        }
        # Through JSON, so that the digest is over exactly what a reader of the record gets.
        result: dict[str, Any] = redact_all(json.loads(json.dumps(jsonable(body), default=str)))
        return result

    def _input(self, name: str) -> dict[str, Any]:
        """Return the facts of an input when it was opened, those that differ now, and the ranges that were read."""
        before, after = self._inputs[name], facts_of(name)
        changed = sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))
        return {"name": name, **before, "changed": changed, "after": {key: after.get(key) for key in changed},
                "read": merged(self._read.get(name, []))}  # fmt: skip

    def finish(self, context: click.Context, outcome: int, error: BaseException | None) -> str:
        """Add the record to the file; return its digest.  The arguments are those of `record`."""
        body = self.record(context, outcome, error)

        def link(last: bytes | None) -> bytes:
            """Return the line to append after the line `last`; called while the file is locked."""
            before = self._previous(last)
            body.update(number=before["number"] + 1, previous=before["digest"])
            body["digest"] = digest_of(body)
            return canonical(body)

        self._log.append(link)
        digest: str = body["digest"]
        return digest

    def _previous(self, last: bytes | None) -> dict[str, Any]:
        """Return the last record of the file, or, for an empty file, a placeholder with number 0.

        Raises `WriterError` if the last line is not a record.
        """
        if last is None:
            return {"number": 0, "digest": None}
        try:
            record, problem = parse_record(last)
        except ValueError:
            problem = "not a record"
        if problem:
            raise WriterError(
                f"cannot add a record to this file: its last line is {problem}; name another file for --audit",
                span=Span(self._log.path, 0, 0),
            )
        return record

    def close(self) -> None:
        """Close the file."""
        self._log.close()


def _kept(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the facts that are recorded of an output: others, such as times, differ from run to run."""
    return {key: facts[key] for key in ("size", "sha256", "error") if key in facts}


def _plain(value: Any) -> Any:
    """Return a path as text, and other values of options as they are."""
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def merged(spans: list[tuple[int, int]]) -> list[list[int]]:
    """Half-open spans, sorted, with those that touch each other joined."""
    starts: list[int] = []
    ends: list[int] = []
    for start, end in sorted(spans):
        if ends and start <= ends[-1]:
            ends[-1] = max(end, ends[-1])
        else:
            starts.append(start)
            ends.append(end)
    return [list(span) for span in zip(starts, ends, strict=True)]


def audited(path: str, call: Callable[[], Any]) -> Any:
    """Return what `call` returns, and add a record of the run to a file; the record's digest goes to standard error.

    Raises what `call` raises, `SourceError` or `WriterError` if the record cannot be written, and `click.UsageError` if
    other processes would do the work.
    """
    context = click.get_current_context()
    _refuse_unrecordable(context, path)
    audit = Audit(path)
    hashing = partial(ProgressBar, "audit", shown=sys.stderr.isatty() and not context.params.get("quiet"))
    try:
        with hashing():
            for name in _named_files(context):  # these are inputs even if the verb fails before it opens them
                audit.on_open(name)
        # From here on, files that are opened and read are reported to the audit.
        activity.current = audit
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
            activity.current = None
            code = _code(error) if error is not None else int(result or 0)
            with hashing():
                digest = audit.finish(context, code, error)
            click.echo(f"exhume: audit {digest}", err=True)
    finally:
        activity.current = None
        audit.close()
    return result


def _refuse_unrecordable(context: click.Context, path: str) -> None:
    """Raise `click.UsageError` for work of other processes, and for a log that is an output of the run itself."""
    # Verbs with `retries` have `many_options`: their jobs are processes, which the observer cannot see.
    if "retries" in context.params and (context.params["cluster"] or context.params["jobs"] != 1):
        raise click.UsageError("--audit cannot be combined with --jobs or --cluster", context)
    for parameter in context.command.params:
        given = context.params.get(parameter.name or "")
        named = parameter.name != "audit" and isinstance(parameter, click.Option)  # another option
        if named and isinstance(given, str | os.PathLike) and _absolute(given) == _absolute(path):
            raise click.UsageError(f"--audit and {parameter.opts[0]} name the same file", context)


def _named_files(context: click.Context) -> Iterator[str | os.PathLike[str]]:
    """Yield the values of all arguments that may name files."""
    for parameter in context.command.params:
        if isinstance(parameter, click.Argument):
            given = context.params.get(parameter.name or "")
            for one in given if isinstance(given, tuple) else (given,):
                if isinstance(one, str | os.PathLike):
                    yield one


def _code(error: BaseException) -> int:
    """Return the exit code that `exhume.cli.main` will exit with after this error."""
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return int(ExitCode.INTERRUPTED)
    if isinstance(error, BrokenPipeError) and output_is_closed():
        return int(ExitCode.CLOSED)
    return int(ExitCode.USAGE if isinstance(error, click.UsageError) else ExitCode.FAILED)
