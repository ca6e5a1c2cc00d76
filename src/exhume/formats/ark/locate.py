"""Finding manifests and splits inside raw bytes, for `exhume carve`.

A log is a manifest and splits, which are files with an index and messages.  An entry of the index has time, place, size
and short identifier of a message; the split's header maps short identifiers to objects (channels).

A split is found by its header and ends with its last message or index slot; a manifest is found by the magic at its end
and begins at the offset in its footer.

Messages are checked without a manifest, which would name their codec and schemas.  Compressed messages end with a
footer and unpack to the size that it states.  Others start with the header byte of an object, unless their schema is
`final`.  If that byte announces groups, the last group ends with the message.  If the first messages of a channel have
this form, all of them must.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from exhume.codecs.blocks import LZ4_FRAME_MAGIC
from exhume.codecs.zstd import ZSTD_MAGIC
from exhume.errors import ExhumeError, LimitExceededError, SourceError, Span, UnsupportedFeatureError
from exhume.findings import Finding
from exhume.formats.ark.assumptions import MANIFEST_TYPE
from exhume.formats.ark.checks import FOOTER_CODEC, GROUP_HEADER, NO_DECODE, OBJECT_HEADER
from exhume.formats.ark.kernel import ark_portions
from exhume.formats.ark.layout import (
    ENTRY_SIZE,
    HEADER_WINDOW,
    MESSAGE_FOOTER_MAGIC,
    MESSAGE_FOOTER_SIZE,
    TRAILER_FOOTER_SIZE,
    TRAILER_MAGIC_BYTES,
    SplitHeader,
    group_end,
    parse_file_footer,
    parse_index,
    parse_message_footer,
    parse_serializable_file,
    parse_split_header,
    read_counted,
)
from exhume.formats.ark.manifest_load import load_manifest
from exhume.formats.ark.messages import Decompressor
from exhume.formats.ark.rbuf.layout import GROUP_HEADER_SIZE, GROUP_LAST, HEADER, HEADERS, is_object
from exhume.formats.ark.splits import BATCH_BYTES, Array, Split, places_of
from exhume.formats.ark.verify import check_entries
from exhume.io.source import Source
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.recovery import ArchivePiece, CarvedArchive, CarveVerdict, VerifiedBy

BATCH: Final = 4096  # entries of an index that are examined at a time
ENTRIES_EXAMINED: Final = 3
"""If this many messages of an object start with a header byte, all of them must; a single one may by accident."""

_FOREIGN, _FRAMED, _UNPACKED, _UNCHECKED = range(4)
"""States of a message: no message; begins and ends like an object; decompressed; compressed but not checked.

