"""The fields of Protocol Buffers messages by name, through the generated reader.

What a schema cannot say stands here: that the last field of a number counts, and what becomes of unknown ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from exhume_ksy.facts.data_bundle_config import Names as ConfigNames
from exhume_ksy.facts.data_bundle_field import WireTypes
from exhume_ksy.facts.data_bundle_file_metadata import Names as FileNames
from exhume_ksy.facts.data_bundle_record_metadata import Names as RecordNames
from exhume_ksy.fast._layout import LayoutError
from exhume_ksy.fast.data_bundle_field import read_data_bundle_field
from exhume_ksy.fast.leveldb_bytes import LeveldbBytes

from exhume.formats.leveldb.wire import WireError

__all__ = ["ConfigNames", "FileNames", "RecordNames", "collect", "names"]

Names = Mapping[int, str]
"""Names by what announces a field: eight times its number, and its wire type."""


def names(numbers: Mapping[int, str], texts: Mapping[int, str] | None = None) -> Names:
    """The names of fields that hold numbers, and of those that hold bytes, by field number."""
    found = {number << 3 | WireTypes.VARINT: name for number, name in numbers.items()}
    return found | {number << 3 | WireTypes.BYTES: name for number, name in (texts or {}).items()}


def collect(data: bytes, known: Names) -> tuple[dict[str, Any], tuple[int, ...]]:
    """Known fields by name, in the order in which each was last there, and the numbers of unknown ones.

    Raises `WireError` for what is no message, and for a known field of another wire type.
    """
    values: dict[str, Any] = {}
    unknown: list[int] = []
    at, end, index = 0, len(data), 0
    try:
        while at < end:
            start = at
            field, at = read_data_bundle_field(data, at, end)
            name = known.get(field.key)
            if name is None:
                _check_type(field.number, field.wire_type, known, start, at)
                unknown.append(field.number)
            else:
                values.pop(name, None)
                value = field.value
                values[name] = value.data if isinstance(value, LeveldbBytes) else value
            index += 1
    except LayoutError as error:
        if error.path == "key":
            error.expected = f"a field number and wire type {', '.join(map(str, map(int, WireTypes)))}"
        error.within(f"fields[{index}]")
        raise WireError(str(error), error.at) from error
    return values, tuple(unknown)


def _check_type(number: int, wire: int, known: Names, start: int, stop: int) -> None:
    for key in known:
        if key >> 3 == number:
            raise LayoutError("wire_type", start, stop, f"wire type {key & 7} of field {number}", wire)
