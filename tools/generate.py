"""Compiles `ksy/` into `generated/exhume_ksy/`, or says that nothing needs to be done.

    python tools/generate.py [--check] [--force] [--root DIR]

Whether anything is stale is decided by content, never by modification times: `generated/ksc.lock` holds the
compiler's version and the SHA-256 of every specification, of every specification together with what it imports,
and of every generated file.  Only when these do not match is a compiler needed:

* the command in the environment variable `KSC` (the official `kaitai-struct-compiler`), when set;
* else the pinned npm package, run by Node.js from PATH or, failing that, from PyPI.

The fast readers and facts in `fast/` and `facts/` follow from the specifications' JSON by `exhume.compiler`, which
needs nothing but Python: they are written again whenever they differ from what it writes now.

The lock is plain text, one `key  path` pair a line, and git merges it by union: this program accepts lines in any
order and repeated ones, and writes them sorted and once.  A path with two different hashes is stale.
Standard library only, so that it runs before anything is installed.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from exhume.compiler.refusal import UnsupportedError
from exhume.compiler.whole import compile_specs
from tools import nodejs
from tools.ksy_stubs import stubs
from tools.passing import passed

ROOT = nodejs.ROOT
PACKAGE_DOC = '''"""Parsers compiled from `ksy/` (see `make generated`); never edited by hand.

- `exhume_ksy.fast`: typed readers that raise one exception with the path and place of the field; exhume runs on them.
- `exhume_ksy.facts`: enums, magics, sizes and fixed places of each specification.
- `exhume_ksy.<specification>`: the classes that Kaitai's compiler writes, as other projects know them:

    from exhume_ksy.zs import Zs

    with Zs.from_file("words.zs") as file:
        print(file.header.codec_name, file.header.len_root)

- `exhume_ksy.debug`: the same with the position of every field.

The specifications themselves are next to them: `importlib.resources.files("exhume_ksy") / "ksy"`, and `exhume schema`
prints them.
"""
'''
TRACKED = (
    "from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO\n",
    "from kaitaistruct import KaitaiStruct\nfrom ._stream import BytesIO, KaitaiStream\n",
)
"""What the parsers with positions import in place of what the compiler wrote."""
DEBUG_STREAM = '''\
"""The stream of the parsers with positions, each of which knows its stream: so substreams are told apart."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import kaitaistruct

PASSING: ContextVar[Callable[..., bool] | None] = ContextVar("PASSING", default=None)
"""Takes over the elements of arrays in place of the loops of the parsers; None: the loops run."""


class Position(int):
    """A position in a stream, which it remembers."""

    stream: Any

    def __new__(cls, value: int, stream: Any) -> Position:
        made = super().__new__(cls, value)
        made.stream = stream
        return made


def BytesIO(data: Any) -> Any:
    """A file of bytes; a value that was not read as a whole opens itself."""
    return data.opened() if hasattr(data, "opened") else io.BytesIO(data)


class KaitaiStream(kaitaistruct.KaitaiStream):  # type: ignore[misc]  # untyped base
    """A `kaitaistruct.KaitaiStream` whose positions remember it."""

    def pos(self) -> Position:
        return Position(super().pos(), self)

    def passes(self, owner: Any, name: str, make: Callable[[int, Any], Any], **how: Any) -> bool:
        """Whether `PASSING` took over an array of `owner`, whose elements `make` parses."""
        taken = PASSING.get()
        return taken is not None and taken(self, owner, name, make, **how)
