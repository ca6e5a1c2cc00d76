"""Writes KV-IR streams, byte for byte as CLP's own serializer does.

`KvIrWriter.write` encodes any event here; `write_lines` has the kernel encode lines of JSON, and `line_encoders` in
other threads.

A stream is a preamble and units: events, and declarations of keys before the first event that has them.  Keys are nodes
of two trees: those that the logger adds (auto), and those of its user.  An encoded string is a log type (the text with
marks in place of variables) and the variables.

Spec: `docs/formats/kv_ir.md`, "Bytes".
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, Final, Literal

import zstandard

from exhume.archive import Writer
from exhume.errors import WriterError, shorten
from exhume.formats.clp_s.write.texts import Dialect, VariableKind, encode_variable, escape_static_text, variable_spans
from exhume.formats.kv_ir.kernel import KvIrEncoder
from exhume.formats.kv_ir.layout import (
    END,
    Encodings,
    Marks,
    Tags,
    build_integer,
    build_key,
    build_log_type,
    build_node,
    build_preamble,
    build_real,
    build_text,
    build_variable,
    build_variable_text,
    default_metadata,
    pack_decimal,
)
from exhume.formats.kv_ir.line_encoders import Encoded, LineEncoders
from exhume.formats.kv_ir.units import AUTO, MAX_DEPTH, USER
from exhume.io.output.atomic import AtomicFile

TRUE, FALSE, NULL, EMPTY, APART = (
    bytes((tag,))
    for tag in (Tags.TRUE_VALUE, Tags.FALSE_VALUE, Tags.NULL_VALUE, Tags.EMPTY_OBJECT, Tags.FOUR_BYTE_ENCODING)
)

"""Tokens without a number or string; `APART` begins an encoded string, with variables of four bytes."""

_ESCAPED: Final = re.compile(r'[\x00-\x1f\x7f"/\\]')
"""Characters that CLP's serializer escapes in strings within arrays; more than JSON requires."""

_LETTERS: Final = {
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    '"': '\\"',
    "/": "\\/",
    "\\": "\\\\",
}
"""Their short escapes; the others are written as `\\u` and four digits."""

Codec = Literal["none", "zstd"]
"""Compression of a whole stream."""

CODECS: Final[tuple[Codec, ...]] = ("none", "zstd")

_NAMES: Final = {True: (AUTO.encode(), USER.encode()), False: None}
"""The members of an input line with the pairs of the logger and of the user; by whether lines have both (`both`)."""


def chosen_codec(target: str | os.PathLike[str], codec: Codec | None, level: int | None) -> Codec:
    """The codec for a stream: the given one, or by the name of its file.

    Raises `WriterError` for another codec, and for a level outside 1 to 19 or without a codec that has levels.
    """
    if codec is None:
        codec = "zstd" if os.fspath(target).endswith(".zst") else "none"
    if codec not in CODECS:
        raise WriterError("no such codec", expected=" or ".join(CODECS), actual=codec)
    if level is not None and codec == "none":
        raise WriterError("the codec none has no compression level", actual=level)
    if level is not None and not 1 <= level <= 19:
        raise WriterError("compression level", expected="1 to 19", actual=level)
    return codec


class StreamWriter(Writer):
    """The file of a stream of any kind of units, inside one zstd frame or as it is.

    Attributes:
        events: Events written.
        blank_inputs: Names of the inputs that have bytes, but no events, such as white space alone.
    """

    def __init__(
        self, target: str | os.PathLike[str], head: bytes, *, codec: Codec, level: int | None, overwrite: bool
    ) -> None:
        """Begin a file with the preamble `head`; the options are those that `chosen_codec` accepts."""
        self.events: int = 0
        self.blank_inputs: list[str] = []
        self._file = AtomicFile(target, overwrite=overwrite)
        self._out: BinaryIO | Any = self._file.file  # or the zstd frame around it
        if codec == "zstd":
            self._out = zstandard.ZstdCompressor(level=3 if level is None else level).stream_writer(
                self._file.file, closefd=False
            )
        self._out.write(head)
        self._open = True

    def _last_units(self) -> bytes:
        """Return the units that `finish` still has to write; for subclasses that collect units."""
        return b""

    def finish(self) -> None:
        """Write the end of the stream and put the file in its place; if that fails, remove the file and raise."""
        if not self._open:
            return
        self._open = False
        try:
            self._out.write(self._last_units())
            self._out.write(END)
            if self._out is not self._file.file:
                self._out.close()
            self._file.commit()
        except BaseException:
            self._file.abort()
            raise

    def abort(self) -> None:
        self._open = False
        self._file.abort()


