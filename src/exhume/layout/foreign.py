"""Third-party Kaitai Struct specifications: from a `.ksy` file to readers, by `exhume.compiler`.

`compile_ksy` returns a `Specification`, whose readers are modules in memory (`foreign_modules`).  It has several
kinds of readers: fast ones; traced ones, which record the position of each field, for `explain`; paused ones, which
stop at a list so that it is read in batches; each of them in Python or, with `native`, partly in an extension module
in C.

Only names and constants of a specification become code, see `exhume.compiler.front.validate`.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, Self

from exhume.compiler.emit.extension import Extension, extension, package_texts
from exhume.compiler.emit.inline import inlined
from exhume.compiler.emit.modules import ACCEPTED, module_texts
from exhume.compiler.emit.stubs import stub_texts
from exhume.compiler.front.kinds import combined, family
from exhume.compiler.front.model import ExternalNames, Type
from exhume.compiler.front.specs import Model
from exhume.compiler.refusal import UnsupportedError
from exhume.compiler.whole import compile_foreign, paused_texts, with_columns
from exhume.counts import counted
from exhume.errors import SpecificationError
from exhume.findings import Finding
from exhume.io.local import mapped
from exhume.io.opening import Target, open_target
from exhume.io.source import Source
from exhume.layout.batches import BATCH_ROWS
from exhume.layout.fast import RAISED, View, refused
from exhume.layout.foreign_modules import (
    CachedSpecification,
    ExternalCode,
    NativeWarning,
    Reader,
    find_kept,
    keep_compiled,
    load,
)
from exhume.layout.ksy_files import SpecFiles, one_file
from exhume.layout.schema import Explainer
from exhume.layout.sections import Section, SectionMap
from exhume.layout.trees import Field


def compile_ksy(
    path: str | os.PathLike[str],
    *,
    imports: Sequence[str | os.PathLike[str]] = (),
    types: Mapping[str, Specification | Reader] | None = None,
    process: Mapping[str, Callable[..., Any]] | None = None,
    native: bool = False,
) -> Specification:
    """Compile a `.ksy` file, and what it imports, to readers.

    Args:
        path: Path of the `.ksy` file.
        imports: Folders in which imports are looked up after that of the importing file; those that begin with `/`
            only there.  The folders of the environment variable `KSPATH` follow.
        types: What reads the opaque types of the specification (`ks-opaque-types`), by their names: a compiled
            specification, or a function that takes the bytes up to the end of the stream, and the arguments of the
            type, and returns a value and how many bytes it took.
        process: Custom `process` routines by their names, each a class as Kaitai's: called with the arguments, it
            returns an object whose `decode` turns bytes into bytes.
        native: Whether the readers are an extension module, built with the C compiler of this machine (extra `native`)
            and kept for the next time.  Where that is not possible, a `NativeWarning` says why, and the readers are in
            Python, with the same results.

    Returns:
        The readers: `read`, `to_arrow`, `write_package`, and what `exhume.explain` takes as `ksy`.

    Raises:
        SpecificationError: Something is wrong or not supported; names the file, the field, and what.
        SourceError: A file cannot be read.
        MissingDependencyError: PyYAML is not installed (extra `ksy`).

    Example:
        >>> pairs = exhume.compile_ksy("pairs.ksy")
        >>> [pair.value for pair in pairs.read(bytes([2, 1, 10, 2, 20])).pairs]
        [10, 20]
    """
    by_environment = [one for one in os.environ.get("KSPATH", "").split(os.pathsep) if one]
    folders = [Path(one) for one in (*imports, *by_environment)]
    # Kept results are for a specification that depends on its files only.
    is_alone = native and not types and not process
    if is_alone and (known := find_kept(Path(path), folders)) is not None:
        return Specification(known.id, known.specs, known.texts, native=known.native, kept=known)
    files = SpecFiles(folders)
    id = files.read(Path(path))
    compiled = {name: one for name, one in (types or {}).items() if isinstance(one, Specification)}
    for one in compiled.values():
        files.join(one.specs, Path(path))
    outside = _outside(types or {}, process or {})
    given = ExternalNames(
        frozenset(outside.types), frozenset(outside.process), {name: one.id for name, one in compiled.items()}
    )
    try:
        texts = compile_foreign(files.specs, given)
    except UnsupportedError as error:
        raise files.refused(error, id) from None
    made = Specification(id, files.specs, texts, given, outside, native=native_readers(texts) if native else None)
    if is_alone and made.native is not None:
        reader = made.model.schemas[id].reader_name
        keep_compiled(Path(path), folders, files, CachedSpecification(id, reader, made.specs, texts, made.native))
    return made


def _outside(types: Mapping[str, Specification | Reader], process: Mapping[str, Callable[..., Any]]) -> ExternalCode:
    """Return the caller's readers and `process` routines, with those of the compiled specifications in `types`."""
    readers = {name: one for name, one in types.items() if not isinstance(one, Specification)}
    routines = dict(process)
    for one in types.values():
        if isinstance(one, Specification):
            readers |= one.outside.types
            routines |= one.outside.process
    return ExternalCode(readers, routines)


