"""Checks every rule of an Ark log, and continues after each broken one.

A log is a manifest and split files.  A split has a header, which maps short identifiers (one byte) to objects
(channels), an index with an entry for each message, and the messages.  A reference is the mention of a split in the
manifest.

Spec: ark_log.txt; the rules are in `checks`.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Generator, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import compress, islice
from posixpath import basename
from typing import TYPE_CHECKING, Any, Final

from exhume.archive import Progress
from exhume.counts import counted
from exhume.errors import ExhumeError
from exhume.findings import CappedFindings, Finding, Severity
from exhume.formats.ark.assumptions import MAXIMUM_SPLIT_REFERENCES, MINIMUM_SPLIT_SIZE
from exhume.formats.ark.checks import (
    COLUMN_CODEC,
    ENTRY_FLAGS,
    ENTRY_OVERLAP,
    FILTER_UNKNOWN,
    INDEX_CAPACITY,
    INDEX_ORDER,
    MANIFEST_FIELDS_UNKNOWN,
    MANIFEST_NAME,
    MAPPING_REPEATED,
    MAPPING_UNDECLARED,
    METADATA,
    MISSING_SPLIT,
    NO_REGISTRY,
    OBJECT_REPEATED,
    SPLIT_REFERENCES,
    SPLIT_REPEATED,
    SPLIT_SHORT,
    STATISTICS,
    UNCLOSED,
    UNEXPLAINED,
    UNREFERENCED,
)
from exhume.formats.ark.filters import Acceptance, check_pattern
from exhume.formats.ark.kernel import ark_entries, ark_faults, ark_portions
from exhume.formats.ark.layout import (
    ENTRY_SIZE,
    HEADER_FIELDS,
    MANIFEST_FIELDS,
    MAPPING_SIZE,
    entry_at,
    entry_time,
    iter_entries,
)
from exhume.formats.ark.manifest import Statistics
from exhume.formats.ark.messages import column_codec
from exhume.formats.ark.names import is_guid
from exhume.formats.ark.parallel_query import CHUNK_BYTES, is_reopenable
from exhume.formats.ark.rbuf.decoder import decoder_for
from exhume.formats.ark.splits import ANY_OBJECT, BATCH_BYTES, ObjectStatistics, Split
from exhume.formats.ark.unindexed import MessageCheck, num_unindexed
from exhume.io.parallel import map_ordered
from exhume.io.source import Source
from exhume.io.tree import Tree

if TYPE_CHECKING:
    from exhume.formats.ark.log import ArkLog, SplitReference

BATCH: Final = 4096
"""Entries of an index that are checked at a time."""

Piece = tuple[int, int, int]
"""Work for one thread: the number of a split, which chunk of its messages (from 0), and how many chunks it has."""


def verify_log(
    reader: ArkLog,
    *,
    quick: bool,
    jobs: int,
    progress: Progress,
    check_unreferenced: bool = True,
) -> Iterator[Finding]:
    """Yield findings of the manifest, then of each split in reading order; `quick` does not read messages.

    With `check_unreferenced`, split files that no manifest names are findings, too.
    """
    yield from _check_manifest(reader)
    references = _distinct(reader)
    for done, findings in enumerate(_check_splits(reader, references, quick, jobs), 1):
        yield from findings
        progress(done, len(references), "splits")
    if check_unreferenced and reader.root is not None and reader.single_split is None:
        yield from unreferenced_splits(reader.root, named_splits(reader, reader.root))


def _check_splits(reader: ArkLog, references: list[SplitReference], quick: bool, jobs: int) -> Iterator[list[Finding]]:
    """The findings of each split.

    Messages in files of this machine are shared chunk by chunk.
    """
    whole = quick or not is_reopenable(reader)  # a split is then one piece
    numbers = [1 if whole else _num_pieces(reader, each) for each in references]
    pieces = ((split, piece, count) for split, count in enumerate(numbers) for piece in range(count))
    found = map_ordered(partial(_check_piece, reader, references, quick), pieces, jobs)
    for count in numbers:
        together = CappedFindings()
        for some in islice(found, count):
            together.extend(some)
        yield together.findings()


def _num_pieces(reader: ArkLog, reference: SplitReference) -> int:
    """The number of pieces that the messages of a split are checked in."""
    with suppress(ExhumeError), reader.split_source(reference.identifier) as source:
        split = Split(source, reference.identifier)
        split.check_index()
        return max(1, min(split.header.item_count, source.size // CHUNK_BYTES))
    return 1  # the caller alone


def _check_piece(reader: ArkLog, references: list[SplitReference], quick: bool, piece: Piece) -> CappedFindings:
    """The findings about a chunk of a split's messages, and with its first chunk those about its header and index."""
    split, number, count = piece
    return CappedFindings(_check_split(reader, references[split], quick, number, count))


