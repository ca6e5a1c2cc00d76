"""Messages as JSON, which the kernel prints without the interpreter lock: so threads share the work; and as they are.

Messages that the kernel does not accept are decoded as everywhere else, which raises errors and notes skipped parts.

Spec: none; the JSON of a message is documented in `docs/formats/ark.md`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from exhume.errors import ExhumeError
from exhume.findings import Finding
from exhume.formats.ark.jsonschema import message_json as plain_json
from exhume.formats.ark.kernel import ark_json, ark_runs, ark_total
from exhume.formats.ark.merge import Batch
from exhume.formats.ark.messages import ArkMessage, message_json
from exhume.formats.ark.parallel_query import UntilError, read_each
from exhume.formats.ark.query import Query, SplitCursor
from exhume.formats.ark.rbuf.program import bytes_program, data_program, program_for
from exhume.formats.ark.splits import UNBOUNDED, IndexBlock
from exhume.io.jsonout import dumps

if TYPE_CHECKING:
    from exhume.formats.ark.log import ArkLog, SplitReference

TAIL = b"}\n"
LARGE = 16 << 20
"""Bytes of messages above which they are passed on in chunks."""

LINES, VALUES = 0, 1  # forms of `ark_json`

Lines = tuple[bytes | memoryview, int]
"""Messages as JSON, one on each line, and their number."""

Values = tuple[list[tuple[str, int, bytes]], int]
"""Messages by the GUID of their channel, their time and the JSON of their value; and their number."""


def lines_of(log: ArkLog, query: dict[str, Any], *, findings: list[Finding], jobs: int = 1) -> Iterator[Lines]:
    """The lines of all messages of a query, in order; `jobs` share the work (0: one per core).

    They are threads where the kernel is compiled, otherwise processes.  Skipped messages add to `findings`.  Raises the
    error of a damaged message after the lines of those before it.
    """
    return read_each(log, LineQuery, query, findings=findings, jobs=jobs)


def counted_lines(messages: Iterable[ArkMessage]) -> Lines:
    """The lines of messages that were decoded."""
    lines = [dumps(message_json(message)) + "\n" for message in messages]
    return "".join(lines).encode("ascii"), len(lines)


class Gathered:
    """The messages of a batch, in the form that the kernel takes."""

    def __init__(self, batch: Batch, pieces: list[IndexBlock], form: int) -> None:
        self.cursors = [cursor for cursor in batch.cursors if isinstance(cursor, SplitCursor)]
        self.pieces = pieces
        self.stored = [
            cursor.split.stored(piece.offset, piece.size) if piece.time else []
            for cursor, piece in zip(self.cursors, pieces, strict=True)
        ]
        self.parts = [
            (_logged(cursor, found), piece.time, piece.object, *_tables(cursor.reference, cursor, form))
            for cursor, piece, found in zip(self.cursors, pieces, self.stored, strict=True)
        ]

    def decoded(self, source: int, here: int) -> Iterator[ArkMessage]:
        """One message of a piece, or none, where it was skipped."""
        one = self.pieces[source].part(here, here + 1)
        return self.cursors[source].decoded(one, [self.stored[source][here]])


class LineQuery(Query):
    """One pass over the messages that makes lines of them."""

    def latched(self, references: Any) -> Iterator[Any]:
        for message in super().latched(references):
            yield counted_lines([message])

    def portion(self, batch: Batch, numbers: list[int], pieces: list[IndexBlock]) -> Iterator[Lines]:
        """The lines of the pieces, in the order in which `numbers` names their cursors."""
        gathered = Gathered(batch, pieces, LINES)
        text, odd, places = ark_json(numbers, gathered.parts, LINES, TAIL)
        if not odd:
            yield text, len(numbers)
            return
        at = [0] * len(pieces)
        before = shown = 0
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
                line, made = counted_lines(gathered.decoded(source, here))
                lines.append(line)
                count += made
        except ExhumeError:
            yield b"".join(lines), count
            raise
        lines.append(text[shown:])
        yield b"".join(lines), count + len(numbers) - before


class RawQuery(Query):
    """One pass over the messages that yields their bytes, back to back, if possible without an object for each."""

    def __init__(self, *asked: Any) -> None:
        super().__init__(*asked)
        self.decode = False

    def latched(self, references: Any) -> Iterator[Any]:
        for message in super().latched(references):
            yield message.data

    def portion(self, batch: Batch, numbers: list[int], pieces: list[IndexBlock]) -> Iterator[bytes]:
        """The bytes of the pieces, in the order in which `numbers` names their cursors.

        Raises the error of a damaged message after the bytes of those before it.
        """
        whole = self._whole(batch, pieces)
        if whole is not None:
            yield from whole
            return
        found = UntilError(super().portion(batch, numbers, pieces))
        yield b"".join([message.data for message in found])
        if found.error is not None:
            raise found.error

    @staticmethod
    def _whole(batch: Batch, pieces: list[IndexBlock]) -> Iterable[bytes] | None:
        """The bytes of the messages, if those of the batch are adjacent in one split; in chunks if there are many."""
        ((cursor, piece), *others) = [one for one in zip(batch.cursors, pieces, strict=True) if one[1].time]
        assert isinstance(cursor, SplitCursor)
        if others or cursor.unpack is not None:
            return None
        runs = ark_runs(piece.offset, piece.size, 0, UNBOUNDED) or []
        if len(runs) != 1 or ark_total(piece.size) != runs[0][1] - runs[0][0]:  # more, where messages overlap
            return None
        if runs[0][1] - runs[0][0] > LARGE:
            return cursor.split.source.chunks(*runs[0][:2])
        return cursor.split.read_runs(runs)[:1]


class ValueQuery(Query):
    """One pass over the messages that makes JSON of the value of each, in the form that `jsonschema` describes."""

    def latched(self, references: Any) -> Iterator[Any]:
        for message in super().latched(references):
            yield [_value(message)], 1

    def portion(self, batch: Batch, numbers: list[int], pieces: list[IndexBlock]) -> Iterator[Values]:
        """The values of the pieces, in the order in which `numbers` names their cursors."""
        gathered = Gathered(batch, pieces, VALUES)
        text, unprinted, _ = ark_json(numbers, gathered.parts, VALUES, b"\n")
        texts = iter(bytes(text).split(b"\n"))
        odd = set(unprinted)
        at = [0] * len(pieces)
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
    value = message.value if message.value is not None else {"data": message.data}
    return message.identifier, message.time_ns, plain_json(value)


def _tables(reference: SplitReference, cursor: SplitCursor, form: int) -> tuple[list[Any], list[bytes | None]]:
    """The programs of a cursor's channels and the text printed before their values, by short identifier."""
    programs: list[Any] = [None] * 256
    heads: list[bytes | None] = [None] * 256
    for mapping in cursor.facts.header.mappings:
        if cursor.identifiers[mapping.short] == mapping.identifier:
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
    return stored if cursor.unpack is None else cursor.unpack.payloads(stored, cursor.split.source)
