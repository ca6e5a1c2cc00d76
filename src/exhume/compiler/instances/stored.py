"""Drawing the bytes of a field for a random file of a specification, unless the bytes are already decided.

Numbers are drawn by their bounds, by their rules (`valid`), and by their use in expressions (`FieldUse`).

Parameters: `one` is the field that is drawn, `node` the structure that it is in, `scope` the context of its expressions
(with its path and offset), `stream` the bytes that it is in, `at` an offset, `raw` a field of bytes, `low` and `high`
the bounds of a number, both included.

Inherited from `draft`: `drawn_once(path, purpose, draw)` returns what was drawn before, or draws it; `drawn` has it
all; `chance` draws.  A key is a variable: a word and a path.  `pins` has values that a correction requires, by key;
`byte_at` the known bytes by offset; `settled` the paths whose bytes were known before; `raws` the fields of bytes by
path, and `owners` the path of the first by start and size; `uses` how expressions use a field; `sizes` the sizes of
streams by path.  `has_space` returns whether bytes fit their stream, which is longer in the next pass if not;
`position_apart` is an offset apart from all others; `fix_up` corrects values so that an expression is right; `required`
is its value, and raises `RetryError` where `value` raises `UnknownError`.  `failed` counts failed corrections by path.
`small`: draw small values; `changed`: another pass is needed.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

from exhume.compiler.front.kinds import TEXT, Bits, Integer, Kind, SimpleKind
from exhume.compiler.front.model import Field
from exhume.compiler.instances.draft import Draft, RetryError
from exhume.compiler.instances.roles import FieldUse, encoding_of, ending, packed, rules_of, unpacked
from exhume.compiler.instances.solve import LARGEST, Key, in_range, limits
from exhume.compiler.instances.tree import Node, Raw, Scope, Stream, UnknownError
from exhume.compiler.ir.fixed import shifted

DRAWINGS = 8
"""Drawings of a number before those that decide something are tried in order."""

MOST_INDEX = 3
"""Greatest index that is drawn outside of lists."""

EDGES = (127, 128, 255, 256, 1 << 31, 1 << 32, 1 << 63)
"""Numbers at which their stored form or their sign changes."""

MOST_FAILED = 4
"""Most drawings after which a rule that depends on the size of a stream may still be broken."""


class StoredValues(Draft):
    """Draws stored values that meet their rules, and keeps them by their offset in `byte_at`."""

    def draw_number(
        self,
        one: Field | None,
        low: int,
        high: int,
        kind: Integer | Bits | None,
        scope: Scope | None,
        stream: Stream | None,
        node: Node | None = None,
    ) -> int:
        """Return a random number of [low, high] that its field allows, chosen by its use.

        `kind` is that of the number; None for one of variable length, which the structure `node` stands for.  `one`,
        `scope` and `stream` are None if the number is not of a field.  Raises `RetryError` if no number is allowed.
        """
        test: Callable[[int], bool] = _any
        if one is not None and scope is not None and "valid" in one.raw:
            low, high, choices = self.allowed(one, scope, low, high)
            if choices is not None:
                return self.chance.choice(choices)
            if low > high:
                raise RetryError([*self.rule_variables(one, scope), ("value", scope.path)])
            if "expr" in rules_of(one):
                test = self.rule_test(one, scope, node)
        use = self.uses.get(one, FieldUse()) if one is not None else FieldUse()
        near = [number for number in _remarkable(use, one, kind) if low <= number <= high]
        # The index of the element that contains the number is the last one in its path.
        indexes = re.findall(r"\[(\d+)\]", scope.path) if scope is not None else []
        last_before = int(indexes[-1]) - 1 if indexes else MOST_INDEX
        # Draw a few times, then try the known candidates in order.
        for _ in range(DRAWINGS):
            value = self.draw_between(use, near, low, high, last_before)
            if test(value):
                return value
        fitting = [number for number in (low, *near, high) if test(number)]
        if not fitting:
            raise RetryError([] if scope is None or one is None else self.rule_variables(one, scope))
        return self.chance.choice(fitting)

    def draw_between(self, use: FieldUse, near: list[int], low: int, high: int, last_before: int) -> int:
        """Return a number of [low, high]: small if it is a count, near the constants that expressions compare it with.

        An index of another element is at most `last_before`, the number of the element before the current one.
        """
        sixteenth = 0 if self.small else self.chance.integer(0, 15)  # it weighs the alternatives
        if use.roles & {"size", "count"}:
            is_count = "count" in use.roles
            if near and sixteenth >= 14:
                return self.chance.choice(near)
            if sixteenth == 13 and low <= 127 and high >= 129 and not is_count:
                return self.chance.choice((127, 128, 129))  # from 128 on, a variable-length number has two bytes
            above = 4 if is_count else 12
            return self.chance.integer(low, min(high, low + (2 if self.small else above)))
        if "index" in use.roles:  # -1 too, if the number can have a sign
            return self.chance.integer(max(low, -1), max(low, -1, min(high, last_before)))
        if near and sixteenth < 12:
            return self.chance.choice(near)
        if "place" in use.roles:
            return self.chance.integer(low, min(high, low + 64))
        if sixteenth < 4:
            return self.chance.integer(low, min(high, low + 3))
        if sixteenth < 7:
            edges = {low, low + 1, high - 1, high, *EDGES}
            return self.chance.choice(sorted(edge for edge in edges if low <= edge <= high))
        return self.chance.integer(low, high)

    def allowed(self, one: Field, scope: Scope, low: int, high: int) -> tuple[int, int, list[int] | None]:
        """Return least and greatest number by `valid`, and the only numbers that it allows if it names them (else
        None).
        """
        rules = rules_of(one)
        for rule, rule_value in rules.items():
            if rule == "in-enum":
                kind = one.value_kind
                if isinstance(kind, (Integer, Bits)) and kind.enum is not None:
                    return low, high, sorted(number for number in kind.enum.values if low <= number <= high)
            elif rule == "any-of":
                return low, high, [int(self.required(choice, one, scope)) for choice in rule_value]
            elif rule == "eq":
                return low, high, [int(self.required(rule_value, one, scope))]
            elif rule in ("min", "max"):
                here = Scope(scope.node, scope.at, None, scope.index, scope.path)  # `_` has no value yet
                bound = self.required(rule_value, one, here)
                low, high = (max(low, bound), high) if rule == "min" else (low, min(high, bound))
        return low, high, None

    def rule_variables(self, one: Field, scope: Scope) -> list[Key]:
        """Return the variables that the rules of a field depend on."""
        # `any-of` has several expressions, which are not followed, and `in-enum` none.
        rule_value = [rule for key, rule in rules_of(one).items() if key not in ("any-of", "in-enum")]
        return [key for rule in rule_value for key in self.variables(rule, scope)]

    def rule_test(self, one: Field, scope: Scope, node: Node | None) -> Callable[[int], bool]:
        """Return a test whether a number passes the expression of `valid`."""
        expr = rules_of(one)["expr"]

        def test(number: int) -> bool:
            """Return whether `expr` is true if the field has the value `number`; False if that is unknown."""
            item: Any = number
            if node is not None:
                node.values[str(node.type.scalar)] = number
                item = node
            try:
                return bool(self.value(expr, Scope(scope.node, scope.at, item, scope.index, scope.path)))
            except UnknownError:
                return False

        return test

    def draw_float(self, kind: SimpleKind) -> float:
        """Return a random float: mostly one of a few remarkable ones."""
        nice = self.chance.choice([0.0, 1.0, -1.5, 1e-9, 1e9, float("inf"), float("nan"), None])
        if nice is None:  # any float; most of 8 bytes do not fit 4
            return float(struct.unpack("<d", self.chance.data(8))[0]) if kind.size == 8 else 0.25
        return nice

    def draw_stored(self, one: Field, kind: Integer | SimpleKind, scope: Scope, stream: Stream) -> Any:
        """Return a random value of a stored number."""
        if isinstance(kind, Integer):
            return self.draw_number(one, *limits(kind), kind, scope, stream)
        return self.draw_float(kind)

    def check(self, one: Field, value: Any, scope: Scope, at: int) -> None:
        """Check a drawn value against the rules of its field.

        Raises `RetryError`, with the variables to draw again, if it breaks one.  A rule that depends on the size of a
        stream is given some more drawings first: what is drawn later may make the stream long enough.
        """
        here = Scope(scope.node, at, value, scope.index, scope.path)
        for rule, rule_value in rules_of(one).items():
            if not self.holds(one, rule, rule_value, here):
                keys: list[Key] = [("value", scope.path), ("bytes", scope.path)]
                sizes = [key for key in self.rule_variables(one, here) if key[0] == "size" and self.can_change(key)]
                if sizes and self.failed.get(scope.path, 0) < MOST_FAILED:
                    self.failed[scope.path] = self.failed.get(scope.path, 0) + 1
                    self.changed = True
                    continue
                raise RetryError([*keys, *self.rule_variables(one, here)])

    def store(self, at: int, data: bytes) -> None:
        """Set bytes that are not known yet."""
        for offset, byte in enumerate(data):
            self.byte_at.setdefault(at + offset, byte)

    def known_bytes(self, at: int, size: int) -> bytes | None:
        """Return the `size` bytes at `at`, None unless all of them are known (stored in `byte_at`)."""
        found = [self.byte_at.get(at + offset) for offset in range(size)]
        return None if any(byte is None for byte in found) else bytes(byte for byte in found if byte is not None)

    def number(self, one: Field, kind: Integer | SimpleKind, scope: Scope, stream: Stream) -> tuple[Any, int]:
        """Read a number if its bytes are known, else draw it; return its value and where it ends.

        A value in `pins`, which a solution requires, is taken if it fits.
        """
        at, path = scope.at, scope.path
        fits = self.has_space(stream, at, kind.size)  # False: the stream will be longer in the next pass
        data = self.known_bytes(at, kind.size) if fits else None
        if data is not None:
            self.settled.add(path)
        else:
            value = self.pins.get(("value", path))
            if value is None or (isinstance(kind, Integer) and not in_range(kind, value)):
                value = self.drawn_once(path, one.where, lambda: self.draw_stored(one, kind, scope, stream))
            data = packed(kind, value)
            if fits:
                self.store(at, data)  # some of the bytes may be known already: these stay
                data = bytes(self.byte_at[at + offset] for offset in range(kind.size))
        if not one.repeat:
            self.known[path] = scope.node, one.id
        return unpacked(kind, data), at + kind.size

    def bits(self, node: Node, run: list[Field], at: int) -> int:
        """Read or draw the consecutive fields of bits `run`, put them into `node`, and return where their bytes end."""
        stream = node.stream
        widths = [one.value_kind.width for one in run if isinstance(one.value_kind, Bits)]
        size = -(-sum(widths) // 8)
        fits = self.has_space(stream, at, size)
        # Bits that were given are read; others are drawn field by field, and stored together.
        data = self.known_bytes(at, size) if fits else None
        order: Literal["big", "little"] = "little"
        if isinstance(run[0].value_kind, Bits) and run[0].value_kind.big:
            order = "big"
        word = 0 if data is None else int.from_bytes(data, order)
        for one, shift, width in shifted(run):
            kind, path = one.value_kind, node.below(one.id)
            assert isinstance(kind, Bits)
            if data is not None:
                value = word >> shift & (1 << width) - 1
                self.settled.add(path)
            else:
                value = self._drawn_bits(one, kind, Scope(node, at, path=path), stream)
                word |= value << shift
            node.values[one.id] = bool(value) if width == 1 and not kind.enum else value
            self.known[path] = node, one.id
        if data is None and fits:
            self.store(at, word.to_bytes(size, order))
        return at + size

    def _drawn_bits(self, one: Field, kind: Bits, scope: Scope, stream: Stream) -> int:
        """Return the value of a field of bits: one that a solution requires (`pins`) if it fits, else a drawn one."""
        value = self.pins.get(("value", scope.path))
        if value is None or not in_range(kind, value):
            draw = partial(self.draw_number, one, *limits(kind), kind, scope, stream)
            value = self.drawn_once(scope.path, one.where, draw)
        return int(value)

    def fixed(self, one: Field, scope: Scope, stream: Stream, wanted: bytes) -> tuple[Any, int]:
        """Store constant bytes."""
        if self.has_space(stream, scope.at, len(wanted)):
            self.store(scope.at, wanted)
        return Raw(scope.at, len(wanted), scope.path, one, scope), scope.at + len(wanted)

    def stored(self, one: Field, kind: Kind, scope: Scope, stream: Stream) -> tuple[Any, int]:
        """Draw bytes or text; return the value and the offset after it.  Raises `RetryError` if the size is invalid."""
        at, path = scope.at, scope.path
        if "terminator" in one.raw or one.raw.get("type") == "strz":
            raw, after = self.terminated(one, scope, stream)
            return (self.text(one, raw, scope) if kind == TEXT else raw), after
        if one.size is None:
            size = self.length(one, scope) if stream.size is None else max(0, stream.end - at)
        else:
            size = self.required(one.size, one, scope)
            # The size has to fit bytes that are required (`wanted_bytes`); else it is corrected.
            special = self.wanted_bytes(one, scope, size)
            if not isinstance(size, int) or not 0 <= size <= LARGEST or (special is not None and len(special) != size):
                few = self.length(one, scope) if special is None else len(special)
                if self.fix_up(one.size, scope, few):
                    size = few
                elif not isinstance(size, int) or not 0 <= size <= LARGEST:
                    raise RetryError(list(self.variables(one.size, scope)))
        raw = Raw(at, size, path, one, scope)
        if not self.has_space(stream, at, size):
            raw.start = self.position_apart()
        self.store_decided(raw)
        return (self.text(one, raw, scope) if kind == TEXT else raw), at + size

    def length(self, one: Field, scope: Scope) -> int:
        """Return a random number of bytes, at least what corrections require."""
        pinned = self.pins.get(("bytes", scope.path))
        if pinned is not None:
            return len(pinned)
        grown: int = self.sizes.get(scope.path, 0)
        found: int = self.drawn_once(scope.path, "length", lambda: self.chance.integer(0, 4 if self.small else 12))
        return max(found, grown)

    def wanted_bytes(self, one: Field, scope: Scope, size: Any) -> bytes | None:
        """Return the bytes that a field has to have, or now and then some that it is compared with; None for any
        bytes.
        """
        if (pinned := self.pins.get(("bytes", scope.path))) is not None:
            return bytes(pinned)
        texts = sorted(self.uses[one].texts)
        if "valid" in one.raw:  # only the bytes that it allows count: one of them, or none if it names none
            texts = [text for text in map(self.valid_bytes, [one], [scope]) if text is not None]
        if not texts:
            return None
        chosen: bytes | None = self.drawn_once(
            scope.path, "special", lambda: self.chance.choice([*texts, None] if "valid" not in one.raw else texts)
        )
        return chosen

    def valid_bytes(self, one: Field, scope: Scope) -> bytes | None:
        """Return bytes that `valid` allows, if it names some; else None."""
        rules = rules_of(one)
        choices = rules.get("any-of") or ([rules["eq"]] if "eq" in rules else [])
        found = [self.value(choice, scope) for choice in choices]
        wanted = [it if isinstance(it, bytes) else it.encode() for it in found if isinstance(it, (bytes, str))]
        return self.drawn_once(scope.path, "valid", lambda: self.chance.choice(wanted)) if wanted else None

    def store_decided(self, raw: Raw) -> None:
        """Store the bytes of a field if they are decided; others stay open for other fields that may share them."""
        self.raws[raw.path] = raw
        self.owners.setdefault((raw.start, raw.size), raw.path)
        # Bytes that the specification names; else those drawn in an earlier pass, if the field still has that size.
        special = self.wanted_bytes(raw.field, raw.scope, raw.size)
        before = self.drawn.get((raw.path, "bytes"))
        chosen = special if special is not None and len(special) == raw.size else before
        if chosen is not None and len(chosen) == raw.size:
            self.store(raw.start, chosen)

    def bytes_of(self, raw: Raw) -> bytes:
        """Return the content of a field of bytes, drawn if it is not completely known yet.

        The drawn content is kept in `drawn` for the next draft, and stored except for bytes that are known already.
        """
        data = self.known_bytes(raw.start, raw.size)
        if data is None:
            drawn = self.drawn.get((raw.path, "bytes"))
            if drawn is None or len(drawn) != raw.size:
                encoding = self.uses[raw.field].encoding
                if raw.field.value_kind == TEXT:
                    encoding = encoding_of(raw.field)
                drawn = self.draw_text(encoding, raw.size) if encoding else self.chance.data(raw.size)
                self.drawn[raw.path, "bytes"] = drawn
            self.store(raw.start, drawn)
            data = self.known_bytes(raw.start, raw.size) or b""
        return data

    def byte(self, raw: Raw, index: int) -> int:
        """Return one byte of a field, drawn if it is not known.  Raises `IndexError` if it has no such byte."""
        at = raw.start + index
        if not 0 <= index < raw.size:
            raise IndexError(index)
        if at not in self.byte_at:
            path = f"{raw.path}[{index}]"
            numbers = [number for number in sorted(self.uses[raw.field].numbers) if 0 <= number < 256]
            wanted = self.pins.get(("value", path))
            if not isinstance(wanted, int) or not 0 <= wanted < 256:
                wanted = self.drawn_once(
                    path, "byte", lambda: self.chance.choice(numbers) if numbers else self.chance.integer(0, 255)
                )
            self.byte_at[at] = wanted
        return self.byte_at[at]

    def draw_text(self, encoding: str, size: int) -> bytes:
        """Return random text of `size` bytes, valid in the encoding."""
        out = b""
        while len(out) < size:
            # Characters of one to four bytes in UTF-8.
            letter = self.chance.choice("ab0 ./\x00\x7fé日\U0001f600")
            try:
                code = letter.encode(encoding)
            except UnicodeEncodeError:
                code = b""
            out += code if code and len(out) + len(code) <= size else "a".encode(encoding)[: size - len(out)]
        return out

    def text(self, one: Field, raw: Raw, scope: Scope) -> str:
        """Decode text.  Raises `RetryError` if the bytes are invalid in the encoding."""
        try:
            return str(self.bytes_of(raw), encoding_of(one))
        except UnicodeDecodeError:
            raise RetryError([("bytes", raw.path)]) from None

    def terminated(self, one: Field, scope: Scope, stream: Stream) -> tuple[Raw, int]:
        """Draw bytes with a terminator, up to one that is there already; return them and where reading continues."""
        end = ending(one)
        at = scope.at
        held = self.pins.get(("bytes", scope.path))
        if held is None:
            held = self.drawn_once(scope.path, "bytes", lambda: self.draw_unterminated(one, end.mark))
        for offset in range(stream.length if stream.size is not None else len(held) + 1):
            if self.byte_at.get(at + offset) == end.mark:
                held = held[:offset]
                break
        if self.has_space(stream, at, len(held) + 1):
            self.store(at, held + bytes([end.mark]))
        return Raw(at, len(held) + end.included, scope.path, one, scope), at + len(held) + end.passed

    def draw_unterminated(self, one: Field, mark: int) -> bytes:
        """Return random bytes without the terminator `mark`."""
        size = self.chance.integer(0, 8)
        encoding = encoding_of(one) if one.value_kind == TEXT else self.uses[one].encoding
        found = self.draw_text(encoding, size) if encoding else self.chance.data(size)
        return found.replace(bytes([mark]), b"")

    def filled(self, size: int) -> bytes:
        """Return all bytes of the instance; those without a value are drawn."""
        missing = [at for at in range(size) if at not in self.byte_at]
        if missing:
            for at, byte in zip(missing, self.chance.data(len(missing)), strict=True):
                self.byte_at[at] = byte
        return bytes(self.byte_at[at] for at in range(size))


def _remarkable(use: FieldUse, one: Field | None, kind: Integer | Bits | None) -> list[int]:
    """Return the numbers that decide something: those that expressions compare a field with, and its enum's values.

    Those next to them are included, unless the number itself is of an enum.
    """
    numbers = set(use.numbers)
    if one is not None and isinstance(one.value_kind, (Integer, Bits)) and one.value_kind.enum is not None:
        numbers |= set(one.value_kind.enum.values)
    if kind is None or kind.enum is None:
        numbers |= {number + by for number in numbers for by in (-1, 1)}
    return sorted(numbers)


def _any(_: int) -> bool:
    """Accept any number: the test of a field without rules."""
    return True
