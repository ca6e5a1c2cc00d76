"""Directories of the real `clp-s` and ours: each program reads those of both, with the same text in the same order."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any, NoReturn

import pytest

import exhume
from exhume.formats.clp_s.reader import open_archive
from exhume.formats.clp_s.writer import create
from exhume.io.local import LocalTree
from tests.clp_s.oracle import ORACLES, Oracle
from tests.clp_s.test_search_conformance import Maker
from tests.clp_s.test_writer_oracle import versions_of
from tests.real import REAL
from tests.sizes import THOROUGH, size

OPTIONS: dict[str, list[str]] = {
    "plain": [],
    "arrays opened": ["--structurize-arrays"],
    "timestamps": ["--timestamp-key", "ts"],
    "streams of their own": ["--min-table-size", "1"],
}
NAMES = {
    "--structurize-arrays": ("structurize_arrays", True),
    "--no-retain-float-format": ("retain_float_format", False),
    "--disable-log-order": ("log_order", False),
    "--timestamp-key": ("timestamp_key", None),
    "--min-table-size": ("min_table_size", None),
    "--compression-level": ("level", None),
}
FILES = ("header", "schema_tree", "schema_ids", "table_metadata", "var.dict", "log.dict", "array.dict", "0")
SEEDS = size(6, 40)


def _real() -> dict[str, tuple[Path, list[str]]]:
    """Inputs that `clp-s` accepts and prints again, according to their recorded exit codes, with its messages."""
    found = {}
    for path in REAL.glob("clp_s/0.5.1/*/input.jsonl"):
        stated = json.loads((path.parent / "meta.json").read_text())
        if stated["c"]["rc"] or any(archive["x"]["rc"] for archive in stated["archives"]):
            continue
        command = shlex.split((path.parent / "command.txt").read_text().splitlines()[0])
        flags = command[command.index("c") + 1 :]
        chosen = []
        for index, flag in enumerate(flags):
            if flag in NAMES:
                chosen += [flag] if NAMES[flag][1] is not None else [flag, flags[index + 1]]
        found[path.parent.name] = (path, chosen)
    return found


REAL_INPUTS = _real()
INPUTS = [*REAL_INPUTS, *(f"random {seed}" for seed in range(SEEDS))]


def text_of(name: str) -> tuple[bytes, list[str]]:
    """An input and the options of `clp-s c`."""
    if name in REAL_INPUTS:
        path, options = REAL_INPUTS[name]
        return path.read_bytes(), options
    seed = int(name.split()[1])
    maker = Maker(seed, question_marks=False)
    lines = b"".join(maker.records() for _ in range(3)).splitlines()
    records = [json.loads(line) | {"ts": 1_700_000_000_000 + 7 * number} for number, line in enumerate(lines)]
    text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    return text.encode(), list(OPTIONS.values())[seed % len(OPTIONS)]


def ours(target: Path, source: Path, version: str, options: list[str]) -> None:
    """Write a directory with the options that `clp-s c` was given."""
    chosen: dict[str, Any] = {}
    for index, flag in enumerate(options):
        if flag in NAMES:
            key, value = NAMES[flag]
            given = options[index + 1] if value is None else value
            chosen[key] = int(str(given)) if key in ("min_table_size", "level") else given
    with create(target, version=version, directory=True, allow_loss=True, **chosen) as writer:
        writer.add_files([source])


def skip_for_an_older(oracle: Oracle, what: str) -> NoReturn:
    """The inputs are those that 0.5.1 takes; only an older program may fail."""
    assert versions_of(oracle)[0] < "0.5", f"clp-s {what}"
    pytest.skip(f"an older clp-s {what}")


def theirs(oracle: Oracle, folder: Path, source: Path, *options: str) -> Path:
    folder.mkdir()
    if oracle.run("c", *options, folder, source).returncode != 0:
        skip_for_an_older(oracle, "does not compress this input")
    (made,) = folder.iterdir()
    return made


def printed(folder: Path, *, ordered: bool = False) -> bytes:
    with open_archive(LocalTree(folder)) as archive:
        assert not [str(finding) for finding in archive.verify() if finding.severity == "error"]
        return b"".join(archive.json_chunks(ordered=ordered))


def without_times(text: bytes) -> list[dict[str, Any]]:
    return [{key: value for key, value in json.loads(line).items() if key != "ts"} for line in text.splitlines()]


@pytest.mark.parametrize("oracle", ORACLES)
@pytest.mark.parametrize("name", INPUTS)
@pytest.mark.bulk
def test_each_reads_both(oracle: Oracle, name: str, tmp_path: Path) -> None:
    text, options = text_of(name)
    source = tmp_path / "input.jsonl"
    source.write_bytes(text)
    made = theirs(oracle, tmp_path / "theirs", source, *options)
    expected = oracle.extract(tmp_path, made)
    if expected is None:
        skip_for_an_older(oracle, "does not read what it made of this input")
    ordered = oracle.extract(tmp_path, made, "--ordered")
    assert printed(made) == expected
    assert printed(made, ordered=True) == ordered
    exhume.recode(made, tmp_path / "moved.clps", directory=False)
    assert (tmp_path / "moved.clps").read_bytes() == b"".join((made / file).read_bytes() for file in FILES)
    if THOROUGH or name not in REAL_INPUTS:
        assert oracle.extract(tmp_path, tmp_path / "moved.clps") == expected
    version = versions_of(oracle)[0]
    ours(tmp_path / "ours", source, version, options)
    own, in_order = printed(tmp_path / "ours"), printed(tmp_path / "ours", ordered=True)
    assert oracle.extract(tmp_path, tmp_path / "ours") == own
    assert oracle.extract(tmp_path, tmp_path / "ours", "--ordered") == in_order
    if version < "0.5" and own != expected:  # we keep more of a time's text than clp-s did then
        assert without_times(own) == without_times(expected)
    else:
        assert (own, in_order) == (expected, ordered)
    queries = ("*: *", "a: *1*", "ts > 1700000000050", "NOT msg: x")
    for query in queries if THOROUGH else queries[INPUTS.index(name) % 4 :: 4]:
        stated = [oracle.run("s", archive, query) for archive in (made, tmp_path / "ours")]
        with open_archive(LocalTree(made)) as first, open_archive(LocalTree(tmp_path / "ours")) as second:
            found = [b"".join(archive.json_lines(query)) for archive in (first, second)]
        if all(ran.returncode == 0 for ran in stated):
            assert [ran.stdout for ran in stated] == found, query


@pytest.mark.parametrize("oracle", ORACLES)
@pytest.mark.slow
def test_most_inputs_are_compared(oracle: Oracle, tmp_path: Path) -> None:
    """Guard the test above, which skips what cannot be compared."""
    count = 0
    for name in INPUTS if versions_of(oracle)[0] < "0.5" else ():  # a newer one skips nothing
        text, options = text_of(name)
        source, out = tmp_path / "input.jsonl", tmp_path / name
        source.write_bytes(text)
        out.mkdir()
        if oracle.run("c", *options, out, source).returncode == 0:
            count += oracle.extract(tmp_path, next(out.iterdir())) is not None
    assert count >= len(INPUTS) - 13 or versions_of(oracle)[0] >= "0.5"


@pytest.mark.parametrize("oracle", ORACLES)
def test_both_forms_contain_the_same_bytes(oracle: Oracle, tmp_path: Path) -> None:
    """But for the header, which names the creator; so each can be made of the other."""
    for number, name in enumerate(["mixed", "random 2", "random 3"]):
        text, options = text_of(name)
        source = tmp_path / "input.jsonl"
        source.write_bytes(text)
        folder = theirs(oracle, tmp_path / f"{number}", source, *options)
        single = theirs(oracle, tmp_path / f"{number} single", source, "--single-file-archive", *options)
        exhume.recode(single, tmp_path / f"{number} moved", directory=True)
        moved = tmp_path / f"{number} moved"
        assert sorted(file.name for file in moved.iterdir()) == sorted(FILES)
        assert sorted(file.name for file in folder.iterdir()) == sorted(FILES)
        for file in FILES[1:]:
            assert (moved / file).read_bytes() == (folder / file).read_bytes(), (name, file)
        assert oracle.extract(tmp_path, moved) == oracle.extract(tmp_path, single)
