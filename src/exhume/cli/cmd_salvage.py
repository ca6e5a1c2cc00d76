"""`exhume salvage`: rebuild what survives of a damaged archive, and account for the rest."""

from __future__ import annotations

from typing import Any

import click

from exhume.cli.formatcli import FormatCommand, split_options
from exhume.cli.outcome import Outcome
from exhume.cli.render import printable
from exhume.cli.runtime import Run, common_options
from exhume.jsonout import dumps
from exhume.recovery import SalvageReport


@click.command("salvage", cls=FormatCommand, verb="salvage")
@click.argument("target", metavar="TARGET")
@click.option(
    "-o", "--output", required=True, metavar="OUT", help="The new archive, directory or file; must not exist."
)
@click.option("--as-files", is_flag=True, help="Write surviving members as files below OUT.")
@click.option("--jsonl", is_flag=True, help="Write surviving records as JSON lines to OUT.")
@click.option("--report", metavar="FILE", help="Also write the full report as JSON ('-': standard output).")
@common_options
def command(
    run: Run, target: str, output: str, as_files: bool, jsonl: bool, report: str | None, **values: Any
) -> Outcome:
    """Rebuild what survives of TARGET at OUT, never in place, and say what was lost and why.

    Exit code 3 when anything was lost, 1 when what was written does not verify.
    """
    from exhume.engines.identify import identify_source
    from exhume.engines.salvage import salvage
    from exhume.output import AtomicFile
    from exhume.recovery import SalvageMode
    from exhume.registry import get_format

    ctx = click.get_current_context()
    if as_files and jsonl:
        raise click.UsageError("--as-files and --jsonl exclude each other", ctx)
    mode = SalvageMode.FILES if as_files else SalvageMode.RECORDS if jsonl else SalvageMode.ARCHIVE
    with run.take_source(target) as source:
        guesses = [run.as_format] if run.as_format else [c.format for c in identify_source(source)]
        mine: dict[str, Any] = {}
        if guesses:
            mine, _ = split_options(ctx, "salvage", get_format(guesses[0]), values)
        with run.progress("salvage") as progress:
            result = salvage(
                source,
                output,
                format=guesses[0] if guesses else None,
                mode=mode,
                limits=run.limits,
                progress=progress,
                **mine,
            )
    document = {"target": target, **result.to_dict()}
    if report is not None and report != "-":
        with AtomicFile(report) as file:
            file.file.write((dumps({"schema": "exhume.salvage/1", **document}, pretty=True) + "\n").encode())
    if run.machine or report == "-":
        run.document("salvage", document)
    else:
        _say(run, result)
    if not result.verified:
        return Outcome.FAILED
    return Outcome.DONE if result.complete else Outcome.LOSS


def _say(run: Run, result: SalvageReport) -> None:
    counts = [f"{n} {kind}" for kind, n in result.recovered.items() if n]
    run.say(f"recovered: {', '.join(counts) or 'nothing'}")
    lost = [f"{n} {kind}" for kind, n in result.lost.items() if n]
    run.say(f"lost: {', '.join(lost) or 'nothing'}")
    for fate in result.spans:
        if run.verbose or str(fate.fate) == "lost":
            why = f" ({fate.why})" if fate.why else ""
            run.say(f"  {fate.fate}: {printable(str(fate.span))}, {fate.span.size} bytes: {printable(fate.what)}{why}")
    for note in result.notes:
        run.say(f"note: {printable(note)}")
    for finding in result.findings:
        run.say(f"the output does not verify: {printable(str(finding))}")
    if result.verified:
        run.say(f"{printable(result.output)}: written and verified")
