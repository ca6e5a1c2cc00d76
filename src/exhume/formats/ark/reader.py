"""Reading whole Ark logs: manifest, channels, and messages merged over all splits in time order.

Spec: ark_log.txt; decisions on what it leaves open: `docs/formats/ark.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, get_args

from exhume.archive import Entry, Progress, RecordArchive, no_progress
from exhume.choices import check_choice, check_keywords, hint
from exhume.errors import EntryNotFoundError, ExhumeError, SourceError, Span, UnsupportedOperationError
from exhume.findings import Finding, deduplicated
from exhume.formats.ark.assumptions import MAXIMUM_SPLIT_REFERENCES
from exhume.formats.ark.checks import MISSING_SPLIT, SPLIT_REFERENCES, SPLIT_REPEATED
from exhume.formats.ark.filters import Acceptance
from exhume.formats.ark.manifest import (
    Column,
    LoadedManifest,
    Manifest,
    ObjectDeclaration,
    SchemaSource,
    SplitDeclaration,
)
from exhume.formats.ark.messages import ArkMessage
from exhume.formats.ark.query import OnError, Query, Topics
from exhume.formats.ark.splits import ObjectStatistics, Split, SplitFacts
from exhume.io.cached import cached_property
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from exhume.formats.ark.info import ArkInfo, ChannelInfo
    from exhume.layout.sections import SectionMap

OnMissing = Literal["error", "skip"]


@dataclass(frozen=True)
class Channel:
    """A channel as it is declared by one column of one section."""

    declaration: ObjectDeclaration
    column: str
    compression: str
    section: int
    log: ArkArchive | None = field(default=None, repr=False, compare=False)

    @property
    def name(self) -> str:
        """The channel's name."""
        return self.declaration.name

    @property
    def type(self) -> str:
        """Qualified name of its messages' type."""
        return self.declaration.type

    @property
    def identifier(self) -> str:
        """The channel's GUID, which split files refer to."""
        return self.declaration.identifier

    @property
    def latched(self) -> bool:
        """Whether the channel's last message is replayed at the beginning of any query."""
        return self.declaration.latched

    @cached_property
    def constants(self) -> dict[str, Any]:
        """The constant fields of the channel's type, which are not in the messages."""
        registry = self.declaration.registry
        return registry.schema(self.type).constants() if registry is not None else {}

    def to_arrow(self, **options: Any) -> Any:
        """The channel's messages as a table; see `ArkArchive.to_arrow`.  Works only for channels that a log returned.

        Raises `UnsupportedOperationError` for a channel that belongs to no open log.
        """
        if self.log is None:
            raise UnsupportedOperationError("the channel belongs to no open log", format="ark", actual=self.name)
        return self.log.to_arrow(topic=self.identifier, **options)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The Arrow PyCapsule protocol: DuckDB, Polars, pandas and pyarrow read the channel through it."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)


@dataclass(frozen=True)
class SplitReference:
    """A split file as one column of one section names it; `rank` is its place in reading order."""

    rank: int
    section: int
    column: Column
    declaration: SplitDeclaration
    acceptance: Acceptance
    channels: dict[str, Channel] = field(repr=False)

    @property
    def identifier(self) -> str:
        """The split's GUID."""
        return self.declaration.identifier

    @property
    def is_hidden(self) -> bool:
        """Whether the manifest's statistics say that the filters hide all of it."""
        times = [(s.minimum_ns, s.maximum_ns) for s in self.declaration.statistics if s.count]
        accepted = self.acceptance
        if times and all(low is not None and high is not None for low, high in times):
            low = min(low for low, _ in times if low is not None)
            high = max(high for _, high in times if high is not None)
            if high < accepted.minimum_ns or low > accepted.maximum_ns:
                return True
        return bool(self.channels) and not any(accepted.accepts_name(c.name) for c in self.channels.values())


