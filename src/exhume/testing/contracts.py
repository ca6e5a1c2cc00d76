"""Requirements for every format, as test classes to inherit.

A format's `tests/<format>/test_contract.py` subclasses these and defines the fixtures; pytest then runs the same
demands against each format.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.archive import Archive, MemberArchive
from exhume.errors import EntryNotFoundError, ExhumeError, WriterError
from exhume.findings import Severity
from exhume.io.source import BytesSource, Source
from exhume.registry import get_format, rules_of

NOISE = (b"", b"\0", b"\xff" * 4, b"hello, world\n" * 50, bytes(range(256)) * 8, b"PK\3\4" + bytes(200))
"""Contents of files that are not archives of any format."""


class ArchiveContract:
    """Demands on any reader.  Give the fixture `sample` (path of a valid archive) and the class attribute `format`."""

    format: str

    @pytest.fixture
    def sample(self) -> Path:
        """A valid archive of the format."""
        raise AssertionError("the subclass must provide the fixture `sample`")

    @pytest.fixture
    def archive(self, sample: Path) -> Any:
        with exhume.open(sample) as archive:
            yield archive

    def test_is_identified(self, sample: Path) -> None:
        candidates = exhume.identify(sample)
        assert candidates
        assert candidates[0].format == self.format
        assert candidates[0].evidence

    def test_verifies(self, sample: Path) -> None:
        assert [finding for finding in exhume.verify(sample) if finding.is_problem] == []

    def test_quick_verify_is_a_subset(self, sample: Path) -> None:
        full = {(finding.code, finding.span) for finding in exhume.verify(sample)}
        assert {(finding.code, finding.span) for finding in exhume.verify(sample, quick=True)} <= full

    def test_parallel_verify_agrees(self, sample: Path) -> None:
        assert list(exhume.verify(sample, jobs=2)) == list(exhume.verify(sample))

    def test_info_is_json(self, archive: Archive) -> None:
        from exhume.io.jsonout import dumps

        assert json.loads(dumps(archive.info()))

    def test_sections_tile_every_file(self, archive: Archive) -> None:
        found = archive.sections()
        for name, source in found.sources.items():
            at = source.origin
            for section in found.tiles():
                if section.span.source == name and section.span.size:
                    assert section.span.start == at, section
                    at = section.span.end
            assert at == source.origin + source.size
        assert found.gaps() == []
        assert found.overlaps == []

    def test_section_names_are_unique_and_readable(self, archive: Archive) -> None:
        found = archive.sections()
        names = [section.name for section in found]
        assert len(names) == len(set(names))
        for section in found:
            data = archive.read_section(section.name)
            if section.payload_size is not None:
                assert len(data) == section.payload_size
        with pytest.raises(EntryNotFoundError):
            archive.read_section("no such section")

    def test_entries_are_deterministic(self, archive: Archive) -> None:
        first = [entry.to_dict() for entry in archive.entries()]
        assert first
        assert first == [entry.to_dict() for entry in archive.entries()]

    def test_tables_are_valid_and_stream(self, archive: Archive) -> None:
        """Tables are valid Arrow data, have the same rows in batches, and can be read with chosen columns alone."""
        pytest.importorskip("pyarrow")
        tables = archive.arrow_tables()
        assert tables
        for make in tables.values():
            whole = make().read_all()
            whole.validate(full=True)
            rows = [batch.num_rows for batch in make()]
            assert sum(rows) == whole.num_rows
        # Chosen columns, of an archive with a single table: others need not have the same columns.
        chosen = whole.column_names[::-1][:2]
        for make in archive.arrow_tables(columns=chosen, batch_rows=1).values() if len(tables) == 1 else ():
            assert {batch.num_rows for batch in make()} <= {1}
            assert make().read_all().combine_chunks().equals(whole.select(chosen).unify_dictionaries().combine_chunks())

    def test_noise_is_refused(self) -> None:
        for data in NOISE:
            with pytest.raises(ExhumeError) as caught:
                exhume.open(data, format=self.format)
            assert "\n" not in str(caught.value)

    def test_rules_are_documented(self) -> None:
        table = rules_of(get_format(self.format))
        assert len(table)
        for rule in table:
            assert rule.title
            assert rule.spec
            assert rule.code.startswith(table.prefix)


class FileArchiveContract(ArchiveContract):
    """More demands on formats that are one file."""

    def test_opens_from_everything(self, sample: Path) -> None:
        """Paths, bytes, file objects, sources, URLs and ranges of larger files list the same entries."""
        raw = sample.read_bytes()
        with exhume.open(sample) as archive:
            expected = [entry.to_dict() for entry in archive.entries()]
        padded = b"\xa5" * 513 + raw + b"\x5a" * 100  # the archive inside a larger file, at an odd offset
        targets: list[tuple[Any, dict[str, Any]]] = [
            (str(sample), {}),
            (raw, {}),
            (bytearray(raw), {}),
            (memoryview(raw), {}),
            (io.BytesIO(raw), {}),
            (BytesSource(raw), {}),
            (sample.as_uri(), {}),
        ]
        for target, options in targets:
            with exhume.open(target, **options) as archive:
                assert [_without_source(entry) for entry in expected] == [
                    _without_source(entry.to_dict()) for entry in archive.entries()
                ]
        with exhume.open(padded, offset=513, length=len(raw)) as archive:
            shifted = [_without_source(entry.to_dict()) for entry in archive.entries()]
        for entry in expected:
            if entry["offset"] is not None:
                entry["offset"] += 513
        assert shifted == [_without_source(entry) for entry in expected]

    def test_truncation_is_reported_without_a_traceback(self, sample: Path) -> None:
        raw = sample.read_bytes()
        step = max(1, len(raw) // 64)
        for length in range(0, len(raw), step):
            findings = list(exhume.verify(raw[:length], format=self.format))
            assert any(finding.severity is Severity.ERROR for finding in findings), length

    def test_finding_offsets_are_absolute(self, sample: Path) -> None:
        raw = sample.read_bytes()
        cut = raw[: len(raw) - 1]
        plain = [finding.span for finding in exhume.verify(cut, format=self.format) if finding.span]
        moved = [
            finding.span for finding in exhume.verify(b"\0" * 77 + cut, format=self.format, offset=77) if finding.span
        ]
        # A span from 0 to 0 stands for the file as a whole, and does not move.
        assert [(span.start + 77, span.end + 77) if span.end else (span.start, span.end) for span in plain] == [
            (span.start, span.end) for span in moved
        ]


def _without_source(entry: dict[str, Any]) -> dict[str, Any]:
    """Return an entry without the name of its file, which depends on how the archive was opened."""
    return {key: value for key, value in entry.items() if key != "source"}


class MemberArchiveContract(ArchiveContract):
    """Demands on archives of members.  Define `sample` and the fixture `members` (name -> bytes) with its members."""

    @pytest.fixture
    def members(self) -> dict[str, bytes]:
        """The content of the sample."""
        raise AssertionError("the subclass must provide the fixture `members`")

    def test_members_come_back(self, archive: MemberArchive, members: dict[str, bytes]) -> None:
        files = [name for name in archive.names() if archive.stat(name).kind != "directory"]
        assert sorted(files) == sorted(members)
        for name, data in members.items():
            assert archive.read_member(name) == data
            assert b"".join(archive.iter_member(name, 7)) == data
            assert archive.stat(name).size == len(data)
            assert name in archive

    def test_ranges_are_slices(self, archive: MemberArchive, members: dict[str, bytes]) -> None:
        for name, data in members.items():
            for start, stop in (
                (0, 0),
                (0, 1),
                (1, None),
                (len(data) // 2, len(data)),
                (3, 10**9),
                (len(data) + 5, None),
            ):
                assert archive.read_member(name, start, stop) == data[start:stop]

    def test_members_are_seekable_files(self, archive: MemberArchive, members: dict[str, bytes]) -> None:
        for name, data in members.items():
            with archive.open_member(name) as file:
                assert file.seek(0, io.SEEK_END) == len(data)
                file.seek(len(data) // 2)
                assert file.read(5) == data[len(data) // 2 :][:5]
                file.seek(0)
                assert file.read() == data

    def test_missing_member(self, archive: MemberArchive) -> None:
        assert "no/such/member" not in archive
        with pytest.raises(EntryNotFoundError):
            archive.read_member("no/such/member")
        with pytest.raises(KeyError):
            archive.stat("no/such/member")


class WriterContract:
    """Demands on any writer.  Give `format` and the fixture `build(path) -> None`, which writes a small archive."""

    format: str

    @pytest.fixture
    def build(self) -> Callable[[Path], None]:
        """Write a small archive."""
        raise AssertionError("the subclass must provide the fixture `build`")

    def test_output_verifies_and_is_deterministic(self, build: Callable[[Path], None], tmp_path: Path) -> None:
        build(tmp_path / "a")
        build(tmp_path / "b")
        assert [finding for finding in exhume.verify(tmp_path / "a") if finding.severity is not Severity.NOTE] == []
        assert _tree(tmp_path / "a") == _tree(tmp_path / "b")

    def test_nothing_else_is_left(self, build: Callable[[Path], None], tmp_path: Path) -> None:
        build(tmp_path / "a")
        assert [path.name for path in tmp_path.iterdir()] == ["a"]

    def test_existing_output_is_not_replaced(self, build: Callable[[Path], None], tmp_path: Path) -> None:
        (tmp_path / "a").write_bytes(b"precious")
        with pytest.raises((WriterError, FileExistsError)):
            build(tmp_path / "a")
        assert (tmp_path / "a").read_bytes() == b"precious"

    def test_an_exception_leaves_nothing(self, tmp_path: Path) -> None:
        with pytest.raises(ZeroDivisionError), exhume.create(tmp_path / "a", self.format):
            raise ZeroDivisionError
        assert list(tmp_path.iterdir()) == []


def _tree(path: Path) -> dict[str, bytes]:
    """Return the content of a file (under the name ""), or of all files below a directory."""
    if path.is_file():
        return {"": path.read_bytes()}
    return {file.relative_to(path).as_posix(): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}


class SourceContract:
    """Demands on any `Source`.  Give the fixture `make(data) -> Source`."""

    @pytest.fixture
    def make(self) -> Callable[[bytes], Source]:
        """Build a source over the bytes."""
        raise AssertionError("the subclass must provide the fixture `make`")

    def test_reads_exactly(self, make: Callable[[bytes], Source]) -> None:
        data = bytes(range(256)) * 300
        with make(data) as source:
            assert source.size == len(data)
            assert source.read_at(0, len(data)) == data
            assert source.read_at(255, 3) == data[255:258]
            assert source.read_at(len(data), 0) == b""
            assert source.read_up_to(len(data) - 2, 10) == data[-2:]
            assert source.read_up_to(len(data) + 2, 10) == b""
            assert b"".join(source.chunks(10, 1000, 64)) == data[10:1000]

    def test_reading_past_the_end_is_an_error(self, make: Callable[[bytes], Source]) -> None:
        with make(b"abc") as source:
            for offset, size in ((0, 4), (3, 1), (4, 0), (-1, 1), (0, -1), (0, 1 << 62)):
                with pytest.raises(EOFError):
                    source.read_at(offset, size)

    def test_reads_many(self, make: Callable[[bytes], Source]) -> None:
        data = bytes(range(256)) * 300
        ranges = [(5, 9), (0, 2), (70_000, 70_100), (9, 9), (6, 20), (76_799, 76_800)]
        with make(data) as source:
            assert source.read_many(ranges) == [data[start:end] for start, end in ranges]
            with pytest.raises(EOFError):
                source.read_many([(0, 1), (0, len(data) + 1)])

    def test_windows_are_sources(self, make: Callable[[bytes], Source]) -> None:
        with make(b"0123456789") as source:
            window = source.window(2, 8).window(1, 5)
            assert window.read_at(0, 4) == b"3456"
            assert window.origin == source.origin + 3
            assert window.span(1, 2).start == source.origin + 4
            with pytest.raises(EOFError):
                window.read_at(0, 5)
            with pytest.raises(EOFError):
                source.window(5, 11)

    def test_reader_is_a_file(self, make: Callable[[bytes], Source]) -> None:
        with make(b"0123456789") as source:
            file = io.BufferedReader(source.reader())
            file.seek(-3, io.SEEK_END)
            assert file.read() == b"789"
            file.seek(1)
            assert file.read(2) == b"12"
