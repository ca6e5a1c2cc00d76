"""Rows with more in them than one value for each field: choices, fields that may be absent, lists, ended strings.

A row is an element of a list that is read as columns: one array for each field, for all rows.  A value that each row
has once is a column as long as the table.  Choices and lists have columns of their own, which are shorter or longer
(`sets`), and columns of the table state which of their values belong to a row:

    x_case      which type a choice has: its number in `choices`, from 1; 0 for none
    x_valid     1 where a field is there, 0 where its condition is not met (its columns have 0 there)
    x_until     how many elements there are up to the end of this row

Strings have two columns, with the offsets of start and end.  Fields of the structures around the list, which are the
same for all rows, are read once before them (`outward`).  Types whose rows cannot be columns raise
`UnsupportedError` here, and are then read as objects.
"""

from __future__ import annotations

import dataclasses
import re

from exhume.compiler.emit.outward import OutwardScan
from exhume.compiler.emit.scan import MOST_LINES, Column, Scan
from exhume.compiler.emit.shared import Module
from exhume.compiler.front.kinds import (
    BYTES,
    DECIDED,
    TEXT,
    Bits,
    Integer,
    Kind,
    SimpleKind,
    Structure,
    Switch,
    choices,
)
from exhume.compiler.front.model import Field, Type
from exhume.compiler.ir.fixed import Numbers, scalar_of
from exhume.compiler.ir.needs import expressions, words
from exhume.compiler.ir.rows import CODED, ReadMethod, common_code, numbers_in_place, read_method_of_one, takes_bytes
from exhume.compiler.refusal import UnsupportedError

MOST_CHOICES = 255
"""Most types of a choice: the number of one is stored in a byte, with 0 for none."""

MOST_FAILURES = 50
"""Most cases of switches that may lack columns; data with such a case is read as objects."""


