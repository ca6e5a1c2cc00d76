"""Checks the specifications in `ksy/` against the Kaitai style guide and the traps of the toolchain.

    python tools/ksy_lint.py [--root DIR]

The JavaScript compiler computes style warnings and drops them; they are fetched and reported here too.  Each problem
is one line, `file: where: what`.  Needs Node.js (to read YAML exactly as the Web IDE reads it); standard library only.
"""

from __future__ import annotations

import argparse
import itertools
import json
import keyword
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools import nodejs

SECTIONS = ["meta", "doc", "doc-ref", "to-string", "params", "seq", "instances", "types", "enums"]
META = [
    *("id", "title", "application", "file-extension", "xref", "tags", "license"),
    *("ks-version", "imports", "encoding", "endian", "bit-endian"),
]
META_NESTED = ["encoding", "endian", "bit-endian"]
META_NEEDED = ["id", "title", "license", "ks-version"]
ATTRIBUTE = [
    *(
        "id",
        "-orig-id",
        "-checksum",
        "-covers",
        "io",
        "pos",
        "value",
        "size",
        "size-eos",
        "type",
        "enum",
        "terminator",
        "include",
        "consume",
    ),
    *("eos-error", "pad-right", "encoding", "process", "valid", "contents", "repeat", "repeat-expr", "repeat-until"),
    *("if", "doc", "doc-ref"),
]
# The guide allows any order of doc-ref and the attributes of one kind; these share a rank.
ALIKE = {"contents": "valid", "repeat-until": "repeat-expr", "value": "pos"}
LICENSES = {"CC0-1.0", "MIT"}
PROCESSES = ("zlib", "xor(", "rol(", "ror(")
ENCODING = re.compile(r"ASCII|UTF-8|UTF-16[LB]E|UTF-32[LB]E|ISO-8859-([1-9]|1[0-6])|windows-125[0-8]|IBM437|Shift_JIS")
NAME = re.compile(r"[a-z][a-z0-9_]*")
PATH = re.compile(r"[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*)*")
MAX_SAFE = 2**53
# Keys of our own and of the Web IDE, by place; ksy/README.md explains them.
OWN_TYPE = {"-webide-representation", "-scalar", "-columns", "-element", "-lint-ok"}
OWN_ATTRIBUTE = {"-orig-id", "-checksum", "-covers", "-parsed-as", "-ends", "-lint-ok"}
OWN_ATTRIBUTE |= {"-webide-representation", "-webide-parse-mode"}
OWN_VALUE = {"-orig-id", "-checksum"}
COUNTS = ("len_", "num_", "ofs_")
VARINTS = ("uleb128", "leveldb_varint")
# Names that say what a field is: lengths, counts, places, yes or no, and what has no meaning of its own.
PLAIN = re.compile(r"(len|num|ofs|is|has)_\w+|(magic|reserved|padding)\d*|unused")
# Fields that were once needed to make a check take effect, and are not part of any format.
PSEUDO = re.compile(r"(check|freeze|assert|ensure|validate|dummy)(_\w+)?")
# "1 ends the list, 2 needs compaction", "9 for an array, 5 for an object": a number followed by its meaning.
NAMED_NUMBER = re.compile(
    r"(?:^|[,;:.(] ?|\bor |\band )(-?\d+|0x[0-9a-f]+) (?:(?:for|is|means) )?(?!bytes|bits|or|and|when|to|if)[a-z]{2}"
)
# What does not name a field or a type in one of the languages that the compiler writes: words that C++, Java, C#, Go,
# Lua, PHP, Perl, Ruby and JavaScript keep for themselves and the compiler does not spell otherwise.
WORDS = (
    "abstract alignas alignof and assert auto bool boolean break byte case catch char class const continue "
    "default delete do double echo else elseif empty end ensure enum eval except exit explicit export extends "
    "extern false final finally float for foreach friend function goto if implements import in include inline "
    "instanceof int interface is isset list local long mutable namespace native new next nil not null operator or "
    "override package parent print private protected public raise redo register repeat require rescue retry "
    "return self short signed sizeof static strictfp string struct super switch synchronized template then this "
    "throw throws trait transient true try typedef typename undef union unless unset unsigned until use using var "
    "virtual void volatile wait when while yield "
)
RESERVED = frozenset(WORDS.split())
# What Go keeps for itself besides; there a field of `seq` starts with a capital letter, an instance does not.
GO_WORDS = {"chan", "defer", "fallthrough", "func", "go", "map", "range", "select", "type"}
# Methods of the classes that generated ones are derived from, in Python, Ruby, Java and C#.
INHERITED = {"close", "from_bytes", "from_file", "from_io", "hash_code", "get_class", "notify", "notify_all", "clone"}
INHERITED |= {"finalize", "to_string", "object_id", "instance_variables"}
# Where a specification's values are words for people, not code.
NO_CODE = re.compile(r"/(doc|doc-ref|meta|id|-orig-id)(/|$)")
Problem = tuple[str, str]


