"""The index: one JSON object, read strictly and without losing anything.

Strict means RFC 8259 and nothing more: no trailing commas, comments, NaN, BOM or raw control characters; duplicate keys
are noticed at every level; offsets are integers and written as such; nesting is bounded.  Nothing is coerced: an entry
with a bad offset stays in the table as a name that cannot be read.  Lone surrogates are kept.

The object has `format_version` and `files`, which maps each name to an entry: an object with `start_byte` and
`end_byte`.  A flaw makes one entry unusable; a problem is anything to report.

Spec: caf.txt, File Index Section.
"""

from __future__ import annotations

import json
import re
from array import array
from typing import Any

from exhume.counts import counted
from exhume.errors import ExhumeError, Span, shorten
from exhume.findings import Rule
from exhume.formats.caf import checks
from exhume.formats.caf.pykernel import OFFSET, TEXT
from exhume.formats.caf.table import Index, Problem, parse_canonical
from exhume.limits import DEFAULT_LIMITS, Limits

_BLANK = rb"[ \t\n\r]*+"
_WS = re.compile(_BLANK)
_QUOTED = rb'"(' + TEXT + rb')"'
_STRING = re.compile(_QUOTED)
_STRING_START = re.compile(rb'"' + TEXT)
_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*+)(\.[0-9]++)?([eE][+-]?[0-9]++)?")
_SHOWN = 24
"""Bytes of the faulty text that an error shows."""

_LITERAL = re.compile(rb"true|false|null")
_LITERALS = {b"true": True, b"false": False, b"null": None}
_ENTRY = re.compile(
    _BLANK.join((_QUOTED, rb":", rb"\{", rb'"start_byte"', rb":", OFFSET, rb",", rb'"end_byte"', rb":", OFFSET, rb"\}"))
)
"""Matches a usual entry: (name, start, end)."""
MAX_DEPTH = 100
"""Nesting that is followed in members that are then ignored; the index itself needs three levels."""
MAX_DIGITS = 18
"""Longest spelling taken as an offset: fits 63 bits, and is far above what any chunk can hold."""


def parse_index(data: bytes, where: Span, limits: Limits = DEFAULT_LIMITS) -> Index:
    """The index as a table; `where` is its span in the file.

    Raises an error with code CAF-301 (syntax), CAF-302 (nesting), CAF-104 (not an object) at the absolute offset of the
    first broken byte, and `LimitExceededError` for too many entries.  Everything that leaves the other entries readable
    ends up in `problems` and `flaws` instead.
    """
    if (index := parse_canonical(data)) is None:
        return parse_strict(data, where, limits)
    limits.check("entries", len(index.names), where)
    return index


def parse_strict(data: bytes, where: Span, limits: Limits = DEFAULT_LIMITS) -> Index:
    """`parse_index` without the fast path."""
    return _Parser(data, where, limits).run()


def parse_partial(data: bytes, where: Span, limits: Limits = DEFAULT_LIMITS) -> Index:
    """The complete entries before the first broken byte (`broken` is the error there); allows trailing commas."""
    parser = _Parser(data, where, limits, lenient=True)
    try:
        return parser.run()
    except ExhumeError as error:
        parser.index.broken = error
        parser.close()
        return parser.index


class _Missing:
    """Stands for the value of a member that an entry does not have."""

    def __repr__(self) -> str:
        return "nothing"


_MISSING = _Missing()


class _Number:
    """A JSON number that is not a plain integer of bounded size, kept as text.

    `plain` is set if only its size is wrong.
    """

    def __init__(self, text: str, plain: bool) -> None:
        self.text, self.plain = text, plain

    def __repr__(self) -> str:
        return self.text


