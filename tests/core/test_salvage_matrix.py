"""The damage matrix: every format against cuts, dead sectors, flips, swaps, repeats and a killed writer.

What a format can give back at best is stated per format (`untouched`): the items none of whose bytes, and none of the
structures they cannot do without, were damaged.  Salvage must give back at least those, never anything that was not
there, and what it writes must verify.
"""

from __future__ import annotations

import itertools
import random
import shutil
import signal
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.errors import ExhumeError
from exhume.findings import Severity
from exhume.formats.ark.rbuf.encoder import encoder_for
from exhume.io.tree import MemoryTree
from exhume.recovery import SalvageReport, VerifiedBy
from exhume.testing import damage
from tests import sizes
from tests.forks import Forks
from tests.sizes import some

pytestmark = pytest.mark.usefixtures("few_ends")

Damage = Callable[[bytes], bytes]


@dataclass(frozen=True)
class Item:
    """An item of an archive, and the byte ranges of the damaged file that it depends on."""

    value: Any
    needs: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Case:
    """One format: how to build an archive, which file is damaged, its content, how to read the salvaged output."""

    format: str
    build: Callable[[Path], None]
    victim: str
    items: Callable[[Path], list[Item]]
    content: Callable[[Path], Counter[Any]]
    part: str = ""

    @property
    def label(self) -> str:
        """The format, and which of its files is damaged when several cases tell that apart."""
        return f"{self.format}-{self.part}" if self.part else self.format


# -- zs: a record needs its block; everything else is rebuilt -----------------------------------------------------


def build_zs(path: Path) -> None:
    rng = random.Random(1)
    with exhume.create(path, "zs", codec="deflate", block_size=300, branching_factor=4) as writer:
        records: Any = writer
        records.add_records(
            sorted(b"%06d %s" % (rng.randrange(10**6), rng.randbytes(12).hex().encode()) for _ in range(400))
        )


def items_zs(path: Path) -> list[Item]:
    with exhume.open(path) as archive:
        zs: Any = archive
        codec = (72, 88)  # without it the codec is tried out, which the shortest payloads may not settle
        return [Item(r.data, ((r.block.start, r.block.end), codec)) for r in zs.records_with_origin()]


def content_zs(path: Path) -> Counter[Any]:
    with exhume.open(path) as archive:
        zs: Any = archive
        return Counter(zs.records())


# -- caf: a member needs its bytes and its entry in the index -------------------------------------------------------


def build_caf(path: Path) -> None:
    rng = random.Random(2)
    with exhume.create(path, "caf") as writer:
        members: Any = writer
        for number in range(60):
            members.add_bytes(f"d{number % 5}/member-{number:02d}", rng.randbytes(rng.randrange(1, 120)))


def items_caf(path: Path) -> list[Item]:
    data = path.read_bytes()
    found = []
    with exhume.open(path) as archive:
        caf: Any = archive
        for name in caf.names():
            entry = caf.stat(name)
            at = data.index(f'"{name}":'.encode())
            end = data.index(b"}", at) + 1
            found.append(Item((name, caf.read_member(name)), ((entry.offset, entry.offset + entry.size), (at, end))))
    return found


def content_members(path: Path) -> Counter[Any]:
    with exhume.open(path) as archive:
        members: Any = archive
        return Counter((name, members.read_member(name)) for name in members.names())


# -- clp-s: a record needs its stream, the dictionaries and the three structures ------------------------------------


def build_clps(path: Path) -> None:
    with exhume.create(path, "clp-s", min_table_size=1, creator_id="matrix") as writer:
        events: Any = writer
        for number in range(400):
            events.write({f"kind{number % 8}": f"took {number}.5 ms id=a{number}", "n": number})


def items_clps(path: Path) -> list[Item]:
    found = []
    with exhume.open(path) as archive:
        clps: Any = archive
        needs = []
        for name in ("/schema_tree", "/schema_ids", "/table_metadata", "/var.dict", "/log.dict"):
            span = clps.section_span(name)
            needs.append((span.start, span.end))
        metadata = (64, clps.header.files_base)
        for table in clps.tables:
            span = table.span
            lines = b"".join(table.load().renderer().lines(range(table.num_messages))).splitlines()
            found += [Item(line, ((span.start, span.end), metadata, *needs)) for line in lines]
    return found


