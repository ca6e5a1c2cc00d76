"""`exhume create ark`: messages from MCAP or JSON lines into a log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exhume.cli import ExitCode
from exhume.cli.params import LOCAL_PATH, SIZE, Choice, Jobs, Verb, Whole
from exhume.cli.progress import total_size
from exhume.cli.runtime import bounded_options
from exhume.counts import counted

if TYPE_CHECKING:
    from exhume.cli.runtime import Run
    from exhume.formats.ark.writer import Compression


@click.command("ark", cls=Verb)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...", type=LOCAL_PATH)
@click.option(
    "-o", "--output", required=True, metavar="ROOT", help="Directory of the log: new, empty, or holding logs."
)
@click.option("--name", default="", metavar="TEXT", help="Name of the log.")
@click.option("--metadata", multiple=True, metavar="KEY=JSON", help="A metadata entry (repeatable).")
@click.option(
    "--compression",
    type=Choice(["none", "lz4", "zstd", "bz2", "lzma"]),
    help="Codec of the columns (default: none).",
)
@click.option("--level", type=int, metavar="N", help="Level of the codec, on its own scale.")
@click.option("--split-items", type=Whole(1), default=65_536, show_default=True, help="Messages per split.")
@click.option("--split-bytes", type=SIZE, default=1 << 30, help="Bytes of messages per split (default 1G).")
@click.option(cls=Jobs)
@click.option("--schema", type=click.Path(path_type=Path), help="JSON lines: registry JSON or IDL text of the types.")
@click.option(
    "--type", "types", multiple=True, metavar="CHANNEL=TYPE", help="JSON lines: type of a channel (repeatable)."
)
@bounded_options
def create(
    run: Run,
    inputs: tuple[str, ...],
    output: str,
    name: str,
    metadata: tuple[str, ...],
    compression: Compression | None,
    level: int | None,
    split_items: int,
    split_bytes: int,
    jobs: int,
    schema: Path | None,
    types: tuple[str, ...],
) -> ExitCode:
    """A new Ark log from MCAP files (.mcap) or JSON lines (as `exhume cat` prints them).

    Everything in an MCAP file is kept, in messages or in the metadata of the log. Whatever cannot be read or kept is
    named, and the exit code is 3.

    Channels of JSON lines take their types from --schema and --type; others keep their values as JSON text.
    """
    import json

    from exhume.formats.ark.jsonform import import_jsonl
    from exhume.formats.ark.mcap_import import import_mcap
    from exhume.formats.ark.rbuf.idl import load_registry
    from exhume.formats.ark.writer import ArkWriter
    from exhume.io.files import open_input
    from exhume.tabular import ExportReport

    # Options to metadata, types and their registry.
    ctx = click.get_current_context()
    entries: dict[str, Any] = {}
    for text in metadata:
        key, eq, value = text.partition("=")
        try:
            entries[key] = json.loads(value if eq else "")  # empty text is not JSON
        except ValueError:
            raise click.UsageError(f"--metadata takes KEY=JSON, not {text!r}", ctx) from None
    chosen = dict(_pair(ctx, text) for text in types)
    registry = None
    if schema is not None:
        with open_input(schema) as file:
            registry = load_registry(file.read().decode("utf-8"))
    if chosen and registry is None:
        raise click.UsageError("--type needs --schema", ctx)
    # Import each input.
    report = ExportReport()
    with (
        ArkWriter(
            output,
            name=name,
            metadata=entries,
            compression=compression,
            level=level,
            split_items=split_items,
            split_bytes=split_bytes,
        ) as log,
        run.progress("create ark", lambda: total_size(inputs)) as progress,
    ):
        for path in map(Path, inputs):
            if path.suffix.lower() == ".mcap":
                report.add(import_mcap(path, log, progress=progress, jobs=jobs, limits=run.limits))
            else:
                made = import_jsonl(
                    path, log, registry=registry, types=chosen, progress=progress, jobs=jobs, limits=run.limits
                )
                report.written["messages"] += made
    # Report.
    manifest = f"{output}/manifests/{log.identifier}"
    if run.machine:
        facts = {"format": "ark", "target": output, "manifest": manifest, "messages": report.written["messages"]}
        run.document("create", {**facts, "lost": dict(report.lost), "notes": report.notes})
    else:
        run.note(f"{counted(report.written['messages'], 'messages')}: {manifest}")
        for note in report.notes:
            run.note(note)
        if not report.complete:
            lost = ", ".join(f"{kind}: {number}" for kind, number in report.lost.items())
            click.echo(f"exhume: lost: {lost}", err=True)
    return ExitCode.DONE if report.complete else ExitCode.LOSS


def _pair(ctx: click.Context, text: str) -> tuple[str, str]:
    """Return the channel and the type of one `--type`.  Raises `click.UsageError` unless it has both."""
    name, eq, type_name = text.partition("=")
    if not eq:
        raise click.UsageError(f"--type takes CHANNEL=TYPE, not {text!r}", ctx)
    return name, type_name
