"""`exhume search`: records that match a query, in the query language of the format."""

from __future__ import annotations

from typing import Any

import click

from exhume.cli.formatcli import FormatCommand, format_cli, recognised_format, split_options
from exhume.cli.outcome import Outcome
from exhume.cli.runtime import Run, common_options
from exhume.cli.searching import search


@click.command("search", cls=FormatCommand, verb="search")
@click.argument("targets", nargs=-1, required=True, metavar="TARGET...")
@click.argument("query", metavar="QUERY")
@click.option("--exit-status", is_flag=True, help="Exit code 4 when nothing matches.")
@common_options
def command(run: Run, targets: tuple[str, ...], query: str, exit_status: bool, **values: Any) -> Outcome | None:
    """Print what matches QUERY in each TARGET.

    clp-s takes KQL, zs a prefix, ark a topic pattern, leveldb a key prefix.
    """
    ctx = click.get_current_context()
    kinds = {recognised_format(run, target).id: target for target in targets}
    if len(kinds) > 1:
        raise click.UsageError(f"targets of one format at a time, not {', '.join(sorted(kinds))}", ctx)
    described = recognised_format(run, targets[0])
    searcher = getattr(format_cli(described), "search", None)
    if searcher is None:
        raise click.UsageError(f"{described.id} archives cannot be searched", ctx)
    mine, opening = split_options(ctx, "search", described, values)
    return search(run, searcher, targets, query, mine, opening, exit_status=exit_status)
