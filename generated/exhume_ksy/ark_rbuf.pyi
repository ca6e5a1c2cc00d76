# Written by `make generated` of the module beside it.
import enum
from typing import Any

from ._struct import KaitaiStruct

class ArkRbuf(KaitaiStruct):
    def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    class ByteBuffer(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        len_value: int
        value: bytes
    class Count(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        value: int
    class Group(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        header: ArkRbuf.GroupHeader
        body: bytes
    class GroupHeader(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        magic: int
        reserved: bool
        has_more: bool
        reserved1: int
        number: int
        len_body: int
    class GroupList(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        groups: list[Any]
    class Guid(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        digits1: int
        digits0: int
        digits3: int
        digits2: int
        high: int
        low: int
    class ObjectHeader(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        magic: int
        reserved: bool
        has_groups: bool
        version: int
        groups_follow: bool
    class OptionalTime(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        is_present: int
        value: int
    class StringList(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        num_items: int
        items: list[ArkRbuf.Text]
    class Text(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        len_value: int
        value: str
    class VariantHeader(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        index: int
        len_object: int
    header: ArkRbuf.ObjectHeader
    body: bytes
