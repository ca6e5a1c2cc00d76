"""`exhume selftest`: damage, carving and a failing disk in short, on the machine that exhume is used on.

`_zs`, `_caf` and so on write a small archive of their format to a path; `chance` is a seeded random generator.

Every check is a `Row`: what was tried, how often, with what outcome, and whether that is as it must be.
"""

from __future__ import annotations

import html
import itertools
import os
import random
import tempfile
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import exhume
from exhume.archive import Progress, no_progress
from exhume.errors import ExhumeError
from exhume.io.output.tree import OutputTree
from exhume.recovery import CarveVerdict
from exhume.testing.damage import (
    CALLS,
    Damage,
    DamageOutcome,
    Disk,
    Files,
    content,
    every_bit,
    every_cut,
    every_sector,
    judge,
    target_of,
    ways,
)
from exhume.tuples import NamedTuple

CHECKSUMMED = frozenset({"zs", "databundle", "leveldb"})
"""Formats whose content is covered by checksums: there, no damage may go unnoticed."""


class Row(NamedTuple):
    """One check: `results` counts the outcomes of `attempts`; `ok` says that all of them are acceptable."""

    part: str  # group of checks, such as "damage"
    name: str  # of the check
    attempts: int
    results: dict[str, int]
    ok: bool


def _zs(path: Path) -> None:
    """Write a ZS archive of several blocks."""
    with exhume.create(path, "zs", codec="deflate", block_size=400, default_metadata=False) as writer:
        records: Any = writer
        records.add_records([b"%04d of many records" % number for number in range(60)])


def _caf(path: Path) -> None:
    """Write a CAF chunk with a few members."""
    with exhume.create(path, "caf") as writer:
        members: Any = writer
        for number in range(6):
            members.add_bytes(f"folder/{number}", b"member %d\n" % number * (9 * number))


def _clp_s(path: Path) -> None:
    """Write a clp-s archive with strings, numbers and variables."""
    with exhume.create(path, "clp-s", creator_id="selftest") as writer:
        events: Any = writer
        for number in range(30):
            events.write({"n": number, "text": f"took {number}.5 ms id=a{number}", "level": "INFO"})


def _clp_ir(path: Path) -> None:
    """Write a CLP IR stream."""
    with exhume.create(path, "clp-ir") as writer:
        for number in range(50):
            writer.write(1_700_000_000_000 + number, f" INFO task {number} took {number / 8} s\n")


def _kv_ir(path: Path) -> None:
    """Write a KV-IR stream."""
    with exhume.create(path, "kv-ir") as writer:
        events: Any = writer
        for number in range(30):
            events.write({"n": number, "text": f"request {number} of a{number}"})


def _databundle(path: Path) -> None:
    """Write a bundle whose members span several records."""
    with exhume.create(path, "databundle", record_size=300, compression="zlib") as writer:
        members: Any = writer
        for number in range(6):
            members.add(f"folder/{number}", b"member %d\n" % number * (9 * number))


def _ark(path: Path) -> None:
    """Write an Ark log with fixed identifiers."""
    numbers = itertools.count(1)
    # The other bits: version 4, variant of RFC 9562.
    guids = lambda: str(uuid.UUID(int=next(numbers) | 4 << 76 | 2 << 62))  # noqa: E731 - counted, not drawn
    with exhume.create(path, "ark", split_items=6, guids=guids) as writer:
        log: Any = writer
        log.column("packed", "zstd")
        channels = [log.channel("/raw"), log.channel("/packed", column="packed")]
        for number in range(12):
            channels[number % 2].write(1_000 + number, b"message %d of some" % number)


def _leveldb(path: Path) -> None:
    """The index of a bundle."""
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        _databundle(Path(folder) / "bundle")
        (Path(folder) / "bundle/index").rename(path)


MAKERS: Mapping[str, Callable[[Path], None]] = {
    "zs": _zs, "caf": _caf, "clp-s": _clp_s, "kv-ir": _kv_ir, "clp-ir": _clp_ir, "databundle": _databundle, "ark": _ark,
    "leveldb": _leveldb,
}  # fmt: skip
"""Functions that make a small archive of each format."""

WITHOUT_WRITER = frozenset({"leveldb"})
"""Formats that are made as a part of another: that these are written on a failing disk is tried with the other."""


def files_of(path: Path) -> Files:
    """The files of an archive, as `judge` takes them."""
    if path.is_file():
        return {"": path.read_bytes()}
    return {one.relative_to(path).as_posix(): one.read_bytes() for one in sorted(path.rglob("*")) if one.is_file()}


