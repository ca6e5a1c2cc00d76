"""Additions of a format to the command line, and how verbs pick it up.

A format's `cli.py` ends with `CLI`, a `FormatCli`.  So that `--help` is fast, it imports at its top only click and
modules of `exhume.cli` that read no archives.  A format that can be written has a `cli_create.py` as well, whose
`create`, a `click.Command`, becomes `exhume create <id> …`.

With `--ksy FILE`, cat, export and info read an archive as the user's own specification describes it.  The options that
go with `--ksy` are here; the code that reads a specification is in `specified.py`, which is imported only for `--ksy`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeVar

import click
from click.core import ParameterSource

from exhume.cli.params import Verb
from exhume.errors import ExhumeError, ShortReadError, TruncatedError, UnrecognizedFormatError
from exhume.registry import Format, formats, get_format

if TYPE_CHECKING:
    from pathlib import Path

    from exhume.archive import Entry
    from exhume.cli import ExitCode
    from exhume.cli.run import Run


V = TypeVar("V", bound="VerbOptions")

_SHORTEST = 4
"""Bytes of the magic numbers of streams: a file that is followed (`--follow`) is not recognized before it has them."""

READING_VERBS = ("info", "list", "cat", "extract", "search", "export")
"""Verbs that open an archive through the format's `open`, and so take its options."""


class UnsuitedOptionError(click.UsageError):
    """An option was given that the format of a target does not take; one of several targets fails by it."""


def refuse_names(names: Sequence[str], what: str, instead: str = "") -> None:
    """Raise `click.UsageError` for names where `what` have none; `instead` says how to choose them.

    A name that is a file was meant as a second target.
    """
    if not names:
        return
    from pathlib import Path

    file = next((name for name in names if Path(name).exists()), None)
    if file is not None:
        raise click.UsageError(f"one TARGET at a time: {file} is another file, and {what} have no names")
    raise click.UsageError(f"{what} have no names" + (f": {instead}" if instead else ""))


class VerbOptions:
    """The values of a format's own options for one verb; read-only.

    A subclass annotates each value with the name of its parameter and its type.  Those that only some of several verbs
    with one class have are given a default.
    """

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: object) -> None:
        """Raise `AttributeError`: a hook that needs other values makes other options (`replaced`)."""
        raise AttributeError(f"{type(self).__name__} is read-only: {name}")

    def replaced(self, **values: Any) -> Self:
        """Return a copy of these options with some values changed."""
        return type(self)(**(self.__dict__ | values))


class SearchOptions(VerbOptions):
    """The options of `search` that the verb reads as well."""

    count: bool = False  # print only the number of matches
    jobs: int = 1  # threads or processes; 0: one per core


def _no_table_options(given: dict[str, Any]) -> dict[str, Any]:
    """The hook `table_options` of a format that has none."""
    return {}


class FormatCli:
    """Additions of a format to the verbs: options, rules about them, and hooks that print.

    `options` are those of each verb, by its name; `"open"` has options of every reading verb, handed to the format's
    `open`, and `"describe"` those of `info` and `list` alone, handed to it as well.  `values` has the class of the
    values that the hooks of a verb get.  The rules name parameters: with `without_effect`, `{verb: {option: (others,
    ...)}}`, an option leaves the others nothing to do, so that giving both is refused; with `needs`, `{verb: {option:
    other}}`, it has no effect without the other, so that giving it alone is refused.  `exports` is `{target:
    "module:function"}` relative to the format's package, with the signature in `exhume.export`.

    Hooks, None where the format has nothing of its own to do:

    - `table_options` pops, from the given options of `export`, those that choose the content of a table; it returns
      them as options of the format's `to_arrow`
    - `cat` prints content
    - `entries` are those of a `list` with options of its own; `listed` has the lines of a plain list, where these can
      be had without an object for each, else None; `outcome` is the outcome of a list
    - `search` prints what matches a query; `merges` says (given whether a program reads the output) whether the answers
      of several targets are one answer, such as a count, which `merge` then prints from the JSON document of each
    """

    def __init__(
        self,
        *,
        options: Mapping[str, Sequence[click.Option]] | None = None,
        values: Mapping[str, type[VerbOptions]] | None = None,
        without_effect: Mapping[str, Mapping[str, Sequence[str]]] | None = None,
        needs: Mapping[str, Mapping[str, str]] | None = None,
        exports: Mapping[str, str] | None = None,
        table_options: Callable[[dict[str, Any]], dict[str, Any]] = _no_table_options,
        cat: Callable[[Run, Any, tuple[str, ...], Any], ExitCode | None] | None = None,
        entries: Callable[[Run, Any, Any], Iterator[Entry]] | None = None,
        listed: Callable[[Run, Any, Any], Iterator[bytes] | None] | None = None,
        outcome: Callable[[Run, Any], ExitCode] | None = None,
        search: Callable[[Run, Any, str, Any], ExitCode | None] | None = None,
        merges: Callable[[Any, bool], bool] | None = None,
        merge: Callable[[Run, Sequence[dict[str, Any]], str, Any], ExitCode] | None = None,
    ) -> None:
        """Store the arguments, which the class docstring describes."""
        self.options: Mapping[str, Sequence[click.Option]] = options or {}
        self.values: Mapping[str, type[VerbOptions]] = values or {}
        self.without_effect: Mapping[str, Mapping[str, Sequence[str]]] = without_effect or {}
        self.needs: Mapping[str, Mapping[str, str]] = needs or {}
        self.exports: Mapping[str, str] = exports or {}
        self.table_options = table_options
        self.cat = cat
        self.entries = entries
        self.listed = listed
        self.outcome = outcome
        self.search = search
        self.merges = merges
        self.merge = merge

    def verb_options(self, verb: str, values: Mapping[str, Any]) -> VerbOptions:
        """The options for the hooks of a verb, from the values that `split_options` found for it."""
        return self.values.get(verb, VerbOptions)(**values)

    def opening(self, verb: str) -> list[click.Option]:
        """The options that a verb hands to the format's `open`."""
        describing = self.options.get("describe", ()) if verb in ("info", "list") else ()
        return [*(self.options.get("open", ()) if verb in READING_VERBS else ()), *describing]


