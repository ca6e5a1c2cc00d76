"""What Ark logs add to the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from exhume.cli.outcome import Outcome
from exhume.cli.params import SIZE

if TYPE_CHECKING:
    from exhume.cli.runtime import Run

_TOPIC = click.Option(
    ["--topic", "topic"], multiple=True, metavar="NAME", help="Channel name, glob or regular expression (repeatable)."
)
_FROM = click.Option(["--from-ns", "from_ns"], type=SIZE, help="First time, nanoseconds of the log's clock.")
_TO = click.Option(["--to-ns", "to_ns"], type=SIZE, help="Time to stop before, nanoseconds.")

OPTIONS = {
    "open": [
        click.Option(["--log", "log"], metavar="GUID", help="Which log of a directory that holds several."),
        click.Option(
            ["--on-missing", "on_missing"],
            type=click.Choice(["error", "skip"]),
            help="What to do about split files that are missing (default: error).",
        ),
    ],
    "cat": [
        _TOPIC,
        _FROM,
        _TO,
        click.Option(["--raw", "raw"], is_flag=True, help="The messages' bytes, one after another."),
        click.Option(["--no-latched", "no_latched"], is_flag=True, help="Do not replay latched messages first."),
        click.Option(["--reverse", "reverse"], is_flag=True, help="Latest message first."),
        click.Option(["--skip-damaged", "skip_damaged"], is_flag=True, help="Go on after damaged messages (exit 3)."),
    ],
}


def message_query(names: tuple[str, ...], options: dict[str, Any]) -> dict[str, Any]:
    """Arguments of `ArkReader.messages` for what was asked on the command line."""
    topics = [*names, *options.get("topic", ())]
    return {
        "topics": topics or None,
        "start_ns": options.get("from_ns"),
        "stop_ns": options.get("to_ns"),
        "latched": not options.get("no_latched"),
        "reverse": bool(options.get("reverse")),
    }


def cat(run: Run, archive: Any, names: tuple[str, ...], options: dict[str, Any]) -> Outcome | None:
    """Messages as JSON lines (`time_ns`, `channel`, `value`), or their bytes with `--raw`."""
    from exhume.findings import Finding
    from exhume.jsonout import dumps

    say_findings(run, archive)
    raw = bool(options.get("raw"))
    findings: list[Finding] = []
    found = archive.messages(
        **message_query(names, options),
        decode=not raw,
        on_error="skip" if options.get("skip_damaged") else "raise",
        findings=findings,
    )
    if raw:
        for message in found:
            run.out.write(message.data)
    else:
        for message in found:
            run.out.text(dumps(message_json(message)) + "\n")
    for finding in findings:
        run.note(str(finding))
    if findings:
        return Outcome.LOSS
    return missing_outcome(run, archive)


def message_json(message: Any) -> dict[str, Any]:
    """The JSON line of one message; `data` stands in for the value of a channel without a schema."""
    out: dict[str, Any] = {"time_ns": message.time_ns, "channel": message.channel}
    if message.latched:
        out["latched"] = True
    if message.value is not None:
        out["value"] = message.value
    else:
        out["data"] = message.data
    return out


def say_findings(run: Run, archive: Any) -> None:
    """What opening the manifest already showed goes to standard error."""
    for finding in getattr(getattr(archive, "loaded", None), "findings", ()):
        if finding.severity != "note":
            run.note(str(finding))


def missing_outcome(run: Run, archive: Any) -> Outcome | None:
    """Loss when splits were skipped because they are missing."""
    missing = [each.identifier for each in archive.missing_splits() if not each.is_hidden]
    if not missing:
        return None
    run.note(f"without {len(missing)} missing split(s): {', '.join(missing[:8])}")
    return Outcome.LOSS
