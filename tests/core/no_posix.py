"""Takes away what Windows does not have, then runs verbs and library calls: `test_portable.py` starts it as a process.

    python -m tests.core.no_posix FOLDER

Modules and functions that only POSIX systems have raise as they do where there is none; directories cannot be opened,
synced or given as `dir_fd`; locks are those of Windows, made of what is here.
"""

from __future__ import annotations

import importlib
import os
import shutil
import signal
import stat
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

GONE = (
    *("pread", "preadv", "readv", "writev", "pwrite", "pwritev", "copy_file_range", "sendfile", "posix_fadvise"),
    *("fork", "forkpty", "register_at_fork", "getuid", "geteuid", "sched_getaffinity", "openpty"),
    *("fchmod", "fchdir", "statvfs", "posix_fallocate", "getxattr", "listxattr"),
    *("O_NOFOLLOW", "O_DIRECTORY", "O_CLOEXEC", "O_NONBLOCK", "O_TMPFILE", "O_NOATIME"),
)
MODULES = ("resource", "pwd", "grp", "termios", "fcntl")
NAMED = ("open", "stat", "mkdir", "unlink", "replace", "rename", "link", "rmdir", "scandir", "utime")


def _refusing(real: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **more: Any) -> Any:
        for name in ("dir_fd", "src_dir_fd", "dst_dir_fd"):
            if more.get(name) is not None:
                raise TypeError(f"{name} unavailable on this platform")
        if args and isinstance(args[0], int) and real.__name__ != "stat":
            raise TypeError("descriptors of directories are not here")
        if real.__name__ == "open" and stat.S_ISDIR(_mode(args[0])):
            raise PermissionError(13, "Permission denied", args[0])
        return real(*args, **more)

    return call


def _mode(path: Any) -> int:
    try:
        return _stat(path).st_mode
    except OSError:
        return 0


_stat = os.stat


def _locks() -> types.ModuleType:
    """`msvcrt` as far as files are locked with it, over the locks of this system."""
    import fcntl

    found = types.ModuleType("msvcrt")

    def locking(fd: int, mode: int, count: int) -> None:
        try:
            fcntl.lockf(fd, fcntl.LOCK_UN if mode == 0 else fcntl.LOCK_EX | fcntl.LOCK_NB, count, 0, os.SEEK_CUR)
        except OSError as error:
            raise PermissionError(13, "Permission denied") from error

    found.__dict__.update(LK_UNLCK=0, LK_NBLCK=2, locking=locking)
    return found


def hide() -> None:
    """Take it all away from this process."""
    import subprocess  # noqa: F401 - it would take this for Windows altogether

    locks = _locks()
    sys.modules["msvcrt"] = locks
    for module in MODULES:
        sys.modules[module] = None  # type: ignore[assignment]  # as the import system spells "not there"
    sync = os.fsync

    def fsync(fd: int) -> None:
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            raise PermissionError(13, "Permission denied")
        sync(fd)

    setattr(os, "fsync", fsync)  # noqa: B010 - its type is wider
    for name in NAMED:
        setattr(os, name, _refusing(getattr(os, name)))
    for name in GONE:
        if hasattr(os, name):
            delattr(os, name)
    for name in ("SIGHUP", "SIGKILL", "SIGPIPE", "SIGALRM", "SIGUSR1"):
        delattr(signal, name)
    os.supports_dir_fd = set()
    importlib.reload(shutil)  # it asks when it is imported


