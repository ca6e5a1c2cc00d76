"""The database of a catalog: SQLite through the standard library, everything else through SQLAlchemy.

Both speak the same few SQL statements with `:name` parameters.  A catalog says which chunk (CAF file) contains which
path.  A SQLite file may come from anybody, so what it can make SQLite do is bounded (`SqliteGuard`).
"""

from __future__ import annotations

import abc
import contextlib
import functools
import os
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from exhume.errors import MissingDependencyError, OutputExistsError, SourceError, Span, shorten
from exhume.io.files import naming
from exhume.io.output.atomic import AtomicFile, remove_leftovers, report_output

TABLES = (
    """
    CREATE TABLE IF NOT EXISTS caf_files (
        caf_file_id VARCHAR(50) NOT NULL PRIMARY KEY,
        location TEXT NOT NULL,
        chunk_size BIGINT NOT NULL,
        data_size BIGINT NOT NULL,
        tail_sha256 CHAR(64) NOT NULL,
        num_files BIGINT NOT NULL
    )
    """,
    """
    CREATE TABLE IF NOT EXISTS file_locations (
        caf_file_id VARCHAR(50) NOT NULL,
        ordinal BIGINT NOT NULL,
        file_path TEXT NOT NULL,
        start_byte BIGINT NOT NULL,
        size BIGINT NOT NULL,
        name_json TEXT,
        PRIMARY KEY (caf_file_id, ordinal)
    )
    """,
)
"""The specification's `file_locations(file_path, caf_file_id)` with places added, and what a chunk id means."""

KEY_SIZE = 512
"""Characters of a path, or of a location, in an index."""

KEY = f"substr(file_path, 1, {KEY_SIZE})"
"""The indexed expression: databases limit the size of an index entry, CAF does not limit names."""

LOCATION_KEY = f"substr(location, 1, {KEY_SIZE})"
"""The indexed expression of a chunk's location: each chunk that is entered is searched for by it."""

CHUNK_INDEX = f"CREATE INDEX IF NOT EXISTS caf_files_location ON caf_files ({LOCATION_KEY})"

# The statement for SQLite; see `SqlalchemyStore` for others.
INDEX = f"CREATE INDEX IF NOT EXISTS file_locations_path ON file_locations ({KEY})"

STEPS, STEPS_PER_BYTE = 500_000, 20
"""Instructions of SQLite's machine that a query may take: a crafted file can contain more rows than it has bytes."""

WRITING_STEPS = 500_000_000
"""Instructions that a statement may take that writes to the database, and makes it larger."""

_TICK = 10_000
"""Instructions after which their number is examined."""

# What a query may use: actions of SQLite's authorizer, functions, pragmas and tables.
_READING = frozenset((sqlite3.SQLITE_SELECT, sqlite3.SQLITE_TRANSACTION))
_FUNCTIONS = frozenset(("substr", "count", "like"))
_PRAGMAS = frozenset(("table_xinfo", "read_uncommitted"))
_READABLE = frozenset(("caf_files", "file_locations", "sqlite_master"))

# The definitions of the catalog's tables; and objects that are not part of a catalog.
_SCHEMA = "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE tbl_name IN ('caf_files', 'file_locations')"

_FOREIGN = (
    "SELECT name FROM sqlite_master WHERE type != 'index'"
    " AND name NOT IN ('caf_files', 'file_locations') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
)


class SqliteGuard:
    """Bounds what a SQLite file can do to a program that queries it: its content and schema are not trusted.

    Only plain tables are read, by a few functions; no string is longer than the file (or 1 MiB); the size of the
    file limits the steps of a query.
    """

    def __init__(self, connection: sqlite3.Connection, name: str, size: int, *, reading: bool) -> None:
        """Bound what statements on a connection may cost and do, in proportion to the database's `size`."""
        self._connection, self._name = connection, name
        steps = STEPS + STEPS_PER_BYTE * size if reading else WRITING_STEPS
        self._left = self._most = steps // _TICK  # calls of `_tick`
        # Strings up to the size of the file, or 1 MiB; a limit is a number of 31 bits.
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, min(max(size, 1 << 20), (1 << 31) - 1))
        connection.execute("PRAGMA trusted_schema = OFF")
        if reading:
            connection.execute("PRAGMA query_only = ON")
        connection.set_progress_handler(self._tick, _TICK)
        connection.set_authorizer(_may_read if reading else _may_write)

    def check_schema(self) -> None:
        """Raise `SourceError` unless the objects named like the catalog's tables are tables without triggers."""
        self.start()
        for kind, name, table, sql in self._connection.execute(_SCHEMA).fetchall():
            plain = kind == "index" or (kind == "table" and name == table and isinstance(sql, str))
            words = sql.upper().split(None, 3) if isinstance(sql, str) else []
            if not plain or "VIRTUAL" in words[:3]:  # CREATE VIRTUAL TABLE
                what = "a virtual table" if plain else f"a {kind}"
                raise _refused(self._name, f"the catalog contains {what} instead of its tables", name)
        for table in ("caf_files", "file_locations"):
            for _, name, *_, hidden in self._connection.execute(f"PRAGMA table_xinfo({table})").fetchall():
                if hidden:
                    raise _refused(self._name, "the catalog contains a computed column", f"{table}.{name}")

    def start(self) -> None:
        """Begin to count the steps of a query."""
        self._left = self._most

    def _tick(self) -> int:
        """Count; a true result makes SQLite interrupt the query."""
        self._left -= 1
        return self._left < 0


