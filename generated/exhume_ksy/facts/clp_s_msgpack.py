"""What ksy/clp_s_msgpack.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

from typing import Final


class ClpSMsgpack:
    """`clp_s_msgpack`"""


    class at:
        """Where fields start and end, in bytes from the start."""

        tag: Final = (0, 1)
