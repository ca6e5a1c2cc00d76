"""Builds the files to be distributed into `dist/`: the sdist, a wheel for every system, and compiled wheels.

    python -m tools.dist [--out DIR] [--pure-only]

`make dist` runs it in an environment with the dependency group `dist`.  Everything is built from the files that git
tracks, in a temporary folder; zig compiles for every system from here, against the stable ABI of Python 3.11, so that
one wheel serves every later version.  The time in all archives is that of the last commit (`SOURCE_DATE_EPOCH` sets
another), and the bytes depend on the files, the pinned tools and the Python that runs this, and on nothing else.

Wheels that can be run on Linux are put into `dist/`, for `make release-check` to run; the others into `dist/untried/`.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from tools.sbom import ROOT, sbom
from tools.wheels import Files, info_folder, read_wheel, settle_sdist, write_wheel

# Extension modules: the path in a wheel, and the Cython source.
MODULES = {
    "exhume/native/_kernel.abi3.so": "src/exhume/native/_kernel.pyx",
    "exhume_ksy/fast/_native.abi3.so": "generated/exhume_ksy/fast/_native.pyx",
}
ABI = "0x030B0000"  # the oldest Python that exhume runs on
UNTRIED = "untried"
"""Folder for wheels that cannot be run on Linux."""

# The header `pyconfig.h` for all systems; Python's own describes the machine that it was built on.
PYCONFIG = """/* What the stable ABI needs to know of the system, from the compiler itself. */
#define SIZEOF_SHORT __SIZEOF_SHORT__
#define SIZEOF_INT __SIZEOF_INT__
#define SIZEOF_LONG __SIZEOF_LONG__
#define SIZEOF_LONG_LONG __SIZEOF_LONG_LONG__
#define SIZEOF_VOID_P __SIZEOF_POINTER__
#define SIZEOF_UINTPTR_T __SIZEOF_POINTER__
#define SIZEOF_SIZE_T __SIZEOF_SIZE_T__
#define SIZEOF_WCHAR_T __SIZEOF_WCHAR_T__
#define SIZEOF_FLOAT __SIZEOF_FLOAT__
#define SIZEOF_DOUBLE __SIZEOF_DOUBLE__
#define SIZEOF_PID_T 4
#define SIZEOF_TIME_T 8
#define SIZEOF_OFF_T 8
#define HAVE_LONG_LONG 1
#define HAVE_SSIZE_T 1
#define HAVE_STDINT_H 1
#define HAVE_INTTYPES_H 1
#define HAVE_STDDEF_H 1
#define HAVE_SYS_TYPES_H 1
#define HAVE_SYS_STAT_H 1
#define HAVE_UNISTD_H 1
#define HAVE_WCHAR_H 1
#define STDC_HEADERS 1
#define WITH_THREAD 1
"""


class Target(NamedTuple):
    """A system to compile for: what zig calls it, and the tag of its wheels."""

    zig: str
    tag: str


TARGETS = (
    Target("x86_64-linux-gnu.2.17", "linux_x86_64"),
    Target("aarch64-linux-gnu.2.17", "linux_aarch64"),
    Target("aarch64-macos.11.0", "macosx_11_0_arm64"),
    Target("x86_64-macos.11.0", "macosx_11_0_x86_64"),
)


class DistError(RuntimeError):
    """Something could not be built; the message is for the user."""


def run(command: list[str], cwd: Path, **environment: str) -> str:
    """Run a tool and return its standard output.

    Raises:
        DistError: it failed; the message has what it said.
    """
    whole = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
        **environment,
    }
    done = subprocess.run(command, cwd=cwd, env=whole, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise DistError(f"{' '.join(command[:6])}: failed\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def moment() -> int:
    """The time that all archives bear, in seconds.

    Raises:
        DistError: there is neither a commit nor `SOURCE_DATE_EPOCH`.
    """
    given = os.environ.get("SOURCE_DATE_EPOCH") or run(["git", "log", "-1", "--format=%ct"], ROOT).strip()
    return int(given)


def copy_tracked(into: Path) -> None:
    """Copy the files that git tracks, links as links.

    Raises:
        DistError: the folder is not a git clone.
    """
    for name in filter(None, run(["git", "ls-files", "-z"], ROOT).split("\0")):
        source, target = ROOT / name, into / name
        if source.is_symlink() or source.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)


def headers(into: Path) -> Path:
    """A folder with Python's headers, which say nothing of the machine they come from."""
    shutil.copytree(sysconfig.get_path("include"), into, ignore=shutil.ignore_patterns("pyconfig*", "cpython*"))
    shutil.copytree(Path(sysconfig.get_path("include")) / "cpython", into / "cpython")
    (into / "pyconfig.h").write_text(PYCONFIG, encoding="utf-8")
    return into


