"""`help()` of every public object states arguments, results and errors, and shows a use that works."""

from __future__ import annotations

import doctest
import enum
import inspect
import io
import pydoc
import re
import shutil
import types
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.formats.clp_s.query import QueryOptions
from tests.conftest import ROOT
from tests.sizes import some

FORMATS = ("ark", "caf", "clpir", "clps", "databundle", "kvir", "leveldb", "zs")


def public() -> Iterator[tuple[str, Any]]:
    """Every public class and function by the name that a user types."""
    for name in exhume.__all__:
        value = getattr(exhume, name)
        if isinstance(value, types.ModuleType):
            yield from ((f"{name}.{one}", getattr(value, one)) for one in ("open", "create") if hasattr(value, one))
        elif callable(value):
            yield name, value


PUBLIC = dict(public())
NAME = pytest.mark.parametrize("name", PUBLIC)


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an archive of every format, as the examples expect them."""
    folder = tmp_path_factory.mktemp("help")
    with exhume.clps.create(folder / "events.clps") as log:
        log.add_files([ROOT / "examples/clp_s/events.jsonl"])
    with exhume.zs.create(folder / "words.zs", codec="deflate") as words:
        words.add_records([b"apple", b"banana", b"cherry"])
    files = sorted(path for path in (ROOT / "examples/files").rglob("*") if path.is_file())
    with exhume.caf.create(folder / "files.caf") as chunk, exhume.databundle.create(folder / "files.bundle") as bundle:
        for path in files:
            name = path.relative_to(ROOT / "examples/files").as_posix()
            chunk.add_path(path, name)
            bundle.add_path(path, name)
    with exhume.ark.create(folder / "robot") as robot:
        idl = (ROOT / "examples/ark/robot.idl").read_text(encoding="utf-8")
        battery = robot.channel("/robot/battery", "demo::Battery", idl)
        battery.write(1_700_000_000_050_001_000, {"volts": 24.5, "charging": False, "note": "ok"})
    with exhume.kvir.create(folder / "app.clp.zst") as stream:
        stream.write({"message": "started"}, {"level": "INFO"})
    with exhume.clpir.create(folder / "server.clp.zst") as log:
        log.write(1704067200000, " INFO Task 7 done\n")
    shutil.copytree(ROOT / "tests/samples/leveldb/small", folder / "database")
    (folder / "pairs.ksy").write_text(
        "meta: {id: pairs}\nseq: [{id: count, type: u1}, {id: pairs, type: pair, repeat: expr, repeat-expr: count}]\n"
        "types: {pair: {seq: [{id: key, type: u1}, {id: value, type: u1}]}}\n"
    )
    return folder


@NAME
def test_the_example_works(name: str, archives: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(archives, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    text = inspect.getdoc(PUBLIC[name]) or ""
    known: dict[str, Any] = {"exhume": exhume, "Path": Path}
    test = doctest.DocTestParser().get_doctest(text, known, name, None, 0)
    reported: list[str] = []
    result = doctest.DocTestRunner().run(test, out=reported.append)
    assert result.attempted > 0, "no example"
    assert result.failed == 0, "".join(reported)


def arguments(value: Any) -> set[str]:
    """What a public callable takes; fields of the classes that users are given count as well."""
    if isinstance(value, type) and hasattr(value, "__dataclass_fields__"):
        return {field.name for field in fields(value)}
    return set(inspect.signature(value).parameters) - {"self"}


@NAME
def test_everything_that_goes_in_and_comes_out_is_reported(name: str) -> None:
    value = PUBLIC[name]
    text = inspect.getdoc(value) or ""
    is_enum = isinstance(value, type) and issubclass(value, enum.Enum)
    wanted = [] if is_enum else [f"\n    {one}: " for one in arguments(value)]
    if isinstance(value, types.FunctionType):
        wanted += ["\nReturns:\n", "\nRaises:\n"]
    assert [one for one in wanted if one not in text] == []


@NAME
def test_help_shows_a_real_signature(name: str) -> None:
    """As `help()` prints it: not `(*args, **kwargs)`, and not "see ..." in place of an answer."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        pydoc.Helper(output=printed).help(PUBLIC[name])
    text = printed.getvalue()
    assert "(*args, **kw" not in text.split("\n\n")[0]
    assert f"see `exhume.{name}`" not in text


