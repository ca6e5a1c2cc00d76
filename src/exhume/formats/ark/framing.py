"""Checks of a split's messages without its manifest, which would name their codec and schemas.

Compressed messages end with a footer and unpack to the size that it states.  Others start with the header byte of an
object, unless their schema is `final`, and if its flags announce groups, the last of them ends with the message;
where an object's first messages do so, all of them must.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from exhume.codecs.blocks import LZ4_FRAME_MAGIC
from exhume.codecs.zstd import ZSTD_MAGIC
from exhume.errors import ExhumeError, LimitExceededError, Span, UnsupportedFeatureError
from exhume.findings import Finding
from exhume.formats.ark.checks import FOOTER_CODEC, GROUP_HEADER, NO_DECODE, OBJECT_HEADER
from exhume.formats.ark.kernel import ark_portions
from exhume.formats.ark.layout import (
    MESSAGE_FOOTER_MAGIC,
    MESSAGE_FOOTER_SIZE,
    group_end,
    parse_message_footer,
    parse_serializable_file,
)
from exhume.formats.ark.messages import Decompressor
from exhume.formats.ark.rbuf.layout import GROUP_HEADER_SIZE, GROUP_LAST, HEADER, HEADERS
from exhume.formats.ark.splits import PORTION, Array, Split, places_of
from exhume.limits import Limits
from exhume.recovery import VerifiedBy

BATCH: Final = 4096
TELLING: Final = 3
"""If this many messages of an object start with a header byte, all of them must; a single one may by accident."""

_FOREIGN, _FRAMED, _UNPACKED, _UNCHECKED = range(4)


def _nowhere() -> Span:
    return Span("", 0, 0)


def prove_messages(split: Split, entries: Array, limits: Limits) -> tuple[Array, list[Finding], VerifiedBy]:
    """`(bad, findings, proof)`: the entries that lead to no message, what is wrong with the first of them, and what was
    checked.

    Every message is read, a bounded number of bytes at a time.
    """
    unpack = Decompressor("lz4", limits)  # it follows the footer of each message, whatever the codec here
    states = np.fromiter(_states(split, entries, unpack), np.uint8, len(entries))
    unchecked = states == _UNCHECKED
    packed = bool(((states == _UNPACKED) | unchecked).any())
    bad, proof = ((states < _UNPACKED), VerifiedBy.STRUCTURE) if packed else _unframed(entries, states)
    findings = [_finding(split, entries[at], unpack, packed=packed) for at in _in_file(entries, bad | unchecked)[:10]]
    return bad, findings, proof


def _unframed(entries: Array, states: Array) -> tuple[Array, VerifiedBy]:
    """Messages without the header byte that others of their object have; nothing is proved unless all have one."""
    bad = np.zeros(len(entries), np.bool_)
    proof = VerifiedBy.STRUCTURE
    for short in np.unique(entries["object_identifier"]).tolist():
        mine = np.flatnonzero(entries["object_identifier"] == short)
        first = mine[np.argsort(entries["ofs_data"][mine], kind="stable")][:TELLING]
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
        for first, stop in ark_portions(sizes, PORTION):
            for data in split.read_messages(offsets[first:stop], sizes[first:stop]):
                yield _packed_state(data, unpack) or (_FRAMED if _is_framed(data) else _FOREIGN)


def _packed_state(data: bytes, unpack: Decompressor) -> int:
    """Whether bytes are a compressed message (with a matching footer, or as a bare frame), or may be one."""
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
    """The finding for bytes that should be a message and are not."""
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
