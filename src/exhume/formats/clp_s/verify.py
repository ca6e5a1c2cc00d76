"""The walk that checks every section of an archive and every reference between them.

Spec: clp_s.txt; the rules are in `checks`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from exhume.archive import Progress
from exhume.codecs import zstd
from exhume.counts import counted
from exhume.errors import ExhumeError, Span
from exhume.findings import Finding
from exhume.formats.clp_s import checks, layout
from exhume.formats.clp_s.layout import (
    COLUMN_TYPES,
    DICTIONARY_HEAD,
    HEADER_FIELDS,
    NodeType,
    PacketType,
    TimestampEncoding,
)
from exhume.formats.clp_s.names import DICTIONARIES, KNOWN_VERSIONS, SECTION_NAMES, TABLE_SECTIONS
from exhume.io.parallel import map_ordered

if TYPE_CHECKING:
    from exhume.formats.clp_s.read.kernel import ClpsStrings
    from exhume.formats.clp_s.read.places import Place
    from exhume.formats.clp_s.read.tables import Table, TableData
    from exhume.formats.clp_s.reader import ClpSArchive


RAW_TYPES: Mapping[int, tuple[int, ...]] = {
    TimestampEncoding.EPOCH: (NodeType.INTEGER, NodeType.DATE_STRING),
    TimestampEncoding.DOUBLE_EPOCH: (NodeType.FLOAT, NodeType.FORMATTED_FLOAT),
}
"""Node types whose values are epochs as they are, by the encoding of their range."""


def verify(archive: ClpSArchive, quick: bool, jobs: int, progress: Progress) -> Iterator[Finding]:
    """Every broken rule, in file order as far as possible; see `Archive.verify`."""
    yield from _header(archive)
    try:
        archive.metadata_payload  # noqa: B018 - reads it
        yield from _metadata(archive)
        files = archive.files
    except ExhumeError as error:
        yield Finding.from_error(error)
        return
    for name in SECTION_NAMES:
        try:
            archive.file_entry(name)
        except ExhumeError as error:
            yield Finding.from_error(error)
    for entry in files:
        if entry.name not in archive.section_problems and not entry.is_cut:
            yield from _frames(archive, entry)
    yield from _structures(archive)
    if not quick:
        yield from _dictionaries(archive)
    yield from _tables(archive, quick, jobs, progress)
    yield from _ranges(archive)


def _header(archive: ClpSArchive) -> Iterator[Finding]:
    header, source = archive.header, archive.head
    if header.version not in KNOWN_VERSIONS:
        yield checks.UNKNOWN_VERSION.finding(
            span=source.span(*HEADER_FIELDS.version), field_path="header.version", actual=header.version_text
        )
    if any(header.reserved):
        at = HEADER_FIELDS
        name, (start, end) = next(
            (name, place) for name, place in (("reserved1", at.reserved1), ("reserved2", at.reserved2))
            if any(source.read_at(place[0], place[1] - place[0]))
        )  # fmt: skip
        yield checks.RESERVED_NOT_ZERO.finding(span=source.span(start, end), field_path=f"header.{name}")
    if archive.cut is not None:
        yield archive.cut
    elif archive.end < source.size:
        yield checks.TRAILING_BYTES.finding(
            span=source.span(archive.end, source.size),
            field_path="header.len_archive",
            expected=counted(archive.end, "bytes"),
            actual=counted(source.size, "bytes"),
        )


def _metadata(archive: ClpSArchive) -> Iterator[Finding]:
    data = archive.metadata_payload
    span = archive.metadata_span.in_payload(0, len(data))
    yield from _frames(archive, archive.metadata_place)
    _, end = layout.parse_packets(data, span)
    if end < len(data):
        yield checks.TRAILING_PAYLOAD.finding("metadata", span=span.sub(end, len(data)))
    try:
        dictionary = archive.timestamp_dictionary
        for problem in archive.patterns.problems.values():
            yield Finding.from_error(problem)
        nodes = len(archive.schema_tree)
        for found in dictionary.ranges:
            for node in found.column_ids:
                if not 0 <= node < nodes:
                    yield checks.BAD_TIMESTAMP_NODE.finding(
                        span=dictionary.span, expected=f"0 to {nodes - 1}", actual=node
                    )
    except ExhumeError as error:
        yield Finding.from_error(error)


def _frames(archive: ClpSArchive, place: Place) -> Iterator[Finding]:
    """Whether the zstd frames of a section end where the section does."""
    name = place.name
    if name in TABLE_SECTIONS or (name != "metadata" and name not in SECTION_NAMES):
        return  # streams are checked one by one; nothing is known about other sections
    if name in DICTIONARIES:
        place = place.part(DICTIONARY_HEAD)
    if place.size <= 0:
        return
    stored = place.read()
    last = 0
    try:
        for _, stop, _ in zstd.zstd_frames(stored, max_size=archive.limits.payload_size):
            last = stop
    except ExhumeError as error:
        if last:
            yield checks.TRAILING_PAYLOAD.finding(f"{name}: not a zstd frame", span=place.part(last).span)
        else:
            yield checks.BAD_FRAME.finding(f"{name}: {error.message}", span=place.span, actual=error.actual)


def _structures(archive: ClpSArchive) -> Iterator[Finding]:
    """Schema tree, schema map, table metadata: parsed to their end."""
    for check in (_schema_tree, _schema_map, _table_metadata):
        try:
            yield from check(archive)
        except ExhumeError as error:
            yield Finding.from_error(error)


def _schema_tree(archive: ClpSArchive) -> Iterator[Finding]:
    data, span = archive.structure("/schema_tree")
    tree, end = layout.parse_schema_tree(data, span)
    if end < len(data):
        yield checks.TRAILING_PAYLOAD.finding("/schema_tree", span=span.sub(end, len(data)))
    for position in tree.repeated:
        yield checks.REPEATED_NODE.finding(span=span, field_path=f"nodes[{position}]")
    for node, node_type in enumerate(tree.types):
        if node_type not in NodeType.__members__.values() or node_type == NodeType.UNKNOWN:
            yield checks.UNKNOWN_NODE_TYPE.finding(span=span, field_path=f"nodes[{node}].type", actual=node_type)
    for node, key in enumerate(tree.keys):
        if not _is_utf8(key):
            yield checks.NOT_UTF8.finding("key", span=span, field_path=f"nodes[{node}].key", actual=key)
            break
    if tree.object_root is None:
        yield checks.NO_ROOT.finding(span=span)
    yield from _hidden(archive)


def _schema_map(archive: ClpSArchive) -> Iterator[Finding]:
    data, span = archive.structure("/schema_ids")
    schemas, repeated, end = layout.parse_schema_map(data, span)
    if end < len(data):
        yield checks.TRAILING_PAYLOAD.finding("/schema_ids", span=span.sub(end, len(data)))
    for schema_id in repeated:
        yield checks.REPEATED_SCHEMA.finding(span=span, actual=schema_id)
    for schema in schemas.values():
        try:
            archive.schema_layout(schema)
        except ExhumeError as error:
            yield Finding.from_error(error)


def _table_metadata(archive: ClpSArchive) -> Iterator[Finding]:
    data, span = archive.structure("/table_metadata")
    _, end = layout.parse_table_metadata(data, span)
    if end < len(data):
        yield checks.TRAILING_PAYLOAD.finding("/table_metadata", span=span.sub(end, len(data)))


def _hidden(archive: ClpSArchive) -> Iterator[Finding]:
    tree = archive.schema_tree
    for node in tree.children[layout.ROOT]:
        if node == tree.object_root or tree.types[node] == NodeType.METADATA:
            continue
        if tree.types[node] in COLUMN_TYPES or tree.children[node]:
            yield checks.HIDDEN_DATA.finding(
                span=archive.section_span("/schema_tree"), field_path=f"nodes[{node}]", actual=tree.keys[node]
            )


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _dictionaries(archive: ClpSArchive) -> Iterator[Finding]:
    for name in DICTIONARIES:
        try:
            entry = archive.file_entry(name)
            found: ClpsStrings = archive.dictionary(name)
        except ExhumeError as error:
            yield Finding.from_error(error)
            continue
        span, body = entry.span, entry.part(DICTIONARY_HEAD)
        payload = archive.inflate(body, archive.limits.payload_size) if body.size else b""
        if found.end < len(payload):
            where = span.sub(DICTIONARY_HEAD, span.size).in_payload(found.end, len(payload))
            yield checks.TRAILING_PAYLOAD.finding(name, span=where, actual=counted(len(payload) - found.end, "bytes"))
        seen: set[bytes] = set()
        for index, text in enumerate(found):
            if text in seen:
                yield checks.REPEATED_ENTRY.finding(name, span=span, field_path=f"entries[{index}]", actual=text)
                break
            seen.add(text)
        for index, text in enumerate(found):
            if not text.isascii() and not _is_utf8(text):
                yield checks.NOT_UTF8.finding(name, span=span, field_path=f"entries[{index}]", actual=text)
                break


def _tables(archive: ClpSArchive, quick: bool, jobs: int, progress: Progress) -> Iterator[Finding]:
    try:
        tables = archive.tables
    except ExhumeError:
        return  # reported with the structures
    if not tables:
        yield checks.NO_TABLES.finding(span=archive.section_span("/table_metadata"))
    previous = 0
    for table in tables:
        if table.entry.stream_id < previous and table.entry.problem is None:
            yield checks.STREAM_ORDER.finding(
                span=archive.section_span("/table_metadata"), field_path=f"tables[{table.index}].stream_id"
            )
        previous = max(previous, table.entry.stream_id)
    yield from _streams(archive, quick)
    total = archive.num_messages
    done = 0
    for table, findings in zip(tables, map_ordered(lambda t: _table(t, quick), tables, jobs), strict=True):
        yield from findings
        done += table.num_messages
        progress(done, total, "records")


def _streams(archive: ClpSArchive, quick: bool) -> Iterator[Finding]:
    """Streams follow each other without gaps, and each is one or more whole frames of the stated size."""
    streams = archive.table_metadata.streams
    for index, stream in enumerate(streams):
        try:
            place = archive.stream_place(index)
            span = place.span
            if index == 0 and stream.offset:
                yield checks.BAD_STREAM_OFFSET.finding(
                    "stream 0 does not start the section", span=span, expected=0, actual=stream.offset
                )
            if quick or place.is_cut or not place.size:
                continue
            stored = place.read()
        except ExhumeError as error:
            yield Finding.from_error(error)
            continue
        last, size = 0, 0
        try:
            for _, stop, part in zstd.zstd_frames(stored, max_size=archive.limits.payload_size):
                last = stop
                size += len(part)
        except ExhumeError as error:
            if last:
                yield checks.TRAILING_PAYLOAD.finding(
                    f"stream {index}: not a zstd frame", span=span.sub(last, span.size)
                )
            else:
                yield checks.BAD_FRAME.finding(f"stream {index}: {error.message}", span=span, actual=error.actual)
                continue
        if size != stream.size:
            yield checks.BAD_STREAM_SIZE.finding(
                f"stream {index}", span=span, expected=counted(stream.size, "bytes"), actual=counted(size, "bytes")
            )


def _table(table: Table, quick: bool) -> list[Finding]:
    """Structure and every reference of one table."""
    findings: list[Finding] = []
    try:
        if quick:
            if table.entry.problem is not None:
                raise table.entry.problem
            table.layout  # noqa: B018 - works it out
            return findings
        data = table.load()
        findings += faults(data)
        findings += _bounds(data)
    except ExhumeError as error:
        findings.append(Finding.from_error(error))
    return findings


def faults(data: TableData) -> Iterator[Finding]:
    """What is wrong in the columns of a table, whatever the metadata packets say about it."""
    yield from map(Finding.from_error, data.iter_faults())
    idx = data.log_event_idx
    if idx is not None:
        for row in range(1, len(idx)):
            if idx[row] <= idx[row - 1]:
                yield checks.LOG_ORDER.finding(f"row {row}", span=data.table.span, actual=idx[row])
                return


def _bounds(data: TableData) -> Iterator[Finding]:
    """Whether the timestamps of a table lie within the range that the timestamp dictionary records for their node.

    The unit of the bounds is milliseconds from 0.5.0 on and that of the values before.
    """
    archive = data.table.archive
    for found in archive.timestamp_ranges:
        for column in data.columns:
            if column.node not in found.column_ids or not column.rows or column.spec.unordered:
                continue
            low: float
            high: float
            if column.type == NodeType.TIMESTAMP and found.encoding == TimestampEncoding.EPOCH:
                low, high = min(column.values) // 1_000_000, -(-max(column.values) // 1_000_000)
            elif column.type in RAW_TYPES.get(found.encoding, ()):
                low, high = min(column.values), max(column.values)
            else:
                continue
            if found.begin is None or found.end is None or low < found.begin or high > found.end:
                yield checks.TIMESTAMP_BOUNDS.finding(
                    f"table {data.table.index}",
                    span=column.span,
                    expected=f"{found.begin} to {found.end}",
                    actual=f"{low} to {high}",
                )


def _ranges(archive: ClpSArchive) -> Iterator[Finding]:
    """Range index: order, overlap and bounds against the number of records."""
    try:
        ranges = archive.range_index
        total = archive.num_messages
        found = archive.packets_of(PacketType.RANGE_INDEX)
    except ExhumeError as error:
        yield Finding.from_error(error)
        return
    if not found:
        return
    span: Span = found[0].span
    at = 0
    for index, entry in enumerate(ranges):
        if entry.start < at:
            yield checks.RANGE_ORDER.finding(
                span=span, field_path=f"ranges[{index}]", expected=f"from {at} on", actual=entry.start
            )
        elif entry.start > at:
            yield checks.RANGE_COVERAGE.finding(
                "records between ranges", span=span, field_path=f"ranges[{index}]", expected=at, actual=entry.start
            )
        at = max(at, entry.end)
    if at != total:
        yield checks.RANGE_COVERAGE.finding(
            span=span, expected=counted(total, "records"), actual=counted(at, "records")
        )
