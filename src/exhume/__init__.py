"""exhume: read, write, verify, explain, salvage and carve five archive formats.

Formats: `clp-s`, `zs`, `ark`, `caf`, `databundle`, and `leveldb` for a bare index.  Everything here is imported when
it is used first, so that `import exhume` costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from exhume.archive import Archive, Entry, MemberArchive, RecordArchive, Writer
    from exhume.engines.carve import carve
    from exhume.engines.explain import explain
    from exhume.engines.identify import identify
    from exhume.engines.opening import open_archive as open  # noqa: A004 - like gzip.open
    from exhume.engines.recode import recode
    from exhume.engines.salvage import salvage
    from exhume.engines.verify import verify
    from exhume.errors import ExhumeError, Span
    from exhume.findings import Finding, Severity
    from exhume.layout.foreign import compile_ksy
    from exhume.limits import Limits
    from exhume.registry import Identification
    from exhume.registry import create_archive as create

__version__ = "0.1.0"

_NAMES = {
    "open": "exhume.engines.opening:open_archive",
    "identify": "exhume.engines.identify:identify",
    "create": "exhume.registry:create_archive",
    "verify": "exhume.engines.verify:verify",
    "salvage": "exhume.engines.salvage:salvage",
    "carve": "exhume.engines.carve:carve",
    "compile_ksy": "exhume.layout.foreign:compile_ksy",
    "recode": "exhume.engines.recode:recode",
    "explain": "exhume.engines.explain:explain",
    "Archive": "exhume.archive:Archive",
    "MemberArchive": "exhume.archive:MemberArchive",
    "RecordArchive": "exhume.archive:RecordArchive",
    "Writer": "exhume.archive:Writer",
    "Entry": "exhume.archive:Entry",
    "ExhumeError": "exhume.errors:ExhumeError",
    "Span": "exhume.errors:Span",
    "Finding": "exhume.findings:Finding",
    "Severity": "exhume.findings:Severity",
    "Identification": "exhume.registry:Identification",
    "Limits": "exhume.limits:Limits",
}

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
    "Writer",
    "__version__",
    "carve",
    "compile_ksy",
    "create",
    "explain",
    "identify",
    "open",
    "recode",
    "salvage",
    "verify",
]


def __getattr__(name: str) -> Any:
    target = _NAMES.get(name)
    if target is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    module, _, attribute = target.partition(":")
    value = getattr(importlib.import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
