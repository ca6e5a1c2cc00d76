"""One run of a verb: the common options, and how it reads, piped input included, and prints."""

from __future__ import annotations

import itertools
import os
import stat
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, BinaryIO

from click import UsageError

from exhume.archive import Archive
from exhume.cli.render import shown
from exhume.cli.terminal.screen import Screen, message, terminal_width, wants_color
from exhume.errors import WriterError
from exhume.findings import Verdict
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.redaction import redact

if TYPE_CHECKING:
    from exhume.cli import ExitCode
    from exhume.cli.progress import ProgressBar
    from exhume.engines.inspect import Inspection
    from exhume.io.source import Source
    from exhume.io.tree import Tree

PIPES = ("/dev/fd/", "/proc/self/fd/")
"""Prefixes of the names by which a shell passes `<(command)`."""


class Run:
    """One run of a verb: the values of the common options, and the methods by which verbs open targets and print."""

    def __init__(
        self,
        *,
        json: bool = False,
        ndjson: bool = False,
        as_format: str | None = None,
        offset: int = 0,
        length: int | None = None,
        limit: Sequence[str] = (),
        allow_full_download: bool = False,
        follow_redirects: bool = False,
        storage: Sequence[str] = (),
        quiet: bool = False,
        verbose: int = 0,
        color: str = "auto",
        screen: Screen | None = None,
        pipes: dict[str, Source] | None = None,
    ) -> None:
        """Take the common options as click parsed them (`as_format` is `--format`), and what other runs found already.

        Raises `UsageError` for a bad `--limit` or `--storage`.
        """
        # What a worker needs to make the same `Run` (see `exhume.cli.playback`).
        self.arguments: dict[str, Any] = {
            "json": json, "ndjson": ndjson, "as_format": as_format, "offset": offset, "length": length,
            "limit": tuple(limit), "allow_full_download": allow_full_download, "follow_redirects": follow_redirects,
            "storage": tuple(storage), "quiet": quiet, "verbose": verbose,
        }  # fmt: skip
        self.screen: Screen = Screen() if json or ndjson else screen or Screen(terminal_width(), wants_color(color))
        """Width and colors of the terminal; neither for JSON."""
        # Content of piped targets, which can be read only once.
        self._pipes: dict[str, Source] = {} if pipes is None else pipes
        self.arguments |= {"screen": self.screen, "pipes": self._pipes}
        self.opened: Source | Tree | None = None
        """The target opened last."""
        self.several = False
        """Whether this is one target of several: messages then name it."""
        self.json = json
        self.ndjson = ndjson
        self.as_format = as_format
        self.offset = offset
        self.length = length
        self.quiet = quiet
        self.verbose = verbose
        try:
            self.limits: Limits = DEFAULT_LIMITS.with_overrides(list(limit)) if limit else DEFAULT_LIMITS
        except WriterError as error:
            raise UsageError(f"--limit: {error.message}") from error
        allowed = {"allow_full_download": allow_full_download, "follow_redirects": follow_redirects}
        chosen = {name: True for name, given in allowed.items() if given}
        self.storage_options: dict[str, Any] = storage_options(storage, chosen)
        self.out: Output = Output()
        self._sources: dict[str, Source | Tree] = {}  # open targets, closed by `close` unless a caller takes them
        self._formats: dict[str, str] = {}  # target: id of its format, once recognized
        self.verdicts: Counter[str] = Counter()
        """Number of targets by verdict, if there are several."""

    @property
    def machine(self) -> bool:
        """Whether a program reads standard output."""
        return self.json or self.ndjson

    def tally(self, verdict: Verdict) -> None:
        """Count the verdict on a target."""
        self.verdicts[verdict] += 1

    def print_total(self) -> None:
        """Print the verdict on all targets together, `total: damaged (1 damaged, 2 ok)`; nothing if none has one."""
        if (verdict := Verdict.of_all(self.verdicts)) is None:
            return
        counts = {one: self.verdicts[one] for one in Verdict}
        if self.machine:
            self.document("total", {"targets": self.verdicts.total(), "verdict": verdict, "verdicts": counts})
        else:
            counts_shown = ", ".join(f"{count} {self.screen.word(one)}" for one, count in counts.items() if count)
            self.print(f"total: {self.screen.word(verdict)} ({counts_shown})")

    def take_source(self, target: str, *, is_image: bool = False) -> Source | Tree:
        """The target for a caller who will close it.

        With `is_image`, the first segment of a split image stands for all of them.
        """
        self.opened = opened = self.source(target, is_image=is_image)
        del self._sources[target]
        return opened

    def reject_subrange(self) -> None:
        """Raise `click.UsageError` if --offset or --length was given where whole files are needed."""
        if self.offset or self.length is not None:
            raise UsageError("--offset and --length do not apply here: give whole files")

    def source(self, target: str, *, is_image: bool = False) -> Source | Tree:
        """The target with the common options applied; kept open until a caller takes it with `take_source`."""
        from exhume.io.opening import open_target

        known = self._sources.get(target)
        if known is None:
            known = self._sources[target] = open_target(
                self._piped(target) or target,
                storage_options=self.storage_options,
                offset=self.offset,
                length=self.length,
                is_image=is_image,
            )
        return known

    def _piped(self, target: str) -> Source | None:
        """Return the content that is piped in if the target is a pipe, the same one each time; else None."""
        if not may_be_piped(target):
            return None
        if target not in self._pipes and (source := piped(target)) is not None:
            self._pipes[target] = source
        return self._pipes.get(target)

    def hand_over(self, target: str, source: Source | Tree | None, format: str) -> None:
        """Register a target that was examined elsewhere: its format, and its source if it is open."""
        self._formats[target] = format
        if source is not None:
            self._sources[target] = source

    def known_format(self, target: str) -> str | None:
        """The id of the target's format, if `--format` names it or it was recognized already."""
        return self.as_format or self._formats.get(target)

    def close(self) -> None:
        """Close the targets that were opened but never taken."""
        while self._sources:
            self._sources.popitem()[1].close()

    def format_of(self, target: str) -> str:
        """The id of the target's format, by `--format` or by its bytes (read once per run)."""
        known = self.known_format(target)
        if known is None:
            from exhume.engines.identify import recognize

            known = self._formats[target] = recognize(self.source(target))
        return known

    def open(self, target: str, **options: Any) -> Archive:
        """Open a target with the common options applied."""
        from exhume.registry import get_format

        opener = get_format(self.format_of(target)).hook("open")
        archive: Archive = opener(self.take_source(target), limits=self.limits, **options)
        return archive

    def inspect(self, target: str, **options: Any) -> Inspection:
        """Open a target to show its structure, as far as it can be understood."""
        from exhume.engines.inspect import Inspection
        from exhume.registry import get_format

        described = get_format(self.format_of(target))
        return Inspection(self.take_source(target), described, limits=self.limits, **options)

    def report_problems(self, archive: Inspection) -> ExitCode:
        """Print on standard error why an archive was not read or checked completely; return the outcome for it."""
        from exhume.cli import ExitCode

        for problem in archive.problems:
            self.note(f"{problem.severity}: {problem}")
        for findings in archive.unchecked.values():
            more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
            self.note(f"{findings[0].severity}: {findings[0]}{more}")
        return ExitCode.LOSS if archive.problems or archive.unchecked else ExitCode.DONE

    def document(self, verb: str, body: Mapping[str, Any]) -> None:
        """Print the one JSON document of a verb, whose name is that of the document's schema."""
        pretty = not self.ndjson and sys.stdout.isatty()
        from exhume.io.jsonout import dumps

        self.out.text(dumps({"schema": f"exhume.{verb}/1", **_without_secrets(body)}, pretty=pretty) + "\n")

    def items(self, verb: str, head: Mapping[str, Any], key: str, items: Iterable[Any]) -> None:
        """Print many items: one document holding a list (`--json`, streamed), or one line each (`--ndjson`).

        `head` has the keys before the list, which has the key `key`; each line begins with them.  `verb` is the name
        of the schema.  An item is a mapping, or has `json_pieces`, which yields its text.
        """
        from exhume.io.jsonout import dumps

        head = {"schema": f"exhume.{verb}/1", **_without_secrets(head)}
        opening = dumps(head)
        if self.ndjson:
            for item in items:
                if not hasattr(item, "json_pieces"):
                    self.out.text(dumps({**head, **item}) + "\n")
                    continue
                self.out.text(f"{opening[:-1]},")  # without the closing brace: the item's keys follow
                for number, piece in enumerate(item.json_pieces()):
                    self.out.text(piece if number else piece[1:])  # without the item's opening brace
                self.out.text("\n")
            return
        further = iter(items)
        first = next(further, None)  # before anything is printed: an error then leaves no unfinished document
        self.out.text(f'{opening[:-1]},"{key}":[')
        for number, item in enumerate([] if first is None else itertools.chain([first], further)):
            if number:
                self.out.text(",\n")
            for piece in _pieces(item):
                self.out.text(piece)
        self.out.text("]}\n")

    def print(self, text: str = "") -> None:
        """Print a line of the answer, for people."""
        self.out.text(text + "\n")

    def print_wrapped(self, text: str, indent: int = 4, *, word: str = "") -> None:
        """Print a line for people; on a terminal it is broken between words, and further lines are indented.

        `word`, at the beginning of the text, has the color of a verdict or severity.
        """
        first, *rest = self.screen.wrap(text, indent, whole=True)
        lead = first[: len(first) - len(first.lstrip(" "))]
        if word and first.startswith(lead + word):
            first = lead + self.screen.word(word) + first[len(lead + word) :]
        self.print_lines([first, *rest])

    def print_table(self, rows: Iterable[Sequence[Any]], header: Sequence[str], *, sizes: bool = False) -> None:
        """Print a table for people, see `Screen.table`."""
        self.print_lines(self.screen.table(rows, header, sizes=sizes))

    def print_values(self, values: Mapping[str, Any]) -> None:
        """Print nested values for people, see `key_values`."""
        from exhume.cli.terminal.screen import key_values

        self.print_lines(key_values(values, self.screen))

    def print_lines(self, lines: Sequence[str]) -> None:
        """Print lines of the answer, some thousands at a time."""
        for start in range(0, len(lines), 4096):
            self.print("\n".join(lines[start : start + 4096]))

    def note(self, text: str) -> None:
        """Print a line about the work on standard error, unless --quiet."""
        if not self.quiet:
            # One write: `print` writes the end of the line by itself, and output of others could come between.
            sys.stderr.write(message(f"exhume: {shown(text)}") + "\n")
            sys.stderr.flush()

    def hint(self, text: str) -> None:
        """Print a line about why a query may have no match, such as a misspelled name, on standard error.

        With several targets, hints of targets without a match are printed at the end, each once, if none has a match.
        """
        self.note(text)

    @property
    def _shows_progress(self) -> bool:
        """Whether progress is shown: on a terminal, unless --quiet."""
        return not self.quiet and sys.stderr.isatty()

    def progress(self, label: str, total: Callable[[], int | None] | None = None) -> ProgressBar:
        """A progress bar on standard error for work that lasts over a second, on a terminal only.

        `total` returns the bytes that the work will read: by default those of what was opened last.
        """
        from exhume.cli.progress import ProgressBar, size_of

        known = total or (lambda: None if self.opened is None else size_of(self.opened))
        return ProgressBar(label, shown=self._shows_progress, total=known)

    def reading(self, label: str) -> AbstractContextManager[None]:
        """Show, while the context is entered, how many bytes of the archive of `open` or `inspect` were read.

        The bar ends with the first output that goes to the terminal.
        """
        if not self._shows_progress:
            return nullcontext()
        from exhume.cli.progress import reading

        return reading(self.out, self.progress(label))


