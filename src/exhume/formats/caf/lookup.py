"""One name in a large index, without parsing all of it: a walk over the text in windows that keeps nothing.

The walk accepts only the form that the reference writers make (`canonical.py`) and checks every entry of it, so its
answer is the one that parsing gives; anything else makes it give up, and the caller parses.
"""

from __future__ import annotations

import json
import re

from exhume.formats.caf.canonical import OFFSET, PREFIX, SUFFIX, TEXT
from exhume.source import Source

WINDOW = 4 << 20
"""Bytes of index text held at a time."""

_RUN = re.compile(rb'(?:"' + TEXT + rb'":\{"start_byte":(?:0|[1-9][0-9]{0,17}),"end_byte":(?:0|[1-9][0-9]{0,17})\},)*+')
_LAST = re.compile(rb'"' + TEXT + rb'":\{"start_byte":(?:0|[1-9][0-9]{0,17}),"end_byte":(?:0|[1-9][0-9]{0,17})\}\}\}')


def find_member(source: Source, ofs_index: int, index_size: int, name: str) -> tuple[int, int] | None:
    """The range that the last entry called `name` gives, unchecked against the data section.

    None when there is no such entry or the index has another form: the caller then parses it, and knows.
    """
    try:
        spelled = name.encode("utf-8")
    except UnicodeEncodeError:
        return None
    escaped = json.dumps(name, ensure_ascii=False).encode("utf-8")[1:-1]
    if escaped != spelled:
        return None  # several spellings: not worth guessing
    end = ofs_index + index_size
    if source.read_at(ofs_index, min(index_size, len(PREFIX))) != PREFIX:
        return None
    needle = b'"' + spelled + b'":{"start_byte":'
    entry = re.compile(re.escape(needle) + OFFSET + rb',"end_byte":' + OFFSET + rb"\}")
    found: tuple[int, int] | None = None
    rest = b""
    at = ofs_index + len(PREFIX)
    while at < end:
        size = min(WINDOW, end - at)
        window = rest + source.read_at(at, size)
        at += size
        if b"\\" in window:
            return None  # the name may be spelled with escapes too
        run = _RUN.match(window)
        stop = run.end() if run else 0
        if at == end:
            last = _LAST.match(window, stop)
            if last is None or last.end() != len(window):
                return None
            stop = len(window) - len(SUFFIX)
        elif stop == 0:
            return None
        try:
            window[:stop].decode("utf-8")
        except UnicodeDecodeError:
            return None
        hit = window.find(needle, 0, stop)
        while hit >= 0:
            match = entry.match(window, hit)
            if match and (hit == 0 or window[hit - 1] == 0x2C):
                found = int(match[1]), int(match[2])
            hit = window.find(needle, hit + 1, stop)
        rest = window[stop:] if at < end else b""
        if len(rest) > WINDOW:
            return None
    return found
