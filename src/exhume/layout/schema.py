"""Field trees of `explain`: every field's absolute position, type and documentation, from the generated parsers.

It works on the `debug` classes of Kaitai's compiler and on `Traced` ones, which both remember the position of each
field, and on the specifications.  Positions are relative to a stream; `_bases` has the offset of each stream.

In the methods, `docs` has the documentation of a structure's fields by name ("": its type), `doc` that of one, `place`
what the parser noted for one (`start`, `end` unless reading failed, `arr` with a place for each element of a list).
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

from exhume_ksy.debug._stream import BytesIO, KaitaiStream, Position
from kaitaistruct import KaitaiStruct

from exhume.counts import counted
from exhume.errors import Span, shorten
from exhume.layout import trees
from exhume.layout.elements import STOPPED, Elements, Reading, debug_class, passing, read
from exhume.layout.fast import RAISED, View
from exhume.layout.kaitai import FAILURES, PARSED, Region
from exhume.layout.specifications import FieldDoc, describe_traced, describe_type, reaches_out
from exhume.layout.tracing import Beginnings, Lazily, Many, Named, Places, Traced, named, slot, type_of
from exhume.layout.trees import Field, Trees, held, instances_of, is_one_line, paged, qualified_name, summary_of

if TYPE_CHECKING:
    from exhume.compiler.front.model import Type

ARRAY_SHOWN = 64
"""Elements of an array that are shown one by one, unless all are requested; the rest is summarized in one line."""

AT_FIRST = 1 << 14
"""Elements of an array without end that are found when all are requested; more are found when they are shown."""

MOST_NESTED = 100
"""Structures within structures that are shown; a specification can nest them without end."""

MOST_SHOWN = 10_000
"""Fields of third-party specifications that are shown, besides four per byte: instances may read bytes repeatedly."""

VALUE_SHOWN = 64
"""Characters or bytes of a value that count as another field."""

PATH_SHOWN = 200
"""Characters of a path that count as another field."""

ELSEWHERE = "outside this section"
"""Value of a list that begins where the parsed bytes end: its elements are sections of their own."""

MORE = f"{STOPPED}: more fields than are shown of bytes of this length"
"""Note of a structure that is shown in part."""


class Explainer:
    """Builds the field tree of one parsed window of bytes.

    `where` is the window's `Span` (a payload span for decompressed bytes); with `whole`, the tree has every array
    element and every lazy instance, however many there are; without, it has the first elements and those that touch
    `marks`.  With `window`, absolute offsets in the file, it has the elements that touch it, and one on either side.
    With `page`, the array of that path has `ARRAY_SHOWN` elements from that number on.

    With `stream`, long arrays are `Trees`, which make each tree when it is visited.  `finish` is called with each of
    those, and `broken` states whether any was not parsed completely.  With `lazily`, an array at the end of a region is
    begun, and found as far as it is shown, for at most `patience` seconds; `stopped` is where that ended too early.
    """

    def __init__(
        self,
        where: Span,
        *,
        whole: bool = False,
        marks: Sequence[Span] = (),
        window: tuple[int, int] | None = None,
        stream: bool = False,
        page: tuple[str, int] | None = None,
        finish: Callable[[Field], None] | None = None,
        lazily: bool = False,
        patience: float | None = None,
    ) -> None:
        self._where = where
        self._lazily, self._patience = lazily, patience
        self.stopped: int | None = None
        self._page = page
        self._whole = whole
        self._window = window
        self._stream = stream
        self._finish = finish
        self.broken = False
        self.narrowed: bool = False
        """Whether elements outside of the window, which are not given, may have fields in it."""
        inside = [mark for mark in marks if (mark.payload is None) == (where.payload is None) and mark != where]
        self._marks = sorted(mark.local for mark in inside)
        self._bases: dict[int, int] = {}  # offset in the window at which a stream starts, by the id of the stream
        self._nested = 0  # structures around the current one
        self._left = sys.maxsize  # structures and elements that may still be shown
        self._streams: list[Any] = []  # keeps streams alive: their ids are the keys of _bases

    def explain(self, schema: str, data: bytes | memoryview | Region, *args: Any) -> Field:
        """Return the field tree of `data` under a schema (`id` or `id::type`), as far as parsing goes.

        A structure that cannot be parsed completely keeps the fields before the failure; its `note` states why.
        """
        with self._passing(data):
            return self._shown_tree(read(schema, data, args))

    def parse(self, schema: str, data: bytes | memoryview | Region, args: tuple[Any, ...]) -> Reading:
        """Parse `data`; `show` returns its fields, as often as they are shown."""
        with self._passing(data):
            return read(schema, data, args)

    def show(self, reading: Reading) -> Field:
        """Return the field tree of what was parsed."""
        with passing():
            return self._shown_tree(reading)

    def _passing(self, data: Any) -> AbstractContextManager[None]:
        """Return a context that skips list elements that are not shown, unless a small section is shown as a whole."""
        whole = self._whole and not self._lazily and not isinstance(data, Region) and len(data) <= PARSED
        return nullcontext() if whole else passing(lazily=self._lazily)

    def _shown_tree(self, reading: Reading) -> Field:
        """Return the field tree of what was parsed."""
        schema, made, note, stream = reading
        self._base(stream, 0)
        return self._tree(schema, made, stream.size(), note, describe_type(debug_class(schema)))

    def explain_traced(self, type: Type, read: Callable[[View], Any], data: View) -> Field:
        """Return the field tree of `data` by the reader of a type that records positions (`exhume.layout.tracing`)."""
        self._base(data, 0)
        self._left = MOST_SHOWN + 4 * len(data)
        made, note = None, ""
        try:
            made, _ = read(data)
        except RAISED as error:
            note = f"{STOPPED}: {shorten(error, 160)}"
            made = getattr(error, "partial", None)
        return self._tree(type.id, made, len(data), note, describe_traced(type))

    def _tree(self, schema: str, made: Any, size: int, note: str, docs: dict[str, FieldDoc]) -> Field:
        """Return the root of a tree with the fields of `made`; None: nothing could be parsed."""
        doc = docs.get("", FieldDoc())
        root = Field(schema.split("::")[-1], schema, schema, self._span(0, size), None, doc.doc, doc.doc_ref, note=note)
        if made is not None:
            self._children(made, root)
        return root

    def _base(self, stream: Any, base: int) -> int:
        """Return the offset in the window at which a stream starts; a new stream is noted with `base`."""
        if id(stream) not in self._bases:
            self._bases[id(stream)] = base
            self._streams.append(stream)
        return self._bases[id(stream)]

    def _span(self, start: int, end: int) -> Span:
        """Return the absolute span of a range of the window."""
        return self._where.sub(start, end)

    def _traced_children(self, parsed: Traced, parent: Field) -> None:
        """Add the fields of a structure that a traced reader returned to `parent`, up to the limit."""
        docs = describe_traced(type_of(parsed))
        for one in type_of(parsed).seq:
            if one.id in parsed.PLACES and self._is_room(parent):
                self._traced_attribute(parsed, one.id, getattr(parsed, slot(one.id), None), docs, parent)
        # An instance that failed is shown only if all stored fields were read: otherwise it failed because of those
        # that are missing, and the note of the parent states where the parser stopped.
        whole = all(hasattr(parsed, slot(one.id)) for one in type_of(parsed).seq)
        for name in type_of(parsed).instances if self._left >= 0 else ():
            value, failure = self._instance(parsed, slot(name))
            if (value is not None or (failure and whole) or name in parsed.PLACES) and self._is_room(parent):
                self._traced_attribute(parsed, name, value, docs, parent)
                if failure and not parent.children[-1].note:
                    parent.children[-1].note = f"{STOPPED}: {failure}"

    def _is_room(self, parent: Field) -> bool:
        """Whether more may be shown; if not, the enclosing structure notes that."""
        if self._left < 0:
            parent.note = parent.note or MORE
        return self._left >= 0

    def _traced_attribute(
        self, parsed: Traced, name: str, value: Any, docs: dict[str, FieldDoc], parent: Field
    ) -> None:
        """Add one field of such a structure, in the form that `_attribute` takes.

        `PLACES` has its view, start, end, places of elements and, if it failed, the reason.
        """
        value = parsed.PARTIALS.get(name, value)
        view, start, end, many, *why = parsed.PLACES.get(name, (None, None, None, ()))
        place: dict[str, Any] = {}
        if start is not None:
            place["start"] = Position(start, view)
            place |= {} if end is None else {"end": end}
            # Numbers that are read together have no places of their own: all have the same size.
            if type_of(parsed).field(name).repeat and value is not None and not many and end is not None:
                many = trees.EvenPositions(start, (end - start) // max(1, len(value)), len(value))
            place["arr"] = trees.ElementPlaces(many, view)
        if isinstance(value, (bytes, memoryview)) and not len(value) and type_of(parsed).field(name).repeat:
            value = []  # a list of numbers is a view of bytes, here an empty one
        if isinstance(value, Lazily):
            value.reaches = reaches_out(type_of(parsed).field(name).value_kind)
        self._left -= 1 + len(parent.path) // PATH_SHOWN
        self._attribute(parsed, name, named(value, type_of(parsed), name), place, docs, parent)
        if why:
            parent.children[-1].note = f"{STOPPED}: {why[0]}"

    def _children(self, parsed: Any, parent: Field) -> None:
        """Add the fields of a structure to `parent`: those of its sequence, then the instances that have a value."""
        if isinstance(parsed, Traced):
            self._traced_children(parsed, parent)
            return
        docs = describe_type(parsed.__class__)
        debug = parsed._debug  # noqa: SLF001 - the positions are what debug classes are for
        for name in list(getattr(parsed, "SEQ_FIELDS", ())):
            if name in debug:
                self._attribute(parsed, name, getattr(parsed, name, None), debug[name], docs, parent)
        for name in instances_of(parsed.__class__):
            value, failure = self._instance(parsed, name)
            if failure:
                # Show the part that was read before it failed.
                if trees.begins_here(debug.get(f"_m_{name}", {}).get("start")):
                    begun = getattr(parsed, f"_m_{name}", None)
                    self._attribute(parsed, name, begun, debug[f"_m_{name}"], docs, parent)
                    parent.children[-1].note = f"{STOPPED}: {failure}"
            elif value is not None or f"_m_{name}" in debug:
                place = debug.get(f"_m_{name}", {})
                self._attribute(parsed, name, value, place, docs, parent)
                if value == [] and not parent.path.count(".") and not trees.begins_here(place.get("start")):
                    parent.children[-1].value = ELSEWHERE

    def _instance(self, parsed: Any, name: str) -> tuple[Any, str]:
        """Return the value of an instance, and the error if it cannot be read (else empty)."""
        try:
            return getattr(parsed, name), ""
        except (*FAILURES, *RAISED) as error:
            return None, shorten(error, 160) or type(error).__name__

    def _attribute(
        self, parsed: Any, name: str, value: Any, place: dict[str, Any], docs: dict[str, FieldDoc], parent: Field
    ) -> None:
        """Add one field to `parent`; `place` has the positions that the parser noted for it."""
        doc = docs.get(name, FieldDoc())
        span = self._place(place)
        path = f"{parent.path}.{name}"
        made = Field(name, path, doc.type, span, None, doc.doc, doc.doc_ref, checksum=doc.checksum)
        parent.children.append(made)
        if isinstance(value, (list, Many, Elements, Lazily)) or (
            isinstance(place.get("arr"), trees.ElementPlaces) and place["arr"].many
        ):
            self._array(made, value, place.get("arr") or [], doc, docs)
        else:
            self._value(made, value, span, doc, docs)
        self._broken_off(made, place)

    def _broken_off(self, made: Field, place: dict[str, Any]) -> None:
        """Mark the field `made` if it could not be read completely; its span covers the part that could be read."""
        if "start" not in place or "end" in place:
            return
        made.note = STOPPED
        children = made.children[-1:] if isinstance(made.children, Trees) else made.children
        ends = [child.span for child in children if child.span is not None]
        if made.span is not None and ends:
            last = max(self._relative_end(span) for span in ends)
            made.span = self._span(self._relative(made.span), max(self._relative(made.span), last))

    def _array(
        self,
        made: Field,
        values: Sequence[Any],
        places: Sequence[dict[str, Any]],
        doc: FieldDoc,
        docs: dict[str, FieldDoc],
    ) -> None:
        """Give `made` the elements of an array that are shown, as children, and note how many there are."""
        begun = values if isinstance(values, Elements) and values.rest is not None else None
        if begun is not None:
            self._read_on(begun, made.path)
        # Choose the elements that are shown.
        indexes = paged(self._page, made.path, len(values), ARRAY_SHOWN)
        indexes = self._shown(values, places) if indexes is None else indexes
        self._left -= len(indexes)
        made.value = counted(len(values), "elements")
        made.omitted = len(values) - len(indexes)
        if begun is not None and begun.rest is not None:
            made.value, made.unread = f"more than {made.value}", True
        if isinstance(values, Elements) and values.failure is not None:
            made.note = f"{STOPPED}: {shorten(values.failure, 160)}"
        # One element, made now or, in a long list, when it is visited.
        depth = self._nested + 1

        def element(index: int) -> Field:
            before, self._nested = self._nested, depth
            place = places[index] if index < len(places) else {}
            span = self._place(place)
            child = Field(f"[{index}]", f"{made.path}[{index}]", doc.type.removesuffix("[]"), span)
            value, failure = trees.element_of(values, index)
            if value is not None or not failure:
                self._value(child, value, span, doc, docs)
                self._broken_off(child, place)
            child.note = f"{STOPPED}: {failure}" if failure else child.note
            self._nested = before
            return child

        def finished(index: int) -> Field:
            child = element(index)
            self.broken = self.broken or any(node.note for node in held(child))
            if self._finish is not None:
                self._finish(child)
            return child

        if self._stream and isinstance(values, (Lazily, Elements)) and len(indexes) > ARRAY_SHOWN:
            made.children = lists = Trees(indexes, finished)
            if begun is not None and begun.rest is not None and self._window is None:
                lists.more = partial(begun.found, patience=self._patience)
        else:
            made.children += map(element, indexes)

    def _read_on(self, values: Elements, path: str) -> None:
        """Find the elements of an array that was only begun, to the last that page, marks and window show."""
        number = 2 * ARRAY_SHOWN if not self._whole else AT_FIRST if self._lazily else sys.maxsize
        shown_path, first_shown = self._page or ("", 0)
        if shown_path == path:
            number += first_shown
        elif shown_path.startswith(f"{path}["):  # an array inside an element of this one
            number += int(shown_path.removeprefix(f"{path}[").partition("]")[0])
        base = self._bases.get(id(values.stream), 0)
        origin, _ = self._where.local
        ends = [end for _, end in (*self._marks, *filter(None, [self._window]))]
        at = min(max(ends, default=origin + base) - origin - base, values.stream.size())
        values.read_on(index=number, at=at, patience=self._patience)
        if self._window is not None:
            values.read_on(index=len(values), patience=self._patience)  # the one after the window
        if values.rest is not None and (len(values) <= number or values.places.at < at):
            self.stopped = values.places.at

    def _shown(self, values: Sequence[Any], places: Sequence[dict[str, Any]]) -> Sequence[int]:
        """The numbers of the elements of an array that are shown: the first ones, and those that the caller wants."""
        room = max(0, self._left)
        if self._window is not None and isinstance(values, Lazily) and not self._is_placed(places):
            return range(min(len(values), ARRAY_SHOWN, room))
        if self._window is not None and len(places) >= len(values) > 0 and not getattr(places, "hidden", False):
            near = list(self._touching(places, *self._window))
            first, last = (near[0], near[-1] + 1) if near else (0, 0)
            self.narrowed = self.narrowed or (isinstance(values, Lazily) and values.reaches and len(near) < len(values))
            given = range(max(0, first - 1), min(len(values), last + 1))[:room]
            if places and "end" not in places[len(places) - 1] and len(values) - 1 not in given:
                return [*given, len(values) - 1]  # the incomplete one
            return given
        shown = min(len(values) if self._whole else min(len(values), ARRAY_SHOWN), room)
        if not self._marks or shown == len(places):
            return range(shown)
        marked = {index for mark in self._marks for index in self._touching(places, *mark) if index >= shown}
        return [*range(shown), *sorted(marked)[:ARRAY_SHOWN]]

    def _is_placed(self, places: Sequence[dict[str, Any]]) -> bool:
        """Whether elements have offsets in the file, as those of decoded bytes have not."""
        return isinstance(places, trees.ElementPlaces) and id(places.view) in self._bases

    def _touching(self, places: Sequence[dict[str, Any]], start: int, end: int) -> Sequence[int]:
        """The numbers of the elements that hold any of the bytes `[start, end)` of the file or payload."""
        if isinstance(places, Places):
            origin, _ = self._where.local
            base = self._bases.get(id(places.stream))
            return range(0) if base is None else places.touching(start - origin - base, end - origin - base)
        if isinstance(places, trees.ElementPlaces) and isinstance(places.many, Beginnings):
            base = self._bases.get(id(places.view))
            start, end = start - self._where.start, end - self._where.start
            return range(0) if base is None else places.many.touching(start - base, end - base)
        found = []
        for index in range(len(places)):
            span = self._place(places[index])
            if span is not None:
                first, last = span.local
                if first < end and last > start:
                    found.append(index)
        return found

    def _value(self, made: Field, value: Any, span: Span | None, doc: FieldDoc, docs: dict[str, FieldDoc]) -> None:
        """Put the value of one field into `made`: a structure with its fields, an enum with its name, or as it is."""
        if isinstance(value, (KaitaiStruct, Traced)):
            if span is not None and isinstance(value, KaitaiStruct):
                self._base(value._io, self._relative(span))  # noqa: SLF001 - the stream is what the position is known by
            fields = describe_traced(type_of(value)) if isinstance(value, Traced) else describe_type(value.__class__)
            kind = fields.get("", FieldDoc())
            made.doc = made.doc or kind.doc
            made.doc_ref = made.doc_ref or kind.doc_ref
            made.type = made.type if "switch" not in made.type else qualified_name(value)
            if self._nested >= MOST_NESTED:
                made.note = f"{STOPPED}: more than {MOST_NESTED} structures within each other"
                return
            if not self._is_room(made):
                return
            self._nested += 1
            self._children(value, made)
            self._nested -= 1
            made.value = summary_of(value, made, kind.representation)
            for child in made.children:
                if child.span is None and child.checksum:  # the checksum belongs to the whole structure
                    made.checksum, child.checksum = child.checksum, ""
            if is_one_line(made, kind):
                made.children = []
        elif isinstance(value, (enum.Enum, Named)):
            number = value.value if isinstance(value, enum.Enum) else int(value)
            made.value = f"{number} ({value.name})"
            meant = docs.get(f"enum {doc.enum.split('::')[-1]} {number}", FieldDoc())
            made.meaning, made.checksum = meant.doc, meant.checksum
        else:
            made.value = value
            if isinstance(value, (str, bytes, memoryview)):
                self._left -= len(value) // VALUE_SHOWN
            if doc.parsed_as and isinstance(value, str):
                self._parse_as(made, doc.parsed_as, value.encode("latin-1", "replace"))

    def _parse_as(self, made: Field, schema: str, data: bytes) -> None:
        """Parse the string of a value instance by another schema; nothing in it has a span, as it is not stored."""
        parsed = debug_class(schema)(KaitaiStream(BytesIO(data)))
        try:
            parsed._read()  # noqa: SLF001 - debug classes read on request
        except FAILURES as error:
            made.note = f"{STOPPED}: {shorten(error, 160)}"
        self._streams.append(parsed._io)  # noqa: SLF001 - kept as long as its positions
        self._children(parsed, made)
        made.value = summary_of(parsed, made, describe_type(parsed.__class__)[""].representation) or made.value

    def _relative(self, span: Span) -> int:
        """Return the offset of a span in the window."""
        if span.payload is not None and self._where.payload is not None:
            return span.payload[0] - self._where.payload[0]
        return span.start - self._where.start

    def _relative_end(self, span: Span) -> int:
        """Return the end of a span as an offset in the window."""
        start, end = span.local
        return self._relative(span) + end - start

    def _place(self, place: dict[str, Any]) -> Span | None:
        """Return the span of the positions that a parser noted; None if they are in a stream without a known place."""
        start = place.get("start")
        if start is None:
            return None
        base = self._bases.get(id(getattr(start, "stream", None)))
        if base is None:
            return None
        end = place.get("end", start)
        return self._span(base + start, base + max(int(start), int(end)))
