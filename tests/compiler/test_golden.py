"""What the compiler makes of small specifications, one for each construct (written by `tests.compiler.specs`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from exhume.layout.foreign import compile_ksy
from tests.compiler import specs


@pytest.mark.parametrize("file", specs.files(), ids=lambda file: file.stem)
def test_the_compiler_writes_the_golden_file(file: Path) -> None:
    assert specs.readers(compile_ksy(file)) == file.with_suffix(".golden").read_text(encoding="utf-8")


def test_every_specification_is_among_those_that_are_compiled_together() -> None:
    together = compile_ksy(specs.EVERY)
    assert set(together.specs) == {specs.EVERY.stem, *(file.stem for file in specs.files())}
