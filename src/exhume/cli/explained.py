"""Text output of `exhume explain`: sections with their damage, fields, one byte, and colored hex dumps.

A section is a range of bytes of an archive with one purpose (header, block, index ...).  Its fields, as the format's
specification describes them, form a tree.  A compressed section has two trees: one of the stored bytes, and one of the
decompressed payload, whose offsets count from the payload's start and are printed as `+N`.

An `item` is an `ExplainedSection`, a section or several alike (`skipped`: how many; 0 for one).  Its trees are `stored`
and `payload`, None if absent; `findings` are about the section as a whole, and `note` is a remark on it.  A `node` is a
`Field` of a tree: `shown` is its value, `meaning` the meaning of the value, `doc` the sentence about the field, `check`
the verdict on a checksum, `note` its damage, and `omitted` the number of elements that were not parsed.  A `Selection`
has the bytes `[start, end)` to show (None: all); without one, all is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from exhume.cli import ExitCode
from exhume.cli.render import cell, printable
from exhume.cli.run import Run
from exhume.cli.terminal.screen import FIELD_COLORS, Screen, paint
from exhume.counts import counted
from exhume.errors import shorten
from exhume.layout.specifications import documented

if TYPE_CHECKING:
    from exhume.engines.explain import Selection
    from exhume.layout.sections import SectionMap
    from exhume.layout.trees import Field


ROW = 16  # bytes per line
OFFSETS = 8  # digits
GAPS = 7  # columns: the spaces between the parts of a line, which are offset, bytes, characters and names
NAMES = 20  # columns; if fewer are left next to the bytes, the names follow the dump
MOST = 512  # bytes of a dump, unless all are requested
ALIGNED = 10_000  # rows of fields that are held, and aligned with each other

Read = Callable[[int, int], bytes]
"""Reads the bytes `[start, stop)`, in offsets of the dump."""


def hex_lines(
    screen: Screen, read: Read, start: int, stop: int, fields: Iterable[Field], *, marked: int | None = None
) -> Iterator[str]:
    """Yield a line for each 16 bytes of `[start, stop)`: offset, bytes, characters, names of fields that start there.

    A byte has the color of the innermost field that contains it, and `marked` is shown in reverse video; without colors
    it is followed by `<`.  Propagates errors from `read`.
    """
    owners, names = _owners(fields, start, stop)
    # Each byte takes four columns: two digits, a space and a character.
    has_names = screen.width is None or screen.width - OFFSETS - ROW * 4 - GAPS >= NAMES
    data = read(start, stop)
    first = start - start % ROW
    digits = max(OFFSETS, len(f"{stop:x}"))
    for at in range(first, start + len(data), ROW):
        pairs, chars = "", ""
        for offset in range(at, at + ROW):
            inside = start <= offset < start + len(data)  # the first and last line may be incomplete
            byte = data[offset - start] if inside else 0
            code = _code(owners[offset - start] if inside else None, offset == marked) if screen.color else ""
            mark = "<" if offset == marked and not screen.color else " "
            # A further space between the two halves of a line.
            pairs += (paint(f"{byte:02x}", code) if inside else "  ") + mark + (" " if offset % ROW == 7 else "")
            char = chr(byte) if 32 <= byte < 127 else "."
            chars += paint(char, code) if inside else " "
        lead = screen.paint(f"{at:0{digits}x}", "offset")
        here = [(number, name) for offset, number, name in names if has_names and at <= offset < at + ROW]
        labels = _labels(screen, here, digits + ROW * 4 + GAPS)
        yield f"{lead}  {pairs} {chars}  {labels}".rstrip()
    if not has_names:
        yield from _legend(screen, names)


def around(fields: Sequence[Field], offset: int, end: int) -> tuple[int, int]:
    """Return the bytes `[start, stop)` to show around a byte: two lines on either side, and its field if that is small.

    `fields` are those that contain the byte, outermost first; `end` is the end of the file.
    """
    start, stop = offset - offset % ROW - 2 * ROW, offset - offset % ROW + 3 * ROW
    span = fields[-1].span if fields else None
    if span is not None and span.payload is None and span.size <= MOST:
        start, stop = min(start, span.start - span.start % ROW), max(stop, span.end + -span.end % ROW)
    return max(0, start), min(end, stop)


def _owners(fields: Iterable[Field], start: int, stop: int) -> tuple[list[int | None], list[tuple[int, int, str]]]:
    """Return the number of the innermost field of each byte, and `(offset, number, name)` of each visible field.

    Fields are numbered in order, which determines their color.  `offset` is where a field begins in the dump.
    """
    owners: list[int | None] = [None] * (stop - start)
    found: dict[int, tuple[int, str]] = {}
    number = 0
    for tree in fields:
        for _, node in tree.walk():  # outermost first
            span = node.span
            if span is None or span.payload is not None or not span.size:  # no bytes of the file
                continue
            if span.start >= stop or span.end <= start:  # none of the bytes that are shown
                continue
            if node.children and not node.omitted:  # its children color its bytes
                continue
            begin, end = max(span.start, start), min(span.end, stop)
            owners[begin - start : end - start] = [number] * (end - begin)
            found[number] = begin, node.path.partition(".")[2] or node.name
            number += 1
    seen = {owner for owner in owners if owner is not None}
    return owners, [(begin, number, name) for number, (begin, name) in found.items() if number in seen]


def _code(owner: int | None, marked: bool) -> str:
    """Return the terminal's code of a byte of field `owner`: color; dim (2) without a field; reverse (7) if marked."""
    code = "2" if owner is None else FIELD_COLORS[owner % len(FIELD_COLORS)]
    return f"7;{code}" if marked else code


