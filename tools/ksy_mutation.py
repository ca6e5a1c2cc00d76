"""Plants faults in the specifications and counts how many of them the facts about these notice.

    python -m tools.ksy_mutation [--schema ID]... [--jobs N] [--write]

A fault is one change to one specification: another width, sign or byte order of a field, another number, operator or
text in an expression, a swapped or lost member of an enumeration or case of a switch, a condition turned round or
dropped, a bound dropped or moved by one, a repetition one longer or shorter or ended otherwise, two fields swapped, a
wrong magic number.  It is noticed when an expectation in `tests/toolchain/facts/` about that specification, or about
one that imports it, fails.  What the compiler refuses is not counted.  Survivors need a reason in
`tests/toolchain/facts/survivors.txt`, and reasons survivors.

What became of the faults in a specification is kept below `build/ksy-mutation/` as long as it, what it imports, what
imports it, the facts about these and this program stay as they are.

Each process has a Node.js of its own that compiles one mutant while the one before is tested in memory, so a fault
costs about 0.1 s.
"""

from __future__ import annotations

import argparse
import copy
import dataclasses
import functools
import hashlib
import json
import re
import signal
import subprocess
import sys
import types
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from fnmatch import fnmatchcase
from typing import Any

from tools import blocks, generate, ksy_facts, nodejs

PACKAGE = "exhume_ksy_mutant"
ENOUGH = 0.95  # of the faults; fewer is an error
LIMIT_S = 2.0  # processor time for the facts about one mutant; a fault may make a loop endless
EXCUSES = ksy_facts.FOLDER / "survivors.txt"
CACHE = ksy_facts.ROOT / "build" / "ksy-mutation"
EXPRESSIONS = ("value", "size", "pos", "io", "if", "repeat-expr", "repeat-until", "terminator")
# What an operator is mistaken for.
OPERATORS = {
    "+": "-",
    "-": "+",
    "*": "/",
    "/": "*",
    "%": "/",
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "==": "!=",
    "!=": "==",
    "and": "or",
    "or": "and",
    "&": "|",
    "|": "&",
    "<<": ">>",
    ">>": "<<",
    "not": "",
}
TOKEN = re.compile(
    r"""(?P<text>"[^"]*"|'[^']*')|(?P<name>[A-Za-z_]\w*(?:::\w+)*)|(?P<number>0x[0-9a-f_]+|\d+)"""
    r"""|(?P<operator><<|>>|<=|>=|==|!=|[-+*/%<>&|])""",
    re.IGNORECASE,
)
WIDTHS = {"u1": "u2", "u2": "u4", "u4": "u8", "u8": "u4", "s1": "s2", "s2": "s4", "s4": "s8", "s8": "s4"}
WIDTHS |= {"f4": "f8", "f8": "f4"}
Mutation = tuple[str, str, dict[str, Any]]
"""(kind, what was done where, the result): of one field the field, of a type the whole specification."""
Changed = Callable[..., dict[str, Any]]
"""Returns the field with some of its keys replaced."""


