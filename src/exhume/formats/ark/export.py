"""Messages as JSON lines and CSV, for `exhume export`.

A channel is a named series of messages of one type.  Messages are converted in several processes, a time range at a
time; the results come back in order, with counts of losses for the `ExportReport`.

Spec: none; the JSON of a message is documented in `docs/formats/ark.md`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from exhume.archive import Progress, no_progress
from exhume.findings import Finding
from exhume.formats.ark.filters import topic_matcher, unmatched
from exhume.formats.ark.lines import lines_of
from exhume.formats.ark.log import Channel
from exhume.formats.ark.messages import ArkMessage, lost_messages
from exhume.formats.ark.parallel_query import Read, make_each, read_spans
from exhume.formats.ark.rbuf.registry import Field, Registry
from exhume.formats.ark.reader import ArkArchive
from exhume.io.jsonout import dumps
from exhume.io.output.stream import text_output
from exhume.tabular import ESCAPED, ExportReport, escape_controls, refuse_options
from exhume.tabular.arrow import NESTED, choose
from exhume.tuples import NamedTuple

R = TypeVar("R")
"""Type of the result for one batch of messages."""

PROGRESS_STEP = 4096
"""Messages between two reports of progress."""

MOST_NOTES = 20
"""Findings that become notes of a report."""

OWN = ("time_ns", "channel")
"""The columns of CSV that every message has: its time and the name of its channel."""

LONG = 1 << 20
"""Characters of a cell above which rows are made piece by piece, to save memory."""


class Selection:
    """The messages selected for an export, with their number and a record of what was skipped."""

    def __init__(self, log: ArkArchive, options: Mapping[str, Any], report: ExportReport, progress: Progress) -> None:
        """Take the options of `exhume export`; a topic that matches no channel is noted in `report`."""
        self.log = log
        self.report = report
        self._progress = progress
        self._skip = bool(options.get("skip_damaged"))
        topics = options.get("topic") or None
        self.query: dict[str, Any] = {
            "topics": topics,
            "start_ns": options.get("start_ns"),
            "stop_ns": options.get("stop_ns"),
            "latched": not options.get("no_latched"),
        }
        if hint_text := unmatched(topics, [channel.name for channel in log.channels()]):
            report.notes.append(hint_text)

    def make_each(
        self, make: Callable[[Iterable[ArkMessage]], tuple[R, int]], jobs: int, *, decode: bool = True
    ) -> Iterator[R]:
        """Yield `make(messages)` for batches of the messages, in order; `make` returns its result and the number of
        messages. Messages lost to damage are counted in the report.
        """
        findings: list[Finding] = []
        found = make_each(self.log, make, self._query(decode), findings=findings, jobs=jobs)
        return self._counted(found, findings)

    def lines(self, jobs: int) -> Iterator[bytes | memoryview]:
        """The messages as lines of JSON, in chunks and in order; see `make_each`."""
        findings: list[Finding] = []
        return self._counted(lines_of(self.log, self._query(True), findings=findings, jobs=jobs), findings)

    def spans(self, read: Read[tuple[R, int]], jobs: int, *, decode: bool) -> Iterator[R]:
        """Yield the results of `read` for time ranges, which do not depend on `jobs`; see `make_each`."""
        findings: list[Finding] = []
        return self._counted(read_spans(self.log, read, self._query(decode), findings=findings, jobs=jobs), findings)

    def _query(self, decode: bool) -> dict[str, Any]:
        """Return the arguments of the query; messages above a limit are always left out and counted."""
        return {**self.query, "decode": decode, "on_error": "skip" if self._skip else "limit"}

    def _counted(self, found: Iterable[tuple[R, int]], findings: list[Finding]) -> Iterator[R]:
        """Yield the results, and report progress every `PROGRESS_STEP` messages."""
        count = 0
        for made, number in found:
            yield made
            if count // PROGRESS_STEP != (count + number) // PROGRESS_STEP:  # a multiple of it was passed
                self._progress(count + number, None, "messages")
            count += number
        self._account(count, findings)

    def _account(self, count: int, findings: list[Finding]) -> None:
        """Add the messages written and lost to the report, and the first findings as notes."""
        self.report.written["messages"] += count
        self.report.lost.update(lost_messages(findings))
        self.report.notes += [str(finding) for finding in findings[:MOST_NOTES]]

    def channels(self) -> list[Channel]:
        """The selected channels, one per GUID, in the manifest's order."""
        wanted = topic_matcher(self.query["topics"])
        found: dict[str, Channel] = {}
        for channel in self.log.channels():
            if wanted(channel.name) and self.log.acceptance(channel.section).accepts_name(channel.name):
                found.setdefault(channel.identifier, channel)
        return list(found.values())

    def finish(self) -> ExportReport:
        """The report, with splits that were skipped because they are missing."""
        missing = [each for each in self.log.missing_splits() if not each.is_hidden]
        self.report.lost["missing splits"] += len(missing)
        return self.report.without_zeros()


