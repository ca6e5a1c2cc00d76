"""`exhume export`: an archive's content in the form of another ecosystem."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from typing import Any

import click

from exhume import export as _targets
from exhume.cli.formatcli import FormatCommand, format_cli, recognised_format, split_options
from exhume.cli.outcome import Outcome
from exhume.cli.runtime import Run, common_options
from exhume.registry import Format, resolve


def generic_targets() -> list[str]:
    """Names of the targets in `exhume.export`."""
    return sorted(m.name.replace("_", "-") for m in pkgutil.iter_modules(_targets.__path__) if m.name[0] != "_")


def exporter(described: Format, to: str) -> Callable[..., Any]:
    """The function that exports this format to `to`; raises a usage error that names what is possible."""
    own: dict[str, str] = getattr(format_cli(described), "EXPORTS", {})
    if to in own:
        found: Callable[..., Any] = resolve(described.package, own[to])
        return found
    possible = sorted(own)
    for name in generic_targets():
        module = importlib.import_module(f"{_targets.__name__}.{name.replace('-', '_')}")
        if module.ACCEPTS in ("any", described.content):
            if name == to:
                generic: Callable[..., Any] = module.export
                return generic
            possible.append(name)
    raise click.UsageError(
        f"{described.id} archives cannot be exported to {to!r}: one of {', '.join(sorted(possible))}"
    )


@click.command("export", cls=FormatCommand, verb="export")
@click.argument("target", metavar="TARGET")
@click.option("--to", "to", required=True, metavar="KIND", help="jsonl, csv, arrow, parquet, mcap, tar, zip, …")
@click.option(
    "-o", "--output", default="-", show_default=True, metavar="FILE", help="Where to write ('-': standard output)."
)
@click.option("--overwrite", is_flag=True, help="Replace an existing file.")
@common_options
def command(run: Run, target: str, to: str, output: str, overwrite: bool, **values: Any) -> Outcome:
    """Write the content of TARGET in another form.

    Exit code 3 when values had to be coerced or left out; the counts say which.
    """
    described = recognised_format(run, target)
    mine, opening = split_options(click.get_current_context(), "export", described, values)
    function = exporter(described, to)
    with run.open(target, **opening) as archive, run.progress(f"export to {to}") as progress:
        report = function(archive, output, overwrite=overwrite, progress=progress, **mine)
    if run.machine and output != "-":
        run.document("export", {"target": target, "to": to, "output": output, **report.to_dict()})
    else:
        run.note(", ".join(f"{n} {kind}" for kind, n in report.written.items()) or "nothing written")
        for kind, count in report.lost.items():
            if count:
                run.note(f"lost: {count} {kind}")
        for note in report.notes:
            run.note(note)
    return Outcome.DONE if report.complete else Outcome.LOSS
