"""What ksy/zstd_frame.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from builtins import type as fixed
    from enum import IntEnum
    from typing import Final

    class FrameKind(IntEnum):
        """`zstd_frame::frame_kind`"""
        SKIPPABLE0 = 407710288
        SKIPPABLE1 = 407710289
        SKIPPABLE2 = 407710290
        SKIPPABLE3 = 407710291
        SKIPPABLE4 = 407710292
        SKIPPABLE5 = 407710293
        SKIPPABLE6 = 407710294
        SKIPPABLE7 = 407710295
        SKIPPABLE8 = 407710296
        SKIPPABLE9 = 407710297
        SKIPPABLE10 = 407710298
        SKIPPABLE11 = 407710299
        SKIPPABLE12 = 407710300
        SKIPPABLE13 = 407710301
        SKIPPABLE14 = 407710302
        SKIPPABLE15 = 407710303
        ZSTANDARD = 4247762216

    class BlockKind(IntEnum):
        """`zstd_frame::block_kind`"""
        RAW = 0
        RLE = 1
        COMPRESSED = 2

else:
    from exhume_ksy.facts._fixed import enums, fixed
    __getattr__ = enums(__name__, globals(), {
        "FrameKind": (("SKIPPABLE0", 407710288), ("SKIPPABLE1", 407710289), ("SKIPPABLE2", 407710290), ("SKIPPABLE3", 407710291), ("SKIPPABLE4", 407710292), ("SKIPPABLE5", 407710293), ("SKIPPABLE6", 407710294), ("SKIPPABLE7", 407710295), ("SKIPPABLE8", 407710296), ("SKIPPABLE9", 407710297), ("SKIPPABLE10", 407710298), ("SKIPPABLE11", 407710299), ("SKIPPABLE12", 407710300), ("SKIPPABLE13", 407710301), ("SKIPPABLE14", 407710302), ("SKIPPABLE15", 407710303), ("ZSTANDARD", 4247762216),),
        "BlockKind": (("RAW", 0), ("RLE", 1), ("COMPRESSED", 2),),
    })


class Frame(metaclass=fixed):
    """`zstd_frame::frame`"""

    prefix: Final = "<I"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        magic: Final = (0, 4)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        magic: Final = "<I"


class SkippableBody(metaclass=fixed):
    """`zstd_frame::skippable_body`"""

    prefix: Final = "<I"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        len_data: Final = (0, 4)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        len_data: Final = "<I"


class ZstandardBody(metaclass=fixed):
    """`zstd_frame::zstandard_body`"""

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        descriptor: Final = (0, 1)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        dictionary_id1: Final = "<B"
        dictionary_id2: Final = "<H"
        dictionary_id4: Final = "<I"
        content_size1: Final = "<B"
        content_size2: Final = "<H"
        content_size4: Final = "<I"
        content_size8: Final = "<Q"
        checksum: Final = "<I"


class FrameDescriptor(metaclass=fixed):
    """`zstd_frame::frame_descriptor`"""

    size: Final = 1

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        content_size_flag: Final = (0, 1)
        is_single_segment: Final = (0, 1)
        unused: Final = (0, 1)
        reserved: Final = (0, 1)
        has_checksum: Final = (0, 1)
        dictionary_id_flag: Final = (0, 1)

    class shift(metaclass=fixed):
        """How far bits are shifted."""

        content_size_flag: Final = 6
        is_single_segment: Final = 5
        unused: Final = 4
        reserved: Final = 3
        has_checksum: Final = 2
        dictionary_id_flag: Final = 0


class WindowDescriptor(metaclass=fixed):
    """`zstd_frame::window_descriptor`"""

    size: Final = 1

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        exponent: Final = (0, 1)
        mantissa: Final = (0, 1)

    class shift(metaclass=fixed):
        """How far bits are shifted."""

        exponent: Final = 3
        mantissa: Final = 0


class Block(metaclass=fixed):
    """`zstd_frame::block`"""

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        header: Final = (0, 3)


class BlockHeader(metaclass=fixed):
    """`zstd_frame::block_header`"""

    size: Final = 3

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        is_last: Final = (0, 1)
        kind: Final = (0, 1)
        len_block: Final = (0, 3)

    class shift(metaclass=fixed):
        """How far bits are shifted."""

        is_last: Final = 0
        kind: Final = 1
        len_block: Final = 3