def read_specs(files: list[Path], node: tuple[str, ...]) -> dict[Path, dict[str, Any]]:
    """Return {"spec": ...} or {"error": ...} of each specification file."""
    script = str(nodejs.ROOT / "tools" / "ksc.mjs")
    done = subprocess.run([*node, script, "dump", *map(str, files)], capture_output=True, text=True, check=True)
    return {Path(name): value for name, value in json.loads(done.stdout).items()}


def compiler_problems(files: list[Path], node: tuple[str, ...]) -> dict[Path, list[str]]:
    """Return what the compiler reports about each specification: its warnings, and the error that stopped it."""
    script = str(nodejs.ROOT / "tools" / "ksc_internals.mjs")
    done = subprocess.run([*node, script, "warnings", *map(str, files)], capture_output=True, text=True, check=True)
    found: dict[Path, list[str]] = {}
    for file, texts in json.loads(done.stdout).items():
        words = [" ".join(text.split()) for text in texts]
        # The guide names *stored* lengths after what they measure; values derived from several fields and parameters
        # are named for what they are, whatever they also happen to be the size of.
        found[Path(file)] = [
            text
            for text in words
            if not ("warning: use `" in text and re.search(r": /(types/\w+/)*(instances|params)/", text))
        ]
    return found


def forbidden_modules(root: Path) -> set[str]:
    """Return the module names a specification must not take: the standard library's and our dependencies'."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [
        *project["dependencies"],
        *(item for extra in project["optional-dependencies"].values() for item in extra),
    ]
    names = {re.split(r"[^A-Za-z0-9_-]", item)[0].lower().replace("-", "_") for item in wanted}
    return {*sys.stdlib_module_names, *names, "kaitaistruct", "debug", "exhume_ksy"}


def check_text(text: str) -> Iterator[Problem]:
    """Yield the problems of the file as text."""
    if "\r" in text:
        yield "file", "line ends must be LF"
    if not text.endswith("\n") or text.endswith("\n\n"):
        yield "file", "must end with exactly one newline"
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        where = f"line {number}"
        if "\t" in line:
            yield where, "tab"
        if line != line.rstrip():
            yield where, "trailing blanks"
        if line.startswith("---"):
            yield where, "no document marker"
        if (
            (len(line) - len(line.lstrip(" "))) % 2
            and not line.lstrip().startswith("#")
            and not _in_block(lines, number)
        ):
            yield where, "indentation is not a multiple of two"
        key = re.fullmatch(r"( *)[\w-]+:", line)
        following = lines[number] if number < len(lines) else ""
        if key and re.match(re.escape(key[1]) + r"- ", following):
            yield where, "a list is indented under its key"


def _in_block(lines: list[str], number: int) -> bool:
    """Say whether a line (counted from 1) continues a block scalar, whose inner indentation is free."""
    indent = len(lines[number - 1]) - len(lines[number - 1].lstrip(" "))
    for line in reversed(lines[: number - 1]):
        if line.strip() and len(line) - len(line.lstrip(" ")) < indent:
            if re.search(r":\s*[|>][+-]?\s*$", line):
                return True
            indent = len(line) - len(line.lstrip(" "))
    return False


def check_order(where: str, keys: list[str], order: list[str], own: set[str]) -> Iterator[Problem]:
    """Yield a problem for unknown keys and for the first pair in the wrong order; keys of our own may be anywhere."""
    last = -1
    for key in keys:
        if key.startswith("-") and key not in order:
            if key not in own:
                yield where, f"key {key} is none of ours: {', '.join(sorted(own))}"
            continue
        if key not in order:
            yield where, f"key {key} is not allowed here"
            continue
        rank = order.index(ALIKE.get(key, key))
        if rank < last:
            yield where, f"key {key} stands too late; the order is {', '.join(order)}"
            return
        last = rank


def check_name(where: str, name: object, kind: str) -> Iterator[Problem]:
    """Yield the problems of the identifier of a field, a type, an enumeration or a member of one."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        yield where, f"{name!r} is not lower_snake_case"
    elif keyword.iskeyword(name) or name == "self":
        yield where, f"{name} is a Python keyword"
    elif (kind != "member" and name in RESERVED) or (kind == "instance" and name in GO_WORDS):
        yield where, f"{name} is a reserved word in a language that the compiler writes"
    elif kind in ("field", "instance") and name in INHERITED:
        yield where, f"{name} hides a method that the generated classes inherit"


