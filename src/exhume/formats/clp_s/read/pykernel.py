"""Pure-Python implementation of the kernel's functions for reading clp-s (`native.pxi` and the files that follow it).

Import `exhume.formats.clp_s.read.kernel`, which picks one of the two; the tests in `tests/clp_s/test_kernel.py` run
against each.  Operations and faults are those of `program`.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, islice
from typing import Any

from exhume.formats.clp_s.layout import parse_dictionary
from exhume.formats.clp_s.layout_packed import (
    ClassicDecimalVariable,
    ClassicMarks,
    ClassicVariable,
    ClpWord,
    DecimalVariable,
    ExponentSign,
    FloatFormat,
    FloatNotation,
    Marks,
)
from exhume.formats.clp_s.read import program
from exhume.formats.clp_s.read.program import (
    BAD_FLOAT,
    BAD_LOG_TYPE,
    BAD_OFFSET,
    BAD_STRING,
    Fault,
    clps_escape,
)
from exhume.formats.clp_s.read.pytables import ClpsMerged as ClpsMerged
from exhume.formats.clp_s.read.pytables import ClpsPatterns as ClpsPatterns
from exhume.formats.clp_s.read.pytables import ClpsTables as ClpsTables
from exhume.formats.clp_s.read.pytables import clps_civil as clps_civil
from exhume.formats.clp_s.read.pytables import merged

Buffer = bytes | bytearray | memoryview

# Turns a negative number into the uint64 with the same bits.
_MASK = (1 << 64) - 1
# As plain numbers, which are compared faster than enum members.
_INTEGER_MARK, _ENTRY_MARK, _ESCAPE = int(Marks.INTEGER), int(Marks.DICTIONARY_ENTRY), int(Marks.ESCAPE)
_SIGNS = {ExponentSign.PLUS: "+", ExponentSign.MINUS: "-"}  # other values: no sign


class ClpsStrings:
    """The entries of a dictionary section, decompressed: each a u64 length and that many bytes.

    `steps` yields ascending offsets: taking one makes the payload available up to it (and may release what is before).

    Raises `ValueError(index, offset)` when entry `index`, at `offset`, passes the end of the payload, and what a step
    raises.  `end` is the offset after the last of `count` entries, `size` that of the payload's end.
    """

    end: int

    __slots__ = ("_entries", "end", "size")

    def __init__(self, payload: Buffer, count: int, steps: Iterable[int] = ()) -> None:
        """Parse a dictionary of `count` entries; for the arguments and errors see the class."""
        at = 0
        for step in steps:
            if not at <= step <= len(payload):
                raise ValueError("a step outside the payload")
            at = step
        self._entries, self.end, problem = parse_dictionary(payload, count)
        if problem is not None:
            raise ValueError(len(self._entries), self.end)
        self.size: int = len(payload)

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, index: int) -> bytes:
        if index < 0:
            raise IndexError(index)
        return self._entries[index]

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._entries)

    def numbered(self, ids: Any) -> tuple[bytes, bytes, bytes]:
        """Return the entries that the ids (u64) name, each once, as an Arrow dictionary: `(codes, ends, text)`.

        `codes` (int32) has the number of each id's entry, in the order of their first use; `text` is these entries,
        joined, and `ends` (int32, a 0 first) where each ends.

        Raises `IndexError` for an id that no entry has, `OverflowError` for a string of 2 GiB, and `ValueError` for
        2^31 ids.
        """
        if len(ids) >= 1 << 31:
            raise ValueError("too many ids")
        numbers: dict[int, int] = {}
        codes = array("i", (numbers.setdefault(one, len(numbers)) for one in ids.tolist()))
        used = [self._entries[one] for one in numbers]
        ends = list(accumulate(map(len, used), initial=0))
        if ends[-1] >= 1 << 31:
            raise OverflowError(ends[-1])
        return codes.tobytes(), array("i", ends).tobytes(), b"".join(used)

    def first_not_utf8(self, start: int, stop: int) -> int:
        """The first of the entries `[start, stop)` that is not UTF-8; else -1.  Raises `IndexError` after the last."""
        if not 0 <= start <= stop <= len(self):
            raise IndexError(stop)
        for index in range(start, stop):
            try:
                self._entries[index].decode()
            except UnicodeDecodeError:
                return index
        return -1

    def escaped(self) -> ClpsStrings:
        """Return the entries with their escapes, as JSON string content."""
        entries = [clps_escape(entry) for entry in self._entries]
        made = object.__new__(type(self))
        made._entries = entries  # noqa: SLF001 - its own class
        made.end, made.size = self.end, self.size
        return made


class ClpsRepeated:
    """Search for an entry that equals an earlier one, in threads.

    First, threads `add` all entries by ranges.  Then each calls `first` for a share of them; equal entries are always
    in the same share, as shares are made by hash.
    """

    def __init__(self, strings: ClpsStrings) -> None:
        self._strings = strings
        self._hashes = [0] * len(strings)

    def add(self, start: int, stop: int) -> None:
        """Note the entries `[start, stop)`.  Raises `IndexError` where there are fewer."""
        if not 0 <= start <= stop <= len(self._hashes):
            raise IndexError(stop)
        for index in range(start, stop):
            self._hashes[index] = hash(self._strings[index])

    def first(self, share: int, shares: int) -> int:
        """Return the first entry of a share (numbered from 0) that equals an earlier one; -1 if there is none.

        Raises `ValueError` if `share` is not below `shares`.
        """
        if not 0 <= share < shares:
            raise ValueError(share)
        seen: set[bytes] = set()
        for index, number in enumerate(self._hashes):
            if number % shares == share:
                text = self._strings[index]
                if text in seen:
                    return index
                seen.add(text)
        return -1


Room = Callable[[int], memoryview]
"""Returns a writable buffer of that many bytes."""


class ClpsLogTypes:
    """Log types ready for printing: literal pieces and placeholders.

    `core`: the dialect of 0.4.0 on (0x11 integer, 0x12 dictionary variable, 0x13 float); before, 0x11 was an integer
    or dictionary variable and 0x12 a float.  `escape`: literals as JSON string content.  `room` returns a writable
    buffer of a size for large ones; only the compiled kernel uses it.
    """

    __slots__ = ("_parts", "core")

    def __init__(self, entries: ClpsStrings, core: bool, escape: bool, room: Room | None = None) -> None:
        """Split each log type at its placeholders; `_parts` has its n + 1 literals and n placeholder bytes."""
        self.core: bool = core
        last = int(Marks.DECIMAL if core else ClassicMarks.DECIMAL)
        self._parts: list[tuple[list[bytes], bytes]] = []
        for entry in entries:
            literals: list[bytes] = []
            holes = bytearray()  # the placeholder bytes
            piece = bytearray()
            at, size = 0, len(entry)
            while at < size:
                byte = entry[at]
                if byte == _ESCAPE and at + 1 < size:
                    at += 1
                    piece.append(entry[at])
                # An escape at the end of the entry escapes nothing and is dropped.
                elif byte == _ESCAPE:
                    pass
                elif _INTEGER_MARK <= byte <= last:
                    literals.append(clps_escape(bytes(piece)) if escape else bytes(piece))
                    holes.append(byte)
                    piece.clear()
                else:
                    piece.append(byte)
                at += 1
            literals.append(clps_escape(bytes(piece)) if escape else bytes(piece))
            self._parts.append((literals, bytes(holes)))

    def __len__(self) -> int:
        return len(self._parts)

    def holes(self, index: int) -> bytes:
        """The placeholder bytes of a log type, in order."""
        return self._parts[index][1]

    def literals(self, index: int) -> list[bytes]:
        """The literal pieces around the placeholders (one more than there are placeholders)."""
        return list(self._parts[index][0])


def clps_decode_float(word: int, core: bool) -> bytes | None:
    """Text of an encoded float variable `word` (int64), None when its digit counts are impossible.

    `core`: it has the dialect of 0.4.0 on.
    """
    word &= _MASK
    packed = DecimalVariable if core else ClassicDecimalVariable
    digits, point = packed.num_digits(word), packed.num_fraction_digits(word)
    text = str(packed.digits(word))
    if point > digits or len(text) > digits:
        return None
    text = text.zfill(digits)
    return f"{'-' if packed.sign(word) else ''}{text[: digits - point]}.{text[digits - point :]}".encode()


def clps_format_float(value: float, word: int) -> bytes:
    """Text of a number under its 16-bit format word."""
    significant = FloatFormat.num_significant_digits(word)
    mantissa, _, power = f"{value:.{significant - 1}e}".partition("e")
    if not power:  # nan, inf
        return mantissa.encode()
    exponent = int(power)
    notation = FloatFormat.notation(word)
    if notation in (FloatNotation.LOWER_EXPONENT, FloatNotation.UPPER_EXPONENT):
        mark = "e" if notation == FloatNotation.LOWER_EXPONENT else "E"
        sign = _SIGNS.get(FloatFormat.exponent_sign(word), "")  # type: ignore[call-overload]
        width = FloatFormat.num_exponent_digits(word)
        return f"{mantissa}{mark}{sign}{abs(exponent):0{width}d}".encode()
    negative = mantissa.startswith("-")
    digits = mantissa.lstrip("-").replace(".", "")
    point = exponent + 1
    if point <= 0:
        text = "0." + "0" * -point + digits
    elif point < len(digits):
        text = digits[:point] + "." + digits[point:]
    else:
        text = digits + "0" * (point - len(digits))
    return (("-" if negative else "") + text).encode()


def clps_disorder(values: Buffer) -> int:
    """The first of the int64 in a buffer that is not above the one before it; -1 when there is none."""
    found = _view(values, "q")
    return next((row for row in range(1, len(found)) if found[row] <= found[row - 1]), -1)


def clps_variables_of(words: Buffer, log_types: ClpsLogTypes) -> tuple[int, int, bytes] | None:
    """Return the range of variables that encoded strings use, and their words with offsets from its start.

    `words` (uint64) have the id of a log type and the offset of the first variable.  A window of rows reads only these
    variables, so the first of them becomes variable 0.  None if a word names a log type that does not exist.
    """
    found = _view(words, "Q")
    idents = [_log_type_id(word) for word in found]
    if any(ident >= len(log_types) for ident in idents):
        return None
    holes = [len(log_types.holes(ident)) for ident in idents]
    used = [(_ofs_variable(word), count) for word, count in zip(found, holes, strict=True) if count]
    low, high = min((at for at, _ in used), default=0), max((at + count for at, count in used), default=0)
    moved = (
        ident | (_ofs_variable(word) - low if count else 0) << ClpWord.shift.ofs_variable
        for word, ident, count in zip(found, idents, holes, strict=True)
    )
    return low, high, array("Q", moved).tobytes()


def clps_undelta(values: Buffer, total: int = 0) -> bytes:
    """Return the running sums (uint64 bytes, modulo 2^64) of int64 differences; the first is added to `total`."""
    sums = accumulate(_view(values, "Q"), lambda total, step: total + step & _MASK, initial=total & _MASK)
    return array("Q", islice(sums, 1, None)).tobytes()


Operation = tuple[Any, ...]
"""An operation as in `program`: its kind, and what that needs."""


def _view(buffer: Buffer, code: str) -> Sequence[Any]:
    """A buffer as a typed sequence."""
    return memoryview(buffer).cast("B").cast(code)  # type: ignore[call-overload,no-any-return]


class ClpsProgram:
    """Prints rows of one table; `operations` as described in `program`, `rows`: the number of rows of the table."""

    def __init__(self, operations: Sequence[Operation], rows: int) -> None:
        self.rows = rows
        self._operations = list(operations)
        self._printers = [_printer(operation, rows) for operation in operations]

    def _row(self, row: int) -> bytes | Fault:
        """Return one row as JSON, or the fault of its first column that cannot be printed."""
        pieces = []
        for index, printer in enumerate(self._printers):
            piece = printer(row)
            if not isinstance(piece, bytes):
                kind, detail = piece
                return (kind, index, row, detail)
            pieces.append(piece)
        return b"".join(pieces)

    def render(
        self, start: int, stop: int, max_size: int, mask: bytes | None = None
    ) -> tuple[bytes, int, Fault | None]:
        """Rows `[start, stop)` up to the row that passes `max_size` bytes: text, next row, fault or None.

        `mask`: a byte for each row from `start` on, 0 to leave it out.  Raises `IndexError` if it has too few.
        """
        out: list[bytes] = []
        size = 0
        if mask is not None and stop - start > len(mask):
            raise IndexError(stop)
        for row in range(start, stop):
            if mask is not None and not mask[row - start]:
                continue
            line = self._row(row)
            if isinstance(line, tuple):
                return b"".join(out), row, line
            out.append(line)
            size += len(line)
            if size >= max_size:
                return b"".join(out), row + 1, None
        return b"".join(out), stop, None

    def check(self, start: int, stop: int) -> Fault | None:
        """The fault of the first of the rows `[start, stop)` that cannot be printed.

        Raises `IndexError` for rows that the table does not have.
        """
        if start < 0 or stop > self.rows:
            raise IndexError(stop)
        return next((line for row in range(start, stop) if isinstance(line := self._row(row), tuple)), None)

    def lines(self, rows: Sequence[int]) -> tuple[list[bytes], Fault | None]:
        """The text of each given row, up to one that cannot be printed.  Raises `IndexError` after the last row."""
        out: list[bytes] = []
        for row in rows:
            if not 0 <= row < self.rows:
                raise IndexError(row)
            line = self._row(row)
            if isinstance(line, tuple):
                return out, line
            out.append(line)
        return out, None

    def spans(self, start: int, stop: int) -> tuple[bytes, bytes, Fault | None]:
        """Rows `[start, stop)`: their text joined, where each ends in it (int64, a 0 first), fault or None.

        The ends after the row of a fault have no meaning.  Raises `IndexError` for rows that the table does not have.
        """
        if not 0 <= start <= stop <= self.rows:
            raise IndexError(stop)
        out, fault = self.lines(range(start, stop))
        ends = [0, *accumulate(map(len, out))]
        ends += [0] * (stop - start + 1 - len(ends))
        return b"".join(out), array("q", ends).tobytes(), fault


_log_type_id, _ofs_variable = ClpWord.log_type_id, ClpWord.ofs_variable
_Piece = bytes | tuple[int, int]  # bytes to print, or the kind of a fault and its detail


def _printer(operation: Operation, rows: int) -> Callable[[int], _Piece]:
    """Return a function from a row of a column to its text, or to the row's fault and the value that caused it."""
    match operation:
        case (program.LITERAL, text):
            return lambda row: text
        case (program.INTEGER, column):
            integers = _sized(column, "q", rows)
            return lambda row: b"%d" % integers[row]
        case (program.FLOAT, column):
            floats = _sized(column, "d", rows)
            return lambda row: b"%f" % floats[row]
        case (program.FORMATTED, column, words):
            doubles, formats = _sized(column, "d", rows), _sized(words, "H", rows)
            return lambda row: clps_format_float(doubles[row], formats[row])
        case (program.BOOLEAN, column):
            flags = _sized(column, "B", rows)
            return lambda row: b"true" if flags[row] else b"false"
        case (program.STRING, column, strings):
            ids, count = _sized(column, "Q", rows), len(strings)
            return lambda row: strings[ids[row]] if ids[row] < count else (BAD_STRING, ids[row])
        case (program.TEXT, column, encoded, log_types, strings):
            words, variables = _sized(column, "Q", rows), _view(encoded, "q")
            return lambda row: _text(words[row], variables, log_types, strings)
        case (program.TIME, column, pattern_ids, patterns):
            epochs, idents = _sized(column, "q", rows), _sized(pattern_ids, "Q", rows)

            def time(row: int) -> _Piece:
                """Return the printed time of a row, or the fault and the pattern's id."""
                found = patterns.render(idents[row], epochs[row])
                return found if isinstance(found, bytes) else (found, idents[row])

            return time
    raise ValueError(f"unknown operation {operation[0]!r}")


