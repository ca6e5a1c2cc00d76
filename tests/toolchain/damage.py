"""Damaged inputs by the hundred thousand: the fast readers give and refuse what Kaitai's own classes do.

    python -m tests.toolchain.damage [--inputs N] [--jobs J] [SCHEMA ...]

`make differential` runs it for every schema and writes what came of it into `docs/spec-driven.md`, in place of the rows
of these schemas (`ARGS=clp_s` for one).  What is damaged are the samples of a schema and instances drawn from its
specification.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import multiprocessing
import random
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from exhume.compiler.instances.draw import NoneDrawnError, draw
from tests.conftest import ROOT
from tests.sizes import bound_memory
from tests.toolchain.differential import damaged, model
from tests.toolchain.refusals import check, is_compiled
from tools.blocks import read_block, write_block

WHOLE = 100_000
"""Number of inputs of a schema from which on the page lists them."""

DRAWN = 200
"""Instances that are drawn for each schema."""

Input = tuple[bytes, list[Any]]
T = TypeVar("T")


class SeededRandom:
    """Random choices that are the same every time: for many instances fast, where failing ones need not be shrunk."""

    def __init__(self, seed: object) -> None:
        self.random = random.Random(repr(seed))

    def integer(self, low: int, high: int) -> int:
        return self.random.randint(low, high)

    def choice(self, options: Sequence[T]) -> T:
        return self.random.choice(options)

    def data(self, size: int) -> bytes:
        return self.random.randbytes(size)


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
    dice = SeededRandom(schema)
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


Row = tuple[str, int, bool, int, list[str]]


def run(schema: str, count: int, drawn: int = DRAWN) -> Row:
    """Compare for one schema: its id, the inputs, whether compiled code read them too, those refused, differences."""
    found: list[str] = []
    total = refused = 0
    native = is_compiled(schema)
    for data, arguments in inputs(schema, count, drawn):
        total += 1
        try:
            refused += not check(schema, data, arguments, (False, True) if native else (False,))
        except Exception as error:  # any difference is reported with its input
            found.append(f"{schema} {arguments} {data.hex()}: {error!r:.400}")
    return schema, total, native, refused, found


def report(rows: list[Row]) -> str:
    """The table for the docs."""
    total, refused = sum(row[1] for row in rows), sum(row[3] for row in rows)
    lines = [
        f"{total:,} inputs, {refused:,} of them refused; 0 read differently.",
        "",
        "| schema | inputs | refused | compiled too |",
        "| --- | ---: | ---: | --- |",
    ]
    for schema, inputs, native, refused, _ in rows:
        lines.append(f"| `{schema}` | {inputs:,} | {refused:,} | {'yes' if native else '-'} |")
    return "\n".join(lines)


def recorded() -> dict[str, Row]:
    """The rows of the current table, by schema."""
    found: dict[str, Row] = {}
    for line in read_block("spec-driven.md", "differential").splitlines():
        cells = [cell.strip(" `") for cell in line.split("|")]
        if line.startswith("| `"):
            inputs, refused = (int(cell.replace(",", "")) for cell in cells[2:4])
            found[cells[1]] = cells[1], inputs, cells[4] == "yes", refused, []
    return found


def _limited() -> None:
    """Let what requests too much memory fail where it asks."""
    bound_memory(4 << 30)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_200, help="for each schema")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("schemas", nargs="*")
    chosen = parser.parse_args()
    schemas = chosen.schemas or sorted(model().schemas)
    rows: list[Row] = []
    with multiprocessing.Pool(chosen.jobs, _limited) as pool:
        begin = time.monotonic()
        for row in pool.imap_unordered(
            functools.partial(run, count=chosen.inputs, drawn=min(DRAWN, chosen.inputs // 5)), schemas, chunksize=1
        ):
            rows.append(row)
            stated = [f"{time.monotonic() - begin:6.0f} s  {row[0]}: {len(row[4])} differences", *row[4][:10]]
            sys.stdout.write("\n    ".join(stated) + "\n")
            sys.stdout.flush()
    if any(row[4] for row in rows):
        return 1
    if chosen.inputs < WHOLE:
        return 0
    known = {schema: row for schema, row in recorded().items() if schema in model().schemas}
    write_block("spec-driven.md", "differential", report(sorted({**known, **{row[0]: row for row in rows}}.values())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
