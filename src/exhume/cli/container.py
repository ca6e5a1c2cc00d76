"""What the command line prints about the EWF image that contains an archive."""

from __future__ import annotations

from exhume.archive import Progress
from exhume.cli.render import printable
from exhume.cli.run import Run
from exhume.findings import Check, CheckOutcome
from exhume.io.source import Source
from exhume.io.tree import Tree


def check_container(run: Run, opened: Source | Tree, progress: Progress, *, unless: str = "") -> bool:
    """Say whether the content of an EWF image is what was put into it; False when it is not.

    `unless` is a reason not to read the whole content, which is printed instead.  Prints nothing for other sources.
    Raises `SourceError` where the content cannot be read.
    """
    whole = opened.outermost if isinstance(opened, Source) else None
    if whole is None or not (whole.location or "").endswith("01"):
        return True
    from exhume.io.images import EvidenceSource

    if not isinstance(whole, EvidenceSource):
        return True
    from exhume.engines.verify import check_evidence

    check = Check.skipped(unless) if unless and whole.digest else check_evidence(whole, progress)
    run.note(f"{printable(whole.name)}: MD5 of the image: {check}")
    return check.outcome is not CheckOutcome.MISMATCH
