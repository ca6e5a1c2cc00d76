"""`exhume audit`: whether the records that `--audit` wrote still hold."""

from __future__ import annotations

import click

from exhume.cli.outcome import Outcome
from exhume.cli.params import Verb
from exhume.cli.render import printable
from exhume.cli.runtime import Run, plain_options
from exhume.counts import counted


@click.command("audit", cls=Verb)
@click.argument("records", metavar="FILE")
@click.option("--expect", metavar="DIGEST", help="The digest that the last record must have, as it was printed then.")
@click.option("--no-files", is_flag=True, help="Only the chain of records, not the files that they name.")
@plain_options
def command(run: Run, records: str, expect: str | None, no_files: bool) -> Outcome:
    """Verify the records that --audit wrote to FILE: each digest, their chain, and the files that still are there.

    Inputs and outputs are compared with what they were; those that are gone are said to be missing.  The chain cannot
    tell that records are missing at its end: --expect can.  Exit code 4 when anything does not hold.
    """
    from exhume.cli.audit import check

    count, last = 0, None
    problems: list[dict[str, object]] = []
    files: list[dict[str, object]] = []
    for number, what, facts in check(records, files=not no_files):
        if what == "file":
            files.append({"record": number, **facts})
            continue
        count, last = number, facts.get("digest")
        if "problem" in facts:
            problems.append({"record": number, "problem": facts["problem"]})
    if expect is not None and expect.lower() != last:
        problems.append({"record": count, "problem": "the last record does not have the digest that was expected"})
    if not count:
        problems.append({"record": 0, "problem": "no records"})
    changed = [one for one in files if one["state"] == "changed"]
    ok = not problems and not changed
    if run.machine:
        run.document("audit", {"target": records, "ok": ok, "records": count, "last": last, "problems": problems,
                               "files": files})  # fmt: skip
    else:
        for one in problems:
            run.say(f"record {one['record']}: {one['problem']}")
        for one in files:
            if one["state"] not in ("same", "not checked"):
                run.say(f"record {one['record']}: {one['role']} {printable(str(one['name']))}: {one['state']}")
        same = sum(one["state"] == "same" for one in files)
        apart = sum(one["state"] == "not checked" for one in files)
        kept = f"{same} of {counted(len(files) - apart, 'files')}"
        kept += f"; not checked: {counted(apart, 'remote objects and streams')}" if apart else ""
        run.say(f"{'ok' if ok else 'NOT ok'}: {counted(count, 'records')}; there and the same: {kept}")
        if last is not None:
            run.say(f"last: {last}")
    return Outcome.DONE if ok else Outcome.NO
