"""`exhume schema`, and what of the specifications a wheel holds."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import exhume
from tests.conftest import ROOT

Cli = Callable[..., Any]


def test_the_specifications_are_listed(exhume_cli: Cli) -> None:
    listed = json.loads(exhume_cli("schema", "--json").out)
    assert {one["name"] for one in listed["schemas"]} == {path.stem for path in (ROOT / "ksy").glob("*.ksy")}
    assert all(one["title"] for one in listed["schemas"])


def test_one_is_printed_as_it_is(exhume_cli: Cli) -> None:
    assert exhume_cli("schema", "clp-s").out.decode() == (ROOT / "ksy/clp_s.ksy").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_bundle_is_self_contained(exhume_cli: Cli, tmp_path: Path, samples: Path) -> None:
    alone = tmp_path / "zs.ksy"
    alone.write_bytes(exhume_cli("schema", "zs", "--bundle").out)
    assert "imports:" not in alone.read_text(encoding="utf-8")
    value = exhume.compile_ksy(alone).read(samples / "zs/words-none.zs")
    assert value.header.codec_name.rstrip("\0") == "none"


def test_an_unknown_name_is_reported(exhume_cli: Cli) -> None:
    ran = exhume_cli("schema", "zss")
    assert (ran.code, ran.err.count("\n")) == (1, 1)
    assert "did you mean 'zs'" in ran.err


def test_the_readers_are_reported_with_an_example_that_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The docstrings of `exhume_ksy` and `exhume_ksy.fast` show how one structure is parsed."""
    import exhume_ksy
    import exhume_ksy.fast

    with exhume.zs.create(tmp_path / "words.zs", codec="deflate") as words:
        words.add_records([b"apple"])
    monkeypatch.chdir(tmp_path)
    for module in (exhume_ksy, exhume_ksy.fast):
        text = module.__doc__ or ""
        code = "\n".join(line[4:] for line in text.splitlines() if line.startswith("    ") or not line)
        assert "from exhume_ksy" in code
        exec(code, {})
