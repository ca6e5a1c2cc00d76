"""A second stream after the end of the first is never lost silently when a stream is converted.

Spec: none; docs/formats/kv_ir.md, "Streams that were appended".
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

import exhume
from exhume.findings import Severity

Cli = Callable[..., Any]


def stream(format: str, path: Path) -> bytes:
    with exhume.create(path, format) as made:
        writer: Any = made
        if format == "kv-ir":
            writer.write({"a": 1})
        else:
            writer.write(1_700_000_000_000, "one\n")
    return path.read_bytes()


@pytest.mark.parametrize("is_zstd", [False, True])
@pytest.mark.parametrize("to", ["clp-s", "kv-ir"])
@pytest.mark.parametrize(("format", "code"), [("kv-ir", "KVIR-309"), ("clp-ir", "CLPIR-309")])
def test_a_second_stream_stops_a_conversion(
    format: str, code: str, to: str, is_zstd: bool, tmp_path: Path, exhume_cli: Cli
) -> None:
    one = stream(format, tmp_path / "one.clp")
    pieces = [zstandard.compress(one)] * 2 if is_zstd else [one] * 2
    file = tmp_path / "two.clp"
    file.write_bytes(pieces[0])
    assert exhume_cli("create", to, file, "-o", tmp_path / "whole").code == 0
    file.write_bytes(b"".join(pieces))
    ran = exhume_cli("create", to, file, "-o", tmp_path / "made")
    assert (ran.code, ran.err.count("\n")) == (1, 1)
    assert ": bytes after the end of the stream" in ran.err
    assert ran.err.endswith(f"; use `exhume carve` to find appended streams [{code}]\n")
    assert f"at {len(one)} (0x" in ran.err
    assert not (tmp_path / "made").exists()
    assert [finding.code for finding in exhume.verify(file) if finding.severity is Severity.WARNING] == [code]


def test_what_follows_is_skipped_on_request(tmp_path: Path, exhume_cli: Cli) -> None:
    one = stream("kv-ir", tmp_path / "one.clp")
    for number, more in enumerate((one, bytes(9))):
        (tmp_path / "two.clp").write_bytes(one + more)
        out = tmp_path / f"made-{number}"
        ran = exhume_cli("create", "clp-s", tmp_path / "two.clp", "-o", out, "--on-error", "skip")
        assert ran.code == 3
        assert "1 record was skipped" in ran.err
        assert exhume_cli("cat", out).out == b'{"a":1}\n'


VERBS: dict[str, tuple[str, ...]] = {
    "cat": (),
    "cat --json": (),
    "search": ("*",),
    "search --json": ("*",),
    "search --count": ("*",),
    "cat --follow": (),
}


@pytest.mark.parametrize("form", ["plain", "frames", "stream behind a frame", "one frame"])
@pytest.mark.parametrize(("format", "code"), [("kv-ir", "KVIR-309"), ("clp-ir", "CLPIR-309")])
def test_a_second_stream_is_reported_by_what_reads_the_first(
    format: str, code: str, form: str, tmp_path: Path, exhume_cli: Cli
) -> None:
    one = stream(format, tmp_path / "one.clp")
    packed = zstandard.compress(one)
    two = {
        "plain": one + one,
        "frames": packed + packed,
        "stream behind a frame": packed + one,
        "one frame": zstandard.compress(one + one),
    }
    first, both = tmp_path / "first.clp", tmp_path / "both.clp"
    first.write_bytes(one)
    both.write_bytes(two[form])
    for verb, more in VERBS.items():
        if verb == "cat --follow" and form == "stream behind a frame":
            continue  # other bytes are an error of the frame there
        whole = exhume_cli(*verb.split(), first, *more)
        ran = exhume_cli(*verb.split(), both, *more)
        assert (whole.code, ran.code, ran.err.count("\n")) == (0, 3, 1), verb
        assert f"[{code}]" in ran.err, verb
        if "--json" not in verb:
            assert ran.out == whole.out, verb
    for to in ("jsonl", "csv"):
        exhume_cli("export", first, "--to", to, "-o", tmp_path / "whole")
        ran = exhume_cli("export", both, "--to", to, "-o", tmp_path / "made", "--overwrite")
        assert (ran.code, f"[{code}]: {len(one)}" in ran.err) == (3, True)
        assert (tmp_path / "made").read_bytes() == (tmp_path / "whole").read_bytes()
        (tmp_path / "whole").unlink()


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_second_stream_is_raised_after_the_last_event(jobs: int, tmp_path: Path) -> None:
    one = stream("kv-ir", tmp_path / "one.clp")
    (tmp_path / "two.clp").write_bytes(one + one)
    with exhume.open(tmp_path / "two.clp") as opened:
        archive: Any = opened
        for make in (archive.events, lambda: archive.json_chunks(jobs=jobs), lambda: archive.search("*", jobs=jobs)):
            found = []
            with pytest.raises(exhume.ExhumeError, match="after the end"):
                found.extend(make())
            assert len(found) == 1
        table = archive.to_arrow(jobs=jobs)
        assert table.read_next_batch().num_rows == 1
        with pytest.raises(exhume.ExhumeError, match="after the end"):
            table.read_next_batch()
        reported: list[str] = []
        archive.on_omitted = lambda error: reported.append(error.code)
        assert len(list(archive.events())) == 1
        assert reported == ["KVIR-309"]
