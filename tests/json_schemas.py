"""Validates JSON documents of the command against the schemas that are shipped."""

from __future__ import annotations

import functools
import importlib.resources
import json
import re
from typing import Any

import jsonschema

NAME = re.compile(r"exhume\.([\w-]+)/1")


def load(name: str) -> dict[str, Any]:
    """The schema of a form as a user of the package finds it."""
    text = (importlib.resources.files("exhume") / "schemas" / f"{name}.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def closed(schema: Any) -> Any:
    """The schema with only the keys that it names: later versions may add some, this one must not."""
    if isinstance(schema, dict):
        made = {key: closed(value) for key, value in schema.items()}
        return made | {"additionalProperties": False} if "properties" in schema else made
    return [closed(value) for value in schema] if isinstance(schema, list) else schema


@functools.cache
def _validator(name: str) -> Any:
    return jsonschema.Draft202012Validator(closed(load(name)))


def validate(document: dict[str, Any]) -> None:
    """Raise `jsonschema.ValidationError` for a document that is not what its schema says."""
    named = NAME.fullmatch(document["schema"])
    assert named is not None, document["schema"]
    _validator(named[1]).validate(document)
