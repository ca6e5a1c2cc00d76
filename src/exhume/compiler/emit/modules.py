"""One Python module per specification: for each type a slotted class and a function that reads it, its reader.

    read_entry(view, at, end) -> (Entry, at)

`view` has the bytes, `at` is where the structure begins and `end` where its stream ends, both positions in `view`;
the second result is where the structure ends.  Instances are properties, read on request and kept.  A type with
`-scalar: value` is read as that value.  Data that does not fit raises `LayoutError` with the path of the field and
its position.

Paused readers are for lists that are too long for memory.  The reader of the type that has the list stops at the
list, and raises `Paused`.  This exception has the functions that read one element, or many as columns, and the
position of the list; the fields before the list were read.

Traced readers, for `explain`, record the position of each field and keep the fields read before a failure.  They
have the statements of the fast readers, field by field, and statements that take notes in between.  A value has

- `PLACES`: by field `[view, start, end, elements]`: its bytes, its start and end in them (None: reading it failed),
  and `[start, end]` of each element of a list;
- `PARTIALS`: by field, the part of a value that was read before an error.

Lists of structures are read by the fast readers, and an element is read again, with notes, when it is shown: the
list itself costs the start of each element only.

The generated code's run-time support is in `exhume.layout.tracing`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

from exhume.compiler.emit.classes import ClassEmitter
from exhume.compiler.emit.columns import scan_text
from exhume.compiler.emit.ends import ends_text
from exhume.compiler.emit.packed import PackedReader
from exhume.compiler.emit.reader import Reader
from exhume.compiler.emit.scan import flat_text
from exhume.compiler.emit.shared import Module, UntracedReaders, untraced_readers
from exhume.compiler.emit.statements import Statements, nested_in
from exhume.compiler.emit.text import kept_as, pruned, tabled, words_of
from exhume.compiler.front.kinds import Bits, Kind, Structure, Switch, combined, family, structures
from exhume.compiler.front.model import Field, Type
from exhume.compiler.front.specs import Model
from exhume.compiler.ir.needs import ReaderNeeds, expressions, find_needs, words
from exhume.compiler.refusal import UnsupportedError

ROWS_AT_ONCE = 1 << 12
"""Rows that are read as columns at once, to find where they begin; the columns are not kept."""


class TracedStatements(Statements):
    """Emits the notes on fields and elements that readers and classes of `explain` share.

    `into` is the variable that a field is read into, `item` and `index` are the code of `_` and `_index`.
    """

    item: tuple[str, Kind] | None
    index: str
    traces = True
    holder = "value"  # the variable of the object that gets the notes

    def read_field(self, field: Field, into: str) -> None:
        """Emit statements that read a field, and note where it starts and, if it could be read, ends."""
        self.lines.add(f'{self.holder}.PLACES["{field.id}"] = [view, {self._here()}, None, []]')
        super().read_field(field, into)
        self.lines.add(f'{self.holder}.PLACES["{field.id}"][2] = at')

    @contextlib.contextmanager
    def checking(self, field: Field, into: str) -> Iterator[None]:
        """Note in the generated code that a value is read in part, until its checks have passed."""
        place = f'{self.holder}.PLACES["{field.id}"]'
        self.lines.add(f'{self.holder}.PARTIALS["{field.id}"] = {into}')
        self.lines.add(f"{place}[3][-1][1] = at" if field.repeat else f"{place}[2] = at")
        yield
        self.lines.add(f'del {self.holder}.PARTIALS["{field.id}"]')

    def _read_many(self, field: Field, into: str) -> None:
        """Emit statements that read a list; those of structures are read again when they are shown, if possible."""
        if self._is_lazy(field):
            self._read_lazily(field, into)
        else:
            super()._read_many(field, into)

    def _is_lazy(self, field: Field) -> bool:
        """Return whether elements can be read again later, when they are shown: they depend on nothing that changes."""
        untraced, model, kind = self.module.untraced, self.type.root.model, field.value_kind
        below = {one.type for one in nested_in(kind)}
        if untraced is None or not below or "valid" in field.raw or self.counts or self.loose:
            return False
        if model.moving is not None or model.shares or (isinstance(kind, Switch) and kind.default is None):
            return False
        # `own`: names in the expressions that reading an element evaluates.
        around = [expr for expr in expressions(field) if expr != field.expr("repeat-until")]
        own = frozenset().union(*(untraced.mentioned.get(one, frozenset()) for one in below), *map(words, around))
        return field.id not in own and not (untraced.passes_on and field.id in untraced.names)

    def _read_lazily(self, field: Field, into: str) -> None:
        """Emit statements that find where each structure of a list begins; it is read again when it is shown."""
        lines, outer = self.lines, self.index
        assert self.module.untraced is not None
        # `holds`: an expression uses the elements, so they are kept.
        holds = field.id in self.module.untraced.names
        # The function that reads one element, also later, when it is shown.
        with lines.block("def element(at: int, index: int, run: Run) -> tuple[object, int]:"):
            self.index = "index"
            self._read_valid_raw(field, '""', True)
            lines.add("return one, at")
        lines.add(f"{into} = {self.kept(field)} = {self.module.helper('Lazily')}(view, at, run, element)")
        lines.add(f'{self.holder}.PLACES["{field.id}"][3] = {into}.places')
        self.index = f"len({into})"
        # Find all places: by columns if the type has them, else by reading each element.
        columns = [one.type.reader_name.replace("read_", "scan_", 1) for one in nested_in(field.value_kind)]
        with lines.block("try:"):
            if (  # one type with columns, nothing that changes its bytes or its end, and no use of elements
                isinstance(field.value_kind, Structure)
                and columns[0] in self.module.untraced.columned
                and field.repeat in ("eos", "expr")
                and {"size", "size-eos", "terminator", "pad-right", "process", "parent"}.isdisjoint(field.raw)
                and not holds
            ):
                self._find_rows(field, into, field.value_kind.type, columns[0])
            else:
                self._find_elements(field, into, holds)
        with lines.block("except LayoutError as error:"):
            lines.add(f'error.within(f"{self.above_path}{field.id}[{{len({into})}}]")', "raise")
        self.index = outer

    def _find_rows(self, field: Field, into: str, type: Type, scan: str) -> None:
        """Emit statements that find where rows begin, by reading them as columns."""
        lines, count = self.lines, field.expr("repeat-expr")
        if count is not None:
            lines.add(f"many = {self._count(count)}")
        with lines.block("while at < end:" if count is None else "while many > 0:"):
            wanted = str(ROWS_AT_ONCE) if count is None else f"min(many, {ROWS_AT_ONCE})"
            with self.module.plain():
                lines.add(f"rows = {self.module.name_of(type, scan)}(view, at, end, {wanted}, run)")
            lines.add(f"{into}.add_rows(rows.at, rows.resume_at)", "at = rows.resume_at")
            if count is not None:
                lines.add("many -= len(rows)")
            # Without a count, more rows are requested than there may be: they may be missing at the end.
            with lines.block(f"if rows.problem is not None{' and at < end' if count is None else ''}:"):
                lines.add(f"{into}.begin(at)", f"element(at, len({into}), run)", "raise rows.problem")

    def _find_elements(self, field: Field, into: str, holds: bool) -> None:
        """Emit a loop that finds where each element begins by reading it.

        With `holds`, the elements are kept, because expressions use them.
        """
        lines = self.lines
        if field.repeat == "expr":
            count = field.expr("repeat-expr")
            assert count is not None
            opening = f"for _ in range({self.code(count)}):"
        else:
            opening = "while at < end:" if field.repeat == "eos" else "while True:"
        # Read each element by the fast reader, and note its place.
        lines.add("empty = 0")
        with lines.block(opening):
            weigh = self.step(path='""', least=0)
            lines.add("before = at")
            with lines.block("try:"), self.module.plain():
                self._read_valid_raw(field, '""', True)
            # Read the element again in the way that keeps its parts, so that the error has them.
            with lines.block("except FAILURES:"):
                lines.add(f"{into}.begin(before)", f"one, at = element(before, len({into}), run)")
            with lines.block("if at == before:"):
                lines.add(f"{into}.begin(at)")
                self.count_empty('""')
            lines.add(f"{into}.add(before, at{', one' if holds else ''})")
            if field.repeat == "until":
                self.item, self.index = ("one", field.value_kind), f"len({into}) - 1"
                until = field.expr("repeat-until")
                assert until is not None
                with lines.block(f"if {self.code(until)}:"):
                    lines.add("break")
                self.item = None
            weigh()

    def begin_one(self, field: Field) -> None:
        """Note in the generated code that an element begins."""
        self.lines.add(f'{self.holder}.PLACES["{field.id}"][3].append([{self._here()}, None])')

    def end_one(self, field: Field) -> None:
        """Note in the generated code where an element ends."""
        self.lines.add(f'{self.holder}.PLACES["{field.id}"][3][-1][1] = at')

    def drop_one(self, field: Field) -> None:
        """Remove the note on an element that is not in the list."""
        self.lines.add(f'del {self.holder}.PLACES["{field.id}"][3][-1]')

    def _here(self) -> str:
        """Return the position as code, in bytes."""
        return "bit // 8" if self.loose else "at"


class TracedReader(TracedStatements, Reader):
    """Emits the function that reads one type and notes the place of each field."""

    joins_optional = False  # fields on the same condition stay apart, unlike in readers

    def sequence(self) -> bool:
        """Read the fields inside a `try` that keeps the fields read before an error."""
        with self.lines.block("try:"):
            super().sequence()
        with self.lines.block("except FAILURES as error:"):
            self.lines.add("keep(value, error)", "raise")
        return True

    def fixed(self, field: Field) -> bool:
        """Return whether a field is read in a run: only bits, as all others are noted one by one."""
        return isinstance(field.value_kind, Bits) and super().fixed(field)

    def run(self, fields: list[Field]) -> None:
        """Emit statements as `Reader` does; the position of a bit field is that of the bytes that contain it."""
        bits = bool(fields) and isinstance(fields[0].value_kind, Bits)
        if bits:
            self.lines.add("begin = at", f'value.PLACES["{fields[0].id}"] = [view, at, None, []]')
        super().run(fields)
        used = 0
        for field in fields if bits else ():
            assert isinstance(field.value_kind, Bits)
            start, used = used // 8, used + field.value_kind.width
            self.lines.add(f'value.PLACES["{field.id}"] = [view, begin + {start}, begin + {(used + 7) // 8}, []]')


class TracedClass(TracedStatements, ClassEmitter):
    """Emits the class of one type, whose properties note the places of instances."""

    holder = "self"
    base = "(Traced)"
    more_slots: tuple[str, ...] = ("PLACES", "PARTIALS")

    def read_elsewhere(self, field: Field) -> None:
        """Emit statements that read an instance, and keep the part that was read before an error."""
        with self.lines.block("try:"):
            super().read_elsewhere(field)
        with self.lines.block("except FAILURES as error:"):
            self.lines.add(f'keep_instance(self, error, "{field.id}", "{kept_as(field)}")', "raise")


class PausedReader(Reader):
    """Emits a function that reads one type up to a list, and raises `Paused` there."""

    item: tuple[str, Kind] | None
    index: str

    def _read_many(self, field: Field, into: str) -> None:
        """Emit statements that read a repeated field; for the list at which this reader stops they raise `Paused`.

        Before it they define `rows` (reads many elements as columns), `element` (reads one) and `last` (whether an
        element is the last one, by `repeat-until`).  `Paused` has None in place of those that are not defined.
        """
        if field is not self.module.paused:
            super()._read_many(field, into)
            return
        if self.counts or self.loose or "valid" in field.raw:
            raise UnsupportedError("a list with `valid`, or whose elements may share a byte, is not read in batches")
        lines, count = self.lines, field.expr("repeat-expr")
        many = "None" if count is None else self._count(count)
        lines.add(f"many = {many}")
        # Functions that the caller of the paused reader uses: to read rows, an element, and to find the last one.
        rows, type = self._rows(field), tabled(field)
        # If rows need arguments from around them, `rows` returns None for a file that cannot provide these: then
        # elements are read one by one.
        element = not rows or (type is not None and bool(type.raw.get("-around")))
        if element:
            with lines.block("def element(at: int, index: int, run: Run) -> tuple[object, int]:"):
                self.index = "index"
                self._read_valid_raw(field, '""', True)
                lines.add("return one, at")
        until = field.expr("repeat-until")
        if until is not None:
            with lines.block("def last(one: object, index: int, at: int) -> bool:"):
                self.item = ("one", field.value_kind)
                lines.add(f"return {self.code(until)}")
                self.item = None
        self.index = ""
        # The exception carries them and where the list starts.  The assignment after it is never reached: it defines
        # the variable that later statements use.
        given = ["rows" if rows else "None", "element" if element else "None", "None" if until is None else "last"]
        lines.add(f"raise {self.module.helper('Paused')}(at, end, many, run, {', '.join(given)})", f"{into} = None")

    def _rows(self, field: Field) -> bool:
        """Emit a function `rows` that reads many elements as columns; return whether the elements have columns."""
        type, lines = tabled(field), self.lines
        # Columns exist for elements with a size (`-sized`) or for those without one, as the specification has them.
        own = {"size-eos", "terminator", "pad-right", "process"}.isdisjoint(field.raw)
        if type is None or not own or (field.size is None) == bool(type.raw.get("-sized")):
            return False
        if field.repeat == "until" and field.where not in type.raw.get("-until", ()):
            return False
        # `rows` calls the reader of columns, and passes the columns what their elements need later.
        size = ""
        if field.size is not None:
            lines.add(f"each = {self.code(field.size)}")
            size = ", each"
        around = "".join(f", {one}" for one in self.around_rows(field, type))
        scan, needs = self.module.name_of(type, type.reader_name.replace("read_", "scan_", 1)), self.module.needs[type]
        with lines.block("def rows(at: int, count: int) -> object:"):
            call = f"found = {scan}(view, at, end, count, run{size}{around})"
            if around:
                with lines.block("try:"):
                    lines.add(call)
                with lines.block(f"except {self.module.helper('NoColumnsError')}:"):
                    lines.add("return None")
            else:
                lines.add(call)
            lines.add(*([] if size else ["found.io = io"]))
            if needs.parent:
                lines.add(f"found.parent = {self._parent_of(field, type)}")
            if needs.root and type.inside:
                lines.add(f"found.root = {self.above('_root') if type.root is self.type.root else 'None'}")
            if "big" in type.raw.get("-around", ()):
                lines.add("found.big = big")
            lines.add("return found")
        return True


def pausing(model: Model, steps: list[str], root: Type) -> tuple[Type, Field] | None:
    """Return the type and the list that a path of fields (`steps`) leads to, if it can be read in batches; else None.

    It can if the path leads through fields of `seq` that occur in one place only, nothing depends on how far the
    stream was read, and no expression uses the list.
    """
    find_needs(model)
    type, field = root, None
    every = [kind.type for one in model.types() for kind in _inside(one)]
    for number, step in enumerate(steps):
        field = next((one for one in type.seq if one.id == step), None)
        is_last = number == len(steps) - 1
        # Only the last field is a list, no structure contains the root type, and one field has each type after it.
        if field is None or bool(field.repeat) != is_last or every.count(type) != (type is not root):
            return None
        if not is_last:
            if not isinstance(field.value_kind, Structure) or field.value_kind.type.opaque:
                return None
            type = field.value_kind.type
    if field is None or model.moving is not None or model.shares or not any(nested_in(field.value_kind)):
        return None
    if isinstance(field.value_kind, Switch) and field.value_kind.default is None:  # elements may be left out
        return None
    fields = [part for one in model.types() for part in one.fields()]
    is_used = any(field.id in words(expr) for part in fields for expr in expressions(part))
    return None if is_used else (type, field)


def _inside(type: Type) -> list[Structure]:
    """Return the structures that the stored fields of a type may be, with repetitions."""
    return [kind for one in type.fields() if one.value is None for kind in structures(one.value_kind)]


def module_text(
    schema: Type,
    needs: dict[Type, ReaderNeeds],
    *,
    traced: bool,
    untraced: UntracedReaders | None = None,
    paused: Field | None = None,
) -> str:
    """Return the module of one specification, by its root type `schema`.

    `needs` has the arguments that each reader takes.  `traced` readers record positions; `untraced` are facts about the
    fast readers that these may call.  The reader of the type that has the list `paused` stops there.
    """
    module = Module(schema, needs, traced=traced, untraced=untraced, paused=paused)
    parts = [part for type in schema.all() for part in _parts(module, type)]
    if module.foreign:
        parts = list(map(pruned, parts))
    if module.foreign and not traced:
        parts.append("\n".join(_names(schema)))
    body = "\n\n\n".join(parts + module.later)
    return "\n".join(module.head(frozenset(words_of(body)))).rstrip() + f"\n\n\n{body}\n"


def _parts(module: Module, type: Type) -> Iterator[str]:
    """Yield the sources for one type: its class, its reader, and the functions for its marks (`-columns`, ...)."""
    if module.traced:
        yield TracedClass(module, type).text()
        yield TracedReader(module, type).text()
        return
    if type.scalar is None:
        yield ClassEmitter(module, type).text()
    stops = module.paused is not None and module.paused.owner is type
    yield (PausedReader if stops else Reader)(module, type).text()
    for rows in module.packed.get(type, ()) if module.foreign else ():
        yield PackedReader(module, rows).text()
    if type.raw.get("-columns") or type.raw.get("-tabled"):
        yield scan_text(module, type)
    if type.raw.get("-element"):
        yield flat_text(module, type)
    yield from (ends_text(module, type, field) for field in type.seq if field.raw.get("-ends"))


def _names(schema: Type) -> Iterator[str]:
    """Yield the statements after the classes.

    For example `names_Entry_kind = Entry.Kind._value2member_map_.get` (from a number to the member), `make_entry =
    Entry._make`, `Entry._reader = read_entry`, and `Archive.Entry = Entry` as in Kaitai's classes.  For the attributes
    with an underscore see `Structure` and `Table` in `layout`.
    """
    for type in schema.all():
        for enum in type.enums.values():
            yield f"{enum.names} = {type.class_name}.{enum.class_name}._value2member_map_.get"
    for type in schema.all():
        if type.scalar is None:
            yield f"{type.reader_name.replace('read_', 'make_', 1)} = {type.class_name}._make"
        yield f"{type.class_name}._reader = {type.reader_name}"
        if type.raw.get("-tabled"):
            yield f"{type.class_name}Columns._scan = {type.reader_name.replace('read_', 'scan_', 1)}"
        if type.params:
            yield f"{type.class_name}._accepts = ({''.join(f'{accepted(one)}, ' for one in type.params)})"
        if type.parent is None:
            yield f"{type.class_name}._inside = False"
        if type.parent is not None:
            yield f"{type.parent.class_name}.{type.plain_name} = {type.class_name}"


def accepted(param: Field) -> str:
    """Return the Python classes of a parameter's values as code: a tuple, empty if any class may occur."""
    word = family(combined(param.kind))
    return f"({''.join(f'{one}, ' for one in ACCEPTED.get(word, ()))})"


ACCEPTED: dict[str, tuple[str, ...]] = {
    "integer": ("int",),
    "enum": ("int",),
    "bool": ("bool", "int"),
    "float": ("float", "int"),
    "text": ("str",),
    "bytes": ("bytes", "memoryview"),
    "sequence": ("list", "tuple", "bytes", "memoryview"),
}
"""Classes of the values that callers may give as a parameter, by family of its kind; other families accept any."""


def module_texts(model: Model, *, traced: bool = False, plain: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return every module by the id of its specification; `traced` readers record the position of each field.

    `plain`: by path, the source of the fast readers; traced ones then use these for lists, and read an element again
    with notes when it is shown.
    """
    needs = find_needs(model)
    untraced = None if plain is None else untraced_readers(model, plain)
    return {id: module_text(schema, needs, traced=traced, untraced=untraced) for id, schema in model.schemas.items()}
