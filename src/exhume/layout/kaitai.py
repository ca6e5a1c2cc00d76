"""From a window of bytes to a generated object; Kaitai's many exceptions become ours, with absolute offsets."""

from __future__ import annotations

import struct
import zlib
from typing import Any, BinaryIO, TypeVar

import kaitaistruct
from kaitaistruct import BytesIO, KaitaiStream, KaitaiStruct

from exhume.counts import counted
from exhume.errors import ExhumeError, Span, StructureError, TruncatedError, shorten

T = TypeVar("T", bound=KaitaiStruct)

FAILURES = (
    kaitaistruct.KaitaiStructError,
    UnicodeDecodeError,
    RecursionError,
    AttributeError,
    OverflowError,
    EOFError,
    OSError,
    ValueError,
    IndexError,
    TypeError,
    struct.error,
    zlib.error,
    MemoryError,
)
"""Everything that generated code has been seen to raise on hostile input; it is caught here and nowhere else."""


def parse(cls: type[T], data: bytes | memoryview | BinaryIO, where: Span, *args: Any) -> T:
    """Parses `data`, which is at `where`, with the generated class `cls` (`args`: the schema's parameters).

    Raises `TruncatedError` when the bytes end too early and `StructureError` for every other way to fail; both carry
    the absolute offset and the ksy path of the field.
    """
    raw = BytesIO(bytes(data)) if isinstance(data, (bytes, bytearray, memoryview)) else data
    stream = KaitaiStream(raw)
    try:
        parsed: T = cls(*args, stream)
    except FAILURES as error:
        raise translate(error, stream, where) from error
    return parsed


def touch(value: Any, name: str, stream: Any, where: Span) -> Any:
    """Read the lazy instance `name` of a parsed object; raise the same errors as `parse`."""
    try:
        return getattr(value, name)
    except FAILURES as error:
        raise translate(error, stream, where, name) from error


def translate(error: BaseException, stream: Any, where: Span, field: str | None = None) -> ExhumeError:
    """Our exception for one of `FAILURES`."""
    if isinstance(error, ExhumeError):
        return error
    at = _position(stream)
    here = where.sub(min(at, max(0, _room(where))), _room(where)) if at is not None else where
    path = getattr(error, "src_path", None) or field
    if isinstance(error, kaitaistruct.EndOfStreamError | EOFError):
        needed = getattr(error, "bytes_needed", None)
        available = getattr(error, "bytes_available", None)
        return TruncatedError(
            "the data ends in the middle of a structure",
            span=here,
            field_path=path,
            expected=counted(needed, "bytes") if needed is not None else None,
            actual=counted(available, "bytes") if available is not None else None,
        )
    if isinstance(error, kaitaistruct.ValidationFailedError):
        return StructureError(
            "a value breaks the layout",
            span=here,
            field_path=path,
            expected=getattr(error, "expected", None),
            actual=_plain(getattr(error, "actual", None)),
        )
    if isinstance(error, RecursionError):
        return StructureError("structures nest too deeply", span=here, field_path=path)
    if isinstance(error, MemoryError):
        return StructureError("a size or count is impossible", span=here, field_path=path)
    return StructureError("the layout does not fit", span=here, field_path=path, actual=shorten(error))


def _plain(actual: Any) -> Any:
    """A value that a specification refuses; for a small structure (a variable-length integer), the value it encodes."""
    return getattr(actual, "value", None) if isinstance(actual, KaitaiStruct) else actual


def _position(stream: Any) -> int | None:
    try:
        return int(stream.pos())
    except (OSError, ValueError, AttributeError):
        return None


def _room(where: Span) -> int:
    return where.payload[1] - where.payload[0] if where.payload is not None else where.size
