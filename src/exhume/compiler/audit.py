"""Whether generated code is nothing but what readers are made of: examined once more before it is written or run.

Readers are Python functions and classes that the compiler writes for a specification of a user.  Should the compiler
have a fault, a specification must still not be able to run code of its own.  The code is parsed.  Every node must be
of a kind that the compiler writes; every name one that the module binds, or one of a fixed table; every attribute a
name that the specification declares, or one of a fixed table; and only functions of readers are called.  Nothing
here depends on how the code came about.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Mapping
from typing import Any

from exhume.compiler.emit.text import member, safe
from exhume.compiler.front.expressions import is_private
from exhume.compiler.front.kinds import Switch, choices
from exhume.compiler.front.specs import Model
from exhume.compiler.refusal import UnsupportedError

NODES = frozenset({
    ast.Module, ast.Expr, ast.Constant, ast.Import, ast.ImportFrom, ast.alias,
    ast.ClassDef, ast.FunctionDef, ast.arguments, ast.arg, ast.keyword,
    ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr, ast.Delete,
    ast.If, ast.For, ast.While, ast.Break, ast.Pass, ast.Return, ast.Raise, ast.Try, ast.ExceptHandler,
    ast.Name, ast.Attribute, ast.Subscript, ast.Slice, ast.Call, ast.Tuple, ast.List, ast.Dict, ast.IfExp,
    ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.JoinedStr, ast.FormattedValue,
    ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.LShift, ast.RShift, ast.BitAnd, ast.BitOr,
    ast.BitXor, ast.And, ast.Or, ast.Not, ast.Invert, ast.USub,
    ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn, ast.Is, ast.IsNot,
})  # fmt: skip
"""Kinds of nodes of the syntax tree that occur in generated code."""

BUILTINS = frozenset({
    "AssertionError", "AttributeError", "UnicodeDecodeError", "bool", "bytes", "float", "hasattr", "int", "isinstance",
    "len", "list", "max", "memoryview", "min", "object", "property", "range", "str", "tuple",
})  # fmt: skip
"""Built-in names that generated code may use; it is run without any others."""

ANNOTATIONS = frozenset(("dict",))
"""Names of Python that only occur in annotations, which nothing evaluates."""

HELPERS = frozenset({
    "FAILURES", "Lazily", "LayoutError", "NoColumnsError", "Paused", "Rows", "Run", "Stream", "Structure", "Table",
    "Traced", "View", "all_taken", "bits", "elements", "ended", "failed", "find",
    "inflated", "joined", "keep", "keep_instance", "multiplied", "named", "native", "number", "numbers",
    "processed", "read_outside", "rotated", "shifted", "short", "stream_of", "taken", "warm", "weighed", "word",
    "xored",
})  # fmt: skip
"""Names that readers import from the module that they share (`exhume.compiler.emit.layout`)."""

# All names that a module may use without binding them.
_KNOWN = BUILTINS | HELPERS | ANNOTATIONS

METHODS = frozenset((
    "add", "add_rows", "append", "begin", "decode", "endless", "find", "from_bytes", "hold", "is_eof", "over", "pos",
    "rstrip", "size", "spent", "with_traceback", "within",
))  # fmt: skip
"""Methods that generated code may call, of any object."""

TAKEN = frozenset(("_make", "append", "get", "iter_unpack", "unpack_from"))
"""Methods that generated code assigns to a variable, and then calls."""

ATTRIBUTES = frozenset({
    "PARTIALS", "PLACES", "Struct", "_accepts", "_big", "_each", "_fields", "_inside", "_io", "_parent", "_reader",
    "_root", "_run", "_scan", "_value2member_map_", "_where", "at", "base", "big", "end", "extent", "held", "io",
    "left", "offset", "parent", "path", "places", "problem", "resume_at", "root", "steps", "stop", "view",
})  # fmt: skip
"""Attributes that no specification declares: those that readers add to structures, and those of errors."""

KEYWORDS = frozenset(("big", "include", "parent", "root", "run", "short"))
"""Arguments that are given by name."""

IMPORTS = {
    "struct": {""},
    "array": {"array"},
    "__future__": {"annotations"},
    "collections.abc": {"Callable"},
    "enum": {"IntEnum"},
}
"""Modules of Python that generated code imports, with the names it imports from each (empty: the module itself)."""


GIVEN = frozenset(("PROCESS", "TYPES"))
"""Tables of the caller's objects."""

