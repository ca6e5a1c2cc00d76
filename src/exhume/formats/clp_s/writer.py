"""Writes clp-s archives: JSON, text logs and KV-IR streams in, one archive out, or several of a target size.

An ingestion unit (unit) is the records of one input; a block is a chunk of input, which threads may have encoded
already; to adopt it is to move its columns into the archive (see `write.series`).

Spec: clp_s.txt; what it leaves open: `docs/formats/clp_s.md`, "Write".
"""

from __future__ import annotations

import collections
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from exhume.archive import Progress, Writer, no_progress
from exhume.errors import Span, WriterError
from exhume.formats.clp_s.write.inputs import STDIN, BadRecordError, Input, InputKind, name_of, recognize
from exhume.formats.clp_s.write.kernel import clps_count_lines
from exhume.formats.clp_s.write.options import (
    DEFAULT_DOCUMENT_SIZE,
    DEFAULT_TABLE_SIZE,
    DEFAULT_TARGET_SIZE,
    DEFAULT_VERSION,
    InputName,
    OnError,
    WriterOptions,
    check_properties,
)
from exhume.formats.clp_s.write.series import BlockEncoders, InputBlock, OpenArchive, Series
from exhume.formats.clp_s.write.status import Status
from exhume.io.files import keep_freed_memory
from exhume.io.values import Gathering
from exhume.limits import DEFAULT_LIMITS

if TYPE_CHECKING:
    from exhume.formats.kv_ir.ingest import Ingest, StreamPart

_SPACE: Final = re.compile(rb"[ \t\r\n]*")
"""White space of JSON."""


