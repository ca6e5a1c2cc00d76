"""Splits inside raw bytes: what their messages prove is asked before one is called whole."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.formats.ark.layout import TRAILER_FOOTER_SIZE, build_serializable_file
from exhume.formats.ark.rbuf.encoder import encoder_for
from exhume.formats.ark.rbuf.idl import parse_idl
from exhume.formats.ark.writer import ArkWriter
from exhume.recovery import CarvedArchive, CarveVerdict, VerifiedBy

CLUSTER = 4096
IDL = "namespace test; schema Sample { uint64 number; byte_buffer data; } [[final]] schema Bare { uint64 number; }"
FOREIGN = {
    "zeros": bytes(1 << 17),
    "noise": random.Random(3).randbytes(1 << 17),
    "text": b"GET /index.html 200 took 3.14 ms; the quick brown fox\n" * 2500,
}


def split_of(path: Path, codec: Any, *, final: bool = False, messages: int = 300) -> bytes:
    registry = parse_idl(IDL)
    kind = "test::Bare" if final else "test::Sample"
    rng = random.Random(1)
    with ArkWriter(path, name="x", split_items=350) as log:
        channel = log.channel("/c", kind, registry, column=log.column("column", codec))
        for number in range(messages):
            value: dict[str, Any] = {"number": number} | ({} if final else {"data": rng.randbytes(90)})
            channel.write(1000 + number, encoder_for(registry, kind).encode(value))
    (split,) = (path / "splits").iterdir()
    return split.read_bytes()


def carved(data: bytes) -> CarvedArchive:
    """The one split in an image that starts, and continues, with other bytes."""
    (found,) = exhume.carve(bytes(CLUSTER) + data + bytes(CLUSTER), only=["ark"])
    assert found.offset == CLUSTER
    return found


@pytest.fixture(scope="module", params=["none", "lz4", "zstd", "bz2", "lzma"])
def split(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return split_of(tmp_path_factory.mktemp("log") / "log", request.param)


def test_a_whole_split(split: bytes) -> None:
    found = carved(split)
    assert (found.verdict, found.verified_by, found.findings) == (CarveVerdict.COMPLETE, VerifiedBy.STRUCTURE, ())
    assert found.length == len(split)


@pytest.mark.parametrize("foreign", list(FOREIGN))
def test_messages_that_belong_to_something_else(split: bytes, foreign: str) -> None:
    """Header and index are intact; the data after them are truncated, and other clusters follow."""
    for share in (3, 5, 7, 9):
        cut = len(split) * share // 10 // CLUSTER * CLUSTER
        found = carved(split[:cut] + FOREIGN[foreign][: len(split) - cut])
        if found.verdict is CarveVerdict.COMPLETE:  # no message is left that shows how they begin or end
            assert found.verified_by is VerifiedBy.NONE
            assert cut < len(split) // 2
            continue
        assert found.verdict is CarveVerdict.PARTIAL, (share, found)
        assert found.findings
        assert abs(found.intact_bytes - cut) < 200
        assert all(finding.span and finding.span.start >= CLUSTER for finding in found.findings)


def test_foreign_bytes_in_the_middle_are_damage(split: bytes) -> None:
    middle = len(split) * 3 // 4
    found = carved(split[:middle] + b"?" * 700 + split[middle + 700 :])
    assert found.verdict is CarveVerdict.DAMAGED
    assert {finding.code for finding in found.findings} <= {"ARK-302", "ARK-401", "ARK-402", "ARK-404"}
    assert abs(found.intact_bytes - middle) < 200


def test_an_index_that_overlaps_is_damage(split: bytes) -> None:
    at = int.from_bytes(split[19:23], "little")
    data = bytearray(split)
    data[at + 18 * 4 + 8 : at + 18 * 4 + 12] = data[at + 8 : at + 12]  # the fifth entry's offset is that of the first
    found = carved(bytes(data))
    assert found.verdict is CarveVerdict.DAMAGED
    assert "ARK-329" in {finding.code for finding in found.findings}


def grouped(path: Path, size: int = 9) -> bytes:
    """A split whose objects have groups; `size` bytes of each message are in the last."""
    registry = parse_idl(
        "namespace test; schema Late { uint64 number; group 1 { string more; } group 2 { byte_buffer data; } }"
    )
    with ArkWriter(path, name="x", split_items=350) as log:
        channel = log.channel("/c", "test::Late", registry)
        for number in range(300):
            value = {"number": number, "more": f"{number}", "data": b"\xe0" * size}
            channel.write(1000 + number, encoder_for(registry, "test::Late").encode(value))
    (split,) = (path / "splits").iterdir()
    return split.read_bytes()


def test_an_object_with_groups_ends_with_the_last_of_them(tmp_path: Path) -> None:
    """What begins a message is there; what ends it belongs to something else."""
    data = grouped(tmp_path / "log")
    found = carved(data)
    assert (found.verdict, found.verified_by, found.findings) == (CarveVerdict.COMPLETE, VerifiedBy.STRUCTURE, ())
    for cut in (5, 13, 14, 19):  # within the last group, and at the edges of its size
        found = carved(data[:-cut] + b"?" * cut)
        assert (found.verdict, found.verified_by) == (
            (CarveVerdict.COMPLETE if cut < 14 else CarveVerdict.PARTIAL),
            VerifiedBy.STRUCTURE,
        )
    (finding,) = found.findings
    assert finding.code == "ARK-304"
    assert finding.message.endswith("the message does not end with a group of its object")
    assert finding.span is not None
    assert (finding.span.end, finding.span.size) == (found.end, found.end - finding.span.start)
    assert found.intact_bytes == finding.span.start - CLUSTER


def test_an_object_that_carries_a_trailer_is_one(tmp_path: Path) -> None:
    registry = parse_idl("namespace test; schema Late { uint64 number; group 1 { uint8 more; } }")
    encode = encoder_for(registry, "test::Late").encode
    with ArkWriter(tmp_path / "log", name="x", split_items=8) as log:
        channel = log.channel("/c", "test::Late", registry)
        for number in range(5):
            file = build_serializable_file(encode({"number": number, "more": 1}), "test::Late", "{}")
            channel.write(number, file)
    (path,) = (tmp_path / "log" / "splits").iterdir()
    data = path.read_bytes()
    assert carved(data).verdict is CarveVerdict.COMPLETE
    lie = data[:-TRAILER_FOOTER_SIZE] + b"\xff" + data[1 - TRAILER_FOOTER_SIZE :]
    assert (carved(lie).verdict, carved(lie).verified_by) == (CarveVerdict.PARTIAL, VerifiedBy.STRUCTURE)


def test_times_out_of_order_are_damage(split: bytes) -> None:
    """The index of a split that was closed is in time order."""
    at = int.from_bytes(split[19:23], "little")
    data = bytearray(split)
    data[at + 18 * 7 : at + 18 * 7 + 8] = bytes(8)
    found = carved(bytes(data))
    assert (found.verdict, [finding.code for finding in found.findings]) == (CarveVerdict.DAMAGED, ["ARK-324"])


def test_messages_without_any_mark_prove_nothing(tmp_path: Path) -> None:
    """Objects of final schemas have no header byte: their bytes are values, whatever they are."""
    data = split_of(tmp_path / "log", "none", final=True)
    for image in (data, data[:-400] + b"?" * 400):
        found = carved(image)
        assert (found.verdict, found.verified_by, found.findings) == (CarveVerdict.INCOMPLETE, VerifiedBy.NONE, ())


def test_a_split_that_is_cut_by_the_end_of_the_image(split: bytes) -> None:
    (found,) = exhume.carve(split[: len(split) * 9 // 10], only=["ark"])
    assert found.verdict is CarveVerdict.PARTIAL
