"""A ZS file as a section map: magic and header, then block after block.

A section map (see `layout.sections`) describes each byte of a file: for `explain`, `list --sections` and the like.

Spec: zs.txt, "Layout details".
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from exhume.codecs.checksums import sha256
from exhume.errors import ExhumeError, SourceError
from exhume.findings import Check
from exhume.formats.zs import checks
from exhume.formats.zs.blocks import BlockFile, header_check
from exhume.formats.zs.head import Head, kind_of, read_head
from exhume.formats.zs.large import LargeBlock
from exhume.formats.zs.layout import Header, IndexEntry
from exhume.formats.zs.layout_facts import CRC, FIXED_HEADER, INCOMPLETE_MAGIC, MAGIC, PREAMBLE
from exhume.formats.zs.search import Index, IndexNode
from exhume.io.parallel import map_ordered
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.layout.sections import Section, SectionItem, SectionKind, SectionMap, SectionRun
from exhume.limits import Limits

if TYPE_CHECKING:
    from exhume.formats.zs.search import OpenFile
    from exhume.layout.trees import Field

READERS = 8
"""Index blocks of a remote file that are requested at the same time."""

# Specifications (ksy files) of the decompressed payloads, by kind of block.
PAYLOAD_SCHEMAS = {"data": "zs_data_block", "index": "zs_index_block"}


def section_map(archive: OpenFile) -> SectionMap:
    """Return the sections of an open file; after the last block that can be framed, one section of unread bytes."""
    return SectionMap([(archive.source, _sections(archive.file))])


def outline(archive: OpenFile) -> SectionMap:
    """Return the sections according to the index: data blocks are not read, and blocks that the index leaves out are
    walked. When the index cannot be read, or its references overlap, it is ignored, and all blocks are walked.
    """
    try:
        return SectionMap([(archive.source, _sections(archive.file, _indexed(archive)))])
    except SourceError:
        raise
    except ExhumeError:
        return section_map(archive)


def inspect(source: Source | Tree, *, limits: Limits) -> SectionMap:
    """Return the sections of a file whose header is wrong, as far as it shows where the blocks start."""
    assert isinstance(source, Source)
    return SectionMap([(source, _remains(source, limits))])


def _remains(source: Source, limits: Limits) -> Iterator[SectionItem]:
    """Yield the sections of a file that cannot be opened: as much as its magic and header still show."""
    head = read_head(source, limits)
    start, size = head.blocks_offset, source.size
    # A section for each part: a single parser would stop at the damaged first part.
    if head.magic not in (MAGIC, INCOMPLETE_MAGIC) or start is None:
        end = size if start is None else start - CRC.size
        yield Section("preamble", source.span(0, min(PREAMBLE.size, size)), schema="zs")
        if end > PREAMBLE.size:
            yield Section("header", source.span(PREAMBLE.size, end), schema="zs::file_header", note=_reason(head))
        if start is not None:
            yield Section("header-checksum", source.span(end, start), SectionKind.CHECKSUM, note="CRC-64/XZ")
    elif head.header is None:
        yield Section("header", source.span(0, start), schema="zs", check=lambda _: header_check(source))
    else:
        yield from _head(BlockFile(source, head.header, limits))
    if start is not None:
        # An empty header is enough to find the blocks.
        file = BlockFile(source, head.header or Header(0, 0, 0, b"", b"", b""), limits)
        yield from _blocks(file, start, head.header.codec if head.header is not None else None)


def _reason(head: Head) -> str:
    """Return the problems of the head in words."""
    return "; ".join(error.message for error in head.problems)


def _indexed(archive: OpenFile) -> list[tuple[int, int, int]]:
    """Return `(offset, size, level)` of every block by the index, in file order.

    Blocks that the index does not name are found by reading the gaps.  Raises the error of an index block, and ZS-330
    for references that overlap or end inside another block.
    """
    out: list[tuple[int, int, int]] = []
    at = archive.header.blocks_offset
    end_of_file = (archive.source.size, 0, 0)  # for a gap at the end
    for offset, size, level in [*_named(archive), end_of_file]:
        if offset < at:
            raise checks.REF_DANGLING.error(span=archive.source.span(offset, offset + size))
        if offset > at:  # extension blocks, and blocks that nothing refers to
            out += ((block.offset, block.size, block.level) for block in archive.file.walk(at, offset, read_ahead=4096))
            last, last_size, _ = out[-1] if out else (offset, 0, 0)
            if last + last_size != offset:
                raise checks.REF_DANGLING.error(span=archive.source.span(offset, offset + size))
        if size:
            out.append((offset, size, level))
        at = offset + size
    return out


def _named(archive: OpenFile) -> list[tuple[int, int, int]]:
    """Return `(offset, size, level)` of the root and of every block that the index names, in file order."""
    header, index = archive.header, archive.index
    root = index.root()
    found = [(header.root_offset, header.root_size, root.level)]
    nodes: Iterable[IndexNode] = [root]  # the index blocks one level above `level`
    for level in range(root.level - 1, -1, -1):
        following: list[IndexEntry] = []
        for node in nodes:  # one at a time: keys may be as long as records
            archive.limits.check("entries", len(found) + len(node.entries))
            found += [(entry.offset, entry.size, level) for entry in node.entries]
            following += node.entries if level else ()
        nodes = map_ordered(partial(_node, index, level), following, min(READERS, archive.source.cost.parallel_reads))
    return sorted(found)


def _node(index: Index, level: int, entry: IndexEntry) -> IndexNode:
    """Return the index block of an entry: `Index.node` with the arguments in the order that `partial` needs."""
    return index.node(entry, level)


def _sections(file: BlockFile, blocks: Iterable[tuple[int, int, int]] | None = None) -> Iterator[SectionItem]:
    """Yield the sections of the file; `blocks` are (offset, size, level), None: read them."""
    yield from _head(file)
    yield from _blocks(file, file.header.blocks_offset, file.header.codec, blocks)


def _head(file: BlockFile) -> Iterator[Section]:
    """Yield the sections of an intact header: the header, and in it the metadata and the extensions."""
    source, header = file.source, file.header
    yield Section(
        "header",
        source.span(0, header.blocks_offset),
        schema="zs",
        check=partial(_header_check, file),
        # The SHA-256 in the header is that of all data: checking it reads the whole file.
        covers=lambda chain: source.size if chain[-1].name == "sha256_data" else 0,
    )
    at = PREAMBLE.size + FIXED_HEADER.size
    meta_end = at + len(header.metadata)
    yield Section("metadata", source.span(at, meta_end), SectionKind.DATA, note="JSON", parent="header")
    if header.extensions:
        span = source.span(meta_end, meta_end + len(header.extensions))
        yield Section("header-extensions", span, SectionKind.DATA, note="reserved, to be ignored", parent="header")


def _blocks(
    file: BlockFile, start: int, codec: str | None, blocks: Iterable[tuple[int, int, int]] | None = None
) -> Iterator[SectionItem]:
    """Yield the blocks from `start` on; without a known codec, only their stored bytes.

    `blocks` as for `_sections`.
    """
    found = _Blocks(file, codec, start, framed=blocks is None)
    try:
        for offset, size, level in file.frames(start) if blocks is None else blocks:
            found.add(offset + size, level)
    except SourceError:
        raise
    except ExhumeError as error:
        yield from found.run()
        yield Section("unread", file.source.span(found.end, file.source.size), SectionKind.UNREAD, note=str(error))
    else:
        yield from found.run()


class _Blocks:
    """Blocks that follow each other, each of which becomes a section when it is examined."""

    def __init__(self, file: BlockFile, codec: str | None, start: int, *, framed: bool) -> None:
        """Start without blocks; the first one starts at `start`.  `codec`: that of the payloads, None if unknown.

        `framed`: the bounds are from the blocks themselves, not from the index.  The arrays are compact, as there may
        be millions of blocks: bounds (absolute offsets), levels, and the number of each block among those of its kind.
        """
        self._file = file
        self._codec = codec
        self._framed = framed
        self._bounds = array("q", [file.source.origin + start])
        self._levels = bytearray()
        self._ordinals = array("q")
        self._counts = {"data": 0, "index": 0, "extension": 0}

    @property
    def end(self) -> int:
        """Where the last block ends in the source."""
        return self._bounds[-1] - self._file.source.origin

    def add(self, end: int, level: int) -> None:
        """Add the next block."""
        kind = kind_of(level)
        self._bounds.append(self._file.source.origin + end)
        self._levels.append(level)
        self._ordinals.append(self._counts[kind])
        self._counts[kind] += 1

    def run(self) -> Iterator[SectionRun]:
        """The sections of all blocks, if there are any."""
        if self._levels:
            name, bounds = self._file.source.name, memoryview(self._bounds)
            yield SectionRun(name, bounds, self._levels, make=self._make, names=self._names, claims=self._claims)

    def _names(self) -> Iterator[str]:
        """Return the names of all sections, in order."""
        kinds = {level: kind_of(level) for level in set(self._levels)}
        return (f"{kinds[level]}-{ordinal}" for level, ordinal in zip(self._levels, self._ordinals, strict=True))

    def _claims(self, first: int, last: int) -> bool:
        """Return whether each byte of these sections is known to be described, without making them."""
        return self._framed  # length, level, payload and checksum are all that there is between two blocks

    def _make(self, number: int) -> Section:
        """Return the section of the block with this number."""
        file, level = self._file, self._levels[number]
        kind = kind_of(level)
        start, end = self._bounds[number] - file.source.origin, self._bounds[number + 1] - file.source.origin
        packed = self._codec is not None and kind != "extension"  # whether the payload can be decompressed
        return Section(
            f"{kind}-{self._ordinals[number]}",
            file.source.span(start, end),
            SectionKind.DATA if kind == "data" else SectionKind.STRUCTURE,
            codec=self._codec if packed else None,
            schema="zs::block",
            payload_schema=PAYLOAD_SCHEMAS.get(kind) if packed else None,
            load=(lambda: file.payload(file.read(start, end - start))) if packed else None,
            pieces=(lambda: _pieces(LargeBlock(file, start, end - start))) if packed else None,
            check=lambda _: LargeBlock(file, start, end - start).checked(),
            note=f"level {level}",
        )


def _pieces(block: LargeBlock) -> Iterator[bytes]:
    """Yield the payload of a block in chunks, after a check of its checksum."""
    block.check()
    yield from block.payload()


def _header_check(file: BlockFile, chain: Sequence[Field]) -> Check:
    """Check the SHA-256 of all payloads, if the last field of `chain` is that; else the CRC-64 of the header.

    `chain`: the fields from the header down to the one that is checked.
    """
    if chain[-1].name != "sha256_data":
        return header_check(file.source)
    digest = sha256()
    for block in file.walk(file.header.blocks_offset):
        if block.is_data:
            digest.update(file.unpack(block))
    return Check.compare(file.header.data_sha256.hex(), digest.hexdigest())
