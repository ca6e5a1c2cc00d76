"""Flips and cuts at every offset, and crafted errors: found with a code and a place, never a traceback, a hang or
wrong bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.codecs.checksums import crc32c
from exhume.errors import ExhumeError
from exhume.findings import Finding, Severity
from exhume.formats.data_bundle.layout import CONFIG_KEY, build_escaped, build_record_key, file_key
from exhume.formats.data_bundle.messages import BundleConfig, FileMetadata, RecordMetadata, ShardHeader, UserData
from exhume.formats.data_bundle.reader import DataBundleArchive
from exhume.formats.leveldb.table_writer import write_database
from exhume.formats.leveldb.wire import build_bytes, build_varint
from exhume.io.local import LocalTree
from exhume.io.tree import MemoryTree
from exhume.testing.damage import flip, overwrite
from tests.data_bundle.make_samples import MEMBERS, write_bundle
from tests.sizes import size

pytestmark = pytest.mark.usefixtures("few_ends")

Files = dict[str, bytes]


def load(folder: Path) -> Files:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def findings(files: Files) -> list[Finding]:
    return list(exhume.verify(MemoryTree(files), format="databundle"))


def read_all(files: Files) -> dict[str, bytes] | None:
    """The content as a strict reader returns it, None if it rejects anything."""
    try:
        with DataBundleArchive(MemoryTree(files)) as archive:
            return {name: archive.read_member(name) for name in archive.names() if archive.stat(name).kind == "file"}
    except ExhumeError:
        return None


def damaged(files: Files, step: int) -> Iterator[tuple[str, Files]]:
    for name, data in files.items():
        for at in range(0, len(data), step):
            yield f"{name} flip {at}", {**files, name: flip(data, at, (0xFF, 1, 0x80, 0x10)[at % 4])}
        for length in range(0, len(data), 2 * step + 1):
            yield f"{name} cut {length}", {**files, name: data[:length]}


@pytest.mark.parametrize(
    ("case", "step"),
    [("zlib", size(41, 1)), ("snappy", size(59, 1)), ("flat", size(89, 7)), ("none_records", size(89, 7))],
)
@pytest.mark.slow
def test_damage_is_found_or_changes_nothing(samples: Path, case: str, step: int) -> None:
    """What verify does not find must leave every member as it was: IDENTITY, spare bits of a deflate stream, Snappy
    copies from another place with the same bytes (all listed in docs/formats/data_bundle.md)."""
    files = load(samples / "data_bundle" / case)
    missed = 0
    for number, (what, broken) in enumerate(damaged(files, step)):
        found = [f for f in findings(broken) if f.severity is not Severity.NOTE]
        assert all(f.code and "\n" not in str(f) for f in found)
        if not found:
            assert read_all(broken) == MEMBERS, what
            missed += "IDENTITY" not in what
        elif number % 5 == 0:  # a strict reader refuses, or is right; a sample of them, for time
            strict = read_all(broken)
            assert strict is None or all(MEMBERS.get(name, data) == data for name, data in strict.items()), what
    assert missed <= 25


class Bundle:
    """A bundle built row by row, for errors that no writer makes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = b"hello world"
        self.header = ShardHeader(0, 1, 1000, 16, 1)
        self.rows: dict[bytes, bytes] = {
            CONFIG_KEY: BundleConfig(block_size=16, record_size=1000, compression=1).build(),
            file_key("f").build(): FileMetadata(1, 0, 0, 11, 0xC99465AA).build(),
            build_record_key(0, 0): RecordMetadata(0, 0, 32).build(),
        }
        self.shards: dict[str, bytes] = {}

    def build(self) -> Path:
        index = self.folder / "index"
        index.mkdir(parents=True)
        write_database(lambda name: (index / name).open("xb"), sorted(self.rows.items()))
        shard = self.header.build_file_start() + self.data
        for name, content in {"shard-00000000": shard + bytes(-len(shard) % 16), **self.shards}.items():
            (self.folder / name).write_bytes(content)
        return self.folder


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    return Bundle(tmp_path / "b")


