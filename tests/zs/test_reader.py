"""Reading: ranges and prefixes against a plain filter, requests, caches, damage on the way."""

from __future__ import annotations

import io
import random
import subprocess
import sys
from bisect import bisect_left
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import exhume
from exhume.codecs import compress
from exhume.codecs.checksums import crc64_xz
from exhume.errors import ExhumeError, SourceError, WriterError
from exhume.formats.zs.reader import ZsArchive
from exhume.formats.zs.search import after_prefix
from exhume.formats.zs.writer import ZsWriter
from exhume.io.local import FileSource
from exhume.io.source import BytesSource
from exhume.testing.damage import flip
from exhume.testing.sources import CountingSource, MisreportingSource, failing

from .build import File, entries, reader, records
from .make_samples import METADATA, WORDS

SMALL = st.text(alphabet="ab\xff", max_size=3).map(lambda text: text.encode("latin-1"))


def write(path: Path, items: list[bytes], **options: Any) -> Path:
    """A file of sorted records."""
    with ZsWriter(path, default_metadata=False, overwrite=True, **options) as writer:
        writer.add_records(items)
    return path


def expected(items: list[bytes], start: bytes | None, stop: bytes | None, prefix: bytes | None) -> list[bytes]:
    """The same by plain filter."""
    return [
        item
        for item in items
        if (start is None or item >= start) and (stop is None or item < stop) and item.startswith(prefix or b"")
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("zs")


@given(
    items=st.lists(SMALL, min_size=1, max_size=40).map(sorted),
    start=st.one_of(st.none(), SMALL),
    stop=st.one_of(st.none(), SMALL),
    prefix=st.one_of(st.none(), SMALL),
    block_size=st.integers(1, 12),
    branching=st.integers(2, 4),
    jobs=st.sampled_from([1, 1, 1, 2]),
    short=st.booleans(),
)
@pytest.mark.slow
def test_ranges_equal_a_filter(
    folder: Path,
    items: list[bytes],
    start: bytes | None,
    stop: bytes | None,
    prefix: bytes | None,
    block_size: int,
    branching: int,
    jobs: int,
    short: bool,
) -> None:
    path = write(
        folder / "r.zs", items, codec="none", block_size=block_size, branching_factor=branching, short_keys=short
    )
    with reader(path) as archive:
        wanted = expected(items, start, stop, prefix)
        for _ in range(2):  # cold and from the caches
            assert list(archive.records(start, stop, prefix, jobs=jobs)) == wanted
        assert archive.count(start, stop, prefix, jobs=jobs) == len(wanted)
        found = list(archive.records_with_origin(start, stop, prefix))
        assert [record.data for record in found] == wanted
        for record in found:
            payload = archive.file.payload(archive.file.read(record.block.start, record.block.size))
            assert record.span.payload is not None
            assert payload[slice(*record.span.payload)] == record.data
        parts = archive.map_blocks(lambda part: part, start, stop, prefix, jobs=jobs)
        assert [record for part in parts for record in part] == wanted
        assert b"".join(archive.map_values(lambda values, ends: values, start, stop, prefix, jobs=jobs)) == b"".join(
            wanted
        )


@given(
    items=st.lists(SMALL, min_size=1, max_size=24).map(sorted),
    start=st.one_of(st.none(), SMALL),
    stop=st.one_of(st.none(), SMALL),
    chance=st.randoms(use_true_random=False),
)
@pytest.mark.slow
def test_ranges_do_not_depend_on_what_an_index_block_refers_to(
    folder: Path, items: list[bytes], start: bytes | None, stop: bytes | None, chance: random.Random
) -> None:
    file = File()
    # The data blocks, each with the last record before it; one, two or three of their index blocks take them in turns.
    blocks = [items[at : at + 2] for at in range(0, len(items), 2)]
    places = [file.data(*block) for block in blocks]
    before = [b"", *(block[-1] for block in blocks)]
    groups: dict[int, list[int]] = {}
    for number in range(len(blocks)):
        groups.setdefault(chance.randrange(3), []).append(number)

    def keyed(number: int) -> bytes:
        """The largest or smallest key of a block."""
        return chance.choice([before[number], blocks[number][0]])

    def equal_in_any_order(found: list[tuple[bytes, tuple[int, int]]]) -> list[tuple[bytes, tuple[int, int]]]:
        """Index entries by key; those with the same one in any order."""
        chance.shuffle(found)
        return sorted(found, key=lambda entry: entry[0])

    tops = []
    for group in sorted(groups.values()):
        inner = file.index(1, *equal_in_any_order([(keyed(number), places[number]) for number in group]))
        tops.append((keyed(group[0]), inner))
    path = folder / "turns.zs"
    path.write_bytes(file.finish(file.index(2, *equal_in_any_order(tops))))
    wanted = expected(items, start, stop, None)
    with reader(path) as archive:
        assert list(archive.verify()) == []
        assert list(archive.records(start, stop)) == wanted
        assert archive.count(start, stop) == len(wanted)
        for size in (1, 30, 90):
            assert [record for part in archive.partitions(size) for record in part.records()] == items


@pytest.mark.parametrize("codec", ["none", "deflate", "lzma"])
def test_samples_contain_the_words(samples: Path, codec: str) -> None:
    with reader(samples / "zs" / f"words-{codec}.zs") as archive:
        assert list(archive) == WORDS
        assert archive.metadata == METADATA
        info = archive.info().to_dict()
        assert info["codec"].startswith(codec)
        assert info["statistics"]["root_index_level"] >= 2
        assert info["data_sha256"] == archive.header.data_sha256.hex()
        stats = archive.stats()
        assert archive.stats(jobs=3) == stats
        assert stats["records"] == len(WORDS)
        assert (
            sum(row["stored_bytes"] for row in stats["levels"]) + archive.header.blocks_offset
            == info["total_file_length"]
        )


@pytest.mark.parametrize("jobs", [1, 3])
def test_statistics_are_those_of_the_blocks(jobs: int) -> None:
    """The index has two levels, data blocks differ in size, and the payload of an extension is not known."""
    file = File()
    places = [file.data(b"a", b"bb"), file.data(b"c"), file.data(b"d" * 30)]
    parts = [file.index(1, (b"a", places[0]), (b"c", places[1])), file.index(1, (b"d", places[2]))]
    root = file.index(2, (b"a", parts[0]), (b"d", parts[1]))
    extension = file.block(64, b"any")
    stored = [sum(size for _, size in blocks) for blocks in (places, parts, [root], [extension])]
    with reader(file.finish(root)) as archive:
        assert archive.stats(jobs=jobs) == {
            "root_index_level": 2,
            "records": 4,
            "data_payload_bytes": 38,
            "data_stored_bytes": stored[0],
            "ratio": 0.559,
            "smallest_data_payload": 2,
            "largest_data_payload": 31,
            "levels": [
                {"kind": "data", "level": 0, "blocks": 3, "stored_bytes": stored[0], "payload_bytes": 38},
                {"kind": "index", "level": 1, "blocks": 2, "stored_bytes": stored[1], "payload_bytes": 13},
                {"kind": "index", "level": 2, "blocks": 1, "stored_bytes": stored[2], "payload_bytes": 10},
                {"kind": "extension", "level": 64, "blocks": 1, "stored_bytes": stored[3], "payload_bytes": 0},
            ],
        }
    damaged = bytearray(file.finish(root))
    damaged[-1] ^= 1
    with reader(bytes(damaged)) as archive, pytest.raises(ExhumeError) as caught:
        archive.stats(jobs=jobs)
    assert caught.value.code == "ZS-202"


@pytest.mark.parametrize("jobs", [1, 3])
def test_dump_framings(samples: Path, jobs: int) -> None:
    with reader(samples / "zs" / "words-deflate.zs") as archive:
        for options, wanted in (
            ({}, b"".join(word + b"\n" for word in WORDS)),
            ({"terminator": b"\r\n"}, b"".join(word + b"\r\n" for word in WORDS)),
            ({"length_prefixed": "uleb128"}, b"".join(bytes([len(word)]) + word for word in WORDS)),
            ({"length_prefixed": "u64le"}, b"".join(len(word).to_bytes(8, "little") + word for word in WORDS)),
        ):
            out = io.BytesIO()
            assert archive.dump(out, jobs=jobs, **options) == len(wanted)
            assert out.getvalue() == wanted
        out = io.BytesIO()
        archive.dump(out, prefix=b"deep ", length_prefixed="u64le")
        assert out.getvalue().count(b"deep ") == 5
        with pytest.raises(WriterError):
            archive.dump(out, length_prefixed="u32le")
        with pytest.raises(WriterError):
            archive.dump(out, terminator=b"")


def test_broken_index_still_dumps() -> None:
    file = File()
    file.data(b"a", b"b")
    data = file.finish(file.block(1, b"\xff\xff"))
    with reader(data) as archive:
        assert list(archive) == [b"a", b"b"]
        assert archive.info().to_dict()["statistics"] == {"root_index_level": None}
        with pytest.raises(ExhumeError):
            list(archive.records(prefix=b"a"))


def test_records_before_the_damage_come_out() -> None:
    file = File()
    first = file.data(b"a", b"b")
    second = file.block(0, records(b"c"), crc=1)
    data = file.finish(file.index(1, (b"a", first), (b"c", second)))
    for jobs in (1, 2):
        with reader(data) as archive:
            got: list[bytes] = []
            with pytest.raises(ExhumeError) as caught:
                got.extend(iter(archive.records(jobs=jobs)))
            assert caught.value.code == "ZS-202"
            assert caught.value.span is not None
            assert caught.value.span.start == second[0]
            rows = archive.records(jobs=jobs)
            assert [next(rows), next(rows)] == [b"a", b"b"]


def test_damaged_extension_block_is_not_passed_over() -> None:
    file = File()
    place = file.data(b"a")
    file.block(70, b"x", crc=3)
    data = file.finish(file.index(1, (b"", place)))
    with reader(data) as archive, pytest.raises(ExhumeError) as caught:
        list(archive)
    assert caught.value.code == "ZS-202"


def test_large_record_is_split_in_bounded_parts() -> None:
    items = [b"", b"", b"x" * (3 << 20), b"y"]
    file = File()
    place = file.data(*items)
    data = file.finish(file.index(1, (b"", place)))
    with reader(data) as archive:
        assert list(archive) == items
        assert list(archive.records(start=b"x")) == items[2:]


# Requests


def tree(path: Path, count: int = 4000, **options: Any) -> list[bytes]:
    """A file with a deep index and blocks of differing size, its records."""
    random.seed(5)
    items = sorted(f"{random.randrange(10**7):07d}".encode() * random.choice((1, 1, 9)) for _ in range(count))
    write(path, items, codec="none", block_size=300, branching_factor=4, **options)
    return items


def cold(path: Path) -> tuple[CountingSource, ZsArchive]:
    """A remote source that has just been opened."""
    source = CountingSource(FileSource(path))
    return source, ZsArchive(source)


def test_cold_remote_search_costs_few_requests(folder: Path) -> None:
    path = folder / "tree.zs"
    items = tree(path)
    random.seed(6)
    for _ in range(60):
        prefix = random.choice(items)[: random.choice((1, 2, 3, 4, 5, 7))]
        source, archive = cold(path)
        depth = archive.info().root_level
        assert depth is not None
        source, archive = cold(path)
        wanted = [item for item in items if item.startswith(prefix)]
        assert list(archive.records(prefix=prefix)) == wanted
        needed = _needed(archive, prefix)
        assert len(source.requests) <= 2 + depth + needed
        before = len(source.requests)
        assert list(archive.records(prefix=prefix)) == wanted
        assert len(source.requests) - before <= 1 + needed


def _needed(archive: ZsArchive, prefix: bytes) -> int:
    """Data blocks that can contain records with a prefix, judging by their first records."""
    with reader(archive.source.read_at(0, archive.source.size)) as copy:
        firsts = list(copy.map_blocks(lambda part: part[0]))
    high = after_prefix(prefix) or b"\xff" * 99
    return bisect_left(firsts, high) - max(0, bisect_left(firsts, prefix) - 1)


def test_typical_lookup_is_three_requests(folder: Path) -> None:
    path = folder / "flat.zs"
    items = [f"{n:08d}".encode() * 4 for n in range(20_000)]
    write(path, items, codec="deflate", block_size=20_000)
    source, archive = cold(path)
    assert list(archive.records(prefix=b"00012345")) == [b"00012345" * 4]
    assert len(source.requests) == 3  # head, root, data
    list(archive.records(prefix=b"00012345"))
    assert len(source.requests) == 3  # all of it from the caches
    list(archive.records(prefix=b"00015"))
    assert len(source.requests) == 4


@pytest.mark.parametrize("codec", ["none", "deflate", "lzma"])
def test_lookups_in_any_order_equal_a_filter(folder: Path, codec: str) -> None:
    words = [f"{n:06d}".encode() + b"x" * (n % 90) for n in range(0, 90_000, 3)]
    items = sorted([*words, b"000500" + bytes(90_000), b"089000" + b"y" * 1_500_000, b"089001" + b"z" * 40_000])
    path = write(folder / "lookups.zs", items, codec=codec, level=None if codec == "none" else "1")
    chance = random.Random(5)
    with reader(path) as archive:
        for _ in range(120):
            low = b"%06d" % chance.randrange(90_000)
            high = b"%06d" % (int(low) + chance.choice([1, 5, 3000, 40_000]))
            wanted = items[bisect_left(items, low) : bisect_left(items, high)]
            assert list(archive.records(low, high)) == wanted
            assert archive.count(low, high) == len(wanted)


@pytest.mark.parametrize(("codec", "field"), [("deflate", b"deflate"), ("lzma2", b"lzma2;dsize=2^20")])
def test_a_lookup_decodes_as_far_as_it_needs(codec: str, field: bytes) -> None:
    items = [b"%08d" % n + random.Random(n).randbytes(30) for n in range(9000)]
    payload = records(*items)
    sound = compress(codec, payload)
    damaged = sound[: len(sound) * 2 // 3]

    def made(stored: bytes, **options: Any) -> ZsArchive:
        file = File(codec=field)
        place = file.block(0, payload, stored=stored, **options)
        inner = entries((b"", *place))
        return reader(file.finish(file.block(1, inner, stored=compress(codec, inner))))

    with made(sound) as archive:
        assert list(archive.records(prefix=b"00000100")) == [items[100]]
        block, held, whole = archive._cache.get(archive.header.blocks_offset) or (None, b"", True)
        assert not whole
        assert len(held) < len(payload) // 4
        assert payload.startswith(held)
        assert list(archive.records(prefix=b"00000101")) == [items[101]]
        assert list(archive.records(prefix=b"00008000")) == [items[8000]]  # more of it
        assert archive._cache.get(archive.header.blocks_offset) == (block, payload, True)
    # A payload with a correct checksum is used up to the damage (a writer's), and reported from there on.
    with made(damaged) as archive:
        assert list(archive.records(prefix=b"00000100")) == [items[100]]
        with pytest.raises(ExhumeError) as caught:
            list(archive.records(prefix=b"00008000"))
        assert caught.value.code == "ZS-307"
        assert next(archive.verify()).code == "ZS-307"
    # Damage on the way to the reader is found whatever is looked up: the checksum comes first.
    with made(damaged, crc=crc64_xz(b"\0" + sound)) as archive, pytest.raises(ExhumeError) as caught:
        list(archive.records(prefix=b"00000100"))
    assert caught.value.code == "ZS-202"


def test_small_file_is_one_request(samples: Path) -> None:
    source, archive = cold(samples / "zs" / "words-lzma.zs")
    assert list(archive.records(prefix=WORDS[7])) == [WORDS[7]]
    assert len(source.requests) == 1


def test_remote_scan_reads_everything_once(folder: Path) -> None:
    path = folder / "tree.zs"
    items = tree(path)
    source, archive = cold(path)
    assert list(archive) == items
    assert source.bytes_read <= archive.source.size + 2 * 8192
    assert len(source.requests) <= 3


def test_failing_reads_are_reported() -> None:
    file = File()
    places = [(bytes([65 + n]), file.data(bytes([65 + n]) * 5000)) for n in range(4)]
    data = file.finish(file.index(1, *places))
    archive = ZsArchive(MisreportingSource(BytesSource(data), failing(1)))
    with pytest.raises(SourceError):
        list(archive)


def test_window_keeps_absolute_offsets(samples: Path) -> None:
    data = (samples / "zs" / "words-none.zs").read_bytes()
    padded = bytes(1000) + data
    with reader(padded, offset=1000) as archive:
        record = next(iter(archive.records_with_origin(prefix=WORDS[3])))
        entry = next(iter(archive.entries()))
        assert entry.offset == 1000 + archive.header.blocks_offset
        assert padded[record.block.start + 2 :].startswith(archive.read_section("data-0")[:1]) or record.ordinal >= 0
        assert record.block.start >= 1000


def test_entries_of_a_hostile_index_cannot_reach_outside() -> None:
    for offset, size, code in (
        ((1 << 64) - 1, 14, "ZS-330"),
        (3, 20, "ZS-330"),
        (106, 1 << 62, "ZS-333"),
        (106, 0, "ZS-333"),
    ):
        file = File()
        file.data(b"a", b"b")
        data = file.finish(file.block(1, entries((b"", offset, size))))
        with reader(data) as archive, pytest.raises(ExhumeError) as caught:
            list(archive.records(prefix=b"a"))
        assert caught.value.code == code


def test_opening_loads_no_other_format(samples: Path) -> None:
    code = (
        "import sys, exhume; exhume.open(sys.argv[1]).close(); "
        "print([n for n in sys.modules if n.startswith('exhume.formats.') and n.count('.') > 2 and '.zs.' not in n])"
    )
    path = samples / "zs" / "words-none.zs"
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_outline_is_the_sections_without_reading_data(tmp_path: Path) -> None:
    with exhume.create(tmp_path / "a.zs", "zs", codec="none", block_size=200, branching_factor=3) as writer:
        made: Any = writer
        made.add_records(b"%05d" % number + b"." * 60 for number in range(300))
    data = (tmp_path / "a.zs").read_bytes()
    source = CountingSource(BytesSource(data))
    with exhume.open(source) as archive:
        sections = [(s.name, s.span, s.kind) for s in archive.sections()]
        source.reset()
        assert [(s.name, s.span, s.kind) for s in archive.outline()] == sections
        blocks = {name: span for name, span, _ in sections if name.startswith("data-")}
        touched = {name for name, span in blocks.items() for a, b in source.requests if a < span.end and span.start < b}
        assert not touched
        root = next(span for name, span, _ in reversed(sections) if name.startswith("index-"))
    for damaged in (flip(data, root.start + 20), flip(data, blocks["data-7"].end + 3)):
        with exhume.open(damaged) as archive:
            assert [s.span for s in archive.outline()] == [s.span for s in archive.sections()]
