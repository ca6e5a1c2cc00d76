"""Additions of ZS to the command line: ranges and framings for `cat`, prefixes for `search`.

A framing is the way records are delimited in the output: a terminator after each, or its length before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from exhume.archive import no_progress
from exhume.cli import ExitCode
from exhume.cli.formatcli import FormatCli, SearchOptions, VerbOptions, refuse_names
from exhume.cli.params import BYTES, SIZE, Choice, Jobs, Whole
from exhume.cli.runtime import Run

if TYPE_CHECKING:
    from exhume.formats.zs.reader import ZsArchive

_START = click.Option(
    ["--start", "start_record"], type=BYTES, metavar="BYTES", help="First record (escapes such as \\t and \\xff)."
)
_STOP = click.Option(["--stop", "stop_record"], type=BYTES, metavar="BYTES", help="Record to stop before.")
_PREFIX = click.Option(["--prefix"], type=BYTES, metavar="BYTES", help="Only records that start with this.")
_TERMINATOR = click.Option(
    ["--terminator"], type=BYTES, metavar="BYTES", help="Terminator of each record (default: \\n)."
)
_LENGTH_PREFIXED = click.Option(
    ["--length-prefixed"],
    type=Choice(["uleb128", "u64le"]),
    help="Precede each record by its length instead.",
)
_COUNT = click.Option(["--count"], is_flag=True, help="Print the number of matches.")

_RECORD_FORMAT = click.Option(
    ["--record-format"],
    metavar="NAME:TYPE,...",
    help="Tables: split tab-separated records into these columns (types: utf8, int, float).",
)

OPTIONS: dict[str, list[click.Option]] = {
    "export": [
        _START,
        _STOP,
        _PREFIX,
        click.Option(["--text"], is_flag=True, help="Tables: records are text (UTF-8), not bytes."),
        click.Option(["--split"], is_flag=True, help="Tables: split records by the metadata's record-format."),
        _RECORD_FORMAT,
        Jobs(),
    ],
    "cat": [_START, _STOP, _PREFIX, _TERMINATOR, _LENGTH_PREFIXED, Jobs()],
    "search": [_COUNT, _TERMINATOR, _LENGTH_PREFIXED, Jobs()],
    "recode": [
        click.Option(["--codec"], metavar="CODEC", help="Codec (default: the same): none, deflate, lzma."),
        click.Option(["--level"], metavar="LEVEL", help="Compression level, in the codec's own scale."),
        click.Option(["--block-size"], type=SIZE, help="Payload bytes per data block (default: unchanged)."),
        click.Option(["--branching-factor"], type=Whole(2), help="Maximum number of entries per index block."),
        click.Option(["--short-keys"], is_flag=True, default=None, help="Index keys as short as allowed."),
    ],
}


class CatOptions(VerbOptions):
    """Which records `exhume cat` prints, and how they are delimited."""

    start_record: bytes | None
    stop_record: bytes | None
    prefix: bytes | None
    terminator: bytes | None
    length_prefixed: str | None
    jobs: int


class ZsSearchOptions(SearchOptions):
    """Options of `exhume search` for printing the records found."""

    terminator: bytes | None
    length_prefixed: str | None


def table_options(options: dict[str, Any]) -> dict[str, Any]:
    """Take the options of `exhume export` that concern tables out of `options`; return those of `ZsArchive.to_arrow`.

    On the command line, strings that are not UTF-8 and records that do not fit are replaced and counted, not errors.
    """
    names = {"start_record": "start", "stop_record": "stop"}
    known = ("start_record", "stop_record", "prefix", "text", "split", "jobs")
    taken = {names.get(name, name): options.pop(name) for name in known if name in options}
    if "record_format" in options:
        taken["split"] = columns_of(options.pop("record_format"))
    # `to_arrow` rejects `errors` for whole records as bytes, which are never wrong.
    return taken | {"errors": "replace"} if taken.get("text") or taken.get("split") else taken


def cat(run: Run, archive: ZsArchive, names: tuple[str, ...], options: CatOptions) -> ExitCode | None:
    """Print all records, or those in range; `--json` and `--ndjson` add the place of each in the file.

    Raises `click.UsageError` for names, which records do not have.
    """
    refuse_names(names, "records of a ZS file", "choose them with --start, --stop or --prefix")
    bounds = {"start": options.start_record, "stop": options.stop_record, "prefix": options.prefix}
    _print(run, archive, bounds, options)
    return None


def search(run: Run, archives: list[ZsArchive], query: str, options: ZsSearchOptions) -> ExitCode | None:
    """Print the records that start with the query (escapes as in `--prefix`)."""
    prefix: bytes = BYTES.convert(query, None, None)
    found = False
    for archive in archives:
        if options.count:
            number = archive.count(prefix=prefix, jobs=options.jobs)
            found |= number > 0
            if run.machine:
                run.document("search", {"target": archive.name, "format": archive.format, "count": number})
            else:
                run.print(str(number))
        else:
            found |= _print(run, archive, {"prefix": prefix}, options)
    return ExitCode.DONE if found else ExitCode.NO


def _print(
    run: Run, archive: ZsArchive, bounds: dict[str, bytes | None], options: CatOptions | ZsSearchOptions
) -> bool:
    """Print the records in range (`start`, `stop`, `prefix` in `bounds`); return whether there were any."""
    terminator, length_prefixed = options.terminator, options.length_prefixed
    check_framing(terminator, length_prefixed)
    if run.machine:
        for flag, value in (("--terminator", terminator), ("--length-prefixed", length_prefixed)):
            if value is not None:
                raise click.UsageError(f"{flag} is for text: JSON tells records apart by itself")
        some = False  # whether a record was found; known only when the output has been written

        def items() -> Iterator[dict[str, Any]]:
            """Yield the records for the JSON output."""
            nonlocal some
            for record in archive.records_with_origin(**bounds, jobs=options.jobs):
                some = True
                yield {"record": record.data, "ordinal": record.ordinal, "span": record.span.to_dict()}

        run.items("records", {"target": archive.name, "format": archive.format}, "records", items())
        return some
    written = archive.dump(
        _DumpOutput(run),
        **bounds,
        terminator=b"\n" if terminator is None else terminator,
        length_prefixed=length_prefixed,
        jobs=options.jobs,
        progress=no_progress,  # `Run.reading` shows it
    )
    return written > 0


def check_framing(terminator: bytes | None, length_prefixed: str | None) -> None:
    """Raise `click.UsageError` when options of both ways to delimit records are given."""
    if length_prefixed and terminator is not None:
        raise click.UsageError("--terminator and --length-prefixed exclude each other")


class _DumpOutput:
    """Standard output as the file that `dump` writes to; the output of `Run` rejects binary data for a terminal."""

    def __init__(self, run: Run) -> None:
        self._out = run.out

    def write(self, data: bytes | memoryview) -> int:
        """Write the data."""
        self._out.write(data)
        return len(data)


def columns_of(text: str) -> dict[str, Any]:
    """Return the value of `record-format` in the metadata that `NAME:TYPE,...` stands for.

    Raises `click.BadParameter` for anything else.
    """
    from exhume.formats.zs.head import separated_values

    columns = {}
    for item in text.split(","):
        name, colon, kind = item.strip().rpartition(":")
        if not colon or not name or not kind:
            raise click.BadParameter(f"not NAME:TYPE: {item!r}", param_hint="--record-format")
        columns[name] = kind
    return separated_values(columns)


CLI = FormatCli(
    options=OPTIONS,
    values={"cat": CatOptions, "search": ZsSearchOptions},
    table_options=table_options,
    cat=cat,
    search=search,
)
