"""Compiled readers as modules of Python: audited code that finds no more of Python than it needs, loaded once.

A specification of a user becomes a package, a set of modules that are in memory only: one for each specification
(`<id>`, with readers), `_layout` (what they share), `_given` (objects of the caller) and perhaps `_plain` (the fast
readers, in a package of traced ones, which record positions).  `load` makes it; an import hook (`_Finder`) provides its
modules.

The results of a compilation to an extension module are kept for the next time: readers as code, and the plan of the
module.  They are one file in the folder of extension modules (`extensions`), under the SHA-256 of the path of the
specification, the folders of imports, the versions of Python and Cython, and the files of the compiler itself.  The
file lists which specifications were read, with their SHA-256, and the paths at which imports were not found: it is
used only while all of that is unchanged.
"""

from __future__ import annotations

import builtins
import hashlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import marshal
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import exhume.compiler
from exhume.compiler.audit import BUILTINS, IMPORTS, audited
from exhume.compiler.emit.extension import Extension
from exhume.compiler.emit.layout import FOREIGN
from exhume.compiler.front.specs import Model
from exhume.compiler.refusal import UnsupportedError
from exhume.errors import SpecificationError
from exhume.layout import extensions
from exhume.layout.batches import Paused
from exhume.layout.fast import RAISED, LayoutError, View, numbers, short
from exhume.layout.ksy_files import SpecFiles
from exhume.layout.tracing import Lazily, Traced, keep, keep_instance


class NativeWarning(UserWarning):
    """Warning that readers are in Python, although compiled ones were requested."""


Reader = Callable[..., tuple[Any, int]]
"""A caller's reader of an opaque type.

It is called with the rest of the stream's bytes and the arguments of the type.  It returns a value and the number of
bytes that it read."""


@dataclass(frozen=True, eq=False)
class ExternalCode:
    """The caller's readers of opaque types and `process` routines, by name."""

    types: Mapping[str, Reader] = field(default_factory=dict)
    process: Mapping[str, Callable[..., Any]] = field(default_factory=dict)


# Facts on the packages that this process has loaded, by the name of the package.
_PACKAGES: dict[str, Mapping[str, str]] = {}
"""The audited source code of each package compiled by this process, by module."""
_CODES: dict[str, Mapping[str, CodeType]] = {}
"""The code objects of each package that was loaded from the cache, by module."""
_OUTSIDE: dict[str, ExternalCode] = {}
"""The caller's objects that each package uses."""
_PLAIN: dict[str, str] = {}
"""For each package whose readers record positions, the package with the same readers that record none."""


def _specs(package: str) -> list[str]:
    """Return the modules of a package that are specifications."""
    return [name for name in _PACKAGES[package] if not name.startswith("_")]


