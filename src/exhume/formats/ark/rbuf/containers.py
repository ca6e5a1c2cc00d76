"""Readers of values that hold others: lists, dictionaries, variants.

Spec: rbuf wire format.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

from exhume.counts import counted
from exhume.formats.ark.checks import COUNT, ENDS_EARLY, REPEATED_KEY, VARIANT_LENGTH, VARIANT_UNKNOWN
from exhume.formats.ark.rbuf.layout import LayoutError, flat_variant_header, read_count
from exhume.formats.ark.rbuf.wire import NATIVE, DecodeFailure, Read, State, failed


def list_reader(read: Read, count: int | None, letter: str | None, least: int, cost: int) -> Read:
    """The reader of a list.

    Args:
        read: The reader of an element.
        count: How many elements there are; None if the list itself states it.
        letter: The `struct` letter of the elements, if they are numbers that need no conversion.
        least: The fewest bytes that an element takes.
        cost: The cost units of an element.
    """

    def element_count(buf: bytes, pos: int, end: int, state: State) -> tuple[int, int]:
        start = pos
        number = count
        if number is None:
            try:
                number, pos = read_count(buf, pos, end)
            except LayoutError as error:
                raise failed(error) from None
        if number * least > end - pos:
            rule, stop = (COUNT, pos) if count is None else (ENDS_EARLY, end)
            raise DecodeFailure(
                rule, start, stop, expected=counted(number, "elements"), actual=counted(end - pos, "bytes")
            )
        state.spend(number * cost, start)
        return number, pos

    if letter is not None:
        width = struct.calcsize("<" + letter)

        def read_numbers(buf: bytes, pos: int, end: int, state: State) -> tuple[Any, int]:
            number, pos = element_count(buf, pos, end, state)
            stop = pos + number * width
            if number > 8 and NATIVE:
                return memoryview(buf)[pos:stop].cast(letter).tolist(), stop  # type: ignore[call-overload]
            return list(struct.unpack_from(f"<{number}{letter}", buf, pos)), stop

        return read_numbers

    def read_list(buf: bytes, pos: int, end: int, state: State) -> tuple[Any, int]:
        number, pos = element_count(buf, pos, end, state)
        out: list[Any] = []
        append = out.append
        try:
            for _ in range(number):
                value, pos = read(buf, pos, end, state)
                append(value)
        except DecodeFailure as failure:
            failure.path.append(f"[{len(out)}]")
            raise
        return out, pos

    return read_list


def dictionary_reader(read_key: Read, read_value: Read, as_map: bool, least: int, cost: int) -> Read:
    """The reader of a dictionary whose value is a dict (`as_map`) or a list of pairs.

    `least` bytes and `cost` units are those of a pair.
    """

    def read(buf: bytes, pos: int, end: int, state: State) -> tuple[Any, int]:
        start = pos
        try:
            count, pos = read_count(buf, pos, end)
        except LayoutError as error:
            raise failed(error) from None
        if count * least > end - pos:
            raise DecodeFailure(COUNT, start, pos, expected=counted(count, "pairs"), actual=counted(end - pos, "bytes"))
        state.spend(count * cost, start)
        pairs: list[tuple[Any, Any]] = []
        try:
            for _ in range(count):
                name, pos = read_key(buf, pos, end, state)
                item, pos = read_value(buf, pos, end, state)
                pairs.append((name, item))
        except DecodeFailure as failure:
            failure.path.append(f"[{len(pairs)}]")
            raise
        if not as_map:
            return pairs, pos
        out = dict(pairs)
        if len(out) != count:
            state.note(REPEATED_KEY, start, pos)
        return out, pos

    return read


def variant_reader(readers: Mapping[int, tuple[str, Read]]) -> Read:
    """The reader of a variant, made from the name and the reader of each alternative."""

    def read(buf: bytes, pos: int, end: int, state: State) -> tuple[Any, int]:
        try:
            body, index, size = flat_variant_header(buf, pos, end)
        except LayoutError as error:
            raise failed(error, over=VARIANT_LENGTH, unit=" bytes") from None
        stop = body + size
        known = readers.get(index)
        if known is None:
            state.note(VARIANT_UNKNOWN, pos, stop, f"index {index}, {counted(size, 'bytes')}")
            return {"index": index, "type": None, "raw": buf[body:stop]}, stop
        name, read_object = known
        value, at = read_object(buf, body, stop, state)
        if at != stop:
            raise DecodeFailure(
                VARIANT_LENGTH, pos + 1, body, expected=counted(at - body, "bytes"), actual=counted(size, "bytes")
            )
        return {"index": index, "type": name, "value": value}, stop

    return read
