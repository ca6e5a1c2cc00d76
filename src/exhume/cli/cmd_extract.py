"""`exhume extract`: members to a directory or a tar stream."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from exhume.archive import MemberArchive, Progress
from exhume.cli import ExitCode
from exhume.cli.formatcli import FormatCommand, recognized_format, split_options
from exhume.cli.params import Jobs
from exhume.cli.render import human_size
from exhume.cli.runtime import Run, common_options
from exhume.errors import ExhumeError

if TYPE_CHECKING:
    from exhume.engines.extract import ExtractReport


@click.command("extract", cls=FormatCommand, verb="extract")
@click.argument("target", metavar="TARGET")
@click.argument("names", nargs=-1, metavar="[NAME...]")
@click.option("-o", "--output", metavar="DIR", help="Directory to extract into (made when missing).")
@click.option("--tar", "tar", metavar="FILE", help="Write a tar archive instead ('-': standard output).")
@click.option(cls=Jobs)
@click.option("--overwrite", is_flag=True, help="Replace existing files.")
@common_options
def command(
    run: Run,
    target: str,
    names: tuple[str, ...],
    output: str | None,
    tar: str | None,
    jobs: int,
    overwrite: bool,
    **values: Any,
) -> ExitCode:
    """Extract members to a directory or tar file.

    Names that would lead outside the directory are rejected and reported; exit code 3 if anything was omitted.
    """
    ctx = click.get_current_context()
    if (output is None) == (tar is None):
        raise click.UsageError("give either -o DIR or --tar FILE", ctx)
    if run.machine and tar == "-":
        raise click.UsageError("--json reports on a file or directory: standard output has the tar archive", ctx)
    described = recognized_format(run, target)
    _, opening = split_options(ctx, "extract", described, values)
    with run.open(target, **opening) as archive:
        if not isinstance(archive, MemberArchive):
            raise click.UsageError(f"{described.id} archives contain records, not members: use cat or export", ctx)
        chosen = archive.match(names) if names else None  # None: all members
        with run.progress("extract", None if chosen is None else partial(_stored_size, archive, chosen)) as progress:
            report = _extract(
                run, archive, chosen, output or tar or "",
                is_tar=output is None, overwrite=overwrite, jobs=jobs, progress=progress,
            )  # fmt: skip
    if run.machine:
        run.document("extract", {"target": target, "output": output or tar, **report.to_dict()})
    else:
        for name, error in report.refused:
            click.echo(f"exhume: not extracted: {error}" + ("" if name in str(error) else f" ({name!r})"), err=True)
        run.note(f"{report.extracted} extracted ({human_size(report.bytes)}), {len(report.refused)} left out")
    return ExitCode.DONE if report.ok else ExitCode.LOSS


def _extract(
    run: Run,
    archive: MemberArchive,
    names: list[str] | None,
    output: str,
    *,
    is_tar: bool,
    overwrite: bool,
    jobs: int,
    progress: Progress,
) -> ExtractReport:
    """Extract members (None: all) to a directory, or to a tar file or stream (`-`)."""
    from exhume.engines.extract import extract
    from exhume.io.output.tree import OutputTree, TarSink

    if not is_tar:
        with OutputTree(output, overwrite=overwrite, limits=run.limits) as tree:
            return extract(archive, tree, names, jobs=jobs, progress=progress)
    if output == "-":
        with TarSink(run.out.require_binary(), limits=run.limits) as sink:
            report = extract(archive, sink, names, jobs=jobs, progress=progress)
        sys.stdout.buffer.flush()
        return report
    from exhume.io.output.atomic import AtomicFile

    # The file gets its name when it is complete.
    with AtomicFile(output, overwrite=overwrite) as file, TarSink(file.file, limits=run.limits) as sink:
        return extract(archive, sink, names, jobs=jobs, progress=progress)


def _stored_size(archive: MemberArchive, names: list[str]) -> int | None:
    """The bytes of the archive that the members take; None if they have to be decoded, or one cannot be looked up.

    Used as the total of the progress bar, which counts bytes read from the archive.
    """
    try:
        ranges = [archive.stored_range(name) for name in names]
    except ExhumeError:
        return None
    sizes = [end - start for _, start, end in filter(None, ranges)]
    return sum(sizes) if len(sizes) == len(names) else None
