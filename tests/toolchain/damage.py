"""Damaged inputs by the hundred thousand: the fast readers give and refuse what Kaitai's own classes do.

    python -m tests.toolchain.damage [--inputs N] [--jobs J] [SCHEMA ...]

`make differential` runs it for every schema and writes what came of it into `docs/spec-driven.md`.  What is damaged are
the samples of a schema and instances drawn from its specification.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import json
import multiprocessing
import random
import resource
import sys
import time
from collections.abc import Iterator
from typing import Any

from exhume.compiler.draw import Dice, NoneDrawnError, draw
from exhume.compiler.roles import reached
from tests.conftest import ROOT
from tests.toolchain.differential import DifferenceError, compare, damaged, model
from tests.toolchain.refusals import fast_refusal, plain_refusal, same_place
from tools.blocks import write_block

DRAWN = 200
"""Instances that are drawn for each schema."""

Input = tuple[bytes, list[Any]]


@functools.cache
def samples(schema: str) -> list[Input]:
    """The samples of a schema with its parameters."""
    folder, found = ROOT / "tests" / "samples" / "ksy", []
    for file in sorted([*folder.glob(f"{schema}.bin"), *folder.glob(f"{schema}-*.bin")]):
        own = file.with_suffix(".args.json")
        arguments = own if own.exists() else folder / f"{schema}.args.json"
        found.append((file.read_bytes(), json.loads(arguments.read_text()) if arguments.exists() else []))
    return found


def instances(schema: str, count: int) -> Iterator[Input]:
    """Instances drawn from the specification, the same every time."""
    dice = Dice(schema)
    for _ in range(count):
        with contextlib.suppress(NoneDrawnError):
            found = draw(model().schemas[schema], dice)
            yield found.data, list(found.arguments)


def inputs(schema: str, count: int, drawn: int) -> Iterator[Input]:
    """Samples and drawn instances as they are, then damaged ones: `count` in all."""
    whole = [*samples(schema), *instances(schema, min(drawn, count))]
    chance = random.Random(schema)
    yield from whole[:count]
    for number in range(count - len(whole)):
        data, arguments = whole[number % len(whole)]
        yield damaged(chance, data), arguments


def check(schema: str, data: bytes, arguments: list[Any]) -> bool:
    """Compares values, and what is refused first and where; says whether all was read.  Raises `DifferenceError`."""
    whole = compare(schema, data, arguments)
    fast = fast_refusal(schema, data, arguments)
    if fast is not None:
        plain = plain_refusal(schema, data, arguments)
        if plain is None or not same_place(fast, plain):
            raise DifferenceError("refused at different places", plain, fast)
    return whole and fast is None


def compiled(schema: str) -> bool:
    """Whether compiled code reads some of a schema."""
    ids = {type.root.id for type in reached(model().schemas[schema])}
    modules = [importlib.import_module(f"exhume_ksy.fast.{id}") for id in ids]
    return any(getattr(module, "native", None) is not None for module in modules)


@contextlib.contextmanager
def interpreted() -> Iterator[None]:
    """Turns the compiled readers off."""
    modules: list[Any] = [importlib.import_module(f"exhume_ksy.fast.{id}") for id in model().schemas]
    held = [(module, module.native) for module in modules if hasattr(module, "native")]
    for module, _ in held:
        module.native = None
    try:
        yield
    finally:
        for module, native in held:
            module.native = native


def run(schema: str, count: int, drawn: int = DRAWN) -> tuple[str, int, int, int, list[str]]:
    """Compares for one schema: its id, inputs read by plain Python and by compiled code, those refused, differences."""
    found: list[str] = []
    totals, refused = [0, 0], 0
    for native in (False, True) if compiled(schema) else (False,):
        with contextlib.nullcontext() if native else interpreted():
            for data, arguments in inputs(schema, count, drawn):
                totals[native] += 1
                try:
                    refused += not check(schema, data, arguments)
                except Exception as error:  # whatever differs is told with its input
                    found.append(f"{schema} {arguments} {data.hex()}: {error!r:.400}")
    return schema, totals[0], totals[1], refused, found


def report(rows: list[tuple[str, int, int, int, list[str]]]) -> str:
    """The table for the docs."""
    total = sum(plain + native for _, plain, native, _, _ in rows)
    different = sum(len(found) for *_, found in rows)
    refused = sum(refused for _, _, _, refused, _ in rows)
    lines = [
        f"{total:,} inputs, {refused:,} of them refused; {different:,} read differently.",
        "",
        "| schema | plain Python | compiled | refused |",
        "| --- | ---: | ---: | ---: |",
    ]
    for schema, plain, native, refused, _ in rows:
        lines.append(f"| `{schema}` | {plain:,} | {f'{native:,}' if native else '-'} | {refused:,} |")
    return "\n".join(lines)


def _limited() -> None:
    """Lets what asks for too much memory fail where it asks."""
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_200, help="for each schema, and each way to read it")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("schemas", nargs="*")
    chosen = parser.parse_args()
    schemas = chosen.schemas or sorted(model().schemas)
    rows = []
    with multiprocessing.Pool(chosen.jobs, _limited) as pool:
        begin = time.monotonic()
        for row in pool.imap_unordered(
            functools.partial(run, count=chosen.inputs, drawn=min(DRAWN, chosen.inputs // 5)), schemas, chunksize=1
        ):
            rows.append(row)
            said = [f"{time.monotonic() - begin:6.0f} s  {row[0]}: {len(row[4])} differences", *row[4][:10]]
            sys.stdout.write("\n    ".join(said) + "\n")
            sys.stdout.flush()
    if not chosen.schemas:
        write_block("spec-driven.md", "differential", report(sorted(rows)))
    return 1 if any(row[4] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
