"""A log in chunks for several processes or threads: the results of the chunks, in order.

Threads share the batches of a query: the caller puts index entries in order, threads read the messages.  Processes
share time ranges (spans): their results are joined in the order of time.  A process opens the log again, by the paths
of its files.

A log's messages are in split files, each with an index of times.  A query is given by the arguments of
`ArkArchive.messages`; a `Query` object is one pass over its messages, and a subclass makes something of each batch.  A
task is (batch, `numbers`, `pieces`): merged entries of splits, each with a cursor; for each entry, in order, the number
of its cursor; and the entries by cursor.  A latched message is one from before the start of the query that is repeated
at its beginning.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, closing
from copy import copy
from functools import partial
from itertools import chain, islice, pairwise
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from exhume.errors import ExhumeError
from exhume.findings import Finding
from exhume.formats.ark.filters import TIME_MAX
from exhume.formats.ark.layout import entry_time
from exhume.formats.ark.merge import Batch
from exhume.formats.ark.messages import ArkMessage
from exhume.formats.ark.query import Query, SplitCursor, Task, messages
from exhume.formats.ark.splits import IndexBlock
from exhume.io.local import LocalTree
from exhume.io.parallel import map_ordered
from exhume.limits import cpu_count
from exhume.tuples import NamedTuple

if TYPE_CHECKING:
    from exhume.formats.ark.log import ArkLog, SplitReference

R = TypeVar("R")  # a result
T = TypeVar("T")  # an item of work

CHUNK_MESSAGES: Final = 1 << 13
"""Most messages of the chunk of a log that a process reads at a time."""
CHUNK_BYTES: Final = 4 << 20
"""Most bytes of their stored messages."""

MIN_CHUNKS: Final = 8
"""Logs with at most this many chunks are read by one process: starting others would take longer."""

SAMPLE_STEP: Final = 1 << 11
"""Every `SAMPLE_STEP`-th entry of an index is examined to find out where chunks may end."""

BATCH: Final = 256
"""Messages per result of `make_each` with one process."""


def map_processes(function: Callable[[T], R], items: Iterable[T], jobs: int) -> Generator[R]:
    """Map in `jobs` processes as `exhume.io.processes` does, which is imported if there are several."""
    if (jobs or cpu_count()) == 1:
        yield from map(function, items)
        return
    from exhume.io import processes

    yield from processes.map_processes(function, items, jobs)


def map_pieces(function: Callable[[T], R], items: Iterable[T], jobs: int) -> Iterator[R]:
    """Map in `jobs` processes (see `map_processes`), or in this process alone if there are too few items."""
    source = iter(items)
    first: list[T] = []
    if (jobs or cpu_count()) > 1:
        try:
            first.extend(islice(source, MIN_CHUNKS + 1))
        except Exception:  # an error of `items` comes after the results of the items before it
            yield from map(function, first)
            raise
    yield from map_processes(function, chain(first, source), jobs if len(first) > MIN_CHUNKS else 1)


def is_reopenable(log: ArkLog) -> bool:
    """Whether another process can open the log: its files are in a directory of this machine."""
    return isinstance(log.root, LocalTree) and log.single_split is None


def is_packed(log: ArkLog) -> bool:
    """Whether a column is compressed.  If none is, passing messages to another process costs more than reading them."""
    return any(channel.compression.strip().lower() not in ("", "none", "null") for channel in log.channels())


class ChunkResult(NamedTuple, Generic[R]):
    """The results of a chunk, for its messages before `error`, if there is one; `findings` are of skipped messages."""

    value: R
    findings: list[Finding]
    error: ExhumeError | None


class UntilError:
    """Messages up to the first that cannot be read; `error` is then why.  `ended` is whether there are no more."""

    def __init__(self, found: Iterable[ArkMessage]) -> None:
        self._found = iter(found)
        self.error: ExhumeError | None = None
        self.ended: bool = False

    def __iter__(self) -> Iterator[ArkMessage]:
        return self

    def __next__(self) -> ArkMessage:
        """Return the next message; an error ends the iteration, and is kept for the caller."""
        try:
            return next(self._found)
        except ExhumeError as error:
            self.error, self.ended = error, True
            raise StopIteration from None
        except StopIteration:
            self.ended = True
            raise


Read = Callable[["ArkLog", dict[str, Any], list[Finding]], Iterator[R]]
"""The results for the messages of a query, batch by batch and in order, up to the error that ends it."""


def _read_messages(
    make: Callable[[Iterable[ArkMessage]], R],
    batch_size: int | None,
    log: ArkLog,
    query: dict[str, Any],
    findings: list[Finding],
) -> Iterator[R]:
    """Yield `make(messages)` for batches of `batch_size` messages (None: all in one).

    An error is raised after the batch with the messages before it.
    """
    found = UntilError(messages(log, **query, findings=findings))
    while not found.ended:
        yield make(islice(found, batch_size))
    if found.error is not None:
        raise found.error


def _collected(values: Iterable[R], findings: list[Finding]) -> ChunkResult[list[R]]:
    """All of the values, up to an error."""
    held: list[R] = []
    try:
        for value in values:
            held.append(value)  # noqa: PERF402 - what there is before an error is kept
    except ExhumeError as error:
        return ChunkResult(held, findings, error)
    return ChunkResult(held, findings, None)


class _TimeRangeTask(Generic[R]):
    """Task that reads one time range in a worker process. Picklable."""

    def __init__(self, log: ArkLog, read: Read[R], query: dict[str, Any]) -> None:
        self._log, self._read, self._query = log, read, query

    def __call__(self, span: tuple[int, int]) -> ChunkResult[list[R]]:
        """Read the messages of one half-open time range."""
        findings: list[Finding] = []
        start, stop = span
        query = {**self._query, "start_ns": start, "stop_ns": stop, "latched": False}
        return _collected(self._read(self._log, query, findings), findings)


class _BatchTask(Generic[R]):
    """The work of a thread on one batch of a query."""

    def __init__(self, query: Query) -> None:
        self._query = query

    def __call__(self, task: Task | ExhumeError) -> ChunkResult[list[R]]:
        """Return the results of a batch; an error instead of a task is a split that was skipped."""
        if isinstance(task, ExhumeError):
            return ChunkResult([], [Finding.from_error(task)], None)
        findings: list[Finding] = []
        query = copy(self._query)
        query.findings = findings
        batch, numbers, pieces = task
        with ExitStack() as stack:
            return _collected(self._values(query, batch, numbers, pieces, stack), findings)

    def _values(
        self, query: Query, batch: Batch, numbers: list[int], pieces: list[IndexBlock], stack: ExitStack
    ) -> Iterator[R]:
        """Yield the results of one batch, read with cursors of this task's own, which `stack` closes."""
        cursors = []
        for cursor in batch.cursors:
            assert isinstance(cursor, SplitCursor)
            cursors.append(cursor.apart(query))
            stack.callback(cursors[-1].close_split)
        yield from query.batch_messages(batch._replace(cursors=tuple(cursors)), numbers, pieces)


