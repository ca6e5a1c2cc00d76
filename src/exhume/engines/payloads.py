"""The decompressed payloads of an archive that a person views: small ones as a whole, large ones window by window.

The payload of a section is its decompressed content, up to `HELD` bytes if it is small.  `section.load` returns it as a
whole, `section.pieces` yields it in chunks; both may find damage.  Sections are known by their number.
A window of a large payload is decompressed when it is shown, in one pass forwards; a window before it begins again.
A `ForwardReader` is such a pass over chunks: `at` is its position, `has`, `take`, `skip` and `pieces` take a size.
"""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator

from exhume.codecs.passing import ForwardReader
from exhume.errors import EntryNotFoundError, ExhumeError, LimitExceededError, UnsupportedFeatureError
from exhume.layout.kaitai import HELD, Region
from exhume.layout.sections import Section

KEPT = 64 << 20
"""Bytes of whole payloads that are kept for the next request; the latest payload is kept whatever its size."""

WINDOW = 1 << 20
"""Bytes of a large payload that are decompressed at a time."""

WINDOWS = 32
"""Windows that are kept."""

COUNTED = 256 << 10
"""A payload without a stated size is decompressed once to count its bytes if its stored bytes exceed this.

Below, most decompress to less than `HELD`, and are held at once."""


def payload_chunks(section: Section) -> Iterator[bytes]:
    """The payload of a section in chunks; one of up to `HELD` bytes is decompressed before the first of them.

    Propagates errors from `section.load`: for a larger payload, when the damage is reached.
    """
    assert section.load is not None
    if section.pieces is None:
        yield section.load()
        return
    forward = ForwardReader(section.pieces())
    try:
        is_large = forward.has(HELD + 1)
    except ExhumeError as error:
        try:
            whole = section.load()  # it may know more about the damage
        except LimitExceededError:
            raise error from None
        yield whole
        return
    yield from forward.pieces(sys.maxsize) if is_large else (forward.take(HELD),)


class Payloads:
    """Decompressed sections of an archive, by section number.  Thread-safe."""

    def __init__(self) -> None:
        """Keep whole payloads, and windows of large ones, by section number, least recently used out first."""
        self._lock = threading.Lock()
        self._whole: OrderedDict[int, bytes] = OrderedDict()
        self._sizes: dict[int, int] = {}  # bytes of payloads that may be large
        self._failures: dict[int, str] = {}  # why a large payload ends early
        self._windows: OrderedDict[tuple[int, int], bytes] = OrderedDict()  # by section and index of the window
        self._passing: tuple[int, ForwardReader] | None = None  # section and reader of the current pass over a payload

    def keep(self, number: int, data: bytes) -> None:
        """Keep a payload that was decompressed for another reason."""
        with self._lock:
            self._keep(number, data)

    def _keep(self, number: int, data: bytes) -> None:
        """Keep a whole payload; the caller holds the lock."""
        self._whole[number] = data
        self._whole.move_to_end(number)
        while len(self._whole) > 1 and sum(map(len, self._whole.values())) > KEPT:
            self._whole.popitem(last=False)

    def is_large(self, number: int, section: Section) -> bool:
        """Whether a payload is read in windows: it is known to be larger than `HELD`, or what may be held."""
        with self._lock:
            return self._is_large(number, section)

    def _is_large(self, number: int, section: Section, *, refused: bool = False) -> bool:
        """Return whether a payload is too large to be held; `refused` when its decoder has already refused it."""
        if number in self._whole or section.pieces is None:
            return False
        if number not in self._sizes and (section.payload_size is not None or section.span.size > COUNTED or refused):
            self._sizes[number] = section.payload_size or self._count(number, section.pieces())
        return refused or self._sizes.get(number, 0) > HELD

    def _count(self, number: int, pieces: Iterable[bytes]) -> int:
        """Return the decompressed size of a payload, or of what can be decompressed; the failure is kept."""
        size = 0
        try:
            for piece in pieces:
                size += len(piece)
        except UnsupportedFeatureError:
            return 0  # it needs a dictionary
        except ExhumeError as error:
            self._failures[number] = f"decompressed up to byte {size}: {error}"
        return size

    def failure(self, number: int) -> str:
        """Why a large payload ends early; empty if it does not."""
        return self._failures.get(number, "")

    def size(self, number: int, section: Section) -> int:
        """Bytes of a payload; of a large damaged one, those before the damage.  Raises what `section.load` does."""
        with self._lock:
            data = self._data(number, section)
            return self._sizes[number] if data is None else len(data)

    def content(self, number: int, section: Section) -> bytes | Region:
        """A payload: a large one as a region.  Propagates errors from `section.load`."""
        with self._lock:
            data = self._data(number, section)
        if data is not None:
            return data
        return Region(self._sizes[number], lambda at, many: self.read(number, section, at, min(many, WINDOW)))

    def read(self, number: int, section: Section, start: int, size: int) -> bytes:
        """Up to `size` bytes of a payload from a place on.  Propagates errors from `section.load`."""
        with self._lock:
            data = self._data(number, section)
            if data is not None:
                return data[start : start + size]
            stop = min(start + size, self._sizes[number])
            windows = range(start // WINDOW, -(-stop // WINDOW))  # those that `[start, stop)` touches
            found = b"".join(self._window(number, section, index) for index in windows)
            return found[start % WINDOW : start % WINDOW + max(0, stop - start)]

    def chunks(self, number: int, section: Section, start: int, stop: int) -> Iterator[bytes]:
        """The bytes `[start, stop)` of a payload, in order.  Propagates errors from `section.load`."""
        with self._lock:
            data = self._data(number, section)
        if data is not None:
            yield data[start:stop]
            return
        assert section.pieces is not None
        forward = ForwardReader(section.pieces())
        forward.skip(start)
        yield from forward.pieces(stop - start)

    def _data(self, number: int, section: Section) -> bytes | None:
        """A payload as a whole; None if it is large."""
        known = self._whole.get(number)
        if known is not None or self._is_large(number, section):
            return known
        if section.load is None:
            raise EntryNotFoundError("this section has no payload", span=section.span, actual=section.name)
        try:
            known = section.load()
        except LimitExceededError:
            if not self._is_large(number, section, refused=True):
                raise
            return None
        self._keep(number, known)
        return known

    def _window(self, number: int, section: Section, index: int) -> bytes:
        """Return window `index` of a large payload.  A window before the last one read means decompressing again."""
        known = self._windows.get((number, index))
        if known is None:
            before, forward = self._passing or (-1, ForwardReader(()))  # -1: no section
            if before != number or forward.at > index * WINDOW:
                assert section.pieces is not None
                forward = ForwardReader(section.pieces())
            self._passing = number, forward
            forward.skip(index * WINDOW - forward.at)
            known = self._windows[number, index] = b"".join(
                forward.pieces(min(WINDOW, self._sizes[number] - forward.at))  # damage may follow
            )
        self._windows.move_to_end((number, index))
        while len(self._windows) > WINDOWS:
            self._windows.popitem(last=False)
        return known
