"""Specifications drawn from a grammar of Kaitai's language, for comparisons of our readers with Kaitai's.

    python -m tests.toolchain.drawn_specs FIRST COUNT

compares those of COUNT seeds from FIRST on, and prints what differs.  Every construct of a field is drawn with every
other (sizes, repetitions, terminators, bits, enums, choices, parameters, conditions, positions), and so are expressions
over all of that.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from exhume.errors import SpecificationError
from tests.toolchain.collection import Collection

Scope = list[tuple[str, str]]
"""The names that an expression may use, with their kinds: `int`, `bool`, `float`, `str`, `bytes`, `ints`, `strs`,
`enum:E`, `obj:TYPE`, `objs:TYPE`, and `any` for what no expression uses.
"""

ENUM = ["a", "b", "c"]
LITERALS = ["0", "1", "2", "3", "5", "8", "0x1f", "255", "1_000", "-1", "0b101", "0o17"]
TEXTS = ['"a"', "'b'", '"\\u00e9"', '""', '"abc def"']
NUMBERS = ["u1", "s1", "u2", "s2", "u4", "s4", "u8", "s8"]
WIDTHS = [1, 1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 17, 24, 33, 64]
ENCODINGS = ["ASCII", "UTF-8", "UTF-16LE", "UTF-16BE", "ISO-8859-1", "windows-1252"]
VALID: list[tuple[str, Any]] = [("min", 0), ("max", 200), ("any-of", (0, 1, 2, 3, "4 + 1")), ("expr", "_ != 77")]
UNTIL = {
    "int": ["_ == 0", "_ & 1 == 1", "_ > 9 or _index > 3", "_io.eof or _ == 1"],
    "str": ['_ == ""', "_.length < 3", "_io.eof", "_index >= 2"],
    "bytes": ["_.length == 0", "_io.eof", "_index >= 2"],
}


@dataclass
class Drawn:
    """Draws one specification."""

    seed: int
    types: dict[str, Scope] = field(default_factory=dict)
    params: dict[str, Scope] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.enums: list[str] = []

    def chance(self, of: float) -> bool:
        return self.random.random() < of

    def one(self, *of: Any) -> Any:
        return self.random.choice(of)

    # Expressions, of every kind, over a scope.

    def named(self, scope: Scope, *kinds: str) -> list[str]:
        return [name for name, kind in scope if kind in kinds]

    def expression(self, kind: str, scope: Scope, depth: int = 0, *, index: bool = False) -> str:
        forms: dict[str, Callable[[Scope, int, bool], Iterator[str]]] = {
            "int": self._integers, "bool": self._truths, "str": self._texts, "bytes": self._bytes,
            "float": self._floats, "ints": self._lists, "io": self._streams,
        }  # fmt: skip
        if kind.startswith("enum:"):
            return str(self.one(*[f"{kind[5:]}::{one}" for one in ENUM], *self.named(scope, kind) * 2))
        found: list[str] = list(forms[kind](scope, depth, index))
        return str(self.one(*found))

    def _integers(self, scope: Scope, depth: int, index: bool) -> Iterator[str]:
        yield from [self.one(*LITERALS)] * 2
        yield from self.named(scope, "int") * 2
        yield from ["_index"] * index
        yield from (f"{one}.{self.one('size', 'pos')}" for one in self.named(scope, "io"))
        if self.chance(0.1):
            yield from ("_io.pos", "_io.size")
        for text in self.named(scope, "str"):
            yield from (f"{text}.length", f"{text}.to_i({self.one(10, 16)})")
        for raw in self.named(scope, "bytes"):
            yield from (f"{raw}.length", f"{raw}{self.one('[0]', '.first', '.last', '[1]')}")
        for many in self.named(scope, "ints"):
            yield f"{many}{self.one('.size', '.first', '.last', '.min', '.max', '[0]', '[1]')}"
        yield from (f"{many}.size" for many in self.named(scope, "strs"))
        yield from (f"{one}.to_i" for one in self.named(scope, "bool"))
        if self.chance(0.2):
            yield from (f"({self.expression('float', scope, depth + 1)}).to_i" for _ in range(depth < 2))
            yield from (
                f"sizeof<{self.one('u1', 's2', 'u4', 'f8', 'b3', 'b17')}>",
                f"bitsizeof<{self.one('u2', 'b13')}>",
            )
            yield f"{self.expression('ints', scope, 2)}{self.one('.size', '.first', '.last', '.min', '.max', '[1]')}"
        yield from (f"{many}[{self.one('0', '_index', '1')}]" for many in self.named(scope, "ints") * index)
        yield from (f"{name}.to_i" for name, kind in scope if kind.startswith("enum:"))
        for name, kind in scope:
            if kind.startswith(("obj:", "objs:")):
                step = "" if kind.startswith("obj:") else self.one(".first", ".last", "[0]")
                inner = self.types[kind.partition(":")[2]]
                yield from (f"{name}{step}.{one}" for one in self.named(inner, "int"))
                yield from (f"{name}{step}.{one}.size" for one in self.named(inner, "ints", "strs"))
                yield from (f"{name}{step}.{one}.to_i" for one, of in inner if of.startswith("enum:"))
                yield f"{name}{step}._io.size"
        if depth < 3:
            for _ in range(3):
                yield self._arithmetic(scope, depth, index)
            yield f"{self.one('-', '~')}({self.expression('int', scope, depth + 1, index=index)})"
            yield self._choice("int", scope, depth)

    def _arithmetic(self, scope: Scope, depth: int, index: bool) -> str:
        left, right = (self.expression("int", scope, depth + 1, index=index) for _ in range(2))
        operator = self.one("+", "-", "*", "%", "/", "&", "|", "^", "<<", ">>")
        if operator in ("%", "/"):
            right = self.one("3", "5", f"(({right}) & 7 | 1)")
        elif operator in ("<<", ">>"):
            right = f"(({right}) & 7)"
        return f"{left} {operator} {right}" if self.chance(0.4) else f"({left} {operator} {right})"

    def _choice(self, kind: str, scope: Scope, depth: int) -> str:
        then, otherwise = (self.expression(kind, scope, depth + 1) for _ in range(2))
        return f"({self.expression('bool', scope, depth + 1)} ? {then} : {otherwise})"

    def _truths(self, scope: Scope, depth: int, index: bool) -> Iterator[str]:
        def operands(kind: str) -> tuple[str, str]:
            left, right = (self.expression(kind, scope, depth + 1, index=index) for _ in range(2))
            return left, right

        left, right = operands("int")
        yield from [f"{left} {self.one('==', '!=', '<', '>', '<=', '>=')} {right}"] * 4
        yield self.one("true", "false")
        yield from self.named(scope, "bool") * 2
        yield from ["_io.eof"] * self.chance(0.2)
        for name, kind in scope:
            if kind.startswith("enum:"):
                yield f"{name} {self.one('==', '!=')} {kind[5:]}::{self.one(*ENUM)}"
        if depth < 2:
            left, right = operands("float")
            yield f"{left} {self.one('==', '<', '>=')} {right}"
            left, right = operands("str")
            yield f"{left} {self.one('==', '!=', '<', '>=')} {right}"
            left, right = operands("bytes")
            yield f"{left} {self.one('==', '!=', '<')} {right}"
            left, right = operands("bool")
            yield f"({left} {self.one('and', 'or')} {right})"
            yield f"not ({left})"

    def _texts(self, scope: Scope, depth: int, index: bool) -> Iterator[str]:
        yield self.one(*TEXTS)
        for text in self.named(scope, "str"):
            yield from (text, f"{text}.reverse", f"{text}.substring({self.one(0, 1)}, {self.one(2, 3, 5)})")
        for raw in self.named(scope, "bytes"):
            yield f'{raw}.to_s("{self.one(*ENCODINGS, "IBM437", "SJIS")}")'
        yield from (f"{many}{self.one('[0]', '.last', '.max')}" for many in self.named(scope, "strs"))
        if depth < 2:
            yield f"({self.expression('int', scope, 2, index=index)}).to_s"
            if self.chance(0.3):
                held = self.expression(self.one("int", "str", "int"), scope, 2, index=index)
                yield (
                    f'f"<{{{held}}}|{{1 + 1}}>"' if '"' not in held and "'" not in held else f"{TEXTS[1]} + {TEXTS[0]}"
                )
            for name, kind in scope:
                if kind.startswith("obj:"):
                    yield from (f"{name}.{one}" for one in self.named(self.types[kind[4:]], "str"))
            yield f"({self.expression('str', scope, depth + 1)} + {self.expression('str', scope, depth + 1)})"
            yield self._choice("str", scope, depth)

    def _bytes(self, scope: Scope, depth: int, index: bool) -> Iterator[str]:
        yield self.one("[1, 2]", "[0x41]", "[0xff, 0, 7]", "[].as<bytes>")
        yield from self.named(scope, "bytes") * 2

    def _streams(self, scope: Scope, depth: int, index: bool) -> Iterator[str]:
        yield from ("_io", "_root._io", *self.named(scope, "io"))
        yield from (f"{name}._io" for name, kind in scope if kind.startswith("obj:"))

    def _floats(self, scope: Scope, depth: int, index: bool) -> Iterator[str]:
        yield from [self.one("0.5", "1.0", "3.25", "-2.5", "1e3", "12.75e-1")] * 2
        yield from self.named(scope, "float") * 3
        for name, kind in scope:
            if kind.startswith("obj:"):
                yield from (f"{name}.{one}" for one in self.named(self.types[kind[4:]], "float"))
        if depth < 2:
            left = self.expression("float", scope, depth + 1, index=index)
            right = self.expression(self.one("float", "int"), scope, depth + 1, index=index)
            left, right = self.one((left, f"({right})"), (f"({right})", left))
            yield f"({left} {self.one('+', '-', '*')} {right})"
            yield f"({left} / {self.one('2.0', '0.5', '4.0')})"
            yield f"-({self.expression('float', scope, depth + 1, index=index)})"
            yield self._choice("float", scope, depth)

    def _lists(self, scope: Scope, depth: int, index: bool) -> Iterator[str]:
        yield self.one("[1000, 2, 3]", "[-1, 5, 70000]", "[0x100, 1_000_000]")
        yield from self.named(scope, "ints") * 2
        if depth < 3:
            one = self.expression("int", scope, depth + 1, index=index)
            yield f"[{one}, 300, {self.expression('int', scope, depth + 1, index=index)}]"

    def _size(self, scope: Scope, *, index: bool = False) -> str:
        if self.chance(0.5):
            return str(self.random.randrange(7))
        return f"({self.expression('int', scope, 1, index=index)}) & {self.one(1, 3, 7)}"

    # Fields.

    def _field(self, scope: Scope, refs: list[str]) -> tuple[dict[str, Any], str]:
        """A field without its name, and its kind."""
        made: list[Callable[[Scope, list[str], bool], tuple[dict[str, Any], str]]]
        made = [self._number, self._number, self._bits, self._string, self._raw, self._ended, self._named, self._plain]
        made += [self._structure, self._structure, self._switch] if refs else []
        repeats = self.chance(0.25)
        out, kind = self.one(*made)(scope, refs, repeats)
        if "contents" in out:
            return out, kind
        if repeats:
            out |= self._repeated(scope, kind)
            one, _, type = kind.partition(":")
            kind = {"int": "ints", "str": "strs", "obj": f"objs:{type}"}.get(one, "any")
        if self.chance(0.15):
            out["if"] = self.expression("bool", scope, 1)
            kind = kind if kind == "int" else "any"
        return out, kind

    def _repeated(self, scope: Scope, kind: str) -> dict[str, Any]:
        how = self.one("expr", "expr", "until", "eos")
        if how == "expr":
            return {"repeat": how, "repeat-expr": self._size(scope)}
        if how == "eos":
            return {"repeat": how}
        drawn = UNTIL.get(kind, ["_io.eof", "_index >= 2", "_io.pos > 9"])
        if kind.startswith("obj:"):
            inner = self.types[kind[4:]]
            drawn = [*drawn, *(f"_.{one} & 3 == 1 or _index > 4" for one in self.named(inner, "int"))]
            drawn += [f"_.{one}" for one in self.named(inner, "bool")]
        if kind.startswith("enum:"):
            drawn = [*drawn, f"_ == {kind[5:]}::a"]
        if kind == "float":
            drawn = [*drawn, "_ > 1.5"]
        if kind in ("int", "bool"):
            drawn = [*drawn, self.expression("bool", [*scope, ("_", kind)], 1, index=True)]
        return {"repeat": how, "repeat-until": self.one(*drawn)}

    def _number(self, scope: Scope, refs: list[str], repeats: bool) -> tuple[dict[str, Any], str]:
        type = self.one(*NUMBERS)
        out: dict[str, Any] = {"type": type + (self.one("le", "be", "", "") if type[1] != "1" else "")}
        if self.chance(0.12) and not repeats:
            key, value = self.one(*VALID)
            out["valid"] = {key: list(value) if isinstance(value, tuple) else value}
        return out, "int"

    def _bits(self, scope: Scope, refs: list[str], repeats: bool) -> tuple[dict[str, Any], str]:
        width = self.one(*WIDTHS)
        return {"type": f"b{width}"}, "bool" if width == 1 else "int"

    def _named(self, scope: Scope, refs: list[str], repeats: bool) -> tuple[dict[str, Any], str]:
        enum = self.one(*self.enums)
        return {"type": self.one("u1", "u2le", "b4", "s1"), "enum": enum}, f"enum:{enum}"

    def _plain(self, scope: Scope, refs: list[str], repeats: bool) -> tuple[dict[str, Any], str]:
        if self.chance(0.5):
            return {"type": self.one("f4", "f8") + self.one("le", "be", "")}, "float"
        return {"contents": self.one([0], [1, 2], "A", [0x41, "b"])}, "bytes"

    def _sized(self, scope: Scope, repeats: bool) -> dict[str, Any]:
        out: dict[str, Any] = {"size-eos": True} if self.chance(0.12) else {"size": self._size(scope, index=repeats)}
        if self.chance(0.25):
            out["terminator"] = self.one(0, 32, 0x41)
            out |= {"include": self.one(True, False)} if self.chance(0.4) else {}
        return out | ({"pad-right": self.one(0, 32, 0x41)} if self.chance(0.2) else {})

    def _string(self, scope: Scope, refs: list[str], repeats: bool) -> tuple[dict[str, Any], str]:
        return {"type": "str", "encoding": self.one(*ENCODINGS), **self._sized(scope, repeats)}, "str"

    def _raw(self, scope: Scope, refs: list[str], repeats: bool) -> tuple[dict[str, Any], str]:
        process = self.one("xor(7)", "xor([1, 2, 3])", "rol(3)", "ror(1)", "xor(0xff)")
        return self._sized(scope, repeats) | ({"process": process} if self.chance(0.15) else {}), "bytes"

    def _ended(self, scope: Scope, refs: list[str], repeats: bool) -> tuple[dict[str, Any], str]:
        text = self.chance(0.5)
        out = {"type": "strz", "encoding": self.one("ASCII", "UTF-8", "UTF-16LE")} if text else {}
        out |= {} if text else {"terminator": self.one(0, 1, 32, 255)}
        drawn = [("include", True), ("consume", False), ("eos-error", False)]
        return out | {key: value for key, value in drawn if self.chance(0.22)}, "str" if text else "bytes"

    def _structure(self, scope: Scope, refs: list[str], repeats: bool) -> tuple[dict[str, Any], str]:
        type = self.one(*refs)
        out: dict[str, Any] = {"type": self._call(type, scope, repeats)}
        if self.chance(0.4):
            out["size"] = self._size(scope, index=repeats)
            out |= {"process": self.one("xor(9)", "rol(1)")} if self.chance(0.15) else {}
            out |= {"terminator": self.one(0, 9)} if self.chance(0.15) else {}
        elif self.chance(0.1):
            out["size-eos"] = True
        return out, f"obj:{type}"

    def _switch(self, scope: Scope, refs: list[str], repeats: bool) -> tuple[dict[str, Any], str]:
        enums = [(name, kind[5:]) for name, kind in scope if kind.startswith("enum:")]
        if enums and self.chance(0.4):
            on, enum = self.one(*enums)
            keys = [f"{enum}::{one}" for one in ENUM]
        elif self.named(scope, "str") and self.chance(0.3):
            on, keys = self.one(*self.named(scope, "str")), ['"a"', '"b"', '""']
        else:
            on, keys = f"({self.expression('int', scope, 1, index=repeats)}) & 3", ["0", "1", "2", "3"]
        keys = keys[: self.random.randrange(1, len(keys) + 1)] + (["_"] if self.chance(0.6) else [])
        bare = ["u1", "u2le", "u4be", "f4le"]
        cases = {
            key: self._call(self.one(*refs), scope, repeats) if self.chance(0.7) else self.one(*bare) for key in keys
        }
        out: dict[str, Any] = {"type": {"switch-on": on, "cases": cases}}
        return out | ({"size": self._size(scope, index=repeats)} if self.chance(0.4) else {}), "any"

    def _call(self, type: str, scope: Scope, index: bool) -> str:
        given = [self.expression(kind, scope, 2, index=index) for _, kind in self.params.get(type, [])]
        return f"{type}({', '.join(given)})" if given else type

    # Types.

    def _parameter(self, kind: str) -> dict[str, str]:
        if kind.startswith("enum:"):
            return {"type": "u1", "enum": kind[5:]}
        return {"type": {"int": "s4", "float": "f8", "ints": "s8[]"}.get(kind, kind)}

    def _body(self, name: str, refs: list[str], above: Scope) -> tuple[dict[str, Any], Scope]:
        """The fields and instances of a type, and what expressions may use of it."""
        own = list(self.params.get(name, []))
        seq, instances = [], {}
        for number in range(self.random.randrange(1, 7)):
            found, kind = self._field(own + above * self.chance(0.4), refs)
            unnamed = self.chance(0.07)
            seq.append(found if unnamed else {"id": f"f{number}", **found})
            own += [] if unnamed else [(f"f{number}", kind)]
        for number in range(self.random.randrange(4)):
            scope = own + above * self.chance(0.4)
            if self.chance(0.5):
                kind = self.one("int", "int", "bool", "str", "bytes", "float", "ints")
                found = {"value": self.expression(kind, scope)}
                if kind == "int" and self.chance(0.15):
                    found["enum"] = self.one(*self.enums)
                    kind = f"enum:{found['enum']}"
            else:
                found, kind = self._field(scope, refs)
                if "contents" in found:
                    continue
                found["pos"] = self._size(scope) if self.chance(0.8) else "_io.pos"
                streams = [f"{one}._io" for one, kind_ in own if kind_.startswith("obj:")] + self.named(own, "io") * 3
                found |= {"io": self.one("_root._io", "_io", *streams)} if self.chance(0.25) else {}
            instances[f"i{number}"] = found
            own.append((f"i{number}", kind))
        self.types[name] = own
        return {"seq": seq} | ({"instances": instances} if instances else {}), own

    def specification(self, id: str) -> dict[str, Any]:
        """A whole one: up to three types with parameters, the top, and a type that examines those above it."""
        self.enums = ["e0", "e1"][: self.random.randrange(1, 3)]
        enums = {one: dict(zip((self.one(0, 1, 2), 3, self.one(4, 7, 200)), ENUM, strict=True)) for one in self.enums}
        meta = {"id": id, "endian": self.one("le", "be"), "encoding": "UTF-8", "bit-endian": self.one("le", "be")}
        types: dict[str, Any] = {}
        for number in range(self.random.randrange(4)):
            name = f"t{number}"
            if self.chance(0.3):
                drawn = ("int", "int", "bool", "str", "float", "bytes", "ints", "io", f"enum:{self.enums[0]}")
                kinds = [self.one(*drawn) for _ in range(self.random.randrange(1, 3))]
                self.params[name] = [(f"p{number}", kind) for number, kind in enumerate(kinds)]
            given = [{"id": one, **self._parameter(kind)} for one, kind in self.params.get(name, [])]
            body, _ = self._body(name, list(types), [])
            types[name] = ({"params": given} if given else {}) | body
        top, own = self._body(id, list(types), [])
        if self.chance(0.5):
            above = [
                (f"{self.one('_parent', '_root', '_root.as<' + id + '>')}.{name}", kind)
                for name, kind in own
                if kind != "any"
            ]
            if self.chance(0.5):
                higher = [(f"_parent.{name}" if name.startswith("_parent") else name, kind) for name, kind in above]
                types["deep"] = self._body("deep", list(types), higher)[0]
            types["below"], _ = self._body("below", [one for one in types if one != "deep"], above)
            if "deep" in types:
                types["below"]["seq"].append({"id": "low", "type": "deep"})
            kid = {"id": "kid", "type": "below"} | ({"size": self._size(own)} if self.chance(0.4) else {})
            top["seq"].append(kid | ({"repeat": "expr", "repeat-expr": 2} if self.chance(0.3) else {}))
        return {"meta": meta, **top, **({"types": types} if types else {}), "enums": enums}


def write(folder: Path, first: int, count: int) -> None:
    """Write the specifications of `count` seeds."""
    for seed in range(first, first + count):
        id = f"drawn_{seed}"
        text = yaml.safe_dump(Drawn(seed).specification(id), sort_keys=False, width=1000, allow_unicode=True)
        (folder / f"{id}.ksy").write_text(text, encoding="utf-8")


def compare(folder: Path, seeds: int) -> tuple[int, int, list[str]]:
    """How many specifications in a folder were compared, on how many inputs, and what differs.

    Where an input is refused is not compared: Kaitai's classes put it at the structure whose argument could not be
    computed, and at the element of a list whose first element could not.
    """
    collection = Collection(folder)
    specs = inputs = 0
    problems = []
    for file in collection.files:
        if file not in collection.oracles:  # such as names that Python has
            continue
        try:
            specification = collection.compiled(file)
        except SpecificationError as error:
            problems.append(f"{file.stem}: refused: {error}")
            continue
        tried = collection.compare(file, specification, seeds)
        specs, inputs = specs + 1, inputs + tried.compared
        if tried.problem and "refused at different places" not in tried.problem:
            problems.append(f"{file.stem}: {tried.problem}")
    return specs, inputs, problems


def main(first: int, count: int) -> int:
    """Compare the specifications of some seeds; return how many differ."""
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), first, count)
        specs, inputs, problems = compare(Path(folder), 2)
    for problem in problems:
        sys.stdout.write(f"{problem}\n")
    sys.stdout.write(f"{specs} specifications, {inputs} inputs, {len(problems)} specifications differ\n")
    return len(problems)


if __name__ == "__main__":
    sys.exit(bool(main(*map(int, sys.argv[1:]))))
