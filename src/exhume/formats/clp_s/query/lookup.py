"""Looks the strings of a query up in an archive's dictionaries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from exhume.formats.clp_s.query import kernel as searchkernel
from exhume.formats.clp_s.query.options import Dialect
from exhume.formats.clp_s.query.wildcard import Wildcard

if TYPE_CHECKING:
    from exhume.formats.clp_s.query.texts import TextQuery, TextSearch


class Dictionaries:
    """Finds strings in the variable dictionary, and encoded strings by log types and variables.  Each dictionary is
    read when it is first needed."""

    def __init__(self, archive: Any, dialect: Dialect, *, ignore_case: bool) -> None:
        self.archive = archive
        self.dialect = dialect
        self.ignore_case = ignore_case
        self._texts: TextSearch | None = None

    def strings(self, pattern: bytes) -> frozenset[int]:
        """Ids of the dictionary entries that a pattern matches."""
        return frozenset(self._variables(Wildcard(pattern, self.ignore_case)))

    def texts(self, pattern: bytes) -> TextQuery | None:
        """What to search for in text columns; None when nothing can match."""
        if self._texts is None:
            from exhume.formats.clp_s.query.texts import TextSearch
            from exhume.formats.clp_s.write.texts import Dialect as TextDialect

            self._texts = TextSearch(
                TextDialect.CORE if self.dialect.core_text else TextDialect.CLASSIC,
                self._log_types,
                self._variables,
                len(self.archive.log_types),
                ignore_case=self.ignore_case,
                raw_lookup=self.dialect.raw_dictionary_lookup,
                verify_question_marks=self.dialect.verifies_question_marks,
            )
        return self._texts.query(pattern)

    def _variables(self, pattern: Wildcard) -> Sequence[int]:
        self.archive.share_variables()
        return searchkernel.find(self.archive.variables, pattern)

    def _log_types(self, pattern: Wildcard) -> Sequence[int]:
        # Before 0.4.0 the native search compares log types without their escapes.
        return searchkernel.find(self.archive.log_types, pattern, unescape=not self.dialect.core_text)
