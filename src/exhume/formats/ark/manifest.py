"""Manifests: what a log consists of, read through the ladder "own registry, built-in registries, salvage".

Spec: ark_log.txt, Manifest File Format.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

from exhume.errors import ExhumeError, Span, shorten
from exhume.findings import Finding
from exhume.formats.ark import assumptions
from exhume.formats.ark.checks import (
    GROUP_LENGTH,
    GROUP_UNKNOWN,
    MANIFEST_DAMAGED,
    MANIFEST_TRAILING,
    OLD_COLUMNS,
    SCHEMA_SOURCE,
    TRAILER_MAGIC,
    TRAILER_TYPE,
)
from exhume.formats.ark.filters import ACCEPT_ALL, Filter
from exhume.formats.ark.layout import (
    MANIFEST_FIELDS,
    SerializableFile,
    build_serializable_file,
    parse_serializable_file,
    read_counted,
    trailer_magic_span,
)
from exhume.formats.ark.rbuf.decoder import decoder_for
from exhume.formats.ark.rbuf.layout import HEADERS, NIL, read_count
from exhume.formats.ark.rbuf.registry import Registry
from exhume.formats.ark.rbuf.wire import Note
from exhume.tuples import NamedTuple

GROUP_SECTIONS: Final = 0


class SchemaSource(enum.StrEnum):
    """Source of the schema of a manifest, best first."""

    EMBEDDED = "embedded registry"
    BUILT_IN = "built-in schemas"
    SALVAGE = "salvage scan"
    SPLIT = "split file alone"


@dataclass(frozen=True, slots=True)
class Statistics:
    """A split's messages of one object, according to the manifest.  Only counting messages (`info`) uses it."""

    identifier: str
    count: int | None
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
            "item_count": self.count or 0,
            "byte_count": self.size or 0,
            "minimum_time": self.minimum_ns or 0,
            "maximum_time": self.maximum_ns or 0,
        }


class SplitDeclaration(NamedTuple):
    """A split file of a column."""

    identifier: str
    statistics: tuple[Statistics, ...] = ()

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
        """Without the parsed registry, which holds compiled functions."""
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
    original_identifier: str = NIL
    filter: Filter = ACCEPT_ALL

    def to_value(self) -> dict[str, Any]:
        """The object for the writer's own schema."""
        return {
            "columns": [each.to_value() for each in self.columns],
            "original_log_identifier": self.original_identifier,
            "acceptance_filter": self.filter.to_value(),
        }


@dataclass(frozen=True, slots=True)
class Manifest:
    """A whole manifest; the values of `metadata` are strings, usually JSON."""

    identifier: str
    common_identifier: str
    name: str = ""
    sections: tuple[ManifestSection, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)

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


class LoadedManifest(NamedTuple):
    """A manifest, how it was read, and what was noticed while reading it."""

    manifest: Manifest
    schema_source: SchemaSource
    findings: tuple[Finding, ...] = ()
    value: Mapping[str, Any] | None = None
    """The decoded object, for re-encoding with `registry`."""
    registry: Registry | None = None
    file: SerializableFile | None = None


