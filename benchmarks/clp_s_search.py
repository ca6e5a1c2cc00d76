"""KQL search against `clp-s s`: queries that match little and queries that match much, on logs of two shapes.

Each is asked of a single file and of the same archive as a directory.

    EXHUME_CLP_S_BIN=/path/to/clp-s python -m benchmarks.clp_s_search [--size 50000000] [--folder /dev/shm] [--repeat 5]

Every measurement is a process of its own; rivals run in turns with us, and their lines are compared.  Start-up is what
a query for a column that no record has costs: both read the schema tree for it and nothing else.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.clp_s import Sample, binary, measure, own_command
from benchmarks.clp_s_logs import SHAPES, write_logs

SELECTIVE, BROAD = "selective", "broad"
TARGETS = {BROAD: 2.0}
START_UP = "no_such_column: 1"


@dataclass(frozen=True)
class Result:
    """Median costs of one query, theirs and ours, and the number of lines it prints."""

    query: str
    kind: str
    theirs: Sample
    ours: Sample
    lines: int


def queries(shape: str, logs: Path) -> list[tuple[str, str]]:
    """Queries with their kind; a few values are taken from the middle of the logs."""
    with logs.open("rb") as lines:
        lines.seek(logs.stat().st_size // 2)
        lines.readline()
        record = json.loads(lines.readline())
    if shape == "flat":
        return [
            (SELECTIVE, f"trace_id: {record['trace_id']}"),
            (SELECTIVE, 'message: "*user=777 status*"'),
            (SELECTIVE, f"timestamp >= {record['timestamp']} AND timestamp < {record['timestamp'] + 2000}"),
            (SELECTIVE, 'message: "*no such text*"'),
            (BROAD, "level: INFO"),
            (BROAD, 'message: "*request finished*"'),
            (BROAD, 'message: "* ms*" AND NOT level: DEBUG'),
            (BROAD, "*: *worker-1*"),
        ]
    return [
        (SELECTIVE, f"kubernetes.pod.uid: {record['kubernetes']['pod']['uid']}"),
        (SELECTIVE, "user.id: 4321 AND metrics.ok: true"),
        (SELECTIVE, "*: no-such-word"),
        (BROAD, "log.level: INFO"),
        (BROAD, "http.status > 300 OR error.type: *Error"),
        (BROAD, 'message: "*segment*" AND kubernetes.labels.tier: web'),
        (BROAD, "tags: 3"),
    ]


def median(samples: list[Sample]) -> Sample:
    return Sample(
        statistics.median(s.cpu for s in samples),
        statistics.median(s.wall for s in samples),
        max(s.mib for s in samples),
    )


def compare(shape: str, size: int, folder: Path, repeat: int) -> dict[str, list[Result]]:
    """Both ways for every query, by the form of the archive; the first result of each is the start-up."""
    clp, exhume = str(binary()), own_command()
    logs, archives = folder / f"{shape}.jsonl", folder / "archives"
    records = write_logs(logs, shape, size)
    archives.mkdir()
    subprocess.run([clp, "c", "--single-file-archive", "--timestamp-key", "timestamp", archives, logs], check=True)
    (archive,) = archives.iterdir()
    print(f"{shape}: {records} records, {logs.stat().st_size} bytes, archive {archive.stat().st_size} bytes")
    moved = folder / "directory"
    subprocess.run([*exhume, "recode", "-q", archive, "--directory", "-o", moved], check=True)
    forms = {"single file": archive, "directory": moved}
    found: dict[str, list[Result]] = {form: [] for form in forms}
    theirs_text, ours_text = folder / "theirs.jsonl", folder / "ours.jsonl"
    for kind, query in [("start-up", START_UP), *queries(shape, logs)]:
        measure([*exhume, "search", "-q", str(archive), query], ours_text)  # once, so that all modules are compiled
        theirs: dict[str, list[Sample]] = {form: [] for form in forms}
        ours: dict[str, list[Sample]] = {form: [] for form in forms}
        for _ in range(repeat):
            for form, target in forms.items():
                theirs[form].append(measure([clp, "s", str(target), query], theirs_text))
                ours[form].append(measure([*exhume, "search", "-q", str(target), query], ours_text))
                if theirs_text.read_bytes() != ours_text.read_bytes():
                    sys.exit(f"the answers differ: {query}")
        lines = ours_text.read_bytes().count(b"\n")
        for form, rows in found.items():
            rows.append(Result(query, kind, median(theirs[form]), median(ours[form]), lines))
    floor = median([measure([sys.executable, "-c", "pass"]) for _ in range(repeat)])
    print(f"the interpreter alone: {floor.cpu:.3f} s CPU, {floor.wall:.3f} s wall")
    return found


def report(found: list[Result]) -> None:
    """One table, and whether the targets are met."""
    start = found[0]
    head = f"{'':52} {'lines':>8} {'clp-s CPU':>9} {'CPU':>6} {'clp-s wall':>10} {'wall':>6} {'MiB':>5}"
    print(f"{head}  ratio")
    for one in found:
        if one.kind == BROAD:
            ratio = max(0.0, one.ours.cpu - start.ours.cpu) / max(1e-3, one.theirs.cpu - start.theirs.cpu)
            verdict = f"{ratio:5.2f} of its CPU beyond start-up"
        else:
            ratio = one.ours.wall / one.theirs.wall
            verdict = f"{ratio:5.2f} of its wall time"
        if one.kind in TARGETS:
            verdict += f"; target {TARGETS[one.kind]}: {'met' if ratio <= TARGETS[one.kind] else 'MISSED'}"
        print(
            f"{one.query[:52]:52} {one.lines:8} {one.theirs.cpu:9.3f} {one.ours.cpu:6.3f} {one.theirs.wall:10.3f} "
            f"{one.ours.wall:6.3f} {one.ours.mib:5.0f}  {verdict}"
        )


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=50_000_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--shape", choices=sorted(SHAPES), action="append")
    options = parser.parse_args()
    for shape in options.shape or SHAPES:
        folder = Path(tempfile.mkdtemp(dir=options.folder))
        try:
            for form, found in compare(shape, options.size, folder, options.repeat).items():
                print(f"{form}:")
                report(found)
        finally:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
