"""What a format adds to the command line, and how verbs pick it up.

A format's `cli.py` (light: click and `exhume.cli.params` only at the top) may define

- `OPTIONS`: `{verb: [click.Option, …]}`; `"open"` holds options of every reading verb, handed to the format's `open`;
  `"describe"` those of `info` and `list` alone, handed to it as well
- `WITHOUT_EFFECT`: `{verb: {option: (others, …)}}`, by the names of their parameters: `option` leaves the others
  nothing to do, so that giving both is refused
- `NEEDS`: `{verb: {option: other}}`, likewise: `option` has no effect without the other, so that giving it alone is
  refused
- `cat(run, archive, names, options) -> ExitCode | None`
- `search(run, archives, query, options) -> ExitCode | None`
- `entries(run, archive, options) -> Iterator[Entry]` for a `list` with options of its own; and `listed(run, archive,
  options) -> Iterator[bytes] | None` for the lines of a plain list, where these can be had without an object for each
- `table_options(options) -> dict`: takes (pops) the given options of `export` that choose what is in a table, and
  returns them as those of the format's `to_arrow`
- `merges(options, machine) -> bool` and `merge(run, documents, query, options) -> ExitCode`: searches of several
  targets whose answer is one (a count), and that answer from the JSON document of each target
- `EXPORTS`: `{target: "module:function"}` relative to the format's package, with the signature in `exhume.export`

A format that can be written has a `cli_create.py` as well, whose `create`, a `click.Command`, becomes
`exhume create <id> …`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import click
from click.core import ParameterSource

from exhume.cli.params import Verb
from exhume.registry import Format, formats, get_format

READING_VERBS = ("info", "list", "cat", "extract", "search", "export")


def format_cli(described: Format) -> Any:
    """The format's `cli` module, or None."""
    return described.hook("cli") if described.cli else None


class FormatCommand(Verb):
    """A verb that takes, besides its own options, those that formats add to it (`verb` names it)."""

    def __init__(self, *args: Any, verb: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.verb = verb
        self._extended: list[click.Option] | None = None

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        own = super().get_params(ctx)
        if self._extended is None:
            taken = {param.name for param in own}
            self._extended = [option for name, option in contributed(self.verb).items() if name not in taken]
        return [*own[:-1], *self._extended, *own[-1:]]


def contributed(verb: str) -> dict[str, click.Option]:
    """Options that formats add to a verb, by parameter name; their help says which formats take them."""
    found: dict[str, tuple[click.Option, list[str]]] = {}
    for described in formats().values():
        table = getattr(format_cli(described), "OPTIONS", {})
        options: list[click.Option] = [*table.get(verb, ())]
        options += _opening(table, verb)
        for option in options:
            found.setdefault(option.name or "", (option, []))[1].append(described.id)
    for option, ids in found.values():
        if not (option.help or "").startswith("["):
            option.help = f"[{', '.join(ids)}] {option.help or ''}"
    return {name: option for name, (option, _) in found.items()}


def _opening(table: Mapping[str, Sequence[click.Option]], verb: str) -> list[click.Option]:
    """Those of a format's options that a verb hands to its `open`."""
    describing = table.get("describe", ()) if verb in ("info", "list") else ()
    return [*(table.get("open", ()) if verb in READING_VERBS else ()), *describing]


def given_options(ctx: click.Context) -> frozenset[str]:
    """Names of the options that the user gave, not the defaults."""
    defaults = (ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP, None)
    return frozenset(name for name in ctx.params if ctx.get_parameter_source(name) not in defaults)


def refuse_beside(given: Collection[str], name: str, others: Iterable[str]) -> None:
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

    `given` names the options that the user gave, where the context does not know.  Raises `click.UsageError` when an
    option was given that this format does not take, or that has no effect on it as it was given.
    """
    given = given_options(ctx) if given is None else given
    table = getattr(format_cli(described), "OPTIONS", {})
    mine = {option.name: option for option in table.get(verb, ())}
    opening = {option.name for option in _opening(table, verb)}
    verb_options: dict[str, Any] = {}
    open_options: dict[str, Any] = {}
    for name, value in values.items():
        if name in mine:
            verb_options[name] = value if name in given else _default(mine[name], ctx)
        elif name in opening:
            if name in given:
                open_options[name] = value
        elif name in given:
            asked = click.get_current_context(silent=True)  # the context given may have no name
            raise click.UsageError(f"{_flag(name, asked)} does not apply to {described.id} archives", asked)
    for name, others in getattr(format_cli(described), "WITHOUT_EFFECT", {}).get(verb, {}).items():
        refuse_beside(given, name, others)
    for name, needed in getattr(format_cli(described), "NEEDS", {}).get(verb, {}).items():
        if name in given and needed not in given:
            context = click.get_current_context(silent=True)
            raise click.UsageError(f"{_flag(name, context)} has no effect without {_flag(needed, context)}", context)
    for name, option in mine.items():
        if verb_options.get(name or "") is None and option.multiple:
            verb_options[name or ""] = ()
    return verb_options, open_options


def _default(option: click.Option, ctx: click.Context) -> Any:
    """An option's own default; None where click 8.3 has its "unset" marker."""
    default = option.get_default(ctx)
    return None if type(default).__name__ == "Sentinel" else default


def recognized_format(run: Any, target: str) -> Format:
    """The format of a target, by `--format` or by its bytes.  Raises `UnrecognizedFormatError`."""
    return get_format(run.format_of(target))


def require_format(run: Any, target: str, verb: str, id: str) -> None:
    """Check that a target has the format `id`, which the verb needs; raise `click.UsageError` if it has another."""
    found = run.format_of(target)
    if found != id:
        raise click.UsageError(f"{verb} is for {id} archives; this is {found}", click.get_current_context(silent=True))
