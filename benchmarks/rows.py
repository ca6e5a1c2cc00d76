"""The rows of `benchmarks.jobs`: each verb of each format, the archives it works on, its rival and its floor.

Archives are made once per folder, out of the same content everywhere; that of ZS holds text, which does not compress as
well as the records of a log.  For commands that would otherwise end within a second, much of it their start, there is
`MORE` or `MOST` times as much of it.  Commands write to `out`, which is removed before each of them.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import rivals
from benchmarks.clp_s_logs import write_logs
from benchmarks.data_bundle import make_tree, pack_zip
from benchmarks.rivals import Rival
from benchmarks.scaling import IN_IMAGE, make_ark, make_image
from benchmarks.zs import make_text
from exhume.formats.leveldb.table_writer import write_database
from tests.textlogs import text_log

EXHUME = [sys.executable, "-m", "exhume"]
MORE, MOST = 4, 8
"""How many times as much content commands have that take a second or less for `--size`, or for `MORE` times that."""

CHUNKS, CHUNK_MEMBERS, MEMBER = 32, 4000, b"%010d"
"""What `catalog build` reads: chunks, the members of each, and what is in them."""

IDL_FILE = "odometry.idl"
IDL = """namespace bench;
schema Odometry {
    uint64 sequence; double x; double y; double heading; string frame; arraylist<double> covariance;
}
"""
ODOMETRY = 8
"""Channels of a log with a type."""

QUERY = "level: INFO OR level: WARN"


class Floor(NamedTuple):
    """The arguments of `benchmarks.floors`."""

    format: str
    work: str
    path: Path


class Work(NamedTuple):
    """A row: what exhume is asked (without `--jobs`), what to compare it with, the folder or file to warm up, and the
    bytes of content that it is about, if these are not those of all inputs."""

    command: list[str]
    reads: Path
    rival: Rival | None = None
    floor: Floor | None = None
    content: int | None = None


def rows(folder: Path, size: int, out: Path) -> dict[str, Work]:
    """Every row by its name; makes what it reads where that is missing."""
    some, more = Inputs(folder, size), Inputs(folder / "more", MORE * size)
    most = Inputs(folder / "most", MOST * size)
    found = {}
    for format, listed, made in (
        ("zs", zs_read, most), ("zs", zs, more), ("zs", zs_lzma, some), ("clp-s", clp_s_read, most),
        ("clp-s", clp_s, more), ("kv-ir", kv_ir, some), ("clp-ir", clp_ir, some), ("ark", ark_plain, more),
        ("ark", ark, some), ("ark", ark_typed, more), ("caf", caf, more), ("databundle", databundle, more),
        ("leveldb", leveldb, more), ("", carve, more),
    ):  # fmt: skip
        for verb, work in listed(out, made):
            content = made.size if work.content is None else work.content
            found[f"{format} {verb}".strip()] = work._replace(content=content)
    return found


def exhume(*arguments: str | Path) -> list[str]:
    """A command of ours."""
    return [*EXHUME, *map(str, arguments), "-q"]


def script(name: str, *paths: Path) -> list[str]:
    """A function of the library that no verb is; see `benchmarks.calls`."""
    return [sys.executable, "-m", "benchmarks.calls", name, *map(str, paths)]


def _common(format: str, path: Path, out: Path) -> Iterator[tuple[str, Work]]:
    """What is done with an archive of any format, and has no rival."""
    verify = Floor(format, "verify", path)
    yield "info --stats", Work(exhume("info", "--stats", path), path, None, Floor(format, "read", path))
    yield "list --sections", Work(exhume("list", "--sections", path), path, None, Floor(format, "read", path))
    yield "explain --coverage", Work(exhume("explain", "--coverage", path), path, None, verify)
    yield "salvage", Work(exhume("salvage", path, "-o", out), path, None, verify)


def _recode(format: str, path: Path, out: Path) -> tuple[str, Work]:
    return "recode", Work(exhume("recode", path, "-o", out), path, None, Floor(format, "write", path))


def zs_read(out: Path, made: Inputs) -> Iterator[tuple[str, Work]]:
    path = made["zs"]
    read = Floor("zs", "read", path)
    yield "cat", Work(exhume("cat", path), path, rivals.zs("zs dump", "dump", "-j0", path), read)
    validate = rivals.zs("zs validate", "validate", "-j0", path)
    yield "verify", Work(exhume("verify", path), path, validate, Floor("zs", "verify", path))
    yield "search --count", Work(exhume("search", path, "", "--count"), path, None, read)


def zs(out: Path, made: Inputs) -> Iterator[tuple[str, Work]]:
    path, lines = made["zs"], made["lines"]
    read = Floor("zs", "read", path)
    yield _zs_create("deflate", lines, out, Floor("zs", "write", path))
    for kind in ("arrow", "parquet"):
        yield f"export {kind}", Work(exhume("export", path, "--to", kind, "-o", out), path, None, read)
    yield _recode("zs", path, out)
    yield from _common("zs", path, out)


def zs_lzma(out: Path, made: Inputs) -> Iterator[tuple[str, Work]]:
    yield _zs_create("lzma", made["lines"], out, Floor("zs", "write lzma", made["zs"]))


def _zs_create(codec: str, lines: Path, out: Path, floor: Floor) -> tuple[str, Work]:
    rival = rivals.zs("zs make", "make", "-j1", "--no-spinner", f"--codec={codec}", "{}", lines, out)
    return f"create, {codec}", Work(exhume("create", "zs", lines, "--codec", codec, "-o", out), lines, rival, floor)


def clp_s_read(out: Path, made: Inputs) -> Iterator[tuple[str, Work]]:
    path = made["clp-s"]
    read = Floor("clp-s", "read", path)
    unpack, to_arrow = (
        rivals.clp_s("clp-s x", "x", path, out),
        rivals.python("clp-s to_arrow", "clp-s x, pyarrow.json", "yscope_clp_core", path),
    )
    yield "cat", Work(exhume("cat", path), path, unpack, read)
    yield "verify", Work(exhume("verify", path), path, unpack, read)
    yield "search", Work(exhume("search", path, QUERY), path, rivals.clp_s("clp-s s", "s", path, QUERY), read)
    yield "to_arrow", Work(script("to_arrow", path), path, to_arrow, read)
    yield "to_arrow, 2 columns", Work(script("two_columns", path), path, to_arrow, read)


def clp_s(out: Path, made: Inputs) -> Iterator[tuple[str, Work]]:
    path, logs = made["clp-s"], made["logs"]
    read, write = Floor("clp-s", "read", path), Floor("clp-s", "write", path)
    to_arrow = rivals.python("clp-s to_arrow", "clp-s x, pyarrow.json", "yscope_clp_core", path)
    pack = rivals.clp_s("clp-s c", "c", "--single-file-archive", out, logs)
    yield "create", Work(exhume("create", "clp-s", logs, "-o", out), logs, pack, write)
    yield "export parquet", Work(exhume("export", path, "--to", "parquet", "-o", out), path, to_arrow, read)
    yield _recode("clp-s", path, out)
    yield from _common("clp-s", path, out)


def kv_ir(out: Path, made: Inputs) -> Iterator[tuple[str, Work]]:
    path, logs = made["kv-ir"], made["logs"]
    read = Floor("kv-ir", "read", path)
    yield "cat", Work(exhume("cat", path), path, None, read)
    yield "verify", Work(exhume("verify", path), path, None, read)
    yield "search", Work(exhume("search", path, QUERY), path, None, read)
    yield "export arrow", Work(exhume("export", path, "--to", "arrow", "-o", out), path, None, read)
    yield "create", Work(exhume("create", "kv-ir", logs, "-o", out), logs, None, Floor("kv-ir", "write", path))
    rival = rivals.clp_s("clp-s c", "c", "--single-file-archive", out, path)
    yield "create clp-s", Work(exhume("create", "clp-s", path, "-o", out), path, rival, read)
    yield _recode("kv-ir", path, out)


def clp_ir(out: Path, made: Inputs) -> Iterator[tuple[str, Work]]:
    path, messages, log = made["clp-ir"], made["messages"], made["text log"]
    read = Floor("clp-ir", "read", path)
    yield "cat", Work(exhume("cat", path), path, None, read)
    yield "verify", Work(exhume("verify", path), path, None, read)
    yield "search", Work(exhume("search", path, "ERROR*timeout"), path, None, read)
    yield "export arrow", Work(exhume("export", path, "--to", "arrow", "-o", out), path, None, read)
    yield (
        "create",
        Work(exhume("create", "clp-ir", messages, "-o", out), messages, None, Floor("clp-ir", "write", path)),
    )
    yield "create clp-s", Work(exhume("create", "clp-s", path, "-o", out), path, None, read)
    yield "create clp-s of text", Work(exhume("create", "clp-s", log, "-o", out), log)
    yield _recode("clp-ir", path, out)


def ark(out: Path, made: Inputs) -> Iterator[tuple[str, Work]]:
    path, mcap = made["ark"], made["mcap"]
    read = Floor("ark", "read", path)
    copy = rivals.python("mcap copy", "mcap, read and written", "mcap", mcap, out)
    yield "create, zstd", Work(exhume("create", "ark", mcap, "--compression", "zstd", "-o", out), mcap, copy)
    yield "export mcap", Work(exhume("export", path, "--to", "mcap", "-o", out), path, copy, read)
    yield from _common("ark", path, out)
    # messages of a type, which are decoded
    typed, lines = made["ark typed"], made["ark lines"]
    of_type = [word for number in range(ODOMETRY) for word in ("--type", f"/odometry/{number}=bench::Odometry")]
    encode = exhume("create", "ark", lines, "--schema", typed / IDL_FILE, *of_type, "-o", out)
    export = exhume("export", typed, "--to", "mcap", "--payload", "json", "-o", out)
    yield "typed create", Work(encode, lines)
    yield "typed export mcap, JSON", Work(export, typed, None, Floor("ark", "read", typed))


def ark_plain(out: Path, made: Inputs) -> Iterator[tuple[str, Work]]:
    path, mcap = made["ark"], made["mcap"]
    reading = rivals.python("mcap read", "mcap, read", "mcap", mcap)
    copy = rivals.python("mcap copy", "mcap, read and written", "mcap", mcap, out)
    read = Floor("ark", "read", path)
    yield "create", Work(exhume("create", "ark", mcap, "-o", out), mcap, copy)
    yield "cat --raw", Work(exhume("cat", "--raw", path), path, reading, read)
    yield "verify", Work(exhume("verify", path), path, reading, read)


def ark_typed(out: Path, made: Inputs) -> Iterator[tuple[str, Work]]:
    typed = made["ark typed"]
    read = Floor("ark", "read", typed)
    yield "typed cat", Work(exhume("cat", typed), typed, None, read)
    yield "typed verify", Work(exhume("verify", typed), typed, None, read)
    yield "typed salvage", Work(exhume("salvage", typed, "-o", out), typed, None, read)
    yield "typed export arrow", Work(exhume("export", typed, "--to", "arrow", "-o", out), typed, None, read)


def caf(out: Path, made: Inputs) -> Iterator[tuple[str, Work]]:
    path, tree = made["caf"], made["tree"]
    copy = Rival("cp -r", ["cp", "-r", str(tree), str(out)])
    yield "extract", Work(exhume("extract", path, "-o", out), path, copy, Floor("caf", "read", path))
    yield "create", Work(exhume("create", "caf", tree, "-o", out), tree, copy)
    yield "verify", Work(exhume("verify", path), path, None, Floor("caf", "read", path))
    chunks = made["chunks"]
    floor = Floor("caf", "read", chunks)
    content = CHUNKS * CHUNK_MEMBERS * len(MEMBER % 0)
    yield "catalog build", Work(exhume("catalog", "build", out, chunks), chunks, None, floor, content)
    yield from _common("caf", path, out)


def databundle(out: Path, made: Inputs) -> Iterator[tuple[str, Work]]:
    path, tree, box = made["databundle"], made["tree"], made["zip"]
    verify, write = Floor("databundle", "verify", path), Floor("databundle", "write", path)
    pack = rivals.python("zip create", "zipfile", "zipfile", tree, out)
    unpack = rivals.python("zip extract", "zipfile", "zipfile", box, out)
    test = rivals.python("zip test", "zipfile", "zipfile", box)
    yield "extract", Work(exhume("extract", path, "-o", out), path, unpack, verify)
    yield "create", Work(exhume("create", "databundle", tree, "-o", out), tree, pack, write)
    yield "verify", Work(exhume("verify", path), path, test, verify)
    yield "export tar", Work(exhume("export", path, "--to", "tar", "-o", out), path, unpack, verify)
    yield _recode("databundle", path, out)
    yield from _common("databundle", path, out)


def leveldb(out: Path, made: Inputs) -> Iterator[tuple[str, Work]]:
    path, copy = made["leveldb"], made["leveldb of plyvel"]
    read = Floor("leveldb", "read", path)
    scan = rivals.python("plyvel scan", "plyvel", "plyvel", copy)
    yield "cat", Work(exhume("cat", path), path, scan, read)
    yield "list", Work(exhume("list", path), path, scan, read)
    yield "search", Work(exhume("search", path, "key"), path, scan, read)
    yield "verify", Work(exhume("verify", path), path, scan, read)
    for kind in ("arrow", "parquet"):
        yield f"export {kind}", Work(exhume("export", path, "--to", kind, "-o", out), path, scan, read)
    yield from _common("leveldb", path, out)


def carve(out: Path, made: Inputs) -> Iterator[tuple[str, Work]]:
    image = made["image"]
    yield "carve", Work(exhume("carve", image), image, None, Floor("image", "read", image), image.stat().st_size)


# ------------------------------------------------------------------------------------------------------- the inputs


class Inputs:
    """What rows read, by name; made out of `size` bytes of content when it is used and is missing."""

    def __init__(self, folder: Path, size: int) -> None:
        self._folder, self.size = folder, size

    def __getitem__(self, name: str) -> Path:
        file, make = INPUTS[name]
        path = self._folder / file
        if not path.exists():
            self._folder.mkdir(exist_ok=True)
            part = self._folder / f"part-{file}"
            make(self, part)
            part.rename(path)
        return path


def _created(format: str, source: str, *options: str) -> Callable[[Inputs, Path], None]:
    def make(made: Inputs, path: Path) -> None:
        subprocess.run(exhume("create", format, made[source], *options, "-o", path), check=True)

    return make


def make_mcap(made: Inputs, path: Path) -> None:
    """The log in the format of its rival."""
    subprocess.run(exhume("export", made["ark"], "--to", "mcap", "-o", path), check=True)


def make_messages(made: Inputs, path: Path) -> None:
    """The messages of the log with a type, as lines of JSON."""
    with path.open("wb") as file:
        subprocess.run(exhume("cat", made["ark typed"], "-j0"), stdout=file, check=True)


def make_leveldb(made: Inputs, folder: Path) -> None:
    """A database whose values are chunks of a log."""
    folder.mkdir()
    text = made["lines"].read_bytes()
    most = len(text) - 150
    pairs = (
        (b"key-%012d" % number, text[at : at + 150])
        for number, at in enumerate(number * 7919 % most for number in range(made.size // 166))
    )
    write_database(lambda file: (folder / file).open("wb"), pairs, codec="snappy")


def make_typed_log(made: Inputs, folder: Path) -> None:
    """A log of messages of one type on several channels, 200 bytes each, with its type in a file next to them."""
    from exhume.formats.ark.writer import ArkWriter

    rng = random.Random(5)
    covariances = [[rng.random() for _ in range(18)] for _ in range(64)]
    with ArkWriter(folder) as log:
        writers = [log.channel(f"/odometry/{n}", "bench::Odometry", IDL).write for n in range(ODOMETRY)]
        for number in range(made.size // 200):
            value: dict[str, Any] = {"sequence": number, "x": number / 4, "y": -number / 2}
            value |= {
                "heading": number % 628 / 100,
                "frame": "map",
                "covariance": covariances[number % len(covariances)],
            }
            writers[number % ODOMETRY](number * 1_000_000, value)
    (folder / IDL_FILE).write_text(IDL)


def make_chunks(made: Inputs, folder: Path) -> None:
    """Chunks of many small members."""
    import exhume as library

    folder.mkdir()
    first = folder / "chunk-00.caf"
    with library.create(first, "caf") as writer:
        for number in range(CHUNK_MEMBERS):
            writer.add_bytes(f"dir-{number % 40:02}/object-{number:06}.json", MEMBER % number)
    for number in range(1, CHUNKS):
        shutil.copy(first, folder / f"chunk-{number:02}.caf")


def make_text_log(made: Inputs, path: Path) -> None:
    """Write a log with stack traces; its events repeat."""
    part = text_log("hadoop", 20_000)
    path.write_bytes(part * max(1, made.size // len(part)))


def make_messages_of_text(made: Inputs, path: Path) -> None:
    """The same events as lines of JSON with `timestamp` and `message`."""
    with made["text log"].open("rb") as log, path.open("w") as file:
        for number, line in enumerate(log):
            json.dump({"timestamp": 1_700_000_000_000 + number, "message": line.decode()}, file)
            file.write("\n")


INPUTS: dict[str, tuple[str, Callable[[Inputs, Path], object]]] = {
    "lines": ("lines.txt", lambda made, path: make_text(path, made.size)),
    "logs": ("logs.jsonl", lambda made, path: write_logs(path, "flat", made.size)),
    "tree": ("tree", lambda made, path: make_tree(path, max(1, made.size // 40_000), 40_000)),
    "zs": ("lines.zs", _created("zs", "lines", "--codec", "deflate")),
    "clp-s": ("logs.clps", _created("clp-s", "logs")),
    "kv-ir": ("logs.clp", _created("kv-ir", "logs")),
    "text log": ("app.log", make_text_log),
    "messages": ("messages.jsonl", make_messages_of_text),
    "clp-ir": ("text.clp", _created("clp-ir", "messages")),
    "ark": ("log.ark", lambda made, path: make_ark(path, made.size)),
    "ark typed": ("typed.ark", make_typed_log),
    "ark lines": ("typed.jsonl", make_messages),
    "mcap": ("log.mcap", make_mcap),
    "caf": ("tree.caf", _created("caf", "tree")),
    "chunks": ("chunks", make_chunks),
    "databundle": ("tree.bundle", _created("databundle", "tree")),
    "zip": ("tree.zip", lambda made, path: pack_zip(made["tree"], path)),
    "leveldb": ("leveldb", make_leveldb),
    "leveldb of plyvel": ("leveldb-copy", lambda made, path: shutil.copytree(made["leveldb"], path)),
    "image": ("image", lambda made, path: make_image(path, {id: made[id] for id in IN_IMAGE}, made.size)),
}
"""The path of each input in its folder, and its maker; plyvel writes into the database it opens."""
