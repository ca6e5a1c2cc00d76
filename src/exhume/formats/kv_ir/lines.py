"""JSON lines as the events of a stream."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from exhume.archive import Progress, no_progress
from exhume.errors import Span, WriterError
from exhume.formats.clp_s.write.inputs import Input, name_of, read_pieces
from exhume.formats.kv_ir.units import AUTO, USER
from exhume.limits import DEFAULT_LIMITS

Pairs = dict[str, Any]


LONGEST_LINE = DEFAULT_LIMITS.structure_size
"""The most bytes of one line: input without line ends must not fill the memory."""


def records(
    inputs: Iterable[Input], *, both: bool = False, progress: Progress = no_progress
) -> Iterator[tuple[Pairs, Pairs]]:
    """The pairs of the user and those of the logger of each line, empty lines left out.

    With `both` a line has them in members, as `exhume cat` prints them (`units.AUTO`, `units.USER`).  `progress` is
    told the bytes that came in, decompressed.  Raises `WriterError`, with the line, and `SourceError`.
    """
    done = 0

    def counting(pieces: Iterable[bytes]) -> Iterator[bytes]:
        nonlocal done
        for piece in pieces:
            yield piece
            done += len(piece)
            progress(done, None, "bytes")

    for one in inputs:
        name = name_of(one)
        for number, line in enumerate(_lines(counting(read_pieces(one)), name), 1):
            if line.strip():
                yield _pairs(parse_object(line, name, number), name, number, both=both)


def _lines(pieces: Iterable[bytes], name: str) -> Iterator[bytes]:
    """The lines of a text that comes in pieces, the last one with or without an end."""
    number, held = 0, [b""]
    for piece in pieces:
        first, *others = piece.split(b"\n")
        held.append(first)
        if others:
            *whole, last = [b"".join(held), *others]
            yield from whole
            number += len(whole)
            held = [last]
        if sum(map(len, held)) > LONGEST_LINE:
            raise WriterError(
                f"line {number + 1}: too long", span=Span(name, 0, 0), expected=f"{LONGEST_LINE} bytes", format="kv-ir"
            )
    yield b"".join(held)


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
