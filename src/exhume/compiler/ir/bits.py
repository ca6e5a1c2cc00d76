"""Where bits of a byte may be unread: bit fields after them begin within that byte.

Bit fields (`b3`) need not fill their last byte.  What follows takes the next whole byte, but bit fields continue
within it, also those of a structure that is read from the same stream (`is_inline`), or of the next element.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from exhume.compiler.front.kinds import Bits, Kind, Switch, structures
from exhume.compiler.front.model import Field, Type


def bit_order(kind: Kind) -> bool | None:
    """Return whether bits start with the highest (True) or the lowest (False) of a byte; None for other kinds."""
    if isinstance(kind, Bits):
        return kind.big
    if isinstance(kind, Switch):
        return next((order for one in kind.kinds if (order := bit_order(one)) is not None), None)
    return None


def is_inline(field: Field) -> bool:
    """Return whether a field is a structure read from a stream that others read as well, not from one of its own."""
    own = not {"size", "terminator", "process"}.isdisjoint(field.raw) or field.to_end
    return field.value is None and not own and any(True for _ in structures(field.value_kind))


def shares_bytes(types: Iterable[Type]) -> bool:
    """Return whether streams have to keep the unread bits of a byte: a structure starts there, or one asks later."""
    for type in types:
        # Bits may be unread before the structure, or after one element of a list of such structures.
        for field, before in zip(type.seq, unread_before(type), strict=False):
            if _may_share(field, before):
                return True
        for field in type.instances.values():
            # An instance without a position continues where reading is, after the fields or after another instance.
            drifts = field.value is None and "pos" not in field.raw
            if drifts and (bit_order(field.value_kind) is not None or _may_share(field, unread_before(type)[-1])):
                return True
            if field.repeat and _may_share(field, False):
                return True
        # Instances and other structures ask a stream for its position or end after these bits.
        if type.root.model.moving is not None and unread_before(type)[-1]:
            return True
    return False


def _may_share(field: Field, before: bool) -> bool:
    """Return whether structures of a field, or what follows them, may start within a byte.

    `before`: bits before the field may be unread.
    """
    if not is_inline(field):
        return False
    # In a list, a structure may follow bits, which another case of the choice is.
    before = before or (field.repeat is not None and bit_order(field.value_kind) is not None)
    return before or any(unread_before(one.type)[-1] for one in structures(field.value_kind))


def unread_before(type: Type) -> list[bool]:
    """Return whether bits of a byte may be unread before each field of a structure and, as the last, after all.

    For the fields `b3`, `b5`, `u1` it is `[False, True, False, False]`, if the structure begins at a byte.
    """
    if type.unread_before is None:
        types = dict.fromkeys((*type.root.model.types(), type))
        leaving_unread = _types_leaving_unread(types)
        for one in types:
            one.unread_before = list(_unread_before(one.seq, leaving_unread))
    assert type.unread_before is not None
    return type.unread_before


def _types_leaving_unread(types: Iterable[Type]) -> set[Type]:
    """Return the types after which bits may be unread: their last fields are such bits, or such structures.

    The last fields may take no bytes, so earlier ones matter too.  Each field is examined once.
    """
    found: set[Type] = set()
    around: dict[Type, list[Type]] = {}  # by type, those whose last fields it may be
    for type in types:
        unread = list(_leaves_unread(type.seq))
        for field, leaves in zip(reversed(type.seq), reversed(unread), strict=True):
            if leaves is not None:
                found.update((type,) if leaves else ())
                break
            for one in structures(field.value_kind) if is_inline(field) else ():
                around.setdefault(one.type, []).append(type)
            if not _may_take_nothing(field):
                break
    waiting = [*found]
    while waiting:
        for type in around.pop(waiting.pop(), ()):
            if type not in found:
                found.add(type)
                waiting.append(type)
    return found


def _unread_before(fields: Sequence[Field], leaving_unread: set[Type]) -> Iterator[bool]:
    """Yield the values of `unread_before` for fields; `leaving_unread` are the types after which bits may be unread."""
    is_unread = False  # whether bits may be unread here
    for field, unread in zip(fields, _leaves_unread(fields), strict=True):
        yield is_unread
        if unread is not None:
            is_unread = unread
        elif is_inline(field) and any(one.type in leaving_unread for one in structures(field.value_kind)):
            is_unread = True
        elif not _may_take_nothing(field):
            is_unread = False
    yield is_unread


def _leaves_unread(fields: Iterable[Field]) -> Iterator[bool | None]:
    """Yield for each field whether it leaves bits of its last byte unread; None if it has no bits.

    Optional bits always may.
    """
    width, varies = 0, False  # of the bit fields up to this one
    for field in fields:
        if bit_order(field.value_kind) is None:
            width, varies = 0, False
            yield None
            continue
        varies = varies or bool(field.repeat) or field.condition is not None or not isinstance(field.value_kind, Bits)
        width += field.value_kind.width if isinstance(field.value_kind, Bits) else 0
        yield varies or width % 8 != 0


def _may_take_nothing(field: Field) -> bool:
    """Return whether reading a field may do nothing at all; then unread bits before it stay unread."""
    if field.condition is not None or field.repeat in ("expr", "eos"):
        return True
    if isinstance(field.value_kind, Switch) and field.value_kind.default is None:
        return True
    return is_inline(field) and any(_is_idle(one.type) for one in structures(field.value_kind))


def _is_idle(type: Type) -> bool:
    """Return whether reading a structure may do nothing, as none of its fields does.

    Structures within it are assumed to do nothing: that is only slower.
    """
    if "idle" not in type.known:
        type.known["idle"] = all(is_inline(one) or _may_take_nothing(one) for one in type.seq)
    return bool(type.known["idle"])
