"""Assembles the pages of the documentation site in `build/site-pages/`, which `make site` then builds with mkdocs.

    python -m tools.site

The pages of `docs/`, the README and its neighbors, and what follows from the code: the library, the JSON schemas, the
limits, the exit codes.  A link to a project file that is not a page leads to a copy of it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path, PurePosixPath
from types import ModuleType

import exhume
from exhume.cli import ExitCode
from exhume.limits import DEFAULT_LIMITS

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "build" / "site-pages"
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "CHANGELOG.md": "project/changes.md",
    "ksy/README.md": "project/specifications.md",
    "benchmarks/README.md": "project/benchmarks.md",
    "examples/README.md": "project/examples.md",
    "tests/README.md": "project/tests.md",
}
"""The pages outside `docs/`, and their places on the site."""

FOLDERS = {
    "ksy": "project/specifications.md",
    "benchmarks": "project/benchmarks.md",
    "examples": "project/examples.md",
    "src/exhume/schemas": "reference/schemas.md",
    "docs/findings": "findings/README.md",
}
"""The page that a link to a folder leads to."""

LINK = re.compile(r"(\]\()(?!\w+:|#)([^)#\s]+)(#[^)\s]*)?(\))")
"""A Markdown link to a file of the project: opening, path, anchor, closing."""
FENCE = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
"""A block of code, in which nothing is a link."""
EXIT_CODES = {
    ExitCode.DONE: "done",
    ExitCode.FAILED: "failed: unreadable, an error of the system, nothing survives",
    ExitCode.USAGE: "usage: an option, an argument or a combination that does not exist",
    ExitCode.LOSS: "partial result: something could not be read or checked, was rejected, or does not fit the output",
    ExitCode.NO: "negative result: damage, no match, a difference, or an unrecognized format",
    ExitCode.INTERRUPTED: "interrupted (Ctrl-C)",
    ExitCode.CLOSED: "the reader of the output left: the rest was not written",
}


def sources() -> dict[str, str]:
    """Every page by its path in the project, and its place on the site."""
    docs = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")}
    return PAGES | {path: path.removeprefix("docs/") for path in sorted(docs)}


def page(path: str, text: str, known: dict[str, str]) -> str:
    """The text of a page with its links as they are on the site; raises `ValueError` for one that leads nowhere."""

    def lead(found: re.Match[str]) -> str:
        """A link of a page as the site needs it; other files are copied.  Raises `ValueError` for dead links."""
        target = os.path.normpath(PurePosixPath(path).parent / found[2])
        to = known.get(target) or FOLDERS.get(target)
        if to is None:
            if not (ROOT / target).is_file():
                raise ValueError(f"{path}: {found[2]} is not a page, a file or a known folder")
            to = target.removeprefix("docs/") if target.startswith("docs/") else f"files/{target}"
            if to.endswith(".ksy"):
                to += ".txt"  # which browsers show
            (OUT / to).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / target, OUT / to)
        here = PurePosixPath(known[path]).parent
        return f"{found[1]}{os.path.relpath(to, here)}{found[3] or ''}{found[4]}"

    parts = FENCE.split(text)
    return "".join(part if number % 2 else LINK.sub(lead, part) for number, part in enumerate(parts))


def library() -> str:
    """The page of the public names, by their docstrings."""
    functions = [name for name in exhume.__all__ if name[0].islower() and callable(getattr(exhume, name))]
    classes = [name for name in exhume.__all__ if name[0].isupper()]
    text = "# Library\n\n`import exhume` costs next to nothing: each name is imported when it is used first.\n"
    for title, names in (("Functions", functions), ("Classes", classes)):
        text += f"\n## {title}\n"
        for name in names:
            found = getattr(exhume, name)
            text += f"\n::: {found.__module__}.{found.__qualname__}\n"
            text += f"    options:\n      heading: exhume.{name}\n      toc_label: {name}\n"
    text += "\n## Formats\n"
    modules = {name: one for name in sorted(exhume.__all__) if isinstance(one := getattr(exhume, name), ModuleType)}
    for name, module in modules.items():
        classes = [one for one in module.__all__ if one[0].isupper()]
        text += f"\n### exhume.{name}\n"
        for function in sorted((one for one in module.__all__ if one[0].islower()), reverse=True):  # open, then create
            text += f"\n::: exhume.{name}.{function}\n    options:\n      heading: exhume.{name}.{function}\n"
        text += "".join(f"\n::: {getattr(module, one).__module__}.{one}\n" for one in classes)
    return text + "\n## Errors\n\n::: exhume.errors\n    options:\n      show_root_heading: false\n"


def schemas() -> str:
    """The page of the JSON schemas, which are copied next to it."""
    text = (
        "# JSON schemas\n\nEach form of [JSON output](../json.md) as a JSON Schema, as it comes with the package.\n\n"
    )
    (OUT / "schemas").mkdir(parents=True)
    for path in sorted((ROOT / "src" / "exhume" / "schemas").glob("*.json")):
        shutil.copyfile(path, OUT / "schemas" / path.name)
        title = json.loads(path.read_text(encoding="utf-8"))["title"]
        text += f"- [{title}](../schemas/{path.name})\n"
    return text


def limits() -> str:
    """The page of the limits, by their values and reasons."""
    text = (
        "# Limits\n\nWhat a claim in a file can cost at most; `--limit NAME=VALUE`, or `limits=exhume.Limits(...)`.\n\n"
    )
    text += "| limit | value | what it bounds |\n| --- | --- | --- |\n"
    source = (ROOT / "src" / "exhume" / "limits.py").read_text(encoding="utf-8")
    stated = re.findall(r"^    (\w+): int = .*?\n    \"\"\"(.*?)\"\"\"", source, re.MULTILINE | re.DOTALL)
    for name, reason in stated:
        text += f"| `{name}` | {getattr(DEFAULT_LIMITS, name):,} | {' '.join(reason.split())} |\n"
    return text


def exit_codes() -> str:
    """The page of the exit codes."""
    rows = "".join(f"| {int(outcome)} | {EXIT_CODES[outcome]} |\n" for outcome in ExitCode)
    head = (
        "# Exit codes\n\n[Command line](../cli.md) says what a verb adds.\n\n| exit code | meaning |\n| --- | --- |\n"
    )
    return head + rows


def reference() -> str:
    """The first page of the reference: what each of its pages is for."""
    pages = {
        "api.md": ("Library", "every public function, class and error, with examples"),
        "../cli.md": ("Command line", "every command with its options, exit codes and examples"),
        "../json.md": ("JSON", "the documents that `--json` prints, key by key"),
        "schemas.md": ("JSON schemas", "the same as JSON Schema"),
        "limits.md": ("Limits", "what a hostile file can cost at most"),
        "exit-codes.md": ("Exit codes", "what each code means"),
        "../findings/README.md": ("Findings", "every code, such as ZS-202: its rule, severity and remedy"),
        "../compatibility.md": ("Compatibility", "what is public, and how it changes"),
    }
    text = "# Reference\n\nThe search field of this site also finds options, keys and finding codes.\n\n"
    text += "| page | contents |\n| --- | --- |\n"
    return text + "".join(f"| [{title}]({to}) | {what} |\n" for to, (title, what) in pages.items())


GENERATED = {
    "reference/index.md": reference,
    "reference/api.md": library,
    "reference/schemas.md": schemas,
    "reference/limits.md": limits,
    "reference/exit-codes.md": exit_codes,
}
"""The pages that follow from the code."""


def main() -> int:
    """Rewrite every page."""
    shutil.rmtree(OUT, ignore_errors=True)
    known = sources()
    for path, to in known.items():
        (OUT / to).parent.mkdir(parents=True, exist_ok=True)
        (OUT / to).write_text(page(path, (ROOT / path).read_text(encoding="utf-8"), known), encoding="utf-8")
    for to, write in GENERATED.items():
        (OUT / to).parent.mkdir(exist_ok=True)
        (OUT / to).write_text(write(), encoding="utf-8")
    shutil.copyfile(ROOT / "tools" / "site_copy.js", OUT / "copy.js")
    print(f"site: {len(known) + len(GENERATED)} pages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