def expressions(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield (kind, where and what, text) of the expressions that differ in one number, operator or text."""
    for token in TOKEN.finditer(text):
        word, kind = token[0], str(token.lastgroup)
        others = []
        if kind == "number":
            number = int(word, 0)
            others = [str(number + 1)]
            is_power_of_two = number & (number - 1) == 0
            if number >= 16 and is_power_of_two:  # such as 0x80, one bit: as 0x100 too
                others.append(str(number * 2))
        elif kind == "text":
            others = [f"{word[:-1]}x{word[-1]}"]
        elif word in ("true", "false"):
            others = ["false" if word == "true" else "true"]
        elif word in OPERATORS and text[: token.start()].strip(" (") not in ("", "-"):
            others = [OPERATORS[word]]
        for other in others:
            before, after = text[: token.start()], text[token.end() :]
            place = f"...{before[-20:]}[{word} as {other or 'nothing'}]{after[:20]}..."
            yield ("operator" if kind == "name" else kind), " ".join(place.split()), f"{before}{other}{after}"


def attribute_faults(attribute: dict[str, Any], endian: str) -> Iterator[Mutation]:
    """Yield (kind, what, attribute) for the faults in one field, instance or parameter of a byte order."""

    def changed(**new: Any) -> dict[str, Any]:
        """Return the field with some keys replaced (None: removed); `repeat_expr` is the key `repeat-expr`."""
        names = {key.replace("_", "-"): value for key, value in new.items()}
        return {key: value for key, value in {**attribute, **names}.items() if value is not None}

    kind = attribute.get("type")
    if isinstance(kind, str):
        yield from type_name_faults(kind, endian, changed)
    elif isinstance(kind, dict):
        yield from switch_faults(kind, changed)
    for key in EXPRESSIONS:
        if key in attribute:
            for what, place, text in expressions(str(attribute[key])):
                yield what, f"{key}: {place}", changed(**{key: text})
    for key in ("size", "pos", "repeat-expr"):
        if key in attribute:
            for sign in "+-":
                yield key.partition("-")[0], f"{key}: {sign} 1", changed(**{key: f"({attribute[key]}) {sign} 1"})
    yield from key_faults(attribute, changed)
    yield from bound_faults(attribute, changed)


def type_name_faults(kind: str, endian: str, changed: Changed) -> Iterator[Mutation]:
    """Yield the faults in a type: of a number its width, sign and byte order, of other types their parameters."""
    if number := re.fullmatch(r"([usf])([1248])(le|be)?", kind):
        letter, width, order = number[1], number[2], number[3] or ""
        base = letter + width
        yield "width", f"{kind} as {WIDTHS[base]}", changed(type=WIDTHS[base] + order)
        if letter != "f":
            other = ("s" if letter == "u" else "u") + width
            yield "sign", f"{kind} as {other}", changed(type=other + order)
        if width != "1":
            turned = "be" if (order or endian) == "le" else "le"
            yield "order", f"{kind} as {base}{turned}", changed(type=base + turned)
    elif bits := re.fullmatch(r"b(\d+)(le|be)?", kind):
        width, order = bits[1], bits[2] or ""
        if width != "1":
            wider = f"b{int(width) + 1}"
            yield "width", f"{kind} as {wider}", changed(type=wider + order)
    elif "(" in kind:
        name, _, parameters = kind.partition("(")
        for what, place, text in expressions(parameters):
            yield what, f"type: {place}", changed(type=f"{name}({text}")


def switch_faults(kind: dict[str, Any], changed: Changed) -> Iterator[Mutation]:
    """Yield the faults in a choice between types: its expression, a case that is lost, two cases swapped."""
    for what, place, text in expressions(str(kind["switch-on"])):
        yield what, f"switch-on: {place}", changed(type={**kind, "switch-on": text})
    cases = kind["cases"]
    keys = list(cases)
    for key, following in zip(keys, [*keys[1:], keys[0]], strict=True):
        rest = {one: type for one, type in cases.items() if one != key}
        if rest:
            yield "case", f"case {key} lost", changed(type={**kind, "cases": rest})
        if cases[following] != cases[key]:
            swapped = {**cases, key: cases[following], following: cases[key]}
            yield "case", f"cases {key} and {following} swapped", changed(type={**kind, "cases": swapped})


def key_faults(attribute: dict[str, Any], changed: Changed) -> Iterator[Mutation]:
    """Yield the faults in whether a field exists, where its bytes come from and end, and how often it is repeated."""
    if "if" in attribute:
        yield "condition", "if turned round", changed(**{"if": f"not ({attribute['if']})"})
        yield "condition", "if dropped", changed(**{"if": None})
    if "enum" in attribute and "valid" not in attribute:
        yield "enum", "enum dropped", changed(enum=None)
    if "io" in attribute:
        yield "stream", "io dropped", changed(io=None)
    if "size-eos" in attribute:
        yield "size", "size-eos: one byte", changed(**{"size-eos": None, "size": 1})
    if "terminator" in attribute:
        for key, default in (("include", False), ("consume", True), ("eos-error", True)):
            yield "terminator", f"{key} turned", changed(**{key: not attribute.get(key, default)})
    repeat = attribute.get("repeat")
    if repeat == "until":
        turned = f"not ({attribute['repeat-until']})"
        yield "repeat", "until turned round", changed(repeat_until=turned)
        yield "repeat", "until the end", changed(repeat="eos", repeat_until=None)
    elif repeat == "eos":
        yield "repeat", "once", changed(repeat="expr", repeat_expr=1)
    if "encoding" in attribute:
        yield "encoding", "another encoding", changed(encoding="ISO-8859-1")


def bound_faults(attribute: dict[str, Any], changed: Changed) -> Iterator[Mutation]:
    """Yield the faults in what a field may hold: its fixed bytes (`contents`) and its rule (`valid`)."""
    contents = attribute.get("contents")
    if contents is not None:
        data = list(contents.encode()) if isinstance(contents, str) else contents
        for index, byte in enumerate(data):
            yield "magic", f"byte {index}", changed(contents=[*data[:index], byte ^ 1, *data[index + 1 :]])
        yield "magic", "dropped", changed(contents=None, size=len(data))
    valid = attribute.get("valid")
    if valid is None:
        return
    yield "bound", "valid dropped", changed(valid=None)
    if not isinstance(valid, dict):
        yield "bound", f"valid: {valid} + 1", changed(valid=f"({valid}) + 1")
        return
    for key, limit in valid.items():
        if key in ("min", "max", "eq"):
            for sign in "+-":
                yield "bound", f"{key}: {sign} 1", changed(valid={**valid, key: f"({limit}) {sign} 1"})
        if key in ("min", "max", "eq", "expr"):
            for what, place, text in expressions(str(limit)):
                yield what, f"{key}: {place}", changed(valid={**valid, key: text})
        if key == "any-of":
            for index in range(len(limit)):
                yield "bound", f"value {index} lost", changed(valid={key: limit[:index] + limit[index + 1 :]})


def enum_faults(values: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield (kind, what, enumeration) for the faults in an enumeration."""
    items = list(values.items())
    for index, (key, name) in enumerate(items):
        rest = dict(items[:index] + items[index + 1 :])
        if rest:
            yield "enum", f"{key} lost", rest
        if index + 1 < len(items):
            following = items[index + 1]
            yield "enum", f"{key} and {following[0]} swapped", {**values, key: following[1], following[0]: name}


def faults(spec: dict[str, Any]) -> Iterator[Mutation]:
    """Yield every mutant of a specification."""
    for kind in ("endian", "bit-endian"):
        if kind in spec.get("meta", {}) and uses_order(spec, kind):
            mutant = copy.deepcopy(spec)
            mutant["meta"][kind] = "be" if spec["meta"][kind] == "le" else "le"
            yield "order", f"meta/{kind}", mutant
    if "encoding" in spec.get("meta", {}) and '"str"' in json.dumps(spec):
        mutant = copy.deepcopy(spec)
        mutant["meta"]["encoding"] = "ISO-8859-1"
        yield "encoding", "meta/encoding", mutant
    yield from type_faults(spec, spec, ())


def uses_order(spec: dict[str, Any], kind: str) -> bool:
    """Say whether the byte order (or the bit order) of a specification's `meta` matters to any field."""
    plain = r'"type": "[usf][248]"' if kind == "endian" else r'"type": "b(?!1")\d+"'
    return re.search(plain, json.dumps(spec)) is not None


def type_faults(root: dict[str, Any], spec: dict[str, Any], path: tuple[str | int, ...]) -> Iterator[Mutation]:
    """Yield every mutant with a fault in a type or its contents; `path` leads to the type from the root."""

    def planted(where: tuple[str | int, ...], value: Any) -> dict[str, Any]:
        """Return a copy of the whole specification with one value of this field replaced."""
        mutant = copy.deepcopy(root)
        inner: Any = mutant
        for step in (*path, *where[:-1]):
            inner = inner[step]
        inner[where[-1]] = value
        return mutant

    here = "".join(f"/{step}" for step in path)
    if path and "bit-endian" in spec.get("meta", {}):
        other = "be" if spec["meta"]["bit-endian"] == "le" else "le"
        yield "order", f"{here}/meta/bit-endian", planted(("meta", "bit-endian"), other)
    seq = spec.get("seq", [])
    for index, attribute in enumerate(seq):
        name = f"{here}/seq/{attribute.get('id', index)}"
        for kind, what, changed in attribute_faults(attribute, root["meta"].get("endian", "le")):
            yield kind, f"{name}: {what}", planted(("seq", index), changed)
        if index + 1 < len(seq) and not ("if" in attribute and "if" in seq[index + 1]):  # these exclude each other
            swapped = [*seq[:index], seq[index + 1], attribute, *seq[index + 2 :]]
            yield "fields", f"{name}: swapped with the next", planted(("seq",), swapped)
    for instance, attribute in spec.get("instances", {}).items():
        for kind, what, changed in attribute_faults(attribute, root["meta"].get("endian", "le")):
            yield kind, f"{here}/instances/{instance}: {what}", planted(("instances", instance), changed)
    for enumeration, values in spec.get("enums", {}).items():
        for kind, what, changed in enum_faults(values):
            yield kind, f"{here}/enums/{enumeration}: {what}", planted(("enums", enumeration), changed)
    for name, inner in spec.get("types", {}).items():
        yield from type_faults(root, inner, (*path, "types", name))


class Compiler:
    """A Node.js process that compiles one specification after the other; `shared` is this process's own."""

    @staticmethod
    @functools.cache
    def shared() -> Compiler:
        return Compiler()

    def __init__(self) -> None:
        command = [*nodejs.ensure_packages(install=False), str(ksy_facts.ROOT / "tools" / "ksc.mjs"), "serve"]
        self._process = subprocess.Popen(
            [*command, str(ksy_facts.ROOT / "ksy")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, name: str, spec: dict[str, Any]) -> None:
        """Hand over a specification; `answer` returns the result."""
        assert self._process.stdin
        self._process.stdin.write(json.dumps({"name": name, "spec": spec}) + "\n")
        self._process.stdin.flush()

    def answer(self) -> str | None:
        """Return the Python text of the specification handed over first, or nothing when it was refused."""
        assert self._process.stdout
        answer = json.loads(self._process.stdout.readline())
        text = answer.get("text")
        return str(text) if text else None


@functools.cache
def ids() -> tuple[str, ...]:
    """Return the id of every specification."""
    return tuple(sorted(generate.specs(ksy_facts.ROOT)))


@functools.cache
def importers_of(schema: str) -> tuple[str, ...]:
    """Return the specifications that import one, however far up."""
    texts = generate.specs(ksy_facts.ROOT)
    return tuple(name for name in texts if schema in generate.closure(name, texts))


class TooLongError(BaseException):
    """A mutant took more processor time than it may; no `except Exception` stops this."""


def noticed(name: str, text: str) -> str | None:
    """Return the first expectation that a compiled mutant of a specification fails, or nothing when it passes all."""

    def stop(*_: object) -> None:
        raise TooLongError

    for old in [module for module in sys.modules if module.split(".")[0] == PACKAGE]:
        del sys.modules[old]
    package = types.ModuleType(PACKAGE)
    package.__path__ = [str(ksy_facts.ROOT / "generated" / ksy_facts.PACKAGE)]
    sys.modules[PACKAGE] = package
    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT_S)
    try:
        module = types.ModuleType(f"{PACKAGE}.{name}")
        module.__package__ = PACKAGE
        sys.modules[module.__name__] = module
        exec(compile(generate.relative_imports(text, set(ids())), f"{name}.py", "exec"), module.__dict__)
        setattr(package, name, module)
        return next(ksy_facts.failures([name, *importers_of(name)], PACKAGE), None)
    except (Exception, TooLongError) as error:  # any failure of a mutant counts as noticed
        return f"{type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@dataclasses.dataclass(frozen=True)
class Result:
    """What became of one mutant: `noticed` is nothing when it survived."""

    schema: str
    kind: str
    what: str
    noticed: str | None


def run(schema: str, every: int = 1) -> list[Result]:
    """Plant faults in a specification, each or one in `every`, and return what became of those that compile.

    Raises:
        ValueError: the specification fails its facts as it is.
    """
    if wrong := next(ksy_facts.failures([schema]), None):
        raise ValueError(f"the specification itself fails: {wrong}")
    wanted = list(faults(ksy_facts.specification(schema)))[::every]
    compiler = Compiler.shared()
    results = []
    for index, (kind, what, mutant) in enumerate(wanted):
        if index == 0:
            compiler.ask(schema, mutant)
        text = compiler.answer()
        if index + 1 < len(wanted):
            compiler.ask(schema, wanted[index + 1][2])  # compiled while this one is tested
        if text is not None:
            results.append(Result(schema, kind, what, noticed(schema, text)))
    return results


def state(schema: str) -> str:
    """Return a digest of everything that decides what becomes of the faults in a specification."""
    texts = generate.specs(ksy_facts.ROOT)
    tested = [schema, *importers_of(schema)]
    read = {name for each in tested for name in [each, *generate.closure(each, texts)]}
    files = [ksy_facts.ROOT / "tools" / name for name in ("ksy_mutation.py", "ksy_facts.py", "ksc.mjs")]
    files += [ksy_facts.ROOT / "ksy" / f"{name}.ksy" for name in sorted(read)]
    files += [ksy_facts.FOLDER / f"{name}.txt" for name in tested]
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.name} ".encode() + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:16]


