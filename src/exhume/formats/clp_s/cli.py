"""What clp-s adds to the command line."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import click

from exhume.cli.params import Choice, Jobs

if TYPE_CHECKING:
    from exhume.cli.exit_code import ExitCode


class ColumnsOption(click.Option):
    """An option that also takes all words after its value, once the verb has its own arguments (as `clp-s` does)."""

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        super().add_to_parser(parser, ctx)
        for name in self.opts:
            known = parser._long_opt[name]  # noqa: SLF001 - click has no public way to take several values
            process = known.process

            def take(value: str, state: Any, process: Any = process) -> None:
                process(value, state)
                while len(state.largs) >= 2 and state.rargs and not state.rargs[0].startswith("-"):
                    process(state.rargs.pop(0), state)

            known.process = take


_IGNORE_CASE = click.Option(["--ignore-case", "-i"], is_flag=True, help="Values match in any case.")
_TGE = click.Option(["--tge"], type=int, metavar="TS", help="Only records at or after TS (epoch milliseconds).")
_TLE = click.Option(["--tle"], type=int, metavar="TS", help="Only records at or before TS (epoch milliseconds).")


INPUT = click.option(
    "--input",
    type=Choice(["auto", "text", "json", "ir"]),
    default="auto",
    show_default=True,
    help="What inputs are: text logs, JSON, streams of CLP loggers (auto: determined by their content).",
)
LISTING = (
    click.option("-f", "--files-from", metavar="FILE", help="Also the inputs that FILE names, one path or URL a line."),
    click.option("--normalize-paths", is_flag=True, help="Record absolute paths of inputs, without links."),
    click.option("--remove-path-prefix", metavar="DIR", help="Record paths of inputs without this directory."),
    click.option("--remove-leading-slash", is_flag=True, help="Record paths of inputs without a slash before them."),
    click.option("--follow-redirects", is_flag=True, help="URLs: follow redirects to other hosts."),
    click.option("--storage", multiple=True, metavar="KEY=VALUE", help="URLs: an option for fsspec."),
)


def listing(function: Any) -> Any:
    """Add the options that say which inputs a writer is given, and by which names it records them.

    What it adds raises `click.UsageError` where there are none.
    """

    @functools.wraps(function)
    def wrapper(run: Any, inputs: tuple[str, ...], **options: Any) -> Any:
        from exhume.cli.run import storage_options
        from exhume.formats.clp_s.write.listing import Naming, list_inputs

        if not inputs and options["files_from"] is None:
            raise click.UsageError("no INPUT and no --files-from")
        names = ("normalize_paths", "remove_path_prefix", "remove_leading_slash")
        naming = Naming(*(options.pop(name) for name in names))
        follow = {"follow_redirects": True} if options.pop("follow_redirects") else {}
        remote = storage_options(options.pop("storage"), follow)
        return function(run, list_inputs(inputs, options.pop("files_from"), naming, remote), **options)

    found: Any = wrapper
    for option in reversed(LISTING):
        found = option(found)
    return found


TEXT = click.Option(["--text"], is_flag=True, help="The text log that it was made of, byte for byte.")

EXPORTS = {"jsonl": "export:export_jsonl"}

OPTIONS = {
    "cat": [
        click.Option(["--ordered"], is_flag=True, help="Records in the order in which they were compressed."),
        click.Option(["--complete"], is_flag=True, help="Also what clp-s does not print: root arrays, auto keys."),
        TEXT,
        Jobs(),
    ],
    "export": [
        click.Option(["--query"], metavar="KQL", help="Only records that match; tables that cannot are not read."),
        _IGNORE_CASE,
        _TGE,
        _TLE,
        click.Option(["--ordered"], is_flag=True, help="jsonl: records in the order in which they were compressed."),
        click.Option(["--complete"], is_flag=True, help="jsonl: also what clp-s does not print."),
        Jobs(),
    ],
    "salvage": [
        click.Option(["--partial"], is_flag=True, help="Also records of cut tables, with their complete columns."),
    ],
    "recode": [
        click.Option(
            ["--directory/--single-file"],
            default=None,
            help="The other form, or the same, with all stored bytes as they are.",
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
            help="Print only these columns; behind TARGET and QUERY, or once for each column.",
        ),
        click.Option(["--count"], is_flag=True, help="Print the number of matches."),
        click.Option(
            ["--count-by-time"],
            type=click.IntRange(min=1),
            metavar="MS",
            help="Print the number of matches in each span of MS milliseconds.",
        ),
        click.Option(["--min"], metavar="FIELD", help="Print the smallest number of a field in the matches."),
        click.Option(["--max"], metavar="FIELD", help="Print the largest."),
        click.Option(["--unique"], metavar="FIELD", help="Print the different values of a field as JSON."),
        click.Option(["--explain-plan"], is_flag=True, help="Print what would be read and why; read no table."),
        click.Option(["--ordered"], is_flag=True, help="Matches of each archive in the order of its input."),
        Jobs(),
    ],
}


_PRINTED = ("projection", "ordered", "pairs")
WITHOUT_EFFECT = {
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
NEEDS = {"export": {"ignore_case": "query"}}


def table_options(options: dict[str, Any]) -> dict[str, Any]:
    """Options of `ClpSArchive.to_arrow` for those of `exhume export`."""
    names = {"query": "query", "ignore_case": "ignore_case", "tge": "begin_ms", "tle": "end_ms", "jobs": "jobs"}
    return {names[name]: options.pop(name) for name in names.keys() & options.keys()}


def cat(run: Any, archive: Any, names: tuple[str, ...], options: dict[str, Any]) -> None:
    """Print the records of the archive and of further archives given as NAMES; see `Dataset` for their order.

    Raises `click.UsageError` for a JSON document of a plain-text log.
    """
    from contextlib import ExitStack

    chosen = {"ordered": options["ordered"], "complete": options["complete"], "jobs": options["jobs"]}
    with ExitStack() as stack:
        archives = [archive, *(stack.enter_context(run.open(name)) for name in names)]
        if options["text"]:
            if run.machine:
                raise click.UsageError("--text prints bytes: leave out --json and --ndjson")
            for one in archives:
                for chunk in one.text_chunks(jobs=options["jobs"]):
                    run.out.write(chunk)
            return
        if options["ordered"] and any(one.schema_tree.log_event_idx is None for one in archives):
            run.note("made without log order: records come in table order")
        shown = archive
        if names:
            from exhume.formats.clp_s.read.dataset import Dataset

            shown = Dataset(archives)
        if run.machine:
            from json import loads

            texts = (chunk.decode("utf-8", "surrogateescape") for chunk in shown.json_chunks(**chosen))
            lines = (line for text in texts for line in text.split("\n") if line)
            head = {"target": archive.name, "format": archive.format}
            run.items("records", head, "records", ({"record": loads(line)} for line in lines))
            return
        for chunk in shown.json_chunks(**chosen):
            run.out.write(chunk)


def search(run: Any, archives: list[Any], query: str, options: dict[str, Any]) -> ExitCode | None:
    """Print what a KQL query matches, one JSON line each, archive after archive."""
    from exhume.formats.clp_s import cli_search as searchcli

    return searchcli.search(run, archives, query, options)


def merges(options: dict[str, Any], machine: bool) -> bool:
    """Whether the answers of several archives are combined into one."""
    from exhume.formats.clp_s import cli_search as searchcli

    return searchcli.merges(options, machine)


def merge(run: Any, documents: list[dict[str, Any]], query: str, options: dict[str, Any]) -> ExitCode:
    """The combined answer."""
    from exhume.formats.clp_s import cli_search as searchcli

    return searchcli.merge(run, documents, query, options)
