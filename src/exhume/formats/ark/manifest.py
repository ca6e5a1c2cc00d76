"""Manifests: what a log consists of, as values, and the file of a manifest.  `manifest_load` reads one.

A manifest is an rbuf object in a file; a registry has the schemas that describe it, and the file usually embeds one.
It has sections, these have columns (groups of channels that share a codec), and these the names of split files, which
have the messages.  An object declaration is a channel.  Each class has `to_value`: the dictionary that is encoded.

Spec: ark_log.txt, Manifest File Format.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from exhume.findings import Finding
from exhume.formats.ark import assumptions
from exhume.formats.ark.filters import ACCEPT_ALL, Filter
from exhume.formats.ark.layout import (
    SerializableFile,
    build_serializable_file,
)
from exhume.formats.ark.rbuf.layout import NIL
from exhume.formats.ark.rbuf.registry import Registry
from exhume.tuples import NamedTuple


class SchemaSource(enum.StrEnum):
    """Source of the schema of a manifest, best first."""

    EMBEDDED = "embedded registry"
    BUILT_IN = "built-in schemas"
    SALVAGE = "salvage scan"
    SPLIT = "split file alone"


class Statistics(NamedTuple):
    """A split's messages of one object (channel), according to the manifest; None for numbers that it does not state.

    `info` can count by it, `verify` compares it with the index, and reports of losses add it up.  `size` is in bytes.
    """

    identifier: str
    item_count: int | None
    size: int | None
    minimum_ns: int | None
    maximum_ns: int | None

    @classmethod
    def from_value(cls, value: Mapping[str, Any]) -> Statistics | None:
        """Statistics from the decoded object; None when it does not say which object they are about."""
        identifier = value.get("object_identifier")
        if not isinstance(identifier, str):
            return None
        names = ("item_count", "byte_count", "minimum_time", "maximum_time")
        numbers = [value.get(name) if isinstance(value.get(name), int) else None for name in names]
        return cls(identifier, *numbers)

    def to_value(self) -> dict[str, Any]:
        """The object for the writer's own schema."""
        return {
            "object_identifier": self.identifier,
            "item_count": self.item_count or 0,
            "byte_count": self.size or 0,
            "minimum_time": self.minimum_ns or 0,
            "maximum_time": self.maximum_ns or 0,
        }


class SplitDeclaration(NamedTuple):
    """A split file of a column: its GUID, and the manifest's statistics of its messages."""

    identifier: str
    statistics: tuple[Statistics, ...] = ()

    @property
    def stated_count(self) -> int:
        """The number of messages that the manifest states, 0 where it states none."""
        return sum(each.item_count or 0 for each in self.statistics)

    def to_value(self) -> dict[str, Any]:
        """The object for the writer's own schema."""
        return {"identifier": self.identifier, "statistics": [each.to_value() for each in self.statistics]}


@dataclass(frozen=True)
class ObjectDeclaration:
    """A channel: `name`, the qualified `type` of its messages, its GUID and its registry (JSON text)."""

    name: str
    type: str
    identifier: str
    schema_registry: str = ""
    latched: bool = False

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the declaration without the parsed registry, which has compiled functions."""
        return ObjectDeclaration, (self.name, self.type, self.identifier, self.schema_registry, self.latched)

    @cached_property
    def registry(self) -> Registry | None:
        """The parsed registry; None when there is none.  Raises the error of rule ARK-410."""
        return Registry.from_json(self.schema_registry) if self.schema_registry.strip() else None

    def to_value(self) -> dict[str, Any]:
        """The object for the writer's own schema."""
        return {
            "name": self.name,
            "type_identifier": self.type,
            "identifier": self.identifier,
            "schema_registry": self.schema_registry,
            "latched": self.latched,
        }