def _distinct(reader: ArkLog) -> list[SplitReference]:
    """The first reference to each split; those named too often were reported with the manifest."""
    found: dict[str, SplitReference] = {}
    for each in reader.all_references():
        found.setdefault(each.identifier, each)
    return list(found.values())


def _check_manifest(reader: ArkLog) -> Iterator[Finding]:
    """Check the manifest itself: its name, its metadata, its sections, and how often it uses each split."""
    yield from reader.loaded.findings
    span = reader.manifest_span
    if more := reader.loaded.unknown_fields:
        yield MANIFEST_FIELDS_UNKNOWN.finding(span=span, actual=", ".join(more))
    source = reader.manifest_source
    if source is not None:
        name = basename(source.name.replace("\\", "/"))
        if is_guid(name) and name.lower() != reader.manifest.identifier:
            where = source.span(*MANIFEST_FIELDS.log_identifier)
            yield MANIFEST_NAME.finding(span=where, expected=name, actual=reader.manifest.identifier)
    for key, text in reader.metadata.items():
        if not _is_json(text):
            yield METADATA.finding(span=span, field_path=f"metadata[{key!r}]", actual=text)
    times: Counter[str] = Counter()
    for number in range(len(reader.manifest.sections)):
        yield from _check_section(reader, number)
        times.update(split.identifier for column in reader.manifest.sections[number].columns for split in column.splits)
    for identifier, count in times.items():
        if count > MAXIMUM_SPLIT_REFERENCES:
            yield SPLIT_REFERENCES.finding(
                identifier, span=span, expected=f"at most {MAXIMUM_SPLIT_REFERENCES}", actual=count
            )


def _check_section(reader: ArkLog, number: int) -> Iterator[Finding]:
    """Check a section's filter and its columns, and that no column names a split twice."""
    section, span, path = reader.manifest.sections[number], reader.manifest_span, f"sections[{number}]"
    if not section.filter.is_understood:
        last = number == len(reader.manifest.sections) - 1  # its filter would apply to sections that do not exist
        yield FILTER_UNKNOWN.finding(
            span=span,
            field_path=f"{path}.acceptance_filter",
            actual=dict(section.filter.unknown) or section.filter.raw,
            severity=Severity.WARNING if last else Severity.ERROR,
        )
    for pattern in (*section.filter.allow, *section.filter.deny):
        finding = check_pattern(pattern, span)
        if finding is not None:
            yield finding
    try:
        Acceptance([section.filter])  # compiles its patterns, to find one that is refused
    except ExhumeError as error:
        error.span = span
        yield Finding.from_error(error)
    # Each column, and splits that are named twice.
    here: set[str] = set()
    for position, column in enumerate(section.columns):
        where = f"{path}.columns[{position}]"
        yield from _check_column(reader, column, where)
        for split in column.splits:
            if split.identifier in here:
                yield SPLIT_REPEATED.finding(span=span, field_path=where, actual=split.identifier)
            here.add(split.identifier)


def _is_json(text: str) -> bool:
    """Return whether a string is JSON."""
    import json

    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _check_column(reader: ArkLog, column: Any, where: str) -> Iterator[Finding]:
    """Check a column's codec and object declarations; `where` is its path in the manifest."""
    span = reader.manifest_span
    try:
        column_codec(column.compression)
    except ExhumeError:
        yield COLUMN_CODEC.finding(span=span, field_path=f"{where}.compression_type", actual=column.compression)
    declared: set[str] = set()
    for each in column.objects:
        path = f"{where} ({each.name})"
        if each.identifier in declared:
            yield OBJECT_REPEATED.finding(span=span, field_path=path, actual=each.identifier)
        declared.add(each.identifier)
        try:
            if each.registry is None:
                yield NO_REGISTRY.finding(span=span, field_path=path)
            else:
                decoder_for(each.registry, each.type)
        except ExhumeError as error:
            error.span = error.span or span
            error.field_path = f"{path}.schema_registry"
            yield Finding.from_error(error)


