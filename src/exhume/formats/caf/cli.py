"""Additions of CAF to the command line: `exhume create caf` and reading chunks of an unknown version."""

from __future__ import annotations

from typing import Any

import click

from exhume.cli.formatcli import FormatCli
from exhume.cli.params import Choice

OPTIONS = {
    "open": [
        click.Option(["--any-version"], is_flag=True, help="Read an unknown format_version as if it were 1.0."),
    ],
    "export": [
        click.Option(["--url"], metavar="URL", help="URL of the chunk in the references (fsspec-reference)."),
        click.Option(
            ["--digest"],
            type=Choice(["stored", "sha256"]),
            help="Tables: the stored checksum (default), or a computed SHA-256.",
        ),
    ],
    "salvage": [
        click.Option(
            ["--unreferenced"], is_flag=True, help="Also keep bytes that no entry refers to, below unreferenced/."
        ),
    ],
}


def table_options(options: dict[str, Any]) -> dict[str, Any]:
    """Options of `to_arrow` for those of `exhume export`."""
    return {"digest": options.pop("digest")} if "digest" in options else {}


CLI = FormatCli(options=OPTIONS, table_options=table_options)
