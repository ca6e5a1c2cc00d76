"""The options that may help with an error: the library's messages name none, since its users have arguments instead."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import click

from exhume.errors import ExhumeError

ADVICE: Mapping[str, Mapping[str, str]] = {
    "EX-101": {"--format": "--format FORMAT forces one", "--recursive": "--recursive takes each archive inside"},
    "EX-501": {"--limit": "--limit NAME=VALUE raises a limit"},
    "EX-505": {"--limit": "--limit NAME=VALUE raises a limit"},
    "EX-602": {"--allow-full-download": "--allow-full-download reads it whole"},
    "EX-607": {"--allow-full-download": "--allow-full-download goes on"},
    "EX-613": {"--chunks-in": "--chunks-in names the directory or URL prefix of chunks"},
    "EX-611": {"--add": "--add enters the others beside what it holds"},
    "EX-612": {"--follow-redirects": "--follow-redirects follows it"},
    "EX-702": {"--overwrite": "--overwrite replaces it"},
}
"""For the code of an error, what each option does about it."""


def advice(error: ExhumeError, main: click.Group, arguments: Sequence[str]) -> str:
    """` (--format FORMAT forces one)` and the like, for those options that the verb has; "" when there are none."""
    where = error.span.source if error.span is not None else ""
    return advice_on(error.code, options_of(main, arguments), where) if error.code in ADVICE else ""


def advice_on(code: str, options: Collection[str], where: str) -> str:
    """The same as `advice` for an error code, the names of the options that the verb has, and the target."""
    without = set() if "://" in where or Path(where).is_dir() else {"--recursive"}
    said = [text for option, text in ADVICE.get(code, {}).items() if option in options and option not in without]
    return f" ({'; '.join(said)})" if said else ""


def options_of(main: click.Group, arguments: Sequence[str]) -> set[str]:
    """The options of the command that the arguments name."""
    command: click.Command = main
    context = click.Context(main)
    for word in arguments:
        if not isinstance(command, click.Group):
            break
        found = command.get_command(context, word)
        if found is not None:
            command, context = found, click.Context(found, parent=context)
    return {option for param in command.get_params(context) for option in param.opts}
