"""Statements that check a value: the forms of `valid`."""

from __future__ import annotations

import re

from exhume.compiler.emit.code import Code
from exhume.compiler.emit.text import BINDS, members, negated
from exhume.compiler.front import expressions as ex
from exhume.compiler.front.kinds import Bits, Integer
from exhume.compiler.front.model import Field
from exhume.compiler.ir.needs import without_rest
from exhume.compiler.ir.varints import scalar_of
from exhume.compiler.refusal import UnsupportedError


class Rules(Code):
    """How values that a field does not allow are refused."""

    def check(self, field: Field, into: str, path: str, start: str, stop: str = "") -> None:
        """Statements that refuse a value that `valid` does not allow."""
        valid = field.raw["valid"]
        rules = valid if isinstance(valid, dict) else {"eq": valid}
        for key, said in rules.items():
            self._rule(field, key, said, into, path, start, stop)

    def _rule(self, field: Field, key: str, said: object, into: str, path: str, start: str, stop: str) -> None:
        lines = self.lines
        self.item = (into, field.one)
        wanted = ""
        opposite = ""
        bound = ex.parse(said) if key in ("eq", "min", "max") else None
        if key == "expr" and (most := self._most(field, ex.parse(said))) is not None:
            key, bound = "max", most
        if bound is not None:
            code = self._code(without_rest(bound), BINDS["<"] + 1)
            compare = {"eq": "==", "min": ">=", "max": "<="}[key]
            condition, opposite = f"{into} {compare} {code}", f"{into} {ex.OPPOSITE[compare]} {code}"
            words = {"min": "at least", "max": "at most"}.get(key)
            shown = f'"{words} {code}"' if code.isdigit() else f'f"{words} {{{code}}}"'
            if re.search(r"""["'\\{}]""", code):  # which an f-string may not hold
                shown = f'"{words} " + str({code})'
            wanted = shown if words else code
        elif key == "any-of" and isinstance(said, list):
            codes = ", ".join(self.code(ex.parse(one)) for one in said)
            condition = f"{into} in ({codes},)"
            wanted = f"({codes},)"
        elif key == "in-enum":
            enum = field.one.enum if isinstance(field.one, (Integer, Bits)) else None
            if enum is None:
                raise UnsupportedError("in-enum needs an enum")
            condition = f"{into} in {members(sorted(enum.values))}"
            wanted = f'"a value of {enum.id}"'
        elif key == "expr":
            condition = self.code(ex.parse(said))
            wanted = repr(" ".join(str(said).split()))
        else:
            raise UnsupportedError(f"`valid: {key}` is not supported")
        self.item = None
        with lines.block(f"if {opposite or negated(condition)}:"):
            lines.add(f"raise LayoutError({path}, {start}, {stop or 'at'}, {wanted}, {into})")
        unsigned = isinstance(field.one, Integer) and field.one.size and not field.one.signed
        if condition == f"{into} <= end - at" and (unsigned or scalar_of(field.one)) and field.condition is None:
            self.bounded = into

    @staticmethod
    def _most(field: Field, test: ex.Expr) -> ex.Expr | None:
        """What the number may be at most when that is all that `valid: expr:` says: `_.value <= ...`."""
        if not isinstance(test, ex.Binary) or test.op != "<=":
            return None
        scalar = scalar_of(field.one)
        number = ex.Name("_") if scalar is None else ex.Member(ex.Name("_"), str(scalar.scalar))
        return test.right if test.left == number else None