class ClpSWriter(Writer):
    """Builds one clp-s archive, or several (`X.clps`, `X.1.clps`, ...) when one would pass the target size.

    Nothing appears under its name before `finish` (leaving the `with` block).

    Attributes:
        options: The options of `create`.
        records: Records written.
        skipped: Bad records left out (`on_error="skip"`).
        reasons: How many records were left out for each reason.
        losses: Values that do not come back the same (`allow_loss=True`).
        paths: The archives, once finished.
        blank_inputs: Names of the inputs that have bytes, but no records: white space alone.
        on_bad_record: Called with the `BadRecordError` of each record that is skipped.
        limits: The limits of an event of an IR stream (`payload_size`); records of JSON have `max_document_size`.
    """

    def __init__(self, target: str | os.PathLike[str], options: WriterOptions) -> None:
        """Prepare the archive `target`, which appears there with `finish`."""
        self.options = options
        self.target: Path = Path(target)
        self.skipped: int = 0
        self.reasons: collections.Counter[str] = collections.Counter()
        self.blank_inputs: list[str] = []
        self.on_bad_record: Callable[[BadRecordError], None] | None = None
        self.limits = DEFAULT_LIMITS
        self._line = self._offset = 0  # line number and offset in the unit, for messages
        self._before = 0  # records before the unit, those left out included
        self._held, self._wanted = Gathering(), 0  # an incomplete document, and how many bytes to wait for
        self._skipping = False  # whether the rest of the current line belongs to a bad record
        self._events: Ingest | None = None  # of the current unit, if it is a KV-IR stream
        self._lead = b""  # the first bytes of a unit, until they show its kind
        self._kind: InputKind | None = None  # of the unit, once it is known
        self._state = "open"  # or "finished", "aborted"
        keep_freed_memory()  # buffers are allocated and freed all the time
        self._series = Series(self.target, options)
        self._encoders = BlockEncoders(options)

    # --- records ---

    @property
    def records(self) -> int:
        """Records in the archives that are complete."""
        return self._series.records

    @property
    def has_times(self) -> bool:
        """Whether a value of the timestamp key was stored as a time, in archives that are complete."""
        return self._series.has_times

    @property
    def paths(self) -> list[Path]:
        """The archives that are complete."""
        return self._series.paths

    @property
    def losses(self) -> int:
        """Values that do not come back the same."""
        return self._series.losses

    def unit(self, name: str, properties: Mapping[str, Any] | None = None) -> None:
        """Begin an ingestion unit: later records have this name and properties.  Raises `WriterError` if invalid."""
        self._require_open()
        merged = {**self.options.properties, **(properties or {})}
        check_properties(merged)
        if merged and not self.options.has_range_index:
            raise WriterError("properties need a range index, which is not written without log order")
        self._line, self._offset = 1, 0
        self._events, self._kind, self._lead = None, None, b""
        self._series.begin_unit(name, merged)
        self._before = self._seen()

    def _seen(self) -> int:
        """Return the number of records so far, those left out included."""
        return self._series.current().encoder.records + self._series.records + self.skipped

    def write(self, event: Mapping[str, Any]) -> None:
        """Add one record.  Raises `BadRecordError` (or skips it) when the archive cannot hold it."""
        self._require_open()
        try:
            line = json.dumps(event, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
        except (TypeError, ValueError, RecursionError) as error:
            self._refuse(Status.BAD_JSON, 0, 0, repr(event)[:80].encode("utf-8", "backslashreplace"), f" ({error})")
            self._line += 1
            return
        self.write_json_line(line)

    def write_json_line(self, line: bytes | str) -> None:
        """Add one record given as JSON text (one object, white space around it allowed).

        Raises `BadRecordError` (or skips it) when the text is not one JSON object or the archive cannot hold it.
        """
        self._require_open()
        if self._series.unit is None:
            self.unit(STDIN)
        if isinstance(line, str):
            line = line.encode("utf-8", "surrogatepass")
        self._write_one(line)
        self._line += 1
        self._offset += len(line)

    def _write_one(self, line: bytes) -> None:
        """Write the record in `line`.  Raises `BadRecordError` if it is not one, unless bad records are skipped.

        The first record that does not fit a full archive begins the next one.
        """
        part = self._series.room()
        before = part.encoder.records
        status, document, at, _ = part.encoder.feed(line, 0, True, self.options.target_encoded_size, True)
        if status == Status.FULL and before:  # an archive without records refuses a record for good
            part.full = True
            return self._write_one(line)
        if status == Status.DONE and part.encoder.records == before:  # only white space
            status = Status.CUT_SHORT
        if status not in (Status.DONE, Status.SPLIT):
            return self._refuse(Status(status), document, at, line[document:])
        part.full = status == Status.SPLIT
        part.consumed += len(line)
        self._series.relieve()
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
        """Add the documents of a file as one ingestion unit; see `add_files`."""
        self.unit(name or name_of(source), properties)
        done = 0
        for block in self._encoders.blocks([source], self.limits):
            self._add_block(block)
            if block.data is not None:
                done += len(block.data)
                progress(done, None, "bytes")

    def add_files(self, sources: Iterable[Input], *, progress: Progress = no_progress) -> None:
        """Add files, each as one ingestion unit named as given (`-` is standard input).

        Each contains JSON objects (one per line, or separated by any white space or nothing), a plain-text log, or one
        KV-IR stream, and may be compressed with gzip or zstd; the content determines which, if the option `input` does
        not.  `jobs` threads read, decompress and encode them; the archive is identical for any number.

        Raises `BadRecordError` for a bad record (or skips it), `WriterError` for an input that is none of these, and
        `SourceError` and `CodecError` for the file.
        """
        listed = list(sources)
        waiting = iter(listed)
        done = 0
        first = next(waiting, None)
        if first is not None:
            self.unit(name_of(first))
        for block in self._encoders.blocks(listed, self.limits):
            self._add_block(block)
            if block.data is None:
                following = next(waiting, None)
                if following is not None:
                    self.unit(name_of(following))
            else:
                done += len(block.data)
                progress(done, None, "bytes")

    def _add_block(self, block: InputBlock) -> None:
        """Add the documents of a block, which may begin or end within one."""
        data = block.data
        # The first block of a unit may show its kind; otherwise `_ingest` collects bytes until they do.
        if block.text:
            self._kind = InputKind.TEXT
        elif data and not self._lead and self._kind is None and self._recognize(data, False) is InputKind.JSON:
            self._kind = InputKind.JSON
        # A block can be adopted between two documents: everything before it was encoded.
        between = not self._held.size and not self._skipping
        if block.part is not None:
            between = self._events is not None and self._events.expects(block.part)
        elif not block.text:
            between = between and self._kind is InputKind.JSON
        if data and between and self._encoders.adopt(self._series.current(), block):
            self._pass_over(data, block.part)
        elif block.text and between:
            self._take(data or b"", True)
        else:
            self._ingest(data)
        if data is None and self._offset and self._series.unit is not None and self._seen() == self._before:
            self.blank_inputs.append(self._series.unit.name)
        self._series.relieve()

    def _pass_over(self, data: bytes, part: StreamPart | None) -> None:
        """Count the input of a block that was adopted."""
        if self._events is None or part is None:
            self._advance(data, 0, len(data))
            return
        self._events.pass_over(part)
        self._series.current().consumed += len(data)
        self._line, self._offset = self._events.events, self._events.at

    def _ingest(self, piece: bytes | None) -> None:
        """Encode the complete documents of a piece; None ends the unit."""
        final = piece is None
        # Until the kind of the unit is known, its bytes are collected in `_lead`.
        if self._kind is None:
            self._lead += piece or b""
            self._kind = self._recognize(self._lead, final)
            if self._kind is None:
                return
            piece, self._lead = self._lead, b""
            if self._kind is InputKind.IR:
                from exhume.formats.kv_ir.ingest import Ingest  # imported only for streams

                self._events = Ingest(self._series.unit.name if self._series.unit else STDIN, limits=self.limits)
        if self._events is not None:
            self._ingest_events(self._events, piece or b"", final)
            return
        # `_held` has the bytes from the start of the first document that is not complete yet.
        self._held.add(piece or b"")
        if not final and self._held.size < self._wanted:
            return
        data = self._held.take()
        at = self._take(data, final)
        self._held = Gathering(b"" if final else data[at:])
        # An incomplete document is examined again when twice as much of it is there, so that the time for a long one is
        # not quadratic, or one byte more than a document may have: then `_take` rejects it.
        self._wanted = min(2 * self._held.size, self.options.max_document_size + 1)

    def _take(self, data: bytes, final: bool) -> int:
        """Encode the complete documents of `data`; return where the first incomplete one begins.

        `final`: the unit ends there.  A status of the encoder says why it stopped: DONE and MORE at the end of the
        data, SPLIT at the target size, FULL when ids may not suffice for the next record, else a bad record.
        """
        at = 0
        while True:
            # A bad record ends with its line.
            if self._skipping:
                at = self._skip_line(data, at)
                if self._skipping:
                    self._skipping = not final
                    return at
            part = self._series.current()
            # A full archive ends before the next record.
            if part.full:
                if self._kind is not InputKind.TEXT:
                    space = _SPACE.match(data, at)
                    at = self._advance(data, at, space.end() if space else at)
                if at == len(data):
                    return at
                part = self._series.room()
            status, document, stopped, whole = self._feed(part, data, at, final)
            at = self._advance(data, at, document)
            part.full = status == Status.SPLIT or (status == Status.FULL and part.encoder.records > 0)
            if part.full:
                continue
            if status == Status.DONE or (status == Status.MORE and len(data) - at <= self.options.max_document_size):
                return at
            # A bad record: skip it, or raise.
            detail = ""
            if status == Status.MORE:
                status, detail = Status.TOO_LARGE, " or never ends"
            self._refuse(Status(status), self._offset, self._offset + stopped - at, data[at : at + 80], detail)
            if whole:
                at = self._advance(data, at, stopped)
            else:
                self._skipping = True

    def _feed(self, part: OpenArchive, data: bytes, at: int, final: bool) -> tuple[int, int, int, bool]:
        """Encode documents, or events of a plain-text log; returns what `Encoder.feed` does.

        That is a status, the start of the first document not encoded, the offset at which scanning stopped, and
        whether that is the document's end.
        """
        target = self.options.target_encoded_size
        if self._kind is InputKind.TEXT:
            from exhume.formats.clp_s.write.textlog import text_log  # JSON does without

            return text_log().feed(part.encoder, data, at, final, target)
        return part.encoder.feed(data, at, final, target, False)

    def _recognize(self, lead: bytes, final: bool) -> InputKind | None:
        """Return the kind of input of a unit with these first bytes; None if they are too few to determine it."""
        try:
            return recognize(lead, InputKind(self.options.input), final=final)
        except WriterError as error:
            name = self._series.unit.name if self._series.unit else STDIN
            error.span = Span(name, 0, len(lead))
            raise

    def _skip_line(self, data: bytes, at: int) -> int:
        """Pass over the rest of a line with a bad record, as far as it is in `data`; return the new offset."""
        newline = data.find(b"\n", at)
        self._skipping = newline < 0
        return self._advance(data, at, len(data) if newline < 0 else newline + 1)

    def _ingest_events(self, events: Ingest, piece: bytes, final: bool) -> None:
        """Encode the events of a KV-IR stream, which is one ingestion unit; its metadata goes into properties."""
        from exhume.formats.kv_ir.units import Status as IrStatus  # imported only for streams

        if events.ended:
            self._reject_trailing(events, piece)
            return
        known, counted = events.metadata, events.at  # `counted`: the offset up to which input counts as consumed
        if not events.push(piece, final=final):  # the head of the stream is not complete
            return
        unit = self._series.unit
        if known is None and events.metadata is not None and unit is not None:
            check_properties(events.metadata)
            unit.properties = {**unit.properties, **events.metadata}
        while not events.ended:
            part = self._series.room()
            before = part.encoder.records
            # FULL: the target size is reached; NO_ROOM: ids may not suffice for the next event; RECORD: the encoder
            # rejects it (`encoder_fault`).  `error`: the stream is damaged.
            status, error = events.run(part.encoder, self.options.target_encoded_size, final=final)
            part.consumed += events.at - counted
            counted = events.at
            part.full = status == IrStatus.FULL or (status == IrStatus.NO_ROOM and part.encoder.records > 0)
            self._line, self._offset = events.events, events.at
            if status == IrStatus.NO_ROOM and not before and not part.encoder.records:
                self._refuse(Status.FULL, events.start, events.at, b"")  # it fits no archive
                events.ended = True
            elif status == IrStatus.RECORD:
                self._refuse(Status(events.encoder_fault), events.start, events.at, b"")
            elif error is not None:
                if self.options.on_error == "fail":
                    raise error
                self._refuse(Status.BAD_EVENT, events.start, events.at, b"", f": {error.message}")
            elif not part.full:
                break
        self._reject_trailing(events, b"")

    def _reject_trailing(self, events: Ingest, piece: bytes) -> None:
        """Reject bytes after the end of an event stream: raise the error, or count them as a bad record.

        `piece` is further input, after what `events` has already.
        """
        error = events.trailing(piece)
        if error is None:
            return
        if self.options.on_error == "fail":
            raise error  # the stream's own error, which `_refuse` would replace
        assert error.span is not None
        self._refuse(Status.BAD_EVENT, error.span.start, error.span.end, b"", f": {error.message}")

    def _advance(self, data: bytes, start: int, stop: int) -> int:
        """Count the bytes and lines of `data[start:stop]` as consumed input; return `stop`."""
        self._line += clps_count_lines(data, start, stop)
        self._offset += stop - start
        if self._series.part is not None:
            self._series.part.consumed += stop - start
        return stop

    def _refuse(self, status: Status, start: int, stop: int, snippet: bytes, detail: str = "") -> None:
        """Raise for a bad record at `[start, stop)` of the unit, or count it as skipped, as `on_error` decides.

        `snippet`: the beginning of the record; `detail`: words to add to the reason that `status` stands for.
        """
        name = self._series.unit.name if self._series.unit else STDIN
        error = BadRecordError(name, self._line, status, Span(name, start, stop), snippet[:80], detail)
        if self.options.on_error == "fail":
            raise error
        self.skipped += 1
        self.reasons[error.reason] += 1
        if self.on_bad_record is not None:
            self.on_bad_record(error)

    # --- archives ---

    def _require_open(self) -> None:
        """Raise `WriterError` after `finish` or `abort`."""
        if self._state != "open":
            raise WriterError(f"the writer is {self._state}")

    def finish(self) -> None:
        """Complete the last archive and put all in place; harmless to repeat.  Raises `WriterError` when aborted."""
        if self._state == "finished":
            return
        self._require_open()
        try:
            self._series.finish()
        except BaseException:
            self.abort()
            raise
        self._state = "finished"

    def abort(self) -> None:
        """Remove everything that was written; harmless to repeat and after `finish`."""
        if self._state == "open":
            self._state = "aborted"
            self._series.roll_back()


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
    on_error: OnError = "fail",
    allow_loss: bool = False,
    jobs: int = 1,
    overwrite: bool = False,
    directory: bool = False,
    input: InputName = "auto",
) -> ClpSWriter:
    """A writer for a new archive; its `add_files`, `write` and `write_json_line` take records.

    Args:
        target: Path of the file, or of the directory with `directory`.
        version: Format version: 0.3.1, 0.4.1, 0.5.0 or 0.5.1.
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
        jobs: Threads that read, decompress and encode input and compress sections; 0: one per core.
        overwrite: Whether existing files may be replaced.
        directory: Whether to write a directory with one file per section instead of a single file.
        input: What inputs are: `text`, `json`, `ir`, or `auto`, which decides by the content of each.

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
            input=input,
        ),
    )
