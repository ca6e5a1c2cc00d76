"""Checks what `make dist` built, and runs every wheel that can run here.

    python -m tools.release_check [--dist DIR] [--again] [--write] [--all-chapters]

For each wheel: what is in it, its metadata (twine), the stable ABI of its modules (abi3audit), and its bill of
materials (the schema of CycloneDX, the digests in it).  Then it is installed into an empty environment, for each Python
here, and runs the demo there, away from this tree.  `EXHUME_PYTHONS` names Pythons, with `:` between them (default:
`python3.11` to `python3.14`, as far as they are on PATH); `EXHUME_AARCH64_ROOT` a folder with the files of an aarch64
Linux that has Python, which `qemu-aarch64` then runs.  `--again` builds once more, from a clone of the last commit, and
compares digests.  `--write` puts the table of what was run into `docs/packages.md`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tools.blocks import write_block
from tools.dist import UNTRIED, DistError, run
from tools.sbom import ROOT
from tools.wheels import faults, info_folder, read_wheel

SHOWN = ("examples", "tests/samples/leveldb/small")
"""What the demo reads."""

EXTRA = "arrow"
"""What the demo needs beyond exhume itself."""

SOME = ("zs", "clp_s", "image")
"""Chapters of the demo that every further Python runs; the first runs all."""

ARM_TAGS = ("manylinux2014_aarch64", *(f"manylinux_2_{minor}_aarch64" for minor in (17, 24, 26, 27, 28, 31, 34)))
"""Platform tags of the wheels that pip may install for aarch64."""


class Ran(NamedTuple):
    """A wheel that was run: where, by which Python, how, and which chapters of the demo."""

    wheel: str
    system: str
    python: str
    kernel: str
    chapters: str


def pythons() -> list[str]:
    """The Pythons to run wheels with: absolute paths, those that start."""
    named = os.environ.get("EXHUME_PYTHONS", "").split(os.pathsep)
    wanted = list(filter(None, named)) or [f"python3.{minor}" for minor in range(11, 15)]
    found = []
    for each in wanted:
        path = shutil.which(each)
        if path and subprocess.run([path, "-c", ""], capture_output=True, check=False).returncode == 0:
            found.append(path)
        elif any(named):
            raise DistError(f"EXHUME_PYTHONS: {each} does not run")
    return found or [sys.executable]


def check_files(path: Path) -> None:
    """Examine a wheel without running it.

    Raises:
        DistError: something is wrong with it.
    """
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    files = read_wheel(path)
    wrong = faults(files)
    bill = files.get(f"{info_folder(files)}sboms/exhume.cdx.json", b"{}")
    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(bill.decode())
    wrong += [f"bill of materials: {error}"] if error else []
    for part in json.loads(bill).get("components", ()):
        for digest in part.get("hashes", ()):
            if hashlib.sha256(files.get(part["name"], b"")).hexdigest() != digest["content"]:
                wrong.append(f"bill of materials: another digest of {part['name']}")
    if wrong:
        raise DistError(f"{path.name}: {'; '.join(wrong)}")
    run([sys.executable, "-m", "twine", "check", "--strict", str(path)], ROOT)
    if "-abi3-" in path.name:
        run(["abi3audit", "--strict", str(path)], ROOT)


def make_place(folder: Path) -> Path:
    """A folder with what the demo reads, and nothing else of this tree."""
    place = folder / "place"
    for name in SHOWN:
        shutil.copytree(ROOT / name, place / name)
    return place


def show(place: Path, bin: Path, chapters: tuple[str, ...]) -> None:
    """Run the demo with the `exhume` in a folder of commands.

    Raises:
        DistError: a command of the demo failed.
    """
    path = f"{bin}{os.pathsep}{os.environ['PATH']}"
    run(["bash", "examples/demo.sh", *chapters], place, PATH=path, DEMO_DIR=str(place / "made"), PYTHONPATH="")


def reported(command: list[str], place: Path) -> tuple[str, str, str]:
    """What an installed exhume says of itself: platform, Python, kernel.

    Raises:
        DistError: it does not run, or is not the one that was installed.
    """
    about = json.loads(run([*command, "formats", "--json"], place, PYTHONPATH=""))["installation"]
    return about["platform"], about["python"], about["kernel"]


def run_here(wheel: Path, python: str, chapters: tuple[str, ...]) -> Ran:
    """Install a wheel into an empty environment and run the demo from it.

    Raises:
        DistError: it cannot be installed, or does not do what it should.
    """
    with tempfile.TemporaryDirectory(prefix="exhume-release-") as folder:
        venv, place = Path(folder, "venv"), make_place(Path(folder))
        run([python, "-m", "venv", "--without-pip", str(venv)], place)
        own = str(venv / "bin" / "python")
        run([sys.executable, "-m", "pip", "--quiet", "--python", own, "install", f"{wheel}[{EXTRA}]"], place)
        installed = run([own, "-c", "import exhume; print(exhume.__file__)"], place, PYTHONPATH="")
        if not installed.startswith(str(venv)):
            raise DistError(f"{wheel.name}: {installed.strip()} is not what was installed")
        if not (venv / "share" / "man" / "man1" / "exhume.1").exists():
            raise DistError(f"{wheel.name}: no manual page was installed")
        facts = reported([str(venv / "bin" / "exhume")], place)
        show(place, venv / "bin", chapters)
    return _ran(wheel, facts, chapters)


def run_arm(wheel: Path, root: Path, chapters: tuple[str, ...]) -> Ran:
    """The same in `qemu-aarch64`, with a Python for aarch64.

    Raises:
        DistError: it cannot be installed, or does not do what it should.
    """
    python = sorted((root / "usr" / "bin").glob("python3.[0-9][0-9]"))[-1]
    with tempfile.TemporaryDirectory(prefix="exhume-release-") as folder:
        site, bin, place = Path(folder, "site"), Path(folder, "bin"), make_place(Path(folder))
        tags = [word for tag in ARM_TAGS for word in ("--platform", tag)]
        only = ["--only-binary=:all:", "--python-version", python.name.removeprefix("python")]
        pip = [
            sys.executable,
            "-m",
            "pip",
            "--quiet",
            "install",
            "--target",
            str(site),
            *tags,
            *only,
            f"{wheel}[{EXTRA}]",
        ]
        run(pip, place)
        bin.mkdir()
        emulated = ["qemu-aarch64", "-L", str(root), "-E", f"PYTHONPATH={site}", str(python), "-m", "exhume"]
        (bin / "exhume").write_text(f'#!/bin/sh\nexec {shlex.join(emulated)} "$@"\n')
        (bin / "exhume").chmod(0o755)
        facts = reported([str(bin / "exhume")], place)
        show(place, bin, chapters)
    return _ran(wheel, facts, chapters)


def _ran(wheel: Path, facts: tuple[str, str, str], chapters: tuple[str, ...]) -> Ran:
    """Return the record of a run.  Raises `DistError` if the kernel is not the one that the wheel should bring."""
    system, python, kernel = facts
    if (kernel == "compiled") != ("-abi3-" in wheel.name):
        raise DistError(f"{wheel.name}: the kernel is {kernel}")
    return Ran(wheel.name, system, python, kernel, ", ".join(chapters) or "all")


def run_all(wheels: list[Path], *, all_chapters: bool) -> Iterator[Ran]:
    """Run every wheel that can run here, with every Python.

    Raises:
        DistError: one does not do what it should.
    """
    arm = os.environ.get("EXHUME_AARCH64_ROOT")
    for wheel in wheels:
        if "aarch64" in wheel.name:
            if arm and shutil.which("qemu-aarch64"):
                yield run_arm(wheel, Path(arm), () if all_chapters else SOME)
            continue
        for i, python in enumerate(pythons()):
            yield run_here(wheel, python, () if all_chapters or i == 0 else SOME)


def digests(folder: Path) -> dict[str, str]:
    """The SHA-256 of every file in a folder, by its path in it."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def build_again(dist: Path) -> None:
    """Build from a clone of the last commit and compare.

    Raises:
        DistError: a file has another digest.
    """
    with tempfile.TemporaryDirectory(prefix="exhume-again-") as folder:
        clone = Path(folder, "clone")
        run(["git", "clone", "--quiet", str(ROOT), str(clone)], ROOT)
        run([sys.executable, "-m", "tools.dist", "--out", str(Path(folder, "dist"))], clone)
        first, second = digests(dist), digests(Path(folder, "dist"))
    differ = sorted(name for name in first.keys() | second.keys() if first.get(name) != second.get(name))
    if differ:
        raise DistError(f"a second build from the last commit differs: {', '.join(differ)}")


