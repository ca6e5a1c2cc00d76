"""The MCAP files that a log was made of, as its metadata describe them: what an export restores.

`mcap_import` writes these entries.  A log's metadata may come from anybody: an entry of another form is like any other.

Spec: none of ours; https://mcap.dev/spec.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from exhume.errors import FormatError
from exhume.formats.ark.jsonform import to_bytes
from exhume.formats.ark.log import Channel
from exhume.formats.ark.rbuf.decoder import decoder_for

WRAPPED: Final = frozenset(("exhume::Json", "exhume::Foreign", "exhume::TimedJson", "exhume::TimedForeign"))
"""Types of values that contain a message of another encoding."""

_KEY: Final = re.compile(r"mcap\.(\d+\.)?(.+)", re.DOTALL)


class Attachment(NamedTuple):
    """The arguments of the library's `add_attachment`."""

    create_time: int
    log_time: int
    name: str
    media_type: str
    data: bytes


class OriginalChannel(NamedTuple):
    """A channel of the file: its message encoding, its schema (None: without one), and its metadata."""

    encoding: str
    schema: tuple[str, str, bytes] | None
    metadata: dict[str, str]


@dataclass
class Origin:
    """Everything that the metadata of a log say about the files that it was made of; `rest` are the other entries."""

    header: tuple[str, str] | None = None
    schemas: dict[tuple[str, int], tuple[str, str, bytes]] = field(default_factory=dict)
    channels: dict[str, OriginalChannel] = field(default_factory=dict)
    records: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    attachments: list[Attachment] = field(default_factory=list)
    rest: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, metadata: Mapping[str, str]) -> Origin:
        """Read the entries of a log."""
        found = cls()
        read: dict[str, Callable[[str, Any], None]] = {
            "header": found._header,
            "schemas": found._schemas,
            "metadata": found._records,
            "attachments": found._attachments,
        }
        channels: list[tuple[str, str, Any]] = []
        for key, text in metadata.items():
            match = _KEY.fullmatch(key)
            if match is None:
                found.rest[key] = text
                continue
            try:
                value = json.loads(text)
                if match[2] == "channels":
                    channels.append((match[1] or "", key, value))
                elif match[2] in read:
                    read[match[2]](match[1] or "", value)
                else:
                    found.records.append((match[2], _texts(value)))
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                found.rest[key] = text
        for prefix, key, value in channels:  # after the schemas, which they name
            try:
                found.channels |= found._channels(prefix, value)
            except (ValueError, KeyError, TypeError, AttributeError):
                found.rest[key] = metadata[key]
        return found

    def _header(self, prefix: str, value: Any) -> None:
        if prefix or self.header is not None:
            raise ValueError("a file has one header")
        self.header = _text(value["profile"]), _text(value["library"])

    def _schemas(self, prefix: str, value: Any) -> None:
        self.schemas |= {
            (prefix, int(one["id"])): (_text(one["name"]), _text(one["encoding"]), _bytes(one["base64"]))
            for one in value
        }

    def _channels(self, prefix: str, value: Any) -> dict[str, OriginalChannel]:
        return {
            _text(one["identifier"]): OriginalChannel(
                _text(one["message_encoding"]),
                self.schemas[prefix, one["schema_id"]] if one["schema_id"] else None,
                _texts(one["metadata"]),
            )
            for one in value
        }

    def _records(self, _prefix: str, value: Any) -> None:
        self.records += [(_text(one["name"]), _texts(one["metadata"])) for one in value]

    def _attachments(self, _prefix: str, value: Any) -> None:
        self.attachments += [
            Attachment(
                _time(one["create_time"]),
                _time(one["log_time"]),
                _text(one["name"]),
                _text(one["media_type"]),
                _bytes(one["base64"]),
            )
            for one in value
        ]

    def channel(self, channel: Channel) -> OriginalChannel | None:
        """What a channel was in the file; None if its messages are what they are."""
        found = self.channels.get(channel.identifier)
        return found if channel.type in WRAPPED and channel.declaration.registry is not None else None


class Message(NamedTuple):
    """A message as a file has it."""

    data: bytes
    publish_time: int
    sequence: int


def unwrapper(channel: Channel, as_json: bool) -> Callable[[bytes, int], Message]:
    """What makes the original message of a stored one, given as rbuf, or as JSON text, and its time."""
    registry = channel.declaration.registry
    assert registry is not None
    decode = json.loads if as_json else decoder_for(registry, channel.type).decode

    def unwrap(stored: bytes, time_ns: int) -> Message:
        value: Any = decode(stored)
        try:
            data = value["json"].encode() if "json" in value else value["data"]
            whole = to_bytes(data) if as_json and not isinstance(data, bytes) else bytes(data)
            return Message(whole, int(value.get("publish_time", time_ns)), int(value.get("sequence", 0)))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FormatError("not a message of another encoding", actual=error) from error

    return unwrap


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    value.encode()  # a lone surrogate has no form in a file
    return value


def _texts(value: Any) -> dict[str, str]:
    return {_text(key): _text(one) for key, one in value.items()}


def _bytes(value: Any) -> bytes:
    return base64.b64decode(_text(value), validate=True)


def _time(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 64:
        raise ValueError(value)
    return value
