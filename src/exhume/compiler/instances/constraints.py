"""The constraints that a specification declares for a field, and how numbers are stored."""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterator
from typing import Any

from exhume.compiler.front import expressions as ex
from exhume.compiler.front.kinds import Bits, Integer, Plain
from exhume.compiler.front.model import Field
from exhume.compiler.ir import varints
from exhume.compiler.refusal import UnsupportedError

varint = functools.cache(varints.varint)


@functools.cache
def expression(one: Field, key: str) -> ex.Expr | None:
    """The expression under a key of a field."""
    return one.expr(key)


@functools.cache
def rules_of(one: Field) -> dict[str, Any]:
    """The rules of `valid` by their keys: expressions, several for `any-of`, and True for `in-enum`.

    Raises `UnsupportedError` for other rules.
    """
    valid = one.raw["valid"]
    found: dict[str, Any] = {}
    for rule, said in (valid if isinstance(valid, dict) else {"eq": valid}).items():
        if rule not in ("eq", "min", "max", "any-of", "in-enum", "expr"):
            raise UnsupportedError(f"`valid: {rule}` is not supported", one.where)
        found[rule] = said if rule == "in-enum" else [*map(ex.parse, said)] if rule == "any-of" else ex.parse(said)
    return found


def ending(one: Field) -> tuple[int, int, int]:
    """The terminator of a field, and how many bytes of it belong to the value and are passed.

    Raises `UnsupportedError` for a terminator within a size.
    """
    if one.size is not None or one.to_end:
        raise UnsupportedError("a size and a terminator together are not supported", one.where)
    mark = int(one.raw.get("terminator", 0))
    return mark, 1 if one.raw.get("include") else 0, 0 if one.raw.get("consume") is False else 1


def encoding_of(one: Field) -> str:
    """The encoding of a string; raises `UnsupportedError`."""
    encoding = one.raw.get("encoding") or one.owner.encoding
    if encoding is None:
        raise UnsupportedError("text has no encoding", one.where)
    return str(encoding)


@functools.cache
def covers(one: Field) -> tuple[str, ...]:
    """The sibling fields that a checksum covers, in their order; none where the specification cannot state it.

    Raises `UnsupportedError` for a field that is not a sibling.
    """
    said = one.raw.get("-covers", ())
    found = (said,) if isinstance(said, str) else tuple(said)
    for id in found:
        if id not in [other.id for other in one.owner.seq if not isinstance(other.one, Bits)]:
            raise UnsupportedError(f"`-covers` names {id}, which is not a field of bytes next to it", one.where)
    return found


_FLOATS = {4: "f", 8: "d"}


def unpacked(kind: Integer | Plain, data: bytes) -> Any:
    """A number as it is stored."""
    if isinstance(kind, Integer):
        return int.from_bytes(data, "big" if kind.big else "little", signed=kind.signed)
    return struct.unpack((">" if kind.big else "<") + _FLOATS[kind.size], data)[0]


def packed(kind: Integer | Plain, value: Any) -> bytes:
    """The bytes of a number; raises `OverflowError` for one that they cannot hold."""
    if isinstance(kind, Integer):
        return int(value).to_bytes(kind.size, "big" if kind.big else "little", signed=kind.signed)
    return struct.pack((">" if kind.big else "<") + _FLOATS[kind.size], value)


def shifted(run: list[Field]) -> Iterator[tuple[Field, int, int]]:
    """Fields of bits with how far each is shifted in the number that their bytes are, and their widths."""
    widths = [one.one.width for one in run if isinstance(one.one, Bits)]
    size, used = -(-sum(widths) // 8) * 8, 0
    for one, width in zip(run, widths, strict=True):
        yield one, size - used - width if isinstance(one.one, Bits) and one.one.big else used, width
        used += width
