"""Opening an archive whose format is given or recognised, and damaged archives as far as they can be understood."""

from __future__ import annotations

from typing import Any

from exhume.archive import Archive
from exhume.choices import check_keywords
from exhume.engines.identify import recognise
from exhume.io.opening import Target, open_target
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.registry import get_format


def open_archive(
    target: Target,
    *,
    format: str | None = None,
    limits: Limits = DEFAULT_LIMITS,
    storage_options: dict[str, Any] | None = None,
    offset: int = 0,
    length: int | None = None,
    damaged: bool = False,
    **options: Any,
) -> Archive:
    """Opens an archive for reading; see `exhume.open`.

    With `damaged`, an archive that would be refused is opened as far as it can be understood
    (`exhume.engines.inspect`).  Raises `TypeError` for options that the format does not have.
    """
    known = get_format(format) if format else None
    tail_first = known is not None and known.tail_first and not offset and length is None
    opened = open_target(target, storage_options=storage_options, offset=offset, length=length, tail_first=tail_first)
    try:
        described = known or get_format(recognise(opened))
        opener = described.hook("open")
        check_keywords(f"open() of {described.id} archives", options, opener, open_archive)
        archive: Archive
        if damaged:
            from exhume.engines.inspect import Inspection  # which knows verify and explain: most openings do without

            archive = Inspection(opened, described, limits=limits, **options)
        else:
            archive = opener(opened, limits=limits, **options)
    except BaseException:
        if opened is not target:
            opened.close()
        raise
    return archive
