"""What a compilation to an extension module made, for the next time: readers as code, and what the module is given.

It is one file in the folder of extension modules (`extensions`), under the SHA-256 of the path of the specification,
the folders of imports, the versions of Python and Cython, and the files of the compiler itself.  It lists which files
were read, with their SHA-256, and where imports were looked for and not found: only while all of that is so is it used.
"""

from __future__ import annotations

import hashlib
import json
import marshal
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from pathlib import Path
from types import CodeType
from typing import Any

import exhume.compiler
from exhume.compiler.emit.extension import Extension
from exhume.layout import extensions
from exhume.layout.foreign_modules import as_code
from exhume.layout.ksy_files import SpecFiles

UNUSABLE = (OSError, extensions.NotBuiltError, metadata.PackageNotFoundError)


@dataclass(frozen=True)
class CachedSpecification:
    """A compiled specification as it is kept: the id of its root, the name of the reader of that, and the rest."""

    id: str
    reader: str
    specs: Mapping[str, Mapping[str, Any]]
    texts: Mapping[str, str]
    native: tuple[Extension, Path]
    codes: Mapping[str, CodeType] = field(default_factory=dict)


class LazySpecs(Mapping[str, Mapping[str, Any]]):
    """Specifications by their ids, as JSON that is read when one is asked for."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._found: dict[str, Mapping[str, Any]] | None = None

    def _specs(self) -> dict[str, Mapping[str, Any]]:
        if self._found is None:
            self._found = json.loads(self._text)
        return self._found

    def __getitem__(self, id: str) -> Mapping[str, Any]:
        return self._specs()[id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._specs())

    def __len__(self) -> int:
        return len(self._specs())


@cache
def _compiler() -> str:
    """What the compiler itself is, by the times and sizes of its files."""
    folder = Path(exhume.compiler.__file__).parent
    files = sorted([*folder.rglob("*.py"), Path(extensions.__file__), Path(__file__)])
    found = [(str(one), one.stat().st_mtime_ns, one.stat().st_size) for one in files]
    return f"{exhume.__version__} {sys.version} {metadata.version('cython')} {found}"


def _place(path: Path, folders: Sequence[Path]) -> Path:
    flags = os.environ.get("EXHUME_NATIVE_FLAGS", ""), os.environ.get("CC", "")
    said = [str(path.resolve()), *(str(one.resolve()) for one in folders), *flags, _compiler()]
    name = hashlib.sha256("\0".join(said).encode()).hexdigest()[:40]
    return extensions.cache_folder() / f"{name}.kept"


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def found(path: Path, folders: Sequence[Path]) -> CachedSpecification | None:
    """The kept result for a specification; None if there is none, or if it does not match the current files."""
    try:
        place = _place(path, folders)
        if not extensions.is_own(place.lstat()):
            return None
        told = marshal.loads(place.read_bytes())  # noqa: S302 - the folder and the file are the user's alone
        if any(_digest(Path(file)) != digest for file, digest in told["files"]):
            return None
        module = place.parent / told["module"]
        if any(Path(one).exists() for one in told["absent"]) or not extensions.is_own(module.lstat()):
            return None
        made = Extension("", told["plan"], tuple(told["left"]))
        return CachedSpecification(
            told["id"], told["reader"], LazySpecs(told["specs"]), told["texts"], (made, module), told["codes"]
        )
    except (
        OSError,
        extensions.NotBuiltError,
        metadata.PackageNotFoundError,
        ValueError,
        EOFError,
        TypeError,
        KeyError,
    ):
        return None


def keep(path: Path, folders: Sequence[Path], files: SpecFiles, made: CachedSpecification) -> None:
    """Keep what a compilation made, where that is possible."""
    specs = {id: dict(spec) for id, spec in made.specs.items()}
    text = json.dumps(specs)
    if json.loads(text) != specs:
        return
    extension, module = made.native
    told = {
        "id": made.id,
        "reader": made.reader,
        "specs": text,
        "texts": dict(made.texts),
        "codes": {
            name.removesuffix(".py"): as_code(code, name.removesuffix(".py"))
            for name, code in made.texts.items()
            if not name.startswith("_")
        },
        "plan": extension.plan,
        "left": list(extension.left),
        "module": module.name,
        "files": [(str(one.resolve()), _digest(one)) for one in files.paths.values()],
        "absent": [str(one) for one in files.absent],
    }
    try:
        place = _place(path, folders)
        with tempfile.NamedTemporaryFile(dir=place.parent, delete=False) as file:
            file.write(marshal.dumps(told))
        Path(file.name).replace(place)
    except UNUSABLE:
        return
