"""The screen that a person reads: its width, its colors, tables laid out for both, and nested values as aligned lines.

Without a terminal, a table is as wide as its content and has no colors, so that piped output does not depend on the
size of a window.  Nothing here imports rich: most commands print a few lines and should start quickly.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from exhume.cli.render import aligned, cell, human_size, in_words, printable, table
from exhume.tuples import NamedTuple

# Names of styles are verdicts, severities, and kinds of text.
STYLES = {
    "error": "1;31",
    "unchecked": "1;35",
    "warning": "1;33",
    "note": "1;34",
    "damaged": "1;31",
    "incomplete": "1;35",
    "partial": "1;33",
    "ok": "1;32",
    "whole": "1;32",
    "complete": "1;32",
    "heading": "1",
    "offset": "36",
    "type": "33",
    "target": "35",
    "faint": "2",
}
"""Codes of "select graphic rendition" (ECMA-48, 8.3.117) by what text is; the eight basic colors suit any theme."""

FIELD_PALETTE = (33, 97, 30, 62, 66)
"""Colors of neighboring fields, which repeat, in the palette of 256.

None looks like a verdict or a severity (red, green, yellow, magenta), and each has a contrast of at least 3.4 to 1 with
black and with white.
"""

FIELD_COLORS = tuple(f"38;5;{color}" for color in FIELD_PALETTE)
"""The codes of these colors."""

_COLUMN_STYLES = {"offset": "offset", "type": "type", "kind": "type", "target": "target", "meaning": "faint"}
"""The style of the cells of a column, by its header."""
_BY_VALUE = frozenset(("verdict", "severity"))
"""Columns whose cells are names of styles themselves."""
_SIZES = frozenset(("size", "stored", "stored size", "length", "intact", "intact bytes"))
"""Columns of sizes in bytes."""

EMPTY = ("", "-")
"""Cells that say nothing."""

GAP = 2  # spaces between two columns
PROSE = 40  # columns; sentences in a narrower column are hard to read
INDENT = 8  # columns, of sentences that follow a row
UNBROKEN = 1 << 30  # a width that no cell exceeds
LONGEST = 40  # columns; a longer word, such as a path, may be broken where a table would not fit otherwise
SHORTEST = 20  # columns; the same for a table that is followed by sentences
NARROWEST = 40  # columns; a narrower window gets the tables of this width


def wants_color(choice: str = "auto") -> bool:
    """Whether standard output gets colors: `always`, `never`, or `auto`: on a terminal without `NO_COLOR`."""
    if choice != "auto":
        return choice == "always"
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def terminal_width() -> int | None:
    """Columns of the terminal that standard output is; None for anything else."""
    return _columns() if sys.stdout.isatty() else None


def message(text: str) -> str:
    """A message for standard error; where that is a terminal, it is broken between words."""
    if not sys.stderr.isatty():
        return text
    return "\n".join(Screen(_columns()).wrap(text, 4, whole=True))


def _columns() -> int:
    """Return the width of the terminal in columns."""
    from shutil import get_terminal_size  # which loads three compressors

    return max(NARROWEST, get_terminal_size().columns)


def paint(text: str, code: str) -> str:
    """Text between the escape sequences of a style."""
    return f"\x1b[{code}m{text}\x1b[0m" if code and text else text


def text_width(text: str) -> int:
    """Columns that a terminal needs for text without control characters."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


