"""The loops over indexes and messages: from the compiled kernel if there is one, else from `pykernel`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exhume.native.compiled import pick

if TYPE_CHECKING:
    from exhume.formats.ark import pykernel as _implementation
else:
    _implementation = pick("exhume.formats.ark.pykernel")

RbufProgram = _implementation.RbufProgram
ark_check = _implementation.ark_check
ark_columns = _implementation.ark_columns
ark_cut = _implementation.ark_cut
ark_entries = _implementation.ark_entries
ark_faults = _implementation.ark_faults
ark_json = _implementation.ark_json
ark_merge = _implementation.ark_merge
ark_messages = _implementation.ark_messages
ark_portions = _implementation.ark_portions
ark_runs = _implementation.ark_runs
ark_scan = _implementation.ark_scan
ark_statistics = _implementation.ark_statistics
ark_stored = _implementation.ark_stored
ark_tables = _implementation.ark_tables
ark_total = _implementation.ark_total

__all__ = [
    "RbufProgram",
    "ark_check",
    "ark_columns",
    "ark_cut",
    "ark_entries",
    "ark_faults",
    "ark_json",
    "ark_merge",
    "ark_messages",
    "ark_portions",
    "ark_runs",
    "ark_scan",
    "ark_statistics",
    "ark_stored",
    "ark_tables",
    "ark_total",
]
