# Written by `make generated` of the module beside it.
import enum
from typing import Any

from . import data_bundle_shard_header
from ._struct import KaitaiStruct

class DataBundleShard(KaitaiStruct):
    def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    magic: bytes
    len_header: int
    ofs_data: int
    header: data_bundle_shard_header.DataBundleShardHeader
    padding: bytes
    records: bytes
