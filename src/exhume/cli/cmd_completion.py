"""`exhume completion`: the script that teaches a shell the verbs and options."""

from __future__ import annotations

import click

from exhume.cli.params import Choice, Verb


@click.command("completion", cls=Verb)
@click.argument("shell", type=Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script for SHELL.

    It completes verbs, options, names of files, formats, and the sections, members, channels and columns of the local
    archive that stands in the line.

    \b
    bash: source <(exhume completion bash)        (in ~/.bashrc)
    zsh:  source <(exhume completion zsh)         (in ~/.zshrc, behind compinit)
    fish: exhume completion fish | source         (in ~/.config/fish/config.fish)
    """
    from exhume.cli.completing import SHELLS
    from exhume.cli.main import main

    click.echo(SHELLS[shell](main, {}, "exhume", "_EXHUME_COMPLETE").source())
