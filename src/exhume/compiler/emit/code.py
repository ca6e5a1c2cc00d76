"""Expressions of a type as Python code.

A specification has expressions such as `size: header.length - 4`. `Code` is the base of all emitters of Python: they
write readers (functions that read one type; in these, `view` are the bytes, `at` the position and `end` the end of
the stream) and classes, whose properties are instances. `foreign` specifications are those of users: their readers
pay each step from a budget, `run`.
"""

from __future__ import annotations

from collections.abc import Callable

from exhume.compiler import refusal
from exhume.compiler.emit.context import CodeContext
from exhume.compiler.emit.text import ATOM, BINDS, CLASSES, OWN_NAMES, bound, literal, one_of, safe
from exhume.compiler.front import expressions as ex
from exhume.compiler.front.kinds import (
    CALLS,
    MEMBERS,
    REST,
    UNKNOWN,
    Bits,
    Integer,
    Kind,
    Sequence,
    SimpleKind,
    Structure,
    combined,
    enum_of,
    family,
    kind_text,
    text_encoding,
)
from exhume.compiler.front.model import Field
from exhume.compiler.front.specs import takes
from exhume.compiler.ir.fixed import element_bits, kind_bits, scalar_of, type_bits
from exhume.compiler.ir.needs import is_bounded, without_rest, words
from exhume.compiler.refusal import UnsupportedError

BYTES_TO_COMPARE = 32
"""Cost in bytes of the budget of each element of a list from which `min` or `max` chooses."""

CHARACTERS_OF_A_STEP = 1_000
"""Characters of emitted code that cost one more step of the budget."""

MOST_SHIFT = 64
"""Largest constant by which a bounded number is shifted without a check of the result."""


