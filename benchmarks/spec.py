"""Reading by specification: Kaitai's plain classes, the generated readers, and the code that was written by hand.

    python -m benchmarks.spec [--schemas zs,caf] [--repeat N] [--seconds S] [--write]

For every schema of `ksy/` its sample in `tests/samples/ksy/` is read whole: every field and every instance, each of
which is a Python object at the end.  For every type that is repeated many times (`-columns: true`) the elements of the
sample are read again and again, one object each by the plain class and the interpreted reader, and as columns.  All
run in this process, in turns; a figure is the least CPU time of the repetitions, in nanoseconds per structure or
element.  The former handwritten readers are gone: `HANDWRITTEN` keeps their speed relative to the plain class, on the
same elements.  `--write` puts the table into `docs/spec-driven.md`.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from kaitaistruct import BytesIO, KaitaiStream

from exhume.compiler.emit.text import safe
from exhume.compiler.front.model import Type
from exhume.compiler.front.specs import Model
from exhume.layout.specifications import camel, spec
from tools.blocks import write_block

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = ROOT / "tests" / "samples" / "ksy"
ELEMENTS = 20_000
"""Elements of a repeated type that one measurement reads, at least; the plain class reads one of `PLAIN` of them."""

PLAIN = 10

HANDWRITTEN: dict[str, float] = {
    "clp_s_dictionary_entries::entry": 834,
    "clp_s_schema_ids::entry": 158,
    "clp_s_schema_tree::node": 5.8,
    "clp_s_table_metadata::stream": 3.1,
    "clp_s_table_metadata::table": 1.3,
    "leveldb_block::entry": 62,
    "leveldb_write_batch::operation": 6.0,
    "zs_data_block::record": 158,
    "zs_index_block::entry": 3.9,
}
"""By repeated type, how many times as fast as the plain class the handwritten code was that is no more, on the same
elements in one run: the compiled kernel where there was one (dictionary entries, LevelDB entries, ZS records), else
Python.  Measured once, at 60e5a33, before it was deleted."""


@functools.cache
def model() -> Model:
    """The specifications of the project."""
    return Model({file.stem: spec(file.stem) for file in sorted((ROOT / "ksy").glob("*.ksy"))})


def sample(schema: str) -> tuple[bytes, list[Any]]:
    """The first sample of a schema, and its parameters."""
    file = [*SAMPLES.glob(f"{schema}.bin"), *sorted(SAMPLES.glob(f"{schema}-*.bin"))][0]
    arguments = SAMPLES / f"{schema}.args.json"
    return file.read_bytes(), json.loads(arguments.read_text()) if arguments.exists() else []


def plain_class(type: Type) -> Any:
    """Kaitai's plain class of a type."""
    found = importlib.import_module(f"exhume_ksy.{type.root.id}")
    path = [type]
    while (above := path[0].parent) is not None:
        path.insert(0, above)
    for one in path:
        found = getattr(found, camel(one.id))
    return found


@functools.cache
def names(kind: Any) -> tuple[str, ...]:
    """The fields and instances of a class of either kind; none for other classes."""
    return _names().get((kind.__module__.rpartition(".")[2], kind.__qualname__.rpartition(".")[2]), ())


@functools.cache
def _names() -> dict[tuple[str, str], tuple[str, ...]]:
    found = {}
    for type in model().types():
        fields = tuple(safe(one) for one in [*(field.id for field in type.seq), *type.instances])
        found[type.root.id, camel(type.id)] = found[type.root.id, type.class_name] = fields
    return found


def walk(value: Any) -> None:
    """Ask a structure for everything below it."""
    for name in names(value.__class__):
        below = getattr(value, name, None)
        if isinstance(below, list) or hasattr(below, "resume_at"):
            for one in below or ():
                walk(one)
        elif type(below) not in (int, bytes, str, memoryview, float, bool, type(None)):
            walk(below)


