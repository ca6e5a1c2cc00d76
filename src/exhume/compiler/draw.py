"""Draws instances of a specification: bytes that it describes from the first to the last.

The specification is walked as if the bytes were there, and each value is drawn when the walk comes to it.  What is
only known later (a length that stands before what it measures, a place, the size of a stream) is put right afterwards
by solving the expression that uses it, and the walk starts again with all that has been drawn; a few passes, and
nothing changes any more.  What comes out is read once more, and is an instance only when that finds nothing.
"""

from __future__ import annotations

import itertools
import random
import re
import struct
from collections.abc import Callable, Iterator
from collections.abc import Sequence as Many
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

from exhume.compiler import expressions as ex
from exhume.compiler.model import BYTES, TEXT, Bits, Field, Integer, Kind, Plain, Sequence, Structure, Switch, Type
from exhume.compiler.refusal import RefusedError
from exhume.compiler.roles import Use, uses_of
from exhume.compiler.solve import LARGEST, Key, Solution, Solver, in_range, limits
from exhume.compiler.walk import (
    OPEN,
    BrokenError,
    Node,
    Raw,
    Rule,
    Scope,
    Stream,
    UnknownError,
    encoding_of,
    ending,
    expression,
    packed,
    rules_of,
    shifted,
    unpacked,
    varint,
)

T = TypeVar("T")

PASSES = 60
"""Walks for one instance."""

ATTEMPTS = 12
"""Instances begun anew before none is given."""

FAR = 1 << 20
"""Where positions counted from the end of a stream without a size begin to be told from others."""


class Chance(Protocol):
    """Where values come from: Hypothesis, or a generator of random numbers."""

    def integer(self, low: int, high: int) -> int: ...
    def choice(self, options: Many[T]) -> T: ...
    def data(self, size: int) -> bytes: ...


class NoneDrawnError(Exception):
    """No instance was found."""


class _AgainError(Exception):
    """What was drawn does not fit together: one of these is drawn again."""

    def __init__(self, keys: list[Key]) -> None:
        super().__init__(keys)
        self.keys = keys


