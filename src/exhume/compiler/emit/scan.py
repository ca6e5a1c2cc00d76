"""The reading of one element of a repeated structure into columns, with the structures within it in place."""

from __future__ import annotations

from exhume.compiler.emit.code import Module
from exhume.compiler.emit.reader import Reader
from exhume.compiler.emit.text import ATOM, CODES
from exhume.compiler.fixed import Numbers, ends_with_a_byte, fixed_bytes, numbers_of
from exhume.compiler.front import expressions as ex
from exhume.compiler.front.kinds import BYTES, TEXT, Bits, Integer, Kind, Plain, Structure
from exhume.compiler.front.model import Field, Type
from exhume.compiler.needs import is_position
from exhume.compiler.refusal import UnsupportedError
from exhume.compiler.varints import scalar_of

Column = tuple[str, str, str]
"""Name, array code, and the expression that is appended."""


MOST_LINES = 2_000
"""Lines that read one row of an external specification, structures within it included."""


class Scan(Reader):
    """The reading of one element inside the loop; nested structures are read in place, under a prefix."""

    def __init__(self, of: Scan | None, module: Module, type: Type, prefix: str = "") -> None:
        super().__init__(module, type)
        self.prefix = prefix
        self.columns: list[Column] = []
        self.inner: dict[str, Scan] = {}
        self.byte_fields: list[str] = []
        self.number_fields: dict[str, tuple[str, str]] = {}
        """The expression of the numbers of one element, and their type, by the name of the column."""
        self.base = ""
        """Where its stream begins, when that is known."""
        if of is not None:
            self.lines = of.lines

    def local(self, field: Field) -> str:
        return f"{self.prefix}{super().local(field)}"

    def fixed(self, field: Field) -> bool:
        return super().fixed(field) and not fixed_bytes(field)

    def keep(self, fields: list[Field]) -> None:
        for field in fields:
            self._column(field)

    def _column(self, field: Field) -> None:
        name, kind, into = f"{self.prefix}{field.id}", field.one, self.local(field)
        if field.size == ex.Literal(0) or field.id in self._sizes():
            return
        if "contents" in field.raw:  # always the same
            return
        if field.repeat:
            raise UnsupportedError("what is repeated inside has no column")
        if kind == TEXT and not self.module.foreign:
            raise UnsupportedError("text has no column, since it may be none: bytes have")
        if kind in (BYTES, TEXT):
            self.byte_fields.append(name)
            self._span(name, into)
            return
        code = None
        if isinstance(kind, Integer) and kind.size:
            code = CODES[kind.size].lower() if kind.signed else CODES[kind.size]
        elif isinstance(kind, Plain) and kind.size:
            code = "f" if kind.size == 4 else "d"
        elif isinstance(kind, Bits) and kind.width <= 64:
            code = "Q" if kind.width > 8 else "B"
        elif scalar_of(kind) is not None:
            code = "Q"
        elif isinstance(kind, Structure):
            return
        if code is None:
            raise UnsupportedError("this has no column")
        self.columns.append((name, code, into))

    def _span(self, name: str, into: str) -> None:
        """The columns of where something starts and ends."""
        self.columns += [(f"{name}_start", "q", f"at_{into}"), (f"{name}_end", "q", f"end_{into}")]

    def _sizes(self) -> set[str]:
        """Fields that only give the lengths of others, which follow from where those start and end."""
        if self.module.foreign:
            return set()
        sizes = [one.size for one in self.type.seq if one.size is not None and one.one == BYTES]
        found = {size.id for size in sizes if isinstance(size, ex.Name)}
        return found | {size.of.id for size in sizes if isinstance(size, ex.Member) and isinstance(size.of, ex.Name)}

    def read_bytes(self, field: Field, into: str, path: str) -> None:
        """Positions of bytes, without copying them. Raises `UnsupportedError` for most that end with a terminator."""
        lines = self.lines
        if ends_with_a_byte(field) and not self.module.foreign:
            stop, after = self.find_mark(field, path, bytes([field.raw["terminator"]]))
            lines.add(f"at_{into} = at", f"end_{into} = {stop}", after)
            return
        if not {"terminator", "pad-right", "process"}.isdisjoint(field.raw) or field.raw.get("type") == "strz":
            raise UnsupportedError("what ends with a terminator has no column")
        lines.add(f"at_{into} = at")
        stop = self.sized_end(field, path)
        if field.one == TEXT:
            lines.add(f"{into} = view[at : {stop}]")
            self.decode(field, into, path)
        lines.add(f"at = end_{into} = {stop}" if stop != "end" else f"at = end_{into} = max(at, end)")

    def read_single(self, field: Field) -> None:
        kind = field.one
        if field.repeat == "until":
            self._up_to_last(field)
            return
        if field.repeat:
            self._numbers(field)
            return
        before = len(self.columns)
        if field.condition is None:
            self._read_here(field, kind)
            return
        with self.lines.block(f"if {self.code(field.condition)}:"):
            self._read_here(field, kind)
        with self.lines.block("else:"):
            absent = [local for _, _, local in self.columns[before:]] or [self.local(field)]
            self.lines.add(f"{' = '.join(absent)} = 0")

    def _read_here(self, field: Field, kind: Kind) -> None:
        if isinstance(kind, Structure) and scalar_of(kind) is None:
            self._nested(field, kind)
            return
        self.read_field(field, self.local(field))
        self.read.add(field.id)
        self.keep([field])

    def begin_nested(self, inner: Scan, field: Field) -> None:
        """Let a structure within know the field that it is."""

    def _nested(self, field: Field, kind: Structure) -> None:
        if "valid" in field.raw:
            raise UnsupportedError("a structure with a rule has no columns")
        sized = field.size is not None
        if self.module.foreign and len(self.lines.lines) > MOST_LINES:
            raise UnsupportedError("a row of too many fields")
        if self.module.foreign and (
            field.to_end or not {"terminator", "pad-right", "process"}.isdisjoint(field.raw) or kind.type.opaque
        ):
            raise UnsupportedError("a structure in bytes that are cut out otherwise has no columns")
        inner = self.__class__(self, self.module, kind.type, f"{self.prefix}{field.id}_")
        self.begin_nested(inner, field)
        inner.above_path = f"{self.above_path}{field.id}."
        lines, rest = self.lines, f"rest_{self.local(field)}"
        if sized:
            stop = self.sized_end(field, self.path(field))
            inner.base = f"base_{self.local(field)}"
            before = len(lines.lines)
            lines.add(f"{inner.base} = at", f"{rest} = end", f"end = {stop}")
        inner.sequence()
        if sized:
            if not any(inner.base in line for line in lines.lines[before + 1 :]):
                del lines.lines[before]
            lines.add("at = end", f"end = {rest}")
        self.columns += inner.columns
        self.byte_fields += inner.byte_fields
        self.number_fields |= inner.number_fields
        self.inner[field.id] = inner
        self.read.add(field.id)
        self.bounded = ""

    def _up_to_last(self, field: Field) -> None:
        """Positions of structures up to the last one."""
        kind, lines, into = field.one, self.lines, self.local(field)
        last = field.last
        if self.module.foreign or last is None or not isinstance(kind, Structure):
            raise UnsupportedError("what is repeated inside has no column")
        inner = Scan(self, self.module, kind.type, f"{self.prefix}{field.id}_")
        lines.add(f"at_{into} = at", f"many_{into} = 0")
        with lines.block("try:"), lines.block("while True:"):
            inner.sequence()
            lines.add(f"many_{into} += 1")
            with lines.block(f"if {inner.code(last)}:"):
                lines.add("break")
        with lines.block("except LayoutError as error:"):
            lines.add(f'error.within(f"{self.above_path}{field.id}[{{many_{into}}}]")', "raise")
        lines.add(f"end_{into} = at")
        self._span(f"{self.prefix}{field.id}", into)
        self.byte_fields.append(f"{self.prefix}{field.id}")
        self.read.add(field.id)
        self.bounded = ""

    def _numbers(self, field: Field) -> None:
        """Positions of numbers of one width, counted by another field, without copying them."""
        many = self._many(field)
        if many is None:
            raise UnsupportedError("what is repeated inside has no column")
        self.count_numbers(field, many.size)
        into, name = self.local(field), f"{self.prefix}{many.name}"
        self.lines.add(f"at_{into} = at", f"at += {many.size} * many", f"end_{into} = at")
        self._span(name, into)
        start, end = f"self.{name}_start[index]", f"self.{name}_end[index]"
        given = f'self.view, {start}, {end} - {start}, "{many.code}", "{many.order}"'
        kind = "float" if many.code in "fd" else "int"
        self.number_fields[name] = f"{self.module.helper('numbers')}({given})", kind
        self.read.add(field.id)

    def _many(self, field: Field) -> Numbers | None:
        """The numbers of a repeated field whose position alone is kept; None for all other fields."""
        own = not self.module.foreign and field.repeat == "expr" and field.condition is None
        return numbers_of(field) if own else None

    def above(self, name: str) -> str:
        """The structure around, which columns do not have. Raises `UnsupportedError`."""
        raise UnsupportedError("a structure that looks around itself has no columns")

    def named(self, field: Field) -> tuple[str, int]:
        """A field as Python. Raises `UnsupportedError` for what only an object knows."""
        moving = field.id in (self.type.root.model.moving or ())
        if field.parameter or moving or (field.instance and (field.value is None or is_position(field.value))):
            raise UnsupportedError("this is not known where there is no object")
        if field.one == BYTES and not field.instance and {"contents", "terminator", "pad-right"}.isdisjoint(field.raw):
            if field.id not in self.read or field.size == ex.Literal(0):
                return super().named(field)
            return f"view[at_{self.local(field)} : end_{self.local(field)}]", ATOM
        return super().named(field)

    def sync(self) -> bool:
        """Nothing: what would look at the stream is refused."""
        return False

    def begin(self) -> str:
        """Where the stream of a structure within begins. Raises `UnsupportedError` for that of the element itself."""
        if not self.base:
            raise UnsupportedError("a structure that looks around itself has no columns")
        return self.base

    def in_place(self, id: str, name: str) -> tuple[str, int] | None:
        inner = self.inner.get(id)
        return inner.named(inner.type.field(name)) if inner is not None else None


def numbers_in_place(field: Field) -> Numbers | None:
    """The numbers of a repeated field of a row whose position alone is kept; None for all other fields."""
    if isinstance(field.one, Structure) or field.repeat == "until" or "valid" in field.raw:
        return None
    return numbers_of(field)
