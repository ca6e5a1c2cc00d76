"""Opening an archive whose format is given or recognized, and creating one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from exhume.archive import Archive, Writer
from exhume.choices import check_keywords
from exhume.engines.identify import recognize
from exhume.io.opening import Target, open_target
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.registry import Format, get_format


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
