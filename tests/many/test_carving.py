"""Carving in spans: the same finds as one pass, wherever the spans are cut."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import exhume
from exhume import distributed
from exhume.distributed.carving import Search, carve_each
from exhume.errors import SourceError
from exhume.io.source import BytesSource

Cli = Callable[..., Any]


@pytest.fixture(scope="module")
def image(archives: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Archives of three formats, whole, cut, nested in a chunk and touching one another, in 60 KiB of noise."""
    rng = random.Random(5)
    nest = tmp_path_factory.mktemp("image")
    with exhume.create(nest / "nest.caf", "caf") as writer:
        members: Any = writer
        for name in ("z00.zs", "l0.clps", "c0.caf"):
            members.add_bytes(name, (archives / name).read_bytes())
    pieces = [rng.randbytes(7000)]
    for name in ("z01.zs", "l1.clps", "c1.caf", "z03.zs"):
        pieces += [(archives / name).read_bytes(), rng.randbytes(rng.randrange(3000))]
    pieces += [(nest / "nest.caf").read_bytes(), (archives / "z02.zs").read_bytes(), (archives / "z04.zs").read_bytes()]
    pieces += [rng.randbytes(9000), (archives / "l2.clps").read_bytes()[:900], rng.randbytes(4000)]
    pieces += [(archives / "z05.zs").read_bytes()[:-40]]
    path = nest / "disk.img"
    path.write_bytes(b"".join(pieces))
    return path


@pytest.fixture(scope="module")
def expected(image: Path) -> list[Any]:
    found = list(exhume.carve(image))
    assert len(found) >= 11
    assert any(one.nested_in is not None for one in found)
    assert {str(one.verdict) for one in found} >= {"complete", "partial"}
    return found


def borders(found: list[Any]) -> list[int]:
    """Offsets at which a search that begins or ends there may go wrong."""
    return [one.offset + shift for one in found for shift in (-1, 0, 1, 4, 8)] + [one.end for one in found]


@st.composite
def searches(draw: st.DrawFn, size: int, found: list[Any], least: int) -> tuple[int, int, int | None]:
    """`(bytes of a piece, start, stop)` of a search of an image with these finds."""
    places = borders(found)
    piece = draw(st.one_of(st.integers(least, size), st.sampled_from([one for one in places if one > least])))
    start = draw(st.sampled_from([0, 0, *[one for one in places if 0 <= one < size]]))
    return piece, start, draw(st.sampled_from([None, size, *[one for one in places if start < one <= size]]))


def reported(image: Path, start: int, stop: int | None, expected: list[Any]) -> list[Any]:
    """What a search in one piece finds."""
    return expected if (start, stop) == (0, None) else list(exhume.carve(image, start=start, stop=stop))


