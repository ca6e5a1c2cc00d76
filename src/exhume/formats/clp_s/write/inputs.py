"""The inputs of a writer: their names, their kinds by content, and their bytes.

Files and standard input come as decompressed chunks (pieces), which threads read in advance on request.  The range
index is the part of an archive that lists the inputs.  KV-IR streams are those that CLP's loggers write; their older
streams, of text, are converted to these.
"""

from __future__ import annotations

import enum
import json
import os
import sys
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Final

from exhume.codecs.streams import inflate_file
from exhume.errors import SourceError, SourceNotFoundError, Span, WriterError
from exhume.formats.clp_s.write.status import REASONS, Status
from exhume.formats.kv_ir.probe import is_kv_ir
from exhume.io.files import open_input
from exhume.io.opening import is_url, open_stream
from exhume.io.parallel import iterate_ahead
from exhume.limits import DEFAULT_LIMITS, Limits, cpu_count
from exhume.redaction import redact

STDIN: Final = "-"
"""Name of standard input among inputs; in the range index, of every input that is not a file."""


@dataclass(frozen=True, slots=True)
class NamedInput:
    """A path or URL, the name that is recorded for it, and options of fsspec for a URL."""

    path: str
    name: str
    storage_options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_remote(self) -> bool:
        """Whether it is a URL."""
        return is_url(self.path)


@dataclass(frozen=True, slots=True)
class Naming:
    """How local paths are converted to names; URLs are recorded without the secrets in them.

    Attributes:
        normalize: Whether paths become absolute, without links.
        prefix: A directory that all paths start with; it is removed from them (made absolute first, if paths are).
        remove_slash: Whether a slash at the beginning is removed.
    """

    normalize: bool = False
    prefix: str | None = None
    remove_slash: bool = False

    def name(self, path: str) -> str:
        """The name of a path.  Raises `WriterError` where it does not start with the prefix."""
        name = os.path.realpath(path) if self.normalize else path
        if self.prefix is not None:
            prefix = os.path.realpath(self.prefix) if self.normalize else self.prefix
            parts, lead = _parts(name), _parts(prefix)
            if parts[: len(lead)] != lead:
                raise WriterError("a path does not start with the prefix", expected=prefix, actual=name)
            name = "/" + "/".join(parts[len(lead) :])
        return name.removeprefix("/") if self.remove_slash else name


def _parts(path: str) -> tuple[str, ...]:
    """The parts of a path; several slashes at its beginning are one, though `PurePosixPath` keeps two."""
    return PurePosixPath("/" + path.lstrip("/") if path.startswith("/") else path).parts


