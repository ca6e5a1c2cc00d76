"""`exhume report`: what is in images, files and directories, what it is worth and what was recovered, as one page.

The engine builds the case (`exhume.engines.report`), the view writes the page (`exhume.view.report`).  A split image is
one whose bytes are divided among several files, its segments.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exhume.cli import ExitCode
from exhume.cli.many import prepare_directory
from exhume.cli.params import FORMAT, Jobs, Verb
from exhume.cli.render import printable
from exhume.cli.runtime import Run, check_container, common_options
from exhume.counts import counted
from exhume.engines.identify import walk
from exhume.engines.walk import Kind, WalkEntry
from exhume.errors import SourceError
from exhume.findings import Verdict
from exhume.io.images import SplitSet, split_set
from exhume.io.source import Source
from exhume.io.tree import Tree

if TYPE_CHECKING:
    from exhume.engines.case import CaseReport

# The words for files without an archive of their own, by their kind, in the order of the summary.
LABELS: dict[str, str] = {
    "unrecognized": "without an archive",
    Kind.PART: "part of another",
    Kind.LINK: "links not followed",
    Kind.UNREADABLE: "unreadable",
}


@click.command("report", cls=Verb)
@click.argument("targets", nargs=-1, required=True, metavar="TARGET...")
@click.option("-o", "--output", required=True, metavar="FILE", help="The page (HTML).")
@click.option(
    "--folder", metavar="DIR", help="New or empty directory for the copies, if any (default: FILE without its suffix)."
)
@click.option("--records", multiple=True, metavar="FILE", help="Audit records for the timeline (see exhume audit).")
@click.option("--only", multiple=True, type=FORMAT, metavar="FORMAT", help="Only this format (repeatable).")
@click.option(
    "--min-confidence",
    type=click.FloatRange(0, 1),
    metavar="0..1",
    default=0.5,
    show_default=True,
    help="Omit archives with less confidence.",
)
@click.option("--overwrite", is_flag=True, help="Replace an existing page.")
@click.option(cls=Jobs)
@common_options
def command(
    run: Run,
    targets: tuple[str, ...],
    output: str,
    folder: str | None,
    records: tuple[str, ...],
    only: tuple[str, ...],
    min_confidence: float,
    overwrite: bool,
    jobs: int,
) -> ExitCode:
    """Write a case report about disk images, files and directories.

    Files are hashed and searched for archives, whether they are images or archives themselves. Archives inside a file
    are copied to the folder and verified. In a directory, every file is taken, and each directory that is an archive is
    verified as one. Pieces of one archive (an Ark log's manifest and splits, a bundle's shards and index)
    are reassembled; what is damaged or was reassembled is salvaged. The page states each verdict with its basis, each
    loss, maps, the versions used, and the name of every file without an archive.

    A target that cannot be read is named in the report and on standard error; if none can, there is no report.

    The same files result in the same page, except for the time in it (SOURCE_DATE_EPOCH sets that).

    \b
    Exit codes: 0 every archive is complete;
    1 something cannot be read, or an image does not match its digest;
    3 something is damaged, incomplete or lost; 4 no archive was found.
    """
    from exhume.cli.about import about
    from exhume.cli.cmd_carve import file_names
    from exhume.engines.report import build_report
    from exhume.io.output.atomic import exists_error

    page = Path(output)
    place = Path(folder) if folder is not None else page.with_suffix("")
    if place == page:
        raise click.UsageError("-o FILE needs a suffix, such as .html, or give --folder DIR")
    _check_outputs((*targets, *records), page, place)
    if os.path.lexists(page) and not overwrite:
        raise exists_error(page)
    timeline, wrong = _timeline(records)
    targets = tuple(dict.fromkeys(targets))
    directories = _directories(run, targets)
    # (The total of the progress bar is not known in advance: `lambda: None`.)
    with _folder(place), run.progress("report", lambda: None) as progress:
        case = build_report(
            targets,
            _entries(run, targets, directories),
            partial(_opened, run),
            place,
            names=file_names,
            several=bool(directories) or len(targets) > 1,
            only=only or ((run.as_format,) if run.as_format else ()),
            min_confidence=min_confidence,
            limits=run.limits,
            progress=progress,
            jobs=jobs,
            check=lambda image, on_progress: check_container(run, image, on_progress),
        )
    created, installed = _now(), about().to_dict()
    versions = {"exhume": installed["version"], **_flat(installed)}
    _write_page(run, page, overwrite, case, created=created, versions=versions, timeline=timeline)
    for problem in wrong:
        run.note(problem)
    if run.machine:
        body = {"output": output, "folder": str(place), "created": created, "installation": installed}
        run.document("report", {**body, **case.to_dict(), "timeline": timeline, "problems": wrong})
    else:
        _print_case(run, case, directories)
        run.note(f"written to {output}, " + (f"files below {place}" if case.has_files else "nothing was copied"))
    return _outcome(case, has_problems=bool(wrong))


def _write_page(run: Run, page: Path, overwrite: bool, case: CaseReport, **facts: Any) -> None:
    """Write the page of a case; `facts` are further arguments of `write_report`."""
    import io

    from exhume.io.output.atomic import AtomicFile
    from exhume.view.report import write_report

    with AtomicFile(str(page), overwrite=overwrite) as file:
        text = io.TextIOWrapper(file.file, encoding="utf-8", errors="backslashreplace", newline="\n")
        write_report(text, case, partial(_opened, run), limits=run.limits, **facts)
        text.flush()
        text.detach()


def _outcome(case: CaseReport, *, has_problems: bool) -> ExitCode:
    """Return the exit code for a case; `has_problems`: the timeline could not be made completely."""
    if case.changed or case.counts[Kind.UNREADABLE]:
        return ExitCode.FAILED
    if case.verdict is None:
        return ExitCode.NO
    lost = any(one.report is None or not one.report.complete for one in case.recovered)
    return ExitCode.DONE if case.verdict is Verdict.OK and not lost and not has_problems else ExitCode.LOSS


@contextmanager
def _folder(place: Path) -> Iterator[None]:
    """Make the folder of the copies; at the end, remove the directories made for it that are empty."""
    made = [folder for folder in (place, *place.parents) if not folder.exists()]  # inner ones first
    prepare_directory(str(place))
    try:
        yield
    finally:
        inside = [Path(folder) for folder, _, _ in os.walk(place, topdown=False)][:-1]  # inner ones first, not `place`
        for folder in (*inside, *made):
            with suppress(OSError):  # a directory with files stays
                folder.rmdir()


def _print_case(run: Run, case: CaseReport, directories: frozenset[str]) -> None:
    """Print the files that were searched, the archives in them, and their recoveries."""
    hashed = [*case.images, *(file for found in case.archives for file in found.files)]
    for image in case.images if not directories else ():
        run.print(f"{printable(image.name)}: {counted(image.size, 'bytes')}, SHA-256 {image.sha256}")
    if directories:
        size = counted(sum(file.size for file in hashed), "bytes")
        run.print(f"{counted(len(hashed), 'files')} examined, {size}")
    # Such as "3 archives found: 2 complete, 1 damaged".
    kinds = [str(found.carved.verdict) for found in case.archives]
    kinds_found = ", ".join(f"{kinds.count(kind):,} {kind}" for kind in dict.fromkeys(kinds))
    run.print(f"{counted(len(case.archives), 'archives')} found: {kinds_found}" if kinds else "no archives found")
    if directories:
        run.print(", ".join(f"{case.counts[kind]:,} {LABELS[kind]}" for kind in LABELS))
    for other in case.others:
        if other.kind == Kind.UNREADABLE or (run.verbose and directories):
            run.print(printable(f"{other.kind}: {other.name}" + (f": {other.message}" if other.message else "")))
    for one in case.recovered:
        if one.report is None:
            run.print(printable(f"{one.output}: not salvaged: {one.error}"))
        else:
            run.print(printable(f"recovered: {one.output}, verified by: {one.report.verified_by}"))


def _check_outputs(inputs: tuple[str, ...], page: Path, folder: Path) -> None:
    """Refuse outputs that are an input, or below one: what a report is about is never changed by it."""
    for name in inputs:
        given = Path(os.path.realpath(name))
        for path, option in ((page, "-o FILE"), (folder, "--folder DIR")):
            real = Path(os.path.realpath(path))
            if "://" not in name and (real == given or given in real.parents):
                where = "is one of the inputs" if real == given else f"is below {name}, which the report is about"
                raise click.UsageError(f"{path} {where}: give another place with {option}")


def _directories(run: Run, targets: tuple[str, ...]) -> frozenset[str]:
    """The targets that are directories.  One that cannot be opened is named, as the report does.

    Raises `SourceError` before any work if none can be opened.
    """
    from exhume.cli.playback import print_failed

    found: set[str] = set()
    errors: dict[str, SourceError] = {}
    for name in targets:
        try:
            with _opened(run, name) as source:
                if isinstance(source, Tree):
                    found.add(name)
        except SourceError as error:
            errors[name] = error
    if len(errors) == len(targets):
        raise errors[targets[0]]
    for name, known in errors.items():
        print_failed(run, name, known)
    if found and (run.offset or run.length is not None):
        raise click.UsageError("--offset and --length do not apply to directories")
    return frozenset(found)


@contextmanager
def _opened(run: Run, name: str) -> Iterator[Source | Tree]:
    """Open a target for the body of a `with`.

    Standard input and pipes, which can be read only once, stay open until the run ends.
    """
    if name == "-" or name.startswith(("/dev/fd/", "/proc/self/fd/")):
        yield run.source(name, is_image=True)
        return
    source = run.take_source(name, is_image=True)
    try:
        yield source
    finally:
        source.close()


def _entries(run: Run, targets: tuple[str, ...], directories: frozenset[str]) -> Iterator[WalkEntry]:
    """Yield each given file, and everything below the directories.

    The first segment of a split image stands for the whole image; later segments are yielded as its parts.
    """
    later: dict[str, str] = {}  # later segment of a split image: its first segment
    for target in targets:
        if target not in directories:
            later |= dict.fromkeys(_segments(target).pieces[1:], target)
    for target in targets:
        for entry in (
            walk(target, storage_options=run.storage_options)
            if target in directories
            else (WalkEntry(target, Kind.FILE),)
        ):
            if entry.kind is Kind.FILE and entry.name in later:
                yield WalkEntry(entry.name, Kind.PART, archive=later.pop(entry.name))
                continue
            if entry.kind is Kind.FILE:
                split = _segments(entry.name)
                later |= dict.fromkeys(split.pieces[1:], entry.name)
                if split.note:
                    run.note(printable(split.note))
            yield entry


def _segments(name: str) -> SplitSet:
    """The files of a split or EWF image that begins with this one; no pieces for any other file."""
    from exhume.io.images import segments

    if "://" in name:
        return SplitSet()
    split = split_set(name)
    return split if split.pieces else split._replace(pieces=segments(name))


def _timeline(files: tuple[str, ...]) -> tuple[list[dict[str, Any]], list[str]]:
    """The runs in files of audit records, by time, and the faults of the records."""
    from exhume.cli.records import check

    runs: list[dict[str, Any]] = []
    problems: list[str] = []
    for path in files:
        for number, _, facts in check(path, files=False):
            if "run" in facts:
                runs.append({"digest": facts["digest"], **facts["run"]})
            if "problem" in facts:
                problems.append(f"{path}: record {number}: {facts['problem']}")
    return sorted(runs, key=lambda one: one["started"] or ""), problems


def _now() -> str:
    """The time, or that of `SOURCE_DATE_EPOCH`, in ISO 8601 and UTC."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    seconds = int(given) if given.isascii() and given.isdigit() else int(time.time())
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _flat(installed: dict[str, Any]) -> dict[str, str]:
    """Return the versions of this installation (`About.to_dict`) as one mapping, without libraries that are missing."""
    out = {name: str(installed[name]) for name in ("python", "platform", "kernel") if name in installed}
    return out | {name: version for name, version in installed["libraries"].items() if version}
