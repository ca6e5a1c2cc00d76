"""`exhume diff`: what differs between two bundles, or a bundle and a directory.

A bundle (DataBundle) is an archive of files, itself a directory with an index of sizes and checksums.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exhume.cli import ExitCode
from exhume.cli.params import Jobs, Verb
from exhume.cli.render import printable
from exhume.cli.runtime import Run, common_options
from exhume.counts import counted
from exhume.errors import ExhumeError
from exhume.findings import Finding, Verdict

if TYPE_CHECKING:
    from exhume.formats.data_bundle.diff import DiffEntry

_SIGNS = {"added": "+", "removed": "-", "kind": "!", "content": "M", "user-data": "U"}
"""The sign of each change in printed lines; the help text explains them."""


@click.command("diff", cls=Verb)
@click.argument("left", metavar="LEFT")
@click.argument("right", metavar="RIGHT")
@click.option(
    "--content", is_flag=True, help="Also read every file of the bundles, not only compare sizes and CRC-32C."
)
@click.option(cls=Jobs)
@common_options
def command(run: Run, left: str, right: str, content: bool, jobs: int) -> ExitCode:
    """Compare two DataBundles, or a DataBundle with a directory.

    `+` is only in RIGHT, `-` only in LEFT, `M` has other bytes, `U` other user data, `!` is a file here and a directory
    there.  Sizes and CRC-32C are compared as the index states them; with --content every file is read.  Exit code 4
    when they differ or a bundle is damaged, and 3 when something could not be read: a limit, an unsupported feature.
    """
    from exhume.formats.data_bundle.diff import compare

    run.reject_subrange()
    problems: list[Finding] = []
    with run.reading("diff"):
        one, first = _side(run, left, content, jobs, problems)
        other, second = _side(run, right, content, jobs, problems)
    if not (first or second):
        raise click.UsageError("neither is a bundle")
    found = [] if one is None or other is None else list(compare(one, other, user_data=first and second))
    verdict = Verdict.of(problems)
    equal: bool | None = not found
    if not found and verdict is not Verdict.OK:
        equal = None  # something could not be compared
    if run.machine:
        head: dict[str, Any] = {
            "left": left, "right": right, "equal": equal, "verdict": verdict,
            "compared": "content" if content else "index", "findings": [finding.to_dict() for finding in problems],
        }  # fmt: skip
        run.items("diff", head, "differences", (difference.to_dict() for difference in found))
    else:
        for difference in found:
            run.print(f"{_SIGNS[difference.change]} {printable(difference.name)}")
        for finding in problems:
            run.note(f"{finding.severity}: {printable(str(finding))}")
        if problems:
            run.note(f"what was compared is {verdict}: {counted(len(found), 'differences')}")
    if found or verdict is Verdict.DAMAGED:
        return ExitCode.NO
    return ExitCode.LOSS if verdict is Verdict.INCOMPLETE else ExitCode.DONE


def _side(
    run: Run, target: str, content: bool, jobs: int, problems: list[Finding]
) -> tuple[dict[str, DiffEntry] | None, bool]:
    """The members of a target, None if they cannot be read, and whether it is a bundle; adds its faults to `problems`.

    With `content`, every file of a bundle is read.
    """
    from exhume.engines.identify import identify
    from exhume.formats.data_bundle.diff import bundle_side, directory_side
    from exhume.formats.data_bundle.reader import open_archive
    from exhume.io.opening import open_target
    from exhume.io.tree import Tree

    candidates = identify(target, storage_options=run.storage_options)
    found = [candidate for candidate in candidates if candidate.format == "databundle"]
    if run.as_format == "databundle" or (found and found[0].confidence >= 0.5):  # more likely a bundle than not
        source = open_target(target, storage_options=run.storage_options)
        if isinstance(source, Tree):
            try:
                with open_archive(source, limits=run.limits) as archive:
                    return bundle_side(archive, content=content, jobs=jobs, found=problems), True
            except ExhumeError as error:
                problems.append(Finding.from_error(error))
                return None, True
    if not Path(target).is_dir():
        raise click.UsageError(f"neither a bundle nor a directory: {target}")
    return directory_side(target, jobs=jobs), False
