"""What 1 MB of hostile input costs each verb: CPU time, memory, reads and files, of a process of its own.

python -m tests.budgets.cost [--write] [VERB ...]     # make budgets
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import zstandard
from exhume_ksy.facts.clp_kv_ir import Tags

import exhume
from exhume.cli.main import invoke
from exhume.formats.kv_ir.layout import END, build_text
from exhume.limits import DEFAULT_LIMITS, Limits
from tests.budgets.needs import NEEDS
from tests.kv_ir.streams import HEAD, event, user
from tests.sizes import peak_memory
from tools.blocks import write_block

SIZE = 1 << 20

VERBS: dict[str, tuple[str, ...]] = {
    "identify": (), "info": ("--stats",), "list": ("--sections",), "cat": (), "verify": (), "explain": (),
    "map": ("--svg", "{o}/made"), "search": ("a",), "extract": ("-o", "{o}/made"),
    "recode": ("--codec", "none", "-o", "{o}/made"), "export": ("--to", "jsonl", "-o", "{o}/made"),
    "salvage": ("-o", "{o}/made"), "carve": ("-o", "{o}/made"),
}  # fmt: skip
"""What is run, with its options."""


def bomb(path: Path) -> None:
    """One ZS block of 480 MiB of zeros, 1 MB deflated."""
    with exhume.create(path, "zs", codec="deflate", block_size=1 << 30, default_metadata=False) as writer:
        records: Any = writer
        records.add_records([bytes(480 << 20)])


def stream(path: Path) -> None:
    """A KV-IR stream of 500 strings of 2 MiB inside one zstd frame."""
    units = event([], [(1, build_text(b"long" * (1 << 19)))])
    data = HEAD + user(Tags.NODE_TEXT, b"a") + units * 500 + END
    path.write_bytes(zstandard.ZstdCompressor(level=1).compress(data))


def chunk(path: Path, entries: list[tuple[int, int]]) -> None:
    """A CAF chunk of zeros with an index of these ranges, 1 MB in all."""
    files = ",".join(f'"{n:x}":{{"start_byte":{a},"end_byte":{b}}}' for n, (a, b) in enumerate(entries))
    index = f'{{"format_version":"1.0","files":{{{files}}}}}'.encode()
    path.write_bytes(bytes(max(0, SIZE - len(index) - 4)) + index + len(index).to_bytes(4, "little"))


def noise(path: Path) -> None:
    """Random bytes with the first bytes of every format all over them."""
    chance = random.Random(1)
    marks = [
        b"ZSfiLe\xabz",
        b"\xfd\x2f\xa5\x92",
        b"\xfd\x2f\xb5\x29",
        b"\x28\xb5\x2f\xfd",
        b"daBS",
        b'{"format_version":',
    ]
    path.write_bytes(b"".join(chance.choice(marks) + chance.randbytes(48) for _ in range(SIZE))[:SIZE])


def deep(path: Path) -> None:
    """A CAF chunk of 220 names that have nothing in common, each of 2,000 components."""
    files = ",".join(f'"{n}/{"a/" * 1998}z":{{"start_byte":0,"end_byte":0}}' for n in range(220))
    index = f'{{"format_version":"1.0","files":{{{files}}}}}'.encode()
    path.write_bytes(index + len(index).to_bytes(4, "little"))


def heads(path: Path) -> None:
    """The head of a CAF index all over the image, with a first entry that reaches before it."""
    head = b'{"format_version":"1.0","files":{"a":{"start_byte":0,"end_byte":999999999}},'
    path.write_bytes((head * (SIZE // len(head) + 1))[:SIZE])


def nested_heads(path: Path) -> None:
    """Heads of a CAF index in each other, and what has to be parsed for each of them."""
    head = b'{"format_version":"1.0","x":' * 6 + b"[" + b"1," * 20_000
    path.write_bytes((head * (SIZE // len(head) + 1))[:SIZE])


def columns(path: Path) -> None:
    """Events of clp-s with 24,000 keys in all, ten in each."""
    with exhume.create(path, "clp-s") as writer:
        events: Any = writer
        for n in range(2400):
            events.write({f"k{key}": key for key in range(10 * n, 10 * n + 10)})


INPUTS: Mapping[str, tuple[str, Callable[[Path], None]]] = {
    "a block of 480 MiB of zeros": ("zs", bomb),
    "1 GiB of text in a frame": ("kv-ir", stream),
    "27,000 empty members": ("caf", lambda path: chunk(path, [(0, 0)] * 27_000)),
    "200 members over one another": ("caf", lambda path: chunk(path, [(0, SIZE - 20_000)] * 200)),
    "names of 2,000 components": ("caf", deep),
    "heads of an index": ("", heads),
    "nested heads of an index": ("", nested_heads),
    "24,000 columns": ("clp-s", columns),
    "noise full of magic numbers": ("", noise),
}
"""The inputs: the name of each, its format where one has to be named, and how it is made."""

UNFIT = {("extract", "names of 2,000 components")}
"""What makes folders too deep for Python's own functions, with which this script counts and removes them."""


