"""The interpreted readers that are compiled: their modules, parsed, and the objects that compiled code takes from them.

`extension` parses the generated modules once (`sources`).  While it translates their functions, it adds each Python
object that the compiled code needs to a `Table`.  The code has `CONSTANTS[3]` where the Python code has a name or a
constant, and the plan of the extension module says what number 3 is.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

from exhume.compiler.audit import OURS
from exhume.compiler.emit.extension.kinds import MOST, Kind, MachineWord, ReaderObject


@dataclass
class Table:
    """Constants, classes and functions that compiled code takes from the interpreted readers, by number.

    Compiled code has them in C arrays: `CONSTANTS` the objects, `MAKERS` the makers of structures, `CACHES` the sites,
    `OFFSETS` the offsets of slots.
    """

    values: list[tuple[object, ...]] = field(default_factory=list)
    """The objects, each as `(how, ...)`: `how` is the name of the method below that adds it, the rest its arguments.

    From these, `attach` in `emit.layout.compiled` gets the objects when the module is loaded.
    """
    slots: list[tuple[str, str, str]] = field(default_factory=list)
    """Fields that compiled code reads directly from objects, by module, class and name."""
    makers: list[tuple[str, str]] = field(default_factory=list)
    """The classes that compiled code makes structures of."""
    words: dict[tuple[str, str, str], int | None] = field(default_factory=dict)
    """Bits of the numbers that readers put into fields, by class and field; None for fields of anything else."""
    sites: int = 0
    """Number of places that get a field of an object of an unknown class; each remembers the last class."""
    _numbers: dict[object, int] = field(default_factory=dict)  # of each object in `values`
    _slots: dict[tuple[str, str, str], int] = field(default_factory=dict)  # of each field in `slots`

    def _value(self, *one: object) -> str:
        """Return code for a Python object of the table of constants, which contains equal ones once."""
        key = (*one, type(one[-1]).__name__, repr(one[-1]))
        if key not in self._numbers:
            self._numbers[key] = len(self.values)
            self.values.append(one)
        return f"(<object> CONSTANTS[{self._numbers[key]}])"

    def constant(self, value: object) -> str:
        """Return code for a constant."""
        return self._value("constant", value)

    def shared(self, name: str) -> str:
        """Return code for a name of the module that all readers share."""
        return self._value("shared", name)

    def of(self, module: str, name: str) -> str:
        """Return code for a class or function of the interpreted readers."""
        return self._value("of", module, name)

    def given(self, name: str) -> str:
        """Return code for a table of objects that the caller of exhume passed: `TYPES` (readers of opaque types) or
        `PROCESS` (routines), by name; see `ExternalCode`.
        """
        return self._value("given", name)

    def enum(self, module: str, path: str) -> str:
        """Return code for the members of an enum by their numbers."""
        return self._value("enum", module, path)

    def maker(self, module: str, name: str) -> str:
        """Return code for the maker of a class: the facts by which C code makes its structures, an item of `MAKERS`."""
        if (module, name) not in self.makers:
            self.makers.append((module, name))
        # `MAKERS[0]` stays unused: in a structure, maker 0 means that no maker made it (see `c_ownership`).
        return f"&MAKERS[{self.makers.index((module, name)) + 1}]"

    def site(self) -> str:
        """Return code for the cache of one more place in the code that gets a field of objects of unknown classes."""
        self.sites += 1
        return f"&CACHES[{self.sites - 1}]"

    def put(self, owner: ReaderObject, name: str, kind: Kind) -> None:
        """Note the kind of a value that a reader puts into a field, for `words`."""
        key, bits = (owner.module, owner.name, name), kind.bits if isinstance(kind, MachineWord) else MOST + 1
        known = self.words.get(key, 0)
        self.words[key] = None if known is None or bits > MOST else max(known, bits)

    def slot(self, owner: ReaderObject, name: str) -> str:
        """Return code for the position of a field's slot in objects of a class."""
        key = (owner.module, owner.name, name)
        if key not in self._slots:
            self._slots[key] = len(self.slots)
            self.slots.append(key)
        return f"OFFSETS[{self._slots[key]}]"