@pytest.mark.parametrize("name", FORMATS)
def test_the_openers_of_a_format_take_what_the_format_takes(name: str) -> None:
    """`exhume.zs.open` has the options of `exhume.open` for this format, and so have both forms of `create`."""
    from exhume.choices import keywords
    from exhume.engines.identify import open_archive
    from exhume.registry import get_format

    module = getattr(exhume, name)
    described = get_format({"kvir": "kv-ir", "clpir": "clp-ir"}.get(name, name))
    taken = (keywords(described.hook("open")) | keywords(open_archive)) - {"source", "format", "damaged", "options"}
    internal = {"opened", "root", "salvage"}
    assert arguments(module.open) == taken - internal
    if described.create is not None:
        assert arguments(module.create) == keywords(described.hook("create")) - {"self"}


def test_the_writer_of_clp_s_takes_its_options() -> None:
    from exhume.formats.clp_s.write.options import WriterOptions

    taken = inspect.signature(exhume.clps.create).parameters
    mine = {field.name: field.default for field in fields(WriterOptions) if field.name != "properties"}
    assert {name: one.default for name, one in taken.items() if name not in ("target", "properties")} == mine


def test_type_checkers_know_the_same_names() -> None:
    """`__init__.pyi` has a line for every public name, and no other; every option is typed."""
    import ast

    from exhume import registry

    tree = ast.parse((ROOT / "src/exhume/__init__.pyi").read_text(encoding="utf-8"))
    exported = {
        one.asname for node in tree.body if isinstance(node, ast.ImportFrom) for one in node.names if one.asname
    }
    exported |= {node.name for node in tree.body if isinstance(node, ast.FunctionDef)} | {"__version__"}
    assert exported == set(exhume.__all__)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert not [node.name for node in functions if node.args.kwarg is not None]
    for name in ("open", "create"):
        by_format = [node for node in functions if node.name == name]
        described = [one for one in registry.formats().values() if getattr(one, name) is not None]
        assert len(by_format) == len(described) + 1


def methods() -> Iterator[tuple[str, Any]]:
    """The methods of archives and other public classes, and the functions of modules that are imported by name."""
    import exhume.distributed
    from exhume.distributed.collections import Partition

    classes = {value for value in PUBLIC.values() if isinstance(value, type)} | {Partition}
    for name in FORMATS:
        module = getattr(exhume, name)
        classes |= {one for one in vars(module).values() if isinstance(one, type) and issubclass(one, exhume.Archive)}
    for one in sorted(classes, key=lambda one: one.__name__):
        for name in dir(one):
            if name[0] != "_" and callable(getattr(one, name, None)):
                yield f"{one.__name__}.{name}", getattr(one, name)
    yield from ((name, getattr(exhume.distributed, name)) for name in exhume.distributed.__all__)


def test_every_option_of_a_method_is_typed() -> None:
    """No `**options: Any`: type checkers know the options of each format."""
    untyped = [
        f"{name}(**{one.name}: {one.annotation})"
        for name, function in methods()
        if inspect.isfunction(function)
        for one in inspect.signature(function).parameters.values()
        if one.kind is one.VAR_KEYWORD and "Any" in str(one.annotation)
    ]
    assert untyped == []


def tables() -> Iterator[tuple[str, Callable[..., Any], Any]]:
    """Each format, what makes its table, and the class of its options."""
    import importlib

    from exhume import registry
    from exhume.tabular import arrow

    for described in registry.formats().values():
        if described.content == "records":
            module = importlib.import_module(f"{described.package}.arrow")
            own = [one for name, one in vars(module).items() if name.endswith("TableOptions")]
            yield (
                described.id,
                module.to_arrow,
                max(own or [arrow.TableOptions], key=lambda one: len(one.__annotations__)),
            )
        else:
            yield described.id, arrow.member_table, arrow.MemberTableOptions