_NATIVE: dict[str, Any] = {}
"""The extension modules of packages that have one."""


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules of packages that were compiled by this process."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        """Find a module of a package that was compiled from specifications; None for all other packages."""
        package, _, module = fullname.partition(".")
        known = _PACKAGES.get(package)
        if known is None or (module or "__init__") not in known:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=not module)

    def exec_module(self, module: ModuleType) -> None:
        """Fill a module of a compiled package.

        `_given` has the objects of the caller, `_plain` the readers that record nothing, `_layout` the runtime; any
        other name is a specification, whose audited code is run with few built-in names.
        """
        package, _, name = module.__name__.partition(".")
        if name == "_given":
            vars(module).update(TYPES=_OUTSIDE[package].types, PROCESS=_OUTSIDE[package].process)
            return
        if name == "_plain":
            plain = _PLAIN[package]
            vars(module).update({id: importlib.import_module(f"{plain}.{id}") for id in _specs(plain)})
            return
        if name == "_layout" and package in _PLAIN:
            vars(module).update(vars(importlib.import_module(f"{_PLAIN[package]}._layout")))
            vars(module).update(Traced=Traced, Lazily=Lazily, keep=keep, keep_instance=keep_instance)
            return
        if name == "_layout":  # with the classes of errors that exhume catches
            vars(module).update(LayoutError=LayoutError, View=View, numbers=numbers, short=short)
            vars(module).update(FAILURES=RAISED, Paused=Paused)
            exec(FOREIGN, vars(module))  # noqa: S102 - a constant of ours
            if package in _NATIVE:
                _NATIVE[package].begin(module)
            return
        text = _PACKAGES[package][name or "__init__"]
        vars(module)["__builtins__"] = _needed(package)
        code = _CODES[package][name] if package in _CODES and name else as_code(text, module.__name__)
        exec(code, vars(module))  # noqa: S102 - audited


def as_code(text: str, name: str) -> CodeType:
    """Return the code object of one module."""
    return compile(text, f"<{name}>", "exec", dont_inherit=True)


_FINDER = _Finder()


def _needed(package: str) -> dict[str, Any]:
    """Return the built-in names that the code of a package may use, with an import that finds only listed modules."""

    def imported(name: str, within: Any = None, local: Any = None, wanted: Any = (), level: int = 0) -> Any:
        """Import a listed module for the code of the package; raises `ImportError` for all others.

        The parameters are those of `__import__`: `wanted` are the names after `import`, `level` is the number of dots.
        """
        known = IMPORTS if level == 0 else _PACKAGES[package] if level == 1 else ()
        if not set((name,) if name else wanted) <= set(known):  # `from . import x` has no name
            raise ImportError(f"compiled readers do not import {name!r}")
        return builtins.__import__(name, within, local, wanted, level)

    found = {name: getattr(builtins, name) for name in BUILTINS}
    return found | {"__build_class__": builtins.__build_class__, "__import__": imported}


def load(
    texts: Mapping[str, str],
    id: str,
    model: Model | None,
    outside: ExternalCode | None = None,
    plain: str = "",
    native: tuple[Extension, Path] | None = None,
    codes: Mapping[str, CodeType] | None = None,
    left: frozenset[tuple[str, str]] = frozenset(),
) -> ModuleType:
    """Return a module of a compiled package, after an audit of its code; its readers are compiled if it has an
    extension.

    `texts` are the modules of the package by path, `id` is that of the specification whose module is returned.
    `outside` has the caller's objects, `native` the extension and its path.  `plain` is the package of the fast readers
    that traced readers use.  Code that was kept (`codes`) was audited before that; then `model` is None.  The readers
    `left`, by module and name, stay interpreted: they pause at a list, which compiled code cannot.  The same sources,
    with the same objects of the caller, return the same module.

    Raises `SpecificationError` for code that is too large for Python, or that the compiler does not write.
    """
    outside = outside or ExternalCode()
    package = _package_name(texts, outside, plain, is_native=native is not None)
    if package not in _PACKAGES:
        try:
            if model is not None:
                audited(texts, model)
        except UnsupportedError as error:
            raise SpecificationError(error.why, field_path=error.where) from None
        # `_given` and `_plain` have no source: here `find_spec` gets to know them, and `exec_module` fills them.
        _PACKAGES[package] = {path.removesuffix(".py"): text for path, text in texts.items()} | {"_given": ""}
        _OUTSIDE[package] = outside
        if codes is not None:
            _CODES[package] = codes
        if plain:
            _PACKAGES[package] = {**_PACKAGES[package], "_plain": ""}
            _PLAIN[package] = plain
        if native is not None:
            return _load_native(package, id, native, left)
    return _import(package, id)


def _package_name(texts: Mapping[str, str], outside: ExternalCode, plain: str, *, is_native: bool) -> str:
    """Return the name of a package: a digest of its sources and of the identities of the caller's objects."""
    tables = (outside.types, outside.process)
    objects = [f"{name} {builtins.id(one)}" for table in tables for name, one in table.items()]
    sources = [f"{path}\0{texts[path]}" for path in sorted(texts)]
    whole = "\0".join([plain, *sources, *objects, str(is_native)])
    return f"exhume_compiled_{hashlib.sha256(whole.encode()).hexdigest()[:32]}"


def _load_native(package: str, id: str, native: tuple[Extension, Path], left: frozenset[tuple[str, str]]) -> ModuleType:
    """Load a compiled package with its extension module; if that cannot be loaded, warn and use the interpreted
    readers.
    """
    from exhume.layout import extensions

    made, path = native
    try:
        _NATIVE[package] = extensions.loaded(path, package)
    except extensions.NotBuiltError as error:
        warnings.warn(f"interpreted readers: {error}", NativeWarning, stacklevel=4)
        return _import(package, id)
    module = _import(package, id)
    ids = [one for one in _PACKAGES[package] if one not in ("__init__", "_layout", "_given")]
    layout = _import(package, "_layout")
    modules = {one: _import(package, one) for one in ids}
    layout.attach(_NATIVE[package], made.plan, layout, modules, _import(package, "_given"), left)
    return module