def content_clps(path: Path) -> Counter[Any]:
    with exhume.open(path) as archive:
        clps: Any = archive
        return Counter(b"".join(clps.json_chunks()).splitlines())


# -- databundle: a file needs its records and the header of its shard ----------------------------------------------


def build_bundle(path: Path) -> None:
    rng = random.Random(4)
    with exhume.create(path, "databundle", record_size=400, alignment=32) as writer:
        members: Any = writer
        for number in range(60):
            members.add(f"d{number % 5}/member-{number:02d}", rng.randbytes(rng.randrange(1, 200)).hex().encode())


def items_bundle(path: Path) -> list[Item]:
    found = []
    with exhume.open(path) as archive:
        bundle: Any = archive
        for name, row in bundle.rows().items():
            if not row.meta.is_directory:
                data = bundle.read_member(name)
                span = bundle.view.file_span(row)
                found.append(Item((name, data), ((span.start, span.end), (0, 64))))
    return found


def content_bundle(path: Path) -> Counter[Any]:
    with exhume.open(path) as archive:
        bundle: Any = archive
        files = [name for name, row in bundle.rows().items() if not row.meta.is_directory]
        return Counter((name, bundle.read_member(name)) for name in files)


# -- databundle, index: a file needs the block of its row; rows of records are found again --------------------------


def build_long_bundle(path: Path) -> None:
    rng = random.Random(5)
    with exhume.create(path, "databundle", record_size=700, alignment=32) as writer:
        members: Any = writer
        for number in range(300):
            members.add(f"d{number % 5}/member-{number:03d}", rng.randbytes(rng.randrange(1, 60)).hex().encode())


def items_by_row(path: Path) -> list[Item]:
    found = []
    with exhume.open(path) as archive:
        bundle: Any = archive
        places = {v.key: v.place for v in bundle.database.state()}
        for name, row in bundle.rows().items():
            if not row.meta.is_directory:
                place = places[row.key.build()]
                found.append(Item((name, bundle.read_member(name)), ((place.offset, place.end),)))
    return found


# -- leveldb: a row needs its block; footer, index and metaindex are looked for without ----------------------------


def build_leveldb(path: Path) -> None:
    from exhume.formats.leveldb.table_writer import write_database

    path.mkdir()
    rows = ((b"key %05d" % n, b"value %d " % n * 9) for n in range(600))
    write_database(lambda name: (path / name).open("xb"), rows, codec="snappy")


def items_leveldb(path: Path) -> list[Item]:
    with exhume.open(path, format="leveldb") as archive:
        database: Any = archive
        return [
            Item((v.key, v.value), ((v.span.start, v.span.end + 5),)) for v in database.database.state()
        ]  # five more: the block's trailer


def content_leveldb(path: Path) -> Counter[Any]:
    with exhume.open(path, format="leveldb") as archive:
        database: Any = archive
        return Counter((v.key, v.value) for v in database.database.state())


# -- ark: a message needs its bytes, its index entry and the split's header -----------------------------------------


def build_ark(path: Path, flush_every: int = 0) -> None:
    from exhume.formats.ark.rbuf.idl import parse_idl
    from exhume.formats.ark.writer import ArkWriter

    registry = parse_idl("namespace test; schema Sample { uint64 number; byte_buffer data; }")
    numbers = itertools.count(1)

    def guid() -> str:
        return str(uuid.UUID(int=next(numbers) | 4 << 76 | 2 << 62))

    with ArkWriter(path, name="matrix", split_items=250, guids=guid) as log:
        column = log.column("column", "lz4")
        channel = log.channel("/channel", "test::Sample", registry, column=column)
        encoder = encoder_for(registry, "test::Sample")
        for number in range(200):
            channel.write(1000 + number, encoder.encode({"number": number, "data": bytes([number]) * 30}))
            if flush_every and number % flush_every == flush_every - 1:
                log.flush()


