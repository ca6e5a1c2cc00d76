"""Where repeated structures end, without reading them: for a repeated field with `-ends: true` one more function.

    ends_entries(view, at, end, ...) -> list[int]

It takes what the reader takes.  Of each element only that is looked at which says how long it is.  When one does not
fit, the reader says what is wrong.
"""

from __future__ import annotations

from exhume.compiler import expressions as ex
from exhume.compiler.code import Module
from exhume.compiler.fixed import element_size, fixed_size
from exhume.compiler.model import Field, Kind, Structure, Switch, Type
from exhume.compiler.reader import Reader
from exhume.compiler.refusal import RefusedError
from exhume.compiler.text import ATOM, annotation, written_doc
from exhume.compiler.varints import scalar_of


class _Passing(Reader):
    """The way past one structure; its parameters are what the one around it passes."""

    def __init__(self, around: _Ends, kind: Structure) -> None:
        super().__init__(around.module, kind.type)
        self.lines = around.lines
        self.given = dict(zip(kind.type.params, map(around.code, kind.arguments), strict=True))

    def named(self, field: Field) -> tuple[str, int]:
        return (self.given[field], ATOM) if field in self.given else super().named(field)

    def keep(self, fields: list[Field]) -> None:
        pass

    def past(self) -> None:
        """Statements that move `at` behind it."""
        needed = {name for one in self.type.seq for key in ("size", "repeat-expr") for name in _names(one, key)}
        lengths: list[str] = []
        for field in self.type.seq:
            if field.id not in needed:
                lengths.append(self._length(field))
                continue
            self._move(lengths)
            lengths = []
            self.read_single(field)
        self._move(lengths)

    def _move(self, lengths: list[str]) -> None:
        if lengths:
            self.lines.add(f"at += {' + '.join(lengths)}")

    def _length(self, field: Field) -> str:
        if field.condition is not None or "valid" in field.raw:
            raise RefusedError("a rule or condition cannot be passed over", field.where)
        if (size := fixed_size(field)) is not None:
            return str(size)
        count = field.expr("repeat-expr")
        each = element_size(field)
        if count is not None and each is not None:
            return f"{each} * {self._code(count, ATOM)}" if each != 1 else self.code(count)
        if field.size is not None and not field.repeat:
            return self.code(field.size)
        raise RefusedError("how long it is cannot be told without reading it", field.where)


def _names(field: Field, key: str) -> set[str]:
    expr = field.expr(key)
    return set() if expr is None else set(ex.names(expr))


class _Ends(Reader):
    """The function for one field."""

    def __init__(self, module: Module, type: Type, field: Field) -> None:
        super().__init__(module, type)
        self.field = field

    def text(self) -> str:
        """The whole function."""
        field, type, lines = self.field, self.type, self.lines
        count = field.expr("repeat-expr")
        alone = field is type.seq[0] and not (self.needs.stream or self.needs.parent or self.needs.root)
        if count is None or field.size is not None or "valid" in field.raw or not alone:
            raise RefusedError(
                "ends are found of what comes first, is repeated by a count, and looks at nothing around"
            )
        name = f"{type.reader_name.replace('read_', 'ends_', 1)}_{field.id}"
        given = ["view: View", "at: int", "end: int", *(f"{self.local(p)}: {annotation(p.kind)}" for p in type.params)]
        lines.add("ends: list[int] = []", "add = ends.append", "first = at")
        self.index = "len(ends)"
        on = self.code(field.one.on) if isinstance(field.one, Switch) else ""
        many = on.removesuffix(f"[{self.index}]")
        each = on != many and self.code(count) == f"len({many})"
        with lines.block("try:"):
            with lines.block(f"for on in {many}:" if each else f"for _ in range({self.code(count)}):"):
                if on and not each:
                    lines.add(f"on = {on}")
                self._past(field.one)
                with lines.block("if at > end:"):
                    lines.add("break")
                lines.add("add(at)")
            with lines.block("else:"):
                lines.add("return ends")
        with lines.block("except LayoutError:"):
            lines.add("pass")
        lines.add(f"{type.reader_name}(view, first, end{''.join(f', {self.local(one)}' for one in type.params)})")
        lines.add('raise AssertionError("what does not fit was read")')
        about = f"Where each of the `{field.id}` of `{type.where}` ends, when the first begins at `at`."
        opening = f"def {name}({', '.join(given)}) -> list[int]:"
        return "\n".join([opening, *written_doc(about + " Raises `LayoutError`."), *lines.lines])

    def _past(self, kind: Kind) -> None:
        lines = self.lines
        if isinstance(kind, Structure):
            _Passing(self, kind).past()
            return
        if not isinstance(kind, Switch):
            raise RefusedError("only structures have ends to find")
        ways: dict[tuple[str, ...], list[str]] = {}
        for case, one in kind.cases:
            ways.setdefault(self._way(one), []).append(self.code(case))
        for number, (way, cases) in enumerate(ways.items()):
            word = "elif" if number else "if"
            with lines.block(f"{word} on in ({', '.join(cases)}):" if cases[1:] else f"{word} on == {cases[0]}:"):
                lines.add(*way)
        if kind.default is not None and (otherwise := self._way(kind.default)):
            with lines.block("else:"):
                lines.add(*otherwise)

    def _way(self, kind: Kind) -> tuple[str, ...]:
        """The statements that move past one case."""
        if not isinstance(kind, Structure) or scalar_of(kind) is not None:
            raise RefusedError("only structures have ends to find")
        outer, self.lines = self.lines, type(self.lines)()
        self.lines.depth = 0
        _Passing(self, kind).past()
        found, self.lines = tuple(self.lines.lines), outer
        return found


def ends_text(module: Module, type: Type, field: Field) -> str:
    """The function that finds the ends of a field's elements."""
    try:
        return _Ends(module, type, field).text()
    except RefusedError as error:
        raise error.within(field.where) from None