def _legend(screen: Screen, names: Sequence[tuple[int, int, str]]) -> Iterator[str]:
    """The names of the fields in lines that fit, each in the color of its bytes."""
    line, used = "", 0
    for _, number, name in names:
        if used and screen.width is not None and used + 2 + len(name) > screen.width:
            yield line
            line, used = "", 0
        lead = "  " if used else ""
        line += lead + (paint(name, _code(number, False)) if screen.color else name)
        used += len(lead) + len(name)
    if used:
        yield line


def _labels(screen: Screen, named: Sequence[tuple[int, str]], used: int) -> str:
    """Return as many names as fit next to the bytes, each in the color of its bytes; "…" stands for the rest.

    `named` has number and name of each field, `used` is the number of columns that are taken.
    """
    out, left = "", 60 if screen.width is None else screen.width - used  # columns; 60 without a terminal
    for at, (number, name) in enumerate(named):
        last = at == len(named) - 1
        if len(name) > left - (0 if last else 2):
            return out + ("…" if left > 0 else "")
        out += paint(name, _code(number, False)) if screen.color else name
        left -= len(name) + 1
        out += "" if last else " "
    return out


LONGEST = 700
"""The most characters of a value, a meaning or a sentence about a section in a table; a terminal wraps them.  Values of
hostile files, and meanings in other people's specifications, which may hold whole licenses, have no bound of their own.
"""

MOST_BYTES, FEWER_BYTES = 64, 24
"""The longest value in bytes that is shown whole (a SHA-512), and how much is shown of a longer one."""


def print_sections(run: Run, items: Iterable[Any]) -> None:
    """Print every section as a row, then the damaged ones with their fields."""
    rows: list[list[Any]] = []
    damaged: list[Any] = []
    shown_before: set[str] = set()
    for item in items:
        section = item.section
        name = ("  " if section.parent else "") + printable(section.name)
        what = item.note or _first_sentence(section)
        if item.skipped > 1:  # this item stands for many sections of one kind
            name, what = f"… {item.skipped:,} more", item.note
        what = printable(shorten(what, LONGEST)) if what not in shown_before else ""
        shown_before.add(item.note or _first_sentence(section))
        rows.append(
            [section.span.source, section.span.start, section.span.size, section.kind, section.codec or "", name, what]
        )
        if item.findings or any(node.note for tree in item.trees() for _, node in tree.walk()):
            damaged.append(item)
    several = len({row[0] for row in rows}) > 1
    header = ["file", "offset", "size", "kind", "codec", "section", "what it is"]
    run.print_table((row if several else row[1:] for row in rows), header if several else header[1:])
    printed: set[str] = set()
    for item in damaged:
        run.print()
        print_fields(run, item, None, None, printed)


def _first_sentence(section: Any) -> str:
    """The first sentence of the specification about the bytes of a section."""
    schema = section.schema or section.payload_schema
    return documented(schema).partition(". ")[0].removesuffix(".") if schema and section.parse is None else ""