class WideScan(OutwardScan):
    """Emits code that reads a row that may contain lists, switches and optional fields.

    In the emitted code, `at_x` and `end_x` are start and end of the bytes `x`, `there_x` is 1 if `x` is there, `case_x`
    is the case of the switch `x`, `of2_x` its value in case 2, `in1_y` a field of a structure that is read in place,
    and `rest_x` the end of the bytes around `x`, where `x` has a size.

    `outer` is the scan of the structure around this one within the row (None for the row itself), `row` that of the
    whole row: its `constants` are fields around the rows, read once, and its `failures` counts cases without columns.
    `inner` has the scans of structures that were read in place, by field, `item` the code of `_`.

    Parameters: `into` is the variable of a value, `path` code for its path in errors; `stop` and `base` are code for
    where its bytes end and start (`base` None: without a size); `type_name` is its type as specified; `sized`: the
    field states a size.  `bare` is not used here.
    """

    item: tuple[str, Kind] | None

    def __init__(self, of: Scan | None, module: Module, type: Type, prefix: str = "") -> None:
        """Scan `type` into columns, below the scan `of` if it is nested; `prefix` begins the names of its columns."""
        super().__init__(of, module, type, prefix)
        outer = of if isinstance(of, WideScan) else None
        self.sets: list[Column] = [] if outer is None else outer.sets
        """Columns of lists within rows, which do not have one value per row."""
        self.owners: dict[str, str] = {} if outer is None else outer.owners
        """What the values of each of these are: the path of the field, and the case of a choice."""
        self.exact = ""
        """Beginning of the paths of the fields in this structure, in which cases of choices are steps, too."""
        self.around: tuple[Type, ...] = (*(() if outer is None else outer.around), type)  # from the row down to this
        self.asked: frozenset[str] = _asked(type) if outer is None else outer.asked  # type: ignore[assignment]
        """Every name in an expression."""

    def begin_nested(self, inner: Scan, field: Field) -> None:
        """Note where the structure of `inner` is."""
        assert isinstance(inner, WideScan)
        super().begin_nested(inner, field)
        inner.exact = f"{self.exact}{field.id}."

    def sequence(self) -> bool:
        """Emit statements that read the fields in order. Raises `UnsupportedError` if the type has no columns."""
        type = self.type
        if type in self.around[:-1] or type.opaque:
            raise UnsupportedError("a structure within its own type, or of a type that is given, has no columns")
        if self.outer is not None and type.endian == DECIDED and (type.decides or self.outer.type.endian != DECIDED):
            raise UnsupportedError("a byte order that changes from row to row has no columns")
        if len(self.lines.lines) > MOST_LINES:
            raise UnsupportedError("a row of too many fields")
        return super().sequence()

    def read_single(self, field: Field) -> None:
        """Emit statements that read one field, if its condition is met; a column `x_valid` then states whether it was.

        Raises `UnsupportedError` if it has no columns.
        """
        if field.condition is None:
            self._read_whole(field)
            return
        lines, into, before = self.lines, self.local(field), len(self.columns)
        is_asked = field.id in self.asked
        with lines.block(f"if {self.code(field.condition)}:"):
            lines.add(f"there_{into} = 1")
            self._read_whole(field)
        # A name cannot be both a variable that is None and a number in a column: `x or 0`.
        made = self.columns[before:]
        if is_asked and field.value_kind == BYTES:
            raise UnsupportedError("bytes that may be absent are known to objects only")
        kept = [f"{into} or 0" if is_asked and one.value == into else one.value for one in made]
        self.columns[before:] = [dataclasses.replace(one, value=value) for one, value in zip(made, kept, strict=True)]
        with lines.block("else:"):
            absent = [value for value in kept if value.isidentifier()]
            lines.add(f"{' = '.join([f'there_{into}', *absent])} = 0", *([f"{into} = None"] if is_asked else []))
        self.columns.append(Column(f"{self.prefix}{field.id}_valid", "B", f"there_{into}"))

    def _read_whole(self, field: Field) -> None:
        """Emit statements that read a field that is present: a list, a switch, or a value."""
        if field.repeat:
            self._list(field)
            self.read.add(field.id)
        elif isinstance(field.value_kind, Switch):
            self.columns.append(self._choice(field, self.local(field)))
            self.read.add(field.id)
        else:
            self._read_here(field, field.value_kind)

    def _nested(self, field: Field, kind: Structure) -> None:
        """Scan a structure in place. If it may be absent, expressions cannot use its fields afterwards."""
        before = set(self.inner)
        super()._nested(field, kind)
        if field.condition is not None:  # its fields are not available where it is absent
            for id in set(self.inner) - before:
                self.inner.pop(id)

    # Bytes and strings.

    def read_bytes(self, field: Field, into: str, path: str) -> None:
        """Emit statements that read bytes or text; the scans of simpler rows know those with a stated size."""
        if read_method_of_one(field) not in (ReadMethod.CODED, ReadMethod.MARKED):
            super().read_bytes(field, into, path)
        else:
            self._ended(field, field.value_kind, into, path, str(field.raw.get("type")))

    def _ended(self, field: Field, kind: Kind, into: str, path: str, type_name: str) -> None:
        """Emit statements for bytes or a string with a terminator or padding; they are copied to find the end."""
        if "process" in field.raw:
            raise UnsupportedError("decoded bytes have no position in the file")
        self.lines.add(f"at_{into} = at")
        self._read_raw(field, kind, into, path, type_name)

    def cut_out(self, into: str, stop: str = "") -> None:
        """Emit `end_name = stop`, which notes where the bytes end, before padding is removed."""
        self.lines.add(f"end_{into} = {stop or f'at_{into} + len({into})'}")

    # One of several.

    def _choice(self, field: Field, into: str) -> Column:
        """Emit statements that read a switch; return the column with the number of the case that was met."""
        kind = field.value_kind
        assert isinstance(kind, Switch)
        coded = {"valid", "parent", *CODED}  # keys that apply to the value, whatever its type
        names = choices(kind)
        if not coded.isdisjoint(field.raw) or len(names) > MOST_CHOICES or not all(map(str.isidentifier, names)):
            raise UnsupportedError("a choice with a rule, or of bytes that are coded, has no column")
        self.lines.add(f"case_{into} = 0")
        self._read_one(field, kind, into, self.path(field))
        return Column(f"{self.prefix}{field.id}_case", "B", f"case_{into}")

    def _read_case(
        self, field: Field, kind: Kind, into: str, path: str, bare: bool, stop: str, base: str | None, type_name: str
    ) -> None:
        """Emit statements that read one case of a switch.

        If all rows have the same case, it may lack columns: the code then abandons columns once that case is met.
        """
        assert isinstance(field.value_kind, Switch)
        lines, row = self.lines, self.row
        # `asked0` and so on: variables that are set before the first row, so the choice is the same in all rows.
        if not re.fullmatch(r"asked[0-9]+", self.code(field.value_kind.on)):
            self._read_columns(field, kind, into, path, stop, base, type_name)
            return
        # The emitted lines and columns of this case are removed if it turns out to have no columns.
        before, depth, sets, constants = len(lines.lines), lines.depth, len(self.sets), dict(row.constants)
        owners = dict(self.owners)
        try:
            self._read_columns(field, kind, into, path, stop, base, type_name)
        except UnsupportedError:
            row.failures += 1
            if row.failures > MOST_FAILURES:
                raise
            del lines.lines[before:], self.sets[sets:]
            lines.depth, row.constants = depth, constants
            for name in self.owners.keys() - owners:
                del self.owners[name]
            lines.add(f"raise {self.module.helper('NoColumnsError')}")

    def _read_columns(
        self, field: Field, kind: Kind, into: str, path: str, stop: str, base: str | None, type_name: str
    ) -> None:
        """Emit statements that read one case of a switch into its columns, and set the number of the case."""
        assert isinstance(field.value_kind, Switch)
        every = choices(field.value_kind)
        # `every`: by the name of a choice, the kinds of the cases that share its column.
        number, (choice, kinds) = next(one for one in enumerate(every.items(), 1) if _is_among(kind, one[1][1]))
        lines, owner, name = self.lines, f"{field.id}.{choice}", f"{self.prefix}{field.id}_{choice}"
        lines.add(f"case_{into} = {number}")
        if isinstance(kind, Structure) and scalar_of(kind) is None:
            self._push(self._inside(field, kind, name, owner, base is not None), owner)
            return
        # Read the value into variables of its own, so that cases do not overwrite each other.
        one = f"of{number}_{into}"
        if kind == BYTES and base is not None:
            lines.add(f"at_{one} = at")
            end = self.sized_end(field, path)
            lines.add(f"at = end_{one} = {end}" if end != "end" else f"at = end_{one} = max(at, end)")
        elif kind in (BYTES, TEXT):
            self._ended(field, kind, one, path, type_name)
        elif isinstance(kind, (Integer, SimpleKind)) and kind.size:
            self._read_number(kind, one, path)
        else:
            raise UnsupportedError("this kind of case has no column")
        self.align()
        # A column for a number, two (start and end) for bytes and text.
        self._push(
            _span_columns(name, one) if kind in (BYTES, TEXT) else [Column(name, common_code(kinds), one)], owner
        )

    # Lists.

    def _list(self, field: Field) -> None:
        """Emit statements that read a list within a row into columns of its own, and make the column `x_until`.

        Raises `UnsupportedError` for lists without columns, such as those whose elements may take no bytes.
        """
        kind, lines, name = field.value_kind, self.lines, f"{self.prefix}{field.id}"
        if field.to_end or not {"process", "parent"}.isdisjoint(field.raw) or isinstance(kind, Bits) or self.loose:
            raise UnsupportedError("this kind of list has no column")
        # Numbers of one width stay bytes; all other elements get columns that are longer than the table.
        if self._many(field) is not None:
            self._numbers(field)
            return
        if not takes_bytes(field):
            raise UnsupportedError("a list of elements that may take no bytes has no column")
        count, until = field.expr("repeat-expr"), field.expr("repeat-until")
        opening = "while at < end:" if field.repeat == "eos" else "while True:"
        if field.repeat == "expr":
            assert count is not None
            opening = f"for _ in range({self.code(count)}):"
        with lines.block(opening):
            weigh = self.step()
            made, inner = self._element_of(field, kind, name)
            self._push(made, field.id)
            weigh()
            if until is not None:
                last = field.last
                if inner is not None and last is not None:
                    with lines.block(f"if {inner.code(last)}:"):
                        lines.add("break")
                elif inner is None and kind not in (BYTES, TEXT):
                    self.item = ("one", kind)
                    with lines.block(f"if {self.code(until)}:"):
                        lines.add("break")
                    self.item = None
                else:
                    raise UnsupportedError("an expression that uses an element has no column")
        # Where the elements of each row end in these columns.
        if not made:
            raise UnsupportedError("a list of empty elements has no column")
        self.bounded = ""
        self.columns.append(Column(f"{name}_until", "q", f"len(columns.{made[0].name})"))

    def _element_of(self, field: Field, kind: Kind, name: str) -> tuple[list[Column], WideScan | None]:
        """Emit statements that read one element of a list; return its columns, and the scan of the structure if it is
        one.
        """
        if isinstance(kind, Switch):
            if kind.default is None or field.repeat == "until":
                raise UnsupportedError("a list from which elements may be missing has no column")
            return [self._choice(field, self.local(field))], None
        if isinstance(kind, Structure) and scalar_of(kind) is None:
            if not {"valid", *CODED}.isdisjoint(field.raw):
                raise UnsupportedError("structures with a rule have no column")
            made = self._inside(field, kind, name, field.id, field.size is not None)
            return made, self.inside
        if "contents" in field.raw:
            raise UnsupportedError("bytes that are always the same have no column")
        self._read_valid_raw(field, '""', False)
        if kind in (BYTES, TEXT):
            return _span_columns(name, "one"), None
        return [Column(name, common_code([kind]), "one")], None

    def _inside(self, field: Field, kind: Structure, name: str, owner: str, sized: bool) -> list[Column]:
        """Emit statements that read a nested structure; return its columns, whose names begin with `name`.

        `owner` is the path of the structure from this one.
        """
        if field.to_end:
            raise UnsupportedError("a structure up to the end has no column")
        lines = self.lines
        self.inside = inner = WideScan(self, self.module, kind.type, f"{name}_")
        inner.within, inner.exact = field, f"{self.exact}{owner}."
        inner.above_path = f"{self.above_path}{field.id}."
        if sized:
            stop = self.sized_end(field, self.path(field))
            inner.base = f"base_{name}"
            lines.add(f"{inner.base} = at", f"rest_{name} = end", f"end = {stop}")
        inner.sequence()
        if sized:
            lines.add("at = end", f"end = rest_{name}")
        self.bounded: str = ""
        return inner.columns

    inside: WideScan
    """Scan of the structure that was read last within this one."""

    def _push(self, columns: list[Column], owner: str) -> None:
        """Emit statements that append values of the field or case `owner` to columns of their own, one for each column:
        `add_x(value)`.  Each column is added to `sets` once.

        Raises `UnsupportedError` if another one has columns of the same names.
        """
        owner = f"{self.exact}{owner}"
        if any(self.owners.setdefault(one.name, owner) != owner for one in columns):
            raise UnsupportedError("two columns of one name")
        known = {one.name for one in self.sets}
        self.sets += [one for one in columns if one.name not in known]
        self.lines.add(*(f"add_{one.name}({one.value})" for one in columns))

    def _many(self, field: Field) -> Numbers | None:
        """Return the numbers of a list whose position alone is kept; None for all other lists."""
        return numbers_in_place(field)

    # Names.

    def named(self, field: Field) -> tuple[str, int]:
        """Return code and precedence of a field.  Raises `UnsupportedError` for values that only objects have."""
        held = isinstance(field.value_kind, Structure) and scalar_of(field.value_kind) is None
        if not field.instance and (field.repeat or held or isinstance(field.value_kind, Switch)):
            raise UnsupportedError("a list or a structure is known to objects only")
        return super().named(field)

    def in_place(self, id: str, name: str) -> tuple[str, int] | None:
        """Return code and precedence of a field of a structure within.  Raises `UnsupportedError` if it may be
        absent.
        """
        inner = self.inner.get(id)
        if inner is not None and inner.type.field(name).condition is not None:
            raise UnsupportedError("an optional structure is known to objects only")
        return super().in_place(id, name)


def _span_columns(name: str, variable: str) -> list[Column]:
    """Return the columns `name` of start and end of bytes, which are in variables such as `at_one` and `end_one`."""
    return [Column(f"{name}_start", "q", f"at_{variable}"), Column(f"{name}_end", "q", f"end_{variable}")]


def _asked(type: Type) -> frozenset[str]:
    """Return every name in an expression of the specifications that belong together."""
    every = (one for other in type.root.model.types() for one in other.fields())
    return frozenset().union(*(words(expr) for one in every for expr in expressions(one)))


def _is_among(kind: Kind, kinds: list[Kind]) -> bool:
    """Return whether a kind is among others, where structures of one type are the same."""
    if isinstance(kind, Structure):
        return any(isinstance(one, Structure) and one.type is kind.type for one in kinds)
    return kind in kinds