class _Parser:
    """Recursive descent over UTF-8 bytes.  `where` is the index in the file; `lenient` allows trailing commas."""

    def __init__(self, data: bytes, where: Span, limits: Limits, lenient: bool = False) -> None:
        self.data, self.where, self.limits, self.lenient = data, where, limits, lenient
        self.max_depth = min(limits.depth, MAX_DEPTH)
        self.index = Index(len(data))
        # For each entry: its range, and the position and size of its name in the index.
        self.starts, self.ends, self.keys, self.key_sizes = array("q"), array("q"), array("q"), array("q")

    def run(self) -> Index:
        """Parse the whole index; raises the error of the first broken rule."""
        data = self.data
        pos = self._blank(0)
        if data[pos : pos + 1] != b"{":
            raise checks.NOT_AN_INDEX.error(
                _encoding_hint(data), span=self.where.sub(pos, min(pos + 1, len(data))), expected="{", actual=data[pos:]
            )
        self.index.end = self._top(pos)
        pos = self._blank(self.index.end)
        if pos != len(data):
            raise self._bad(pos, "the end of the index")
        self.close()
        return self.index

    def close(self) -> None:
        """Move the collected entries into the table."""
        index = self.index
        index.starts, index.ends, index.keys, index.key_sizes = self.starts, self.ends, self.keys, self.key_sizes
        index.finish()
        index.problems.sort(key=lambda problem: problem.start)

    # -- tokens; what a method returns for `pos` ends with the position after what it read there

    def _blank(self, pos: int) -> int:
        """Skip white space."""
        match = _WS.match(self.data, pos)
        return match.end() if match else pos

    def _bad(self, pos: int, expected: str, what: str = "") -> ExhumeError:
        """The error of text at `pos` that is not the JSON expected there."""
        found = self.data[pos : pos + _SHOWN]
        return checks.BAD_JSON.error(
            what,
            span=self.where.sub(pos, min(pos + 1, len(self.data))),
            expected=expected,
            actual=found if found else "the end of the index",
        )

    def _raw_string(self, pos: int) -> tuple[bytes, int]:
        """Return the bytes between the quotes (escapes not decoded) and the position after the string."""
        match = _STRING.match(self.data, pos)
        if match:
            return match[1], match.end()
        start = _STRING_START.match(self.data, pos)
        if start is None:
            raise self._bad(pos, "a string in double quotes")
        at = start.end()
        if self.data[at : at + 1] == b"\\":
            raise self._bad(at, "one of the escapes of JSON", "bad escape in a string")
        if at < len(self.data):
            raise self._bad(at, "an escape such as \\u000a", "raw control character in a string")
        raise self._bad(at, 'a closing "', "unterminated string")

    def _string(self, pos: int) -> tuple[str, int]:
        raw, end = self._raw_string(pos)
        return self._text(raw, pos, end), end

    def _text(self, raw: bytes, start: int, end: int) -> str:
        """Return a JSON string's text; bytes that are not UTF-8 are a problem and become U+FFFD."""
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            text = raw.decode("utf-8", "replace")
            at = start + 1 + error.start  # 1 for the quote
            self._problem(checks.BAD_UTF8, start, end, "", f"byte {at} of the index", actual=raw)
        return str(json.loads(f'"{text}"')) if "\\" in text else text

    def _problem(
        self, rule: Rule, start: int, end: int, path: str, detail: str = "", expected: Any = None, actual: Any = None
    ) -> Problem:
        """Add a problem with bytes `[start, end)` of the index."""
        problem = Problem(rule, start, end, detail, path or None, expected, actual)
        self.index.problems.append(problem)
        return problem

    # -- structure

    def _members(self, pos: int, path: str, depth: int) -> Any:
        """Yield `(key, key start, key end, value position)` of an object; the caller sends the end of each value."""
        if depth > self.max_depth:
            raise checks.INDEX_TOO_DEEP.error(
                span=self.where.sub(pos, pos + 1), expected=f"at most {counted(self.max_depth, 'levels')} (limit depth)"
            )
        data = self.data
        pos = self._blank(pos + 1)
        # Repeated keys are not noticed in the objects of a list in the place of `files`: None.
        seen: dict[str, int] | None = {} if path != "files" else None
        if data[pos : pos + 1] == b"}":
            return pos + 1
        while True:
            start = pos
            key, pos = self._string(pos)
            end = pos
            if seen is not None:
                if key in seen:
                    self._problem(checks.DUPLICATE_KEY, start, end, path, repr(shorten(key)))
                seen[key] = start
            pos = self._blank(pos)
            if data[pos : pos + 1] != b":":
                raise self._bad(pos, "a colon after a key")
            pos = self._blank((yield key, start, end, self._blank(pos + 1)))  # the caller reads the value
            mark = data[pos : pos + 1]
            if mark == b"}":
                return pos + 1
            if mark != b",":
                raise self._bad(pos, "a comma or closing brace")
            pos = self._blank(pos + 1)
            if data[pos : pos + 1] == b"}":
                if not self.lenient:
                    raise self._bad(pos, "a key", "trailing comma")
                return pos + 1

    def _object(self, pos: int, path: str, depth: int) -> _Members:
        """The members of the object at `pos`; `path` leads to it, `depth` is its level, from 1."""
        return _Members(self._members(pos, path, depth))

    def _top(self, pos: int) -> int:
        """Parse the outermost object, whose brace is at `pos`; if a member is repeated, the last one counts."""
        index = self.index
        members = self._object(pos, "", 1)
        for key, start, end, at in members:
            if key == "format_version":
                index.version, after = self._value(at, key, 2)
                index.has_version, index.version_span = True, (at, after)
            elif key == "files" and self.data[at : at + 1] == b"{":
                index.has_files = True
                self._forget()
                after = self._files(at)
            else:
                if key == "files":
                    index.has_files = False
                    self._forget()
                else:
                    self._unknown(key, start, end, key, ("format_version", "files"))
                _, after = self._value(at, key, 2)
            members.after = after
        return members.end

    def _forget(self) -> None:
        """A second `files` replaces the first, as it does in every JSON reader that keeps the last of two keys."""
        self.index.replaced += self.index.names
        self.index.names.clear()
        self.index.flaws.clear()
        self.starts, self.ends, self.keys, self.key_sizes = array("q"), array("q"), array("q"), array("q")

    def _unknown(self, key: str, start: int, end: int, path: str, known: tuple[str, ...]) -> None:
        """Note a key that the format does not have; one that differs in case only is probably a `known` one."""
        hint = next((f", meant {name}?" for name in known if name == key.lower()), "")
        self._problem(checks.UNKNOWN_MEMBER, start, end, path, f"{shorten(key)!r}{hint}")

    def _files(self, pos: int) -> int:
        """Parse the object of `files`, whose brace is at `pos`; unusual entries go through `_odd_entry`."""
        data, names, limits = self.data, self.index.names, self.limits
        pos = self._blank(pos + 1)
        if data[pos : pos + 1] == b"}":
            return pos + 1
        while True:
            match = _ENTRY.match(data, pos)
            if match:
                end = match.end(1) + 1  # of the name, with its quote
                names.append(self._text(match[1], pos, end))
                self._append(int(match[2]), int(match[3]), pos, end)
                after = match.end()
            else:
                after = self._odd_entry(pos)
            if len(names) > limits.entries:
                limits.check("entries", len(names), self.where)
            pos = self._blank(after)
            mark = data[pos : pos + 1]
            if mark == b"}":
                return pos + 1
            if mark != b",":
                raise self._bad(pos, "a comma or closing brace")
            pos = self._blank(pos + 1)
            if data[pos : pos + 1] == b"}" and self.lenient:
                return pos + 1

    def _append(self, start: int, stop: int, key: int, key_end: int) -> None:
        """Add an entry: its range, and the range of its name in the index."""
        self.starts.append(start)
        self.ends.append(stop)
        self.keys.append(key)
        self.key_sizes.append(key_end - key)

    def _odd_entry(self, pos: int) -> int:
        """An entry with other members, in another order, or with bad values: it is read in full before it is added."""
        if self.data[pos : pos + 1] == b"}":
            raise self._bad(pos, "a key", "trailing comma")
        start = pos
        name, key_end = self._string(pos)
        pos = self._blank(key_end)
        if self.data[pos : pos + 1] != b":":
            raise self._bad(pos, "a colon after a key")
        pos = self._blank(pos + 1)
        # The value: an object with both offsets, or a flaw.
        path = f"files[{len(self.index.names)}]"
        offsets: dict[str, tuple[Any, int, int]] = {}
        if self.data[pos : pos + 1] != b"{":
            value, after = self._value(pos, path, 3)
            flaw: Problem | None = Problem(
                checks.BAD_ENTRY, pos, after, repr(shorten(name)), path, "an object", shorten(self.data[pos:after])
            )
        else:
            members = self._object(pos, path, 3)
            for key, at_key, end_key, at in members:
                value, after = self._value(at, f"{path}.{key}", 4)
                if key in ("start_byte", "end_byte"):
                    offsets[key] = (value, at, after)
                else:
                    self._unknown(key, at_key, end_key, path, ("start_byte", "end_byte"))
                members.after = after
            after = members.end
            flaw = self._offsets_flaw(name, path, pos, after, offsets)
        # A flawed entry is listed as well, with an empty range.
        ordinal = len(self.index.names)
        self.index.names.append(name)
        if flaw is None:
            self._append(offsets["start_byte"][0], offsets["end_byte"][0], start, key_end)
        else:
            self._append(0, 0, start, key_end)
            self.index.flaws[ordinal] = flaw
            self.index.problems.append(flaw)
        return after

    def _offsets_flaw(
        self, name: str, path: str, start: int, end: int, offsets: dict[str, tuple[Any, int, int]]
    ) -> Problem | None:
        """Return the fault in the first invalid offset of an entry; None if both are usable.

        `offsets` has (value, start, end of its bytes) by key; `start` and `end` are those of the entry, for a missing
        offset.
        """
        for key in ("start_byte", "end_byte"):
            value, at, after = offsets.get(key, (_MISSING, start, end))
            detail, here = repr(shorten(name)), f"{path}.{key}"
            if value is _MISSING:
                return Problem(checks.BAD_ENTRY, at, after, detail, here, "an integer", "no such member")
            if isinstance(value, _Number) and value.plain:
                rule = checks.NEGATIVE_START if value.text.startswith("-") else checks.RANGE_PAST_END
                return Problem(rule, at, after, detail, here, "an offset inside the data section", value.text)
            if isinstance(value, _Number):
                return Problem(checks.ODD_NUMBER, at, after, detail, here, "a plain decimal integer", value.text)
            if isinstance(value, bool) or not isinstance(value, int):
                shown = shorten(self.data[at:after])
                return Problem(checks.BAD_OFFSET, at, after, detail, here, "an integer", shown)
        return None

    def _value(self, pos: int, path: str, depth: int) -> tuple[Any, int]:
        """Any JSON value; containers are checked and dropped (they come back as `dict` or `list`, empty)."""
        data = self.data
        mark = data[pos : pos + 1]
        if mark == b'"':
            return self._string(pos)
        if mark == b"{":
            members = self._object(pos, path, depth)
            for key, _, _, at in members:  # the path is for messages, and does not grow further than that
                members.after = self._value(at, f"{path}.{key}" if len(path) < 200 else path, depth + 1)[1]
            return {}, members.end
        if mark == b"[":
            return [], self._array(pos, path, depth)
        match = _NUMBER.match(data, pos)
        if match:
            text = match[0].decode("ascii")
            plain = match[1] is None and match[2] is None and text != "-0"  # no fraction, no exponent
            if data[match.end() : match.end() + 1].isalnum():  # such as 01 or 1x
                raise self._bad(match.end(), "the end of a number")
            small = plain and len(text) <= MAX_DIGITS
            return (int(text) if small else _Number(shorten(text), plain)), match.end()
        match = _LITERAL.match(data, pos)
        if match:
            return _LITERALS[match[0]], match.end()
        raise self._bad(pos, "a JSON value")

    def _array(self, pos: int, path: str, depth: int) -> int:
        """Parse an array, whose bracket is at `pos`, without keeping its elements."""
        if depth > self.max_depth:
            raise checks.INDEX_TOO_DEEP.error(
                span=self.where.sub(pos, pos + 1), expected=f"at most {counted(self.max_depth, 'levels')} (limit depth)"
            )
        data = self.data
        pos = self._blank(pos + 1)
        if data[pos : pos + 1] == b"]":
            return pos + 1
        while True:
            _, pos = self._value(pos, path, depth + 1)
            pos = self._blank(pos)
            mark = data[pos : pos + 1]
            if mark == b"]":
                return pos + 1
            if mark != b",":
                raise self._bad(pos, "a comma or closing bracket")
            pos = self._blank(pos + 1)
            if self.lenient and data[pos : pos + 1] == b"]":
                return pos + 1


