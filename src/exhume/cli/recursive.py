"""`--recursive`: a verb on every archive below a directory, with an account of every other file.

Each file is a unit of `each_target`, so `--jobs` and `--cluster` spread examining files as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import click

from exhume.cli import ExitCode
from exhume.cli.many import ManyOptions, Targets
from exhume.cli.playback import One, Player, each_target, head, print_failed, worst
from exhume.cli.render import printable, shown
from exhume.cli.runtime import Run
from exhume.engines.identify import walk
from exhume.engines.walk import Kind, WalkEntry
from exhume.errors import ExhumeError, SourceError, UnrecognizedFormatError
from exhume.redaction import redact

UNRECOGNIZED = "unrecognized"
"""The kind of a file that is not recognized as an archive; `Kind` has the others."""

# Kinds of files in the totals at the end, in their order: one, several.
_LABELS = {
    Kind.ARCHIVE: ("archive", "archives"),
    Kind.PART: ("file that belongs to one", "files that belong to them"),
    UNRECOGNIZED: ("file not recognized", "files not recognized"),
    Kind.LINK: ("link not followed", "links not followed"),
    Kind.UNREADABLE: ("unreadable", "unreadable"),
}


def each_archive(
    run: Run,
    many: ManyOptions,
    verb: str,
    one: One,
    targets: Iterable[str],
    *,
    heading: bool = False,
    failed: Callable[[str, ExhumeError], None] | None = None,
    **options: Any,
) -> ExitCode:
    """Run `one` on every archive below the targets, report every other file, and print totals.

    `many` has the options for many targets, such as --jobs; `failed` reports an archive that could not be read.  With
    `heading`, each archive's answer, in text for people, follows its name.  The exit code is 1 when something could not
    be read, 4 when there was no archive.  Raises `click.UsageError` for options that apply to a single archive.
    """
    _refuse_choices(run)
    account = _FileTally(run)

    def report_failed(name: str, error: ExhumeError) -> None:
        """Report an archive that could not be read, and count it: a worker that fails sends no "file" document."""
        account.counts[Kind.ARCHIVE] += 1
        (failed or partial(print_failed, run))(name, error)

    # Files are found while archives are read, so their number is not known in advance.
    units = Targets(_found(run, targets), None, True)
    outcomes = each_target(
        run,
        many,
        verb,
        _on_found,
        units,
        failed=report_failed,
        player=account,
        verb_of=one,
        heading=heading,
        options=options,
    )
    run.print_total()
    account.sum_up()
    return worst(outcomes if account.counts[Kind.ARCHIVE] else [*outcomes, ExitCode.NO])


def archives_below(run: Run, targets: Iterable[str]) -> list[tuple[str, WalkEntry]]:
    """The archives below the targets, for verbs whose output is data; the number of other files is reported separately.

    With `--format`, those of other formats are left out.  They are units for `on_found_archive`.  Raises
    `click.UsageError` for options that apply to a single archive.
    """
    wanted, run.as_format = run.as_format, None  # chooses among the archives; `run` recognizes each
    _refuse_choices(run)
    counts: Counter[str] = Counter()
    units, others = [], 0
    for name, found in _found(run, targets):
        kind, format, _ = _recognized(run, name, found)
        if kind == Kind.ARCHIVE and wanted not in (None, format):
            others += 1
            continue
        counts[kind] += 1
        if kind in (Kind.ARCHIVE, Kind.UNREADABLE):  # opening the latter fails, and says why
            units.append((name, found._replace(format=format)))
        run.close()
    run.note(_totals(counts) + (f", {others} of other formats" if others else ""))
    return units


def on_found_archive(
    run: Run, unit: tuple[str, WalkEntry], *, verb_of: One, options: dict[str, Any]
) -> ExitCode | None:
    """Run `verb_of` on an archive that `archives_below` found."""
    name, found = unit
    if found.format is not None:
        run.hand_over(name, found.tree, found.format)
    return verb_of(run, name, **options)


def _refuse_choices(run: Run) -> None:
    """Raise `click.UsageError` for options that say how to read one archive."""
    if run.as_format or run.offset or run.length is not None:
        raise click.UsageError("--recursive finds archives by itself: no --format, --offset or --length", _context())


def _recognized(run: Run, name: str, found: WalkEntry) -> tuple[str, str | None, str]:
    """Return the kind of an entry (such as archive or unreadable), its format, and a remark such as the error."""
    if found.tree is not None and found.format is not None:  # a directory that is one archive, opened by `walk`
        run.hand_over(name, found.tree, found.format)
    elif found.kind is not Kind.FILE:
        return found.kind, found.format, "" if found.error is None else found.error.message
    try:
        return Kind.ARCHIVE, run.format_of(name), ""
    except UnrecognizedFormatError as error:
        return UNRECOGNIZED, found.format, "" if error.actual is None else f"perhaps {error.actual}"
    except SourceError as error:
        return Kind.UNREADABLE, found.format, error.message


def _context() -> click.Context | None:
    """Return click's context of the verb; None in a worker."""
    return click.get_current_context(silent=True)


