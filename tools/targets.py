"""Generates the parsers of every language from `ksy/` and compiles, or at least parses, what comes out.

    python -m tools.targets [--write] [LANGUAGE...]

What a language's compiler needs besides is Kaitai's runtime for it.  Python's and JavaScript's are installed with the
tests; `KAITAI_RUNTIMES` names a folder with the others, each a copy of Kaitai's repository under the name of the
language (`java/`, `csharp/`, `cpp_stl/`, `go/`, `perl/`, `php/`, `ruby/`, `lua/`).  A compiler or a runtime that is not
there is reported so, and its language is not counted as checked.  `--write` puts the table into `docs/spec-driven.md`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tools import blocks, nodejs

ROOT = nodejs.ROOT
Errors = dict[str, list[str]]
"""The complaints about each specification that has any."""

ISSUES = "https://github.com/kaitai-io/kaitai_struct/issues"
KNOWN = {
    "csharp": (
        (r"Constant value .* cannot be converted to a `int'", f"an enumeration is 32 bits with a sign: {ISSUES}/862"),
    ),
    "go": (
        (
            r"_it declared but not used",
            f"a variable for `_` is declared where an expression of `valid` does not use it: {ISSUES}/435",
        ),
        (r"cannot use nil as", f"an instance that is a member of an enumeration cannot return an error: {ISSUES}/146"),
        (
            r"variable of type \w+_\w+\) as type int",
            f"`to_i` leaves a member of an enumeration as it is: {ISSUES}/146",
        ),
        (
            r"mismatched types u?int|cannot use .* as type u?int|untyped int constant",
            f"integers of different types are compared, added and handed on without a conversion: {ISSUES}/953 and "
            f"{ISSUES}/1333",
        ),
    ),
    "nim": (
        (
            "Boxed Exception",
            "the compiler stops at a `valid` with an expression, which its translator to Nim does not know yet: "
            f"{ISSUES}/435 and {ISSUES}/619",
        ),
    ),
}
"""Failures that are the compiler's, by language: what is reported, why, and where it is reported."""


@dataclass(slots=True)
class Verdict:
    """What is known of one language."""

    language: str
    how: str
    generated: int = 0
    checked: bool = False
    errors: Errors = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The name of the language as people write it."""
        return CHECKS[self.language][0]

    def reason(self, error: str) -> str:
        """Why a known failure happens; empty for an unknown one."""
        return next((why for stated, why in KNOWN.get(self.language, ()) if re.search(stated, error)), "")


class MissingError(RuntimeError):
    """A compiler or a runtime is not here."""


def tool(*names: str) -> str:
    """The first of several commands that is on PATH; raises `MissingError`."""
    for name in names:
        if found := shutil.which(name):
            return found
    raise MissingError(f"{' or '.join(names)} is not on PATH")


def runtime(language: str) -> Path:
    """Kaitai's runtime for a language; raises `MissingError`."""
    folder = os.environ.get("KAITAI_RUNTIMES")
    if not folder or not Path(folder, language).is_dir():
        raise MissingError(f"no {language}/ in KAITAI_RUNTIMES")
    return Path(folder, language).resolve()


def run(command: list[str], cwd: Path | None = None, environment: dict[str, str] | None = None) -> str:
    """What a command says, or nothing when it succeeds."""
    env = {**os.environ, **(environment or {})}
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, errors="replace", check=False)
    return "" if done.returncode == 0 else (done.stdout + done.stderr).strip() or f"exit {done.returncode}"


def blame(stated: str, pattern: str, files: dict[str, str]) -> Errors:
    """The errors of each specification in a compiler's output; `pattern` has the file and the message."""
    found: Errors = {}
    for match in re.finditer(pattern, stated, re.MULTILINE):
        spec = files.get(Path(match[1]).name)
        if spec is not None:
            found.setdefault(spec, []).append(" ".join(match[2].split()))
    if stated and not found:
        found["(all)"] = [" ".join(stated.split())[:300]]
    return found


def each(command: list[str], folder: Path, files: dict[str, str], cwd: Path | None = None) -> Errors:
    """Run a command on every file by itself."""
    found: Errors = {}
    for name, spec in sorted(files.items()):
        if stated := run([*command, str(folder / name)], cwd):
            found.setdefault(spec, [next(line for line in stated.splitlines() if line.strip())])
    return found


def check_java(folder: Path, files: dict[str, str]) -> tuple[str, Errors]:
    """javac with the runtime."""
    sources = runtime("java") / "src" / "main" / "java"
    command = [tool("javac"), "-nowarn", "-proc:none", "-Xmaxerrs", "2000", "-sourcepath", str(sources), "-d"]
    stated = run([*command, str(folder / "out"), *(str(folder / name) for name in sorted(files))])
    return "compiled with javac and the runtime", blame(stated, r"^(.+\.java):\d+: error: (.*)", files)


