"""Threads that need the dictionaries of one archive at the same time."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

from exhume.formats.clp_s.read.columns import Texts
from exhume.formats.clp_s.reader import open_archive
from exhume.io.local import FileSource


class SlowLock:
    """A lock whose owner is slow, so that two threads always meet."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()
        time.sleep(0.05)

    def __exit__(self, *exc: object) -> None:
        self._lock.release()


def test_dictionaries_that_lean_on_each_other_are_read_by_two_threads(samples: Path) -> None:
    path = next(iter(sorted((samples / "clp_s").glob("*.clps"))))
    with open_archive(FileSource(path)) as archive:
        texts: Any = Texts(archive)
        texts.lock = SlowLock()
        found: dict[str, Any] = {}
        threads = [
            threading.Thread(target=lambda name=name: found.__setitem__(name, getattr(texts, name)), daemon=True)
            for name in ("escaped_variables", "variables", "escaped_variables", "log_types")
        ]
        for thread in threads:
            thread.start()
            time.sleep(0.01)
        for thread in threads:
            thread.join(20)
        assert not any(thread.is_alive() for thread in threads)
        assert found["variables"] is texts.variables
        assert found["escaped_variables"] is texts.escaped_variables
