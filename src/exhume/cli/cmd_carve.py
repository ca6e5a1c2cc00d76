"""`exhume carve`: find archives inside raw bytes.

One image is searched here, by threads; several, or one in chunks, by processes or a cluster
(`exhume.distributed.carving`).  A `Run` has the common options of the verb, opens images and prints.
`origin` of a source is the offset of its first byte in the outermost file.

`many` has the options for several targets, such as --jobs and --cluster (`ManyOptions`); its method `targets` returns
those to work on (`chosen`), one (`only`) or several.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from exhume.cli import ExitCode
from exhume.cli.many import ManyOptions, OutputNames, Targets, many_options, prepare_directory
from exhume.cli.params import BYTE_RANGE, FORMAT, SIZE, Verb
from exhume.cli.playback import print_failed, worst
from exhume.cli.render import printable
from exhume.cli.runtime import Run, check_container, common_options
from exhume.errors import ExhumeError
from exhume.findings import Severity
from exhume.io.images import split_set
from exhume.recovery import CarvedArchive, CarveVerdict

if TYPE_CHECKING:
    from exhume.archive import Progress
    from exhume.distributed.carving import Image, Search
    from exhume.io.source import Source

_SUFFIX = {"clp-s": "clps", "zs": "zs", "caf": "caf"}
"""Endings of the files that `-o` writes; other formats use their id."""


@click.command("carve", cls=Verb)
@click.argument("images", nargs=-1, metavar="IMAGE...")
@click.option("--only", multiple=True, type=FORMAT, metavar="FORMAT", help="Only this format (repeatable).")
@click.option("-o", "--output", metavar="DIR", help="Also write the archives found below DIR.")
@click.option(
    "--range",
    "span",
    type=BYTE_RANGE,
    metavar="A:B",
    help="Only archives with their mark in bytes A to B: near their end in CAF, LevelDB tables and Ark manifests.",
)
@click.option(
    "--min-confidence",
    type=click.FloatRange(0, 1),
    metavar="0..1",
    default=0.5,
    show_default=True,
    help="Omit archives with less confidence.",
)
@click.option(
    "--chunk-size",
    type=SIZE,
    help="Bytes that a process of --jobs or a worker of --cluster searches at a time (256M).",
)
@many_options
@common_options
def command(
    run: Run,
    images: tuple[str, ...],
    many: ManyOptions,
    only: tuple[str, ...],
    output: str | None,
    span: tuple[int, int | None] | None,
    min_confidence: float,
    chunk_size: int | None,
) -> ExitCode:
    """Find archives inside disk images, memory dumps or other files.

    Reports offset, length, format, verdict (complete, partial, damaged, incomplete) and the basis of the verdict.
    Writes only with -o, where each of several images gets a directory named after it.  With --jobs, threads search an
    image in chunks; several images, or one with --chunk-size or --cluster, are searched by processes, with the same
    result.  Exit code 4 if nothing is found, 3 if a limit or an unsupported feature prevented a check, 1 if an image
    or a part of it could not be read.  A split raw image (.000, .001, .aa) is named by its first segment.

    The basis of a verdict is: checksums of the contents; their structure, if they were decoded or each part of them
    begins or ends correctly; or none, if the format provides no way to check the contents:
    such an archive is incomplete, not complete.  The confidence is that of the format identification.
    """
    from exhume.distributed.carving import SPAN, Search, carve_each

    if chunk_size == 0:
        raise click.UsageError("--chunk-size needs at least one byte")
    chosen = _joined(run, many.targets(run, images, "IMAGE..."))
    only = only or ((run.as_format,) if run.as_format else ())
    start, stop = span or (0, None)
    # --range counts from the start of the image file, `carve` from --offset.
    start, stop = max(0, start - run.offset), None if stop is None else max(0, stop - run.offset)
    if not chosen.several and many.cluster is None and (chunk_size is None or many.jobs == 1):
        return _in_one_pass(run, chosen.only, only, output, start, stop, min_confidence, many.jobs)
    search = Search(tuple(only), min_confidence, run.limits, run.storage_options, run.offset, run.length)
    folder = None  # for the archives; with several images, for a directory of each
    if output is not None:
        folder = prepare_directory(output) if chosen.several else Path(output)
    names = OutputNames()
    outcomes: set[ExitCode] = set()
    with run.progress("carve") as progress:
        work = partial(
            carve_each, chosen.names, search, start=start, stop=stop, span=chunk_size or SPAN, progress=progress
        )
        # `how` calls `work` with the options of --jobs, --cluster and --retries; it yields an image when its last part
        # was searched.
        image: Image
        for image in many.how(work):
            place = folder / names.of(image.target, keep_extension=True) if folder and chosen.several else folder
            if place is not None and image.archives:
                with search.open(image.target) as opened:
                    _write(run, opened, image.archives, place, progress)
            _report(run, image.target, image.archives, place)
            # An image with errors fails anyway: do not read all of it again for its MD5.
            sound = bool(image.errors) or _container_matches(run, search, image, progress)
            for error in image.errors:
                print_failed(run, image.target, error)
            failed = image.errors or not sound
            outcomes.add(ExitCode.FAILED if failed else _outcome(image.archives))
    # If one image has archives, another may have none.
    return ExitCode.DONE if outcomes <= {ExitCode.DONE, ExitCode.NO} and ExitCode.DONE in outcomes else worst(outcomes)


def _joined(run: Run, chosen: Targets) -> Targets:
    """Return the images (`chosen`) without later segments of split images: the first represents all; print notes."""
    if not isinstance(chosen.names, list):
        return chosen
    sets = {name: split_set(name) for name in chosen.names}
    later = {piece for one in sets.values() for piece in one.pieces[1:]}
    names = [name for name in chosen.names if name not in later]
    for name in names:
        if sets[name].note:
            run.note(printable(sets[name].note))
    return Targets(names, len(names), chosen.several)


def _outcome(found: Iterable[CarvedArchive]) -> ExitCode:
    """Return the exit code: NO if nothing was found, LOSS if something could not be checked, else DONE."""
    severities = [[finding.severity for finding in one.findings] for one in found]
    if not severities:
        return ExitCode.NO
    return ExitCode.LOSS if any(Severity.UNCHECKED in one for one in severities) else ExitCode.DONE


def _in_one_pass(
    run: Run,
    image: str,
    only: Sequence[str],
    output: str | None,
    start: int,
    stop: int | None,
    min_confidence: float,
    jobs: int,
) -> ExitCode:
    """Carve one image in this process, write the archives to the directory `output`, if any, and report them.

    `start` and `stop` count from `--offset`; archives begin between them.
    """
    from exhume.engines.carve import carve
    from exhume.io.source import Source

    with run.take_source(image, is_image=True) as opened, run.progress("carve") as progress:
        if not isinstance(opened, Source):
            raise click.UsageError("carving needs a file (a disk image, a dump), not a directory")
        found = list(
            carve(
                opened,
                only=only,
                start=start,
                stop=stop,
                min_confidence=min_confidence,
                limits=run.limits,
                progress=progress,
                jobs=jobs,
            )
        )
        place = None if output is None else Path(output)
        if place is not None:
            _write(run, opened, found, place, progress)
        sound = check_container(run, opened, progress)
    _report(run, image, found, place)
    return _outcome(found) if sound else ExitCode.FAILED


def _container_matches(run: Run, search: Search, image: Image, progress: Progress) -> bool:
    """`check_container` for an image that workers searched; a failure to read it is added to the image's errors."""
    try:
        with search.open(image.target) as opened:
            return check_container(run, opened, progress)
    except ExhumeError as error:
        image.errors.append(error)
        return False


