"""A small builder of clp-s archives from their parts, for tests: it writes its input unchecked, right or wrong."""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgpack
import zstandard

from exhume.codecs.stored import store
from exhume.formats.clp_s.reader import open_archive
from exhume.io.source import BytesSource


def i64(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}q", *values)


def u64(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}Q", *values)


def f64(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}d", *values)


def u16(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}H", *values)


def clp(words: Sequence[tuple[int, int]], variables: Sequence[int]) -> bytes:
    """An encoded text column: (log type, first variable) per row, then the variables."""
    return u64(*(ident | at << 24 for ident, at in words)) + u64(len(variables)) + i64(*variables)


def float_core(digits: int, places: int, value: int, negative: bool = False) -> int:
    """An encoded float of 0.4.0 on."""
    word = value << 8 | (digits - 1) << 4 | (places - 1) | negative << 63
    return word - (1 << 64) if word >> 63 else word


def float_old(digits: int, places: int, value: int, negative: bool = False) -> int:
    """An encoded float of up to 0.3.2."""
    word = negative << 63 | (digits - 1) << 59 | (places - 1) << 55 | value
    return word - (1 << 64) if word >> 63 else word


def marker(node_type: int, length: int) -> int:
    return node_type << 24 | length


def zstd(data: bytes) -> bytes:
    """As upstream compresses: one frame without content size, nothing for nothing."""
    if not data:
        return b""
    parameters = zstandard.ZstdCompressionParameters.from_level(3, write_content_size=False, write_checksum=False)
    return zstandard.ZstdCompressor(compression_params=parameters).compress(data)


def stored(data: bytes) -> bytes:
    """The same in raw blocks."""
    return store("zstd", data) if data else b""


