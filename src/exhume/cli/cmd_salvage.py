"""`exhume salvage`: rebuild what survives of a damaged archive, and account for the rest.

`salvage_one` handles one of several targets and may run in a worker (`exhume.cli.playback`).  A `Run` has the common
options of the verb, opens targets and prints.

`many` has the options for several targets, such as --jobs and --cluster (`ManyOptions`); its method `targets` returns
those to work on (`chosen`), one (`only`) or several.
"""

from __future__ import annotations

import contextlib
from typing import Any

import click

from exhume.cli import ExitCode
from exhume.cli.formatcli import FormatCommand, given_options, split_options
from exhume.cli.many import ManyOptions, many_options, prepare_directory, sweep, synced_together
from exhume.cli.playback import check_each, each_target, worst
from exhume.cli.render import printable, shown
from exhume.cli.runtime import Run, common_options
from exhume.counts import counted
from exhume.findings import Severity, Verdict
from exhume.io.jsonout import dumps
from exhume.recovery import SalvageReport, VerifiedBy
from exhume.redaction import redact
from exhume.registry import get_format


@click.command("salvage", cls=FormatCommand, verb="salvage")
@click.argument("targets", nargs=-1, metavar="TARGET...")
@click.option(
    "-o", "--output", required=True, metavar="OUT", help="The new archive, directory or file; must not exist."
)
@click.option("--as-files", is_flag=True, help="Write surviving members as files below OUT.")
@click.option("--jsonl", is_flag=True, help="Write surviving records as JSON lines to OUT.")
@click.option("--report", metavar="FILE", help="Also write the full report as JSON ('-': standard output).")
@many_options
@common_options
def command(
    run: Run,
    targets: tuple[str, ...],
    many: ManyOptions,
    output: str,
    as_files: bool,
    jsonl: bool,
    report: str | None,
    **values: Any,
) -> ExitCode:
    """Recover what is intact into a new archive and report all losses.

    With several targets OUT is a new or empty directory that gets an output per target, named after it, and --report
    is not available (use --json).  Exit code 3 if anything was lost, 1 if a target could not be read, nothing of it
    survives, or the output does not verify.  The report states how the content of OUT was verified: by checksums of the
    original, by decoding it again, or not at all, if the format provides no way to check it.
    """
    from exhume.io.output.atomic import AtomicFile

    ctx = click.get_current_context()
    if as_files and jsonl:
        raise click.UsageError("--as-files and --jsonl exclude each other", ctx)
    chosen = many.targets(run, targets)
    options: dict[str, Any] = {"as_files": as_files, "jsonl": jsonl, "values": values, "given": given_options(ctx)}
    # One target: its output, its report, and what it shows.
    if not chosen.several:
        document, result = _salvage(run, chosen.only, output, jobs=many.jobs, **options)
        if report is not None and report != "-":
            with AtomicFile(report) as file:
                file.file.write((dumps({"schema": "exhume.salvage/1", **document}, pretty=True) + "\n").encode())
        if run.machine or report == "-":
            run.document("salvage", document)
        else:
            _print_result(run, result)
        return _outcome(result)
    if report is not None:
        raise click.UsageError("--report is for one target: several have their reports in --json or --ndjson", ctx)
    # Several: a directory with an output for each; options are checked before it is made.
    check_each(run, _format_options, chosen.names, **options)
    folder = prepare_directory(output)
    chosen = chosen.with_outputs(".jsonl" if jsonl else "", keep_extension=not (jsonl or as_files))
    with synced_together(folder, local=many.cluster is None) as together:
        try:
            options |= {"folder": str(folder), "together": together}
            outcomes = each_target(run, many, "salvage", salvage_one, chosen, closing="salvaged", **options)
        finally:
            sweep(folder)
    return worst(outcomes)


def salvage_one(run: Run, target: tuple[str, str], *, folder: str, together: bool, **options: Any) -> ExitCode:
    """Salvage one of several targets to a name of its own below `folder`, to which no other process writes."""
    from pathlib import Path

    from exhume.io.output.atomic import postponed
    from exhume.io.output.scratch import discard

    name, output_name = target
    output = Path(folder) / output_name
    # An earlier attempt may have left files when its worker died.
    discard(output)
    # `together`: outputs are synced to disk together at the end, so this one does not wait for the disk.
    with postponed() if together else contextlib.nullcontext():
        document, result = _salvage(run, name, str(output), **options)
    if run.machine:
        run.document("salvage", document)
    else:
        run.print(f"{shown(name)}:")
        _print_result(run, result)
    return _outcome(result)


