# Written by `make generated` of the module beside it.
import enum
from typing import Any

from . import leveldb_log
from ._struct import KaitaiStruct

class LeveldbManifest(KaitaiStruct):
    def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    blocks: list[leveldb_log.LeveldbLog.Block] | None
