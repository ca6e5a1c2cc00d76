"""The parts of an open file that its statistics, map of sections and table use, and its output; for type checkers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

from exhume.formats.zs.blocks import BlockFile
from exhume.formats.zs.layout import Header
from exhume.formats.zs.search import Index
from exhume.io.source import Source
from exhume.limits import Limits

T = TypeVar("T")


class OpenFile(Protocol):
    """An open file; see `reader.ZsArchive`."""

    source: Source
    limits: Limits
    header: Header
    metadata: dict[str, Any]
    file: BlockFile
    index: Index

    def map_values(
        self,
        function: Callable[[bytes | memoryview, bytes], T],
        start: bytes | None = None,
        stop: bytes | None = None,
        prefix: bytes | None = None,
        *,
        jobs: int = 1,
    ) -> Iterator[T]:
        """The results of `function` for the payload of each data block in range."""


class ByteSink(Protocol):
    """The methods that `ZsArchive.dump` needs of its output."""

    def write(self, data: bytes | memoryview, /) -> Any: ...
