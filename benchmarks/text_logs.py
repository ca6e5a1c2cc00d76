"""Text logs and aggregates: `create` of logs as systems write them, and `search --min` and others on 50 MB of records,
and on a million records with a field of every kind.

    python -m benchmarks.text_logs [--size 50000000] [--records 1000000] [--folder /dev/shm] [--repeat 3]

Every measurement is a process of its own, interpreter start-up included, all in turns; the tables give the least CPU
seconds (the last one medians), also without the start (the time of the same command for a tiny input).  `clp-s` (of
the package `yscope-clp-core`) does not read text: it is given the same events as lines of JSON, which have to be made
first.  It has no aggregates either: it prints the matches of the search, as exhume does without one.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

from benchmarks.clp_s import ENVIRONMENT, binary, own_command
from benchmarks.clp_s_logs import write_logs
from tests.textlogs import SYSTEMS, text_log

ASKED = (["--min", "duration_ms"], ["--max", "duration_ms"], ["--unique", "service"], ["--unique", "trace_id"])


KINDS = {
    "integers": "size",
    "floats": "took",
    "booleans": "ok",
    "words of a few": "level",
    "timestamps": "time",
    "words": "user",
    "strings of 32 digits": "trace",
    "messages": "message",
}
"""The fields of `write_kinds`, by kind: values of all but booleans and levels never or rarely repeat."""


def cpu(command: list[str]) -> float:
    """CPU seconds of a command, whose output goes nowhere."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENVIRONMENT)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"failed: {' '.join(command)}")
    return usage.ru_utime + usage.ru_stime


def least(commands: dict[str, list[str]], repeat: int, clear: Path | None = None) -> dict[str, float]:
    """The least CPU of each command, all run in turns; what they write is removed before each."""
    found: dict[str, float] = {}
    for _ in range(repeat):
        for name, command in commands.items():
            if clear is not None:
                shutil.rmtree(clear, ignore_errors=True)
                clear.mkdir()
            found[name] = min(found.get(name, 1e9), cpu(command))
    return found


