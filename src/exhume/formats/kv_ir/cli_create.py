"""`exhume create kv-ir`: JSON lines, text logs and other streams into a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from exhume.cli.params import Choice, Jobs, Verb, Whole
from exhume.cli.progress import with_total
from exhume.cli.runtime import Run, bounded_options
from exhume.counts import counted
from exhume.errors import WriterError
from exhume.formats.clp_s.cli import INPUT, listing, note_blank

if TYPE_CHECKING:
    from exhume.formats.clp_s.write.inputs import NamedInput
    from exhume.formats.kv_ir.writer import Codec


@click.command("kv-ir", cls=Verb, short_help="Log events as key-value pairs, one after the other.")
@click.argument("inputs", nargs=-1, metavar="[INPUT]...")
@click.option("-o", "--output", required=True, type=click.Path(), help="The stream; inside a zstd frame for *.zst.")
@click.option("--metadata", metavar="JSON", help="User-defined metadata of the stream, a JSON object.")
@click.option("--pairs", type=Choice(["user", "both"]), default="user", show_default=True,
              help="Input records: pairs of the user only, or both kinds as cat prints them.")  # fmt: skip
@click.option(
    "--codec", type=Choice(["none", "zstd"]), help="Compress the stream with zstd or not (default: by its name)."
)
@click.option("--level", type=Whole(1, 19), help="zstd level.  [default: 3]")
@INPUT
@click.option(cls=Jobs)
@click.option("--overwrite", is_flag=True, help="Replace an existing file.")
@bounded_options
@listing
def create(
    run: Run,
    inputs: list[NamedInput],
    output: str,
    metadata: str | None,
    pairs: str,
    jobs: int,
    input: str,
    codec: Codec | None,
    level: int | None,
    overwrite: bool,
) -> None:
    """Write JSON lines, text logs or KV-IR streams as the events of one KV-IR stream (gzip and zstd are recognized; -
    is standard input).
    """
    from exhume.formats.kv_ir.lines import parse_object, write_lines
    from exhume.formats.kv_ir.writer import create as open_writer

    try:
        parsed = None if metadata is None else parse_object(metadata.encode("utf-8", "surrogateescape"))
    except WriterError as error:
        error.message = f"--metadata: {error.message}"
        raise
    writer = open_writer(output, metadata=parsed, codec=codec, level=level, overwrite=overwrite)
    with run.progress("create") as progress, writer:
        write_lines(
            writer,
            inputs,
            both=pairs == "both",
            jobs=jobs,
            input=input,
            progress=with_total(progress, *(one.path for one in inputs)),
            limits=run.limits,
        )
    body = {"format": "kv-ir", "output": output, "events": writer.events}
    if run.machine:
        run.document("create", body)
    else:
        run.note(f"{output}: {counted(writer.events, 'events')}")
    if writer.events:
        note_blank(run, writer.blank_inputs)
    else:
        run.note("there are no events: the input has no records")
