"""The page on querying shows what the commands print."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from typing import Any

import pytest

from tests.conftest import ROOT

PAGE = ROOT / "docs" / "clp_s_queries.md"


def test_the_examples_print_what_the_page_states(
    exhume_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    steps = [
        step
        for block in re.findall(r"```console\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
        for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    ]
    assert len(steps) > 15
    for step in steps:
        command, _, shown = step.partition("\n")
        name, *arguments = shlex.split(command)
        assert name == "exhume"
        ran = exhume_cli(*arguments)
        assert sorted((ran.text + ran.err).splitlines()) == sorted(shown.splitlines()), command
