"""EWF images: an image that ewfacquirestream wrote is read, carved and verified like a raw one."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.errors import SourceError
from exhume.io.source import Source
from tests.real import RealSamples

pytest.importorskip("pyewf")

Cli = Callable[..., Any]
PLACES = [(0x8000, "zs", "zs/words-none.zs"), (0x40000, "caf", "caf/sorted.caf")]


@pytest.fixture
def image(real_samples: RealSamples) -> Path:
    return real_samples.path("evidence", "archives.E01")


def test_archives_inside_are_found_where_they_lie_in_the_image(image: Path, samples: Path) -> None:
    found = list(exhume.carve(image))
    verdicts = {"caf": "incomplete"}  # which has nothing that its data could be compared with
    wanted = [
        (at, format, (samples / name).stat().st_size, verdicts.get(format, "complete")) for at, format, name in PLACES
    ]
    assert [(one.offset, one.format, one.length, str(one.verdict)) for one in found] == wanted


@pytest.mark.parametrize(("at", "format", "name"), PLACES)
def test_an_archive_inside_is_opened_and_verified_in_place(
    at: int, format: str, name: str, image: Path, samples: Path, exhume_cli: Cli
) -> None:
    size = (samples / name).stat().st_size
    assert list(exhume.verify(image, offset=at, length=size)) == []
    with exhume.open(image, offset=at, length=size) as archive, exhume.open(samples / name) as original:
        assert archive.format == format
        assert isinstance(archive.source, Source)
        assert archive.source.read_at(0, size) == (samples / name).read_bytes()
        assert archive.info().to_dict() == original.info().to_dict()
    assert exhume_cli("verify", image, "--offset", at, "--length", size).code == 0


def test_carving_states_that_the_image_is_what_was_put_into_it(image: Path, tmp_path: Path, exhume_cli: Cli) -> None:
    ran = exhume_cli("carve", image, "-o", tmp_path / "found")
    assert ran.code == 0
    assert "MD5 of the image: matches" in ran.err
    assert sorted(path.name for path in (tmp_path / "found").iterdir()) == ["000000008000.zs", "000000040000.caf"]


def test_a_damaged_container_is_reported_even_where_libewf_reads_on(
    image: Path, tmp_path: Path, exhume_cli: Cli
) -> None:
    data = image.read_bytes()
    outcomes = set()
    for at in (0, 2134, 2231, 3783, 8342):
        damaged = bytearray(data)
        damaged[at] ^= 0x10
        target = tmp_path / "damaged.E01"
        target.write_bytes(damaged)
        ran = exhume_cli("carve", target)
        assert "Traceback" not in ran.err
        outcomes.add(ran.code)
        if at in (2134, 2231, 3783):
            assert "MD5 of the image: MISMATCH" in ran.err
            assert ran.code == 1
        elif at == 8342:
            assert (ran.code, "EX-601" in ran.err) == (1, True)
    assert 1 in outcomes


def test_workers_searched_it_and_the_whole_is_compared_all_the_same(
    image: Path, tmp_path: Path, exhume_cli: Cli
) -> None:
    ran = exhume_cli("carve", image, "--jobs", 2, "--chunk-size", "128K", "-q")
    alone = exhume_cli("carve", image, "-q")
    assert (ran.code, ran.out) == (0, alone.out)
    assert "MD5 of the image: matches" in exhume_cli("carve", image, "--jobs", 2).err
    damaged = bytearray(image.read_bytes())
    damaged[2231] ^= 0x10
    (tmp_path / "damaged.E01").write_bytes(damaged)
    ran = exhume_cli("carve", tmp_path / "damaged.E01", "--jobs", 2)
    assert (ran.code, "MD5 of the image: MISMATCH" in ran.err) == (1, True)


def test_verify_compares_it_and_info_states_that_it_does_not(image: Path, tmp_path: Path, exhume_cli: Cli) -> None:
    damaged = bytearray(image.read_bytes())
    damaged[3783] ^= 0x10  # after both archives, where libewf reads on
    (tmp_path / "damaged.E01").write_bytes(damaged)
    where = ("--offset", 0x8000, "--length", 862)
    ran = exhume_cli("verify", image, *where)
    assert (ran.code, "MD5 of the image: matches" in ran.err) == (0, True)
    ran = exhume_cli("verify", tmp_path / "damaged.E01", *where)
    assert (ran.code, "MD5 of the image: MISMATCH, stored " in ran.err) == (1, True)
    ran = exhume_cli("verify", tmp_path / "damaged.E01", *where, "--quick")
    assert (ran.code, "MD5 of the image: not checked: --quick" in ran.err) == (0, True)
    ran = exhume_cli("info", tmp_path / "damaged.E01", *where)
    assert (ran.code, "MD5 of the image: not checked: verify compares it" in ran.err) == (0, True)


def test_a_name_alone_makes_no_container(samples: Path, tmp_path: Path) -> None:
    shutil.copy(samples / "zs/words-none.zs", tmp_path / "words.E01")
    assert [one.format for one in exhume.identify(tmp_path / "words.E01")] == ["zs"]
    with pytest.raises(FileNotFoundError):
        exhume.open(tmp_path / "missing.E01")
    (tmp_path / "cut.E01").write_bytes(b"EVF\x09\x0d\x0a\xff\x00")
    with pytest.raises(SourceError, match="EWF image cannot be read"):
        exhume.identify(tmp_path / "cut.E01")


def test_without_libewf_the_extra_is_named(image: Path) -> None:
    code = "import sys; sys.modules['pyewf'] = None; import exhume; exhume.identify(sys.argv[1])"
    done = subprocess.run([sys.executable, "-c", code, str(image)], capture_output=True, text=True, check=False)
    assert "MissingDependencyError" in done.stderr
    assert "exhume[ewf]" in done.stderr


def test_reading_a_closed_one_is_an_error(image: Path) -> None:
    from exhume.io.opening import open_target

    source = open_target(image)
    source.close()
    source.close()
    with pytest.raises(SourceError) as caught:
        source.read_at(0, 1)  # type: ignore[union-attr]
    assert caught.value.code == "EX-605"


def test_a_record_of_a_run_has_the_digest_of_the_container(image: Path, tmp_path: Path, exhume_cli: Cli) -> None:
    assert exhume_cli("carve", image, "--audit", tmp_path / "log").code == 0
    record = json.loads((tmp_path / "log").read_text())
    assert [one["name"] for one in record["inputs"]] == [str(image)]
    assert record["inputs"][0]["sha256"] == hashlib.sha256(image.read_bytes()).hexdigest()
