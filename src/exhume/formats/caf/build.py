"""Names on their way into an index, and the index exactly as the reference writers write it, byte for byte."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple

from exhume.counts import counted
from exhume.errors import WriterError, shorten
from exhume.formats.caf.pykernel import PUNCTUATION
from exhume.formats.caf.table import PREFIX, SUFFIX
from exhume.limits import DEFAULT_LIMITS

IndexOrder = Literal["sorted", "insertion"]
ORDERS: tuple[IndexOrder, ...] = ("sorted", "insertion")

_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}
_CONTROLS = {chr(code): f"\\u{code:04x}" for code in range(0x20)}
_GO = str.maketrans(_CONTROLS | _SHORT | {c: f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"})
_TS = str.maketrans(_CONTROLS | _SHORT | {"\b": "\\b", "\f": "\\f"})
_GO_SPECIAL = re.compile('[\x00-\x1f"\\\\<>&\u2028\u2029\ud800-\udfff]')
_TS_SPECIAL = re.compile('[\x00-\x1f"\\\\\ud800-\udfff]')
_LONE = re.compile("[\ud800-\udfff]")
_BAD_BYTE = re.compile("[\udc80-\udcff]")

NO_RAW: Mapping[str, bytes] = MappingProxyType({})
"""No names that were not UTF-8."""

BLOCK = 4096
"""Entries per piece of index text."""

MAX_ARRAY_INDEX = 4294967294
"""Names that are canonical integers up to this come first in a JavaScript object."""


def escape_sorted(name: str) -> bytes:
    """A name between the quotes of a JSON string, as Go 1.21 and older spell it.

    A lone surrogate, which a Go string cannot hold, is written as its escape.
    """
    if _GO_SPECIAL.search(name) is None:
        return name.encode("utf-8")
    return _escape_lone(name.translate(_GO)).encode("utf-8")


def escape_insertion(name: str) -> bytes:
    """A name between the quotes of a JSON string, as JavaScript spells it."""
    if _TS_SPECIAL.search(name) is None:
        return name.encode("utf-8")
    return _escape_lone(name.translate(_TS)).encode("utf-8")


def _escape_lone(text: str) -> str:
    return _LONE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


_SPECIAL = {"sorted": _GO_SPECIAL, "insertion": _TS_SPECIAL}

ESCAPES: dict[str, Callable[[str], bytes]] = {"sorted": escape_sorted, "insertion": escape_insertion}


def sort_key(name: str) -> bytes:
    """Go's order of names: their UTF-8 bytes (a lone surrogate sorts as its three-byte form)."""
    return name.encode("utf-8", "surrogatepass")


def is_array_index(name: str) -> bool:
    """Whether JavaScript treats the name as an array index, and so sorts it before all others."""
    return (
        name.isascii()
        and name.isdigit()
        and (name == "0" or name[0] != "0")
        and (len(name) < 10 or (len(name) == 10 and int(name) <= MAX_ARRAY_INDEX))
    )


def insertion_order(names: Iterable[str]) -> list[str]:
    """The order in which a JavaScript object lists keys that were added in this order."""
    integers: list[str] = []
    others: list[str] = []
    for name in names:
        (integers if is_array_index(name) else others).append(name)
    return sorted(integers, key=int) + others


def order_names(names: Iterable[str], order: IndexOrder, raw: Mapping[str, bytes] = NO_RAW) -> list[str]:
    """Names in the order of the index; `raw` has the original bytes of those that are not UTF-8."""
    if order == "insertion":
        return insertion_order(names)
    if not raw:
        return sorted(names)  # by code points, which is the order of the UTF-8 bytes
    return sorted(names, key=lambda name: raw.get(name) or sort_key(name))


def spell_raw(name: bytes) -> bytes:
    """A name that is not UTF-8, as Go spells it: the escape of U+FFFD for each bad byte."""
    text = name.decode("utf-8", "surrogateescape").translate(_GO)
    return _BAD_BYTE.sub("\\\\ufffd", text).encode("utf-8")


