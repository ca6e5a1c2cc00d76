"""Which member names may become names of files."""

from __future__ import annotations

import re

from exhume.errors import UnsafePathError, shorten
from exhume.io.files import WINDOWS_NAMES

NAME_MAX = 255
"""Bytes in one path component that every common file system takes."""

PATH_MAX = 4095
"""Bytes in a whole member name."""

_NO_PART = frozenset(("", ".", ".."))

_DEVICES = r"\A(?:CON|PRN|AUX|NUL|(?:COM|LPT)[0-9\xb9\xb2\xb3]|CONIN\$|CONOUT\$)[ ]*(?:\.|\Z)"
_NOT_ON_WINDOWS = re.compile(rf'[<>:"|?*\\\x00-\x1f]|[ .]\Z|{_DEVICES}', re.IGNORECASE)
"""Components that Windows takes for something else, or cannot store: drives, streams, devices, separators, names
without their end."""

_ELSEWHERE = re.compile(rf"\\|\A[A-Z]:|{_DEVICES}", re.IGNORECASE)
"""Components that lead to another place on Windows: separators, drives, devices."""


def foreign_to_windows(part: str) -> bool:
    """Whether a component of a name means something else on Windows."""
    return _NOT_ON_WINDOWS.search(part) is not None


def safe_parts(name: str, *, portable: bool = False) -> list[str]:
    """A member name as path components, or `UnsafePathError`: what is refused here is never written anywhere.

    Refused: empty names and components, absolute names, `.` and `..`, NUL, components over 255 bytes, names over 4095
    bytes, names that the file system's encoding cannot hold; on Windows, components that mean something else there;
    with `portable`, for archives that may be unpacked there, components that lead to another place there.
    """
    parts = name.split("/")
    rules = _NOT_ON_WINDOWS if WINDOWS_NAMES else _ELSEWHERE if portable else None
    if _NO_PART.isdisjoint(parts) and name.isascii() and len(name) <= NAME_MAX and "\0" not in name and rules is None:
        return parts  # as nearly all are
    reason = ""
    if not name:
        reason = "empty name"
    elif "\0" in name:
        reason = "NUL in the name"
    elif name.startswith("/"):
        reason = "absolute name"
    elif ".." in parts:
        reason = "leads out of its directory"
    elif any(part in ("", ".") for part in parts):
        reason = "empty or '.' path component"
    elif rules is not None and any(map(rules.search, parts)):
        reason = "means something else on Windows"
    else:
        try:
            sizes = [len(part.encode("utf-8")) for part in parts]
        except UnicodeEncodeError:
            reason = "not representable in UTF-8"
        else:
            if max(sizes) > NAME_MAX or sum(sizes) + len(sizes) - 1 > PATH_MAX:
                reason = "name too long"
    if reason:
        raise UnsafePathError(f"refused member name ({reason})", actual=shorten(name))
    return parts
