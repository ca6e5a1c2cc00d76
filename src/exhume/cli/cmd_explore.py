"""`exhume explore`: the page of `explain` from a local process, in which everything loads when it is shown."""

from __future__ import annotations

import click

from exhume.cli import ExitCode
from exhume.cli.params import Verb, Whole
from exhume.cli.runtime import Run, common_options
from exhume.errors import MissingDependencyError, Span


@click.command("explore", cls=Verb)
@click.argument("target", metavar="TARGET")
@click.option("--port", type=Whole(0, 65535), default=0, help="Port on this machine (default: any free one).")
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@click.option(
    "--idle", type=click.FloatRange(0, min_open=True), metavar="SECONDS", help="Exit after this time without requests."
)
@click.option("--no-verify", is_flag=True, help="Check an archive, or search an image, only when the page requests it.")
@click.option("--image", is_flag=True, help="Treat TARGET as a disk image or dump, even if it looks like an archive.")
@click.option("--ksy", "ksy", metavar="SPEC.ksy", help="Read TARGET, a file of any format, by this specification.")
@click.option(
    "--import", "imports", multiple=True, metavar="DIR", help="Another folder with specifications that --ksy imports."
)
@common_options
def command(
    run: Run,
    target: str,
    port: int,
    no_browser: bool,
    idle: float | None,
    no_verify: bool,
    image: bool,
    ksy: str | None,
    imports: tuple[str, ...],
) -> ExitCode:
    """Open a page in the browser that shows every byte, field, record and finding of an archive.

    Sections, payloads and records load when they are shown, so the size of the archive does not matter.  In a disk
    image or a dump, the page lists the archives that are found and opens each of them.

    The address contains a random token and works on this machine only; the page changes nothing.  A remote archive
    is checked when the page requests it.  The process ends with Ctrl-C, or after --idle.  (Extra: explore.)
    """
    import sys

    from exhume.cli.exploring import explored, opener
    from exhume.view.server import Server

    if imports and ksy is None:
        raise click.UsageError("--import is for --ksy")
    if image and (ksy is not None or run.as_format is not None):
        raise click.UsageError(f"--image excludes {'--ksy' if ksy is not None else '--format'}")
    try:
        import waitress  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError(
            "exploring needs the extra: pip install 'exhume[explore]'", span=Span("", 0, 0)
        ) from error
    # The server runs until Ctrl-C or `idle`; its address is printed first, also for programs that read it from a pipe.
    shown = explored(run, target, verifies=not no_verify, image=image, ksy=ksy, imports=imports)
    try:
        with Server(shown, opener(run, shown), port=port, idle=idle) as server:
            if run.machine:
                run.document("explore", {"target": target, "format": shown.format, "url": server.url})
            else:
                run.print(server.url)
            sys.stdout.flush()
            if not no_browser:
                import webbrowser

                webbrowser.open(server.url)
            run.note("Ctrl-C ends it")
            server.run()
    finally:
        shown.close()
    return ExitCode.DONE
