"""Compiled from ksy/uleb128.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations


from ._layout import LayoutError, View, short


def read_uleb128(view: View, at: int, end: int) -> tuple[int, int]:
    """`uleb128` at `at`: its value, and where it ends. Raises `LayoutError`."""
    if at >= end:
        raise short("group0", at, end, 1)
    group0 = view[at]
    if group0 < 0x80:
        return group0, at + 1
    if at + 1 >= end:
        raise short("group1", at + 1, end, 1)
    group1 = view[at + 1]
    if group1 < 1:
        raise LayoutError("group1", at + 1, at + 2, "at least 1", group1)
    if group1 < 0x80:
        return group0 % 0x80 + 0x80 * group1, at + 2
    if at + 2 >= end:
        raise short("group2", at + 2, end, 1)
    group2 = view[at + 2]
    if group2 < 1:
        raise LayoutError("group2", at + 2, at + 3, "at least 1", group2)
    if group2 < 0x80:
        return group0 % 0x80 + 0x80 * (group1 % 0x80 + 0x80 * group2), at + 3
    if at + 3 >= end:
        raise short("group3", at + 3, end, 1)
    group3 = view[at + 3]
    if group3 < 1:
        raise LayoutError("group3", at + 3, at + 4, "at least 1", group3)
    if group3 < 0x80:
        return group0 % 0x80 + 0x80 * (group1 % 0x80 + 0x80 * (group2 % 0x80 + 0x80 * group3)), at + 4
    if at + 4 >= end:
        raise short("group4", at + 4, end, 1)
    group4 = view[at + 4]
    if group4 < 1:
        raise LayoutError("group4", at + 4, at + 5, "at least 1", group4)
    if group4 < 0x80:
        return group0 % 0x80 + 0x80 * (group1 % 0x80 + 0x80 * (group2 % 0x80 + 0x80 * (group3 % 0x80 + 0x80 * group4))), at + 5
    if at + 5 >= end:
        raise short("group5", at + 5, end, 1)
    group5 = view[at + 5]
    if group5 < 1:
        raise LayoutError("group5", at + 5, at + 6, "at least 1", group5)
    if group5 < 0x80:
        return group0 % 0x80 + 0x80 * (group1 % 0x80 + 0x80 * (group2 % 0x80 + 0x80 * (group3 % 0x80 + 0x80 * (group4 % 0x80 + 0x80 * group5)))), at + 6
    if at + 6 >= end:
        raise short("group6", at + 6, end, 1)
    group6 = view[at + 6]
    if group6 < 1:
        raise LayoutError("group6", at + 6, at + 7, "at least 1", group6)
    if group6 < 0x80:
        return group0 % 0x80 + 0x80 * (group1 % 0x80 + 0x80 * (group2 % 0x80 + 0x80 * (group3 % 0x80 + 0x80 * (group4 % 0x80 + 0x80 * (group5 % 0x80 + 0x80 * group6))))), at + 7
    if at + 7 >= end:
        raise short("group7", at + 7, end, 1)
    group7 = view[at + 7]
    if group7 < 1:
        raise LayoutError("group7", at + 7, at + 8, "at least 1", group7)
    if group7 < 0x80:
        return group0 % 0x80 + 0x80 * (group1 % 0x80 + 0x80 * (group2 % 0x80 + 0x80 * (group3 % 0x80 + 0x80 * (group4 % 0x80 + 0x80 * (group5 % 0x80 + 0x80 * (group6 % 0x80 + 0x80 * group7)))))), at + 8
    if at + 8 >= end:
        raise short("group8", at + 8, end, 1)
    group8 = view[at + 8]
    if group8 < 1:
        raise LayoutError("group8", at + 8, at + 9, "at least 1", group8)
    if group8 < 0x80:
        return group0 % 0x80 + 0x80 * (group1 % 0x80 + 0x80 * (group2 % 0x80 + 0x80 * (group3 % 0x80 + 0x80 * (group4 % 0x80 + 0x80 * (group5 % 0x80 + 0x80 * (group6 % 0x80 + 0x80 * (group7 % 0x80 + 0x80 * group8))))))), at + 9
    if at + 9 >= end:
        raise short("group9", at + 9, end, 1)
    group9 = view[at + 9]
    if group9 != 1:
        raise LayoutError("group9", at + 9, at + 10, 1, group9)
    return group0 % 0x80 + 0x80 * (group1 % 0x80 + 0x80 * (group2 % 0x80 + 0x80 * (group3 % 0x80 + 0x80 * (group4 % 0x80 + 0x80 * (group5 % 0x80 + 0x80 * (group6 % 0x80 + 0x80 * (group7 % 0x80 + 0x80 * (group8 % 0x80 + 0x80 * group9)))))))), at + 10
