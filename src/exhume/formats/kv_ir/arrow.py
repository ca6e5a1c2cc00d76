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

Which keys there are is only known at the end of a stream: it is read twice.  Events that lack a key have null there.

A stream with more keys than are wanted as columns has rows of maps instead (`exhume.tabular.wide`).

A key is a node of one of two trees, numbered in the order of declaration.  Keys of several types can share a path, and
so a column.  A piece is a record batch as the decoder made it, before rows are distributed to batches of equal size.
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
from exhume.formats.kv_ir.info import SPACES, escaped, lead, paths, walk
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
"""Kinds of losses that the decoder counts (a value that its column cannot represent exactly), in its order."""

Piece = tuple[Any, Any, Counter[str]]
"""`(record batch, array with the size in bytes of each of its rows, numbers of values with losses)`."""


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
        """The letter of the column's type, for the kernel and `chosen`; empty for a column of nulls.

        `m`: text of values of several types, `U`: text, `g`: floats, `b`: booleans, `l`: integers.
        """
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
        kinds: The letters (`Column.kind`) of the columns that can have values, one byte each.
        places: Their positions in the schema.
        columns: For each of the two trees, an array of 32-bit integers: by node, its index in `kinds`; -1 for nodes
            that are not wanted.  As `KvIrDecoder.choose_columns` takes them.
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
            """A decoder for another thread."""
            return self.choose(KvIrDecoder())

        # In parallel up to the first fault, from there on in sequence.
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
        row_sizes = numpy.frombuffer(sizes, numpy.int64) if len(sizes) else numpy.zeros(0, numpy.int64)
        # Arrow cannot count rows without a column: a batch that needs none gets one of nulls, which `formed` drops.
        types = self.schema.types or [pa.null()]
        blank = {kind: pa.nulls(len(row_sizes), kind) for kind in set(types)}  # shared by all columns without values
        arrays = [blank[kind] for kind in types]
        for place, buffers in zip(self.places, found, strict=True):
            if buffers is not None:
                nulls, bits, ends, data = buffers  # number of nulls, validity bitmap, ends of strings, values
                made = [None if bits is None else pa.py_buffer(bits)]
                made += [pa.py_buffer(one) for one in (ends, data) if one is not None]
                arrays[place] = pa.Array.from_buffers(types[place], len(row_sizes), made, nulls)
        batch = pa.RecordBatch.from_arrays(arrays, self.schema.names or [""])
        # The decoder's sizes are those of values of variable length: add eight bytes per column.
        sizes = row_sizes + row_sizes.itemsize * len(types)
        return batch, sizes, Counter(dict(zip(LOST, lost, strict=True)))


def chosen(columns: Mapping[str, Column], names: Sequence[str]) -> WantedColumns:
    """Return the columns of a stream that are named."""
    pa = import_pyarrow()
    text = pa.large_string()
    # By the letter of a column's kind, see `pytokens`.
    types = {"": pa.null(), "l": pa.int64(), "g": pa.float64(), "b": pa.bool_(), "U": text, "m": text}
    kinds = [columns[name].kind for name in names]
    schema = pa.schema([pa.field(plain_text(name), types[kind]) for name, kind in zip(names, kinds, strict=True)])
    places = [place for place, kind in enumerate(kinds) if kind]
    trees = (array("i"), array("i"))  # see `WantedColumns.columns`
    for number, place in enumerate(places):
        column = columns[names[place]]
        tree = trees[column.space]
        for node in column.nodes:
            tree.extend([-1] * (node + 1 - len(tree)))
            tree[node] = number
    return WantedColumns(schema, "".join(kinds).encode("ascii"), places, (trees[0].tobytes(), trees[1].tobytes()))


U = TypeVar("U", bound=Units)


