"""The database behind a catalog: SQLite through the standard library, everything else through SQLAlchemy.

Both speak the same few SQL statements with `:name` parameters.
"""

from __future__ import annotations

import abc
import contextlib
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from exhume.errors import MissingDependencyError, SourceError, Span, shorten

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

KEY = "substr(file_path, 1, 512)"
"""What is indexed: databases bound the size of an index entry, CAF does not bound names."""


class Store(abc.ABC):
    """A database connection.  Every method raises `SourceError` (EX-606) when the database fails."""

    path_key = KEY

    @abc.abstractmethod
    def query(self, sql: str, **bound: Any) -> Iterable[Sequence[Any]]:
        """Rows of a SELECT."""

    @abc.abstractmethod
    def execute(self, sql: str, **bound: Any) -> None:
        """Any other statement."""

    @abc.abstractmethod
    def execute_many(self, sql: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """One statement for many rows."""

    @abc.abstractmethod
    def transaction(self) -> contextlib.AbstractContextManager[None]:
        """All or nothing."""

    @abc.abstractmethod
    def close(self) -> None:
        """Closes the connection."""


def open_store(target: str, *, create: bool) -> Store:
    """The store behind a path or SQLAlchemy URL."""
    return SqlalchemyStore(target, create=create) if "://" in target else SqliteStore(target, create=create)


def load_sqlite(data: bytes, name: str) -> Store:
    """The store in the bytes of a SQLite file, read-only: for catalogs that are not on a local disk."""
    return SqliteStore(name, create=False, data=data)


def _failed(name: str, error: BaseException) -> SourceError:
    text = str(error).strip().splitlines() or [type(error).__name__]
    return SourceError(
        "the catalog database failed", code="EX-606", span=Span(name, 0, 0), actual=shorten(text[0], 200)
    )


class SqliteStore(Store):
    """A SQLite file.  Opened read-only unless it may be created."""

    def __init__(self, path: str, *, create: bool, data: bytes | None = None) -> None:
        self.name = path
        mode = "rwc" if create else "ro"
        with self._guard():
            uri = "file::memory:"
            if data is None:
                uri = f"{Path(os.path.abspath(path)).as_uri()}?mode={mode}"  # noqa: PTH100 - resolve() would follow links
            self._connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
        try:
            with self._guard():
                if data is not None:
                    self._connection.deserialize(data)
                if create:
                    for statement in TABLES:
                        self._connection.execute(statement)
                    self._connection.execute(
                        f"CREATE INDEX IF NOT EXISTS file_locations_path ON file_locations ({KEY})"
                    )
                self._connection.execute("SELECT caf_file_id FROM caf_files LIMIT 1")
        except BaseException:
            self._connection.close()
            raise

    @contextlib.contextmanager
    def _guard(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, UnicodeEncodeError) as error:
            raise _failed(self.name, error) from error

    def query(self, sql: str, **bound: Any) -> Iterable[Sequence[Any]]:
        with self._guard():
            yield from self._connection.execute(sql, bound)

    def execute(self, sql: str, **bound: Any) -> None:
        with self._guard():
            self._connection.execute(sql, bound)

    def execute_many(self, sql: str, rows: Sequence[Mapping[str, Any]]) -> None:
        with self._guard():
            self._connection.executemany(sql, rows)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        self.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self.execute("ROLLBACK")
            raise
        self.execute("COMMIT")

    def close(self) -> None:
        self._connection.close()


class SqlalchemyStore(Store):
    """Any database that SQLAlchemy has a driver for; tested with PostgreSQL."""

    def __init__(self, url: str, *, create: bool) -> None:
        try:
            import sqlalchemy
        except ImportError as error:
            raise MissingDependencyError(
                "a catalog URL needs SQLAlchemy: pip install 'exhume[catalog]' (a plain path is a SQLite file)",
                span=Span(url.split("://", 1)[0], 0, 0),
            ) from error
        self._sql = sqlalchemy
        try:
            self.name = sqlalchemy.make_url(url).render_as_string(hide_password=True)
            self._engine = sqlalchemy.create_engine(url)
        except sqlalchemy.exc.ArgumentError as error:
            raise SourceError("not a database URL", code="EX-606", span=Span(url.split("://", 1)[0], 0, 0)) from error
        except ImportError as error:
            raise MissingDependencyError(
                "the database driver is not installed", span=Span(self.name, 0, 0), actual=str(error)
            ) from error
        if self._engine.dialect.name == "postgresql":
            self.path_key = f'{KEY} COLLATE "C"'
        self._connection: Any = None
        with self._guard():
            self._connection = self._engine.connect()
            if create:
                self._create()
            with self._connection.begin():
                self._connection.execute(self._sql.text("SELECT caf_file_id FROM caf_files WHERE 1 = 0"))

    def _create(self) -> None:
        text = self._sql.text
        with self._connection.begin():
            for statement in TABLES:
                self._connection.execute(text(statement))
            if self._engine.dialect.name in ("postgresql", "sqlite"):
                key = f"({self.path_key})" if self._engine.dialect.name == "postgresql" else self.path_key
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
        with self._guard():
            if self._connection.in_transaction():
                return [tuple(row) for row in self._connection.execute(self._sql.text(sql), bound)]
            with self._connection.begin():
                return [tuple(row) for row in self._connection.execute(self._sql.text(sql), bound)]

    def execute(self, sql: str, **bound: Any) -> None:
        with self._guard():
            self._connection.execute(self._sql.text(sql), bound)

    def execute_many(self, sql: str, rows: Sequence[Mapping[str, Any]]) -> None:
        with self._guard():
            self._connection.execute(self._sql.text(sql), list(rows))

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        with self._guard(), self._connection.begin():
            yield

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._engine.dispose()
