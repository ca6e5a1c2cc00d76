"""EWF images: disk images in the Expert Witness Compression Format (`.E01`, `.Ex01`, `.s01`), read by libewf.

The source returns the imaged content, and every offset is an offset in that content: an archive inside is found, read
and verified as in a raw image.  All segments of a set (`.E01`, `.E02`, ...) are found next to the first.
"""

from __future__ import annotations

import os
import stat
import threading
from typing import Any

from exhume.errors import MissingDependencyError, SourceError, Span
from exhume.io import activity
from exhume.io.portable import READ
from exhume.io.source import Source

ENDINGS = (".e01", ".ex01", ".s01")
"""How the names of first segments end, in small letters."""

MAGICS = (b"EVF\x09\x0d\x0a\xff\x00", b"EVF2\x0d\x0a\x81\x00")
"""What a segment begins with: version 1 and version 2 of the format."""


class EvidenceSource(Source):
    """The content of an EWF image; `digest` is the MD5 of the content that the container stores, "" if it
    stores none.
    """

    def __init__(self, path: str) -> None:
        """Raise `MissingDependencyError` without libewf (extra `ewf`), `SourceError` for what it cannot read."""
        try:
            import pyewf
        except ImportError:
            raise MissingDependencyError(
                "EWF images need libewf: pip install 'exhume[ewf]'", span=Span(path, 0, 0)
            ) from None
        self.name = path
        self._lock = threading.Lock()
        self._handle: Any = None
        try:
            segments = pyewf.glob(path)
            if activity.current is not None:
                for segment in segments:
                    activity.current.on_open(segment)
            self._handle = pyewf.open(segments)
            self._size = int(self._handle.get_media_size())
            self.digest: str = self._handle.get_hash_value("MD5") or ""
        except OSError as error:
            raise SourceError("EWF image cannot be read", span=Span(path, 0, 0), actual=error) from error

    @property
    def size(self) -> int:
        return self._size

    @property
    def location(self) -> str | None:
        return self.name

    def _read(self, offset: int, size: int) -> bytes:
        with self._lock:
            if self._handle is None:
                raise SourceError("the file is closed", span=self.span(offset, offset + size), code="EX-605")
            try:
                data: bytes = self._handle.read_buffer_at_offset(size, offset)
            except OSError as error:
                span = self.span(offset, offset + size)
                raise SourceError("EWF image is damaged here", span=span, actual=error) from error
        return data

    def close(self) -> None:
        with self._lock:
            handle, self._handle = self._handle, None
        if handle is not None:
            handle.close()


def is_evidence(path: str) -> bool:
    """Whether a file is the first segment of an EWF image, judged by its name and its first bytes."""
    if not path.lower().endswith(ENDINGS):
        return False
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return False
        descriptor = os.open(path, READ)
    except OSError:
        return False  # opening it later reports the reason
    try:
        return os.read(descriptor, len(MAGICS[0])).startswith(MAGICS)
    finally:
        os.close(descriptor)


def segments(path: str) -> tuple[str, ...]:
    """The files of the EWF image that begins with this one; empty for another file, and without libewf."""
    if not is_evidence(path):
        return ()
    try:
        import pyewf

        return tuple(pyewf.glob(path))
    except (ImportError, OSError):  # opening it reports that
        return ()
