"""The terminal browser (`exhume browse`): a tree of an archive, its bytes, and details of the chosen field.

The tree has files, sections (ranges of bytes with one purpose) and their fields, each an `Item`.  The bytes are those
of a file or of a payload, the decompressed content of a section, which a `Region` reads on demand.  All is loaded when
it is shown: a section is read and parsed, in a thread, when it is unfolded.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, ClassVar

from rich.text import Text
from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Footer, Input, Static
from textual.worker import get_current_worker

from exhume.cli.params import BYTES, SIZE
from exhume.cli.render import human_size, shown
from exhume.cli.terminal.outline import Item, Outline, details, find_bytes, sections_of
from exhume.cli.terminal.widgets import HexView, OutlineTree, holds_byte, is_stored
from exhume.counts import counted
from exhume.errors import ExhumeError
from exhume.findings import Finding
from exhume.io.source import StoppedError
from exhume.layout.kaitai import Region, region_of

MOST_FINDINGS = 10_000  # findings that are kept
VERDICT_STYLES = {"ok": "bold green", "damaged": "bold red", "incomplete": "bold magenta"}  # in the title


class Browser(App[None]):
    """Browses one opened archive, an `Inspection` or a file with a specification."""

    TITLE: str | None = "exhume"
    ENABLE_COMMAND_PALETTE: ClassVar[bool] = False
    CSS: ClassVar[str] = """
    #title { height: 1; padding: 0 1; background: $panel; }
    OutlineTree { width: 1fr; min-width: 30; border-right: solid $panel; }
    #right { width: 83; max-width: 60%; }
    HexView { height: 1fr; padding: 0 1; }
    #about { height: 11; border-top: solid $panel; padding: 0 1; }
    #ask { dock: bottom; display: none; margin-bottom: 1; }
    """
    BINDINGS: ClassVar = [
        Binding("q", "quit", "Quit"),
        Binding("g", "ask('offset')", "Offset"),
        Binding("slash", "ask('bytes')", "Bytes", key_display="/"),
        Binding("s", "ask('section')", "Section"),
        Binding("n", "again", "Next"),
        Binding("v", "verify", "Verify"),
        Binding("f", "finding", "Finding"),
        Binding("p", "payload", "Payload"),
        Binding("c", "copy", "Copy"),
        Binding("C", "copy_place", "Copy place", show=False),
        Binding("escape", "leave", "Back", show=False),
        Binding("tab", "focus_next", "Switch", show=False),
    ]
    PROMPTS: ClassVar = {
        "offset": "offset (decimal or 0x...)",
        "bytes": r"bytes or text to search for (escapes such as \x00)",
        "section": "part of the name of a section",
    }

    def __init__(self, archive: Any, target: str) -> None:
        """Take an opened archive; `target` is its name in the title."""
        super().__init__()
        self._archive = archive
        self._target = target
        self._outline = Outline(sections_of(archive))
        self._lock = threading.Lock()  # one thread at a time reads sections
        self._source = next(iter(self._outline.sources.values()), None)  # the file whose bytes are shown
        self._payload: Item | None = None  # the item whose payload is shown instead of a file
        self._data = Region(0, lambda at, size: b"")  # the content of that payload
        self.shown_item: Item | None = None  # whose details are shown
        self._question = ""  # what the prompt requests: a key of `PROMPTS`
        self._last: dict[str, str] = {}  # last answer to each prompt, offered again
        self.findings: list[Finding] | None = None  # None: not verified; empty meanwhile
        self.verdict: str = ""  # the result of verifying; empty before
        self._next_finding = 0  # number of the finding that `f` goes to
        self._match: tuple[int, int] | None = None  # bytes of a file that a search found

    def compose(self) -> ComposeResult:
        """The widgets."""
        yield Static(id="title")
        with Horizontal():
            yield OutlineTree(self._lock)
            with Vertical(id="right"):
                yield HexView()
                with VerticalScroll(id="about", can_focus=False):
                    yield Static(id="details")
        yield Input(id="ask")
        yield Footer()

    def on_mount(self) -> None:
        """Show the first sections and bytes."""
        self.outline_tree.add_items(self.outline_tree.root, self._outline.roots())
        self.outline_tree.root.expand()
        self.outline_tree.focus()
        self.call_after_refresh(self.outline_tree.choose_first)
        if self._source is not None:
            self._show_file(self._source.name)
        self._show_title()

    @property
    def outline_tree(self) -> OutlineTree:
        """The tree of files, sections and fields."""
        return self.query_one(OutlineTree)

    @property
    def payload_size(self) -> int:
        """Bytes of the payload that is shown; 0 for a file."""
        return 0 if self._payload is None else self._data.size

    @property
    def hex(self) -> HexView:
        """The bytes."""
        return self.query_one(HexView)

    def _show_title(self, more: str = "") -> None:
        """Update the title: target, format, size, verdict and number of findings, and `more`."""
        size = sum(source.size for source in self._outline.sources.values())
        text = Text(f"{shown(self._target)}  {self._archive.format}  {human_size(size)}  ")
        verdict = self.verdict or "not checked (v)"
        text.append(verdict, VERDICT_STYLES.get(self.verdict, "dim"))
        if self.findings:
            text.append(f"  {counted(len(self.findings), 'findings')} (f)")
        self.query_one("#title", Static).update(text.append(f"  {more}" if more else ""))

    def _show(self, item: Item) -> None:
        """Show the details of an item, and its bytes in the hex view."""
        self.shown_item = item
        lines = Text()
        for name, text in details(item):
            lines.append(f"{name}: ", "bold")
            lines.append(f"{text}\n", "bold red" if name == "damage" else "")
        self.query_one("#details", Static).update(lines)
        if item.span is None or item.place is None:
            return
        if item.span.payload is not None and item.section is not None:
            self._show_payload(item)
        elif item.span.payload is None:
            self._show_file(item.span.source)
        self._color(item)
        start, end = item.place
        if self._match is not None and not (item.span.payload is None and start <= self._match[0] < end):
            self._match = None  # the user went elsewhere
        self.hex.choose(*(self._match or item.place))

    def _show_file(self, name: str) -> None:
        """Show the bytes of a whole file in the hex view, unless they are there already."""
        source = self._outline.sources[name]
        if self._payload is None and self._source is source and self.hex.length == source.size:
            return
        self._payload, self._source = None, source
        self.hex.show(source.read_at, source.origin, source.size)
        self._mark()

    def _show_payload(self, item: Item) -> None:
        """Show the decompressed payload that a field is in; it was loaded with the field."""
        known = self._payload
        if known is not None and known.section is item.section:
            return
        number = self._number(item)
        if number is None:
            return
        with self._lock:
            self._data = region_of(self._outline.payload(number))
        self._payload = item
        self.hex.show(self._data.read_at, 0, self._data.size)

    def _number(self, item: Item) -> int | None:
        """Return the number of an item's section in the outline; None for a file, or if it is not found."""
        if item.section is None:
            return None
        if item.kind == "section":
            return item.first
        found = self._outline.path_to(item.section.span.start, item.section.span.source)
        return found[1] if found is not None else None

    def _color(self, item: Item) -> None:
        """Color the bytes of the fields around `item` in the hex view."""
        number, node = self._number(item), self.outline_tree.cursor_node
        if number is None or (item.kind == "section" and (node is None or not node.children)):
            return  # not unfolded: parsing each section that the cursor passes would take long
        with self._lock:
            explained = self._outline.explain(number)
        payload = item.span is not None and item.span.payload is not None
        tree = explained.payload if payload else explained.stored
        self.hex.color([] if tree is None else [tree], payload=payload)

    # -- going to a byte

    @work(thread=True, exclusive=True, group="go")
    def _go(self, offset: int, source: str | None = None) -> None:
        """Unfold the tree down to the innermost field of a byte of a file."""
        self._match = None
        found = self._outline.path_to(offset, source)
        if found is None:
            self.call_from_thread(self.notify, f"offset {offset} is outside the archive", severity="warning")
            return
        self.outline_tree.unfold(found[0], lambda item: is_stored(item) and holds_byte(item, offset))

    def on_outline_tree_shown(self, event: OutlineTree.Shown) -> None:
        """Show the bytes and details of the chosen node, whose children may be there now."""
        self._show(event.item)

    def on_hex_view_chosen(self, event: HexView.Chosen) -> None:
        """Go to the field of the byte at the cursor."""
        if self._payload is None and self._source is not None:
            self._go(event.offset, self._source.name)
        elif self._payload is not None:
            self._go_payload(self._payload, event.offset)

    @work(thread=True, exclusive=True, group="go")
    def _go_payload(self, item: Item, offset: int) -> None:
        """Move the outline to the payload field that contains byte `offset`."""
        number = self._number(item)
        if number is None or item.section is None:
            return

        def holds(one: Item) -> bool:
            return one.span is not None and one.span.payload is not None and holds_byte(one, offset)

        self.outline_tree.unfold(self._outline.path_of(number), holds)

    # -- questions

    def action_ask(self, what: str) -> None:
        """Prompt for an offset, bytes or a name."""
        self._question = what
        field = self.query_one("#ask", Input)
        field.placeholder = self.PROMPTS[what]
        field.value = self._last.get(what, "")
        field.display = True
        field.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Answer the question."""
        self.action_leave()
        if event.value:
            self._last[self._question] = event.value
            self._answer(self._question, event.value)

    def action_again(self) -> None:
        """Search again, from where the cursor is."""
        if self._last.get(self._question):
            self._answer(self._question, self._last[self._question])

    def _answer(self, what: str, text: str) -> None:
        """Follow the user's answer to the prompt `what`: "offset", "section", or else bytes to search for."""
        if what == "offset":
            try:
                offset = SIZE.convert(text.strip(), None, None)
            except Exception as error:
                self.notify(getattr(error, "message", str(error)), severity="error")
                return
            self._go(offset, self._source.name if self._source is not None else None)
        elif what == "section":
            item = self.shown_item
            after = self._number(item) if item is not None else None
            number = self._outline.named(text, -1 if after is None else after)
            if number is None:
                self.notify(f"no section has {text!r} in its name", severity="warning")
            else:
                self._go_section(number)
        else:
            self._search(BYTES.convert(text, None, None), self.hex.cursor + 1)

    @work(thread=True, exclusive=True, group="go")
    def _go_section(self, number: int) -> None:
        self.outline_tree.unfold(self._outline.path_of(number), lambda item: False)  # nothing below the section

    @work(thread=True, exclusive=True, group="go")
    def _search(self, wanted: bytes, start: int) -> None:
        """Search bytes from an offset to the end, then from the beginning."""
        payload, source, stopped = self._payload, self._source, self._stopped()
        self.call_from_thread(self._show_title, "searching ... (Esc stops)")
        try:
            if payload is not None:  # its decompressed bytes are searched, otherwise the file
                number = self._number(payload)
                data = region_of(b"" if number is None else self._outline.payload(number))
                found = find_bytes(data, wanted, start, stopped)
            else:
                found = None if source is None else find_bytes(source, wanted, start, stopped)
        except StoppedError:
            return
        except ExhumeError as error:
            self.call_from_thread(self._show_title)
            self.call_from_thread(self.notify, str(error), severity="error", markup=False)
            return
        # Another search may have begun: only the last one moves the cursor.
        if stopped():
            return
        self.call_from_thread(self._show_title)
        if found is None:
            self.call_from_thread(self.notify, "not found", severity="warning")
        elif payload is not None:
            self.call_from_thread(self.hex.choose, found, found + len(wanted))
        elif source is not None:
            self._match = found, found + len(wanted)
            path = self._outline.path_to(found, source.name)
            if path is not None:
                self.outline_tree.unfold(path[0], lambda item: item.kind == "field" and holds_byte(item, found))

    def _stopped(self) -> Callable[[], bool]:
        """Whether this thread's work is over: newer work began, Escape was pressed, or the user quit."""
        worker = get_current_worker()
        return lambda: worker.is_cancelled or not self.is_running

    def action_leave(self) -> None:
        """Close a question, stop a search, or go back from a payload to the file."""
        field = self.query_one("#ask", Input)
        going = [worker for worker in self.workers if worker.group == "go" and worker.is_running]
        if field.display:
            field.display = False
            self.outline_tree.focus()
        elif going:
            self.workers.cancel_group(self, "go")
            self._show_title()
        elif self._payload is not None and self._source is not None:
            section = self._payload.section
            self._show_file(self._source.name)
            if section is not None:
                self.hex.choose(section.span.start, section.span.end)

    # -- findings

    def action_verify(self) -> None:
        """Verify the archive in the background."""
        if self.findings is None:
            self.findings = []
            self._verify()

    @work(thread=True, exclusive=True, group="verify")
    def _verify(self, then: bool = False) -> None:
        """Verify the archive in a thread, until the user stops it; `then`: go to the first finding afterward."""
        found: list[Finding] = []
        stopped = self._stopped()

        def progressed(*done: object) -> None:
            """End the verification, which reports its progress regularly, once the user has stopped it."""
            if stopped():
                raise StoppedError

        self.call_from_thread(self._show_title, "verifying ...")
        try:
            for finding in self._archive.verify(jobs=1, progress=progressed):
                if len(found) < MOST_FINDINGS:
                    found.append(finding)
        except StoppedError:
            return
        except (ExhumeError, AttributeError) as error:  # a file with a specification has no rules
            self.call_from_thread(self.notify, str(error), severity="error")
            self.findings = None
            self.call_from_thread(self._show_title)
            return
        self.findings = found
        self.verdict = str(self._archive.verdict)
        self.call_from_thread(self._verified, then)

    def _verified(self, then: bool) -> None:
        """Show the result of verifying, in the thread of the user interface."""
        self._show_title()
        self._mark()
        if then:
            self.action_finding()

    def _mark(self) -> None:
        """Mark the bytes of the findings in the file that is shown, for the first 1000 of them."""
        name = self._source.name if self._source is not None else ""
        spans = [finding.span for finding in self.findings or () if finding.span is not None]
        self.hex.mark([(span.start, span.end) for span in spans if span.source == name][:1000])

    def action_finding(self) -> None:
        """Go to the next finding, after verifying if that is not done."""
        if self.findings is None:
            self.findings = []
            self._verify(then=True)
            return
        placed = [finding for finding in self.findings if finding.span is not None]
        if not placed:
            self.notify(f"the archive is {self.verdict}: no findings" if self.verdict else "still verifying")
            return
        finding = placed[self._next_finding % len(placed)]
        self._next_finding += 1
        self.notify(str(finding), severity="error" if str(finding.severity) == "error" else "warning", markup=False)
        assert finding.span is not None
        self._go(finding.span.start, finding.span.source)

    # -- payloads and the clipboard

    def action_payload(self) -> None:
        """Show the decompressed payload of the chosen section."""
        item = self.shown_item
        number = None if item is None else self._number(item)
        if number is None:
            self.notify("choose a section first", severity="warning")
        else:
            self._open_payload(number)

    @work(thread=True, exclusive=True, group="go")
    def _open_payload(self, number: int) -> None:
        """Decompress the payload of a section in a thread, and show it."""
        section = self._outline.found[number]
        if section.load is None:
            self.call_from_thread(self.notify, f"{section.name} has no payload to decompress", severity="warning")
            return
        try:
            with self._lock:
                data = region_of(self._outline.payload(number))
        except ExhumeError as error:
            self.call_from_thread(self.notify, str(error), severity="error", markup=False)
            return
        self.call_from_thread(self._opened, number, data)

    def _opened(self, number: int, data: Region) -> None:
        """Show the decompressed payload `data` of section `number` in the hex view."""
        section = self._outline.found[number]
        self._data = data
        self._payload = Item(section.name, "payload", section.span.in_payload(0, data.size), section=section)
        self.hex.show(data.read_at, 0, data.size)
        self.notify(f"{human_size(data.size)} decompressed; Escape goes back")

    def action_copy(self) -> None:
        """Copy the value of the field, or the bytes of anything else in hexadecimal."""
        item = self.shown_item
        if item is None or item.place is None:
            return
        value = None if item.field is None else item.field.value
        if value is None or isinstance(value, (bytes, bytearray)):
            start, end = item.place
            end = min(end, start + 4096)  # more is of no use in a clipboard
            if item.span is not None and item.span.payload is not None:
                value = self._data.read_at(start, end - start).hex()
            elif self._source is not None:
                value = self._source.read_at(start - self._source.origin, end - start).hex()
        self.copy_to_clipboard(str(value))
        self.notify(f"copied: {str(value)[:40]}", markup=False)

    def action_copy_place(self) -> None:
        """Copy the range of the item, as `--range` takes it."""
        if self.shown_item is not None and self.shown_item.place is not None:
            start, end = self.shown_item.place
            self.copy_to_clipboard(f"{start}:{end}")
            self.notify(f"copied: {start}:{end}")
