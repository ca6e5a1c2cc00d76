"""`exhume payload`: one section, decompressed, to standard output.

A section is a range of an archive's bytes with one purpose; its payload is its decompressed content.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from exhume.cli.params import Verb
from exhume.cli.runtime import Run, common_options

if TYPE_CHECKING:
    from exhume.archive import Archive


@click.command("payload", cls=Verb)
@click.argument("target", metavar="TARGET")
@click.argument("section", metavar="SECTION")
@click.option("-o", "--output", metavar="FILE", help="Write to a file instead of standard output.")
@click.option("--overwrite", is_flag=True, help="Replace an existing file.")
@common_options
def command(run: Run, target: str, section: str, output: str | None, overwrite: bool) -> None:
    """Print one decompressed section.

    A payload above 16 MiB is written while it is decompressed: if it is damaged, standard output has the part before
    the damage, and --output no file.

    The output is what the payload schemas in ksy/ parse.  `exhume list --sections TARGET` names the sections.
    """
    from exhume.io.output.atomic import AtomicFile

    with run.reading("payload"), run.open(target) as archive:
        body = {"target": target, "format": archive.format, "section": section}
        if run.machine and output is None:
            data = archive.read_section(section)
            run.document("payload", body | {"size": len(data), "content": data})
            return
        pieces = _payload_chunks(archive, section)
        if output is None:
            for piece in pieces:
                run.out.write(piece)
        else:
            with AtomicFile(output, overwrite=overwrite) as file:
                size = sum(map(file.file.write, pieces))
            if run.machine:
                run.document("payload", body | {"size": size, "output": output})


def _payload_chunks(archive: Archive, name: str) -> Iterable[bytes]:
    """The payload of a section in chunks."""
    from exhume.engines.payloads import payload_chunks

    sections = archive.sections()
    section = sections.named(name)
    return sections.stored(section) if section.load is None else payload_chunks(section)
