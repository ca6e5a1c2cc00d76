"""The project's own bundles, and one file per specification."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from exhume.formats.data_bundle.layout import CONFIG_KEY, build_record_key, file_key
from exhume.formats.data_bundle.messages import BundleConfig, FileMetadata, RecordMetadata, ShardHeader, UserData
from exhume.formats.data_bundle.reader import DataBundleArchive
from exhume.formats.data_bundle.writer import DataBundleWriter
from exhume.formats.leveldb.blocks import build_block
from exhume.formats.leveldb.table_writer import build_log
from exhume.formats.leveldb.wire import InternalKey
from exhume.io.local import LocalTree
from tests.leveldb.crafted import build_batch

MEMBERS = {
    "readme.txt": b"a bundle of small files\n" * 20,
    "data/zeros.bin": bytes(3000),
    "data/mixed.bin": bytes(range(256)) * 9,
    "data/empty": b"",
    "docs/ünï/日本語.txt": "さくら\n".encode() * 40,
}
USER = UserData("type.googleapis.com/google.protobuf.StringValue", b"\x0a\x05hello")


def write_bundle(path: Path, members: Mapping[str, bytes] = MEMBERS, **options: object) -> None:
    """A bundle of some members and an empty directory, records of 1000 bytes."""
    shutil.rmtree(path, ignore_errors=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    settings: dict[str, object] = {"record_size": 1000, "alignment": 64, **options}
    with DataBundleWriter(path, **settings) as writer:  # type: ignore[arg-type]
        writer.add_directory("nothing here")
        for name, data in members.items():
            writer.add(name, data, user_data=USER if name == "readme.txt" else None)


def add_history(path: Path) -> None:
    """Delete a file and replace another through the log, as a database would."""
    with DataBundleArchive(LocalTree(path)) as archive:
        last = archive.database.last_sequence()
    gone, changed = file_key("readme.txt").build(), file_key("data/mixed.bin").build()
    records = [
        build_batch(last + 1, [(0, gone, b"")]),
        build_batch(last + 2, [(1, changed, FileMetadata(1, 0, 0, 0, 0).build())]),
    ]
    (path / "index" / "000003.log").write_bytes(build_log(records))


def _specifications() -> dict[str, bytes]:
    header = ShardHeader(1, 2, 262144, 64, 3)
    return {
        "data_bundle_field": b"\x22\x05hello",
        "data_bundle_config": BundleConfig(block_size=4096, record_size=262144, compression=3).build(),
        "data_bundle_file_metadata": FileMetadata(1, 2, 300, 4000, 0x8A9136AA, USER).build(),
        "data_bundle_any": USER.build(),
        "data_bundle_inline_table": b"\x0a\x07\x0a\x01k\x12\x02vw\x0a\x04\x0a\x02kk",
        "data_bundle_record_metadata": RecordMetadata(2, 262144, 4096).build(),
        "data_bundle_record_metadata-zeros": RecordMetadata(2, 262144, all_zeros=True).build(),
        "data_bundle_shard_header": header.build(),
        "data_bundle_shard": header.build_file_start() + b"stored bytes",
        "data_bundle_key": file_key("docs/a\0b.txt").build(),
        "data_bundle_key-record": build_record_key(3, 1 << 40),
        "data_bundle_key-config": b"\x01",
        "data_bundle_row_key": InternalKey(file_key("docs/a.txt").build(), 7, 1).build(),
        "data_bundle_index_block": _index_block(),
    }


def _index_block() -> bytes:
    """A row of each table, sharing parts of their keys, and a deleted one."""
    rows = [
        (CONFIG_KEY, BundleConfig(block_size=4096, record_size=262144, compression=3).build()),
        *((file_key(f"docs/{n}").build(), FileMetadata(1, 2, 300, 4000, 0x8A9136AA, None).build()) for n in "ab"),
        (file_key("docs/c").build(), b""),
        (build_record_key(2, 262144), RecordMetadata(2, 262144, 4096).build()),
    ]
    entries = ((InternalKey(key, n, int(bool(value))).build(), value) for n, (key, value) in enumerate(rows, 1))
    return build_block(list(entries))


def make(root: Path) -> None:
    """Write bundles with each compression and the samples of the specifications."""
    for name, data in _specifications().items():
        (root / "ksy" / f"{name}.bin").write_bytes(data)
    folder = root / "data_bundle"
    write_bundle(folder / "zlib", shards=2)
    write_bundle(folder / "snappy", compression="snappy")
    write_bundle(folder / "flat", compression="none", alignment=1)
    write_bundle(folder / "none_records", compression="none", raw_packed=False)
