"""Messages as JSON, which the kernel prints without the interpreter lock: so threads share the work; and as they are.

Messages that the kernel does not accept are decoded as everywhere else, which raises errors and notes skipped parts.

A query reads splits (files of messages) through cursors, one for each use of a split, and merges their messages by
time.  It passes them on in batches: a batch has its cursors, index entries for each (`IndexBlock`, a piece), and
`numbers`, the number of the cursor that each message comes from, in order.  `latched` yields messages that are replayed
before.  `cursor.unpack` decompresses messages, and is None if they are not compressed.  `skips(error)` is whether the
query skips damaged messages, and adds the error to its findings.

Spec: none; the JSON of a message is documented in `docs/formats/ark.md`.

For viewers of MCAP, messages also become JSON with JSON Schemas of the plain kind that viewers read.  A schema has one
`type` everywhere, and holds the types that it uses where they are used: no references, no alternatives.  So integers
are numbers whatever their size, and an optional field or entry of a dictionary without a value is left out.  A type
inside itself and a dictionary are objects that are not described any further (a dictionary whose keys are not strings
is a list of pairs and not in the schema).  Only floats for which JSON has no number are text nevertheless.

Spec: none; JSON Schema 2020-12.
"""

from __future__ import annotations

import json
import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from exhume.errors import ExhumeError
from exhume.findings import Finding
from exhume.formats.ark.kernel import ark_json, ark_runs, ark_total
from exhume.formats.ark.merge import Batch
from exhume.formats.ark.messages import ArkMessage, large_data, message_json
from exhume.formats.ark.parallel_query import UntilError, is_packed, read_each, read_query, read_spans
from exhume.formats.ark.query import Query, SplitCursor
from exhume.formats.ark.rbuf.decoder import decoder_for
from exhume.formats.ark.rbuf.program import bytes_program, data_program, program_for
from exhume.formats.ark.rbuf.registry import Field, Registry
from exhume.formats.ark.rbuf.streamed import check_value, value_pieces
from exhume.formats.ark.splits import UNBOUNDED, IndexBlock
from exhume.io.jsonout import bytes_value, dumps, large_pieces
from exhume.io.values import LargeValue
from exhume.limits import cpu_count
from exhume.tuples import NamedTuple

if TYPE_CHECKING:
    from exhume.formats.ark.log import ArkLog, SplitReference
    from exhume.formats.ark.pykernel import Numbers


# The schema of bytes: text if they are UTF-8, else base64.
BYTES: dict[str, Any] = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "base64": {"type": "string", "contentEncoding": "base64"}},
}


def json_schema(registry: Registry, type_name: str) -> dict[str, Any]:
    """The JSON Schema of the messages of a type."""
    return {"title": type_name, **_object(registry, type_name.removeprefix("::"), ())}


def _object(registry: Registry, name: str, inside: tuple[str, ...]) -> dict[str, Any]:
    """Return the JSON Schema of an object type; without properties for a type within itself."""
    fields = () if name in inside else tuple(registry.schema(name).visible_fields())
    known = {each.name: _field(registry, each, (*inside, name)) for each in fields}
    return {"type": "object", "properties": {key: schema for key, schema in known.items() if schema is not None}}


def _field(registry: Registry, each: Field, inside: tuple[str, ...]) -> dict[str, Any] | None:
    """Return the JSON Schema of a field; None if viewers have no plain schema for it.

    `inside` has the names of the object types around it, to detect recursion.
    """
    if each.packed_timespec or each.type == "byte_buffer":
        return BYTES
    match each.type:
        case "bool":
            return {"type": "boolean"}
        case "float" | "double":
            return {"type": "number"}
        case "string" | "guid":
            return {"type": "string"}
        case "object":
            return _object(registry, each.object_type or "", inside)
        case "variant":
            properties = {"index": {"type": "integer"}, "type": {"type": "string"}}
            return {"type": "object", "properties": {**properties, "value": {"type": "object", "properties": {}}}}
        case "arraylist" | "array":
            assert each.value is not None
            items = _field(registry, each.value, inside)
            return None if items is None else {"type": "array", "items": items}
        case "dictionary":
            assert each.key is not None
            return {"type": "object", "properties": {}} if each.key.type == "string" else None
    return {"type": "integer"}  # integers, enumerations, times and durations


def plain_json(value: Any) -> bytes:
    """The JSON text of a message, in the form that its schema describes."""
    return json.dumps(_plain(value), allow_nan=False, separators=(",", ":")).encode("ascii")


