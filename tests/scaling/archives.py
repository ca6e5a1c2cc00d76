"""Archives with many of one thing, for the counts of `growth` that no other maker has."""

from __future__ import annotations

import contextlib
import io
import json
import struct
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import exhume
from exhume.cli.main import invoke
from exhume.formats.ark.rbuf.idl import parse_idl
from exhume.formats.ark.writer import ArkWriter
from exhume.formats.leveldb.table_writer import build_log
from tests.leveldb.make_samples import PUT, build_database, build_table, edit, write_files

IDL = """namespace n; schema S { uint32 a; string b; }
"""


def puts(path: Path, count: int) -> None:
    """A LevelDB database whose log has a record for each put."""
    records = [
        struct.pack("<QIBB", number + 1, 1, 1, 9) + b"k%08d" % number + b"\x06" + b"v%05d" % (number % 100_000)
        for number in range(count)
    ]
    manifest = build_log([edit(log=3, last=0, following=4, tables=[])])
    files = {"CURRENT": b"MANIFEST-000002\n", "MANIFEST-000002": manifest, "000003.log": build_log(records)}
    write_files(path, files)


def tables(path: Path, count: int) -> None:
    """A LevelDB database with many tables of level 0, whose ranges of keys overlap."""
    files = {"CURRENT": b"MANIFEST-000004\n"}
    edits = [edit(log=2, last=0, following=3, tables=[])]
    for number in range(count):
        keys = [(b"k%08d" % (number + count * place), number * 4 + place + 1, PUT, b"value") for place in range(4)]
        data, writer = build_table(keys)
        made = (0, number + 10, len(data), writer.smallest, writer.largest)
        files[f"{made[1]:06}.ldb"] = data
        edits.append(edit(log=6, last=count * 5, following=count + 20, tables=[made]))
    write_files(path, files | {"MANIFEST-000004": build_log(edits)})


def rows(path: Path, count: int) -> None:
    """A LevelDB database with a table of many rows."""
    write_files(path, build_database([(b"k%08d" % number, number + 1, 1, b"value") for number in range(count)]))


def _log(path: Path, channels: int, messages: int, **options: Any) -> None:
    registry = parse_idl(IDL)
    with ArkWriter(path, **options) as log:
        made = []
        for number in range(channels):
            if number % 200 == 0:  # a split has at most 256 objects
                log.column(f"column{number // 200}")
            made.append(log.channel(f"/c{number}", "n::S", registry, column=f"column{number // 200}"))
        for number in range(messages):
            for place, channel in enumerate(made):
                channel.write(number * channels + place, {"a": number, "b": "text"})


def channels(path: Path, count: int) -> None:
    """An Ark log with many channels, each with two messages."""
    _log(path, count, 2)


def messages(path: Path, count: int) -> None:
    """An Ark log with one channel of many messages."""
    _log(path, 1, count)


def splits(path: Path, count: int) -> None:
    """An Ark log with a split for every five messages."""
    _log(path, 1, count * 5, split_items=5)


def nested_keys(path: Path, count: int) -> None:
    """A KV-IR stream with two events, in which each key is an object that only has the next one."""
    value: Any = 1
    for number in range(count):
        value = {f"k{number}": value}
    with exhume.create(path, "kv-ir") as writer:
        events: Any = writer
        for _ in range(2):
            events.write(value)


def damaged_blocks(path: Path, count: int) -> None:
    """A ZS file in which the checksum of every other data block is wrong: a finding for each."""
    with exhume.create(path, "zs", codec="none", block_size=64) as writer:
        lines: Any = writer
        lines.add_records(b"%09d" % number for number in range(count * 4))
    data = bytearray(path.read_bytes())
    with exhume.open(bytes(data)) as archive:
        ends = [section.span.end for section in archive.sections() if section.name.startswith("data-")]
    for end in ends[::2]:
        data[end - 1] ^= 0xFF
    path.write_bytes(data)


def narrow_index(path: Path, count: int) -> None:
    """A ZS file whose index blocks have two entries each: as many levels as there can be."""
    with exhume.create(path, "zs", codec="none", block_size=64, branching_factor=2) as writer:
        lines: Any = writer
        lines.add_records(b"%09d" % number for number in range(count))


def shards(path: Path, count: int) -> None:
    """A bundle with a member in each of many shards."""
    with exhume.create(path, "databundle", shards=count) as writer:
        files: Any = writer
        for number in range(count):
            files.add(f"folder/{number:06}", b"x" * 100)


def two_bundles(path: Path, count: int) -> None:
    """A bundle, and another one in which every other member has other bytes."""
    for name, last in ((path, b"x"), (path.with_name(f"{path.name}.other"), b"y")):
        with exhume.create(name, "databundle") as writer:
            files: Any = writer
            for number in range(count):
                files.add(f"folder/{number % 7}/{number:06}", last if number % 2 else b"x")


def input_tar(path: Path, count: int) -> None:
    """A tar archive of small files."""
    with tarfile.open(path, "w") as file:
        for number in range(count):
            member = tarfile.TarInfo(f"folder/{number:06}")
            member.size = 1
            file.addfile(member, io.BytesIO(b"x"))


