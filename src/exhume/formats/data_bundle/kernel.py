"""The rows of an index: from the compiled kernel if it was built, else from `pykernel`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exhume.native.compiled import pick

if TYPE_CHECKING:
    from exhume.formats.data_bundle import pykernel as _implementation
else:
    _implementation = pick("exhume.formats.data_bundle.pykernel")

bundle_file_row = _implementation.bundle_file_row
bundle_record_row = _implementation.bundle_record_row

__all__ = ["bundle_file_row", "bundle_record_row"]