def logs(folder: Path, size: int, repeat: int) -> None:
    """`create` of each system's log, and of the same events as JSON by the rival."""
    out = folder / "out"
    exhume = own_command()
    archive, stream = [*exhume, "create", "clp-s"], [*exhume, "create", "kv-ir"]
    times = ["--timestamp-key", "timestamp"]
    little = folder / "little.log"
    little.write_bytes(text_log("java", 5))
    start = least({"": [*archive, str(little), "-o", str(out / "a.clps")]}, 2 * repeat, out)[""]
    print(f"\nthe start of a command is {start:.2f} s\n")
    heads = (
        "log",
        "MB",
        "`clp-s c` of JSON",
        "`create clp-s`",
        "of it",
        "with times",
        "`create kv-ir`",
        "MB/s of each",
    )
    print(f"| {' | '.join(heads)} |\n| --- |{' --: |' * (len(heads) - 1)}")
    for system in SYSTEMS:
        part = text_log(system, 20_000)
        data = part * max(1, size // len(part))
        source = folder / f"{system}.log"
        source.write_bytes(data)
        lines = folder / "x.jsonl"
        subprocess.run([*stream, str(source), "-o", str(folder / "x.clp")], check=True, stderr=subprocess.DEVNULL)
        with lines.open("wb") as file:
            subprocess.run([*exhume, "cat", str(folder / "x.clp")], check=True, stdout=file)
        took = least(
            {
                "theirs": [str(binary()), "c", "--single-file-archive", str(out), str(lines)],
                "ours": [*archive, str(source), "-o", str(out / "a.clps")],
                "times": [*archive, str(source), "-o", str(out / "a.clps"), *times],
                "stream": [*stream, str(source), "-o", str(out / "a.clp")],
            },
            repeat,
            out,
        )
        megabytes = len(data) / 1e6
        speeds = [f"{megabytes / (took[name] - start):.0f}" for name in ("ours", "times", "stream")]
        print(
            f"| {system} | {megabytes:.0f} | {took['theirs']:.2f} | {took['ours']:.2f} | "
            f"{took['ours'] / took['theirs']:.2f} | {took['times']:.2f} | {took['stream']:.2f} | {'; '.join(speeds)} |",
            flush=True,
        )
        for path in (source, folder / "x.clp", lines):
            path.unlink()


def aggregates(folder: Path, size: int, repeat: int) -> None:
    """One answer from a field, against the same search with output."""
    source, archive, tiny = folder / "flat.jsonl", folder / "flat.clps", folder / "tiny.clps"
    exhume = own_command()
    write_logs(source, "flat", 2000)
    subprocess.run([*exhume, "create", "clp-s", str(source), "-o", str(tiny)], check=True, stderr=subprocess.DEVNULL)
    write_logs(source, "flat", size)
    subprocess.run([*exhume, "create", "clp-s", str(source), "-o", str(archive)], check=True, stderr=subprocess.DEVNULL)
    start = least({"": [*exhume, "search", str(tiny), "*", "--count"]}, 2 * repeat)[""]
    print(f"\n{size / 1e6:.0f} MB of records; the start of a search is {start:.2f} s\n")
    print("| query | answer | CPU | of the same search with output | without the start |")
    print("| --- | --- | --: | --: | --: |")
    for query in ("*", "level: ERROR"):
        commands = {
            "`clp-s s`, output": [str(binary()), "s", str(archive), query],
            "output": [*exhume, "search", str(archive), query],
            **{f"`{' '.join(one)}`": [*exhume, "search", str(archive), query, *one] for one in ASKED},
        }
        found = least(commands, repeat)
        for name, took in found.items():
            net = (took - start) / (found["output"] - start)
            ratios = " | ".join(["-"] * 2) if "output" in name else f"{took / found['output']:.2f} | {net:.2f}"
            print(f"| `{query}` | {name} | {took:.2f} | {ratios} |", flush=True)


def write_kinds(path: Path, records: int) -> None:
    """Records with a field of each kind."""
    rng = random.Random(1)
    at = datetime(2024, 1, 1, tzinfo=UTC)
    with path.open("w") as file:
        for number in range(records):
            at += timedelta(milliseconds=rng.randrange(1, 50))
            level, flag = rng.choice(("INFO", "WARN", "ERROR", "DEBUG")), rng.choice(("true", "false"))
            took = f"took {rng.randrange(9999)} ms on node{rng.randrange(50)}"
            file.write(
                f'{{"time":"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03}Z","level":"{level}",'
                f'"service":"svc-{rng.randrange(20)}","ok":{flag},"size":{rng.randrange(1 << 48)},'
                f'"took":{rng.random() * 1e4:.6f},"user":"user{rng.randrange(1 << 34)}name",'
                f'"trace":"{rng.getrandbits(128):032x}",'
                f'"message":"Request {number} for /api/v1/items/{rng.randrange(10**6)} {took}"}}\n'
            )


def kinds(folder: Path, records: int, repeat: int) -> None:
    """`--unique`, `--min` and `--max` of each kind of field, against searches with output of all or of that field."""
    exhume = own_command()
    archives = {}
    for number in (5, records):
        source, archives[number] = folder / "kinds.jsonl", folder / f"kinds-{number}.clps"
        write_kinds(source, number)
        made = [*exhume, "create", "clp-s", str(source), "-o", str(archives[number]), "--timestamp-key", "time"]
        subprocess.run(made, check=True, stderr=subprocess.DEVNULL)
        source.unlink()
    search = [*exhume, "search", str(archives[records]), "*"]
    commands = {"start": [*exhume, "search", str(archives[5]), "*", "--count"], "output": search}
    commands["rival"] = [str(binary()), "s", str(archives[records]), "*"]
    for field in KINDS.values():
        commands[f"{field} alone"] = [*search, "--projection", field]
        commands[field] = [*search, "--unique", field]
    for field in ("size", "took"):
        commands[f"min {field}"] = [*search, "--min", field]
        commands[f"max {field}"] = [*search, "--max", field]
    runs: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(repeat):
        for name, command in commands.items():
            runs[name].append(cpu(command))
    took = {name: median(found) for name, found in runs.items()}

    def share(name: str) -> str:
        return f"{(took[name] - took['start']) / (took['output'] - took['start']):.2f}"

    print(f"\n{records} records, medians of {repeat}: the start takes {took['start']:.2f} s, the search with output ")
    print(
        f"{took['output']:.2f} s, `clp-s s` {took['rival']:.2f} s; parts of the output's CPU, both without the start\n"
    )
    print("| field | printed alone | `--unique` | `--min` | `--max` |\n| --- | --: | --: | --: | --: |")
    for kind, field in KINDS.items():
        ends = [share(f"{end} {field}") if f"{end} {field}" in took else "-" for end in ("min", "max")]
        print(f"| {kind} | {share(f'{field} alone')} | {share(field)} | {' | '.join(ends)} |", flush=True)


def main() -> None:
    """Parse the options and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=50_000_000)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--folder", default=None)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        logs(Path(name), options.size, options.repeat)
        aggregates(Path(name), options.size, options.repeat)
        kinds(Path(name), options.records, 2 * options.repeat + 1)


if __name__ == "__main__":
    main()
