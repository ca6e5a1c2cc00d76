"""Fails when generated code has anything that readers are not made of (`exhume.compiler.audit`).

    python -m tools.audit

It examines the committed readers of `ksy/` and the code that the compiler makes of the specifications in tests and
examples, the readers for `explain` included.  It refuses `typing.NamedTuple` in the modules of the package
(`exhume.tuples` says why).
"""

from __future__ import annotations

import sys
from pathlib import Path

from exhume.compiler import audit
from exhume.compiler.emit.modules import module_texts
from exhume.compiler.front.specs import Model
from exhume.compiler.refusal import UnsupportedError
from exhume.layout.ksy_files import SpecFiles
from exhume.layout.specifications import spec
from tools import layers
from tools.nodejs import ROOT

FAST = ROOT / "generated/exhume_ksy/fast"
FOREIGN = ("tests/toolchain/foreign", "examples/ksy")
OTHER_TUPLES = frozenset({"exhume.native.types"})
"""Modules with named tuples of `typing`: `native` imports nothing of the package."""


def main() -> int:
    """The number of modules that fail."""
    ids = sorted(path.stem for path in (ROOT / "ksy").glob("*.ksy"))
    own = Model({id: spec(id) for id in ids})
    wrong = _check({f"{id}.py": (FAST / f"{id}.py").read_text(encoding="utf-8") for id in ids}, own, "fast/")
    looked = len(ids)
    for folder in FOREIGN:
        for path in sorted((ROOT / folder).glob("*.ksy")):
            files = SpecFiles([])
            files.read(path)
            model = Model(files.specs, foreign=True)
            for traced in (False, True):
                texts = {f"{id}.py": text for id, text in module_texts(model, traced=traced).items()}
                looked += len(texts)
                wrong += _check(texts, model, f"{folder}/")
    slow = tuples(layers.modules())
    for name in slow:
        print(f"{name} uses typing.NamedTuple: use exhume.tuples.NamedTuple", file=sys.stderr)
    wrong += len(slow)
    if not wrong:
        print(f"{looked} modules of generated code have nothing but what readers are made of")
    return wrong


def tuples(modules: dict[str, Path]) -> list[str]:
    """The modules, but for `OTHER_TUPLES`, that import `typing.NamedTuple` when they run."""
    mention = [name for name, file in modules.items() if "NamedTuple" in file.read_text(encoding="utf-8")]
    found = [name for name in mention if "typing.NamedTuple" in layers.names(modules[name])]
    return sorted(set(found) - OTHER_TUPLES)


def _check(texts: dict[str, str], model: Model, where: str) -> int:
    """Audit some generated modules; print the first problem and return 1 if there is one, else 0."""
    try:
        audit.audited(texts, model)
    except UnsupportedError as error:
        print(f"{where}{error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(min(1, main()))
