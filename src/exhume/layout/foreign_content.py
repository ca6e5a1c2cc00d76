"""Content of a file that a foreign specification describes: a list as Arrow, a structure as JSON or as an outline.

A foreign specification is one of a user; its readers return objects with the fields as attributes.  Instances are read
or computed when they are accessed, which may fail.

A list (repeated field) is found by a path such as `tables[2].rows`: names of fields, with the index of an element.  The
reader of a specification may stop at a list (`Paused`), so that its elements are read in batches; other lists are read
as a whole first.
"""

from __future__ import annotations

import enum
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import getitem
from typing import Any, Protocol

from exhume.choices import hint
from exhume.compiler.front.kinds import Sequence as SequenceKind
from exhume.compiler.front.model import Field as Described
from exhume.compiler.front.model import Type
from exhume.compiler.front.specs import Model
from exhume.errors import EntryNotFoundError, ExhumeError, Span, SpecificationError, shorten
from exhume.io.jsonout import dump_pieces, dumps
from exhume.io.local import mapped
from exhume.io.source import Source
from exhume.layout.batches import BATCH_ROWS, Paused
from exhume.layout.fast import RAISED, refused, unread
from exhume.layout.foreign_table import Tabulator
from exhume.layout.tracing import slot
from exhume.tabular.arrow import check_rows

_STEP = re.compile(r"(\w+)(?:\[([0-9]+)\])?")
"""One step of a path: the name of a field and perhaps an index."""

ELSEWHERE = "read from elsewhere on request"
"""Reason why an instance with a position of its own is not part of the JSON: it could repeat the same bytes without
end."""

SHOWN = 200
"""Most characters or bytes of a value in an outline."""


class UnreadWarning(UserWarning):
    """Warning that values of a table are null because they cannot be computed."""


class Readers(Protocol):
    """The compiled readers of a specification; see `foreign.Specification`."""

    @property
    def id(self) -> str:
        """Id of the root."""

    @property
    def model(self) -> Model:
        """The specification and what it imports, resolved."""

    @property
    def native(self) -> object:
        """The extension module of the readers; None for readers in Python."""

    def check_parameters(self, given: Sequence[Any]) -> None:
        """Raise `SpecificationError` if the root takes other parameters, or of other types."""

    def paused(self, steps: list[str]) -> Callable[..., Any] | None:
        """Return the reader of the root that stops at the list that fields lead to; None if that is read as a whole."""

    def read_source(self, source: Source, *arguments: Any) -> Any:
        """Return the root, read from an open source."""

    def type_of(self, value: Any) -> Type | None:
        """Return the type of a value; None for a value that is not a structure."""


