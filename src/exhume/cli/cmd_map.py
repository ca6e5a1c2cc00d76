"""`exhume map`: a picture of the sections of an archive."""

from __future__ import annotations

import click

from exhume.cli import ExitCode
from exhume.cli.params import Jobs, Verb
from exhume.cli.runtime import Run, common_options
from exhume.layout.sections import SectionKind


@click.command("map", cls=Verb)
@click.argument("target", metavar="TARGET")
@click.option("--svg", metavar="FILE", help="Write the picture as SVG.")
@click.option("--png", metavar="FILE", help="Write the picture as PNG (extra: picture).")
@click.option("--overwrite", is_flag=True, help="Replace existing files.")
@click.option("--no-verify", is_flag=True, help="Do not check for damage; the picture states this.")
@click.option(cls=Jobs)
@common_options
def command(
    run: Run, target: str, svg: str | None, png: str | None, overwrite: bool, no_verify: bool, jobs: int
) -> ExitCode:
    """Draw a picture of an archive's sections and damage.

    Each file is a strip of its sections, with sizes and compression ratios.  Unreadable parts of a damaged archive are
    drawn as unread; exit code 3.  It is also 3 if something could not be checked.
    """
    from exhume.io.output.atomic import AtomicFile
    from exhume.view.map import draw_map, to_png, to_svg

    if svg is None and png is None:
        raise click.UsageError("give --svg FILE or --png FILE (or both)")
    with run.reading("map"), run.inspect(target) as archive:
        format = archive.format
        drawing = draw_map(archive, None if no_verify else archive.verify(jobs=jobs), jobs=jobs)
        outcome, verdict = run.report_problems(archive), archive.verdict
        # (`sums` yields one section for all of its kind.)
        if any(section.kind is SectionKind.UNREAD for section, *_ in archive.sections().sums()):
            outcome = ExitCode.LOSS
    # Both pictures are made before the first is written.
    pictures = {svg: to_svg(drawing).encode("utf-8")} if svg is not None else {}
    if png is not None:
        pictures[png] = to_png(drawing)
    for path, data in pictures.items():
        with AtomicFile(path, overwrite=overwrite) as file:
            file.file.write(data)
        if not run.machine:
            run.note(f"written to {path}")
    if run.machine:
        run.document("map", {"target": target, "format": format, "verdict": verdict, "written": list(pictures)})
    return outcome
