"""`exhume repair`: a new Ark manifest without unreadable splits, and with the messages of unclosed ones.

An Ark log consists of a manifest, which describes its channels, and of split files with the messages.  The index of a
split that its writer did not close states too few messages: the split is copied with a complete index.
"""

from __future__ import annotations

import click

from exhume.cli import ExitCode
from exhume.cli.formatcli import require_format
from exhume.cli.params import Verb
from exhume.cli.runtime import Run, common_options
from exhume.counts import counted


@click.command("repair", cls=Verb)
@click.argument("target", metavar="TARGET")
@click.option("--name", "name", help="Name of the new log (default: that of the old one).")
@click.option("--log", "log", metavar="GUID", help="GUID of one log, for a directory of several logs.")
@common_options
def command(run: Run, target: str, name: str | None, log: str | None) -> ExitCode | None:
    """Write a readable manifest for a damaged or unfinished Ark log.

    Every message is read.  The manifest is created next to the old one, which is not changed, nor are its splits.
    Exit code 3 if something was lost.
    """
    from exhume.formats.ark.reader import ArkArchive
    from exhume.formats.ark.repair import repair_log

    require_format(run, target, "repair", "ark")
    options = {"salvage": True, "unfinished": True, **({"log": log} if log else {})}
    with run.open(target, **options) as archive:
        if not isinstance(archive, ArkArchive):
            raise click.UsageError("repair needs one Ark log (choose one of several with --log)")
        with run.progress("repairing") as progress:
            report = repair_log(archive, name=name, progress=progress)
    # The path goes to standard output, for other programs; what happened goes to standard error.
    if run.machine:
        run.document("repair", {"target": target, **report.to_dict()})
    else:
        run.print(str(report.path))
        for finding in report.findings:
            run.note(str(finding))
        for split, reason in report.dropped.items():
            run.note(f"left out split {split}: {reason}")
        for old, new in report.rebuilt.items():
            run.note(f"split {old} was rebuilt as {new}")
        found = counted(report.recovered_messages, "messages")
        # Nothing may count the messages of a split that is missing.
        lost = f"at least {report.lost_messages}" if report.dropped else report.lost_messages
        run.note(f"{found} recovered that no index counted, {lost} lost")
    return ExitCode.LOSS if report.dropped or report.lost_messages else None
