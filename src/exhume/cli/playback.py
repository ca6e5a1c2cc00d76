"""The output of a verb for each of many targets, recorded and played back.

A run over many targets prints the same for any number of jobs.  So a worker (another process or machine) does not
print: it records what it would print as events, small tuples that `Player.play` documents.

A verb provides a module-level function `one(run, target, **options) -> ExitCode` that handles a single target.  It runs
on a worker, with a `Recorder` as its `Run`; its output is played back here in the order of the targets, so the answer
does not depend on where the work was done.

A worker makes its `Run` from `arguments`; `terminal` is whether the output will be printed on a terminal;
`many` has the options for several targets, such as --jobs.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from exhume.archive import Progress
from exhume.cli import ExitCode
from exhume.cli.formatcli import UnsuitedOptionError
from exhume.cli.many import ManyOptions, Targets
from exhume.cli.render import printable, shown
from exhume.cli.runtime import Run
from exhume.cli.terminal.screen import message
from exhume.counts import counted
from exhume.errors import ExhumeError, QueryError, UnsupportedOperationError
from exhume.findings import Verdict
from exhume.redaction import redact
from exhume.tuples import NamedTuple

if TYPE_CHECKING:
    from exhume.cli.progress import ProgressBar

One = Callable[..., ExitCode | None]
"""A verb for one target: `one(run, target, **options)`; None means `ExitCode.DONE`."""

CHECKED = 64
"""The most targets whose options are checked before the first of them is read."""
CHECKED_REMOTE = 16
"""The same if URLs are among them: each check takes requests."""

ITEM_BREAK = ",\n"
"""The separator of two items of a list."""


class Recorder(Run):
    """The `Run` of one of several targets: records its output as events instead of printing it."""

    def __init__(self, arguments: dict[str, Any], terminal: bool, send: Callable[[tuple[Any, ...]], None]) -> None:
        super().__init__(**arguments)
        self.several = True
        self._send = send  # takes each event
        self.out: Any = _RecordedOutput(terminal, send)

    def document(self, verb: str, body: Mapping[str, Any]) -> None:
        """Record a JSON document, for the parent process to print."""
        from exhume.io.jsonout import jsonable

        self._send(("document", verb, jsonable(body)))

    def items(self, verb: str, head: Mapping[str, Any], key: str, items: Iterable[Mapping[str, Any]]) -> None:
        """Record each item of a document by itself: the player makes one document from the items of all targets."""
        from exhume.io.jsonout import dumps

        if self.ndjson:
            super().items(verb, head, key, items)
            return
        self._send(("items", verb, dict(head), key))
        for item in items:
            self._send(("item", dumps(item)))

    def head(self, text: str) -> None:
        """Record a line that precedes the next output."""
        self._send(("head", text))

    def note(self, text: str) -> None:
        """Record a message to the user."""
        if not self.quiet:
            self._send(("note", text))

    def hint(self, text: str) -> None:
        self._send(("hint", text))

    def tally(self, verdict: Verdict) -> None:
        self._send(("verdict", verdict))

    def progress(self, label: str, total: Callable[[], int | None] | None = None) -> ProgressBar:
        """Show no progress: the run over all targets has a progress bar of its own."""
        from exhume.cli.progress import ProgressBar

        return ProgressBar(label, shown=False)

    def reading(self, label: str) -> AbstractContextManager[None]:
        """Show no progress of one target."""
        return nullcontext()


class _RecordedOutput:
    """Standard output of a recorded run; `send` takes each event."""

    def __init__(self, terminal: bool, send: Callable[[tuple[Any, ...]], None]) -> None:
        self._terminal, self._send = terminal, send

    def text(self, text: str) -> None:
        self._send(("out", text.encode("utf-8", "surrogatepass"), True))

    def utf8(self, text: bytes) -> None:
        """Records text that is UTF-8 already."""
        self.text(text.decode("utf-8"))

    def write(self, data: bytes | memoryview) -> None:
        """Records bytes.  Raises `click.UsageError` for binary data when standard output is a terminal."""
        from exhume.cli.runtime import is_binary

        if self._terminal and is_binary(bytes(data)):
            raise click.UsageError("refusing to write binary data to a terminal: redirect it")
        self._send(("out", bytes(data), False))


class TargetOutput(NamedTuple):
    """The output and outcome of one target; `usage` is the error when its options make no sense."""

    events: tuple[tuple[Any, ...], ...]  # as `Player.play` takes them
    outcome: ExitCode = ExitCode.DONE
    usage: str | None = None


def record(one: One, arguments: dict[str, Any], terminal: bool, options: dict[str, Any], target: Any) -> TargetOutput:
    """Run a verb's `one` on a target and record its output (on a worker)."""
    kept = _CompactOutput(terminal)
    recorder = Recorder(arguments, terminal, kept.send)
    recorder.out = kept
    part = _part(one, recorder, target, options)
    kept.flush()
    return TargetOutput(tuple(kept.events), part.outcome, part.usage)


