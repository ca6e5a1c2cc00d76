"""Ark logs against MCAP: the same messages written, read in time order, one topic of ten, decoded.

    python -m benchmarks.ark [--messages 500000] [--size 100] [--folder /dev/shm] [--repeat 5]
    python -m benchmarks.ark --memory          peak memory of reading a 2 GB log

Every measurement is a process of its own; CPU seconds are medians, and the table lists them relative to `mcap` (its
default writer: zstd chunks of 1 MiB) in the same run.  Decoding compares rbuf values with JSON values of the same
fields.

`EXHUME_MCAP_CPP` names the folder `cpp/mcap/include` of the C++ library of the same project: a program that reads the
same file with it is then compiled (`CXX`, else `c++`; it needs the headers of zstd and lz4) and measured as well.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

CHANNELS = 10
STEP_NS = 1_000_000
TARGETS = {
    ("mcap", "write"): 0.25,
    ("mcap", "read"): 0.15,
    ("mcap", "topic"): 0.05,
    ("mcap", "decode"): 0.5,
    ("C++", "read"): 1.5,
    ("C++", "topic"): 1.5,
}
"""What exhume's CPU time over that of a rival should be at most, for each kind of work."""

TOPIC = "/topic/3"
IDL = """
namespace bench;
schema Imu {
    uint64 sequence; double ax; double ay; double az; double gx; double gy; double gz;
    double qw; double qx; double qy; double qz; uint32 status; float temperature; bool valid; array<uint8, 2> spare;
}
"""
FIELDS = ("ax", "ay", "az", "gx", "gy", "gz", "qw", "qx", "qy", "qz")


