"""Archives as Arrow tables: what every `to_arrow` shares, and the member table of archives of members.

A batch is a `pyarrow.RecordBatch`, some rows of a table; `pa` is the module `pyarrow`.
pyarrow is imported when it is used (extra `arrow`).  Readers stream: a batch is made on request.

What values lose on their way into a column is counted under the names below, in the `Counter` that the caller passes as
`losses`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, Protocol, TypedDict, TypeVar

from exhume.choices import hint
from exhume.errors import EntryNotFoundError, ExhumeError, MissingDependencyError, QueryError, SourceError, shorten
from exhume.io.parallel import map_ordered
from exhume.tuples import NamedTuple

T = TypeVar("T")
K = TypeVar("K")

BATCH_ROWS: Final = 65_536
"""Rows of a batch at most, unless the caller says otherwise."""

BATCH_BYTES: Final = 16 << 20
"""A batch of byte strings ends after this many bytes even when it has fewer rows."""

BAD_TEXT: Final = "texts that are not UTF-8"
BAD_RECORD: Final = "records that do not fit the record format"
BAD_TIME: Final = "times outside the range of Arrow"
ROUNDED: Final = "integers rounded to floats"
MIXED: Final = "values of mixed types as text"
NESTED: Final = "nested values as JSON text"
NO_DIGEST: Final = "digests of damaged members"

DIGESTS: Final = ("stored", "sha256")
"""Values of the option `digest`; `member_table` describes them."""

PIECE_BYTES: Final = 1 << 20
"""Bytes of content after which a thread takes no further member at a time."""

PIECE_MEMBERS: Final = 512
"""Members that a thread takes at a time at most."""


class TableOptions(TypedDict, total=False):
    """Options of every `to_arrow`; those of a format are in its own module `arrow`."""

    columns: Iterable[str] | None  # names, in the order of the table; None: all
    batch_rows: int  # most rows of a batch
    losses: Counter[str] | None  # counts values that did not fit, by kind


class MemberTableOptions(TableOptions, total=False):
    """Options of `member_table`."""

    digest: str
    entries: Iterable[Member] | None
    jobs: int


def import_pyarrow() -> Any:
    """The module pyarrow.  Raises `MissingDependencyError` without it."""
    try:
        import pyarrow
    except ImportError as error:
        raise MissingDependencyError("Arrow needs the extra arrow: pip install 'exhume[arrow]'") from error
    return pyarrow


def check_rows(batch_rows: int) -> None:
    """Raise `QueryError` for a size of batches below 1."""
    if batch_rows < 1:
        raise QueryError("batch_rows: a batch has at least 1 row", actual=batch_rows)


def choose(available: Iterable[str], columns: Iterable[str] | None) -> list[str]:
    """The columns to return: all, or those requested, in the order requested.

    Raises `EntryNotFoundError` for a column that the table does not have, `QueryError` for one that is named twice.
    """
    names = list(available)
    if columns is None:
        return names
    wanted = [columns] if isinstance(columns, str) else list(columns)
    for place, name in enumerate(wanted):
        if name not in names:
            raise EntryNotFoundError(
                f"the table has no such column{hint(name, names)}",
                expected=f"one of {', '.join(names)}",
                actual=shorten(name),
            )
        if name in wanted[:place]:
            raise QueryError(f"column {shorten(name)} is named twice")
    return wanted


def batched(
    rows: Iterable[T], batch_rows: int, size: Callable[[T], int] = lambda row: 0, most: int | None = None
) -> Iterator[list[T]]:
    """Yield rows in lists of at most `batch_rows`.

    A list ends earlier when its rows reach `most` bytes (default: `BATCH_BYTES`) by `size`; a row of that size is a
    list by itself.
    """
    most = BATCH_BYTES if most is None else most
    held: list[T] = []
    held_bytes = 0
    for row in rows:
        taken = size(row)
        if held and taken >= most:
            yield held
            held, held_bytes = [], 0
        held.append(row)
        held_bytes += taken
        if len(held) >= batch_rows or held_bytes >= most:
            yield held
            held, held_bytes = [], 0
    if held:
        yield held


def rebatched(
    pieces: Iterable[tuple[Any, Any]],
    batch_rows: int,
    form: Callable[[Any], T] | None = None,
    *,
    jobs: int = 1,
) -> Iterator[T]:
    """Yield batches of the usual size from batches of any size, each given with the sizes of its rows.

    With `form`, yield its result for each batch; `jobs` threads join and form them (0: one per core).
    """
    gathered = _batch_slices(((0, *piece) for piece in pieces), batch_rows)  # 0: the key of the only table

    def joined(found: tuple[Any, list[Any]]) -> Any:
        """Join the slices of one batch, and form it."""
        _, held = found
        batch = _joined(held)
        return batch if form is None else form(batch)

    return map_ordered(joined, gathered, jobs)


def rebatched_each(pieces: Iterable[tuple[K, Any, Any]], batch_rows: int) -> Iterator[tuple[K, Any]]:
    """Yield batches as `rebatched` does, for pieces of several tables; each has the key of its table."""
    return ((key, _joined(held)) for key, held in _batch_slices(pieces, batch_rows))


def _joined(held: list[Any]) -> Any:
    """Return batches as one."""
    import pyarrow as pa

    if len(held) == 1:
        return held[0]
    return pa.Table.from_batches(held).combine_chunks().to_batches()[0]


MOST_PIECES: Final = 64
"""Chunks of a table that are kept before they are joined: many small ones take more memory than their rows."""


class _BatchSlices:
    """The slices from which the next batch of a table is joined."""

    def __init__(self, batch_rows: int) -> None:
        self._batch_rows = batch_rows
        self._begin()

    def _begin(self) -> None:
        """Begin the next batch: no slices, and all rows and bytes of a batch left."""
        self.held: list[Any] = []  # slices of the next batch
        self._rows, self._room = self._batch_rows, BATCH_BYTES  # rows and bytes that it may still take

    def add(self, batch: Any, sizes: Any) -> Iterator[list[Any]]:
        """Add rows; yield the slices of each complete batch.

        A row of at least `BATCH_BYTES` is a batch by itself: joined with others, it would be copied.
        """
        import numpy

        sizes, done = numpy.asarray(sizes), 0
        for row in numpy.flatnonzero(sizes >= BATCH_BYTES).tolist():
            yield from self._add(batch.slice(done, row - done), sizes[done:row])
            if self.held:
                held = self.held
                self._begin()
                yield held
            yield [batch.slice(row, 1)]
            done = row + 1
        yield from self._add(batch.slice(done), sizes[done:])

    def _add(self, batch: Any, sizes: Any) -> Iterator[list[Any]]:
        """Add rows shorter than `BATCH_BYTES` each, as `add` does: `sizes` has the bytes of each row."""
        import numpy

        ends = numpy.cumsum(sizes)
        at = before = 0  # rows, and bytes of rows, that were added to batches
        # The next batch ends with the row that fills its bytes, or with its last row.
        while (stop := min(at + self._rows, int(numpy.searchsorted(ends, before + self._room)) + 1)) <= batch.num_rows:
            yield [*self.held, batch.slice(at, stop - at)]
            self._begin()
            at, before = stop, int(ends[stop - 1])
        if at < batch.num_rows:
            self.held.append(batch.slice(at))
            self._rows -= batch.num_rows - at
            self._room -= int(ends[-1]) - before
            if len(self.held) == MOST_PIECES:
                self.held = [_joined(self.held)]


def _batch_slices(pieces: Iterable[tuple[K, Any, Any]], batch_rows: int) -> Iterator[tuple[K, list[Any]]]:
    """Yield the slices that make up each batch, with the key of its table; `pieces` are (key, batch, row sizes)."""
    tables: dict[K, _BatchSlices] = {}
    for key, batch, sizes in pieces:
        if key not in tables:
            tables[key] = _BatchSlices(batch_rows)
        for held in tables[key].add(batch, sizes):
            yield key, held
    for key, table in tables.items():
        if table.held:
            yield key, table.held


def text_array(pa: Any, values: Any, losses: Counter[str] | None = None) -> Any:
    """Return byte strings (a list or an array) as `large_string`.

    Bytes that are not UTF-8 are replaced by U+FFFD, and the affected strings counted in `losses`.
    """
    made = values if isinstance(values, pa.Array) else pa.array(values, pa.large_binary())
    try:
        return made.cast(pa.large_string())
    except pa.ArrowInvalid:
        return pa.array([_decoded(value, losses) for value in made.to_pylist()], pa.large_string())


def _decoded(value: bytes | None, losses: Counter[str] | None) -> str | None:
    """Return bytes as a string; those that are not UTF-8 are replaced, and counted in `losses`."""
    if value is None:
        return None
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        if losses is not None:
            losses[BAD_TEXT] += 1
        return value.decode("utf-8", "replace")


def plain_text(text: str | None, losses: Counter[str] | None = None) -> str | None:
    """A string that Arrow can store: lone surrogates (undecodable bytes of a name) are replaced, and counted."""
    if text is None or text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text):
        return text
    if losses is not None:
        losses[BAD_TEXT] += 1
    return "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text)


# --- the table of members ---------------------------------------------------------------------------------------------


class _Rows(NamedTuple):
    """The rows of some members, what they lost, and the error that ends them."""

    made: list[dict[str, Any]]
    losses: Counter[str]
    error: SourceError | None = None


class Member(Protocol):
    """An entry of an archive of members as its table uses it; see `exhume.archive.Entry`."""

    @property
    def kind(self) -> str:
        """Kind of the member: `file`, `directory` and so on."""

    @property
    def name(self) -> str | None:
        """Its name."""

    @property
    def offset(self) -> int | None:
        """Absolute offset in bytes; None if its bytes are not stored as they are."""

    @property
    def size(self) -> int | None:
        """Logical size in bytes."""

    @property
    def stored_size(self) -> int | None:
        """Stored size in bytes."""

    @property
    def details(self) -> Mapping[str, Any]:
        """The format's own values."""


