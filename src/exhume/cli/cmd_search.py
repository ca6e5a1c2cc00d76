"""`exhume search`: records that match a query, in the query language of the format.

The format's hook `search` prints the matches of one target.  For several targets, each result is recorded and then
played back in order (`exhume.cli.playback`); some results, such as counts, are merged into one instead.  A `Run` has
the common options of the verb, opens targets and prints.

Options that formats add to the verb arrive as `values`, by parameter name; `given` are the names of all options that
the user set.  `split_options` divides `values` for one format into the options of the verb (`mine`) and those of the
format's `open` (`opening`).

`many` has the options for several targets, such as --jobs and --cluster (`ManyOptions`); its method `targets` returns
those to work on (`chosen`), one (`only`) or several.
"""

from __future__ import annotations

import os
from typing import Any

import click

from exhume.cli import ExitCode
from exhume.cli.formatcli import (
    FormatCli,
    FormatCommand,
    SearchOptions,
    UnsuitedOptionError,
    VerbOptions,
    await_beginning,
    format_cli,
    given_options,
    recognized_format,
    split_options,
)
from exhume.cli.many import ManyOptions, Targets, many_options, recursive_option
from exhume.cli.playback import Player, are_few, each_target, worst
from exhume.cli.render import printable, shown
from exhume.cli.runtime import Run, common_options
from exhume.counts import counted
from exhume.redaction import redact
from exhume.registry import Format, get_format

MOST_HINTS = 3
"""Different hints about a query without matches that are printed, the most frequent first."""


@click.command("search", cls=FormatCommand, verb="search")
@click.argument("targets", nargs=-1, metavar="TARGET...")
@click.argument("query", metavar="QUERY")
@click.option(
    "-H", "--with-filename", "named", flag_value=True, default=None, help="Print each match after its target."
)
@click.option(
    "-h", "--no-filename", "named", flag_value=False, help="Do not print target names (default for one target)."
)
@click.option("--exit-code", is_flag=True, help="Exit code 4 when nothing matches.")
@recursive_option
@many_options
@common_options
def command(
    run: Run,
    targets: tuple[str, ...],
    query: str,
    many: ManyOptions,
    recursive: bool,
    named: bool | None,
    exit_code: bool,
    **values: object,
) -> ExitCode | None:
    """Print the records that match QUERY.

    clp-s takes KQL, zs a prefix, ark a topic pattern, leveldb a key prefix.  Several targets must have one format;
    --recursive with --format searches only archives of that one.  One that cannot be read is reported on standard
    error, and the exit code is 1.

    Matches in several targets follow the name of their target; counts are printed for each target and as a total.
    """
    ctx = click.get_current_context()
    given = given_options(ctx)
    if "named" in given and run.machine:  # `named` is -H (True) or -h (False)
        raise click.UsageError("-H and -h are for text: in JSON each match has its target", ctx)
    if os.path.lexists(query):
        if not targets and many.targets_from is None:
            raise click.UsageError("no QUERY: it follows the targets, and '*' matches everything", ctx)
        run.note(f"the query, {printable(query)}, is also the name of a file: the last argument is the query")
    chosen = many.targets(run, targets)
    values["named"] = named
    if recursive:
        outcomes = _search_below(run, many, chosen, query, values, given)
    elif not chosen.several and not named:
        if "jobs" in given:
            values["jobs"] = many.jobs
        outcome = search_one(run, chosen.only, query=query, values=values, given=given, expected=None)
        outcomes = [outcome or ExitCode.DONE]
    else:
        outcomes = _search_several(run, many, chosen, query, values, given)
    if not outcomes:
        return ExitCode.NO  # there is no archive
    # Matches in one target make up for none in another.
    if ExitCode.FAILED not in outcomes:
        if ExitCode.DONE in outcomes and ExitCode.NO in outcomes:
            outcomes.remove(ExitCode.NO)
        if not exit_code:
            outcomes = [ExitCode.DONE if one is ExitCode.NO else one for one in outcomes]
    return worst(outcomes)


def _search_below(
    run: Run, many: ManyOptions, chosen: Targets, query: str, values: dict[str, object], given: frozenset[str]
) -> list[ExitCode]:
    """Search every archive below the directories; return the exit codes that occurred."""
    from exhume.cli.recursive import archives_below, on_found_archive

    found = archives_below(run, chosen.names)
    kinds = sorted({one.format for _, one in found if one.format is not None})
    if len(kinds) > 1:
        raise _mixed(kinds, "; choose one with --format")
    player = _ResultPlayer(run, query, values, given, get_format(kinds[0]) if kinds else None)
    options = {"query": query, "values": values, "given": given, "expected": None}
    units = Targets(found, len(found), True)
    return player.merged(
        each_target(run, many, "search", on_found_archive, units, player=player, verb_of=search_one, options=options)
    )


