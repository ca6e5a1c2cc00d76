"""Events as Arrow record batches, in the order of the stream.

One column per key, named by its path (`a.b`; dots in names have a backslash before them); those of keys that the logger
added begin with `@`, and come first.

| values of the key | Arrow type |
|---|---|
| integers | int64 |
| floats, or integers and floats | float64 |
| booleans | bool |
| strings | large_string |
| arrays | large_string, their JSON text |
| only nulls and empty objects | null |
| anything mixed | large_string, the text of each value |

Arrays are reformatted: with a blank after each comma and colon, and no escapes but those that JSON needs.

Which keys there are is only known at the end of a stream: it is read twice.  Events that lack a key hold null there.

A stream with more keys than are wanted as columns has rows of maps instead (`exhume.tabular.wide`).
"""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

from exhume.errors import ExhumeError, LimitExceededError, SourceError
from exhume.formats.kv_ir.chunks import make_ahead
from exhume.formats.kv_ir.info import SPACES, escaped, paths, walk
from exhume.formats.kv_ir.kernel import KvIrDecoder
from exhume.formats.kv_ir.passes import Units
from exhume.formats.kv_ir.units import EventForm, UnitError
from exhume.tabular import wide
from exhume.tabular.arrow import (
    BAD_TEXT,
    BATCH_ROWS,
    MIXED,
    ROUNDED,
    TableOptions,
    check_rows,
    choose,
    import_pyarrow,
    plain_text,
    rebatched,
)
from exhume.tuples import NamedTuple

if TYPE_CHECKING:
    from exhume.formats.kv_ir.model import KeyedStream

AT_ONCE: Final = 1 << 20
"""Approximate bytes of columns per batch, when a single decoder fills them."""

MOST_MADE: Final = 1 << 24
"""Approximate bytes of columns per batch, when a chunk is decoded in parallel: short rows can have many columns."""

LOST: Final = (BAD_TEXT, ROUNDED, MIXED)
"""Names of the decoder's counts, in its order."""

Piece = tuple[Any, Any, Counter[str]]
"""A record batch, the size in bytes of each of its rows, and what their values lost."""


@dataclass(slots=True)
class Column:
    """A column of the table: all keys with one path, which may have several types.

    Attributes:
        space: The tree of the keys: 0 of the logger, 1 of the user.
        names: The path: names from the root to the key.
        types: Types of the values (`string`, `integer` and so on).
        nodes: Numbers of the keys in the tree.
    """

    space: int
    names: tuple[str, ...]
    types: set[str] = field(default_factory=set)
    nodes: list[int] = field(default_factory=list)

    @property
    def kind(self) -> str:
        """The letter of the column's type for the kernel; empty for a column of nulls."""
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