def table(dist: Path, ran: list[Ran]) -> str:
    """What was run, as a table; wheels that were not run are in it as well."""
    lines = ["| wheel | run on | Python | kernel | chapters of the demo |", "|---|---|---|---|---|"]
    for path in sorted(dist.rglob("*.whl")):
        runs = [each for each in ran if each.wheel == path.name]
        lines += [f"| `{path.name}` | {r.system} | {r.python} | {r.kernel} | {r.chapters} |" for r in runs]
        if not runs:
            lines.append(f"| `{path.name}` | not run | | | |")
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(description="Check and run what `make dist` built.")
    parser.add_argument("--dist", type=Path, default=ROOT / "dist")
    parser.add_argument("--again", action="store_true", help="build once more from the last commit, and compare")
    parser.add_argument("--write", action="store_true", help="put the table into docs/packages.md")
    parser.add_argument("--all-chapters", action="store_true", help="the whole demo with every Python")
    options = parser.parse_args(argv)
    dist = options.dist.resolve()
    wheels = sorted(dist.glob("*.whl"))
    ran = []
    try:
        if not wheels:
            raise DistError(f"no wheels in {dist}: run `make dist`")
        for path in (*wheels, *sorted((dist / UNTRIED).glob("*.whl"))):
            check_files(path)
            print(f"{path.name}: contents, metadata and bill of materials are as they should be", flush=True)
        for each in run_all(wheels, all_chapters=options.all_chapters):
            ran.append(each)
            print(
                f"{each.wheel}: {each.system}, {each.python}, {each.kernel}: demo done ({each.chapters})",
                flush=True,
            )
        if options.again:
            build_again(dist)
            print("a second build from a clone of the last commit has the same digests", flush=True)
    except DistError as error:
        print(f"release-check: {error}", file=sys.stderr)
        return 1
    for name, digest in digests(dist).items():
        print(f"{digest}  {name}")
    if options.write:
        write_block("packages.md", "release-check", table(dist, ran))
    return 0


if __name__ == "__main__":
    sys.exit(main())
