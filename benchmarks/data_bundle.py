"""DataBundle against zip, tar+zstd and squashfs; the LevelDB reader against dfindexeddb, ccl_leveldb and plyvel.

    python benchmarks/data_bundle.py [--scale F] [--repeat N] [--dir DIR] [--entries N] [--json FILE]

20,000 files of 4 KB, 200 of 1 MB and one of 64 MB (each times F) of text that deflates about 3:1.  Each figure is the
median of N runs; CPU is user + system of this process and its children.  Rivals that are not installed are named and
left out: squashfs needs `mksquashfs` and PySquashfsImage, the LevelDB part plyvel (it makes the database).
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
import types
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

import zstandard

import exhume
from exhume.codecs import decompress
from exhume.engines.extract import extract
from exhume.formats.data_bundle.inputs import add_inputs
from exhume.formats.data_bundle.reader import DataBundleArchive
from exhume.formats.data_bundle.writer import DataBundleWriter
from exhume.formats.leveldb.database import Database
from exhume.io.local import LocalTree
from exhume.io.output.tree import OutputTree

TARGETS = {
    "range read / zipfile": 0.2,
    "create wall, jobs=2 / jobs=1": 0.6,
    "extract CPU / zipfile": 1.0,
    "LevelDB scan, times dfindexeddb": 5.0,
}


class Clock:
    """Wall and CPU seconds of a block."""

    def __enter__(self) -> Self:
        self._wall, self._cpu = time.perf_counter(), sum(os.times()[:4])
        return self

    def __exit__(self, *exc: object) -> None:
        self.wall, self.cpu = time.perf_counter() - self._wall, sum(os.times()[:4]) - self._cpu


def median(repeat: int, work: Callable[[], Any], before: Callable[[], Any] = lambda: None) -> tuple[float, float]:
    """`(wall, CPU)` medians of `repeat` runs."""
    walls, cpus = [], []
    for _ in range(repeat):
        before()
        with Clock() as clock:
            work()
        walls.append(clock.wall)
        cpus.append(clock.cpu)
    return statistics.median(walls), statistics.median(cpus)


def make_text(rng: random.Random, words: list[bytes], size: int) -> bytes:
    """Text of frequent and rare words and numbers."""
    out = bytearray()
    while len(out) < size:
        out += b" ".join(rng.choices(words, k=40)) + b" %d\n" % rng.randrange(10**9)
    return bytes(out[:size])


def make_tree(folder: Path, count: int, size: int) -> None:
    """`count` files of `size` bytes in directories of 100."""
    rng = random.Random(count)
    words = [bytes(rng.choices(b"etaoinshrdlu", k=rng.randint(2, 9))) for _ in range(4000)]
    pool = make_text(rng, words, 8 << 20)
    for number in range(count):
        path = folder / f"{number // 100:03d}" / f"{number:05d}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        start = rng.randrange(len(pool) - min(size, 4 << 20))
        data = pool[start : start + size]
        while len(data) < size:
            data += make_text(rng, words, 65536) + pool[: 4 << 20]
        path.write_bytes(data[:size])


def pack_bundle(tree: Path, out: Path, jobs: int) -> None:
    with DataBundleWriter(out, jobs=jobs, shards=2) as writer:
        add_inputs(writer, [str(tree)])


def pack_zip(tree: Path, out: Path) -> None:
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(tree.rglob("*")):
            archive.write(path, path.relative_to(tree).as_posix())


def pack_tar(tree: Path, out: Path) -> None:
    compressor = zstandard.ZstdCompressor(level=3)
    with (
        out.open("wb") as file,
        compressor.stream_writer(file) as stream,
        tarfile.open(fileobj=stream, mode="w|") as tar,
    ):
        tar.add(tree, ".")


def extract_bundle(bundle: Path, out: Path) -> None:
    with exhume.open(bundle) as archive, OutputTree(out) as tree:
        assert isinstance(archive, DataBundleArchive)
        assert extract(archive, tree).ok


def extract_zip(file: Path, out: Path) -> None:
    with zipfile.ZipFile(file) as archive:
        archive.extractall(out)


def extract_tar(file: Path, out: Path) -> None:
    with (
        file.open("rb") as raw,
        zstandard.ZstdDecompressor().stream_reader(raw) as stream,
        tarfile.open(fileobj=stream, mode="r|") as tar,
    ):
        tar.extractall(out, filter="data")


def dropper(path: Path) -> Callable[[], None]:
    return functools.partial(shutil.rmtree, path, ignore_errors=True)


def into(unpack: Callable[[Path, Path], None], file: Path, work: Path) -> Callable[[], None]:
    """Unpack into a fresh directory each time, never into one that was just removed."""
    return lambda: unpack(file, Path(tempfile.mkdtemp(prefix="out", dir=work)))


def per_read(reads: list[tuple[str, int, int]], read: Callable[[str, int, int], bytes]) -> float:
    """Median microseconds of a read."""
    spent = []
    for name, start, stop in reads:
        begin = time.perf_counter()
        read(name, start, stop)
        spent.append(time.perf_counter() - begin)
    return statistics.median(spent) * 1e6


def zip_range(archive: zipfile.ZipFile) -> Callable[[str, int, int], bytes]:
    def read(name: str, start: int, stop: int) -> bytes:
        with archive.open(name) as file:
            file.seek(start)
            return file.read(stop - start)

    return read


def bench_archives(work: Path, scale: float, repeat: int, results: dict[str, Any]) -> None:
    sets = {
        "small": (int(20_000 * scale), 4096),
        "large": (max(1, int(200 * scale)), 1 << 20),
        "huge": (1, int((64 << 20) * scale)),
    }
    for label, (count, size) in sets.items():
        tree, bundle, zipped, tarred = (work / f"{label}{end}" for end in ("", ".bundle", ".zip", ".tar.zst"))
        make_tree(tree, count, size)
        row: dict[str, Any] = {"files": count, "size": size}
        for jobs in (1, 2):
            row[f"create jobs={jobs}"] = median(
                repeat, functools.partial(pack_bundle, tree, bundle, jobs), dropper(bundle)
            )
        row["create zipfile"] = median(1, functools.partial(pack_zip, tree, zipped))
        row["create tar+zstd"] = median(1, functools.partial(pack_tar, tree, tarred))
        row["stored"] = {
            "bundle": sum(f.stat().st_size for f in bundle.rglob("*") if f.is_file()),
            "zip": zipped.stat().st_size,
            "tar+zstd": tarred.stat().st_size,
        }
        row["extract"] = median(repeat, into(extract_bundle, bundle, work))
        row["extract zipfile"] = median(repeat, into(extract_zip, zipped, work))
        row["extract tar+zstd"] = median(repeat, into(extract_tar, tarred, work))
        for out in work.glob("out*"):
            shutil.rmtree(out)
        names = [p.relative_to(tree).as_posix() for p in sorted(tree.rglob("*.txt"))]
        rng = random.Random(5)
        members = [(rng.choice(names), 0, size) for _ in range(300 if size <= 4096 else 30)]
        starts = [(rng.choice(names), rng.randrange(max(1, size - 4096))) for _ in range(200 if size < 1 << 22 else 30)]
        ranges = [(name, start, start + 4096) for name, start in starts]
        with DataBundleArchive(LocalTree(bundle)) as archive, zipfile.ZipFile(zipped) as other:
            row["member us"] = per_read(members, archive.read_member)
            row["member us zipfile"] = per_read(members, zip_range(other))
            row["range us"] = per_read(ranges, archive.read_member)
            row["range us zipfile"] = per_read(ranges, zip_range(other))
        bench_squashfs(work, tree, members, ranges, row)
        results[label] = row
        print_archive(label, row)


def bench_squashfs(work: Path, tree: Path, members: Any, ranges: Any, row: dict[str, Any]) -> None:
    if shutil.which("mksquashfs") is None or importlib.util.find_spec("PySquashfsImage") is None:
        row["squashfs"] = "not installed"
        return
    from PySquashfsImage import SquashFsImage  # type: ignore[import-not-found]

    image = work / f"{tree.name}.squashfs"
    command = ["mksquashfs", str(tree), str(image), "-noappend", "-quiet", "-no-progress", "-comp", "gzip"]
    row["create squashfs"] = median(1, lambda: subprocess.run(command, check=True))
    with SquashFsImage.from_file(str(image)) as opened:

        def read(name: str, start: int, stop: int) -> bytes:
            data: bytes = opened.find(name.rpartition("/")[2]).read_bytes()
            return data[start:stop]

        row["member us squashfs"] = per_read(members[:20], read)
        row["range us squashfs"] = per_read(ranges[:20], read)


def print_archive(label: str, row: dict[str, Any]) -> None:
    print(f"\n{label}: {row['files']} x {row['size']:,} bytes; stored {row['stored']}")
    for name, value in row.items():
        if isinstance(value, tuple):
            print(f"  {name:20} wall {value[0]:8.3f} s   CPU {value[1]:8.3f} s")
        elif isinstance(value, float):
            print(f"  {name:20} {value:10.1f}")
    print(f"  create wall, jobs=2 / jobs=1   {row['create jobs=2'][0] / row['create jobs=1'][0]:.2f}")
    print(f"  extract CPU / zipfile          {row['extract'][1] / row['extract zipfile'][1]:.2f}")
    print(f"  range read / zipfile           {row['range us'] / row['range us zipfile']:.3f}")
    if row.get("squashfs"):
        print(f"  squashfs: {row['squashfs']}")


def bench_leveldb(work: Path, entries: int, repeat: int, results: dict[str, Any]) -> None:
    if importlib.util.find_spec("plyvel") is None:
        print("\nLevelDB: plyvel is not installed, so there is no database to read")
        return
    import plyvel

    path = work / "leveldb"
    rng = random.Random(3)
    with plyvel.DB(str(path), create_if_missing=True, write_buffer_size=64 << 20) as database:
        batch = database.write_batch()
        for number in range(entries):
            batch.put(b"key-%09d" % rng.randrange(entries * 2), b"value %d of something that is a bit longer" % number)
            if number % 1000 == 999:
                batch.write()
                batch.clear()
        batch.write()
        database.compact_range()
    row: dict[str, Any] = {"entries": sum(1 for _ in Database(LocalTree(path)).versions())}

    def count(items: Iterator[Any]) -> None:
        assert sum(1 for _ in items) > 0

    row["versions"] = median(repeat, lambda: count(Database(LocalTree(path)).versions()))
    row["live rows"] = median(repeat, lambda: count(Database(LocalTree(path)).scan()))
    record = _dfindexeddb()
    if record is not None:
        row["dfindexeddb"] = median(1, lambda: count(record.FolderReader(path).GetRecords()))
    if importlib.util.find_spec("ccl_leveldb") is not None:
        import ccl_leveldb  # type: ignore[import-not-found]

        row["ccl_leveldb"] = median(1, lambda: count(ccl_leveldb.RawLevelDb(path).iterate_records_raw()))
    copy = work / "leveldb-copy"
    shutil.copytree(path, copy)
    with plyvel.DB(str(copy)) as database:
        row["plyvel"] = median(repeat, lambda: count(iter(database)))
    results["leveldb"] = row
    print(f"\nLevelDB: {row['entries']:,} entries")
    for name, value in row.items():
        if isinstance(value, tuple):
            rate = row["entries"] / max(value[1], 1e-9)
            print(f"  {name:12} wall {value[0]:7.3f} s   CPU {value[1]:7.3f} s   {rate:12,.0f} entries per CPU second")
    for rival in ("dfindexeddb", "ccl_leveldb", "plyvel"):
        if rival in row:
            print(f"  versions: {row[rival][1] / row['versions'][1]:.2f} times as fast as {rival} (CPU)")
        else:
            print(f"  {rival} is not installed")


def _dfindexeddb() -> Any:
    if importlib.util.find_spec("dfindexeddb") is None:
        return None
    for name in ("snappy", "zstd"):  # bindings that build on few machines; the same work through ours
        if importlib.util.find_spec(name) is None:
            shim = types.ModuleType(name)
            shim.decompress = functools.partial(decompress, name, max_size=1 << 30)  # type: ignore[attr-defined]
            sys.modules[name] = shim
    return importlib.import_module("dfindexeddb.leveldb.record")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--dir", type=Path, help="where to work (default: a temporary directory)")
    parser.add_argument("--json", type=Path, help="also write the figures there")
    parser.add_argument("--only", choices=["archives", "leveldb"])
    options = parser.parse_args()
    results: dict[str, Any] = {"targets": TARGETS}
    with tempfile.TemporaryDirectory(dir=options.dir) as scratch:
        if options.only != "leveldb":
            bench_archives(Path(scratch), options.scale, options.repeat, results)
        if options.only != "archives":
            bench_leveldb(Path(scratch), options.entries, options.repeat, results)
    print(f"\ntargets: {TARGETS}")
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