class SpecificationRows:
    """The rows of one list of a file; `arguments` are the parameters of the specification."""

    def __init__(self, specification: Readers, source: Source, path: str, arguments: Sequence[Any]) -> None:
        """Read the list at `path` of a file in batches; `arguments` are those of the specification."""
        self.specification = specification
        self.source = source
        self.path = path
        self.arguments = arguments
        self.where: Span = source.span(0, source.size)  # of the whole file, for errors
        self.tabulator: Tabulator
        """The tabulator that made the columns of `reader`."""
        specification.check_parameters(arguments)

    def table(self) -> Any:
        """Return all rows as a `pyarrow.Table`."""
        field, rows = self._whole()
        tabulator = Tabulator(field, self.where.size)
        return tabulator.pa.Table.from_batches([self._batch(tabulator, rows)])

    def reader(self, rows: int = BATCH_ROWS, *, warns: bool = False) -> Any:
        """Return the rows as a `pyarrow.RecordBatchReader`; the source is closed after the last.

        The schema is made with the first batch, and names its columns with values that cannot be computed.  With
        `warns`, an `UnreadWarning` names those of later batches.
        """
        check_rows(rows)
        tabulator, batches = self._streamed(rows) or self._sliced(rows)
        self.tabulator = tabulator
        try:
            first = next(batches, None)
        except BaseException:
            self.source.close()
            raise
        # Without any row there is a schema.
        if first is None:
            first = self._batch(tabulator, [])
        return tabulator.pa.RecordBatchReader.from_batches(tabulator.schema, self._closing(first, batches, warns))

    def _closing(self, first: Any, batches: Iterator[Any], warns: bool) -> Iterator[Any]:
        """Yield the first batch and the others, and close the source at the end; see `reader` for `warns`."""
        stated = len(self.tabulator.unread)  # columns that the schema names already
        with self.source:
            held = [first]  # without a reference of this function, its memory is free after the caller used it
            del first
            yield held.pop()
            yield from batches
        for path, why in list(self.tabulator.unread.items())[stated:] if warns else ():  # those added since
            warnings.warn(f"null: {path}: {why}", UnreadWarning, stacklevel=2)

    def _streamed(self, rows: int) -> tuple[Tabulator, Iterator[Any]] | None:
        """Return the batches of a list at which the reader stops; None for a list that is read as a whole."""
        steps = self.path.split(".")
        read = self.specification.paused(steps)
        if read is None:
            return None
        root = self.specification.model.schemas[self.specification.id]
        field: Described | None = None
        for step in steps:
            type = root if field is None else field.value_kind.type  # type: ignore[union-attr]  # `paused` found structures
            field = next(one for one in type.seq if one.id == step)
        assert field is not None
        tabulator = Tabulator(field, self.where.size)
        return tabulator, self._read(read, tabulator, rows)

    def _read(self, read: Any, tabulator: Tabulator, rows: int) -> Iterator[Any]:
        """Yield record batches of at most `rows` rows, from the reader `read`, which pauses at the list.

        Raises `ExhumeError` for data that does not fit.
        """
        data = mapped(self.source)
        try:
            try:
                read(self._view(data), *self.arguments)
            except Paused as found:
                for batch in found.batches(data, self.path, rows):
                    yield tabulator.batch(batch)
        except ExhumeError:
            raise
        except RAISED as error:
            raise refused(error, self.where) from error

    def _view(self, data: Any) -> Any:
        """Return bytes as readers take them: compiled ones need a buffer, not a mapped file."""
        return data if self.specification.native is None or isinstance(data, bytes) else memoryview(data)

    def columns(self) -> Any:
        """Return the rows as columns, without objects.  Raises `SpecificationError` if they have none."""
        read = self.specification.paused(self.path.split("."))
        try:
            try:
                if read is not None:
                    read(self._view(mapped(self.source)), *self.arguments)
            except Paused as found:
                rows = found.columns(self.path)
                if rows is not None:
                    return rows
            # A list of the readers (`Rows`) reads its columns now; None if those of this file have none.
            _, rows = self._whole()
            rows = rows._if_any() if hasattr(type(rows), "_is_compiled") else rows  # noqa: SLF001 - of ours
        except ExhumeError:
            raise
        except RAISED as error:
            raise refused(error, self.where) from error
        if not hasattr(rows, "resume_at"):  # an attribute of columns only
            raise SpecificationError("its rows have no columns, only objects", field_path=self.path)
        return rows

    def _sliced(self, rows: int) -> tuple[Tabulator, Iterator[Any]]:
        """Return the batches of a list that is read as a whole."""
        field, whole = self._whole()
        tabulator = Tabulator(field, self.where.size)
        batch = self._batch(tabulator, whole)
        return tabulator, (batch.slice(at, rows) for at in range(0, batch.num_rows, rows))

    def _batch(self, tabulator: Tabulator, rows: Any) -> Any:
        """Return rows as an Arrow batch; errors of generated code get the place of the file."""
        try:
            return tabulator.batch(rows)
        except ExhumeError:
            raise
        except RAISED as error:
            raise refused(error, self.where) from error

    def _whole(self) -> tuple[Described, Any]:
        """Return the field that the path leads to, and its value.  Raises `EntryNotFoundError` if it leads to no
        list.
        """
        value = self.specification.read_source(self.source, *self.arguments)
        field: Described | None = None
        for name, index in _STEP.findall(self.path):
            # Each step is a field of a structure, and perhaps an element of it.
            type = self.specification.type_of(value)
            field = next((one for one in (*type.fields(), *type.params) if one.id == name), None) if type else None
            if field is None or (index and not field.repeat):
                known = [one.id for one in type.fields()] if type else []
                raise EntryNotFoundError(f"no such field{hint(name, known)}", field_path=self.path)
            try:
                value = getattr(value, slot(name))
            except RAISED as error:
                raise refused(error, self.where) from error
            if index:
                if value is None or int(index) >= len(value):
                    raise EntryNotFoundError(f"no element {index}", field_path=self.path)
                value, field = value[int(index)], None  # an element is not a repeated field
        # What `_STEP` does not match is left: the path is not one of names and indexes.
        if field is None or not field.repeat or _STEP.sub("", self.path).strip("."):
            raise EntryNotFoundError("the field is not repeated", field_path=self.path)
        return field, value if value is not None else []


