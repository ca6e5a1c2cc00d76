"""Opens specifications with samples in Python and in JavaScript, as trees that can be compared."""

from __future__ import annotations

import atexit
import base64
import enum
import functools
import importlib
import inspect
import json
import math
import re
import subprocess
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from exhume_ksy.facts._fixed import Facts
from kaitaistruct import KaitaiStream, KaitaiStruct

from tools import ksy_lint, nodejs

ROOT = nodejs.ROOT
PURE = Path(__file__).with_name("webide_twin.mjs")
Case = tuple[str, Path]


def spec_ids() -> list[str]:
    """Return the id of every specification."""
    return sorted(file.stem for file in (ROOT / "ksy").glob("*.ksy"))


def facts_of(id: str) -> dict[str, Any]:
    """The facts of a specification by the names of their classes, with its enums, which are made when imported."""
    module = importlib.import_module(f"exhume_ksy.facts.{id}")
    enums = re.findall(r"^    class (\w+)\(IntEnum\)", inspect.getsource(module), re.MULTILINE)
    found = {name: one for name, one in vars(module).items() if isinstance(one, Facts)}
    return found | {name: getattr(module, name) for name in enums}


def cases() -> list[Case]:
    """Return every (specification, sample)."""
    return [(name, sample) for name in spec_ids() for sample in ksy_lint.samples(ROOT, name)]


def case_id(case: Case) -> str:
    """Names a case in a test's id."""
    return case[1].stem


def node_or_skip() -> tuple[str, ...]:
    """Return the command that runs Node.js with the pinned packages in place, or skip the test."""
    try:
        return nodejs.ensure_packages(install=False)
    except nodejs.NodeError as error:
        pytest.skip(f"{error} (`make test` installs it)")


def class_name(name: str) -> str:
    """Return the name of the class generated for a specification."""
    return "".join(word[:1].upper() + word[1:] for word in name.split("_"))


def camel(name: str) -> str:
    """Return a field's name as the compiler writes it in JavaScript."""
    first, *rest = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


@functools.cache
def _pure_process() -> subprocess.Popen[str]:
    """A Node.js process that compiles each specification once; the tests that use it are the group `twin`."""
    process = subprocess.Popen(
        [*node_or_skip(), str(PURE)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
    )
    atexit.register(process.communicate)  # closes its input, which ends it
    return process


def run_pure(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Open each {"spec", "sample", "args"} in the parser of the Web IDE, in Node.js."""
    process = _pure_process()
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(items) + "\n")
    process.stdin.flush()
    results: list[dict[str, Any]] = json.loads(process.stdout.readline())
    return results


def pure_item(name: str, sample: Path) -> dict[str, Any]:
    """Return the JavaScript parser's input for a case."""
    args = ksy_lint.arguments(sample, name) or []
    return {"spec": str(ROOT / "ksy" / f"{name}.ksy"), "sample": str(sample), "args": args}


@functools.cache
def pure_results() -> dict[str, dict[str, Any]]:
    """Return the JavaScript result for every sample, by the sample's stem."""
    todo = cases()
    return {
        case_id(case): result for case, result in zip(todo, run_pure([pure_item(*case) for case in todo]), strict=True)
    }


def python_tree(name: str, data: bytes, args: list[Any]) -> Any:
    """Parses `data` with the generated Python class and returns the tree in the JavaScript form."""
    parser = getattr(importlib.import_module(f"exhume_ksy.{name}"), class_name(name))
    return _visit(parser(*args, KaitaiStream(BytesIO(data))), "", {})


def _visit(value: Any, where: str, seen: dict[int, str]) -> Any:
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (bytes, bytearray)):
        return {"$bytes": base64.b64encode(value).decode()}
    if isinstance(value, list):
        return [_visit(item, f"{where}/{index}", seen) for index, item in enumerate(value)]
    assert isinstance(value, KaitaiStruct), type(value)
    if id(value) in seen:
        return {"$ref": seen[id(value)]}
    seen[id(value)] = where
    names = {name for name in vars(value) if not name.startswith("_")}
    names |= {name for name, item in vars(type(value)).items() if isinstance(item, property)}
    tree: dict[str, Any] = {"$type": type(value).__name__}
    for name in sorted(names, key=camel):
        inner = _visit(getattr(value, name), f"{where}/{camel(name)}", seen)
        if inner is not None:
            tree[camel(name)] = inner
    return tree


def differences(python: Any, javascript: Any, where: str = "") -> list[str]:
    """Return where the trees differ, beyond what JavaScript cannot do.

    Its numbers are doubles, so integers above 2^53 are compared as such; its runtime reads an `s8` below -2^31 whose
    low half is under 2^31 too high by 2^32; and browsers decode ISO-8859-1 as windows-1252.
    """
    if isinstance(python, dict) and isinstance(javascript, dict):
        found = [f"{where}/{key}: only in one" for key in sorted(set(python) ^ set(javascript))]
        for key in sorted(set(python) & set(javascript)):
            found += differences(python[key], javascript[key], f"{where}/{key}")
        return found
    if isinstance(python, list) and isinstance(javascript, list) and len(python) == len(javascript):
        return [
            line
            for i, pair in enumerate(zip(python, javascript, strict=True))
            for line in differences(*pair, f"{where}/{i}")
        ]
    if isinstance(python, int) and not isinstance(python, bool) and (abs(python) > 2**53 or python < -(2**31)):
        alike = [float(python)] if python >= 0 else [float(python), float(python + 2**32)]
        same = isinstance(javascript, (int, float)) and float(javascript) in alike
    elif isinstance(python, float) and isinstance(javascript, (int, float)) and not isinstance(javascript, bool):
        same = python == float(javascript)  # it has no other numbers, and writes 1.0 as 1 and 1e20 with its zeros
    elif isinstance(python, str) and isinstance(javascript, str):
        same = javascript in (python, _as_windows_1252(python))
    else:
        same = type(python) is type(javascript) and python == javascript
    return [] if same else [f"{where}: {python!r} in Python, {javascript!r} in JavaScript"]


def _as_windows_1252(text: str) -> str:
    """Decode Latin-1 text again as browsers do; the five unassigned bytes stay what they are."""
    try:
        data = text.encode("latin-1")
    except UnicodeEncodeError:
        return text
    return "".join(bytes([byte]).decode("cp1252", "ignore") or chr(byte) for byte in data)
