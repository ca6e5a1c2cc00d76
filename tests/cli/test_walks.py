"""Pages with scripts, run unchanged: the first ten minutes, the library, the three walks (one with a store)."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.test_docs import examples
from tests.conftest import ROOT

FILE = re.compile(r'```\w+ title="([\w.]+)"\n(.*?)```', re.DOTALL)
WALKS = ("start/examiner", "start/engineer", "start/format-author", "start/ten-minutes", "library")


@pytest.fixture
def store() -> Iterator[dict[str, str]]:
    """The environment in which `s3://` is a store on this machine."""
    server = pytest.importorskip("moto.server", reason="moto[server] is not installed").ThreadedMotoServer(
        ip_address="127.0.0.1", port=0, verbose=False
    )
    server.start()
    host, port = server.get_host_and_port()
    try:
        yield {
            "AWS_ENDPOINT_URL": f"http://{host}:{port}",
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_DEFAULT_REGION": "us-east-1",
        }
    finally:
        server.stop()


@pytest.mark.slow
@pytest.mark.parametrize("walk", WALKS)
def test_a_walk_goes_as_the_page_states(walk: str, tmp_path: Path, store: dict[str, str], served_path: str) -> None:
    page = f"docs/{walk}.md"
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    files = FILE.findall((ROOT / page).read_text(encoding="utf-8"))
    assert files
    for name, text in files:
        (tmp_path / name).write_text(text, encoding="utf-8")
    environment = {
        **os.environ,
        **store,
        "PATH": served_path,
        "COLUMNS": "100",
    }
    commands = examples(page)
    assert len(commands) > 5
    for command, expected in commands:
        done = subprocess.run(
            ["bash", "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        printed = "".join(f"{line}\n" for line in (done.stdout + done.stderr).splitlines() if line)
        assert printed == expected, command
