"""How much an extraction may write."""

from __future__ import annotations

import threading

from exhume.errors import OutputLimitError, Span
from exhume.limits import Limits


class Quota:
    """What may still be written; thread-safe."""

    def __init__(self, limits: Limits, span: Span) -> None:
        self._limits, self._span = limits, span
        self._files = self._bytes = 0
        self._lock = threading.Lock()

    def take(self, files: int, size: int) -> None:
        """Counts what will be written.  Raises `OutputLimitError` when that is too much."""
        with self._lock:
            self._files += files
            self._bytes += size
            for name, value in (("output_files", self._files), ("output_size", self._bytes)):
                if value > getattr(self._limits, name):
                    raise OutputLimitError(
                        f"limit {name} exceeded",
                        span=self._span,
                        expected=f"at most {getattr(self._limits, name)}",
                        actual=value,
                    )
