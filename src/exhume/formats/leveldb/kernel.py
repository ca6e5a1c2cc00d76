"""The loops over columns of versions: from the compiled kernel if there is one, else from `pykernel`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exhume.native import bind

if TYPE_CHECKING:
    from exhume.formats.leveldb.pykernel import *  # noqa: F403
else:
    __getattr__ = bind(__name__)
