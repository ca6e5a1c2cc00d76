"""Checks every rule of an Ark log, and continues after each broken one.

Spec: ark_log.txt; the rules are in `checks`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, compress, islice
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from exhume.archive import Progress
from exhume.counts import counted
from exhume.errors import ExhumeError
from exhume.findings import Capped, Finding, Severity
from exhume.formats.ark.assumptions import MAXIMUM_SPLIT_REFERENCES, MINIMUM_SPLIT_SIZE
from exhume.formats.ark.checks import (
    COLUMN_CODEC,
    ENTRY_FLAGS,
    ENTRY_OVERLAP,
    FILTER_UNKNOWN,
    INDEX_CAPACITY,
    INDEX_ORDER,
    INDEX_OUTSIDE,
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
from exhume.formats.ark.filters import check_pattern
from exhume.formats.ark.kernel import ark_check, ark_entries, ark_faults
from exhume.formats.ark.layout import (
    ENTRY_SIZE,
    HEADER_FIELDS,
    MANIFEST_FIELDS,
    entry_at,
    entry_time,
    iter_entries,
)
from exhume.formats.ark.messages import Decompressor, column_codec, decode_value
from exhume.formats.ark.names import is_guid
from exhume.formats.ark.pieces import PIECE_BYTES, WORTH, can_travel
from exhume.formats.ark.query import message_span
from exhume.formats.ark.rbuf.decoder import decoder_for
from exhume.formats.ark.rbuf.program import program_for
from exhume.formats.ark.splits import ANY_OBJECT, PORTION, Split, SplitFacts, portions
from exhume.formats.ark.unindexed import num_unindexed
from exhume.io.parallel import map_ordered
from exhume.io.processes import map_processes
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.limits import cpu_count
from exhume.native.compiled import KERNEL

if TYPE_CHECKING:
    from exhume.formats.ark.reader import ArkReader, SplitReference

BATCH: Final = 4096

CHECKED_MESSAGES: Final = 1 << 14
"""Messages that a process checks at a time."""

Piece = tuple[int, int, int | None]
"""The number of a split, and the first of its messages and the one behind the last (None: all that follow)."""


def verify_log(
    reader: ArkReader,
    *,
    quick: bool,
    jobs: int,
    progress: Progress,
    check_unreferenced: bool = True,
) -> Iterator[Finding]:
    """Findings of the manifest, then of each split in reading order; `quick` does not read messages."""
    yield from _check_manifest(reader)
    references = _distinct(reader)
    total = sum(_size(reader, each) for each in references)
    done = 0

    for reference, findings in zip(references, _check_splits(reader, references, quick, jobs), strict=True):
        yield from findings
        done += _size(reader, reference)
        progress(done, total, "bytes")
    if check_unreferenced and reader.root is not None and reader.single_split is None:
        yield from unreferenced_splits(reader.root, named_splits(reader, reader.root))


def _check_splits(
    reader: ArkReader, references: Sequence[SplitReference], quick: bool, jobs: int
) -> Iterator[list[Finding]]:
    """The findings of each split, whose messages are shared where there are enough of them.

    Threads do that where the kernel is compiled, otherwise processes.
    """
    check = SplitCheck(reader, quick)
    jobs = jobs or cpu_count()
    if jobs > 1 and not quick and can_travel(reader):
        pieces = [_pieces(reader, number, each) for number, each in enumerate(references)]
        share = map_ordered if KERNEL is not None else map_processes
        found = share(check, chain.from_iterable(pieces), jobs if sum(map(len, pieces)) > WORTH else 1)
        for mine in pieces:
            yield _capped(islice(found, len(mine)))
    else:
        yield from map_ordered(lambda number: _capped([check((number, 0, None))]), range(len(references)), jobs)


def _capped(found: Iterable[list[Finding]]) -> list[Finding]:
    kept = Capped()
    for finding in chain.from_iterable(found):
        kept.append(finding)
    return kept.told()


def _pieces(reader: ArkReader, number: int, reference: SplitReference) -> list[Piece]:
    """A split in pieces of as many messages as are worth sending to a process; in one, when its header is damaged."""
    try:
        split = reader.open_split(reference.identifier)
    except ExhumeError:
        return [(number, 0, None)]
    count, size = split.header.item_count, split.source.size
    reader.release(split)
    step = max(1, min(CHECKED_MESSAGES, count * PIECE_BYTES // max(1, size)))
    if count * ENTRY_SIZE > size:
        return [(number, 0, None)]
    starts = range(0, max(1, count), step)
    return [(number, at, at + step if at + step < count else None) for at in starts]


class SplitCheck:
    """Checks splits, or pieces of them; picklable, so that other processes can do it."""

    def __init__(self, reader: ArkReader, quick: bool) -> None:
        self._reader, self._quick = reader, quick
        self._references = _distinct(reader)

    def __reduce__(self) -> tuple[Any, ...]:
        return SplitCheck, (self._reader, self._quick)

    def __call__(self, piece: Piece) -> list[Finding]:
        """The findings about some messages of a split, in front of the first also those about its header and index."""
        number, start, stop = piece
        reference = self._references[number]
        if start == 0:
            return list(check_split(self._reader, reference, quick=self._quick, messages=stop))
        try:
            split = self._reader.open_split(reference.identifier)
        except ExhumeError:
            return []  # the piece with the first message says so
        try:
            split.check_index()
            index = split.read_entries(start, split.header.item_count if stop is None else stop)
            return list(_check_messages(self._reader, reference, split, index))
        except ExhumeError as error:
            if error.code == INDEX_OUTSIDE.code:
                return []
            raise
        finally:
            self._reader.release(split)


def _size(reader: ArkReader, reference: SplitReference) -> int:
    facts = reader.known_facts(reference.identifier)
    return facts.file_size if facts is not None else 1


def _distinct(reader: ArkReader) -> list[SplitReference]:
    """One reference per split and column; those named too often were reported with the manifest."""
    seen: set[str] = set()
    out = []
    for each in reader.all_references():
        if each.identifier not in seen:
            seen.add(each.identifier)
            out.append(each)
    return out


def _check_manifest(reader: ArkReader) -> Iterator[Finding]:
    yield from reader.loaded.findings
    span = reader.manifest_span
    source = reader.manifest_source
    if source is not None:
        name = PurePosixPath(source.name.replace("\\", "/")).name
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


def _check_section(reader: ArkReader, number: int) -> Iterator[Finding]:
    """Checks a section's filter and its columns, and that no column names a split twice."""
    section, span, path = reader.manifest.sections[number], reader.manifest_span, f"sections[{number}]"
    if not section.filter.is_understood:
        last = number == len(reader.manifest.sections) - 1
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
        reader.acceptance(number + 1)
    except ExhumeError as error:
        error.span = span
        yield Finding.from_error(error)
    here: set[str] = set()
    for position, column in enumerate(section.columns):
        where = f"{path}.columns[{position}]"
        yield from _check_column(reader, column, where)
        for split in column.splits:
            if split.identifier in here:
                yield SPLIT_REPEATED.finding(span=span, field_path=where, actual=split.identifier)
            here.add(split.identifier)


