"""JSON lines as the events of a stream."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from exhume.archive import Progress, no_progress
from exhume.errors import Span, WriterError
from exhume.formats.clp_s.write.inputs import Input, name_of, read_pieces
from exhume.formats.kv_ir.units import AUTO, USER
from exhume.io.parallel import map_ordered
from exhume.limits import DEFAULT_LIMITS, cpu_count

if TYPE_CHECKING:
    from exhume.formats.kv_ir.encoders import Counts, Encoded
    from exhume.formats.kv_ir.writer import KvIrWriter

Pairs = dict[str, Any]


LONGEST_LINE = DEFAULT_LIMITS.structure_size
"""The most bytes of one line: input without line ends must not fill the memory."""


class Lines(NamedTuple):
    """Whole lines of an input: where they lie in it, and the number of the first."""

    data: bytes
    span: Span
    number: int


def write_lines(
    writer: KvIrWriter, inputs: Iterable[Input], *, both: bool = False, jobs: int = 1, progress: Progress = no_progress
) -> None:
    """Writes each line of the inputs as an event, empty lines left out.

    Lines hold the pairs of the user, or with `both` those of the logger too, in members, as `exhume cat` prints them
    (`units.AUTO`, `units.USER`).  So many `jobs` encode blocks of lines beside each other (0: one per core); the
    stream is that of one.  `progress` is told the bytes that came in, decompressed.  Raises `WriterError`, with the
    line, and `SourceError`.
    """
    blocks = cut_lines(inputs, progress)
    if (jobs or cpu_count()) == 1:
        for lines in blocks:
            _write(writer, lines, 0, both=both)
        return
    for lines in islice(blocks, 1):  # makes most keys known
        _write(writer, lines, 0, both=both)
    encoders = writer.line_encoders(both=both)

    def encode(block: tuple[Lines, Counts]) -> tuple[Lines, Encoded]:
        lines, known = block
        return lines, encoders.encode(lines.data, known)

    for lines, encoded in map_ordered(encode, ((lines, encoders.known()) for lines in blocks), jobs):
        _write(writer, lines, writer.write_encoded(encoded, encoders), both=both)


def cut_lines(inputs: Iterable[Input], progress: Progress, format: str = "kv-ir") -> Iterator[Lines]:
    """The lines of inputs in blocks.  Raises `WriterError` for a line that is too long, and `SourceError`."""
    done = 0
    for one in inputs:
        name, number, begin, held = name_of(one), 1, 0, [b""]
        for piece in read_pieces(one):
            end = piece.rfind(b"\n") + 1
            if end:
                lines = b"".join([*held, piece[:end]])
                yield Lines(lines, Span(name, begin, begin + len(lines)), number)
                number += lines.count(b"\n")
                begin += len(lines)
                held.clear()
            held.append(piece[end:])
            if (size := sum(map(len, held))) > LONGEST_LINE:
                where = Span(name, begin, begin + size)
                raise WriterError(
                    f"line {number}: too long", span=where, expected=f"{LONGEST_LINE} bytes", format=format
                )
            done += len(piece)
            progress(done, None, "bytes")
        lines = b"".join(held)
        yield Lines(lines, Span(name, begin, begin + len(lines)), number)


def _write(writer: KvIrWriter, lines: Lines, at: int, *, both: bool) -> None:
    """Writes the lines from the one at `at` on."""
    data, span, number = lines
    counted = 0
    while (start := writer.write_lines(data, at, both=both)) < len(data):
        number += data.count(b"\n", counted, start)
        end = data.find(b"\n", start)
        counted = start
        at = len(data) if end < 0 else end + 1
        line = data[start:at].removesuffix(b"\n")
        if line.strip():
            try:
                writer.write(*_pairs(parse_object(line), both=both))
            except WriterError as error:
                error.message, error.span = f"line {number}: {error.message}", span.sub(start, at)
                raise


def _pairs(found: Pairs, *, both: bool) -> tuple[Pairs, Pairs]:
    if not both:
        return found, {}
    if not set(found) <= {AUTO, USER} or not all(isinstance(one, dict) for one in found.values()):
        raise WriterError(f"not {AUTO} and {USER}", format="kv-ir")
    return found.get(USER, {}), found.get(AUTO, {})


def parse_object(text: bytes) -> Pairs:
    """The pairs of a JSON object.  Raises `WriterError` if it is none or repeats a key."""

    def members(pairs: list[tuple[str, Any]]) -> Pairs:
        out = dict(pairs)
        if len(out) < len(pairs):
            raise ValueError("the same key twice in one object")
        return out

    def refuse(constant: str) -> Any:
        raise ValueError(f"{constant} is not JSON")

    try:
        found = json.loads(text.decode("utf-8"), object_pairs_hook=members, parse_constant=refuse)
        if not isinstance(found, dict):
            raise ValueError("not a JSON object")
    except UnicodeDecodeError as error:
        what = f"not UTF-8 in column {error.start + 1}"
    except json.JSONDecodeError as error:
        what = f"not JSON in column {error.colno}: {error.msg}"
    except RecursionError:
        what = "nested too deeply"
    except ValueError as error:
        what = str(error)
    else:
        return found
    raise WriterError(what, actual=text[:80], format="kv-ir")
