"""The options that may help with an error: the library's messages name none, since its users have arguments instead."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import click

from exhume.errors import ExhumeError

ADVICE: Mapping[str, Mapping[str, str]] = {
    "EX-101": {
        "--format": "use --format FORMAT to choose one",
        "--recursive": "use --recursive for the archives inside",
    },
    "EX-501": {"--limit": "use --limit NAME=VALUE to raise the limit"},
    "EX-505": {"--limit": "use --limit NAME=VALUE to raise the limit"},
    "EX-602": {"--allow-full-download": "use --allow-full-download to read all of it"},
    "EX-607": {"--allow-full-download": "use --allow-full-download to continue"},
    "EX-613": {"--chunks-in": "use --chunks-in to name the directory or URL prefix of chunks"},
    "EX-611": {"--add": "use --add to add the readable ones"},
    "EX-612": {"--follow-redirects": "use --follow-redirects to follow it"},
    "EX-702": {"--overwrite": "use --overwrite to replace it"},
    "CLPIR-309": {"": "use `exhume carve` to find appended streams"},
    "KVIR-309": {"": "use `exhume carve` to find appended streams"},
}
"""The remedy for an error code, by the option that it names; "" where it names none."""


def advice(error: ExhumeError, main: click.Group, arguments: Sequence[str]) -> str:
    """The remedies for an error, such as `use --overwrite to replace it`, with options of this verb; "" without any."""
    where = error.span.source if error.span is not None else ""
    return advice_on(error.code, options_of(main, arguments), where) if error.code in ADVICE else ""


def advice_on(code: str, options: Collection[str], where: str) -> str:
    """The same as `advice` for an error code, the names of the options that the verb has, and the target."""
    without = set() if "://" in where or Path(where).is_dir() else {"--recursive"}
    said = [
        text
        for option, text in ADVICE.get(code, {}).items()
        if (option in options or not option) and option not in without
    ]
    return ", or ".join(said)


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
