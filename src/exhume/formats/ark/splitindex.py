"""The index of a split as a NumPy array, laid out as its specification says.

Apart from `layout`, because recognising a log needs no NumPy, and NumPy takes longer to import than all else.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from exhume.formats.ark.layout import ENTRY_DTYPE

INDEX_DTYPE: Final = np.dtype(ENTRY_DTYPE)


def parse_index(data: bytes) -> np.ndarray[Any, Any]:
    """Index entries as a structured array of `INDEX_DTYPE` (read-only, no copy)."""
    return np.frombuffer(data, INDEX_DTYPE)
