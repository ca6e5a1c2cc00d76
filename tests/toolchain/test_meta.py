"""What holds for the project as a whole: formats are complete, rules are tested and documented, imports run one way."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from exhume import registry
from tests.sizes import some
from tests.toolchain import copies
from tools import nodejs
from tools.layers import names

ROOT = nodejs.ROOT
SRC = ROOT / "src" / "exhume"
FORMATS = list(registry.formats().values())
FORMAT = pytest.mark.parametrize("described", FORMATS, ids=lambda described: described.id)
MODULES = ("layout", "reader", "checks", "verify", "salvage", "locate", "probe", "cli")
HOMES = {
    "probe": "probe",
    "create": "writer",
    "rules": "checks",
    "salvage": "salvage",
    "locate": "locate",
    "recode": "recode",
    "parts": "parts",
    "cli": "cli",
}
"""The module in which each hook of a format is found."""
# A format that is part of another one, as a bare index is of a bundle, or that another one is made of.
MAY_IMPORT = {
    "data_bundle": {"leveldb"},
    "clp_s": {"clp_ir", "kv_ir"},
    "kv_ir": {"clp_s"},
    "clp_ir": {"clp_s", "kv_ir"},
}
HEAVY = ("click", "rich", "fsspec", "numpy", "pyarrow", "dask", "zstandard", "kaitaistruct", "sqlalchemy")


def folder_of(described: registry.Format) -> str:
    """Return the folder name of a format."""
    return described.package.rpartition(".")[2]


def modules() -> list[Path]:
    """Return every module of the package."""
    return sorted(SRC.rglob("*.py"))


def within(name: str, package: str) -> bool:
    """Whether a module is a package or is inside it."""
    return name == package or name.startswith(f"{package}.")


def text_of_tests(folder: str) -> str:
    """Return the code of a format's tests and the expectations next to its samples, as one string."""
    files = [*(ROOT / "tests" / folder).rglob("*.py"), *(ROOT / "tests/samples" / folder).rglob("*.json")]
    return "\n".join(file.read_text(encoding="utf-8") for file in sorted(files))


# ----------------------------------------------------------------------------------------------- formats and rules


@FORMAT
def test_format_is_complete(described: registry.Format) -> None:
    folder = folder_of(described)
    wanted = [SRC / "formats" / folder / f"{module}.py" for module in MODULES]
    wanted += [ROOT / "docs/formats" / f"{folder}.md", ROOT / "docs/findings" / f"{folder}.md"]
    wanted += [ROOT / "tests" / folder / "test_contract.py", ROOT / "tests" / folder / "make_samples.py"]
    assert [str(path.relative_to(ROOT)) for path in wanted if not path.exists()] == []
    assert any(path.is_file() for path in (ROOT / "tests/samples" / folder).rglob("*")), "no sample"


@FORMAT
def test_hooks_resolve(described: registry.Format) -> None:
    hooks = ("open", "probe", "create", "rules", "salvage", "locate", "cli")
    for hook in some(hook for hook in hooks if described.has(hook)):
        assert described.hook(hook) is not None


@FORMAT
def test_the_same_thing_has_the_same_file_name_in_every_format(described: registry.Format) -> None:
    found = {hook: getattr(described, hook).partition(":")[0] for hook in HOMES if described.has(hook)}
    own = {hook: module for hook, module in found.items() if not module.startswith("exhume.")}  # others share theirs
    assert own == {hook: HOMES[hook] for hook in own}
    assert own.keys() >= {"probe", "rules", "salvage", "locate", "cli"}


@FORMAT
def test_format_is_in_the_demo_and_the_readme(described: registry.Format) -> None:
    demos = "\n".join(file.read_text(encoding="utf-8") for file in sorted((ROOT / "examples/demo").glob("*.sh")))
    if described.create:
        assert re.search(rf"exhume create {re.escape(described.id)}\b", demos)
    assert described.id in (ROOT / "README.md").read_text(encoding="utf-8")


@FORMAT
def test_rule_codes_share_one_prefix_and_number_their_kind(described: registry.Format) -> None:
    rules = registry.rules_of(described)
    assert len(rules) > 0
    for rule in rules:
        assert re.fullmatch(rf"{rules.prefix}-[1-5]\d\d", rule.code), rule.code


