"""`exhume browse`: sections, fields and bytes of an archive in the terminal."""

from __future__ import annotations

import sys
from typing import Any

import click

from exhume.cli import ExitCode
from exhume.cli.params import Verb
from exhume.cli.runtime import Run, common_options
from exhume.errors import MissingDependencyError


@click.command("browse", cls=Verb)
@click.argument("target", metavar="TARGET")
@click.option("--ksy", "ksy", metavar="SPEC.ksy", help="Read TARGET, a file of any format, by this specification.")
@click.option(
    "--import", "imports", multiple=True, metavar="DIR", help="Another folder with specifications that --ksy imports."
)
@common_options
def command(run: Run, target: str, ksy: str | None, imports: tuple[str, ...]) -> ExitCode:
    """Browse sections, fields and bytes of an archive in the terminal.

    Sections are read, decompressed and parsed when they are unfolded, so that archives of any size open at once.  A
    damaged archive is shown as far as it can be understood.

    Keys: arrows and Enter (unfold), Tab (tree or bytes), g (offset), / (bytes), s (section), n (next), f (finding),
    v (verify), p (payload), c (copy value), C (copy range), q (quit).  Extra: tui.
    """
    if imports and ksy is None:
        raise click.UsageError("--import is for --ksy")
    if run.machine or target == "-":
        raise click.UsageError("browse is interactive: use explain --json")
    if not has_terminal():
        raise click.UsageError("browse needs a terminal")
    with opened(run, target, ksy, imports) as archive:
        try:
            from exhume.cli.terminal.browser import Browser
        except ModuleNotFoundError as error:
            if error.name != "textual":
                raise
            raise MissingDependencyError("the browser needs the extra tui: pip install 'exhume[tui]'") from error
        browser = Browser(archive, target)
        browser.run()
    return ExitCode.FAILED if browser.return_code else ExitCode.DONE


def has_terminal() -> bool:
    """Whether a person can type and read."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def opened(run: Run, target: str, ksy: str | None, imports: tuple[str, ...]) -> Any:
    """The target as far as it can be understood, or by a specification.

    Raises `SourceError` if reading fails, `UnrecognizedFormatError` without a known format.
    """
    if ksy is None:
        return run.inspect(target)
    from exhume.layout.foreign import SpecifiedFile, compile_ksy
    from exhume.layout.ksy_files import one_file

    specification = compile_ksy(ksy, imports=imports)
    return SpecifiedFile(one_file(run.take_source(target)), specification)
