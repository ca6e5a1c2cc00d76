"""Every verb within a small limit `payload_size`: the same output, or `incomplete` with the name of the limit.

Spec: none; docs/testing.md, "What hostile input can cost".
"""

from __future__ import annotations

import hashlib
import os
import random
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.formats.ark.rbuf.idl import parse_idl
from exhume.formats.ark.writer import ArkWriter
from exhume.formats.leveldb.table_writer import build_log, write_database
from exhume.formats.leveldb.wire import build_varint
from exhume.formats.zs import writer as zs_writer
from exhume.limits import DEFAULT_LIMITS
from tests.archives import label, own_archives, real_archives
from tests.conftest import Ran
from tests.leveldb.crafted import ENTITY, MERGE, build_batch
from tests.leveldb.make_samples import PUT, build_database, write_files
from tests.leveldb.test_large import with_blob
from tests.real import REAL
from tests.sizes import THOROUGH, size

VERBS: dict[str, tuple[str, ...]] = {
    "info": ("--stats",), "list": ("--sections",), "cat": (), "verify": (), "explain": (), "search": ("a",),
    "extract": ("-o", "{out}"), "recode": ("--codec", "none", "-o", "{out}"),
    "export": ("--to", "jsonl", "-o", "{out}"), "salvage": ("-o", "{out}"), "map": ("--svg", "{out}"),
    "carve": (),
}  # fmt: skip
"""What is run, with its options."""

EXPORTS = {f"export {kind}": ("--to", kind, "-o", "{out}") for kind in ("csv", "mcap", "parquet")}
"""The other forms, for archives with payloads above the limits."""

DESCRIBING = ("info", "list", "explain")
"""Verbs that report unreadable parts together with the others."""

Result = tuple[int, bytes, str, dict[str, str]]
_GUID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")


@pytest.fixture
def run(exhume_cli: Callable[..., Ran], tmp_path: Path) -> Callable[..., Result]:
    """Run a verb on a target; return exit code, standard output, messages and digests of the written files."""
    count = 0

    def ran(verb: str, target: Path, *more: str) -> Result:
        nonlocal count
        count += 1
        out = tmp_path / f"out{count}"
        words = (VERBS | EXPORTS)[verb]
        done = exhume_cli(verb.partition(" ")[0], target, *(word.format(out=out) for word in words), *more)
        files = [out] if out.is_file() else sorted(out.rglob("*")) if out.is_dir() else []
        content = mcap_content if verb == "export mcap" else Path.read_bytes
        digests = {
            _GUID.sub("", str(path.relative_to(out))): hashlib.sha256(content(path)).hexdigest()
            for path in files
            if path.is_file() and not _GUID.search(path.name)  # a new manifest has an identifier of its own
        }
        name = str(out).encode()
        return done.code, done.out.replace(name, b"OUT"), done.err, digests

    return ran


def mcap_content(path: Path) -> bytes:
    """What an MCAP file contains, whatever its chunks are: by its index, and in the order of the file."""
    from mcap.reader import NonSeekingReader, make_reader

    with path.open("rb") as file:
        indexed: Any = make_reader(file, validate_crcs=True)
        found = [[*indexed.iter_metadata()], [*indexed.iter_attachments()], [*map(tuple, indexed.iter_messages())]]
        file.seek(0)
        assert [*map(tuple, NonSeekingReader(file, validate_crcs=True).iter_messages())] == found[2]
    return repr(found).encode()


def is_part(shown: bytes, out: bytes) -> bool:
    """Whether some of the lines were shown, in their order; an event of text starts with its time."""
    parts, known = (re.split(rb"\n|(?=\d{4}-\d\d-\d\d[ T])", text) for text in (shown, out))
    rest = iter(known)
    return all(part in rest for part in parts)


def wrong(verb: str, usual: Result, limited: Result) -> str:
    """The fault in an output within a limit; nothing where it is the usual one, or names the limit."""
    (code, out, _, written), (now, shown, stated, made) = usual, limited
    if (now, shown, made) == (code, out, written):
        return ""
    words = shown.decode("utf-8", "replace") + stated
    if now not in ((0, 1, 3) if verb in DESCRIBING else (1, 3)):
        return f"exit code {now}, usually {code}: {words[:300]}"
    if "payload_size" not in words:
        return f"the limit is not named: {words[:300]}"
    if "damaged" in words or (verb == "verify" and re.search("^error", words, re.MULTILINE)):
        return f"called damaged: {words[:300]}"
    if verb in ("cat", "search") and not out.startswith(shown) and not is_part(shown, out):
        return f"other output: {shown[:300]!r}"
    return ""


