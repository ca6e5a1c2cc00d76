"""`exhume info`: what an archive says about itself."""

from __future__ import annotations

from typing import Any

import click

from exhume.cli.formatcli import FormatCommand, recognised_format, split_options
from exhume.cli.render import key_values
from exhume.cli.runtime import Run, common_options


@click.command("info", cls=FormatCommand, verb="info")
@click.argument("target", metavar="TARGET")
@click.option("--stats", is_flag=True, help="Also scan the archive for counts and sizes that its header does not hold.")
@common_options
def command(run: Run, target: str, stats: bool, **values: Any) -> None:
    """Show header, counts, codecs, versions and ranges of the archive TARGET."""
    ctx = click.get_current_context()
    described = recognised_format(run, target)
    _, opening = split_options(ctx, "info", described, values)
    with run.open(target, **opening) as archive:
        statistics = {"statistics": archive.stats()} if stats else {}
        info = archive.info()  # which may know more then
        body: dict[str, Any] = {"target": target, "format": archive.format, **info.to_dict(), **statistics}
    if run.machine:
        run.document("info", body)
    else:
        for line in key_values(body):
            run.say(line)
        if info.left_out:
            run.note(info.left_out)
