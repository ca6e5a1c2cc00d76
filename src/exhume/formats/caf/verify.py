"""The walk of `verify`: rules about the index itself, the data section, and names.

A chunk (CAF file) is the bytes of its files, the data section, and an index in JSON with an entry for each file.  An
ordinal is the number of an entry in the index; a flaw makes an entry unusable.

Spec: caf.txt; the rules are in `checks`.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import le
from typing import TYPE_CHECKING, Any

from exhume.archive import Progress
from exhume.counts import counted
from exhume.errors import ExhumeError, shorten
from exhume.findings import Finding
from exhume.formats.caf import checks
from exhume.formats.caf.index import check_version
from exhume.formats.caf.layout import HARD_LIMIT
from exhume.formats.caf.table import Index, insertion_order, sort_key
from exhume.io.files import safe_parts

if TYPE_CHECKING:
    from exhume.formats.caf.table import OpenChunk

STEP = 4096
"""Entries between two calls of the progress callback."""


def verify(archive: OpenChunk, progress: Progress) -> Iterator[Finding]:
    """Every broken rule: the JSON text first, then ranges, then names."""
    index, source = archive.index, archive.source
    where = source.span(archive.data_size, archive.data_size + archive.index_size)
    for problem in sorted(index.problems, key=lambda problem: problem.start):
        yield problem.finding(where)
    if index.version != "1.0":
        try:
            check_version(index, where, any_version=False)
        except ExhumeError as error:
            yield Finding.from_error(error)
    if not index.canonical:
        yield checks.OTHER_FORM.finding(span=where)
    if source.size > HARD_LIMIT:
        yield checks.CHUNK_TOO_LARGE.finding(
            span=source.span(0, source.size),
            expected=f"at most {HARD_LIMIT} bytes",
            actual=counted(source.size, "bytes"),
        )
    yield from _check_layout(archive, index)
    yield from _check_names(archive, index, progress)


def live_ranges(index: Index) -> list[tuple[int, int, int]]:
    """`(start, end, ordinal)` of the entries that count and can be read, in the order of their bytes."""
    ranges = [
        (index.starts[ordinal], index.ends[ordinal], ordinal)
        for ordinal, _ in index.items()
        if ordinal not in index.flaws
    ]
    ranges.sort()
    return ranges


def unreferenced(index: Index, data_size: int) -> list[tuple[int, int]]:
    """The ranges of the data section that no file covers."""
    gaps, at = [], 0
    for start, end, _ in live_ranges(index):
        if start > at:
            gaps.append((at, start))
        at = max(at, end)
    if at < data_size:
        gaps.append((at, data_size))
    return gaps


def _check_layout(archive: OpenChunk, index: Index) -> Iterator[Finding]:
    """Check that the members cover the data section without gaps and overlaps.

    Files of writers that state inclusive ends have a gap of one byte after each member: that is one finding, not one
    for each gap.
    """
    source, data_size = archive.source, archive.data_size
    ranges = live_ranges(index)
    inclusive = ends_are_inclusive(ranges, data_size)
    if inclusive:
        yield checks.INCLUSIVE_ENDS.finding(
            f"{counted(len(ranges), 'files')}, {counted(len(ranges), 'gaps')} of one byte",
            span=source.span(ranges[0][0], data_size),
            expected="the next start_byte equal to this end_byte",
            actual="one more",
        )
    # `at` is where the members so far end, `holder` the one that ends there.
    at, holder = 0, -1
    for start, end, ordinal in ranges:
        if start > at and not (inclusive and start - at == 1):
            yield checks.GAP.finding(
                _after(index, holder), span=source.span(at, start), actual=counted(start - at, "bytes")
            )
        elif start < at and start != end:  # an empty file has no bytes to share
            yield checks.OVERLAP.finding(
                f"{shorten(index.names[holder], 60)!r} and {shorten(index.names[ordinal], 60)!r}",
                span=source.span(start, min(at, end)),
                field_path=f"files[{ordinal}]",
                actual=counted(min(at, end) - start, "bytes"),
            )
        if end > at:
            at, holder = end, ordinal
    if at < data_size and not inclusive:
        yield checks.DEAD_TAIL.finding(
            _after(index, holder), span=source.span(at, data_size), actual=counted(data_size - at, "bytes")
        )


def _after(index: Index, holder: int) -> str:
    """Where a gap is: the file before it (its ordinal, -1 for none)."""
    return f"after {shorten(index.names[holder], 60)!r}" if holder >= 0 else "before the first file"


def ends_are_inclusive(ranges: list[tuple[int, int, int]], data_size: int) -> bool:
    """Whether exactly one byte is missing after every one of two or more files."""
    if len(ranges) < 2 or ranges[0][0] != 0:
        return False
    starts = [start for start, _, _ in ranges[1:]] + [data_size]
    return all(start - end == 1 for start, (_, end, _) in zip(starts, ranges, strict=True))


def _check_names(archive: OpenChunk, index: Index, progress: Progress) -> Iterator[Finding]:
    """Check each name for lossy conversion, unsafe paths, and conflicts with other names on a file system."""
    where = archive.source.span(archive.data_size, archive.data_size + archive.index_size)
    # Names that are safe, to be compared with each other at the end.
    inner: list[tuple[str, int]] = []
    total = len(index.names)

    def facts(ordinal: int) -> dict[str, Any]:
        """Arguments of a finding about the name of an entry."""
        span, shown = where.sub(*index.key_span(ordinal)), shorten(index.names[ordinal], 60)
        return {"span": span, "field_path": f"files[{ordinal}]", "actual": shown}

    # Each name alone, then names against each other.
    for done, (ordinal, name) in enumerate(index.items()):
        if done % STEP == 0:
            progress(done, total, "entries")
        if "\ufffd" in name:
            yield checks.COLLAPSED_NAME.finding(**facts(ordinal))
        if has_lone_surrogate(name):
            yield checks.LONE_SURROGATE.finding(**facts(ordinal))
        else:
            try:
                safe_parts(name)
            except ExhumeError as error:
                yield checks.UNSAFE_NAME.finding(error.message, **facts(ordinal))
                continue
            inner.append((name, ordinal))
    for first, ordinal in clashes(inner):
        yield checks.NAME_CLASH.finding(
            f"{shorten(index.names[ordinal], 60)!r} and {shorten(index.names[first], 60)!r}",
            span=where.sub(*index.key_span(ordinal)),
            field_path=f"files[{ordinal}]",
        )
    progress(total, total, "entries")


def clashes(names: list[tuple[str, int]]) -> list[tuple[int, int]]:
    """Return `(first, ordinal)` for each name that is a directory of others, whose lowest ordinal is `first`.

    `names` are safe names with their ordinals.  They are sorted with a character for `/` that is before all others, so
    that a directory is followed by its members.  No prefixes of a name are made, since it may have thousands.  The
    result is in the order of `first`, with the longest directory first.
    """
    if not any("/" in name for name, _ in names):
        return []
    open_ones: list[tuple[str, int]] = []  # the names that the current one is in: key, ordinal
    lowest: list[int] = []  # of each, the lowest ordinal of a member; -1 without one
    found: list[tuple[int, int, int]] = []  # `first`, the name's length (negative: longest first), `ordinal`

    def close() -> None:
        """Leave the innermost open prefix, report its clash, and pass the lowest ordinal on to the outer one."""
        (key, ordinal), first = open_ones.pop(), lowest.pop()
        if first >= 0:
            found.append((first, -len(key), ordinal))
        least = ordinal if first < 0 else min(first, ordinal)
        if lowest:
            lowest[-1] = least if lowest[-1] < 0 else min(lowest[-1], least)

    for key, ordinal in sorted((name.replace("/", "\0") + "\0", ordinal) for name, ordinal in names):
        while open_ones:
            outer, _ = open_ones[-1]
            if key.startswith(outer):
                break
            close()
        open_ones.append((key, ordinal))
        lowest.append(-1)
    while open_ones:
        close()
    return [(first, ordinal) for first, _, ordinal in sorted(found)]


def has_lone_surrogate(name: str) -> bool:
    """Whether a name has no UTF-8 form."""
    if name.isascii():
        return False
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def index_order(index: Index) -> str:
    """The order of names in the index: `sorted` (Go), `insertion` (TypeScript), `both` or `other`.

    TypeScript writes the keys of a JavaScript object: names that are integers first, in ascending order, then the
    others as they were added.
    """
    names = index.names
    keys = list(map(sort_key, names))
    by_bytes = all(map(le, keys, keys[1:]))
    # The offsets show the order in which the files were added.  With a flawed entry they are not reliable: all count as
    # 0, so that `written` has the order of the index itself.
    starts = index.starts if not index.flaws else [0] * len(names)
    written = sorted(range(len(names)), key=lambda ordinal: (starts[ordinal], ordinal))
    as_added = insertion_order(names[ordinal] for ordinal in written) == names
    if by_bytes:
        return "both" if as_added else "sorted"
    return "insertion" if as_added else "other"
