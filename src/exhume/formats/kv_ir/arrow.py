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

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from exhume.errors import ExhumeError
from exhume.formats.kv_ir.columns import Column, chosen, print_array
from exhume.formats.kv_ir.info import SPACES, escaped, paths, walk
from exhume.formats.kv_ir.stream import Units
from exhume.formats.kv_ir.units import How
from exhume.tabular import wide
from exhume.tabular.arrow import BATCH_ROWS, check_rows, choose, import_pyarrow, rebatched

if TYPE_CHECKING:
    from exhume.formats.kv_ir.model import KeyedStream

U = TypeVar("U", bound=Units)


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
    damage is raised after a batch of the rows before it.  Bytes after the end of the stream are counted in `losses`,
    and raised only without it.
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
    """A pass over the units that counts bytes after the end as lost, if losses are counted."""
    if losses is not None:

        def count(error: ExhumeError) -> None:
            assert error.span is not None
            start, stop = error.span.payload or error.span[1:3]
            losses[f"{error.message} [{error.code}]"] += stop - start

        units.after_end = count
    return units


def _rows(archive: KeyedStream, losses: Counter[str] | None) -> Iterator[list[wide.Pair]]:
    """The keys that each event has, by their paths."""
    names: dict[str, str] = {}

    def pairs(value: dict[str, Any], lead: str) -> Iterator[wide.Pair]:
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
    units, _ = walk(archive, How.KEYS, jobs)
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
