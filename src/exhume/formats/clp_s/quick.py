"""`cat` and `search` of clp-s archives, and the options that they take without click (see `exhume.cli.quick`)."""

from __future__ import annotations

from exhume.lighttyping import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from exhume.cli.outcome import Outcome


def _count(text: str) -> int:
    """A whole number that is not negative."""
    value = int(text)
    if value < 0:
        raise ValueError(text)
    return value


OPTIONS: dict[str, dict[str, tuple[str, Any]]] = {
    "cat": {
        "--ordered": ("ordered", None),
        "--complete": ("complete", None),
        "--jobs": ("jobs", _count),
        "-j": ("jobs", _count),
    },
    "search": {
        "--ignore-case": ("ignore_case", None),
        "-i": ("ignore_case", None),
        "--tge": ("tge", int),
        "--tle": ("tle", int),
        "--count": ("count", None),
        "--explain-plan": ("explain_plan", None),
        "--ordered": ("ordered", None),
    },
}
DEFAULTS: dict[str, dict[str, Any]] = {
    "cat": {"ordered": False, "complete": False, "jobs": 1},
    "search": {
        "ignore_case": False,
        "tge": None,
        "tle": None,
        "projection": (),
        "count": False,
        "count_by_time": None,
        "explain_plan": False,
        "ordered": False,
    },
}


def cat(run: Any, archive: Any, names: tuple[str, ...], options: dict[str, Any]) -> None:
    """Prints the records of the archive and of further archives given as NAMES; see `Dataset` for their order."""
    from contextlib import ExitStack

    chosen = {"ordered": options["ordered"], "complete": options["complete"], "jobs": options["jobs"]}
    with ExitStack() as stack:
        archives = [archive, *(stack.enter_context(run.open(name)) for name in names)]
        if options["ordered"] and any(one.schema_tree.log_event_idx is None for one in archives):
            run.note("made without log order: records come in table order")
        shown = archive
        if names:
            from exhume.formats.clp_s.read.dataset import Dataset

            shown = Dataset(archives)
        if run.machine:
            from json import loads

            lines = (line for chunk in shown.json_chunks(**chosen) for line in chunk.split(b"\n") if line)
            head = {"target": archive.name, "format": archive.format}
            run.items("records", head, "records", ({"record": loads(line)} for line in lines))
            return
        for chunk in shown.json_chunks(**chosen):
            run.out.write(chunk)


def search(run: Any, archives: list[Any], query: str, options: dict[str, Any]) -> Outcome | None:
    """Prints what a KQL query matches, one JSON line each, archive after archive."""
    from exhume.formats.clp_s import cli_search as searchcli

    return searchcli.search(run, archives, query, options)
