"""Counts and their words agree: `1 byte`, `2 bytes`, in every message that the code can print."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from exhume.counts import counted
from tools import layers

WORDS = (
    "archives|attempts|batches|bits|blocks|bytes|channels|characters|checks|chunks|columns|components|differences|"
    "digits|elements|entries|enumerations|errors|events|fields|files|findings|gaps|items|keys|kinds|levels|lines|"
    "links|logs|members|messages|notes|objects|pairs|parameters|parts|pieces|records|rows|schemas|sections|shards|"
    "slots|sorts|spans|specifications|splits|streams|tables|targets|texts|times|topics|types|units|values|"
    "variables|versions|workers"
)
COUNT = re.compile(rf" (?:more )?({WORDS})\b(?! (?:of|cannot|hold|are|have|take|\{{))")


def unguarded(source: str) -> Iterator[str]:
    """The f-strings that put a plural after a number that may be 1; names in capitals are numbers that are not."""
    for node in ast.walk(ast.parse(source)):
        for value, text in zip(node.values, node.values[1:], strict=False) if isinstance(node, ast.JoinedStr) else ():
            if (
                isinstance(value, ast.FormattedValue)
                and isinstance(text, ast.Constant)
                and COUNT.match(str(text.value))
            ):
                name = ast.unparse(value.value)
                if not re.search(r"(^|\.)[A-Z_]+$|(^|\.)(id|format|label|name)$", name):
                    yield ast.unparse(node)


@pytest.mark.slow
def test_every_count_takes_the_word_that_goes_with_it() -> None:
    found = {module: list(unguarded(path.read_text("utf-8"))) for module, path in layers.modules().items()}
    assert {module: texts for module, texts in found.items() if texts} == {}


def test_what_it_looks_for_is_found() -> None:
    assert list(
        unguarded('f"{size} bytes"; f"{len(x):,} more gaps"; f"at most {MOST} bytes"; f"{self.id} archives"')
    ) == [
        "f'{size} bytes'",
        "f'{len(x):,} more gaps'",
    ]


@pytest.mark.parametrize(
    ("plural", "singular"),
    [
        ("bytes", "byte"), ("entries", "entry"), ("batches", "batch"), ("addresses", "address"), ("indexes", "index"),
        ("kinds of records", "kind of records"), ("more gaps", "more gap"), ("loss", "loss"),
        ("spans without entries", "span without entries"),
    ],
)  # fmt: skip
def test_one_of_each(plural: str, singular: str) -> None:
    assert counted(1, plural) == f"1 {singular}"
    assert counted(0, plural) == f"0 {plural}"
    assert counted(2, plural) == f"2 {plural}"
