"""The rows of `benchmarks.jobs`: each verb of each format, the archives it works on, its rival and its floor.

Archives are made once per folder, out of the same content everywhere; that of ZS holds text, which does not compress as
well as the records of a log.  Commands write to `out`, which is removed before each of them.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import rivals
from benchmarks.data_bundle import pack_zip
from benchmarks.rivals import Rival
from benchmarks.scaling import make_archives, make_image
from benchmarks.zs import make_text
from exhume.formats.leveldb.table_writer import write_database

EXHUME = [sys.executable, "-m", "exhume"]
CHUNKS, CHUNK_MEMBERS = 32, 4000
"""What `catalog build` reads: chunks, and the members of each."""

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
    """A row: what exhume is asked (without `--jobs`), what to compare it with, and the folder or file to warm up."""

    command: list[str]
    reads: Path
    rival: Rival | None = None
    floor: Floor | None = None


def rows(folder: Path, size: int, out: Path) -> dict[str, Work]:
    """Every row by its name; makes what it reads where that is missing."""
    made = inputs(folder, size)
    formats = {"zs": zs, "clp-s": clp_s, "kv-ir": kv_ir, "ark": ark, "caf": caf, "databundle": databundle}
    formats["leveldb"] = leveldb
    found = {f"{id} {verb}": work for id, listed in formats.items() for verb, work in listed(out, made)}
    image = made["image"]
    return found | {"carve": Work(exhume("carve", image), image, None, Floor("image", "read", image))}


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


def zs(out: Path, made: dict[str, Path]) -> Iterator[tuple[str, Work]]:
    path, lines = made["zs of lines"], made["lines"]
    read, write = Floor("zs", "read", path), Floor("zs", "write", path)
    yield "cat", Work(exhume("cat", path), path, rivals.zs("zs dump", "dump", "-j0", path), read)
    validate = rivals.zs("zs validate", "validate", "-j0", path)
    yield "verify", Work(exhume("verify", path), path, validate, Floor("zs", "verify", path))
    yield "search --count", Work(exhume("search", path, "", "--count"), path, None, read)
    for codec in ("deflate", "lzma"):
        rival = rivals.zs("zs make", "make", "-j1", "--no-spinner", f"--codec={codec}", "{}", lines, out)
        floor = write if codec == "deflate" else Floor("zs", "write lzma", path)
        yield f"create, {codec}", Work(exhume("create", "zs", lines, "--codec", codec, "-o", out), lines, rival, floor)
    for kind in ("arrow", "parquet"):
        yield f"export {kind}", Work(exhume("export", path, "--to", kind, "-o", out), path, None, read)
    yield _recode("zs", path, out)
    yield from _common("zs", path, out)


def clp_s(out: Path, made: dict[str, Path]) -> Iterator[tuple[str, Work]]:
    path, logs = made["clp-s"], made["logs"]
    read, write = Floor("clp-s", "read", path), Floor("clp-s", "write", path)
    unpack, to_arrow = (
        rivals.clp_s("clp-s x", "x", path, out),
        rivals.python("clp-s to_arrow", "clp-s x, pyarrow.json", "yscope_clp_core", path),
    )
    yield "cat", Work(exhume("cat", path), path, unpack, read)
    yield "verify", Work(exhume("verify", path), path, unpack, read)
    yield "search", Work(exhume("search", path, QUERY), path, rivals.clp_s("clp-s s", "s", path, QUERY), read)
    pack = rivals.clp_s("clp-s c", "c", "--single-file-archive", out, logs)
    yield "create", Work(exhume("create", "clp-s", logs, "-o", out), logs, pack, write)
    yield "to_arrow", Work(script("to_arrow", path), path, to_arrow, read)
    yield "to_arrow, 2 columns", Work(script("two_columns", path), path, to_arrow, read)
    yield "export parquet", Work(exhume("export", path, "--to", "parquet", "-o", out), path, to_arrow, read)
    yield _recode("clp-s", path, out)
    yield from _common("clp-s", path, out)


def kv_ir(out: Path, made: dict[str, Path]) -> Iterator[tuple[str, Work]]:
    path, logs = made["kv-ir"], made["logs"]
    read = Floor("kv-ir", "read", path)
    yield "cat", Work(exhume("cat", path), path, None, read)
    yield "verify", Work(exhume("verify", path), path, None, read)
    yield "create", Work(exhume("create", "kv-ir", logs, "-o", out), logs, None, Floor("kv-ir", "write", path))
    rival = rivals.clp_s("clp-s c", "c", "--single-file-archive", out, path)
    yield "create clp-s", Work(exhume("create", "clp-s", path, "-o", out), path, rival, read)
    yield _recode("kv-ir", path, out)


def ark(out: Path, made: dict[str, Path]) -> Iterator[tuple[str, Work]]:
    path, mcap = made["ark"], made["mcap"]
    read = Floor("ark", "read", path)
    copy = rivals.python("mcap copy", "mcap, read and written", "mcap", mcap, out)
    reading = rivals.python("mcap read", "mcap, read", "mcap", mcap)
    yield "cat --raw", Work(exhume("cat", "--raw", path), path, reading, read)
    yield "verify", Work(exhume("verify", path), path, reading, read)
    yield "create", Work(exhume("create", "ark", mcap, "-o", out), mcap, copy)
    yield "create, zstd", Work(exhume("create", "ark", mcap, "--compression", "zstd", "-o", out), mcap, copy)
    yield "export mcap", Work(exhume("export", path, "--to", "mcap", "-o", out), path, copy, read)
    yield from _common("ark", path, out)
    # messages of a type, which are decoded
    typed, lines = made["ark typed"], made["ark lines"]
    read = Floor("ark", "read", typed)
    of_type = [word for number in range(ODOMETRY) for word in ("--type", f"/odometry/{number}=bench::Odometry")]
    encode = exhume("create", "ark", lines, "--schema", typed / IDL_FILE, *of_type, "-o", out)
    yield "typed cat", Work(exhume("cat", typed), typed, None, read)
    yield "typed verify", Work(exhume("verify", typed), typed, None, read)
    yield "typed salvage", Work(exhume("salvage", typed, "-o", out), typed, None, read)
    yield "typed create", Work(encode, lines)
    yield (
        "typed export mcap, JSON",
        Work(exhume("export", typed, "--to", "mcap", "--payload", "json", "-o", out), typed, None, read),
    )
    yield "typed export arrow", Work(exhume("export", typed, "--to", "arrow", "-o", out), typed, None, read)


def caf(out: Path, made: dict[str, Path]) -> Iterator[tuple[str, Work]]:
    path, tree = made["caf"], made["tree"]
    copy = Rival("cp -r", ["cp", "-r", str(tree), str(out)])
    yield "extract", Work(exhume("extract", path, "-o", out), path, copy, Floor("caf", "read", path))
    yield "create", Work(exhume("create", "caf", tree, "-o", out), tree, copy)
    yield "verify", Work(exhume("verify", path), path, None, Floor("caf", "read", path))
    chunks = made["chunks"]
    floor = Floor("caf", "read", chunks)
    yield "catalog build", Work(exhume("catalog", "build", out, chunks), chunks, None, floor)
    yield from _common("caf", path, out)


def databundle(out: Path, made: dict[str, Path]) -> Iterator[tuple[str, Work]]:
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


def leveldb(out: Path, made: dict[str, Path]) -> Iterator[tuple[str, Work]]:
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


# ------------------------------------------------------------------------------------------------------- the inputs


def inputs(folder: Path, size: int) -> dict[str, Path]:
    """What the rows read, by name; made where it is missing."""
    made = make_archives(folder, size)
    made |= {"tree": folder / "tree", "logs": folder / "logs.jsonl"}
    names = {"lines": "lines.txt", "image": "image", "kv-ir": "logs.clp", "mcap": "log.mcap", "zip": "tree.zip"}
    names |= {"ark typed": "typed.ark", "ark lines": "typed.jsonl"}
    names |= {"zs of lines": "lines.zs", "chunks": "chunks", "leveldb": "leveldb", "leveldb of plyvel": "leveldb-copy"}
    for name, file in names.items():
        made[name] = folder / file
        if not made[name].exists():
            part = folder / "part"
            _make(name, part, made, size)
            part.rename(made[name])
    return made


def _make(name: str, path: Path, made: dict[str, Path], size: int) -> None:
    """Makes one input at `path`."""
    match name:
        case "lines":
            make_text(path, size)
        case "zs of lines":
            lines = str(made["lines"])
            subprocess.run([*EXHUME, "create", "zs", "-q", "--codec", "deflate", lines, "-o", str(path)], check=True)
        case "image":
            make_image(path, made, size)
        case "kv-ir":
            subprocess.run([*EXHUME, "create", "kv-ir", "-q", str(made["logs"]), "-o", str(path)], check=True)
        case "mcap":
            subprocess.run([*EXHUME, "export", str(made["ark"]), "--to", "mcap", "-q", "-o", str(path)], check=True)
        case "ark typed":
            make_typed_log(path, size)
        case "ark lines":
            with path.open("wb") as file:
                subprocess.run([*EXHUME, "cat", str(made["ark typed"]), "-j0"], stdout=file, check=True)
        case "zip":
            pack_zip(made["tree"], path)
        case "chunks":
            make_chunks(path)
        case "leveldb":
            path.mkdir()
            text = made["lines"].read_bytes()
            most = len(text) - 150
            pairs = (
                (b"key-%012d" % number, text[at : at + 150])
                for number, at in enumerate(number * 7919 % most for number in range(size // 166))
            )
            write_database(lambda file: (path / file).open("wb"), pairs, codec="snappy")
        case _:
            shutil.copytree(made["leveldb"], path)  # plyvel writes into what it opens


def make_typed_log(folder: Path, size: int) -> None:
    """A log of messages of one type on several channels, 200 bytes each, with its type in a file beside them."""
    from exhume.formats.ark.writer import ArkWriter

    rng = random.Random(5)
    covariances = [[rng.random() for _ in range(18)] for _ in range(64)]
    with ArkWriter(folder) as log:
        writers = [log.channel(f"/odometry/{n}", "bench::Odometry", IDL).write for n in range(ODOMETRY)]
        for number in range(size // 200):
            value: dict[str, Any] = {"sequence": number, "x": number / 4, "y": -number / 2}
            value |= {
                "heading": number % 628 / 100,
                "frame": "map",
                "covariance": covariances[number % len(covariances)],
            }
            writers[number % ODOMETRY](number * 1_000_000, value)
    (folder / IDL_FILE).write_text(IDL)


def make_chunks(folder: Path) -> None:
    """Chunks of many small members."""
    import exhume as library

    folder.mkdir()
    first = folder / "chunk-00.caf"
    with library.create(first, "caf") as writer:
        for number in range(CHUNK_MEMBERS):
            writer.add_bytes(f"dir-{number % 40:02}/object-{number:06}.json", b"%010d" % number)
    for number in range(1, CHUNKS):
        shutil.copy(first, folder / f"chunk-{number:02}.caf")
