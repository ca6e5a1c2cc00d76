"""Readers in Python that have small readers written into them, in place of calls.

A call takes about as long as reading a small structure.  `inlined` takes the modules of a package and replaces, in
every reader, a statement such as

    name, at = read_label(view, at, end, io, value, root, run)

by the statements of `read_label`, with its variables under other names.  They stay in their own `try`, so that errors
have the same paths and offsets, and each structure is still charged to the budget by itself.  The readers that are
written into others stay in the module, for programs that call them alone.  Sums and products are written in as well
(see `sums`).  At its end, each module calls `warm`.

The compiler for machine code takes the modules as they were, since a call costs nothing there.
"""

from __future__ import annotations

import ast
import builtins
import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from exhume.compiler.emit.sums import SUM_CALLS, copied, write_sums

MOST_INNER = 80
"""Most statements of a reader that is written into another, the inner one."""
MOST_OUTER = 600
"""Most statements of a reader into which others were written, the outer one."""
MOST_ADDED = 20_000
"""Most statements that are added to all modules of a package together."""
MOST_BLOCKS = 14
"""Most loops and `try` that are within each other; Python takes 20."""
PASSED = frozenset(("io", "run"))
"""Parameters that calls in readers always pass; for programs, a reader begins with `if io is None: io = ...`."""
BUILTINS = frozenset(dir(builtins))

_BLOCKS = (ast.Try, ast.For, ast.While)
_WORDS = re.compile(r"[A-Za-z_]\w*")
_CALLS = re.compile(r"\b(?:(\w+)\.)?(read_\w+)\(")
"""The calls of readers: the module, if it is another one, and the name."""
_DEFS_AND_RETURNS = re.compile(r"^ *(?:def|return)\b", re.MULTILINE)


@dataclass(eq=False)
class _Reader:
    """The function that reads one type, such as `read_label`, in the module `home`."""

    home: _Module
    tree: ast.FunctionDef
    lines: tuple[int, int] = field(init=False)
    """Its first line, and the line after it, counted from 0."""
    is_inlinable: bool = False
    """Whether it can be written into others; set by `finish`, once what it calls was written into it."""
    has_inlined: bool = False
    """Whether others were written into it."""

    def __post_init__(self) -> None:
        self.lines = _lines(self.tree)

        self.text: str = "\n".join(self.home.lines[slice(*self.lines)])
        self.size: int = _size([self.tree])
        """Number of statements."""
        self.has_sums: bool = SUM_CALLS.search(self.text) is not None
        """Whether it computes numbers whose size is checked."""
        self.body: list[ast.stmt] = []
        """Its statements, but for those that only programs need; set by `finish`."""
        self.stored: dict[str, None] = {}
        """Its variables, in the order of their first use; the values mean nothing."""
        self.errors: set[str | None] = set()
        """Its variables that errors are in (`except ... as error`)."""

    def finish(self) -> None:
        """Set `is_inlinable`: it is small, returns at its end only, and defines no function."""
        # Two matches: the `def` of the reader itself, and its last statement.
        returns_at_end = len(_DEFS_AND_RETURNS.findall(self.text)) == 2 and isinstance(self.tree.body[-1], ast.Return)
        self.is_inlinable = returns_at_end and self.size <= MOST_INNER
        if self.is_inlinable:
            self.body = [one for one in self.tree.body if not _is_for_programs(one)]
            nodes = [one for part in self.body for one in ast.walk(part)]
            names = [one for one in nodes if isinstance(one, ast.Name)]
            self.stored = {one.id: None for one in names if not isinstance(one.ctx, ast.Load) and one.id != "_"}
            self.errors = {one.name for one in nodes if isinstance(one, ast.ExceptHandler)}


