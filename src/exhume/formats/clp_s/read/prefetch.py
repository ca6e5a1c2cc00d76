"""Prefetch, in other threads, of the data that a search or an Arrow table will need next.

Half of what a selective search does is decompression, in calls that leave the interpreter free: while one packed
stream is searched the next one is decompressed, and so is the dictionary that the first match will be printed with.
The work is the same, the wait for it is shorter.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from exhume.errors import ExhumeError
from exhume.formats.clp_s.read.windows import has_windows, open_windows
from exhume.limits import cpu_count

if TYPE_CHECKING:
    from exhume.formats.clp_s.read.tables import Table, TableArchive

WORTHWHILE: Final = 1 << 18
"""Bytes, decompressed (streams) or stored (dictionaries), below which a thread costs more than it saves."""


class Prefetcher:
    """Decompresses in the background; the archive keeps the result, and a failure occurs again when it is needed.

    One of the `jobs` is left to the caller: when all others are busy, the work is done when its result is needed.
    Nothing is prefetched for remote archives: only the needed bytes are fetched.
    """

    def __init__(self, archive: TableArchive, jobs: int) -> None:
        self._archive = archive
        self._free = threading.Semaphore(0 if archive.source.cost.wait else (jobs or cpu_count()) - 1)

    def table(self, table: Table, nodes: Collection[int] | None = None, *, variables: bool = False) -> None:
        """Decompress a table: its stream, or what the columns of these nodes take of it.

        For a dictionary that is not kept as a whole, the places of its frames are found, and then, if they will be
        needed, the `variables` are read.
        """
        archive, entry = self._archive, table.entry
        if entry.problem is None and archive.table_metadata.streams[entry.stream_id].size >= WORTHWHILE:
            if has_windows(table):
                self._start(partial(open_windows, table), *[self._read_variables] * variables)
            else:
                self._start(partial(table.load, nodes))

    def variables(self) -> None:
        """Read the variable dictionary, as nearly every record is printed with it."""
        with suppress(ExhumeError):
            if self._archive.file_entry("/var.dict").size >= WORTHWHILE:
                self._start(self._read_variables)

    def _read_variables(self) -> None:
        self._archive.texts.escaped_variables  # noqa: B018 - reads it

    def _start(self, *works: Callable[[], object]) -> None:
        def run() -> None:
            try:
                for work in works:
                    with suppress(ExhumeError, MemoryError):  # it is raised again where the result is asked for
                        work()
            finally:
                self._free.release()

        if self._free.acquire(blocking=False):
            threading.Thread(target=run, name="exhume read-ahead", daemon=True).start()
