"""What a hostile specification tries: to reach what is not in the file, to become code, to take the machine.

Each row fails when the compiler lets it pass, so the table is the list of attacks that are known.
"""

from __future__ import annotations

import ast
import builtins
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.compiler import audit, refusal
from exhume.compiler.emit.text import written_doc
from exhume.compiler.front.specs import Model
from exhume.compiler.ir import bits
from exhume.compiler.refusal import UnsupportedError
from exhume.errors import ExhumeError, SpecificationError
from exhume.layout import foreign_table, schema
from exhume.layout.foreign import Specification, compile_ksy
from tests.conftest import ROOT
from tests.forks import Forks
from tests.fuzz import expressions
from tests.sizes import THOROUGH
from tests.toolchain import hostile

BASE = """
meta: {id: one, endian: le, encoding: ASCII}
params: [{id: some, type: any}, {id: node, type: struct}, {id: stream, type: io}]
seq:
  - {id: a, type: u1}
  - {id: b, type: {switch-on: a, cases: {1: t1, _: t2}}}
  - {id: c, type: t1}
  - {id: mixed, type: {switch-on: a, cases: {1: t1, 2: u1}}}
  - {id: numbers, type: u2, repeat: expr, repeat-expr: 2}
  - {id: rows, type: t1, repeat: expr, repeat-expr: 2}
  - {id: raw, size: 2}
  - {id: text, type: str, size: 2}
  - {id: real, type: f4}
  - {id: named, type: u1, enum: e}
  - {id: flag, type: b1}
enums: {e: {1: x}}
types:
  t1: {seq: [{id: q, type: u1}, {id: hex, type: u1}]}
  t2: {seq: [{id: q, type: u1}]}
"""