def _whole_bytes(bits: int | None) -> int:
    """Return a number of bits in whole bytes; raises `UnsupportedError` if it is not fixed (None)."""
    if bits is None:
        raise UnsupportedError("the size of a type without a fixed size")
    return -(-bits // 8)


class Code(CodeContext):
    """Translates expressions of one type to Python.

    In the methods, `level` is how strongly the code around an expression binds: what binds less gets parentheses.
    In a reader, `size: header.length - 4` becomes `header.length - 4`; with `level` of `*`, `(header.length - 4)`.
    """

    def code(self, expr: ex.Expr) -> str:
        """Return an expression as Python, and emit what has to precede it.

        Raises `UnsupportedError` for what is not supported, or grows without end.
        """
        return self._placed(expr, lambda: self._code(without_rest(expr)))

    def argument(self, expr: ex.Expr, wanted: Kind, what: str) -> str:
        """Return an argument for a parameter of the kind `wanted` as Python, and emit what has to precede it.

        See `taken`, which raises the same error.
        """
        return self._placed(expr, lambda: self.taken(without_rest(expr), wanted, what))

    def _placed(self, expr: ex.Expr, write: Callable[[], str]) -> str:
        """Return an expression as Python (`write`) for the current position, which instances in it may use or move.

        Raises `UnsupportedError` for what grows without end, or reads from the stream between a size and its bytes.
        """
        model = self.type.root.model
        placed = model.moving is not None and not isinstance(expr, ex.Literal) and self.sync()
        code = write()
        self.module.written += len(code)
        if len(code) > refusal.EXPRESSION or self.module.written > refusal.EXPRESSIONS_AS_CODE:
            raise UnsupportedError("an expression that grows without end")
        if placed and not model.drifting.isdisjoint(words(expr)):  # an instance in it reads here, and moves the stream
            if self.moved:
                raise UnsupportedError("an instance without `pos` as an argument of a structure with a size")
            self.lines.add(f"asked{self.asked} = {code}", "at = io.at")
            if self.loose or self.counts:
                self.lines.add("bit = at * 8 - io.left" if model.shares else "bit = at * 8")
            code, self.asked = f"asked{self.asked}", self.asked + 1
        return code

    def _code(self, expr: ex.Expr, level: int = 0) -> str:  # noqa: C901 - one case for each form of expression
        """Return an expression as Python, in parentheses when it binds less than `level`."""
        match expr:
            case ex.Literal(value):
                return literal(value)
            case ex.Array(items):
                return f"[{', '.join(map(self._code, items))}]"
            case ex.EnumValue(path, value):
                return str(self.type.enum("::".join(path)).number(value))
            case ex.SizeOf(type, bits):
                size = kind_bits(self.type.kind_of(ex.Cast(expr, type)))
                return str(size if bits and size is not None else _whole_bytes(size))
            case ex.Format(parts):
                texts = [
                    self._code(one, BINDS["+"]) if family(self.kind(one)) == "text" else f"str({self._code(one)})"
                    for one in parts
                ]
                if self.module.foreign and len(texts) > 1:
                    return f"{self.module.helper('joined')}(run, {', '.join(texts)})"
                return bound(" + ".join(texts) or "''", BINDS["+"], level)
            case ex.Member(of, "_sizeof"):  # the size that the specification states, a constant
                return str(self._stored_size(of))
            case ex.Name(id):
                return self._name(id, level)
            case ex.Cast(of, name) if family(combined(self.kind(expr))) == "bytes" and isinstance(of, ex.Array):
                return f"bytes({self._code(of)})"
            case ex.Cast(of, _) if self._is_plain_list(of, self.kind(expr)):
                return f"[{', '.join(map(self._code, ex.items_of(of) or ()))}]"
            case ex.Cast(of, name):
                return self.taken(of, self.kind(expr), f"`as<{name:.60}>` takes", level)
            case ex.Index(of, at):
                return f"{self._code(of, ATOM)}[{self._code(at)}]"
            case ex.Member(of, name):
                return self._member(of, name, level)
            case ex.Call(of, name, arguments):
                return self._call(of, name, arguments)
            case ex.Unary(op, of):
                binds = BINDS["~" if op == "-" else op]
                return bound(f"{op}{' ' if op == 'not' else ''}{self._code(of, binds)}", binds, level)
            case ex.Binary("or" | "and", _, _) if (found := one_of(expr)) is not None:
                value, choices = found
                word = "in" if expr.op == "or" else "not in"
                listed = ", ".join(self._code(one) for one in choices)
                return bound(f"{self._code(value, BINDS['<'] + 1)} {word} ({listed})", BINDS["<"], level)
            case ex.Binary("<<" | "*" | "+" | "-", left, right) if self.module.foreign and self._grows(expr):
                helper = self.module.helper({"<<": "shifted", "*": "multiplied"}.get(expr.op, "joined"))
                run = "run, " if expr.op in "+-" else ""
                other = f"-{self._code(right, BINDS['~'])}" if expr.op == "-" else self._code(right)
                return f"{helper}({run}{self._code(left)}, {other})"
            case ex.Binary(op, left, right) if self._is_long(left) and self._is_long(right):
                return bound(f"{self.weighed(left)} {op} {self.weighed(right)}", BINDS[op], level)
            case ex.Binary(op, left, right):
                binds = BINDS[op]
                python = "//" if op == "/" and self.kind(expr) != SimpleKind("float") else op
                # How strongly the operands have to bind; comparisons cannot be chained.
                left_level = binds + 1 if binds == BINDS["<"] else binds
                right_level = binds if self._regroups(expr) else binds + 1
                return bound(f"{self._code(left, left_level)} {python} {self._code(right, right_level)}", binds, level)
            case ex.Choice(condition, then, otherwise):
                text = f"{self._code(then, 2)} if {self._code(condition, 2)} else {self._code(otherwise, 1)}"
                return bound(text, 1, level)

    def _regroups(self, expr: ex.Binary) -> bool:
        """Return whether `a op (b op c)` equals `(a op b) op c`, so that it needs no parentheses.

        It does not for floats, which are rounded, or for a product with a quotient or a remainder.
        """
        if expr.op in ("and", "or"):
            return True
        # Operators inside the parentheses that allow this; the other operators need them.
        others = {"*": ("*",), "+": ("+", "-")}.get(expr.op, ())
        right = expr.right
        return isinstance(right, ex.Binary) and right.op in others and family(self.kind(expr)) != "float"

    def _is_plain_list(self, expr: ex.Expr, wanted: Kind) -> bool:
        """Return whether a literal list is empty, or would be bytes, where a list is wanted."""
        return family(combined(wanted)) == "sequence" and (expr == ex.Array(()) or isinstance(expr, ex.Literal))

    def taken(self, of: ex.Expr, wanted: Kind, what: str, level: int = 0) -> str:
        """Return an expression as Python where a value of the kind `wanted` is required.

        If the kind cannot be decided now, the code checks the value at run time; `what` names the place in errors.
        Raises `UnsupportedError` if the expression never has that kind.
        """
        if not self.module.foreign or takes(self.kind(of), wanted, what):
            return self._code(of, level)
        wanted = combined(wanted)
        is_list = isinstance(wanted, Sequence)
        item = combined(wanted.of) if isinstance(wanted, Sequence) else wanted
        classes = self._classes(item, self.kind(of))
        if not classes:
            raise UnsupportedError(f"{what} {kind_text(wanted)}, which is not supported")
        helper = self.module.helper("all_taken" if is_list else "taken")
        return f"{helper}({'run, ' if is_list else ''}{self._code(of)}, {classes}, {kind_text(item)!r})"

    def _classes(self, wanted: Kind, given: Kind) -> str:
        """Return the classes of the values of a kind, as code for `isinstance`; empty if they have no class.

        `given` is the kind of the value that is checked.
        """
        if isinstance(wanted, Structure):
            if family(combined(given)) == "structure" and not wanted.type.has(OWN_NAMES):
                return self.module.helper("Structure")  # one of another type may have the same members
            with self.module.plain():  # the base class of the traced one
                return self.module.name_of(wanted.type, wanted.type.class_name)
        if family(wanted) == "stream":
            return self.module.helper("Stream")
        return CLASSES.get(family(wanted), "")

    def _is_long(self, expr: ex.Expr) -> bool:
        """Return whether a value may be long (a string, bytes, a list) in third-party specifications."""
        long = self.module.foreign and not isinstance(expr, (ex.Literal, ex.Array))
        return long and family(combined(self.kind(expr))) in ("text", "bytes", "sequence")

    def weighed(self, expr: ex.Expr, level: int = 0, times: int = 1) -> str:
        """Return an expression as Python; if its value may be long, the code charges its length, `times` times."""
        if not self._is_long(expr):
            return self._code(expr, level)
        many = f", {times}" if times > 1 else ""
        return f"{self.module.helper('weighed')}(run, {self._code(expr)}{many})"

    def _grows(self, expr: ex.Binary) -> bool:
        """Return whether the value may double from each instance or element to the next, and so grow without limit."""
        operands = expr.left, expr.right
        bounded = [is_bounded(self.type, one, self.item[1] if self.item else UNKNOWN) for one in operands]
        has_constant = any(isinstance(one, ex.Literal) and isinstance(one.value, int) for one in operands)
        if expr.op == "<<":  # a bounded number may be shifted by a constant
            shift = expr.right
            return not (isinstance(shift, ex.Literal) and 0 <= shift.value <= MOST_SHIFT and bounded[0])
        if expr.op == "*":
            return not has_constant or not all(bounded)
        if all(isinstance(self.kind(one), (Integer, Bits)) for one in operands):
            return not any(bounded)
        return expr.op == "+" and not has_constant  # strings are joined

    def _stored_size(self, expr: ex.Expr) -> int:
        """Return how many bytes the field takes that the expression names.

        Raises `UnsupportedError` if that is not fixed.
        """
        field = self._field_of(expr.of if isinstance(expr, ex.Index) else expr)
        is_element = isinstance(expr, ex.Index)
        if field is not None and field.value is None and (field.repeat is not None) == is_element:
            return _whole_bytes(element_bits(field))
        return _whole_bytes(kind_bits(self.kind(expr)))

    def _field_of(self, expr: ex.Expr) -> Field | None:
        """Return the field that an expression names, such as `size` or `header.size`; None for any other expression."""
        match expr:
            case ex.Name(id):
                owner: Kind = Structure(self.type)
            case ex.Member(of, id):
                owner = self.kind(of)
            case _:
                return None
        return owner.type.field(id) if isinstance(owner, Structure) and not id.startswith("_") else None

    def _name(self, id: str, level: int) -> str:
        """Return the code of a name: of a field by `named`, of `_parent`, `_root` and `_io` by `above`.

        Raises `UnsupportedError` for `_` and `_index` outside of a list (and `_` outside of `valid`).
        """
        if id == "_":
            if self.item is None:
                raise UnsupportedError("`_` has no meaning here")
            return self.item[0]
        if id == "_index":
            if not self.index:
                raise UnsupportedError("`_index` has no meaning here")
            return bound(self.index, BINDS["-"] if self.index.endswith(" - 1") else ATOM, level)
        if id == "_sizeof":
            return str(_whole_bytes(type_bits(self.type)))
        if id == REST.id:
            at, end = self.place()
            return bound(f"{end} - {at}", BINDS["-"], level)
        if id in ("_parent", "_root", "_io"):
            return self.above(id)
        text, binds = self.named(self.type.field(id))
        return bound(text, binds, level)

    def _member(self, of: ex.Expr, name: str, level: int) -> str:
        """Return the code of `of.name`, in parentheses when it binds less than `level`.

        A field of a structure stays `entry.size`, `name.length` becomes `len(name)`, and `_io.pos` `at - base`.
        Raises `UnsupportedError` if values of that kind have no such member.
        """
        kind = self.kind(of)
        if of == ex.Name("_io"):
            return self._of_own_stream(name, level)
        if isinstance(of, ex.Name) and (found := self.in_place(of.id, name)) is not None:
            return bound(found[0], found[1], level)
        code = self._code(of, ATOM)
        if kind == SimpleKind("stream"):
            return self._of_other_stream(code, name, level)
        if scalar := scalar_of(kind):
            if name != scalar.scalar:
                raise UnsupportedError(f"{scalar.where} is read as its {scalar.scalar}: `{name}` is not there")
            return code
        kind = combined(kind)
        if isinstance(kind, Structure):
            if name == "_root" and kind.type.parent is None:
                return code
            if name not in ("_io", "_parent", "_root"):
                name = safe(kind.type.field(name).id)
            return f"{code}.{name}"
        return self._of_value(of, code, kind, name)

    def _of_own_stream(self, name: str, level: int) -> str:
        """Return the code of `_io.size`, `_io.pos` or `_io.eof` of the structure itself, such as `at - base`."""
        at, end = self.place()
        if name == "eof":
            return bound(self.at_end(at, end), BINDS["and"], level)
        if name not in ("size", "pos"):
            raise UnsupportedError(f"`_io.{name}` is not supported")
        return bound(f"{end if name == 'size' else at} - {self.begin()}", BINDS["-"], level)

    def _of_other_stream(self, code: str, name: str, level: int) -> str:
        """Return the code of a member of another stream, which is an object, or a tuple in exhume's own readers."""
        if self.foreign:
            known = {"size": "size", "pos": "pos", "eof": "is_eof"}
            if name not in known:
                raise UnsupportedError(f"`{name}` of a stream is not supported")
            return f"{code}.{known[name]}()"
        if name != "size":
            raise UnsupportedError(f"`{name}` of another stream is not supported")
        return bound(f"{code}[2] - {code}[1]", BINDS["-"], level)  # the tuple is (view, start, end)

    def _of_value(self, of: ex.Expr, code: str, kind: Kind, name: str) -> str:
        """Return the code of a member that the language defines, such as `len(name)` for `name.length`.

        `code` and `kind` are those of `of`.
        """
        what = family(kind)
        if name not in MEMBERS[what]:
            raise UnsupportedError(f"`{name}` is not supported")
        match name:
            case "size" | "length":
                return f"len({code})"
            case "first":
                return f"{code}[0]"
            case "last":
                return f"{code}[-1]"
            case "reverse":
                return f"{self.weighed(of, ATOM)}[::-1]"
            case "min" | "max":
                return f"{name}({self.weighed(of, ATOM, BYTES_TO_COMPARE)})"
            case "to_i" if what == "text":
                return self._number(code)
            case "to_i":
                is_named = self.foreign and enum_of(kind) is not None
                return f"int({code})" if is_named or what in ("bool", "float") else code
            case "to_s":
                return f"str(int({code}))" if what == "bool" else f"str({code})"
        if self.module.foreign:  # `_io` and `_parent` of a structure of one of several types, if it is one
            code = f"{self.module.helper('taken')}({code}, {self.module.helper('Structure')}, 'a structure')"
        return f"{code}.{name}"

    def _call(self, of: ex.Expr, name: str, arguments: tuple[ex.Expr, ...]) -> str:
        """Return the code of a method call: `x.to_i(16)` as `int(x, 16)`, `x.to_s("ASCII")` as `str(x, "ASCII")`.

        For third-party specifications, helpers (`number`, `weighed`) check the number and take from the budget.
        """
        kind = family(combined(self.kind(of)))
        if name not in CALLS.get(kind, ()):
            raise UnsupportedError(f"`{name}()` is not supported")
        if name == "to_s":
            encoding = arguments[0]
            if not isinstance(encoding, ex.Literal):
                raise UnsupportedError("`to_s()` takes the name of an encoding")
            return f"str({self.weighed(of)}, {literal(text_encoding(encoding.value))})"
        given = [self._code(one) for one in arguments]
        if name == "substring":
            return f"{self.weighed(of, ATOM)}[{given[0]}:{given[1]}]"
        return self._number(self._code(of), *given)

    def _number(self, *given: str) -> str:
        """Return the code that makes a number of a string: `number(text, 16)`; `given` are the arguments, as code."""
        helper = self.module.helper("number") if self.module.foreign else "int"
        return f"{helper}({', '.join(given)})"

    def step(self, at: str = "at", path: str = '""', least: int = 1) -> Callable[[], None]:
        """Emit a charge of one step to the budget: `run.steps -= 1`, and an error if it is used up.

        `at` and `path` are code for the position and the path in the error.  Call the returned function after further
        lines were emitted: the charge becomes `least` and a step for every `CHARACTERS_OF_A_STEP` of theirs; the
        statement is removed if that is 0.
        """
        lines, first = self.lines.lines, len(self.lines.lines)
        self.lines.add("run.steps -= 1", "if run.steps < 0:", f"    raise run.over({at}, {path})")

        def weigh() -> None:
            """Correct the cost that the first line charges by the length of the code that was added since."""
            many = least + sum(map(len, lines[first:])) // CHARACTERS_OF_A_STEP
            if many:
                lines[first] = lines[first].replace("-= 1", f"-= {many}")
            else:
                del lines[first : first + 3]  # the lines that were added above

        return weigh
