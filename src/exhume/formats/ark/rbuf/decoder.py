"""Converts bytes to values, driven by a registry.

Values are plain: an object is a `dict` of its fields and those of its groups, a GUID its text, an enumeration an
integer, a time or duration an integer of nanoseconds, a byte buffer `bytes`, an absent optional `None`, a dictionary a
`dict` if its keys are strings and otherwise a list of pairs, a variant `{"index", "type", "value"}` (unknown index:
`{"index", "type": None, "raw"}`).  Removed and constant fields are left out.

Spec: rbuf wire format.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from exhume.counts import counted
from exhume.errors import ExhumeError, Span
from exhume.formats.ark.checks import MESSAGE_TRAILING, NESTING
from exhume.formats.ark.rbuf.compiler import Compiler
from exhume.formats.ark.rbuf.layout import HEADER
from exhume.formats.ark.rbuf.wire import DecodeFailure, Note, State

if TYPE_CHECKING:
    from exhume.formats.ark.rbuf.registry import Registry


class Decoder:
    """Decodes values of one type.  Thread-safe; get it from `decoder_for`."""

    def __init__(self, registry: Registry, name: str) -> None:
        """Compile the reader of the type `name`. Raises a NESTING error if types nest too deeply."""
        self.registry = registry
        self.type = name
        compiler = Compiler(registry)
        try:
            self._read = compiler.object_reader(name)
            # For an object of numbers only: (names, size, unpacker); else None.
            self._flat = compiler.flat_plan(registry.schema(name))
        except RecursionError:
            raise NESTING.error("types inside types", field_path=name) from None

    def is_plain(self, data: bytes) -> bool:
        """Whether a message is an object of nothing but numbers, in its exact size: any bytes are a value then."""
        if self._flat is None:
            return False
        _, size, _ = self._flat
        return len(data) == size and data[0] == HEADER

    def decode(
        self, data: bytes | bytearray | memoryview, *, span: Span | None = None, notes: list[Note] | None = None
    ) -> dict[str, Any]:
        """The value of a whole message, which must end with its object.

        `span` is the place of `data`, for errors; `notes` collects tolerated faults (unknown groups, other group sizes,
        reserved bits).  Raises the error of the broken rule: ARK-301 to ARK-314, ARK-413, ARK-501, ARK-502.
        """
        flat = self._flat
        if flat is not None:
            names, size, unpack = flat
            if len(data) == size and data[0] == HEADER:
                return dict(zip(names, unpack(data, 1), strict=True))  # 1: after the header
        raw = bytes(data)
        value, end = self.decode_prefix(raw, span=span, notes=notes)
        if end != len(raw):
            where = _place(span, len(raw)).sub(end, len(raw))
            raise MESSAGE_TRAILING.error(span=where, expected=counted(end, "bytes"), actual=counted(len(raw), "bytes"))
        return value

    __call__ = decode

    def decode_prefix(
        self, data: bytes, start: int = 0, *, span: Span | None = None, notes: list[Note] | None = None
    ) -> tuple[dict[str, Any], int]:
        """The object that starts at `start`, and the position after it.

        Raises the rules of the rbuf wire format at the absolute place of the damage.
        """
        try:
            return self._read(data, start, len(data), State(notes))
        except DecodeFailure as failure:
            raise self.error(failure, _place(span, len(data))) from None
        except RecursionError:
            raise NESTING.error(span=_place(span, len(data)), field_path=self.type) from None

    def error(self, failure: DecodeFailure, span: Span) -> ExhumeError:
        """The error of the broken rule in a message at `span`."""
        return failure.rule.error(
            failure.detail,
            span=span.sub(failure.start, max(failure.start, failure.end)),
            field_path=failure.field_path(self.type),
            expected=failure.expected,
            actual=failure.actual,
        )


def _place(span: Span | None, size: int) -> Span:
    """The span, or for data without a place one of its size."""
    return span if span is not None else Span("", 0, size)


def decoder_for(registry: Registry, name: str) -> Decoder:
    """The decoder for one type of a registry (a leading `::` is accepted), which is compiled when first
    requested.

    Raises rule ARK-411 when the registry has no such type.
    """
    name = name.removeprefix("::")
    found: Decoder | None = registry.compiled.get(("decoder", name))
    if found is None:
        found = registry.compiled["decoder", name] = Decoder(registry, name)
    return found