def items_ark(path: Path) -> list[Item]:
    split = next((path / "splits").iterdir())
    raw = split.read_bytes()
    index, count = int.from_bytes(raw[19:23], "little"), int.from_bytes(raw[23:27], "little")
    found = []
    with exhume.open(path) as archive:
        log: Any = archive
        for position, message in enumerate(log.messages(decode=False)):
            at = index + 18 * position
            start, size = (
                int.from_bytes(raw[at + 8 : at + 12], "little"),
                int.from_bytes(raw[at + 12 : at + 16], "little"),
            )
            found.append(Item((message.time_ns, bytes(message.data)), ((start, start + size), (at, at + 18), (0, 64))))
    assert count == len(found)
    return found


def content_ark(path: Path) -> Counter[Any]:
    with exhume.open(path) as archive:
        log: Any = archive
        return Counter((message.time_ns, bytes(message.data)) for message in log.messages(decode=False))


CASES = [
    Case("zs", build_zs, "", items_zs, content_zs),
    Case("caf", build_caf, "", items_caf, content_members),
    Case("clp-s", build_clps, "", items_clps, content_clps),
    Case("databundle", build_bundle, "shard-*", items_bundle, content_bundle),
    Case("databundle", build_long_bundle, "index/*.sst", items_by_row, content_bundle, part="index"),
    Case("leveldb", build_leveldb, "*.sst", items_leveldb, content_leveldb),
    Case("ark", build_ark, "splits/*", items_ark, content_ark),
]

CHECKSUMMED = ("zs", "databundle", "databundle-index", "leveldb")
"""Cases whose checksums cover every content byte: not one item may differ from the original ones (but bytes that have
lost their name may be kept as such).
"""

STEPS, FLIPS = sizes.size(6, 20), sizes.size(10, 100)

EXPECTED_BASIS = {
    "zs": (VerifiedBy.CHECKSUMS, VerifiedBy.STRUCTURE),  # the latter where the header's checksum does not hold
    "caf": (VerifiedBy.NONE, VerifiedBy.EMPTY),
    "clp-s": (VerifiedBy.STRUCTURE, VerifiedBy.NONE),  # the latter next to rows that were left out
    "databundle": (VerifiedBy.CHECKSUMS, VerifiedBy.STRUCTURE),  # the latter for pieces without a name
    "databundle-index": (VerifiedBy.CHECKSUMS, VerifiedBy.STRUCTURE),
    "leveldb": (VerifiedBy.CHECKSUMS, VerifiedBy.EMPTY),
    "ark": (VerifiedBy.STRUCTURE, VerifiedBy.EMPTY, VerifiedBy.NONE),
}
"""How salvaged content may have been verified."""

SET_APART = ("unreferenced/", "unproven/")


def changes(data: bytes) -> Iterator[tuple[str, bytes, tuple[int, int] | None]]:
    """`(name, damaged, range of the original that was touched)`; the range is None when bytes moved."""
    size = len(data)
    for number in range(STEPS):
        at = size * number // STEPS
        yield f"cut-{at}", data[:at], (at, size)
    for number in range(STEPS):
        at = (size - 1) * number // STEPS
        yield f"sector-{at}", damage.zero_sector(data, at), (at, min(size, at + 512))
    for at in damage.sample_offsets(size, FLIPS, seed=3):
        yield f"flip-{at}", damage.flip(data, at, 1 << at % 8), (at, at + 1)
    third, block = size // 3, max(1, size // 10)
    yield "swap", damage.swap(data, (third, third + block), (2 * third, 2 * third + block)), None
    yield "repeat", damage.duplicate(data, third, third + block), None


@pytest.fixture(scope="module", params=CASES, ids=[case.label for case in CASES])
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Built:
    chosen: Case = request.param
    path = tmp_path_factory.mktemp(chosen.label) / "archive"
    chosen.build(path)
    return Built(chosen, path, victim_of(chosen, path).read_bytes(), chosen.items(path))


