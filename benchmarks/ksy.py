"""Readers of public specifications: Kaitai's Python class, ours in Python and in machine code, construct and dissect.

    KAITAI_FORMATS=/path/to/kaitai_struct_formats python -m benchmarks.ksy [NAME ...] [--mb 5] [--repeat 3]

makes a file of each format, reads all of it into objects, frees them, and prints medians of CPU and wall seconds, and
how many times as fast as Kaitai's class that is.  `columns` is the time until the rows are typed arrays, in formats
whose list has columns.  `first compile` is the CPU time until a new extension module is built and loaded, with that of
the C compiler, and `later load` that of another process until it has loaded the module.  A table for
`benchmarks/README.md` comes last.  construct (compiled) and dissect.cstruct read the formats that have a definition
below, if they are installed (`pip install construct dissect.cstruct`).
"""

from __future__ import annotations

import argparse
import gc
import importlib
import multiprocessing
import operator
import os
import platform
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from importlib import metadata
from itertools import chain
from pathlib import Path
from typing import Any

from benchmarks.ksy_files import FILES
from benchmarks.ksy_rivals import RIVALS
from benchmarks.machine import settle
from exhume.layout.foreign import compile_ksy
from tools import nodejs
from tools.generate import relative_imports

ROOT = Path(__file__).resolve().parent.parent
SPECS = {
    "pcap": "network/pcap",
    "zip": "archive/zip",
    "utmp": "log/glibc_utmp",
    "stl": "media/stl",
    "dbf": "database/dbf",
    "gettext_mo": "database/gettext_mo",
    "java_class": "executable/java_class",
    "elf": "executable/elf",
    "gif": "image/gif",
    "dns": "network/dns_packet",
    "python_pickle": "serialization/python_pickle",
    "protobuf": "serialization/google_protobuf",
    "msgpack": "serialization/msgpack",
}
MANY_FILES = {"dns": 60, "java_class": 200_000}
"""Formats of small files, many of them in a run: bytes of one file."""
STRING = operator.attrgetter("str")
ASKED: dict[str, Callable[[Any], Any]] = {
    "utmp": lambda value: value.records,
    "elf": lambda value: value.header.section_headers[1].body.entries,
    "gettext_mo": lambda value: list(map(STRING, chain(value.mo.originals, value.mo.translations))),
}
"""The value to request, for specifications that are read lazily, or in columns that are turned into objects."""


COLUMNS = {"pcap": "packets", "utmp": "records", "stl": "triangles", "zip": "sections", "gif": "blocks"}
"""The lists that become columns."""
LONG_ENOUGH = 0.5
"""CPU seconds that all readings of a format together take at least."""
LOAD = """
import sys, time
from exhume.layout.foreign import compile_ksy
start = time.process_time()
compile_ksy(sys.argv[1], imports=[sys.argv[2]], native=True).module
print(time.process_time() - start)
"""
"""Loads an extension module that was built before, and prints the CPU seconds that this takes."""
TABLE = {
    "kaitai": "Kaitai's class, CPU s",
    "python": "objects, Python",
    "native": "objects, native",
    "columns": "columns, native",
    "construct": "construct",
    "dissect": "dissect.cstruct",
    "first compile": "first compile, CPU s",
    "later load": "later load, CPU ms",
}
"""Columns of the last table, by the names of the measurements."""


def _flat(file: Path, folder: Path, out: Path) -> None:
    """Copy a specification and what it imports into one folder, as Kaitai's compiler for npm wants them."""
    if (out / file.name).exists():
        return
    text = file.read_text(encoding="utf-8")
    (out / file.name).touch()
    for name in re.findall(r"^    - (/?[\w/.]+)$", text.partition("imports:")[2].partition("\nseq")[0], re.MULTILINE):
        found = folder / f"{name[1:]}.ksy" if name.startswith("/") else file.parent / f"{name}.ksy"
        if found.exists():
            text = text.replace(f"    - {name}\n", f"    - {Path(name).name}\n")
            _flat(found, folder, out)
    (out / file.name).write_text(text, encoding="utf-8")


def official(folder: Path, name: str) -> Any:
    """Kaitai's class."""
    out = Path(tempfile.mkdtemp(prefix="exhume-bench-"))
    _flat(folder / f"{SPECS[name]}.ksy", folder, out)
    id = Path(SPECS[name]).name
    package = out / f"official_{name}"
    command = [
        *nodejs.ensure_packages(),
        str(ROOT / "tools/ksc.mjs"),
        "compile",
        "--target",
        "python",
        "--out",
        str(package),
    ]
    subprocess.run([*command, str(out / f"{id}.ksy")], capture_output=True, text=True, check=True)
    ids = {one.stem for one in package.glob("*.py")}
    for one in package.glob("*.py"):
        one.write_text(relative_imports(one.read_text(encoding="utf-8"), ids), encoding="utf-8")
    (package / "__init__.py").touch()
    sys.path.insert(0, str(out))
    return getattr(importlib.import_module(f"official_{name}.{id}"), "".join(part.title() for part in id.split("_")))


def measured(work: Callable[[], Any], repeat: int) -> tuple[float, float]:
    """What `_measured` returns, of a process for this reader alone, since others leave memory fragmented."""
    context = multiprocessing.get_context("fork")
    reading, writing = context.Pipe(duplex=False)
    process = context.Process(target=lambda: writing.send(_measured(work, repeat)))
    process.start()
    writing.close()  # so that `recv` raises if the process fails
    found: tuple[float, float] = reading.recv()
    process.join()
    return found