def list_inputs(
    inputs: Iterable[str],
    files_from: str | None = None,
    naming: Naming | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> list[NamedInput]:
    """The inputs, then those that a list names, one path or URL a line; the files of a directory in order of names.

    `files_from`: the list, a file or `STDIN`; `storage_options`: those of fsspec for URLs.

    Raises `SourceError` for what does not exist (`SourceNotFoundError` for the prefix), `WriterError` for a wrong
    prefix and where there is no input.
    """
    naming = naming or Naming()
    if naming.prefix is not None and not Path(naming.prefix).is_dir():
        raise SourceNotFoundError("the prefix to remove is not a directory", span=Span(naming.prefix, 0, 0))
    found = []
    for one in [*inputs, *_listed(files_from)]:
        # Standard input and URLs keep their names, without passwords; names of files depend on `naming`.
        remote = NamedInput(one, redact(one), storage_options or {})
        if one == STDIN or remote.is_remote:
            found.append(remote)
        else:
            found.extend(NamedInput(path, naming.name(path)) for path in _files(one))
    if not found:
        raise WriterError("there are no inputs")
    return found


def _listed(files_from: str | None) -> list[str]:
    """Return the paths listed in a file, or on standard input, one per line."""
    if files_from is None:
        return []
    if files_from == STDIN:
        data = sys.stdin.buffer.read()
    else:
        with open_input(files_from) as file:
            data = file.read()
    return [os.fsdecode(line) for line in data.split(b"\n") if line]


def _files(path: str) -> Iterator[str]:
    """The path, or the files below a directory.  Raises `SourceError`."""
    if not os.path.isdir(path):  # noqa: PTH112 - the spelling of the path is kept
        yield path
        return

    def fail(error: OSError) -> None:
        """Raise for a folder that cannot be listed, which `os.walk` skips otherwise."""
        raise SourceError(f"cannot list: {error.strerror or error}", span=Span(path, 0, 0)) from error

    for folder, folders, names in os.walk(path, onerror=fail):
        folders.sort()  # `os.walk` descends in this order
        yield from (os.path.join(folder, name) for name in sorted(names))  # noqa: PTH118


PIECE: Final = 1 << 20
"""Bytes that are read, decompressed and encoded at a time."""


class BadRecordError(WriterError):
    """A record that was not written: `line` (1-based, in `name`), `reason` and `status`."""

    name: str
    line: int
    status: Status
    reason: str

    def __init__(self, name: str, line: int, status: Status, span: Span, snippet: bytes, detail: str = "") -> None:
        """`snippet`: the beginning of the record, for the message; `detail`: words to add to the reason."""
        reason = REASONS[status] + detail
        where = f"line {line}: " if line else ""
        super().__init__(f"{where}{reason}", format="clp-s", span=span, actual=snippet)
        self.name, self.line, self.status, self.reason = name, line, status, reason


Input = str | os.PathLike[str] | BinaryIO | NamedInput
"""An input of a writer, as callers of the library give it."""


def name_of(source: Input) -> str:
    """The name of an input in the range index."""
    if isinstance(source, NamedInput):
        return source.name
    if isinstance(source, str | os.PathLike):
        return os.fsdecode(os.fspath(source))
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else STDIN


def read_pieces(source: Input, *, as_is: bool = False, limits: Limits = DEFAULT_LIMITS) -> Iterator[bytes]:
    """Yield the decompressed content of one input; an IR stream of text is converted to KV-IR, unless `as_is`.

    Raises `SourceError` and `CodecError`, and the fault in a stream of text.
    """
    pieces = _decompressed(source)
    return pieces if as_is else _keyed(name_of(source), pieces, limits)


def _keyed(name: str, pieces: Iterator[bytes], limits: Limits) -> Iterator[bytes]:
    """Yield a decompressed input unchanged, but an IR stream of text as KV-IR (whose reader is imported only then)."""
    head = b""
    for piece in pieces:
        head += piece
        if (is_stream := is_kv_ir(head)) is not None:  # None: the bytes are too few to decide
            break
    else:
        is_stream = False
    whole = (piece for piece in chain([head], pieces) if piece)
    if not is_stream:
        yield from whole
        return
    from exhume.formats.clp_ir.keyed import as_key_values

    yield from as_key_values(name, whole, limits)


def _decompressed(source: Input) -> Iterator[bytes]:
    """Yield one input as decompressed chunks.  Raises `SourceError` if it cannot be opened or read."""
    name, storage_options = name_of(source), source.storage_options if isinstance(source, NamedInput) else None
    if isinstance(source, NamedInput):
        source = source.path
    if not isinstance(source, str | os.PathLike):
        yield from inflate_file(source, name, PIECE)
        return
    try:
        if source == STDIN:
            yield from inflate_file(sys.stdin.buffer, name, PIECE)
        else:
            with open_stream(os.fspath(source), storage_options) as file:
                yield from inflate_file(file, name, PIECE)
    except OSError as error:
        if isinstance(error, SourceError):
            raise
        raise SourceError(f"cannot read: {error.strerror or error}", span=Span(name, 0, 0)) from error


def read_ahead(
    sources: Iterable[Input], jobs: int, *, as_is: bool = False, limits: Limits = DEFAULT_LIMITS
) -> Iterator[bytes | None]:
    """Yield the chunks of several inputs in order, as `read_pieces` does, and None after each input.

    Other threads read them, a bounded number of chunks in advance.  An error of an input is raised after its chunks.
    """
    threads = max(1, (jobs or cpu_count()) - 1)
    # One iterator after the other, each of them read by another thread.
    for pieces in iterate_ahead((read_pieces(source, as_is=as_is, limits=limits) for source in sources), threads):
        yield from pieces
        yield None


LOOKED_AT: Final = 1 << 16
"""Bytes of an input after which its kind is decided, even if its first line is longer."""

SAMPLE: Final = LOOKED_AT >> 4
"""Bytes of an input that are searched for control bytes and zeros."""

_CONTROL: Final = bytes({*range(0x20), 0x7F} - set(b"\t\n\v\f\r\b\x1b"))
"""Control bytes that text rarely has: all but white space, backspace and escape."""
_SHOWN: Final = 16
"""Bytes of an input that a message shows."""
_RARE: Final = 50
"""One byte in this many may be a control byte in text."""


class InputKind(enum.Enum):
    """Kind of content of an input; the values are those of `--input`."""

    AUTO = "auto"
    """Determined by the content."""
    TEXT = "text"
    JSON = "json"
    IR = "ir"
    """A stream of a CLP logger: KV-IR."""


KINDS: Final = tuple(kind.value for kind in InputKind)
"""Values of the option `input`."""


def recognize(head: bytes, kind: InputKind, *, final: bool) -> InputKind | None:
    """The kind of an input that begins with these (decompressed) bytes; None while more are needed to decide.

    A stream of a logger has its magic number.  JSON begins with a brace, with a bracket and another one (an array of
    objects or arrays), or with a line that is a JSON value; an input of only white space is JSON without a record.
    Everything else is text, if few of its bytes are control bytes or a line begins with a timestamp.  A `kind` that is
    given is not checked.  `final`: the input ends there.

    Raises `WriterError` for what seems to be none of them.
    """
    if kind is not InputKind.AUTO:
        return kind
    if (found := is_kv_ir(head)) is not False:  # None: the bytes are too few to decide
        if found:
            return InputKind.IR
        if not final:
            return None
    final = final or len(head) >= LOOKED_AT
    text = head.lstrip(b" \t\r\n")
    if not text:
        return InputKind.JSON if final else None
    if (encoding := _wide(head[:SAMPLE])) is not None:
        raise _unrecognized(
            f"it seems to be {encoding}", f"UTF-8 (`iconv -f {encoding} -t UTF-8`), or the input kind `text`", head
        )
    if (compression := _compression(head)) is not None:
        raise _unrecognized(
            f"it is compressed with {compression}", "a log as it is, or compressed once with gzip or zstd", head
        )
    if _begins_an_object(text):
        return InputKind.JSON
    line, newline, _ = text.partition(b"\n")
    if not newline and not final:
        return None  # the rest of the first line decides
    if (line[:1] == b"[" and text[1:].lstrip(b" \t\r\n")[:1] in (b"{", b"[")) or _is_value(line):
        return InputKind.JSON
    sample = head[:SAMPLE]
    num_control = len(sample) - len(sample.translate(None, _CONTROL))
    if num_control > len(sample) // _RARE and _has_no_time(sample):
        raise _unrecognized("it contains control bytes", "text; the input kind `text` stores any bytes", head)
    return InputKind.TEXT


def _begins_an_object(text: bytes) -> bool:
    """Whether JSON begins with a brace.  Raises `WriterError` for one after a byte order mark."""
    if text.startswith(BOM_UTF8) and text[len(BOM_UTF8) :].lstrip(b" \t\r\n")[:1] == b"{":
        expected = "UTF-8 without one (`tail -c +4`), or the input kind `text`"
        raise WriterError("JSON begins with a byte order mark", expected=expected, actual=text[:_SHOWN], format="clp-s")
    return text[:1] == b"{"


def _unrecognized(seems: str, expected: str, head: bytes) -> WriterError:
    """Return the error of an input of no known kind: what it seems to be instead, and its first bytes."""
    problem = f"neither JSON nor text nor a CLP logger stream: {seems}"
    return WriterError(problem, expected=expected, actual=head[:_SHOWN], format="clp-s")


_MARKS: Final = {
    b"\xff\xfe\0\0": "UTF-32",
    b"\0\0\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
"""Byte order marks, none of which begins text in UTF-8."""

_COMPRESSIONS: Final = (
    (b"\x1f\x8b\x08", b"", "gzip"),
    (b"\x28\xb5\x2f\xfd", b"", "zstd"),
    (b"BZh", b"1AY&SY", "bzip2"),
    (b"\xfd7zXZ\0", b"", "xz"),
    (b"\x04\x22\x4d\x18", b"", "LZ4"),
    (b"PK\x03\x04", b"", "zip"),
)
"""Magic numbers of compressed files, at offset 0 and at 4 (bzip2's first block follows a level), and names.

One layer of gzip or zstd has been removed before.
"""


def _compression(head: bytes) -> str | None:
    """The compression of a file that begins with these bytes; None for anything else."""
    found = (name for first, then, name in _COMPRESSIONS if head.startswith(first) and head.startswith(then, 4))
    return next(found, None)


def _wide(head: bytes) -> str | None:
    """The encoding of bytes that seem to begin text in units of two or four bytes; None for anything else.

    They are such text if they start with a byte order mark, or if in most pairs of bytes the same one is zero (the
    first of each, or the second), and the other rarely is.
    """
    for mark, encoding in _MARKS.items():
        if head.startswith(mark):
            return encoding
    # ASCII letters in UTF-16 have a zero in each pair of bytes: count zeros among the first and the second bytes.
    pairs = len(head) // 2
    first, second = head[: 2 * pairs : 2].count(0), head[1::2].count(0)
    if 2 * max(first, second) <= pairs or min(first, second) > pairs // _RARE:
        return None
    return "UTF-16LE" if second > first else "UTF-16BE"


def _has_no_time(text: bytes) -> bool:
    """Whether no line of the bytes starts with a timestamp; what finds these is imported for the few that need it."""
    from exhume.formats.clp_s.write.textlog import text_log

    return text_log().last(text) < 0


def _is_value(line: bytes) -> bool:
    """Whether a line is one JSON value."""
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def recognized(pieces: Iterator[bytes], kind: InputKind) -> tuple[InputKind, Iterator[bytes]]:
    """Return `(kind of an input, all of its pieces)`.  Propagates errors from `recognize`, and from reading a piece."""
    head = b""
    while (found := recognize(head, kind, final=False)) is None:
        piece = next(pieces, b"")
        if not piece:
            found = recognize(head, kind, final=True)
            break
        head += piece
    assert found is not None
    return found, chain([head] if head else [], pieces)
