"""The parts of an archive by their names: sections of a file, files of a directory, versions of the format."""

from __future__ import annotations

from typing import Final

SECTION_NAMES: Final = (
    "/schema_tree",
    "/schema_ids",
    "/table_metadata",
    "/var.dict",
    "/log.dict",
    "/array.dict",
    "/0",
)
"""The sections of an archive in the order in which they are written."""

STRUCTURES: Final = SECTION_NAMES[:3]
DICTIONARIES: Final = SECTION_NAMES[3:6]
TABLE_SECTIONS: Final = ("/0", "/tables")
"""The section with the packed streams of tables: its name now, and in old archives."""

HEADER_FILE: Final = "header"
"""The file of a directory with header and metadata section; the others are named after the sections."""

TIMESTAMP_FILE: Final = "timestamp.dict"
"""A file of old directories, which have no header file."""

FILES: Final = frozenset(
    {HEADER_FILE, TIMESTAMP_FILE, *(name.removeprefix("/") for name in (*SECTION_NAMES, *TABLE_SECTIONS))}
)
"""Names of all files that a directory can have, also of old ones."""

KNOWN_VERSIONS: Final = ((0, 2, 0), (0, 3, 0), (0, 3, 1), (0, 3, 2), (0, 4, 0), (0, 4, 1), (0, 5, 0), (0, 5, 1))
