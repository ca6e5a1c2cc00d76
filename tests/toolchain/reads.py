"""Which share of the bytes that specifications describe is read by generated code, counted while samples are verified.

Every generated reader is wrapped, and what makes rows of generated fields or unpacks generated formats; then each of
the project's own samples, and of the archives that the demo writes, is opened and verified.  What counts as described
are the sections that name a schema: their stored bytes, or the decompressed ones where they are compressed.
A byte counts as read when a reader of that schema, or of one that it imports, went over it.  Bytes are recognized by
their contents, since a reader does not know where what it is given came from.

`make reads` writes the table of `docs/spec-driven.md`.
"""

from __future__ import annotations

import io
import os
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial, wraps
from importlib import import_module
from pathlib import Path
from typing import Any

from exhume_ksy.fast._layout import numbers

import exhume
import exhume.formats.ark.kernel
import exhume.formats.ark.pykernel
import exhume.formats.clp_s.read.kernel
import exhume.formats.clp_s.read.pykernel
import exhume.formats.data_bundle.kernel
import exhume.formats.data_bundle.pykernel
import exhume.formats.kv_ir.kernel
import exhume.formats.kv_ir.pykernel
import exhume.formats.leveldb.kernel
import exhume.formats.leveldb.pykernel
import exhume.layout.fast
import exhume.layout.kaitai
import exhume.native.kernel
import exhume.native.pykernel
from exhume.errors import ExhumeError
from exhume.layout.sections import Section, SectionMap
from tests.archives import own_archives
from tests.conftest import ROOT
from tests.toolchain.trees import facts_of, spec_ids
from tools.blocks import read_block, write_block
from tools.ksy_facts import specification

PAGE, TARGET = "spec-driven.md", "reads"
FEWEST = 5
"""A buffer shorter than this is taken for a part of a section only when it is all of it."""

REST = {
    "ark_manifest": "as of `ark_rbuf`, which a manifest is",
    "ark_rbuf": "numbers and GUIDs: `formats/ark/rbuf`, by types that the archive declares itself; the header byte of "
    "an object: a table that the generated reader filled",
    "clp_ir": "`formats/clp_ir`: metadata of the preamble is JSON, and the kernel reads tokens by itself where it can",
    "clp_s_table": "columns whose values cannot be wrong are not read by `verify`",
    "data_bundle_shard": "`verify`: the bytes before the records are zeros, checked in chunks since they may be large",
    "leveldb_block": "no reader: restart points of names and handles, which are always read from the first",
    "leveldb_properties": "no reader: restart points, as in `leveldb_block`",
    "zstd_frame": "the zstd library",
}
"""By schema, what reads the bytes that no generated reader goes over, and why."""

ALSO = dict.fromkeys(("leveldb_data_block", "leveldb_properties", "data_bundle_index_block"), "leveldb_block")
"""Schemas that describe the bytes of another with more of what is in them; readers of the other count."""

PURE_ONES = (
    (exhume.native.kernel, exhume.native.pykernel),
    (exhume.formats.ark.kernel, exhume.formats.ark.pykernel),
    (exhume.formats.clp_s.read.kernel, exhume.formats.clp_s.read.pykernel),
    (exhume.formats.data_bundle.kernel, exhume.formats.data_bundle.pykernel),
    (exhume.formats.kv_ir.kernel, exhume.formats.kv_ir.pykernel),
    (exhume.formats.leveldb.kernel, exhume.formats.leveldb.pykernel),
)
"""Kernels, and what stands in for them while reading is counted: the same, by the generated readers of Python.

The compiled loops call what was generated from the same types, but cannot be watched.
"""


