"""State of an instance that is being drawn: values that are drawn once, corrections for the next pass, and extents.

An instance is drawn in passes.  Each walks over the bytes as a reader does and draws (chooses at random) those that
are not known yet.  If a value turns out not to fit, such as a length before the data, a solution is sought: values
of variables (`Key`) that make the expression right.  They are pinned, and the next pass starts with them.

Words: a value is pinned if a correction requires it, placed if a position in this pass depends on it, settled if
other fields determine its bytes; a stream is in `with_stated_size` if its size is taken as stated.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Many
from typing import Any, Protocol, TypeVar

from exhume.compiler.front import expressions as ex
from exhume.compiler.front.model import Field, Type
from exhume.compiler.instances.roles import FieldUse
from exhume.compiler.instances.solve import LARGEST, Key, Solution, Solver
from exhume.compiler.instances.tree import OPEN, Node, Raw, Scope, Stream, UnknownError

FAR = 1 << 20
"""Distance from `OPEN` within which a position counts from the end of a stream without a size."""


class RetryError(Exception):
    """Raised when drawn values do not go together: one of the variables `keys` has to be drawn again."""

    def __init__(self, keys: list[Key]) -> None:
        super().__init__(keys)
        self.keys = keys


class NotYetError(Exception):
    """Raised for an expression that needs a value which is read later in this pass."""


class Draft(Solver):
    """A walk over bytes that are drawn while they are read; the base of `InstanceBuilder`.

    `key` is a variable: a word (`value`, `bytes`, `count` or `size`) and a path.  `one` is the field that an expression
    belongs to, `scope` its context.
    """

    virtual: int
    """Last position that `position_apart` returned."""

    def __init__(
        self, type: Type, chance: RandomChoices, arguments: list[Any] | None, uses: dict[Field, FieldUse]
    ) -> None:
        """Draw an instance of `type`: `arguments` are its parameters, `uses` how expressions use each field.

        `chance` makes the random choices; parameters are drawn, too, if `arguments` is None.
        """
        super().__init__(b"")
        self.type = type
        self.chance = chance
        self.given = arguments
        self.uses = uses
        # These last over all passes; paths are those of fields, "" for the root.
        self.drawn: dict[tuple[str, str], Any] = {}  # see `drawn_once`
        self.pins: Solution = {}  # values that a correction requires
        self.sizes: dict[str, int] = {}  # sizes of streams, by path
        self.with_stated_size: set[str] = set()  # streams whose size is taken as stated
        self.used_from_end: dict[str, int] = {}  # see `note_used`
        self.failed: dict[str, int] = {}  # failed corrections, by path
        self.corrected_passes = 0  # failed passes in sequence that were followed by corrections only
        self.redrawings = 0  # how often values were drawn again
        self.small = False  # whether to draw small values: after many attempts without result
        self.begin()

    def begin(self) -> None:
        """Forget the results of the pass before; pinned values and sizes stay."""
        self.byte_at: dict[int, int] = {}  # the bytes that are known, by offset
        self.changed: bool = False  # whether a correction was made, so that another pass is needed
        self.virtual = OPEN * 8  # after all positions in streams, also in those whose size is taken to be `OPEN`
        self.placed_now: set[Key] = set()
        """Variables that stay as they are in this pass, because a position or a solution depends on them."""
        self.settled: set[str] = set()  # paths of fields whose bytes were known before they were read
        self.raws: dict[str, Raw] = {}  # fields of bytes, by path
        self.owners: dict[tuple[int, int], str] = {}  # path of the first field with this start and size
        self.conditions: dict[str, tuple[ex.Expr, Scope]] = {}  # conditions of optional fields that exist, by path
        self.size_exprs: dict[str, tuple[ex.Expr, Scope]] = {}  # expressions of sizes, by path
        self.starts: dict[tuple[str, str], list[int]] = {}
        """Offsets of structures, by path of the stream and name of the type: positions may refer to these
        (`chosen_place`).
        """
        self.known.clear()
        self.streams.clear()
        self.computed.clear()
        self.rules.clear()
        self.depth = 0
        self.read = 0  # structures read in this pass

    def drawn_once(self, path: str, of: str, draw: Callable[[], Any]) -> Any:
        """Return the value that `draw` returned for `path` and the purpose `of` when it was first requested."""
        key = (path, of)
        if key not in self.drawn:
            self.drawn[key] = draw()
        return self.drawn[key]

    # Corrections.

    def apply(self, found: Solution) -> None:
        """Pin the values and sizes of a solution, for this pass and the next ones."""
        for key, value in found.items():
            what, path = key
            if what == "size":
                self.resize(path, value)
                if (stream := self.streams.get(path)) is not None and stream.size is None:
                    stream.size = value
                continue
            # Fields of the same bytes share what is pinned: it is kept for the first of them.
            if what == "bytes" and (raw := self.raws.get(path)) is not None:
                path = self.owners.get((raw.start, raw.size), path)
                key = what, path
            if self.pins.get(key) != value:
                self.pins[key] = value
                self.changed = True
            self.placed_now.add(key)
            if what == "value" and (known := self.known.get(path)) is not None:
                node, name = known
                node.values[name] = value
        self.forget()

    def resize(self, path: str, size: int) -> None:
        """Change the size of a stream, in bytes, in the next pass."""
        if self.sizes.get(path) != size:
            self.sizes[path] = size
            self.changed = True

    def is_free(self, key: Key) -> bool:
        """Return whether a value or size may still be chosen: nothing has pinned, placed or settled it."""
        what, path = key
        if what == "size":
            stream = self.streams.get(path)
            return stream is not None and not stream.pinned and (stream.size is None or path not in self.sizes)
        return key not in self.pins and key not in self.placed_now and path not in self.settled

    def can_change(self, key: Key) -> bool:
        """Return whether a variable is stored, or the size of a stream that may change."""
        what, path = key
        if what == "size":
            stream = self.streams.get(path)
            return stream is not None and not stream.pinned
        return what == "value" and path not in self.settled and (path in self.known or key in self.pins)

    def fix_up(self, expr: ex.Expr, scope: Scope, wanted: Any) -> bool:
        """Make an expression have the value `wanted`; return whether that was possible.

        If free variables do not suffice, values that were corrected before are changed.
        """
        found = self.solution(expr, scope, wanted) or self.solution(expr, scope, wanted, free=False)
        # The second attempt may have found values that cannot change any more.
        if found is None or any(
            self.is_fixed(path) if what == "size" else path in self.settled for what, path in found
        ):
            return False
        self.apply(found)
        return True

    def is_fixed(self, path: str) -> bool:
        """Return whether the size of the stream at a path cannot change any more."""
        stream = self.streams.get(path)
        return stream is not None and stream.pinned

    def grow(self, stream: Stream, need: int) -> None:
        """Make a stream have at least `need` bytes in the next pass.  Raises `RetryError` if its size cannot change."""
        if stream.outer is not None:  # both end together
            self.grow(stream.outer, stream.base - stream.outer.base + need)
        elif stream.pinned:
            raise RetryError([("value", stream.path), ("bytes", stream.path)])
        else:
            self.resize(stream.path, max(need, self.sizes.get(stream.path, 0)))

    def shrink(self, stream: Stream, size: int) -> bool:
        """Make a stream end earlier in the next pass; return False if its size cannot change."""
        if stream.outer is not None:
            return self.shrink(stream.outer, stream.base - stream.outer.base + size)
        if stream.pinned:
            return False
        self.resize(stream.path, size)
        return True

    def required(self, expr: ex.Expr, one: Field, scope: Scope) -> Any:
        """Return the value of an expression.  Raises `RetryError`, with the variables it depends on, if it has none."""
        try:
            return self.value(expr, scope)
        except UnknownError:
            raise RetryError([*self.variables(expr, scope), ("value", scope.path)]) from None

    def get(self, node: Node, id: str) -> Any:
        """Return the value of a field, parameter or instance.  Raises `NotYetError` before it is drawn."""
        if id in node.given:
            given, scope = node.given[id]
            return self.value(given, scope)
        if id not in node.values and id not in node.type.instances:
            raise NotYetError
        return super().get(node, id)

    # Extents.

    def note_used(self, stream: Stream, start: int, stop: int) -> None:
        """Note that the bytes `[start, stop)` of a stream are used: it has to contain them.

        `used_from_end` has the number of used bytes counted from the end of each stream, `high` those from its start.
        """
        first, last = start - stream.base, stop - stream.base
        tail = self.used_from_end.get(stream.path, 0)
        # The position was computed from the end of a stream whose size is not known yet.
        if first > OPEN - FAR:
            self.used_from_end[stream.path] = max(tail, OPEN - first)
        elif stream.size is None or first < stream.size - tail:
            stream.high = max(stream.high, last)

    def needed_size(self, stream: Stream) -> int:
        """Return the size in bytes that the content of a stream needs."""
        return stream.high + self.used_from_end.get(stream.path, 0)

    def has_space(self, stream: Stream, at: int, size: int) -> bool:
        """Return whether `size` bytes are available at `at`; if not, the stream will be longer in the next pass.

        Raises `RetryError` if its size cannot change, or the position is out of bounds.
        """
        # From `OPEN - FAR` on, a position is one that counts from the end of a stream without a size.
        if at < stream.base or size > LARGEST or LARGEST < at - stream.base < OPEN - FAR:
            raise RetryError([("value", stream.path)])
        if at + size <= stream.end:
            self.note_used(stream, at, at + size)
            return True
        self.grow(stream, at + size - stream.base)
        return False

    def position_apart(self) -> int:
        """Return a position for bytes without a place yet: it is after all others, and far from them."""
        self.virtual += 8 * OPEN
        return self.virtual


T = TypeVar("T")


class RandomChoices(Protocol):
    """The source of random values, such as Hypothesis.

    `integer` returns a number of [low, high], `choice` an element, `data` bytes.
    """

    def integer(self, low: int, high: int) -> int: ...
    def choice(self, options: Many[T]) -> T: ...
    def data(self, size: int) -> bytes: ...
