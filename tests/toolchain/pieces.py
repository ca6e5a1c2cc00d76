"""The sections and payloads of archives, each with the specification that describes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import exhume
from tests.toolchain import trees

MAX_SIZE = 60_000
# Container schemas describe whole files (test_schemas and test_real_files); their sections are parts.
WHOLE_FILES = {"zs", "data_bundle_shard"}
Piece = tuple[str, bytes, tuple[Any, ...]]


def pieces_of(path: Path) -> list[tuple[str, Piece]]:
    """Return (schema, (where, bytes, parameters)) for the sections and payloads of an archive, the small ones."""
    found: list[tuple[str, Piece]] = []
    with exhume.open(path) as archive:
        sections = archive.sections()
        for section in sections:
            where = f"{path}: {section.name}"
            if (
                section.schema in trees.spec_ids()
                and section.schema not in WHOLE_FILES
                and section.span.size <= MAX_SIZE
            ):
                source = sections.sources[section.span.source]
                data = source.read_at(section.span.start - source.origin, section.span.size)
                found.append((str(section.schema), (where, data, section.schema_args)))
            if section.payload_schema in trees.spec_ids() and section.load and (section.payload_size or 0) <= MAX_SIZE:
                try:
                    payload = section.load()
                except exhume.ExhumeError:
                    continue  # one producer writes unreadable tables; the format's own tests name them
                if len(payload) <= MAX_SIZE:
                    found.append((str(section.payload_schema), (f"{where} payload", payload, section.payload_args)))
    return found
