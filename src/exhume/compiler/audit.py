"""Whether generated code is nothing but what readers are made of: looked at once more before it is written or run.

The code is parsed.  Every node must be of a kind that the compiler writes; every name one that the module binds, or one
of a fixed table; every attribute a name that the specification declares, or one of a fixed table; and only functions
of readers are called.  Nothing here depends on how the code came about.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from exhume.compiler.expressions import is_private
from exhume.compiler.model import Model
from exhume.compiler.refusal import RefusedError
from exhume.compiler.text import member, safe

NODES: tuple[type[ast.AST], ...] = (
    ast.Module, ast.Expr, ast.Constant, ast.Import, ast.ImportFrom, ast.alias,
    ast.ClassDef, ast.FunctionDef, ast.arguments, ast.arg, ast.keyword,
    ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr, ast.Delete,
    ast.If, ast.For, ast.While, ast.Break, ast.Pass, ast.Return, ast.Raise, ast.Try, ast.ExceptHandler,
    ast.Name, ast.Attribute, ast.Subscript, ast.Slice, ast.Call, ast.Tuple, ast.List, ast.Dict, ast.IfExp,
    ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.operator, ast.unaryop, ast.boolop, ast.cmpop,
    ast.JoinedStr, ast.FormattedValue, ast.expr_context,
)  # fmt: skip
"""The nodes of generated code."""

BUILTINS = frozenset({
    "AssertionError", "AttributeError", "UnicodeDecodeError", "bool", "bytes", "float", "int", "isinstance", "len",
    "list", "max", "memoryview", "min", "object", "property", "range", "str", "tuple",
})  # fmt: skip
"""The names of Python that generated code uses, and nothing else is there when it runs."""

HELPERS = frozenset({
    "FAILURES", "LayoutError", "Stream", "Structure", "Traced", "View", "all_taken", "bits", "ended", "failed", "find",
    "inflated", "joined", "keep", "keep_instance", "multiplied", "named", "native", "new", "number", "numbers",
    "processed", "read_outside", "rotated", "shifted", "short", "taken", "xored",
})  # fmt: skip
"""What readers take from the module that they share (`exhume.compiler.layout`)."""

METHODS = frozenset(("append", "find", "from_bytes", "is_eof", "pos", "rstrip", "size", "with_traceback", "within"))
"""Methods that generated code calls, of whatever."""

TAKEN = frozenset(("append", "get", "unpack_from"))
"""Methods that it gives a name, which it calls then."""

ATTRIBUTES = frozenset({
    "PARTIALS", "PLACES", "Struct", "_big", "_fields", "_inside", "_io", "_parent", "_reader", "_root",
    "_value2member_map_", "at", "base", "end", "extent", "io", "parent", "path", "problem", "resume_at",
    "root", "stop", "view",
})  # fmt: skip
"""Attributes that no specification declares: those of readers' own values, and of errors."""

IMPORTS = {"struct": {""}, "array": {"array"}, "__future__": {"annotations"}, "collections.abc": {"Callable"}}
IMPORTS |= {"enum": {"IntEnum"}}
"""Modules of Python that generated code imports, and what of them."""


GIVEN = frozenset(("PROCESS", "TYPES"))
"""Tables of what the caller gives."""

BASES = frozenset(("Traced", "_IntEnum", "_Structure"))
"""What classes are made from."""

OURS = frozenset(("__init__.py", "_layout.py"))
"""Modules of a package that no specification has a part in."""


def declared(model: Model) -> frozenset[str]:
    """The names that specifications give to what is in their values, as code has them."""
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
    """The names of classes and readers, as code has them."""
    found: set[str] = set()
    for type in model.types():
        found |= {type.class_name, f"{type.class_name}Columns", type.reader_name}
        found |= {type.reader_name.replace("read_", f"{what}_", 1) for what in ("scan", "flat", "ends")}
        found |= {enum.names for enum in type.enums.values()}
    return frozenset(found)


def audited(texts: Mapping[str, str], model: Model) -> dict[str, ast.Module]:
    """The trees of the readers of a package, by path.  Raises `RefusedError` for what is not made of what readers are.

    The module that they share, and that of the package, are texts of ours.
    """
    names, readers = declared(model), classes(model)
    modules = frozenset(path.removesuffix(".py") for path in texts)
    trees = {}
    for path, text in texts.items():
        if path not in OURS:
            try:
                trees[path] = audit(text, names, readers, modules)
            except RefusedError as error:
                raise error.within(path.removesuffix(".py")) from None
    return trees


def audit(text: str, names: frozenset[str], readers: frozenset[str], modules: Iterable[str]) -> ast.Module:
    """The tree of generated code.  Raises `RefusedError` for anything that the compiler does not write.

    `names` are those of fields, `readers` those of classes and functions, `modules` those that are beside it.
    """
    try:
        tree = ast.parse(text)
        _Audit(tree, names, readers, frozenset(modules)).run()
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        if isinstance(error, RefusedError):
            raise
        raise RefusedError(f"its code is too large or nested too deeply for Python ({type(error).__name__})") from None
    return tree


