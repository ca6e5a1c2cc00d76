"""Compiled from ksy/leveldb_varint.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations


from ._layout import LayoutError, View, short


def read_leveldb_varint(view: View, at: int, end: int) -> tuple[int, int]:
    """`leveldb_varint` at `at`: its value, and where it ends. Raises `LayoutError`."""
    groups = []
    while True:
        start = at
        if at >= end:
            raise short(f"groups[{len(groups)}]", at, end, 1)
        one = view[at]
        at += 1
        if not (len(groups) < 9 or len(groups) == 9 and one <= 1):
            raise LayoutError(f"groups[{len(groups)}]", start, '_index < 9 or (_index == 9 and _ <= 1)', one)
        groups.append(one)
        if one < 0x80:
            break
    return groups[0] % 0x80 + (groups[1] % 0x80 * 0x80 if (len(groups)) > 1 else 0) + (groups[2] % 0x80 * 0x4000 if (len(groups)) > 2 else 0) + (groups[3] % 0x80 * 0x200000 if (len(groups)) > 3 else 0) + (groups[4] % 0x80 * 0x10000000 if (len(groups)) > 4 else 0) + (groups[5] % 0x80 * 0x800000000 if (len(groups)) > 5 else 0) + (groups[6] % 0x80 * 0x40000000000 if (len(groups)) > 6 else 0) + (groups[7] % 0x80 * 0x2000000000000 if (len(groups)) > 7 else 0) + (groups[8] % 0x80 * 0x100000000000000 if (len(groups)) > 8 else 0) + (groups[9] % 0x80 * 0x8000000000000000 if (len(groups)) > 9 else 0), at
