"""Additions of LevelDB to the command line: versions, past states, one key's history.

The functions are called by the commands (`CLI` at the end): each takes the `Run` that prints (`run.machine`: JSON was
requested), the open archive and the options of its command.  Imports are inside the functions to keep `exhume --help`
fast.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

import click

from exhume.cli.formatcli import FormatCli, SearchOptions, VerbOptions
from exhume.cli.params import BYTES, Choice, Jobs, Whole
from exhume.tuples import NamedTuple

if TYPE_CHECKING:
    from exhume.archive import Entry
    from exhume.cli import ExitCode
    from exhume.cli.runtime import Run
    from exhume.findings import Finding
    from exhume.formats.leveldb.checks import Report
    from exhume.formats.leveldb.kernel import LeveldbRows
    from exhume.formats.leveldb.model import Version
    from exhume.formats.leveldb.reader import LevelDbArchive
    from exhume.io.values import LargeValue

T = TypeVar("T")
# Options of several commands.
_ALL = click.Option(["--all-versions"], is_flag=True, help="Also replaced, deleted and unreferenced versions.")
_SEQUENCE = click.Option(["--sequence"], type=Whole(0), metavar="N", help="The state as of sequence number N.")


# Options that this format adds, by command; "open": to every command that opens an archive.
OPTIONS: dict[str, list[click.Option]] = {
    "open": [
        click.Option(
            ["--sequence-rule"],
            type=Choice(["per-operation", "per-batch", "per-sub-batch"]),
            help="How a log numbers the operations of a batch (default: detected).",
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
        click.Option(["--count"], is_flag=True, help="Print the number of matches."),
        click.Option(["--values"], is_flag=True, help="Search in values instead of at the start of keys."),
        Jobs(),
    ],
}


class ListOptions(VerbOptions):
    """Which versions `exhume list` shows; the options are described in `OPTIONS`."""

    all_versions: bool
    sequence: int | None
    key: bytes | None
    jobs: int = 1  # not given with --recursive


class CatOptions(VerbOptions):
    """Which state `exhume cat` prints; see `OPTIONS`."""

    sequence: int | None
    jobs: int


class LevelDbSearchOptions(SearchOptions):
    """Where `exhume search` looks; see `OPTIONS`."""

    all_versions: bool
    values: bool


def table_options(options: dict[str, Any]) -> dict[str, Any]:
    """Take the options of `exhume export` that this format knows out of `options`, and return them as arguments of
    `LevelDbArchive.to_arrow`.
    """
    names = {"start_record": "start", "stop_record": "stop"}
    known = ("start_record", "stop_record", "prefix", "all_versions", "sequence", "jobs")
    return {names.get(name, name): options.pop(name) for name in known if name in options}


def entries(run: Run, archive: LevelDbArchive, options: ListOptions) -> Iterator[Entry]:
    """Yield the entries that `exhume list` shows: live rows, or versions if options request these."""
    from exhume.formats.leveldb.reader import version_entry

    if options.key is not None:
        found: Iterable[Version] = archive.database.history(options.key, _stderr_report(run, archive))
    elif options.all_versions:
        found = archive.database.versions(_stderr_report(run, archive))
    elif options.sequence is not None:
        found = archive.database.state(options.sequence, report=_stderr_report(run, archive), unreferenced=True)
    else:
        yield from archive.entries()
        return
    yield from map(version_entry, found)


def listed(run: Run, archive: LevelDbArchive, options: ListOptions) -> Iterator[bytes] | None:
    """Return the lines of `exhume list`, made on several threads in chunks; None for lists of one key or of a past
    state, and for JSON (`entries` is used then).
    """
    if run.machine or options.key is not None or options.sequence is not None:
        return None

    def made(rows: LeveldbRows) -> bytes:
        """Return the lines of a batch of rows."""
        if not everything:
            rows.choose(True, None, None, None)  # only live ones, without bounds
        return rows.text(False, key_text)

    from exhume.formats.leveldb import checks
    from exhume.formats.leveldb.wire import key_text

    database, everything, jobs = archive.database, options.all_versions, options.jobs
    if everything:
        return database.map_versions(made, _stderr_report(run, archive), older=False, jobs=jobs, lean=True)
    database.require_sound()
    return database.map_versions(made, checks.strict, unreferenced=False, older=False, jobs=jobs, lean=True)


def _stderr_report(run: Run, archive: LevelDbArchive) -> Any:
    """A report that prints damage on standard error, preceded by what opening met; the listing continues."""
    from exhume.formats.leveldb import checks

    def show(finding: Finding) -> None:
        """Print a finding, and remember in the archive that its listing has a gap."""
        if finding.severity != "note":
            run.note(f"{finding.severity}: {finding}")
        archive.is_incomplete |= finding.is_problem

    for finding in archive.database.problems:
        show(finding)
    return checks.collector(show)


def outcome(run: Run, archive: LevelDbArchive) -> ExitCode:
    """Return the exit code of a listing: a loss if something could not be read, or if a value could not be determined
    or may be hidden.

    Each of these causes is noted on standard error.
    """
    from exhume.cli import ExitCode
    from exhume.findings import Finding
    from exhume.formats.leveldb.checks import UNRESOLVED
    from exhume.formats.leveldb.model import ValueTypes, type_name

    database = archive.database
    causes: dict[str, list[Finding]] = {}  # by code of the finding
    if database.absent_logs and not archive.is_incomplete:  # if incomplete, `_stderr_report` has shown them
        causes[database.absent_logs[0].code] = list(map(Finding.from_error, database.absent_logs))
    for _, error in database.unread:
        causes.setdefault(error.code, []).append(Finding.from_error(error))
    # An entry that refers to a blob file cannot be determined without it: as in `verify`, the cause is shown alone.
    reported = {type_name(ValueTypes.BLOB_INDEX)} if causes else set()
    for hidden in database.updates_in_place():
        causes.setdefault(hidden.code, []).append(hidden)
    for found in causes.values():
        run.note(f"{found[0].severity}: {found[0]}{' (and more)' if len(found) > 1 else ''}")
    if unresolved := sorted(database.unresolved - reported):
        run.note(f"{UNRESOLVED.severity}: {UNRESOLVED.code} {UNRESOLVED.title}: {', '.join(unresolved)}")
    return ExitCode.LOSS if causes or database.unresolved or archive.is_incomplete else ExitCode.DONE


def cat(run: Run, archive: LevelDbArchive, names: tuple[str, ...], options: CatOptions) -> ExitCode | None:
    """`exhume cat`: the raw values of keys, or every row as a JSON line.

    Raises `click.UsageError` for several processes to look up keys.
    """
    from exhume.formats.leveldb import checks
    from exhume.io.values import LargeValue

    sequence = options.sequence
    # called without or with bounds
    rows = partial(_rows, archive, sequence, checks.strict if sequence is None else _stderr_report(run, archive))
    # Values of single keys, as they are; with --json, rows.
    if names:
        if options.jobs != 1:
            raise click.UsageError("--jobs has no effect on keys that are named")
        if run.machine:
            _print_rows(run, archive, _rows_of_keys(archive, names, rows))
        else:
            for _, value in _rows_of_keys(archive, names, rows):
                for piece in value if isinstance(value, LargeValue) else (value or b"",):
                    run.out.write(piece)
        return outcome(run, archive)
    from exhume.formats.leveldb.ranges import json_parts

    # Rows of the newest state are printed as they are read, on several threads.
    if sequence is None and not run.machine:
        for parts in archive.database.map_live(json_parts, families=[0], jobs=options.jobs, lean=True):
            for part in parts:
                run.out.write(part)
    else:
        _print_rows(run, archive, rows())
    _note_families(run, archive)
    return outcome(run, archive)


def _note_families(run: Run, archive: LevelDbArchive) -> None:
    """Name the other column families that have entries, whose rows `cat` does not print."""
    if shown := _other_families(archive):
        run.note(f"not printed: other column families ({shown}), which list, search and export have")


def _other_families(archive: LevelDbArchive) -> str:
    """Return the names of the column families with entries other than the default one; empty without any."""
    from exhume.formats.leveldb import checks
    from exhume.formats.leveldb.model import Role
    from exhume.formats.leveldb.wire import key_text

    database = archive.database
    if database.manifest is None or len(database.manifest.families) == 1:
        return ""
    used = {file.column_family for file in database.tables(Role.LIVE)}
    used.update(number for file in database.logs(Role.LIVE) for number in database.load_log(file, checks.ignore).items)
    others = [number for number in database.live_families() if number and number in used]
    names = (database.manifest.families[number].name for number in others)
    return ", ".join(key_text(name.encode("utf-8", "surrogateescape")) for name in names)


Row = tuple[bytes, "bytes | LargeValue | None"]
"""A key and its value."""


def _print_rows(run: Run, archive: LevelDbArchive, rows: Iterable[Row]) -> None:
    """Print key and value of each row as JSON lines, or as one JSON document with `--json`."""
    from exhume.io.jsonout import dump_bytes, dump_pieces

    if run.machine:
        items = (_item({"key": key, "value": value}) for key, value in rows)
        run.items("records", {"target": archive.name, "format": archive.format}, "records", items)
    else:
        for key, value in rows:
            run.out.text(f'{{"key":{dump_bytes(key)},"value":')
            for piece in dump_pieces(value):
                run.out.text(piece)
            run.out.text("}\n")


class _LargeItem(NamedTuple):
    """An item of a JSON list with a value that is read in chunks."""

    fields: dict[str, Any]

    def json_pieces(self) -> Iterator[str]:
        """The text in chunks."""
        from exhume.io.jsonout import dump_pieces

        return dump_pieces(self.fields)


def _item(fields: dict[str, Any]) -> Any:
    """Return an item for `Run.items`: the fields, or an object that writes itself in chunks if the value is large."""
    from exhume.io.values import LargeValue

    return _LargeItem(fields) if isinstance(fields["value"], LargeValue) else fields


def _rows_of_keys(archive: LevelDbArchive, names: tuple[str, ...], rows: Callable[..., Iterator[Row]]) -> Iterator[Row]:
    """Yield the row of each key; `rows(start, stop)` reads rows in these bounds.  Raises `EntryNotFoundError`."""
    from exhume.choices import hint
    from exhume.errors import EntryNotFoundError, Span

    for name in names:
        # The smallest key after `key` is `key` with a zero byte: the bounds contain only `key`.
        key = BYTES.convert(name, None, None)
        found = next((row for row in rows(key, key + b"\0") if row[0] == key), None)
        if found is None:
            keys = (key.decode(errors="backslashreplace") for key, _ in rows())
            others = _other_families(archive)
            where = f" in the default column family (`list --key` also shows: {others})" if others else ""
            raise EntryNotFoundError(
                f"no such key{where}{hint(name, keys)}", span=Span(archive.name, 0, 0), actual=name
            )
        yield found


def _rows(
    archive: LevelDbArchive,
    sequence: int | None,
    report: Report,
    start: bytes | None = None,
    stop: bytes | None = None,
) -> Iterator[Row]:
    """Yield keys and values, live or as of a sequence number; the value is None where it cannot be determined.

    Only live rows are reduced to `start <= key < stop`; a past state is always read as a whole.
    """
    database = archive.database
    found: Iterator[Row]
    if sequence is None:
        found = database.live_rows(start, stop)
    else:
        state = database.state(sequence, report=report, unreferenced=True)
        found = ((version.key, version.known_value) for version in state if not version.column_family)
    yield from found


def search(run: Run, archives: list[LevelDbArchive], query: str, options: LevelDbSearchOptions) -> ExitCode | None:
    """`exhume search`: keys that start with the query, or values that contain it."""
    from exhume.cli import ExitCode
    from exhume.formats.leveldb.ranges import beyond, chosen_rows, versions_of

    wanted: bytes = BYTES.convert(query, None, None)
    live, jobs = not options.all_versions, options.jobs
    # first key, key to stop before, bytes in the value
    bounds = (None, None, wanted) if options.values else (wanted, beyond(wanted), None)
    count = 0

    def found(make: Callable[[LeveldbRows], T]) -> Iterator[tuple[LevelDbArchive, T]]:
        """Yield (archive, `make(rows)`) for batches of matching rows, and count the rows."""
        nonlocal count

        def chosen(rows: LeveldbRows) -> tuple[int, T]:
            """Select the matching rows in the worker thread, so that only these are made into output."""
            rows = chosen_rows(rows, live, *bounds)
            return len(rows), make(rows)

        for archive in archives:
            for number, made in archive.database.map_versions(
                chosen, _stderr_report(run, archive), unreferenced=not live, jobs=jobs, lean=True
            ):
                count += number
                yield archive, made

    # Print the number, JSON items, or lines.
    if options.count:
        for _ in found(lambda rows: None):
            pass
        if run.machine:
            run.document("search", {"target": archives[0].name, "format": "leveldb", "query": query, "count": count})
        else:
            run.print(str(count))
    elif run.machine:
        matches = (_match(archive, one) for archive, versions in found(versions_of) for one in versions)
        run.items("search", {"format": "leveldb", "query": query}, "matches", matches)
    else:
        for _, lines in found(_live_lines if live else _lines):
            for line in lines:
                run.out.utf8(line)
    if ExitCode.LOSS in [outcome(run, archive) for archive in archives]:
        return ExitCode.LOSS
    return ExitCode.DONE if count else ExitCode.NO


def _match(archive: LevelDbArchive, one: Version) -> Any:
    """Return a version that matches as an item of the JSON document."""
    value = None if one.known_value is None else one.content
    return _item({"target": archive.name, "key": one.key, "value": value, **one.to_dict()})


def _live_lines(rows: LeveldbRows) -> Iterable[bytes]:
    """Return the lines of live rows, in chunks: by the kernel, or version by version if there are large values."""
    from exhume.formats.leveldb.ranges import has_large, versions_of
    from exhume.formats.leveldb.wire import key_text

    if not has_large(rows):
        return (rows.text(True, key_text),)
    return chain.from_iterable(
        _line(one) if one.status != "unresolved" else (f"{key_text(one.key)}\n".encode(),) for one in versions_of(rows)
    )


def _lines(rows: LeveldbRows) -> Iterable[bytes]:
    """Return the lines of versions, in chunks; those that are not live show their status and what replaced them."""
    from exhume.formats.leveldb.ranges import has_large, versions_of

    lines = (_line(one, "" if one.status == "live" else f"\t[{one.history}]") for one in versions_of(rows))
    pieces = chain.from_iterable(lines)
    return pieces if has_large(rows) else (b"".join(pieces),)


def _line(one: Version, mark: str = "") -> Iterator[bytes]:
    """Yield the line of a version in chunks: key, value and `mark`, the text at the end."""
    from exhume.formats.leveldb.wire import key_text, text_pieces
    from exhume.io.values import LargeValue

    content = b"" if one.known_value is None else one.content
    if not isinstance(content, LargeValue):
        yield f"{key_text(one.key)}\t{key_text(content)}{mark}\n".encode()
        return
    yield f"{key_text(one.key)}\t".encode()
    yield from text_pieces(content)
    yield f"{mark}\n".encode()


# `values`: the class of a command's options; `without_effect`: by command and option, those without effect next to it.
CLI = FormatCli(
    options=OPTIONS,
    values={"list": ListOptions, "cat": CatOptions, "search": LevelDbSearchOptions},
    without_effect={"list": {"key": ("jobs",), "sequence": ("jobs",)}, "cat": {"sequence": ("jobs",)}},
    table_options=table_options,
    cat=cat,
    entries=entries,
    listed=listed,
    outcome=outcome,
    search=search,
)
