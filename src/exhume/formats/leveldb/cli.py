"""What LevelDB adds to the command line: versions, past states, one key's history."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click

from exhume.cli.params import BYTES, Choice

if TYPE_CHECKING:
    from exhume.archive import Entry
    from exhume.cli.outcome import Outcome
    from exhume.cli.runtime import Run
    from exhume.formats.leveldb.model import Version
    from exhume.formats.leveldb.reader import LevelDbArchive

_ALL = click.Option(["--all-versions"], is_flag=True, help="Also replaced, deleted and unreferenced versions.")
_SEQUENCE = click.Option(["--sequence"], type=click.IntRange(0), metavar="N", help="The state as of sequence number N.")

OPTIONS: dict[str, list[click.Option]] = {
    "open": [
        click.Option(
            ["--sequence-rule"],
            type=Choice(["per-operation", "per-batch"]),
            help="How a log numbers the operations of a batch (default: told from the log).",
        )
    ],
    "list": [_ALL, _SEQUENCE, click.Option(["--key"], type=BYTES, help="Every version of this key.")],
    "cat": [_SEQUENCE],
    "export": [
        _ALL,
        _SEQUENCE,
        click.Option(
            ["--start", "start_record"],
            type=BYTES,
            metavar="BYTES",
            help="First record or key (escapes as in \\t, \\xff).",
        ),
        click.Option(["--stop", "stop_record"], type=BYTES, metavar="BYTES", help="Record or key to stop before."),
        click.Option(["--prefix"], type=BYTES, metavar="BYTES", help="Only records or keys that start with this."),
    ],
    "search": [
        _ALL,
        click.Option(["--values"], is_flag=True, help="Look inside values instead of at the start of keys."),
    ],
}


def table_options(options: dict[str, Any]) -> dict[str, Any]:
    """Options of `LevelDbArchive.to_arrow` for those of `exhume export`."""
    names = {"start_record": "start", "stop_record": "stop"}
    known = ("start_record", "stop_record", "prefix", "all_versions", "sequence")
    return {names.get(name, name): options.pop(name) for name in known if name in options}


def entries(run: Run, archive: LevelDbArchive, options: dict[str, Any]) -> Iterator[Entry]:
    """`exhume list`: live rows, or versions."""
    from exhume.formats.leveldb.reader import version_entry

    if options.get("key") is not None:
        found: Iterable[Version] = archive.database.history(options["key"], _tell(run))
    elif options.get("all_versions"):
        found = archive.database.versions(_tell(run))
    elif options.get("sequence") is not None:
        found = archive.database.state(options["sequence"], report=_tell(run), unreferenced=True)
    else:
        yield from archive.entries()
        return
    yield from map(version_entry, found)


def _tell(run: Run) -> Any:
    """A report that prints damage on standard error; the listing continues."""
    from exhume.formats.leveldb import checks

    return checks.collector(
        lambda finding: run.note(f"{finding.severity}: {finding}") if finding.severity != "note" else None
    )


def cat(run: Run, archive: LevelDbArchive, names: tuple[str, ...], options: dict[str, Any]) -> Outcome | None:
    """`exhume cat`: the raw values of keys, or every row as a JSON line."""
    from exhume.io.jsonout import dumps

    sequence = options.get("sequence")
    if run.machine:
        rows = _named(archive, names, sequence) if names else _rows(archive, sequence)
        items = ({"key": key, "value": value} for key, value in rows)
        run.items("records", {"target": archive.name, "format": archive.format}, "records", items)
        return None
    if not names:
        for key, value in _rows(archive, sequence):
            run.out.text(dumps({"key": key, "value": value}) + "\n")
        return None
    for _, value in _named(archive, names, sequence):
        run.out.write(value)
    return None


def _named(archive: LevelDbArchive, names: tuple[str, ...], sequence: int | None) -> Iterator[tuple[bytes, bytes]]:
    """The rows of these keys.  Raises `EntryNotFoundError`."""
    from exhume.choices import hint
    from exhume.errors import EntryNotFoundError, Span

    database = archive.database
    for name in names:
        key = BYTES.convert(name, None, None)
        found = (
            database.get(key) if sequence is None else next((v for k, v in _rows(archive, sequence) if k == key), None)
        )
        if found is None:
            keys = (key.decode(errors="backslashreplace") for key, _ in _rows(archive, sequence))
            raise EntryNotFoundError(f"no such key{hint(name, keys)}", span=Span(archive.name, 0, 0), actual=name)
        yield key, found


def _rows(archive: LevelDbArchive, sequence: int | None) -> Iterator[tuple[bytes, bytes]]:
    if sequence is None:
        yield from archive.database.scan()
        return
    for version in archive.database.state(sequence, unreferenced=True):
        yield version.key, version.value


def search(run: Run, archives: list[LevelDbArchive], query: str, options: dict[str, Any]) -> Outcome | None:
    """`exhume search`: keys that start with the query, or values that contain it."""
    from exhume.cli.outcome import Outcome
    from exhume.cli.render import printable
    from exhume.formats.leveldb.keys import key_text

    wanted = BYTES.convert(query, None, None)
    count = 0

    def hits() -> Iterator[tuple[Version, dict[str, Any]]]:
        nonlocal count
        for archive in archives:
            for version in archive.database.versions(_tell(run)):
                if not options.get("all_versions") and version.status != "live":
                    continue
                if wanted in version.value if options.get("values") else version.key.startswith(wanted):
                    count += 1
                    yield (
                        version,
                        {"target": archive.name, "key": version.key, "value": version.value, **version.to_dict()},
                    )

    if run.machine:
        run.items("search", {"format": "leveldb", "query": query}, "matches", (body for _, body in hits()))
    else:
        for version, _ in hits():
            mark = "" if version.status == "live" else f"\t[{version.history}]"
            run.say(f"{key_text(version.key)}\t{printable(key_text(version.value))}{mark}")
    return Outcome.DONE if count else Outcome.NO
