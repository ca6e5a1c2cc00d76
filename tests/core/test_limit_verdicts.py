"""A limit is not damage: with any limit, an intact archive is `ok` or `incomplete`, and the limit is named."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.engines.verify import Verification
from exhume.findings import Verdict
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.recovery import CarveVerdict
from tests.conftest import ROOT
from tests.sizes import some

SAMPLES = {
    "ark": "ark/log", "caf": "caf/sorted.caf", "clp-s": "clp_s/demo.clps", "databundle": "data_bundle/snappy",
    "kv-ir": "kv_ir/small.clp.zst", "clp-ir": "clp_ir/small.clp.zst",
    "leveldb": "leveldb/snappy", "zs": "zs/words-deflate.zs",
}  # fmt: skip
NAMES = [name for name in Limits._fields if not name.startswith("output_")]
WITHOUT = {"expansion": "expansion_floor", "expansion_floor": "expansion"}
"""Pairs of limits whose larger one counts."""

VALUES = (0, 1, 10, 100, 1000)


def limits() -> Iterator[tuple[str, Limits]]:
    for name in NAMES:
        for value in VALUES:
            other = {WITHOUT[name]: 0} if name in WITHOUT else {}
            yield name, DEFAULT_LIMITS._replace(**{name: value}, **other)


@pytest.mark.parametrize("format", SAMPLES)
def test_no_limit_makes_an_archive_damaged(format: str) -> None:
    path = ROOT / "tests" / "samples" / SAMPLES[format]
    verdicts = set()
    for name, few in limits():
        checked = Verification(path, format=format, limits=few)
        findings = [finding for finding in checked if finding.is_problem]
        verdicts.add(checked.verdict)
        assert checked.verdict is not Verdict.DAMAGED, (name, few, [str(finding) for finding in findings])
        with exhume.inspect(path, format=format, limits=few) as archive:
            found = [*archive.info().to_dict().get("findings", ()), *(one.to_dict() for one in archive.problems)]
            assert {finding["severity"] for finding in found} <= {"unchecked"}, (name, few, found)
    assert Verdict.INCOMPLETE in verdicts or format in ("clp-ir", "kv-ir")


@pytest.mark.parametrize("format", SAMPLES)
def test_no_limit_hides_or_damages_what_carve_finds(format: str) -> None:
    path = ROOT / "tests" / "samples" / SAMPLES[format]
    for file in some([path] if path.is_file() else sorted(one for one in path.rglob("*") if one.is_file())):
        image = bytes(500) + file.read_bytes() + bytes(500)
        expected = [(one.format, one.offset) for one in exhume.carve(image)]
        for name, few in some(limits()):
            found = list(exhume.carve(image, limits=few))
            assert [(one.format, one.offset) for one in found] == expected or format in ("caf", "leveldb"), (name, few)
            assert len(found) == len(expected), (name, few)
            assert min((one.confidence for one in found), default=1) >= 0.5 or format == "databundle", (name, few)
            for one in found:
                assert one.verdict is not CarveVerdict.DAMAGED, (name, few, one.findings)


@pytest.mark.parametrize("verb", ["verify", "carve", "map", "explain", "info"])
def test_every_verb_names_the_limit(verb: str, tmp_path: Path, exhume_cli: Callable[..., Any]) -> None:
    path = ROOT / "tests" / "samples" / SAMPLES["clp-s"]
    more = ["--svg", tmp_path / "map.svg"] if verb == "map" else []
    name = "structure_size" if verb == "info" else "payload_size"  # which it does not need
    ran = exhume_cli(verb, path, "--limit", f"{name}=10", *more)
    assert ran.code == 3
    assert name in ran.text + ran.err
    assert "damaged" not in ran.text + ran.err
    if verb not in ("explain", "info"):
        body = json.loads(exhume_cli(verb, path, "--limit", "payload_size=10", "--json", *more, *(
            ["--overwrite"] if more else [])).out)  # fmt: skip
        assert (body["archives"][0] if verb == "carve" else body)["verdict"] == "incomplete"
