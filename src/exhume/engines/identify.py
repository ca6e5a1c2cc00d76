"""Identification of formats, and opening and creating archives by them.

Each format has a probe: a hook that examines the head and tail of a file, or the names in a directory, and returns an
`Identification` (a candidate with confidence, from 0 to 1, and evidence) or None.  `identify` returns all candidates;
`recognize` chooses the one to open an archive with.  A hook of a format is imported when it is called.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from exhume.archive import Archive, Writer
from exhume.choices import check_keywords
from exhume.errors import ExhumeError, Span, UnrecognizedFormatError, shorten
from exhume.io.local import LocalTree
from exhume.io.opening import Target, open_target
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.limits import DEFAULT_LIMITS, Limits
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
    """Sort candidates, the most confident first."""
    return sorted(found, key=lambda candidate: (-candidate.confidence, candidate.format))


def _probed(source: Source | Tree, among: Iterable[Format]) -> list[Identification]:
    """The candidates that the probes of some formats report."""
    if isinstance(source, Tree):
        source.will_read(listing=True)
    found: list[Identification] = []
    for described in among:
        try:
            candidate = described.hook("probe")(source)
        except ExhumeError as error:
            if error.is_reading_failure:
                raise
            continue
        if candidate is not None:
            found.append(candidate)
    return found


LOOK_INSIDE = 200
"""Entries of a directory that are examined for a hint."""

SHOWN_INSIDE = 3
"""Archives in a directory that a hint names."""


def certain(source: Source | Tree) -> Identification | None:
    """A candidate of full confidence among the formats whose signature the source starts with, or None.

    It avoids importing the other formats, which would take most of the time for opening a small archive.
    """
    if isinstance(source, Tree):
        return None
    # The signatures at a known offset from the start.
    signed = [(known.id, one) for known in formats().values() for one in known.signatures if one.offset >= 0]
    head = source.read_up_to(0, max((one.offset + len(one.magic) for _, one in signed), default=0))
    matching = (id for id, one in signed if head[one.offset :].startswith(one.magic))
    for id in dict.fromkeys(matching):  # each format once, in order
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
        hint = ""
        if within := inside(source):
            hint = f" (but inside it: {within})"
        elif is_empty(source):
            hint = " (the file is empty)"
        raise UnrecognizedFormatError(f"format not recognized{hint}", span=span)
    guesses = ", ".join(
        f"{candidate.format} ({candidate.confidence:.0%}: {', '.join(candidate.evidence)})" for candidate in candidates
    )
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
    for described in sorted(formats().values(), key=lambda known: known.container != "either"):
        if described.container in (kind, "either"):
            found = _ranked([*found, *_probed(source, [described])])
            if found and found[0].confidence >= 1.0:
                return found
    if found and found[0].confidence >= EVIDENT:
        return found
    return _ranked(
        [*found, *_probed(source, [known for known in formats().values() if known.container not in (kind, "either")])]
    )


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


def is_empty(source: Source | Tree) -> bool:
    """Whether it is a file without any bytes, which no format has."""
    return not isinstance(source, Tree) and source.size == 0


def inside(source: Source | Tree) -> str:
    """Return a hint for a user who named the directory above the archives: `name (format)` of the first of these.

    Returns "" for anything but a local directory, and if no archive is among the first `LOOK_INSIDE` entries.
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
            below = len(join(source.name, "x")) - len("x")  # where names in the directory start
            found.append(f"{shorten(one.name[below:])} ({format})")
        if len(found) > SHOWN_INSIDE:  # one more, to know whether there are more
            break
    return ", ".join(found[:SHOWN_INSIDE]) + (" and more" if len(found) > SHOWN_INSIDE else "")