def verbs(folder: Path) -> None:
    """Every verb that reads or writes files, on every format; fails at the first that does not do it."""
    from exhume.cli.main import invoke

    examples = Path(__file__).resolve().parents[2] / "examples"
    audit = str(folder / "audit.jsonl")

    def run(line: str, outcome: int = 0) -> None:
        words = [word.format(o=folder, e=examples, audit=audit) for word in line.split()]
        status = int(invoke(words))
        assert status == outcome, (line, status)

    run("create zs {e}/zs/phrases.txt -o {o}/a.zs -q --block-size 500 --audit {audit}")
    run("create clp-s {e}/clp_s/events.jsonl -o {o}/a.clps -q")
    run("create ark {e}/ark/robot.jsonl -o {o}/robot -q --schema {e}/ark/robot.idl --type /robot/pose=demo::Pose")
    run("create caf {e}/files -o {o}/a.caf -q --base-dir {e}")
    run("create databundle {e}/files -o {o}/bundle -q --record-size 64 --shards 2")
    run("create kv-ir {e}/clp_s/events.jsonl -o {o}/a.clp -q")
    made = ("a.zs", "a.clps", "robot", "a.caf", "bundle", "a.clp")
    for each in made:
        run(f"identify {{o}}/{each}")
        run(f"info {{o}}/{each}")
        run(f"list {{o}}/{each}")
        run(f"verify {{o}}/{each} --audit {{audit}}")
        run(f"explain {{o}}/{each} --coverage")
        run(f"map {{o}}/{each} --svg {{o}}/{each}.svg")
    for each in ("a.zs", "a.clps", "robot", "a.clp"):
        run(f"cat {{o}}/{each}")
    for each in ("a.caf", "bundle"):
        run(f"extract {{o}}/{each} -o {{o}}/from-{each} -q")
        run(f"extract {{o}}/{each} -o {{o}}/from-{each} -q --overwrite")
    run("extract {o}/a.caf -o {o}/from-a.caf -q", 3)  # nothing is replaced unasked
    run("recode {o}/a.zs -o {o}/b.zs --codec lzma -q")
    run("recode {o}/bundle -o {o}/bundle-zlib --codec zlib -q")
    run("export {o}/a.clps --to jsonl -o {o}/a.jsonl -q")
    run("catalog build {o}/catalog.db {o}/a.caf -q")
    cut = (folder / "a.zs").read_bytes()
    (folder / "image").write_bytes(bytes(4096) + cut + bytes(100) + (folder / "a.caf").read_bytes())
    run("carve {o}/image -o {o}/carved")
    (folder / "cut.zs").write_bytes(cut[:-200])
    run("salvage {o}/cut.zs -o {o}/saved.zs", 3)
    run("audit {audit}")


def library(folder: Path) -> None:
    """What only the library does: threads on one file, links in the way, scratch files, writing at an offset."""
    from concurrent.futures import ThreadPoolExecutor

    import exhume
    from exhume.io.files import HAS_DIR_FD
    from exhume.io.local import FileSource
    from exhume.io.output.scratch import scratch_file
    from exhume.io.output.tree import OutputTree

    assert not HAS_DIR_FD
    data = os.urandom(100_000)
    (folder / "data").write_bytes(data)
    with FileSource(folder / "data") as source, ThreadPoolExecutor(8) as pool:
        places = [(at * 7919 % 99_000, 1 + at % 999) for at in range(2000)]
        found = list(pool.map(lambda place: source.read_at(*place), places))
    assert found == [data[at : at + size] for at, size in places]
    outside = folder / "outside"
    outside.mkdir()
    (folder / "tree").mkdir()
    (folder / "tree" / "link").symlink_to(outside, target_is_directory=True)
    (folder / "tree" / "leaf").symlink_to(outside / "leaf")
    with OutputTree(folder / "tree", overwrite=True) as tree:
        for name in ("link/x", "link"):
            try:
                tree.write(name, [b"x"])
            except exhume.ExhumeError as error:
                assert error.code == "EX-504" or name == "link", error
        tree.write("leaf", [b"x"])
        assert tree.write_batch([("a/b", 0, 1), ("a/c", 1, 3)], b"xyz") == [None, None]
    assert sorted(os.listdir(outside)) == []
    assert (folder / "tree" / "leaf").read_bytes() == b"x"
    assert (folder / "tree" / "a" / "c").read_bytes() == b"yz"
    with scratch_file(folder) as file:
        file.write(b"abc")
        file.seek(1)
        assert file.read() == b"bc"


if __name__ == "__main__":
    hide()
    verbs(Path(sys.argv[1]))
    library(Path(sys.argv[1]))
    sys.stdout.write("no_posix: done\n")
