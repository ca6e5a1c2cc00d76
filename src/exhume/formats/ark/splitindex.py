"""The index of a split as a NumPy array: the fast twin of the generated `index` instance, tested against it.

Apart from `layout`, because recognising a log needs no NumPy, and NumPy takes longer to import than all else.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from exhume.formats.ark.layout import ENTRY_SIZE

INDEX_DTYPE: Final = np.dtype([("time", "<u8"), ("offset", "<u4"), ("size", "<u4"), ("object", "u1"), ("flags", "u1")])
"""`SplitIndexEntry`: packed, 18 bytes.  Spec: ark_log.txt, Split File Format."""

assert INDEX_DTYPE.itemsize == ENTRY_SIZE


def parse_index(data: bytes) -> np.ndarray[Any, Any]:
    """Index entries as a structured array of `INDEX_DTYPE` (read-only, no copy)."""
    return np.frombuffer(data, INDEX_DTYPE)
