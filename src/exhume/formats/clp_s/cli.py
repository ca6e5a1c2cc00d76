"""Additions of clp-s to the command line: `cat`, `search`, and options that all CLP formats have for `create`: which
inputs to read, and the names to record for them.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from exhume.cli.formatcli import FormatCli
from exhume.cli.params import Choice
from exhume.formats.clp_s.cli_options import OPTIONS, WITHOUT_EFFECT, CatOptions, ClpSSearchOptions, merges

if TYPE_CHECKING:
    from exhume.cli import ExitCode
    from exhume.cli.run import Run
    from exhume.formats.clp_s.read.dataset import Dataset
    from exhume.formats.clp_s.reader import ClpSArchive


INPUT = click.option(
    "--input",
    type=Choice(["auto", "text", "json", "ir"]),
    default="auto",
    show_default=True,
    help="What inputs are: text logs, JSON, streams of CLP loggers (auto: determined by their content).",
)
SHOWN = 10
"""Bad records, and inputs without records, that are named one by one; all are counted."""

LISTING = (
    click.option(
        "-f", "--files-from", metavar="FILE", help="Also read the inputs listed in FILE, one path or URL per line."
    ),
    click.option("--normalize-paths", is_flag=True, help="Record absolute paths of inputs, without links."),
    click.option("--remove-path-prefix", metavar="DIR", help="Record paths of inputs without this directory."),
    click.option("--remove-leading-slash", is_flag=True, help="Record paths of inputs without a slash before them."),
    click.option("--follow-redirects", is_flag=True, help="URLs: follow redirects to other hosts."),
    click.option("--storage", multiple=True, metavar="KEY=VALUE", help="URLs: an option for fsspec."),
)


def note_blank(run: Run, names: Sequence[str]) -> None:
    """Note which inputs of a writer have no records, the first ones by name, so that none is missed among others."""
    from exhume.cli.render import printable
    from exhume.counts import counted

    for name in names[:SHOWN]:
        run.note(f"{printable(name)}: there are no records in this input")
    if len(names) > SHOWN:
        run.note(f"{counted(len(names) - SHOWN, 'more inputs')} without records")


def listing(function: Any) -> Any:
    """Add the options that determine a writer's inputs and the names under which it records them.

    The decorated command gets the list of inputs instead; it raises `click.UsageError` if there are none.
    """

    @functools.wraps(function)
    def wrapper(run: Any, inputs: tuple[str, ...], **options: Any) -> Any:
        """Call the command with the listed inputs in place of the options that select and name them."""
        from exhume.cli.run import storage_options
        from exhume.formats.clp_s.write.inputs import Naming, list_inputs

        if not inputs and options["files_from"] is None:
            raise click.UsageError("no INPUT and no --files-from")
        names = ("normalize_paths", "remove_path_prefix", "remove_leading_slash")
        naming = Naming(*(options.pop(name) for name in names))
        follow = {"follow_redirects": True} if options.pop("follow_redirects") else {}
        remote = storage_options(options.pop("storage"), follow)
        return function(run, list_inputs(inputs, options.pop("files_from"), naming, remote), **options)

    found: Any = wrapper
    for option in reversed(LISTING):  # the last decorator applied comes first in the help
        found = option(found)
    return found


def table_options(options: dict[str, Any]) -> dict[str, Any]:
    """Options of `ClpSArchive.to_arrow` for those of `exhume export`."""
    names = {"query": "query", "ignore_case": "ignore_case", "tge": "begin_ms", "tle": "end_ms", "jobs": "jobs"}
    return {names[name]: options.pop(name) for name in names.keys() & options.keys()}


def cat(run: Run, archive: ClpSArchive, names: tuple[str, ...], options: CatOptions) -> None:
    """Print the records of the archive and of further archives given as NAMES; see `Dataset` for their order.

    Raises `click.UsageError` for a JSON document of a plain-text log, and for an archive of another format.
    """
    from contextlib import ExitStack

    chosen: dict[str, Any] = {"ordered": options.ordered, "complete": options.complete, "jobs": options.jobs}
    with ExitStack() as stack:
        archives = [archive, *(stack.enter_context(_opened(run, name)) for name in names)]
        if options.text:
            if run.machine:
                raise click.UsageError("--text prints bytes: leave out --json and --ndjson")
            for one in archives:
                for chunk in one.text_chunks(jobs=options.jobs):
                    run.out.write(chunk)
            return
        if options.ordered and any(one.schema_tree.log_event_idx is None for one in archives):
            run.note("written without log order: records are in table order")
        shown: ClpSArchive | Dataset = archive
        if names:
            from exhume.formats.clp_s.read.dataset import Dataset

            shown = Dataset(archives)
        if run.machine:
            from exhume.formats.clp_s.read.columns import parse_json

            lines = (line for chunk in shown.json_chunks(**chosen) for line in bytes(chunk).split(b"\n") if line)
            head = {"target": archive.name, "format": archive.format}
            run.items("records", head, "records", ({"record": parse_json(line)} for line in lines))
            return
        for chunk in shown.json_chunks(**chosen):
            run.out.write(chunk)


def _opened(run: Run, name: str) -> ClpSArchive:
    """Open a further archive, whose name follows that of the first.  Raises `click.UsageError` for another format."""
    from exhume.formats.clp_s.reader import ClpSArchive

    format = run.format_of(name)
    opened = run.open(name) if format == "clp-s" else None
    if not isinstance(opened, ClpSArchive):
        raise click.UsageError(f"{name} is of the format {format}: archives after one of clp-s are of clp-s as well")
    return opened


def search(run: Run, archives: list[ClpSArchive], query: str, options: ClpSSearchOptions) -> ExitCode | None:
    """Print what a KQL query matches, one JSON line each, archive after archive."""
    from exhume.formats.clp_s import cli_search as searchcli

    return searchcli.search(run, archives, query, options)


def merge(run: Run, documents: Sequence[dict[str, Any]], query: str, options: ClpSSearchOptions) -> ExitCode:
    """Combine the JSON results of several archives, each searched by itself (`--jobs`), and print one result."""
    from exhume.formats.clp_s import cli_search as searchcli

    return searchcli.merge(run, documents, query, options)


CLI = FormatCli(
    options=OPTIONS,
    values={"cat": CatOptions, "search": ClpSSearchOptions},
    without_effect=WITHOUT_EFFECT,
    needs={"export": {"ignore_case": "query"}},
    exports={"jsonl": "export:export_jsonl"},
    table_options=table_options,
    cat=cat,
    search=search,
    merges=merges,
    merge=merge,
)
