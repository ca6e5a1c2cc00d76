"""`exhume identify`: which formats a target looks like."""

from __future__ import annotations

import click

from exhume.cli.outcome import Outcome
from exhume.cli.render import printable
from exhume.cli.runtime import Run, common_options


@click.command("identify")
@click.argument("targets", nargs=-1, required=True, metavar="TARGET...")
@common_options
def command(run: Run, targets: tuple[str, ...]) -> Outcome:
    """Say which formats each TARGET looks like, how sure that is, and why.

    Exit code 4 when nothing recognises one of the targets.
    """
    from exhume.engines.identify import identify_source, inside

    unknown = 0
    for target in targets:
        with run.take_source(target) as source:
            candidates = identify_source(source)
            within = "" if candidates else inside(source)
        if run.as_format:
            candidates = [c for c in candidates if c.format == run.as_format]
        unknown += not candidates
        if run.ndjson:
            for candidate in candidates:
                run.document("identify", {"target": target, **candidate.to_dict()})
        elif run.json:
            run.document("identify", {"target": target, "candidates": [c.to_dict() for c in candidates]})
        elif not candidates:
            hint = f"; inside it: {printable(within)}" if within else ""
            run.say(f"{printable(target)}: not recognised{hint}")
        else:
            for candidate in candidates:
                why = "; ".join(candidate.evidence)
                run.say(f"{printable(target)}: {candidate.format} ({candidate.confidence:.0%}): {why}")
    return Outcome.NO if unknown else Outcome.DONE
