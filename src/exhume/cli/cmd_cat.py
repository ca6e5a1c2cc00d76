"""`exhume cat`: members, records, JSON lines or messages to standard output.

A `Run` has the common options of the verb, opens targets and prints.  Formats add options and a hook `cat`
(`exhume.cli.formatcli`); archives of members, named byte strings, are printed here.

Options that formats add to the verb arrive as `values`, by parameter name; `given` are the names of all options that
the user set.  `split_options` divides `values` for one format into the options of the verb (`mine`) and those of the
format's `open` (`opening`).
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from functools import partial
from itertools import repeat

import click

from exhume.archive import MemberArchive
from exhume.cli import ExitCode
from exhume.cli.formatcli import (
    FormatCommand,
    await_beginning,
    format_cli,
    given_options,
    ksy_options,
    recognized_format,
    refuse_others,
    refuse_without_ksy,
    split_options,
)
from exhume.cli.many import ManyOptions, Targets, recursive_option
from exhume.cli.params import BYTE_RANGE
from exhume.cli.runtime import Run, common_options
from exhume.io.source import STREAM_CHUNK
from exhume.registry import get_format


@click.command("cat", cls=FormatCommand, verb="cat")
@click.argument("target", metavar="TARGET")
@click.argument("names", nargs=-1, metavar="[NAME...]")
@click.option("--range", "span", type=BYTE_RANGE, metavar="A:B", help="Members: only bytes A to B (exclusive).")
@partial(ksy_options, path="With --ksy: only this list, a JSON object for each element.")
@recursive_option
@common_options
def command(
    run: Run,
    target: str,
    names: tuple[str, ...],
    recursive: bool,
    ksy: str | None,
    imports: tuple[str, ...],
    path: str | None,
    span: tuple[int, int | None] | None,
    **values: object,
) -> ExitCode | None:
    """Print members, records or messages of an archive.

    With --recursive, print every archive in the directory TARGET in sequence, or those of one --format; one that cannot
    be read is reported on standard error, and the exit code is 1.

    With --ksy, print the values of any file by a Kaitai Struct specification, as one JSON object (extra: ksy).
    """
    given = given_options(click.get_current_context())
    if ksy is not None:
        from exhume.cli.specified import cat_specified

        if names:
            raise click.UsageError("with --ksy there are no names: --path chooses a list")
        refuse_others(given, frozenset())
        return cat_specified(run, target, ksy, imports, path)
    refuse_without_ksy(given)
    if not recursive:
        return cat_one(run, target, names=names, span=span, values=values, given=given)
    from exhume.cli.playback import each_target, worst
    from exhume.cli.recursive import archives_below, on_found_archive

    # The options have to fit each format that was found, before the first archive is printed.
    found = archives_below(run, [target])
    for format in sorted({one.format for _, one in found if one.format is not None}):
        split_options(click.Context(command), "cat", get_format(format), values, given)
    options = {"names": names, "span": span, "values": values, "given": given}
    chosen = Targets(found, len(found), True)
    outcomes = each_target(run, ManyOptions(), "cat", on_found_archive, chosen, verb_of=cat_one, options=options)
    return worst(outcomes) if outcomes else ExitCode.NO


def cat_one(
    run: Run,
    target: str,
    *,
    names: tuple[str, ...],
    span: tuple[int, int | None] | None,
    values: dict[str, object],
    given: frozenset[str],
) -> ExitCode | None:
    """Print the content of one archive.  Raises `click.UsageError` for unsupported options."""
    ctx = click.get_current_context(silent=True)
    await_beginning(run, target, "cat", values)  # with --follow: until the file can be recognized
    described = recognized_format(run, target)
    mine, opening = split_options(click.Context(command), "cat", described, values, given)
    with run.reading("cat"), run.open(target, **opening) as archive:
        if described.content != "members" and span is not None:
            raise click.UsageError("--range is for archives of members", ctx)
        cli = format_cli(described)
        if cli.cat is not None:
            return cli.cat(run, archive, names, cli.verb_options("cat", mine | _range(span, described.content)))
        if not isinstance(archive, MemberArchive):
            raise click.UsageError(f"{described.id} archives have no content that can be printed", ctx)
        cat_members(run, archive, names, *(span or (0, None)))
    return None


def _range(span: tuple[int, int | None] | None, content: str) -> dict[str, int | None]:
    """Return the arguments of a format's `cat` for --range, which only archives of members have."""
    start, stop = span or (0, None)
    return {"start": start, "stop": stop} if content == "members" else {}


def cat_members(
    run: Run, archive: MemberArchive, names: tuple[str, ...], start: int, stop: int | None, jobs: int = 1
) -> None:
    """Print members, all or those named, or parts of them, as one document with --json; `jobs` threads read."""
    from exhume.engines.extract import read_ahead

    whole = start == 0 and stop is None
    # Announced reads are fetched in few requests; `read_ahead` does the same for several jobs.
    if not names and whole and jobs == 1:
        archive.will_read_all()
    chosen = archive.match(names) if names else archive.names()
    files = [name for name in chosen if archive.stat(name).kind != "directory"]
    with closing(read_ahead(archive, files if whole else [], jobs)) as ahead:
        # Whole members come from `ahead` (None for one that is too large to hold, or damaged); others are read below.
        read = zip(files, ahead if whole else repeat(None), strict=whole)
        if run.machine:
            found = (
                (name, archive.read_member(name, start, stop) if data is None else bytes(data)) for name, data in read
            )
            print_members(run, archive, found, start)
            return
        for name, data in read:
            if data is None:
                cat_member(run, archive, name, start, stop, jobs)
            else:
                run.out.write(data)


def print_members(run: Run, archive: MemberArchive, found: Iterable[tuple[str, bytes]], start: int) -> None:
    """The document of members and their bytes, which begin at `start` of each."""
    items = ({"name": name, "start": start, "size": len(data), "content": data} for name, data in found)
    run.items("members", {"target": archive.name, "format": archive.format}, "members", items)


def cat_member(run: Run, archive: MemberArchive, name: str, start: int, stop: int | None, jobs: int) -> None:
    """Print one member (or part of it) in chunks."""
    size = archive.stat(name).size or 0
    end = size if stop is None else min(stop, size)
    if start == 0 and end == size:
        for chunk in archive.iter_member(name, jobs=jobs):
            run.out.write(chunk)
        return
    for at in range(start, end, STREAM_CHUNK):
        run.out.write(archive.read_member(name, at, min(end, at + STREAM_CHUNK)))