def check_csharp(folder: Path, files: dict[str, str]) -> tuple[str, Errors]:
    """The C# compiler with the runtime."""
    sources = [str(file) for file in sorted(runtime("csharp").glob("*.cs"))]
    command = [tool("mcs"), "-nowarn:0108,0114,0219,0414,0649", "-target:library", f"-out:{folder / 'out.dll'}"]
    stated = run([*command, *sources, *(str(folder / name) for name in sorted(files))])
    return "compiled with mcs and the runtime", blame(stated, r"^(.+\.cs)\(\d+,\d+\): error (.*)", files)


def check_cpp(folder: Path, files: dict[str, str]) -> tuple[str, Errors]:
    """g++, types and all but no code."""
    sources = {name: spec for name, spec in files.items() if name.endswith(".cpp")}
    command = [tool("g++", "c++", "clang++"), "-std=c++11", "-fsyntax-only", "-fmax-errors=1"]
    found: Errors = {}
    for name, spec in sorted(sources.items()):
        stated = run([*command, f"-I{runtime('cpp_stl')}", f"-I{folder}", str(folder / name)])
        if error := re.search(r"error: (.*)", stated):
            found[spec] = [error[1]]
        elif stated:
            found[spec] = [stated]
    return "compiled with g++ and the runtime", found


def check_go(folder: Path, files: dict[str, str]) -> tuple[str, Errors]:
    """The Go compiler with the runtime; `golang.org/x/text` is Debian's golang-golang-x-text-dev or of GOPATH."""
    home = folder / "src" / "parsers"
    home.mkdir(parents=True)
    for name in files:  # the compiler's JavaScript build has no option for the package
        text = (folder / name).read_text(encoding="utf-8")
        (home / name).write_text(text.replace("\nimport ", "\npackage parsers\n\nimport ", 1), encoding="utf-8")
    place = folder / "src" / "github.com" / "kaitai-io" / "kaitai_struct_go_runtime" / "kaitai"
    shutil.copytree(runtime("go") / "kaitai", place, ignore=shutil.ignore_patterns("*_test.go"))
    path = os.pathsep.join([str(folder), os.environ.get("GOPATH", "/usr/share/gocode")])
    stated = run([tool("go"), "build", "-gcflags=-e", "parsers"], folder, {"GO111MODULE": "off", "GOPATH": path})
    return "compiled with go and the runtime", blame(stated, r"^(.+\.go):\d+:\d+: (.*)", files)


def check_perl(folder: Path, files: dict[str, str]) -> tuple[str, Errors]:
    """perl -c with the runtime."""
    return "perl -c with the runtime", each(
        [tool("perl"), f"-I{runtime('perl') / 'lib'}", f"-I{folder}", "-c"], folder, files
    )


def check_php(folder: Path, files: dict[str, str]) -> tuple[str, Errors]:
    """php -l, then all of them loaded at once with the runtime."""
    php = tool("php")
    found = each([php, "-l"], folder, files)
    library = runtime("php") / "lib"
    loader = folder / "load.php"
    loader.write_text(
        f"<?php spl_autoload_register(function ($name) {{ foreach (['{library}', '{folder}'] as $place) {{"
        " $file = $place . '/' . str_replace('\\\\', '/', $name) . '.php';"
        " if (is_file($file)) { require_once $file; return; } } });\n"
        + "".join(f"require_once '{folder / name}';\n" for name in sorted(files)),
        encoding="utf-8",
    )
    stated = "" if found else run([php, str(loader)])
    return "php -l, then loaded with the runtime", found or blame(stated, r"error: +(?:.*) in (.+\.php)()", files)


def check_ruby(folder: Path, files: dict[str, str]) -> tuple[str, Errors]:
    """Loaded with the runtime."""
    return "loaded with the runtime", each([tool("ruby"), f"-I{runtime('ruby') / 'lib'}", f"-I{folder}"], folder, files)


def check_lua(folder: Path, files: dict[str, str]) -> tuple[str, Errors]:
    """Loaded with the runtime."""
    lua = tool("lua5.4", "lua5.3", "lua")
    place = f"{runtime('lua')}/?.lua;{folder}/?.lua"
    found: Errors = {}
    for name, spec in sorted(files.items()):
        if stated := run([lua, "-e", f"package.path = {json.dumps(place)}", str(folder / name)]):
            found[spec] = [stated.splitlines()[0]]
    return "loaded with the runtime", found


def check_javascript(folder: Path, files: dict[str, str]) -> tuple[str, Errors]:
    """Loaded with the runtime."""
    node = nodejs.ensure_packages()
    script = f"process.argv.slice(1).forEach((file) => require({json.dumps(str(folder))} + '/' + file))"
    environment = {"NODE_PATH": str(ROOT / "node_modules")}
    found: Errors = {}
    for name, spec in sorted(files.items()):
        if stated := run([*node, "-e", script, name], None, environment):
            found[spec] = [stated.splitlines()[0]]
    return "loaded with the runtime, and every sample read by the tests", found