class WantedColumns(NamedTuple):
    """The columns to read from a stream.

    Attributes:
        schema: The `pyarrow.Schema`.
        kinds: The letters (`Column.kind`) of the columns that can have values.
        places: Their positions in the schema.
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

        yield from make_ahead(units, EventForm.COLUMNS, jobs, self._take, MOST_MADE, make)
        while not units.ended:
            try:
                units.step(EventForm.COLUMNS, AT_ONCE)
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
        """Return the events that the decoder collected: the batch, the bytes of each row, and the losses."""
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


def chosen(columns: Mapping[str, Column], names: Sequence[str]) -> WantedColumns:
    """Return the columns of a stream that are named."""
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
    return WantedColumns(schema, "".join(kinds).encode("ascii"), places, (trees[0].tobytes(), trees[1].tobytes()))


U = TypeVar("U", bound=Units)


class KvIrTableOptions(TableOptions, total=False):
    """Options of `to_arrow`."""

    jobs: int
    widest: int | None


def to_arrow(
    archive: KeyedStream,
    *,
    columns: Iterable[str] | None = None,
    batch_rows: int = BATCH_ROWS,
    jobs: int = 1,
    losses: Counter[str] | None = None,
    widest: int | None = None,
) -> Any:
    """A streaming `pyarrow.RecordBatchReader`, one row per event; see the module for the types.

    `jobs` threads decode chunks of the stream in parallel, with the same batches (0: one per core).  A batch
    has at most `batch_rows` rows, and ends with the row that makes it 16 MiB.  With more than `widest` columns (None:
    however many), and unless `columns` are named, rows are maps.

    Raises `EntryNotFoundError` for a column that no event can have, and `MissingDependencyError` without pyarrow;
    damage is raised after a batch of the rows before it.  Events above a limit, and bytes after the end of the stream,
    are counted in `losses`, and raised only without it.
    """
    pa = import_pyarrow()
    check_rows(batch_rows)
    known = columns_of(archive, jobs)
    counted: Counter[str] = Counter() if losses is None else losses
    if widest is not None and columns is None and len(known) > widest:
        return pa.RecordBatchReader.from_batches(
            wide.schema(), wide.batches(_rows(archive, losses), batch_rows, counted)
        )
    wanted = chosen(known, choose(known, columns))
    schema = wanted.schema
    damage: list[ExhumeError] = []

    def pieces() -> Iterator[tuple[Any, Any]]:
        try:
            for batch, sizes, found in wanted.pieces(counting_rest(archive.units(), losses), jobs):
                counted.update(found)
                yield batch, sizes
        except ExhumeError as error:
            damage.append(error)  # the rows before it are still to be joined

    def formed(batch: Any) -> Any:
        return batch.select(schema.names)  # of none as well: its rows are there

    def batches() -> Iterator[Any]:
        yield from rebatched(pieces(), batch_rows, formed)  # joining copies: a thread for it costs more than it saves
        if damage:
            raise damage[0]

    return pa.RecordBatchReader.from_batches(schema, batches())


def counting_rest(units: U, losses: Counter[str] | None) -> U:
    """A pass over the units that counts events above a limit and bytes after the end as lost, if losses are counted."""
    if losses is not None:

        def count(error: ExhumeError) -> None:
            if isinstance(error, LimitExceededError):
                losses[f"events: {error.message} [{error.code}]"] += 1
                return
            assert error.span is not None
            start, stop = error.span.payload or error.span[1:3]
            losses[f"{error.message} [{error.code}]"] += stop - start

        units.left_out = count
    return units


def _rows(archive: KeyedStream, losses: Counter[str] | None) -> Iterator[list[wide.Pair]]:
    """The keys that each event has, by their paths."""
    names: dict[str, str] = {}

    def pairs(value: dict[str, Any], lead: str) -> Iterator[wide.Pair]:
        """Yield the column name and value of each leaf; nested keys are joined by dots."""
        for key, one in value.items():
            if (name := names.get(key)) is None:
                name = names[key] = escaped(key)
            if isinstance(one, dict):
                yield from pairs(one, f"{lead}{name}.")
            else:
                yield f"{lead}{name}", print_array(one)[0] if isinstance(one, list) else one

    for auto, user in archive.events_of(counting_rest(archive.units(), losses)):
        yield [*pairs(auto, "@"), *pairs(user, "")]


def columns_of(archive: KeyedStream, jobs: int = 1) -> dict[str, Column]:
    """The columns of a stream by name; so many `jobs` look for them."""
    units, _ = walk(archive, EventForm.KEYS, jobs)
    found: dict[str, Column] = {}
    for space, name in enumerate(SPACES):
        trail: list[tuple[str, ...]] = [()]
        nodes = units.decoder.nodes(name == "auto")
        parents = {parent for parent, *_ in nodes}
        for number, ((parent, _, raw, _), (path, type, _)) in enumerate(zip(nodes, paths(units, name), strict=True), 1):
            trail.append((*trail[parent], raw.decode("utf-8", "surrogateescape")))
            if type == "object" and number in parents:
                continue
            one = found.setdefault(path, Column(space, trail[-1]))
            if type != "object":
                one.types.add(type)
                if (one.space, one.names) == (space, trail[-1]):  # other names can have the same path
                    one.nodes.append(number)
    return found


__all__ = ["Column", "columns_of", "to_arrow"]
