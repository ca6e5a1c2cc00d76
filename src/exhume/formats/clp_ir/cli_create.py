"""`exhume create clp-ir`: JSON lines with times and messages into a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from exhume.cli.params import Choice, Verb, Whole
from exhume.cli.progress import with_total
from exhume.cli.runtime import Run, bounded_options
from exhume.counts import counted
from exhume.formats.clp_s.cli import listing

if TYPE_CHECKING:
    from exhume.formats.clp_ir.writer import Encoding
    from exhume.formats.clp_s.write.inputs import NamedInput
    from exhume.formats.kv_ir.writer import Codec


@click.command("clp-ir", cls=Verb, short_help="Text messages with times, one after the other.")
@click.argument("inputs", nargs=-1, metavar="[INPUT]...")
@click.option("-o", "--output", required=True, type=click.Path(), help="The stream; inside a zstd frame for *.zst.")
@click.option("--timestamp-key", metavar="KEY", default="timestamp", show_default=True,
              help="Key of the time, in milliseconds since the epoch.")  # fmt: skip
@click.option("--message-key", metavar="KEY", default="message", show_default=True, help="Key of the message.")
@click.option("--pattern", metavar="PATTERN", help="Pattern for printing times, as in Java's SimpleDateFormat.  "
              "[default: yyyy-MM-dd HH:mm:ss.SSSXXX]")  # fmt: skip
@click.option("--zone", metavar="NAME", help="The time zone of the logger.  [default: UTC]")
@click.option("--encoding", type=Choice(["four-byte", "eight-byte"]), default="four-byte",
              help="Width of encoded variables.  [default: four-byte]")  # fmt: skip
@click.option(
    "--codec", type=Choice(["none", "zstd"]), help="Compress the stream with zstd or not (default: by its name)."
)
@click.option("--level", type=Whole(1, 19), help="zstd level.  [default: 3]")
@click.option("--overwrite", is_flag=True, help="Replace an existing file.")
@bounded_options
@listing
def create(
    run: Run,
    inputs: list[NamedInput],
    output: str,
    timestamp_key: str,
    message_key: str,
    pattern: str | None,
    zone: str | None,
    encoding: Encoding,
    codec: Codec | None,
    level: int | None,
    overwrite: bool,
) -> None:
    """Write JSON lines with times and messages as an IR stream of text.

    The lines have the form that `exhume export --to jsonl` writes; other keys are rejected.  gzip and
    zstd are recognized; - is standard input.
    """
    from exhume.formats.clp_ir.layout import DEFAULT_PATTERN, DEFAULT_ZONE
    from exhume.formats.clp_ir.writer import create as open_writer
    from exhume.formats.clp_ir.writer import write_lines

    writer = open_writer(
        output,
        pattern=DEFAULT_PATTERN if pattern is None else pattern,
        zone=DEFAULT_ZONE if zone is None else zone,
        encoding=encoding,
        codec=codec,
        level=level,
        overwrite=overwrite,
    )
    with run.progress("create") as progress, writer:
        write_lines(
            writer,
            inputs,
            keys=(timestamp_key, message_key),
            progress=with_total(progress, *(one.path for one in inputs)),
            limits=run.limits,
        )
    body = {"format": "clp-ir", "output": output, "events": writer.events}
    if run.machine:
        run.document("create", body)
    else:
        run.note(f"{output}: {counted(writer.events, 'events')}")
