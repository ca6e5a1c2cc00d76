"""Tokens of a stream for the interpreted kernel, and where its units end."""

from __future__ import annotations

from typing import Any

from exhume.formats.kv_ir.layout import (
    INTEGERS,
    KEYS,
    LOG_TYPES,
    NODES,
    TEXTS,
    VARIABLE_TEXTS,
    LayoutError,
    Tags,
    flat_token,
)
from exhume.formats.kv_ir.units import Status

APART = frozenset((Tags.FOUR_BYTE_ENCODING, Tags.EIGHT_BYTE_ENCODING))
_VARIABLES = VARIABLE_TEXTS | {Tags.VARIABLE_4, Tags.VARIABLE_8}
_VALUES = INTEGERS | TEXTS | {Tags.REAL, Tags.TRUE_VALUE, Tags.FALSE_VALUE, Tags.EMPTY_OBJECT, Tags.NULL_VALUE}


class StopError(Exception):
    """A unit that was not accepted: why, where it starts, and where it ends (-1 if that is unknown)."""

    def __init__(self, status: Status, at: int, after: int = -1) -> None:
        super().__init__(status)
        self.status, self.at, self.after = status, at, after


def token(data: bytes, at: int, end: int) -> tuple[int, Any, int]:
    """The tag of a token, its number or bytes, and the offset of its end.  Raises `StopError` where it is not whole."""
    try:
        after, tag, one, two, four, eight, real, _, _, _, start, stop = flat_token(data, at, end)
    except LayoutError:
        raise StopError(Status.MORE, at) from None
    if tag == Tags.REAL:
        return tag, real, after
    return tag, (bytes(data[start:stop]) if start else one + two + four + eight), after


def scan_units(data: bytes, at: int, target: int) -> tuple[int, int, int, list[tuple[int, int]]]:
    """Find where units of `data` end from `at` on, and check nothing else; stop at `target` or after it.

    Returns: `FULL`, or `END` where the end of the stream is there, or `MORE` or `UNEXPECTED` (a unit that is not
    rejected here may be so all the same); where the unit starts that was not passed; where in it something does not
    fit; and start and end of each declaration of a key.  Raises `ValueError` for a position outside of `data`.
    """
    end = len(data)
    if not 0 <= at <= end:
        raise ValueError("outside of the data")
    declared: list[tuple[int, int]] = []
    while at < min(end, target):
        try:
            tag, _, after = token(data, at, end)
            if tag == Tags.END_OF_STREAM:
                return Status.END, at, at, declared
            if tag in NODES:
                for _ in range(2):
                    _, _, after = token(data, after, end)
                declared.append((at, after))
            elif tag in KEYS or tag == Tags.EMPTY_OBJECT:
                after = _pass_event(data, at, end)
            elif tag != Tags.UTC_OFFSET_CHANGE:
                return Status.UNEXPECTED, at, at, declared
        except StopError as stop:
            return stop.status, at, stop.at, declared
        at = after
    return Status.FULL if at >= target else Status.MORE, at, at, declared


def _pass_event(data: bytes, at: int, end: int) -> int:
    """Where an event ends."""
    tag, key, after = token(data, at, end)
    while tag in KEYS and key < 0:
        at = _pass_value(data, after, end)
        tag, key, after = token(data, at, end)
    if tag == Tags.EMPTY_OBJECT:
        return after
    if tag not in KEYS:
        raise StopError(Status.UNEXPECTED, at)
    count = 0
    while tag in KEYS:
        count, at = count + 1, after
        tag, _, after = token(data, at, end)
    for _ in range(count):
        at = _pass_value(data, at, end)
    return at


def _pass_value(data: bytes, at: int, end: int) -> int:
    """Where a value ends."""
    tag, _, after = token(data, at, end)
    if tag in APART:
        while tag in APART or tag in _VARIABLES:
            at = after
            tag, _, after = token(data, at, end)
            if tag in LOG_TYPES:
                return after
            if tag in APART:
                break
    elif tag in _VALUES:
        return after
    raise StopError(Status.UNEXPECTED, at)
