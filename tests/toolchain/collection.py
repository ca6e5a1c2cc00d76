"""Specifications of others: how many are covered, and whether their fast readers read what Kaitai's own classes do.

    KAITAI_FORMATS=/path/to/kaitai_struct_formats python -m tests.toolchain.collection

writes the figures about the public collection into docs/spec-driven.md.  Inputs are made by reading: what the reader
misses is put there, and at each step it is compared with Kaitai's own class.
"""

from __future__ import annotations

import atexit
import functools
import importlib
import json
import os
import pickle
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exhume_ksy.fast._layout import LayoutError

from exhume.compiler.front.model import Type
from exhume.errors import SpecificationError
from exhume.layout.fast import RAISED
from exhume.layout.foreign import Specification, compile_ksy
from tests.conftest import ROOT
from tests.sizes import bound_memory
from tests.toolchain.differential import FOREIGN, DifferenceError, compare_with, read_whole
from tests.toolchain.natively import Reported
from tools import nodejs
from tools.blocks import write_block
from tools.generate import relative_imports

PUBLIC = os.environ.get("KAITAI_FORMATS")
"""The folder with the public collection of Kaitai's specifications, None without one."""

PAGE, TARGET = "spec-driven.md", "collection"
SEEDS = 5
STEPS = 40
"""How often an input is mended."""

SECONDS, MEMORY = 60, 2 << 30
"""For one specification: Kaitai's readers may neither end nor stop to take memory."""

KNOWN = {
    "bcd": "for a choice without a matching case, Kaitai's Python puts nothing into a list, where None is used here",
    "microsoft_cfb": "nests instances without end, and each fails at another depth",
}
"""Where the two differ, and why."""


@dataclass
class Tried:
    """What came of one specification: inputs compared, how many of them were whole, and what differed."""

    compared: int = 0
    whole: int = 0
    problem: str = ""


