"""Readers for `explain`, which record the position of each field and keep the fields read before a failure.

They have the statements of the fast readers, field by field, and statements that take notes in between. A value has

- `PLACES`: by field the view, where it starts and ends there (None: it did not end), the same for each element, and,
  of one that does not fit, why;
- `PARTIALS`: by field, the part of a value that was read before an error.

Lists of structures are read by the fast readers, and an element is read again, with notes, where it is
shown: what a list costs is where each element begins.

The generated code's run-time support is in `exhume.layout.tracing`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from exhume.compiler import budgets
from exhume.compiler.emit.classes import ClassEmitter
from exhume.compiler.emit.reader import Reader
from exhume.compiler.emit.statements import Statements, nested_in
from exhume.compiler.emit.text import kept_as
from exhume.compiler.front.kinds import Bits, Structure, Switch
from exhume.compiler.front.model import Field, Type
from exhume.compiler.ir.needs import expressions, words

ROWS_AT_ONCE = 1 << 12
"""Rows that are read as columns to find where they begin, and not kept."""


class TracedStatements(Statements):
    """The common part of reader and class: a field and its elements with their places."""

    traces = True
    holder = "value"

    def read_field(self, field: Field, into: str) -> None:
        self.lines.add(f'{self.holder}.PLACES["{field.id}"] = [view, {self._here()}, None, []]')
        super().read_field(field, into)
        self.lines.add(f'{self.holder}.PLACES["{field.id}"][2] = at')

    @contextlib.contextmanager
    def checking(self, field: Field, into: str) -> Iterator[None]:
        """Note in the generated code that a value is read in part, until its checks have passed."""
        place = f'{self.holder}.PLACES["{field.id}"]'
        self.lines.add(f'{self.holder}.PARTIALS["{field.id}"] = {into}')
        self.lines.add(f"{place}[3][-1][1] = at" if field.repeat else f"{place}[2] = at")
        yield
        self.lines.add(f'del {self.holder}.PARTIALS["{field.id}"]')

    def _read_many(self, field: Field, into: str) -> None:
        if self._is_lazy(field):
            self._read_lazily(field, into)
        else:
            super()._read_many(field, into)

    def _is_lazy(self, field: Field) -> bool:
        """Whether elements can be read again later: they depend on nothing that is different then."""
        beside, model, kind = self.module.beside, self.type.root.model, field.one
        below = {one.type for one in nested_in(kind)}
        if beside is None or not below or "valid" in field.raw or self.counts or self.loose:
            return False
        if model.moving is not None or model.shares or (isinstance(kind, Switch) and kind.default is None):
            return False
        around = [expr for expr in expressions(field) if expr != field.expr("repeat-until")]
        own = frozenset().union(*(beside.mentioned.get(one, frozenset()) for one in below), *map(words, around))
        return field.id not in own and not (beside.passes_on and field.id in beside.names)

    def _read_lazily(self, field: Field, into: str) -> None:
        """Statements that find where each element of a list of structures begins."""
        lines, outer = self.lines, self.index
        assert self.module.beside is not None
        holds = field.id in self.module.beside.names
        with lines.block("def element(at: int, index: int, run: Run) -> tuple[object, int]:"):
            self.index = "index"
            self._read_valid_raw(field, '""', True)
            lines.add("return one, at")
        lines.add(f"{into} = {self.kept(field)} = {self.module.helper('Lazily')}(view, at, run, element)")
        lines.add(f'{self.holder}.PLACES["{field.id}"][3] = {into}.places')
        self.index = f"len({into})"
        columns = [one.type.reader_name.replace("read_", "scan_", 1) for one in nested_in(field.one)]
        with lines.block("try:"):
            if (
                isinstance(field.one, Structure)
                and columns[0] in self.module.beside.columned
                and field.repeat in ("eos", "expr")
                and {"size", "size-eos", "terminator", "pad-right", "process", "parent"}.isdisjoint(field.raw)
                and not holds
            ):
                self._find_rows(field, into, field.one.type, columns[0])
            else:
                self._find_elements(field, into, holds)
        with lines.block("except LayoutError as error:"):
            lines.add(f'error.within(f"{self.above_path}{field.id}[{{len({into})}}]")', "raise")
        self.index = outer

    def _find_rows(self, field: Field, into: str, type: Type, scan: str) -> None:
        """Statements that find rows by the reader of columns."""
        lines, count = self.lines, field.expr("repeat-expr")
        if count is not None:
            lines.add(f"many = {self._count(count)}")
        with lines.block("while at < end:" if count is None else "while many > 0:"):
            wanted = str(ROWS_AT_ONCE) if count is None else f"min(many, {ROWS_AT_ONCE})"
            with self.module.plain():
                lines.add(f"rows = {self.module.name_of(type, scan)}(view, at, end, {wanted}, run)")
            lines.add(f"{into}.add_rows(rows.at, rows.resume_at)", "at = rows.resume_at")
            if count is not None:
                lines.add("many -= len(rows)")
            with lines.block(f"if rows.problem is not None{' and at < end' if count is None else ''}:"):
                lines.add(f"{into}.begin(at)", f"element(at, len({into}), run)", "raise rows.problem")

    def _find_elements(self, field: Field, into: str, holds: bool) -> None:
        """Statements that find one element after the other, and hold them where anything requests one."""
        lines = self.lines
        if field.repeat == "expr":
            count = field.expr("repeat-expr")
            assert count is not None
            opening = f"for _ in range({self.code(count)}):"
        else:
            opening = "while at < end:" if field.repeat == "eos" else "while True:"
        with lines.block(opening):
            weigh = self.step(path='""', least=0)
            lines.add("before = at")
            with lines.block("try:"), self.module.plain():
                self._read_valid_raw(field, '""', True)
            with lines.block("except FAILURES:"):
                lines.add(f"{into}.begin(before)", f"one, at = element(before, len({into}), run)")
            most = "" if field.repeat == "eos" else f" and len({into}) >= {budgets.EMPTY}"
            found = f"{budgets.EMPTY} that take none" if most else "one that takes none"
            with lines.block(f"if at == before{most}:"):
                lines.add(f"{into}.begin(at)")
                lines.add(f'raise LayoutError("", at, at, "elements that take bytes", "{found}")')
            lines.add(f"{into}.add(before, at{', one' if holds else ''})")
            if field.repeat == "until":
                self.item, self.index = ("one", field.one), f"len({into}) - 1"
                until = field.expr("repeat-until")
                assert until is not None
                with lines.block(f"if {self.code(until)}:"):
                    lines.add("break")
                self.item = None
            weigh()

    def begin_one(self, field: Field) -> None:
        self.lines.add(f'{self.holder}.PLACES["{field.id}"][3].append([{self._here()}, None])')

    def end_one(self, field: Field) -> None:
        self.lines.add(f'{self.holder}.PLACES["{field.id}"][3][-1][1] = at')

    def drop_one(self, field: Field) -> None:
        self.lines.add(f'del {self.holder}.PLACES["{field.id}"][3][-1]')

    def _here(self) -> str:
        return "bit // 8" if self.loose else "at"


class TracedReader(TracedStatements, Reader):
    """The function that reads one type."""

    joins_optional = False

    def sequence(self) -> bool:
        """Read the fields inside a `try` that keeps the fields read before an error."""
        with self.lines.block("try:"):
            super().sequence()
        with self.lines.block("except FAILURES as error:"):
            self.lines.add("keep(value, error)", "raise")
        return True

    def fixed(self, field: Field) -> bool:
        return isinstance(field.one, Bits) and super().fixed(field)

    def run(self, fields: list[Field]) -> None:
        """As in `Reader`; bits get the positions of the bytes that they are in."""
        bits = bool(fields) and isinstance(fields[0].one, Bits)
        if bits:
            self.lines.add("begin = at", f'value.PLACES["{fields[0].id}"] = [view, at, None, []]')
        super().run(fields)
        used = 0
        for field in fields if bits else ():
            assert isinstance(field.one, Bits)
            start, used = used // 8, used + field.one.width
            self.lines.add(f'value.PLACES["{field.id}"] = [view, begin + {start}, begin + {(used + 7) // 8}, []]')


class TracedClass(TracedStatements, ClassEmitter):
    """The class of one type."""

    holder = "self"
    base = "(Traced)"
    more_slots = ("PLACES", "PARTIALS")

    def read_elsewhere(self, field: Field) -> None:
        with self.lines.block("try:"):
            super().read_elsewhere(field)
        with self.lines.block("except FAILURES as error:"):
            self.lines.add(f'keep_instance(self, error, "{field.id}", "{kept_as(field)}")', "raise")
