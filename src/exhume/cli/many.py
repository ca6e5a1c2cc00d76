"""Verbs over many targets: `--jobs`, `--cluster`, `--targets-from`, `--recursive`, and globs over URLs.

Outputs of several targets below one directory: their names, and the leftovers of earlier attempts.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeVar

import click

from exhume.cli.params import Jobs, Whole
from exhume.cli.run import may_be_piped
from exhume.cli.runtime import Run
from exhume.errors import OutputExistsError, SourceError, Span
from exhume.io.source import source_error
from exhume.limits import cpu_count
from exhume.tuples import NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

    from exhume.distributed import Result


F = TypeVar("F", bound=Callable[..., Any])

# The options that `many_options` adds.
_OPTIONS = (
    click.option(cls=Jobs),
    click.option("--cluster", metavar="ADDRESS", help="Work on a dask cluster: scheduler address or file."),
    click.option("--targets-from", metavar="FILE", help="Also the targets listed in FILE, one per line ('-': stdin)."),
    click.option(
        "--retries", type=Whole(0), default=2, show_default=True,
        help="With --jobs or --cluster: further attempts at a target that could not be read.",
    ),
)  # fmt: skip


def many_options(function: F) -> F:
    """Add the options that verbs over many targets have and pass them as `many`."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        """Call the command with its options for many targets as one argument."""
        names = ("jobs", "cluster", "targets_from", "retries")
        return function(*args, many=ManyOptions(**{name: kwargs.pop(name) for name in names}), **kwargs)

    command: Any = wrapper
    for option in reversed(_OPTIONS):
        command = option(command)
    return command  # type: ignore[no-any-return]


class ManyOptions(NamedTuple):
    """Options of verbs with many targets: where they run, and a list of targets besides the arguments.

    `jobs` is the number of processes (1: this one), `cluster` a dask scheduler, `targets_from` the file of the list
    (`-`: standard input), and `retries` how often a unit is repeated whose worker died.
    """

    jobs: int = 1
    cluster: str | None = None
    targets_from: str | None = None
    retries: int = 2

    def targets(self, run: Run, arguments: Sequence[str], metavar: str = "TARGET...") -> Targets:
        """The targets of a verb: its arguments, called `metavar` in its help, and those of a list.

        Raises `click.UsageError` when there are none, `SourceError` when a glob has no match or a list no target.
        """
        if not arguments and self.targets_from is None:
            raise click.UsageError(f"Missing argument '{metavar}'.", click.get_current_context(silent=True))
        # One plain argument: the verb prints its result without the name of the target.
        simple = len(arguments) == 1 and self.targets_from is None and self.cluster is None
        if simple and not is_glob(arguments[0]):
            return Targets([arguments[0]], 1, False)
        listed = _TargetLines(self.targets_from) if self.targets_from is not None else None
        if listed is not None and not arguments and listed.is_empty():
            raise SourceError("no targets in this list", span=Span(str(self.targets_from), 0, 0))
        count: int | None = len(arguments)
        if any(map(is_glob, arguments)):
            arguments = [one for argument in arguments for one in expand(argument, run.storage_options)]
            count = len(arguments)
        if listed is not None:
            count = None if listed.count is None or count is None else count + listed.count
        names = list(arguments) if listed is None else _chain(arguments, listed, run.storage_options)
        return Targets(names, count, True, any(map(may_be_piped, arguments)))

    def run(self, function: Callable[[Any], Any], units: Iterable[Any], **more: Any) -> Iterator[Result]:
        """Call `exhume.distributed.run` with these options.

        A process works on several remote targets at a time, if there are more jobs than cores.
        """
        ordered = iter(units)
        # The first unit stands for all: targets of one call are usually all remote or all local.
        first = list(islice(ordered, 1))
        units = chain(first, ordered)
        cores = cpu_count()
        if self.cluster is None and cores < self.jobs and any(map(_is_url, first)):
            more |= {"jobs": cores, "at_once": -(-self.jobs // cores)}  # rounded up
        results: Iterator[Result] = self.how(lambda **how: _run(function, units, **{**how, **more}))
        return results

    def how(self, call: Callable[..., Any]) -> Any:
        """Call `call(jobs=…, cluster=…, retries=…)`; work in this process is not retried."""
        retries = self.retries if self.cluster is not None or self.jobs != 1 else 0
        return call(jobs=self.jobs, cluster=self.cluster, retries=retries)

    @property
    def is_local(self) -> bool:
        """Whether everything runs in this process."""
        return self.cluster is None and self.jobs == 1


def _run(function: Callable[[Any], Any], units: Iterable[Any], **how: Any) -> Iterator[Result]:
    """Call `exhume.distributed.run`, which is imported only when it is needed."""
    from exhume.distributed import run

    return run(function, units, **how)


def _is_url(target: Any) -> bool:
    """Whether a target, or the first of a pair, is a URL."""
    return "://" in (target if isinstance(target, str) else str(target[0]))


class Targets(NamedTuple):
    """Targets to work on; `several` unless there is one plain argument; `total` is None when it is not known.

    A target may be a pair of its name and the name of its output.  Only this process can read those that are `piped`.
    """

    names: Iterable[Any]
    total: int | None
    several: bool
    piped: bool = False

    @property
    def only(self) -> str:
        """The only target; used when there are not several."""
        name: str = next(iter(self.names))
        return name

    def with_outputs(self, suffix: str = "", *, keep_extension: bool = True) -> Targets:
        """Return the targets as pairs with a name for the output of each; the options are those of `OutputNames.of`."""
        names = OutputNames()
        pairs = ((name, names.of(name, suffix, keep_extension=keep_extension)) for name in self.names)
        return self._replace(names=pairs)


class _TargetLines:
    """The lines of `--targets-from`, read as they are needed; counted first if the file can be read twice."""

    def __init__(self, name: str) -> None:
        """Count the targets in the file `name`; those on standard input (`-`) cannot be counted in advance."""
        self._name = name
        self._first: list[str] = []  # read from standard input by `is_empty`, and not yet yielded
        self.count: int | None = None  # number of targets; None if unknown
        if name != "-":
            from pathlib import Path

            try:
                with Path(name).open(encoding="utf-8", errors="surrogateescape") as file:
                    self.count = sum(bool(line.strip()) for line in file)
            except OSError as error:
                raise source_error(error, name) from error

    def __iter__(self) -> Iterator[str]:
        """Yield the names of the targets, line by line, so that a list of any length can be read."""
        if self._name == "-":
            yield from chain(self._first, self._lines(sys.stdin))
            return
        from pathlib import Path

        with Path(self._name).open(encoding="utf-8", errors="surrogateescape") as file:
            yield from self._lines(file)

    def is_empty(self) -> bool:
        """Whether there is no target; waits for the first on standard input."""
        if self._name != "-":
            return not self.count
        self._first = list(islice(self._lines(sys.stdin), 1))
        return not self._first

    def _lines(self, file: Iterable[str]) -> Iterator[str]:
        """Yield the lines that are not blank, without line ends."""
        for line in file:
            name = line.rstrip("\r\n")
            if name.strip():
                yield name


def _chain(arguments: Iterable[str], listed: Iterable[str], storage: Mapping[str, Any]) -> Iterator[str]:
    """Yield the targets on the command line, then the listed ones with their patterns expanded.

    `storage` are the options of `--storage`, for URLs.
    """
    yield from arguments
    for name in listed:
        if is_glob(name):
            yield from expand(name, storage)
        else:
            yield name


def is_glob(target: str) -> bool:
    """Whether a target is a URL pattern (`s3://bucket/*.zs`); local patterns are left to the shell."""
    head = target.partition("::")[0]
    if "://" not in head:
        return False
    scheme, _, path = head.partition("://")
    # In HTTP URLs, `?` begins the query, and brackets are not special.
    return any(sign in path for sign in ("*" if scheme in ("http", "https") else "*?["))


def expand(target: str, storage: Mapping[str, Any]) -> list[str]:
    """The URLs that a pattern matches, sorted, or the target itself.  Raises `SourceError` when nothing matches."""
    if not is_glob(target):
        return [target]
    from exhume.io.remote.opening import glob_url

    return glob_url(target, storage)


recursive_option: Callable[[F], F] = click.option(
    "-r",
    "--recursive",
    is_flag=True,
    help="Process archives in TARGET recursively; list the other files.",
)


def recursive_options(function: F, *, also: str = "") -> F:
    """Add `--recursive` and `--jobs` to a verb of one TARGET; pass `ManyOptions` as `recursive` (None without it).

    Without `--recursive`, `--jobs` is passed as `jobs` (None if it was not given) to a verb that says in `also` when it
    takes that; the others raise `click.UsageError`.
    """

    @functools.wraps(function)
    def wrapper(*args: Any, recursive: bool, jobs: int | None, **kwargs: Any) -> Any:
        """Call the command with `recursive`: the options for many targets, or None without --recursive."""
        if also and not recursive:
            return function(*args, recursive=None, jobs=jobs, **kwargs)
        if jobs is not None and not recursive:
            raise click.UsageError("--jobs is for --recursive", click.get_current_context(silent=True))
        many = ManyOptions(jobs=1 if jobs is None else jobs) if recursive else None
        return function(*args, recursive=many, **kwargs)

    help_text = f"With --recursive: parallel jobs (default 1; 0: one per core). {also}".rstrip()
    jobs = click.option(cls=Jobs, default=None, help=help_text)
    return recursive_option(jobs(wrapper))  # type: ignore[return-value]


def prepare_directory(output: str, *, overwrite: bool = False) -> Path:
    """The directory for the outputs of several targets: new or empty, unless files may be replaced.

    Raises `click.UsageError` for standard output, `SourceError` for a file or a directory that cannot be made, and
    `OutputExistsError` when it is not empty.
    """
    from pathlib import Path

    path = Path(output)
    if "://" in output or output == "-":
        raise click.UsageError("several targets need -o DIR, a local directory")
    if path.exists() and not path.is_dir():
        raise SourceError("a file, where the outputs need a directory", span=Span(output, 0, 0))
    if not overwrite and path.is_dir() and any(path.iterdir()):
        raise OutputExistsError("the directory is not empty", span=Span(output, 0, 0))
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise source_error(error, output) from error
    return path


def synced_together(folder: Path, *, local: bool, overwrite: bool = False) -> contextlib.AbstractContextManager[bool]:
    """Return a context whose value is whether outputs of several targets are synced to disk together at its end.

    That is faster than one by one.  It is done in a new directory if this machine writes all files (`local`).  The
    directory is marked as unfinished until the end.
    """
    if overwrite or not local:
        return contextlib.nullcontext(False)
    return _together(folder)


@contextlib.contextmanager
def _together(folder: Path) -> Iterator[bool]:
    """Sync the outputs together; the value is True."""
    from exhume.io.output.atomic import several_outputs

    with several_outputs(folder):
        yield True


class OutputNames:
    """Names for outputs: the last part of the target, numbered where that is taken."""

    def __init__(self) -> None:
        self._taken: set[str] = set()  # names that were given out
        self._numbers: dict[str, int] = {}  # name: the last number that was appended to it

    def of(self, target: str, suffix: str = "", *, keep_extension: bool = True) -> str:
        """The name for a target's output, with `suffix` at its end, and the target's own extension if that is kept."""
        # Without a chained URL (`a::b`), a query and a trailing slash.
        base = target.partition("::")[0].partition("?")[0].rstrip("/").rpartition("/")[2] or "target"
        stem, dot, extension = base.rpartition(".")
        if not dot or not stem:
            stem, extension = base, ""
        ending = (f".{extension}" if extension and keep_extension else "") + suffix
        name = plain = stem + ending
        while name in self._taken:
            self._numbers[plain] = self._numbers.get(plain, 1) + 1
            name = f"{stem}-{self._numbers[plain]}{ending}"
        self._taken.add(name)
        return name


def sweep(folder: Path) -> None:
    """Remove the temporary files of workers that died."""
    from exhume.io.output.scratch import discard

    for path in folder.glob(".*.part"):
        discard(path)