def iter_index(
    files: Mapping[str, tuple[int, int]], order: IndexOrder = "sorted", raw: Mapping[str, bytes] = NO_RAW
) -> Iterator[bytes]:
    """The index text in chunks.

    `files` maps names to half-open ranges, in the order of adding; `raw` maps names that were not UTF-8 to their
    original bytes.
    """
    escape, special = ESCAPES[order], _SPECIAL[order]
    if order == "insertion":
        raw = NO_RAW
    yield PREFIX
    comma = b""
    names = order_names(files, order, raw)
    for at in range(0, len(names), BLOCK):
        block = names[at : at + BLOCK]
        yield comma
        if not raw and special.search("".join(block)) is None:  # nothing to escape, as a rule
            places = map(files.__getitem__, block)
            plain = [
                f'"{name}":{{"start_byte":{a},"end_byte":{b}}}' for name, (a, b) in zip(block, places, strict=True)
            ]
            yield ",".join(plain).encode("utf-8")
        else:
            entries = [
                b'"%b":{"start_byte":%d,"end_byte":%d}'
                % (spell_raw(raw[name]) if name in raw else escape(name), *files[name])
                for name in block
            ]
            yield b",".join(entries)
        comma = b","
    yield SUFFIX


def build_index(
    files: Mapping[str, tuple[int, int]], order: IndexOrder = "sorted", raw: Mapping[str, bytes] = NO_RAW
) -> bytes:
    """The index text as one piece; see `iter_index`."""
    return b"".join(iter_index(files, order, raw))


def entry_size(spelled: int, start: int, end: int) -> int:
    """Bytes that one entry adds to the index, its comma included; `spelled` is the size of the escaped name."""
    return spelled + PUNCTUATION + len(str(start)) + len(str(end))


PLAIN = 4096
"""ASCII names up to this length that need no escape in either order take a short cut."""

_UNSAFE = re.compile(r'[\x00-\x1f"\\<>&]')


class MemberName(NamedTuple):
    """`text` is what readers see, `spelled` its bytes in the index (a count), `raw` the original if it is not UTF-8."""

    text: str
    spelled: int
    raw: bytes | None = None


def are_plain(names: Sequence[str]) -> bool:
    """Whether all names are short ASCII without anything that an index spells differently: text equals spelling."""
    everything = "/".join(names)
    return everything.isascii() and _UNSAFE.search(everything) is None and max(map(len, names), default=0) <= PLAIN


def member_name(name: str | bytes, order: IndexOrder) -> MemberName:
    """The name to store.  Raises `WriterError` when it is longer than readers can be expected to accept."""
    if isinstance(name, str) and name.isascii() and len(name) <= PLAIN and _UNSAFE.search(name) is None:
        return MemberName(name, len(name))
    raw = None
    if isinstance(name, str):
        text = name
    else:
        try:
            text = name.decode("utf-8")
        except UnicodeDecodeError:
            text, raw = _collapse(name, order), name
    if len(text) > DEFAULT_LIMITS.name_size:
        raise WriterError(
            "member name too long",
            format="caf",
            expected=f"at most {counted(DEFAULT_LIMITS.name_size, 'characters')}",
            actual=shorten(text),
        )
    spelled = spell_raw(raw) if raw is not None and order == "sorted" else ESCAPES[order](text)
    return MemberName(text, len(spelled), raw)


def _collapse(name: bytes, order: IndexOrder) -> str:
    if order == "insertion":
        return name.decode("utf-8", "replace")
    text = name.decode("utf-8", "surrogateescape")
    return "".join("\ufffd" if "\udc80" <= c <= "\udcff" else c for c in text)


def from_file_system(name: str) -> str | bytes:
    """A name from `os` calls: text, or its bytes if they are not UTF-8."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return os.fsencode(name)
    return name
