"""The `exhume` command: finds a verb by its module, runs it, and turns its outcome into the exit code.

No other module ends the process.  Verbs are imported when they are used, because starting should take little time.
"""

from __future__ import annotations

import errno
import gc
import importlib.util
import os
import sys
import threading
import time
from contextlib import suppress
from typing import Any, NoReturn

import click
from click import UsageError

from exhume import __version__
from exhume import cli as _package
from exhume.cli import ExitCode, is_closed, output_is_closed
from exhume.cli.params import Group
from exhume.errors import ExhumeError, QueryError
from exhume.redaction import redact

ALIASES = {"ls": "list"}  # other names of verbs

_DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Errors of a full or failing disk, which a redirected standard output may have."""


class CarriedError(Exception):
    """Carries our exceptions past click, which mistakes any EOFError for Ctrl-D and handles any EPIPE itself."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error  # the exception that is carried


class VerbGroup(Group):
    """A group whose commands are the modules `exhume.cli.cmd_<verb>`, imported when used."""

    def make_context(self, info_name: str | None, args: list[str], *more: Any, **extra: Any) -> click.Context:
        """Parse the command line, which prints the help. Raises `CarriedError` as `invoke` does."""
        try:
            return super().make_context(info_name, args, *more, **extra)
        except BrokenPipeError as error:
            raise CarriedError(error) from error

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb; raise its errors wrapped in `CarriedError`, and those of click as they are."""
        try:
            return super().invoke(ctx)
        except (ExhumeError, BrokenPipeError) as error:
            raise CarriedError(error) from error

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the verbs: `cat` has the module `cmd_cat`."""
        import pkgutil

        names = (module.name for module in pkgutil.iter_modules(_package.__path__))
        return sorted(name[4:].replace("_", "-") for name in names if name.startswith("cmd_"))  # without "cmd_"

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return the command of a verb or alias; None if there is no such verb."""
        verb = ALIASES.get(cmd_name, cmd_name)
        module = f"cmd_{verb.replace('-', '_')}"
        name = f"{_package.__name__}.{module}"
        if not module.isidentifier() or importlib.util.find_spec(name) is None:
            return None
        command: click.Command = importlib.import_module(name).command
        return command


@click.group(
    cls=VerbGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
    no_args_is_help=True,
)
@click.option("--version", is_flag=True, help="Show the version and exit.")
@click.option("-v", "--verbose", is_flag=True, help="With --version: also the kernel and the libraries in use.")
@click.pass_context
def main(context: click.Context, version: bool, verbose: bool) -> None:
    """Read, write, verify, explain, salvage and carve clp-s, ZS, Ark, CAF and DataBundle archives.

    Data goes to standard output, messages to standard error.

    \b
    Exit codes: 0 success; 1 error; 2 usage error; 3 partial result;
    4 damage, no match or a difference; 130 interrupted;
    141 the reader of the output left before everything was written.
    """
    if version:
        click.echo(f"exhume, version {__version__}")
        if verbose:
            from exhume.cli.about import about

            click.echo("\n".join(about().lines()))
        context.exit()
    if verbose:
        raise UsageError("put -v after the command, or use it with --version")
    if context.invoked_subcommand is None:
        raise UsageError("Missing command.")


def run() -> NoReturn:
    """The console script: runs the command line and exits with its exit code."""
    gc.set_threshold(20_000)  # values of a verb have no cycles: examining them costs up to 33 %
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy's threads, unused here, would spin for 0.1 s each
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the parent process (`>&-`)
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8"))
    outcome = invoke()
    if outcome is ExitCode.INTERRUPTED:
        _wait_for_threads()
    gc.freeze()  # the interpreter looks for garbage in every module on its way out, several times: spare it that
    sys.exit(int(outcome))


def _wait_for_threads() -> None:
    """Wait for the threads of an interrupted run to finish their current call, for a second at most.

    One that is inside a library of C++ or Rust when the interpreter ends would abort the process.
    """
    until = time.monotonic() + 1
    with suppress(KeyboardInterrupt):  # a second Ctrl-C ends the wait
        for thread in threading.enumerate():
            if thread.name.startswith("exhume"):  # a thread that a library started cannot be joined
                thread.join(max(0.0, until - time.monotonic()))


def invoke(args: list[str] | None = None) -> ExitCode:
    """Run the command line and return its outcome; print errors as one line (JSON with --json)."""
    argv = sys.argv[1:] if args is None else args
    if "_EXHUME_COMPLETE" in os.environ:  # a shell asks, see `exhume completion`
        from exhume.cli.cmd_completion import answer

        answer(main, os.environ["_EXHUME_COMPLETE"])
        return ExitCode.DONE
    try:
        try:
            result: Any = main.main(args=argv, prog_name="exhume", standalone_mode=False)
            sys.stdout.flush()
        except CarriedError as ended:
            return ending(ended.error, argv)
        except BaseException as error:  # what `ending` does not know it raises again
            return ending(error, argv)
    except BrokenPipeError:  # the error has no reader either
        return _reader_left()
    except KeyboardInterrupt as error:  # while another error was being printed
        return ending(error, argv)
    return ExitCode(result) if isinstance(result, int) else ExitCode.DONE  # a verb may return None


def ending(error: BaseException, argv: list[str]) -> ExitCode:
    """Print the error of a run on standard error and return its outcome; an unknown error is a bug and raised again.

    `argv` are the words of the command line after `exhume`.
    """
    if isinstance(error, RuntimeError) and isinstance(error.__cause__, KeyboardInterrupt):
        error = error.__cause__  # Python before 3.12 wraps errors in `__set_name__`, which runs while a class is made
    try:
        raise error
    except click.exceptions.NoArgsIsHelpError as usage:
        click.echo(usage.format_message(), err=True)
        return ExitCode.USAGE
    except UsageError as usage:
        usage.message = redact(usage.message)  # type: ignore[misc]  # final only for those who read it
        usage.show()
        return ExitCode.USAGE
    except click.ClickException as failure:
        failure.message = redact(failure.message)  # type: ignore[misc]  # as above
        failure.show()
        return ExitCode.FAILED
    except (click.Abort, KeyboardInterrupt):
        click.echo("exhume: interrupted", err=True)
        return ExitCode.INTERRUPTED
    except ExhumeError as failure:
        _print_error(failure, argv)
        return ExitCode.FAILED
    except OSError as failure:
        if isinstance(failure, BrokenPipeError) and output_is_closed():
            return _reader_left()
        if failure.filename is None and failure.errno in _DISK_ERRORS:  # errors of other outputs have a file name
            from exhume.io.source import source_error

            _print_error(source_error(failure, "standard output"), argv)
            return ExitCode.FAILED
        from exhume.cli.render import shown

        click.echo(shown(f"exhume: {failure.filename or 'error'}: {failure.strerror or failure}"), err=True)
        return ExitCode.FAILED
    except MemoryError:
        click.echo("exhume: out of memory (lower --jobs or a --limit)", err=True)
        return ExitCode.FAILED
    finally:
        del error  # its traceback refers to this frame: the cycle would keep threads and files alive


def _reader_left() -> ExitCode:
    """End quietly, and keep the interpreter from flushing into the closed pipe at exit."""
    for stream in (sys.stdout, sys.stderr):
        if is_closed(stream):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return ExitCode.CLOSED


def _print_error(error: ExhumeError, argv: list[str]) -> None:
    """Print an error on standard error: as JSON with `--json` or `--ndjson`, else on one line with advice and, for a
    query, a mark under the faulty place.
    """
    if "--json" in argv or "--ndjson" in argv:
        from exhume.io.jsonout import dumps

        click.echo(dumps({"schema": "exhume.error/1", **error.to_dict()}), err=True)
        return
    from exhume.cli.advice import advice
    from exhume.cli.terminal.screen import message

    click.echo(message(f"exhume: {error.one_line(advice(error, main, argv))}"), err=True)
    if isinstance(error, QueryError) and (pointer := error.pointer()):
        click.echo("\n".join(f"  {line}" for line in pointer.split("\n")), err=True)


__all__ = ["UsageError", "ending", "invoke", "main", "run"]