def export_jsonl(
    log: ArkArchive,
    output: str,
    *,
    overwrite: bool = False,
    progress: Progress = no_progress,
    jobs: int = 1,
    **options: Any,
) -> ExportReport:
    """One JSON object per message and line, in time order; `jobs` share the work (0: one per core)."""
    refuse_options("jsonl", {name: options.get(name) for name in ("columns", "payload")})
    selection = Selection(log, options, ExportReport(), progress)
    with text_output(output, overwrite=overwrite) as file:
        for lines in selection.lines(jobs):
            file.write(lines)
    return selection.finish()


def export_csv(
    log: ArkArchive,
    output: str,
    *,
    overwrite: bool = False,
    progress: Progress = no_progress,
    columns: Sequence[str] | None = None,
    jobs: int = 1,
    **options: Any,
) -> ExportReport:
    """One row per message: time, channel, and the fields of all chosen channels.

    Fields of objects in objects get columns of their own (`left.rpm`); bytes are hexadecimal; lists, dictionaries and
    variants are JSON text in one cell, which is counted as a loss.  `columns` names the columns to write; `jobs`
    processes share the work (0: one per core).
    """
    refuse_options("csv", {"payload": options.get("payload")})  # raises if it was passed
    selection = Selection(log, options, ExportReport(), progress)
    paths: dict[str, list[tuple[str, ...]]] = {}  # by GUID of a channel: those of its fields
    for channel in selection.channels():
        registry = channel.declaration.registry
        paths[channel.identifier] = list(leaf_paths(registry, channel.type)) if registry is not None else [("data",)]
    name_of = column_names(path for mine in paths.values() for path in mine)
    # By GUID of a channel and name of a column: path of the field.
    leaves = {identifier: {name_of[path]: path for path in mine} for identifier, mine in paths.items()}
    known = dict.fromkeys([*OWN, *name_of.values()])
    names = choose(known, columns)  # the columns to write, in order
    with text_output(output, overwrite=overwrite) as file:
        header, escaped = _csv([[*names]])
        selection.report.lost[ESCAPED] += escaped
        file.write(header)
        for text, nested, escaped in selection.make_each(ExportRows(names, leaves).made, jobs):
            file.write(text)
            selection.report.lost[NESTED] += nested
            selection.report.lost[ESCAPED] += escaped
    return selection.finish()


def _csv(rows: list[list[Any]]) -> tuple[bytes | bytearray, int]:
    """The text of rows, and the number of cells whose control characters are escaped in it; `rows` is changed."""
    text, escaped = io.StringIO(newline=""), 0
    longest = 0
    for row in rows:
        for place, value in enumerate(row):
            if isinstance(value, str):
                if not value.isprintable():
                    row[place] = escape_controls(value)
                    escaped += row[place] != value
                longest = max(longest, len(value))
    if longest > LONG:
        lines = [_long_row(row) for row in rows]
        return lines[0] if len(lines) == 1 else b"".join(lines), escaped  # one is not copied
    csv.writer(text).writerows(rows)
    return text.getvalue().encode("utf-8", "strict"), escaped


