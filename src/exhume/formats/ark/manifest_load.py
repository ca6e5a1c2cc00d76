"""Reading manifests by the ladder "own registry, built-in registries, salvage", whose last rung is in `collection`.

A manifest is an rbuf object in a file; a registry has the schemas that describe it, and the file usually embeds one.  A
rung of the ladder is tried when those before it fail.  A group is a block of fields in an object, with its own size.

Spec: ark_log.txt, Manifest File Format.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

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
    parse_serializable_file,
    read_counted,
    trailer_magic_span,
)
from exhume.formats.ark.manifest import (
    Column,
    LoadedManifest,
    Manifest,
    ManifestSection,
    ObjectDeclaration,
    SchemaSource,
    SplitDeclaration,
    Statistics,
    candidate_registry,
)
from exhume.formats.ark.rbuf.decoder import decoder_for
from exhume.formats.ark.rbuf.layout import HEADERS, NIL, read_count
from exhume.formats.ark.rbuf.registry import Registry
from exhume.formats.ark.rbuf.wire import Note


def load_manifest(data: bytes, where: Span) -> LoadedManifest:
    """Read the bytes of a manifest file, stored at `where`, by the first two rungs of the ladder.

    A file whose embedded registry fits is read with it.  Otherwise the built-in registries are tried, and one is
    accepted only if it consumes every byte of every group.  Raises the error of rule ARK-348 when nothing fits (the
    third rung, `attach.attach_splits`, needs the splits), ARK-107 if the file is something else.
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
    if used < len(content):  # the rest is a trailer whose magic is damaged (`allow_rest`)
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
    manifest = manifest_from_value(value, notes)
    more = [_strict(note).finding(content) for note in notes]
    more += _old_columns(registry, file.content, content)
    return LoadedManifest(manifest, SchemaSource.EMBEDDED, (*findings, *more), value, registry, file)


def _strict(note: Note) -> Note:
    """In a manifest every group has to be consumed exactly; unknown groups remain a note."""
    return note._replace(rule=MANIFEST_TRAILING) if note.rule is GROUP_LENGTH else note


def _old_columns(registry: Registry, content: bytes, where: Span) -> list[Finding]:
    """Warn when the removed list `v1_columns` has elements (it is read and dropped).

    The list is the fourth field, after the name, so that its count can be read without a decoder.
    """
    schema = registry.schemas.get(assumptions.MANIFEST_TYPE)
    if schema is None or [each.name for each in schema.fields[:4]] != [
        "log_identifier", "common_identifier", "name", "v1_columns",
    ]:  # fmt: skip
        return []
    found = read_counted(content, MANIFEST_FIELDS.common_identifier[1])
    assert found is not None  # because the manifest was decoded
    start = found[1]
    count, end = read_count(content, start, len(content))
    return [OLD_COLUMNS.finding(span=where.sub(start, end), expected=0, actual=count)] if count else []


_Candidate = tuple[Manifest, Mapping[str, Any], Registry, str, int, list[Finding]]
"""The manifest, its decoded value, the registry and its name, the bytes used, and findings."""


def _load_built_in(content: bytes, where: Span, *, allow_rest: bool) -> _Candidate | None:
    """Decode with the first built-in registry that fits; None if there is none.

    With `allow_rest` bytes may follow the object: a damaged trailer.
    """
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
            return manifest_from_value(value, notes), value, registry, name, used, findings
    return _load_opaque_filter(content, where, allow_rest=allow_rest)


def _load_opaque_filter(content: bytes, where: Span, *, allow_rest: bool) -> _Candidate | None:
    """Decode a manifest of one section whose filter has unknown fields, and keep the filter as bytes; None if it fails.

    The filter is the last field of the section, and the section the last value of its group.  So a schema without the
    filter leaves the bytes of the filter over at the end of the group, which is noted as a wrong length.
    """
    for name in assumptions.manifest_registries():
        registry = _without_filter(candidate_registry(name))
        notes: list[Note] = []
        try:
            value, used = decoder_for(registry, assumptions.MANIFEST_TYPE).decode_prefix(
                content, span=where, notes=notes
            )
        except ExhumeError:
            continue
        rests = [note for note in notes if note.rule is GROUP_LENGTH]  # what the schema leaves of groups
        if len(value["sections"]) != 1 or len(rests) != 1 or (used != len(content) and not allow_rest):
            continue
        raw = content[rests[0].start : rests[0].end]
        if (not raw or raw[0] not in HEADERS) or not _plausible(value):
            continue
        manifest = manifest_from_value(value)
        section = manifest.sections[0]._replace(filter=Filter(raw=raw))
        findings = [note.finding(where) for note in notes if note.rule is GROUP_UNKNOWN]
        return manifest._replace(sections=(section,)), value, registry, f"{name}; filter unknown", used, findings
    return None


def _without_filter(registry: Registry) -> Registry:
    """Return a registry whose sections have no filter."""
    name = "ark::logging::ManifestSection"
    section = registry.schema(name)
    fields = tuple(each for each in section.fields if each.name != "acceptance_filter")
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


def manifest_from_value(value: Mapping[str, Any], notes: Sequence[Note] = ()) -> Manifest:
    """The `Manifest` of a decoded value, whatever registry it was decoded with.

    A filter is not understood if any of the `notes` of decoding is about its groups: what they hide is unknown.

    Raises the error of rule ARK-348 when fields that every manifest needs are missing or of another type.
    """
    try:
        odd = {id(note.within): note.detail for note in notes if note.within is not None}
        sections = tuple(_section(each, odd) for each in value.get("sections") or ())
        metadata_object = value.get("metadata") or {}
        entries = metadata_object.get(assumptions.METADATA_FIELD)
        if entries is None:  # the field has another name in the manifest's own schema
            entries = next((value for value in metadata_object.values() if isinstance(value, (dict, list))), {})
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
    """Return a decoded GUID, which is text.  Raises `TypeError` for anything else."""
    if not isinstance(value, str):
        raise TypeError("not a GUID")
    return value


def _section(value: Mapping[str, Any], odd: Mapping[int, str]) -> ManifestSection:
    """Return a section of the manifest from its decoded value.

    `odd` states what is unusual about the groups of objects, by the `id` of their values.
    """
    query = value.get("acceptance_filter")
    found = Filter.from_value(query) if isinstance(query, Mapping) else ACCEPT_ALL
    if id(query) in odd:
        found = found._replace(unknown={**found.unknown, "groups": odd[id(query)]})
    return ManifestSection(
        tuple(_column(each) for each in value["columns"]),
        _guid(value.get("original_log_identifier", NIL)),
        found,
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
    """Convert a decoded `SplitDeclaration`; its fields may have other names than those assumed here.

    The GUID is then the first text of a GUID's length (36); the statistics are the first list.
    """
    identifier = value.get("identifier")
    if not isinstance(identifier, str):
        identifier = next(each for each in value.values() if isinstance(each, str) and len(each) == 36)
    listed = next((each for each in value.values() if isinstance(each, list)), [])
    statistics = [Statistics.from_value(each) for each in listed if isinstance(each, Mapping)]
    return SplitDeclaration(identifier, tuple(each for each in statistics if each is not None))
