"""JSON lines as the events of a stream."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from exhume.archive import Progress, no_progress
from exhume.errors import Span, WriterError
from exhume.formats.clp_s.write.inputs import Input, name_of, read_pieces
from exhume.formats.kv_ir.units import AUTO, USER
from exhume.limits import DEFAULT_LIMITS

if TYPE_CHECKING:
    from exhume.formats.kv_ir.writer import KvIrWriter

Pairs = dict[str, Any]


LONGEST_LINE = DEFAULT_LIMITS.structure_size
"""The most bytes of one line: input without line ends must not fill the memory."""


def write_lines(
    writer: KvIrWriter, inputs: Iterable[Input], *, both: bool = False, progress: Progress = no_progress
) -> None:
    """Writes each line of the inputs as an event, empty lines left out.

    Lines hold the pairs of the user, or with `both` those of the logger too, in members, as `exhume cat` prints them
    (`units.AUTO`, `units.USER`).  `progress` is told the bytes that came in, decompressed.  Raises `WriterError`, with
    the line, and `SourceError`.
    """
    done = 0
    for one in inputs:
        name, number, held = name_of(one), 1, [b""]
        for piece in read_pieces(one):
            end = piece.rfind(b"\n") + 1
            if end:
                number = _write(writer, b"".join([*held, piece[:end]]), name, number, both=both)
                held.clear()
            held.append(piece[end:])
            if sum(map(len, held)) > LONGEST_LINE:
                raise WriterError(
                    f"line {number}: too long", span=Span(name, 0, 0), expected=f"{LONGEST_LINE} bytes", format="kv-ir"
                )
            done += len(piece)
            progress(done, None, "bytes")
        _write(writer, b"".join(held), name, number, both=both)


def _write(writer: KvIrWriter, data: bytes, name: str, number: int, *, both: bool) -> int:
    """Writes whole lines, the first of which has a number; returns that of the one behind them."""
    at = 0
    while (start := writer.write_lines(data, at, both=both)) < len(data):
        number += data.count(b"\n", at, start)
        end = data.find(b"\n", start)
        at = len(data) if end < 0 else end + 1
        line = data[start:at].removesuffix(b"\n")
        if line.strip():
            pairs = _pairs(parse_object(line, name, number), name, number, both=both)
            try:
                writer.write(*pairs)
            except WriterError as error:
                error.message, error.span = f"line {number}: {error.message}", Span(name, 0, 0)
                raise
        number += 1
    return number + data.count(b"\n", at)


def _pairs(found: Pairs, name: str, number: int, *, both: bool) -> tuple[Pairs, Pairs]:
    if not both:
        return found, {}
    if not set(found) <= {AUTO, USER} or not all(isinstance(one, dict) for one in found.values()):
        raise WriterError(f"line {number}: not {AUTO} and {USER}", span=Span(name, 0, 0), format="kv-ir")
    return found.get(USER, {}), found.get(AUTO, {})


def parse_object(text: bytes, name: str, number: int) -> Pairs:
    """The pairs of the JSON object on line `number` of `name`.  Raises `WriterError` if it is none or repeats a key."""

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
    except (ValueError, RecursionError) as error:
        raise WriterError(f"line {number}: {error}", span=Span(name, 0, 0), actual=text[:80], format="kv-ir") from None
    return found
