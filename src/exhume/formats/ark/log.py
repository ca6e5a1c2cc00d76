"""An Ark log: what its manifest states, its channels, and its split files, each opened when it is used.

A manifest has sections; a section has columns (channels that share split files and a codec) and a filter, which hides
messages of the sections after it.  A split file has an index and messages.  An amendment adds a section, so a name may
be declared several times.  An object is what the specification calls a channel's declaration; it has a GUID.

Spec: ark_log.txt; decisions on what it leaves open: `docs/formats/ark.md`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Unpack, get_args

from exhume.archive import RecordArchive
from exhume.choices import check_choice, hint
from exhume.errors import EntryNotFoundError, Span, UnsupportedOperationError
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
from exhume.formats.ark.splits import ObjectStatistics, Split, SplitFacts
from exhume.io.caching import cached_property
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.tabular.arrow import TableOptions
from exhume.tuples import NamedTuple

OnMissing = Literal["error", "skip"]
"""What to do about a split file that is missing."""


class ChannelTableOptions(TableOptions, total=False):
    """Options of `ArkTable.to_arrow` in addition to those of all formats."""

    start_ns: int | None
    stop_ns: int | None
    latched: bool
    skip_damaged: bool
    jobs: int


@dataclass(frozen=True)
class Channel:
    """A channel as it is declared by one column (its name) of one section (its number)."""

    declaration: ObjectDeclaration
    column: str
    compression: str
    """Codec of the column."""
    section: int
    log: ArkLog | None = field(default=None, repr=False, compare=False)
    """The log that returned the channel, for `to_arrow`."""

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

    def to_arrow(self, **options: Unpack[ChannelTableOptions]) -> Any:
        """The channel's messages as a table; see `ArkArchive.to_arrow`.  Works only for channels that a log returned.

        Raises `UnsupportedOperationError` for a channel that belongs to no open log.
        """
        if self.log is None:
            raise UnsupportedOperationError("the channel belongs to no open log", format="ark", actual=self.name)
        return self.log.to_arrow(topic=self.identifier, **options)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The Arrow PyCapsule protocol: DuckDB, Polars, pandas and pyarrow read the channel through it."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)


class SplitReference(NamedTuple):
    """A split file as one column of one section names it; `rank` is its place in reading order."""

    rank: int
    section: int
    column: Column
    declaration: SplitDeclaration
    acceptance: Acceptance
    """The filters of the sections before, which apply to it."""
    channels: dict[str, Channel]
    """Those of the column, by GUID."""

    @property
    def identifier(self) -> str:
        """The split's GUID."""
        return self.declaration.identifier

    @property
    def is_hidden(self) -> bool:
        """Whether the manifest's statistics say that the filters hide all of it."""
        times = [
            (statistics.minimum_ns, statistics.maximum_ns)
            for statistics in self.declaration.statistics
            if statistics.item_count
        ]
        accepted = self.acceptance
        if times and all(low is not None and high is not None for low, high in times):
            low = min(low for low, _ in times if low is not None)
            high = max(high for _, high in times if high is not None)
            if high < accepted.minimum_ns or low > accepted.maximum_ns:
                return True
        return bool(self.channels) and not any(
            accepted.accepts_name(channel.name) for channel in self.channels.values()
        )


class ArkLog(RecordArchive):
    """The parts of a log that queries, `verify`, sections and tables read; `reader.ArkArchive` adds these.

    Thread-safe; nothing is written.
    """

    format = "ark"
    _offered = "channel channels manifest messages metadata missing_splits"  # besides those of all archives

    if TYPE_CHECKING:  # `reader.ArkArchive` has it

        def to_arrow(self, *, topic: Any = None, **options: Unpack[ChannelTableOptions]) -> Any: ...

    def __init__(
        self,
        source: Source | Tree,
        manifest_source: Source | None,
        root: Tree | None,
        loaded: LoadedManifest,
        *,
        limits: Limits = DEFAULT_LIMITS,
        on_missing: OnMissing = "error",
    ) -> None:
        """Open the log of a loaded manifest.

        `manifest_source` is the file of the manifest, None for a split without one; `root` is the directory of the
        splits; `on_missing` is what to do if one is missing.
        """
        super().__init__(source, limits=limits)
        self.manifest_source = manifest_source
        self.root = root
        self.loaded = loaded
        check_choice("on_missing", on_missing, get_args(OnMissing))
        self.on_missing = on_missing
        self.single_split: Source | None = None
        """The split file that was opened without a manifest; None for a whole log."""
        self._facts: dict[str, SplitFacts] = {}  # by GUID: what `Split.scan` found
        self._names: dict[str, str | None] = {}  # results of `split_name`

    # Facts from the manifest

    @property
    def manifest(self) -> Manifest:
        """The manifest's contents."""
        return self.loaded.manifest

    @property
    def schema_source(self) -> str:
        """The schema that the manifest was read with: its embedded registry, built-in schemas, or the salvage scan."""
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
        times: dict[str, int] = {}  # how often each split is named
        here: set[tuple[int, str]] = set()  # pairs of section and split, which may occur once
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
        """Return every use of a split, as `references` does, but without its checks."""
        out: list[SplitReference] = []
        for number, section in enumerate(self.manifest.sections):
            acceptance = self.acceptance(number)
            for column in section.columns:
                channels = {
                    each.identifier: Channel(each, column.name, column.compression, number) for each in column.objects
                }
                out += [
                    # `len(out)` is still that before this column.
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
        """Announce which splits will be opened soon."""
        if self.root is not None:
            unknown = [one for one in dict.fromkeys(identifiers) if one not in self._facts]
            self.root.will_read([self._names.get(one) or f"splits/{one}" for one in unknown])

    def open_split(self, identifier: str) -> Split:
        """Open a split file; the caller closes its `source`.

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
        """Close what `open_split` opened."""
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
