"""Where repeated structures end, without reading them: for a repeated field with `-ends: true` one more function.

    ends_entries(view, at, end, ...) -> list[int]
    ENTRIES

The function takes the arguments of the reader, and returns the offset in `view` after each element. It reads only
the parts of an element that determine its size. When an element does not fit, it calls the reader, which reports the
fault. The table `ENTRIES` has the readers of single elements by the value in `switch-on`.

Elements are structures of several types (`switch-on`), their cases. Lengths of cases are sums of constants and of
multiples of counts: `{"1": 8, "n": 4}` stands for 8 + 4 * n bytes.  A `fixed` case has a length that needs no reading.
"""

from __future__ import annotations

from collections import Counter

from exhume.compiler.emit.reader import Reader
from exhume.compiler.emit.shared import Module
from exhume.compiler.emit.text import ATOM, annotation, written_doc
from exhume.compiler.front import expressions as ex
from exhume.compiler.front.kinds import Structure, Switch
from exhume.compiler.front.model import Field, Type
from exhume.compiler.ir.fixed import element_size, fixed_size, scalar_of
from exhume.compiler.refusal import UnsupportedError


class _SkipFunction(Reader):
    """Statements that move `at` past one structure, given the parameters that its parent passes to it."""

    joins_optional = False  # fields on the same condition stay apart, unlike in readers

    def __init__(self, around: _EndsFunction, kind: Structure) -> None:
        """Pass one structure of the list for which `around` finds the ends."""
        super().__init__(around.module, kind.type)
        self.given = dict(zip(kind.type.params, map(around.code, kind.arguments), strict=True))  # as code
        self.fixed_length = True  # until a field has to be read to know the length

    def named(self, field: Field) -> tuple[str, int]:
        """Return code and precedence of a field; parameters are the arguments of the parent."""
        return (self.given[field], ATOM) if field in self.given else super().named(field)

    def keep(self, fields: list[Field]) -> None:
        """Emit nothing: no object is made."""

    def past(self) -> Counter[str]:
        """Return the length of the structure as a sum, `{count: bytes}` for each count expression.

        If some field has to be read to know the length, `lines` get the statements that move `at` past the structure
        instead.
        """
        needed = {name for one in self.type.seq for key in ("size", "repeat-expr") for name in _names(one, key)}
        self.lines.depth = 0
        lengths: Counter[str] = Counter()
        for field in self.type.seq:
            if field.id not in needed:
                size, times = self._length(field)
                lengths[times] += size
                continue
            self.lines.add(f"at += {_sum(lengths)}")
            lengths.clear()
            self.read_single(field)
            self.fixed_length = False
        if not self.fixed_length:
            self.lines.add(f"at += {_sum(lengths)}")
        return lengths

    def _length(self, field: Field) -> tuple[int, str]:
        """Return the length of a field as (bytes, code of how many times).

        Raises `UnsupportedError` if reading is required.
        """
        if field.condition is not None or "valid" in field.raw:
            raise UnsupportedError("a rule or condition cannot be passed over", field.where)
        if (size := fixed_size(field)) is not None:
            return size, "1"
        count = field.expr("repeat-expr")
        each = element_size(field)
        if count is not None and each is not None:
            return each, self._code(count, ATOM)
        if field.size is not None and not field.repeat:
            return 1, self._code(field.size, ATOM)
        raise UnsupportedError("its length cannot be determined without reading it", field.where)


def _sum(lengths: Counter[str]) -> str:
    """Return the code of a length: `{"1": 8, "n": 4}` becomes `8 + 4 * n`."""
    return " + ".join(_product(size, times) for times, size in lengths.items()) or "0"


def _product(size: int, times: str) -> str:
    """Return the code of `size * times`, without a factor of 1."""
    if size == 1:
        return times
    return str(size) if times == "1" else f"{size} * {times}"


def _common_divisor(lengths: dict[str, Counter[str]]) -> str | None:
    """Return the code of the count that all lengths are multiples of ("1" for constants); None if they differ."""
    units = {unit for length in lengths.values() for unit in length}
    return units.pop() if len(units) == 1 and all(lengths.values()) else None


def _names(field: Field, key: str) -> set[str]:
    """Return the names in the expression that a field has for `key`."""
    expr = field.expr(key)
    return set() if expr is None else set(ex.names(expr))


