"""Many outputs in one new directory wait for the disk once, at the end; until then the directory is marked."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.io.output.atomic import FEW, UNFINISHED, AtomicDirectory, AtomicFile, postponed, several_outputs
from tests.conftest import Ran

Cli = Callable[..., Ran]


@pytest.fixture
def archives(tmp_path: Path) -> list[Path]:
    made = []
    for number in range(FEW + 2):
        made.append(tmp_path / f"a{number}.zs")
        with exhume.create(made[-1], "zs") as writer:
            records: Any = writer
            records.add(b"x")
    return made


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []
    for name in ("sync", "fsync"):
        original = getattr(os, name)

        def noted(*args: Any, name: str = name, original: Any = original) -> Any:
            found.append(name)
            return original(*args)

        monkeypatch.setattr(os, name, noted)
    return found


@pytest.mark.parametrize("verb", [("salvage",), ("export", "--to", "jsonl")])
def test_one_wait_for_all(
    verb: tuple[str, ...], archives: list[Path], calls: list[str], tmp_path: Path, exhume_cli: Cli
) -> None:
    out = tmp_path / "out"
    assert exhume_cli(verb[0], *archives, *verb[1:], "-o", out).code == 0
    assert sorted(one.stem for one in out.iterdir()) == sorted(one.stem for one in archives)
    assert calls[0] == "sync"
    assert calls.count("sync") == 1
    assert calls.count("fsync") == len(archives) + 3  # with the mark, and the directory before and after it is removed


def test_an_interrupted_run_leaves_the_mark(
    archives: list[Path], tmp_path: Path, exhume_cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    from exhume.cli import cmd_salvage

    done: list[Any] = []

    def stops(*args: Any, **options: Any) -> Any:
        done.append(args)
        if len(done) == 3:
            raise KeyboardInterrupt
        return original(*args, **options)

    original = cmd_salvage._salvage
    monkeypatch.setattr(cmd_salvage, "_salvage", stops)
    assert exhume_cli("salvage", *archives, "-o", tmp_path / "out").code == 130
    assert sorted(one.name for one in (tmp_path / "out").iterdir()) == [UNFINISHED, "a0.zs", "a1.zs"]


def test_outputs_that_are_replaced_wait_one_by_one(
    archives: list[Path], calls: list[str], tmp_path: Path, exhume_cli: Cli
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    assert exhume_cli("export", *archives, "--to", "jsonl", "--overwrite", "-o", out).code == 0
    assert calls.count("fsync") == 2 * len(archives)
    assert not (out / UNFINISHED).exists()


def test_a_failure_to_flush_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(fd: int) -> None:
        raise OSError(5, "Input/output error")

    with pytest.raises(exhume.errors.SourceError), several_outputs(tmp_path):
        with postponed(), AtomicFile(tmp_path / "a") as file:
            file.file.write(b"x")
        monkeypatch.setattr(os, "fsync", fails)
    assert (tmp_path / UNFINISHED).exists()


def test_a_directory_within_waits_with_the_others(tmp_path: Path, calls: list[str]) -> None:
    with postponed(), AtomicDirectory(tmp_path / "d") as made:
        made.create("a").close()
    assert calls == []
    with AtomicDirectory(tmp_path / "e") as made:
        made.create("a").close()
    assert calls == ["fsync"] * 3  # the file, the directory, the one around it
