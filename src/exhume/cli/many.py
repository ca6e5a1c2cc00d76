"""Verbs over many targets: `--jobs`, `--cluster`, `--targets-from`, globs over URLs, and combining the answers.

A verb provides a module-level function `one(run, target, **options) -> Outcome` that handles a single target.  It runs
on a worker, with a `Recorder` as its `Run`; its output is played back here in the order of the targets, so the answer
does not depend on where the work was done.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from exhume.archive import Progress
from exhume.cli.outcome import Outcome
from exhume.cli.render import printable
from exhume.cli.run import ProgressBar
from exhume.cli.runtime import Run
from exhume.errors import ExhumeError, OutputExistsError, QueryError, Span
from exhume.io.source import source_error

if TYPE_CHECKING:
    from pathlib import Path

    from exhume.distributed import Result

F = TypeVar("F", bound=Callable[..., Any])

One = Callable[..., Outcome | None]

_OPTIONS = (
    click.option(
        "--jobs", type=click.IntRange(0), default=1, show_default=True,
        help="Workers: threads for one TARGET, processes for several (0: one per core).",
    ),
    click.option("--cluster", metavar="ADDRESS", help="Work on a dask cluster: address of the scheduler, or file."),
    click.option("--targets-from", metavar="FILE", help="Also the targets that FILE names, one per line ('-': stdin)."),
    click.option(
        "--retries", type=click.IntRange(0), default=2, show_default=True,
        help="With --jobs or --cluster: further attempts at a target that could not be read.",
    ),
)  # fmt: skip


def many_options(function: F) -> F:
    """Adds the options that verbs over many targets have and passes them as `many`."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        names = ("jobs", "cluster", "targets_from", "retries")
        return function(*args, many=Many(**{name: kwargs.pop(name) for name in names}), **kwargs)

    command: Any = wrapper
    for option in reversed(_OPTIONS):
        command = option(command)
    return command  # type: ignore[no-any-return]


class Many(NamedTuple):
    """Where the work is done, and the targets given besides the arguments."""

    jobs: int = 1
    cluster: str | None = None
    targets_from: str | None = None
    retries: int = 2

    def targets(self, run: Run, arguments: Sequence[str], metavar: str = "TARGET...") -> Targets:
        """The targets of a verb.

        Raises `click.UsageError` when there are none, `SourceError` when a glob has no match.
        """
        if not arguments and self.targets_from is None:
            raise click.UsageError(f"Missing argument '{metavar}'.", click.get_current_context(silent=True))
        simple = len(arguments) == 1 and self.targets_from is None and self.cluster is None
        if simple and not is_glob(arguments[0]):
            return Targets([arguments[0]], 1, False)
        listed = _Listed(self.targets_from) if self.targets_from is not None else None
        count: int | None = len(arguments)
        if any(map(is_glob, arguments)):
            arguments = [one for argument in arguments for one in expand(argument, run.storage_options)]
            count = len(arguments)
        if listed is not None:
            count = None if listed.count is None or count is None else count + listed.count
        names = list(arguments) if listed is None else _chain(arguments, listed, run.storage_options)
        return Targets(names, count, True)

    def run(self, function: Callable[[Any], Any], units: Iterable[Any], **more: Any) -> Iterator[Result]:
        """Calls `exhume.distributed.run` with these options."""
        results: Iterator[Result] = self.how(lambda **how: _run(function, units, **how, **more))
        return results

    def how(self, call: Callable[..., Any]) -> Any:
        """Calls `call(jobs=…, cluster=…, retries=…)`."""
        retries = self.retries if self.cluster is not None or self.jobs != 1 else 0
        return call(jobs=self.jobs, cluster=self.cluster, retries=retries)

    @property
    def is_local(self) -> bool:
        """Whether everything runs in this process."""
        return self.cluster is None and self.jobs == 1


def _run(function: Callable[[Any], Any], units: Iterable[Any], **how: Any) -> Iterator[Result]:
    from exhume.distributed import run

    return run(function, units, **how)


class Targets(NamedTuple):
    """Targets to work on; `several` unless there is one plain argument; `total` is None when it is not known.

    A target may be a pair of its name and the name of its output.
    """

    names: Iterable[Any]
    total: int | None
    several: bool

    @property
    def only(self) -> str:
        """The target when there are not several."""
        name: str = next(iter(self.names))
        return name

    def with_outputs(self, suffix: str = "", *, keep_extension: bool = True) -> Targets:
        """The same targets, each with a name for its output."""
        names = OutputNames()
        pairs = ((name, names.of(name, suffix, keep_extension=keep_extension)) for name in self.names)
        return Targets(pairs, self.total, self.several)


