"""Changes the code that judges archives, one small change at a time, and sees whether a test notices.

    python -m tools.mutation [zs/verify zs ...]     (`make mutation MODULE=zs/verify`; default: all)

For each format one process collects the tests that are worth running and measures which of them run which lines.  It
then forks for every mutant: the child executes the changed module, puts what is new in it into the module that all
others have imported, and runs the tests of the changed lines, golden findings and others in equal shares, until one
fails.  A mutant at the level of a module or class that survives is tried again in a process that imports nothing but
the changed module.

Survivors are printed and kept in `build/mutation/`; the counts go into `docs/testing.md`.
`tools/equivalent_mutants.txt` lists changes without a visible effect, with the reason.
"""

from __future__ import annotations

import argparse
import enum
import functools
import gc
import importlib
import importlib.machinery
import json
import os
import pickle
import re
import resource
import shutil
import signal
import struct
import sys
import tempfile
import time
import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

from tools.blocks import ROOT, read_block, write_block
from tools.mutants import Mutant, find_mutants

FORMATS = {
    "ark": "ark", "caf": "caf", "clp_ir": "clp-ir", "clp_s": "clp-s", "data_bundle": "databundle", "kv_ir": "kv-ir",
    "leveldb": "leveldb", "zs": "zs",
}  # fmt: skip
MODULES = ("verify", "checks", "layout", "salvage")
"""Modules that judge archives; a module that was split has siblings, such as `verify_tables` next to `verify`."""
UNMEASURED: dict[str, str] = {
    "clp_s/salvage_rows": "was taken out of clp_s/salvage, whose row it is in",
}
"""Modules that judge archives and have no row yet, with the reason; `make mutation MODULE=...` makes one."""
KEPT = ROOT / "build" / "mutation"
EQUIVALENT = ROOT / "tools" / "equivalent_mutants.txt"

SLOWEST = 1.0
"""CPU seconds of a test above which it is not used here."""
WALL = 300.0
"""Seconds after which a child that sleeps is given up."""
GOAL = 0.95  # share of the mutants of a module that tests have to kill


class Outcome(enum.StrEnum):
    """What became of a mutant."""

    KILLED = "killed"
    SURVIVED = "survived"
    EQUIVALENT = "equivalent"


@functools.cache
def judges() -> tuple[str, ...]:
    """The modules whose code is changed."""
    paths = (
        path
        for folder in sorted(FORMATS)
        for module in MODULES
        for path in sorted((ROOT / "src" / "exhume" / "formats" / folder).glob(f"{module}*.py"))
    )
    names = (f"{path.parent.name}/{path.stem}" for path in paths if find_mutants(path.read_text(encoding="utf-8")))
    return tuple(name for name in names if name not in UNMEASURED)


def path_of(name: str) -> Path:
    """The source of a module."""
    return ROOT / "src" / "exhume" / "formats" / f"{name}.py"


def kept_of(name: str) -> Path:
    """What the last run found out about a module."""
    KEPT.mkdir(parents=True, exist_ok=True)
    return KEPT / f"{name.replace('/', '-')}.json"


def keep(name: str, verdicts: dict[str, Verdict]) -> None:
    """Keep the outcomes of a module's mutants, for `--again` and for writing tests that kill the survivors."""
    outcomes = {
        outcome: [mutant for mutant, verdict in verdicts.items() if verdict.outcome is outcome] for outcome in Outcome
    }
    kept_of(name).write_text(json.dumps(outcomes, indent=1, ensure_ascii=False), encoding="utf-8")


def equivalents() -> dict[str, dict[str, str]]:
    """Module -> name of the mutant -> why no test can see it."""
    found: dict[str, dict[str, str]] = {}
    reason = ""
    module = ""
    for line in EQUIVALENT.read_text(encoding="utf-8").splitlines():
        if line.startswith("== "):
            module = line[3:].strip()
        elif line.startswith("    "):
            found.setdefault(module, {})[line.strip()] = reason
        elif line and not line.startswith("#"):
            reason = line
    return found