@dataclass
class ReaderClass:
    """A generated class: its slots, its properties, and array codes by column if it is a class of columns."""

    name: str
    slots: tuple[str, ...] = ()
    properties: dict[str, ast.FunctionDef] = field(default_factory=dict)
    codes: dict[str, str] = field(default_factory=dict)
    element: str = ""
    """The function that reads one element, if this is a class of columns."""


@dataclass
class Source:
    """One module of generated Python, parsed."""

    id: str
    formats: dict[str, str] = field(default_factory=dict)
    """The format of each `struct.Struct` constant by its name."""
    shared: dict[str, str] = field(default_factory=dict)
    """Names in `_layout`, the module that all readers share, by their names here."""
    given: set[str] = field(default_factory=set)
    """Names that are imported from the caller's objects."""
    modules: dict[str, str] = field(default_factory=dict)
    """Other modules of readers by their names here."""
    classes: dict[str, ReaderClass] = field(default_factory=dict)
    functions: dict[str, ast.FunctionDef] = field(default_factory=dict)
    makers: dict[str, str] = field(default_factory=dict)
    """Classes by the names of the functions that make their objects."""
    enums: dict[str, str] = field(default_factory=dict)
    """Paths of enum classes by the names of the functions that return their members."""

    def add(self, node: ast.stmt) -> None:
        """Note the names that one statement of the module binds."""
        match node:
            # Imports, constants that unpack (`struct.Struct(...)`), names of enums, makers of objects, functions and
            # classes.
            case ast.ImportFrom(module="_layout", names=names):
                self.shared |= {one.asname or one.name: one.name for one in names}
            case ast.ImportFrom(module="_given", names=names):
                self.given |= {one.name for one in names}
            case ast.ImportFrom(module=None, names=names):
                self.modules |= {one.asname or one.name: one.name for one in names}
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Attribute(
                    value=ast.Call(func=ast.Attribute(attr="Struct"), args=[ast.Constant(value=str(format))])
                ),
            ):
                self.formats[name] = format
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Attribute(attr="get", value=ast.Attribute(attr="_value2member_map_", value=path)),
            ):
                self.enums[name] = ast.unparse(path)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Attribute(ast.Name(made), "_make")):
                self.makers[name] = made
            case ast.FunctionDef(name=name):
                self.functions[name] = node
            case ast.ClassDef(name=name):
                self.classes[name] = _class(node)


def _class(node: ast.ClassDef) -> ReaderClass:
    """Return the slots, properties, reader of an element and array codes of a generated class, from its syntax tree."""
    found = ReaderClass(node.name)
    for one in node.body:
        match one:
            case ast.Assign(targets=[ast.Name(id="__slots__")], value=value):
                found.slots = tuple(ast.literal_eval(value))
            case ast.FunctionDef(name=name, decorator_list=[ast.Name(id="property")]):
                found.properties[name] = one
            case ast.FunctionDef(name="__getitem__"):
                found.element = _element(one)
            case ast.FunctionDef(name="__init__", body=body):
                found.codes = {column: code for line in body for column, code in _array(line)}
    return found


def _element(node: ast.FunctionDef) -> str:
    """Return the name of the reader of one element; empty where reading it moves the stream back."""
    match [one for one in node.body[1:] if not isinstance(one, ast.If)]:
        case [ast.Return(ast.Subscript(ast.Call(ast.Name(name))))]:
            return name
        case [_, _, ast.Assign(value=ast.Call(ast.Name(name))), ast.Return()]:
            return name
    return ""


def _array(line: ast.stmt) -> list[tuple[str, str]]:
    """Return the column and array code of a line `self.size: array[int] = array("I")`, as a list; empty for other
    lines.
    """
    match line:
        case ast.AnnAssign(
            target=ast.Attribute(attr=column),
            value=ast.Call(func=ast.Name(id="array"), args=[ast.Constant(value=str(code))]),
        ):
            return [(column, code)]
    return []


def sources(texts: Mapping[str, str]) -> dict[str, Source]:
    """Return the modules of a package by their ids, parsed; `texts` has their sources by path."""
    found = {}
    for path in sorted(texts):
        if path not in OURS:
            source = found[path.removesuffix(".py")] = Source(path.removesuffix(".py"))
            for node in ast.parse(texts[path]).body:
                source.add(node)
    return found
