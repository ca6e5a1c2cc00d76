"""What `verify` holds in memory of a table, and what it examines in which order.

Spec: clp_s.txt, Files section; the rules themselves are tested in `test_verify`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from exhume.codecs import zstd as zstd_codec
from exhume.errors import CodecError, ExhumeError, LimitExceededError, StructureError
from exhume.formats.clp_s import checks, verify, verify_tables, verify_values
from exhume.formats.clp_s.layout import NodeType, TimestampEncoding
from exhume.formats.clp_s.read import windows
from exhume.formats.clp_s.read.blocks import SharedValue
from exhume.formats.clp_s.read.places import StoredRange
from exhume.formats.clp_s.read.tables import Table
from exhume.formats.clp_s.reader import open_archive
from exhume.io.source import BytesSource
from exhume.limits import Limits
from tests.clp_s.build import demo, stored, tiny, zstd


class Loads:
    """A table that counts how often it is loaded."""

    def __init__(self, error: ExhumeError | None = None) -> None:
        self.count = self.shared = 0
        self.error = error

    def share(self) -> None:
        assert not self.count, "it was loaded already"
        self.shared += 1

    def load(self) -> object:
        self.count += 1
        if self.error:
            raise self.error
        return self


def test_a_table_is_loaded_once_and_dropped_with_the_last_that_needs_it() -> None:
    table: Any = Loads()
    loaded = verify_tables.SharedLoad(table.load, table.share, 3)
    for left in (2, 1, 0):
        assert loaded.take() is table
        assert (loaded._data is None) == (left == 0)
    assert (table.count, table.shared) == (1, 1)


def test_a_table_that_cannot_be_loaded_is_tried_once() -> None:
    table: Any = Loads(StructureError("broken"))
    loaded = verify_tables.SharedLoad(table.load, table.share, 3)
    for _ in range(3):
        with pytest.raises(StructureError, match="broken"):
            loaded.take()
    assert (table.count, table.shared) == (1, 1)


def test_the_tasks_of_a_table_share_one_load(monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[int] = []
    load = Table.load

    def counted(table: Table) -> Any:
        loads.append(table.index)
        return load(table)

    monkeypatch.setattr(Table, "load", counted)
    with open_archive(BytesSource(demo().build())) as archive:
        for table in archive.tables:
            tasks = list(verify_tables.table_tasks(table, quick=False, counted=True))
            assert len(tasks) == len(verify_tables.checked_columns(table.layout)) + 1
            assert [finding for task in tasks for finding in task.work()] == []
            assert tasks[-1].work.args[1]._data is None  # type: ignore[attr-defined]
        assert loads == [table.index for table in archive.tables]


def test_records_are_counted_once() -> None:
    with open_archive(BytesSource(demo().build())) as archive:
        table = archive.tables[0]
        for quick in (False, True):
            for counted, records in ((True, table.num_messages), (False, 0)):
                tasks = list(verify_tables.table_tasks(table, quick, counted=counted))
                assert sum(task.records for task in tasks) == records


def test_only_a_table_larger_than_the_limit_is_checked_in_one_task(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without windows, or within the limit, it is loaded once for a task per column."""
    with open_archive(BytesSource(demo().build())) as archive:
        table = archive.tables[0]
        columns = len(verify_tables.checked_columns(table.layout))
        for framed, large in ((False, False), (False, True), (True, False), (True, True)):
            monkeypatch.setattr(verify_tables, "has_windows", lambda table, found=framed: found)
            monkeypatch.setattr(verify_tables, "is_too_large", lambda table, found=large: found)
            tasks = list(verify_tables.table_tasks(table, quick=False, counted=True))
            assert len(tasks) == (1 if framed and large else columns + 1)
            assert sum(task.records for task in tasks) == table.num_messages


def listed(*streams: int, problems: tuple[int, ...] = ()) -> list[Any]:
    """Tables in these streams, in the order of the table metadata."""
    return [
        SimpleNamespace(index=at, entry=SimpleNamespace(stream_id=stream, problem=object() if at in problems else None))
        for at, stream in enumerate(streams)
    ]