def _offset(node: Any) -> str:
    """Return where a field starts, for the table: `+N` in a decompressed payload, else an offset in the file."""
    if node.span is None:
        return ""
    start, _ = node.span.local
    return str(start) if node.span.payload is None else f"+{start}"


def _size(node: Any) -> str:
    """Return how many bytes a field takes, for the table; empty if it has no place."""
    if node.span is None:
        return ""
    start, end = node.span.local
    return str(end - start)


def field_value(node: Any) -> str:
    """The value of a field, shortened; integers above 9999 in hexadecimal as well, as they may identify a format."""
    value = node.shown
    if value is None:
        return ""
    if isinstance(value, (bytes, bytearray)):
        return value.hex(" ") if len(value) <= MOST_BYTES else value[:FEWER_BYTES].hex(" ") + " …"
    text = cell(value)
    if isinstance(value, int) and not isinstance(value, bool) and value > 9999:  # small numbers read well in decimal
        text += f" (0x{value:x})"
    return shorten(text, LONGEST)


def _meaning(node: Any, shown_before: set[str] | None = None) -> str:
    """The meaning of a field and whether it is valid; text in `shown_before` is not repeated."""
    words = node.meaning or node.doc
    if shown_before is not None and not node.meaning:
        known = words in shown_before
        shown_before.add(words)
        words = "" if known else shorten(words, LONGEST)
    parts = [
        words,
        f"[{node.checksum}: {node.check}]" if node.check is not None else "",
        f"! {node.note}" if node.note else "",
    ]
    return printable("  ".join(part for part in parts if part))


def print_fields(run: Run, item: Any, depth: int | None, selection: Any, shown_before: set[str]) -> None:
    """Print a section with the requested fields.  Text in `shown_before` was printed before and is not repeated."""
    section = item.section
    place = f"{section.span.start}..{section.span.end}"
    codec = f", {section.codec}" if section.codec else ""
    size = f"{counted(section.span.size, 'bytes')}{codec}"
    title, more = f"== {printable(section.name)}", f"({size}, {section.kind}) {printable(section.span.source)}"
    lines = run.screen.wrap(f"{title}  {place}  {more}", 3, whole=True)
    painted = f"{run.screen.paint(title, 'heading')}  {run.screen.paint(place, 'offset')}  {more}"
    run.print_lines([painted] if len(lines) == 1 else [run.screen.paint(line, "heading") for line in lines])
    if item.skipped:
        more = f": {printable(item.note)}" if item.note else ""
        run.print(f"   … {counted(item.skipped, 'such sections')} summed up (--all shows them){more}")
        return
    if item.note and item.note not in map(str, item.findings):
        run.print_wrapped(f"   {printable(item.note)}", 3)
    for finding in item.findings:
        if (text := str(finding)) not in shown_before:
            shown_before.add(text)
            lines = run.screen.wrap(f"   ! {printable(text)}", 5, whole=True)
            run.print_lines([run.screen.paint(line, str(finding.severity)) for line in lines])
    for tree, title in ((item.stored, ""), (item.payload, "decompressed payload")):
        if tree is None:
            continue
        if title:
            run.print_wrapped(f"-- {title} of {printable(section.name)}: +offset counts from its start")
        rows = _rows(tree, depth, selection, shown_before)
        while some := list(islice(rows, ALIGNED)):  # of a large section there may be millions
            lines = run.screen.table(some, ["offset", "size", "field", "type", "value", "meaning"], prose=True)
            run.print_lines(lines[1:] if title else lines)  # the header only above the first table of the section
            title = title or "one table"  # is not printed: further tables have no header


def _rows(tree: Any, depth: int | None, selection: Any, shown_before: set[str]) -> Iterator[list[str]]:
    """Yield the fields of a tree that are requested, a row each, to `depth` levels (None: all)."""
    for level, node in _walk(tree, depth):
        if selection is not None and selection.start is not None and not _touches(node, selection):
            continue
        name = "  " * level + node.name
        yield [_offset(node), _size(node), name, node.type, field_value(node), _meaning(node, shown_before)]
        # A list has more elements than were parsed, unless the elements outside of the requested range were left out.
        if node.omitted and (selection is None or selection.window is None or node.span.payload is not None):
            yield ["", "", "  " * (level + 1) + f"… {node.omitted} more", "", "", ""]


