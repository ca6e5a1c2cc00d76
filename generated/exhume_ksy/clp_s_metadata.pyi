# Written by `make generated` of the module beside it.
import enum
from typing import Any

from . import clp_s_msgpack
from . import utf8_text
from ._struct import KaitaiStruct

class ClpSMetadata(KaitaiStruct):
    class PacketType(enum.IntEnum):
        archive_info = 0
        archive_file_info = 1
        timestamp_dictionary = 2
        range_index = 3
    class TimestampEncoding(enum.IntEnum):
        unknown = 0
        epoch = 1
        double_epoch = 2
    def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    class Packet(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        type: ClpSMetadata.PacketType | int
        len_body: int
        body: ClpSMetadata.PacketBody
    class PacketBody(KaitaiStruct):
        def __init__(self, packet_type: Any, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        packet_type: Any
        content: ClpSMetadata.TimestampDictionary | bytes | clp_s_msgpack.ClpSMsgpack | None
    class TimestampDictionary(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        num_ranges: int
        ranges: list[ClpSMetadata.TimestampRange]
        num_patterns: int
        patterns: list[ClpSMetadata.TimestampPattern]
    class TimestampPattern(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        pattern_id: int
        len_pattern: int
        pattern: utf8_text.Utf8Text
    class TimestampRange(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        len_key: int
        key: utf8_text.Utf8Text
        num_column_ids: int
        column_ids: list[int]
        encoding: ClpSMetadata.TimestampEncoding | int
        begin_epoch: int
        end_epoch: int
        begin_double: float
        end_double: float
    num_packets: int
    packets: list[ClpSMetadata.Packet]