def check_python(folder: Path, files: dict[str, str]) -> tuple[str, Errors]:
    """Imported with the runtime."""
    code = "import importlib, sys; sys.path.insert(0, sys.argv[1]); importlib.import_module(sys.argv[2])"
    found: Errors = {}
    for name, spec in sorted(files.items()):
        if stated := run([sys.executable, "-W", "error", "-c", code, str(folder), Path(name).stem]):
            found[spec] = [stated.splitlines()[-1]]
    return "imported with the runtime, and every sample read by the tests", found


CHECKS: dict[str, tuple[str, Callable[[Path, dict[str, str]], tuple[str, Errors]] | None]] = {
    # by language: its name in the table, and the check of its generated parsers, if there is one
    "python": ("Python", check_python),
    "javascript": ("JavaScript", check_javascript),
    "java": ("Java", check_java),
    "csharp": ("C#", check_csharp),
    "cpp_stl": ("C++", check_cpp),
    "go": ("Go", check_go),
    "php": ("PHP", check_php),
    "perl": ("Perl", check_perl),
    "ruby": ("Ruby", check_ruby),
    "lua": ("Lua", check_lua),
    "rust": ("Rust", None),
    "nim": ("Nim", None),
    "construct": ("Construct", None),
    "graphviz": ("Graphviz", None),
    "html": ("HTML", None),
}


def spec_of(name: str, specs: dict[str, str]) -> str | None:
    """The specification that a generated file stands for, by its name without case and separators."""
    return specs.get(re.sub(r"[^a-z0-9]", "", Path(name).stem.lower()))


def generate(out: Path, languages: list[str]) -> dict[str, Errors]:
    """Write the parsers of the languages into folders of `out`; what the compiler refused, by language."""
    files = sorted((ROOT / "ksy").glob("*.ksy"))
    command = [*nodejs.ensure_packages(), str(ROOT / "tools" / "ksc.mjs"), "targets", "--out", str(out)]
    command += [",".join(languages), *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise nodejs.NodeError(done.stderr.strip())
    reported = json.loads(done.stdout)
    return {
        language: {Path(file).stem: [str(error)] for file, error in reported[language].items() if error}
        for language in languages
    }


def verdicts(languages: list[str]) -> Iterator[Verdict]:
    """Generate and check, language by language."""
    names = sorted(file.stem for file in (ROOT / "ksy").glob("*.ksy"))
    specs = {name.replace("_", ""): name for name in names}
    with tempfile.TemporaryDirectory(prefix="exhume-targets-") as scratch:
        refused = generate(Path(scratch), languages)
        for language in languages:
            folder = Path(scratch, language)
            made = [file for file in folder.iterdir() if file.is_file()] if folder.is_dir() else []
            files = {file.name: found for file in made if (found := spec_of(file.name, specs)) is not None}
            verdict = Verdict(language, "generated only", len(names) - len(refused[language]))
            verdict.errors = dict(refused[language])
            _, check = CHECKS[language]
            if check is not None:
                try:
                    verdict.how, errors = check(folder, files)
                    verdict.checked = True
                    verdict.errors |= errors
                except MissingError as error:
                    verdict.how = f"not checked: {error}"
            yield verdict


def table(found: list[Verdict], count: int) -> str:
    """The verdicts as a table, and the failures that are known below it."""
    lines = ["| language | generated | sound | how it was checked |", "| --- | --- | --- | --- |"]
    notes = []
    for verdict in found:
        sound = f"{count - len(verdict.errors)} of {count}" if verdict.checked else "-"
        lines.append(f"| {verdict.title} | {verdict.generated} of {count} | {sound} | {verdict.how} |")
        for why in dict.fromkeys(why for errors in verdict.errors.values() for why in map(verdict.reason, errors)):
            specs = (spec for spec in sorted(verdict.errors) if why in map(verdict.reason, verdict.errors[spec]))
            names = ", ".join(f"`{spec}`" for spec in specs)
            notes.append(f"- {verdict.title}: {why or 'unknown'}. {names}")
    return "\n".join([*lines, *(["", *notes] if notes else [])])


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status: 1 when a failure is not a known one."""
    parser = argparse.ArgumentParser(description="Compile what ksy/ becomes in every language.")
    parser.add_argument("--write", action="store_true", help="put the table into docs/spec-driven.md")
    parser.add_argument("languages", nargs="*", metavar="LANGUAGE")
    options = parser.parse_args(argv)
    found = list(verdicts(options.languages or list(CHECKS)))
    count = len(list((ROOT / "ksy").glob("*.ksy")))
    bad = 0
    for verdict in found:
        for spec, errors in sorted(verdict.errors.items()):
            for error in errors:
                known = verdict.reason(error) != ""
                bad += not known
                print(f"{verdict.title}, {spec}: {error}{' (known)' if known else ''}")
    print(table(found, count))
    if options.write:
        blocks.write_block("spec-driven.md", "targets", table(found, count))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