class KvIrWriter(StreamWriter):
    """Builds one stream; see `create`.

    Attributes:
        events: Events written.
    """

    events: int

    def __init__(
        self,
        target: str | os.PathLike[str],
        *,
        metadata: Mapping[str, Any] | None = None,
        codec: Codec | None = None,
        level: int | None = None,
        overwrite: bool = False,
    ) -> None:
        """Check the metadata and build the preamble.  Raises `WriterError` if it is not JSON."""
        codec = chosen_codec(target, codec, level)
        try:
            raw = default_metadata(metadata)
        except (TypeError, ValueError, RecursionError) as error:
            raise WriterError(f"metadata must be JSON values: {error}") from None
        head = build_preamble(Encodings.FOUR_BYTE, raw)
        # The numbers of declared keys by (parent, name, type); the tree of the logger is `True`.
        self._trees: dict[bool, dict[tuple[int, str, int], int]] = {True: {}, False: {}}
        self._encoders: dict[bool, KvIrEncoder] = {}  # by whether lines have both kinds of pairs
        super().__init__(target, head, codec=codec, level=level, overwrite=overwrite)

    def write(self, user: Mapping[str, Any], auto: Mapping[str, Any] | None = None) -> None:
        """Add an event: the pairs of the user, and those that the logger adds.

        Raises `WriterError` for what a stream cannot hold: integers beyond 64 bits, keys that are not text, values that
        JSON does not have, floats that are not finite within arrays, nesting over 1,000 levels, lone surrogates.  Then
        nothing is written.
        """
        if not self._open:
            raise WriterError("the writer is finished")
        # The declarations of new keys, and these keys: part of the stream only once the whole event is encoded.
        made: list[bytes] = []
        new: dict[bool, dict[tuple[int, str, int], int]] = {True: {}, False: {}}
        try:
            autos = list(self._pairs(auto or {}, 0, True, made, new[True], 1))
            users = list(self._pairs(user, 0, False, made, new[False], 1))
        except RecursionError:
            raise WriterError("nested too deeply") from None
        for tree, nodes in new.items():
            self._trees[tree].update(nodes)
        # Each key of the logger is followed by its value; the user's keys come first, then all their values.
        made += [key + value for key, value in autos]
        made += [key for key, _ in users] + [value for _, value in users] if users else [EMPTY]
        self._out.write(b"".join(made))
        self.events += 1

    def write_lines(self, data: bytes, start: int = 0, *, both: bool = False) -> int:
        """Add an event for each whole line of JSON from `start` on, and return the offset of the first line not added.

        That line is faulty or of a rare form; the caller passes it to `write`, which handles it or raises.

        A line has the pairs of the user, or with `both` those of the logger as well, as `exhume cat` prints them.
        Raises `WriterError` when the writer is finished.
        """
        encoder = self._encoder(both)
        before = encoder.events
        end = encoder.feed(data, start)
        self._write_units(encoder, before)
        return end

    def write_log(self, data: bytes, *, final: bool) -> int:
        """Add the events of a plain-text log that are complete (all, if `final`), with the pairs that `textlog` has.

        Returns the offset of the first event that is not.  Raises `WriterError` when the writer is finished.
        """
        from exhume.formats.clp_s.write.textlog import text_log  # other inputs do without

        encoder, log = self._encoder(False), text_log()
        before = encoder.events
        end = encoder.feed_log(log, data, final)
        self._write_units(encoder, before)
        if not end:  # no event is complete, or this is the interpreted encoder, which leaves all of them to `write`
            lines, end = log.lines(data, 0, final)
            for line in lines.split(b"\n")[:-1]:
                self.write(json.loads(line))
        return end

    def _encoder(self, both: bool) -> KvIrEncoder:
        """The stream's own encoder, for lines of one kind.  Raises `WriterError` when the writer is finished."""
        if not self._open:
            raise WriterError("the writer is finished")
        encoder = self._encoders.get(both)
        if encoder is None:
            encoder = self._encoders[both] = KvIrEncoder(self._trees[True], self._trees[False], _NAMES[both])
        return encoder

    def _write_units(self, encoder: KvIrEncoder, before: int) -> None:
        """Write what was encoded since the encoder had `before` events."""
        if encoder.events > before:
            self._out.write(encoder.take())
            self.events += encoder.events - before

    def line_encoders(self, *, both: bool) -> LineEncoders:
        """Return encoders of blocks of lines for other threads, whose results go to `write_encoded`."""
        return LineEncoders(self._trees[True], self._trees[False], _NAMES[both])

    def write_encoded(self, encoded: Encoded, encoders: LineEncoders) -> int:
        """Add the events of an encoded block of lines; return the offset in the block of the first line not added.

        Nothing is added if the keys of the block have got different numbers since it was encoded.  Raises `WriterError`
        when the writer is finished.
        """
        if not self._open:
            raise WriterError("the writer is finished")
        if not encoders.adopt(encoded):
            return 0
        self._out.write(encoded.units)
        self.events += encoded.events
        return encoded.end

    def _pairs(
        self,
        values: Mapping[str, Any],
        parent: int,
        auto: bool,
        made: list[bytes],
        new: dict[tuple[int, str, int], int],
        depth: int,
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yield the leaves of an object as `(key, value)`, both encoded.

        `parent`: number of the node of the object; `auto`: whether the logger adds it; `depth`: 1 for the outermost
        one.  Appends declarations of new keys to `made`, and their numbers to `new`.
        """
        if depth > MAX_DEPTH:
            raise WriterError("nested too deeply", expected=f"at most {MAX_DEPTH} levels")
        for name, value in values.items():
            if not isinstance(name, str):
                raise WriterError("keys must be strings", actual=shorten(repr(name)))
            type, stored = _value(value)
            known = self._trees[auto]
            triple = (parent, name, type)
            node = known.get(triple) or new.get(triple)
            if node is None:
                node = new[triple] = len(known) + len(new) + 1  # the root is 0
                made.append(build_node(type, parent, _stored(name), auto=auto))
            if stored is None:
                yield from self._pairs(value, node, auto, made, new, depth + 1)
            else:
                yield build_key(node, auto=auto), stored


def _value(value: Any) -> tuple[int, bytes | None]:
    """Return `(type of the key, encoded value)`; the latter is None for an object with members, which are encoded."""
    if value is None:
        return Tags.NODE_OBJECT, NULL
    if isinstance(value, bool):
        return Tags.NODE_BOOLEAN, TRUE if value else FALSE
    if isinstance(value, int):
        return Tags.NODE_INTEGER, build_integer(value)
    if isinstance(value, float):
        return Tags.NODE_REAL, build_real(value)
    if isinstance(value, str):
        raw = _stored(value)
        return Tags.NODE_TEXT, take_apart(raw) if b" " in raw else build_text(raw)  # the loggers' criterion
    if isinstance(value, Mapping):
        return Tags.NODE_OBJECT, None if value else EMPTY
    if isinstance(value, list | tuple):
        return Tags.NODE_ARRAY, take_apart(_stored(array_text(value)))
    raise WriterError("not a JSON value", actual=type(value).__name__)


def _stored(text: str) -> bytes:
    """A string in UTF-8.  Surrogates that stand for invalid bytes (`surrogateescape`) become these bytes again.

    Raises `WriterError` for other lone surrogates.
    """
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise WriterError("lone surrogate, which UTF-8 cannot encode", actual=ascii(text)) from None


def take_apart(text: bytes) -> bytes:
    """Encode a string: its variables, of four bytes each or as text, then its log type."""
    out, log_type, end = bytearray(APART), bytearray(), 0  # `end`: of the last variable
    for start, stop in variable_spans(text, Dialect.CORE):
        variable = encode_variable(text[start:stop], Dialect.CORE)
        stored, mark = variable.encoded, Marks.INTEGER
        if variable.kind is VariableKind.FLOAT:
            stored, mark = pack_decimal(variable.text), Marks.DECIMAL
        elif stored is not None and not -(1 << 31) <= stored < 1 << 31:
            stored = None  # an integer that needs more than four bytes is kept as text
        log_type += escape_static_text(text[end:start], Dialect.CORE)
        if stored is None:
            out += build_variable_text(variable.text)
            log_type.append(Marks.TEXT)
        else:
            out += build_variable(stored)
            log_type.append(mark)
        end = stop
    log_type += escape_static_text(text[end:], Dialect.CORE)
    out += build_log_type(bytes(log_type))
    return bytes(out)


def array_text(value: Any) -> str:
    """Print an array (or a value in it) as CLP's serializer does, except for floats that would lose digits.

    Raises `WriterError` for values that JSON or the stream cannot store.
    """
    if isinstance(value, str):
        return f'"{_ESCAPED.sub(_escape, value)}"'
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, int):
        if not -(1 << 63) <= value < 1 << 64:
            raise WriterError("an integer does not fit 64 bits", actual=value)
        return str(value)
    if isinstance(value, float):
        short = f"{value:g}"  # six digits, as the serializer prints them
        if value - value != 0:  # NaN or infinite
            raise WriterError("NaN or infinity within an array, which JSON cannot store", actual=short)
        return short if float(short) == value else repr(value)
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise WriterError("keys must be strings")
        return "{" + ",".join(f"{array_text(key)}:{array_text(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(array_text, value)) + "]"
    raise WriterError("not a JSON value", actual=type(value).__name__)


def _escape(found: re.Match[str]) -> str:
    """The escape of a character that `_ESCAPED` has found."""
    return _LETTERS.get(found[0]) or f"\\u{ord(found[0]):04x}"


def create(
    target: str | os.PathLike[str],
    *,
    metadata: Mapping[str, Any] | None = None,
    codec: Codec | None = None,
    level: int | None = None,
    overwrite: bool = False,
) -> KvIrWriter:
    """A writer for a new stream.

    Args:
        target: Path of the file to write.
        metadata: User metadata of the stream, a mapping to JSON values.
        codec: `none`, or `zstd` for one zstd frame around it; the latter is the default for names that end in `.zst`.
        level: zstd level, 1 to 19.
        overwrite: Whether an existing file may be replaced.

    Returns:
        A context manager; its `write` takes the pairs of the user and those of the logger.

    Raises:
        WriterError: An option makes no sense, or (later) an event does not fit.
        OutputExistsError: The name is taken, and not `overwrite`.

    Example:
        >>> with exhume.kvir.create("new.clp.zst") as stream:
        ...     stream.write({"message": "Task 7 done"}, {"level": "INFO"})
    """
    return KvIrWriter(target, metadata=metadata, codec=codec, level=level, overwrite=overwrite)