def make_each(
    log: ArkLog,
    make: Callable[[Iterable[ArkMessage]], R],
    query: dict[str, Any],
    *,
    findings: list[Finding],
    jobs: int = 1,
) -> Iterator[R]:
    """Yield `make(messages)` for consecutive batches of the messages of `log.messages(**query)`, in order.

    `jobs` are processes; with several, `make` and its results have to be picklable. `make` has to consume all messages
    of its batch. Skipped messages add to `findings`. A damaged message raises its error after the results before it.
    """
    # One process makes a result for each BATCH messages; several make one for each time range.
    alone, shared = (partial(_read_messages, make, size) for size in (BATCH, None))
    if (jobs or cpu_count()) == 1:
        return alone(log, query, findings)
    return read_spans(log, shared, query, findings=findings, jobs=jobs, whole=alone)


def read_each(
    log: ArkLog, kind: Callable[..., Query], query: dict[str, Any], *, findings: list[Finding], jobs: int = 1
) -> Iterator[Any]:
    """Yield the results of a kind of `Query` for all of `log.messages(**query)`, in order.

    `jobs` are threads: the kernel does the work, and compiled it releases the interpreter's lock. A log that is not in
    a directory of this machine is read by one. Skipped messages add to `findings`. Raises as `make_each` does.
    """
    return read_query(kind, log, query, findings, jobs if is_reopenable(log) else 1)


