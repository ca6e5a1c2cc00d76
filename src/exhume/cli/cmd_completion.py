"""`exhume completion`: the script that teaches a shell the verbs and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from exhume.cli.params import Choice


@click.command("completion")
@click.argument("shell", type=Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script for SHELL.

    For bash: source <(exhume completion bash)
    """
    from exhume.cli.main import main

    completion = get_completion_class(shell)
    assert completion is not None
    click.echo(completion(main, {}, "exhume", "_EXHUME_COMPLETE").source())
