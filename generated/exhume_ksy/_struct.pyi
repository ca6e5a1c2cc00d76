"""What the parsers in this folder have in common, for type checkers.  Written by `make generated`."""

import os
from types import TracebackType
from typing import Any, BinaryIO, Self

class KaitaiStruct:
    _io: Any
    _parent: Any
    _root: Any
    @classmethod
    def from_file(cls, filename: str | os.PathLike[str]) -> Self: ...
    @classmethod
    def from_bytes(cls, buf: bytes) -> Self: ...
    @classmethod
    def from_io(cls, io: BinaryIO) -> Self: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
