"""Every rule of the LevelDB family over a whole directory; never stops at the first finding.

A run here is a series of consecutive data blocks of a table; its survey is a fast check of all of them in the kernel.
A separator is the key of a block in the index: no key of the block is above it.  A block claims its bytes: bytes that
nothing claims, or two blocks, are a finding.

With `quick`, no entry is examined.  Spec: LevelDB doc/impl.md; the rules are in `checks`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator, Sequence
from itertools import islice, pairwise
from typing import Any

from exhume.archive import Progress, no_progress
from exhume.errors import ExhumeError, FormatError, Span
from exhume.findings import CappedFindings, Finding, Rule
from exhume.formats.leveldb import checks, layout
from exhume.formats.leveldb.blobs import BlobFile
from exhume.formats.leveldb.checks import Report
from exhume.formats.leveldb.comparators import Comparator
from exhume.formats.leveldb.database import Database
from exhume.formats.leveldb.files import DbFile
from exhume.formats.leveldb.kernel import LeveldbRows
from exhume.formats.leveldb.large import LargeBlock
from exhume.formats.leveldb.layout_facts import user_key
from exhume.formats.leveldb.manifest import replay
from exhume.formats.leveldb.model import Role, TableFile
from exhume.formats.leveldb.ranges import PIECE
from exhume.formats.leveldb.table import KEY, KNOWN_TYPES, Item, Table, property_number
from exhume.formats.leveldb.table_blocks import TableBlock
from exhume.formats.leveldb.table_index import PROPERTIES
from exhume.formats.leveldb.wire import BlockIndex, Handle
from exhume.io.activity import note_payloads
from exhume.io.parallel import map_ordered
from exhume.native import kernel
from exhume.native.kernel import BLOCK_BOMB
from exhume.tuples import NamedTuple

_TOP = (1 << 64) - 1
"""Items have this number minus the packed sequence number and type, so that the newest version sorts first."""


def verify_database(
    database: Database, *, quick: bool, jobs: int, progress: Progress = no_progress
) -> Iterator[Finding]:
    """Yield findings on the directory and the manifest, then on each log, then on each table.

    Damage in files that the database no longer uses is reported as warnings.
    """
    database.confirm_manifest()
    yield from database.problems
    orders = [database.order(family) for family in (database.manifest.families if database.manifest else (0,))]
    for name in dict.fromkeys(order.name for order in orders if not order.known):
        actual = name or "no name, and keys that are not in the order of bytes"
        yield checks.COMPARATOR.finding(span=Span(database.tree.name, 0, 0), actual=actual)
    last_sequence = yield from _verify_logs(database)
    yield from database.updates_in_place()
    yield from _verify_tables(_Rules(database, last_sequence, quick), jobs, progress)
    for file in database.files:
        if file.kind == "blob" and file.size is not None:
            blobs = _verify_blobs(database, file, quick=quick)
            yield from blobs if file.role is Role.LIVE else map(checks.unused, blobs)
    if not quick:
        yield from database.unresolved_findings(jobs)


def _verify_logs(database: Database) -> Generator[Finding, None, int | None]:
    """Yield findings on logs and old manifests, and return the last sequence number of the database.

    That is the number of the manifest or of a later log; None if it is unknown.
    """
    last = (database.manifest.last_sequence or 0) if database.manifest else None
    for file in database.files:
        if file.kind == "log":
            findings, highest = _verify_log(database, file)
            yield from findings
            if file.role is Role.LIVE:
                last = None if last is None or highest is None else max(last, highest)
        elif file.kind == "manifest" and file.role is not Role.LIVE:
            found = CappedFindings()
            source, report = database.source(file.name), checks.collector(found.append)
            _guard(found, lambda source=source, report=report: replay(source, report, database.limits))
            yield from map(checks.unused, found.findings())
    return last


def _verify_tables(rules: _Rules, jobs: int, progress: Progress) -> Iterator[Finding]:
    """Yield findings on each table.  Threads survey runs of data blocks in advance, of later tables, too."""
    database = rules.database
    tables = [file for file in database.files if file.kind == "table" and file.size is not None]
    known = {table.number: table for table in database.manifest.tables} if database.manifest else {}
    waiting: deque[TableVerifier] = deque()

    def block_runs() -> Iterator[_BlockRun]:
        """Yield the runs of all tables; each table's verifier is put in `waiting` before its first run."""
        for file in tables:
            verifier = TableVerifier(rules, file, known.get(file.number))
            waiting.append(verifier)
            yield from verifier.begin()

    surveys = map_ordered(rules.survey, block_runs(), jobs)
    for done, file in enumerate(tables, 1):
        first = next(surveys)  # every table has at least one run: its verifier is now in `waiting`
        findings = waiting.popleft().finish(first, surveys)
        yield from findings if file.role is Role.LIVE else map(checks.unused, findings)
        progress(done, len(tables), "tables")


