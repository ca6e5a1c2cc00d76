"""User keys as text: printable UTF-8 stands for itself, and every other byte is an escape.

The escapes are those of `exhume.cli.params.ByteText`, so that printed keys can be typed in again.
"""

from __future__ import annotations

import re

_ODD = re.compile(r"[^ -\[\]-~]+")
"""What is not printable ASCII, or a backslash."""


def key_text(key: bytes) -> str:
    r"""A key on one line; bytes that are not printable UTF-8 become `\xHH`, and backslashes are doubled."""
    return _ODD.sub(_escaped, key.decode("utf-8", "surrogateescape"))


def _escaped(found: re.Match[str]) -> str:
    out = []
    for char in found[0]:
        if char == "\\":
            out.append("\\\\")
        elif char.isprintable():
            out.append(char)
        else:
            out += [f"\\x{byte:02x}" for byte in char.encode("utf-8", "surrogateescape")]
    return "".join(out)
