"""`exhume completion`: the script that teaches a shell the verbs and options."""

from __future__ import annotations

import click

from exhume.cli.params import Choice, Verb


@click.command("completion", cls=Verb)
@click.argument("shell", type=Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script for SHELL.

    It completes verbs, options, file names, formats, and the sections, members, channels and columns of the local
    archive that the line names. A name from an archive that begins with "-" is completed only after "--" or as the
    value of an option; a file whose name begins with "-" is completed as "./-NAME".

    \b
    bash: source <(exhume completion bash)        (in ~/.bashrc)
    zsh:  source <(exhume completion zsh)         (in ~/.zshrc, after compinit)
    fish: exhume completion fish | source         (in ~/.config/fish/config.fish)
    """
    from exhume.cli.completing import SCRIPTS

    click.echo(SCRIPTS[shell].strip())
