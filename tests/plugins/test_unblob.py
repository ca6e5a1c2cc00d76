"""unblob itself finds archives of every format in an image and extracts them by the handlers of exhume."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

import exhume
from exhume.recovery import SalvageMode
from exhume.registry import formats
from tests.plugins.tools import run

pytestmark = [pytest.mark.conformance("unblob"), pytest.mark.slow]


def image_of(samples: Path) -> bytes:
    """An image with an archive of every format, or parts of such archives, between unrelated bytes."""
    parts = [
        "zs/words-none.zs",
        "clp_s/demo.clps",
        "kv_ir/small.clp",
        "clp_ir/small.clp",
        "caf/sorted.caf",
        "leveldb/small/000005.ldb",
        "data_bundle/zlib/shard-00000001",
        "ark/log/splits/00000000-0000-4000-8000-000000000008",
    ]
    noise = random.Random(23)
    return b"".join(noise.randbytes(700) + (samples / part).read_bytes() for part in parts) + noise.randbytes(700)


def test_unblob_extracts_an_image_with_every_format(samples: Path, tmp_path: Path) -> None:
    image = tmp_path / "image"
    image.write_bytes(image_of(samples))
    run(
        "unblob",
        "-p",
        "1",
        "--log",
        tmp_path / "log",
        "-e",
        tmp_path / "out",
        "--report",
        tmp_path / "report.json",
        image,
    )
    reports = [report for task in json.loads((tmp_path / "report.json").read_text()) for report in task["reports"]]
    chunks = [report for report in reports if report["__typename__"] == "ChunkReport"]
    found = sorted((chunk["start_offset"], chunk["end_offset"], chunk["handler_name"]) for chunk in chunks)
    assert found == [(one.offset, one.end, one.format) for one in exhume.carve(image, min_confidence=0.5)]
    assert {name for _, _, name in found} == {"zs", "clp-s", "kv-ir", "clp-ir", "caf", "leveldb", "databundle", "ark"}
    assert [chunk["extraction_reports"] for chunk in chunks] == [[]] * 8

    for start, end, name in found:
        made = tmp_path / "out" / "image_extract" / f"{start}-{end}.{name}_extract"
        if name == "caf":
            with exhume.caf.open(samples / "caf/sorted.caf") as chunk:
                stored = {member: chunk.read_member(member) for member in chunk.names()}
            assert {
                str(file.relative_to(made)): file.read_bytes() for file in made.rglob("*") if file.is_file()
            } == stored
        elif name == "databundle":
            assert sum(file.stat().st_size for file in made.rglob("*") if file.is_file()) > 0
        else:
            wanted = tmp_path / f"{name}.jsonl"
            exhume.salvage(image, wanted, offset=start, length=end - start, format=name, mode=SalvageMode.RECORDS)
            ours, theirs = (lines_without_places(file) for file in (wanted, made / "records.jsonl"))
            assert theirs == ours != []


def lines_without_places(file: Path) -> list[dict[str, object]]:
    """The records; those of LevelDB name the file that they were read from."""
    places = ("file", "block_offset")
    lines = map(json.loads, file.read_text().splitlines())
    return [{key: value for key, value in line.items() if key not in places} for line in lines]


def test_a_signature_alone_is_not_extracted_and_no_error(tmp_path: Path) -> None:
    image = tmp_path / "image"
    magics = [signature.magic for described in formats().values() for signature in described.signatures]
    image.write_bytes(b"".join(bytes(300) + magic + bytes(300) for magic in magics))
    run(
        "unblob",
        "-p",
        "1",
        "--log",
        tmp_path / "log",
        "-e",
        tmp_path / "out",
        "--report",
        tmp_path / "report.json",
        image,
    )
    text = (tmp_path / "report.json").read_text()
    assert "CalculateChunkExceptionReport" not in text
    names = {described.id for described in formats().values()}
    assert not names & {report.get("handler_name") for task in json.loads(text) for report in task["reports"]}


def test_losses_are_reported_to_unblob(samples: Path, tmp_path: Path) -> None:
    whole = (samples / "leveldb/small/000005.ldb").read_bytes()
    image = tmp_path / "image"
    image.write_bytes(bytes(500) + bytes([whole[0] ^ 1]) + bytes([whole[1] ^ 0xFF]) + whole[2:])
    run(
        "unblob",
        "-p",
        "1",
        "--log",
        tmp_path / "log",
        "-e",
        tmp_path / "out",
        "--report",
        tmp_path / "report.json",
        image,
    )
    reports = [report for task in json.loads((tmp_path / "report.json").read_text()) for report in task["reports"]]
    (chunk,) = [report for report in reports if report.get("handler_name") == "leveldb"]
    (reported,) = chunk["extraction_reports"]
    assert reported["__typename__"] == "ExtractionProblem"
    assert reported["problem"]