def _search_several(
    run: Run, many: ManyOptions, chosen: Targets, query: str, values: dict[str, object], given: frozenset[str]
) -> list[ExitCode]:
    """Search all targets and return the exit codes that occurred; results may be merged (see `_ResultPlayer`)."""
    names, described = chosen.names, None
    if are_few(names):  # few enough to recognize all of them before any output
        described = _one_format(run, names)
    player = _ResultPlayer(run, query, values, given, described)
    options: dict[str, Any] = {
        "query": query,
        "values": values,
        "given": given,
        "expected": described.id if described else None,
    }
    outcomes = each_target(run, many, "search", search_one, chosen, player=player, **options)
    return player.merged(outcomes)


def _one_format(run: Run, targets: Any) -> Format | None:
    """Return the common format of the targets that are recognized; None if none is.

    The others are reported when it is their turn.  Raises `click.UsageError` for several formats.
    """
    from exhume.errors import ExhumeError

    kinds: dict[str, str] = {}
    for target in targets:
        try:
            kinds.setdefault(recognized_format(run, target).id, target)
        except ExhumeError:
            continue
        finally:
            run.close()
    if len(kinds) > 1:
        raise _mixed(sorted(kinds))
    return get_format(next(iter(kinds))) if kinds else None


def _mixed(kinds: list[str], remedy: str = "") -> click.UsageError:
    """Return the error for targets of several formats (`kinds`), whose query languages differ."""
    return click.UsageError(
        f"targets of one format at a time, not {', '.join(kinds)}{remedy}", click.get_current_context(silent=True)
    )


def search_one(
    run: Run, target: str, *, query: str, values: dict[str, object], given: frozenset[str], expected: str | None
) -> ExitCode | None:
    """Search one target.

    Raises `click.UsageError` when its format cannot be searched or is not the `expected` one.
    """
    await_beginning(run, target, "search", values)  # with --follow: until the file can be recognized
    described = recognized_format(run, target)
    if expected is not None and described.id != expected:
        raise _mixed(sorted((described.id, expected)))
    cli = format_cli(described)
    # -H and -h are not for the format: `_ResultPlayer` adds the names.
    values = {name: value for name, value in values.items() if name != "named"}
    given -= {"named"}
    if cli.search is None:
        raise click.UsageError(f"{described.id} archives cannot be searched", click.get_current_context(silent=True))
    try:
        mine, opening = split_options(click.Context(command), "search", described, values, given)
    except UnsuitedOptionError as error:  # all targets have this format
        raise click.UsageError(error.message, click.get_current_context(silent=True)) from None
    options = cli.verb_options("search", mine)
    modes = run.json, run.ndjson
    with run.reading("search"), run.open(target, **opening) as archive:
        if run.several:
            run.document("format", {"format": described.id})
            # Results to be merged travel as one JSON document for each target (`_ResultPlayer.play` collects them).
            if _merges(cli, options, run.machine):
                run.json, run.ndjson = True, False
        try:
            return cli.search(run, [archive], query, options)
        finally:
            run.json, run.ndjson = modes


def _merges(cli: FormatCli, options: VerbOptions, machine: bool) -> bool:
    """Whether the answers of several targets are combined: counts, and those that the format combines.

    `machine` is whether a program reads the output, as JSON.
    """
    counts = isinstance(options, SearchOptions) and options.count
    return counts or (cli.merges is not None and cli.merges(options, machine))


