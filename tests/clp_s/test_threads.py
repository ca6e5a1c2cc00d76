"""Threads that need the dictionaries of one archive at the same time."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.errors import ExhumeError
from exhume.formats.clp_s.read.columns import Texts
from exhume.formats.clp_s.reader import open_archive
from exhume.io.local import FileSource
from tests.broken import broken


class SlowLock:
    """A lock whose owner is slow, so that two threads always meet."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()
        time.sleep(0.05)

    def __exit__(self, *exc: object) -> None:
        self._lock.release()


def test_dictionaries_that_lean_on_each_other_are_read_by_two_threads(samples: Path) -> None:
    path = next(iter(sorted((samples / "clp_s").glob("*.clps"))))
    with open_archive(FileSource(path)) as archive:
        texts: Any = Texts(archive)
        texts.lock = SlowLock()
        found: dict[str, Any] = {}
        threads = [
            threading.Thread(target=lambda name=name: found.__setitem__(name, getattr(texts, name)), daemon=True)
            for name in ("escaped_variables", "variables", "escaped_variables", "log_types")
        ]
        for thread in threads:
            thread.start()
            time.sleep(0.01)
        for thread in threads:
            thread.join(20)
        assert not any(thread.is_alive() for thread in threads)
        assert found["variables"] is texts.variables
        assert found["escaped_variables"] is texts.escaped_variables


@pytest.mark.parametrize("name", sorted(broken("clp-s")))
@pytest.mark.bulk
def test_threads_find_what_one_finds(name: str, tmp_path: Path) -> None:
    case = broken("clp-s")[name]
    with case.target(tmp_path / "made") as target:
        one, several = (
            [finding.to_dict() for finding in exhume.verify(target, format="clp-s", limits=case.limits, jobs=jobs)]
            for jobs in (1, 3)
        )
    assert one == several


@pytest.mark.parametrize("name", sorted(broken("clp-s"))[::5])
@pytest.mark.bulk
def test_threads_print_what_one_prints_up_to_the_same_error(name: str, tmp_path: Path) -> None:
    def printed(target: Any, limits: Any, jobs: int) -> tuple[bytes, str]:
        out: list[bytes] = []
        try:
            with exhume.open(target, format="clp-s", limits=limits) as archive:
                out.extend(archive.json_chunks(jobs=jobs))
        except ExhumeError as error:
            return b"".join(out), str(error)
        return b"".join(out), ""

    case = broken("clp-s")[name]
    with case.target(tmp_path / "made") as target:
        assert printed(target, case.limits, 1) == printed(target, case.limits, 3)


QUERIES = ("*", "level: INFO", "NOT level: INFO", "message: *a*", "status >= 300")


@pytest.mark.parametrize("query", QUERIES)
def test_a_search_by_threads_prints_what_one_prints(query: str, samples: Path) -> None:
    matched = 0
    for path in sorted((samples / "clp_s").glob("*.clps")):
        with exhume.open(path, format="clp-s") as archive:
            one = b"".join(archive.search(query).chunks())
            assert b"".join(archive.search(query).chunks(jobs=3)) == one
            assert b"".join(archive.search(query).lines()) == one
            matched += len(one)
    assert matched or query != "*"


@pytest.mark.parametrize("name", sorted(broken("clp-s"))[::5])
@pytest.mark.bulk
def test_a_search_by_threads_stops_where_one_stops(name: str, tmp_path: Path) -> None:
    def found(target: Any, limits: Any, jobs: int) -> tuple[bytes, str]:
        out: list[bytes] = []
        try:
            with exhume.open(target, format="clp-s", limits=limits) as archive:
                out.extend(archive.search("*").chunks(jobs=jobs))
        except ExhumeError as error:
            return b"".join(out), str(error)
        return b"".join(out), ""

    case = broken("clp-s")[name]
    with case.target(tmp_path / "made") as target:
        assert found(target, case.limits, 1) == found(target, case.limits, 3)