def _measured(work: Callable[[], Any], repeat: int) -> tuple[float, float]:
    """Median seconds of CPU and of the clock until everything is read and freed again.

    Structures that refer to each other are freed by the garbage collector only, so it runs once more at the end.  All
    earlier objects are kept out of its sight, for passing over them would take longer than a short reading.  Short
    readings are repeated more often, up to `LONG_ENOUGH`.
    """
    cpu: list[float] = []
    wall: list[float] = []
    settle()
    gc.collect()
    gc.freeze()
    try:
        while len(cpu) < repeat or sum(cpu) < LONG_ENOUGH:
            start, clock = time.process_time(), time.perf_counter()
            work()
            gc.collect()
            cpu.append(time.process_time() - start)
            wall.append(time.perf_counter() - clock)
    finally:
        gc.unfreeze()
    return statistics.median(cpu), statistics.median(wall)


def _cpu() -> float:
    """CPU seconds of this process and of all that it has waited for."""
    return sum(os.times()[:4])


def loaded(file: Path, folder: Path) -> tuple[float, float]:
    """Median seconds of CPU and of the clock in which other processes load an extension module; these start as well."""
    cpu: list[float] = []
    wall: list[float] = []
    for _ in range(5):
        clock = time.perf_counter()
        command = [sys.executable, "-c", LOAD, str(file), str(folder)]
        cpu.append(float(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
        wall.append(time.perf_counter() - clock)
    return statistics.median(cpu), statistics.median(wall)


def row(found: dict[str, tuple[float, float]]) -> list[str]:
    """The cells of the last table for one format."""
    base = found.get("kaitai", (0.0, 0.0))[0]
    cells = []
    for label in TABLE:
        cpu = found.get(label, (0.0, 0.0))[0]
        if label == "later load":
            cells.append(f"{cpu * 1000:.0f}")
        elif label in ("kaitai", "first compile"):
            cells.append(f"{cpu:.3f}" if label == "kaitai" else f"{cpu:.1f}")
        else:
            cells.append(f"{base / cpu:.1f}" if cpu and base else "")
    return cells


def compare(name: str, folder: Path, kaitai: Any, size: int, repeat: int) -> dict[str, tuple[float, float]]:
    """The seconds of each reader of one format."""
    draw = random.Random(name)
    one = MANY_FILES.get(name)
    files = [FILES[name](draw, one) for _ in range(max(1, size // one))] if one else [FILES[name](draw, size)]
    file = folder / f"{SPECS[name]}.ksy"
    plain = compile_ksy(file, imports=[folder])
    start, clock = _cpu(), time.perf_counter()
    native = compile_ksy(file, imports=[folder], native=True)
    native.module  # noqa: B018 - loads it
    out = {"first compile": (_cpu() - start, time.perf_counter() - clock), "later load": loaded(file, folder)}
    ask: Callable[[Any], Any] = ASKED.get(name, lambda value: ())

    def objects(read: Callable[[bytes], Any]) -> Callable[[], Any]:
        return lambda: [list(ask(read(data))) for data in files]

    if kaitai is not None:
        out["kaitai"] = measured(objects(kaitai.from_bytes), 1)
    type = plain.model.schemas[plain.id].class_name
    for label, specification in (("python", plain), ("native", native)):
        out[label] = measured(objects(getattr(specification.module, type).from_bytes), repeat)
    if name in COLUMNS:
        out["columns"] = measured(lambda: [native.columns(data, COLUMNS[name]) for data in files], repeat)
    for rival, formats in RIVALS.items():
        if name in formats:
            try:
                work = formats[name]()
            except ImportError:
                continue
            out[rival] = measured(lambda work=work: [work(data) for data in files], 1)  # type: ignore[misc]
    return out


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Compare readers of public specifications.")
    parser.add_argument("names", nargs="*", default=list(SPECS))
    parser.add_argument("--mb", type=float, default=5)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    folder = Path(os.environ["KAITAI_FORMATS"])
    warnings.simplefilter("error")
    names = options.names or list(SPECS)
    versions = [f"Python {platform.python_version()}"]
    for package in ("kaitaistruct", "construct", "dissect.cstruct", "Cython"):
        try:
            versions.append(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            versions.append(f"no {package}")
    print(", ".join(versions), f"{options.mb} MB each", sep="; ")
    rows = [["format", *TABLE.values()], ["---", *("---:" for _ in TABLE)]]
    print("| format | reader | CPU s | wall s | times as fast |\n| --- | --- | ---: | ---: | ---: |")
    for name in names:
        with tempfile.TemporaryDirectory(prefix="exhume-bench-") as cache:
            os.environ["EXHUME_CACHE"] = cache
            found = compare(name, folder, official(folder, name), int(options.mb * 1e6), options.repeat)
        base = found.get("kaitai", (0.0, 0.0))[0]
        for label, (cpu, wall) in found.items():
            ratio = f"{base / cpu:.1f}" if cpu and base and label not in ("first compile", "later load") else ""
            print(f"| {name} | {label} | {cpu:.4f} | {wall:.4f} | {ratio} |", flush=True)
        rows.append([name, *row(found)])
    print("", *(f"| {' | '.join(cells)} |" for cells in rows), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