class _CompactOutput(_RecordedOutput):
    """Recorded output as few events: consecutive chunks of text, of bytes, or of list items become one event."""

    def __init__(self, terminal: bool) -> None:
        super().__init__(terminal, self.send)
        self.events: list[tuple[Any, ...]] = []
        self._kind = "text"  # kind of the chunks in `_pieces`: "text", "out" (bytes) or "item" (JSON of list items)
        self._pieces: list[Any] = []  # consecutive chunks of one kind, not recorded yet

    def text(self, text: str) -> None:
        """Record text, joined with the text before it."""
        if self._kind != "text":
            self.flush("text")
        self._pieces.append(text)

    def send(self, event: tuple[Any, ...]) -> None:
        """Record an event. Consecutive chunks of text are joined into one."""
        kind = event[0]
        if kind in ("out", "item"):  # (text is passed to `text`)
            if self._kind != kind:
                self.flush(kind)
            self._pieces.append(event[1])
        else:
            self.flush()
            self.events.append(event)

    def flush(self, next_kind: str = "text") -> None:
        """Record the chunks since the last event as one event: ("out", bytes, is text) or ("item", JSON of items).

        `next_kind` is the kind of the chunks that follow.
        """
        pieces, kind = self._pieces, self._kind
        self._pieces, self._kind = [], next_kind
        if pieces and kind == "text":
            self.events.append(("out", "".join(pieces).encode("utf-8", "surrogatepass"), True))
        elif pieces and kind == "out":
            self.events.append(("out", b"".join(pieces), False))
        elif pieces:
            self.events.append(("item", ITEM_BREAK.join(pieces)))


def _part(one: One, run: Run, target: Any, options: dict[str, Any]) -> TargetOutput:
    """Run the verb on one target and return its outcome without events: `run` has recorded those.

    An option that does not apply to its format is an error of this target: raises `UnsupportedOperationError`.
    """
    try:
        outcome = one(run, target, **options)
    except UnsuitedOptionError as error:
        raise UnsupportedOperationError(error.message) from None
    except click.UsageError as error:
        return TargetOutput((), ExitCode.USAGE, error.message)
    finally:
        run.close()
    return TargetOutput((), outcome or ExitCode.DONE)


