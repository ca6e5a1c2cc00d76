"""`exhume create caf`: files, tar and zip archives into chunks (CAF files)."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from exhume.cli import ExitCode
from exhume.cli.params import LOCAL_PATH, SIZE, Choice, Verb
from exhume.cli.progress import with_total
from exhume.cli.render import human_size, printable
from exhume.cli.runtime import Run, plain_options
from exhume.counts import counted
from exhume.io.source import STREAM_CHUNK

if TYPE_CHECKING:
    from exhume.archive import Progress
    from exhume.formats.caf.writer import CafWriter


@click.command("caf", cls=Verb)
@click.argument("inputs", nargs=-1, metavar="[INPUT...]", type=LOCAL_PATH)
@click.option("-o", "--output", required=True, metavar="TARGET", help="The chunk; further ones get -0002, -0003, ...")
@click.option(
    "--order",
    type=Choice(["sorted", "insertion"]),
    default="sorted",
    show_default=True,
    help="Order and spelling of the index: as the Go or as the TypeScript writer.",
)
@click.option("--chunk-size", type=SIZE, default=30 << 30, help="Largest chunk, index included.  [default: 30G]")
@click.option("--base-dir", metavar="DIR", help="Store names relative to this directory.")
@click.option("--from-tar", multiple=True, metavar="FILE", help="Add the files of a tar archive ('-': standard input).")
@click.option("--from-zip", multiple=True, metavar="FILE", help="Add the files of a zip archive.")
@click.option("--stdin-name", metavar="NAME", help="Add standard input as a member of this name.")
@click.option("--replace", is_flag=True, help="A name added twice replaces the first; its bytes stay, unreferenced.")
@click.option("--catalog", metavar="DB", help="Add the new chunks to a catalog (SQLite file or SQLAlchemy URL).")
@click.option("--overwrite", is_flag=True, help="Replace existing chunks.")
@plain_options
def create(
    run: Run,
    inputs: tuple[str, ...],
    output: str,
    order: Any,
    chunk_size: int,
    base_dir: str | None,
    from_tar: tuple[str, ...],
    from_zip: tuple[str, ...],
    stdin_name: str | None,
    replace: bool,
    catalog: str | None,
    overwrite: bool,
) -> ExitCode:
    """Pack files, directories, tar or zip archives into one or more chunks.

    Directories are taken recursively, sorted by name.  Chunks appear only when all of them are complete.
    """
    from exhume.formats.caf.inputs import add_tar, add_zip, plan_inputs, write_plan
    from exhume.formats.caf.writer import create as open_writer

    if not (inputs or from_tar or from_zip or stdin_name is not None):
        raise click.UsageError("nothing to pack: give INPUTs, --from-tar, --from-zip or --stdin-name")
    if stdin_name is not None and "-" in from_tar:
        raise click.UsageError("standard input can be one thing only: --stdin-name or --from-tar -")
    # Everything is checked before the first byte is written.
    plan = plan_inputs(inputs, base=base_dir, exclude=_identity(output))
    skipped = list(plan.skipped)
    with run.progress("create") as progress:
        writer = open_writer(output, order=order, chunk_size=chunk_size, replace=replace, overwrite=overwrite)
        with writer:
            write_plan(writer, plan, progress)
            for name in from_tar:
                if name == "-":
                    skipped += add_tar(writer, sys.stdin.buffer, "standard input", progress)
                else:
                    from exhume.io.files import open_input

                    with open_input(name) as file:
                        skipped += add_tar(writer, file, name, with_total(progress, name))
            for name in from_zip:
                skipped += add_zip(writer, name, progress)
            if stdin_name is not None:
                writer.add_pieces(stdin_name, _standard_input(progress))
        # Only now do the chunks have their names, which the catalog stores.
        if catalog is not None:
            _enter(catalog, writer)
    return _report(run, writer, skipped)


def _standard_input(progress: Progress) -> Iterator[bytes]:
    """Yield standard input in chunks, reporting progress."""
    done = 0
    while piece := sys.stdin.buffer.read(STREAM_CHUNK):
        yield piece
        progress(done := done + len(piece), None, "bytes")


def _identity(output: str) -> set[tuple[int, int]]:
    """Return device and inode of the output if it exists, so that it is not packed into itself."""
    try:
        from pathlib import Path

        found = Path(output).stat()
    except OSError:
        return set()
    return {(found.st_dev, found.st_ino)}


def _enter(catalog: str, writer: CafWriter) -> None:
    """Add the chunks just written to a catalog."""
    from exhume.formats.caf.catalog import open_catalog

    with open_catalog(catalog, create=True) as opened:
        for chunk in writer.chunks:
            opened.add_chunk(os.path.abspath(chunk.path))  # noqa: PTH100 - resolve() would follow links


def _report(run: Run, writer: CafWriter, skipped: list[tuple[str, str]]) -> ExitCode:
    """Print the result of `create`, with `--json` (`run.machine`) as JSON.

    Returns `ExitCode.LOSS` if files were skipped or names were changed.  `skipped` has the path and the reason of each
    file that was left out.
    """
    chunks = [
        {
            "path": chunk.path,
            "size": chunk.size,
            "files": chunk.files,
            "data_size": chunk.data_size,
            "index_size": chunk.index_size,
            "unreferenced_bytes": chunk.unreferenced_bytes,
        }
        for chunk in writer.chunks
    ]
    # Losses go to standard error in any case, also with `--json`.
    for path, reason in skipped:
        click.echo(f"exhume: left out: {printable(path)}: {reason}", err=True)
    if writer.lossy_names:
        click.echo(
            f"exhume: names stored with U+FFFD because they are not UTF-8: {counted(writer.lossy_names, 'names')}",
            err=True,
        )
    # The result itself: a document, or one line.
    if run.machine:
        body = {
            "format": "caf",
            "chunks": chunks,
            "files": writer.added,
            "lossy_names": writer.lossy_names,
            "skipped": [{"path": path, "reason": reason} for path, reason in skipped],
        }
        run.document("create", body)
    else:
        total = sum(chunk.size for chunk in writer.chunks)
        count = len(chunks)
        run.note(f"{counted(writer.added, 'files')} in {counted(count, 'chunks')} ({human_size(total)})")
    return ExitCode.LOSS if skipped or writer.lossy_names else ExitCode.DONE
