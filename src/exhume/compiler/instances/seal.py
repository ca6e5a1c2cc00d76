"""Puts right checksums into an instance, wherever its specification says which bytes they are over."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Mapping

from exhume.compiler.front.kinds import Integer
from exhume.compiler.front.model import Type
from exhume.compiler.instances.constraints import packed
from exhume.compiler.instances.draw import Drawn, NoneDrawnError
from exhume.compiler.instances.tree import BrokenError, Sum
from exhume.compiler.instances.walk import Walk
from exhume.compiler.refusal import UnsupportedError

Checksums = Mapping[str, Callable[[bytes], int | bytes]]
"""Algorithms by the names that `-checksum` uses: a number if the checksum is stored as one, else its stored bytes."""

KNOWN: Checksums = {
    "CRC-32": zlib.crc32,
    "Adler-32": zlib.adler32,
    "MD5": lambda data: hashlib.md5(data, usedforsecurity=False).digest(),
    "SHA-1": lambda data: hashlib.sha1(data, usedforsecurity=False).digest(),
    "SHA-256": lambda data: hashlib.sha256(data).digest(),
}
"""Those of the standard library."""

ROUNDS = 8
"""Passes over all checksums; one may be in the data that another covers."""


def seal(type: Type, drawn: Drawn, checksums: Checksums) -> Drawn:
    """The instance with right checksums.

    Raises `NoneDrawnError` when what must be there breaks a rule, and `UnsupportedError` for an unknown algorithm.
    """
    for _ in range(ROUNDS):
        data = bytearray(drawn.data)
        for one in drawn.sums:
            data[one.start : one.stop] = stored(one, bytes(data), checksums)
        if data == drawn.data:
            return drawn
        check = Walk(bytes(data))
        try:
            check.whole(type, list(drawn.arguments))
        except BrokenError:
            break
        drawn = Drawn(check.data, drawn.arguments, check.rules, check.sums)
    raise NoneDrawnError(type.where)


def stored(one: Sum, data: bytes, checksums: Checksums) -> bytes:
    """A checksum over what `data` holds, as it is stored.

    Raises `UnsupportedError` for an algorithm that is not known, or of another size.
    """
    name = str(one.field.raw.get("-checksum"))
    if name not in checksums:
        raise UnsupportedError(f"nothing computes the checksum {name}", one.field.where)
    value = checksums[name](one.covered(data))
    if isinstance(value, bytes):
        found = value
    elif isinstance(one.field.one, Integer):
        found = packed(one.field.one, value)
    else:
        found = value.to_bytes(one.stop - one.start, "big" if one.field.owner.endian == "be" else "little")
    if len(found) != one.stop - one.start:
        raise UnsupportedError(f"the checksum {name} takes {len(found)} byte{'s' * (len(found) != 1)}", one.field.where)
    return found
