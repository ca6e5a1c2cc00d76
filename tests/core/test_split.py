"""Split raw images: all pieces are searched as one image, and what is not searched is named."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.io import images
from exhume.io.images import SplitSource, split_set
from exhume.io.opening import open_target
from tests.conftest import ROOT


@pytest.fixture
def archive() -> bytes:
    return (ROOT / "tests" / "samples" / "zs" / "words-deflate.zs").read_bytes()


def cut(folder: Path, data: bytes, size: int, names: list[str]) -> list[Path]:
    paths = [folder / f"image.{name}" for name in names]
    for number, path in enumerate(paths):
        path.write_bytes(data[number * size : (number + 1) * size])
    return paths


NAMES = {
    "from 000": [f"{n:03}" for n in range(8)],
    "from 001": [f"{n:03}" for n in range(1, 9)],
    "letters": ["a" + letter for letter in "abcdefgh"],
}


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize("kept", [images.MOST_OPEN, 2])
def test_an_archive_in_several_pieces_is_found(
    names: list[str], kept: int, archive: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exhume_cli: Any
) -> None:
    monkeypatch.setattr(images, "MOST_OPEN", kept)
    data = bytes(1000) + archive + bytes(900)
    paths = cut(tmp_path, data, -(-len(data) // 8), names)
    (found,) = exhume.carve(paths[0])
    assert (found.offset, found.length, found.verdict, found.span.source) == (
        1000,
        len(archive),
        "complete",
        str(paths[0]),
    )
    assert list(exhume.verify(paths[0], offset=1000, length=len(archive))) == []
    for given in ([paths[0]], paths, ["--chunk-size", "500", "--jobs", "2", paths[0]]):
        ran = exhume_cli("carve", "--json", *given)
        documents = [json.loads(line) for line in ran.out.splitlines()]
        assert [[one["offset"] for one in each["archives"]] for each in documents] == [[1000]]
        assert f"{paths[0]} to {paths[-1]} are read as one image of 8 pieces" in ran.err


def test_what_is_not_read_is_named(archive: bytes, tmp_path: Path, exhume_cli: Any) -> None:
    paths = cut(tmp_path, bytes(1000) + archive, 300, ["001", "002", "003", "005"])
    ran = exhume_cli("carve", paths[0])
    assert f"{tmp_path}/image.004 is missing, and {paths[3]} is not read" in ran.err
    assert f"{paths[1]} is read alone" in exhume_cli("carve", paths[1]).err
    paths[2].write_bytes(bytes(400))
    assert f"{paths[0]} is read alone" in exhume_cli("carve", paths[0]).err
    (tmp_path / "one.001").write_bytes(archive)
    assert split_set(str(tmp_path / "one.001")) == ((), "")
    assert split_set(str(tmp_path / "none.001")) == ((), "")


def test_a_set_is_one_file(tmp_path: Path) -> None:
    data = bytes(range(250))
    paths = cut(tmp_path, data, 100, ["aa", "ab", "ac"])
    with SplitSource(split_set(str(paths[0])).pieces) as image, pickle.loads(pickle.dumps(image)) as again:
        for start in range(250):
            for end in (start + 1, min(start + 101, 250), 250):
                assert image.read_range(start, end) == again.read_range(start, end) == data[start:end]
        assert (image.size, image.location) == (250, str(paths[0]))
    with open_target(paths[0]) as alone:
        assert not isinstance(alone, SplitSource), "without an offset, a file is an archive by itself"


def test_the_names_of_pieces() -> None:
    assert images._next("999") == "1000"
    assert images._next("azz") == "baa"
    assert images._next("zz") == ""
