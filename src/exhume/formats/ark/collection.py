"""A directory that holds several logs: they are listed and verified; one has to be named to be read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from exhume.archive import Archive, Entry, Info, Progress, no_progress
from exhume.choices import passes_on
from exhume.errors import ExhumeError, Span
from exhume.findings import Finding, deduplicated
from exhume.formats.ark.checks import NOT_A_LOG, SEVERAL_LOGS
from exhume.formats.ark.names import find_manifests
from exhume.formats.ark.opening import open_in_tree, open_manifest
from exhume.formats.ark.reader import ArkArchive
from exhume.io.parallel import map_ordered
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.layout.sections import Section, SectionMap
from exhume.limits import DEFAULT_LIMITS, Limits


@dataclass(frozen=True, slots=True)
class DirectoryInfo(Info):
    """The logs of a directory."""

    logs: tuple[dict[str, Any], ...]

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
        super().__init__(tree, limits=limits)
        self._tree = tree
        self.manifests = tuple(names)
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

    def messages(self, *args: Any, **options: Any) -> Iterator[Any]:
        """Raise ARK-108: the directory has several logs."""
        raise self.several()

    def to_arrow(self, **options: Any) -> Any:
        """Raise ARK-108: the directory has several logs."""
        raise self.several()

    def arrow_tables(self, **options: Any) -> Mapping[str, Callable[[], Any]]:
        """Raise ARK-108: the directory has several logs."""
        raise self.several()

    def several(self) -> ExhumeError:
        """The error of rule ARK-108, which names the logs."""
        return SEVERAL_LOGS.error(
            span=Span(self._tree.name, 0, 0),
            actual=", ".join(PurePosixPath(name).name for name in self.manifests[:8]),
        )

    def info(self) -> DirectoryInfo:
        self._tree.will_read(self.manifests)
        jobs = self._tree.cost.together  # each log waits for its own splits
        return DirectoryInfo(tuple(map_ordered(self._row, self.manifests, jobs)))

    def _row(self, name: str) -> dict[str, Any]:
        """One log as a row of the listing."""
        try:
            log = open_in_tree(self._tree, name, limits=self.limits, **self._options)
        except ExhumeError as error:
            return {"log": PurePosixPath(name).name, "manifest": name, "problem": error.message}
        info = log.counted()
        log.manifest_source.close() if log.manifest_source is not None else None
        return {
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

    def entries(self) -> Iterator[Entry]:
        for row in self.info().logs:
            yield Entry(kind="log", name=row["log"], details={k: v for k, v in row.items() if k != "log"})

    def sections(self, *, jobs: int = 1) -> SectionMap:
        files: dict[str, tuple[Source, list[Section]]] = {}
        for log in self.logs():
            found = log.sections(jobs=jobs)
            for name, source in found.sources.items():
                files.setdefault(name, (source, [s for s in found if s.span.source == name and s.kind != "gap"]))
        return SectionMap(files.values())

    def verify(self, *, quick: bool = False, jobs: int = 1, progress: Progress = no_progress) -> Iterator[Finding]:
        return deduplicated(self._findings(quick, jobs, progress))

    def _findings(self, quick: bool, jobs: int, progress: Progress) -> Iterator[Finding]:
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
        roots = {PurePosixPath(name).parent.parent.as_posix() for name in self.manifests}
        for folder in sorted(roots):
            yield from unreferenced_splits(self._tree if folder == "." else self._tree.subtree(folder), used)


@passes_on(open_manifest)
def open_archive(
    source: Source | Tree, *, limits: Limits = DEFAULT_LIMITS, log: str | None = None, **options: Any
) -> Archive:
    """The `Archive` of what was opened.

    A directory with several logs opens as an `ArkLogSet`, unless `log` (GUID or the start of one) selects one.
    `options`: `on_missing="skip"` reads past missing splits; `salvage=True` uses the last rung of the manifest ladder
    even where a registry is embedded; `unfinished=True` takes a manifest that a writer did not close;
    `by_manifest=True` counts messages by the statistics in the manifest instead of the index of each split, which over
    a network is a request for each split.  Raises the
    errors of rules ARK-101, ARK-108, ARK-348 and those of the manifest.
    """
    if isinstance(source, Source):
        return open_manifest(source, source, None, limits=limits, **options)
    found = find_manifests(source, unfinished=bool(options.get("unfinished")))
    if log is not None:
        wanted = log.lower()
        found = [name for name in found if PurePosixPath(name).name.lower().startswith(wanted)]
    if not found:
        detail = "no manifest of that GUID" if log is not None else ""
        if log is None and find_manifests(source, unfinished=True):
            detail = "only a manifest that its writer did not finish: it can be repaired"
        raise NOT_A_LOG.error(detail, span=Span(source.name, 0, 0), actual=log)
    if len(found) > 1:
        if log is not None:
            raise SEVERAL_LOGS.error(
                span=Span(source.name, 0, 0), actual=", ".join(PurePosixPath(name).name for name in found[:8])
            )
        return ArkLogSet(source, found, limits=limits, options=options)
    return open_in_tree(source, found[0], limits=limits, **options)