def _may_read(action: int, first: str | None, second: str | None, database: str | None, view: str | None) -> int:
    """Called by SQLite: allow known tables and pragmas (`first`) and functions (`second`), and nothing from a view."""
    if view is None and (
        action in _READING
        or (action == sqlite3.SQLITE_READ and first in _READABLE)
        or (action == sqlite3.SQLITE_FUNCTION and second in _FUNCTIONS)
        or (action == sqlite3.SQLITE_PRAGMA and first in _PRAGMAS)
    ):
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def _may_write(action: int, first: str | None, second: str | None, database: str | None, view: str | None) -> int:
    """Allow all that our own statements do; nothing that a view or a trigger does."""
    return sqlite3.SQLITE_OK if view is None else sqlite3.SQLITE_DENY


def _refused(name: str, message: str, actual: str) -> SourceError:
    """The error of a database whose schema is not that of a catalog."""
    return SourceError(message, code="EX-606", span=Span(name, 0, 0), actual=shorten(actual))


class Store(abc.ABC):
    """A database connection.  Every method raises `SourceError` (EX-606) when the database fails."""

    name: str
    path_key = KEY  # SQL of the indexed part of a path, which sorts by code points

    @abc.abstractmethod
    def query(self, sql: str, **bound: Any) -> Iterable[Sequence[Any]]:
        """Rows of a SELECT."""

    @abc.abstractmethod
    def execute(self, sql: str, **bound: Any) -> None:
        """Execute any other statement."""

    @abc.abstractmethod
    def insert(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Add rows, with a value for each of the columns, to a table."""

    @abc.abstractmethod
    def transaction(self) -> contextlib.AbstractContextManager[None]:
        """A context for a transaction: everything inside it takes effect, or nothing."""

    @abc.abstractmethod
    def replacement(self) -> contextlib.AbstractContextManager[None]:
        """A transaction that starts with empty tables: the present rows stay until the new ones are complete."""

    @abc.abstractmethod
    def close(self) -> None:
        """Close the connection."""


def open_store(target: str, *, create: bool) -> Store:
    """The store at a path or SQLAlchemy URL."""
    return SqlalchemyStore(target, create=create) if "://" in target else SqliteStore(target, create=create)


def load_sqlite(data: bytes, name: str) -> Store:
    """The store in the bytes of a SQLite file, read-only: for catalogs that are not on a local disk."""
    return SqliteStore(name, create=False, data=data)


def _failed(name: str, error: BaseException) -> SourceError:
    """The error of the catalog `name` for an exception of the database."""
    if isinstance(error, UnicodeEncodeError):
        message = "a catalog cannot contain names that are not UTF-8"
        return SourceError(message, code="EX-606", span=Span(error.object, 0, 0))
    text = str(error).strip().splitlines() or [type(error).__name__]
    return SourceError(
        "cannot use the catalog database", code="EX-606", span=Span(name, 0, 0), actual=shorten(text[0], 200)
    )


class SqliteStore(Store):
    """A SQLite file.  Opened read-only unless it may be created."""

    def __init__(self, path: str, *, create: bool, data: bytes | None = None) -> None:
        """Open the file at `path`, or a copy in memory of its content `data`.

        With `create`, make the file and its tables if they are missing. Raises the error of `_guard` for a file that is
        not a catalog.
        """
        self.name = path
        if create and data is None and not os.path.exists(path):  # noqa: PTH110 - pathlib raises for odd names
            self._create_file(path)
        self._connection = self._connect(path if data is None else None, "rwc" if create else "ro")
        if create:
            report_output(Path(path))
        try:
            with self._guard():
                if data is not None:
                    self._connection.deserialize(data)
                size = os.path.getsize(path) if data is None else len(data)  # noqa: PTH202 - pathlib raises for odd names
                self._bounds = SqliteGuard(self._connection, path, size, reading=not create)
                if create and not list(self._connection.execute("SELECT 1 FROM sqlite_master LIMIT 1")):
                    self._create()
                self._bounds.check_schema()
                self._connection.execute("SELECT caf_file_id FROM caf_files LIMIT 1")  # fails without the table
        except BaseException:
            self._connection.close()
            raise

    def _connect(self, path: str | None, mode: str) -> sqlite3.Connection:
        """A connection to a file, or with None to a new database in memory; `mode` is SQLite's: ro, rw or rwc.

        Only to a regular file: SQLite would wait for the writer of a FIFO.
        """
        uri = "file::memory:"
        if path is not None:
            if os.path.exists(path) and not os.path.isfile(path):  # noqa: PTH110, PTH113 - pathlib raises for odd names
                raise SourceError("not a regular file", code="EX-614", span=Span(path, 0, 0))
            uri = f"{Path(os.path.abspath(path)).as_uri()}?mode={mode}"  # noqa: PTH100 - resolve() would follow links
        with self._guard():
            return sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)

    def _create_file(self, path: str) -> None:
        """Make an empty catalog, unless another process does meanwhile; an incomplete one never has the name."""
        with contextlib.suppress(OutputExistsError), self._guard(), AtomicFile(os.path.realpath(path)) as aside:
            self._connection = self._connect(str(aside.temporary), "rw")
            try:
                self._connection.execute("PRAGMA journal_mode = OFF")  # no second file that could remain
                self._create()
            finally:
                self._connection.close()

    def _create(self) -> None:
        """Make the tables and the index."""
        self._connection.execute("BEGIN IMMEDIATE")  # all of it, or nothing
        for statement in (*TABLES, CHUNK_INDEX, INDEX):
            self._connection.execute(statement)
        self._connection.execute("COMMIT")

    @contextlib.contextmanager
    def _guard(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, UnicodeEncodeError) as error:
            raise _failed(self.name, error) from error

    def query(self, sql: str, **bound: Any) -> Iterable[Sequence[Any]]:
        with self._guard():
            self._bounds.start()
            yield from self._connection.execute(sql, bound)

    def execute(self, sql: str, **bound: Any) -> None:
        with self._guard():
            self._bounds.start()
            self._connection.execute(sql, bound)

    def insert(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Insert rows."""
        marks = ", ".join("?" for _ in columns)
        sql = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})"  # noqa: S608 - the names are ours
        with self._guard():
            self._bounds.start()
            self._connection.executemany(sql, rows)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Run the body of a `with` as one transaction, rolled back after an error."""
        self.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self.execute("ROLLBACK")
            raise
        self.execute("COMMIT")

    @contextlib.contextmanager
    def replacement(self) -> Iterator[None]:
        """See `Store.replacement`.  Raises `SourceError` when the database holds more than a catalog."""
        path = os.path.realpath(self.name)  # a symbolic link to a catalog stays a link
        old = self._connection
        self.execute("BEGIN IMMEDIATE")  # no one else adds chunks meanwhile; the changes of a killed writer are undone
        try:
            for (name,) in self.query(_FOREIGN):
                raise SourceError(
                    "the database also contains other data, which would be lost: use a separate file for the catalog",
                    code="EX-617",
                    span=Span(self.name, 0, 0),
                    actual=shorten(name),
                )
            remove_leftovers(path)
            with AtomicFile(path, overwrite=True) as aside:
                self._connection = self._connect(str(aside.temporary), "rw")
                try:
                    self._connection.execute("PRAGMA journal_mode = OFF")
                    self._connection.execute("PRAGMA synchronous = OFF")  # `aside` syncs it once
                    for statement in (*TABLES, CHUNK_INDEX):
                        self.execute(statement)
                    self.execute("BEGIN")
                    yield
                    self.execute(INDEX)  # 5 times as fast for all rows at once
                    self.execute("COMMIT")
                finally:
                    self._connection.close()
                    self._connection = old
                aside.seal()
                with naming(path):  # an error of the system then names it
                    shutil.copymode(path, aside.temporary)
                old.execute("ROLLBACK")
                old.close()  # closed before the new file takes the name: SQLite then removes its side files
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                old.execute("ROLLBACK")
            raise
        self._connection = self._connect(self.name, "rw")

    def close(self) -> None:
        self._connection.close()


class SqlalchemyStore(Store):
    """Any database that SQLAlchemy has a driver for; tested with PostgreSQL."""

    def __init__(self, url: str, *, create: bool) -> None:
        """Connect to the database at `url` and, with `create`, make the tables.

        Raises `MissingDependencyError` without SQLAlchemy or the driver, and `SourceError` if `url` is not a database
        URL. A view in place of a table is rejected.
        """
        try:
            import sqlalchemy
        except ImportError as error:
            raise MissingDependencyError(
                "a catalog URL needs SQLAlchemy: pip install 'exhume[catalog]' (a plain path is a SQLite file)",
                span=Span(url.split("://", 1)[0], 0, 0),
            ) from error
        self._sql = sqlalchemy
        try:
            self.name: str = sqlalchemy.make_url(url).render_as_string(hide_password=True)
            self._engine = sqlalchemy.create_engine(url)
        except sqlalchemy.exc.ArgumentError as error:
            raise SourceError("not a database URL", code="EX-615", span=Span(url.split("://", 1)[0], 0, 0)) from error
        except ImportError as error:
            raise MissingDependencyError(
                "the database driver is not installed", span=Span(self.name, 0, 0), actual=str(error)
            ) from error
        if self._engine.dialect.name == "postgresql":  # whose default order depends on the locale
            self.path_key = f'{KEY} COLLATE "C"'
        self._connection: Any = None
        self._guards: list[SqliteGuard] = []
        """The guard of each connection to a SQLite file."""
        if self._engine.dialect.name == "sqlite":
            sqlalchemy.event.listen(self._engine, "connect", functools.partial(self._bound, create))
        with self._guard():
            self._connection = self._engine.connect()
            if create:
                self._create()
            for guard in self._guards[-1:]:  # that of this connection, if the database is a SQLite file
                guard.check_schema()
            views = sqlalchemy.inspect(self._engine).get_view_names() if self._engine.dialect.name != "sqlite" else ()
            if not {"caf_files", "file_locations"}.isdisjoint(views):
                raise _refused(self.name, "the catalog contains a view instead of its tables", "caf_files")
            with self._connection.begin():
                self._connection.execute(self._sql.text("SELECT caf_file_id FROM caf_files WHERE 1 = 0"))  # as above

    def _bound(self, create: bool, connection: Any, _record: object) -> None:
        """Bound what the file of a new connection to SQLite can do."""
        path = self._engine.url.database or ""
        size = os.path.getsize(path) if os.path.isfile(path) else 0  # noqa: PTH113, PTH202 - a URL's text
        self._guards.append(SqliteGuard(connection, self.name, size, reading=not create))

    def _create(self) -> None:
        """Create tables and indexes that do not exist; an expression, as `path_key` may be, needs parentheses."""
        text = self._sql.text
        with self._connection.begin():
            for statement in TABLES:
                self._connection.execute(text(statement))
            if self._engine.dialect.name in ("postgresql", "sqlite"):
                key = f"({self.path_key})" if self._engine.dialect.name == "postgresql" else self.path_key
                self._connection.execute(text(CHUNK_INDEX))
                self._connection.execute(
                    text(f"CREATE INDEX IF NOT EXISTS file_locations_path ON file_locations ({key})")
                )

    @contextlib.contextmanager
    def _guard(self) -> Iterator[None]:
        try:
            yield
        except (self._sql.exc.SQLAlchemyError, UnicodeEncodeError) as error:
            raise _failed(self.name, getattr(error, "orig", None) or error) from error

    def query(self, sql: str, **bound: Any) -> Iterable[Sequence[Any]]:
        """Run a query within the limits; returns all rows."""
        with self._guard():
            for guard in self._guards:
                guard.start()
            if self._connection.in_transaction():
                return [tuple(row) for row in self._connection.execute(self._sql.text(sql), bound)]
            with self._connection.begin():  # else the query is a transaction by itself
                return [tuple(row) for row in self._connection.execute(self._sql.text(sql), bound)]

    def execute(self, sql: str, **bound: Any) -> None:
        with self._guard():
            self._connection.execute(self._sql.text(sql), bound)

    def insert(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        marks = ", ".join(f":{name}" for name in columns)
        sql = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})"  # noqa: S608 - the names are ours
        with self._guard():
            self._connection.execute(self._sql.text(sql), [dict(zip(columns, row, strict=True)) for row in rows])

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        with self._guard(), self._connection.begin():
            yield

    @contextlib.contextmanager
    def replacement(self) -> Iterator[None]:
        with self.transaction():
            self.execute("DELETE FROM file_locations")
            self.execute("DELETE FROM caf_files")
            yield

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._engine.dispose()
