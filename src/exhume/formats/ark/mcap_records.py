"""The records of MCAP files in memory, which the official `mcap` library (extra `mcap`) reads.

Spec: none of ours; https://mcap.dev/spec.
"""

from __future__ import annotations

import importlib
import io
import struct
from typing import Any

from exhume.errors import MissingDependencyError


def library(name: str) -> Any:
    """A module of the library.  Raises `MissingDependencyError` without it."""
    try:
        return importlib.import_module(f"mcap.{name}")
    except ImportError as error:
        raise MissingDependencyError("MCAP needs the extra `mcap`: pip install 'exhume[mcap]'") from error


def unreadable() -> tuple[type[Exception], ...]:
    """What the library raises for a file that is damaged."""
    return library("exceptions").McapError, struct.error, EOFError, ValueError, KeyError


_U8, _U16, _U32, _U64 = (struct.Struct(form).unpack_from for form in ("<B", "<H", "<I", "<Q"))


class ContentStream:
    """The content of a chunk in memory, in the way in which the library's records read from a stream.

    The library's own stream reads from a file object and counts, twice the work for records as small as messages.
    Raises `struct.error` and `EOFError` at the end, as that one does.
    """

    __slots__ = ("count", "data")

    def __init__(self, data: bytes) -> None:
        self.data, self.count = data, 0

    def read(self, length: int) -> bytes:
        """The next bytes, as many as there are.  Raises `EOFError` where there are none."""
        start = self.count
        self.count = end = start + length
        if length < 0 or (length and start >= len(self.data)):
            raise EOFError
        return self.data[start:end]

    def read1(self) -> int:
        at = self.count
        self.count = at + 1
        return _U8(self.data, at)[0]  # type: ignore[no-any-return]

    def read2(self) -> int:
        at = self.count
        self.count = at + 2
        return _U16(self.data, at)[0]  # type: ignore[no-any-return]

    def read4(self) -> int:
        at = self.count
        self.count = at + 4
        return _U32(self.data, at)[0]  # type: ignore[no-any-return]

    def read8(self) -> int:
        at = self.count
        self.count = at + 8
        return _U64(self.data, at)[0]  # type: ignore[no-any-return]

    def read_prefixed_string(self) -> str:
        return str(self.read(self.read4()), "utf-8")


def chunk_messages(data: bytes) -> list[Any]:
    """The messages of a chunk record.  Raises what the library raises for a damaged one."""
    records, streams, opcodes = library("records"), library("stream_reader"), library("opcode").Opcode
    chunk = records.Chunk.read(library("data_stream").ReadDataStream(io.BytesIO(data)))
    whole, length = streams.get_chunk_data_stream(chunk)
    stream = ContentStream(whole.read(length))
    read1, read8 = stream.read1, stream.read8
    read, message = records.Message.read, int(opcodes.MESSAGE)
    others = {int(opcodes.CHANNEL): records.Channel.read, int(opcodes.SCHEMA): records.Schema.read}
    found = []
    while stream.count < length:
        opcode, size = read1(), read8()
        if opcode == message:
            found.append(read(stream, size))
        elif opcode in others:
            others[opcode](stream)
        else:
            stream.read(size)
    return found