def victim_of(case: Case, path: Path) -> Path:
    return next(path.glob(case.victim)) if case.victim else path


@dataclass(frozen=True)
class Built:
    """An archive of a case: its victim's bytes and its content."""

    case: Case
    path: Path
    data: bytes
    items: list[Item]

    def salvage(self, damaged: bytes, out: Path) -> tuple[SalvageReport | None, str]:
        """Salvage the archive with its victim replaced."""
        target: Any = damaged
        if self.case.victim:
            files = {p.relative_to(self.path).as_posix(): p.read_bytes() for p in self.path.rglob("*") if p.is_file()}
            files[victim_of(self.case, self.path).relative_to(self.path).as_posix()] = damaged
            target = MemoryTree(files)
        try:
            return exhume.salvage(target, out, format=self.case.format), ""
        except ExhumeError as error:
            return None, str(error)


@pytest.mark.slow
def test_what_damage_did_not_touch_comes_back(built: Built, tmp_path: Path) -> None:
    chosen = built.case
    original = Counter(item.value for item in built.items)
    poorer = []
    for name, damaged, touched in changes(built.data):
        out = tmp_path / "out"
        report, why = built.salvage(damaged, out)
        found: Counter[Any] = Counter()
        if report is None:
            assert "\n" not in why
        elif out.exists():
            assert report.verified_by in EXPECTED_BASIS[chosen.label], (name, report.verified_by, report.findings)
            errors = [f for f in exhume.verify(out, format=chosen.format) if f.severity is Severity.ERROR]
            assert errors == [], name
            found = chosen.content(out)
        if chosen.label in CHECKSUMMED:
            made_up = {value[0] for value in found - original if not str(value[0]).startswith(SET_APART)}
            assert made_up == set(), name
        if touched is not None:
            start, end = touched
            best = Counter(i.value for i in built.items if all(b <= start or a >= end for a, b in i.needs))
            if not best <= found:
                poorer.append((name, sum((best - found).values()), sum(best.values()), why))
        remove(out)
    assert poorer == []


def remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def test_undamaged_archives_come_back_whole(built: Built, tmp_path: Path) -> None:
    report, why = built.salvage(built.data, tmp_path / "out")
    assert report is not None, why
    assert report.complete, report.to_dict()
    assert built.case.content(tmp_path / "out") == Counter(item.value for item in built.items)


