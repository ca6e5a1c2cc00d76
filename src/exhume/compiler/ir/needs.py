"""The arguments that the reader of each type needs, and the facts that its values have to store.

For each type of a specification, the compiler writes a reader: a function that makes an object of the type's class
from bytes. Most readers take only the bytes, a start and an end. Expressions with `_io` (the stream), `_parent` (the
structure around) or `_root` (the outermost structure) need these as arguments; instances, which are read or computed
on access, need that the object has stored them.

The module also rejects types in which bits of both orders may be within one byte, as Kaitai's target languages do
not agree on these. To find them, it follows states of reading through the fields: the order of the bits that were
read last with the number of bits of their byte that were read (1 to 7), or None at the start of a byte. A type has a
set of states in which it may begin, and one in which it may end for each of them. States are passed on until none
is new.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from exhume.compiler.front import expressions as ex
from exhume.compiler.front.kinds import (
    BYTES,
    DECIDED,
    REST,
    SOME_STRUCTURE,
    TEXT,
    Bits,
    Kind,
    Structure,
    Switch,
    combined,
    structures,
)
from exhume.compiler.front.model import Field, Type
from exhume.compiler.front.specs import Model
from exhume.compiler.ir.bits import is_inline, shares_bytes
from exhume.compiler.ir.fixed import times
from exhume.compiler.refusal import UnsupportedError

KEYS = ("if", "size", "pos", "io", "repeat-expr", "repeat-until", "value", "parent")
"""Keys of a field whose values are expressions."""


@dataclass(slots=True)
class ReaderNeeds:
    """Arguments that the reader of a type takes, and facts that its objects store.

    `stream`: the bytes in which positions of the type are counted; `parent`, `root`: the structure around it and the
    outermost one. `keeps_*`: objects store it, for instances that are read or computed on access.
    """

    stream: bool = False
    parent: bool = False
    root: bool = False
    keeps_stream: bool = False
    keeps_parent: bool = False
    keeps_root: bool = False


def is_bounded(type: Type, expr: ex.Expr, item: Kind, known: dict[str, bool] | None = None) -> bool:
    """Return whether the specification alone limits the number of bits of an integer.

    It does not for a parameter, or for an instance of another structure: in a list, each element may compute a larger
    number from that of the element before.
    `item` is the kind of `_`, and `known` has the instances of the type that were examined.
    """
    known = {} if known is None else known
    match expr:
        case ex.Name(id) if not id.startswith("_"):
            one = type.field(id)
            if one.value is None:
                return not one.parameter
            if id not in known:
                known[id] = False  # for an instance that uses itself
                known[id] = is_bounded(type, one.value, item, known)
            return known[id]
        case ex.Member(of, name) if not name.startswith("_"):
            found = combined(type.kind_of(of, item))
            if isinstance(found, Structure) and not found.type.opaque:
                one = found.type.field(name)
                return one.value is None and not one.parameter
            return not any(True for _ in structures(found)) and is_bounded(type, of, item, known)
        case ex.Index(of, _) | ex.Cast(of, _) | ex.Unary(_, of):
            return is_bounded(type, of, item, known)
        case ex.Binary(_, left, right) | ex.Choice(_, left, right):
            return is_bounded(type, left, item, known) and is_bounded(type, right, item, known)
    return True


def expressions(field: Field) -> Iterator[ex.Expr]:
    """Yield every expression that belongs to a field."""
    for key in KEYS:
        if (found := field.expr(key)) is not None:
            yield found
    valid = field.raw.get("valid")
    if isinstance(valid, dict):
        for key, value in valid.items():
            if key == "any-of":
                yield from map(ex.parse, value)
            elif key != "in-enum":
                yield ex.parse(value)
    elif valid is not None:
        yield ex.parse(valid)
    # A choice of types: `{switch-on: expression, cases: ...}`.
    type = field.raw.get("type")
    if isinstance(type, dict):
        yield ex.parse(type["switch-on"])
    if (found := field.call("process")) is not None:
        yield from found.arguments
    # Arguments of the types that are read, as in `type: entry(n)`.
    if field.value is None:
        for structure in structures(field.value_kind):
            yield from structure.arguments


def uses(expr: ex.Expr, name: str) -> bool:
    """Return whether an expression contains a name."""
    return name in _names(expr)


@functools.lru_cache(maxsize=10_000)
def _names(expr: ex.Expr) -> frozenset[str]:
    """Return the names in an expression, except those of the remaining size (`_io.size - _io.pos`)."""
    return frozenset(ex.names(without_rest(expr)))


STREAM_SIZE = ex.Member(ex.Name("_io"), "size")
"""`_io.size`: the size of the stream."""
HERE = ex.Member(ex.Name("_io"), "pos")
"""`_io.pos`: the current position in the stream."""


def without_rest(expr: ex.Expr) -> ex.Expr:
    """Return an expression with `_io.size - _io.pos` replaced by one name.

    The remaining size can be computed where neither size nor position of the stream are known.
    """
    return ex.replaced(expr, lambda one: REST if one == ex.Binary("-", STREAM_SIZE, HERE) else one)


def is_position(expr: ex.Expr) -> bool:
    """Return whether an expression uses the current position of the stream."""
    return HERE in ex.nodes(without_rest(expr))


_PLACES = frozenset(("pos", "eof"))
"""Members of `_io` that depend on the current position."""


@functools.lru_cache(maxsize=10_000)
def words(expr: ex.Expr) -> frozenset[str]:
    """Return every name in an expression, of members as well."""
    every = ex.nodes(expr)
    found = {one.id for one in every if isinstance(one, ex.Name)}
    return frozenset(found | {one.name for one in every if isinstance(one, ex.Member)})


def _with_users(instances: list[Field], asked: set[str]) -> frozenset[str]:
    """Return the names `asked`, with those of all instances that use one of them, directly or through others.

    `asked` changes.
    """
    names_used: dict[str, set[str]] = {}
    for one in instances:  # instances of several types may share a name: treated as one
        names_used.setdefault(one.id, set()).update(*map(words, expressions(one)))
    while found := {id for id, names in names_used.items() if id not in asked and not names.isdisjoint(asked)}:
        asked |= found
    return frozenset(asked)


def find_moving(model: Model) -> None:
    """Set `drifting` and `moving` of a model: names of instances whose value depends on when they are first requested.

    Drifting instances are read at the current position of the stream, as they have no `pos`; moving ones also
    include those that use the current position. `moving` is None if no expression needs the stream to have a current
    position.
    """
    instances = [one for type in model.types() for one in type.instances.values()]
    drifting = {one.id for one in instances if one.value is None and "pos" not in one.raw}
    model.drifting = _with_users(instances, set(drifting)) if drifting else frozenset()
    moving = _with_users(instances, {*_PLACES, *drifting}) - _PLACES
    own = {ex.Member(ex.Name("_io"), name) for name in _PLACES}
    fields = [one for type in model.types() for one in type.seq]
    every = [node for one in fields for expr in expressions(one) for node in ex.nodes(expr)]
    # `_io.pos` of a structure itself is known while it is read; that of another structure (`entry._io.pos`) has to be
    # kept.
    others = any(isinstance(one, ex.Member) and one.name in _PLACES and one not in own for one in every)
    model.moving = moving if moving or others else None


def _own_stream(field: Field) -> bool:
    """Return whether a field is read from a stream of its own, as it has a size."""
    return field.size is not None or field.to_end


def inherits_order(type: Type) -> bool:
    """Return whether a type inherits the byte order that one around it has found in the data."""
    return type.endian == DECIDED and type.decides is None


def keeps_order(type: Type) -> bool:
    """Return whether a structure stores the byte order found in the data, for numbers and structures that are read
    later, on request.
    """
    return type.endian == DECIDED and any(
        one.value is None and one.value_kind not in (BYTES, TEXT) for one in type.instances.values()
    )


def keeps_run(type: Type) -> bool:
    """Return whether a structure stores the run (the budgets of its reading), for what is computed on access.

    That are its instances and `to-string`, in third-party specifications.
    """
    return type.root.model.foreign and (bool(type.instances) or "to-string" in type.raw)


def deciding(type: Type) -> Iterator[ex.Expr]:
    """Yield the expressions by which a type determines its byte order from the data."""
    decides = type.decides
    if decides is not None:
        yield ex.parse(decides["switch-on"])
        yield from (ex.parse(key) for key in decides["cases"] if key != "_")


def find_needs(model: Model) -> dict[Type, ReaderNeeds]:
    """Return the needs of every type, those of its parts included.

    For third-party specifications, also set `moving`, `drifting` and `shares` of the model. Raises
    `UnsupportedError` for bits of both orders within a byte.
    """
    needs = {type: ReaderNeeds() for type in model.types()}
    for type, need in needs.items():
        for expr in deciding(type):
            need.stream |= uses(expr, "_io")
            need.parent |= uses(expr, "_parent")
            need.root |= uses(expr, "_root") and type.inside
        for field in type.seq:
            _note_arguments(field, need, expressions(field))
        for field in type.instances.values():
            _note_arguments(field, need, expressions(field))
            _note_stored(field, need, expressions(field))
    for type in needs:
        _note_used_later(type, needs)
    if model.foreign:
        find_moving(model)
        model.shares = shares_bytes(needs)
        check_bit_orders(needs)
    if model.foreign:  # every structure knows the one around it, and its stream
        # With `parent:`, a field is given another parent, so the root cannot be found by following parents.
        cut = any("parent" in field.raw for type in needs for field in type.fields())
        for type, need in needs.items():
            need.keeps_stream = need.keeps_parent = True
            need.keeps_root |= cut and type.inside
    _propagate(needs)
    return needs


def _propagate(needs: dict[Type, ReaderNeeds]) -> None:
    """Add the needs of each type to those of the types that contain it, until nothing changes."""
    outer: dict[Type, dict[Type, None]] = {}  # by type, those that contain it (a set in order)
    for type in needs:
        for field in (*type.seq, *type.instances.values()):
            for one in structures(field.value_kind) if field.value is None else ():
                outer.setdefault(one.type, {})[type] = None
    waiting = list(needs)
    while waiting:
        type = waiting.pop()
        if _take_over_from_parts(type, needs):
            waiting += outer.get(type, ())


def _note_arguments(field: Field, need: ReaderNeeds, found: Iterable[ex.Expr]) -> None:
    """Note in `need` the arguments (stream, parent, root) that a reader takes for the expressions of a field."""
    for expr in found:
        need.stream |= uses(expr, "_io")
        need.parent |= uses(expr, "_parent")
        need.root |= uses(expr, "_root") and field.owner.inside


def _note_stored(field: Field, need: ReaderNeeds, found: Iterable[ex.Expr]) -> None:
    """Note in `need` what objects store (stream, parent, root) for the expressions `found` of an instance."""
    position = field.value is not None and is_position(field.value)  # computed while reading, when the stream is there
    need.keeps_stream |= field.value is None
    for expr in found:
        need.keeps_stream |= uses(expr, "_io") and not position
        need.keeps_parent |= uses(expr, "_parent")
        need.keeps_root |= uses(expr, "_root") and field.owner.inside


def _note_used_later(type: Type, needs: dict[Type, ReaderNeeds]) -> None:
    """Note in `needs` which types keep `_io`, `_parent` or `_root`, because expressions of `type` use these of them.

    Raises `UnsupportedError` if the type is not part of the specification (opaque).
    """
    for field in (*type.seq, *type.instances.values()):
        for node in (node for expr in expressions(field) for node in ex.nodes(expr)):
            if not isinstance(node, ex.Member) or node.name not in _STORED or node.of == ex.Name("_io"):
                continue
            try:
                of = type.kind_of(node.of, field.value_kind)
            except UnsupportedError as error:
                raise error.within(field.where) from None
            for one in structures(of):
                if one.type.opaque:
                    raise UnsupportedError("nothing is known of a type that is given", field.where)
                setattr(needs[one.type], _STORED[node.name], True)
            if combined(of) == SOME_STRUCTURE and type.root.model.foreign:  # it may be of any type
                for need in needs.values():
                    setattr(need, _STORED[node.name], True)


_STORED = {"_io": "keeps_stream", "_parent": "keeps_parent", "_root": "keeps_root"}
"""The attribute of `ReaderNeeds` for a member that expressions may use after the structure was read."""


def _take_over_from_parts(type: Type, needs: dict[Type, ReaderNeeds]) -> bool:
    """Add to the needs of a type those of the types of its fields; return whether anything changed."""
    need, changed = needs[type], False

    def demand(name: str) -> None:
        """Set a need, and note whether it was new."""
        nonlocal changed
        if not getattr(need, name):
            setattr(need, name, True)
            changed = True

    for field in (*type.seq, *type.instances.values()):
        for one in structures(field.value_kind) if field.value is None else ():
            if one.type.opaque:
                continue
            # What the reader of a field needs, the reader of this type needs to pass on; an instance is read later, so
            # the object has to keep it.
            inner = needs[one.type]
            if inner.root and one.type.root is type.root and type.inside:
                demand("keeps_root" if field.instance else "root")
            if inner.stream and not _own_stream(field) and not field.instance:
                demand("stream")
    for name in ("stream", "parent", "root"):
        if getattr(need, f"keeps_{name}"):
            demand(name)
    return changed


@dataclass(frozen=True, slots=True)
class _WithinByte:
    """A position within a byte."""

    big: bool
    """Whether its bits are read from the highest on."""
    used: int
    """Bits of it that were read."""


BitState = _WithinByte | None
"""A position: within a byte, or (None) between bytes."""

BITS_PERIOD = 8
"""Elements of a list after which the position within a byte is the same again, whatever their width."""


def check_bit_orders(types: Iterable[Type]) -> None:
    """Raise `UnsupportedError`, naming the field, if a byte may have bits of both orders.

    The states in which each type may begin and end are computed from those of the others, until none is new.
    """
    types = list(types)
    if len({order for type in types for one in type.fields() for order in _orders(one.value_kind)}) < 2:
        return
    found = _BitStates(types)
    while found.changed:
        found.changed = False
        for type, begin in list(found.ends):
            found.sequence(type, begin)


def _orders(kind: Kind) -> Iterator[bool]:
    """Yield the orders of the bits that a kind may be: True for big-endian."""
    if isinstance(kind, Bits):
        yield kind.big
    elif isinstance(kind, Switch):
        for one in kind.kinds:
            yield from _orders(one)


class _BitStates:
    """States in which the reading of each type may end, for each state in which it may begin.

    Attributes:
        ends: By type and state at its beginning, the states at its end that are known so far.
        changed: Whether the last pass added types or states, so that another is needed.
    """

    def __init__(self, types: Iterable[Type]) -> None:
        self.ends: dict[tuple[Type, BitState], set[BitState]] = {(type, None): set() for type in types}
        self.changed = True

    def sequence(self, type: Type, begin: BitState) -> None:
        """Find the states after all fields of a type; instances may be read after any field."""
        states: set[BitState] = {begin}
        seen = {begin}
        for field in type.seq:
            states = self.field(field, states)
            seen |= states
        for field in type.instances.values():
            if field.value is None:
                self.field(field, {None} if "pos" in field.raw else seen)
        self.changed |= not states <= self.ends[type, begin]
        self.ends[type, begin] |= states

    def field(self, field: Field, states: set[BitState]) -> set[BitState]:
        """Return the states after a field that is read in one of `states`."""
        count = times(field)
        if count is None:
            # Any number of elements: repeat until no new state is found.
            after, before = self.one_value(field, field.value_kind, states), set[BitState]()
            while not after <= before:
                before |= after
                after = after | self.one_value(field, field.value_kind, after)
            return after if field.repeat == "until" and field.condition is None else after | states
        after = states
        for _ in range(count if count < 2 * BITS_PERIOD else count % BITS_PERIOD + BITS_PERIOD):
            after = self.one_value(field, field.value_kind, after)
        return after if field.condition is None else after | states

    def one_value(self, field: Field, kind: Kind, states: set[BitState]) -> set[BitState]:
        """Return the states after one value of a kind.

        Raises `UnsupportedError` if bits of the other order come before it.
        """
        if isinstance(kind, Bits):
            if any(state is not None and state.big != kind.big for state in states):
                raise UnsupportedError("bits of both orders within a byte are not supported", field.where)
            # Bits taken of the last byte; 0 is the start of the next.
            used = {((0 if state is None else state.used) + kind.width) % 8 for state in states}
            return {_WithinByte(kind.big, many) if many else None for many in used}
        if isinstance(kind, Switch):
            after = set[BitState]().union(*(self.one_value(field, one, states) for one in kind.kinds))
            return after if kind.default is not None else after | states
        # Everything but bits and structures in the same stream starts at a byte and ends at one.
        if not isinstance(kind, Structure) or kind.type.opaque or not is_inline(field):
            return {None}
        # New states of a type are followed in the next pass.
        new = [(kind.type, state) for state in states if (kind.type, state) not in self.ends]
        self.ends.update((one, set()) for one in new)
        self.changed |= bool(new)
        return set[BitState]().union(*(self.ends[kind.type, state] for state in states))
