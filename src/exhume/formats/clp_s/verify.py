"""The walk that checks every section of an archive and every reference between them.

It is divided into tasks, which threads do in parallel; stages of tasks follow each other.  A table has the records of
one schema (list of nodes of the schema tree); packed streams are tables that are compressed together.  A window is a
block of rows of a large table, which is checked on its own.

Spec: clp_s.txt; the rules are in `checks`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from exhume.archive import Progress
from exhume.codecs import zstd
from exhume.counts import counted
from exhume.errors import CodecError, ExhumeError
from exhume.findings import Finding
from exhume.formats.clp_s import checks, layout
from exhume.formats.clp_s.layout import (
    COLUMN_TYPES,
    DICTIONARY_HEAD,
    HEADER_FIELDS,
    NodeType,
    PacketType,
)
from exhume.formats.clp_s.names import DICTIONARIES, KNOWN_VERSIONS, SECTION_NAMES, TABLE_SECTIONS
from exhume.formats.clp_s.read.blocks import SharedValue
from exhume.formats.clp_s.read.kernel import ClpsRepeated
from exhume.formats.clp_s.read.places import range_entries
from exhume.formats.clp_s.read.template import SchemaLayout
from exhume.formats.clp_s.verify_tables import (
    SharedLoad,
    Task,
    WindowedCheck,
    check_frames,
    check_stream,
    check_table_list,
    quick_tasks,
    run_tasks,
    table_tasks,
)
from exhume.formats.clp_s.verify_values import small_tables
from exhume.io.activity import note_payload
from exhume.io.parallel import map_ordered
from exhume.limits import cpu_count

if TYPE_CHECKING:
    from exhume.formats.clp_s.read.kernel import ClpsStrings
    from exhume.formats.clp_s.read.places import StoredRange
    from exhume.formats.clp_s.read.tables import Table, TableArchive
    from exhume.formats.clp_s.verify_values import SmallTables


AHEAD = 256
"""Tasks started per thread before the first result is taken; each result is a few findings."""

LARGE_DICTIONARY = 1 << 20
"""Stored bytes from which on the entries of a dictionary are checked in parts."""

DICTIONARY_PARTS = 32
"""Number of parts of such a dictionary: enough for all cores, with a task that is not too short."""


def verify(archive: TableArchive, quick: bool, jobs: int, progress: Progress) -> Iterator[Finding]:
    """Every broken rule, in file order as far as possible; see `Archive.verify`."""
    yield from _header(archive)
    try:
        yield from _metadata(archive)
        files = archive.files
    except ExhumeError as error:
        yield Finding.from_error(error)
        yield from _ranges(archive)  # the range index is in the metadata, and can be read without the sections
        return
    for name in SECTION_NAMES:
        try:
            archive.file_entry(name)
        except ExhumeError as error:
            yield Finding.from_error(error)
    if not quick:
        with suppress(ExhumeError):  # reported with the structures
            # For `exhume map`, which verifies first: the decompressed size of the section.
            note_payload(archive.file_entry("/0").span, sum(stream.size for stream in archive.table_metadata.streams))
    total = 0
    for tasks in _stages(archive, files, quick, jobs):
        for found, records in _map_tasks(tasks, jobs):
            yield from found
            if records:
                total += records
                progress(total, archive.num_messages, "records")
    yield from _ranges(archive)


def _map_tasks(tasks: Iterable[Task], jobs: int) -> Iterator[tuple[list[Finding], int]]:
    """Yield `(findings, number of records)` of each task, in order."""

    def done(task: Task) -> tuple[list[Finding], int]:
        """Do a task, in a thread; return its findings and number of records."""
        return list(task.work()), task.records

    return map_ordered(done, tasks, jobs, ahead=AHEAD * (jobs or cpu_count()))


def _stages(archive: TableArchive, files: Sequence[StoredRange], quick: bool, jobs: int) -> Iterator[Iterable[Task]]:
    """Yield the tasks of each stage; those of one stage can be done in parallel, after all of the stage before."""
    dictionaries = [] if quick else [_Dictionary(archive, name, jobs) for name in DICTIONARIES]
    parts = chain.from_iterable(one.parts() for one in dictionaries)
    shares = chain.from_iterable(one.shares() for one in dictionaries)
    small = SharedValue(partial(small_tables, archive))  # made by the first task that needs it
    try:
        tables = archive.tables
    except ExhumeError:  # reported with the structures
        yield chain(_section_tasks(archive, files, small, quick), parts)
        yield shares
        return
    archive.hint_streams()  # announces to the source that they will be read
    passing = WindowedCheck(archive, () if quick else tables)
    yield chain(passing.openings(), _section_tasks(archive, files, small, quick), parts, passing.tasks())
    table_list = Task(partial(check_table_list, archive, tables))
    yield chain(shares, [table_list], _stream_tasks(archive, tables, passing, small, quick))


def _section_tasks(
    archive: TableArchive, files: Sequence[StoredRange], small: SharedValue[SmallTables | None], quick: bool
) -> Iterator[Task]:
    """Yield the tasks that check the frames of each section, and one that checks the structures in them."""
    for entry in files:
        if entry.name not in archive.section_problems and not entry.is_cut:
            yield Task(partial(_frames, archive, entry, quick))
    yield Task(partial(_structures, archive, small))


def _stream_tasks(
    archive: TableArchive,
    tables: Sequence[Table],
    passing: WindowedCheck,
    small: SharedValue[SmallTables | None],
    quick: bool,
) -> Iterator[Task]:
    """Yield the checks of the streams that the windows of `passing` did not confirm, and of the tables in them."""
    done = passing.done()
    streams = range(len(archive.table_metadata.streams))
    for index in streams:
        if index not in done:
            yield Task(partial(check_stream, archive, index, quick))
    archive.hint_streams()
    known = small.get()
    if known is not None:
        yield from quick_tasks(tables, known) if quick else run_tasks(tables, known, done, passing.tried)
        return
    for table in tables:
        if table.entry.problem is not None or table.entry.stream_id not in done:
            yield from table_tasks(table, quick, counted=table.entry.stream_id not in passing.tried)


def _header(archive: TableArchive) -> Iterator[Finding]:
    """Yield a finding for an unknown version, reserved bytes that are not zero, and a file of the wrong size."""
    header, source = archive.header, archive.head
    if header.version not in KNOWN_VERSIONS:
        yield checks.UNKNOWN_VERSION.finding(
            span=source.span(*HEADER_FIELDS.version), field_path="header.version", actual=header.version_text
        )
    places = {"reserved1": HEADER_FIELDS.reserved1, "reserved2": HEADER_FIELDS.reserved2}
    for (name, place), value in zip(places.items(), header.reserved, strict=True):
        if any(value):
            yield checks.RESERVED_NOT_ZERO.finding(span=source.span(*place), field_path=f"header.{name}")
    if archive.cut is not None:
        yield archive.cut
    elif archive.end < source.size:
        yield checks.TRAILING_BYTES.finding(
            span=source.span(archive.end, source.size),
            field_path="header.len_archive",
            expected=counted(archive.end, "bytes"),
            actual=counted(source.size, "bytes"),
        )


def _metadata(archive: TableArchive) -> Iterator[Finding]:
    """Yield the findings of the metadata section: its frames, its packets, and the timestamp dictionary among them."""
    data = archive.metadata_payload
    span = archive.metadata_span.in_payload(0, len(data))
    yield from _frames(archive, archive.metadata_place)
    _, end = layout.parse_packets(data, span)
    if end < len(data):
        yield checks.TRAILING_PAYLOAD.finding("metadata", span=span.sub(end, len(data)))
    try:
        dictionary = archive.timestamp_dictionary
        for problem in archive.patterns.problems.values():  # of the patterns that cannot be used
            yield Finding.from_error(problem)
        nodes = len(archive.schema_tree)
        for found in dictionary.ranges:
            for node in found.column_ids:
                if not 0 <= node < nodes:
                    yield checks.BAD_TIMESTAMP_NODE.finding(
                        span=dictionary.span, expected=f"0 to {nodes - 1}", actual=node
                    )
            if not _is_utf8(found.key):
                yield checks.NOT_UTF8.finding("timestamp key", span=dictionary.span, actual=found.key)
    except ExhumeError as error:
        yield Finding.from_error(error)


def _frames(archive: TableArchive, place: StoredRange, quick: bool = False) -> Iterator[Finding]:
    """Yield a finding if the zstd frames of a section do not end where it does; keep a dictionary unless `quick`.

    The fast ways (frames that are shared with other checks, or one call that decompresses everything) can only confirm
    a section.  If they do not, `check_frames` finds the fault.  `frames` is None for a section that cannot be
    decompressed frame by frame; it is small if all of it may be in memory at once.
    """
    name = place.name
    if name in TABLE_SECTIONS or (name != "metadata" and name not in SECTION_NAMES):
        return  # streams are checked one by one; nothing is known about other sections
    if name in DICTIONARIES:
        place = place.part(DICTIONARY_HEAD)
    if place.size <= 0:
        return
    if name in DICTIONARIES and not quick:
        archive.dictionary_head(archive.file_entry(name))  # over a network: fetch it together with the rest
    frames = archive.shared_frames(place) if name in DICTIONARIES and not quick else archive.frames(place)
    if frames is not None and frames.is_small:
        with suppress(CodecError):  # reported below
            frames.take()  # decompresses them: the section is sound if that raises nothing
            return
    if frames is None and place.size <= archive.limits.payload_size:
        stored = archive.fetched(place)
        whole = zstd.zstd_whole(stored, max_size=archive.limits.payload_size)
        if whole is not None:
            if name in DICTIONARIES and not quick:
                archive.keep(place, whole)
            return
    yield from check_frames(name, place, archive.limits)


def _structures(archive: TableArchive, small: SharedValue[SmallTables | None]) -> Iterator[Finding]:
    """Yield the findings of schema tree, schema map and table metadata."""
    for check in (_schema_tree, partial(_schema_map, small=small), _table_metadata):
        try:
            yield from check(archive)
        except ExhumeError as error:
            yield Finding.from_error(error)


def _schema_tree(archive: TableArchive) -> Iterator[Finding]:
    """Yield the findings of the schema tree: repeated nodes, unknown types, keys that are not UTF-8, a missing root."""
    data, span = archive.structure("/schema_tree")
    tree, end = layout.parse_schema_tree(data, span)
    if end < len(data):
        yield checks.TRAILING_PAYLOAD.finding("/schema_tree", span=span.sub(end, len(data)))
    for position in tree.repeated:
        yield checks.REPEATED_NODE.finding(span=span, field_path=f"nodes[{position}]")
    # Nodes are examined one by one only if all of them together have a fault.
    unknown = set(tree.types).difference(NodeType) | {NodeType.UNKNOWN}
    for node, node_type in enumerate(tree.types if not unknown.isdisjoint(tree.types) else ()):
        if node_type in unknown:
            yield checks.UNKNOWN_NODE_TYPE.finding(span=span, field_path=f"nodes[{node}].type", actual=node_type)
    for node, key in enumerate(() if _is_utf8(b"\n".join(tree.keys)) else tree.keys):
        if not _is_utf8(key):
            yield checks.NOT_UTF8.finding("key", span=span, field_path=f"nodes[{node}].key", actual=key)
            break
    if tree.object_root is None:
        yield checks.NO_ROOT.finding(span=span)
    yield from _hidden(archive)


def _schema_map(archive: TableArchive, small: SharedValue[SmallTables | None]) -> Iterator[Finding]:
    """Yield the findings of the schema map, and of each schema that does not fit the tree.

    `small` has the schemas checked by the kernel: only those that it reports as unusual are checked again here.
    """
    data, span = archive.structure("/schema_ids")
    schemas, repeated, end = layout.parse_schema_map(data, span)
    if end < len(data):
        yield checks.TRAILING_PAYLOAD.finding("/schema_ids", span=span.sub(end, len(data)))
    for schema_id in repeated:
        yield checks.REPEATED_SCHEMA.finding(span=span, actual=schema_id)
    span_of_schemas = archive.section_span("/schema_ids")
    known = small.get()
    odd = schemas if known is None or repeated else known.odd_schemas()
    # In stored order, for which only a part of the schemas has to be sorted.
    for schema_id in schemas if len(odd) == len(schemas) else sorted(odd, key=schemas.place):
        schema = schemas[schema_id]
        try:
            repeated_runs = SchemaLayout(archive.schema_tree, schema, span_of_schemas).repeated
        except ExhumeError as error:
            yield Finding.from_error(error)
            continue
        for node in sorted(repeated_runs):
            yield checks.REPEATED_RUN.finding(f"schema {schema_id}, node {node}", span=span)


def _table_metadata(archive: TableArchive) -> Iterator[Finding]:
    """Yield a finding for bytes after the table metadata; raises the error if it is invalid."""
    data, span = archive.structure("/table_metadata")
    _, end = layout.parse_table_metadata(data, span)
    if end < len(data):
        yield checks.TRAILING_PAYLOAD.finding("/table_metadata", span=span.sub(end, len(data)))


def _hidden(archive: TableArchive) -> Iterator[Finding]:
    """Yield a finding for each root with values that upstream does not print: it prints one root, the object `""`."""
    tree = archive.schema_tree
    for node in tree.children[layout.ROOT]:
        if node == tree.object_root or tree.types[node] == NodeType.METADATA:
            continue
        if tree.types[node] in COLUMN_TYPES or tree.children[node]:
            yield checks.HIDDEN_DATA.finding(
                span=archive.section_span("/schema_tree"), field_path=f"nodes[{node}]", actual=tree.keys[node]
            )


def _is_utf8(text: bytes) -> bool:
    """Return whether bytes are UTF-8."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _texts(value: Any) -> Iterator[str]:
    """Every text in a MessagePack value, names of properties included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in (*value, *value.values()):
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


class _Dictionary:
    """A dictionary whose entries are checked in two stages: parts (ranges of entries), then shares.

    A part also adds the hashes of its entries to a table; a share searches its part of the hashes for repeated entries,
    when the hashes of all entries are there.
    """

    def __init__(self, archive: TableArchive, name: str, jobs: int) -> None:
        """Prepare to check a dictionary, a large one in parts that run in parallel."""
        self._archive, self._name = archive, name
        self._parts = 1
        with suppress(ExhumeError):  # reported by the first part
            self._parts = DICTIONARY_PARTS if archive.file_entry(name).size >= LARGE_DICTIONARY else 1
        self._shares = min(jobs or cpu_count(), self._parts)
        # What a task does before it waits for the dictionary: help to decompress it, or nothing (`tuple`).
        share = archive.share_variables if name == "/var.dict" else tuple
        self._loaded = SharedLoad(self._load, share, self._parts + self._shares)
        self._lock = threading.Lock()
        # The first repeated entry of each share, and the first of each part that is not UTF-8; -1: none.
        self._repeated: list[int] = []
        self._not_utf8: list[int] = []

    def parts(self) -> Iterator[Task]:
        """Tasks to run first."""
        return (Task(partial(self._part, number)) for number in range(self._parts))

    def shares(self) -> Iterator[Task]:
        """Tasks for when all parts are done; the last one reports the findings."""
        return (Task(partial(self._share, number)) for number in range(self._shares))

    def _load(self) -> tuple[ClpsStrings, ClpsRepeated]:
        """Return the dictionary, and the table for repeated entries."""
        kept = {"/var.dict": "variables", "/log.dict": "log_types"}  # those that the archive keeps for other checks
        name = self._name
        found: ClpsStrings = getattr(self._archive, kept[name]) if name in kept else self._archive.dictionary(name)
        return found, ClpsRepeated(found)

    def _part(self, number: int) -> Iterator[Finding]:
        """Check part `number` of the entries: add them to the table of repeated entries, and note the first bad UTF-8.

        The first part also reports what concerns the section as a whole.
        """
        try:
            found, repeated = self._loaded.take()
        except ExhumeError as error:
            if not number:
                yield Finding.from_error(error)
            return
        if not number and found.end < found.size:
            span = self._archive.section_span(self._name)
            where = span.sub(DICTIONARY_HEAD, span.size).in_payload(found.end, found.size)
            yield checks.TRAILING_PAYLOAD.finding(
                self._name, span=where, actual=counted(found.size - found.end, "bytes")
            )
        start, stop = (len(found) * at // self._parts for at in (number, number + 1))
        repeated.add(start, stop)
        self._not_utf8.append(found.first_not_utf8(start, stop))

    def _share(self, number: int) -> Iterator[Finding]:
        """Search share `number` for repeated entries; the share that is done last yields the findings of all."""
        try:
            found, repeated = self._loaded.take()
        except ExhumeError:  # reported by the first part
            return
        first = repeated.first(number, self._shares)
        with self._lock:
            self._repeated.append(first)
            is_last = len(self._repeated) == self._shares
        if not is_last:
            return
        for rule, indices in ((checks.REPEATED_ENTRY, self._repeated), (checks.NOT_UTF8, self._not_utf8)):
            index = min((one for one in indices if one >= 0), default=None)
            if index is not None:
                span = self._archive.section_span(self._name)
                yield rule.finding(self._name, span=span, field_path=f"entries[{index}]", actual=found[index])


def _ranges(archive: TableArchive) -> Iterator[Finding]:
    """Yield the findings of the range index: order, overlap, and whether it covers the number of records."""
    try:
        found = archive.packets_of(PacketType.RANGE_INDEX)
        ranges = [(packet.span, entry) for packet in found for entry in range_entries([packet])]
        total = archive.num_messages
    except ExhumeError as error:
        yield Finding.from_error(error)
        return
    if not found:
        return
    at = 0  # each range begins where the one before ended
    for index, (span, entry) in enumerate(ranges):
        if entry.start < at:
            yield checks.RANGE_ORDER.finding(
                span=span, field_path=f"ranges[{index}]", expected=f"from {at} on", actual=entry.start
            )
        elif entry.start > at:
            yield checks.RANGE_COVERAGE.finding(
                "records between ranges", span=span, field_path=f"ranges[{index}]", expected=at, actual=entry.start
            )
        at = max(at, entry.end)
        for text in _texts(entry.properties):
            if not _is_utf8(raw := text.encode("utf-8", "surrogateescape")):
                yield checks.NOT_UTF8.finding("property", span=span, field_path=f"ranges[{index}].f", actual=raw)
                break
    if at != total:
        yield checks.RANGE_COVERAGE.finding(
            span=found[-1].span, expected=counted(total, "records"), actual=counted(at, "records")
        )
