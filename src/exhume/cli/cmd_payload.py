"""`exhume payload`: one section, decompressed, to standard output."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from exhume.cli.params import Verb
from exhume.cli.runtime import Run, common_options

if TYPE_CHECKING:
    from exhume.archive import Archive
    from exhume.cli.exit_code import ExitCode


@click.command("payload", cls=Verb)
@click.argument("target", metavar="TARGET")
@click.argument("section", metavar="SECTION")
@click.option("-o", "--output", metavar="FILE", help="Write to a file instead of standard output.")
@click.option("--overwrite", is_flag=True, help="Replace an existing file.")
@common_options
def command(run: Run, target: str, section: str, output: str | None, overwrite: bool) -> ExitCode | None:
    """Print one decompressed section.

    The output is what the payload schemas in ksy/ parse.  `exhume list --sections TARGET` names the sections.
    """
    from exhume.io.output.atomic import AtomicFile

    with run.open(target) as archive:
        body = {"target": target, "format": archive.format, "section": section}
        if run.machine and output is None:
            data = archive.read_section(section)
            run.document("payload", body | {"size": len(data), "content": data})
            return None
        pieces, is_checked = _payload_chunks(archive, section)
        if output is None:
            for piece in pieces:
                run.out.write(piece)
        else:
            with AtomicFile(output, overwrite=overwrite) as file:
                size = sum(map(file.file.write, pieces))
            if run.machine:
                run.document("payload", body | {"size": size, "output": output})
    if is_checked:
        return None
    from exhume.cli.exit_code import ExitCode

    run.note(f"{section} is above the limit payload_size: its checksum was not compared; use `exhume verify`")
    return ExitCode.LOSS


def _payload_chunks(archive: Archive, name: str) -> tuple[Iterable[bytes], bool]:
    """The payload of a section in chunks, and whether reading it compares the checksum, where there is one."""
    from exhume.errors import LimitExceededError

    sections = archive.sections()
    section = sections.named(name)
    if section.load is None:
        return sections.stored(section), True
    try:
        return (section.load(),), True
    except LimitExceededError:
        if section.pieces is None:
            raise
        return section.pieces(), False
