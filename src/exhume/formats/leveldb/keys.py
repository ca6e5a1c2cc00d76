"""User keys as text: printable UTF-8 stands for itself, and every other byte is an escape.

The escapes are those of `exhume.cli.params.ByteText`, so that printed keys can be typed in again.
"""

from __future__ import annotations


def key_text(key: bytes) -> str:
    r"""A key on one line; bytes that are not printable UTF-8 become `\xHH`, and backslashes are doubled."""
    out = []
    for char in key.decode("utf-8", "surrogateescape"):
        if char == "\\":
            out.append("\\\\")
        elif char.isprintable() and not "\ud800" <= char <= "\udfff":
            out.append(char)
        else:
            out += [f"\\x{byte:02x}" for byte in char.encode("utf-8", "surrogateescape")]
    return "".join(out)
