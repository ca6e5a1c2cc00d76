"""The walk that verifies: options that skip checks, errors it continues after, input it accepts."""

from __future__ import annotations

import pytest
from exhume_ksy.facts.clp_kv_ir import Tags

from exhume.errors import SourceError, Span
from exhume.formats.kv_ir import checks
from exhume.formats.kv_ir.layout import END, build_integer
from exhume.formats.kv_ir.passes import EVENTS
from exhume.formats.kv_ir.verify import verify_source
from exhume.io.source import BytesSource
from exhume.io.tree import MemoryTree
from exhume.testing.sources import MisreportingSource
from tests.kv_ir.streams import HEAD, SMALL, auto, event, user


def codes(data: bytes, **options: bool) -> list[str]:
    """The codes of a stream's findings."""
    return [finding.code for finding in verify_source(BytesSource(data), **options)]  # type: ignore[arg-type]


def test_a_directory_is_no_stream() -> None:
    [finding] = verify_source(MemoryTree({"a": b""}, name="logs"))
    assert (finding.code, finding.span) == (checks.NOT_KV_IR.code, Span("logs", 0, 0))
    assert "a directory" in finding.message


def test_everything_is_read_unless_quick() -> None:
    broken = SMALL[: len(HEAD) + 3] + b"\xff" + SMALL[len(HEAD) + 4 :]
    assert codes(SMALL) == codes(SMALL, quick=True) == []
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
    one = event([], [(1, build_integer(5))])
    data = HEAD + user(Tags.NODE_INTEGER, b"n") + one * (2 * EVENTS + 5) + END
    found = verify_source(BytesSource(data), progress=lambda done, total, unit: reported.append((done, total, unit)))
    assert list(found) == []
    assert 2 <= len(reported) <= 5
    assert {(total, unit) for _, total, unit in reported} == {(len(data), "bytes")}
    assert [done for done, _, _ in reported] == sorted(done for done, _, _ in reported)


@pytest.mark.parametrize("node", [auto, user])
def test_keys_of_both_kinds_are_text(node: object) -> None:
    made = node(Tags.NODE_INTEGER, b"\xff")  # type: ignore[operator]
    assert codes(HEAD + made + END) == [checks.NOT_UTF8.code]
