"""Files of specifications: their YAML, in the form of JSON and with the line of each part, and their imports.

The YAML is read as Kaitai's own tools read it (YAML 1.2, core schema), but rejected if it has features that a
specification does not need: anchors, tags, repeated keys.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exhume.compiler import refusal
from exhume.compiler.refusal import UnsupportedError
from exhume.errors import MissingDependencyError, Span, SpecificationError, shorten
from exhume.io.opening import open_target
from exhume.io.source import Source
from exhume.io.tree import Tree

OURS = frozenset(("-columns", "-element", "-ends"))
"""Keys that have a meaning only in the specifications of exhume, and are removed from others."""

LONGEST_NUMBER = 200  # characters

# Scalars of YAML's core schema that are not strings.
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_NULLS = ("", "~", "null", "Null", "NULL")
_INTEGER = re.compile(r"[-+]?(0b[01_]*[01]|0o[0-7_]*[0-7]|0x[0-9a-fA-F_]*[0-9a-fA-F]|[0-9]([0-9_]*[0-9])?)", re.ASCII)
_FLOAT = re.compile(r"[-+]?([0-9][0-9_]*(\.[0-9_]*)?([eE][-+]?[0-9]+)?|\.[0-9_]+([eE][-+]?[0-9]+)?)", re.ASCII)
_IMPORT = re.compile(r"/?(\.{1,2}/){0,9}([A-Za-z0-9_.-]{1,200}/){0,9}[A-Za-z0-9_-][A-Za-z0-9_.-]{0,199}")
_PLACE = re.compile(r"\w+((?:::\w+)*)(?:\.(\w+))?((?:: [^: ]+)*)", re.ASCII)
"""The place in a specification that an error names: types, a field, and the keys and indexes below it."""

Lines = dict[tuple[str | int, ...], int]
"""Line (from 1) of each part of a file, by the keys and indexes that lead to it."""


def one_file(opened: Source | Tree) -> Source:
    """Return the opened target if it is one file; raises `SpecificationError` for a directory."""
    if isinstance(opened, Tree):
        opened.close()
        raise SpecificationError("one file is expected, not a directory", span=Span(opened.name, 0, 0))
    return opened


class SpecFiles:
    """The files of one compilation: a specification, and its imports."""

    def __init__(self, folders: Sequence[Path]) -> None:
        """Begin with no specification; imports are searched for in `folders`."""
        self.folders = folders
        self.room: FileBudget = FileBudget()
        self.specs: dict[str, Mapping[str, Any]] = {}  # content by id
        self.paths: dict[str, Path] = {}
        """The path of each specification by its id, as it is named in messages."""
        self.lines: dict[str, Lines] = {}  # by id
        self.read_already: dict[Path, str] = {}  # ids by resolved path
        self.absent: list[Path] = []
        """Paths without a file, at which imports were searched for before they were found."""
        self.imported: dict[str, list[str]] = {}
        """The ids of the specifications that each one imports."""

    def read(self, path: Path) -> str:
        """Read a specification and what it imports; return its id."""
        id = self._add(path)
        waiting = [id]
        while waiting:
            importing = waiting.pop()
            for name in self._imports(importing):
                found = self._find(name, importing)
                id_of = self.read_already.get(found.resolve())
                if id_of is None:
                    id_of = self._add(found)
                    waiting.append(id_of)
                self.imported[importing].append(id_of)
        for one, spec in self.specs.items():
            meta = {**spec["meta"], "imports": self.imported[one]}
            self.specs[one] = {**spec, "meta": meta}
        return id

    def join(self, specs: Mapping[str, Mapping[str, Any]], path: Path) -> None:
        """Add specifications that were compiled already.

        Raises `SpecificationError` for a different one with the same id.
        """
        for id, spec in specs.items():
            if id in self.specs and self.specs[id] != spec:
                raise wrong(path, f"another specification has the id {id!r:.60}")
            self.specs[id] = spec
            self.paths.setdefault(id, path)

    def refused(self, error: UnsupportedError, id: str) -> SpecificationError:
        """Return our exception for a specification that the compiler rejects, with the name of the file and the
        line.

        `id` is that of the root, which is named if the error names no other specification.
        """
        first = re.match(r"\w+", error.where)
        id = first[0] if first is not None and first[0] in self.paths else id
        return wrong(self.paths[id], error.why, error.where, self._line(id, error.where))

    def _line(self, id: str, where: str) -> int | None:
        """Return the line of the part of a specification that an error names; None if it is not known.

        `where` has the form of `_PLACE`, such as `zs::block.size: if`.
        """
        found = _PLACE.match(where)
        if found is None:
            return None
        here: Any = self.specs[id]
        path: list[str | int] = []
        types, field, keys = found.groups()
        for name in types.split("::")[1:]:
            group = next((one for one in ("types", "enums") if name in (here.get(one) or ())), None)
            if group is None:
                break
            path += [group, name]
            here = here[group][name]
        if field is not None and isinstance(here, dict):
            path, here = _to_field(path, here, field)
        if where.startswith("meta: "):  # of the root, without the name of a type before it
            keys = f": {where}"
        for key in keys.split(": ")[1:]:
            name, _, index = key.partition("[")
            path += [name] if not index else [name, int(index.rstrip("]") or 0)]
        lines = self.lines.get(id, {})
        # The nearest part around it that has a line.
        while path and tuple(path) not in lines:
            path.pop()
        return lines.get(tuple(path))

    def _add(self, path: Path) -> str:
        """Read the file of a specification, and return its id.

        Raises `SpecificationError` for one without an id, or with the id of another one.
        """
        lines: Lines = {}
        spec = parse_yaml(path, lines, self.room)
        meta = spec.get("meta") if isinstance(spec, dict) else None
        id = meta.get("id") if isinstance(meta, dict) else None
        if not isinstance(id, str):
            why = "`meta: id` is missing" if id is None else f"{id!r:.60} is not a name, field meta: id"
            raise wrong(path, why, line=lines.get(("meta", "id")) or lines.get(("meta",)) or 1)
        spec = _without_ours(spec)
        if id in self.specs:
            raise wrong(path, f"another specification has the id {id!r:.60}: {self.paths[id]}")
        if len(self.specs) == refusal.FILES:
            raise wrong(path, f"more than {refusal.FILES} specifications are imported")
        self.specs[id], self.paths[id], self.imported[id], self.lines[id] = spec, path, [], lines
        self.read_already[path.resolve()] = id
        return id

    def _imports(self, id: str) -> list[str]:
        """Return the imports of a specification. Raises if one is not a path."""
        imports = self.specs[id]["meta"].get("imports", [])
        if isinstance(imports, str):  # a single one
            imports = [imports]
        if not isinstance(imports, list):
            raise wrong(self.paths[id], "`imports` is a list", "meta: imports", self._line(id, "meta: imports"))
        for name in imports:
            if not isinstance(name, str) or _IMPORT.fullmatch(name) is None:
                raise wrong(
                    self.paths[id],
                    f"the import {name!r:.60} is no path of a specification",
                    "meta: imports",
                    self._line(id, "meta: imports"),
                )
        return list(imports)

    def _find(self, name: str, importing: str) -> Path:
        """Return the file of an import: next to the importing one, then in the import folders."""
        own_folder = [] if name.startswith("/") else [self.paths[importing].parent]
        for folder in (*own_folder, *self.folders):
            path = Path(os.path.normpath(folder / f"{name.lstrip('/')}.ksy"))
            if path.is_file():
                return path
            self.absent.append(path.absolute())
        where = "on the import path" if name.startswith("/") else "next to it or on the import path"
        line = self._line(importing, "meta: imports")
        raise wrong(self.paths[importing], f"the import {name} is not {where}", "meta: imports", line)


def _to_field(path: list[str | int], here: dict[str, Any], id: str) -> tuple[list[str | int], Any]:
    """Return the path to a field of a type, and the field; if there is none, `path` and `here` as they are."""
    for group in ("params", "seq"):
        for number, one in enumerate(here.get(group) or ()):
            if isinstance(one, dict) and one.get("id", f"_unnamed{number}") == id:
                return [*path, group, number], one
    instances = here.get("instances")
    if isinstance(instances, dict) and id in instances:
        return [*path, "instances", id], instances[id]
    return path, here


def _without_ours(part: Any) -> Any:
    """Return a part of a specification without the keys that mean something in exhume's own specifications only."""
    if isinstance(part, dict):
        return {key: _without_ours(one) for key, one in part.items() if key not in OURS}
    return [_without_ours(one) for one in part] if isinstance(part, list) else part


