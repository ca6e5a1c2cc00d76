"""User keys as text and back: what is printable UTF-8 stands for itself, every other byte is an escape.

The same escapes as in `exhume.cli.params.ByteText`, so that what is printed can be typed.
"""

from __future__ import annotations


def key_text(key: bytes) -> str:
    r"""A key on one line; bytes that are not printable UTF-8 become `\xHH`, a backslash is doubled."""
    out = []
    for char in key.decode("utf-8", "surrogateescape"):
        if char == "\\":
            out.append("\\\\")
        elif char.isprintable() and not "\ud800" <= char <= "\udfff":
            out.append(char)
        else:
            out += [f"\\x{byte:02x}" for byte in char.encode("utf-8", "surrogateescape")]
    return "".join(out)