def test_every_byte_is_accounted_for(built: Built, tmp_path: Path) -> None:
    size = len(built.data)
    for cut in (size, size * 2 // 3):
        report, why = built.salvage(built.data[:cut], tmp_path / f"out-{cut}")
        assert report is not None, why
        names = {outcome.span.source for outcome in report.spans}
        victim = built.case.victim and victim_of(built.case, built.path).name
        covered = bytearray(cut)
        for outcome in report.spans:
            if not victim or outcome.span.source.endswith(victim):
                covered[outcome.span.start : outcome.span.end] = b"\1" * (outcome.span.end - outcome.span.start)
        assert covered.count(0) == 0, (built.case.format, cut, names, [f.to_dict() for f in report.spans][:6])


def test_a_clps_archive_survives_damage_of_what_its_records_do_not_use(tmp_path: Path) -> None:
    """Here the dictionary of arrays, which is empty: an incorrect size must not shift the sections after it."""
    path = tmp_path / "archive"
    build_clps(path)
    data = path.read_bytes()
    with exhume.open(path) as archive:
        unused = next(s.span for s in archive.sections() if s.name == "/array.dict")
        best = content_clps(path)
    for at in some(range(unused.start, unused.end)):
        for bit in (0, 7):
            exhume.salvage(damage.flip(data, at, 1 << bit), tmp_path / "out", format="clp-s")
            assert content_clps(tmp_path / "out") == best, (at, bit)
            remove(tmp_path / "out")


# -- the row "killed": the writer's process is stopped by the system at a byte of its output -----------------------


def build_flushed_ark(path: Path) -> None:
    build_ark(path, flush_every=20)


KILLED = [
    *(case for case in CASES if not case.part and case.format != "ark"),
    Case("ark", build_flushed_ark, "splits/*", items_ark, content_ark),
]
NAMES_COME_LAST = ("caf", "databundle")
"""Formats that write all names after all contents: the file of a killed writer has contents only."""

WRITER = """
    case = next(case for case in KILLED if case.format == words[0])
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(words[2]), int(words[2])))
    case.build(Path(words[1]))
"""


@pytest.fixture(scope="module")
def writers() -> Iterator[Forks]:
    """What writes an archive of a format in a process of its own, up to a size."""
    imports = "import resource, signal; from pathlib import Path; from tests.core.test_salvage_matrix import KILLED"
    with Forks(imports, WRITER.strip()) as made:
        yield made


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="needs a limit on the size of files")
@pytest.mark.parametrize("chosen", KILLED, ids=[case.format for case in KILLED])
@pytest.mark.slow
def test_what_a_killed_writer_left_comes_back(chosen: Case, tmp_path: Path, writers: Forks) -> None:
    whole = tmp_path / "whole" / "archive"
    whole.parent.mkdir()
    chosen.build(whole)
    items, complete = chosen.items(whole), victim_of(chosen, whole).read_bytes()
    recovered = 0
    for tenths in (3, 6, 8, 9):
        work = tmp_path / f"killed-{tenths}"
        work.mkdir()
        limit = len(complete) * tenths // 10
        child = writers.run(chosen.format, str(work / "archive"), str(limit))
        assert child.code == -signal.SIGXFSZ, child.err
        (left,) = work.iterdir()
        if chosen.format in ("zs", "caf", "clp-s", "databundle"):
            assert left.name != "archive", "an unfinished archive has the name of a finished one"
        victim = victim_of(chosen, left)
        size = victim.stat().st_size
        out = tmp_path / f"out-{tenths}"
        report = exhume.salvage(left, out, format=chosen.format)
        found = chosen.content(out) if out.exists() else Counter[Any]()
        assert not report.complete
        recovered += sum(found.values())
        if out.exists():
            assert [f for f in exhume.verify(out, format=chosen.format) if f.severity is Severity.ERROR] == []
        if chosen.format in NAMES_COME_LAST:
            check_nameless(chosen, whole, size, found, Counter(item.value for item in items))
            continue
        assert found <= Counter(item.value for item in items)
        written = Counter(item.value for item in items if all(end <= size for _, end in item.needs))
        if chosen.format == "ark":  # entries are written at a flush, their place in the file earlier
            assert sum(found.values()) % 20 == 0
            assert sum(found.values()) > sum(written.values()) - 40
        else:
            assert written <= found
    assert recovered > 0


def check_nameless(case: Case, whole: Path, size: int, found: Counter[Any], original: Counter[Any]) -> None:
    """Every whole record that was written is there, in order; names where they were written; and nothing else."""
    pieces = {name: data for name, data in found if name.startswith("unreferenced/")}
    assert Counter((name, data) for name, data in found if name not in pieces) <= original
    kept = b"".join(pieces[name] for name in sorted(pieces, key=lambda n: int(n.rsplit("/", 1)[1].split("-")[0])))
    with exhume.open(whole) as archive:
        members: Any = archive
        if case.format == "caf":
            assert kept == whole.read_bytes()[:size] or (not kept and size > members.data_size)
            return
        shard = members.view.shard(0)
        stream = shard.read(0, shard.starts[-1])
        least = sum(len(shard.record(n)) for n in range(len(shard.starts)) if shard.bounds[n] <= size)
    assert len(pieces) == len(found)
    assert stream.startswith(kept)
    assert len(kept) >= least


def test_never_in_place(built: Built, tmp_path: Path) -> None:
    if built.case.victim:
        copy = tmp_path / "archive"
        shutil.copytree(built.path, copy)
    else:
        copy = tmp_path / "archive"
        copy.write_bytes(built.data)
    with pytest.raises(ExhumeError):
        exhume.salvage(copy, copy)
    assert victim_of(built.case, copy).read_bytes() == built.data
