"""The one exception hierarchy, and `Span`, the place in a file that an error or finding talks about.

Every class also derives from the builtin exception that a caller would reach for (`EOFError`, `KeyError`, `ValueError`,
`OSError`, `ImportError`), so `except KeyError` works as it does elsewhere.
"""

from __future__ import annotations

import errno
import io
import re
from typing import Any

from exhume.redaction import redact
from exhume.tuples import NamedTuple


class Span(NamedTuple):
    """A half-open byte range `[start, end)`, absolute in the outermost file.

    Attributes:
        source: The file: path, URL, or name inside a directory.
        start: First byte.
        end: One past the last byte.
        payload: Narrows it, when set, to a half-open range inside the *decompressed* payload that the file range
            holds: compressed bytes have no smaller address in the file.

    Example:
        >>> print(exhume.Span("words.zs", 16, 24))
        words.zs: offset 16 (0x10)
    """

    source: str
    start: int
    end: int
    payload: tuple[int, int] | None = None

    @property
    def size(self) -> int:
        """Bytes that the range covers in the file."""
        return self.end - self.start

    def sub(self, start: int, end: int) -> Span:
        """The part `[start, end)` counted from the start of this span (or of its payload range)."""
        if self.payload is not None:
            base = self.payload[0]
            return self._replace(payload=(base + start, base + end))
        return self._replace(start=self.start + start, end=self.start + end)

    def in_payload(self, start: int = 0, end: int = 0) -> Span:
        """A range of the decompressed payload of this span."""
        return self._replace(payload=(start, end))

    @property
    def local(self) -> tuple[int, int]:
        """The range `(start, end)` in the decompressed payload if it is one of a payload, else in the file."""
        return (self.start, self.end) if self.payload is None else self.payload

    def to_dict(self) -> dict[str, Any]:
        """The JSON form: `source`, `start`, `end`, and the payload range when there is one."""
        out: dict[str, Any] = {"source": self.source, "start": self.start, "end": self.end}
        if self.payload is not None:
            out["payload_start"], out["payload_end"] = self.payload
        return out

    @property
    def position(self) -> str:
        """The offset in decimal and hexadecimal; empty for a file as a whole."""
        if self.source and self.start == self.end == 0 and self.payload is None:
            return ""
        where = f"{self.start} (0x{self.start:x})"
        return where if self.payload is None else f"{where} + {self.payload[0]} of its payload"

    def __str__(self) -> str:
        parts = (shorten(self.source, 400) if self.source else "", f"offset {self.position}" if self.position else "")
        return ": ".join(filter(None, parts))


