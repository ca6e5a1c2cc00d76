"""IR streams of text against clp-ffi-py: printing, one object for each event, a search.

    python benchmarks/clp_ir.py [--events N] [--repeat N]

Every pair runs in the same session, the other program in `.venv-oracles`; the least CPU time of some runs counts.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import exhume

ROOT = Path(__file__).resolve().parent.parent
THEIRS = ROOT / ".venv-oracles" / "bin" / "python"

OURS = {
    "text with times": "for x in exhume.clpir.open(path).text_chunks(times='iso'): out.write(x)",
    "one object for each event": "for x in exhume.clpir.open(path).events(): pass",
    "a search": "for x in exhume.clpir.open(path).search('task_77 on'): pass",
}
OTHERS = {
    "text with times": "ClpIrFileReader(Path(path)).dump(open('/dev/null', 'w'))",
    "one object for each event": "for x in ClpIrFileReader(Path(path)): pass",
    "a search": (
        "for x in ClpIrFileReader(Path(path)).search("
        "QueryBuilder().add_wildcard_query(SubstringWildcardQuery('task_77 on', True)).build()): pass"
    ),
}
HEAD = {
    "ours": "import exhume, exhume.clpir; exhume.clpir.open(path).close(); out = open('/dev/null', 'wb')",
    "theirs": (
        "from pathlib import Path; from clp_ffi_py.ir import ClpIrFileReader, QueryBuilder; "
        "from clp_ffi_py.wildcard_query import SubstringWildcardQuery"
    ),
}


def make(path: Path, events: int) -> None:
    """A log of a server with some variables in each message."""
    rng = random.Random(1)
    time = 1_700_000_000_000
    with exhume.clpir.create(path, zone="America/New_York", reference_ms=time) as writer:
        for number in range(events):
            time += rng.randrange(500)
            writer.write(
                time,
                f" INFO [main-{number % 7}] org.apache.Server: Task task_{number % 1000} on node{number % 13} took "
                f"{rng.random() * 100:.3f} ms, {rng.randrange(10**6)} bytes from /10.0.{number % 256}.{number % 200}\n",
            )


def seconds(python: Path | str, head: str, work: str, path: Path, repeat: int) -> float:
    """The least CPU time of the work."""
    timed = f"start = time.process_time()\n{work}\nprint(time.process_time() - start)"
    program = f"import sys, time\npath = sys.argv[1]\n{head}\n{timed}"
    runs = (subprocess.run([python, "-c", program, path], check=True, capture_output=True) for _ in range(repeat))
    return min(float(run.stdout) for run in runs)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=300_000)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.clp.zst"
        make(path, options.events)
        for name, work in OURS.items():
            ours = seconds(sys.executable, HEAD["ours"], work, path, options.repeat)
            theirs = seconds(THEIRS, HEAD["theirs"], OTHERS[name], path, options.repeat)
            print(f"{name}: theirs {theirs:.2f} s, ours {ours:.2f} s, {ours / theirs:.2f}")


if __name__ == "__main__":
    main()
