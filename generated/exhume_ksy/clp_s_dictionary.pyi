# Written by `make generated` of the module beside it.
import enum
from typing import Any

from . import clp_s_dictionary_entries
from . import zstd_frame
from ._struct import KaitaiStruct

class ClpSDictionary(KaitaiStruct):
    def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    num_entries: int
    compressed: zstd_frame.ZstdFrame
    entries: clp_s_dictionary_entries.ClpSDictionaryEntries | None