def _is_json(text: str) -> bool:
    import json

    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _check_column(reader: ArkReader, column: Any, where: str) -> Iterator[Finding]:
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


def check_split(
    reader: ArkReader, reference: SplitReference, *, quick: bool, messages: int | None = None
) -> Iterator[Finding]:
    """Findings of one split file; of its messages only the first `messages`, when that is given."""
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
        yield from _check_open_split(reader, reference, split, quick, messages)
    finally:
        reader.release(split)


def _check_open_split(
    reader: ArkReader, reference: SplitReference, split: Split, quick: bool, messages: int | None
) -> Iterator[Finding]:
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
    try:
        facts = split.scan()
    except ExhumeError as error:
        yield Finding.from_error(error)
        return
    index = split.read_entries(0, header.item_count)
    yield from check_entries(split, index)
    yield from _check_statistics(reader, reference, split, facts)
    more = num_unindexed(reader, reference, split)
    if more:
        start = header.index_end
        span = source.span(start, start + more * ENTRY_SIZE)
        yield UNCLOSED.finding(counted(more, "messages"), span=span, actual=header.item_count)
    yield from _check_coverage(reader, reference, source)
    if not quick:
        checked = len(index) if messages is None else messages * ENTRY_SIZE
        yield from _check_messages(reader, reference, split, index[:checked])


