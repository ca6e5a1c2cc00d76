"""Text logs and aggregates: `create` of logs as systems write them, and `search --min` and others on 50 MB of records.

    python -m benchmarks.text_logs [--size 50000000] [--folder /dev/shm] [--repeat 3]

Every measurement is a process of its own, interpreter start-up included, all in turns; the tables give the least CPU
seconds.  `clp-s` (of the package `yscope-clp-core`) reads no text: it is given the same events as lines of JSON, which
have to be made first.  It has no aggregates either: it prints the matches of the search, as exhume does without one.
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
    heads = (("clp-s c of JSON", 17), ("create clp-s", 14), ("MB/s", 6), ("with times", 12), ("kv-ir", 7), ("MB/s", 6))
    print(f"{'log':14}{'MB':>5}" + "".join(f"{text:>{width}}" for text, width in heads))
    for system in SYSTEMS:
        part = text_log(system, 20_000)
        data = part * max(1, size // len(part))
        source = folder / f"{system}.log"
        source.write_bytes(data)
        stream = [*own_command(), "create", "kv-ir", str(source), "-o"]
        subprocess.run([*stream, str(folder / "x.clp")], check=True, stderr=subprocess.DEVNULL)
        with (folder / "x.jsonl").open("wb") as file:
            subprocess.run([*own_command(), "cat", str(folder / "x.clp")], check=True, stdout=file)
        archive = [*own_command(), "create", "clp-s", str(source), "-o", str(out / "a.clps")]
        took = least(
            {
                "theirs": [str(binary()), "c", "--single-file-archive", str(out), str(folder / "x.jsonl")],
                "ours": archive,
                "times": [*archive, "--timestamp-key", "timestamp"],
                "stream": [*stream, str(out / "a.clp")],
            },
            repeat,
            out,
        )
        print(
            f"{system:14}{len(data) / 1e6:5.0f}{took['theirs']:17.2f}{took['ours']:14.2f}"
            f"{len(data) / 1e6 / took['ours']:6.0f}{took['times']:12.2f}"
            f"{took['stream']:7.2f}{len(data) / 1e6 / took['stream']:6.0f}"
        )
        for path in (source, folder / "x.clp", folder / "x.jsonl"):
            path.unlink()


def aggregates(folder: Path, size: int, repeat: int) -> None:
    """One answer from a field, against the same search with output."""
    source, archive = folder / "flat.jsonl", folder / "flat.clps"
    write_logs(source, "flat", size)
    subprocess.run([*own_command(), "create", "clp-s", str(source), "-o", str(archive)], check=True)
    empty = least({"start": [*own_command(), "--version"]}, repeat)
    print(f"\nsearch, the start of a process is {empty['start']:.2f} s")
    for query in ("*", "level: ERROR"):
        commands = {
            "clp-s s": [str(binary()), "s", str(archive), query],
            "search": [*own_command(), "search", str(archive), query],
            **{" ".join(one): [*own_command(), "search", str(archive), query, *one] for one in ASKED},
        }
        for name, took in least(commands, repeat).items():
            print(f"{query:14}{name:24}{took:8.2f}")


def main() -> None:
    """Parses the options and prints the tables."""
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
