"""The specifications that come with exhume: their files, and their documentation of fields, for `explain`.

`explain` shows each field of an archive with its type and documentation.  Here these are looked up by the class that
Kaitai's compiler generated for a type (package `exhume_ksy.debug`), or by the type itself if it was compiled at run
time (`describe_traced`).  Keys that begin with `-` are exhume's own additions to Kaitai's language.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from exhume.choices import hint
from exhume.errors import EntryNotFoundError, MissingDependencyError, SpecificationError
from exhume.tuples import NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

    from exhume.compiler.front.model import Kind, Type

SPECS_PACKAGE = "exhume_ksy"
"""Package with the specifications and the code that is generated from them."""


class FieldDoc(NamedTuple):
    """Documentation of a field or type in a specification.

    Attributes:
        type: Type as `explain` names it, such as `u4[]`.
        doc_ref: Section of the format's own description.
        enum: Name of the enum of its values.
        checksum: Algorithm, if the field is a checksum (`-checksum`).
        unit: Unit of a number (`-unit`).
        representation: Template of the one line that stands for a structure (`-webide-representation`).
        is_scalar: Whether a structure stands for one of its values (`-scalar`).
        parsed_as: Specification of the content of a string (`-parsed-as`).
    """

    type: str = ""
    doc: str = ""
    doc_ref: str = ""
    enum: str = ""
    checksum: str = ""
    unit: str = ""
    representation: str = ""
    is_scalar: bool = False
    parsed_as: str = ""


def camel(name: str) -> str:
    """Return `block_body` as the compiler names its class: `BlockBody`."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


@functools.cache
def spec(id: str) -> dict[str, Any]:
    """Return a whole specification as its JSON form; raises `KeyError` for unknown ids."""
    package: Any = importlib.import_module(SPECS_PACKAGE)
    path = os.path.join(package.__path__[0], "specs", f"{id}.json")  # noqa: PTH118 - the loader takes it as text
    try:  # `importlib.resources` loads `tempfile` and `zipfile`
        loaded: dict[str, Any] = json.loads(package.__spec__.loader.get_data(path))
    except OSError:
        raise KeyError(id) from None
    return loaded


@functools.cache
def _type_specs(id: str) -> dict[str, dict[str, Any]]:
    """Return every type of a specification by the qualified name of its generated class."""
    found: dict[str, dict[str, Any]] = {}

    def add(qualname: str, content: dict[str, Any]) -> None:
        """Add a type and those within it."""
        found[qualname] = content
        for name, inner in content.get("types", {}).items():
            add(f"{qualname}.{camel(name)}", inner)

    add(camel(id), spec(id))
    return found


def documented(name: str) -> str:
    """Return the documentation of a type, `id` or `id::type::subtype`.  Raises `KeyError` for others."""
    id, *types = name.split("::")
    content = spec(id)
    for type in types:
        content = content.get("types", {}).get(type, {})
    return _text(content.get("doc"))


@functools.cache
def describe_type(cls: Any) -> dict[str, FieldDoc]:
    """Return the documentation of each field and instance of a generated class; the key "" is the type itself."""
    try:
        types = _type_specs(cls.__module__.rsplit(".", 1)[-1])
    except KeyError:
        return {}
    parts = cls.__qualname__.split(".")
    return _described([types.get(".".join(parts[:depth]), {}) for depth in range(1, len(parts) + 1)])


@functools.cache
def describe_traced(type: Type) -> dict[str, FieldDoc]:
    """Return the documentation of each field of a type compiled at run time, as `describe_type` does."""
    around = [type]
    while around[0].parent is not None:
        around.insert(0, around[0].parent)
    return _described([one.raw for one in around])


def _described(around: Sequence[Mapping[str, Any]]) -> dict[str, FieldDoc]:
    """Return the documentation of the last of several types, each of which encloses the next.

    The keys are those of fields, "" for the type, and `enum NAME NUMBER` for the values of enums.
    """
    content, enums = around[-1], _enum_docs(around)
    described = {"": FieldDoc(doc=_text(content.get("doc")), doc_ref=_text(content.get("doc-ref")))}
    scalar = content.get("-scalar")
    line = f"{{{scalar}}}" if scalar else _text(content.get("-webide-representation"))
    described[""] = described[""]._replace(representation=line, is_scalar=bool(scalar))
    # A field without an id has the name that Kaitai's compiler assigns.
    attributes = [(item.get("id", f"_unnamed{number}"), item) for number, item in enumerate(content.get("seq", []))]
    attributes += list(content.get("instances", {}).items())
    for name, item in attributes:
        described[name] = FieldDoc(
            type=_type_text(item),
            doc=_text(item.get("doc")),
            doc_ref=_text(item.get("doc-ref")),
            enum=item.get("enum", ""),
            checksum=_text(item.get("-checksum")),
            unit=_text(item.get("-unit")),
            parsed_as=_text(item.get("-parsed-as")),
        )
    for enum_name, values in enums.items():
        for key, value in values.items():
            described[f"enum {enum_name} {key}"] = value
    return described


def _enum_docs(around: Sequence[Mapping[str, Any]]) -> dict[str, dict[int, FieldDoc]]:
    """Return the documentation of the enum values that a type can use: its own, and those of enclosing types.

    `around` are these types, the outermost first.
    """
    found: dict[str, dict[int, FieldDoc]] = {}
    for content in around:
        for name, values in content.get("enums", {}).items():
            texts = {}
            for key, item in values.items():
                if isinstance(item, dict):
                    doc, checksum = _text(item.get("doc")), _text(item.get("-checksum"))
                    texts[_number(key)] = FieldDoc(doc=doc, checksum=checksum)
            found[name] = texts
    return found


