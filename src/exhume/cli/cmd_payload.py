"""`exhume payload`: one section, decompressed, to standard output."""

from __future__ import annotations

import click

from exhume.cli.params import Verb
from exhume.cli.runtime import Run, common_options


@click.command("payload", cls=Verb)
@click.argument("target", metavar="TARGET")
@click.argument("section", metavar="SECTION")
@click.option("-o", "--output", metavar="FILE", help="Write to a file instead of standard output.")
@click.option("--overwrite", is_flag=True, help="Replace an existing file.")
@common_options
def command(run: Run, target: str, section: str, output: str | None, overwrite: bool) -> None:
    """Print one decompressed section.

    The output is what the payload schemas in ksy/ parse.  `exhume list --sections TARGET` names the sections.
    """
    from exhume.io.output.atomic import AtomicFile

    with run.open(target) as archive:
        data = archive.read_section(section)
        body = {"target": target, "format": archive.format, "section": section, "size": len(data)}
    if output is not None:
        with AtomicFile(output, overwrite=overwrite) as file:
            file.file.write(data)
    if run.machine:
        run.document("payload", body | ({"content": data} if output is None else {"output": output}))
    elif output is None:
        run.out.write(data)