# Children


PASSED, FAILED, ELSEWHERE = 0, 1, 2
"""Exit status of a child that ran the tests against a mutant; the last: the mutant needs a process of its own."""

RAISED = 70
"""Exit status of a child whose work raised an exception."""

POLL = 0.002
"""Seconds to wait before the children are examined again."""


def in_children(
    tasks: Iterable[Any], work: Callable[[Any], int], jobs: int, wall: float = WALL
) -> Iterator[tuple[Any, int]]:
    """Each task with the exit status of the forked child that worked on it (negative: the signal that ended it)."""
    waiting = list(tasks)[::-1]
    running: dict[int, tuple[Any, float]] = {}
    while waiting or running:
        while waiting and len(running) < jobs:
            task = waiting.pop()
            sys.stdout.flush()
            pid = os.fork()
            if pid == 0:
                status = RAISED
                try:
                    status = work(task)
                finally:
                    os._exit(status)
            running[pid] = task, time.monotonic()
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            time.sleep(POLL)
            for late, (_, since) in running.items():
                if time.monotonic() - since > wall:
                    os.kill(late, signal.SIGKILL)
            continue
        shutil.rmtree(f"{scratch()}/{pid}", ignore_errors=True)
        yield running.pop(pid)[0], os.waitstatus_to_exitcode(status)


