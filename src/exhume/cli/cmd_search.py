"""`exhume search`: records that match a query, in the query language of the format."""

from __future__ import annotations

from typing import Any

import click

from exhume.cli.exit_code import ExitCode
from exhume.cli.formatcli import FormatCommand, format_cli, given_options, recognised_format, split_options
from exhume.cli.many import Many, Targets, many_options, recursive_option
from exhume.cli.playback import Player, each_target, worst
from exhume.cli.runtime import Run, common_options
from exhume.registry import Format, get_format

PRECHECKED = 64
"""Up to this many local targets, the formats are compared before the first answer is printed."""


@click.command("search", cls=FormatCommand, verb="search")
@click.argument("targets", nargs=-1, metavar="TARGET...")
@click.argument("query", metavar="QUERY")
@click.option("--exit-code", is_flag=True, help="Exit code 4 when nothing matches.")
@recursive_option
@many_options
@common_options
def command(
    run: Run, targets: tuple[str, ...], query: str, many: Many, recursive: bool, exit_code: bool, **values: Any
) -> ExitCode | None:
    """Print the records that match QUERY.

    clp-s takes KQL, zs a prefix, ark a topic pattern, leveldb a key prefix.  Several targets must have one format; one
    that cannot be read is reported on standard error, and the exit code is 1.
    """
    ctx = click.get_current_context()
    given = given_options(ctx)
    chosen = many.targets(run, targets)
    if recursive:
        outcomes = _search_below(run, many, chosen, query, values, given)
    elif not chosen.several:
        if "jobs" in given:
            values["jobs"] = many.jobs
        outcome = search_one(run, chosen.only, query=query, values=values, given=given, expected=None)
        outcomes = [outcome or ExitCode.DONE]
    else:
        outcomes = _search_several(run, many, chosen, query, values, given)
    if not outcomes:
        return ExitCode.NO  # there is no archive
    if ExitCode.FAILED not in outcomes:
        if ExitCode.DONE in outcomes and ExitCode.NO in outcomes:
            outcomes.remove(ExitCode.NO)
        if not exit_code:
            outcomes = [ExitCode.DONE if one is ExitCode.NO else one for one in outcomes]
    return worst(outcomes)


def _search_below(
    run: Run, many: Many, chosen: Targets, query: str, values: dict[str, Any], given: frozenset[str]
) -> list[ExitCode]:
    """Searches every archive below the targets; no outcome where there is none."""
    from exhume.cli.recursive import archives_below, on_known

    found = archives_below(run, chosen.names)
    kinds = sorted({one.format for _, one in found if one.format is not None})
    if len(kinds) > 1:
        raise _mixed(kinds)
    player = _Answers(run, query, values, given, get_format(kinds[0]) if kinds else None)
    options = {"query": query, "values": values, "given": given, "expected": None}
    units = Targets(found, len(found), True)
    return player.merged(
        each_target(run, many, "search", on_known, units, player=player, verb_of=search_one, options=options)
    )


def _search_several(
    run: Run, many: Many, chosen: Targets, query: str, values: dict[str, Any], given: frozenset[str]
) -> list[ExitCode]:
    names, described = chosen.names, None
    if isinstance(names, list | tuple) and len(names) <= PRECHECKED and not any("://" in name for name in names):
        described = _one_format(run, names)
    player = _Answers(run, query, values, given, described)
    options: dict[str, Any] = {
        "query": query,
        "values": values,
        "given": given,
        "expected": described.id if described else None,
    }
    outcomes = each_target(run, many, "search", search_one, chosen, player=player, **options)
    return player.merged(outcomes)


def _one_format(run: Run, targets: Any) -> Format | None:
    """The format of all targets; None when some are not recognised (which is reported when it is their turn)."""
    from exhume.errors import ExhumeError

    kinds: dict[str, str] = {}
    for target in targets:
        try:
            kinds.setdefault(recognised_format(run, target).id, target)
        except ExhumeError:
            continue
        finally:
            run.close()
    if len(kinds) > 1:
        raise _mixed(sorted(kinds))
    return get_format(next(iter(kinds))) if kinds else None


def _mixed(kinds: list[str]) -> click.UsageError:
    return click.UsageError(
        f"targets of one format at a time, not {', '.join(kinds)}", click.get_current_context(silent=True)
    )


def search_one(
    run: Run, target: str, *, query: str, values: dict[str, Any], given: frozenset[str], expected: str | None
) -> ExitCode | None:
    """Searches one target.

    Raises `click.UsageError` when its format cannot be searched or is not the `expected` one.
    """
    described = recognised_format(run, target)
    if expected is not None and described.id != expected:
        raise _mixed(sorted((described.id, expected)))
    cli = format_cli(described)
    searcher = getattr(cli, "search", None)
    if searcher is None:
        raise click.UsageError(f"{described.id} archives cannot be searched", click.get_current_context(silent=True))
    mine, opening = split_options(click.Context(command), "search", described, values, given)
    merges = run.several and getattr(cli, "merges", None)
    asked = run.json, run.ndjson
    with run.open(target, **opening) as archive:
        if run.several:
            run.document("format", {"format": described.id})
        if merges and merges(mine, run.machine):
            run.json, run.ndjson = True, False
        try:
            outcome: ExitCode | None = searcher(run, [archive], query, mine)
        finally:
            run.json, run.ndjson = asked
    return outcome


class _Answers(Player):
    """Plays back the answers of several targets; answers that make up a common one are kept for the format to merge."""

    def __init__(
        self, run: Run, query: str, values: dict[str, Any], given: frozenset[str], described: Format | None
    ) -> None:
        super().__init__(run)
        self._query, self._values, self._given = query, values, given
        self._described = described
        self._merging = False

    def play(self, event: tuple[Any, ...]) -> None:
        if event[0] == "document" and event[1] == "format":
            self._meet(get_format(event[2]["format"]))
        elif event[0] == "document" and self._merging:
            self.documents.append(event[2])
        else:
            super().play(event)

    def _meet(self, described: Format) -> None:
        if self._described is not None and described.id != self._described.id:
            raise _mixed(sorted((described.id, self._described.id)))
        self._described = described
        merges = getattr(format_cli(described), "merges", None)
        self._merging = bool(merges and merges(self._options(described), self._run.machine))

    def _options(self, described: Format) -> dict[str, Any]:
        return split_options(click.Context(command), "search", described, self._values, self._given)[0]

    def merged(self, outcomes: list[ExitCode]) -> list[ExitCode]:
        """The outcomes, after printing the common answer, if there is one."""
        if self._merging and self._described is not None:
            merge = format_cli(self._described).merge
            answer: ExitCode = merge(self._run, self.documents, self._query, self._options(self._described))
            return [*(one for one in outcomes if one is ExitCode.FAILED), answer]
        return outcomes
