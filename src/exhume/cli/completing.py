"""What a shell offers when TAB is pressed: names of files, and what the archive that was typed holds.

click knows the verbs, the options and their choices; this adds formats, limits, specifications, sections, members,
channels and columns.  It reads local archives only, reports no errors, and offers files where nothing else is known.
`exhume.cli.shells` talks to the shells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem, ShellComplete

MOST = 1000
"""At most this many names are offered."""

FILES = frozenset(("DB", "DIR", "FILE", "OUT", "ROOT", "SPEC.ksy", "TARGET"))
"""What options that take the name of a file call their value."""


def complete(context: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Completions for a parameter for which click itself has none."""
    offer = OFFERS.get(param.name or "")
    if offer is not None:
        known, _, part = incomplete.rpartition(",") if param.name in SEVERAL else ("", "", incomplete)
        lead = f"{known}," if known else ""
        names = islice((name for name in _offered(offer, context) if name.startswith(part)), MOST)
        return [CompletionItem(f"{lead}{name}") for name in names]
    if isinstance(param, click.Argument) or param.metavar in FILES or isinstance(param.type, click.Path):
        return [CompletionItem(incomplete, type="file")]
    return []


def _offered(offer: Callable[[click.Context], Iterable[str]], context: click.Context) -> Iterable[str]:
    try:
        yield from offer(context)
    except Exception:  # noqa: S110 - a shell waits for names; the verb reports errors when it runs
        pass


def _archive(context: click.Context, *, damaged: bool = False) -> Any:
    """The archive that was typed.  Raises what opening raises, and `LookupError` if there is none or it is remote."""
    import exhume

    found = context.params.get("target") or context.params.get("targets")
    target = found if isinstance(found, str) else (found or ("",))[0]
    if not target or "://" in target or "::" in target:
        raise LookupError(target)
    if not Path(target).exists():
        target = str(Path(target).expanduser())
    opening = exhume.inspect if damaged else exhume.open
    return opening(target, format=context.params.get("as_format"))


def formats(context: click.Context) -> Iterable[str]:
    """The ids of all formats."""
    from exhume.registry import formats as known

    return known()


def limits(context: click.Context) -> Iterable[str]:
    """The names of the limits, ready for a value."""
    from exhume.limits import Limits

    return [f"{name}=" for name in Limits._fields]


def specifications(context: click.Context) -> Iterable[str]:
    """The names of the specifications."""
    from exhume.layout.specifications import ids

    return ids()


def exports(context: click.Context) -> Iterable[str]:
    """The targets to which archives can be exported."""
    from exhume.cli.cmd_export import all_targets

    return all_targets()


def sections(context: click.Context) -> Iterable[str]:
    """The names of the archive's sections."""
    with _archive(context, damaged=True) as archive:
        yield from archive.sections().names()


def entries(context: click.Context) -> Iterable[str]:
    """The names of the archive's members, channels, tables or keys."""
    with _archive(context) as archive:
        yield from (entry.name for entry in archive.entries() if entry.name is not None)


def columns(context: click.Context) -> Iterable[str]:
    """The names of the columns of the archive's table."""
    with _archive(context) as archive:
        yield from archive.to_arrow().schema.names


OFFERS: dict[str, Callable[[click.Context], Iterable[str]]] = {
    "as_format": formats,
    "columns": columns,
    "limit": limits,
    "names": entries,
    "only": formats,
    "projection": columns,
    "section": sections,
    "specification": specifications,
    "to": exports,
    "topic": entries,
    "hide": entries,
}
"""For the parameters of that name, what is offered."""

SEVERAL = ("columns", "projection")
"""Those that take several names with commas between them."""


def completions(command: click.Command, args: list[str], incomplete: str) -> Iterator[tuple[str, str, str]]:
    """Yield kind (`word` or `file`), value and help of each word that can replace `incomplete` after `args`.

    A name from an archive that begins with `-` is a completion only as the value of an option, or after `--`.
    """
    named, equals, _ = incomplete.partition("=")
    lead = f"{named}=" if equals and named.startswith("-") and "--" not in args else ""
    for item in _ExhumeCompletion(command, {}, "exhume", "").get_completions(args, incomplete):
        if item.value or item.type != "plain":
            text = " ".join((item.help or "").split())
            yield ("word", lead + item.value, text) if item.type == "plain" else ("file", "", "")


class _ExhumeCompletion(ShellComplete):
    """click's completion, with what `complete` knows."""

    name = "exhume"
    source_template = ""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        """Return what can replace `incomplete`."""
        from click.shell_completion import _resolve_context, _resolve_incomplete

        found = super().get_completions(args.copy(), incomplete)
        if found:
            return found
        args = args.copy()
        context = _resolve_context(self.cli, self.ctx_args, self.prog_name, args)
        param, incomplete = _resolve_incomplete(context, args, incomplete)
        if not isinstance(param, click.Parameter):
            return []
        if isinstance(param, click.Option) and args[-1] in param.opts:  # without its value, click parses nothing at all
            context = _resolve_context(self.cli, self.ctx_args, self.prog_name, args[:-1])
        offered = complete(context, param, incomplete)
        if isinstance(param, click.Option) or "--" in args:
            return offered
        return [item for item in offered if item.type == "file" or not item.value.startswith("-")]
