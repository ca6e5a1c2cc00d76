"""The encoder of records: that of the compiled kernel if it was built, else that of `pykernel`.

Their common interface is `encoder.Encoder`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from exhume.native import bind

if TYPE_CHECKING:
    from exhume.formats.clp_s.write.pykernel import *  # noqa: F403
else:
    __getattr__ = bind(__name__)
