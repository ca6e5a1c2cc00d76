"""The check that a layout is written once finds what it is for, and nothing else."""

from __future__ import annotations

import pytest

from tests.toolchain.copies import copies


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("size = int.from_bytes(x, 'little')", "bytes to a number"),
        ("out += size.to_bytes(8, 'little')", "a number to bytes"),
        ("struct.pack('<Q', size)", "format"),
        ("struct.Struct(f'<{count}I')", "format"),
        ("np.frombuffer(data, '<i8')", "format"),
        ("memoryview(data).cast('q')", "format"),
        ("size = data[8:16]", "span"),
        ("size = self.data[at : at + 8]", "span"),
        ("end = key[:-8]", "span"),
        ("at = 8 * rows", "width"),
        ("MAGIC = b'daBS'", "magic data_bundle_shard.DataBundleShard.magic"),
        ("note = 'magic FD 2F C5 30'", "magic clp_s.FileHeader.magic"),
        ("class Kind(IntEnum):\n    OBJECT = 5\n    BOOLEAN = 4", "enum clp_s_schema_tree.NodeType"),
        ("W = {T.INTEGER: 8, T.FLOAT: 8, T.BOOLEAN: 1}", "table"),
    ],
)
def test_a_copy_is_found(code: str, kind: str) -> None:
    assert [one.kind for one in copies(code)] == [kind]


@pytest.mark.parametrize(
    "code",
    [
        "mask.to_bytes(rows, 'little')",
        "struct.pack(Header.packed, size)",
        "np.frombuffer(data, Entry.dtype)",
        "memoryview(data).cast('B')",
        "first = name[:1]",
        "text[2:4]",
        "data[at : at + size]",
        "data[at : at + 1]",
        "room = 1024 * 8",
        "'''data[8:16], daBS'''",
        "class Kind(IntEnum):\n    OPEN = 5\n    BOOLEAN = 4",
        "W = {T.INTEGER: 8, T.FLOAT: size, T.BOOLEAN: 1}",
    ],
)
def test_other_code_is_none(code: str) -> None:
    assert [str(one) for one in copies(code)] == []


def test_outside_of_the_formats_numbers_are_multiplied_freely() -> None:
    assert [one.kind for one in copies("at = 8 * rows", "source.py")] == []