class _Audit:
    """One look at one module."""

    def __init__(
        self, tree: ast.Module, names: frozenset[str], readers: frozenset[str], modules: frozenset[str]
    ) -> None:
        self.tree = tree
        self.names = names
        self.attributes = names | ATTRIBUTES | METHODS | TAKEN
        self.readers = readers
        self.modules = modules
        self.inner: set[int] = set()
        self.bound: set[str] = set()
        self.called: set[str] = set()
        """Names of what is called: functions, classes and methods that were given a name."""

    def run(self) -> None:
        nodes = list(ast.walk(self.tree))
        for node in nodes:  # what a class declares or defines is a name of its own
            if isinstance(node, ast.ClassDef):
                self.inner.update(id(one) for one in node.body)
                if any(isinstance(one, ast.Name) and one.id == "_IntEnum" for one in node.bases):
                    members = (one for one in node.body if isinstance(one, ast.Assign))
                    self.inner.update(id(target) for one in members for target in one.targets)
            elif isinstance(node, ast.AnnAssign) and node.value is None:
                self.inner.add(id(node.target))
        for node in nodes:
            if not isinstance(node, NODES):
                raise _refused(type(node).__name__, node)
            self._bind(node)
        for node in nodes:
            self._look(node)

    def _bind(self, node: ast.AST) -> None:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                self._new(name, node, called=True)
            case ast.Import(names=found) | ast.ImportFrom(names=found):
                for one in found:
                    self._new(one.asname or one.name, node, called=True)
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                self._new(name, node)
            case ast.ExceptHandler(name=str(name)):
                self._new(name, node)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Attribute(attr=attribute)) if attribute in TAKEN:
                self.called.add(name)

    def _new(self, name: str, node: ast.AST, *, called: bool = False) -> None:
        if is_private(name) and name not in ("__slots__", "__init__", "__len__", "__getitem__", "__str__"):
            raise _refused(name, node)
        if id(node) not in self.inner:
            self.bound.add(name)
            self.called |= {name} if called else set()

    def _look(self, node: ast.AST) -> None:  # noqa: C901 - one case for each node
        match node:
            case ast.Name(id=name):
                known = self.bound if id(node) not in self.inner else self.attributes
                if name not in known and name not in BUILTINS and name not in HELPERS and name not in self.readers:
                    raise _refused(name, node)
            case ast.Attribute(value=of, attr=name):
                if is_private(name) or not self._is_attribute(of, name):
                    raise _refused(f".{name}", node)
            case ast.Call(func=function, keywords=keywords):
                if not self._is_called(function) or any(one.arg not in ("include", "short") for one in keywords):
                    raise _refused(f"a call of {ast.unparse(function):.60}", node)
            case ast.Import(names=found):
                if any(one.name != "struct" or one.asname for one in found):
                    raise _refused("an import", node)
            case ast.ImportFrom(module=module, names=found, level=level):
                self._look_at_import(node, level, module, [one.name for one in found])
            case ast.FunctionDef(args=given, decorator_list=decorators):
                more = given.vararg or given.kwarg or given.kwonlyargs or given.posonlyargs
                if more or any(not isinstance(one, ast.Name) or one.id != "property" for one in decorators):
                    raise _refused(f"the function {node.name}", node)
            case ast.ClassDef(bases=bases, keywords=keywords, decorator_list=decorators):
                if keywords or decorators or any(not isinstance(one, ast.Name) or one.id not in BASES for one in bases):
                    raise _refused(f"the class {node.name}", node)
            case ast.FormattedValue(conversion=conversion, format_spec=form):
                if conversion != -1 or form is not None:
                    raise _refused("a format", node)

    def _look_at_import(self, node: ast.ImportFrom, level: int, module: str | None, names: list[str]) -> None:
        known: Iterable[str]
        if level == 0:
            known = IMPORTS.get(module or "", ())
        elif level == 1 and module is None:
            known = self.modules
        elif level == 1 and module == "_layout":
            known = HELPERS
        elif level == 1 and module == "_given":
            known = GIVEN
        else:
            known = self.readers if level == 1 and module in self.modules else ()
        if not set(names) <= set(known):
            raise _refused("an import", node)

    def _is_attribute(self, of: ast.expr, name: str) -> bool:
        if isinstance(of, ast.Name) and of.id == "native":
            return True
        if isinstance(of, ast.Name) and of.id.startswith("_") and of.id[1:] in self.modules:
            return name in self.readers
        if name not in self.attributes and composed(name, self.names):
            self.attributes |= {name}
        return name in self.attributes

    def _is_called(self, function: ast.expr) -> bool:
        match function:
            case ast.Name(id=name):
                return name in self.called or name in HELPERS or (name in BUILTINS and name not in self.bound)
            case ast.IfExp(body=one, orelse=other):
                return self._is_called(one) and self._is_called(other)
            case ast.Attribute(value=ast.Name(id="native")):
                return True
            case ast.Attribute(value=ast.Name(id=of), attr=name) if of.startswith("_") and of[1:] in self.modules:
                return name in self.readers
            case ast.Attribute(value=ast.Name(id="struct"), attr=name):
                return name == "Struct"
            case ast.Attribute(attr=name):
                return name in METHODS
        return False


def composed(name: str, names: frozenset[str]) -> bool:
    """Whether a name is that of a column: names of fields within each other, and which of its ends it is of."""
    for end in ("_start", "_end"):
        if name.endswith(end) and composed(name.removesuffix(end), names):
            return True
    starts, whole = {0}, len(name)
    for at in range(1, whole + 1):
        if (at == whole or name[at] == "_") and any(name[start:at] in names for start in starts):
            starts.add(at + 1)
    return whole + 1 in starts


def _refused(what: str, node: ast.AST) -> RefusedError:
    line = getattr(node, "lineno", 0)
    return RefusedError(f"its code would have what no reader has: {what}, line {line}")
