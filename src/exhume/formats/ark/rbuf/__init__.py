"""rbuf, the serialisation of the Ark framework: registries, a decoder, an encoder and an IDL parser.

Usable without a log:

    registry = load_registry(json_or_idl_text)
    data = encoder_for(registry, "ns::Type").encode({"x": 1.5})
    value = decoder_for(registry, "ns::Type").decode(data)
"""

from __future__ import annotations

from exhume.formats.ark.names import is_guid
from exhume.formats.ark.rbuf.decoder import Decoder
from exhume.formats.ark.rbuf.encoder import Encoder
from exhume.formats.ark.rbuf.guid import guid_bytes, guid_text, new_guid
from exhume.formats.ark.rbuf.idl import load_registry, parse_idl
from exhume.formats.ark.rbuf.registry import EnumType, Field, Group, Registry, Schema
from exhume.formats.ark.rbuf.wire import Note

__all__ = [
    "Decoder",
    "Encoder",
    "EnumType",
    "Field",
    "Group",
    "Note",
    "Registry",
    "Schema",
    "guid_bytes",
    "guid_text",
    "is_guid",
    "load_registry",
    "new_guid",
    "parse_idl",
]