def wrong(path: Path, why: str, where: str = "", line: int | None = None) -> SpecificationError:
    """Return the error for a file: the problem (`why`), the place in the specification (`where`), and the line."""
    why = shorten(why, 300) + ("" if line is None else f", line {line}")
    return SpecificationError(why, span=Span(os.fspath(path), 0, 0), field_path=shorten(where, 300) or None)


@dataclass(slots=True)
class FileBudget:
    """The unused budget for the files of one compilation: bytes, and keys and values of the YAML."""

    bytes: int = refusal.SIZE
    nodes: int = refusal.NODES


def parse_yaml(path: Path, lines: Lines | None = None, room: FileBudget | None = None) -> Any:
    """Return the content of a YAML file in the form of JSON: all keys are strings; `lines` gets the line of each part.

    `room` is the budget that all files of a compilation share; None: this file has one of its own.
    Raises `SpecificationError` if it is not such a file, `MissingDependencyError` without PyYAML.
    """
    try:
        import yaml
    except ImportError:
        raise MissingDependencyError("specifications are YAML, which needs PyYAML: pip install 'exhume[ksy]'") from None
    with one_file(open_target(os.fspath(path))) as source:
        if source.size > (refusal.SIZE if room is None else room.bytes):
            raise wrong(path, f"a specification that, with its imports, has more than {refusal.SIZE} bytes")
        data = source.read_at(0, source.size)
    room = room or FileBudget()
    room.bytes -= len(data)
    # The base loader leaves all scalars as text; `_scalar` decides what they are.
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        return _document(yaml.parse(data.decode("utf-8-sig"), Loader=loader), {} if lines is None else lines, room)
    except UnicodeDecodeError:
        raise wrong(path, "a specification is UTF-8") from None
    except yaml.YAMLError as error:
        place = getattr(error, "problem_mark", None)
        line = f", line {place.line + 1}" if place is not None else ""
        why = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise wrong(path, f"the file is not YAML: {why}{line}") from None
    except _YamlError as error:
        raise wrong(path, str(error)) from None


