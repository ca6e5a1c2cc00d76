"""The loops over indexes and messages: from the compiled kernel if there is one, else from `pykernel`.

Type checkers see `pykernel`; at run time, `bind` looks up each name when it is first imported from here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from exhume.native import bind

if TYPE_CHECKING:
    from exhume.formats.ark.pykernel import *  # noqa: F403
else:
    __getattr__ = bind(__name__)