def _plain(value: Any) -> Any:
    """Return a decoded value as JSON can hold it."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes_value(bytes(value))
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


TAIL = b"}\n"
"""The end of a line, after the value of its message."""
LARGE = 16 << 20
"""Bytes of messages above which they are passed on in chunks."""

LINES, VALUES = 0, 1
"""Forms of `ark_json`: whole lines with time and channel, or the values only."""

Lines = tuple[bytes | memoryview, int]
"""Messages as JSON, one on each line, and their number."""

Values = tuple[list[tuple[str, int, bytes]], int]
"""Messages by the GUID of their channel, their time and the JSON of their value; and their number."""


def lines_of(log: ArkLog, query: dict[str, Any], *, findings: list[Finding], jobs: int = 1) -> Iterator[Lines]:
    """Yield the lines of all messages of a query, in order, made by `jobs` threads (0: one per core).

    Skipped messages add to `findings`.  The error of a damaged message is raised after the lines of those before it.
    """
    for part in read_each(log, LineQuery, query, findings=findings, jobs=jobs):
        if isinstance(part, LargeLine):
            yield from part.lines()
        else:
            yield part


def raw_of(
    log: ArkLog, query: dict[str, Any], *, findings: list[Finding], jobs: int = 1
) -> Iterator[bytes | memoryview]:
    """The bytes of all messages of a query, back to back, in chunks; see `lines_of`."""
    # Processes decompress; messages that are not compressed cost more to pass from a process than to read here.
    if is_packed(log) and (jobs or cpu_count()) > 1:
        found = read_spans(log, partial(read_query, RawQuery), query, findings=findings, jobs=jobs)
    else:
        found = read_each(log, RawQuery, query, findings=findings, jobs=jobs)
    for part in found:
        if isinstance(part, LargeValue):
            yield from part
        else:
            yield part


def counted_lines(messages: Iterable[ArkMessage]) -> Lines:
    """The lines of messages that were decoded."""
    lines = [dumps(message_json(message)) + "\n" for message in messages]
    return "".join(lines).encode("ascii"), len(lines)


class LargeLine(NamedTuple):
    """The line of a message above the limit `payload_size`, which is printed in chunks.

    `head` is its text before the value; `registry` and `type` are those of its value, None for a message that is bytes.
    """

    head: str
    data: LargeValue
    registry: Registry | None
    type: str

    def lines(self) -> Iterator[Lines]:
        """The line in chunks; the last one counts as a line."""
        yield self.head.encode("ascii"), 0
        for text in self._value():
            yield text.encode("ascii"), 0
        yield TAIL, 1

    def _value(self) -> Iterator[str]:
        """Return the JSON of the value in chunks."""
        if self.registry is None:
            return large_pieces(self.data)
        return value_pieces(decoder_for(self.registry, self.type), self.data, self.data.span)


class KernelBatch:
    """The messages of a batch, in the form that the kernel takes."""

    def __init__(self, batch: Batch, pieces: list[IndexBlock], form: int) -> None:
        """Collect what the kernel needs of a batch: for each cursor stored bytes, times, channels and tables.

        `form` is LINES or VALUES.
        """
        self.cursors: list[SplitCursor] = [cursor for cursor in batch.cursors if isinstance(cursor, SplitCursor)]
        self.pieces = pieces
        # The messages of each cursor as they are in the file; none if it takes no part in the batch.
        self.stored: list[Sequence[bytes] | None] = [
            cursor.split.stored(piece.offset, piece.size) if piece.time else []
            for cursor, piece in zip(self.cursors, pieces, strict=True)
        ]
        # For each cursor: its messages decompressed (None: damaged), times, short identifiers, programs and heads.
        self.parts: list[tuple[Sequence[bytes | None], Numbers, bytes, list[Any], list[bytes | None]]] = [
            (_logged(cursor, found), piece.time, piece.object, *_tables(cursor.reference, cursor, form))
            for cursor, piece, found in zip(self.cursors, pieces, self.stored, strict=True)
            if found is not None
        ]
        for number, cursor in enumerate(self.cursors):
            if cursor.unpack is not None and sum(pieces[number].size) > LARGE:
                self.stored[number] = None  # to save memory; messages that the kernel does not accept are read again

    def decoded(self, source: int, here: int) -> Iterator[ArkMessage]:
        """Return entry number `here` of cursor number `source` as a message; nothing if it is skipped."""
        one = self.pieces[source].part(here, here + 1)
        cursor, stored = self.cursors[source], self.stored[source]
        found = [stored[here]] if stored is not None else cursor.split.read_messages(one.offset, one.size)
        return cursor.decoded(one, found)


class LineQuery(Query):
    """One pass over the messages that makes lines of them; `latched` and `batch_messages` override those of `Query`."""

    large = True
    """Messages above the limit `payload_size` are read in chunks, as `LargeValue`."""

    def latched(self, references: Any) -> Iterator[Any]:
        """Yield the lines of the last messages before the time range."""
        for message in super().latched(references):
            yield from self._lines(message)

    def _lines(self, message: ArkMessage) -> Iterator[Lines | LargeLine]:
        """Yield the line of a message; nothing if it is large, damaged and skipped.

        A large message is read completely first, so that damage is found before any of it is printed.
        """
        data = large_data(message)
        if data is None:
            yield counted_lines([message])
            return
        channel = self.reader.channel(message.identifier).declaration
        registry = channel.registry
        try:
            if registry is not None:
                check_value(decoder_for(registry, channel.type), data, data.span)
            else:
                deque(data, 0)  # read all chunks and drop them
        except ExhumeError as error:
            if not self.skips(error):
                raise
            return
        latched = ',"latched":true' if message.latched else ""
        key = "data" if registry is None else "value"
        head = f'{{"time_ns":{dumps(message.time_ns)},"channel":{dumps(message.channel)}{latched},"{key}":'
        yield LargeLine(head, data, registry, channel.type)

    def batch_messages(self, batch: Batch, numbers: list[int], pieces: list[IndexBlock]) -> Iterator[Lines | LargeLine]:
        """Yield the lines of a batch; `pieces` has each cursor's entries, `numbers` the cursor of each message."""
        # A message that is too large to be read with others.
        if len(numbers) == 1:
            (lone,) = numbers
            cursor, piece = batch.cursors[lone], pieces[lone]
            assert isinstance(cursor, SplitCursor)
            if cursor.is_lone(piece):
                for message in cursor.messages(piece):
                    yield from self._lines(message)
                return
        # The kernel prints the batch, except messages that it does not accept: `odd` has their numbers in the batch,
        # and `places` where in the text their lines belong.
        gathered = KernelBatch(batch, pieces, LINES)
        text, odd, places = ark_json(numbers, gathered.parts, LINES, TAIL)
        if not odd:
            yield text, len(numbers)
            return
        # Print the odd ones here, in between; `at` counts the messages of each cursor up to the current one.
        at = [0] * len(pieces)
        before = shown = 0  # messages and bytes of the text that are in `lines` or printed
        lines: list[bytes | memoryview] = []
        count = 0
        try:
            for number, place in zip(odd, places, strict=True):
                for source in numbers[before:number]:
                    at[source] += 1
                lines.append(text[shown:place])
                count += number - before
                before, shown = number + 1, place
                source = numbers[number]
                here = at[source]
                at[source] += 1
                for message in gathered.decoded(source, here):
                    for line in self._lines(message):
                        if isinstance(line, LargeLine):
                            yield b"".join(lines), count
                            lines, count = [], 0
                            yield line
                        else:
                            printed, lines_in_it = line
                            lines.append(printed)
                            count += lines_in_it
        except ExhumeError:  # the lines before the damaged message come before its error
            yield b"".join(lines), count
            raise
        lines.append(text[shown:])
        yield b"".join(lines), count + len(numbers) - before


