"""What every verb shares: the common options, as click parses them, and the `Run` that is made of them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import click

from exhume.cli.params import FORMAT, SIZE
from exhume.cli.run import Output, Run, is_binary

F = TypeVar("F", bound=Callable[..., Any])

_COMMON = (
    "json", "ndjson", "as_format", "offset", "length", "limit", "allow_full_download", "storage", "quiet", "verbose",
)  # fmt: skip

_COMMON_OPTIONS = (
    click.option("--json", "json", is_flag=True, help="One JSON document on standard output."),
    click.option("--ndjson", is_flag=True, help="One JSON line per item on standard output."),
    click.option("--as", "as_format", type=FORMAT, metavar="FORMAT", help="Treat the target as this format."),
    click.option("--offset", type=SIZE, default=0, help="Where the archive starts inside the target."),
    click.option("--length", type=SIZE, help="How long the archive is inside the target."),
    click.option("--limit", multiple=True, metavar="NAME=VALUE", help="Raise or lower a safety limit (repeatable)."),
    click.option("--allow-full-download", is_flag=True, help="Remote targets: read most of a large object."),
    click.option("--storage", multiple=True, metavar="KEY=VALUE", help="Remote targets: an option for fsspec."),
    click.option("-q", "--quiet", is_flag=True, help="Only errors on standard error."),
    click.option("-v", "--verbose", count=True, help="Say more."),
)


def common_options(function: F) -> F:
    """Adds the options every verb has and passes a `Run` as the first argument."""

    @functools.wraps(function)
    def wrapper(**kwargs: Any) -> Any:
        run = Run(**{key: kwargs.pop(key) for key in _COMMON})
        return function(run, **kwargs)

    command: Any = wrapper
    for option in reversed(_COMMON_OPTIONS):
        command = option(command)
    return command  # type: ignore[no-any-return]


__all__ = ["Output", "Run", "common_options", "is_binary"]
