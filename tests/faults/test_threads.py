"""One archive and many threads, forked and spawned processes: every reader method returns what one thread gets.

Spec: none; docs/testing.md, "Threads, processes and signals".
"""

from __future__ import annotations

import multiprocessing
import os
import random
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import exhume
from tests.faults.methods import ARCHIVES, methods
from tests.faults.traced import is_traced
from tests.sizes import size, some

THREADS = 8


@pytest.fixture
def hasty() -> Iterator[None]:
    """Threads give way to each other every microsecond; every millisecond under a tracer, which would never end."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-3 if is_traced() else 1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize("name", sorted(ARCHIVES))
@pytest.mark.slow
@pytest.mark.usefixtures("hasty")
def test_eight_threads_on_one_archive(name: str, samples: Path) -> None:
    """Each thread calls every method, in an order of its own, of a newly opened archive."""
    path, calls = samples / ARCHIVES[name], methods(name)
    usual = answers(path, name)
    for round in range(size(2, 40)):
        wrong: list[str] = []
        with exhume.open(path) as archive:
            together = threading.Barrier(THREADS)

            def work(seed: int, archive: Any = archive, together: Any = together, wrong: Any = wrong) -> None:
                order = list(calls)
                random.Random(seed).shuffle(order)
                together.wait()
                for method in order:
                    try:
                        if calls[method](archive) != usual[method]:
                            wrong.append(f"{method}: something else")
                    except BaseException as error:
                        wrong.append(f"{method}: {error!r}")

            threads = [threading.Thread(target=work, args=(round * THREADS + seed,)) for seed in range(THREADS)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert wrong == []


def answers(path: Path, name: str) -> dict[str, Any]:
    """The result of every method, each on an archive of its own."""
    found = {}
    for method, call in methods(name).items():
        with exhume.open(path) as archive:
            found[method] = call(archive)
    return found


def elsewhere(path: str, name: str) -> dict[str, Any]:
    """The answers of a process of its own."""
    return answers(Path(path), name)


def ask_inherited(name: str) -> dict[str, Any]:
    """The answers of a forked process that has the archive of its parent."""
    return {method: call(_INHERITED[0]) for method, call in methods(name).items()}


_INHERITED: list[Any] = []


@pytest.mark.slow
def test_a_spawned_process(samples: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        for name, path in some(ARCHIVES.items()):
            assert pool.apply(elsewhere, (str(samples / path), name)) == answers(samples / path, name), name


@pytest.mark.parametrize("name", sorted(ARCHIVES))
@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_forked_processes_with_the_archive_of_their_parent(name: str, samples: Path) -> None:
    """Two children and the parent read from one open archive: there is no position to share."""
    path = samples / ARCHIVES[name]
    usual = answers(path, name)
    with exhume.open(path) as archive:
        _INHERITED[:] = [archive]
        with multiprocessing.get_context("fork").Pool(2) as pool:
            requested = [pool.apply_async(ask_inherited, (name,)) for _ in range(4)]
            assert {method: call(archive) for method, call in methods(name).items()} == usual
            for one in requested:
                assert one.get(timeout=300) == usual
    _INHERITED.clear()
