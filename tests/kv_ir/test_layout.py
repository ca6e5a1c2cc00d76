"""Bytes to values: the numbers that decimals are packed into, the metadata, tokens, by values worked out by hand."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest
from exhume_ksy.facts.clp_kv_ir import Encodings, Tags

import exhume
from exhume.errors import Span, WriterError
from exhume.formats.kv_ir.layout import (
    MAGIC_START,
    MAX_PREAMBLE,
    MetadataLengths,
    MetadataTypes,
    build_integer,
    build_key,
    build_log_type,
    build_node,
    build_preamble,
    build_real,
    build_text,
    build_variable,
    build_variable_text,
    decimal_text,
    default_metadata,
    join_text,
    misfit,
    pack_decimal,
    parse_preamble,
    parse_token,
    set_marks,
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


WIDTHS: dict[Any, tuple[Tags, ...]] = {
    build_integer: (Tags.INTEGER_1, Tags.INTEGER_2, Tags.INTEGER_4, Tags.INTEGER_8),
    functools.partial(build_key, auto=False): (Tags.KEY_1, Tags.KEY_2, Tags.KEY_4),
    lambda number: build_key(-1 - number, auto=True): (Tags.KEY_1, Tags.KEY_2, Tags.KEY_4),
    lambda number: build_node(Tags.NODE_TEXT, number, b"", auto=False)[1:-2]: (
        Tags.PARENT_1,
        Tags.PARENT_2,
        Tags.PARENT_4,
    ),
    lambda number: build_node(Tags.NODE_TEXT, -1 - number, b"", auto=True)[1:-2]: (
        Tags.PARENT_1,
        Tags.PARENT_2,
        Tags.PARENT_4,
    ),
}


@pytest.mark.parametrize("build", WIDTHS, ids=["integer", "key", "key of the logger", "parent", "its parent"])
def test_numbers_are_written_in_the_narrowest_width(build: Any) -> None:
    """The number of a node in the logger's tree, n, is stored as -1 - n."""
    tags = WIDTHS[build]
    for width, tag in zip((1, 2, 4, 8), tags, strict=False):
        limit = 1 << 8 * width - 1
        for number in (-limit, limit - 1):
            assert build(number) == bytes((tag,)) + number.to_bytes(width, "big", signed=True)
    bits = 64 if len(tags) == 4 else 32
    for number in (-(1 << bits - 1) - 1, 1 << bits - 1):
        with pytest.raises(WriterError, match="a number does not fit a KV-IR stream") as caught:
            build(number)
        assert (caught.value.expected, caught.value.actual) == (f"{bits} bits", number)


class Long(bytes):
    """Bytes that claim to be very many."""

    def __len__(self) -> int:
        return 1 << 32


@pytest.mark.parametrize(
    ("build", "tags"),
    [
        (build_text, (Tags.TEXT_1, Tags.TEXT_2, Tags.TEXT_4)),
        (build_variable_text, (Tags.VARIABLE_TEXT_1, Tags.VARIABLE_TEXT_2, Tags.VARIABLE_TEXT_4)),
        (build_log_type, (Tags.LOG_TYPE_1, Tags.LOG_TYPE_2, Tags.LOG_TYPE_4)),
    ],
)
def test_texts_have_the_narrowest_length(build: Any, tags: tuple[Tags, ...]) -> None:
    for width, tag, sizes in zip((1, 2, 4), tags, ((0, 255), (256, 65_535), (65_536,)), strict=True):
        for size in sizes:
            assert build(b"x" * size) == bytes((tag,)) + size.to_bytes(width, "big") + b"x" * size
    with pytest.raises(WriterError, match="string is too large") as caught:
        build(Long())
    assert (caught.value.expected, caught.value.actual) == ("less than 4 GiB", 1 << 32)


def test_values_of_one_width_and_marks() -> None:
    assert build_real(-2.0) == bytes((Tags.REAL,)) + b"\xc0" + bytes(7)
    assert build_variable(-2) == bytes((Tags.VARIABLE_4,)) + b"\xff\xff\xff\xfe"
    assert set_marks(b"\x11 \\\x11 \x12\x13 \\\\", [0x12, 0x13, 0x11]) == b"\x12 \\\x11 \x13\x11 \\\\"


def test_the_length_of_metadata_has_one_byte_or_two() -> None:
    head = MAGIC_START + bytes((Encodings.EIGHT_BYTE, MetadataTypes.JSON))
    for size, width, tag in ((255, 1, MetadataLengths.ONE_BYTE), (256, 2, MetadataLengths.TWO_BYTES)):
        built = build_preamble(Encodings.EIGHT_BYTE, b" " * size)
        assert built == head + bytes((tag,)) + size.to_bytes(width, "big") + b" " * size
        found = parse_preamble(built + b"more", Span("", 0, len(built) + 4))
        assert (found.encoding, found.metadata_at, found.size) == (Encodings.EIGHT_BYTE, len(built) - size, len(built))
    with pytest.raises(WriterError, match="metadata is too large") as caught:
        build_preamble(Encodings.FOUR_BYTE, bytes(65_536))
    assert (caught.value.expected, caught.value.actual) == ("at most 65535 bytes", 65_536)


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
