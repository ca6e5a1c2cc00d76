# Written by `make generated` of the module beside it.
import enum
from typing import Any

from ._struct import KaitaiStruct

class ZstdFrame(KaitaiStruct):
    class BlockKind(enum.IntEnum):
        raw = 0
        rle = 1
        compressed = 2
    class FrameKind(enum.IntEnum):
        skippable0 = 407710288
        skippable1 = 407710289
        skippable2 = 407710290
        skippable3 = 407710291
        skippable4 = 407710292
        skippable5 = 407710293
        skippable6 = 407710294
        skippable7 = 407710295
        skippable8 = 407710296
        skippable9 = 407710297
        skippable10 = 407710298
        skippable11 = 407710299
        skippable12 = 407710300
        skippable13 = 407710301
        skippable14 = 407710302
        skippable15 = 407710303
        zstandard = 4247762216
    def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    class Block(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        header: ZstdFrame.BlockHeader
        content: ZstdFrame.BlockContent
        is_raw: bool
        len_content: int
    class BlockContent(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        data: bytes
    class BlockHeader(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        is_last: bool
        kind: ZstdFrame.BlockKind | int
        len_block: int
    class Frame(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        magic: ZstdFrame.FrameKind | int
        skippable: ZstdFrame.SkippableBody
        body: ZstdFrame.ZstandardBody
        is_stored: bool
    class FrameDescriptor(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        content_size_flag: int
        is_single_segment: bool
        unused: bool
        reserved: bool
        has_checksum: bool
        dictionary_id_flag: int
    class SkippableBody(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        len_data: int
        data: bytes
    class WindowDescriptor(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        exponent: int
        mantissa: int
        log_window: int
    class ZstandardBody(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        descriptor: ZstdFrame.FrameDescriptor
        window: ZstdFrame.WindowDescriptor
        dictionary_id1: int
        dictionary_id2: int
        dictionary_id4: int
        content_size1: int
        content_size2: int
        content_size4: int
        content_size8: int
        blocks: list[Any]
        checksum: int
        is_stored: bool
    frames: list[ZstdFrame.Frame]
    is_stored: bool
