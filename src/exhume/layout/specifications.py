"""The specifications that come with exhume, as files: each as it was written, or self-contained."""

from __future__ import annotations

import importlib.resources
from pathlib import Path
from typing import Any

from exhume.choices import hint
from exhume.errors import EntryNotFoundError, MissingDependencyError, SpecificationError
from exhume.layout.described import SPECS_PACKAGE
from exhume.layout.ksy_files import parse_yaml

NESTED_META = ("encoding", "endian", "bit-endian")
"""What a nested type may have in its `meta`."""


def folder() -> Path:
    """The folder that holds the specifications."""
    return Path(str(importlib.resources.files(SPECS_PACKAGE))) / "ksy"


def ids() -> list[str]:
    """The ids of all specifications, in alphabetical order."""
    return sorted(path.stem for path in folder().glob("*.ksy"))


def specification(id: str, *, bundle: bool = False) -> str:
    """The text of one specification; with `bundle` self-contained, as `bundled` makes it.

    Raises `EntryNotFoundError` for an unknown id, and what `bundled` raises.
    """
    known = ids()
    name = id.removesuffix(".ksy").replace("-", "_")
    if name not in known:
        raise EntryNotFoundError(f"no such specification{hint(name, known)}", actual=id)
    path = folder() / f"{name}.ksy"
    return bundled(path) if bundle else path.read_text(encoding="utf-8")


def bundled(path: Path) -> str:
    """A specification rewritten to import nothing: everything that it imports, directly or not, becomes a nested type.

    A specification without imports is unchanged; others lose their comments.  Imported types must not use `_root`
    (the lint of `ksy/` sees to that).  Raises `SpecificationError` for a type that has the name of an import, and for a
    file that is not a specification; `MissingDependencyError` without PyYAML (extra `ksy`).
    """
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
    return list(spec["meta"].get("imports", ()))


def _yaml(value: Any) -> str:
    try:
        import yaml
    except ImportError:
        raise MissingDependencyError("specifications are YAML, which needs PyYAML: pip install 'exhume[ksy]'") from None

    class Dumper(yaml.SafeDumper):  # type: ignore[misc, unused-ignore]  # PyYAML may have no types
        """Writes equal values out in full wherever they occur, and strings of several lines as block scalars."""

        def ignore_aliases(self, data: Any) -> bool:
            return True

        def represent_str(self, data: str) -> Any:
            style = "|" if "\n" in data else None
            return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)

    Dumper.add_representer(str, Dumper.represent_str)

    text: str = yaml.dump(value, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=1 << 20)
    return text