def check_doc(where: str, value: object) -> Iterator[Problem]:
    """Yield the problems of a `doc` or `doc-ref`."""
    for text in value if isinstance(value, list) else [value]:
        if not isinstance(text, str) or not text.strip():
            yield where, "empty documentation"
            continue
        if "\\" in text or '"""' in text:
            yield where, "no backslash and no triple quotes in documentation: they reach the docstrings unescaped"
        if any(len(line) > 80 and "://" not in line for line in text.splitlines()):
            yield where, "documentation is wrapped at 80 columns"


def walk_values(where: str, value: object) -> Iterator[tuple[str, object]]:
    """Yield every scalar in a specification with its path."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from walk_values(f"{where}/{key}", inner)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from walk_values(f"{where}/{index}", inner)
    else:
        yield where, value


def check_plain_name(where: str, attribute: dict[str, Any], key: str, prefixes: tuple[str, ...]) -> Iterator[Problem]:
    """Yield a problem if a size, count or position is a plain name (or a path) without a prefix that identifies it."""
    value = attribute.get(key)
    if not isinstance(value, str) or not PATH.fullmatch(value) or value.startswith("_io.") or value.endswith(".size"):
        return
    if not any(part.startswith(prefixes) for part in value.split(".")):
        yield where, f"{key}: {value} must be named {prefixes[0]}..."


def check_attribute(where: str, attribute: dict[str, Any]) -> Iterator[Problem]:
    """Yield the problems of a field, an instance or a parameter."""
    yield from check_order(where, list(attribute), ATTRIBUTE, OWN_ATTRIBUTE)
    yield from check_plain_name(where, attribute, "size", ("len_", "num_", "ofs_"))
    yield from check_plain_name(where, attribute, "repeat-expr", ("num_",))
    yield from check_plain_name(where, attribute, "pos", ("ofs_", "len_"))
    if "encoding" in attribute and not ENCODING.fullmatch(str(attribute["encoding"])):
        yield where, f"encoding {attribute['encoding']} is not spelled canonically"
    if "process" in attribute and not str(attribute["process"]).startswith(PROCESSES):
        yield where, "a custom process does not work in the Web IDE: describe the payload in a schema of its own"
    switch = attribute.get("type")
    if isinstance(switch, dict) and "_" not in switch.get("cases", {}) and "doc" not in attribute:
        yield where, "a switch without the case _ falls back to raw bytes: say in doc what that means"
    yield from check_named(where, attribute)
    if "-orig-id" in attribute:
        yield from check_original(where, attribute.get("id", where.rpartition("/")[2]), attribute["-orig-id"])
    for key in ("doc", "doc-ref"):
        if key in attribute:
            yield from check_doc(f"{where}/{key}", attribute[key])


def check_original(where: str, name: object, value: object) -> Iterator[Problem]:
    """Yield the problems of `-orig-id`: what a specification calls a field that has another name here."""
    names = value if isinstance(value, list) else [value]
    if not names or not all(isinstance(one, str) and one.strip() for one in names):
        yield where, "-orig-id is a name or a list of names"
    elif names == [name]:
        yield where, "-orig-id repeats the id: leave it out where the specification's name is ours"


def check_pseudo(where: str, name: str, attribute: dict[str, Any]) -> Iterator[Problem]:
    """Yield a problem for a field outside the format, present only so that something is checked."""
    if PSEUDO.fullmatch(name):
        yield where, f"{name} is no field of the format: put valid on the field that it checks"
    elif attribute.get("size") == 0:
        yield where, "a field of no bytes: put valid on the field that it checks"
    elif "value" in attribute and "valid" in attribute:
        yield where, "valid on a computed value: put it on the field that the value is computed from"


def check_named(where: str, attribute: dict[str, Any]) -> Iterator[Problem]:
    """Yield a problem for a number that has names and no enumeration; `-lint-ok` says why there is none."""
    if "-lint-ok" in attribute:
        return
    kind = attribute.get("type")
    if isinstance(kind, dict):
        numbers = [case for case in kind.get("cases", {}) if re.fullmatch(r"-?\d+|0x[0-9a-f]+", str(case))]
        if len(numbers) > 1:
            yield where, f"switches on the numbers {', '.join(map(str, numbers))}: give them an enumeration"
        return
    is_integer = isinstance(kind, str) and re.fullmatch(r"[us][1248](le|be)?|b\d+(le|be)?", kind)
    may_be_number = is_integer or "value" in attribute or kind in VARINTS
    found = dict.fromkeys(NAMED_NUMBER.findall(" ".join(str(attribute.get("doc", "")).split())))
    if may_be_number and "enum" not in attribute and len(found) > 1:
        yield where, f"its doc names the numbers {', '.join(found)}: give them an enumeration"


def check_bound(where: str, name: str, attribute: dict[str, Any]) -> Iterator[Problem]:
    """Yield a problem when a length, a count or an offset that comes from the data is not bounded.

    One byte bounds itself; `-lint-ok` on the field states why another needs no bound.
    """
    kind = attribute.get("type")
    if not name.startswith(COUNTS) or "value" in attribute or not isinstance(kind, str):
        return
    if kind in ("u1", "s1") or re.fullmatch(r"b\d+(le|be)?", kind):
        return
    valid = attribute.get("valid")
    bounds = valid is not None and (
        not isinstance(valid, dict) or not {"max", "eq", "any-of", "expr"}.isdisjoint(valid)
    )
    if bounds == ("-lint-ok" in attribute):
        yield where, "a bound and a reason for none" if bounds else f"{name} has no valid: max (or -lint-ok: a reason)"


def check_documented(
    where: str, attribute: dict[str, Any], spec: dict[str, Any], types: dict[str, Any]
) -> Iterator[Problem]:
    """Yield a problem when neither its name nor its type says what a field is, and no `doc` does.

    A length, a count, a place, a truth value, a magic number and padding state it by name, a structure by its own
    documentation, the only field of a type by that of the type, and one of several that are numbered by that of the
    first of them.
    """
    name, kind = str(attribute.get("id", "")), attribute.get("type")
    if "doc" in attribute or "contents" in attribute or PLAIN.fullmatch(name):
        return
    if spec.get("seq") == [attribute]:
        return
    if isinstance(kind, str) and "-scalar" not in types.get(kind.split("(")[0], {"-scalar": ""}):
        return
    stem = name.rstrip("0123456789")
    if not any(
        stem != name and one is not attribute and one.get("id", "").rstrip("0123456789") == stem and "doc" in one
        for one in spec.get("seq", [])
    ):
        yield where, "nothing says what the field is: it needs a doc"


def check_covers(where: str, attribute: dict[str, Any], spec: dict[str, Any]) -> Iterator[Problem]:
    """Yield a problem if `-covers` names something other than a sibling field."""
    covers = attribute.get("-covers", [])
    for name in [covers] if isinstance(covers, str) else covers:
        if name not in {one.get("id") for one in spec["seq"]} - {attribute.get("id")}:
            yield where, f"-covers names {name}, which is not a sibling field"
    if covers and "-checksum" not in attribute:
        yield where, "-covers without -checksum"


def check_eager(where: str, attribute: dict[str, Any]) -> Iterator[Problem]:
    """Yield a problem when a file's own sequence reads all the rest at once; `-lint-ok` says why it may."""
    eager = attribute.get("repeat") == "eos" or attribute.get("size-eos")
    if eager and "-lint-ok" not in attribute:
        yield where, "seq reads all that is left: make it an instance (or say -lint-ok: a reason)"


