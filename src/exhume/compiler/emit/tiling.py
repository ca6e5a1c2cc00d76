"""Which structures claim every byte from where they begin to where they end: one module for all specifications.

    TILING["zs::block"] == ("zs", "read_block", "")
    SIZES["leveldb_table::block_trailer"] == 5
    ROWS["ark_split::entry_list"] == 18

When a structure that is named here was read to the end of its bytes, each byte belongs to a field, whichever it is.
Fields of `seq` are consecutive, so only bytes that have a size of their own may be left over: those of a
structure that does not take all that it is given.  A structure that is nothing but a list from its first byte to the
end (`pos: 0`, `repeat: eos`) is read when that list is.  `SIZES` has the sizes of structures of numbers without rules,
and `ROWS` those of the elements of lists of such structures that extend to the end: their bytes need not even be read.
"""

from __future__ import annotations

from exhume.compiler.front import expressions as ex
from exhume.compiler.front.kinds import Bits, Kind, Structure, Switch
from exhume.compiler.front.model import Field, Type
from exhume.compiler.front.specs import Model
from exhume.compiler.ir.fixed import element_size, type_size

DOC = '"""Structures that claim every byte they are read from (see `make generated`); never edited by hand."""\n'


def tiling_text(model: Model) -> str:
    """The tables of all types that claim every byte, by name."""
    read, sizes, rows = ["TILING = {"], ["SIZES = {"], ["ROWS = {"]
    for type in model.types():
        if type.scalar is not None or type.params or not _tiles(type, frozenset()):
            continue
        listed = "" if type.seq else next(iter(type.instances))
        read.append(f'    "{type.where}": ("{type.root.id}", "{type.reader_name}", "{listed}"),')
        for found, size in (sizes, _size(type)), (rows, _row(type)):
            if size is not None:
                found.append(f'    "{type.where}": {size},')
    about = '"""Module and name of the reader of each structure, and the list in it to read, if any."""'
    told = ["}", '"""Bytes of all of it."""', ""]
    return "\n".join([DOC, *read, "}", about, "", *sizes, *told, *rows, "}", '"""Bytes of each element."""', ""])


def _size(type: Type) -> int | None:
    """Bytes of a structure of numbers to which no rule applies."""
    ruled = any("valid" in field.raw or "contents" in field.raw or not _number(field.one) for field in type.seq)
    return None if ruled else type_size(type)


def _row(type: Type) -> int | None:
    """The same of each element of a list to the end that is all there is."""
    field = type.seq[0] if len(type.seq) == 1 else None
    if field is None or field.repeat != "eos" or field.condition is not None or not isinstance(field.one, Structure):
        return None
    return element_size(field) and _size(field.one.type)


def _number(kind: Kind) -> bool:
    return bool(getattr(kind, "size", 0)) or isinstance(kind, Bits)


def _tiles(type: Type, inside: frozenset[Type]) -> bool:
    """Whether a type that was read claims all of its bytes."""
    if type in inside:  # its content decides
        return True
    inside |= {type}
    if type.seq:
        return all(_claims(field, inside) for field in type.seq)
    stored = [one for one in type.instances.values() if one.value is None]
    if len(stored) != 1 or next(iter(type.instances)) != stored[0].id or "io" in stored[0].raw:
        return False
    return stored[0].repeat == "eos" and stored[0].expr("pos") == ex.Literal(0) and _claims(stored[0], inside)


def _claims(field: Field, inside: frozenset[Type]) -> bool:
    if "process" in field.raw:
        return False
    sized = field.size is not None or field.to_end or "terminator" in field.raw
    return _all(field.one, sized, inside)


def _all(kind: Kind, sized: bool, inside: frozenset[Type]) -> bool:
    """Whether what a field holds claims all of its bytes, which are `sized` or as many as it takes."""
    if isinstance(kind, Switch):
        return all(one is None or _all(one, sized, inside) for one in (*(one for _, one in kind.cases), kind.default))
    if not isinstance(kind, Structure):
        return True
    return _tiles(kind.type, inside) and (not sized or _fills(kind.type, inside | {kind.type}))


def _fills(type: Type, inside: frozenset[Type]) -> bool:
    """Whether a type that claims its bytes takes all that it is given."""
    last = type.seq[-1] if type.seq else next(iter(type.instances.values()), None)
    if last is None or last.condition is not None:
        return False
    if last.to_end or last.repeat == "eos":
        return True
    one = last.one
    if last.repeat or last.size is not None or not isinstance(one, Structure) or one.type in inside:
        return False
    return _fills(one.type, inside | {one.type})
