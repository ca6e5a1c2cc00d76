"""Everything that exhume writes: each verb with each format, as words of the command line on small inputs."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from tests.conftest import ROOT

SAMPLES = ROOT / "tests" / "samples"
EXAMPLES = ROOT / "examples"


@dataclass(frozen=True)
class Task:
    """One thing to write: words with `{i}`, the folder of inputs, and `{o}`, the folder to write into.

    `before` prepares the folder.  `tree`: files appear one at a time, each complete in itself, so that some of them are
    a valid outcome too; a killed process leaves the mark that they are not all.  `apart`: the same, without the mark:
    the outputs are not parts of one thing.  `log`: written in
    place, so that a killed process leaves something, which must not verify.
    """

    format: str
    verb: str
    words: str
    tree: bool = False
    apart: bool = False
    log: bool = False
    before: Callable[[Path, Path], None] | None = None

    @property
    def label(self) -> str:
        """What a test or a report calls it."""
        return f"{self.format}: {self.verb} {self.words}"


def make_inputs(folder: Path) -> None:
    """Small inputs, and a valid and a damaged archive of every format."""
    shutil.copytree(EXAMPLES / "files", folder / "files")
    (folder / "numbers").write_text("".join(f"{n:05d} of many\n" for n in range(3000)), encoding="utf-8")
    events = (EXAMPLES / "clp_s" / "events.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "events.jsonl").write_text("".join(events[:40]), encoding="utf-8")
    (folder / "log.jsonl").write_text('{"timestamp": 5, "message": "Task 7 done\\n"}\n' * 5, encoding="utf-8")
    (folder / "pairs.jsonl").write_text('{"a": 1, "b": "two"}\n{"a": {"c": null}}\n' * 5, encoding="utf-8")
    for name in ("robot.idl", "robot.jsonl"):
        shutil.copy(EXAMPLES / "ark" / name, folder)
    shutil.copytree(SAMPLES / "ark/log", folder / "log")
    shutil.copytree(SAMPLES / "data_bundle/zlib", folder / "bundle")
    shutil.copytree(SAMPLES / "data_bundle/none_records", folder / "plain-bundle")
    shutil.copytree(SAMPLES / "leveldb/small", folder / "db")
    shutil.copytree(SAMPLES / "clp_s/directory", folder / "clps-dir")
    for name, sample in {
        "a.caf": "caf/sorted.caf", "a.clps": "clp_s/tiny.clps", "a.clp": "kv_ir/small.clp",
        "a-text.clp": "clp_ir/small.clp",
        "a.zs": "zs/words-deflate.zs",
    }.items():  # fmt: skip
        shutil.copy(SAMPLES / sample, folder / name)
    shutil.copy(ROOT / "tests/toolchain/foreign/foreign_texts.ksy", folder / "texts.ksy")
    _make_damaged(folder)
    image = [(folder / name).read_bytes() for name in ("a.zs", "a.clps", "a.caf")]
    (folder / "image").write_bytes(bytes(512).join(image))


def _make_damaged(folder: Path) -> None:
    for name, keep in (("a.caf", 1.0), ("a.clps", 1.0), ("a.clp", 1.0), ("a-text.clp", 1.0), ("a.zs", 0.8)):
        data = bytearray((folder / name).read_bytes())
        data = data[: int(len(data) * keep)]
        if keep == 1.0:
            data[len(data) * 3 // 5] ^= 0xFF
        (folder / f"bad-{name}").write_bytes(data)
    for name, victim in (("log", "splits/*8"), ("bundle", "shard-*0"), ("db", "*.ldb"), ("clps-dir", "log.dict")):
        shutil.copytree(folder / name, folder / f"bad-{name}")
        file = min((folder / f"bad-{name}").glob(victim))
        data = bytearray(file.read_bytes())
        data[-1] ^= 0xFF
        file.write_bytes(data)


@contextlib.contextmanager
def repeatable() -> Iterator[None]:
    """Identifiers that are counted, not drawn, and a fixed time: then the same words write the same bytes."""
    numbers = itertools.count(1000)
    drawn = (uuid.UUID(int=number | 4 << 76 | 2 << 62) for number in numbers)
    with mock.patch("uuid.uuid4", side_effect=drawn), mock.patch.dict(os.environ, SOURCE_DATE_EPOCH="1700000000"):
        yield


def _old_file(inputs: Path, out: Path) -> None:
    (out / "made").write_bytes(b"what was there before\n")


def _old_files(inputs: Path, out: Path) -> None:
    (out / "made" / "files").mkdir(parents=True)
    (out / "made" / "files" / "README.txt").write_bytes(b"what was there before\n")
    (out / "made" / "other").write_bytes(b"what nobody replaces\n")


def _log(inputs: Path, out: Path) -> None:
    shutil.copytree(inputs / "log", out / "made")


def _bad_log(inputs: Path, out: Path) -> None:
    shutil.copytree(inputs / "bad-log", out / "made")


def _old_catalog(inputs: Path, out: Path) -> None:
    from exhume.formats.caf.catalog import open_catalog
    from exhume.formats.caf.catalog_entries import read_entry

    chunk = str(inputs / "a.caf")
    with open_catalog(str(out / "made"), create=True) as catalog:
        catalog.enter_all([(chunk, read_entry(chunk))], add=False)


TYPES = "--schema {i}/robot.idl --type /robot/pose=demo::Pose --type /robot/battery=demo::Battery"
ZS = "--no-default-metadata --jobs 1"
CLPS = "--creator-id someone --timestamp-key timestamp --jobs 1"

TASKS = [
    *(Task("zs", "create", f"zs {{i}}/numbers -o {{o}}/made {ZS} --codec {codec} --block-size 8K")
      for codec in ("none", "deflate", "lzma")),
    Task("zs", "create", f"zs {{i}}/numbers --sort -o {{o}}/made --overwrite {ZS} --codec deflate", before=_old_file),
    Task("zs", "recode", "{i}/a.zs -o {o}/made --codec lzma"),
    Task("zs", "recode", "{i}/a.zs -o {o}/made --stored"),
    Task("zs", "salvage", "{i}/bad-a.zs -o {o}/made --report {o}/report", apart=True),
    Task("zs", "salvage", "{i}/bad-a.zs -o {o}/made --jsonl"),
    Task("zs", "payload", "{i}/a.zs header -o {o}/made"),
    Task("clp-s", "create", f"clp-s {{i}}/events.jsonl -o {{o}}/made {CLPS}"),
    Task("clp-s", "create", f"clp-s {{i}}/events.jsonl -o {{o}}/made {CLPS} --directory"),
    Task("clp-s", "create", f"clp-s {{i}}/events.jsonl -o {{o}}/made {CLPS} --overwrite", before=_old_file),
    Task("clp-s", "create", f"clp-s {{i}}/events.jsonl -o {{o}}/made {CLPS} --target-encoded-size 1K"),
    Task("clp-s", "create", "clp-s {i}/a.clp -o {o}/made --creator-id someone --jobs 1"),
    Task("clp-s", "recode", "{i}/a.clps -o {o}/made --stored"),
    Task("clp-s", "recode", "{i}/a.clps -o {o}/made --directory"),
    Task("clp-s", "recode", "{i}/clps-dir -o {o}/made --single-file"),
    Task("clp-s", "salvage", "{i}/bad-a.clps -o {o}/made"),
    Task("clp-s", "salvage", "{i}/bad-clps-dir -o {o}/made"),
    Task("clp-s", "salvage", "{i}/bad-a.clps -o {o}/made --jsonl"),
    Task("kv-ir", "create", "kv-ir {i}/pairs.jsonl -o {o}/made"),
    Task("kv-ir", "create", "kv-ir {i}/pairs.jsonl -o {o}/made --codec zstd --overwrite", before=_old_file),
    Task("clp-ir", "create", "clp-ir {i}/log.jsonl -o {o}/made"),
    Task("clp-ir", "create", "clp-ir {i}/log.jsonl -o {o}/made --codec zstd --overwrite", before=_old_file),
    Task("clp-ir", "recode", "{i}/a-text.clp -o {o}/made --stored"),
    Task("clp-ir", "salvage", "{i}/bad-a-text.clp -o {o}/made"),
    Task("clp-ir", "salvage", "{i}/bad-a-text.clp -o {o}/made --jsonl"),
    Task("kv-ir", "recode", "{i}/a.clp -o {o}/made --stored"),
    Task("kv-ir", "salvage", "{i}/bad-a.clp -o {o}/made"),
    Task("kv-ir", "salvage", "{i}/bad-a.clp -o {o}/made --jsonl"),
    Task("ark", "create", "ark {i}/robot.jsonl -o {o}/made --compression lz4 --split-items 12 " + TYPES, log=True),
    Task("ark", "salvage", "{i}/bad-log -o {o}/made"),
    Task("ark", "salvage", "{i}/bad-log -o {o}/made --jsonl"),
    Task("ark", "snippet", "{o}/made", before=_log),
    Task("ark", "snippet", "{i}/log -o {o}/made"),
    # A copy of a split comes before the manifest that names it: it is not a log by itself.
    Task("ark", "repair", "{o}/made", before=_bad_log, apart=True),
    Task("caf", "create", "caf {i}/files -o {o}/made --base-dir {i}"),
    Task("caf", "create", "caf {i}/files -o {o}/made --chunk-size 400 --base-dir {i}"),
    Task("caf", "create", "caf {i}/files -o {o}/made --base-dir {i} --overwrite", before=_old_file),
    Task("caf", "create", "caf {i}/files -o {o}/made --base-dir {i} --catalog {o}/catalog", apart=True),
    Task("caf", "salvage", "{i}/bad-a.caf -o {o}/made"),
    Task("caf", "salvage", "{i}/bad-a.caf -o {o}/made --as-files --unreferenced", tree=True),
    Task("caf", "extract", "{i}/a.caf -o {o}/made", tree=True),
    Task("caf", "extract", "{o}/../in/made.caf -o {o}/made --overwrite", tree=True, before=_old_files),
    Task("caf", "extract", "{i}/a.caf --tar {o}/made"),
    Task("caf", "catalog", "build {o}/made {i}/a.caf"),
    Task("caf", "catalog", "build {o}/made {i}/made.caf --add", before=_old_catalog),
    Task("caf", "catalog", "build {o}/made {i}/made.caf", before=_old_catalog),
    *(Task("databundle", "create", f"databundle {{i}}/files -o {{o}}/made --jobs 1 {more}")
      for more in ("--shards 2 --record-size 64", "--compression snappy", "--compression none")),
    Task("databundle", "recode", "{i}/bundle -o {o}/made --codec snappy"),
    Task("databundle", "salvage", "{i}/bad-bundle -o {o}/made"),
    Task("databundle", "salvage", "{i}/bad-bundle -o {o}/made --as-files --unreferenced", tree=True),
    Task("databundle", "salvage", "{i}/bad-bundle -o {o}/made --jsonl"),
    Task("databundle", "extract", "{i}/bundle -o {o}/made", tree=True),
    Task("databundle", "extract", "{i}/plain-bundle -o {o}/made", tree=True),
    Task("databundle", "extract", "{i}/bundle --tar {o}/made"),
    Task("leveldb", "salvage", "{i}/bad-db -o {o}/made"),
    Task("leveldb", "salvage", "{i}/bad-db -o {o}/made --jsonl"),
    *(Task(format, "export", f"{{i}}/{name} --to {to} -o {{o}}/made")
      for format, name in (("zs", "a.zs"), ("clp-s", "a.clps"), ("kv-ir", "a.clp"), ("clp-ir", "a-text.clp"),
                           ("ark", "log"), ("caf", "a.caf"),
                           ("databundle", "bundle"), ("leveldb", "db"))
      for to in ("jsonl", "arrow", "parquet", "csv") if (format, to) != ("ark", "csv")),
    *(Task(format, "export", f"{{i}}/{name} --to {to} -o {{o}}/made")
      for format, name in (("caf", "a.caf"), ("databundle", "plain-bundle"))
      for to in ("tar", "zip", "fsspec-reference")),
    Task("ark", "export", "{i}/log --to mcap -o {o}/made"),
    Task("ark", "export", "{i}/log --to timesketch --clock-start 2024-01-01T00:00:00Z -o {o}/made"),
    Task("any", "export", "{i}/a.zs {i}/a.caf --to jsonl -o {o}/made", apart=True),
    Task("any", "salvage", "{i}/bad-a.zs {i}/bad-a.caf -o {o}/made", apart=True),
    Task("any", "carve", "{i}/image -o {o}/made", tree=True),
    Task("any", "report", "{i}/image -o {o}/made/case.html --folder {o}/made/case", tree=True, apart=True),
    Task("any", "map", "{i}/a.zs --svg {o}/made"),
    Task("any", "map", "{i}/a.caf --png {o}/made"),
    Task("any", "explain", "{i}/a.zs --html {o}/made"),
    Task("any", "explain", "{i}/a.clps --html {o}/made --overwrite", before=_old_file),
    Task("any", "compile", "{i}/texts.ksy -o {o}/made", tree=True),
]  # fmt: skip
"""Every verb that writes, with every format that it writes something of."""

__all__ = ["TASKS", "Task", "make_inputs", "repeatable"]
