"""`exhume identify`: which formats a target looks like.

`many` has the options for several targets, such as --jobs and --cluster (`ManyOptions`); its method `targets` returns
those to work on (`chosen`), one (`only`) or several.
"""

from __future__ import annotations

import click

from exhume.cli import ExitCode
from exhume.cli.many import ManyOptions, many_options, recursive_option
from exhume.cli.params import Verb
from exhume.cli.render import printable, shown
from exhume.cli.runtime import Run, common_options


@click.command("identify", cls=Verb)
@click.argument("targets", nargs=-1, metavar="TARGET...")
@recursive_option
@many_options
@common_options
def command(run: Run, targets: tuple[str, ...], many: ManyOptions, recursive: bool) -> ExitCode:
    """Identify the format of each TARGET, with confidence and evidence.

    Exit code 4 if the format of a target is not recognized; one of several that cannot be read is reported on standard
    error, and the exit code is 1.
    """
    chosen = many.targets(run, targets)
    if recursive:
        from exhume.cli.recursive import each_archive

        return each_archive(run, many, "identify", identify_one, chosen.names)
    if not chosen.several:
        return identify_one(run, chosen.only)
    from exhume.cli.playback import each_target, worst

    return worst(each_target(run, many, "identify", identify_one, chosen))


def identify_one(run: Run, target: str) -> ExitCode:
    """Say what one target looks like.  Raises `SourceError` when reading fails."""
    from exhume.engines.identify import identify_source, inside, is_empty

    with run.take_source(target) as source:
        candidates = identify_source(source)
        within = "" if candidates else inside(source)
        hint = f"; inside it: {printable(within)} (--recursive takes each)" if within else ""
        hint = hint or (": the file is empty" if is_empty(source) else "")
    if run.as_format:
        candidates = [candidate for candidate in candidates if candidate.format == run.as_format]
    if run.ndjson:
        for candidate in candidates:
            run.document("identify", {"target": target, **candidate.to_dict()})
    elif run.json:
        run.document("identify", {"target": target, "candidates": [candidate.to_dict() for candidate in candidates]})
    elif not candidates:
        run.print_wrapped(f"{shown(target)}: not recognized{hint}")
    else:
        for candidate in candidates:
            why = "; ".join((*candidate.evidence, *filter(None, [candidate.note])))
            run.print_wrapped(f"{shown(target)}: {candidate.format} ({candidate.confidence:.0%}): {why}")
    return ExitCode.DONE if candidates else ExitCode.NO
