"""Writes clp-s archives: JSON in, one archive out, or several when a target size is given.

Spec: clp_s.txt; what it leaves open: `docs/formats/clp_s.md`, "Write".
"""

from __future__ import annotations

import collections
import contextlib
import json
import os
import re
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from exhume.archive import Progress, Writer, no_progress
from exhume.errors import Span, WriterError
from exhume.formats.clp_s.write.assemble import write_archive
from exhume.formats.clp_s.write.encoder import Encoder
from exhume.formats.clp_s.write.inputs import STDIN, Input, name_of, read_ahead, read_pieces
from exhume.formats.clp_s.write.jsonscan import REASONS, Status
from exhume.formats.clp_s.write.kernel import make_encoder
from exhume.formats.clp_s.write.options import (
    DEFAULT_DOCUMENT_SIZE,
    DEFAULT_TABLE_SIZE,
    DEFAULT_TARGET_SIZE,
    DEFAULT_VERSION,
    WriterOptions,
    check_properties,
)
from exhume.formats.clp_s.write.rewrap import reserve
from exhume.formats.clp_s.write.texts import Dialect, encode_formatted_float
from exhume.formats.clp_s.write.timestamps import TimeDialect, TimestampPatterns
from exhume.formats.kv_ir.ingest import Ingest, is_kv_ir
from exhume.formats.kv_ir.units import Status as IrStatus
from exhume.io.output.atomic import AtomicDirectory, AtomicFile

_NOT_SPACE: Final = re.compile(rb"[^ \t\r\n]")
_PENDING: Final = 100
"""Finished archives that wait under temporary names until all are finished; more are put in place one by one."""


class BadRecordError(WriterError):
    """A record that was not written: `line` (1-based, in `name`), `reason` and `status`."""

    def __init__(self, name: str, line: int, status: Status, span: Span, snippet: bytes, detail: str = "") -> None:
        reason = REASONS[status] + detail
        where = f"line {line}: " if line else ""
        super().__init__(f"{where}{reason}", format="clp-s", span=span, actual=snippet)
        self.name, self.line, self.status, self.reason = name, line, status, reason


@dataclass(slots=True)
class _Unit:
    """An ingestion unit within the archive under way."""

    name: str
    properties: Mapping[str, Any]
    split: int = 0
    start: int = 0
    end: int = 0


@dataclass(slots=True)
class _Part:
    """The archive under way."""

    encoder: Encoder
    patterns: TimestampPatterns
    units: list[_Unit] = field(default_factory=list)
    consumed: int = 0
    full: bool = False
    """Whether the target size is reached: the next record goes into another archive."""


