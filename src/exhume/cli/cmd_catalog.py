"""`exhume catalog`: which CAF chunk contains which path.

A CAF chunk is an archive of files; a catalog is a database of the files in many chunks.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import TYPE_CHECKING

import click

from exhume.cli import ExitCode
from exhume.cli.many import ManyOptions, many_options
from exhume.cli.params import Group, Verb
from exhume.cli.render import cell, shown
from exhume.cli.runtime import Run, common_options
from exhume.counts import counted
from exhume.redaction import redact, redact_all

if TYPE_CHECKING:
    from exhume.distributed import Result
    from exhume.errors import ExhumeError
    from exhume.formats.caf.catalog_entries import ChunkEntry


@click.group("catalog", cls=Group)
def command() -> None:
    """Build, query and check a catalog of CAF chunks.

    DB is a SQLite file, or a SQLAlchemy URL such as postgresql://host/name (extra: catalog).
    """


@command.command("build", cls=Verb)
@click.argument("database", metavar="DB")
@click.argument("targets", nargs=-1, metavar="CHUNK|DIR|URL...")
@click.option("--add", is_flag=True, help="Keep the catalog's entries for other chunks.")
@many_options
@common_options
def build(run: Run, database: str, targets: tuple[str, ...], many: ManyOptions, add: bool) -> ExitCode:
    """Add chunks to the catalog DB; directories and URL prefixes are searched for *.caf.

    Chunks that cannot be read are reported and left out (exit code 3); a catalog that describes chunks already is
    replaced only when all can be read, and otherwise stays as it was (exit code 1).  Workers read the indexes with
    --cluster, and with --jobs where any chunk is remote; reading a local one costs less than handing it over.
    """
    from exhume.formats.caf.catalog import open_catalog
    from exhume.formats.caf.catalog_entries import list_chunks, read_entry

    run.reject_subrange()
    chosen = many.targets(run, targets, "CHUNK|DIR|URL...")
    chunks = list_chunks(map(_absolute, chosen.names), run.storage_options)
    reader = partial(read_entry, limits=run.limits, storage_options=run.storage_options)
    # Workers do not pay for local chunks (see above).
    if many.cluster is None and not any(map(_is_remote, chunks)):
        many = many._replace(jobs=1)
    with (
        open_catalog(database, create=True, limits=run.limits, storage_options=run.storage_options) as catalog,
        run.progress("catalog") as progress,
    ):
        results = many.run(reader, chunks, progress=progress, unit="chunks")
        failed = catalog.enter_all(map(_chunk_result, results), add=add)
        files, count = catalog.count(), len(catalog.chunks())
    if run.machine:
        lost = [
            {"location": redact(location), "code": error.code, "message": error.message} for location, error in failed
        ]
        run.document("catalog", {"catalog": database, "chunks": count, "files": files, "failed": lost})
    else:
        run.note(f"{counted(count, 'chunks')}, {counted(files, 'files')}, {len(failed)} left out")
    return ExitCode.LOSS if failed else ExitCode.DONE


_CHUNKS_IN = click.option(
    "--chunks-in", "chunks_in", metavar="DIR|URL", multiple=True,
    help="Read only chunks below this (repeatable; default: the directory of DB).",
)  # fmt: skip


@command.command("find", cls=Verb)
@click.argument("database", metavar="DB")
@click.argument("patterns", nargs=-1, required=True, metavar="PATH|GLOB...")
@click.option("--cat", "cat", is_flag=True, help="Print the members' bytes instead of their locations.")
@click.option("--exit-code", is_flag=True, help="Exit code 4 when nothing matches.")
@_CHUNKS_IN
@common_options
def find(
    run: Run, database: str, patterns: tuple[str, ...], cat: bool, exit_code: bool, chunks_in: tuple[str, ...]
) -> ExitCode:
    """Find the chunk and byte range of each path; quote globs (`*` also matches `/`).

    The exact path of a member selects only that, whatever wildcards it has.

    A catalog stores the place of each chunk. --cat reads chunks in the directory of DB, or below each --chunks-in; any
    other place is an error (EX-613), and nothing is requested from it.
    """
    from exhume.formats.caf.catalog import open_catalog

    if cat and run.machine:
        raise click.UsageError("--cat and --json exclude each other")
    with open_catalog(database, limits=run.limits, storage_options=run.storage_options, chunks_in=chunks_in) as catalog:
        found = [place for pattern in patterns for place in catalog.find(pattern)]
        # All places are checked before any output.
        if cat:
            for place in found:
                catalog.places.check(place.location)
            for place in found:
                run.out.write(catalog.read_location(place))
            sys.stdout.buffer.flush()
    if cat:
        return ExitCode.NO if exit_code and not found else ExitCode.DONE
    if run.machine:
        named = ({key: redact(getattr(place, key)) for key in ("location", "caf_file_id")} for place in found)
        items = ({**place.to_dict(), **names} for place, names in zip(found, named, strict=True))
        run.items("catalog", {"catalog": database}, "locations", items)
    else:
        rows = [[place.start_byte, place.size, redact(place.location), place.file_path] for place in found]
        if rows:
            run.print_table(rows, ["offset", "size", "chunk", "path"])
    return ExitCode.NO if exit_code and not found else ExitCode.DONE


@command.command("check", cls=Verb)
@click.argument("database", metavar="DB")
@click.argument("targets", nargs=-1, metavar="[CHUNK|DIR|URL...]")
@click.option("--quick", is_flag=True, help="Trust chunks whose size and tail digest match the catalog.")
@_CHUNKS_IN
@common_options
def check(run: Run, database: str, targets: tuple[str, ...], quick: bool, chunks_in: tuple[str, ...]) -> ExitCode:
    """Compare the catalog with the chunks it names, or with those given: missing, moved and extra files.

    Chunks that the catalog names are read only in the directory of DB, or below each --chunks-in; any other place is an
    error (EX-613).  Exit code 4 when they differ.
    """
    from exhume.formats.caf.catalog import open_catalog
    from exhume.formats.caf.catalog_entries import list_chunks

    chunks = list_chunks(map(_absolute, targets), run.storage_options) if targets else None
    with (
        open_catalog(database, limits=run.limits, storage_options=run.storage_options, chunks_in=chunks_in) as catalog,
        run.progress("check") as progress,
    ):
        found = list(catalog.check(chunks, quick=quick, progress=progress))
    if run.machine:
        body = {"catalog": database, "ok": not found, "differences": redact_all([one.to_dict() for one in found])}
        run.document("catalog", body)
    else:
        for one in found:
            run.print(cell(redact(str(one))))
        run.note(counted(len(found), "differences") if found else "the catalog matches the chunks")
    return ExitCode.NO if found else ExitCode.DONE


def _chunk_result(result: Result) -> tuple[str, ChunkEntry | ExhumeError]:
    """Return the entry that a worker read of a chunk, or the error, which is printed at once."""
    if result.error is not None:
        click.echo(f"exhume: left out: {shown(result.unit)}: {result.error}", err=True)
    return result.unit, result.error or result.value


def _is_remote(target: str) -> bool:
    return "://" in target or "::" in target


def _absolute(target: str) -> str:
    return target if _is_remote(target) else os.path.abspath(target)  # noqa: PTH100 - resolve() would follow links
