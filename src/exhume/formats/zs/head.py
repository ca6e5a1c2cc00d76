"""The part before the first block: magic number, header, metadata and its conventions; names of kinds of blocks.

The metadata is a JSON object in the header; `build-info` and `record-format` are usual keys of it.

Spec: zs.txt, "Magic number", "Header".
"""

from __future__ import annotations

import getpass
import json
import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from exhume import __version__
from exhume.archive import Info
from exhume.codecs.checksums import crc64_xz
from exhume.counts import counted
from exhume.errors import ExhumeError, Span, WriterError
from exhume.formats.zs import checks
from exhume.formats.zs.blocks import BlockFile
from exhume.formats.zs.layout import (
    FILE_LENGTH_AT,
    HEADER_LENGTH_AT,
    MAGIC_AT,
    MAX_INDEX_LEVEL,
    Header,
    parse_checksum,
    parse_header,
)
from exhume.formats.zs.layout_facts import CRC, FIXED_HEADER, INCOMPLETE_MAGIC, MAGIC, PREAMBLE, parse_preamble
from exhume.io.source import Source
from exhume.limits import Limits
from exhume.tuples import NamedTuple

FIRST_READ = 8192
"""Bytes read at opening: enough for nearly every header, and for small files as a whole."""


def kind_of(level: int) -> str:
    """The name of the kind of a block of that level."""
    return "data" if level == 0 else "index" if level <= MAX_INDEX_LEVEL else "extension"


class Head(NamedTuple):
    """Magic number, header and the bytes read with them; `problems` are those of the head itself, in file order."""

    magic: bytes
    header: Header | None
    metadata: dict[str, Any] | None
    repeated_keys: list[str]  # keys that the metadata has more than once
    data: bytes  # the first bytes of the file, at least to the end of the head
    problems: list[ExhumeError]
    blocks_offset: int | None  # where the first block starts; None if the length of the header makes no sense
    metadata_span: Span | None


def _magic_problem(source: Source, magic: bytes) -> Iterator[ExhumeError]:
    """Yield the error of a magic number that is not that of a complete ZS file."""
    if magic == INCOMPLETE_MAGIC:
        yield checks.INCOMPLETE.error(span=source.span(*MAGIC_AT))
    elif magic != MAGIC:
        yield checks.NOT_ZS.error(span=source.span(0, min(MAGIC_AT[1], source.size)), expected=MAGIC, actual=magic)


def _checksum_problem(source: Source, header: bytes, stored: int, end: int) -> Iterator[ExhumeError]:
    """Yield the error of a header whose checksum, which ends at `end`, is not the stored one."""
    computed = crc64_xz(header)
    if stored != computed:
        yield checks.HEADER_CRC.error(
            span=source.span(HEADER_LENGTH_AT[0], end), expected=f"0x{stored:016x}", actual=f"0x{computed:016x}"
        )


