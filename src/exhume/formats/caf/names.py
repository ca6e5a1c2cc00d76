"""Names on their way into an index: text is kept exactly, file system bytes that are not UTF-8 become U+FFFD.

CAF cannot store them otherwise.  The number of U+FFFD differs between the reference writers, and exhume does what the
writer of the chosen index order does: Go (`sorted`) writes one per bad byte, as the escape `\\ufffd`, and sorts by the
original bytes; JavaScript (`insertion`) decodes to one per bad sequence, written literally.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import NamedTuple

from exhume.counts import counted
from exhume.errors import WriterError, shorten
from exhume.formats.caf.build import ESCAPES, IndexOrder, spell_raw
from exhume.limits import DEFAULT_LIMITS

PLAIN = 4096
"""ASCII names up to this length that need no escape in either order take a short cut."""

_SPECIAL = re.compile(r'[\x00-\x1f"\\<>&]')


class MemberName(NamedTuple):
    """`text` is what readers see, `spelled` its bytes in the index (a count), `raw` the original if it is not UTF-8."""

    text: str
    spelled: int
    raw: bytes | None = None


def are_plain(names: Sequence[str]) -> bool:
    """Whether all names are short ASCII without anything that an index spells differently: text equals spelling."""
    everything = "/".join(names)
    return everything.isascii() and _SPECIAL.search(everything) is None and max(map(len, names), default=0) <= PLAIN


def member_name(name: str | bytes, order: IndexOrder) -> MemberName:
    """The name to store.  Raises `WriterError` when it is longer than readers can be expected to accept."""
    if isinstance(name, str) and name.isascii() and len(name) <= PLAIN and _SPECIAL.search(name) is None:
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
