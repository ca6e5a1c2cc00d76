"""What clp-s adds to the command line."""

from __future__ import annotations

from collections.abc import Iterator
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
    """Prints the records of the archive, then those of further archives given as NAMES."""
    for chunk in _chunks(run, archive, names, options):
        run.out.write(chunk)


def _chunks(run: Any, archive: Any, names: tuple[str, ...], options: dict[str, Any]) -> Iterator[bytes]:
    chosen = {"ordered": options["ordered"], "complete": options["complete"], "jobs": options["jobs"]}
    if options["ordered"] and archive.schema_tree.log_event_idx is None:
        run.note("this archive was made without log order: records come in table order")
    yield from archive.json_chunks(**chosen)
    for name in names:
        with run.open(name) as further:
            yield from further.json_chunks(**chosen)
