"""One section explained: the field trees of its stored bytes and of its payload, and the verdicts on its checksums.

A section is a range of bytes of an archive with one purpose; its payload is its decompressed content.  A tree is made
by an `Explainer` from a specification; long arrays in it (`Trees`) make their elements when they are shown.  A `Region`
reads bytes on demand, for data too large to hold.  A section has the names of two specifications, with their arguments:
`schema` for the stored bytes, `payload_schema` for what `load` decompresses; or `parse`, which makes the tree itself.
`origin` of a source is the offset of its first byte in the outermost file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from exhume.counts import counted
from exhume.engines.explanation import PARSED_SIZE, ExplainedSection
from exhume.engines.payloads import Payloads
from exhume.errors import ExhumeError, Span
from exhume.findings import Check, CheckOutcome
from exhume.io.local import mapped
from exhume.layout.elements import Reading
from exhume.layout.kaitai import HELD, PARSED, Region, region_of
from exhume.layout.schema import ELSEWHERE, Explainer
from exhume.layout.sections import Section, SectionMap
from exhume.layout.trees import Field, Trees, held

NEARBY = 64 << 20
"""Bytes elsewhere that are read for the checksums of a section that a person views."""

NARROWED = "elements outside the range were not read: fields that they place inside it are not shown (--all shows them)"
"""Note on a section whose elements outside of the requested range were not parsed."""


class SectionCache:
    """Data kept between two views of one section, of any size; only the shown parts are read."""

    def __init__(self, content: Callable[[], bytes | Region] | None = None, patience: float | None = None) -> None:
        """`content` returns the payload.  A view takes about `patience` seconds at most; None: without a limit."""
        self.content = content
        self.patience = patience
        self.readings: dict[bool, Reading] = {}
        """The parsed values: of the payload (True), and of the stored bytes."""


def explain_section(
    found: SectionMap,
    section: Section,
    *,
    whole: bool = False,
    limit: int = PARSED_SIZE,
    marks: Sequence[Span] = (),
    window: tuple[int, int] | None = None,
    payload: bool = True,
    stream: bool = False,
    page: tuple[str, int] | None = None,
    unchecked: str = "",
    cache: SectionCache | None = None,
) -> ExplainedSection:
    """Explain one section of a map: its stored bytes, then its payload, unless they are larger than `limit`.

    With `cache`, a section has any size, and only what is shown of it is read.

    With `whole`, arrays have all elements, otherwise the first ones, and those that touch `marks`.  With a `window` of
    the file, arrays of the stored bytes have only the elements that touch it and one on either side, and those of the
    payload the first.  A negative `limit`: no fields, unless there is a `cache`.  `page` is the path of an array, and
    the number from which its elements are shown; with `stream`, elements of long arrays are made when they are visited,
    once.  Checksums of elements that are made later are not computed if there is a reason in `unchecked`.
    """
    out = ExplainedSection(section, note=section.note)
    make = partial(
        Explainer,
        whole=whole,
        marks=marks,
        page=page,
        finish=lambda child: check_fields(section, child, around=[], unchecked=unchecked),
        lazily=cache is not None or window is not None or (stream and whole),  # elements are made when they are shown
        patience=None if cache is None else cache.patience,
    )
    # The stored bytes, if a specification describes them.
    if section.schema is not None:
        is_small = section.span.size <= limit
        if is_small or cache is not None or (section.parse_lazily and limit >= 0):
            out.explainer = make(section.span, window=window, stream=stream)
            out.stored = _stored(found, section, out.explainer, cache)
            out.stopped = out.explainer.stopped
            out.parsed += section.span.size
            is_range = window is not None and window[1] - window[0] > 1  # `--at` shows a single byte, without a note
            if out.explainer.narrowed and is_range:
                out.note = f"{out.note}; {NARROWED}" if out.note else NARROWED
        else:
            _too_large(out, limit)
    # The payload, if it is wanted and a specification describes it.
    if not payload or section.payload_schema is None or section.load is None:
        return out
    if limit < 0 or (cache is None and (section.payload_size or 0) > limit):
        _too_large(out, limit)
        return out
    data = _load_payload(out, limit, cache)
    if data is None:
        return out
    size = len(out.data) if out.region is None else out.region.size
    streamed = stream and (cache is not None or size > PARSED)  # a small payload is kept as a whole
    out.payload_explainer = explainer = make(section.span.in_payload(0, size), stream=streamed)
    out.payload = _read(explainer, section.payload_schema, data, section.payload_args, cache, payload=True)
    out.stopped = out.stopped if explainer.stopped is None else explainer.stopped
    out.parsed += size
    return out


def _load_payload(out: ExplainedSection, limit: int, cache: SectionCache | None) -> bytes | Region | None:
    """Decode the payload of a section, and keep it in `out`; None, with a note there, if it cannot be explained.

    Without a `cache`, a payload above `limit` bytes is not.
    """
    payloads = Payloads()
    content = cache.content if cache is not None else None
    try:
        data = payloads.content(0, out.section) if content is None else content()
    except ExhumeError as error:
        out.note = f"payload not decoded: {error.summary}"
        out.complete = False
        return None
    if not isinstance(data, Region) and len(data) > HELD:
        data = region_of(data)  # its elements are parsed when they are shown, not kept
    size = data.size if isinstance(data, Region) else len(data)
    if size > limit and cache is None:
        _too_large(out, limit)
        return None
    out.data, out.region = (b"", data) if isinstance(data, Region) else (data, None)
    if failure := payloads.failure(0):
        out.note = f"{out.note}; {failure}" if out.note else failure
        out.complete = False
    return data


def _read(
    explainer: Explainer,
    schema: str,
    data: bytes | Region,
    args: tuple[Any, ...],
    cache: SectionCache | None,
    *,
    payload: bool,
) -> Field:
    """Return the field tree of bytes.  A large section (a `Region`) is parsed once, and `cache` keeps the result."""
    if cache is None or not isinstance(data, Region):
        return explainer.explain(schema, data, *args)
    if payload not in cache.readings:
        cache.readings[payload] = explainer.parse(schema, data, args)
    return explainer.show(cache.readings[payload])


def _stored(found: SectionMap, section: Section, explainer: Explainer, cache: SectionCache | None) -> Field:
    """Parse the stored bytes of a section; large sections are read in parts as the parser needs them."""
    source = found.sources[section.span.source]
    if section.parse is not None:
        return section.parse(explainer, mapped(source))
    start, size = section.span.start - source.origin, section.span.size
    data: bytes | Region
    if size > HELD:
        data = Region(size, lambda at, many: source.read_at(start + at, many))
    else:
        data = source.read_at(start, size)
    return _read(explainer, section.schema or "", data, section.schema_args, cache, payload=False)


def _too_large(out: ExplainedSection, limit: int) -> None:
    """Notes once how to get the fields left out; a negative limit means that they are not wanted."""
    if limit >= 0 and not out.withheld:
        out.withheld = True
        too_large = "large: its fields are shown when this section, or all, is requested"
        out.note = f"{out.note}; {too_large}" if out.note else too_large


def only_damage(item: ExplainedSection) -> None:
    """Reduce the field trees to what leads to a note or to a checksum that does not match."""
    for tree in item.trees():
        _prune(tree)


def _prune(node: Field) -> bool:
    """Remove children without damage in them; return whether the field itself is damaged or contains damage."""
    node.children, node.omitted = [child for child in node.children if _prune(child)], 0
    mismatch = node.check is not None and node.check.outcome is CheckOutcome.MISMATCH
    return bool(node.children or node.note or mismatch)


def parsed_whole(item: ExplainedSection) -> bool:
    """Whether every structure was parsed completely; call it before findings are placed, which are notes as well."""
    return not any(node.note for tree in item.trees() for node in held(tree))


def check_fields(section: Section, node: Field, around: list[Field], unchecked: str, note: bool = False) -> None:
    """Set the result of checking every checksum at and below a field.

    With `note`, a mismatch is noted at the field around the checksum as well: no finding will be placed there.
    """
    chain = [*around, node]
    if node.checksum:
        node.check = _checked(section, chain, unchecked)
        node.checksum = node.check.algorithm or node.checksum
        if note and around and node.check.outcome is CheckOutcome.MISMATCH:
            text = f"{node.name}: {node.checksum}: {node.check}"
            around[-1].note = f"{around[-1].note}; {text}" if around[-1].note else text
    if isinstance(node.children, Trees):  # each is checked when it is made
        return
    for child in node.children:
        check_fields(section, child, chain, unchecked, note)


def checked_nearby(section: Section) -> Section:
    """The section, but without checksums about more than `NEARBY` bytes elsewhere, so that it is shown at once."""
    compare, covers, left = section.check, section.covers, NEARBY
    if compare is None or covers is None:
        return section

    def check(chain: Sequence[Field]) -> Check:
        """Compare a checksum, unless the bytes that it covers exceed the remaining budget."""
        nonlocal left
        size = covers(chain)
        left -= size
        if left < 0:
            left += size
            return Check.skipped(f"covers {counted(size, 'bytes')} elsewhere: only `exhume verify` compares it")
        return compare(chain)

    return section._replace(check=check)


def _checked(section: Section, chain: Sequence[Field], unchecked: str) -> Check:
    """Return the verdict on a checksum; `chain` leads from the root field to it.  Raises errors of the source only."""
    if unchecked:
        return Check.skipped(unchecked)
    if chain[-1].value is None:
        return Check.skipped("the field itself is truncated")
    if section.check is None:
        return Check.skipped("exhume cannot compute this field")
    try:
        return section.check(chain)
    except ExhumeError as error:
        if error.is_reading_failure:
            raise
        return Check.skipped(error.summary)


def innermost(trees: Iterable[Field], offset: int, payload_offset: int | None = None) -> list[Field]:
    """The chain of fields that hold a byte, outermost first (the deepest chain when instances overlap).

    `payload_offset` is its offset in the payload; None: a stored byte.
    """
    best: list[Field] = []
    for tree in trees:
        chain = _chain(tree, offset, payload_offset)
        if len(chain) > len(best):
            best = chain
    return best


def _chain(node: Field, offset: int, payload_offset: int | None) -> list[Field]:
    """Return the fields that contain an offset, from `node` to the deepest one; empty if `node` does not.

    `payload_offset` is the offset in the decompressed payload; None for stored bytes.
    """
    if node.span is None or not node.span.start <= offset < node.span.end:
        return []
    if payload_offset is not None and node.span.payload is not None:
        start, end = node.span.payload
        if not start <= payload_offset < end:
            return []
    elif node.span.payload is not None:
        return []
    deepest: list[Field] = []
    for child in node.children:
        chain = _chain(child, offset, payload_offset)
        if len(chain) > len(deepest):
            deepest = chain
    return [node, *deepest]


def neighbors(parent: Field, node: Field) -> tuple[Field | None, Field | None]:
    """The stored fields just before and just after `node` among the children of `parent`."""
    placed: Sequence[Field] = [child for child in parent.children if child.span is not None]
    at = next((number for number, child in enumerate(placed) if child is node), None)
    if at is None:
        return None, None
    return (placed[at - 1] if at else None), (placed[at + 1] if at + 1 < len(placed) else None)


def count_elsewhere(tree: Field, schemas: Mapping[str | None, int]) -> None:
    """Replace the value of each list whose elements are sections of their own by their number."""
    for node in tree.children:
        if node.value == ELSEWHERE and (count := schemas[f"{tree.type}::{node.type.removesuffix('[]')}"]):
            node.value = f"{counted(count, 'elements')}, each a section of its own"
