"""What ksy/ark_serializable_file.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from builtins import type as fixed
    from typing import Final
else:
    from exhume_ksy.facts._fixed import fixed


class ArkSerializableFile(metaclass=fixed):
    """`ark_serializable_file`"""

    class before_end(metaclass=fixed):
        """Bytes from start and end to the end of the stream."""

        footer: Final = (29, 0)


class FileFooter(metaclass=fixed):
    """`ark_serializable_file::file_footer`"""

    size: Final = 29
    magic: Final = b'\xb6H\xf0\xe8\xfc\xe9\xebS\x1f\xeaLk)\xab\x81\xbc'
    packed: Final = "<IQB16s"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        len_trailer: Final = (0, 4)
        len_content: Final = (4, 12)
        version: Final = (12, 13)
        magic: Final = (13, 29)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        len_trailer: Final = "<I"
        len_content: Final = "<Q"
        version: Final = "<B"
