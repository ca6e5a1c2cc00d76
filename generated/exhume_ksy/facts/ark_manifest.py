"""What ksy/ark_manifest.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from builtins import type as fixed
    from typing import Final
else:
    from exhume_ksy.facts._fixed import fixed


class ArkManifest(metaclass=fixed):
    """`ark_manifest`"""

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        header: Final = (0, 1)
        log_identifier: Final = (1, 17)
        common_identifier: Final = (17, 33)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        num_v1_columns: Final = "<I"


class Group(metaclass=fixed):
    """`ark_manifest::group`"""

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        header: Final = (0, 6)

    class cases(metaclass=fixed):
        """Values for which there is a type."""

        body: Final = (0, 1)


class SectionList(metaclass=fixed):
    """`ark_manifest::section_list`"""

    prefix: Final = "<I"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        num_sections: Final = (0, 4)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        num_sections: Final = "<I"


class Metadata(metaclass=fixed):
    """`ark_manifest::metadata`"""

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        header: Final = (0, 1)
        num_entries: Final = (1, 5)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        num_entries: Final = "<I"


class Section(metaclass=fixed):
    """`ark_manifest::section`"""

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        header: Final = (0, 1)
        num_columns: Final = (1, 5)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        num_columns: Final = "<I"


class Query(metaclass=fixed):
    """`ark_manifest::query`"""

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        header: Final = (0, 1)


class ColumnDeclaration(metaclass=fixed):
    """`ark_manifest::column_declaration`"""

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        header: Final = (0, 1)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        num_object_types: Final = "<I"
        num_splits: Final = "<I"


class ObjectDeclaration(metaclass=fixed):
    """`ark_manifest::object_declaration`"""

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        header: Final = (0, 1)


class ObjectGroup(metaclass=fixed):
    """`ark_manifest::object_group`"""

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        header: Final = (0, 6)

    class cases(metaclass=fixed):
        """Values for which there is a type."""

        body: Final = (0,)


class Latching(metaclass=fixed):
    """`ark_manifest::latching`"""

    size: Final = 1
    dtype: Final = [("latched", "u1")]
    packed: Final = "<B"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        latched: Final = (0, 1)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        latched: Final = "<B"


class SplitDeclaration(metaclass=fixed):
    """`ark_manifest::split_declaration`"""

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        header: Final = (0, 1)
        identifier: Final = (1, 17)
        num_statistics: Final = (17, 21)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        num_statistics: Final = "<I"


class SplitObjectStatistics(metaclass=fixed):
    """`ark_manifest::split_object_statistics`"""

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        header: Final = (0, 1)
        object_identifier: Final = (1, 17)
        num_items: Final = (17, 25)
        num_bytes: Final = (25, 33)
        minimum_time: Final = (33, 41)
        maximum_time: Final = (41, 49)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        num_items: Final = "<Q"
        num_bytes: Final = "<Q"
        minimum_time: Final = "<Q"
        maximum_time: Final = "<Q"
