"""Read-write Python classes compiled from `ksy/`: an oracle for tests, never part of the product.

They are built once per state of the specifications into `tests/.cache/`, which git ignores, and need Node.js; a test
that requests one is skipped when there is none.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import shutil
import subprocess
import sys
import tempfile
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import Any

from kaitaistruct import KaitaiStream

from tests.toolchain.trees import ROOT, class_name, node_or_skip, spec_ids
from tools import generate

CACHE = ROOT / "tests" / ".cache"
COMPILER = ROOT / "tools" / "ksc_internals.mjs"


@functools.cache
def package() -> ModuleType:
    """Return the package of read-write classes, compiling it first when the specifications are new."""
    files = [ROOT / "ksy" / f"{name}.ksy" for name in spec_ids()]
    state = hashlib.sha256()
    for file in [*files, COMPILER, ROOT / "package-lock.json"]:
        state.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    name = f"exhume_ksy_rw_{state.hexdigest()[:16]}"
    folder = CACHE / name
    if not folder.exists():
        node = node_or_skip()
        CACHE.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
            out = Path(scratch, name)
            command = [*node, str(COMPILER), "readwrite", "--out", str(out), *map(str, files)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            for file in out.glob("*.py"):
                file.write_text(
                    generate.relative_imports(file.read_text(encoding="utf-8"), set(spec_ids())), encoding="utf-8"
                )
            (out / "__init__.py").write_text('"""Read-write classes, for tests."""\n', encoding="utf-8")
            try:
                out.rename(folder)
            except OSError:  # another test process was faster
                assert folder.exists()
        for old in CACHE.glob("exhume_ksy_rw_*"):
            if old != folder:
                shutil.rmtree(old, ignore_errors=True)
    spec = importlib.util.spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def readwrite_class(schema_id: str) -> Any:
    """Return the read-write class of a specification; skip the test without Node.js."""
    module = importlib.import_module(f".{schema_id}", package().__name__)
    return getattr(module, class_name(schema_id))


def roundtrip(schema_id: str, data: bytes, *args: Any) -> bytes:
    """Parses `data`, checks the result, writes it into a zeroed buffer of the same size and returns that.

    What comes back equals `data` when the specification describes every byte of it; others come back as zeros.

    Args:
        schema_id: the specification's id.
        data: the bytes to parse.
        *args: values of the specification's parameters.

    Raises:
        kaitaistruct.KaitaiStructError: `data` is not what the specification describes, or is inconsistent.
    """
    parsed = readwrite_class(schema_id)(*args, KaitaiStream(BytesIO(data)))
    parsed._read()
    parsed._fetch_instances()
    parsed._check()
    out = KaitaiStream(BytesIO(bytes(len(data))))
    parsed._write(out)
    written: bytes = out.to_byte_array()
    return written
