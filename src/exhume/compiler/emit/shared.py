"""State that the readers of one specification share while they are written: imports, constants, names.

Also the facts about fast readers that traced readers need. Traced readers, for `explain`, record the position of
each field; for long lists they call the fast, untraced ones.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property

from exhume.compiler.audit import PLAIN
from exhume.compiler.emit.text import annotation
from exhume.compiler.front import expressions as ex
from exhume.compiler.front.kinds import Kind, Sequence, combined, family, structures
from exhume.compiler.front.model import Field, Type
from exhume.compiler.front.specs import Model
from exhume.compiler.ir.needs import ReaderNeeds, deciding, expressions, words
from exhume.compiler.ir.rows import PackedRows, packed_rows

_SCANS = re.compile(r"^def (scan_\w+)\([^)]*run: Run \| None = None\)", re.MULTILINE)
"""Readers of columns whose only argument, beyond the bytes and the count, is the budget `run`."""


@dataclass(frozen=True)
class UntracedReaders:
    """Facts about the fast readers that the readers of `explain` call.

    `columned`: names of readers whose rows they read as columns; `mentioned`: by type, every name in its expressions
    and in those of its parts; `passes_on`: whether instances return structures that others read.
    """

    columned: frozenset[str]
    mentioned: Mapping[Type, frozenset[str]]
    passes_on: bool

    @cached_property
    def names(self) -> frozenset[str]:
        """Every name in an expression."""
        return frozenset().union(*self.mentioned.values())


def untraced_readers(model: Model, texts: Mapping[str, str]) -> UntracedReaders:
    """Return the facts that traced readers need about the untraced ones, whose modules are `texts`."""
    columned = {name for text in texts.values() for name in _SCANS.findall(text)}
    return UntracedReaders(frozenset(columned), _mentioned(model), _passes_on(model))


def _mentioned(model: Model) -> dict[Type, frozenset[str]]:
    """Return, for each type, the names in its expressions and in those of the structures in it."""
    own: dict[Type, set[str]] = {}
    inner: dict[Type, set[Type]] = {}
    for type in model.types():
        found = [*deciding(type), *(expr for one in type.fields() for expr in expressions(one))]
        if "to-string" in type.raw:
            found.append(ex.parse(type.raw["to-string"]))
        own[type] = set().union(*map(words, found))
        read = [one for one in type.fields() if one.value is None]
        inner[type] = {one.type for field in read for one in structures(field.value_kind)}
    changed = True
    while changed:
        changed = False
        for type, below in inner.items():
            before = len(own[type])
            own[type].update(*(own.get(one, ()) for one in below))
            changed |= len(own[type]) > before
    return {type: frozenset(names) for type, names in own.items()}


def _passes_on(model: Model) -> bool:
    """Return whether any computed instance may return structures that something else has read."""
    computed = [one for type in model.types() for one in type.instances.values() if one.value is not None]
    return any(not _is_simple(combined(one.value_kind)) for one in computed)


def _is_simple(kind: Kind) -> bool:
    """Return whether a kind contains no structures."""
    if isinstance(kind, Sequence):
        return _is_simple(combined(kind.of))
    return family(kind) in ("integer", "enum", "bool", "float", "text", "bytes")


_APART = frozenset(("NoColumnsError", "Paused", "Rows", "Stream", "Structure", "Table"))
"""Classes of the runtime that are imported with an underscore, because a type may have the same name."""


def _imported(name: str) -> str:
    """Return the part of an import statement for a name of `_layout`."""
    return f"{name} as _{name}" if name in _APART else name


class Module:
    """The module of one specification while it is emitted: imports, constants and names that its readers share."""

    helpers: set[str]

    def __init__(
        self,
        schema: Type,
        needs: dict[Type, ReaderNeeds],
        *,
        traced: bool = False,
        untraced: UntracedReaders | None = None,
        paused: Field | None = None,
    ) -> None:
        """Collect the imports and constants of the module of `schema`, the root type of a specification.

        `needs` has, for each type, which arguments its reader takes.  `traced` readers record the position of each
        field; `untraced` describes the readers that record none, if they may call those, else None.  `paused` is the
        list at which a reader stops, so that its elements are read in batches; None to read all lists completely.
        """
        self.schema = schema
        self.traced = traced
        self.untraced = untraced
        self.paused = paused
        self.reads_plain: bool = False
        """Whether names of classes and readers are at present those `untraced`."""
        self.plains: set[str] = set()
        """Specifications whose fast readers are imported."""
        self.written = 0
        """Characters of all expressions."""
        self.needs = needs
        self.imports: dict[str, set[str]] = {}  # names by module
        self.formats: dict[str, str] = {}  # by format of `struct`, the constant that unpacks it
        self.row_formats: dict[str, str] = {}  # the same for many rows of a format
        self.waiting: dict[str, set[str]] | None = None
        """Imports, by module, for the body of the property being written; None: imports go to the top of the module."""
        self.arrays = False  # whether `array` is used
        self.enums = False  # whether there are classes of enums
        self.modules: set[str] = set()  # identifiers of the specifications whose modules are imported
        self.helpers = {"LayoutError", "View", "short"}
        """Names that the module imports from `_layout`."""
        if traced:
            self.helpers |= {"FAILURES", "Traced", "keep", "keep_instance"}
        self.given: set[str] = set()
        """Names that the module imports from `_given`, the objects of the caller."""
        self.later: list[str] = []
        """Statements that come after the readers, as they name them."""

    def head(self, words: AbstractSet[str]) -> list[str]:
        """Return the lines before the first class: imports and constants.

        `words` are the names that the other lines use, so that unused helpers are not imported.
        """
        how = (
            f"{self.schema.id}.ksy by `exhume compile`"
            if self.foreign
            else f"ksy/{self.schema.id}.ksy by `make generated`"
        )
        head = [f'"""Compiled from {how}; never edited by hand."""']
        head += ["# mypy: ignore-errors", "# ruff: noqa", "", "from __future__ import annotations", ""]
        if self.formats or self.row_formats:
            head.append("import struct")
        if self.arrays:
            head.append("from array import array")
        if self.enums:
            head.append("from enum import IntEnum as _IntEnum")
        # Names that all readers share, objects of the caller, other modules, and the readers that record no positions.
        used = [one for one in map(_imported, sorted(self.helpers)) if one.split()[-1] in words]
        head += ["", f"from ._layout import {', '.join(used)}"] if used else []
        if self.given:
            head.append(f"from ._given import {', '.join(sorted(self.given))}")
        head += [f"from . import {id} as _{id}" for id in sorted(self.modules)]
        head += [f"from ._plain import {id} as {PLAIN}{id}" for id in sorted(self.plains)]
        head += import_lines(self.imports)
        head.append("")
        if self.later:
            head += ["TYPE_CHECKING = False", "if TYPE_CHECKING:", "    from collections.abc import Callable", ""]
        # The functions that unpack fields, and rows of columns.
        head += [f'{name} = struct.Struct("{format}").unpack_from' for format, name in self.formats.items()]
        return head + [f'{name} = struct.Struct("{format}").iter_unpack' for format, name in self.row_formats.items()]

    @property
    def foreign(self) -> bool:
        """Whether the specification is not one of exhume's own."""
        return self.schema.model.foreign

    @contextlib.contextmanager
    def plain(self) -> Iterator[None]:
        """Within the `with` block, names are those of the untraced readers, if there are such."""
        before, self.reads_plain = self.reads_plain, self.untraced is not None
        yield
        self.reads_plain = before

    def helper(self, name: str) -> str:
        """Return the local name of a function or class of `_layout`, and note that it is imported."""
        self.helpers.add(name)
        return f"_{name}" if name in _APART else name

    def given_table(self, name: str) -> str:
        """Return the name of a table of objects that users of the emitted module pass in (`TYPES` or `PROCESS`).

        It is imported from `_given`.
        """
        self.given.add(name)
        return name

    def struct(self, format: str, *, rows: bool = False) -> str:
        """Return the name of the constant that unpacks a format of `struct`, or many `rows` of it."""
        if rows:
            return self.row_formats.setdefault(format, f"_each{len(self.row_formats)}")
        return self.formats.setdefault(format, f"_unpack{len(self.formats)}")

    @functools.cached_property
    def packed(self) -> dict[Type, list[PackedRows]]:
        """The lists of structures of the specification that are unpacked together, by the type of their elements."""
        found: dict[Type, list[PackedRows]] = {}
        for type in self.schema.model.types():
            for rows in filter(None, map(packed_rows, type.fields())):
                alike = found.setdefault(rows.row.type, [])
                if rows not in alike:
                    alike.append(rows)
        return found

    def name_of(self, type: Type, name: str) -> str:
        """Return the local name of a class or reader, which is imported if it belongs to another specification."""
        if self.reads_plain:
            self.plains.add(type.root.id)
            return f"{PLAIN}{type.root.id}.{name}"
        if type.root is not self.schema and self.foreign:  # as a module, since others may import each other
            self.modules.add(type.root.id)
            return f"_{type.root.id}.{name}"
        if type.root is not self.schema:
            found = self.imports if self.waiting is None else self.waiting
            # Another module may have a class of this name already.
            known = self.own_names.setdefault(name, type.root.id)
            local = name if known == type.root.id else f"_{type.root.id}_{name}"
            found.setdefault(type.root.id, set()).add(name if local == name else f"{name} as {local}")
            return local
        return name

    def annotation(self, kind: Kind) -> str:
        """Return a kind as an annotation; in third-party specifications, classes of others are named as they are
        imported.
        """
        return annotation(kind, lambda one: self.name_of(one, one.class_name)) if self.foreign else annotation(kind)

    @functools.cached_property
    def own_names(self) -> dict[str, str]:
        """Classes and functions of the module, and imported ones, each with the specification it belongs to."""
        names = [
            name
            for type in self.schema.all()
            for base in (type.reader_name.removeprefix("read_"),)
            for name in (
                type.class_name,
                f"{type.class_name}Columns",
                *(f"{kind}_{base}" for kind in ("read", "make", "fill", "scan", "flat", "ends")),
            )
        ]
        return dict.fromkeys(names, self.schema.id)


def import_lines(found: dict[str, set[str]]) -> list[str]:
    """Return the import statements for names by sibling module."""
    return [f"from .{id} import {', '.join(sorted(names))}" for id, names in sorted(found.items())]