def _pieces(item: Any) -> Iterable[str]:
    """The JSON of an item: a mapping, or an object that yields its own text in chunks."""
    from exhume.io.jsonout import dumps

    return item.json_pieces() if hasattr(item, "json_pieces") else (dumps(item),)


def may_be_piped(target: str) -> bool:
    """Whether a target is standard input, or may be the output of `<(command)`: only this process can read it."""
    return target == "-" or target.startswith(PIPES)


def _without_secrets(body: Mapping[str, Any]) -> dict[str, Any]:
    """The head of a document whose target, archive or catalog is named without the secrets of a URL."""
    names = ("target", "archive", "catalog")
    return {key: redact(one) if key in names and isinstance(one, str) else one for key, one in body.items()}


class Output:
    """Standard output as bytes and text; binary data is never sent to a terminal."""

    def __init__(self) -> None:
        self._terminal = sys.stdout.isatty()
        self.on_terminal: Callable[[], object] | None = None
        """Called before output that goes to a terminal."""

    def text(self, text: str) -> None:
        """Write text; lone surrogates and undecodable names come out as escapes."""
        if self._terminal and self.on_terminal is not None:
            self.on_terminal()
        try:
            sys.stdout.write(text)
        except UnicodeEncodeError:
            encoding = sys.stdout.encoding or "utf-8"
            sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))

    def utf8(self, text: bytes) -> None:
        """Write text that is UTF-8 already, without a detour where it is ASCII."""
        if text.isascii():
            self.write(text)
        else:
            self.text(text.decode("utf-8"))

    def write(self, data: bytes | memoryview) -> None:
        """Write bytes.  Raises `click.UsageError` for binary data when standard output is a terminal."""
        if self._terminal and is_binary(bytes(data)):
            raise UsageError("refusing to write binary data to a terminal: redirect it")
        if self._terminal and self.on_terminal is not None:
            self.on_terminal()
        sys.stdout.flush()
        sys.stdout.buffer.write(data)

    def flush(self) -> None:
        """Send everything that was written."""
        sys.stdout.flush()

    def require_binary(self) -> BinaryIO:
        """The binary stream, for bulk writers; raises `click.UsageError` when it is a terminal."""
        if self._terminal:
            raise UsageError("refusing to write binary data to a terminal: redirect it")
        sys.stdout.flush()
        return sys.stdout.buffer


