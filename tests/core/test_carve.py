"""Carving a large image: every whole archive found at its exact place, cut ones as partial, nothing invented."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.findings import STRUCTURE_ONLY
from exhume.io.local import FileSource
from exhume.recovery import CarvedArchive, CarveVerdict, VerifiedBy
from exhume.registry import formats
from exhume.testing import damage
from tests.archives import OWN, own_archives
from tests.sizes import some

Cli = Callable[..., Any]

IMAGE_SIZE = 256 << 20
SINGLE_FILE = ("caf", "clp-s", "zs")


@dataclass(frozen=True)
class Planted:
    """An archive in the image: where it is, how long it was before it was cut, and whether it was."""

    format: str
    offset: int
    length: int
    cut: bool = False
    nested: bool = False


def make_zs(path: Path, rng: random.Random) -> None:
    with exhume.create(path, "zs", codec=rng.choice(["none", "deflate", "lzma"]), block_size=200) as writer:
        records: Any = writer
        records.add_records(sorted(rng.randbytes(rng.randrange(40)) for _ in range(rng.randrange(5, 60))))


def make_caf(path: Path, rng: random.Random) -> None:
    with exhume.create(path, "caf") as writer:
        members: Any = writer
        for number in range(rng.randrange(1, 9)):
            members.add_bytes(f"d{number % 3}/m{number}", rng.randbytes(rng.randrange(900)))


def make_clps(path: Path, rng: random.Random) -> None:
    with exhume.create(path, "clp-s") as writer:
        events: Any = writer
        for number in range(rng.randrange(3, 40)):
            events.write({"n": number, "text": f"took {rng.random():.3f} ms id=a{rng.randrange(99)}", "f": [1, "x"]})


MAKERS = {"zs": make_zs, "caf": make_caf, "clp-s": make_clps}


def background(rng: random.Random) -> bytearray:
    """Random bytes, zeros and text, a megabyte of each in turn."""
    noise = rng.randbytes(1 << 20)
    text = (b"GET /index.html 200 took 3.14 ms; the quick brown fox\n" * 20_000)[: 1 << 20]
    image = bytearray()
    for number in range(IMAGE_SIZE >> 20):
        image += (noise, bytes(1 << 20), text)[number % 3]
    return image


def piece_of(file: Path) -> str | None:
    """The format whose piece a file of a directory archive is, where pieces are marked."""
    if file.name.startswith("shard-"):
        return "databundle"
    if file.suffix in (".ldb", ".sst"):
        return "leveldb"
    return "ark" if "splits" in file.parts else None


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Planted]]:
    """The image and what is in it."""
    folder = tmp_path_factory.mktemp("carve")
    rng = random.Random(20)
    data = background(rng)
    planted: list[Planted] = []
    places = [number * (IMAGE_SIZE // 70) + rng.randrange(10_000) * 2 + 1 for number in range(1, 70)]

    def plant(format: str, raw: bytes, cut: bool) -> None:
        at = places[len(planted)]
        kept = raw[: len(raw) * 2 // 3] if cut else raw
        data[at : at + len(kept)] = kept
        planted.append(Planted(format, at, len(raw), cut))

    for number in range(45):
        format = SINGLE_FILE[number % 3]
        path = folder / f"{number}"
        MAKERS[format](path, rng)
        # A CAF keeps its table of contents at the end: a truncated one is plain data without any mark.
        plant(format, path.read_bytes(), cut=number % 3 != 0 and number % 9 < 3)
    for path in own_archives():
        for file in [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file()):
            kind = piece_of(file)
            if kind is not None and len(planted) < 57:
                plant(kind, file.read_bytes(), cut=False)
    nested: list[Planted] = []
    for _ in range(3):
        inner = folder / f"inner-{len(planted)}"
        make_zs(inner, rng)
        outer = folder / f"outer-{len(planted)}"
        with exhume.create(outer, "caf") as writer:
            members: Any = writer
            members.add_bytes("a", rng.randbytes(77))
            members.add_bytes("inner.zs", inner.read_bytes())
        plant("caf", outer.read_bytes(), cut=False)
        nested.append(Planted("zs", planted[-1].offset + 77, inner.stat().st_size, nested=True))
    path = folder / "image"
    path.write_bytes(data)
    return path, planted + nested


@pytest.fixture(scope="module")
def found(image: tuple[Path, list[Planted]]) -> list[CarvedArchive]:
    return list(exhume.carve(image[0], min_confidence=0.5))


@pytest.mark.slow
def test_every_whole_archive_is_found_exactly(image: tuple[Path, list[Planted]], found: list[CarvedArchive]) -> None:
    planted = image[1]
    assert len(planted) >= 60
    good = {CarveVerdict.COMPLETE, CarveVerdict.INCOMPLETE}  # the latter where no content can be compared, as in a CAF
    whole = {(c.format, c.offset, c.length) for c in found if c.verdict in good}
    for one in planted:
        if one.format in SINGLE_FILE and not one.cut:
            assert (one.format, one.offset, one.length) in whole, one


@pytest.mark.slow
def test_cut_archives_are_partial(image: tuple[Path, list[Planted]], found: list[CarvedArchive]) -> None:
    cut = [one for one in image[1] if one.cut]
    assert len(cut) >= 10
    at = {(c.format, c.offset): c for c in found}
    for one in cut:
        carved = at[one.format, one.offset]
        assert carved.verdict in (CarveVerdict.PARTIAL, CarveVerdict.DAMAGED), one
        assert carved.findings


def test_pieces_of_directories_are_found(image: tuple[Path, list[Planted]], found: list[CarvedArchive]) -> None:
    pieces = [one for one in image[1] if one.format not in SINGLE_FILE]
    assert {one.format for one in pieces} >= {"databundle", "leveldb"}
    at = {(c.format, c.offset) for c in found}
    for one in pieces:
        assert (one.format, one.offset) in at, one


@pytest.mark.slow
def test_nothing_is_invented(image: tuple[Path, list[Planted]], found: list[CarvedArchive]) -> None:
    planted = {(one.format, one.offset) for one in image[1]}
    spans = [(one.offset, one.offset + one.length) for one in image[1]]
    for carved in some(found):
        inside = any(start <= carved.offset < end for start, end in spans)
        assert (carved.format, carved.offset) in planted or inside, carved


@pytest.mark.slow
def test_nested_hits_are_marked_as_nested(image: tuple[Path, list[Planted]], found: list[CarvedArchive]) -> None:
    inner = [one for one in image[1] if one.nested]
    assert len(inner) == 3
    for one in inner:
        (carved,) = (c for c in found if c.format == one.format and c.offset == one.offset)
        assert carved.nested_in is not None
        parent = found[carved.nested_in]
        assert parent.offset <= carved.offset < carved.end <= parent.end


def test_carving_in_pieces_yields_the_same(image: tuple[Path, list[Planted]], found: list[CarvedArchive]) -> None:
    size = image[0].stat().st_size
    middle = size // 2 + 12_345
    first = [(c.format, c.offset) for c in exhume.carve(image[0], stop=middle, min_confidence=0.5)]
    second = [(c.format, c.offset) for c in exhume.carve(image[0], start=middle, min_confidence=0.5)]
    assert sorted({*first, *second}) == sorted({(c.format, c.offset) for c in found})


def test_the_verb(image: tuple[Path, list[Planted]], exhume_cli: Cli, tmp_path: Path) -> None:
    one = next(p for p in image[1] if p.format == "zs" and not p.cut)
    span = ("--range", f"{one.offset - 100}:{one.offset + one.length + 100}")
    ran = exhume_cli("carve", image[0], "--json", "--only", "zs", *span, "-o", tmp_path / "out")
    assert ran.code == 0, ran.err
    body = json.loads(ran.out)
    assert body["schema"] == "exhume.carve/1"
    assert [(a["offset"], a["length"], a["verdict"]) for a in body["archives"]] == [
        (one.offset, one.length, "complete")
    ]
    (written,) = (tmp_path / "out").iterdir()
    assert written.suffix == ".zs"
    assert exhume_cli("verify", written).code == 0
    assert exhume_cli("carve", image[0], "--range", ":1000").code == 4
    assert exhume_cli("carve", image[0], "--only", "zip").code == 2
    assert exhume_cli("carve", tmp_path).code == 2


@pytest.mark.parametrize("verb", ["carve", "report"])
def test_ends_of_two_archives_are_two_files(verb: str, exhume_cli: Cli, tmp_path: Path) -> None:
    whole = (OWN / "caf" / "sorted.caf").read_bytes()
    pieces = [whole[600:], whole[740:]]  # the data of both begin before the image
    (tmp_path / "image").write_bytes(b"".join(pieces) + bytes(9))
    where = (
        ("-o", tmp_path / "out") if verb == "carve" else ("-o", tmp_path / "page.html", "--folder", tmp_path / "out")
    )
    assert exhume_cli(verb, tmp_path / "image", *where).code == (0 if verb == "carve" else 3)
    expected = [pieces[0], b"".join(pieces)]
    copies = sorted((tmp_path / "out").glob("000000000000*.partial.caf"), key=lambda path: path.stat().st_size)
    assert [path.read_bytes() for path in copies] == expected
    assert [path.name for path in copies] == [f"000000000000-{len(data):x}.partial.caf" for data in expected]


@pytest.mark.parametrize("pieces", [1, 3], ids=["one file", "split"])
def test_holes_of_a_sparse_image_are_not_read(pieces: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = (OWN / "zs" / "words-deflate.zs").read_bytes()
    size, at = 12 << 30, (10 << 30) + 4095
    for number in range(pieces):
        with (tmp_path / f"image.{number:03}").open("wb") as file:
            file.truncate(size // pieces)
            inside = at - number * (size // pieces)
            if 0 <= inside < size // pieces:
                file.seek(inside)
                file.write(raw)
    with FileSource(tmp_path / f"image.{pieces - 1:03}") as source:
        if list(source.stored(0, 1 << 30)) == [(0, 1 << 30)]:
            pytest.skip("this file system keeps no holes")
    read: list[int] = []
    plain = FileSource._read

    def recorded(self: FileSource, offset: int, size: int) -> bytes:
        read.append(size)
        return plain(self, offset, size)

    monkeypatch.setattr(FileSource, "_read", recorded)
    seen: list[tuple[int, int | None, str]] = []
    found = list(exhume.carve(tmp_path / "image.000", progress=lambda *args: seen.append(args)))
    assert [(one.format, one.offset, one.length) for one in found] == [("zs", at, len(raw))]
    assert seen[-1] == (size, size, "bytes")
    assert sum(read) < 64 << 20


@pytest.mark.parametrize("how", [(), ("--jobs", 2, "--chunk-size", 900)], ids=["one pass", "in spans"])
@pytest.mark.slow
def test_offsets_are_those_of_the_image(how: tuple[Any, ...], exhume_cli: Cli, tmp_path: Path) -> None:
    """Archives found after `--offset` are reported, and written, with their offsets in the image."""
    with exhume.create(tmp_path / "caf", "caf") as writer:
        members: Any = writer
        members.add_bytes("a/b", b"x" * 300)
    image = bytearray(12_000)
    planted = {}
    for format, at, path in (
        ("zs", 6000, OWN / "zs" / "words-deflate.zs"),
        ("caf", 7251, tmp_path / "caf"),
        ("clp-s", 8290, OWN / "clp_s" / "tiny.clps"),
    ):
        raw = path.read_bytes()
        image[at : at + len(raw)] = raw
        planted[at] = format, raw
    (tmp_path / "image").write_bytes(image)
    expected = [(format, at, len(raw)) for at, (format, raw) in planted.items()]

    def carved(*options: Any) -> list[tuple[str, int, int]]:
        body = json.loads(exhume_cli("carve", "--json", *how, *options, tmp_path / "image").out)
        assert {one["verdict"] for one in body["archives"] if one["format"] != "caf"} <= {"complete"}
        assert {one["verdict"] for one in body["archives"] if one["format"] == "caf"} <= {"incomplete"}
        return [(one["format"], one["offset"], one["length"]) for one in body["archives"]]

    assert carved("--offset", 4096, "-o", tmp_path / "out") == expected
    assert {int(path.name[:12], 16): path.read_bytes() for path in (tmp_path / "out").iterdir()} == {
        at: raw for at, (_, raw) in planted.items()
    }
    # Offsets that are given are those that are printed.
    assert carved("--offset", 4096, "--range", "7251:") == expected[1:]
    assert carved("--offset", 4096, "--range", "100:7252") == expected[:1]  # the mark of a CAF is at its end
    assert carved("--offset", 6000, "--length", len(planted[6000][1])) == expected[:1]


CLUSTER = 4096


@pytest.mark.parametrize("gap", [bytes(CLUSTER), random.Random(8).randbytes(3 * CLUSTER)], ids=["zeros", "noise"])
@pytest.mark.parametrize("format", ["zs", "clp-s"])
@pytest.mark.slow
def test_fragmented_archives_are_partial(format: str, gap: bytes, tmp_path: Path, exhume_cli: Cli) -> None:
    """A file system put other clusters in the middle of a file: the part before them verifies and is reported."""
    rng = random.Random(7)
    options: dict[str, Any] = {"min_table_size": 1} if format == "clp-s" else {}
    with exhume.create(tmp_path / "whole", format, **options) as writer:
        any_writer: Any = writer
        if format == "zs":
            any_writer.add_records(sorted(rng.randbytes(20) for _ in range(30_000)))
        else:
            for number in range(9000):
                any_writer.write({f"kind{number % 8}": f"took {number}.5 ms id=a{rng.randrange(10**9)}", "n": number})
    raw = (tmp_path / "whole").read_bytes()
    cut = len(raw) * 2 // 3 // CLUSTER * CLUSTER
    (tmp_path / "image").write_bytes(bytes(5 * CLUSTER) + raw[:cut] + gap + raw[cut:] + rng.randbytes(9000))
    (carved,) = exhume.carve(tmp_path / "image")
    assert (carved.format, carved.offset, carved.length) == (format, 5 * CLUSTER, len(raw))
    assert carved.verdict is CarveVerdict.PARTIAL
    assert 0 < carved.intact_bytes <= cut
    if format == "zs":  # it ends with the block that the foreign clusters cut
        assert cut - carved.intact_bytes < 200_000
        assert carved.intact_bytes > cut // 4
    body = json.loads(exhume_cli("carve", tmp_path / "image", "--json").out)
    assert body["archives"][0]["intact_bytes"] == carved.intact_bytes
    ran = exhume_cli("carve", tmp_path / "image", "-o", tmp_path / "out")
    assert ran.code == 0
    assert str(carved.intact_bytes).encode() in ran.out
    (written,) = (tmp_path / "out").iterdir()
    following = VerifiedBy.CHECKSUMS if format == "zs" else VerifiedBy.STRUCTURE
    assert exhume.salvage(written, tmp_path / "saved", format=format).verified_by is following


def test_a_flipped_bit_is_damage_not_a_fragment(tmp_path: Path) -> None:
    make_zs(tmp_path / "whole", random.Random(4))
    raw = bytearray((tmp_path / "whole").read_bytes())
    raw[-20] ^= 1
    (carved,) = exhume.carve(bytes(5000) + bytes(raw) + bytes(5000))
    assert carved.verdict is CarveVerdict.DAMAGED
    assert carved.length == len(raw)
    assert 0 < carved.intact_bytes < len(raw)


def test_every_format_can_be_carved() -> None:
    assert [id for id, described in formats().items() if not described.has("locate")] == []


def the_archive(raw: bytes, format: str) -> CarvedArchive:
    (found,) = exhume.carve(bytes(5000) + raw + bytes(5000), only=[format])
    return found


def test_what_a_verdict_rests_on(tmp_path: Path) -> None:
    """For every format: the checksums of its contents, their structure, or nothing."""
    caf = the_archive((OWN / "caf" / "sorted.caf").read_bytes(), "caf")
    assert (caf.verdict, caf.verified_by, caf.note) == (CarveVerdict.INCOMPLETE, VerifiedBy.NONE, STRUCTURE_ONLY)
    empty = the_archive((OWN / "caf" / "empty.caf").read_bytes(), "caf")
    assert (empty.verdict, empty.verified_by) == (CarveVerdict.COMPLETE, VerifiedBy.STRUCTURE)  # there are no contents
    zs = (OWN / "zs" / "words-deflate.zs").read_bytes()
    whole, damaged = (the_archive(raw, "zs") for raw in (zs, damage.flip(zs, len(zs) - 20)))
    (cut,) = exhume.carve(bytes(5000) + zs[:-30])
    assert [one.verdict for one in (whole, damaged, cut)] == [
        CarveVerdict.COMPLETE,
        CarveVerdict.DAMAGED,
        CarveVerdict.PARTIAL,
    ]
    assert {one.verified_by for one in (whole, damaged, cut)} == {VerifiedBy.CHECKSUMS}
    headless = the_archive(damage.flip(zs, 60), "zs")
    assert (headless.verdict, headless.verified_by) == (CarveVerdict.PARTIAL, VerifiedBy.STRUCTURE)
    clps = the_archive((OWN / "clp_s" / "demo.clps").read_bytes(), "clp-s")
    assert (clps.verdict, clps.verified_by, clps.note) == (CarveVerdict.COMPLETE, VerifiedBy.STRUCTURE, STRUCTURE_ONLY)
    table = next((OWN / "leveldb" / "snappy").glob("*.ldb")).read_bytes()
    found = the_archive(table, "leveldb")
    assert (found.verdict, found.verified_by, found.note) == (CarveVerdict.COMPLETE, VerifiedBy.CHECKSUMS, "")
    shards = {name: (OWN / "data_bundle" / name / "shard-00000000").read_bytes() for name in ("zlib", "flat")}
    proofs = {name: the_archive(raw, "databundle") for name, raw in shards.items()}
    assert {name: (one.verdict, one.verified_by) for name, one in proofs.items()} == {
        "zlib": (CarveVerdict.PARTIAL, VerifiedBy.STRUCTURE),
        "flat": (CarveVerdict.PARTIAL, VerifiedBy.NONE),
    }
    manifest = next((OWN / "ark" / "log" / "manifests").iterdir()).read_bytes()
    (log,) = (one for one in exhume.carve(bytes(5000) + manifest, only=["ark"]) if one.length == len(manifest))
    assert (log.verdict, log.verified_by) == (CarveVerdict.COMPLETE, VerifiedBy.STRUCTURE)


def test_a_foreign_cluster_in_a_chunk_cannot_be_noticed_and_that_is_reported(tmp_path: Path, exhume_cli: Cli) -> None:
    with exhume.create(tmp_path / "caf", "caf") as writer:
        members: Any = writer
        members.add_bytes("a", b"a" * 3 * CLUSTER)
    raw = (tmp_path / "caf").read_bytes()
    (tmp_path / "image").write_bytes(raw[:CLUSTER] + b"?" * CLUSTER + raw[2 * CLUSTER :])
    (found,) = json.loads(exhume_cli("carve", "--json", tmp_path / "image").out)["archives"]
    assert (found["verdict"], found["verified_by"], found["findings"]) == ("incomplete", "none", [])
    ran = exhume_cli("carve", "-q", tmp_path / "image")
    assert ran.text.splitlines()[1].split()[2:5] == ["caf", "incomplete", "none"]
    assert ran.text.splitlines()[-1] == f"caf: {STRUCTURE_ONLY}"


@pytest.mark.parametrize("damage", [0, 40])
def test_one_large_archive_is_looked_into_by_several_threads(
    damage: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """... with the findings of one."""
    from exhume.formats.clp_s import locate as clp_s
    from exhume.formats.zs import locate as zs

    rng = random.Random(11)
    image = bytearray(rng.randbytes(5000))
    for format, make in MAKERS.items():
        make(tmp_path / format, rng)
        data = bytearray((tmp_path / format).read_bytes())
        for _ in range(damage):
            data[rng.randrange(len(data) // 2, len(data))] ^= 4
        image += data + rng.randbytes(3000)
    reported = [found.to_dict() for found in exhume.carve(bytes(image))]
    for module in (clp_s, zs):
        monkeypatch.setattr(module, "LARGE", 0)
    assert [found.to_dict() for found in exhume.carve(bytes(image), jobs=3)] == reported
    assert len(reported) >= 2