@dataclass
class Built:
    """Parts of an archive; `replace` returns a copy with other parts.

    `nodes`: (parent, key, type).  `schemas`: (id, ordered entries, unordered entries).  `streams`: per packed stream
    its tables (schema id, rows, column bytes).  `raw` replaces decompressed sections by name (`metadata` too),
    `stored_sections` stored ones.
    """

    nodes: Sequence[tuple[int, bytes, int]]
    schemas: Sequence[tuple[int, Sequence[int], Sequence[int]]]
    streams: Sequence[Sequence[tuple[int, int, bytes]]]
    version: tuple[int, int, int] = (0, 5, 1)
    variables: Sequence[bytes] = ()
    log_types: Sequence[bytes] = ()
    array_types: Sequence[bytes] = ()
    ranges: Sequence[tuple[bytes, Sequence[int], int, float, float]] = ()
    patterns: Sequence[tuple[int, bytes]] = ()
    range_index: Any = None
    extra_packets: Sequence[tuple[int, bytes]] = ()
    original_size: int = 1234
    raw: dict[str, bytes] = field(default_factory=dict)
    stored_sections: dict[str, bytes] = field(default_factory=dict)
    header: dict[str, int] = field(default_factory=dict)
    file_info: Callable[[list[dict[str, Any]]], Any] | None = None
    compress: Callable[[bytes], bytes] = zstd

    def replace(self, **changes: Any) -> Built:
        return dataclasses.replace(self, **changes)

    def payloads(self) -> dict[str, bytes]:
        """The decompressed sections that are parsed as a whole, dictionaries without their count."""
        tree = u64(len(self.nodes))
        for parent, key, node_type in self.nodes:
            tree += struct.pack("<iQ", parent, len(key)) + key + bytes([node_type])
        schemas = u64(len(self.schemas))
        for ident, ordered, unordered in self.schemas:
            entries = [*ordered, *unordered]
            schemas += struct.pack(f"<iII{len(entries)}i", ident, len(entries), len(ordered), *entries)
        tables = u64(len(self.streams))
        at = 0
        for stream in self.streams:
            plain = b"".join(data for _, _, data in stream)
            tables += u64(at, len(plain))
            at += len(self.compress(plain))
        tables += u64(0, sum(map(len, self.streams)))
        for index, stream in enumerate(self.streams):
            offset = 0
            for schema, rows, data in stream:
                tables += struct.pack("<QQiQ", index, offset, schema, rows)
                offset += len(data)
        out = {"/schema_tree": tree, "/schema_ids": schemas, "/table_metadata": tables}
        for name, texts in (
            ("/var.dict", self.variables),
            ("/log.dict", self.log_types),
            ("/array.dict", self.array_types),
        ):
            out[name] = b"".join(u64(len(text)) + text for text in texts)
        return out | {name: data for name, data in self.raw.items() if name in out}

    def sections(self) -> dict[str, bytes]:
        """The stored sections of the files part."""
        payloads = self.payloads()
        counts = {"/var.dict": self.variables, "/log.dict": self.log_types, "/array.dict": self.array_types}
        out: dict[str, bytes] = {}
        for name, payload in payloads.items():
            out[name] = (u64(len(counts[name])) if name in counts else b"") + self.compress(payload)
        out["/0"] = b"".join(self.compress(b"".join(data for _, _, data in stream)) for stream in self.streams)
        return {**out, **self.stored_sections}

    def timestamp_dictionary(self) -> bytes:
        out = u64(len(self.ranges))
        for key, nodes, encoding, begin, end in self.ranges:
            out += u64(len(key)) + key + u64(len(nodes)) + struct.pack(f"<{len(nodes)}i", *nodes) + u64(encoding)
            if encoding in (1, 2):
                out += struct.pack("<qq" if encoding == 1 else "<dd", begin, end)
        out += u64(len(self.patterns))
        for ident, text in self.patterns:
            out += u64(ident, len(text)) + text
        return out

    def metadata(self) -> bytes:
        """The decompressed metadata section."""
        if "metadata" in self.raw:
            return self.raw["metadata"]
        files, at = [], 0
        for name, data in self.sections().items():
            files.append({"n": name, "o": at})
            at += len(data)
        info = self.file_info(files) if self.file_info else {"files": files}
        packets = [
            (0, msgpack.packb({"num_segments": 1})),
            (1, msgpack.packb(info)),
            (2, self.timestamp_dictionary()),
        ]
        if self.range_index is not None:
            packets.append((3, msgpack.packb(self.range_index)))
        packets += self.extra_packets
        return bytes([len(packets)]) + b"".join(struct.pack("<BI", kind, len(b)) + b for kind, b in packets)

    def build(self) -> bytes:
        """The archive."""
        metadata = self.stored_sections.get("metadata", self.compress(self.metadata()))
        files = b"".join(data for name, data in self.sections().items() if name != "metadata")
        values = {
            "original_size": self.original_size,
            "archive_size": 64 + len(metadata) + len(files),
            "metadata_size": len(metadata),
            "compression": 0,
            "reserved": 0,
        } | self.header
        major, minor, patch = self.version
        head = b"\xfd\x2f\xc5\x30" + struct.pack("<HBB", patch, minor, major)
        head += struct.pack("<QQQ24xIHH", values["original_size"], values["archive_size"], values["reserved"],
                            values["metadata_size"], values["compression"], 0)  # fmt: skip
        return head + metadata + files


def directory(archive: bytes) -> dict[str, bytes]:
    """The files of the directory that holds the same as a single-file archive, by name."""
    with open_archive(BytesSource(archive)) as opened:
        files = {place.name[1:]: place.read() for place in opened.files}
        return {"header": archive[: opened.header.files_base], **files}


DEMO_NODES = (
    (-1, b"", 10),
    (0, b"log_event_idx", 11),
    (-1, b"", 5),
    (2, b"ts", 14),
    (2, b"msg", 2),
    (2, b"name", 3),
    (2, b"n", 0),
    (2, b"ok", 4),
    (2, b"x", 12),
    (2, b"big", 13),
    (2, b"raw", 1),
    (2, b"arr", 6),
    (2, b"o", 5),
    (12, b"e", 7),
    (2, b"list", 9),
    (14, b"", 0),
    (14, b"", 5),
    (16, b"k", 3),
    (14, b"", 9),
    (18, b"", 4),
)

DEMO_TEXT = (
    b'{"ts":"2023-11-14T22:13:20.500Z","msg":"took 3.14 ms for a1 \\"-7\\"","name":"plain","n":-5,"ok":true,'
    b'"x":2.50,"big":1.2345678901234567890123,"raw":0.500000,"arr":[1, "b2"],"o":{"e":null},'
    b'"list":[7,{"k":"a1"},{},[true],[]]}\n'
    b'{"ts":1700000001,"msg":"no variables","name":"q\\"uote\\\\","n":6,"ok":false,"x":1e-07,"big":12e3,'
    b'"raw":-1.250000,"arr":[],"o":{"e":null},"list":[8,{"k":"plain"},{},[false],[]]}\n'
    b'{"name":"plain","o":{}}\n'
)
"""What `clp-s x` prints for `demo()`: the first two records of one schema, then one of another."""


