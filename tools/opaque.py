"""How many bytes of the samples no specification gives a meaning, by format, whole files and stored archives alike.

    python -m tools.opaque [--write]

Every byte of a file is told by the innermost field that reaches it when all instances are asked for, as in the Web IDE.
It is opaque when that field is plain bytes; numbers, text, magics, checksums and padding are not.  Compressed bytes
and the contents of members are opaque by nature, which is why archives are counted stored as well.  `--write` puts the
table into `docs/spec-driven.md`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from exhume.engines.recode import recode
from exhume.errors import ExhumeError, Span
from exhume.schema import Explainer, Field
from tools import blocks, nodejs

SAMPLES = nodejs.ROOT / "tests" / "samples"
FILES = {
    "clp-s": (("clp_s", "clp_s/*.clps"),),
    "ZS": (("zs", "zs/*.zs"),),
    "Ark": (("ark_serializable_file", "ark/*/manifests/*"), ("ark_split", "ark/*/splits/*")),
    "CAF": (("caf", "caf/*.caf"),),
    "DataBundle": (("data_bundle_shard", "data_bundle/*/shard-*"),),
    "LevelDB": (
        ("leveldb_table", "leveldb/*/*.ldb"),
        ("leveldb_log", "leveldb/*/*.log"),
        ("leveldb_manifest", "leveldb/*/MANIFEST-*"),
    ),
}
"""The specification of each kind of whole file, and the samples that it describes."""

STORED = ("clp-s", "ZS")
"""Formats whose archives are one file that can be stored."""


def opaque(schema: str, data: bytes) -> int:
    """How many bytes of a file nothing but plain bytes, or nothing at all, describes."""
    tree = Explainer(Span(schema, 0, len(data)), whole=True).explain(schema, data)
    told = bytearray(len(data))
    for parent, field in _leaves(tree):
        if field.span is not None and (_says_something(field) or _is_spelled(parent, field)):
            told[field.span.start : field.span.end] = b"\1" * field.span.size
    return told.count(0)


def _leaves(tree: Field) -> Iterator[tuple[Field, Field]]:
    for _, parent in tree.walk():
        for field in parent.children:
            if not field.children:
                yield parent, field


def _is_spelled(parent: Field, field: Field) -> bool:
    """Whether a value beside the bytes is the text that they spell."""
    texts = [one.value for one in parent.children if one.span is None and isinstance(one.value, str)]
    return any(text.encode("utf-8", "replace") == field.value for text in texts)


def _says_something(field: Field) -> bool:
    if field.type != "bytes":
        return True
    return field.checksum != "" or "padding" in field.name or "reserved" in field.name or field.name == "magic"


def measure() -> dict[str, tuple[int, int]]:
    """Opaque and all bytes by row of the table."""
    found: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))

    def add(row: str, schema: str, data: bytes) -> None:
        one, all = found[row]
        found[row] = one + opaque(schema, data), all + len(data)

    with tempfile.TemporaryDirectory(prefix="exhume-opaque-") as scratch:
        for format, kinds in FILES.items():
            for schema, glob in kinds:
                for number, file in enumerate(sorted(SAMPLES.glob(glob))):
                    add(format, schema, file.read_bytes())
                    if format in STORED:
                        target = Path(scratch, f"{format}-{number}")
                        try:
                            recode(file, target, stored=True)
                        except ExhumeError:
                            continue
                        add(f"{format}, stored", schema, target.read_bytes())
    return dict(found)


def table(found: dict[str, tuple[int, int]]) -> str:
    """The measure as a table."""
    lines = ["| format | bytes | opaque | share |", "| --- | ---: | ---: | ---: |"]
    lines += [f"| {row} | {all:,} | {one:,} | {one / all:.1%} |" for row, (one, all) in found.items() if all]
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    """Runs the command line; returns the exit status."""
    parser = argparse.ArgumentParser(description="Count the bytes that no specification gives a meaning.")
    parser.add_argument("--write", action="store_true", help="put the table into docs/spec-driven.md")
    options = parser.parse_args(argv)
    text = table(measure())
    print(text)
    if options.write:
        blocks.write_block("spec-driven.md", "opaque", text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