def run_or_recall(schema: str) -> list[Result]:
    """Return what became of all faults in a specification: from the file that the last run left, or of a new run."""
    file = CACHE / f"{schema}-{state(schema)}.json"
    if not file.exists():
        results = run(schema)
        CACHE.mkdir(parents=True, exist_ok=True)
        for old in CACHE.glob(f"{schema}-{'?' * 16}.json"):
            old.unlink()
        file.write_text(json.dumps([dataclasses.astuple(result) for result in results]), encoding="utf-8")
    return [Result(*each) for each in json.loads(file.read_text(encoding="utf-8"))]


@functools.cache
def excuses() -> dict[str, str]:
    """Return the reason for survivors that have one, by `schema: what`, which may hold `*`."""
    found = {}
    for line in EXCUSES.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            what, _, reason = line.partition(" -- ")
            found[what.strip()] = reason.strip()
    return found


def plain(result: Result) -> str:
    """Return a mutant as the excuses name it: brackets mean something to `fnmatch`."""
    return f"{result.schema}: {result.what}".replace("[", "(").replace("]", ")")


def reason(result: Result) -> str | None:
    """Return why a survivor cannot be noticed, or None if no reason is recorded."""
    return next((why for what, why in excuses().items() if fnmatchcase(plain(result), what)), None)


