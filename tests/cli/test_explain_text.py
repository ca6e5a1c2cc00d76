"""`exhume explain` without options: the sections and what is damaged; fields where they are requested."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from exhume_ksy.facts.clp_kv_ir import Tags

import exhume
from exhume.codecs.checksums import crc64_xz
from exhume.engines import explained
from exhume.engines.explain import Selection, explain_archive
from exhume.formats.kv_ir.layout import END, build_text
from exhume.layout import elements, kaitai, schema
from exhume.testing.damage import flip
from tests.kv_ir.streams import HEAD, event, user

Cli = Callable[..., Any]


def test_a_sound_archive_is_its_sections(samples: Path, exhume_cli: Cli) -> None:
    ran = exhume_cli("explain", samples / "clp_s" / "demo.clps")
    lines = ran.text.splitlines()
    with exhume.open(samples / "clp_s" / "demo.clps") as archive:
        sections = archive.sections()
    assert len(lines) == 1 + len(sections)
    assert lines[0].split() == ["offset", "size", "kind", "codec", "section", "what", "it", "is"]
    assert [line.split()[:2] for line in lines[1:]] == [[str(s.span.start), str(s.span.size)] for s in sections]
    assert "--section NAME" in ran.err
    assert exhume_cli("explain", samples / "clp_s" / "demo.clps", "--quiet").err == ""
    document = json.loads(exhume_cli("explain", "--json", samples / "clp_s" / "demo.clps").out)
    assert not any({"fields", "payload"} & set(one) for one in document["sections"])


ONLY = "only checksums of what is shown are checked; --verify notes every finding"


@pytest.mark.parametrize(
    "more", [["--all"], ["--depth", "9"], ["--section", "header"], ["--range", "0:64"], ["--file", "demo.clps"]]
)
def test_fields_are_there_when_requested(more: list[str], samples: Path, exhume_cli: Cli, monkeypatch: Any) -> None:
    monkeypatch.chdir(samples / "clp_s")
    ran = exhume_cli("explain", "demo.clps", *more)
    assert "len_uncompressed" in ran.text or "magic" in ran.text
    assert ran.err == ("" if more[0] != "--range" else f"exhume: {ONLY}\n")
    document = json.loads(exhume_cli("explain", "--json", "demo.clps", *more).out)
    assert "fields" in document["sections"][0]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--at", "99999"], "{}: offset 99999 is outside the archive\n"),
        (["--range", "99998:99999"], "{}: the range is outside the archive\n"),
    ],
)
def test_nothing_but_the_fact_is_said_of_a_place_outside(
    more: list[str], said: str, samples: Path, exhume_cli: Cli
) -> None:
    path = samples / "clp_s" / "demo.clps"
    ran = exhume_cli("explain", path, *more)
    assert (ran.code, ran.text, ran.err) == (4, said.format(path), "")


def test_damage_is_shown_with_the_fields_that_it_concerns(tmp_path: Path, samples: Path, exhume_cli: Cli) -> None:
    data = (samples / "zs" / "words-none.zs").read_bytes()
    with exhume.open(data) as archive:
        span = archive.sections().named("data-4").span
    path = tmp_path / "damaged.zs"
    path.write_bytes(flip(data, span.start + 16, 1))
    ran = exhume_cli("explain", path)
    sections, damage = ran.text.split("\n\n")
    assert len(sections.splitlines()) == 12
    assert damage.startswith(f"== data-4  {span.start}..{span.end}")
    assert "! block checksum mismatch" in damage
    assert "[CRC-64/XZ: MISMATCH" in damage
    assert "len_body" not in damage, "what nothing is wrong with"
    assert damage.count("== ") == 1


def test_a_record_is_found_among_many(tmp_path: Path, exhume_cli: Cli) -> None:
    """The element that a finding concerns is shown at any index of its list."""
    path = tmp_path / "many.zs"
    with exhume.create(path, "zs", codec="none") as writer:
        records: Any = writer
        records.add_records(b"%06d" % number for number in range(3000))
    data = bytearray(path.read_bytes())
    at = data.index(b"002000")
    data[at : at + 6] = b"001000"  # out of order: below the records before it
    with exhume.open(bytes(data)) as archive:
        span = archive.sections().named("data-0").span
    body = data[span.start : span.end - 8]
    length = next(i for i, byte in enumerate(body) if byte < 128) + 1
    data[span.end - 8 : span.end] = crc64_xz(bytes(body[length:])).to_bytes(8, "little")
    path.write_bytes(data)
    text = exhume_cli("explain", path).text
    assert "[2000]" in text
    assert "[1500]" not in text
    assert "more" not in text.partition("decompressed payload")[2]


def test_many_sections_are_summed_up(tmp_path: Path, exhume_cli: Cli) -> None:
    path = tmp_path / "many.caf"
    with exhume.create(path, "caf") as writer:
        members: Any = writer
        for number in range(200):
            members.add_bytes(f"member of its own name {number * 7919}", b"x")
    lines = exhume_cli("explain", path).text.splitlines()
    assert len(lines) < 25
    assert any("184 more" in line and f"file member of its own name {199 * 7919}" in line for line in lines)
    assert len(exhume_cli("explain", "--all", path).text.splitlines()) > 200


def test_why_a_section_is_unread_is_reported_once(tmp_path: Path, samples: Path, exhume_cli: Cli) -> None:
    """In the text next to its bytes, and in the details of the page."""
    bundle = tmp_path / "bundle"
    shutil.copytree(samples / "data_bundle/zlib", bundle)
    shard = bundle / "shard-00000000"
    shard.write_bytes(flip(shard.read_bytes(), 70, 1))
    _, _, extra = exhume_cli("explain", bundle).text.partition("\n\n")
    assert extra.count("DBND-202") == 1
    exhume_cli("explain", bundle, "--html", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert re.findall(r'"note":"([^"]*DBND-202[^"]*)"', page)[0].count("DBND-202") == 1


def test_values_and_sentences_are_whole(tmp_path: Path, samples: Path, exhume_cli: Cli) -> None:
    """Piped output has no width: nothing is cut before the bound for hostile files."""
    data = (samples / "zs" / "words-none.zs").read_bytes()
    text = exhume_cli("explain", samples / "zs" / "words-none.zs", "--section", "header").text
    assert data[40:72].hex(" ") in text
    lines = exhume_cli("explain", samples / "zs" / "words-none.zs").text.splitlines()
    assert lines[1].endswith("for fast lookup by prefix or range and for streaming")
    path = tmp_path / "long.zs"
    with exhume.zs.create(path, codec="none", metadata={"note": "a" * 600 + "b" * 600}) as writer:
        writer.add_records([b"apple"])
    texts = exhume_cli("explain", path, "--all").text
    assert "a" * 300 in texts
    assert "b" * 600 not in texts


@pytest.fixture
def tight(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have sections and payloads of more than 10 bytes parsed in windows."""
    for module in (explained, kaitai):
        monkeypatch.setattr(module, "HELD", 10)
    for module in (elements, kaitai):
        monkeypatch.setattr(module, "WINDOW", 64)
    monkeypatch.setattr(elements, "MARGIN", 8)
    monkeypatch.setattr(elements, "STEP", 1)


