"""Opening a manifest file, a log root, a lone split file, or a directory that holds several logs: those are listed and
verified; one has to be named to be read.

A log root is a directory with `manifests/` and `splits/`; file names are GUIDs.  The manifest declares objects
(channels: name, type, GUID, schema registry) in columns, which name split files; splits have the messages.  A manifest
is read with the first schema that fits (the ladder, `SchemaSource`): its own, a built-in one, or none.

In the last case, every split that its bytes name is attached (`attach_splits`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from posixpath import basename, dirname
from typing import TYPE_CHECKING, Any, Unpack

from exhume.archive import Archive, Entry, Progress, no_progress
from exhume.choices import passes_on
from exhume.errors import ExhumeError, Span
from exhume.findings import Finding, deduplicated
from exhume.formats.ark.attach import attach_splits, embeds_schema
from exhume.formats.ark.checks import NOT_A_LOG, SEVERAL_LOGS
from exhume.formats.ark.layout import (
    HEADER_WINDOW,
    parse_split_header,
)
from exhume.formats.ark.manifest import (
    Column,
    LoadedManifest,
    Manifest,
    ManifestSection,
    ObjectDeclaration,
    SchemaSource,
    SplitDeclaration,
)
from exhume.formats.ark.manifest_load import load_manifest
from exhume.formats.ark.names import find_manifests
from exhume.formats.ark.probe import is_split
from exhume.formats.ark.rbuf.layout import (
    NIL,
    is_object,
)
from exhume.formats.ark.reader import ArkArchive
from exhume.io.opening import parent_tree
from exhume.io.parallel import map_ordered
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.layout.sections import Section, SectionMap
from exhume.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from exhume.formats.ark.info import DirectoryInfo
    from exhume.tabular.arrow import TableOptions


def neighbors(source: Source) -> Tree | None:
    """The log root around a manifest file: two levels up, or the directory itself if it has `splits/`."""
    for levels in (2, 1):
        tree = parent_tree(source, levels)
        if tree is not None and tree.names("splits"):
            return tree
    return parent_tree(source, 2)


def open_in_tree(tree: Tree, name: str, *, limits: Limits = DEFAULT_LIMITS, **options: Any) -> ArkArchive:
    """The log whose manifest is the file `name` (`…manifests/<guid>`) of a tree."""
    folder = dirname(dirname(name))
    root = tree.subtree(folder) if folder else tree
    return open_manifest(tree.source(name), tree, root, limits=limits, **options)


def open_manifest(
    source: Source,
    opened: Source | Tree,
    root: Tree | None,
    *,
    limits: Limits = DEFAULT_LIMITS,
    salvage: bool = False,
    unfinished: bool = False,
    on_missing: Any = "error",
    by_manifest: bool = False,
) -> ArkArchive:
    """A reader for the manifest (or split) in `source`; `opened` becomes the `source` of the archive.

    `root` is the directory with the splits (None: found around `source`); for the options see `open_archive`.  Raises
    the rule for a file that is not a manifest.
    """
    span = source.span(0, source.size)
    if not source.size:
        raise NOT_A_LOG.error("an empty file", span=span)
    # A manifest is read as a whole, a split is not.
    limits.check("structure_size", source.size if not is_split(source) else 0, span)
    if is_split(source):
        return open_lone_split(source, opened, limits=limits)
    if root is None:
        root = neighbors(source)
    data = source.read_at(0, source.size)
    if not is_object(data[0]):
        raise NOT_A_LOG.error(span=source.span(0, 1), expected="an rbuf object header", actual=f"0x{data[0]:02x}")
    try:
        loaded = load_manifest(data, span)
    except ExhumeError as error:
        attached = _last_source(data, span, root, error, salvaging=salvage)
        if attached is None:
            raise
        loaded = attached
    return ArkArchive(opened, source, root, loaded, limits=limits, on_missing=on_missing, by_manifest=by_manifest)


def _last_source(
    data: bytes, span: Span, root: Tree | None, error: ExhumeError, *, salvaging: bool
) -> LoadedManifest | None:
    """Return what `attach_splits` finds for a manifest whose reading failed with `error`, or None.

    Unless requested (`salvaging`), this is only tried where no schema is embedded: one with a schema is damaged.
    """
    if root is None or (embeds_schema(data) and not salvaging):
        return None
    return attach_splits(data, span, root, error)


def open_lone_split(source: Source, opened: Source | Tree, *, limits: Limits = DEFAULT_LIMITS) -> ArkArchive:
    """A split file without a manifest: its messages are bytes, and its channels are named by their GUIDs."""
    head = source.read_up_to(0, HEADER_WINDOW)
    header = parse_split_header(head, source.span(0, len(head)))
    objects = tuple(ObjectDeclaration(mapping.identifier, "", mapping.identifier) for mapping in header.mappings)
    column = Column(header.identifier, "none", objects, (SplitDeclaration(header.identifier),))
    manifest = Manifest(NIL, NIL, "", (ManifestSection((column,)),))
    loaded = LoadedManifest(manifest, SchemaSource.SPLIT)
    reader = ArkArchive(opened, None, None, loaded, limits=limits)
    reader.single_split = source
    return reader


class ArkLogSet(Archive):
    """Several logs below one directory; `open(guid)` returns one."""

    format = "ark"

    def __init__(
        self,
        tree: Tree,
        names: Sequence[str],
        *,
        limits: Limits = DEFAULT_LIMITS,
        options: dict[str, Any] | None = None,
    ) -> None:
        """Describe the logs whose manifests are `names` in `tree`; each is opened when it is read."""
        super().__init__(tree, limits=limits)
        self._tree = tree
        self.manifests: tuple[str, ...] = tuple(names)
        self._options = dict(options or {})

    def logs(self) -> Iterator[ArkArchive]:
        """Every log that can be opened, in the order of the manifests' names; the caller closes them."""
        for name in self.manifests:
            with suppress(ExhumeError):
                yield open_in_tree(self._tree, name, limits=self.limits, **self._options)

    def channels(self) -> list[Any]:
        """Raise ARK-108: the directory has several logs."""
        raise self.several()

    @property
    def manifest(self) -> Any:
        """Raises ARK-108: the directory has several logs."""
        raise self.several()

    def messages(self, *args: object, **options: object) -> Iterator[Any]:
        """Raise ARK-108: the directory has several logs."""
        raise self.several()

    def to_arrow(self, **options: Unpack[TableOptions]) -> Any:
        """Raise ARK-108: the directory has several logs."""
        raise self.several()

    def arrow_tables(self, **options: Unpack[TableOptions]) -> Mapping[str, Callable[[], Any]]:
        """Raise ARK-108: the directory has several logs."""
        raise self.several()

    def several(self) -> ExhumeError:
        """The error of rule ARK-108, which names the logs."""
        return SEVERAL_LOGS.error(
            span=Span(self._tree.name, 0, 0),
            actual=", ".join(basename(name) for name in self.manifests[:8]),
        )

    def info(self) -> DirectoryInfo:
        """Describe every log of the directory."""
        from exhume.formats.ark.info import DirectoryInfo  # only `info` needs it

        self._tree.will_read(self.manifests)
        jobs = self._tree.cost.parallel_reads  # opening a log waits for reads of its splits
        found = list(map_ordered(self._row, self.manifests, jobs))
        return DirectoryInfo(tuple(row for row, _ in found), tuple(error for _, errors in found for error in errors))

    def _row(self, name: str) -> tuple[dict[str, Any], Sequence[Finding]]:
        """Return one log as a row of the listing, and the problems of reading it."""
        try:
            log = open_in_tree(self._tree, name, limits=self.limits, **self._options)
        except ExhumeError as error:
            return {"log": basename(name), "manifest": name, "problem": error.message}, [Finding.from_error(error)]
        info = log.counted()
        if log.manifest_source is not None:
            log.manifest_source.close()
        row = {
            "log": info.log_identifier,
            "manifest": name,
            "name": info.name,
            "common_identifier": info.common_identifier,
            "messages": info.count,
            "minimum_ns": info.minimum_ns,
            "maximum_ns": info.maximum_ns,
            "splits": info.split_count,
            "missing_splits": len(info.missing_splits),
        }
        return row, info.findings

    def entries(self) -> Iterator[Entry]:
        """Yield each log with the facts that `info` has about it."""
        for row in self.info().logs:
            yield Entry(kind="log", name=row["log"], details={key: value for key, value in row.items() if key != "log"})

    def sections(self, *, jobs: int = 1) -> SectionMap:
        """Return the sections of all logs in one map; files that logs share have those of each.

        Gaps are left out, since what one log does not use may be another's: `SectionMap` finds the common ones.
        """
        files: dict[str, tuple[Source, list[Section]]] = {}
        for log in self.logs():
            found = log.sections(jobs=jobs)
            for name, source in found.sources.items():
                files.setdefault(
                    name,
                    (source, [section for section in found if section.span.source == name and section.kind != "gap"]),
                )
        return SectionMap(files.values())

    def verify(self, *, quick: bool = False, jobs: int = 1, progress: Progress = no_progress) -> Iterator[Finding]:
        return deduplicated(self._findings(quick, jobs, progress))

    def _findings(self, quick: bool, jobs: int, progress: Progress) -> Iterator[Finding]:
        """Verify each log, then report the split files that none of them uses."""
        from exhume.formats.ark.verify import unreferenced_splits, verify_log

        used: set[str] = set()
        for name in self.manifests:
            try:
                log = open_in_tree(self._tree, name, limits=self.limits, **self._options)
                used |= {split.identifier for _, _, split in log.manifest.splits()}
            except ExhumeError as error:
                yield Finding.from_error(error)
                continue
            yield from verify_log(log, quick=quick, jobs=jobs, progress=progress, check_unreferenced=False)
        for folder in sorted({dirname(dirname(name)) for name in self.manifests}):
            yield from unreferenced_splits(self._tree.subtree(folder) if folder else self._tree, used)


