"""`exhume explain`: every byte, with offset, size, field, value and meaning."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click

from exhume.cli.many import Many
from exhume.cli.outcome import Outcome
from exhume.cli.params import SIZE
from exhume.cli.recursive import each_archive, recursive_options
from exhume.cli.render import cell, printable, table
from exhume.cli.runtime import Run, common_options
from exhume.errors import shorten

if TYPE_CHECKING:
    from exhume.engines.explained import Explained


LONGEST_MEANING = 700
"""The most characters of a meaning in the table: other people's specifications may hold whole licences."""


@click.command("explain")
@click.argument("target", metavar="TARGET")
@click.option("--at", "at", type=SIZE, metavar="OFFSET", help="Say what the byte at OFFSET is, innermost field first.")
@click.option("--range", "span", metavar="A:B", help="Only fields that touch bytes A (inclusive) to B (exclusive).")
@click.option("--section", metavar="NAME", help="Only this section (see: exhume list --sections).")
@click.option("--file", "source", metavar="NAME", help="Archives of several files: only this one.")
@click.option("--depth", type=click.IntRange(0), help="Levels of fields to show.")
@click.option("--all", "whole", is_flag=True, help="Every element and section, however many.")
@click.option("--coverage", "coverage_", is_flag=True, help="Only totals: claimed, padding, gap, overlap, unexplained.")
@click.option("--html", "html", metavar="FILE", help="Write one self-contained page: hex, fields, verdicts, map.")
@click.option("--overwrite", is_flag=True, help="Replace an existing page.")
@click.option("--no-verify", is_flag=True, help="Compute no checksum and look for no finding.")
@click.option("--ksy", "ksy", metavar="SPEC.ksy", help="TARGET is any file, and this is the specification of it.")
@click.option("--import", "imports", multiple=True, metavar="DIR", help="Where --ksy finds what it imports, too.")
@recursive_options
@common_options
def command(
    run: Run,
    target: str,
    at: int | None,
    span: str | None,
    section: str | None,
    source: str | None,
    depth: int | None,
    whole: bool,
    coverage_: bool,
    html: str | None,
    overwrite: bool,
    no_verify: bool,
    ksy: str | None,
    imports: tuple[str, ...],
    recursive: Many | None,
) -> Outcome:
    """Explain every byte of the archive TARGET: offset, size, field, type, value, meaning, checksum verdict.

    Decompressed payloads are shown as address spaces of their own ("+offset").  A damaged archive is explained as far
    as it can be read, decoded and parsed, the rest as bytes; exit code 3.

    With --ksy, any file is explained by a Kaitai Struct specification (extra: ksy).
    """
    from exhume.engines.explain import Selection, explain_archive

    selection = Selection(section=section, source=source, whole=whole)
    if at is not None:
        selection.start, selection.end = at, at + 1
    if span is not None:
        selection.start, selection.end = _range(span)
    if recursive is not None:
        _refuse_recursion(ksy, coverage_)
        return each_archive(run, recursive, "explain", coverage_one, [target], heading=True)
    opened: Any = run.inspect(target) if ksy is None else _specified(run, target, ksy, imports)
    if coverage_:
        return _coverage(run, target, opened)
    with opened as archive:
        findings = None if no_verify or ksy is not None else list(archive.verify())
        if html is not None:
            outcome = _page(run, target, archive, findings, html, overwrite)
            return run.tell_problems(archive) or outcome
        explained = explain_archive(archive, selection, findings or (), unchecked="--no-verify" if no_verify else "")
        outcome = run.tell_problems(archive)
        if at is not None:
            return _at(run, target, list(explained), at) or outcome
        first = next(explained, None)
        if first is None and span is not None:
            outcome = Outcome.NO
        seen = _Seen([] if first is None else itertools.chain([first], explained))
        if run.machine:
            head = {"target": target, "format": archive.format}
            run.items("explain", head, "sections", (item.to_dict() for item in seen))
        elif outcome is Outcome.NO:
            run.say(f"range {span} is outside the archive")
        else:
            told: set[str] = set()
            for item in seen:
                _section(run, item, depth, selection, told)
    return outcome if seen.complete else Outcome.LOSS


def _refuse_recursion(ksy: str | None, coverage_: bool) -> None:
    """Raises a usage error for what is not explained of many archives."""
    if ksy is not None:
        raise click.UsageError("--recursive does not apply with --ksy: give one file")
    if not coverage_:
        raise click.UsageError("--recursive needs --coverage: the fields of one archive fill a screen")


def _specified(run: Run, target: str, ksy: str, imports: tuple[str, ...]) -> Any:
    from exhume.layout.foreign import SpecifiedFile, compile_ksy, one_file

    specification = compile_ksy(ksy, imports=imports)
    return SpecifiedFile(one_file(run.take_source(target)), specification)


class _Seen:
    """Passes sections through and remembers whether all of them could be read, decoded and parsed."""

    def __init__(self, items: Iterable[Explained]) -> None:
        self._items = items
        self.complete = True

    def __iter__(self) -> Iterator[Explained]:
        for item in self._items:
            self.complete = self.complete and item.complete
            yield item


def _page(run: Run, target: str, archive: Any, findings: list[Any] | None, path: str, overwrite: bool) -> Outcome:
    """Writes the page and says where it is."""
    import io

    from exhume.io.output.atomic import AtomicFile
    from exhume.view.page import write_page

    with AtomicFile(path, overwrite=overwrite) as file:
        text = io.TextIOWrapper(file.file, encoding="utf-8", newline="\n")
        complete = write_page(archive, findings, text)
        text.flush()
        text.detach()
    if run.machine:
        run.document("page", {"target": target, "format": archive.format, "output": path})
    else:
        run.note(f"written to {path}")
    return Outcome.DONE if complete else Outcome.LOSS