def _verify_blobs(database: Database, file: DbFile, *, quick: bool) -> list[Finding]:
    """Check every checksum of a blob file, and the number of values in it; return the findings."""
    found = CappedFindings()
    report = checks.collector(found.append)
    blobs = BlobFile(database.source(file.name), database.limits)

    _guard(found, lambda: blobs.verify(report, quick=quick))
    return found.findings()


def _guard(found: CappedFindings, work: Any) -> None:
    """Run `work`, which adds to `found`; an exception becomes its last finding."""
    try:
        work()
    except ExhumeError as error:
        found.append(Finding.from_error(error))


def _verify_log(database: Database, file: DbFile) -> tuple[list[Finding], int | None]:
    """Return the findings on a log, and its last sequence number; None if its end was not read."""
    found, last = CappedFindings(), None
    try:
        last = database.load_log(file, checks.collector(found.append)).last_sequence
    except ExhumeError as error:
        found.append(Finding.from_error(error))
    return found.findings() if file.role is Role.LIVE else [*map(checks.unused, found.findings())], last


class _LastEntry(NamedTuple):
    """The last entry so far: its user key, 2^64 - 1 minus sequence and type, and its block."""

    key: bytes
    inverted: int
    block: Handle


class _BlockRun(NamedTuple):
    """Up to `PIECE` consecutive data blocks of a table; a worker thread surveys one run at a time."""

    file: DbFile
    stated: TableFile | None
    """The table's entry in the manifest, if it has one."""
    blocks: BlockIndex
    """The separator and the handle of each block."""


class _BlockRunSummary(NamedTuple):
    """Facts about a run of blocks that break no rule."""

    first: tuple[bytes, int]
    """User key and inverted number of the first entry, as in `_LastEntry`."""
    last: _LastEntry
    entries: int
    """Number of entries."""


class _Rules(NamedTuple):
    """Facts about a database that its tables are compared with."""

    database: Database
    last_sequence: int | None
    """The highest sequence number that an entry may have; None if it is unknown."""
    quick: bool

    def survey(self, run: _BlockRun) -> _BlockRunSummary | None:
        """Check the blocks of a run together, in the kernel; None if each must be examined, as one may have a fault."""
        rows = LeveldbRows()
        try:
            table = self.database.table(run.file)
            is_sound = table.comparator.is_bytewise and table.add_blocks(rows, run.blocks)
        except ExhumeError:
            return None
        facts = rows.facts() if is_sound else None
        if facts is None:
            return None
        if run.file.role is Role.LIVE:
            by_kind, _ = rows.tally()  # by status and type, and by place
            self.database.kinds.update(kind for _, kind in by_kind)
        # What the kernel does not compare: the range of keys and the sequence numbers in the manifest.
        first, last, highest_sequence = facts
        (first_key, _), (last_key, _) = first, last  # keys are with the inverted sequence number and type
        stated = run.stated
        if stated is not None and (first_key < user_key(stated.smallest) or last_key > user_key(stated.largest)):
            return None
        if self.last_sequence is not None and highest_sequence > self.last_sequence:
            return None
        handles = run.blocks.handles
        starts = map(table.source.origin.__add__, handles.offsets)
        note_payloads(table.source.name, starts, rows.lengths)
        return _BlockRunSummary(first, _LastEntry(*last, handles[-1]), len(rows))


