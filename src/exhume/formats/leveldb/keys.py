"""User keys as text: printable UTF-8 stands for itself, and every other byte is an escape.

The escapes are those of `exhume.cli.params.ByteText`, so that printed keys can be typed in again.
"""

from __future__ import annotations

_PLAIN = bytes(byte for byte in range(0x20, 0x7F) if byte != 0x5C)
"""Bytes that stand for themselves."""


def key_text(key: bytes) -> str:
    r"""A key on one line; bytes that are not printable UTF-8 become `\xHH`, and backslashes are doubled."""
    rest = key.translate(None, _PLAIN)
    if not rest:
        return key.decode("ascii")
    text = key.decode("utf-8", "surrogateescape").replace("\\", "\\\\")
    if rest.isascii():
        odd: set[str] = set(rest.decode("ascii")) - {"\\"}
    else:
        odd = {char for char in text if not char.isprintable()}
    for char in odd:
        escape = "".join([f"\\x{byte:02x}" for byte in char.encode("utf-8", "surrogateescape")])
        text = text.replace(char, escape)
    return text
