"""Statements that read fields: one value, or many.

Names in the emitted code: `view` (bytes), `at` (position), `end` (end of the stream), `bit` (position in bits, while
bits are read), `one` (an element of a list), `run` (the budget of steps and memory that readers of third-party
specifications, `foreign`, take from), `many` (number of elements), `turn` (number of passes of a loop), `empty` (number
of elements that took no bytes), `big` (whether the byte order is big-endian, where the data decide).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from exhume.compiler import refusal
from exhume.compiler.emit.single import SingleValue
from exhume.compiler.emit.text import columned, local_name
from exhume.compiler.front import expressions as ex
from exhume.compiler.front.kinds import Bits, Integer, Kind, SimpleKind, Structure, Switch
from exhume.compiler.front.model import Field, Type
from exhume.compiler.ir.fixed import fixed_size, number_code, number_of, type_size
from exhume.compiler.ir.needs import inherits_order
from exhume.compiler.ir.rows import PackedRows, packed_rows, takes_bytes
from exhume.compiler.refusal import UnsupportedError


class Statements(SingleValue):
    """Emits code that reads a field into a variable, in readers and properties.

    The parameter `into` is the name of that variable, `path` is code for the field's path in errors.  `nested`: the
    elements of a list may be structures, whose errors get their paths from the loop.

    Switches: `counts`: `bit` is always up to date; `loose`: bit fields are read one at a time; `strays`: `at` may be
    past the end; `traces`: parts read before an error are kept.

    From the base classes: `above` is the code of `_self`, `_root` or `_parent`, `_parent_of` that of the parent of a
    field's structure; `item` and `index` are the code of `_` and `_index`; `above_path` begins the paths of errors;
    `charge` and `step` take from the budgets; `align` moves `bit` to the byte at `at`.
    """

    def local(self, field: Field) -> str:
        """Return the name that a field has inside a reader."""
        return local_name(field.id, self.module.foreign)

    @contextlib.contextmanager
    def checking(self, field: Field, into: str) -> Iterator[None]:
        """Emit statements around the check of a value by `valid`.

        This hook and the next three emit nothing here; readers that take notes (`traces`) implement them.
        """
        yield

    def begin_one(self, field: Field) -> None:
        """Emit statements before each element of a field."""

    def end_one(self, field: Field) -> None:
        """Emit statements after each element of a field."""

    def drop_one(self, field: Field) -> None:
        """Emit statements for an element without a value, as no case of its switch matches."""

    def read_field(self, field: Field, into: str) -> None:
        """Emit statements that read a whole field into a variable."""
        if field.repeat:
            self._read_many(field, into)
        else:
            self._read_valid(field, into, self.path(field))

    def _read_valid(self, field: Field, into: str, path: str) -> None:
        """Emit statements that read one value and check it by `valid`.

        Errors name where the value starts: `at - 4` if its size is fixed, else the variable `start`, set before it.
        """
        valid = "valid" in field.raw
        # Afterwards, the start of a value of fixed size is `at - size`.
        size = fixed_size(field) if field.size is not None or not isinstance(field.value_kind, Structure) else None
        if valid and size is None:
            self._note_start(field)
        self._read_one(field, field.value_kind, into, path)
        if valid:
            with self.checking(field, into):
                self.check(field, into, path, "start" if size is None else f"at - {size}" if size else "at")

    def _note_start(self, field: Field) -> None:
        """Emit statements that note the start of a value; for bits, the byte that contains the first."""
        self.lines.add("start = bit // 8" if self.loose and isinstance(field.value_kind, Bits) else "start = at")

    def _read_many(self, field: Field, into: str) -> None:
        """Emit statements that read a repeated field into the list `into`.

        Numbers of one size are unpacked together, elements with columns read by `scan_`, and all others in a loop.
        An error within the loop gets the index of the element in its path (`entries[3].size`).
        """
        code = number_code(number_of(field.value_kind), field)
        if code is not None and field.repeat in ("expr", "eos") and not (self.counts and field.repeat == "eos"):
            self._read_numbers(field, into, code)
            return
        if not self.counts and self._columns(field, into):
            return
        # `tabled`: the mark `-rows`, by which the list can be read again as columns.
        lines, tabled = self.lines, bool(field.raw.get("-rows")) and not self.traces
        if tabled:
            lines.add("first = at")
        # An element may use the list of its parent while that is being read: then the object gets the list before it is
        # full.  `shared` is the object's attribute, or empty.
        inner = [one.type for one in nested_in(field.value_kind) if not one.type.opaque]
        upward = self.traces or any(self.module.needs[one].parent for one in inner)
        shared = self.kept(field) if upward else ""
        lines.add(f"{into} = {shared} = []" if shared else f"{into} = []")
        nested = any(True for _ in nested_in(field.value_kind))
        path = f'f"{self.above_path}{field.id}[{{len({into})}}]"'
        outer = self.index
        # Structures raise errors without knowing their index: the loop adds it.
        if not nested:
            self._loop(field, into, path, nested)
        else:
            with lines.block("try:"):
                self._loop(field, into, path, nested)
            with lines.block("except LayoutError as error:"):
                lines.add(*([f"del {shared}"] if shared and not self.traces else []), f"error.within({path})", "raise")
            if shared and self.foreign and not self.traces:  # as after any error, the incomplete field is absent
                with lines.block(f"except {self.module.helper('FAILURES')}:"):
                    lines.add(f"del {shared}", "raise")
        self.index = outer
        if tabled:
            self._tabled(field, into)

    def _tabled(self, field: Field, into: str) -> None:
        """Emit statements that wrap a list, so that its elements can be read again as columns on request.

        For example `rows = Rows(rows)` and `rows._where = (RowColumns, view, first, end, value)`.
        """
        assert isinstance(field.value_kind, Structure)
        type = field.value_kind.type
        columns = self.module.name_of(type, f"{type.class_name}Columns")
        more = f", {self.code(field.size)}" if field.size is not None else ""
        more += "".join(f", {one}" for one in self.around_rows(field, type))
        self.lines.add(
            f"{into} = {self.module.helper('Rows')}({into})", f"{into}._where = ({columns}, view, first, end{more})"
        )

    def around_rows(self, field: Field, type: Type) -> list[str]:
        """Return the arguments, as Python, for what a reader of columns needs from outside of the rows (`-around`).

        For example `["value", "root"]`: the parent of the rows, here the structure being read, and the root.
        """
        out = []
        for one in type.raw.get("-around", ()):
            # The names of `-around`: the parent; the root; the number of the list among those that end by
            # `repeat-until`; others are variables of the same name.
            if one == "above":
                out.append(self._parent_of(field, type))
            elif one == "root":
                out.append(self.above("_root") if type.root is self.type.root else "None")
            elif one == "until":  # how many there are is known, except where a list is read in batches
                lasts = type.raw["-until"] if field is self.module.paused else []
                out.append(str(lasts.index(field.where) + 1 if field.where in lasts else 0))
            else:
                out.append(one)
        return out

    def _loop(self, field: Field, into: str, path: str, nested: bool) -> None:
        """Emit a loop that reads the elements of a list one by one: to the end, by a count, or up to a condition."""
        lines = self.lines
        # A choice without a matching case adds nothing to the list.
        skips = self.foreign and isinstance(field.value_kind, Switch) and field.value_kind.default is None
        # Code of the number of the element; with `skips` it is not the length of the list.
        self.index = "turn" if skips else f"len({into})"
        if skips:
            lines.add("turn = 0")
        if self._may_be_empty(field):
            lines.add("empty = 0")
        together = self._fill(field, into)
        if field.repeat == "eos":
            with lines.block("while bit < end * 8:" if self.loose or self.counts else "while at < end:"):
                self._element(field, into, path, nested, skips)
        elif field.repeat == "expr":
            count = field.expr("repeat-expr")
            assert count is not None
            left = f"many - len({into})" if together else self.code(count)
            with lines.block(f"for _ in range({left}):"):
                self._element(field, into, path, nested, skips)
        else:
            until = field.expr("repeat-until")
            if until is None:
                raise UnsupportedError("repeat-until is missing")
            with lines.block("while True:"):
                self._element(field, into, path, nested, skips)
                self.item = (f"{into}[-1]" if skips else "one", field.value_kind)
                self.index: str = "turn - 1" if skips else f"len({into}) - 1"
                with lines.block(f"if {self.code(until)}:"):
                    lines.add("break")
                self.item = None

    def _fill(self, field: Field, into: str) -> bool:
        """Emit statements that read the elements of one fixed size that are there, all at once; return False if not
        possible.

        `fits` is the number of elements that the data and the budgets suffice for (`paid`: by budget, what one costs).
        Those after them are read one by one, so that the error is found where it is.
        """
        if not self.foreign or self.traces or self.counts or self.loose or (rows := packed_rows(field)) is None:
            return False
        type, count, lines = rows.row.type, field.expr("repeat-expr"), self.lines
        needs = self.module.needs[type]
        root = needs.root and type.inside and type.root is self.type.root
        # Arguments that each row gets: stream, parent, root, byte order.
        around = [
            "io",
            self._parent_of(field, type) if needs.parent else "None",
            self.above("_root") if root else "None",
            "big" if inherits_order(type) else "False",
        ]
        fits = [f"(end - at) // {rows.size}"]
        if count is not None:
            lines.add(f"many = {self.code(count)}")
            fits.insert(0, "many")
        paid = {name: many for name, many in (("steps", rows.steps), ("held", rows.held)) if many}
        fits += [f"run.{name} // {many}" if many > 1 else f"run.{name}" for name, many in paid.items()]
        with lines.block(f"if {'many > 0 and ' if count is not None else ''}end - at >= {rows.size}:"):
            lines.add(f"fits = min({', '.join(fits)})")
            lines.add(*(f"run.{name} -= fits{f' * {many}' if many > 1 else ''}" for name, many in paid.items()))
            lines.add(f"{self.module.name_of(type, fill_name(rows))}({into}, view, at, fits, {', '.join(around)}, run)")
            # A string that is not valid ends it early: then the list has fewer rows than fit.
            lines.add(f"at += {f'len({into})' if rows.texts else 'fits'} * {rows.size}")
        return True

    def _element(self, field: Field, into: str, path: str, nested: bool, skips: bool) -> None:
        """Emit statements that read one element into `one`, and then `rows.append(one)`, if `into` is `rows`.

        With `skips`, an element may be None, which is not appended: `turn` counts the passes then. `nested`: the loop
        adds the element's path to errors.
        """
        lines, empty = self.lines, self._may_be_empty(field)
        place = "bit" if self.loose or self.counts else "at"
        own = '""' if nested else path
        weigh = self.step(path=own, least=0 if nested else 1) if self.foreign else None  # a structure counts itself
        if empty:
            lines.add(f"before = {place}")
        self.begin_one(field)
        self._read_valid_raw(field, path, nested)
        if empty:
            with lines.block(f"if {place} == before:"):
                self.count_empty(own)
        if not skips:
            lines.add(f"{into}.append(one)")
            self.end_one(field)
        else:
            lines.add("turn += 1")
            with lines.block("if one is not None:"):
                lines.add(f"{into}.append(one)")
                self.end_one(field)
            if self.traces:
                with lines.block("else:"):
                    self.drop_one(field)
        if weigh is not None:
            weigh()

    def _may_be_empty(self, field: Field) -> bool:
        """Return whether elements of a list may take no bytes, so that they might repeat without end."""
        # `moves`: even numbers may be read from no new bytes.
        moves = self.counts or self.loose or "process" in field.raw or bool(self.type.root.model.drifting)
        return self.foreign and not isinstance(field.value_kind, (Integer, Bits)) and (moves or not takes_bytes(field))

    def count_empty(self, path: str) -> None:
        """Emit statements that count an element without bytes (`empty`), and raise after `refusal.EMPTY` of them."""
        self.lines.add("empty += 1")
        with self.lines.block(f"if empty > {refusal.EMPTY}:"):
            self.lines.add(f"raise run.endless({path}, at)")

    def _columns(self, field: Field, into: str) -> bool:
        """Emit statements that read structures as columns (`-columns`), `rows = scan_row(view, at, end, count)`.

        Returns False, and emits nothing, if the field has no columns.
        Raises `UnsupportedError` if it is of exhume's own specifications and cannot have them.
        """
        type = columned(field)
        if type is None:
            return False
        # Columns need rows of one size, without rules and without an end that depends on a row.
        count = field.expr("repeat-expr")
        whole = field.size is None or field.size == ex.Literal(type_size(type))
        own = {"size-eos", "terminator", "pad-right", "process", "valid"}.isdisjoint(field.raw)
        if self.module.foreign and not (whole and own and field.repeat != "until"):
            return False
        if not whole or "valid" in field.raw or field.repeat == "until":
            raise UnsupportedError(
                "structures with columns are repeated to the end or by a count, without size or rule"
            )
        # Call the reader of columns; a problem in a row is raised with the path of this field.
        lines = self.lines
        many = "" if count is None else f", {self._count(count)}"
        if self.module.foreign:
            many = f"{many or ', None'}, run"
        scan = self.module.name_of(type, type.reader_name.replace("read_", "scan_", 1))
        lines.add(f"{into} = {scan}(view, at, end{many})")
        with lines.block(f"if {into}.problem is not None:"):
            lines.add(f"{into}.problem.within({self.path(field)})", f"raise {into}.problem")
        lines.add(f"at = {into}.resume_at")
        # Rows that become objects later need what is around them.
        needs = self.module.needs[type]
        if self.foreign and field.size is None:
            lines.add(f"{into}.io = io")
        if needs.parent:
            lines.add(f"{into}.parent = {self._parent_of(field, type)}")
        if needs.root and type.inside:
            lines.add(f"{into}.root = {self.above('_root') if type.root is self.type.root else 'None'}")
        return True

    def _count(self, count: ex.Expr) -> str:
        """Return the code of the number of elements: `n`, or `n if n > 0 else 0` if `n` may be negative."""
        code = self.code(count)
        if isinstance(count, ex.Name) and count.id not in self.type.instances:
            kind = self.kind(count)
            if isinstance(kind, Integer) and kind.size and not kind.signed:
                return code
        return f"{code} if {code} > 0 else 0" if code.isidentifier() else f"max(0, {code})"

    def _read_valid_raw(self, field: Field, path: str, nested: bool) -> None:
        """Emit statements that read one element into `one` and check it; if `nested`, the loop adds paths to errors."""
        valid = "valid" in field.raw
        if valid:
            self._note_start(field)
        self._read_one(field, field.value_kind, "one", '""' if nested else path, bare=nested)
        if valid:
            with self.checking(field, "one"):
                self.check(field, "one", '""' if nested else path, "start")

    def _read_numbers(self, field: Field, into: str, code: str) -> None:
        """Emit statements that read numbers of one width all at once; `code` is their array code, such as `H`.

        For example `sizes = numbers(view, at, many * 2, "H", "little")` and `at += many * 2`.
        """
        kind = number_of(field.value_kind)
        assert isinstance(kind, (Integer, SimpleKind))
        size, lines = kind.size, self.lines
        self.count_numbers(field, size)
        self.charge(f"many * {size}", self.path(field))
        if code == "B":
            lines.add(f"{into} = view[at : at + many]", "at += many")
            self.align()
            return
        order = f'"{"big" if kind.big else "little"}"' if not kind.decided else '"big" if big else "little"'
        lines.add(f'{into} = {self.module.helper("numbers")}(view, at, many * {size}, "{code}", {order})')
        lines.add(f"at += many * {size}")
        self.align()

    def count_numbers(self, field: Field, size: int) -> None:
        """Emit statements that put the number of elements, of `size` bytes each, into `many`, and raise if the data is
        too short.
        """
        count, lines = field.expr("repeat-expr"), self.lines
        if field.repeat == "expr":
            assert count is not None
            lines.add(f"many = {self._count(count)}")
        else:
            # Rounded up: a last number that is incomplete counts, so that it is reported as missing.
            lines.add(f"many = -(-(end - at) // {size}) if end > at else 0")
        # Only positions of instances may be past the end.
        room = "max(0, end - at)"
        left = room if self.strays and self.foreign else "(end - at)" if size > 1 else "end - at"
        with lines.block(f"if many > {left} // {size}:" if size > 1 else f"if many > {left}:"):
            lines.add(f"many = {room} // {size}")
            inside = f".{field.value_kind.type.seq[0].id}" if isinstance(field.value_kind, Structure) else ""
            path = f"{self.above_path}{field.id}[{{many}}]{inside}"
            lines.add(f'raise short(f"{path}", at + many * {size}, end, {size})')


def fill_name(rows: PackedRows) -> str:
    """Return the name of the function that adds packed rows to a list.

    It is `fill_entry`, or `fill8_entry` if the list states that each row has 8 bytes.
    """
    own = str(rows.size) if rows.own else ""
    return rows.row.type.reader_name.replace("read_", f"fill{own}_", 1)


def nested_in(kind: Kind) -> Iterator[Structure]:
    """Yield the structures that a value of a kind may be: itself, or those of the cases of a switch."""
    if isinstance(kind, Structure):
        yield kind
    elif isinstance(kind, Switch):
        for one in kind.kinds:
            yield from nested_in(one)
