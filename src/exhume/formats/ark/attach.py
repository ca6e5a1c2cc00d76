"""The last rung of the manifest ladder: attach every split that the manifest's bytes name.

Split headers name their objects; the declarations of those objects are found in the manifest by their GUIDs, so that
names, types and registries survive even where the manifest as a whole cannot be read.
"""

from __future__ import annotations

import struct
from pathlib import PurePosixPath
from typing import Final

from exhume.errors import ExhumeError, Span
from exhume.findings import Finding
from exhume.formats.ark.checks import RUNG
from exhume.formats.ark.layout import (
    CODEC_NUMBERS,
    HEADER_WINDOW,
    MESSAGE_FOOTER_MAGIC,
    TRAILER_FOOTER,
    TRAILER_FOOTER_SIZE,
    TRAILER_MAGIC_BYTES,
    parse_split_header,
)
from exhume.formats.ark.manifest import (
    Column,
    LoadedManifest,
    Manifest,
    ManifestSection,
    ObjectDeclaration,
    Rung,
    SplitDeclaration,
)
from exhume.formats.ark.rbuf.guid import NIL, guid_bytes, guid_text, is_guid
from exhume.formats.ark.splits import Split
from exhume.source import Source, Tree

MAX_NAME: Final = 4096
MAX_REGISTRY: Final = 64 << 20


def embeds_schema(data: bytes) -> bool:
    """Whether a manifest file has a trailer with a schema in it."""
    if not data.endswith(TRAILER_MAGIC_BYTES) or len(data) < TRAILER_FOOTER_SIZE:
        return False
    return bool(TRAILER_FOOTER.unpack_from(data, len(data) - TRAILER_FOOTER_SIZE)[0])


def attach_splits(data: bytes, span: Span, root: Tree, error: ExhumeError | None) -> LoadedManifest | None:
    """A manifest made of the splits below `root` whose GUIDs occur in `data`; None when there are none."""
    columns: list[tuple[int, Column]] = []
    for name in root.names("splits"):
        last = PurePosixPath(name).name
        if not is_guid(last):
            continue
        at = data.find(guid_bytes(last))
        if at < 0:
            continue
        with root.source(name) as source:
            column = column_of_split(source, last.lower(), data)
        if column is not None:
            columns.append((at, column))
    if not columns:
        return None
    columns.sort(key=lambda item: item[0])
    joined: list[Column] = []
    for _, column in columns:
        if joined and joined[-1].objects == column.objects and joined[-1].compression == column.compression:
            joined[-1] = Column(column.name, column.compression, column.objects, joined[-1].splits + column.splits)
        else:
            joined.append(column)
    identifier = guid_text(data[1:17]) if len(data) >= 33 else NIL
    common = guid_text(data[17:33]) if len(data) >= 33 else NIL
    manifest = Manifest(identifier, common, _name(data), (ManifestSection(tuple(joined), identifier),))
    findings = [Finding.from_error(error)] if error is not None else []
    detail = f"{Rung.SALVAGE}: {sum(len(column.splits) for column in joined)} splits, filters are not known"
    findings.append(RUNG.finding(detail, span=span))
    return LoadedManifest(manifest, Rung.SALVAGE, tuple(findings), detail=detail)


def column_of_split(source: Source, identifier: str, data: bytes) -> Column | None:
    """The column that a split belongs to, as far as its header and the manifest's bytes tell; None for no split."""
    head = source.read_up_to(0, HEADER_WINDOW)
    try:
        header = parse_split_header(head, source.span(0, len(head)))
    except ExhumeError:
        return None
    objects = tuple(find_declaration(data, mapping.identifier) for mapping in header.mappings)
    return Column(f"split {identifier}", guess_compression(source), objects, (SplitDeclaration(header.identifier),))


def find_declaration(data: bytes, identifier: str) -> ObjectDeclaration:
    """The declaration of an object, found by its GUID: name and type stand in front of it, the registry behind it.

    An object whose declaration is not found is called by its GUID and has no registry.
    """
    raw = guid_bytes(identifier)
    at = data.find(raw)
    while at >= 0:
        found = _declaration_around(data, at, identifier)
        if found is not None:
            return found
        at = data.find(raw, at + 1)
    return ObjectDeclaration(identifier, "", identifier)


def _declaration_around(data: bytes, at: int, identifier: str) -> ObjectDeclaration | None:
    type_at, type_ = _text_before(data, at)
    if type_ is None:
        return None
    name_at, name = _text_before(data, type_at)
    if name is None or name_at < 1 or data[name_at - 1] not in (0xD1, 0xD5):
        return None
    start = at + 16
    if start + 4 > len(data):
        return None
    (size,) = struct.unpack_from("<I", data, start)
    text = data[start + 4 : start + 4 + size]
    if size > MAX_REGISTRY or len(text) != size:
        return None
    try:
        registry = text.decode()
    except UnicodeDecodeError:
        registry = ""
    end = start + 4 + size
    group = data[end : end + 7]
    latched = data[name_at - 1] == 0xD5 and group[:6] == b"\xe0\0\1\0\0\0" and group[6:7] != b"\0"
    return ObjectDeclaration(name, type_, identifier, registry, latched)


def _text_before(data: bytes, end: int) -> tuple[int, str | None]:
    """The counted text that ends at `end`: the count in front of it must be its length.  The shortest one wins."""
    for size in range(min(MAX_NAME, end - 4) + 1):
        at = end - size - 4
        if data[at : at + 4] == size.to_bytes(4, "little"):
            try:
                text = data[at + 4 : end].decode()
            except UnicodeDecodeError:
                continue
            if text.isprintable() and (size or end >= 8):
                return at, text
    return 0, None


def _name(data: bytes) -> str:
    if len(data) < 37:
        return ""
    size = int.from_bytes(data[33:37], "little")
    if size > MAX_NAME or 37 + size > len(data):
        return ""
    return data[37 : 37 + size].decode("utf-8", "replace")


def guess_compression(source: Source) -> str:
    """The codec of a split: compressed messages all end in a footer, others begin with an object header."""
    try:
        split = Split(source)
        split.check_index()
        entries = split.read_index(0, min(16, split.header.item_count))
        found: set[int] = set()
        for entry in entries:
            stored = source.read_at(int(entry["offset"]), int(entry["size"]))
            if len(stored) < 6 or stored[-1] != MESSAGE_FOOTER_MAGIC:
                return "none"
            found.add(stored[-2])
    except ExhumeError:
        return "none"
    names = {number: name for name, number in CODEC_NUMBERS.items()}
    if not found or not found <= set(names):
        return "none"
    return next((names[number] for number in sorted(found) if number), "lz4")