class _NotYetError(Exception):
    """Something is asked for that is read later."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """An instance: its bytes, the parameters of its type, and the rules that it meets."""

    data: bytes
    arguments: tuple[Any, ...]
    rules: list[Rule]


class Draw(Solver):
    """One instance in the making."""

    def __init__(self, type: Type, chance: Chance, arguments: list[Any] | None, uses: dict[Field, Use]) -> None:
        super().__init__(b"")
        self.type = type
        self.chance = chance
        self.given = arguments
        self.uses = uses
        self.drawn: dict[tuple[str, str], Any] = {}
        self.pins: Solution = {}
        self.sizes: dict[str, int] = {}
        self.stiff: set[str] = set()
        self.tails: dict[str, int] = {}
        self.failed: dict[str, int] = {}
        self.waited = 0
        self.missed = 0
        self.small = False
        self.begin()

    def begin(self) -> None:
        """Forgets what the last pass found."""
        self.cells: dict[int, int] = {}
        self.changed = False
        self.virtual = OPEN * 8
        self.placed_now: set[Key] = set()
        self.settled: set[str] = set()
        self.raws: dict[str, Raw] = {}
        self.owners: dict[tuple[int, int], str] = {}
        self.reasons: dict[str, tuple[ex.Expr, Scope]] = {}
        self.sizers: dict[str, tuple[ex.Expr, Scope]] = {}
        self.starts: dict[tuple[str, str], list[int]] = {}
        self.known.clear()
        self.streams.clear()
        self.computed.clear()
        self.rules.clear()
        self.depth = 0
        self.read = 0

    # One instance.

    def instance_of(self) -> Drawn:
        """Draws until everything fits; raises `NoneDrawnError`."""
        for attempt in range(ATTEMPTS):
            self.drawn.clear()
            self.pins.clear()
            self.sizes.clear()
            self.stiff.clear()
            self.tails.clear()
            self.failed.clear()
            self.small = attempt > ATTEMPTS // 2
            for _ in range(PASSES):
                found = self.try_once()
                if found is not None:
                    return found
        raise NoneDrawnError(self.type.where)

    def try_once(self) -> Drawn | None:
        """One pass; None when something must be put right first."""
        self.begin()
        try:
            arguments = self.parameters()
            root = Stream(0, self.sizes.get(""), "")
            node = Node(self.type, "", root, None, None)
            node.values |= {param.id: value for param, value in zip(self.type.params, arguments, strict=True)}
            self.streams[""] = root
            self.fields(node, 0)
            self.instances(node)
            if self.natural(root) > self.sizes.get("", -1):
                self.resize("", self.natural(root))
        except _AgainError as error:
            self.again(error.keys)
            return None
        except _NotYetError:
            self.again([])
            return None
        except BrokenError as error:
            self.again([("value", error.path)])
            return None
        self.waited = 0
        if self.changed or root.size is None:
            return None
        if root.size > LARGEST:
            self.redraw([])
            return None
        data = self.filled(root.length)
        check = Solver(data)
        try:
            check.whole(self.type, arguments)
        except BrokenError as error:
            keys = [("value", error.path), ("bytes", error.path)]
            if error.expr is not None and error.scope is not None:
                keys += check.variables(error.expr, error.scope)
            self.redraw(keys)
            return None
        return Drawn(data, tuple(arguments), check.rules)

    def again(self, keys: list[Key]) -> None:
        """What does not fit is drawn again, unless something was put right in this pass: then that is tried first."""
        if self.changed and self.waited < 3:
            self.waited += 1
        else:
            self.waited = 0
            self.redraw(keys)

    def redraw(self, keys: list[Key]) -> None:
        """Takes back one of some values; any, when none of them was drawn."""
        self.stiff.clear()
        self.failed.clear()
        self.missed += 1
        if self.missed % 4 == 0:  # perhaps it need not be there at all
            keys = [key for path in self.above(keys) for key in self.variables(*self.reasons[path])] or keys
        else:
            keys = keys + [
                key for what, path in keys if path in self.sizers for key in self.variables(*self.sizers[path])
            ]
        paths = {path for _, path in keys}
        for path in paths:
            self.sizes.pop(path, None)
        mine = [key for key in self.drawn if key[0] in paths]
        pinned = [key for key in self.pins if key[1] in paths]
        if not mine and not pinned:
            mine, pinned = list(self.drawn), list(self.pins)
        if not mine and not pinned:
            return
        path = self.chance.choice(sorted({key[0] for key in mine} | {key[1] for key in pinned}))
        for key in [key for key in self.drawn if key[0] == path]:
            del self.drawn[key]
        for pin in [key for key in self.pins if key[1] == path]:
            del self.pins[pin]
        self.sizes.pop(path, None)
        self.sizes.pop("", None)

    def above(self, keys: list[Key]) -> list[str]:
        """What has a condition and holds any of some values."""
        return [path for path in self.reasons if any(held == path or held.startswith(path + ".") for _, held in keys)]

    def parameters(self) -> list[Any]:
        """The parameters of the type."""
        if self.given is not None:
            return self.given
        return [self.parameter(one) for one in self.type.params]

    def parameter(self, one: Field) -> Any:
        """A parameter, by what it is used for."""
        kind = one.one
        if isinstance(kind, Sequence):
            count = self.memo(one.id, "count", lambda: self.chance.integer(0, 4))
            inner = kind.of
            return [self.memo(f"{one.id}[{i}]", one.where, lambda: self.some(one, inner)) for i in range(count)]
        return self.memo(one.id, one.where, lambda: self.some(one, kind))

    def some(self, one: Field, kind: Kind) -> Any:
        """Some value of a kind."""
        if isinstance(kind, (Integer, Bits)):
            return self.some_number(one, *limits(kind), kind, None, None)
        if kind == Plain("bool"):
            return self.chance.choice([False, True])
        if kind == TEXT:
            return self.chance.choice(["", "a", "name"])
        if kind == BYTES:
            return self.chance.data(self.chance.integer(0, 8))
        raise RefusedError("a parameter of this type cannot be drawn", one.where)

    def memo(self, path: str, of: str, draw: Callable[[], Any]) -> Any:
        """A value that is drawn once."""
        key = (path, of)
        if key not in self.drawn:
            self.drawn[key] = draw()
        return self.drawn[key]

    def filled(self, size: int) -> bytes:
        """All bytes, with those that nobody asked for drawn."""
        missing = [at for at in range(size) if at not in self.cells]
        if missing:
            for at, byte in zip(missing, self.chance.data(len(missing)), strict=True):
                self.cells[at] = byte
        return bytes(self.cells[at] for at in range(size))

    # Corrections.

    def apply(self, found: Solution) -> None:
        """Gives values what a solution says, from now on and where they are already."""
        for key, value in found.items():
            what, path = key
            if what == "size":
                self.resize(path, value)
                if (stream := self.streams.get(path)) is not None and stream.size is None:
                    stream.size = value
                continue
            if what == "bytes" and (raw := self.raws.get(path)) is not None:
                path = self.owners.get((raw.start, raw.size), path)
                key = what, path
            if self.pins.get(key) != value:
                self.pins[key] = value
                self.changed = True
            self.placed_now.add(key)
            if what == "value" and (place := self.known.get(path)) is not None:
                place[0].values[place[1]] = value
        self.forget()

    def resize(self, path: str, size: int) -> None:
        """Gives a stream another size in the next pass."""
        if self.sizes.get(path) != size:
            self.sizes[path] = size
            self.changed = True

    def is_free(self, key: Key) -> bool:
        what, path = key
        if what == "size":
            stream = self.streams.get(path)
            return stream is not None and not stream.pinned and (stream.size is None or path not in self.sizes)
        return key not in self.pins and key not in self.placed_now and path not in self.settled

    def put_right(self, expr: ex.Expr, scope: Scope, wanted: Any) -> bool:
        """Makes an expression what it shall be, if need be by changing what was put right before."""
        found = self.solution(expr, scope, wanted) or self.solution(expr, scope, wanted, free=False)
        if found is None or any(
            self.is_stiff(path) if what == "size" else path in self.settled for what, path in found
        ):
            return False
        self.apply(found)
        return True

    def is_stiff(self, path: str) -> bool:
        stream = self.streams.get(path)
        return stream is not None and stream.pinned

    def grow(self, stream: Stream, need: int) -> None:
        """Asks for a longer stream."""
        if stream.outer is not None:
            self.grow(stream.outer, stream.base - stream.outer.base + need)
        elif stream.pinned:
            raise _AgainError([("value", stream.path), ("bytes", stream.path)])
        else:
            self.resize(stream.path, max(need, self.sizes.get(stream.path, 0)))

    def shrink(self, stream: Stream, size: int) -> bool:
        """Asks for a stream that ends earlier; says whether it can."""
        if stream.outer is not None:
            return self.shrink(stream.outer, stream.base - stream.outer.base + size)
        if stream.pinned:
            return False
        self.resize(stream.path, size)
        return True

    def ask(self, expr: ex.Expr, one: Field, scope: Scope) -> Any:
        try:
            return self.value(expr, scope)
        except UnknownError:
            raise _AgainError([*self.variables(expr, scope), ("value", scope.path)]) from None

    def get(self, node: Node, id: str) -> Any:
        if id in node.given:
            given, scope = node.given[id]
            return self.value(given, scope)
        if id not in node.values and id not in node.type.instances:
            raise _NotYetError
        return super().get(node, id)

    # Wishes: that something which depends on other values is there.

    def instances(self, node: Node) -> None:
        """What has a place first: what is computed from bytes would decide what they are."""
        for one in node.type.seq:
            self.below(node.values.get(one.id))
        for one in sorted(node.type.instances.values(), key=lambda one: one.value is not None):
            self.below(self.get(node, one.id))

    def present(self, one: Field, scope: Scope) -> bool:
        there = super().present(one, scope)
        if there and one.condition is not None:
            self.reasons[scope.path] = one.condition, scope
        if there or one.condition is None or one.value is not None or self.small or self.read > 150:
            return there
        node = scope.node
        optional = [other.id for other in node.type.fields() if other.condition is not None and other.value is None]
        wish = self.memo(node.path, f"wish {node.type.where}", lambda: self.chance.integer(0, 2 * len(optional)))
        if wish >= len(optional) or optional[wish] != one.id:
            return False
        found = self.solution(one.condition, scope, True)
        if found:
            self.apply(found)
        return bool(found) and super().present(one, scope)

    def case(self, one: Field, kind: Switch, scope: Scope) -> Kind | None:
        if kind.cases and not self.small and self.read < 150:
            wish = self.memo(scope.path, "case", lambda: self.chance.integer(0, 2 * len(kind.cases)))
            if wish < len(kind.cases):
                wanted = self.value(kind.cases[wish][0], scope)
                if self.ask(kind.on, one, scope) != wanted:
                    self.apply(self.solution(kind.on, scope, wanted) or {})
        return super().case(one, kind, scope)

    # Extents.

    def touch(self, stream: Stream, start: int, stop: int) -> None:
        """Notes that something lies there."""
        first, last = start - stream.base, stop - stream.base
        tail = self.tails.get(stream.path, 0)
        if first > OPEN - FAR:
            self.tails[stream.path] = max(tail, OPEN - first)
        elif stream.size is None or first < stream.size - tail:
            stream.high = max(stream.high, last)

    def natural(self, stream: Stream) -> int:
        """The size that what lies in a stream asks for."""
        return stream.high + self.tails.get(stream.path, 0)

    def room(self, stream: Stream, at: int, size: int) -> bool:
        """Whether so many bytes are there; a stream that is too short is asked to grow."""
        if at < stream.base or size > LARGEST or LARGEST < at - stream.base < OPEN - FAR:
            raise _AgainError([("value", stream.path)])
        if at + size <= stream.end:
            self.touch(stream, at, at + size)
            return True
        self.grow(stream, at + size - stream.base)
        return False

    # Structures.

    def fields(self, node: Node, at: int) -> int:
        self.read += 1
        if self.read > 600:
            raise _AgainError([])
        if varint(node.type):
            return self.integer_of_groups(node, at)
        return super().fields(node, at)

    def structure(self, kind: Structure, scope: Scope, stream: Stream, at: int) -> tuple[Node, int]:
        self.starts.setdefault((stream.path, kind.type.where), []).append(at)
        return super().structure(kind, scope, stream, at)

    def sized(self, one: Field, kind: Kind, scope: Scope, stream: Stream) -> tuple[Any, int]:
        at, path = scope.at, scope.path
        if one.size is None:
            return self.to_end(one, kind, scope, stream)
        self.sizers[path] = one.size, scope
        size = self.ask(one.size, one, scope)
        wanted = self.sizes.get(path)
        if wanted is not None and wanted != size and path not in self.stiff:
            if self.put_right(one.size, scope, wanted):
                size = wanted
            else:
                self.sizes.pop(path)
        elif wanted is None and path not in self.stiff:
            if any(self.can_change(key) for key in self.variables(one.size, scope)):
                return self.open(one, kind, scope, stream, one.size)
            if not any(path in self.settled for _, path in self.variables(one.size, scope)):
                self.stiff.add(path)
        if not isinstance(size, int) or not 0 <= size <= LARGEST:
            raise _AgainError(list(self.variables(one.size, scope)))
        inner = Stream(at, size, path, pinned=path not in self.sizes)
        if not self.room(stream, at, size):
            inner.base = self.fresh()
        self.streams[path] = inner
        return self.within(one, kind, scope, inner), at + size

    def can_change(self, key: Key) -> bool:
        """Whether a variable is stored, or the size of a stream that may change."""
        what, path = key
        if what == "size":
            stream = self.streams.get(path)
            return stream is not None and not stream.pinned
        return what == "value" and path not in self.settled and (path in self.known or key in self.pins)

    def fresh(self) -> int:
        """Where bytes are that have no place yet."""
        self.virtual += 8 * OPEN
        return self.virtual

    def to_end(self, one: Field, kind: Kind, scope: Scope, stream: Stream) -> tuple[Any, int]:
        """Reads what fills the rest of its stream."""
        at = scope.at
        if stream.size is None:
            inner = Stream(at, None, scope.path, stream)
            self.streams[scope.path] = inner
            value = self.within(one, kind, scope, inner)
            size = max(self.natural(inner), self.sizes.get(scope.path, 0))
            if isinstance(value, Raw):
                value.size = size
            self.touch(stream, at, at + size)
            return value, at + size
        if at > stream.end:
            self.grow(stream, at - stream.base)
        inner = Stream(at, max(0, stream.end - at), scope.path, stream, stream.pinned)
        self.streams[scope.path] = inner
        self.touch(stream, at, inner.end)
        return self.within(one, kind, scope, inner), max(at, stream.end)

    def open(self, one: Field, kind: Kind, scope: Scope, stream: Stream, size: ex.Expr) -> tuple[Any, int]:
        """Reads a stream whose size follows from what is drawn for it."""
        at, path = scope.at, scope.path
        inner = Stream(at if at in self.cells else self.fresh(), None, path)
        self.streams[path] = inner
        value = self.within(one, kind, scope, inner)
        natural = self.natural(inner)
        if isinstance(value, Raw):
            natural = value.size = self.length(one, scope)
        natural = max(natural, self.sizes.get(path, 0))
        self.sizes[path] = natural
        self.changed = True
        if not self.put_right(size, scope, natural):
            self.sizes.pop(path, None)
            self.failed[path] = self.failed.get(path, 0) + 1
            if self.failed[path] > 2:
                self.stiff.add(path)
        self.touch(stream, at, at + natural)
        return value, at + natural

    def within(self, one: Field, kind: Kind, scope: Scope, inner: Stream) -> Any:
        value = super().within(one, kind, scope, inner)
        if isinstance(value, Node):
            try:
                self.instances(value)
            except _NotYetError:
                value.running.clear()
        elif isinstance(value, Raw):
            self.claim(value)
        elif value is None and inner.size is None:
            pass
        return value

    def integer_of_groups(self, node: Node, at: int) -> int:
        """Draws a number of variable length."""
        path, stream = node.path, node.stream
        self.known[path] = node, str(node.type.scalar)
        one = self.field_of(node)
        if at in self.cells and at < stream.end:
            self.settled.add(path)
            return self.groups_there(node, at)
        value = self.pins.get(("value", path))
        if value is None:
            scope = Scope(node.parent, at, path=path) if node.parent is not None else None
            value = self.memo(
                path, node.type.where, lambda: self.some_number(one, 0, (1 << 64) - 1, None, scope, stream, node)
            )
        data = encoded(value, len(node.type.seq))
        if len(data) < 9 and "valid" not in node.type.seq[1].raw:  # longer forms than needed are allowed
            more = 0 if self.small else self.memo(path, "longer", lambda: self.chance.choice((0, 0, 0, 0, 0, 0, 0, 1)))
            data = data if not more else bytes([*data[:-1], data[-1] | 0x80, 0])
        node.values[str(node.type.scalar)] = value
        for group, byte in itertools.zip_longest(node.type.seq, data):
            node.values[group.id] = byte
        if self.room(stream, at, len(data)):
            self.store(at, data)
        return at + len(data)

    def groups_there(self, node: Node, at: int) -> int:
        """Reads a number of variable length where bytes are."""
        for group in node.type.seq:
            node.values[group.id] = None
        for step in varint(node.type):
            if not self.room(node.stream, at, 1):
                raise _AgainError([("value", node.path)])
            if at not in self.cells:
                self.cells[at] = self.chance.integer(0, 127)
            node.values[step.field.id] = self.cells[at]
            at += 1
            if step.last is None or self.value(step.last, Scope(node)):
                break
        self.get(node, str(node.type.scalar))
        return at

    def field_of(self, node: Node) -> Field | None:
        """The field that a structure is the value of."""
        if node.parent is None:
            return None
        id = node.path.removeprefix(node.parent.path).lstrip(".").partition("[")[0]
        return next((one for one in node.parent.type.fields() if one.id == id), None)

    # Instances and repetition.

    def placed(self, place: ex.Expr, one: Field, stream: Stream, scope: Scope) -> int:
        at = self.ask(place, one, scope)
        held = isinstance(one.one, (Structure, Switch))
        keys = [key for key in self.variables(place, scope) if key[0] == "value" and self.can_change(key)]
        moving = held and keys and not any(key in self.placed_now for key in keys)
        if moving or not isinstance(at, int) or at < 0:
            wanted = self.chosen_place(one, stream, scope)
            found = self.solution(place, scope, wanted, free=False)
            if found is not None and all(key[0] == "value" for key in found):
                self.apply(found)
                return stream.base + wanted
            if not isinstance(at, int) or at < 0:
                raise _AgainError(list(self.variables(place, scope)))
        self.placed_now |= set(keys)
        if stream.size is not None and stream.length < at <= LARGEST and not stream.pinned:
            self.grow(stream, at)
        elif stream.size is not None and at > stream.length:
            raise _AgainError(list(self.variables(place, scope)))
        return stream.base + at

    def chosen_place(self, one: Field, stream: Stream, scope: Scope) -> int:
        """Where what can lie anywhere shall lie: where its like lies already, or behind all else."""
        kind = one.one
        starts = self.starts.get((stream.path, kind.type.where), []) if isinstance(kind, Structure) else []
        if starts and not one.repeat:
            index: int = self.memo(scope.path, "place", lambda: self.chance.integer(0, 1 << 16))
            return starts[index % len(starts)] - stream.base
        return stream.high

    def elements(self, one: Field, node: Node, stream: Stream, values: list[Any]) -> Iterator[int]:
        path = node.below(one.id)
        start = Scope(node, self.place, path=path)
        if one.repeat == "expr":
            expr = expression(one, "repeat-expr")
            assert expr is not None
            count = self.ask(expr, one, start)
            if not isinstance(count, int) or count > self.most(path, 8):
                few = self.memo(path, "count", lambda: self.count(path))
                if not self.put_right(expr, start, few):
                    raise _AgainError(list(self.variables(expr, start)))
                count = few
            yield from range(count)
        elif one.repeat == "eos":
            yield from self._to_the_end(path, stream, values)
        else:
            yield from self._until(one, node, path, values)

    def _to_the_end(self, path: str, stream: Stream, values: list[Any]) -> Iterator[int]:
        count = self.pins.get(("count", path))
        if count is None:
            count = self.memo(path, "count", lambda: self.count(path))
        opened = stream.size is None
        while len(values) < count and (self.place < stream.end or not stream.pinned):
            yield len(values)
            if opened and stream.size is not None and self.place >= stream.end:  # what was just read ends the stream
                self.drawn[path, "count"] = len(values)
                return
        if stream.size is None or self.place >= stream.end:
            return
        if not self.shrink(stream, self.place - stream.base):
            while self.place < stream.end:
                yield len(values)

    def _until(self, one: Field, node: Node, path: str, values: list[Any]) -> Iterator[int]:
        expr = expression(one, "repeat-until")
        assert expr is not None
        most = self.memo(path, "count", lambda: max(1, self.count(path)))
        while True:
            yield len(values)
            if self.over(one, node, values):
                return
            if len(values) >= most:
                item = values[-1]
                scope = Scope(node, self.place, item, len(values) - 1, f"{path}[{len(values) - 1}]")
                if self.put_right(expr, scope, True):
                    return
                if len(values) > 2 * most + 8:
                    raise _AgainError(list(self.variables(expr, scope)))

    def count(self, path: str) -> int:
        """A number of elements."""
        return self.chance.integer(0, self.most(path, 4))

    def most(self, path: str, many: int) -> int:
        """How many elements there may be; fewer the deeper they lie."""
        return 1 if self.small or self.read > 200 else max(1, many >> path.count("["))

    # Stored values.

    def store(self, at: int, data: bytes) -> None:
        """Puts bytes where none are yet."""
        for offset, byte in enumerate(data):
            self.cells.setdefault(at + offset, byte)

    def there(self, at: int, size: int) -> bytes | None:
        """Bytes that are all known."""
        found = [self.cells.get(at + offset) for offset in range(size)]
        return None if any(byte is None for byte in found) else bytes(byte for byte in found if byte is not None)

    def number(self, one: Field, kind: Integer | Plain, scope: Scope, stream: Stream) -> tuple[Any, int]:
        at, path = scope.at, scope.path
        fits = self.room(stream, at, kind.size)
        data = self.there(at, kind.size) if fits else None
        if data is not None:
            self.settled.add(path)
        else:
            value = self.pins.get(("value", path))
            if value is None or (isinstance(kind, Integer) and not in_range(kind, value)):
                value = self.memo(path, one.where, lambda: self.some_stored(one, kind, scope, stream))
            data = packed(kind, value)
            if fits:
                self.store(at, data)
                data = bytes(self.cells[at + offset] for offset in range(kind.size))
        if not one.repeat:
            self.known[path] = scope.node, one.id
        return unpacked(kind, data), at + kind.size

    def some_stored(self, one: Field, kind: Integer | Plain, scope: Scope, stream: Stream) -> Any:
        """Some value of a stored number."""
        if isinstance(kind, Integer):
            return self.some_number(one, *limits(kind), kind, scope, stream)
        return self.some_float(kind)

    def some_float(self, kind: Plain) -> float:
        nice = self.chance.choice([0.0, 1.0, -1.5, 1e-9, 1e9, float("inf"), float("nan"), None])
        if nice is None:
            return float(struct.unpack("<d", self.chance.data(8))[0]) if kind.size == 8 else 0.25
        return nice

    def bits(self, node: Node, run: list[Field], at: int) -> int:
        stream = node.stream
        widths = [one.one.width for one in run if isinstance(one.one, Bits)]
        size = -(-sum(widths) // 8)
        fits = self.room(stream, at, size)
        data = self.there(at, size) if fits else None
        big = isinstance(run[0].one, Bits) and run[0].one.big
        many = 0 if data is None else int.from_bytes(data, "big" if big else "little")
        for one, shift, width in shifted(run):
            kind, path = one.one, node.below(one.id)
            assert isinstance(kind, Bits)
            value = many >> shift & (1 << width) - 1
            if data is not None:
                self.settled.add(path)
            else:
                scope = Scope(node, at, path=path)
                drawn = self.pins.get(("value", path))
                if drawn is None or not in_range(kind, drawn):
                    drawn = self.memo(
                        path, one.where, partial(self.some_number, one, *limits(kind), kind, scope, stream)
                    )
                value = int(drawn)
                many |= value << shift
            node.values[one.id] = bool(value) if width == 1 and not kind.enum else value
            self.known[path] = node, one.id
        if data is None and fits:
            self.store(at, many.to_bytes(size, "big" if big else "little"))
        return at + size

    def fixed(self, one: Field, scope: Scope, stream: Stream, wanted: bytes) -> tuple[Any, int]:
        if self.room(stream, scope.at, len(wanted)):
            self.store(scope.at, wanted)
        return Raw(scope.at, len(wanted), scope.path, one, scope), scope.at + len(wanted)

    def stored(self, one: Field, kind: Kind, scope: Scope, stream: Stream) -> tuple[Any, int]:
        at, path = scope.at, scope.path
        if "terminator" in one.raw or one.raw.get("type") == "strz":
            raw, after = self.terminated(one, scope, stream)
            return (self.text(one, raw, scope) if kind == TEXT else raw), after
        if one.size is None:
            size = self.length(one, scope) if stream.size is None else max(0, stream.end - at)
        else:
            size = self.ask(one.size, one, scope)
            special = self.special(one, scope, size)
            if not isinstance(size, int) or not 0 <= size <= LARGEST or (special is not None and len(special) != size):
                few = self.length(one, scope) if special is None else len(special)
                if self.put_right(one.size, scope, few):
                    size = few
                elif not isinstance(size, int) or not 0 <= size <= LARGEST:
                    raise _AgainError(list(self.variables(one.size, scope)))
        raw = Raw(at, size, path, one, scope)
        if not self.room(stream, at, size):
            raw.start = self.fresh()
        self.claim(raw)
        return (self.text(one, raw, scope) if kind == TEXT else raw), at + size

    def length(self, one: Field, scope: Scope) -> int:
        """A number of bytes."""
        pinned = self.pins.get(("bytes", scope.path))
        if pinned is not None:
            return len(pinned)
        grown: int = self.sizes.get(scope.path, 0)
        found: int = self.memo(scope.path, "length", lambda: self.chance.integer(0, 4 if self.small else 12))
        return max(found, grown)

    def special(self, one: Field, scope: Scope, size: Any) -> bytes | None:
        """Bytes that something compares the field with, now and then."""
        if (pinned := self.pins.get(("bytes", scope.path))) is not None:
            return bytes(pinned)
        texts = sorted(self.uses[one].texts)
        if "valid" in one.raw:
            texts = [text for text in map(self.valid_bytes, [one], [scope]) if text is not None]
        if not texts:
            return None
        chosen: bytes | None = self.memo(
            scope.path, "special", lambda: self.chance.choice([*texts, None] if "valid" not in one.raw else texts)
        )
        return chosen

    def valid_bytes(self, one: Field, scope: Scope) -> bytes | None:
        """Bytes that `valid` allows, where it names some."""
        rules = rules_of(one)
        choices = rules.get("any-of") or ([rules["eq"]] if "eq" in rules else [])
        found = [self.value(choice, scope) for choice in choices]
        wanted = [one if isinstance(one, bytes) else one.encode() for one in found if isinstance(one, (bytes, str))]
        return self.memo(scope.path, "valid", lambda: self.chance.choice(wanted)) if wanted else None

    def claim(self, raw: Raw) -> None:
        """Stores bytes that are already decided; others stay open for what else may lie there."""
        self.raws[raw.path] = raw
        self.owners.setdefault((raw.start, raw.size), raw.path)
        special = self.special(raw.field, raw.scope, raw.size)
        held = self.drawn.get((raw.path, "bytes"))
        chosen = special if special is not None and len(special) == raw.size else held
        if chosen is not None and len(chosen) == raw.size:
            self.store(raw.start, chosen)

    def held(self, raw: Raw) -> bytes:
        data = self.there(raw.start, raw.size)
        if data is None:
            drawn = self.drawn.get((raw.path, "bytes"))
            if drawn is None or len(drawn) != raw.size:
                encoding = self.uses[raw.field].encoding
                if raw.field.one == TEXT:
                    encoding = encoding_of(raw.field)
                drawn = self.some_text(encoding, raw.size) if encoding else self.chance.data(raw.size)
                self.drawn[raw.path, "bytes"] = drawn
            self.store(raw.start, drawn)
            data = self.there(raw.start, raw.size) or b""
        return data

    def byte(self, raw: Raw, index: int) -> int:
        at = raw.start + index
        if not 0 <= index < raw.size:
            raise IndexError(index)
        if at not in self.cells:
            path = f"{raw.path}[{index}]"
            numbers = [number for number in sorted(self.uses[raw.field].numbers) if 0 <= number < 256]
            wanted = self.pins.get(("value", path))
            if not isinstance(wanted, int) or not 0 <= wanted < 256:
                wanted = self.memo(
                    path, "byte", lambda: self.chance.choice(numbers) if numbers else self.chance.integer(0, 255)
                )
            self.cells[at] = wanted
        return self.cells[at]

    def some_text(self, encoding: str, size: int) -> bytes:
        """So many bytes of text."""
        out = b""
        while len(out) < size:
            letter = self.chance.choice("ab0 ./\x00\x7fé日\U0001f600")
            try:
                code = letter.encode(encoding)
            except UnicodeEncodeError:
                code = b""
            out += code if code and len(out) + len(code) <= size else "a".encode(encoding)[: size - len(out)]
        return out

    def text(self, one: Field, raw: Raw, scope: Scope) -> str:
        try:
            return str(self.held(raw), encoding_of(one))
        except UnicodeDecodeError:
            raise _AgainError([("bytes", raw.path)]) from None

    def terminated(self, one: Field, scope: Scope, stream: Stream) -> tuple[Raw, int]:
        mark, include, consume = ending(one)
        at = scope.at
        held = self.pins.get(("bytes", scope.path))
        if held is None:
            held = self.memo(scope.path, "bytes", lambda: self.some_unmarked(one, mark))
        for offset in range(stream.length if stream.size is not None else len(held) + 1):
            if self.cells.get(at + offset) == mark:
                held = held[:offset]
                break
        if self.room(stream, at, len(held) + 1):
            self.store(at, held + bytes([mark]))
        return Raw(at, len(held) + include, scope.path, one, scope), at + len(held) + consume

    def some_unmarked(self, one: Field, mark: int) -> bytes:
        """Bytes without a terminator among them."""
        size = self.chance.integer(0, 8)
        encoding = encoding_of(one) if one.one == TEXT else self.uses[one].encoding
        found = self.some_text(encoding, size) if encoding else self.chance.data(size)
        return found.replace(bytes([mark]), b"")

    # Numbers.

    def some_number(
        self,
        one: Field | None,
        low: int,
        high: int,
        kind: Integer | Bits | None,
        scope: Scope | None,
        stream: Stream | None,
        node: Node | None = None,
    ) -> int:
        """A number that its field allows, by what it is used for."""
        use = self.uses.get(one, Use()) if one is not None else Use()
        test: Callable[[int], bool] = _any
        if one is not None and scope is not None and "valid" in one.raw:
            low, high, choices = self.allowed(one, scope, low, high)
            if choices is not None:
                return self.chance.choice(choices)
            if low > high:
                raise _AgainError([*self.rule_variables(one, scope), ("value", scope.path)])
            if "expr" in rules_of(one):
                test = self.tested(one, scope, node)
        enum = kind.enum if isinstance(kind, (Integer, Bits)) else None
        numbers = set(use.numbers)
        if one is not None and isinstance(one.one, (Integer, Bits)) and one.one.enum is not None:
            numbers |= set(one.one.enum.values)
        near = sorted({number + by for number in numbers for by in ((0,) if enum else (0, 1, -1))})
        near = [number for number in near if low <= number <= high]
        elements = re.findall(r"\[(\d+)\]", scope.path) if scope is not None else []
        for _ in range(8):
            value = self.any_number(use, near, low, high, int(elements[-1]) - 1 if elements else 3)
            if test(value):
                return value
        fitting = [number for number in (low, *near, high) if test(number)]
        if not fitting:
            raise _AgainError([] if scope is None else self.rule_variables(one, scope) if one is not None else [])
        return self.chance.choice(fitting)

    def any_number(self, use: Use, near: list[int], low: int, high: int, before: int) -> int:
        """A number between bounds, small where it counts, near constants where it decides.

        What numbers an element is at most `before`, the one before that in which it stands.
        """
        mode = 0 if self.small else self.chance.integer(0, 15)
        if use.roles & {"size", "count"}:
            if near and mode >= 14:
                return self.chance.choice(near)
            if mode == 13 and low <= 127 and high >= 129 and "count" not in use.roles:
                return self.chance.choice((127, 128, 129))  # where one byte of a variable length no longer does
            return self.chance.integer(low, min(high, low + (2 if self.small else 4 if "count" in use.roles else 12)))
        if "index" in use.roles:
            return self.chance.integer(max(low, -1), max(low, -1, min(high, before)))
        if near and mode < 12:
            return self.chance.choice(near)
        if "place" in use.roles:
            return self.chance.integer(low, min(high, low + 64))
        if mode < 4:
            return self.chance.integer(low, min(high, low + 3))
        if mode < 7:
            edges = {
                low,
                low + 1,
                high - 1,
                high,
                *(bound for bound in (127, 128, 255, 256, 1 << 31, 1 << 32, 1 << 63)),
            }
            return self.chance.choice(sorted(edge for edge in edges if low <= edge <= high))
        return self.chance.integer(low, high)

    def allowed(self, one: Field, scope: Scope, low: int, high: int) -> tuple[int, int, list[int] | None]:
        """The bounds that `valid` sets, or the values that it names."""
        rules = rules_of(one)
        for rule, said in rules.items():
            if rule == "in-enum":
                kind = one.one
                if isinstance(kind, (Integer, Bits)) and kind.enum is not None:
                    return low, high, sorted(number for number in kind.enum.values if low <= number <= high)
            elif rule == "any-of":
                return low, high, [int(self.ask(choice, one, scope)) for choice in said]
            elif rule == "eq":
                return low, high, [int(self.ask(said, one, scope))]
            elif rule in ("min", "max"):
                here = Scope(scope.node, scope.at, None, scope.index, scope.path)
                bound = self.ask(said, one, here)
                low, high = (max(low, bound), high) if rule == "min" else (low, min(high, bound))
        return low, high, None

    def rule_variables(self, one: Field, scope: Scope) -> list[Key]:
        """What the rules of a field depend on."""
        said = [rule for key, rule in rules_of(one).items() if key not in ("any-of", "in-enum")]
        return [key for rule in said for key in self.variables(rule, scope)]

    def tested(self, one: Field, scope: Scope, node: Node | None) -> Callable[[int], bool]:
        """Whether a number passes the expression of `valid`."""
        expr = rules_of(one)["expr"]

        def test(number: int) -> bool:
            item: Any = number
            if node is not None:
                node.values[str(node.type.scalar)] = number
                item = node
            try:
                return bool(self.value(expr, Scope(scope.node, scope.at, item, scope.index, scope.path)))
            except UnknownError:
                return False

        return test

    def check(self, one: Field, value: Any, scope: Scope, at: int) -> None:
        """Draws again what does not meet its rule."""
        here = Scope(scope.node, at, value, scope.index, scope.path)
        for rule, said in rules_of(one).items():
            if not self.holds(one, rule, said, here):
                keys: list[Key] = [("value", scope.path), ("bytes", scope.path)]
                sizes = [key for key in self.rule_variables(one, here) if key[0] == "size" and self.can_change(key)]
                if sizes and self.failed.get(scope.path, 0) < 4:  # what follows makes the stream long enough
                    self.failed[scope.path] = self.failed.get(scope.path, 0) + 1
                    self.changed = True
                    continue
                raise _AgainError([*keys, *self.rule_variables(one, here)])


def _any(_: int) -> bool:
    return True


def encoded(value: int, most: int) -> bytes:
    """A number in groups of seven bits, the lowest first."""
    out: list[int] = []
    while value >= 0x80 and len(out) < most - 1:
        out.append(0x80 | value & 0x7F)
        value >>= 7
    return bytes([*out, value & 0xFF])


def draw(type: Type, chance: Chance, arguments: list[Any] | None = None) -> Drawn:
    """An instance of a type; raises `NoneDrawnError`."""
    return Draw(type, chance, arguments, uses_for(type)).instance_of()


def uses_for(type: Type) -> dict[Field, Use]:
    """What the fields below a type are used for, computed once."""
    found: dict[Field, Use] | None = type.__dict__.get("_uses")
    if found is None:
        found = type.__dict__["_uses"] = uses_of(type)
    return found


class Dice:
    """Chance from a generator of random numbers, for what needs many instances fast and none to shrink."""

    def __init__(self, seed: object) -> None:
        self.random = random.Random(repr(seed))

    def integer(self, low: int, high: int) -> int:
        return self.random.randint(low, high)

    def choice(self, options: Many[T]) -> T:
        return self.random.choice(options)

    def data(self, size: int) -> bytes:
        return self.random.randbytes(size)
