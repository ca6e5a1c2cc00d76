"""The class of one type: slots for its fields, properties for its instances.

An instance is a value that is not part of the sequence of fields: it is computed, or read at a position of its own
(`pos`), when it is first requested. Its property keeps the value in a slot (`kept_as`). `foreign` modules are those
of third-party specifications.
"""

from __future__ import annotations

from exhume.compiler.emit.shared import import_lines
from exhume.compiler.emit.statements import Statements
from exhume.compiler.emit.text import ATOM, BINDS, Lines, kept_as, literal, member, safe, written_doc
from exhume.compiler.front import expressions as ex
from exhume.compiler.front.kinds import Bits, Structure, Switch, structures
from exhume.compiler.front.model import Field, Type
from exhume.compiler.ir.bits import bit_order
from exhume.compiler.ir.needs import is_position, keeps_order, keeps_run, without_rest
from exhume.compiler.refusal import UnsupportedError


class ClassEmitter(Statements):
    """Emits the class of one type: slots for fields, properties for instances.

    From the base classes: `local` is the variable of a field, `path` the code of its path in errors, `read_field` reads
    it, `named_value` is its value as users see it; `align` moves `bit` to the byte at `at`; `loose`: bits are read one
    field at a time; `traces`: the class is for `explain`.
    """

    counts: bool
    """Whether `bit` is kept up to date, as structures may begin within a byte; only true while an instance is read."""

    base = ""
    """Base classes of the class, in parentheses."""

    more_slots: tuple[str, ...] = ()
    """Slots in addition to those of fields, instances, and what instances need."""

    def named(self, field: Field) -> tuple[str, int]:
        """Return a field as Python code, which is an attribute here, and the precedence of that code."""
        return f"self.{safe(field.id)}", ATOM

    def kept(self, field: Field) -> str:
        """Return the attribute that stores the value of an instance."""
        return f"self.{kept_as(field)}"

    placed: bool = True
    """Whether the variables `at` and `end` are those of the structure's stream; else only `self._io` has them."""

    def place(self) -> tuple[str, str]:
        """Return position and end of the stream of the structure, as code."""
        return super().place() if self.placed else ("self._io.at", "self._io.end")

    def begin(self) -> str:
        """Return the start of the stream of the structure, as code."""
        return super().begin() if self.placed else "self._io.base"

    elsewhere: bool = False
    """Whether the instance being read states a stream (`io`), which need not be that of the structure."""

    def sync(self) -> bool:
        """Emit statements that set the position of the stream object; return whether it is the structure's own."""
        if self.elsewhere:
            super().sync()
            return False  # the stream may not be that of the structure
        return self.placed and super().sync()

    def at_end(self, at: str, end: str) -> str:
        """Return the condition that a position is at the end; bits that are left in a byte count as before the end.

        With `elsewhere`, expressions still mean the structure's own stream: only its object has the number of unread
        bits of its last byte (`_io.left`), while `bit` belongs to the stream that is being read.
        """
        left = ""
        if self.elsewhere:
            left = "not self._io.left and " if self.counts else ""
        elif self.placed and (self.counts or self.loose):
            left = "bit % 8 == 0 and "
        elif not self.placed and self.type.root.model.shares:
            left = "not self._io.left and "
        return f"{left}{super().at_end(at, end)}"

    strays = True  # `pos` may be past the end of the stream

    def above(self, name: str) -> str:
        """Return the Python code for `_self`, `_root`, `_parent` or `_io` inside a property."""
        if name == "_self":
            return "self"
        if name == "_root":
            return "self._root" if self.type.inside else "self"
        if name == "_parent":
            return "self._parent"
        return "self._io"

    def text(self) -> str:
        """Return the source of the class.  Raises `UnsupportedError` when two fields get one name."""
        type = self.type
        # Instances whose value is the current position: their readers set them, because later it is not known.  The
        # streams of foreign specifications are objects that have the position, so there they are computed on access.
        positions = [one for one in type.instances.values() if one.value is not None and is_position(one.value)]
        stored = [*type.params, *type.seq, *([] if self.foreign else positions)]
        slots = self._slots(stored)
        out = [f"class {type.class_name}{self._bases()}:", *written_doc(type.doc or type.where)]
        out.append(f"    __slots__ = ({', '.join(map(repr, slots))}{',' if len(slots) == 1 else ''})")
        for one in stored:
            optional = " | None" if one.condition is not None else ""
            out.append(f"    {safe(one.id)}: {self.module.annotation(one.kind)}{optional}")
            out += written_doc(one.doc) if one.doc else []
        if self.needs.keeps_stream and self.foreign:
            out.append(f"    _io: {self.module.helper('Stream')}")
        elif self.needs.keeps_stream:
            out += ["    _io: tuple[View, int, int]", *self._extent()]
        if self.foreign:
            names = "".join(f"{safe(one.id)!r}, " for one in (*type.params, *type.seq))
            out += [f"    _fields = ({names})", *self._enums()]
        # An instance `property` comes last, as it hides the decorator.
        for one in sorted(type.instances.values(), key=lambda one: one.id == "property"):
            if one not in stored:
                out += ["", *self._property(one)]
        if "to-string" in type.raw:
            run = ["        run = self._run"] if self.foreign else []
            out += ["", "    def __str__(self) -> str:", *run, f"        return {self._text_of(type)}"]
        return "\n".join(out)

    def _slots(self, stored: list[Field]) -> list[str]:
        """Return the slots: of `stored` fields, of the values of instances, and of what instances need to be read."""
        type, needs = self.type, self.needs
        slots = [safe(one.id) for one in stored]
        slots += [kept_as(one) for one in type.instances.values() if one not in stored]
        for name, is_kept in (
            ("_io", needs.keeps_stream),
            ("_parent", needs.keeps_parent),
            ("_root", needs.keeps_root and type.inside),
            ("_big", keeps_order(type)),
            ("_run", keeps_run(type)),
        ):
            slots += [name] if is_kept else []
        slots += self.more_slots
        if len(set(slots)) < len(slots):
            raise UnsupportedError("two fields have the same name in Python", type.where)
        return slots

    def _bases(self) -> str:
        """Return the base classes in parentheses; empty without any."""
        if self.module.untraced is not None:
            # A traced class (of `explain`) inherits from the fast one: its values may be used in place of those.
            with self.module.plain():
                more = self.module.name_of(self.type, self.type.class_name)
        elif self.foreign:
            more = self.module.helper("Structure")
        else:
            return self.base
        return self.base.replace(")", f", {more})") if self.base or self.module.untraced is not None else f"({more})"

    def _extent(self) -> list[str]:
        """Return the property `extent` of exhume's own readers; nothing if a field or instance has this name."""
        if any(one.id == "extent" for one in (*self.type.params, *self.type.fields())):
            return []
        return [
            "",
            "    @property",
            "    def extent(self) -> tuple[int, int]:",
            '        """Where its stream starts and ends in the view."""',
            "        return self._io[1], self._io[2]",
        ]

    def _enums(self) -> list[str]:
        """Return the enums of the type as classes within it."""
        out = []
        for enum in self.type.enums.values() if not self.traces else ():
            self.module.enums = True
            out += ["", f"    class {enum.class_name}(_IntEnum):"]
            out += [f"        {member(name)} = {literal(number)}" for number, name in enum.values.items()] or [
                "        pass"
            ]
        return out

    def _text_of(self, type: Type) -> str:
        """Return the code of the result of `to-string`."""
        self.lines, self.placed = Lines(), False
        return self.code(ex.parse(type.raw["to-string"]))

    def _property(self, field: Field) -> list[str]:
        """Return the lines of the property of one instance, which is read or computed at its first use, and then kept.

        The property returns the slot if it is set, else it fills the slot first. The value is None if the condition
        (`if`) is not met. In `foreign` modules, `_failing` writes the body: it checks each step and adds paths to
        errors.
        """
        lines = Lines()
        self.lines: Lines = lines
        lines.depth = 2
        optional = " | None" if field.condition is not None else ""
        out = ["    @property", f"    def {safe(field.id)}(self) -> {self.module.annotation(field.kind)}{optional}:"]
        out += ["    " + line for line in written_doc(field.doc)] if field.doc else []
        kept = f"self.{kept_as(field)}"
        try:
            # Readers put an ellipsis there, because an error for what is not there takes five times as long.
            with lines.block("try:"):
                lines.add(*([f"if {kept} is not ...:", f"    return {kept}"] if self.foreign else [f"return {kept}"]))
            with lines.block("except AttributeError:"):
                lines.add("pass")
            # Modules that the expressions need are noted in `waiting`, and imported at line `here`.
            here, self.module.waiting = len(lines.lines), {}
            self.placed = not self.foreign
            if self.foreign:
                lines.add("run = self._run")
                weigh = self.step("0", self.path(field))
                self._failing(field, kept)
                weigh()  # raises the charge of the step by the length of the code
            else:
                self._unchecked(field, kept)
            lines.lines[here:here] = ["        " + line for line in import_lines(self.module.waiting)]
        except UnsupportedError as error:
            raise error.within(field.where) from None
        finally:
            self.module.waiting = None
        return out + lines.lines

    def _unchecked(self, field: Field, kept: str) -> None:
        """Emit the body of an instance's property in exhume's own readers, which raises errors as they come.

        `kept` is the attribute of its value: `self._total = self.size * self.count` and `return self._total`.
        """
        lines = self.lines
        # The place of the structure in the data, to read it, and for expressions about the stream.
        exprs = [one for one in (field.condition, field.value) if one is not None]
        if field.value is None or any("_io" in ex.names(one) for one in exprs):
            lines.add("view, base, end = self._io")
        if field.value is None and keeps_order(self.type):
            lines.add("big = self._big")
        if field.condition is not None:
            with lines.block(f"if not ({self.code(field.condition)}):"):
                lines.add(f"{kept} = None", "return None")
        if field.value is not None:
            lines.add(f"{kept} = {self.code(field.value)}")
        else:
            self.read_instance(field)
            lines.add(f"{kept} = {self.local(field)}")
        lines.add(f"return {kept}")

    def _failing(self, field: Field, kept: str) -> None:
        """Emit the body of an instance's property in `foreign` modules; its errors have the field's path.

        `kept` is the attribute that keeps the value, such as `self._size_`.
        """
        lines, found = self.lines, kept
        if field.value is None:
            lines.add("io = self._io", "at = io.at")
        with lines.block("try:"):
            if field.condition is not None:
                with lines.block(f"if not ({self.code(field.condition)}):"):
                    lines.add(f"{kept} = None", "return None")
            if field.value is not None:
                lines.add(f"{kept} = {self.named_value(field, self.code(field.value))}")
            else:
                self.read_elsewhere(field)
                found = self.named_value(field, self.local(field))
                lines.add(f"{kept} = {found}")
        with lines.block(f"except {self.module.helper('FAILURES')} as why:"):
            at = "at" if field.value is None else "self._io.base"
            lines.add(f"error = {self.module.helper('failed')}(why, {at})")
            with lines.block("if not error.path:"):
                lines.add(f"error.path = {self.path(field)}")
            lines.add("raise error")
        lines.add(f"return {found if found.isidentifier() else kept}")  # a variable is there sooner than an attribute

    def read_elsewhere(self, field: Field) -> None:
        """Emit statements that read an instance from its position in its stream, in `foreign` modules.

        `resume` is the position of the stream before, to which it returns if a specification uses positions
        (`moving`).
        """
        lines, moving = self.lines, self.type.root.model.moving is not None
        # Find the stream, and the position in it.
        stream, position = field.expr("io"), field.expr("pos")
        if stream is not None:
            lines.add(f"io = {self.code(stream)}")
            if position is None:
                lines.add("at = io.at")
        lines.add("view, end = io.view, io.end")
        if position is not None:
            if moving:
                lines.add("resume = io.at")
            lines.add(f"at = io.base + {self._code(without_rest(position), BINDS['+'])}")
            if _may_be_negative(position):
                with lines.block("if at < io.base:"):
                    found = "at - io.base"
                    lines.add(f'raise LayoutError("{field.id}", io.base, end, "a position in the stream", {found})')
        # Read the field there.
        self.placed, self.elsewhere = stream is None, stream is not None
        if keeps_order(self.type):
            lines.add("big = self._big")
        self._begin_bits(field, begins=position is not None)
        self.read_field(field, self.local(field))
        if not moving and lines.lines[-1].startswith(f"{'    ' * lines.depth}at += "):
            lines.lines.pop()  # nothing uses the position after the instance
        if self.counts:
            lines.add("io.left = -bit % 8" if position is None else "io.left = 0")
        self.loose = self.counts = False
        if moving:
            lines.add("io.at = resume" if position is not None else "io.at = at")
        self.placed = self.elsewhere = False

    def _begin_bits(self, field: Field, *, begins: bool) -> None:
        """Emit the first bit of an instance: that of a byte if it `begins` at a position, else the next unread one."""
        self.counts = self.type.root.model.shares
        alone = isinstance(field.value_kind, Bits) and not field.repeat and "valid" not in field.raw
        if bit_order(field.value_kind) is not None and not (alone and (begins or not self.counts)):
            self.loose = True
        if self.counts:
            self.lines.add(*(["io.left = 0", "bit = at * 8"] if begins else ["bit = at * 8 - io.left"]))
        else:
            self.align()

    def read_instance(self, field: Field) -> None:
        """Emit statements that read an instance at its position. Raises `UnsupportedError` for one without `pos`."""
        lines = self.lines
        stream = field.expr("io")
        position = field.expr("pos")
        if (
            position is None
            and isinstance(field.value_kind, (Structure, Switch))
            and not any(one.type.seq for one in structures(field.value_kind))
        ):
            position = ex.Literal(0)  # it reads nothing, wherever that is
        if position is None:
            raise UnsupportedError("an instance without `pos` is not supported")
        if stream is not None:
            # `_io` in `pos` is the structure's own stream: the position is computed before `end` and `base` change. The
            # name `_at` then stands for the variable `at`.
            if "_io" in ex.names(position):
                lines.add(f"at = {self.code(position)}")
                position = ex.Name("_at")
            lines.add(f"view, base, end = {self.code(stream)}")
        into = self.local(field)
        place = "at" if position == ex.Name("_at") else self._code(without_rest(position), BINDS["+"])
        lines.add(f"at = base + {place}")
        if _may_be_negative(position):
            with lines.block("if at < base:"):
                lines.add(f'raise LayoutError("{field.id}", base, end, "a position in the stream", at - base)')
        if field.repeat and self.module.foreign and bit_order(field.value_kind) is not None:
            self.loose = True
            lines.add("bit = at * 8")
        self.read_field(field, into)
        self.loose: bool = False


def _may_be_negative(position: ex.Expr) -> bool:
    """Return whether a position may be before the start of its stream: constants of at least 0 are not."""
    return not (isinstance(position, ex.Literal) and position.value >= 0)
