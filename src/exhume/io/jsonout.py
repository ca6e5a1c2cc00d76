"""JSON that other programs can rely on: integers beyond 2^53 as text, bytes as text plus exact base64.

Many programs read numbers as doubles, which are exact up to 2^53.  A long value is printed in chunks ("pieces"), and
not held as text as a whole.
"""

from __future__ import annotations

import binascii
import codecs
import json
import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from exhume.io.values import LargeValue

SAFE_INTEGER = 1 << 53
"""Integers up to this one, and down to its negative, are exact as doubles."""

PIECE = 3 << 18
"""Bytes or characters of a long value that become text at a time; a multiple of 3, so that base64 can be joined."""


def jsonable(value: Any) -> Any:
    """A value in a form that JSON carries exactly.

    Integers beyond 2^53 become decimal text; bytes become `{"text": …}` with `"base64"` where the text is not exact;
    NaN and infinities become text.
    """
    plain = _PLAIN.get(type(value))
    if plain is not None:
        return plain(value)
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return _integer(int(value))
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes_value(bytes(value))
    if isinstance(value, LargeValue):
        return bytes_value(value.whole())
    if isinstance(value, Mapping):
        return _mapping(value)
    if hasattr(value, "to_dict"):  # before tuples: some are NamedTuples
        return jsonable(value.to_dict())
    if isinstance(value, (list, tuple, set, frozenset)):
        return [jsonable(item) for item in value]
    return str(value)


def bytes_value(raw: bytes) -> dict[str, str]:
    """Bytes as text, with the exact base64 in addition where the text alone would lose something."""
    try:
        return {"text": raw.decode("utf-8")}
    except UnicodeDecodeError:
        exact = binascii.b2a_base64(raw, newline=False).decode("ascii")
        return {"text": raw.decode("utf-8", "replace"), "base64": exact}


def _integer(value: int) -> int | str:
    """An integer, as decimal text if it is not exact as a double."""
    return value if -SAFE_INTEGER <= value <= SAFE_INTEGER else str(value)


def _mapping(value: Mapping[Any, Any]) -> dict[str, Any]:
    """A mapping with its values in a form that JSON carries."""
    return {str(key): jsonable(item) for key, item in value.items()}


# The types of nearly all values, so that they are found by one lookup.
_PLAIN: dict[type, Callable[[Any], Any]] = {
    str: str,
    int: _integer,
    bytes: bytes_value,
    dict: _mapping,
    bool: bool,
}


def dump_bytes(raw: bytes) -> str:
    """Return the text of `dumps` for bytes, without the dictionary that `dumps` would make first: it is called for
    millions of rows.
    """
    try:
        return f'{{"text":{_quoted(raw.decode("utf-8"))}}}'
    except UnicodeDecodeError:
        return dumps(raw)


_quoted = json.encoder.encode_basestring_ascii  # a string as JSON, in quotes
dump_text: Callable[[str], str] = _quoted
"""The text of `dumps` for a string, in less time."""

# Made once: `json.dumps` would make an encoder for each text.
_on_a_line = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


def dumps(value: Any, *, pretty: bool = False) -> str:
    """One JSON text (a single line unless `pretty`); lone surrogates survive as escapes."""
    plain = jsonable(value)
    if pretty:
        return json.dumps(plain, ensure_ascii=True, allow_nan=False, indent=2)
    return _on_a_line(plain)


def dump_pieces(value: Any) -> Iterator[str]:
    """The text of `dumps` in chunks: several if the value contains long bytes or strings.

    A byte may become six characters: a long value is never held as text as a whole.
    """
    # A container is taken apart only if something in it is long.
    if not _is_long(value):
        yield dumps(value)
    elif isinstance(value, Mapping):
        lead = "{"
        for key, item in value.items():
            yield f"{lead}{json.dumps(str(key))}:"
            yield from dump_pieces(item)
            lead = ","
        yield "}"
    elif isinstance(value, (list, tuple)):
        lead = "["
        for item in value:
            yield lead
            yield from dump_pieces(item)
            lead = ","
        yield "]"
    elif isinstance(value, str):
        yield '"'
        for at in range(0, len(value), PIECE):
            yield json.dumps(value[at : at + PIECE])[1:-1]  # without the quotes
        yield '"'
    elif isinstance(value, LongText):
        yield '"'
        for text in value.pieces():
            yield json.dumps(text)[1:-1]
        yield '"'
    elif isinstance(value, LargeValue):
        yield from large_pieces(value)
    else:
        yield from _bytes_pieces(partial(_parts, memoryview(value).cast("B")))


def _parts(raw: memoryview, size: int) -> Iterator[memoryview]:
    """Yield bytes in memory in blocks of `size`; `partial(_parts, raw)` is the `Blocks` of a value."""
    return (raw[at : at + size] for at in range(0, len(raw), size))


class LongText:
    """A string for `dump_pieces` that is in memory as UTF-8 only, not as decoded text."""

    def __init__(self, raw: memoryview) -> None:
        """`raw` is the UTF-8."""
        self.raw = raw

    def pieces(self, errors: str = "strict") -> Iterator[str]:
        """The text in chunks.  Raises `UnicodeDecodeError`, as `errors` says."""
        return _decoded(partial(_parts, self.raw), errors)


def _is_long(value: Any) -> bool:
    """Return whether a value is, or contains, a string or byte string that should be printed in chunks."""
    if isinstance(value, LongText) or (isinstance(value, LargeValue) and not value.fits):
        return True
    if isinstance(value, (str, bytes, bytearray, memoryview, LargeValue)):
        return len(value) > PIECE
    if isinstance(value, Mapping):
        return any(map(_is_long, value.values()))
    # A named tuple with `to_dict` is printed as that dictionary, at once.
    return isinstance(value, (list, tuple)) and not hasattr(value, "to_dict") and any(map(_is_long, value))


Blocks = Callable[[int], Iterator[bytes | memoryview]]
"""Yields the bytes of a value in blocks of a size."""


def large_pieces(value: LargeValue, gap: str = "") -> Iterator[str]:
    """The text of `bytes_value` in chunks, with `gap` after each comma and colon."""
    return _bytes_pieces(value.blocks, gap)


def _bytes_pieces(raw: Blocks, gap: str = "") -> Iterator[str]:
    """Bytes as a JSON object in chunks: `{"text": "..."}`, with `"base64"` too if they are not valid UTF-8.

    They are read twice, or three times: to see whether they are valid, and for each form.  `gap` follows each comma and
    colon.
    """
    try:
        for _ in _decoded(raw, "strict"):
            pass
        exact = True
    except UnicodeDecodeError:
        exact = False
    yield f'{{"text":{gap}"'
    for text in _decoded(raw, "replace"):
        yield json.dumps(text)[1:-1]  # without the quotes
    if not exact:
        yield f'",{gap}"base64":{gap}"'
        for piece in raw(PIECE):
            yield binascii.b2a_base64(piece, newline=False).decode("ascii")
    yield '"}'


def _decoded(raw: Blocks, errors: str) -> Iterator[str]:
    """Yield the text of UTF-8 in chunks; `errors` as for `bytes.decode`."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors)
    for piece in raw(PIECE):
        yield decoder.decode(piece)
    yield decoder.decode(b"", True)
