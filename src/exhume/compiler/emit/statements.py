"""Statements that read fields: one value or many, structures and what is one of several."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from collections.abc import Sequence as Many

from exhume.compiler import budgets
from exhume.compiler.emit.text import BINDS, columned, local_name
from exhume.compiler.emit.values import Values
from exhume.compiler.front import expressions as ex
from exhume.compiler.front.kinds import BYTES, DECIDED, TEXT, Bits, Integer, Kind, Plain, Structure, Switch
from exhume.compiler.front.model import Field, Type
from exhume.compiler.ir.fixed import byte_order, contents, fixed_size, number_code, struct_format, type_size
from exhume.compiler.ir.needs import inherits_order, without_rest
from exhume.compiler.ir.rows import takes_bytes
from exhume.compiler.ir.varints import number_of, one_byte
from exhume.compiler.refusal import UnsupportedError


class Statements(Values):
    """What readers and properties share: how a field is read into a variable."""

    def local(self, field: Field) -> str:
        """The name that a field has inside a reader."""
        return local_name(field.id, self.module.foreign)

    @contextlib.contextmanager
    def checking(self, field: Field, into: str) -> Iterator[None]:
        """Statements around those that check a value."""
        yield

    def begin_one(self, field: Field) -> None:
        """Statements before each element of a field."""

    def end_one(self, field: Field) -> None:
        """Statements after each element of a field."""

    def drop_one(self, field: Field) -> None:
        """Statements for an element that is nothing."""

    def read_field(self, field: Field, into: str) -> None:
        """Statements that read a whole field into a variable."""
        if field.repeat:
            self._read_many(field, into)
        else:
            self._read_valid(field, into, self.path(field))

    def _read_valid(self, field: Field, into: str, path: str) -> None:
        valid = "valid" in field.raw
        size = fixed_size(field) if field.size is not None or not isinstance(field.one, Structure) else None
        if valid and size is None:
            self.lines.add("start = at")
        self._read_one(field, field.one, into, path)
        if valid:
            with self.checking(field, into):
                self.check(field, into, path, "start" if size is None else f"at - {size}" if size else "at")

    def _read_many(self, field: Field, into: str) -> None:
        code = number_code(number_of(field.one), field)
        if code is not None and field.repeat in ("expr", "eos") and not (self.counts and field.repeat == "eos"):
            self._read_numbers(field, into, code)
            return
        if not self.counts and self._columns(field, into):
            return
        lines, tabled = self.lines, bool(field.raw.get("-rows")) and not self.traces
        if tabled:
            lines.add("first = at")
        # Elements that look at their parent may look at those before them.
        upward = self.traces or any(self.module.needs[one.type].parent for one in nested_in(field.one))
        shared = self.kept(field) if upward else ""
        lines.add(f"{into} = {shared} = []" if shared else f"{into} = []")
        nested = any(True for _ in nested_in(field.one))
        path = f'f"{self.above_path}{field.id}[{{len({into})}}]"'
        outer = self.index
        if not nested:
            self._loop(field, into, path, nested)
        else:
            with lines.block("try:"):
                self._loop(field, into, path, nested)
            with lines.block("except LayoutError as error:"):
                lines.add(*([f"del {shared}"] if shared and not self.traces else []), f"error.within({path})", "raise")
            if shared and self.foreign and not self.traces:  # the field is what is missing
                with lines.block(f"except {self.module.helper('FAILURES')}:"):
                    lines.add(f"del {shared}", "raise")
        self.index = outer
        if tabled:
            self._tabled(field, into)

    def _tabled(self, field: Field, into: str) -> None:
        """Statements that let a list know what reads its elements as columns."""
        assert isinstance(field.one, Structure)
        type = field.one.type
        columns = self.module.name_of(type, f"{type.class_name}Columns")
        more = f", {self.code(field.size)}" if field.size is not None else ""
        more += "".join(f", {one}" for one in self.around_rows(field, type))
        self.lines.add(
            f"{into} = {self.module.helper('Rows')}({into})", f"{into}._where = ({columns}, view, first, end{more})"
        )

    def around_rows(self, field: Field, type: Type) -> list[str]:
        """What is given to the function that reads elements as columns of what is around them, as Python."""
        out = []
        for one in type.raw.get("-around", ()):
            if one == "above":
                out.append(self._parent_of(field, type))
            elif one == "root":
                out.append(self.above("_root") if type.root is self.type.root else "None")
            elif one == "until":  # how many there are is known, except where a list is read in batches
                lasts = type.raw["-until"] if field is self.module.paused else []
                out.append(str(lasts.index(field.where) + 1 if field.where in lasts else 0))
            else:
                out.append(one)
        return out

    def _loop(self, field: Field, into: str, path: str, nested: bool) -> None:
        """Statements that read one element after the other."""
        lines = self.lines
        # A choice without a matching case adds nothing to the list.
        skips = self.foreign and isinstance(field.one, Switch) and field.one.default is None
        self.index = "turn" if skips else f"len({into})"
        if skips:
            lines.add("turn = 0")
        if field.repeat == "eos":
            with lines.block("while bit < end * 8:" if self.loose or self.counts else "while at < end:"):
                self._element(field, into, path, nested, skips)
        elif field.repeat == "expr":
            count = field.expr("repeat-expr")
            assert count is not None
            with lines.block(f"for _ in range({self.code(count)}):"):
                self._element(field, into, path, nested, skips)
        else:
            until = field.expr("repeat-until")
            if until is None:
                raise UnsupportedError("repeat-until is missing")
            with lines.block("while True:"):
                self._element(field, into, path, nested, skips)
                self.item = (f"{into}[-1]" if skips else "one", field.one)
                self.index = "turn - 1" if skips else f"len({into}) - 1"
                with lines.block(f"if {self.code(until)}:"):
                    lines.add("break")
                self.item = None

    def _element(self, field: Field, into: str, path: str, nested: bool, skips: bool) -> None:
        """Statements that read one element, and put it into the list unless it is nothing."""
        lines = self.lines
        moves = self.counts or self.loose or "process" in field.raw or bool(self.type.root.model.drifting)
        empty = self.foreign and not isinstance(field.one, (Integer, Bits)) and (moves or not takes_bytes(field))
        place = "bit" if self.loose or self.counts else "at"
        own = '""' if nested else path
        weigh = self.step(path=own, least=0 if nested else 1) if self.foreign else None  # a structure counts itself
        if empty:
            lines.add(f"before = {place}")
        self.begin_one(field)
        self._read_valid_raw(field, path, nested)
        if empty:
            counted = "turn" if skips else f"len({into})"
            many = "" if field.repeat == "eos" else f" and {counted} >= {budgets.EMPTY}"
            found = f"{budgets.EMPTY} that take none" if many else "one that takes none"
            with lines.block(f"if {place} == before{many}:"):
                lines.add(f'raise LayoutError({own}, at, at, "elements that take bytes", "{found}")')
        if not skips:
            lines.add(f"{into}.append(one)")
            self.end_one(field)
        else:
            lines.add("turn += 1")
            with lines.block("if one is not None:"):
                lines.add(f"{into}.append(one)")
                self.end_one(field)
            if self.traces:
                with lines.block("else:"):
                    self.drop_one(field)
        if weigh is not None:
            weigh()

    def _columns(self, field: Field, into: str) -> bool:
        """Statements that read structures as columns, where they have some; says whether they do."""
        type = columned(field)
        if type is None:
            return False
        count = field.expr("repeat-expr")
        whole = field.size is None or field.size == ex.Literal(type_size(type))
        own = {"size-eos", "terminator", "pad-right", "process", "valid"}.isdisjoint(field.raw)
        if self.module.foreign and not (whole and own and field.repeat != "until"):
            return False
        if not whole or "valid" in field.raw or field.repeat == "until":
            raise UnsupportedError(
                "structures with columns are repeated to the end or by a count, without size or rule"
            )
        lines = self.lines
        many = "" if count is None else f", {self._count(count)}"
        if self.module.foreign:
            many = f"{many or ', None'}, run"
        scan = self.module.name_of(type, type.reader_name.replace("read_", "scan_", 1))
        lines.add(f"{into} = {scan}(view, at, end{many})")
        with lines.block(f"if {into}.problem is not None:"):
            lines.add(f"{into}.problem.within({self.path(field)})", f"raise {into}.problem")
        lines.add(f"at = {into}.resume_at")
        needs = self.module.needs[type]
        if self.foreign and field.size is None:
            lines.add(f"{into}.io = io")
        if needs.parent:
            lines.add(f"{into}.parent = {self._parent_of(field, type)}")
        if needs.root and type.inside:
            lines.add(f"{into}.root = {self.above('_root') if type.root is self.type.root else 'None'}")
        return True

    def _count(self, count: ex.Expr) -> str:
        """The number of elements of a repetition: none if its count is below zero."""
        code = self.code(count)
        if isinstance(count, ex.Name) and count.id not in self.type.instances:
            kind = self.kind(count)
            if isinstance(kind, Integer) and kind.size and not kind.signed:
                return code
        return f"{code} if {code} > 0 else 0" if code.isidentifier() else f"max(0, {code})"

    def _read_valid_raw(self, field: Field, path: str, nested: bool) -> None:
        valid = "valid" in field.raw
        if valid:
            self.lines.add("start = at")
        self._read_one(field, field.one, "one", '""' if nested else path, bare=nested)
        if valid:
            with self.checking(field, "one"):
                self.check(field, "one", '""' if nested else path, "start")

    def _read_numbers(self, field: Field, into: str, code: str) -> None:
        """Numbers of one width, all at once."""
        kind = number_of(field.one)
        assert isinstance(kind, (Integer, Plain))
        size, lines = kind.size, self.lines
        self.count_numbers(field, size)
        self.hold(f"many * {size}", self.path(field))
        if code == "B":
            lines.add(f"{into} = view[at : at + many]", "at += many")
            self.align()
            return
        order = f'"{"big" if kind.big else "little"}"' if not kind.decided else '"big" if big else "little"'
        lines.add(f'{into} = {self.module.helper("numbers")}(view, at, many * {size}, "{code}", {order})')
        lines.add(f"at += many * {size}")
        self.align()

    def count_numbers(self, field: Field, size: int) -> None:
        """Statements that put into `many` how many numbers of a size there are, once all are known to be there."""
        count, lines = field.expr("repeat-expr"), self.lines
        if field.repeat == "expr":
            assert count is not None
            lines.add(f"many = {self._count(count)}")
        else:
            lines.add(f"many = -(-(end - at) // {size}) if end > at else 0")
        with lines.block(f"if many > (end - at) // {size}:" if size > 1 else "if many > end - at:"):
            whole = f"max(0, end - at) // {size}"
            lines.add(f"many = {whole}")
            inside = f".{field.one.type.seq[0].id}" if isinstance(field.one, Structure) else ""
            path = f"{self.above_path}{field.id}[{{many}}]{inside}"
            lines.add(f'raise short(f"{path}", at + many * {size}, end, {size})')

    def _read_one(self, field: Field, kind: Kind, into: str, path: str, *, bare: bool = False) -> None:
        """Statements that read one value; `bare` when what encloses them names the field in errors."""
        self._read_kind(field, kind, into, path, bare)
        if not isinstance(kind, (Bits, Structure, Switch)):
            self.align()
        self.bounded = ""

    def _read_kind(self, field: Field, kind: Kind, into: str, path: str, bare: bool) -> None:
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
        elif (isinstance(kind, Integer) and kind.size) or (isinstance(kind, Plain) and kind.size):
            self._read_number(kind, into, path)
        elif "contents" in field.raw:
            self._read_contents(field, into, path)
        elif kind == BYTES and field.size == ex.Literal(0):
            self.lines.add(f'{into} = b""')
        elif kind in (BYTES, TEXT):
            self.read_bytes(field, into, path)
        elif isinstance(kind, Bits) and self.loose:
            self._read_loose_bits(kind, into, path)
        elif isinstance(kind, Bits):
            self._read_bits([(field, into)])
        else:
            raise UnsupportedError(f"{field.raw.get('type')} is not supported")

    def unpacker(self, format: str, kinds: Many[Kind]) -> str:
        """The function that unpacks a format; where the data decide the byte order, one of two."""
        if DECIDED not in map(byte_order, kinds):
            return self.module.struct(format)
        return f"({self.module.struct('>' + format[1:])} if big else {self.module.struct('<' + format[1:])})"

    def _read_number(self, kind: Integer | Plain, into: str, path: str) -> None:
        size, lines = kind.size, self.lines
        with lines.block("if at >= end:" if size == 1 else f"if end - at < {size}:"):
            lines.add(f"raise short({path}, at, end, {size})")
        if size == 1 and isinstance(kind, Integer) and not kind.signed:
            lines.add(f"{into} = view[at]", "at += 1")
        else:
            lines.add(f"({into},) = {self.unpacker(struct_format([kind]), [kind])}(view, at)", f"at += {size}")

    def _read_contents(self, field: Field, into: str, path: str) -> None:
        wanted = contents(field)
        lines = self.lines
        with lines.block(f"if end - at < {len(wanted)}:"):
            lines.add(f"raise short({path}, at, end, {len(wanted)})")
        lines.add(f"{into} = view[at : at + {len(wanted)}]")
        with lines.block(f"if {into} != {wanted!r}:"):
            lines.add(f"raise LayoutError({path}, at, at + {len(wanted)}, {wanted!r}, {into})")
        lines.add(f"at += {len(wanted)}")

    def _read_sized(self, field: Field, kind: Structure | Switch, into: str, path: str, bare: bool) -> None:
        if self.foreign and isinstance(kind, Switch):  # whose cases may take another size
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
        """A structure in bytes that something ends, pads or encodes; where it is encoded, its places are its own."""
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
        """Statements that make a stream for a structure; returns where the reader puts the end of it."""
        if not self.foreign:
            return "_"
        if self.module.schema.model.moving is not None:
            self.lines.add(f"io.at = {stop if view == 'view' and at == 'at' else 'at'}")
        self.lines.add(f"inner = {self.module.helper('Stream')}({view}, {at}, {stop})")
        return "inner.at"

    def _read_structure(
        self, field: Field, kind: Structure, into: str, path: str, bare: bool, stop: str, base: str | None
    ) -> None:
        """A structure in this stream (`base` None), or in one of its own from here to `stop`."""
        lines = self.lines
        after = "at" if base is None else self._own_stream("view", "at", stop)
        call = self._call_reader(field, kind, stop, base)
        shared = base is None and self.type.root.model.shares and not kind.type.opaque
        if shared:
            lines.add("io.left = -bit % 8")
        first = one_byte(kind.type)
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
        if bare:
            self.lines.add(statement)
            return
        with self.lines.block("try:"):
            self.lines.add(statement)
        with self.lines.block("except LayoutError as error:"):
            self.lines.add(f"error.within({path})", "raise")

    def _parent_of(self, field: Field, type: Type) -> str:
        """Code for the parent of a field's structure."""
        if self.foreign and (type.root is not self.type.root or field.raw.get("parent") is False):
            return "None"
        return self.code(ex.parse(field.raw["parent"])) if "parent" in field.raw else self.above("_self")

    def _call_reader(
        self, field: Field, kind: Structure, stop: str, base: str | None, view: str = "view", at: str = "at"
    ) -> str:
        type = kind.type
        given = [view, at, stop]
        if type.opaque:
            if base is not None and at == "at":
                self.moved = stop
            given = [f"{self.module.outside('TYPES')}[{type.id!r}]", *given, *map(self.code, kind.arguments)]
            self.moved = ""
            return f"{self.module.helper('read_outside')}({', '.join(given)})"
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
            self.moved = stop  # the bytes of it are taken before it is read
        for param, one in zip(type.params, kind.arguments, strict=True):
            what = f"the parameter {param.id} of {type.where} is"
            given.append(self.taken(without_rest(one), param.kind, what))
        self.moved = ""
        return f"{self.module.name_of(type, type.reader_name)}({', '.join(given)})"

    def _read_switch(
        self, field: Field, kind: Switch, into: str, path: str, bare: bool, stop: str, base: str | None
    ) -> None:
        lines = self.lines
        on = self.code(kind.on)
        if not on.isidentifier():
            lines.add(f"on = {on}")
            on = "on"
        word = "if"
        said = [str(one) for key, one in field.raw["type"]["cases"].items() if str(key) != "_"]
        for (case, inner), name in zip(kind.cases, said, strict=True):
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
        self, field: Field, kind: Kind, into: str, path: str, bare: bool, stop: str, base: str | None, said: str
    ) -> None:
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
            self._read_raw(field, kind, into, path, said)
            if base is not None and not self.foreign:
                self.lines.add(f"{stop} = at")
        elif isinstance(kind, Bits) and self.loose:
            self._read_loose_bits(kind, into, path)
        elif isinstance(kind, (Integer, Plain)) and kind.size:
            self._read_number(kind, into, path)  # it takes its own width, whatever the size says
        else:
            raise UnsupportedError("this kind of case is not supported")
        if not isinstance(kind, (Bits, Structure)):
            self.align()


def nested_in(kind: Kind) -> Iterator[Structure]:
    if isinstance(kind, Structure):
        yield kind
    elif isinstance(kind, Switch):
        for _, one in kind.cases:
            yield from nested_in(one)
        if kind.default is not None:
            yield from nested_in(kind.default)
