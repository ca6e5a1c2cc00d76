"""Fields whose size or content does not depend on the data."""

from __future__ import annotations

from collections.abc import Sequence

from exhume.compiler import expressions as ex
from exhume.compiler.model import BYTES, Field, Integer, Kind, Plain
from exhume.compiler.text import CODES


def contents(field: Field) -> bytes:
    """The fixed bytes of a field."""
    said = field.raw["contents"]
    if isinstance(said, str):
        return said.encode()
    texts = (isinstance(one, str) and not one.startswith("0x") for one in said)
    return b"".join(one.encode() if text else bytes([int(str(one), 0)]) for one, text in zip(said, texts, strict=True))


def fixed_bytes(field: Field) -> bool:
    """Whether a field is a fixed number of bytes, at least one."""
    size = field.size
    literal = isinstance(size, ex.Literal) and isinstance(size.value, int) and size.value > 0
    return literal and field.one == BYTES and "terminator" not in field.raw and "contents" not in field.raw


def stored_size(field: Field) -> int:
    if fixed_bytes(field):
        assert isinstance(field.size, ex.Literal)
        return int(field.size.value)
    assert isinstance(field.one, (Integer, Plain))
    return field.one.size


def byte_order(kind: Kind) -> bool | None:
    return kind.big if isinstance(kind, (Integer, Plain)) and kind.size > 1 else None


def struct_format(kinds: Sequence[Kind], fields: Sequence[Field] = ()) -> str:
    """The `struct` format of a run."""
    out, order = "", "<"
    for number, kind in enumerate(kinds):
        if isinstance(kind, Integer):
            code = CODES[kind.size]
            out += code.lower() if kind.signed else code
        elif isinstance(kind, Plain) and kind.kind == "float":
            out += "f" if kind.size == 4 else "d"
        else:
            out += f"{stored_size(fields[number])}s"
        if byte_order(kind):
            order = ">"
    return order + out