def native_readers(texts: Mapping[str, str]) -> tuple[Extension, Path] | None:
    """Return the extension module of compiled readers and its path; None, with a `NativeWarning`, if there is none."""
    from exhume.layout import extensions

    made = extension(texts)
    try:
        return made, extensions.built(made)
    except extensions.NotBuiltError as error:
        warnings.warn(f"interpreted readers: {error}", NativeWarning, stacklevel=3)
        return None


@dataclass(frozen=True)
class Specification:
    """A compiled specification, by the id of its root.

    `specs` are the parsed specifications by id, `texts` the modules of the package that reads them, `given` the
    names and `outside` the objects that the caller provides.
    """

    id: str
    specs: Mapping[str, Mapping[str, Any]]
    texts: Mapping[str, str]
    given: ExternalNames = field(default_factory=ExternalNames)

    def __repr__(self) -> str:
        return f"<Specification {self.id!r}>"

    outside: ExternalCode = field(default_factory=ExternalCode)
    native: tuple[Extension, Path] | None = None
    """The extension module of the readers and its path; None for readers in Python."""
    kept: CachedSpecification | None = None
    """The results of an earlier compilation of the same files."""

    @cached_property
    def model(self) -> Model:
        """The specification and what it imports, resolved."""
        return Model(self.specs, foreign=True, given=self.given)

    @property
    def package(self) -> Mapping[str, bytes]:
        """The files of a package with these readers, by path: for this Python, if they have an extension module."""
        stubs = stub_texts(Model(with_columns(self.specs, self.given), foreign=True, given=self.given))
        texts = {path: text.encode() for path, text in {**self._run_texts, **stubs}.items()}
        if self.native is None:
            return texts
        from exhume.layout import extensions

        made, path = self.native
        more = {name: text.encode() for name, text in package_texts(made).items()}
        return texts | more | {f"_native{extensions.SUFFIX}": path.read_bytes()}

    def to_arrow(self, target: Target, path: str, *arguments: Any) -> Any:
        """Return a `pyarrow.Table` with a row for each element of the repeated field at a path such as
        `tables[2].rows`.

        See `foreign_table` for the columns; fields without a column are in the schema's metadata (`exhume.omitted`),
        and so are columns in which a computed value is null because it fails (`exhume.unread`).  Propagates errors
        from `read`; raises `EntryNotFoundError` if the path leads to no repeated field, `MissingDependencyError`
        without pyarrow (extra `arrow`).
        """
        from exhume.layout.foreign_content import SpecificationRows

        with one_file(open_target(target)) as source:
            return SpecificationRows(self, source, path, arguments).table()

    def batches(self, target: Target, path: str, *arguments: Any, rows: int = BATCH_ROWS) -> Any:
        """Return the table of `to_arrow` as a `pyarrow.RecordBatchReader`, in batches of at most `rows` rows.

        Raises the same errors.

        A list that the end of the file or of a substream ends, or that nothing else requests, takes the memory of one
        batch, whatever its length; others are read as a whole first.  Later batches raise what their rows raise.  The
        schema is made with the first batch: an `UnreadWarning` after the last one names other columns in which a
        computed value is null because it fails.
        """
        from exhume.layout.foreign_content import SpecificationRows

        return SpecificationRows(self, one_file(open_target(target)), path, arguments).reader(rows, warns=True)

    def columns(self, target: Target, path: str, *arguments: Any) -> Any:
        """Return the columns of the repeated field at a path, read without an object for a row.

        Raises the errors of `read` for the fields before it and for its rows; `EntryNotFoundError` if the path leads
        to no repeated field; `SpecificationError` if its rows have no columns, or only those that objects make.
        """
        from exhume.layout.foreign_content import SpecificationRows

        with one_file(open_target(target)) as source:
            return SpecificationRows(self, source, path, arguments).columns()

    def type_of(self, value: Any) -> Type | None:
        """Return the type of a value; None for a value that is not a structure."""
        id = value.__class__.__module__.rpartition(".")[2]
        schema = self.model.schemas.get(id)
        return (
            next((one for one in schema.all() if one.class_name == value.__class__.__name__), None) if schema else None
        )

    @cached_property
    def traced(self) -> Callable[[View], Any]:
        """The reader of the root that records the position of each field; list elements are read when they are
        shown."""
        return self._traced(self._traced_texts)

    @cached_property
    def _traced_texts(self) -> Mapping[str, str]:
        """The modules of the traced readers, by id."""
        return module_texts(self.model, traced=True, plain=self.texts)

    @property
    def is_lazy(self) -> bool:
        """Whether a file of any size can be explained, since of every list only the beginnings are kept."""
        # Traced readers that keep every element note its place by this statement.
        return not any("[3].append(" in text for text in self._traced_texts.values())

    def _traced(self, readers: Mapping[str, str]) -> Callable[[View], Any]:
        """Return the function that reads data with the positions of its fields."""
        texts = {f"{id}.py": text for id, text in readers.items()}
        # The traced classes inherit from the fast ones, and call their readers.
        plain = str(load(self.texts, self.id, self.model, self.outside).__package__)
        module = load(texts | {"__init__.py": "", "_layout.py": ""}, self.id, self.model, self.outside, plain)
        for type in self.model.types():
            of = importlib.import_module(f"{module.__package__}.{type.root.id}")
            getattr(of, type.class_name).TYPE = type
        reader = getattr(module, self.model.schemas[self.id].reader_name)
        return lambda data: reader(data, 0, len(data), *self._around(reader))

    def explain(self, explainer: Explainer, data: View) -> Field:
        """Return the field tree of the whole data; see `exhume.layout.schema`."""
        return explainer.explain_traced(self.model.schemas[self.id], self.traced, data)

    def open(self, target: Target) -> SpecifiedFile:
        """Open a file to be explained.  Raises `SpecificationError` if the specification has parameters."""
        return SpecifiedFile(one_file(open_target(target)), self)

    def check_parameters(self, given: Sequence[Any]) -> None:
        """Raise `SpecificationError` if the root takes other parameters, or of other types."""
        names = [one["id"] for one in self.specs[self.id].get("params", ())]
        if len(given) != len(names):
            message = (
                f"{self.id} takes {counted(len(names), 'parameters')} ({', '.join(names)})"
                if names
                else "it takes no parameters"
            )
            raise SpecificationError(message, actual=len(given))
        for param, value in zip(self.model.schemas[self.id].params, given, strict=True) if given else ():
            classes = ACCEPTED.get(family(combined(param.kind)), ())
            if classes and all(one.__name__ not in classes for one in type(value).__mro__):
                raise SpecificationError(
                    f"the parameter {param.id} of {self.id} is {' or '.join(classes)}", actual=type(value).__name__
                )

    def _around(self, reader: Any) -> list[Any]:
        """Return the arguments of the root's reader for its parent, root and the like: all None, as it has none.

        They come after data, position and end, and before the parameters of the specification.
        """
        # A compiled reader has the interpreted one as `python`.
        code = getattr(reader, "python", reader).__code__
        names = code.co_varnames[3 : code.co_argcount - len(self.specs[self.id].get("params", ()))]
        return [None for _ in names]

    def paused(self, steps: list[str]) -> Callable[..., Any] | None:
        """Return the reader of the root that stops at the list that fields (`steps`) lead to; None if that is read as a
        whole.
        """
        path = ".".join(steps)
        if path not in self._paused:
            self._paused[path] = self._pausing(steps)
        return self._paused[path]

    @cached_property
    def _paused(self) -> dict[str, Callable[..., Any] | None]:
        """The readers that stop at a list, by its path."""
        return {}

    def _pausing(self, steps: list[str]) -> Callable[..., Any] | None:
        """Return a function that reads data up to the list at the path `steps`, and raises `Paused` there.

        None if the list cannot be read in batches.
        """
        texts = paused_texts(self.specs, self.given, self.id, steps, self.texts)
        if texts is None:
            return None
        type = self.model.schemas[self.id]
        # The readers that contain the list stay interpreted: compiled code cannot pause.
        left = {(type.root.id, type.reader_name)}
        for step in steps[:-1]:
            type = type.field(step).value_kind.type  # type: ignore[union-attr]  # `paused_texts` found structures
            left.add((type.root.id, type.reader_name))
        module = load(texts, self.id, self.model, self.outside, native=self.native, left=frozenset(left))
        reader = getattr(module, self.model.schemas[self.id].reader_name)
        return lambda data, *arguments: reader(data, 0, len(data), *self._around(reader), *arguments)

    @property
    def module(self) -> ModuleType:
        """The module of the root: `read_<type>(view, at, end)` and the classes that they return."""
        if self.kept is not None:
            return load(self.texts, self.id, None, native=self.native, codes=self.kept.codes)
        return load(self._run_texts, self.id, self.model, self.outside, native=self.native)

    @cached_property
    def _run_texts(self) -> Mapping[str, str]:
        """The modules that are run: without an extension module, small readers are written into others."""
        return self.texts if self.native is not None else inlined(self.texts)

    def read(self, target: Target, *arguments: Any) -> Any:
        """Return the whole file as one object with the field names of the specification; `arguments` are its
        parameters.

        A local file is mapped, others are read into memory; instances are parsed on first access.  Raises
        `SpecificationError` if the root takes other parameters, and `TruncatedError` or `StructureError` with the
        offset and the path of the field.  Instances that fail on later access raise `LayoutError`.
        """
        with one_file(open_target(target)) as source:
            return self.read_source(source, *arguments)

    def read_source(self, source: Source, *arguments: Any) -> Any:
        """Read an open `Source` as `read` does; raises the same errors."""
        where = source.span(0, source.size)
        data = mapped(source) if self.native is None else source.read_at(0, source.size)
        name = self.kept.reader if self.kept is not None else self.model.schemas[self.id].reader_name
        reader = getattr(self.module, name)
        self.check_parameters(arguments)
        layout = importlib.import_module(f"{self.module.__package__}._layout")
        # The garbage collector is off while many objects are made.
        collects = layout.pause()
        try:
            found, end = reader(data, 0, len(data), *self._around(reader), *arguments)
        except RAISED as error:
            raise refused(error, where) from error
        finally:
            layout.resume(collects)
        found._io.at = end  # noqa: SLF001 - where instances find the stream
        return found


class SpecifiedFile:
    """A file and its specification, as the explain engine needs it: one section, in which nothing can be verified."""

    problems: Sequence[Finding] = ()
    unchecked: Mapping[str, Sequence[Finding]] = MappingProxyType({})

    def __init__(self, source: Source, specification: Specification) -> None:
        """Describe a file whose layout is a user's specification."""
        specification.check_parameters(())
        self.name: str = source.name
        self.format: str = f"ksy:{specification.id}"
        self._source = source
        self._specification = specification

    def sections(self, *, jobs: int = 1) -> SectionMap:
        """Return the whole file as one section."""
        span = self._source.span(0, self._source.size)
        specification = self._specification
        section = Section(
            specification.id,
            span,
            schema=specification.id,
            parse=specification.explain,
            parse_lazily=specification.is_lazy,
        )
        return SectionMap([(self._source, [section])])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._source.close()
