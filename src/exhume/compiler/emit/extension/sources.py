"""The interpreted readers as compiled code is made of them: what each module binds, found in its audited text."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

from exhume.compiler.audit import OURS


@dataclass
class ReaderClass:
    """A class of readers: its slots, its instances, and its columns with their codes."""

    name: str
    slots: tuple[str, ...] = ()
    properties: dict[str, ast.FunctionDef] = field(default_factory=dict)
    codes: dict[str, str] = field(default_factory=dict)
    structure: bool = False
    element: str = ""
    """The reader of one element, of columns."""


@dataclass
class Source:
    """One module."""

    id: str
    formats: dict[str, str] = field(default_factory=dict)
    """What the constants unpack."""
    shared: dict[str, str] = field(default_factory=dict)
    given: set[str] = field(default_factory=set)
    modules: dict[str, str] = field(default_factory=dict)
    classes: dict[str, ReaderClass] = field(default_factory=dict)
    functions: dict[str, ast.FunctionDef] = field(default_factory=dict)
    enums: dict[str, str] = field(default_factory=dict)
    """Paths of classes by the names of what finds their members."""

    def add(self, node: ast.stmt) -> None:
        """Note what one statement binds."""
        match node:
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
            case ast.FunctionDef(name=name):
                self.functions[name] = node
            case ast.ClassDef(name=name):
                self.classes[name] = _class(node)


def _class(node: ast.ClassDef) -> ReaderClass:
    """The slots, properties, reader of an element and array codes of a generated class, from its syntax tree."""
    found = ReaderClass(node.name, structure=bool(node.bases))
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
    """The reader of one element; none where reading it moves the stream back."""
    match node.body[1:]:
        case [ast.Return(ast.Subscript(ast.Call(ast.Name(name))))]:
            return name
        case [_, _, ast.Assign(value=ast.Call(ast.Name(name))), ast.Return()]:
            return name
    return ""


def _array(line: ast.stmt) -> list[tuple[str, str]]:
    """The column and array code of a line `self.size = array("I")`, as a list of one pair; empty for other lines."""
    match line:
        case ast.Assign(
            targets=[ast.Attribute(attr=column)],
            value=ast.Call(func=ast.Name(id="array"), args=[ast.Constant(value=str(code))]),
        ):
            return [(column, code)]
    return []


def sources(texts: Mapping[str, str]) -> dict[str, Source]:
    """The modules of a package by their ids; `texts` by path."""
    found = {}
    for path in sorted(texts):
        if path not in OURS:
            source = found[path.removesuffix(".py")] = Source(path.removesuffix(".py"))
            for node in ast.parse(texts[path]).body:
                source.add(node)
    return found
