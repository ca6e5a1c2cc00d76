"""What every byte of a database directory is for.

Spec: LevelDB doc/table_format.md, doc/log_format.md, doc/impl.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from exhume.errors import FormatError
from exhume.findings import Check, Finding
from exhume.formats.leveldb import checks, layout
from exhume.formats.leveldb.blocks import codec_name
from exhume.formats.leveldb.database import Database
from exhume.formats.leveldb.log import LogReader, fragment_check
from exhume.formats.leveldb.model import Footer
from exhume.formats.leveldb.table import Table
from exhume.formats.leveldb.wire import Handle
from exhume.io.source import Source
from exhume.layout.sections import Section, SectionKind, SectionMap

if TYPE_CHECKING:
    from exhume.layout.schema import Field

_MANY = frozenset({"data", "index-part", "filter-part"})
"""Kinds of blocks that a table has several of, told apart by their offsets."""

_FRAMED = frozenset({"leveldb_block", "leveldb_data_block"})
"""Schemas of blocks of entries with restart points, in whose keys and values no byte is without a field."""

AHEAD = 1 << 16
"""Bytes of a local table that are read at a time to learn how its next blocks are stored."""

RowCheck = Callable[[Table, Handle, Sequence["Field"]], Check]
"""Computes a checksum that stands in a row of a data block: the table, the block, the fields around it."""


def map_sections(database: Database, rows: str = "leveldb_data_block", check: RowCheck | None = None) -> SectionMap:
    """One section per log, manifest and small file, with its records nested in it; tables are mapped block by block.

    `rows` is the schema of data blocks, for databases whose values have a layout of their own, and `check` computes the
    checksums in it.
    """
    files: list[tuple[Source, list[Section]]] = []
    for file in database.files:
        if file.size is None:
            continue
        source = database.source(file.name)
        if file.kind == "table":
            sections = table_sections(database.table(file), rows, check)
        elif file.kind in ("log", "manifest"):
            sections = _log_sections(source, file.kind, database)
        else:
            note = "the manifest's name and a newline" if file.kind == "current" else "not part of the data"
            sections = [Section(file.name, source.span(0, source.size), SectionKind.STRUCTURE, note=note)]
        files.append((source, sections))
    return SectionMap(files)


def _log_sections(source: Source, kind: str, database: Database) -> list[Section]:
    whole = Section(
        source.name,
        source.span(0, source.size),
        SectionKind.STRUCTURE,
        schema="leveldb_manifest" if kind == "manifest" else "leveldb_log",
        check=lambda chain: fragment_check(source, chain[-1].span),
    )
    payload = "leveldb_version_edit" if kind == "manifest" else "leveldb_write_batch"
    out = [whole]
    found: list[Finding] = []
    read: set[int] = set()
    for record in LogReader(source, checks.collector(found.append), database.limits):
        span = source.span(record.offset - source.origin, record.end - source.origin)
        read.update(fragment.offset for fragment in record.fragments)
        name = f"{source.name}/record@{record.offset}"
        data = record.payload
        out.append(
            Section(
                name,
                span,
                codec="fragments",
                payload_schema=payload,
                payload_size=len(data),
                load=_constant(data),
                parent=source.name,
            )
        )
    for finding in found:
        if finding.span is not None and finding.span.start not in read:
            read.add(finding.span.start)
            name = f"{source.name}/unread@{finding.span.start}"
            out.append(Section(name, finding.span, SectionKind.UNREAD, note=finding.message, parent=source.name))
    return out


def _constant(data: bytes) -> Callable[[], bytes]:
    return lambda: data


def table_sections(table: Table, rows: str = "leveldb_data_block", check: RowCheck | None = None) -> list[Section]:
    """The blocks with their trailers, and the footer.  A table without a readable footer is one unread span."""
    source = table.source
    footer = table.footer_or_none()
    if footer is None:
        return [Section(source.name, source.span(0, source.size), SectionKind.UNREAD, note="no table footer")]
    out: list[Section] = []
    seen: set[Handle] = set()
    room = footer.offset - source.origin
    ahead, window, begin = 1 if source.is_remote else AHEAD, b"", 0
    for name, handle, schema in _blocks(table, footer, rows):
        end = handle.offset + handle.size
        if handle in seen or end + layout.BLOCK_TRAILER > room:
            continue
        seen.add(handle)
        if not begin <= end < begin + len(window):
            window, begin = source.read_up_to(end, ahead), end
        codec = codec_name(window[end - begin])
        out += _block_sections(table, name, handle, codec, schema, check if name == "data" else None)
    start = footer.offset - source.origin
    span = source.span(start, start + footer.size)
    out.append(
        Section(
            f"{source.name}/footer",
            span,
            SectionKind.STRUCTURE,
            schema="leveldb_footer",
            check=lambda _: table.check_sealed_footer(),
        )
    )
    return out


def _blocks(table: Table, footer: Footer, rows: str) -> list[tuple[str, Handle, str]]:
    """The kind of each block that the footer, the metaindex and the index name, where it lies, and its schema."""
    handles: list[tuple[str, Handle, str]] = [("metaindex", footer.metaindex, "leveldb_block")]
    for name, handle in table.metaindex(checks.ignore).items():
        schema = ""
        if name == "rocksdb.properties":
            schema = "leveldb_properties"
        elif name.startswith("filter."):
            schema = "leveldb_filter" if footer.family == "leveldb" else ""
        elif name == "rocksdb.range_del":
            schema = "leveldb_data_block"
        if name != "rocksdb.index":
            handles.append((name, handle, schema))
    if footer.index_handle is not None:
        handles.append(("index", footer.index_handle, _index_schema(table)))
    elif (index := table.metaindex(checks.ignore).get("rocksdb.index")) is not None:
        handles.append(("index", index, _index_schema(table)))
    for name, handle in table.partitions():
        handles.append((name, handle, _index_schema(table) if name == "index-part" else ""))
    handles += [("data", handle, rows) for _, handle in table.index(checks.ignore)]
    return handles


def _index_schema(table: Table) -> str:
    facts = table.properties(checks.ignore) if table.footer and table.footer.family == "rocksdb" else {}
    return "leveldb_index_delta" if facts.get("rocksdb.index.value.is.delta.encoded") == b"\1" else "leveldb_block"


def _block_sections(
    table: Table, name: str, handle: Handle, codec: str, schema: str, check: RowCheck | None = None
) -> list[Section]:
    source = table.source
    end = handle.offset + handle.size
    label = f"{source.name}/{name}@{source.origin + handle.offset}" if name in _MANY else f"{source.name}/{name}"
    stored = codec == "none"

    def load() -> bytes:
        block = table.read_block(handle, checks.strict)
        if block is None:
            raise FormatError("the block cannot be read", span=source.span(handle.offset, end))
        return block.data

    def fills() -> bool:
        return layout.fills_block(source.read_at(handle.offset, handle.size))

    contents = Section(
        label, source.span(handle.offset, end), SectionKind.DATA if name == "data" else SectionKind.STRUCTURE, codec,
        schema=(schema or None) if stored else None, payload_schema=None if stored else schema or None, load=load,
        check=partial(check, table, handle) if check is not None else None,
        claims=fills if stored and schema in _FRAMED else None,
        note="" if schema else "a kind of block that no schema describes",
    )  # fmt: skip
    trailer = source.span(end, end + layout.BLOCK_TRAILER)
    checksum = Section(
        f"{label}/trailer", trailer, SectionKind.CHECKSUM, schema="leveldb_table::block_trailer",
        check=lambda _: table.check_block(handle),
    )  # fmt: skip
    return [contents, checksum]
