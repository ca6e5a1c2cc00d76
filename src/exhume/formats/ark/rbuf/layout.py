"""Reads the framing of rbuf through its specification: headers of objects and groups, what is counted, and GUIDs.

A group is a block of fields that were added to an object type later; an object's header has a flag for groups after its
fields.  A variant is a value of one of several types, with the index of its type.  The modules of `exhume_ksy` are
generated from ark_rbuf.ksy: `facts` has offsets and sizes, `fast` the readers.

The specification covers the framing only: the fields of an object are in the registry of its log, from which `compiler`
makes the readers.

Spec: rbuf wire format.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from exhume_ksy.facts.ark_rbuf import Count, VariantHeader
from exhume_ksy.facts.ark_rbuf import GroupHeader as GroupFacts
from exhume_ksy.facts.ark_rbuf import Guid as GuidFacts
from exhume_ksy.facts.ark_rbuf import ObjectHeader as ObjectFacts
from exhume_ksy.fast._layout import LayoutError
from exhume_ksy.fast.ark_rbuf import (
    Guid,
    ObjectHeader,
    flat_group_header,
    flat_variant_header,
    read_byte_buffer,
    read_count,
    read_object_header,
    read_text,
)

from exhume.formats.ark.names import is_guid

if TYPE_CHECKING:
    import uuid

__all__ = [
    "Guid",
    "LayoutError",
    "flat_group_header",
    "flat_variant_header",
    "is_object",
    "read_byte_buffer",
    "read_count",
    "read_text",
]


def _object_headers() -> dict[int, ObjectHeader]:
    """Return the headers of all valid first bytes of an object."""
    found = {}
    for byte in range(256):
        try:
            found[byte], _ = read_object_header(bytes((byte,)), 0, 1)
        except LayoutError:
            continue
    return found


OBJECTS: Final = _object_headers()
"""The bytes that open an object, as the generated reader reads them: every object has one, and there are no others."""

HEADERS: Final = tuple(byte for byte, header in OBJECTS.items() if not header.reserved)
"""Those without the reserved bit, in order: an object without groups, and one with groups."""
HEADER, HEADER_WITH_GROUPS = HEADERS
GROUPED: Final = frozenset(byte for byte, header in OBJECTS.items() if header.groups_follow)
"""The headers whose fields are followed by groups."""

GROUP_LAST: Final = GroupFacts.magic << GroupFacts.shift.magic
"""The first byte of the header of an object's last group."""
GROUP_MORE: Final = 1 << GroupFacts.shift.has_more
"""The flag in it that says that another group follows."""
# Sizes in bytes.
GROUP_HEADER_SIZE: Final = GroupFacts.size
VARIANT_HEADER_SIZE: Final = VariantHeader.size
COUNT_SIZE: Final = Count.size
GUID_SIZE: Final = GuidFacts.size

# Functions that return the bytes of a count, and of the index and the size that precede the object of a variant.
pack_count: Final[Callable[..., bytes]] = struct.Struct(Count.packed).pack
pack_variant_header: Final[Callable[..., bytes]] = struct.Struct(VariantHeader.packed).pack


def is_object(head: int) -> bool:
    """Whether a byte carries the mark of an object header, whatever its other bits."""
    return head >> ObjectFacts.shift.magic == ObjectFacts.magic


NIL = "00000000-0000-0000-0000-000000000000"
"""The GUID that stands for none."""
_HALF: Final = GUID_SIZE // 2
_LAST: Final = _HALF - 1
"""Index of the last byte of the first half: a GUID is stored as two little-endian numbers, so each half is reversed."""


def guid_text(raw: bytes) -> str:
    """The lower-case 8-4-4-4-12 text of 16 wire bytes."""
    return _dashed((raw[_LAST::-1] + raw[:_LAST:-1]).hex())


def guid_of(raw: Guid) -> str:
    """The text of a GUID as the generated reader reads it."""
    return _dashed(f"{raw.high:016x}{raw.low:016x}")


def _dashed(digits: str) -> str:
    """32 hexadecimal digits with the hyphens of a GUID."""
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def guid_bytes(guid: str | uuid.UUID) -> bytes:
    """The 16 wire bytes of a GUID, given as text (in either case) or as a `uuid.UUID`.

    Raises `ValueError` for other text.
    """
    if isinstance(guid, str) and is_guid(guid):
        raw = bytes.fromhex(guid.replace("-", ""))
    else:
        import uuid

        if not isinstance(guid, uuid.UUID):
            raise ValueError(f"not a GUID: {guid!r}")
        raw = guid.bytes
    return raw[_LAST::-1] + raw[:_LAST:-1]


def new_guid() -> str:
    """A random (version 4) GUID."""
    import uuid

    return str(uuid.uuid4())
