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
    assert f"[{code}]" in ran.err
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
