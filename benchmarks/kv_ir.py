"""KV-IR against the real programs: reading against clp-ffi-py, and `create clp-s` of a stream against `clp-s c`.

    python benchmarks/kv_ir.py [--events N] [--repeat N]

clp-ffi-py is that of `make setup-oracles`, `clp-s` that of the group `oracles`.  Each side works on the same stream in
turns, in processes of their own; CPU is user + system seconds, the best of the repetitions, without the start.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
THEIRS = ROOT / ".venv-oracles" / "bin" / "python"
CACHED = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
"""Installed modules are compiled once, not by each process."""
TARGETS = {"check": 0.2, "lines": 0.2, "objects": 0.2, "create clp-s": 1.0}

READ_THEIRS = """
import sys, time
from clp_ffi_py.ir import Deserializer
stream, how = sys.argv[1:]
start = time.process_time()
deserializer = Deserializer(open(stream, "rb"))
if how == "lines":
    import json
while (event := deserializer.deserialize_log_event()) is not None:
    if how != "check":
        found = event.to_dict()
        if how == "lines":
            json.dumps(found[1], ensure_ascii=False)
print(time.process_time() - start)
"""
READ_OURS = """
import sys, time
import exhume
stream, how = sys.argv[1:]
with exhume.open(stream) as archive:
    start = time.process_time()
    if how == "check":
        archive.info()
    elif how == "lines":
        for piece in archive.json_chunks():
            pass
    else:
        for event in archive.events():
            pass
    print(time.process_time() - start)
"""


def make_stream(path: Path, events: int) -> None:
    """Events as a web service logs them: a message with four variables, numbers, a few arrays, nested pairs."""
    import exhume

    rng = random.Random(5)
    with exhume.create(path, "kv-ir") as writer:
        for number in range(events):
            auto = {
                "timestamp": {"unix_millisecs": 1_700_000_000_000 + 37 * number, "utc_offset_secs": 3600},
                "level": {"num": 20, "name": "INFO"},
                "source": {"path": "/srv/app/main.py", "line": rng.randint(1, 900)},
            }
            user = {
                "message": f"request {number} from 10.0.{number % 256}.{number % 199} took {rng.random() * 100:.3f} ms "
                f"status={rng.choice([200, 404, 500])}",
                "user": f"user_{number % 1000}",
                "ok": number % 7 != 0,
                "latency": rng.random() * 10,
                "tags": ["a", number % 5] if number % 10 == 0 else [],
                "ctx": {"trace": f"{rng.getrandbits(64):016x}", "span": number, "depth": {"n": number % 9}},
            }
            writer.write(user, auto)


def read_cpu(python: str | Path, code: str, stream: Path, how: str) -> float:
    """What one side needs to read the stream."""
    done = subprocess.run([python, "-c", code, stream, how], check=True, capture_output=True, text=True, env=CACHED)
    return float(done.stdout)


def command_cpu(command: list[str | Path]) -> float:
    """What a command needs."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True, env=CACHED)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    """Run the command line; return 1 when a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    clp_s = shutil.which("clp-s", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        stream = Path(folder) / "events.clp"
        make_stream(stream, options.events)
        for how in ("check", "lines", "objects"):
            if THEIRS.exists():
                theirs = min(read_cpu(THEIRS, READ_THEIRS, stream, how) for _ in range(options.repeat))
                ours = min(read_cpu(sys.executable, READ_OURS, stream, how) for _ in range(options.repeat))
                rows[how] = ours, theirs
        if clp_s:
            out = Path(folder) / "out"
            native: list[str | Path] = [clp_s, "c", "--single-file-archive", out, stream]
            own: list[str | Path] = [sys.executable, "-m", "exhume", "create", "clp-s", stream, "-o", out / "a.clps"]
            own += ["--overwrite"]
            theirs = min(command_cpu(native) for _ in range(options.repeat))
            rows["create clp-s"] = min(command_cpu(own) for _ in range(options.repeat)), theirs
    missed = 0
    for name, (ours, theirs) in rows.items():
        ratio = ours / theirs
        missed += ratio > TARGETS[name]
        facts = {"what": name, "ours_s": round(ours, 3), "theirs_s": round(theirs, 3), "ratio": round(ratio, 3)}
        sys.stdout.write(json.dumps({**facts, "target": TARGETS[name]}) + "\n")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
