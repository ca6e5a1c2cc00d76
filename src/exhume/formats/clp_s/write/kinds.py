"""What an input is, determined by its content: JSON, a plain-text log, or a stream of a CLP logger."""

from __future__ import annotations

import enum
import json
from collections.abc import Iterator
from itertools import chain
from typing import Final

from exhume.errors import WriterError
from exhume.formats.clp_s.write.textlog import text_log
from exhume.formats.kv_ir.ingest import is_kv_ir

LOOKED_AT: Final = 1 << 16
"""Bytes of an input after which its kind is decided."""

_CONTROL: Final = bytes({*range(0x20), 0x7F} - set(b"\t\n\v\f\r\b\x1b"))
_SHOWN: Final = 16
"""Bytes of an input that a message shows."""
_RARE: Final = 50
"""One byte in so many may be a control byte in text."""


class InputKind(enum.Enum):
    """What the content of an input is; the values are those of `--input`."""

    AUTO = "auto"
    """Determined by the content."""
    TEXT = "text"
    JSON = "json"
    IR = "ir"
    """A stream of a CLP logger: KV-IR."""


KINDS: Final = tuple(kind.value for kind in InputKind)


def recognize(head: bytes, kind: InputKind, *, final: bool) -> InputKind | None:
    """The kind of an input that begins with these (decompressed) bytes; None while more are needed to decide.

    A stream of a logger has its magic number.  JSON begins with a brace, or with a line that is a JSON value; an input
    of nothing but white space is JSON without a record.  Everything else is text, if few of its bytes are control
    bytes or a line begins with a timestamp.  A `kind` that is given is not checked.

    Raises `WriterError` for what seems to be none of them.
    """
    if kind is not InputKind.AUTO:
        return kind
    if (found := is_kv_ir(head)) is not False:
        if found:
            return InputKind.IR
        if not final:
            return None
    final = final or len(head) >= LOOKED_AT
    text = head.lstrip(b" \t\r\n")
    if not text:
        return InputKind.JSON if final else None
    if text[:1] == b"{":
        return InputKind.JSON
    line, newline, _ = text.partition(b"\n")
    if not newline and not final:
        return None
    if (line[:1] == b"[" and text[1:].lstrip(b" \t\r\n")[:1] in (b"{", b"[")) or _is_value(line):
        return InputKind.JSON
    looked_at = head[: LOOKED_AT >> 4]
    too_many = len(looked_at) - len(looked_at.translate(None, _CONTROL)) > len(looked_at) // _RARE
    if too_many and text_log().last(looked_at) < 0:
        raise WriterError(
            "neither JSON nor text nor a stream of a CLP logger: it has control bytes",
            expected="text; the input kind `text` stores any bytes",
            actual=head[:_SHOWN],
            format="clp-s",
        )
    return InputKind.TEXT


def _is_value(line: bytes) -> bool:
    """Whether a line is one JSON value."""
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def recognized(pieces: Iterator[bytes], kind: InputKind) -> tuple[InputKind, Iterator[bytes]]:
    """The kind of an input, and its pieces.  Raises what `recognize` raises, and what reading a piece does."""
    head = b""
    while (found := recognize(head, kind, final=False)) is None:
        piece = next(pieces, b"")
        if not piece:
            found = recognize(head, kind, final=True)
            break
        head += piece
    assert found is not None
    return found, chain([head] if head else [], pieces)
