"""Every bit of a small archive of each format flipped, every cut, every sector: what comes of it, field by field.

    python -m tests.flips.run [--write] [--jobs N] [WORD ...]     # archives whose name has one of the words

`--write` (make flips) keeps what came of each in `outcomes.json`, and writes the tables of the documentation from it.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import exhume
from exhume.testing.damage import (
    Damage,
    DamageOutcome,
    content,
    every_bit,
    every_cut,
    every_sector,
    judge,
    target_of,
)
from tests.flips.archives import SUBJECTS, Subject, fields
from tests.flips.why import why
from tools import blocks

OUTCOMES = Path(__file__).with_name("outcomes.json")

KINDS: dict[str, Callable[[bytes], Iterator[Damage]]] = {"bits": every_bit, "cuts": every_cut, "sectors": every_sector}

LETTERS = {judgement.value[0]: judgement for judgement in DamageOutcome}

Outcomes = dict[str, dict[str, dict[str, str]]]
"""For each archive, file and kind of damage: the first letter of each judgement, how often it is repeated before it."""

PAGES = {"clp-s": "clp_s", "kv-ir": "kv_ir", "clp-ir": "clp_ir", "zs": "zs",
         "ark": "ark", "caf": "caf", "databundle": "data_bundle",
         "leveldb": "leveldb"}  # fmt: skip


def packed(letters: str) -> str:
    """`fffu` as `3f 1u`."""
    return " ".join(f"{len(list(group))}{letter}" for letter, group in itertools.groupby(letters))


def unpacked(text: str) -> str:
    """`3f 1u` as `fffu`."""
    return "".join(run[-1] * int(run[:-1]) for run in text.split())


def usual(subject: Subject) -> str:
    """The content of an archive; raises `AssertionError` if the undamaged archive has findings."""
    target = target_of(subject.files())
    assert not list(exhume.verify(target, format=subject.format))
    with exhume.open(target, format=subject.format) as archive:
        return content(archive)


def tried(subject: Subject) -> dict[str, dict[str, str]]:
    """What comes of every damage of every file."""
    files, before = subject.files(), usual(subject)
    return {
        name: {
            kind: packed(
                "".join(judge(files, name, one, subject.format, before)[0] for one in damages(subject, kind, data))
            )
            for kind in KINDS
        }
        for name, data in files.items()
        if data
    }


def damages(subject: Subject, kind: str, data: bytes) -> Iterator[Damage]:
    """Those that are tried of a file."""
    return itertools.islice(KINDS[kind](data), 0, None, 1 if kind == "sectors" else subject.share)


def _work(name: str) -> tuple[str, dict[str, dict[str, str]]]:
    return name, tried(SUBJECTS[name])


def known() -> Outcomes:
    """What came of each when it was last tried."""
    found: Outcomes = json.loads(OUTCOMES.read_text(encoding="utf-8")) if OUTCOMES.exists() else {}
    return found


def totals(outcomes: Outcomes, name: str, kind: str) -> Counter[str]:
    """How often each judgement was passed on an archive."""
    return Counter(letter for file in outcomes[name].values() for letter in unpacked(file[kind]))


def by_field(outcomes: Outcomes, name: str) -> dict[str, Counter[str]]:
    """The judgements on the flipped bits of each field of an archive."""
    found: dict[str, Counter[str]] = {}
    for file, names in fields(SUBJECTS[name]).items():
        if names:
            for bit, letter in enumerate(unpacked(outcomes[name][file]["bits"])):
                found.setdefault(names[bit * SUBJECTS[name].share // 8], Counter())[letter] += 1
    return found


HEADS = ("found", "warned", "without meaning", "not noticed")


def summary(outcomes: Outcomes) -> str:
    """The table of all archives."""
    lines = [
        "| archive | bits flipped | " + " | ".join(HEADS) + " | cut | found | sectors | found |",
        "| --- |" + " ---: |" * 9,
    ]
    for name, subject in SUBJECTS.items():
        bits, cuts, sectors = (totals(outcomes, name, kind) for kind in KINDS)
        cells = [bits.total(), *(bits[letter] for letter in "fwhu"), cuts.total(), cuts["f"]]
        cells += [sectors.total(), sectors["f"]]
        mark = "" if subject.checksummed else " \\*"
        share = f" (one of {subject.share})" if subject.share > 1 else ""
        lines.append(f"| {name}{share}{mark} | " + " | ".join(f"{cell:,}" for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def details(outcomes: Outcomes, format: str) -> str:
    """The table of a format's fields in which some flipped bits are not found, over all its archives."""
    sums: dict[str, Counter[str]] = {}
    for name, subject in SUBJECTS.items():
        if subject.format == format:
            for field, count in by_field(outcomes, name).items():
                sums.setdefault(field, Counter()).update(count)
    lines = [f"| field | bits flipped | {' | '.join(HEADS)} | why |", "| --- |" + " ---: |" * 5 + " --- |"]
    rest: Counter[str] = Counter()
    for field, count in sums.items():
        if set(count) == {"f"}:
            rest.update(count)
            continue
        numbers = " | ".join(f"{number:,}" for number in (count.total(), *(count[letter] for letter in "fwhu")))
        lines.append(f"| `{field}` | {numbers} | {why(format, field)[1]} |")
    lines.append(f"| all others | {rest['f']:,} | {rest['f']:,} | 0 | 0 | 0 | |")
    return "\n".join(lines) + "\n"


def write(outcomes: Outcomes) -> None:
    """Keep what came of it, and write the tables."""
    OUTCOMES.write_text(json.dumps(outcomes, indent=1) + "\n", encoding="utf-8")
    blocks.write_block("testing.md", "flips", summary(outcomes))
    for format, page in PAGES.items():
        blocks.write_block(f"formats/{page}.md", "flips", details(outcomes, format))


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    names = [name for name in SUBJECTS if not options.words or any(word in name for word in options.words)]
    before: Any = known()
    with multiprocessing.get_context("spawn").Pool(options.jobs) as pool:
        for name, found in pool.imap_unordered(_work, names):
            before[name] = found
            print(name, {kind: dict(totals(before, name, kind)) for kind in KINDS}, flush=True)  # noqa: T201
    if options.write:
        write({name: before[name] for name in SUBJECTS})
    else:
        for format in sorted({SUBJECTS[name].format for name in names}):
            if all(name in before for name in SUBJECTS if SUBJECTS[name].format == format):
                sys.stdout.write(details(before, format))


if __name__ == "__main__":
    main()
