"""Carving images in spans: each worker searches its span, and the finds are joined to the result of a single pass.

Carving finds archives inside raw bytes (a disk image, a memory dump) by signatures, the fixed bytes with which a format
begins or ends; see `exhume.engines.carve`.  A span here is a range of an image, the unit of work of `run`.

A span contains the first bytes of signatures; a worker reads as far past it as the longest signature needs, and a
format follows an archive to wherever it ends.  So the finds of all spans, in order, are exactly those of the whole
image.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Unpack

from exhume.archive import Progress, no_progress
from exhume.counts import counted
from exhume.distributed.runner import RunOptions, run
from exhume.engines.carve import find, join
from exhume.errors import ExhumeError, SourceError, Span
from exhume.io.opening import open_target
from exhume.io.parallel import map_ordered
from exhume.io.source import Source
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.recovery import CarvedArchive

SPAN = 256 << 20
"""Bytes that one unit searches: minutes of work at most, and far more than a unit costs to send."""

OPENERS = 16
"""Threads that request the sizes of images ahead of the work."""


@dataclass(frozen=True, slots=True)
class Search:
    """Signatures to search for, and options for opening images; the same for all spans."""

    only: tuple[str, ...] = ()  # ids of formats; empty: all
    min_confidence: float = 0.0  # archives that are less sure are left out
    limits: Limits = DEFAULT_LIMITS
    storage_options: dict[str, Any] = field(default_factory=dict, repr=False)  # of fsspec; may have secrets
    offset: int = 0  # where the image begins in the file, in bytes
    length: int | None = None  # of the image; None: to the end

    def open(self, target: str) -> Source:
        """The image.  Raises `SourceError`."""
        opened = open_target(
            target, storage_options=self.storage_options, offset=self.offset, length=self.length, is_image=True
        )
        if isinstance(opened, Source):
            return opened
        opened.close()
        raise SourceError("carving needs a file (a disk image, a dump), not a directory", span=Span(target, 0, 0))


@dataclass(frozen=True, slots=True)
class ImageSpan:
    """The signatures that begin in bytes `[start, stop)` of an image; `last` for the last span of it."""

    target: str
    start: int
    stop: int
    last: bool
    error: ExhumeError | None = None  # why the image cannot be searched at all


@dataclass(slots=True)
class Image:
    """The archives found in one image, and the parts of it that could not be searched."""

    target: str
    archives: list[CarvedArchive] = field(default_factory=list)
    errors: list[ExhumeError] = field(default_factory=list)


def search_span(search: Search, span: ImageSpan) -> list[CarvedArchive]:
    """Return the archives found in one span. Raises the span's error if it has one."""
    if span.error is not None:
        raise span.error
    with search.open(span.target) as image:
        return list(
            find(
                image,
                only=search.only,
                start=span.start,
                stop=span.stop,
                min_confidence=search.min_confidence,
                limits=search.limits,
            )
        )


def carve_each(
    targets: Iterable[str],
    search: Search,
    *,
    start: int = 0,
    stop: int | None = None,
    span: int = SPAN,
    progress: Progress = no_progress,
    **how: Unpack[RunOptions],
) -> Iterator[Image]:
    """Carve images in sequence, all their spans in one run; `how` goes to `run`.

    `start`, `stop` and `span` are in bytes.  Raises `ValueError` for a `span` below 1.
    """
    if span < 1:
        raise ValueError("a span needs at least one byte")
    units = _plan(targets, search, start, stop, span)
    image: Image | None = None
    finds: list[CarvedArchive] = []
    for result in run(partial(search_span, search), units, progress=progress, unit="spans", **how):
        unit: ImageSpan = result.unit
        if image is None:  # the first span of the next image
            image, finds = Image(unit.target), []
        if result.error is not None:
            image.errors.append(result.error)
        else:
            finds += result.value
        if unit.last:
            image.archives = list(join(finds))
            yield image
            image = None


def _plan(targets: Iterable[str], search: Search, start: int, stop: int | None, span: int) -> Iterator[ImageSpan]:
    """Divide each image into ranges of `span` bytes to search; an image that cannot be opened is one failed range."""
    for target, size in map_ordered(partial(_size, search, start, stop), targets, OPENERS):
        if isinstance(size, ExhumeError):
            yield ImageSpan(target, 0, 0, True, size)
            continue
        end = size if stop is None else min(stop, size)
        starts = range(start, end, span) or range(start, start + 1)  # an empty image has one span, too
        for at in starts:
            yield ImageSpan(target, at, max(at, min(at + span, end)), at == starts[-1])


def _size(search: Search, start: int, stop: int | None, target: str) -> tuple[str, int | ExhumeError]:
    """Return an image's size, or the error that prevents a search in it."""
    try:
        with search.open(target) as image:
            _refuse_download(image, search, start, image.size if stop is None else stop)
            return target, image.size
    except ExhumeError as error:
        return target, error


def _refuse_download(image: Source, search: Search, start: int, stop: int) -> None:
    """Refuse to search most of a remote object without permission: the spans together count like one pass."""
    if not image.is_remote or search.storage_options.get("allow_full_download"):
        return
    from exhume.io.remote.source import FREE_BYTES

    if stop - start > max(FREE_BYTES, image.size // 2):
        raise SourceError(
            "would download most of the object",
            code="EX-607",
            span=Span(image.name, 0, 0),
            expected=f"at most {counted(max(FREE_BYTES, image.size // 2), 'bytes')}",
            actual=counted(stop - start, "bytes"),
        )


def carve(
    target: str,
    *,
    only: Collection[str] = (),
    start: int = 0,
    stop: int | None = None,
    min_confidence: float = 0.0,
    limits: Limits = DEFAULT_LIMITS,
    progress: Progress = no_progress,
    storage_options: dict[str, Any] | None = None,
    span: int = SPAN,
    **how: Unpack[RunOptions],
) -> Iterator[CarvedArchive]:
    """`exhume.carve` of a path or URL in spans of `span` bytes, on `jobs=` local workers or a `cluster=` (see `run`).

    The result is the same.  Raises the error of a span that could not be searched.
    """
    search = Search(tuple(only), min_confidence, limits, storage_options or {})
    for image in carve_each([target], search, start=start, stop=stop, span=span, progress=progress, **how):
        if image.errors:
            raise image.errors[0]
        yield from image.archives


__all__ = ["Image", "ImageSpan", "Search", "carve", "carve_each", "search_span"]