def test_each_table_whose_stream_comes_late_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with open_archive(BytesSource(demo().build())) as archive:
        span = archive.section_span("/table_metadata")

        def late(tables: Any) -> list[str | None]:
            found = list(verify_tables.check_table_list(archive, tables))
            assert all((one.code, one.span) == ("CLPS-345", span) for one in found)
            return [one.field_path for one in found]

        assert late(listed(0, 0, 1, 1, 2)) == []
        assert late(listed(0, 2, 1, 2, 0)) == ["tables[2].stream_id", "tables[4].stream_id"]
        assert late(listed(0, 2, 1, 2, 0, problems=(2,))) == ["tables[4].stream_id"]
        monkeypatch.setattr(type(archive.tables), "__iter__", refuse)
        assert late(archive.tables) == [], "in order: no table has to be made"


def refuse(*about: object, **options: object) -> Any:
    raise AssertionError(f"{about} is not needed")


STREAM = b"0123456789" * 5


@pytest.mark.parametrize("compress", [zstd, stored])
def test_a_stream_within_the_limit_is_decompressed_once_for_all_checks(
    compress: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit is for both its stored and its decompressed bytes; above it, the stream is never held as a whole."""
    data = tiny(streams=[[(0, 2, STREAM)]], compress=compress).build()
    for limit in (49, 50, len(compress(STREAM)) - 1, len(compress(STREAM)), 1000):
        with open_archive(BytesSource(data), limits=Limits(payload_size=limit)) as archive:
            fits = limit >= max(50, archive.stream_place(0).size)
            kept: list[bytes] = []
            with monkeypatch.context() as patch:
                patch.setattr(archive, "keep_stream", lambda index, payload, kept=kept: kept.append(payload))
                patch.setattr(*((verify_tables, "check_frames") if fits else (zstd_codec, "zstd_whole")), refuse)
                assert list(verify_tables.check_stream(archive, 0, False)) == []
            assert kept == [STREAM] * fits


def measured(stored: bytes, limits: Limits) -> tuple[list[Any], int | None]:
    """The findings about frames at offset 3 of a file, and the size that they decompress to."""
    found: list[Any] = []
    place = StoredRange("/0", BytesSource(b"..." + stored), 3, 3 + len(stored))
    check = verify_tables.check_frames("stream 0", place, limits)
    try:
        while True:
            found.append(next(check))
    except StopIteration as end:
        return [(one.code, one.message, one.span.start, one.span.end, one.expected) for one in found], end.value


def test_frames_that_expand_beyond_the_limit_are_reported_once() -> None:
    frames = zstd(bytes(1000)) * 3
    enough, little = Limits(expansion=1, expansion_floor=3000), Limits(expansion=1, expansion_floor=999)
    assert measured(frames, enough) == ([], 3000)
    title = checks.TOO_LARGE.title
    assert measured(frames, little) == (
        [("CLPS-501", f"{title}: stream 0 (raise the limit expansion)", 3, 3 + len(frames), "at most 999 bytes")], None
    )  # fmt: skip


def test_a_frame_that_needs_more_memory_than_the_limit_is_reported_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    def measuring(pieces: object) -> Any:
        yield 5, 100
        raise LimitExceededError("window of the frame", expected="at most 8 bytes")

    monkeypatch.setattr(zstd_codec, "zstd_measured", measuring)
    title = checks.TOO_LARGE.title
    assert measured(bytes(9), Limits()) == (
        [("CLPS-501", f"{title}: stream 0: window of the frame", 3, 12, "at most 8 bytes")], None
    )  # fmt: skip


def small_tables(
    streams: list[int],
    rows: list[int],
    *,
    runs: Sequence[tuple[int, int, bool]] = (),
    schemas: Sequence[int] = (),
    problems: Collection[int] = (),
    odd: Collection[int] = (),
    unknown: Collection[int] = (),
) -> Any:
    """Small tables from table 10 of their archive on; all numbers of tables here count from there.

    `odd`: tables that the kernel finds odd; `unknown`: those whose schema does not exist.  Schema 6 is odd.
    """
    before = [0] * 10
    entries = SimpleNamespace(
        stream_ids=before + streams,
        num_messages=before + rows,
        problems={10 + at: object() for at in problems},
        schema_ids=[*before, *schemas],
    )
    return SimpleNamespace(
        kernel_tables=SimpleNamespace(
            entries=entries,
            rows=before + rows,
            odd=lambda first, stop: [10 + at for at in odd if first <= 10 + at < stop],
        ),
        first=10,
        runs=lambda: ((10 + first, 10 + stop, is_run) for first, stop, is_run in runs),
        odd_schemas=lambda: {6},
        knows=lambda index: index - 10 not in unknown,
    )


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The tables whose checks in Python were requested, as (table, quick, counted); each yields its name."""
    out: list[Any] = []

    def tasks(table: Any, quick: bool, *, counted: bool) -> Any:
        out.append((table, quick, counted))
        return [verify_tables.Task(lambda: [table], 100)]

    monkeypatch.setattr(verify_tables, "table_tasks", tasks)
    return out


def outcomes(tasks: Any) -> list[tuple[list[Any], int]]:
    return [(list(task.work()), task.records) for task in tasks]


def test_each_run_of_small_tables_is_checked_unless_windows_confirmed_its_stream(asked: list[Any]) -> None:
    """A table with a problem is in no window; records that the windows counted are not counted again."""
    small = small_tables(
        [0, 0, 0, 1, 1, 2, 3], [1, 2, 4, 8, 16, 32, 64], problems=(1,), odd=(4, 6),
        runs=[(0, 1, True), (1, 2, False), (2, 3, True), (3, 5, True), (5, 6, False), (6, 7, True)],
    )  # fmt: skip
    names: Any = list("abcdefg")
    assert outcomes(verify_tables.run_tasks(names, small, {0}, {0, 1})) == [
        (["b"], 100), (["e"], 0), (["f"], 100), (["g"], 64)
    ]  # fmt: skip
    assert asked == [("b", False, False), ("e", False, False), ("f", False, True), ("g", False, False)]


def test_without_reading_rows_only_odd_tables_are_examined_and_all_records_count(asked: list[Any]) -> None:
    small = small_tables([0] * 5, [1, 2, 4, 8, 16], problems=(1,), schemas=[5, 5, 6, 5, 5], unknown=(3,))
    names: Any = list("abcde")
    assert outcomes(verify_tables.quick_tasks(names, small)) == [
        (["b"], 100), (["c"], 100), (["d"], 100), ([], 1 + 16)
    ]  # fmt: skip
    assert asked == [("b", True, True), ("c", True, True), ("d", True, True)]


def test_no_table_is_made_to_see_that_it_is_not_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Large are those of `WORTHWHILE` bytes and those in a stream above the limit; what says nowhere is asked."""
    sizes = [16, 24, 16, 16]
    built = tiny(
        streams=[[(0, size // 8, bytes(size)) for size in ((size,) if at else (8, 8))] for at, size in enumerate(sizes)]
    )
    with open_archive(BytesSource(built.build()), limits=Limits(payload_size=16)) as archive:
        tables: Any = archive.tables
        assert [table.entry.stream_id for table in tables] == [0, 0, 1, 2, 3]
        for worthwhile, large in ((16, [2, 3, 4]), (17, [2]), (8, [0, 1, 2, 3, 4])):
            monkeypatch.setattr(windows, "WORTHWHILE", worthwhile)
            others: set[int] = set()
            assert [table.index for table in verify_tables._possibly_large(tables, others)] == large
            assert others == {table.entry.stream_id for table in tables if table.index not in large}
        monkeypatch.setattr(tables.entries, "problems", {3: StructureError("misplaced")})
        monkeypatch.setattr(windows, "WORTHWHILE", 17)
        others = set()
        assert [table.index for table in verify_tables._possibly_large(tables, others)] == [2]
        assert others == {0, 3}
        monkeypatch.setattr(tables.entries, "stream_ids", [0, 0, 1, 2, 4])
        assert [table.index for table in verify_tables._possibly_large(tables, set())] == [2, 4]


class Large:
    """A large table, and its rows: those whose check finds something are `bad`."""

    def __init__(self, stream: int, start: int, end: int, *, problem: object = None, large: bool = True) -> None:
        self.entry = SimpleNamespace(stream_id=stream, start=start, end=end, problem=problem)
        self.large = large
        self.requested: list[tuple[int, int]] = []
        self.bad: list[int] = []
        self.rest: Exception | None = None

    def blocks(self) -> list[tuple[int, int]]:
        return [(0, 10), (10, 20), (20, 25)]

    def call(self, function: object, start: int, stop: int) -> bool | None:
        self.requested.append((start, stop))
        return not any(start <= row < stop for row in self.bad) or None

    def get(self) -> Any:
        return self

    def finish(self) -> None:
        if self.rest:
            raise self.rest


@pytest.fixture
def passing(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What passes through some tables in streams of these offsets and sizes."""
    monkeypatch.setattr(verify_tables, "is_large", lambda table: table.large)
    monkeypatch.setattr(verify_tables, "TableWindows", lambda table: table)

    def made(streams: list[tuple[int, int]], *tables: Large, wait: float = 0) -> verify_tables.WindowedCheck:
        frames = [None if size == 1 else object() for _, size in streams]
        places = [SimpleNamespace(offset=offset, size=size) for offset, size in streams]
        source = SimpleNamespace(cost=SimpleNamespace(wait=wait))
        archive: Any = SimpleNamespace(
            table_metadata=SimpleNamespace(streams=places), source=source, stream_frames=lambda index: frames[index]
        )
        chosen: Any = tables
        return verify_tables.WindowedCheck(archive, chosen)

    return made


def test_a_stream_that_is_nowhere_has_no_frames() -> None:
    def stream_frames(index: int) -> object:
        raise StructureError(f"stream {index} is past the end")

    archive: Any = SimpleNamespace(stream_frames=stream_frames)
    assert verify_tables._has_frames(archive, 0) is False


def test_of_streams_that_were_passed_through_only_what_was_not_looked_at_is_left(
    passing: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stream 0 and its table are intact; the second table has a problem, and the third is in another stream."""
    tables: Any = [Large(0, 0, 100), Large(0, 0, 9, problem=1), Large(1, 0, 50, large=False)]
    passed = passing([(0, 100), (70, 50)], *tables)
    for task in passed.tasks():
        assert list(task.work()) == []
    reported: list[object] = []

    def tasks(table: object, quick: bool, *, counted: bool) -> tuple[()]:
        reported.append((table, quick, counted))
        return ()

    monkeypatch.setattr(verify, "table_tasks", tasks)
    archive: Any = SimpleNamespace(table_metadata=SimpleNamespace(streams=range(2)), hint_streams=lambda: None)
    left = list(verify._stream_tasks(archive, tables, passed, SharedValue(lambda: None), quick=False))
    assert [task.work.args[1] for task in left] == [1]  # type: ignore[attr-defined]
    assert reported == [(tables[1], False, False), (tables[2], False, True)]


def test_streams_that_large_tables_fill_are_passed_through(passing: Any) -> None:
    two = [(0, 100), (70, 50)]
    assert set(passing(two, Large(0, 0, 60), Large(0, 60, 100), Large(1, 0, 50)).tried) == {0, 1}
    assert set(passing(two, Large(0, 0, 100)).tried) == {0}, "nothing is in the other"
    assert set(passing(two, Large(0, 0, 100), Large(1, 0, 50, large=False)).tried) == {0}
    empty = Large(0, 100, 100, large=False)
    assert set(passing(two, Large(0, 0, 100), empty, Large(1, 0, 50)).tried) == {1}, "no window has the empty table"
    assert set(passing(two, Large(0, 1, 100), Large(1, 0, 49)).tried) == set(), "bytes of no table"
    assert set(passing(two, Large(0, 0, 60), Large(0, 61, 100), Large(1, 0, 50)).tried) == {1}
    assert set(passing(two, Large(0, 0, 100, problem=1), Large(1, 0, 50)).tried) == {1}
    assert set(passing([(3, 100), (70, 50)], Large(0, 0, 100), Large(1, 0, 50)).tried) == {1}, "bytes in front of it"
    assert set(passing([(0, 1), (70, 50)], Large(0, 0, 1), Large(1, 0, 50)).tried) == {1}, "one frame"
    assert set(passing(two, Large(0, 0, 100), Large(1, 0, 50), wait=1).tried) == set(), "fetched one after the other"


def test_windows_are_looked_at_with_the_row_before_them_until_one_is_not_sound(passing: Any) -> None:
    good, bad, late = Large(0, 0, 100), Large(1, 0, 50), Large(2, 0, 50)
    bad.bad = [12]
    late.rest = CodecError("a frame that no one needed")
    through = passing([(0, 100), (70, 50), (80, 50)], good, bad, late)
    tasks = list(through.tasks())
    assert [task.records for task in tasks] == [10, 10, 5] * 3
    assert [list(task.work()) for task in tasks] == [[]] * 9
    assert good.requested == late.requested == [(0, 10), (9, 20), (19, 25)]
    assert bad.requested == [(0, 10), (9, 20)], "the remainder is examined as a whole"
    assert set(through.done()) == {0}
    assert set(through.tried) == {0, 1, 2}


class Faulty:
    """The windows of a table, and of each the faults that its columns and its order have."""

    def __init__(self, faults: list[list[str]] | None) -> None:
        self.faults = faults
        self.requested: list[tuple[int, int, int | None]] = []

    def blocks(self) -> list[tuple[int, int]]:
        return [(0, 10), (10, 20), (20, 25)]

    def call(self, function: Any, start: int, stop: int) -> Any:
        self.requested.append((start, stop, getattr(function, "keywords", {}).get("first")))
        if self.faults is None:
            return None
        layout = SimpleNamespace(nodes=(), node_types=[NodeType.VAR_STRING])
        faults = [StructureError(one) for one in self.faults[len(self.requested) - 1]]
        data = SimpleNamespace(layout=layout, iter_faults=lambda index: iter(faults))
        return function(SimpleNamespace(layout=layout, window=lambda columns: data))


@pytest.fixture
def windowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """No order and no bounds are checked, and the windows of a table are the table."""
    monkeypatch.setattr(verify_tables, "TableWindows", lambda table: table)
    monkeypatch.setattr(verify_tables, "bounds", lambda data: iter(()))
    monkeypatch.setattr(verify_tables, "order", lambda data, first=0: iter(()))


@pytest.mark.usefixtures("windowed")
def test_of_a_table_larger_than_the_limit_the_first_fault_of_each_column_is_reported() -> None:
    table: Any = Faulty([[], ["second", "more"], ["third"]])
    assert [one.message for one in verify_tables._in_windows(table)] == ["second"]
    assert table.requested == [(0, 10, 0), (9, 20, 9), (19, 25, 19)], "each with the row before it"


@pytest.mark.usefixtures("windowed")
def test_windows_that_do_not_fit_their_table_are_left_to_the_whole() -> None:
    table: Any = Faulty(None)
    table.load = Loads(StructureError("too long")).load
    assert [one.message for one in verify_tables._in_windows(table)] == ["too long"]
    assert table.requested == [(0, 10, 0)]


@pytest.mark.usefixtures("windowed")
def test_salvage_gets_one_fault_of_each_window() -> None:
    table: Any = Faulty([["first", "more"], [], ["third"]])
    assert [one.message for one in verify_tables.table_faults(table)] == ["first", "third"]
    assert [place[:2] for place in table.requested] == [(0, 10), (9, 20), (19, 25)]


def test_a_column_that_has_no_times_hides_none_after_it() -> None:
    """The bounds of a range hold for every column that it names, whatever their types."""

    def column(type: int, values: list[int]) -> Any:
        return SimpleNamespace(
            node=type, type=type, rows=len(values), values=values, spec=SimpleNamespace(unordered=False), span=None
        )

    text, number = column(NodeType.CLP_STRING, [0]), column(NodeType.INTEGER, [5, 90])
    bounds = SimpleNamespace(column_ids=(text.node, number.node), encoding=TimestampEncoding.EPOCH, begin=0, end=50)
    table = SimpleNamespace(index=3, archive=SimpleNamespace(timestamp_ranges=[bounds]))
    layout = SimpleNamespace(by_node={text.node: 0, number.node: 1})
    data: Any = SimpleNamespace(table=table, layout=layout, column_at=[text, number].__getitem__)
    (finding,) = verify_values.bounds(data)
    assert (finding.expected, finding.actual) == ("0 to 50", "5 to 90")
