"""What ksy/ark_split.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from builtins import type as fixed
    from typing import Final
else:
    from exhume_ksy.facts._fixed import fixed


class ArkSplit(metaclass=fixed):
    """`ark_split`"""

    class each(metaclass=fixed):
        """Bytes of each element."""

        index: Final = 18


class FileHeader(metaclass=fixed):
    """`ark_split::file_header`"""

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        header: Final = (0, 1)
        format_version: Final = (1, 3)
        split_identifier: Final = (3, 19)
        ofs_index: Final = (19, 23)
        num_indexed_items: Final = (23, 27)
        num_maximum_items: Final = (27, 31)
        num_type_mappings: Final = (31, 35)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        format_version: Final = "<H"
        ofs_index: Final = "<I"
        num_indexed_items: Final = "<I"
        num_maximum_items: Final = "<I"
        num_type_mappings: Final = "<I"


class TypeMapping(metaclass=fixed):
    """`ark_split::type_mapping`"""

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        header: Final = (0, 1)
        object_identifier: Final = (1, 17)
        short_identifier: Final = (17, 18)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        short_identifier: Final = "<B"


class EntryList(metaclass=fixed):
    """`ark_split::entry_list`"""

    class each(metaclass=fixed):
        """Bytes of each element."""

        entries: Final = 18


class IndexEntry(metaclass=fixed):
    """`ark_split::index_entry`"""

    size: Final = 18
    dtype: Final = [("timestamp_ns", "<u8"), ("ofs_data", "<u4"), ("len_data", "<u4"), ("object_identifier", "u1"), ("flags", "u1")]
    packed: Final = "<QIIBB"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        timestamp_ns: Final = (0, 8)
        ofs_data: Final = (8, 12)
        len_data: Final = (12, 16)
        object_identifier: Final = (16, 17)
        flags: Final = (17, 18)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        timestamp_ns: Final = "<Q"
        ofs_data: Final = "<I"
        len_data: Final = "<I"
        object_identifier: Final = "<B"
        flags: Final = "<B"
