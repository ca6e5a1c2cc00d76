"""Draws random structures, substreams (fields with a size of their own) and repeated fields.

The sizes, positions and counts that the format stores are corrected afterwards, so that they match the content; see
`draft` for how passes and corrections work.

Parameters: `one` is the field that is drawn, `node` the structure that it is in, `scope` the context of its expressions
(with its path and offset), `stream` the bytes that it is in, `inner` those that it has to itself, `at` an offset.

Inherited: `drawn_once(path, purpose, draw)` returns what was drawn before, or draws it; `chance` draws.  `variables`
returns what an expression depends on, `solution` values of these that make it right (unless `free`, also of those that
are determined already); `apply` pins them (`pins`), and `fix_up` does all of that.  `has_space` returns whether bytes
fit their stream, which is longer in the next pass if not; `note_used` notes that it has to contain them; `needed_size`
is the size that its content needs; `sizes`, `grow` and `shrink` change its size; it is in `with_stated_size` if its
size is taken as stated, `pinned` if that cannot change.  `position_apart` is an offset apart from all others.
`byte_at` has the known bytes by offset, `known` structure and field of each value by path, `settled` the paths whose
bytes others decide, `placed_now` the variables that stay in this pass.  `failed` counts impossible corrections by path,
`read` the structures of the pass.  `small`: draw small values; `changed`: another pass is needed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from exhume.compiler.front import expressions as ex
from exhume.compiler.front.kinds import Kind, Structure, Switch
from exhume.compiler.front.model import Field
from exhume.compiler.instances.draft import NotYetError, RetryError
from exhume.compiler.instances.roles import expression
from exhume.compiler.instances.solve import LARGEST, Key
from exhume.compiler.instances.stored import StoredValues
from exhume.compiler.instances.tree import Node, Raw, Scope, Stream
from exhume.compiler.ir.fixed import varint

WISHES_UNTIL = 150
"""Structures of an instance up to which optional fields and cases are wished for; it would grow without end."""

FEW_FROM = 200
"""Structures from which lists have one element at most."""

MOST_STRUCTURES = 600
"""Structures of an instance at which it is given up as too large."""

MOST_DRAWN, MOST_STATED = 4, 8
"""Most elements of a list whose number is drawn, and of one whose number other values state; fewer within lists."""

MORE_TRIED = 8
"""Elements of a list, beyond twice the drawn number, after which it is given up that one becomes the last."""

MOST_FAILED = 2
"""Most failed attempts to make the size of a stream fit its content."""


class Structures(StoredValues):
    """Draws structures: whether their fields are present, the sizes and positions of streams, the number of
    elements.
    """

    placed_now: set[Key]

    # Wishes: that something which depends on other values is there.

    def instances(self, node: Node) -> None:
        """Read the instances below a structure, stored ones first: computed ones might request their bytes before."""
        for one in node.type.seq:
            self.below(node.values.get(one.id))
        for one in sorted(node.type.instances.values(), key=lambda one: one.value is not None):
            self.below(self.get(node, one.id))

    def present(self, one: Field, scope: Scope) -> bool:
        """Return whether a field is there; at random, the values in its condition are changed so that it is."""
        there = super().present(one, scope)
        if there and one.condition is not None:
            self.conditions[scope.path] = one.condition, scope
        # Only stored fields are wished for, and none in a small instance, or late in one of many structures.
        if there or one.condition is None or one.value is not None or self.small or self.read > WISHES_UNTIL:
            return there
        node = scope.node
        # One field at most per structure is wished for: several conditions would contradict each other more often.
        optional = [other.id for other in node.type.fields() if other.condition is not None and other.value is None]
        # In about half of the structures, one field is wished for.
        wish = self.drawn_once(node.path, f"wish {node.type.where}", lambda: self.chance.integer(0, 2 * len(optional)))
        if wish >= len(optional) or optional[wish] != one.id:
            return False
        found = self.solution(one.condition, scope, True)
        if found:  # it sets only values that nothing has determined yet
            self.apply(found)
        return bool(found) and super().present(one, scope)

    def case(self, one: Field, kind: Switch, scope: Scope) -> Kind | None:
        """Return the type of a switch; often one case is wished for, and the value it switches on is changed to
        match.
        """
        if kind.cases and not self.small and self.read < WISHES_UNTIL:
            # In about half of the switches, one case is wished for.
            wish = self.drawn_once(scope.path, "case", lambda: self.chance.integer(0, 2 * len(kind.cases)))
            if wish < len(kind.cases):
                wanted = self.value(kind.cases[wish][0], scope)
                if self.required(kind.on, one, scope) != wanted:
                    self.apply(self.solution(kind.on, scope, wanted) or {})
        return super().case(one, kind, scope)

    # Structures.

    def fields(self, node: Node, at: int) -> int:
        """Draw the fields of a structure; return their end.  Raises `RetryError` if there are too many structures."""
        self.read += 1
        if self.read > MOST_STRUCTURES:
            raise RetryError([])
        if varint(node.type):
            return self.integer_of_groups(node, at)
        return super().fields(node, at)

    def structure(self, kind: Structure, scope: Scope, stream: Stream, at: int) -> tuple[Node, int]:
        """Draw a structure; its offset is noted, as one that positions may refer to."""
        self.starts.setdefault((stream.path, kind.type.where), []).append(at)
        return super().structure(kind, scope, stream, at)

    def sized(self, one: Field, kind: Kind, scope: Scope, stream: Stream) -> tuple[Any, int]:
        """Draw a structure or bytes in a stream of their own.  Raises `RetryError` if the size is invalid."""
        at, path = scope.at, scope.path
        if one.size is None:
            return self.to_end(one, kind, scope, stream)
        self.size_exprs[path] = one.size, scope
        size = self.required(one.size, one, scope)
        wanted = self.sizes.get(path)
        # The content needs a size that differs from the stated one: correct what it is computed from.
        if wanted is not None and wanted != size and path not in self.with_stated_size:
            if self.fix_up(one.size, scope, wanted):
                size = wanted
            else:
                self.sizes.pop(path)
        elif wanted is None and path not in self.with_stated_size:
            # No size is needed yet, and the stated one may change: the content decides.
            if any(self.can_change(key) for key in self.variables(one.size, scope)):
                return self.draw_then_size(one, kind, scope, stream, one.size)
            # It cannot change: it is taken as stated, except where bytes that were there already decide it.
            if not any(of in self.settled for _, of in self.variables(one.size, scope)):
                self.with_stated_size.add(path)
        if not isinstance(size, int) or not 0 <= size <= LARGEST:
            raise RetryError(list(self.variables(one.size, scope)))
        inner = Stream(at, size, path, pinned=path not in self.sizes)
        if not self.has_space(stream, at, size):  # it fits in the next pass; in this one it is drawn elsewhere
            inner.base = self.position_apart()
        self.streams[path] = inner
        return self.within(one, kind, scope, inner), at + size

    def to_end(self, one: Field, kind: Kind, scope: Scope, stream: Stream) -> tuple[Any, int]:
        """Read a field that takes the rest of its stream; a stream without a size yet grows with it."""
        at = scope.at
        if stream.size is None:
            inner = Stream(at, None, scope.path, stream)
            self.streams[scope.path] = inner
            value = self.within(one, kind, scope, inner)
            size = max(self.needed_size(inner), self.sizes.get(scope.path, 0))
            if isinstance(value, Raw):
                value.size = size
            self.note_used(stream, at, at + size)
            return value, at + size
        if at > stream.end:
            self.grow(stream, at - stream.base)
        inner = Stream(at, max(0, stream.end - at), scope.path, stream, stream.pinned)
        self.streams[scope.path] = inner
        self.note_used(stream, at, inner.end)
        return self.within(one, kind, scope, inner), max(at, stream.end)

    def draw_then_size(self, one: Field, kind: Kind, scope: Scope, stream: Stream, size: ex.Expr) -> tuple[Any, int]:
        """Draw the content of a field whose size may change, then change the fields in the expression `size` so that it
        fits.
        """
        at, path = scope.at, scope.path
        # Bytes that are known stay where they are; others are drawn apart, as it is not known yet how many there are.
        inner = Stream(at if at in self.byte_at else self.position_apart(), None, path)
        self.streams[path] = inner
        value = self.within(one, kind, scope, inner)
        natural = self.needed_size(inner)
        if isinstance(value, Raw):
            natural = value.size = self.length(one, scope)
        natural = max(natural, self.sizes.get(path, 0))
        self.sizes[path] = natural
        self.changed = True
        if not self.fix_up(size, scope, natural):
            self.sizes.pop(path, None)
            self.failed[path] = self.failed.get(path, 0) + 1
            if self.failed[path] > MOST_FAILED:
                self.with_stated_size.add(path)
        self.note_used(stream, at, at + natural)
        return value, at + natural

    def within(self, one: Field, kind: Kind, scope: Scope, inner: Stream) -> Any:
        """Read a value in a stream of its own, with all instances of a structure; bytes are stored if they are
        decided.
        """
        value = super().within(one, kind, scope, inner)
        if isinstance(value, Node):
            try:
                self.instances(value)
            except NotYetError:  # they are read once more at the end of the pass
                value.running.clear()
        elif isinstance(value, Raw):
            self.store_decided(value)
        return value

    # Numbers of variable length.

    def integer_of_groups(self, node: Node, at: int) -> int:
        """Draw a number of variable length; return its end."""
        path, stream = node.path, node.stream
        self.known[path] = node, str(node.type.scalar)
        one = self.field_of(node)
        if at in self.byte_at and at < stream.end:
            self.settled.add(path)
            return self.groups_there(node, at)
        value = self.pins.get(("value", path))
        if value is None:
            scope = Scope(node.parent, at, path=path) if node.parent is not None else None
            value = self.drawn_once(
                path, node.type.where, lambda: self.draw_number(one, 0, (1 << 64) - 1, None, scope, stream, node)
            )
        # Bytes of seven bits each, the lowest first; now and then one more byte than needed.
        data = encoded(value, len(node.type.seq))
        if len(data) < 9 and "valid" not in node.type.seq[1].raw:  # longer forms than needed are allowed
            more = (
                0
                if self.small
                else self.drawn_once(path, "longer", lambda: self.chance.choice((0, 0, 0, 0, 0, 0, 0, 1)))
            )
            data = data if not more else bytes([*data[:-1], data[-1] | 0x80, 0])
        node.values[str(node.type.scalar)] = value
        for group, byte in itertools.zip_longest(node.type.seq, data):
            node.values[group.id] = byte
        if self.has_space(stream, at, len(data)):
            self.store(at, data)
        return at + len(data)

    def groups_there(self, node: Node, at: int) -> int:
        """Read a number of variable length whose bytes are known.  Raises `RetryError` if they form none."""
        for group in node.type.seq:
            node.values[group.id] = None
        for step in varint(node.type):
            if not self.has_space(node.stream, at, 1):
                raise RetryError([("value", node.path)])
            if at not in self.byte_at:
                self.byte_at[at] = self.chance.integer(0, 127)  # a byte that may be the last
            node.values[step.field.id] = self.byte_at[at]
            at += 1
            if step.last is None or self.value(step.last, Scope(node)):
                break
        self.get(node, str(node.type.scalar))
        return at

    def field_of(self, node: Node) -> Field | None:
        """Return the field that a structure is the value of; None for the root."""
        if node.parent is None:
            return None
        id = node.path.removeprefix(node.parent.path).lstrip(".").partition("[")[0]
        return next((one for one in node.parent.type.fields() if one.id == id), None)

    # Instances and repetition.

    def placed(self, place: ex.Expr, one: Field, stream: Stream, scope: Scope) -> int:
        """Return the absolute position of an instance; `place` is the expression of its `pos`.

        If the values that determine it may still change in this pass, choose a position (`chosen_place`) and set the
        values to match; otherwise use the position that they state, and enlarge the stream up to it if possible.

        Raises `RetryError` when the position is invalid.
        """
        at = self.required(place, one, scope)
        # A structure is moved unless a value of its position is in use in this pass; numbers and bytes, which can be
        # read anywhere, are moved only if the position is invalid.
        held = isinstance(one.value_kind, (Structure, Switch))
        keys = [key for key in self.variables(place, scope) if key[0] == "value" and self.can_change(key)]
        moving = held and keys and not any(key in self.placed_now for key in keys)
        if moving or not isinstance(at, int) or at < 0:
            wanted = self.chosen_place(one, stream, scope)
            found = self.solution(place, scope, wanted, free=False)
            if found is not None and all(key[0] == "value" for key in found):
                self.apply(found)
                return stream.base + wanted
            if not isinstance(at, int) or at < 0:
                raise RetryError(list(self.variables(place, scope)))
        self.placed_now |= set(keys)
        if stream.size is not None and stream.length < at <= LARGEST and not stream.pinned:
            self.grow(stream, at)
        elif stream.size is not None and at > stream.length:
            raise RetryError(list(self.variables(place, scope)))
        return stream.base + at

    def chosen_place(self, one: Field, stream: Stream, scope: Scope) -> int:
        """Return a position for an instance that may be anywhere: that of a similar structure, or after everything
        else.
        """
        kind = one.value_kind
        starts = self.starts.get((stream.path, kind.type.where), []) if isinstance(kind, Structure) else []
        if starts and not one.repeat:
            # The same choice in each pass, however many structures it has.
            index: int = self.drawn_once(scope.path, "place", lambda: self.chance.integer(0, 1 << 16))
            return starts[index % len(starts)] - stream.base
        return stream.high

    def elements(self, one: Field, node: Node, stream: Stream, values: list[Any]) -> Iterator[int]:
        """Yield the indexes of the elements of a list.  Raises `RetryError` if the count is invalid."""
        path = node.below(one.id)
        start = Scope(node, self.place, path=path)
        if one.repeat == "expr":
            expr = expression(one, "repeat-expr")
            assert expr is not None
            count = self.required(expr, one, start)
            if not isinstance(count, int) or count > self.most_elements(path, MOST_STATED):
                few = self.drawn_once(path, "count", lambda: self.count(path))
                if not self.fix_up(expr, start, few):
                    raise RetryError(list(self.variables(expr, start)))
                count = few
            yield from range(count)
        elif one.repeat == "eos":
            yield from self._to_the_end(path, stream, values)
        else:
            yield from self._until(one, node, path, values)

    def _to_the_end(self, path: str, stream: Stream, values: list[Any]) -> Iterator[int]:
        """Yield the indexes of a list up to the end of its stream.

        Their number is drawn, or one that a solution requires; the stream is made to end after them if it can be.
        """
        count = self.pins.get(("count", path))
        if count is None:
            count = self.drawn_once(path, "count", lambda: self.count(path))
        opened = stream.size is None
        while len(values) < count and (self.place < stream.end or not stream.pinned):
            yield len(values)
            if opened and stream.size is not None and self.place >= stream.end:  # what was just read ends the stream
                self.drawn[path, "count"] = len(values)
                return
        if stream.size is None or self.place >= stream.end:
            return
        # Other fields in the stream may need the bytes that the list does not: then elements fill them.
        tried = self.failed[path] = self.failed.get(path, 0) + 1
        if tried > MOST_FAILED or not self.shrink(stream, self.place - stream.base):
            while self.place < stream.end:
                yield len(values)

    def _until(self, one: Field, node: Node, path: str, values: list[Any]) -> Iterator[int]:
        """Yield the indexes of a list with `repeat-until`; after a drawn number of elements, one is made to be the
        last.

        Raises `RetryError` if none becomes the last.
        """
        expr = expression(one, "repeat-until")
        assert expr is not None
        most = self.drawn_once(path, "count", lambda: max(1, self.count(path)))
        while True:
            yield len(values)
            if self.is_last(one, node, values):
                return
            if len(values) >= most:
                item = values[-1]
                scope = Scope(node, self.place, item, len(values) - 1, f"{path}[{len(values) - 1}]")
                if self.fix_up(expr, scope, True):
                    return
                if len(values) > 2 * most + MORE_TRIED:
                    raise RetryError(list(self.variables(expr, scope)))

    def count(self, path: str) -> int:
        """Return a random number of elements."""
        return self.chance.integer(0, self.most_elements(path, MOST_DRAWN))

    def most_elements(self, path: str, many: int) -> int:
        """Return the largest number of elements to draw: `many`, halved for each list around (a `[` in the path)."""
        return 1 if self.small or self.read > FEW_FROM else max(1, many >> path.count("["))


def encoded(value: int, most: int) -> bytes:
    """Return a number as at most `most` bytes with seven bits each, the lowest first; all but the last have the top
    bit.
    """
    out: list[int] = []
    while value >= 0x80 and len(out) < most - 1:
        out.append(0x80 | value & 0x7F)
        value >>= 7
    return bytes([*out, value & 0xFF])
