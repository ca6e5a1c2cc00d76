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


def chunk_messages(data: bytes) -> list[Any]:
    """The messages of a chunk record.  Raises what the library raises for a damaged one."""
    records = library("records")
    chunk = records.Chunk.read(library("data_stream").ReadDataStream(io.BytesIO(data)))
    return [found for found in library("stream_reader").breakup_chunk(chunk) if isinstance(found, records.Message)]
