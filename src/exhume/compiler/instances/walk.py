"""Reads data by a specification without generating code: the plain meaning of a `.ksy`, one step at a time.

It is slow, and records everything: which rules were checked, on which value, and where.  The classes that draw
random instances of a specification (`exhume.compiler.instances.draw`) extend this walk to bytes that are not there
yet.

Parameters: `one` is the field that is read, `node` the structure that it is in, `scope` the context of its
expressions (with its path and position), `stream` the bytes that it is read from, `at` the offset in the data, `raw` a
field of bytes.  `required` and `value` compute an expression, `plain` looks up the bytes of a raw value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from exhume.compiler.front import expressions as ex
from exhume.compiler.front.kinds import BYTES, TEXT, Bits, Integer, Kind, SimpleKind, Structure, Switch
from exhume.compiler.front.model import Field, Type
from exhume.compiler.instances.roles import covers, encoding_of, ending, expression, rules_of, unpacked
from exhume.compiler.instances.tree import (
    BrokenError,
    ChecksumField,
    Evaluator,
    Node,
    Raw,
    Rule,
    Scope,
    Stream,
    UnknownError,
)
from exhume.compiler.ir.fixed import contents, shifted
from exhume.compiler.refusal import UnsupportedError

DEEPEST = 60
"""Most levels of nested structures."""


class Walk(Evaluator):
    """One reading of data.

    Attributes:
        rules: The rules that were met.
        sums: The checksums, with the ranges of bytes that they cover.
        depth: Number of structures and instances around the current one.
    """

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.rules: list[Rule] = []
        self.sums: list[ChecksumField] = []
        self.depth: int = 0

    # Structures.

    def whole(self, type: Type, arguments: list[Any]) -> Node:
        """Read all of the data as a structure with these parameters, instances too.  Raises `BrokenError`."""
        node = Node(type, "", Stream(0, len(self.data), ""), None, None)
        node.values |= {param.id: value for param, value in zip(type.params, arguments, strict=True)}
        self.fields(node, 0)
        self.instances(node)
        return node

    def fields(self, node: Node, at: int) -> int:
        """Read the fields of a structure and return their end. Raises `BrokenError` if it is nested too deeply."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise BrokenError(node.path, at, "depth")
        seq = node.type.seq
        number = 0
        extents: dict[str, tuple[int, int]] = {}  # start and end of each field, for checksums
        while number < len(seq):
            one = seq[number]
            run = self._bits(seq, number)
            start = at
            if run:
                at = self.bits(node, run, at)
                number += len(run)
                continue
            at = self.field(node, one, node.stream, at)
            extents[one.id] = start, at
            number += 1
        for one in seq:
            if (covered := covers(one)) and node.values.get(one.id) is not None:
                # A checksum covers fields around it; an absent one has no bytes.
                pieces = [extents[id] for id in covered if node.values.get(id) is not None]
                self.sums.append(ChecksumField(node.below(one.id), one, *extents[one.id], pieces))
        self.depth -= 1
        return at

    def instances(self, node: Node) -> None:
        """Read all instances at and below a structure, in the order of the specification."""
        for one in node.type.seq:
            self.below(node.values.get(one.id))
        for one in node.type.instances.values():
            self.below(self.get(node, one.id))

    def below(self, value: Any) -> None:
        """Read the instances of the structures in the value of a field."""
        if isinstance(value, Node):
            self.instances(value)
        elif isinstance(value, list):
            for one in value:
                if not isinstance(one, (Node, list)):
                    break
                self.below(one)

    @staticmethod
    def _bits(seq: list[Field], number: int) -> list[Field]:
        """Return the consecutive bit fields of one bit order that start at field `number`."""
        run: list[Field] = []
        for one in seq[number:]:
            kind = one.value_kind
            if not isinstance(kind, Bits) or one.repeat or one.condition is not None:
                break
            first = run[0].value_kind if run else kind
            if isinstance(first, Bits) and first.big != kind.big:
                break
            run.append(one)
        return run

    def get(self, node: Node, id: str) -> Any:
        """Return the value of a field, parameter or instance.

        Raises `UnknownError` for one that is not read yet, or nests too deeply.
        """
        if id in node.values:
            return node.values[id]
        one = node.type.instances.get(id)
        # An instance that is being computed depends on itself.
        if one is None or id in node.running:
            raise UnknownError(f"{node.below(id)} is not read yet")
        node.running.add(id)
        self.depth += 1
        try:
            if self.depth > DEEPEST:
                raise UnknownError("too deep")
            value = self.instance(node, one)
        finally:
            node.running.discard(id)
            self.depth -= 1
        node.values[id] = value
        return value

    def instance(self, node: Node, one: Field) -> Any:
        """Read or compute an instance.  Raises `UnsupportedError` for one without a position."""
        scope = Scope(node, node.stream.base, path=node.below(one.id))
        if not self.present(one, scope):
            return None
        if one.value is not None:
            return self.required(one.value, one, scope)
        stream = node.stream
        if (other := expression(one, "io")) is not None:
            stream = self.required(other, one, scope)
        place = expression(one, "pos")
        if place is None:
            raise UnsupportedError("an instance without a place is not supported", one.where)
        at = self.placed(place, one, stream, scope)
        self.field(node, one, stream, at, asked=True)
        return node.values.pop(one.id)  # `get`, the caller, keeps it

    def placed(self, place: ex.Expr, one: Field, stream: Stream, scope: Scope) -> int:
        """Return the offset at which an instance begins, by its `pos` (`place`).

        Raises `BrokenError` for one before its stream.
        """
        at = self.required(place, one, scope)
        if not isinstance(at, int) or at < 0:
            raise BrokenError(scope.path, stream.base, "pos")
        return stream.base + at

    def present(self, one: Field, scope: Scope) -> bool:
        """Return whether a field exists, by its condition (`if`)."""
        return one.condition is None or bool(self.required(one.condition, one, scope))

    # Fields.

    def field(self, node: Node, one: Field, stream: Stream, at: int, *, asked: bool = False) -> int:
        """Read a field into the structure; return its end.  An instance is `asked`: its condition was tested before."""
        path = node.below(one.id)
        if not asked and not self.present(one, Scope(node, at, path=path)):
            node.values[one.id] = None
            return at
        if not one.repeat:
            value, at = self.one_value(one, Scope(node, at, path=path), stream)
            node.values[one.id] = value
            return at
        values: list[Any] = []
        node.values[one.id] = values
        self.place = at
        for index in self.elements(one, node, stream, values):
            value, at = self.one_value(one, Scope(node, at, index=index, path=f"{path}[{index}]"), stream)
            values.append(value)
            self.place = at
        return at

    place: int = 0
    """End of the element that was read last."""

    def elements(self, one: Field, node: Node, stream: Stream, values: list[Any]) -> Iterator[int]:
        """Yield the index of each element that a repeated field has; the caller reads it before it takes the next."""
        start = Scope(node, self.place, path=node.below(one.id))
        if one.repeat == "expr":
            count = expression(one, "repeat-expr")
            yield from range(self.required(count, one, start) if count is not None else 0)
        elif one.repeat == "eos":
            while self.place < stream.end:
                yield len(values)
        else:
            while True:
                yield len(values)
                if self.is_last(one, node, values):
                    break

    def is_last(self, one: Field, node: Node, values: list[Any]) -> bool:
        """Return whether the element read last is the last.  Raises `UnsupportedError` if no condition is stated."""
        until = expression(one, "repeat-until")
        if until is None:
            raise UnsupportedError("repeat-until is missing", one.where)
        scope = Scope(node, self.place, values[-1], len(values) - 1, f"{node.below(one.id)}[{len(values) - 1}]")
        return bool(self.required(until, one, scope))

    def one_value(self, one: Field, scope: Scope, stream: Stream) -> tuple[Any, int]:
        """Read one value and check it; return the value and its end."""
        self.place = scope.at
        value, at = self.kind(one, one.value_kind, scope, stream)
        if "valid" in one.raw:
            self.check(one, value, scope, at)
        self.place = at
        return value, at

    def kind(self, one: Field, kind: Kind, scope: Scope, stream: Stream) -> tuple[Any, int]:
        """Read one value of a kind; return it and its end.  Raises `UnsupportedError` for unsupported kinds."""
        if isinstance(kind, Switch):
            if one.size is not None or one.to_end:
                return self.sized(one, kind, scope, stream)
            case = self.case(one, kind, scope)
            return (None, scope.at) if case is None else self.kind(one, case, scope, stream)
        if isinstance(kind, Structure):
            if one.size is not None or one.to_end:
                return self.sized(one, kind, scope, stream)
            return self.structure(kind, scope, stream, scope.at)
        if "contents" in one.raw:
            return self.fixed(one, scope, stream, contents(one))
        if isinstance(kind, (Integer, SimpleKind)) and kind.size:
            return self.number(one, kind, scope, stream)
        if isinstance(kind, Bits):  # `bits` stores the value as a field, which an element or a case is not
            node, values = scope.node, dict(scope.node.values)
            at = self.bits(node, [one], scope.at)
            value = node.values[one.id]
            node.values = values
            return value, at
        if kind in (BYTES, TEXT):
            return self.stored(one, kind, scope, stream)
        raise UnsupportedError(f"{one.raw.get('type')} is not supported", one.where)

    def case(self, one: Field, kind: Switch, scope: Scope) -> Kind | None:
        """Return the kind that a switch chooses; None if no case matches and there is no default."""
        on = self.required(kind.on, one, scope)
        for value, case in kind.cases:
            if self.value(value, scope) == on:
                return case
        return kind.default

    def structure(self, kind: Structure, scope: Scope, stream: Stream, at: int) -> tuple[Node, int]:
        """Read a structure; return it and its end."""
        type, above = kind.type, scope.node
        # None: the structure is a root itself, of another specification or of this one (whose root type it has).
        root = (above.root or above) if type.root is above.type.root and type.parent is not None else None
        node = Node(type, scope.path, stream, above, root)
        for param, given in zip(type.params, kind.arguments, strict=True):
            node.values[param.id] = self.required(given, param, scope)
            node.given[param.id] = (given, scope)
        return node, self.content(node, at)

    def content(self, node: Node, at: int) -> int:
        """Read the content of a structure, its fields; return their end."""
        return self.fields(node, at)

    def sized(self, one: Field, kind: Kind, scope: Scope, stream: Stream) -> tuple[Any, int]:
        """Read a structure or bytes in a stream of their own.  Raises `BrokenError` if they are not all there."""
        at = scope.at
        size = stream.end - at if one.size is None else self.required(one.size, one, scope)
        stop = max(at, stream.end) if one.size is None else at + size
        if one.size is not None and not 0 <= size <= max(0, stream.end - at):
            raise BrokenError(scope.path, at, "short" if size >= 0 else "size", _bytes(size))
        if one.size is not None:
            self.note(one, "short", scope, stop, None)
        inner = Stream(at, max(0, size), scope.path, stream)
        return self.within(one, kind, scope, inner), stop

    def within(self, one: Field, kind: Kind, scope: Scope, inner: Stream) -> Any:
        """Read a value that has a stream of its own, `inner`."""
        chosen = self.case(one, kind, scope) if isinstance(kind, Switch) else kind
        if isinstance(chosen, Structure):
            return self.structure(chosen, scope, inner, inner.base)[0]
        return None if chosen is None else Raw(inner.base, inner.length, scope.path, one, scope)

    def note(self, one: Field, rule: str, scope: Scope, stop: int, value: Any) -> None:
        """Record a rule that was met; `stop` is the end of the field, `value` what was checked."""
        self.rules.append(Rule(scope.path, one, rule, scope.at, stop, value, scope))

    # Stored values.

    def take(self, one: Field, scope: Scope, stream: Stream, size: int) -> bytes:
        """Return the bytes of a field of a fixed size.  Raises `BrokenError` if they are not all there."""
        if scope.at + size > stream.end:
            raise BrokenError(scope.path, scope.at, "short", _bytes(size))
        self.note(one, "short", scope, scope.at + size, None)
        return self.data[scope.at : scope.at + size]

    def number(self, one: Field, kind: Integer | SimpleKind, scope: Scope, stream: Stream) -> tuple[Any, int]:
        """Read an integer or float; return it and its end."""
        return unpacked(kind, self.take(one, scope, stream, kind.size)), scope.at + kind.size

    def bits(self, node: Node, run: list[Field], at: int) -> int:
        """Read consecutive fields of bits, which share bytes; return their end.

        Raises `BrokenError` if bytes are missing.
        """
        bits = 0
        for one, before, width in shifted(run):
            bits += width
            stop = at + -(-bits // 8)
            path, kind = node.below(one.id), one.value_kind
            if stop > node.stream.end:
                raise BrokenError(path, at + (bits - width) // 8, "short")
            # Bytes up to the end of this field as a number: earlier fields are above (big-endian) or below its bits.
            big = isinstance(kind, Bits) and kind.big
            many = int.from_bytes(self.data[at:stop], "big" if big else "little")
            value: Any = many >> ((stop - at) * 8 - bits if big else before) & (1 << width) - 1
            node.values[one.id] = bool(value) if width == 1 and isinstance(kind, Bits) and not kind.enum else value
            if "valid" in one.raw:
                self.check(one, node.values[one.id], Scope(node, at, path=path), stop)
        return stop

    def fixed(self, one: Field, scope: Scope, stream: Stream, wanted: bytes) -> tuple[Any, int]:
        """Read constant bytes.  Raises `BrokenError` if they differ."""
        if self.take(one, scope, stream, len(wanted)) != wanted:
            raise BrokenError(scope.path, scope.at, "contents")
        self.note(one, "contents", scope, scope.at + len(wanted), wanted)
        return Raw(scope.at, len(wanted), scope.path, one, scope), scope.at + len(wanted)

    def stored(self, one: Field, kind: Kind, scope: Scope, stream: Stream) -> tuple[Any, int]:
        """Read bytes or text; return the value and the offset after it.

        Raises `UnsupportedError` for those without a size, `BrokenError` if they are not all there.
        """
        at = scope.at
        if "terminator" in one.raw or one.raw.get("type") == "strz":
            value, after = self.terminated(one, scope, stream)
        else:
            if one.size is None and not one.to_end:
                raise UnsupportedError("needs a `type`, `size`, `size-eos`, `terminator` or `contents`", one.where)
            size = max(0, stream.end - at) if one.size is None else self.required(one.size, one, scope)
            if not 0 <= size <= max(0, stream.end - at):
                raise BrokenError(scope.path, at, "short" if size >= 0 else "size", _bytes(size))
            if one.size is not None:
                self.note(one, "short", scope, at + size, None)
            value, after = Raw(at, size, scope.path, one, scope), at + size
        if kind == TEXT:
            return self.text(one, value, scope), after
        return value, after

    def terminated(self, one: Field, scope: Scope, stream: Stream) -> tuple[Raw, int]:
        """Read bytes up to a terminator; return them and the offset after it.  Raises `BrokenError` if it is
        missing.
        """
        end = ending(one)
        stop = self.data.find(bytes([end.mark]), scope.at, stream.end)
        if stop < 0:
            if one.raw.get("eos-error", True):
                raise BrokenError(scope.path, scope.at, "short")
            size = stream.end - scope.at
            return Raw(scope.at, size, scope.path, one, scope), stream.end
        size = stop - scope.at
        self.note(one, "terminator", scope, stop + 1, None)
        return Raw(scope.at, size + end.included, scope.path, one, scope), stop + end.passed

    def text(self, one: Field, raw: Raw, scope: Scope) -> str:
        """Decode text.  Raises `BrokenError` for bytes that are invalid in its encoding."""
        encoding = encoding_of(one)
        try:
            text = str(self.bytes_of(raw), encoding)
        except UnicodeDecodeError:
            raise BrokenError(scope.path, scope.at, "encoding") from None
        self.note(one, "encoding", scope, scope.at + raw.size, text)
        return text

    # Checks.

    def check(self, one: Field, value: Any, scope: Scope, at: int) -> None:
        """Raise `BrokenError` if a value, which ends at `at`, is not valid; note each rule that it meets."""
        here = Scope(scope.node, at, value, scope.index, scope.path)
        for rule, rule_value in rules_of(one).items():
            if not self.holds(one, rule, rule_value, here):
                expr = rule_value if isinstance(rule_value, ex.Expr) else None
                raise BrokenError(scope.path, scope.at, rule, "", expr, here)
            self.note(one, rule, scope, at, value)

    def holds(self, one: Field, rule: str, rule_value: Any, here: Scope) -> bool:
        """Return whether a rule of `valid` holds: its key, and its value as an expression, or several for `any-of`.

        `here` has the checked value as `_`.
        """
        value = self.plain(here.item)
        if rule == "any-of":
            return any(self.required(choice, one, here) == value for choice in rule_value)
        if rule == "in-enum":
            kind = one.value_kind
            enum = kind.enum if isinstance(kind, (Integer, Bits)) else None
            return enum is None or value in enum.values
        found = self.required(rule_value, one, here)
        if rule == "expr":
            return bool(found)
        if rule == "eq":
            return bool(value == found)
        return bool(value >= found if rule == "min" else value <= found)


def _bytes(size: int) -> str:
    """Return a size in words."""
    return f"{size} byte{'s' * (size != 1)}"
