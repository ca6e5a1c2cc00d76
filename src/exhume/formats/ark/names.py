"""Names of a log's files: manifests and splits are named by GUIDs.

Spec: ark_log.txt, On-Disk Format.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from exhume.io.tree import Tree

PARTIAL_SUFFIX: Final = ".partial"
"""End of a manifest's name while the log is written."""

_GUID = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")


def is_guid(text: str) -> bool:
    """Whether a file name is a GUID in its 8-4-4-4-12 form, either case."""
    return _GUID.fullmatch(text) is not None


def find_manifests(tree: Tree, *, unfinished: bool = False, below: bool = True) -> list[str]:
    """Manifests of a log root, or (with `below`) of the roots below a directory; `unfinished`: partial ones, too."""
    names = [name for name in tree.names("manifests") if _is_manifest(name, unfinished)]
    if not names and below:
        names = [
            name for name in tree.names() if name.split("/")[-2:-1] == ["manifests"] and _is_manifest(name, unfinished)
        ]
    # If a manifest has both forms, only the finished one counts.
    finished = {name for name in names if not name.endswith(PARTIAL_SUFFIX)}
    return [name for name in names if name in finished or name.removesuffix(PARTIAL_SUFFIX) not in finished]


def _is_manifest(name: str, unfinished: bool) -> bool:
    """Return whether a file is named like a manifest: by a GUID, with the suffix of a log that is still written."""
    last = name.rpartition("/")[2]
    return is_guid(last) or (unfinished and last.endswith(PARTIAL_SUFFIX) and is_guid(last[: -len(PARTIAL_SUFFIX)]))