Their order counts: those below `_UNPACKED` were not compressed.
"""


def _nowhere() -> Span:
    """The span for errors that are not shown."""
    return Span("", 0, 0)


def prove_messages(split: Split, entries: Array, limits: Limits) -> tuple[Array, list[Finding], VerifiedBy]:
    """Read every message of a split, a bounded number of bytes at a time.

    Returns `(bad, findings, verified_by)`: the entries that do not lead to a message, the problem with the first of
    them, and how the others were checked.
    """
    unpack = Decompressor("lz4", limits)  # it follows the footer of each message, whatever the codec here
    states = np.fromiter(_states(split, entries, unpack), np.uint8, len(entries))
    unchecked = states == _UNCHECKED
    # If one message is compressed, all of the split's are: columns have one codec.
    packed = bool(((states == _UNPACKED) | unchecked).any())
    bad, proof = ((states < _UNPACKED), VerifiedBy.STRUCTURE) if packed else _unframed(entries, states)
    faulty = _in_file(entries, bad | unchecked)[:MOST_FINDINGS]
    findings = [_finding(split, entries[at], unpack, packed=packed) for at in faulty]
    return bad, findings, proof


def _unframed(entries: Array, states: Array) -> tuple[Array, VerifiedBy]:
    """Return which messages lack the header byte although others of their object have it, and how these are verified.

    Messages of an object whose first ones lack the header byte are not verified at all.
    """
    bad = np.zeros(len(entries), np.bool_)
    proof = VerifiedBy.STRUCTURE
    for short in np.unique(entries["object_identifier"]).tolist():
        mine = np.flatnonzero(entries["object_identifier"] == short)
        first = mine[np.argsort(entries["ofs_data"][mine], kind="stable")][:ENTRIES_EXAMINED]
        if bool((states[first] == _FRAMED).all()):
            bad[mine] = states[mine] != _FRAMED
        else:
            proof = VerifiedBy.NONE
    return bad, proof


def _states(split: Split, entries: Array, unpack: Decompressor) -> Iterator[int]:
    """The state of each message, in the order of the entries; a bounded number of bytes is held."""
    for start in range(0, len(entries), BATCH):
        part = entries[start : start + BATCH]
        offsets, sizes = places_of(part)
        for first, stop in ark_portions(sizes, BATCH_BYTES):
            for data in split.read_messages(offsets[first:stop], sizes[first:stop]):
                # `_FOREIGN` is 0: not compressed.
                yield _packed_state(data, unpack) or (_FRAMED if _is_framed(data) else _FOREIGN)


def _packed_state(data: bytes, unpack: Decompressor) -> int:
    """Return `_UNPACKED` for a compressed message (with a footer, or a bare frame), `_UNCHECKED` if decoding it is not
    possible here, `_FOREIGN` for other bytes.
    """
    footed = data[-1] == MESSAGE_FOOTER_MAGIC and len(data) >= MESSAGE_FOOTER_SIZE
    if not footed and not data.startswith((ZSTD_MAGIC, LZ4_FRAME_MAGIC)):
        return _FOREIGN
    try:
        message = unpack.decode(data, _nowhere)
    except LimitExceededError:
        return _UNCHECKED
    except UnsupportedFeatureError as error:  # foreign bytes may end like a footer with an unknown codec
        return _FOREIGN if error.code == FOOTER_CODEC.code else _UNCHECKED
    except ExhumeError:
        return _FOREIGN
    fits = not footed or len(message) == parse_message_footer(data, _nowhere()).len_message
    return _UNPACKED if fits else _FOREIGN


def _is_framed(data: bytes) -> bool:
    """Whether bytes begin like an object and, if it has groups, end with the last one.

    Only the schema says where the groups begin; the last one is recognized by its mark and a size that ends at the end.
    """
    if data[0] not in HEADERS:
        return False
    try:
        content = parse_serializable_file(data, _nowhere()).content
    except ExhumeError:
        return False
    return data[0] == HEADER or _ends_with_group(content)


def _ends_with_group(content: bytes) -> bool:
    """Return whether the bytes end with a last group whose length reaches exactly to the end of the bytes."""
    # Try each byte that could start a last group, from the end backwards; the object's own header is at 0.
    at = len(content) - GROUP_HEADER_SIZE + 1
    while (at := content.rfind(GROUP_LAST, 1, at)) >= 0:
        if group_end(content, at) == len(content):
            return True
    return False


def _in_file(entries: Array, chosen: Array) -> list[int]:
    """Positions of the chosen entries in the order of their messages in the file."""
    positions = np.flatnonzero(chosen)
    found: list[int] = positions[np.argsort(entries["ofs_data"][positions], kind="stable")].tolist()
    return found


def _finding(split: Split, entry: Array, unpack: Decompressor, *, packed: bool) -> Finding:
    """The finding for bytes that should be a message and are not; `packed`: the split's messages are compressed."""
    start, size = int(entry["ofs_data"]), int(entry["len_data"])
    span = split.source.span(start, start + size)
    data = split.source.read_at(start, size)
    if packed:
        try:
            unpack.decode(data, lambda: span)
        except ExhumeError as error:
            return Finding.from_error(error)
        return NO_DECODE.finding(span=span)
    if data[0] in HEADERS:
        return GROUP_HEADER.finding("the message does not end with a group of its object", span=span)
    return OBJECT_HEADER.finding(span=span.sub(0, 1), expected="0xd1 or 0xd5", actual=f"0x{data[0]:02x}")


