"""Statements that read the fields of a structure in sequence.

Consecutive fields of fixed sizes are a run: one check and one call read them.  Consecutive fields with the same
condition are read in one `if`.

Variables in the emitted code: `view` (bytes), `at` (current offset in them), `end` (end of the stream), `bit` (offset
in bits), `value` (the object that is filled), `io.left` (unread bits of the last byte).
"""

from __future__ import annotations

import itertools

from exhume.compiler.emit.shared import Module
from exhume.compiler.emit.statements import Statements
from exhume.compiler.emit.text import safe
from exhume.compiler.front import expressions as ex
from exhume.compiler.front.kinds import Bits, Integer, SimpleKind
from exhume.compiler.front.model import Field, Type
from exhume.compiler.ir.bits import bit_order, unread_before
from exhume.compiler.ir.fixed import byte_order, fixed_bytes, stored_size, struct_format
from exhume.compiler.ir.needs import expressions, words
from exhume.compiler.ir.rows import LONG_ROW
from exhume.compiler.refusal import UnsupportedError

MOST_AT_ONCE = 100
"""Most fields of fixed sizes that are read by one call."""


def _uses_stream(field: Field) -> bool:
    """Return whether an expression that belongs to a field uses the stream."""
    return any("_io" in words(one) for one in expressions(field))


