"""Draws instances of a specification: random bytes that it describes from the first to the last.

The specification is walked as if the bytes were there, and each value is drawn (chosen at random) when the walk
comes to it.  Values that depend on later ones (a length before its data, a position, the size of a stream) are
corrected afterwards, by solving the expression that uses them.  The walk then starts again, with all values drawn so
far.  After a few passes nothing changes any more.  The result is read once more, and is an instance only
if it has no fault.  Checksums are then made right, wherever the specification states which bytes they cover
(`seal`).

`spoil` breaks one rule of an instance, and returns which one and where.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from exhume.compiler.front.kinds import BYTES, TEXT, Bits, Integer, Kind, Sequence, SimpleKind
from exhume.compiler.front.model import Field, Type
from exhume.compiler.instances.draft import NotYetError, RandomChoices, RetryError
from exhume.compiler.instances.roles import FieldUse, packed, rules_of, uses_of
from exhume.compiler.instances.solve import LARGEST, Key, Solver, limits
from exhume.compiler.instances.structures import Structures
from exhume.compiler.instances.tree import BrokenError, ChecksumField, Node, Rule, Stream, UnknownError
from exhume.compiler.instances.walk import Walk
from exhume.compiler.ir.fixed import varint
from exhume.compiler.refusal import UnsupportedError

PASSES = 60
"""Most walks of one attempt; values from the passes before are kept."""

ATTEMPTS = 12
"""Most attempts to draw an instance, each from scratch."""


WAITED = 3
"""Most failed passes in sequence that are followed by corrections only, without drawing anything again."""


class NoneDrawnError(Exception):
    """Raised when no instance was found."""


@dataclass(frozen=True, slots=True)
class DrawnInstance:
    """A drawn instance: its bytes, the parameters of its type, the rules that it meets and the checksums in it."""

    data: bytes
    arguments: tuple[Any, ...]
    rules: list[Rule]
    sums: list[ChecksumField]


class InstanceBuilder(Structures):
    """Draws one instance of a type, in passes until everything fits.

    Inherited from `Draft`: `drawn` has drawn values by path and purpose, `pins` those that corrections require, `sizes`
    the sizes of streams by path ("": the instance); `needed_size` is the size that the content of a stream needs.
    `conditions` and `size_exprs` have the conditions and sizes of fields by path, with their context, and `variables`
    returns what these depend on.  `changed`: a correction was made in this pass; `corrected_passes` counts failed
    passes in sequence that were only followed by corrections, `redrawings` how often values were drawn again.
    `drawn_once` returns what was drawn before, or draws it.
    """

    def instance_of(self) -> DrawnInstance:
        """Draw until everything fits; raise `NoneDrawnError`."""
        for attempt in range(ATTEMPTS):
            self.drawn.clear()
            self.pins.clear()
            self.sizes.clear()
            self.with_stated_size.clear()
            self.used_from_end.clear()
            self.failed.clear()
            # Small values have fewer constraints between them.
            self.small: bool = attempt > ATTEMPTS // 2
            for _ in range(PASSES):
                found = self.try_once()
                if found is not None:
                    return found
        raise NoneDrawnError(self.type.where)

    def try_once(self) -> DrawnInstance | None:
        """Draw and read the instance once.

        Returns None if something had to be changed, so that another pass is required.
        """
        self.begin()
        try:
            arguments = self.parameters()
            root = self.draw_root(arguments)
        except RetryError as error:
            self.correct_or_redraw(error.keys)
            return None
        except NotYetError:
            self.correct_or_redraw([])
            return None
        except BrokenError as error:
            self.correct_or_redraw([("value", error.path)])
            return None
        # Nothing may have changed in a pass that counts.
        self.corrected_passes = 0
        if self.changed or root.size is None:
            return None
        if root.size > LARGEST:
            self.redraw([])
            return None
        return self.reread(self.filled(root.length), arguments)

    def draw_root(self, arguments: list[Any]) -> Stream:
        """Draw and read all fields; return the stream of the instance.

        Values that do not go together are changed for the next pass (`changed`).
        """
        root = Stream(0, self.sizes.get(""), "")
        node = Node(self.type, "", root, None, None)
        node.values |= {param.id: value for param, value in zip(self.type.params, arguments, strict=True)}
        self.streams[""] = root
        self.fields(node, 0)
        self.instances(node)
        if self.needed_size(root) > self.sizes.get("", -1):
            self.resize("", self.needed_size(root))
        return root

    def reread(self, data: bytes, arguments: list[Any]) -> DrawnInstance | None:
        """Read the bytes as an ordinary reader would; if a rule is broken, draw its values again and return None."""
        reader = Solver(data)
        try:
            reader.whole(self.type, arguments)
        except BrokenError as error:
            keys = [("value", error.path), ("bytes", error.path)]
            if error.expr is not None and error.scope is not None:
                keys += reader.variables(error.expr, error.scope)
            self.redraw(keys)
            return None
        return DrawnInstance(data, tuple(arguments), reader.rules, reader.sums)

    def correct_or_redraw(self, keys: list[Key]) -> None:
        """Draw the values of `keys` again; but if something was corrected in this pass, first see whether that is
        enough.
        """
        if self.changed and self.corrected_passes < WAITED:  # corrections alone may not end
            self.corrected_passes += 1
        else:
            self.corrected_passes: int = 0
            self.redraw(keys)

    def redraw(self, keys: list[Key]) -> None:
        """Forget the drawn value of one of `keys`, chosen at random, so that it is drawn again.

        If none of them was drawn, the value of any key is forgotten.
        """
        self.with_stated_size.clear()
        self.failed.clear()
        paths = {path for _, path in self.related(keys)}
        for path in paths:
            self.sizes.pop(path, None)
        # Keys of `drawn` begin with the path, those of `pins` end with it.
        with_value = {path for path, _ in self.drawn} | {path for _, path in self.pins}
        choices = sorted(with_value & paths or with_value)
        if not choices:
            return
        path = self.chance.choice(choices)
        for drawn in [key for key in self.drawn if key[0] == path]:
            del self.drawn[drawn]
        for pin in [key for key in self.pins if key[1] == path]:
            del self.pins[pin]
        self.sizes.pop(path, None)
        self.sizes.pop("", None)  # that of the whole instance

    def related(self, keys: list[Key]) -> list[Key]:
        """Return `keys` and those that the sizes of their fields depend on.

        Every fourth time, instead those of the conditions of optional fields around them, which may then be absent.
        """
        self.redrawings += 1
        if self.redrawings % 4 == 0:
            return [key for path in self.above(keys) for key in self.variables(*self.conditions[path])] or keys
        sized = [path for _, path in keys if path in self.size_exprs]
        return keys + [key for path in sized for key in self.variables(*self.size_exprs[path])]

    def above(self, keys: list[Key]) -> list[str]:
        """Return the paths of the optional fields that contain any of these values."""
        return [
            path for path in self.conditions if any(held == path or held.startswith(path + ".") for _, held in keys)
        ]

    def parameters(self) -> list[Any]:
        """Return the parameters of the type: those of the caller, or drawn ones."""
        if self.given is not None:
            return self.given
        return [self.parameter(one) for one in self.type.params]

    def parameter(self, one: Field) -> Any:
        """Draw a parameter, from the values that its uses suggest."""
        kind = one.value_kind
        if isinstance(kind, Sequence):
            count = self.drawn_once(one.id, "count", lambda: self.chance.integer(0, 4))
            inner = kind.of
            return [
                self.drawn_once(f"{one.id}[{i}]", one.where, lambda: self.draw_value(one, inner)) for i in range(count)
            ]
        return self.drawn_once(one.id, one.where, lambda: self.draw_value(one, kind))

    def draw_value(self, one: Field, kind: Kind) -> Any:
        """Draw a value of a parameter. Raises `UnsupportedError` for a kind that cannot be drawn."""
        if isinstance(kind, (Integer, Bits)):
            return self.draw_number(one, *limits(kind), kind, None, None)
        if kind == SimpleKind("bool"):
            return self.chance.choice([False, True])
        if kind == TEXT:
            return self.chance.choice(["", "a", "name"])
        if kind == BYTES:
            return self.chance.data(self.chance.integer(0, 8))
        raise UnsupportedError("a parameter of this type cannot be drawn", one.where)


def draw(type: Type, chance: RandomChoices, arguments: list[Any] | None = None) -> DrawnInstance:
    """Return a random instance of a type, with choices by `chance`; raises `NoneDrawnError`.

    `arguments` are the parameters of the type; None: they are drawn, too.
    """
    return InstanceBuilder(type, chance, arguments, uses_for(type)).instance_of()


def uses_for(type: Type) -> dict[Field, FieldUse]:
    """Return how the fields inside a type are used, computed once."""
    found: dict[Field, FieldUse] | None = type.__dict__.get("_uses")
    if found is None:
        found = type.__dict__["_uses"] = uses_of(type)
    return found


Checksums = Mapping[str, Callable[[bytes], int | bytes]]
"""Algorithms by the names that `-checksum` uses: a number if the checksum is stored as one, else its stored bytes."""

KNOWN: Checksums = {
    "CRC-32": zlib.crc32,
    "Adler-32": zlib.adler32,
    "MD5": lambda data: hashlib.md5(data, usedforsecurity=False).digest(),
    "SHA-1": lambda data: hashlib.sha1(data, usedforsecurity=False).digest(),
    "SHA-256": lambda data: hashlib.sha256(data).digest(),
}
"""Checksum functions from the standard library."""

ROUNDS = 8
"""Most passes over all checksums; several are needed if one covers another."""


def seal(type: Type, drawn: DrawnInstance, checksums: Checksums) -> DrawnInstance:
    """Return the instance with its checksums computed.

    Raises `NoneDrawnError` if a checksum breaks a rule, and `UnsupportedError` for an unknown algorithm.
    """
    for _ in range(ROUNDS):
        data = bytearray(drawn.data)
        for one in drawn.sums:
            data[one.start : one.stop] = stored(one, bytes(data), checksums)
        if data == drawn.data:
            return drawn
        check = Walk(bytes(data))
        try:
            check.whole(type, list(drawn.arguments))
        except BrokenError:
            break
        drawn = DrawnInstance(check.data, drawn.arguments, check.rules, check.sums)
    raise NoneDrawnError(type.where)


def stored(one: ChecksumField, data: bytes, checksums: Checksums) -> bytes:
    """Return the bytes of a checksum over `data`.

    Raises `UnsupportedError` for an unknown algorithm, or one of a different size.
    """
    name = str(one.field.raw.get("-checksum"))
    if name not in checksums:
        raise UnsupportedError(f"nothing computes the checksum {name}", one.field.where)
    value = checksums[name](one.covered(data))
    if isinstance(value, bytes):
        found = value
    elif isinstance(one.field.value_kind, Integer):
        found = packed(one.field.value_kind, value)
    else:
        found = value.to_bytes(one.stop - one.start, "big" if one.field.owner.endian == "be" else "little")
    if len(found) != one.stop - one.start:
        raise UnsupportedError(f"the checksum {name} takes {len(found)} byte{'s' * (len(found) != 1)}", one.field.where)
    return found


TRIED = 60
"""Most attempts to break a rule."""

TRUNCATED = 8
"""Most attempts to break any rule by truncation, if those failed."""


@dataclass(frozen=True, slots=True)
class Invalid:
    """Data in which one rule is broken, and nothing before it: `rule` of the field at `path`, which begins at `at`.

    `rule` is a key of `valid`, `contents`, `terminator`, `encoding`, `short` (the data ends within the field),
    `size` (a size is negative), or `checksum` (all can be read, but the checksum is not that of the bytes it
    covers).
    """

    data: bytes
    arguments: tuple[Any, ...]
    path: str
    at: int
    rule: str


def spoil(type: Type, drawn: DrawnInstance, chance: RandomChoices) -> Invalid:
    """Return an instance with one rule broken, chosen by `chance`.

    Raises `NoneDrawnError` if every attempt breaks another rule first.
    """
    kinds = sorted({rule.rule for rule in drawn.rules} | ({"checksum"} if drawn.sums else set()))
    for number in range(TRIED if kinds else 0):
        kind = chance.choice(kinds)
        if kind == "checksum":
            found = _unsealed(type, drawn, chance)
            if found is not None:
                return found
            continue
        # Break one rule, and see whether a reader finds exactly this one.
        rule = chance.choice([rule for rule in drawn.rules if rule.rule == kind])
        data = _broken(type, drawn, rule, chance, rough=number % 2 == 1)
        if data is None:
            continue
        try:
            Walk(data).whole(type, list(drawn.arguments))
        except BrokenError as error:
            if (error.path, error.at, error.rule) == (rule.path, rule.start, kind):
                return Invalid(data, drawn.arguments, error.path, error.at, kind)
    for _ in range(TRUNCATED if drawn.data else 0):  # any rule may then be broken first
        data = drawn.data[: chance.integer(0, len(drawn.data) - 1)]
        try:
            Walk(data).whole(type, list(drawn.arguments))
        except BrokenError as error:
            if error.rule != "expression":
                return Invalid(data, drawn.arguments, error.path, error.at, error.rule)
    raise NoneDrawnError(type.where)


def _unsealed(type: Type, drawn: DrawnInstance, chance: RandomChoices) -> Invalid | None:
    """Return the instance with one wrong checksum; None if that breaks another rule or changes the range it covers."""
    one = chance.choice(drawn.sums)
    at = chance.integer(one.start, one.stop - 1)
    data = drawn.data[:at] + bytes([drawn.data[at] ^ chance.integer(1, 255)]) + drawn.data[at + 1 :]
    check = Walk(data)
    try:
        check.whole(type, list(drawn.arguments))
    except BrokenError:
        return None
    same = [(sum.path, sum.covered(data)) for sum in check.sums] == [
        (sum.path, sum.covered(drawn.data)) for sum in drawn.sums
    ]
    return Invalid(data, drawn.arguments, one.path, one.start, "checksum") if same else None


def _broken(type: Type, drawn: DrawnInstance, rule: Rule, chance: RandomChoices, *, rough: bool) -> bytes | None:
    """Return data in which `rule` may be broken, or None if it cannot be; `rough` flips a bit in any case."""
    data, stored = drawn.data, drawn.data[rule.start : rule.stop]  # `stored`: the bytes of the field
    if rule.rule == "short":
        return data[: chance.integer(rule.start, rule.stop - 1)] if stored else None
    if not stored:
        return None
    if rule.rule == "encoding":
        at = rule.start + chance.integer(0, len(stored) - 1)
        return data[:at] + b"\xff" + data[at + 1 :]  # a byte that no encoding allows
    kind, value = rule.field.value_kind, rule.value
    if not rough and rule.rule not in ("contents", "terminator"):
        if isinstance(value, Node) and varint(value.type):
            numbers = [one for one in _near(type, rule, value.values.get(str(value.type.scalar))) if 0 <= one < 1 << 64]
            return data[: rule.start] + _groups(chance.choice(numbers)) + data[rule.stop :] if numbers else None
        if isinstance(kind, Integer) and isinstance(value, int):
            low, high = limits(kind)
            if numbers := [one for one in _near(type, rule, value) if low <= one <= high]:
                return data[: rule.start] + packed(kind, chance.choice(numbers)) + data[rule.stop :]
    # Otherwise, flip one bit of the field.
    at = rule.start + chance.integer(0, len(stored) - 1)
    return data[:at] + bytes([data[at] ^ 1 << chance.integer(0, 7)]) + data[at + 1 :]


def _near(type: Type, rule: Rule, now: Any) -> Iterator[int]:
    """Yield numbers next to the bounds of a rule, which is where readers make mistakes; `now` is the valid value."""
    found: set[int] = set()
    if isinstance(now, int):
        found |= {now + 1, now - 1}
    for key, rule_value in rules_of(rule.field).items():
        if key in ("eq", "min", "max"):
            try:
                bound = Walk(b"").value(rule_value, rule.scope)
            except (UnknownError, AttributeError):  # it depends on values that `scope` no longer has
                continue
            if isinstance(bound, int):
                found |= {bound + 1, bound - 1}
    for number in uses_for(type)[rule.field].numbers:
        found |= {number - 1, number, number + 1}
    kind = rule.field.value_kind
    if isinstance(kind, Integer):
        found |= set(limits(kind))
    else:  # a number of variable length, of up to 64 bits
        found |= {0, (1 << 32) - 1, (1 << 64) - 1}
    yield from sorted(found)


def _groups(value: int) -> bytes:
    """Return a number as a varint: seven bits in each byte, the lowest first."""
    out = []
    while value >= 0x80:
        out.append(0x80 | value & 0x7F)
        value >>= 7
    return bytes([*out, value])
