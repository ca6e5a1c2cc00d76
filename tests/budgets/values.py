"""How much memory one large value costs each verb: the growth of the peak per byte of the value.

python -m tests.budgets.values [--write] [FORMAT ...]     # make memory

The peak of a process is measured with values of two sizes; the difference, divided by that of the sizes, is the factor.
"""

from __future__ import annotations

import argparse
import functools
import json
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import exhume
from exhume.formats.ark.rbuf.idl import parse_idl
from exhume.formats.ark.writer import ArkWriter
from exhume.formats.leveldb.table_writer import build_log
from tests.forks import Forks
from tests.leveldb.crafted import build_batch
from tests.leveldb.make_samples import PUT, build_database, write_files
from tools.blocks import write_block

MIB = 1 << 20
SIZES = 40, 72
"""MiB of the two values: both are read in chunks where that is possible, and allocators return blocks of this size."""

USUAL_SIZES = 20, 36
"""MiB of the two values in `make test`, where writers are still measured with `SIZES`: their batches are as large."""

SLACK = 0.25
"""What a factor may be off by: allocators take memory in steps, and caches fill."""


@functools.cache
def value(size: int) -> bytes:
    """A value that cannot be compressed and has no line ends."""
    return random.Random(1).randbytes(size * MIB).replace(b"\n", b" ")


