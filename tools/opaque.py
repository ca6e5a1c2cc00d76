"""Bytes of the samples that no specification explains, by format, for whole files and for stored archives.

    python -m tools.opaque [--write]

Every byte of a file belongs to the innermost field that reaches it when all instances are read, as in the Web IDE.
It is opaque when that field is plain bytes; numbers, text, magics, checksums and padding are not.  Compressed bytes
and the contents of members are opaque by nature, which is why archives are counted stored as well.  What is opaque is
listed field by field, each with its reason; a field without one is an error.  `--write` puts the tables into
`docs/spec-driven.md`.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from exhume.engines.recode import recode
from exhume.errors import ExhumeError, Span
from exhume.layout.schema import Explainer
from exhume.layout.trees import Field
from exhume.tuples import NamedTuple
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


REASONS = {
    "ark_split": "space that writers reserve before the index and in it; the end of the header is not stated",
    "ark_split.index[].data": "messages, of the types that the manifest declares",
    "caf.data": "the contents of the members; their positions are in the JSON of the index",
    "clp_s.files": "compressed; only the compressed metadata describes their content",
    "clp_s.metadata.frames[].body.blocks[].content.data": "compressed",
    "clp_s.sections[].body.streams[].compressed.frames[].body.blocks[].content.data": "truth values, a byte each",
    "data_bundle_shard.records": "the contents of the members, compressed; where a record ends is in the index",
    "leveldb_log.blocks[].fragments[].data.bytes": "keys and values of the user, and pieces of records",
    "leveldb_manifest.blocks[].fragments[].data.bytes": "keys of the user, and pieces of records",
    "leveldb_table": "blocks that only a compressed index names",
    "leveldb_table.data_blocks[].block.contents": "keys and values of the user, or compressed",
    "leveldb_table.index.contents": "keys of the user, or compressed",
    "leveldb_table.meta_blocks[].block.contents": "bits of filters",
    "leveldb_table.metaindex.contents": "compressed",
    "zs.blocks[].body.payload": "records and keys, which are any bytes, or compressed",
    "zs.header.extensions": "reserved for additions that do not exist yet",
}
"""Why a field, or what no field reaches, is left as bytes."""


def opaque(schema: str, data: bytes) -> Counter[str]:
    """The bytes of a file that only plain bytes describe, by field; those that nothing describes, by specification."""
    tree = Explainer(Span(schema, 0, len(data)), whole=True).explain(schema, data)
    reported = bytearray(len(data))
    plain = []
    for parent, field in _leaves(tree):
        if field.span is not None:
            if _says_something(field) or _is_spelled(parent, field):
                reported[field.span.start : field.span.end] = b"\1" * field.span.size
            else:
                plain.append((re.sub(r"\[\d+\]", "[]", field.path), field.span))
    found: Counter[str] = Counter()
    for path, span in plain:
        found[path] += reported[span.start : span.end].count(0)
        reported[span.start : span.end] = b"\1" * span.size
    found[schema] += reported.count(0)
    return +found


def _leaves(tree: Field) -> Iterator[tuple[Field, Field]]:
    """Yield each field without parts, after its parent."""
    for _, parent in tree.walk():
        for field in parent.children:
            if not field.children:
                yield parent, field


def _is_spelled(parent: Field, field: Field) -> bool:
    """Whether a sibling value is the text that the bytes spell."""
    texts = [one.value for one in parent.children if one.span is None and isinstance(one.value, str)]
    return any(text.encode("utf-8", "replace") == field.value for text in texts)


def _says_something(field: Field) -> bool:
    """Return whether a field is more than plain bytes, by its type or its name."""
    if field.type != "bytes":
        return True
    return field.checksum != "" or "padding" in field.name or "reserved" in field.name or field.name == "magic"


class Row(NamedTuple):
    """What a row of the table counts: opaque bytes by field, and all bytes."""

    fields: Counter[str]
    total: int


def measure() -> dict[str, Row]:
    """Return the rows of the table by their names."""
    found: dict[str, Row] = defaultdict(lambda: Row(Counter(), 0))

    def add(name: str, schema: str, data: bytes) -> None:
        """Add the opaque bytes and all bytes of a structure to a row of the table."""
        before = found[name]
        found[name] = Row(before.fields + opaque(schema, data), before.total + len(data))

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


def table(found: dict[str, Row]) -> str:
    """The measure as a table, and what is opaque as another."""
    lines = ["| format | bytes | opaque | share |", "| --- | ---: | ---: | ---: |"]
    for name, row in found.items():
        if row.total:
            opaque_bytes = row.fields.total()
            lines.append(f"| {name} | {row.total:,} | {opaque_bytes:,} | {opaque_bytes / row.total:.1%} |")
    lines += ["", "| what is opaque | bytes | stored | why |", "| --- | ---: | ---: | --- |"]
    plain, stored = (
        sum((row.fields for name, row in found.items() if name.endswith(", stored") is is_stored), Counter[str]())
        for is_stored in (False, True)
    )
    for path in sorted(plain | stored):
        lines.append(f"| `{path}` | {plain[path]:,} | {stored[path]:,} | {REASONS.get(path, 'unknown')} |")
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(description="Count the bytes that no specification gives a meaning.")
    parser.add_argument("--write", action="store_true", help="put the table into docs/spec-driven.md")
    options = parser.parse_args(argv)
    found = measure()
    text = table(found)
    print(text)
    if options.write:
        blocks.write_block("spec-driven.md", "opaque", text)
    return 1 if any(path not in REASONS for row in found.values() for path in row.fields) else 0


if __name__ == "__main__":
    sys.exit(main())
