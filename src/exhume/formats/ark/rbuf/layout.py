"""The bytes that frame rbuf objects and groups, from their specification.

Only these come from it: which fields an object has is said by the registry of its log, so `compiler` makes its readers.
"""

from __future__ import annotations

from typing import Final

from exhume_ksy.facts.ark_rbuf import GroupHeader, ObjectHeader

HEADER: Final = ObjectHeader.magic << ObjectHeader.shift.magic | ObjectHeader.version << ObjectHeader.shift.version
GROUPS_BIT: Final = 1 << ObjectHeader.shift.has_groups
RESERVED: Final = 1 << ObjectHeader.shift.reserved
HEADER_WITH_GROUPS: Final = HEADER | GROUPS_BIT
HEADERS: Final = (HEADER, HEADER_WITH_GROUPS)

GROUP_LAST: Final = GroupHeader.magic << GroupHeader.shift.magic
GROUP_MORE: Final = 1 << GroupHeader.shift.has_more
GROUP_HEADER_SIZE: Final = GroupHeader.size


def is_object(head: int) -> bool:
    """Whether a byte carries the mark of an object header, whatever else it says."""
    return head >> ObjectHeader.shift.magic == ObjectHeader.magic
