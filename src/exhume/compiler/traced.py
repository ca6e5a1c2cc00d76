"""Readers for `explain`, which remember where each field lies and keep what was read before a failure.

They have the statements of the fast readers, field by field, and statements that take notes in between. A value has

- `PLACES`: by field the view, where it starts and ends there (None: it did not end), the same for each element, and,
  of one that does not fit, why;
- `PARTIALS`: by field what was read of a value before it broke off.

The generated code's run-time support is in `exhume.layout.tracing`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from exhume.compiler.classes import Class, kept_as
from exhume.compiler.kinds import Bits
from exhume.compiler.model import Field
from exhume.compiler.reader import Reader
from exhume.compiler.statements import Statements


class Traced(Statements):
    """The common part of reader and class: a field and its elements with their places."""

    traces = True
    holder = "value"

    def read_field(self, field: Field, into: str) -> None:
        self.lines.add(f'{self.holder}.PLACES["{field.id}"] = [view, {self._here()}, None, []]')
        super().read_field(field, into)
        self.lines.add(f'{self.holder}.PLACES["{field.id}"][2] = at')

    @contextlib.contextmanager
    def checking(self, field: Field, into: str) -> Iterator[None]:
        place = f'{self.holder}.PLACES["{field.id}"]'
        self.lines.add(f'{self.holder}.PARTIALS["{field.id}"] = {into}')
        self.lines.add(f"{place}[3][-1][1] = at" if field.repeat else f"{place}[2] = at")
        yield
        self.lines.add(f'del {self.holder}.PARTIALS["{field.id}"]')

    def begin_one(self, field: Field) -> None:
        self.lines.add(f'{self.holder}.PLACES["{field.id}"][3].append([{self._here()}, None])')

    def end_one(self, field: Field) -> None:
        self.lines.add(f'{self.holder}.PLACES["{field.id}"][3][-1][1] = at')

    def drop_one(self, field: Field) -> None:
        self.lines.add(f'del {self.holder}.PLACES["{field.id}"][3][-1]')

    def _here(self) -> str:
        return "bit // 8" if self.loose else "at"


class TracedReader(Traced, Reader):
    """The function that reads one type."""

    def sequence(self) -> bool:
        with self.lines.block("try:"):
            super().sequence()
        with self.lines.block("except FAILURES as error:"):
            self.lines.add("keep(value, error)", "raise")
        return True

    def fixed(self, field: Field) -> bool:
        return isinstance(field.one, Bits) and super().fixed(field)

    def run(self, fields: list[Field]) -> None:
        bits = bool(fields) and isinstance(fields[0].one, Bits)
        if bits:
            self.lines.add("begin = at", f'value.PLACES["{fields[0].id}"] = [view, at, None, []]')
        super().run(fields)
        used = 0
        for field in fields if bits else ():
            assert isinstance(field.one, Bits)
            start, used = used // 8, used + field.one.width
            self.lines.add(f'value.PLACES["{field.id}"] = [view, begin + {start}, begin + {(used + 7) // 8}, []]')


class TracedClass(Traced, Class):
    """The class of one type."""

    holder = "self"
    base = "(Traced)"
    more_slots = ("PLACES", "PARTIALS")

    def read_elsewhere(self, field: Field) -> None:
        with self.lines.block("try:"):
            super().read_elsewhere(field)
        with self.lines.block("except FAILURES as error:"):
            self.lines.add(f'keep_instance(self, error, "{field.id}", "{kept_as(field)}")', "raise")