class ClpSWriter(Writer):
    """Builds one clp-s archive, or several (`X.clps`, `X.1.clps`, ...) when one would pass the target size.

    Nothing appears under its name before `finish` (leaving the `with` block).

    Attributes:
        options: How this writer works.
        records: Records written.
        skipped: Bad records left out (`on_error="skip"`).
        losses: Values that do not come back the same (`allow_loss=True`).
        paths: The archives, once finished.
        on_bad_record: Called with the `BadRecordError` of each record that is skipped.
    """

    def __init__(self, target: str | os.PathLike[str], options: WriterOptions) -> None:
        self.options = options
        self.target = Path(target)
        self.records = self.skipped = 0
        self.reasons: collections.Counter[str] = collections.Counter()
        self.on_bad_record: Callable[[BadRecordError], None] | None = None
        self.paths: list[Path] = []
        self._losses = 0
        self._creator = options.new_creator_id()
        self._finished: list[AtomicFile | AtomicDirectory] = []
        self._part: _Part | None = None
        self._unit: _Unit | None = None
        self._line = self._offset = 0
        self._held: list[bytes] = []
        self._num_held = self._wanted = 0
        self._skipping = False
        self._events: Ingest | None = None
        self._lead: bytes | None = b""
        self._state = "open"
        self._reserve(0)

    # --- records ---

    @property
    def losses(self) -> int:
        """Values that do not come back the same."""
        return self._losses + (self._part.encoder.losses if self._part else 0)

    def unit(self, name: str, properties: Mapping[str, Any] | None = None) -> None:
        """Begins an ingestion unit: what is written from now on has this `_filename` and these properties.

        Raises `WriterError` for properties that cannot be stored.
        """
        self._require_open()
        merged = {**self.options.properties, **(properties or {})}
        check_properties(merged)
        if merged and not self.options.has_range_index:
            raise WriterError("properties need a range index, which is not written without log order")
        self._unit = _Unit(name, merged)
        self._line, self._offset = 1, 0
        self._events, self._lead = None, b""
        self._join(self._current())

    def write(self, event: Mapping[str, Any]) -> None:
        """Adds one record.  Raises `BadRecordError` (or skips it) when the archive cannot hold it."""
        self._require_open()
        try:
            line = json.dumps(event, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
        except (TypeError, ValueError, RecursionError) as error:
            self._refuse(Status.BAD_JSON, 0, 0, repr(event)[:80].encode("utf-8", "backslashreplace"), f" ({error})")
            self._line += 1
            return
        self.write_json_line(line)

    def write_json_line(self, line: bytes | str) -> None:
        """Adds one record given as JSON text (one object, white space around it allowed).

        Raises `BadRecordError` (or skips it) when the text is not one JSON object or the archive cannot hold it.
        """
        self._require_open()
        if self._unit is None:
            self.unit(STDIN)
        if isinstance(line, str):
            line = line.encode("utf-8", "surrogatepass")
        self._write_one(line)
        self._line += 1
        self._offset += len(line)

    def _write_one(self, line: bytes) -> None:
        part = self._room()
        before = part.encoder.records
        status, document, at, _ = part.encoder.feed(line, 0, True, self.options.target_encoded_size, True)
        if status == Status.FULL and before:
            part.full = True
            return self._write_one(line)
        if status == Status.DONE and part.encoder.records == before:
            status = Status.CUT_SHORT
        if status not in (Status.DONE, Status.SPLIT):
            return self._refuse(Status(status), document, at, line[document:])
        part.full = status == Status.SPLIT
        part.consumed += len(line)
        return None

    # --- files ---

    def add_file(
        self,
        source: Input,
        *,
        name: str | None = None,
        properties: Mapping[str, Any] | None = None,
        progress: Progress = no_progress,
    ) -> None:
        """Adds the documents of a file as one ingestion unit; see `add_files`."""
        self.unit(name or name_of(source), properties)
        done = 0
        with contextlib.closing(self._pieces([source])) as pieces:
            for piece in pieces:
                if piece is not None:
                    done += len(piece)
                    progress(done, None, "bytes")
                self._ingest(piece)

    def add_files(self, sources: Iterable[str | os.PathLike[str]], *, progress: Progress = no_progress) -> None:
        """Adds files, each as one ingestion unit named as given (`-` is standard input).

        Each holds JSON objects, one per line or otherwise separated by white space or nothing, or one KV-IR stream,
        plain or compressed with gzip or zstd.  With `jobs` above 1 they are read and decompressed ahead in other
        threads.

        Raises `BadRecordError` for a bad record (or skips it), `SourceError` and `CodecError` for the file.
        """
        listed = list(sources)
        waiting = iter(listed)
        done = 0
        first = next(waiting, None)
        if first is not None:
            self.unit(name_of(first))
        with contextlib.closing(self._pieces(listed)) as pieces:
            for piece in pieces:
                self._ingest(piece)
                if piece is None:
                    following = next(waiting, None)
                    if following is not None:
                        self.unit(name_of(following))
                else:
                    done += len(piece)
                    progress(done, None, "bytes")

    def _pieces(self, sources: Iterable[Input]) -> Generator[bytes | None]:
        """The content of the sources in pieces, with None behind each."""
        jobs = self.options.jobs
        if jobs == 1:
            for source in sources:
                yield from read_pieces(source)
                yield None
        else:
            yield from read_ahead(sources, jobs)

    def _ingest(self, piece: bytes | None) -> None:
        """Encodes the complete documents of a piece; None ends the unit."""
        final = piece is None
        if self._lead is not None:
            piece = self._recognise(self._lead + (piece or b""), final)
            if piece is None:
                return
        if self._events is not None:
            self._ingest_events(self._events, piece or b"", final)
            return
        self._held.append(piece or b"")
        self._num_held += len(piece or b"")
        if not final and self._num_held < self._wanted:
            return
        data = b"".join(self._held)
        at = self._take(data, final)
        self._held = [] if final else [data[at:]]
        self._num_held = len(data) - at if not final else 0
        # A document that was not complete is looked at again only when twice as much of it is there.
        self._wanted = 2 * self._num_held

    def _take(self, data: bytes, final: bool) -> int:
        """Encodes the complete documents of `data`; returns where the first incomplete one begins."""
        at = 0
        while True:
            if self._skipping:
                at = self._skip_line(data, at)
                if self._skipping:
                    self._skipping = not final
                    return at
            part = self._current()
            if part.full:
                text = _NOT_SPACE.search(data, at)
                at = self._advance(data, at, text.start() if text else len(data))
                if text is None:
                    return at
                part = self._room()
            target = self.options.target_encoded_size
            status, document, stopped, whole = part.encoder.feed(data, at, final, target, False)
            at = self._advance(data, at, document)
            part.full = status == Status.SPLIT or (status == Status.FULL and part.encoder.records > 0)
            if part.full:
                continue
            if status == Status.DONE or (status == Status.MORE and len(data) - at <= self.options.max_document_size):
                return at
            detail = ""
            if status == Status.MORE:
                status, detail = Status.TOO_LARGE, " or never ends"
            self._refuse(Status(status), self._offset, self._offset + stopped - at, data[at : at + 80], detail)
            if whole:
                at = self._advance(data, at, stopped)
            else:
                self._skipping = True

    def _recognise(self, lead: bytes, final: bool) -> bytes | None:
        """The beginning of a unit once it is known whether it is a KV-IR stream; None while it is not."""
        found = is_kv_ir(lead)
        if found is None and not final:
            self._lead = lead
            return None
        self._lead = None
        if found:
            self._events = Ingest(self._unit.name if self._unit else STDIN)
        return lead

    def _skip_line(self, data: bytes, at: int) -> int:
        """Passes over the rest of a line that is refused, as far as it is there."""
        newline = data.find(b"\n", at)
        self._skipping = newline < 0
        return self._advance(data, at, len(data) if newline < 0 else newline + 1)

    def _ingest_events(self, events: Ingest, piece: bytes, final: bool) -> None:
        """Encodes the events of a KV-IR stream, which is one ingestion unit; its metadata are properties of that."""
        if events.ended:
            return
        known, counted = events.metadata, events.at
        events.push(piece, final=final)
        if known is None and events.metadata is not None and self._unit is not None:
            check_properties(events.metadata)
            self._unit.properties = {**self._unit.properties, **events.metadata}
        while not events.ended:
            part = self._room()
            start, before = events.at, part.encoder.records
            status, error = events.run(part.encoder, self.options.target_encoded_size, final=final)
            part.consumed += events.at - counted
            counted = events.at
            part.full = status == IrStatus.FULL or (status == IrStatus.NO_ROOM and part.encoder.records > 0)
            self._line, self._offset = events.events, events.at
            if status == IrStatus.NO_ROOM and not before and not part.encoder.records:
                self._refuse(Status.FULL, start, events.at, b"")
                events.ended = True
            elif status == IrStatus.RECORD:
                self._refuse(Status(events.encoder_fault), start, events.at, b"")
            elif error is not None:
                if self.options.on_error == "fail":
                    raise error
                self._refuse(Status.BAD_EVENT, start, events.at, b"", f": {error.message}")
            elif not part.full:
                break

    def _advance(self, data: bytes, start: int, stop: int) -> int:
        """Counts the bytes and lines of consumed input."""
        self._line += data.count(b"\n", start, stop)
        self._offset += stop - start
        if self._part is not None:
            self._part.consumed += stop - start
        return stop

    def _refuse(self, status: Status, start: int, stop: int, snippet: bytes, detail: str = "") -> None:
        name = self._unit.name if self._unit else STDIN
        error = BadRecordError(name, self._line, status, Span(name, start, stop), snippet[:80], detail)
        if self.options.on_error == "fail":
            raise error
        self.skipped += 1
        self.reasons[error.reason] += 1
        if self.on_bad_record is not None:
            self.on_bad_record(error)

    # --- archives ---

    def _require_open(self) -> None:
        if self._state != "open":
            raise WriterError(f"the writer is {self._state}")

    def _current(self) -> _Part:
        """The archive under way, begun if there is none."""
        if self._part is None:
            self._part = _Part(*begin(self.options))
            if self._unit is not None:
                self._join(self._part)
        return self._part

    def _join(self, part: _Part) -> None:
        """Adds the current unit to an archive; the unit before it ends there."""
        if self._unit is None or any(unit is self._unit for unit in part.units):
            return
        if part.units:
            part.units[-1].end = part.encoder.records
        self._unit.start = self._unit.end = part.encoder.records
        part.units.append(self._unit)

    def _room(self) -> _Part:
        """The archive that the next record goes into."""
        if self._part is not None and self._part.full:
            self._close_part()
        return self._current()

    def _close_part(self) -> None:
        """Writes the archive under way under its temporary name; the current unit goes on in the next one."""
        part = self._part
        if part is None:
            return
        if part.units:
            part.units[-1].end = part.encoder.records
        if part.full and part.units and part.units[-1] is self._unit and self._unit.start == self._unit.end:
            part.units.pop()  # nothing of it is here: it begins in the next archive
            self._unit.split -= 1
        self._losses += part.encoder.losses
        self.records += part.encoder.records
        ranges = [
            (
                unit.start,
                unit.end,
                {
                    **unit.properties,
                    "_archive_creator_id": self._creator,
                    "_file_split_number": unit.split,
                    "_filename": unit.name,
                },
            )
            for unit in part.units
        ]
        file = self._reserve(len(self.paths))
        self.paths.append(file.path)
        write_archive(file, part.encoder, part.patterns, self.options, ranges, part.consumed)
        self._part = None
        if self._unit is not None:
            self._unit = _Unit(self._unit.name, self._unit.properties, self._unit.split + 1)

    def _reserve(self, number: int) -> AtomicFile | AtomicDirectory:
        """The temporary file or directory of archive `number`; the first is made at once, so that errors show early."""
        if number == len(self._finished):
            path = self.target
            if number:
                path = path.with_name(f"{path.stem}.{number}{path.suffix}")
            self._finished.append(reserve(path, self.options.directory, overwrite=self.options.overwrite))
            if number > _PENDING:
                self._finished[number - _PENDING].commit()
        return self._finished[number]

    def finish(self) -> None:
        """Completes the last archive and puts all in place; harmless to repeat.  Raises `WriterError` when aborted."""
        if self._state == "finished":
            return
        self._require_open()
        try:
            if self._part is None and not self.paths:
                self._current()
            if self._part is not None and (self._part.encoder.records or not self.paths):
                self._close_part()
            for file in reversed(self._finished):  # with the name that was asked for the others are there
                file.commit()
        except BaseException:
            self.abort()
            raise
        self._state = "finished"

    def abort(self) -> None:
        """Removes everything that was written; harmless to repeat and after `finish`."""
        if self._state == "open":
            self._state = "aborted"
            self._part = None
            for file in self._finished:
                file.withdraw()  # some may have been put in place already


def begin(options: WriterOptions) -> tuple[Encoder, TimestampPatterns]:
    """The encoder and the patterns of a new archive."""
    version = options.version_tuple
    patterns = TimestampPatterns(TimeDialect.of_version(version), lossy=options.allow_loss)
    encoder = make_encoder(
        core=Dialect.of_version(version) is Dialect.CORE,
        structurize=options.structurize_arrays,
        retain_floats=options.keeps_floats,
        time_nodes=version >= (0, 5, 0),
        lossy=options.allow_loss,
        max_document=options.max_document_size,
        log_order_type=options.log_order_type,
        path=options.key_path,
        root=options.key_root,
        resolve_timestamp=patterns.resolve,
        encode_float=encode_formatted_float,
    )
    return encoder, patterns


def create(
    target: str | os.PathLike[str],
    *,
    version: str = DEFAULT_VERSION,
    timestamp_key: str | None = None,
    structurize_arrays: bool = False,
    log_order: bool = True,
    retain_float_format: bool = True,
    level: int = 3,
    target_encoded_size: int = DEFAULT_TARGET_SIZE,
    min_table_size: int = DEFAULT_TABLE_SIZE,
    max_document_size: int = DEFAULT_DOCUMENT_SIZE,
    creator_id: str | None = None,
    properties: Mapping[str, Any] | None = None,
    on_error: str = "fail",
    allow_loss: bool = False,
    jobs: int = 1,
    overwrite: bool = False,
    directory: bool = False,
) -> ClpSWriter:
    """A writer for a new archive; its `add_files`, `write` and `write_json_line` take records.

    Args:
        target: Path of the file, or of the directory with `directory`.
        version: Format version, one of 0.3.0 to 0.5.1.
        timestamp_key: Path of the timestamp field, dots escaped with a backslash; None for none.
        structurize_arrays: Whether arrays are opened up into columns; else their source text is kept.
        log_order: Whether each record's position is recorded (needed to read in order, and by the range index).
        retain_float_format: Whether floats keep their spelling (format 0.4.1 on; before, only the value is kept).
        level: zstd level, 1 to 19.
        target_encoded_size: Bytes of columns and dictionaries after which a new archive is begun.
        min_table_size: Bytes of tables that are compressed together.
        max_document_size: Largest record in bytes.
        creator_id: Text for `_archive_creator_id`; None for a random UUID.
        properties: More properties for the range index entry of every ingestion unit.
        on_error: `fail` at the first bad record, or `skip` bad records and count them.
        allow_loss: Whether to accept, as clp-s does, values that do not come back the same.
        jobs: Threads that read and decompress input ahead and compress sections; 0: one per core.
        overwrite: Whether existing files may be replaced.
        directory: Whether to write a directory with one file per section instead of a single file.

    Returns:
        A context manager that finishes the archive; after an exception nothing is left.

    Raises:
        WriterError: An option makes no sense, or (later) a record does not fit.
        OutputExistsError: The name is taken, and not `overwrite`.

    Example:
        >>> with exhume.clps.create("new.clps") as writer:
        ...     writer.write({"level": "INFO", "message": "started in 3.5 ms"})
        >>> writer.records
        1
    """
    return ClpSWriter(
        target,
        WriterOptions(
            version=version,
            timestamp_key=timestamp_key,
            structurize_arrays=structurize_arrays,
            log_order=log_order,
            retain_float_format=retain_float_format,
            level=level,
            target_encoded_size=target_encoded_size,
            min_table_size=min_table_size,
            max_document_size=max_document_size,
            creator_id=creator_id,
            properties=properties or {},
            on_error=on_error,
            allow_loss=allow_loss,
            jobs=jobs,
            overwrite=overwrite,
            directory=directory,
        ),
    )
