"""What the compiler makes of small specifications, one for each construct (written by `tests.compiler.specs`)."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import exhume_ksy
import pytest
import yaml

from exhume.compiler.whole import paused_texts
from exhume.layout.foreign import Specification, compile_ksy
from tests.compiler import specs
from tests.toolchain.drawn_specs import Drawn

OURS = Path(exhume_ksy.__file__).parent


@cache
def every() -> Specification:
    return compile_ksy(specs.EVERY)


@pytest.mark.parametrize("file", specs.files(), ids=lambda file: file.stem)
def test_the_compiler_writes_the_golden_file(file: Path) -> None:
    assert specs.readers(compile_ksy(file)) == file.with_suffix(".golden").read_text(encoding="utf-8")


def test_every_specification_is_among_those_that_are_compiled_together() -> None:
    together = every()
    assert set(together.specs) == {specs.EVERY.stem, *(file.stem for file in specs.files())}


def test_emitted_modules_have_no_name_that_nothing_binds_or_reads(tmp_path: Path) -> None:
    together = every()
    texts = {**together.texts, **{f"traced {id}": text for id, text in together._traced_texts.items()}}
    rows = compile_ksy(specs.GOLDEN / "wide_rows.ksy")
    texts["paused"] = dict(paused_texts(rows.specs, rows.given, rows.id, ["rows"], rows.texts) or {})[f"{rows.id}.py"]
    for seed in range(6):
        file = tmp_path / f"drawn_{seed}.ksy"
        file.write_text(yaml.safe_dump(Drawn(seed).specification(file.stem)), encoding="utf-8")
        texts[file.name] = specs.readers(compile_ksy(file))
    assert {name: found for name, text in texts.items() if (found := list(specs.names_amiss(text)))} == {}


def test_modules_of_our_own_schemas_have_no_name_that_nothing_binds() -> None:
    texts = {str(file): file.read_text(encoding="utf-8") for file in OURS.glob("f*/*.py")}
    assert len(texts) > 80
    found = [f"{name}: {one}" for name, text in texts.items() for one in specs.names_amiss(text)]
    assert [one for one in found if "not defined" in one] == []


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("def f(a):\n    return b", ["f: b is not defined"]),
        ("def f(a):\n    b = a\n    return a", ["f: b is never read"]),
        ("def f(a):\n    b, c = a, a\n    return b", ["f: c is never read"]),
        ("from x import y, z\ndef f(a: y) -> None:\n    return a", ["z is imported only"]),
        ("def f(a):\n    b, _ = a\n    return f'{b}'", []),
    ],
)
def test_names_amiss_are_found(text: str, stated: list[str]) -> None:
    assert list(specs.names_amiss(text)) == stated
