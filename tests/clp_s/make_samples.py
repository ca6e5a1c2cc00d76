"""Writes the project's own clp-s samples: whole archives, and one payload for each schema."""

from __future__ import annotations

import json
from pathlib import Path

from exhume.formats.clp_s.reader import open_archive
from exhume.source import BytesSource
from tests.clp_s import build

ARCHIVES = {
    "demo": (build.demo(), build.DEMO_TEXT),
    "demo-stored": (build.demo(compress=build.stored), build.DEMO_TEXT),
    "old": (build.old(), build.OLD_TEXT),
    "tiny": (build.tiny(), build.TINY_TEXT),
}


def make(root: Path) -> None:
    """Writes below `clp_s/` and `ksy/`."""
    folder, ksy = root / "clp_s", root / "ksy"
    for path in (folder, ksy):
        path.mkdir(parents=True, exist_ok=True)
    for name, (built, text) in ARCHIVES.items():
        (folder / f"{name}.clps").write_bytes(built.build())
        (folder / f"{name}.jsonl").write_bytes(text)

    demo = build.demo()
    payloads, sections = demo.payloads(), demo.sections()
    (ksy / "clp_s.bin").write_bytes(build.demo(compress=build.stored).build())
    (ksy / "clp_s-compressed.bin").write_bytes(demo.build())
    (ksy / "clp_s_metadata.bin").write_bytes(demo.metadata())
    (ksy / "clp_s_schema_tree.bin").write_bytes(payloads["/schema_tree"])
    (ksy / "clp_s_schema_ids.bin").write_bytes(payloads["/schema_ids"])
    (ksy / "clp_s_table_metadata.bin").write_bytes(payloads["/table_metadata"])
    (ksy / "clp_s_dictionary.bin").write_bytes(build.demo(compress=build.stored).sections()["/var.dict"])
    (ksy / "clp_s_dictionary-compressed.bin").write_bytes(sections["/log.dict"])
    (ksy / "clp_s_dictionary_entries.bin").write_bytes(payloads["/log.dict"])
    (ksy / "zstd_frame.bin").write_bytes(sections["/0"])
    with open_archive(BytesSource(demo.build())) as archive:
        (ksy / "clp_s_msgpack.bin").write_bytes(archive.packets[3].body)
        table = archive.tables[0]
        (ksy / "clp_s_table.bin").write_bytes(bytes(table.load().data))
        types = [spec.type for spec in table.layout.columns]
    (ksy / "clp_s_table.args.json").write_text(json.dumps([table.num_messages, types]) + "\n")
