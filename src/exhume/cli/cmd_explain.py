"""`exhume explain`: every byte, with offset, size, field, value and meaning.

A section is a range of bytes with one purpose, with a tree of fields; findings of `verify` are shown at the fields that
they concern.  A `Run` has the common options of the verb, opens archives and prints.  A `Selection` is what to show.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from exhume.cli import ExitCode
from exhume.cli.formatcli import given_options, refuse_combined
from exhume.cli.many import ManyOptions, recursive_options
from exhume.cli.params import BYTE_RANGE, SIZE, Verb, Whole
from exhume.cli.render import printable
from exhume.cli.runtime import Run, common_options
from exhume.counts import counted
from exhume.findings import Verdict

if TYPE_CHECKING:
    from exhume.engines.explain import Selection
    from exhume.engines.explanation import ExplainedSection


_CHOSEN = ("at", "span", "section", "source", "depth", "whole")
"""Options that choose what is shown, by parameter name."""
WITHOUT_EFFECT: dict[str, tuple[str, ...]] = {
    "coverage_": (*_CHOSEN, "html", "verify"),
    "at": ("span", "depth", "whole"),
    "no_verify": ("verify",),
}
"""By parameter name, the other options that have no effect with that option."""


@click.command("explain", cls=Verb)
@click.argument("target", metavar="TARGET")
@click.option("--at", "at", type=SIZE, metavar="OFFSET", help="Explain the byte at OFFSET, innermost field first.")
@click.option(
    "--range",
    "span",
    type=BYTE_RANGE,
    metavar="A:B",
    help="Only fields that touch bytes A to B (exclusive).",
)
@click.option("--section", metavar="NAME", help="Only this section (see: exhume list --sections).")
@click.option("--file", "source", metavar="NAME", help="Archives of several files: only this one.")
@click.option("--depth", type=Whole(0), help="Levels of fields to show.")
@click.option("--all", "whole", is_flag=True, help="Every section, field and element, however many.")
@click.option("--coverage", "coverage_", is_flag=True, help="Only totals: claimed, padding, gap, overlap, unexplained.")
@click.option("--html", "html", metavar="FILE", help="Write one self-contained page: hex, fields, verdicts, map.")
@click.option("--overwrite", is_flag=True, help="Replace an existing page.")
@click.option("--hex/--no-hex", "hex_", default=None, help="With --at or --range: a hex dump (default: on a terminal).")
@click.option("--verify", is_flag=True, help="With --at or --range: verify all of the archive, and note findings.")
@click.option("--no-verify", is_flag=True, help="Compute no checksum and look for no finding.")
@click.option("--ksy", "ksy", metavar="SPEC.ksy", help="Read TARGET, a file of any format, by this specification.")
@click.option(
    "--import", "imports", multiple=True, metavar="DIR", help="Another folder with specifications that --ksy imports."
)
@partial(recursive_options, also="Without it: to verify with, or to find sections with --coverage.")
@common_options
def command(
    run: Run,
    target: str,
    at: int | None,
    span: tuple[int, int | None] | None,
    section: str | None,
    source: str | None,
    depth: int | None,
    whole: bool,
    coverage_: bool,
    html: str | None,
    overwrite: bool,
    hex_: bool | None,
    verify: bool,
    no_verify: bool,
    ksy: str | None,
    imports: tuple[str, ...],
    recursive: ManyOptions | None,
    jobs: int | None = None,
) -> ExitCode:
    """Show sections, fields, checksums and damage of an archive.

    With --at, --range, --section, --file, --depth or --all, every byte of the requested part: offset, size, field,
    type, value, meaning, checksum verdict.  The page of --html has the first sections of each kind and the damaged
    ones; the same options select others.

    Decompressed payloads are shown as address spaces of their own ("+offset").  A damaged archive is explained as far
    as it can be read, decoded and parsed, the rest as bytes; exit code 3.

    --at and --range read only what they show: checksums there are computed, and nothing else is verified unless
    --verify is given.

    With --ksy, any file is explained by a Kaitai Struct specification (extra: ksy).
    """
    from exhume.cli.explained import print_byte
    from exhume.engines.explain import UNBOUNDED, Selection, explain_archive

    _refuse_without_effect(run, ksy)
    # Everything is summarized by section, without fields, unless an option chooses a part of it.
    with_fields = any(one is not None for one in (at, span, section, source, depth, ksy)) or whole
    # (A byte has stored fields only; a page visits lists more than once, so they cannot be streamed.)
    selection = Selection(
        section=section, source=source, whole=whole, fields=with_fields, payloads=at is None, stream=html is None
    )
    dumping = _dumping(run, hex_)
    if at is not None:
        selection.start, selection.end = at, at + 1
    if span is not None:
        start, end = span
        selection.start, selection.end = start, UNBOUNDED if end is None else end
    if recursive is not None:
        _refuse_recursion(ksy, coverage_)
        from exhume.cli.recursive import each_archive

        return each_archive(run, recursive, "explain", coverage_one, [target], heading=True)
    opened: Any = run.inspect(target) if ksy is None else _specified(run, target, ksy, imports)
    if coverage_:
        return _coverage(run, target, opened, 1 if jobs is None else jobs)
    with opened as archive, ExitStack() as reading:
        reads_a_part = selection.start is not None and html is None and not verify  # --at and --range read only that
        never_verifies = no_verify or ksy is not None
        verifies = not reads_a_part and not never_verifies
        findings = _findings(run, archive, 1 if jobs is None else jobs) if verifies else None
        if html is not None:
            outcome = _page(run, target, archive, findings, html, overwrite, selection)
            return run.report_problems(archive) or outcome  # DONE is 0, so that any other outcome counts
        reading.enter_context(run.reading("explain"))
        explained = explain_archive(archive, selection, findings, unchecked="--no-verify" if no_verify else "")
        outcome = run.report_problems(archive)
        is_unverified = reads_a_part and not never_verifies
        if at is not None:
            found, shown = archive.sections() if dumping else None, list(explained)
            _print_unverified(run, is_unverified and bool(shown))
            return print_byte(run, target, shown, at, found=found) or outcome
        # The first section is made before anything is printed: whether there is one decides about the exit code.
        first = next(explained, None)
        _print_unverified(run, is_unverified and first is not None)
        if first is None and span is not None:
            outcome = ExitCode.NO
        seen = _SectionMonitor([] if first is None else itertools.chain([first], explained))
        if outcome is ExitCode.NO and not run.machine:
            run.print(f"{target}: the range is outside the archive")
        else:
            _print_explained(run, target, archive, seen, selection, depth=depth, dumping=dumping)
    return outcome if seen.complete else ExitCode.LOSS


def _print_explained(
    run: Run,
    target: str,
    archive: Any,
    seen: _SectionMonitor,
    selection: Selection,
    *,
    depth: int | None,
    dumping: bool,
) -> None:
    """Print the sections in `seen`: as a document, with their fields, or as a table of all sections."""
    from exhume.cli.explained import print_sections

    if run.machine:
        run.items("explain", {"target": target, "format": archive.format}, "sections", seen)
    elif selection.fields:
        _print_fields_of(run, archive, seen, depth, selection, dumping)
    else:
        print_sections(run, seen)
        run.note("fields: --section NAME, --at OFFSET, --range A:B, --depth N, or --all")


def _print_fields_of(
    run: Run, archive: Any, seen: _SectionMonitor, depth: int | None, selection: Selection, dumping: bool
) -> None:
    """Print the fields of each section in `seen`, to `depth` levels (None: all), after a hex dump if `dumping`."""
    from exhume.cli.explained import print_bytes, print_fields

    printed: set[str] = set()  # notes and descriptions that are not printed a second time
    for item in seen:
        if dumping:
            print_bytes(run, archive.sections(), item, selection)
        print_fields(run, item, depth, selection, printed)


def _dumping(run: Run, hex: bool | None) -> bool:
    """Whether bytes are shown as a hex dump."""
    return run.screen.width is not None if hex is None else hex


def _refuse_without_effect(run: Run, ksy: str | None) -> None:
    """Raise a usage error for options that make other given options pointless."""
    given = given_options(click.get_current_context())
    for option, others in WITHOUT_EFFECT.items():
        refuse_combined(given, option, others)
    if "hex_" in given and (run.machine or not given & {"at", "span"}):
        raise click.UsageError("--hex and --no-hex are for --at and --range, in text")
    if "imports" in given and ksy is None:
        raise click.UsageError("--import is for --ksy")
    # Jobs verify an archive, or its parts for a coverage; without either there is nothing to divide.
    if not given & {"recursive", "coverage_"}:
        for option in ("no_verify", "ksy", *(() if given & {"verify", "html"} else ("at", "span"))):
            refuse_combined(given, option, ["jobs"])


def _refuse_recursion(ksy: str | None, coverage_: bool) -> None:
    """Raise a usage error for options that do not apply to many archives."""
    if ksy is not None:
        raise click.UsageError("--recursive does not apply with --ksy: give one file")
    if not coverage_:
        raise click.UsageError("--recursive requires --coverage")


def _specified(run: Run, target: str, ksy: str, imports: tuple[str, ...]) -> Any:
    """Open a file whose layout the user's `.ksy` file describes, with the specifications that it imports."""
    from exhume.layout.foreign import SpecifiedFile, compile_ksy
    from exhume.layout.ksy_files import one_file

    specification = compile_ksy(ksy, imports=imports)
    return SpecifiedFile(one_file(run.take_source(target)), specification)