def child(words: list[str], reported: Path) -> None:
    """Run a command line and write down what it cost."""
    calls: Counter[str] = Counter()

    def counted(name: str, real: Callable[..., Any], *args: Any) -> Any:
        calls[name] += 1
        return real(*args)

    for name in ("read", "pread", "preadv"):
        setattr(os, name, partial(counted, name, getattr(os, name)))
    code = int(invoke(words))
    used = resource.getrusage(resource.RUSAGE_SELF)
    reported.write_text(json.dumps([code, used.ru_utime + used.ru_stime, peak_memory() / 2**20, calls.total()]))


def cost(folder: Path, verb: str, format: str, target: Path) -> tuple[float, float, int, int] | None:
    """CPU seconds, MB, reads and files of one run; None where the verb is not for this."""
    with tempfile.TemporaryDirectory(dir=folder) as out:
        words = [verb, str(target), *(word.format(o=out) for word in VERBS[verb]), "-q"]
        if format and verb not in ("identify", "carve"):
            words += ["--format", format]
        reported = folder / "reported"
        command = [sys.executable, "-c", "import sys; from tests.budgets.cost import child; from pathlib import Path; "
                   "child(sys.argv[2:], Path(sys.argv[1]))", str(reported), *words]  # fmt: skip
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        if done.returncode or b"Traceback" in done.stderr:
            raise RuntimeError(f"{words}: {done.returncode} {done.stderr.decode()[-2000:]}")
        code, cpu, memory, reads = json.loads(reported.read_text())
        files = sum(1 for path in Path(out).rglob("*") if path.is_file())
    return None if code == 2 else (cpu, memory, reads, files)


def measure(verbs: list[str]) -> dict[str, dict[str, tuple[float, float, int, int] | None]]:
    """What every verb costs with every input."""
    found: dict[str, dict[str, Any]] = {verb: {} for verb in verbs}
    with tempfile.TemporaryDirectory(prefix="exhume-cost-") as temporary:
        folder = Path(temporary)
        for name, (format, make) in INPUTS.items():
            make(folder / "target")
            for verb in verbs:
                fits = (verb, name) not in UNFIT
                found[verb][name] = cost(folder, verb, format, folder / "target") if fits else None
                print(verb, name, found[verb][name], flush=True)  # noqa: T201
            (folder / "target").unlink()
    return found


def cost_table(found: Mapping[str, Mapping[str, tuple[float, float, int, int] | None]]) -> str:
    """Per verb: the most of each, and the inputs that took the time and the memory."""
    lines = [
        "| verb | CPU time | with | memory | with | reads | files |",
        "| --- | ---: | --- | ---: | --- | ---: | ---: |",
    ]
    for verb, costs in found.items():
        known = {name: one for name, one in costs.items() if one is not None}
        slow, large = (max(known, key=lambda name: known[name][column]) for column in (0, 1))
        reads, files = (max(one[column] for one in known.values()) for column in (2, 3))
        cells = f"{known[slow][0]:.1f} s | {slow} | {known[large][1]:,.0f} MB | {large} | {reads:,} | {files:,}"
        lines.append(f"| `{verb}` | {cells} |")
    return "\n".join(lines) + "\n"


def limits_table() -> str:
    """Each limit: its usual value, why it is there, and where it was driven to its edge."""
    reasons = {}
    for line in (Limits.__doc__ or "").splitlines():
        name, _, text = line.strip().partition(": ")
        if name in Limits._fields:
            reasons[name] = text
    lines = ["| limit | default | what it bounds | least value for a small archive |", "| --- | ---: | --- | --- |"]
    for name in Limits._fields:
        needs = ", ".join(f"{format} {value:,}" for format, value in NEEDS.get(name, {}).items()) or "see below"
        lines.append(f"| `{name}` | {getattr(DEFAULT_LIMITS, name):,} | {reasons[name]} | {needs} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verbs", nargs="*", default=[])
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    found = measure(options.verbs or list(VERBS))
    table = cost_table(found)
    if options.write:
        write_block("testing.md", "budgets", f"{limits_table()}\n{table}")
    else:
        sys.stdout.write(table)


if __name__ == "__main__":
    main()
