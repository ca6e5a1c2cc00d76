"""Places of `explain --ksy`, field by field: those that Kaitai's own classes note while they read."""

from __future__ import annotations

import functools
import importlib
import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from kaitaistruct import BytesIO, KaitaiStream, KaitaiStruct

from exhume.errors import Span
from exhume.layout.foreign import Specification
from exhume.layout.kaitai import FAILURES
from exhume.layout.schema import Explainer
from tests.conftest import ROOT
from tests.toolchain.collection import PUBLIC, Collection, Tried
from tests.toolchain.differential import FOREIGN
from tests.toolchain.natively import made_for

BITS = re.compile(r"b[0-9]")
"""Types of bits, for which Kaitai notes no places."""
MOST = 3_000
"""Fields of one input that are compared."""

PUBLIC_ONES = [
    "archive/zip", "database/dbf", "database/sqlite3", "executable/java_class", "executable/elf", "filesystem/vfat",
    "font/ttf", "game/quake_mdl", "hardware/edid", "image/bmp", "image/gif", "image/png", "image/tga", "log/glibc_utmp",
    "media/stl", "media/wav", "media/id3v2_3", "network/dns_packet", "network/pcap", "network/tls_client_hello",
    "serialization/google_protobuf", "serialization/msgpack", "windows/windows_lnk_file", "archive/cpio_old_le",
]  # fmt: skip


class Places(Collection):
    """Compares places instead of values."""

    def _attempt(self, file: Path, specification: Specification, seeds: int) -> Tried:
        package, out = self.oracles[file], Tried()
        FOREIGN[package] = specification
        type = specification.model.schemas[specification.id]
        plain = getattr(importlib.import_module(f"{package}.{type.id}"), type.class_name)
        for seed in range(seeds):
            for data, given in made_for(specification, random.Random(f"{type.id} {seed}"))[-3:]:
                slow = plain(*given, KaitaiStream(BytesIO(data)))
                try:
                    slow._read()
                except (*FAILURES, ZeroDivisionError):
                    out.whole -= 1
                out.whole += 1
                explained = specification.explain(Explainer(Span("x", 0, len(data)), whole=True), data)
                spans = {node.path: node.span for _, node in explained.walk() if not BITS.match(node.type)}
                for path, place in _noted(slow, specification.id, 0):
                    span = spans.get(path)
                    if span is None:
                        continue
                    out.compared += 1
                    if place != (span.start, span.end):
                        out.problem = f"{data.hex()}: {path}: Kaitai {place}, explained {span.start, span.end}"
                        return out
        return out


def _noted(value: KaitaiStruct, path: str, base: int) -> Iterator[tuple[str, tuple[int, int]]]:
    """The places of the fields in a structure whose stream begins at `base`, without those in decoded bytes."""
    found: list[tuple[str, KaitaiStruct, int]] = [(path, value, base)]
    left = MOST
    while found and left > 0:
        path, value, base = found.pop()
        for name, noted in value._debug.items():
            one = getattr(value, name.removeprefix("_m_"), None) if not name.startswith("_m_") else None
            if one is None or "end" not in noted:
                continue
            here = f"{path}.{name}"
            left -= 1
            yield here, (base + noted["start"], base + noted["end"])
            each = [(here, one, noted)]
            if isinstance(one, list):
                each = [(f"{here}[{i}]", *pair) for i, pair in enumerate(zip(one, noted.get("arr", ()), strict=False))]
                yield from ((to, (base + at["start"], base + at["end"])) for to, _, at in each if "end" in at)
            for to, part, at in each:
                if isinstance(part, KaitaiStruct) and "end" in at:
                    own = part._io is not value._io
                    if own and part._io.size() != at["end"] - at["start"]:
                        continue  # of bytes that were decoded, or cut at a terminator
                    found.append((to, part, base + at["start"] if own else base))


@functools.cache
def places(folder: Path) -> Places:
    """Kaitai's compiler takes a second to begin, so it compiles all of a folder once."""
    return Places(folder)


@pytest.mark.node
@pytest.mark.slow
@pytest.mark.xdist_group("places")
@pytest.mark.parametrize(
    ("folder", "name"),
    [
        *((ROOT / "tests/toolchain/foreign", file.stem) for file in (ROOT / "tests/toolchain/foreign").glob("*.ksy")),
        *((Path(str(PUBLIC)), name) for name in (PUBLIC_ONES if PUBLIC else ())),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_places_are_those_that_kaitai_notes(folder: Path, name: str) -> None:
    collection = places(folder)
    file = folder / f"{name}.ksy"
    tried = collection.compare(file, collection.compiled(file), 3)
    assert not tried.problem
    assert tried.compared > 0
