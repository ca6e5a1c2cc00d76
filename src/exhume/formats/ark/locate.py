"""Finding manifests and splits inside raw bytes.

A split is found by its header and ends with its last message or index slot; a manifest is found by the magic at its end
and begins where its footer says.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from exhume.errors import ExhumeError
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
from exhume.recovery import Carved, Proof, Verdict

MAX_CAPACITY: Final = 1 << 24
"""The most index slots that a header may claim; with more, it is not taken for a header."""

MOST_FINDINGS: Final = 10
"""The most findings about a split's index, and the most about its messages."""


def locate(source: Source, hit: int, *, limits: Limits = DEFAULT_LIMITS, jobs: int = 1) -> Carved | None:
    """The manifest whose trailer magic, or the split whose header, is at `hit`; None when it is neither."""
    if source.read_up_to(hit, len(TRAILER_MAGIC_BYTES)) == TRAILER_MAGIC_BYTES:
        return _locate_manifest(source, hit, limits)
    return _locate_split(source, hit, limits)


def _locate_manifest(source: Source, hit: int, limits: Limits) -> Carved | None:
    end = hit + len(TRAILER_MAGIC_BYTES)
    if end < TRAILER_FOOTER_SIZE:
        return None
    before = end - TRAILER_FOOTER_SIZE
    footer = parse_file_footer(source.read_at(before, TRAILER_FOOTER_SIZE), before)
    if footer is None or footer.version != 1:
        return None
    length = footer.len_content + footer.len_trailer + TRAILER_FOOTER_SIZE
    if length > limits.structure_size:
        return None
    start = end - length
    data = source.read_at(start, length)
    name = MANIFEST_TYPE.encode()
    if not is_object(data[0]) or (footer.len_trailer and (read_counted(data, footer.len_content) or (b"",))[0] != name):
        return None
    try:
        loaded = load_manifest(data, source.span(start, end))
    except ExhumeError as error:
        found = (Finding.from_error(error),)
        return Carved("ark", source.span(start, end), Verdict.DAMAGED, 0.6, found, Proof.STRUCTURE)
    bad = tuple(finding for finding in loaded.findings if finding.is_problem)
    verdict = Verdict.DAMAGED if bad else Verdict.WHOLE
    return Carved("ark", source.span(start, end), verdict, 0.8 if bad else 0.99, bad, Proof.STRUCTURE)


def _locate_split(source: Source, hit: int, limits: Limits) -> Carved | None:
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
    if length > room or present < header.item_count:
        return Carved("ark", source.span(hit, source.size), Verdict.PARTIAL, 0.6, tuple(findings), proof)
    if not header.item_count or ends_foreign(entries[inside], bad):
        verdict = Verdict.PARTIAL
    else:
        verdict = Verdict.DAMAGED if findings else Verdict.WHOLE
    confidence = 0.6 if findings else 0.9
    return Carved("ark", source.span(hit, hit + length), verdict, confidence, tuple(findings), proof)


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
