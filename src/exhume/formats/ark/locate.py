"""Finding manifests and splits inside raw bytes.

A split is found by its header and ends with its last message or index slot; a manifest is found by the magic at its end
and begins at the offset in its footer.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from exhume.errors import ExhumeError, SourceError
from exhume.findings import Finding
from exhume.formats.ark.assumptions import MANIFEST_TYPE
from exhume.formats.ark.framing import ends_foreign, prove_messages
from exhume.formats.ark.layout import (
    ENTRY_SIZE,
    HEADER_WINDOW,
    TRAILER_FOOTER_SIZE,
    TRAILER_MAGIC_BYTES,
    SplitHeader,
    parse_file_footer,
    parse_index,
    parse_split_header,
    read_counted,
)
from exhume.formats.ark.manifest import load_manifest
from exhume.formats.ark.rbuf.layout import is_object
from exhume.formats.ark.splits import Split
from exhume.formats.ark.verify import check_entries
from exhume.io.source import Source
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.recovery import CarvedArchive, CarveVerdict, Piece, VerifiedBy

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


def piece(source: Source, format: str, *, limits: Limits = DEFAULT_LIMITS) -> Piece | None:
    """The manifest or split that a file is: a manifest names its splits.  Raises what reading one raises."""
    if format != "ark":
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
        return Piece(manifest.identifier, named, path, f"Ark log {manifest.identifier}", _BASIS)
    head = source.read_up_to(0, HEADER_WINDOW)
    header = parse_split_header(head, source.span(0, len(head)))
    path = f"splits/{header.identifier}"
    return Piece(header.identifier, frozenset(), path, f"Ark log of split {header.identifier}", _BASIS)


_BASIS: Final = "the manifest names its splits"


def _locate_manifest(source: Source, hit: int, limits: Limits) -> CarvedArchive | None:
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
    trailer = source.read_at(start + footer.len_content, min(footer.len_trailer, LONGEST_NAME))
    if trailer and (read_counted(trailer, 0) or (b"",))[0] != MANIFEST_TYPE.encode():
        return None
    span = source.span(start, end)
    try:
        limits.check("structure_size", length, span)
        loaded = load_manifest(source.read_at(start, length), span)
    except SourceError:
        raise
    except ExhumeError as error:
        bad: tuple[Finding, ...] = (Finding.from_error(error),)
    else:
        bad = tuple(finding for finding in loaded.findings if finding.is_problem)
    verdict = CarveVerdict.of(bad, VerifiedBy.STRUCTURE)
    return CarvedArchive("ark", span, verdict, 0.99, bad, VerifiedBy.STRUCTURE)


def _locate_split(source: Source, hit: int, limits: Limits) -> CarvedArchive | None:
    head = source.read_up_to(hit, HEADER_WINDOW)
    try:
        header = parse_split_header(head, source.span(hit, hit + len(head)))
    except ExhumeError:
        return None
    room = source.size - hit
    if not _plausible(header):
        return None
    window = source.window(hit, source.size)
    split = Split(window, header=header)
    present = max(0, min(header.item_count, (room - header.index_offset) // ENTRY_SIZE))
    index = split.read_entries(0, present) if present else b""
    entries = parse_index(index)
    end = entries["ofs_data"].astype(np.int64) + entries["len_data"].astype(np.int64)
    known = np.frombuffer(split.known_objects(), np.bool_)[entries["object_identifier"]]
    if present and int(known.sum()) * 2 < present:
        return None
    usable = known & (entries["len_data"] > 0)
    length = max(
        header.size,
        header.index_offset + header.item_count * ENTRY_SIZE,
        int(end[usable].max()) if bool(usable.any()) else 0,
    )
    if not header.item_count:
        length = max(length, min(room, header.index_offset + header.maximum_count * ENTRY_SIZE))
    inside = np.flatnonzero(usable & (end <= room))
    findings = [f for f in check_entries(split, index) if f.is_problem][:MOST_FINDINGS]
    bad, more, proof = prove_messages(split, entries[inside], limits)
    findings += more
    cut = length > room or present < header.item_count
    partial = cut or not header.item_count or ends_foreign(entries[inside], bad)
    verdict = CarveVerdict.of(findings, proof, partial=partial)
    confidence = 0.6 if findings or cut else 0.9  # three bytes and what follows them are little to go by
    end = source.size if cut else hit + length
    return CarvedArchive("ark", source.span(hit, end), verdict, confidence, tuple(findings), proof)


def _plausible(header: SplitHeader) -> bool:
    """Whether a header is plausible, and not just three bytes that happen to look like one."""
    shorts = {mapping.short for mapping in header.mappings}
    versions = [mapping.identifier[14] for mapping in header.mappings] + [header.identifier[14]]
    return (
        bool(header.mappings)
        and len(shorts) == len(header.mappings)
        and header.size <= header.index_offset
        and header.maximum_count <= MAX_CAPACITY
        and header.item_count <= max(header.maximum_count, 1)
        and all(version in "12345678" for version in versions)
    )
