"""`docs/json.md` names every key that the command prints, and shows no form that does not exist."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import exhume
from tests.archives import label, own_archives

Cli = Callable[..., Any]
PAGE = (Path(__file__).parents[2] / "docs" / "json.md").read_text(encoding="utf-8")
FREE = {
    *(
        "metadata",
        "timestamp_patterns",
        "ingestion_units",
        "counts",
        "column_families",
        "statuses",
        "types",
        "checksums",
    ),
    *("recovered", "lost", "written", "row_versions", "old_files", "expected", "actual", "value", "edits"),
}
"""Keys below which the names are data: counts by kind, the archive's own words."""

SECTIONS = re.split(r"^## ", PAGE, flags=re.M)
EVERYWHERE = SECTIONS[0] + "".join(s for s in SECTIONS if s.startswith(("Spans", "Findings")))


def told(form: str) -> set[str]:
    """The keys that the page names for a form, for the forms it refers to, and everywhere."""
    texts = [s for s in SECTIONS if form in s.split("\n", 1)[0]]
    texts += [line for line in re.split(r"^- ", SECTIONS[-1], flags=re.M) if line.startswith(form)]
    assert texts, f"{form} is not documented"
    for other in set(re.findall(r"as in `(exhume\.\w+)", "".join(texts))):
        texts += [s for s in SECTIONS if s.startswith(other)]
    return set(re.findall(r"`([a-z0-9_]+)`", EVERYWHERE + "".join(texts))) | {"schema"}


def keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            if key not in FREE:
                yield from keys(item)
    elif isinstance(value, list):
        for item in value:
            yield from keys(item)


def check(out: bytes) -> None:
    body = json.loads(out)
    form = body["schema"].removesuffix("/1")
    logs = body.get("statistics", {}).get("logs", {}) if isinstance(body.get("statistics"), dict) else {}
    assert set(keys(body)) - set(logs) - told(form) == set()


@pytest.mark.parametrize("path", [pytest.param(path, id=label(path)) for path in own_archives()])
def test_every_key_of_reading_verbs_is_told(path: Path, exhume_cli: Cli) -> None:
    for args in (
        ["identify", path],
        ["info", path, "--stats"],
        ["list", path],
        ["list", path, "--sections"],
        ["verify", path],
        ["explain", path],
        ["explain", path, "--at", "9"],
        ["explain", path, "--coverage"],
    ):
        check(exhume_cli(*args, "--json").out)


def test_every_key_of_other_verbs_is_told(tmp_path: Path, exhume_cli: Cli, samples: Path) -> None:
    with exhume.create(tmp_path / "a.caf", "caf") as writer:
        members: Any = writer
        members.add_bytes("one", b"1")
        members.add_bytes("two", b"22")
    bundles = samples / "data_bundle"
    damaged = bytearray((tmp_path / "a.caf").read_bytes())
    damaged[-1] ^= 1
    (tmp_path / "b.caf").write_bytes(damaged)
    for args in (
        ["formats"],
        ["verify", tmp_path / "b.caf"],
        ["salvage", tmp_path / "b.caf", "-o", tmp_path / "c.caf"],
        ["carve", tmp_path / "a.caf"],
        ["extract", tmp_path / "a.caf", "-o", tmp_path / "out"],
        ["export", tmp_path / "a.caf", "--to", "tar", "-o", tmp_path / "a.tar"],
        ["recode", bundles / "zlib", "-o", tmp_path / "bundle", "--codec", "snappy"],
        ["list", bundles / "zlib", "--all-versions"],
        ["diff", bundles / "zlib", bundles / "snappy"],
        ["diff", bundles / "zlib", tmp_path / "out"],
        ["catalog", "build", tmp_path / "catalog.db", tmp_path / "a.caf"],
        ["catalog", "find", tmp_path / "catalog.db", "*"],
        ["catalog", "check", tmp_path / "catalog.db"],
    ):
        ran = exhume_cli(*args, "--json")
        assert ran.code in (0, 3, 4), ran.err
        check(ran.out)


def test_errors(tmp_path: Path, exhume_cli: Cli) -> None:
    ran = exhume_cli("info", tmp_path / "nothing", "--json")
    assert ran.code == 1
    check(ran.err)