VALUES = {
    "b.__class__.__name__": r"__class__ begins or ends with `__`",
    "a.__class__": r"__class__ begins or ends with `__`",
    "c.q.__init__": r"__init__ begins or ends with `__`",
    "_io.__class__": r"__class__ begins or ends with `__`",
    "_root.__dict__": r"__dict__ begins or ends with `__`",
    "_parent.__slots__": r"__slots__ begins or ends with `__`",
    "rows.__class__": r"__class__ begins or ends with `__`",
    "rows[0].__class__": r"__class__ begins or ends with `__`",
    "(a == 1 ? c : c).__class__": r"__class__ begins or ends with `__`",
    "c.as<t2>.__class__": r"__class__ begins or ends with `__`",
    'f"{c.__class__}"': r"__class__ begins or ends with `__`",
    "c.q__": r"q__ begins or ends with `__`",
    "__import__": r"__import__ begins or ends with `__`",
    "_unpack0": r"_unpack0 is not a name",
    "_layout": r"_layout is not a name",
    "_io_": r"_io_ is not a name",
    "print": r"one has no print",
    "exec": r"one has no exec",
    "view": r"one has no view",
    "struct": r"one has no struct",
    "some.x": r"a value of unknown type has no `x` \(`\.as<\.\.\.>` says what it is\)",
    "some.length": r"a value of unknown type has no `length`",
    "mixed.q": r"a value of unknown type has no `q`",
    "b.q": r"a structure of one of several types has no `q`",
    "node.q": r"a structure of one of several types has no `q`",
    "node._root": r"a structure of one of several types has no `_root`",
    "a.real": r"an integer has no `real`",
    "a.numerator": r"an integer has no `numerator`",
    "a.to_bytes": r"an integer has no `to_bytes`",
    "real.hex": r"a float has no `hex`",
    "named.to_s": r"a value of an enum has no `to_s` \(did you mean 'to_i'\?\)",
    "flag.denominator": r"a truth value has no `denominator`",
    "text.format": r"a text has no `format`",
    "text.encode": r"a text has no `encode`",
    "raw.obj": r"bytes has no `obj`",
    "raw.tobytes": r"bytes has no `tobytes`",
    "numbers.append": r"a list has no `append`",
    "numbers.lenght": r"a list has no `lenght`",
    "rows.view": r"a list has no `view`",
    "rows.resume_at": r"a list has no `resume_at`",
    "stream.read": r"a stream has no `read`",
    "_io.count": r"a stream has no `count`",
    "c.PLACES": r"one::t1 has no PLACES",
    "c.extent": r"one::t1 has no extent",
    "c._io.index": r"a stream has no `index`",
    "[1, 2, 300].append": r"a list has no `append`",
    "text.format(1)": r"a text has no `format\(\)`",
    "text.substring(0)": r"`substring\(\)` takes 2 arguments, not 1",
    "text.substring(raw, 1)": r"`substring\(\)` takes an integer, not bytes",
    "text.to_i(1, 2)": r"`to_i\(\)` takes 0 to 1 arguments, not 2",
    "text.to_i(text)": r"`to_i\(\)` takes an integer, not a text",
    "raw.to_s(text)": r"`to_s\(\)` takes the name of an encoding",
    'raw.to_s("zlib_codec")': r"encoding 'zlib_codec' is not known",
    'raw.to_s("idna")': r"encoding 'idna' is not known",
    "c.q()": r"a structure of type one::t1 has no `q\(\)`",
    "numbers.append(1)": r"a list has no `append\(\)`",
    "some.as<t1>()": r"was not expected",
    "text.as<t1>.hex": r"`as<t1>` takes a structure of type one::t1, not a text",
    "raw.as<t1>.hex": r"`as<t1>` takes a structure of type one::t1, not bytes",
    "numbers.as<t1[]>[0].hex": r"`as<t1\[\]>` takes a structure of type one::t1, not an integer",
    "a.as<io>.size": r"`as<io>` takes a stream, not an integer",
    '"aaaaaaaa" * 999999999': r"`\*` does not take a text and an integer",
    "[1, 2, 300] * 999999999": r"`\*` does not take a list and an integer",
    "[1, 2] * 999999999": r"`\*` does not take bytes and an integer",
    '"%999999999d" % 5': r"`%` does not take a text and an integer",
    "raw + raw": r"`\+` does not take bytes and bytes",
    "numbers + numbers": r"`\+` does not take a list and a list",
    "c == c": r"`==` does not take a structure of type one::t1 and a structure of type one::t1",
    "some == 1": r"`==` does not take a value of unknown type and an integer",
    "not a": r"`not` takes a truth value, not an integer",
    "-text": r"`-` takes a number, not a text",
    "~real": r"`~` takes an integer, not a float",
    "a ? 1 : 2": r"a condition is a truth value, not an integer",
    "real << 2": r"`<<` does not take a float and an integer",
    "a[0]": r"only a list or bytes have elements, not an integer",
    "text[0]": r"only a list or bytes have elements, not a text",
    "numbers[text]": r"an index is an integer, not a text",
    'f"{c}"': r"a format string shows an integer or a text, not a structure of type one::t1",
    'f"{some}"': r"a format string shows an integer or a text, not a value of unknown type",
    "_index": r"`_index` has no meaning here",
    "_": r"",
    "rows.min": r"`min` is that of numbers or texts, not a structure of type one::t1",
    "e::x.name": r"a value of an enum has no `name`",
    "sizeof<t9>": r"no type t9",
    "sizeof<u2le>": r"`u2le` is not the type of a value",
    "bitsizeof<f8be>": r"`f8be` is not the type of a value",
    "a.as<u1le>": r"`u1le` is not the type of a value",
    "text.as<strz>": r"`strz` is not the type of a value",
    "numbers.as<u4be[]>": r"`u4be\[\]` is not the type of a value",
    "[].as<u1[][]>": r"`u1\[\]\[\]` is not the type of a value",
    "c.as<__class__>": r"__class__ begins or ends with `__`",
    "lambda": r"one has no lambda",
    "a if a else a": r"'if' was not expected",
    "a := 1": r"cannot read|one too many",
    "a; a": r"cannot read '; a'",
    "a\n.__class__": r"__class__ begins or ends with `__`",
}  # fmt: skip
"""Values of an instance, and why they are refused."""

