"""`exhume create clp-s`: JSON, text logs and KV-IR streams into an archive."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exhume.cli import ExitCode
from exhume.cli.params import SIZE, Choice, Jobs, Verb, Whole
from exhume.cli.progress import with_total
from exhume.cli.render import human_size, printable
from exhume.cli.runtime import Run, bounded_options
from exhume.counts import counted
from exhume.formats.clp_s.cli import INPUT, SHOWN, listing, note_blank

if TYPE_CHECKING:
    from exhume.formats.clp_s.write.inputs import NamedInput
    from exhume.formats.clp_s.write.options import InputName, OnError
    from exhume.formats.clp_s.writer import ClpSWriter


@click.command("clp-s", cls=Verb)
@click.argument("inputs", nargs=-1, metavar="[INPUT]...")
@click.option("-o", "--output", required=True, metavar="TARGET", help="The archive; further ones get .1, .2, ...")
@click.option(
    "--format-version",
    "version",
    type=Choice(["0.3.1", "0.4.1", "0.5.0", "0.5.1"]),
    default="0.5.1",
    show_default=True,
    help="Format version to write.",
)
@INPUT
@click.option("--timestamp-key", metavar="PATH", help="The timestamp field, such as t.x (dots in keys as \\.).")
@click.option("--structurize-arrays", is_flag=True, help="Store arrays as columns instead of as text.")
@click.option("--disable-log-order", is_flag=True, help="Do not record the order of records (nor a range index).")
@click.option("--no-retain-float-format", is_flag=True, help="Store floats as numbers, not with their exact spelling.")
@click.option("--compression-level", type=Whole(1, 19), default=3, show_default=True, help="zstd level (1 to 19).")
@click.option(
    "--target-encoded-size",
    type=SIZE,
    default=8 << 30,
    help="Begin a new archive at this size of columns and dictionaries, uncompressed.  [default: 8G]",
)
@click.option("--min-table-size", type=SIZE, default=1 << 20, help="Tables compressed together.  [default: 1M]")
@click.option("--max-document-size", type=SIZE, default=512 << 20, help="Largest record.  [default: 512M]")
@click.option(
    "--property", "properties", multiple=True, metavar="NAME=VALUE", help="Store this property for every input."
)
@click.option("--creator-id", metavar="TEXT", help="Use this creator id: the same input then produces the same bytes.")
@click.option(
    "--on-error",
    type=Choice(["fail", "skip"]),
    default="fail",
    show_default=True,
    help="What to do with records that cannot be stored.",
)
@click.option("--allow-loss", is_flag=True, help="Store values that change on a round trip, as clp-s does.")
@click.option(cls=Jobs)
@click.option("--directory", is_flag=True, help="Write a directory, one file per section, as clp-s c does.")
@click.option("--overwrite", is_flag=True, help="Replace existing archives.")
@bounded_options
@listing
def create(
    run: Run,
    inputs: list[NamedInput],
    output: str,
    disable_log_order: bool,
    no_retain_float_format: bool,
    compression_level: int,
    properties: tuple[str, ...],
    version: str,
    timestamp_key: str | None,
    structurize_arrays: bool,
    target_encoded_size: int,
    min_table_size: int,
    max_document_size: int,
    creator_id: str | None,
    on_error: OnError,
    allow_loss: bool,
    jobs: int,
    directory: bool,
    overwrite: bool,
    input: InputName,
) -> ExitCode:
    """Compress JSON records, text logs and KV-IR streams (gzip and zstd are recognized; - is standard input).

    JSON records may be on one line each or just concatenated.  An event of a plain-text log is a line that begins with
    a timestamp, and the following lines that do not; exhume cat --text prints the log again.

    Exit code 3 when records were skipped or values changed (--on-error skip, --allow-loss).
    """
    from exhume.formats.clp_s.write.inputs import BadRecordError
    from exhume.formats.clp_s.writer import create as open_writer

    writer = open_writer(
        output,
        log_order=not disable_log_order,
        retain_float_format=not no_retain_float_format,
        level=compression_level,
        properties=dict(_property(text) for text in properties),
        version=version,
        timestamp_key=timestamp_key,
        structurize_arrays=structurize_arrays,
        target_encoded_size=target_encoded_size,
        min_table_size=min_table_size,
        max_document_size=max_document_size,
        creator_id=creator_id,
        on_error=on_error,
        allow_loss=allow_loss,
        jobs=jobs,
        directory=directory,
        overwrite=overwrite,
        input=input,
    )

    def report(error: BadRecordError) -> None:
        """Print why a record was skipped, for the first ones."""
        if writer.skipped <= SHOWN:
            run.note(f"skipped: {printable(error.name)}: line {error.line}: {error.reason}")

    writer.on_bad_record, writer.limits = report, run.limits
    with run.progress("create") as progress, writer:
        writer.add_files(inputs, progress=with_total(progress, *(one.path for one in inputs)))
    if run.machine:
        run.document("create", _document(writer))
    _print_notes(run, writer)
    return ExitCode.LOSS if writer.skipped or writer.losses else ExitCode.DONE


def _document(writer: ClpSWriter) -> dict[str, Any]:
    """Return the JSON document about the written archives."""
    return {
        "format": "clp-s",
        "version": writer.options.version,
        "archives": [{"path": str(path), "size": _size(path)} for path in writer.paths],
        "records": writer.records,
        "skipped": writer.skipped,
        "reasons": dict(writer.reasons),
        "changed_values": writer.losses,
    }


def _print_notes(run: Run, writer: ClpSWriter) -> None:
    """Print the archives written (unless a JSON document has them), and what the caller may not expect."""
    if not run.machine:
        total = human_size(sum(map(_size, writer.paths)))
        count = len(writer.paths)
        run.note(f"{counted(writer.records, 'records')} in {counted(count, 'archives')} ({total})")
    if writer.records:
        note_blank(run, writer.blank_inputs)
    else:
        run.note("there are no records in the input: clp-s itself cannot open such an archive")
    if writer.records and writer.options.timestamp_key is not None and not writer.has_times:
        key = printable(writer.options.timestamp_key)
        run.note(f"no record has a timestamp under {key}: searches by time will be refused")
    if writer.skipped:
        run.note(f"{counted(writer.skipped, 'records')} {'were' if writer.skipped != 1 else 'was'} skipped")
    if writer.losses:
        run.note(f"not the same when they come back: {counted(writer.losses, 'values')}")


def _size(path: Path) -> int:
    """Return the size in bytes of an archive, which is a file or a directory of files."""
    return sum(file.stat().st_size for file in (path.iterdir() if path.is_dir() else [path]))


def _property(text: str) -> tuple[str, Any]:
    """Parse `NAME=VALUE` to `(name, value)`.

    The value is parsed as JSON if it is JSON, else it is a string: `n=5` -> `("n", 5)`, `n=a b` -> `("n", "a b")`.
    """
    name, equals, value = text.partition("=")
    if not equals:
        raise click.UsageError(f"--property takes NAME=VALUE, not {text!r}")
    try:
        from json import loads

        return name, loads(value)
    except ValueError:
        return name, value
