"""GUIDs: 16 bytes on the wire, two reversed halves of the text form.

Spec: rbuf wire format, guid.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Final

from exhume.formats.ark.names import is_guid
from exhume.formats.ark.rbuf.layout import GUID_SIZE

if TYPE_CHECKING:
    from exhume.formats.ark.rbuf.layout import Guid

NIL = "00000000-0000-0000-0000-000000000000"


_HALF: Final = GUID_SIZE // 2
_LAST: Final = _HALF - 1


def guid_text(raw: bytes) -> str:
    """The lower-case 8-4-4-4-12 text of 16 wire bytes."""
    return _dashed((raw[_LAST::-1] + raw[:_LAST:-1]).hex())


def guid_of(raw: Guid) -> str:
    """The text of a GUID as the generated reader reads it."""
    return _dashed(f"{raw.high:016x}{raw.low:016x}")


def _dashed(digits: str) -> str:
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def guid_bytes(guid: str | uuid.UUID) -> bytes:
    """The 16 wire bytes of a GUID, given as text (in either case) or as a `uuid.UUID`.

    Raises `ValueError` for other text.
    """
    if isinstance(guid, uuid.UUID):
        raw = guid.bytes
    elif isinstance(guid, str) and is_guid(guid):
        raw = bytes.fromhex(guid.replace("-", ""))
    else:
        raise ValueError(f"not a GUID: {guid!r}")
    return raw[_LAST::-1] + raw[:_LAST:-1]


def new_guid() -> str:
    """A random (version 4) GUID."""
    return str(uuid.uuid4())