def test_prefixes_are_unique() -> None:
    prefixes = [registry.rules_of(described).prefix for described in FORMATS]
    assert len(set(prefixes)) == len(prefixes)
    assert "EX" not in prefixes


@FORMAT
def test_every_rule_is_cited_documented_and_tested(described: registry.Format) -> None:
    folder = folder_of(described)
    page = (ROOT / "docs/findings" / f"{folder}.md").read_text(encoding="utf-8")
    named = {*re.findall(r"\b[A-Z]+-\d{3}\b", text_of_tests(folder))}
    for rule in some(registry.rules_of(described)):
        assert rule.spec.strip(), f"{rule.code}: no specification line"
        assert f"### {rule.code}\n" in page, f"{rule.code}: no docs entry: run `make docs`"
        assert rule.code in named, f"{rule.code}: no test or sample names it"


def test_every_specification_belongs_to_a_format_or_is_shared() -> None:
    prefixes = (*(folder_of(described) for described in FORMATS), "clp_kv_ir")
    shared = {"uleb128", "utf8_text", "zstd_frame"}
    strays = [file.stem for file in (ROOT / "ksy").glob("*.ksy") if not file.stem.startswith(prefixes)]
    assert set(strays) <= shared


# ------------------------------------------------------------------------------------------------ direction of imports


@pytest.mark.parametrize("described", FORMATS, ids=lambda described: described.id)
@pytest.mark.slow
def test_no_format_imports_another(described: registry.Format) -> None:
    folder = folder_of(described)
    others = {folder_of(other) for other in FORMATS} - {folder} - MAY_IMPORT.get(folder, set())
    for file in some(sorted((SRC / "formats" / folder).rglob("*.py"))):
        wrong = {name for name in names(file) for other in others if within(name, f"exhume.formats.{other}")}
        assert wrong == set(), file.name


KERNEL = {"native/__init__.py", "native/pykernel.py", "native/types.py"}
"""The pure-Python form of modules that include generated code, and the check that it is the same code."""


@pytest.mark.slow
def test_only_layouts_import_the_generated_parsers() -> None:
    wrong = [
        f"{file.relative_to(SRC)}: {name}"
        for file in modules()
        for name in names(file)
        if within(name, "exhume_ksy")
        if not file.name.startswith("layout") and file.parent != SRC / "layout"
        if str(file.relative_to(SRC)) not in KERNEL
        # A signature is a magic, and a probe looks for little more.
        if not (file.name in ("__init__.py", "probe.py") and within(name, "exhume_ksy.facts"))
    ]
    assert wrong == []


# ------------------------------------------------------------------------------------------ a layout is written once


@pytest.mark.xdist_group("copies")
@pytest.mark.parametrize("folder", copies.folders(), ids=lambda folder: folder or "exhume")
@pytest.mark.slow
def test_no_code_knows_a_layout_by_itself(folder: str) -> None:
    """Places, formats, magics and enums come from the specifications: `exhume_ksy.facts`, or a generated reader."""
    wrong = [str(one) for one in copies.found()[folder] if copies.excepted(one) is None]
    assert wrong == []


@pytest.mark.slow
def test_every_exception_is_needed() -> None:
    used = {copies.excepted(one) for several in copies.found().values() for one in several}
    assert set(copies.EXCEPTIONS) - used == set()


@pytest.mark.parametrize("file", sorted((SRC / "engines").rglob("*.py")), ids=lambda file: file.name)
def test_no_engine_names_a_format(file: Path) -> None:
    assert not [name for name in names(file) if name.startswith("exhume.formats.")]
    tree = ast.parse(file.read_text(encoding="utf-8"))
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    ids = {described.id for described in FORMATS} | {folder_of(described) for described in FORMATS}
    named = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and id(node) not in docs and isinstance(node.value, str) and node.value in ids
    ]
    assert named == []


def test_checks_are_light() -> None:
    for file in some(sorted((SRC / "formats").glob("*/checks.py"))):
        ours = {name.split(".")[1] for name in names(file) if re.match(r"exhume\.(?!formats)\w", name)}
        assert ours <= {"errors", "findings", "limits", "tuples"}, file


