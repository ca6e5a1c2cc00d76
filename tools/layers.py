"""The layers of the source: which imports which, that nothing imports in a circle, and how large a module may be.

A layer is a folder of `src/exhume`; the modules of the root are the base that all others use.  Imports inside functions
and imports for type checkers count.  `make layers` writes the table into `docs/architecture.md`.
"""

from __future__ import annotations

import argparse
import ast
import functools
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tools.blocks import ROOT, read_block, write_block

SRC = ROOT / "src" / "exhume"

LAYERS = {
    "base": "the modules of the root, which all others use: errors, findings, limits, registry, recovery",
    "native": "the measured hot loops: compiled, or in pure Python",
    "io": "sources and directories, local and remote; work in parallel; the only place that creates files",
    "codecs": "the only place that inflates and computes checksums",
    "compiler": "from specifications to readers, facts, columns and drawn instances; imports nothing of exhume",
    "tabular": "Arrow types and batches, datasets, reports of exports",
    "layout": "the bridge to generated code: values, fields with positions, sections, others' specifications",
    "parts": "an archive in parts, and picklable partitions of it",
    "archive": "what an archive, a member, a writer is",
    "engines": "identify, verify, explain, salvage, carve, extract, recode: written once for all formats",
    "formats": "one folder per format; none imports another, but a bundle LevelDB, and the CLP family each other",
    "export": "archives in the forms of other ecosystems",
    "filesystems": "archives as fsspec file systems, and catalogs of many of them",
    "distributed": "one command over many archives: partitions, workers, clusters",
    "view": "the page and the picture",
    "testing": "damage, failing disks, the self-test; contracts and drawn instances for the tests of others",
    "plugins": "what other tools load by their own entry points; imported by nothing here",
    "cli": "the command line, one module per verb",
    "format commands": "what a format adds to the command line: its `cli` modules, which the verbs load by name",
}
"""Each layer with its purpose; a layer imports only those before it."""

FRONT_DOOR = ("__main__", "ark", "caf", "clpir", "clps", "databundle", "kvir", "leveldb", "zs")
"""Modules above all layers, as `exhume` itself is: the command, and each format as users of the library open it."""

MOST_LINES, LEAST_LINES = 450, 40  # of a module, unless it is in `LARGE` or `SMALL`

LARGE = {
    "compiler.front.expressions": "one grammar: its tokens, its parser and its tree",
    "compiler.front.model": "one model: every kind of node of a specification, and what a name stands for there",
    "compiler.instances.solve": "one solver, a case for each operator",
    "formats.ark.rbuf.streamed": "one walk over a message, a method for each form of the wire format",
    "formats.ark.writer": "one writer: columns and the splits that they fill",
    "formats.clp_s.read.pykernel": "one file for one compiled file, function by function",
    "formats.clp_s.write.pykernel": "one file for one compiled file, function by function",
    "formats.clp_s.write.timestamps": "one pattern language: its reader and its printer",
    "formats.clp_s.writer": "one writer for all kinds of input, and the documentation of its options",
    "formats.kv_ir.pykernel": "one file for one compiled file, function by function",
    "formats.leveldb.layout": "one layout of the format, as its mutation row counts it",
    "formats.leveldb.pykernel": "one file for one compiled file, function by function",
    "layout.sections": "one map: sections, runs of them, and what they are asked",
}
"""Modules above `MOST_LINES` with the reason."""

SMALL = {
    "__main__": "`python -m exhume`",
    "counts": "below everything, `errors` included",
    "filesystems.upath": "`universal_pathlib` loads it by its name",
    "formats.clp_s.names": "names of sections, which `probe` needs and which import no layout",
    "formats.data_bundle.pykernel": "the pure-Python form of the compiled loops, as in every format",
    "formats.zs.layout_facts": "facts of the layout, which import no reader",
    "late": "below all that has hooks",
    "native.kernel": "chooses the compiled or the pure-Python loops",
}
"""Modules below `LEAST_LINES` with the reason."""

SHAPED = re.compile(r"__init__|cli\.cmd_\w+|formats\.(\w+\.)+(cli|kernel|locate|model|parts|probe|sections)")
"""Modules that are found by their name, whatever their size: packages, verbs, hooks of formats."""


@functools.cache
def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    found = {}
    for file in sorted(SRC.rglob("*.py")):
        parts = ["exhume", *file.relative_to(SRC).with_suffix("").parts]
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def layer_of(module: str) -> str | None:
    """The layer of a module; None for the front door."""
    parts = module.split(".")
    if len(parts) < 2 or parts[1] in FRONT_DOOR:
        return None
    if parts[1] == "formats" and parts[-1].startswith("cli"):
        return "format commands"
    if parts[1] in LAYERS:
        return parts[1]
    return "base"


@functools.cache
def names(file: Path, *, types: bool = False) -> frozenset[str]:
    """The absolute names that a module of the package imports, with `types` also those for type checkers."""
    package = ["exhume", *file.relative_to(SRC).parent.parts]
    return frozenset(_names(ast.parse(file.read_text(encoding="utf-8")), package, types))


