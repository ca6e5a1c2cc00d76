"""What runs here is reported: the kernel, and why it is not the compiled one; the libraries and their versions."""

from __future__ import annotations

import importlib.machinery
import importlib.metadata
import importlib.util
import json
import sys
import types
from pathlib import Path

import pytest
from exhume_ksy.fast import ELEMENTS, _layout

import exhume.native as _compiled
from exhume.cli import ExitCode, about
from exhume.cli.main import invoke


@pytest.mark.parametrize(
    ("kernel", "elements", "state"),
    [
        (None, "", "absent"),
        (1, ELEMENTS, "stale"),
        (_compiled.VERSION, "other", "stale"),
        (_compiled.VERSION, ELEMENTS, "compiled"),
    ],
)
def test_the_kernel_is_one_of_this_version_or_none(
    kernel: int | None, elements: str, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = types.ModuleType("exhume.native._kernel")
    module.VERSION, module.ELEMENTS = kernel, elements  # type: ignore[attr-defined]
    monkeypatch.delattr("exhume.native._kernel", raising=False)
    monkeypatch.setitem(sys.modules, "exhume.native._kernel", None if kernel is None else module)
    monkeypatch.delenv("EXHUME_PURE", raising=False)
    assert _compiled._load() == (module if state == "compiled" else None, state)
    monkeypatch.setenv("EXHUME_PURE", "1")
    assert _compiled._load() == (None, "forced")


def test_compiled_code_that_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is there, but cannot be loaded; or only the readers were built from other specifications."""
    monkeypatch.delenv("EXHUME_PURE", raising=False)
    there = importlib.machinery.ModuleSpec("there", None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: there)
    module = types.ModuleType("exhume.native._kernel")
    module.VERSION, module.ELEMENTS = _compiled.VERSION, ELEMENTS  # type: ignore[attr-defined]
    monkeypatch.delattr("exhume.native._kernel", raising=False)
    monkeypatch.setitem(sys.modules, "exhume.native._kernel", module)
    monkeypatch.setattr(_layout, "native", None)
    assert _compiled._load() == (module, "partial")
    monkeypatch.setattr(_layout, "native", module)
    assert _compiled._load() == (module, "compiled")
    monkeypatch.setitem(sys.modules, "exhume.native._kernel", None)
    assert _compiled._load() == (None, "broken")


@pytest.mark.parametrize("state", about.KERNELS)
@pytest.mark.parametrize("options", [[], ["-v"], ["-v", "-q"]])
def test_a_command_states_that_compiled_code_is_not_used(
    state: str, options: list[str], samples: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(_compiled, "STATE", state)
    assert invoke(["info", str(samples / "zs" / "words-none.zs"), *options]) is ExitCode.DONE
    reported = f"exhume: kernel: {about.KERNELS[state]}\n"
    assert capsys.readouterr().err == (
        reported if state in ("stale", "broken", "partial") and options == ["-v"] else ""
    )


@pytest.mark.parametrize("state", about.KERNELS)
def test_it_is_printed(state: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(about, "STATE", state)
    assert invoke(["--version", "-v"]) is ExitCode.DONE
    brief = capsys.readouterr().out
    assert invoke(["formats"]) is ExitCode.DONE
    lines = capsys.readouterr().out.splitlines()
    assert f"kernel: {about.KERNELS[state]}" in lines
    assert brief.splitlines() == [f"exhume, version {about.about().version}", *about.about().lines()]
    assert brief.splitlines()[1:] == lines[-len(brief.splitlines()) + 1 :]
    assert invoke(["formats", "--json"]) is ExitCode.DONE
    found = json.loads(capsys.readouterr().out)
    assert found["installation"] == about.about().to_dict()
    assert found["installation"]["kernel"] == state
    assert [row["id"] for row in found["formats"]] == [
        "ark",
        "caf",
        "clp-ir",
        "clp-s",
        "databundle",
        "kv-ir",
        "leveldb",
        "zs",
    ]
    assert invoke(["formats", "--ndjson"]) is ExitCode.DONE
    assert ["installation" in json.loads(line) for line in capsys.readouterr().out.splitlines()] == [False] * 8


def test_the_versions_are_those_that_run(monkeypatch: pytest.MonkeyPatch) -> None:
    import zstandard

    libraries = about.about().libraries
    assert libraries["libzstd"] == ".".join(map(str, zstandard.ZSTD_VERSION))
    assert libraries["deflate"] == importlib.metadata.version("deflate")
    assert set(libraries) == {*about.PACKAGES, "liblzma", "libzstd", "zlib"}
    monkeypatch.setattr(about, "PACKAGES", ("isal", "no-such-package"))
    assert about.about().libraries["no-such-package"] is None
    assert about.about().lines()[-1] == "not installed: no-such-package"


def test_the_version_alone_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["--version"]) is ExitCode.DONE
    assert capsys.readouterr().out == f"exhume, version {about.about().version}\n"


@pytest.mark.parametrize("argv", [["-v"], ["-v", "formats"]])
def test_verbose_belongs_to_a_verb(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(argv) is ExitCode.USAGE
    assert "put -v after the command" in capsys.readouterr().err
