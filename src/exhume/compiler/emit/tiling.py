"""The table of structures that claim every byte from where they begin to where they end: `facts/_tiling.py`.

    TILING["zs::block"] == ("zs", "read_block", "")
    SIZES["leveldb_table::block_trailer"] == 5
    ROWS["ark_split::entry_list"] == 18

When a structure that is named there was read to the end of its bytes, each byte belongs to a field, whichever it is.
Fields of `seq` are consecutive, so only bytes that have a size of their own may be left over: those of a structure
that does not take all that it is given.  A structure that is nothing but a list from its first byte to the end
(`pos: 0`, `repeat: eos`) is read when that list is.  `SIZES` has the sizes of structures of numbers without rules,
and `ROWS` those of the elements of lists of such structures that extend to the end: their bytes need not even be
read.
"""

from __future__ import annotations

from exhume.compiler.front import expressions as ex
from exhume.compiler.front.kinds import Bits, Kind, Structure, Switch
from exhume.compiler.front.model import Field, Type
from exhume.compiler.front.specs import Model
from exhume.compiler.ir.fixed import element_size, type_size

DOC = '"""Structures that claim every byte they are read from (see `make generated`); never edited by hand."""\n'


def tiling_text(model: Model) -> str:
    """Return the module that lists the types that claim every byte; see the module docstring."""
    read, sizes, rows = ["TILING = {"], ["SIZES = {"], ["ROWS = {"]
    for type in model.types():
        if type.scalar is not None or type.params or not _tiles(type, frozenset()):
            continue
        # A type without `seq` is only a list, its single stored instance.
        listed = "" if type.seq else next(iter(type.instances))
        read.append(f'    "{type.where}": ("{type.root.id}", "{type.reader_name}", "{listed}"),')
        for found, size in (sizes, _size(type)), (rows, _row(type)):
            if size is not None:
                found.append(f'    "{type.where}": {size},')
    about = '"""Module and name of the reader of each structure, and the list in it to read, if any."""'
    middle = ["}", '"""Bytes of all of it."""', ""]
    return "\n".join([DOC, *read, "}", about, "", *sizes, *middle, *rows, "}", '"""Bytes of each element."""', ""])


def _size(type: Type) -> int | None:
    """Return the bytes of a structure of numbers to which no rule applies; None for any other."""
    ruled = any(
        "valid" in field.raw or "contents" in field.raw or not _is_number(field.value_kind) for field in type.seq
    )
    return None if ruled else type_size(type)


def _row(type: Type) -> int | None:
    """Return the bytes of an element, if the type is nothing but a list up to the end of elements without rules."""
    field = type.seq[0] if len(type.seq) == 1 else None
    if (
        field is None
        or field.repeat != "eos"
        or field.condition is not None
        or not isinstance(field.value_kind, Structure)
    ):
        return None
    return element_size(field) and _size(field.value_kind.type)


def _is_number(kind: Kind) -> bool:
    """Return whether a kind is a number of bytes or bits."""
    return bool(getattr(kind, "size", 0)) or isinstance(kind, Bits)


def _tiles(type: Type, inside: frozenset[Type]) -> bool:
    """Return whether a structure, once read, claims every byte between its start and its end.

    Types in `inside`, here and below, are being examined already: they may contain each other.
    """
    if type in inside:  # being examined already: its other fields decide
        return True
    inside |= {type}
    if type.seq:
        return all(_claims(field, inside) for field in type.seq)
    # Without a sequence: its first instance has to be the only one with bytes, a list that fills its own stream.
    stored = [one for one in type.instances.values() if one.value is None]
    if len(stored) != 1:
        return False
    (only,) = stored
    if next(iter(type.instances)) != only.id or "io" in only.raw:
        return False
    fills_stream = only.repeat == "eos" and only.expr("pos") == ex.Literal(0)
    return fills_stream and _claims(only, inside)


def _claims(field: Field, inside: frozenset[Type]) -> bool:
    """Return whether all bytes of a field belong to its parts; decoded bytes (`process`) are not those of the file."""
    if "process" in field.raw:
        return False
    sized = field.size is not None or field.to_end or "terminator" in field.raw
    return _all(field.value_kind, sized, inside)


def _all(kind: Kind, sized: bool, inside: frozenset[Type]) -> bool:
    """Return whether a value claims all of its bytes; if `sized`, their number is given, and some may be left over."""
    if isinstance(kind, Switch):
        return all(_all(one, sized, inside) for one in kind.kinds)
    if not isinstance(kind, Structure):
        return True
    return _tiles(kind.type, inside) and (not sized or _fills(kind.type, inside | {kind.type}))


def _fills(type: Type, inside: frozenset[Type]) -> bool:
    """Return whether a structure that claims its bytes always continues to the end of its stream."""
    last = type.seq[-1] if type.seq else next(iter(type.instances.values()), None)
    if last is None or last.condition is not None:
        return False
    if last.to_end or last.repeat == "eos":
        return True
    one = last.value_kind
    if last.repeat or last.size is not None or not isinstance(one, Structure) or one.type in inside:
        return False
    return _fills(one.type, inside | {one.type})
