"""Tables, values and hex dumps on terminals of different widths, and what of them a pipe gets."""

from __future__ import annotations

import colorsys
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exhume.cli.explained import hex_lines
from exhume.cli.render import human_time, in_words, table
from exhume.cli.terminal.screen import (
    FIELD_COLORS,
    FIELD_PALETTE,
    PLAIN,
    STYLES,
    Screen,
    key_values,
    paint,
    text_width,
    wants_color,
)
from exhume.errors import Span
from exhume.layout.trees import Field

Cli = Callable[..., Any]
PROSE = "one sentence about a field, which is longer than anything else in the row"


def plain(lines: list[str]) -> list[str]:
    """Lines without their escape sequences."""
    return [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in lines]


def test_without_a_terminal_a_table_is_as_wide_as_its_content() -> None:
    rows = [[1, "x" * 300], [10_000, "y z"]]
    assert Screen().table(rows, ["size", "name"], sizes=True) == table(rows, ["size", "name"])


@pytest.mark.parametrize("width", [40, 60, 80, 200])
@pytest.mark.parametrize("prose", [False, True])
def test_no_line_is_wider_than_the_terminal(width: int, prose: bool) -> None:
    rows = [
        [number * 997, "a few words " * 5, f"s3://bucket/{'folder/' * 9}{number}", f"{number} {PROSE}"]
        for number in range(5)
    ]
    lines = Screen(width).table(rows, ["offset", "note", "name", "meaning"], prose=prose)
    assert max(map(len, lines)) <= width
    assert sum(line.count("sentence") for line in lines) == 5


def test_cells_wrap_between_words_and_numbers_are_right_aligned() -> None:
    lines = Screen(40).table([[5, PROSE], [12345, "short"]], ["offset", "what it is"])
    assert lines[:3] == [
        "offset  what it is",
        "     5  one sentence about a field,",
        "        which is longer than anything",
    ]
    assert lines[-1] == " 12345  short"
    words = " ".join(lines).split()
    assert [word for word in PROSE.split() if word not in words] == []


def test_a_path_in_a_message_is_not_broken() -> None:
    path = "/folder" * 9 + "/name.zs"
    text = f"error: {path}: the header checksum does not match what was computed"
    lines = Screen(40).wrap(text, 4, whole=True)
    assert lines[0].split() == ["error:", f"{path}:"] or lines[0].startswith(f"error: {path}: ")
    assert max(map(len, lines[1:])) <= 40
    assert " ".join(line.strip() for line in lines) == text
    assert max(map(len, Screen(40).wrap(text, 4))) <= 40


def test_a_column_that_states_the_same_of_every_row_is_printed_once() -> None:
    name = "manifests/00000000-0000-4000-8000-000000000001"
    rows = [[name, "-", number, "a/note/of/some/words"] for number in (1, 2)]
    lines = Screen(60).table(rows, ["file", "x", "n", "y"])
    assert lines == [f"file: {name}", "y: a/note/of/some/words", "n", "1", "2"]


def test_rows_that_do_not_fit_are_blocks() -> None:
    words = ["p" * 30, "q" * 30, "r" * 30]
    lines = Screen(50).table([words, [*words[1:], "-"]], ["one", "two", "three"])
    assert lines[:4] == [f"one    {'p' * 30}", f"two    {'q' * 30}", f"three  {'r' * 30}", ""]
    assert lines[4:] == [f"one    {'q' * 30}", f"two    {'r' * 30}"]


def test_sizes_are_for_people_on_a_terminal_and_exact_elsewhere() -> None:
    rows: list[list[Any]] = [[1 << 20, "a"], [None, "b"]]
    assert Screen(80).table(rows, ["size", "name"], sizes=True) == ["   size  name", "1.0 MiB  a", "      -  b"]
    assert Screen(80).table(rows, ["size", "name"])[1] == "1048576  a"


def test_wide_characters_take_two_columns() -> None:
    assert text_width("漢字") == 4
    lines = Screen(80).table([["漢字", 1], ["ab", 2]], ["name", "n"])
    assert lines == ["name  n", "漢字  1", "ab    2"]
    assert max(map(text_width, Screen(40).table([["漢" * 60]], ["name"]))) <= 40


def test_verdicts_and_offsets_have_colors() -> None:
    line = Screen(80, True).table([[7, "damaged"], [8, "odd"]], ["offset", "verdict"])[1]
    assert line == f"     {paint('7', '36')}  {paint('damaged', '1;31')}"
    assert Screen(None, True).verdict("a", "ok", "ok (2 notes)") == [f"a: {paint('ok', '1;32')} (2 notes)"]


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("size", 9_999, None),
        ("stored size", 1 << 21, "2.0 MiB"),
        ("begin ms", 1699999960300, "2023-11-14T22:12:40.3Z"),
        ("minimum_ns", 1_590_000_000, "1.59 s"),
        ("last_ns", 90_061_000_000_000, "1 d 1 h 1 min 1 s"),
        ("events", 1_700_000_000_000_000_000, None),
        ("records", True, None),
        ("start_ns", 12, None),
    ],
)
def test_sizes_and_times_in_words(key: str, value: Any, words: str | None) -> None:
    assert in_words(key, value) == words


