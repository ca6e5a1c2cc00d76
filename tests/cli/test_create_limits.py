"""`create --limit`: what one line, event or chunk of an input may cost.

The limits bound memory: a line or event of about 1 MiB, which is held at once anyway, is never refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import exhume
from tests.real import REAL

Cli = Callable[..., Any]

LARGE = "word " * 300_000


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Each kind of input, with a small event before and after a large one."""
    events = [{"t": 1, "text": "first"}, {"t": 2, "text": LARGE}, {"t": 3, "text": "last"}]
    folder = tmp_path_factory.mktemp("inputs")
    paths = {kind: folder / f"in.{kind}" for kind in ("jsonl", "kv-ir", "clp-ir", "log")}
    paths["jsonl"].write_text("".join(json.dumps(one) + "\n" for one in events))
    paths["log"].write_text("".join(f"2024-01-01 00:00:0{one['t']} {one['text']}\n" for one in events))
    with exhume.kvir.create(paths["kv-ir"]) as writer:
        for one in events:
            writer.write(one)
    with exhume.clpir.create(paths["clp-ir"]) as texts:
        for number, one in enumerate(events):
            texts.write(number, str(one["text"]))
    return paths


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize(
    ("format", "kind", "limit"),
    [
        ("kv-ir", "jsonl", "structure_size"),
        ("kv-ir", "log", "structure_size"),
        ("kv-ir", "kv-ir", "payload_size"),
        ("kv-ir", "clp-ir", "payload_size"),
        ("clp-s", "kv-ir", "payload_size"),
        ("clp-s", "clp-ir", "payload_size"),
        ("clp-ir", "jsonl", "structure_size"),
    ],
)
def test_an_input_is_refused_by_the_name_of_the_limit(
    format: str, kind: str, limit: str, jobs: int, inputs: dict[str, Path], tmp_path: Path, exhume_cli: Cli
) -> None:
    keys = ("--timestamp-key", "t", "--message-key", "text")
    more = keys if format == "clp-ir" else ("--jobs", str(jobs))
    out = tmp_path / "out"
    refused = exhume_cli("create", format, inputs[kind], "-o", out, *more, "--limit", f"{limit}=100K")
    assert (refused.code, limit in refused.err, out.exists()) == (1, True, False)
    other = {"structure_size": "payload_size", "payload_size": "structure_size"}[limit]
    made = exhume_cli("create", format, inputs[kind], "-o", out, *more, "--limit", f"{other}=100K")
    assert made.code == 0, made.err
    assert exhume_cli("verify", out).code == 0


def test_a_chunk_of_mcap_above_the_limit_is_named_as_lost(tmp_path: Path, exhume_cli: Cli) -> None:
    log = REAL.path("ark", "basic")
    assert exhume_cli("export", log, "-o", tmp_path / "in.mcap").code == 0
    for jobs in ("1", "2"):
        out = tmp_path / f"log{jobs}"
        made = exhume_cli("create", "ark", tmp_path / "in.mcap", "-o", out, "-j", jobs, "--limit", "payload_size=10")
        assert (made.code, "limit payload_size" in made.err) == (3, True)
        assert "chunks that cannot be read: " in made.err
    exhume_cli("export", log, "-o", tmp_path / "in.jsonl")
    short = exhume_cli("create", "ark", tmp_path / "in.jsonl", "-o", tmp_path / "none", "--limit", "structure_size=10")
    assert (short.code, "limit structure_size" in short.err, (tmp_path / "none").exists()) == (1, True, False)


def test_an_unknown_limit_is_a_usage_error(tmp_path: Path, exhume_cli: Cli) -> None:
    (tmp_path / "in").write_text("{}\n")
    assert exhume_cli("create", "kv-ir", tmp_path / "in", "-o", tmp_path / "out", "--limit", "nothing=1").code == 2
