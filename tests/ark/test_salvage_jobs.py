"""Salvage of a log with several processes: the log and the report of one, whatever is damaged."""

from __future__ import annotations

import pickle
import random
import shutil
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.errors import ExhumeError, SourceError, Span
from exhume.formats.ark import parallel_query, recover, salvage
from exhume.formats.ark.layout import ENTRY_SIZE
from exhume.io.output.atomic import AtomicFile
from exhume.recovery import SalvageMode
from tests.sizes import size

IDL = "namespace t; schema Pose { double x; string name; }"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three splits of a packed column and three of a plain one, of 200 messages each."""
    root = tmp_path_factory.mktemp("salvage") / "log"
    numbers = count(1)
    with exhume.ark.create(root, guids=lambda: guid(next(numbers))) as writer:
        writer.column("packed", "zstd", split_items=200)
        writer.column("plain", split_items=200)
        pose = writer.channel("/pose", "t::Pose", IDL, column="packed")
        other = writer.channel("/other", "t::Pose", IDL, column="plain")
        for number in range(600):
            for channel in (pose, other):
                channel.write(1000 + number, {"x": number / 7, "name": f"n{number}" * (number % 5)})
    return root


def guid(number: int) -> str:
    return f"{number:08x}-0000-4000-8000-000000000000"


def here(function: Callable[[Any], Any], items: Iterable[Any], jobs: int) -> Iterator[Any]:
    """Instead of processes: everything here, with pickled functions, items and results; some items in advance."""
    function = pickle.loads(pickle.dumps(function))
    ahead = list(items) if jobs > 1 else items
    for item in ahead:
        yield pickle.loads(pickle.dumps(function(pickle.loads(pickle.dumps(item)))))


def noise(log: Path, rng: random.Random) -> None:
    """Bytes of messages, of indexes and of headers are other ones."""
    for path in splits(log):
        data = bytearray(path.read_bytes())
        for _ in range(rng.choice([0, 1, 40])):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        path.write_bytes(data)


def cut(log: Path, rng: random.Random) -> None:
    """Split end early, one within its index, and one is gone."""
    for path, share in zip(splits(log), (None, 0.9, 0.3, 0.5, 0.01, 1), strict=True):
        if share is None:
            path.unlink()
        else:
            path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share) - rng.randrange(ENTRY_SIZE)])


def headless(log: Path, rng: random.Random) -> None:
    """Headers are noise, and the manifest is gone."""
    for path in splits(log)[::2]:
        path.write_bytes(rng.randbytes(1024) + path.read_bytes()[1024:])
    next((log / "manifests").iterdir()).unlink()


def splits(log: Path) -> list[Path]:
    return sorted((log / "splits").iterdir())


Damage = Callable[[Path, random.Random], None]


def salvaged(
    log: Path, out: Path, jobs: int, mode: SalvageMode, monkeypatch: pytest.MonkeyPatch
) -> tuple[dict[str, Any], dict[str, bytes]] | str:
    """The report, and the files that were written; or the error."""
    numbers = count(100)
    monkeypatch.setattr(salvage, "new_guid", lambda: guid(next(numbers)))
    try:
        report = exhume.salvage(log, out, mode=mode, jobs=jobs).to_dict()
    except ExhumeError as error:
        return str(error)
    files = [out] if out.is_file() else [path for path in out.rglob("*") if path.is_file()]
    written = {str(path.relative_to(out)): path.read_bytes() for path in files}
    if out.is_dir():
        shutil.rmtree(out)
    else:
        out.unlink(missing_ok=True)
    return report, written


@pytest.mark.parametrize("mode", [SalvageMode.ARCHIVE, SalvageMode.RECORDS])
@pytest.mark.parametrize("damage", [noise, cut, headless], ids=lambda one: one.__name__)
def test_pieces(damage: Damage, mode: SalvageMode, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lost = 0
    for seed in range(size(2, 8)):
        broken = tmp_path / f"log{seed}"
        shutil.copytree(log, broken)
        damage(broken, random.Random(seed))
        with monkeypatch.context() as patch:
            one = salvaged(broken, tmp_path / "out", 1, mode, patch)
        with monkeypatch.context() as patch:
            patch.setattr(recover, "CHUNK_MESSAGES", 32)
            patch.setattr(recover, "CHUNK_BYTES", 700)
            patch.setattr(parallel_query, "MIN_CHUNKS", 1)
            patch.setattr(parallel_query, "map_processes", here)
            assert salvaged(broken, tmp_path / "out", 2, mode, patch) == one
        lost += isinstance(one, tuple) and bool(one[0]["lost"])
    assert lost


def test_processes(log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "log"
    shutil.copytree(log, broken)
    noise(broken, random.Random(3))
    monkeypatch.setattr(recover, "CHUNK_MESSAGES", 50)
    monkeypatch.setattr(parallel_query, "MIN_CHUNKS", 1)
    one, three = (salvaged(broken, tmp_path / "out", jobs, SalvageMode.ARCHIVE, monkeypatch) for jobs in (1, 3))
    assert isinstance(one, tuple)
    assert one[0]["lost"]
    assert one == three


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_split_that_cannot_be_copied_ends_the_salvage(
    jobs: int, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if it is copied during the check of the next ones: no files remain, and nothing more is written."""
    begun: list[str] = []

    class Full(AtomicFile):
        def __init__(self, path: Path) -> None:
            begun.append(path.name)
            if len(begun) == 2:
                raise SourceError("no space is left", span=Span(path.name, 0, 0))
            super().__init__(path)

    monkeypatch.setattr(salvage, "AtomicFile", Full)
    with pytest.raises(SourceError, match="no space is left"):
        exhume.salvage(log, tmp_path / "out", jobs=jobs)
    assert len(begun) == 2
    assert list(tmp_path.iterdir()) == []
