"""Ark logs: manifest and split files of TBD Robotics' Ark framework, and rbuf, their serialization.

Split files have the messages of a robot's channels and an index of their times; the manifest names the split files and
declares the channels.  This module registers the format: each `module:name` is loaded when it is needed.
"""

from __future__ import annotations

from exhume_ksy.facts.ark_rbuf import ObjectHeader
from exhume_ksy.facts.ark_serializable_file import FileFooter

from exhume.registry import Format, Signature

_HEADER = ObjectHeader.magic << ObjectHeader.shift.magic | ObjectHeader.version << ObjectHeader.shift.version
"""The first byte of an rbuf object without groups (blocks of optional fields)."""

FORMAT = Format(
    id="ark",
    title="Ark robotics log",
    package=__name__,
    container="directory",
    content="records",
    signatures=(
        Signature(bytes((_HEADER, 1, 0)), 0, "split header: object without groups, format version 1"),
        Signature(FileFooter.magic, 0, "magic at the end of a manifest's trailer"),
    ),
    open="collection:open_archive",
    create="writer:ArkWriter",
    codecs=("none", "lz4", "zstd", "bz2", "lzma"),
    salvage="salvage:salvage",
    salvages=("archive", "jsonl"),
    tally="parts:tally",
    units=("messages", "messages without time"),
    owns="probe:owns",
    locate="locate:locate",
    piece="locate:piece",
    limitations=(
        "No log written by Ark itself is public: layouts that rest on assumptions are listed in docs/formats/ark.md.",
        "awlog (single-file web logs) is another format and not read.",
    ),
    inspect="sections:inspect",
    parts="parts",
)
