"""The hot loops of clp-s: those of the compiled `exhume.native._kernel` when it was built, else those of `pykernel`.

What each does is written in `pykernel`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from exhume.formats.clp_s.read.program import (
    BAD_FLOAT,
    BAD_LOG_TYPE,
    BAD_OFFSET,
    BAD_PATTERN,
    BAD_STRING,
    BAD_TIME,
    BOOLEAN,
    FLOAT,
    FORMATTED,
    INTEGER,
    LITERAL,
    STRING,
    TEXT,
    TIME,
    Fault,
)
from exhume.native.compiled import pick

if TYPE_CHECKING:
    from exhume.formats.clp_s.read import pykernel as _implementation
else:
    _implementation = pick("exhume.formats.clp_s.read.pykernel")

ClpsStrings = _implementation.ClpsStrings
ClpsTables = _implementation.ClpsTables
ClpsLogTypes = _implementation.ClpsLogTypes
ClpsMerged = _implementation.ClpsMerged
ClpsPatterns = _implementation.ClpsPatterns
ClpsProgram = _implementation.ClpsProgram
ClpsRepeated = _implementation.ClpsRepeated
clps_disorder = _implementation.clps_disorder
clps_merge_order = _implementation.clps_merge_order
clps_undelta = _implementation.clps_undelta
clps_variables_of = _implementation.clps_variables_of

__all__ = [
    "BAD_FLOAT",
    "BAD_LOG_TYPE",
    "BAD_OFFSET",
    "BAD_PATTERN",
    "BAD_STRING",
    "BAD_TIME",
    "BOOLEAN",
    "FLOAT",
    "FORMATTED",
    "INTEGER",
    "LITERAL",
    "STRING",
    "TEXT",
    "TIME",
    "ClpsLogTypes",
    "ClpsMerged",
    "ClpsPatterns",
    "ClpsProgram",
    "ClpsRepeated",
    "ClpsStrings",
    "ClpsTables",
    "Fault",
    "clps_disorder",
    "clps_merge_order",
    "clps_undelta",
    "clps_variables_of",
]
