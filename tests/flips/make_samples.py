"""Makes the archives whose every bit is flipped and that no other sample is small enough for."""

from __future__ import annotations

import shutil
from pathlib import Path

from exhume.formats.ark.rbuf.idl import parse_idl
from exhume.formats.ark.writer import ArkWriter, Compression
from tests.ark.logs import CODECS, counted_guids
from tests.data_bundle.make_samples import write_bundle
from tests.kv_ir.streams import SMALL, wrapped
from tests.leveldb.make_samples import build_database, write_files

SCHEMA = "namespace a; schema P { uint16 n; string s; }"
MEMBERS = {"a/one.txt": b"one small file\n" * 12, "a/two": bytes(range(64)), "zeros": bytes(300), "none": b""}


def make(root: Path) -> None:
    """Write `flips/`."""
    folder = root / "flips"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "no-checksum.clp.zst").write_bytes(wrapped(SMALL))
    write_log(folder / "ark")
    for codec in ("none", "snappy", "zlib"):
        write_bundle(folder / f"databundle-{codec}", MEMBERS, record_size=128, alignment=16, compression=codec)
    for codec in ("none", "snappy"):
        write_files(folder / f"leveldb-{codec}", _live(codec))


def write_log(root: Path, codecs: tuple[Compression, ...] = CODECS) -> None:
    """A log with a column for each codec, and two messages in each."""
    with ArkWriter(root, name="a", metadata={"k": "v"}, split_items=2, guids=counted_guids()) as log:
        channels = []
        for codec in codecs:
            log.column(codec, codec)
            channels.append(log.channel(f"/{codec}", "a::P", parse_idl(SCHEMA), column=codec))
        for number in range(2):
            for channel in channels:
                channel.write(1_000 + number, {"n": number, "s": "some text, some text"})


def _live(codec: str) -> dict[str, bytes]:
    """The files of a database without what it no longer uses."""
    return {name: data for name, data in build_database(codec=codec).items() if name != "000003.log"}
