"""What ksy/clp_s_table_metadata.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from builtins import type as fixed
    from typing import Final
else:
    from exhume_ksy.facts._fixed import fixed


class ClpSTableMetadata(metaclass=fixed):
    """`clp_s_table_metadata`"""

    prefix: Final = "<Q"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        num_streams: Final = (0, 8)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        num_streams: Final = "<Q"
        num_separate_column_schemas: Final = "<Q"
        num_tables: Final = "<Q"

    class each(metaclass=fixed):
        """Bytes of each element."""

        streams: Final = 16
        tables: Final = 28


class Stream(metaclass=fixed):
    """`clp_s_table_metadata::stream`"""

    size: Final = 16
    dtype: Final = [("ofs_stream", "<u8"), ("len_uncompressed", "<u8")]
    packed: Final = "<QQ"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        ofs_stream: Final = (0, 8)
        len_uncompressed: Final = (8, 16)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        ofs_stream: Final = "<Q"
        len_uncompressed: Final = "<Q"


class Table(metaclass=fixed):
    """`clp_s_table_metadata::table`"""

    size: Final = 28
    dtype: Final = [("stream_id", "<u8"), ("ofs_table", "<u8"), ("schema_id", "<i4"), ("num_messages", "<u8")]
    packed: Final = "<QQiQ"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        stream_id: Final = (0, 8)
        ofs_table: Final = (8, 16)
        schema_id: Final = (16, 20)
        num_messages: Final = (20, 28)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        stream_id: Final = "<Q"
        ofs_table: Final = "<Q"
        schema_id: Final = "<i"
        num_messages: Final = "<Q"