@passes_on(open_manifest)
def open_archive(
    source: Source | Tree, *, limits: Limits = DEFAULT_LIMITS, log: str | None = None, **options: Any
) -> Archive:
    """The `Archive` of what was opened.

    A directory with several logs opens as an `ArkLogSet`, unless `log` (GUID or the start of one) selects one.
    `options`: `on_missing="skip"` reads past missing splits; `salvage=True` attaches splits by their GUIDs even where a
    registry is embedded; `unfinished=True` takes a manifest that a writer did not close; `by_manifest=True` counts
    messages by the statistics in the manifest instead of the index of each split, which over a network is a request for
    each split.  Raises the errors of rules ARK-101, ARK-108, ARK-348 and those of the manifest.
    """
    if isinstance(source, Source):
        return open_manifest(source, source, None, limits=limits, **options)
    found = find_manifests(source, unfinished=bool(options.get("unfinished")))
    if log is not None:
        wanted = log.lower()
        found = [name for name in found if basename(name).lower().startswith(wanted)]
    if not found:
        detail = "no manifest of that GUID" if log is not None else ""
        if log is None and find_manifests(source, unfinished=True):
            detail = "only a manifest that its writer did not finish: it can be repaired"
        raise NOT_A_LOG.error(detail, span=Span(source.name, 0, 0), actual=log)
    if len(found) > 1:
        if log is not None:
            raise SEVERAL_LOGS.error(
                span=Span(source.name, 0, 0), actual=", ".join(basename(name) for name in found[:8])
            )
        return ArkLogSet(source, found, limits=limits, options=options)
    return open_in_tree(source, found[0], limits=limits, **options)