def check(
    run: Callable[..., Result], target: Path, limits: tuple[int, ...], verbs: Iterable[str] = tuple(VERBS)
) -> int:
    """Run verbs with limits, least first; return how many outputs were not the usual ones.

    Where one limit changes nothing, larger ones do not either, and are left out.
    """
    differing = tried = 0
    for verb in verbs:
        usual = run(verb, target)
        if usual[0] == 2:  # not for this format
            continue
        for limit in limits[:1] if verb in EXPORTS else limits:
            limited = run(verb, target, "--limit", f"payload_size={limit}")
            assert wrong(verb, usual, limited) == "", (verb, limit)
            differing += limited[:2] != usual[:2]
            tried += 1
            if (limited[:2], limited[3]) == (usual[:2], usual[3]):
                break
    assert tried, "no verb is for this format"
    return differing


def turn(target: Path) -> list[str]:
    """The verbs that `make test` runs on an archive of another producer: every fourth one, in turn over them."""
    return list(VERBS) if THOROUGH else list(VERBS)[real_archives().index(target) % 4 :: 4]


@pytest.mark.bulk
@pytest.mark.parametrize("target", own_archives(), ids=label)
def test_samples(target: Path, run: Callable[..., Result]) -> None:
    check(run, target, (10, 300))


@pytest.mark.bulk
@pytest.mark.parametrize("target", real_archives(), ids=label)
def test_samples_of_other_producers(target: Path, run: Callable[..., Result]) -> None:
    # `info` of LevelDB counts versions in blocks above the limit as `none`: their checksums come after them.
    least = () if label(target).startswith("leveldb") else (1000,)
    check(run, target, (*least, 64 << 10, 1 << 20), turn(target))


@pytest.mark.parametrize("limit", [0, 1, 7, 8, 9, 10, 17, 100])
def test_a_stream_that_is_stored_in_more_bytes_than_it_has(limit: int, run: Callable[..., Result]) -> None:
    """A record of eight bytes in a frame of 17: salvage reads both whatever the limit."""
    target = REAL.path("clp_s", "0.5.1", "single-empty-object", "archive.clps")
    for verb in ("cat", "verify", "salvage"):
        limited = run(verb, target, "--limit", f"payload_size={limit}")
        assert wrong(verb, run(verb, target), limited) == "", (verb, limit)


def _text(chance: random.Random, size: int) -> str:
    return "".join(chance.choices("abcdefghij klmnop", k=size))


def _zs(path: Path, codec: Any) -> None:
    chance = random.Random(1)
    records = [_text(chance, 20).encode() for _ in range(2000)]
    records += [b"a" * 90_000, b"b" * 200_000, _text(chance, 1_200_000).encode(), b"c" * 3_000_000]
    with exhume.create(path, "zs", codec=codec, block_size=100_000) as writer:
        made: Any = writer
        made.add_records(sorted(records))


def _clp_s(path: Path, **options: Any) -> None:
    with exhume.clps.create(path, timestamp_key="ts", **options) as writer:
        for row in range(15_000):
            writer.write({"ts": 1_700_000_000_000 + row, "level": "INFO", "text": f"job {row} took {row % 7}.5 ms",
                          "row": row, "tags": [row % 3, "x"], "id": f"v{row}"})  # fmt: skip


def _clp_s_texts(path: Path) -> None:
    chance = random.Random(2)
    with exhume.clps.create(path) as writer:
        for _ in range(10):
            writer.write({"text": _text(chance, 100_000), "v": _text(chance, 100).replace(" ", "")})
        writer.write({"text": "y " * 700_000})


def _events() -> Iterator[tuple[int, str]]:
    """Two events within the least limit, two above it, and two above both, of variables; most are long ones."""
    for row, count in enumerate((1, 1_100, 11_000) * 2):
        yield row, f"word{row} " * 5 + f"{'x' * 94}{row} " * count


def _kv_ir(path: Path) -> None:
    with exhume.kvir.create(path) as writer:
        for row, text in _events():
            writer.write({"row": row, "text": text})


def _clp_ir(path: Path) -> None:
    with exhume.clpir.create(path) as writer:
        for row, text in _events():
            writer.write(1_700_000_000_000 + row, text)


MEMBERS = {
    "noise": random.Random(3).randbytes(1_200_000),
    "small": b"small\n",
    "text": _text(random.Random(4), 70_000).encode(),
    "zeros": bytes(3_000_000),
}


