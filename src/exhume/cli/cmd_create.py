"""`exhume create FORMAT`: a new archive; each format brings its own command."""

from __future__ import annotations

import click

from exhume.cli.formatcli import format_cli
from exhume.registry import formats


class CreateGroup(click.Group):
    """A group whose commands are the formats that can be written."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [id for id, described in formats().items() if hasattr(format_cli(described), "create")]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        described = formats().get(cmd_name)
        found: click.Command | None = getattr(format_cli(described), "create", None) if described else None
        return found


@click.group("create", cls=CreateGroup)
def command() -> None:
    """Write a new archive: exhume create FORMAT INPUT... -o TARGET.

    The target appears only when it is complete.
    """