class _YamlError(ValueError):
    """YAML that a specification must not contain; the message says what it is, and the line."""

    def __init__(self, why: str, event: Any) -> None:
        super().__init__(f"{why}, line {event.start_mark.line + 1}")


def _document(events: Iterator[Any], lines: Lines, room: FileBudget) -> Any:
    """Return the value of the only document in a stream of parsing events, and fill `lines`.

    A loop over events, not PyYAML's constructor: that would expand aliases, and does not know lines.
    """
    top: list[Any] = []
    around = [_Open(top, ())]  # open lists and mappings, the innermost last
    for event in events:
        kind = type(event).__name__
        if kind in ("MappingEndEvent", "SequenceEndEvent"):
            around.pop()
        elif kind == "DocumentStartEvent" and top:
            raise _YamlError("a second YAML document begins (`---`): a specification is one", event)
        elif kind in ("ScalarEvent", "MappingStartEvent", "SequenceStartEvent", "AliasEvent"):
            _check_supported(event, len(around), room)
            value: Any = _NEW[kind]() if kind in _NEW else _scalar(event)
            holder = around[-1]
            path = holder.next_path if holder.value is not top else ()
            holder.add(value, event, lines, path)
            if kind != "ScalarEvent":
                around.append(_Open(value, path))
    return top[0] if len(top) == 1 else None


_NEW: dict[str, Callable[[], Any]] = {"MappingStartEvent": dict, "SequenceStartEvent": list}
"""Makes the value that begins with an event; the values of all other events are scalars."""


@dataclass(slots=True)
class _Open:
    """A list or mapping whose end was not parsed yet."""

    value: Any
    path: tuple[str | int, ...]
    key: str | None = None
    """The key of a mapping that waits for its value."""

    @property
    def next_path(self) -> tuple[Any, ...]:
        """The path of the next value in it."""
        return (*self.path, len(self.value) if isinstance(self.value, list) else self.key)

    def add(self, value: Any, event: Any, lines: Lines, path: tuple[Any, ...]) -> None:
        """Add an element, a key, or the value of the key before; note the lines of elements and keys."""
        line = event.start_mark.line + 1
        if isinstance(self.value, list):
            lines[path] = line
            self.value.append(value)
        elif self.key is None:
            self.key = _key(self.value, value, event)
            lines[*self.path, self.key] = line
        else:
            self.value[self.key] = value
            self.key = None


def _check_supported(event: Any, depth: int, room: FileBudget) -> None:
    """Count a value, which is `depth` deep; raise for one that is too much or too deep, and for other YAML features."""
    room.nodes -= 1
    if room.nodes < 0:
        raise _YamlError(f"a specification that, with its imports, has more than {refusal.NODES} parts", event)
    if event.anchor is not None:
        raise _YamlError("anchors and aliases (`&`, `*`) are not supported", event)
    if event.tag not in (None, "!"):
        raise _YamlError("tags (`!`) are not supported", event)
    if depth > refusal.DEPTH:
        raise _YamlError("the YAML is nested too deeply", event)


def _key(holder: Mapping[str, Any], value: Any, event: Any) -> str:
    """Return a YAML key as a string. Raises if it is in `holder` already."""
    match value:
        case dict() | list():
            raise _YamlError("a key that is not a string", event)
        case None:
            key = "null"
        case bool():
            key = str(value).lower()
        case _:
            key = str(value)
    if key in holder:
        raise _YamlError(f"the key {key!r:.60} is given twice", event)
    return key


def _scalar(event: Any) -> Any:
    """Return the value of a scalar of YAML: its text if it is quoted, else None, a bool, int, float or text by its
    form.
    """
    text: str = event.value
    if not event.implicit[0]:  # quoted
        return text
    if text in _NULLS:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if len(text) > LONGEST_NUMBER:
        return text
    if _INTEGER.fullmatch(text):
        digits = text.replace("_", "").lstrip("+-")
        number = int(digits, 0) if digits[:2] in ("0b", "0o", "0x") else int(digits)
        return -number if text.startswith("-") else number
    return float(text.replace("_", "")) if _FLOAT.fullmatch(text) else text
