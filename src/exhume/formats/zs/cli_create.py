"""`exhume create zs`: records into a file."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import click

from exhume.cli.params import BYTES, SIZE, Choice, Jobs, Verb, Whole
from exhume.cli.progress import with_total
from exhume.cli.render import human_size
from exhume.cli.runtime import Run, plain_options
from exhume.counts import counted
from exhume.formats.zs.cli import check_framing, columns_of

if TYPE_CHECKING:
    from exhume.formats.zs.encode import Codec


@click.command("zs", cls=Verb, short_help="Sorted records in compressed blocks under an index.")
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option("-o", "--output", required=True, type=click.Path(), help="The file to write.")
@click.option(
    "--metadata", default="{}", metavar="JSON", help="JSON object for the header (@FILE reads it from a file)."
)
@click.option("--no-default-metadata", is_flag=True, help="Leave out build-info (user, host, time, version).")
@click.option(
    "--record-format",
    metavar="NAME:TYPE,...",
    help="Declare in the metadata that records are tab-separated fields, e.g. ngram:utf8,count:int.",
)
@click.option("--terminator", type=BYTES, metavar="BYTES", help="Terminator of each record (default: \\n).")
@click.option(
    "--length-prefixed", type=Choice(["uleb128", "u64le"]), help="Each record is preceded by its length instead."
)
@click.option("--sort", is_flag=True, help="Sort the records first (in bounded memory, with temporary files).")
@click.option(
    "--codec",
    type=Choice(["none", "deflate", "lzma"]),
    default="lzma",
    show_default=True,
    help="How blocks are compressed.",
)
@click.option(
    "-z",
    "--level",
    metavar="LEVEL",
    help="fast (default); deflate: 1 to 12, isal (quickest; its bytes depend on the processor); lzma: 0, 0e, 1, 1e.",
)
@click.option("--block-size", type=SIZE, default=384 << 10, help="Approximate size of a data block (default: 384K).")
@click.option(
    "--branching-factor",
    type=Whole(2),
    default=1024,
    show_default=True,
    help="Maximum number of entries per index block.",
)
@click.option("--short-keys", is_flag=True, help="Index keys as short as allowed, not whole records.")
@click.option(cls=Jobs, default=0)
@click.option("--overwrite", is_flag=True, help="Replace an existing file.")
@plain_options
def create(
    run: Run,
    inputs: tuple[str, ...],
    output: str,
    metadata: str,
    no_default_metadata: bool,
    record_format: str | None,
    terminator: bytes | None,
    length_prefixed: str | None,
    sort: bool,
    codec: Codec,
    level: str | None,
    block_size: int,
    branching_factor: int,
    short_keys: bool,
    jobs: int,
    overwrite: bool,
) -> None:
    """Write the records of INPUT (files, or - for standard input) to a ZS file.

    Records must be in ascending order of their bytes, over all inputs: sort with LC_ALL=C sort, or give --sort.
    """
    from exhume.formats.zs.framing import framing
    from exhume.formats.zs.sorting import ExternalSorter, feed
    from exhume.formats.zs.writer import ZsWriter
    from exhume.io.opening import open_stream

    check_framing(terminator, length_prefixed)
    end = b"\n" if terminator is None else terminator
    shape = framing(end, length_prefixed)
    described = _metadata(metadata, record_format)
    writer = ZsWriter(
        output,
        metadata=described,
        default_metadata=not no_default_metadata,
        codec=codec,
        level=level,
        block_size=block_size,
        branching_factor=branching_factor,
        short_keys=short_keys,
        jobs=jobs,
        overwrite=overwrite,
    )
    # Add the records of each input, sorted first if requested.
    with writer, run.progress(output) as progress, ExternalSorter() as sorter:
        for name in inputs:
            with nullcontext(sys.stdin.buffer) if name == "-" else open_stream(name) as stream:
                if sort:
                    feed(sorter, stream, shape, progress=with_total(progress, name))
                else:
                    writer.add_file(
                        stream, terminator=end, length_prefixed=length_prefixed, progress=with_total(progress, name)
                    )
        if sort:
            writer.add_records(sorter)
    facts = {"output": output, "format": "zs", "records": writer.records, "bytes": writer.size}
    if run.machine:
        run.document("create", facts)
    else:
        run.note(f"{output}: {counted(writer.records, 'records')}, {human_size(writer.size)}")


def _metadata(text: str, record_format: str | None) -> dict[str, Any]:
    """Parse the value of `--metadata`: JSON text, or `@FILE` that contains it; add the record format if given."""
    from exhume.formats.zs.head import RECORD_FORMAT, parse_metadata_text

    if text.startswith("@"):
        from exhume.io.files import naming

        with click.open_file(text[1:], "r", encoding="utf-8") as file, naming(text[1:]):
            text = file.read()
    described = parse_metadata_text(text)
    if record_format is not None:
        described[RECORD_FORMAT] = columns_of(record_format)
    return described