def open_archive(
    target: Target,
    *,
    format: str | None = None,
    limits: Limits = DEFAULT_LIMITS,
    storage_options: dict[str, Any] | None = None,
    offset: int = 0,
    length: int | None = None,
    **options: Any,
) -> Archive:
    """Open an archive for reading.

    Args:
        target: Path, URL, bytes, binary file object, `Source` or `Tree`.
        format: Id of the format (`exhume formats` lists them), or another name for it; None: recognized by its bytes.
        limits: What hostile input may cost.
        storage_options: Options for the fsspec file system of a URL.
        offset: Where the archive starts inside a larger file, in bytes.
        length: How long it is there, in bytes; None: to the end.
        options: Those of the format's own opener, such as `exhume.ark.open`, which explains them. ark: `log`,
            `on_missing`, `unfinished`, `by_manifest`; caf: `any_version`; databundle: `sequence_rule`, `check`;
            leveldb: `sequence_rule`.

    Returns:
        A context manager.  With a literal `format` its type is that format's own, as for `exhume.zs.open`.

    Raises:
        SourceError: The target cannot be read (`FileNotFoundError` and `PermissionError` where it is one).
        UnrecognizedFormatError: No format recognizes it, or none is called `format`.
        FormatError: The archive is damaged where opening it has to read.
        TypeError: The format does not have the option.

    Example:
        >>> with exhume.open("files.caf") as archive:
        ...     archive.format
        'caf'
    """
    opened, described = open_described(target, format, storage_options, offset=offset, length=length)
    with closing_on_error(opened, target):
        opener = described.hook("open")
        check_keywords(f"open() of {described.id} archives", options, opener, open_archive)
        archive: Archive = opener(opened, limits=limits, **options)
    return archive


def open_described(
    target: Target, format: str | None, storage_options: dict[str, Any] | None, *, offset: int, length: int | None
) -> tuple[Source | Tree, Format]:
    """The opened target and its format, which is recognized unless it is given; raises as `open_archive` does."""
    known = get_format(format) if format is not None else None
    tail_first = known is not None and known.tail_first and not offset and length is None
    opened = open_target(target, storage_options=storage_options, offset=offset, length=length, tail_first=tail_first)
    with closing_on_error(opened, target):
        return opened, known or get_format(recognize(opened))


@contextmanager
def closing_on_error(opened: Source | Tree, target: Target) -> Iterator[None]:
    """Close what was opened if the block raises, unless the caller passed it as the target."""
    try:
        yield
    except BaseException:
        if opened is not target:
            opened.close()
        raise


def create_archive(target: str | os.PathLike[str], format: str, **options: Any) -> Writer:
    """A writer for a new archive.

    Args:
        target: Path of the file or directory to write.
        format: Id of the format, or another name for it.
        options: Those of the format's own function, such as `exhume.zs.create`, which explains them. ark: `name`,
            `metadata`, `log_identifier`, `common_identifier`, `split_items`, `split_bytes`, `compression`, `level`,
            `amends`, `hide`, `guids`; caf: `order`, `chunk_size`, `replace`, `overwrite`, `publish_each`, `on_chunk`,
            `progress`; clp-ir: `pattern`, `zone`, `reference_ms`, `encoding`, `codec`, `level`, `overwrite`; clp-s:
            `version`, `timestamp_key`, `structurize_arrays`, `log_order`, `retain_float_format`, `level`,
            `target_encoded_size`, `min_table_size`, `max_document_size`, `creator_id`, `properties`, `on_error`,
            `allow_loss`, `jobs`, `overwrite`, `directory`, `input`; databundle: `compression`, `level`, `stored`,
            `record_size`, `alignment`, `shards`, `jobs`, `raw_packed`, `index_compression`, `progress`; kv-ir:
            `metadata`, `codec`, `level`, `overwrite`; zs: `metadata`, `codec`, `level`, `block_size`,
            `branching_factor`, `jobs`, `short_keys`, `default_metadata`, `overwrite`.

    Returns:
        A context manager: leaving it finishes the archive, and after an exception nothing remains that looks like a
        complete archive.

    Raises:
        UnrecognizedFormatError: No format is called so.
        UnsupportedOperationError: The format is only read.
        WriterError: An option makes no sense; `OutputExistsError` when the name is taken.
        TypeError: The format has no such option.

    Example:
        >>> with exhume.create("new.zs", "zs", codec="deflate") as writer:
        ...     writer.add_records([b"apple", b"banana"])
        >>> list(exhume.zs.open("new.zs").records())
        [b'apple', b'banana']
    """
    described = get_format(format)
    create = described.hook("create")
    check_keywords(f"create({described.id!r})", options, create)
    writer: Writer = create(target, **options)
    return writer