_CONTROL = bytes(byte for byte in range(32) if byte not in (9, 10, 13)) + b"\x7f"
"""Control characters other than tab, line feed and carriage return."""


def is_binary(data: bytes) -> bool:
    """Whether bytes hold control characters that a terminal would act on."""
    return len(data.translate(None, _CONTROL)) != len(data)


def storage_options(assignments: Sequence[str], options: dict[str, Any]) -> dict[str, Any]:
    """`options` and `KEY=VALUE` strings as options for fsspec; values are JSON if they parse as such, else text.

    Raises `click.UsageError` for what is not `KEY=VALUE`.
    """
    if assignments:
        import json

    for text in assignments:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise UsageError("--storage takes KEY=VALUE")  # the text may be a secret
        try:
            options[key] = json.loads(value)
        except ValueError:
            options[key] = value
    return options


def piped(target: str) -> Source | None:
    """Standard input for `-`, and the output of `<(command)`; None for anything else.

    It is kept in a file without a name, which vanishes with the source.  Closing the source does nothing: several
    openings of one target share it.  A pipe with a name of its own is not read: without a writer, opening it would wait
    without end.

    Raises `click.UsageError` when nothing is piped in, `SourceError` where it cannot be kept.
    """
    if target == "-":
        if sys.stdin.isatty():
            raise UsageError("- is standard input, but nothing is piped into it")
        return _kept(sys.stdin.buffer, target)
    try:
        if not stat.S_ISFIFO(os.stat(target).st_mode):  # noqa: PTH116 - the import of pathlib costs more
            return None
    except (OSError, ValueError):
        return None
    with open(target, "rb") as pipe:  # noqa: PTH123 - as above
        return _kept(pipe, target)


def _kept(pipe: BinaryIO, name: str) -> Source:
    """Copy the whole input to a temporary file and return a source that reads it."""
    import shutil

    from exhume.io.local import FileObjectSource
    from exhume.io.output.scratch import scratch_file

    file = scratch_file()
    shutil.copyfileobj(pipe, file)
    return FileObjectSource(file, name)