def json_pieces(specification: Readers, value: Any, omitted: dict[str, str], path: str = "") -> Iterator[str]:
    """Yield the text of a value in JSON, in chunks: fields and computed instances; enums by name, lists as arrays.

    A value that cannot be read is null.  `omitted` gets the reasons why values are missing or null, by their path;
    `path` is that of the value, the same for all elements of a list.
    """
    type = specification.type_of(value)
    if type is not None:
        lead, here = "{", f"{path}." if path else ""
        for field in type.fields():
            if field.value is None and field.instance:
                omitted[f"{here}{field.id}"] = ELSEWHERE
                continue
            yield f"{lead}{dumps(field.id)}:"
            one = _value(partial(getattr, value, slot(field.id)), omitted, f"{here}{field.id}")
            if isinstance(field.kind, SequenceKind) and isinstance(one, (bytes, memoryview)):
                one = list(one)  # numbers of one byte each
            yield from json_pieces(specification, one, omitted, f"{here}{field.id}")
            lead = ","
        yield "}" if lead == "," else "{}"
    elif isinstance(value, enum.Enum):
        yield dumps(value.name)
    elif isinstance(value, (bytes, memoryview)):
        yield from dump_pieces(bytes(value))
    elif value is None or isinstance(value, (bool, int, float, str)):
        yield from dump_pieces(value)
    elif hasattr(value, "__getitem__") and hasattr(value, "__len__"):
        # A list, perhaps one that reads its elements on request.
        lead = "["
        for index in range(len(value)):
            yield lead
            one = _value(partial(getitem, value, index), omitted, path)
            yield from json_pieces(specification, one, omitted, path)
            lead = ","
        yield "]" if lead == "," else "[]"
    else:
        yield dumps(shorten(value, SHOWN))


def _value(read: Callable[[], Any], omitted: dict[str, str], path: str) -> Any:
    """Return the value that `read` returns, or None if it fails; `omitted` gets the reason."""
    try:
        return read()
    except RAISED as error:
        omitted.setdefault(path, unread(error))
        return None


def outline_of(specification: Readers, value: Any) -> tuple[dict[str, Any], bool]:
    """Return the outline of a structure, and whether all of its values could be read.

    An outline has the values of the structure and of those directly in it, by path, and the lengths of lists, such as
    `{"fields": {"header.version": 2}, "lists": {"rows": 12}}`.
    """
    found: dict[str, Any] = {"fields": {}, "lists": {}}
    whole = _describe(specification, value, "", found, depth=2)
    return {key: one for key, one in found.items() if one}, whole


def _describe(specification: Readers, value: Any, path: str, found: dict[str, Any], depth: int) -> bool:
    """Add the values of a structure to `found["fields"]`, by path, and the lengths of lists to `found["lists"]`.

    `depth` is the number of levels of structures that are described, including this one.  Return whether all of them
    could be read.
    """
    type, whole = specification.type_of(value), True
    for field in type.fields() if type is not None else ():
        name = f"{path}{field.id}"
        try:
            one = getattr(value, slot(field.id))
        except RAISED as error:
            found["fields"][name] = unread(error)
            whole = False
            continue
        # An absent field.
        if one is None:
            continue
        if field.repeat:
            found["lists"][name] = len(one)
        elif specification.type_of(one) is not None:
            if depth > 1:
                whole &= _describe(specification, one, f"{name}.", found, depth - 1)
        elif isinstance(one, enum.Enum):
            found["fields"][name] = one.name
        elif isinstance(one, (bytes, memoryview)):
            found["fields"][name] = shorten(bytes(one[:SHOWN]), SHOWN)
        elif isinstance(one, (bool, int, float, str)):
            found["fields"][name] = shorten(one, SHOWN) if isinstance(one, str) else one
    return whole