class _Listed:
    """The lines of `--targets-from`, read as they are needed; counted first if the file can be read twice."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.count: int | None = None
        if name != "-":
            from pathlib import Path

            try:
                with Path(name).open(encoding="utf-8", errors="surrogateescape") as file:
                    self.count = sum(bool(line.strip()) for line in file)
            except OSError as error:
                raise source_error(error, name) from error

    def __iter__(self) -> Iterator[str]:
        if self._name == "-":
            yield from self._lines(sys.stdin)
            return
        from pathlib import Path

        with Path(self._name).open(encoding="utf-8", errors="surrogateescape") as file:
            yield from self._lines(file)

    def _lines(self, file: Iterable[str]) -> Iterator[str]:
        for line in file:
            name = line.rstrip("\r\n")
            if name.strip():
                yield name


def _chain(arguments: Iterable[str], listed: Iterable[str], storage: Mapping[str, Any]) -> Iterator[str]:
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
    return any(c in path for c in ("*" if scheme in ("http", "https") else "*?["))


def expand(target: str, storage: Mapping[str, Any]) -> list[str]:
    """The URLs that a pattern matches, sorted, or the target itself.  Raises `SourceError` when nothing matches."""
    if not is_glob(target):
        return [target]
    from exhume.io.remote.opening import glob_url

    return glob_url(target, storage)


# What one target said, and its playback


class Recorder(Run):
    """The `Run` of one of several targets: records its output instead of printing it."""

    def __init__(self, arguments: dict[str, Any], terminal: bool, tell: Callable[[tuple[Any, ...]], None]) -> None:
        super().__init__(**arguments)
        self.several = True
        self._tell = tell
        self.out: Any = _RecordedOutput(terminal, tell)

    def document(self, verb: str, body: Mapping[str, Any]) -> None:
        from exhume.io.jsonout import jsonable

        self._tell(("document", verb, jsonable(body)))

    def items(self, verb: str, head: Mapping[str, Any], key: str, items: Iterable[Mapping[str, Any]]) -> None:
        from exhume.io.jsonout import dumps

        if self.ndjson:
            super().items(verb, head, key, items)
            return
        self._tell(("items", verb, dict(head), key))
        for item in items:
            self._tell(("item", dumps(item)))

    def note(self, text: str) -> None:
        if not self.quiet:
            self._tell(("note", text))

    def progress(self, label: str) -> ProgressBar:
        """Shows no progress: the run over all targets has the progress bar."""
        return ProgressBar(label, shown=False)


class _RecordedOutput:
    """Standard output of a recorded run."""

    def __init__(self, terminal: bool, tell: Callable[[tuple[Any, ...]], None]) -> None:
        self._terminal, self._tell = terminal, tell

    def text(self, text: str) -> None:
        self._tell(("out", text.encode("utf-8", "surrogatepass"), True))

    def write(self, data: bytes | memoryview) -> None:
        """Records bytes.  Raises `click.UsageError` for binary data when standard output is a terminal."""
        from exhume.cli.runtime import is_binary

        if self._terminal and is_binary(bytes(data)):
            raise click.UsageError("refusing to write binary data to a terminal: redirect it")
        self._tell(("out", bytes(data), False))


class Part(NamedTuple):
    """The output and outcome of one target; `usage` is the error when its options make no sense."""

    events: tuple[tuple[Any, ...], ...]
    outcome: Outcome = Outcome.DONE
    usage: str | None = None


def record(one: One, arguments: dict[str, Any], terminal: bool, options: dict[str, Any], target: Any) -> Part:
    """Runs a verb's `one` on a target and records its output (on a worker)."""
    events: list[tuple[Any, ...]] = []
    pieces: list[bytes] = []

    def flush() -> None:
        if pieces:
            events.append(("out", b"".join(pieces), text))
            pieces.clear()

    text = True

    def tell(event: tuple[Any, ...]) -> None:
        nonlocal text
        if event[0] == "out" and (not pieces or event[2] == text):
            text = event[2]
            pieces.append(event[1])
            return
        flush()
        if event[0] == "out":
            text = event[2]
            pieces.append(event[1])
        else:
            events.append(event)

    part = _part(one, Recorder(arguments, terminal, tell), target, options)
    flush()
    return Part(tuple(events), part.outcome, part.usage)


def _part(one: One, run: Run, target: Any, options: dict[str, Any]) -> Part:
    try:
        outcome = one(run, target, **options)
    except click.UsageError as error:
        return Part((), Outcome.USAGE, error.message)
    finally:
        run.close()
    return Part((), outcome or Outcome.DONE)


