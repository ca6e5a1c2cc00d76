"""What ksy/clp_s.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from builtins import type as fixed
    from enum import IntEnum
    from typing import Final

    class Compression(IntEnum):
        """`clp_s::compression`"""
        ZSTD = 0

else:
    from exhume_ksy.facts._fixed import enums, fixed
    __getattr__ = enums(__name__, globals(), {
        "Compression": (("ZSTD", 0),),
    })


class ClpS(metaclass=fixed):
    """`clp_s`"""

    size: Final = 64
    packed: Final = "<4sHBBQQ32sIHH"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        header: Final = (0, 64)


class FileHeader(metaclass=fixed):
    """`clp_s::file_header`"""

    size: Final = 64
    magic: Final = b'\xfd/\xc50'
    packed: Final = "<4sHBBQQ32sIHH"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        magic: Final = (0, 4)
        version: Final = (4, 8)
        len_original: Final = (8, 16)
        len_archive: Final = (16, 24)
        reserved1: Final = (24, 56)
        len_metadata: Final = (56, 60)
        compression_type: Final = (60, 62)
        reserved2: Final = (62, 64)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        len_original: Final = "<Q"
        len_archive: Final = "<Q"
        len_metadata: Final = "<I"
        compression_type: Final = "<H"
        reserved2: Final = "<H"


class Version(metaclass=fixed):
    """`clp_s::version`"""

    size: Final = 4
    dtype: Final = [("patch", "<u2"), ("minor", "u1"), ("major", "u1")]
    packed: Final = "<HBB"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        patch: Final = (0, 2)
        minor: Final = (2, 3)
        major: Final = (3, 4)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        patch: Final = "<H"
        minor: Final = "<B"
        major: Final = "<B"


class Word(metaclass=fixed):
    """`clp_s::word`"""

    class form(metaclass=fixed):
        """Formats of numbers for `struct`."""

        whole: Final = '<q'
        number: Final = '<d'