def _sized(buffer: Buffer, code: str, rows: int) -> Sequence[Any]:
    """Return a buffer as a typed sequence.  Raises `ValueError` if it has fewer than `rows` values."""
    values = _view(buffer, code)
    if len(values) < rows:
        raise ValueError("a buffer is shorter than the table")
    return values


def _text(word: int, variables: Sequence[int], log_types: ClpsLogTypes, strings: ClpsStrings) -> _Piece:
    """Return one row's message, or its fault and the value that caused it.

    `word`: the stored id of its log type, and the position of its first variable among `variables`.
    """
    ident, at = _log_type_id(word), _ofs_variable(word)
    if ident >= len(log_types):
        return BAD_LOG_TYPE, ident
    literals, holes = log_types._parts[ident]  # noqa: SLF001 - same module
    if at + len(holes) > len(variables) and holes:  # the offset has no meaning without variables
        return BAD_OFFSET, at
    # A variable is an integer, an entry of the dictionary or a float, by its placeholder and the dialect.
    pieces = [literals[0]]
    for literal, hole in zip(literals[1:], holes, strict=True):
        value = variables[at]
        at += 1
        if hole == _INTEGER_MARK:
            if not log_types.core and ClassicVariable.is_id(value):
                piece = _entry(strings, value - ClassicVariable.first_id)
            else:
                piece = b"%d" % value
        elif hole == _ENTRY_MARK and log_types.core:
            piece = _entry(strings, value)
        else:
            piece = clps_decode_float(value, log_types.core)
            if piece is None:
                return BAD_FLOAT, value
        if piece is None:
            return BAD_STRING, value
        pieces += (piece, literal)
    return b"".join(pieces)


def _entry(strings: ClpsStrings, ident: int) -> bytes | None:
    return strings[ident] if 0 <= ident < len(strings) else None


def clps_merge_order(keys: Sequence[Buffer]) -> array[int]:
    """Which table each row of the merged order comes from (uint32), always taking the table whose current key is least.

    `keys` are buffers of int64, one per table; ties go to the table that comes first.
    """
    return merged({table: _view(key, "q") for table, key in enumerate(keys)})
