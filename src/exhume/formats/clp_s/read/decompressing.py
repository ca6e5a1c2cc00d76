"""Decompressing on a second core the data that a search, or a table of Arrow, will need next.

Half of what a selective search does is decompression, in calls that leave the interpreter free: while one packed
stream is searched the next one is decompressed, and so is the dictionary that the first match will be printed with.
The work is the same, the wait for it is shorter.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Final

from exhume.errors import ExhumeError
from exhume.formats.clp_s.layout import DICTIONARY_HEAD
from exhume.formats.clp_s.read.windows import has_windows
from exhume.limits import cpu_count

if TYPE_CHECKING:
    from exhume.formats.clp_s.read.places import Place
    from exhume.formats.clp_s.read.tables import Table
    from exhume.formats.clp_s.reader import ClpSArchive

WORTHWHILE: Final = 1 << 18
"""Bytes, decompressed (streams) or stored (dictionaries), below which a thread costs more than it saves."""


class Ahead:
    """Decompresses in the background; the archive keeps the result, and a failure occurs again when it is needed.

    One core is left to the caller: when all others are busy, the work is done when its result is needed.  Nothing is
    done for remote archives, of which only what is needed is fetched.
    """

    def __init__(self, archive: ClpSArchive) -> None:
        self._archive = archive
        self._cores = threading.Semaphore(0 if archive.source.cost.wait else cpu_count() - 1)

    def table(self, table: Table, nodes: Collection[int] | None = None) -> bool:
        """Decompresses a table: its stream, or what the columns of these nodes take of it.

        False, and nothing done, for one that is not held as a whole.
        """
        archive, stream_id = self._archive, table.entry.stream_id
        if table.entry.problem is None and archive.table_metadata.streams[stream_id].size >= WORTHWHILE:
            if has_windows(table):
                return False
            self._start(lambda: archive.stream_place(stream_id), lambda: table.load(nodes))
        return True

    def variables(self) -> None:
        """Reads the variable dictionary, as nearly every record is printed with it."""
        archive = self._archive
        try:
            entry = archive.file_entry("/var.dict")
        except ExhumeError:
            return
        if entry.size >= WORTHWHILE:
            self._start(lambda: entry.part(DICTIONARY_HEAD), lambda: archive.texts.escaped_variables)

    def _start(self, place: Callable[[], Place], work: Callable[[], object]) -> None:
        """Does the work on what is stored there."""

        def run() -> None:
            try:
                work()
            except (ExhumeError, MemoryError):
                return  # it is raised again where the result is asked for
            finally:
                self._archive.forget(where)
                self._cores.release()

        if not self._cores.acquire(blocking=False):
            return
        try:
            # Read here: the thread would lose the interpreter while it reads, and wait 5 ms to have it back.
            where = place()
            self._archive.fetch(where)
        except (ExhumeError, MemoryError):
            self._cores.release()
            return
        threading.Thread(target=run, name="exhume read-ahead", daemon=True).start()