BASES = frozenset(("Traced", "_IntEnum", "_Structure", "_Table"))
"""Names of base classes and functions from which readers make their classes."""

OURS = frozenset(("__init__.py", "_layout.py"))
"""Modules of a package whose text is the same for all specifications."""

PLAIN = "_Plain_"
"""Prefix of the names by which modules with traced readers import the modules without tracing."""


FUNCTIONS = ("fill", "make", "scan", "flat", "ends")
"""Beginnings of the names of the functions that generated code may have for a type, besides `read`."""


def declared(model: Model) -> frozenset[str]:
    """Return the names that generated code uses for the fields, types and enums of the specifications."""
    found: set[str] = set()
    for type in model.types():
        for one in (*type.params, *type.fields()):
            found |= {one.id, safe(one.id), f"_{one.id}", f"_{one.id}_"}
        if type.scalar is not None:
            found.add(type.scalar)
        found.add(type.plain_name)
        for enum in type.enums.values():
            found |= {enum.class_name, *map(member, enum.values.values())}
    return frozenset(found)


def classes(model: Model) -> frozenset[str]:
    """Return the names of the classes and functions of generated code.

    For a type, these are its class, the class of its columns, `read_<type>` and the other functions made for it.
    """
    found: set[str] = set()
    for type in model.types():
        found |= {type.class_name, f"{type.class_name}Columns", type.reader_name}
        found |= {type.reader_name.replace("read_", f"{what}_", 1) for what in FUNCTIONS}
        found |= {enum.names for enum in type.enums.values()}
    return frozenset(found)


def audited(texts: Mapping[str, str], model: Model) -> None:
    """Raise `UnsupportedError` unless the readers of a package contain only what generated code may contain.

    `texts` are the modules by path.  The shared module and `__init__.py` are not checked, as they do not depend on the
    specification.
    """
    fields = [one for type in model.types() for one in type.fields()]
    cases = {name for one in fields if isinstance(one.value_kind, Switch) for name in choices(one.value_kind)}
    names, readers = declared(model) | cases | {type.id for type in model.types()}, classes(model)
    modules = frozenset(path.removesuffix(".py") for path in texts)
    for path, text in texts.items():
        if path not in OURS:
            try:
                audit(text, names, readers, modules)
            except UnsupportedError as error:
                raise error.within(path.removesuffix(".py")) from None


@functools.lru_cache(maxsize=64)
def audit(text: str, names: frozenset[str], readers: frozenset[str], modules: frozenset[str]) -> None:
    """Raise `UnsupportedError` for generated code that has anything that the compiler does not write.

    `names` are those of fields, `readers` those of classes and functions, `modules` those next to it.
    """
    try:
        _Audit(ast.parse(text), names, readers, modules).run()
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        if isinstance(error, UnsupportedError):
            raise
        raise UnsupportedError(
            f"its code is too large or nested too deeply for Python ({type(error).__name__})"
        ) from None


def _nodes(tree: ast.Module) -> list[ast.AST]:
    """Return every node of a tree, except the `ctx` nodes, which state whether a name is read or written."""
    found: list[ast.AST] = []
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        found.append(node)
        for name in node._fields:
            value = getattr(node, name) if name != "ctx" else None
            if isinstance(value, ast.AST):
                waiting.append(value)
            elif isinstance(value, list):
                waiting += [one for one in value if isinstance(one, ast.AST)]
    return found


