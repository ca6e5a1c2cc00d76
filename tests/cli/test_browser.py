"""The terminal browser: what it shows, where its keys lead, and that it reads only what is on the screen."""

from __future__ import annotations

import asyncio
import builtins
import os
import re
import shutil
import subprocess
import sys
import time
from array import array
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from exhume_ksy.facts.clp_kv_ir import Tags

import exhume
from exhume.cli.terminal.outline import Item, Outline, details, find_bytes, sections_of
from exhume.engines import explained
from exhume.errors import Span
from exhume.formats.kv_ir.layout import END, build_text
from exhume.io.source import BytesSource, Source, StoppedError
from exhume.layout import elements, schema
from exhume.layout.sections import Section, SectionKind, SectionMap, SectionRun
from tests.kv_ir.streams import HEAD, event, user

Cli = Callable[..., Any]
Steps = Callable[[Any, Callable[..., Awaitable[None]]], Awaitable[None]]

TEXTUAL = "textual"


def drive(target: Path, steps: Steps, size: tuple[int, int] = (120, 40)) -> None:
    """Run the browser without a terminal; `press(*keys, until=...)` waits until a condition is true."""
    pytest.importorskip(TEXTUAL, reason="the extra tui is not installed")
    from exhume.cli.terminal.browser import Browser

    async def main() -> None:
        with exhume.inspect(target) as archive:
            app = Browser(archive, str(target))
            async with app.run_test(size=size) as pilot:

                async def wait(until: Callable[[], bool], after: str) -> None:
                    for _ in range(2400):
                        await pilot.pause(0.05)
                        if until():
                            return
                    raise AssertionError(f"after {after}: {app.shown_item}")

                async def press(*keys: str, until: Callable[[], bool], answer: str | None = None) -> None:
                    """Press keys, each when the one before has had its effect; `answer` is typed into the question."""
                    await pilot.press(*keys)
                    if answer is not None:
                        await wait(lambda: app.focused is not None and app.focused.id == "ask", f"{keys}")
                        app.focused.value = answer  # type: ignore[union-attr]
                        await pilot.press("enter")
                    await wait(until, f"{keys} {answer or ''}")

                await press(until=lambda: len(app.outline_tree.root.children) > 0)
                await steps(app, press)

    asyncio.run(main())


def chosen(app: Any, name: str) -> Callable[[], bool]:
    """Whether the chosen field has a name."""

    def is_chosen() -> bool:
        item = app.shown_item
        return item is not None and item.field is not None and item.field.name == name

    return is_chosen


def test_an_offset_unfolds_the_tree_to_its_field(samples: Path) -> None:
    async def steps(app: Any, press: Any) -> None:
        await press("g", answer="24", until=chosen(app, "len_root"))
        assert app.hex.chosen == (24, 32)
        assert ("value", "46") in details(app.shown_item)
        await press("g", answer="0x10", until=chosen(app, "ofs_root"))

    drive(samples / "zs/words-none.zs", steps)


def test_the_first_section_is_chosen_at_once(samples: Path) -> None:
    async def steps(app: Any, press: Any) -> None:
        await press(until=lambda: app.shown_item is not None)
        assert app.shown_item.label.startswith("header")
        await press("enter", until=lambda: app.outline_tree.cursor_node.is_expanded)

    drive(samples / "zs/words-none.zs", steps)


