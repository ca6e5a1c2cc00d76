# Written by `make generated` of the module beside it.
import enum
from typing import Any

from . import ark_manifest
from . import ark_rbuf
from ._struct import KaitaiStruct

class ArkSerializableFile(KaitaiStruct):
    def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    class FileFooter(KaitaiStruct):
        def __init__(self, len_before: Any, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        len_before: Any
        len_trailer: int
        len_content: int
        version: int
        magic: bytes
    class FileTrailer(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        type_name: ark_rbuf.ArkRbuf.Text
        schema_registry: ark_rbuf.ArkRbuf.Text
    content: bytes
    footer: ArkSerializableFile.FileFooter
    manifest: ark_manifest.ArkManifest | None
    trailer: ArkSerializableFile.FileTrailer | None
