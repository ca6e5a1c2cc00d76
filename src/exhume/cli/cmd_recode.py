"""`exhume recode`: the same archive with other codec settings.

A codec compresses the payloads of an archive (deflate, zstd ...).
"""

from __future__ import annotations

from typing import Any

import click

from exhume.choices import hint
from exhume.cli import ExitCode
from exhume.cli.formatcli import FormatCommand, recognized_format, split_options
from exhume.cli.params import Jobs
from exhume.cli.render import human_size, printable
from exhume.cli.runtime import Run, common_options


@click.command("recode", cls=FormatCommand, verb="recode")
@click.argument("target", metavar="TARGET")
@click.option("-o", "--output", required=True, metavar="OUT", help="The new archive; must not exist.")
@click.option(
    "--stored", is_flag=True, help="Wrap payloads in raw blocks: native tools read it, hex tools show every byte."
)
@click.option(cls=Jobs)
@common_options
def command(run: Run, target: str, output: str, stored: bool, jobs: int, **values: Any) -> ExitCode:
    """Recompress an archive and verify that its content is unchanged.

    OUT gets another codec, level, block or record size.  It is verified, and its content digest compared with that of
    TARGET, before it appears.
    """
    from exhume.engines.recode import recode

    described = recognized_format(run, target)
    # Codec, level, block size: options that the format contributes.
    mine, _ = split_options(click.get_current_context(), "recode", described, values)
    given = {name: value for name, value in mine.items() if value is not None}
    codec = given.get("codec", "")
    if codec and codec not in described.codecs:
        known = ", ".join(described.codecs)
        raise click.UsageError(f"{described.id} has no codec {codec!r}{hint(codec, described.codecs)}: one of {known}")
    with run.take_source(target) as source, run.progress("recode") as progress:
        report = recode(
            source, output, format=described.id, stored=stored, limits=run.limits, jobs=jobs, progress=progress, **given
        )
    if run.machine:
        run.document("recode", {"target": target, **report.to_dict()})
    else:
        run.print(f"{printable(output)}: {human_size(report.size_before)} -> {human_size(report.size_after)}")
        run.print_wrapped(f"content verified, the same in both: {report.content_digest}")
    return ExitCode.DONE