def _number(key: Any) -> int:
    """Return the number of a key of an enum; the compiler is imported for those that are not decimal."""
    if str(key).isdecimal():
        return int(key)
    from exhume.compiler.front.model import enum_key

    return enum_key(key)


def _text(value: Any) -> str:
    """Return a string, or a list of strings, on one line."""
    if isinstance(value, list):
        value = "; ".join(map(str, value))
    return " ".join(str(value).split()) if value else ""


def _type_text(item: dict[str, Any]) -> str:
    """Return the type of a field as the explain page names it."""
    kind = item.get("type")
    if isinstance(kind, dict):
        kind = "switch on " + str(kind.get("switch-on"))
    if kind is None:
        kind = "value" if "value" in item else "contents" if "contents" in item else "bytes"
    if "enum" in item:
        kind = f"{kind} ({item['enum']})"
    return f"{kind}[]" if "repeat" in item else str(kind)


NESTED_META = ("encoding", "endian", "bit-endian")
"""Keys that a nested type may have in its `meta`."""


def folder() -> Path:
    """Return the folder that contains the specifications."""
    import importlib.resources
    from pathlib import Path

    return Path(str(importlib.resources.files(SPECS_PACKAGE))) / "ksy"


def ids() -> list[str]:
    """Return the ids of all specifications, in alphabetical order."""
    return sorted(path.stem for path in folder().glob("*.ksy"))


def specification(id: str, *, bundle: bool = False) -> str:
    """Return the text of one specification; with `bundle` self-contained, as `bundled` makes it.

    Raises `EntryNotFoundError` for an unknown id; propagates errors from `bundled`.
    """
    known = ids()
    name = id.removesuffix(".ksy").replace("-", "_")
    if name not in known:
        raise EntryNotFoundError(f"no such specification{hint(name, known)}", actual=id)
    path = folder() / f"{name}.ksy"
    return bundled(path) if bundle else path.read_text(encoding="utf-8")


def bundled(path: Path) -> str:
    """Return a specification rewritten to import nothing: all imports, direct or not, become nested types.

    A specification without imports is unchanged; others lose their comments.  Imported types must not use `_root`
    (the lint of `ksy/` ensures that).  Raises `SpecificationError` for a type that has the name of an import, and
    for a file that is not a specification; `MissingDependencyError` without PyYAML (extra `ksy`).
    """
    from exhume.layout.ksy_files import parse_yaml

    root = parse_yaml(path)
    waiting = _imports(root)
    if not waiting:
        return path.read_text(encoding="utf-8")
    inlined: dict[str, Any] = {}
    while waiting:
        name = waiting.pop(0)
        if name not in inlined:
            found = parse_yaml(path.parent / f"{name}.ksy")
            waiting += _imports(found)
            meta = {key: found["meta"][key] for key in NESTED_META if key in found["meta"]}
            body = {key: value for key, value in found.items() if key != "meta"}
            inlined[name] = {"meta": meta, **body} if meta else body
    types = root.pop("types", {})
    for name in inlined.keys() & types.keys():
        raise SpecificationError(f"{path}: type {name} has the name of an imported specification")
    enums = {"enums": root.pop("enums")} if "enums" in root else {}
    del root["meta"]["imports"]
    whole = {**root, "types": {**types, **dict(sorted(inlined.items()))}, **enums}
    return f"# Made from {path.name} and what it imports; the source has the comments.\n{_yaml(whole)}"


def _imports(spec: Any) -> list[str]:
    """Return the imports of a specification."""
    return list(spec["meta"].get("imports", ()))


def _yaml(value: Any) -> str:
    """Return a value as YAML text.  Raises `MissingDependencyError` if PyYAML is not installed."""
    try:
        import yaml
    except ImportError:
        raise MissingDependencyError("specifications are YAML, which needs PyYAML: pip install 'exhume[ksy]'") from None

    class Dumper(yaml.SafeDumper):  # type: ignore[misc, unused-ignore]  # PyYAML may have no types
        """Writes equal values out in full wherever they occur, and strings of several lines as block scalars."""

        def ignore_aliases(self, data: Any) -> bool:
            """Return True: no value is written as a reference to an equal one."""
            return True

        def represent_str(self, data: str) -> Any:
            """Return the YAML node of a string."""
            style = "|" if "\n" in data else None
            return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)

    Dumper.add_representer(str, Dumper.represent_str)

    # So wide that no string is folded.
    text: str = yaml.dump(value, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=1 << 20)
    return text


def reaches_out(kind: Kind) -> bool:
    """Return whether a field of this kind may be a structure with fields outside of its own bytes."""
    from exhume.compiler.front.kinds import structures

    return any(_reaches_out(one.type) for one in structures(kind))


@functools.cache
def _reaches_out(type: Type) -> bool:
    """Return whether a structure may have fields outside of its own bytes: instances with `pos`, in it or in its
    fields.
    """
    from exhume.compiler.front.kinds import structures

    seen, waiting = {type}, [type]
    while waiting:
        for one in waiting.pop().fields():
            if one.value is not None:
                continue
            if one.instance:
                return True
            inner = {kind.type for kind in structures(one.value_kind)} - seen
            seen |= inner
            waiting += inner
    return False
