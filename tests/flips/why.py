"""Why a flipped bit of a field need not be found: what the map of sections and the specification cannot say."""

from __future__ import annotations

import re

FRAME = "how much memory decompressing takes, and a bit that is not used"
TORN = "a last record that does not fit is also what a crash leaves"

WHY: dict[str, dict[str, str]] = {
    "clp-s": {
        r"header: version\.": "another version that exists is as good; one that does not is warned of",
        r"header: len_original": "nothing else says how large the input was",
        r"header: reserved": "unused zeros; others are warned of",
        r".*frames\.body\.(descriptor|window)": FRAME,
        r"metadata: .*content": "names, patterns, loose bounds: compressed, without a checksum",
        r"schema_tree: .*content": "any text is a name; types of values of the same width",
        r"schema_ids: .*content": "another node whose values have the same width",
        r"table_metadata: .*content": "bytes after the last table are warned of",
        r"(var|log|array)\.dict: .*(content|value)": "any text is one; what is not UTF-8 is warned of",
        r"stream: .*content": "any value is one: compressed, without a checksum",
    },
    "clp-ir": {
        r"preamble: metadata": "the version and the reference time are checked; any pattern and time zone is one",
        r"units: tokens\.tag": "widths of lengths and times differ in one bit; what cannot be is found",
        r"units: tokens\.number": "any number is one, as a variable and as a time",
        r"units: tokens\.text": "any text is one; UTF-8 and the marks of a log type are checked",
        r"stream: frames\.body\.descriptor": FRAME,
        r"stream: .*content": "bits that are not used: the frame has a checksum",
    },
    "kv-ir": {
        r"preamble: metadata": "the version is checked; two names are not examined, the user's part may be any JSON",
        r"units: tokens\.tag": "null and an empty object differ in one bit, and keys of both are of one type",
        r"units: tokens\.number": "any number is one, any known object can hold a key; what cannot be is found",
        r"units: tokens\.len_text": "the next byte has to start a token, and mostly does not",
        r"units: tokens\.text": "any text is one; UTF-8, the marks of a log type, and arrays are checked",
        r"units: tokens\.real": "any number is one",
        r"stream: frames\.body\.descriptor": FRAME,
        r"stream: .*content": "without a checksum: all that is not found inside; with one: bits that are not used",
    },
    "zs": {},
    "ark": {
        r"manifest: (common|.*original_log)_identifier": "nothing else in a log says which it is",
        r"manifest: (name|groups\.body\.entries)": "names, and what the user said: any text is one",
        r"manifest: groups\.body\.sections\.columns\.(object_types\.)?name": "any text is a name; UTF-8 is checked",
        r".*schema_registry": "spaces and names in a description of types that fits the messages as well",
        r"manifest: groups.*header\.number": "a group of another number is one that newer versions may have",
        r"manifest: .*latched": "a channel may be latched or not",
        r"split header: num_maximum_items": "how much space the writer left in the index",
        r"split header padding": "unused space",
        r"split index: entries\.flags": "other flags are warned of",
        r"split message: ": "any value is one: no checksum but that of the codec (bz2, lzma)",
    },
    "caf": {
        r"file": "content has no checksum",
        r"index": "any text is a name; overlaps and unused bytes are warned of",
    },
    "databundle": {
        r".*footer: leveldb\.index\.len_block": "the same number, in one byte more",
        r".*footer: leveldb\.padding": "unused zeros; others are warned of",
        r"IDENTITY": "a name of the database that nothing refers to",
        r"shard/header: (len_header|header\.)": "a setting that is 0, absent or unknown is not compared with the index",
        r"shard/(header: )?padding": "unused zeros; others are warned of",
        r"shard/record": "bits after the end of a deflate stream",
    },
    "leveldb": {
        r".*footer: leveldb\.index\.len_block": "the same number, in one byte more",
        r".*footer: leveldb\.padding": "unused zeros; others are warned of",
        r"\.log: blocks\.fragments\.(len_data|fragment_type)": TORN,
        r"MANIFEST: blocks\.fragments\.(len_data|fragment_type)": TORN,
        r"IDENTITY": "a name of the database that nothing refers to",
    },
}
"""For each format: a pattern of fields, and the reason, in the order in which they are tried."""


def why(format: str, field: str) -> tuple[str, str]:
    """The pattern that a field matches, and the reason.  Raises `KeyError` if there is no reason."""
    for pattern, reason in WHY[format].items():
        if re.match(pattern, field):
            return pattern, reason
    raise KeyError(f"{format}: no reason why flipped bits of {field!r} are not found")
