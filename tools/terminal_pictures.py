"""Make the pictures of the terminal in `docs/images`: a hex dump with fields, and the browser, narrow and wide.

    python -m tools.terminal_pictures [FOLDER]

They are text as SVG, by Rich and Textual (extra `tui`), without fonts from elsewhere.  View them after a change of
colors or of the layout; the same version of both libraries makes the same files.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs/images"
SAMPLE = ROOT / "examples/zs/phrases.zs"

NARROW, WIDE = 80, 200
"""Columns of a window; the narrow one is what a terminal opens with."""

EXPLAIN = ("explain", "phrases.zs", "--range", "0:0x40", "--depth", "2")
"""The command whose output is shown."""


def plain_svg(svg: str) -> str:
    """The picture with the fonts of the reader, and with names that do not depend on its content."""
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r"font-family: Fira Code, monospace", "font-family: monospace", svg)
    return re.sub(r"terminal-\d+", "t", svg) + "\n"


def explained(columns: int) -> str:
    """The picture of a hex dump with its fields in a window of so many columns."""
    environment = {**os.environ, "TERM": "xterm-256color"}
    environment.pop("NO_COLOR", None)
    command = [sys.executable, "-m", "exhume", *EXPLAIN, "--color", "always"]
    script = f"stty cols {columns} 2>/dev/null; exec 2>/dev/null " + " ".join(command)
    done = subprocess.run(
        ["script", "-qec", script, "/dev/null"], cwd=SAMPLE.parent, env=environment, capture_output=True, check=True
    )
    console = Console(record=True, width=columns, file=Path(os.devnull).open("w"), force_terminal=True)
    console.print(Text.from_ansi(done.stdout.decode().replace("\r\n", "\n").rstrip("\n")))
    return plain_svg(console.export_svg(title=f"exhume {' '.join(EXPLAIN)}"))


def browsed(columns: int, lines: int) -> str:
    """The picture of the browser at the field of byte 24."""
    import exhume
    from exhume.cli.terminal.browser import Browser

    async def main() -> str:
        """Press the keys that lead to the shown view, and return its picture as SVG."""
        with contextlib.chdir(SAMPLE.parent), exhume.inspect(SAMPLE.name) as archive:
            app: Any = Browser(archive, SAMPLE.name)
            async with app.run_test(size=(columns, lines)) as pilot:
                await pilot.press("v")
                while not app.verdict:
                    await pilot.pause(0.05)
                await pilot.press("g")
                await pilot.pause()
                app.focused.value = "24"
                await pilot.press("enter")
                while app.shown_item is None or app.shown_item.field is None:
                    await pilot.pause(0.05)
                app.clear_notifications()
                await pilot.pause(0.3)
                return plain_svg(app.export_screenshot(title="exhume"))

    return asyncio.run(main())


def pictures() -> Iterator[tuple[str, str]]:
    """The name and the text of each picture."""
    yield "terminal-explain.svg", explained(NARROW)
    yield "terminal-explain-200.svg", explained(WIDE)
    yield "terminal-browse-80.svg", browsed(NARROW, 24)
    yield "terminal-browse-200.svg", browsed(WIDE, 40)


def main() -> int:
    """Write the pictures; return the exit status."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pictures():
        (folder / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