def ends_foreign(entries: Array, bad: Array) -> bool:
    """Whether the bytes of the last message in the file are not a message, because the split is cut off or continues
    elsewhere.
    """
    return bool(len(bad)) and bool(bad[int(np.argmax(entries["ofs_data"]))])


MAX_CAPACITY: Final = 1 << 24
"""The most index slots that a header may claim; with more, it is not taken for a header."""

LONGEST_NAME: Final = 256
"""Bytes of a trailer that are read to see whether it names the type of manifests."""

MOST_FINDINGS: Final = 10
"""The most findings about a split's index, and the most about its messages."""


def locate(source: Source, hit: int, *, limits: Limits = DEFAULT_LIMITS, jobs: int = 1) -> CarvedArchive | None:
    """The manifest whose trailer magic, or the split whose header, is at `hit`; None when it is neither."""
    if source.read_up_to(hit, len(TRAILER_MAGIC_BYTES)) == TRAILER_MAGIC_BYTES:
        return _locate_manifest(source, hit, limits)
    return _locate_split(source, hit, limits)


def piece(source: Source, format: str, *, limits: Limits = DEFAULT_LIMITS) -> ArchivePiece | None:
    """Return the manifest or split in a file; a manifest names its splits.  Propagates errors from reading it."""
    if format != "ark":  # what was carved is of another format
        return None
    if (
        source.read_up_to(max(0, source.size - len(TRAILER_MAGIC_BYTES)), len(TRAILER_MAGIC_BYTES))
        == TRAILER_MAGIC_BYTES
    ):
        span = source.span(0, source.size)
        limits.check("structure_size", source.size, span)
        manifest = load_manifest(source.read_at(0, source.size), span).manifest
        named = frozenset(split.identifier for _, _, split in manifest.splits())
        path = f"manifests/{manifest.identifier}"
        return ArchivePiece(manifest.identifier, named, path, f"Ark log {manifest.identifier}", _BASIS)
    head = source.read_up_to(0, HEADER_WINDOW)
    header = parse_split_header(head, source.span(0, len(head)))
    path = f"splits/{header.identifier}"
    return ArchivePiece(header.identifier, frozenset(), path, f"Ark log of split {header.identifier}", _BASIS)


_BASIS: Final = "the manifest names its splits"
"""The reason for joining found files to one log, as it is shown."""


def _locate_manifest(source: Source, hit: int, limits: Limits) -> CarvedArchive | None:
    """Return the manifest whose trailer magic starts at `hit`; None if there is none.

    The footer at the end of the manifest states its length, from which the start is computed. A manifest with damaged
    content is returned too, with findings.
    """
    # The footer is before the magic; its lengths lead to the start of the file.
    end = hit + len(TRAILER_MAGIC_BYTES)
    if end < TRAILER_FOOTER_SIZE:
        return None
    before = end - TRAILER_FOOTER_SIZE
    footer = parse_file_footer(source.read_at(before, TRAILER_FOOTER_SIZE), before)
    if footer is None or footer.version != 1:
        return None
    length = footer.len_content + footer.len_trailer + TRAILER_FOOTER_SIZE
    start = end - length
    if start < 0 or not is_object(source.read_at(start, 1)[0]):
        return None
    # The trailer names the type of the content.
    trailer = source.read_at(start + footer.len_content, min(footer.len_trailer, LONGEST_NAME))
    content_type, _ = read_counted(trailer, 0) or (b"", 0)
    if trailer and content_type != MANIFEST_TYPE.encode():
        return None
    span = source.span(start, end)
    try:
        # Read it as a manifest; damage lowers the verdict.
        limits.check("structure_size", length, span)
        loaded = load_manifest(source.read_at(start, length), span)
    except SourceError:
        raise
    except ExhumeError as error:
        bad: tuple[Finding, ...] = (Finding.from_error(error),)
    else:
        bad = tuple(finding for finding in loaded.findings if finding.is_problem)
    verdict = CarveVerdict.of(bad, VerifiedBy.STRUCTURE)
    confidence = 0.99  # the magic has 16 bytes, and the sizes fit
    return CarvedArchive("ark", span, verdict, confidence, bad, VerifiedBy.STRUCTURE)


