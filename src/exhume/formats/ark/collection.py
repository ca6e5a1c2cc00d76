"""Opening a manifest file, a log root, a lone split file, or a directory that holds several logs: those are listed and
verified; one has to be named to be read.

A log root is a directory with `manifests/` and `splits/`; file names are GUIDs.  The manifest declares objects
(channels: name, type, GUID, schema registry) in columns, which name split files; splits have the messages.  A manifest
is read with the first schema that fits (the ladder, `SchemaSource`): its own, a built-in one, or none.

In the last case, every split that its bytes name is attached (`attach_splits`).  Split headers name their objects; the
declarations of those objects are found in the manifest by their GUIDs, so that names, types and registries survive even
where the manifest as a whole cannot be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from posixpath import basename, dirname
from typing import TYPE_CHECKING, Any, Final, Unpack

from exhume.archive import Archive, Entry, Info, Progress, no_progress
from exhume.choices import passes_on
from exhume.counts import counted
from exhume.errors import ExhumeError, Span
from exhume.findings import Finding, deduplicated
from exhume.formats.ark.checks import NOT_A_LOG, SCHEMA_SOURCE, SEVERAL_LOGS
from exhume.formats.ark.layout import (
    CODEC_NAMES,
    HEADER_WINDOW,
    MANIFEST_FIELDS,
    parse_file_footer,
    parse_message_footer,
    parse_split_header,
    read_counted,
    read_first_group,
    read_guid_at,
    read_text_before,
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
from exhume.formats.ark.names import find_manifests, is_guid
from exhume.formats.ark.probe import is_split
from exhume.formats.ark.rbuf.layout import (
    COUNT_SIZE,
    GUID_SIZE,
    HEADER_WITH_GROUPS,
    HEADERS,
    NIL,
    guid_bytes,
    is_object,
    pack_count,
)
from exhume.formats.ark.reader import ArkArchive
from exhume.formats.ark.splits import Split
from exhume.io.opening import parent_tree
from exhume.io.parallel import map_ordered
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.layout.sections import Section, SectionMap
from exhume.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
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


@dataclass(frozen=True, slots=True)
class DirectoryInfo(Info):
    """The logs of a directory, and problems of reading them."""

    logs: tuple[dict[str, Any], ...]
    errors: tuple[Finding, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self.errors

    def to_dict(self) -> dict[str, Any]:
        return {"logs": [dict(each) for each in self.logs]}


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
        for row in self.info().logs:
            yield Entry(kind="log", name=row["log"], details={k: v for k, v in row.items() if k != "log"})

    def sections(self, *, jobs: int = 1) -> SectionMap:
        """Return the sections of all logs in one map; files that logs share have those of each.

        Gaps are left out, since what one log does not use may be another's: `SectionMap` finds the common ones.
        """
        files: dict[str, tuple[Source, list[Section]]] = {}
        for log in self.logs():
            found = log.sections(jobs=jobs)
            for name, source in found.sources.items():
                files.setdefault(name, (source, [s for s in found if s.span.source == name and s.kind != "gap"]))
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


MAX_NAME: Final = 4096
"""Bytes of the longest name that the search for declarations takes for one."""
MAX_REGISTRY: Final = 64 << 20
"""Bytes of the largest schema registry that it takes for one."""


def embeds_schema(data: bytes) -> bool:
    """Whether a manifest file has a trailer with a schema in it."""
    footer = parse_file_footer(data)
    return footer is not None and footer.len_trailer > 0


def attach_splits(data: bytes, span: Span, root: Tree, error: ExhumeError | None) -> LoadedManifest | None:
    """A manifest made of the splits below `root` whose GUIDs occur in `data`; None when there are none."""
    columns: list[tuple[int, Column]] = []
    for name in root.names("splits"):
        last = basename(name)
        if not is_guid(last):
            continue
        at = data.find(guid_bytes(last))
        if at < 0:
            continue
        with root.source(name) as source:
            column = column_of_split(source, last.lower(), data)
        if column is not None:
            columns.append((at, column))
    if not columns:
        return None
    # Splits of one column follow each other in the manifest.
    columns.sort(key=lambda item: item[0])  # by the offset of the split's GUID
    joined: list[Column] = []
    for _, column in columns:
        if joined and joined[-1].objects == column.objects and joined[-1].compression == column.compression:
            joined[-1] = Column(column.name, column.compression, column.objects, joined[-1].splits + column.splits)
        else:
            joined.append(column)
    # The fields at the start of the manifest, as far as they can be read: the first GUID only if the second is there.
    common = read_guid_at(data, MANIFEST_FIELDS.common_identifier)
    identifier = (read_guid_at(data, MANIFEST_FIELDS.log_identifier) if common else None) or NIL
    manifest = Manifest(identifier, common or NIL, _name(data), (ManifestSection(tuple(joined), identifier),))
    findings = [Finding.from_error(error)] if error is not None else []
    count = counted(sum(len(column.splits) for column in joined), "splits")
    detail = f"{SchemaSource.SALVAGE}: {count}, filters are not known"
    findings.append(SCHEMA_SOURCE.finding(detail, span=span))
    return LoadedManifest(manifest, SchemaSource.SALVAGE, tuple(findings))


def column_of_split(source: Source, identifier: str, data: bytes) -> Column | None:
    """The column that a split belongs to, by its header and the manifest's bytes; None when it is not a split."""
    head = source.read_up_to(0, HEADER_WINDOW)
    try:
        header = parse_split_header(head, source.span(0, len(head)))
    except ExhumeError:
        return None
    objects = tuple(find_declaration(data, mapping.identifier) for mapping in header.mappings)
    return Column(f"split {identifier}", guess_compression(source), objects, (SplitDeclaration(header.identifier),))