class Player:
    """Plays back the recorded output of the targets as if a single run had produced it."""

    def __init__(self, run: Run) -> None:
        """Start without output."""
        self._run = run
        # (verb, head, key) of the JSON list that is being printed.
        self._open: tuple[str, dict[str, Any], str] | None = None
        self._first = True  # whether the next item is the first of its list
        self._head = ""  # headline of the target, until its first output
        self.target: str = ""
        """The target whose output is played."""
        self.hints: Counter[str] = Counter()
        """Hints, each with the number of targets that have it."""
        self.outcomes: Counter[ExitCode] = Counter()
        """Number of targets by outcome."""
        self.documents: list[dict[str, Any]] = []
        """Documents kept instead of printed, by those who do so."""

    def play(self, event: tuple[Any, ...]) -> None:
        """Play one event; lists of items with the same head become one document.

        An event is a tuple of its kind and what belongs to it: `("item", text)`, `("items", verb, head, key)`,
        `("head", text)`, `("note", text)`, `("hint", text)`, `("verdict", verdict)`, `("document", verb, body)`, or
        `("out", data, is_text)`, whose data are bytes.
        """
        kind, content, *more = event  # `content`: a string or bytes, or the verb of a document
        if kind == "head":
            self._head = content
            return
        # The headline of a target is printed once it has output of its own; a verdict is not.
        if self._head and kind != "verdict":
            self._run.print(self._head)
            self._head = ""
        if kind == "item":
            self._run.out.text(("" if self._first else ITEM_BREAK) + content)
            self._first = False
        elif kind == "items":
            head, key = more
            self._begin(content, head, key)
        elif kind == "note":
            self._run.note(content)
        elif kind == "hint":
            self.hints[content] += 1
            if self._run.verbose:
                self._run.note(f"{shown(self.target)}: {content}")
        elif kind == "verdict":
            self._run.tally(content)
        elif kind == "document":
            self.end()
            (body,) = more
            self._run.document(content, body)
        else:  # "out"
            self.end()
            (is_text,) = more
            if is_text:
                self._run.out.text(self.named(content).decode("utf-8", "surrogatepass"))
            else:
                self._run.out.write(self.named(content))

    def named(self, text: bytes) -> bytes:
        """Text of the current target as it is printed: unchanged here."""
        return text

    def start(self, target: Any) -> None:
        """Begin the output of a target: its name, or a tuple that begins with its name."""
        self.target = target if isinstance(target, str) else str(target[0])

    def _begin(self, verb: str, head: dict[str, Any], key: str) -> None:
        """Start a JSON document, unless the one in progress has the same verb, header and key and can continue."""
        if self._open == (verb, head, key):
            return
        self.end()
        from exhume.io.jsonout import dumps

        self._open, self._first = (verb, head, key), True
        self._run.out.text(f'{dumps({"schema": f"exhume.{verb}/1", **head})[:-1]},"{key}":[')

    def end(self) -> None:
        """Complete the document that is open."""
        if self._open is not None:
            self._open = None
            self._run.out.text("]}\n")


def each_target(
    run: Run,
    many: ManyOptions,
    verb: str,
    one: One,
    targets: Targets,
    *,
    failed: Callable[[str, ExhumeError], None] | None = None,
    player: Player | None = None,
    closing: str = "",
    **options: Any,
) -> list[ExitCode]:
    """Run `one` on each target and play back its output, in order; return the different outcomes, sorted.

    A target that fails is passed to `failed` (default: an error line, JSON with --json, on standard error) and counts
    as `ExitCode.FAILED`; the others continue.  A target to whose format an option does not apply fails as well.  Errors
    that every target would raise end the run: `click.UsageError` and `QueryError`.  With `closing`, such as "exported",
    a last line on standard error states how many targets were exported.
    """
    player = player or Player(run)
    if targets.piped:  # only this process can read standard input
        many = many._replace(jobs=1, cluster=None)
    found = player.outcomes  # is counted here
    with run.progress(verb) as progress:
        for name, got in _parts(run, many, one, targets, options, player, progress):
            if isinstance(got, QueryError):
                raise got
            if isinstance(got, ExhumeError):
                # A target is a name, or a tuple that begins with it.
                (failed or partial(print_failed, run))(name if isinstance(name, str) else name[0], got)
                found[ExitCode.FAILED] += 1
                continue
            if got.usage is not None:
                raise click.UsageError(got.usage, click.get_current_context(silent=True))
            for event in got.events:
                player.play(event)
            found[got.outcome] += 1
    player.end()
    if closing and found.total() > 1 and not run.machine:
        _close(run, found, closing)
    return sorted(found)


def are_few(names: Iterable[str]) -> bool:
    """Whether targets are examined in advance: not many, and not listed while they are read."""
    if not isinstance(names, (list, tuple)):
        return False
    return len(names) <= (CHECKED_REMOTE if any("://" in name for name in names) else CHECKED)