def _import(package: str, id: str) -> ModuleType:
    """Import a compiled module. Raises `SpecificationError` if its code is nested too deeply."""
    if _FINDER not in sys.meta_path:
        sys.meta_path.append(_FINDER)
    try:
        return importlib.import_module(f"{package}.{id}")
    except (RecursionError, MemoryError, SyntaxError) as error:
        raise SpecificationError(f"its code is nested too deeply for Python ({type(error).__name__})") from None


UNUSABLE = (OSError, extensions.NotBuiltError)
"""Errors that mean that nothing is kept: then readers are compiled."""


@dataclass(frozen=True)
class CachedSpecification:
    """A compiled specification as it is kept: the id of its root, the name of its reader, and the arguments of
    `load`.
    """

    id: str
    reader: str
    specs: Mapping[str, Mapping[str, Any]]
    texts: Mapping[str, str]
    native: tuple[Extension, Path]
    codes: Mapping[str, CodeType] = field(default_factory=dict)


class LazySpecs(Mapping[str, Mapping[str, Any]]):
    """Specifications by their ids, from JSON that is parsed when it is first used: most loads do not need them."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._found: dict[str, Mapping[str, Any]] | None = None

    def _specs(self) -> dict[str, Mapping[str, Any]]:
        """Return the parsed specifications."""
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
    """Return an identifier of the compiler's and of Cython's files, from their times and sizes.

    Their versions alone would take longer to find than the rest of a load.  Raises `NotBuiltError` without Cython.
    """
    cython = importlib.util.find_spec("Cython")
    if cython is None or cython.origin is None:
        raise extensions.NotBuiltError("Cython is not installed")
    folder = os.path.dirname(exhume.compiler.__file__)  # noqa: PTH120 - paths as text are faster by a factor of 10
    files = [f"{where}{os.sep}{name}" for where, _, names in os.walk(folder) for name in names if name.endswith(".py")]
    shadow = f"{os.path.dirname(cython.origin)}{os.sep}Shadow.py"  # noqa: PTH120 - it has the version of Cython
    every = sorted([*files, extensions.__file__, __file__, cython.origin, shadow])
    found = [(one, stat.st_mtime_ns, stat.st_size) for one, stat in zip(every, map(os.stat, every), strict=True)]
    return f"{exhume.__version__} {sys.version} {found}"


def _place(path: Path, folders: Sequence[Path]) -> Path:
    """Return the path of the file that keeps the results for a specification.  Propagates errors from
    `cache_folder`.
    """
    flags = os.environ.get("EXHUME_NATIVE_FLAGS", ""), os.environ.get("CC", "")
    parts = [str(path.resolve()), *(str(one.resolve()) for one in folders), *flags, _compiler()]
    name = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:40]
    return extensions.cache_folder() / f"{name}.kept"


def _digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def find_kept(path: Path, folders: Sequence[Path]) -> CachedSpecification | None:
    """Return the kept results for a specification; None if there are none, or if they do not match the current
    files.
    """
    try:
        place = _place(path, folders)
        if not extensions.is_own(place.lstat()):
            return None
        kept = marshal.loads(place.read_bytes())  # noqa: S302 - the folder and the file are the user's alone
        if any(_digest(Path(file)) != digest for file, digest in kept["files"]):
            return None
        module = place.parent / kept["module"]
        if any(Path(one).exists() for one in kept["absent"]) or not extensions.is_own(module.lstat()):
            return None
        made = Extension("", kept["plan"], tuple(kept["left"]))
        return CachedSpecification(
            kept["id"], kept["reader"], LazySpecs(kept["specs"]), kept["texts"], (made, module), kept["codes"]
        )
    except (*UNUSABLE, ValueError, EOFError, TypeError, KeyError):
        return None


def keep_compiled(path: Path, folders: Sequence[Path], files: SpecFiles, made: CachedSpecification) -> None:
    """Keep the results of a compilation, if that is possible."""
    specs = {id: dict(spec) for id, spec in made.specs.items()}
    text = json.dumps(specs)
    # JSON cannot represent every specification, such as one with NaN.
    if json.loads(text) != specs:
        return
    extension, module = made.native
    kept = {
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
            file.write(marshal.dumps(kept))
        Path(file.name).replace(place)
    except UNUSABLE:
        return