class _Members:
    """Iterates over the members of one object; the user sets `after` to the position after each value."""

    def __init__(self, generator: Any) -> None:
        self._generator = generator
        self.after: int | None = None
        self.end = -1

    def __iter__(self) -> _Members:
        return self

    def __next__(self) -> tuple[str, int, int, int]:
        """Return the key of a member, start and end of that in the text, and where its value starts."""
        try:
            found: tuple[str, int, int, int] = self._generator.send(self.after)
        except StopIteration as stop:
            self.end = stop.value
            raise StopIteration from None
        return found


def _encoding_hint(data: bytes) -> str:
    """Return which encoding other than UTF-8 the index seems to have; empty if none."""
    if data.startswith(b"\xef\xbb\xbf"):
        return "it starts with a byte order mark"
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or data.startswith(b"\0", 1):
        return "it looks like UTF-16"
    return ""


def check_version(index: Index, where: Any, any_version: bool) -> None:
    """Raise CAF-105 unless the index states version 1.0 (or any, with `any_version`)."""
    if any_version or (index.has_version and index.version == "1.0"):
        return
    start, end = index.version_span
    stated = f'"{shorten(index.version)}"' if isinstance(index.version, str) else repr(index.version)
    raise checks.BAD_VERSION.error(
        span=where.sub(start, end) if index.has_version else where,
        field_path="format_version",
        expected='"1.0"',
        actual=stated if index.has_version else "none",
    )
