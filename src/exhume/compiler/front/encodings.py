"""The encodings that a specification may name: those of characters."""

from __future__ import annotations

import codecs
import re

from exhume.compiler.refusal import UnsupportedError

_STRANGE = frozenset(("idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape", "mbcs", "oem"))
"""Encodings of Python that are none of characters."""


def text_encoding(found: object) -> str:
    """The name of an encoding; raises `UnsupportedError` for any that is not one of characters."""
    known = None
    if isinstance(found, str) and re.fullmatch(r"[A-Za-z0-9_.:-]{1,40}", found) is not None:
        try:
            known = codecs.lookup(found)
        except LookupError:
            known = None
    if known is None or known.name.replace("-", "_") in _STRANGE or not known._is_text_encoding:  # noqa: SLF001
        raise UnsupportedError(f"encoding {found!r:.60} is not known")
    assert isinstance(found, str)
    return found