class _Audit:
    """One pass over one module."""

    def __init__(
        self, tree: ast.Module, names: frozenset[str], readers: frozenset[str], modules: frozenset[str]
    ) -> None:
        """Audit `tree`; `names`, `readers` and `modules` as for `audit`."""
        self.tree = tree
        self.names = names
        self.attributes = names | ATTRIBUTES | METHODS | TAKEN
        self.readers = readers
        self.modules = modules
        self.inner: set[int] = set()
        """Identities of the nodes in the bodies of classes whose names are not variables."""
        self.bound: set[str] = set()
        """Variables, functions and classes of the module."""
        self.called: set[str] = set()
        """Names of what is called: functions, classes and methods that were given a name."""

    def run(self) -> None:
        """Check every node of the module, after all names that it binds are known.  Raises as `audited` does."""
        nodes = _nodes(self.tree)
        for node in nodes:
            if type(node) not in NODES:
                raise _refused(type(node).__name__, node)
            if isinstance(node, ast.ClassDef):  # names that a class declares are attributes, not variables
                self.inner.update(map(id, node.body))
                self.inner.update(id(name) for one in node.body if isinstance(one, ast.Assign) for name in one.targets)
            elif isinstance(node, ast.AnnAssign) and node.value is None:  # `name: type` alone binds nothing
                self.inner.add(id(node.target))
        # First all names that the module binds, since code may use a name before the line that binds it.
        for node in nodes:
            if (bind := _BINDS.get(type(node))) is not None:
                bind(self, node)
        for node in nodes:
            if (look := _LOOKS.get(type(node))) is not None:
                look(self, node)

    def _new(self, name: str, node: ast.AST, *, called: bool = False) -> None:
        """Note that the code binds `name`; reject private names other than those that generated classes define."""
        if is_private(name) and name not in ("__slots__", "__init__", "__len__", "__getitem__", "__str__"):
            raise _refused(name, node)
        if id(node) not in self.inner:
            self.bound.add(name)
            self.called |= {name} if called else set()

    def bind_definition(self, node: ast.FunctionDef | ast.ClassDef) -> None:
        """Note the name of a function or class."""
        self._new(node.name, node, called=True)

    def bind_import(self, node: ast.Import | ast.ImportFrom) -> None:
        """Note the names that an import binds."""
        for one in node.names:
            self._new(one.asname or one.name, node, called=True)

    def bind_name(self, node: ast.Name) -> None:
        """Note a variable that is assigned."""
        if isinstance(node.ctx, ast.Store):
            self._new(node.id, node)

    def bind_argument(self, node: ast.arg) -> None:
        """Note an argument of a function."""
        self._new(node.arg, node)

    def bind_error(self, node: ast.ExceptHandler) -> None:
        """Note the variable of `except ... as`."""
        if node.name is not None:
            self._new(node.name, node)

    def bind_method(self, node: ast.Assign) -> None:
        """Note a variable that is a method, such as `add = columns.append`, as one that may be called."""
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Attribute(attr=method)) if method in TAKEN:
                self.called.add(name)

    def look_at_name(self, node: ast.Name) -> None:
        """Reject a name that the module does not bind and that is not in the tables."""
        known = id(node) in self.inner or node.id in self.bound or node.id in self.readers
        if not known and node.id not in _KNOWN:
            raise _refused(node.id, node)

    def look_at_attribute(self, node: ast.Attribute) -> None:
        """Reject an attribute that is private, or unknown."""
        if is_private(node.attr) or not self._is_attribute(node.value, node.attr):
            raise _refused(f".{node.attr}", node)

    def look_at_call(self, node: ast.Call) -> None:
        """Reject a call of an unknown function, or with unknown keywords."""
        if not self._is_called(node.func) or any(one.arg not in KEYWORDS for one in node.keywords):
            raise _refused(f"a call of {ast.unparse(node.func):.60}", node)

    def look_at_import(self, node: ast.Import) -> None:
        """Reject the import of a module other than `struct`."""
        if any(one.name != "struct" or one.asname for one in node.names):
            raise _refused("an import", node)

    def look_at_import_from(self, node: ast.ImportFrom) -> None:
        """Reject an import of unknown names."""
        self._look_at_import(node, node.level, node.module, [one.name for one in node.names])

    def look_at_function(self, node: ast.FunctionDef) -> None:
        """Reject a function with special kinds of arguments, or a decorator other than `property`."""
        more = node.args.vararg or node.args.kwarg or node.args.kwonlyargs or node.args.posonlyargs
        if more or any(not isinstance(one, ast.Name) or one.id != "property" for one in node.decorator_list):
            raise _refused(f"the function {node.name}", node)

    def look_at_class(self, node: ast.ClassDef) -> None:
        """Check a class statement: plain or known base classes, without keywords or decorators."""
        known = all(
            one.id in BASES if isinstance(one, ast.Name) else self._is_plain(one, node.name) for one in node.bases
        )
        if node.keywords or node.decorator_list or not known:
            raise _refused(f"the class {node.name}", node)

    def _is_plain(self, of: ast.expr, name: str) -> bool:
        """Return whether an expression is the class `name` of a module whose readers record no positions."""
        match of:
            case ast.Attribute(value=ast.Name(id=module), attr=found) if module.startswith(PLAIN):
                return found == name and module.removeprefix(PLAIN) in self.modules and name in self.readers
        return False

    def look_at_format(self, node: ast.FormattedValue) -> None:
        """Reject conversions and formats in f-strings, which call methods by name."""
        if node.conversion != -1 or node.format_spec is not None:
            raise _refused("a format", node)

    def _look_at_import(self, node: ast.ImportFrom, level: int, module: str | None, names: list[str]) -> None:
        """Reject an import, unless of listed names of Python or the runtime, or of readers of sibling modules."""
        known: Iterable[str]
        if level == 0:
            known = IMPORTS.get(module or "", ())
        elif level == 1 and module is None:  # `from . import x`
            known = self.modules
        elif level == 1 and module == "_layout":
            known = HELPERS
        elif level == 1 and module == "_given":
            known = GIVEN
        elif level == 1 and module == "_plain":  # the readers that record no positions
            known = self.modules
        else:
            known = self.readers if level == 1 and module in self.modules else ()
        if not set(names) <= set(known):
            raise _refused("an import", node)

    def _is_attribute(self, of: ast.expr, name: str) -> bool:
        """Return whether the attribute `name` of `of` is one that generated code may use."""
        # `native` is exhume's own compiled code, or None: it has functions only.
        if isinstance(of, ast.Name) and of.id == "native":
            return True
        if isinstance(of, ast.Name) and self._is_module(of.id):
            return name in self.readers
        if name not in self.attributes and composed(name, self.names):
            self.attributes |= {name}
        return name in self.attributes

    def _is_module(self, name: str) -> bool:
        """Return whether a name is that of a sibling module."""
        return any(name.startswith(lead) and name.removeprefix(lead) in self.modules for lead in (PLAIN, "_"))

    def _is_called(self, function: ast.expr) -> bool:
        """Return whether code may call `function`: what the module defines, readers of others, or listed names."""
        match function:
            case ast.Name(id=name):
                return name in self.called or name in HELPERS or (name in BUILTINS and name not in self.bound)
            case ast.IfExp(body=one, orelse=other):
                return self._is_called(one) and self._is_called(other)
            case ast.Attribute(value=ast.Name(id="native")):
                return True
            case ast.Attribute(value=ast.Name(id=of), attr=name) if self._is_module(of):
                return name in self.readers
            case ast.Attribute(value=ast.Name(id="struct"), attr=name):
                return name == "Struct"
            case ast.Attribute(attr=name):
                return name in METHODS
        return False


