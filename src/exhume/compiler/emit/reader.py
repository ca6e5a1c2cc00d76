"""The function that reads one type, the type's reader: `read_entry(view, at, end, ...) -> (Entry, at)`.

Variables in the emitted code: `view` (bytes), `at` (current offset in them), `end` (end of the stream), `base` or
`io` (its start, or an object for it), `bit` (offset in bits), `value` (the object that is filled), `parent`, `root`,
`run` (budget of steps and memory of readers of third-party specifications, which `foreign` stands for), `big` (byte
order), `io.left` (unread bits of the last byte).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from exhume.compiler.emit.sequence import SequenceReader
from exhume.compiler.emit.shared import Module
from exhume.compiler.emit.text import ATOM, BINDS, annotation, class_names, kept_as, safe, strength, written_doc
from exhume.compiler.front import expressions as ex
from exhume.compiler.front.kinds import Structure
from exhume.compiler.front.model import Field, Type
from exhume.compiler.ir.fixed import (
    varint,
)
from exhume.compiler.ir.needs import HERE, inherits_order, is_position, keeps_order, keeps_run
from exhume.compiler.refusal import UnsupportedError


class Reader(SequenceReader):
    """Emits the function that reads one type.

    From the base classes: `traces` (parts read before an error are kept), `counts` (`bit` is always up to date),
    `sequence` emits the statements that read the fields, and `read` has the names of those read before.
    """

    def __init__(self, module: Module, type: Type) -> None:
        """Begin the reader of `type`, a function of `module`."""
        super().__init__(module, type)
        self.value = "value"  # the variable that the structure is in
        self.frozen: set[str] = set()  # instances with the current position whose value was kept
        self.running: list[str] = []  # instances whose expressions are being written, from the outermost

    def text(self) -> str:
        """Return the source of the reader.

        Raises `UnsupportedError` for an instance whose value is a position that no field uses while it is known.
        """
        type = self.type
        opening = self._opening()
        weigh = self.begin_run() if self.module.foreign else None
        if type.scalar is None:
            self._make_object()
        self._decide_order()
        if keeps_order(type):
            self.lines.add("value._big = big")
        if varint(type):
            self._groups()
        else:
            self._read_fields()
            self._return()
            if weigh is not None:
                weigh()  # the length of the code is known now
        return "\n".join([opening, *written_doc(self._about()), *self.lines.lines])

    def _opening(self) -> str:
        """Return the `def` line, such as `def read_entry(view: View, at: int, end: int, ...) -> tuple[Entry, int]:`.

        Its parameters are the bytes, what is around the structure, the budget, and the parameters of the type.
        """
        type, needs = self.type, self.needs
        given = ["view: View", "at: int", "end: int"]
        if needs.stream and self.foreign:
            given.append(f"io: {self.module.helper('Stream')} | None = None")
        elif needs.stream:
            given.append("base: int | None = None")
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
        return f"def {type.reader_name}({', '.join(given)}) -> tuple[{annotation(Structure(type))}, int]:"

    def _make_object(self) -> None:
        """Emit statements that make the object, and store in it what its instances need."""
        type, lines = self.type, self.lines
        lines.add(f"value = {self.maker() if self.foreign and not self.traces else type.class_name}()")
        lines.add(*self.unasked())
        if self.foreign:
            with lines.block("if io is None:"):
                lines.add(f"io = {self.module.helper('stream_of')}(view, at, end)")
        elif self.needs.stream:
            with lines.block("if base is None:"):
                lines.add("base = at")
        if self.needs.root and type.inside and type.parent is None:
            with lines.block("if root is None:"):
                lines.add("root = value")
        lines.add(*self.enclosing())
        lines.add(*(f"value.{safe(one.id)} = {self.named_value(one, self.local(one))}" for one in type.params))

    def _read_fields(self) -> None:
        """Emit statements that read the fields, and note the position for a structure that continues in this stream."""
        if self.foreign and not self.traces:
            with self.lines.block("try:"):
                self.sequence()
            with self.lines.block(f"except {self.module.helper('FAILURES')} as error:"):
                self.lines.add(f"raise {self.module.helper('failed')}(error, at, value)")
        else:
            self.sequence()
        if self.foreign and self.type.root.model.moving is not None:
            self.sync()
        elif self.counts and self.type.root.model.shares:
            self.lines.add("io.left = -bit % 8")

    def _return(self) -> None:
        """Emit the `return` of the structure and its end; of a type with `-scalar`, only that field or instance."""
        if self.type.scalar is not None:
            self.lines.add(f"return {self.code(ex.Name(str(self.type.scalar)))}, at")
            return
        for one in () if self.foreign else self.type.instances.values():
            if one.value is not None and is_position(one.value) and one.id not in self.frozen:
                raise UnsupportedError("its position is known only while reading, and nothing reads it then", one.where)
        self.lines.add("return value, at")

    def maker(self) -> str:
        """Return the name of the function that makes an empty object, such as `make_entry`.

        The call takes half of the time of `Entry._make()`.
        """
        return self.type.reader_name.replace("read_", "make_", 1)

    def unasked(self) -> Iterator[str]:
        """Yield the statement that marks instances as not requested yet: `value._total = value._name = ...`."""
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
            cases = {key: order for key, order in decides["cases"].items() if key != "_"}
            for number, (key, order) in enumerate(cases.items()):
                word = "elif" if number else "if"
                with lines.block(f"{word} on == {self._code(ex.parse(key), BINDS['<'] + 1)}:"):
                    lines.add(f"big = {order == 'be'}")
            with lines.block("else:" if cases else "if True:"):
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
        """Return code and precedence of a field: a variable if it was read here, or a computed instance's expression.

        Raises `UnsupportedError` for one that is used before it is read.
        """
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
        """Emit statements that read a variable-length integer byte by byte, and return after its last byte.

        For each byte: `b0 = view[at]`, and `if b0 < 0x80: return b0, at + 1`.
        """
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
