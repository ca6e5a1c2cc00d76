"""Kaitai's own test suite: its specs for Python on the classes that `compile_ksy` makes, and its wrong specifications.

    KAITAI_TESTS=/path/to/kaitai_struct_tests python -m tests.toolchain.kaitai_suite [--native] [NAME...]

writes the score into docs/spec-driven.md; with names, or on compiled readers (`--native`, which builds a module for
each group of specifications), it prints results as they come.  The specs are unchanged.  The package `testformats`,
from which they import, is made here, and so is what they expect where classes differ on purpose:

- an absent field is None, where Kaitai's objects have no such attribute (`hasattr`);
- repeated numbers are an array, which no list equals;
- errors have one class and words of their own;
- classes with positions (`ks-debug`) are the readers that `explain` uses.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import io
import os
import re
import sys
import tempfile
import traceback
import types
import unittest
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from exhume.compiler.front.kinds import Bits
from exhume.errors import SpecificationError
from exhume.layout.fast import LayoutError
from exhume.layout.foreign import Specification, compile_ksy
from exhume.layout.ksy_files import parse_yaml
from exhume.layout.tracing import type_of
from tests.toolchain.collection import PUBLIC
from tools.blocks import write_block

TESTS = os.environ.get("KAITAI_TESTS")
"""The checkout of the suite, None without one."""

TOGETHER = 25
"""Specifications that share one extension module, built in 0.3 of the time of one for each."""

PAGE, TARGET = "spec-driven.md", "kaitai-suite"


@dataclass
class Result:
    """What came of one spec: `passed`, `refused` when it was compiled, or `failed`."""

    name: str
    verdict: str
    why: str = ""


class Suite(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """A checkout, as the package `testformats`."""

    def __init__(self, folder: Path, *, native: bool = False) -> None:
        self.folder = folder
        self.native = native
        self.formats = folder / "formats"
        self.together: dict[str, Specification] = {}
        self.names = sorted(one.stem.removeprefix("test_") for one in (folder / "spec/python/spec").glob("test_*.py"))

    # Modules.

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        package, _, _ = fullname.partition(".")
        if package != "testformats":
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package="." not in fullname)

    def exec_module(self, module: types.ModuleType) -> None:
        _, _, name = module.__name__.partition(".")
        if name:
            specification = self.compiled(name)
            vars(module).update(vars(specification.module))
            root = specification.model.schemas[specification.id]
            debug = root.raw["meta"].get("ks-debug") or name in DEBUGGED
            vars(module)[root.class_name] = _adapted(specification, vars(module)[root.class_name], debug)

    def compiled(self, name: str) -> Specification:
        """One specification of the suite; raises `SpecificationError`."""
        if name in self.together:
            return self.together[name]
        file = self.formats / f"{name}.ksy"
        spec = parse_yaml(file)
        types: dict[str, Any] = {}
        if isinstance(spec, dict) and spec["meta"].get("ks-opaque-types"):
            types = {one: self.compiled(one) for one in _words(spec) if one != name and self._is_there(one)}
        made = compile_ksy(file, imports=self._folders, types=types, process=self.routines(), native=self.native)
        if self.native and made.native is None:
            raise AssertionError("readers that are not compiled")
        return made

    @property
    def _folders(self) -> list[Path]:
        return [self.formats / "ks_path", self.formats, *([] if PUBLIC is None else [Path(PUBLIC)])]

    def build(self, names: Sequence[str]) -> None:
        """Build one extension module for those specifications that can be imported by another."""
        found = []
        for name in names:
            try:
                plain = compile_ksy(self.formats / f"{name}.ksy", imports=self._folders, process=self.routines())
            except SpecificationError:
                continue
            if plain.id == name:
                found.append(name)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "together.ksy"
            file.write_text(f"meta: {{id: together, imports: [{', '.join(f'/{one}' for one in found)}]}}\n")
            all_of_them = compile_ksy(file, imports=self._folders, process=self.routines(), native=True)
        self.together = {one: replace(all_of_them, id=one) for one in found if all_of_them.native is not None}

    def _is_there(self, name: str) -> bool:
        return (self.formats / f"{name}.ksy").exists()

    def routines(self) -> dict[str, Any]:
        """The `process` routines that the suite has for Python, by their names."""
        folder, found = self.folder / "spec/python/extra", {}
        for file in sorted(folder.rglob("*.py")):
            names: dict[str, Any] = {}
            exec(compile(file.read_text(encoding="utf-8"), file.name, "exec"), names)
            path = ".".join(file.relative_to(folder).with_suffix("").parts)
            for one in names.values():
                if isinstance(one, type):
                    found[".".join([*path.split(".")[:-1], _lower(one.__name__)])] = one
                    found[f"{path}.{_lower(one.__name__)}"] = one
        return found

    # Specs.

    def run(self, name: str) -> Result:
        """Run one spec in this process, whose working directory is that of the suite."""
        file = self.folder / f"spec/python/spec/test_{name}.py"
        found = importlib.util.spec_from_file_location(f"kaitai_suite_{name}", file)
        assert found is not None
        assert found.loader is not None
        module = importlib.util.module_from_spec(found)
        module.hasattr = lambda of, name: getattr(of, name, None) is not None  # type: ignore[attr-defined]
        try:
            found.loader.exec_module(module)
        except SpecificationError as error:
            return Result(name, "refused", str(error))
        except Exception as error:
            return Result(name, "failed", f"{error!r:.300}{traceback.format_exc()[-900:]}")
        for one in vars(module).values():
            if isinstance(one, type) and issubclass(one, unittest.TestCase):
                one.assertEqual = _assert_equal  # type: ignore[assignment,method-assign]
        tests = unittest.defaultTestLoader.loadTestsFromModule(module)
        result = unittest.TextTestRunner(stream=io.StringIO()).run(tests)
        problems = [text for _, text in (*result.failures, *result.errors)]
        return Result(name, "failed" if problems or not result.testsRun else "passed", "\n".join(problems))

    def specs(self, requested: Sequence[str] = (), seen: Callable[[Result], None] | None = None) -> list[Result]:
        """What came of each spec, or of those that are requested; `seen` is called with each when it is there."""
        sys.meta_path.insert(0, self)
        before, kaitai = Path.cwd(), sys.modules.get("kaitaistruct")
        sys.modules["kaitaistruct"] = _runtime()
        os.chdir(self.folder)
        try:
            found = []
            for number, name in enumerate(requested or self.names):
                if self.native and number % TOGETHER == 0:
                    self.build((requested or self.names)[number : number + TOGETHER])
                found.append(self.run(name))
                if seen is not None:
                    seen(found[-1])
            return found
        finally:
            os.chdir(before)
            sys.meta_path.remove(self)
            if kaitai is not None:
                sys.modules["kaitaistruct"] = kaitai

    # Wrong specifications.

    def wrong(self) -> Iterator[Result]:
        """What came of each specification that Kaitai's compiler has something to say about."""
        folder = self.folder / "formats_err"
        for file in sorted(folder.glob("*.ksy")):
            try:
                compile_ksy(file, imports=[folder, self.formats])
            except SpecificationError as error:
                yield Result(file.stem, "refused", str(error))
            except Exception as error:
                yield Result(file.stem, "failed", f"{error!r:.300}{traceback.format_exc()[-900:]}")
            else:
                yield Result(file.stem, "passed", stated(file))


