"""`UPath("caf://dir/member::s3://bucket/chunk.caf")`: what universal_pathlib needs to know (nothing but the class)."""

from __future__ import annotations

from upath import UPath


class ArchivePath(UPath):
    """A path in an archive; read-only, as its file system is."""

    __slots__ = ()
