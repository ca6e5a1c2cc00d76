"""Type stubs of the classes that Kaitai's compiler writes, which have no annotations: made from their own text.

The compiler's Python has a class for each type of a specification.  Fields are attributes that its methods assign;
instances (values that are read or computed on demand) are properties, which keep their value in `_m_NAME`.  Types are
inferred from the assigned expressions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import NamedTuple

BASE = '''\
"""What the parsers in this folder have in common, for type checkers.  Written by `make generated`."""

import os
from types import TracebackType
from typing import Any, BinaryIO, Self

class KaitaiStruct:
    _io: Any
    _parent: Any
    _root: Any
    @classmethod
    def from_file(cls, filename: str | os.PathLike[str]) -> Self: ...
    @classmethod
    def from_bytes(cls, buf: bytes) -> Self: ...
    @classmethod
    def from_io(cls, io: BinaryIO) -> Self: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
'''
HEAD = "# Written by `make generated` of the module beside it.\n"
BASE_NAME = "_struct.pyi"


class Assigned(NamedTuple):
    """`self.target = value`, or `self.target.append(value)` (`is_element`)."""

    target: str
    value: ast.expr
    is_element: bool
    on_condition: bool = False  # whether the attribute is None if a condition is not met


Given = dict[str, list[Assigned]]
"""What is assigned to each attribute of a class."""


def stubs(modules: Mapping[str, str]) -> dict[str, str]:
    """The stub of each module by its file name (`zs.pyi`), from the sources of the modules by their names."""
    trees = {name: ast.parse(text) for name, text in modules.items()}
    classes: dict[str, ast.ClassDef] = {}
    for name, tree in trees.items():
        for path, found in _classes(tree, ""):
            classes[path] = classes[f"{name}.{path}"] = found  # as their own module and as others name them
    known = {path: _attributes(found) for path, found in classes.items() if not _is_enum(found)}
    out = {BASE_NAME: BASE}
    for name, tree in trees.items():
        lines = [HEAD + "import enum", "from typing import Any", ""]
        imports = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.level]
        used = [alias.name for node in imports for alias in node.names]
        lines += [f"from . import {other}" for other in sorted(set(used))]
        lines.append("from ._struct import KaitaiStruct\n")
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                lines += _stub(node, node.name, known, "")
        out[f"{name}.pyi"] = "\n".join(lines) + "\n"
    return out


def _classes(node: ast.AST, lead: str) -> Iterator[tuple[str, ast.ClassDef]]:
    """Yield every class below a node with its path, such as `Zs.Header`."""
    for child in getattr(node, "body", ()):
        if isinstance(child, ast.ClassDef):
            path = f"{lead}{child.name}"
            yield path, child
            yield from _classes(child, f"{path}.")


def _is_enum(node: ast.ClassDef) -> bool:
    """Return whether a class is an enumeration."""
    return any("Enum" in ast.unparse(base) for base in node.bases)


def _attributes(node: ast.ClassDef) -> Given:
    """Return the public attributes of a class: fields from its methods, instances from its properties."""
    found: Given = {}
    for function in node.body:
        if isinstance(function, ast.FunctionDef) and function.name not in ("_fetch_instances", "_write"):
            is_instance = any(isinstance(one, ast.Name) and one.id == "property" for one in function.decorator_list)
            for statement, on_condition in _statements(function.body, conditional=False):
                assigned = _assigned(statement)
                if assigned is None:
                    continue
                name = assigned.target.removeprefix("_m_")  # which the attributes of instances have
                if is_instance == (name != assigned.target) and not name.startswith("_"):
                    assigned = assigned._replace(on_condition=on_condition and is_instance)
                    found.setdefault(name, []).append(assigned)
    return found


def _statements(body: list[ast.stmt], *, conditional: bool) -> Iterator[tuple[ast.stmt, bool]]:
    """Yield every statement of a function, and whether it is below an `if`."""
    for statement in body:
        yield statement, conditional
        inside = conditional or isinstance(statement, ast.If)
        for part in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(statement, part, []), conditional=inside)


def _assigned(statement: ast.stmt) -> Assigned | None:
    """What a statement assigns or appends to an attribute of `self`; None for all other statements."""
    match statement:
        case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=target)], value=value):
            return None if isinstance(value, ast.List) else Assigned(target, value, False)  # its elements follow
        case ast.Expr(
            ast.Call(
                func=ast.Attribute(value=ast.Attribute(value=ast.Name(id="self"), attr=target), attr="append"),
                args=[value, *_],
            )
        ):
            return Assigned(target, value, True)
    return None


def _stub(node: ast.ClassDef, path: str, known: Mapping[str, Given], indent: str) -> list[str]:
    """The stub of one class as lines, with those of the classes in it."""
    inner = indent + "    "
    if _is_enum(node):
        members = [inner + ast.unparse(one) for one in node.body if isinstance(one, ast.Assign)]
        return [f"{indent}class {node.name}(enum.IntEnum):", *members]
    lines = [f"{indent}class {node.name}(KaitaiStruct):"]
    own = _Inference(known)
    for child in node.body:
        if isinstance(child, ast.ClassDef):
            lines += _stub(child, f"{path}.{child.name}", known, inner)
        elif isinstance(child, ast.FunctionDef) and child.name == "__init__":
            given = [arg.arg for arg in child.args.args[1:] if not arg.arg.startswith("_")]
            words = ["self", *(f"{name}: Any" for name in given), "_io: Any", "_parent: Any = ...", "_root: Any = ..."]
            lines.append(f"{inner}def __init__({', '.join(words)}) -> None: ...")
    for name in known[path]:
        lines.append(f"{inner}{name}: {own.attribute(path, name)}")
    return lines


class _Inference:
    """The types of expressions; `Any` where their form does not determine one."""

    def __init__(self, known: Mapping[str, Given]) -> None:
        self._known = known
        self._asked: set[tuple[str, str]] = set()  # attributes being inferred: one that depends on itself is `Any`

    def attribute(self, path: str, name: str) -> str:
        """The type of an attribute of the class at a path."""
        if (path, name) in self._asked or name not in self._known.get(path, {}):
            return "Any"
        self._asked.add((path, name))
        given = self._known[path][name]
        types = {self.of(one.value, path) for one in given}
        self._asked.discard((path, name))
        joined = "Any" if "Any" in types else " | ".join(sorted(types))
        if any(one.is_element for one in given):
            joined = f"list[{joined}]"
        optional = joined != "Any" and any(one.on_condition for one in given)
        return f"{joined} | None" if optional else joined

    def of(self, node: ast.expr, path: str) -> str:
        """The type of an expression in a method of the class at a path."""
        match node:
            case ast.Constant(value=bool()) | ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
                return "bool"
            case ast.Constant(value=(int() | str() | bytes() | float()) as value):
                return type(value).__name__
            case ast.BinOp(op=ast.Add()):
                types = {self.of(node.left, path), self.of(node.right, path)}
                return types.pop() if len(types) == 1 else "Any"
            case ast.BinOp():
                return "Any" if isinstance(node.op, ast.Div) else "int"
            case ast.IfExp():
                types = {self.of(node.body, path), self.of(node.orelse, path)}
                return "Any" if "Any" in types else " | ".join(sorted(types))
            case ast.Attribute(value=ast.Name(id="self")):
                return self.attribute(path, node.attr)
            case ast.Attribute():
                return self.attribute(self.of(node.value, path).removesuffix(" | None"), node.attr)
            case ast.Subscript():
                held = self.of(node.value, path)
                is_list = held.startswith("list[") and held.endswith("]")
                return held.removeprefix("list[").removesuffix("]") if is_list else "Any"
            case ast.Call():
                return self._call(node, path)
        return "Any"

    def _call(self, node: ast.Call, path: str) -> str:
        """The type of what a call returns, by the name of the function; `Any` if that does not determine it."""
        name = ast.unparse(node.func)
        last = name.rpartition(".")[2]
        if last.startswith(("read_u", "read_s", "read_bits_int")) or last in ("len", "int", "pos", "size"):
            return "int"
        if last.startswith(("read_bytes", "bytes_", "process_")):
            return "bytes"
        if last.startswith("read_f"):
            return "float"
        if last == "decode":
            return "str"
        if last == "resolve_enum":
            return f"{ast.unparse(node.args[0])} | int"
        return name if name in self._known else "Any"