class _ResultPlayer(Player):
    """Prints the results of several targets in order; results to be merged are kept, and merged at the end.

    Targets are searched by workers, which record what they would print as events (see `exhume.cli.playback`).
    """

    def __init__(
        self, run: Run, query: str, values: dict[str, object], given: frozenset[str], described: Format | None
    ) -> None:
        """Prepare for targets of the format `described`, or of several formats if it is None."""
        super().__init__(run)
        self._query, self._given = query, given - {"named"}
        named = values.get("named")
        self._named = named if isinstance(named, bool) else None  # -H: True, -h: False, neither: None
        self._values = {name: value for name, value in values.items() if name != "named"}
        self._described = described
        self._merging = False  # whether the results of all targets become one
        self._prefix: bytes | None = None  # before each line of the current target; None: not determined yet
        self._counts: list[tuple[str, int]] = []  # (target, number of matches), for --count
        self._at_line_start = True

    def start(self, target: Any) -> None:
        """Begin the results of a target; text that is printed next starts a line."""
        super().start(target)
        self._prefix, self._at_line_start = None, True

    def play(self, event: tuple[Any, ...]) -> None:
        """Print one event; a document that will be merged with those of other targets is kept instead."""
        if event[0] != "document":
            super().play(event)
            return
        _, verb, body = event
        if verb == "format":  # `search_one` sends it before any result
            self._meet(get_format(body["format"]))
        elif self._merging:
            if "count" in body:
                self._counts.append((self.target, int(body["count"])))
            self.documents.append(body)
        else:
            super().play(event)

    def named(self, text: bytes) -> bytes:
        """Return a chunk of printed matches with the name of the target before each line that begins in it."""
        if self._prefix is None:
            self._prefix = self._name() if self._named is not False else b""
        if not self._prefix or not text:
            return text
        lead = self._prefix if self._at_line_start else b""
        self._at_line_start = text.endswith(b"\n")
        last = b"\n" if self._at_line_start else b""
        return lead + text.removesuffix(b"\n").replace(b"\n", b"\n" + self._prefix) + last

    def _name(self) -> bytes:
        """Return the text before a line of a match; empty for other output.

        Raises `click.UsageError` for -H with records that do not end with a line end.
        """
        options = {name: value for name, value in self._values.items() if name in self._given}
        # Records that do not end with a line end are not lines; a plan, or counts by time, are not matches.
        if any(options.get(name) not in (None, False, b"\n") for name in ("terminator", "length_prefixed")):
            if self._named:
                raise click.UsageError("-H requires records that end with a newline", click.get_current_context())
            return b""
        if any(options.get(name) not in (None, False) for name in ("explain_plan", "count_by_time")):
            return b""
        return self._run.screen.paint(shown(self.target), "target").encode("utf-8", "surrogateescape") + b":"

    def _meet(self, described: Format) -> None:
        """Note the format of a target, which must be that of the others, and whether its results will be merged."""
        if self._described is not None and described.id != self._described.id:
            raise _mixed(sorted((described.id, self._described.id)))
        self._described = described
        self._merging = _merges(format_cli(described), self._options(described), self._run.machine)

    def _options(self, described: Format) -> VerbOptions:
        """Return the format's options of `search`, from what the user gave."""
        mine, _ = split_options(click.Context(command), "search", described, self._values, self._given)
        return format_cli(described).verb_options("search", mine)

    def merged(self, outcomes: list[ExitCode]) -> list[ExitCode]:
        """The outcomes, after printing the common answer, if there is one, and a line about all targets."""
        if self._merging and self._described is not None:
            if self._values.get("count"):
                answer = self._print_counts(self._described.id)
            else:
                merge = format_cli(self._described).merge
                assert merge is not None  # goes with `merges`
                answer = merge(self._run, self.documents, self._query, self._options(self._described))
            # One outcome for all targets that could be read, and those of the others.
            outcomes = [*(one for one in outcomes if one is ExitCode.FAILED), answer]
        self._sum_up()
        return outcomes

    def _print_counts(self, format: str) -> ExitCode:
        """Print the number of matches of each target, and their sum; return exit code 4 if it is 0."""
        total = sum(count for _, count in self._counts)
        if self._run.machine:
            targets = [{"target": redact(target), "count": count} for target, count in self._counts]
            body = {"format": format, "query": self._query, "count": total, "targets": targets}
            self._run.document("search", body)
            return ExitCode.DONE if total else ExitCode.NO
        for target, count in self._counts:
            name = f"{self._run.screen.paint(shown(target), 'target')}: " if self._named is not False else ""
            self._run.print(f"{name}{count}")
        if self._named is not False and len(self._counts) > 1:
            self._run.print(f"total: {total}")
        return ExitCode.DONE if total else ExitCode.NO

    def _sum_up(self) -> None:
        """Print a note with the number of targets that have matches and, if none has, hints about the query."""
        matched, without = self.outcomes[ExitCode.DONE] + self.outcomes[ExitCode.LOSS], self.outcomes[ExitCode.NO]
        if not matched and not self._run.verbose:
            for text, count in self.hints.most_common(MOST_HINTS):
                self._run.note(text if count == 1 else f"{text} ({counted(count, 'targets')})")
        failed = self.outcomes[ExitCode.FAILED]
        if self.outcomes.total() > 1 and not self._run.machine and not self._merging:
            lost = f", {failed} not read" if failed else ""
            self._run.note(f"{matched} of {counted(matched + without + failed, 'targets')} with matches{lost}")
