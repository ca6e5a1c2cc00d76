"""What docstrings have to say, and a draw of some to read again.

A public callable that raises states it: a class that it raises by name (`raise WriterError(...)`) is named in its
docstring; where it raises the error of a rule (`raise BAD_MAGIC.error(...)`) or one that something else made, the
docstring says "raises", whatever it names.  Modules of formats that implement a specification have a line `Spec:`, and
the sections of our pages that docstrings cite exist.

    python -m tools.docstrings                  says what is missing
    python -m tools.docstrings --draw 20 --seed 7   prints twenty docstrings, drawn at random, to be read
"""

from __future__ import annotations

import argparse
import ast
import functools
import random
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.blocks import ROOT

SRC = ROOT / "src" / "exhume"

SPECIFIED = re.compile(r"(layout\w*|reader|checks|writer|sections|verify)\.py")
"""Modules of a format that implement sections of its specification."""

CITED = re.compile(r'docs/formats/(\w+\.md)`, "([^"]+)"')
"""A section of a page in `docs/formats`, as docstrings cite it."""

EXEMPT: dict[str, str] = {
    "formats/clp_s/reader.py:table_entries": "what it raises, it catches itself",
    "formats/kv_ir/lines.py:parse_object": "catches the ValueError that it raises; WriterError is named",
}
"""Callables that need not say what they raise, each with the reason; never more than ten."""

MOST_EXEMPT = 10


@dataclass(frozen=True)
class Callable:
    """A public function or method: the file it is in, its name with that of its class, and its code."""

    file: Path
    name: str
    node: ast.FunctionDef | ast.AsyncFunctionDef

    @property
    def docstring(self) -> str:
        """Its docstring, "" without one."""
        return ast.get_docstring(self.node) or ""

    @property
    def place(self) -> str:
        """Its file below `src/exhume` and its name, as `EXEMPT` has them."""
        return f"{self.file.relative_to(SRC).as_posix()}:{self.name}"

    @property
    def is_command(self) -> bool:
        """Whether its docstring is the help of a command, which is written for users of the command line."""
        decorators = " ".join(ast.unparse(decorator) for decorator in self.node.decorator_list)
        return bool(re.search(r"\bcommand\(|\bgroup\(", decorators))


@functools.lru_cache(maxsize=1)  # to keep all trees would cost more than to parse: the collector goes through them
def _parsed(text: str) -> ast.Module:
    """Parse a module; several checks in sequence need the same one."""
    return ast.parse(text)


def callables(file: Path) -> Iterator[Callable]:
    """The public functions of a module and the public methods of its public classes, without their overloads."""

    def within(body: list[ast.stmt], prefix: str) -> Iterator[Callable]:
        """Yield the callables of a module or class; `prefix` is the name of the class and a dot."""
        for node in body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                yield from within(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not _is_hidden(node):
                yield Callable(file, prefix + node.name, node)

    yield from within(_parsed(file.read_text(encoding="utf-8")).body, "")


def _is_hidden(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether a function is private, a test or an overload."""
    overload = any(ast.unparse(decorator).endswith("overload") for decorator in node.decorator_list)
    return overload or node.name.startswith(("_", "test_"))


def raised(node: ast.AST) -> Iterator[ast.expr]:
    """What the body of a function raises, without what functions inside it raise and without bare `raise`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            continue
        if isinstance(child, ast.Raise) and child.exc is not None:
            yield child.exc
        yield from raised(child)


def missing(found: Callable) -> list[str]:
    """What a callable raises although its docstring does not state it, in the order of the code."""
    raises = list(raised(found.node))
    if not raises:
        return []
    says = re.search(r"\b(rais(e|es|ed)|propagates)\b", found.docstring, re.IGNORECASE) is not None
    absent = []
    for raising in raises:
        made = raising.func if isinstance(raising, ast.Call) else raising
        name = ast.unparse(made).removesuffix(".error")
        last = name.rpartition(".")[2]
        if last == "AssertionError":
            continue  # a bug, or a method for subclasses: no caller can bring it about
        is_class = re.fullmatch(r"[A-Z]\w*[a-z]\w*", last) is not None
        if not re.search(rf"\b{re.escape(last)}\b", found.docstring) and (is_class or not says):
            absent.append(last)
    return list(dict.fromkeys(absent))


def silent(file: Path) -> list[str]:
    """The callables of a module that raise without saying what, each with what it does not name."""
    return [
        f"{found.place} raises {', '.join(absent)} and does not document it"
        for found in callables(file)
        if not found.is_command and found.place not in EXEMPT and (absent := missing(found))
    ]


def uncited(file: Path) -> bool:
    """Whether a module of a format that implements a specification does not say which section (`Spec:`)."""
    if SPECIFIED.fullmatch(file.name) is None:
        return False
    tree = _parsed(file.read_text(encoding="utf-8"))
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return not any("Spec: " in (ast.get_docstring(node) or "") for node in ast.walk(tree) if isinstance(node, kinds))


def dead(file: Path) -> list[str]:
    """The sections of pages in `docs/formats` that the docstrings of a module cite but that do not exist."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    text = file.read_text(encoding="utf-8")
    if "docs/formats/" not in text:
        return []
    nodes = ast.walk(_parsed(text))
    stated = " ".join(" ".join((ast.get_docstring(node) or "").split()) for node in nodes if isinstance(node, kinds))
    missing = []
    for page, section in CITED.findall(stated):
        headings = (ROOT / "docs" / "formats" / page).read_text(encoding="utf-8")
        if section not in re.findall(r"^#+ (.*)$", headings, re.MULTILINE):
            missing.append(f'{file.relative_to(SRC).as_posix()} cites "{section}", which docs/formats/{page} lacks')
    return missing


def modules() -> list[Path]:
    """Every module of the package."""
    return sorted(SRC.rglob("*.py"))


def faults() -> list[str]:
    """Everything that is missing, a line each."""
    lines = []
    places = set()
    for file in modules():
        lines += silent(file)
        if file.is_relative_to(SRC / "formats") and uncited(file):
            lines.append(f"{file.relative_to(SRC).as_posix()} has no line `Spec:`")
        lines += dead(file)
        places |= {found.place for found in callables(file) if found.place in EXEMPT and missing(found)}
    lines += [f"EXEMPT names {place}, which needs no exception" for place in EXEMPT.keys() - places]
    if len(EXEMPT) > MOST_EXEMPT:
        lines.append(f"EXEMPT has {len(EXEMPT)} exceptions; {MOST_EXEMPT} are allowed")
    return lines


def draw(count: int, seed: int) -> list[Callable]:
    """`count` public callables that have docstrings, drawn at random; the same ones for the same seed and code."""
    documented = [found for file in modules() for found in callables(file) if found.docstring]
    return random.Random(seed).sample(documented, min(count, len(documented)))


def main() -> int:
    """Check all docstrings, or print some; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draw", type=int, metavar="N", help="print N docstrings, drawn at random")
    parser.add_argument("--seed", type=int, default=0, help="which ones are drawn")
    options = parser.parse_args()
    if options.draw is not None:
        for found in draw(options.draw, options.seed):
            print(f"{found.place}({ast.unparse(found.node.args)})\n{found.docstring}\n")
        return 0
    wrong = faults()
    print("\n".join(wrong) or "every docstring says what is raised, and every specification is cited")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
