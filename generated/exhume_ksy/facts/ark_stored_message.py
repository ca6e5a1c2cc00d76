"""What ksy/ark_stored_message.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from builtins import type as fixed
    from enum import IntEnum
    from typing import Final

    class Codec(IntEnum):
        """`ark_stored_message::codec`"""
        NONE = 0
        LZ4 = 1
        ZSTD = 2
        BZ2 = 3
        LZMA = 4

else:
    from exhume_ksy.facts._fixed import enums, fixed
    __getattr__ = enums(__name__, globals(), {
        "Codec": (("NONE", 0), ("LZ4", 1), ("ZSTD", 2), ("BZ2", 3), ("LZMA", 4),),
    })


class ArkStoredMessage(metaclass=fixed):
    """`ark_stored_message`"""

    class before_end(metaclass=fixed):
        """Bytes from start and end to the end of the stream."""

        footer: Final = (6, 0)


class MessageFooter(metaclass=fixed):
    """`ark_stored_message::message_footer`"""

    size: Final = 6
    magic: Final = 0xf0
    dtype: Final = [("len_message", "<u4"), ("codec", "u1"), ("magic", "u1")]
    packed: Final = "<IBB"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        len_message: Final = (0, 4)
        codec: Final = (4, 5)
        magic: Final = (5, 6)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        len_message: Final = "<I"
        codec: Final = "<B"
        magic: Final = "<B"
