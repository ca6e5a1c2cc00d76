"""Every specification with its samples in the real Kaitai Web IDE, when `WEBIDE_SITE` names a built one.

The environment variable points to a folder with the page's `index.html`; Chromium is taken from `CHROMIUM` or PATH.
Samples that need parameters are tested only without a browser: the page has no input for them.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from exhume.engines.recode import recode
from tests.real import RealSamples
from tests.toolchain import trees
from tests.toolchain.test_real_files import FILES, files_of
from tools import ksy_lint, nodejs, web_ide

SCRIPT = Path(__file__).with_name("webide_browser.mjs")
CASES = [case for case in trees.cases() if ksy_lint.arguments(case[1], case[0]) is None]

# Files of archives that `recode --stored` writes, as globs, and what describes them.
STORED = (
    ("clp_s", "*.clps"),
    ("zs", "*.zs"),
    ("data_bundle_shard", "*/shard-*"),
    ("leveldb_table", "*/index/*.[ls][ds][bt]"),
    ("leveldb_manifest", "*/index/MANIFEST-*"),
)
SITE = os.environ.get("WEBIDE_SITE", "")
BROWSER = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")

pytestmark = [
    pytest.mark.node,
    pytest.mark.xdist_group("browser"),
    pytest.mark.skipif(not SITE, reason=f"WEBIDE_SITE names no built Kaitai Web IDE to open {len(CASES)} samples in"),
    pytest.mark.skipif(not BROWSER, reason="there is no Chromium on PATH, and CHROMIUM does not name one"),
]


def browse(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Open the cases in the Web IDE, or skip the test when there is no driver."""
    assert Path(SITE, "index.html").is_file(), f"WEBIDE_SITE={SITE} has no index.html"
    try:
        node = nodejs.ensure_packages(install=False, browser=True)
    except nodejs.NodeError as error:
        pytest.skip(f"{error} (`make test WEBIDE_SITE=...` installs it)")
    command = [*node, str(SCRIPT), str(Path(SITE).resolve()), str(BROWSER)]
    done = subprocess.run(command, input=json.dumps(items), capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    results: list[dict[str, Any]] = json.loads(done.stdout)
    return results


def verdicts(items: list[dict[str, Any]]) -> list[tuple[list[str], list[str]]]:
    """Return the problem with each case: errors, and nodes of the tree that did not open."""
    return [(one["errors"], one["bad"]) for one in browse(items)]


@functools.cache
def browser_results() -> dict[str, dict[str, Any]]:
    """Return the verdict on every sample; one page for all."""
    specs = sorted(str(file) for file in (trees.ROOT / "ksy").glob("*.ksy"))
    items = [{**trees.pure_item(*case), "specs": specs} for case in CASES]
    return {trees.case_id(case): result for case, result in zip(CASES, browse(items), strict=True)}


@pytest.mark.parametrize("case", CASES if SITE and BROWSER else CASES[:1], ids=trees.case_id)
def test_opens_in_the_web_ide(case: trees.Case) -> None:
    result = browser_results()[trees.case_id(case)]
    assert result["errors"] == []
    assert result["bad"] == []
    assert result["nodes"] > 1


def test_self_contained_specifications_open_in_the_web_ide(tmp_path: Path) -> None:
    bundles = {bundle.stem: str(bundle) for bundle in web_ide.write_bundles(tmp_path)}
    items = [{**trees.pure_item(*case), "specs": [bundles[case[0]]], "spec": bundles[case[0]]} for case in CASES]
    assert verdicts(items) == [([], [])] * len(items)


def test_stored_archives_open_in_the_web_ide(tmp_path: Path) -> None:
    items = []
    for folder, pattern in (("clp_s", "*.clps"), ("zs", "*.zs"), ("data_bundle", "*")):
        for sample in sorted((trees.ROOT / "tests/samples" / folder).glob(pattern)):
            recode(sample, tmp_path / sample.name, stored=True)
    for name, pattern in STORED:
        found = [file for file in sorted(tmp_path.glob(pattern)) if file.stat().st_size]
        assert found, pattern
        items += [_item(name, file) for file in found]
    assert verdicts(items) == [([], [])] * len(items)


def test_real_files_open_in_the_web_ide(real_samples: RealSamples) -> None:
    files = [(name, file) for name in FILES for file in files_of(name, real_samples)[::5]]
    found = verdicts([_item(name, file) for name, file in files])
    assert [(file.name, *one) for (_, file), one in zip(files, found, strict=True)] == [
        (file.name, [], []) for _, file in files
    ]


def _item(name: str, file: Path) -> dict[str, Any]:
    specs = sorted(str(file) for file in (trees.ROOT / "ksy").glob("*.ksy"))
    return {"specs": specs, "spec": str(trees.ROOT / "ksy" / f"{name}.ksy"), "sample": str(file)}


def test_the_web_ide_reports_what_breaks(tmp_path: Path) -> None:
    """The verdict is worth something: a short sample and a failing instance are seen."""
    (tmp_path / "short.ksy").write_text(
        "meta:\n  id: short\n  endian: le\nseq:\n  - id: a\n    type: u1\n  - id: b\n    type: u4\n"
    )
    (tmp_path / "data.bin").write_bytes(b"\x05")
    spec, sample = str(tmp_path / "short.ksy"), str(tmp_path / "data.bin")
    (result,) = browse([{"specs": [spec], "spec": spec, "sample": sample}])
    assert result["errors"] or result["bad"]
