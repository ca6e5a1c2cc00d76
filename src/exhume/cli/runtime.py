"""Shared by all verbs: the common options, as click parses them, and the `Run` that is made of them.

A verb is decorated with `common_options`, `plain_options` or `bounded_options` and gets a `Run` as its first argument.
`check_container` is here as well: it checks the EWF image (a format of forensic tools, `.E01`) around an archive.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from exhume.archive import Progress
from exhume.cli.params import FORMAT, SIZE, Choice
from exhume.cli.render import printable
from exhume.cli.run import Output, Run, is_binary
from exhume.findings import Check, CheckOutcome
from exhume.io.source import Source
from exhume.io.tree import Tree

F = TypeVar("F", bound=Callable[..., Any])

# The options of all verbs, by the name of the parameter of `Run` that gets the value.
_COMMON_OPTIONS: dict[str, Callable[[Any], Any]] = {
    "json": click.option("--json", "json", is_flag=True, help="One JSON document on standard output."),
    "ndjson": click.option("--ndjson", is_flag=True, help="One JSON line per item on standard output."),
    "as_format": click.option(
        "--format", "--as", "as_format", type=FORMAT, metavar="FORMAT", help="Treat the target as this format."
    ),
    "offset": click.option("--offset", type=SIZE, default=0, help="Where the archive starts inside the target."),
    "length": click.option("--length", type=SIZE, help="How long the archive is inside the target."),
    "limit": click.option(
        "--limit", multiple=True, metavar="NAME=VALUE", help="Raise or lower a safety limit (repeatable)."
    ),
    "allow_full_download": click.option(
        "--allow-full-download", is_flag=True, help="Remote targets: read most of a large object."
    ),
    "follow_redirects": click.option(
        "--follow-redirects", is_flag=True, help="Remote targets: follow redirects to other hosts."
    ),
    "storage": click.option(
        "--storage", multiple=True, metavar="KEY=VALUE", help="Remote targets: an option for fsspec."
    ),
    "audit": click.option("--audit", metavar="FILE", help="Add a record of this run to FILE (see exhume audit)."),
    "color": click.option(
        "--color", type=Choice(["auto", "always", "never"]), default="auto", show_default=True, help="Colors in text."
    ),
    "quiet": click.option("-q", "--quiet", is_flag=True, help="Only errors on standard error."),
    "verbose": click.option("-v", "--verbose", count=True, help="Print more detail."),
}


_PLAIN = ("json", "ndjson", "audit", "color", "quiet", "verbose")
"""Options of a verb that reads no archive."""


def common_options(function: F) -> F:
    """Add the options that every verb that reads archives has, and pass a `Run` as the first argument."""
    return _with(function, _COMMON_OPTIONS)


def plain_options(function: F) -> F:
    """Add the options of a verb that reads no archives, which are only those for printing."""
    return _with(function, {name: _COMMON_OPTIONS[name] for name in _PLAIN})


def bounded_options(function: F) -> F:
    """Add the options of a verb whose input is bounded by limits: of a record, line or event."""
    return _with(function, {name: _COMMON_OPTIONS[name] for name in (*_PLAIN, "limit")})


def _with(function: F, options: Mapping[str, Callable[[Any], Any]]) -> F:
    """Return the command with the common options, called with a `Run` made from their values."""

    @functools.wraps(function)
    def wrapper(**kwargs: Any) -> Any:
        """Call the verb with a `Run` made of the common options, recorded if `--audit` is given."""
        audit: str | None = kwargs.pop("audit")
        run = Run(**{key: kwargs.pop(key) for key in options if key != "audit"})
        try:
            if audit is None:
                return function(run, **kwargs)
            from exhume.cli.audit import audited

            return audited(audit, functools.partial(function, run, **kwargs))
        finally:
            _warn_of_kernel(run)

    command: Any = wrapper
    for option in reversed(list(options.values())):
        command = option(command)
    return command  # type: ignore[no-any-return]


def _warn_of_kernel(run: Run) -> None:
    """Print a note, on a terminal or with -v, if the compiled kernel exists but is not used: all takes much longer."""
    compiled = sys.modules.get("exhume.native")
    if compiled is not None and compiled.STATE in compiled.NOT_USED and (run.verbose or sys.stderr.isatty()):
        from exhume.cli.about import KERNELS

        run.note(f"kernel: {KERNELS[compiled.STATE]}")


__all__ = ["Output", "Run", "bounded_options", "common_options", "is_binary", "plain_options"]


def check_container(run: Run, opened: Source | Tree, progress: Progress, *, unless: str = "") -> bool:
    """Compare the content of an EWF image with the MD5 that it stores, and print the result; False if it differs.

    `opened` is the image, or a part of it, such as an archive.
    `unless` is a reason not to read the whole content, which is printed instead.  Prints nothing for other sources.
    Raises `SourceError` where the content cannot be read.
    """
    whole = opened.outermost if isinstance(opened, Source) else None
    if whole is None or not (whole.location or "").endswith("01"):  # `.E01`, `.Ex01` ...: spare others the import below
        return True
    from exhume.io.images import EvidenceSource

    if not isinstance(whole, EvidenceSource):
        return True
    from exhume.engines.verify import check_evidence

    check = Check.skipped(unless) if unless and whole.digest else check_evidence(whole, progress)
    run.note(f"{printable(whole.name)}: MD5 of the image: {check}")
    return check.outcome is not CheckOutcome.MISMATCH
