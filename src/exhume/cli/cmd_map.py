"""`exhume map`: a picture of the sections of an archive."""

from __future__ import annotations

import click

from exhume.cli.runtime import Run, common_options


@click.command("map")
@click.argument("target", metavar="TARGET")
@click.option("--svg", metavar="FILE", help="Write the picture as SVG.")
@click.option("--png", metavar="FILE", help="Write the picture as PNG (extra: picture).")
@click.option("--overwrite", is_flag=True, help="Replace existing files.")
@click.option("--no-verify", is_flag=True, help="Look for no damage; the picture says so.")
@common_options
def command(run: Run, target: str, svg: str | None, png: str | None, overwrite: bool, no_verify: bool) -> None:
    """Draw TARGET: each file as a strip of its sections, with sizes, compression ratio and damage."""
    from exhume.output.atomic import AtomicFile
    from exhume.view.map import draw_map, to_png, to_svg

    if svg is None and png is None:
        raise click.UsageError("give --svg FILE or --png FILE (or both)")
    with run.open(target) as archive:
        drawing = draw_map(archive, None if no_verify else archive.verify())
    pictures = {svg: to_svg(drawing).encode("utf-8")} if svg is not None else {}
    if png is not None:
        pictures[png] = to_png(drawing)
    for path, data in pictures.items():
        with AtomicFile(path, overwrite=overwrite) as file:
            file.file.write(data)
        run.note(f"written to {path}")