def _caf(path: Path) -> None:
    with exhume.create(path, "caf") as writer:
        made: Any = writer
        for name, data in MEMBERS.items():
            made.add_bytes(name, data)


def _data_bundle(path: Path, **options: Any) -> None:
    with exhume.create(path, "databundle", **options) as writer:
        made: Any = writer
        for name, data in MEMBERS.items():
            made.add(name, data)


def _ark(path: Path) -> None:
    schema = "namespace a; schema P { uint16 n; string s; }"
    with ArkWriter(path, name="a") as log:
        for codec in ("none", "zstd", "lz4"):
            log.column(codec, codec)
            channel = log.channel(f"/{codec}", "a::P", parse_idl(schema), column=codec)
            for number, size in enumerate((10, 70_000, 1_300_000, 5)):
                channel.write(1_000 + number, {"n": number, "s": "x" * size})


def _leveldb(path: Path, codec: str) -> None:
    chance = random.Random(5)
    entries = [(f"key{row:03}".encode(), row + 1, PUT, chance.randbytes(20) * 10) for row in range(60)]
    large = ((b"large1", b"x" * 200_000), (b"large2", chance.randbytes(1_200_000)), (b"large3", b"y" * 3_000_000))
    entries += [(key, 100 + number, PUT, value) for number, (key, value) in enumerate(large)]
    files = build_database(entries, codec)
    batches = [(PUT, b"log1", chance.randbytes(150_000)), (PUT, b"log2", b"y" * 1_200_000)]
    files["000006.log"] = build_log([build_batch(200 + n, [batch]) for n, batch in enumerate(batches)])
    write_files(path, files)


def _rocksdb(path: Path) -> None:
    """Merge operands, what they apply to, and entities of columns, in a table and in a log."""
    chance = random.Random(7)
    text = {size: _text(chance, size).encode() for size in (100_000, 1_200_000)}
    entity = bytes.fromhex("010200") + build_varint(1_200_000) + bytes.fromhex("016302") + text[1_200_000] + b"yz"
    column = bytes.fromhex("01020001") + b"\x01c" + build_varint(100_000) + b"d" + text[100_000]
    files = build_database([
        (b"base", 2, MERGE, b"more"), (b"base", 1, PUT, text[1_200_000]),
        (b"column", 3, ENTITY, column), (b"entity", 4, ENTITY, entity),
        (b"old", 6, PUT, b"new"), (b"old", 5, ENTITY, entity),
        (b"operand", 9, MERGE, b"end"), (b"operand", 8, MERGE, text[1_200_000]), (b"operand", 7, PUT, b"small"),
        (b"overlay", 11, MERGE, text[100_000]), (b"z", 12, PUT, b"last"),
    ])  # fmt: skip
    logged = [
        (ENTITY, b"logged", entity),
        (MERGE, b"column", b"more"),
        (MERGE, b"log", text[100_000]),
        (PUT, b"y", b""),
    ]
    files["000006.log"] = build_log([build_batch(200 + n, [one]) for n, one in enumerate(logged)])
    files["OPTIONS-000008"] = b'[CFOptions "default"]\n  merge_operator=stringappend\n'
    write_files(path, files)


LARGE: dict[str, Callable[[Path], None]] = {
    "ark": _ark,
    "caf": _caf,
    "clp-s": _clp_s,
    "clp-s structured": lambda path: _clp_s(path, structurize_arrays=True),
    "clp-s texts": _clp_s_texts,
    "databundle flat": lambda path: _data_bundle(path, compression="none"),
    "databundle snappy": lambda path: _data_bundle(path, compression="snappy"),
    "databundle zlib": lambda path: _data_bundle(path, record_size=1 << 21),
    "clp-ir": _clp_ir,
    "kv-ir": _kv_ir,
    "leveldb": lambda path: _leveldb(path, "none"),
    "leveldb snappy": lambda path: _leveldb(path, "snappy"),
    "rocksdb": _rocksdb,
    "rocksdb blob": lambda path: write_files(path, with_blob(7, _text(random.Random(6), 1_200_000).encode())),
    "zs deflate": lambda path: _zs(path, "deflate"),
    "zs lzma": lambda path: _zs(path, "lzma"),
    "zs none": lambda path: _zs(path, "none"),
}
"""How archives are made that have payloads larger than 64 KiB, and larger than 1 MiB."""

ALIKE = ("clp-s structured", "databundle snappy", "leveldb snappy", "zs lzma", "zs none")
"""Those that differ from another in how parts are stored only: `make test` runs every third verb on each."""

