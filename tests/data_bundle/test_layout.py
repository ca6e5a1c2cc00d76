"""Shard headers at their edges: cut, of later versions, with fields that have other types than they should."""

from __future__ import annotations

import pytest
from exhume_ksy.fast._layout import LayoutError

from exhume.errors import ExhumeError, Span
from exhume.formats.data_bundle import layout_fields
from exhume.formats.data_bundle.checks import SHARD_HEADER, SHARD_MAGIC
from exhume.formats.data_bundle.layout import FIXED_HEADER, parse_shard_header, shard_header_end
from exhume.formats.data_bundle.messages import ShardHeader
from exhume.formats.leveldb.wire import WireError

AT = 3000
MESSAGE = b"\x08\x02\x10\x05\x18\xe8\x07\x20\x40\x28\x03\x40\x01"


def where(data: bytes) -> Span:
    return Span("shard", AT, AT + len(data))


def header(message: bytes, data_offset: int = 64) -> bytes:
    return b"daBS" + len(message).to_bytes(4, "little") + data_offset.to_bytes(4, "little") + message


def test_all_fields() -> None:
    data = header(MESSAGE)
    assert shard_header_end(data[:FIXED_HEADER], where(data[:FIXED_HEADER])) == len(data)
    assert parse_shard_header(data, where(data)) == ShardHeader(2, 5, 1000, 64, 3, "external", 64, ())


@pytest.mark.parametrize("size", [4, 11])
def test_a_start_that_is_cut(size: int) -> None:
    head = header(MESSAGE)[:size]
    with pytest.raises(ExhumeError) as caught:
        shard_header_end(head, where(head))
    error = caught.value
    assert (error.code, error.span) == (SHARD_HEADER.code, where(head))
    assert error.message.endswith("it is truncated")
    assert (error.expected, error.actual) == (f"{FIXED_HEADER} bytes", f"{size} bytes")


@pytest.mark.parametrize("head", [b"", b"da", b"xaBS" + bytes(8)])
def test_no_shard(head: bytes) -> None:
    with pytest.raises(ExhumeError) as caught:
        shard_header_end(head, where(head))
    error = caught.value
    assert (error.code, error.span) == (SHARD_MAGIC.code, Span("shard", AT, AT + len(head[:4])))
    assert (error.field_path, error.expected, error.actual) == ("magic", "daBS", head[:4])


@pytest.mark.parametrize(
    ("message", "metadata", "unknown"),
    [
        (b"", "not stated", ()),
        (b"\x40\x00", "not stated", ()),
        (b"\x40\x01", "external", ()),
        (b"\x42\x01\x01", "not stated", ()),  # bytes where a truth value should be
        (b"\x32\x00", "inline", ()),
        (b"\x38\x01", "at end of file", ()),
        (b"\x48\x01\x7a\x01x\x40\x01", "external", (9, 15)),
    ],
)
def test_where_the_metadata_are(message: bytes, metadata: str, unknown: tuple[int, ...]) -> None:
    """And which fields are of a later version."""
    found = parse_shard_header(header(message), where(header(message)))
    assert (found.metadata, found.unknown, found.data_offset) == (metadata, unknown, 64)


def test_a_number_that_is_none() -> None:
    data = header(b"\x10\x05\x0a\x01x")
    with pytest.raises(ExhumeError) as caught:
        parse_shard_header(data, where(data))
    error = caught.value
    assert (error.code, error.span) == (SHARD_HEADER.code, Span("shard", AT + FIXED_HEADER, AT + len(data)))
    assert error.message.endswith("field 1 has wire type 2")
    assert error.field_path == "header.fields[1].wire"


def test_fields_are_named_by_their_keys() -> None:
    known = layout_fields.names({3: "size", 1: "offset"}, {2: "path"})
    assert list(known.items()) == [(8, "offset"), (18, "path"), (24, "size")]
    assert layout_fields.names({1: "offset"}) == {8: "offset"}
    assert layout_fields.key_of(known, "path") == 18
    assert layout_fields.build(known, (0, b"ab", 3)) == b"\x12\x02ab\x18\x03"
    with pytest.raises(ValueError, match="longer"):
        layout_fields.build(known, (0, b"ab", 3, 4))


def test_the_last_of_several_fields_counts_and_determines_the_order() -> None:
    known = layout_fields.names({1: "offset", 3: "size"})
    values, unknown = layout_fields.collect(b"\x08\x05\x18\x07\x30\x01\x08\x06", known)
    assert (list(values.items()), unknown) == ([("size", 7), ("offset", 6)], (6,))


@pytest.mark.parametrize(
    ("message", "text", "actual"),
    [(b"\x08\x05\x1a\x00", "wire type 0 of field 3", 2), (b"\x10\x05", "wire type 2 of field 2", 0)],
)
def test_a_known_field_of_another_type(message: bytes, text: str, actual: int) -> None:
    known = layout_fields.names({1: "offset", 3: "size"}, {2: "path"})
    with pytest.raises(WireError, match=text) as caught:
        layout_fields.collect(message, known)
    error = caught.value.__cause__
    assert isinstance(error, LayoutError)
    assert (error.path, error.found) == (f"fields[{len(message) // 3}].wire_type", actual)


def test_a_field_is_not_taken_for_another_one() -> None:
    """Field 17 is not field 1, whose key shares its lower bits."""
    known = layout_fields.names({1: "offset"})
    assert layout_fields.collect(b"\x88\x01\x05\x8a\x01\x00", known) == ({}, (17, 17))
