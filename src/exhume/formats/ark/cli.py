"""Additions of Ark logs to the command line: options, `exhume cat` and `exhume search`.

`CLI` at the end registers them; the commands themselves are in `exhume.cli`, which passes a `Run` (output, notes and
options of one call; `machine` is whether `--json` was passed).  A log has channels of messages, which are called topics
on the command line.  Latched messages are those that a reader who starts later gets first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from exhume.cli import ExitCode
from exhume.cli.formatcli import FormatCli, SearchOptions, VerbOptions
from exhume.cli.params import NS, Choice, Jobs

if TYPE_CHECKING:
    from exhume.cli.runtime import Run
    from exhume.formats.ark.collection import ArkLogSet
    from exhume.formats.ark.reader import ArkArchive

_TOPIC = click.Option(
    ["--topic", "topic"], multiple=True, metavar="NAME", help="Channel name, glob or regular expression (repeatable)."
)
# Options that several commands have.
_FROM = click.Option(["--start-ns", "start_ns"], type=NS, help="First time, nanoseconds of the log's clock.")
_TO = click.Option(["--stop-ns", "stop_ns"], type=NS, help="Time to stop before, nanoseconds.")

_NO_LATCHED = click.Option(["--no-latched", "no_latched"], is_flag=True, help="Do not replay latched messages first.")
_SKIP = click.Option(["--skip-damaged", "skip_damaged"], is_flag=True, help="Skip damaged messages (exit 3).")

# Options that a log adds to each command ("open": to all that open an archive; "describe": to info and list).
OPTIONS: dict[str, list[click.Option]] = {
    "open": [
        click.Option(["--log", "log"], metavar="GUID", help="GUID of one log, for a directory of several logs."),
        click.Option(
            ["--on-missing", "on_missing"],
            type=Choice(["error", "skip"]),
            help="What to do about missing split files (default: error).",
        ),
    ],
    "describe": [
        click.Option(
            ["--by-manifest", "by_manifest"],
            is_flag=True,
            help="Count messages by the manifest's statistics, not by the index of each split.",
        ),
    ],
    "cat": [
        _TOPIC,
        _FROM,
        _TO,
        click.Option(["--raw", "raw"], is_flag=True, help="The messages' bytes, without separators."),
        _NO_LATCHED,
        click.Option(["--reverse", "reverse"], is_flag=True, help="Latest message first."),
        _SKIP,
        Jobs(),
    ],
    "salvage": [
        click.Option(["--log", "log"], metavar="GUID", help="GUID of one log, for a directory of several logs.")
    ],
    "search": [_FROM, _TO, click.Option(["--count"], is_flag=True, help="Print the number of matches."), Jobs()],
    "export": [
        _TOPIC,
        _FROM,
        _TO,
        _NO_LATCHED,
        _SKIP,
        Jobs(),
        click.Option(
            ["--payload", "payload"],
            type=Choice(["rbuf", "json"]),
            help="MCAP: messages as they are, or as JSON (default: rbuf).",
        ),
    ],
}


class CatOptions(VerbOptions):
    """Which messages `exhume cat` prints, and how."""

    topic: tuple[str, ...]
    start_ns: int | None
    stop_ns: int | None
    raw: bool
    no_latched: bool
    reverse: bool
    skip_damaged: bool
    jobs: int


class ArkSearchOptions(SearchOptions):
    """The time range that `exhume search` searches; None: without a limit."""

    start_ns: int | None
    stop_ns: int | None


def message_query(
    topics: list[str], options: CatOptions | ArkSearchOptions, *, latched: bool = True, reverse: bool = False
) -> dict[str, Any]:
    """Arguments of `ArkArchive.messages` for the options of the command line.

    `latched`: replay earlier latched messages first; `reverse`: the latest message first.
    """
    return {
        "topics": topics or None,
        "start_ns": options.start_ns,
        "stop_ns": options.stop_ns,
        "latched": latched,
        "reverse": reverse,
    }


def table_options(options: dict[str, Any]) -> dict[str, Any]:
    """Options of `ArkArchive.to_arrow` for those of `exhume export`; takes them out of `options`."""
    same = ("topic", "start_ns", "stop_ns", "skip_damaged", "jobs")
    taken = {name: options.pop(name) for name in same if name in options}
    return taken | {"latched": not options.pop("no_latched", False)}


def cat(run: Run, opened: ArkArchive | ArkLogSet, names: tuple[str, ...], options: CatOptions) -> ExitCode | None:
    """Print messages as JSON lines (`time_ns`, `channel`, `value`), or their bytes with `--raw`.

    Raises `click.UsageError` for `--raw` with `--json`.
    """
    from exhume.findings import Finding
    from exhume.formats.ark.lines import lines_of, raw_of
    from exhume.formats.ark.messages import message_json

    archive = one_log(opened)
    print_findings(run, archive)
    raw = options.raw
    findings: list[Finding] = []
    topics = [*names, *options.topic]
    query = message_query(topics, options, latched=not options.no_latched, reverse=options.reverse)
    print_unmatched(run, archive, query["topics"])
    query |= {"decode": not raw, "on_error": "skip" if options.skip_damaged else "raise"}
    if run.machine:
        if raw:
            raise click.UsageError("--raw and --json exclude each other")
        head = {"target": archive.name, "format": archive.format}
        run.items("records", head, "records", map(message_json, archive.messages(**query, findings=findings)))
    elif raw:
        for data in raw_of(archive, query, findings=findings, jobs=options.jobs):
            run.out.write(data)
    else:
        for text, _ in lines_of(archive, query, findings=findings, jobs=options.jobs):
            run.out.write(text)
    # Skipped messages are a loss, and so are missing splits.
    for finding in findings:
        run.note(str(finding))
    if findings:
        return ExitCode.LOSS
    return missing_outcome(run, archive)


def one_log(archive: ArkArchive | ArkLogSet) -> ArkArchive:
    """Return the archive if it is one log; a directory of several raises, since a query is for one of them."""
    from exhume.formats.ark.reader import ArkArchive

    if not isinstance(archive, ArkArchive):
        raise archive.several()
    return archive


def print_findings(run: Run, archive: ArkArchive) -> None:
    """Print the findings of opening the manifest on standard error."""
    for finding in archive.loaded.findings:
        if finding.severity != "note":
            run.note(str(finding))


def print_unmatched(run: Run, archive: ArkArchive, topics: list[str] | None) -> None:
    """Say on standard error that no channel has the requested name, which may be a typing error."""
    from exhume.formats.ark.filters import unmatched

    if hint_text := unmatched(topics, [channel.name for channel in archive.channels()]):
        run.hint(hint_text)


def missing_outcome(run: Run, archive: ArkArchive) -> ExitCode | None:
    """The outcome "loss" when splits were skipped because they are missing."""
    missing = [each.identifier for each in archive.missing_splits() if not each.is_hidden]
    if not missing:
        return None
    run.note(f"without {len(missing)} missing split(s): {', '.join(missing[:8])}")
    return ExitCode.LOSS


def search(run: Run, archives: list[ArkArchive | ArkLogSet], query: str, options: ArkSearchOptions) -> ExitCode | None:
    """Print messages of the channels that the query names (name, glob or regular expression), as JSON lines.

    With `--count` only their number, for each archive.
    """
    from exhume.formats.ark.lines import lines_of
    from exhume.formats.ark.messages import message_json

    found = 0
    for archive in map(one_log, archives):
        print_findings(run, archive)
        wanted = message_query([query], options)
        print_unmatched(run, archive, wanted["topics"])
        wanted["decode"] = not options.count
        messages = archive.messages(**wanted) if run.machine or options.count else ()  # else `lines_of` reads them
        count = 0

        # Matches are counted while they are printed.  The defaults keep the values of this round of the loop.
        def counted(messages: Any = messages, name: str = archive.name) -> Iterator[dict[str, Any]]:
            """Yield each message as JSON, and count it."""
            nonlocal count
            for message in messages:
                count += 1
                yield {"target": name, **message_json(message)}

        head = {"format": "ark", "query": query}
        if options.count:
            count = sum(1 for _ in messages)
            if run.machine:
                run.document("search", {"target": archive.name, **head, "count": count})
            else:
                run.print(str(count))
        elif run.machine:
            run.items("search", head, "matches", counted())
        else:
            for text, number in lines_of(archive, wanted, findings=[], jobs=options.jobs):
                run.out.write(text)
                count += number
        found += count
    return ExitCode.DONE if found else ExitCode.NO


CLI = FormatCli(
    options=OPTIONS,
    values={"cat": CatOptions, "search": ArkSearchOptions},
    exports={"jsonl": "export:export_jsonl", "csv": "export:export_csv", "mcap": "mcap_export:export"},
    table_options=table_options,
    cat=cat,
    search=search,
)