def images(path: Path, count: int) -> None:
    """A folder of images that hold one small archive each."""
    path.mkdir()
    image(path / "0.img", 1)
    data = (path / "0.img").read_bytes()
    for number in range(1, count):
        (path / f"{number}.img").write_bytes(data)


def audit_records(path: Path, count: int) -> None:
    """The records of as many runs."""
    with exhume.create(path.with_name(f"{path.name}.zs"), "zs") as writer:
        lines: Any = writer
        lines.add(b"x")
    for _ in range(count):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            made = invoke(["identify", f"{path}.zs", "--audit", str(path)])
        if made:
            raise RuntimeError(f"exit code {made}")


def targets(path: Path, count: int) -> None:
    """A list of many small archives, and these."""
    folder = path.with_name(f"{path.name}.d")
    folder.mkdir()
    with exhume.create(folder / "0.zs", "zs") as writer:
        lines: Any = writer
        lines.add(b"x")
    data = (folder / "0.zs").read_bytes()
    for number in range(1, count):
        (folder / f"{number}.zs").write_bytes(data)
    path.write_text("".join(f"{folder / str(number)}.zs\n" for number in range(count)))


def image(path: Path, count: int) -> None:
    """An image of many small archives."""
    with exhume.create(path, "zs") as writer:
        lines: Any = writer
        lines.add(b"x")
    path.write_bytes((path.read_bytes() + bytes(99)) * count)


def chunks(path: Path, count: int) -> None:
    """A list of many chunks of two files, and these."""
    folder = path.with_name(f"{path.name}.d")
    folder.mkdir()
    with exhume.create(folder / "0.caf", "caf") as writer:
        files: Any = writer
        files.add_bytes("a", b"x")
        files.add_bytes("b", b"y")
    data = (folder / "0.caf").read_bytes()
    for number in range(1, count):
        (folder / f"{number}.caf").write_bytes(data)
    path.write_text("".join(f"{folder / str(number)}.caf\n" for number in range(count)))


def _specified(path: Path, rest: str) -> None:
    """Two bytes, and a specification of them."""
    path.write_bytes(b"\1\2")
    head = "meta: {id: t, endian: le}\nseq:\n  - {id: a, type: u1}\n"
    path.with_name(f"{path.name}.ksy").write_text(head + rest, encoding="utf-8")


def spec_types(path: Path, count: int) -> None:
    """A specification of many types."""
    made = "".join(f"  t{number}: {{seq: [{{id: x, type: u1}}]}}\n" for number in range(count))
    _specified(path, f"  - {{id: b, type: t0}}\ntypes:\n{made}")


def spec_enum(path: Path, count: int) -> None:
    """A specification with an enum of many values."""
    made = "".join(f"    {number}: m{number}\n" for number in range(count))
    _specified(path, f"  - {{id: b, type: u1, enum: e}}\nenums:\n  e:\n{made}")


def spec_instances(path: Path, count: int) -> None:
    """A specification of many computed values."""
    _specified(path, "instances:\n" + "".join(f"  v{number}: {{value: a + {number}}}\n" for number in range(count)))


def nested_heads(path: Path, count: int) -> None:
    """Heads of a CAF index within each other, then entries that break off."""
    entries = b",".join(b'"f%d":{"start_byte":0,"end_byte":1}' % number for number in range(count * 5))
    head = b'{"format_version":"1.0","files":{'
    path.write_bytes((head + b'"x":') * count + head + entries + b',"bro')


def _json(path: Path, records: Iterable[dict[str, Any]]) -> None:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")


def input_records(path: Path, count: int) -> None:
    """Lines of JSON that are alike."""
    _json(path, ({"a": number, "b": f"text {number}"} for number in range(count)))


def input_schemas(path: Path, count: int) -> None:
    """Lines of JSON that each have another key."""
    _json(path, ({f"k{number}": number} for number in range(count)))


def input_keys(path: Path, count: int) -> None:
    """A line of JSON with many keys."""
    _json(path, [{f"k{number}": number for number in range(count)}])


def input_messages(path: Path, count: int) -> None:
    """Lines of JSON for an IR stream of messages."""
    _json(path, ({"timestamp": number, "message": f"text {number}\n"} for number in range(count)))


def input_lines(path: Path, count: int) -> None:
    """A log of plain lines."""
    path.write_text("".join(f"2024-01-01 00:00:00.{number:09} text {number}\n" for number in range(count)), "utf-8")


def input_files(path: Path, count: int) -> None:
    """A folder of files."""
    path.mkdir()
    for number in range(count):
        (path / f"{number:06}").write_bytes(b"x")


def input_channels(path: Path, count: int) -> None:
    """A log with many channels, and an MCAP file of it."""
    channels(path, count)
    made = invoke(["export", str(path), "--to", "mcap", "-o", f"{path}.mcap", "-q"])
    if made:
        raise RuntimeError(f"exit code {made}")
