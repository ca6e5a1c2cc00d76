"""The account of a salvage is exact: each byte has one outcome, and nothing goes missing in silence.

Hypothesis damages the files of an archive of each format (truncated, zeroed, flipped, emptied, removed).  Then:
recovered content is content of the original, where checksums or the kind of damage allow a check; content missing
from the output is named as lost; every byte of the input has exactly one outcome; and zeros are never "recovered" in
place of content.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import exhume
from exhume.codecs.checksums import masked_crc32c
from exhume.errors import ExhumeError
from exhume.formats.leveldb.table_writer import build_log
from exhume.formats.leveldb.wire import build_varint
from exhume.io.tree import MemoryTree
from exhume.recovery import Outcome, SalvageReport, VerifiedBy
from tests.clp_s.build import directory
from tests.core.test_salvage_matrix import CASES, CHECKSUMMED, SET_APART, Case, content_leveldb, remove
from tests.leveldb.crafted import build_batch
from tests.leveldb.make_samples import PUT, build_table, edit, write_files
from tests.sizes import PROFILE

pytestmark = pytest.mark.usefixtures("few_ends")

Files = dict[str, bytes]
BLOB = 17
"""The type of a reference to a value in a blob file."""


def build_kv_ir(path: Path) -> None:
    with exhume.create(path, "kv-ir") as writer:
        events: Any = writer
        for number in range(300):
            events.write({"n": number, f"kind{number % 5}": f"took {number} ms"})


def content_kv_ir(path: Path) -> Counter[Any]:
    with exhume.open(path) as archive:
        stream: Any = archive
        return Counter(stream.json_lines())


def build_clp_ir(path: Path) -> None:
    with exhume.create(path, "clp-ir") as writer:
        events: Any = writer
        for number in range(300):
            events.write(1_700_000_000_000 + number, f"kind{number % 5} took {number} ms\n")


def content_clp_ir(path: Path) -> Counter[Any]:
    with exhume.open(path) as archive:
        stream: Any = archive
        return Counter(event.message for event in stream.events())


def build_database_with_log(path: Path) -> None:
    """A database of one table and one log."""
    entries = [(b"key %05d" % number, number + 1, PUT, b"value %d " % number * 9) for number in range(300)]
    logged = [build_batch(1000 + n, [(PUT, b"log %05d" % n, b"logged %d " % n * 5)]) for n in range(200)]
    table, writer = build_table(entries, "snappy")
    tables = [(1, 5, len(table), writer.smallest, writer.largest)]
    edits = [edit(log=2, last=0, following=3, tables=[]), edit(log=6, last=300, following=7, tables=tables)]
    files = {"CURRENT": b"MANIFEST-000004\n", "MANIFEST-000004": build_log(edits)}
    write_files(path, {**files, "000005.ldb": table, "000006.log": build_log(logged)})


def build_database_with_blobs(path: Path) -> None:
    """A database of RocksDB's with one table, whose values are in a blob file."""
    magic = bytes.fromhex("378f2400")
    data, entries = magic + b"\1" + bytes(25), []
    for number in range(120):
        key, value = b"key %05d" % number, b"blob %d " % number * 20
        sizes = len(key).to_bytes(8, "little") + len(value).to_bytes(8, "little") + bytes(8)
        checksums = b"".join(masked_crc32c(checked).to_bytes(4, "little") for checked in (sizes, key + value))
        data += sizes + checksums + key
        index = b"\1" + b"".join(map(build_varint, (9, len(data), len(value)))) + b"\0"
        entries.append((key, number + 1, BLOB, index))
        data += value
    held = build_varint(len(data) - 30)
    footer = magic + (120).to_bytes(8, "little") + bytes(16)
    table, writer = build_table(entries, "snappy")
    made = edit(log=6, last=300, following=10, tables=[(1, 5, len(table), writer.smallest, writer.largest)])
    made = made.replace(b"\x07\x01\x05", b"\x67\x01\x05") + b"\1\1\4\1\x09\1"  # with its oldest blob file
    made += b"\x90\3\x09" + build_varint(120) + held + b"\0\0\0"
    files = {"CURRENT": b"MANIFEST-000004\n", "MANIFEST-000004": build_log([made]), "000006.log": b""}
    files["000009.blob"] = data + footer + masked_crc32c(footer).to_bytes(4, "little")
    write_files(path, {**files, "000005.sst": table})


def build_clp_s_directory(path: Path) -> None:
    made = path.with_suffix(".clps")
    CLP_S.build(made)
    for name, data in directory(made.read_bytes()).items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(data)
    made.unlink()


(CLP_S,) = (case for case in CASES if case.format == "clp-s")
ALL = [
    *CASES,
    Case("clp-ir", build_clp_ir, "", lambda _: [], content_clp_ir),
    Case("clp-s", build_clp_s_directory, "", lambda _: [], CLP_S.content, part="directory"),
    Case("kv-ir", build_kv_ir, "", lambda _: [], content_kv_ir),
    Case("leveldb", build_database_with_log, "", lambda _: [], content_leveldb, part="database"),
    Case("leveldb", build_database_with_blobs, "", lambda _: [], content_leveldb, part="blobs"),
]
PROVEN = (*CHECKSUMMED, "leveldb-database", "leveldb-blobs")
LOG = "000006.log"
"""A file that is appended to: if it ends between two records, or is empty, it is a shorter one (docs/testing.md)."""
PLACEHOLDER = "<lost "
"""It stands for a lost entry of a dictionary of clp-s, in records that are kept."""


