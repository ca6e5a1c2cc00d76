"""Text and number encoding: known values, and what is encoded must decode to the same bytes."""

from __future__ import annotations

import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.formats.clp_s.read.pykernel import clps_format_float
from exhume.formats.clp_s.write import texts as encode
from exhume.formats.clp_s.write.texts import Dialect, EncodedText, Variable, VariableKind
from tests.real import RealSamples

BOTH = pytest.mark.parametrize("dialect", list(Dialect))
TOKEN_BYTES = {
    Dialect.CLASSIC: (string.ascii_letters + string.digits + "+-./\\_").encode(),
    Dialect.CORE: (string.ascii_letters + string.digits + "+-.\\_").encode(),
}
"""The bytes that tokens can have; all others separate tokens."""

texts = st.lists(
    st.one_of(
        st.sampled_from(
            [b"", b" ", b"=", b"-", b"+", b".", b"/", b"\\", b"_", b"a", b"be", b"7", b"0", b"\x11", b"\x12", b"\x13"]
        ),
        st.from_regex(rb"\A-?[0-9]{0,20}\.?[0-9]{0,3}\Z"),
        st.text(max_size=4).map(lambda text: text.encode("utf-8", "replace")),
    ),
    max_size=12,
).map(b"".join)


def decode_float(word: int, dialect: Dialect) -> bytes:
    """Section 8.4 of the format description, read backwards."""
    word &= (1 << 64) - 1
    if dialect is Dialect.CLASSIC:
        digits, point, number = (word >> 59 & 15) + 1, (word >> 55 & 15) + 1, word & ((1 << 54) - 1)
    else:
        digits, point, number = (word >> 4 & 15) + 1, (word & 15) + 1, word >> 8 & ((1 << 54) - 1)
    plain = str(number).zfill(digits)
    return (("-" if word >> 63 else "") + plain[: digits - point] + "." + plain[digits - point :]).encode()


def decode(encoded: EncodedText, dialect: Dialect) -> bytes:
    """The decoded string, from its stored form alone (dictionary ids are positions in `variables`)."""
    out = bytearray()
    stored = iter(
        encode.encode_dictionary_id(position, dialect) if variable.encoded is None else variable.encoded
        for position, variable in enumerate(encoded.variables)
    )
    escaped = False
    for byte in encoded.log_type:
        if escaped:
            out.append(byte)
            escaped = False
        elif byte == encode.ESCAPE:
            escaped = True
        elif dialect is Dialect.CLASSIC and byte == 0x11:
            value = next(stored)
            is_id = 1 << 62 <= value < (1 << 63) - 1
            out += encoded.variables[value - (1 << 62)].text if is_id else str(value).encode()
        elif dialect is Dialect.CLASSIC and byte == 0x12:
            out += decode_float(next(stored), dialect)
        elif dialect is Dialect.CORE and byte == 0x11:
            out += str(next(stored)).encode()
        elif dialect is Dialect.CORE and byte == 0x12:
            out += encoded.variables[next(stored)].text
        elif dialect is Dialect.CORE and byte == 0x13:
            out += decode_float(next(stored), dialect)
        else:
            out.append(byte)
    assert next(stored, None) is None
    return bytes(out)


@BOTH
@given(text=texts)
def test_text_comes_back(dialect: Dialect, text: bytes) -> None:
    assert decode(encode.encode_text(text, dialect), dialect) == text


@BOTH
@given(text=texts)
def test_variables_are_whole_tokens(dialect: Dialect, text: bytes) -> None:
    spans = list(encode.variable_spans(text, dialect))
    known = TOKEN_BYTES[dialect]
    assert all(byte in known for start, stop in spans for byte in text[start:stop])
    assert not any(text[start - 1] in known for start, _ in spans if start)
    assert not any(text[stop] in known for _, stop in spans if stop < len(text))


def test_worked_example() -> None:
    """The message of the worked example in the format description, in both dialects."""
    classic = encode.encode_text(b"took 3.14 ms id=a1", Dialect.CLASSIC)
    assert classic.log_type == b"took \x12 ms id=\x11"
    assert classic.variables[0].encoded == int.from_bytes(bytes.fromhex("3a01000000008010"), "little")
    assert classic.variables[1] == Variable(VariableKind.DICTIONARY, b"a1", None)
    assert encode.encode_dictionary_id(0, Dialect.CLASSIC) == 1 << 62
    core = encode.encode_text(b"took 3.14 ms id=a1", Dialect.CORE)
    assert core.log_type == b"took \x13 ms id=\x12"
    assert core.variables[0].encoded == int.from_bytes(bytes.fromhex("213a010000000000"), "little")