@pytest.mark.parametrize("name", ["zs/words-deflate.zs", "kv_ir/small.clp.zst", "clp_s/demo.clps"])
def test_large_sections_and_payloads_are_explained_as_small_ones(
    name: str,
    samples: Path,
    tmp_path: Path,
    exhume_cli: Cli,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    def answers() -> list[bytes]:
        words = (["--json"], ["--json", "--range", "40:90"], ["--depth", "9"])
        page = exhume_cli("explain", samples / name, "--all", "--html", tmp_path / "page.html", "--overwrite")
        assert page.code == 0
        reported = [
            exhume_cli("explain", samples / name, *one, *([] if "--range" in one else ["--all"])) for one in words
        ]
        return [*(one.out for one in reported), (tmp_path / "page.html").read_bytes()]

    small = answers()
    for module in (explained, schema):
        monkeypatch.setattr(module, "PARSED", 10)
    assert answers() == small
    request.getfixturevalue("tight")
    for one, other in zip(small, answers(), strict=True):
        assert re.sub(rb"more than \d+ elements", b"elements", other) == one or b"more than" in other


def test_elements_of_a_long_payload_are_not_kept(samples: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "ARRAY_SHOWN", 4)
    for size, kept in ((1 << 20, True), (10, False)):
        for module in (explained, schema):
            monkeypatch.setattr(module, "PARSED", size)
        with exhume.open(samples / "zs/words-deflate.zs") as archive:
            (item,) = explain_archive(archive, Selection(section="data-0", stream=True))
            assert item.payload is not None
            (records,) = (one for one in item.payload.children if one.name == "records")
            assert (len(records.children) > 4, type(records.children) is list) == (True, kept)


def test_a_place_in_a_long_array_is_read_no_further(tmp_path: Path, tight: None, exhume_cli: Cli) -> None:
    begun = HEAD + user(Tags.NODE_TEXT, b"message")
    events = [event([], [(1, build_text(b"%05d" % number))]) for number in range(1500)]
    path, at = tmp_path / "long.clp", len(begun) + len(b"".join(events[:300])) + 5
    path.write_bytes(begun + b"".join(events) + END)
    ran = exhume_cli("explain", path, "--range", f"{at}:{at + 1}", "--json")
    (section,) = json.loads(ran.out)["sections"]
    (tokens,) = (one for one in section["fields"]["children"] if one["name"] == "tokens")
    assert [one["name"] for one in tokens["children"]] == ["[603]", "[604]", "[605]"]
    assert tokens["children"][1]["offset"] <= at < tokens["children"][2]["offset"]
    assert tokens["value"] == "more than 606 elements"


def test_a_long_section_is_shown_before_its_end_is_known(
    tmp_path: Path, tight: None, exhume_cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "AT_FIRST", 300)
    path = tmp_path / "long.clp"
    whole = HEAD + user(Tags.NODE_TEXT, b"message") + event([], [(1, build_text(b"x"))]) * 1500 + END
    path.write_bytes(whole)
    with exhume.open(path) as archive:
        (item,) = explain_archive(archive, Selection(section="units", stream=True))
        assert item.stored is not None
        (tokens,) = item.stored.children
        assert re.fullmatch(r"more than \d+ elements", str(tokens.value))
        assert len(tokens.children) < 1000
        assert [one.name for one in tokens.children] == [f"[{number}]" for number in range(3 + 2 * 1500 + 1)]


def test_a_summary_contains_numbers_of_variable_length(samples: Path, exhume_cli: Cli) -> None:
    """`{ofs_block.value}` of a number that is shown as one line, without its `value`."""
    ran = exhume_cli("explain", samples / "zs/words-none.zs", "--section", "index-0")
    with exhume.open(samples / "zs/words-none.zs") as archive:
        (data,) = (one.span for one in archive.sections() if one.name == "data-0")
    assert re.search(rf"\[0\] +entry +'.*' at {data.start}\b", ran.text)


def test_what_fails_at_the_end_of_a_long_section_is_shown(
    tmp_path: Path, tight: None, exhume_cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "AT_FIRST", 300)
    monkeypatch.setattr(explained, "PARSED", 10)
    with exhume.create(tmp_path / "a.zs", "zs", codec="none") as writer:
        records: Any = writer
        records.add_records(b"%09d" % number for number in range(1500))
    sound = (tmp_path / "a.zs").read_bytes()
    at = sound.index(b"\x09000001499")
    with exhume.open(sound) as archive:
        (data,) = (one.span for one in archive.sections() if one.name == "data-0")
    body = sound[data.start + 2 : at] + b"\x7f" + sound[at + 1 : data.end - 8]
    checksum = crc64_xz(body).to_bytes(8, "little")
    (tmp_path / "a.zs").write_bytes(sound[: data.start + 2] + body + checksum + sound[data.end :])
    ran = exhume_cli("explain", tmp_path / "a.zs", "--section", "data-0", "--no-verify")
    assert "more than" in ran.text
    assert "[1498]" in ran.text
    assert ran.text.splitlines()[-2].endswith("! parsing stops here")
    assert ran.code == 3