def _check_split(reader: ArkLog, reference: SplitReference, quick: bool, piece: int, count: int) -> Iterator[Finding]:
    """Findings of a chunk of a split file's messages, one of `count`; those of all other parts precede the first."""
    try:
        split = reader.open_split(reference.identifier)
    except ExhumeError as error:
        finding = Finding.from_error(error)
        if error.code == MISSING_SPLIT.code:
            severity = Severity.WARNING if reference.is_hidden else Severity.ERROR
            column = f"split {reference.identifier} of column {reference.column.name!r}"
            finding = MISSING_SPLIT.finding(column, span=error.span, severity=severity)
        yield finding
        return
    try:
        start, stop = (split.header.item_count * each // count for each in (piece, piece + 1))  # entries of the chunk
        if piece:
            index = split.read_entries(start, stop)
        else:
            index = (yield from _check_index(reader, reference, split))[: stop * ENTRY_SIZE]
        if not quick:
            yield from _check_messages(reader, reference, split, index)
    except ExhumeError as error:
        yield Finding.from_error(error)
    finally:
        reader.release(split)


def _check_index(reader: ArkLog, reference: SplitReference, split: Split) -> Generator[Finding, None, bytes]:
    """Yield findings about a split's header and index; return the bytes of the index.

    Raises the error of rule ARK-322.
    """
    source, header = split.source, split.header
    if source.size < MINIMUM_SPLIT_SIZE:
        yield SPLIT_SHORT.finding(span=source.span(0, source.size), actual=source.size)
    yield from _check_mappings(reference, split)
    if header.item_count > header.maximum_count:
        yield INDEX_CAPACITY.finding(
            span=source.span(*HEADER_FIELDS.num_indexed_items),
            expected=f"at most {header.maximum_count}",
            actual=header.item_count,
        )
    facts = split.scan()  # raises for an index outside the file
    index = split.read_entries(0, header.item_count)
    yield from check_entries(split, index)
    yield from check_statistics(reader, reference, split.statistics(facts) if reference.declaration.statistics else {})
    more = num_unindexed(reader, reference, split)
    if more:
        start = header.index_end
        span = source.span(start, start + more * ENTRY_SIZE)
        yield UNCLOSED.finding(counted(more, "messages"), span=span, actual=header.item_count)
    yield from _check_coverage(reader, reference, source)
    return index


def _check_mappings(reference: SplitReference, split: Split) -> Iterator[Finding]:
    """Check that the type mappings of a split are unique and declared in the manifest."""
    shorts: set[int] = set()
    objects: set[str] = set()
    for number, mapping in enumerate(split.header.mappings):
        span = split.source.span(mapping.offset, mapping.offset + MAPPING_SIZE)
        path = f"type_mappings[{number}]"
        if mapping.short in shorts or mapping.identifier in objects:
            yield MAPPING_REPEATED.finding(span=span, field_path=path, actual=mapping.short)
        shorts.add(mapping.short)
        objects.add(mapping.identifier)
        if mapping.identifier not in reference.channels:
            yield MAPPING_UNDECLARED.finding(span=span, field_path=path, actual=mapping.identifier)


def check_entries(split: Split, index: bytes) -> Iterator[Finding]:
    """The findings of an index, given as the bytes of its entries."""
    # The kernel returns the positions of faulty entries, by fault.
    header = split.header
    bad, late, flagged, over_header, over_index, overlapping = ark_faults(
        index, split.source.size, split.known_objects(), header.size, header.index_offset, header.index_end
    )
    for position in bad:
        entry = entry_at(index, position)
        yield Finding.from_error(split.entry_error(position, entry.offset, entry.size, entry.short))
    for position in late:
        yield INDEX_ORDER.finding(
            span=split.entry_span(position, "timestamp_ns"),
            field_path=f"index[{position}].timestamp_ns",
            expected=f"at least {entry_time(index, position - 1)}",
            actual=entry_time(index, position),
        )
    for position in flagged:
        yield ENTRY_FLAGS.finding(
            span=split.entry_span(position, "flags"),
            field_path=f"index[{position}].flags",
            expected=0,
            actual=entry_at(index, position).flags,
        )
    # The kernel leaves overlaps out (None) if entries are not in the order of their messages.
    if overlapping is None:
        overlapping = _overlapping(index, frozenset(bad))
    for position in (*over_header, *over_index, *overlapping):
        entry = entry_at(index, position)
        yield ENTRY_OVERLAP.finding(
            span=split.entry_span(position, "ofs_data"),
            field_path=f"index[{position}].ofs_data",
            actual=f"[{entry.offset}, {entry.offset + entry.size})",
        )


def _overlapping(index: bytes, bad: frozenset[int]) -> list[int]:
    """The entries, in the order of their messages in the file, whose message begins before another one ends."""
    places = [(offset, offset + size) for _, offset, size, _, _ in iter_entries(index)]
    found = []
    reach = 0
    for position in sorted((one for one in range(len(places)) if one not in bad), key=lambda one: places[one][0]):
        start, end = places[position]
        if start < reach:
            found.append(position)
        reach = max(reach, end)
    return found


def check_statistics(
    reader: ArkLog, reference: SplitReference, found: Mapping[str, ObjectStatistics]
) -> Iterator[Finding]:
    """Compare the statistics that the manifest states for a split, if any, with those of its index, by object."""
    stated = {each.identifier: each for each in reference.declaration.statistics}
    if not stated:
        return
    for identifier in (*stated, *(each for each in found if each not in stated)):
        each, real = stated.get(identifier), found.get(identifier) or ObjectStatistics(0, 0, 0, 0)
        if _differ(each or Statistics(identifier, 0, None, None, None), real):
            times = each is not None and (each.item_count, each.size) == (real.item_count, real.size)
            yield STATISTICS.finding(
                f"split {reference.identifier}",
                span=reader.manifest_span,
                field_path=identifier,
                expected=_numbers(real, times=times),
                actual="none" if each is None else _numbers(each, times=times) or None,
            )


def _numbers(each: Statistics | ObjectStatistics, *, times: bool) -> str:
    """Statistics in words; the first and the last time (ns) with `times`."""
    stated = [(each.item_count, "messages"), (each.size, "bytes")]
    words = [counted(number, word) for number, word in stated if number is not None]
    return ", ".join([*words, f"times {each.minimum_ns} to {each.maximum_ns}"] if times else words)


def _differ(stated: Statistics, real: ObjectStatistics) -> bool:
    """Whether a stated number of an object differs from that of the index."""
    if stated.item_count is not None and stated.item_count != real.item_count:
        return True
    if not real.item_count:  # without messages, sizes and times mean nothing
        return False
    pairs = ((stated.size, real.size), (stated.minimum_ns, real.minimum_ns), (stated.maximum_ns, real.maximum_ns))
    return any(number is not None and number != actual for number, actual in pairs)


def _check_coverage(reader: ArkLog, reference: SplitReference, source: Source) -> Iterator[Finding]:
    """Yield a finding for each range of a split that no section explains."""
    from exhume.formats.ark.sections import split_codec, split_sections
    from exhume.layout.sections import SectionMap

    sections = split_sections(reference.identifier, source, split_codec(reference), reader.limits)
    found = SectionMap([(source, [section for section in sections if section.parent is None])])
    for gap in found.gaps():
        yield UNEXPLAINED.finding(counted(gap.span.size, "bytes"), span=gap.span)


def _check_messages(reader: ArkLog, reference: SplitReference, split: Split, index: bytes) -> Iterator[Finding]:
    """Decompress and decode every message of a split; `index` has the raw index entries.

    Entries that the index checks have already reported (flag 1) are skipped.
    """
    check = MessageCheck(reader, reference, split)
    known = split.known_objects()
    split.source.will_read(split.header.index_end, split.source.size)
    for start in range(0, len(index), BATCH * ENTRY_SIZE):
        part = index[start : start + BATCH * ENTRY_SIZE]
        _, _, offsets, sizes, shorts, bad = ark_entries(part, split.source.size, known, ANY_OBJECT)
        if 1 in bad:
            usable = [not flag for flag in bad]
            offsets, sizes = (array("q", compress(each, usable)) for each in (offsets, sizes))
            shorts = bytes(compress(shorts, usable))
        for first, stop in ark_portions(sizes, min(BATCH_BYTES, check.most)):
            yield from check.findings(offsets[first:stop], sizes[first:stop], shorts[first:stop])


def unreferenced_splits(root: Tree, used: set[str]) -> Iterator[Finding]:
    """Split files below a root that no manifest names."""
    for name in root.names("splits"):
        last = basename(name)
        if not is_guid(last) or last.lower() not in used:
            with root.source(name) as source:
                yield UNREFERENCED.finding(span=source.span(0, source.size), actual=last)


def named_splits(reader: ArkLog, root: Tree) -> set[str]:
    """The GUIDs of the splits that a manifest of a log's root names; a manifest that cannot be read names none."""
    used = {split.identifier for _, _, split in reader.manifest.splits()}
    return used.union(*(_named_elsewhere(reader, root, name) for name in root.names("manifests")))


def _named_elsewhere(reader: ArkLog, root: Tree, name: str) -> set[str]:
    """Return the splits that another manifest in the directory names."""
    from exhume.formats.ark.manifest_load import load_manifest

    if basename(name).lower() == reader.manifest.identifier:
        return set()
    try:
        with root.source(name) as source:
            loaded = load_manifest(source.read_at(0, source.size), source.span(0, source.size))
    except ExhumeError:
        return set()
    return {split.identifier for _, _, split in loaded.manifest.splits()}
