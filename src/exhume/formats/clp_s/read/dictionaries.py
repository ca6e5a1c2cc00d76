"""Dictionaries that are larger than the limit `payload_size`: decompressed into a temporary file, which is mapped.

A dictionary is a sequence of strings (entries) that records refer to by number.  Any record can refer to any entry, so
all of them have to be available.  In memory are only the offsets of the entries and the pages of the file in use, which
the system can drop at any time.

Spec: clp_s.txt, Variable dictionary, Log-type dictionary, Array log-type dictionary.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from exhume.codecs.common import Buffer
from exhume.codecs.zstd import STREAM_STEP, zstd_stream
from exhume.counts import counted
from exhume.errors import CodecError, LimitExceededError, UnsupportedFeatureError
from exhume.formats.clp_s import checks
from exhume.formats.clp_s.layout_packed import ENTRY
from exhume.formats.clp_s.read.kernel import ClpsStrings
from exhume.formats.clp_s.read.places import StoredRange
from exhume.tuples import NamedTuple

WINDOW = 16 << 20
"""Mapped bytes (16 MiB) that are walked through before their pages are released."""


class SpilledPayload(NamedTuple):
    """A payload in a temporary file, which vanishes with the last view of `data`."""

    data: memoryview
    """All that could be decompressed, mapped; this includes the bytes of a damaged frame before the damage."""

    in_frames: int
    """Bytes of it in complete frames."""

    used: int
    """Stored bytes that were decompressed."""

    problem: CodecError | UnsupportedFeatureError | None
    """The reason why no more was decompressed; None at the end of the stored bytes, or of the last wanted entry."""

    def steps(self) -> Iterator[int]:
        """Yield the end of each window of the payload; taking the next one releases the pages of the window before.

        `ClpsStrings` takes them while it locates the entries: so the process never has the whole payload in memory.
        """
        from exhume.io.local import release

        for start in range(0, len(self.data), WINDOW):
            end = min(start + WINDOW, len(self.data))
            yield end
            release(self.data.obj, start, end)


def spill(place: StoredRange, most: int, *, step: int = STREAM_STEP, count: int | None = None) -> SpilledPayload:
    """Decompress the zstd frames at a place into a temporary file, at most `most` bytes, `step` stored ones at a time.

    With a `count`, stop at the end of the frame with that many dictionary entries.  Raises CLPS-501 for more than
    `most`, and `SourceError`.
    """
    from exhume.io.output.scratch import scratch_file  # small archives need no temporary file

    size = in_frames = used = 0
    problem = None
    with scratch_file() as file:
        entries = _Entries(file)
        try:
            for used, part, is_end in zstd_stream(place.source.chunks(place.start, place.end), step):  # noqa: B007
                size += file.write(part)
                if size > most:
                    raise too_large(place, most)
                if is_end:
                    in_frames = size
                    if count is not None and entries.reached(count, size):
                        break
        except (CodecError, UnsupportedFeatureError) as error:
            problem = error
        except LimitExceededError as error:
            # Raised above, with the name of the section already.
            if error.code == checks.TOO_LARGE.code:
                raise
            raise too_large(place, most) from error
        file.flush()
        mapped = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) if size else b""
    return SpilledPayload(memoryview(mapped), in_frames, used, problem)


def spilled_entries(place: StoredRange, most: int) -> tuple[memoryview, Iterator[int]]:
    """The content of the complete frames at a place in a temporary file, and steps as `ClpsStrings` has them.

    Raises CLPS-309 if the first frame is damaged; propagates errors from `spill`.
    """
    found = spill(place, most)
    if found.problem is not None and not found.in_frames:
        raise checks.BAD_FRAME.error(found.problem.message, span=place.span, actual=found.problem.actual)
    found = found._replace(data=found.data[: found.in_frames])
    return found.data, found.steps()


def too_large(place: StoredRange, most: int) -> LimitExceededError:
    """The error of rule CLPS-501 for a dictionary of more bytes than the limit `expansion` allows."""
    error = checks.TOO_LARGE.error(
        f"{place.name} (raise the limit expansion)", span=place.span, expected=f"at most {counted(most, 'bytes')}"
    )
    assert isinstance(error, LimitExceededError)
    return error


def measure(payload: Buffer, count: int, steps: Iterable[int] = ()) -> tuple[int, int]:
    """Return the number of complete entries of a payload, at most `count`, and the offset of their end."""
    try:
        # An untrusted count: one entry more than can fit is enough to fail.
        found = ClpsStrings(payload, min(count, len(payload) // ENTRY.size + 1), steps)
    except ValueError as error:
        index, end = error.args  # the entry that is not complete, and where it starts
        return index, end
    return len(found), found.end


class _Entries:
    """Counts the complete entries of a dictionary while it is written to a file (the count before is not repeated)."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._count = self._at = 0  # complete entries so far, and the offset of the next one

    def reached(self, count: int, size: int) -> bool:
        """Whether the first `size` bytes contain `count` entries."""
        while self._count < count and self._at + ENTRY.size <= size:
            self._file.seek(self._at)
            (length,) = ENTRY.unpack(self._file.read(ENTRY.size))
            if self._at + ENTRY.size + length > size:
                break
            self._at += ENTRY.size + length
            self._count += 1
        # Back to the end, where writing continues.
        self._file.seek(size)
        return self._count == count
