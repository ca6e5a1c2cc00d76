"""Compares `expected.json` of an Ark sample with the results of the reader."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any

from exhume.formats.ark.messages import ArkMessage


def plain(value: Any) -> Any:
    """A decoded value in the words of `expected.json`: bytes as hex, NaN and infinities as text, pairs as lists."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value).lower()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def folded(value: Any) -> Any:
    """The expected side of the same: NaN and infinities in one spelling."""
    if isinstance(value, str) and value.lower() in ("nan", "inf", "-inf", "infinity", "-infinity"):
        return value.lower().replace("infinity", "inf")
    if isinstance(value, dict):
        return {key: folded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [folded(item) for item in value]
    return value


def without(value: Any, paths: list[str]) -> Any:
    """A value without the paths that were not on the wire."""
    if not isinstance(value, dict):
        return value
    heads = {path.split(".", 1)[0] for path in paths if "." not in path}
    return {
        key: without(item, [path.split(".", 1)[1] for path in paths if path.startswith(f"{key}.")])
        for key, item in value.items()
        if key not in heads
    }


def assert_message(message: ArkMessage, expected: dict[str, Any]) -> None:
    """One message against its entry."""
    assert message.time_ns == expected["time_ns"]
    assert message.channel == expected["channel"]
    assert message.split.startswith(expected["split"])
    assert message.offset == expected["offset"]
    assert message.stored_size == expected["stored_size"]
    assert len(message.data) == expected["raw_size"]
    assert hashlib.sha256(message.data).hexdigest() == expected["raw_sha256"]
    if "value" in expected:
        skipped = expected.get("defaulted") or []
        assert without(folded(plain(message.value)), skipped) == without(folded(expected["value"]), skipped)


def load(case: Path) -> dict[str, Any]:
    """The expectations of one case."""
    loaded: dict[str, Any] = json.loads((case / "expected.json").read_text())
    return loaded


def snapshot(case: Path) -> dict[str, tuple[int, str]]:
    """Size and SHA-256 of every file of a log."""
    return {
        path.relative_to(case).as_posix(): (path.stat().st_size, hashlib.sha256(path.read_bytes()).hexdigest())
        for folder in ("manifests", "splits")
        for path in sorted((case / folder).iterdir())
    }