class Screen(NamedTuple):
    """Output for people: its width in columns (None: not a terminal), and whether it has colors."""

    width: int | None = None
    color: bool = False

    def paint(self, text: str, style: str) -> str:
        """Text in a style of `STYLES`; unchanged without colors."""
        return paint(text, STYLES.get(style, "")) if self.color else text

    def word(self, text: str) -> str:
        """A verdict or severity in its own color."""
        return self.paint(text, text)

    def verdict(self, lead: str, verdict: str, text: str) -> list[str]:
        """The lines of `lead: text`, with its color for the verdict that the text begins with."""
        lines = "\n".join(self.wrap(f"{lead}: {text}", 4, whole=True))
        # Find the verdict after wrapping, which only changes spaces: it follows as many other characters as before.
        left = len("".join(lead.split())) + 1  # with the colon
        at = next(at for at, _ in enumerate(lines) if len("".join(lines[:at].split())) == left)
        at += len(lines[at:]) - len(lines[at:].lstrip())
        if lines[at:].startswith(verdict):
            lines = lines[:at] + self.word(verdict) + lines[at + len(verdict) :]
        return lines.split("\n")

    def table(
        self, rows: Iterable[Sequence[Any]], header: Sequence[str], *, sizes: bool = False, prose: bool = False
    ) -> list[str]:
        """The lines of a table; on a terminal no line is wider than it if that is possible between words.

        Cells wrap between words.  Where even the longest words do not fit next to each other, each row is printed as a
        block, one column per line.  With `sizes`, a terminal shows columns of sizes as `1.5 MiB`.  With `prose`, the
        last column consists of sentences: they follow each row where they would be a narrow column.
        """
        if self.width is None and not self.color:
            return table(rows, header)
        known = list(rows)
        if sizes and self.width is not None:
            chosen = [at for at, name in enumerate(header) if name in _SIZES]
            known = [[_human(value) if at in chosen else value for at, value in enumerate(row)] for row in known]
        return _Layout(self, known, header, prose=prose).lines()

    def columns(self, columns: Sequence[Sequence[Any]], header: Sequence[str]) -> list[str]:
        """The lines of a table that is given by its columns, each with at least one value."""
        if self == PLAIN:
            return aligned(columns, header)
        return self.table(zip(*columns, strict=True), header, sizes=True)

    def narrower(self, columns: int) -> Screen:
        """Return this screen, narrower by an indentation."""
        return self if self.width is None else self._replace(width=max(NARROWEST, self.width - columns))

    def wrap(self, text: str, indent: int, *, whole: bool = False) -> list[str]:
        """Text in lines that fit, between words; all lines but the first start after `indent` spaces.

        A word that is longer than a line is broken, or with `whole` left to the terminal, so that it can be copied.
        """
        if self.width is None or text_width(text) <= self.width:
            return [text]
        return [lead + line for lead, line in _wrapped(text, self.width, indent, whole=whole)]


PLAIN = Screen()
"""No terminal: any width, no colors."""


class _Size(str):
    """A size in human form, which is aligned like a number."""

    __slots__ = ()


def _human(value: Any) -> Any:
    """Return a size in bytes as text for people; other values as they are."""
    return _Size(human_size(value)) if isinstance(value, int) and not isinstance(value, bool) else value


