"""Headers, footers and trailers at their edges: what is exactly enough, one byte less, groups of later versions."""

from __future__ import annotations

import struct

import pytest

from exhume.errors import ExhumeError, Span
from exhume.formats.ark.checks import FOOTER_MISSING, TRAILER_SIZES
from exhume.formats.ark.layout import (
    HEADER_SIZE,
    MAPPING_SIZE,
    MESSAGE_FOOTER_MAGIC,
    TRAILER_FOOTER_SIZE,
    TRAILER_MAGIC_BYTES,
    SerializableFile,
    SplitHeader,
    TypeMapping,
    build_message_footer,
    build_serializable_file,
    build_split_header,
    group_end,
    parse_file_footer,
    parse_message_footer,
    parse_serializable_file,
    parse_split_header,
    read_counted,
    read_first_group,
    read_guid_at,
    read_header_by_place,
    read_text_before,
    trailer_magic_span,
)
from exhume.formats.ark.rbuf.layout import GROUP_LAST, GROUP_MORE, HEADER_WITH_GROUPS, guid_text

FIRST, SECOND, OWN = (f"{n:08x}-0000-4000-8000-000000000000" for n in (1, 2, 9))
MAPPINGS = (TypeMapping(0, FIRST, HEADER_SIZE), TypeMapping(7, SECOND, HEADER_SIZE + MAPPING_SIZE))
SPLIT = SplitHeader(OWN, 1024, 3, 8, MAPPINGS, HEADER_SIZE + 2 * MAPPING_SIZE)
AT = 5000


def where(data: bytes) -> Span:
    """A span in a file, at an arbitrary offset."""
    return Span("file", AT, AT + len(data))


def group(number: int, body: bytes, head: int = GROUP_LAST) -> bytes:
    return bytes([head, number]) + len(body).to_bytes(4, "little") + body


def test_a_mapping_may_have_groups_of_a_later_version() -> None:
    """The next mapping starts at their end."""
    plain = build_split_header(SPLIT)
    groups = group(1, b"abc", GROUP_LAST | GROUP_MORE) + group(2, b"")
    end = HEADER_SIZE + MAPPING_SIZE
    data = plain[:HEADER_SIZE] + bytes([HEADER_WITH_GROUPS]) + plain[HEADER_SIZE + 1 : end] + groups + plain[end:]
    header = parse_split_header(data, where(data))
    assert [(m.short, m.identifier) for m in header.mappings] == [(0, FIRST), (7, SECOND)]
    assert [m.offset for m in header.mappings] == [HEADER_SIZE, end + len(groups)]
    assert header.size == len(data)


def test_a_header_by_place_keeps_what_its_fields_state() -> None:
    """Any version is kept; a truncated mapping is omitted."""
    data = bytearray(build_split_header(SPLIT))
    data[0] = 0
    data[1:3] = (513).to_bytes(2, "little")
    found = read_header_by_place(bytes(data))
    assert (found.version, found.identifier, found.mappings, found.size) == (513, OWN, MAPPINGS, HEADER_SIZE)
    for less in (1, 2, MAPPING_SIZE - 1):
        assert read_header_by_place(bytes(data[:-less])).mappings == MAPPINGS[:1]
    assert read_header_by_place(bytes(data[: -MAPPING_SIZE - 1])).mappings == ()


def test_a_counted_text_that_fits_exactly() -> None:
    data = b"??\3\0\0\0abc"
    assert read_counted(data, 2) == (b"abc", 9)
    assert read_counted(data + b"d", 2) == (b"abc", 9)
    assert read_counted(data[:-1], 2) is None


def test_the_first_group() -> None:
    data = b"??" + group(3, b"body")
    assert read_first_group(data, 2) == (3, b"body")
    assert read_first_group(data + b"more", 2) == (3, b"body")
    assert read_first_group(data[:-1], 2) is None
    assert read_first_group(data, 0) is None
    assert [group_end(data, 2), group_end(data[:-1], 2), group_end(data[:7], 2)] == [12, None, None]
    assert group_end(data, 0) is None


def test_a_message_that_is_nothing_but_its_footer() -> None:
    stored = build_message_footer(88, "zstd")
    found = parse_message_footer(stored, where(stored))
    assert (found.len_message, found.codec) == (88, 2)


