r"""KV-IR bytes to values and back, without I/O: a layer over the readers that are generated from the specification.

Spec: `ksy/clp_kv_ir.ksy`; positions are offsets in the bytes that were passed in.

A stream is a preamble and tokens.  A token is a tag byte and a number or string; its tag also states the width of that
number or length, and the functions `build_...` choose the narrowest one, as the loggers do.

An encoded string is a log type (the text with a mark, one byte, in place of each variable; `\` escapes a byte that is
not a mark) and its variables: integers, decimal fractions packed into an integer (their digits, the number of digits
and the position of the point), and others as text.  Variables are wide (eight bytes) or not (four).
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from exhume_ksy.facts.clp_kv_ir import Decimal4, Decimal8, Encodings, Marks, MetadataLengths, MetadataTypes, Tags, Token
from exhume_ksy.facts.clp_kv_ir import Preamble as PreambleFacts
from exhume_ksy.fast.clp_kv_ir import flat_token, read_decimal_4, read_decimal_8, read_preamble, read_token

from exhume.counts import counted
from exhume.errors import ExhumeError, Span, TruncatedError, WriterError
from exhume.findings import Rule
from exhume.formats.kv_ir import MAGICS, checks
from exhume.layout.fast import LayoutError
from exhume.tuples import NamedTuple

MAGIC_START: Final = PreambleFacts.magic_start
"""The bytes of every magic number but the last, which states how wide variables are."""

LENGTHS: Final = PreambleFacts.format
NUMBERS: Final = Token.format
"""Formats for `struct`, by the fields of the specification: those of the preamble, and those of tokens."""

MAGIC_SIZE: Final = len(MAGICS[0])

VERSION: Final = "0.1.0"
"""`VERSION` in the metadata of a stream of key-value pairs."""

UNSTRUCTURED: Final = ("v0.0.0", "0.0.1", "0.0.2")
"""`VERSION` in streams of older loggers: their events are text with a timestamp, not key-value pairs."""

VARIABLES_SCHEMA: Final = "com.yscope.clp.VariablesSchemaV2"
ENCODING_METHODS: Final = "com.yscope.clp.VariableEncodingMethodsV1"
"""Names that the loggers put into the metadata: the rules by which a string is split and its variables are encoded."""

# Tags that differ only in the width of the number or length that follows.
INTEGERS: Final = frozenset((Tags.INTEGER_1, Tags.INTEGER_2, Tags.INTEGER_4, Tags.INTEGER_8))
KEYS: Final = frozenset((Tags.KEY_1, Tags.KEY_2, Tags.KEY_4))
PARENTS: Final = frozenset((Tags.PARENT_1, Tags.PARENT_2, Tags.PARENT_4))
TEXTS: Final = frozenset((Tags.TEXT_1, Tags.TEXT_2, Tags.TEXT_4))
VARIABLE_TEXTS: Final = frozenset((Tags.VARIABLE_TEXT_1, Tags.VARIABLE_TEXT_2, Tags.VARIABLE_TEXT_4))
LOG_TYPES: Final = frozenset((Tags.LOG_TYPE_1, Tags.LOG_TYPE_2, Tags.LOG_TYPE_4))
NODES: Final = {
    Tags.NODE_INTEGER: "integer",
    Tags.NODE_REAL: "float",
    Tags.NODE_BOOLEAN: "boolean",
    Tags.NODE_TEXT: "string",
    Tags.NODE_ARRAY: "array",
    Tags.NODE_OBJECT: "object",
}
"""The types of keys, for people."""

Variable = int | bytes
"""A variable of an encoded string: a number (an integer, or a packed decimal fraction), or text."""

_MARKED: Final = re.compile(b"[" + re.escape(bytes(Marks)) + b"]", re.DOTALL)
"""A mark of a log type: of one kind of variable, or the escape."""


@dataclass(frozen=True, slots=True)
class Preamble:
    """The start of a stream, before the units: `size` bytes, the raw `metadata` at `metadata_at`."""

    encoding: Encodings
    metadata_at: int
    metadata: bytes

    @property
    def size(self) -> int:
        """Where the first unit starts."""
        return self.metadata_at + len(self.metadata)


def join_text(log_type: bytes, variables: list[Variable], *, wide: bool) -> bytes | None:
    """Decode an encoded string; None if the number or kinds of its variables do not match the marks of its log type.

    `wide`: whether decimal fractions are packed into eight bytes, not four.
    """
    out: list[bytes] = []  # static text, without escapes, and variables
    waiting = iter(variables)
    at = 0
    while (match := _MARKED.search(log_type, at)) is not None:
        out.append(log_type[at : match.start()])
        at = match.end()
        mark = match[0][0]  # the byte that was found
        if mark == Marks.ESCAPE:  # the next byte is text
            if at == len(log_type):
                return None
            out.append(log_type[at : at + 1])
            at += 1
            continue
        variable = next(waiting, None)
        if variable is None or isinstance(variable, bytes) != (mark == Marks.TEXT):
            return None
        if isinstance(variable, bytes):
            out.append(variable)
        elif mark == Marks.INTEGER:
            out.append(b"%d" % variable)
        else:
            decimal = decimal_text(variable, wide=wide)
            if decimal is None:
                return None
            out.append(decimal)
    out.append(log_type[at:])
    return b"".join(out) if next(waiting, None) is None else None


def decimal_text(word: int, *, wide: bool) -> bytes | None:
    """The decimal fraction that is packed into the number `word`; None if its counts of digits are impossible."""
    packing = Decimal8 if wide else Decimal4
    # The fields of the specification are bits of an unsigned number, but tokens have signed ones: pack and read it.
    stored = struct.pack(NUMBERS.number8 if wide else NUMBERS.number4, word)
    word, _ = (read_decimal_8 if wide else read_decimal_4)(stored, 0, packing.size)
    count, fraction = packing.num_digits(word), packing.num_fraction_digits(word)
    text = b"%0*d" % (count, packing.digits(word))
    if fraction > count or len(text) > count:
        return None
    return (b"-" if packing.sign(word) else b"") + text[: count - fraction] + b"." + text[count - fraction :]


def default_metadata(user: Mapping[str, Any] | None = None) -> bytes:
    """The metadata that loggers write, as JSON; `user` becomes the user-defined part.

    Raises `TypeError` or `ValueError` if `user` cannot be written as JSON.
    """
    found: dict[str, Any] = {"VERSION": VERSION, "VARIABLES_SCHEMA_ID": VARIABLES_SCHEMA}
    found["VARIABLE_ENCODING_METHODS_ID"] = ENCODING_METHODS
    if user is not None:
        found["USER_DEFINED_METADATA"] = user
    text = json.dumps(found, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")


MAX_PREAMBLE: Final = 1 << 17
"""A size in bytes that no preamble has: the length of the metadata has at most two bytes."""


def parse_preamble(data: bytes, where: Span, rules: checks.StreamRules = checks.STREAM) -> Preamble:
    """Parse the preamble at the start of `data`, whose span is `where`.

    Raises KVIR-101, KVIR-301 and KVIR-302, or with other `rules` those of another format with the same meaning.
    """
    if data[:MAGIC_SIZE] not in MAGICS:
        if any(magic.startswith(data) for magic in MAGICS):
            raise rules.preamble_cut.error(span=where)
        raise rules.not_one.error(span=where.sub(0, min(len(data), MAGIC_SIZE)), actual=data[:MAGIC_SIZE])
    try:
        found, end = read_preamble(data, 0, len(data))
    except LayoutError as error:
        # The specification limits the length to the bytes that are left: if it is larger, the rest is missing.
        cut = error.short or error.path.startswith("len_metadata")
        rule = rules.preamble_cut if cut else rules.bad_preamble
        span = where.sub(min(error.offset, len(data)), min(error.stop, len(data)))
        raise rule.error(span=span, field_path=error.path, expected=error.expected, actual=error.found) from error
    raw = bytes(found.metadata)
    return Preamble(Encodings(found.encoding), end - len(raw), raw)


def has_preamble(data: bytes) -> bool:
    """Whether `data` contains a complete preamble, or is invalid whatever bytes follow: no need to read more."""
    try:
        parse_preamble(data, Span("", 0, len(data)))
    except TruncatedError:
        return False
    except ExhumeError:
        return True
    return True


def metadata_object(preamble: Preamble, span: Span, broken: Rule) -> dict[str, Any]:
    """Parse the metadata, which are at `span`, as a JSON object.  Raises the rule `broken` for anything else."""
    try:
        found = json.loads(preamble.metadata.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise broken.error(span=span, actual=str(error)) from error
    if not isinstance(found, dict):
        raise broken.error(span=span, actual=type(found).__name__)
    return found


def parse_metadata(preamble: Preamble, where: Span) -> dict[str, Any]:
    """Parse and check the metadata of a stream of key-value pairs; `where` is the span of the preamble.

    Raises KVIR-102, KVIR-103, KVIR-401 and KVIR-402.
    """
    span = where.sub(preamble.metadata_at, preamble.size)
    found = metadata_object(preamble, span, checks.METADATA_JSON)
    version = found.get("VERSION")
    if version in UNSTRUCTURED:
        raise checks.UNSTRUCTURED.error(span=span, expected=VERSION, actual=version)
    if version != VERSION:
        raise checks.UNKNOWN_VERSION.error(span=span, expected=VERSION, actual=version)
    if not isinstance(found.get("USER_DEFINED_METADATA", {}), dict):
        raise checks.USER_METADATA.error(span=span, actual=type(found["USER_DEFINED_METADATA"]).__name__)
    return found


def pack_decimal(text: bytes) -> int | None:
    """The signed number of four bytes that a decimal fraction, such as `-1.50`, is packed into; None if it is too long.

    The inverse of `decimal_text`.
    """
    digits = text.removeprefix(b"-").replace(b".", b"")
    number, shift = int(digits), Decimal4.shift  # by field: the position of its lowest bit
    # A field ends where the next higher one begins.  Both counts are stored minus one.
    if len(digits) > 1 << (shift.digits - shift.num_digits) or number >= 1 << (shift.sign - shift.digits):
        return None
    fraction = len(text) - 1 - text.index(b".")
    word = number << shift.digits | (len(digits) - 1) << shift.num_digits | (fraction - 1) << shift.num_fraction_digits
    return word - (1 << shift.sign) if text.startswith(b"-") else word  # the sign is the highest bit, as of the number


def parse_token(data: bytes, at: int, end: int) -> tuple[int, int, int]:
    """Return `(tag, number, end)` of the token at `at`, for tokens that declare, refer to or end something.

    The bytes of its text need not be in `data`, but must be before `end`.  Raises `LayoutError`.
    """
    after, tag, one_byte, two_bytes, four_bytes, *_ = flat_token(data, at, end)
    return tag, one_byte + two_bytes + four_bytes, after  # absent fields are 0: the sum is the one that is present


def token_name(data: bytes, at: int) -> str:
    """The kind of token at a position, as messages name it."""
    return Tags(parse_token(data, at, len(data))[0]).name.lower()


def misfit(data: bytes, at: int) -> LayoutError | None:
    """Return the fault in the token at `at` (truncated, or invalid); None for a valid token."""
    try:
        read_token(data, at, len(data))
    except LayoutError as error:
        # The traceback refers to frames with `data`, and forms a cycle with them: drop it so that memory is freed soon.
        return error.with_traceback(None)
    return None


__all__ = [
    "ENCODING_METHODS",
    "INTEGERS",
    "KEYS",
    "LENGTHS",
    "LOG_TYPES",
    "MAGICS",
    "MAGIC_SIZE",
    "MAGIC_START",
    "MAX_PREAMBLE",
    "NODES",
    "NUMBERS",
    "PARENTS",
    "TEXTS",
    "UNSTRUCTURED",
    "VARIABLES_SCHEMA",
    "VARIABLE_TEXTS",
    "VERSION",
    "Encodings",
    "LayoutError",
    "Marks",
    "MetadataLengths",
    "MetadataTypes",
    "Preamble",
    "Tags",
    "Variable",
    "decimal_text",
    "default_metadata",
    "flat_token",
    "has_preamble",
    "join_text",
    "misfit",
    "pack_decimal",
    "parse_metadata",
    "parse_preamble",
    "parse_token",
    "token_name",
]


END: Final = bytes((Tags.END_OF_STREAM,))
"""The last byte of a stream."""


def build_preamble(encoding: Encodings, metadata: bytes) -> bytes:
    """The preamble before the units; `metadata` is JSON.  Raises `WriterError` past 65,535 bytes."""
    head = MAGIC_START + bytes((encoding, MetadataTypes.JSON))
    if len(metadata) < 1 << 8:
        length = bytes((MetadataLengths.ONE_BYTE,)) + struct.pack(LENGTHS.len_metadata1, len(metadata))
    elif len(metadata) < 1 << 16:
        length = bytes((MetadataLengths.TWO_BYTES,)) + struct.pack(LENGTHS.len_metadata2, len(metadata))
    else:
        raise WriterError("the metadata is too large", expected="at most 65535 bytes", actual=len(metadata))
    return head + length + metadata


def build_node(type: int, parent: int, name: bytes, *, auto: bool) -> bytes:
    """A declaration of a key: its type (a tag), the number of its parent node, and its name.

    `auto`: whether it is of the tree of auto-generated keys, whose number `n` is written as `-1 - n`.
    """
    return bytes((type,)) + _number(_PARENTS, -1 - parent if auto else parent) + build_text(name)


def build_key(node: int, *, auto: bool) -> bytes:
    """The key of a pair in an event; `auto` as in `build_node`."""
    return _number(_KEYS, -1 - node if auto else node)


def build_integer(value: int) -> bytes:
    """An integer of 64 bits with a sign."""
    return _number(_INTEGERS, value)


def build_real(value: float) -> bytes:
    """A float."""
    return bytes((Tags.REAL,)) + struct.pack(NUMBERS.real, value)


def build_text(value: bytes) -> bytes:
    """A string that is not encoded: no log type, no variables."""
    return _sized((Tags.TEXT_1, Tags.TEXT_2, Tags.TEXT_4), value)


def build_variable(value: int) -> bytes:
    """A variable of four bytes."""
    return bytes((Tags.VARIABLE_4,)) + struct.pack(NUMBERS.number4, value)


def build_variable_text(value: bytes) -> bytes:
    """A variable that is kept as text."""
    return _sized((Tags.VARIABLE_TEXT_1, Tags.VARIABLE_TEXT_2, Tags.VARIABLE_TEXT_4), value)


def build_log_type(value: bytes) -> bytes:
    """A log type, which ends an encoded string."""
    return _sized((Tags.LOG_TYPE_1, Tags.LOG_TYPE_2, Tags.LOG_TYPE_4), value)


# The forms of numbers, narrowest first: (bits without the sign, tag, format for `struct`).
class _Form(NamedTuple):
    """A width in which a number may be stored: its bits besides the sign, the tag, and the `struct` format."""

    bits: int
    tag: Tags
    format: str


_PARENTS: Final = (
    _Form(7, Tags.PARENT_1, NUMBERS.number1),
    _Form(15, Tags.PARENT_2, NUMBERS.number2),
    _Form(31, Tags.PARENT_4, NUMBERS.number4),
)
_KEYS: Final = (
    _Form(7, Tags.KEY_1, NUMBERS.number1),
    _Form(15, Tags.KEY_2, NUMBERS.number2),
    _Form(31, Tags.KEY_4, NUMBERS.number4),
)
_INTEGERS: Final = (
    _Form(7, Tags.INTEGER_1, NUMBERS.number1),
    _Form(15, Tags.INTEGER_2, NUMBERS.number2),
    _Form(31, Tags.INTEGER_4, NUMBERS.number4),
    _Form(63, Tags.INTEGER_8, NUMBERS.number8),
)


def _number(forms: tuple[_Form, ...], value: int) -> bytes:
    """Write a number in the first of the forms that is wide enough, or raise `WriterError`."""
    for form in forms:
        if -(1 << form.bits) <= value < 1 << form.bits:
            return bytes((form.tag,)) + struct.pack(form.format, value)
    raise WriterError(
        "a number does not fit a KV-IR stream", expected=counted(forms[-1].bits + 1, "bits"), actual=value
    )


def _sized(tags: tuple[int, int, int], value: bytes) -> bytes:
    """Return a string with its tag and length.  The tags are those for 1, 2 and 4 bytes of length."""
    forms = ((8, NUMBERS.len_text1), (16, NUMBERS.len_text2), (32, NUMBERS.len_text4))
    for tag, (bits, form) in zip(tags, forms, strict=True):
        if len(value) < 1 << bits:
            return bytes((tag,)) + struct.pack(form, len(value)) + value
    raise WriterError("string is too large", expected="less than 4 GiB", actual=len(value))


_MARKS: Final = re.compile(
    rb"\\.|[" + re.escape(bytes(one for one in Marks if one is not Marks.ESCAPE)) + rb"]", re.DOTALL
)
"""An escaped byte, or the mark of a variable."""


def set_marks(log_type: bytes, marks: Iterable[int]) -> bytes:
    """Replace the marks of variables in a log type by `marks`, in order; escaped bytes (two each) stay."""
    waiting = iter(marks)
    return _MARKS.sub(lambda found: found[0] if len(found[0]) > 1 else bytes((next(waiting),)), log_type)