def _walk(node: Any, depth: int | None, level: int = 0) -> Iterator[tuple[int, Any]]:
    """A field and those below it to a depth, outermost first."""
    yield level, node
    if depth is None or level < depth:
        for child in node.children:
            yield from _walk(child, depth, level + 1)


def _touches(node: Any, selection: Any) -> bool:
    """Return whether a field has bytes in the requested range; a computed field without a place always counts."""
    return node.span is None or (node.span.start < selection.end and node.span.end > selection.start)


def print_bytes(run: Run, found: SectionMap, item: Any, selection: Selection) -> None:
    """Print the bytes of a section that are in a range as a hex dump, each in the color of its field."""
    span = item.section.span
    if selection.start is None or selection.end is None or item.section.parent is not None or item.skipped:
        return
    start, stop = max(selection.start, span.start), min(selection.end, span.end)
    last = stop if selection.whole else min(stop, start + MOST)
    run.print_lines(list(hex_lines(run.screen, _reader(found, span.source), start, last, item.trees())))
    if last < stop:
        run.print(f"… {counted(stop - last, 'more bytes')} (--all shows them)")


def _reader(found: SectionMap, name: str) -> Callable[[int, int], bytes]:
    """Return a function that reads bytes `[start, stop)` of a source of the map, in absolute offsets."""
    source = found.sources[name]
    return lambda start, stop: source.read_at(start - source.origin, stop - start)


def _print_around(run: Run, found: SectionMap, explained: Sequence[Any], chain: Sequence[Field], offset: int) -> None:
    """Print the bytes around one byte.  The sections `explained` and the fields `chain`, outermost first, have it."""
    source = found.sources[explained[0].section.span.source]
    start, stop = around(chain, offset, source.origin + source.size)
    trees = [tree for item in explained for tree in item.trees()]
    run.print_lines(
        list(hex_lines(run.screen, _reader(found, source.name), max(start, source.origin), stop, trees, marked=offset))
    )


def _print_field(run: Run, node: Field) -> None:
    """Print a field with its place, path and value, and its meaning below."""
    offset, size = _offset(node), _size(node)
    what = f"{size} {'byte' if size == '1' else 'bytes'}  {node.path}  {node.type}  {field_value(node)}"
    first, *rest = run.screen.wrap(f"{offset}  {what}".rstrip(), 4)
    run.print_lines([run.screen.paint(offset, "offset") + first.removeprefix(offset), *rest])
    if text := _meaning(node):
        run.print_lines(run.screen.wrap(f"    {text}", 4))
    if node.doc_ref:
        run.print(f"    see {printable(node.doc_ref)}")


def print_byte(
    run: Run, target: str, explained: Sequence[Any], offset: int, *, found: SectionMap | None = None
) -> ExitCode:
    """Print the fields that contain one byte, innermost first, and with `found` a dump of the bytes around it.

    `explained` are the sections that contain it.  With --json, print them as a document.  Returns NO if the offset is
    outside the archive.
    """
    from exhume.engines.explained import innermost, neighbors
    from exhume.layout.trees import field_to_dict

    chain = innermost((tree for item in explained for tree in item.trees()), offset)
    sections = [item.section for item in explained]
    if run.machine:
        body = {
            "target": target,
            "offset": offset,
            "sections": [section.to_dict() for section in sections],
            "fields": [
                {key: value for key, value in field_to_dict(node).items() if key != "children"}
                for node in reversed(chain)
            ],
        }
        run.document("explain", body)
        return ExitCode.DONE if sections else ExitCode.NO
    if not sections:
        run.print(f"{target}: offset {offset} is outside the archive")
        return ExitCode.NO
    if found is not None:
        _print_around(run, found, explained, chain, offset)
    for node in reversed(chain):
        _print_field(run, node)
    # The fields before and after the innermost one.
    if len(chain) > 1:
        parent, field = chain[-2:]
        before, after = neighbors(parent, field)
        for label, near in (("before", before), ("after", after)):
            if near is not None:
                run.print_wrapped(f"{label}: {_offset(near)}  {near.path}  {field_value(near)}".rstrip())
    for section in reversed(sections):
        run.print(f"in section {printable(section.name)} ({section.kind}), {section.span.start}..{section.span.end}")
        if section.note:
            run.print_wrapped(f"    {printable(section.note)}")
    return ExitCode.DONE
