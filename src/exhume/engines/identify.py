"""Which formats do these bytes look like?  Every candidate is given, with confidence and evidence; none is chosen."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from exhume.errors import ExhumeError, Span, UnrecognizedFormatError, shorten
from exhume.io.local import LocalTree
from exhume.io.opening import Target, open_target
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.registry import Format, Identification, formats, get_format

if TYPE_CHECKING:
    from exhume.engines.walk import WalkEntry

SURE = 0.5
"""Candidates with at least this confidence are opened without being named by the caller."""

EVIDENT = 0.95
"""When a format of files recognizes a file with this confidence, no format of directories is tried, nor the reverse."""


def identify(
    target: Target, *, storage_options: Mapping[str, Any] | None = None, offset: int = 0, length: int | None = None
) -> list[Identification]:
    """Every format that recognizes the target, most confident first; small windows at head and tail are read.

    Args:
        target: Path, URL, bytes, binary file object, `Source` or `Tree`.
        storage_options: Options for the fsspec file system of a URL.
        offset: Where the archive starts inside a larger file, in bytes.
        length: How long it is there, in bytes; None: to the end.

    Returns:
        The candidates, each with format, confidence, place and evidence; empty when there are none.

    Raises:
        SourceError: The target cannot be read (`FileNotFoundError` and `PermissionError` where it is one).

    Example:
        >>> [candidate.format for candidate in exhume.identify("words.zs")]
        ['zs']
    """
    opened = open_target(target, storage_options=storage_options, offset=offset, length=length)
    try:
        return identify_source(opened)
    finally:
        if opened is not target:
            opened.close()


def identify_source(source: Source | Tree) -> list[Identification]:
    """`identify` for a source or tree that is open already."""
    return _ranked(_probed(source, formats().values()))


def _ranked(found: Iterable[Identification]) -> list[Identification]:
    return sorted(found, key=lambda c: (-c.confidence, c.format))


def _probed(source: Source | Tree, among: Iterable[Format]) -> list[Identification]:
    """The candidates that the probes of some formats report."""
    if isinstance(source, Tree):
        source.will_read(listing=True)
    found: list[Identification] = []
    for described in among:
        try:
            candidate = described.hook("probe")(source)
        except ExhumeError as error:
            if error.code.startswith("EX-6"):  # the source failed, not the guess
                raise
            continue
        if candidate is not None:
            found.append(candidate)
    return found


LOOK_INSIDE = 200
"""Entries of a directory that are examined for a hint."""


def certain(source: Source | Tree) -> Identification | None:
    """A candidate of full confidence among the formats whose signature the source starts with, or None.

    It avoids importing the other formats, which would take most of the time for opening a small archive.
    """
    if isinstance(source, Tree):
        return None
    signed = [(d, s) for d in formats().values() for s in d.signatures if s.offset >= 0]
    head = source.read_up_to(0, max((s.offset + len(s.magic) for _, s in signed), default=0))
    for id in {d.id: None for d, s in signed if head[s.offset :].startswith(s.magic)}:
        candidate: Identification | None = get_format(id).hook("probe")(source)
        if candidate is not None and candidate.confidence >= 1.0:
            return candidate
    return None


def recognize(source: Source | Tree) -> str:
    """The id of the one format to open the source with; raises `UnrecognizedFormatError`."""
    candidates = _candidates(source)
    if candidates and candidates[0].confidence >= SURE:
        return candidates[0].format
    span = Span(source.name, 0, 0)
    if not candidates:
        within = inside(source)
        hint = f" (but inside it: {within})" if within else ""
        raise UnrecognizedFormatError(f"format not recognized{hint}", span=span)
    guesses = ", ".join(f"{c.format} ({c.confidence:.0%}: {', '.join(c.evidence)})" for c in candidates)
    doubt = "ambiguous format" if len(candidates) > 1 else "format not certain"
    raise UnrecognizedFormatError(doubt, span=span, actual=guesses)


def _candidates(source: Source | Tree) -> list[Identification]:
    """The candidates for a source, best first; when one is certain, the others may be missing."""
    sure = certain(source)
    if sure is not None:
        return [sure]
    # Formats of the other kind can only know a lone part of theirs; their code is imported when nothing else fits.
    kind = "directory" if isinstance(source, Tree) else "file"
    found: list[Identification] = []
    # A directory that may as well be a file has a magic number, and a certain candidate spares the code of the others.
    for described in sorted(formats().values(), key=lambda d: d.container != "either"):
        if described.container in (kind, "either"):
            found = _ranked([*found, *_probed(source, [described])])
            if found and found[0].confidence >= 1.0:
                return found
    if found and found[0].confidence >= EVIDENT:
        return found
    return _ranked([*found, *_probed(source, [d for d in formats().values() if d.container not in (kind, "either")])])


def walk(target: Target, **storage: Any) -> Iterator[WalkEntry]:
    """Everything below a directory: archives, the files that belong to them, and all others; see `WalkEntry`.

    If the target is a file, it is the only one found.  Raises `SourceError` when the target cannot be opened.
    """
    from exhume.engines.walk import Kind, WalkEntry, walk_tree

    opened = open_target(target, **storage)
    try:
        if isinstance(opened, Tree):
            yield from walk_tree(opened, _directory_format)
        else:
            yield WalkEntry(opened.name, Kind.FILE)
    finally:
        if opened is not target:
            opened.close()


def _directory_format(tree: Tree) -> str | None:
    """The format that a directory is an archive of."""
    candidates = _candidates(tree)
    return candidates[0].format if candidates and candidates[0].confidence >= SURE else None


def inside(source: Source | Tree) -> str:
    """The archives in a local directory that is not an archive itself, as a hint for a user who named the folder above.

    It returns `name (format)` of the first three, or "" if none is among the first `LOOK_INSIDE` entries.
    """
    if not isinstance(source, LocalTree):
        return ""
    from exhume.engines.walk import Kind, join, walk_tree

    found: list[str] = []
    for one in itertools.islice(walk_tree(source, _directory_format), LOOK_INSIDE):
        format = one.format if one.kind is Kind.ARCHIVE else None
        if one.kind is Kind.FILE:
            try:
                with open_target(one.name) as file:
                    candidates = _candidates(file)
            except (ExhumeError, OSError):
                continue
            if candidates and candidates[0].confidence >= SURE:
                format = candidates[0].format
        if format is not None:
            found.append(f"{shorten(one.name[len(join(source.name, 'x')) - 1 :])} ({format})")
        if len(found) > 3:
            break
    return ", ".join(found[:3]) + (" and more" if len(found) > 3 else "")
