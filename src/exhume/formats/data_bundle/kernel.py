"""The rows of an index: from the compiled kernel if it was built, else from `pykernel`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exhume.native import bind

if TYPE_CHECKING:
    from exhume.formats.data_bundle.pykernel import *  # noqa: F403
else:
    __getattr__ = bind(__name__)
