"""The walk that verifies: options that skip checks, errors it continues after; and bounds of the layout."""

from __future__ import annotations

import json

import pytest

from exhume.errors import FormatError, SourceError, Span
from exhume.findings import Severity
from exhume.formats.clp_ir import checks
from exhume.formats.clp_ir.layout import build_metadata, misfit, parse_metadata
from exhume.formats.clp_ir.units import MAX_MS, MIN_MS
from exhume.formats.clp_ir.verify import verify_source
from exhume.formats.kv_ir.layout import END, Encodings, build_preamble, parse_preamble
from exhume.formats.kv_ir.passes import EVENTS
from exhume.io.source import BytesSource
from exhume.io.tree import MemoryTree
from exhume.testing.sources import MisreportingSource
from tests.clp_ir.streams import SMALL, UNITS, delta, event, head


def codes(data: bytes, *, quick: bool = False, jobs: int = 1) -> list[str]:
    """The codes of a stream's findings."""
    return [finding.code for finding in verify_source(BytesSource(data), quick=quick, jobs=jobs)]


def test_a_directory_is_no_stream() -> None:
    [finding] = verify_source(MemoryTree({"a": b""}, name="logs"))
    assert (finding.code, finding.span) == (checks.NOT_CLP_IR.code, Span("logs", 0, 0))
    assert "a directory" in finding.message


def test_everything_is_read_unless_quick() -> None:
    broken = head() + UNITS[0] + b"\x55" + UNITS[1] + END
    assert codes(SMALL) == codes(SMALL, quick=True) == codes(SMALL, jobs=2) == []
    assert codes(broken) != []
    assert codes(broken, quick=True) == []


@pytest.mark.parametrize("beyond", [-1, 4])
def test_a_failing_disk_is_no_damage(beyond: int) -> None:
    def fail(offset: int, size: int, data: bytes) -> bytes:
        if offset + size > beyond:
            raise SourceError("read failed", span=Span("disk", offset, offset + size))
        return data

    with pytest.raises(SourceError, match="read failed"):
        list(verify_source(MisreportingSource(BytesSource(SMALL), fail)))


def test_progress_is_reported() -> None:
    reported: list[tuple[int, int | None, str]] = []
    data = head() + event(delta(1), b"x") * (2 * EVENTS + 5) + END
    found = verify_source(BytesSource(data), progress=lambda done, total, unit: reported.append((done, total, unit)))
    assert list(found) == []
    assert 2 <= len(reported) <= 5
    assert {(total, unit) for _, total, unit in reported} == {(len(data), "bytes")}
    assert [done for done, _, _ in reported] == sorted(done for done, _, _ in reported)


def test_a_finding_is_as_severe_as_its_rule() -> None:
    text = head() + event(delta(0), b"\xff") + END
    [finding] = verify_source(BytesSource(text))
    assert (finding.code, finding.severity) == (checks.NOT_UTF8.code, Severity.WARNING)
    [finding] = verify_source(BytesSource(head() + b"\x55" + END))
    assert (finding.code, finding.severity) == ("CLPIR-305", Severity.ERROR)


@pytest.mark.parametrize(("time", "fits"), [(MIN_MS, True), (MIN_MS - 1, False), (MAX_MS, True), (MAX_MS + 1, False)])
def test_the_reference_time_has_64_bits(time: int, fits: bool) -> None:
    raw = build_metadata(wide=False, reference_ms=time, pattern="", zone="UTC")
    built = build_preamble(Encodings.FOUR_BYTE, raw)
    preamble = parse_preamble(built, Span("a", 0, len(built)))
    if fits:
        assert parse_metadata(preamble, Span("a", 0, len(built)))["REFERENCE_TIMESTAMP"] == str(time)
    else:
        with pytest.raises(FormatError, match="CLPIR-402"):
            parse_metadata(preamble, Span("a", 0, len(built)))


def test_metadata_are_those_of_upstream_byte_for_byte() -> None:
    raw = build_metadata(wide=False, reference_ms=5, pattern="ä", zone="UTC")
    assert raw == json.dumps(json.loads(raw), ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()
    assert list(json.loads(raw)) == sorted(json.loads(raw))
    assert json.loads(raw)["VERSION"] == "0.0.2"


def test_a_token_that_fits_has_no_misfit() -> None:
    assert misfit(delta(5), 0) is None
    error = misfit(delta(500)[:2], 0)
    assert error is not None
    assert error.short
