"""Is this an Ark log?  Manifests, log roots and split files are recognized.

A log root is a directory with `manifests/` and `splits/`, whose files are named by GUIDs.  Some modules are imported
inside functions, so that recognizing other formats loads little.
"""

from __future__ import annotations

import os

from exhume_ksy.facts.ark_rbuf import ObjectHeader
from exhume_ksy.facts.ark_serializable_file import FileFooter

from exhume.counts import counted
from exhume.errors import ExhumeError, Span
from exhume.formats.ark import assumptions
from exhume.formats.ark.names import PARTIAL_SUFFIX, find_manifests, is_guid
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.registry import Identification

PROBE_SIZE = 64 << 10
"""Bytes of a manifest's tail that are searched for its type name when the trailer is not whole."""

SHORTEST = 19
"""Bytes below which a file is not examined: a split's header takes more than a header byte, a version and a GUID."""


def probe(source: Source | Tree) -> Identification | None:
    """Rate how much a file or directory looks like an Ark log, with a few small reads."""
    return _probe_tree(source) if isinstance(source, Tree) else _probe_file(source)


def _probe_tree(tree: Tree) -> Identification | None:
    """Identify a directory by its manifests or, without any, by its split files."""
    found = find_manifests(tree, unfinished=True, below=False)
    if not found:
        return _probe_splits(tree)
    span = Span(tree.name, 0, 0)
    name = found[0]
    tree.will_read(found[:16])
    with tree.source(name) as source:
        inner = _probe_file(source)
    evidence = [f"{counted(len(found), 'manifests')} named by a GUID below {name.rpartition('/')[0]}/"]
    if name.endswith(PARTIAL_SUFFIX):
        evidence.append("not finished by its writer")
    confidence = 0.6
    if inner is not None:
        confidence = max(confidence, inner.confidence)
        evidence += inner.evidence
    return Identification("ark", confidence, span, tuple(evidence))


def owns(name: str) -> bool:
    """Whether a file or directory of this name, relative to a log root, is a part of the log."""
    folder, _, last = name.partition("/")
    return folder in ("manifests", "splits") and (not last or is_guid(last.removesuffix(PARTIAL_SUFFIX)))


def _probe_splits(tree: Tree) -> Identification | None:
    """A log root that has lost its manifests."""
    names = [name for name in tree.names("splits") if is_guid(name.rpartition("/")[2])]
    for name in names[:4]:
        try:
            with tree.source(name) as source:
                if is_split(source):
                    evidence = (f"{counted(len(names), 'files')} named by a GUID below splits/", "no manifest")
                    return Identification("ark", 0.6, Span(tree.name, 0, 0), evidence)
        except ExhumeError:
            continue
    return None


def _probe_file(source: Source) -> Identification | None:
    """Identify a single file from its first byte, its header, its last bytes and its path.

    The confidence (0 to 1) is that of the first test that succeeds. None if no test does.
    """
    if source.size < SHORTEST:
        return None
    span = source.span(0, source.size)
    # Both kinds of file begin with the header byte of an object.
    first = source.read_at(0, 3)
    if first[0] >> ObjectHeader.shift.magic != ObjectHeader.magic:
        return None
    from exhume.formats.ark.rbuf.layout import OBJECTS

    if first[0] not in OBJECTS:
        return None
    try:
        if is_split(source):
            return Identification("ark", 0.9, span, ("a split header with a format version of 1",))
    except ExhumeError:
        return None
    # A manifest ends with a trailer that names its type; without it, the path may show what the file is.
    tail = source.read_at(max(0, source.size - PROBE_SIZE), min(source.size, PROBE_SIZE))
    type_name = assumptions.MANIFEST_TYPE.encode()
    if len(tail) >= FileFooter.size and tail.endswith(FileFooter.magic):
        if type_name in tail or source.size > PROBE_SIZE:
            return Identification("ark", 0.98, span, ("an rbuf object with a trailer that calls it a log manifest",))
        return Identification("ark", 0.6, span, ("an rbuf object with a serializable-file trailer",))
    if type_name in tail:
        return Identification("ark", 0.8, span, ("an rbuf object followed by the name of the manifest type",))
    folder, _, name = (source.location or "").replace(os.sep, "/").rpartition("/")
    if folder.rpartition("/")[2] == "manifests" and is_guid(name.removesuffix(PARTIAL_SUFFIX)):
        return Identification("ark", 0.7, span, ("an rbuf object named by a GUID in a directory `manifests`",))
    head = source.read_at(0, min(source.size, PROBE_SIZE))
    if b'{"schemas"' in head:
        return Identification("ark", 0.6, span, ("an rbuf object that holds a schema registry",))
    return None


def is_split(source: Source) -> bool:
    """Whether a file is a split: its header parses and its index starts inside the file."""
    from exhume.formats.ark.layout import HEADER_WINDOW, SPLIT_STARTS, parse_split_header

    head = source.read_up_to(0, HEADER_WINDOW)
    if not head.startswith(SPLIT_STARTS):
        return False
    try:
        header = parse_split_header(head, source.span(0, len(head)))
    except ExhumeError:
        return False
    return header.index_offset >= header.size and bool(header.mappings or not header.item_count)