def find_declaration(data: bytes, identifier: str) -> ObjectDeclaration:
    """The declaration of an object, found by its GUID: name and type precede the GUID, and the registry follows it.

    An object whose declaration is not found is named by its GUID and has no registry.
    """
    raw = guid_bytes(identifier)
    at = data.find(raw)
    while at >= 0:
        found = _declaration_around(data, at, identifier)
        if found is not None:
            return found
        at = data.find(raw, at + 1)
    return ObjectDeclaration(identifier, "", identifier)


def _declaration_around(data: bytes, at: int, identifier: str) -> ObjectDeclaration | None:
    """Return the object declaration whose GUID is stored at `at`; None if the bytes are not one.

    The name and the type are the strings before it, the schema registry is the string after it.
    """
    # Read backwards from the GUID: type, name, header of the object; then forwards.
    type_at, type_ = _text_before(data, at)
    if type_ is None:
        return None
    name_at, name = _text_before(data, type_at)
    if name is None or name_at < 1 or data[name_at - 1] not in HEADERS:
        return None
    found = read_counted(data, at + GUID_SIZE)
    if found is None or len(found[0]) > MAX_REGISTRY:
        return None
    text, end = found
    try:
        registry = text.decode()
    except UnicodeDecodeError:
        registry = ""
    # Group 0 has one boolean, whether the channel is latched.
    number, body = (data[name_at - 1] == HEADER_WITH_GROUPS and read_first_group(data, end)) or (None, b"")
    latched = number == 0 and len(body) == 1 and any(body)
    return ObjectDeclaration(name, type_, identifier, registry, latched)


def _text_before(data: bytes, end: int) -> tuple[int, str | None]:
    """The position and the text of the counted string that ends at `end`: the count before it must be its length.

    If there are several such strings, the shortest is taken; if there is none, the text is None.
    """
    for size in range(min(MAX_NAME, end - COUNT_SIZE) + 1):
        at = end - size - COUNT_SIZE
        text = read_text_before(data, at, end) if data.startswith(pack_count(size), at) else None
        # An empty string only where another string can precede it: four zeros are common.
        if text is not None and text.isprintable() and (size or at >= COUNT_SIZE):
            return at, text
    return 0, None


def _name(data: bytes) -> str:
    """The name of the log, which follows its two GUIDs; empty if it cannot be read."""
    found = read_counted(data, MANIFEST_FIELDS.common_identifier[1])
    return "" if found is None or len(found[0]) > MAX_NAME else found[0].decode("utf-8", "replace")


def guess_compression(source: Source) -> str:
    """Return the codec of a split: compressed messages all end in a footer; if one does not, none is compressed.

    Only messages that are completely in the file count.
    """
    found: set[int] = set()
    try:
        split = Split(source)
        split.check_index()
        for entry in split.read_index(0, min(16, split.header.item_count)):  # a sample of the messages
            start, size = int(entry["ofs_data"]), int(entry["len_data"])
            if start + size <= source.size:
                found.add(parse_message_footer(source.read_at(start, size), source.span(0, 0)).codec)
    except ExhumeError:
        return "none"
    if not found or not found <= set(CODEC_NAMES):
        return "none"
    # Footers may say that a message is stored as it is (0).  If all do, any codec will do: each message has its own.
    return next((CODEC_NAMES[number] for number in sorted(found) if number), "lz4")
