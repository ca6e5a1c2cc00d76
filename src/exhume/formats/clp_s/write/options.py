"""The options of a writer, and their validation."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from exhume.errors import WriterError
from exhume.formats.clp_s.layout import NodeType, Version
from exhume.formats.clp_s.write.inputs import KINDS

OnError = Literal["fail", "skip"]
InputName = Literal["auto", "text", "json", "ir"]

VERSIONS: Final[dict[str, Version]] = {
    "0.3.1": (0, 3, 1),
    "0.4.1": (0, 4, 1),
    "0.5.0": (0, 5, 0),
    "0.5.1": (0, 5, 1),
}
"""Format versions that can be written."""

DEFAULT_VERSION: Final = "0.5.1"

# Those of `clp-s`, in bytes.
DEFAULT_TARGET_SIZE: Final = 8 << 30
DEFAULT_TABLE_SIZE: Final = 1 << 20
DEFAULT_DOCUMENT_SIZE: Final = 512 << 20

AUTO: Final = "@"
"""Begins the paths of keys that loggers add themselves, in KV-IR streams; also the key of the root above them."""

_KEY_PART: Final = re.compile(r"(?:[^\\.*?]|\\u[0-9A-Fa-f]{4}|\\[^u])+")
"""One key of a path, with its escapes."""
_KEY_ESCAPE: Final = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)", re.DOTALL)
_CONTROL_ESCAPES: Final = {"t": "\t", "r": "\r", "n": "\n"}
"""Letters that mean a control character after a backslash; any other character means itself."""


def _unescape(escape: re.Match[str]) -> str:
    """The character that an escape in a key stands for: of four hexadecimal digits after `u`, or of one letter."""
    escaped = escape[1]
    return chr(int(escaped[1:], 16)) if len(escaped) > 1 else _CONTROL_ESCAPES.get(escaped, escaped)


def parse_key_path(text: str) -> tuple[bytes, ...]:
    r"""The keys of a column path such as `a.t\.x`: `.` separates, a backslash takes the next character as it is.

    A path that begins with `@` leads to keys of the logger in KV-IR streams; that is left out of what is returned.
    Raises `WriterError` for empty keys, wildcards, and paths into other namespaces (`$ ! #` first).
    """
    text = text.removeprefix(AUTO)
    if text[:1] in ("@", "$", "!", "#"):
        raise WriterError(f"a timestamp key must not start with an unescaped {text[0]} (a namespace)", actual=text)
    parts: list[bytes] = []
    at = 0
    while True:
        match = _KEY_PART.match(text, at)
        if match is None:
            raise WriterError("not a column path (an empty key or a wildcard)", actual=text)
        try:
            parts.append(_KEY_ESCAPE.sub(_unescape, match[0]).encode())
        except UnicodeEncodeError:
            raise WriterError("not a column path (lone surrogate)", actual=ascii(text)) from None
        at = match.end()
        if at == len(text):
            return tuple(parts)
        if text[at] != ".":
            raise WriterError("not a column path (a wildcard or a lone backslash)", actual=text)
        at += 1


@dataclass(frozen=True, slots=True)
class WriterOptions:
    """Options of a writer; every field is a keyword of `exhume.clps.create` and is documented there, too.

    Attributes:
        version: Format version, one of `VERSIONS`.
        timestamp_key: Path of the timestamp field, dots escaped with a backslash; None for none.
        structurize_arrays: Whether arrays are opened up into columns; else their source text is kept.
        log_order: Whether each record's position is recorded (needed by `--ordered` and by the range index).
        retain_float_format: Whether floats keep their spelling (format 0.4.1 on; before, only the value is kept).
        level: zstd level, 1 to 19.
        target_encoded_size: Bytes of columns and dictionaries after which a new archive is begun.
        min_table_size: Bytes of tables that are compressed together.
        max_document_size: Largest record in bytes.
        creator_id: Text for `_archive_creator_id`; None for a random UUID.  With a fixed one the output depends on the
            input alone.
        properties: More properties for the range index entry of every ingestion unit.
        on_error: `fail` at the first bad record, or `skip` bad records and count them.
        allow_loss: Whether to accept, as clp-s does, values that do not come back the same.
        jobs: Threads that read, decompress and encode input and compress sections; 0: one per core.
        overwrite: Whether existing files may be replaced.
        directory: Whether to write a directory with one file per section instead of a single file.
        input: What inputs are: `text`, `json`, `ir`, or `auto`, which decides by the content of each.
    """

    version: str = DEFAULT_VERSION
    timestamp_key: str | None = None
    structurize_arrays: bool = False
    log_order: bool = True
    retain_float_format: bool = True
    level: int = 3
    target_encoded_size: int = DEFAULT_TARGET_SIZE
    min_table_size: int = DEFAULT_TABLE_SIZE
    max_document_size: int = DEFAULT_DOCUMENT_SIZE
    creator_id: str | None = None
    properties: Mapping[str, Any] = field(default_factory=dict)
    on_error: OnError = "fail"
    allow_loss: bool = False
    jobs: int = 1
    overwrite: bool = False
    directory: bool = False
    input: InputName = "auto"

    def __post_init__(self) -> None:
        """Check the values.  Raises `WriterError` for one out of range, or for options that exclude each other."""
        if self.version not in VERSIONS:
            raise WriterError("this format version is not written", expected=", ".join(VERSIONS), actual=self.version)
        if self.on_error not in ("fail", "skip"):
            raise WriterError("on_error", expected="fail or skip", actual=self.on_error)
        if self.input not in KINDS:
            raise WriterError("input", expected=" or ".join(KINDS), actual=self.input)
        if not 1 <= self.level <= 19:
            raise WriterError("compression level", expected="1 to 19", actual=self.level)
        for name in ("target_encoded_size", "min_table_size", "max_document_size"):
            if getattr(self, name) < 1:
                raise WriterError(name, expected="at least 1", actual=getattr(self, name))
        if self.jobs < 0:
            raise WriterError("jobs", expected="at least 0", actual=self.jobs)
        if self.timestamp_key is not None:
            parse_key_path(self.timestamp_key)
        check_properties(self.properties)
        if self.properties and not self.has_range_index:
            raise WriterError("properties need a range index, which is not written without log order")

    @property
    def version_tuple(self) -> Version:
        """The version as numbers."""
        return VERSIONS[self.version]

    @property
    def key_path(self) -> tuple[bytes, ...]:
        """Unescaped keys of the timestamp key, empty without one."""
        return () if self.timestamp_key is None else parse_key_path(self.timestamp_key)

    @property
    def key_root(self) -> bytes:
        """The key of the root of the schema tree that the timestamp key is below: `@` for keys of loggers, or empty."""
        return AUTO.encode() if (self.timestamp_key or "").startswith(AUTO) else b""

    @property
    def log_order_type(self) -> NodeType | None:
        """Node type of `log_event_idx`, None when log order is not recorded."""
        if not self.log_order:
            return None
        return NodeType.DELTA_INTEGER if self.version_tuple >= (0, 3, 2) else NodeType.INTEGER

    @property
    def keeps_floats(self) -> bool:
        """Whether floats keep their spelling."""
        return self.retain_float_format and self.version_tuple >= (0, 4, 1)

    @property
    def has_range_index(self) -> bool:
        """Whether a range index is written: always before 0.3.2, later only with log order."""
        return self.log_order or self.version_tuple < (0, 3, 2)

    def new_creator_id(self) -> str:
        """The creator id of one run."""
        return self.creator_id if self.creator_id is not None else str(uuid.uuid4())


def check_properties(properties: Mapping[str, Any]) -> None:
    """Raise `WriterError` for names that clp-s reserves and for values that JSON or MessagePack cannot represent."""
    import json

    import msgpack

    for name in properties:
        if not isinstance(name, str) or name.startswith("_"):
            raise WriterError("property names are strings that do not start with _", actual=name)
    try:
        json.dumps(properties, allow_nan=False)
        msgpack.packb(dict(properties))
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise WriterError(f"properties must be JSON values: {error}") from None
