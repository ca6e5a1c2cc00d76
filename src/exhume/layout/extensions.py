"""Extension modules of specifications: built with the user's C compiler, kept for the next time, and loaded.

An extension module has the readers of a specification in C; its text in Cython comes from
`exhume.compiler.emit.extension`.  The folder is that of the environment variable `EXHUME_CACHE`, else `exhume` in
the user's own folder for such files.  It belongs to the user alone: one that others can write to, or that another
user owns, is not used.  Its files are named by the SHA-256 of everything that the module is made of: the text in
Cython, the versions of exhume, Cython and Python, the machine, and the compiler's options.
"""

from __future__ import annotations

import hashlib
import importlib.machinery
import importlib.util
import os
import re
import shutil
import stat
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

from exhume.compiler.emit.extension import Extension

VERSION = 1
"""Incremented whenever the kept files, or the way to build them, change."""
LARGE = 145_000
"""Characters of source from which a module is built with less optimization, which would take too long."""
SECONDS = 300
"""Limit of the CPU time of one run of a compiler, in seconds; it does not depend on other load."""
PATIENCE = 12 * SECONDS
"""Limit of the elapsed time in seconds, for a compiler that waits instead of computing."""
LIMITED = ("/bin/sh", "-c", f'ulimit -t {SECONDS} && exec "$@"', "sh")
"""Beginning of a command that runs the rest with a limit of its CPU time."""
SUFFIX = str(sysconfig.get_config_var("EXT_SUFFIX") or ".so")
"""Ending of the names of extension modules for this Python."""


class NotBuiltError(Exception):
    """Raised when there is no extension module; the message fits after 'interpreted readers: '."""


def cache_folder() -> Path:
    """Return the folder of extension modules; create it if it is missing.

    Raises `NotBuiltError` if others can write to it.
    """
    given = os.environ.get("EXHUME_CACHE")
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = Path(given) if given else base / "exhume"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        raise NotBuiltError(f"{folder} cannot be used ({error.strerror})") from None
    if not is_own(found) or not stat.S_ISDIR(found.st_mode):
        raise NotBuiltError(f"{folder} is not a folder that only you can write to")
    return folder


def is_own(found: os.stat_result) -> bool:
    """Return whether a file or folder is the user's, and no other user can write to it."""
    if not hasattr(os, "getuid"):
        return True
    return (
        found.st_uid == os.getuid()
        and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        and not stat.S_ISLNK(found.st_mode)
    )


def options(text: str) -> list[str]:
    """Return the options of the compiler; large modules are built with less optimization, as building takes long."""
    given = os.environ.get("EXHUME_NATIVE_FLAGS")
    if given:
        return given.split()
    optimization = ["-O2"] if len(text) < LARGE else ["-O1", "-finline-small-functions"]
    return [*optimization, "-g0", "-fwrapv"]


def key(extension: Extension) -> str:
    """Return a digest of everything that an extension module is built from, as its name."""
    from Cython import __version__ as cython  # type: ignore[attr-defined, unused-ignore]

    import exhume

    versions = (VERSION, exhume.__version__, cython, sys.version, SUFFIX, sysconfig.get_platform(), _compiler())
    whole = "\0".join([*map(str, versions), *options(extension.text), extension.text])
    return hashlib.sha256(whole.encode()).hexdigest()[:40]


def _compiler() -> list[str]:
    """Return the command of the C compiler."""
    return (os.environ.get("CC") or str(sysconfig.get_config_var("CC") or "cc")).split()


def built(extension: Extension) -> Path:
    """Return the path of the extension module of that text, from the folder or built now.

    Raises `NotBuiltError` if it cannot be built: without Cython (extra `native`) or a C compiler, and if others can
    write to the folder.
    """
    try:
        name = key(extension)
    except ImportError:
        raise NotBuiltError("Cython is not installed (pip install 'exhume[native]')") from None
    folder = cache_folder()
    path = folder / f"{name}{SUFFIX}"
    try:
        if is_own(path.lstat()):
            return path
        raise NotBuiltError(f"{path} is not yours alone")
    except FileNotFoundError:
        pass
    with tempfile.TemporaryDirectory(prefix="build-", dir=folder) as scratch:
        made = build(extension.text, Path(scratch))
        made.chmod(0o700)
        made.replace(path)
    return path


def build(text: str, folder: Path) -> Path:
    """Build an extension module in a folder and return its path.  Raises `NotBuiltError`."""
    if os.name == "nt":
        raise NotBuiltError("they are not built on this system")
    compiler = _compiler()
    if shutil.which(compiler[0]) is None:
        raise NotBuiltError(f"there is no C compiler ({compiler[0]})")
    source, made = folder / "_native.pyx", folder / f"_native{SUFFIX}"
    source.write_text(text, encoding="utf-8")
    cython = [sys.executable, "-m", "cython", "-3", "--no-docstrings", "-o", "_native.c", source.name]
    _run(cython, folder, "Cython")
    include = [
        f"-I{path}" for path in dict.fromkeys([sysconfig.get_path("include"), sysconfig.get_path("platinclude")])
    ]
    shared = ["-bundle", "-undefined", "dynamic_lookup"] if sys.platform == "darwin" else ["-shared"]
    _run([*compiler, *shared, "-fPIC", *options(text), *include, "_native.c", "-o", made.name], folder, compiler[0])
    return made


def _run(command: list[str], folder: Path, what: str) -> None:
    """Run a compiler. Raises `NotBuiltError` with its first error line; `what` names it."""
    try:
        done = subprocess.run(  # noqa: S603 - the compiler that built this Python
            [*LIMITED, *command], cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotBuiltError(f"{what} did not run ({type(error).__name__})") from None
    if done.returncode:
        fault = next((line for line in done.stderr.splitlines() if re.match(r"\S+:\d+:", line) or "rror:" in line), "")
        raise NotBuiltError(f"{what} failed{': ' if fault else ''}{fault[:200]}")


_LOADED: set[Path] = set()
"""Extension modules that this process has loaded, each for one package."""


def loaded(path: Path, package: str) -> Any:
    """Return the extension module at a path, as the module `_native` of a package.

    A module is for one package: for another it is loaded from a copy.  Raises `NotBuiltError`.
    """
    if path in _LOADED:
        with tempfile.TemporaryDirectory(prefix="load-", dir=path.parent) as scratch:
            copy = Path(scratch) / path.name
            shutil.copy2(path, copy)
            return _loaded(copy, package)
    _LOADED.add(path)
    return _loaded(path, package)


def _loaded(path: Path, package: str) -> ModuleType:
    """Load a compiled extension module from its path."""
    name = f"{package}._native"
    loader = importlib.machinery.ExtensionFileLoader(name, str(path))
    try:
        module = importlib.util.module_from_spec(importlib.machinery.ModuleSpec(name, loader, origin=str(path)))
        loader.exec_module(module)
    except ImportError as error:
        raise NotBuiltError(f"the extension module cannot be loaded ({error})"[:200]) from None
    return module
