"""`exhume list` (`ls`): the content of an archive.

`list_one` handles one target and may run in a worker (`exhume.cli.playback`).  A `Run` has the common options of the
verb, opens targets and prints.  Entries are members, blocks, channels or tables, sections are ranges of bytes.

Options that formats add to the verb arrive as `values`, by parameter name; `given` are the names of all options that
the user set.  `split_options` divides `values` for one format into the options of the verb (`mine`) and those of the
format's `open` (`opening`).  `cli` is what the format adds to the command line (`FormatCli`).
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

import click

from exhume.archive import Archive, Entry
from exhume.cli import ExitCode
from exhume.cli.formatcli import (
    FormatCli,
    FormatCommand,
    VerbOptions,
    format_cli,
    given_options,
    recognized_format,
    refuse_combined,
    split_options,
)
from exhume.cli.many import ManyOptions, recursive_options
from exhume.cli.playback import one_or_several
from exhume.cli.render import printable
from exhume.cli.runtime import Run, common_options
from exhume.layout.sections import Section, SectionKind, SectionMap, SectionRun, Tile
from exhume.registry import get_format

if TYPE_CHECKING:
    from exhume.engines.inspect import Inspection


@click.command("list", cls=FormatCommand, verb="list")
@click.argument("targets", nargs=-1, required=True, metavar="TARGET...")
@click.option("-l", "--long", "long", is_flag=True, help="Also offsets, sizes and the format's own columns.")
@click.option("--glob", metavar="PATTERN", help="Only entries whose name matches.")
@click.option("--sections", is_flag=True, help="List the sections of the file, which cover every byte, instead.")
@partial(recursive_options, also="With --sections also without it, and of a leveldb.")
@common_options
def command(
    run: Run,
    targets: tuple[str, ...],
    recursive: ManyOptions | None,
    long: bool,
    glob: str | None,
    sections: bool,
    **values: object,
) -> ExitCode:
    """List members, blocks, channels or tables of an archive.

    The sections of a damaged archive are listed as far as they can be determined, the rest as unread; exit code 3.
    Versions and past states are listed as far as they can be read; what is damaged or not supported is reported, with
    exit code 3.  With --recursive, an archive that an option does not apply to is reported, with exit code 1.
    """
    shown: dict[str, Any] = {"long": long, "glob": glob, "sections": sections}
    shown |= {"values": values, "given": given_options(click.get_current_context())}
    if recursive is not None:
        from exhume.cli.recursive import each_archive

        return each_archive(run, recursive, "list", list_one, targets, heading=True, **shown)
    return one_or_several(run, "list", list_one, targets, check=_options, **shown)


def list_one(
    run: Run,
    target: str,
    *,
    long: bool,
    glob: str | None,
    sections: bool,
    values: dict[str, object],
    given: frozenset[str],
) -> ExitCode:
    """List one archive; `long`, `glob` and `sections` are the options of these names.

    Raises `click.UsageError` for options that do not go with it or with each other.
    """
    cli, mine, opening, jobs = _options(run, target, sections=sections, values=values, given=given)
    if sections:
        with run.reading("list"), run.inspect(target, **opening) as inspected:
            return _list_sections(run, target, inspected, jobs if isinstance(jobs, int) else 1)
    # A format may have its own way to list (`listed`), which is used unless there are details or a glob.
    options = cli.verb_options("list", mine)
    with run.reading("list"), run.open(target, **opening) as archive:
        if long and not run.machine:
            _list_long(run, _chosen(run, archive, options, glob))
        elif (lines := cli.listed(run, archive, options) if cli.listed and glob is None else None) is None:
            _list_short(run, archive, target, glob, options)
        else:
            for text in lines:
                run.out.utf8(text)
        return cli.outcome(run, archive) if cli.outcome else ExitCode.DONE


def _options(
    run: Run, target: str, *, sections: bool, values: dict[str, object], given: frozenset[str], **_: object
) -> tuple[FormatCli, dict[str, Any], dict[str, Any], object]:
    """Return the format's additions, its options for `list` and for `open`, and the jobs of `--sections`.

    Raises `click.UsageError` for options that do not apply to it.
    """
    described = recognized_format(run, target)
    cli = format_cli(described)
    values = dict(values)  # the given mapping is shared by all targets, and `jobs` is removed below
    # `--jobs` belongs to --sections, except in a format whose own list takes it.
    jobs = values.pop("jobs", None) if sections or cli.listed is None else None
    if jobs is not None and not sections:
        raise click.UsageError("--jobs is for --recursive and --sections", click.get_current_context(silent=True))
    mine, opening = split_options(click.Context(command), "list", described, values, given)
    if sections:
        refuse_combined(given, "sections", ["long", "glob", *mine])
    elif mine.get("jobs", 1) != 1:
        refuse_combined(given, "long", ["jobs"])
    return cli, mine, opening, jobs


def _chosen(run: Run, archive: Archive, options: VerbOptions, glob: str | None) -> Iterator[Entry]:
    """The entries to be listed: with `glob`, only those whose name matches it."""
    lister = format_cli(get_format(archive.format)).entries
    found = lister(run, archive, options) if lister else archive.entries()
    return found if glob is None else (entry for entry in found if fnmatch.fnmatchcase(entry.label, glob))


def _list_short(run: Run, archive: Archive, named: str, glob: str | None, options: VerbOptions) -> None:
    """Print the name of each entry and nothing else."""
    found = _chosen(run, archive, options, glob)
    if run.machine:
        head = {"target": named, "format": archive.format}
        run.items("list", head, "entries", (entry.to_dict() for entry in found))
    else:
        for entry in found:
            run.print(printable(entry.label))


def _list_long(run: Run, found: Iterator[Entry]) -> None:
    """Print all entries as a table, with a column for each detail that any of them has."""
    entries = list(found)
    extra = list(dict.fromkeys(key for entry in entries for key in entry.details))
    with_source = any(entry.source for entry in entries)
    header = ["kind", *(["file"] if with_source else []), "offset", "stored", "size", *extra, "name"]
    rows = (
        [
            entry.kind,
            *([entry.source] if with_source else []),
            entry.offset,
            entry.stored_size,
            entry.size,
            *(entry.details.get(key) for key in extra),
            entry.name if entry.name is not None else str(entry.ordinal),
        ]
        for entry in entries
    )
    run.print_table(rows, header, sizes=True)


def _list_sections(run: Run, target: str, archive: Inspection, jobs: int) -> ExitCode:
    """Print the table of sections. Returns LOSS if a section could not be read."""
    found = archive.sections(jobs=jobs)
    outcome = run.report_problems(archive)
    if run.machine:
        run.items(
            "sections",
            {"target": target, "format": archive.format},
            "sections",
            (section.to_dict() for section in found),
        )
    else:
        columns = _section_columns(found)
        if run.screen.width is not None and run.screen.width < GUIDS_FIT:
            files, names = (SECTION_COLUMNS.index(name) for name in ("file", "section"))
            columns[names] = [_without_guid(*one) for one in zip(columns[names], columns[files], strict=True)]
            columns[files] = [_GUID.sub(_ENDS, file) for file in columns[files]]
        run.print_lines(run.screen.columns(columns, SECTION_COLUMNS))
    # (`sums` yields one section for all of its kind.)
    return ExitCode.LOSS if any(section.kind is SectionKind.UNREAD for section, *_ in found.sums()) else outcome


GUIDS_FIT = 160
"""Columns of a terminal for a table with two GUIDs in each row; a narrower one shows the ends of one."""

# A GUID, such as 0f8b1c2d-...: groups 1 and 2 are its first and last four digits, which a narrow terminal shows.
_ENDS = r"\1…\2"
_GUID = re.compile(r"\b([0-9a-f]{4})[0-9a-f]{4}(?:-[0-9a-f]{4}){3}-[0-9a-f]{8}([0-9a-f]{4})\b")

SECTION_COLUMNS = ["file", "offset", "size", "kind", "codec", "section", "note"]

_ALIKE = ("kind", "codec", "note")
"""Columns that similar sections have in common; a `SectionRun` stores them once for each of its `forms`."""


def _without_guid(name: str, file: str) -> str:
    """The name of a section without the GUID that the name of its file has, and with the ends of any other."""
    found = _GUID.search(file)
    return _GUID.sub(_ENDS, name if found is None else name.replace(f" {found[0]}", ""))


def _section_columns(found: SectionMap) -> list[list[Any]]:
    """Return the columns of a table of sections, one list for each of `SECTION_COLUMNS`.

    A map may have millions of sections.  Consecutive ones of few sorts are a `SectionRun`, whose columns are taken as a
    whole, without an object for each section.
    """
    columns: list[list[Any]] = [[] for _ in SECTION_COLUMNS]
    # A part of the map is a section, a run of sections, or a group of both.
    each = ((part,) if isinstance(part, (Section, SectionRun)) else part for part in found.parts)
    parts: Iterator[Tile] = chain.from_iterable(each)
    for part in parts:
        if not isinstance(part, SectionRun):
            span, name = part.span, f"  {part.name}" if part.parent else part.name
            more: Iterable[Iterable[Any]] = zip(
                (span.source, span.start, span.size, part.kind, part.codec, name, part.note)
            )
        else:
            # `forms` has model sections by number; `sorts` has, for each section, the number of its model.
            alike = ({sort: getattr(form, name) for sort, form in part.forms.items()} for name in _ALIKE)
            kinds, codecs, notes = (map(values.__getitem__, part.sorts) for values in alike)
            files = repeat(part.span.source, len(part))
            more = files, part.bounds[:-1], part.sizes(), kinds, codecs, part.names(), notes
        for column, values in zip(columns, more, strict=True):
            column.extend(values)
    return columns
