"""The function that reads one type, the type's reader: `read_entry(view, at, end, ...) -> (Entry, at)`.

Variables in the emitted code: `view` (bytes), `at` (current offset in them), `end` (end of the stream), `base` or
`io` (its start, or an object for it), `bit` (offset in bits), `value` (the object that is filled), `parent`, `root`,
`run` (budget of steps and memory of readers of third-party specifications, which `foreign` stands for), `big` (byte
order), `io.left` (unread bits of the last byte). Consecutive fields of fixed sizes are a run: one call reads them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

from exhume.compiler.emit.shared import Module
from exhume.compiler.emit.statements import Statements
from exhume.compiler.emit.text import ATOM, BINDS, annotation, class_names, kept_as, safe, strength, written_doc
from exhume.compiler.front import expressions as ex
from exhume.compiler.front.kinds import Bits, Integer, SimpleKind, Structure
from exhume.compiler.front.model import Field, Type
from exhume.compiler.ir.fixed import (
    bit_order,
    byte_order,
    fixed_bytes,
    leaves_bits,
    stored_size,
    struct_format,
    varint,
)
from exhume.compiler.ir.needs import HERE, expressions, inherits_order, is_position, keeps_order, keeps_run, words
from exhume.compiler.ir.packed import LONG
from exhume.compiler.refusal import UnsupportedError

MOST_AT_ONCE = 100
"""Most fields of fixed sizes that are read by one call."""


def _looks(field: Field) -> bool:
    """Return whether an expression that belongs to a field uses the stream."""
    return any("_io" in words(one) for one in expressions(field))


class Reader(Statements):
    """Emits the function that reads one type.

    From `Code`: `counts` (`bit` is always up to date), `loose` (`bit` is, because single bit fields are being read),
    `traces` (parts read before an error are kept), `bounded` (code of a size that was found to fit the stream).
    """

    joins_optional = True
    """Whether fields that follow each other and are there on the same condition are read together."""

    def __init__(self, module: Module, type: Type) -> None:
        """Begin the reader of `type`, a function of `module`."""
        super().__init__(module, type)
        self.value = "value"  # the variable that the structure is in
        self.met: ex.Expr | None = None  # the condition (`if`) that the code before has tested, and that is met here
        self.read: set[str] = set()  # fields that were read before
        self.frozen: set[str] = set()  # instances with the current position whose value was kept
        self.running: list[str] = []  # instances whose expressions are being written, from the outermost

    def text(self) -> str:  # noqa: C901 - the parts of a reader in the order in which they are written
        """Return the source of the reader.

        Raises `UnsupportedError` for an instance whose value is a position that no field uses while it is known.
        """
        type, needs, lines = self.type, self.needs, self.lines
        scalar = type.scalar is not None
        cls = annotation(Structure(type))
        # Arguments: the bytes, what is around the structure, the budget, and the type's parameters.
        given = ["view: View", "at: int", "end: int"]
        if needs.stream:
            given.append(
                f"io: {self.module.helper('Stream')} | None = None" if self.foreign else "base: int | None = None"
            )
        if needs.parent:
            given.append(f"parent: {' | '.join(class_names(type.parents)) or 'object'} | None = None")
        if needs.root and type.inside:
            given.append(f"root: {type.root.class_name} | None = None")
        if inherits_order(type):
            given.append("big: bool = False")
        if self.module.foreign:
            given.append("run: Run | None = None")
            self.module.helper("Run")
        given += [f"{self.local(one)}: {self.module.annotation(one.kind)}" for one in type.params]
        if type.params:  # parameters have no default, so no argument before them may have one
            given = [one.replace(" | None = None", " | None").replace(" = False", "") for one in given]
        opening = f"def {type.reader_name}({', '.join(given)}) -> tuple[{cls}, int]:"
        weigh = self.begin_run() if self.module.foreign else None
        # Make the object and store what its instances need.
        if not scalar:
            lines.add(f"value = {self.maker() if self.foreign and not self.traces else type.class_name}()")
            lines.add(*self.unasked())
            if self.foreign:
                with lines.block("if io is None:"):
                    lines.add(f"io = {self.module.helper('stream_of')}(view, at, end)")
            elif needs.stream:
                with lines.block("if base is None:"):
                    lines.add("base = at")
            if needs.root and type.inside and type.parent is None:
                with lines.block("if root is None:"):
                    lines.add("root = value")
            lines.add(*self.enclosing())
            lines.add(*(f"value.{safe(one.id)} = {self.named_value(one, self.local(one))}" for one in type.params))
        # Read the fields.
        self._decide_order()
        if keeps_order(type):
            lines.add("value._big = big")
        if varint(type):
            self._groups()
            return "\n".join([opening, *written_doc(self._about()), *lines.lines])
        if self.foreign and not self.traces:
            with lines.block("try:"):
                self.sequence()
            with lines.block(f"except {self.module.helper('FAILURES')} as error:"):
                lines.add(f"raise {self.module.helper('failed')}(error, at, value)")
        else:
            self.sequence()
        # Note the position for a structure that continues in this stream, and return.
        if self.foreign and type.root.model.moving is not None:
            self.sync()
        elif self.counts and type.root.model.shares:
            lines.add("io.left = -bit % 8")
        # A type with `-scalar` is read as the value of that one field or instance.
        if scalar:
            lines.add(f"return {self.code(ex.Name(str(type.scalar)))}, at")
        else:
            placed = () if self.foreign else type.instances.values()
            for one in placed:  # positions that nothing requested while reading
                if one.value is not None and is_position(one.value) and one.id not in self.frozen:
                    raise UnsupportedError(
                        "its position is known only while reading, and nothing reads it then", one.where
                    )
            lines.add("return value, at")
        if weigh is not None:
            weigh()  # the length of the code is known now
        return "\n".join([opening, *written_doc(self._about()), *lines.lines])

    def maker(self) -> str:
        """Return the name of the function that makes an empty object; it is a global name, as that halves the time."""
        return self.type.reader_name.replace("read_", "make_", 1)

    def unasked(self) -> Iterator[str]:
        """Yield statements that mark instances as not requested yet."""
        if self.foreign and self.type.instances and not self.traces:
            yield f"{' = '.join(f'{self.value}.{kept_as(one)}' for one in self.type.instances.values())} = ..."

    def enclosing(self, parent: str = "parent") -> Iterator[str]:
        """Yield statements that store the budget, stream, parent and root in the object, as its type needs them."""
        if keeps_run(self.type):
            yield f"{self.value}._run = run"
        if self.needs.keeps_stream:
            yield f"{self.value}._io = {self.above('_io')}"
        if self.needs.keeps_parent:
            yield f"{self.value}._parent = {parent}"
        if self.needs.keeps_root and self.type.inside:
            yield f"{self.value}._root = root"

    def begin_run(self) -> Callable[[], None]:
        """Emit statements that create the budget `run` if the caller gave none, and charge a step; see `step`."""
        with self.lines.block("if run is None:"):
            self.lines.add("run = Run(end - at)")
        return self.step(least=1 + self.traces * len(self.type.seq))  # a note on a field is a step

    def _decide_order(self) -> None:
        """Emit statements that determine the byte order from the data, and put it into `big`."""
        decides, lines = self.type.decides, self.lines
        # `decides`: the switch of `meta: endian`, an expression and its cases.
        if decides is not None:
            try:
                lines.add(f"on = {self.code(ex.parse(decides['switch-on']))}")
            except UnsupportedError as error:
                raise error.within(f"{self.type.where}: meta: endian") from None
            word = "if"
            for key, order in decides["cases"].items():
                if key != "_":
                    with lines.block(f"{word} on == {self._code(ex.parse(key), BINDS['<'] + 1)}:"):
                        lines.add(f"big = {order == 'be'}")
                    word = "elif"
            with lines.block("else:" if word == "elif" else "if True:"):
                if "_" in decides["cases"]:
                    lines.add(f"big = {decides['cases']['_'] == 'be'}")
                else:
                    lines.add('raise LayoutError("", at, at, "a byte order", on)')

    def _about(self) -> str:
        """Return the doc string of the reader."""
        what = f": its {self.type.scalar}" if self.type.scalar else ""
        return f"`{self.type.where}` at `at`{what}, and where it ends.  Raises `LayoutError`."

    def above(self, name: str) -> str:
        """Return the Python code for `_self`, `_root`, `_parent` or `_io` inside a reader."""
        if name == "_self":
            return "value"
        if name == "_root":
            return "root" if self.type.inside else "value"
        return "parent" if name == "_parent" else "io" if self.foreign else "(view, base, end)"

    def named(self, field: Field) -> tuple[str, int]:
        """A field as Python. Raises `UnsupportedError` for one that is used before it is read."""
        if not field.instance:
            if not field.parameter and field.id not in self.read:
                raise UnsupportedError(f"{field.id} is used before it is read")
            return self.local(field), ATOM
        if field.value is None or field.id in self.running or field.id in (self.type.root.model.moving or ()):
            return f"value.{safe(field.id)}", ATOM
        if is_position(field.value):
            if field.value != HERE:
                raise UnsupportedError("an expression over a position is not supported", field.where)
            if field.id not in self.frozen:
                self.frozen.add(field.id)
                self.lines.add(f"{self.local(field)} = value.{safe(field.id)} = at - base")
            return self.local(field), ATOM
        # The expression of a computed instance is written in place of its name; `running` ends a cycle.
        self.running.append(field.id)
        value = field.value if field.condition is None else ex.Choice(field.condition, field.value, ex.Literal(None))
        code = self.code(value)
        self.running.pop()
        return code, strength(value)

    def _groups(self) -> None:
        """Emit statements that read a variable-length integer byte by byte, and return after its last byte."""
        lines = self.lines
        for number, step in enumerate(varint(self.type)):
            place = f"at + {number}" if number else "at"
            group, path = self.local(step.field), self.path(step.field)
            with lines.block(f"if {place} >= end:"):
                lines.add(f"raise short({path}, {place}, end, 1)")
            lines.add(f"{group} = view[{place}]")
            self.read.add(step.field.id)
            if "valid" in step.field.raw:
                self.check(step.field, group, path, place, f"at + {number + 1}")
            if step.last is None:
                lines.add(f"return {self.code(step.value)}, at + {number + 1}")
            else:
                with lines.block(f"if {self.code(step.last)}:"):
                    lines.add(f"return {self.code(step.value)}, at + {number + 1}")

    def sequence(self) -> bool:
        """Emit statements that read all fields in sequence, runs of fixed sizes at once.

        Raises `UnsupportedError` with the field that is not supported.
        """
        # `waiting` has fields of fixed size that will be read by one call (`run` emits it).
        waiting: list[Field] = []
        shares = self.type.root.model.shares
        self.counts: bool = shares or (self.foreign and (self._asks_for_the_end() or self._bits_continue()))
        if self.counts:
            self.lines.add("bit = at * 8 - io.left" if shares else "bit = at * 8")
        together = 0  # fields before it share a condition and were read in one `if`
        for number, field in enumerate(self.type.seq):
            if number < together:
                continue
            try:
                if len(optional := self._same_condition(number)) > 1:
                    together = number + len(optional)
                    self.run(waiting)
                    waiting, self.loose = [], False
                    self._read_optional(optional)
                    continue
                if self.module.foreign and self._read_loosely(number, field):
                    self.run(waiting)
                    waiting = []
                    if not self.loose:
                        self.loose = True
                        if not self.counts:
                            self.lines.add("bit = at * 8")
                    self.read_single(field)
                    continue
                self.loose = False
                waiting = self._after(waiting, field)
            except UnsupportedError as error:
                raise error.within(field.where) from None
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
        elif "valid" in field.raw and not isinstance(field.one, Bits):
            self.run(waiting)
            waiting = []
        return waiting

    def _same_condition(self, number: int) -> list[Field]:
        """Return the fields from `number` on that have the same condition and can be read inside one `if`."""
        condition, model = self.type.seq[number].condition, self.type.root.model
        if condition is None or not self.foreign or not self.joins_optional or self.counts:
            return []
        if not {"_io", *(model.moving or ()), *model.drifting}.isdisjoint(words(condition)):
            return []
        same = itertools.takewhile(
            lambda one: one.condition == condition and bit_order(one.one) is None, self.type.seq[number:]
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

    def _asks_for_the_end(self) -> bool:
        """Return whether `eof` may be evaluated between bits: it is false while bits of the last byte are unread."""
        # Instances count as `eof`, as they may use it.
        asked = {"eof"} | {one.id for one in self.type.instances.values()}
        exprs = [expr for one in self.type.seq for expr in expressions(one)]
        repeats = any(
            one.repeat == "eos" and bit_order(one.one) is None and leaves_bits(self.type.seq[:number])
            for number, one in enumerate(self.type.seq)
        )
        return repeats or (
            any(bit_order(one.one) is not None for one in self.type.seq)
            and any(not asked.isdisjoint(words(expr)) for expr in exprs)
        )

    def _bits_continue(self) -> bool:
        """Return whether bits may continue where others ended, because the fields between them may be empty."""
        bits = [bit_order(one.one) is not None for one in self.type.seq]
        return any(
            here and not last and leaves_bits(self.type.seq[:number])
            for number, (last, here) in enumerate(itertools.pairwise(bits), 1)
        )

    def at_end(self, at: str, end: str) -> str:
        """Return the condition that a position is at the end of the stream, as code."""
        return f"bit % 8 == 0 and {at} >= {end}" if self.counts else super().at_end(at, end)

    def _read_loosely(self, number: int, field: Field) -> bool:
        """Return whether the bit field `number` is read by itself, not together with its run of bit fields.

        That is so if one field of the run is repeated, conditional or checked by a rule that uses it.
        """
        here, last = bit_order(field.one), bit_order(self.type.seq[number - 1].one) if number else None
        if here is not None and here == last:
            return self.loose  # as decided for the first field of the run
        self.loose: bool = False
        if here is not None and (self.counts or self.traces):
            return True
        run = itertools.takewhile(lambda one: bit_order(one.one) == here, self.type.seq[number:])
        if here is not None:
            return any(
                one.repeat or one.condition or not isinstance(one.one, Bits) or ("valid" in one.raw and _looks(one))
                for one in run
            )
        return False

    def fixed(self, field: Field) -> bool:
        """Return whether a field has one size, and no condition that was not tested before."""
        if field.repeat or field.condition != self.met or "terminator" in field.raw or "contents" in field.raw:
            return False
        kind = field.one
        if isinstance(kind, (Integer, SimpleKind)) and kind.size and field.size is None:
            return True
        return isinstance(kind, Bits) or fixed_bytes(field)

    def _joins(self, waiting: list[Field], field: Field) -> bool:
        """Return whether a field can be read with those that are `waiting`: numbers, or bits, of the same order."""
        if not waiting or len(waiting) >= MOST_AT_ONCE or not self.fixed(field):
            return False
        last, kind = waiting[-1].one, field.one
        if isinstance(last, Bits) or isinstance(kind, Bits):
            return isinstance(last, Bits) and isinstance(kind, Bits) and last.big == kind.big
        orders = {byte_order(one.one) for one in [*waiting, field]} - {None}
        return len(orders) <= 1

    def run(self, fields: list[Field]) -> None:
        """Emit statements that read consecutive fields of fixed sizes at once."""
        if not fields:
            return
        lines = self.lines
        into = [self.local(one) for one in fields]
        if isinstance(fields[0].one, Bits):
            self.read |= {one.id for one in fields}
            self._read_bits(list(zip(fields, into, strict=True)))
            self.keep(fields)
            return
        if len(fields) == 1 and not fixed_bytes(fields[0]):
            self.read_single(fields[0])
            return
        # One check for the size of all fields, then one call that unpacks them.
        sizes = [stored_size(one) for one in fields]
        total, ends = sum(sizes), [sum(sizes[: i + 1]) for i in range(len(sizes))]
        with lines.block(f"if end - at < {total}:"):
            table = ", ".join(f"({self.path(one)}, {stop})" for one, stop in zip(fields, ends, strict=True))
            lines.add(f"raise short(({table},), at, end, {total})")
        if total > LONG:
            self.charge(str(total), self.path(fields[0]))
        if len(fields) == 1:
            lines.add(f"{into[0]} = view[at : at + {total}]")
        else:
            kinds = [one.one for one in fields]
            constant = self.unpacker(struct_format(kinds, fields), kinds)
            lines.add(f"{', '.join(into)} = {constant}(view, at)")
        lines.add(f"at += {total}")
        self.align()
        self.bounded = ""
        # Only the last field of a run can have a rule (`valid`): `_after` ends the run there.
        last = fields[-1]
        self.read |= {one.id for one in fields}
        self.keep(fields)
        if "valid" in last.raw:
            self.check(last, into[-1], self.path(last), f"at - {sizes[-1]}")

    def check(self, field: Field, into: str, path: str, start: str, stop: str = "") -> None:
        """Emit the check of a value, whose rule may name the field itself."""
        self.read.add(field.id)
        super().check(field, into, path, start, stop)

    def keep(self, fields: list[Field]) -> None:
        """Emit statements that store variables in the structure; a scalar has none."""
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