def read_head(source: Source, limits: Limits) -> Head:
    """Read and check everything before the first block, in one request for headers up to 8 KiB."""
    data = source.read_up_to(0, FIRST_READ)
    problems: list[ExhumeError] = []
    magic = data[slice(*MAGIC_AT)]
    problems += _magic_problem(source, magic)

    def broken(blocks_offset: int | None = None) -> Head:
        """Return the result for a header that cannot be parsed."""
        return Head(magic, None, None, [], data, problems, blocks_offset, None)

    # The size of the header, which has to fit in the file.
    if len(data) < PREAMBLE.size:
        problems.append(checks.HEADER_CUT.error(span=source.span(0, source.size), actual=counted(source.size, "bytes")))
        return broken()
    _, size = parse_preamble(data)
    start = PREAMBLE.size
    end = start + size
    if end + CRC.size > source.size:
        where = source.span(HEADER_LENGTH_AT[0], source.size)
        problems.append(
            checks.HEADER_CUT.error(span=where, expected=counted(end + CRC.size, "bytes"), actual=source.size)
        )
        return broken()
    limits.check("structure_size", size, source.span(*HEADER_LENGTH_AT))  # raises above the limit
    if end + CRC.size > len(data):
        data += source.read_at(len(data), end + CRC.size - len(data))
    raw = data[start:end]
    problems += _checksum_problem(source, raw, parse_checksum(data, end), end + CRC.size)
    try:
        header = parse_header(raw, source.span(start, end))
    except ExhumeError as error:
        problems.append(error)
        return broken(end + CRC.size)
    # Codec and file size.
    file = BlockFile(source, header, limits)
    if file.decoder is None:
        problems.append(file.codec_error())
    if header.file_size != source.size:
        problems.append(
            checks.FILE_LENGTH.error(span=source.span(*FILE_LENGTH_AT), expected=header.file_size, actual=source.size)
        )
    # The metadata.
    metadata: dict[str, Any] | None = None
    twice: list[str] = []
    at = start + FIXED_HEADER.size  # the metadata follows the fields of fixed size
    metadata_span = source.span(at, at + len(header.metadata))
    try:
        metadata, twice = checks.parse_metadata(header.metadata, metadata_span)
    except ExhumeError as error:
        problems.append(error)
    return Head(magic, header, metadata, twice, data, problems, header.blocks_offset, metadata_span)


@dataclass(frozen=True, slots=True)
class ZsInfo(Info):
    """Result of `ZsArchive.info`: the header, and the level of the root index block (None if it cannot be read)."""

    header: Header
    metadata: dict[str, Any]
    root_level: int | None

    def to_dict(self) -> dict[str, Any]:
        header = self.header
        return {
            "root_index_offset": header.root_offset,
            "root_index_length": header.root_size,
            "total_file_length": header.file_size,
            "codec": header.codec,
            "data_sha256": header.data_sha256.hex(),
            "header_extension_bytes": len(header.extensions),
            "metadata": self.metadata,
            "statistics": {"root_index_level": self.root_level},
        }


BUILD_INFO = "build-info"
"""Key of the metadata: who made the file, see `build_info`."""

RECORD_FORMAT = "record-format"
"""Key of the metadata: how records are split into fields, see `separated_values`."""


def build_info() -> dict[str, str]:
    """Return who made a file, where, when and with what: `user`, `host`, `time` (UTC, ISO 8601 with "Z"), `version`."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError, ImportError):  # by Python version and system, if the user has no name
        user = "unknown"
    time = datetime.now(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
    return {"user": user, "host": platform.node() or "unknown", "time": time, "version": f"exhume {__version__}"}


def separated_values(columns: Mapping[str, str], separator: str = "\t") -> dict[str, Any]:
    """Return the value of `record-format` for records of separated fields; `columns` maps names to types (`utf8`,
    `int`)."""
    return {
        "type": "separated-values",
        "separator": separator,
        "column-names": list(columns),
        "column-types": list(columns.values()),
    }


def encode_metadata(metadata: Mapping[str, Any], *, default_metadata: bool) -> bytes:
    """Return the JSON bytes for the header; `default_metadata` adds `build-info` if the caller gave none.

    Raises `WriterError` for values that JSON cannot represent.
    """
    if not isinstance(metadata, Mapping):
        raise WriterError("the metadata must be a JSON object", actual=type(metadata).__name__)
    whole = dict(metadata)
    if default_metadata and BUILD_INFO not in whole:
        whole[BUILD_INFO] = build_info()
    try:
        return json.dumps(whole, allow_nan=False).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        raise WriterError(f"the metadata cannot be written as JSON: {error}") from error


def parse_metadata_text(text: str) -> dict[str, Any]:
    """Parse a JSON object.  Raises `WriterError` for anything else."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise WriterError(f"metadata is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise WriterError("the metadata must be a JSON object", actual=type(value).__name__)
    return value
