"""Which encoded strings can match a wildcard pattern: candidate log types and variables, looked up in the dictionaries.

An encoded string is a log type (its static text, with a placeholder for each variable; an entry of a dictionary) and
the variables: integers and floats as numbers, others as ids of the variable dictionary.  A pattern is split into tokens
by the rules that text is split by when it is stored.  A token that a wildcard cuts could be static text or a variable
of several kinds, so each combination is one `StringCandidate`: the log types that can have it, and the variables that
it names.  If a candidate does not decide, the decoded text does.

The native search (that of the reference implementation) works in the same way, and misses some matches.  A token that
has a digit, but is not a number without the stars at its ends, such as `*007*` or `1*7`, is searched for only among
dictionary variables, so it does not find the integer 10075.  These misses are reproduced on purpose: results agree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Final

from exhume.formats.clp_s.layout_packed import Marks
from exhume.formats.clp_s.query.tree import clean_pattern, unescape_pattern
from exhume.formats.clp_s.query.wildcard import ANY, Wildcard
from exhume.formats.clp_s.write.texts import (
    ESCAPE,
    encode_dictionary_id,
    encode_float_variable,
    encode_integer_variable,
)
from exhume.formats.clp_s.write.texts import Dialect as TextDialect

MAX_CANDIDATES: Final = 4096
"""Most combinations of token kinds that are looked up; a pattern with more is only searched for in decoded text."""
MAX_LOOKUPS: Final = 4_000_000
"""Most look-ups of a pattern: one for each combination and log type of the archive."""

Lookup = Callable[[Wildcard], Sequence[int]]
"""Function that returns the ids of the dictionary entries that match."""

_MARKS: Final = frozenset(map(int, Marks))  # placeholder bytes and the escape, which are escaped in static text


@dataclass(frozen=True, slots=True)
class StringCandidate:
    """Strings of one of these log types that contain, for each element of `variables`, one of its words (signed
    64-bit).

    `verify`: the decoded text has to be matched as well.
    """

    log_types: frozenset[int]
    variables: tuple[frozenset[int], ...]
    verify: bool


@dataclass(frozen=True, slots=True)
class TextQuery:
    """A pattern over encoded strings: any of the candidates may match, or, with None, the decoded text decides."""

    pattern: Wildcard
    candidates: tuple[StringCandidate, ...] | None


STATIC, INTEGER, FLOAT, DICTIONARY = "static", "integer", "float", "dictionary"
"""Kinds of a token: static text of a log type, or a variable that is stored as a number or in the dictionary."""


@dataclass(slots=True)
class _Token:
    """A token `[start, end)` of a pattern, and the kinds (such as `INTEGER`) that it could be stored as."""

    start: int
    end: int
    value: bytes
    kinds: tuple[str, ...]
    star_inside: bool
    """A star other than as the first or last byte."""
    dictionary_only: bool
    """No integer or float can match it: the dictionary must have it."""

    @property
    def star_first(self) -> bool:
        return self.value[:1] == b"*"

    @property
    def star_last(self) -> bool:
        return self.value[-1:] == b"*"

    @property
    def wild(self) -> bool:
        return self.star_first or self.star_last or self.star_inside


@dataclass(slots=True)
class _Part:
    """A candidate under construction: pattern for its log types, variables, and whether to verify
    (`StringCandidate`)."""

    log_type: bytearray = field(default_factory=bytearray)
    variables: list[frozenset[int]] = field(default_factory=list)
    verify: bool = False


# A maximal run of token bytes and stars; an escaped backslash is a token byte, an escaped wildcard is not.
_TOKENS: Final = {
    TextDialect.CLASSIC: re.compile(rb"\\[*?]|((?:[+\-./0-9A-Z_a-z*]|\\\\)+)"),
    TextDialect.CORE: re.compile(rb"\\[*?]|((?:[+\-.0-9A-Z_a-z*]|\\\\)+)"),
}
# Contents of a token, for the kinds that it could be.
_DIGIT: Final = re.compile(rb"[0-9]")
_LETTER: Final = re.compile(rb"[A-Za-z]")
_HEX: Final = re.compile(rb"[0-9A-Fa-f]{2,}\Z")
_INTEGER_LIKE: Final = re.compile(rb"[0-9*?-]+\Z")
_FLOAT_LIKE: Final = re.compile(rb"[0-9*?.-]+\Z")


def stars_for_question_marks(pattern: bytes, *, escaped_too: bool) -> bytes:
    """Return the pattern with `*` for each `?`.

    `escaped_too`: also for `\\?`, which then means a literal star (as old versions of the native search have it).
    """
    if escaped_too:
        return clean_pattern(pattern.replace(b"?", b"*"))
    return clean_pattern(re.sub(rb"(\\(?s:.))|\?", lambda found: found.group(1) or b"*", pattern))


def split_pattern(pattern: bytes, dialect: TextDialect) -> list[_Token]:
    """Return the tokens of a pattern (stars only) that are or may be variables; all else is static text."""
    found: list[_Token] = []
    for match in _TOKENS[dialect].finditer(pattern):
        value = match.group(1)
        if value is None:
            continue
        start, end = match.span(1)
        wild = b"*" in value
        # Certainly a variable: with a digit, all hexadecimal digits, or with a letter after an equals sign.
        follows_equals = start > 0 and pattern[start - 1 : start] == b"="
        definite = bool(_DIGIT.search(value) or _HEX.match(value)) or (
            follows_equals and not wild and bool(_LETTER.search(value))
        )
        if definite or wild:
            found.append(_token(value, start, end, definite, dialect))
    return found


def _token(value: bytes, start: int, end: int, definite: bool, dialect: TextDialect) -> _Token:
    """Return the token `[start, end)` of a pattern with each kind that its value could be stored as.

    `definite`: it is a variable, not static text.
    """
    star_inside = b"*" in value[1:-1]
    core = dialect is TextDialect.CORE
    if value == b"*":
        kinds = [STATIC]
    elif definite:
        bare = value.removeprefix(b"*").removesuffix(b"*")
        if encode_integer_variable(bare, dialect) is None and encode_float_variable(bare, dialect) is None:
            kinds = [DICTIONARY]
        else:
            kinds = [INTEGER, FLOAT, DICTIONARY] if core else [DICTIONARY, FLOAT]
    elif core:
        kinds = [STATIC]
        if _INTEGER_LIKE.match(value):
            kinds.append(INTEGER)
        if _FLOAT_LIKE.match(value):
            kinds.append(FLOAT)
        kinds.append(DICTIONARY)
    else:  # integer and dictionary variables share a placeholder here
        kinds = [STATIC, DICTIONARY, FLOAT]
    dictionary_only = kinds in ([DICTIONARY], [STATIC, DICTIONARY])
    return _Token(start, end, value, tuple(kinds), star_inside, dictionary_only)


class TextSearch:
    """Looks patterns up in the dictionaries of one archive.

    `dialect`: how text is encoded, `CORE` from 0.4.0 on, `CLASSIC` before.  `log_types` and `variables` find entries by
    pattern; log types are compared in the form in which they are stored from 0.4.0 on (escapes kept), before without
    escapes.  `raw_lookup`: a variable is looked up with its backslashes.
    `verify_question_marks`: the text of a candidate is matched as well if the pattern has a `?`.
    """

    def __init__(
        self,
        dialect: TextDialect,
        log_types: Lookup,
        variables: Lookup,
        num_log_types: int,
        *,
        ignore_case: bool,
        raw_lookup: bool = False,
        verify_question_marks: bool = False,
    ) -> None:
        """Take the lookups, which return the ids that match a pattern; results are kept in `_found_...` by pattern."""
        self.dialect = dialect
        self.ignore_case = ignore_case
        self.raw_lookup = raw_lookup
        self.verify_question_marks = verify_question_marks
        self._log_types = log_types
        self._variables = variables
        self._num_log_types = num_log_types
        self._found_log_types: dict[bytes, frozenset[int]] = {}
        self._found_variables: dict[bytes, frozenset[int]] = {}

    def query(self, pattern: bytes) -> TextQuery | None:
        """Return the candidates for a pattern: log types and variables; None when nothing can match."""
        core = self.dialect is TextDialect.CORE
        stars = stars_for_question_marks(pattern, escaped_too=not core)
        final = Wildcard(pattern if core else stars, self.ignore_case)
        tokens = split_pattern(stars, self.dialect)
        # Each token can be stored in several ways; too many combinations are not looked up.  One with a star inside is
        # searched for in a single way, as the native search does.
        choices = [token.kinds if not token.star_inside else token.kinds[:1] for token in tokens]
        combinations = 1
        for kinds in choices:
            combinations *= len(kinds)
            if combinations > MAX_CANDIDATES or combinations * self._num_log_types > MAX_LOOKUPS:
                return TextQuery(final, None)
        # Candidates are made with `*` for `?`, so that they may be too many; `literal` is None if there are wildcards.
        doubtful = self.verify_question_marks and final.literal is None and ANY in final.codes
        candidates: list[StringCandidate] = []
        seen: set[StringCandidate] = set()
        # Look up the log type and the variables of each combination.
        for backwards in product(*reversed(choices)):  # so that the kind of the first token changes most often
            part = self._part(stars, tokens, backwards[::-1])
            if part is None:
                continue
            if part.log_type == b"*":  # all log types: only the decoded text decides
                return TextQuery(final, None)
            log_types = self._matching_log_types(bytes(part.log_type))
            if log_types:
                candidate = StringCandidate(log_types, tuple(part.variables), part.verify or doubtful)
                if candidate not in seen:
                    seen.add(candidate)
                    candidates.append(candidate)
        return TextQuery(final, tuple(candidates)) if candidates else None

    def _part(self, stars: bytes, tokens: Sequence[_Token], kinds: Sequence[str]) -> _Part | None:
        """Return the candidate for one reading of the tokens; None if the dictionary lacks a variable.

        `stars`: the pattern; `kinds`: the kind of each token.
        """
        part = _Part()
        at = 0
        for token, kind in zip(tokens, kinds, strict=True):
            self._static(part, stars[at : token.start])
            at = token.end
            if token.value == b"*":
                part.log_type += b"*"
            elif token.star_inside:  # the star may stand for several tokens: the decoded text is matched as well
                part.verify = True
                part.log_type += b"*" if kind == STATIC else b"*" + self._placeholder(DICTIONARY) + b"*"
            elif kind == STATIC:
                self._static(part, token.value)
            elif not self._variable(part, token, kind):
                return None
        self._static(part, stars[at:])
        return part

    def _static(self, part: _Part, text: bytes) -> None:
        """Add static text of the pattern to the log type of `part`, in the form in which log types store it.

        From 0.4.0 on they escape placeholder bytes and backslashes; a backslash before a wildcard escapes that.
        """
        if self.dialect is TextDialect.CLASSIC:
            part.log_type += text
            return
        for at, byte in enumerate(text):
            if byte in _MARKS:
                # As in the native search: one backslash before such a byte, but two if it is the last one.
                if at + 1 < len(text):
                    if text[at + 1] not in b"*?":
                        part.log_type.append(ESCAPE)
                elif byte != ESCAPE:
                    part.log_type += b"\\\\"
            part.log_type.append(byte)

    def _variable(self, part: _Part, token: _Token, kind: str) -> bool:
        """Add a token, as a variable of this kind, to the log type of `part`; False if no entry matches.

        `kind` counts only for a token with stars; without, the value itself determines the kind.
        """
        part.verify = True
        if not token.wild:
            kind, words = self._encoded(token.value)
            part.log_type += self._placeholder(kind)
            part.variables.append(words)
            return bool(words)
        # With stars at the ends, more static text may be at the ends of the token, too.
        if token.star_first:
            part.log_type += b"*"
        part.log_type += self._placeholder(kind)
        # A token that could be another kind of variable gets no constraint: the decoded text is matched anyway.
        if kind == DICTIONARY and token.dictionary_only:
            words = self._matching_variables(token.value)
            if not words:
                return False
            part.variables.append(words)
        if token.star_last:
            part.log_type += b"*"
        return True

    def _encoded(self, value: bytes) -> tuple[str, frozenset[int]]:
        """Return the kind of a variable without a star, and its possible words: it is encoded as when it is stored.

        No words: the dictionary does not have it.
        """
        number = encode_integer_variable(value, self.dialect)
        if number is not None:
            return INTEGER, frozenset((number,))
        number = encode_float_variable(value, self.dialect)
        if number is not None:
            return FLOAT, frozenset((number,))
        # An exact lookup: whatever backslashes are left stand for themselves.
        text = value if self.raw_lookup else unescape_pattern(value)
        return DICTIONARY, self._matching_variables(re.sub(rb"([*?\\])", rb"\\\1", text))

    def _placeholder(self, kind: str) -> bytes:
        """Return the byte that stands for a variable of this kind in log types."""
        if self.dialect is TextDialect.CORE:
            return {INTEGER: b"\x11", DICTIONARY: b"\x12", FLOAT: b"\x13"}[kind]
        return b"\x12" if kind == FLOAT else b"\x11"  # integers and dictionary entries share one

    def _matching_log_types(self, pattern: bytes) -> frozenset[int]:
        """Return the log types that match a pattern, found once."""
        found = self._found_log_types.get(pattern)
        if found is None:
            found = frozenset(self._log_types(Wildcard(pattern, self.ignore_case)))
            self._found_log_types[pattern] = found
        return found

    def _matching_variables(self, pattern: bytes) -> frozenset[int]:
        """Return the encoded dictionary variables that match a pattern, found once."""
        found = self._found_variables.get(pattern)
        if found is None:
            ids: Iterable[int] = self._variables(Wildcard(pattern, self.ignore_case))
            found = frozenset(encode_dictionary_id(ident, self.dialect) for ident in ids)
            self._found_variables[pattern] = found
        return found