class Original:
    """An undamaged archive: its files by name (one file has the name "") and what it contains."""

    def __init__(self, case: Case, folder: Path) -> None:
        path = folder / "archive"
        case.build(path)
        self.case, self.folder, self.content = case, folder, case.content(path)
        if path.is_file():
            self.files: Files = {"": path.read_bytes()}
        else:
            self.files = {p.relative_to(path).as_posix(): p.read_bytes() for p in path.rglob("*") if p.is_file()}
        assert self.content


@pytest.fixture(scope="module", params=ALL, ids=[case.label for case in ALL])
def original(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Original:
    return Original(request.param, tmp_path_factory.mktemp(request.param.label))


@st.composite
def damages(draw: st.DrawFn) -> list[tuple[str, float, float, int]]:
    """Up to three of: kind, which file and where (as fractions), and a size or bit."""
    kinds = st.sampled_from(
        ("truncate", "zero", "flip", "empty", "blank", "remove", "swap", "insert", "append", "repeat", "behead")
    )
    one = st.tuples(kinds, st.floats(0, 0.999), st.floats(0, 0.999), st.integers(0, 4096))
    return draw(st.lists(one, min_size=1, max_size=3))


def damaged(files: Files, wanted: list[tuple[str, float, float, int]]) -> Files:
    """The files with the damages applied in order."""
    found = dict(files)
    for kind, which, where, size in wanted:
        name = sorted(found)[int(which * len(found))]
        if kind != "remove":
            found[name] = changed(found[name], kind, int(where * len(found[name])), size)
        elif len(found) > 1:
            del found[name]
    return found


def changed(data: bytes, kind: str, at: int, size: int) -> bytes:
    """A file with one damage."""
    if kind == "flip":
        return data[:at] + bytes([data[at] ^ 1 << size % 8]) + data[at + 1 :] if data else data
    middle, end = at + size, at + 2 * size
    return {
        "append": data + (bytes(size) if size % 2 else data[: size % 600]),
        "behead": data[size % 600 :],
        "blank": bytes(len(data)),
        "empty": b"",
        "insert": data[:at] + b"\7" * (size % 100) + data[at:],
        "repeat": data[:at] + data[at:middle] + data[at:],
        "swap": data[:at] + data[middle:end] + data[at:middle] + data[end:],
        "truncate": data[:at],
        "zero": data[:at] + bytes(min(size, len(data) - at)) + data[middle:],
    }[kind]


@settings(derandomize=PROFILE != "thorough", max_examples=400 if PROFILE == "thorough" else 20)
@given(wanted=damages())
def test_the_account_is_exact(original: Original, wanted: list[tuple[str, float, float, int]]) -> None:
    files, out = damaged(original.files, wanted), original.folder / "out"
    target: Any = files[""] if "" in files else MemoryTree(files)
    try:
        report = exhume.salvage(target, out, format=original.case.format)
    except ExhumeError as error:
        event("refused")
        assert "\n" not in str(error)
        return
    try:
        found = original.case.content(out) if out.exists() and _has_content(out) else Counter()
    except ExhumeError:
        assert report.verified_by is VerifiedBy.FAILED  # a flipped version, say, which is written as it was
        return
    finally:
        remove(out)
    named = Counter({item: n for item, n in found.items() if not _is_set_apart(item)})
    gone, foreign = original.content - named, named - original.content
    foreign = Counter({item: n for item, n in foreign.items() if PLACEHOLDER not in str(item)})
    event("nothing lost" if report.complete else "something lost")
    kinds, checksummed = {kind for kind, *_ in wanted}, original.case.label in PROVEN
    if checksummed or kinds <= {"truncate", "empty", "remove"}:
        twice = kinds & {"append", "insert", "repeat", "swap"}  # the same bytes can then be there more than once
        assert not (set(foreign) - set(original.content) if twice else foreign)
    if LOG in files and original.files[LOG].startswith(files[LOG].rstrip(b"\0")):
        gone = Counter({item: count for item, count in gone.items() if not item[0].startswith(b"log ")})
    if any("is not read: no manifest names this file" in note for note in report.notes):
        gone = Counter()  # a manifest that ends between two records is an earlier one
    # Without checksums, content that was changed counts as both, and a flipped bit can turn any count into another.
    if gone.total() > foreign.total() and (checksummed or "flip" not in kinds):
        assert not report.complete, (gone.total(), report.recovered, report.lost)
    check_spans(files, report, original.files)


def _has_content(out: Path) -> bool:
    return out.is_file() or any(out.iterdir())


def _is_set_apart(item: Any) -> bool:
    return isinstance(item, tuple) and str(item[0]).startswith(SET_APART)


def check_spans(files: Files, report: SalvageReport, originals: Files) -> None:
    """Each byte of each file has exactly one outcome; a file of zeros in place of content is not recovered."""
    ends = dict.fromkeys(files, 0)
    recovered: Counter[str] = Counter()
    for one in sorted(report.spans, key=lambda one: (one.span.start, one.span.end)):
        name = "" if "" in files else one.span.source
        assert one.span.start == ends[name], (name, one)
        ends[name] = one.span.end
        if one.outcome is Outcome.RECOVERED:
            recovered[name] += one.span.size
    assert ends == {name: len(data) for name, data in files.items()}
    for name, data in files.items():
        if len(data) > 64 and not any(data) and any(originals[name]):  # an empty dictionary of clp-s has zeros
            assert not recovered[name], name


def test_intact_archives_are_complete(original: Original) -> None:
    target: Any = original.files[""] if "" in original.files else MemoryTree(original.files)
    report = exhume.salvage(target, original.folder / "out", format=original.case.format)
    remove(original.folder / "out")
    assert report.complete, report.to_dict()
    check_spans(original.files, report, original.files)
