"""What ksy/ark_manifest.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final


class ArkManifest:
    """`ark_manifest`"""

    class at:
        """Where fields start and end, in bytes from the start."""

        header: Final = (0, 1)
        log_identifier: Final = (1, 17)
        common_identifier: Final = (17, 33)

    class format:
        """Numbers by themselves."""

        num_v1_columns: Final = "<I"


class Group:
    """`ark_manifest::group`"""

    class at:
        """Where fields start and end, in bytes from the start."""

        header: Final = (0, 6)

    class cases:
        """Values for which there is a type."""

        body: Final = (0, 1)


class SectionList:
    """`ark_manifest::section_list`"""

    prefix: Final = "<I"

    class at:
        """Where fields start and end, in bytes from the start."""

        num_sections: Final = (0, 4)

    class format:
        """Numbers by themselves."""

        num_sections: Final = "<I"


class Metadata:
    """`ark_manifest::metadata`"""

    class at:
        """Where fields start and end, in bytes from the start."""

        header: Final = (0, 1)
        num_entries: Final = (1, 5)

    class format:
        """Numbers by themselves."""

        num_entries: Final = "<I"


class Section:
    """`ark_manifest::section`"""

    class at:
        """Where fields start and end, in bytes from the start."""

        header: Final = (0, 1)
        num_columns: Final = (1, 5)

    class format:
        """Numbers by themselves."""

        num_columns: Final = "<I"


class Query:
    """`ark_manifest::query`"""

    class at:
        """Where fields start and end, in bytes from the start."""

        header: Final = (0, 1)


class ColumnDeclaration:
    """`ark_manifest::column_declaration`"""

    class at:
        """Where fields start and end, in bytes from the start."""

        header: Final = (0, 1)

    class format:
        """Numbers by themselves."""

        num_object_types: Final = "<I"
        num_splits: Final = "<I"


class ObjectDeclaration:
    """`ark_manifest::object_declaration`"""

    class at:
        """Where fields start and end, in bytes from the start."""

        header: Final = (0, 1)


class ObjectGroup:
    """`ark_manifest::object_group`"""

    class at:
        """Where fields start and end, in bytes from the start."""

        header: Final = (0, 6)

    class cases:
        """Values for which there is a type."""

        body: Final = (0,)


class Latching:
    """`ark_manifest::latching`"""

    size: Final = 1
    dtype: Final = [("latched", "u1")]
    packed: Final = "<B"

    class at:
        """Where fields start and end, in bytes from the start."""

        latched: Final = (0, 1)

    class format:
        """Numbers by themselves."""

        latched: Final = "<B"


class SplitDeclaration:
    """`ark_manifest::split_declaration`"""

    class at:
        """Where fields start and end, in bytes from the start."""

        header: Final = (0, 1)
        identifier: Final = (1, 17)
        num_statistics: Final = (17, 21)

    class format:
        """Numbers by themselves."""

        num_statistics: Final = "<I"


class SplitObjectStatistics:
    """`ark_manifest::split_object_statistics`"""

    class at:
        """Where fields start and end, in bytes from the start."""

        header: Final = (0, 1)
        object_identifier: Final = (1, 17)
        num_items: Final = (17, 25)
        num_bytes: Final = (25, 33)
        minimum_time: Final = (33, 41)
        maximum_time: Final = (41, 49)

    class format:
        """Numbers by themselves."""

        num_items: Final = "<Q"
        num_bytes: Final = "<Q"
        minimum_time: Final = "<Q"
        maximum_time: Final = "<Q"
