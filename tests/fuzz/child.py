"""The process in which one target runs: `python -m tests.fuzz.child TARGET ENGINE SECONDS PLACE WORK`; see `run`.

`PLACE` is a folder that the target may write into, `WORK` the folder with the corpus, in which inputs that fail are
left; with the engine `none` it is an input, which is run once.
"""

from __future__ import annotations

import gc
import hashlib
import os
import random
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HANG = 300
"""Seconds after which an input is taken for a hang."""
SLOWER = 8.0
"""How much longer instrumented code, or code with sanitizers, may take: what fails is judged without them."""


def main() -> None:
    name, engine, seconds, place, work = sys.argv[1:]
    if engine == "atheris":
        with_atheris(name, int(seconds), Path(place), Path(work))
    elif engine == "hypothesis":
        with_hypothesis(name, int(seconds), Path(place), Path(work))
    else:
        resource.setrlimit(resource.RLIMIT_CPU, (HANG, HANG))  # for what never comes back
        guarded(name, Path(place))(Path(work).read_bytes())


def guarded(name: str, place: Path, factor: float = 1.0) -> Callable[[bytes], None]:
    """A target within its bounds."""
    from tests.fuzz.guard import Guard
    from tests.fuzz.targets import TARGETS

    target = TARGETS[name].make(place.resolve())
    checked = "asan" in os.environ.get("LD_PRELOAD", "")
    return Guard(target, place.resolve(), factor=SLOWER if checked else factor)


def write_corpus(name: str, folder: Path) -> None:
    """Write what a target begins with into its corpus, unless that is there: `build/fuzz/` is the place to empty."""
    from tests.fuzz.targets import corpus

    for seed in () if any(folder.iterdir()) else corpus(name):
        (folder / hashlib.sha1(seed, usedforsecurity=False).hexdigest()).write_bytes(seed)


def with_atheris(name: str, seconds: int, place: Path, work: Path) -> None:
    """Let libFuzzer change inputs, guided by the branches they take."""
    import atheris

    if "asan" not in os.environ.get("LD_PRELOAD", ""):  # there the blocks of the kernel are counted instead
        sys.stderr, stated = Path(os.devnull).open("w"), sys.stderr  # it prints a line per module
        hook = atheris.instrument_imports(include=["exhume", "exhume_ksy"])
        hook.__enter__()
        function = guarded(name, place, SLOWER)
        sys.stderr = stated
    else:
        function = guarded(name, place)
    from tests.fuzz.targets import size_of  # after the hook: it imports the modules to instrument

    write_corpus(name, work / "corpus")
    options = {
        "max_len": size_of(name), "max_total_time": seconds, "timeout": HANG, "rss_limit_mb": 0,
        "report_slow_units": HANG,
        "print_final_stats": 1,
        "artifact_prefix": f"{work}/", "reload": 0,
    }  # fmt: skip
    gc.freeze()  # existing objects are never examined again
    words = [f"-{key}={value}" for key, value in options.items()]
    atheris.Setup([sys.argv[0], *words, str(work / "corpus")], function)
    atheris.Fuzz()


def with_hypothesis(name: str, seconds: int, place: Path, work: Path) -> None:
    """Let Hypothesis change inputs, and look for those that call more functions."""
    from hypothesis import HealthCheck, Phase, given, seed, settings, target
    from hypothesis import strategies as st

    from tests.fuzz.targets import corpus, mutate

    function = guarded(name, place)
    seeds = list(corpus(name))
    inputs = st.builds(
        lambda one, number: mutate(one, random.Random(number)), st.sampled_from(seeds), st.integers(0, 1 << 32)
    )
    count, last = 0, b""

    def round(number: int) -> None:
        @seed(number)
        @settings(
            max_examples=200, database=None, deadline=None, suppress_health_check=list(HealthCheck),
            phases=[Phase.generate, Phase.target],
        )  # fmt: skip
        @given(inputs)
        def search(data: bytes) -> None:
            nonlocal count, last
            count, last = count + 1, data
            target(float(calls(lambda: function(data))))

        search()

    end, number = time.monotonic() + seconds, 0
    try:
        while not number or time.monotonic() < end:
            round(number)
            number += 1
    except BaseException:
        (work / "crash-hypothesis").write_bytes(last)
        raise
    finally:
        print(f"Done {count} runs", file=sys.__stderr__, flush=True)


def calls(work: Callable[[], object]) -> int:
    """How many functions of exhume something calls."""
    seen: set[Any] = set()

    def note(frame: Any, event: str, argument: object) -> None:
        if event == "call" and "exhume" in frame.f_code.co_filename:
            seen.add(frame.f_code)

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return len(seen)


if __name__ == "__main__":
    main()