class Members(Protocol):
    """An archive of members as its table uses it; see `exhume.archive.MemberArchive`."""

    @property
    def detail_columns(self) -> Mapping[str, str]:
        """The format's own columns with their Arrow types."""

    def entries(self) -> Iterator[Member]:
        """The members, in a fixed order."""

    def stored_digest(self, entry: Any, /) -> str | None:
        """The checksum that the archive stores, as `algorithm:hex`."""

    def detail_values(self, entry: Any, /) -> Mapping[str, Any]:
        """The values of `detail_columns`."""

    def iter_member(self, name: str, /) -> Iterator[bytes]:
        """The bytes of a member in chunks."""


def member_table(
    archive: Members,
    *,
    columns: Iterable[str] | None = None,
    digest: str = "stored",
    entries: Iterable[Member] | None = None,
    batch_rows: int = BATCH_ROWS,
    losses: Counter[str] | None = None,
    jobs: int = 1,
) -> Any:
    """The members (or only `entries`) as a `pyarrow.RecordBatchReader`, in the archive's order, one row each.

    Columns: `name`, `kind`, `size`, `offset` (absolute; null if the bytes are not stored as they are), `stored_size`,
    `digest` (`algorithm:hex`), the format's own (`MemberArchive.detail_columns`), `problem` (the code of the rule that
    a damaged member breaks) and `reason`.  `digest="stored"` is the checksum that the archive itself stores, null in
    formats without one; `"sha256"` reads and hashes every member, with `jobs` threads in parallel (0: one per core),
    and is null for damaged ones (counted in `losses`).

    Raises `EntryNotFoundError` for an unknown column, `QueryError` for another digest, and `MissingDependencyError`.
    """
    pa = import_pyarrow()
    check_rows(batch_rows)
    if digest not in DIGESTS:
        raise QueryError("no such digest", expected=f"one of {', '.join(DIGESTS)}", actual=shorten(digest))
    types = _member_types(archive)
    names = choose(types, columns)
    schema = pa.schema([pa.field(name, types[name]) for name in names])
    # Members have to be read only if a digest, or the problem that reading shows, is requested.
    hashing = digest == "sha256" and bool({"digest", "problem", "reason"} & set(names))

    def piece(part: list[Member]) -> _Rows:
        """Return the rows of some members; reading stops at an error, which is returned with them."""
        found = _Rows([], Counter())
        for entry in part:
            try:
                found.made.append(_member_row(archive, entry, hashing, found.losses))
            except SourceError as error:
                return found._replace(error=error)
        return found

    def rows() -> Iterator[dict[str, Any]]:
        """Yield the rows of all members in order."""
        listed = archive.entries() if entries is None else entries
        parts = batched(listed, min(PIECE_MEMBERS, batch_rows), _bytes_to_read, PIECE_BYTES)
        # (`leave`: an interruption need not wait for reads.)
        for found in map_ordered(piece, parts, jobs if hashing else 1, leave=True):
            if losses is not None:
                losses.update(found.losses)
            yield from found.made
            if found.error is not None:
                raise found.error

    def batches() -> Iterator[Any]:
        """Yield the rows as batches."""
        for part in batched(rows(), batch_rows):
            arrays = [pa.array([row.get(name) for row in part], types[name]) for name in names]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def _member_types(archive: Members) -> dict[str, Any]:
    """Return the Arrow types of the columns of `member_table`, by name."""
    pa = import_pyarrow()
    return {
        "name": pa.large_string(),
        "kind": pa.string(),
        "size": pa.uint64(),
        "offset": pa.uint64(),
        "stored_size": pa.uint64(),
        "digest": pa.string(),
        **{name: getattr(pa, kind)() for name, kind in archive.detail_columns.items()},
        "problem": pa.string(),
        "reason": pa.string(),
    }


def _bytes_to_read(entry: Member) -> int:
    """Return how many bytes have to be read for a member; `batched` limits their sum."""
    return entry.size or 0


def _member_row(archive: Members, entry: Member, hashing: bool, losses: Counter[str]) -> dict[str, Any]:
    """The row of one member, with its SHA-256 if `hashing`; one that cannot be read has `problem` and `reason`.

    Raises `SourceError` if the source itself cannot be read.
    """
    details = entry.details
    row = {
        "name": plain_text(entry.name, losses),
        "kind": entry.kind,
        "size": entry.size,
        "offset": entry.offset,
        "stored_size": entry.stored_size,
        "digest": None if hashing else archive.stored_digest(entry),
        **archive.detail_values(entry),
        "problem": details.get("problem"),
        "reason": details.get("reason"),
    }
    if hashing and entry.name is not None and entry.kind != "directory":
        from exhume.codecs.checksums import sha256

        computed = sha256()
        try:
            for piece in archive.iter_member(entry.name):
                computed.update(piece)
        except SourceError:
            raise
        except ExhumeError as error:
            row |= {"problem": error.code, "reason": error.message}
            losses[NO_DIGEST] += 1
        else:
            row["digest"] = f"sha256:{computed.hexdigest()}"
    return row
