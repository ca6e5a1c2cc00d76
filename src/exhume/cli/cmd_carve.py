"""`exhume carve`: find archives inside raw bytes."""

from __future__ import annotations

from pathlib import Path

import click

from exhume.cli.outcome import Outcome
from exhume.cli.params import SIZE
from exhume.cli.render import printable, table
from exhume.cli.runtime import Run, common_options
from exhume.recovery import Carved, Verdict

_SUFFIX = {"clp-s": "clps", "zs": "zs", "caf": "caf"}


@click.command("carve")
@click.argument("image", metavar="IMAGE")
@click.option("--only", multiple=True, metavar="FORMAT", help="Only this format (repeatable).")
@click.option("-o", "--output", metavar="DIR", help="Also write what was found below DIR.")
@click.option("--from", "start", type=SIZE, default=0, help="Offset to start (or go on) at.")
@click.option("--to", "stop", type=SIZE, help="Offset to stop before.")
@click.option("--min-confidence", type=click.FloatRange(0, 1), default=0.5, show_default=True)
@common_options
def command(
    run: Run,
    image: str,
    only: tuple[str, ...],
    output: str | None,
    start: int,
    stop: int | None,
    min_confidence: float,
) -> Outcome:
    """Find archives of all formats inside IMAGE: a disk image, a memory dump, another archive.

    Reports offset, length, format, verdict (whole, partial, damaged) and confidence; writes only with -o.  Exit code 4
    when nothing is found.
    """
    from exhume.engines.carve import carve
    from exhume.output import OutputTree
    from exhume.source import Source

    with run.take_source(image) as opened, run.progress("carve") as progress:
        if not isinstance(opened, Source):
            raise click.UsageError("carving needs a file (a disk image, a dump), not a directory")
        found = list(
            carve(
                opened,
                only=only or ((run.as_format,) if run.as_format else ()),
                start=start,
                stop=stop,
                min_confidence=min_confidence,
                limits=run.limits,
                progress=progress,
            )
        )
        if output is not None:
            with OutputTree(output) as tree:
                for carved in found:
                    end = min(carved.end, opened.size)
                    tree.copy(file_name(carved), opened, carved.offset, end)
        found = [_absolute(carved, opened.origin) for carved in found]
    if run.machine:
        run.items("carve", {"target": image}, "archives", (carved.to_dict() for carved in found))
    else:
        _say(run, image, found, output)
    return Outcome.DONE if found else Outcome.NO


def file_name(carved: Carved) -> str:
    """The name a carved archive is written under: its offset and what it is."""
    mark = "" if carved.verdict is Verdict.WHOLE else f".{carved.verdict}"
    return f"{carved.offset:012x}{mark}.{_SUFFIX.get(carved.format, carved.format)}"


def _absolute(carved: Carved, origin: int) -> Carved:
    import dataclasses

    return dataclasses.replace(carved, offset=carved.offset + origin)


def _say(run: Run, image: str, found: list[Carved], output: str | None) -> None:
    if not found:
        run.say(f"{printable(image)}: no archives found")
        return
    rows = (
        [
            c.offset,
            c.length,
            c.format,
            c.verdict,
            f"{c.confidence:.0%}",
            "-" if c.nested_in is None else f"#{c.nested_in}",
        ]
        for c in found
    )
    for line in table(rows, ["offset", "length", "format", "verdict", "confidence", "nested in"]):
        run.say(line)
    for carved in found:
        for finding in carved.findings if run.verbose else ():
            run.say(f"  {carved.offset}: {printable(str(finding))}")
    run.note(f"{len(found)} found" + (f", written to {Path(output)}" if output else ""))
