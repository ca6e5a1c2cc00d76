"""Checks what users write with pyright in strict mode: the snippets of the pages, the examples of `help()`, typed uses.

    python -m tools.pyright              # where pyright is installed, else says that it was not checked
    python -m tools.pyright --install    # installs it first, with npm

`make pyright` installs it, and from then on `make types` runs it next to mypy, which checks the same snippets in the
tests.  Three kinds of modules are written into `build/pyright/` and checked there, against `src/` and the packages of
the environment:

- `pages/`: the Python of the README and of the pages, one module for each page (`tests/cli/test_snippets.py`);
- `examples/`: the examples in the docstrings of public names;
- `uses/`: `tests/core/typed_uses.py`, which states the types that a user gets, and what has to be refused.

Then it checks that every name of the package has a type that is written down (`--verifytypes`), unless it derives from
a class of a library without types.

Snippets show expressions for what they are and use libraries that have no types: these findings are left out for
`pages/`.  Nothing is left out for the others, apart from unused expressions in examples.
"""

from __future__ import annotations

import doctest
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.nodejs import ROOT, NodeError, find_node, npm_command

OUT = ROOT / "build" / "pyright"
HOME = ROOT / ".venv-pyright"
"""Where npm puts pyright: apart from what compiles specifications, which more people need."""
VERSION = "1.1.414"  # of pyright

PLAIN = ("reportUnusedExpression",)
"""What is not reported for examples: they show an expression for its value."""

LIBRARIES = (
    "reportDuplicateImport",  # each snippet of a page imports what it uses
    "reportMissingTypeStubs",
    "reportUnknownArgumentType",
    "reportUnknownMemberType",
    "reportUnknownVariableType",
    "reportUnusedVariable",
)
"""What is not reported for pages either: libraries without types, and names that a snippet only shows."""


INFERRED = ("Type is missing type annotation", "Ambiguous base class override", "Type argument")
"""How the reasons begin for which a name has no type that is written down."""


def examples() -> dict[str, str]:
    """The examples of each public name as a module."""
    from tests.core.test_help import PUBLIC

    made = {}
    for name, value in PUBLIC.items():
        found = doctest.DocTestParser().get_examples(inspect.getdoc(value) or "")
        if found:
            made[name] = "from pathlib import Path\n\nimport exhume\n\nPath\n" + "".join(one.source for one in found)
    return made


def write(folder: str, modules: dict[str, str], ignored: tuple[str, ...]) -> None:
    """Write modules, each with the findings that are not reported for it."""
    (OUT / folder).mkdir(parents=True)
    rules = ", ".join(["strict", *(f"{rule}=false" for rule in ignored)])
    for name, text in modules.items():
        stem = re.sub(r"\W", "_", name.removesuffix(".md"))
        (OUT / folder / f"{stem}.py").write_text(f"# pyright: {rules}\n{text}", encoding="utf-8")


def find(*, install: bool) -> list[str]:
    """Find pyright, and install it first if asked; return the command that runs it.

    Raises:
        NodeError: Node.js or pyright cannot be had.
    """
    node = find_node(install=install)
    package = HOME / "node_modules" / "pyright"
    have = json.loads((package / "package.json").read_text()) if (package / "package.json").exists() else {}
    if have.get("version") != VERSION and not install:
        raise NodeError(f"pyright {VERSION} is not in {HOME.name}/: `make pyright` installs it")
    if have.get("version") != VERSION:
        HOME.mkdir(exist_ok=True)
        options = ["--no-save", "--omit=optional", "--no-audit", "--no-fund", "--loglevel=error"]
        command = [*npm_command(node), "install", "--prefix", str(HOME), *options, f"pyright@{VERSION}"]
        done = subprocess.run(command, cwd=HOME, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise NodeError(f"npm cannot install pyright {VERSION}:\n{done.stdout}{done.stderr}")
    return [*node, str(package / "index.js")]


def untyped(command: list[str]) -> list[str]:
    """The names of the package that checkers have to infer a type for, each with its file and the reason."""
    here = Path(sys.executable).parent  # pyright runs the first Python of PATH, whatever `--pythonpath` says
    environment = os.environ | {
        "PATH": f"{here}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT / 'generated'}",
    }
    command = [*command, "--verifytypes", "exhume", "--ignoreexternal", "--outputjson"]
    with tempfile.TemporaryDirectory() as away:  # from settings that are not for this
        done = subprocess.run(command, cwd=away, capture_output=True, text=True, env=environment, check=False)
    found = json.loads(done.stdout)["typeCompleteness"]
    if found["exportedSymbolCounts"]["withKnownType"] < 1000:
        return [f"exhume: not found by pyright\n{done.stderr}"]
    return sorted(
        f"{diagnostic['file']}: {symbol['name']}: {diagnostic['message']}"
        for symbol in found["symbols"]
        for diagnostic in symbol.get("diagnostics", ())
        if diagnostic["message"].startswith(INFERRED) and not symbol["name"].startswith("exhume_ksy.")
    )


def main() -> int:
    """Write the modules, check them and print the problem; return the exit status."""
    from tests.cli.test_snippets import modules

    install = "--install" in sys.argv[1:]
    try:
        command = find(install=install)
    except NodeError as error:
        print(f"pyright: not checked: {error}", file=sys.stderr)
        return int(install)
    shutil.rmtree(OUT, ignore_errors=True)
    write("pages", modules(), PLAIN + LIBRARIES)
    write("examples", examples(), PLAIN)
    write("uses", {"typed_uses": (ROOT / "tests/core/typed_uses.py").read_text(encoding="utf-8")}, ())
    settings = {
        "include": ["pages", "examples", "uses"],
        "pythonVersion": "3.11",
        "venvPath": str(Path(sys.prefix).parent),
        "venv": Path(sys.prefix).name,
        "extraPaths": [str(ROOT / "src"), str(ROOT / "generated")],
        "useLibraryCodeForTypes": False,  # what a library without types seems to return says nothing about its use
        "reportUnnecessaryTypeIgnoreComment": "error",
    }
    (OUT / "pyrightconfig.json").write_text(json.dumps(settings, indent=2), encoding="utf-8")
    done = subprocess.run([*command, "--project", str(OUT)], capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if not line.startswith(str(OUT))]
    print("\n".join(line.replace(f"{OUT}/", "") for line in lines) + done.stderr)
    inferred = untyped(command)
    print("\n".join([*inferred, f"{len(inferred)} names without a type that is written down"]))
    return done.returncode or int(bool(inferred))


if __name__ == "__main__":
    sys.exit(main())
