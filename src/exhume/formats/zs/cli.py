"""What ZS adds to the command line: ranges and framings for `cat`, prefixes for `search`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from exhume.cli.outcome import Outcome
from exhume.cli.params import BYTES

if TYPE_CHECKING:
    from exhume.cli.runtime import Run
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
    type=click.Choice(["uleb128", "u64le"]),
    help="Precede each record by its length instead.",
)
_JOBS = click.Option(["--jobs"], type=click.IntRange(0), default=1, help="Threads (default 1; 0: one per core).")
_COUNT = click.Option(["--count"], is_flag=True, help="Print how many records match, not the records.")

OPTIONS = {
    "cat": [_START, _STOP, _PREFIX, _TERMINATOR, _LENGTH_PREFIXED, _JOBS],
    "search": [_COUNT, _TERMINATOR, _LENGTH_PREFIXED, _JOBS],
}


def cat(run: Run, archive: ZsReader, names: tuple[str, ...], options: dict[str, Any]) -> Outcome | None:
    """Prints records: all, or those in range; with `--json`/`--ndjson` each with its place in the file."""
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
                run.say(str(number) if len(archives) == 1 else f"{archive.name}: {number}")
        else:
            found |= _print(run, archive, {"prefix": prefix}, options)
    return Outcome.DONE if found else Outcome.NO


def _print(run: Run, archive: ZsReader, bounds: dict[str, bytes | None], options: dict[str, Any]) -> bool:
    """Prints the records in range; says whether there were any."""
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
    """Standard output as the file that `dump` writes to: binary data stay off terminals."""

    def __init__(self, run: Run) -> None:
        self._out = run.out

    def write(self, data: bytes | memoryview) -> int:
        self._out.write(data)
        return len(data)