def _long_row(row: list[Any]) -> bytearray:
    """The text of a row; `csv` would have four bytes for each character of a long cell."""
    out = bytearray()
    for place, value in enumerate(row):
        if place:
            out += b","
        if not isinstance(value, str) or len(value) <= LONG:
            text = io.StringIO(newline="")
            csv.writer(text).writerow([value, ""])  # an empty cell alone would get quotes
            out += text.getvalue().removesuffix(",\r\n").encode("utf-8", "strict")
            continue
        is_quoted = any(letter in value for letter in '",\r\n')
        out += b'"' * is_quoted
        for at in range(0, len(value), LONG):
            piece = value[at : at + LONG]
            out += (piece.replace('"', '""') if is_quoted else piece).encode("utf-8", "strict")
        out += b'"' * is_quoted
    out += b"\r\n"
    return out


class ExportRows(NamedTuple):
    """Makes rows of CSV: the columns, and for each channel (by GUID) the paths of its fields by column."""

    names: Sequence[str]
    leaves: dict[str, dict[str, tuple[str, ...]]]

    def made(self, messages: Iterable[ArkMessage]) -> tuple[tuple[bytes | bytearray, int, int], int]:
        """The text of the rows, how many cells hold nested values and how many are escaped; and the number of rows."""
        rows, nested = [], 0
        for row, lists in map(self._row, messages):  # a message is released once its row is made
            rows.append(row)
            nested += lists
        text, escaped = _csv(rows)
        return (text, nested, escaped), len(rows)

    def _row(self, message: ArkMessage) -> tuple[list[Any], int]:
        """The cells of a message, and how many of them hold nested values."""
        row: dict[str, Any] = {"time_ns": message.time_ns, "channel": message.channel}
        nested = 0
        if message.value is None:
            row["data"] = message.data.hex()
        else:
            for name, path in self.leaves[message.identifier].items():
                value = pick(message.value, path)
                row[name] = cell(value)
                nested += isinstance(value, (Mapping, list, tuple)) and name in self.names
        return [row.get(name, "") for name in self.names], nested


def leaf_paths(registry: Registry, type_name: str) -> Iterator[tuple[str, ...]]:
    """Paths of the fields that get a CSV column; types that contain themselves end in one cell."""
    yield from _leaves(registry, type_name, (), (type_name,))


def column_names(paths: Iterable[tuple[str, ...]]) -> dict[tuple[str, ...], str]:
    """The name of the CSV column of each path, different for different paths: its names joined by dots.

    Dots and backslashes in names get a backslash.  Underscores are appended to a name of our own columns (`OWN`), until
    no other column has it.
    """
    found = {path: ".".join(part.replace("\\", "\\\\").replace(".", "\\.") for part in path) for path in paths}
    taken = {*OWN, *found.values()}
    for path, name in found.items():
        if name in OWN:
            while name in taken:
                name += "_"
            taken.add(name)
            found[path] = name
    return found


def _leaves(
    registry: Registry, type_name: str, path: tuple[str, ...], inside: tuple[str, ...]
) -> Iterator[tuple[str, ...]]:
    """Yield the path of each field of a type that becomes a column; nested objects are descended into.

    `path` leads to the object, and `inside` has the names of the types around it, to find a type within itself.
    """
    for each in registry.schema(type_name).visible_fields():
        here = (*path, each.name)
        inner = each.object_type if _is_plain_object(each) else None
        if inner is not None and inner not in inside and list(registry.schema(inner).visible_fields()):
            yield from _leaves(registry, inner, here, (*inside, inner))
        else:
            yield here


def _is_plain_object(each: Field) -> bool:
    """Whether the field is an object of a known type, not a list or a variant of objects."""
    return each.type == "object" and each.object_type is not None


def pick(value: Any, path: Sequence[str]) -> Any:
    """The value at a path; None where an optional object is absent."""
    for name in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(name)
    return value


def cell(value: Any) -> Any:
    """A value as one CSV cell."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).hex()
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, (Mapping, list, tuple)):
        return dumps(value)
    return value