@pytest.mark.parametrize(
    ("token", "classic", "core"),
    [
        (b"0", 0, 0),
        (b"-0", None, None),
        (b"007", None, None),
        (b"+7", None, None),
        (b"-12", -12, -12),
        (b"4611686018427387903", 2**62 - 1, 2**62 - 1),
        (b"4611686018427387904", None, 2**62),
        (b"9223372036854775807", None, 2**63 - 1),
        (b"9223372036854775808", None, None),
        (b"-9223372036854775808", -(2**63), -(2**63)),
        (b"-9223372036854775809", None, None),
        (b"9" * 5000, None, None),
    ],
)
def test_integer_variables(token: bytes, classic: int | None, core: int | None) -> None:
    assert encode.encode_integer_variable(token, Dialect.CLASSIC) == classic
    assert encode.encode_integer_variable(token, Dialect.CORE) == core


@BOTH
@pytest.mark.parametrize(
    "token", [b"3.14", b"-0.50", b".5", b"-.5", b"00.10", b"1234567890.123456", b".1234567890123456"]
)
def test_float_variables_come_back(dialect: Dialect, token: bytes) -> None:
    word = encode.encode_float_variable(token, dialect)
    assert word is not None
    assert decode_float(word, dialect) == token


@BOTH
@pytest.mark.parametrize("token", [b"5.", b"1.2.3", b"+1.5", b"--1.5", b"1.5e3", b"12345678901.123456", b".", b"5"])
def test_not_float_variables(dialect: Dialect, token: bytes) -> None:
    assert encode.encode_float_variable(token, dialect) is None


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (b"1e3", 0x4000),
        (b"1.5e-7", 0x6020),
        (b"1.5E+7", 0xD020),
        (b"100.0", 0x0060),
        (b"2.5", 0x0020),
        (b"1e0005", 0x4C00),
        (b"-0.0", 0x0020),
        (b"5e-324", 0x6800),
        (b"0.001", 0x0000),
        (b"0.00", 0x0040),
    ],
)
def test_formatted_floats(text: bytes, word: int) -> None:
    assert encode.encode_formatted_float(text) == (float(text), word)


@pytest.mark.parametrize(
    "text", [b"12e3", b"123e-2", b"0.0e5", b"1e00005", b"0.1234567890123456789", b"9007199254740993.0", b"1e400", b"x"]
)
def test_floats_for_the_dictionary(text: bytes) -> None:
    assert encode.encode_formatted_float(text) is None


@given(st.from_regex(r"-?(0|[1-9][0-9]{0,18})(\.[0-9]{1,18})?([eE][+-]?[0-9]{1,4})?", fullmatch=True))
def test_formatted_floats_print_as_written(text: str) -> None:
    encoded = encode.encode_formatted_float(text.encode())
    assert encoded is None or clps_format_float(*encoded) == text.encode()


@given(st.integers(-(10**15) + 1, 10**15 - 1), st.integers(1, 15))
def test_fifteen_digits_are_always_kept(number: int, point: int) -> None:
    """Every plain decimal of at most 15 digits survives the double; the compiled kernel relies on it."""
    digits = str(abs(number)).zfill(point + 1)
    text = f"{'-' if number < 0 else ''}{digits[:-point]}.{digits[-point:]}".encode()
    encoded = encode.encode_formatted_float(text)
    assert encoded is not None
    assert clps_format_float(*encoded) == text


@pytest.mark.parametrize("version", ["0.3.1", "0.5.1"])
@pytest.mark.parametrize("case", ["clp-strings", "long-strings"])
def test_every_sample_text_comes_back(real_samples: RealSamples, version: str, case: str) -> None:
    dialect = Dialect.of_version((0, int(version[2]), int(version[4])))
    lines = (real_samples.path("clp_s", version, case, "input.jsonl")).read_text().splitlines()
    values = [value for line in lines for value in json.loads(line).values() if isinstance(value, str)]
    assert values
    for value in values:
        assert decode(encode.encode_text(value.encode(), dialect), dialect) == value.encode()
