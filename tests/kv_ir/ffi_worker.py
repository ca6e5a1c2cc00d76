"""Asks clp-ffi-py, in an environment of its own: events to the bytes of a stream, or a stream to its events."""

from __future__ import annotations

import base64
import io
import json
import sys
from typing import Any

import msgpack
from clp_ffi_py.ir import Deserializer, Serializer  # type: ignore[import-not-found]


class _Kept(io.BytesIO):
    """Bytes that stay when the serializer closes them."""

    def close(self) -> None:
        pass


def main() -> None:
    """Answer one line of JSON with one line of JSON."""
    for line in sys.stdin:
        question = json.loads(line)
        answer = written(**question["write"]) if "write" in question else read(question["read"])
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def written(events: list[Any], metadata: dict[str, Any] | None) -> str:
    """The stream of events given as `[auto, user]`, in base64."""
    out = _Kept()
    serializer = Serializer(out, user_defined_metadata=metadata)
    for auto, user in events:
        serializer.serialize_log_event_from_msgpack_map(
            auto_gen_msgpack_map=msgpack.packb(auto), user_gen_msgpack_map=msgpack.packb(user)
        )
    serializer.close()
    return base64.b64encode(out.getvalue()).decode()


def read(stream: str) -> list[Any]:
    """The events of a stream in base64."""
    deserializer = Deserializer(io.BytesIO(base64.b64decode(stream)))
    found = []
    while (event := deserializer.deserialize_log_event()) is not None:
        found.append(event.to_dict())
    return found


main()
