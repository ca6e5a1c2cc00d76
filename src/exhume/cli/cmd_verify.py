"""`exhume verify`: every checksum and invariant, as findings.

A finding is one broken rule of the format.  `verify_one` handles one target and may run in a worker
(`exhume.cli.playback`).  A `Run` has the common options of the verb, opens targets and prints.

`many` has the options for several targets, such as --jobs and --cluster (`ManyOptions`); its method `targets` returns
those to work on (`chosen`), one (`only`) or several.
"""

from __future__ import annotations

from typing import Any

import click

from exhume.cli import ExitCode
from exhume.cli.many import ManyOptions, many_options, recursive_option
from exhume.cli.params import Choice, Verb
from exhume.cli.render import printable, shown
from exhume.cli.runtime import Run, check_container, common_options
from exhume.errors import ExhumeError
from exhume.findings import Finding, Severity, Verdict


@click.command("verify", cls=Verb)
@click.argument("targets", nargs=-1, metavar="TARGET...")
@click.option("--quick", is_flag=True, help="Omit checks that need decompressed payloads.")
@click.option(
    "--fail-on",
    type=Choice(["error", "warning"]),
    default="error",
    show_default=True,
    help="Lowest severity that causes exit code 4.",
)
@recursive_option
@many_options
@common_options
def command(
    run: Run, targets: tuple[str, ...], many: ManyOptions, quick: bool, fail_on: str, recursive: bool
) -> ExitCode:
    """Check every checksum and rule of the format.

    Continues after each finding.  Exit code 4 if there are errors (or, with --fail-on warning, warnings) or the format
    is unknown, and 3 if something could not be checked: a limit, an unsupported feature, a missing package.  If one of
    several targets cannot be read, that is reported (code EX-6xx), and the exit code is 1.  It is also 1 if the content
    of an EWF image (.E01) does not have the MD5 that the image stores (--quick does not compute that).  For several
    targets, the total is the worst verdict.
    """
    chosen = many.targets(run, targets)
    options: dict[str, Any] = {"quick": quick, "fail_on": fail_on}
    if not chosen.several and not recursive:
        return verify_one(run, chosen.only, jobs=many.jobs, **options)

    # One of several targets that cannot be read must not end the others.
    def failed(target: str, error: ExhumeError) -> None:
        """Report a target that could not be read as one finding."""
        finding = Finding.from_error(error, unread=True)
        run.tally(Verdict.of([finding]))
        if run.ndjson:
            run.document("verify", {"target": target, "format": None, **finding.to_dict()})
        elif run.json:
            verdict = {"verdict": Verdict.of([finding]), "ok": False}
            run.document("verify", {"target": target, "format": None, **verdict, "findings": [finding.to_dict()]})
        else:
            _print_finding(run, finding)
            verdict_of = Verdict.of([finding])
            run.print_lines(run.screen.verdict(shown(target), verdict_of, f"{verdict_of} (not read)"))

    # `recursive` also finds the archives: it reports all other files.
    if recursive:
        from exhume.cli.recursive import each_archive

        return each_archive(run, many, "verify", verify_one, chosen.names, failed=failed, **options)
    from exhume.cli.playback import each_target, worst

    outcomes = each_target(run, many, "verify", verify_one, chosen, failed=failed, **options)
    run.print_total()
    return worst(outcomes)


def verify_one(run: Run, target: str, *, quick: bool, fail_on: str, jobs: int = 1) -> ExitCode:
    """Verify one target.  Raises `SourceError` when reading fails."""
    from exhume.engines.verify import Verification

    kept: list[dict[str, Any]] = []
    with run.take_source(target) as source, run.progress(target) as progress:
        verification = Verification(
            source, format=run.known_format(target), limits=run.limits, quick=quick, jobs=jobs, progress=progress
        )
        for finding in verification:
            if run.ndjson:
                run.document("verify", {"target": target, "format": verification.format, **finding.to_dict()})
            elif run.json:
                kept.append(finding.to_dict())
            else:
                _print_finding(run, finding)
        # The image file (EWF) around the archive may store a digest of its content.
        sound = check_container(run, source, progress, unless="--quick" if quick else "")
    # Print the verdict; what does not open, or is damaged, determines the exit code.
    verdict = verification.verdict
    run.tally(verdict)
    if run.json:
        checksums = {"checked": list(verification.checked), "unchecked": list(verification.unchecked)}
        result = {"verdict": verdict, "ok": verification.ok, "note": verification.note or None, **checksums}
        run.document("verify", {"target": target, "format": verification.format, **result, "findings": kept})
    elif not run.ndjson:
        lead = f"{shown(target)}: {verification.format}" if verification.format else shown(target)
        run.print_lines(run.screen.verdict(lead, verdict, verification.summary()))
    if not sound:
        return ExitCode.FAILED
    warned = fail_on == "warning" and verification.counts[Severity.WARNING]
    if verification.format is None or verdict is Verdict.DAMAGED or warned:
        return ExitCode.NO
    return ExitCode.LOSS if verdict is Verdict.INCOMPLETE else ExitCode.DONE


def _print_finding(run: Run, finding: Finding) -> None:
    """Print a finding on one line, with the advice that applies to this command's options."""
    from exhume.cli.advice import advice_on

    options = {option for param in command.params for option in param.opts}
    where = "" if finding.span is None else finding.span.source
    text = finding.one_line(advice_on(finding.code, options, where))
    run.print_wrapped(f"{finding.severity}: {printable(text)}", word=str(finding.severity))
    if run.verbose and finding.spec_ref:
        run.print(f"  rule: {finding.spec_ref}")