def payloads(count: int, size: int) -> list[bytes]:
    """Messages like those of an inertial sensor: a counter and slowly changing doubles, `size` bytes each."""
    rng = random.Random(7)
    values = [rng.uniform(-1, 1) for _ in range((size - 8) // 8)]
    tail = bytes(size - 8 - 8 * len(values))
    pack = struct.Struct(f"<Q{len(values)}d").pack
    out = []
    for number in range(count):
        values[number % len(values)] += rng.uniform(-0.01, 0.01)
        out.append(pack(number, *values) + tail)
    return out


def rows(count: int) -> Iterator[dict[str, object]]:
    """Values of the same kind, for decoding."""
    rng = random.Random(7)
    for number in range(count):
        row: dict[str, object] = {"sequence": number}
        row |= {name: rng.uniform(-1, 1) for name in FIELDS}
        yield row | {"status": number % 5, "temperature": 20.5, "valid": True, "spare": [1, 2]}


# ------------------------------------------------------------------------------------------------ ours


def ark_write(folder: Path, count: int, size: int) -> Callable[[], int]:
    """Write `count` messages."""
    from exhume.formats.ark.writer import ArkWriter

    data = payloads(count, size)

    def run() -> int:
        with ArkWriter(folder / "ark") as log:
            channels = [log.channel(f"/topic/{number}") for number in range(CHANNELS)]
            writers = [channel.write for channel in channels]
            for number, message in enumerate(data):
                writers[number % CHANNELS](number * STEP_NS, message)
        return len(data)

    return run


def ark_read(folder: Path, topics: str | None, decode: bool) -> Callable[[], int]:
    """Read messages in time order."""
    from exhume.formats.ark.collection import open_archive
    from exhume.formats.ark.reader import ArkArchive
    from exhume.io.local import LocalTree

    def run() -> int:
        count = 0
        with open_archive(LocalTree(folder)) as log:
            assert isinstance(log, ArkArchive)
            for message in log.messages(topics, decode=decode):
                count += message.value is not None if decode else 1
        return count

    return run


def ark_decode_setup(folder: Path, count: int) -> None:
    """A log with values."""
    from exhume.formats.ark.writer import ArkWriter

    with ArkWriter(folder / "ark-values") as log:
        channels = [log.channel(f"/topic/{number}", "bench::Imu", IDL) for number in range(CHANNELS)]
        for number, row in enumerate(rows(count)):
            channels[number % CHANNELS].write(number * STEP_NS, row)


# ------------------------------------------------------------------------------------------------ mcap


def mcap_write(folder: Path, count: int, size: int) -> Callable[[], int]:
    """Write the same messages with `mcap`."""
    from mcap.writer import Writer

    data = payloads(count, size)

    def run() -> int:
        with (folder / "log.mcap").open("wb") as file:
            writer: Any = Writer(file)
            writer.start()
            schema = writer.register_schema("x", "raw", b"")
            channels = [writer.register_channel(f"/topic/{n}", "raw", schema) for n in range(CHANNELS)]
            for number, message in enumerate(data):
                at = number * STEP_NS
                writer.add_message(channels[number % CHANNELS], at, message, at)
            writer.finish()
        return len(data)

    return run


def mcap_read(file: Path, topics: list[str] | None, decode: bool) -> Callable[[], int]:
    """Read them back in time order."""
    from mcap.reader import make_reader

    def run() -> int:
        count = 0
        with file.open("rb") as stream:
            for _, _, message in make_reader(stream).iter_messages(topics=topics):
                count += json.loads(message.data) is not None if decode else 1
        return count

    return run


def mcap_decode_setup(folder: Path, count: int) -> None:
    """The same values as JSON messages."""
    from mcap.writer import Writer

    with (folder / "values.mcap").open("wb") as file:
        writer: Any = Writer(file)
        writer.start()
        schema = writer.register_schema("bench.Imu", "jsonschema", b"{}")
        channels = [writer.register_channel(f"/topic/{n}", "json", schema) for n in range(CHANNELS)]
        for number, row in enumerate(rows(count)):
            at = number * STEP_NS
            writer.add_message(channels[number % CHANNELS], at, json.dumps(row).encode(), at)
        writer.finish()


# ----------------------------------------------------------------------------------------- mcap in C++

PROGRAM = r"""
#define MCAP_IMPLEMENTATION
#include <mcap/reader.hpp>
#include <cstdint>
#include <cstdio>
#include <ctime>

static double seconds(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec + now.tv_nsec * 1e-9;
}

// program FILE [TOPIC]: CPU and wall seconds of reading the messages in time order, their number, a sum of their bytes
int main(int argc, char** argv) {
  const double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID), wall = seconds(CLOCK_MONOTONIC);
  mcap::McapReader reader;
  if (!reader.open(argv[1]).ok()) return 1;
  mcap::ReadMessageOptions options;
  options.readOrder = mcap::ReadMessageOptions::ReadOrder::LogTimeOrder;
  if (argc > 2) options.topicFilter = [&](std::string_view topic) { return topic == argv[2]; };
  bool sound = true;
  uint64_t count = 0, sum = 0;
  for (const auto& one : reader.readMessages([&](const mcap::Status&) { sound = false; }, options)) {
    count++;
    sum += one.message.dataSize + static_cast<uint8_t>(one.message.data[0]);
  }
  std::printf("%f %f %llu %llu\n", seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu, seconds(CLOCK_MONOTONIC) - wall,
              static_cast<unsigned long long>(count), static_cast<unsigned long long>(sum));
  return sound ? 0 : 1;
}
"""


def build_cpp(folder: Path) -> Path | None:
    """The compiled program that reads with the C++ library, or None when its sources are not named."""
    sources = os.environ.get("EXHUME_MCAP_CPP")
    if not sources:
        return None
    program = folder / "mcap-cpp"
    (folder / "mcap-cpp.cpp").write_text(PROGRAM)
    command = [os.environ.get("CXX", "c++"), "-std=c++17", "-O3", "-DNDEBUG", "-I", sources, "-o", str(program)]
    subprocess.run([*command, str(folder / "mcap-cpp.cpp"), "-lzstd", "-llz4"], check=True)
    return program


def measure_cpp(program: Path, what: str, folder: Path) -> tuple[float, float]:
    """CPU and wall seconds of reading all messages, or those of one topic."""
    command = [str(program), str(folder / "log.mcap"), *([TOPIC] if what == "topic" else [])]
    cpu, wall, count = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[:3]
    assert int(count)
    return float(cpu), float(wall)


# ---------------------------------------------------------------------------------------------- driver


def job(name: str, folder: Path, count: int, size: int) -> Callable[[], int]:
    """What one process measures."""
    match name:
        case "ark write":
            shutil.rmtree(folder / "ark", ignore_errors=True)
            return ark_write(folder, count, size)
        case "ark read":
            return ark_read(folder / "ark", None, decode=False)
        case "ark topic":
            return ark_read(folder / "ark", TOPIC, decode=False)
        case "ark decode":
            return ark_read(folder / "ark-values", None, decode=True)
        case "mcap write":
            return mcap_write(folder, count, size)
        case "mcap read":
            return mcap_read(folder / "log.mcap", None, decode=False)
        case "mcap topic":
            return mcap_read(folder / "log.mcap", [TOPIC], decode=False)
        case "mcap decode":
            return mcap_read(folder / "values.mcap", None, decode=True)
    raise SystemExit(f"no such job: {name}")


def measure(name: str, folder: Path, options: argparse.Namespace) -> tuple[float, float]:
    """CPU and wall seconds of one job in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.ark", "--job", name, "--folder", str(folder)]
    command += ["--messages", str(options.messages), "--size", str(options.size)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    cpu, wall = done.stdout.split()[:2]
    return float(cpu), float(wall)


def compare(options: argparse.Namespace) -> int:
    """Measure everything and print the table; the exit status says whether every target is met."""
    folder = Path(tempfile.mkdtemp(prefix="exhume-ark-", dir=options.folder))
    try:
        ark_decode_setup(folder, options.messages)
        mcap_decode_setup(folder, options.messages)
        program = build_cpp(folder)
        failed = False
        print(f"{'':8} {'rival':5} {'its CPU s':>10} {'ours CPU s':>10} {'ratio':>6} {'target':>6}   (wall: it, ours)")
        for (rival, what), target in TARGETS.items():
            if rival == "C++" and program is None:
                continue
            both = []
            for who in (rival, "ark"):
                runs = [
                    measure_cpp(program, what, folder)
                    if who == "C++" and program is not None
                    else measure(f"{who} {what}", folder, options)
                    for _ in range(options.repeat)
                ]
                both.append((statistics.median(r[0] for r in runs), statistics.median(r[1] for r in runs)))
            (cpu, wall), (our_cpu, our_wall) = both
            ratio = our_cpu / cpu
            failed |= ratio > target
            print(
                f"{what:8} {rival:5} {cpu:10.3f} {our_cpu:10.3f} {ratio:6.3f} {target:6.2f}   "
                f"({wall:.2f}, {our_wall:.2f})"
            )
        return int(failed)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def memory(options: argparse.Namespace) -> int:
    """Write a 2 GB log in one process, read it in another, and print the peak memory of both."""
    folder = Path(tempfile.mkdtemp(prefix="exhume-ark-", dir=options.folder))
    try:
        for name in ("big write", "big read"):
            command = [sys.executable, "-m", "benchmarks.ark", "--job", name, "--folder", str(folder)]
            done = subprocess.run([*command, "--size", str(options.size)], capture_output=True, text=True, check=True)
            print(f"{name}: {done.stdout.strip()}")
        return 0
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def big(name: str, folder: Path, size: int) -> int:
    """2 GB in three columns, written and read in time order."""
    total = 2_000_000_000
    if name == "big read":
        return ark_read(folder / "ark", None, decode=False)()
    from exhume.formats.ark.writer import ArkWriter

    data = bytes(size)
    with ArkWriter(folder / "ark") as log:
        writers = [log.channel(f"/topic/{n}", column=f"column {n % 3}").write for n in range(CHANNELS)]
        for number in range(total // size):
            writers[number % CHANNELS](number * STEP_NS, data)
    return total // size


def main() -> int:
    """Run the benchmark, or one job of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=500_000)
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--folder", type=Path, default=Path("/dev/shm") if Path("/dev/shm").is_dir() else None)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job is None:
        return memory(options) if options.memory else compare(options)
    if options.job.startswith("big"):
        count = big(options.job, options.folder, options.size)
        print(f"{count} messages, peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")
        return 0
    run = job(options.job, options.folder, options.messages, options.size)
    cpu, wall = time.process_time(), time.perf_counter()
    count = run()
    print(time.process_time() - cpu, time.perf_counter() - wall, count)
    return 0


if __name__ == "__main__":
    sys.exit(main())
