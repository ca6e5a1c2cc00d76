"""Files for `ksy.py`: of a format and about a size, the same every time."""

from __future__ import annotations

import io
import pickle
import random
import struct
import zipfile
from collections.abc import Callable


def _word(draw: random.Random, most: int = 20) -> bytes:
    return bytes(draw.choices(b"abcdefghijklmnopqrstuvwxyz_", k=draw.randrange(3, most)))


def pcap(draw: random.Random, size: int) -> bytes:
    """Packets of 20 to 200 bytes of a link type without a structure of its own."""
    parts, total = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 147)], 0
    while total < size:
        body = draw.randbytes(draw.randrange(20, 200))
        parts.append(struct.pack("<IIII", draw.randrange(2**31), draw.randrange(10**6), len(body), len(body)) + body)
        total += len(parts[-1])
    return b"".join(parts)


def zip_directory(draw: random.Random, size: int) -> bytes:
    """Empty files, so that nearly everything is headers."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for number in range(size // 150):
            archive.writestr(zipfile.ZipInfo(f"{_word(draw).decode()}/{number}.txt", (2020, 1, 2, 3, 4, 6)), b"")
    return out.getvalue()


def utmp(draw: random.Random, size: int) -> bytes:
    """Logins."""
    row = struct.Struct("<ii32s4s32s256sIiIi16s20s")
    return b"".join(
        row.pack(
            7, n, b"pts/1", b"ts/1", _word(draw), _word(draw), 0, n, draw.randrange(2**31), 5, bytes(16), bytes(20)
        )
        for n in range(size // row.size)
    )


def stl(draw: random.Random, size: int) -> bytes:
    """Triangles."""
    many = size // 50
    rows = (struct.pack("<12fH", *(draw.random() for _ in range(12)), 0) for _ in range(many))
    return bytes(80) + struct.pack("<I", many) + b"".join(rows)


def dbf(draw: random.Random, size: int) -> bytes:
    """Records of 40 bytes."""
    field = struct.pack("<11scIBBHBHBHB", b"NAME", b"C", 0, 39, 0, 0, 0, 0, 0, 0, 0)
    field += bytes(32 - len(field))
    many = size // 40
    head = struct.pack("<BBBBIHH", 3, 120, 1, 1, many, 32 + len(field) + 1, 40) + bytes(20)
    return head + field + b"\r" + b"".join(b" " + _word(draw).ljust(39) for _ in range(many))


def gettext_mo(draw: random.Random, size: int) -> bytes:
    """Messages and their translations."""
    many = size // 50
    texts = [_word(draw) for _ in range(2 * many)]
    ofs, table = 28 + 16 * many, []
    for text in texts:
        table.append(struct.pack("<II", len(text), ofs))
        ofs += len(text) + 1
    head = struct.pack("<IIIIIII", 0x950412DE, 0, many, 28, 28 + 8 * many, 0, 0)
    return head + b"".join(table) + b"".join(text + b"\0" for text in texts)


def java_class(draw: random.Random, size: int) -> bytes:
    """A pool of constants."""
    pool, many = b"", 1
    while len(pool) < size and many < 65_000:
        text = _word(draw)
        pool += (
            struct.pack(">BH", 1, len(text)) + text + struct.pack(">BH", 7, many) + struct.pack(">BHH", 10, many, many)
        )
        many += 3
    return struct.pack(">IHHH", 0xCAFEBABE, 0, 52, many) + pool + struct.pack(">HHHHHHH", 33, 2, 2, 0, 0, 0, 0)


def elf(draw: random.Random, size: int) -> bytes:
    """A table of symbols."""
    many = size // 24
    names = b"\0main\0"
    symbols = b"".join(struct.pack("<IBBHQQ", 1, 0x12, 0, 1, draw.randrange(2**40), 16) for _ in range(many))
    sections = b"\0.symtab\0.strtab\0"
    at = [64, 64 + len(symbols), 64 + len(symbols) + len(names)]
    table = at[2] + len(sections)
    head = b"\x7fELF\2\1\1\0" + bytes(8)
    head += struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, 0, 0, table, 0, 64, 0, 0, 64, 4, 3)
    row = struct.Struct("<IIQQQQIIQQ")
    rows = row.pack(0, 0, 0, 0, 0, 0, 0, 0, 0, 0) + row.pack(1, 2, 0, 0, at[0], len(symbols), 2, 0, 8, 24)
    rows += row.pack(9, 3, 0, 0, at[1], len(names), 0, 0, 1, 0) + row.pack(9, 3, 0, 0, at[2], len(sections), 0, 0, 1, 0)
    return head + symbols + names + sections + rows


def gif(draw: random.Random, size: int) -> bytes:
    """Blocks of pixels."""
    out = [b"GIF89a" + struct.pack("<HHBBB", 10, 10, 0x81, 0, 0) + bytes(12)]
    total = 0
    while total < size:
        blocks = b"".join(bytes([90]) + draw.randbytes(90) for _ in range(4))
        out.append(b"\x2c" + struct.pack("<HHHHB", 0, 0, 10, 10, 0) + b"\2" + blocks + b"\0")
        total += len(out[-1])
    return b"".join(out) + b";"


def dns(draw: random.Random, size: int) -> bytes:
    """An answer of two addresses."""
    name = bytes([3]) + b"www" + bytes([len(word := _word(draw))]) + word + b"\3com\0"
    answers = b"".join(b"\xc0\x0c" + struct.pack(">HHiH", 1, 1, 300, 4) + draw.randbytes(4) for _ in range(2))
    return struct.pack(">HHHHHH", draw.randrange(2**16), 0x8180, 1, 2, 0, 0) + name + struct.pack(">HH", 1, 1) + answers


def python_pickle(draw: random.Random, size: int) -> bytes:
    """Small numbers, strings and tuples."""
    return pickle.dumps([(draw.randrange(2**30), _word(draw).decode(), 5) for _ in range(size // 30)], protocol=2)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def protobuf(draw: random.Random, size: int) -> bytes:
    """Fields of three kinds."""
    parts, total = [], 0
    while total < size:
        word = _word(draw)
        parts.append(
            b"\x08" + _varint(draw.randrange(2**30)) + b"\x12" + _varint(len(word)) + word + b"\x1d" + bytes(4)
        )
        total += len(parts[-1])
    return b"".join(parts)


def msgpack(draw: random.Random, size: int) -> bytes:
    """An array of small maps."""
    many = size // 20
    rows = (b"\x82\xa1a" + b"\xce" + draw.randbytes(4) + b"\xa1b\xa6" + b"textof" for _ in range(many))
    return b"\xdd" + struct.pack(">I", many) + b"".join(rows)


FILES: dict[str, Callable[[random.Random, int], bytes]] = {
    "pcap": pcap,
    "zip": zip_directory,
    "utmp": utmp,
    "stl": stl,
    "dbf": dbf,
    "gettext_mo": gettext_mo,
    "java_class": java_class,
    "elf": elf,
    "gif": gif,
    "dns": dns,
    "python_pickle": python_pickle,
    "protobuf": protobuf,
    "msgpack": msgpack,
}
