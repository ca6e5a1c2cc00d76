"""The catalog: which chunk contains which path, and where in it, so that one range request fetches a member.

A chunk is a CAF file, which contains other files (members); a catalog is a database that describes many chunks.

The table `file_locations` has the specification's columns `file_path` and `caf_file_id` plus offset and size; the table
`caf_files` says which chunk an id stands for, and identifies that chunk by its size and the digest of its tail.  In
practice several chunks hold the same path, so `file_path` is indexed, not unique.  SQLite files need nothing but the
standard library; other databases go through SQLAlchemy (extra `catalog`).
"""

from __future__ import annotations

import fnmatch
import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

from exhume.archive import Progress, no_progress
from exhume.counts import counted
from exhume.errors import EntryNotFoundError, ExhumeError, SourceError, Span, shorten
from exhume.formats.caf.catalog_entries import (
    ChunkEntry,
    ChunkRecord,
    Difference,
    Location,
    Places,
    chunk_difference,
    decode_path,
    encode_path,
    open_chunk,
    place_text,
    read_entry,
    read_location,
)
from exhume.formats.caf.catalog_store import KEY_SIZE, LOCATION_KEY, Store, open_store
from exhume.limits import DEFAULT_LIMITS, Limits

BATCH = 5000
"""Rows sent to the database at a time."""

LEAD_SIZE = 256
"""Characters before the first wildcard of a glob that narrow its search in the index; each row is then matched."""

ID_SIZE = 50
"""Characters of a `caf_file_id` in the specification's table."""

FIRST_BATCH, LAST_BATCH = 64, 65_536
"""Rows requested at a time while a directory is listed."""

_SAME_PATH = "NOT file_path <> :path"
"""A condition with `=` would make SQLite insert the path into the indexed expression, and then go through the table."""

# The columns of `Location`, with the JSON form of the name second; callers add the condition.
_LOCATIONS = (
    "SELECT l.file_path, l.name_json, l.caf_file_id, c.location, l.start_byte, l.size, c.chunk_size, c.tail_sha256"
    " FROM file_locations l JOIN caf_files c ON c.caf_file_id = l.caf_file_id"
)

_WILD = re.compile(r"[*?\[]")
"""Finds the first wildcard of a glob."""


def open_catalog(
    target: str,
    *,
    create: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    storage_options: Mapping[str, Any] | None = None,
    chunks_in: Iterable[str] = (),
) -> Catalog:
    """Open a catalog: a path (SQLite) or a SQLAlchemy URL; `create` makes the tables where they are missing.

    `storage_options` are fsspec's, for reaching chunks by URL.  `chunks_in` are folders and URL prefixes below which
    chunks may be read; without any, only the folder of a SQLite file is one.  Raises `SourceError` if the database
    cannot be opened or is not a catalog.
    """
    below = list(chunks_in) or ([] if "://" in target else [os.path.dirname(os.path.abspath(target))])  # noqa: PTH100, PTH120
    store = open_store(target, create=create)
    return Catalog(store, limits=limits, storage_options=storage_options, chunks_in=below)


_COLUMNS = ("caf_file_id", "ordinal", "file_path", "start_byte", "size", "name_json")
"""Columns of `file_locations` in the order of the rows of `ChunkEntry`."""


