"""What `exhume search` does, however its command line was read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from exhume.cli.outcome import Outcome

if TYPE_CHECKING:
    from exhume.cli.run import Run


def search(
    run: Run,
    searcher: Callable[..., Outcome | None],
    targets: Sequence[str],
    query: str,
    options: Mapping[str, Any],
    opening: Mapping[str, Any],
    *,
    exit_status: bool,
) -> Outcome | None:
    """Searches the targets with a format's `searcher`; "no" becomes an exit code only when that was asked for."""
    with ExitStack() as stack:
        archives = [stack.enter_context(run.open(target, **opening)) for target in targets]
        outcome = searcher(run, archives, query, options)
    return Outcome.DONE if outcome is Outcome.NO and not exit_status else outcome
