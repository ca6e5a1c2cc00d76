"""Chunks of a stream as Arrow record batches, which the kernel fills without the interpreter lock.

Spec: Arrow columnar format, Physical Memory Layout.
"""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from exhume.errors import SourceError
from exhume.formats.kv_ir.kernel import KvIrDecoder
from exhume.formats.kv_ir.parallel_decode import make_ahead
from exhume.formats.kv_ir.stream import UnitError, Units
from exhume.formats.kv_ir.units import How
from exhume.tabular.arrow import BAD_TEXT, MIXED, ROUNDED, import_pyarrow, plain_text

AT_ONCE: Final = 1 << 20
"""Bytes of columns, about, that are made at once where one decoder makes them."""

MOST_MADE: Final = 1 << 24
"""Approximate bytes of columns to make of a chunk at once: rows of few bytes can have many columns."""

LOST: Final = (BAD_TEXT, ROUNDED, MIXED)
"""What the decoder counts, in its order."""

Piece = tuple[Any, Any, Counter[str]]
"""A record batch, the size in bytes of each of its rows, and what their values lost."""


@dataclass(slots=True)
class Column:
    """A column: which of the two trees it is of, the names that lead to its values, the types of the keys of its path,
    and the numbers of those that values have.
    """

    space: int
    names: tuple[str, ...]
    types: set[str] = field(default_factory=set)
    nodes: list[int] = field(default_factory=list)

    @property
    def kind(self) -> str:
        """The letter that the kernel has for it; empty for one that holds nothing but nulls."""
        types = self.types
        if not types:
            return ""
        if len(types) > 1 and not types <= {"integer", "float"}:
            return "m"  # only text holds all its values
        if types & {"string", "array"}:
            return "U"
        return "g" if "float" in types else "b" if "boolean" in types else "l"


def print_array(value: list[Any]) -> tuple[bytes, bool]:
    """An array as JSON text in UTF-8, and whether anything in it is replaced by U+FFFD."""
    text = json.dumps(value, ensure_ascii=False)
    plain = plain_text(text)
    assert plain is not None
    return plain.encode("utf-8"), plain is not text


class Chosen(NamedTuple):
    """The columns that are wanted of a stream.

    Attributes:
        schema: The `pyarrow.Schema`.
        kinds: The letter of each column that can hold more than nulls.
        places: Its position in the schema.
        columns: The column of each node of the two trees, as `KvIrDecoder.choose_columns` takes them.
    """

    schema: Any
    kinds: bytes
    places: Sequence[int]
    columns: tuple[bytes, bytes]

    def choose(self, decoder: KvIrDecoder) -> KvIrDecoder:
        """Set a decoder to fill these columns."""
        decoder.choose_columns(self.kinds, *self.columns, print_array)
        return decoder

    def pieces(self, units: Units, jobs: int) -> Iterator[Piece]:
        """Yield the columns of the rest of a stream, in chunks; rows before damage are yielded before it is raised."""
        self.choose(units.decoder)

        def make() -> KvIrDecoder:
            return self.choose(KvIrDecoder())

        yield from make_ahead(units, How.COLUMNS, jobs, self._take, MOST_MADE, make)
        while not units.ended:
            try:
                units.step(How.COLUMNS, AT_ONCE)
            except UnitError as trouble:
                yield self._take(units.decoder)
                units.pass_over(trouble)
                continue
            except SourceError:
                yield self._take(units.decoder)
                raise
            yield self._take(units.decoder)
        units.close()

    def _take(self, decoder: KvIrDecoder) -> Piece:
        import numpy

        pa = import_pyarrow()
        sizes, found, lost = decoder.take_columns()
        each = numpy.frombuffer(sizes, numpy.int64) if len(sizes) else numpy.zeros(0, numpy.int64)
        types = self.schema.types or [pa.null()]  # a batch without columns has rows all the same
        blank = {kind: pa.nulls(len(each), kind) for kind in set(types)}  # shared by all columns that hold nothing
        arrays = [blank[kind] for kind in types]
        for place, buffers in zip(self.places, found, strict=True):
            if buffers is not None:
                nulls, bits, ends, data = buffers
                made = [None if bits is None else pa.py_buffer(bits)]
                made += [pa.py_buffer(one) for one in (ends, data) if one is not None]
                arrays[place] = pa.Array.from_buffers(types[place], len(each), made, nulls)
        batch = pa.RecordBatch.from_arrays(arrays, self.schema.names or [""])
        return batch, each + each.itemsize * len(types), Counter(dict(zip(LOST, lost, strict=True)))


def chosen(columns: Mapping[str, Column], names: Sequence[str]) -> Chosen:
    """Those of the columns of a stream that are named."""
    pa = import_pyarrow()
    text = pa.large_string()
    types = {"": pa.null(), "l": pa.int64(), "g": pa.float64(), "b": pa.bool_(), "U": text, "m": text}
    kinds = [columns[name].kind for name in names]
    schema = pa.schema([pa.field(plain_text(name), types[kind]) for name, kind in zip(names, kinds, strict=True)])
    places = [place for place, kind in enumerate(kinds) if kind]
    trees = (array("i"), array("i"))
    for number, place in enumerate(places):
        column = columns[names[place]]
        tree = trees[column.space]
        for node in column.nodes:
            tree.extend([-1] * (node + 1 - len(tree)))
            tree[node] = number
    return Chosen(schema, "".join(kinds).encode("ascii"), places, (trees[0].tobytes(), trees[1].tobytes()))