class SequenceReader(Statements):
    """Emits statements that read the fields of a type in sequence.

    From the base classes: `counts` (`bit` is always up to date), `loose` (`bit` is, because single bit fields are being
    read), `traces` (parts read before an error are kept), `bounded` (code of a size that was found to fit the stream),
    `charge` (emits that a large field is counted against the budget of a file), `align` (notes that no bits of a byte
    are unread).
    """

    joins_optional = True
    """Whether fields that follow each other and are there on the same condition are read together."""

    def __init__(self, module: Module, type: Type) -> None:
        """Begin to read the fields of `type`, in a function of `module`."""
        super().__init__(module, type)
        self.met: ex.Expr | None = None
        """The condition of fields (`if`) whose test is around the code that is being written; None outside of one."""
        self.read: set[str] = set()
        """Names of the fields that were read before."""

    def sequence(self) -> bool:
        """Emit statements that read all fields in sequence, runs of fixed sizes at once; return True.

        Raises `UnsupportedError` with the field that is not supported.  (Overridden methods may return False.)
        """
        shares = self.type.root.model.shares  # whether structures may begin within a byte
        self.counts: bool = shares or (self.foreign and (self._asks_for_the_end() or self._bits_continue()))
        if self.counts:
            self.lines.add("bit = at * 8 - io.left" if shares else "bit = at * 8")
        waiting: list[Field] = []  # fields of fixed size that will be read by one call (`run` emits it)
        number = 0
        while number < len(self.type.seq):
            field = self.type.seq[number]
            try:
                optional = self._same_condition(number)
                if len(optional) > 1:
                    self.run(waiting)
                    waiting, self.loose = [], False
                    self._read_optional(optional)
                elif self.module.foreign and self._read_loosely(number, field):
                    self.run(waiting)
                    waiting = []
                    if not self.loose:
                        self.loose = True
                        if not self.counts:
                            self.lines.add("bit = at * 8")
                    self.read_single(field)
                else:
                    self.loose = False
                    waiting = self._after(waiting, field)
            except UnsupportedError as error:
                raise error.within(field.where) from None
            number += max(1, len(optional))
        self.run(waiting)
        return True

    def _after(self, waiting: list[Field], field: Field) -> list[Field]:
        """Emit statements that read a field, or add it to the run of those that are `waiting` to be read at once.

        Returns the fields that wait then.
        """
        if self._joins(waiting, field):
            waiting.append(field)
        else:
            self.run(waiting)
            waiting = [field] if self.fixed(field) else []
        if not waiting:
            self.read_single(field)
        elif "valid" in field.raw and not isinstance(field.value_kind, Bits):
            self.run(waiting)
            waiting = []
        return waiting

    def _same_condition(self, number: int) -> list[Field]:
        """Return the fields from `number` on that have the same condition and can be read inside one `if`."""
        condition, model = self.type.seq[number].condition, self.type.root.model
        if condition is None or not self.foreign or not self.joins_optional or self.counts:
            return []
        # A condition that depends on the position in the stream may change from field to field.
        if not {"_io", *(model.moving or ()), *model.drifting}.isdisjoint(words(condition)):
            return []
        same = itertools.takewhile(
            lambda one: one.condition == condition and bit_order(one.value_kind) is None, self.type.seq[number:]
        )
        return list(same)

    def _read_optional(self, fields: list[Field]) -> None:
        """Emit statements that read consecutive fields with the same condition, in one `if`.

        Raises `UnsupportedError` with the field that is not supported.
        """
        self.met, waiting = fields[0].condition, list[Field]()
        assert self.met is not None
        with self.lines.block(f"if {self.code(self.met)}:"):
            for field in fields:
                try:
                    waiting = self._after(waiting, field)
                except UnsupportedError as error:
                    raise error.within(field.where) from None
            self.run(waiting)
        self.met = None
        with self.lines.block("else:"):
            for field in fields:
                self.lines.add(f"{self.local(field)} = None")
            self.keep(fields)

    def _joins(self, waiting: list[Field], field: Field) -> bool:
        """Return whether a field can be read with those that are `waiting`: numbers, or bits, of the same order."""
        if not waiting or len(waiting) >= MOST_AT_ONCE or not self.fixed(field):
            return False
        match waiting[-1].value_kind, field.value_kind:
            case Bits(big=order), Bits(big=other):
                return order == other
            case (Bits(), _) | (_, Bits()):
                return False
        orders = {byte_order(one.value_kind) for one in [*waiting, field]} - {None}
        return len(orders) <= 1

    def fixed(self, field: Field) -> bool:
        """Return whether a field has one size, and no condition that was not tested before."""
        if field.repeat or field.condition != self.met or "terminator" in field.raw or "contents" in field.raw:
            return False
        kind = field.value_kind
        if isinstance(kind, (Integer, SimpleKind)) and kind.size and field.size is None:
            return True
        return isinstance(kind, Bits) or fixed_bytes(field)

    def run(self, fields: list[Field]) -> None:
        """Emit statements that read consecutive fields of fixed sizes at once: bits of one number, or one `_unpack`."""
        if not fields:
            return
        variables = [self.local(one) for one in fields]
        if isinstance(fields[0].value_kind, Bits):
            self.read |= {one.id for one in fields}
            self._read_bits(list(zip(fields, variables, strict=True)))
            self.keep(fields)
        elif len(fields) == 1 and not fixed_bytes(fields[0]):
            self.read_single(fields[0])
        else:
            self._unpack(fields, variables)

    def _unpack(self, fields: list[Field], variables: list[str]) -> None:
        """Emit one check that the bytes of all fields are there, and one call that unpacks them into `variables`.

        For `u4` and `u2`: `if end - at < 6: raise short((("size", 4), ("kind", 6),), at, end, 6)`, then
        `size, kind = _unpack0(view, at)` and `at += 6`.
        """
        lines = self.lines
        ends = list(itertools.accumulate(map(stored_size, fields)))  # by field, the bytes of it and of those before
        total = ends[-1]
        with lines.block(f"if end - at < {total}:"):
            table = ", ".join(f"({self.path(one)}, {stop})" for one, stop in zip(fields, ends, strict=True))
            lines.add(f"raise short(({table},), at, end, {total})")
        if total > LONG_ROW:
            self.charge(str(total), self.path(fields[0]))
        if len(fields) == 1:
            lines.add(f"{variables[0]} = view[at : at + {total}]")
        else:
            kinds = [one.value_kind for one in fields]
            lines.add(f"{', '.join(variables)} = {self.unpacker(struct_format(kinds, fields), kinds)}(view, at)")
        lines.add(f"at += {total}")
        self.align()
        self.bounded = ""
        # Only the last field of a run can have a rule (`valid`): `_after` ends the run there.
        last = fields[-1]
        self.read |= {one.id for one in fields}
        self.keep(fields)
        if "valid" in last.raw:
            self.check(last, variables[-1], self.path(last), f"at - {stored_size(last)}")

    def check(self, field: Field, into: str, path: str, start: str, stop: str = "") -> None:
        """Emit the check of a value, whose rule may name the field itself."""
        self.read.add(field.id)
        super().check(field, into, path, start, stop)

    def keep(self, fields: list[Field]) -> None:
        """Emit statements that store variables in the structure, `value.size = size`; a scalar has no structure."""
        if self.type.scalar is None:
            self.lines.add(*(f"value.{safe(one.id)} = {self.named_value(one, self.local(one))}" for one in fields))

    def read_single(self, field: Field) -> None:
        """Emit statements that read one field and keep it in the structure: None if its condition (`if`) is not met."""
        into, lines = self.local(field), self.lines
        if field.repeat:  # its elements may refer to those before them
            self.read.add(field.id)
        if field.condition is None or field.condition == self.met:
            self.read_field(field, into)
        else:
            with lines.block(f"if {self.code(field.condition)}:"):
                self.read_field(field, into)
            with lines.block("else:"):
                lines.add(f"{into} = None")
        self.read.add(field.id)
        self.keep([field])

    def at_end(self, at: str, end: str) -> str:
        """Return the condition that a position is at the end of the stream, as code."""
        return f"bit % 8 == 0 and {at} >= {end}" if self.counts else super().at_end(at, end)

    def _asks_for_the_end(self) -> bool:
        """Return whether `eof` may be evaluated between bits: it is false while bits of the last byte are unread."""
        # Instances count as `eof`, as they may use it.
        asked = {"eof"} | {one.id for one in self.type.instances.values()}
        exprs = [expr for one in self.type.seq for expr in expressions(one)]
        # A list up to the end tests for it before each element, even where bits of a byte are unread (`unread_before`).
        repeats = any(
            one.repeat == "eos" and bit_order(one.value_kind) is None and unread_before(self.type)[number]
            for number, one in enumerate(self.type.seq)
        )
        return repeats or (
            any(bit_order(one.value_kind) is not None for one in self.type.seq)
            and any(not asked.isdisjoint(words(expr)) for expr in exprs)
        )

    def _bits_continue(self) -> bool:
        """Return whether bits may continue where others ended, because the fields between them may be empty."""
        bits = [bit_order(one.value_kind) is not None for one in self.type.seq]
        # A bit field after another kind of field, before which bits may be unread.
        return any(
            here and not last and unread_before(self.type)[number]
            for number, (last, here) in enumerate(itertools.pairwise(bits), 1)
        )

    def _read_loosely(self, number: int, field: Field) -> bool:
        """Return whether the bit field `number` is read by itself, not together with its run of bit fields.

        That is so if one field of the run is repeated, conditional or checked by a rule that uses the stream.
        """
        order = bit_order(field.value_kind)
        if number and order is not None and order == bit_order(self.type.seq[number - 1].value_kind):
            return self.loose  # as decided for the first field of the run
        self.loose: bool = False
        if order is None:
            return False
        if self.counts or self.traces:
            return True
        run = itertools.takewhile(lambda one: bit_order(one.value_kind) == order, self.type.seq[number:])
        return any(
            one.repeat
            or one.condition
            or not isinstance(one.value_kind, Bits)
            or ("valid" in one.raw and _uses_stream(one))
            for one in run
        )
