"""Every choice about Ark logs that no public document or decoder settles, in one place.

No real manifest or split file is public.  What is here can change when one turns up; nothing else in the package
repeats it.  `docs/formats/ark.md` explains each.

A log is a manifest and split files (index and messages); the manifest's sections name columns, which are groups of
channels that share splits and a codec.  A filter (`Query`) in a section hides messages of the sections after it.
"""

from __future__ import annotations

import functools
from typing import Any, Final

MANIFEST_TYPE: Final = "ark::logging::Manifest"
"""Name of the type of a manifest, in its trailer and in its schemas."""

METADATA_FIELD: Final = "entries"
"""Name of the one field of `LogMetadataEntries`; its bytes are known, its name is not."""

READ_RESERVED_BIT_AS_GROUPS: Final = True
"""Read bit 0x08 of an object header as "groups follow" (with a warning); never written.

A group is a block of fields that were added to a type later, with its number and size.
"""

EMPTY_COMPRESSION_IS_NONE: Final = True
"""A column whose compression type is "" is not compressed."""

ACCEPT_BARE_FRAMES: Final = True
"""Accept a zstd or lz4 frame without the 6-byte footer in a compressed column (as the published text alone has it)."""

MAXIMUM_TIME_INCLUSIVE: Final = True
"""A filter's `maximum_time` is itself shown."""

PATTERNS_MATCH_WHOLE_NAMES: Final = True
"""A filter's regular expression has to match the whole channel name."""

LATCHED_REPLAY_BEFORE_FILTERS: Final = False
"""Latched replay does not reach messages that a snippet's time filter hides."""

UNUSED_INDEX_SLOTS_ARE_ZERO: Final = True
"""A slot of a pre-allocated index whose time is 0 was never written."""

MINIMUM_SPLIT_SIZE: Final = 1024
"""Bytes that the header area takes at least; the specification asks it of the file."""

DEFAULT_MAXIMUM_ITEMS: Final = 65_536
"""Index slots that the writer pre-allocates per split, before the data."""

PACKED_TIMESPEC_SIZE: Final = 8
"""Bytes of a field with the attribute `packed_timespec` (two 32-bit numbers); exposed as they are."""

MAXIMUM_SPLIT_REFERENCES: Final = 16
"""Sections of one manifest that may name the same split; more are refused as an attack."""


# The next four return parts of a schema registry, which is JSON: fields by name and type, and the types of objects.
def _field(name: str, type: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": type, **more}


def _list_of(name: str, element: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": name, "type": "arraylist", "ctr_value_type": element, **more}


def _object(name: str) -> dict[str, Any]:
    return {"type": "object", "object_type": f"ark::logging::{name}"}


def _schema(name: str, fields: list[dict[str, Any]], groups: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    return {"name": name, "object_namespace": "ark::logging", "fields": fields, "groups": groups or []}


# A type of elements, and attributes of a field, in the JSON of a registry.
_STRING = {"type": "string"}
_OPTIONAL = {"attributes": {"optional": True}}

_QUERIES: Final[dict[str, list[dict[str, Any]]]] = {
    "optional times, allow and deny list": [
        _field("minimum_time", "steady_time_point", **_OPTIONAL),
        _field("maximum_time", "steady_time_point", **_OPTIONAL),
        _list_of("message_allow_list", _STRING),
        _list_of("message_deny_list", _STRING),
    ],
    "optional times, allow list": [
        _field("minimum_time", "steady_time_point", **_OPTIONAL),
        _field("maximum_time", "steady_time_point", **_OPTIONAL),
        _list_of("message_allow_list", _STRING),
    ],
    "times, allow list": [
        _field("minimum_time", "steady_time_point"),
        _field("maximum_time", "steady_time_point"),
        _list_of("message_allow_list", _STRING),
    ],
}
"""Layouts of `Query`, which are tried in turn for a manifest without a registry; the first is what our writer writes.

The members are known by name; which of them there are, and which are optional, is not.
"""

_STATISTICS: Final[dict[str, list[dict[str, Any]]]] = {
    "counts, bytes and times": [
        _field("object_identifier", "guid"),
        _field("item_count", "uint64"),
        _field("byte_count", "uint64"),
        _field("minimum_time", "steady_time_point"),
        _field("maximum_time", "steady_time_point"),
    ],
    "counts and bytes": [
        _field("object_identifier", "guid"),
        _field("item_count", "uint64"),
        _field("byte_count", "uint64"),
    ],
}
"""Layouts of the statistics of an object in a split declaration, tried in turn; the first is that of our writer."""


def _manifest_registry(query: list[dict[str, Any]], statistics: list[dict[str, Any]]) -> str:
    """Return the JSON text of a schema registry for manifests.

    `query` and `statistics` are the fields of the two schemas that differ between the assumed layouts; the other
    schemas are the same in each.
    """
    import json

    schemas = [
        _schema(
            "Manifest",
            [
                _field("log_identifier", "guid"),
                _field("common_identifier", "guid"),
                _field("name", "string"),
                _list_of("v1_columns", _object("ColumnDeclaration"), attributes={"removed": True}),
            ],
            [
                {"identifier": 0, "fields": [_list_of("sections", _object("ManifestSection"))]},
                {"identifier": 1, "fields": [{"name": "metadata", **_object("LogMetadataEntries")}]},
            ],
        ),
        _schema(
            "ManifestSection",
            [
                _list_of("columns", _object("ColumnDeclaration")),
                _field("original_log_identifier", "guid"),
                {"name": "acceptance_filter", **_object("Query")},
            ],
        ),
        _schema(
            "ColumnDeclaration",
            [
                _field("name", "string"),
                _field("compression_type", "string"),
                _list_of("object_types", _object("ObjectDeclaration")),
                _list_of("splits", _object("SplitDeclaration")),
            ],
        ),
        _schema(
            "ObjectDeclaration",
            [
                _field("name", "string"),
                _field("type_identifier", "string"),
                _field("identifier", "guid"),
                _field("schema_registry", "string"),
            ],
            [{"identifier": 0, "fields": [_field("latched", "bool")]}],
        ),
        _schema(
            "LogMetadataEntries",
            [_field(METADATA_FIELD, "dictionary", ctr_key_type=_STRING, ctr_value_type=_STRING)],
        ),
        _schema(
            "SplitDeclaration", [_field("identifier", "guid"), _list_of("statistics", _object("SplitObjectStatistics"))]
        ),
        _schema("SplitObjectStatistics", statistics),
        _schema("Query", query),
    ]
    return json.dumps({"schemas": schemas, "enums": []}, separators=(",", ":"))


@functools.cache
def manifest_registries() -> dict[str, str]:
    """Candidate registries for a manifest that embeds none, by description; the writer embeds the first."""
    return {
        f"{query_name}; {statistics_name}": _manifest_registry(query, statistics)
        for query_name, query in _QUERIES.items()
        for statistics_name, statistics in _STATISTICS.items()
    }
