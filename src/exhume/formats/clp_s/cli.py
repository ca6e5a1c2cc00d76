"""What clp-s adds to the command line."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import click

OPTIONS = {
    "cat": [
        click.Option(["--ordered"], is_flag=True, help="Records in the order in which they were compressed."),
        click.Option(["--complete"], is_flag=True, help="Also what clp-s does not print: root arrays, auto keys."),
        click.Option(["--jobs", "-j"], type=click.IntRange(min=0), default=1, help="Threads (0: one per core)."),
    ],
}


def cat(run: Any, archive: Any, names: tuple[str, ...], options: dict[str, Any]) -> None:
    """Prints the records of the archive and of further archives given as NAMES; see `Dataset` for their order."""
    from exhume.formats.clp_s.dataset import Dataset

    chosen = {"ordered": options["ordered"], "complete": options["complete"], "jobs": options["jobs"]}
    with ExitStack() as stack:
        archives = [archive, *(stack.enter_context(run.open(name)) for name in names)]
        if options["ordered"] and any(one.schema_tree.log_event_idx is None for one in archives):
            run.note("made without log order: records come in table order")
        for chunk in Dataset(archives).json_chunks(**chosen):
            run.out.write(chunk)
