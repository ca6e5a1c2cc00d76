"""The check that a layout is written once finds what it is for, and nothing else."""

from __future__ import annotations

import pytest

from tests.toolchain.copies import copies, native_copies


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


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("memcpy(&value, at, 8)", "width"),
        ("at = start + 8 * rows", "width"),
        ("at += (rows + 1) * 4", "width"),
        ("size = load(data[8:16])", "span"),
        ("end = key[:-8]", "span"),
        ("cdef const char* MAGIC = b'daBS'", "magic data_bundle_shard.DataBundleShard.magic"),
        ("if found == 0x88E241B785F4CFF7:\n    pass", "magic"),
        ("cdef enum:\n    N_OBJECT = 5\n    N_BOOLEAN = 4", "enum clp_s_schema_tree.NodeType"),
    ],
)
def test_a_copy_is_found_in_cython(code: str, kind: str) -> None:
    assert [one.kind for one in native_copies(code)] == [kind]


@pytest.mark.parametrize(
    "code",
    [
        "memcpy(&value, at, sizeof(value))",
        "memcpy(out, text, size)",
        "value = value * 10 + digit",
        "at = start + sizeof(int64_t) * rows  # 8 * rows",
        "# memcpy(&value, at, 8)",
        'def f():\n    """Takes data[8:16], 8 * rows, daBS."""',
        "cdef enum:\n    N_OPEN = 5\n    N_BOOLEAN = 4",
        "hash = 0x9E3779B97F4A7C15",
    ],
)
def test_other_cython_is_none(code: str) -> None:
    assert [str(one) for one in native_copies(code)] == []