@given(data=st.data())
@settings(max_examples=12)
def test_spans_join_exactly(image: Path, expected: list[Any], data: st.DataObject) -> None:
    size = image.stat().st_size
    span, start, stop = data.draw(searches(size, expected, size // 20), label="span, start, stop")
    found = list(distributed.carve(str(image), span=span, start=start, stop=stop))
    assert found == reported(image, start, stop, expected)


@given(data=st.data())
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_threads_find_the_same_wherever_pieces_are_cut(
    image: Path, expected: list[Any], monkeypatch: pytest.MonkeyPatch, data: st.DataObject
) -> None:
    size = image.stat().st_size
    piece, start, stop = data.draw(searches(size, expected, size // 40), label="piece, start, stop")
    monkeypatch.setattr("exhume.engines.carve.PIECE", piece)
    monkeypatch.setattr("exhume.engines.carve.WINDOW", data.draw(st.integers(100, size), label="window"))
    jobs = data.draw(st.integers(2, 4), label="jobs")
    found = list(exhume.carve(image, start=start, stop=stop, jobs=jobs))
    assert found == reported(image, start, stop, expected)


class Failing(BytesSource):
    """An image whose disk cannot be read past a byte."""

    limit = 1 << 40

    def _read(self, offset: int, size: int) -> bytes:
        if offset + size > self.limit:
            raise SourceError("bad sector", span=self.span(self.limit, self.limit))
        return super()._read(offset, size)


def test_threads_report_the_error_that_one_job_meets(image: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exhume.engines.carve.PIECE", 2000)
    monkeypatch.setattr("exhume.engines.carve.WINDOW", 2000)
    source = Failing(image.read_bytes())
    source.limit = 9_000
    for jobs in (1, 2):
        with pytest.raises(SourceError, match="bad sector"):
            list(exhume.carve(source, only=["leveldb"], jobs=jobs))


def test_progress_of_threads_is_that_of_the_image(image: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exhume.engines.carve.PIECE", 9000)
    seen: list[tuple[int, int | None, str]] = []
    list(exhume.carve(image, start=500, jobs=2, only=["leveldb"], progress=lambda *done: seen.append(done)))
    total = image.stat().st_size - 500
    assert seen == [(min(at, total), total, "bytes") for at in range(9000, total + 9000, 9000)]


@pytest.mark.slow
def test_processes_find_the_same(image: Path, expected: list[Any]) -> None:
    assert list(distributed.carve(str(image), span=9973, jobs=2)) == expected


@pytest.mark.slow
def test_several_images(image: Path, expected: list[Any], archives: Path) -> None:
    targets = [str(image), str(archives / "none"), str(archives), str(archives / "z00.zs")]
    found = list(carve_each(targets, Search(), span=5000))
    assert [one.target for one in found] == targets
    assert [[str(error.code) for error in one.errors] for one in found] == [[], ["EX-601"], ["EX-601"], []]
    assert found[0].archives == expected
    assert [one.format for one in found[3].archives] == ["zs"]


def test_a_span_that_cannot_be_read_is_an_error(image: Path, tmp_path: Path) -> None:
    with pytest.raises(SourceError) as caught:
        list(distributed.carve(str(tmp_path / "none")))
    assert caught.value.code == "EX-601"
    with pytest.raises(ValueError, match="at least one byte"):
        list(distributed.carve(str(image), span=0))


@pytest.mark.slow
def test_a_directory_is_no_image(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="not a directory"):
        list(distributed.carve(str(tmp_path)))


def test_an_empty_image(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    assert list(distributed.carve(str(tmp_path / "empty"))) == []


@pytest.mark.slow
def test_the_command_line(image: Path, exhume_cli: Cli, archives: Path, tmp_path: Path) -> None:
    plain = exhume_cli("carve", "--json", image, "-o", tmp_path / "one")
    assert exhume_cli("carve", "--json", "--jobs", 3, image).out == exhume_cli("carve", "--json", image).out
    spans = exhume_cli("carve", "--json", "--jobs", 2, "--chunk-size", "20K", image, "-o", tmp_path / "two")
    assert plain.code == spans.code == 0
    assert plain.out == spans.out
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "two").iterdir())
    both = exhume_cli("carve", "--json", image, archives / "z00.zs", archives / "none", "-o", tmp_path / "three")
    assert both.code == 1
    documents = [json.loads(line) for line in both.text.replace("\n{", "{").replace("}{", "}\n{").splitlines()]
    assert documents[0] == json.loads(plain.text)
    assert sorted(path.name for path in (tmp_path / "three" / "disk.img").iterdir()) == names
    assert [path.name for path in (tmp_path / "three" / "z00.zs").iterdir()] == ["000000000000.zs"]
    assert "EX-601" in both.err
    (tmp_path / "noise").write_bytes(b"nothing here" * 100)
    assert exhume_cli("carve", "--jobs", 2, tmp_path / "noise").code == 4
    assert exhume_cli("carve", tmp_path / "noise", image).code == 0
    assert exhume_cli("carve", "--chunk-size", 0, image).code == 2
    shifted = exhume_cli("carve", "--json", "--offset", 7000, "--jobs", 2, "--chunk-size", "20K", image)
    assert shifted.out == exhume_cli("carve", "--json", "--offset", 7000, image).out