def check_representation(where: str, spec: dict[str, Any], types: dict[str, Any]) -> Iterator[Problem]:
    """Yield a problem when what the Web IDE shows for a type names a field that is not there."""
    for path in re.findall(r"\{([\w.]+)", str(spec.get("-webide-representation", ""))):
        inner: dict[str, Any] | None = spec
        for step in path.split("."):
            if inner is None:
                break
            found = fields_of(inner).get(step)
            if found is None:
                yield where, f"-webide-representation names {path}, and there is no {step}"
                break
            kind = found.get("type")
            plain = isinstance(kind, str) and re.fullmatch(r"[usfb]\d+(le|be)?|str|strz", kind)
            inner = {} if plain else types.get(kind.split("(")[0]) if isinstance(kind, str) else None


def check_repeated(where: str, attribute: dict[str, Any], types: dict[str, Any]) -> Iterator[Problem]:
    """Yield a problem when an element of an array does not say on one line what it is."""
    kind = attribute.get("type")
    kinds = kind.get("cases", {}).values() if isinstance(kind, dict) else [kind]
    for name in dict.fromkeys(str(one).split("(")[0] for one in kinds if "repeat" in attribute):
        if "-webide-representation" not in types.get(name, {"-webide-representation": ""}):
            yield where, f"{name} is repeated and has no -webide-representation"


