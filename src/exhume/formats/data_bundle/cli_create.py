"""`exhume create databundle`: files into a bundle, which is a directory of shards (files with compressed records) and
an index.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import click

from exhume.cli import ExitCode
from exhume.cli.params import LOCAL_PATH, SIZE, Choice, Jobs, Verb, Whole
from exhume.cli.runtime import Run, plain_options

if TYPE_CHECKING:
    from exhume.formats.data_bundle.messages import UserData
    from exhume.formats.data_bundle.writer import CompressionName


@click.command("databundle", cls=Verb)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...", type=LOCAL_PATH)
@click.option("-o", "--output", required=True, metavar="TARGET", help="The bundle, a new directory.")
@click.option(
    "--compression",
    type=Choice(["zlib", "snappy", "none"]),
    default="zlib",
    show_default=True,
    help="How records are compressed.",
)
@click.option("--level", type=Whole(0, 12), help="Level of zlib.  [default: 5]")
@click.option("--record-size", type=SIZE, default=128 << 10, help="Uncompressed bytes per record.  [default: 128K]")
@click.option("--alignment", type=SIZE, help="Records start at multiples of this.  [default: 4096; 1 when raw-packed]")
@click.option(
    "--shards",
    type=Whole(1),
    default=1,
    show_default=True,
    help="Maximum number of shard files; none is empty.",
)
@click.option(cls=Jobs)
@click.option(
    "--raw-packed/--records", default=None, help="Uncompressed data without or with records.  [default: without]"
)
@click.option(
    "--index-compression",
    type=Choice(["snappy", "none"]),
    default="snappy",
    show_default=True,
    help="How the blocks of the index are compressed.",
)
@click.option("--base-dir", metavar="DIR", help="Store names relative to this directory.")
@click.option("--user-data", metavar="FILE", help='JSON: {"name": {"type_url": ..., "value_hex": ...}, ...}.')
@plain_options
def create(
    run: Run,
    inputs: tuple[str, ...],
    output: str,
    base_dir: str | None,
    user_data: str | None,
    compression: CompressionName,
    level: int | None,
    record_size: int,
    alignment: int | None,
    shards: int,
    jobs: int,
    raw_packed: bool | None,
    index_compression: Literal["none", "snappy"],
) -> ExitCode:
    """Pack directories and files into a bundle.

    A single directory adds its content; several INPUTs each keep their last component.  The bundle appears only
    when it is complete.
    """
    from exhume.cli.render import human_size, printable
    from exhume.counts import counted
    from exhume.formats.data_bundle.inputs import add_inputs
    from exhume.formats.data_bundle.writer import DataBundleWriter

    attached = _read_user_data(user_data) if user_data is not None else {}
    with (
        run.progress("create") as progress,
        DataBundleWriter(
            output,
            compression=compression,
            level=level,
            record_size=record_size,
            alignment=alignment,
            shards=shards,
            jobs=jobs,
            raw_packed=raw_packed,
            index_compression=index_compression,
            progress=progress,
        ) as writer,
    ):
        skipped = add_inputs(writer, list(inputs), base=base_dir, user_data=attached)
        counts = writer.counts
    for path, reason in skipped:
        click.echo(f"exhume: left out: {printable(path)}: {reason}", err=True)
    from pathlib import Path

    # bytes of the bundle on disk
    stored = sum(file.stat().st_size for file in Path(output).rglob("*") if file.is_file())
    if run.machine:
        omitted = [{"path": path, "reason": reason} for path, reason in skipped]
        body = {"format": "databundle", "output": output, **counts, "size": writer.size, "stored_size": stored}
        run.document("create", {**body, "skipped": omitted})
    else:
        run.note(f"{counted(counts['files'], 'files')}, {human_size(writer.size)} in {human_size(stored)}")
    return ExitCode.LOSS if skipped else ExitCode.DONE


def _read_user_data(path: str) -> dict[str, UserData]:
    """Read the JSON file of `--user-data`: `{path: {"type_url": ..., "value_hex": ...}}`."""
    from exhume.errors import WriterError
    from exhume.formats.data_bundle.messages import UserData
    from exhume.io.source import source_error

    try:
        import json
        from pathlib import Path

        document = json.loads(Path(path).read_text("utf-8"))
        return {
            name: UserData(str(entry["type_url"]), bytes.fromhex(entry.get("value_hex", "")))
            for name, entry in document.items()
        }
    except OSError as error:
        raise source_error(error, path) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise WriterError("not a user data file", format="databundle", actual=f"{path}: {error}") from error
