"""Additions of KV-IR to the command line: `cat`, `search`, and their options.

An event has pairs (key and value) of its user, and pairs that the logger added (`auto`); `--pairs` chooses which are
shown.  A search converts streams to clp-s archives in memory.  A growing stream is one that its logger still writes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from exhume.cli.formatcli import FormatCli, VerbOptions, refuse_names
from exhume.cli.params import Choice, Jobs, Whole
from exhume.cli.runtime import Run
from exhume.formats.clp_s import cli_options

if TYPE_CHECKING:
    from exhume.archive import Entry
    from exhume.cli import ExitCode
    from exhume.errors import ExhumeError
    from exhume.formats.kv_ir.reader import KvIrArchive, StreamArchive

T = TypeVar("T")

# The two options differ in the default: `cat` prints what `clp-s x` would, `search` what `clp-s s` would.
_PAIRS = click.Option(
    ["--pairs"],
    type=Choice(["user", "auto", "both"]),
    default="user",
    help="Key-value pairs of the user (as clp-s prints), of the logger (auto), or both.",
)

_PAIRS_FOUND = click.Option(
    ["--pairs"],
    type=Choice(["user", "auto", "both"]),
    default="both",
    help="Key-value pairs of the user, of the logger (auto), or both (as clp-s prints for a stream).",
)

_TIME = click.Option(
    ["--timestamp-key"],
    metavar="PATH",
    help="The key with times, for --tge, --tle and --count-by-time (default: @timestamp.unix_millisecs).",
)

FOLLOW = click.Option(
    ["--follow", "-f"],
    is_flag=True,
    help="Continue as the file grows, as tail -F does, until the stream ends.",
)

OPTIONS: dict[str, list[click.Option]] = {
    "cat": [_PAIRS, cli_options.TEXT, Jobs(), FOLLOW],
    "export": [Jobs()],
    "search": [  # always in order
        *(option for option in cli_options.OPTIONS["search"] if option.name != "ordered"),
        _TIME,
        _PAIRS_FOUND,
        FOLLOW,
    ],
    "recode": [
        click.Option(["--codec"], metavar="CODEC", help="none, or zstd for one zstd frame (default: by the name)."),
        click.Option(["--level"], type=Whole(1, 19), help="zstd level (default: 3)."),
    ],
}

TIMESTAMP_KEY = "@timestamp.unix_millisecs"
"""Where CLP's loggers keep the time of an event."""


class CatOptions(VerbOptions):
    """Which form of the events `exhume cat` prints."""

    pairs: str
    text: bool
    jobs: int
    follow: bool


class KvIrSearchOptions(cli_options.ClpSSearchOptions):
    """Options of `exhume search` for events: those for clp-s records, and more."""

    timestamp_key: str | None
    pairs: str
    follow: bool


def table_options(options: dict[str, Any]) -> dict[str, Any]:
    """Options of `KvIrArchive.to_arrow` for those of `exhume export`."""
    return {"jobs": options.pop("jobs")} if "jobs" in options else {}


class LeftOut:
    """Reports on standard error the first event of a stream above a limit, how many more there are, and bytes after
    the end of a stream; any of them makes the outcome a loss.
    """

    def __init__(self, run: Run, archives: Iterable[StreamArchive]) -> None:
        """Register with the archives, which call `report` for what they leave out."""
        self.run: Run = run
        self.found: bool = False  # whether anything was left out
        self.large: int = 0  # number of events above a limit
        for archive in archives:
            archive.on_omitted = self

    def __call__(self, error: ExhumeError) -> None:
        """Report an event that was left out, or bytes after the end."""
        from exhume.cli.advice import advice_on
        from exhume.errors import LimitExceededError
        from exhume.findings import Finding

        self.found = True
        if isinstance(error, LimitExceededError):
            self.large += 1
            if self.large > 1:
                return
        severity = Finding.from_error(error).severity
        self.run.note(f"{severity}: {error.one_line(advice_on(error.code, (), ''))}")

    def outcome(self, outcome: T) -> T | ExitCode:
        """Return the exit code of a verb: `outcome`, unless something was left out.  Notes how many events were."""
        from exhume.cli import ExitCode
        from exhume.counts import counted

        if self.large > 1:
            self.run.note(f"unchecked: {counted(self.large - 1, 'more events')} above the limit")
        return ExitCode.LOSS if self.found else outcome


def cat(run: Run, archive: KvIrArchive, names: tuple[str, ...], options: CatOptions) -> ExitCode | None:
    """`exhume cat`: the events as JSON lines; with `--json`/`--ndjson` each with its place.

    Returns None if nothing was left out.  Raises `click.UsageError` for names, which events do not have.
    """
    refuse_names(names, "events of a KV-IR stream")
    left_out = LeftOut(run, [archive])
    _cat(run, archive, options)
    return left_out.outcome(None)


def _cat(run: Run, archive: KvIrArchive, options: CatOptions) -> None:
    """Print all events as JSON lines, text or JSON items with spans, with `--follow` also those appended later."""
    pairs = options.pairs
    if options.follow:
        from exhume.formats.kv_ir.checks import STREAM
        from exhume.formats.kv_ir.follow import follow
        from exhume.formats.kv_ir.reader import PAIRS, begin_units

        refuse_with_follow(run, text=options.text)
        follow(
            run, archive, STREAM, lambda stream: archive.reporting(begin_units(stream, archive.limits)), PAIRS[pairs]
        )
        return
    if options.text:
        if run.machine:
            raise click.UsageError("--text prints bytes: leave out --json and --ndjson")
        for chunk in archive.text_chunks():
            run.out.write(chunk)
        return
    if run.machine:

        def items() -> Iterator[dict[str, Any]]:
            """Yield each event with its place in the stream, as pairs of the logger and of the user."""
            for span, (auto, user) in archive.events_with_place():
                shown: dict[str, Any] = {"span": span.to_dict()}
                if pairs != "user":
                    shown["auto"] = auto
                if pairs != "auto":
                    shown["user"] = user
                yield shown

        run.items("records", {"target": archive.name, "format": archive.format}, "records", items())
        return
    for chunk in archive.json_chunks(pairs=pairs, jobs=options.jobs):
        run.out.write(chunk)