def _write(run: Run, opened: Source, found: Sequence[CarvedArchive], folder: Path, progress: Progress) -> None:
    """Copy each archive that was found in an image (`opened`) to a file of its own in `folder`."""
    from exhume.io.activity import stepping
    from exhume.io.output.tree import OutputTree

    done, total = 0, sum(carved.end - carved.offset for carved in found)
    with OutputTree(folder, limits=run.limits) as tree:
        for carved, name in zip(found, file_names(found), strict=True):
            size = carved.end - carved.offset
            with stepping(progress, done, size, total, "bytes copied"):  # reports what is copied within
                tree.copy(name, opened, carved.offset - opened.origin, carved.end - opened.origin)
            done += size


def _report(run: Run, image: str, found: list[CarvedArchive], folder: Path | None) -> None:
    """Print the archives found in one image, as JSON or as a table."""
    if run.machine:
        run.items("carve", {"target": image}, "archives", (carved.to_dict() for carved in found))
    else:
        _print_archives(run, image, found, folder)


def file_names(found: Sequence[CarvedArchive]) -> list[str]:
    """The name that each carved archive is written under: its offset and what it is, with its length if several
    would have that name (pieces of archives that begin before the image all start at its first byte).
    """
    names = [_file_name(carved) for carved in found]
    often = {name for name, count in Counter(names).items() if count > 1}
    return [
        _file_name(carved, f"-{carved.length:x}") if name in often else name
        for carved, name in zip(found, names, strict=True)
    ]


def _file_name(carved: CarvedArchive, length: str = "") -> str:
    """Offset, `length`, a mark of the verdict, and the format."""
    mark = f".{carved.verdict}" if carved.verdict in (CarveVerdict.PARTIAL, CarveVerdict.DAMAGED) else ""
    return f"{carved.offset:012x}{length}{mark}.{_SUFFIX.get(carved.format, carved.format)}"


def _print_archives(run: Run, image: str, found: list[CarvedArchive], folder: Path | None) -> None:
    """Print the table of archives, then findings and notes; `folder` is where they were written, if at all."""
    if not found:
        run.print(f"{printable(image)}: no archives found")
        return
    rows = (
        [
            archive.offset,
            archive.length,
            archive.format,
            archive.verdict,
            archive.verified_by,
            archive.intact_bytes,
            "-" if archive.verdict is CarveVerdict.COMPLETE else f"{archive.confidence:.0%}",
            "-" if archive.nested_in is None else found[archive.nested_in].offset,
        ]
        for archive in found
    )
    header = ["offset", "length", "format", "verdict", "verified by", "intact bytes", "confidence", "nested in"]
    run.print_table(rows, header, sizes=True)
    # What was not checked is always printed, since it limits the verdict; other findings only with -v.
    for carved in found:
        for finding in carved.findings:
            if run.verbose or finding.severity is Severity.UNCHECKED:
                run.print_wrapped(f"  {carved.offset}: {finding.severity}: {printable(str(finding))}")
    for format, note in dict.fromkeys((carved.format, carved.note) for carved in found if carved.note):
        run.print_wrapped(f"{format}: {note}")
    run.note(f"{len(found)} found" + (f", written to {folder}" if folder else ""))
