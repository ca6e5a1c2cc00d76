"""Expectations about the specifications that were worked out by hand, and the program that checks them.

`tests/toolchain/facts/<schema>.txt` holds, for one specification, bytes with what they mean:

    == the title of a case, read as header, with [2, [0, 1]] as parameters
    03 00   | header.version.patch = 3          | "a 2-byte patch version number"
    @ header.version
    04      | .minor = 4; .major = absent       | the text after the second bar is prose
    "abc" 00*5 | .name
            | ofs_files = 0x40
            | refuses footer.len_index

A case is read as the whole specification, or as the one of its types that the title names.  Its bytes are everything
left of the first bar: hexadecimal, text in quotes, `00*5` for five zeros.  An expectation is a path and a value:
a Python literal, the name of an enumeration's member, `absent`, or nothing, which means the bytes of that very line.
`PATH is TYPE` names the type of the object there, and `PATH.size` counts a list.  A path with a leading dot continues
the one after the last `@`.  `refuses PATH` means that reading as far as PATH fails, and that the `valid` (or the
`contents`) of the field at its end is what refuses the bytes; `ends PATH` that the bytes end too early for it.  Lines
that begin with `#` are comments.

Nothing here is read back from a writer or from a specification of this project: values come from the formats'
specifications, from files of other programs, and from arithmetic.
"""

from __future__ import annotations

import ast
import enum
import functools
import importlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

from exhume_ksy.debug._stream import KaitaiStream
from kaitaistruct import KaitaiStruct, KaitaiStructError, ValidationFailedError

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "tests" / "toolchain" / "facts"
PACKAGE = "exhume_ksy"
HEX = re.compile(r'"([^"]*)"|([0-9a-f]{2})(?:\*(\d+))?')
STEP = re.compile(r"([a-z_][a-z0-9_]*)|\[(\d+)\]")
Seen = set[tuple[str, str, str]]


@dataclass
class Fact:
    """One expectation: what is examined, how, what it must be, and the line that states it."""

    path: str
    verb: str
    value: str
    own: bytes
    line: int


@dataclass
class Case:
    """Bytes, and what they mean."""

    schema: str
    title: str
    type: str
    args: list[Any]
    line: int
    data: bytearray = field(default_factory=bytearray)
    facts: list[Fact] = field(default_factory=list)


def octets(text: str) -> bytes:
    """Return the bytes that the left column of a line stands for; raise `ValueError` for anything else there."""
    out = bytearray()
    if (rest := HEX.sub("", text).strip()) != "":
        raise ValueError(f"{rest!r} is neither hexadecimal nor text in quotes")
    for found in HEX.finditer(text):
        piece = found[1].encode() if found[2] is None else bytes.fromhex(found[2]) * int(found[3] or 1)
        out += piece
    return bytes(out)


def parse(schema: str, text: str) -> list[Case]:
    """Return the cases of one file of facts; raise `ValueError` with the line for what it cannot read."""
    cases: list[Case] = []
    base = ""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("== "):
            found = re.fullmatch(r"== (.*?)(?:, read as (\w+))?(?:, with (\[.*\]) as parameters)?", line)
            assert found
            cases.append(Case(schema, found[1], found[2] or "", json.loads(found[3] or "[]"), number))
            base = ""
        elif line.startswith("@ "):
            base = line[2:].strip()
        elif not cases:
            raise ValueError(f"{schema}:{number}: no case begun")
        else:
            left, *columns = line.split("|")
            try:
                own = octets(left)
            except ValueError as error:
                raise ValueError(f"{schema}:{number}: {error}") from error
            cases[-1].data += own
            for item in columns[0].split("; ") if columns else ():
                if item.strip():
                    cases[-1].facts.append(parse_fact(item.strip(), base, own, number))
    return cases


def parse_fact(text: str, base: str, own: bytes, line: int) -> Fact:
    """Return the expectation that `text` spells."""
    if found := re.fullmatch(r"(refuses|ends) (\S+)", text):
        verb, path, value = found[1], found[2], ""
    elif found := re.fullmatch(r"(\S+) (is|=) (.+)", text):
        path, verb, value = found[1], found[2], found[3]
    elif re.fullmatch(r"\S+", text):
        path, verb, value = text, "own", ""
    else:
        raise ValueError(f"line {line}: {text!r} is not an expectation")
    return Fact(base + path if path.startswith(".") else path, verb, value, own, line)


@functools.cache
def cases(schema: str) -> tuple[Case, ...]:
    """Return the cases about a specification."""
    return tuple(parse(schema, (FOLDER / f"{schema}.txt").read_text(encoding="utf-8")))


def class_name(name: str) -> str:
    """Return the name of the class generated for a type."""
    return "".join(word[:1].upper() + word[1:] for word in name.split("_"))


@functools.cache
def specification(schema: str) -> dict[str, Any]:
    """Return a specification as the compiler read it."""
    spec = json.loads((ROOT / "generated" / PACKAGE / "specs" / f"{schema}.json").read_text(encoding="utf-8"))
    assert isinstance(spec, dict)
    return spec


@functools.cache
def known(schema: str) -> frozenset[tuple[str, str]]:
    """Return (class, name) of everything that a specification declares."""
    return frozenset(members(specification(schema), class_name(schema)))


