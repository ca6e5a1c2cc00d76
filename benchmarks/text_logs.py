"""Text logs and aggregates: `create` of logs as systems write them, and `search --min` and others on 50 MB of records.

    python -m benchmarks.text_logs [--size 50000000] [--folder /dev/shm] [--repeat 3]

Every measurement is a process of its own, interpreter start-up included, all in turns; the tables give the least CPU
seconds, also without the start (the time of the same command for a tiny input).  `clp-s` (of the package
`yscope-clp-core`) does not read text: it is given the same events as lines of JSON, which have to be made first.  It
has no aggregates either: it prints the matches of the search, as exhume does without one.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.clp_s import ENVIRONMENT, binary, own_command
from benchmarks.clp_s_logs import write_logs
from tests.textlogs import SYSTEMS, text_log

ASKED = (["--min", "duration_ms"], ["--max", "duration_ms"], ["--unique", "service"], ["--unique", "trace_id"])


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


def main() -> None:
    """Parse the options and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=50_000_000)
    parser.add_argument("--folder", default=None)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        logs(Path(name), options.size, options.repeat)
        aggregates(Path(name), options.size, options.repeat)


if __name__ == "__main__":
    main()