@dataclass
class Reads:
    """The ranges that readers went over, by the buffer that they were given and the schema that they are of."""

    ranges: dict[bytes, set[tuple[str, int, int]]] = field(default_factory=dict)

    def add(self, schema: str, view: bytes | memoryview, start: int, stop: int) -> None:
        self.ranges.setdefault(bytes(view), set()).add((schema, start, stop))

    def over(self, data: bytes, schema: str) -> int:
        """How many of the bytes were read by readers of the schema."""
        marks = bytearray(len(data))
        wanted = closure(schema)
        for buffer, ranges in self.ranges.items():
            offset = _offset(buffer, data)
            if offset is None:
                continue
            for reader, start, stop in ranges:
                first, last = max(0, start + offset), min(len(data), stop + offset)
                if reader in wanted and first < last:
                    marks[first:last] = b"\1" * (last - first)
        return sum(marks)


def _offset(buffer: bytes, data: bytes) -> int | None:
    """Where a buffer starts in `data`; negative when it is the buffer that holds the data."""
    if buffer == data:
        return 0
    if len(buffer) >= FEWEST and (at := data.find(buffer)) >= 0:
        return at
    if len(data) >= FEWEST and (at := buffer.find(data)) >= 0:
        return -at
    return None


@cache
def closure(schema: str) -> frozenset[str]:
    """A schema and all that it imports."""
    imports = specification(schema)["meta"].get("imports", [])
    below = [*imports, ALSO[schema]] if schema in ALSO else imports
    return frozenset({schema}.union(*(closure(one) for one in below)))


class _Followed(io.BytesIO):
    """What a Kaitai class reads from: every read is noted, those of lazy instances too."""

    def __init__(self, data: bytes, schema: str, reads: Reads) -> None:
        super().__init__(data)
        self._note = partial(reads.add, schema, data)

    def read(self, size: int | None = -1, /) -> bytes:
        start = self.tell()
        found = super().read(size)
        self._note(start, start + len(found))
        return found


def _readers() -> Iterator[tuple[str, Callable[..., Any]]]:
    for schema in spec_ids():
        module = import_module(f"exhume_ksy.fast.{schema}")
        for name, value in vars(module).items():
            if name.startswith(("read_", "scan_", "flat_")) and value.__module__ == module.__name__:
                yield schema, value


class _Watched(bytes):
    """Bytes that note which of them are taken, so that lazy reads are seen too."""

    note: Callable[[int, int], None]

    def __getitem__(self, key: Any, /) -> Any:
        if isinstance(key, slice):
            self.note(*key.indices(len(self))[:2])
        return super().__getitem__(key)


class _WatchedStruct:
    """A `struct.Struct` of a generated format that notes what it unpacks."""

    def __init__(self, plan: struct.Struct, schemas: Iterable[str], reads: Reads) -> None:
        self._plan, self._schemas, self._reads = plan, schemas, reads

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plan, name)

    def unpack(self, view: Any) -> Any:
        return self.unpack_from(view, 0)

    def iter_unpack(self, view: Any) -> Any:
        for schema in self._schemas:
            self._reads.add(schema, view, 0, len(view))
        return self._plan.iter_unpack(view)

    def unpack_from(self, view: Any, at: int = 0) -> Any:
        found = self._plan.unpack_from(view, at)
        for schema in self._schemas:
            self._reads.add(schema, view, at, at + self._plan.size)
        return found


@cache
def _formats() -> dict[str, frozenset[str]]:
    """The schemas by the formats that their facts have."""
    found: dict[str, set[str]] = {}
    for schema in spec_ids():
        for kind in facts_of(schema).values():
            for part in (kind, getattr(kind, "form", None)):
                for value in vars(part).values() if part is not None else ():
                    if isinstance(value, str) and value.startswith(("<", ">")):
                        found.setdefault(value, set()).add(schema)
    return {format: frozenset(schemas) for format, schemas in found.items()}


