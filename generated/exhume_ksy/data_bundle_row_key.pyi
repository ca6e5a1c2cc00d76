# Written by `make generated` of the module beside it.
import enum
from typing import Any

from . import data_bundle_key
from . import leveldb_internal_key
from ._struct import KaitaiStruct

class DataBundleRowKey(KaitaiStruct):
    def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    row: data_bundle_key.DataBundleKey
    version: leveldb_internal_key.LeveldbInternalKey
