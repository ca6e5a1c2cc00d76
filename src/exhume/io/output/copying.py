"""From file to file, within the kernel where the system can."""

from __future__ import annotations

import errno
import os

from exhume.io import activity
from exhume.io.files import pread
from exhume.io.source import STREAM_CHUNK, Source


def read_all(fd: int, size: int, offset: int) -> bytes:
    """The bytes `[offset, offset + size)` of a file; fewer only if the file ends.  Short reads are repeated."""
    parts: list[bytes] = []
    while size and (part := pread(fd, size, offset)):
        parts.append(part)
        size, offset = size - len(part), offset + len(part)
    return b"".join(parts)


def write_all(fd: int, data: bytes | memoryview) -> None:
    """Write all of the data, repeating short writes."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def copy_range(source: Source, start: int, end: int, out_fd: int) -> None:
    """Copies `[start, end)` of a source to a descriptor: `copy_file_range`, else `sendfile`, else read and write."""
    in_fd = source.fileno()
    location = source.outermost.location
    if activity.current is not None and location is not None:
        activity.current.on_read(location, source.origin + start, source.origin + end)
    if in_fd is not None and start >= 0 and end <= source.size:
        at, stop = source.origin + start, source.origin + end
        base = os.lseek(out_fd, 0, os.SEEK_CUR) - at
        for copier in (_kernel_copy, _kernel_send):
            try:
                while at < stop and (done := copier(in_fd, out_fd, at, min(stop - at, 1 << 30))):
                    at += done
            except (OSError, AttributeError):
                os.lseek(out_fd, base + at, os.SEEK_SET)  # whatever a call did that did not say so
                continue
            if at == stop:
                return
        start += at - (source.origin + start)
    for chunk in source.chunks(start, end):
        write_all(out_fd, chunk)


def copy_between(in_fd: int, out_fd: int, size: int, offset: int | None = None) -> int:
    """Append up to `size` bytes of one file to another, at the latter's position; return how many there were.

    Reads from `offset`, or from the former's position (which then moves).  In the kernel where the system can.
    """
    done = 0
    if offset is None:
        offset = os.lseek(in_fd, 0, os.SEEK_CUR)
    base = os.lseek(out_fd, 0, os.SEEK_CUR)
    for copier in (_kernel_copy, _kernel_send):
        try:
            while done < size and (step := copier(in_fd, out_fd, offset + done, min(size - done, 1 << 30))):
                done += step
        except (OSError, AttributeError) as error:
            if isinstance(error, OSError) and error.errno == errno.ENOSPC:
                raise
            os.lseek(out_fd, base + done, os.SEEK_SET)
            continue
        break
    while done < size and (data := pread(in_fd, min(STREAM_CHUNK, size - done), offset + done)):
        write_all(out_fd, data)
        done += len(data)
    return done


def _kernel_copy(in_fd: int, out_fd: int, offset: int, count: int) -> int:
    return os.copy_file_range(in_fd, out_fd, count, offset_src=offset)


def _kernel_send(in_fd: int, out_fd: int, offset: int, count: int) -> int:
    return os.sendfile(out_fd, in_fd, offset, count)