def _names(node: ast.AST, package: list[str], types: bool) -> Iterator[str]:
    """The absolute names that a tree of Python imports; with `types` also those below `if TYPE_CHECKING`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test) and not types:
            for other in child.orelse:
                yield from _names(other, package, types)
        elif isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            base = package[: len(package) - child.level + 1] if child.level else []
            whole = ".".join([*base, *filter(None, [child.module])])
            yield from (f"{whole}.{alias.name}" for alias in child.names)
        elif not isinstance(child, ast.expr):  # which has no import
            yield from _names(child, package, types)


def imports(module: str, *, types: bool = False) -> frozenset[str]:
    """The modules of exhume that one imports, also inside functions; with `types` also those for type checkers."""
    known = modules()
    found = {name if name in known else name.rpartition(".")[0] for name in names(known[module], types=types)}
    return frozenset(found & known.keys()) - {module}


def circles(graph: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Groups of nodes each of which leads to all others of its group (strongly connected, by Tarjan's algorithm)."""
    order: dict[str, int] = {}  # when a node was first visited
    low: dict[str, int] = {}  # the earliest node that it leads to
    waiting: list[str] = []  # visited nodes whose group is not complete
    found: list[list[str]] = []

    def visit(node: str) -> None:
        """Visit a module and its imports by Tarjan's algorithm; `found` gets groups that import each other."""
        order[node] = low[node] = len(order)
        waiting.append(node)
        for other in graph.get(node, ()):
            if other not in order:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in waiting:
                low[node] = min(low[node], order[other])
        if low[node] == order[node]:
            at = waiting.index(node)
            group = waiting[at:]
            del waiting[at:]
            if len(group) > 1:
                found.append(sorted(group))

    for node in graph:
        if node not in order:
            visit(node)
    return found


def graph(*, types: bool = False) -> dict[str, frozenset[str]]:
    """The imports of each module."""
    return {module: imports(module, types=types) for module in modules()}


def included() -> list[str]:
    """The layers whose code the compiled module includes."""
    text = "".join(file.read_text(encoding="utf-8") for file in sorted((SRC / "native").glob("*.pyx")))
    found = set(re.findall(r'^include "\.\./(\w+)/', text, re.MULTILINE))
    return [layer for layer in LAYERS if layer in found]


def between_layers(*, types: bool = False) -> dict[tuple[str, str], list[tuple[str, str]]]:
    """The imports between each pair of layers, by (importing, imported)."""
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for module in modules():
        for other in sorted(imports(module, types=types)):
            importing, imported = layer_of(module), layer_of(other)
            if importing is not None and imported is not None and importing != imported:
                found.setdefault((importing, imported), []).append((module, other))
    return found


def upward(*, types: bool = False) -> list[str]:
    """The imports of a layer above the importing one; with `types` also those for type checkers."""
    names = list(LAYERS)
    return [
        f"{module} imports {other}"
        for (a, b), several in between_layers(types=types).items()
        if names.index(a) < names.index(b)
        for module, other in several
    ]


def sizes() -> list[str]:
    """Modules that are too large or too small without a stated reason, and reasons that no longer apply."""
    found = []
    lines = {
        "__init__" if file.name == "__init__.py" else name.removeprefix("exhume."): len(file.read_bytes().splitlines())
        for name, file in modules().items()
    }
    for name, count in lines.items():
        if count > MOST_LINES and name not in LARGE:
            found.append(f"{name} has {count} lines, more than {MOST_LINES}")
        if count < LEAST_LINES and name not in SMALL and not SHAPED.fullmatch(name):
            found.append(f"{name} has {count} lines, less than {LEAST_LINES}")
    found += [f"{name} has a reason to be large and is not" for name in LARGE if lines.get(name, 0) <= MOST_LINES]
    return found + [
        f"{name} has a reason to be small and is not" for name in SMALL if lines.get(name, 99) >= LEAST_LINES
    ]


def table() -> str:
    """The layers from the top down: the purpose of each, and its imports."""
    edges = between_layers(types=True)
    rows = ["| layer | what it is for | imports |", "|---|---|---|"]
    for layer, what in reversed(LAYERS.items()):
        below = [other for other in LAYERS if (layer, other) in edges]
        compiled = f"nothing; compiled, it includes {' and '.join(included())}" if layer == "native" else "nothing"
        rows.append(f"| `{layer}` | {what} | {', '.join(below) or compiled} |")
    return "\n".join(rows)


def main() -> int:
    """Print the faults, and write the table or compare it; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail where the page is not what the code says")
    check = parser.parse_args().check
    wrong = [f"a circle: {' -> '.join(group)}" for group in circles(graph(types=True))]
    wrong += [*upward(types=True), *sizes()]
    print("\n".join(wrong) or f"{len(modules())} modules: no circle, nothing imports upwards, none too large or small")
    if check:
        return 1 if wrong or read_block("architecture.md", "layers").strip() != table() else 0
    write_block("architecture.md", "layers", table())
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
