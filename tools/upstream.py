"""Writes `ksy/` as the public collection of Kaitai Struct (kaitai_struct_formats) wants it: a folder per category.

    python -m tools.upstream [--out DIR]

Imports of schemas of another category become paths from the collection's root, as everywhere in it, keys that only this
project knows are left out, and `README.md` names the licenses and says which schemas describe what only this project
writes.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from pathlib import Path

from tools import nodejs

CATEGORIES = {
    "serialization": ("ark_rbuf", "ark_serializable_file", "clp_s_msgpack", "data_bundle_any", "data_bundle_field"),
    "archive": ("caf", "clp_s", "data_bundle_", "zs", "zstd_frame"),
    "log": ("ark_", "clp_kv_ir", "clp_ir"),
    "database": ("leveldb_",),
    "common": ("uleb128", "utf8_text"),
}
"""Folders of the collection, and how the names of the schemas in each begin; the first that fits counts."""

OWN = {
    "ark_manifest": "the layout of `query` and `split_declaration` is not published: it is as this project writes it",
    "data_bundle_key": "the bytes of keys are this project's profile of a design that names them without spelling them",
    "data_bundle_row_key": "as `data_bundle_key`",
    "data_bundle_index_block": "as `data_bundle_key`",
    "data_bundle_config": "the number of the field `compression_method` is this project's profile",
}
"""What describes, in part, what only this project writes."""

# Every key of our own but what the collection uses, too: what a specification calls a field, and keys of the Web IDE.
KEYS = re.compile(r"^ *-(?!orig-id|webide-)[a-z-]+: .*\n", re.MULTILINE)
LICENSES = {
    "CC0-1.0": "https://creativecommons.org/publicdomain/zero/1.0/legalcode",
    "MIT": "https://opensource.org/license/mit",
}


def category(name: str) -> str:
    """The folder of a schema."""
    return next(folder for folder, starts in CATEGORIES.items() if name.startswith(starts))


def moved(name: str, text: str) -> str:
    """A schema as its folder needs it."""
    here = category(name)

    def imported(match: re.Match[str]) -> str:
        """Return a line that imports a schema, with a path from the root if that is in another folder."""
        there = category(match[2])
        return match[0] if there == here else f"{match[1]}/{there}/{match[2]}"

    parts = re.split(r"((?<=\n)  imports:\n(?:    - \w+\n)+)", text, maxsplit=1)
    if len(parts) == 3:
        parts[1] = re.sub(r"(    - )(\w+)", imported, parts[1])
    return KEYS.sub("", "".join(parts))


def write(out: Path) -> list[Path]:
    """Write the folder, which is emptied first; return the schemas in it."""
    shutil.rmtree(out, ignore_errors=True)
    written = []
    for file in sorted((nodejs.ROOT / "ksy").glob("*.ksy")):
        target = out / category(file.stem) / file.name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(moved(file.stem, file.read_text(encoding="utf-8")), encoding="utf-8")
        written.append(target)
    licenses = sorted({found[1] for file in written if (found := re.search(r"  license: (\S+)", file.read_text()))})
    lines = ["# Schemas for the public collection", "", "Licenses, as each schema says: "]
    lines[-1] += ", ".join(f"[{one}]({LICENSES[one]})" for one in licenses) + "."
    lines += ["", "What describes, in part, what only one project writes:", ""]
    lines += [f"- `{category(name)}/{name}.ksy`: {why}" for name, why in OWN.items()]
    (out / "README.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return written


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(description="Write the schemas as the public collection of Kaitai wants them.")
    parser.add_argument("--out", type=Path, default=nodejs.ROOT / "build" / "upstream")
    options = parser.parse_args(argv)
    print(f"{len(write(options.out))} schemas in {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
