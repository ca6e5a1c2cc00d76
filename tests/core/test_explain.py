"""Explain: every byte has a field or a known kind, every field's bytes are at its span."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import exhume
from exhume.engines.coverage import coverage
from exhume.engines.explain import Selection, explain_archive
from exhume.engines.explained import innermost
from exhume.errors import ExhumeError
from exhume.io.jsonout import dumps
from exhume.io.source import Source
from tests.archives import label, own_archives, real_archives
from tests.sizes import size, some

Cli = Callable[..., Any]
INTEGER = re.compile(r"[us][1248](le)?")
ALL = [pytest.param(path, id=label(path)) for path in [*own_archives(), *real_archives()]]

DEAD_BYTES = {"re-added-name.go.caf": 13, "re-added-name.ts.caf": 13, "proto-names.ts.caf": 9}
"""Bytes that no index entry refers to, left by the producer: the documented list of unexplained bytes."""

SPREAD = ALL[:: size(2, 1)]
"""Every second one as a rule: the fields of archives of one format are alike."""

pytestmark = pytest.mark.skipif(not ALL, reason="no sample archives")


def bytes_of(source: Source, start: int, end: int) -> bytes:
    return source.read_at(start - source.origin, end - start)


@pytest.mark.parametrize("path", ALL)
@pytest.mark.bulk
def test_every_byte_is_explained(path: Path) -> None:
    with exhume.open(path) as archive:
        totals = coverage(archive)
    dead = DEAD_BYTES.get(path.name, 0)
    assert sum(span.size for span in totals.unexplained) == totals.gap == dead, totals.unexplained
    assert totals.fields + totals.data + totals.padding + dead == totals.total
    assert totals.overlap == 0


@pytest.mark.parametrize("path", SPREAD)
@pytest.mark.bulk
def test_fields_are_at_their_stated_offsets(path: Path) -> None:
    checked = 0
    with exhume.open(path) as archive:
        sources = archive.sections().sources
        for item in explain_archive(archive, Selection()):
            section = item.section
            payload = section.load() if item.payload is not None and section.load is not None else b""
            for tree in item.trees():
                assert tree.note == "", (section.name, tree.note)
                for _, node in tree.walk():
                    if node.span is None or not isinstance(node.value, bytes | int) or isinstance(node.value, bool):
                        continue
                    if node.span.payload is None:
                        found = bytes_of(sources[node.span.source], node.span.start, node.span.end)
                    else:
                        found = payload[slice(*node.span.payload)]
                    if isinstance(node.value, int):
                        if INTEGER.fullmatch(node.type) and not node.children:
                            unsigned = node.value % (1 << len(found) * 8)
                            assert unsigned in (int.from_bytes(found, "little"), int.from_bytes(found, "big")), (
                                node.path
                            )
                    else:  # text-like types are stripped of terminators and padding
                        assert found.startswith(node.value), node.path
                    checked += 1
                    assert section.span.start <= node.span.start <= node.span.end <= section.span.end
    assert checked or all(s.schema is None for s in archive.sections()), path


@pytest.mark.parametrize("path", ALL[::7])
@pytest.mark.slow
def test_json_is_the_same_between_runs(path: Path, exhume_cli: Cli) -> None:
    first, second = (exhume_cli("explain", "--json", path) for _ in range(2))
    assert first.code == (3 if "dup-keys" in str(path) else 0), first.err  # tables that cannot be decoded
    assert first.out == second.out
    body = json.loads(first.out)
    assert body["schema"] == "exhume.explain/1"
    assert body["sections"]


@pytest.mark.parametrize("path", ALL[::7])
@pytest.mark.bulk
def test_any_byte_can_be_requested(path: Path, exhume_cli: Cli) -> None:
    with exhume.open(path) as archive:
        sections = [s for s in archive.sections().tiles() if s.span.size]
        for section in some(sections[:4]):
            at = (section.span.start + section.span.end) // 2
            ran = exhume_cli("explain", "--no-verify", "--at", at, "--file", section.span.source, path)
            assert ran.code == 0
            assert f"in section {section.name}" in ran.text or not section.name.isprintable()
            items = list(explain_archive(archive, Selection(start=at, end=at + 1, source=section.span.source)))
            chain = innermost((tree for item in items for tree in item.trees()), at)
            for outer, inner in itertools.pairwise(chain):
                assert outer.span is not None
                assert inner.span is not None
                assert outer.span.start <= inner.span.start <= at < inner.span.end <= outer.span.end


def test_a_byte_is_checked_without_the_rest(exhume_cli: Cli, samples: Path, tmp_path: Path) -> None:
    """`--at` and `--range` note checksums that do not match where they are, and read nothing else."""
    data = bytearray((samples / "zs" / "words-deflate.zs").read_bytes())
    with exhume.open(bytes(data)) as archive:
        blocks = [one for one in archive.sections().tiles() if one.name.startswith("data-")]
    damaged, sound = blocks[0].span, blocks[-1].span
    assert damaged != sound
    data[damaged.start + 40] ^= 1
    (tmp_path / "a.zs").write_bytes(data)
    for where in (["--at", damaged.start + 40], ["--range", f"{damaged.start}:{damaged.start + 9}"]):
        for text in (
            exhume_cli("explain", *where, tmp_path / "a.zs"),
            exhume_cli("explain", *where, tmp_path / "a.zs", "--json"),
        ):
            assert "crc: CRC-64/XZ: MISMATCH, stored 0x" in text.text
        assert "only checksums of what is shown are checked; --verify" in text.err
        verified = exhume_cli("explain", *where, tmp_path / "a.zs", "--verify")
        assert " [ZS-202]" in verified.text
        assert "MISMATCH" not in verified.text.replace("[CRC-64/XZ: MISMATCH", "")
        assert verified.err == ""
        assert "MISMATCH" not in exhume_cli("explain", *where, tmp_path / "a.zs", "--no-verify").text
    other = exhume_cli("explain", "--at", sound.start + 9, tmp_path / "a.zs")
    assert (other.code, "MISMATCH" in other.text) == (0, False)
    with mock.patch("exhume.formats.zs.reader.ZsArchive.verify", side_effect=AssertionError):
        assert exhume_cli("explain", "--at", sound.start + 9, tmp_path / "a.zs").code == 0
        assert exhume_cli("explain", "--range", "0:9", tmp_path / "a.zs").code == 0


def test_usage_errors(exhume_cli: Cli) -> None:
    path = ALL[0].values[0]
    for bad in ("5", "9:3", "x:y"):
        assert exhume_cli("explain", "--range", bad, path).code == 2
    assert exhume_cli("explain", "--at", 1 << 40, path).code == 4
    for more in ([], ["--json"]):
        assert exhume_cli("explain", "--range", f"{1 << 40}:", path, *more).code == 4
        for missing in (["--section", "no such"], ["--file", "no such"], ["--file", "no such", "--at", "3"]):
            ran = exhume_cli("explain", *missing, path, *more)
            assert (ran.code, "EX-402" in ran.err) == (1, True), missing
            assert len(ran.err.splitlines()) == 1
    assert exhume_cli("explain", "--range", "0:4", "--depth", "1", path).code == 0


def test_one_file_of_several() -> None:
    path = next(path for path in own_archives() if path.is_dir() and path.parent.name == "data_bundle")
    with exhume.open(path) as archive:
        everything = list(explain_archive(archive, Selection()))
        files = {item.section.span.source for item in everything}
        assert len(files) > 2
        for name in files:
            reported = list(explain_archive(archive, Selection(source=name)))
            assert [item.section.name for item in reported] == [
                item.section.name for item in everything if item.section.span.source == name
            ]


FILES = {path.parent.name: path for path in own_archives() if path.is_file()}


@pytest.mark.parametrize("name", sorted(FILES))
def test_damage_does_not_stop_it(name: str) -> None:
    data = FILES[name].read_bytes()
    explained = refused = 0
    for offset in range(0, len(data), max(1, len(data) // 24)):
        damaged = bytearray(data)
        damaged[offset] ^= 0xFF
        try:
            with exhume.open(bytes(damaged)) as archive:
                assert dumps([item.to_dict() for item in explain_archive(archive, Selection(), list(archive.verify()))])
                explained += 1
        except ExhumeError as error:
            assert "\n" not in str(error)
            refused += 1
    assert explained + refused >= 24
    assert refused  # a damaged magic number or header