class Player:
    """Plays back the recorded output of the targets as if a single run had produced it."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._open: tuple[str, dict[str, Any], str] | None = None
        self._first = True
        self.documents: list[dict[str, Any]] = []
        """Documents kept instead of printed, by those who do so."""

    def play(self, event: tuple[Any, ...]) -> None:
        """Plays one event; lists of items with the same head become one document."""
        kind = event[0]
        if kind == "item":
            self._run.out.text(("" if self._first else ",\n") + event[1])
            self._first = False
        elif kind == "items":
            self._begin(*event[1:])
        elif kind == "note":
            self._run.note(event[1])
        elif kind == "document":
            self.end()
            self._run.document(*event[1:])
        elif event[2]:
            self.end()
            self._run.out.text(event[1].decode("utf-8", "surrogatepass"))
        else:
            self.end()
            self._run.out.write(event[1])

    def _begin(self, verb: str, head: dict[str, Any], key: str) -> None:
        if self._open == (verb, head, key):
            return
        self.end()
        from exhume.io.jsonout import dumps

        self._open, self._first = (verb, head, key), True
        self._run.out.text(f'{dumps({"schema": f"exhume.{verb}/1", **head})[:-1]},"{key}":[')

    def end(self) -> None:
        """Completes the document that is open."""
        if self._open is not None:
            self._open = None
            self._run.out.text("]}\n")


def each_target(
    run: Run,
    many: Many,
    verb: str,
    one: One,
    targets: Targets,
    *,
    failed: Callable[[str, ExhumeError], None] | None = None,
    player: Player | None = None,
    **options: Any,
) -> list[Outcome]:
    """Runs `one` on each target and plays back its output, in order; returns the set of outcomes.

    A target that fails is passed to `failed` (default: an error line, JSON with --json, on standard error) and counts
    as `Outcome.FAILED`; the others continue.  Errors that every target would raise end the run: raises
    `click.UsageError` and `QueryError`.
    """
    found: set[Outcome] = set()
    player = player or Player(run)
    with run.progress(verb) as progress:
        for name, got in _parts(run, many, one, targets, options, player, progress):
            if isinstance(got, QueryError):
                raise got
            if isinstance(got, ExhumeError):
                (failed or partial(say_failed, run))(name if isinstance(name, str) else name[0], got)
                found.add(Outcome.FAILED)
                continue
            if got.usage is not None:
                raise click.UsageError(got.usage, click.get_current_context(silent=True))
            for event in got.events:
                player.play(event)
            found.add(got.outcome)
    player.end()
    return sorted(found)


def _parts(
    run: Run, many: Many, one: One, targets: Targets, options: dict[str, Any], player: Player, progress: Progress
) -> Iterator[tuple[Any, Part | ExhumeError]]:
    terminal = sys.stdout.isatty()
    if many.is_local:  # as it comes: nothing is held back, whatever its size
        for done, name in enumerate(targets.names):
            progress(done, targets.total, "targets")
            try:
                got: Part | ExhumeError = _part(one, Recorder(run.arguments, terminal, player.play), name, options)
            except ExhumeError as error:
                got = error
            yield name, got
        return
    function = partial(record, one, run.arguments, terminal, options)
    for result in many.run(function, targets.names, progress=progress, total=targets.total, unit="targets"):
        yield result.unit, result.error or result.value


def say_failed(run: Run, target: str, error: ExhumeError) -> None:
    """Reports a target that failed on standard error."""
    if run.machine:
        from exhume.io.jsonout import dumps

        body = {"schema": "exhume.error/1", "target": target, **error.to_dict()}
        click.echo(dumps(body), err=True)
    else:
        where = "" if error.span is not None and error.span.source == target else f"{printable(target)}: "
        click.echo(f"exhume: {where}{printable(str(error))}", err=True)


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """The outcome of a run over many targets: the first of failed, no, loss and done that one of them had."""
    order = (Outcome.FAILED, Outcome.NO, Outcome.LOSS)
    found = set(outcomes)
    return next((outcome for outcome in order if outcome in found), Outcome.DONE)


# Outputs of several targets below one directory


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
        raise OutputExistsError("several targets need a directory", span=Span(output, 0, 0))
    if not overwrite and path.is_dir() and any(path.iterdir()):
        raise OutputExistsError("the directory is not empty", span=Span(output, 0, 0))
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise source_error(error, output) from error
    return path


class OutputNames:
    """Names for outputs: the last part of the target, numbered where that is taken."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._numbers: dict[str, int] = {}

    def of(self, target: str, suffix: str = "", *, keep_extension: bool = True) -> str:
        """The name for a target's output."""
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
    """Removes the temporary files of workers that died."""
    from exhume.io.output.scratch import discard

    for path in folder.glob(".*.part"):
        discard(path)


__all__ = ["Many", "OutputNames", "Part", "Player", "Recorder", "Targets", "each_target", "many_options", "worst"]
