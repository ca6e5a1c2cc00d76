"""`exhume formats`: what is supported, and how far."""

from __future__ import annotations

import click

from exhume.cli.about import about
from exhume.cli.params import Verb
from exhume.cli.runtime import Run, plain_options
from exhume.registry import formats


@click.command("formats", cls=Verb)
@plain_options
def command(run: Run) -> None:
    """List formats and capabilities, and the installed kernel and libraries."""
    rows = []
    for id, described in formats().items():
        can = ["identify", "read", "verify"]
        # Hooks, named as verbs, but for `locate`: carve.
        can += [verb for verb in ("create", "salvage", "locate", "recode") if described.has(verb)]
        rows.append(
            {
                "id": id,
                "title": described.title,
                "container": described.container,
                "content": described.content,
                "extensions": list(described.extensions),
                "codecs": list(described.codecs),
                "capabilities": ["carve" if verb == "locate" else verb for verb in can],
                "limitations": list(described.limitations),
            }
        )
    # Lines of JSON are all of one kind: only one document has the installation as well.
    here = about()
    if run.machine:
        run.items("formats", {} if run.ndjson else {"installation": here.to_dict()}, "formats", rows)
        return
    keys = ["id", "title", "capabilities", "codecs"]
    run.print_table(([row[key] for key in keys] for row in rows), keys)
    for row in rows:
        for limitation in row["limitations"]:
            run.print_wrapped(f"{row['id']}: {limitation}")
    for line in here.lines():
        run.print_wrapped(line)
