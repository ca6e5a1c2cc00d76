"""The extract engine: members of any `MemberArchive` into a directory or tar stream, refusals reported, never fatal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from exhume.archive import Entry, MemberArchive, Progress, no_progress
from exhume.errors import ExhumeError, OutputExistsError, SourceError
from exhume.output import OutputTree, TarSink
from exhume.parallel import map_ordered


@dataclass(slots=True)
class ExtractReport:
    """What was written and what was not, with the reason."""

    extracted: int = 0
    bytes: int = 0
    refused: list[tuple[str, ExhumeError]] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether every chosen member was written."""
        return not self.refused

    def to_dict(self) -> dict[str, Any]:
        """The JSON form documented for `exhume extract --json`."""
        return {
            "extracted": self.extracted,
            "bytes": self.bytes,
            "refused": [
                {
                    "name": name,
                    "code": error.code,
                    "message": error.message,
                    "span": error.span and error.span.to_dict(),
                }
                for name, error in self.refused
            ],
        }


def extract(
    archive: MemberArchive,
    output: OutputTree | TarSink,
    names: Iterable[str] | None = None,
    *,
    jobs: int = 1,
    progress: Progress = no_progress,
) -> ExtractReport:
    """Writes members (all of them, or `names`) to `output`.

    Members whose name is unsafe, whose bytes are damaged, or that clash with what is there are left out and reported;
    failures of the output itself (disk full) are raised.
    """
    chosen = list(archive.names() if names is None else names)
    report = ExtractReport()

    def one(name: str) -> tuple[str, int, ExhumeError | None]:
        try:
            return name, _write(archive, output, archive.stat(name)), None
        except ExhumeError as error:
            if isinstance(error, SourceError) and not isinstance(error, OutputExistsError):
                raise
            return name, 0, error

    for done, (name, size, error) in enumerate(map_ordered(one, chosen, 1 if isinstance(output, TarSink) else jobs), 1):
        if error is None:
            report.extracted += 1
            report.bytes += size
        else:
            report.refused.append((name, error))
        progress(done, len(chosen), "members")
    return report


def _write(archive: MemberArchive, output: OutputTree | TarSink, entry: Entry) -> int:
    name = entry.name or ""
    if entry.kind == "directory":
        output.make_directory(name.rstrip("/"))
        return 0
    if isinstance(output, TarSink):
        return output.write(name, entry.size or 0, archive.iter_member(name))
    stored = archive.stored_range(name)
    if stored is not None:
        return output.copy(name, *stored)
    return output.write(name, archive.iter_member(name))
