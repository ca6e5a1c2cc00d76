"""Options that would have no effect are refused, with both names: nothing that is typed is ignored in silence."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from exhume.cli.cmd_explain import WITHOUT_EFFECT
from exhume.cli.formatcli import VerbOptions, format_cli
from exhume.cli.main import main
from exhume.registry import formats, get_format
from tests.cli.test_every_verb import SAMPLES
from tests.conftest import ROOT

Cli = Callable[..., Any]

VALUES = {"glob": "x", "at": "1", "span": "0:1", "section": "header", "source": "x", "depth": "1", "sequence": "1"}
VALUES |= {"directory": "", "count_by_time": "1", "projection": "x", "pairs": "user", "key": "k", "html": "OUT"}
VALUES |= {"query": "*: *", "jobs": "2", "min": "x", "max": "x", "unique": "x", "times": "iso"}


def pairs() -> Iterator[tuple[str, str, str, str]]:
    """`(verb, sample, option, other)` of all that is declared."""
    for option, others in WITHOUT_EFFECT.items():
        yield from (("explain", "caf", option, other) for other in others)
    for id, described in formats().items():
        for verb, rules in format_cli(described).without_effect.items():
            known = {option.name for option in format_cli(described).options[verb]}
            yield from ((verb, id, name, other) for name, others in rules.items() for other in others if other in known)
    yield from (("list", "caf", "sections", other) for other in ("long", "glob"))
    yield from (("list", "leveldb", "sections", other) for other in ("all_versions", "sequence", "key"))
    yield ("list", "leveldb", "long", "jobs")


def typed(verb: str, name: str, out: Path) -> list[str]:
    command = main.get_command(click.Context(main), verb)
    assert command is not None
    param = next(param for param in command.get_params(click.Context(command)) if param.name == name)
    flag = next(opt for opt in param.opts if opt.startswith("--"))
    return [flag] if getattr(param, "is_flag", False) else [flag, VALUES[name].replace("OUT", str(out))]


@pytest.mark.parametrize(("verb", "id", "option", "other"), sorted(set(pairs())))
def test_what_has_no_effect_is_refused(
    verb: str, id: str, option: str, other: str, samples: Path, tmp_path: Path, exhume_cli: Cli
) -> None:
    words = [*typed(verb, option, tmp_path / "out"), *typed(verb, other, tmp_path / "out")]
    query = ["*: *"] if verb == "search" else []
    ran = exhume_cli(verb, samples / SAMPLES[id], *query, *words)
    assert (ran.code, ran.out) == (2, b"")
    other_flag, flag = (typed(verb, name, tmp_path)[0] for name in (other, option))
    assert f"{other_flag} has no effect with {flag}" in ran.err
    assert not (tmp_path / "out").exists()


def needs() -> Iterator[tuple[str, str, str, str]]:
    """`(verb, sample, option, needed)` of all that is declared."""
    for id, described in formats().items():
        for verb, rules in format_cli(described).needs.items():
            yield from ((verb, id, name, needed) for name, needed in rules.items())


@pytest.mark.parametrize(("verb", "id", "option", "needed"), sorted(needs()))
def test_what_has_no_effect_alone_is_refused(
    verb: str, id: str, option: str, needed: str, samples: Path, tmp_path: Path, exhume_cli: Cli
) -> None:
    words = ["--to", "jsonl", "--output", tmp_path / "out"] if verb == "export" else []
    alone = typed(verb, option, tmp_path)
    ran = exhume_cli(verb, samples / SAMPLES[id], *words, *alone)
    assert (ran.code, ran.out) == (2, b"")
    both = [*alone, *typed(verb, needed, tmp_path)]
    assert f"{alone[0]} has no effect without {both[1]}" in ran.err
    assert not (tmp_path / "out").exists()
    assert exhume_cli(verb, samples / SAMPLES[id], *words, *both).code == 0


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        (["explain", "caf", "--import", "x"], "--import is for --ksy"),
        (["cat", "zs", "--json", "--terminator", "x"], "--terminator is for text"),
        (["cat", "zs", "--ndjson", "--length-prefixed", "u64le"], "--length-prefixed is for text"),
        (["cat", "ark", "--by-manifest"], "No such option '--by-manifest'"),
        (["cat", "clp-s", str(ROOT / "tests/samples/zs/words-lzma.zs")], "is of the format zs"),
        (["search", "kv-ir", "a: *", "--ordered"], "--ordered does not apply to kv-ir archives"),
    ],
)
def test_what_belongs_to_another_form_is_refused(
    words: list[str], reported: str, samples: Path, exhume_cli: Cli
) -> None:
    verb, id, *rest = words
    ran = exhume_cli(verb, samples / SAMPLES[id], *rest)
    assert (ran.code, ran.out) == (2, b"")
    assert reported in ran.err


def hooks() -> Iterator[tuple[str, str, Callable[..., Any]]]:
    """`(format, verb, hook)` of all hooks that get options of their own."""
    for id, described in formats().items():
        cli = format_cli(described)
        found: dict[str, list[Callable[..., Any] | None]]
        found = {"cat": [cli.cat], "list": [cli.entries, cli.listed], "search": [cli.search, cli.merges, cli.merge]}
        yield from ((id, verb, hook) for verb, several in found.items() for hook in several if hook is not None)


def test_the_options_of_every_hook_have_types() -> None:
    """Each hook takes the class that is declared for its verb, with one annotated attribute for each parameter."""
    for id, verb, hook in hooks():
        cli = format_cli(get_format(id))
        declared = cli.values[verb]
        taken = hook.__annotations__["options"]
        assert taken in {one.__name__ for one in declared.__mro__}, f"{id} {verb}: {hook.__name__} takes {taken}"
        known = {name for one in declared.__mro__ for name in inspect.get_annotations(one)}
        assert {option.name for option in cli.options.get(verb, ())} <= known, f"{id} {verb}"
    assert len(list(hooks())) > 12


def test_options_are_read_only() -> None:
    options = VerbOptions(count=True)
    with pytest.raises(AttributeError, match="read-only: count"):
        options.count = False
    assert vars(options.replaced(count=False, jobs=2)) == {"count": False, "jobs": 2}
    assert vars(options) == {"count": True}