class RawQuery(Query):
    """One pass over the messages that yields their bytes, back to back, if possible without an object for each."""

    large = True

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.decode = False  # whatever the caller chose: only the bytes are needed

    def latched(self, references: Any) -> Iterator[Any]:
        """Yield the bytes of the last messages before the time range."""
        for message in super().latched(references):
            data: object = message.data
            if not isinstance(data, LargeValue) or self._is_readable(data):
                yield data

    def _is_readable(self, data: LargeValue) -> bool:
        """Whether a message decompresses; if it does not, that is noted or raised before any of it is shown."""
        try:
            deque(data, 0)  # read all chunks and drop them
        except ExhumeError as error:
            if not self.skips(error):
                raise
            return False
        return True

    def batch_messages(
        self, batch: Batch, numbers: list[int], pieces: list[IndexBlock]
    ) -> Iterator[bytes | memoryview | LargeValue]:
        """Yield the bytes of a batch; `pieces` has each cursor's entries, `numbers` the cursor of each message.

        Raises the error of a damaged message after the bytes of those before it.
        """
        whole = self._whole(batch, pieces)
        if whole is not None:
            yield from whole
            return
        found = UntilError(super().batch_messages(batch, numbers, pieces))
        held: list[bytes] = []  # messages that are passed on together, up to `most` bytes
        size, most = 0, min(LARGE, self.most)
        for message in found:
            data: object = message.data
            if isinstance(data, bytes):
                held.append(data)
                size += len(data)
                if size <= most:
                    continue
            yield b"".join(held)
            held, size = [], 0
            if isinstance(data, LargeValue) and self._is_readable(data):
                yield data
        yield b"".join(held)
        if found.error is not None:
            raise found.error

    @staticmethod
    def _whole(batch: Batch, pieces: list[IndexBlock]) -> Iterable[bytes] | None:
        """Return the bytes of all messages at once if those of the batch are adjacent in one split; else None."""
        taking_part = ((cursor, piece) for cursor, piece in zip(batch.cursors, pieces, strict=True) if piece.time)
        (cursor, piece), *others = taking_part
        assert isinstance(cursor, SplitCursor)
        if others or cursor.unpack is not None:
            return None
        # Runs without gaps, however long; none if the messages are not in the order of the file.
        runs = ark_runs(piece.offset, piece.size, 0, UNBOUNDED) or []
        if len(runs) != 1:
            return None
        start, stop, _, _ = runs[0]  # offsets in the split, and the numbers of its messages
        if ark_total(piece.size) != stop - start:  # messages overlap
            return None
        return cursor.split.source.chunks(start, stop) if stop - start > LARGE else cursor.split.read_runs(runs)


