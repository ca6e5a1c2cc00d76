"""The reference implementation reads what we write, and we read what it writes.

`EXHUME_ZS_PYTHON` names a Python that has the package `zs` (a checkout of its repository, built with Cython 0.29 on
Python 3.11 or 3.12).  Without it, what the reference said of a file is taken from `reference_verdicts.json`, by the
digest of the file; what cannot be answered so is skipped.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.formats.zs.encode import Codec
from exhume.formats.zs.writer import ZsWriter

from .build import reader
from .make_samples import BROKEN, WORDS, extended, hidden_disorder

PYTHON = os.environ.get("EXHUME_ZS_PYTHON", "")

VERDICTS = Path(__file__).with_name("reference_verdicts.json")
GOOD = "looks good!"

pytestmark = pytest.mark.conformance("zs 0.10.0")
needs_reference = pytest.mark.skipif(
    not PYTHON, reason="EXHUME_ZS_PYTHON names no Python that has the reference implementation of ZS"
)

TEXT = b"".join(word + b"\n" for word in WORDS)


def verdict(data: bytes, folder: Path) -> str:
    """What the reference's `validate` says: that a file looks good, or its first words of refusal."""
    if not PYTHON:
        recorded: dict[str, str] = json.loads(VERDICTS.read_text(encoding="utf-8"))["verdicts"]
        digest = hashlib.sha256(data).hexdigest()
        if digest not in recorded:
            pytest.skip("the reference implementation of ZS was never asked about this file (tests.zs.make_verdicts)")
        return recorded[digest]
    path = folder / "x.zs"
    path.write_bytes(data)
    ran = reference("validate", "-j0", path)
    text = (ran.stdout if ran.stdout.strip() else ran.stderr).decode().strip()
    assert (ran.returncode == 0) == (text == GOOD), text
    return GOOD if text == GOOD else text.splitlines()[-1].replace(str(path), "FILE")


def reference(*args: object, input: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run the reference's command line."""
    return subprocess.run([PYTHON, "-m", "zs", *map(str, args)], input=input, capture_output=True, check=False)


@needs_reference
@pytest.mark.parametrize("codec", ["none", "deflate", "lzma"])
@pytest.mark.parametrize("short", [False, True])
def test_reference_reads_ours(tmp_path: Path, codec: Codec, short: bool) -> None:
    path = tmp_path / "a.zs"
    with ZsWriter(path, codec=codec, block_size=70, branching_factor=3, short_keys=short, metadata={"k": "é"}) as out:
        out.add_records(WORDS)
    assert reference("validate", "-j0", path).stdout.strip() == b"looks good!"
    assert reference("dump", "-j0", path).stdout == TEXT
    assert reference("dump", "-j0", "--prefix=quiet ", path).stdout.splitlines() == WORDS[-5:]
    reported = json.loads(reference("info", path).stdout)
    with reader(path) as archive:
        ours = archive.info().to_dict()
    assert {key: ours[key] for key in reported} == reported


@needs_reference
@pytest.mark.parametrize("codec", ["none", "deflate", "lzma"])
def test_we_read_the_references(tmp_path: Path, codec: str) -> None:
    path = tmp_path / "a.zs"
    made = reference(
        "make", "-j1", "--no-spinner", f"--codec={codec}", "--approx-block-size=70", "--branching-factor=3",
        '{"k": 1}', "-", path, input=TEXT,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    assert list(exhume.verify(path)) == []
    with reader(path) as archive:
        assert list(archive) == WORDS
        assert list(archive.records(prefix=b"deep ")) == [word for word in WORDS if word.startswith(b"deep ")]
        assert archive.metadata["k"] == 1


@needs_reference
def test_same_input_same_file(tmp_path: Path) -> None:
    """Stored, with our records cut where the reference cuts them, the files are equal to the last byte."""
    for name in ("ours.zs", "theirs.zs"):
        assert not (tmp_path / name).exists()
    made = reference(
        "make", "-j1", "--no-spinner", "--codec=none", "--branching-factor=4", "--no-default-metadata", "{}", "-",
        tmp_path / "theirs.zs", input=TEXT,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    with ZsWriter(tmp_path / "ours.zs", codec="none", branching_factor=4, default_metadata=False) as out:
        out.add_records(WORDS)
    assert (tmp_path / "ours.zs").read_bytes() == (tmp_path / "theirs.zs").read_bytes()


# Faults that the reference lets pass, or does not survive (see docs/formats/zs.md).
BEYOND = {"first-key-too-small", "stream-trailing", "metadata-nan", "metadata-key-twice"}


REFUSED = sorted(set(BROKEN) - BEYOND - {"block-length-endless", "block-length-huge"})


@pytest.mark.parametrize("name", REFUSED)
def test_reference_refuses_our_broken_samples(tmp_path: Path, name: str) -> None:
    assert verdict(BROKEN[name][1], tmp_path) != GOOD


def test_extensions_are_fine_with_both(tmp_path: Path) -> None:
    assert verdict(extended(), tmp_path) == GOOD


def test_disorder_that_the_reference_misses(tmp_path: Path) -> None:
    path = tmp_path / "x.zs"
    path.write_bytes(hidden_disorder())
    assert verdict(path.read_bytes(), tmp_path) == GOOD
    assert {finding.code for finding in exhume.verify(path)} == {"ZS-321", "ZS-323"}


@needs_reference
def test_recorded_verdicts_are_those_of_the_reference(tmp_path: Path) -> None:
    """`python -m tests.zs.make_verdicts` writes them again."""
    assert json.loads(VERDICTS.read_text(encoding="utf-8")) == make_verdicts(tmp_path)


def make_verdicts(folder: Path) -> dict[str, Any]:
    """What the reference says of every file that these tests ask about."""
    files = [*(BROKEN[name][1] for name in REFUSED), extended(), hidden_disorder()]
    version = reference("--version").stdout.decode().strip()
    verdicts = {hashlib.sha256(data).hexdigest(): verdict(data, folder) for data in files}
    return {"reference": f"zs {version}", "verdicts": verdicts}
