"""Manifests made from other manifests: snippets, amendments, repairs.

A derived manifest keeps the schema of the one it comes from (a manifest of another writer may have fields that the
built-in schemas do not know), with the new parts fitted into it.

A manifest lists sections, these list columns (groups of channels), and these the split files with the messages.  A
snippet is a manifest that shows a part of a log through a filter, with the splits of the original.

Spec: ark_log.txt, Split File Format ("you may create a 'snippet' or 'subindex'"); Manifest File Format.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exhume.errors import UnsupportedOperationError, WriterError
from exhume.formats.ark import assumptions
from exhume.formats.ark.assumptions import MAXIMUM_TIME_INCLUSIVE
from exhume.formats.ark.filters import TIME_MAX, Filter, filter_entries
from exhume.formats.ark.layout import build_serializable_file
from exhume.formats.ark.manifest import LoadedManifest, Manifest, ManifestSection, SchemaSource, build_manifest
from exhume.formats.ark.rbuf.defaults import Defaults
from exhume.formats.ark.rbuf.encoder import encoder_for
from exhume.formats.ark.rbuf.layout import new_guid
from exhume.formats.ark.rbuf.registry import Field, Registry
from exhume.io.output.atomic import AtomicFile

if TYPE_CHECKING:
    from exhume.formats.ark.reader import ArkArchive


def derived_file(loaded: LoadedManifest, manifest: Manifest, *, in_front: int) -> bytes:
    """The file of `manifest`, whose sections are `in_front` new sections, followed by those of `loaded`.

    If `loaded` was not read with a schema of its own, the writer's schema is used.
    Raises `WriterError` when the schema of `loaded` has no place for something new.
    """
    if loaded.value is None or loaded.registry is None or loaded.schema_source is not SchemaSource.EMBEDDED:
        return build_manifest(manifest)
    value = dict(loaded.value)
    fresh = manifest.to_value()
    section_type = "ark::logging::ManifestSection"
    sections = [fit(loaded.registry, section_type, each) for each in fresh["sections"][:in_front]]
    value["sections"] = [*sections, *_kept(loaded, manifest, in_front)]
    value["log_identifier"] = manifest.identifier
    value["common_identifier"] = manifest.common_identifier
    value["name"] = manifest.name
    value["metadata"] = fit(loaded.registry, "ark::logging::LogMetadataEntries", fresh["metadata"])
    content = encoder_for(loaded.registry, assumptions.MANIFEST_TYPE).encode(value)
    return build_serializable_file(content, assumptions.MANIFEST_TYPE, loaded.registry.to_json())


def _kept(loaded: LoadedManifest, manifest: Manifest, in_front: int) -> list[Mapping[str, Any]]:
    """The decoded values of the sections of `loaded`, with the splits that the new manifest names (in its order).

    So fields that only the old manifest's schema has are kept.
    """
    assert loaded.value is not None
    assert loaded.registry is not None
    out: list[Mapping[str, Any]] = []
    for raw, old, new in zip(
        loaded.value["sections"], loaded.manifest.sections, manifest.sections[in_front:], strict=True
    ):
        section = dict(raw)
        columns = []
        for raw_column, old_column, new_column in zip(raw["columns"], old.columns, new.columns, strict=True):
            # By GUID: the values of the old splits.  A split that is new, or was changed, gets one of the old schema.
            known = {
                split.identifier: value for split, value in zip(old_column.splits, raw_column["splits"], strict=True)
            }
            splits = [
                known[split.identifier]
                if split in old_column.splits
                else fit(loaded.registry, "ark::logging::SplitDeclaration", split.to_value())
                for split in new_column.splits
            ]
            columns.append({**raw_column, "splits": splits})
        section["columns"] = columns
        out.append(section)
    return out


def fit(registry: Registry, name: str, value: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a value of the writer's own schema to another schema of the same type.

    Fields that the other schema lacks are left out when they are empty or absent; fields that only it has get defaults.
    Raises `WriterError` for a field with a value that the other schema cannot hold.
    """
    schema = registry.schema(name)
    defaults = Defaults(registry, for_wire=True)
    out: dict[str, Any] = {}
    for each in schema.visible_fields():
        if each.name in value:
            out[each.name] = _fit_field(registry, each, value[each.name])
        else:
            make, _ = defaults.maker(each)
            out[each.name] = make()
    for key, item in value.items():
        if key not in out and item not in (None, 0, False, "", [], {}):
            raise WriterError(
                "the manifest's own schema has no field for this", field_path=f"{name}.{key}", actual=item
            )
    return out


def _fit_field(registry: Registry, each: Field, value: Any) -> Any:
    """Return a value with the missing fields of its type filled in with defaults."""
    if value is None and not each.optional:
        make, _ = Defaults(registry, for_wire=True).maker(each)
        return make()
    if each.type == "object" and isinstance(value, Mapping):
        return fit(registry, each.object_type or "", value)
    if each.type == "arraylist" and isinstance(value, Sequence) and each.value is not None:
        return [_fit_field(registry, each.value, item) for item in value]
    return value


@dataclass(frozen=True, slots=True)
class NewManifest:
    """A manifest that was written: its file and its content."""

    path: Path
    manifest: Manifest


def write_snippet(
    log: ArkArchive,
    *,
    start_ns: int | None = None,
    stop_ns: int | None = None,
    allow: Iterable[str] = (),
    deny: Iterable[str] = (),
    name: str | None = None,
    identifier: str | None = None,
    path: str | os.PathLike[str] | None = None,
) -> NewManifest:
    """Write a manifest that shows the part of `log` with `start_ns <= time < stop_ns` on the channels chosen.

    `allow` and `deny` are channel names, globs or regular expressions, as for reading (see `topic_matcher`).  The new
    manifest has a section without columns first, whose filter applies to all that follow; it is written next to the
    old one unless `path` is passed (its splits are searched next to its directory).  Takes milliseconds, whatever the
    size of the log.  Raises `WriterError` for an empty range, for a topic that no channel matches, and for patterns
    that would be refused on reading; `UnsupportedOperationError` for a log that is not on the local disk.
    """
    start, stop = max(start_ns or 0, 0), TIME_MAX + 1 if stop_ns is None else min(stop_ns, TIME_MAX + 1)
    if stop <= start:
        raise WriterError("the time range is empty", expected=f"more than {start}", actual=stop)
    names = sorted({channel.name for channel in log.channels()})
    chosen = Filter(
        None if start_ns is None else start,
        # `stop` itself is not shown, but a filter's maximum is.
        None if stop > TIME_MAX else stop - (1 if MAXIMUM_TIME_INCLUSIVE else 0),
        tuple(chain.from_iterable(filter_entries(topic, names) for topic in allow)),
        tuple(chain.from_iterable(filter_entries(topic, names) for topic in deny)),
    )
    fresh = identifier or new_guid()
    old = log.manifest
    section = ManifestSection((), fresh, chosen)
    manifest = old._replace(
        identifier=fresh, name=old.name if name is None else name, sections=(section, *old.sections)
    )
    data = derived_file(log.loaded, manifest, in_front=1)
    where = Path(path) if path is not None else manifest_folder(log) / fresh
    with AtomicFile(where) as file:
        file.file.write(data)
    return NewManifest(where, manifest)


def manifest_folder(log: ArkArchive) -> Path:
    """The local directory that holds a log's manifest.

    Raises `UnsupportedOperationError` for a log that is not on the local disk.
    """
    location = log.manifest_source.location if log.manifest_source is not None else None
    if location is None or "://" in location:
        raise UnsupportedOperationError("the log is not on a local disk: choose a path for the new manifest")
    return Path(location).parent
