"""Errors, findings, limits, checksums, section maps, parallel maps."""

from __future__ import annotations

import builtins
import errno
import pickle
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import exhume
from exhume import errors
from exhume.codecs import checksums
from exhume.errors import ExhumeError, LimitExceededError, Span, StructureError, WriterError, shorten
from exhume.findings import Finding, RuleTable, Severity
from exhume.io.parallel import map_ordered
from exhume.io.source import BytesSource, source_error
from exhume.layout.sections import Section, SectionKind, SectionMap
from exhume.limits import Limits, parse_size

ALL = [e for e in vars(errors).values() if isinstance(e, type) and issubclass(e, ExhumeError)]


@pytest.mark.parametrize(
    ("name", "parent"),
    [
        ("TruncatedError", EOFError),
        ("FormatError", ValueError),
        ("EntryNotFoundError", KeyError),
        ("SourceError", OSError),
        ("ShortReadError", EOFError),
        ("QueryError", ValueError),
        ("WriterError", ValueError),
        ("OutputExistsError", FileExistsError),
        ("MissingDependencyError", ImportError),
        ("UnsafePathError", ValueError),
    ],
)
def test_errors_have_their_natural_parent(name: str, parent: type[BaseException]) -> None:
    assert issubclass(getattr(errors, name), parent)


@pytest.mark.parametrize("kind", ALL)
def test_errors_are_one_line_and_travel(kind: type[ExhumeError]) -> None:
    error = kind(
        "what", code="ZS-201", span=Span("f\nile", 3, 9), expected=b"\0\xff", actual="two\nlines", field_path="/a/b"
    )
    line = str(error)
    assert "\n" not in line
    assert re.fullmatch(r"f.+: what at 3 \(0x3\), field /a/b: stored .+, computed .+ \[ZS-201\]", line)
    back = pickle.loads(pickle.dumps(error))
    assert type(back) is kind
    assert str(back) == line
    assert back.span == error.span


def test_every_error_class_has_its_own_code() -> None:
    """Those that declare none are told from their parent by the standard exception that they are as well."""
    codes = [vars(kind)["default_code"] for kind in ALL if "default_code" in vars(kind)]
    assert len(set(codes)) == len(codes)
    others = {kind: kind.__bases__ for kind in ALL if "default_code" not in vars(kind)}
    assert {bases[0] for bases in others.values()} == {errors.SourceError}
    assert len({bases[1] for bases in others.values()}) == len(others)


@pytest.mark.parametrize("again", [False, True])
def test_errors_of_files_are_the_standard_ones_too(again: bool, tmp_path: Path) -> None:
    """Also after a journey to another process."""
    with pytest.raises(FileNotFoundError) as missing:
        exhume.open(tmp_path / "nothing.zs")
    caught = pickle.loads(pickle.dumps(missing.value)) if again else missing.value
    assert isinstance(caught, errors.SourceNotFoundError)
    assert (caught.code, caught.errno) == ("EX-601", errno.ENOENT)
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        exhume.open(tmp_path / "file" / "below.zs")
    with pytest.raises(FileNotFoundError):
        exhume.open("memory://no/such/object.zs")


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (FileNotFoundError(), errors.SourceNotFoundError),
        (PermissionError(), errors.SourceAccessError),
        (IsADirectoryError(), errors.SourceIsDirectoryError),
        (NotADirectoryError(), errors.SourceNotDirectoryError),
        (OSError(errno.EACCES, "no"), errors.SourceAccessError),
        (OSError("any other"), errors.SourceError),
    ],
)
def test_each_standard_error_has_its_class(raised: OSError, kind: type[ExhumeError]) -> None:
    assert type(source_error(raised, "name")) is kind


@given(st.one_of(st.binary(), st.text(), st.integers()))
def test_shorten_is_printable_and_short(value: object) -> None:
    text = shorten(value)
    assert len(text) <= 80
    assert text.isprintable()


def test_error_and_finding_of_a_rule_have_the_same_words() -> None:
    table = RuleTable("XX")
    rule = table.rule(201, "checksum does not match", spec="spec, section 1")
    span = Span("f", 1, 2)
    error = rule.error("of block 3", span=span, expected=1, actual=2)
    finding = rule.finding("of block 3", span=span, expected=1, actual=2)
    assert isinstance(error, StructureError)
    assert (
        str(error) == str(finding) == "f: checksum does not match: of block 3 at 1 (0x1): stored 1, computed 2 [XX-201]"
    )
    assert Finding.from_error(error).to_dict() == finding.to_dict()
    assert finding.severity is Severity.ERROR
    with pytest.raises(AssertionError):
        table.rule(201, "again", spec="-")


