"""The hot loops of the search: from the compiled kernel when it was built, else from `pykernel`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from exhume.formats.clp_s.query.wildcard import Wildcard
from exhume.native.compiled import pick

if TYPE_CHECKING:
    from exhume.formats.clp_s.query import pykernel as _implementation
else:
    _implementation = pick("exhume.formats.clp_s.query.pykernel")

ClpsDistinct = _implementation.ClpsDistinct
clps_distinct = _implementation.clps_distinct
clps_extreme = _implementation.clps_extreme
clps_find = _implementation.clps_find
clps_compare_int = _implementation.clps_compare_int
clps_compare_float = _implementation.clps_compare_float
clps_lookup = _implementation.clps_lookup
clps_match_texts = _implementation.clps_match_texts


def find(strings: Any, pattern: Wildcard, *, unescape: bool = False) -> list[int]:
    """Positions of the dictionary entries that match."""
    return clps_find(strings, pattern.codes, pattern.ignore_case, unescape)


__all__ = [
    "ClpsDistinct",
    "clps_compare_float",
    "clps_compare_int",
    "clps_distinct",
    "clps_extreme",
    "clps_find",
    "clps_lookup",
    "clps_match_texts",
    "find",
]
