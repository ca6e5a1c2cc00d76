"""Makes the project's own Ark samples: a log with everything, its snippet and amendment, and one file per schema."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import exhume
from exhume.formats.ark import layout
from exhume.formats.ark.filters import Filter
from exhume.formats.ark.rbuf.idl import parse_idl
from exhume.formats.ark.reader import ArkArchive
from exhume.formats.ark.writer import ArkWriter
from tests.ark import vectors
from tests.ark.logs import counted_guids

IDL = """
namespace yard;
enum Mode : uint8 { Idle, Manual, Auto }
[[final]] schema Point { double x; double y; }
schema Pose { Point at; float heading; uint32 sequence; bool valid; }
schema Fault { uint16 code; steady_time_point since; }
schema State {
    guid session; Mode mode; arraylist<Fault> faults; [[optional]] string note; [[removed]] uint32 old;
    group 0 { dictionary<string, double> gauges; duration uptime; }
}
schema Picture { uint16 width; uint16 height; byte_buffer pixels; }
"""
SESSION = "c4e689b6-c6a9-4bec-892d-c5cdede2e9f9"


def write_log(root: Path) -> ArkWriter:
    """A log with two columns, four channels, several splits, latched messages, and times out of order."""
    registry = parse_idl(IDL)
    with ArkWriter(
        root, name="yard", metadata={"site": {"id": 7}, "tags": ["a", "b"]}, split_items=40, guids=counted_guids()
    ) as log:
        log.column("camera", "zstd")
        pose = log.channel("/nav/pose", "yard::Pose", registry)
        state = log.channel("/drive/state", "yard::State", registry, latched=True)
        picture = log.channel("/camera", "yard::Picture", registry, column="camera")
        raw = log.channel("/raw", column="camera")
        for number in range(60):
            time = 1_000_000_000 + number * 10_000_000
            pose.write(time, _pose(number))
            if number % 10 == 0:
                state.write(time - 5_000_000 * (number % 3), _state(number))
            if number % 5 == 0:
                picture.write(time + 1, {"width": 16, "height": 4, "pixels": bytes(range(64))})
                raw.write(time + 2, b"\xd1raw bytes " + bytes([number]))
            if number == 30:
                log.flush()
    return log


def _pose(number: int) -> dict[str, Any]:
    at = {"x": number / 4, "y": -number / 8}
    return {"at": at, "heading": 0.25, "sequence": number, "valid": number % 7 != 0}


def _state(number: int) -> dict[str, Any]:
    return {
        "session": SESSION,
        "mode": number // 10 % 3,
        "faults": [{"code": number, "since": number * 1000}] if number else [],
        "note": None if number % 20 else "checked",
        "gauges": {"oil": 4.5, "fuel": number / 60},
        "uptime": number * 1_000_000,
    }


def make(root: Path) -> None:
    """Write `ark/` (a log; next to it one root with an amendment) and the samples of the schemas."""
    for name in ("log", "amended"):
        shutil.rmtree(root / "ark" / name, ignore_errors=True)
        (root / "ark").mkdir(parents=True, exist_ok=True)
    log = write_log(root / "ark/log")
    first = write_log(root / "ark/amended")
    with exhume.open(root / "ark/amended" / "manifests" / first.identifier) as old:
        assert isinstance(old, ArkArchive)
        registry = parse_idl(IDL)
        with ArkWriter(
            root / "ark/amended",
            amends=old.loaded,
            hide=Filter(1_100_000_000, 1_500_000_000, deny=("/nav/.*",)),
            split_items=16,
            guids=counted_guids(7),
        ) as more:
            better = more.channel("/nav/pose", "yard::Pose", registry)
            for number in range(5):
                better.write(1_200_000_000 + number, _pose(1000 + number))
    _make_ksy(root / "ksy", root / "ark/log", log.identifier)


def _make_ksy(folder: Path, log: Path, identifier: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    manifest = (log / "manifests" / identifier).read_bytes()
    (folder / "ark_serializable_file.bin").write_bytes(manifest)
    footer = layout.parse_file_footer(manifest)
    assert footer is not None
    (folder / "ark_manifest.bin").write_bytes(manifest[: footer.len_content])
    (folder / "ark_manifest-metadata.bin").write_bytes(vectors.MANIFEST)
    (folder / "ark_rbuf.bin").write_bytes(vectors.MY_MESSAGE)
    (folder / "ark_rbuf-groups.bin").write_bytes(vectors.GROUPS)
    (folder / "ark_stored_message.bin").write_bytes(vectors.LZ4_MESSAGE)
    (folder / "ark_stored_message-zstd.bin").write_bytes(vectors.ZSTD_MESSAGE)
    splits = sorted((log / "splits").iterdir())
    (folder / "ark_split.bin").write_bytes(splits[0].read_bytes())
