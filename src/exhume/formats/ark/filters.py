"""Acceptance filters: what a section of a manifest allows the sections after it to show.

A section lists columns (groups of channels) and has a filter: a time range, and lists of channel names or patterns to
allow or deny.  `topic_matcher` at the end is for the channels that a user requests.

Spec: ark_log.txt, Manifest File Format ("each section parsed after this one has this query applied to it").
"""

from __future__ import annotations

import fnmatch
import importlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from exhume.choices import hint
from exhume.errors import QueryError, Span, WriterError, shorten
from exhume.findings import Finding
from exhume.formats.ark import assumptions
from exhume.formats.ark.checks import FILTER_PATTERN, FILTER_UNKNOWN, PATTERN_COST
from exhume.tuples import NamedTuple

KNOWN_FIELDS: Final = frozenset({"minimum_time", "maximum_time", "message_allow_list", "message_deny_list"})
"""Fields of a filter object (`Query`) that have a meaning here."""
MAX_PATTERN: Final = 4096
"""Characters of the longest pattern that is compiled; its file may be an attack."""
MAX_NAME: Final = 1024
"""Names longer than this are compared, not matched."""
MAX_REPEATS: Final = 4
"""Unbounded repetitions of a pattern at most: matching takes up to the length of the name to this power."""
LONG_REPEAT: Final = 16
"""Repetitions above which one counts as unbounded."""
TIME_MAX: Final = (1 << 64) - 1
"""The last time in nanoseconds: "no limit"."""


class Filter(NamedTuple):
    """One acceptance filter; times are nanoseconds, both ends inclusive."""

    minimum_ns: int | None = None
    maximum_ns: int | None = None
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    unknown: Mapping[str, Any] = {}
    """Fields that are set but not understood, and "groups": what is unusual about those of the object."""
    raw: bytes = b""
    """The filter's bytes when no schema fits."""

    @property
    def is_open(self) -> bool:
        """Whether the filter hides nothing (as far as it is understood)."""
        return self.minimum_ns is None and self.maximum_ns is None and not self.allow and not self.deny

    @property
    def is_understood(self) -> bool:
        """Whether every field that is set has a known meaning."""
        return not self.unknown and not self.raw

    @classmethod
    def from_value(cls, value: Mapping[str, Any]) -> Filter:
        """A filter from the decoded `Query` object."""
        unknown = {name: item for name, item in value.items() if name not in KNOWN_FIELDS and item not in _EMPTY}
        low, high = value.get("minimum_time"), value.get("maximum_time")
        allow, deny = value.get("message_allow_list") or [], value.get("message_deny_list") or []
        lists = all(isinstance(each, list) and all(isinstance(name, str) for name in each) for each in (allow, deny))
        times = all(each is None or isinstance(each, int) for each in (low, high))
        if not lists or not times:
            return cls(unknown=dict(value))
        return cls(low, high, tuple(allow), tuple(deny), unknown)

    def to_value(self) -> dict[str, Any]:
        """The `Query` object for the writer's own schema."""
        return {
            "minimum_time": self.minimum_ns,
            "maximum_time": self.maximum_ns,
            "message_allow_list": list(self.allow),
            "message_deny_list": list(self.deny),
        }

    def to_dict(self) -> dict[str, Any]:
        """The JSON form used in listings."""
        return {
            "minimum_ns": self.minimum_ns,
            "maximum_ns": self.maximum_ns,
            "allow": list(self.allow),
            "deny": list(self.deny),
            "understood": self.is_understood,
        }


_EMPTY: Final[tuple[Any, ...]] = (None, 0, "", b"", False, [], {})
"""Values of a field that is not set."""

ACCEPT_ALL: Final = Filter()
"""The filter that hides nothing."""


