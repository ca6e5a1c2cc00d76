"""Several tables of a log in one pass over its splits, for exports of all of them: each message is read once.

A table has the messages of one channel, which may have several identifiers (GUIDs).  A query passes messages on in
batches: a batch has cursors (one for each split that is read), index entries for each (its piece), and `numbers`, the
cursor of each message in order.  A message has a short identifier, one byte, which a cursor maps to a channel.

Spec: none; the tables are those of `arrow`.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from exhume.errors import ExhumeError
from exhume.findings import Finding
from exhume.formats.ark.arrow import BATCH_ROWS, ArkTable, Made, MessageRows, on_error, query_of
from exhume.formats.ark.columns import ROOM
from exhume.formats.ark.kernel import ark_tables
from exhume.formats.ark.lines import VALUES, KernelBatch
from exhume.formats.ark.merge import Batch
from exhume.formats.ark.messages import lost_messages
from exhume.formats.ark.parallel_query import UntilError, read_each
from exhume.formats.ark.query import Query
from exhume.formats.ark.splits import IndexBlock
from exhume.tabular.arrow import check_rows, rebatched_each

if TYPE_CHECKING:
    from exhume.formats.ark.log import ArkLog, Channel, SplitReference

MOST: Final = 256
"""Tables that one pass can make: a byte names each."""


class _TablesQuery(Query):
    """One pass over the messages of several tables that makes record batches of them, each with its table's number.

    The methods override those of `Query`.  A `reference` is a mention of a split in the manifest.
    """

    def __init__(self, rows: Sequence[MessageRows], *query: Any) -> None:
        super().__init__(*query)
        self._rows = rows
        # By GUID of a channel: the number of its table.
        self._tables = {identifier: number for number, one in enumerate(rows) for identifier in one.identifiers}

    def candidates(self, reference: SplitReference) -> Iterable[Channel]:
        """Return the channels of a split that belong to any of the tables."""
        found = map(reference.channels.get, self._tables)
        return [channel for channel in found if channel is not None]

    def accepts(self, reference: SplitReference, channel: Channel) -> bool:
        """Return whether the query takes a channel of a split: by its table, whose channel has the same name."""
        table = self._tables.get(channel.identifier)
        named = table is not None and channel.name == self._rows[table].channel.name
        return named and super().accepts(reference, channel)

    def latched(self, references: Any) -> Iterator[Any]:
        """Yield the last message before the time range of each latched channel: the table's number, and its row."""
        for message in super().latched(references):
            table = self._tables[message.identifier]
            yield table, self._rows[table].made([message])

    def batch_messages(self, batch: Batch, numbers: list[int], pieces: list[IndexBlock]) -> Iterator[tuple[int, Made]]:
        """The rows of the pieces, in the order in which `numbers` names their cursors, table by table.

        Raises the error of the first message that cannot be read, after the rows of all others.
        """
        # Let the kernel fill the columns of all tables at once.
        gathered = KernelBatch(batch, pieces, VALUES)
        # For each cursor, by short identifier: the number of the table (None: of none), for the kernel as a byte.
        owners = [[self._tables.get(identifier) for identifier in cursor.identifiers] for cursor in gathered.cursors]
        heads = [[None if table is None else bytes([table]) for table in owner] for owner in owners]
        # The last item of a part is the text before each message's value; here that is the byte of its table.
        parts = [(*part[:-1], head) for part, head in zip(gathered.parts, heads, strict=True)]
        columns = [rows.columns for rows in self._rows]
        tables = ark_tables(numbers, parts, [(one.packed, one.texts) for one in columns if one is not None], ROOM)
        del gathered, parts  # the stored messages are not needed any more
        unread: list[int] = []
        for number, (rows, made) in enumerate(zip(self._rows, tables, strict=True)):
            if made is None:
                unread.append(number)
            elif made[0]:  # times of messages: there are some
                assert rows.columns is not None
                yield number, rows.columns.shaped(rows.schema, made)
        # Tables that it left are read message by message; the first error in time is raised at the end.
        errors: list[tuple[int, ExhumeError]] = []
        for number in unread:
            rows_made, failure = self._one_table(batch, number, *_chosen(numbers, pieces, owners, number))
            if rows_made[0].num_rows:
                yield number, rows_made
            errors += [] if failure is None else [failure]
        if errors:
            _, earliest = min(errors, key=lambda one: one[0])  # by the place of the message
            raise earliest

    def _one_table(
        self, batch: Batch, number: int, places: list[int], sources: list[int], blocks: list[IndexBlock]
    ) -> tuple[Made, tuple[int, ExhumeError] | None]:
        """Return the rows of a table's messages up to the first that cannot be read, and its place and error if any.

        `places`, `sources` and `blocks` are those of `_chosen`.
        """
        found = UntilError(super().batch_messages(batch, sources, blocks)) if places else UntilError(())
        made = self._rows[number].made(found)
        # The failed message is the one after the rows.
        return made, None if found.error is None else (places[made[0].num_rows], found.error)


