"""dissect.target: a loader that maps the members of a CAF chunk or a bundle as the root of a target.

`exhume_dissect.py` registers it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dissect.target.filesystem import VirtualFile, VirtualFilesystem
from dissect.target.helpers.logging import get_logger
from dissect.target.loader import Loader

from exhume.archive import Entry, MemberArchive
from exhume.engines.identify import open_archive, recognize
from exhume.errors import ExhumeError
from exhume.io.files import safe_parts
from exhume.io.opening import open_target
from exhume.registry import get_format

log: Any = get_logger(__name__)


class MemberFile(VirtualFile):  # type: ignore[misc]
    """A member, opened when it is read."""

    def __init__(self, fs: Any, path: str, archive: MemberArchive, entry: Entry) -> None:
        super().__init__(fs, path, entry)
        self._archive = archive

    def open(self) -> Any:
        """The member as a binary file."""
        return self._archive.open_member(self.entry.name or "")


class ArchiveLoader(Loader):  # type: ignore[misc]
    """Opens archives of members; archives of records have no files that dissect could map."""

    @staticmethod
    def detect(path: Path) -> bool:
        """Whether the file or directory is an archive of members."""
        try:
            with open_target(path) as opened:
                return get_format(recognize(opened)).content == "members"
        except (ExhumeError, OSError):
            return False

    def map(self, target: Any) -> None:
        """Map every member; one whose name would lead elsewhere is left out with a warning.

        Raises `ExhumeError` for an archive that cannot be read.
        """
        archive = open_archive(self.path)
        assert isinstance(archive, MemberArchive)
        files = VirtualFilesystem()
        for entry in archive.entries():
            name = entry.name or ""
            try:
                path = "/".join(safe_parts(name.rstrip("/")))
            except ExhumeError as error:
                log.warning("left out: %s", error)
                continue
            if entry.kind == "directory":
                files.makedirs(path)
            else:
                files.map_file_entry(path, MemberFile(files, path, archive, entry))
        target.filesystems.add(files)
        target.fs.mount("/", files)
