"""Archives with one file taken from the input, on which the verbs of the command line run."""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from exhume.cli.main import CarriedError, main
from tests.conftest import ROOT

SAMPLES = ROOT / "tests" / "samples"
SLOTS: tuple[tuple[str, str, str], ...] = (
    ("", "", ""),
    ("zs", "", ""), ("caf", "", ""), ("clp-s", "", ""), ("kv-ir", "", ""),
    ("ark", "ark/log", "manifests/00000000-0000-4000-8000-000000000001"),
    ("ark", "ark/log", "splits/00000000-0000-4000-8000-000000000007"),
    ("ark", "ark/amended", "manifests/00000000-0000-4000-8000-0000006acfc1"),
    *(("clp-s", "clp_s/directory", name) for name in
      ("header", "0", "array.dict", "log.dict", "var.dict", "schema_ids", "schema_tree", "table_metadata")),
    *(("leveldb", "leveldb/small", name) for name in ("000005.ldb", "000006.log", "MANIFEST-000004", "CURRENT")),
    *(("databundle", "data_bundle/zlib", name) for name in
      ("index/000004.sst", "index/000003.log", "index/MANIFEST-000002", "shard-00000001")),
    ("databundle", "data_bundle/flat", "shard-00000000"),
    ("databundle", "data_bundle/none_records", "shard-00000000"),
    ("databundle", "data_bundle/snappy", "shard-00000000"),
    ("clp-ir", "", ""),
)  # fmt: skip
"""What the first byte of an input chooses: a format, a sample, and the file in it that the input, from its third byte
on, replaces.

Without a sample the input is the archive, and without a format that is to be identified, too.  The second byte is the
target's own.
"""

FILES = {
    "zs": "zs/**/*.zs",
    "caf": "caf/**/*.caf",
    "clp-s": "clp_s/*.clps",
    "kv-ir": "kv_ir/*.clp*",
    "clp-ir": "clp_ir/*.clp*",
}
"""Samples of the formats whose archives are one file."""
WHOLE = {
    "zs": b"\1\0", "caf": b"\2\0", "clp_s": b"\3\0", "clp_kv_ir": b"\4\0", "clp_ir": bytes((len(SLOTS) - 1, 0)),
}  # fmt: skip
"""Specifications of whole archives that are one file, and the bytes that choose them."""


class Folder:
    """A folder of its own with a copy of each sample; `given` returns the archive that an input stands for."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.out = place / "a" / "b" / "out"
        self.out.parent.mkdir(parents=True)
        for sample in {sample for _, sample, _ in SLOTS if sample}:
            shutil.copytree(SAMPLES / sample, self.place / sample)
        os.chdir(self.out.parent)

    def with_archive(self, data: bytes, work: Callable[[Path, str], object]) -> None:
        """Does something with the archive that an input stands for, and its format ("" where that is not given).

        Raises `AssertionError` if something is written outside the folder `out`, which is removed.
        """
        format, sample, name = SLOTS[data[0] % len(SLOTS)] if data else SLOTS[0]
        archive = self.place / (sample or "input")
        file = archive / name
        before = file.read_bytes() if sample else b""
        file.write_bytes(data[2:])
        extra = self._there()
        self.out.mkdir()
        try:
            work(archive, format)
            if (found := self._there()) != extra:
                raise AssertionError(f"written outside the target: {sorted(found ^ extra)}")
        finally:
            file.write_bytes(before)
            shutil.rmtree(self.out)

    def _there(self) -> set[Path]:
        """The files where a name with `..` would lead."""
        return {path for folder in (self.place, self.place / "a", self.out.parent) for path in folder.iterdir()} - {
            self.out
        }


def seeds() -> Iterator[bytes]:
    """Each sample as an input."""
    variant = 0
    for number, (format, sample, name) in enumerate(SLOTS):
        found = [SAMPLES / sample / name] if sample else sorted(SAMPLES.glob(FILES[format])) if format else []
        for file in found:
            yield bytes([number, variant := variant + 1 & 7]) + file.read_bytes()


def command(words: list[str], data: bytes = b"") -> bool:
    """Run a command line, whose output is thrown away; return whether it was one.

    Raises what `exhume` turns into one line and an exit code.
    """
    streams = sys.stdin, sys.stdout, sys.stderr
    sys.stdin = io.TextIOWrapper(io.BytesIO(data), "utf-8")
    sys.stdout, sys.stderr = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    sys.stderr.reconfigure(errors="backslashreplace")
    try:
        main.main(args=words, prog_name="exhume", standalone_mode=False)
    except CarriedError as ended:
        raise ended.error from None
    except click.ClickException as error:
        error.show()
        return False
    finally:
        sys.stdin, sys.stdout, sys.stderr = streams
    return True


def verb(*variants: str) -> Callable[[Path], Callable[[bytes], None]]:
    """A target that runs one of several command lines, which the second byte chooses, on the archive of an input.

    `{i}` is the archive, `{o}` something that is not there yet, `{s}` the folder of samples.
    """

    def make(place: Path) -> Callable[[bytes], None]:
        folder = Folder(place)

        def run(data: bytes) -> None:
            words = variants[data[1] % len(variants) if len(data) > 1 else 0].split()

            def work(archive: Path, format: str) -> None:
                line = [word.format(i=archive, o=folder.out / "made", s=SAMPLES) for word in words]
                command([*line, "--format", format] if format else line)

            folder.with_archive(data, work)

        return run

    return make