STREAMED = ("ark", "caf", "clp-s", "clp-s structured", "clp-s texts", "databundle flat")
"""Those that every verb reads whatever the limit is."""


@pytest.mark.bulk
@pytest.mark.parametrize("name", LARGE)
def test_large_payloads(name: str, tmp_path: Path, run: Callable[..., Result]) -> None:
    target = tmp_path / name.replace(" ", "-")
    LARGE[name](target)
    verbs = (*VERBS, *EXPORTS)
    if name in ALIKE and not THOROUGH:
        verbs = verbs[ALIKE.index(name) % 3 :: 3]
    limits = 64 << 10, 1 << 20
    if THOROUGH:
        differing = check(run, target, limits, verbs)
    else:  # each verb with one of them
        first = list(LARGE).index(name) % 2
        differing = sum(check(run, target, limits[n:][:1], verbs[(first + n) % 2 :: 2]) for n in (0, 1))
    assert differing or name in STREAMED, "the limit was reached"


def test_records_in_the_order_of_their_log(tmp_path: Path, exhume_cli: Callable[..., Ran]) -> None:
    """Tables above the limit are merged in windows: their positions, too."""
    target = tmp_path / "made"
    with exhume.clps.create(target) as writer:
        for row in range(3000):
            named = {"name": f"a{row}"} if row % 7 % 2 else {"text": f"b c {row}"}
            writer.write({"row": row, **named} if row % 11 else {"other": row})
    usual = exhume_cli("cat", target, "--ordered")
    assert (usual.code, len(usual.out.splitlines())) == (0, 3000)
    for more in (("payload_size=8K",), ("payload_size=300",), ("payload_size=8K", "--jobs", "2")):
        limited = exhume_cli("cat", target, "--ordered", "--limit", *more)
        assert (limited.code, limited.out) == (0, usual.out), limited.err


@pytest.mark.parametrize("name", ["clp-ir", "kv-ir"])
def test_streams_name_the_events_above_the_limit_and_yield_the_others(
    name: str, tmp_path: Path, exhume_cli: Callable[..., Ran]
) -> None:
    target, limit = tmp_path / "made", ("--limit", "payload_size=200K")
    LARGE[name](target)
    few = [one for one in exhume_cli("cat", target, "--ndjson").text.splitlines() if len(one) < 500_000]
    for more in ((), ("--json",), ("--ndjson",)):
        limited = exhume_cli("cat", target, *more, *limit)
        assert limited.code == 3
        assert limited.err.startswith(f"exhume: unchecked: {target}: limit payload_size exceeded at ")
        assert limited.err.endswith("exhume: unchecked: 1 more event above the limit\n")
    assert limited.text.splitlines() == few, "with their numbers"
    for ending in ("csv", "jsonl", "parquet"):
        limited = exhume_cli("export", target, "-o", tmp_path / f"out.{ending}", *limit)
        lost = "exhume: lost: events: limit payload_size exceeded [EX-501]: 2"
        assert (limited.code, limited.err.splitlines()) == (3, ["exhume: 4 rows", lost])
    if name == "kv-ir":  # held in memory by a search anyway
        limited = exhume_cli("search", target, "row: 5", *limit)
        assert (limited.code, limited.out) == (0, exhume_cli("search", target, "row: 5").out)
    else:
        limited = exhume_cli("search", target, "word5", "--count", *limit)
        assert (limited.code, limited.out) == (3, b"0\n")


@pytest.mark.parametrize(
    ("name", "rows", "lost"),
    [
        ("ark", 8, "messages: the payload decompresses to more than is allowed (raise the limit payload_size"),
        ("leveldb", 65, "values above the limit payload_size [EX-501]: 5"),
    ],
)
def test_exports_name_what_is_above_the_limit_and_give_the_rest(
    name: str, rows: int, lost: str, tmp_path: Path, exhume_cli: Callable[..., Ran]
) -> None:
    target = tmp_path / name
    LARGE[name](target)
    for kind in ("csv", "parquet"):
        done = exhume_cli("export", target, "--to", kind, "-o", tmp_path / f"out.{kind}", "--limit", "payload_size=64K")
        assert done.code == 3, done.err
        assert re.search(rf"^exhume: {rows} (rows|messages)", done.err)
        assert f"exhume: lost: {lost}" in re.sub("(zstd-frame|lz4): ", "", done.err)
    with exhume.open(target, limits=exhume.Limits(payload_size=64 << 10)) as opened:
        archive: Any = opened
        table = archive.to_arrow(topic="/zstd") if name == "ark" else archive.to_arrow()
        with pytest.raises(exhume.ExhumeError, match="payload_size"):  # where losses are not counted
            table.read_all()