def _found(run: Run, targets: Iterable[str]) -> Iterator[tuple[str, WalkEntry]]:
    """Yield each file and archive below the targets with its name; a target that cannot be read is one entry."""
    for target in targets:
        try:
            for found in walk(target, storage_options=run.storage_options):
                yield found.name, found
        except SourceError as error:
            yield target, WalkEntry(target, Kind.UNREADABLE, error=error)


def _on_found(
    run: Run, unit: tuple[str, WalkEntry], *, verb_of: One, heading: bool, options: dict[str, Any]
) -> ExitCode:
    """Run the verb on one file if it is an archive, and report the kind of any other file.  Runs in a worker."""
    name, found = unit
    kind, format, message = _recognized(run, name, found)
    outcome: ExitCode | None = None
    if kind == Kind.ARCHIVE:
        if heading:
            head(run, f"{shown(name)} ({format}):")
        outcome = verb_of(run, name, **options)
        if heading and not run.machine:
            run.print()
    body = {"target": name, "kind": kind, "format": format, "archive": found.archive, "message": message or None}
    run.document("file", body)
    return outcome or (ExitCode.FAILED if kind == Kind.UNREADABLE else ExitCode.DONE)


class _FileTally(Player):
    """Plays back the output for each file and counts the kinds of files."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self.counts: Counter[str] = Counter()  # files by kind

    def play(self, event: tuple[Any, ...]) -> None:
        """Print one recorded event, and count the kind of the file that a "file" document describes."""
        if event[0] != "document" or event[1] != "file":
            super().play(event)
            return
        body = event[2]
        kind = body["kind"]
        self.counts[kind] += 1
        if self._run.machine:
            super().play(event)
        elif kind != Kind.ARCHIVE and (kind != Kind.PART or self._run.verbose):
            singular, _ = _LABELS[kind]
            why = f"part of {body['archive']}" if kind == Kind.PART else singular.removeprefix("file ")
            message = f" ({body['message']})" if body["message"] else ""
            self.end()
            self._run.print_wrapped(printable(f"{redact(body['target'])}: {redact(why)}{message}"))

    def sum_up(self) -> None:
        """Print the number of files of each kind."""
        if self._run.machine:
            self._run.document("walk", {name: self.counts[name] for name in _LABELS})
        else:
            self._run.print_wrapped(_totals(self.counts))


def _totals(counts: Counter[str]) -> str:
    """Return the counts as text: "3 archives, 1 file not recognized ..."."""
    words = ((counts[kind], one, several) for kind, (one, several) in _LABELS.items())
    return ", ".join(f"{count} {one if count == 1 else several}" for count, one, several in words)


__all__ = ["archives_below", "each_archive", "on_found_archive"]
