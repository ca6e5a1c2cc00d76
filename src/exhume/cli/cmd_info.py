"""`exhume info`: what an archive says about itself.

`info_one` handles one target and may run in a worker (`exhume.cli.playback`).  A `Run` has the common options of the
verb, opens targets and prints.

Options that formats add to the verb arrive as `values`, by parameter name; `given` are the names of all options that
the user set.  `split_options` divides `values` for one format into the options of the verb (`mine`) and those of the
format's `open` (`opening`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import click

from exhume.archive import no_progress
from exhume.cli import ExitCode
from exhume.cli.formatcli import (
    FormatCommand,
    given_options,
    ksy_options,
    recognized_format,
    refuse_others,
    refuse_without_ksy,
    split_options,
)
from exhume.cli.many import ManyOptions, recursive_options
from exhume.cli.playback import one_or_several
from exhume.cli.runtime import Run, check_container, common_options
from exhume.errors import shorten
from exhume.redaction import redact

SHOWN = 200
"""Characters or bytes of a value of a header; JSON has all."""


@click.command("info", cls=FormatCommand, verb="info")
@click.argument("targets", nargs=-1, required=True, metavar="TARGET...")
@click.option(
    "--stats", is_flag=True, help="Also scan the archive for counts and sizes that its header does not state."
)
@ksy_options
@partial(recursive_options, also="With --stats also without it, of a zs, databundle or leveldb.")
@common_options
def command(
    run: Run,
    targets: tuple[str, ...],
    stats: bool,
    ksy: str | None,
    imports: tuple[str, ...],
    recursive: ManyOptions | None,
    jobs: int | None = None,
    **values: Any,
) -> ExitCode:
    """Show header, counts, codecs and versions of an archive.

    If the archive cannot be opened, show the values of its header.  Damage found on the way is reported, with exit code
    3.  For a full check, run verify.  With --recursive, an archive that an option does not apply to is reported, with
    exit code 1.

    With --ksy, show the values and lists of any file by a Kaitai Struct specification (extra: ksy).
    """
    given = given_options(click.get_current_context())
    # With --ksy a file by its specification, else a directory of archives, else the archives that are named.
    if ksy is not None:
        from exhume.cli.specified import info_specified

        refuse_others(given, frozenset())
        if len(targets) != 1:
            raise click.UsageError("--ksy takes one file")
        return info_specified(run, targets[0], ksy, imports)
    refuse_without_ksy(given)
    if jobs is not None and not stats:
        raise click.UsageError("--jobs is for --recursive and --stats", click.get_current_context(silent=True))
    options: dict[str, Any] = {"stats": stats, "values": values, "given": given}
    if recursive is not None:
        from exhume.cli.recursive import each_archive

        return each_archive(run, recursive, "info", info_one, targets, heading=True, **options)
    options["jobs"] = 1 if jobs is None else jobs
    return one_or_several(run, "info", info_one, targets, check=_opening, **options)


def _opening(run: Run, target: str, *, values: dict[str, Any], given: frozenset[str], **_: object) -> dict[str, Any]:
    """The options for opening a target.  Raises `click.UsageError` for those that do not apply to its format."""
    described = recognized_format(run, target)
    _, opening = split_options(click.Context(command), "info", described, values, given)
    return opening


def info_one(
    run: Run, target: str, *, stats: bool, values: dict[str, Any], given: frozenset[str], jobs: int = 1
) -> ExitCode:
    """Print the header, counts and versions of one archive, and with `stats` what a scan finds.

    Returns LOSS if damage was found on the way.
    """
    opening = _opening(run, target, values=values, given=given)
    with run.reading("info"), run.inspect(target, **opening) as archive:
        statistics = {"statistics": archive.stats(jobs=jobs)} if stats else {}
        info = archive.info()  # after `stats`, whose scan may have filled in values
        outcome = run.report_problems(archive)
        # The MD5 of an EWF image is not compared here, which would read all of its content; a note states that.
        check_container(run, archive.source, no_progress, unless="verify compares it with the one that is stored")
        body: dict[str, Any] = {"target": redact(target), "format": archive.format, **info.to_dict(), **statistics}
    if run.machine:
        run.document("info", body)
    else:
        body.pop("findings", None)  # printed as text
        body.pop("verdict", None)
        if "fields" in body:  # values of the header of an archive that cannot be opened
            body["fields"] = _shortened(body["fields"])
        run.print_values(body)
        if info.omitted:
            run.note(info.omitted)
    return outcome


def _shortened(values: Any) -> Any:
    """Values with long strings and bytes, such as a schema registry, reduced to their beginning."""
    if isinstance(values, Mapping):
        return {key: _shortened(value) for key, value in values.items()}
    return shorten(values, SHOWN) if isinstance(values, (str, bytes)) and len(values) > SHOWN else values
