"""A local file that another program is still writing, read as `tail -F` reads it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

from exhume.io.local import open_untouched
from exhume.io.source import source_error

CHUNK = 1 << 16
"""Bytes that are read at once."""

INTERVAL_S = 0.2
"""Seconds between two looks at a file that has not grown."""


class GrowingFile:
    """What a file contains and what is appended to it.

    Attributes:
        replaced: Why reading ended: `replaced` by another file of its name, or `truncated`; None until then.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.replaced: str | None = None

    def chunks(self) -> Iterator[bytes]:
        """The bytes from the beginning, then what is appended; an empty chunk whenever everything was read.

        Ends when the file becomes shorter, and when another file has its name, after the rest of the old one.  A name
        without a file is waited for, with an empty chunk before each wait.  Raises `SourceError`.
        """
        while (fd := self._open()) is None:
            yield b""
            self.wait(INTERVAL_S)
        at = 0
        is_last = False
        try:
            while True:
                data = os.read(fd, CHUNK)
                if data:
                    at += len(data)
                    yield data
                    continue
                if is_last:
                    self.replaced = "replaced"
                    return
                yield b""
                if os.fstat(fd).st_size < at:
                    self.replaced = "truncated"
                    return
                is_last = self._is_another(fd)
                if not is_last:
                    self.wait(INTERVAL_S)
        except OSError as error:
            raise source_error(error, self.path) from error
        finally:
            os.close(fd)

    def wait(self, seconds: float) -> None:
        """Wait before the file is looked at again."""
        time.sleep(seconds)

    def _open(self) -> int | None:
        """A descriptor of the file; None where there is none."""
        try:
            return open_untouched(self.path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise source_error(error, self.path) from error

    def _is_another(self, fd: int) -> bool:
        """Whether another file has the name by now."""
        try:
            there = Path(self.path).stat()
        except FileNotFoundError:
            return False
        mine = os.fstat(fd)
        return (there.st_dev, there.st_ino) != (mine.st_dev, mine.st_ino)


__all__ = ["CHUNK", "INTERVAL_S", "GrowingFile"]
