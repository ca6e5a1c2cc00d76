"""`exhume_ksy.facts`: what the specifications fix, against one another and against bytes."""

from __future__ import annotations

import struct
from importlib import import_module
from typing import Any

from exhume_ksy.facts import zs

from tests.toolchain.trees import spec_ids


def test_formats_of_the_ends_fit_the_places_of_fields() -> None:
    seen = 0
    for schema in spec_ids():
        module = import_module(f"exhume_ksy.facts.{schema}")
        kind: Any
        for kind in vars(module).values():
            if not isinstance(prefix := getattr(kind, "prefix", None), str):
                continue
            ends = [place[1] for name, place in vars(kind.at).items() if not name.startswith("__")]
            assert struct.calcsize(prefix) in ends, kind
            seen += 1
    assert seen > 20


def test_the_ends_of_a_type_are_what_its_bytes_are_packed_with() -> None:
    assert struct.Struct(zs.Zs.prefix).pack(zs.Zs.magic[1], 3) == b"\xabZStoBe\x01\x03" + bytes(7)
    assert struct.calcsize(zs.FileHeader.prefix) == zs.FileHeader.at.len_metadata[1] == 80
    assert (zs.Zs.suffix, zs.Block.suffix) == ("<II", "<II")
