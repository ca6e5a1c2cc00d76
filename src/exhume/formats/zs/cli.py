"""What ZS adds to the command line: ranges and framings for `cat`, prefixes for `search`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import click

from exhume.cli.outcome import Outcome
from exhume.cli.params import BYTES, SIZE, Choice
from exhume.cli.runtime import Run, common_options

if TYPE_CHECKING:
    from exhume.formats.zs.reader import ZsReader

_START = click.Option(
    ["--start", "start_record"], type=BYTES, metavar="BYTES", help="First record (escapes such as \\t and \\xff)."
)
_STOP = click.Option(["--stop", "stop_record"], type=BYTES, metavar="BYTES", help="Record to stop before.")
_PREFIX = click.Option(["--prefix"], type=BYTES, metavar="BYTES", help="Only records that start with this.")
_TERMINATOR = click.Option(
    ["--terminator"], type=BYTES, metavar="BYTES", help="What follows each record (default: \\n)."
)
_LENGTH_PREFIXED = click.Option(
    ["--length-prefixed"],
    type=Choice(["uleb128", "u64le"]),
    help="Precede each record by its length instead.",
)
_JOBS = click.Option(["--jobs"], type=click.IntRange(0), default=1, help="Threads (default 1; 0: one per core).")
_COUNT = click.Option(["--count"], is_flag=True, help="Print how many records match, not the records.")

_RECORD_FORMAT = click.Option(
    ["--record-format"],
    metavar="NAME:TYPE,...",
    help="Tables: split tab-separated records into these columns (types: utf8, int, float).",
)

OPTIONS = {
    "export": [
        _START,
        _STOP,
        _PREFIX,
        click.Option(["--text"], is_flag=True, help="Tables: records are text (UTF-8), not bytes."),
        click.Option(
            ["--split"], is_flag=True, help="Tables: split records as the record-format of the metadata says."
        ),
        _RECORD_FORMAT,
        _JOBS,
    ],
    "cat": [_START, _STOP, _PREFIX, _TERMINATOR, _LENGTH_PREFIXED, _JOBS],
    "search": [_COUNT, _TERMINATOR, _LENGTH_PREFIXED, _JOBS],
    "recode": [
        click.Option(["--codec"], metavar="CODEC", help="Codec (default: the same): none, deflate, lzma."),
        click.Option(["--level"], metavar="LEVEL", help="Compression level, in the codec's own scale."),
        click.Option(["--block-size"], type=SIZE, help="Payload bytes per data block (default: the same blocks)."),
        click.Option(["--branching-factor"], type=click.IntRange(2), help="Most entries of an index block."),
        click.Option(["--short-keys"], is_flag=True, default=None, help="Index keys as short as is legal."),
        _JOBS,
    ],
}


def table_options(options: dict[str, Any]) -> dict[str, Any]:
    """Options of `ZsReader.to_arrow` for those of `exhume export`."""
    names = {"start_record": "start", "stop_record": "stop"}
    known = ("start_record", "stop_record", "prefix", "text", "split", "jobs")
    taken = {names.get(name, name): options.pop(name) for name in known if name in options}
    if "record_format" in options:
        taken["split"] = _record_format(options.pop("record_format"))
    return taken | {"errors": "replace"}


def cat(run: Run, archive: ZsReader, names: tuple[str, ...], options: dict[str, Any]) -> Outcome | None:
    """Prints records: all, or those in range; with `--json`/`--ndjson` each with its place in the file.

    Raises `click.UsageError` for names, which records do not have.
    """
    if names:
        raise click.UsageError("records of a ZS file have no names: choose them with --start, --stop or --prefix")
    bounds = {"start": options["start_record"], "stop": options["stop_record"], "prefix": options["prefix"]}
    _print(run, archive, bounds, options)
    return None


def search(run: Run, archives: list[ZsReader], query: str, options: dict[str, Any]) -> Outcome | None:
    """Prints the records that start with the query (escapes as in `--prefix`)."""
    prefix: bytes = BYTES.convert(query, None, None)
    found = False
    for archive in archives:
        if options.get("count"):
            number = archive.count(prefix=prefix)
            found |= number > 0
            if run.machine:
                run.document("search", {"target": archive.name, "format": archive.format, "count": number})
            else:
                run.say(str(number) if len(archives) == 1 and not run.several else f"{archive.name}: {number}")
        else:
            found |= _print(run, archive, {"prefix": prefix}, options)
    return Outcome.DONE if found else Outcome.NO


def _print(run: Run, archive: ZsReader, bounds: dict[str, bytes | None], options: dict[str, Any]) -> bool:
    """Prints the records in range; returns whether there were any."""
    _check_framing(options)
    jobs = options.get("jobs", 1)
    if run.machine:
        some = False

        def items() -> Iterator[dict[str, Any]]:
            nonlocal some
            for record in archive.records_with_origin(**bounds, jobs=jobs):
                some = True
                yield {"record": record.data, "ordinal": record.ordinal, "span": record.span.to_dict()}

        run.items("records", {"target": archive.name, "format": archive.format}, "records", items())
        return some
    with run.progress(archive.name) as progress:
        written = archive.dump(
            _Sink(run),
            **bounds,
            terminator=b"\n" if options.get("terminator") is None else options["terminator"],
            length_prefixed=options.get("length_prefixed"),
            jobs=jobs,
            progress=progress,
        )
    return written > 0


def _check_framing(options: dict[str, Any]) -> None:
    if options.get("length_prefixed") and options.get("terminator") is not None:
        raise click.UsageError("--terminator and --length-prefixed exclude each other")


class _Sink:
    """Standard output as the file that `dump` writes to: binary data is kept off terminals."""

    def __init__(self, run: Run) -> None:
        self._out = run.out

    def write(self, data: bytes | memoryview) -> int:
        self._out.write(data)
        return len(data)


@click.command("zs", short_help="Sorted records in compressed blocks under an index.")
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option("-o", "--output", required=True, type=click.Path(), help="The file to write.")
@click.option(
    "--metadata", default="{}", metavar="JSON", help="JSON object for the header (@FILE reads it from a file)."
)
@click.option("--no-default-metadata", is_flag=True, help="Leave out build-info (user, host, time, version).")
@click.option(
    "--record-format",
    metavar="NAME:TYPE,...",
    help="Say in the metadata that records are tab-separated fields, e.g. ngram:utf8,count:int.",
)
@click.option("--terminator", type=BYTES, metavar="BYTES", help="What follows each record (default: \\n).")
@click.option(
    "--length-prefixed", type=Choice(["uleb128", "u64le"]), help="Each record is preceded by its length instead."
)
@click.option("--sort", is_flag=True, help="Sort the records first (in bounded memory, with temporary files).")
@click.option("--codec", type=Choice(["none", "deflate", "lzma"]), default="lzma", show_default=True)
@click.option(
    "-z",
    "--level",
    metavar="LEVEL",
    help="fast (default); deflate: 1 to 12, isal (quickest; its bytes depend on the processor); lzma: 0, 0e, 1, 1e.",
)
@click.option("--block-size", type=SIZE, default=384 << 10, help="Approximate size of a data block (default: 384K).")
@click.option("--branching-factor", type=click.IntRange(2), default=1024, show_default=True)
@click.option("--short-keys", is_flag=True, help="Index keys as short as allowed, not whole records.")
@click.option("--jobs", type=click.IntRange(0), default=0, help="Threads for compression (default: one per core).")
@click.option("--overwrite", is_flag=True, help="Replace an existing file.")
@common_options
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
    **options: Any,
) -> None:
    """Write the records of INPUT (files, or - for standard input) to a ZS file.

    Records must be in ascending order of their bytes, over all inputs: sort with LC_ALL=C sort, or give --sort.
    """
    from exhume.formats.zs.framing import framing
    from exhume.formats.zs.sorting import ExternalSorter, feed
    from exhume.formats.zs.writer import ZsWriter

    _check_framing({"terminator": terminator, "length_prefixed": length_prefixed})
    end = b"\n" if terminator is None else terminator
    shape = framing(end, length_prefixed)
    described = _metadata(metadata, record_format)
    writer = ZsWriter(output, metadata=described, default_metadata=not no_default_metadata, **options)
    with writer, run.progress(output) as progress, ExternalSorter() as sorter:
        for name in inputs:
            with click.open_file(name, "rb") as file:
                stream = cast("BinaryIO", file)
                if sort:
                    feed(sorter, stream, shape, progress=progress)
                else:
                    writer.add_file(stream, terminator=end, length_prefixed=length_prefixed, progress=progress)
        if sort:
            writer.add_records(sorter)
    facts = {"output": output, "format": "zs", "records": writer.records, "bytes": writer.size}
    if run.machine:
        run.document("create", facts)
    else:
        run.note(f"{output}: {writer.records} records, {writer.size} bytes")


def _metadata(text: str, record_format: str | None) -> dict[str, Any]:
    from exhume.formats.zs.metadata import RECORD_FORMAT, parse_metadata_text

    if text.startswith("@"):
        with click.open_file(text[1:], "r", encoding="utf-8") as file:
            text = file.read()
    described = parse_metadata_text(text)
    if record_format is not None:
        described[RECORD_FORMAT] = _record_format(record_format)
    return described


def _record_format(text: str) -> dict[str, Any]:
    """The metadata value that `NAME:TYPE,...` stands for."""
    from exhume.formats.zs.metadata import separated_values

    columns = {}
    for item in text.split(","):
        name, colon, kind = item.strip().rpartition(":")
        if not colon or not name or not kind:
            raise click.BadParameter(f"not NAME:TYPE: {item!r}", param_hint="--record-format")
        columns[name] = kind
    return separated_values(columns)