def _noted(reader: Callable[..., Any], schema: str, reads: Reads) -> Callable[..., Any]:
    flat = reader.__name__.startswith("flat_")

    @wraps(reader)
    def wrapped(view: Any, at: int, *rest: Any, **more: Any) -> Any:
        if isinstance(view, bytes):
            view = _Watched(view)
            view.note = partial(reads.add, schema, view)
        found = reader(view, at, *rest, **more)
        end = found.resume_at if not isinstance(found, tuple) else found[0] if flat else found[1]
        reads.add(schema, view, at, end)
        return found

    return wrapped


def _noted_numbers(schema: str, reads: Reads, view: Any, at: int, size: int, *rest: Any) -> Any:
    reads.add(schema, view, at, at + size)
    return numbers(view, at, size, *rest)


@contextmanager
def recorded() -> Iterator[Reads]:  # noqa: C901 - replacing and restoring belong together
    """What every generated reader, rows and formats of generated fields, and the plain Kaitai classes still in use go
    over.
    """
    reads = Reads()
    instead: dict[Any, Any] = {}
    for schema, reader in list(_readers()):
        instead[reader] = _noted(reader, schema, reads)
    parse = exhume.layout.kaitai.parse

    def parsing(cls: Any, data: Any, *rest: Any) -> Any:
        whole = bytes(data) if isinstance(data, (bytes, memoryview)) else data.read()
        return parse(cls, _Followed(whole, cls.__module__.rpartition(".")[2], reads), *rest)

    instead[parse] = parsing
    rows = exhume.layout.fast.rows

    def noted_rows(kind: Any, data: Any) -> Any:
        reads.add(kind.__module__.rpartition(".")[2], data, 0, len(data))
        return rows(kind, data)

    instead[rows] = noted_rows
    replaced: list[tuple[Any, str, Any]] = []
    for schema in spec_ids():
        fast = import_module(f"exhume_ksy.fast.{schema}")
        for name, value in list(vars(fast).items()):
            if isinstance(getattr(value, "__self__", None), struct.Struct):
                replaced.append((fast, name, value))
                setattr(fast, name, _WatchedStruct(value.__self__, (schema,), reads).unpack_from)
            elif value is numbers:
                replaced.append((fast, name, value))
                setattr(fast, name, partial(_noted_numbers, schema, reads))
    for kernel, pure in PURE_ONES:
        names = [name for name, value in vars(pure).items() if callable(value) and hasattr(kernel, name)]
        functions = {name: getattr(kernel, name) for name in names}
        instead |= {value: getattr(pure, name) for name, value in functions.items() if value is not getattr(pure, name)}
    for module in [one for name, one in sys.modules.items() if name.startswith("exhume")]:
        for name, value in list(vars(module).items()):
            if isinstance(value, struct.Struct) and (schemas := _formats().get(value.format)) is not None:
                replaced.append((module, name, value))
                setattr(module, name, _WatchedStruct(value, schemas, reads))
            if callable(value) and value.__hash__ is not None and value in instead:
                replaced.append((module, name, value))
                setattr(module, name, instead[value])
            elif isinstance(value, dict) and any(callable(one) and one in instead for one in value.values()):
                replaced.append((module, name, value))  # the readers of a field of several types
                setattr(module, name, {key: instead.get(one, one) for key, one in value.items()})
    try:
        yield reads
    finally:
        for module, name, value in replaced:
            setattr(module, name, value)


def described(sections: SectionMap) -> Iterator[tuple[str, bytes]]:
    """The bytes that schemas describe, with the schema."""
    section: Section
    for section in sections:
        if section.payload_schema is not None:
            assert section.load is not None
            yield section.payload_schema.partition("::")[0], section.load()
        elif section.schema is not None:
            source = sections.sources[section.span.source]
            data = source.read_at(section.span.start - source.origin, section.span.size)
            yield section.schema.partition("::")[0], data


@dataclass
class Share:
    """Bytes that a schema describes, and how many of them generated code read."""

    size: int = 0
    read: int = 0

    @property
    def percent(self) -> int:
        """How much of it, rounded down."""
        return self.read * 100 // self.size

    def __add__(self, other: Share) -> Share:
        return Share(self.size + other.size, self.read + other.read)