class _Layout:
    """One table on a terminal: `lines` chooses the form in which it fits, and formats it."""

    def __init__(self, screen: Screen, rows: list[Sequence[Any]], header: Sequence[str], *, prose: bool) -> None:
        """Format the cells; columns of numbers are aligned to the right. `prose` allows the last column to wrap."""
        self._screen = screen
        self._header = list(header)
        self._cells = [[cell(value) for value in row] for row in rows]
        columns = [[row[at] for row in rows] for at in range(len(header))]
        self._right = [
            any(value not in (None, "") for value in values) and all(map(_is_number, values)) for values in columns
        ]
        self._prose = prose

    def lines(self) -> list[str]:
        """The lines of the table.  If it is too wide, the first of these forms that fits: with prose below each row,
        without columns that are the same in every row, with long words broken, or with each row as a block.
        """
        widths = self._widths()
        if self._prose and self._screen.width is not None and (widths is None or widths[-1] < self._least_prose()):
            return self._with_prose(self._screen.width)
        lines: list[str] = []
        if widths is None and len(self._cells) > 1:
            lines = self._hoisted()
            widths = self._widths()
        widths = widths or self._widths(LONGEST)  # with long words broken
        if widths is None:
            return [*lines, *([""] if lines else []), *self._blocks()]
        lines += self._row(self._header, widths, ["heading"] * len(widths))
        for row in self._cells:
            lines += self._row(row, widths, list(map(_style_of, self._header, row)))
        return lines

    def _widths(self, longest: int = UNBROKEN) -> list[int] | None:
        """Widths of the columns that fit if no word is broken that is at most `longest` columns wide."""
        natural = [max([text_width(name), *map(text_width, column)]) for name, column in self._columns()]
        return natural if self._screen.width is None else self._fitted(natural, self._screen.width, longest)

    def _least_prose(self) -> int:
        """The width below which a column of prose is too narrow."""
        return min(PROSE, max((text_width(row[-1]) for row in self._cells), default=0))

    def _with_prose(self, width: int) -> list[str]:
        """The table without its last column, whose text follows each row."""
        texts, name = [row.pop() for row in self._cells], self._header.pop()
        self._right.pop()
        widths = self._widths() or self._widths(LONGEST) or self._widths(SHORTEST)
        if widths is None:
            for row, text in zip(self._cells, texts, strict=True):
                row.append(text)
            self._header.append(name)
            return self._blocks()
        lines = self._row(self._header, widths, ["heading"] * len(widths))
        for row, text in zip(self._cells, texts, strict=True):
            lines += self._row(row, widths, list(map(_style_of, self._header, row)))
            if text not in EMPTY:
                parts = _cell_lines(text, width - INDENT)
                lines += [" " * INDENT + self._screen.paint(part, _style_of(name, text)) for part in parts]
        return lines

    def _columns(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the header and the cells of each column."""
        for at, name in enumerate(self._header):
            yield name, [row[at] for row in self._cells]

    def _hoisted(self) -> list[str]:
        """Remove the columns that are the same in every row; return a line for each that is not empty."""
        alike = [at for at in range(len(self._header)) if len({row[at] for row in self._cells}) == 1]
        first = self._cells[0]
        lines = []
        for name, text in ((self._header[at], first[at]) for at in alike):
            if text not in EMPTY:
                first_line, *more = self._screen.wrap(f"{name}: {text}", INDENT)
                value = self._screen.paint(first_line.removeprefix(name), _style_of(name, text))
                lines += [self._screen.paint(name, "heading") + value, *more]
        kept = [at for at in range(len(self._header)) if at not in alike]
        self._header = [self._header[at] for at in kept]
        self._right = [self._right[at] for at in kept]
        self._cells = [[row[at] for at in kept] for row in self._cells]
        return lines

    def _fitted(self, natural: list[int], width: int, longest: int) -> list[int] | None:
        """Widths whose sum fits: the widest columns of text become narrower, at most to their longest word.

        `natural` are the widths without wrapping; words above `longest` columns may be broken.  None if nothing fits.
        """
        room = width - GAP * (len(natural) - 1)  # columns of all cells together
        if sum(natural) <= room:
            return natural
        # The least width of each column: numbers and sizes are not broken, text down to its longest word.
        least = [
            natural[at] if self._right[at] else min(longest, max(map(_longest_word, [name, *column])))
            for at, (name, column) in enumerate(self._columns())
        ]
        if sum(least) > room:
            return None
        low, high = 0, max(natural)  # binary search for the largest limit on widths under which all columns fit
        while low < high:
            middle = (low + high + 1) // 2
            if sum(map(max, least, (min(middle, one) for one in natural))) <= room:
                low = middle
            else:
                high = middle - 1
        return [max(small, min(low, one)) for small, one in zip(least, natural, strict=True)]

    def _row(self, texts: Sequence[str], widths: list[int], styles: Sequence[str]) -> list[str]:
        """The lines of one row, with `texts` in columns of `widths`: as many lines as its highest cell has."""
        cells = [_cell_lines(text, width) for text, width in zip(texts, widths, strict=True)]
        out = []
        for number in range(max(map(len, cells), default=0)):
            line, pending = "", 0  # spaces that only precede further text
            for at, parts in enumerate(cells):
                text = parts[number] if number < len(parts) else ""
                space = widths[at] - text_width(text)
                if text:
                    before = space if self._right[at] else 0
                    line += " " * (pending + before) + self._screen.paint(text, styles[at])
                    pending = space - before + GAP
                else:
                    pending += space + GAP
            out.append(line)
        return out

    def _blocks(self) -> list[str]:
        """Each row as a block of lines, `column  value`, for tables that do not fit."""
        label = max(map(text_width, self._header))
        out: list[str] = []
        for row in self._cells:
            if out:
                out.append("")
            for name, text in zip(self._header, row, strict=True):
                if text in EMPTY:
                    continue
                lead = self._screen.paint(name, "heading") + " " * (label - text_width(name) + GAP)
                parts = _cell_lines(text.strip(), max(1, (self._screen.width or NARROWEST) - label - GAP))
                style = _style_of(name, text)
                out.append(lead + self._screen.paint(parts[0], style))
                out += [" " * (label + GAP) + self._screen.paint(part, style) for part in parts[1:]]
        return out


def _style_of(name: str, text: str) -> str:
    """Return the style of a cell, by the header of its column or by its own text."""
    return text if name in _BY_VALUE else _COLUMN_STYLES.get(name, "")


def _is_number(value: Any) -> bool:
    """Whether a value is aligned as a number; an offset in a payload is text such as `+16`."""
    if isinstance(value, str):
        return isinstance(value, _Size) or not value or value.removeprefix("+").isdigit()
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))


def _longest_word(text: str) -> int:
    """Return the width of the longest word, with the indentation of the text."""
    indent = len(text) - len(text.lstrip(" "))
    return indent + max(map(text_width, text.split()), default=0)


def _cell_lines(text: str, width: int) -> list[str]:
    """Return the text of a cell in lines of at most `width` columns, all with its indentation."""
    if text_width(text) <= width:
        return [text]
    indent = len(text) - len(text.lstrip(" "))
    return [lead + line for lead, line in _wrapped(text, width, indent)]


def _wrapped(text: str, width: int, indent: int, *, whole: bool = False) -> list[tuple[str, str]]:
    """Lead and text of each line, broken between words; only a word that is longer than a line is broken itself.

    With `whole`, the terminal breaks such a word, so that a path can be copied.
    """
    lead = " " * (len(text) - len(text.lstrip(" ")))  # spaces before the current line
    out: list[tuple[str, str]] = []
    line, used = "", len(lead)  # the current line, and the columns that it takes
    for word in text.split():
        size = text_width(word)
        if whole and indent + size > width:
            used = (used + (1 if line else 0) + size) % width  # the terminal continues on its next line
            line = f"{line} {word}" if line else word
            continue
        while indent + size > width > indent:  # (an indentation as wide as the line leaves nothing to fill)
            if line:
                out.append((lead, line))
                lead, line = " " * indent, ""
            part = _part(word, width - indent)
            out.append((lead, part))
            word = word[len(part) :]
            lead, used, size = " " * indent, indent, text_width(word)
        if line and used + 1 + size > width:
            out.append((lead, line))
            lead = " " * indent
            line, used = word, indent + size
        else:
            used += size + (1 if line else 0)
            line = f"{line} {word}" if line else word
    out.append((lead, line))
    return out


def _part(word: str, width: int) -> str:
    """The beginning of a word that fits: to its last separator in the second half, else as many characters as fit."""
    end = (
        width if word.isascii() else next(size for size in range(len(word), 0, -1) if text_width(word[:size]) <= width)
    )
    at = max(word.rfind(mark, width // 2, end) for mark in "/._-:,=")
    return word[: at + 1] if at > 0 else word[: max(1, end)]


def key_values(data: Mapping[str, Any], screen: Screen = PLAIN, indent: str = "") -> list[str]:
    """Return a nested mapping as aligned `key  value` lines; lists of mappings become tables.

    Large sizes and times are followed by a form for people.  On a terminal, the lines fit its width.
    """
    lines: list[str] = []
    width = max((len(_label(key)) for key, value in data.items() if not _nested(value)), default=0)
    for key, value in data.items():
        label = _label(key)
        # A simple value: wrapped as plain text first, as colors would count as characters.
        if not _nested(value):
            text = cell(value)
            if (more := in_words(key, value)) is not None:
                text += f"  ({more})"
            first, *rest = screen.wrap(f"{indent}{label.ljust(width)}  {text}".rstrip(), len(indent) + width + 2)
            head = len(indent) + len(label)
            first = indent + screen.paint(label, "heading") + screen.paint(first[head:], _styled(key, value))
            lines += [first, *rest]
            continue
        # A mapping, or a list of mappings: indented under its key.
        lines.append(f"{indent}{screen.paint(label, 'heading')}:")
        if isinstance(value, Mapping):
            lines += key_values(value, screen, indent + "  ")
        else:
            header = list(dict.fromkeys(name for item in value for name in item))
            rows = ([item.get(name) for name in header] for item in value)
            names = [_label(name) for name in header]
            made = screen.narrower(len(indent) + 2).table(rows, names)
            lines += [f"{indent}  {line}" for line in made]
    return lines


def _styled(key: str, value: Any) -> str:
    """Return the style of a value by its key."""
    if key in ("verdict", "severity"):
        return str(value)
    return "target" if key == "target" else ""


def _label(key: str) -> str:
    """Return a key as it is printed."""
    return printable(str(key).replace("_", " "))


def _nested(value: Any) -> bool:
    """Return whether a value is printed on lines of its own: a mapping, or a list of mappings, that is not empty."""
    if isinstance(value, Mapping):
        return bool(value)
    return isinstance(value, list) and bool(value) and all(isinstance(item, Mapping) for item in value)