class Collection:
    """The specifications below a folder, with Kaitai's classes for them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files = sorted(folder.rglob("*.ksy"))

    def compiled(self, file: Path) -> Specification:
        """One of them, compiled; raises `SpecificationError`."""
        return compile_ksy(file, imports=[self.folder])

    @functools.cached_property
    def oracles(self) -> dict[Path, str]:
        """The package of Kaitai's classes for every specification that becomes Python by Kaitai's compiler."""
        out = Path(tempfile.mkdtemp(prefix="exhume-collection-"))
        atexit.register(shutil.rmtree, out, ignore_errors=True)
        command = [*nodejs.ensure_packages(), str(ROOT / "tools/ksc.mjs"), "each"]
        command += ["--imports", str(self.folder), "--out", str(out), *map(str, self.files)]
        verdicts = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        sys.path.insert(0, str(out))
        found = {}
        for number, file in enumerate(self.files):
            if verdicts[str(file)] is not None:
                continue
            package = (out / str(number)).rename(out / f"{out.name.replace('-', '_')}_{number}")
            ids = {one.stem for one in package.glob("*.py")}
            try:
                for one in package.glob("*.py"):
                    text = relative_imports(one.read_text(encoding="utf-8"), ids)
                    compile(text, one.name, "exec")
                    one.write_text(text, encoding="utf-8")
            except SyntaxError:  # names that are words of Python, and documentation with backslashes
                continue
            (package / "__init__.py").touch()
            found[file] = package.name
        return found

    def compare(self, file: Path, specification: Specification, seeds: int) -> Tried:
        """Compare both readers of a specification on inputs made for it, in a process of their own."""
        assert file in self.oracles
        read, write = os.pipe()
        child = os.fork()
        if not child:
            bound_memory(MEMORY)
            signal.alarm(SECONDS)
            with os.fdopen(write, "wb") as pipe:
                try:
                    tried = self._attempt(file, specification, seeds)
                except BaseException as error:
                    tried = Tried(problem=f"{error!r:.300} {traceback.format_exc()[-600:]}")
                pickle.dump(tried, pipe)
            os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            reported = pipe.read()
        os.waitpid(child, 0)
        return pickle.loads(reported) if reported else Tried(problem="it took too long, or too much memory")

    def _attempt(self, file: Path, specification: Specification, seeds: int) -> Tried:
        out = Tried()
        package = self.oracles[file]
        FOREIGN[package] = specification
        type = specification.model.schemas[specification.id]
        plain = getattr(importlib.import_module(f"{package}.{type.id}"), type.class_name)
        for seed in range(seeds):
            draw = random.Random(f"{type.id} {seed}")
            given = [_parameter(one.raw.get("type"), draw) for one in type.params]
            data = bytearray(draw.choice((b"", draw.randbytes(64), bytes(64))))
            for _ in range(STEPS):
                if _endless(type, data, given):
                    break
                try:
                    whole = compare_with(plain, type, bytes(data), given)
                except DifferenceError as error:
                    out.problem = f"{bytes(data).hex()} {given}: {error.args}"
                    return out
                out.compared += 1
                out.whole += whole
                if whole or not _mend(type, data, given, draw):
                    break
        return out


def _parameter(type: Any, draw: random.Random) -> Any:
    return draw.random() < 0.5 if type == "bool" else draw.randrange(20)


def _endless(type: Type, data: bytearray, given: list[Any]) -> bool:
    """Whether elements of no bytes are repeated, by fields or instances: Kaitai takes them until the memory is full."""
    try:
        value, _ = read_whole(type, bytes(data), given)
    except LayoutError as error:
        return bool(error.expected == "elements that take bytes")
    except RAISED:
        return False
    return "elements that take bytes" in repr(Reported().value(value))


def _mend(type: Type, data: bytearray, given: list[Any], draw: random.Random) -> bool:
    """Put into an input what its reader missed; say whether it could."""
    try:
        read_whole(type, bytes(data), given)
    except LayoutError as error:
        if error.short:
            wanted = re.match(r"\d+", str(error.expected))
            missing = max(1, error.offset + int(wanted[0] if wanted else 1) - len(data))
            data += draw.choice((draw.randbytes, bytes))(min(missing + draw.choice((0, 0, 16, 64)), 1 << 12))
            return len(data) < 1 << 13
        wanted_value: Any = draw.choice(error.expected) if isinstance(error.expected, tuple) else error.expected
        size = max(0, error.stop - error.offset)
        if isinstance(wanted_value, str) and isinstance(error.expected, tuple):
            wanted_value = wanted_value.encode()
        if isinstance(wanted_value, bytes):
            data[error.offset : error.offset + len(wanted_value)] = wanted_value
        elif isinstance(wanted_value, int) and 0 < size <= 8 and 0 <= wanted_value < 1 << 8 * size:
            data[error.offset : error.stop] = wanted_value.to_bytes(size, "little" if draw.random() < 0.5 else "big")
        else:
            data[error.offset : error.stop] = draw.choice((draw.randbytes(size), bytes(size)))
        return True
    except RAISED:
        at = draw.randrange(len(data) + 1)
        data[at : at + 4] = draw.randbytes(4)
        return True
    return False


def figures(collection: Collection) -> str:
    """The page's block."""
    refused, differ = Counter[str](), []
    total = whole = reached = compared = covered = 0
    for file in collection.files:
        try:
            specification = collection.compiled(file)
        except SpecificationError as error:
            refused[error.message] += 1
            continue
        covered += 1
        if file not in collection.oracles:
            continue
        tried = collection.compare(file, specification, SEEDS)
        if tried.problem:
            differ.append(f"`{file.stem}`: {KNOWN.get(file.stem, tried.problem)}")
        compared += 1
        total, whole, reached = total + tried.compared, whole + tried.whole, reached + (tried.whole > 0)
    lines = [
        f"Of {len(collection.files)} specifications of the public collection {covered} are covered. Kaitai's own",
        f"compiler makes Python that runs of {compared} of those, and {compared - len(differ)} of these read and",
        f"refuse the same on {total:,} inputs; {whole:,} of the inputs, of {reached} specifications, were read",
        "completely.",
    ]
    lines += ["", "| refused for | specifications |", "| --- | ---: |"]
    lines += [f"| {why} | {many} |" for why, many in sorted(refused.items())]
    return "\n".join([*lines, "", "What differs:", "", *(f"- {one}" for one in differ)])


if __name__ == "__main__":
    if PUBLIC is None:
        sys.exit("KAITAI_FORMATS=/path/to/kaitai_struct_formats is missing")
    write_block(PAGE, TARGET, figures(Collection(Path(PUBLIC))))