'''
DEBUG_DOC = '"""The same parsers, with the position of every field; compiled from `ksy/`, never edited by hand."""\n'
LOCK_HEAD = "# Written by `make generated`: what exhume_ksy was compiled from and with; merged by union, then sorted.\n"
"""First line of the lock."""
GENERATOR = "4"  # raise it when this program changes what comes out for the same specifications
FLAVOURS = ((False, "generated/exhume_ksy"), (True, "generated/exhume_ksy/debug"))
"""The parsers without and with positions (whether with, folder)."""
SPECS = "generated/exhume_ksy/specs"  # the specifications as JSON: what `explain` quotes
COMPILED = "generated/exhume_ksy"  # `fast/` and `facts/` below it are written by exhume.compiler
Lock = dict[str, set[str]]
"""Values (hashes, versions) by key; more than one where git merged two locks."""


class GenerateError(RuntimeError):
    """The parsers could not be compiled; the message is for the user."""


def sha256(data: bytes) -> str:
    """Return the hexadecimal SHA-256 of `data`."""
    return hashlib.sha256(data).hexdigest()


def specs(root: Path) -> dict[str, bytes]:
    """Return the content of every specification by its id (the file's stem), line ends normalized."""
    return {file.stem: file.read_bytes().replace(b"\r\n", b"\n") for file in sorted((root / "ksy").glob("*.ksy"))}


def imports_of(text: bytes) -> list[str]:
    """Return the names in `meta/imports` of a specification, which our style keeps one a line."""
    found = re.search(rb"^  imports:[ ]*\n((?:    - .*\n|    #.*\n)+)", text, re.MULTILINE)
    if not found:
        return []
    return [name.decode() for name in re.findall(rb"^    - ['\"]?([^'\"\s#]+)", found.group(1), re.MULTILINE)]


def closure(name: str, texts: dict[str, bytes]) -> list[str]:
    """Return the ids of everything `name` imports, however far down, sorted, without itself."""
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        for other in imports_of(texts[waiting.pop()]):
            if other not in seen and other in texts:
                seen.add(other)
                waiting.append(other)
    return sorted(seen - {name})


def input_lines(root: Path) -> Lock:
    """Return the lock entries for the compiler and the specifications as they are now."""
    versions = json.loads((root / "package.json").read_text(encoding="utf-8"))["dependencies"]
    lock: Lock = {"generator": {GENERATOR}}
    for package in ("kaitai-struct-compiler", "js-yaml"):
        lock[f"compiler {package}"] = {versions[package]}
    texts = specs(root)
    for name, text in texts.items():
        lock[f"ksy/{name}.ksy"] = {sha256(text)}
        below = closure(name, texts)
        if below:
            combined = "".join(f"{other} {sha256(texts[other])}\n" for other in [name, *below])
            lock[f"ksy/{name}.ksy with imports"] = {sha256(combined.encode())}
    return lock


def output_paths(root: Path) -> list[str]:
    """Return the path of every file that belongs into `generated/exhume_ksy`, relative to the root."""
    names = [*(f"{name}.py" for name in specs(root)), "__init__.py"]
    parsers = [f"{folder}/{name}" for _, folder in FLAVOURS for name in names]
    return sorted([*parsers, f"{COMPILED}/debug/_stream.py", *(f"{SPECS}/{name}.json" for name in specs(root))])


def own_texts(root: Path, texts: dict[str, str] | None = None) -> dict[str, str]:
    """Return what `exhume.compiler` writes and the stubs of Kaitai's classes, by path, for `texts` or what is on disk.

    Raises:
        GenerateError: a specification is wrong, or uses an unsupported feature.
    """
    if texts is None:
        files = [*(root / SPECS).glob("*.json"), *(root / COMPILED).glob("*.py")]
        texts = {file.relative_to(root).as_posix(): file.read_text(encoding="utf-8") for file in files}
    found = {Path(path).stem: json.loads(text) for path, text in texts.items() if path.startswith(SPECS + "/")}
    try:
        written = compile_specs(found) | stubs({name: texts[f"{COMPILED}/{name}.py"] for name in found})
        return {f"{COMPILED}/{path}": text for path, text in written.items()}
    except UnsupportedError as error:
        raise GenerateError(str(error)) from error


def own_stale(root: Path) -> list[str]:
    """Return which files in `fast/` and `facts/` are not what `exhume.compiler` writes now."""
    try:
        texts = own_texts(root)
    except GenerateError as error:
        return [str(error)]
    return [
        f"{path} {'differs' if (root / path).exists() else 'is missing'}"
        for path, text in texts.items()
        if not (root / path).exists() or (root / path).read_bytes().replace(b"\r\n", b"\n") != text.encode()
    ]


def orphans(root: Path) -> list[str]:
    """Return the generated files that no specification stands for any more, relative to the root."""
    names = (*specs(root), "__init__", "_layout")
    own = [f"{COMPILED}/{kind}/{name}.py" for kind in ("fast", "facts") for name in names]
    own += [f"{COMPILED}/fast/{name}" for name in ("_native.pyx", "_elements.pxi", "_facts.pxi")]
    own += [
        *(f"{COMPILED}/facts/{name}.py" for name in ("_fixed", "_tiling")),
        *(f"{COMPILED}/{name}.pyi" for name in (*specs(root), "_struct")),
    ]
    wanted = {*output_paths(root), *own}
    found = []
    for folder in (*(folder for _, folder in FLAVOURS), SPECS, f"{COMPILED}/fast", f"{COMPILED}/facts"):
        for file in (root / folder).iterdir() if (root / folder).is_dir() else ():
            path = f"{folder}/{file.name}"
            extra = ("debug", "specs", "fast", "facts", "ksy", "py.typed", "__pycache__")
            built = file.name.endswith((".so", ".pyd", ".c"))
            if path not in wanted and not built and file.name not in extra:
                found.append(path)
    return sorted(found)


def output_lines(root: Path) -> Lock:
    """Return the lock entries for the generated files as they are now; those missing are left out."""
    files = ((path, root / path) for path in output_paths(root))
    return {path: {sha256(file.read_bytes().replace(b"\r\n", b"\n"))} for path, file in files if file.exists()}


def read_lock(root: Path) -> Lock:
    """Return the committed lock: every value seen for each path; other lines are skipped."""
    lock: Lock = {}
    file = root / "generated" / "ksc.lock"
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        value, _, path = line.partition("  ")
        if path and not line.startswith("#"):
            lock.setdefault(path.strip(), set()).add(value)
    return lock


def render_lock(lock: Lock) -> str:
    """Return the lock's one normal form: sorted by path, each entry once."""
    return LOCK_HEAD + "".join(f"{value}  {path}\n" for path in sorted(lock) for value in sorted(lock[path]))


def stale(root: Path) -> list[str]:
    """Return why the generated files do not stand for the specifications; nothing when they do."""
    return kaitai_stale(root) or own_stale(root)


def kaitai_stale(root: Path) -> list[str]:
    """Return why what Kaitai's compiler wrote does not stand for the specifications."""
    locked, reasons = read_lock(root), []
    for path, value in input_lines(root).items():
        if locked.get(path) != value:
            known = "is not in ksc.lock" if path not in locked else "differs from ksc.lock"
            reasons.append(f"{path} {known}")
    have = output_lines(root)
    for path in output_paths(root):
        if path not in have:
            reasons.append(f"{path} is missing")
        elif locked.get(path) != have[path]:
            reasons.append(f"{path} was not written by this compilation")
    reasons.extend(f"{path} has no specification" for path in orphans(root))
    return reasons


def relative_imports(text: str, ids: set[str]) -> str:
    """Make the imports between generated modules relative, as the compiler's `--python-package .` does."""

    def rewrite(match: re.Match[str]) -> str:
        return f"from . import {match[1]}" if match[1] in ids else match[0]

    return re.sub(r"^import (\w+)$", rewrite, text, flags=re.MULTILINE)


def check_ksc(command: list[str], wanted: str) -> None:
    """Reject an official compiler whose version is not the pinned one.

    Raises:
        GenerateError: it does not run, or is another version.
    """
    try:
        done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise GenerateError(f"KSC={shlex.join(command)} does not run: {error}") from error
    major_minor = ".".join(wanted.split(".")[:2])
    if not re.search(rf"(?<![\d.]){re.escape(major_minor)}(\.\d+)?(?![\d.])", done.stdout + done.stderr):
        raise GenerateError(f"KSC={shlex.join(command)} is not version {major_minor}: {done.stdout.strip()}")


def run(command: list[str], root: Path) -> None:
    """Run a compiler, passing its words on only when it fails.

    Raises:
        GenerateError: it failed.
    """
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    except OSError as error:
        raise GenerateError(f"{command[0]}: {error}") from error
    if done.returncode != 0:
        raise GenerateError((done.stderr + done.stdout).strip() or f"{command[0]} failed ({done.returncode})")


def specs_as_json(node: tuple[str, ...], root: Path) -> dict[str, str]:
    """Return the JSON form of every specification by the path it is kept at.

    Raises:
        GenerateError: a specification is not YAML.
    """
    files = [f"ksy/{name}.ksy" for name in specs(root)]
    if not files:
        return {}
    command = [*node, str(ROOT / "tools" / "ksc.mjs"), "dump", *files]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise GenerateError(done.stderr.strip())
    texts: dict[str, str] = {}
    for file, dumped in json.loads(done.stdout).items():
        if "error" in dumped:
            raise GenerateError(f"{file}: {dumped['error']}")
        texts[f"{SPECS}/{Path(file).stem}.json"] = json.dumps(dumped["spec"], indent=1, ensure_ascii=False) + "\n"
    return texts


@contextlib.contextmanager
def compiled(root: Path) -> Iterator[dict[str, str]]:
    """Yield the text of every generated file by its path, compiled into a temporary folder.

    Raises:
        GenerateError: a specification is wrong, or no compiler can be had.
    """
    files = [f"ksy/{name}.ksy" for name in specs(root)]
    ids = set(specs(root))
    ksc = shlex.split(os.environ.get("KSC", ""))
    with tempfile.TemporaryDirectory(prefix="exhume-ksc-") as scratch:
        if ksc:
            versions = json.loads((root / "package.json").read_text(encoding="utf-8"))["dependencies"]
            check_ksc(ksc, versions["kaitai-struct-compiler"])
        try:
            node = nodejs.ensure_packages()
        except nodejs.NodeError as error:
            raise GenerateError(str(error)) from error
        outs = {debug: Path(scratch, "debug" if debug else "plain") for debug, _ in FLAVOURS}
        for debug, out in outs.items():
            out.mkdir()
            if files and ksc:
                flag = ["--debug"] if debug else []
                run([*ksc, "-t", "python", "--python-package", ".", *flag, "--outdir", str(out), *files], root)
        if files and not ksc:
            script = [str(ROOT / "tools" / "ksc.mjs"), "compile", "--target", "python"]
            run([*node, *script, "--out", str(outs[False]), "--debug-out", str(outs[True]), *files], root)
        texts = specs_as_json(node, root)
        for debug, folder in FLAVOURS:
            texts[f"{folder}/__init__.py"] = DEBUG_DOC if debug else PACKAGE_DOC
            for name in sorted(ids):
                file = outs[debug] / f"{name}.py"
                if not file.exists():
                    raise GenerateError(f"ksy/{name}.ksy: the compiler wrote no {name}.py; meta/id must be {name}")
                text = relative_imports(file.read_text(encoding="utf-8"), ids)
                texts[f"{folder}/{name}.py"] = passed(text.replace(*TRACKED)) if debug else text
        texts[f"{COMPILED}/debug/_stream.py"] = DEBUG_STREAM
        yield texts | own_texts(root, texts)


def write_if_changed(file: Path, text: str) -> bool:
    """Write `text` unless the file already holds it, so that modification times mean something; say if it did."""
    data = text.encode()
    if file.exists() and file.read_bytes() == data:
        return False
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    return True


def generate(root: Path, *, force: bool = False) -> int:
    """Compile everything, delete orphans, write the lock; return how many files changed.

    Raises:
        GenerateError: nothing was written.
    """
    if not force and not kaitai_stale(root):  # only `exhume.compiler` changed: no Node.js needed
        changed = sum(write_if_changed(root / path, text) for path, text in own_texts(root).items())
        normalize(root)
        return changed
    with compiled(root) as texts:
        changed = sum(write_if_changed(root / path, text) for path, text in texts.items())
    for path in orphans(root):
        if (root / path).is_dir():
            shutil.rmtree(root / path)
        else:
            (root / path).unlink()
        changed += 1
    normalize(root)
    return changed


def normalize(root: Path) -> bool:
    """Write the lock in its normal form for what is on disk; say whether that changed it."""
    return write_if_changed(root / "generated" / "ksc.lock", render_lock({**input_lines(root), **output_lines(root)}))


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(description="Compile ksy/ into generated/exhume_ksy/ when it is stale.")
    parser.add_argument("--check", action="store_true", help="only say whether it is stale (exit 1)")
    parser.add_argument("--force", action="store_true", help="compile even when nothing is stale")
    parser.add_argument("--root", type=Path, default=ROOT, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    root = options.root.resolve()
    reasons = stale(root)
    if options.check:
        for reason in reasons:
            print(f"stale: {reason}", file=sys.stderr)
        if reasons:
            print("generated/ does not match ksy/: run `make generated` and commit the result", file=sys.stderr)
        else:
            print("generated/ is fresh")
        return 1 if reasons else 0
    if not reasons and not options.force:
        print("generated/ is fresh" + ("; ksc.lock normalized" if normalize(root) else ""))
        return 0
    try:
        changed = generate(root, force=options.force)
    except GenerateError as error:
        print(f"make generated: {error}", file=sys.stderr)
        return 1
    print(f"compiled {len(specs(root))} specifications, {changed} files changed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