class TableVerifier:
    """Checks one table against the rules of tables and against the manifest.

    `begin` checks all but the data blocks and returns these in runs, which `_Rules.survey` checks in worker threads;
    `finish` takes its result for each run.
    """

    def __init__(self, rules: _Rules, file: DbFile, stated: TableFile | None) -> None:
        """`stated` is the table's entry in the manifest; None without one."""
        self.file = file
        self.table: Table = rules.database.table(file)
        self.stated = stated
        self.last_sequence: int | None = rules.last_sequence
        self.quick: bool = rules.quick
        self.order: Comparator = self.table.comparator
        self.kinds: set[int] = rules.database.kinds  # types of entries in live files, of all tables together
        self.unread: bool = False
        """Whether some entries could not be read: then their number and range are not compared."""
        self.claimed: list[tuple[int, int, str]] = []
        """The (start, end, name) of each block and of the footer."""
        self.sound: list[_BlockRun] = []
        """Runs without findings; each claims its bytes as a whole, as if it were one block."""
        self.entries: int = 0  # those of the data blocks so far
        self._found = CappedFindings()  # on this table
        self._report: Report = checks.collector(self._found.append)  # adds to them
        self._facts: dict[str, bytes] = {}  # the properties of the table
        self._blocks: BlockIndex | None = None
        """The index, once everything but the data blocks was checked."""
        self._names_all = True
        """Whether the index names all data blocks, so that bytes outside the named blocks are a fault."""
        self._runs: list[_BlockRun] = []

    def report(self, rule: Rule, detail: str = "", **more: Any) -> None:
        """Report a broken rule."""
        self.unread |= rule in checks.UNREAD
        self._report(rule, detail, **more)

    def begin(self) -> list[_BlockRun]:
        """Check everything but the data blocks; return these in runs, at least one, which may be empty."""
        _guard(self._found, self._outline)
        blocks = self._blocks or BlockIndex.of(())
        self._runs = [
            _BlockRun(self.file, self.stated, blocks[at : at + PIECE]) for at in range(0, max(1, len(blocks)), PIECE)
        ]
        return self._runs

    def finish(self, first: _BlockRunSummary | None, others: Iterator[_BlockRunSummary | None]) -> list[Finding]:
        """Return the findings on the table, from the survey of its first run, and `others` that begin with its own."""
        mine = [first, *islice(others, len(self._runs) - 1)]
        if self._blocks is not None:
            _guard(self._found, lambda: self._examine(mine))
        return self._found.findings()

    def _outline(self) -> None:
        """Check everything but the data blocks, and read the index."""
        table, report = self.table, self.report
        footer = table.check_footer(report)
        if footer is None:
            return
        source = table.source
        if footer.checksum == "none":
            report(checks.NO_CHECKSUMS, span=source.span(0, source.size))
        # The meta blocks, then the index: each is read, and claims its bytes.
        self.claimed.append((footer.offset - source.origin, source.size, "footer"))
        self._claim(footer.metaindex, "metaindex")
        metaindex = table.metaindex(report)
        index = footer.index_handle or metaindex.get("rocksdb.index")
        if index is not None:
            self._claim(index, "index")
        for name, handle in metaindex.items():
            if handle != index:
                self._claim(handle, name)
                self._check_meta_block(name, handle)
        table.range_deletions(report)  # read for its findings
        self._facts = table.properties(checks.ignore)
        for name, handle in table.partitions(report):
            self._claim(handle, name)
            table.read_block(handle, report)
        naming = checks.RecordingReport(report)
        self._blocks = table.index(naming)
        self._names_all = not naming.unchecked

    def _examine(self, surveys: list[_BlockRunSummary | None]) -> None:
        """Examine the data blocks: runs that the survey found sound as a whole, others block by block."""
        previous: _LastEntry | None = None
        # A run that breaks no rule may still not follow the run before it.
        for run, seen in zip(self._runs, surveys, strict=True):
            if seen is None or (previous is not None and not self.table.follows(previous, seen.first)):
                previous = self._examine_run(run, previous)
            else:
                self.entries += seen.entries
                self.sound.append(run)
                previous = seen.last
        if not self.quick and not self.unread:
            self._check_range(previous)
            self._check_properties(self._facts)
        self._check_claims()

    def _examine_run(self, run: _BlockRun, previous: _LastEntry | None) -> _LastEntry | None:
        """Examine each block of a run; `previous` is the last entry before it. Return the last entry."""
        self._claim_blocks(run)
        read = self.table.read_blocks(run.blocks.handles, self.report)
        for (separator, handle), block in zip(run.blocks, read, strict=True):
            if block is None or self.quick:
                continue
            items, _ = self.table.block_items(block, 0, self.report)
            self._check_restarts(block)
            if items:
                self._check_items(block, items, previous, separator)
                key, inverted, *_ = items[-1]
                previous = _LastEntry(key, inverted, handle)
        return previous

    def _claim(self, handle: Handle, name: str) -> None:
        """Record that a block covers its bytes, for `_check_claims`."""
        self.claimed.append((handle.offset, handle.stop, name))

    def _claim_blocks(self, run: _BlockRun) -> None:
        """Record the bytes of each data block of a run."""
        for handle in run.blocks.handles:
            self._claim(handle, "data block")

    def _check_meta_block(self, name: str, handle: Handle) -> None:
        """Check a block that the metaindex names; of its content, only properties and LevelDB's filters are known."""
        if name == PROPERTIES:
            self.table.properties(self.report)
            return
        block = self.table.read_block(handle, self.report)
        footer = self.table.footer
        if block is None or footer is None:
            return
        if name.startswith("filter.") and footer.family == "leveldb":
            try:
                layout.parse_filter(block.data, block.payload_span)
            except FormatError as error:
                checks.report_error(self.report, checks.BLOCK, error, "filter: ")

    def _check_restarts(self, block: TableBlock | LargeBlock) -> None:
        """Report a restart point at which no entry starts."""
        restarts: Sequence[int]
        if isinstance(block, LargeBlock):
            end, size, restarts, starts = block.end, block.size, block.restarts(), block.starts
        else:
            try:
                end, restarts = block.tail
            except FormatError:
                return  # reported by block_items
            entries, _, problem = kernel.block_entries(block.data, end, self.table.limits.structure_size)
            if problem == BLOCK_BOMB:
                return  # further entries may be where the restart points lead
            size, starts = len(block.data), {at for _, _, at in entries}
        # Restart points lead to entries; a block without entries may have one, 0.
        stray = [at for at in restarts if at not in starts and not (at == 0 and end == 0)]
        if stray:
            self.report(checks.RESTARTS, span=block.span.in_payload(end, size), actual=stray[0])

    def _check_items(
        self, block: TableBlock | LargeBlock, items: list[Item], previous: _LastEntry | None, separator: bytes
    ) -> None:
        """Check the entries of a block, in their order: against the block before it, its separator, and each alone."""
        report = self.report
        if previous is not None and not self.table.follows(previous, items[0]):
            report(checks.KEY_ORDER, "a block starts before the end of the previous one", span=block.span)
        if self.order.precedes(separator, items[-1][KEY]):
            report(checks.INDEX_KEY, "below the last key of its block", span=block.span,
                   expected=items[-1][KEY], actual=separator)  # fmt: skip
        self._check_bounds(block, items)
        for _, inverted, _, at, _, _ in items:
            sequence, kind = divmod(_TOP - inverted, 256)
            self.entries += 1
            if self.table.referenced:
                self.kinds.add(kind)
            if kind not in KNOWN_TYPES:
                report(checks.VALUE_TYPE, span=block.span.in_payload(at, at), actual=kind)
            if self.last_sequence is not None and sequence > self.last_sequence and self.table.referenced:
                report(checks.SEQUENCE, span=block.span.in_payload(at, at),
                       expected=f"at most {self.last_sequence}", actual=sequence)  # fmt: skip

    def _check_bounds(self, block: TableBlock | LargeBlock, items: list[Item]) -> None:
        """Report entries outside the range of keys that the manifest states for the table."""
        if self.stated is None:
            return
        smallest, largest = user_key(self.stated.smallest), user_key(self.stated.largest)
        if self.order.precedes(items[0][KEY], smallest) or self.order.precedes(largest, items[-1][KEY]):
            self.report(checks.KEY_RANGE, span=block.span, expected=f"{smallest!r} to {largest!r}")

    def _check_range(self, last: _LastEntry | None) -> None:
        """Report that the last entry is below the largest key that the manifest states.

        Entries outside the range were reported with their blocks.
        """
        if self.stated is None or last is None:
            return
        if self.order.precedes(last.key, user_key(self.stated.largest)):
            if self.table.range_deletions(checks.ignore):
                return  # a range deletion may reach beyond the last entry
            span = self.table.source.span(last.block.offset, last.block.stop)
            self.report(checks.KEY_RANGE, "the largest key is missing", span=span,
                        expected=user_key(self.stated.largest), actual=last.key)  # fmt: skip

    def _check_properties(self, facts: dict[str, bytes]) -> None:
        """Compare the number of entries with the one that the properties state."""
        stated = property_number(facts.get("rocksdb.num.entries", b""))
        ranges = property_number(facts.get("rocksdb.num.range-deletions", b"")) or 0
        if stated is not None and stated != self.entries + ranges:
            span = self.table.source.span(0, self.table.source.size)
            self.report(checks.PROPERTIES, "rocksdb.num.entries", span=span, expected=stated, actual=self.entries)

    def _check_claims(self) -> None:
        """Report blocks that overlap, and bytes between them, unless they are padding."""
        source = self.table.source
        at = 0  # the end of what is claimed so far
        gaps: list[tuple[int, int]] = []
        are_after_data = True  # whether each gap follows a data block
        previous = ""  # the name of the block before
        for start, end, name in self._all_claims():
            if end > source.size:
                continue  # reported by the rule about handles
            if start > at:
                gaps.append((at, start))
                are_after_data &= previous == "data block"
            elif start < at:
                self.report(
                    checks.UNCLAIMED, f"{name} overlaps the bytes before it", span=source.span(start, min(at, end))
                )
            at, previous = max(at, end), name
        if self._names_all and not (are_after_data and self.table.is_padding(gaps)):
            for start, end in gaps:
                self.report(checks.UNCLAIMED, "no block claims these bytes", span=source.span(start, end))

    def _all_claims(self) -> list[tuple[int, int, str]]:
        """Return what is claimed, sorted: sound runs as a whole, or block by block if any claims overlap."""
        sound = [run.blocks.handles for run in self.sound]
        joined = [(handles[0].offset, handles[-1].stop, "data block") for handles in sound]
        claimed = sorted({*self.claimed, *joined})
        if any(end > start for (_, end, _), (start, _, _) in pairwise(claimed)):
            for run in self.sound:  # the finding names a block, not a run
                self._claim_blocks(run)
            claimed = sorted(set(self.claimed))
        return claimed
