"""dissect.target opens archives of members as targets, and lists the archives on a target."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

import exhume
from exhume.archive import MemberArchive
from tests.plugins.tools import run
from tests.real import ROOT

pytestmark = [pytest.mark.conformance("dissect"), pytest.mark.slow]

PLUGIN = ROOT / "src/exhume/plugins/exhume_dissect.py"


@pytest.mark.parametrize("name", ["caf/sorted.caf", "data_bundle/zlib"])
def test_an_archive_of_members_is_a_target(samples: Path, name: str, tmp_path: Path) -> None:
    with exhume.open(samples / name) as archive:
        assert isinstance(archive, MemberArchive)
        files = {
            entry.name: archive.read_member(entry.name)
            for entry in archive.entries()
            if entry.kind == "file" and entry.name
        }
    assert len(files) > 3
    # The command itself would write each file by its name: one call for all of them.
    script = tmp_path / "read.py"
    script.write_text(
        "import hashlib, json, sys\n"
        "from pathlib import Path\n"
        "from dissect.target import Target\n"
        "from dissect.target.plugin import load_modules_from_paths\n"
        f"load_modules_from_paths([Path({str(PLUGIN)!r})])\n"
        "fs = Target.open(sys.argv[1]).fs\n"
        "found = (entry for _, _, files in fs.walk_ext('/') for entry in files)\n"
        "print(json.dumps({e.path.lstrip('/'): [e.open().read().hex(), e.stat().st_size] for e in found}))\n"
    )
    read = json.loads(run("python", script, samples / name).stdout)
    assert read == {name: [data.hex(), len(data)] for name, data in files.items()}


def test_the_command_prints_a_member(samples: Path) -> None:
    with exhume.caf.open(samples / "caf/sorted.caf") as chunk:
        wanted = chunk.read_member("readme.txt").decode()
    stated = run("target-fs", "-q", "--plugin-path", PLUGIN, "--", samples / "caf/sorted.caf", "cat", "/readme.txt")
    assert stated.stdout == wanted


def test_archives_on_a_target_are_listed(samples: Path, tmp_path: Path) -> None:
    names = ["zs/words-none.zs", "caf/sorted.caf", "clp_s/demo.clps", "clp_s/demo.jsonl"]
    with tarfile.open(tmp_path / "image.tar", "w") as image:
        for name in names:
            image.add(samples / name, name)
    stated = run(
        "target-query", "-q", "-j", "-f", "exhume.archives", tmp_path / "image.tar", DISSECT_PLUGINS=str(PLUGIN)
    )
    records = [record for record in map(json.loads, stated.stdout.splitlines()) if record["_type"] == "record"]
    reported = {record["path"]: (record["format"], record["size"], record["confidence"]) for record in records}
    assert reported == {
        f"/{name}": (found[0].format, (samples / name).stat().st_size, found[0].confidence)
        for name in names
        if (found := exhume.identify(samples / name))
    }
    assert len(reported) == 3