def _chosen(
    numbers: list[int], pieces: list[IndexBlock], owners: list[list[int | None]], table: int
) -> tuple[list[int], list[int], list[IndexBlock]]:
    """The messages of a table: their places in a batch, the numbers of their blocks, and the filtered blocks.

    `owners` has for each cursor, by short identifier, the number of the table.
    """
    at = [0] * len(pieces)  # messages of each piece that were passed
    chosen: list[list[int]] = [[] for _ in pieces]  # entries of each piece that belong to the table
    places, sources = [], []
    for place, source in enumerate(numbers):
        entry = at[source]
        at[source] += 1
        short_identifier = pieces[source].object[entry]
        if owners[source][short_identifier] == table:
            places.append(place)
            sources.append(source)
            chosen[source].append(entry)
    blocks = [
        IndexBlock(
            array("Q", map(piece.time.__getitem__, mine)),
            array("q", map(piece.offset.__getitem__, mine)),
            array("q", map(piece.size.__getitem__, mine)),
            bytes(map(piece.object.__getitem__, mine)),
            [piece.taken[one] for one in mine],
            bytes(map(piece.bad.__getitem__, mine)),
            piece.places,
        )
        for piece, mine in zip(pieces, chosen, strict=True)
    ]
    return places, sources, blocks


def together(
    log: ArkLog,
    tables: Mapping[str, ArkTable],
    *,
    columns: Any = None,
    start_ns: int | None = None,
    stop_ns: int | None = None,
    latched: bool = True,
    skip_damaged: bool = False,
    batch_rows: int = BATCH_ROWS,
    losses: Counter[str] | None = None,
    jobs: int = 1,
) -> tuple[dict[str, Any], Callable[[], Iterator[tuple[str, Any]]]] | None:
    """The schema of each table by name, and a function that yields (name of the table, batch) for all batches.

    The batches of a table are those of `ArkTable.to_arrow`, whose options it takes.  None where messages may belong to
    several tables, or a type is too large for the kernel: then each table is read by itself.  A message that is skipped
    counts once for all tables.  Raises the same errors as `ArkTable.to_arrow`.
    """
    check_rows(batch_rows)
    # Only tables without common channels, all with columns that the kernel can fill.
    rows = [table.rows(columns) for table in tables.values()]
    names = list(tables)
    identifiers = Counter(identifier for one in rows for identifier in one.identifiers)
    are_distinct = all(count == 1 for count in identifiers.values())
    if not are_distinct or len(rows) > MOST or any(one.columns is None for one in rows):
        return None
    findings: list[Finding] = []
    query = query_of(None, start_ns, stop_ns, latched=latched, on_error=on_error(skip_damaged, losses))

    def counted() -> Iterator[tuple[int, Any, Sequence[int]]]:
        """Yield (number of the table, batch, sizes of its messages); count values that did not fit."""
        kind = partial(_TablesQuery, rows)
        for table, (batch, sizes, misfits) in read_each(log, kind, query, findings=findings, jobs=jobs):
            if losses is not None:
                losses.update(misfits)
            yield table, batch, sizes

    def batches() -> Iterator[tuple[str, Any]]:
        """Yield (name of the table, batch of `batch_rows` rows); count missing splits first, lost messages last."""
        if losses is not None:
            losses["missing splits"] = sum(not each.is_hidden for each in log.missing_splits())
        for table, batch in rebatched_each(counted(), batch_rows):
            yield names[table], batch
        if losses is not None:
            losses.update(lost_messages(findings))

    return {name: one.schema for name, one in zip(names, rows, strict=True)}, batches
