"""What is saved of damaged streams of text, and the account of their bytes."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
import zstandard

import exhume
from exhume.errors import SourceError, Span
from exhume.formats.clp_ir.layout import build_utc_offset
from exhume.formats.clp_ir.salvage import EARLY, salvage
from exhume.formats.kv_ir.layout import END
from exhume.io.source import BytesSource
from exhume.recovery import Outcome, SalvageMode, SalvageReport
from exhume.testing.sources import MisreportingSource
from tests.clp_ir.streams import EVENTS, SMALL, UNITS, WIDE, WIDE_UNITS, head, wrapped

OFFSET_MS = 3_600_000


def saved(data: bytes, path: Path, mode: SalvageMode = SalvageMode.ARCHIVE) -> tuple[SalvageReport, bytes]:
    """The report and the output; every byte of a plain stream has one outcome."""
    report = salvage(BytesSource(data), path / "out", mode=mode)
    spans = [one.span for one in report.spans]
    assert [span.start for span in spans] == [0, *(span.end for span in spans[:-1])]
    assert spans[-1].end == len(data)
    return report, (path / "out").read_bytes()


def outcomes(report: SalvageReport) -> list[tuple[Outcome, int, int]]:
    return [(one.outcome, one.span.start, one.span.end) for one in report.spans]


def messages(written: bytes) -> list[bytes]:
    with exhume.clpir.open(written) as stream:
        return [event.message for event in stream.events()]


def chosen(numbers: Sequence[int]) -> list[bytes]:
    return [EVENTS[number][1] for number in numbers]


@pytest.mark.parametrize("data", [SMALL, WIDE], ids=["four", "eight"])
def test_a_sound_stream_stays_as_it_is(data: bytes, tmp_path: Path) -> None:
    report, written = saved(data, tmp_path)
    assert written == data
    assert report.complete
    assert report.recovered == {"events": len(EVENTS)}


@pytest.mark.parametrize("data", [SMALL, WIDE], ids=["four", "eight"])
def test_a_stream_in_a_frame_is_written_in_one(data: bytes, tmp_path: Path) -> None:
    report, written = saved(wrapped(data), tmp_path)
    assert zstandard.ZstdDecompressor().stream_reader(io.BytesIO(written)).read() == data
    assert outcomes(report) == [(Outcome.RECOVERED, 0, len(wrapped(data)))]


def test_changes_of_the_offset_stay_where_they_were(tmp_path: Path) -> None:
    first, second = build_utc_offset(OFFSET_MS), build_utc_offset(-OFFSET_MS)
    data = head() + UNITS[0] + first + UNITS[1] + UNITS[2] + second + b"".join(UNITS[3:]) + END
    assert saved(data, tmp_path)[1] == data


@pytest.mark.parametrize(("data", "units"), [(SMALL, UNITS), (WIDE, WIDE_UNITS)], ids=["four", "eight"])
def test_a_stream_without_a_preamble(data: bytes, units: list[bytes], tmp_path: Path) -> None:
    """How wide its variables are is found out; events may begin with its first byte."""
    for front in (b"", b"\xff\xfe", b"\0" * 40):
        raw = front + b"".join(units) + END
        report, written = saved(raw, tmp_path)
        assert messages(written) == chosen(range(5))
        assert report.lost["metadata"] == 1
        assert outcomes(report)[-1] == (Outcome.RECOVERED, len(front), len(raw))
        (tmp_path / "out").unlink()


def test_damage_between_events(tmp_path: Path) -> None:
    hole = b"\xff" * 9
    front = head() + UNITS[0]
    data = front + hole + b"".join(UNITS[1:]) + END
    report, written = saved(data, tmp_path)
    assert messages(written) == chosen(range(5))
    assert report.lost == {"byte ranges": 1, "times": 4}
    assert EARLY in report.notes
    assert outcomes(report)[-2:] == [
        (Outcome.LOST, len(front), len(front) + 9),
        (Outcome.RECOVERED, len(front) + 9, len(data)),
    ]


def test_one_event_before_the_end_is_enough(tmp_path: Path) -> None:
    report, written = saved(head() + UNITS[0] + b"\xff" * 9 + UNITS[1] + END, tmp_path)
    assert messages(written) == chosen((0, 1))
    assert report.recovered["events"] == 2


def test_a_change_of_the_offset_alone_is_not_believed(tmp_path: Path) -> None:
    front = head() + UNITS[0]
    data = front + b"\xff" * 9 + build_utc_offset(5) + END
    report, written = saved(data, tmp_path)
    assert messages(written) == chosen((0,))
    assert outcomes(report)[-1] == (Outcome.LOST, len(front), len(data))


def test_an_event_of_other_bytes_after_it_is_not_believed(tmp_path: Path) -> None:
    front = head() + UNITS[0]
    data = front + b"\xff" * 9 + UNITS[1] + b"\xff" * 5
    report, written = saved(data, tmp_path)
    assert messages(written) == chosen((0,))
    assert report.recovered["events"] == 1


@pytest.mark.parametrize("gap", [b"", b"\xff" * 7])
def test_events_after_what_looks_like_the_end(gap: bytes, tmp_path: Path) -> None:
    front = head() + UNITS[0] + UNITS[1]
    data = front + END + gap + b"".join(UNITS[2:]) + END
    report, written = saved(data, tmp_path)
    assert messages(written) == chosen(range(5))
    assert outcomes(report)[-2:] == [
        (Outcome.LOST, len(front), len(front) + 1 + len(gap)),
        (Outcome.RECOVERED, len(front) + 1 + len(gap), len(data)),
    ]


def test_lines_of_json(tmp_path: Path) -> None:
    data = head() + UNITS[0] + b"\xff" * 9 + b"".join(UNITS[1:]) + END
    report, written = saved(data, tmp_path, SalvageMode.RECORDS)
    assert [json.loads(line)["message"].encode() for line in written.splitlines()] == chosen(range(5))
    assert report.recovered["events"] == 5


def test_progress_is_reported(tmp_path: Path) -> None:
    reported: list[tuple[int, int | None, str]] = []
    salvage(
        BytesSource(SMALL), tmp_path / "out", progress=lambda done, total, unit: reported.append((done, total, unit))
    )
    assert reported[-1] == (len(SMALL), len(SMALL), "bytes")


def test_a_frame_of_which_nothing_is_left(tmp_path: Path) -> None:
    data = wrapped(SMALL)[:8] + b"\xff" * 50
    report = salvage(BytesSource(data), tmp_path / "out")
    assert outcomes(report) == [(Outcome.LOST, 0, len(data))]
    assert report.lost == {"streams": 1}
    assert not (tmp_path / "out").exists()


def test_a_failing_disk_is_no_damage(tmp_path: Path) -> None:
    def fail(offset: int, size: int, data: bytes) -> bytes:
        if offset + size > 4:
            raise SourceError("read failed", span=Span("disk", offset, offset + size))
        return data

    with pytest.raises(SourceError, match="read failed"):
        salvage(MisreportingSource(BytesSource(SMALL), fail), tmp_path / "out")


@pytest.mark.parametrize("data", [SMALL, WIDE], ids=["four", "eight"])
@pytest.mark.parametrize("packed", ["plain", "flushed"])
def test_a_cut_leaves_the_events_before_it(data: bytes, packed: str, tmp_path: Path) -> None:
    """At every byte after the preamble, or of the last blocks that the logger flushed into a frame."""
    stored, first = data, len(data) - sum(map(len, UNITS)) - 1
    if packed == "flushed":
        engine = zstandard.ZstdCompressor().compressobj()
        half = len(data) * 3 // 4
        parts = [data[:half], *(data[at : at + 20] for at in range(half, len(data), 20))]
        flushed = [engine.compress(part) + engine.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK) for part in parts]
        stored, first = b"".join(flushed) + engine.flush(), len(flushed[0])
    before = 0
    for end in range(first, len(stored), 4):
        out = tmp_path / str(end)
        report = salvage(BytesSource(stored[:end]), out)
        found = messages(out.read_bytes())
        assert found == chosen(range(len(found))), end
        assert report.recovered.get("events", 0) == len(found) >= before
        before = len(found)
    assert before >= len(EVENTS) - 1
