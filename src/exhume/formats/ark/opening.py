"""Finding the log in what was opened: a manifest file, a log root, a directory of logs, a lone split file."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from exhume.errors import ExhumeError, Span
from exhume.formats.ark.checks import NOT_A_LOG
from exhume.formats.ark.layout import HEADER_WINDOW, SPLIT_STARTS, parse_split_header
from exhume.formats.ark.manifest import (
    Column,
    LoadedManifest,
    Manifest,
    ManifestSection,
    ObjectDeclaration,
    Rung,
    SplitDeclaration,
    load_manifest,
)
from exhume.formats.ark.rbuf.guid import NIL, is_guid
from exhume.formats.ark.rbuf.layout import is_object
from exhume.formats.ark.reader import ArkReader
from exhume.io.opening import parent_tree
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    pass

PARTIAL_SUFFIX: Final = ".partial"
"""What a writer calls a manifest until the log is closed."""


def open_in_tree(tree: Tree, name: str, *, limits: Limits = DEFAULT_LIMITS, **options: Any) -> ArkReader:
    """The log whose manifest is the file `name` (`…manifests/<guid>`) of a tree."""
    path = PurePosixPath(name)
    folder = path.parent.parent.as_posix()
    root = tree if folder == "." else tree.subtree(folder)
    return open_manifest(tree.source(name), tree, root, limits=limits, **options)


def find_manifests(tree: Tree, *, unfinished: bool = False, below: bool = True) -> list[str]:
    """Manifest files of a log root, or (unless not `below`) of the log roots below a directory, by name."""
    names = [name for name in tree.names("manifests") if _is_manifest(name, unfinished)]
    if not names and below:
        names = [
            name
            for name in tree.names()
            if PurePosixPath(name).parent.name == "manifests" and _is_manifest(name, unfinished)
        ]
    finished = {name for name in names if not name.endswith(PARTIAL_SUFFIX)}
    return [name for name in names if name in finished or name.removesuffix(PARTIAL_SUFFIX) not in finished]


def _is_manifest(name: str, unfinished: bool) -> bool:
    last = PurePosixPath(name).name
    return is_guid(last) or (unfinished and last.endswith(PARTIAL_SUFFIX) and is_guid(last[: -len(PARTIAL_SUFFIX)]))


def open_manifest(
    source: Source,
    opened: Source | Tree,
    root: Tree | None,
    *,
    limits: Limits = DEFAULT_LIMITS,
    salvage: bool = False,
    unfinished: bool = False,
    on_missing: Any = "error",
) -> ArkReader:
    """A reader for the manifest (or split) in `source`; `opened` is what the archive's `source` is to be."""
    span = source.span(0, source.size)
    if not source.size:
        raise NOT_A_LOG.error("an empty file", span=span)
    limits.check("structure_size", source.size if not is_split(source) else 0, span)
    if is_split(source):
        return open_lone_split(source, opened, limits=limits)
    if root is None:
        root = neighbours(source)
    data = source.read_at(0, source.size)
    if not is_object(data[0]):
        raise NOT_A_LOG.error(span=source.span(0, 1), expected="an rbuf object header", actual=f"0x{data[0]:02x}")
    try:
        loaded = load_manifest(data, span)
    except ExhumeError as error:
        attached = _last_rung(data, span, root, error, asked=salvage)
        if attached is None:
            raise
        loaded = attached
    return ArkReader(opened, source, root, loaded, limits=limits, on_missing=on_missing)


def _last_rung(data: bytes, span: Span, root: Tree | None, error: ExhumeError, *, asked: bool) -> LoadedManifest | None:
    """The salvage scan: by itself only where no schema is embedded; a manifest that breaks its own is damaged."""
    from exhume.formats.ark.attach import attach_splits, embeds_schema

    if root is None or (embeds_schema(data) and not asked):
        return None
    return attach_splits(data, span, root, error)


def neighbours(source: Source) -> Tree | None:
    """The log root around a manifest file: two levels up, or the directory itself when it holds `splits/`."""
    for levels in (2, 1):
        tree = parent_tree(source, levels)
        if tree is not None and tree.names("splits"):
            return tree
    return parent_tree(source, 2)


def is_split(source: Source) -> bool:
    """Whether a file is a split: its header parses and its index starts inside the file."""
    head = source.read_up_to(0, HEADER_WINDOW)
    if not head.startswith(SPLIT_STARTS):
        return False
    try:
        header = parse_split_header(head, source.span(0, len(head)))
    except ExhumeError:
        return False
    return header.index_offset >= header.size and bool(header.mappings or not header.item_count)


def open_lone_split(source: Source, opened: Source | Tree, *, limits: Limits = DEFAULT_LIMITS) -> ArkReader:
    """A split file without a manifest: its messages as bytes, its channels called by their GUIDs."""
    head = source.read_up_to(0, HEADER_WINDOW)
    header = parse_split_header(head, source.span(0, len(head)))
    objects = tuple(ObjectDeclaration(mapping.identifier, "", mapping.identifier) for mapping in header.mappings)
    column = Column(header.identifier, "none", objects, (SplitDeclaration(header.identifier),))
    manifest = Manifest(NIL, NIL, "", (ManifestSection((column,)),))
    loaded = LoadedManifest(manifest, Rung.SPLIT)
    reader = ArkReader(opened, None, None, loaded, limits=limits)
    reader.single_split = source
    return reader