def _range(text: str) -> tuple[int, int]:
    first, colon, last = text.partition(":")
    try:
        start = SIZE.convert(first or "0", None, None)
        end = SIZE.convert(last, None, None) if last else 1 << 62
    except click.BadParameter as error:
        raise click.UsageError(f"--range: {error.message}") from error
    if not colon or end <= start:
        raise click.UsageError("--range takes A:B with A before B, for example 0x40:0x80")
    return start, end


def coverage_one(run: Run, target: str) -> Outcome:
    """Says how much of an archive is explained."""
    return _coverage(run, target, run.inspect(target))


def _coverage(run: Run, target: str, opened: Any) -> Outcome:
    from exhume.engines.explain import coverage

    with opened as archive:
        totals = coverage(archive)
        outcome = run.tell_problems(archive)
    if run.machine:
        run.document("coverage", {"target": target, **totals.to_dict()})
    else:
        for name in ("fields", "data", "padding", "gap", "overlap", "total"):
            run.say(f"{name.ljust(11)} {getattr(totals, name):>15,}")
        for hole in totals.unexplained:
            run.say(f"unexplained: {printable(str(hole))}, {hole.size} bytes")
    return outcome or (Outcome.NO if totals.unexplained else Outcome.DONE)


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


def _value(node: Any) -> str:
    if node.value is None:
        return ""
    text = cell(node.value) if not isinstance(node.value, (bytes, bytearray)) else node.value[:24].hex(" ")
    if isinstance(node.value, (bytes, bytearray)) and len(node.value) > 24:
        text += " …"
    if isinstance(node.value, int) and not isinstance(node.value, bool) and abs(node.value) > 9999:
        text += f" (0x{node.value:x})" if node.value >= 0 else ""
    return shorten(text, 70)


def _meaning(node: Any, told: set[str] | None = None) -> str:
    """What a field means and whether it is valid.  A text in `told` was printed before and is not repeated."""
    words = node.meaning or node.doc
    if told is not None and not node.meaning:
        known = words in told
        told.add(words)
        words = "" if known else shorten(words, LONGEST_MEANING)
    parts = [
        words,
        f"[{node.checksum}: {node.check}]" if node.check is not None else "",
        f"! {node.note}" if node.note else "",
    ]
    return printable("  ".join(part for part in parts if part))


def _section(run: Run, item: Any, depth: int | None, selection: Any, told: set[str]) -> None:
    section = item.section
    place = f"{section.span.start}..{section.span.end}"
    codec = f", {section.codec}" if section.codec else ""
    size = f"{section.span.size} bytes{codec}"
    run.say(f"== {printable(section.name)}  {place}  ({size}, {section.kind}) {printable(section.span.source)}")
    if item.skipped:
        run.say(f"   … {item.skipped} such sections in all are summed up (--all shows them)")
        return
    if item.note:
        run.say(f"   {printable(item.note)}")
    for finding in item.findings:
        if (text := str(finding)) not in told:
            told.add(text)
            run.say(f"   ! {printable(text)}")
    for tree, title in ((item.stored, ""), (item.payload, "decompressed payload")):
        if tree is None:
            continue
        if title:
            run.say(f"-- {title} of {printable(section.name)}: +offset counts from its start")
        rows = list(_rows(tree, depth, selection, told))
        for line in table(rows, ["offset", "size", "field", "type", "value", "meaning"])[0 if not title else 1 :]:
            run.say(line)


def _rows(tree: Any, depth: int | None, selection: Any, told: set[str]) -> Iterator[list[str]]:
    """The fields of a tree that are asked for, a row each."""
    for level, node in tree.walk():
        if depth is not None and level > depth:
            continue
        if selection.start is not None and not _touches(node, selection):
            continue
        name = "  " * level + node.name
        yield [_offset(node), _size(node), name, node.type, _value(node), _meaning(node, told)]
        if node.omitted:
            yield ["", "", "  " * (level + 1) + f"… {node.omitted} more", "", "", ""]


def _touches(node: Any, selection: Any) -> bool:
    return node.span is None or (node.span.start < selection.end and node.span.end > selection.start)


def _at(run: Run, target: str, explained: list[Any], offset: int) -> Outcome:
    from exhume.engines.explain import innermost, neighbours
    from exhume.engines.explained import field_to_dict

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
        return Outcome.DONE if sections else Outcome.NO
    if not sections:
        run.say(f"offset {offset} is outside the archive")
        return Outcome.NO
    for node in reversed(chain):
        run.say(f"{_offset(node)}  {_size(node)} bytes  {node.path}  {node.type}  {_value(node)}".rstrip())
        if text := _meaning(node):
            run.say(f"    {text}")
        if node.doc_ref:
            run.say(f"    see {printable(node.doc_ref)}")
    if len(chain) > 1:
        before, after = neighbours(chain[-2], chain[-1])
        for label, near in (("before", before), ("after", after)):
            if near is not None:
                run.say(f"{label}: {_offset(near)}  {near.path}  {_value(near)}".rstrip())
    for section in reversed(sections):
        run.say(f"in section {printable(section.name)} ({section.kind}), {section.span.start}..{section.span.end}")
        if section.note:
            run.say(f"    {printable(section.note)}")
    return Outcome.DONE
