"""Rebuilding damaged chunks: the index is searched for when the footer does not lead to it.

The data of a CAF is stored as plain bytes, so every member whose range is known can be read; only damage of the index
matters.  The index is found by its text and read as far as it is complete, and single entries after a break are
recovered. Bytes that no entry names can be kept, but their names are lost.

A chunk is a CAF file: the bytes of its members (files), an index in JSON with an entry for each, and a footer with the
size of the index.  A flaw is what makes an entry unusable.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from exhume.archive import Progress, no_progress
from exhume.counts import counted
from exhume.errors import ExhumeError, SourceError, shorten
from exhume.formats.caf import checks
from exhume.formats.caf.index import parse_partial
from exhume.formats.caf.layout import FOOTER_SIZE, HARD_LIMIT, MIN_INDEX, parse_footer
from exhume.formats.caf.locate import find_pieces
from exhume.formats.caf.pykernel import OFFSET, TEXT
from exhume.formats.caf.table import Index, Problem
from exhume.formats.caf.verify import ends_are_inclusive, index_order, live_ranges
from exhume.io.activity import stepping
from exhume.io.output.tree import OutputTree
from exhume.io.source import Source
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.recovery import Outcome, SalvageMode, SalvageReport, VerifiedBy

WINDOW = 8 << 20
"""Bytes of the file searched at a time, from its end towards its start."""

CANDIDATES = 64
"""The most places that look like the start of an index and are tried, the last one first."""

READ_AGAIN = 2
"""Times the size of the file that these places are read in all; then each only up to the next, however many nest."""

EDGE_BYTES = 64
"""Bytes at the edge of two windows that are searched with both: more than the start of an index usually has."""

# The start of an index, and an entry in it: (name in quotes, start, end).
_START = re.compile(rb'\{[ \t\r\n]*"(?:format_version|files)"[ \t\r\n]*:')
_ENTRY = re.compile(
    rb'("'
    + TEXT
    + rb'")\s*:\s*\{\s*"start_byte"\s*:\s*'
    + OFFSET
    + rb'\s*,\s*"end_byte"\s*:\s*'
    + OFFSET
    + rb"\s*,?\s*\}"
)
APART = 4096
"""Bytes between two entries above which they do not belong to one index."""


@dataclass(slots=True)
class Member:
    """A member that can be read: `[start, end)` of the file, under a free name; `note` says how it was found."""

    name: str
    start: int
    end: int
    note: str = ""


@dataclass(slots=True)
class Recovery:
    """Facts about a damaged chunk, before anything is written: its index is at `[ofs_index, index_end)` of the file.

    `index_found` is whether there is one, `index_whole` whether all of it can be read.
    """

    members: list[Member] = field(default_factory=list)
    lost: list[tuple[str, str, str]] = field(default_factory=list)
    """Members that cannot be read: name, reason and code of each."""
    misspelled: list[str] = field(default_factory=list)
    """Names that are not UTF-8: what cannot be decoded in them is lost."""
    notes: list[str] = field(default_factory=list)
    ofs_index: int = 0
    index_end: int = 0
    order: str = "sorted"  # of the index; see `verify.index_order`
    index_found: bool = True
    index_whole: bool = True


def salvage(
    source: Source,
    output: Path,
    *,
    mode: SalvageMode = SalvageMode.ARCHIVE,
    limits: Limits = DEFAULT_LIMITS,
    progress: Progress = no_progress,
    jobs: int = 1,
    unreferenced: bool = False,
) -> SalvageReport:
    """Write every member that can still be read as a new chunk, or as files; see `SalvageReport`.

    `unreferenced` also keeps bytes that no entry names, as members `unreferenced/START-END.bin`; when no entry is left,
    they are kept in any case.
    """
    recovery = recover(source, limits)
    report = SalvageReport("caf", str(output), notes=recovery.notes)
    if not recovery.index_found:
        _number_pieces(source, recovery)
    # Bytes that no entry names; without an index, or if it is empty, they may be all that is left.
    gaps = [(start, end) for start, end in _gaps(recovery, source.size) if not source.is_zero(start, end)]
    if unreferenced or not recovery.index_found or not (recovery.members or recovery.lost):
        recovery.members += [Member(f"unreferenced/{start}-{end}.bin", start, end, "raw bytes") for start, end in gaps]
        if gaps:
            report.notes.append("bytes that no entry names were kept below unreferenced/")
        if gaps and not recovery.index_found:
            report.add_lost("names of pieces", len(gaps))
    done = _write(source, output, mode, limits, recovery, report, progress)
    if done:
        report.set_verified_by(VerifiedBy.NONE)  # the format has no checksums
    for name, why, code in recovery.lost:
        report.add_lost("files")
        report.notes.append(f"lost {shorten(name)!r}: {why} ({code})")
    if recovery.misspelled:
        report.add_lost("names", len(recovery.misspelled))
        rule = checks.BAD_UTF8
        report.notes += [f"{rule.title}: kept as {shorten(name)!r} ({rule.code})" for name in recovery.misspelled]
    _account(source, recovery, done, report)
    return report


def _number_pieces(source: Source, recovery: Recovery) -> None:
    """Make up names for files of known types that are recognized in the data alone, when no index names anything."""
    for number, (start, end, suffix) in enumerate(find_pieces(source, 0, min(recovery.ofs_index, source.size)), 1):
        recovery.members.append(Member(f"piece-{number:04d}.{suffix}", start, end, "a file of a known type"))
    if recovery.members:
        recovery.notes.append(
            f"found in the data and numbered: {counted(len(recovery.members), 'files')} of known types"
        )


def recover(source: Source, limits: Limits = DEFAULT_LIMITS) -> Recovery:
    """Find the index and determine what can be read, without writing anything."""
    found = Recovery()
    index = _index_by_footer(source, limits, found)
    if index is None:  # not when the index is empty
        index = _index_by_text(source, limits, found)
    if index is None:
        found.index_found = found.index_whole = False
        found.notes.append("no index was found: names and boundaries of the files are lost")
        return found
    if index.version != "1.0":
        found.notes.append(f"format_version is {shorten(repr(index.version))}: read as 1.0")
    index.check_ranges(found.ofs_index, source.size)
    # The output is in one of the two orders that writers use: as the files were added, or by name.
    found.order = "insertion" if index_order(index) == "insertion" else "sorted"
    # Entries that cannot be used, and those whose key occurs again.
    found.lost = [(index.names[at], flaw.rule.title, flaw.rule.code) for at, flaw in sorted(index.flaws.items())]
    duplicate = checks.DUPLICATE_KEY
    found.lost += [(name, f"{duplicate.title}: 'files'", duplicate.code) for name in index.replaced]
    ranges = {ordinal: (start, end) for start, end, ordinal in live_ranges(index)}
    # Two known faults of writers: ends that include the last byte, and files of concurrent calls with the same start.
    _repair_inclusive(index, found, ranges)
    _repair_concurrent(index, found, ranges, source.origin)
    wrong = {problem.start for problem in index.problems if problem.rule is checks.BAD_UTF8}
    found.misspelled = [index.names[ordinal] for ordinal in sorted(ranges) if index.keys[ordinal] in wrong]
    free = _free_names(index.names)
    for ordinal in sorted(ranges, key=lambda ordinal: (ranges[ordinal], ordinal)):  # in the order of their bytes
        found.members.append(Member(index.names[ordinal], *ranges[ordinal]))
    for ordinal in index.shadowed():
        start, end = index.starts[ordinal], index.ends[ordinal]
        if ordinal not in index.flaws:
            name = free(index.names[ordinal])
            found.members.append(Member(name, start, end, "hidden by a later entry of the same name"))
            hidden = shorten(index.names[ordinal])
            found.notes.append(f"{hidden!r} was hidden by a later entry: kept as {shorten(name)!r}")
    return found


# --- finding the index --------------------------------------------------------------------------------------------


def _index_by_footer(source: Source, limits: Limits, found: Recovery) -> Index | None:
    """The index that the last four bytes lead to, when all of it is JSON."""
    size = source.size
    if size < FOOTER_SIZE + MIN_INDEX:
        return None
    index_size = parse_footer(source.read_at(size - FOOTER_SIZE, FOOTER_SIZE), source.span(size - FOOTER_SIZE, size))
    if not MIN_INDEX <= index_size <= size - FOOTER_SIZE:
        return None
    limits.check("structure_size", index_size)
    found.ofs_index, found.index_end = size - FOOTER_SIZE - index_size, size - FOOTER_SIZE
    index = parse_partial(
        source.read_at(found.ofs_index, index_size), source.span(found.ofs_index, found.index_end), limits
    )
    return index if index.broken is None and index.has_files else None


def _index_by_text(source: Source, limits: Limits, found: Recovery) -> Index | None:
    """The last part of the file that reads as an index, completely or in part."""
    best: Index | None = None
    whole = False
    found.ofs_index = found.index_end = next_start = source.size
    left = READ_AGAIN * source.size
    # Try the places where an index may start, the last one first: take a whole index, else that with most entries.
    for tries, at in enumerate(itertools.islice(_starts(source), CANDIDATES)):
        # `left` are the bytes that may still be read; without any, only those up to the place that was tried before.
        stop = source.size if left > 0 else max(next_start, at + MIN_INDEX)
        data = source.read_at(at, min(stop - at, source.size - at, limits.structure_size))
        left, next_start = left - len(data), at
        index = parse_partial(data, source.span(at, source.size), limits)
        whole = index.end >= 0 and index.has_files
        span = index.broken.span if index.broken is not None else None
        if tries == 0 and not whole and not len(index) and span and span.end >= source.origin + source.size:
            found.ofs_index = at  # the writer died inside its first entry
        if not whole:
            _collect(index, data)  # single entries after the break
        if whole or len(index) > len(best or ()):
            best, found.ofs_index, found.index_end = index, at, at + (index.end if whole else _last_end(index, data))
        if whole:
            break
    # No entries follow the index of a chunk.  If some do, the index belongs to a member that is itself a chunk.
    nearer = _entries_by_text(source, limits, found, found.index_end if best is not None else 0)
    if nearer is not None or best is None:
        return nearer
    found.index_whole = whole
    if not whole:
        found.notes.append(f"the index breaks off: {best.broken}")
    else:
        at = source.origin + found.ofs_index
        found.notes.append(f"the footer does not lead to the index; found it at offset {at}")
    return best


def _starts(source: Source) -> Iterator[int]:
    """Offsets where an index may start, from the end of the file backwards.

    Each window is read with the first bytes of the one after it, so that a start across its edge is found; one entirely
    in these bytes is yielded twice.
    """
    end = source.size
    while end > 0:
        start = max(0, end - WINDOW)
        window = source.read_at(start, min(source.size, end + EDGE_BYTES) - start)
        yield from reversed([start + match.start() for match in _START.finditer(window)])
        end = start


def _collect(index: Index, data: bytes) -> None:
    """Add every entry that follows those already read in the text."""
    names, starts, ends = list(index.names), list(index.starts), list(index.ends)
    keys, sizes = list(index.keys), list(index.key_sizes)
    for match in _ENTRY.finditer(data, keys[-1] + sizes[-1]) if keys else _ENTRY.finditer(data):
        name = match[1].decode("utf-8", "replace")
        if name.encode() != match[1]:
            index.problems.append(Problem(checks.BAD_UTF8, *match.span(1)))
        names.append(json.loads(name))
        starts.append(int(match[2]))
        ends.append(int(match[3]))
        keys.append(match.start())
        sizes.append(len(match[1]))
    index.names, index.starts, index.ends, index.keys, index.key_sizes = names, starts, ends, keys, sizes
    index.finish()


def _last_end(index: Index, data: bytes) -> int:
    """Where the last entry that was read ends in the text."""
    return data.find(b"}", index.keys[-1] + index.key_sizes[-1]) + 1 or len(data)


def _entries_by_text(source: Source, limits: Limits, found: Recovery, floor: int) -> Index | None:
    """Entries of an index whose start is lost: the last run of entries in the file that begins after `floor`."""
    end = source.size
    size = min(end - floor, limits.structure_size)
    data = source.read_at(end - size, size)
    runs: list[list[int]] = []  # start and end of entries that follow each other
    for match in _ENTRY.finditer(data):
        if runs and match.start() - runs[-1][1] <= APART:
            runs[-1][1] = match.end()
        else:
            runs.append([match.start(), match.end()])
    if not runs:
        return None
    start, stop = runs[-1]
    text = data[start:stop]
    index = Index(len(text), version="1.0")
    _collect(index, text)
    found.ofs_index, found.index_end, found.index_whole = end - size + start, end - size + stop, False
    found.notes.append(
        f"the start of the index is gone; entries from offset {source.origin + found.ofs_index} were read"
    )
    return index


# --- repairs ------------------------------------------------------------------------------------------------------


def _repair_inclusive(index: Index, found: Recovery, ranges: dict[int, tuple[int, int]]) -> None:
    """Restore the last byte of every file if the writer took ends as inclusive."""
    ordered = sorted((start, end, ordinal) for ordinal, (start, end) in ranges.items())
    if ends_are_inclusive(ordered, found.ofs_index):
        for start, end, ordinal in ordered:
            ranges[ordinal] = (start, end + 1)
        found.notes.append("the writer took end_byte as inclusive: every file got its last byte back")


def _repair_concurrent(index: Index, found: Recovery, ranges: dict[int, tuple[int, int]], origin: int) -> None:
    """Separate files with the same start and growing ends, which concurrent calls of the TypeScript writer produce.

    `ranges` are corrected in place; `origin` is the offset of the chunk in the outermost file, for the note.
    """
    groups: dict[int, list[int]] = {}
    for ordinal, (start, end) in ranges.items():
        if end > start:
            groups.setdefault(start, []).append(ordinal)
    # In the order of the index, each ends where the next one really starts.
    for start, members in groups.items():
        ends = [ranges[ordinal][1] for ordinal in members]
        if len(members) < 2 or len(set(ends)) != len(ends):
            continue
        at = start
        for ordinal in members:
            ranges[ordinal] = (at, ranges[ordinal][1])
            at = ranges[ordinal][1]
        found.notes.append(
            f"{counted(len(members), 'files')} start at offset {origin + start} and end in sequence, "
            "as after concurrent writes: each was cut at the end of the previous one"
        )


def _free_names(names: list[str]) -> Callable[[str], str]:
    """Make unique names for hidden entries."""
    taken = set(names)

    def free(name: str) -> str:
        """Return a name that is not taken, for one occurrence of a name stored several times."""
        number = 1
        while True:
            which = "first occurrence" if number == 1 else f"occurrence {number}"
            candidate = f"{name} ({which})"
            number += 1
            if candidate not in taken:
                taken.add(candidate)
                return candidate

    return free


# --- writing ------------------------------------------------------------------------------------------------------


def _write(
    source: Source,
    output: Path,
    mode: SalvageMode,
    limits: Limits,
    recovery: Recovery,
    report: SalvageReport,
    progress: Progress,
) -> list[Member]:
    """Write the members to a chunk or, in the mode `FILES`, to a directory, and return those written.

    A member that cannot be read is added to `recovery.lost`; an error of the output or of the network is raised.
    """
    done: list[Member] = []
    total = sum(member.end - member.start for member in recovery.members)
    copied = 0

    def attempt(member: Member, put: Callable[[Member, int], Any]) -> None:
        """Write a member with `put`, given its size, too; if it cannot be read, it is counted as lost."""
        nonlocal copied
        size = member.end - member.start
        before, copied = copied, copied + size
        try:
            with stepping(progress, before, size, total):  # reports progress within a large member
                put(member, size)
        except ExhumeError as error:
            if isinstance(error, SourceError) and not _is_evidence(error, source):
                raise
            recovery.lost.append((member.name, error.message, error.code))
            return
        done.append(member)
        report.add_recovered("files")

    # As files in a directory, or as one chunk in the same order.
    if mode is SalvageMode.FILES:
        with OutputTree(output, limits=limits) as tree:
            for member in recovery.members:
                attempt(member, lambda one, _: tree.copy(one.name, source, one.start, one.end))
        return done
    from exhume.formats.caf.writer import create

    order: Any = recovery.order
    with create(output, order=order, chunk_size=HARD_LIMIT) as writer:
        for member in recovery.members:
            attempt(member, lambda one, size: writer.add_pieces(one.name, source.chunks(one.start, one.end), size))
    return done


def _is_evidence(error: SourceError, source: Source) -> bool:
    """Whether reading the damaged file failed (a bad sector), as opposed to writing the new one."""
    return error.span is not None and error.span.source == source.name


def _gaps(recovery: Recovery, size: int) -> Iterator[tuple[int, int]]:
    """Ranges before the index that no member covers."""
    at = 0
    for member in sorted(recovery.members, key=lambda member: member.start):
        if member.start > at:
            yield at, member.start
        at = max(at, member.end)
    end = min(recovery.ofs_index, size)
    if at < end:
        yield at, end


def _account(source: Source, recovery: Recovery, done: list[Member], report: SalvageReport) -> None:
    """Record what became of every byte, in file order."""
    written = {id(member) for member in done}
    at = 0

    def until(end: int, outcome: Outcome, what: str, why: str = "") -> None:
        """Record the bytes from `at`, where the last record ended, to `end`."""
        nonlocal at
        if end > at:
            report.add_span(source.span(at, end), outcome, what, why)
            at = end

    # Members may overlap: bytes count for the first one that has them.
    for member in sorted(recovery.members, key=lambda member: (member.start, member.end)):
        until(member.start, Outcome.IGNORED, "bytes that no entry names")
        if id(member) in written:
            until(member.end, Outcome.RECOVERED, f"file {shorten(member.name)}")
        else:
            until(member.end, Outcome.LOST, f"file {shorten(member.name)}", "could not be read or written")
    if not recovery.index_found:  # everything before it was kept, unless it is zero
        until(min(recovery.ofs_index, source.size), Outcome.IGNORED, "zeros that no entry names")
        until(source.size, Outcome.LOST, "the start of an index", "it breaks off before its first entry is complete")
        report.add_lost("indexes")
        return
    until(recovery.ofs_index, Outcome.IGNORED, "bytes that no entry names")
    until(recovery.index_end, Outcome.REBUILT, "index")
    if recovery.index_whole:
        until(source.size, Outcome.REBUILT, "footer and what is around it")
    else:
        report.add_lost("indexes")
        until(source.size, Outcome.LOST, "the rest of the index", "damaged")
