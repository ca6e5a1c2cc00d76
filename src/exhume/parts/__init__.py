"""Reading an archive in parts: what a format's `parts` module offers, and partitions, which other processes read.

A partition is a picklable unit of reading of a few hundred bytes: where the archive is, and which part of it to read.
It opens the archive for itself and reads only its own bytes.  `Archive.partitions` plans those of one open archive,
`exhume.distributed.partitions` those of many.

A format that can be read in parts names a module (`Format.parts`: its own, or `members` or `stream` here) with

- `plan(archive, size, options) -> Iterator[Part]`: parts of about `size` stored bytes each (None: a single part), which
  together give every record (or member) once, in the archive's order where possible
- `items(archive, part, options) -> Iterator[Any]`: the records of one part, which reads its own bytes and little else
- `table(archive, part, options) -> pyarrow.RecordBatchReader`: the same as a table

and may have `TAKES` (the names of the options that `items` has and `table` has not), `last_key(archive) -> bytes`
(where parts have keys) and `PARTS_LACK_COLUMNS = True` (where the table of a part has fewer columns than that of the
whole).

The argument `part` is a `Part.selection`, a small picklable tuple; `()` means the whole archive.  `options` are those
of reading, by name (`ReadingOptions`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from exhume.choices import check_keywords
from exhume.errors import QueryError, Span, UnsupportedOperationError
from exhume.late import resolve
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.redaction import redact
from exhume.registry import get_format
from exhume.tabular.arrow import MemberTableOptions, member_table

if TYPE_CHECKING:
    import exhume

Selection = tuple[Any, ...]
"""Which part of an archive to read, in terms of its format: `()` for all of it."""

PARTITION_SIZE = 64 << 20
"""Stored bytes of a partition: seconds of work, and some hundred megabytes decompressed."""

Options = tuple[tuple[str, Any], ...]
"""Options by name, as pairs."""

Topics = str | re.Pattern[str] | Iterable[str | re.Pattern[str]]
"""Names of topics of Ark logs, or patterns for them."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of an archive: how to find it, about how many stored bytes it has, and the keys that bound it, if any.

    `first` and `stop` bound the keys of sorted formats: first <= key < stop; None for an open end.
    """

    selection: Selection = ()
    size: int = 0
    first: bytes | None = None
    stop: bytes | None = None


def ranges(sizes: Iterable[int], size: int | None) -> Iterator[tuple[int, int, int]]:
    """Divide items of the given sizes into half-open ranges of about `size` bytes, as `(first, stop, bytes)`.

    With None as `size`, there is a single range.
    """
    first = held = 0
    count = 0
    for count, one in enumerate(sizes, 1):
        held += one
        if size is not None and held >= size:
            yield first, count, held
            first, held = count, 0
    if count > first:
        yield first, count, held


class ReadingOptions(MemberTableOptions, total=False):
    """The options of reading parts, of all formats together: each format takes its own.

    They mean what they mean in the format's `to_arrow` and record methods; see `exhume.distributed.partitions`.
    """

    all_versions: bool
    begin_ms: int | None
    data: bool
    decode: bool
    dictionaries: bool
    end_ms: int | None
    findings: list[Any] | None
    errors: Literal["raise", "replace"]
    ignore_case: bool
    latched: bool
    on_error: Literal["raise", "skip"]
    on_missing: Literal["error", "skip"]
    ordered: bool
    prefix: bytes | None
    query: str | None
    reverse: bool
    sequence: int | None
    skip_damaged: bool
    split: bool | Mapping[str, Any]
    start: bytes | None
    start_ns: int | None
    stop: bytes | None
    stop_ns: int | None
    text: bool
    topic: Topics | None
    topics: Topics | None
    widest: int | None
    with_source: bool


@dataclass(frozen=True, slots=True)
class Partition:
    """One part of an archive: `selection` in the format's terms (`()`: all of it), `size` in stored bytes, roughly.

    `first` and `stop` bound its keys where the format is sorted.  Options are pairs, so that a partition is hashable.
    """

    target: str
    """Path or URL of the archive."""
    format: str | None = None
    selection: Selection = ()
    size: int = 0
    first: bytes | None = None
    stop: bytes | None = None
    options: Options = ()
    """Options of reading."""
    opening: Options = ()
    """Options of opening the archive."""
    storage: Options = ()
    """Storage options, for URLs."""
    limits: Limits | None = None

    def __repr__(self) -> str:
        """The call that makes it, without storage options and the secrets of a URL."""
        return f"Partition({redact(self.target)!r}, {self.format!r}, {self.selection!r})"

    def open(self) -> exhume.Archive:
        """The archive; the caller closes it.  Propagates errors from `exhume.open`."""
        import exhume

        archive: exhume.Archive = exhume.open(
            self.target,
            format=self.format,
            limits=self.limits or DEFAULT_LIMITS,
            storage_options=dict(self.storage),
            **dict(self.opening),
        )
        return archive

    def records(self) -> Iterator[Any]:
        """Its records: bytes of zs, events (dicts) of clp-s, `ArkMessage`s, rows (dicts) of members and of leveldb."""
        with self.open() as archive:
            yield from parts_of(archive).items(archive, self.selection, dict(self.options))

    def to_arrow(self) -> Any:
        """Its rows as a `pyarrow.Table` (extra `arrow`)."""
        with self.open() as archive:
            return parts_of(archive).table(archive, self.selection, dict(self.options)).read_all()


def plan(archive: exhume.Archive, template: Partition, target: str, size: int | None) -> list[Partition]:
    """The partitions of an open archive that `target` opens again; everything else is taken from `template`.

    Raises `UnsupportedOperationError` for formats without parts, `TypeError` for an option that reading does not have,
    `QueryError` for a size below 1, and whatever reading the index raises.
    """
    if size is not None and size < 1:
        raise QueryError("size: a part has at least 1 byte", actual=size)
    parts, options = parts_of(archive), dict(template.options)
    if options:
        # Options are those of the tables of the format, and further ones of its records (`TAKES`).
        described = get_format(archive.format)
        tables = resolve(described.package, "arrow:to_arrow") if described.content == "records" else member_table
        check_keywords(f"partitions() of {described.id} archives", options, tables, also=getattr(parts, "TAKES", ()))
    found = parts.plan(archive, size, options)
    return [with_part(template, target, archive.format, part) for part in found]


def partitions_of(
    archive: exhume.Archive,
    size: int | None,
    opening: Mapping[str, Any],
    storage_options: Mapping[str, Any],
    options: Mapping[str, Any],
) -> list[Partition]:
    """The partitions of an open archive; see `Archive.partitions`.

    Raises `UnsupportedOperationError` for an archive that no path or URL leads to.
    """
    target = archive.source.location
    if target is None:
        raise UnsupportedOperationError(
            "only archives opened by path or URL can be read in partitions", span=Span(archive.name, 0, 0)
        )
    template = Partition(
        target,
        archive.format,
        options=tuple(sorted(options.items())),
        opening=tuple(sorted(opening.items())),
        storage=tuple(sorted(storage_options.items())),
        limits=None if archive.limits == DEFAULT_LIMITS else archive.limits,
    )
    return plan(archive, template, target, size)


def with_part(template: Partition, target: str, format: str | None, part: Part) -> Partition:
    """A partition of `target` with the range of `part` and all options of `template`."""
    return Partition(
        target,
        format,
        part.selection,
        part.size,
        part.first,
        part.stop,
        template.options,
        template.opening,
        template.storage,
        template.limits,
    )


def parts_of(archive: exhume.Archive) -> Any:
    """The format's `parts` module.  Raises `UnsupportedOperationError` when it has none."""
    described = get_format(archive.format)
    if not described.has("parts"):
        raise UnsupportedOperationError(f"{archive.format} archives cannot be read in parts")
    return described.hook("parts")