def walk(value: Any, path: str, seen: Seen) -> Any:
    """Follow a path from an object and return what is at its end, noting the fields on the way."""
    for name, index in STEP.findall(path):
        if index:
            value = value[int(index)]
        elif name == "size" and isinstance(value, list | bytes | str):
            value = len(value)
        else:
            if not isinstance(value, KaitaiStruct):
                raise TypeError(f"{path}: no field {name} in a value of type {type(value).__name__}")
            module, owner = place_of(type(value))
            seen.add((module, owner, name))
            if hasattr(type(value), name) or name in vars(value) or (owner, name) not in known(module):
                value = getattr(value, name)
            else:
                value = None  # a field whose `if` is false
    return value


def place_of(owner: type) -> tuple[str, str]:
    """Return (specification, class) of a generated class."""
    return owner.__module__.rpartition(".")[2], owner.__qualname__


def refuser(error: ValidationFailedError) -> KaitaiStruct:
    """Return the object in which a field was refused, as far as it had been read."""
    frame, found = error.__traceback__, None
    while frame is not None:
        that = frame.tb_frame.f_locals.get("self")
        found = that if isinstance(that, KaitaiStruct) else found
        frame = frame.tb_next
    assert found is not None
    return found


def members_in(value: Any) -> Iterator[tuple[str, str, str]]:
    """Yield the members of enumerations in an object and below it."""
    if isinstance(value, enum.Enum):
        yield (*place_of(type(value)), value.name)
    elif isinstance(value, KaitaiStruct):
        for name, inner in vars(value).items():
            if not name.startswith("_"):
                yield from members_in(inner)


@functools.cache
def field_at(schema: str, src_path: str) -> str:
    """Return the name of the field that the compiler calls `/types/header/seq/0`."""
    spec: Any = specification(schema)
    for step in src_path.strip("/").split("/"):
        spec = spec[int(step)] if isinstance(spec, list) else spec[step]
    return str(spec["id"]) if "id" in spec else src_path.rpartition("/")[2]


def matches(actual: Any, fact: Fact) -> bool:
    """Say whether a value is what a fact expects."""
    if fact.verb == "is":
        return type(actual).__name__ == (fact.value if fact.value == "bytes" else class_name(fact.value))
    if fact.verb == "own":
        wanted: Any = fact.own
        if isinstance(actual, list):
            wanted = list(fact.own)
        elif isinstance(actual, str):
            wanted = fact.own.decode()
    elif fact.value == "absent":
        return actual is None
    elif re.fullmatch(r"[a-z_][a-z0-9_]*", fact.value):
        if fact.value in ("true", "false"):
            return actual is (fact.value == "true")
        return isinstance(actual, enum.Enum) and actual.name == fact.value
    else:
        wanted = ast.literal_eval(fact.value)
    return type(actual) is type(wanted) and bool(actual == wanted)


def check(case: Case, package: str = PACKAGE, seen: Seen | None = None) -> Iterator[str]:
    """Yield one line per expectation of a case that does not hold; `seen` gains what the others examined."""
    seen = set() if seen is None else seen
    parser = getattr(importlib.import_module(f"{package}.{case.schema}"), class_name(case.schema))
    parser = getattr(parser, class_name(case.type)) if case.type else parser
    data = bytes(case.data)
    root = None
    for fact in case.facts:
        where = f"{case.schema}:{fact.line}: {fact.path}"
        looked: Seen = set()
        try:
            if root is None or fact.verb in ("refuses", "ends"):
                root = parser(*case.args, KaitaiStream(BytesIO(data)))
                if hasattr(root, "_debug"):
                    root._read()  # noqa: SLF001 - the classes with positions read only on request
            actual = walk(root, fact.path, looked)
        except ValidationFailedError as error:
            root = None
            refusing = refuser(error)
            module, owner = place_of(type(refusing))
            name = field_at(module, str(error.src_path))
            if fact.verb != "refuses" or name != fact.path.rpartition(".")[2].partition("[")[0]:
                yield f"{where}: refused by {owner} {error.src_path}"
            else:
                seen |= {*looked, (module, owner, name), *members_in(refusing)}
            continue
        except EOFError as error:
            root = None
            if fact.verb != "ends":
                yield f"{where}: {error}"
            else:
                seen |= looked
            continue
        except (KaitaiStructError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            root = None
            yield f"{where}: {type(error).__name__}: {error}"
            continue
        if fact.verb in ("refuses", "ends"):
            yield f"{where}: nothing refused it"
        elif not matches(actual, fact):
            yield f"{where}: {actual!r} is not {fact.value or repr(fact.own)}"
        else:
            seen |= looked
            seen |= set(members_in(actual)) if isinstance(actual, enum.Enum) else set()


def failures(schemas: Iterable[str], package: str = PACKAGE) -> Iterator[str]:
    """Yield what does not hold for specifications, as they are compiled into a package."""
    for schema in schemas:
        for case in cases(schema):
            yield from check(case, package)


def members(spec: dict[str, Any], owner: str) -> Iterator[tuple[str, str]]:
    """Yield (class, name) of every field, instance and member of an enumeration in a type."""
    for attribute in spec.get("seq", []):
        if "id" in attribute:
            yield owner, attribute["id"]
    for name in spec.get("instances", {}):
        yield owner, name
    for name, values in spec.get("enums", {}).items():
        for value in values.values():
            yield f"{owner}.{class_name(name)}", value["id"] if isinstance(value, dict) else value
    for name, inner in spec.get("types", {}).items():
        yield from members(inner, f"{owner}.{class_name(name)}")


def not_named(schema: str) -> list[str]:
    """Return the fields, instances and members of enumerations that no expectation about a specification names."""
    seen: Seen = set()
    for case in cases(schema):
        list(check(case, seen=seen))
    return [
        f"{owner}.{name}"
        for owner, name in members(specification(schema), class_name(schema))
        if (schema, owner, name) not in seen
    ]