def elements(type: Type) -> tuple[bytes, int]:
    """Many elements of a repeated type, those of the sample in turn, and how many they are."""
    module = importlib.import_module(f"exhume_ksy.fast.{type.root.id}")
    read = getattr(module, type.reader_name)
    data, arguments = sample(type.root.id)
    owner, _ = getattr(module, f"read_{type.root.id}")(data, 0, len(data), *arguments)
    pieces = []
    for columns in _columns(owner):
        if columns.__class__.__name__ == f"{type.class_name}Columns":
            for at in columns.at:
                _, after = read(columns.view, at, len(columns.view))
                pieces.append(bytes(columns.view[at:after]))
    times = -(-ELEMENTS // len(pieces) // PLAIN) * PLAIN
    return b"".join(pieces) * times, len(pieces) * times


def _columns(value: Any) -> Iterator[Any]:
    """All columns in a structure."""
    if hasattr(value, "resume_at"):
        yield value
    if hasattr(value, "resume_at") or isinstance(value, list):
        for one in value:
            yield from _columns(one)
    for name in names(value.__class__):
        yield from _columns(getattr(value, name, None))


def by_structure(schema: str) -> dict[str, Callable[[], int]]:
    """What reads a sample whole, by the name of its column in the table."""
    data, arguments = sample(schema)
    kaitai = plain_class(model().schemas[schema])
    read = getattr(importlib.import_module(f"exhume_ksy.fast.{schema}"), f"read_{schema}")
    given = [bytes(one) if isinstance(one, list) else one for one in arguments]

    def plain() -> int:
        walk(kaitai(*arguments, KaitaiStream(BytesIO(data))))
        return 1

    def generated() -> int:
        walk(read(data, 0, len(data), *given)[0])
        return 1

    return {"plain": plain, "interpreted": generated}


def by_element(type: Type) -> dict[str, Callable[[], int]]:
    """What reads many elements of a repeated type."""
    data, count = elements(type)
    part = data[: len(data) // PLAIN]
    kaitai = plain_class(type)
    module: Any = importlib.import_module(f"exhume_ksy.fast.{type.root.id}")
    scan = getattr(module, type.reader_name.replace("read_", "scan_", 1))
    native = getattr(module, "native", None)

    def plain() -> int:
        stream = KaitaiStream(BytesIO(part))
        while not stream.is_eof():
            kaitai(stream)
        return count // PLAIN

    def interpreted() -> int:
        module.native = None
        try:
            scan(data, 0, len(data))
        finally:
            module.native = native
        return count

    kept: list[Any] = [None]

    def compiled() -> int:
        kept[0] = scan(data, 0, len(data))  # as readers do: else the allocator returns its memory every time
        return count

    found = {"plain": plain, "interpreted": interpreted}
    if native is not None:
        found["compiled"] = compiled
    return found


def measure(readers: dict[str, Callable[[], int]], repeat: int, seconds: float) -> dict[str, float]:
    """Nanoseconds of CPU per element for each reader: the least of several turns."""
    best: dict[str, float] = {}
    for _ in range(repeat):
        for name, reader in readers.items():
            count, start = 0, time.process_time_ns()
            while (spent := time.process_time_ns() - start) < seconds * 1e9 / len(readers):
                count += reader()
            best[name] = min(best.get(name, float("inf")), spent / count)
    return best


def rows(wanted: set[str], repeat: int, seconds: float) -> Iterator[tuple[str, dict[str, float]]]:
    """For every schema, and every repeated type, what was measured."""
    for schema in sorted(model().schemas):
        if not wanted or schema in wanted:
            yield schema, measure(by_structure(schema), repeat, seconds)
    for type in model().types():
        if type.raw.get("-columns") and (not wanted or type.root.id in wanted):
            yield type.where, measure(by_element(type), repeat, seconds)


HEAD = """| | plain class | generated, interpreted | generated, compiled | by hand |
| --- | ---: | ---: | ---: | ---: |"""


def row(name: str, found: dict[str, float]) -> str:
    """A row of the table: nanoseconds of the plain class, and how many times as fast the others are."""
    plain = found["plain"]
    times = {column: plain / spent for column, spent in found.items()} | {"by hand": HANDWRITTEN.get(name, 0.0)}
    shown = [times.get(column, 0.0) for column in ("interpreted", "compiled", "by hand")]
    cells = [f"{plain:,.0f} ns", *(f"{one:,.1f} x" if one else "" for one in shown)]
    return f"| `{name}` | {' | '.join(cells)} |"


def main() -> None:
    """Print the table, a row as soon as it is measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schemas", default="", help="only these, separated by commas")
    parser.add_argument("--repeat", type=int, default=7, help="turns; the quickest counts")
    parser.add_argument("--seconds", type=float, default=0.2, help="CPU seconds of a turn")
    parser.add_argument("--write", action="store_true", help="put the table into docs/spec-driven.md")
    options = parser.parse_args()
    lines = [HEAD]
    print(HEAD)
    for name, found in rows(set(filter(None, options.schemas.split(","))), options.repeat, options.seconds):
        lines.append(row(name, found))
        print(lines[-1], flush=True)
    if options.write:
        write_block("spec-driven.md", "bench BENCH=spec", "\n".join(lines))


if __name__ == "__main__":
    main()