class Catalog:
    """An open catalog, which is a context manager.  Not thread-safe."""

    def __init__(
        self,
        store: Store,
        *,
        limits: Limits = DEFAULT_LIMITS,
        storage_options: Mapping[str, Any] | None = None,
        chunks_in: Iterable[str] = (),
    ) -> None:
        """Use the database `store`; `chunks_in` are folders and URL prefixes below which chunks may be read."""
        self.places: Places = Places(chunks_in)
        """Where chunks may be read."""
        self._store = store
        self._limits = limits
        self._storage = storage_options

    # -- building

    def build(
        self, chunks: Sequence[str], *, add: bool = False, progress: Progress = no_progress
    ) -> list[tuple[str, ExhumeError]]:
        """Enter chunks in one transaction, replacing earlier data about them (and, without `add`, about all others).

        Returns the chunks that could not be read, with the reason; they are left out.  Without `add`, a catalog that
        already describes chunks is replaced only when every chunk could be read; otherwise it stays as it was, and the
        method raises `SourceError` (EX-611).
        """

        def entries() -> Iterator[tuple[str, ChunkEntry | ExhumeError]]:
            """Yield each chunk with its entry, or with the error that prevents reading it."""
            for done, chunk in enumerate(chunks):
                progress(done, len(chunks), "chunks")
                try:
                    entry: ChunkEntry | ExhumeError = read_entry(chunk, self._limits, self._storage)
                except ExhumeError as error:
                    entry = error
                yield chunk, entry
            progress(len(chunks), len(chunks), "chunks")

        return self.enter_all(entries(), add=add)

    def enter_all(
        self, entries: Iterable[tuple[str, ChunkEntry | ExhumeError]], *, add: bool = False
    ) -> list[tuple[str, ExhumeError]]:
        """Like `build`, from the result of `read_entry` for each chunk, or the error that it raised.

        Raises `SourceError` as `build` does.
        """
        failed: list[tuple[str, ExhumeError]] = []
        known = len(self.chunks())
        # Both keep the old rows until all new ones are entered, and for good after an error.
        with self._store.transaction() if add else self._store.replacement():
            for location, entry in entries:
                if isinstance(entry, ExhumeError):
                    failed.append((location, entry))
                else:
                    self._enter(entry)
            if known and failed and not add:
                raise SourceError(
                    f"{counted(len(failed), 'chunks')} could not be read, so the catalog is unchanged"
                    " (the others can be added to it)",
                    code="EX-611",
                    span=Span(self._store.name, 0, 0),
                )
        return failed

    def add_chunk(self, location: str) -> ChunkRecord:
        """Enter one chunk, replacing earlier data about it."""
        entry = read_entry(location, self._limits, self._storage)
        with self._store.transaction():
            return self._enter(entry)

    def _enter(self, entry: ChunkEntry) -> ChunkRecord:
        """Write the rows of a chunk, in place of earlier rows for the same location."""
        location = entry.location
        self.places.add(location)
        # The index has the first `KEY_SIZE` characters of a location: it finds few rows, whose locations are compared.
        known = self._store.query(
            f"SELECT caf_file_id FROM caf_files WHERE {LOCATION_KEY} = :key AND NOT location <> :location",  # noqa: S608
            key=location[:KEY_SIZE],
            location=location,
        )
        for (caf_file_id,) in list(known):
            self._store.execute("DELETE FROM file_locations WHERE caf_file_id = :id", id=caf_file_id)
            self._store.execute("DELETE FROM caf_files WHERE caf_file_id = :id", id=caf_file_id)
        record = ChunkRecord(
            self._new_id(location, entry.tail_sha256),
            location,
            entry.chunk_size,
            entry.data_size,
            entry.tail_sha256,
            entry.num_files,
        )
        self._store.execute(
            "INSERT INTO caf_files (caf_file_id, location, chunk_size, data_size, tail_sha256, num_files)"
            " VALUES (:caf_file_id, :location, :chunk_size, :data_size, :tail_sha256, :num_files)",
            **{name: getattr(record, name) for name in ChunkRecord.__slots__},
        )
        # The files of the chunk, in batches.
        for at in range(0, len(entry.rows), BATCH):
            rows = ((record.caf_file_id, *row) for row in entry.rows[at : at + BATCH])
            self._store.insert("file_locations", _COLUMNS, rows)
        return record

    def _new_id(self, location: str, digest: str) -> str:
        """The chunk's file name where it is short enough and free, else its digest, else its location's."""
        for candidate in (
            location.rstrip("/").rsplit("/", 1)[-1],
            digest[:ID_SIZE],
            hashlib.sha256(location.encode("utf-8", "surrogatepass")).hexdigest()[:ID_SIZE],
        ):
            taken = self._store.query("SELECT 1 FROM caf_files WHERE caf_file_id = :id", id=candidate)
            if len(candidate) <= ID_SIZE and not list(taken):
                return candidate
        raise SourceError("no free chunk id", span=Span(location, 0, 0))

    # -- asking

    def chunks(self) -> list[ChunkRecord]:
        """All chunks, by id."""
        rows = self._store.query(
            "SELECT caf_file_id, location, chunk_size, data_size, tail_sha256, num_files"
            " FROM caf_files ORDER BY caf_file_id"
        )
        return [ChunkRecord(*self._typed("ttnntn", row)) for row in rows]

    def count(self) -> int:
        """Number of cataloged members."""
        (row,) = self._store.query("SELECT COUNT(*) FROM file_locations")
        return int(row[0])

    def _typed(self, kinds: str, row: Sequence[Any]) -> Sequence[Any]:
        """Return the row; raise `SourceError` if a value is of another kind (t: text, n: natural, ?: text or null)."""
        for kind, value in zip(kinds, row, strict=True):
            natural = type(value) is int and 0 <= value < 1 << 63
            if not (natural if kind == "n" else isinstance(value, str) or (kind == "?" and value is None)):
                raise self._wrong("a value of another type than the column's", value)
        return row

    def _wrong(self, what: str, value: Any) -> SourceError:
        """Return the error for a row of the database that no catalog contains."""
        return SourceError(
            f"the catalog contains {what}",
            code="EX-616",
            span=Span(self._store.name, 0, 0),
            actual=shorten(repr(value)),
        )

    def _places(self, sql: str, **bound: Any) -> Iterator[Location]:
        """The places that a query of `_LOCATIONS` yields."""
        for file_path, name_json, *rest in self._store.query(sql, **bound):
            self._typed("t?ttnnnt", (file_path, name_json, *rest))
            yield Location(self._name(file_path, name_json), *rest)

    def _name(self, file_path: str, name_json: str | None) -> str:
        """The exact name of a member.  Raises `SourceError` (EX-616) if its JSON form is not one."""
        try:
            return decode_path(file_path, name_json)
        except (ValueError, RecursionError) as error:
            raise self._wrong("a name that is not a string in JSON", name_json) from error

    def find(self, pattern: str) -> Iterator[Location]:
        """Locations of a path, or of all paths that match a glob (`*` also crosses `/`), by path and chunk.

        A glob that is also the path of a member selects only that, as in `MemberArchive.match`.
        """
        wild = _WILD.search(pattern)
        if wild is not None and (exact := self.find_exact(pattern)):
            yield from exact
            return
        key = self._store.path_key  # SQL for the indexed part of a path: its first `KEY_SIZE` characters
        if wild is None:
            path = encode_path(pattern)[0]
            where, bound = f"{key} = :key AND {_SAME_PATH}", {"key": path[:KEY_SIZE], "path": path}
        else:
            # From the text before the wildcard to that text with the last character of Unicode.
            lead = pattern[: wild.start()][:LEAD_SIZE]
            where, bound = f"{key} >= :low AND {key} < :high", {"low": lead, "high": lead + "\U0010ffff"}
            if not lead:
                where, bound = "1 = 1", {}
        matches = re.compile(fnmatch.translate(pattern)).match
        for place in self._places(f"{_LOCATIONS} WHERE {where} ORDER BY {key}, l.caf_file_id", **bound):
            if place.file_path == pattern if wild is None else matches(place.file_path):
                yield place

    def find_exact(self, path: str) -> list[Location]:
        """Locations of a path as it is (`*`, `?` and `[` mean themselves), by chunk."""
        key, file_path = self._store.path_key, encode_path(path)[0]
        found = self._places(
            f"{_LOCATIONS} WHERE {key} = :key AND {_SAME_PATH} ORDER BY l.caf_file_id",
            key=file_path[:KEY_SIZE], path=file_path,
        )  # fmt: skip
        return [place for place in found if place.file_path == path]

    def list_directory(self, folder: str = "") -> Iterator[tuple[str, Location | None]]:
        """The content of a directory, by path: a file's location, or None for a directory.

        When a path is in several chunks, the one with the last id counts.  Deeper directories are skipped by seeking.
        Names that contain NUL or lone surrogates are not listed, because databases cannot hold them.
        """
        key = self._store.path_key
        lead = f"{folder}/" if folder else ""
        low, high = lead[:KEY_SIZE], f"{lead[: KEY_SIZE - 1]}\U0010ffff"  # keys of all paths in the directory
        last: tuple[str, Location | None] | None = None  # the entry to yield when another one follows
        offset, batch = 0, FIRST_BATCH
        # Rows come in batches, each with an own query.  After the first file of a deeper directory, the next query
        # begins after that directory (`low`); otherwise it continues where the batch ended (`offset`).
        while True:
            sql = (
                f"{_LOCATIONS} WHERE {key} >= :low AND {key} < :high AND l.name_json IS NULL"
                f" ORDER BY {key}, l.file_path, l.caf_file_id LIMIT {batch} OFFSET {offset}"
            )
            rows = list(self._places(sql, low=low, high=high))
            for done, place in enumerate(rows, 1):
                path = place.file_path
                if not path.startswith(lead):
                    continue
                cut = path.find("/", len(lead))
                found = (path, place) if cut < 0 else (path[:cut], None)  # None: a directory
                if last is not None:
                    (name, file), (last_name, last_file) = found, last
                    if (last_name, last_file is None) != (name, file is None):
                        yield last  # a new name, or a directory of the same name: no other chunk has this entry
                last = found
                # "0" follows "/", so this sorts after everything in the directory.  The index has only the first
                # `KEY_SIZE` characters of a path; after the last row of a batch, another query follows in any case.
                after_directory = f"{path[:cut]}0"
                if cut >= 0 and low < after_directory and len(after_directory) <= KEY_SIZE and done < len(rows):
                    low, offset = after_directory, 0
                    break
            else:
                if len(rows) < batch:
                    break
                offset, batch = offset + len(rows), min(batch << 2, LAST_BATCH)
        if last is not None:
            yield last

    def read(self, path: str, start: int = 0, stop: int | None = None) -> bytes:
        """Bytes `[start, stop)` of a member, clipped like a slice.

        This takes one range read, and does not need the chunk's index.

        When the path is in several chunks, the one with the last id counts.  Raises `EntryNotFoundError`, and
        `SourceChangedError` when the chunk is no longer the cataloged one.
        """
        found = self.find_exact(path)
        if not found:
            raise EntryNotFoundError("the catalog has no such path", format="caf", actual=shorten(path))
        return self.read_location(found[-1], start, stop)

    def read_location(self, place: Location, start: int = 0, stop: int | None = None) -> bytes:
        """Bytes `[start, stop)` of a member at a place that this catalog found, clipped like a slice.

        Raises `SourceError` (EX-613) if chunks may not be read there; propagates errors from `read`.
        """
        self.places.check(place.location)
        return read_location(place, start, stop, self._storage)

    # -- checking

    def check(
        self, chunks: Sequence[str] | None = None, *, quick: bool = False, progress: Progress = no_progress
    ) -> Iterator[Difference]:
        """Compare the catalog with the chunks (those given, or those it names).

        `quick` trusts a chunk whose size and tail digest are the cataloged ones.  A file that left one chunk and turns
        up in another is reported as moved.  Chunks that are given may be read wherever they are; raises `SourceError`
        (EX-613) for others that may not.
        """
        for location in chunks or ():
            self.places.add(location)
        known = {record.location: record for record in self.chunks()}
        locations = list(known) if chunks is None else list(dict.fromkeys([*chunks, *known]))
        missing: list[Difference] = []
        extra: dict[str, list[Difference]] = {}  # by path
        for done, location in enumerate(locations):
            progress(done, len(locations), "chunks")
            record = known.get(location)
            outside = chunks is not None and location not in chunks
            yield from self._check_chunk(location, record, outside, quick, missing, extra)
        progress(len(locations), len(locations), "chunks")
        # A path that is missing in one chunk and not cataloged in another was moved.
        for lost in missing:
            path = lost.file_path or ""
            found = extra.get(path)
            if found:
                yield Difference("moved", lost.caf_file_id, path, lost.expected, found.pop(0).actual)
            else:
                yield lost
        for left in extra.values():
            yield from left

    def _check_chunk(
        self,
        location: str,
        record: ChunkRecord | None,
        outside: bool,
        quick: bool,
        missing: list[Difference],
        extra: dict[str, list[Difference]],
    ) -> Iterator[Difference]:
        """Compare the chunk at `location` with its rows in the catalog, and yield the differences.

        `record` is the catalog's row for the chunk, None if it has none. Missing and extra members are not yielded but
        added to `missing` and `extra` (by name), because a member that moved to another chunk is in both. `outside`:
        the chunk is not among those that the caller named. With `quick`, an unchanged chunk is not compared further.
        """
        caf_file_id = record.caf_file_id if record is not None else location
        members: dict[str, tuple[int, int]] = {}  # ranges by name
        try:
            if outside:
                raise SourceError("not one of the given chunks", span=Span(location, 0, 0))
            self.places.check(location)
            with open_chunk(location, self._limits, self._storage) as archive:
                difference = chunk_difference(archive, record, caf_file_id)
                if difference is not None:
                    yield difference
                elif quick:
                    return
                index = archive.index
                sound = [(name, ordinal) for ordinal, name in index.items() if ordinal not in index.flaws]
                members = {name: (index.starts[ordinal], index.ends[ordinal]) for name, ordinal in sound}
        except ExhumeError as error:
            if error.code == "EX-613":  # chunks may not be read there, which is not a difference
                raise
            yield Difference("chunk-missing", caf_file_id, expected=location, actual=error.message)
        if record is not None:
            yield from self._check_rows(record.caf_file_id, members, missing)
        for name, place in members.items():  # those without a row
            one = Difference("extra", caf_file_id, name, None, place_text(caf_file_id, *place))
            extra.setdefault(name, []).append(one)

    def _check_rows(
        self, caf_file_id: str, members: dict[str, tuple[int, int]], missing: list[Difference]
    ) -> Iterator[Difference]:
        """Compare the rows of a chunk with its `members`; those with a row are removed.  See `_check_chunk`."""
        rows = self._store.query(
            "SELECT file_path, name_json, start_byte, size FROM file_locations WHERE caf_file_id = :id"
            " ORDER BY ordinal",
            id=caf_file_id,
        )
        for file_path, name_json, start, size in rows:
            self._typed("t?nn", (file_path, name_json, start, size))
            name = self._name(file_path, name_json)
            place = members.pop(name, None)
            expected = place_text(caf_file_id, start, start + size)
            if place is None:
                missing.append(Difference("missing", caf_file_id, name, expected))
            elif place != (start, start + size):
                yield Difference("moved", caf_file_id, name, expected, place_text(caf_file_id, *place))

    def close(self) -> None:
        """Close the database."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
