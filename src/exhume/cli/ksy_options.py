"""The options of `--ksy` for cat, export and info, and the refusals that belong to them.

These verbs import this module each time; what reads a specification is in `specified.py`, which only `--ksy` imports.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

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
    said = "Read TARGET, a file of any format, by this specification."
    return click.option("--ksy", "ksy", metavar="SPEC.ksy", help=said)(command)


def refuse_without_ksy(given: frozenset[str]) -> None:
    """Raise `click.UsageError` for options that only mean something with `--ksy`."""
    for name, option in (("imports", "--import"), ("path", "--path")):
        if name in given:
            raise click.UsageError(f"{option} is for --ksy")


def refuse_others(given: frozenset[str], taken: frozenset[str]) -> None:
    """Raise `click.UsageError` for options that mean nothing with `--ksy`."""
    known = {option.name: option for option in click.get_current_context().command.params}
    for name in sorted(given - taken - {"ksy", "imports", "path"}):
        option = known.get(name)
        if isinstance(option, click.Option) and name not in COMMON:
            raise click.UsageError(f"{option.opts[-1]} does not apply with --ksy")