def idle(results: list[Result]) -> list[str]:
    """Return the excuses that no survivor among the mutants of all specifications needs."""
    survivors = [plain(result) for result in results if not result.noticed]
    return [what for what in excuses() if not any(fnmatchcase(name, what) for name in survivors)]


def report(results: list[Result]) -> str:
    """Return the table of kinds of faults, and the survivors with their reasons, for the documentation."""
    planted = Counter(result.kind for result in results)
    found = Counter(result.kind for result in results if result.noticed)
    total, score = len(results), sum(found.values())
    lines = [
        f"{total:,} faults in {len({result.schema for result in results})} specifications, {score:,} of them noticed: "
        f"**{100 * score / total:.1f} %**.\n",
        "| fault | planted | noticed |",
        "| --- | ---: | ---: |",
        *(f"| {kind} | {planted[kind]:,} | {found[kind]:,} |" for kind in sorted(planted)),
    ]
    survivors: dict[str, list[Result]] = {}
    for result in results:
        if not result.noticed:
            survivors.setdefault(reason(result) or "No reason is known.", []).append(result)
    if survivors:
        lines += ["", "What nobody notices, and why:", ""]
    for why, of_it in sorted(survivors.items()):
        lines += [f"- {why}", *(f"  - `{result.schema}: {result.what}`" for result in of_it)]
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(description="Plant faults in the specifications and see whether facts notice.")
    parser.add_argument("--schema", action="append", help="only this specification (may be given again)")
    parser.add_argument("--jobs", type=int, default=2, help="processes (%(default)s)")
    parser.add_argument("--write", action="store_true", help="write the table into docs/spec-driven.md")
    options = parser.parse_args(argv)
    schemas = options.schema or list(ids())
    results: list[Result] = []
    try:
        with ProcessPoolExecutor(options.jobs) as pool:
            for found in pool.map(run_or_recall, schemas):
                results += found
                for result in found:
                    if not result.noticed and not reason(result):
                        print(f"not noticed: {result.schema}: {result.what}", flush=True)
    except (ValueError, nodejs.NodeError) as error:
        print(f"ksy-mutation: {error}", file=sys.stderr)
        return 1
    text = report(results)
    print(text.partition("\nWhat nobody")[0])
    if options.write:
        blocks.write_block("spec-driven.md", "ksy-mutation", text)
    unexplained = sum(not result.noticed and not reason(result) for result in results)
    unneeded = idle(results) if not options.schema else []
    for what in unneeded:
        print(f"excuses nothing: {what}")
    score = sum(bool(result.noticed) for result in results) / len(results)
    return 1 if unexplained or unneeded or score < ENOUGH else 0


if __name__ == "__main__":
    sys.exit(main())
