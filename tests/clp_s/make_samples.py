"""Writes the project's own clp-s samples: whole archives, and one payload for each schema."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from exhume.formats.clp_s.reader import open_archive
from exhume.formats.clp_s.writer import create
from exhume.io.local import FileSource
from exhume.io.source import BytesSource
from tests.clp_s import build

WRITTEN = {"0.3.1": "written-0.3.1", "0.4.1": "written-0.4.1", "0.5.1": "written-0.5.1"}
"""Names of the archives that our own writer makes, by format version."""

RECORDS = [
    b'{"ts":"2024-03-01T12:00:00.5Z","level":"INFO","msg":"took 12.50 ms for job-7","n":1,"ok":true,"tags":["a",2]}',
    b'{"ts":"2024-03-01T12:00:01Z","level":"ERROR","msg":"took 3 ms for job-8","n":-9007199254740993,"o":{"e":{}}}',
    b'{"ts":"2024-03-01T12:00:02Z","level":"INFO","f":2.25,"none":null,"text":"quote \\" and \xc3\xa9","empty":""}',
]
"""Their content."""

ARCHIVES = {
    "demo": (build.demo(), build.DEMO_TEXT),
    "demo-stored": (build.demo(compress=build.stored), build.DEMO_TEXT),
    "old": (build.old(), build.OLD_TEXT),
    "tiny": (build.tiny(), build.TINY_TEXT),
}


def make(root: Path) -> None:
    """Write below `clp_s/` and `ksy/`."""
    folder, ksy = root / "clp_s", root / "ksy"
    for path in (folder, ksy):
        path.mkdir(parents=True, exist_ok=True)
    for name, (built, text) in ARCHIVES.items():
        (folder / f"{name}.clps").write_bytes(built.build())
        (folder / f"{name}.jsonl").write_bytes(text)
    for version, name in WRITTEN.items():
        target = folder / f"{name}.clps"
        properties = {"team": "core", "rack": {"row": 4}}
        with create(
            target,
            version=version,
            timestamp_key="ts",
            creator_id="exhume-sample",
            overwrite=True,
            properties=properties,
        ) as writer:
            writer.unit("first.jsonl")
            for line in RECORDS[:2]:
                writer.write_json_line(line)
            writer.unit("second.jsonl", {"topic": "audit"})
            writer.write_json_line(RECORDS[2])
        with open_archive(FileSource(target)) as written:
            (folder / f"{name}.jsonl").write_bytes(b"".join(written.json_chunks()))
    directory = folder / "directory"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    for name, data in build.directory((folder / "written-0.5.1.clps").read_bytes()).items():
        (directory / name).write_bytes(data)
    shutil.copyfile(folder / "written-0.5.1.jsonl", folder / "directory.jsonl")

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