# ---------------------------------------------------------------------------------------- more than the limit allows

PART = size(32, 1)
"""The archives have this part of 1.1 GiB, and are read within this part of the default limit, 1 GiB."""
LIMITS = DEFAULT_LIMITS._replace(payload_size=DEFAULT_LIMITS.payload_size // PART)
GIB = (1 << 30) // PART


def _clp_s_table(folder: Path) -> None:
    keys = [f"key{number}" for number in range(200)]
    record = "{" + ",".join(f'"{key}":%d' for key in keys) + "}\n"
    with exhume.clps.create(folder / "made") as writer:
        for row in range(680_000 // PART):
            if row % 1000 == 0:
                line = (record % tuple([row] * 200)).encode()
            writer.write_json_line(line)


def _clp_s_dictionary(folder: Path) -> None:
    with exhume.clps.create(folder / "made") as writer:
        for row in range(11_000 // PART):
            writer.write_json_line(b'{"v":"%d' % row + b"x" * 100_000 + b'"}')


def _clp_s_text(folder: Path) -> None:
    with exhume.clps.create(folder / "made") as writer:
        writer.write_json_line(b'{"v":"' + b"x" * 100_000_000 + b'"}')


def _zeros(folder: Path) -> Path:
    path = folder / "zeros"
    path.touch()
    os.truncate(path, GIB + (GIB >> 3))
    return path


def _caf_member(folder: Path) -> None:
    with exhume.create(folder / "made", "caf") as writer:
        made: Any = writer
        made.add_path(_zeros(folder), "zeros")


def _bundle_member(folder: Path, **options: Any) -> None:
    with exhume.create(folder / "made", "databundle", **options) as writer:
        made: Any = writer
        made.add_path(_zeros(folder), "zeros")


def _zs_records(folder: Path) -> None:
    with exhume.create(folder / "made", "zs", codec="deflate", level=1) as writer:
        made: Any = writer
        made.add_records(b"%04d" % row + bytes(1 << 20) for row in range(1100 // PART))


def _kv_ir_events(folder: Path) -> None:
    text = "x" * (8 << 20)
    with exhume.kvir.create(folder / "made") as writer:
        for row in range(140 // PART):
            writer.write({"row": row, "text": text})


def _ark_messages(folder: Path) -> None:
    with ArkWriter(folder / "made", name="a") as log:
        log.column("c", "zstd")
        channel = log.channel("/a", "a::P", parse_idl("namespace a; schema P { string s; }"), column="c")
        value = {"s": "x" * (16 << 20)}
        for number in range(70 // PART):
            channel.write(1_000 + number, value)


def _leveldb_values(folder: Path, rows: list[tuple[bytes, bytes]], codec: str) -> None:
    (folder / "made").mkdir()
    write_database(lambda name: (folder / "made" / name).open("wb"), rows, codec=codec)


def _leveldb_rows(folder: Path) -> None:
    value = bytes(1 << 20)
    _leveldb_values(folder, [(b"%04d" % row, value) for row in range(1100 // PART)], "snappy")


def _leveldb_value(folder: Path) -> None:
    _leveldb_values(folder, [(b"a", b"small"), (b"b", bytes(GIB + (GIB >> 5))), (b"c", b"small")], "none")


VAST: dict[str, Callable[[Path], None]] = {
    "ark": _ark_messages,
    "caf": _caf_member,
    "clp-s, dictionary": _clp_s_dictionary,
    "clp-s, one text": _clp_s_text,
    "clp-s, table": _clp_s_table,
    "databundle": _bundle_member,
    "databundle, flat": lambda folder: _bundle_member(folder, compression="none"),
    "kv-ir": _kv_ir_events,
    "leveldb": _leveldb_rows,
    "leveldb, one value": _leveldb_value,
    "zs": _zs_records,
}
"""How archives with more content than the limit are made with default options."""


@pytest.mark.slow
@pytest.mark.parametrize("name", VAST)
def test_what_is_written_by_default_is_read_by_default(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zs_writer, "LARGEST_BLOCK", LIMITS.payload_size)
    VAST[name](tmp_path)
    made = [path for path in sorted(tmp_path.iterdir()) if path.name != "zeros"]
    assert made
    for path in made:
        assert [str(one) for one in exhume.verify(path, limits=LIMITS) if one.is_problem] == [], path.name
