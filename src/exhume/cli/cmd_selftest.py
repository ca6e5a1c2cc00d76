"""`exhume selftest`: test this installation on this machine, and write a record of the results."""

from __future__ import annotations

import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exhume.cli import ExitCode
from exhume.cli.params import Verb, Whole
from exhume.cli.runtime import Run, plain_options
from exhume.counts import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from exhume.io.output.atomic import AtomicDirectory
    from exhume.testing.selftest import Row


@click.command("selftest", cls=Verb)
@click.option("-o", "--output", metavar="DIR", help="Also write report.json and report.html into this new directory.")
@click.option(
    "--count", type=Whole(1), default=40, show_default=True, help="Number of damages and faults of each kind."
)
@click.option(
    "--seed",
    type=int,
    metavar="N",
    default=1,
    show_default=True,
    help="Seed of the random choice of damages and faults.",
)
@plain_options
def command(run: Run, output: str | None, count: int, seed: int) -> ExitCode:
    """Test this installation with damaged archives and simulated disk errors.

    It makes small archives in a temporary directory, damages bits and sectors of them, truncates them, hides them in
    images as in the NIST plan for testing carvers (contiguous, fragmented, interleaved, truncated, nested, decoys), and
    makes system calls fail during writes.  Exit code 4 if a result is incorrect.
    """
    from exhume.cli.about import about
    from exhume.io.output.atomic import AtomicDirectory
    from exhume.testing.selftest import run as run_checks

    here = about().to_dict()
    with AtomicDirectory(Path(output)) if output is not None else nullcontext() as folder:  # refused before the work
        with run.progress("selftest") as progress:
            rows = run_checks(count=count, seed=seed, progress=progress)
        ok = all(row.ok for row in rows)
        body = {
            "ok": ok,
            "installation": here,
            "count": count,
            "seed": seed,
            "created_ns": str(time.time_ns()),
            "checks": [row._asdict() for row in rows],
        }
        if folder is not None:
            _write_reports(folder, body, rows)
    if run.machine:
        run.document("selftest", body)
    else:
        for row in rows:
            results = ", ".join(f"{number} {what}" for what, number in sorted(row.results.items()))
            run.print(f"{'ok    ' if row.ok else 'NOT ok'} {row.part}: {row.name}: {results}")
        attempts = counted(sum(row.attempts for row in rows), "attempts")
        run.print(f"{'ok' if ok else 'NOT ok'}: {counted(len(rows), 'checks')}, {attempts}")
    return ExitCode.DONE if ok else ExitCode.NO


def _write_reports(folder: AtomicDirectory, body: dict[str, Any], rows: Sequence[Row]) -> None:
    """Write the same result as a document and as a page; `body` is the document, without its schema."""
    from exhume.io.jsonout import dumps
    from exhume.testing.selftest import page

    here = body["installation"]
    facts = {
        "result": "as it must be" if body["ok"] else "NOT as it must be",
        "made (UTC)": time.asctime(time.gmtime()),
        "count": body["count"],
        "seed": body["seed"],
        "exhume": here["version"],
        "python": here["python"],
        "platform": here["platform"],
        "kernel": here["kernel"],
        **here["libraries"],
    }
    with folder.create("report.json") as file:
        file.write((dumps({"schema": "exhume.selftest/1", **body}, pretty=True) + "\n").encode())
    with folder.create("report.html") as file:
        file.write(page("exhume selftest", facts, rows).encode("utf-8"))
