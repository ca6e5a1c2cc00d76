"""Fixtures that all tests share."""

from __future__ import annotations

import faulthandler
import gc
import itertools
import math
import os
import re
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key
from _pytest.tmpdir import tmppath_result_key
from hypothesis import HealthCheck, settings

from tests.real import REAL, ROOT, RealSamples
from tests.served import on_path
from tests.sizes import PROFILE

settings.register_profile(
    "ci", max_examples=40, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "thorough", max_examples=2000, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(PROFILE)


BULK = 10
"""Every tenth set of parameters of a test marked `bulk` is not slow."""


@pytest.hookimpl(wrapper=True)  # before -m chooses, and after pytest-xdist has named the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Mark most parameters of bulk tests as slow, the same ones in every run, and keep groups of tests together."""
    seen: Counter[str] = Counter()
    for item in items:
        if item.get_closest_marker("bulk"):
            function = item.nodeid.partition("[")[0]
            if seen[function] % BULK:
                item.add_marker("slow")
            seen[function] += 1
        if "served_path" in getattr(item, "fixturenames", ()):  # one server is enough
            item.add_marker(pytest.mark.xdist_group("served"))
    yield
    for item in items:
        node: Any = item
        named = vars(node).get("_nodeid")  # set by pytest-xdist 3.8; pytest reads it in versions before 9.2 only
        if named is not None and named != node.nodeid:
            node._id = type(node.id).parse(named)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[Any]:
    """Keep the collector of garbage from going through thousands of tests again and again, now and later.

    Afterwards it begins as seldom as in the command line.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.set_threshold(20_000)
        gc.enable()


def pytest_sessionstart(session: pytest.Session) -> None:
    """Let a worker of pytest-xdist send of a passed test what `-q` shows: the other half of its messages take time."""
    for plugin in session.config.pluginmanager.get_plugins() if session.config.option.verbose < 0 else ():
        if hasattr(plugin, "sendevent"):
            plugin.sendevent = _shown_only(plugin.sendevent)


def _shown_only(send: Callable[..., None]) -> Callable[..., None]:
    """Send no event about the start of a test, and none about its preparation and its end if they passed."""

    def sent(name: str, **event: Any) -> None:
        report = event["data"] if name == "testreport" else {}
        passed = report.get("outcome") == "passed" and report["when"] != "call"
        if name != "logstart" and not passed:
            send(name, **event)

    return sent


HANGING_S = 300
"""Seconds of a test after which the stacks of all threads are shown."""
_watched_since = -math.inf


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Watch for tests that hang; where pytest does (`faulthandler_timeout`), each test starts and ends a thread."""
    global _watched_since  # noqa: PLW0603 - of this process
    if (now := time.monotonic()) - _watched_since > HANGING_S / 10:
        _watched_since = now
        faulthandler.dump_traceback_later(HANGING_S, file=item.config.stash[fault_handler_stderr_fd_key])


def pytest_sessionfinish() -> None:
    """Watch no longer: what the stacks are written to is closed next."""
    faulthandler.cancel_dump_traceback_later()


SPREAD = ("tests/core/test_explain.py", "tests/core/test_golden.py", "tests/toolchain/test_strategies.py")
"""Modules of many tests that share nothing: with any process, one by one, when all other modules are taken."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Run the tests of a module in one process: each would prepare what they share, and pytest-xdist would take a
    millisecond to choose each test.
    """
    from xdist.scheduler import LoadGroupScheduling  # type: ignore[import-untyped]

    class ByModule(LoadGroupScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            scope: str = super()._split_scope(nodeid)
            module = nodeid.partition("::")[0]
            return module if scope == nodeid and module not in SPREAD else scope

    return ByModule(config, log) if config.getvalue("dist") == "loadgroup" else None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Half as many workers again as processors: tests often wait, for disks, shells and other processes."""
    return (3 * len(os.sched_getaffinity(0)) + 1) // 2 if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_number_of = itertools.count()


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A new folder, kept if the test fails.

    Like pytest's, which goes through the names of all folders so far for each, and leaves a link for each test.
    """
    name = re.sub(r"\W", "_", request.node.name)[:30]
    path = tmp_path_factory.mktemp(f"{name}{next(_number_of)}", numbered=False)
    yield path
    if request.node.stash[tmppath_result_key].get("call", True):
        shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="session")
def samples() -> Path:
    """The project's own samples, made by its own writers (`tools/make_samples.py`)."""
    return ROOT / "tests" / "samples"


@pytest.fixture(scope="session")
def real_samples() -> RealSamples:
    """Archives that other programs made: those of the repository, then those next to it."""
    return REAL


@pytest.fixture(scope="session")
def mypy_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What mypy keeps from one test of the group `mypy` for the next: most of its time goes to what is imported."""
    return tmp_path_factory.mktemp("mypy")


@pytest.fixture(scope="session")
def served_path() -> Iterator[str]:
    """The value of PATH with an `exhume` that starts soon, see `tests/served.py`."""
    with on_path() as path:
        yield path


@pytest.fixture(scope="module")
def few_ends() -> Iterator[None]:
    """Give up a LevelDB table of zeros after 50,000 ends of blocks instead of a million, which take two seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("exhume.formats.leveldb.forensics._MOST_ENDS", 50_000)
        yield


class Ran:
    """What one run of the command line did."""

    def __init__(self, code: int, out: bytes, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def text(self) -> str:
        """Standard output as text."""
        return self.out.decode("utf-8")


@pytest.fixture
def exhume_cli(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Run the command line in this process: `exhume_cli("verify", path, input=b"…")` returns code, out, err."""

    def run(*args: object, input: bytes | None = None) -> Ran:
        import io
        import sys

        from exhume.cli.main import invoke

        out, err, inp = io.BytesIO(), io.BytesIO(), io.BytesIO(input or b"")
        streams = {
            "stdout": io.TextIOWrapper(out, "utf-8", write_through=True),
            "stderr": io.TextIOWrapper(err, "utf-8", write_through=True, errors="backslashreplace"),
            "stdin": io.TextIOWrapper(inp, "utf-8"),
        }
        with monkeypatch.context() as patch:
            for name, stream in streams.items():
                patch.setattr(sys, name, stream)
            code = int(invoke([os.fspath(a) if isinstance(a, os.PathLike) else str(a) for a in args]))
            streams["stdout"].flush()
            streams["stderr"].flush()
        result = Ran(code, out.getvalue(), err.getvalue().decode("utf-8", "backslashreplace"))
        for stream in streams.values():
            stream.detach()
        return result

    return run


__all__ = ["ROOT", "Ran"]
