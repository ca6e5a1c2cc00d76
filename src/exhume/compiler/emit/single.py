"""Statements that read one value: a number, a structure, or one of several kinds.

Variables in the emitted code: `view` (bytes), `at` (position), `end` (end of the stream), `stop` (end of a field
with a size), `io` and `inner` (streams of the structure around and of the one being read), `bit` (position in bits),
`run` (the budget that readers of third-party specifications, `foreign`, take from).
"""

from __future__ import annotations

from collections.abc import Sequence as Many

from exhume.compiler.emit.text import BINDS
from exhume.compiler.emit.values import Values
from exhume.compiler.front import expressions as ex
from exhume.compiler.front.kinds import BYTES, DECIDED, TEXT, Bits, Integer, Kind, SimpleKind, Structure, Switch
from exhume.compiler.front.model import Field, Type
from exhume.compiler.ir.fixed import byte_order, contents, one_byte, struct_format
from exhume.compiler.ir.needs import inherits_order, without_rest
from exhume.compiler.refusal import UnsupportedError


class SingleValue(Values):
    """Emits code that reads one value of any kind into a variable.

    The parameter `into` is the name of that variable, `path` is code for the field's path in errors; with `bare`, an
    enclosing reader adds the path.  `stop` and `base` are code for where the stream of a structure ends and starts;
    `base` is None if it is the stream around.

    From the base classes: `align` moves `bit` to the byte at `at`; `above` is the code of `_self`, `_root`, `_parent`;
    `sized_end` checks a size, and returns the code of where its bytes end; `taken` is an expression that is checked to
    have a kind; `moved` is the code of the position that arguments see; `loose`: bits are read one field at a time;
    `bounded`: code of a size that was found to fit.
    """

    def _read_one(self, field: Field, kind: Kind, into: str, path: str, *, bare: bool = False) -> None:
        """Emit statements that read one value of any kind; bits and structures may end within a byte, others do not."""
        self._read_kind(field, kind, into, path, bare)
        if not isinstance(kind, (Bits, Structure, Switch)):  # they align by themselves, or may end within a byte
            self.align()
        self.bounded = ""

    def _read_kind(self, field: Field, kind: Kind, into: str, path: str, bare: bool) -> None:
        """Emit the statements for `_read_one`, by the method for this kind and for the keys of the field.

        Raises `UnsupportedError` for all other kinds.
        """
        # Structures and choices first, by how their bytes are limited; then values.
        sized = field.size is not None or field.to_end
        if isinstance(kind, Structure) and not {"terminator", "pad-right", "process"}.isdisjoint(field.raw):
            self._read_within(field, kind, into, path, bare)
        elif isinstance(kind, Switch) and not {"terminator", "pad-right", "process"}.isdisjoint(field.raw):
            self._read_switch(field, kind, into, path, bare, "end", None)
        elif isinstance(kind, (Structure, Switch)) and sized:
            self._read_sized(field, kind, into, path, bare)
        elif isinstance(kind, Structure):
            self._read_structure(field, kind, into, path, bare, "end", None)
        elif isinstance(kind, Switch):
            self._read_switch(field, kind, into, path, bare, "end", None)
        elif (isinstance(kind, Integer) and kind.size) or (isinstance(kind, SimpleKind) and kind.size):
            self._read_number(kind, into, path)
        elif "contents" in field.raw:
            self._read_contents(field, into, path)
        # No bytes at all are not read: whether they are there need not be checked.
        elif kind == BYTES and field.size == ex.Literal(0) and "process" not in field.raw:
            self.lines.add(f'{into} = b""')
        elif kind in (BYTES, TEXT):
            self.read_bytes(field, into, path)
        elif isinstance(kind, Bits) and self.loose:
            self._read_loose_bits(kind, into, path)
        elif isinstance(kind, Bits):
            self._read_bits([(field, into)])
        else:
            raise UnsupportedError(f"{field.raw.get('type')} is not supported")

    def unpacker(self, format: str, kinds: Many[Kind], *, rows: bool = False) -> str:
        """Return the function that unpacks a format of `struct`, or many rows of it, as code: `_unpack0`.

        It is `(_unpack0 if big else _unpack1)` if the data decides the byte order.
        """
        if DECIDED not in map(byte_order, kinds):
            return self.module.struct(format, rows=rows)
        orders = [self.module.struct(f"{order}{format[1:]}", rows=rows) for order in "><"]
        return f"({orders[0]} if big else {orders[1]})"

    def _read_number(self, kind: Integer | SimpleKind, into: str, path: str) -> None:
        """Emit statements that read a number, such as `n = view[at]` and `at += 1`, if its bytes exist."""
        size, lines = kind.size, self.lines
        with lines.block("if at >= end:" if size == 1 else f"if end - at < {size}:"):
            lines.add(f"raise short({path}, at, end, {size})")
        if size == 1 and isinstance(kind, Integer) and not kind.signed:
            lines.add(f"{into} = view[at]", "at += 1")
        else:
            lines.add(f"({into},) = {self.unpacker(struct_format([kind]), [kind])}(view, at)", f"at += {size}")

    def _read_contents(self, field: Field, into: str, path: str) -> None:
        """Emit statements that read bytes that are always the same (`contents`), and raise `LayoutError` for others."""
        wanted = contents(field)
        lines = self.lines
        with lines.block(f"if end - at < {len(wanted)}:"):
            lines.add(f"raise short({path}, at, end, {len(wanted)})")
        lines.add(f"{into} = view[at : at + {len(wanted)}]")
        with lines.block(f"if {into} != {wanted!r}:"):
            lines.add(f"raise LayoutError({path}, at, at + {len(wanted)}, {wanted!r}, {into})")
        lines.add(f"at += {len(wanted)}")

    def _read_sized(self, field: Field, kind: Structure | Switch, into: str, path: str, bare: bool) -> None:
        """Emit statements for a structure or switch with `size` or `size-eos`, which has a stream of that many bytes.

        Reading continues after these bytes, even if the structure uses fewer of them.
        """
        if self.foreign and isinstance(kind, Switch):  # cases that are numbers take their own size
            self._read_switch(field, kind, into, path, bare, "stop", "at")
            return
        stop = self.sized_end(field, path)
        if stop != "end":
            self.lines.add(f"stop = {stop}")
            stop = "stop"
        if isinstance(kind, Structure):
            self._read_structure(field, kind, into, path, bare, stop, "at")
        else:
            self._read_switch(field, kind, into, path, bare, stop, "at")
        self.lines.add(f"at = {stop}" if stop == "stop" else "at = max(at, end)")
        self.align()

    def _read_within(self, field: Field, kind: Structure, into: str, path: str, bare: bool) -> None:
        """Emit statements for a structure inside bytes that are terminated, padded or encoded (`process`).

        They read the bytes into `inside`, and the structure from there, or from the same place in `view` if the bytes
        are not encoded.  Positions inside encoded bytes count from the start of the decoded bytes.
        """
        lines = self.lines
        lines.add("begin = at")
        self._read_raw(field, BYTES, "inside", path, "")
        if "process" in field.raw:
            after = self._own_stream("inside", "0", "len(inside)")
            call = self._call_reader(field, kind, "len(inside)", "0", "inside", "0")
            with lines.block("try:"):
                lines.add(f"{into}, {after} = {call}")
            with lines.block("except LayoutError as error:"):
                lines.add("error.offset, error.stop = begin, at", *([] if bare else [f"error.within({path})"]), "raise")
        else:
            after = self._own_stream("view", "begin", "begin + len(inside)")
            call = self._call_reader(field, kind, "begin + len(inside)", "begin", "view", "begin")
            self._guarded(f"{into}, {after} = {call}", path, bare)
        self.align()

    def _own_stream(self, view: str, at: str, stop: str) -> str:
        """Emit `inner = stream_of(view, at, stop)`, a stream for a structure; return the variable for where it ends.

        Exhume's own readers need no stream object: they ignore where the structure ends (`_`).
        """
        if not self.foreign:
            return "_"
        if self.module.schema.model.moving is not None:
            # Meanwhile the stream around is after the bytes of the structure: `at` is already, except in `view` itself.
            self.lines.add(f"io.at = {stop if view == 'view' and at == 'at' else 'at'}")
        self.lines.add(f"inner = {self.module.helper('stream_of')}({view}, {at}, {stop})")
        return "inner.at"

    def _read_structure(
        self, field: Field, kind: Structure, into: str, path: str, bare: bool, stop: str, base: str | None
    ) -> None:
        """Emit statements for a structure in this stream (`base` None), or in its own from here to `stop`."""
        lines = self.lines
        after = "at" if base is None else self._own_stream("view", "at", stop)
        call = self._call_reader(field, kind, stop, base)
        shared = base is None and self.type.root.model.shares and not kind.type.opaque
        if shared:
            lines.add("io.left = -bit % 8")
        # A variable-length integer of one byte, the most frequent one, is read in place.
        first = one_byte(kind.type)  # operator and limit, such as `<` and 0x80
        if first is not None and base is None:
            with lines.block(f"if at < end and ({into} := view[at]) {first[0]} {self.code(first[1])}:"):
                lines.add("at += 1")
            with lines.block("else:"):
                self._guarded(f"{into}, {after} = {call}", path, bare)
        else:
            self._guarded(f"{into}, {after} = {call}", path, bare)
        if shared:
            lines.add("bit = at * 8 - io.left")
        elif base is None:
            self.align()

    def _guarded(self, statement: str, path: str, bare: bool) -> None:
        """Emit a statement in a `try` that adds the path of the field to errors; alone if `bare`: the caller adds
        it.
        """
        if bare:
            self.lines.add(statement)
            return
        with self.lines.block("try:"):
            self.lines.add(statement)
        with self.lines.block("except LayoutError as error:"):
            self.lines.add(f"error.within({path})", "raise")

    def _parent_of(self, field: Field, type: Type) -> str:
        """Return the code for the parent of a field's structure: `value` in a reader, unless the field has `parent`."""
        if self.foreign and (type.root is not self.type.root or field.raw.get("parent") is False):
            return "None"
        return self.code(ex.parse(field.raw["parent"])) if "parent" in field.raw else self.above("_self")

    def _call_reader(
        self, field: Field, kind: Structure, stop: str, base: str | None, view: str = "view", at: str = "at"
    ) -> str:
        """Return the call of the reader of a nested structure, such as `read_entry(view, at, stop, inner, value, run)`.

        After `view`, `at` and `stop` come the stream or its base, the parent, the root, the byte order and the budget,
        each only if this reader needs it, then the values of its parameters.  `base` is the code of where a stream of
        its own starts; None if it is read from the stream of the structure around it.
        """
        type = kind.type
        given = [view, at, stop]
        # The caller's reader of an opaque type gets only the bytes and the parameters.
        if type.opaque:
            if base is not None and at == "at":
                self.moved = stop
            given = [f"{self.module.given_table('TYPES')}[{type.id!r}]", *given, *map(self.code, kind.arguments)]
            self.moved = ""
            return f"{self.module.helper('read_outside')}({', '.join(given)})"
        # What readers of the module take beyond that, in this order.
        needs = self.module.needs[type]
        if self.foreign:
            given.append("io" if base is None else "inner")
        elif needs.stream:
            given.append(base or "base")
        if needs.parent:
            given.append(self._parent_of(field, type))
        if needs.root and type.inside:
            given.append(self.above("_root") if type.root is self.type.root else "None")
        if inherits_order(type):
            if self.type.endian != DECIDED:
                raise UnsupportedError(f"{type.where} has no byte order here")
            given.append("big")
        if self.module.foreign:
            given.append("run")
        if self.foreign and base is not None and at == "at":
            self.moved = stop  # arguments see the stream after the structure's bytes
        for param, one in zip(type.params, kind.arguments, strict=True):
            what = f"the parameter {param.id} of {type.where} is"
            given.append(self.argument(one, param.kind, what))
        self.moved: str = ""
        return f"{self.module.name_of(type, type.reader_name)}({', '.join(given)})"

    def _read_switch(
        self, field: Field, kind: Switch, into: str, path: str, bare: bool, stop: str, base: str | None
    ) -> None:
        """Emit `if on == 1:`, `elif on == 2:` and so on, one for each case of `switch-on`, which read the value.

        The `else` branch reads the case `_`; without one the value is None.  `stop` and `base` as in `_read_case`.
        """
        lines = self.lines
        on = self.code(kind.on)
        if not on.isidentifier():
            lines.add(f"on = {on}")
            on = "on"
        word = "if"
        # The types of the cases as specified.
        type_name = [str(one) for key, one in field.raw["type"]["cases"].items() if str(key) != "_"]
        for (case, inner), name in zip(kind.cases, type_name, strict=True):
            with lines.block(f"{word} {on} == {self._code(without_rest(case), BINDS['<'] + 1)}:"):
                self._read_case(field, inner, into, path, bare, stop, base, name)
            word = "elif"
        with lines.block("else:" if kind.cases else "if True:"):
            if kind.default is None:
                lines.add(f"{into} = None")
            else:
                name = str(field.raw["type"]["cases"].get("_", ""))
                self._read_case(field, kind.default, into, path, bare, stop, base, name)

    def _read_case(
        self, field: Field, kind: Kind, into: str, path: str, bare: bool, stop: str, base: str | None, type_name: str
    ) -> None:
        """Emit statements that read one case of a switch into `into`; `type_name` is its type as specified.

        `stop` is code for where the bytes of the case end, `base` for where they start; `base` is None without a size.
        """
        # In users' specifications, a case checks the size itself.  Then structures, bytes and strings, bits, numbers.
        coded = not {"terminator", "pad-right", "process"}.isdisjoint(field.raw)
        if base is not None and self.foreign and not coded and (isinstance(kind, Structure) or kind == BYTES):
            self.lines.add(f"stop = {self.sized_end(field, path)}")
            if isinstance(kind, Structure):
                self._read_structure(field, kind, into, path, bare, stop, base)
            else:
                self.lines.add(f"{into} = view[at:stop]")
            self.lines.add("at = stop")
            self.align()
        elif isinstance(kind, Structure) and coded:
            self._read_within(field, kind, into, path, bare)
        elif isinstance(kind, Structure):
            self._read_structure(field, kind, into, path, bare, stop, base)
        elif kind == BYTES and base is not None and not coded:
            self.lines.add(f"{into} = view[at:{stop}]")
        elif kind in (BYTES, TEXT):
            self._read_raw(field, kind, into, path, type_name, unmatched=kind == BYTES)
            if base is not None and not self.foreign:  # the caller moves `at` to `stop`, which the bytes decide here
                self.lines.add(f"{stop} = at")
        elif isinstance(kind, Bits) and self.loose:
            self._read_loose_bits(kind, into, path)
        elif isinstance(kind, (Integer, SimpleKind)) and kind.size:
            self._read_number(kind, into, path)  # it takes its own width, whatever the size says
        else:
            raise UnsupportedError("this kind of case is not supported")
        if not isinstance(kind, (Bits, Structure)):
            self.align()
