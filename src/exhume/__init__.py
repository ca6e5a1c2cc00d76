"""exhume: read, write, verify, explain, salvage and carve archives.

The functions here take archives of every format; `exhume.clps`, `exhume.kvir`, `exhume.clpir`, `exhume.zs`,
`exhume.ark`, `exhume.caf`, `exhume.databundle` and `exhume.leveldb` have an `open` and a `create` for one format each,
with types of their own.
Everything is imported when it is used first, so that `import exhume` costs next to nothing.  What type checkers and
editors know of these names is in `__init__.pyi`.
"""

from __future__ import annotations

from typing import Any

__version__ = "1.0.0rc1"

# Public name: where it is defined, as `module:attribute`; `__getattr__` imports it from there.
_NAMES = {
    "open": "exhume.engines.identify:open_archive",
    "inspect": "exhume.engines.inspect:inspect_archive",
    "identify": "exhume.engines.identify:identify",
    "create": "exhume.engines.identify:create_archive",
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
    "Verdict": "exhume.findings:Verdict",
    "Identification": "exhume.registry:Identification",
    "Limits": "exhume.limits:Limits",
}

_MODULES = ("ark", "caf", "clpir", "clps", "databundle", "kvir", "leveldb", "zs")
"""The formats with types of their own, a module each."""

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


def __getattr__(name: str) -> Any:
    """Import a module or name of the package when it is first used.  Raises `AttributeError` for others."""
    import importlib

    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    target = _NAMES.get(name)
    if target is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, attribute = target.partition(":")
    value = getattr(importlib.import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