KEYS = {
    "seq: [{id: a, size: '\"x\"'}]": r"`size` is an integer, not a text.*, field one.a: size",
    "seq: [{id: a, type: u1, if: 1}]": r"`if` is a truth value, not an integer.*, field one.a: if",
    "seq: [{id: a, type: u1, repeat: expr, repeat-expr: true}]": r"`repeat-expr` is an integer, not a truth value",
    "seq: [{id: a, type: u1, repeat: until, repeat-until: _}]": r"`repeat-until` is a truth value, not an integer",
    "seq: [{id: a, type: u1, repeat: until, repeat-until: _.real == 1}]": r"an integer has no `real`",
    "instances: {a: {pos: 0, io: 5, type: u1}}": r"`io` is a stream, not an integer.*, field one.a: io",
    "instances: {a: {pos: _io, type: u1}}": r"`pos` is an integer, not a stream.*, field one.a: pos",
    "seq: [{id: a, type: u1, valid: {expr: _.denominator == 1}}]": r"an integer has no `denominator`",
    "seq: [{id: a, type: u1, valid: {expr: _}}]": r"`expr` is a truth value, not an integer",
    "seq: [{id: a, type: u1, valid: {any-of: ['\"x\"']}}]": r"`==` does not take an integer and a text",
    "seq: [{id: a, type: u1, valid: {max: _io.__class__}}]": r"__class__ begins or ends",
    "seq: [{id: a, type: {switch-on: _io, cases: {1: u1}}}]": r"a choice is made by a number",
    "seq: [{id: a, type: {switch-on: 1, cases: {'_io': u1}}}]": r"`==` does not take an integer and a stream",
    "seq: [{id: a, type: {switch-on: 1, cases: {'1.real': u1}}}]": r"an integer has no `real`|one too many",
    "seq: [{id: a, size: 1, process: xor(_io)}]": r"`xor` takes an integer or bytes, not a stream",
    "seq: [{id: a, size: 1, process: 'xor(__import__)'}]": r"__import__ begins or ends",
    "seq: [{id: a, size: 1, process: 'rol(1.5)'}]": r"`rol` takes an integer, not a float",
    "seq: [{id: a, size: 1, process: os.system(1)}]": r"`process: os.system\(1\)` is not supported",
    "seq: [{id: a, size: 1, process: exec(1)}]": r"`process: exec\(1\)` is not supported",
    "seq: [{id: a, type: 't(\"x\")'}]\ntypes: {t: {params: [{id: p, type: u1}]}}":
        r"the parameter p of one::t is an integer",
    "seq: [{id: a, type: t(_io)}]\ntypes: {t: {params: [{id: p, type: t}]}}":
        r"p of one::t is a structure of type one::t",
    "seq: [{id: a, type: 't(a.__class__)'}]\ntypes: {t: {params: [{id: p, type: any}]}}": r"__class__ begins or ends",
    "seq: [{id: a, type: t(5)}]\ntypes: {t: {params: [{id: p, type: any}], instances: {v: {value: p.real}}}}":
        r"a value of unknown type has no `real`.*, field one::t.v: value",
    "seq: [{id: __class__, type: u1}]": r"'__class__' is not a name",
    "seq: [{id: a__, type: u1}]": r"'a__' ends with `__`",
    "seq: [{id: \"a\\nb\", type: u1}]": r"is not a name",
    "seq: [{id: \"a\\0b\", type: u1}]": r"is not a name|not YAML",
    "seq: [{id: A, type: u1}]": r"'A' is not a name",
    f"seq: [{{id: {'a' * 201}, type: u1}}]": r"a name longer than 200 characters: a{60},",
    "instances: {__init__: {value: 1}}": r"'__init__' is not a name",
    "types: {__t: {seq: []}}": r"'__t' is not a name",
    "enums: {e: {1: '__doc__'}}": r"'__doc__' is not a name",
    "enums: {e: {1: \"a\\nb\"}}": r"is not a name",
    "enums: {e: {'__import__(1)': a}}": r"is not an integer of 64 bits",
    "enums: {__e: {1: a}}": r"'__e' is not a name",
    "params: [{id: __p, type: u1}]": r"'__p' is not a name",
    "seq: [{id: a, type: str, size: 1, encoding: hex}]": r"encoding 'hex' is not known",
    "seq: [{id: a, type: str, size: 1, encoding: rot13}]": r"encoding 'rot13' is not known",
    "seq: [{id: a, type: str, size: 1, encoding: zlib_codec}]": r"encoding 'zlib_codec' is not known",
    "seq: [{id: a, type: str, size: 1, encoding: '\"+x+\"'}]": r"encoding .* is not known",
    "instances: {v: {value: 1.5, enum: e}}\nenums: {e: {1: x}}": r"what an enum names is an integer, not a float",
    "seq: [{id: a, type: u1, parent: _root}]": r"`parent` is not a key here",
    "seq: [{id: a, size: 1, terminator: '__'}]": r"`terminator` is a byte",
    "seq: [{id: a, contents: {x: y}}]": r"`contents` is a string, or a list",
}  # fmt: skip
"""The rest of a specification, and why it is refused."""


