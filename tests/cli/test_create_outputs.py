"""What the verbs of `create` do where the output exists: one rule for files, one for directories."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from exhume.registry import formats
from tests.conftest import Ran

Cli = Callable[..., Ran]

RECORD = {
    "ark": '{"channel":"/a","time_ns":1,"value":1}',
    "clp-ir": '{"timestamp":1,"message":"apple"}',
    "clp-s": '{"a":1}',
    "kv-ir": '{"a":1}',
}
"""What a format takes as lines of JSON; the others take any file."""

WRITABLE = [id for id, described in formats().items() if described.create]


def arguments(format: str, folder: Path) -> list[str]:
    """`create FORMAT INPUT`, and the input made."""
    path = folder / ("in.jsonl" if format in RECORD else "in.txt")
    path.write_text(RECORD.get(format, "apple") + "\n")
    return ["create", format, str(path), "-q"]


@pytest.mark.parametrize("format", WRITABLE)
def test_a_directory_is_never_replaced(format: str, tmp_path: Path, exhume_cli: Cli) -> None:
    words = arguments(format, tmp_path)
    there = tmp_path / "there" / "file"
    there.parent.mkdir()
    there.write_bytes(b"theirs")
    for more in ([], ["--overwrite"]):
        ran = exhume_cli(*words, *more, "-o", there.parent)
        if more and formats()[format].container == "directory":
            assert (ran.code, "No such option '--overwrite'" in ran.err) == (2, True), ran.err
        else:
            assert (ran.code, "a directory, which is never replaced" in ran.err) == (1, True), ran.err
            assert "use --overwrite" not in ran.err
        assert [path.name for path in there.parent.iterdir()] == ["file"]
        assert there.read_bytes() == b"theirs"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("format", [id for id in WRITABLE if formats()[id].container == "file"])
def test_a_pipe_or_device_is_never_replaced(format: str, tmp_path: Path, exhume_cli: Cli) -> None:
    """A file in place of `/dev/null` breaks the whole machine; a link to it is the same."""
    words = arguments(format, tmp_path)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    for name in ("pipe", "link"):
        for more in ([], ["--overwrite"]):
            ran = exhume_cli(*words, *more, "-o", tmp_path / name)
            assert (ran.code, "a device or pipe, which is never replaced: name another" in ran.err) == (1, True), (
                ran.err
            )
            assert "use --overwrite" not in ran.err
    assert stat.S_ISFIFO(os.lstat(tmp_path / "pipe").st_mode)
    assert (tmp_path / "link").is_symlink()


@pytest.mark.parametrize("format", [id for id in WRITABLE if formats()[id].container == "file"])
def test_a_file_is_replaced_only_with_overwrite(format: str, tmp_path: Path, exhume_cli: Cli) -> None:
    words = [*arguments(format, tmp_path), "-o", str(tmp_path / "made")]
    (tmp_path / "made").write_bytes(b"theirs")
    ran = exhume_cli(*words)
    assert (ran.code, "use --overwrite to replace it [EX-702]" in ran.err) == (1, True), ran.err
    assert (tmp_path / "made").read_bytes() == b"theirs"
    assert exhume_cli(*words, "--overwrite").code == 0
    assert exhume_cli("verify", tmp_path / "made").code == 0


def test_ark_adds_a_log_to_a_directory_of_logs(tmp_path: Path, exhume_cli: Cli) -> None:
    for _ in range(2):
        assert exhume_cli(*arguments("ark", tmp_path), "-o", tmp_path / "logs").code == 0
    assert len(list((tmp_path / "logs" / "manifests").iterdir())) == 2