def listed(function: Callable[..., Any], begin: str) -> str:
    """What the docstring of a function says of its options, as one line."""
    text = " ".join((inspect.getdoc(function) or "").partition(begin)[2].partition("\n\n")[0].split())
    assert text.endswith("."), function
    return text.removesuffix(".")


def test_help_of_a_table_names_each_option() -> None:
    """The signature says `**options`, for a class of options cannot be unpacked there."""
    import importlib

    from exhume.registry import get_format

    for name, _, options in some(tables()):
        reader = importlib.import_module(f"{get_format(name).package}.reader")
        (archive,) = (one for one in vars(reader).values() if getattr(one, "__module__", "") == reader.__name__
                      and getattr(one, "format", "") == name and issubclass(one, exhume.Archive))  # fmt: skip
        shown = re.findall(r"`(\w+)`", listed(archive.to_arrow, "Options: "))
        assert shown == list(options.__annotations__), name


@pytest.mark.parametrize("name", ["open", "inspect", "create", "salvage", "recode"])
def test_help_of_a_function_names_the_options_of_each_format(name: str) -> None:
    from exhume.registry import formats

    function = getattr(exhume, name)
    entry = listed(function, "    options: ").partition(". ")[2]
    shown = dict(part.split(": ") for part in entry.split("; "))
    own = inspect.signature(function).parameters
    for format, described in formats().items():
        front = getattr(exhume, format.replace("-", ""))
        made = getattr(front, "open" if name == "inspect" else name, None)
        hook = made or (described.hook(name) if getattr(described, name, None) else None)
        taken = inspect.signature(hook).parameters.values() if hook else ()
        wanted = [one.name for one in taken if one.kind is one.KEYWORD_ONLY and one.name not in own]
        assert re.findall(r"`(\w+)`", shown.pop(format, "")) == wanted, format
    assert shown == {}


def test_options_of_tables_are_those_of_the_function() -> None:
    """The class of the options states each of them with the type that the function has."""
    found = list(tables())
    assert len(found) == len(FORMATS)
    for name, function, options in found:
        takes: dict[str, str] = {}
        for one in (*getattr(function, "passes_on", ()), function):
            given = inspect.signature(one).parameters.values()
            takes |= {each.name: str(each.annotation) for each in given if each.kind is each.KEYWORD_ONLY}
        mine = {key: kind.__forward_arg__ for key, kind in options.__annotations__.items()}
        if name == "clp-s":
            mine = {key: kind for key, kind in mine.items() if key not in QueryOptions.__annotations__}
        assert mine == takes, name


def test_options_of_parts_are_those_of_all_formats() -> None:
    from exhume import registry
    from exhume.parts import ReadingOptions

    wanted = {key for _, _, options in tables() for key in options.__annotations__}
    for described in registry.formats().values():
        if described.has("parts"):
            wanted |= set(getattr(described.hook("parts"), "TAKES", ()))
    assert set(ReadingOptions.__annotations__) == wanted


def test_an_ark_directory_of_several_logs_is_not_one_log(tmp_path: Path) -> None:
    for _ in range(2):
        with exhume.ark.create(tmp_path / "logs") as log:
            log.set_metadata("a", 1)
    with pytest.raises(exhume.ExhumeError) as caught:
        exhume.ark.open(tmp_path / "logs")
    assert caught.value.code == "ARK-108"


def opened(name: str) -> Callable[..., Any]:
    """The opener of one format."""
    function: Callable[..., Any] = getattr(exhume, name).open
    return function


@pytest.mark.parametrize("name", FORMATS)
def test_an_opener_refuses_archives_of_other_formats(name: str, archives: Path) -> None:
    other = archives / ("files.caf" if name == "zs" else "words.zs")
    with pytest.raises(exhume.ExhumeError):
        opened(name)(other)
