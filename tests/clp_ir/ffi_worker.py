"""Asks clp-ffi-py, in an environment of its own: events to the bytes of a stream, a stream to its events, a search."""

from __future__ import annotations

import base64
import io
import json
import sys
from typing import Any

from clp_ffi_py.ir import ClpIrStreamReader, FourByteSerializer, QueryBuilder  # type: ignore[import-not-found]
from clp_ffi_py.wildcard_query import (  # type: ignore[import-not-found]
    FullStringWildcardQuery,
    SubstringWildcardQuery,
)


def main() -> None:
    """Answer one line of JSON with one line of JSON."""
    for line in sys.stdin:
        question = json.loads(line)
        answer = written(**question["write"]) if "write" in question else read(**question["read"])
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def written(reference: int, pattern: str, zone: str, events: list[tuple[int, str]]) -> str:
    """The stream of events given as times and messages in base64, in base64."""
    out = FourByteSerializer.serialize_preamble(reference, pattern, zone)
    last = reference
    for time, message in events:
        out += FourByteSerializer.serialize_message_and_timestamp_delta(time - last, base64.b64decode(message))
        last = time
    out += FourByteSerializer.serialize_end_of_ir()
    return base64.b64encode(bytes(out)).decode()


def read(stream: str, query: dict[str, Any] | None = None) -> list[tuple[int, str, str]]:
    """The time, the message and the printed form of each event, or of those that a query finds."""
    packed = base64.b64decode(stream)
    reader = ClpIrStreamReader(
        io.BytesIO(packed), enable_compression=packed[:1] == b"\x28", allow_incomplete_stream=True
    )
    events: Any = reader
    if query is not None:
        builder = QueryBuilder()
        builder.set_search_time_lower_bound(query["begin"]).set_search_time_upper_bound(query["end"])
        builder.set_search_time_termination_margin(1 << 60)
        kind = FullStringWildcardQuery if query["whole"] else SubstringWildcardQuery
        for text in query["texts"]:
            builder.add_wildcard_query(kind(text, not query["fold"]))
        events = reader.search(builder.build())
    return [(one.get_timestamp(), one.get_log_message(), str(one)) for one in events]


main()
