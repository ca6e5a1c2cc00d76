"""Bytes to values: the numbers that decimals are packed into, the metadata, tokens, by values worked out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from exhume_ksy.facts.clp_kv_ir import Encodings, Tags

import exhume
from exhume.errors import Span
from exhume.formats.kv_ir.layout import (
    MAX_PREAMBLE,
    build_preamble,
    decimal_text,
    default_metadata,
    join_text,
    misfit,
    pack_decimal,
    parse_preamble,
    parse_token,
    token_name,
)

# From the lowest bit: digits after the point less one (3 bits), digits less one (3), the digits (25), the sign.
DECIMALS = [
    (b"0.5", 5 << 6 | 1 << 3 | 0),
    (b"1.0", 10 << 6 | 1 << 3 | 0),
    (b"-0.5", (5 << 6 | 1 << 3) - (1 << 31)),
    (b"0.0000001", 1 << 6 | 7 << 3 | 6),
    (b"1234567.8", 12_345_678 << 6 | 7 << 3 | 0),
    (b"3355443.1", ((1 << 25) - 1) << 6 | 7 << 3 | 0),
    (b"-3355443.1", (((1 << 25) - 1) << 6 | 7 << 3) - (1 << 31)),
    (b"00.25", 25 << 6 | 3 << 3 | 1),
]


@pytest.mark.parametrize(("text", "word"), DECIMALS, ids=[text.decode() for text, _ in DECIMALS])
def test_decimals_are_packed_into_four_bytes(text: bytes, word: int) -> None:
    assert pack_decimal(text) == word
    assert decimal_text(word, wide=False) == text


@pytest.mark.parametrize("text", [b"3355443.2", b"-3355443.2", b"0.00000001", b"123456789.0"])
def test_decimals_that_do_not_fit_are_not_packed(text: bytes) -> None:
    assert pack_decimal(text) is None


def test_counts_of_digits_that_cannot_be() -> None:
    assert decimal_text(5 << 6, wide=False) == b".5"
    assert decimal_text(5 << 6 | 1, wide=False) is None  # two digits after the point, of one
    assert decimal_text(55 << 6, wide=False) is None  # two digits, but the count is one


def test_the_metadata_of_loggers() -> None:
    assert default_metadata() == (
        b'{"VARIABLES_SCHEMA_ID":"com.yscope.clp.VariablesSchemaV2",'
        b'"VARIABLE_ENCODING_METHODS_ID":"com.yscope.clp.VariableEncodingMethodsV1","VERSION":"0.1.0"}'
    )
    assert default_metadata({"é": 1, "a": []}).startswith('{"USER_DEFINED_METADATA":{"a":[],"é":1},'.encode())
    with pytest.raises(ValueError, match="JSON"):
        default_metadata({"a": float("nan")})


def test_metadata_of_every_length_is_read(tmp_path: Path) -> None:
    """The length has two bytes: the longest preamble passes 64 KiB."""
    padding = 0xFFFF - len(default_metadata({"pad": ""}))
    raw = default_metadata({"pad": "x" * padding})
    assert len(raw) == 0xFFFF
    head = build_preamble(Encodings.FOUR_BYTE, raw)
    assert len(head) < MAX_PREAMBLE
    assert parse_preamble(head, Span("", 0, len(head))).metadata == raw
    (tmp_path / "x.clp").write_bytes(head + bytes((Tags.END_OF_STREAM,)))
    with exhume.open(tmp_path / "x.clp") as archive:
        reported: Any = archive.info().to_dict()
    assert reported["metadata"]["pad"] == "x" * padding


@pytest.mark.parametrize(
    ("data", "number", "end"),
    [
        (bytes((Tags.KEY_1, 3)), 3, 2),
        (bytes((Tags.KEY_2, 1, 2)), 0x0102, 3),
        (bytes((Tags.KEY_4, 0, 1, 2, 3)), 0x010203, 5),
        (bytes((Tags.KEY_1, 0xFD)), -3, 2),
    ],
)
def test_tokens_have_their_number(data: bytes, number: int, end: int) -> None:
    assert parse_token(data, 0, len(data)) == (data[0], number, end)
    assert token_name(data, 0).startswith("key_")
    assert misfit(data, 0) is None
    wrong = misfit(data[:-1], 0)
    assert wrong is not None
    assert wrong.__traceback__ is None  # frames would keep the data


def test_texts_that_do_not_fit_their_variables() -> None:
    assert join_text(b"a \x11 b", [7], wide=False) == b"a 7 b"
    assert join_text(b"a \x12 b", [b"x1"], wide=False) == b"a x1 b"
    assert join_text(b"a \x13 b", [328], wide=False) == b"a 0.5 b"
    assert join_text(b"a \\\x11 b", [], wide=False) == b"a \x11 b"
    for log_type, variables in ((b"\x11", []), (b"\x11", [b"x"]), (b"\x12", [1]), (b"", [1]), (b"\\", [])):
        assert join_text(log_type, variables, wide=False) is None  # type: ignore[arg-type]


def test_eight_bytes_contain_more_digits() -> None:
    """Sixty-two bits for the digits, four for each count."""
    assert decimal_text(5 << 8 | 1 << 4, wide=True) == b"0.5"
    assert decimal_text((1_234_567_890_123_456 << 8 | 15 << 4 | 7) - (1 << 63), wide=True) == b"-12345678.90123456"
