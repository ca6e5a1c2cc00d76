"""dissect.target: the file for `--plugin-path` or `DISSECT_PLUGINS`, which dissect loads under its own name.

It registers the loader and has the function `exhume.archives`, which lists the archives among a target's files.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dissect.target.helpers.record import TargetRecordDescriptor
from dissect.target.loader import register
from dissect.target.plugin import Plugin, arg, export

from exhume.engines.identify import identify
from exhume.errors import ExhumeError
from exhume.io.local import FileObjectSource

register("exhume.plugins.dissect_target", "ArchiveLoader", internal=False)

ArchiveRecord: Any = TargetRecordDescriptor(
    "exhume/archive",
    [("path", "path"), ("filesize", "size"), ("string", "format"), ("float", "confidence"), ("string[]", "evidence")],
)


class ExhumePlugin(Plugin):  # type: ignore[misc]
    """Archives that exhume recognizes."""

    __namespace__ = "exhume"

    def check_compatible(self) -> None:
        """Does nothing: every target may hold archives."""

    @arg("-p", "--path", default="/", help="path on the target below which to look")  # type: ignore[untyped-decorator]
    @export(record=ArchiveRecord)  # type: ignore[untyped-decorator]
    def archives(self, path: str = "/") -> Iterator[Any]:
        """Yield a record for every file that is an archive, by its first and last bytes."""
        for _, _, files in self.target.fs.walk_ext(path):
            for entry in files:
                try:
                    size = entry.lstat().st_size
                    with entry.open() as opened:
                        found = identify(FileObjectSource(opened))[:1]
                except (ExhumeError, OSError, EOFError) as error:
                    self.target.log.warning("cannot read %s: %s", entry, error)
                    continue
                except Exception as error:  # dissect's own errors have no common base class
                    self.target.log.warning("cannot open %s: %s", entry, error)
                    continue
                for best in found:
                    yield ArchiveRecord(
                        path=self.target.fs.path(entry.path),
                        size=size,
                        format=best.format,
                        confidence=best.confidence,
                        evidence=list(best.evidence),
                        _target=self.target,
                    )
