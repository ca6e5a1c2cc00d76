"""The outcome of every flipped bit, cut and sector: as documented, and never a wrong answer.

Spec: none; docs/testing.md, "Every bit".
"""

from __future__ import annotations

import random

import pytest

from exhume.testing.damage import judge
from tests.flips import run
from tests.flips.archives import SUBJECTS
from tests.flips.why import WHY, why
from tests.sizes import THOROUGH, size
from tools.blocks import read_block

APPENDED = {("leveldb", "cuts"): 8, ("leveldb", "sectors"): 2}
"""Logs and manifests are appended to: truncated between records, or with a zeroed tail, they are not damaged."""

OUTCOMES = run.known()


@pytest.mark.parametrize("name", SUBJECTS)
@pytest.mark.bulk
def test_a_sample_comes_to_what_is_known(name: str) -> None:
    """Some damages of each kind and file; all of them in the thorough profile."""
    subject = SUBJECTS[name]
    files, usual = subject.files(), run.usual(subject)
    chance = random.Random(name)
    for file, kinds in OUTCOMES[name].items():
        for kind in run.KINDS:
            known = run.unpacked(kinds[kind])
            which = (
                range(len(known)) if THOROUGH else set(chance.sample(range(len(known)), min(len(known), size(12, 0))))
            )
            wrong = []
            for number, damage in enumerate(run.damages(subject, kind, files[file])):
                if number in which and (got := judge(files, file, damage, subject.format, usual)[0]) != known[number]:
                    wrong.append((number, damage.offset, known[number], got))
            assert wrong == [], f"{file}, {kind}: make flips"
            assert sum(1 for _ in run.damages(subject, kind, files[file])) == len(known)


def test_every_archive_is_known() -> None:
    assert list(OUTCOMES) == list(SUBJECTS)
    for name, subject in SUBJECTS.items():
        assert set(OUTCOMES[name]) == {file for file, data in subject.files().items() if data}


def test_nothing_crashes_and_nothing_is_wrong_in_silence() -> None:
    """Where checksums cover the content, no damage changes it unnoticed, except where the format has no check."""
    unnoticed: dict[tuple[str, str], int] = {}
    for name, subject in SUBJECTS.items():
        for kind in run.KINDS:
            count = run.totals(OUTCOMES, name, kind)
            assert not count["c"], name
            if subject.checksummed and count["u"]:
                place = subject.format, kind
                unnoticed[place] = unnoticed.get(place, 0) + count["u"]
    assert unnoticed == APPENDED


def test_the_documentation_states_it() -> None:
    assert read_block("testing.md", "flips") == run.summary(OUTCOMES)
    for format, page in run.PAGES.items():
        assert read_block(f"formats/{page}.md", "flips") == run.details(OUTCOMES, format), "make flips"


def test_every_reason_is_needed() -> None:
    used: dict[str, set[str]] = {format: set() for format in WHY}
    for name, subject in SUBJECTS.items():
        for field, count in run.by_field(OUTCOMES, name).items():
            if set(count) != {"f"}:
                used[subject.format].add(why(subject.format, field)[0])
    assert used == {format: set(reasons) for format, reasons in WHY.items()}


def test_outcomes_are_packed() -> None:
    assert run.packed("fffuwf") == "3f 1u 1w 1f"
    for letters in ("", "f", "fffuwf"):
        assert run.unpacked(run.packed(letters)) == letters