def entries(run: Run, archive: StreamArchive, options: VerbOptions) -> Iterator[Entry]:
    """What `exhume list` prints; reports what it leaves out, as `outcome` does in the exit code."""
    LeftOut(run, [archive])
    return archive.entries()


def outcome(run: Run, archive: StreamArchive) -> ExitCode:
    """The exit code of a list whose `entries` were printed."""
    from exhume.cli import ExitCode

    left_out = archive.on_omitted
    return left_out.outcome(ExitCode.DONE) if isinstance(left_out, LeftOut) else ExitCode.DONE


def refuse_with_follow(run: Run, **others: object) -> None:
    """Raise `click.UsageError` for what cannot be combined with `--follow`, because its result is known only at the
    end: JSON documents, and `others`, the values of further options by their names.
    """
    if run.machine:
        raise click.UsageError("--follow prints lines, not JSON documents: leave out --json and --ndjson")
    for name, value in others.items():
        if value:
            raise click.UsageError(f"--follow cannot be combined with --{name.replace('_', '-')}")


class _FollowedEvents(Collection[Any]):
    """The events of a growing stream as clp-s archives, one whenever everything that is complete was read.

    A `Collection` because the search counts its archives for the progress bar: this one counts as one.
    """

    def __init__(self, run: Run, stream: KvIrArchive, timestamp_key: str | None) -> None:
        self.run, self.stream, self.timestamp_key = run, stream, timestamp_key

    def __len__(self) -> int:
        return 1

    def __contains__(self, one: object) -> bool:
        return one is self.stream

    def __iter__(self) -> Iterator[Any]:
        """Yield an archive for each part of the stream that is complete, until the file is replaced by another one."""
        from exhume.formats.kv_ir.checks import STREAM
        from exhume.formats.kv_ir.follow import GrowingStream, note_removed, note_replaced
        from exhume.formats.kv_ir.rows import archives

        while True:
            growing = GrowingStream(self.stream, STREAM)
            growing.idle = self.run.out.flush
            note_removed(self.run, growing)
            yield from archives(self.stream, self.timestamp_key, pieces=growing.pieces_and_pauses())
            if growing.file.replaced is None:
                return
            note_replaced(self.run, growing)


class _Archives(Collection[Any]):
    """Streams as clp-s archives, created in sequence when they are needed; as many as there are streams."""

    def __init__(self, streams: list[KvIrArchive], timestamp_key: str | None, jobs: int) -> None:
        self.streams, self.timestamp_key, self.jobs = streams, timestamp_key, jobs

    def __len__(self) -> int:
        return len(self.streams)

    def __contains__(self, one: object) -> bool:
        return one in self.streams

    def __iter__(self) -> Iterator[Any]:
        """Yield the archives to search, into which each stream is converted in memory."""
        from exhume.formats.kv_ir.rows import archives

        for stream in self.streams:
            yield from archives(stream, self.timestamp_key, jobs=self.jobs)


def search(run: Run, archives: list[KvIrArchive], query: str, options: KvIrSearchOptions) -> ExitCode:
    """`exhume search`: the query runs on clp-s archives in memory that hold the events, in their order.

    Raises `click.UsageError` for a key of times that nothing requests.
    """
    from exhume.formats.clp_s import cli_search
    from exhume.formats.kv_ir.rows import ROOTS

    timed = options.tge is not None or options.tle is not None or options.count_by_time
    if options.timestamp_key is not None and not timed:
        raise click.UsageError("--timestamp-key has no effect without --tge, --tle or --count-by-time")
    key = options.timestamp_key or (TIMESTAMP_KEY if timed else None)
    found: Collection[Any] = _Archives(archives, key, options.jobs)
    if options.follow:
        answers = ("count", "count_by_time", "explain_plan", "min", "max", "unique")
        refuse_with_follow(run, **{name: vars(options)[name] for name in answers})
        if len(archives) > 1 or run.several:
            raise click.UsageError("--follow takes one stream")
        found = _FollowedEvents(run, archives[0], key)
    left_out = LeftOut(run, archives)
    wanted = options.replaced(ordered=True, roots=ROOTS[options.pairs])
    return left_out.outcome(cli_search.search(run, found, query, wanted, "kv-ir"))


def merge(run: Run, documents: Sequence[dict[str, Any]], query: str, options: KvIrSearchOptions) -> ExitCode:
    """Combine the JSON results of several streams, each searched by itself (`--jobs`), into one result."""
    from exhume.formats.clp_s import cli_search

    return cli_search.merge(run, documents, query, options, "kv-ir")


CLI = FormatCli(
    options=OPTIONS,
    values={"cat": CatOptions, "list": VerbOptions, "search": KvIrSearchOptions},
    without_effect={**cli_options.WITHOUT_EFFECT, "cat": {"text": ("pairs",)}},
    table_options=table_options,
    entries=entries,
    outcome=outcome,
    cat=cat,
    search=search,
    merges=cli_options.merges,
    merge=merge,
)
