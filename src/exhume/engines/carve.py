"""The carve engine: finds archives inside raw bytes, called the image: a disk image, a memory dump, any file.

A signature is a fixed byte string (magic) by which a format is recognized, `offset` bytes from the start of an archive.
A hit is an occurrence of it; the format's `locate` examines the bytes around it.  A find is an archive that was
confirmed there.

One pass over the image looks for the signatures of every format; each hit goes to the format's own `locate`, which
finds the exact span and verifies it.  pyperscan searches where it is installed, the kernel otherwise.  Memory is
bounded by one window for each job, whatever the size of the image.
`origin` of a source is the offset of its first byte in the outermost file.
"""

from __future__ import annotations

import dataclasses
import threading
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

from exhume.archive import Progress, no_progress
from exhume.errors import ExhumeError, QueryError, SourceError, Span
from exhume.findings import NOT_CHECKED, Finding
from exhume.io import activity
from exhume.io.opening import Target, open_target
from exhume.io.parallel import map_ordered
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.limits import DEFAULT_LIMITS, Limits, cpu_count
from exhume.native.kernel import find_patterns
from exhume.recovery import CarvedArchive, CarveVerdict, VerifiedBy
from exhume.registry import Format, formats, get_format
from exhume.tuples import NamedTuple


class Scanner:
    """Finds every occurrence of several byte strings in one pass over windows of bounded size.

    Windows overlap by the longest pattern less one byte, and a hit is reported by the window that holds its first byte,
    so no hit is lost or doubled at a border.
    """

    def __init__(self, patterns: Sequence[bytes], *, engine: str | None = None) -> None:
        """Compile the patterns.

        `engine` is `pyperscan` (an error without that package) or None for the best available.
        """
        if not patterns or not all(patterns):
            raise ValueError("patterns must not be empty")
        self._patterns = list(patterns)
        self._overlap = max(map(len, patterns)) - 1  # bytes
        # None: the kernel searches.
        self._database: _Hyperscan | None = _hyperscan(self._patterns) if engine in (None, "pyperscan") else None
        if engine == "pyperscan" and self._database is None:
            from exhume.errors import MissingDependencyError

            raise MissingDependencyError("the fast scanner needs the extra carve: pip install 'exhume[carve]'")

    @property
    def engine(self) -> str:
        """Which engine runs: `pyperscan` or `kernel`."""
        return "pyperscan" if self._database is not None else "kernel"

    def scan(
        self, source: Source, start: int, stop: int, window: int, progress: Progress = no_progress
    ) -> Iterator[tuple[int, int]]:
        """`(offset, pattern index)` of every occurrence that starts in `[start, stop)`, in order of offset.

        Holes of a sparse file are not read, but for the bytes in which a pattern with leading zeros can start.
        """
        source.will_read(start, min(stop + self._overlap, source.size))
        at = start
        for first, last in self._stored(source, start, stop):  # ranges that are not holes
            at = max(at, first - self._overlap)
            while at < min(last, stop):
                size = min(window, min(last, stop) - at)
                data = source.read_up_to(at, size + self._overlap)
                for hit, index in self.find(data):
                    if hit < size:  # otherwise the next window reports it
                        yield at + hit, index
                at += size
                progress(at - start, stop - start, "bytes")
        if at < stop:  # the rest is a hole
            progress(stop - start, stop - start, "bytes")

    def _stored(self, source: Source, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """Return the ranges to search for patterns that start in `[start, stop)`: those that are not in a hole.

        A hole reads as zeros, so all of the range is searched if a pattern consists of zeros.
        """
        if all(map(any, self._patterns)):
            return source.stored(start, min(stop + self._overlap, source.size))
        return iter([(start, stop)])

    def find(self, data: bytes) -> list[tuple[int, int]]:
        """`(offset, pattern index)` of every occurrence in `data`, in ascending order; offsets count from its start."""
        if self._database is not None:
            lengths = [len(pattern) for pattern in self._patterns]
            return sorted((end - lengths[index], index) for index, end in self._database.scan(data))
        return find_patterns(data, self._patterns)


class _Hyperscan:
    """A thin wrapper of pyperscan: `scan(data)` yields `(pattern index, end)` for each match."""

    def __init__(self, patterns: Sequence[bytes]) -> None:
        """Compile literal patterns; the tag of each is its index."""
        import pyperscan

        flags = pyperscan.Flag.DOTALL
        texts = [b"".join(b"\\x%02x" % byte for byte in pattern) for pattern in patterns]  # as regular expressions
        made = [pyperscan.Pattern(text, flags, tag=number) for number, text in enumerate(texts)]
        self._pyperscan = pyperscan
        self._database: Any = pyperscan.BlockDatabase(*made)
        self._hits: list[tuple[int, int]] = []  # of the current scan
        self._scanner = self._database.build(self._hits, self._on_match)

    def _on_match(self, hits: list[tuple[int, int]], index: int, start: int, end: int) -> Any:
        """Collect a match, and continue.  pyperscan reports its end exactly, but not its start."""
        hits.append((index, end))
        return self._pyperscan.Scan.Continue

    def scan(self, data: bytes) -> list[tuple[int, int]]:
        """Return `(pattern index, end)` of each match in `data`."""
        self._hits.clear()
        self._scanner.scan(data)
        return list(self._hits)


_kept = threading.local()
"""The last database of each thread, with its patterns (a database serves one thread at a time)."""


def _hyperscan(patterns: Sequence[bytes]) -> _Hyperscan | None:
    """The database of these patterns: the last one that this thread built, because building one per file adds up."""
    if getattr(_kept, "patterns", None) != patterns:
        try:
            _kept.database = _Hyperscan(patterns)
        except ImportError:
            return None
        _kept.patterns = list(patterns)
    database: _Hyperscan = _kept.database
    return database


WINDOW = 1 << 20
"""Bytes of the image that are read and searched at a time: few enough to stay in the processor's cache."""

REMOTE_WINDOW = 8 << 20
"""Bytes per window of an image over a network, where each window is a request."""

PIECE = 8 << 20
"""Bytes of the image that one of several threads searches at a time.  It also examines the archives found there."""

UNREAD_CONFIDENCE = 0.5
"""Confidence of an archive that is recognized by its first bytes, but cannot be checked (limit or missing feature)."""

AHEAD = 64
"""Pieces per thread that may be done before an earlier one: looking into a large archive takes as long as many."""


def carve(
    target: Target,
    *,
    only: Collection[str] = (),
    start: int = 0,
    stop: int | None = None,
    min_confidence: float = 0.0,
    limits: Limits = DEFAULT_LIMITS,
    progress: Progress = no_progress,
    storage_options: dict[str, Any] | None = None,
    jobs: int = 1,
) -> Iterator[CarvedArchive]:
    """Yield the archives inside a disk image, a memory dump or another archive, in order of offset.

    Args:
        target: Path, URL, bytes, binary file object or `Source` of the image; the first segment of a split raw image
            (`.000`, `.001`, `.aa`) stands for all of them.
        only: Ids of the formats to look for; if empty, all formats.
        start: First byte of `target` at which the mark of an archive may be: its start, but in CAF, LevelDB tables and
            Ark manifests a place near its end, so that these may start before it.
        stop: Byte before which the mark must be; None: the end.
        min_confidence: Leaves out what is less sure, 0 to 1.
        limits: What hostile input may cost.
        progress: Called with (done, total or None, unit).
        storage_options: Options for the fsspec file system of a URL.
        jobs: Threads, which search the image in chunks, with the same result; 0: one per core.

    Returns:
        The archives, nested ones marked, each with its exact span, counted from the first byte of the outermost file,
        and a verdict: complete, partial, damaged or incomplete.

    Raises:
        SourceError: Reading fails.
        UnrecognizedFormatError: One of `only` is not the name of a format.
        QueryError: `min_confidence` is out of range.
        TypeError: The target is a directory.

    Example:
        >>> image = bytes(1000) + Path("words.zs").read_bytes() + bytes(1000)
        >>> for found in exhume.carve(image):
        ...     print(found.format, found.span.start, found.verdict)
        zs 1000 complete
    """
    if not 0 <= min_confidence <= 1:
        raise QueryError("min_confidence: out of range", expected="0 to 1", actual=min_confidence)
    for name in only:
        get_format(name)
    how = {"only": only, "min_confidence": min_confidence, "limits": limits, "progress": progress, "jobs": jobs}
    return _carve(target, start, stop, storage_options, how)


def _carve(
    target: Target, start: int, stop: int | None, storage: dict[str, Any] | None, how: dict[str, Any]
) -> Iterator[CarvedArchive]:
    """Yield the archives in `[start, stop)` of the target, which is opened and closed here unless it is a source.

    `storage` are the options of fsspec for a URL, `how` the other arguments of `find`.  Raises `TypeError` for a
    directory.
    """
    image = open_target(target, storage_options=storage, is_image=True)
    if isinstance(image, Tree):
        raise TypeError("carving needs a file (a disk image, a dump), not a directory")
    end = image.size if stop is None else min(stop, image.size)
    try:
        yield from join(find(image, start=start, stop=end, **how))
    finally:
        if image is not target:
            image.close()


def find(
    image: Source,
    *,
    only: Collection[str] = (),
    start: int,
    stop: int,
    min_confidence: float = 0.0,
    limits: Limits = DEFAULT_LIMITS,
    progress: Progress = no_progress,
    jobs: int = 1,
) -> Iterator[CarvedArchive]:
    """The archives found by the signatures that begin in `[start, stop)`, in the order of the signatures, each once.

    Signatures may reach past `stop`, and archives may reach beyond both ends.  So the finds of adjacent ranges, joined
    in order, are those of the whole range, and `join` returns the same result for both.  That is how `jobs` threads
    (0: one per core) share the range.
    """
    wanted = [get_format(id) for id in only] or list(formats().values())
    wanted = [described for described in wanted if described.has("locate") and described.signatures]
    patterns = [(described, signature) for described in wanted for signature in described.signatures]
    own = threading.local()  # has the thread's scanner
    window = REMOTE_WINDOW if image.is_remote else WINDOW

    def search(first: int, last: int, progress: Progress = no_progress) -> Iterator[CarvedArchive]:
        """Yield the archives that start in bytes `[first, last)` of the image. Each thread has a scanner of its own."""
        if not hasattr(own, "scanner"):
            own.scanner = Scanner([signature.magic for _, signature in patterns])
        for hit, index in own.scanner.scan(image, first, last, window, progress):
            described, signature = patterns[index]
            begin = hit - signature.offset
            # Else the signature is so near the start of the image that its archive would begin before it.
            if begin >= 0:
                # `locate` gets the start of the archive, or, where the offset is not known, that of the signature.
                at = image.span(begin if signature.offset >= 0 else hit, hit + len(signature.magic))
                found = _locate(described, image, at, limits, jobs)
                if found is not None and found.confidence >= min_confidence:
                    yield found

    seen: set[tuple[str, int, int]] = set()
    for found in search(start, stop, progress) if jobs == 1 else _on_threads(search, start, stop, jobs, progress):
        if _key(found) not in seen:
            seen.add(_key(found))
            yield found


def _on_threads(
    search: Callable[[int, int], Iterator[CarvedArchive]], start: int, stop: int, jobs: int, progress: Progress
) -> Iterator[CarvedArchive]:
    """The finds of `search` in the chunks of a range, in order."""
    pieces = range(start, stop, PIECE)

    def one(at: int) -> list[CarvedArchive]:
        """Search `PIECE` bytes of the image, in a thread."""
        return list(search(at, min(at + PIECE, stop)))

    # (`leave`: an interruption need not wait for searches.)
    found = map_ordered(one, pieces, jobs, ahead=AHEAD * (jobs or cpu_count()), leave=True)
    for at, finds in zip(pieces, found, strict=True):
        progress(min(at + PIECE, stop) - start, stop - start, "bytes")
        yield from finds


class _OpenFind(NamedTuple):
    """A find that may contain the next ones, with its number among all."""

    number: int
    found: CarvedArchive


def join(finds: Iterable[CarvedArchive]) -> Iterator[CarvedArchive]:
    """Sort finds by offset, keep each archive once, and mark nested ones.

    A format without a leading magic is found by its end, later than archives that start after it, so all finds are read
    before the first is returned.
    """
    once = {_key(found): found for found in reversed(list(finds))}  # of equal finds, the first
    open_ones: list[_OpenFind] = []  # a stack: each ends no later than the one below it
    # By offset, the longer first, so that an archive comes after those that contain it.
    for number, found in enumerate(
        sorted(once.values(), key=lambda archive: (archive.offset, -archive.length, archive.format))
    ):
        while open_ones and open_ones[-1].found.end <= found.offset:
            open_ones.pop()
        # The innermost one that ends no earlier than this one.
        at = bisect_right(open_ones, -found.end, key=lambda one: -one.found.end) - 1
        # An archive does not contain another one of exactly the same bytes.
        while at >= 0 and (open_ones[at].found.offset, open_ones[at].found.end) == (found.offset, found.end):
            at -= 1
        result = dataclasses.replace(found, nested_in=open_ones[at].number if at >= 0 else None)
        # The extent of a damaged archive is not reliable: nothing counts as nested in it.
        if found.verdict is not CarveVerdict.DAMAGED:
            while open_ones and open_ones[-1].found.end < found.end:
                open_ones.pop()
            open_ones.append(_OpenFind(number, result))
        if activity.current is not None:  # `--audit` records the result
            activity.current.on_result("archive", result.to_dict())
        yield result


def _key(found: CarvedArchive) -> tuple[str, int, int]:
    """Return what identifies a find: format, offset and length."""
    return found.format, found.offset, found.length


def _locate(described: Format, image: Source, at: Span, limits: Limits, jobs: int) -> CarvedArchive | None:
    """Return the archive that the format finds at a signature; None if there is none.

    If a limit or a missing feature prevents the check, the signature alone is returned.
    """
    try:
        found: CarvedArchive | None = described.hook("locate")(image, at.start - image.origin, limits=limits, jobs=jobs)
    except SourceError:
        raise
    except NOT_CHECKED as error:
        unread = (Finding.from_error(error),)
        return CarvedArchive(described.id, at, CarveVerdict.INCOMPLETE, UNREAD_CONFIDENCE, unread, VerifiedBy.NONE)
    except ExhumeError:
        return None
    return found