def _salvage(
    run: Run,
    target: str,
    output: str,
    *,
    as_files: bool,
    jsonl: bool,
    values: dict[str, Any],
    given: frozenset[str],
    jobs: int = 1,
) -> tuple[dict[str, Any], SalvageReport]:
    """Salvage one target to `output`, and return the body of its JSON document and the report.

    `values` are the format's options, `given` the names of those that the user set; `as_files` and `jsonl` are the
    options of these names.
    """
    from exhume.engines.salvage import salvage
    from exhume.recovery import SalvageMode

    mode = SalvageMode.FILES if as_files else SalvageMode.RECORDS if jsonl else SalvageMode.ARCHIVE
    format, mine = _format_options(run, target, values=values, given=given)
    with run.take_source(target) as source, run.progress("salvage") as progress:
        result = salvage(
            source,
            output,
            format=format,
            mode=mode,
            limits=run.limits,
            progress=progress,
            jobs=jobs,
            **mine,
        )
    return {"target": redact(target), **result.to_dict()}, result


def _format_options(
    run: Run, target: str, *, values: dict[str, Any], given: frozenset[str], **_: object
) -> tuple[str | None, dict[str, Any]]:
    """The format of a target, None if unknown, and the options of `salvage` that it takes."""
    from exhume.engines.identify import identify_source

    found = run.as_format or next((one.format for one in identify_source(run.source(target))), None)
    if found is None:
        return None, {}
    mine, _ = split_options(click.Context(command), "salvage", get_format(found), values, given)
    return found, mine


def _outcome(result: SalvageReport) -> ExitCode:
    """Return FAILED for a wrong or empty output, LOSS if something was lost or could not be checked, else DONE."""
    if result.verified_by is VerifiedBy.FAILED or (result.verified_by is VerifiedBy.EMPTY and not result.complete):
        return ExitCode.FAILED
    return ExitCode.DONE if result.complete and result.verdict is Verdict.OK else ExitCode.LOSS


def _print_result(run: Run, result: SalvageReport) -> None:
    """Print what was recovered and lost, and what the output was checked against."""
    counts = [counted(count, kind) for kind, count in result.recovered.items() if count]
    run.print(f"recovered: {', '.join(counts) or 'nothing'}")
    lost = [counted(count, kind) for kind, count in result.lost.items() if count]
    # Without checksums of the original, lost content may leave no trace.
    nothing = "nothing" if result.verified_by is VerifiedBy.CHECKSUMS else "nothing that would show"
    run.print(f"lost: {', '.join(lost) or nothing}")
    for outcome in result.spans:
        if run.verbose or str(outcome.outcome) == "lost":
            why = f" ({outcome.reason})" if outcome.reason else ""
            size = counted(outcome.span.size, "bytes")
            where = f"{printable(str(outcome.span))}, {size}"
            run.print_wrapped(f"  {outcome.outcome}: {where}: {printable(outcome.content)}{why}")
    for note in result.notes:
        run.print_wrapped(f"note: {printable(note)}")
    for finding in result.findings:
        problem = "does not verify" if finding.severity is Severity.ERROR else "could not be verified completely"
        run.print_wrapped(f"the output {problem}: {printable(str(finding))}")
    if result.read_back:  # the number of things of the kind that was recovered
        units = get_format(result.format).units
        kind = next((kind for kind in units if result.recovered[kind]), units[0])
        run.print(f"read back: {counted(result.read_back, kind)}")
    partly = result.verified_by is VerifiedBy.CHECKSUMS and not result.complete
    run.print_wrapped(f"{printable(result.output)}: {_PARTLY if partly else _VERIFIED[result.verified_by]}")


# The last line of the result, by what the content of the output was checked against.
_PARTLY = "written; the part that was recovered matches the original's checksums"
_VERIFIED = {
    VerifiedBy.CHECKSUMS: "written; its content matches the original's checksums",
    VerifiedBy.STRUCTURE: "written; content decoded without errors, but no checksum covers it",
    VerifiedBy.NONE: "written; the format provides no way to verify the content",
    VerifiedBy.FAILED: "written, but it does not verify",
    VerifiedBy.EMPTY: "no content recovered",
}
