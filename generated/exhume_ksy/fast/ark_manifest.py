"""Compiled from ksy/ark_manifest.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations

import struct

from ._layout import LayoutError, View, short
from .ark_rbuf import read_group_header, read_group_list, read_guid, read_object_header, read_optional_time, read_string_list, read_text

_unpack0 = struct.Struct("<I").unpack_from
_unpack1 = struct.Struct("<QQQQ").unpack_from


class ArkManifest:
    """The object ark::logging::Manifest: which split files make up a log, which channels they contain and what a query
    of them may see. It is the content of a serializable file.

    The layout of `query` and of `split_declaration` is not published; what is here is what this project writes. A
    manifest of another writer carries its own registry, which is then correct for these two.
    """
    __slots__ = ('header', 'log_identifier', 'common_identifier', 'name', 'num_v1_columns', 'v1_columns', 'groups')
    header: ObjectHeader
    log_identifier: Guid
    """Identifier of this log, a particular view of the data."""
    common_identifier: Guid
    """Identifier shared by all logs that share data with this one."""
    name: str
    """Name for people."""
    num_v1_columns: int
    """Count of a removed list, always 0."""
    v1_columns: list[ColumnDeclaration]
    groups: list[Group] | None


def read_ark_manifest(view: View, at: int, end: int) -> tuple[ArkManifest, int]:
    """`ark_manifest` at `at`, and where it ends. Raises `LayoutError`."""
    value = ArkManifest()
    try:
        header, at = read_object_header(view, at, end)
    except LayoutError as error:
        error.within("header")
        raise
    value.header = header
    try:
        log_identifier, at = read_guid(view, at, end)
    except LayoutError as error:
        error.within("log_identifier")
        raise
    value.log_identifier = log_identifier
    try:
        common_identifier, at = read_guid(view, at, end)
    except LayoutError as error:
        error.within("common_identifier")
        raise
    value.common_identifier = common_identifier
    try:
        name, at = read_text(view, at, end)
    except LayoutError as error:
        error.within("name")
        raise
    value.name = name
    if end - at < 4:
        raise short("num_v1_columns", at, end, 4)
    (num_v1_columns,) = _unpack0(view, at)
    at += 4
    if num_v1_columns > end - at:
        raise LayoutError("num_v1_columns", at - 4, at, f"at most {end - at}", num_v1_columns)
    value.num_v1_columns = num_v1_columns
    v1_columns = []
    try:
        for _ in range(num_v1_columns):
            one, at = read_column_declaration(view, at, end)
            v1_columns.append(one)
    except LayoutError as error:
        error.within(f"v1_columns[{len(v1_columns)}]")
        raise
    value.v1_columns = v1_columns
    if header.groups_follow:
        groups = []
        try:
            while True:
                one, at = read_group(view, at, end)
                groups.append(one)
                if not one.header.has_more:
                    break
        except LayoutError as error:
            error.within(f"groups[{len(groups)}]")
            raise
    else:
        groups = None
    value.groups = groups
    return value, at


class Group:
    """A group of the manifest; other numbers than 0 and 1 are kept as bytes."""
    __slots__ = ('header', 'body')
    header: GroupHeader
    body: Metadata | SectionList | View
    """Groups of other numbers, of later versions, stay bytes."""


def read_group(view: View, at: int, end: int) -> tuple[Group, int]:
    """`ark_manifest::group` at `at`, and where it ends. Raises `LayoutError`."""
    value = Group()
    try:
        header, at = read_group_header(view, at, end)
    except LayoutError as error:
        error.within("header")
        raise
    value.header = header
    size = header.len_body
    if not 0 <= size <= end - at:
        raise short("body", at, end, size)
    stop = at + size
    on = header.number
    if on == 0:
        try:
            body, _ = read_section_list(view, at, stop)
        except LayoutError as error:
            error.within("body")
            raise
    elif on == 1:
        try:
            body, _ = read_metadata(view, at, stop)
        except LayoutError as error:
            error.within("body")
            raise
    else:
        body = view[at:stop]
    at = stop
    value.body = body
    return value, at


class SectionList:
    """Group 0: the sections of the log."""
    __slots__ = ('num_sections', 'sections')
    num_sections: int
    sections: list[Section]
    """In order; the filter of each applies to all that follow it."""


def read_section_list(view: View, at: int, end: int) -> tuple[SectionList, int]:
    """`ark_manifest::section_list` at `at`, and where it ends. Raises `LayoutError`."""
    value = SectionList()
    if end - at < 4:
        raise short("num_sections", at, end, 4)
    (num_sections,) = _unpack0(view, at)
    at += 4
    if num_sections > end - at:
        raise LayoutError("num_sections", at - 4, at, f"at most {end - at}", num_sections)
    value.num_sections = num_sections
    sections = []
    try:
        for _ in range(num_sections):
            one, at = read_section(view, at, end)
            sections.append(one)
    except LayoutError as error:
        error.within(f"sections[{len(sections)}]")
        raise
    value.sections = sections
    return value, at


class Metadata:
    """The object ark::logging::LogMetadataEntries."""
    __slots__ = ('header', 'num_entries', 'entries', 'groups')
    header: ObjectHeader
    num_entries: int
    entries: list[MetadataEntry]
    groups: GroupList | None
    """Fields of later versions."""


def read_metadata(view: View, at: int, end: int) -> tuple[Metadata, int]:
    """`ark_manifest::metadata` at `at`, and where it ends. Raises `LayoutError`."""
    value = Metadata()
    try:
        header, at = read_object_header(view, at, end)
    except LayoutError as error:
        error.within("header")
        raise
    value.header = header
    if end - at < 4:
        raise short("num_entries", at, end, 4)
    (num_entries,) = _unpack0(view, at)
    at += 4
    if num_entries > end - at:
        raise LayoutError("num_entries", at - 4, at, f"at most {end - at}", num_entries)
    value.num_entries = num_entries
    entries = []
    try:
        for _ in range(num_entries):
            one, at = read_metadata_entry(view, at, end)
            entries.append(one)
    except LayoutError as error:
        error.within(f"entries[{len(entries)}]")
        raise
    value.entries = entries
    if header.groups_follow:
        try:
            groups, at = read_group_list(view, at, end)
        except LayoutError as error:
            error.within("groups")
            raise
    else:
        groups = None
    value.groups = groups
    return value, at


class MetadataEntry:
    """One key with its value."""
    __slots__ = ('key', 'value')
    key: str
    """Any name."""
    value: str
    """JSON text."""


def read_metadata_entry(view: View, at: int, end: int) -> tuple[MetadataEntry, int]:
    """`ark_manifest::metadata_entry` at `at`, and where it ends. Raises `LayoutError`."""
    value = MetadataEntry()
    try:
        key, at = read_text(view, at, end)
    except LayoutError as error:
        error.within("key")
        raise
    value.key = key
    try:
        value_, at = read_text(view, at, end)
    except LayoutError as error:
        error.within("value")
        raise
    value.value = value_
    return value, at


class Section:
    """The object ark::logging::ManifestSection."""
    __slots__ = ('header', 'num_columns', 'columns', 'original_log_identifier', 'acceptance_filter', 'groups')
    header: ObjectHeader
    num_columns: int
    columns: list[ColumnDeclaration]
    original_log_identifier: Guid
    """The log that the section came from."""
    acceptance_filter: Query
    """Applies to every section after this one, not to this one."""
    groups: GroupList | None
    """Fields of later versions."""


def read_section(view: View, at: int, end: int) -> tuple[Section, int]:
    """`ark_manifest::section` at `at`, and where it ends. Raises `LayoutError`."""
    value = Section()
    try:
        header, at = read_object_header(view, at, end)
    except LayoutError as error:
        error.within("header")
        raise
    value.header = header
    if end - at < 4:
        raise short("num_columns", at, end, 4)
    (num_columns,) = _unpack0(view, at)
    at += 4
    if num_columns > end - at:
        raise LayoutError("num_columns", at - 4, at, f"at most {end - at}", num_columns)
    value.num_columns = num_columns
    columns = []
    try:
        for _ in range(num_columns):
            one, at = read_column_declaration(view, at, end)
            columns.append(one)
    except LayoutError as error:
        error.within(f"columns[{len(columns)}]")
        raise
    value.columns = columns
    try:
        original_log_identifier, at = read_guid(view, at, end)
    except LayoutError as error:
        error.within("original_log_identifier")
        raise
    value.original_log_identifier = original_log_identifier
    try:
        acceptance_filter, at = read_query(view, at, end)
    except LayoutError as error:
        error.within("acceptance_filter")
        raise
    value.acceptance_filter = acceptance_filter
    if header.groups_follow:
        try:
            groups, at = read_group_list(view, at, end)
        except LayoutError as error:
            error.within("groups")
            raise
    else:
        groups = None
    value.groups = groups
    return value, at


class Query:
    """The object ark::logging::Query: what the following sections may show. An empty allow list allows all channels."""
    __slots__ = ('header', 'minimum_time', 'maximum_time', 'message_allow_list', 'message_deny_list', 'groups')
    header: ObjectHeader
    minimum_time: OptionalTime
    """Earliest time shown."""
    maximum_time: OptionalTime
    """Latest time shown, inclusive."""
    message_allow_list: StringList
    """Channel names or regular expressions."""
    message_deny_list: StringList
    """Channel names or regular expressions."""
    groups: GroupList | None
    """Fields of later versions."""


def read_query(view: View, at: int, end: int) -> tuple[Query, int]:
    """`ark_manifest::query` at `at`, and where it ends. Raises `LayoutError`."""
    value = Query()
    try:
        header, at = read_object_header(view, at, end)
    except LayoutError as error:
        error.within("header")
        raise
    value.header = header
    try:
        minimum_time, at = read_optional_time(view, at, end)
    except LayoutError as error:
        error.within("minimum_time")
        raise
    value.minimum_time = minimum_time
    try:
        maximum_time, at = read_optional_time(view, at, end)
    except LayoutError as error:
        error.within("maximum_time")
        raise
    value.maximum_time = maximum_time
    try:
        message_allow_list, at = read_string_list(view, at, end)
    except LayoutError as error:
        error.within("message_allow_list")
        raise
    value.message_allow_list = message_allow_list
    try:
        message_deny_list, at = read_string_list(view, at, end)
    except LayoutError as error:
        error.within("message_deny_list")
        raise
    value.message_deny_list = message_deny_list
    if header.groups_follow:
        try:
            groups, at = read_group_list(view, at, end)
        except LayoutError as error:
            error.within("groups")
            raise
    else:
        groups = None
    value.groups = groups
    return value, at


class ColumnDeclaration:
    """The object ark::logging::ColumnDeclaration: channels that share split files and a compression type."""
    __slots__ = ('header', 'name', 'compression_type', 'num_object_types', 'object_types', 'num_splits', 'splits', 'groups')
    header: ObjectHeader
    name: str
    """Name of the column."""
    compression_type: str
    """`none`, `lz4`, `zstd`, `bz2` or `lzma`."""
    num_object_types: int
    object_types: list[ObjectDeclaration]
    """The channels."""
    num_splits: int
    splits: list[SplitDeclaration]
    """The files, in sequence."""
    groups: GroupList | None
    """Fields of later versions."""


def read_column_declaration(view: View, at: int, end: int) -> tuple[ColumnDeclaration, int]:
    """`ark_manifest::column_declaration` at `at`, and where it ends. Raises `LayoutError`."""
    value = ColumnDeclaration()
    try:
        header, at = read_object_header(view, at, end)
    except LayoutError as error:
        error.within("header")
        raise
    value.header = header
    try:
        name, at = read_text(view, at, end)
    except LayoutError as error:
        error.within("name")
        raise
    value.name = name
    try:
        compression_type, at = read_text(view, at, end)
    except LayoutError as error:
        error.within("compression_type")
        raise
    value.compression_type = compression_type
    if end - at < 4:
        raise short("num_object_types", at, end, 4)
    (num_object_types,) = _unpack0(view, at)
    at += 4
    if num_object_types > end - at:
        raise LayoutError("num_object_types", at - 4, at, f"at most {end - at}", num_object_types)
    value.num_object_types = num_object_types
    object_types = []
    try:
        for _ in range(num_object_types):
            one, at = read_object_declaration(view, at, end)
            object_types.append(one)
    except LayoutError as error:
        error.within(f"object_types[{len(object_types)}]")
        raise
    value.object_types = object_types
    if end - at < 4:
        raise short("num_splits", at, end, 4)
    (num_splits,) = _unpack0(view, at)
    at += 4
    if num_splits > end - at:
        raise LayoutError("num_splits", at - 4, at, f"at most {end - at}", num_splits)
    value.num_splits = num_splits
    splits = []
    try:
        for _ in range(num_splits):
            one, at = read_split_declaration(view, at, end)
            splits.append(one)
    except LayoutError as error:
        error.within(f"splits[{len(splits)}]")
        raise
    value.splits = splits
    if header.groups_follow:
        try:
            groups, at = read_group_list(view, at, end)
        except LayoutError as error:
            error.within("groups")
            raise
    else:
        groups = None
    value.groups = groups
    return value, at


class ObjectDeclaration:
    """The object ark::logging::ObjectDeclaration: one channel."""
    __slots__ = ('header', 'name', 'type_identifier', 'identifier', 'schema_registry', 'groups')
    header: ObjectHeader
    name: str
    """Name of the channel."""
    type_identifier: str
    """Qualified name of the type of its messages."""
    identifier: Guid
    """What the headers of split files call the channel."""
    schema_registry: str
    """JSON text with every schema and enumeration that the type needs."""
    groups: list[ObjectGroup] | None


def read_object_declaration(view: View, at: int, end: int) -> tuple[ObjectDeclaration, int]:
    """`ark_manifest::object_declaration` at `at`, and where it ends. Raises `LayoutError`."""
    value = ObjectDeclaration()
    try:
        header, at = read_object_header(view, at, end)
    except LayoutError as error:
        error.within("header")
        raise
    value.header = header
    try:
        name, at = read_text(view, at, end)
    except LayoutError as error:
        error.within("name")
        raise
    value.name = name
    try:
        type_identifier, at = read_text(view, at, end)
    except LayoutError as error:
        error.within("type_identifier")
        raise
    value.type_identifier = type_identifier
    try:
        identifier, at = read_guid(view, at, end)
    except LayoutError as error:
        error.within("identifier")
        raise
    value.identifier = identifier
    try:
        schema_registry, at = read_text(view, at, end)
    except LayoutError as error:
        error.within("schema_registry")
        raise
    value.schema_registry = schema_registry
    if header.groups_follow:
        groups = []
        try:
            while True:
                one, at = read_object_group(view, at, end)
                groups.append(one)
                if not one.header.has_more:
                    break
        except LayoutError as error:
            error.within(f"groups[{len(groups)}]")
            raise
    else:
        groups = None
    value.groups = groups
    return value, at


class ObjectGroup:
    """A group of an object declaration."""
    __slots__ = ('header', 'body')
    header: GroupHeader
    body: Latching | View
    """Groups of other numbers, of later versions, stay bytes."""


def read_object_group(view: View, at: int, end: int) -> tuple[ObjectGroup, int]:
    """`ark_manifest::object_group` at `at`, and where it ends. Raises `LayoutError`."""
    value = ObjectGroup()
    try:
        header, at = read_group_header(view, at, end)
    except LayoutError as error:
        error.within("header")
        raise
    value.header = header
    size = header.len_body
    if not 0 <= size <= end - at:
        raise short("body", at, end, size)
    stop = at + size
    on = header.number
    if on == 0:
        try:
            body, _ = read_latching(view, at, stop)
        except LayoutError as error:
            error.within("body")
            raise
    else:
        body = view[at:stop]
    at = stop
    value.body = body
    return value, at


class Latching:
    """Group 0: whether the channel is latched."""
    __slots__ = ('latched',)
    latched: int
    """Not 0 when the last message of this channel is to be given at the beginning of any query."""


def read_latching(view: View, at: int, end: int) -> tuple[Latching, int]:
    """`ark_manifest::latching` at `at`, and where it ends. Raises `LayoutError`."""
    value = Latching()
    if at >= end:
        raise short("latched", at, end, 1)
    latched = view[at]
    at += 1
    value.latched = latched
    return value, at


class SplitDeclaration:
    """The object ark::logging::SplitDeclaration: one split file."""
    __slots__ = ('header', 'identifier', 'num_statistics', 'statistics', 'groups')
    header: ObjectHeader
    identifier: Guid
    """Name of the split file."""
    num_statistics: int
    statistics: list[SplitObjectStatistics]
    groups: GroupList | None
    """Fields of later versions."""


def read_split_declaration(view: View, at: int, end: int) -> tuple[SplitDeclaration, int]:
    """`ark_manifest::split_declaration` at `at`, and where it ends. Raises `LayoutError`."""
    value = SplitDeclaration()
    try:
        header, at = read_object_header(view, at, end)
    except LayoutError as error:
        error.within("header")
        raise
    value.header = header
    try:
        identifier, at = read_guid(view, at, end)
    except LayoutError as error:
        error.within("identifier")
        raise
    value.identifier = identifier
    if end - at < 4:
        raise short("num_statistics", at, end, 4)
    (num_statistics,) = _unpack0(view, at)
    at += 4
    if num_statistics > end - at:
        raise LayoutError("num_statistics", at - 4, at, f"at most {end - at}", num_statistics)
    value.num_statistics = num_statistics
    statistics = []
    try:
        for _ in range(num_statistics):
            one, at = read_split_object_statistics(view, at, end)
            statistics.append(one)
    except LayoutError as error:
        error.within(f"statistics[{len(statistics)}]")
        raise
    value.statistics = statistics
    if header.groups_follow:
        try:
            groups, at = read_group_list(view, at, end)
        except LayoutError as error:
            error.within("groups")
            raise
    else:
        groups = None
    value.groups = groups
    return value, at


class SplitObjectStatistics:
    """Number and size of the messages of one channel in a split file."""
    __slots__ = ('header', 'object_identifier', 'num_items', 'num_bytes', 'minimum_time', 'maximum_time', 'groups')
    header: ObjectHeader
    object_identifier: Guid
    num_items: int
    """Messages."""
    num_bytes: int
    """Stored bytes of the messages."""
    minimum_time: int
    """Time of the first message in nanoseconds."""
    maximum_time: int
    """Time of the last message in nanoseconds."""
    groups: GroupList | None
    """Fields of later versions."""


def read_split_object_statistics(view: View, at: int, end: int) -> tuple[SplitObjectStatistics, int]:
    """`ark_manifest::split_object_statistics` at `at`, and where it ends. Raises `LayoutError`."""
    value = SplitObjectStatistics()
    try:
        header, at = read_object_header(view, at, end)
    except LayoutError as error:
        error.within("header")
        raise
    value.header = header
    try:
        object_identifier, at = read_guid(view, at, end)
    except LayoutError as error:
        error.within("object_identifier")
        raise
    value.object_identifier = object_identifier
    if end - at < 32:
        raise short((("num_items", 8), ("num_bytes", 16), ("minimum_time", 24), ("maximum_time", 32),), at, end, 32)
    num_items, num_bytes, minimum_time, maximum_time = _unpack1(view, at)
    at += 32
    value.num_items = num_items
    value.num_bytes = num_bytes
    value.minimum_time = minimum_time
    value.maximum_time = maximum_time
    if header.groups_follow:
        try:
            groups, at = read_group_list(view, at, end)
        except LayoutError as error:
            error.within("groups")
            raise
    else:
        groups = None
    value.groups = groups
    return value, at
