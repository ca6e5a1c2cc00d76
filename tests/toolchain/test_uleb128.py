"""The shared variable-length integer: shortest form only, 64 bits at most."""

from __future__ import annotations

from io import BytesIO

import pytest
from exhume_ksy.uleb128 import Uleb128
from hypothesis import given
from hypothesis import strategies as st
from kaitaistruct import KaitaiStream, KaitaiStructError

from tests.toolchain.readwrite import readwrite_class, roundtrip


def encode(value: int) -> bytes:
    """The textbook encoder."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


@given(st.integers(0, 2**64 - 1))
def test_reads_what_the_textbook_writes(value: int) -> None:
    data = encode(value)
    parsed = Uleb128.from_bytes(data + b"\x00\xff")
    assert parsed.value == value
    assert parsed._io.pos() == len(data)


@pytest.mark.parametrize("value", [0, 1, 127, 128, 16383, 16384, 2**32, 2**53 + 1, 2**63, 2**64 - 1])
@pytest.mark.node
def test_writes_back(value: int) -> None:
    assert roundtrip("uleb128", encode(value)) == encode(value)


@pytest.mark.node
def test_builds_from_nothing() -> None:
    built = readwrite_class("uleb128")()
    built.group0, built.group1, built.group2 = 0xE5, 0x8E, 0x26
    built._check()
    out = KaitaiStream(BytesIO(bytes(3)))
    built._write(out)
    assert out.to_byte_array() == encode(624485)


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x00",
        b"\xff\x80\x00",
        b"\x80" * 9 + b"\x00",
        b"\xff" * 9 + b"\x02",
        b"\xff" * 9 + b"\x81\x00",
        b"\x80",
        b"",
    ],
)
def test_refuses_other_forms(data: bytes) -> None:
    with pytest.raises((KaitaiStructError, EOFError)):
        Uleb128.from_bytes(data)
