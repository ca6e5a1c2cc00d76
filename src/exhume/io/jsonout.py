"""JSON that other programs can rely on: integers beyond 2^53 as text, bytes as text plus exact base64."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from typing import Any

SAFE_INTEGER = 1 << 53


def jsonable(value: Any) -> Any:
    """A value in a form that JSON carries exactly.

    Integers beyond 2^53 become decimal text; bytes become `{"text": …}` with `"base64"` where the text is not exact;
    NaN and infinities become text.
    """
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return int(value) if -SAFE_INTEGER <= value <= SAFE_INTEGER else str(int(value))
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes_value(bytes(value))
    if isinstance(value, Mapping):
        return {str(key): jsonable(item) for key, item in value.items()}
    if hasattr(value, "to_dict"):  # before tuples: some are NamedTuples
        return jsonable(value.to_dict())
    if isinstance(value, (list, tuple, set, frozenset)):
        return [jsonable(item) for item in value]
    return str(value)


def bytes_value(raw: bytes) -> dict[str, str]:
    """Bytes as text, with the exact base64 beside it where the text alone would lose something."""
    try:
        return {"text": raw.decode("utf-8")}
    except UnicodeDecodeError:
        return {"text": raw.decode("utf-8", "replace"), "base64": base64.b64encode(raw).decode("ascii")}


def dumps(value: Any, *, pretty: bool = False) -> str:
    """One JSON text (a single line unless `pretty`); lone surrogates survive as escapes."""
    plain = jsonable(value)
    if pretty:
        return json.dumps(plain, ensure_ascii=True, allow_nan=False, indent=2)
    return json.dumps(plain, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