def demo(**changes: Any) -> Built:
    """An archive of 0.5.1 with every column type that version writes, a structured array, and two tables."""
    # list: [integer, {k: string}, {}, [boolean], []]; the length of a marker counts the markers beneath it
    run = [marker(9, 7), 15, marker(5, 1), 17, 16, marker(9, 1), 19, 18]
    first = b"".join(
        (
            i64(0, 2),  # log_event_idx, deltas
            i64(1_700_000_000_500_000_000, 500_000_000) + u64(0, 1),
            clp([(0, 0), (1, 3)], [float_core(3, 2, 314), 0, -7]),
            u64(1, 2),
            i64(-5, 6),
            b"\1\0",
            f64(2.5, 1e-7) + u16(0x0040, 0x4000 | 2 << 12 | 1 << 10),
            u64(3, 4),
            f64(0.5, -1.25),
            clp([(0, 0), (1, 2)], [1, 5]),
            i64(7, 8),
            u64(0, 1),
            b"\1\0",
        )
    )
    second = b"".join((i64(1), u64(1)))
    built = Built(
        nodes=DEMO_NODES,
        schemas=[(0, [1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13], run), (7, [1, 5, 12], [])],
        streams=[[(0, 2, first)], [(7, 1, second)]],
        variables=[b"a1", b"plain", b'q"uote\\', b"1.2345678901234567890123", b"12e3", b"b2"],
        log_types=[b'took \x13 ms for \x12 "\x11"', b"no variables"],
        array_types=[b'[\x11, "\x12"]', b"[]"],
        ranges=[(b"ts", [3], 1, 1_700_000_000_500, 1_700_000_001_000)],
        patterns=[(0, b'"\\Y-\\m-\\dT\\H:\\M:\\S.\\3Z"'), (1, b"\\E")],
        range_index=[
            {"e": 2, "f": {"_archive_creator_id": "00000000", "_file_split_number": 0, "_filename": "a.jsonl"}, "s": 0},
            {"e": 3, "f": {"_archive_creator_id": "00000000", "_file_split_number": 0, "_filename": "b.jsonl"}, "s": 2},
        ],
    )
    return built.replace(**changes)


OLD_TEXT = (
    b'{"t":"2023-01-01 13:00:00,5","msg":"took 3.14 ms id=a1 count 12"}\n'
    b'{"t":"2023-01-01 12:30:00,0","msg":"nothing here"}\n'
)


def old(**changes: Any) -> Built:
    """An archive of 0.3.1: date strings, the older text encoding, plain `log_event_idx`."""
    table = b"".join(
        (
            i64(0, 1),
            i64(1_672_578_000_500, 1_672_533_000_000) + i64(0, 0),
            clp([(0, 0), (1, 3)], [float_old(3, 2, 314), (1 << 62) + 0, 12]),
        )
    )
    built = Built(
        version=(0, 3, 1),
        nodes=[(-1, b"", 10), (0, b"log_event_idx", 0), (-1, b"", 5), (2, b"t", 8), (2, b"msg", 2)],
        schemas=[(0, [1, 3, 4], [])],
        streams=[[(0, 2, table)]],
        variables=[b"a1"],
        log_types=[b"took \x12 ms id=\x11 count \x11", b"nothing here"],
        ranges=[(b"t", [3], 1, 1_672_533_000_000, 1_672_578_000_500)],
        patterns=[(0, b"%Y-%m-%d %I:%M:%S,%T")],
        range_index=[{"e": 2, "f": {"_filename": "old.jsonl"}, "s": 0}],
    )
    return built.replace(**changes)


def tiny(**changes: Any) -> Built:
    """A very small archive: two records with one integer each, without log order."""
    built = Built(
        nodes=[(-1, b"", 5), (0, b"a", 0)], schemas=[(0, [1], [])], streams=[[(0, 2, i64(1, 2))]], original_size=16
    )
    return built.replace(**changes)


TINY_TEXT = b'{"a":1}\n{"a":2}\n'