def shorten(value: Any, limit: int = 80) -> str:
    """A value as one printable line of bounded length (hostile input ends up in messages)."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        raw = bytes(value[: limit + 1])
        text = repr(raw)[1:]
    else:
        text = str(value)
    if not text.isprintable():
        text = "".join(
            char if char.isprintable() else char.encode("unicode_escape", "backslashreplace").decode() for char in text
        )
    return text if len(text) <= limit else text[: limit - 1] + "…"


class ExhumeError(Exception):
    """Root of everything exhume raises on purpose; `str()` is one line.

    Attributes:
        message: One sentence.
        code: Stable and documented, such as ZS-201.
        format: Id of the format, or None.
        span: The bytes it is about, or None.
        field_path: The field in the specification, or None.
        expected: What should be there.
        actual: The value found.
        spec_ref: The sentence of the format's specification.

    Example:
        >>> try:
        ...     exhume.open(b"no archive")
        ... except exhume.ExhumeError as error:
        ...     error.code
        'EX-101'
    """

    default_code = "EX-000"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        format: str | None = None,
        span: Span | None = None,
        field_path: str | None = None,
        expected: Any = None,
        actual: Any = None,
        spec_ref: str | None = None,
    ) -> None:
        """Make an error.

        Arguments other than `message` become attributes of the same name; secrets in URLs are masked.
        """
        message = redact(message)
        super().__init__(message)
        self.message = message
        self.code: str = code or self.default_code
        self.format = format
        if span is not None and "://" in span.source:
            span = span._replace(source=redact(span.source))
        self.span = span
        self.field_path = field_path
        self.expected: Any = _redacted(expected)
        self.actual: Any = _redacted(actual)
        self.spec_ref = spec_ref

    def to_dict(self) -> dict[str, Any]:
        """The JSON form, as in `exhume.error/1`: code, message, span, field_path, expected, actual."""
        return {
            "code": self.code,
            "message": self.message,
            "span": self.span.to_dict() if self.span else None,
            "field_path": self.field_path,
            "expected": self.expected,
            "actual": self.actual,
        }

    def __str__(self) -> str:
        return self.one_line()

    def one_line(self, remedy: str = "") -> str:
        """The error as one line of text, with a remedy before its code, if there is one."""
        return describe(self.code, self.message, self.span, self.field_path, self.expected, self.actual, remedy)

    @property
    def is_reading_failure(self) -> bool:
        """Whether reading itself failed (EX-6xx: files, network, servers), which states nothing about the data."""
        return self.code.startswith("EX-6")

    @property
    def summary(self) -> str:
        """The line without target and offset, for output that shows these next to it."""
        return describe(self.code, self.message, None, self.field_path, self.expected, self.actual)

    def __reduce__(self) -> Any:
        # Keyword-only state: exceptions cross process borders (distributed runs) and must arrive whole.
        return (_rebuild, (type(self), self.message, self.__dict__.copy()))


def _redacted(value: Any) -> Any:
    """The value without secrets: messages of other libraries often contain a whole URL."""
    return redact(str(value)) if isinstance(value, (str, BaseException)) else value


def _rebuild(cls: type[ExhumeError], message: str, state: dict[str, Any]) -> ExhumeError:
    """Make an error again from what `__reduce__` pickled."""
    error = cls(message)
    error.__dict__.update(state)
    return error


def describe(
    code: str,
    message: str,
    span: Span | None,
    field_path: str | None,
    expected: Any = None,
    actual: Any = None,
    remedy: str = "",
) -> str:
    """The line of text that errors and findings share: `TARGET: problem at OFFSET (0xHEX): values; remedy [CODE]`.

    Both values of a checksum (codes 2xx) are called stored and computed, those of other data expected and found.  A
    single actual value, such as the text of another library, follows the colon as it is.
    """
    line = shorten(message, 500)
    if span is not None:
        line = f"{shorten(span.source, 400)}: {line}" if span.source else line
        line += f" at {span.position}" if span.position else ""
    if field_path:
        line += f", field {shorten(field_path, 200)}"
    words = ("stored", "computed") if re.search(r"-2\d\d$", code) else ("expected", "found")
    if expected is not None and actual is not None:
        line += f": {words[0]} {shorten(expected)}, {words[1]} {shorten(actual)}"
    elif expected is not None:
        line += f": expected {shorten(expected)}"
    elif actual is not None:
        line += f": {shorten(actual)}"
    return f"{line}; {remedy} [{code}]" if remedy else f"{line} [{code}]"


class FormatError(ExhumeError, ValueError):
    """The bytes are at fault."""

    default_code = "EX-300"


class UnrecognizedFormatError(FormatError):
    """No format recognizes these bytes, or the requested format does not."""

    default_code = "EX-101"


class UnsupportedFeatureError(FormatError):
    """The data is well-formed, but uses a version, codec or feature that exhume does not read."""

    default_code = "EX-102"


class TruncatedError(FormatError, EOFError):
    """The data ends before the structure does."""

    default_code = "EX-301"


class ChecksumError(FormatError):
    """A stored checksum does not match the bytes."""

    default_code = "EX-201"


class StructureError(FormatError):
    """Any other broken invariant of the layout."""

    default_code = "EX-302"


class CodecError(FormatError):
    """A compressed payload does not decode, ends early, or has bytes after its end."""

    default_code = "EX-303"


class LimitExceededError(FormatError):
    """A size or count passes a cap in `Limits`; the data may be legitimate."""

    default_code = "EX-501"


class QueryError(ExhumeError, ValueError):
    """A search query cannot be parsed or used; `column` is its 0-based position in the query text."""

    default_code = "EX-401"

    def __init__(self, message: str, *, query: str = "", column: int | None = None, **more: Any) -> None:
        super().__init__(message, **more)
        self.query = query
        self.column = column

    def pointer(self, width: int = 100) -> str:
        """The query with a caret under the column at fault, two lines, cut to `width` around the caret.

        Empty when no column is at fault.
        """
        if self.column is None or not self.query:
            return ""
        text = "".join(char if char.isprintable() else " " for char in self.query)
        start = max(0, min(self.column - width // 2, len(text) - width))
        return f"{text[start : start + width]}\n{' ' * (self.column - start)}^"


class EntryNotFoundError(ExhumeError, KeyError):
    """No member, section or record of that name."""

    default_code = "EX-402"

    def __str__(self) -> str:
        # `KeyError` would put the message in quotes.
        return ExhumeError.__str__(self)


class SpecificationError(ExhumeError, ValueError):
    """A Kaitai Struct specification is wrong, or uses a construct that the compiler does not support."""

    default_code = "EX-404"


class UnsupportedOperationError(ExhumeError, io.UnsupportedOperation):
    """This format has no such capability."""

    default_code = "EX-403"


class UnsafePathError(ExhumeError, ValueError):
    """A name must not become a path below the output directory."""

    default_code = "EX-502"


class SourceError(ExhumeError, OSError):
    """Reading failed outside the format: I/O, network, permissions."""

    default_code = "EX-601"

    def __str__(self) -> str:
        return ExhumeError.__str__(self)


class SourceNotFoundError(SourceError, FileNotFoundError):
    """There is no file, directory or object of that name."""

    errno: int | None = errno.ENOENT


class SourceAccessError(SourceError, PermissionError):
    """The file, directory or object may not be read."""

    errno: int | None = errno.EACCES


class SourceIsDirectoryError(SourceError, IsADirectoryError):
    """The path is a directory, but a file is needed."""

    errno: int | None = errno.EISDIR


class SourceNotDirectoryError(SourceError, NotADirectoryError):
    """The path is a file, but a directory is needed."""

    errno: int | None = errno.ENOTDIR


def source_error_type(error: BaseException) -> type[SourceError]:
    """The class for what an operating system or a store raised: that which is of the same standard class."""
    kinds = (SourceNotFoundError, SourceAccessError, SourceIsDirectoryError, SourceNotDirectoryError)
    # The second base of each is the standard class.
    return next((kind for kind in kinds if isinstance(error, kind.__bases__[1])), SourceError)


class RangeNotSupportedError(SourceError):
    """A remote server does not honor byte ranges."""

    default_code = "EX-602"


class ShortReadError(SourceError, EOFError):
    """Fewer bytes came back than were requested, although all of them must exist."""

    default_code = "EX-603"


class SourceChangedError(SourceError):
    """The object changed while it was being read."""

    default_code = "EX-604"


class OutputLimitError(SourceError):
    """An extraction would write more than `Limits` allow; the files written so far remain."""

    default_code = "EX-505"


class WriterError(ExhumeError, ValueError):
    """The caller gave a value that the format cannot hold, or misused a writer."""

    default_code = "EX-701"


class OutputExistsError(WriterError, FileExistsError):
    """The output exists already, and overwriting was not requested."""

    default_code = "EX-702"

    def __str__(self) -> str:
        return ExhumeError.__str__(self)


class MissingDependencyError(ExhumeError, ImportError):
    """An optional package is not installed; the message names the extra that brings it."""

    default_code = "EX-801"

    def __str__(self) -> str:
        return ExhumeError.__str__(self)
