"""HTML for notebooks of an archive, its sections, a finding and an explained section: small self-contained tables.

Everything comes from untrusted files, so every text is escaped and cut to a readable length, and control characters are
made visible.  Nothing is read except what `info` and `sections` read anyway.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from exhume.archive import Archive
from exhume.counts import counting
from exhume.engines.explanation import ExplainedSection
from exhume.errors import ExhumeError, Span
from exhume.findings import Finding
from exhume.layout.sections import SectionMap

MOST_ROWS = 60  # of a table
MOST_TEXT = 200  # characters of a cell
COLORS = {"error": "#c62828", "unchecked": "#6a1b9a", "warning": "#b26a00", "note": "#1565c0"}  # by severity


def archive_html(archive: Archive) -> str:
    """Format, name and the values of `info`, or the error that prevents reading them."""
    try:
        facts: Mapping[str, Any] = archive.info().to_dict()
    except ExhumeError as error:
        facts = {"error": str(error)}
    rows = ((key, _value(value)) for key, value in facts.items() if value not in (None, "", [], {}))
    return _table(f"{archive.format} archive {archive.name}", None, rows)


def sections_html(sections: SectionMap) -> str:
    """A row per section in file order, and how much of the file is accounted for."""
    several = len(sections.sources) > 1
    total = sections.coverage().total
    heads = [*(["file"] if several else []), "offset", "size", "section", "kind", "codec", "note"]
    rows = (
        [
            *([section.span.source] if several else []),
            f"{section.span.start:,}",
            f"{section.span.size:,}",
            section.name,
            str(section.kind),
            section.codec or "",
            section.note or "",
        ]
        for section in sections
    )
    return _table(
        f"{len(sections):,} {counting('sections', len(sections))}, {total:,} {counting('bytes', total)}",
        heads,
        rows,
        len(sections),
    )


def finding_html(finding: Finding) -> str:
    """Code and severity in color, the sentence, where it is, and what was expected."""
    span = finding.span
    where = [] if span is None else [("where", f"{span.source}: {span.start:,} to {span.end:,}")]
    facts = [("field", finding.field_path), ("expected", finding.expected), ("found", finding.actual)]
    rows = [*where, *((name, value) for name, value in facts if value is not None)]
    color = COLORS[str(finding.severity)]
    return _table(f"{finding.code} {finding.severity}: {finding.message}", None, rows, color=color)


def explained_html(explained: ExplainedSection) -> str:
    """A row per field of a section, in the order of the specification: place, name, value, meaning and verdict."""
    section = explained.section
    fields = [node for tree in explained.trees() for node in tree.walk()]
    rows = (
        [
            *(("", "") if node.span is None else (f"{number:,}" for number in _place(node.span))),
            f"{'· ' * depth}{node.name}",
            "" if node.value is None else _value(node.value),
            "; ".join(text for text in (node.meaning, str(node.check or ""), node.note) if text),
        ]
        for depth, node in fields
    )
    place = f"{section.span.source}: {section.span.start:,} to {section.span.end:,}"
    shown = _table(f"{section.name} ({place})", ["offset", "size", "field", "value", "meaning"], rows, len(fields))
    return "\n".join([shown, *map(finding_html, explained.findings[:MOST_ROWS])])


def _place(span: Span) -> tuple[int, int]:
    """Return offset and size of a field: in the decompressed payload for a field of one, else in the file."""
    start, end = span.local
    return start, end - start


def _table(
    caption: str,
    heads: list[str] | None,
    rows: Iterable[Iterable[Any]],
    count: int = 0,
    color: str = "inherit",
) -> str:
    """Return an HTML table of at most `MOST_ROWS` rows; `count` is the number of all rows, 0 if unknown."""
    columns = 2 if heads is None else len(heads)  # without heads: name and value
    cell = '<td style="text-align:left;vertical-align:top">'
    out = [f'<table><caption style="text-align:left;font-weight:bold;color:{color}">{_text(caption)}</caption>']
    if heads is not None:
        out.append("<tr>" + "".join(f'<th style="text-align:left">{_text(head)}</th>' for head in heads) + "</tr>")
    for number, row in enumerate(rows):
        if number == MOST_ROWS:
            rest = f"{count - MOST_ROWS:,} more" if count else "more"
            out.append(f'<tr><td colspan="{columns}">… {rest}</td></tr>')
            break
        out.append("<tr>" + "".join(f"{cell}{_text(value)}</td>" for value in row) + "</tr>")
    return "\n".join([*out, "</table>"])


def _value(value: Any) -> str:
    """Return a value of `info` as text."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_value(one)}" for key, one in list(value.items())[:MOST_ROWS])
    if isinstance(value, list | tuple):
        return ", ".join(map(_value, value[:MOST_ROWS]))
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _text(value: Any) -> str:
    """Return the HTML of a value: cut to `MOST_TEXT` characters, with control characters as escapes."""
    text = str(value)
    text = text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}…"
    return escape("".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text))