class Acceptance:
    """The filters of all sections before one, joined by AND."""

    def __init__(self, filters: Iterable[Filter] = ()) -> None:
        """Combine the filters: the time range (inclusive nanoseconds) is the intersection of theirs."""
        self.filters: tuple[Filter, ...] = tuple(each for each in filters if not each.is_open or not each.is_understood)
        lows = [each.minimum_ns for each in self.filters if each.minimum_ns is not None]
        step = 0 if assumptions.MAXIMUM_TIME_INCLUSIVE else 1
        highs = [each.maximum_ns - step for each in self.filters if each.maximum_ns is not None]
        self.minimum_ns: int = max(lows, default=0)
        self.maximum_ns: int = min(highs, default=TIME_MAX)
        # Per filter: whether a name is in its allow list, and in its deny list; None for an empty list.
        self._lists = [
            (_matcher(each.allow) if each.allow else None, _matcher(each.deny) if each.deny else None)
            for each in self.filters
        ]
        self._known: dict[str, bool] = {}  # results of `accepts_name`

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the filters alone, because the compiled matchers cannot be pickled."""
        return Acceptance, (self.filters,)

    @property
    def is_open(self) -> bool:
        """Whether nothing is hidden."""
        return not self.filters

    def check(self, span: Span) -> None:
        """Raise the error of rule ARK-421 when a filter is not understood: it is unknown what may be shown."""
        for each in self.filters:
            if not each.is_understood:
                raise FILTER_UNKNOWN.error(span=span, actual=shorten(dict(each.unknown) or each.raw))

    def accepts_name(self, name: str) -> bool:
        """Whether a channel may be shown at all."""
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = all(
                (allow is None or allow(name)) and not (deny is not None and deny(name)) for allow, deny in self._lists
            )
        return known


def _matcher(entries: Sequence[str]) -> Callable[[str], bool]:
    """Return a function that tests a channel name against the entries: literal names or patterns."""
    names = frozenset(entries)
    patterns = []
    for entry in entries:
        pattern = compile_pattern(entry)
        if pattern is not None:
            patterns.append(pattern.fullmatch if assumptions.PATTERNS_MATCH_WHOLE_NAMES else pattern.search)

    def matches(name: str) -> bool:
        """Return whether any entry allows the channel; long names are not matched with patterns, which may be slow."""
        return name in names or (len(name) <= MAX_NAME and any(match(name) for match in patterns))

    return matches


def compile_pattern(text: str) -> re.Pattern[str] | None:
    """A filter's entry as a regular expression; None when it is not one (it still works as a name).

    Raises the error of rule ARK-503 for patterns whose matching time is not bounded by a small power of the length:
    they come from a file, and the engine has no time limit.
    """
    if not any(char in text for char in ".^$*+?{}[]\\|()"):
        return None
    if len(text) > MAX_PATTERN:
        raise PATTERN_COST.error(expected=f"at most {MAX_PATTERN} characters", actual=len(text))
    try:
        pattern = re.compile(text)
        repeats = _repeats(_parse_pattern(text))
    except (re.error, OverflowError, RecursionError):
        return None
    if repeats > MAX_REPEATS:
        raise PATTERN_COST.error(actual=text)
    return pattern


def check_pattern(text: str, span: Span) -> Finding | None:
    """The finding for an entry that is neither a plain name nor a usable regular expression."""
    if not any(char in text for char in ".^$*+?{}[]\\|()"):
        return None
    try:
        re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        return FILTER_PATTERN.finding(span=span, actual=f"{shorten(text)} ({shorten(error)})")
    return None


def _parse_pattern(text: str) -> Any:
    """Parse a regular expression into its parts."""
    # The module that `re` itself parses with is the only way to examine a pattern.
    return importlib.import_module("re._parser").parse(text)


def _repeats(pattern: Any) -> int:
    """Unbounded repetitions that can match the same text, counted; nested ones and references count as too many.

    `pattern` is a parsed pattern: pairs of an operation and its argument.  In the argument of a repetition or a group,
    the pattern within is the last item; in that of an assertion it is the second; in that of a branch, the second item
    is a list of patterns.
    """
    total = 0
    for operation, argument in pattern:
        match str(operation):
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                _, most, inner = argument  # least and most repetitions, and what is repeated
                total += _repeated(inner, int(most))
            case "SUBPATTERN":
                *_, inner = argument
                total += _repeats(inner)
            case "ATOMIC_GROUP":
                total += _repeats(argument)
            case "BRANCH":
                _, choices = argument
                total += max(map(_repeats, choices), default=0)
            case "ASSERT" | "ASSERT_NOT":
                _, inner = argument
                total += _repeats(inner)
            case name if name.startswith("GROUPREF"):
                total += MAX_REPEATS + 1
    return total


def _repeated(inner: Any, most: int) -> int:
    """The count of `_repeats` for a pattern that is repeated at most `most` times.

    A long repetition counts as unbounded, once, unless something varies inside it: then the pattern is rejected.  A
    short one multiplies those within it.
    """
    within = _repeats(inner)
    if most <= LONG_REPEAT:
        return within * max(1, most)
    varies = any(str(each) in ("BRANCH", "GROUPREF", "GROUPREF_EXISTS") for each in _operations(inner))
    return MAX_REPEATS + 1 if within or varies else 1


def _operations(pattern: Any) -> Iterable[Any]:
    """Yield the name of each operation of a parsed regular expression, nested ones included."""
    for operation, argument in pattern:
        yield operation
        name = str(operation)
        if name in ("SUBPATTERN", "MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            *_, inner = argument
            yield from _operations(inner)
        elif name == "BRANCH":
            _, choices = argument
            for each in choices:
                yield from _operations(each)


_LOOKS_LIKE_EXPRESSION = re.compile(r"\.[*+?]|[\\()|^$]|\]\+")
"""Finds what occurs in regular expressions, but not in names and globs: `.*`, `\\`, parentheses, `|`, `]+` and such."""


def unmatched(topics: Sequence[str] | None, names: Sequence[str]) -> str:
    """A hint for when no channel has a requested name, which may be a typing error; "" when one has."""
    matches = topic_matcher(topics)
    if not names or any(map(matches, names)):
        return ""
    unmatched_topics = ", ".join(f"{shorten(topic)}{hint(topic, names)}" for topic in topics or ())
    return f"no channel matches {unmatched_topics}: there are {', '.join(sorted(set(names))[:8])}"


def topic_matcher(topics: str | re.Pattern[str] | Iterable[str | re.Pattern[str]] | None) -> Callable[[str], bool]:
    """A predicate on channel names for the topics of a caller.

    Each topic is a name, a glob (`/nav/*`), a regular expression for the whole name (compiled, or a string that can be
    nothing else: `/nav/.*`, `/(a|b)`), or a string `re:EXPRESSION`.  None selects everything.  Raises `QueryError`
    for an expression that does not compile.
    """
    if topics is None:
        return lambda name: True
    given = [topics] if isinstance(topics, (str, re.Pattern)) else list(topics)
    names = {each for each in given if isinstance(each, str)}
    matchers: list[Callable[[str], Any]] = []
    for each in given:
        if isinstance(each, re.Pattern):
            matchers.append(each.fullmatch)
        elif each.startswith("re:"):
            try:
                matchers.append(re.compile(each[3:]).fullmatch)
            except re.error as error:
                raise QueryError(f"not a regular expression: {error}", query=each, column=error.pos) from error
        else:
            if any(char in each for char in "*?["):
                matchers.append(re.compile(fnmatch.translate(each)).match)
            if _LOOKS_LIKE_EXPRESSION.search(each):
                try:
                    matchers.append(re.compile(each).fullmatch)
                except re.error:
                    continue  # then it is a name with strange characters, or a glob
    return lambda name: name in names or any(match(name) for match in matchers)


def filter_entries(topic: str, names: Sequence[str]) -> list[str]:
    """The entries of a filter that select the same of these channel names as a topic of a caller does.

    That is the topic itself where a filter takes it for the same: there is no glob in a filter, and every entry that
    can be one is a regular expression as well.  Otherwise it is each name.  Raises `WriterError` if no name matches,
    and the error of rule ARK-503 (see `compile_pattern`).
    """
    chosen = list(filter(topic_matcher(topic), names))
    if not chosen:
        raise WriterError(unmatched([topic], names) or f"the log has no channels: {shorten(topic)} matches none")
    if list(filter(_matcher([topic]), names)) == chosen:
        return [topic]
    return [_SPECIAL.sub(r"\\\g<0>", name) for name in chosen]


_SPECIAL = re.compile(r"[.^$*+?{}\[\]\\|()]")
"""Characters that have a meaning in regular expressions."""
