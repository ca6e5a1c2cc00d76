"""The purpose of every byte of a bundle: shards record by record, then the files of the index.

A section is a range of a file with a kind, a schema and perhaps a payload.  A shard is a header and records, each
compressed and padded to an alignment; a flat shard stores the content of files as it is.  The index is a LevelDB
database with a row for each file and record.  `measured`: records were decoded, to find where their stored bytes end.

Spec: data_bundle.txt, Index, Shard Files.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from exhume.errors import ExhumeError
from exhume.findings import Check
from exhume.formats.data_bundle.index import FileRow, parse_file_row
from exhume.formats.data_bundle.messages import compression_name
from exhume.formats.data_bundle.shard import Shard, read_header
from exhume.formats.leveldb.sections import RowCheck, file_sections
from exhume.formats.leveldb.table import OFFSET, Table
from exhume.formats.leveldb.wire import Handle
from exhume.io.files import keep_freed_memory
from exhume.io.parallel import map_ordered
from exhume.io.source import Source
from exhume.layout.sections import Section, SectionItem, SectionKind, SectionMap

if TYPE_CHECKING:
    from exhume.formats.data_bundle.bundle import OpenBundle
    from exhume.layout.trees import Field


def map_bundle(archive: OpenBundle, jobs: int = 1, *, measured: bool = True) -> SectionMap:
    """Return the sections of a bundle: headers, records and padding of each shard; logs, manifest and table blocks of
    the index.

    `jobs` threads decompress the records to find their ends (0: one per core); if not `measured`, a record and its
    padding are one section.
    """
    files: list[tuple[Source, Iterable[SectionItem]]] = []
    for number in archive.shard_files():
        source = archive.view.source(number)
        files.append((source, _shard_sections(archive, number, source, jobs, measured)))
    # The checksum in a row of the index is the CRC-32C of a file.
    rows = RowCheck(partial(_file_check, archive), partial(_file_size, archive))
    files += file_sections(archive.database, "data_bundle_index_block", rows, jobs)
    other = set(archive.tree.names()) - {source.name for source, _ in files}
    for name in sorted(other):
        source = archive.tree.source(name)
        span = source.span(0, source.size)
        files.append((source, [Section(name, span, SectionKind.DATA, note="not part of the bundle")]))
    return SectionMap(files)


def _shard_sections(archive: OpenBundle, number: int, source: Source, jobs: int, measured: bool) -> list[Section]:
    """Return the sections of one shard: its header, then its records or its flat data.

    The remainder of a shard that cannot be read is one section `UNREAD`. `measured`: decode each record, to find where
    its stored bytes end.
    """
    whole = source.span(0, source.size)
    name = source.name
    try:
        header = read_header(source, archive.limits)
    except ExhumeError as error:
        return [Section(name, whole, SectionKind.UNREAD, schema="data_bundle_shard", note=str(error))]
    start = header.data_offset
    out = [
        Section(f"{name}/header", source.span(0, start), SectionKind.STRUCTURE, schema="data_bundle_shard"),
    ]
    try:
        shard = archive.view.shard(number)
    except ExhumeError as error:
        rest = source.span(min(start, source.size), source.size)
        return [*out, Section(f"{name}/unread", rest, SectionKind.UNREAD, note=str(error))]
    if shard.is_flat:
        out.append(Section(f"{name}/data", source.span(start, source.size), SectionKind.DATA, codec="none"))
        return [section for section in out if section.span.size]
    if measured:
        keep_freed_memory()
        source.will_read(start, source.size)
    # Records outside the data, or after the next one, have no section: `verify` reports them.
    places = (
        (index, place)
        for index, place in enumerate(shard.places)
        if place is not None and start <= place <= shard.bounds[index]
    )
    for sections in map_ordered(lambda at: _record_sections(shard, *at, measured), places, jobs, leave=True):
        out += sections
    return [section for section in out if section.span.size]


def _record_sections(shard: Shard, index: int, place: int, measured: bool) -> tuple[Section, Section]:
    """Return the sections of a stored record, which starts at `place`, and of the padding after it."""
    name, source, bound = shard.source.name, shard.source, shard.bounds[index]
    size, end = shard.known_length(index), bound
    kind, note = SectionKind.DATA, "" if measured else "with the padding after it"
    try:
        if measured:
            size, end = shard.measure(index)
    except ExhumeError as error:
        size, kind, note = None, SectionKind.UNREAD, str(error)
    record = Section(
        f"{name}/record@{shard.starts[index]}",
        source.span(place, end),
        kind,
        compression_name(shard.header.compression),
        payload_size=size,
        load=partial(shard.record, index),
        pieces=lambda: iter(shard.stream(index)),
        note=note,
    )
    return record, Section(f"{name}/padding@{shard.starts[index]}", source.span(end, bound), SectionKind.PADDING)


def _file_check(archive: OpenBundle, table: Table, handle: Handle, chain: Sequence[Field]) -> Check:
    """The CRC-32C of the file whose row contains a field, computed over the file's bytes in its shard."""
    found = _file_row(archive, table, handle, chain)
    return found if isinstance(found, Check) else archive.view.checked(found)


def _file_size(archive: OpenBundle, table: Table, handle: Handle, chain: Sequence[Field]) -> int:
    """The bytes of the file whose row contains a field; 0 where no checksum is computed."""
    found = _file_row(archive, table, handle, chain)
    return 0 if isinstance(found, Check) else found.meta.size


def _file_row(archive: OpenBundle, table: Table, handle: Handle, chain: Sequence[Field]) -> FileRow | Check:
    """Return the row of a file that contains a field, or why nothing can be compared.

    `chain` are the fields from the top of the block down to this one, the checksum in the row.
    """
    field, block = chain[-1].span, table.read_block(handle)
    assert field is not None
    assert block is not None
    # The entry of the block that contains the field: the last that starts at or before it.  `inverted` is 2^64 - 1
    # minus (sequence << 8 | type).
    at = field.payload[0] if field.payload is not None else field.start - block.span.start
    items, _ = table.block_items(block, 0)
    before = (item for item in items if item[OFFSET] <= at)
    key, inverted, _, _, value, _ = max(before, key=lambda item: item[OFFSET])
    sequence = ((1 << 64) - 1 - inverted) >> 8
    live = next(archive.database.live_versions(key, key + b"\0"), None)
    if live is None or (live.key, live.sequence) != (key, sequence):
        return Check.skipped("the row is not the live one of its key: deleted, replaced, or in a file not in use")
    *_, row_fields, checksum = chain
    later = row_fields.children[row_fields.children.index(checksum) + 1 :]
    if any(one.checksum for one in later):
        return Check.skipped("a later field of the same kind replaces it")
    row = parse_file_row(key, value, block.span)
    if row.meta.is_directory:
        return Check.skipped("a directory has no bytes")
    return row