@functools.cache
def text(size: int) -> str:
    """The same as a string."""
    return value(size // 2).hex()


def _zs(codec: Any) -> Callable[[Path, int], None]:
    def make(path: Path, size: int) -> None:
        with exhume.create(path, "zs", codec=codec) as made:
            writer: Any = made
            writer.add_records([b"a", b"b" + value(size), b"c"])

    return make


def _table(path: Path, size: int) -> None:
    write_files(path, build_database([(b"a", 1, PUT, b"v"), (b"b", 2, PUT, value(size)), (b"c", 3, PUT, b"v")]))


def _log(path: Path, size: int) -> None:
    files = build_database([(b"a", 1, PUT, b"v")])
    files["000006.log"] = build_log([build_batch(200, [(PUT, b"b", value(size))])])
    write_files(path, files)


def _members(format: str, **options: Any) -> Callable[[Path, int], None]:
    def make(path: Path, size: int) -> None:
        with exhume.create(path, format, **options) as made:
            writer: Any = made
            (writer.add_bytes if format == "caf" else writer.add)("value", value(size))

    return make


def _ark(codec: Any) -> Callable[[Path, int], None]:
    def make(path: Path, size: int) -> None:
        with ArkWriter(path, name="a") as log:
            log.column("c", codec)
            schema = parse_idl("namespace a; schema P { uint16 n; string s; }")
            channel = log.channel("/a", "a::P", schema, column="c")
            channel.write(1000, {"n": 1, "s": text(size)})

    return make


def _kv_ir(path: Path, size: int) -> None:
    with exhume.kvir.create(path) as writer:
        writer.write({"a": 2, "b": text(size)})


def _clp_ir(path: Path, size: int) -> None:
    with exhume.clpir.create(path) as writer:
        writer.write(1, text(size))


def _line(path: Path, size: int) -> None:
    path.write_text(f"a\nb{text(size)}\nc\n")


def _record(path: Path, size: int) -> None:
    path.write_text(f'{{"a":1,"b":"{text(size)}"}}\n')


def _clp_s(path: Path, size: int) -> None:
    with exhume.create(path, "clp-s") as made:
        writer: Any = made
        writer.write({"a": 1, "b": text(size)})


JSONL = "export --to jsonl -o {out}"
CSV = "export --to csv -o {out}"
ARROW = "export --to arrow -o {out}"
PARQUET = "export --to parquet -o {out}"
EXTRACT = "extract -o {out}"

Cases = dict[str, float]
"""Command lines, and the factor of each: bytes of memory per byte of the value; 0 for memory that does not grow."""

VALUES: dict[str, tuple[str, Callable[[Path, int], None], Cases]] = {
    "zs": ("a record, not compressed", _zs("none"), {
        "cat": 0, "verify": 0, JSONL: 1, CSV: 1, ARROW: 1, PARQUET: 5,
    }),
    "zs deflate": ("a record, deflate", _zs("deflate"), {"cat": 0, "verify": 0, JSONL: 1}),
    "leveldb": ("a value in a table", _table, {
        "cat": 0, "verify": 0, JSONL: 1, CSV: 1, ARROW: 1, PARQUET: 5,
    }),
    "leveldb log": ("a value in a log", _log, {"cat": 0, "verify": 0, JSONL: 1, ARROW: 1}),
    "caf": ("a member", _members("caf"), {"cat": 0, "verify": 0, EXTRACT: 0}),
    "databundle": ("a file, zlib", _members("databundle"), {"cat": 0, "verify": 0, EXTRACT: 0}),
    "databundle flat": ("a file, not compressed", _members("databundle", compression="none"), {
        "cat": 0, "verify": 0, EXTRACT: 0,
    }),
    "ark": ("a message, not compressed", _ark("none"), {
        "cat": 2, "cat --raw": 0, "verify": 1, JSONL: 2, CSV: 2, ARROW: 2, PARQUET: 4,
    }),
    "ark zstd": ("a message, zstd", _ark("zstd"), {"cat": 2, "cat --raw": 1.5, "verify": 2}),
    "kv-ir": ("a string", _kv_ir, {"cat": 2, "verify": 2, JSONL: 2, CSV: 2, ARROW: 2, PARQUET: 4}),
    "clp-ir": ("a message", _clp_ir, {"cat": 2, "verify": 2, JSONL: 2, CSV: 2, ARROW: 2, PARQUET: 4}),
    "clp-s": ("a string", _clp_s, {"cat": 2, "verify": 1, JSONL: 2, CSV: 2, ARROW: 2, PARQUET: 6}),
    "zs made": ("a line of an input", _line, {
        "create zs --codec none -o {out}": 2, "create zs --codec deflate -o {out}": 2,
    }),
    "kv-ir made": ("a string of an input", _record, {"create kv-ir -o {out}": 2}),
    "clp-s made": ("a string of an input", _record, {"create clp-s -o {out}": 2}),
}  # fmt: skip
"""What is large in an archive of a format, how it is made, and what verbs cost.  Others may be added here."""


WORK = "os.dup2(os.open(os.devnull, os.O_WRONLY), 1); child(words[1:], Path(words[0]))"
"""A process that writes down its peak.  Its output goes nowhere: passing it on would cost memory that the next has."""


def peak(forks: Forks, target: Path, words: str, folder: Path) -> float:
    """Peak memory of a command line in MiB.  Raises `RuntimeError` if it fails."""
    reported = folder / "reported"
    verb, *options = words.format(out=folder / "out").split()
    first = [verb, options.pop(0)] if verb == "create" else [verb]
    done = forks.run(str(reported), *first, str(target), *options, "-q")
    if done.code or (found := json.loads(reported.read_text()))[0] not in (0, 3):  # 3: CSV has no bytes
        raise RuntimeError(f"{words}: {done.err[-2000:]}")
    return float(found[2])


def usual_cases(name: str) -> Cases:
    """The command lines that `make test` measures: of the exports of a row one, in turn over the rows."""
    cases = VALUES[name][2]
    exports = [words for words in cases if words.startswith("export")]
    left_out = set(exports)
    if exports:
        left_out.remove(exports[list(VALUES).index(name) % len(exports)])
    return {words: factor for words, factor in cases.items() if words not in left_out}


def processes() -> Forks:
    """What runs a command line in a process of its own, in which everything is loaded."""
    imports = (
        "import os; from pathlib import Path; from tests.budgets.cost import child; from tests.forks import load_all"
    )
    return Forks(f"{imports}\nload_all()", WORK)


def factors(forks: Forks, name: str, cases: Cases, sizes: tuple[int, int] = SIZES) -> dict[str, tuple[float, float]]:
    """The peak with the smaller value in MiB, and the factor, of each of these command lines; `sizes` are in MiB."""
    make = VALUES[name][1]
    peaks: dict[str, list[float]] = {words: [] for words in cases}
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="exhume-values-") as temporary:
            target = Path(temporary) / "target"
            make(target, size)
            for words in cases:
                with tempfile.TemporaryDirectory(dir=temporary) as folder:
                    peaks[words].append(peak(forks, target, words, Path(folder)))
    return {words: (low, (high - low) / (sizes[1] - sizes[0])) for words, (low, high) in peaks.items()}


def formula(factor: float) -> str:
    """A factor in words."""
    return "constant" if not factor else "value" if factor == 1 else f"{factor:g} x value"


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=[])
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    lines = ["| format | large value | command | memory grows with | measured |", "| --- | --- | --- | --- | ---: |"]
    with processes() as forks:
        for name in options.names or VALUES:
            what, _, cases = VALUES[name]
            for words, (_, factor) in factors(forks, name, cases).items():
                command = words.replace(" -o {out}", "")
                lines.append(
                    f"| {name.split()[0]} | {what} | `{command}` | {formula(cases[words])} | {max(0.0, factor):.1f} |"
                )
                print(lines[-1], flush=True)  # noqa: T201
    if options.write:
        write_block("testing.md", "memory", "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