DEBUGGED = frozenset(
    ("eof_exception_bits_be", "eof_exception_bits_be2", "eof_exception_bits_le", "eof_exception_bits_le2")
)


def _assert_equal(case: unittest.TestCase, one: Any, other: Any, stated: Any = None) -> None:
    if isinstance(other, list) and isinstance(one, (bytes, memoryview)):
        one = list(one)
    unittest.TestCase.assertEqual(case, one, other, stated)  # noqa: PT009 - which the specs call


def _adapted(specification: Specification, root: Any, debug: bool) -> Any:
    """The class of a specification with errors in the words of Kaitai, and with positions if it is to be debugged."""

    def from_file(cls: Any, path: str) -> Any:
        data = Path(path).read_bytes()
        if debug:
            return Debugged(specification, data)
        try:
            return root.from_bytes(data)
        except EOFError as error:
            raise EOFError(_in_words_of_kaitai(error)) from error

    return type(root.__name__, (root,), {"from_file": classmethod(from_file), "__slots__": ()})


def _in_words_of_kaitai(error: Any) -> str:
    wanted, found = (int(re.sub(r"\D", "", str(one))) for one in (error.expected, error.found))
    return f"requested {wanted} bytes, but only {found} bytes available"


class Debugged:
    """The root of a specification, read on request by the readers that note positions."""

    def __init__(self, specification: Specification, data: bytes) -> None:
        self._specification, self._data = specification, data
        self._value: Any = None

    def _read(self) -> None:
        try:
            self._value, _ = self._specification.traced(self._data)
        except LayoutError as error:
            self._value = getattr(error, "partial", None)
            if error.short:
                raise EOFError(_in_words_of_kaitai(error)) from error
            raise

    @property
    def _debug(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        last = 0
        for id, (_, start, end, elements, *_) in self._value.PLACES.items():
            if isinstance(type_of(self._value).field(id).value_kind, Bits):  # for Kaitai a byte that was begun is read
                start = max(start, last)
            last = start if end is None else end
            found[id] = {"start": start} | ({} if end is None else {"end": end})
            value = getattr(self._value, id, None)
            if isinstance(value, (bytes, memoryview)) and type_of(self._value).field(id).repeat:
                size = (end - start) // len(value)  # numbers are read at once
                elements = [(start + size * n, start + size * (n + 1)) for n in range(len(value))]
            if elements:
                found[id]["arr"] = [{"start": one, "end": other} for one, other in elements]
        return found

    @property
    def _io(self) -> Any:
        open_ = [one["start"] for one in self._debug.values() if "end" not in one]
        return types.SimpleNamespace(pos=lambda: open_[0])

    def __getattr__(self, name: str) -> Any:
        begun = self._value.PARTIALS.get(name)
        return getattr(self._value, name) if begun is None else begun

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: object) -> None:
        pass