def fields_of(spec: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the fields, parameters and instances of a type by name."""
    stored = [*spec.get("params", []), *spec.get("seq", [])]
    return {**{each["id"]: each for each in stored if "id" in each}, **spec.get("instances", {})}


def all_types(loaded: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return every type by the names that specifications call it by: `zs_data_block`, `ark_rbuf::guid`, `entry`."""
    found: dict[str, dict[str, Any]] = {}

    def add(spec: dict[str, Any], path: str) -> None:
        """Add the types of a specification and those within them, by their full names."""
        for name, inner in spec.get("types", {}).items():
            found[f"{path}::{name}"] = inner
            add(inner, f"{path}::{name}")

    for name, item in loaded.items():
        if "spec" in item:
            found[name] = item["spec"]
            add(item["spec"], name)
    return found


def check_use(name: str, loaded: dict[str, dict[str, Any]], sections: set[str]) -> Iterator[Problem]:
    """Yield the imports, types and enumerations that nothing uses; `-lint-ok` says who does use a type.

    Args:
        name: the specification.
        loaded: all of them.
        sections: the types that the program itself opens, as `ark_split::entry_list`.
    """
    spec = loaded[name]["spec"]
    text = code_of(spec)
    for other in spec.get("meta", {}).get("imports", []):
        if not re.search(rf"\b{other}\b", text):
            yield "/meta/imports", f"{other} is imported and not used"
    importers = [
        code_of(item["spec"])
        for item in loaded.values()
        if name in item.get("spec", {}).get("meta", {}).get("imports", [])
    ]

    def types(spec: dict[str, Any], path: str, where: str) -> Iterator[Problem]:
        """Yield the types and enumerations below a specification that nothing uses."""
        for inner, content in spec.get("types", {}).items():
            full = f"{path}::{inner}"
            used = re.search(rf"\b{inner}\b", text) or full in sections or "-lint-ok" in content
            if not used and not any(re.search(rf"\b{full}\b", each) for each in importers):
                yield f"{where}/types/{inner}", "nothing uses this type"
            yield from types(content, full, f"{where}/types/{inner}")
        given = {attribute.get("enum") for _, attribute in attributes(spec)}
        for enum in spec.get("enums", {}):
            if enum not in given and f"{enum}::" not in text and not any(f"{path}::{enum}" in one for one in importers):
                yield f"{where}/enums/{enum}", "no field has this enumeration"

    yield from types(spec, name, "")


def code_of(spec: dict[str, Any]) -> str:
    """Return what a specification uses: the values of its keys, without documentation, imports and names."""
    plain = (value for where, value in walk_values("", spec) if not NO_CODE.search(where))
    return "\n".join(str(value) for value in plain)


def check_version(spec: dict[str, Any]) -> Iterator[Problem]:
    """Yield a problem when `ks-version` is older than what the specification uses."""
    declared = str(spec.get("meta", {}).get("ks-version", "0.11"))
    if not re.fullmatch(r"0\.\d+", declared) or int(declared[2:]) >= 11:
        return
    for where, attribute in attributes(spec):
        valid = attribute.get("valid")
        used = {
            "in-enum": isinstance(valid, dict) and "in-enum" in valid,
            "valid of what repeats": valid is not None and "repeat" in attribute,
            "a terminator of several bytes": isinstance(attribute.get("terminator"), list),
            "an f-string": re.search(r'\bf"', str(attribute.get("value", ""))) is not None,
        }
        for feature, uses in used.items():
            if uses:
                yield "/meta/ks-version", f"{declared} does not know {feature} ({where}): 0.11"


def attributes(spec: dict[str, Any], where: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (where, attribute) for every field and instance of a specification."""
    for attribute in spec.get("seq", []):
        yield f"{where}/seq/{attribute.get('id')}", attribute
    for name, attribute in spec.get("instances", {}).items():
        yield f"{where}/instances/{name}", attribute
    for name, inner in spec.get("types", {}).items():
        yield from attributes(inner, f"{where}/types/{name}")


def check_enum(where: str, enum: dict[str, Any]) -> Iterator[Problem]:
    """Yield the problems of an enumeration."""
    for key, value in enum.items():
        if not re.fullmatch(r"-?\d+", key) or abs(int(key)) > MAX_SAFE:
            yield f"{where}/{key}", "an enum key is an integer of at most 2^53: compare bytes instead"
        yield from check_name(f"{where}/{key}", value.get("id") if isinstance(value, dict) else value, "member")
        if isinstance(value, dict):
            for inner_key in value:
                if inner_key.startswith("-") and inner_key not in OWN_VALUE:
                    yield f"{where}/{key}", f"key {inner_key} is none of ours: {', '.join(sorted(OWN_VALUE))}"
            if "-orig-id" in value:
                yield from check_original(f"{where}/{key}", value.get("id"), value["-orig-id"])
            for inner in ("doc", "doc-ref"):
                if inner in value:
                    yield from check_doc(f"{where}/{key}/{inner}", value[inner])


def check_type(  # noqa: C901 - one rule after the other
    where: str, spec: dict[str, Any], types: dict[str, dict[str, Any]], *, nested: bool = True
) -> Iterator[Problem]:
    """Yield the problems of a type and everything in it; `types` are those it can name."""
    types = {**types, **spec.get("types", {})}
    yield from check_representation(where or "/", spec, types)
    yield from check_order(where or "/", list(spec), SECTIONS, OWN_TYPE)
    meta = spec.get("meta", {})
    if nested:
        yield from check_order(f"{where}/meta", list(meta), META_NESTED, set())
    if "encoding" in meta and not ENCODING.fullmatch(str(meta["encoding"])):
        yield f"{where}/meta", f"encoding {meta['encoding']} is not spelled canonically"
    if "doc" not in spec:
        yield where or "/", "a type needs a doc"
    if not nested and "://" not in str(spec.get("doc-ref", "")):
        yield "/doc-ref", "the specification that this is taken from, with its address, is missing"
    for key in ("doc", "doc-ref"):
        if key in spec:
            yield from check_doc(f"{where}/{key}", spec[key])
    for section in ("params", "seq"):
        for index, attribute in enumerate(spec.get(section, [])):
            inner = f"{where}/{section}/{attribute.get('id', index)}"
            if "id" in attribute:
                yield from check_name(inner, attribute["id"], "field")
                if section == "seq":
                    yield from check_bound(inner, attribute["id"], attribute)
            if section == "seq" and not nested:
                yield from check_eager(inner, attribute)
            yield from check_documented(inner, attribute, spec, types)
            if section == "seq":
                yield from check_pseudo(inner, str(attribute.get("id", "")), attribute)
                yield from check_covers(inner, attribute, spec)
            yield from check_attribute(inner, attribute)
            yield from check_repeated(inner, attribute, types)
    for name, attribute in spec.get("instances", {}).items():
        yield from check_repeated(f"{where}/instances/{name}", attribute, types)
        yield from check_name(f"{where}/instances", name, "instance")
        yield from check_attribute(f"{where}/instances/{name}", attribute)
        yield from check_bound(f"{where}/instances/{name}", name, attribute)
        yield from check_documented(f"{where}/instances/{name}", {"id": name, **attribute}, spec, types)
        yield from check_pseudo(f"{where}/instances/{name}", name, attribute)
    for name, inner_spec in spec.get("types", {}).items():
        yield from check_name(f"{where}/types", name, "type")
        if name in fields_of(spec):
            yield f"{where}/types/{name}", "a sibling field has the same name, which C# rejects"
        yield from check_type(f"{where}/types/{name}", inner_spec, types)
    for name, enum in spec.get("enums", {}).items():
        yield from check_name(f"{where}/enums", name, "enumeration")
        yield from check_enum(f"{where}/enums/{name}", enum)


def check_meta(name: str, meta: dict[str, Any], known: set[str], forbidden: set[str]) -> Iterator[Problem]:
    """Yield the problems of the top-level `meta`."""
    yield from check_order("/meta", list(meta), META, set())
    for key in META_NEEDED:
        if key not in meta:
            yield "/meta", f"{key} is missing"
    if meta.get("id") != name:
        yield "/meta/id", f"must be the file's name, {name}"
    if name in forbidden or keyword.iskeyword(name):
        yield "/meta/id", f"{name} is the name of a Python module we use"
    if not isinstance(meta.get("ks-version", ""), str):
        yield "/meta/ks-version", "must be quoted: 0.10 is read as 0.1"
    if meta.get("license", "MIT") not in LICENSES:
        yield "/meta/license", f"must be one of {', '.join(sorted(LICENSES))}"
    for key in ("xref", "tags"):
        values = list(meta.get(key, []))
        if values != sorted(values):
            yield f"/meta/{key}", "must be sorted"
    for other in meta.get("imports", []):
        if not isinstance(other, str) or not NAME.fullmatch(other):
            yield "/meta/imports", f"{other}: only bare names of sibling files work everywhere"
        elif other not in known:
            yield "/meta/imports", f"{other}: there is no ksy/{other}.ksy"


def check_samples(root: Path, name: str, spec: dict[str, Any]) -> Iterator[Problem]:
    """Yield what is missing for the specification to be opened with a sample."""
    found = samples(root, name)
    if not found:
        yield "sample", f"tests/samples/ksy/{name}.bin is missing"
    for sample in found:
        given = arguments(sample, name)
        if given is None and spec.get("params"):
            yield "sample", f"{sample.name} needs {name}.args.json, a JSON list with the parameters' values"
        elif given is not None and len(given) != len(spec.get("params", [])):
            yield "sample", f"{sample.name}: {len(given)} arguments for {len(spec.get('params', []))} parameters"


def samples(root: Path, name: str) -> list[Path]:
    """Return the sample files of a specification: `<id>.bin` and `<id>-<what>.bin`."""
    folder = root / "tests" / "samples" / "ksy"
    return sorted([*folder.glob(f"{name}.bin"), *folder.glob(f"{name}-*.bin")])


def arguments(sample: Path, name: str) -> list[Any] | None:
    """Return the parameters a sample is opened with, from `<sample>.args.json` or else `<id>.args.json`."""
    for file in (sample.with_suffix(".args.json"), sample.with_name(f"{name}.args.json")):
        if file.exists():
            values: list[Any] = json.loads(file.read_text(encoding="utf-8"))
            return values
    return None


def opened_types(root: Path) -> set[str]:
    """Return the types that the program opens by name, as `ark_split::entry_list`."""
    texts = (file.read_text(encoding="utf-8") for file in (root / "src").rglob("*.py"))
    return {found for text in texts for found in re.findall(r'"(\w+::\w+)"', text)}


def check_specs(root: Path, loaded: dict[str, dict[str, Any]], forbidden: set[str]) -> Iterator[str]:
    """Yield one line per problem in the loaded specifications."""
    imported = {other for item in loaded.values() for other in item.get("spec", {}).get("meta", {}).get("imports", [])}
    types = all_types(loaded)
    sections = opened_types(root)
    for name, item in sorted(loaded.items()):
        problems = list(check_text((root / "ksy" / f"{name}.ksy").read_bytes().decode("utf-8")))
        if "error" in item:
            problems.append(("file", " ".join(item["error"].split())))
        else:
            spec = item["spec"]
            problems.extend(check_meta(name, spec.get("meta", {}), set(loaded), forbidden))
            problems.extend(check_type("", spec, types, nested=False))
            problems.extend(check_samples(root, name, spec))
            problems.extend(check_use(name, loaded, sections))
            problems.extend(check_version(spec))
            clash = sorted(set(spec.get("types", {})) & set(loaded))
            problems.extend(("/types", f"{other} is also a specification's name") for other in clash)
            for where, value in walk_values("", spec):
                if isinstance(value, float) or (isinstance(value, int) and abs(value) > MAX_SAFE):
                    problems.append((where, f"{value}: quote integers above 2^53"))
                if (
                    name in imported
                    and isinstance(value, str)
                    and "/doc" not in where
                    and re.search(r"\b_root\b", value)
                ):
                    problems.append((where, "_root in an imported specification is not the file: pass a parameter"))
        for where, what in problems:
            yield f"ksy/{name}.ksy: {where}: {what}"


def lint(root: Path) -> list[str]:
    """Return every problem with the specifications under `root`, one line each.

    Raises:
        nodejs.NodeError: Node.js cannot be had.
    """
    node = nodejs.ensure_packages()
    files = sorted((root / "ksy").glob("*.ksy"))
    strays = [path for path in sorted((root / "ksy").rglob("*.ksy")) if path not in files]
    found = [
        f"{stray.relative_to(root)}: specifications lie flat in ksy/, or the Web IDE cannot import them"
        for stray in strays
    ]
    if not files:
        return found
    loaded = {file.stem: item for file, item in read_specs(files, node).items()}
    found.extend(check_specs(root, loaded, forbidden_modules(root)))
    if found:
        return found
    reported = itertools.chain.from_iterable(compiler_problems(files, node).values())
    return [f"compiler: {text}" for text in dict.fromkeys(reported)]  # those of an import once


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(description="Lint the Kaitai Struct specifications in ksy/.")
    parser.add_argument(
        "--root", type=Path, default=nodejs.ROOT, help="the folder that holds ksy/ and tests/samples/ksy/"
    )
    root = parser.parse_args(argv).root.resolve()
    try:
        problems = lint(root)
    except nodejs.NodeError as error:
        print(f"ksy-lint: {error}", file=sys.stderr)
        return 1
    for problem in problems:
        print(problem)
    print(f"ksy-lint: {len(problems)} problems" if problems else "ksy-lint: no problems", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
