"""The specifications in `golden/`, one for each construct, and what the compiler makes of them.

    python -m tests.compiler.specs

writes the current output next to them: examine every change.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Iterator
from pathlib import Path

from exhume.layout.foreign import Specification, compile_ksy

GOLDEN = Path(__file__).parent / "golden"
EVERY = GOLDEN / "all_of_them.ksy"
"""What imports all others, so that one extension module has the readers of all."""


def files() -> list[Path]:
    """The specifications, each of one construct."""
    return sorted(one for one in GOLDEN.glob("*.ksy") if one != EVERY)


def part(whole: Specification, id: str, *, native: bool = True) -> Specification:
    """One of the specifications that another imports, with the extension module that they share, or interpreted."""
    if native:
        return Specification(id, whole.specs, whole.texts, whole.given, whole.outside, whole.native)
    texts = {path: whole.texts[path] for path in ("__init__.py", "_layout.py", f"{id}.py")}  # it imports no other
    return Specification(id, whole.specs, texts, whole.given, whole.outside)


def readers(specification: Specification) -> str:
    """The readers of a specification, as its golden file has them."""
    return specification.texts[f"{specification.id}.py"]


def names_amiss(text: str) -> Iterator[str]:
    """The names in emitted code that nothing binds, and those of functions and imports that nothing reads.

    Annotations are never evaluated, so names of other specifications may be in them.
    """
    tree = ast.parse(text)
    read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    tree = _Unannotated().visit(tree)
    known = _bound(tree) | set(dir(builtins)) | {"__file__"}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module != "__future__":
            yield from (f"{name} is imported only" for name in _bound(node) - read)
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
            loads = {node.id for node in names if isinstance(node.ctx, ast.Load)}
            yield from (f"{function.name}: {name} is not defined" for name in loads - known - _bound(function))
            yield from (f"{function.name}: {name} is never read" for name in _assigned(function) - loads)


class _Unannotated(ast.NodeTransformer):
    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return ast.arg(node.arg)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        return None if node.value is None else ast.fix_missing_locations(ast.Assign([node.target], node.value))


def _bound(tree: ast.AST) -> set[str]:
    """Every name that anything within binds."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.alias):
            found.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            found.add(node.name)
    return found


def _assigned(function: ast.FunctionDef) -> set[str]:
    """The names that have a value of their own, none of several that are unpacked at once."""
    found = set()
    for node in (one for one in ast.walk(function) if isinstance(one, ast.Assign)):
        for target in node.targets:
            several = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
            names = target.elts if several and isinstance(target, ast.Tuple) else [target]
            found |= {one.id for one in names if isinstance(one, ast.Name)}
    return found


def main() -> int:
    """Write every golden file; return how many changed."""
    changed = 0
    for file in files():
        golden, text = file.with_suffix(".golden"), readers(compile_ksy(file))
        if not golden.exists() or golden.read_text(encoding="utf-8") != text:
            golden.write_text(text, encoding="utf-8")
            changed += 1
    sys.stdout.write(f"{changed} of {len(files())} golden files changed\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