class _Module:
    """One module of a package: its text, its readers by name, and what its other names are."""

    def __init__(self, text: str) -> None:
        """Find the names of a module."""
        self.lines = text.split("\n")
        self.readers: dict[str, _Reader] = {}
        self.classes: list[ast.ClassDef] = []
        self.functions: list[str] = []
        """All functions that read: one structure, or many."""
        self.siblings: dict[str, str] = {}
        """Other modules of the package, by the names under which this one imports them."""
        self.shared: dict[str, str] = {}
        """Imports from the module that all readers share, such as `Rows as _Rows`, by the names that they define."""
        self.given: set[str] = set()
        """Tables of the caller's objects, such as opaque types, that it imports from `_given`."""
        self.constants: dict[str, str] = {}
        """Statements such as `_unpack_H = struct.Struct("<H").unpack_from`, by the names that they define."""
        self.names: set[str] = set()
        """All names that the module defines."""
        self.head = 0
        """The number of the line `from ._layout import ...`, counted from 0."""
        for one in ast.parse(text).body:
            self._note(one)
        self.names |= {*self.shared, *self.siblings, *self.given}

    def _note(self, statement: ast.stmt) -> None:
        """Note what a statement of the module defines."""
        match statement:
            case ast.FunctionDef(name=name):
                self.names.add(name)
                if name.startswith(("read_", "fill_", "scan_")):
                    self.functions.append(name)
                if name.startswith("read_"):
                    self.readers[name] = _Reader(self, statement)
            case ast.ClassDef(name=name):
                self.names.add(name)
                self.classes.append(statement)
            case ast.ImportFrom(module=None, names=names):
                self.siblings |= {alias.asname or alias.name: alias.name for alias in names}
            case ast.ImportFrom(module="_layout", names=names):
                self.shared |= {alias.asname or alias.name: ast.unparse(alias) for alias in names}
                self.head = statement.lineno - 1
            case ast.ImportFrom(module="_given", names=names):
                self.given |= {alias.name for alias in names}
            case ast.Assign(targets=[ast.Name(id=name)]):
                self.names.add(name)
                if name.startswith("_unpack"):
                    self.constants[name] = ast.unparse(statement)

    def text(self) -> str:
        """Return the text of the module, with the readers that have changed."""
        self.shared["warm"] = "warm"
        lines = [*self.lines, "", f"warm({', '.join(self.functions)})", ""]
        # Functions and classes that have changed, each with its lines.
        changed: list[tuple[tuple[int, int], ast.stmt]] = [
            (one.lines, one.tree)
            for one in self.readers.values()
            if (one.has_sums and write_sums(one.tree)) or one.has_inlined
        ]
        for one in self.classes:
            text = "\n".join(self.lines[slice(*_lines(one))])
            if SUM_CALLS.search(text) and write_sums(one):
                changed.append((_lines(one), one))
        # From the last to the first, so that the numbers of lines before them stay right.
        for (start, stop), tree in sorted(changed, key=lambda one: -one[0][0]):
            lines[start:stop] = ast.unparse(tree).split("\n")
        # Constants that came with readers of other modules.
        new = [text for name, text in self.constants.items() if name not in self.names]
        lines[self.head] = f"from ._layout import {', '.join(sorted(self.shared.values()))}"
        lines[self.head + 1 : self.head + 1] = ["import struct", *new] if new else []
        return "\n".join(lines)


