"""Additions of DataBundle to the command line: old versions of files, one directory, past states.

The functions are called by the commands (`CLI` at the end): each takes the `Run` that prints (`run.machine`: JSON was
requested), the open archive and the options of its command.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from exhume.choices import hint
from exhume.cli import ExitCode
from exhume.cli.formatcli import FormatCli, VerbOptions
from exhume.cli.params import SIZE, Choice, Jobs, Whole
from exhume.cli.runtime import Run
from exhume.errors import EntryNotFoundError, Span, shorten

if TYPE_CHECKING:
    from exhume.archive import Entry
    from exhume.formats.data_bundle.history import FileVersion, History
    from exhume.formats.data_bundle.index import FileRow
    from exhume.formats.data_bundle.reader import DataBundleArchive

# Options that this format adds, by command; "open": to every command that opens an archive.
OPTIONS: dict[str, list[click.Option]] = {
    "open": [
        click.Option(
            ["--sequence-rule"],
            type=Choice(["per-operation", "per-batch", "per-sub-batch"]),
            help="How a log numbers the operations of a batch (default: detected).",
        )
    ],
    "list": [
        click.Option(["--all-versions"], is_flag=True, help="Also replaced, deleted and unreferenced versions."),
        click.Option(["--sequence"], type=Whole(0), metavar="N", help="The state as of sequence number N."),
        click.Option(["--directory"], metavar="DIR", help="Only direct children of this directory ('' for the top)."),
    ],
    "export": [
        click.Option(
            ["--digest"],
            type=Choice(["stored", "sha256"]),
            help="Tables: the stored checksum (default), or a computed SHA-256.",
        ),
    ],
    "cat": [
        click.Option(["--sequence"], type=Whole(0), metavar="N", help="The state as of sequence number N."),
        Jobs(),
    ],
    "salvage": [
        click.Option(["--include-deleted"], is_flag=True, help="Also files that were deleted on purpose."),
        click.Option(
            ["--unreferenced"], is_flag=True, help="Also keep bytes that no entry refers to, below unreferenced/."
        ),
    ],
    "recode": [
        click.Option(["--codec"], metavar="CODEC", help="Codec (default: the same): none, snappy, zlib."),
        click.Option(["--level"], metavar="LEVEL", help="Compression level, in the codec's own scale."),
        click.Option(["--record-size"], type=SIZE, help="Uncompressed bytes per record (default: unchanged)."),
        click.Option(["--alignment"], type=Whole(1), help="Alignment of records in bytes (default: unchanged)."),
        click.Option(["--shards"], type=Whole(1), help="Number of shard files (default: unchanged)."),
    ],
}


class ListOptions(VerbOptions):
    """Which members `exhume list` shows; the options are described in `OPTIONS`."""

    all_versions: bool
    sequence: int | None
    directory: str | None


class CatOptions(VerbOptions):
    """Which state, and which bytes `[start, stop)` of each member, `exhume cat` prints; see `OPTIONS`."""

    start: int
    stop: int | None
    sequence: int | None
    jobs: int


def table_options(options: dict[str, Any]) -> dict[str, Any]:
    """Take the options of `exhume export` that this format knows out of `options`, and return them as arguments of
    `to_arrow`.
    """
    return {"digest": options.pop("digest")} if "digest" in options else {}


def entries(run: Run, archive: DataBundleArchive, options: ListOptions) -> Iterator[Entry]:
    """Yield what `exhume list` shows: live members, one directory, every version, or a past state."""
    if options.all_versions or options.sequence is not None:
        history = _history(run, archive)
        try:
            if options.sequence is None:
                yield from map(_version_entry, history.files())
            else:
                yield from (archive.entry_of(row) for row in history.at(options.sequence).values())
        finally:
            history.close()
    elif options.directory is not None:
        yield from _directory(archive, options.directory)
    else:
        yield from archive.entries()


def _directory(archive: DataBundleArchive, name: str) -> Iterator[Entry]:
    """The entries of a directory; raises `EntryNotFoundError` when there is no directory of that name."""
    found = archive.list_directory(name)
    first = next(found, None)
    if first is not None:
        yield first
        yield from found
    elif name.strip("/"):
        archive.match([name.strip("/")])  # if the name does not exist, it raises an error that names a similar one
        if archive.stat(name).kind != "directory":
            raise EntryNotFoundError("not a directory", span=Span(archive.name, 0, 0), actual=shorten(name))


def _history(run: Run, archive: DataBundleArchive) -> History:
    """Return the history of a bundle; problems with its index are printed on standard error."""
    history = archive.history()
    for finding in (*archive.database.problems, *history.problems):
        if finding.severity != "note":
            run.note(f"{finding.severity}: {finding}")
        archive.is_incomplete |= finding.is_problem
    return history


def outcome(run: Run, archive: DataBundleArchive) -> ExitCode:
    """The outcome of a listing: a loss if a part of the index could not be read."""
    return ExitCode.LOSS if archive.is_incomplete else ExitCode.DONE


def _version_entry(found: FileVersion) -> Entry:
    """Return the list entry of a version; `size` is None for a deletion."""
    from exhume.archive import Entry

    if found.row is None:
        kind = "deletion"
    else:
        kind = "directory" if found.row.meta.is_directory else "file"
    details = found.to_dict()
    return Entry(
        kind=kind,
        name=found.path,
        offset=found.version.place.offset,
        size=found.row.meta.size if found.row is not None else None,
        source=details.pop("file"),
        details=details,
    )


def cat(run: Run, archive: DataBundleArchive, names: tuple[str, ...], options: CatOptions) -> ExitCode | None:
    """`exhume cat`: members, or members as they were at a sequence number."""
    from exhume.cli.cmd_cat import cat_members, print_members

    start, stop, sequence = options.start, options.stop, options.sequence
    if sequence is None:
        cat_members(run, archive, names, start, stop, options.jobs)
        return None
    history = _history(run, archive)
    try:
        rows = history.at(sequence)
        if run.machine:
            chosen = [_row(archive, rows, name, sequence) for name in names or sorted(rows)]
            files = (row for row in chosen if not row.meta.is_directory)
            print_members(run, archive, ((row.path, history.view.read(row, start, stop)) for row in files), start)
            return outcome(run, archive)
        for name in names or sorted(rows):
            row = _row(archive, rows, name, sequence)
            if row.meta.is_directory:
                continue
            if start == 0 and stop is None:
                for chunk in history.view.chunks(row):
                    run.out.write(chunk)
            else:
                run.out.write(history.view.read(row, start, stop))
    finally:
        history.close()
    return outcome(run, archive)


def _row(archive: DataBundleArchive, rows: Mapping[str, FileRow], name: str, sequence: int) -> FileRow:
    """Return the row of a member as it was at a sequence number. Raises `EntryNotFoundError`."""
    row = rows.get(name)
    if row is None:
        raise EntryNotFoundError(
            f"no such member at sequence {sequence}{hint(name, rows)}",
            span=Span(archive.name, 0, 0),
            actual=shorten(name),
        )
    return row


# `values`: the class of a command's options; `without_effect`: by command and option, those without effect next to it.
CLI = FormatCli(
    options=OPTIONS,
    values={"list": ListOptions, "cat": CatOptions},
    without_effect={
        "list": {"all_versions": ("sequence", "directory"), "sequence": ("directory",)},
        "cat": {"sequence": ("jobs",)},
    },
    table_options=table_options,
    cat=cat,
    entries=entries,
    outcome=outcome,
)
