"""Archives as fsspec file systems, read-only: `caf://`, `databundle://`, `clps://`, `zs://` and `cafcat://`.

They are registered by entry points, so that everything that opens fsspec URLs opens members, chained to wherever the
archive is:
`caf://dir/member.csv::s3://bucket/chunk.caf`.
"""

from __future__ import annotations

from exhume.filesystems.archives import CafFileSystem, ClpSFileSystem, DataBundleFileSystem, ZsFileSystem
from exhume.filesystems.catalog import CafCatalogFileSystem

__all__ = ["CafCatalogFileSystem", "CafFileSystem", "ClpSFileSystem", "DataBundleFileSystem", "ZsFileSystem"]