@pytest.fixture(name="compiled")
def compiled_(tmp_path: Path) -> Any:
    """Compile the text of a specification."""

    def compiled(text: str) -> Specification:
        file = tmp_path / "one.ksy"
        file.write_text(text, encoding="utf-8")
        return compile_ksy(file)

    return compiled


@pytest.mark.parametrize("value", VALUES)
def test_a_value_reaches_nothing_but_values(compiled: Any, value: str) -> None:
    quoted = value.replace("'", "''")
    with pytest.raises(SpecificationError, match=VALUES[value] or "one.v") as caught:
        compiled(f"{BASE}instances:\n  v:\n    value: '{quoted}'\n")
    assert "\n" not in str(caught.value)
    assert "field one.v" in str(caught.value)


@pytest.mark.parametrize("rest", KEYS)
def test_no_key_reaches_anything_else(compiled: Any, rest: str) -> None:
    with pytest.raises(SpecificationError, match=KEYS[rest]) as caught:
        compiled(f"meta: {{id: one, encoding: ASCII}}\n{rest}\n")
    assert "\n" not in str(caught.value)


def test_the_base_of_the_table_is_covered(compiled: Any) -> None:
    assert compiled(BASE).id == "one"


CASTS = """
meta: {id: one, endian: le, encoding: ASCII}
params: [{id: some, type: any}]
seq: [{id: a, type: u1}, {id: b, type: {switch-on: a, cases: {1: t1, 2: t2, 3: strz, 4: u1}}}]
instances:
  taken: {value: some.as<t1>.hex}
  chosen: {value: b.as<t1>.hex}
  length: {value: b.as<str>.length}
  listed: {value: 'some.as<t1[]>[0].hex'}
types:
  t1: {seq: [{id: hex, type: u1}]}
  t2: {seq: [{id: hex, type: u1}]}
"""


class Canary:
    """An object outside the file; it must not be examined."""

    seen: tuple[str, ...] = ()

    def __getattr__(self, name: str) -> Any:
        Canary.seen += (name,)
        return self


@pytest.mark.parametrize(
    "data", [b"\1\7", b"\2\7", b"\3hi\0", b"\4\7"], ids=["a structure", "of another type", "text", "a number"]
)
@pytest.mark.parametrize("some", [1.5, "text", b"bytes", memoryview(b"bytes"), [1], ["x"], "canary", ["canary"], None])
def test_a_cast_is_looked_at_when_it_is_read(compiled: Any, data: bytes, some: Any) -> None:
    """A value that is not what the specification takes it for has no members, though Python's may have that name."""
    Canary.seen = ()
    some = Canary() if some == "canary" else [Canary()] if some == ["canary"] else some
    found = compiled(CASTS).read(data, some)
    for name in ("taken", "listed"):
        with pytest.raises((ValueError, AttributeError, TypeError)):
            getattr(found, name)
    for name, fits in (("chosen", data[0] == 1), ("length", data[0] == 3)):
        if fits:
            assert getattr(found, name) in (2, 7)
        else:
            with pytest.raises(ValueError, match=r"expected a (structure of type one::t1|text), found "):
                getattr(found, name)
    assert Canary.seen == ()


# Code.

NAMES = frozenset({"field", "_field"})


@pytest.mark.parametrize(
    "code",
    [
        "import os", "import sys", "import struct as field", "from os import path", "from . import other",
        "from .other import read_one", "from ._layout import exec", "from __future__ import division",
        "field = __import__", "field = eval", "field = getattr", "field = open", "field = type",
        "field = view.__class__", "field = view.obj", "field = len.__self__", "def __getattr__(field): pass",
        "field = lambda: 1", "field = [one for one in view]", "field = {1}", "field = (yield)",
        "def read(field, *rest): pass", "def read(*, field): pass", "@field\ndef read(field): pass",
        "class One(object): pass", "class One(metaclass=object): pass", "class One:\n    __class__ = 1",
        "field = 1\nfield()", "field = view.field\nfield()", "view = 1\nview.field()", "(field := len)()",
        "field = 1\nfield.append(*field)", "field = len(view=1)", "with view: pass", "global field",
        "async def read(field): pass", "field = f'{len!r}'", "field = f'{len:10}'",
        "try:\n    pass\nexcept* field: pass",
        "assert field", "match field:\n    case 1: pass", "raise SystemExit", "field = 1\nlen[field]()",
        "(lambda: 1)()",
        "field: __import__ = 1", "__builtins__ = 1", "field = __builtins__", "field = __name__", "nonlocal field",
        "field = 2**9", "field = view @ view",
        "\0", "(" * 500 + ")" * 500, "field = " + "-" * 5000 + "1", "def",
    ],
)  # fmt: skip
def test_code_that_the_compiler_does_not_write_is_refused(code: str) -> None:
    with pytest.raises(UnsupportedError, match="its code "):
        audit.audit(code, NAMES, frozenset({"read_one"}), frozenset({"one"}))


