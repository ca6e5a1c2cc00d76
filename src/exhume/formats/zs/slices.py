"""The parts of data blocks that hold records in range: whole payloads, or those of large blocks in chunks.

Spec: zs.txt, "Key invariants".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from exhume.codecs.passing import Forward
from exhume.formats.zs import checks
from exhume.formats.zs.large import LargeBlock, Portion
from exhume.formats.zs.layout import RawBlock
from exhume.formats.zs.search import Bounds
from exhume.native.kernel import build_uleb128, find_range, scan_records


class Slice(NamedTuple):
    """The part `[low, high)` of a data block's payload, or of a part of it, that holds records in range.

    A long record of a large block is read from `record`, once, instead.
    """

    block: RawBlock | LargeBlock
    payload: bytes
    low: int
    high: int
    base: int = 0
    """Where `payload` starts in that of the block, or the long record, with its length."""
    before: int = 0
    """Records of the block before that."""
    record: Forward | None = None
    size: int = 0
    """Bytes of the long record."""

    @property
    def view(self) -> memoryview:
        """The bytes of that part.  Raises ZS-501 for a long record above the limit `payload_size`."""
        if self.record is None:
            return memoryview(self.payload)[self.low : self.high]
        return self.content(build_uleb128(self.size))

    def content(self, lead: bytes = b"") -> memoryview:
        """The long record, after some other bytes.  Raises ZS-501 above the limit `payload_size`."""
        assert isinstance(self.block, LargeBlock)
        assert self.record is not None
        if self.size > self.block.file.limits.payload_size:
            raise self.block.too_large(self.size)
        room = memoryview(bytearray(len(lead) + self.size))
        room[: len(lead)] = lead
        at = len(lead)
        for piece in self.record.pieces(self.size):
            room[at : at + len(piece)] = piece
            at += len(piece)
        return room


class Found(NamedTuple):
    """A data block that may hold records in range; its payload if it was in the cache, `whole` or only its start."""

    block: RawBlock | LargeBlock
    payload: bytes | None = None
    whole: bool = True
    remember: bool = False


def large_slices(block: LargeBlock, bounds: Bounds, *, validate: bool) -> Iterator[Slice | None]:
    """The slices of a large block that hold records in range; None last if the range ends there.

    With `validate`, nothing is given of a block with damaged content.  Raises ZS-202, ZS-309, ZS-311, ZS-312 and what
    decompressing raises.
    """
    block.check()
    if validate:
        for _ in block.portions():
            pass
    before = 0
    portion: Portion | None = None
    for portion in block.portions():
        if portion.record is None:
            low, high = find_range(portion.data, bounds.low, bounds.high)
            count, size = scan_records(portion.data).records, len(portion.data)
            if low < high:
                yield Slice(block, portion.data, low, high, portion.start, before)
            if high < size:
                yield None
                return
            before += count
        else:
            record, size = portion.record, portion.size
            if bounds.high is not None and _head(record, size, bounds.high) >= bounds.high:
                yield None
                return
            if bounds.low is None or _head(record, size, bounds.low) >= bounds.low:
                start = portion.start - len(build_uleb128(size))
                yield Slice(block, b"", 0, 0, start, before, record, size)
            before += 1
    if portion is None:
        raise checks.DATA_EMPTY.error(span=block.span)


def _head(record: Forward, size: int, bound: bytes) -> bytes:
    """The beginning of a record, as long as a bound that it is compared with."""
    most = min(size, len(bound))
    return record.peek(most)[:most]
