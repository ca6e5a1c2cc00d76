"""The commands that a newcomer and continuous integration type are there."""

from __future__ import annotations

import os
import re
import subprocess

import pytest

from tools import make_samples, nodejs

ROOT = nodejs.ROOT
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = sorted(set(re.findall(r"^([a-z-]+):.*## ", MAKEFILE, re.MULTILINE)))


@pytest.mark.parametrize("target", TARGETS)
def test_target_is_sound_and_explained(target: str) -> None:
    done = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert re.search(rf"^\.PHONY:(.*\\\n)*.*\b{target}\b", MAKEFILE, re.MULTILINE)


@pytest.mark.parametrize("target", ["demo", "test", "check", "generated", "check-generated", "web-ide", "ksy-lint"])
def test_target_exists(target: str) -> None:
    assert target in TARGETS


@pytest.mark.parametrize("script", [".ci/run", "examples/demo.sh"])
def test_script_is_executable_bash(script: str) -> None:
    assert os.access(ROOT / script, os.X_OK)
    subprocess.run(["bash", "-n", str(ROOT / script)], check=True)


def test_continuous_integration_runs_tests_and_checks() -> None:
    text = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert re.findall(r"^step (\w+)$", text, re.MULTILINE) == ["test", "check"]


def test_the_public_host_runs_what_everybody_can_run() -> None:
    """Nothing but `.ci/run` and make targets, so that what fails there can be repeated here."""
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    commands = re.findall(r"^ *- run: *(.*)$", text, re.MULTILINE)
    assert len(commands) == len(re.findall(r"^ *(?:- )?run:(?! *$)", text, re.MULTILINE))
    assert ".ci/run" in commands
    for command in set(commands) - {".ci/run"}:
        verb, *targets = command.split()
        assert verb == "make"
        assert set(targets) <= set(TARGETS)
    assert set(re.findall(r"uses: actions/(.*)@", text)) == {"checkout", "setup-python", "setup-node"}
    assert text.count("uses: ") == text.count("uses: actions/")
    for version in ("3.11", "3.12", "3.13", "3.14"):
        assert f'"{version}"' in text


def test_every_make_target_named_in_the_guide_exists() -> None:
    for page in ("CONTRIBUTING.md", "README.md", "ksy/README.md", "generated/README.md"):
        named = re.findall(r"`make ([a-z-]+)", (ROOT / page).read_text(encoding="utf-8"))
        assert set(named) <= set(TARGETS), page


def test_samples_have_makers() -> None:
    folders = {path.name for path in (ROOT / "tests" / "samples").iterdir() if path.is_dir()} - {"cases", "ksy", "real"}
    assert folders <= set(make_samples.makers())


def test_make_samples_refuses_unknown_names(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        make_samples.main(["no-such-format"])
    assert caught.value.code == 2
    assert "no tests/no-such-format/make_samples.py" in capsys.readouterr().err
