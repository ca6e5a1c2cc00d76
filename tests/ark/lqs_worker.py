"""Asks lqs-client, whose environment runs this file, for the value of a message: JSON lines in, JSON lines out.

Only the two modules that decode are imported, without the client's own start-up (it wants a network configuration).
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
import types
from pathlib import Path
from typing import Any


class _Itself(dict[int, int]):
    """Enumeration values that stay numbers, whether they have a name or not."""

    def __missing__(self, key: int) -> int:
        return key


def load() -> Any:
    """The client's decoder."""
    found = importlib.util.find_spec("lqs_client")
    assert found is not None
    assert found.submodule_search_locations is not None
    package = types.ModuleType("lqs_oracle")
    package.__path__ = [str(Path(next(iter(found.submodule_search_locations))) / "interface")]
    sys.modules["lqs_oracle"] = package
    return importlib.import_module("lqs_oracle.ark_deserialization")


def plain(value: Any) -> Any:
    """What JSON has no word for."""
    return list(value) if isinstance(value, bytes | bytearray | memoryview) else str(value)


def main() -> None:
    """Answers until standard input ends."""
    lqs = load()
    for line in sys.stdin:
        question = json.loads(line)
        tables = {key: lqs.partition_by_identifier(question["registry"].get(key, [])) for key in ("schemas", "enums")}
        for schema in tables["schemas"].values():
            schema["groups"] = {group["identifier"]: group for group in schema["groups"]}
        for enum in tables["enums"].values():
            enum["values"] = _Itself()
        stream = lqs.InputStream(bytes.fromhex(question["data"]))
        value, _, end = lqs.deserialize(stream, tables, question["name"], trim=False, trim_size=0)
        sys.stdout.write(json.dumps({"value": value, "end": end}, default=plain) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
