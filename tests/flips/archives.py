"""The archives whose every bit is flipped: one of each format, version and codec; and what each of their bytes is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import exhume
from exhume.engines.explained import explain_section
from exhume.layout.sections import Section
from exhume.testing.damage import Files, target_of
from exhume.testing.selftest import files_of

SAMPLES = Path(__file__).parents[1] / "samples"


class Subject(NamedTuple):
    """An archive: its format, its path below the samples, and whether checksums cover all of its content.

    For a larger one, only one of `share` damages is tried, starting with the first.
    """

    format: str
    path: str
    checksummed: bool = False
    share: int = 1

    def files(self) -> Files:
        """Its files by name, but for those that only RocksDB reads."""
        found = files_of(SAMPLES / self.path)
        return {name: data for name, data in found.items() if not name.startswith(("OPTIONS", "rocksdict"))}


SUBJECTS = {
    "clp-s 0.3.1": Subject("clp-s", "clp_s/written-0.3.1.clps"),
    "clp-s 0.4.1": Subject("clp-s", "clp_s/written-0.4.1.clps"),
    "clp-s 0.5.1": Subject("clp-s", "clp_s/written-0.5.1.clps"),
    "clp-s, stored": Subject("clp-s", "clp_s/demo-stored.clps"),
    "clp-s, directory": Subject("clp-s", "clp_s/directory"),
    "clp-ir": Subject("clp-ir", "clp_ir/small.clp"),
    "clp-ir, zstd with checksum": Subject("clp-ir", "clp_ir/small.clp.zst", checksummed=True),
    "kv-ir": Subject("kv-ir", "kv_ir/small.clp"),
    "kv-ir, zstd": Subject("kv-ir", "flips/no-checksum.clp.zst"),
    "kv-ir, zstd with checksum": Subject("kv-ir", "kv_ir/small.clp.zst", checksummed=True),
    "zs none": Subject("zs", "zs/words-none.zs", checksummed=True),
    "zs deflate": Subject("zs", "zs/words-deflate.zs", checksummed=True),
    "zs lzma": Subject("zs", "zs/words-lzma.zs", checksummed=True),
    "ark none, lz4, zstd, bz2, lzma": Subject("ark", "flips/ark", share=9),
    "caf": Subject("caf", "caf/sorted.caf"),
    "databundle none": Subject("databundle", "flips/databundle-none", checksummed=True),
    "databundle snappy": Subject("databundle", "flips/databundle-snappy", checksummed=True),
    "databundle zlib": Subject("databundle", "flips/databundle-zlib", checksummed=True),
    "leveldb none": Subject("leveldb", "flips/leveldb-none", checksummed=True),
    "leveldb snappy": Subject("leveldb", "flips/leveldb-snappy", checksummed=True),
    "rocksdb zstd": Subject("leveldb", "real/leveldb/rocksdb-tiny/db", checksummed=True),
}
"""What is flipped, by the name that the tables give it."""

_NUMBERS = re.compile(r"[-@ /]?([0-9a-f]{8}-[0-9a-f-]{27}|\d+)\b|\[\d+\]")


def fields(subject: Subject) -> dict[str, list[str]]:
    """The name of the field that each byte of each file belongs to: its section and its path, without numbers."""
    files = subject.files()
    found = {name: ["bytes that nothing describes"] * len(data) for name, data in files.items()}
    with exhume.open(target_of(files), format=subject.format) as archive:
        sections = archive.sections()
        for section in sections:
            names = found[section.span.source] if "" not in files else found[""]
            noun = noun_of(section)
            if section.parent is None:
                names[section.span.start : section.span.end] = [noun] * section.span.size
            stored = explain_section(sections, section, whole=True, payload=False).stored
            for _, field in stored.walk() if stored is not None else ():
                if field.span is not None and field.span.payload is None:
                    start, end = field.span.start, min(field.span.end, section.span.end)
                    path = _NUMBERS.sub("", field.path.removeprefix(section.schema or "").lstrip("."))
                    names[start:end] = [f"{noun}: {path}" if path else noun] * (end - start)
    return found


def noun_of(section: Section) -> str:
    """What a section is called without what tells it from others of its sort."""
    if section.name.startswith("file "):
        return "file"
    return _NUMBERS.sub("", section.name).strip("/ ") or f"{section.kind} {section.codec or ''}".strip()
