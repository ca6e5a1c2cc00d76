"""Verdicts on checksums: matches, mismatch, or not checked and why; in text, JSON and the page, for each format.

Each damage is made here, so what `explain` must say of every checksum is known without asking exhume.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard

import exhume
from exhume.codecs.checksums import crc32c, mask_crc32c, xxh3_64, xxhash32, xxhash64
from exhume.engines.explain import Selection, explain_archive
from exhume.errors import SourceError
from exhume.findings import Check
from exhume.formats.leveldb.table import Table
from exhume.formats.leveldb.table_writer import build_log
from exhume.formats.leveldb.wire import Handle
from exhume.io.opening import open_target
from tests.clp_s.build import demo
from tests.leveldb.crafted import build_batch
from tests.leveldb.test_damage import rocks_footer

Cli = Callable[..., Any]
Files = dict[str, bytes]
Verdicts = list[tuple[str, str, Check]]


def files_of(path: Path) -> Files:
    if path.is_file():
        return {"": path.read_bytes()}
    return {str(p.relative_to(path)): p.read_bytes() for p in path.rglob("*") if p.is_file()}


def write(files: Files, at: Path) -> Path:
    for name, data in files.items():
        file = at / name if name else at
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return at


def verdicts(path: Path, format: str | None = None) -> Verdicts:
    with exhume.open(path, format=format) as archive:
        return [
            (item.section.name, node.path, node.check)
            for item in explain_archive(archive, Selection())
            for tree in item.trees()
            for _, node in tree.walk()
            if node.check is not None
        ]


def flip(files: Files, name: str, at: int) -> None:
    data = bytearray(files[name])
    data[at] ^= 0xFF
    files[name] = bytes(data)


def with_checksums(data: bytes) -> bytes:
    """zstd as in clp-s, with the checksum that its own writer leaves out."""
    parameters = zstandard.ZstdCompressionParameters.from_level(3, write_content_size=False, write_checksum=True)
    return zstandard.ZstdCompressor(compression_params=parameters).compress(data) if data else b""


@pytest.fixture
def sound(samples: Path, tmp_path: Path) -> dict[str, Path]:
    """One archive per format that has checksums; a bundle whose index and records are stored as they are."""
    archive = tmp_path / "sums.clps"
    archive.write_bytes(demo(compress=with_checksums).build())
    bundle = tmp_path / "bundle"
    with exhume.create(bundle, "databundle", compression="none", alignment=1, index_compression="none") as writer:
        members: Any = writer
        for name in ("first", "second", "third"):
            members.add(name, name.encode() * 9)
    return {
        "zs": samples / "zs" / "words-deflate.zs",
        "leveldb": samples / "leveldb" / "small",
        "databundle": bundle,
        "clp-s": archive,
    }


ALGORITHMS = {
    "zs": {"CRC-64/XZ", "SHA-256"},
    "leveldb": {"masked CRC-32C"},
    "databundle": {"masked CRC-32C", "CRC-32C"},
    "clp-s": {"XXH64, low half"},
}


@pytest.mark.parametrize("format", ALGORITHMS)
def test_all_match_in_a_sound_archive(format: str, sound: dict[str, Path], exhume_cli: Cli) -> None:
    found = verdicts(sound[format])
    assert found
    assert {str(check) for _, _, check in found} == {"matches"}
    ran = exhume_cli("explain", "--all", sound[format])
    assert set(re.findall(r"\[([^\[\]:]+): matches\]", ran.text)) == ALGORITHMS[format]


@pytest.mark.parametrize("format", ALGORITHMS)
def test_nothing_is_claimed_to_match_that_was_not_computed(
    format: str, sound: dict[str, Path], tmp_path: Path, exhume_cli: Cli
) -> None:
    text = exhume_cli("explain", "--no-verify", "--all", sound[format]).text
    assert len(re.findall(r": not checked: --no-verify\]", text)) == len(verdicts(sound[format]))
    assert "matches" not in text
    assert "MISMATCH" not in text
    body = json.loads(exhume_cli("explain", "--no-verify", "--all", "--json", sound[format]).out)
    assert outcomes(body) == {"not_checked": len(verdicts(sound[format]))}
    assert exhume_cli("explain", "--no-verify", sound[format], "--html", tmp_path / "page.html").code == 0
    states = page_states(tmp_path / "page.html")
    assert states == {"not_checked": len(verdicts(sound[format]))}
    assert '"verdict":"","summary":"not checked: --no-verify"' in (tmp_path / "page.html").read_text()


def test_zs_mismatches(sound: dict[str, Path], tmp_path: Path) -> None:
    files = files_of(sound["zs"])
    with exhume.open(sound["zs"]) as archive:
        last = list(archive.sections())[-1]
    flip(files, "", last.span.end - 1)
    found = verdicts(write(files, tmp_path / "crc.zs"))
    assert [(name, str(c)[:17]) for name, _, c in found if str(c) != "matches"] == [(last.name, "MISMATCH, stored ")]


def test_zs_sha256_with_a_block_that_cannot_be_decoded(samples: Path) -> None:
    found = {(name, path): check for name, path, check in verdicts(samples / "zs" / "broken" / "stream-corrupt.zs")}
    assert re.match(r"not checked: .*\[ZS-307\]", str(found["header", "zs.header.sha256_data"]))
    assert {str(c) for key, c in found.items() if key != ("header", "zs.header.sha256_data")} == {"matches"}
    wrong = {(n, p): c for n, p, c in verdicts(samples / "zs" / "broken" / "data-sha256.zs")}
    digest = wrong["header", "zs.header.sha256_data"]
    assert str(digest).startswith(f"MISMATCH, stored {'0' * 64}, computed ")


def test_leveldb_logs_and_blocks(sound: dict[str, Path], tmp_path: Path) -> None:
    files = files_of(sound["leveldb"])
    table = bytearray(files["000005.ldb"])
    with exhume.open(sound["leveldb"]) as archive:
        trailer = archive.sections().named("000005.ldb/data@0/trailer")
    table[trailer.span.end - 1] ^= 1
    files["000005.ldb"] = bytes(table)
    flip(files, "000006.log", 8)
    files["000003.log"] = files["000003.log"][:-1]
    found = verdicts(write(files, tmp_path / "db"))
    other = {(name, path.rpartition(".blocks")[2]): str(c) for name, path, c in found if str(c) != "matches"}
    assert {key: text.split(",")[0] for key, text in other.items()} == {
        ("000005.ldb/data@0/trailer", "leveldb_table::block_trailer.checksum"): "MISMATCH",
        ("000006.log", "[0].fragments[0].checksum"): "MISMATCH",
        ("000003.log", "[0].fragments[0].checksum"): "not checked: truncated fragment",
    }


@pytest.mark.parametrize(
    ("kind", "algorithm", "value"),
    [
        (1, "masked CRC-32C", lambda b: mask_crc32c(crc32c(b))),
        (2, "XXH32", xxhash32),
        (3, "XXH64, low half", lambda b: xxhash64(b) & 0xFFFFFFFF),
        (4, "XXH3, low half", lambda b: xxh3_64(b[:-1]) & 0xFFFFFFFF ^ (b[-1] * 0x6B9083D9 & 0xFFFFFFFF)),
    ],
)
def test_every_kind_of_a_rocksdb_table(kind: int, algorithm: str, value: Callable[[bytes], int]) -> None:
    block = b"contents\0"
    for wrong in (0, 1):
        data = block + (value(block) ^ wrong).to_bytes(4, "little") + rocks_footer(5, kind)
        check = Table(open_target(data)).check_block(Handle(0, 8))  # type: ignore[arg-type]
        assert check.algorithm == algorithm
        assert str(check).split(",")[0] == ("MISMATCH" if wrong else "matches")
    for none, why in ((0, "the table has none"), (9, "a kind that exhume does not know")):
        table = Table(open_target(block + bytes(4) + rocks_footer(5, none)))  # type: ignore[arg-type]
        assert str(table.check_block(Handle(0, 8))).startswith(f"not checked: {why}")


def test_files_of_a_bundle(sound: dict[str, Path], tmp_path: Path) -> None:
    files = files_of(sound["databundle"])
    shard = files["shard-00000000"]
    files["shard-00000000"] = shard.replace(b"second" * 9, b"Second" + b"second" * 8)
    found = [c for _, p, c in verdicts(write(files, tmp_path / "one")) if not p.endswith("checksum")]
    assert [str(c).split(",")[0] for c in found] == ["matches", "MISMATCH", "matches"]
    files["shard-00000000"] = b"?" * 8 + shard[8:]
    found = [c for _, p, c in verdicts(write(files, tmp_path / "two"), "databundle") if not p.endswith("checksum")]
    assert [bool(re.fullmatch(r"not checked: .* \[DBND-\d+\]", str(c))) for c in found] == [True] * 3
    del files["shard-00000000"]
    found = [c for _, p, c in verdicts(write(files, tmp_path / "three"), "databundle") if not p.endswith("checksum")]
    assert [bool(re.fullmatch(r"not checked: .* \[DBND-316\]", str(c))) for c in found] == [True] * 3


def test_a_row_that_no_longer_counts_is_not_checked(sound: dict[str, Path], tmp_path: Path) -> None:
    """The log has a newer row of the second file; the one in the table no longer counts."""
    files = files_of(sound["databundle"])
    with exhume.open(sound["databundle"], format="databundle") as archive:
        bundle: Any = archive
        key, value = next((k, v) for k, v in bundle.database.scan() if k[:1] == b"\2" and b"second" in k)
    (log,) = (name for name in files if name.endswith(".log"))
    files[log] = build_log([build_batch(1000, [(1, key, value)])])
    found = [c for _, p, c in verdicts(write(files, tmp_path / "old")) if not p.endswith("checksum")]
    assert [str(c)[:32] for c in found] == ["matches", "not checked: the row is not the ", "matches"]


def test_frames_of_clp_s(sound: dict[str, Path], tmp_path: Path) -> None:
    files = files_of(sound["clp-s"])
    flip(files, "", len(files[""]) - 1)
    found = verdicts(write(files, tmp_path / "wrong.clps"))
    assert Counter(str(c).split(",")[0] for _, _, c in found)["MISMATCH"] == 2, "of the stream, and of all streams"
    files = files_of(sound["clp-s"])
    with exhume.open(sound["clp-s"]) as archive:
        span = archive.sections().named("/schema_tree").span
    files[""] = files[""][: span.start + 9] + b"\xff" * (span.size - 13) + files[""][span.end - 4 :]
    found = verdicts(write(files, tmp_path / "cut.clps"))
    ((name, verdict),) = [(name, str(c)) for name, _, c in found if str(c) != "matches"]
    assert name == "/schema_tree"
    assert re.fullmatch(r"not checked: .* \[EX-303\]", verdict)


def test_formats_without_checksums_have_no_verdicts(samples: Path) -> None:
    for name in ("caf/sorted.caf", "ark/log", "clp_s/demo.clps"):
        assert verdicts(samples / name) == []


def test_json_and_page_state_the_same(samples: Path, tmp_path: Path, exhume_cli: Cli) -> None:
    for name, wanted in (
        ("stream-corrupt.zs", {"matches": 3, "not_checked": 1}),
        ("block-crc.zs", {"matches": 3, "mismatch": 1}),
    ):
        path = samples / "zs" / "broken" / name
        body = json.loads(exhume_cli("explain", "--json", "--all", path).out)
        assert outcomes(body) == wanted
        assert exhume_cli("explain", path, "--html", tmp_path / f"{name}.html").code in (0, 3)
        assert page_states(tmp_path / f"{name}.html") == wanted
    bad = next(node["checksum"] for node in fields(body) if node.get("checksum", {}).get("outcome") == "mismatch")
    assert bad["algorithm"] == "CRC-64/XZ"
    assert bad["expected"] == "0x0000000000000001" != bad["actual"]


def test_a_source_that_fails_is_no_verdict(sound: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    with exhume.open(sound["zs"]) as archive:

        def fail(*_: object) -> bytes:
            raise SourceError("the disk is gone")

        explained = explain_archive(archive, Selection())
        monkeypatch.setattr(type(archive.source), "read_at", fail)
        with pytest.raises(SourceError):
            list(explained)


@pytest.mark.parametrize(
    ("name", "quick", "words", "checked", "unchecked"),
    [
        ("zs/words-none.zs", [], "zs: ok\n", 3, 0),
        ("zs/words-none.zs", ["--quick"], "zs: ok (without the SHA-256 of the data: --quick)\n", 2, 1),
        ("data_bundle/zlib", ["--quick"], "databundle: ok (without the CRC-32C of each file: --quick)\n", 2, 1),
        ("leveldb/small", ["--quick"], "leveldb: ok (1 note, payloads were not examined: --quick)\n", 2, 0),
        ("caf/sorted.caf", [], "caf: ok (structure is sound; this format has no checksums for its content)\n", 0, 0),
        ("clp_s/demo.clps", [], "clp-s: ok (structure is sound; this format has no checksums for its content)\n", 0, 0),
        (
            "ark/log",
            ["--quick"],
            "ark: ok (1 note, payloads were not read: --quick; this format has no checksums for its content)\n",
            0,
            0,
        ),
    ],
)
def test_ok_states_what_was_compared(
    name: str, quick: list[str], words: str, checked: int, unchecked: int, samples: Path, exhume_cli: Cli
) -> None:
    ran = exhume_cli("verify", *quick, samples / name)
    assert (ran.code, ran.text.rpartition("/")[2].partition(": ")[2]) == (0, words)
    body = json.loads(exhume_cli("verify", "--json", *quick, samples / name).out)
    assert (len(body["checked"]), len(body["unchecked"])) == (checked, unchecked)


@pytest.mark.parametrize(
    ("name", "quick", "code"),
    [
        ("data-sha256", [], 4),
        ("data-sha256", ["--quick"], 0),
        ("block-crc", ["--quick"], 4),
        ("header-crc", ["--quick"], 4),
    ],
)
def test_claims_of_a_comparison_are_true(
    name: str, quick: list[str], code: int, samples: Path, exhume_cli: Cli
) -> None:
    assert exhume_cli("verify", *quick, samples / "zs" / "broken" / f"{name}.zs").code == code


def test_every_checksum_that_is_claimed_to_be_compared_is(
    sound: dict[str, Path], tmp_path: Path, exhume_cli: Cli
) -> None:
    """One wrong byte under each kind of checksum, and verify does not say ok."""
    files = files_of(sound["databundle"])
    table = next(name for name in files if name.endswith(".sst"))
    manifest = next(name for name in files if "MANIFEST" in name)
    for name, at, quick in ((table, 30, ["--quick"]), (manifest, 12, ["--quick"]), ("shard-00000000", -1, [])):
        damaged = dict(files)
        flip(damaged, name, at)
        target = write(damaged, tmp_path / name.replace("/", "-"))
        ran = exhume_cli("verify", "--json", *quick, "--format", "databundle", target)
        codes = {finding["code"] for finding in json.loads(ran.out)["findings"]}
        assert ran.code == 4, name
        assert any(code[-3] == "2" for code in codes), (name, codes)


def fields(body: Any) -> Iterator[dict[str, Any]]:
    if isinstance(body, dict):
        if "path" in body:
            yield body
        for value in body.values():
            yield from fields(value)
    elif isinstance(body, list):
        for value in body:
            yield from fields(value)


def outcomes(body: Any) -> dict[str, int]:
    return dict(Counter(node["checksum"]["outcome"] for node in fields(body) if "checksum" in node))


def page_states(path: Path) -> dict[str, int]:
    """The verdicts in the trees that the page embeds."""
    page = path.read_text(encoding="utf-8")
    chunks = dict(re.findall(r'<script type="text/plain" id="c(\d+)">([^<]*)</script>', page))
    found = re.search(r'<script type="application/json" id="contents">(.*?)</script>', page)
    assert found
    counts: Counter[str] = Counter()

    def count(node: dict[str, Any]) -> None:
        if "w" in node:
            assert f": {node['w'].replace('_', ' ')}".lower() in node["c"].lower()
            counts[node["w"]] += 1
        for child in node.get("k", ()):
            count(child)

    for section in json.loads(found[1])["sections"]:
        for key in ("tree", "payload"):
            if key in section:
                count(json.loads(zlib.decompress(base64.b64decode(chunks[str(section[key])]))))
    return dict(counts)
