"""The extract engine: members of any `MemberArchive` into a directory or tar stream; refused members are reported.

A member is a named byte string of an archive.  Its place is its index in the list of chosen names.  Members that are
stored uncompressed, or that share a compressed stream, are read in batches of neighbors; a thread works on one batch.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from itertools import chain, islice, repeat
from operator import sub
from typing import TYPE_CHECKING, Any

from exhume.archive import MemberArchive, Progress, no_progress
from exhume.errors import ExhumeError, OutputExistsError, SourceError
from exhume.io.files import keep_freed_memory
from exhume.io.parallel import map_ordered
from exhume.io.source import COALESCE_GAP, Source
from exhume.limits import cpu_count
from exhume.tuples import NamedTuple

if TYPE_CHECKING:
    from exhume.io.output.tree import OutputTree, TarSink

SMALL = 256 << 10
"""Members up to this size are batched; larger ones are decoded, or copied inside the kernel, one at a time."""

BATCH_SIZE = 1 << 20
"""Bytes of a local archive, or of a stream that is decoded, that one batch reads."""

BATCH_COUNT = 512
"""Members in one batch."""

LARGE = 16 << 20
"""A larger member that is decoded, and would keep one thread busy after all others, is decoded by all threads."""

Reader = Callable[[int, int], bytes]
"""Reads the bytes `[start, end)` of a source, or of a stream that is decoded."""


@dataclass(slots=True)
class ExtractReport:
    """Counts of extracted members, and the others with the reason."""

    extracted: int = 0
    bytes: int = 0
    refused: list[tuple[str, ExhumeError]] = field(default_factory=list)  # name of a member, reason

    @property
    def ok(self) -> bool:
        """Whether every chosen member was written."""
        return not self.refused

    def to_dict(self) -> dict[str, Any]:
        """The JSON form documented for `exhume extract --json`."""
        return {
            "extracted": self.extracted,
            "bytes": self.bytes,
            "refused": [
                {
                    "name": name,
                    "code": error.code,
                    "message": error.message,
                    "span": error.span and error.span.to_dict(),
                }
                for name, error in self.refused
            ],
        }


def extract(
    archive: MemberArchive,
    output: OutputTree | TarSink,
    names: Iterable[str] | None = None,
    *,
    jobs: int = 1,
    progress: Progress = no_progress,
) -> ExtractReport:
    """Write members (all of them, or `names`) to `output`.

    Members whose name is unsafe, whose bytes are damaged, or that clash with existing files are left out and reported.
    A failure of the output itself (disk full) raises `SourceError`.  Small members that are adjacent in the archive, or
    in a stream that has to be decoded, are read together and written in one pass.
    """
    chosen = list(archive.names() if names is None else names)
    report = ExtractReport()
    refused: list[tuple[int, ExhumeError]] = []  # (place of the member, reason)
    done = 0  # members that were written or refused

    def alone(place: int, data: memoryview | None = None, threads: int = 1) -> _Result:
        """Extract one member, whose bytes are `data` if they were read already; raises only errors of the output."""
        try:
            return 1, _write(archive, output, chosen[place], data, threads), []
        except ExhumeError as error:
            if isinstance(error, SourceError) and not isinstance(error, OutputExistsError):
                raise
            return 0, 0, [(place, error)]

    def run(task: _Task) -> _Result | _LargeMember:
        """Extract a task's members and return their count, their bytes and the failures.

        A large member is returned as it is, for the caller to extract.
        """
        match task:
            case _LookupFailure(place, error):
                return 0, 0, [(place, error)]
            case _LargeMember():
                return task
            case _Batch():
                data = _load(archive, task, chosen)
                if data is not None:
                    return task.write(output, chosen, data)
                # Something is damaged: read one by one to find which members, and why.
                written, sizes, failed = zip(*(alone(one.place) for one in task.members), strict=True)
                return sum(written), sum(sizes), [one for part in failed for one in part]
        return alone(task)  # the place of one member

    keep_freed_memory()  # buffers of batches are allocated again without new pages from the system
    if names is None and jobs == 1:
        archive.will_read_all()

    with ExitStack() as threads:
        found: Iterable[_Result | _LargeMember]
        # Files may be written in any order, by all threads; a tar stream only in the order of the names, by this one.
        if output.any_order:
            found = threads.enter_context(closing(map_ordered(run, _plan(archive, chosen, jobs), jobs)))
        else:
            read = threads.enter_context(closing(read_ahead(archive, chosen, jobs)))
            found = map(alone, range(len(chosen)), read, repeat(jobs))
        progress(0, len(chosen), "members")
        for result in found:
            written, size, failed = alone(result.place, None, jobs) if isinstance(result, _LargeMember) else result
            report.extracted += written
            report.bytes += size
            refused += failed
            done += written + len(failed)
            progress(done, len(chosen), "members")
    refused.sort(key=lambda one: one[0])
    report.refused = [(chosen[place], error) for place, error in refused]
    return report


_Result = tuple[int, int, list[tuple[int, ExhumeError]]]
"""Members written, their bytes, and what went wrong with others (each with its place in the list of names)."""


class _LookupFailure(NamedTuple):
    """A member that cannot even be looked up."""

    place: int
    error: ExhumeError


class _LargeMember(NamedTuple):
    """A member that all threads may decode together."""

    place: int
    size: int


class _Member(NamedTuple):
    """A small member: its place in the list of names, and its range in the source or stream."""

    place: int
    start: int
    end: int

    @property
    def size(self) -> int:
        """Bytes."""
        return self.end - self.start


@dataclass(slots=True)
class _Batch:
    """Neighboring small members: one read, one pass of file creation.

    All members are in `[start, end)` of the source or stream that `read` reads.
    """

    read: Reader
    start: int
    end: int
    members: list[_Member] = field(default_factory=list)
    decoded: bool = False  # whether `read` decodes: its result is checked member by member

    def write(self, output: OutputTree | TarSink, chosen: list[str], data: bytes) -> _Result:
        """Write the members of the batch, whose bytes are `data`."""
        assert output.any_order
        base = self.start
        ranges = [(chosen[one.place], one.start - base, one.end - base) for one in self.members]
        errors = output.write_batch(ranges, data)  # an error or None for each member
        size = sum(one.size for one in self.members)
        if not any(errors):
            return len(self.members), size, []
        failed = [(member, error) for member, error in zip(self.members, errors, strict=True) if error is not None]
        size -= sum(member.size for member, _ in failed)
        return len(self.members) - len(failed), size, [(member.place, error) for member, error in failed]


def _load(archive: MemberArchive, batch: _Batch, chosen: list[str]) -> bytes | None:
    """Return the bytes of a batch; None if reading fails, or a checksum does not match of a member that was decoded."""
    try:
        data = batch.read(batch.start, batch.end)
        if batch.decoded:
            view = memoryview(data)
            for one in batch.members:
                archive.check_member(chosen[one.place], view[one.start - batch.start : one.end - batch.start])
    except ExhumeError:
        return None
    return data


_Task = int | _LookupFailure | _LargeMember | _Batch
"""A piece of work for one thread; an `int` is the place of a member that is handled alone."""


def _plan(archive: MemberArchive, chosen: list[str], jobs: int) -> Iterator[_Task]:
    """Tasks for all chosen members; small ones are batched in the order of their bytes."""
    stored_together = archive.stored_ranges(chosen)  # None unless all are stored as they are, in one source
    if stored_together is not None:
        source, starts, ends = stored_together
        if _in_order(starts, ends):
            yield from _plan_in_order(chosen, source, starts, ends)
            return
    others: list[_Task] = []
    small = sorted(_locate(archive, chosen, others), key=_place_of)
    large = [task for task in others if isinstance(task, _LargeMember)]
    # A thread's share of all bytes: only a member above it needs all threads; others are decoded by one thread each.
    share = (sum(one.member.size for one in small) + sum(task.size for task in large)) // (jobs or cpu_count())
    yield from (task.place if isinstance(task, _LargeMember) and task.size <= share else task for task in others)
    yield from _batches(small)


class _Stream(NamedTuple):
    """A stream of small members: its number, how to read it, how much at a time, and whether it is decoded."""

    number: int
    read: Reader
    most: int
    decoded: bool


class _Located(NamedTuple):
    """A small member and the stream that it is in."""

    member: _Member
    stream: _Stream


def _place_of(found: _Located) -> tuple[int, int, int]:
    """Return the sort key of a member: its stream, and its range there."""
    return found.stream.number, found.member.start, found.member.end


def _locate(archive: MemberArchive, chosen: list[str], others: list[_Task] | None = None) -> Iterator[_Located]:
    """Yield each small member with the stream that it is in.

    Members above `SMALL` bytes, and those that cannot be located, go to `others` as tasks (None: they are left out).
    """
    streams: dict[Reader, _Stream] = {}
    for place, name in enumerate(chosen):
        task: _Task = place  # unless it is found in a stream, the member is handled alone
        # `found`: how to read the source or the decoded stream, and the member's range in that.
        try:
            stored = archive.stored_range(name)  # None: it has to be decoded
            if stored is None:
                found, piece = archive.decoded_range(name), 0
            else:
                source, start, end = stored
                # (`cost.piece`: fewest bytes that a read of a remote source should fetch at once; locally 0.)
                found, piece = (source.read_range, start, end), source.cost.piece
        except ExhumeError as error:
            found, task = None, _LookupFailure(place, error)
        if found is not None:
            read, start, end = found
            if end - start <= SMALL:
                stream = streams.get(read)
                if stream is None:
                    stream = streams[read] = _Stream(len(streams), read, max(BATCH_SIZE, piece), stored is None)
                yield _Located(_Member(place, start, end), stream)
                continue
            if stored is None and end - start > LARGE:
                task = _LargeMember(place, end - start)
        if others is not None:
            others.append(task)


def _batches(small: Iterable[_Located]) -> Iterator[_Batch]:
    """Batches of adjacent members from `_locate`, in order."""
    batch: _Batch | None = None
    for member, stream in small:
        # Another stream, an earlier place, too many bytes, a gap that is not worth reading, or too many members.
        if (
            batch is None
            or batch.read != stream.read
            or member.start < batch.start
            or member.end - batch.start > stream.most
            or member.start - batch.end > COALESCE_GAP
            or len(batch.members) >= BATCH_COUNT
        ):
            if batch is not None:
                yield batch
            batch = _Batch(stream.read, member.start, member.start, decoded=stream.decoded)
        batch.end = max(batch.end, member.end)
        batch.members.append(member)
    if batch is not None:
        yield batch


def _in_order(starts: Sequence[int], ends: Sequence[int]) -> bool:
    """Whether members are small and follow each other closely, in the order of the names: the usual case.

    `starts` and `ends` are their places in the source.
    """
    if not starts:
        return True
    gaps = map(sub, islice(starts, 1, None), ends)
    sizes = list(map(sub, ends, starts))
    return min(sizes) >= 0 and max(sizes) <= SMALL and all(0 <= gap <= COALESCE_GAP for gap in gaps)


def _plan_in_order(chosen: list[str], source: Source, starts: Sequence[int], ends: Sequence[int]) -> Iterator[_Batch]:
    """Batches of members for which `_in_order` holds, made without examining each member.

    A batch that is at least half full ends with a directory: the system locks a directory while it creates a file
    there, and so two threads seldom wait for each other.
    """
    most = max(BATCH_SIZE, source.cost.piece)
    first, count = 0, len(chosen)
    while first < count:
        limit = min(first + BATCH_COUNT, count)
        stop = max(first + 1, bisect_right(ends, starts[first] + most, first, limit))
        if stop < count:
            folder = chosen[stop].rpartition("/")[0] + "/"
            cut = stop
            while cut > first and chosen[cut - 1].startswith(folder):
                cut -= 1
            if cut - first >= (stop - first) // 2:
                stop = max(cut, first + 1)
        members = list(map(_Member, range(first, stop), starts[first:stop], ends[first:stop]))
        yield _Batch(source.read_range, starts[first], ends[stop - 1], members)
        first = stop


def read_ahead(archive: MemberArchive, chosen: list[str], jobs: int) -> Generator[memoryview | None]:
    """Yield the bytes of each member, read and checked by `jobs` threads; None for one that is large or damaged.

    Closing the generator ends the threads.
    """

    def load(batch: _Batch) -> tuple[_Batch, bytes | None]:
        """Return a batch with its bytes, None if they cannot be read, in a thread."""
        return batch, _load(archive, batch, chosen)

    done = 0
    # (`leave`: an interruption need not wait for reads.)
    for batch, data in map_ordered(load, _batches(_locate(archive, chosen)), jobs, leave=True):
        view = None if data is None else memoryview(data)
        # Members between those of batches are not in any: None for each.
        for one in batch.members:
            yield from repeat(None, one.place - done)
            yield view[one.start - batch.start : one.end - batch.start] if view is not None else None
            done = one.place + 1
    yield from repeat(None, len(chosen) - done)


def checked_pieces(archive: MemberArchive, name: str, size: int, jobs: int = 1) -> Iterable[bytes]:
    """Yield the bytes of a member for a stream, which cannot take bytes back: a small member is read completely first.

    Raises the error of the member: at once, unless it is large and its beginning can be read.
    """
    pieces = archive.iter_member(name, jobs=jobs)
    if size <= SMALL:
        return list(pieces)
    return chain((next(pieces, b""),), pieces)


def _write(archive: MemberArchive, output: OutputTree | TarSink, name: str, data: memoryview | None, jobs: int) -> int:
    """Write one member and return how many bytes it has.

    `data`: its content for a tar stream, if it was loaded already.  (A tar stream has no `any_order`: it is written
    from memory or in chunks, while a directory can copy stored bytes inside the kernel.)
    """
    if data is not None:
        assert not output.any_order
        return output.write(name, len(data), (data,))
    entry = archive.stat(name)
    if entry.kind == "directory":
        output.make_directory(name.rstrip("/"))
        return 0
    if not output.any_order:
        size = entry.size or 0
        return output.write(name, size, checked_pieces(archive, name, size, jobs))
    stored = archive.stored_range(name)
    if stored is not None:
        return output.copy(name, *stored)
    return output.write(name, archive.iter_member(name, jobs=jobs))
