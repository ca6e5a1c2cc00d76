"""The formats' own tools read what `recode` writes, stored payloads included."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

import exhume
from tests.clp_s.oracle import ORACLES, Oracle

ZS_PYTHON = os.environ.get("EXHUME_ZS_PYTHON", "")
RECORDS = sorted(b"record %05d of many" % (i * 7919 % 5000) for i in range(2000))
EVENTS = b"".join(b'{"id":%d,"text":"took %d.5 ms id=a%d"}\n' % (i, i, i % 7) for i in range(500))


@pytest.mark.conformance("zs 0.10.0")
@pytest.mark.skipif(
    not ZS_PYTHON, reason="EXHUME_ZS_PYTHON names no Python that has the reference implementation of ZS"
)
@pytest.mark.parametrize("codec", ["deflate", "lzma"])
@pytest.mark.parametrize("options", [{"stored": True}, {"codec": "none"}, {"block_size": 900}])
def test_the_reference_reads_recoded_zs(codec: Any, options: dict[str, Any], tmp_path: Path) -> None:
    with exhume.create(tmp_path / "a.zs", "zs", codec=codec) as writer:
        records: Any = writer
        records.add_records(RECORDS)
    exhume.recode(tmp_path / "a.zs", tmp_path / "b.zs", **options)
    command = [ZS_PYTHON, "-m", "zs"]
    dumped = subprocess.run([*command, "dump", str(tmp_path / "b.zs")], capture_output=True, check=True)
    assert dumped.stdout == b"".join(record + b"\n" for record in RECORDS)
    checked = subprocess.run([*command, "validate", str(tmp_path / "b.zs")], capture_output=True, check=False)
    assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize("oracle", ORACLES)
@pytest.mark.parametrize("options", [{"stored": True}, {"level": "19"}])
def test_clp_s_reads_recoded_archives(oracle: Oracle, options: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    (tmp_path / "x").mkdir()
    archive = oracle.compress(tmp_path / "c", EVENTS)
    assert archive is not None
    exhume.recode(archive, tmp_path / "recoded", **options)
    assert oracle.extract(tmp_path / "x", tmp_path / "recoded") == EVENTS