def set_row(key: bytes, value: bytes) -> Callable[[Bundle], None]:
    return lambda b: b.rows.update({key: value})


def set_header(**values: Any) -> Callable[[Bundle], None]:
    def change(bundle: Bundle) -> None:
        bundle.header = bundle.header._replace(**values)

    return change


def set_shard(content: bytes, name: str = "shard-00000000") -> Callable[[Bundle], None]:
    return lambda b: b.shards.update({name: content})


def both(*changes: Callable[[Bundle], None]) -> Callable[[Bundle], None]:
    def change(bundle: Bundle) -> None:
        for one in changes:
            one(bundle)

    return change


def drop_row(key: bytes) -> Callable[[Bundle], None]:
    def change(bundle: Bundle) -> None:
        del bundle.rows[key]

    return change


F = file_key("f").build()
R = build_record_key(0, 0)
CRC = 0xC99465AA
HUGE = (1 << 64) - 1
HEAD = ShardHeader(0, 1, 1000, 16, 1).build_file_start()

WRONG_CLAIMS: list[tuple[str, Callable[[Bundle], None]]] = [
    ("DBND-101", drop_row(CONFIG_KEY)),
    ("DBND-102", set_row(CONFIG_KEY, BundleConfig(magic="somethingElse").build())),
    ("DBND-103", set_shard(b"PK\3\4" + bytes(100))),
    ("DBND-104", set_header(compression=9)),
    ("DBND-104", set_row(CONFIG_KEY, BundleConfig(compression=77).build())),
    ("DBND-105", set_shard(b"daBS" + (4).to_bytes(4, "little") + (16).to_bytes(4, "little") + b"\x10\x01\x38\x01")),
    ("DBND-201", set_row(F, FileMetadata(1, 0, 0, 11, CRC ^ 1).build())),
    ("DBND-202", set_header(compression=3)),
    ("DBND-202", set_header(compression=2)),
    ("DBND-301", set_row(CONFIG_KEY, b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")),
    ("DBND-302", set_row(F, b"\x0b\xff\xff")),
    ("DBND-302", set_row(F, b"\x08")),
    ("DBND-302", set_row(F, b"\x28" + build_varint(1 << 40))),
    ("DBND-302", set_row(b"\x02/no terminator", b"")),
    ("DBND-303", set_row(R, RecordMetadata(5, 6, 32).build())),
    ("DBND-303", set_row(R, b"")),
    ("DBND-303", set_row(b"\x03\x00\xff\x01", b"\x18\x00")),
    ("DBND-304", set_row(b"\x07", b"?")),
    ("DBND-305", set_shard(b"daBS\xff\xff\xff\xff\x10\0\0\0")),
    ("DBND-305", set_shard(b"daBS\x02\0\0\0\x10\0\0\0\x0f\x0f" + bytes(50))),
    ("DBND-305", set_shard(b"daBS\x00\0\0\0\xff\xff\xff\x7f" + bytes(50))),
    ("DBND-306", set_header(shard_index=3)),
    ("DBND-307", set_header(shard_count=1_000_000_000)),
    ("DBND-308", set_shard(overwrite(HEAD, 30, b"!") + b"hello world" + bytes(5))),
    ("DBND-309", set_header(record_size=999)),
    ("DBND-310", both(set_row(R, RecordMetadata(0, 0, 48).build()),
                    set_row(build_record_key(0, 6), RecordMetadata(0, 6, 32).build()))),
    ("DBND-311", set_row(R, RecordMetadata(0, 0, 16).build())),
    ("DBND-311", set_row(R, RecordMetadata(0, 0, HUGE).build())),
    ("DBND-312", set_row(R, RecordMetadata(0, 0, 33).build())),
    ("DBND-313", set_row(build_record_key(0, 999), RecordMetadata(0, 999, 48).build())),
    ("DBND-314", both(set_header(compression=3),
                    lambda b: setattr(b, "data", b"x\x9c\xcbH\xcd\xc9\xc9W(\xcf/\xcaI\x01\x00\x1a\x0b\x04]????"))),
    ("DBND-315", set_row(F, FileMetadata(1, 0, 0, 1 << 40, CRC).build())),
    ("DBND-315", set_row(F, FileMetadata(1, 0, HUGE, HUGE, CRC).build())),
    ("DBND-315", both(drop_row(R), set_row(F, FileMetadata(1, 0, 0, 100, CRC).build()))),
    ("DBND-316", set_row(F, FileMetadata(1, 7, 0, 11, CRC).build())),
    ("DBND-316", set_row(F, FileMetadata(1, 10**9, 0, 11, CRC).build())),
    ("DBND-317", set_shard(ShardHeader(1, 2, 1000, 16, 1).build_file_start(), "shard-00000001")),
    ("DBND-404", set_row(F, FileMetadata(1, 0, 0, 11, CRC).build() + b"\x48\x01")),
    ("DBND-404", set_row(R, RecordMetadata(0, 0, 32).build() + b"\x4a\x01x")),
    ("DBND-404", set_row(CONFIG_KEY, BundleConfig(block_size=16, record_size=1000).build() + b"\x48\x01")),
    ("DBND-404", set_shard(b"daBS" + (6).to_bytes(4, "little") + (32).to_bytes(4, "little")
        + b"\x10\x01\x40\x01\x50\x07".ljust(20, b"\0") + b"hello world".ljust(16, b"\0"))),
    ("DBND-318", set_row(file_key("d").build(), FileMetadata(2, 0, 0, 5).build())),
    ("DBND-319", set_row(F, FileMetadata(0, 0, 0, 11, CRC).build())),
    ("DBND-320", set_row(file_key("g").build(), FileMetadata(1, 0, 0, 5, 0x9A71BB4C).build())),
    ("DBND-321", set_row(F, FileMetadata(1, 0, 6, 5, 0x1).build())),
    ("DBND-322", set_row(R, RecordMetadata(0, 0, 0).build())),
    ("DBND-323", both(set_row(build_record_key(0, 11), RecordMetadata(0, 11, all_zeros=True).build()),
                    set_row(build_record_key(0, 1 << 60), RecordMetadata(0, 1 << 60, 48).build()))),
    ("DBND-401", set_row(b"\x02" + build_escaped(b"/../") + build_escaped(b"passwd"), FileMetadata(1).build())),
    ("DBND-401", set_row(b"\x02" + build_escaped(b"/") + build_escaped(b"\xff"), FileMetadata(1).build())),
    ("DBND-401", set_row(b"\x02" + build_escaped(b"etc") + build_escaped(b"passwd"), FileMetadata(1).build())),
    ("DBND-403", set_shard(b"?", "README")),
]  # fmt: skip


def config(**values: Any) -> Callable[[Bundle], None]:
    stated: dict[str, Any] = {"block_size": 16, "record_size": 1000, "compression": 1, **values}
    return set_row(CONFIG_KEY, BundleConfig(**stated).build())


def records(*places: tuple[int, int | None]) -> Callable[[Bundle], None]:
    """Rows of records: offset in the stream, and in the shard (None for zeros)."""

    def change(bundle: Bundle) -> None:
        bundle.rows.pop(R, None)
        for offset, place in places:
            row = RecordMetadata(0, offset, all_zeros=True) if place is None else RecordMetadata(0, offset, place)
            bundle.rows[build_record_key(0, offset)] = row.build()

    return change


def file_of(offset: int, size: int, name: str = "f", crc: int = CRC) -> Callable[[Bundle], None]:
    return set_row(file_key(name).build(), FileMetadata(1, 0, offset, size, crc).build())


def data(content: bytes) -> Callable[[Bundle], None]:
    return lambda b: setattr(b, "data", content)


def aligned(alignment: int) -> Callable[[Bundle], None]:
    """The record begins right after an odd number of bytes."""

    def change(bundle: Bundle) -> None:
        set_header(record_alignment=alignment)(bundle)
        config(block_size=alignment)(bundle)
        start = len(bundle.header.build_file_start()) + 2
        records((0, start + start % 2 - 1))(bundle)
        bundle.data = bytes(1 + start % 2) + b"hello world"

    return change


SPLIT = b"hello ".ljust(16, b"\0") + b"world"
MIB = 1 << 20
FAR = overwrite(HEAD, 8, (3 * MIB).to_bytes(4, "little")).ljust(3 * MIB, b"\0")

VARIANTS: dict[str, Callable[[Bundle], None]] = {
    "configuration without compression": config(compression=0),
    "raw packed with records": config(raw_packed=True),
    "data not aligned": set_shard(overwrite(HEAD, 8, b"\x21\0\0\0") + b"\0hello world    "),
    "alignment of one": aligned(1),
    "no alignment": aligned(0),
    "two broken shards": both(
        set_shard(b"PK\3\4"), set_shard(ShardHeader(1, 5, 1000, 16, 1).build_file_start(), "shard-00000001")),
    "fill far away": both(set_shard(overwrite(overwrite(FAR, 3 * MIB // 2, b"!"), 5 * MIB // 2, b"?") + b"hello world"),
                          records((0, 3 * MIB))),
    "file up to the last record": both(data(SPLIT), records((0, 32), (6, 48)), file_of(0, 6)),
    "two wrong files": both(file_of(0, 5, "g", 1), file_of(5, 6, "f", 2)),
    "a good and a wrong file": both(file_of(0, 11), file_of(0, 5, "g", 1)),
    "two files, unknown compression": both(set_header(compression=9), file_of(0, 5, "g")),
    "ends at two to the 64": file_of(HUGE, 1),
    "begins at two to the 63": file_of(1 << 63, 5),
    "first record late": both(drop_row(R), records((3, 32))),
    "file longer than its records": both(data(SPLIT), records((0, 32), (6, 48)), file_of(0, 100)),
    "file longer than its zeros": both(records((0, 32), (11, None)), file_of(0, MIB)),
    "zeros of one": both(set_header(record_size=1), records((0, 32), (11, None), (13, 48))),
    "zeros, then a record outside": records((0, None), (2000, 5), (3000, 6)),
    "zeros, then the first record": records((0, None), (5, 32), (16, 48)),
    "one place for two": records((0, 32), (5, 32)),
    "one place for three": records((0, 32), (5, 32), (8, 32), (11, 48)),
    "padding cut": set_shard(HEAD + b"hello world"),
    "three rows of no table": both(set_row(b"\x07a", b"?"), set_row(b"", b"?"), set_row(b"\xff\xff", b"?")),
}  # fmt: skip
"""More errors, for cases of several rules together, and for the words of findings."""


@pytest.mark.parametrize(("code", "lie"), WRONG_CLAIMS, ids=[f"{code}-{n}" for n, (code, _) in enumerate(WRONG_CLAIMS)])
def test_false_statements_are_reported(bundle: Bundle, code: str, lie: Callable[[Bundle], None]) -> None:
    lie(bundle)
    path = bundle.build()
    found = list(exhume.verify(path, format="databundle"))
    assert code in [f.code for f in found], [str(f) for f in found]
    reported = next(f for f in found if f.code == code)
    assert reported.span is not None
    assert reported.spec_ref
    try:
        with exhume.open(path, format="databundle") as archive:
            assert isinstance(archive, DataBundleArchive)
            for name in archive.names():
                archive.read_member(name)
    except ExhumeError as error:
        assert error.code in {f.code for f in found} | {"EX-501", "DBND-313", "DBND-202"}
        if error.code in ("DBND-102", "DBND-301", "DBND-302", "DBND-303"):  # the place that `verify` states
            assert (error.span, str(error)) == (reported.span, str(reported))


def test_the_honest_bundle_is_clean(bundle: Bundle) -> None:
    path = bundle.build()
    assert [str(f) for f in exhume.verify(path)] == []
    with exhume.open(path) as archive:
        assert isinstance(archive, DataBundleArchive)
        assert archive.read_member("f") == b"hello world"


def test_every_rule_has_a_case() -> None:
    from exhume.formats.data_bundle.checks import RULES

    shown = {code for code, _ in WRONG_CLAIMS}
    shown |= {"DBND-402"}  # shown by the sample `ref_forensic_index` and by test_history
    assert {rule.code for rule in RULES} == shown


@pytest.mark.parametrize(("stated", "severity"), [(0, Severity.NOTE), (3, Severity.UNCHECKED)])
def test_a_file_type_that_is_not_set_or_not_known(bundle: Bundle, stated: int, severity: Severity) -> None:
    """Writers leave it out, and all read that as a file; what another number means is not known."""
    bundle.rows[F] = FileMetadata(stated, 0, 0, 11, CRC).build()
    found = [f for f in exhume.verify(bundle.build()) if f.code == "DBND-319"]
    assert [f.severity for f in found] == [severity]


@pytest.mark.parametrize(("stated", "more", "strange"), [(3, b"", "type 3"), (1, b"\x48\x01", "field 9")])
def test_what_is_not_known_is_not_dropped_silently(
    bundle: Bundle, stated: int, more: bytes, strange: str, tmp_path: Path, exhume_cli: Callable[..., Any]
) -> None:
    bundle.rows[F] = FileMetadata(stated, 0, 0, 11, CRC).build() + more
    path = bundle.build()
    ran = exhume_cli("recode", path, "-o", tmp_path / "recoded")
    assert ran.code == 1
    assert f"f cannot be written again: {strange}" in ran.err
    assert not (tmp_path / "recoded").exists()
    ran = exhume_cli("salvage", path, "-o", tmp_path / "saved")
    assert ran.code == 3
    assert f"f: not known, and not kept: {strange}" in ran.text + ran.err
    with exhume.open(tmp_path / "saved") as archive:
        assert isinstance(archive, DataBundleArchive)
        assert archive.read_member("f") == b"hello world"


def test_relative_offsets_are_accepted(bundle: Bundle) -> None:
    bundle.rows[R] = RecordMetadata(0, 0, 0).build()
    with exhume.open(bundle.build()) as archive:
        assert isinstance(archive, DataBundleArchive)
        assert archive.view.shard(0).is_relative
        assert archive.read_member("f") == b"hello world"


def test_compressed_records_without_rows_are_not_content(bundle: Bundle) -> None:
    """A part of a file has no checksum, so that the bytes of the records would pass for it."""
    bundle.header = ShardHeader(0, 1, 1000, 16, 3)
    del bundle.rows[R]
    path = bundle.build()
    with exhume.open(path) as archive:
        assert isinstance(archive, DataBundleArchive)
        for part in (slice(0, 4), slice(0, None)):
            with pytest.raises(ExhumeError) as refused:
                archive.read_member("f", part.start, part.stop)
            assert refused.value.code == "DBND-315"
        assert [section.kind.value for section in archive.sections().tiles()][:2] == ["structure", "gap"]
    assert [f.code for f in exhume.verify(path) if f.severity is Severity.ERROR] == ["DBND-315"]


@pytest.mark.slow
def test_bombs_are_refused(bundle: Bundle) -> None:
    import zlib

    bundle.header = ShardHeader(0, 1, 1000, 16, 3)
    bundle.data = zlib.compress(bytes(100 << 20), 9)
    bundle.rows[CONFIG_KEY] = BundleConfig(block_size=16, record_size=1000, compression=3).build()
    bundle.rows[F] = FileMetadata(1, 0, 0, 10, crc32c(bytes(10))).build()
    path = bundle.build()
    limits = exhume.Limits(payload_size=1 << 20)
    with exhume.open(path, limits=limits) as archive:  # in chunks: the first is enough
        assert isinstance(archive, DataBundleArchive)
        assert archive.read_member("f") == bytes(10)
    assert [str(f) for f in exhume.verify(path, limits=limits) if f.is_problem] == []
    limits = limits._replace(expansion=10, expansion_floor=1 << 20)
    assert {f.code for f in exhume.verify(path, limits=limits) if f.is_problem} == {"EX-501"}


def test_a_file_of_two_to_the_sixty_zeros_is_refused(bundle: Bundle) -> None:
    bundle.rows[R] = RecordMetadata(0, 0, all_zeros=True).build()
    bundle.rows[F] = FileMetadata(1, 0, 0, 1 << 60, 0).build()
    path = bundle.build()
    with exhume.open(path) as archive:
        assert isinstance(archive, DataBundleArchive)
        with pytest.raises(ExhumeError):
            archive.read_member("f")
        with pytest.raises(ExhumeError) as caught:
            next(archive.iter_member("f"))
        assert caught.value.code == "DBND-323"


def test_user_data_that_is_garbage(bundle: Bundle) -> None:
    bundle.rows[F] += b"\x32" + build_bytes(b"\x0a\x50")
    path = bundle.build()
    assert "DBND-302" in [f.code for f in exhume.verify(path)]
    assert UserData.parse(b"").build() == b""


def test_nothing_outside_is_opened(tmp_path: Path, exhume_cli: Callable[..., Any]) -> None:
    path = tmp_path / "b"
    write_bundle(path)
    (path / "index" / "CURRENT").write_bytes(b"../../../../../../etc/passwd\n")
    found = list(exhume.verify(path))
    assert "LDB-501" in [f.code for f in found]
    ran = exhume_cli("list", "--json", path)
    assert ran.code == 1
    assert "LDB-501" in ran.err
    assert b"root:" not in ran.out
    (path / "index" / "CURRENT").unlink()
    (path / "index" / "CURRENT").symlink_to("/etc/passwd")
    for verb in ("list", "verify", "info"):
        ran = exhume_cli(verb, "--format", "databundle", path)
        assert ran.code in (1, 4)
        assert "root:" not in ran.err
        assert b"root:" not in ran.out


def test_unsafe_names_are_not_extracted(bundle: Bundle, tmp_path: Path, exhume_cli: Callable[..., Any]) -> None:
    bundle.rows[b"\x02" + build_escaped(b"/../") + build_escaped(b"evil")] = FileMetadata(1).build()
    ran = exhume_cli("extract", bundle.build(), "-o", tmp_path / "out")
    assert ran.code == 3
    assert (tmp_path / "out" / "f").read_bytes() == b"hello world"
    assert not (tmp_path / "evil").exists()


def test_json_of_verify_is_the_contract(bundle: Bundle, exhume_cli: Callable[..., Any]) -> None:
    bundle.rows[F] = FileMetadata(1, 0, 0, 11, CRC ^ 1).build()
    ran = exhume_cli("verify", "--json", bundle.build())
    assert ran.code == 4
    document = json.loads(ran.out)
    assert document["format"] == "databundle"
    assert document["ok"] is False
    assert [(f["code"], f["span"]["source"]) for f in document["findings"]] == [("DBND-201", "shard-00000000")]


def test_a_strict_reader_and_verify_agree_on_a_lost_shard(tmp_path: Path) -> None:
    path = tmp_path / "b"
    write_bundle(path, shards=2)
    (path / "shard-00000001").unlink()
    found = [f.code for f in exhume.verify(path) if f.severity is Severity.ERROR]
    assert "DBND-316" in found
    with DataBundleArchive(LocalTree(path)) as archive:
        codes = set()
        for name in archive.names():
            try:
                archive.read_member(name)
            except ExhumeError as error:
                codes.add(error.code)
    assert codes == {"DBND-316"}