@functools.cache
def scratch() -> str:
    """Where tests write; in memory where that can be had."""
    return tempfile.mkdtemp(prefix="exhume-mutation-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None)


def settle(session: Any) -> None:
    """Make a forked child harmless: its own folder, a bound for memory, no output."""
    folder = Path(scratch()) / str(os.getpid())
    folder.mkdir()
    session.config._tmp_path_factory._basetemp = folder  # noqa: SLF001 - there is no public way after collection
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (1, 2):
        os.dup2(null, descriptor)


def passes(item: Any, following: Any) -> bool:
    """Run one collected test."""
    from _pytest.runner import runtestprotocol

    return not any(report.failed for report in runtestprotocol(item, log=False, nextitem=following))


PYTEST = [
    "-q", "-s", "-x", "--tb=no", "--no-header", "--assert=plain", "-p", "no:cacheprovider", "-p", "no:xdist",
    "-p", "no:terminalreporter",
]  # fmt: skip


def prepare() -> None:
    """Few examples, the same every time; no waiting for disks; what all tests import anyway."""
    from hypothesis import HealthCheck, Phase, settings

    settings.register_profile(
        "mutation", max_examples=8, deadline=None, derandomize=True, database=None,
        phases=(Phase.explicit, Phase.generate), suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    os.environ["HYPOTHESIS_PROFILE"] = "mutation"
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    os.fsync = lambda fd: None
    for module in ("numpy", "pytest", "zstandard", "msgpack", "rich", "click", "fsspec"):
        importlib.import_module(module)


# What a mutant does to a module that is imported already


class CannotTransplantError(Exception):
    """The change is not one that can be made in an imported module."""


def transplant(old: types.ModuleType, code: types.CodeType) -> None:
    """Execute another version of a module and put what it defines into the module that others have imported."""
    new = types.ModuleType(old.__name__)
    new.__dict__.update({name: vars(old)[name] for name in ("__file__", "__package__", "__spec__", "__loader__")})
    exec(code, new.__dict__)
    for name, value in vars(new).items():
        if not name.startswith("__"):
            before = vars(old).get(name)
            if before is not value and not _merge(before, value, old.__name__):
                _rebind(name, before, value)


def _merge(old: Any, new: Any, module: str) -> bool:  # noqa: C901 - one case for each kind of object
    """Make an object behave like the new one; False when another object has to take its place."""
    if type(old) is not type(new):
        return False
    if isinstance(old, types.FunctionType):
        if old.__module__ != module:
            return True
        try:
            old.__code__ = new.__code__
        except ValueError as error:
            raise CannotTransplantError from error
        old.__defaults__, old.__kwdefaults__ = new.__defaults__, new.__kwdefaults__
        inner, fresh = getattr(old, "__wrapped__", None), getattr(new, "__wrapped__", None)
        return inner is None or _merge(inner, fresh, module)
    if isinstance(old, type):
        if old.__module__ == module:
            for name, value in list(vars(new).items()):
                before = vars(old).get(name)
                plain = name in ("__dict__", "__weakref__", "__doc__", "__module__", "__annotations__", "__slots__")
                if not plain and not _merge(before, value, module) and not isinstance(old, enum.EnumMeta):
                    setattr(old, name, value)
        return True
    if isinstance(old, property):
        return all(_merge(getattr(old, one), getattr(new, one), module) for one in ("fget", "fset", "fdel"))
    if isinstance(old, (staticmethod, classmethod)):
        return _merge(old.__func__, new.__func__, module)
    if isinstance(old, functools.cached_property):
        return _merge(old.func, new.func, module)
    if hasattr(old, "__wrapped__"):
        return _merge(old.__wrapped__, new.__wrapped__, module)
    if type(old).__module__.startswith("exhume") and not isinstance(old, enum.Enum):
        for name in {*getattr(type(old), "__slots__", ()), *getattr(old, "__dict__", ())}:
            object.__setattr__(old, name, getattr(new, name))
        return True
    return old is None or isinstance(old, (types.MemberDescriptorType, types.GetSetDescriptorType))


def _rebind(name: str, old: Any, new: Any) -> None:
    """Replace a value in every module that has imported it by this name."""
    for module in list(sys.modules.values()):
        if module is not None and getattr(module, "__name__", "").startswith(("exhume", "tests")):
            held = vars(module)
            if name in held and held[name] is old:
                held[name] = new


# One format


@dataclass
class Test:
    """A collected test, its CPU time, and the lines of each module that it runs."""

    item: Any  # of pytest
    seconds: float = 0.0
    usable: bool = False  # it passes without a mutant, in at most `SLOWEST` seconds
    lines: dict[str, set[int]] = field(default_factory=dict)

    @property
    def is_golden(self) -> bool:
        """Whether it compares all findings of one broken archive."""
        return "test_golden" in self.item.nodeid


@dataclass
class Verdict:
    """What the tests say about a mutant."""

    outcome: Outcome
    again: bool  # whether they have to be run once more, in a process that has not imported the module (`retry`)
    tests: list[str]  # the tests that were asked


class Experiment:
    """The pytest plugin that runs instead of the tests of one format."""

    def __init__(self, folder: str, names: list[str], jobs: int, again: bool, budget: float) -> None:
        self.folder, self.names, self.jobs, self.again, self.budget = folder, names, jobs, again, budget
        self.tests: list[Test] = []
        self.found: dict[str, dict[str, Verdict]] = {}  # by module and name of the mutant
        self.killers = b""  # numbers of the tests that failed last, 4 bytes each: they are tried first

    def pytest_collection_modifyitems(self, session: Any, items: list[Any]) -> None:
        """Keep the tests of the format."""
        words = (self.folder, FORMATS[self.folder])
        items[:] = [
            item for item in items
            if any(word in item.nodeid for word in words)
            and not item.get_closest_marker("conformance")
        ]  # fmt: skip

    def pytest_runtestloop(self, session: Any) -> bool:
        """Measure, then let every mutant meet the tests."""
        self.tests = [Test(item) for item in session.items]
        self._measure(session)
        gc.collect()
        gc.freeze()
        for name in self.names:
            self.found[name] = {}
            self._module(session, name)
        return True

    def _measure(self, session: Any) -> None:
        """Measure time and executed lines of each test, in a child; kept while the sources are the same."""
        KEPT.mkdir(parents=True, exist_ok=True)
        kept = KEPT / f"{self.folder}.measured"
        sources = [path_of(name).read_text(encoding="utf-8") for name in judges() if name.startswith(f"{self.folder}/")]
        known: dict[str, Any] = {}
        if kept.exists():
            then, known = pickle.loads(kept.read_bytes())
            known = known if then == sources else {}
        new = [test for test in self.tests if test.item.nodeid not in known]
        if new:
            fresh = Path(scratch()) / "measured"
            [(_, status)] = in_children([None], lambda _: self._measure_here(session, new, fresh), 1, 4 * WALL)
            if status != 0:
                raise SystemExit(f"mutation: measuring the tests of {self.folder} ended with status {status}")
            known |= pickle.loads(fresh.read_bytes())
            kept.write_bytes(pickle.dumps((sources, known)))
        for test in self.tests:
            test.seconds, test.usable, test.lines = known[test.item.nodeid]
        golden = [test for test in self.tests if test.is_golden and not test.usable]
        if broken := [test.item.nodeid for test in golden if test.seconds < 0.9 * SLOWEST]:  # timers are not exact
            kept.unlink()
            raise SystemExit(f"mutation: without any change this fails: {broken}")

    def _measure_here(self, session: Any, tests: list[Test], kept: Path) -> int:
        """Run the tests under coverage.py in this child and write time, result and lines of each to `kept`."""
        import coverage

        settle(session)
        paths = {name: str(path_of(name)) for name in judges() if name.startswith(f"{self.folder}/")}
        cover = coverage.Coverage(data_file=None, include=list(paths.values()), config_file=False)
        signal.signal(signal.SIGPROF, _give_up)
        cover.start()
        lines: dict[str, dict[str, set[int]]] = {}  # of each test, by module
        found: dict[str, tuple[float, bool, dict[str, set[int]]]] = {}  # `seconds`, `usable` and `lines` of a `Test`
        for number, test in enumerate(tests):
            cover.switch_context(test.item.nodeid)
            start = time.process_time()
            signal.setitimer(signal.ITIMER_PROF, SLOWEST)
            try:
                fine = passes(test.item, tests[number + 1].item if number + 1 < len(tests) else None)
            except TooSlowError:
                fine = False
            signal.setitimer(signal.ITIMER_PROF, 0)
            lines[test.item.nodeid] = {}
            found[test.item.nodeid] = time.process_time() - start, fine, lines[test.item.nodeid]
        cover.stop()
        for name, path in paths.items():
            for line, contexts in cover.get_data().contexts_by_lineno(path).items():
                for context in contexts:
                    if context:
                        lines[context].setdefault(name, set()).add(line)
        kept.write_bytes(pickle.dumps(found))
        return 0

    def _module(self, session: Any, name: str) -> None:
        """Run the tests against every mutant of a module, each in a child, and keep the outcomes."""
        module = importlib.import_module(f"exhume.formats.{name.replace('/', '.')}")
        source = path_of(name).read_text(encoding="utf-8")
        early = _lines_of_import(module, source)
        known = equivalents().get(name, {})
        killed = self._killed(name)
        mutants = []
        for mutant in find_mutants(source):
            if mutant.name in known:
                self.found[name][mutant.name] = Verdict(Outcome.EQUIVALENT, False, [])
            elif mutant.name in killed:
                self.found[name][mutant.name] = Verdict(Outcome.KILLED, False, [])
            else:
                mutants.append((mutant, self._tests_for(name, mutant, early)))

        killers = Path(scratch()) / f"killers-{self.folder}"
        killers.touch()

        def work(task: tuple[Mutant, list[int]]) -> int:
            """Return `FAILED` if a test fails with the mutant, `PASSED` if none does, or `ELSEWHERE`."""
            mutant, tests = task
            settle(session)
            code = compile(mutant.module(), str(path_of(name)), "exec", dont_inherit=True)
            try:
                transplant(module, code)
            except CannotTransplantError:
                return ELSEWHERE
            except Exception:  # any error on import kills the mutant
                return FAILED
            failed_last = {*struct.unpack(f"<{len(self.killers) // 4}I", self.killers)}
            ordered = sorted(tests, key=lambda number: number not in failed_last)
            for place, number in enumerate(ordered):
                test = self.tests[number]
                signal.setitimer(signal.ITIMER_PROF, 1 + 5 * test.seconds)  # SIGPROF ends a child that loops: killed
                following = self.tests[ordered[place + 1]].item if place + 1 < len(ordered) else None
                if not passes(test.item, following):
                    with killers.open("ab") as file:
                        file.write(number.to_bytes(4, "little"))
                    return FAILED
            return PASSED

        for (mutant, tests), status in in_children(mutants, work, self.jobs):
            self.killers = killers.read_bytes()[-16:]
            runs_on_import = any(line in early for line in range(mutant.first, mutant.last + 1))
            again = status == ELSEWHERE or (status == PASSED and runs_on_import)
            outcome = Outcome.SURVIVED if status in (PASSED, ELSEWHERE) else Outcome.KILLED
            self.found[name][mutant.name] = Verdict(
                outcome, again, [self.tests[number].item.nodeid for number in tests]
            )
        keep(name, self.found[name])

    def _near(self, name: str, mutant: Mutant) -> set[int]:
        """The tests that are tried first: golden ones of archives that break a rule which the lines around the mutant
        name.  For `checks.py` it is that of the page of findings, which has all that it states.
        """
        from exhume.findings import Rule
        from tests.broken import golden

        checks = importlib.import_module(f"exhume.formats.{self.folder}.checks")
        lines = path_of(name).read_text(encoding="utf-8").splitlines()[max(0, mutant.first - 6) : mutant.last + 12]
        words = set(re.findall(r"\b[A-Z][A-Z0-9_]+\b", "\n".join(lines)))
        codes = {rule.code for word in words if isinstance(rule := vars(checks).get(word), Rule)}
        format = FORMATS[self.folder]
        page = {f"test_the_page_of_findings_is_fresh[{format}]"}
        reported = page if path_of(name).name == "checks.py" else {
            f"[{format}-{case}]" for case, stated in golden(format).items()
            if codes & {finding.get("code") for finding in stated["findings"]}
        }  # fmt: skip
        return {
            number for number, test in enumerate(self.tests) if any(test.item.nodeid.endswith(end) for end in reported)
        }

    def _killed(self, name: str) -> set[str]:
        """With `--again`: what was killed before, by name."""
        kept = kept_of(name)
        return set(json.loads(kept.read_text(encoding="utf-8"))["killed"]) if self.again and kept.exists() else set()

    def _tests_for(self, name: str, mutant: Mutant, early: set[int]) -> list[int]:
        """Return the numbers of tests that run the changed lines, the most likely to fail first, within the budget."""
        lines = set(range(mutant.first, mutant.last + 1))
        at_import = bool(lines & early)
        chosen = [
            number for number, test in enumerate(self.tests)
            if test.usable and (lines & test.lines.get(name, set()) or (at_import and (test.is_golden or test.lines)))
        ]  # fmt: skip
        near = self._near(name, mutant)
        chosen.sort(key=lambda number: self.tests[number].seconds)
        alone: dict[int, float] = {}  # seconds until a test ends, if only those of its kind (golden or not) are run
        for kind in (True, False):
            of_kind = [number for number in chosen if self.tests[number].is_golden == kind]
            alone |= zip(of_kind, accumulate(self.tests[number].seconds for number in of_kind), strict=True)

        def late(number: int) -> tuple[bool, bool, float]:
            """Return the sort key of a test: likely to notice the mutant first, then both kinds in equal shares."""
            return number not in near, name not in self.tests[number].lines, alone[number]

        chosen.sort(key=late)
        spent, out = 0.0, []
        for number in chosen:
            spent += self.tests[number].seconds
            if spent > self.budget:
                break
            out.append(number)
        return out


class TooSlowError(BaseException):
    """A test takes too long to be used."""


def _give_up(signum: int, frame: Any) -> None:
    """End a test whose processor time is used up."""
    raise TooSlowError


def _lines_of_import(module: types.ModuleType, source: str) -> set[int]:
    """The lines that run while the module is imported (functions that it calls then included)."""
    path = str(module.__file__)
    lines: set[int] = set()

    def trace(frame: types.FrameType, event: str, argument: Any) -> Any:
        """Note the lines of the module that run, as `sys.settrace` calls this."""
        if frame.f_code.co_filename != path:
            return None
        lines.add(frame.f_lineno)
        return trace

    fresh = types.ModuleType(module.__name__)
    names = ("__file__", "__package__", "__spec__", "__loader__")
    fresh.__dict__.update({name: vars(module)[name] for name in names})
    code = compile(source, path, "exec", dont_inherit=True)
    sys.settrace(trace)
    try:
        exec(code, fresh.__dict__)
    finally:
        sys.settrace(None)
    return lines


def paths_for(folder: str) -> list[str]:
    """The test files that can say something about a format."""
    core = (
        "test_golden",
        "test_verify",
        "test_window_contract",
        "test_salvage_matrix",
        "test_explain",
        "test_carve",
        "test_recode",
    )
    found = [ROOT / "tests" / "core" / f"{name}.py" for name in core]
    return [str(path) for path in found if path.exists()] + [str(ROOT / "tests" / folder)]


def examine_format(folder: str, names: list[str], jobs: int, again: bool, budget: float, output: Path) -> int:
    """The work of the process of one format."""
    import pytest

    experiment = Experiment(folder, names, jobs, again, budget)
    null = os.open(os.devnull, os.O_RDWR)
    keep = os.dup(1)
    os.dup2(null, 1)
    pytest.main([*PYTEST, *paths_for(folder)], plugins=[experiment])
    os.dup2(keep, 1)
    output.write_bytes(pickle.dumps(experiment.found))
    return 0 if experiment.found else 1


def retry(name: str, mutant: str, tests: list[str]) -> int:
    """Try a mutant in a process that has not imported exhume; return `PASSED` or `FAILED`."""
    import pytest

    path, dotted = str(path_of(name)), f"exhume.formats.{name.replace('/', '.')}"
    [chosen] = [one for one in find_mutants(path_of(name).read_text(encoding="utf-8")) if one.name == mutant]
    code = compile(chosen.module(), path, "exec", dont_inherit=True)
    real = importlib.machinery.SourceFileLoader.get_code
    importlib.machinery.SourceFileLoader.get_code = (  # type: ignore[method-assign]
        lambda self, fullname: code if fullname == dotted else real(self, fullname)
    )
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (1, 2):
        os.dup2(null, descriptor)
    base = f"--basetemp={scratch()}/{os.getpid()}"
    return PASSED if pytest.main([*PYTEST, base, *tests]) == 0 else FAILED


def examine(names: list[str], jobs: int, again: bool, budget: float) -> dict[str, dict[str, Verdict]]:
    """What becomes of every mutant of these modules."""
    prepare()
    found: dict[str, dict[str, Verdict]] = {}
    for folder in sorted({name.split("/")[0] for name in names}):
        mine = [name for name in names if name.split("/")[0] == folder]
        output = Path(scratch()) / "found"
        status = run_long(functools.partial(examine_format, folder, mine, jobs, again, budget, output))
        if status != 0:
            raise SystemExit(f"mutation: the run for {folder} ended with status {status}")
        found |= pickle.loads(output.read_bytes())
    doubtful = [
        (name, mutant, verdict)
        for name, verdicts in found.items()
        for mutant, verdict in verdicts.items()
        if verdict.again
    ]

    def try_again(task: tuple[str, str, Verdict]) -> int:
        """Return the status of the tests that were asked about a doubtful mutant."""
        name, mutant, verdict = task
        return retry(name, mutant, verdict.tests)

    for (_, _, verdict), status in in_children(doubtful, try_again, jobs):
        verdict.outcome = Outcome.SURVIVED if status == PASSED else Outcome.KILLED
    return found


def run_long(work: Callable[[], int]) -> int:
    """Run something in a child that may take as long as it likes."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        status = RAISED
        try:
            status = work()
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


# Reports


HEAD = ["| module | mutants | killed | equivalent | survived | killed of those not equivalent |",
        "| --- | ---: | ---: | ---: | ---: | ---: |"]  # fmt: skip


def row(name: str, verdicts: dict[str, Verdict]) -> str:
    """The row of a module in the table."""
    counts = {outcome: sum(v.outcome is outcome for v in verdicts.values()) for outcome in Outcome}
    share = counts[Outcome.KILLED] / max(1, len(verdicts) - counts[Outcome.EQUIVALENT])
    numbers = (len(verdicts), counts[Outcome.KILLED], counts[Outcome.EQUIVALENT], counts[Outcome.SURVIVED])
    return f"| `{name}.py` | " + " | ".join(map(str, numbers)) + f" | {share:.1%} |"


def tell(found: dict[str, dict[str, Verdict]], *, table: bool) -> None:
    """Print survivors, keep them, and rewrite the rows of these modules."""
    rows = {line.split("`")[1][:-3]: line for line in read_block("testing.md", "mutation").splitlines() if "`" in line}
    for name, verdicts in found.items():
        left = [mutant for mutant, verdict in verdicts.items() if verdict.outcome is Outcome.SURVIVED]
        untested = {mutant for mutant in left if not verdicts[mutant].tests}
        text = "".join(f"{mutant}{'   (no test runs it)' if mutant in untested else ''}\n" for mutant in left)
        keep(name, verdicts)
        rows[name] = row(name, verdicts)
        print(f"{rows[name]}\n{text}", end="", flush=True)
    if table:
        write_block("testing.md", "mutation", "\n".join([*HEAD, *(rows[name] for name in judges() if name in rows)]))


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return 1 when too many mutants survive."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("modules", nargs="*", metavar="MODULE", help="zs/verify, or zs for all of a format")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--again", action="store_true", help="only what survived the last run (what was killed counts)")
    parser.add_argument(
        "--budget", type=float, default=4.0, help="CPU seconds of tests against one mutant (default: 4)"
    )
    parser.add_argument("--no-table", action="store_true", help="leave docs/testing.md alone")
    options = parser.parse_args(argv)
    requested = [one.removesuffix(".py") for one in options.modules]
    chosen = [name for name in judges() if not requested or name in requested or name.split("/")[0] in requested]
    unknown = [one for one in requested if one not in judges() and one not in FORMATS]
    if unknown:
        parser.error(f"no such module: {unknown[0]} (one of {', '.join(judges())})")
    try:
        found = examine(chosen, options.jobs, options.again, options.budget)
    finally:
        shutil.rmtree(scratch(), ignore_errors=True)
    tell(found, table=not options.no_table)
    return int(any(_share(verdicts) < GOAL for verdicts in found.values()))


def _share(verdicts: dict[str, Verdict]) -> float:
    """Return the share of mutants that were killed, without the equivalent ones."""
    counted = [v for v in verdicts.values() if v.outcome is not Outcome.EQUIVALENT]
    return sum(v.outcome is Outcome.KILLED for v in counted) / max(1, len(counted))


if __name__ == "__main__":
    sys.exit(main())