def _words(part: Any) -> Iterator[str]:
    """Every name of a type in a specification, without arguments."""
    if isinstance(part, dict):
        for key, one in part.items():
            if key == "type" and isinstance(one, str):
                yield one.partition("(")[0].strip()
            yield from _words(one)
    elif isinstance(part, list):
        for one in part:
            yield from _words(one)


def _lower(name: str) -> str:
    return re.sub("(?<!^)([A-Z])", r"_\1", name).lower()


def stated(file: Path) -> str:
    """What Kaitai's compiler says of a wrong specification: the comment at its top."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return " ".join(one.lstrip("# \t") for one in lines if one.startswith("#")).strip()


def only_warned(suite: Suite, name: str) -> bool:
    """Whether Kaitai's compiler accepts a specification all the same, or imports it only from a wrong one."""
    text = stated(suite.folder / "formats_err" / f"{name}.ksy")
    return "error:" not in text


def _runtime() -> types.ModuleType:
    """What specs import from `kaitaistruct`: the names of its errors, and a stream."""
    module = types.ModuleType("kaitaistruct")
    for name in ("NotEqual", "GreaterThan", "LessThan", "NotAnyOf", "NotInEnum", "Expr"):
        setattr(module, f"Validation{name}Error", LayoutError)
    module.UndecidedEndiannessError = LayoutError  # type: ignore[attr-defined]
    module.KaitaiStream = lambda file: file  # type: ignore[attr-defined]
    return module


def figures(suite: Suite, results: list[Result], wrong: list[Result]) -> str:
    """The page's block."""
    passed = [one for one in results if one.verdict == "passed"]
    refused = [one for one in results if one.verdict == "refused"]
    failed = [one for one in results if one.verdict == "failed"]
    warned = [one for one in wrong if one.verdict != "refused" and only_warned(suite, one.name)]
    accepted = [one for one in wrong if one.verdict == "passed" and one not in warned]
    lines = [
        f"{len(passed)} of {len(results)} specs for Python pass, {len(refused)} are rejected when compiled,",
        f"and {len(failed)} fail. {len(wrong) - len(warned) - len(accepted)} of {len(wrong)} wrong specifications",
        f"are rejected, {len(warned)} are accepted since Kaitai's compiler accepts them as well, and {len(accepted)}",
        "are accepted that are wrong.",
    ]
    notes = [(one.name, re.sub(r"^/[^:]*: |, field .*| \[EX-404\]$", "", one.why)) for one in refused]
    notes += [(one.name, "fails") for one in failed] + [(one.name, "is accepted") for one in accepted]
    return "\n".join([*lines, "", *(f"- `{name}`: {why}" for name, why in notes)])


def main(requested: list[str]) -> None:
    """Run the suite, or the specs that are requested."""
    if TESTS is None:
        sys.exit("KAITAI_TESTS=/path/to/kaitai_struct_tests is missing")
    names = [one for one in requested if one != "--native"]
    suite = Suite(Path(TESTS), native="--native" in requested)
    if not requested:
        write_block(PAGE, TARGET, figures(suite, suite.specs(), list(suite.wrong())))
        return

    def say(one: Result) -> None:
        if names or one.verdict != "passed":
            sys.stdout.write(f"{one.name}: {one.verdict}\n{one.why}\n")
            sys.stdout.flush()

    verdicts = Counter(one.verdict for one in suite.specs(names, say))
    sys.stdout.write(", ".join(f"{many} {verdict}" for verdict, many in sorted(verdicts.items())) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
