"""Additions of text IR streams to the command line: how times are printed, and searches by wildcard and time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from exhume.cli import ExitCode
from exhume.cli.formatcli import FormatCli, SearchOptions, VerbOptions, refuse_names
from exhume.cli.params import Choice as ChoiceType
from exhume.cli.params import Time, Whole
from exhume.cli.runtime import Run
from exhume.formats.kv_ir.cli import FOLLOW, LeftOut, entries, outcome, refuse_with_follow

if TYPE_CHECKING:
    from exhume.formats.clp_ir.reader import Choice, ClpIrArchive
    from exhume.formats.clp_ir.stream import TextUnits

_TIMES = click.Option(
    ["--times"],
    type=ChoiceType(["pattern", "iso", "none"]),
    default="pattern",
    help="Print times in the stream's pattern, as ISO 8601 (as CLP's readers for Python do), or not.",
)

OPTIONS: dict[str, list[click.Option]] = {
    "cat": [_TIMES, FOLLOW],
    "search": [
        click.Option(["--ignore-case", "-i"], is_flag=True, help="Ignore the case of ASCII letters."),
        click.Option(["--whole"], is_flag=True, help="QUERY must match a whole message, including its line end."),
        click.Option(["--tge"], type=Time(), help="Events at or after TIME (epoch milliseconds or ISO 8601)."),
        click.Option(["--tle"], type=Time(), help="Events at or before TIME (epoch milliseconds or ISO 8601)."),
        click.Option(["--count"], is_flag=True, help="Print the number of matches."),
        click.Option(
            ["--count-by-time"],
            type=Whole(1),
            metavar="MS",
            help="Count matches per interval of MS milliseconds.",
        ),
        _TIMES,
        FOLLOW,
    ],
    "recode": [
        click.Option(["--codec"], metavar="CODEC", help="none, or zstd for one zstd frame (default: by the name)."),
        click.Option(["--level"], type=Whole(1, 19), help="zstd level (default: 3)."),
    ],
}


class CatOptions(VerbOptions):
    """Options of `exhume cat` for events."""

    times: str
    follow: bool


class ClpIrSearchOptions(SearchOptions):
    """Which events `exhume search` finds, times in epoch milliseconds, and how it prints them."""

    ignore_case: bool
    whole: bool
    tge: int | None
    tle: int | None
    count_by_time: int | None
    times: str
    follow: bool


def cat(run: Run, archive: ClpIrArchive, names: tuple[str, ...], options: CatOptions) -> ExitCode | None:
    """`exhume cat`: the log as text; with `--json`/`--ndjson` each event with its place.

    Returns None if nothing was left out.  Raises `click.UsageError` for names, which events do not have.
    """
    refuse_names(names, "events of an IR stream")
    left_out = LeftOut(run, [archive])
    _cat(run, archive, options)
    return left_out.outcome(None)


def _cat(run: Run, archive: ClpIrArchive, options: CatOptions) -> None:
    """Print all events: as text, as JSON items with `--json`, or as they are appended with `--follow`."""
    from exhume.formats.clp_ir.reader import EVERY

    if options.follow:
        refuse_with_follow(run)
        _follow(run, archive, EVERY, options.times)
        return
    if run.machine:
        run.items("records", {"target": archive.name, "format": archive.format}, "records", _items(archive, EVERY))
        return
    times = options.times
    _note_times(run, archive.name, archive.metadata, times)
    for chunk in archive.text_chunks(times=times):
        run.out.write(chunk)


def _follow(run: Run, archive: ClpIrArchive, choice: Choice, times: str) -> None:
    """Print the events that match `choice` (patterns and time bounds), also those appended later."""
    from exhume.formats.clp_ir.checks import STREAM
    from exhume.formats.clp_ir.reader import begin_units, printing
    from exhume.formats.clp_ir.units import EventForm
    from exhume.formats.kv_ir.follow import GrowingStream, follow

    def begin(stream: GrowingStream) -> TextUnits:
        """A pass over the stream, which is begun again when the file is replaced: the new one has its own metadata."""
        units, metadata = begin_units(stream, archive.limits)
        _note_times(run, archive.name, metadata, times)
        units.decoder.choose(*choice)
        units.decoder.print_times(*printing(metadata, times))
        return archive.reporting(units)

    follow(run, archive, STREAM, begin, EventForm.TEXT)


def _items(archive: ClpIrArchive, choice: Choice) -> Iterator[dict[str, Any]]:
    """Yield the events of a choice as they are in JSON documents."""
    for span, number, event in archive.events_with_place(choice=choice):
        yield {"ordinal": number, "timestamp": event.time_ms, "message": event.message, "span": span.to_dict()}


def _note_times(run: Run, name: str, metadata: dict[str, Any], times: str) -> None:
    """Note on standard error when times are not printed as the metadata of the stream `name` state."""
    from exhume.formats.clp_ir.patterns import compile_pattern, find_zone
    from exhume.formats.clp_ir.reader import pattern_and_zone

    pattern, zone = pattern_and_zone(metadata)
    if times == "pattern" and compile_pattern(pattern) is None:
        run.note(f"{name}: times are printed as ISO 8601: unsupported pattern {pattern}")
    if times != "none" and find_zone(zone) is None:
        run.note(f"{name}: times are printed in UTC: unknown time zone {zone}")


def search(run: Run, archives: list[ClpIrArchive], query: str, options: ClpIrSearchOptions) -> ExitCode:
    """`exhume search`: the events whose message a wildcard query matches, as text.

    Raises `click.UsageError` when the first time is after the last.
    """
    from exhume.formats.clp_ir.reader import choose

    begin, end = options.tge, options.tle
    if begin is not None and end is not None and begin > end:
        raise click.UsageError("--tge is after --tle")
    choice = choose((query,), begin_ms=begin, end_ms=end, ignore_case=options.ignore_case, whole=options.whole)
    left_out = LeftOut(run, archives)
    return left_out.outcome(_search(run, archives, query, choice, options))


def _search(
    run: Run, archives: list[ClpIrArchive], query: str, choice: Choice, options: ClpIrSearchOptions
) -> ExitCode:
    """Print the matching events of all archives, or their counts.  Return exit code 4 if there are none."""
    if options.follow:
        refuse_with_follow(run, count=options.count, count_by_time=options.count_by_time)
        if len(archives) > 1 or run.several:
            raise click.UsageError("--follow takes one stream")
        _follow(run, archives[0], choice, options.times)
        return ExitCode.DONE
    if options.count or options.count_by_time:
        return _count(run, archives, query, choice, options)
    found = False
    if run.machine:

        def matches() -> Iterator[dict[str, Any]]:
            """Yield the matching events, and note in `found` that there is one."""
            nonlocal found
            for archive in archives:
                for item in _items(archive, choice):
                    found = True
                    yield {"target": archive.name, **item}

        run.items("search", {"format": "clp-ir", "query": query}, "matches", matches())
        return ExitCode.DONE if found else ExitCode.NO
    times = options.times
    for archive in archives:
        _note_times(run, archive.name, archive.metadata, times)
        for chunk in archive.text_chunks(times=times, choice=choice):
            found = True
            run.out.write(chunk)
    return ExitCode.DONE if found else ExitCode.NO


def _count(run: Run, archives: list[ClpIrArchive], query: str, choice: Choice, options: ClpIrSearchOptions) -> ExitCode:
    """Print how many events match, in total or per time span."""
    if options.count_by_time:
        spans: Counter[int] = Counter()
        for archive in archives:
            spans.update(archive.count_by_time(options.count_by_time, choice))
        rows = [{"timestamp": start, "count": count} for start, count in spans.items()]
        return merge(run, [{"counts": rows}], query, options)
    from exhume.formats.clp_s import cli_search  # which imports much more than most searches need

    return cli_search.print_count(run, query, sum(archive.count(choice) for archive in archives), "clp-ir")


def merges(options: ClpIrSearchOptions, machine: bool) -> bool:
    """Whether the results of several streams are combined into one: counts by time."""
    return bool(options.count_by_time)


def merge(run: Run, documents: Sequence[dict[str, Any]], query: str, options: ClpIrSearchOptions) -> ExitCode:
    """Combine the results of several streams, each searched by itself, into one."""
    from exhume.formats.clp_s import cli_search

    assert options.count_by_time is not None  # `merges` says that there is something to combine
    return cli_search.merge_spans(run, documents, query, options.count_by_time, "clp-ir")


CLI = FormatCli(
    options=OPTIONS,
    values={"cat": CatOptions, "list": VerbOptions, "search": ClpIrSearchOptions},
    without_effect={"search": {"count_by_time": ("count", "times"), "count": ("times",)}},
    entries=entries,
    outcome=outcome,
    cat=cat,
    search=search,
    merges=merges,
    merge=merge,
)