def check_each(run: Run, check: Callable[..., Any], names: Iterable[str], **options: Any) -> None:
    """Call `check` for each target, which raises `click.UsageError` for options that do not apply to its format.

    Such an error is raised before anything is printed or written for one of several targets, where they are few: others
    are checked when it is their turn.
    """
    if not are_few(names):
        return
    for name in names:
        try:
            check(run, name, **options)
        except ExhumeError:
            continue  # reported when it is its turn
        finally:
            run.close()


def _close(run: Run, outcomes: Mapping[ExitCode, int], closing: str) -> None:
    """Print how many targets are done, and how many of those with losses."""
    lost = outcomes.get(ExitCode.LOSS, 0)
    more = f", {lost} of them with losses" if lost else ""
    done, total = lost + outcomes.get(ExitCode.DONE, 0), sum(outcomes.values())
    run.note(f"{done} of {counted(total, 'targets')} {closing}{more}")


def _parts(
    run: Run, many: ManyOptions, one: One, targets: Targets, options: dict[str, Any], player: Player, progress: Progress
) -> Iterator[tuple[Any, TargetOutput | ExhumeError]]:
    """Yield each target, in order, with its recorded output or the error that ended it.

    On this machine alone, output is printed as it comes; otherwise the caller plays it back.
    """
    terminal = sys.stdout.isatty()
    if many.is_local:  # events are played at once, so that large output needs no memory
        for done, name in enumerate(targets.names):
            progress(done, targets.total, "targets")
            player.start(name)
            try:
                got: TargetOutput | ExhumeError = _part(
                    one, Recorder(run.arguments, terminal, player.play), name, options
                )
            except ExhumeError as error:
                got = error
            yield name, got
        return
    function = partial(record, one, run.arguments, terminal, options)
    for result in many.run(function, targets.names, progress=progress, total=targets.total, unit="targets"):
        player.start(result.unit)
        yield result.unit, result.error or result.value


def one_or_several(
    run: Run, verb: str, one: One, names: Sequence[str], *, check: Callable[..., Any], **options: Any
) -> ExitCode:
    """Run `one` on one target, or on each of several; then each result printed as text follows the target's name.

    `check` is that of `check_each`.
    """
    many = ManyOptions()
    chosen = many.targets(run, names)
    if not chosen.several:
        return one(run, chosen.only, **options) or ExitCode.DONE
    check_each(run, check, chosen.names, **options)
    return worst(each_target(run, many, verb, _headed, chosen, verb_of=one, options=options))


def _headed(run: Run, target: str, *, verb_of: One, options: dict[str, Any]) -> ExitCode | None:
    """Run the verb below a line with the target's name, followed by an empty line."""
    run.format_of(target)  # a target that cannot be read has no heading
    head(run, f"{run.screen.paint(shown(target), 'target')}:")
    outcome = verb_of(run, target, **options)
    if not run.machine:
        run.print()
    return outcome


def head(run: Run, text: str) -> None:
    """Print a line of text before the output of a target, once there is any: a usage error has none."""
    if not run.machine:
        assert isinstance(run, Recorder)
        run.head(text)


def print_failed(run: Run, target: str, error: ExhumeError) -> None:
    """Report a target that failed on standard error."""
    if run.machine:
        from exhume.io.jsonout import dumps

        body = {"schema": "exhume.error/1", "target": redact(target), **error.to_dict()}
        click.echo(dumps(body), err=True)
    else:
        from exhume.cli.advice import advice_on

        # The message names the target once.
        where = "" if error.span is not None and error.span.source == redact(target) else f"{shown(target)}: "
        ctx = click.get_current_context(silent=True)
        options = {option for param in ctx.command.params for option in param.opts} if ctx is not None else set()
        remedy = advice_on(error.code, options, "" if error.span is None else error.span.source)
        click.echo(message(f"exhume: {where}{printable(error.one_line(remedy))}"), err=True)


def worst(outcomes: Iterable[ExitCode]) -> ExitCode:
    """The outcome of a run over many targets: the first of failed, no, loss and done that any of them had."""
    order = (ExitCode.FAILED, ExitCode.NO, ExitCode.LOSS)
    found = set(outcomes)
    return next((outcome for outcome in order if outcome in found), ExitCode.DONE)