_BINDS: dict[type[ast.AST], Any] = {
    ast.FunctionDef: _Audit.bind_definition,
    ast.ClassDef: _Audit.bind_definition,
    ast.Import: _Audit.bind_import,
    ast.ImportFrom: _Audit.bind_import,
    ast.Name: _Audit.bind_name,
    ast.arg: _Audit.bind_argument,
    ast.ExceptHandler: _Audit.bind_error,
    ast.Assign: _Audit.bind_method,
}
"""Methods of `_Audit` that note the names that a node binds, by the kind of node."""
_LOOKS: dict[type[ast.AST], Any] = {
    ast.Name: _Audit.look_at_name,
    ast.Attribute: _Audit.look_at_attribute,
    ast.Call: _Audit.look_at_call,
    ast.Import: _Audit.look_at_import,
    ast.ImportFrom: _Audit.look_at_import_from,
    ast.FunctionDef: _Audit.look_at_function,
    ast.ClassDef: _Audit.look_at_class,
    ast.FormattedValue: _Audit.look_at_format,
}
"""Methods of `_Audit` that check a node, by the kind of node."""


ENDS = ("_start", "_end", "_case", "_valid", "_until")
"""Endings of the names of columns that contain anything but the value of a field, such as its offsets."""


def composed(name: str, names: frozenset[str]) -> bool:
    """Return whether `name` is that of a column: names of nested fields joined by `_`, with or without an ending of
    `ENDS`.
    """
    for end in ENDS:
        if name.endswith(end) and composed(name.removesuffix(end), names):
            return True
    # `starts`: positions up to which the name is a sequence of known names.
    starts, whole = {0}, len(name)
    for at in range(1, whole + 1):
        if (at == whole or name[at] == "_") and any(name[start:at] in names for start in starts):
            starts.add(at + 1)
    return whole + 1 in starts


def _refused(what: str, node: ast.AST) -> UnsupportedError:
    """Return the error for code that no reader has, with its line."""
    line = getattr(node, "lineno", 0)
    return UnsupportedError(f"its code would have what no reader has: {what}, line {line}")