class _EndsFunction(Reader):
    """The function that finds the ends of one field's elements, and the table of the readers of its cases."""

    joins_optional = False  # fields on the same condition stay apart, unlike in readers

    def __init__(self, module: Module, type: Type, field: Field) -> None:
        super().__init__(module, type)
        self.field = field

    def text(self) -> str:
        """Return the source of the function, which returns the offset where each element of the list ends."""
        field, type, lines = self.field, self.type, self.lines
        kind, count = self._supported()
        self._readers(kind)
        self.index = "len(ends)"
        on = self.code(kind.on)
        # `switch-on: kinds[_index]` with `repeat-expr: kinds.size`: the loop runs over `kinds` itself.
        listed = on.removesuffix(f"[{self.index}]")
        loops_over_cases = on != listed and self.code(count) == f"len({listed})"
        fixed, ways = self._ways(kind)
        lines.add("ends: list[int] = []", "add = ends.append", f"length_of = {self._lengths(fixed)}.get", "first = at")
        # All lengths are multiples of one number, which is then left out of the table.
        unit = _common_divisor(fixed)
        times = "" if unit is None or unit == "1" else f" * {unit}"
        with lines.block("try:"):
            with lines.block(f"for on in {listed}:" if loops_over_cases else f"for _ in range({self.code(count)}):"):
                if not loops_over_cases:
                    lines.add(f"on = {on}")
                with lines.block("if (length := length_of(on)) is not None:"):
                    lines.add(f"at += length{times}")
                for way, cases in ways.items():
                    with lines.block(f"elif on in ({', '.join(cases)}):" if cases[1:] else f"elif on == {cases[0]}:"):
                        lines.add(*way)
                lines.add("add(at)")
            with lines.block("if at <= end:"):
                lines.add("return ends")
        with lines.block("except LayoutError:"):
            lines.add("pass")
        lines.add(f"{type.reader_name}(view, first, end{''.join(f', {self.local(one)}' for one in type.params)})")
        lines.add('raise AssertionError("what does not fit was read")')
        given = ["view: View", "at: int", "end: int", *(f"{self.local(p)}: {annotation(p.kind)}" for p in type.params)]
        name = f"{type.reader_name.replace('read_', 'ends_', 1)}_{field.id}"
        about = f"Where each of the `{field.id}` of `{type.where}` ends, when the first begins at `at`."
        opening = f"def {name}({', '.join(given)}) -> list[int]:"
        return "\n".join([opening, *written_doc(about + " Raises `LayoutError`."), *lines.lines])

    def _supported(self) -> tuple[Switch, ex.Expr]:
        """Return the kind of an element of the list, and the count of elements.

        Raises `UnsupportedError` unless the list comes first, is repeated by a count, and uses nothing around it: the
        function reads nothing before it.
        """
        field, needs = self.field, self.needs
        count = field.expr("repeat-expr")
        is_alone = field is self.type.seq[0] and not (needs.stream or needs.parent or needs.root)
        if count is None or field.size is not None or "valid" in field.raw or not is_alone:
            raise UnsupportedError(
                "ends are found of what comes first, is repeated by a count, and uses nothing around it"
            )
        if not isinstance(field.value_kind, Switch):
            raise UnsupportedError("ends are found of structures of several types")
        return field.value_kind, count

    def _lengths(self, fixed: dict[str, Counter[str]]) -> str:
        """Return the code of a table from case to length, for the cases whose length needs no reading.

        It is a constant of the module if all lengths are multiples of one count, and a literal in the function
        otherwise.
        """
        alike = _common_divisor(fixed)
        if alike is None:
            return f"{{{', '.join(f'{case}: {_sum(length)}' for case, length in fixed.items())}}}"
        name = f"_LENGTHS_{self.field.id}".upper()
        table = ", ".join(f"{case}: {length[alike]}" for case, length in fixed.items())
        self.module.later.append(f"{name} = {{{table}}}")
        return name

    def _ways(self, kind: Switch) -> tuple[dict[str, Counter[str]], dict[tuple[str, ...], list[str]]]:
        """Return the lengths of the cases that need no reading, and the statements that pass the others.

        The first result has the length by the code of the case, the second the codes of the cases by their
        statements. Raises `UnsupportedError` for cases that are not structures.
        """
        fixed: dict[str, Counter[str]] = {}
        ways: dict[tuple[str, ...], list[str]] = {}
        for case, one in kind.cases:
            if not isinstance(one, Structure) or scalar_of(one) is not None:
                raise UnsupportedError("only structures have ends to find")
            passing = _SkipFunction(self, one)
            length = passing.past()
            if passing.fixed_length:
                fixed[self.code(case)] = length
            else:
                ways.setdefault(tuple(passing.lines.lines), []).append(self.code(case))
        if kind.default is not None and (not isinstance(kind.default, Structure) or kind.default.type.seq):
            raise UnsupportedError("the size of other types cannot be determined")
        return fixed, ways

    def _readers(self, kind: Switch) -> None:
        """Add a dictionary of the reader of each case to the module, if all readers take the same arguments."""
        structures = [one for _, one in kind.cases if isinstance(one, Structure)]
        needs = [self.module.needs[one.type] for one in structures]
        if len({one.arguments for one in structures}) > 1 or any(one.stream or one.parent or one.root for one in needs):
            return
        # The table has entries `case: reader`, after the readers it names (`later`).
        names = [(self.code(case), one.type) for case, one in kind.cases if isinstance(one, Structure)]
        returned = " | ".join(sorted({type.class_name for _, type in names}))
        takes = ", ".join(["View", "int", "int", *(annotation(one.kind) for one in structures[0].type.params)])
        name = f"{self.type.reader_name.removeprefix('read_')}_{self.field.id}".upper()
        self.module.later.append(
            "\n".join(
                [
                    f"{name}: dict[int, Callable[[{takes}], tuple[{returned}, int]]] = {{",
                    *(f"    {case}: {self.module.name_of(type, type.reader_name)}," for case, type in names),
                    "}",
                    f'"""The readers of the `{self.field.id}` of `{self.type.where}`, by what says which is which."""',
                ]
            )
        )


def ends_text(module: Module, type: Type, field: Field) -> str:
    """Return the source of the function that finds the ends of a field's elements.

    Raises `UnsupportedError` with the field when that cannot be determined without reading.
    """
    try:
        return _EndsFunction(module, type, field).text()
    except UnsupportedError as error:
        raise error.within(field.where) from None