class KvIrTableOptions(TableOptions, total=False):
    """Options of `to_arrow`, which documents them."""

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
            wide.schema(), wide.batches(_rows(archive, known, losses), batch_rows, counted)
        )
    wanted = chosen(known, choose(known, columns))  # `choose`: all names, or the `columns`
    schema = wanted.schema
    damage: list[ExhumeError] = []

    def pieces() -> Iterator[tuple[Any, Any]]:
        """Yield `(batch, sizes of its rows)`, and keep the damage at which they end."""
        try:
            for batch, sizes, found in wanted.pieces(counting_rest(archive.units(), losses), jobs):
                counted.update(found)
                yield batch, sizes
        except ExhumeError as error:
            damage.append(error)  # raised below, once the rows before it were joined to batches

    def formed(batch: Any) -> Any:
        """Drop the column of nulls that `_take` adds to a batch without columns; the number of rows remains."""
        return batch.select(schema.names)

    def batches() -> Iterator[Any]:
        """Yield the events as batches of the usual size, then raise the damage at which the stream ended."""
        # Distribute the rows to batches of the usual size.  Joining copies: a thread for it costs more than it saves.
        yield from rebatched(pieces(), batch_rows, formed)
        if damage:
            raise damage[0]

    return pa.RecordBatchReader.from_batches(schema, batches())


def counting_rest(units: U, losses: Counter[str] | None) -> U:
    """Set a pass to count events above a limit and bytes after the end in `losses`, unless that is None; return it."""
    if losses is not None:

        def count(error: ExhumeError) -> None:
            """Count an event, or the number of the bytes."""
            if isinstance(error, LimitExceededError):
                losses[f"events: {error.message} [{error.code}]"] += 1
                return
            assert error.span is not None
            start, stop = error.span.local
            losses[f"{error.message} [{error.code}]"] += stop - start

        units.on_omitted = count
    return units


def _rows(archive: KeyedStream, known: Mapping[str, Column], losses: Counter[str] | None) -> Iterator[list[wide.Pair]]:
    """Yield each event as `(path, value)` pairs: the rows of maps.  `known` are the columns of the stream."""
    has_auto = any(column.space == 0 for column in known.values())
    names: dict[str, str] = {}  # names as they are written in paths, which escaping each one again would take long

    def pairs(value: dict[str, Any], before: str, is_top: bool = False) -> Iterator[wide.Pair]:
        """Yield the column name and value of each leaf; nested keys are joined by dots."""
        for key, one in value.items():
            if (name := names.get(key)) is None:
                name = names[key] = escaped(key.encode("utf-8", "surrogateescape"))
            if is_top and key[:1] == "@":
                name = lead(has_auto, b"@") + name
            if isinstance(one, dict):
                yield from pairs(one, f"{before}{name}.")
            else:
                yield f"{before}{name}", print_array(one)[0] if isinstance(one, list) else one

    for auto, user in counting_rest(archive.units(), losses).readable():
        yield [*pairs(auto, "@"), *pairs(user, "", True)]


def columns_of(archive: KeyedStream, jobs: int = 1) -> dict[str, Column]:
    """The columns of a stream by name; `jobs` threads read the stream."""
    units, _ = walk(archive, EventForm.KEYS, jobs)
    found: dict[str, Column] = {}
    for space, name in enumerate(SPACES):
        trail: list[tuple[str, ...]] = [()]  # by number of a node, the names from the root to it
        nodes = units.decoder.nodes(name == "auto")  # (parent, type, name, offset)
        parents = {parent for parent, *_ in nodes}
        for number, ((parent, _, raw, _), (path, type, _)) in enumerate(zip(nodes, paths(units, name), strict=True), 1):
            trail.append((*trail[parent], raw.decode("utf-8", "surrogateescape")))
            # Only an object without members is a column: one that has nulls only, without types.
            if type == "object" and number in parents:
                continue
            one = found.setdefault(path, Column(space, trail[-1]))
            if type != "object":
                one.types.add(type)
                one.nodes.append(number)
    return found


__all__ = ["Column", "columns_of", "to_arrow"]
