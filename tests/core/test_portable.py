"""Nothing needs what only POSIX systems have: `no_posix.py` takes it away and runs verbs and library calls."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from exhume.errors import UnsafePathError
from exhume.io import files, folders, tree

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.parametrize("pure", ["0", "1"])
def test_verbs_and_library_do_without_what_windows_lacks(tmp_path: Path, pure: str) -> None:
    environment = {**os.environ, "EXHUME_PURE": pure}
    command = [sys.executable, "-m", "tests.core.no_posix", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.endswith("no_posix: done\n"), done.stderr[-3000:]
    assert not list(tmp_path.rglob("*.part"))


def test_what_is_hidden_is_what_the_substitutes_ask_for() -> None:
    """A call that `portable` looks for and `no_posix` leaves there would test nothing."""
    import tests.core.no_posix as shim

    text = Path(files.__file__).read_text(encoding="utf-8")
    for name in ("pread", "pwrite", "readv", "writev", "O_NOFOLLOW", "O_DIRECTORY", "O_CLOEXEC", "O_NONBLOCK"):
        assert f'"{name}"' in text
        assert name in shim.GONE
    assert "fcntl" in shim.MODULES


def test_a_lock_keeps_others_out(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()
    order: list[str] = []
    fds = [os.open(path, os.O_RDWR) for _ in range(2)]
    entered = threading.Event()

    def second() -> None:
        entered.set()
        with files.locked(fds[1]):
            order.append("second")

    with files.locked(fds[0]):
        other = threading.Thread(target=second)
        other.start()
        entered.wait()
        other.join(0.05)
        order.append("first")
    other.join()
    for fd in fds:
        os.close(fd)
    assert order == ["first", "second"]


def test_a_system_without_locks_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", None)
    with (
        (tmp_path / "file").open("wb") as file,
        pytest.raises(OSError, match="cannot lock"),
        files.locked(file.fileno()),
    ):
        pass


@pytest.mark.parametrize(
    "name", ["a:b", "C:", "a\\b", "NUL", "con.txt", "Com1", "lpt9.tar.gz", "x.", "x ", "a?", "\x1f", "NUL .txt"]
)
def test_names_that_mean_something_else_on_windows(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    assert files.safe_parts(f"folder/{name}") == ["folder", name]
    monkeypatch.setattr(files, "WINDOWS_NAMES", True)
    with pytest.raises(UnsafePathError, match="Windows"):
        files.safe_parts(f"{name}/file")


@pytest.mark.parametrize("name", ["con1", "nula.txt", "a.b", "COM10", "lpt", ".x", "é~$&!"])
def test_names_that_are_nothing_special_on_windows(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(files, "WINDOWS_NAMES", True)
    assert files.safe_parts(name) == [name]


@pytest.mark.parametrize("name", ["C:x", "a\\..\\..\\b", "file:stream"])
def test_no_name_leads_out_of_a_directory_on_windows(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    assert tree.check_relative(name) == name
    monkeypatch.setattr(tree, "WINDOWS_NAMES", True)
    with pytest.raises(UnsafePathError):
        tree.check_relative(name)


def test_a_folder_by_its_path_follows_no_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "HAS_DIR_FD", False)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to("elsewhere", target_is_directory=True)
    (tmp_path / "file").touch()
    root = folders.open_root(tmp_path)
    with pytest.raises(OSError, match="symbolic link"):
        folders.enter(root, "link")
    with pytest.raises(NotADirectoryError):
        folders.enter(root, "file")
    with pytest.raises(NotADirectoryError):
        folders.open_root(tmp_path / "file")
    with pytest.raises(FileExistsError):
        folders.create(root, "link")
    inner = folders.enter(folders.enter(root, "a"), "b")
    os.close(folders.create(inner, b"c"))
    assert (tmp_path / "a" / "b" / "c").exists()
    folders.leave(inner)


def test_no_other_module_asks_the_system_for_what_windows_lacks() -> None:
    lacking = re.compile(
        r"\bos\.(pread|preadv|pwrite|readv|writev|fork|O_NOFOLLOW|O_DIRECTORY|O_CLOEXEC|O_NONBLOCK)\b"
        r"|import (fcntl|resource|pwd|grp|termios)\b|\bSIGHUP\b|\bdir_fd="
    )
    allowed = {"io/files.py", "io/folders.py"}
    source = ROOT / "src" / "exhume"
    found = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if lacking.search(path.read_text(encoding="utf-8"))
    }
    assert found == allowed