def _locate_split(source: Source, hit: int, limits: Limits) -> CarvedArchive | None:
    """Return the split file whose header starts at `hit`; None if header or index is not plausible.

    The result is partial if the source ends before the split does, if the index is empty, or if the last message
    belongs to other data.
    """
    head = source.read_up_to(hit, HEADER_WINDOW)
    try:
        header = parse_split_header(head, source.span(hit, hit + len(head)))
    except ExhumeError:
        return None
    if not _plausible(header):
        return None
    split = Split(source.window(hit, source.size), header=header)  # its offsets count from `hit`
    room = source.size - hit  # bytes that there are
    # The index, as far as it is there; at least half of its entries must refer to types of the header.
    present = max(0, min(header.item_count, (room - header.index_offset) // ENTRY_SIZE))
    index = split.read_entries(0, present) if present else b""
    entries = parse_index(index)
    is_known = np.frombuffer(split.known_objects(), np.bool_)[entries["object_identifier"]]
    if present and int(is_known.sum()) * 2 < present:
        return None
    ends = entries["ofs_data"].astype(np.int64) + entries["len_data"].astype(np.int64)
    is_usable = is_known & (entries["len_data"] > 0)
    length = _split_length(header, int(ends[is_usable].max(initial=0)), room)
    # Check the entries, and the messages that are there.
    inside = entries[np.flatnonzero(is_usable & (ends <= room))]
    findings = [finding for finding in check_entries(split, index) if finding.is_problem][:MOST_FINDINGS]
    bad, more, proof = prove_messages(split, inside, limits)
    findings += more
    is_cut = length > room or present < header.item_count
    partial = is_cut or not header.item_count or ends_foreign(inside, bad)
    verdict = CarveVerdict.of(findings, proof, partial=partial)
    confidence = 0.6 if findings or is_cut else 0.9  # a header is recognized by few bytes, and has no checksum
    span = source.span(hit, source.size if is_cut else hit + length)
    return CarvedArchive("ark", span, verdict, confidence, tuple(findings), proof)


def _split_length(header: SplitHeader, messages_end: int, room: int) -> int:
    """Return the length of a split: the largest of the ends of header, index and messages.

    An empty index takes up the slots that are reserved for it, as far as they fit in `room` bytes.
    """
    index_end = header.index_offset + header.item_count * ENTRY_SIZE
    if not header.item_count:
        index_end = max(index_end, min(room, header.index_offset + header.maximum_count * ENTRY_SIZE))
    return max(header.size, index_end, messages_end)


def _plausible(header: SplitHeader) -> bool:
    """Whether a header is plausible, and not just three bytes that happen to look like one."""
    shorts = {mapping.short for mapping in header.mappings}
    identifiers = [*(mapping.identifier for mapping in header.mappings), header.identifier]
    versions = [identifier.split("-")[2][0] for identifier in identifiers]  # the first digit of the third group
    return (
        bool(header.mappings)
        and len(shorts) == len(header.mappings)
        and header.size <= header.index_offset
        and header.maximum_count <= MAX_CAPACITY
        and header.item_count <= max(header.maximum_count, 1)
        and all(version in "12345678" for version in versions)
    )
