"""The lint of the specifications: ours are clean, and each thing it looks for is found."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from tests.sizes import some
from tests.toolchain.trees import node_or_skip
from tools import blocks, ksy_lint, ksy_lint_seeds
from tools.ksy_lint_seeds import GOOD, SEEDS

LEN_BODY_REASON = "      - id: len_body\n        -lint-ok: Of something else.\n        type: u2\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with one good specification, its import, and samples for both."""
    node_or_skip()
    return ksy_lint_seeds.project(tmp_path / "project")


@functools.cache
def verdicts() -> dict[str, list[str]]:
    """What the lint says about every planted mistake."""
    node_or_skip()
    return {seed.mistake: found for seed, found in ksy_lint_seeds.verdicts()}


@pytest.mark.node
@pytest.mark.slow
@pytest.mark.xdist_group("ksy_lint_seeds")
@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed.mistake)
def test_a_mistake_is_caught(seed: ksy_lint_seeds.Seed) -> None:
    assert seed.old in GOOD
    found = verdicts()[seed.mistake]
    assert ksy_lint_seeds.caught(seed, found), found


def test_the_table_of_mistakes_is_the_one_in_the_documentation() -> None:
    text = blocks.read_block("spec-driven.md", "ksy-lint-seeds")
    assert f"{len(SEEDS)} mistakes planted, {len(SEEDS)} caught." in text
    assert [line.split(" | ")[0].strip("| ") for line in text.splitlines()[4:]] == [seed.mistake for seed in SEEDS]


NO_MISTAKES = [
    ksy_lint_seeds.Seed(old, old, new, "nothing")
    for old, new in (
        ("instances:\n  is_big:\n    value: num_items.value > 4\n", ""),
        ("      - id: len_body\n        type: u2\n        valid:\n          max: _io.size\n", LEN_BODY_REASON),
        ("type: u2\n        valid:\n          max: _io.size\n", "type: u1\n"),
        ("    repeat: expr\n    repeat-expr: num_items.value\n", "    -lint-ok: It is small.\n    repeat: eos\n"),
        ("        1:\n          id: green\n", "        1:\n          id: default\n"),
    )
]


@pytest.mark.node
@pytest.mark.slow
def test_what_is_no_mistake_passes() -> None:
    node_or_skip()
    for seed, found in some(ksy_lint_seeds.verdicts(NO_MISTAKES)):
        assert seed.old in GOOD
        assert found == [], seed


@pytest.mark.node
@pytest.mark.slow
def test_a_type_that_another_specification_or_the_program_opens_is_used(root: Path) -> None:
    spare = GOOD.replace("types:\n", "types:\n  spare:\n    doc: For others.\n    seq: []\n", 1)
    (root / "ksy/thing.ksy").write_text(spare)
    assert ksy_lint.lint(root) == ["ksy/thing.ksy: /types/spare: nothing uses this type"]
    (root / "src").mkdir()
    (root / "src/sections.py").write_text('SCHEMA = "thing::spare"\n')
    assert ksy_lint.lint(root) == []


@pytest.mark.node
@pytest.mark.parametrize("name", ["msgpack", "json", "numpy", "class", "exhume_ksy"])
@pytest.mark.slow
def test_module_names_are_refused(root: Path, name: str) -> None:
    (root / f"ksy/{name}.ksy").write_text(GOOD.replace("id: thing", f"id: {name}"))
    (root / f"tests/samples/ksy/{name}.bin").write_bytes(b"\0")
    assert ksy_lint.lint(root) == [f"ksy/{name}.ksy: /meta/id: {name} is the name of a Python module we use"]


@pytest.mark.node
def test_root_in_an_imported_specification_is_refused(root: Path) -> None:
    text = (root / "ksy/uleb128.ksy").read_text().replace("group9.as<u8>", "_root.group9.as<u8>")
    (root / "ksy/uleb128.ksy").write_text(text)
    (found,) = ksy_lint.lint(root)
    assert "_root in an imported specification" in found


@pytest.mark.node
@pytest.mark.slow
def test_samples_and_their_arguments(root: Path) -> None:
    folder = root / "tests/samples/ksy"
    (folder / "thing.bin").rename(folder / "thing-small.bin")
    assert ksy_lint.lint(root) == []
    (folder / "thing-small.bin").unlink()
    (folder / "thing_other.bin").write_bytes(b"\0")
    assert ksy_lint.lint(root) == ["ksy/thing.ksy: sample: tests/samples/ksy/thing.bin is missing"]
    (folder / "thing.bin").write_bytes(b"\0")
    params = "params:\n  - id: limit\n    type: u4\n    doc: How many.\nseq:\n  - id: num_items"
    (root / "ksy/thing.ksy").write_text(GOOD.replace("seq:\n  - id: num_items", params, 1))
    assert "thing.bin needs thing.args.json" in ksy_lint.lint(root)[0]
    (folder / "thing.args.json").write_text("[1, 2]")
    assert "2 arguments for 1 parameters" in ksy_lint.lint(root)[0]
    (folder / "thing.args.json").write_text("[1]")
    assert ksy_lint.lint(root) == []


@pytest.mark.node
def test_specifications_lie_flat(root: Path) -> None:
    (root / "ksy/common").mkdir()
    (root / "ksy/common/other.ksy").write_text(GOOD)
    (found,) = ksy_lint.lint(root)
    assert found.startswith("ksy/common/other.ksy: specifications lie flat")


@pytest.mark.node
@pytest.mark.slow
def test_command_line_states_how_many(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ksy_lint.main(["--root", str(root)]) == 0
    (root / "tests/samples/ksy/thing.bin").unlink()
    assert ksy_lint.main(["--root", str(root)]) == 1
    printed = capsys.readouterr()
    assert printed.out == "ksy/thing.ksy: sample: tests/samples/ksy/thing.bin is missing\n"
    assert printed.err == "ksy-lint: no problems\nksy-lint: 1 problems\n"