def _check_mappings(reference: SplitReference, split: Split) -> Iterator[Finding]:
    shorts: set[int] = set()
    objects: set[str] = set()
    for number, mapping in enumerate(split.header.mappings):
        span = split.source.span(mapping.offset, mapping.offset + 18)
        path = f"type_mappings[{number}]"
        if mapping.short in shorts or mapping.identifier in objects:
            yield MAPPING_REPEATED.finding(span=span, field_path=path, actual=mapping.short)
        shorts.add(mapping.short)
        objects.add(mapping.identifier)
        if mapping.identifier not in reference.channels:
            yield MAPPING_UNDECLARED.finding(span=span, field_path=path, actual=mapping.identifier)


def check_entries(split: Split, index: bytes) -> Iterator[Finding]:
    """The findings of an index, given as the bytes of its entries."""
    header = split.header
    bad, late, flagged, over_header, over_index, overlapping = ark_faults(
        index, split.source.size, split.known_objects(), header.size, header.index_offset, header.index_end
    )
    for position in bad:
        _, offset, size, short, _ = entry_at(index, position)
        yield Finding.from_error(split.entry_error(position, offset, size, short))
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
            actual=entry_at(index, position)[4],
        )
    if overlapping is None:
        overlapping = _overlapping(index, frozenset(bad))
    for position in (*over_header, *over_index, *overlapping):
        _, start, size, _, _ = entry_at(index, position)
        yield ENTRY_OVERLAP.finding(
            span=split.entry_span(position, "ofs_data"),
            field_path=f"index[{position}].ofs_data",
            actual=f"[{start}, {start + size})",
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


def _check_statistics(
    reader: ArkReader, reference: SplitReference, split: Split, facts: SplitFacts
) -> Iterator[Finding]:
    stated = {each.identifier: each for each in reference.declaration.statistics}
    if not stated:
        return
    found = split.statistics(facts)
    for identifier, each in stated.items():
        real = found.get(identifier)
        count = real.count if real is not None else 0
        wrong = each.count is not None and each.count != count
        if real is not None and count:
            wrong |= each.size is not None and each.size != real.size
            wrong |= each.minimum_ns is not None and each.minimum_ns != real.minimum_ns
            wrong |= each.maximum_ns is not None and each.maximum_ns != real.maximum_ns
        if wrong:
            numbers = ((each.count, "messages"), (each.size, "bytes"))
            stated_as = ", ".join(counted(number, word) for number, word in numbers if number is not None)
            yield STATISTICS.finding(
                f"split {reference.identifier}",
                span=reader.manifest_span,
                field_path=identifier,
                expected=counted(count, "messages") + (f", {counted(real.size, 'bytes')}" if real is not None else ""),
                actual=stated_as or None,
            )
    for identifier, real in found.items():
        if real.count and identifier not in stated:
            yield STATISTICS.finding(
                f"split {reference.identifier}",
                span=reader.manifest_span,
                field_path=identifier,
                expected=counted(real.count, "messages"),
                actual="none",
            )


def _check_coverage(reader: ArkReader, reference: SplitReference, source: Source) -> Iterator[Finding]:
    from exhume.formats.ark.sections import split_codec, split_sections
    from exhume.layout.sections import SectionMap

    sections = split_sections(reference.identifier, source, split_codec(reference), reader.limits)
    found = SectionMap([(source, [s for s in sections if s.parent is None])])
    for gap in found.gaps():
        yield UNEXPLAINED.finding(counted(gap.span.size, "bytes"), span=gap.span)


def _check_messages(reader: ArkReader, reference: SplitReference, split: Split, index: bytes) -> Iterator[Finding]:
    try:
        codec = column_codec(reference.column.compression)
    except ExhumeError:
        return
    unpack = Decompressor(codec, reader.limits) if codec != "none" else None
    decoders: list[Any] = [None] * 256
    programs: list[Any] = [None] * 256
    for mapping in split.header.mappings:
        channel = reference.channels.get(mapping.identifier)
        try:
            registry = channel.declaration.registry if channel is not None else None
            if registry is not None and channel is not None:
                decoders[mapping.short] = decoder_for(registry, channel.type)
                programs[mapping.short] = program_for(registry, channel.type)
        except ExhumeError:
            continue
    known = split.known_objects()
    split.source.hint(split.header.index_end, split.source.size)
    for start in range(0, len(index), BATCH * ENTRY_SIZE):
        part = index[start : start + BATCH * ENTRY_SIZE]
        _, _, offsets, sizes, shorts, bad = ark_entries(part, split.source.size, known, ANY_OBJECT)
        if 1 in bad:
            usable = [not flag for flag in bad]
            offsets, sizes = list(compress(offsets, usable)), list(compress(sizes, usable))
            shorts = bytes(compress(shorts, usable))
        for first, stop in portions(sizes, PORTION):
            which = slice(first, stop)
            stored = split.stored(offsets[which], sizes[which])
            if unpack is None and not any(decoders):
                continue  # any bytes are a message, as long as they can be read
            payloads: Sequence[bytes | None]
            payloads = stored if unpack is None else unpack.payloads(stored, split.source, noted=True)
            for number in ark_check(payloads, shorts[which], programs):
                decoder, data = decoders[shorts[first + number]], stored[number]
                if unpack is None and (decoder is None or decoder.is_plain(data)):
                    continue
                place = first + number
                yield from _check_message(split, data, offsets[place], sizes[place], unpack, codec, decoder)


def _check_message(
    split: Split, data: bytes, offset: int, size: int, unpack: Decompressor | None, codec: str, decoder: Any
) -> Iterator[Finding]:
    findings: list[Finding] = []
    try:
        if unpack is not None:
            data = unpack.decode(data, lambda: split.source.span(offset, offset + size), findings)
        if decoder is not None:
            decode_value(decoder, data, lambda: message_span(split, offset, size, data, codec), findings)
    except ExhumeError as error:
        findings.append(Finding.from_error(error))
    yield from findings


def unreferenced_splits(root: Tree, used: set[str]) -> Iterator[Finding]:
    """Split files below a root that no manifest names."""
    for name in root.names("splits"):
        last = PurePosixPath(name).name
        if not is_guid(last) or last.lower() not in used:
            with root.source(name) as source:
                yield UNREFERENCED.finding(span=source.span(0, source.size), actual=last)


def named_splits(reader: ArkReader, root: Tree) -> set[str]:
    """The GUIDs of the splits that a manifest of a log's root names; a manifest that cannot be read names none."""
    used = {split.identifier for _, _, split in reader.manifest.splits()}
    return used.union(*(_named_elsewhere(reader, root, name) for name in root.names("manifests")))


def _named_elsewhere(reader: ArkReader, root: Tree, name: str) -> set[str]:
    from exhume.formats.ark.manifest import load_manifest

    if PurePosixPath(name).name.lower() == reader.manifest.identifier:
        return set()
    try:
        with root.source(name) as source:
            loaded = load_manifest(source.read_at(0, source.size), source.span(0, source.size))
    except ExhumeError:
        return set()
    return {split.identifier for _, _, split in loaded.manifest.splits()}