class ValueQuery(Query):
    """One pass over the messages that makes JSON of the value of each, in the form that `jsonschema` describes."""

    def latched(self, references: Any) -> Iterator[Any]:
        """Yield the values of the last messages before the time range, each as a list of one, with their number."""
        for message in super().latched(references):
            yield [_value(message)], 1

    def batch_messages(self, batch: Batch, numbers: list[int], pieces: list[IndexBlock]) -> Iterator[Values]:
        """Yield the values of a batch as JSON; `pieces` has each cursor's entries, `numbers` the cursor of each
        message.
        """
        gathered = KernelBatch(batch, pieces, VALUES)
        text, unprinted, _ = ark_json(numbers, gathered.parts, VALUES, b"\n")
        texts = iter(bytes(text).split(b"\n"))
        odd = set(unprinted)  # messages that the kernel does not accept have no text
        at = [0] * len(pieces)  # messages of each cursor so far
        found: list[tuple[str, int, bytes]] = []
        try:
            for number, source in enumerate(numbers):
                here = at[source]
                at[source] += 1
                if number in odd:
                    found += map(_value, gathered.decoded(source, here))
                else:
                    piece = pieces[source]
                    identifier = gathered.cursors[source].identifiers[piece.object[here]]
                    found.append((identifier, piece.time[here], next(texts)))
        except ExhumeError:
            yield found, len(found)
            raise
        yield found, len(found)


def _value(message: ArkMessage) -> tuple[str, int, bytes]:
    """Return one of `Values`: GUID of the channel, time, and the JSON of the value (of the bytes, if not decoded)."""
    value = message.value if message.value is not None else {"data": message.data}
    return message.identifier, message.time_ns, plain_json(value)


def _tables(reference: SplitReference, cursor: SplitCursor, form: int) -> tuple[list[Any], list[bytes | None]]:
    """The programs of a cursor's channels and the text printed before their values, by short identifier.

    A program is a type compiled for the kernel; None for identifiers without a channel.
    """
    programs: list[Any] = [None] * 256
    heads: list[bytes | None] = [None] * 256
    for mapping in cursor.facts.header.mappings:
        if cursor.identifiers[mapping.short] == mapping.identifier:  # the channel is wanted and the mapping unique
            channel = reference.channels[mapping.identifier]
            registry = channel.declaration.registry
            if registry is not None:
                programs[mapping.short] = program_for(registry, channel.type)
            else:
                programs[mapping.short] = bytes_program() if form == LINES else data_program()
            if form == LINES:
                key = "data" if registry is None else "value"
                heads[mapping.short] = f',"channel":{dumps(channel.name)},"{key}":'.encode("ascii")
    return programs, heads


def _logged(cursor: SplitCursor, stored: Sequence[bytes]) -> Sequence[bytes | None]:
    """Return stored messages as they were logged: decompressed, if the cursor's column is compressed."""
    return stored if cursor.unpack is None else cursor.unpack.payloads(stored, cursor.split.source)