def inlined(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the modules of a package, by path, with small readers written into those that call them."""
    homes = {
        path.removesuffix(".py"): _Module(text)
        for path, text in texts.items()
        if path not in ("__init__.py", "_layout.py")
    }
    _Package(homes).run()
    try:
        return {**texts, **{f"{id}.py": home.text() for id, home in homes.items()}}
    except ValueError:  # Python cannot write some strings within formatted ones
        return dict(texts)


class _Package:
    """The readers of all modules, while small ones are written into others."""

    def __init__(self, homes: Mapping[str, _Module]) -> None:
        """`homes` are the modules by id."""
        self.homes = homes
        self.allowance = MOST_ADDED  # how many statements may still be added

    def run(self) -> None:
        """Write readers into others, the innermost first, which then come into others as they are."""
        for reader in self._inner_first():
            self._write_into(reader)
            reader.finish()

    def _inner_first(self) -> Iterator[_Reader]:
        """Yield all readers, each after those that it calls, unless they call each other."""
        seen: set[_Reader] = set()
        for home in self.homes.values():
            for reader in home.readers.values():
                waiting = [(reader, False)]  # with True: all that the reader calls was yielded before
                while waiting:
                    one, is_ready = waiting.pop()
                    if is_ready:
                        yield one
                    elif one not in seen:
                        seen.add(one)
                        waiting.append((one, True))
                        calls = _CALLS.findall(one.text.partition("\n")[2])
                        found = (self._called(module, name, one.home) for module, name in calls)
                        waiting += [(inner, False) for inner in found if inner is not None]

    def _called(self, module: str, name: str, home: _Module) -> _Reader | None:
        """Return the reader that `name(...)` or `module.name(...)` calls in `home`; None if it is something else."""
        if not module:
            return home.readers.get(name)
        of = self.homes.get(home.siblings.get(module, ""))
        return None if of is None else of.readers.get(name)

    def _write_into(self, reader: _Reader) -> None:
        """Write the readers that a reader calls into it, as far as they are small and it does not get too large."""
        known = {*_WORDS.findall(reader.text), *BUILTINS, *reader.home.names}
        waiting: list[tuple[list[ast.stmt], int]] = [(reader.tree.body, 0)]
        """Blocks of the reader that are not done, and how many loops and `try` each is in."""
        while waiting:
            block, depth = waiting.pop()
            at = 0
            while at < len(block):
                statement = block[at]
                inner = self._replaceable(statement, reader)
                if inner is not None and inner.size <= min(self.allowance, MOST_OUTER - reader.size):
                    assert isinstance(statement, ast.Assign)
                    made = _Copy(statement, inner, reader.home, known).made
                    if made and depth + _depth(made) <= MOST_BLOCKS:
                        block[at : at + 1] = made
                        at += len(made)
                        reader.size += _size(made) - 1
                        reader.has_sums |= inner.has_sums
                        self.allowance -= inner.size
                        reader.has_inlined = True
                        continue
                if not isinstance(statement, ast.FunctionDef):
                    waiting += [(one, depth + isinstance(statement, _BLOCKS)) for one in _blocks(statement)]
                at += 1

    def _replaceable(self, statement: ast.stmt, reader: _Reader) -> _Reader | None:
        """Return the reader that can be written in place of a statement of `reader`; None for other statements."""
        match statement:
            case ast.Assign(targets=[ast.Tuple(elts=[ast.Name(), _])], value=ast.Call(keywords=[]) as call):
                match call.func:
                    case ast.Name(id=name):
                        inner = self._called("", name, reader.home)
                    case ast.Attribute(value=ast.Name(id=module), attr=name):
                        inner = self._called(module, name, reader.home)
                    case _:
                        return None
                if inner is not None and inner.is_inlinable and len(call.args) == len(inner.tree.args.args):
                    return inner
        return None


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Yield the blocks of a statement: its body, `else`, and handlers of errors."""
    for name in ("body", "orelse"):
        if found := getattr(statement, name, None):
            yield found
    for handler in getattr(statement, "handlers", ()):
        yield handler.body


def _size(block: list[ast.stmt]) -> int:
    """Return the number of statements in a block, those in blocks within it included."""
    return sum(1 + sum(map(_size, _blocks(one))) for one in block)


def _depth(block: list[ast.stmt]) -> int:
    """Return how many loops and `try` are within each other in a block."""
    return max(
        (isinstance(one, _BLOCKS) + max(map(_depth, _blocks(one)), default=0) for one in block),
        default=0,
    )


class _Copy(ast.NodeTransformer):
    """The statements of a reader in place of a call: `made`, which is empty if they cannot replace it.

    For `name, at = read_label(view, at, end, io, value, root, run)`, they may be:

        name = make_label()
        name._parent = value
        name_length = view[at]
        at += 1
    """

    def __init__(self, statement: ast.Assign, inner: _Reader, home: _Module, known: set[str]) -> None:
        """Replace `statement`, which has a call of `inner`, in the module `home`.

        `statement` is `into, after = read_label(...)`.  `known` are the names that the function around it has for
        itself.
        """
        target, call = statement.targets[0], statement.value
        assert isinstance(target, ast.Tuple)
        assert isinstance(call, ast.Call)
        into, after = target.elts
        assert isinstance(into, ast.Name)
        self.inner = inner
        self.home = home
        module = call.func.value if isinstance(call.func, ast.Attribute) else None
        self.other = module.id if isinstance(module, ast.Name) else ""
        """The name under which `home` imports the module of `inner`; empty if that is `home` itself."""
        self.known = known
        self.renamed: dict[str, str] = {}
        """New names of the reader's variables."""
        self.failed = False
        parameters = self._pass_arguments(call, into.id, after)
        *body, last = inner.body
        assert isinstance(last, ast.Return)
        assert isinstance(last.value, ast.Tuple)
        made, end = last.value.elts
        # What the reader returns: its structure is made in the variable that the caller puts it into.
        used = {one.id for argument in call.args for one in ast.walk(argument) if isinstance(one, ast.Name)}
        is_variable = isinstance(made, ast.Name) and made.id in inner.stored and made.id not in self.renamed
        if isinstance(made, ast.Name) and is_variable and into.id not in used:
            self.renamed[made.id] = into.id
        for name in inner.stored:
            if name not in self.renamed:
                self._new(into.id, name)
        rest: list[ast.stmt] = [self.visit(copied(one)) for one in body]
        for to, result in ((into, self.visit(copied(made))), (after, self.visit(copied(end)))):
            if ast.unparse(result) != ast.unparse(to):
                rest.append(ast.Assign([to], result))
        found = [] if self.failed else [*parameters, *rest]
        self.made: list[ast.stmt] = [ast.fix_missing_locations(one) for one in found]

    def _pass_arguments(self, call: ast.Call, into: str, after: ast.expr) -> list[ast.stmt]:
        """Return statements that assign the arguments of the call to the reader's parameters, under new names.

        An argument that is a variable takes the place of a parameter that the reader does not change.  So does the
        position, if the caller assigns the returned position (`after`) to the same variable.
        """
        assignments, lengths = list[ast.stmt](), _KnownLengths()
        for param, argument in zip(self.inner.tree.args.args, call.args, strict=True):
            name = param.arg
            is_changed = name in self.inner.stored
            if isinstance(argument, ast.Name):
                moves = isinstance(after, ast.Name) and after.id == argument.id
                if not is_changed or (name == "at" and moves):
                    self.renamed[name] = argument.id
                    continue
            value = lengths.visit(copied(argument))
            assignments.append(ast.Assign([ast.Name(self._new(into, name), ast.Store())], value))
            if not is_changed:
                lengths.known[ast.dump(value)] = self.renamed[name]
        return assignments

    def _new(self, into: str, name: str) -> str:
        """Return a new name for a variable of the reader, such as `label_length`.

        Names of readers that were written into the same one before are used again.
        """
        made, taken = f"{into}_{name}", set(self.renamed.values())
        for number in itertools.count(2):
            if made not in self.known and made not in taken:
                break
            made = f"{into}_{name}_{number}"
        self.renamed[name] = made
        return made

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Rename a variable; replace a name of the other module by `module.name`, or import it as well."""
        name, of = node.id, self.inner.home
        if name in self.renamed:
            return ast.Name(self.renamed[name], node.ctx)
        if of is self.home or name in self.inner.errors or name not in of.names | set(of.constants):
            return node
        if name in of.shared:
            self.home.shared[name] = of.shared[name]
        elif name in of.constants:
            made = f"{self.other}{name}"
            self.home.constants[made] = of.constants[name].replace(name, made, 1)
            return ast.Name(made, node.ctx)
        elif name in of.given or name in of.siblings:
            self.failed |= name not in self.home.names or self.home.siblings.get(name) != of.siblings.get(name)
        else:
            return ast.Attribute(ast.Name(self.other, ast.Load()), name, node.ctx)
        return node


class _KnownLengths(ast.NodeTransformer):
    """Replaces `len(rows)` by a variable to which the same `len(rows)` was assigned before."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}
        """Variables by the expressions that were assigned to them (as `ast.dump` shows these)."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Replace `len(rows)`."""
        match node:
            case ast.Call(func=ast.Name(id="len")) if (name := self.known.get(ast.dump(node))) is not None:
                return ast.Name(name, ast.Load())
        self.generic_visit(node)
        return node


def _lines(node: ast.stmt) -> tuple[int, int]:
    """Return the first line of a statement, and the line after it, counted from 0."""
    return node.lineno - 1, node.end_lineno or 0


def _is_for_programs(statement: ast.stmt) -> bool:
    """Return whether a statement is the doc string of a reader, or makes an argument that a program omitted."""
    match statement:
        case ast.If(test=ast.Compare(left=ast.Name(id=name), ops=[ast.Is()], comparators=[ast.Constant(value=None)])):
            return name in PASSED
        case ast.Expr(value=ast.Constant()):
            return True
    return False
