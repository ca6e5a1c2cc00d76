"""What a flipped bit does to a small stream: told by `verify`, without meaning, or not to be told, field by field.

    python -m tests.kv_ir.flips [--write]

`--write` puts the table into `docs/formats/kv_ir.md`.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import exhume
from exhume.errors import ExhumeError
from exhume.formats.kv_ir.layout import (
    INTEGERS,
    KEYS,
    LOG_TYPES,
    NODES,
    PARENTS,
    TEXTS,
    VARIABLE_TEXTS,
    Tags,
    flat_token,
)
from tools import blocks

from .streams import EVENTS, HEAD, SMALL, wrapped

PAGE, TARGET = "formats/kv_ir.md", "flips"

WHY = {
    "magic number": "no stream begins otherwise",
    "type and length of the metadata": "only one of each fits what follows",
    "metadata": "the version is checked; two names are not looked at, and what the user said may be any JSON",
    "tags": "null and an empty object differ in one bit, and keys of both are of one type",
    "type of a new key": "null, and an empty object, are values of one type of keys only; other values tell",
    "object that a new key stands in": "any known object is as good",
    "names of keys": "any text is a name; UTF-8 is checked",
    "keys of events": "a known key of the same type would be as good; here there is none so near",
    "lengths": "the next byte has to start a token, and mostly does not",
    "integers": "any number is one",
    "floats": "any number is one",
    "variables": "any number is one; how many digits a fraction has is checked",
    "texts": "any text is one; UTF-8 is checked, and whether an array is one",
    "log types": "any text is one; that its marks fit the variables is checked",
    "the end": "a stream without its end is told, as is what follows it",
    "a zstd frame with a checksum": "bits of its header that say how much memory it takes, and one that is not used",
    "a zstd frame without": "as above, and all that is not told inside",
}
"""Each kind of field, and why a flipped bit of it need not be told."""


def fields() -> dict[int, str]:
    """What each byte of the stream is."""
    found = dict.fromkeys(range(len(HEAD)), "metadata")
    found.update(dict.fromkeys(range(4), "magic number"))
    found.update(dict.fromkeys(range(4, 7), "type and length of the metadata"))
    at, naming = len(HEAD), False
    while at < len(SMALL):
        after, tag, *_, start, _ = flat_token(SMALL, at, len(SMALL))
        found[at] = "the end" if tag == Tags.END_OF_STREAM else "type of a new key" if tag in NODES else "tags"
        found.update(dict.fromkeys(range(at + 1, start or at + 1), "lengths"))
        found.update(dict.fromkeys(range(start or at + 1, after), _content(tag, naming=naming)))
        naming = tag in PARENTS
        at = after
    return found


def _content(tag: int, *, naming: bool) -> str:
    if tag in TEXTS:
        return "names of keys" if naming else "texts"
    for tags, what in (
        (PARENTS, "object that a new key stands in"),
        (KEYS, "keys of events"),
        (INTEGERS, "integers"),
        ((Tags.REAL,), "floats"),
        ((Tags.VARIABLE_4, Tags.VARIABLE_8), "variables"),
        (VARIABLE_TEXTS, "texts"),
        (LOG_TYPES, "log types"),
    ):
        if tag in tags:
            return what
    return ""


def outcome(data: bytes) -> str:
    """What comes of a stream: `told` by `verify`, the `same` events, or `others` with nothing told."""
    findings = list(exhume.verify(data, format="kv-ir"))
    events: list[Any] = []
    try:
        with exhume.open(data, format="kv-ir") as archive:
            events += archive.events()
            metadata = archive.user_metadata
    except ExhumeError:
        assert findings, "what reading refuses is told"
    if findings:
        return "told"
    return "same" if (events, metadata) == (EVENTS, {"host": "a1"}) else "others"


def flipped(data: bytes) -> Iterator[tuple[int, bytes]]:
    """A file with each of its bits flipped, and the byte that it is in."""
    for at in range(len(data)):
        for bit in range(8):
            changed = bytearray(data)
            changed[at] ^= 1 << bit
            yield at, bytes(changed)


def table() -> str:
    """The table of the documentation."""
    named = fields()
    counts: dict[str, Counter[str]] = {what: Counter() for what in WHY}
    for at, data in flipped(SMALL):
        counts[named[at]][outcome(data)] += 1
    for what, checksum in (("a zstd frame with a checksum", True), ("a zstd frame without", False)):
        counts[what].update(outcome(data) for _, data in flipped(wrapped(SMALL, checksum=checksum)))
    lines = [
        "| bits of | flipped | told | without meaning | not to be told | why |",
        "| --- | ---: | ---: | ---: | ---: | --- |",
    ]
    for what, count in counts.items():
        numbers = " | ".join(f"{number:,}" for number in (count.total(), count["told"], count["same"], count["others"]))
        lines.append(f"| {what} | {numbers} | {WHY[what]} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    if parser.parse_args().write:
        blocks.write_block(PAGE, TARGET, table())
    else:
        sys.stdout.write(table())


if __name__ == "__main__":
    main()
