"""What the targets for archives of members share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import repeat

from exhume.archive import Entry, MemberArchive, Progress
from exhume.engines.extract import read_ahead
from exhume.errors import ExhumeError, OutputExistsError, SourceError
from exhume.tabular.report import ExportReport


def stored_order(archive: MemberArchive) -> list[str]:
    """Names in the order of their bytes, so that the input is read sequentially and repacking keeps the order."""
    places = {
        e.name: (e.source or "", e.offset, e.size or 0) for e in archive.entries() if e.name and e.offset is not None
    }
    names = list(archive.names())
    return sorted(names, key=lambda name: (name not in places, places.get(name, ("", 0, 0))))


def each_member(
    archive: MemberArchive, report: ExportReport, progress: Progress, jobs: int | None = None
) -> Iterator[tuple[Entry, memoryview | None]]:
    """Every readable member, with the bytes of a small one, read by `jobs` threads; None: none are wanted.

    The others are counted as lost, with a note each.
    """
    names = stored_order(archive)
    found: Iterable[memoryview | None] = repeat(None, len(names)) if jobs is None else read_ahead(archive, names, jobs)
    for done, (name, data) in enumerate(zip(names, found, strict=True)):
        progress(done, len(names), "members")
        try:
            entry = archive.stat(name)
        except ExhumeError as error:
            lose(report, error)
            continue
        yield entry, data
    progress(len(names), len(names), "members")


def lose(report: ExportReport, error: ExhumeError) -> None:
    """Count a member as lost; raise the error again when it is not the member's fault."""
    if isinstance(error, SourceError) and not isinstance(error, OutputExistsError):
        raise error
    report.lost["members"] += 1
    report.notes.append(str(error))