class ArkArchive(RecordArchive):
    """One log.  Thread-safe; nothing is written."""

    format = "ark"

    def __init__(
        self,
        source: Source | Tree,
        manifest_source: Source | None,
        root: Tree | None,
        loaded: LoadedManifest,
        *,
        limits: Limits = DEFAULT_LIMITS,
        on_missing: OnMissing = "error",
        by_manifest: bool = False,
    ) -> None:
        super().__init__(source, limits=limits)
        self.manifest_source = manifest_source
        self.root = root
        self.loaded = loaded
        check_choice("on_missing", on_missing, get_args(OnMissing))
        self.on_missing = on_missing
        self.single_split: Source | None = None
        self._facts: dict[str, SplitFacts] = {}
        self._names: dict[str, str | None] = {}
        self._by_manifest = by_manifest
        self._info: ArkInfo | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """For worker processes, which open the files again.  Raises `TypeError` where they cannot."""
        loaded = self.loaded._replace(value=None, registry=None, file=None)  # only writing needs them
        files = (self.source, self.manifest_source, self.root)
        return _open_again, (files, loaded, self.limits, self.on_missing)

    # Facts from the manifest

    @property
    def manifest(self) -> Manifest:
        """The manifest's contents."""
        return self.loaded.manifest

    @property
    def schema_source(self) -> str:
        """How the manifest was read: with its embedded registry, built-in schemas, or the salvage scan."""
        return str(self.loaded.schema_source)

    @property
    def metadata(self) -> dict[str, str]:
        """The log's metadata: strings, usually JSON."""
        return dict(self.manifest.metadata)

    @cached_property
    def references(self) -> tuple[SplitReference, ...]:
        """Every use of a split, in reading order.

        Raises the errors of rules ARK-342 and ARK-504 for splits that are named too often, ARK-421 for filters that are
        not understood.
        """
        where = self.manifest_span
        times: dict[str, int] = {}
        here: set[tuple[int, str]] = set()
        out = self.all_references()
        for each in out:
            each.acceptance.check(where)
            if (each.section, each.identifier) in here:
                raise SPLIT_REPEATED.error(span=where, actual=each.identifier)
            here.add((each.section, each.identifier))
            times[each.identifier] = times.get(each.identifier, 0) + 1
            if times[each.identifier] > MAXIMUM_SPLIT_REFERENCES:
                raise SPLIT_REFERENCES.error(
                    span=where, expected=f"at most {MAXIMUM_SPLIT_REFERENCES}", actual=each.identifier
                )
        return tuple(out)

    def all_references(self) -> list[SplitReference]:
        """The same as `references`, without the checks."""
        out: list[SplitReference] = []
        for number, section in enumerate(self.manifest.sections):
            acceptance = self.acceptance(number)
            for column in section.columns:
                channels = {
                    each.identifier: Channel(each, column.name, column.compression, number) for each in column.objects
                }
                out += [
                    SplitReference(len(out) + place, number, column, split, acceptance, channels)
                    for place, split in enumerate(column.splits)
                ]
        return out

    def acceptance(self, section: int) -> Acceptance:
        """The filters of the sections before one, which decide what it may show."""
        return Acceptance(each.filter for each in self.manifest.sections[:section])

    @property
    def manifest_span(self) -> Span:
        """The span of the manifest, or of the lone split that is read without one."""
        place = self.manifest_source or self.source
        return place.span(0, place.size) if isinstance(place, Source) else Span(place.name, 0, 0)

    def channels(self) -> list[Channel]:
        """Channels as the manifest declares them, in its order; one name may come several times (amendments)."""
        return [
            Channel(each, column.name, column.compression, number, self)
            for number, section in enumerate(self.manifest.sections)
            for column in section.columns
            for each in column.objects
        ]

    def channel(self, name: str) -> Channel:
        """The first channel of that name or GUID.  Raises `EntryNotFoundError`."""
        for channel in self.channels():
            if name in (channel.name, channel.identifier):
                return channel
        known = (channel.name for channel in self.channels())
        raise EntryNotFoundError(f"no such channel{hint(name, known)}", span=self.manifest_span, actual=name)

    # Split files

    def split_name(self, identifier: str) -> str | None:
        """The file name of a split below the root (either case of the GUID); None when it is missing."""
        if self.root is None:
            return None
        if identifier not in self._names:
            lower, upper = f"splits/{identifier}", f"splits/{identifier.upper()}"
            self._names[identifier] = next((name for name in (lower, upper) if self.root.exists(name)), None)
        return self._names[identifier]

    def is_missing(self, identifier: str) -> bool:
        """Whether the file of a split is missing."""
        return self.single_split is None and self.split_name(identifier) is None

    def will_read(self, identifiers: Iterable[str]) -> None:
        """Announces which splits will be opened soon."""
        if self.root is not None:
            unknown = [one for one in dict.fromkeys(identifiers) if one not in self._facts]
            self.root.will_read([self._names.get(one) or f"splits/{one}" for one in unknown])

    def open_split(self, identifier: str) -> Split:
        """Opens a split file; the caller closes its `source`.

        Raises the errors of rules ARK-340 (missing), ARK-320, ARK-102, ARK-103 (not that split).
        """
        source = self.split_source(identifier)
        try:
            return Split(source, identifier, self._facts.get(identifier))
        except BaseException:
            if source is not self.single_split:
                source.close()
            raise

    def split_source(self, identifier: str) -> Source:
        """The file of a split; the caller closes it.  Raises the error of rule ARK-340 when it is missing."""
        if self.single_split is not None:
            return self.single_split
        name = self.split_name(identifier)
        if name is None or self.root is None:
            raise MISSING_SPLIT.error(span=Span(f"splits/{identifier}", 0, 0), actual=identifier)
        return self.root.source(name)

    def release(self, split: Split) -> None:
        """Closes what `open_split` opened."""
        if split.source is not self.single_split:
            split.source.close()

    def facts(self, identifier: str) -> SplitFacts:
        """Header, time range and sortedness of a split; its index is scanned once."""
        found = self._facts.get(identifier)
        if found is None:
            split = self.open_split(identifier)
            try:
                found = self._facts[identifier] = split.scan()
            finally:
                self.release(split)
        return found

    def missing_splits(self) -> list[SplitReference]:
        """References to split files that are not there."""
        return [each for each in self.references if self.is_missing(each.identifier)]

    def readable(self, on_missing: OnMissing | None = None) -> list[SplitReference]:
        """The references to read.

        Raises the error of rule ARK-340 when a missing split could hold visible messages.
        """
        on_missing = on_missing or self.on_missing
        out = []
        for each in self.references:
            if self.is_missing(each.identifier):
                if on_missing == "error" and not each.is_hidden:
                    raise MISSING_SPLIT.error(
                        f"split {each.identifier} of column {each.column.name!r}",
                        span=Span(f"splits/{each.identifier}", 0, 0),
                    )
                continue
            out.append(each)
        return out

    # Messages

    def messages(
        self,
        topics: Topics = None,
        *,
        start_ns: int | None = None,
        stop_ns: int | None = None,
        latched: bool = True,
        decode: bool = True,
        reverse: bool = False,
        on_missing: OnMissing | None = None,
        on_error: OnError = "raise",
        findings: list[Finding] | None = None,
    ) -> Iterator[ArkMessage]:
        """Messages with `start_ns <= time < stop_ns`, merged over all columns and sections in time order.

        `topics` are channel names, globs or regular expressions (None: all).  With `latched`, a query that has a
        `start_ns` first yields the last earlier message of every latched channel, flagged, at its original time
        (`reverse`: at the end).  `decode=False` leaves `value` None.  Memory holds 8 MiB of messages and, for each
        split that covers the current time, one block of its index.

        `on_missing="skip"` reads past missing splits, `on_error="skip"` past damaged messages, adding what was skipped
        to `findings`.  Raises the error of the broken rule otherwise.
        """
        check_choice("on_error", on_error, get_args(OnError))
        check_choice("on_missing", on_missing or self.on_missing, get_args(OnMissing))
        found = self.portions(
            Query(self, topics, start_ns, stop_ns, decode, reverse, on_error, findings),
            on_missing,
            replays=latched and start_ns is not None,
        )
        return chain.from_iterable(found)  # no generator between a message and its reader

    def portions(self, query: Query, on_missing: OnMissing | None, *, replays: bool) -> Iterator[Iterable[Any]]:
        """The results of a query, in batches, one at a time in memory; `replays` latched messages as well."""
        references = self.readable(on_missing)
        if replays and not query.reverse:
            yield query.latched(references)
        yield from query.run(references)
        if replays and query.reverse:
            yield query.latched(references)

    def __iter__(self) -> Iterator[ArkMessage]:
        return self.messages()

    # Listings

    def channel_table(self) -> list[ChannelInfo]:
        """Channels with counts, rates, sizes and times after filters; no message is read."""
        return list(self.counted().channels)

    def counted(self) -> ArkInfo:
        """`info` by the indexes of splits; with `by_manifest`, only of splits whose statistics do not suffice."""
        info = self.info()
        if self._by_manifest and any(row.is_estimate for row in info.channels):
            from exhume.formats.ark.info import Trust, build_info

            return build_info(self, Trust.EXACT)
        return info

    def info(self) -> ArkInfo:
        """The log in numbers, from the index of each split.

        If the log was opened with `by_manifest`, the numbers are from the statistics in the manifest until `stats` has
        read the indexes; values that only the indexes have are marked as estimates, and `counted` reads them.
        """
        if self._info is None:
            from exhume.formats.ark.info import Trust, build_info

            self._info = build_info(self, Trust.ALL if self._by_manifest else Trust.NONE)
        return self._info

    def stats(self, *, jobs: int = 1) -> dict[str, Any]:
        """The values in the index of each split, or what is wrong with it."""
        if self._by_manifest:
            self._by_manifest, self._info = False, None
        self.will_read(reference.identifier for reference in self.references)
        return {"split_indexes": [self._index_row(reference) for reference in self.references]}

    def _index_row(self, reference: SplitReference) -> dict[str, Any]:
        row: dict[str, Any] = {
            "split": reference.identifier, "section": reference.section, "column": reference.column.name
        }  # fmt: skip
        try:
            facts = self.facts(reference.identifier)
        except SourceError:
            raise
        except ExhumeError as error:
            return {**row, "problem": error.message}
        return {
            **row,
            "size": facts.file_size,
            "messages": facts.item_count,
            "minimum_ns": facts.minimum_ns if facts.item_count else None,
            "maximum_ns": facts.maximum_ns if facts.item_count else None,
            "sorted": facts.is_sorted,
        }

    @property
    def is_sound(self) -> bool:
        """Whether the manifest was read with a schema, so that its statistics are those that were written."""
        return self.loaded.schema_source in (SchemaSource.EMBEDDED, SchemaSource.BUILT_IN)

    def statistics(self, reference: SplitReference) -> dict[str, ObjectStatistics]:
        """The visible messages of a split, after filters, per object GUID."""
        accepted = reference.acceptance
        split = self.open_split(reference.identifier)
        try:
            facts = self._facts.get(reference.identifier)
            if facts is None:
                facts = self._facts[reference.identifier] = split.scan()
            return split.statistics(facts, accepted.minimum_ns, accepted.maximum_ns)
        finally:
            self.release(split)

    def entries(self) -> Iterator[Entry]:
        for row in self.channel_table():
            yield Entry(
                kind="channel",
                name=row.name,
                stored_size=row.stored_size,
                details={key: value for key, value in row.to_dict().items() if key not in ("name", "stored_size")},
            )

    def sections(self, *, jobs: int = 1) -> SectionMap:
        from exhume.formats.ark.sections import section_map

        return self._sections_of(section_map)

    def _sections_of(self, build: Callable[[ArkArchive], SectionMap]) -> SectionMap:
        if self._section_map is None:
            self._section_map = build(self)
        return self._section_map

    _section_map: SectionMap | None = None

    def verify(self, *, quick: bool = False, jobs: int = 1, progress: Progress = no_progress) -> Iterator[Finding]:
        from exhume.formats.ark.verify import verify_log

        return deduplicated(verify_log(self, quick=quick, jobs=jobs, progress=progress))

    def to_arrow(self, **options: Any) -> Any:
        """One channel as a table with nested fields (`topic=`, `start_ns=`, `stop_ns=`, `columns=`, …).

        See `exhume.formats.ark.arrow.to_arrow`.
        """
        from exhume.formats.ark.arrow import to_arrow

        check_keywords("to_arrow()", options, to_arrow)
        return to_arrow(self, **options)

    def arrow_tables(self, *, topic: Topics = None, **options: Any) -> Mapping[str, Callable[[], Any]]:
        """The functions that make the reader of each requested channel, by table name."""
        from exhume.formats.ark.arrow import tables

        return {name: partial(table.to_arrow, **options) for name, table in tables(self, topic).items()}

    def read_arrow_tables(
        self, tables: Sequence[str], *, topic: Topics = None, **options: Any
    ) -> tuple[dict[str, Any], Callable[[], Iterator[tuple[str, Any]]]] | None:
        from exhume.formats.ark import arrow
        from exhume.formats.ark.multi_table import together

        found = arrow.tables(self, topic)
        return together(self, {name: found[name] for name in tables}, **options)

    def close(self) -> None:
        if self._section_map is not None:
            for source in self._section_map.sources.values():
                source.close()
            self._section_map = None
        if self.manifest_source is not None:
            self.manifest_source.close()
        super().close()


def _open_again(
    files: tuple[Source | Tree, Source | None, Tree | None],
    loaded: LoadedManifest,
    limits: Limits,
    on_missing: OnMissing,
) -> ArkArchive:
    return ArkArchive(*files, loaded, limits=limits, on_missing=on_missing)


__all__ = ["ArkArchive", "Channel", "SplitReference"]
