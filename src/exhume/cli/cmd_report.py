"""`exhume report`: what is in disk images, what it is worth and what was recovered, as one page and one document."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from exhume.cli.container import check_container
from exhume.cli.exit_code import ExitCode
from exhume.cli.outputs import prepare_directory
from exhume.cli.params import FORMAT, Jobs, Verb
from exhume.cli.render import printable
from exhume.cli.runtime import Run, common_options
from exhume.counts import counted
from exhume.findings import Verdict


@click.command("report", cls=Verb)
@click.argument("images", nargs=-1, required=True, metavar="IMAGE...")
@click.option("-o", "--output", required=True, metavar="FILE", help="The page (HTML).")
@click.option(
    "--folder", metavar="DIR", help="New or empty directory for the files (default: FILE without its suffix)."
)
@click.option("--records", multiple=True, metavar="FILE", help="Audit records for the timeline (see exhume audit).")
@click.option("--only", multiple=True, type=FORMAT, metavar="FORMAT", help="Only this format (repeatable).")
@click.option(
    "--min-confidence", type=click.FloatRange(0, 1), default=0.5, show_default=True, help="Leave out what is less sure."
)
@click.option("--overwrite", is_flag=True, help="Replace an existing page.")
@click.option(cls=Jobs)
@common_options
def command(
    run: Run,
    images: tuple[str, ...],
    output: str,
    folder: str | None,
    records: tuple[str, ...],
    only: tuple[str, ...],
    min_confidence: float,
    overwrite: bool,
    jobs: int,
) -> ExitCode:
    """Write a case report about disk images.

    The images are hashed and searched for archives. Each archive is copied to the folder, hashed and verified; pieces
    of one archive (an Ark log's manifest and splits, a bundle's shards and index) are reassembled; what is damaged or
    was reassembled is salvaged. The page states each verdict with its basis, each loss, maps, and the versions used.

    The same images result in the same page, except for the time in it (SOURCE_DATE_EPOCH sets that).

    \b
    Exit codes: 0 every archive is complete; 3 something is damaged, incomplete or lost; 4 no archive was found.
    """
    import io

    from exhume.cli.about import about
    from exhume.cli.cmd_carve import file_name
    from exhume.engines.report import build_report
    from exhume.io.output.atomic import AtomicFile, exists_error
    from exhume.io.source import Source
    from exhume.view.report import write_report

    page = Path(output)
    place = Path(folder) if folder is not None else page.with_suffix("")
    if place == page:
        raise click.UsageError("-o FILE needs a suffix, such as .html, or give --folder DIR")
    if os.path.lexists(page) and not overwrite:
        raise exists_error(page)
    timeline, wrong = _timeline(records)
    with ExitStack() as stack:
        sources: list[Source] = []
        for name in _first_segments(run, images):
            source = stack.enter_context(run.take_source(name, is_image=True))
            if not isinstance(source, Source):
                raise click.UsageError("a report needs files (disk images, dumps), not directories")
            sources.append(source)
        prepare_directory(str(place))
        with run.progress("report") as progress:
            case = build_report(
                sources,
                place,
                name=file_name,
                only=only,
                min_confidence=min_confidence,
                limits=run.limits,
                progress=progress,
                jobs=jobs,
                check=lambda opened, told: check_container(run, opened, told),
            )
        created = _now()
        installed = about().to_dict()
        versions = {"exhume": installed["version"], **_flat(installed)}
        with AtomicFile(str(page), overwrite=overwrite) as file:
            text = io.TextIOWrapper(file.file, encoding="utf-8", errors="backslashreplace", newline="\n")
            write_report(text, case, sources, created=created, versions=versions, timeline=timeline, limits=run.limits)
            text.flush()
            text.detach()
    for problem in wrong:
        run.note(problem)
    if run.machine:
        body = {"output": output, "folder": str(place), "created": created, "installation": installed}
        run.document("report", {**body, **case.to_dict(), "timeline": timeline, "problems": wrong})
    else:
        for image in case.images:
            run.print(f"{printable(image.name)}: {counted(image.size, 'bytes')}, SHA-256 {image.sha256}")
        run.print(
            f"{counted(len(case.archives), 'archives')} found: {_counts(case)}"
            if case.archives
            else "no archives found"
        )
        for one in case.recovered:
            told = f"verified by: {one.report.verified_by}" if one.report is not None else f"not salvaged: {one.error}"
            run.print(
                f"recovered: {printable(one.output)}, {printable(told)}"
                if one.report
                else printable(f"{one.output}: {told}")
            )
        run.note(f"written to {output}, files below {place}")
    if case.changed:
        return ExitCode.FAILED
    if case.verdict is None:
        return ExitCode.NO
    lost = any(one.report is None or not one.report.complete for one in case.recovered)
    return ExitCode.DONE if case.verdict is Verdict.OK and not lost and not wrong else ExitCode.LOSS


def _counts(case: Any) -> str:
    kinds = [str(found.carved.verdict) for found in case.archives]
    return ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))


def _first_segments(run: Run, images: tuple[str, ...]) -> list[str]:
    """The images without later segments of split images that stand for a whole one."""
    from exhume.io.split import split_set

    sets = {name: split_set(name) for name in images}
    later = {piece for one in sets.values() for piece in one.pieces[1:]}
    for one in sets.values():
        if one.note:
            run.note(printable(one.note))
    return [name for name in dict.fromkeys(images) if name not in later]


def _timeline(files: tuple[str, ...]) -> tuple[list[dict[str, Any]], list[str]]:
    """The runs in files of audit records, by time, and what is wrong with the records."""
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
    """Versions by name."""
    out = {name: str(installed[name]) for name in ("python", "platform", "kernel") if name in installed}
    return out | {name: version for name, version in installed["libraries"].items() if version}