def test_code_runs_without_the_rest_of_python(compiled: Any) -> None:
    module = compiled("meta: {id: one}\nseq: [{id: a, type: u1}]").module
    found = vars(module)["__builtins__"]
    assert isinstance(found, dict)
    assert found.keys() == audit.BUILTINS | {"__build_class__", "__import__"}
    with pytest.raises(ImportError, match="compiled readers do not import 'os'"):
        found["__import__"]("os", vars(module), None, ("path",), 0)
    assert not hasattr(builtins, "LayoutError")


def test_what_is_not_audited_is_not_run(compiled: Any) -> None:
    specification = compiled("meta: {id: one}\nseq: [{id: a, type: u1}]")
    for line in ("import os", "read_one = None\nread_one.__class__"):
        texts = {**specification.texts, "one.py": specification.texts["one.py"] + line}
        changed = Specification("one", specification.specs, texts)
        with pytest.raises(SpecificationError, match="its code would have what no reader has"):
            changed.read(b"x")


def test_names_are_composed_of_declared_ones() -> None:
    names = frozenset({"a", "b_c", "d"})
    for name in ("a", "a_d", "b_c", "a_b_c_start", "d_end", "a_d_b_c"):
        assert audit.composed(name, names), name
    for name in ("b", "c", "a_", "_a", "a_c", "start", "_start", "a__d", "ad", "", "e_end"):
        assert not audit.composed(name, names), name


# Strings.


def code_of(doc: str) -> str:
    """The code of a specification with the same doc everywhere."""
    spec = {
        "meta": {"id": "one"},
        "doc": doc,
        "seq": [{"id": "a", "type": "u1", "doc": doc, "doc-ref": doc}],
        "instances": {"v": {"value": "a + 1", "doc": doc}},
        "types": {"t": {"doc": doc, "seq": [{"id": "x", "type": "u1", "doc": doc}], "to-string": '"text"'}},
        "enums": {"e": {"1": {"id": "x", "doc": doc, "-orig-id": doc}}},
    }
    from exhume.compiler.whole import compile_foreign

    return compile_foreign({"one": spec})["one.py"]


def bare(text: str) -> str:
    """Code without its doc strings."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            node.body = [
                one for one in node.body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
            ]
    return ast.dump(tree)


PLAIN = bare(code_of("x"))
SHARP = st.text(st.sampled_from("\\\"'{}N \n\t\r\0ux0a#\x0c\u2028\ud800\ufeffé"))
LONG = st.builds(lambda many, tail: "a" * many + tail, st.integers(100, 130), SHARP)


@given(doc=st.one_of(st.text(), SHARP, LONG, st.lists(st.one_of(SHARP, LONG)).map(" ".join)))
def test_no_text_changes_more_than_doc_strings(doc: str) -> None:
    assert bare(code_of(doc)) == PLAIN


@given(doc=st.one_of(SHARP, LONG))
def test_a_doc_string_states_what_the_text_states(doc: str) -> None:
    lines = written_doc(doc)
    read = ast.literal_eval("\n".join(lines).strip()) if lines else doc
    reported, stated = ("".join(one.split()) for one in (read, doc.replace('"""', "'''")))
    assert reported == stated


def test_an_instance_may_be_called_as_the_decorator_of_all(compiled: Any) -> None:
    found = compiled("meta: {id: one}\ninstances: {property: {value: 1}, other: {value: 2}}").read(b"")
    assert (found.property, found.other) == (1, 2)


def test_declared_names_are_those_of_the_model() -> None:
    spec = {"meta": {"id": "one"}, "seq": [{"id": "class", "type": "u1"}], "instances": {"v": {"value": "1"}}}
    model = Model({"one": spec}, foreign=True)
    assert audit.declared(model) == {"class", "class_", "_class", "_class_", "v", "_v", "_v_", "One"}


