"""The splits of a manifest that cannot be read as a whole, attached by their GUIDs.

Every split file whose GUID occurs in the manifest's bytes is one of the log.  Split headers name their objects
(channels); the declarations of those objects are found in the manifest by their GUIDs, so that names, types and
schema registries survive.
"""

from __future__ import annotations

from posixpath import basename
from typing import Final

from exhume.counts import counted
from exhume.errors import ExhumeError, Span
from exhume.findings import Finding
from exhume.formats.ark.checks import SCHEMA_SOURCE
from exhume.formats.ark.layout import (
    CODEC_NAMES,
    HEADER_WINDOW,
    MANIFEST_FIELDS,
    parse_file_footer,
    parse_message_footer,
    parse_split_header,
    read_counted,
    read_first_group,
    read_guid_at,
    read_text_before,
)
from exhume.formats.ark.manifest import (
    Column,
    LoadedManifest,
    Manifest,
    ManifestSection,
    ObjectDeclaration,
    SchemaSource,
    SplitDeclaration,
)
from exhume.formats.ark.names import is_guid
from exhume.formats.ark.rbuf.layout import (
    COUNT_SIZE,
    GUID_SIZE,
    HEADER_WITH_GROUPS,
    HEADERS,
    NIL,
    guid_bytes,
    pack_count,
)
from exhume.formats.ark.splits import Split
from exhume.io.source import Source
from exhume.io.tree import Tree

MAX_NAME: Final = 4096
"""Bytes of the longest name that the search for declarations takes for one."""
MAX_REGISTRY: Final = 64 << 20
"""Bytes of the largest schema registry that it takes for one."""


def embeds_schema(data: bytes) -> bool:
    """Whether a manifest file has a trailer with a schema in it."""
    footer = parse_file_footer(data)
    return footer is not None and footer.len_trailer > 0


def attach_splits(data: bytes, span: Span, root: Tree, error: ExhumeError | None) -> LoadedManifest | None:
    """A manifest made of the splits below `root` whose GUIDs occur in `data`; None when there are none."""
    columns: list[tuple[int, Column]] = []
    for name in root.names("splits"):
        last = basename(name)
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
    # Splits of one column follow each other in the manifest.
    columns.sort(key=lambda item: item[0])  # by the offset of the split's GUID
    joined: list[Column] = []
    for _, column in columns:
        if joined and joined[-1].objects == column.objects and joined[-1].compression == column.compression:
            joined[-1] = Column(column.name, column.compression, column.objects, joined[-1].splits + column.splits)
        else:
            joined.append(column)
    # The fields at the start of the manifest, as far as they can be read: the first GUID only if the second is there.
    common = read_guid_at(data, MANIFEST_FIELDS.common_identifier)
    identifier = (read_guid_at(data, MANIFEST_FIELDS.log_identifier) if common else None) or NIL
    manifest = Manifest(identifier, common or NIL, _name(data), (ManifestSection(tuple(joined), identifier),))
    findings = [Finding.from_error(error)] if error is not None else []
    count = counted(sum(len(column.splits) for column in joined), "splits")
    detail = f"{SchemaSource.SALVAGE}: {count}, filters are not known"
    findings.append(SCHEMA_SOURCE.finding(detail, span=span))
    return LoadedManifest(manifest, SchemaSource.SALVAGE, tuple(findings))


def column_of_split(source: Source, identifier: str, data: bytes) -> Column | None:
    """The column that a split belongs to, by its header and the manifest's bytes; None when it is not a split."""
    head = source.read_up_to(0, HEADER_WINDOW)
    try:
        header = parse_split_header(head, source.span(0, len(head)))
    except ExhumeError:
        return None
    objects = tuple(find_declaration(data, mapping.identifier) for mapping in header.mappings)
    return Column(f"split {identifier}", guess_compression(source), objects, (SplitDeclaration(header.identifier),))


def find_declaration(data: bytes, identifier: str) -> ObjectDeclaration:
    """The declaration of an object, found by its GUID: name and type precede the GUID, and the registry follows it.

    An object whose declaration is not found is named by its GUID and has no registry.
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
    """Return the object declaration whose GUID is stored at `at`; None if the bytes are not one.

    The name and the type are the strings before it, the schema registry is the string after it.
    """
    # Read backwards from the GUID: type, name, header of the object; then forwards.
    type_at, type_ = _text_before(data, at)
    if type_ is None:
        return None
    name_at, name = _text_before(data, type_at)
    if name is None or name_at < 1 or data[name_at - 1] not in HEADERS:
        return None
    registry_at = at + GUID_SIZE
    text, end = read_counted(data, registry_at) or (None, registry_at)
    if text is None or len(text) > MAX_REGISTRY:
        return None
    try:
        registry = text.decode()
    except UnicodeDecodeError:
        registry = ""
    latched = data[name_at - 1] == HEADER_WITH_GROUPS and _is_latched(data, end)
    return ObjectDeclaration(name, type_, identifier, registry, latched)


def _is_latched(data: bytes, groups_at: int) -> bool:
    """Whether a channel is latched, by the groups of its declaration: group 0 consists of this one boolean."""
    number, body = read_first_group(data, groups_at) or (None, b"")
    return number == 0 and len(body) == 1 and any(body)


def _text_before(data: bytes, end: int) -> tuple[int, str | None]:
    """The position and the text of the counted string that ends at `end`: the count before it must be its length.

    If there are several such strings, the shortest is taken; if there is none, the text is None.
    """
    for size in range(min(MAX_NAME, end - COUNT_SIZE) + 1):
        at = end - size - COUNT_SIZE
        text = read_text_before(data, at, end) if data.startswith(pack_count(size), at) else None
        # An empty string only where another string can precede it: four zeros are common.
        if text is not None and text.isprintable() and (size or at >= COUNT_SIZE):
            return at, text
    return 0, None


def _name(data: bytes) -> str:
    """The name of the log, which follows its two GUIDs; empty if it cannot be read."""
    _, name_at = MANIFEST_FIELDS.common_identifier  # start and end of the second GUID
    name, _ = read_counted(data, name_at) or (b"", name_at)
    return "" if len(name) > MAX_NAME else name.decode("utf-8", "replace")


def guess_compression(source: Source) -> str:
    """Return the codec of a split: compressed messages all end in a footer; if one does not, none is compressed.

    Only messages that are completely in the file count.
    """
    found: set[int] = set()
    try:
        split = Split(source)
        split.check_index()
        for entry in split.read_index(0, min(16, split.header.item_count)):  # a sample of the messages
            start, size = int(entry["ofs_data"]), int(entry["len_data"])
            if start + size <= source.size:
                found.add(parse_message_footer(source.read_at(start, size), source.span(0, 0)).codec)
    except ExhumeError:
        return "none"
    if not found or not found <= set(CODEC_NAMES):
        return "none"
    # Footers may say that a message is stored as it is (0).  If all do, any codec will do: each message has its own.
    return next((CODEC_NAMES[number] for number in sorted(found) if number), "lz4")
