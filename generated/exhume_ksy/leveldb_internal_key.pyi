# Written by `make generated` of the module beside it.
import enum
from typing import Any

from ._struct import KaitaiStruct

class LeveldbInternalKey(KaitaiStruct):
    class ValueTypes(enum.IntEnum):
        deletion = 0
        value = 1
        merge = 2
        single_deletion = 7
        range_deletion = 15
        blob_index = 17
        deletion_with_timestamp = 20
        wide_column_entity = 22
        value_preferred_seqno = 24
    def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    user_key: bytes
    value_type: LeveldbInternalKey.ValueTypes | int
    sequence_lo: int
    sequence_hi: int
    sequence_top: int
    sequence: int