@pytest.mark.parametrize("width", [40, 120])
def test_it_runs_without_colors(width: int, samples: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    async def steps(app: Any, press: Any) -> None:
        await press("end", until=lambda: app.shown_item.label.startswith("index"))
        await press("v", until=lambda: app.verdict == "ok")
        await press("tab", "end", until=lambda: app.hex.cursor == app.hex.length - 1)

    drive(samples / "zs/words-none.zs", steps, (width, 30))


def test_sections_unfold_and_fold_and_payloads_open(samples: Path) -> None:
    async def steps(app: Any, press: Any) -> None:
        await press("s", answer="ata-1", until=lambda: app.shown_item.label.startswith("data-1"))
        node = app.outline_tree.cursor_node
        await press("enter", until=lambda: len(node.children) > 0)
        assert node.is_expanded
        await press("enter", until=lambda: not node.is_expanded)
        await press("p", until=lambda: app.hex.base == 0 and app.payload_size > 0)
        with exhume.open(samples / "zs/words-none.zs") as archive:
            section = archive.sections().named("data-1")
            assert section.load is not None
            assert app.payload_size == len(section.load())
        await press("escape", until=lambda: app.payload_size == 0)
        assert app.hex.chosen == (section.span.start, section.span.end)

    drive(samples / "zs/words-none.zs", steps)


def test_a_byte_far_into_a_long_array_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events = [event([], [(1, build_text(b"%05d" % number))]) for number in range(1500)]
    begun = HEAD + user(Tags.NODE_TEXT, b"message")
    path, at = tmp_path / "a.clp", len(begun) + len(b"".join(events[:1248])) + 5
    path.write_bytes(begun + b"".join(events) + END)
    monkeypatch.setattr(explained, "HELD", 100)
    monkeypatch.setattr(elements, "STEP", 1)
    monkeypatch.setattr(schema, "AT_FIRST", 300)

    async def steps(app: Any, press: Any) -> None:
        await press("g", answer=str(at), until=chosen(app, "text"))
        assert ("field", "clp_kv_ir::units.tokens[2500].text") in details(app.shown_item)
        labels, node = [], app.outline_tree.cursor_node
        while (node := node.parent) is not None:
            labels.append(str(node.label))
        assert [label for label in labels if label.endswith("and on")][-1] == "[301] and on"
        (units,) = [one for one in labels if one.startswith("tokens")]
        assert units == "tokens: more than 301 elements"

    drive(path, steps)


def test_bytes_are_found_from_the_cursor_on(samples: Path) -> None:
    data = (samples / "zs/words-none.zs").read_bytes()
    first = data.index(b"river")
    second = data.index(b"river", first + 1)

    async def steps(app: Any, press: Any) -> None:
        await press("slash", answer="river", until=lambda: app.hex.chosen == (first, first + 5))
        await press("n", until=lambda: app.hex.chosen == (second, second + 5))
        await press("tab", until=lambda: app.focused is app.hex)
        await press("left", until=lambda: app.hex.cursor == second - 1)
        await press("c", until=lambda: bool(app.clipboard))
        await press("C", until=lambda: ":" in app.clipboard)

    drive(samples / "zs/words-none.zs", steps)


def test_the_next_finding_is_shown(samples: Path, tmp_path: Path) -> None:
    data = bytearray((samples / "zs/words-none.zs").read_bytes())
    with exhume.open(bytes(data)) as archive:
        span = archive.sections().named("data-4").span
    data[span.start + 16] ^= 1
    target = tmp_path / "damaged.zs"
    target.write_bytes(data)

    async def steps(app: Any, press: Any) -> None:
        await press("f", until=lambda: app.verdict == "damaged" and app.shown_item is not None)
        await press(until=lambda: app.hex.chosen[0] >= span.start and app.hex.chosen[1] <= span.end)
        assert any(finding.code == "ZS-202" for finding in app.findings)

    drive(target, steps, size=(80, 24))


def test_an_archive_that_does_not_open_is_browsed(tmp_path: Path, samples: Path) -> None:
    target = tmp_path / "cut.clps"
    target.write_bytes((samples / "clp_s/demo.clps").read_bytes()[:500])

    async def steps(app: Any, press: Any) -> None:
        await press("g", answer="8", until=chosen(app, "len_original"))
        await press("g", answer="70000", until=lambda: len(app._notifications) > 0)

    drive(target, steps)


class Unread(Source):
    """A file of some size that nothing reads."""

    name = "big"

    def __init__(self, size: int) -> None:
        self._size = size

    @property
    def size(self) -> int:
        return self._size

    def _read(self, offset: int, size: int) -> bytes:
        raise AssertionError("read")


def section(number: int) -> Section:
    return Section(f"block-{number}", Span("big", number * 10, number * 10 + 10), SectionKind.DATA)


def test_a_million_sections_are_folded_into_groups() -> None:
    made: list[int] = []

    def make(number: int) -> Section:
        made.append(number)
        return section(number)

    count = 1_000_000
    bounds = memoryview(array("Q", range(0, count * 10 + 1, 10)))
    run = SectionRun("big", bounds, bytes(count), make=make, names=lambda: (f"block-{n}" for n in range(count)),
                     claims=lambda first, last: False)  # fmt: skip
    assert Outline(SectionMap([(BytesSource(b"", "big"), [])])).roots() == []
    outline = Outline(SectionMap([(Unread(count * 10), [run])]))
    items = outline.roots()
    assert 1 < len(items) <= 128
    assert len(made) < 300
    for number in (0, 127, 128, 777_777, count - 1):
        found = outline.path_to(number * 10 + 3, "big")
        assert found is not None
        path, at = found
        assert at == number
        level = outline.roots()
        for index in path[:-1]:
            assert level[index].kind == "group"
            assert re.match(r"block-\d+ to block-\d+  \([0-9,]+ sections\)$", level[index].label)
            level = (level[index].make or list)()
        assert level[path[-1]].label.startswith(f"block-{number} ")
    assert outline.named("BLOCK-5000", 5000) == 50_000
    assert outline.named("block-5000", count) == 5000
    assert outline.named("other", 0) is None


def test_a_newer_search_escape_and_quitting_stop_the_older(samples: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    searches: list[list[str]] = []

    def endless(source: Source, wanted: bytes, start: int, stopped: Callable[[], bool]) -> int | None:
        searches.append(now := ["searches"])
        while not stopped():
            time.sleep(0.001)
        now.append("stopped")
        return find_bytes(source, wanted, start, stopped)

    def ended(count: int) -> Callable[[], bool]:
        return lambda: len(searches) == count and all(one[-1] == "stopped" for one in searches)

    async def steps(app: Any, press: Any) -> None:
        monkeypatch.setattr("exhume.cli.terminal.browser.find_bytes", endless)
        await press("slash", answer="river", until=lambda: len(searches) == 1)
        await press("slash", answer="lake", until=lambda: len(searches) == 2 and len(searches[0]) == 2)
        await press("escape", until=ended(2))
        await press("slash", answer="river", until=lambda: len(searches) == 3)

    drive(samples / "zs/words-none.zs", steps)
    assert ended(3)()
    with pytest.raises(StoppedError):
        find_bytes(Unread(1), b"x", 0, lambda: True)


def test_a_large_archive_is_not_walked(samples: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with exhume.inspect(samples / "kv_ir/small.clp") as archive:
        monkeypatch.setattr("exhume.cli.terminal.outline.WALKED", 10)
        monkeypatch.setattr("exhume.formats.kv_ir.sections._walk", None)
        assert [one.name for one in sections_of(archive)] == ["preamble", "metadata", "units"]


def test_bytes_across_two_windows_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exhume.cli.terminal.outline.WINDOW", 16)
    source = BytesSource(b"x" * 14 + b"needle" + b"x" * 30, "bytes")
    assert find_bytes(source, b"needle", 0) == 14
    assert find_bytes(source, b"needle", 15) == 14
    assert find_bytes(source, b"absent", 0) is None


def test_details_leave_out_what_is_not_known() -> None:
    assert details(Item("a note", "note")) == []


def test_it_needs_a_terminal_and_a_person(samples: Path, exhume_cli: Cli) -> None:
    words = samples / "zs/words-none.zs"
    assert "needs a terminal" in exhume_cli("browse", words).err
    assert exhume_cli("browse", words, "--json").code == 2
    assert exhume_cli("browse", words, "--import", ".").code == 2


def test_a_missing_extra_is_named(samples: Path, monkeypatch: pytest.MonkeyPatch, exhume_cli: Cli) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.partition(".")[0] == TEXTUAL:
            raise ModuleNotFoundError(f"No module named {TEXTUAL!r}", name=TEXTUAL)
        return real(name, *rest, **more)

    for name in [one for one in sys.modules if one.startswith("exhume.cli.terminal.browser")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", without)
    monkeypatch.setattr("exhume.cli.cmd_browse.has_terminal", lambda: True)
    ran = exhume_cli("browse", samples / "zs/words-none.zs")
    assert ran.code == 1
    assert "EX-801" in ran.err
    assert "exhume[tui]" in ran.err


def test_it_runs_in_a_terminal(samples: Path) -> None:
    pytest.importorskip(TEXTUAL, reason="the extra tui is not installed")
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "exhume", "browse", str(samples / "zs/words-none.zs")]
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "30"}
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment) as process:
        os.close(theirs)
        stated = b""
        while b"index-2" not in stated:
            stated += os.read(ours, 1 << 16)
        os.write(ours, b"q")
        while True:
            try:
                if not os.read(ours, 1 << 16):
                    break
            except OSError:  # Linux: all writers have closed it
                break
    os.close(ours)
    assert process.returncode == 0


@pytest.mark.skipif(shutil.which("tmux") is None, reason="no tmux on PATH")
def test_a_screen_of_80_columns_shows_tree_and_bytes(samples: Path, tmp_path: Path) -> None:
    """Driven by keys in tmux, as over SSH: sections, the bytes of one, and the end of the program."""
    pytest.importorskip(TEXTUAL, reason="the extra tui is not installed")

    def tmux(*words: str) -> str:
        ran = subprocess.run(["tmux", "-S", tmp_path / "socket", *words], capture_output=True, text=True, check=False)
        return ran.stdout

    def screen(wanted: str) -> str:
        while True:
            shown = tmux("capture-pane", "-p", "-t", "browse")
            if wanted in shown:
                return shown
            assert tmux("list-sessions"), shown
            time.sleep(0.05)

    command = f"{sys.executable} -m exhume browse {samples / 'zs/words-none.zs'}; echo ended $?; sleep 60"
    tmux("-f", "/dev/null", "new-session", "-d", "-s", "browse", "-x", "80", "-y", "24", command)
    try:
        screen("index-2")
        shown = screen("ab 5a 53")  # the magic number, in hexadecimal
        assert all(len(line) <= 80 for line in shown.splitlines())
        assert "header" in shown
        tmux("send-keys", "-t", "browse", "q")
        screen("ended 0")
    finally:
        tmux("kill-server")
