"""`exhume snippet`: a new Ark manifest that shows part of a log, over the same split files.

An Ark log consists of a manifest, which describes its channels, and of split files with the messages.
"""

from __future__ import annotations

import click

from exhume.cli.formatcli import require_format
from exhume.cli.params import NS, Verb
from exhume.cli.runtime import Run, common_options


@click.command("snippet", cls=Verb)
@click.argument("target", metavar="TARGET")
@click.option("--start-ns", "start_ns", type=NS, help="First time, nanoseconds of the log's clock.")
@click.option("--stop-ns", "stop_ns", type=NS, help="Time to stop before, nanoseconds.")
@click.option(
    "--topic", "topic", multiple=True, metavar="NAME", help="Only this channel: name, glob or regular expression."
)
@click.option(
    "--hide", "hide", multiple=True, metavar="NAME", help="Not this channel: name, glob or regular expression."
)
@click.option("--name", "name", help="Name of the new log (default: that of the old one).")
@click.option("--log", "log", metavar="GUID", help="GUID of one log, for a directory of several logs.")
@click.option(
    "-o",
    "--output",
    "output",
    metavar="FILE",
    help="Path of the manifest (default: next to the old one).",
)
@common_options
def command(
    run: Run,
    target: str,
    start_ns: int | None,
    stop_ns: int | None,
    topic: tuple[str, ...],
    hide: tuple[str, ...],
    name: str | None,
    log: str | None,
    output: str | None,
) -> None:
    """Write a manifest for part of an Ark log, without copying data."""
    from exhume.formats.ark.derive import write_snippet
    from exhume.formats.ark.reader import ArkArchive

    require_format(run, target, "snippet", "ark")
    with run.open(target, **({"log": log} if log else {})) as archive:
        if not isinstance(archive, ArkArchive):
            raise click.UsageError("snippet needs one Ark log (choose one of several with --log)")
        made = write_snippet(
            archive, start_ns=start_ns, stop_ns=stop_ns, allow=topic, deny=hide, name=name, path=output
        )
    if not (made.path.absolute().parent.parent / "splits").is_dir():
        run.note("the split files are expected in a directory `splits` next to that of the manifest; there is none")
    if run.machine:
        body = {"target": target, "manifest": str(made.path), "log_identifier": made.manifest.identifier}
        run.document("snippet", body)
    else:
        run.print(str(made.path))
