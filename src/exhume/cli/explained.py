"""What `exhume explain` prints for people: the sections with their damage, the fields, one byte."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from exhume.cli.exit_code import ExitCode
from exhume.cli.render import cell, printable
from exhume.cli.run import Run
from exhume.cli.terminal.hexdump import MOST, around, hex_lines
from exhume.counts import counted
from exhume.errors import shorten
from exhume.layout.described import documented

if TYPE_CHECKING:
    from exhume.engines.explain import Selection
    from exhume.layout.sections import SectionMap
    from exhume.layout.trees import Field

LONGEST = 700
"""The most characters of a value, a meaning or a sentence about a section in a table; a terminal wraps them.  Values of
hostile files, and meanings in other people's specifications, which may hold whole licenses, have no bound of their own.
"""

MOST_BYTES, FEWER_BYTES = 64, 24
"""The longest value in bytes that is shown whole (a SHA-512), and how much is shown of a longer one."""


def tell_sections(run: Run, items: Iterable[Any]) -> None:
    """Print every section as a row, then the damaged ones with the fields that findings concern."""
    rows: list[list[Any]] = []
    damaged: list[Any] = []
    told: set[str] = set()
    for item in items:
        section = item.section
        name = ("  " if section.parent else "") + printable(section.name)
        what = item.note or _first_sentence(section)
        if item.skipped > 1:
            name, what = f"… {item.skipped:,} more", item.note
        what = printable(shorten(what, LONGEST)) if what not in told else ""
        told.add(item.note or _first_sentence(section))
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
        tell_fields(run, item, None, None, printed)


def _first_sentence(section: Any) -> str:
    """The first sentence of the specification about the bytes of a section."""
    schema = section.schema or section.payload_schema
    return documented(schema).partition(". ")[0].removesuffix(".") if schema and section.parse is None else ""


def _offset(node: Any) -> str:
    if node.span is None:
        return ""
    if node.span.payload is not None:
        return f"+{node.span.payload[0]}"
    return str(node.span.start)


def _size(node: Any) -> str:
    if node.span is None:
        return ""
    if node.span.payload is not None:
        return str(node.span.payload[1] - node.span.payload[0])
    return str(node.span.size)


def field_value(node: Any) -> str:
    """The value of a field, whole up to `LONGEST`; numbers that identify a format in hexadecimal."""
    value = node.shown
    if value is None:
        return ""
    if isinstance(value, (bytes, bytearray)):
        return value.hex(" ") if len(value) <= MOST_BYTES else value[:FEWER_BYTES].hex(" ") + " …"
    text = cell(value)
    if isinstance(value, int) and not isinstance(value, bool) and value > 9999:
        text += f" (0x{value:x})"
    return shorten(text, LONGEST)


def _meaning(node: Any, told: set[str] | None = None) -> str:
    """The meaning of a field and whether it is valid.  Text in `told` was printed before and is not repeated."""
    words = node.meaning or node.doc
    if told is not None and not node.meaning:
        known = words in told
        told.add(words)
        words = "" if known else shorten(words, LONGEST)
    parts = [
        words,
        f"[{node.checksum}: {node.check}]" if node.check is not None else "",
        f"! {node.note}" if node.note else "",
    ]
    return printable("  ".join(part for part in parts if part))


def tell_fields(run: Run, item: Any, depth: int | None, selection: Any, told: set[str]) -> None:
    """Print a section with the requested fields.  Text in `told` was printed before and is not repeated."""
    section = item.section
    place = f"{section.span.start}..{section.span.end}"
    codec = f", {section.codec}" if section.codec else ""
    size = f"{counted(section.span.size, 'bytes')}{codec}"
    title = run.screen.paint(f"== {printable(section.name)}", "heading")
    run.print(
        f"{title}  {run.screen.paint(place, 'offset')}  ({size}, {section.kind}) {printable(section.span.source)}"
    )
    if item.skipped:
        more = f": {printable(item.note)}" if item.note else ""
        run.print(f"   … {counted(item.skipped, 'such sections')} summed up (--all shows them){more}")
        return
    if item.note and item.note not in map(str, item.findings):
        run.print(f"   {printable(item.note)}")
    for finding in item.findings:
        if (text := str(finding)) not in told:
            told.add(text)
            run.print(run.screen.paint(f"   ! {printable(text)}", str(finding.severity)))
    for tree, title in ((item.stored, ""), (item.payload, "decompressed payload")):
        if tree is None:
            continue
        if title:
            run.print(f"-- {title} of {printable(section.name)}: +offset counts from its start")
        rows = list(_rows(tree, depth, selection, told))
        lines = run.screen.table(rows, ["offset", "size", "field", "type", "value", "meaning"], prose=True)
        run.print_lines(lines[1:] if title else lines)


def _rows(tree: Any, depth: int | None, selection: Any, told: set[str]) -> Iterator[list[str]]:
    """The fields of a tree that are asked for, a row each."""
    for level, node in _walk(tree, depth):
        if selection is not None and selection.start is not None and not _touches(node, selection):
            continue
        name = "  " * level + node.name
        yield [_offset(node), _size(node), name, node.type, field_value(node), _meaning(node, told)]
        if node.omitted and (selection is None or selection.window is None or node.span.payload is not None):
            yield ["", "", "  " * (level + 1) + f"… {node.omitted} more", "", "", ""]


def _walk(node: Any, depth: int | None, level: int = 0) -> Iterator[tuple[int, Any]]:
    """A field and those below it to a depth, outermost first."""
    yield level, node
    if depth is None or level < depth:
        for child in node.children:
            yield from _walk(child, depth, level + 1)


def _touches(node: Any, selection: Any) -> bool:
    return node.span is None or (node.span.start < selection.end and node.span.end > selection.start)


def tell_bytes(run: Run, found: SectionMap, item: Any, selection: Selection) -> None:
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
    source = found.sources[name]
    return lambda start, stop: source.read_at(start - source.origin, stop - start)


def _tell_around(run: Run, found: SectionMap, explained: Sequence[Any], chain: Sequence[Field], offset: int) -> None:
    """Print the bytes around one byte."""
    source = found.sources[explained[0].section.span.source]
    start, stop = around(chain, offset, source.origin + source.size)
    trees = [tree for item in explained for tree in item.trees()]
    run.print_lines(
        list(hex_lines(run.screen, _reader(found, source.name), max(start, source.origin), stop, trees, marked=offset))
    )


def tell_byte(
    run: Run, target: str, explained: Sequence[Any], offset: int, *, found: SectionMap | None = None
) -> ExitCode:
    """Print or documents what one byte is, innermost field first; with a map also the bytes around it."""
    from exhume.engines.explained import field_to_dict, innermost, neighbors

    chain = innermost((tree for item in explained for tree in item.trees()), offset)
    sections = [item.section for item in explained]
    if run.machine:
        body = {
            "target": target,
            "offset": offset,
            "sections": [s.to_dict() for s in sections],
            "fields": [{k: v for k, v in field_to_dict(node).items() if k != "children"} for node in reversed(chain)],
        }
        run.document("explain", body)
        return ExitCode.DONE if sections else ExitCode.NO
    if not sections:
        run.print(f"offset {offset} is outside the archive")
        return ExitCode.NO
    if found is not None:
        _tell_around(run, found, explained, chain, offset)
    for node in reversed(chain):
        size = _size(node)
        what = f"{size} {'byte' if size == '1' else 'bytes'}  {node.path}  {node.type}  {field_value(node)}"
        run.print(f"{run.screen.paint(_offset(node), 'offset')}  {what}".rstrip())
        if text := _meaning(node):
            run.print_lines(run.screen.wrap(f"    {text}", 4))
        if node.doc_ref:
            run.print(f"    see {printable(node.doc_ref)}")
    if len(chain) > 1:
        before, after = neighbors(chain[-2], chain[-1])
        for label, near in (("before", before), ("after", after)):
            if near is not None:
                run.print(f"{label}: {_offset(near)}  {near.path}  {field_value(near)}".rstrip())
    for section in reversed(sections):
        run.print(f"in section {printable(section.name)} ({section.kind}), {section.span.start}..{section.span.end}")
        if section.note:
            run.print(f"    {printable(section.note)}")
    return ExitCode.DONE
