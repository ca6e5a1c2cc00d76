"""Reading whole Ark logs: manifest, channels, and messages merged over all splits in time order.

A split is a file of messages with an index of their times; the manifest lists the splits of a log, and usually how many
messages of each channel are in them (statistics).  Most work is in other modules, which are imported when needed.

Spec: ark_log.txt; decisions on what it leaves open: `docs/formats/ark.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

from exhume.archive import Entry, Progress, no_progress
from exhume.choices import check_keywords
from exhume.errors import ExhumeError, SourceError
from exhume.findings import Finding, deduplicated
from exhume.formats.ark.log import ArkLog, ChannelTableOptions, OnMissing, SplitReference
from exhume.formats.ark.manifest import LoadedManifest
from exhume.formats.ark.messages import ArkMessage
from exhume.formats.ark.query import OnError, Topics, messages
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from exhume.formats.ark.arrow import ArkTableOptions
    from exhume.formats.ark.info import ArkInfo, ChannelInfo
    from exhume.layout.sections import SectionMap


class ArkArchive(ArkLog):
    """One log.  Thread-safe; nothing is written."""

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
        """Open the log of a loaded manifest; with `by_manifest`, count messages by its statistics (see `info`).

        `manifest_source` is the file of the manifest, None for a split without one; `root` has the splits.
        """
        super().__init__(source, manifest_source, root, loaded, limits=limits, on_missing=on_missing)
        self._by_manifest = by_manifest
        self._info: ArkInfo | None = None  # result of `info`

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the log for worker processes, which open the files again.  Raises `TypeError` where they cannot."""
        loaded = self.loaded._replace(value=None, registry=None, file=None)  # only writing needs them
        files = (self.source, self.manifest_source, self.root)
        return _open_again, (files, loaded, self.limits, self.on_missing)

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

        `on_missing="skip"` reads past missing splits, `on_error="skip"` past damaged messages, and `"limit"` past
        those above a limit, adding what was skipped to `findings`.  Raises the error of the broken rule otherwise.
        """
        return messages(
            self,
            topics,
            start_ns=start_ns,
            stop_ns=stop_ns,
            latched=latched,
            decode=decode,
            reverse=reverse,
            on_missing=on_missing,
            on_error=on_error,
            findings=findings,
        )

    def __iter__(self) -> Iterator[ArkMessage]:
        return self.messages()

    # Listings

    def channel_table(self) -> list[ChannelInfo]:
        """Channels with counts, rates, sizes and times after filters; no message is read."""
        return list(self.counted().channels)

    def counted(self) -> ArkInfo:
        """`info` by the indexes of splits; with `by_manifest`, only of splits whose statistics do not suffice."""
        from exhume.formats.ark.info import StatisticsTrust, build_info

        info = self.info()
        if self._by_manifest and any(row.is_estimate for row in info.channels):
            return build_info(self, StatisticsTrust.EXACT)
        return info

    def info(self) -> ArkInfo:
        """The log in numbers, from the index of each split.

        If the log was opened with `by_manifest`, the numbers are from the statistics in the manifest until `stats` has
        read the indexes; values that only the indexes have are marked as estimates, and `counted` reads them.
        """
        from exhume.formats.ark.info import StatisticsTrust, build_info

        if self._info is None:
            self._info = build_info(self, StatisticsTrust.ALL if self._by_manifest else StatisticsTrust.NONE)
        return self._info

    def stats(self, *, jobs: int = 1) -> dict[str, Any]:
        """The values in the index of each split, or the problem with it."""
        if self._by_manifest:
            self._by_manifest, self._info = False, None
        self.will_read(reference.identifier for reference in self.references)
        return {"split_indexes": [self._index_row(reference) for reference in self.references]}

    def _index_row(self, reference: SplitReference) -> dict[str, Any]:
        """Return the row of a split for `stats`; it has `problem` instead of numbers if the split is unreadable."""
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

    def entries(self) -> Iterator[Entry]:
        """Yield one entry per channel."""
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
        """The map of sections, built once; `close` closes the files that it opened."""
        if self._section_map is None:
            self._section_map = build(self)
        return self._section_map

    _section_map: SectionMap | None = None

    def verify(self, *, quick: bool = False, jobs: int = 1, progress: Progress = no_progress) -> Iterator[Finding]:
        from exhume.formats.ark.verify import verify_log

        return deduplicated(verify_log(self, quick=quick, jobs=jobs, progress=progress))

    def to_arrow(self, **options: Unpack[ArkTableOptions]) -> Any:
        """One channel as a table with nested fields; see `exhume.formats.ark.arrow.to_arrow`.

        Options: `columns`, `batch_rows`, `losses`, `start_ns`, `stop_ns`, `latched`, `skip_damaged`, `jobs`, `topic`.
        """
        from exhume.formats.ark.arrow import to_arrow

        check_keywords("to_arrow()", options, to_arrow)
        return to_arrow(self, **options)

    if TYPE_CHECKING:  # with the options of the format

        def to_dataset(self, *, cache_bytes: int | None = None, **options: Unpack[ArkTableOptions]) -> Any: ...

    def arrow_tables(
        self, *, topic: Topics = None, **options: Unpack[ChannelTableOptions]
    ) -> Mapping[str, Callable[[], Any]]:
        """The functions that make the reader of each requested channel, by table name."""
        from exhume.formats.ark.arrow import tables

        return {name: partial(table.to_arrow, **options) for name, table in tables(self, topic).items()}

    def read_arrow_tables(
        self, tables: Sequence[str], *, topic: Topics = None, **options: Unpack[ChannelTableOptions]
    ) -> tuple[dict[str, Any], Callable[[], Iterator[tuple[str, Any]]]] | None:
        """Return the schemas of these channel tables, and a function that reads them together in one pass."""
        from exhume.formats.ark import arrow
        from exhume.formats.ark.multi_table import together

        found = arrow.tables(self, topic)
        return together(self, {name: found[name] for name in tables}, **options)

    def close(self) -> None:
        """Close the log, its manifest and the splits that sections opened."""
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
    """Open the same log in another process."""
    return ArkArchive(*files, loaded, limits=limits, on_missing=on_missing)
