"""Statements that read bytes, strings and bits into variables, and that check values: the forms of `valid`.

The emitted statements use the variables of a reader: `view` (bytes), `at` (position), `end` (end of the stream),
`bit` (position in bits), `run` (the budget that readers of third-party specifications, `foreign`, take from).
"""

from __future__ import annotations

import re
from collections.abc import Sequence as Many
from dataclasses import dataclass

from exhume.compiler.emit.code import Code
from exhume.compiler.emit.text import BINDS, members, negated
from exhume.compiler.front import expressions as ex
from exhume.compiler.front.kinds import TEXT, Bits, Integer, Kind, combined, family
from exhume.compiler.front.model import Field
from exhume.compiler.ir.fixed import scalar_of, shifted
from exhume.compiler.ir.needs import without_rest
from exhume.compiler.refusal import UnsupportedError


@dataclass(frozen=True, slots=True)
class _Test:
    """The code of one rule of `valid`."""

    condition: str
    """It is true for valid values, such as `n <= 9`."""
    wanted: str
    """The expected value in the error, such as `"at most 9"` with its quotation marks."""
    opposite: str = ""
    """The negation of the condition, where it is not the one that `negated` writes."""


_WIDE = re.compile(r"utf[-_]?(16|32)[-_]?[bl]e", re.IGNORECASE)
"""Encodings whose strings end with a wide zero, by Kaitai's rule; those of `UTF-16` alone end with one byte."""
_COMPARISONS = {"eq": "==", "min": ">=", "max": "<="}
"""Rules of `valid` that compare the value with one other."""


class Rules(Code):
    """Emits code that raises `LayoutError` for values that `valid` does not allow."""

    def check(self, field: Field, into: str, path: str, start: str, stop: str = "") -> None:
        """Emit statements that raise `LayoutError` for the value in `into` if `valid` does not allow it.

        For `max: 9` they are `if n > 9:` and `raise LayoutError("n", at - 1, at, "at most 9", n)`.  `path`, `start` and
        `stop` are code: the path of the field, and where its bytes start and end (at `at` if `stop` is empty).
        """
        valid = field.raw["valid"]
        rules = valid if isinstance(valid, dict) else {"eq": valid}
        for key, stated in rules.items():
            self.item = (into, field.value_kind)
            test = self._test(field, key, stated, into)
            self.item = None
            with self.lines.block(f"if {test.opposite or negated(test.condition)}:"):
                self.lines.add(f"raise LayoutError({path}, {start}, {stop or 'at'}, {test.wanted}, {into})")
            # The rule that the number fits the stream: a size that is this number needs no further check.
            if test.condition == f"{into} <= end - at" and self._is_size(field):
                self.bounded = into

    def _test(self, field: Field, key: str, stated: object, into: str) -> _Test:
        """Return the code of the rule `key: stated` of `valid` for the value in the variable `into`.

        Raises `UnsupportedError` for other keys.
        """
        if key in _COMPARISONS:
            return self._comparison(field, key, ex.parse(stated), into)
        if key == "expr":
            rule = ex.parse(stated)
            if (most := self._most(field, rule)) is not None:
                return self._comparison(field, "max", most, into)
            condition = self.code(rule)
            may_be_nan = isinstance(rule, ex.Binary) and self._may_be_nan(self.kind(rule.left), self.kind(rule.right))
            return _Test(condition, repr(" ".join(str(stated).split())), f"not ({condition})" if may_be_nan else "")
        if key == "any-of" and isinstance(stated, list):
            allowed = f"({', '.join(self.code(ex.parse(one)) for one in stated)},)"
            return _Test(f"{into} in {allowed}", allowed)
        if key == "in-enum":
            enum = field.value_kind.enum if isinstance(field.value_kind, (Integer, Bits)) else None
            if enum is None:
                raise UnsupportedError("in-enum needs an enum")
            return _Test(f"{into} in {members(sorted(enum.values))}", f'"a value of {enum.id}"')
        raise UnsupportedError(f"`valid: {key}` is not supported")

    def _comparison(self, field: Field, key: str, bound: ex.Expr, into: str) -> _Test:
        """Return the code of the rule `eq`, `min` or `max`, such as `n <= 9` for `max: 9`."""
        code = self._code(without_rest(bound), BINDS["<"] + 1)
        operator = _COMPARISONS[key]
        condition, opposite = f"{into} {operator} {code}", f"{into} {ex.OPPOSITE[operator]} {code}"
        if key == "eq":
            return _Test(condition, code, opposite)
        if self._may_be_nan(field.value_kind, self.kind(bound)):
            opposite = f"not ({condition})"
        words = "at least" if key == "min" else "at most"
        if code.isdigit():
            return _Test(condition, f'"{words} {code}"', opposite)
        if re.search(r"""["'\\{}]""", code):  # Python 3.11 allows none of these inside an f-string's braces
            return _Test(condition, f'"{words} " + str({code})', opposite)
        return _Test(condition, f'f"{words} {{{code}}}"', opposite)

    @staticmethod
    def _is_size(field: Field) -> bool:
        """Return whether a field is always there, and an integer that is never negative, as sizes are."""
        kind = field.value_kind
        unsigned = isinstance(kind, Integer) and kind.size > 0 and not kind.signed
        return (unsigned or scalar_of(kind) is not None) and field.condition is None

    @staticmethod
    def _may_be_nan(*kinds: Kind) -> bool:
        """Return whether a value may be NaN.  All comparisons with it are false, so `not a <= b` is not `a > b`."""
        return any(family(combined(kind)) in ("float", "unknown") for kind in kinds)

    @staticmethod
    def _most(field: Field, test: ex.Expr) -> ex.Expr | None:
        """Return the upper limit of `valid: expr:`, if the expression is `_ <= ...` or `_.value <= ...`; else None."""
        if not isinstance(test, ex.Binary) or test.op != "<=":
            return None
        scalar = scalar_of(field.value_kind)
        number = ex.Name("_") if scalar is None else ex.Member(ex.Name("_"), str(scalar.scalar))
        return test.right if test.left == number else None


