"""Decompressing on a second core what a search is about to need.

Half of what a selective search does is decompression, in calls that leave the interpreter free: while one packed
stream is searched the next one is decompressed, and so is the dictionary that the first match will be printed with.
The work is the same, the wait for it is shorter.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from exhume.errors import ExhumeError
from exhume.parallel import cpu_count

if TYPE_CHECKING:
    from exhume.formats.clp_s.reader import ClpSArchive

WORTHWHILE: Final = 1 << 18
"""Bytes, decompressed (streams) or stored (dictionaries), below which a thread costs more than it saves."""


class ReadAhead:
    """What is asked for is made in the background and kept by the archive; whatever fails there fails again in front.

    Does nothing where there is one core, and for remote archives, of which only what is needed is fetched.
    """

    def __init__(self, archive: ClpSArchive) -> None:
        self._archive = archive
        self._enabled = not archive.source.is_remote and cpu_count() > 1

    def stream(self, stream_id: int) -> None:
        """Decompresses a packed stream."""
        archive = self._archive
        if self._enabled and archive.table_metadata.streams[stream_id].size >= WORTHWHILE:
            self._start(lambda: archive.stream_payload(stream_id))

    def variables(self) -> None:
        """Reads the variable dictionary, as nearly every record is printed with it."""
        archive = self._archive
        try:
            large = archive.file_entry("/var.dict").size >= WORTHWHILE
        except ExhumeError:
            return
        if self._enabled and large:
            self._start(lambda: archive.texts.escaped_variables)

    @staticmethod
    def _start(work: Callable[[], object]) -> None:
        def run() -> None:
            try:
                work()
            except (ExhumeError, MemoryError):
                return  # it is raised again where the result is asked for

        threading.Thread(target=run, name="exhume read-ahead", daemon=True).start()
