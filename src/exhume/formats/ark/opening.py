"""Finding the log in what was opened: a manifest file, a log root, a directory of logs, a lone split file."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from exhume.errors import ExhumeError, Span
from exhume.formats.ark.checks import NOT_A_LOG
from exhume.formats.ark.layout import HEADER_WINDOW, parse_split_header
from exhume.formats.ark.manifest import (
    Column,
    LoadedManifest,
    Manifest,
    ManifestSection,
    ObjectDeclaration,
    SchemaSource,
    SplitDeclaration,
    load_manifest,
)
from exhume.formats.ark.places import is_split, neighbors
from exhume.formats.ark.rbuf.guid import NIL
from exhume.formats.ark.rbuf.layout import is_object
from exhume.formats.ark.reader import ArkArchive
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    pass


def open_in_tree(tree: Tree, name: str, *, limits: Limits = DEFAULT_LIMITS, **options: Any) -> ArkArchive:
    """The log whose manifest is the file `name` (`…manifests/<guid>`) of a tree."""
    path = PurePosixPath(name)
    folder = path.parent.parent.as_posix()
    root = tree if folder == "." else tree.subtree(folder)
    return open_manifest(tree.source(name), tree, root, limits=limits, **options)


def open_manifest(
    source: Source,
    opened: Source | Tree,
    root: Tree | None,
    *,
    limits: Limits = DEFAULT_LIMITS,
    salvage: bool = False,
    unfinished: bool = False,
    on_missing: Any = "error",
    by_manifest: bool = False,
) -> ArkArchive:
    """A reader for the manifest (or split) in `source`; `opened` becomes the `source` of the archive.

    Raises the rule for a file that is not a manifest.
    """
    span = source.span(0, source.size)
    if not source.size:
        raise NOT_A_LOG.error("an empty file", span=span)
    limits.check("structure_size", source.size if not is_split(source) else 0, span)
    if is_split(source):
        return open_lone_split(source, opened, limits=limits)
    if root is None:
        root = neighbors(source)
    data = source.read_at(0, source.size)
    if not is_object(data[0]):
        raise NOT_A_LOG.error(span=source.span(0, 1), expected="an rbuf object header", actual=f"0x{data[0]:02x}")
    try:
        loaded = load_manifest(data, span)
    except ExhumeError as error:
        attached = _last_source(data, span, root, error, asked=salvage)
        if attached is None:
            raise
        loaded = attached
    return ArkArchive(opened, source, root, loaded, limits=limits, on_missing=on_missing, by_manifest=by_manifest)


def _last_source(
    data: bytes, span: Span, root: Tree | None, error: ExhumeError, *, asked: bool
) -> LoadedManifest | None:
    """The salvage scan.

    Unless asked for, it runs only where no schema is embedded (otherwise the manifest is damaged).
    """
    from exhume.formats.ark.attach import attach_splits, embeds_schema

    if root is None or (embeds_schema(data) and not asked):
        return None
    return attach_splits(data, span, root, error)


def open_lone_split(source: Source, opened: Source | Tree, *, limits: Limits = DEFAULT_LIMITS) -> ArkArchive:
    """A split file without a manifest: its messages are bytes, and its channels are named by their GUIDs."""
    head = source.read_up_to(0, HEADER_WINDOW)
    header = parse_split_header(head, source.span(0, len(head)))
    objects = tuple(ObjectDeclaration(mapping.identifier, "", mapping.identifier) for mapping in header.mappings)
    column = Column(header.identifier, "none", objects, (SplitDeclaration(header.identifier),))
    manifest = Manifest(NIL, NIL, "", (ManifestSection((column,)),))
    loaded = LoadedManifest(manifest, SchemaSource.SPLIT)
    reader = ArkArchive(opened, None, None, loaded, limits=limits)
    reader.single_split = source
    return reader
