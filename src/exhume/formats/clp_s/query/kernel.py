"""The hot loops of the search: from the compiled kernel when it was built, else from `pykernel`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from exhume.formats.clp_s.query.wildcard import Wildcard
from exhume.native import bind, pick

if TYPE_CHECKING:
    from exhume.formats.clp_s.query.pykernel import *  # noqa: F403
else:
    __getattr__ = bind(__name__)


def find(strings: Any, pattern: Wildcard, *, unescape: bool = False) -> list[int]:
    """Return the positions of the dictionary entries that match; `unescape`: without the backslashes in them."""
    found: list[int] = pick("exhume.formats.clp_s.query.pykernel").clps_find(
        strings, pattern.codes, pattern.ignore_case, unescape
    )
    return found