def test_every_refusal_is_an_error_of_ours() -> None:
    assert issubclass(SpecificationError, ExhumeError)


def test_expressions_of_the_grammar_reach_nothing_but_values() -> None:
    """`make fuzz-expressions` executes a million."""
    done, different, refused = expressions.run(20_000, seed=1)
    assert done >= 20_000
    assert different > 50
    assert refused > 100


def test_the_canary_sings() -> None:
    """An expression that examines what is outside the file is noticed."""
    with pytest.raises(AssertionError, match="an expression reached q of the canary"):
        _ = expressions.CANARY.q
    assert not expressions.is_value(len)
    assert not expressions.is_value([object()])
    assert not expressions.is_value(int)


@pytest.mark.parametrize("value", ["-[1, 2]", '-"x"', '~"x"', "not 1", "~1.5", "-true"])
def test_signs_of_constants_that_have_none_are_refused(compiled: Any, value: str) -> None:
    with pytest.raises(SpecificationError, match="takes "):
        compiled(f"meta: {{id: one}}\ninstances: {{v: {{value: '{value}'}}}}")


# What it costs.

SECONDS = 2.0
PEAK = 220
"""MB, besides those of an interpreter with everything loaded."""


@pytest.fixture(scope="module")
def forks() -> Iterator[Forks]:
    """What works out the cost of a specification, in a process that has done so before: everything is loaded."""
    imports = "from tests.forks import load_all; from tests.toolchain import hostile; import json\nload_all()"
    imports += "".join(f"\nhostile.cost({name!r})" for name in ("instances of itself", "one text in every row"))
    with Forks(imports, "print(json.dumps(hostile.cost(*words)))") as made:
        yield made


@pytest.mark.slow
@pytest.mark.parametrize("what", [name for name in hostile.HOSTILE if THOROUGH or name not in hostile.ALIKE])
def test_a_specification_takes_neither_time_nor_memory(what: str, forks: Forks) -> None:
    """Each is compiled, read, made into a table and explained; each of these ends soon, and with one line at most."""
    ran = forks.run(what)
    assert ran.code == 0, ran.err[-2000:]
    found = json.loads(ran.out)
    assert max(found["seconds"].values()) < SECONDS, found
    assert found["peak"] < PEAK, found
    assert "Traceback" not in found["stated"]
    assert found["stated"].count("\n") <= 3
    assert all(re.fullmatch(r"\d+|None|.* \[EX-\d+\]", code) for code in found["codes"]), found["codes"]


def test_the_budgets_are_documented() -> None:
    page = (ROOT / "docs/ksy.md").read_text(encoding="utf-8")
    table = page[page.index("### Budgets") : page.index("## One structure")]
    stated = set(re.findall(r"\d+(?:,\d{3})*", table))
    known = {
        refusal.STEPS, refusal.STEPS_PER_BYTE, refusal.HELD >> 20, refusal.HELD_PER_BYTE, refusal.EMPTY, refusal.BITS,
        refusal.TEXT, refusal.DIGITS, refusal.SIZE >> 20, refusal.NODES, refusal.DEPTH, refusal.FILES, refusal.TYPES,
        refusal.FIELDS, refusal.FIELDS_OF_ONE, refusal.EXPRESSION, refusal.EXPRESSIONS, refusal.CODE >> 20,
        schema.MOST_SHOWN, foreign_table.MOST_VALUES, foreign_table.VALUES_PER_BYTE,
    }  # fmt: skip
    assert {f"{one:,}" for one in known} <= stated


def test_whether_bytes_are_shared_is_examined_once_for_each_field(tmp_path: Path) -> None:
    def calls(many: int) -> int:
        fields = "".join(f"      - {{id: f{number}, type: %s}}\n" for number in range(many))
        text = f"meta: {{id: one}}\nseq:\n{fields % (('b',) * many)}types:\n  c: {{}}\n"
        (tmp_path / "one.ksy").write_text(f"{text}  b:\n    seq:\n{fields % (('c',) * many)}", encoding="utf-8")
        found = 0

        def count(frame: FrameType, event: str, _: object) -> None:
            nonlocal found
            found += event == "call" and frame.f_code.co_filename == bits.__file__

        before = sys.getprofile()
        sys.setprofile(count)
        try:
            compile_ksy(tmp_path / "one.ksy")
        finally:
            sys.setprofile(before)
        return found

    assert 0 < calls(40) < 3 * calls(20)
