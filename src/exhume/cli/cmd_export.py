"""`exhume export`: an archive's content in the form of another ecosystem.

A target of an export (Parquet, tar ...) is in `exhume.export.TARGETS`, or belongs to one format, as `exports` of its
command line (`exhume.cli.formatcli`).  `export_one` handles one of several archives and may run in a worker
(`exhume.cli.playback`).  A `Run` has the common options of the verb, opens archives and prints.

Options that formats add to the verb arrive as `values`, by parameter name; `given` are the names of all options that
the user set.  `split_options` divides `values` for one format into the options of the verb (`mine`) and those of the
format's `open` (`opening`).

`many` has the options for several targets, such as --jobs and --cluster (`ManyOptions`); its method `targets` returns
those to work on (`chosen`), one (`only`) or several.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

from exhume.choices import hint
from exhume.cli import ExitCode
from exhume.cli.formatcli import (
    FormatCommand,
    format_cli,
    given_options,
    ksy_options,
    recognized_format,
    refuse_others,
    refuse_without_ksy,
    split_options,
)
from exhume.cli.many import ManyOptions, many_options, prepare_directory, sweep, synced_together
from exhume.cli.playback import check_each, each_target, worst
from exhume.cli.render import shown
from exhume.cli.runtime import Run, common_options
from exhume.export import TARGETS
from exhume.late import resolve
from exhume.registry import Format, formats
from exhume.tabular import refuse_options


def all_targets() -> list[str]:
    """Names of the targets to which archives of at least one format can be exported."""
    own = (format_cli(described).exports for described in formats().values())
    return sorted({*TARGETS, *(name for table in own for name in table)})


def exporter(described: Format, to: str) -> tuple[Callable[..., Any], bool]:
    """Return the function that exports this format to `to`, and whether it takes the options of `to_arrow`.

    Raises `click.UsageError` that names the possible targets.
    """
    own = format_cli(described).exports
    if to in own:
        found: Callable[..., Any] = resolve(described.package, own[to])
        return found, False
    possible = sorted(own)
    # A target takes tables, which every format has, or only archives of members.
    for name, target in TARGETS.items():
        if target.accepts in ("tables", described.content):
            if name == to:
                return target.export(), target.accepts == "tables"
            possible.append(name)
    known = sorted(set(possible))
    raise click.UsageError(
        f"{described.id} archives cannot be exported to {to!r}{hint(to, known)}: one of {', '.join(known)}"
    )


def table_options(described: Format, to: str, given: dict[str, Any]) -> dict[str, Any]:
    """The options of `to_arrow` for those of the command line; raises `WriterError` for one that does not apply."""
    # The format takes its options out of `left`; any that remain do not apply to a table.
    left = {name: value for name, value in given.items() if value is not None and value is not False and value != ()}
    taken = format_cli(described).table_options(left)
    refuse_options(to, left)
    return taken


def split_columns(texts: tuple[str, ...]) -> list[str]:
    """The names in comma-separated strings; a comma inside a name is escaped by a backslash."""
    return [re.sub(r"\\,", ",", name) for text in texts for name in re.split(r"(?<!\\),", text)]


@click.command("export", cls=FormatCommand, verb="export")
@click.argument("targets", nargs=-1, metavar="TARGET...")
@click.option(
    "--to",
    "to",
    metavar="KIND",
    help="jsonl, csv, arrow, parquet, timesketch, tar, zip, mcap or fsspec-reference (default: as FILE ends).",
)
@click.option(
    "-o", "--output", default="-", show_default=True, metavar="FILE", help="Where to write ('-': standard output)."
)
@click.option("--overwrite", is_flag=True, help="Replace existing files.")
@click.option(
    "--columns", multiple=True, metavar="NAME[,NAME...]", help="Tables: only these columns, in this order (repeatable)."
)
@click.option("--time", metavar="NAME[:UNIT]", help="Timesketch: column of the time; integers with s, ms, us or ns.")
@click.option("--message", metavar="NAME", help="Timesketch: column that is the message (default: message).")
@click.option("--clock-start", metavar="TIME", help="Timesketch: UTC time at which the clock of an Ark log was 0.")
@partial(ksy_options, path="With --ksy: the list that becomes a table, such as packets or tables[2].rows.")
@many_options
@common_options
def command(
    run: Run,
    targets: tuple[str, ...],
    many: ManyOptions,
    to: str | None,
    output: str,
    overwrite: bool,
    columns: tuple[str, ...],
    time: str | None,
    message: str | None,
    clock_start: str | None,
    ksy: str | None,
    imports: tuple[str, ...],
    path: str | None,
    **values: Any,
) -> ExitCode:
    """Convert archives to Parquet, Arrow, CSV, JSON lines, MCAP, tar or zip.

    With several targets FILE is a directory (new or empty without --overwrite). It gets a file per target, named after
    it, or a file per channel of one Ark log.  Exit code 3 if values had to be coerced or omitted; the counts name the
    kinds.

    With --ksy, export a list in any file by a Kaitai Struct specification: arrow, csv, jsonl, parquet (extra: ksy).
    """
    ctx = click.get_current_context()
    to = to or _named_by(output)
    # A file by its specification; most options are for archives only.
    if ksy is not None:
        form: dict[str, Any] = {"to": to, "overwrite": overwrite, "columns": split_columns(columns)}
        return _export_specified(run, targets, output, ksy, imports, path, form)
    refuse_without_ksy(given_options(ctx))
    chosen = many.targets(run, targets)
    # Options of --to timesketch, a timeline of events.
    events = {"time": time, "message": message, "clock_start": clock_start}
    events = {name: value for name, value in events.items() if value is not None}
    if not events.keys() <= set(TARGETS[to].options if to in TARGETS else ()):
        names = ", ".join(f"--{name.replace('_', '-')}" for name in events)
        raise click.UsageError(f"{names}: only for --to timesketch")
    options: dict[str, Any] = {"to": to, "columns": columns, "values": values, "given": given_options(ctx), **events}
    if not chosen.several:
        values["jobs"] = many.jobs
        return _export(run, chosen.only, output, overwrite=overwrite, **options)
    # Several targets: a directory with an output for each, whose options are checked before it is made.
    _refuse_file(output, to)
    check_each(run, _planned, chosen.names, **options)
    folder = prepare_directory(output, overwrite=overwrite)
    chosen = chosen.with_outputs(f".{TARGETS[to].suffix if to in TARGETS else to}", keep_extension=False)
    with synced_together(folder, local=many.cluster is None, overwrite=overwrite) as together:
        try:
            options |= {"folder": str(folder), "overwrite": overwrite, "together": together}
            outcomes = each_target(run, many, "export", export_one, chosen, closing="exported", **options)
        finally:
            sweep(folder)
    return worst(outcomes)


def _export_specified(
    run: Run,
    targets: tuple[str, ...],
    output: str,
    ksy: str,
    imports: tuple[str, ...],
    path: str | None,
    form: dict[str, Any],
) -> ExitCode:
    """Export a list in a file by a specification; `form`: options on the form of the output."""
    from exhume.cli.specified import export_specified

    refuse_others(given_options(click.get_current_context()), frozenset(("to", "output", "overwrite", "columns")))
    if len(targets) != 1:
        raise click.UsageError("--ksy takes one file")
    if run.machine and output == "-":
        raise click.UsageError("--json requires -o FILE")
    return export_specified(run, targets[0], output, ksy, imports, path, **form)


def _named_by(output: str) -> str:
    """The target that the ending of the output names.  Raises `click.UsageError` where it names none."""
    ending = output.rpartition(".")[2]
    known = [name for name in all_targets() if name not in TARGETS or TARGETS[name].suffix == name]
    if "." not in output or ending not in known:
        if output.endswith("/"):
            raise click.UsageError(f"a directory needs --to: one of {', '.join(all_targets())}")
        raise click.UsageError(f"without --to, FILE has to end in one of {', '.join(known)}")
    return ending


def _refuse_file(output: str, to: str) -> None:
    """Raise `click.UsageError` for an output that is named like a file where several targets need a directory."""
    stem, dot, ending = output.rpartition(".")
    if dot and ending in (to, *(target.suffix for target in TARGETS.values())) and not Path(output).is_dir():
        raise click.UsageError(f"several targets make a file each: name a directory, -o {stem or 'DIR'}/")


def export_one(
    run: Run, target: tuple[str, str], *, folder: str, overwrite: bool, together: bool, **options: Any
) -> ExitCode:
    """Export one of several targets to a name of its own below `folder`, to which no other process writes."""
    from exhume.io.output.atomic import postponed
    from exhume.io.output.scratch import discard

    output = Path(folder) / target[1]  # `target` is its name, and that of its output
    if not overwrite:  # an earlier attempt may have left files when its worker died
        discard(output)
    # `together`: outputs are synced to disk together at the end, so this one does not wait for the disk.
    with postponed() if together else contextlib.nullcontext():
        return _export(run, target[0], str(output), overwrite=overwrite, **options)


def _export(
    run: Run,
    target: str,
    output: str,
    *,
    to: str,
    columns: tuple[str, ...],
    overwrite: bool,
    values: dict[str, Any],
    given: frozenset[str],
    **events: str,
) -> ExitCode:
    """Export one target.  `values` are the format's options, `given` those set by the user, `events` the timeline's.

    Raises `UsageError` for options that the format or the target does not have.
    """
    if run.machine and output == "-":
        raise click.UsageError("--json requires -o FILE: the exported data goes to standard output")
    function, mine, opening = _planned(run, target, to=to, columns=columns, values=values, given=given)
    with run.open(target, **opening) as archive, run.progress(f"export to {to}") as progress:
        report = function(archive, output, overwrite=overwrite, progress=progress, **mine, **events)
    lead = f"{shown(target)}: " if run.several else ""
    if run.machine:
        run.document("export", {"target": target, "export_format": to, "output": output, **report.to_dict()})
    else:
        for line in report.lines():
            run.note(lead + line)
    return ExitCode.DONE if report.complete else ExitCode.LOSS


def _planned(
    run: Run,
    target: str,
    *,
    to: str,
    columns: tuple[str, ...],
    values: dict[str, Any],
    given: frozenset[str],
    **_: object,
) -> tuple[Callable[..., Any], dict[str, Any], dict[str, Any]]:
    """The function that exports a target, and the options for it and for opening the target.

    Raises `UsageError` for options that the format or the target does not have.
    """
    described = recognized_format(run, target)
    values = dict(values)  # the given mapping is shared by all targets, and `jobs` may be removed below
    jobs = values.get("jobs", 1)
    if not any(one.name == "jobs" for one in format_cli(described).options.get("export", ())):
        values.pop("jobs", None)  # the format's own export has one thread; targets that take `jobs` get it below
    mine, opening = split_options(click.Context(command), "export", described, values, given)
    function, is_table = exporter(described, to)
    if is_table:
        mine = table_options(described, to, mine)
    if (to in TARGETS and "jobs" in TARGETS[to].options) or (is_table and described.content == "members"):
        mine["jobs"] = jobs
    if columns:
        mine["columns"] = split_columns(columns)
    return function, mine, opening