def draw(found: Iterable[Damage], count: int, chance: random.Random) -> list[Damage]:
    """Draw at most `count` of the items, all equally likely, without holding more in memory (reservoir sampling)."""
    kept: list[Damage] = []
    for number, one in enumerate(found):
        if number < count:
            kept.append(one)
        elif (place := chance.randrange(number + 1)) < count:
            kept[place] = one
    return kept


def check_damage(folder: Path, count: int, chance: random.Random) -> Iterator[Row]:
    """Bits, cuts and sectors of each format; `count` of each kind for each file, drawn."""
    for format, make in MAKERS.items():
        make(folder / format)
        files = files_of(folder / format)
        with exhume.open(target_of(files), format=format) as archive:
            usual = content(archive)
        for name, every in (("bits", every_bit), ("cuts", every_cut), ("sectors", every_sector)):
            results: Counter[str] = Counter()
            for file, data in files.items():
                drawn = draw(every(data), count, chance)
                results.update(str(judge(files, file, damage, format, usual)) for damage in drawn)
            bad = results[DamageOutcome.CRASHED] + (results[DamageOutcome.UNNOTICED] if format in CHECKSUMMED else 0)
            yield Row("damage", f"{format}: {name}", results.total(), dict(results), not bad)


def check_carving(folder: Path, chance: random.Random) -> Iterator[Row]:
    """The cases of the NIST plan for testing file carving, with archives of the formats that are one file."""
    for format in ("zs", "caf", "clp-s"):
        MAKERS[format](folder / f"carve-{format}")
        whole = (folder / f"carve-{format}").read_bytes()
        noise = chance.randbytes(4096)
        lead = len(noise)
        size, half = len(whole), len(whole) // 2
        other = chance.randbytes(1024)
        cases: dict[str, tuple[bytes, list[tuple[int, int]]]] = {
            # the image, and where whole archives are
            "contiguous": (noise + whole + noise + whole + noise, [(lead, size), (2 * lead + size, size)]),
            "fragmented": (noise + whole[:half] + other + whole[half:] + noise, []),
            "interleaved": (noise + whole[:half] + other + whole[half:] + whole[:half] + other + noise, []),
            "truncated": (noise + whole[: len(whole) * 2 // 3] + noise, []),
            "decoys": (noise + whole[:16] + noise + whole[-16:] + noise, []),
        }  # fmt: skip
        for name, (image, places) in cases.items():
            found = [
                one
                for one in exhume.carve(image, only=[format])
                if one.verdict is CarveVerdict.COMPLETE or (one.verdict is CarveVerdict.INCOMPLETE and not one.findings)
            ]
            # Archives that were found complete in one of these places, or elsewhere, by verdict.
            results = Counter(
                str(one.verdict) if (one.offset, one.length) in places else f"{one.verdict} elsewhere" for one in found
            )
            missed = len(places) - results["complete"] - results["incomplete"]
            results["missed"] = missed
            wrong = missed or results["complete elsewhere"]  # an incomplete one was not compared with anything
            ok = not wrong and all(_holds(image, one, format) for one in found)
            yield Row("carving", f"{format}: {name}", 1, +results, ok)  # `+`: without zeros
    # An archive inside another is found as nested.
    outer = folder / "outer"
    inner = (folder / "carve-zs").read_bytes()
    with exhume.create(outer, "caf") as writer:
        members: Any = writer
        members.add_bytes("inner.zs", inner)
    image = chance.randbytes(4096) + outer.read_bytes()
    found = list(exhume.carve(image, only=["caf", "zs"]))
    nested = [one for one in found if one.format == "zs" and one.nested_in is not None]
    ok = len(nested) == 1 and found[nested[0].nested_in or 0].format == "caf"
    yield Row("carving", "zs in caf: nested", 1, {"nested": len(nested)}, ok)


def _holds(image: bytes, found: Any, format: str) -> bool:
    """Whether an archive that was carved as whole verifies on its own."""
    data = image[found.offset : found.end]
    return not any(one.is_problem for one in exhume.verify(data, format=format))


def check_faults(folder: Path, count: int, chance: random.Random) -> Iterator[Row]:
    """A system call fails while an archive is written, salvaged or extracted; `count` random faults of each."""
    for format, make in MAKERS.items():
        if format not in WITHOUT_WRITER:
            yield _faults(folder / f"write-{format}", f"{format}: create", make, count, chance)
        damaged = folder / f"evidence-{format}"
        make(damaged)
        work: list[tuple[str, Callable[[Path], Any]]] = [("salvage", partial(exhume.salvage, damaged))]
        if format in ("caf", "databundle"):
            work.append(("extract", partial(_extract, damaged)))
        for name, call in work:
            yield _faults(folder / f"{name}-{format}", f"{format}: {name}", call, count, chance)


def _extract(archive: Path, path: Path) -> None:
    """Extract all members of an archive."""
    from exhume.engines.extract import extract

    with exhume.open(archive) as opened, OutputTree(path) as tree:
        members: Any = opened
        extract(members, tree)


def _faults(folder: Path, name: str, work: Callable[[Path], Any], count: int, chance: random.Random) -> Row:
    """Count how `work` ends under each possible fault, or `count` drawn ones, compared with its output without any."""
    folder.mkdir()
    for _ in range(2):  # count calls in the second run: the first may import modules
        _clear(folder)
        with Disk() as disk:
            work(folder / "made")
    usual = files_of(folder / "made")
    _clear(folder)
    every = [(kind, number, how) for kind in CALLS for number in range(disk.calls[kind]) for how in ways(kind)]
    results: Counter[str] = Counter()
    for fault in every if len(every) <= count else chance.sample(every, count):
        with tempfile.TemporaryDirectory(dir=folder) as place:
            results[_one_fault(Path(place), work, usual, Disk(*fault))] += 1
    return Row(
        "failing disk", name, results.total(), dict(results), not set(results) - {"nothing", "complete", "reported"}
    )


def _one_fault(place: Path, work: Callable[[Path], Any], usual: Files, disk: Disk) -> str:
    """Run `work` with one failing call in an empty folder; return how it ended.  `usual`: its output without a fault.

    "complete", "nothing" (an error, and no output) and an incomplete output that is reported are correct results.
    """
    failed = False
    try:
        with disk:
            report = work(place / "made")
            failed = not getattr(report, "complete", True) or bool(getattr(report, "notes", None))
    except ExhumeError:
        failed = True
    except Exception:  # the test is that nothing else is raised
        return "crashed"
    left = sorted(path.name for path in place.iterdir())
    if left not in ([], ["made"]):
        return "left files"
    if not left:
        return "nothing" if failed else "lost in silence"
    if files_of(place / "made") == usual:
        return "complete"
    return "reported" if failed else "incomplete in silence"


def _clear(folder: Path) -> None:
    """Remove everything in a folder."""
    from exhume.io.output.scratch import discard

    for path in folder.iterdir():
        discard(path)


def run(*, count: int = 40, seed: int = 1, progress: Progress = no_progress) -> list[Row]:
    """All checks, with `count` damages or faults of a kind for each; in a temporary directory, which is removed."""
    chance = random.Random(seed)  # noqa: S311 - reproducible is what is wanted
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="exhume-selftest-") as temporary:
        folder = Path(os.path.realpath(temporary))
        for checks in (
            check_damage(folder, count, chance), check_carving(folder, chance), check_faults(folder, count, chance),
        ):  # fmt: skip
            for row in checks:
                rows.append(row)
                progress(len(rows), None, "checks")
    return rows


def page(title: str, facts: Mapping[str, Any], rows: Sequence[Row]) -> str:
    """Return a self-contained page of checks and their results; `facts` are about the run, such as versions."""
    rows_of_facts = "".join(
        f"<tr><th>{html.escape(str(name))}</th><td>{html.escape(str(value))}</td></tr>" for name, value in facts.items()
    )
    lines = []
    for row in rows:
        results = ", ".join(f"{number} {what}" for what, number in sorted(row.results.items()))
        cells = (row.part, row.name, str(row.attempts), results, "as it must be" if row.ok else "NOT as it must be")
        lines.append("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>")
    heads = "".join(f"<th>{head}</th>" for head in ("part", "check", "attempts", "what came of it", "result"))
    style = "body{font:14px sans-serif;margin:2em}td,th{padding:2px 8px;text-align:left;border-bottom:1px solid #ccc}"
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        f"<title>{html.escape(title)}</title><style>{style}</style>"
        f"<h1>{html.escape(title)}</h1><table>{rows_of_facts}</table><h2>Checks</h2><table><tr>{heads}</tr>"
        f"{''.join(lines)}</table></html>\n"
    )