def load_manifest(data: bytes, where: Span) -> LoadedManifest:
    """Read the bytes of a manifest file, stored at `where`, by the first two rungs of the ladder.

    A file whose embedded registry fits is read with it.  Otherwise the built-in registries are tried, and one is
    accepted only if it consumes every byte of every group.  Raises the error of rule ARK-348 when nothing fits (the
    third rung, `salvage_manifest`, needs the splits), ARK-107 if the file is something else.
    """
    # First rung: the registry embedded in the file.
    findings: list[Finding] = []
    file: SerializableFile | None = None
    failure: ExhumeError | None = None
    try:
        file = parse_serializable_file(data, where)
    except ExhumeError as error:
        findings.append(Finding.from_error(error))
        failure = error
    if file is not None and file.type_name and file.type_name.removeprefix("::") != assumptions.MANIFEST_TYPE:
        raise TRAILER_TYPE.error(span=where, expected=assumptions.MANIFEST_TYPE, actual=file.type_name)
    if file is not None and file.registry:
        try:
            return _load_embedded(file, where, findings)
        except ExhumeError as error:
            failure = error
            findings.append(Finding.from_error(error))
    # Second rung: the built-in registries.
    content = file.content if file is not None else data
    loaded = _load_built_in(content, where, allow_rest=file is None or not file.has_trailer)
    if loaded is None:
        detail = failure.message if failure is not None else "no built-in schema fits"
        raise MANIFEST_DAMAGED.error(
            detail,
            span=failure.span if failure is not None and failure.span is not None else where,
            field_path=failure.field_path if failure is not None else None,
        ) from failure
    manifest, value, registry, name, used, notes = loaded
    if used < len(content):
        findings.append(TRAILER_MAGIC.finding(span=trailer_magic_span(data, where)))
    findings.append(SCHEMA_SOURCE.finding(f"{SchemaSource.BUILT_IN} ({name})", span=where))
    findings += notes
    return LoadedManifest(
        manifest,
        SchemaSource.BUILT_IN,
        tuple(findings),
        value,
        registry,
        file and file._replace(content=content[:used]),
    )


def _load_embedded(file: SerializableFile, where: Span, findings: list[Finding]) -> LoadedManifest:
    """Decode a manifest with the schema that it contains."""
    registry = Registry.from_json(file.registry)
    notes: list[Note] = []
    content = where.sub(0, len(file.content))
    value = decoder_for(registry, assumptions.MANIFEST_TYPE).decode(file.content, span=content, notes=notes)
    manifest = manifest_from_value(value)
    more = [_strict(note).finding(content) for note in notes]
    more += _old_columns(registry, file.content, content)
    return LoadedManifest(manifest, SchemaSource.EMBEDDED, (*findings, *more), value, registry, file)


def _strict(note: Note) -> Note:
    """In a manifest every group has to be consumed exactly; unknown groups remain a note."""
    return note._replace(rule=MANIFEST_TRAILING) if note.rule is GROUP_LENGTH else note


def _old_columns(registry: Registry, content: bytes, where: Span) -> list[Finding]:
    """Warn when the removed list `v1_columns` has elements (it is read and dropped)."""
    schema = registry.schemas.get(assumptions.MANIFEST_TYPE)
    if schema is None or [f.name for f in schema.fields[:4]] != [
        "log_identifier", "common_identifier", "name", "v1_columns",
    ]:  # fmt: skip
        return []
    found = read_counted(content, MANIFEST_FIELDS.common_identifier[1])
    assert found is not None  # because the manifest was decoded
    start = found[1]
    count, end = read_count(content, start, len(content))
    return [OLD_COLUMNS.finding(span=where.sub(start, end), expected=0, actual=count)] if count else []


_Candidate = tuple[Manifest, Mapping[str, Any], Registry, str, int, list[Finding]]


def _load_built_in(content: bytes, where: Span, *, allow_rest: bool) -> _Candidate | None:
    """The first built-in registry that fits, with the position after the object."""
    for name in assumptions.manifest_registries():
        registry = candidate_registry(name)
        notes: list[Note] = []
        try:
            value, used = decoder_for(registry, assumptions.MANIFEST_TYPE).decode_prefix(
                content, span=where, notes=notes
            )
        except ExhumeError:
            continue
        exact = not any(note.rule is GROUP_LENGTH for note in notes)
        if exact and (used == len(content) or allow_rest) and _plausible(value):
            findings = [note.finding(where) for note in notes] + _old_columns(registry, content, where)
            return manifest_from_value(value), value, registry, name, used, findings
    return _load_opaque_filter(content, where, allow_rest=allow_rest)