_NOTHING = FormatCli()


def format_cli(described: Format) -> FormatCli:
    """The additions of a format to the command line; empty for some formats."""
    found: FormatCli = described.hook("cli") if described.cli else _NOTHING
    return found


class FormatCommand(Verb):
    """A verb (named `verb`) with options of its own, and options that formats add to it."""

    def __init__(self, *args: Any, verb: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.verb = verb
        self._extended: list[click.Option] | None = None  # options of the formats; None: not collected yet

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the command's options, with those that formats contribute to the verb before the last (`--help`)."""
        own = super().get_params(ctx)
        if self._extended is None:
            taken = {param.name for param in own}
            self._extended = [option for name, option in contributed(self.verb).items() if name not in taken]
        # click adds `--help` last; it stays there.
        return [*own[:-1], *self._extended, *own[-1:]]


def contributed(verb: str) -> dict[str, click.Option]:
    """Options that formats add to a verb, by parameter name; their help says which formats take them."""
    found: dict[str, tuple[click.Option, list[str]]] = {}
    for described in formats().values():
        cli = format_cli(described)
        for option in (*cli.options.get(verb, ()), *cli.opening(verb)):
            _, ids = found.setdefault(option.name or "", (option, []))
            ids.append(described.id)
    for option, ids in found.values():
        if not (option.help or "").startswith("["):  # several verbs may share an option, which is marked once
            option.help = f"[{', '.join(ids)}] {option.help or ''}"
    return {name: option for name, (option, _) in found.items()}


def given_options(ctx: click.Context) -> frozenset[str]:
    """Names of the parameters that the user gave, not those that have their default."""
    defaults = (ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP, None)
    return frozenset(name for name in ctx.params if ctx.get_parameter_source(name) not in defaults)


def refuse_combined(given: Collection[str], name: str, others: Iterable[str]) -> None:
    """Raise `click.UsageError` for options that have no effect with the option `name`, if the user gave both."""
    for other in others if name in given else ():
        if other in given:
            context = click.get_current_context(silent=True)
            raise click.UsageError(f"{_flag(other, context)} has no effect with {_flag(name, context)}", context)


def _flag(name: str, context: click.Context | None) -> str:
    """An option as it is typed."""
    params = context.command.get_params(context) if context is not None else ()
    typed = next((param.opts for param in params if param.name == name), [])
    return next((opt for opt in typed if opt.startswith("--")), "--" + name.replace("_", "-"))


def split_options(
    ctx: click.Context,
    verb: str,
    described: Format,
    values: dict[str, Any],
    given: frozenset[str] | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """`(verb options, open options)` of one format out of all contributed values.

    `given` names the options that the user gave, where the context does not know.  Raises `UnsuitedOptionError` for an
    option that this format does not take, and `click.UsageError` for one that has no effect as it was given.
    """
    given = given_options(ctx) if given is None else given
    cli = format_cli(described)
    mine = {option.name: option for option in cli.options.get(verb, ())}
    # Sort the values: own options of the verb, options for `open`, and options of other formats (refused if given).
    opening = {option.name for option in cli.opening(verb)}
    verb_options: dict[str, Any] = {}
    open_options: dict[str, Any] = {}
    for name, value in values.items():
        if name in mine:
            verb_options[name] = value if name in given else _default(mine[name], ctx)
        elif name in opening:
            if name in given:
                open_options[name] = value
        elif name in given:
            current = click.get_current_context(silent=True)  # the context given may have no name
            raise UnsuitedOptionError(f"{_flag(name, current)} does not apply to {described.id} archives", current)
    for name, others in cli.without_effect.get(verb, {}).items():
        refuse_combined(given, name, others)
    for name, needed in cli.needs.get(verb, {}).items():
        if name in given and needed not in given:
            context = click.get_current_context(silent=True)
            raise click.UsageError(f"{_flag(name, context)} has no effect without {_flag(needed, context)}", context)
    for name, option in mine.items():
        # A repeatable option without values is (), whatever click says.
        if verb_options.get(name or "") is None and option.multiple:
            verb_options[name or ""] = ()
    return verb_options, open_options


def _default(option: click.Option, ctx: click.Context) -> Any:
    """An option's own default; None where click 8.3 has its "unset" marker."""
    default = option.get_default(ctx)
    return None if type(default).__name__ == "Sentinel" else default


def recognized_format(run: Run, target: str) -> Format:
    """The format of a target, by `--format` or by its bytes.  Raises `UnrecognizedFormatError`."""
    return get_format(run.format_of(target))


def await_beginning(run: Run, target: str, verb: str, values: Mapping[str, Any]) -> None:
    """Wait with `--follow` until a local file has enough bytes to be opened: its logger may just have made it.

    Returns at once for a file that is recognized as something else, or not at all.  A file that is removed or becomes
    shorter meanwhile is waited for.
    """
    if not values.get("follow") or run.offset or run.length is not None:
        return
    from pathlib import Path

    from exhume.io.local import INTERVAL_S

    file = Path(target)
    if not file.is_file():
        return

    options = {described.id: format_cli(described).options.get(verb, ()) for described in formats().values()}
    followed = {id for id, mine in options.items() if any(option.name == "follow" for option in mine)}
    waited = False
    while not _has_begun(run, file, followed):
        if not waited:
            run.note(f"{target}: waiting for the beginning of the stream")
        waited = True
        time.sleep(INTERVAL_S)


def _has_begun(run: Run, file: Path, followed: Collection[str]) -> bool:
    """Return whether to stop waiting for a file: it can be opened, or is not in one of the formats `followed`.

    An error other than a missing end also ends the wait: opening the file will report it.
    """
    from exhume.engines.identify import identify, open_archive

    try:
        if file.stat().st_size < _SHORTEST:
            return run.as_format not in (None, *followed)  # --format names a format that is not followed: do not wait
        ids = {run.as_format} if run.as_format else {one.format for one in identify(file)}
        if not ids or not ids.issubset(followed):
            return True
        open_archive(file, format=run.as_format, limits=run.limits).close()
    except (TruncatedError, UnrecognizedFormatError, FileNotFoundError, ShortReadError):
        return False
    except ExhumeError:
        return True
    return True


def require_format(run: Run, target: str, verb: str, id: str) -> None:
    """Check that a target has the format `id`, which the verb needs; raise `click.UsageError` if it has another."""
    found = run.format_of(target)
    if found != id:
        raise click.UsageError(f"{verb} is for {id} archives; this is {found}", click.get_current_context(silent=True))


COMMON = frozenset(
    ("json", "ndjson", "quiet", "verbose", "color", "as_format", "offset", "length", "storage", "limits", "limit")
)
"""Options of all verbs."""


def ksy_options(command: Callable[..., Any], path: str = "") -> Callable[..., Any]:
    """The options of a verb that takes a file and its specification, with the help of `--path` if it has that."""
    if path:
        command = click.option("--path", "path", metavar="PATH", help=path)(command)
    command = click.option(
        "--import",
        "imports",
        multiple=True,
        metavar="DIR",
        help="Another folder with specifications that --ksy imports.",
    )(command)
    help_text = "Read TARGET, a file of any format, by this specification."
    return click.option("--ksy", "ksy", metavar="SPEC.ksy", help=help_text)(command)


def refuse_without_ksy(given: frozenset[str]) -> None:
    """Raise `click.UsageError` for options that only mean something with `--ksy`."""
    for name, option in (("imports", "--import"), ("path", "--path")):
        if name in given:
            raise click.UsageError(f"{option} is for --ksy")


def refuse_others(given: frozenset[str], taken: frozenset[str]) -> None:
    """Raise `click.UsageError` for given options that mean nothing with `--ksy`; those in `taken` do."""
    known = {option.name: option for option in click.get_current_context().command.params}
    for name in sorted(given - taken - {"ksy", "imports", "path"}):
        option = known.get(name)
        if isinstance(option, click.Option) and name not in COMMON:
            raise click.UsageError(f"{option.opts[-1]} does not apply with --ksy")
