"""`exhume create FORMAT`: a new archive; each format brings its own command, in its module `cli_create`."""

from __future__ import annotations

import click

from exhume.cli.params import Group
from exhume.errors import UnrecognizedFormatError
from exhume.late import resolve
from exhume.registry import formats, get_format


class CreateGroup(Group):
    """A group whose commands are the formats that can be written."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [id for id, described in formats().items() if described.create]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the `create` command of the format `cmd_name`; None if it does not exist or cannot be written."""
        try:
            described = get_format(cmd_name)
        except UnrecognizedFormatError:
            return None
        if described.create is None:
            return None
        found: click.Command = resolve(described.package, "cli_create:create")
        return found

    def hint(self, ctx: click.Context, name: str) -> str:
        """Return what to add to the error for an unknown format: some formats cannot be written."""
        try:
            return f": {get_format(name).id} archives are read only"
        except UnrecognizedFormatError:
            return super().hint(ctx, name)


@click.group("create", cls=CreateGroup)
def command() -> None:
    """Create an archive: exhume create FORMAT INPUT... -o TARGET.

    The target appears only when it is complete.  A file is replaced only with --overwrite, a directory never; `create
    ark` adds a log to a directory of logs.
    """