class Column(NamedTuple):
    """Channels that share split files and a compression type."""

    name: str
    compression: str = "none"
    objects: tuple[ObjectDeclaration, ...] = ()
    splits: tuple[SplitDeclaration, ...] = ()

    def to_value(self) -> dict[str, Any]:
        """The object for the writer's own schema."""
        return {
            "name": self.name,
            "compression_type": self.compression,
            "object_types": [each.to_value() for each in self.objects],
            "splits": [each.to_value() for each in self.splits],
        }


class ManifestSection(NamedTuple):
    """Columns, and a filter for the sections that follow."""

    columns: tuple[Column, ...] = ()
    original_identifier: str = NIL  # GUID of the log that the columns were written for
    filter: Filter = ACCEPT_ALL

    def to_value(self) -> dict[str, Any]:
        """The object for the writer's own schema."""
        return {
            "columns": [each.to_value() for each in self.columns],
            "original_log_identifier": self.original_identifier,
            "acceptance_filter": self.filter.to_value(),
        }


class Manifest(NamedTuple):
    """A whole manifest; the values of `metadata` are strings, usually JSON.

    `identifier` is the GUID of this log; logs derived from it (snippets, amendments) share its `common_identifier`.
    """

    identifier: str
    common_identifier: str
    name: str = ""
    sections: tuple[ManifestSection, ...] = ()
    metadata: Mapping[str, str] = {}

    def splits(self) -> Iterator[tuple[int, Column, SplitDeclaration]]:
        """Every split reference with its section's number and its column, in reading order."""
        for number, section in enumerate(self.sections):
            for column in section.columns:
                for split in column.splits:
                    yield number, column, split

    def to_value(self) -> dict[str, Any]:
        """The object for the writer's own schema."""
        return {
            "log_identifier": self.identifier,
            "common_identifier": self.common_identifier,
            "name": self.name,
            "sections": [each.to_value() for each in self.sections],
            "metadata": {assumptions.METADATA_FIELD: dict(self.metadata)},
        }


def build_manifest(manifest: Manifest) -> bytes:
    """The file of a manifest in the writer's own schema, registry embedded.

    Raises `WriterError` for values that do not fit (names that are not text, times below 0).
    """
    from exhume.formats.ark.rbuf.encoder import encoder_for  # reading a log needs no encoder

    content = encoder_for(own_registry(), assumptions.MANIFEST_TYPE).encode(manifest.to_value())
    registry = next(iter(assumptions.manifest_registries().values()))
    return build_serializable_file(content, assumptions.MANIFEST_TYPE, registry)


def own_registry() -> Registry:
    """The registry that the writer embeds."""
    return candidate_registry(next(iter(assumptions.manifest_registries())))


@functools.cache
def candidate_registry(name: str) -> Registry:
    """One of the built-in registries, parsed once."""
    return Registry.from_json(assumptions.manifest_registries()[name])


SPECIFIED = ("Manifest", "ManifestSection", "ColumnDeclaration", "ObjectDeclaration")
"""Types of a manifest whose fields the specification lists, without their namespace."""


class LoadedManifest(NamedTuple):
    """A manifest, how it was read, and what was noticed while reading it."""

    manifest: Manifest
    schema_source: SchemaSource
    findings: tuple[Finding, ...] = ()
    value: Mapping[str, Any] | None = None
    """The decoded object, for re-encoding with `registry`."""
    registry: Registry | None = None
    """The registry that it was read with."""
    file: SerializableFile | None = None
    """The content and the trailer of its file; None if the end of the file is damaged."""

    @property
    def unknown_fields(self) -> list[str]:
        """Fields that its schema has and the specification does not name, as `Type.field`."""
        own, types = own_registry(), {} if self.registry is None else self.registry.schemas
        return [
            f"{name}.{each.name}"
            for name in SPECIFIED
            if (schema := types.get(f"ark::logging::{name}")) is not None
            for each in schema.visible_fields()
            if each.name not in {known.name for known in own.schema(f"ark::logging::{name}").all_fields()}
        ]