def read_query(
    kind: Callable[..., Query], log: ArkLog, query: dict[str, Any], findings: list[Finding], jobs: int = 1
) -> Iterator[Any]:
    """Yield the results of a query of the class `kind` for `log`, in time order, with `jobs` threads.

    0 jobs: one for each core. `query` has the keyword arguments of `ArkArchive.messages`. Latched messages from before
    `start_ns` come first; with `reverse`, last.
    """
    start = query.get("start_ns")
    found = kind(
        log,
        query.get("topics"),
        start,
        query.get("stop_ns"),
        True,  # decode
        bool(query.get("reverse")),
        query.get("on_error", "raise"),
        findings,
    )
    references = log.readable(query.get("on_missing"))
    replays = start is not None and bool(query.get("latched", True))
    if replays and not found.reverse:
        yield from found.latched(references)
    if (jobs or cpu_count()) == 1:
        for batch_messages in found.run(references):
            yield from batch_messages
    else:
        yield from _results_until_error(map_ordered(_BatchTask[Any](found), found.tasks(references), jobs), findings)
    if replays and found.reverse:
        yield from found.latched(references)


def _results_until_error(pieces: Generator[ChunkResult[list[R]]], findings: list[Finding]) -> Iterator[R]:
    """Yield the results of the pieces, then raise the error of the first one that failed."""
    with closing(pieces):
        for made in pieces:
            findings += made.findings
            yield from made.value
            if made.error is not None:
                raise made.error


def read_spans(
    log: ArkLog,
    read: Read[R],
    query: dict[str, Any],
    *,
    findings: list[Finding],
    jobs: int = 1,
    whole: Read[R] | None = None,
) -> Iterator[R]:
    """Yield the results of `read` for consecutive time ranges of a query, made in `jobs` processes.

    The ranges do not depend on `jobs`. A log that is too small to be divided, or cannot be opened again, is one range,
    read by `whole` if that is given.
    """
    spans = _spans(log, query) if is_reopenable(log) else None
    if spans is None:
        yield from (whole or read)(log, query, findings)
        return
    start, reverse = query.get("start_ns"), bool(query.get("reverse"))
    replayed = {**query, "stop_ns": start}  # an empty range, so that only latched messages are read
    if start is not None and not reverse:
        yield from read(log, replayed, findings)
    yield from _results_until_error(
        map_processes(_TimeRangeTask(log, read, query), reversed(spans) if reverse else spans, jobs), findings
    )
    if start is not None and reverse:
        yield from read(log, replayed, findings)


def _spans(log: ArkLog, query: dict[str, Any]) -> list[tuple[int, int]] | None:
    """Divide a query into half-open time ranges of similar cost, from samples of the indexes.

    None if it is too small, or an index is damaged or not sorted. Raises as `log.messages` does for missing splits.
    """
    start, stop = query.get("start_ns") or 0, query.get("stop_ns")
    last = TIME_MAX if stop is None else stop - 1
    samples: list[tuple[int, float]] | None = _samples(log, query, start, last)
    if samples is None or sum(share for _, share in samples) <= MIN_CHUNKS:
        return None
    # End a range when its samples add up to a chunk, but not between messages of the same time.
    borders, filled = [start], 0.0
    for time, share in sorted(samples):
        if filled >= 1 and time > borders[-1]:
            borders.append(time)
            filled = 0.0
        filled += share
    return list(pairwise([*borders, last + 1]))


def _samples(log: ArkLog, query: dict[str, Any], start: int, last: int) -> list[tuple[int, float]] | None:
    """The times in `[start, last]` of every `SAMPLE_STEP`-th message, each with its share of a chunk.

    None if an index is damaged or not sorted.
    """
    # Not to be run: it only decides which channels are wanted.  `False`: neither decoded nor in reverse.
    narrowed = Query(log, query.get("topics"), start, query.get("stop_ns"), False, False, "raise", None)
    samples: list[tuple[int, float]] = []
    for each in log.readable(query.get("on_missing")):
        if not any(narrowed.accepts(each, channel) for channel in each.channels.values()):
            continue
        try:
            facts = log.facts(each.identifier)
        except ExhumeError:
            return None
        if not facts.is_sorted:  # each chunk would sort all of it
            return None
        message_size = facts.file_size / max(1, facts.item_count)
        share = SAMPLE_STEP * max(1 / CHUNK_MESSAGES, message_size / CHUNK_BYTES)  # chunks between two samples
        samples += ((time, share) for time in _sampled_times(log, each, facts.item_count) if start <= time <= last)
    return samples


def _sampled_times(log: ArkLog, reference: SplitReference, count: int) -> Iterator[int]:
    """The time of every `SAMPLE_STEP`-th entry of a split's index."""
    split = log.open_split(reference.identifier)
    try:
        for number in range(0, count, SAMPLE_STEP):
            yield entry_time(split.read_entries(number, number + 1), 0)
    finally:
        log.release(split)