def compile_for(target: Target, tree: Path, include: Path, out: Path) -> Files:
    """The compiled modules for a system, by their names in a wheel.

    Raises:
        DistError: a module does not compile.
    """
    files: Files = {}
    for name, source in MODULES.items():
        made = out / target.tag / Path(name).name
        # The symbols that the linker does not find are in Python itself.
        mac = [
            "-Wl,-undefined,dynamic_lookup",
            f"-Wl,-install_name,@rpath/{made.name}",
        ]
        made.parent.mkdir(parents=True, exist_ok=True)
        flags = ["-target", target.zig, "-O3", "-g0", "-s", "-w", "-fPIC", "-shared", f"-DPy_LIMITED_API={ABI}"]
        where = ["-I", str(include), f"-ffile-prefix-map={tree}=.", "-o", str(made), f"{Path(source).stem}.c"]
        caches = {each: str(out / "zig") for each in ("ZIG_LOCAL_CACHE_DIR", "ZIG_GLOBAL_CACHE_DIR")}
        more = mac if "macos" in target.zig else []
        run([sys.executable, "-m", "ziglang", "cc", *flags, *more, *where], tree, **caches)
        files[name] = made.read_bytes()
    return files


def wheel_for(target: Target, pure: Path, compiled: Files, out: Path, scratch: Path, epoch: int) -> Path:
    """The wheel for a system: the one for every system, with compiled modules.

    For Linux `auditwheel` finds out which systems it runs on, and names it so.

    Raises:
        DistError: `auditwheel` finds no Linux that it runs on.
    """
    files = read_wheel(pure) | compiled
    info = info_folder(files)
    wheel = files[f"{info}WHEEL"].decode().replace("Root-Is-Purelib: true", "Root-Is-Purelib: false")
    files[f"{info}WHEEL"] = wheel.replace("Tag: py3-none-any", f"Tag: cp311-abi3-{target.tag}").encode()
    bill = sbom(files[f"{info}METADATA"], compiled, epoch, headers=platform.python_version())
    files[f"{info}sboms/exhume.cdx.json"] = bill
    made = scratch / pure.name.replace("py3-none-any", f"cp311-abi3-{target.tag}")
    write_wheel(made, files, epoch)
    if not target.tag.startswith("linux"):
        (out / UNTRIED).mkdir(exist_ok=True)
        return Path(shutil.copy(made, out / UNTRIED / made.name))
    repaired = scratch / "repaired" / target.tag
    command = ["auditwheel", "repair", "--plat", "auto", "--only-plat", "-w", str(repaired), str(made)]
    run([sys.executable, "-m", *command], scratch, SOURCE_DATE_EPOCH=str(epoch))
    (found,) = repaired.glob("*.whl")
    write_wheel(out / found.name, read_wheel(found), epoch)
    return out / found.name


def build(out: Path, *, pure_only: bool = False) -> list[Path]:
    """Build everything into `out`, which is emptied first; return the files.

    Raises:
        DistError: nothing is left half-done in `out` that would look whole: it is emptied again.
    """
    epoch = moment()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    try:
        with tempfile.TemporaryDirectory(prefix="exhume-dist-") as folder:
            return _build(out, Path(folder), epoch, pure_only=pure_only)
    except BaseException:
        shutil.rmtree(out, ignore_errors=True)
        raise


def _build(out: Path, scratch: Path, epoch: int, *, pure_only: bool) -> list[Path]:
    """Build the sdist and the pure wheel, and unless `pure_only` a wheel for each target; return their paths."""
    tree = scratch / "exhume"
    copy_tracked(tree)
    common = {"SOURCE_DATE_EPOCH": str(epoch), "EXHUME_PURE": "1", "PYTHONWARNINGS": "ignore"}
    run([sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), "."], tree, **common)
    (pure,), (sdist,) = out.glob("*.whl"), out.glob("*.tar.gz")
    settle_sdist(sdist, epoch)
    files = read_wheel(pure)
    info = info_folder(files)
    write_wheel(pure, files | {f"{info}sboms/exhume.cdx.json": sbom(files[f"{info}METADATA"], {}, epoch)}, epoch)
    made = [sdist, pure]
    if pure_only:
        return made
    for source in MODULES.values():
        c = f"{Path(source).stem}.c"
        run([sys.executable, "-m", "cython", "-3", "--module-name", _module(source), source, "-o", c], tree)
    include = headers(scratch / "include")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        compiled = list(pool.map(lambda target: compile_for(target, tree, include, scratch), TARGETS))
    for target, modules in zip(TARGETS, compiled, strict=True):
        made.append(wheel_for(target, pure, modules, out, scratch, epoch))
    return made


def _module(source: str) -> str:
    """Return the full name of the module that a source is compiled to."""
    return ".".join(Path(source).with_suffix("").parts[1:])


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(description="Build the sdist and the wheels.")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--pure-only", action="store_true", help="only the sdist and the wheel for every system")
    options = parser.parse_args(argv)
    try:
        made = build(options.out.resolve(), pure_only=options.pure_only)
    except DistError as error:
        print(f"dist: {error}", file=sys.stderr)
        return 1
    for path in made:
        print(f"{path.stat().st_size:>10,} B  {path.relative_to(options.out.resolve())}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