@pytest.mark.parametrize(
    ("stored", "place", "actual"),
    [
        (b"", (0, 0), "no bytes"),
        (b"\x07", (0, 1), "0x07"),
        (bytes(9) + b"\x07", (9, 10), "0x07"),
        (bytes([MESSAGE_FOOTER_MAGIC]), (0, 1), f"0x{MESSAGE_FOOTER_MAGIC:02x}"),
    ],
)
def test_a_message_without_footer(stored: bytes, place: tuple[int, int], actual: str) -> None:
    with pytest.raises(ExhumeError) as caught:
        parse_message_footer(stored, where(stored))
    assert caught.value.code == FOOTER_MISSING.code
    assert caught.value.span == Span("file", AT + place[0], AT + place[1])
    assert (caught.value.expected, caught.value.actual) == (f"0x{MESSAGE_FOOTER_MAGIC:02x}", actual)


@pytest.mark.parametrize("data", [b"", b"content", TRAILER_MAGIC_BYTES[1:]])
def test_without_the_magic_everything_is_content(data: bytes) -> None:
    assert parse_serializable_file(data, where(data)) == SerializableFile(data, "", "", has_trailer=False)
    assert SerializableFile(data).has_trailer
    expected = Span("file", AT + max(0, len(data) - len(TRAILER_MAGIC_BYTES)), AT + len(data))
    assert trailer_magic_span(data, where(data)) == expected


def test_a_trailer_without_content_or_type() -> None:
    data = build_serializable_file(b"")
    assert len(data) == TRAILER_FOOTER_SIZE
    assert parse_serializable_file(data, where(data)) == SerializableFile(b"")


@pytest.mark.parametrize("size", [len(TRAILER_MAGIC_BYTES), TRAILER_FOOTER_SIZE - 1])
def test_a_file_shorter_than_a_trailer(size: int) -> None:
    data = build_serializable_file(b"")[-size:]
    with pytest.raises(ExhumeError) as caught:
        parse_serializable_file(data, where(data))
    assert (caught.value.code, caught.value.span) == (TRAILER_SIZES.code, where(data))
    assert (caught.value.expected, caught.value.actual) == (f"at least {TRAILER_FOOTER_SIZE} bytes", size)


def file_footer(trailer: int, content: int) -> bytes:
    return struct.pack("<IQB", trailer, content, 1) + TRAILER_MAGIC_BYTES


def test_a_footer_by_itself() -> None:
    data = file_footer(3, 7)
    found = parse_file_footer(data)
    assert found is not None
    assert (found.len_trailer, found.len_content, found.version) == (3, 7, 1)
    assert parse_file_footer(data, 10) is not None
    assert parse_file_footer(data, 9) is None
    assert parse_file_footer(data[1:]) is None
    assert parse_file_footer(data[:-1] + b"?") is None


def test_bytes_before_a_guid() -> None:
    data = b"??\3\0\0\0abc"
    assert read_text_before(data, 2, 9) == "abc"
    assert [read_text_before(data, 2, end) for end in (8, 5)] == [None, None]
    assert read_text_before(data + b"d", 2, 10) is None
    assert read_text_before(b"\1\0\0\0\xff", 0, 5) is None
    raw = bytes(range(16))
    assert read_guid_at(b"?" + raw, (1, 17)) == guid_text(raw)
    assert read_guid_at(raw, (1, 17)) is None


def test_bytes_after_the_texts_of_a_trailer() -> None:
    texts = build_serializable_file(b"content", "type", "schema")[7:-TRAILER_FOOTER_SIZE]
    data = b"content" + texts + b"!!" + file_footer(len(texts) + 2, 7)
    with pytest.raises(ExhumeError) as caught:
        parse_serializable_file(data, where(data))
    end = AT + 7 + len(texts)
    assert (caught.value.code, caught.value.span) == (TRAILER_SIZES.code, Span("file", end, end + 2))
    assert (caught.value.expected, caught.value.actual) == (f"{len(texts)} bytes", f"{len(texts) + 2} bytes")


def test_sizes_that_do_not_add_up() -> None:
    data = b"content" + file_footer(0, 6)
    with pytest.raises(ExhumeError) as caught:
        parse_serializable_file(data, where(data))
    assert (caught.value.code, caught.value.span) == (TRAILER_SIZES.code, Span("file", AT + 7, AT + 7 + 12))
