"""Fast, typed readers compiled from `ksy/` (see `make generated`); never edited by hand.

Each module has a function for each structure of its specification:

    from pathlib import Path

    from exhume_ksy.fast import LayoutError
    from exhume_ksy.fast.zs import read_zs

    data = Path("words.zs").read_bytes()
    try:
        file, end = read_zs(data, 0, len(data))
    except LayoutError as error:
        print(error.path, error.offset, error.expected, error.found)
    else:
        print(file.header.codec_name, file.header.len_root)

It takes the bytes, where the structure starts and where it must end, and returns it with where it does end.
"""

from __future__ import annotations

ELEMENTS = "7aab7e5cde709898"
"""What compiled code includes; code that was built from anything else is not used."""

TYPE_CHECKING = False  # `typing` is for type checkers
if TYPE_CHECKING:
    from typing import Any

    from ._layout import LayoutError as LayoutError
    from ._layout import View as View


def __getattr__(name: str) -> Any:
    """`LayoutError` and `View`, which all readers share; loaded on first use."""
    if name in ("LayoutError", "View"):
        from . import _layout

        return getattr(_layout, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
