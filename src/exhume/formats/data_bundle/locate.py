"""Shards inside raw bytes (carving), and which files found there belong to one bundle.

A shard is a file of a bundle: a header, then records, each compressed and padded to a multiple of the alignment.  It
does not state its length: its end is estimated, never claimed to be exact.
"""

from __future__ import annotations

from exhume.codecs import decompress_prefix
from exhume.counts import counted
from exhume.errors import ExhumeError, LimitExceededError
from exhume.formats.data_bundle import checks
from exhume.formats.data_bundle.index import parse_config
from exhume.formats.data_bundle.layout import CONFIG_KEY
from exhume.formats.data_bundle.messages import Compression, ShardHeader, align, compression_name
from exhume.formats.data_bundle.names import INDEX, shard_name
from exhume.formats.data_bundle.shard import read_header
from exhume.io.source import Source
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.recovery import ArchivePiece, CarvedArchive, CarveVerdict, VerifiedBy

_MOST = 64 << 20
"""Most bytes that are read for one record."""
_STEP = 1 << 20
"""Fewest bytes that are read for one record, as sizes in a header may be wrong."""
_GROWTH = 4
"""A stored record is assumed to be at most this many times as large as its content."""

_MOST_PLAUSIBLE = 1 << 24
"""Largest plausible number of shards, and size of a header in bytes: far above real ones."""

_SPAN = _MOST << 4
"""The end of a shard is searched for within this many bytes of its start."""


def locate(source: Source, hit: int, *, limits: Limits = DEFAULT_LIMITS, jobs: int = 1) -> CarvedArchive | None:
    """The shard that starts at `hit`: header, then record after record as long as they decompress.

    The verdict is `partial`, because the index that names its files is elsewhere.  Raises `LimitExceededError` for a
    header that a limit keeps from being read, and `UnsupportedFeatureError` for an unknown codec.
    """
    window = source.window(hit, source.size)
    try:
        header = read_header(window, limits)
    except LimitExceededError:
        raise
    except ExhumeError:
        return None
    # The magic number is short, so the values of the header have to make sense.
    plausible = (
        0 < header.shard_count <= _MOST_PLAUSIBLE
        and header.shard_index < header.shard_count
        and header.compression != Compression.UNKNOWN
        and header.data_offset <= min(window.size, _MOST_PLAUSIBLE)
    )
    if not plausible:
        return None
    if header.compression not in tuple(Compression):
        raise checks.COMPRESSION.error(span=window.span(0, header.data_offset), actual=header.compression)
    end = header.data_offset if header.compression == Compression.NONE else _records_end(window, header)
    has_records = end > header.data_offset
    proof = VerifiedBy.STRUCTURE if has_records else VerifiedBy.NONE
    confidence = 0.9 if has_records else 0.6  # without a record, only a header was seen
    return CarvedArchive(
        "databundle", window.span(0, min(end, window.size)), CarveVerdict.PARTIAL, confidence, verified_by=proof
    )


def _records_end(window: Source, header: ShardHeader) -> int:
    """Return the end of the records of a shard in sequence, as long as they decompress, within `_SPAN` bytes."""
    start, alignment = header.data_offset, max(1, header.record_alignment)
    bound = max(_GROWTH * (header.record_size or 1), _STEP)
    end = start
    while end < window.size and end - start < _SPAN:
        data = window.read_up_to(end, min(bound, _MOST))
        try:
            decoded = decompress_prefix(compression_name(header.compression), data, max_size=max(header.record_size, 1))
        except ExhumeError:
            break
        if not decoded.data:
            break
        end = align(end + decoded.consumed, alignment)
    return end


def piece(source: Source, format: str, *, limits: Limits = DEFAULT_LIMITS) -> ArchivePiece | None:
    """Return how a carved file (of this `format`) fits into a bundle: as a shard, or as a table of the index.

    None if it is neither.  Neither names its bundle: those with the same record size and codec are taken to belong
    together.  Propagates errors from reading it.
    """
    if format == "databundle":
        header = read_header(source, limits)
        return _piece(
            f"shard {header.shard_index}", shard_name(header.shard_index), header.record_size, header.compression
        )
    if format != "leveldb":
        return None
    from exhume.formats.leveldb.reader import LevelDbArchive

    value = LevelDbArchive(source, limits=limits).database.get(CONFIG_KEY)
    if value is None:
        return None
    config = parse_config(value, source.span(0, source.size))
    path = f"{INDEX}/{ArchivePiece.ANY}.sst"  # a table does not state its number
    return _piece(f"table at {source.origin}", path, config.record_size, config.compression)


def _piece(what: str, path: str, record_size: int, compression: int) -> ArchivePiece:
    """Return the description of a file `what`, which belongs at `path` in its bundle."""
    kind = f"bundle with records of {counted(record_size, 'bytes')}, {compression_name(compression)}"
    return ArchivePiece(
        what, frozenset({kind}), path, kind, "record size and codec agree: a shard does not name its bundle"
    )
