# The public names as type checkers and editors see them; `__init__.py` imports each when it is used first.

import os
from typing import Any, Literal, overload

from exhume import ark as ark
from exhume import caf as caf
from exhume import clpir as clpir
from exhume import clps as clps
from exhume import databundle as databundle
from exhume import kvir as kvir
from exhume import leveldb as leveldb
from exhume import zs as zs
from exhume.archive import Archive as Archive
from exhume.archive import Entry as Entry
from exhume.archive import MemberArchive as MemberArchive
from exhume.archive import RecordArchive as RecordArchive
from exhume.archive import Writer as Writer
from exhume.engines.carve import carve as carve
from exhume.engines.explain import explain as explain
from exhume.engines.identify import identify as identify
from exhume.engines.inspect import Inspection
from exhume.engines.recode import recode as recode
from exhume.engines.salvage import salvage as salvage
from exhume.engines.verify import verify as verify
from exhume.errors import ExhumeError as ExhumeError
from exhume.errors import Span as Span
from exhume.findings import Finding as Finding
from exhume.findings import Severity as Severity
from exhume.findings import Verdict as Verdict
from exhume.formats.ark.collection import ArkLogSet
from exhume.formats.ark.reader import ArkArchive
from exhume.formats.ark.writer import ArkWriter
from exhume.formats.caf.reader import CafArchive
from exhume.formats.caf.writer import CafWriter
from exhume.formats.clp_ir.reader import ClpIrArchive
from exhume.formats.clp_ir.writer import ClpIrWriter
from exhume.formats.clp_s.reader import ClpSArchive
from exhume.formats.clp_s.writer import ClpSWriter
from exhume.formats.data_bundle.reader import DataBundleArchive
from exhume.formats.data_bundle.writer import DataBundleWriter
from exhume.formats.kv_ir.reader import KvIrArchive
from exhume.formats.kv_ir.writer import KvIrWriter
from exhume.formats.leveldb.reader import LevelDbArchive
from exhume.formats.zs.reader import ZsArchive
from exhume.formats.zs.writer import ZsWriter
from exhume.io.opening import Target
from exhume.layout.foreign import compile_ksy as compile_ksy
from exhume.limits import Limits as Limits
from exhume.registry import Identification as Identification

__all__ = [
    "Archive",
    "Entry",
    "ExhumeError",
    "Finding",
    "Identification",
    "Limits",
    "MemberArchive",
    "RecordArchive",
    "Severity",
    "Span",
    "Verdict",
    "Writer",
    "__version__",
    "ark",
    "caf",
    "carve",
    "clpir",
    "clps",
    "compile_ksy",
    "create",
    "databundle",
    "explain",
    "identify",
    "inspect",
    "kvir",
    "leveldb",
    "open",
    "recode",
    "salvage",
    "verify",
    "zs",
]
__version__: str

@overload
def open(
    target: Target,
    *,
    format: Literal["clp-s"],
    limits: Limits = ...,
    storage_options: dict[str, Any] | None = None,
    offset: int = 0,
    length: int | None = None,
    **options: Any,
) -> ClpSArchive: ...
@overload
def open(
    target: Target,
    *,
    format: Literal["zs"],
    limits: Limits = ...,
    storage_options: dict[str, Any] | None = None,
    offset: int = 0,
    length: int | None = None,
    **options: Any,
) -> ZsArchive: ...
@overload
def open(
    target: Target,
    *,
    format: Literal["ark"],
    limits: Limits = ...,
    storage_options: dict[str, Any] | None = None,
    offset: int = 0,
    length: int | None = None,
    **options: Any,
) -> ArkArchive | ArkLogSet: ...
@overload
def open(
    target: Target,
    *,
    format: Literal["caf"],
    limits: Limits = ...,
    storage_options: dict[str, Any] | None = None,
    offset: int = 0,
    length: int | None = None,
    **options: Any,
) -> CafArchive: ...
@overload
def open(
    target: Target,
    *,
    format: Literal["databundle"],
    limits: Limits = ...,
    storage_options: dict[str, Any] | None = None,
    offset: int = 0,
    length: int | None = None,
    **options: Any,
) -> DataBundleArchive: ...
@overload
def open(
    target: Target,
    *,
    format: Literal["clp-ir"],
    limits: Limits = ...,
    storage_options: dict[str, Any] | None = None,
    offset: int = 0,
    length: int | None = None,
    **options: Any,
) -> ClpIrArchive: ...
@overload
def open(
    target: Target,
    *,
    format: Literal["kv-ir"],
    limits: Limits = ...,
    storage_options: dict[str, Any] | None = None,
    offset: int = 0,
    length: int | None = None,
    **options: Any,
) -> KvIrArchive: ...
@overload
def open(
    target: Target,
    *,
    format: Literal["leveldb"],
    limits: Limits = ...,
    storage_options: dict[str, Any] | None = None,
    offset: int = 0,
    length: int | None = None,
    **options: Any,
) -> LevelDbArchive: ...
@overload
def open(
    target: Target,
    *,
    format: str | None = None,
    limits: Limits = ...,
    storage_options: dict[str, Any] | None = None,
    offset: int = 0,
    length: int | None = None,
    **options: Any,
) -> Archive: ...
@overload
def create(target: str | os.PathLike[str], format: Literal["clp-s"], **options: Any) -> ClpSWriter: ...
@overload
def create(target: str | os.PathLike[str], format: Literal["zs"], **options: Any) -> ZsWriter: ...
@overload
def create(target: str | os.PathLike[str], format: Literal["ark"], **options: Any) -> ArkWriter: ...
@overload
def create(target: str | os.PathLike[str], format: Literal["caf"], **options: Any) -> CafWriter: ...
@overload
def create(target: str | os.PathLike[str], format: Literal["databundle"], **options: Any) -> DataBundleWriter: ...
@overload
def create(target: str | os.PathLike[str], format: Literal["clp-ir"], **options: Any) -> ClpIrWriter: ...
@overload
def create(target: str | os.PathLike[str], format: Literal["kv-ir"], **options: Any) -> KvIrWriter: ...
@overload
def create(target: str | os.PathLike[str], format: str, **options: Any) -> Writer: ...
def inspect(
    target: Target,
    *,
    format: str | None = None,
    limits: Limits = ...,
    storage_options: dict[str, Any] | None = None,
    offset: int = 0,
    length: int | None = None,
    **options: Any,
) -> Inspection: ...
