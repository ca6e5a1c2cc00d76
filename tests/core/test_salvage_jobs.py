"""Salvage and recode on several threads: the bytes and the report are those of one."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.errors import ExhumeError
from exhume.recovery import SalvageMode
from tests.conftest import Ran

Cli = Callable[..., Ran]
SAMPLES = Path(__file__).parent.parent / "samples"
FORMATS = ("zs", "clp-s", "databundle", "caf", "kv-ir", "leveldb")


def write_zs(path: Path, rnd: random.Random) -> None:
    with exhume.create(path, "zs", block_size=3000) as writer:
        writer.add_records(sorted(b"%08x %s" % (rnd.getrandbits(32), b"x" * (i % 90)) for i in range(3000)))


def write_clps(path: Path, rnd: random.Random) -> None:
    with exhume.create(path, "clp-s", min_table_size=1 << 12) as writer:
        for i in range(4000):
            writer.write({f"k{i % 9}": i, "text": f"task {i % 31} on {rnd.getrandbits(40):x}", "f": rnd.random()})


def write_bundle(path: Path, rnd: random.Random) -> None:
    with exhume.create(path, "databundle", shards=2, record_size=4096) as writer:
        for i in range(200):
            writer.add(f"d{i % 5}/f{i:03}", rnd.randbytes(700) + bytes(i))


def write_caf(path: Path, rnd: random.Random) -> None:
    with exhume.create(path, "caf") as writer:
        for i in range(50):
            writer.add_bytes(f"f{i:03}", rnd.randbytes(300))


def write_kvir(path: Path, rnd: random.Random) -> None:
    with exhume.create(path, "kv-ir") as writer:
        for i in range(300):
            writer.write({"id": i, "text": f"{rnd.getrandbits(90):x}"})


def write_leveldb(path: Path, rnd: random.Random) -> None:
    shutil.copytree(SAMPLES / "leveldb" / "small", path)


WRITE: dict[str, Callable[[Path, random.Random], None]] = dict(
    zip(FORMATS, (write_zs, write_clps, write_bundle, write_caf, write_kvir, write_leveldb), strict=True)
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    for name, write in WRITE.items():
        write(folder / name, random.Random(name))
    return folder


def files_of(path: Path) -> dict[str, bytes]:
    """The files at a path or below it, by name."""
    if path.is_file():
        return {"": path.read_bytes()}
    return {str(one.relative_to(path)): one.read_bytes() for one in sorted(path.rglob("*")) if one.is_file()}


def damaged(path: Path, to: Path, seed: int) -> Path:
    """A copy with a few bytes changed in its largest files."""
    rnd = random.Random(seed)
    files = files_of(path)
    largest = sorted(files, key=lambda name: -len(files[name]))[:2]
    for name, data in files.items():
        spoiled = bytearray(data)
        for _ in range(seed if name in largest else 0):
            spoiled[rnd.randrange(len(spoiled) // 8, len(spoiled))] ^= 1 << rnd.randrange(8)
        copy = to / name if name else to
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(spoiled)
    return to


@pytest.mark.parametrize("seed", [0, 1, 4, 30])
@pytest.mark.parametrize("mode", SalvageMode)
@pytest.mark.parametrize("name", FORMATS)
def test_salvage(name: str, mode: SalvageMode, seed: int, whole: Path, tmp_path: Path) -> None:
    evidence = damaged(whole / name, tmp_path / "evidence", seed)

    def run(jobs: int) -> Any:
        output = tmp_path / "out" / str(jobs) / "x"
        output.parent.mkdir(parents=True)
        try:
            report = exhume.salvage(evidence, output, format=name, mode=mode, jobs=jobs).to_dict()
        except ExhumeError as error:
            return error.code, error.message
        text = json.dumps({key: value for key, value in report.items() if key != "output"})
        return text.replace(str(output), "x"), files_of(output) if output.exists() else None

    assert run(1) == run(3)


@pytest.mark.parametrize("options", [{}, {"stored": True}])
@pytest.mark.parametrize("name", ["zs", "clp-s", "databundle", "kv-ir"])
def test_recode(name: str, options: dict[str, Any], whole: Path, tmp_path: Path) -> None:
    digests = {
        exhume.recode(whole / name, tmp_path / f"x{jobs}", format=name, jobs=jobs, **options).content_digest
        for jobs in (1, 3)
    }
    assert len(digests) == 1
    assert files_of(tmp_path / "x1") == files_of(tmp_path / "x3")


@pytest.mark.parametrize("name", ["zs", "clp-s", "databundle", "kv-ir"])
def test_errors_of_recode_are_those_of_one_thread(name: str, whole: Path, tmp_path: Path) -> None:
    evidence = damaged(whole / name, tmp_path / "evidence", 9)
    reported = []
    for jobs in (1, 3):
        with pytest.raises(ExhumeError) as raised:
            exhume.recode(evidence, tmp_path / "x", format=name, stored=True, jobs=jobs)
        reported.append((raised.value.code, raised.value.message, str(raised.value.span)[:4]))
        assert not (tmp_path / "x").exists()
    assert reported[0] == reported[1]


def test_the_commands_take_jobs(whole: Path, tmp_path: Path, exhume_cli: Cli) -> None:
    evidence = str(damaged(whole / "zs", tmp_path / "evidence", 1))
    for verb, code in (("salvage", 3), ("recode", 0)):
        target = evidence if verb == "salvage" else str(whole / "clp-s")
        for jobs in ("1", "2"):
            assert exhume_cli(verb, target, "-o", str(tmp_path / f"{verb}{jobs}"), "-j", jobs, "-q").code == code
        assert (tmp_path / f"{verb}1").read_bytes() == (tmp_path / f"{verb}2").read_bytes()
