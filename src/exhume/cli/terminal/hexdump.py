"""Hex dumps in which every byte has the color of its field, with the names of the fields next to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from exhume.cli.terminal.screen import FIELD_COLORS, Screen, paint

if TYPE_CHECKING:
    from exhume.layout.trees import Field

ROW = 16  # bytes per line
OFFSETS = 8  # digits
NAMES = 20  # columns; if fewer are left next to the bytes, the names follow the dump
MOST = 512  # bytes of a dump, unless all are requested

Read = Callable[[int, int], bytes]
"""Reads the bytes `[start, stop)`, in offsets of the dump."""


def hex_lines(
    screen: Screen, read: Read, start: int, stop: int, fields: Iterable[Field], *, marked: int | None = None
) -> Iterator[str]:
    """Yield a line for each 16 bytes of `[start, stop)`: offset, bytes, characters, names of fields that start there.

    A byte has the color of the innermost field that contains it, and `marked` is shown in reverse video; without colors
    it is followed by `<`.  Propagates errors from `read`.
    """
    owners, names = _owners(fields, start, stop)
    beside = screen.width is None or screen.width - OFFSETS - ROW * 4 - 7 >= NAMES
    data = read(start, stop)
    first = start - start % ROW
    digits = max(OFFSETS, len(f"{stop:x}"))
    for at in range(first, start + len(data), ROW):
        pairs, chars = "", ""
        for offset in range(at, at + ROW):
            inside = start <= offset < start + len(data)
            byte = data[offset - start] if inside else 0
            code = _code(owners[offset - start] if inside else None, offset == marked) if screen.color else ""
            mark = "<" if offset == marked and not screen.color else " "
            pairs += (paint(f"{byte:02x}", code) if inside else "  ") + mark + (" " if offset % ROW == 7 else "")
            char = chr(byte) if 32 <= byte < 127 else "."
            chars += paint(char, code) if inside else " "
        lead = screen.paint(f"{at:0{digits}x}", "offset")
        here = [(number, name) for offset, number, name in names if beside and at <= offset < at + ROW]
        labels = _labels(screen, here, digits + ROW * 4 + 7)
        yield f"{lead}  {pairs} {chars}  {labels}".rstrip()
    if not beside:
        yield from _legend(screen, names)


def around(fields: Sequence[Field], offset: int, end: int) -> tuple[int, int]:
    """The bytes `[start, stop)` to show around a byte: two lines on either side, and its field if that is small."""
    start, stop = offset - offset % ROW - 2 * ROW, offset - offset % ROW + 3 * ROW
    span = fields[-1].span if fields else None
    if span is not None and span.payload is None and span.size <= MOST:
        start, stop = min(start, span.start - span.start % ROW), max(stop, span.end + -span.end % ROW)
    return max(0, start), min(end, stop)


def _owners(fields: Iterable[Field], start: int, stop: int) -> tuple[list[int | None], list[tuple[int, int, str]]]:
    """For each byte the number of its innermost field, and for each visible field where it begins, number and name."""
    owners: list[int | None] = [None] * (stop - start)
    found: dict[int, tuple[int, str]] = {}
    number = 0
    for tree in fields:
        for _, node in tree.walk():  # outermost first
            span = node.span
            if span is None or span.payload is not None or span.start >= stop or span.end <= start or not span.size:
                continue
            if node.children and not node.omitted:  # its children color its bytes
                continue
            begin, end = max(span.start, start), min(span.end, stop)
            owners[begin - start : end - start] = [number] * (end - begin)
            found[number] = begin, node.path.partition(".")[2] or node.name
            number += 1
    seen = {owner for owner in owners if owner is not None}
    return owners, [(begin, number, name) for number, (begin, name) in found.items() if number in seen]


def _code(owner: int | None, marked: bool) -> str:
    code = "2" if owner is None else FIELD_COLORS[owner % len(FIELD_COLORS)]
    return f"7;{code}" if marked else code


def _legend(screen: Screen, names: Sequence[tuple[int, int, str]]) -> Iterator[str]:
    """The names of the fields in lines that fit, each in the color of its bytes."""
    line, used = "", 0
    for _, number, name in names:
        if used and screen.width is not None and used + 2 + len(name) > screen.width:
            yield line
            line, used = "", 0
        lead = "  " if used else ""
        line += lead + (paint(name, _code(number, False)) if screen.color else name)
        used += len(lead) + len(name)
    if used:
        yield line


def _labels(screen: Screen, named: Sequence[tuple[int, str]], used: int) -> str:
    """As many names as fit next to the bytes, each in the color of its bytes."""
    out, left = "", 60 if screen.width is None else screen.width - used
    for at, (number, name) in enumerate(named):
        last = at == len(named) - 1
        if len(name) > left - (0 if last else 2):
            return out + ("…" if left > 0 else "")
        out += paint(name, _code(number, False)) if screen.color else name
        left -= len(name) + 1
        out += "" if last else " "
    return out