def _load_opaque_filter(content: bytes, where: Span, *, allow_rest: bool) -> _Candidate | None:
    """One section whose filter has unknown fields: it is the last thing in its group, so its extent is known."""
    for name in assumptions.manifest_registries():
        registry = _without_filter(candidate_registry(name))
        notes: list[Note] = []
        try:
            value, used = decoder_for(registry, assumptions.MANIFEST_TYPE).decode_prefix(
                content, span=where, notes=notes
            )
        except ExhumeError:
            continue
        rests = [note for note in notes if note.rule is GROUP_LENGTH]
        if len(value["sections"]) != 1 or len(rests) != 1 or (used != len(content) and not allow_rest):
            continue
        raw = content[rests[0].start : rests[0].end]
        if (not raw or raw[0] not in HEADERS) or not _plausible(value):
            continue
        manifest = manifest_from_value(value)
        section = manifest.sections[0]._replace(filter=Filter(raw=raw))
        findings = [note.finding(where) for note in notes if note.rule is GROUP_UNKNOWN]
        return replace(manifest, sections=(section,)), value, registry, f"{name}; filter unknown", used, findings
    return None


def _without_filter(registry: Registry) -> Registry:
    name = "ark::logging::ManifestSection"
    section = registry.schema(name)
    fields = tuple(f for f in section.fields if f.name != "acceptance_filter")
    return Registry({**registry.schemas, name: section._replace(fields=fields)}, registry.enums)


def _plausible(value: Mapping[str, Any]) -> bool:
    """Whether a decoded value is plausible: registries are JSON or empty, and no string has control characters."""
    for section in value["sections"]:
        for column in section["columns"]:
            for each in column["object_types"]:
                text = each["schema_registry"].strip()
                if (text and not text.startswith("{")) or not each["name"].isprintable():
                    return False
    return True


def manifest_from_value(value: Mapping[str, Any]) -> Manifest:
    """The `Manifest` of a decoded value, whatever registry it was decoded with.

    Raises the error of rule ARK-348 when fields that every manifest needs are missing or of another type.
    """
    try:
        sections = tuple(_section(each) for each in value.get("sections") or ())
        entries = (value.get("metadata") or {}).get(assumptions.METADATA_FIELD)
        if entries is None:
            entries = next((v for v in (value.get("metadata") or {}).values() if isinstance(v, (dict, list))), {})
        metadata = {str(key): str(text) for key, text in _pairs(entries)}
        return Manifest(
            _guid(value["log_identifier"]), _guid(value["common_identifier"]), str(value["name"]), sections, metadata
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise MANIFEST_DAMAGED.error("its schema lacks what a manifest needs", actual=shorten(repr(error))) from error


def _pairs(entries: Any) -> Iterator[tuple[Any, Any]]:
    """Key and value of metadata entries: a dictionary, or a list of objects with two fields."""
    if isinstance(entries, Mapping):
        yield from entries.items()
        return
    for each in entries:
        key, text = each.values() if isinstance(each, Mapping) else each
        yield key, text


def _guid(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not a GUID")
    return value


def _section(value: Mapping[str, Any]) -> ManifestSection:
    """Return a section of the manifest from its decoded value."""
    query = value.get("acceptance_filter")
    return ManifestSection(
        tuple(_column(each) for each in value["columns"]),
        _guid(value.get("original_log_identifier", NIL)),
        Filter.from_value(query) if isinstance(query, Mapping) else ACCEPT_ALL,
    )


def _column(value: Mapping[str, Any]) -> Column:
    """Convert a decoded `ColumnDeclaration`."""
    return Column(
        str(value["name"]),
        str(value["compression_type"]) if value["compression_type"] is not None else "",
        tuple(
            ObjectDeclaration(
                str(each["name"]),
                str(each["type_identifier"]).removeprefix("::"),
                _guid(each["identifier"]),
                str(each.get("schema_registry") or ""),
                bool(each.get("latched", False)),
            )
            for each in value["object_types"]
        ),
        tuple(_split(each) for each in value["splits"]),
    )


def _split(value: Mapping[str, Any]) -> SplitDeclaration:
    """The GUID is the first GUID field, the statistics the first list of objects, whatever they are called."""
    identifier = value.get("identifier")
    if not isinstance(identifier, str):
        identifier = next(each for each in value.values() if isinstance(each, str) and len(each) == 36)
    listed = next((each for each in value.values() if isinstance(each, list)), [])
    statistics = [Statistics.from_value(each) for each in listed if isinstance(each, Mapping)]
    return SplitDeclaration(identifier, tuple(each for each in statistics if each is not None))