def _verify(path: Path) -> tuple[str, list[tuple[str, bytes]]]:
    with exhume.open(path) as archive:
        for _ in archive.verify():
            pass
        return archive.format, list(described(archive.sections()))


def measure(paths: list[Path]) -> dict[str, dict[str, Share]]:
    """The shares by format and schema."""
    found: dict[str, dict[str, Share]] = {}
    for path in paths:
        _verify(path)  # imports whatever it needs
        with recorded() as reads:
            format, parts = _verify(path)
        shares = found.setdefault(format, {})
        for schema, data in parts:
            shares[schema] = shares.get(schema, Share()) + Share(len(data), reads.over(data, schema))
    return found


def by_schema(found: dict[str, dict[str, Share]]) -> dict[str, Share]:
    """The same by schema, in any format; without those that the samples do not contain."""
    total: dict[str, Share] = {}
    for shares in found.values():
        for schema, share in shares.items():
            if share.size:
                total[schema] = total.get(schema, Share()) + share
    return total


def everything(found: dict[str, dict[str, Share]]) -> Share:
    """The share over all formats, as stated in the README."""
    return sum((share for shares in found.values() for share in shares.values()), Share())


def by_format(found: dict[str, dict[str, Share]]) -> dict[str, Share]:
    """The same by format."""
    return {format: sum(shares.values(), Share()) for format, shares in sorted(found.items())}


def demo_archives(folder: Path) -> list[Path]:
    """The sound archives that the demo wrote below a folder."""
    found = []
    for path in sorted(folder.iterdir()):
        try:
            with exhume.open(path) as archive:
                if not list(archive.verify()):
                    found.append(path)
        except ExhumeError:
            continue  # what the demo damaged, extracted or listed
    return found


def run_demo(folder: Path) -> list[Path]:
    """Run `examples/demo.sh`; the sound archives that it wrote below `folder`."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    script = ROOT / "examples" / "demo.sh"
    subprocess.run(
        ["bash", str(script)],
        env={**os.environ, "PATH": path, "DEMO_DIR": str(folder)},
        check=True,
        capture_output=True,
    )
    return demo_archives(folder)


def table(found: dict[str, dict[str, Share]], demo: dict[str, dict[str, Share]]) -> str:
    """The page's block: a total per format, a line per schema; the archives of the demo apart."""
    lines = [
        "| format | described in samples | read by generated code | described in the demo | read by generated code |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    shown = by_format(demo)
    for format, total in [*by_format(found).items(), ("all", everything(found))]:
        of_demo = everything(demo) if format == "all" else shown.get(format, Share())
        cells = f"{of_demo.size} | {of_demo.percent} %" if of_demo.size else "- | -"
        lines.append(f"| {format} | {total.size} | {total.percent} % | {cells} |")
    lines += ["", "| schema | bytes | share | what reads the rest |", "| --- | ---: | ---: | --- |"]
    for schema, share in sorted(by_schema(found).items()):
        rest = "" if share.read == share.size else REST[schema]
        lines.append(f"| `{schema}` | {share.size} | {share.percent} % | {rest} |")
    return "\n".join(lines)


def recorded_shares() -> dict[str, int]:
    """Percent by schema, as the page has it."""
    rows = [line.split("|") for line in read_block(PAGE, TARGET).splitlines() if line.startswith("| `")]
    return {row[1].strip(" `"): int(row[3].split()[0]) for row in rows}


def recorded_of_demo() -> dict[str, int]:
    """Percent by format in the archives of the demo, as the page has it."""
    rows = [line.split("|") for line in read_block(PAGE, TARGET).splitlines() if line.count("|") == 6]
    return {row[1].strip(): int(row[5].split()[0]) for row in rows if row[5].strip().endswith("%")}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        write_block(PAGE, TARGET, table(measure(own_archives()), measure(run_demo(Path(folder) / "demo"))))
