# Written by `make generated` of the module beside it.
import enum
from typing import Any

from . import ark_rbuf
from ._struct import KaitaiStruct

class ArkManifest(KaitaiStruct):
    def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    class ColumnDeclaration(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        header: ark_rbuf.ArkRbuf.ObjectHeader
        name: ark_rbuf.ArkRbuf.Text
        compression_type: ark_rbuf.ArkRbuf.Text
        num_object_types: int
        object_types: list[ArkManifest.ObjectDeclaration]
        num_splits: int
        splits: list[ArkManifest.SplitDeclaration]
        groups: ark_rbuf.ArkRbuf.GroupList
    class Group(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        header: ark_rbuf.ArkRbuf.GroupHeader
        body: ArkManifest.Metadata | ArkManifest.SectionList | bytes
    class Latching(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        latched: int
    class Metadata(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        header: ark_rbuf.ArkRbuf.ObjectHeader
        num_entries: int
        entries: list[ArkManifest.MetadataEntry]
        groups: ark_rbuf.ArkRbuf.GroupList
    class MetadataEntry(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        key: ark_rbuf.ArkRbuf.Text
        value: ark_rbuf.ArkRbuf.Text
    class ObjectDeclaration(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        header: ark_rbuf.ArkRbuf.ObjectHeader
        name: ark_rbuf.ArkRbuf.Text
        type_identifier: ark_rbuf.ArkRbuf.Text
        identifier: ark_rbuf.ArkRbuf.Guid
        schema_registry: ark_rbuf.ArkRbuf.Text
        groups: list[Any]
    class ObjectGroup(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        header: ark_rbuf.ArkRbuf.GroupHeader
        body: ArkManifest.Latching | bytes
    class Query(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        header: ark_rbuf.ArkRbuf.ObjectHeader
        minimum_time: ark_rbuf.ArkRbuf.OptionalTime
        maximum_time: ark_rbuf.ArkRbuf.OptionalTime
        message_allow_list: ark_rbuf.ArkRbuf.StringList
        message_deny_list: ark_rbuf.ArkRbuf.StringList
        groups: ark_rbuf.ArkRbuf.GroupList
    class Section(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        header: ark_rbuf.ArkRbuf.ObjectHeader
        num_columns: int
        columns: list[ArkManifest.ColumnDeclaration]
        original_log_identifier: ark_rbuf.ArkRbuf.Guid
        acceptance_filter: ArkManifest.Query
        groups: ark_rbuf.ArkRbuf.GroupList
    class SectionList(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        num_sections: int
        sections: list[ArkManifest.Section]
    class SplitDeclaration(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        header: ark_rbuf.ArkRbuf.ObjectHeader
        identifier: ark_rbuf.ArkRbuf.Guid
        num_statistics: int
        statistics: list[ArkManifest.SplitObjectStatistics]
        groups: ark_rbuf.ArkRbuf.GroupList
    class SplitObjectStatistics(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        header: ark_rbuf.ArkRbuf.ObjectHeader
        object_identifier: ark_rbuf.ArkRbuf.Guid
        num_items: int
        num_bytes: int
        minimum_time: int
        maximum_time: int
        groups: ark_rbuf.ArkRbuf.GroupList
    header: ark_rbuf.ArkRbuf.ObjectHeader
    log_identifier: ark_rbuf.ArkRbuf.Guid
    common_identifier: ark_rbuf.ArkRbuf.Guid
    name: ark_rbuf.ArkRbuf.Text
    num_v1_columns: int
    v1_columns: list[ArkManifest.ColumnDeclaration]
    groups: list[Any]
