"""What ksy/ark_rbuf.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from builtins import type as fixed
    from typing import Final
else:
    from exhume_ksy.facts._fixed import fixed


class ArkRbuf(metaclass=fixed):
    """`ark_rbuf`"""

    size: Final = 1

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        header: Final = (0, 1)


class ObjectHeader(metaclass=fixed):
    """`ark_rbuf::object_header`"""

    size: Final = 1
    magic: Final = 13
    version: Final = 1

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        magic: Final = (0, 1)
        reserved: Final = (0, 1)
        has_groups: Final = (0, 1)
        version: Final = (0, 1)

    class shift(metaclass=fixed):
        """How far bits are shifted."""

        magic: Final = 4
        reserved: Final = 3
        has_groups: Final = 2
        version: Final = 0


class GroupHeader(metaclass=fixed):
    """`ark_rbuf::group_header`"""

    size: Final = 6
    magic: Final = 14
    suffix: Final = "<BI"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        magic: Final = (0, 1)
        reserved: Final = (0, 1)
        has_more: Final = (0, 1)
        reserved1: Final = (0, 1)
        number: Final = (1, 2)
        len_body: Final = (2, 6)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        number: Final = "<B"
        len_body: Final = "<I"

    class shift(metaclass=fixed):
        """How far bits are shifted."""

        magic: Final = 4
        reserved: Final = 3
        has_more: Final = 2
        reserved1: Final = 0


class Group(metaclass=fixed):
    """`ark_rbuf::group`"""

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        header: Final = (0, 6)


class Guid(metaclass=fixed):
    """`ark_rbuf::guid`"""

    size: Final = 16
    dtype: Final = [("digits1", "<u4"), ("digits0", "<u4"), ("digits3", "<u4"), ("digits2", "<u4")]
    packed: Final = "<IIII"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        digits1: Final = (0, 4)
        digits0: Final = (4, 8)
        digits3: Final = (8, 12)
        digits2: Final = (12, 16)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        digits1: Final = "<I"
        digits0: Final = "<I"
        digits3: Final = "<I"
        digits2: Final = "<I"


class Text(metaclass=fixed):
    """`ark_rbuf::text`"""

    prefix: Final = "<I"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        len_value: Final = (0, 4)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        len_value: Final = "<I"


class ByteBuffer(metaclass=fixed):
    """`ark_rbuf::byte_buffer`"""

    prefix: Final = "<I"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        len_value: Final = (0, 4)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        len_value: Final = "<I"


class Count(metaclass=fixed):
    """`ark_rbuf::count`"""

    size: Final = 4
    dtype: Final = [("value", "<u4")]
    packed: Final = "<I"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        value: Final = (0, 4)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        value: Final = "<I"


class VariantHeader(metaclass=fixed):
    """`ark_rbuf::variant_header`"""

    size: Final = 5
    dtype: Final = [("index", "u1"), ("len_object", "<u4")]
    packed: Final = "<BI"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        index: Final = (0, 1)
        len_object: Final = (1, 5)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        index: Final = "<B"
        len_object: Final = "<I"


class OptionalTime(metaclass=fixed):
    """`ark_rbuf::optional_time`"""

    most: Final = 9
    prefix: Final = "<B"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        is_present: Final = (0, 1)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        is_present: Final = "<B"
        value: Final = "<Q"


class StringList(metaclass=fixed):
    """`ark_rbuf::string_list`"""

    prefix: Final = "<I"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        num_items: Final = (0, 4)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        num_items: Final = "<I"
