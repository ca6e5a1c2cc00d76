"""`UPath("caf://dir/member::s3://bucket/chunk.caf")`: the class that universal_pathlib needs, and nothing else."""

from __future__ import annotations

from upath import UPath


class ArchivePath(UPath):
    """A path in an archive; read-only, as its file system is."""

    __slots__ = ()
