"""Framing of records in a stream outside of a ZS file: terminated, or preceded by their length.

Inside the file, the payload of a data block is records, each preceded by its length as uleb128 (7 bits per byte, the
lowest first).  Functions of the kernel for payloads: `take_records` returns the end of the record that reaches a number
of bytes (else of the last whole record; 0 if there is none), `split_records` the records, and `scan_records` their
number and the places of the first and the last.
"""

from __future__ import annotations

import abc
import struct
from collections.abc import Iterator

from exhume.counts import counted
from exhume.errors import WriterError
from exhume.native.kernel import (
    MalformedRecordsError,
    build_uleb128,
    frame_records,
    frame_terminated,
    scan_records,
    split_records,
    take_records,
    terminate_records,
)

LENGTH_PREFIXES = ("uleb128", "u64le")
"""Names of the kinds of lengths before records; u64le: eight bytes, least significant first."""

SPLIT_SIZE = 1 << 20
"""Payload bytes that are split into record objects at a time."""

LARGE_PAYLOAD = 8 << 20
"""Bytes of a payload above which its large records are passed on in place."""


def split_in_parts(payload: memoryview) -> Iterator[list[bytes]]:
    """Yield the records of a payload, a bounded number at a time (small records take more memory as objects than as
    bytes).

    Raises `MalformedRecordsError`.
    """
    base = 0
    while base < len(payload):
        rest = payload[base:]
        try:
            end = take_records(rest, SPLIT_SIZE) or len(rest)  # not even one whole record: the split raises the error
            part = split_records(rest[:end])
        except MalformedRecordsError as error:
            raise MalformedRecordsError(error.reason, base + error.offset, error.length) from None
        yield part
        base += end


_U64 = struct.Struct("<Q")


class Framing(abc.ABC):
    """One way to delimit records.  A payload is the content of a ZS data block: uleb128 lengths and contents."""

    @abc.abstractmethod
    def unframe(self, payload: memoryview) -> bytes | memoryview:
        """Return the records of a payload in this framing.  Raises `MalformedRecordsError`."""

    @abc.abstractmethod
    def around(self, size: int) -> tuple[bytes, bytes]:
        """Return the bytes before and after a record of that size."""

    def unframe_parts(self, payload: memoryview) -> Iterator[bytes | memoryview]:
        """Yield a payload in this framing, in parts; large records are not copied. Raises `MalformedRecordsError`."""
        if len(payload) <= LARGE_PAYLOAD:
            yield self.unframe(payload)
            return
        scan_records(payload)  # so that nothing is written of a malformed one
        while len(payload):
            # Whole records up to the first that passes `SPLIT_SIZE`; so only the last can be large.
            part = payload[: take_records(payload, SPLIT_SIZE)]
            payload = payload[len(part) :]
            start, stop = scan_records(part).last
            if stop - start <= SPLIT_SIZE:
                yield self.unframe(part)
                continue
            yield self.unframe(part[: start - len(build_uleb128(stop - start))])
            before, after = self.around(stop - start)
            yield from (before, part[start:stop], after)

    @abc.abstractmethod
    def take(self, data: bytes | bytearray, budget: int) -> tuple[bytes, int]:
        """Return a payload of the whole records at the start of `data`, and how many bytes of `data` they take.

        The latter is 0 if there is no whole record.
        Where records are preceded by their length, the payload ends with the record that reaches `budget` bytes.
        Raises `MalformedRecordsError` with an offset in `data`.
        """

    @abc.abstractmethod
    def rest_error(self, rest: bytes) -> WriterError:
        """Return the error for input that ends with `rest`, which is not a complete record."""


class Terminated(Framing):
    """Each record is followed by the same bytes."""

    def __init__(self, terminator: bytes) -> None:
        if not terminator:
            raise WriterError("the terminator is empty")
        self.terminator = terminator

    def unframe(self, payload: memoryview) -> bytes:
        return terminate_records(payload, self.terminator)

    def around(self, size: int) -> tuple[bytes, bytes]:
        return b"", self.terminator

    def take(self, data: bytes | bytearray, budget: int) -> tuple[bytes, int]:
        return frame_terminated(data, self.terminator)

    def rest_error(self, rest: bytes) -> WriterError:
        """Return the error for bytes after the last terminator."""
        return WriterError(
            "the last record does not end with the terminator",
            expected=self.terminator,
            actual=rest[-40:],
        )


class PrefixedUleb128(Framing):
    """Each record is preceded by its length as a shortest-form uleb128, as in ZS itself."""

    def unframe(self, payload: memoryview) -> memoryview:
        """Return the payload unchanged: this framing is that of payloads."""
        if take_records(payload, len(payload)) != len(payload):  # the form is that of the payload: only check it
            split_records(payload)  # raises, with the offset
        return payload

    def around(self, size: int) -> tuple[bytes, bytes]:
        return build_uleb128(size), b""

    def take(self, data: bytes | bytearray, budget: int) -> tuple[bytes, int]:
        """Return the complete records at the start of the data, and how many bytes they take."""
        end = take_records(data, budget)
        return bytes(memoryview(data)[:end]), end

    def rest_error(self, rest: bytes) -> WriterError:
        return WriterError("the input ends inside a record", actual=f"{counted(len(rest), 'bytes')} left over")


class PrefixedU64(Framing):
    """Each record is preceded by its length as eight bytes, least significant first.

    Only input and output have this form: archives never contain records in this form, so no specification describes it.
    """

    def unframe(self, payload: memoryview) -> bytes:
        """Return the records of a payload, each preceded by its size in eight bytes."""
        parts: list[bytes] = []
        for record in split_records(payload):
            parts += (_U64.pack(len(record)), record)
        return b"".join(parts)

    def around(self, size: int) -> tuple[bytes, bytes]:
        return _U64.pack(size), b""

    def take(self, data: bytes | bytearray, budget: int) -> tuple[bytes, int]:
        """Return the complete records in `data` in ZS framing, up to `budget` bytes, and how many bytes they take."""
        records: list[bytes] = []
        view, at, size = memoryview(data), 0, len(data)
        while at + 8 <= size and at < budget:
            end = at + 8 + int.from_bytes(data[at : at + 8], "little")
            if end > size:
                break
            records.append(bytes(view[at + 8 : end]))
            at = end
        return frame_records(records), at

    def rest_error(self, rest: bytes) -> WriterError:
        return WriterError("the input ends inside a record", actual=f"{counted(len(rest), 'bytes')} left over")


def framing(terminator: bytes = b"\n", length_prefixed: str | None = None) -> Framing:
    """Return the framing that a terminator or a kind of length prefix selects; raises `WriterError` for both."""
    if length_prefixed is None:
        return Terminated(terminator)
    if terminator != b"\n":
        raise WriterError("terminator and length_prefixed exclude each other", actual=terminator)
    if length_prefixed == "uleb128":
        return PrefixedUleb128()
    if length_prefixed == "u64le":
        return PrefixedU64()
    raise WriterError("unknown length prefix", expected=" or ".join(LENGTH_PREFIXES), actual=length_prefixed)
