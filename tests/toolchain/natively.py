"""Whether compiled readers give what the interpreted ones give, and refuse what they refuse, in the same words.

    python -m tests.toolchain.natively [--build] FOLDER [NAME ...]

builds the specifications in a folder, the smallest first, and reads inputs that are made by reading, whole and damaged.
With the library of a sanitizer loaded and its flags in `EXHUME_NATIVE_FLAGS`, memory is watched as well; `make
ksy-sanitized` does that.  With `--build`, modules are built and not loaded, as the compiler need not be watched.
"""

from __future__ import annotations

import random
import sys
import time
import warnings
from array import array
from pathlib import Path
from typing import Any

from exhume.compiler.front.kinds import Structure
from exhume.errors import SpecificationError
from exhume.layout.fast import RAISED, LayoutError
from exhume.layout.foreign import Specification, compile_ksy
from tests.toolchain.differential import FOREIGN, damaged

MOST = 1_500
"""Values that are examined in one reading."""


class Reported:
    """All that there is in a value, and what is reported where there is none."""

    def __init__(self) -> None:
        self.left = MOST

    def value(self, value: Any, depth: int = 0) -> Any:
        """A value as lists, names and numbers."""
        self.left -= 1
        if self.left < 0 or depth > 40:
            return "..."
        if isinstance(value, memoryview):
            return value.tolist() if value.format != "B" else bytes(value[:4096])
        if isinstance(value, list) and hasattr(value, "_where"):
            return self.value(list(value), depth), self.value(value._if_any(), depth)  # type: ignore[attr-defined]
        if isinstance(value, list):
            return [self.value(one, depth + 1) for one in value]
        if type(value).__name__.endswith("Columns"):
            columns = {one: getattr(value, one) for one in type(value).__slots__ if one not in _AROUND}
            reported = [(name, one.tolist()) for name, one in columns.items() if isinstance(one, (array, memoryview))]
            return [*reported, str(value.problem), [self.value(one, depth + 1) for one in value]]
        if hasattr(value, "_fields"):
            return [type(value).__name__, *((name, self.requested(value, name, depth)) for name in _members(value))]
        return value

    def requested(self, value: Any, name: str, depth: int) -> Any:
        """A field or an instance of a value, or what is reported where it has none."""
        try:
            found = getattr(value, name)
        except RAISED as error:
            return type(error).__name__, str(error)
        return self.value(found, depth + 1)


_AROUND = ("view", "end", "problem", "io", "parent", "root", "big", "_run")


def _members(value: Any) -> list[str]:
    own = [name for name, one in vars(type(value)).items() if hasattr(one, "fget")]
    return [*value._fields, *own, "_sizeof"][:-1]


def reported(specification: Specification, data: bytes, given: list[Any]) -> Any:
    """What a specification makes of bytes: everything in it, or what is reported."""
    type = specification.model.schemas[specification.id]
    reader = getattr(specification.module, type.reader_name)
    try:
        value, at = reader(data, 0, len(data), *specification._around(reader), *given)
    except RAISED as error:
        return error.__class__.__name__, str(error)
    found = Reported()
    return at, found.value(value)


def difference(plain: Specification, native: Specification, data: bytes, given: list[Any]) -> str:
    """Where two readings differ; nothing when they do not."""
    one, other = reported(plain, data, given), reported(native, data, given)
    if one == other or repr(one) == repr(other):  # a NaN differs from itself
        return ""
    return f"{data.hex()[:2000]} {given}\n  {_first(one, other)}"


def _first(one: Any, other: Any, path: str = "") -> str:
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)) and len(one) == len(other):
        for number, (first, second) in enumerate(zip(one, other, strict=True)):
            if repr(first) != repr(second):
                return _first(first, second, f"{path}/{number}")
    return f"{path}: {one!r:.300} is not {other!r:.300}"


def made_for(specification: Specification, draw: random.Random, steps: int = 40) -> list[tuple[bytes, list[Any]]]:
    """Inputs that come nearer and nearer to what a specification describes, with its parameters."""
    from tests.toolchain.collection import _endless, _mend, _parameter

    FOREIGN[f"natively {specification.id}"] = specification
    type = specification.model.schemas[specification.id]
    given = [_parameter(one.raw.get("type"), draw) for one in type.params]
    data, found = bytearray(draw.choice((b"", draw.randbytes(64), bytes(64)))), []
    for _ in range(steps):
        found.append((bytes(data), given))
        if _endless(type, data, given) or not _mend(type, data, given, draw):
            break
    return found


def compared(plain: Specification, native: Specification, seeds: int) -> tuple[int, str]:
    """How many readings were compared, and the first difference."""
    type, many = plain.model.schemas[plain.id], 0
    if any(isinstance(one.value_kind, Structure) for one in type.params):
        return 0, ""
    for seed in range(seeds):
        draw = random.Random(f"{plain.id} {seed}")
        try:
            inputs = made_for(plain, draw)
        except (LayoutError, *RAISED):
            continue
        inputs += [(damaged(draw, data), given) for data, given in inputs[-8:] if data]
        for data, given in inputs:
            many += 1
            if found := difference(plain, native, data, given):
                return many, found
    return many, ""


def both(file: Path, folder: Path) -> tuple[Specification, Specification]:
    """The interpreted and the compiled readers of a specification.  Raises `SpecificationError`, `UserWarning`."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return compile_ksy(file, imports=[folder]), compile_ksy(file, imports=[folder], native=True)


def tell(text: str) -> None:
    """A line of output."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main(folder: Path, names: list[str], *, build: bool) -> int:
    """Compare all specifications in a folder, or only build them; return how many differ."""
    files = sorted(folder.rglob("*.ksy"), key=lambda one: one.stat().st_size)
    wrong = total = many_specs = 0
    for file in files:
        if names and file.stem not in names:
            continue
        start = time.process_time()
        try:
            plain, native = both(file, folder)
        except SpecificationError:
            continue
        many_specs += 1
        if build:
            continue
        many, found = compared(plain, native, 3)
        total += many
        wrong += bool(found)
        assert native.native is not None
        left = "".join(f" {name} ({why})" for name, why in native.native[0].left)
        tell(f"{file.stem}: {many} {time.process_time() - start:.1f} s{left} {found}")
    tell(f"{many_specs} specifications, {total} readings compared, {wrong} specifications differ")
    return wrong


if __name__ == "__main__":
    given = [one for one in sys.argv[1:] if one != "--build"]
    sys.exit(bool(main(Path(given[0]), given[1:], build="--build" in sys.argv)))
