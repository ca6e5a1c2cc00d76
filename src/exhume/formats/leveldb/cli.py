"""What LevelDB adds to the command line: versions, past states, one key's history."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click

from exhume.cli.params import BYTES, Choice, Jobs

if TYPE_CHECKING:
    from exhume.archive import Entry
    from exhume.cli.outcome import Outcome
    from exhume.cli.runtime import Run
    from exhume.formats.leveldb.model import Version
    from exhume.formats.leveldb.ranges import KeyRange
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
    "list": [_ALL, _SEQUENCE, click.Option(["--key"], type=BYTES, help="Every version of this key."), Jobs()],
    "cat": [_SEQUENCE, Jobs()],
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
        Jobs(),
    ],
    "search": [
        _ALL,
        click.Option(["--values"], is_flag=True, help="Look inside values instead of at the start of keys."),
        Jobs(),
    ],
}
WITHOUT_EFFECT = {"list": {"key": ("jobs",), "sequence": ("jobs",)}, "cat": {"sequence": ("jobs",)}}


def table_options(options: dict[str, Any]) -> dict[str, Any]:
    """Options of `LevelDbArchive.to_arrow` for those of `exhume export`."""
    names = {"start_record": "start", "stop_record": "stop"}
    known = ("start_record", "stop_record", "prefix", "all_versions", "sequence", "jobs")
    return {names.get(name, name): options.pop(name) for name in known if name in options}


def entries(
    run: Run, archive: LevelDbArchive, options: dict[str, Any], piece: KeyRange | None = None
) -> Iterator[Entry]:
    """`exhume list`: live rows, or versions; those of a piece, if one is given."""
    from exhume.formats.leveldb.model import Status
    from exhume.formats.leveldb.reader import version_entry

    if piece is not None:
        found = _versions(run, archive, piece)
        if not options.get("all_versions"):
            found = (version for version in found if version.status is Status.LIVE)
    elif options.get("key") is not None:
        found = archive.database.history(options["key"], _tell(run))
    elif options.get("all_versions"):
        found = _versions(run, archive, None)
    elif options.get("sequence") is not None:
        found = archive.database.state(options["sequence"], report=_tell(run), unreferenced=True)
    else:
        yield from archive.entries()
        return
    yield from map(version_entry, found)


def pieces(archive: LevelDbArchive, options: dict[str, Any]) -> list[KeyRange] | None:
    """The ranges of keys that several processes read; None where one has to read all."""
    from exhume.cli.playback import spreads
    from exhume.formats.leveldb.ranges import KeyRange, is_sound, plan_ranges

    database = archive.database
    if not spreads(archive, options.get("jobs", 1)) or not is_sound(database):
        return None
    found = plan_ranges(database)
    return [*found, KeyRange()] if len(found) > 1 else None


def _opening(archive: LevelDbArchive) -> tuple[tuple[str, Any], ...]:
    """The options that the archive was opened with."""
    rule = archive.database.sequence_rule
    return () if rule is None else (("sequence_rule", str(rule)),)


def _versions(run: Run, archive: LevelDbArchive, piece: KeyRange | None) -> Iterable[Version]:
    """All versions that can be read, or those of a piece."""
    from exhume.formats.leveldb.ranges import versions_in

    return archive.database.versions(_tell(run)) if piece is None else versions_in(archive.database, piece, _tell(run))


def _tell(run: Run) -> Any:
    """A report that prints damage on standard error; the listing continues."""
    from exhume.formats.leveldb import checks

    return checks.collector(
        lambda finding: run.note(f"{finding.severity}: {finding}") if finding.severity != "note" else None
    )


def cat(run: Run, archive: LevelDbArchive, names: tuple[str, ...], options: dict[str, Any]) -> Outcome | None:
    """`exhume cat`: the raw values of keys, or every row as a JSON line.

    Raises `click.UsageError` for several processes to look up keys.
    """
    sequence = options.get("sequence")
    if names:
        if options["jobs"] != 1:
            raise click.UsageError("--jobs has no effect on keys that are named")
        if run.machine:
            _print_rows(run, archive, _named(archive, names, sequence))
        else:
            for _, value in _named(archive, names, sequence):
                run.out.write(value)
        return None
    found = [one for one in pieces(archive, options) or () if one.family == 0]
    if found:
        from exhume.cli.playback import each_piece

        each_piece(run, archive, options["jobs"], "cat", _cat_piece, found, opening=_opening(archive))
    else:
        _print_rows(run, archive, _rows(archive, sequence))
    return None


def _cat_piece(run: Run, piece: KeyRange, *, opened: Any, opening: Any) -> None:
    """Prints the rows of a piece, on a worker."""
    from exhume.cli.playback import reopened

    archive = reopened(opened, opening)
    _print_rows(run, archive, archive.database.scan(piece.start, piece.stop))


def _print_rows(run: Run, archive: LevelDbArchive, rows: Iterable[tuple[bytes, bytes]]) -> None:
    from exhume.io.jsonout import dump_bytes

    if run.machine:
        items = ({"key": key, "value": value} for key, value in rows)
        run.items("records", {"target": archive.name, "format": archive.format}, "records", items)
    else:
        for key, value in rows:
            run.out.text(f'{{"key":{dump_bytes(key)},"value":{dump_bytes(value)}}}\n')


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
    from exhume.cli.playback import each_piece

    for archive in archives:
        found = pieces(archive, options)
        if found:
            chosen = {"query": query, "options": options, "opening": _opening(archive)}
            outcomes = each_piece(run, archive, options["jobs"], "search", _search_piece, found, **chosen)
            return Outcome.DONE if Outcome.DONE in outcomes else Outcome.NO
    found_any = _print_hits(run, archives, query, options, None)
    return Outcome.DONE if found_any else Outcome.NO


def _search_piece(
    run: Run, piece: KeyRange, *, query: str, options: dict[str, Any], opened: Any, opening: Any
) -> Outcome:
    """Prints what matches in a piece, on a worker."""
    from exhume.cli.outcome import Outcome
    from exhume.cli.playback import reopened

    return Outcome.DONE if _print_hits(run, [reopened(opened, opening)], query, options, piece) else Outcome.NO


def _print_hits(
    run: Run, archives: list[LevelDbArchive], query: str, options: dict[str, Any], piece: KeyRange | None
) -> int:
    """Prints what matches; returns how much that is."""
    from exhume.cli.render import printable
    from exhume.formats.leveldb.keys import key_text

    wanted = BYTES.convert(query, None, None)
    count = 0

    def hits() -> Iterator[tuple[Version, dict[str, Any]]]:
        nonlocal count
        for archive in archives:
            for version in _versions(run, archive, piece):
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
    return count
