"""`exhume audit`: lists and verifies the records that `--audit` wrote."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import click

from exhume.cli import ExitCode
from exhume.cli.params import Verb
from exhume.cli.render import printable
from exhume.cli.runtime import Run, plain_options
from exhume.counts import counted

NAMES = 3
"""Names of files that are listed for a record; --json has all."""


@click.command("audit", cls=Verb)
@click.argument("records", metavar="FILE")
@click.option("--expect", metavar="DIGEST", help="Digest of the last record, as printed when it was written.")
@click.option("--digests", metavar="FILE", help="File of the digests that were printed: none may be missing.")
@click.option("--no-files", is_flag=True, help="Check only the chain of records, not the files that they name.")
@plain_options
def command(run: Run, records: str, expect: str | None, digests: str | None, no_files: bool) -> ExitCode:
    """Verify an audit log: digests, hash chain and recorded files.

    Each line must be exactly what exhume wrote: its digest covers every byte, and each record names the digest of the
    record before it. Inputs and outputs are compared with the digests in the record; a file that is missing or changed
    is not ok.

    The chain cannot show that records are missing at its end, or that the whole file was replaced. For that, keep the
    digests that --audit prints outside the file: pass the last one with --expect, or all of them, one per line, with
    --digests. Lines of the form "exhume: audit DIGEST" are accepted, so a copy of standard error will do.

    \b
    Exit codes: 0 all records and files are unchanged;
    4 something was changed or is missing.
    """
    from exhume.cli.records import read_digests

    wanted = read_digests(digests) if digests is not None else []
    with run.reading("audit"):
        found = _verified(records, files=not no_files)
    if expect is not None and expect.lower() != found.last:
        found.add_problem("the last record does not have the expected digest")
    # Digests that were kept elsewhere show records that were removed, or replaced with the whole file.
    known = {one["digest"] for one in found.runs}
    for digest in wanted:
        if digest not in known:
            found.add_problem(f"no record has the digest {digest}")
    if not found.count:  # an empty file would pass all other tests
        found.add_problem("no records")
    ok = not found.problems and all(one["state"] in ("unchanged", "not_checked") for one in found.files)
    if run.machine:
        run.document("audit", {"target": records, "ok": ok, "records": found.count, "last_digest": found.last,
                               "runs": found.runs, "problems": found.problems, "files": found.files})  # fmt: skip
    else:
        run.print_lines(list(_lines(run, found, ok)))
    return ExitCode.DONE if ok else ExitCode.NO


@dataclass
class _RecordsFile:
    """The content of a file of records, and its faults."""

    count: int = 0  # records read so far; the number of the current one
    last: str | None = None  # digest of the last record
    runs: list[dict[str, Any]] = field(default_factory=list)  # summary of each record: command, targets, exit code
    problems: list[dict[str, Any]] = field(default_factory=list)  # number of a record, and its fault
    files: list[dict[str, Any]] = field(default_factory=list)  # files named in records, each with its state now

    def add_problem(self, problem: str) -> None:
        self.problems.append({"record": self.count, "problem": problem})


def _verified(records: str, *, files: bool) -> _RecordsFile:
    """Check the records of an audit log and, with `files`, the recorded files; return counts and problems."""
    from exhume.cli.records import check

    found = _RecordsFile()
    for number, what, facts in check(records, files=files):
        if what == "file":
            found.files.append({"record": number, **facts})
            continue
        found.count, found.last = number, facts.get("digest")
        if "run" in facts:
            found.runs.append({"record": number, "digest": found.last, **facts["run"]})
        if "problem" in facts:
            found.add_problem(facts["problem"])
    return found


def _lines(run: Run, found: _RecordsFile, ok: bool) -> Iterator[str]:
    """Yield the lines of the printed result; `ok`: nothing was found wrong."""
    if found.runs:
        keys = ("record", "started", "verb", "exit_code", "targets", "outputs")
        rows = ([_first(one[key]) if isinstance(one[key], list) else one[key] for key in keys] for one in found.runs)
        yield from run.screen.table(rows, [key.replace("_", " ") for key in keys])
    for one in found.problems:
        yield f"record {one['record']}: {one['problem']}"
    for one in found.files:
        if one["state"] not in ("unchanged", "not_checked"):
            yield f"record {one['record']}: {one['role']} {printable(str(one['name']))}: {one['state']}"
    # Remote objects and standard streams (named "-") have no file to compare with.
    unchecked = [one for one in found.files if one["state"] == "not_checked"]
    same = sum(one["state"] == "unchanged" for one in found.files)
    kept = f"{same} of {counted(len(found.files) - len(unchecked), 'files')} unchanged"
    remote = sum(one["name"] != "-" for one in unchecked)
    streams = sorted({f"standard {one['role']}" for one in unchecked if one["name"] == "-"})
    apart = [*([counted(remote, "remote objects")] if remote else []), *streams]
    kept += f"; not checked: {', '.join(apart)}" if apart else ""
    yield f"{'ok' if ok else 'NOT ok'}: {counted(found.count, 'records')}; {kept}"
    if found.last is not None:
        yield f"last: {found.last}"


def _first(names: list[str]) -> str | None:
    """Return the first names, and how many more there are; None if there are none."""
    if not names:
        return None
    more = f" and {len(names) - NAMES:,} more" if len(names) > NAMES else ""
    return ", ".join(names[:NAMES]) + more