def test_times_before_1970_and_after_2100_are_not_dates() -> None:
    assert human_time(-1) is None
    assert human_time(1 << 63) is None


def test_values_fit_and_keep_their_alignment() -> None:
    lines = key_values({"a key": "word " * 30, "rows": [{"n": 1, "text": "x"}]}, Screen(40))
    assert max(map(len, lines)) <= 40
    assert lines[1].startswith("       word")
    assert lines[-3:] == ["rows:", "  n  text", "  1  x"]


def test_a_hex_dump_names_fields_and_marks_a_byte() -> None:
    def part(name: str, start: int, end: int, *children: Field) -> Field:
        return Field(name, f"root.{name}", "u1", Span("f", start, end), children=list(children))

    tree = part("root", 10, 40, part("one", 10, 12), part("two", 12, 30), part("three", 30, 40))
    data = bytes(range(256))
    lines = list(hex_lines(Screen(100), lambda start, stop: data[start:stop], 8, 40, [tree], marked=12))
    assert [line.split()[0] for line in lines] == ["00000000", "00000010", "00000020"]
    assert "0c<" in lines[0]
    assert [line[76:].split()[-1] for line in lines[:2]] == ["two", "three"]
    colored = list(hex_lines(Screen(60, True), lambda start, stop: data[start:stop], 8, 40, [tree], marked=12))
    assert paint("0c", f"7;{FIELD_COLORS[1]}") in colored[0]
    assert paint("08", "2") in colored[0], "no field contains it"
    assert plain(colored)[-1] == "one  two  three"


def test_explain_dumps_bytes_where_that_is_requested(samples: Path, exhume_cli: Cli) -> None:
    words = samples / "zs/words-none.zs"
    assert "00000010" not in exhume_cli("explain", words, "--at", "24").text
    text = exhume_cli("explain", words, "--at", "24", "--hex").text
    assert "2e<" in text
    assert "header.len_root" in text
    text = exhume_cli("explain", words, "--range", "0:700", "--hex", "--no-verify").text
    assert text.count("\n000") == 700 // 16 + 6  # a section starts a new dump
    assert exhume_cli("explain", words, "--hex").code == 2
    assert exhume_cli("explain", words, "--at", "1", "--hex", "--json").code == 2


@pytest.mark.parametrize(("choice", "colors"), [("always", True), ("never", False), ("auto", False)])
def test_the_user_chooses_colors(choice: str, colors: bool, samples: Path, exhume_cli: Cli) -> None:
    text = exhume_cli("verify", samples / "zs/words-none.zs", "--color", choice).text
    assert ("\x1b[1;32mok\x1b[0m" in text) is colors
    assert wants_color(choice) is colors
    assert "\x1b" not in exhume_cli("verify", samples / "zs/words-none.zs", "--json", "--color", choice).text


def test_short_output_does_not_import_rich(samples: Path) -> None:
    code = "import sys; from exhume.cli.main import invoke; invoke(sys.argv[1:]); assert 'rich' not in sys.modules"
    for words in (["info"], ["list", "--sections"], ["verify", "--color", "always"]):
        subprocess.run(
            [sys.executable, "-c", code, *words, str(samples / "zs/words-none.zs")], check=True, capture_output=True
        )


def test_the_screen_of_a_pipe_is_plain() -> None:
    assert Screen(None, False) == PLAIN


@pytest.mark.parametrize("color", FIELD_PALETTE)
def test_no_field_looks_damaged_and_each_is_read_on_light_and_dark(color: int) -> None:
    steps = (0, 95, 135, 175, 215, 255)
    cube = color - 16
    rgb = [steps[at] / 255 for at in (cube // 36, cube // 6 % 6, cube % 6)]
    hue = colorsys.rgb_to_hls(*rgb)[0] * 360
    assert 165 <= hue <= 275, "neither red, yellow, green nor magenta"
    linear = [value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4 for value in rgb]
    luminance = sum(weight * value for weight, value in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
    assert min(1.05 / (luminance + 0.05), (luminance + 0.05) / 0.05) >= 3.4
    assert not {code.split(";")[-1] for code in STYLES.values()} & set(FIELD_COLORS)


def test_zeros_are_aligned_as_numbers() -> None:
    assert Screen(80).table([[0, 5, None, ""]], ["start", "end", "none", "text"]) == [
        "start  end  none  text",
        "    0    5  -",
    ]


def test_the_verdict_has_its_color_wherever_the_line_breaks() -> None:
    text = "ok (structure is sound)"
    assert Screen(80).verdict("a: ok", "ok", text) == [f"a: ok: {text}"]
    for width in range(40, 60):
        lines = Screen(width, color=True).verdict("a file: ok, with spaces.clps: clp-s", "ok", text)
        plain = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(lines))
        assert " ".join(plain.split()) == f"a file: ok, with spaces.clps: clp-s: {text}"
        assert max(map(len, plain.split("\n"))) <= width
        painted = Screen(color=True).word("ok")
        assert "\n".join(lines).count(painted) == 1
        assert re.search(rf"clp-s:\s+{re.escape(painted)}", "\n".join(lines))
