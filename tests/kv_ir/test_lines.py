"""Lines of JSON: what the kernel makes of them is what the writer makes of the objects, and so are the errors."""

from __future__ import annotations

import io
import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exhume.errors import ExhumeError
from exhume.formats.kv_ir import kernel, lines, pykernel, units, writer
from tests.kv_ir.test_oracle import SEEDS, events
from tests.sizes import size

HEAD = b'{"x": 1}\n'
"""A line before the one in question, so that its number is not 1."""

PAIRS = json.dumps({units.USER: {"a": 1, "l": {"n": 2}}, units.AUTO: {"a": "b c", "x": []}})

RARE = [
    b'{"a": "\\udcff"}', b'{"a": "\\ud83d\\ude00 \\u00e9", "\\u0061": 1}', b'{"a": 1e400}', b'{"a": 5, "b": -0}',
    b'{"a": -0.0, "b": 1E5, "c": 0.1234567890123456789}', b'{"a": [18446744073709551615, -0, 1.0, 1e22, 0.30000001]}',
    b'{"a": ["\\u0000\\u007f/\\\\\\"\\b\\f\\n\\r\\t", {"/": [[], {}, null, true, false, "\xc3\xa9"]}]}',
    b'{"a": [1, {"b": 1, "b": 2}]}', b'{"a": {"b": 1, "b": 2}}', b'{"a": "x y 1.5 =k -7 12345678901 9.12345678"}',
    b' \t{ "a" : { "b" : { } , "c" : [ ] } } \r', b"", b" \r", b"\x0b\x0c", b"{}", b"[]", b'{"a": 1} {"a": 2}', b"{",
    b'{"a": "', b'{"a": "\xff"}', b'{"a": "\x01"}', b'{"a": NaN}', b'{"a": 9223372036854775808}', b"\xef\xbb\xbf{}",
    b'{"a": 01}', b'{"a": tru}', b'{"a": 1}\x00', b'{"a": ' * 120 + b"1" + b"}" * 120,
    b'{"a": ' + b"[" * 120 + b"]" * 120 + b"}",
    b'{"a": ' * 5000 + b"1" + b"}" * 5000, b'{"k": "%s"}' % (b"a" * 70_000),
    b'{"k": "%s"}' % (b"a 1" * 2_000 + b" b" * 35_000),
    b'{"' + b"k" * 300 + b'": -129, "b": -32769, "c": -2147483649}', b'{"": {"": ""}}', PAIRS.encode(),
    b'{"%s": {}}' % units.AUTO.encode(), b'{"%s": 1}' % units.USER.encode(), b'{"%s": []}' % units.AUTO.encode(),
]  # fmt: skip


def written(encoder: Any, text: bytes, path: Path, *, both: bool, codec: writer.Codec = "none") -> bytes | str:
    """The stream that lines become with an encoder, or the fault in them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writer, "KvIrEncoder", encoder)
        try:
            with writer.KvIrWriter(path, codec=codec, overwrite=True) as stream:
                lines.write_lines(stream, [io.BytesIO(text)], both=both)
        except ExhumeError as error:
            return f"{type(error)}: {error}"
    return path.read_bytes()


def check(text: bytes, path: Path, *, both: bool) -> None:
    """That both encoders make the same of lines."""
    ours = written(kernel.KvIrEncoder, text, path, both=both)
    assert ours == written(pykernel.KvIrEncoder, text, path, both=both)


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("line", RARE)
def test_rare_lines(line: bytes, both: bool, tmp_path: Path) -> None:
    for before in (b"", b"\n" + (b"{}\n" if both else HEAD)):
        check(before + line, tmp_path / "a.clp", both=both)
        check(before + line + b"\n{}\n" + before + line + b"\n", tmp_path / "a.clp", both=both)


@pytest.mark.parametrize("seed", SEEDS)
def test_drawn_events(seed: int, tmp_path: Path) -> None:
    given = events(seed)
    users = "".join(json.dumps(user, ensure_ascii=seed % 3 == 0) + "\n" for _, user in given)
    pairs = [json.dumps({units.AUTO: auto, units.USER: user}) for auto, user in given]
    check(users.encode(), tmp_path / "a.clp", both=False)
    check("\n".join(pairs).encode(), tmp_path / "a.clp", both=True)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 66), 1 << 66) | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
)


@given(
    st.lists(st.dictionaries(st.text(max_size=4), JSON, max_size=5), max_size=6), st.booleans(), st.binary(max_size=2)
)
@settings(max_examples=size(40, 2000), deadline=None)
def test_any_objects_and_damage(
    tmp_path_factory: pytest.TempPathFactory, given: Any, ascii: bool, damage: bytes
) -> None:
    text = "\n".join(json.dumps(one, ensure_ascii=ascii) for one in given).encode("utf-8", "surrogatepass")
    path = tmp_path_factory.getbasetemp() / "drawn.clp"
    check(text, path, both=False)
    at = random.Random(len(text)).randint(0, len(text))
    check(text[:at] + damage + text[at + 1 :], path, both=False)


def test_lines_in_pieces_and_many_keys(tmp_path: Path) -> None:
    """Several pieces of input, and more keys within arrays than are kept: the numbers of keys stay."""
    keys = [b", ".join(b'{"k%d": 1}, {"%d": 2}' % (n, n) for n in range(at, at + 30)) for at in range(0, 33_000, 30)]
    lines = [b'{"a%d": [%s], "same": {"in": "x %d"}}\n' % (n % 9, one, n) for n, one in enumerate(keys)]
    check(b"".join(lines), tmp_path / "a.clp", both=False)
    packed = [written(encoder, b"".join(lines[:300]), tmp_path / "a.clp", both=False, codec="zstd")
              for encoder in (kernel.KvIrEncoder, pykernel.KvIrEncoder)]  # fmt: skip
    assert packed[0] == packed[1]


@pytest.mark.parametrize(
    ("line", "reported"),
    [
        (b'{"a": "\\ud800"}', "line 2: lone surrogate"),
        (b'{"\\udfff": 1}', "line 2: lone surrogate"),
        (b'{"a": ["\\udc00"]}', "line 2: lone surrogate"),
        (b'{"a": 18446744073709551616}', "line 2: a number does not fit"),
    ],
)
def test_what_no_stream_contains_is_reported_with_its_line(line: bytes, reported: str, tmp_path: Path) -> None:
    for encoder in (kernel.KvIrEncoder, pykernel.KvIrEncoder):
        assert reported in str(written(encoder, HEAD + line + b"\n", tmp_path / "made", both=False))


def test_the_kernel_takes_ordinary_lines() -> None:
    if kernel.KvIrEncoder is pykernel.KvIrEncoder:
        pytest.skip("without the compiled kernel the writer takes all lines")
    auto: dict[pykernel.Known, int] = {}
    user: dict[pykernel.Known, int] = {}
    encoder = kernel.KvIrEncoder(auto, user, None)
    ordinary = b'{"a": "x y 1.5", "b": {"c": [1, {"d": 2.5}]}, "e": null}\n'
    assert encoder.feed(ordinary * 3 + b'{"a": 1, "a": 2}\n', 0) == 3 * len(ordinary)
    assert encoder.events == 3
    assert len(user) == 4
    assert not auto
    with pytest.raises(ValueError, match="outside"):
        encoder.feed(ordinary, len(ordinary) + 1)