def _print_unverified(run: Run, unverified: bool) -> None:
    """Say on standard error that only a part of the archive is examined."""
    if unverified:
        run.note("only checksums of what is shown are checked; --verify notes every finding")


def _findings(run: Run, archive: Any, jobs: int) -> list[Any]:
    """Verify the archive, with a progress bar, and return its findings."""
    with run.progress("verify") as progress:
        return list(archive.verify(jobs=jobs, progress=progress))


class _SectionMonitor:
    """Passes sections through and remembers whether all of them could be read, decoded and parsed."""

    def __init__(self, items: Iterable[ExplainedSection]) -> None:
        self._items = items
        self.complete = True

    def __iter__(self) -> Iterator[ExplainedSection]:
        """Yield the sections; afterwards `complete` states whether all of them were explained."""
        for item in self._items:
            self.complete = self.complete and item.complete
            yield item
            # The caller has consumed the section's fields meanwhile, which are parsed on demand: ask again.
            self.complete = self.complete and item.is_complete


def _page(
    run: Run, target: str, archive: Any, findings: list[Any] | None, path: str, overwrite: bool, selection: Selection
) -> ExitCode:
    """Write the page and say where it is."""
    import io

    from exhume.io.output.atomic import AtomicFile
    from exhume.view.page import write_page

    with AtomicFile(path, overwrite=overwrite) as file, run.progress("page") as progress:
        text = io.TextIOWrapper(file.file, encoding="utf-8", newline="\n")
        complete = write_page(archive, findings, text, selection, progress)
        text.flush()
        text.detach()
    if run.machine:
        verdict = None if findings is None else Verdict.of(findings)
        run.document("page", {"target": target, "format": archive.format, "verdict": verdict, "output": path})
    else:
        run.note(f"written to {path}")
    return ExitCode.DONE if complete else ExitCode.LOSS


def coverage_one(run: Run, target: str) -> ExitCode:
    """Say how much of an archive is explained."""
    return _coverage(run, target, run.inspect(target))


def _coverage(run: Run, target: str, opened: Any, jobs: int = 1) -> ExitCode:
    """Print how many bytes fields, data, padding and gaps cover; return exit code 4 if any are unexplained."""
    from exhume.engines.coverage import coverage

    with run.reading("explain"), opened as archive:
        totals = coverage(archive, jobs)
        outcome = run.report_problems(archive)
    if run.machine:
        run.document("coverage", {"target": target, **totals.to_dict()})
    else:
        for name in ("fields", "data", "padding", "gap", "overlap", "total"):
            run.print(f"{name.ljust(11)} {getattr(totals, name):>15,}")
        for hole in totals.unexplained:
            run.print(f"unexplained: {printable(str(hole))}, {counted(hole.size, 'bytes')}")
    return outcome or (ExitCode.NO if totals.unexplained else ExitCode.DONE)
