"""The options that clp-s adds to verbs (commands such as `cat` and `search`), and their values.

Apart from `cli`, because the options of a verb are needed for its help, without the code that runs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from exhume.cli.formatcli import SearchOptions, VerbOptions
from exhume.cli.params import Jobs, Time, Whole

if TYPE_CHECKING:
    from exhume.formats.clp_s.read.template import Roots


class ColumnsOption(click.Option):
    """An option that also takes all words after its value, once the verb has its own arguments (as `clp-s` does)."""

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Replace the parser's function for this option by `take`, which consumes the following words as well."""
        super().add_to_parser(parser, ctx)
        for name in self.opts:
            known = parser._long_opt[name]  # noqa: SLF001 - click has no public way to take several values
            process = known.process

            def take(value: str, state: Any, process: Any = process) -> None:
                """Take the value, and further words; `largs` are arguments before them, `rargs` the words that follow.

                Words are taken only after two arguments, TARGET and QUERY, which could not be told apart otherwise.
                """
                process(value, state)
                while len(state.largs) >= 2 and state.rargs and not state.rargs[0].startswith("-"):
                    process(state.rargs.pop(0), state)

            known.process = take


_IGNORE_CASE = click.Option(["--ignore-case", "-i"], is_flag=True, help="Values match in any case.")
_TGE = click.Option(["--tge"], type=Time(), help="Only records at or after TIME (epoch milliseconds or ISO 8601).")
_TLE = click.Option(["--tle"], type=Time(), help="Only records at or before TIME (epoch milliseconds or ISO 8601).")
TEXT = click.Option(["--text"], is_flag=True, help="The original text log, byte for byte.")

OPTIONS: dict[str, list[click.Option]] = {
    "cat": [
        click.Option(["--ordered"], is_flag=True, help="Records in the order in which they were compressed."),
        click.Option(
            ["--complete"], is_flag=True, help="Also values that clp-s omits: root arrays, auto-generated keys."
        ),
        TEXT,
        Jobs(),
    ],
    "export": [
        click.Option(["--query"], metavar="KQL", help="Only records that match; tables that cannot are not read."),
        _IGNORE_CASE,
        _TGE,
        _TLE,
        click.Option(["--ordered"], is_flag=True, help="jsonl: records in the order in which they were compressed."),
        click.Option(["--complete"], is_flag=True, help="jsonl: also values that clp-s omits."),
        Jobs(),
    ],
    "salvage": [
        click.Option(
            ["--partial"], is_flag=True, help="Also records of truncated tables, with their complete columns."
        ),
    ],
    "recode": [
        click.Option(
            ["--directory/--single-file"],
            default=None,
            help="Convert to this form; stored bytes do not change.",
        ),
    ],
    "search": [
        _IGNORE_CASE,
        _TGE,
        _TLE,
        ColumnsOption(
            ["--projection"],
            multiple=True,
            metavar="COLUMN...",
            help="Print only these columns; after TARGET and QUERY, or once per column.",
        ),
        click.Option(["--count"], is_flag=True, help="Print the number of matches."),
        click.Option(
            ["--count-by-time"],
            type=Whole(min=1),
            metavar="MS",
            help="Print the number of matches in each span of MS milliseconds.",
        ),
        click.Option(["--min"], metavar="FIELD", help="Print the smallest number of a field in the matches."),
        click.Option(["--max"], metavar="FIELD", help="Print the largest number of a field in the matches."),
        click.Option(["--unique"], metavar="FIELD", help="Print the different values of a field as JSON."),
        click.Option(["--explain-plan"], is_flag=True, help="Print which tables would be read and why; read none."),
        click.Option(["--ordered"], is_flag=True, help="Matches of each archive in the order of its input."),
        Jobs(),
    ],
}


_PRINTED = ("projection", "ordered", "pairs")
"""Options about how matches are printed, which have no effect on results that are not matches."""

# For each verb: an option, and those that have no effect with it; the verb rejects such a combination.
WITHOUT_EFFECT: dict[str, dict[str, tuple[str, ...]]] = {
    "cat": {"text": ("ordered", "complete")},
    "search": {
        "explain_plan": ("count", "count_by_time", "min", "max", "unique", *_PRINTED),
        "count_by_time": ("count", "min", "max", "unique", *_PRINTED),
        "count": ("min", "max", "unique", *_PRINTED),
        "min": ("max", "unique", *_PRINTED),
        "max": ("unique", *_PRINTED),
        "unique": _PRINTED,
    },
}


class CatOptions(VerbOptions):
    """Which form of the records `exhume cat` prints."""

    ordered: bool
    complete: bool
    text: bool
    jobs: int


class ClpSSearchOptions(SearchOptions):
    """Options of `exhume search`; times in epoch milliseconds, inclusive."""

    ignore_case: bool
    tge: int | None
    tle: int | None
    projection: tuple[str, ...]
    count_by_time: int | None
    min: str | None
    max: str | None
    unique: str | None
    explain_plan: bool
    ordered: bool = False
    roots: Roots = ()
    """Not an option: KV-IR sets it, to the roots of the schema tree that make up a record (see `Roots`)."""

    def aggregate(self) -> tuple[str, str] | None:
        """The name of the requested aggregate and its field; None if only matches are wanted."""
        given = (("min", self.min), ("max", self.max), ("unique", self.unique))
        return next(((name, field) for name, field in given if field is not None), None)


def merges(options: ClpSSearchOptions, machine: bool) -> bool:
    """Whether the results of several archives are combined into one: counts, and plans in one document (`machine`)."""
    return bool(options.aggregate() or options.count_by_time or (options.explain_plan and machine))