def test_limits() -> None:
    limits = Limits().with_overrides(["payload-size=1K", "depth=3"])
    assert (limits.payload_size, limits.depth) == (1024, 3)
    with pytest.raises(LimitExceededError, match="limit depth"):
        limits.check("depth", 4)
    limits.check("depth", 3)
    assert limits.payload_budget(1) == 1024
    for bad in ("nothing=1", "depth", "depth=x", "depth=-1"):
        with pytest.raises(WriterError):
            limits.with_overrides([bad])
    for name in Limits._fields:
        with pytest.raises(ValueError, match=f"the limit {name} cannot be negative: -1"):
            Limits(**{name: -1})
    assert pickle.loads(pickle.dumps(limits)) == limits
    assert [parse_size(t) for t in ("0", "4096", "384K", "1.5M", "32GiB", "1kb")] == [
        0,
        4096,
        393216,
        1572864,
        32 << 30,
        1024,
    ]
    for text in ("-0.5", "1.0e400", "1.0e308G"):
        with pytest.raises(WriterError, match="not a size"):
            parse_size(text)


def test_checksum_check_values() -> None:
    data = b"123456789"
    assert checksums.crc64_xz(data) == 0x995DC9BBDF1939FA
    assert checksums.crc32c(data) == 0xE3069283
    assert checksums.crc32(data) == 0xCBF43926
    assert checksums.adler32(data) == 0x091E01DE
    assert checksums.mask_crc32c(0xE3069283) == 0xC78AB0E5
    assert checksums.masked_crc32c(data) == checksums.mask_crc32c(0xE3069283)
    assert checksums.crc64_xz(memoryview(data)[4:], checksums.crc64_xz(data[:4])) == checksums.crc64_xz(data)


def section(
    start: int, end: int, name: str, parent: str | None = None, kind: SectionKind = SectionKind.DATA
) -> Section:
    return Section(name, Span("f", start, end), kind, parent=parent)


def test_section_maps_tile() -> None:
    source = BytesSource(bytes(100), "f")
    found = SectionMap(
        [(source, [section(50, 70, "c"), section(0, 10, "a"), section(60, 80, "d"), section(2, 5, "a.x", "a")])]
    )
    assert [s.name for s in found] == ["a", "a.x", "gap@10", "c", "d", "gap@80"]
    assert [(o.first.name, o.second.name, o.span.start, o.span.end) for o in found.overlaps] == [("c", "d", 60, 70)]
    assert [s.name for s in found.at(3)] == ["a", "a.x"]
    assert found.coverage().to_dict() == {"claimed": 40, "padding": 0, "gap": 60, "overlap": 10, "total": 100}
    with pytest.raises(KeyError):
        found.named("zzz")


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=8))
def test_section_maps_always_tile(ranges: list[tuple[int, int]]) -> None:
    source = BytesSource(bytes(60), "f")
    found = SectionMap([(source, [section(a, min(60, a + n), f"s{i}") for i, (a, n) in enumerate(ranges)])])
    covered = set()
    for s in found:
        covered |= set(range(s.span.start, s.span.end))
    assert covered == set(range(60))


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_parallel_maps_keep_order_and_errors(jobs: int) -> None:
    def slow(i: int) -> int:
        time.sleep(0.002 * (i % 3))
        if i == 30:
            raise KeyError(i)
        return i * i

    assert list(map_ordered(slow, range(30), jobs)) == [i * i for i in range(30)]
    got = []
    with pytest.raises(KeyError):
        for value in map_ordered(slow, range(100), jobs):
            got.append(value)  # noqa: PERF402 - what came before the error counts
    assert got == [i * i for i in range(30)]


@pytest.mark.parametrize(("jobs", "ahead"), [(2, None), (3, None), (2, 1), (3, 2), (2, 200)])
def test_parallel_maps_are_bounded_in_threads_and_items(jobs: int, ahead: int | None) -> None:
    threads: set[int] = set()
    busy, most, drawn, given = 0, 0, 0, 0
    lock = threading.Lock()

    def items() -> Iterator[int]:
        nonlocal drawn
        for i in range(60):
            drawn += 1
            assert drawn - given <= (ahead or 2 * jobs)
            yield i

    def call(i: int) -> int:
        nonlocal busy, most
        with lock:
            threads.add(threading.get_ident())
            busy += 1
            most = max(most, busy)
        time.sleep(0.001 * (i % 4))
        with lock:
            busy -= 1
        return -i

    for value in map_ordered(call, items(), jobs, ahead=ahead):
        assert value == -given
        given += 1
    assert given == 60
    assert most <= jobs
    assert len(threads) <= jobs


@pytest.mark.parametrize("jobs", [1, 2, 4])
def test_an_error_of_the_items_comes_after_the_results_before_it(jobs: int) -> None:
    def items() -> Iterator[int]:
        yield from range(7)
        raise LookupError("no more")

    got = []
    with pytest.raises(LookupError, match="no more"):
        for value in map_ordered(lambda i: i + 1, items(), jobs):
            got.append(value)  # noqa: PERF402 - what came before the error counts
    assert got == [1, 2, 3, 4, 5, 6, 7]


def test_abandoned_parallel_maps_end() -> None:
    before = threading.enumerate()
    iterator = map_ordered(lambda i: i, iter(range(10_000)), 3)
    assert next(iterator) == 0
    iterator.close()
    assert [thread for thread in threading.enumerate() if thread not in before] == []
    assert builtins.sum(map_ordered(lambda i: i, range(5), 0)) == 10
