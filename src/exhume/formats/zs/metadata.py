"""The metadata conventions of ZS: what a writer records about itself, and how records are laid out.

Spec: zs.txt, "Header", Metadata."""

from __future__ import annotations

import getpass
import json
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from exhume import __version__
from exhume.errors import WriterError

BUILD_INFO = "build-info"
RECORD_FORMAT = "record-format"


def build_info() -> dict[str, str]:
    """Say who made a file, where, when and with what: `user`, `host`, `time` (UTC, ISO 8601 with "Z"), `version`."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError, ImportError):
        user = "unknown"
    time = datetime.now(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
    return {"user": user, "host": platform.node() or "unknown", "time": time, "version": f"exhume {__version__}"}


def separated_values(columns: Mapping[str, str], separator: str = "\t") -> dict[str, Any]:
    """The value of `record-format` for records of separated fields; `columns` maps names to types (`utf8`, `int`)."""
    return {
        "type": "separated-values",
        "separator": separator,
        "column-names": list(columns),
        "column-types": list(columns.values()),
    }


def encode_metadata(metadata: Mapping[str, Any], *, default_metadata: bool) -> bytes:
    """The JSON bytes for the header; `default_metadata` adds `build-info` where the caller gave none.

    Raises `WriterError` for values that JSON cannot represent.
    """
    if not isinstance(metadata, Mapping):
        raise WriterError("the metadata must be a JSON object", actual=type(metadata).__name__)
    whole = dict(metadata)
    if default_metadata and BUILD_INFO not in whole:
        whole[BUILD_INFO] = build_info()
    try:
        return json.dumps(whole, allow_nan=False).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        raise WriterError(f"the metadata cannot be written as JSON: {error}") from error


def parse_metadata_text(text: str) -> dict[str, Any]:
    """The object that a JSON text holds.  Raises `WriterError`."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise WriterError(f"metadata is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise WriterError("the metadata must be a JSON object", actual=type(value).__name__)
    return value
