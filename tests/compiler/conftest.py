"""One extension module for the tests of several modules: to build one takes four seconds."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from exhume.layout.foreign import Specification, compile_ksy


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The specifications of the tests, and `every.ksy`, which imports them."""
    from tests.compiler import test_native_depth, test_native_edges

    folder = tmp_path_factory.mktemp("deep")
    texts = {**test_native_depth.SPECS, "edges": test_native_edges.text()}
    for name, text in texts.items():
        (folder / f"{name}.ksy").write_text(text, encoding="utf-8")
    every = f"meta: {{id: every, imports: [{', '.join(texts)}]}}\nseq: [{{id: rows, type: pointed}}]\n"
    (folder / "every.ksy").write_text(every, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def every(folder: Path) -> Iterator[Specification]:
    """The specification that imports all, whose extension module the first of the modules builds, in a hurry."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EXHUME_CACHE", str(folder / "cache"))
        patch.setenv("EXHUME_NATIVE_FLAGS", os.environ.get("EXHUME_NATIVE_FLAGS", "-O0 -g0 -fwrapv"))
        made = compile_ksy(folder / "every.ksy", native=True)
        assert made.native is not None
        yield made
