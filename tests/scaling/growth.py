"""How the work of a verb grows with a count of its archive: lines of Python, and the peak of memory.

python -m tests.scaling.growth [--write]     # make scaling

A count is doubled three times from a small size.  The lines that run are counted, not seconds: they are the same on
every machine.  A loop counts in each pass, in a comprehension as well; loops inside the compiled kernel do not count.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import json
import math
import re
import sys
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple
from unittest import mock

import exhume
from exhume.cli.main import invoke
from exhume.cli.terminal.outline import Outline, sections_of
from exhume.formats.leveldb import files as table_files
from exhume.tabular import wide
from exhume.view.explored import ExploredArchive
from tests.scaling import archives
from tests.sizes import THOROUGH
from tools.blocks import write_block

DOUBLINGS = 3
MOST, MOST_AT_FIRST = (2.4, 2.4) if THOROUGH else (2.2, 2.1)
"""Growth of the lines for each doubling of a count, above which a verb is not linear.

`make test` compares the sizes of the second doubling only, and of the first where archives take long (`LONG`). A square
that makes the first 2.1 makes the second 2.2 and the third 2.4: its share of the lines doubles.
"""

Make = Callable[[Path, int], None]


class Case(NamedTuple):
    """A count of a format, the size that it is doubled from, the archive that has it, and the verbs that are run."""

    format: str
    grows: str
    start: int
    make: Make
    verbs: tuple[str, ...]


def _events(path: Path, format: str, events: Iterator[dict[str, Any]]) -> None:
    with exhume.create(path, format) as writer:
        lines: Any = writer
        for event in events:
            lines.write(event)


def schemas(path: Path, count: int) -> None:
    """Events that each have another key."""
    _events(path, "clp-s", ({f"k{number}": number} for number in range(count)))


def keys(path: Path, count: int) -> None:
    """One event with many keys."""
    _events(path, "clp-s", iter([{f"k{number}": number for number in range(count)}]))


def records(path: Path, count: int) -> None:
    """Events that are alike."""
    _events(path, "clp-s", ({"a": number, "b": f"text {number}"} for number in range(count)))


def entries(path: Path, count: int) -> None:
    """Events with strings and messages that differ."""
    _events(
        path, "clp-s", ({"a": f"w{number}x", "b": f"a {'z' * (number % 97)} {number:x}x"} for number in range(count))
    )


def stream_events(path: Path, count: int) -> None:
    """Events of a KV-IR stream."""
    _events(path, "kv-ir", ({"a": number, "b": f"text {number}"} for number in range(count)))


def text_events(path: Path, count: int) -> None:
    """Events of an IR stream of text."""
    with exhume.create(path, "clp-ir") as writer:
        for number in range(count):
            writer.write(1_700_000_000_000 + number, f"text {number}\n")


def stream_keys(path: Path, count: int) -> None:
    """Events of a KV-IR stream that each have another key."""
    _events(path, "kv-ir", ({f"k{number}": number} for number in range(count)))


def _caf(path: Path, names: Iterator[str]) -> None:
    files = ",".join(f'{json.dumps(name)}:{{"start_byte":0,"end_byte":0}}' for name in names)
    index = f'{{"format_version":"1.0","files":{{{files}}}}}'.encode()
    path.write_bytes(index + len(index).to_bytes(4, "little"))


def members(path: Path, count: int) -> None:
    """Members of one folder."""
    _caf(path, (f"folder/{number:06}" for number in range(count)))


def folders(path: Path, count: int) -> None:
    """Members that are folders of others, too."""
    _caf(path, (f"{number:06}{rest}" for number in range(count) for rest in ("", "/x")))


def components(path: Path, count: int) -> None:
    """Members whose names have many components."""
    _caf(path, (f"{number}/" + "f/" * count + "x" for number in range(20)))


def heads(path: Path, count: int) -> None:
    """An image of nothing but heads of an index."""
    path.write_bytes(b'{"format_version":"1.0","files":{"a":{"start_byte":0,"end_byte":9999999}},' * count)


def blocks(path: Path, count: int) -> None:
    """Blocks of a few records."""
    with exhume.create(path, "zs", codec="none", block_size=64) as writer:
        lines: Any = writer
        lines.add_records(b"%09d" % number for number in range(count))


def bundle(path: Path, count: int) -> None:
    """Members of a bundle."""
    with exhume.create(path, "databundle") as writer:
        files: Any = writer
        for number in range(count):
            files.add(f"folder/{number:06}", b"x")


CASES = (
    Case("clp-s", "schemas", 50, schemas, ("verify", "list", "cat", "cat --ordered", "salvage -o {o}", "carve",
                                            "map --svg {o}", "export --to arrow -o {o}", "export --to jsonl -o {o}",
                                            "recode -o {o}", "explain --at 70", "explain --range 100:200", "explain",
                                            "list --sections", "search *:7",
                                            "report -o {o}.html", "browse", "explore")),
    Case("clp-s", "keys of a record", 100, keys, ("verify", "cat", "export --to arrow -o {o}", "list", "recode -o {o}",
                                                  "explain --at 70")),
    Case("clp-s", "records", 200, records, ("verify", "cat", "cat --ordered", "salvage -o {o}", "recode -o {o}",
                                            "export --to csv -o {o}", "search a>=5", "search a>=5 --count",
                                            "search * --unique b", "search * --min a", "info --stats", "map --svg {o}",
                                            "report -o {o}.html", "browse", "explore")),
    Case("clp-s", "dictionary entries", 200, entries, ("verify", "cat", "salvage -o {o}", "recode -o {o}",
                                                       "export --to arrow -o {o}")),
    Case("clp-s", "records of an input", 200, archives.input_records, ("create clp-s {t} -o {o}",
                                                                       "create kv-ir {t} -o {o}")),
    Case("clp-s", "schemas of an input", 50, archives.input_schemas, ("create clp-s {t} -o {o}",
                                                                      "create kv-ir {t} -o {o}")),
    Case("clp-s", "keys of a record of an input", 100, archives.input_keys, ("create clp-s {t} -o {o}",
                                                                             "create kv-ir {t} -o {o}")),
    Case("clp-s", "lines of a log", 200, archives.input_lines, ("create clp-s {t} -o {o}", "create zs {t} -o {o}")),
    Case("clp-ir", "lines of an input", 200, archives.input_messages, ("create clp-ir {t} -o {o}",)),
    Case("kv-ir", "events", 200, stream_events, ("verify", "cat", "export --to jsonl -o {o}", "search a>=5",
                                                 "search * --unique b", "salvage -o {o}", "recode -o {o}",
                                                 "report -o {o}.html", "info --stats", "browse", "explore")),
    Case("clp-ir", "events", 200, text_events, ("verify", "cat", "list", "salvage -o {o}", "export --to jsonl -o {o}",
                                                "search text", "search text --count", "recode -o {o}",
                                                "explain --at 300", "report -o {o}.html", "browse", "explore")),
    Case("kv-ir", "events", 1000, stream_events, ("explain --at 2000", "explain --range 2000:2010", "explain")),
    Case("kv-ir", "keys", 100, stream_keys, ("verify", "cat", "list", "export --to jsonl -o {o}",
                                             "export --to parquet -o {o}", "export --to arrow -o {o}",
                                             "search k1:*", "salvage -o {o}", "explore")),
    Case("kv-ir", "keys within each other", 50, archives.nested_keys, ("verify", "cat", "list",
                                                                      "export --to jsonl -o {o}", "recode -o {o}")),
    Case("caf", "members", 200, members, ("verify", "list", "explain --coverage", "salvage -o {o}", "map --svg {o}",
                                          "export --to tar -o {o}", "report -o {o}.html", "browse", "explore")),
    Case("caf", "files of a folder", 50, archives.input_files, ("create caf {t} -o {o}",
                                                                "create databundle {t} -o {o}")),
    Case("caf", "names that clash", 60, folders, ("verify", "list")),
    Case("caf", "components of a name", 150, components, ("verify", "list")),
    Case("caf", "members", 200, members, ("explain --at 2000", "explain", "extract -o {o}",
                                          "export --to jsonl -o {o}")),
    Case("caf", "files of a tar archive", 50, archives.input_tar, ("create caf --from-tar {t} -o {o}",)),
    Case("caf", "heads in an image", 50, heads, ("carve",)),
    Case("caf", "heads within each other", 20, archives.nested_heads, ("salvage -o {o} --format caf",)),
    Case("zs", "blocks", 200, blocks, ("verify", "cat", "list", "salvage -o {o}", "explain", "explain --at 2000",
                                       "explain --coverage", "list --sections", "map --svg {o}",
                                       "export --to jsonl -o {o}", "recode -o {o}", "search 0000 --count",
                                       "info --stats", "report -o {o}.html", "browse", "explore")),
    Case("zs", "blocks, two to an index block", 100, archives.narrow_index, ("verify", "cat", "list", "explain")),
    Case("zs", "findings", 100, archives.damaged_blocks, ("verify", "explain", "salvage -o {o}", "map --svg {o}",
                                                         "report -o {o}.html", "browse", "explore")),
    Case("databundle", "members of two", 50, archives.two_bundles, ("diff {t} {t}.other",)),
    Case("databundle", "members", 50, bundle, ("verify", "list", "export --to jsonl -o {o}", "explain --at 200",
                                               "extract -o {o}", "salvage -o {o}", "recode -o {o}", "map --svg {o}",
                                               "report -o {o}.html", "browse", "explore")),
    Case("databundle", "shards", 20, archives.shards, ("verify", "list", "cat", "salvage -o {o}")),
    Case("ark", "channels", 100, archives.channels, ("verify", "list", "cat", "explain", "export --to parquet -o {o}",
                                                     "export --to arrow -o {o}", "export --to mcap -o {o}",
                                                     "salvage -o {o}", "explain --at 20", "search /*",
                                                     "report -o {o}.html", "browse", "explore")),
    Case("ark", "channels of an input", 100, archives.input_channels, ("create ark {t}.mcap -o {o}",)),
    Case("ark", "messages of a channel", 200, archives.messages, ("verify", "cat", "export --to parquet -o {o}",
                                                                  "export --to mcap -o {o}", "explain --at 20",
                                                                  "search /*", "browse", "explore")),
    Case("ark", "splits", 20, archives.splits, ("verify", "cat", "list", "export --to parquet -o {o}",
                                                "salvage -o {o}")),
    Case("leveldb", "puts in a log", 200, archives.puts, ("verify", "list", "cat", "info", "explain --at 200",
                                                          "export --to jsonl -o {o}", "salvage -o {o}", "search k",
                                                          "report -o {o}.html", "map --svg {o}", "browse", "explore")),
    Case("leveldb", "rows of a table", 200, archives.rows, ("verify", "list", "cat", "explain --at 200",
                                                            "export --to parquet -o {o}", "salvage -o {o}", "search k",
                                                            "report -o {o}.html", "browse", "explore")),
    Case("leveldb", "tables", 20, archives.tables, ("verify", "list", "cat", "info", "explain", "map --svg {o}",
                                                    "export --to jsonl -o {o}", "salvage -o {o}", "report -o {o}.html",
                                                    "explore")),
    Case("zs", "targets", 10, archives.targets, ("verify --targets-from {t}", "salvage --targets-from {t} -o {o}",
                                                 "export --targets-from {t} --to jsonl -o {o}")),
    Case("zs", "images", 10, archives.images, ("report {t} -o {o}.html",)),
    Case("zs", "records of an audit", 10, archives.audit_records, ("audit {t}",)),
    Case("caf", "chunks of a catalog", 20, archives.chunks, ("catalog build {o} --targets-from {t}",)),
    Case("ksy", "types of a specification", 25, archives.spec_types, ("info {t} --ksy {t}.ksy",
         "explain {t} --ksy {t}.ksy --at 0")),
    Case("ksy", "values of an enum", 100, archives.spec_enum, ("info {t} --ksy {t}.ksy",)),
    Case("ksy", "computed values of a type", 50, archives.spec_instances, ("info {t} --ksy {t}.ksy",
         "explain {t} --ksy {t}.ksy --at 0")),
    Case("zs", "archives in an image", 20, archives.image, ("carve", "carve -o {o}", "report -o {o}.html")),
)  # fmt: skip


LONG = frozenset({archives.channels, archives.input_channels, archives.splits, archives.tables})
"""What makes the archives whose verbs execute the most lines."""


def _browse(archive: Any) -> None:
    outline = Outline(sections_of(archive))
    for item in outline.roots()[:3]:
        if item.make is not None:
            item.make()


def _explore(archive: Any) -> None:
    with mock.patch.object(
        ExploredArchive, "_start", ExploredArchive._guarded
    ):  # not in threads, whose calls do not count
        explored = ExploredArchive(archive)
        explored.check()
        explored.contents()
        explored.sections(0, 100)


VIEWS: dict[str, Callable[[Any], None]] = {"browse": _browse, "explore": _explore}
"""The first view of what is opened in a terminal or a browser."""


def run(verb: str, target: Path, out: Path) -> None:
    """Run a verb on a target; what it prints is thrown away."""
    if verb in VIEWS:
        with exhume.open(target) as archive:
            VIEWS[verb](archive)
        return
    words = [word.format(o=out, t=target) for word in verb.split()]
    given = [] if "{t}" in verb else [str(target)]
    shown = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(io.StringIO()):
        code = int(invoke([words[0], *given, *words[1:], "-q"]))
    if code not in (0, 3, 4):
        raise RuntimeError(f"{verb} {target.name}: exit code {code}")


def lines(work: Callable[[], Any]) -> int:
    """How many lines of Python some work executes."""
    count = 0

    def local(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal count
        count += event == "line"
        return local

    before = sys.gettrace()
    gc.disable()  # collecting what other tests left would count their finalizers
    sys.settrace(lambda frame, event, arg: local)
    try:
        work()
    finally:
        sys.settrace(before)
        gc.enable()
    return count


class Growth(NamedTuple):
    """The lines at each size, and the peak of memory at the last two."""

    sizes: list[int]
    lines: list[int]
    peaks: tuple[int, int] = (0, 0)

    @property
    def worst(self) -> float:
        """The largest growth of the lines for a doubling."""
        return max(after / before for before, after in pairwise(self.lines))

    @property
    def exponent(self) -> float:
        """The power of the count that the lines grow with, from the last two sizes."""
        return max(0.0, math.log2(self.lines[-1] / self.lines[-2]))


NARROW = 32
"""Columns above which rows are maps while work is counted, so that small tables are wide ones."""


FEW = 8
"""Files that a pool keeps open while work is counted, so that each size has more of them than the pool."""


def grow(case: Case, verb: str, folder: Path, *, memory: bool = False) -> Growth:
    """Run a verb at each size of a count."""
    with mock.patch.object(wide, "WIDEST", NARROW), mock.patch.object(table_files, "MOST_OPEN", FEW):
        return _grow(case, verb, folder, memory=memory)


def _unused(folder: Path) -> Path:
    """A name for an output in a new directory, so that what a verb writes next to it, such as `out.html`, is new."""
    return Path(tempfile.mkdtemp(prefix="out-", dir=folder), "out")


def _grow(case: Case, verb: str, folder: Path, *, memory: bool) -> Growth:
    numbers = range(DOUBLINGS + 1) if memory or THOROUGH else (0, 1) if case.make in LONG else (1, 2)
    sizes = [case.start << number for number in numbers]
    counted: list[int] = []
    peaks: list[int] = []

    def made(size: int) -> Path:
        target = folder / f"{case.make.__name__}-{size}"
        if not target.exists():
            case.make(target, size)
        return target

    # First, import what the verb needs.  A specification that was compiled once is not compiled again.
    run(verb, made(sizes[0] // 2 if case.format == "ksy" else sizes[0]), _unused(folder))
    for size in sizes:
        target, out = made(size), _unused(folder)
        counted.append(lines(lambda: run(verb, target, out)))  # noqa: B023 - called here
        if memory and size >= sizes[-2]:
            out = _unused(folder)
            tracemalloc.start()
            try:
                run(verb, target, out)
                peaks.append(tracemalloc.get_traced_memory()[1])
            finally:
                tracemalloc.stop()
    return Growth(sizes, counted, (peaks[0], peaks[1]) if memory else (0, 0))


def table(folder: Path) -> str:
    """A row for each case and verb."""
    rows = [
        "| format | count | verb | from | to | lines per item | exponent | bytes per item |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for case in CASES:
        for verb in case.verbs:
            found = grow(case, verb, folder, memory=True)
            first, last = found.sizes[0], found.sizes[-1]
            added = found.sizes[-1] - found.sizes[-2]
            each = max(0, found.lines[-1] - found.lines[-2]) / added
            held = max(0, found.peaks[1] - found.peaks[0]) / added
            name = re.sub(r" -o \{o\}(\.html)?| \{[ot]\}(\.mcap|\.other|\.ksy)?", "", verb)
            rows.append(
                f"| {case.format} | {case.grows} | `{name}` | {first:,} | {last:,} | {each:,.1f} |"
                f" {found.exponent:.2f} | {held:,.0f} |"
            )
            print(rows[-1], f"worst {found.worst:.2f}", flush=True)  # noqa: T201
    return "\n".join(rows) + "\n"


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="exhume-growth-") as folder:
        made = table(Path(folder))
    if options.write:
        write_block("scaling.md", "scaling", made)


if __name__ == "__main__":
    main()