# --------------------------------------------------------------------------------------------------- budgets and words


def test_import_is_light() -> None:
    code = (
        "import sys, time; begin = time.process_time(); import exhume; spent = time.process_time() - begin; "
        f"print(spent, *sorted(set({HEAVY!r}) & set(sys.modules)))"
    )
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(3)]
    words = [run.stdout.split() for run in runs]
    assert [found[1:] for found in words] == [[], [], []]
    assert min(float(found[0]) for found in words) < 0.1


@pytest.mark.slow
def test_reading_local_archives_imports_nothing_of_the_cloud() -> None:
    """Every sample is opened, described and listed without fsspec, Arrow, dask or what they bring."""
    code = (
        "import sys, exhume\nfrom tests.archives import own_archives\n"
        "for path in own_archives():\n"
        "    with exhume.open(path) as archive:\n"
        "        archive.info().to_dict(), list(archive.entries()), exhume.identify(path)\n"
        "heavy = {'fsspec', 'pyarrow', 'dask', 'distributed', 'aiohttp', 's3fs', 'pandas', 'upath', 'sqlalchemy'}\n"
        "print(len(own_archives()), *sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    number, *found = done.stdout.split()
    assert int(number) > 10
    assert found == []


@pytest.mark.parametrize("kind", ["file", "directory"])
@pytest.mark.slow
def test_recognizing_is_light(kind: str) -> None:
    """Formats are identified without NumPy, and those of single files without the code of directory formats."""
    code = (
        "import sys, exhume\nfrom exhume import registry\nfrom exhume.engines.identify import recognize\n"
        "from exhume.io.opening import open_target\nfrom exhume.io.tree import Tree\n"
        "from tests.archives import own_archives\n"
        f"directory = {kind == 'directory'}\n"
        "opened = [open_target(path) for path in own_archives()]\n"
        "print(len([recognize(one) for one in opened if isinstance(one, Tree) is directory]))\n"
        "others = [d.package for d in registry.formats().values() if d.container == 'directory' and not directory]\n"
        "print([n for n in sys.modules if n == 'numpy' or n.rpartition('.')[0] in others])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    number, found = done.stdout.splitlines()
    assert int(number) > 2
    assert found == "[]"


@FORMAT
def test_naming_a_format_imports_none_of_its_code(described: registry.Format) -> None:
    code = (
        "import sys; from exhume import registry; registry.formats(); "
        f"print([n for n in sys.modules if n.startswith('{described.package}.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_nothing_is_left_to_be_done() -> None:
    words = re.compile(r"\b(TO" + "DO|FIX" + "ME|XX" + r"X|raise NotImplemented" + r"Error)\b")
    found = [
        f"{file.relative_to(ROOT)}:{number}"
        for folder in ("src", "ksy", "tools", "tests", "benchmarks", "examples")
        for file in sorted((ROOT / folder).rglob("*"))
        if file.suffix in (".py", ".pyx", ".ksy", ".mjs", ".sh", ".md") and file.is_file()
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if words.search(line)
    ]
    assert found == []


@pytest.mark.xdist_group("groups")
def test_groups_of_tests_stay_together(request: pytest.FixtureRequest) -> None:
    """Tests of a group share what takes long to make: pytest-xdist names the group in the identifier of each."""
    if not getattr(request.config.option, "loadgroup", False):
        pytest.skip("only with --dist loadgroup")
    assert request.node.nodeid.endswith("@groups")


RAN: list[str] = []


@pytest.mark.parametrize("number", range(4))
def test_modules_stay_together(request: pytest.FixtureRequest, number: int) -> None:
    """What the tests of a module share is made by one process: the one that ran all before this one."""
    if not getattr(request.config.option, "loadgroup", False):
        pytest.skip("only with --dist loadgroup")
    RAN.append(request.node.name)
    own = request.node.name.partition("[")[0]
    chosen = [item.name for item in request.session.items if item.name.startswith(f"{own}[")]
    assert chosen[: len(RAN)] == RAN