class Values(Rules):
    """Emits code that reads bytes, strings and bits.

    The parameter `into` is the name of the variable that gets the value, `path` is code for the field's path in errors,
    `mark` a terminator, `type_name` the field's type as specified, `stop` code for where bytes end.
    """

    strays = False
    """Whether the current position may be past the end of the stream, as in instances with `pos`."""

    def sized_end(self, field: Field, path: str) -> str:
        """Emit statements that check that the field's size fits; return the code of where its bytes end.

        For `size: a + b` they are `size = a + b` and `if not 0 <= size <= end - at: raise short(...)`, and the code is
        `at + size`.  Without a size, nothing is emitted, and the code is `end`.
        """
        if field.size is None:
            return "end"
        lines = self.lines
        size = self.code(field.size)
        if (
            self.foreign
            and isinstance(field.size, ex.Literal)
            and isinstance(field.size.value, int)
            and field.size.value >= 0
        ):
            # In decimal: constants above 99 are written in hexadecimal elsewhere, and `isdigit` below is for decimals.
            size = str(int(field.size.value))
        if not size.isidentifier() and not size.isdigit():
            lines.add(f"size = {size}")
            size = "size"
        # A rule has just tested it.
        if size == self.bounded and not self.strays:
            return f"at + {size}"
        # Past the end, a size of 0 still fits: in exhume's own readers no bytes are left, those of users test the size.
        room = "max(0, end - at)" if self.strays and not self.foreign else "end - at"
        empty = f"{size} and " if self.strays and self.foreign else ""
        wrong = f"{room} < {size}" if size.isdigit() else f"not 0 <= {size} <= {room}"
        with lines.block(f"if {empty}{wrong}:"):
            lines.add(f"raise short({path}, at, end, {size})")
        return f"at + {size}"

    def read_bytes(self, field: Field, into: str, path: str) -> None:
        """Emit statements that read bytes or text."""
        type_name = field.raw.get("type")
        self._read_raw(field, field.value_kind, into, path, str(type_name))

    def _read_raw(
        self, field: Field, kind: Kind, into: str, path: str, type_name: str, *, unmatched: bool = False
    ) -> None:
        """Emit statements that read bytes or text into the variable `into`.

        `path` is code for the field's path in errors, `type_name` its type as specified. Bytes end at a terminator,
        at the end of the stream, or after their size; padding is removed and `process` applied to bytes.  If no
        case of a switch matches (`unmatched`), its bytes keep terminator and padding, and cases that are text are not
        processed, both as with Kaitai's compiler.
        """
        lines = self.lines
        mark = None if unmatched else self._mark(field, type_name)
        # `whole`: the bytes are only decoded, so memory for bytes and text is charged at once: two bytes for each.
        whole = kind == TEXT
        # `stop` or `size` is where the bytes end, `after` the statement that moves `at` past them: up to a terminator,
        # up to the end of the stream, or of a stated size.
        if field.size is None and not field.to_end:
            if mark is None:
                raise UnsupportedError("needs a `type`, `size`, `size-eos`, `terminator` or `contents`")
            stop, after = self.find_mark(field, path, mark)
            self.cut_out(into, stop)
            self.charge(f"2 * ({stop} - at)" if whole else f"{stop} - at", path)
            lines.add(f"{into} = view[at : {stop}]")
        elif field.size is None:
            whole = False
            self.charge("end - at if end > at else 0", path)
            lines.add(f"{into} = view[at:end]")
            if not unmatched:
                self._cut(field, into, mark)
            self.cut_out(into)
            after = "at = max(at, end)"
        else:
            stop = self.sized_end(field, path)
            size = stop.removeprefix("at + ")
            self.charge(size if not whole else str(2 * int(size)) if size.isdigit() else f"2 * {size}", path)
            lines.add(f"{into} = view[at : {stop}]")
            if not unmatched:
                self._cut(field, into, mark)
            self.cut_out(into)
            after = f"at += {size}"
        if kind == TEXT:
            self.decode(field, into, path, "at", paid=whole)
        elif "process" in field.raw:
            lines.add("start = at", after)
            self._process(field, into, path)
            return
        lines.add(after)

    def cut_out(self, into: str, stop: str = "") -> None:
        """Emit statements that record which bytes `into` was cut from, before padding is removed; here none."""

    def charge(self, many: str, path: str) -> None:
        """Emit a charge of `many` bytes (code) to the memory budget, if there is one.

        It is inline because a call would take longer than reading them.
        """
        if self.module.foreign:
            self.lines.add(f"run.held -= {many}")
            with self.lines.block("if run.held < 0:"):
                self.lines.add(f"raise run.spent({path}, at)")

    def _mark(self, field: Field, type_name: str) -> bytes | None:
        """Return the terminator of a field; None if it has none. That of `strz` is a zero, as wide as a character."""
        mark = field.raw.get("terminator")
        if mark is None and type_name == "strz":
            wide = _WIDE.fullmatch(str(field.raw.get("encoding") or field.owner.encoding))
            return bytes(int(wide[1]) // 8 if wide else 1)
        return None if mark is None else bytes([int(mark)])

    def find_mark(self, field: Field, path: str, mark: bytes) -> tuple[str, str]:
        """Emit statements that find the terminator `mark` from `at` on, and put its position into `stop`.

        Returns the code of the end of the bytes, and the statement that moves `at` after them: `("stop", "at = stop +
        1")` for a terminator of one byte, which is consumed but not part of the value.
        """
        lines = self.lines
        if self.module.foreign:
            lines.add(f"stop = {self.module.helper('find')}(run, view, {mark!r}, at, end)")
        else:
            # A memoryview has no `find`: its bytes are copied.  Without a terminator, `stop` is `at - 1` or -1.
            find = f"find({mark!r}"
            lines.add(f"stop = view.{find}, at, end) if isinstance(view, bytes) else at + bytes(view[at:end]).{find})")
        after = f"stop + {len(mark)}"
        with lines.block("if stop < at:"):
            if field.raw.get("eos-error", True):
                lines.add(f"raise short({path}, at, end, end - at + {len(mark)})")
            else:
                lines.add("stop = end")
                after = f"min(end, stop + {len(mark)})"
        stop = after if field.raw.get("include") else "stop"
        return stop, "at = stop" if field.raw.get("consume") is False else f"at = {after}"

    def _cut(self, field: Field, into: str, mark: bytes | None) -> None:
        """Emit statements that remove padding, and everything after a terminator, from bytes of a known size.

        For example `name = bytes(name).rstrip(b" ")` and `name = ended(run, name, b"\\x00")`.
        """
        pad = field.raw.get("pad-right")
        # Padding by the terminator is removed below, with all that follows the first one; `rstrip` would remove that
        # one as well, which may have to stay (`include`).
        if pad is not None and bytes([int(pad)]) != mark:
            self.lines.add(f"{into} = bytes({into}).rstrip({bytes([int(pad)])!r})")
        if mark is not None:
            include = ", include=True" if field.raw.get("include") else ""
            call = f"{self.module.helper('ended')}(run, {into}, {mark!r}{include})"
            # Most strings have no terminator: then the emitted test avoids a call.
            if len(mark) == 1 and field.value_kind == TEXT:
                # As a number: Python looks for bytes in bytes only after an error, which takes ten times as long.
                call = f"{into} if isinstance({into}, bytes) and {mark[0]} not in {into} else {call}"
            self.lines.add(f"{into} = {call}")

    def _process(self, field: Field, into: str, path: str) -> None:
        """Emit the statement that decodes bytes by `process`, such as `data = xored(run, data, (key))`."""
        call = field.call("process")
        assert call is not None
        how = call.name
        if how in self.type.root.model.given.process:
            routine = f"{self.module.given_table('PROCESS')}[{how!r}]"
            given = "".join(f", {self.code(one)}" for one in call.arguments)
            self.lines.add(f"{into} = {self.module.helper('processed')}({routine}, {into}{given})")
            return
        helper = self.module.helper({"zlib": "inflated", "xor": "xored", "rol": "rotated", "ror": "rotated"}[how])
        if how == "zlib":
            self.lines.add(f"{into} = {helper}(run, {into}, {path}, start)")
            return
        key = self.code(call.arguments[0])
        self.lines.add(f"{into} = {helper}(run, {into}, {'8 - ' if how == 'ror' else ''}({key}))")

    def decode(self, field: Field, into: str, path: str, at: str = "at", *, paid: bool = False) -> None:
        """Emit `name = str(name, "UTF-8")` in a `try` that raises `LayoutError` for bytes that are not in the encoding.

        `at` is code for where the bytes start; `paid`: the memory of the string was charged already.
        Raises `UnsupportedError` without an encoding.
        """
        lines = self.lines
        code = self.decoded(field, into)
        if not paid:
            self.charge(f"len({into})", path)
        encoding = field.raw.get("encoding") or field.owner.encoding
        with lines.block("try:"):
            lines.add(f"{into} = {code}")
        with lines.block("except UnicodeDecodeError as error:"):
            lines.add(f'raise LayoutError({path}, {at}, {at} + len({into}), "text in {encoding}", {into}) from error')

    def decoded(self, field: Field, code: str, *, is_bytes: bool = False) -> str:
        """Return the code that decodes the bytes `code`, such as `str(name, "ASCII")`.

        `is_bytes`: they are never a memoryview, which has no `decode`.
        Raises `UnsupportedError` without an encoding.
        """
        encoding = field.raw.get("encoding") or field.owner.encoding
        if encoding is None:
            raise UnsupportedError("text has no encoding")
        text = f'str({code}, "{encoding}")'
        if not self.foreign or encoding.upper() not in ("UTF-8", "UTF8"):
            return text
        fast = f"{code}.decode()"  # five times as fast
        return fast if is_bytes else f"{fast} if isinstance({code}, bytes) else {text}"

    def _read_loose_bits(self, kind: Bits, into: str, path: str) -> None:
        """Emit statements for bits that are not read together with those around them: repeated, or there on a
        condition.

        `n = bits(view, bit, end, 3, "big", "n")`, `bit += 3`, and `at` becomes the next whole byte.
        """
        order = '"big"' if kind.big else '"little"'
        code = f"{self.module.helper('bits')}(view, bit, end, {kind.width}, {order}, {path})"
        single = kind.width == 1 and kind.enum is None
        self.lines.add(f"{into} = {code}{' == 1' if single else ''}", f"bit += {kind.width}", "at = -(-bit // 8)")

    def _read_bits(self, fields: Many[tuple[Field, str]]) -> None:
        """Emit statements that read consecutive fields of bits, given with their variables, as one number of whole
        bytes.
        """
        lines = self.lines
        kinds = [field.value_kind for field, _ in fields]
        widths = [kind.width for kind in kinds if isinstance(kind, Bits)]
        big = isinstance(kinds[0], Bits) and kinds[0].big
        size = (sum(widths) + 7) // 8
        # By field, the bytes that end with its last, and those before its first.
        ends = [(sum(widths[: i + 1]) + 7) // 8 for i in range(len(widths))]
        starts = [sum(widths[:i]) // 8 for i in range(len(widths))]
        table = ", ".join(f"({self.path(field)}, {stop})" for (field, _), stop in zip(fields, ends, strict=True))
        with lines.block(f"if end - at < {size}:" if size > 1 else "if at >= end:"):
            for number, (field, into) in enumerate(fields):
                # An invalid value is reported before missing bytes after it.
                if "valid" in field.raw and ends[number] < size:
                    with lines.block(f"if end - at >= {ends[number]}:"):
                        self._bits_of(fields[: number + 1], ends[number], big)
                        first, stop = starts[number], ends[number]
                        self.check(field, into, self.path(field), f"at + {first}" if first else "at", f"at + {stop}")
            lines.add(f"raise short(({table},), at, end, {size})")
        self._bits_of(fields, size, big)
        lines.add(f"at += {size}")
        for (field, into), first in zip(fields, starts, strict=True):
            if "valid" in field.raw:
                self.check(field, into, self.path(field), f"at - {size - first}")

    def _bits_of(self, fields: Many[tuple[Field, str]], size: int, big: bool) -> None:
        """Emit statements that take bit fields out of `size` bytes that contain no other field.

        `many = view[at]`, `kind = many >> 5`, `count = many & 0x1f`.  Fields are given with their variables; `big`: the
        first has the highest bits.
        """
        if size == 1:
            self.lines.add("many = view[at]")
        else:
            self.lines.add(f'many = int.from_bytes(view[at : at + {size}], "{"big" if big else "little"}")')
        variables = [into for _, into in fields]
        for into, (field, shift, width) in zip(variables, shifted([field for field, _ in fields]), strict=True):
            code = f"many >> {shift}" if shift else "many"
            operand = f"({code})" if shift else code
            if width == 1 and isinstance(field.value_kind, Bits) and field.value_kind.enum is None:
                code = f"{operand} & 1 == 1"
            elif shift + width < size * 8:  # there are bits above these
                code = f"{operand} & {hex((1 << width) - 1)}"
            self.lines.add(f"{into} = {code}")
