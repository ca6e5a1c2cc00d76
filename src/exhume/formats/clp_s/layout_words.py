"""The fields packed into the numbers of a table and into the bytes of a log type, by their specifications.

Spec: clp_s.txt, Files section; `docs/formats/clp_s.md`.
"""

from __future__ import annotations

from exhume_ksy.facts.clp_s_dictionary_entries import ClassicMarks as ClassicMarks
from exhume_ksy.facts.clp_s_dictionary_entries import Marks as Marks
from exhume_ksy.facts.clp_s_table import ClassicDecimalVariable as ClassicDecimalVariable
from exhume_ksy.facts.clp_s_table import ClassicVariable as ClassicVariable
from exhume_ksy.facts.clp_s_table import ClpWord as ClpWord
from exhume_ksy.facts.clp_s_table import DecimalVariable as DecimalVariable
from exhume_ksy.facts.clp_s_table import ExponentSign as ExponentSign
from exhume_ksy.facts.clp_s_table import FloatFormat as FloatFormat
from exhume_ksy.facts.clp_s_table import FloatNotation as FloatNotation
