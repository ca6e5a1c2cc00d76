"""The same bytes yield the same result at any offset: every hook of every format, on windows into larger files.

Each sample is read as it is and as a window (a directory: all its files as windows) that starts at `ORIGIN`.  Every
offset that is reported must then be moved by exactly `ORIGIN`, and nothing else may differ.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import itertools
import json
import re
import shutil
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import fsspec
import pytest

import exhume
from exhume.archive import Archive, MemberArchive
from exhume.engines.carve import carve
from exhume.engines.coverage import coverage
from exhume.engines.explain import Selection, explain_archive
from exhume.engines.identify import identify_source
from exhume.errors import ExhumeError, Span, WriterError
from exhume.findings import Finding
from exhume.io.jsonout import jsonable
from exhume.io.opening import open_target
from exhume.io.source import BytesSource, Source
from exhume.io.tree import MemoryTree, Tree
from exhume.parts import Part
from exhume.recovery import SalvageMode
from exhume.registry import Format, formats, get_format
from exhume.testing import damage
from exhume.view.map import Rect, draw_map
from tests.archives import OWN, own_archives
from tests.sizes import THOROUGH, size, some

pytestmark = pytest.mark.usefixtures("few_ends")

ORIGIN = 50_021
"""Above every offset and size in the samples, so that a moved offset cannot be mistaken for one that is not."""

BEFORE, AFTER = b"\xa5" * ORIGIN, b"\x5a" * 5000

ABSOLUTE = frozenset({"offset", "block_offset"})
"""Keys of the JSON forms whose numbers are offsets in the outermost file, as are those of a span."""

Make = Callable[[bytes, str], Source]


def as_file(data: bytes, name: str) -> Source:
    return BytesSource(data, name)


def as_window(data: bytes, name: str) -> Source:
    return BytesSource(BEFORE + data + AFTER, name).window(ORIGIN, ORIGIN + len(data))


TURN = itertools.count()
"""Numbers of damaged samples: `make test` has every third one, so that each kind of damage comes in turn."""


@dataclass(frozen=True)
class Sample:
    """An archive: its format, and its bytes by name (one without a name: a file)."""

    format: str
    label: str
    files: dict[str, bytes]
    sound: bool = True

    def open(self, make: Make) -> Source | Tree:
        """The sample as a source, or as a tree of sources."""
        if "" in self.files:
            return make(self.files[""], self.label)
        return MemoryTree({name: make(data, name) for name, data in self.files.items()}, self.label)

    def damaged(self, name: str) -> Iterator[Sample]:
        """The sample with one of its files cut, emptied in the middle, or with a few bits flipped: one, as a rule."""
        data = self.files[name]
        third = len(data) // 3
        flipped = data
        for at in range(5, len(data), max(1, len(data) // 7)):
            flipped = damage.flip(flipped, at, 16)
        changed = {"cut": data[: 2 * third], "zeros": damage.zero_sector(data, third), "flips": flipped}
        for how, other in changed.items():
            if not THOROUGH and next(TURN) % 3:
                continue
            label = f"{self.label}-{name[-12:]}-{how}"
            yield Sample(self.format, label, {**self.files, name: other}, sound=False)


def attempt(work: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """A JSON-able answer, or the error as one."""
    try:
        answer = work(*args, **options)
        return jsonable(list(answer) if isinstance(answer, Iterator) else answer)
    except ExhumeError as error:
        return {"error": Finding.from_error(error).to_dict()}


def described(value: Any) -> Any:
    """Objects of any format as JSON-able values, spans included."""
    if isinstance(value, Span):
        return value.to_dict()
    if hasattr(value, "to_dict"):
        return described(value.to_dict())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: described(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if hasattr(value, "_asdict"):
        return described(value._asdict())
    if isinstance(value, dict):
        return {str(key): described(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [described(item) for item in value]
    return jsonable(value)


def records(archive: Archive) -> Iterator[Any]:
    """What the format's own readers give, places included."""
    reader: Any = archive
    match archive.format:
        case "zs":
            yield from (described(r) | {"span": described(r.span)} for r in reader.records_with_origin())
        case "ark":
            yield from map(described, reader.messages())
        case "clp-s":
            yield from reader.events()
        case "clp-ir":
            yield from ([described(span), event] for span, _, event in reader.events_with_place())
        case "kv-ir":
            yield from ([described(span), event] for span, event in reader.events_with_place())
        case "leveldb":
            yield from map(described, reader.database.versions(lambda *_: None))
        case "databundle" if isinstance(archive.source, Tree):
            yield from map(described, reader.versions())


def members(archive: Archive) -> Iterator[Any]:
    if isinstance(archive, MemberArchive):
        for name in archive.names():
            yield name, described(archive.stat(name)), attempt(archive.read_member, name)
            stored = archive.stored_range(name)
            yield None if stored is None else stored[0].read_at(stored[1], stored[2] - stored[1])


def read(archive: Archive, format: Format) -> Iterator[tuple[str, Any]]:
    """Every answer of an open archive."""
    sections = archive.sections()
    yield "info", attempt(archive.info)
    yield "stats", attempt(archive.stats)
    yield "entries", attempt(archive.entries)
    yield "sections", attempt(lambda: list(sections))
    yield "outline", attempt(lambda: list(archive.outline()))
    yield "payloads", [attempt(archive.read_section, s.name) for s in sections[:6]]
    yield "digest", attempt(archive.content_digest)
    yield "findings", attempt(archive.verify)
    found = list(archive.verify())
    yield "explain", attempt(explain_archive, archive, Selection(whole=True), found)
    first = next(iter(sections)).span
    one = Selection(start=first.start, end=first.start + 1)
    yield "explain --at", attempt(explain_archive, archive, one, found)
    yield "coverage", attempt(coverage, archive)
    shapes = draw_map(archive, found).shapes
    yield "map", described([shape for shape in shapes if isinstance(shape, Rect)])
    yield "records", attempt(records, archive)
    yield "members", attempt(members, archive)
    yield "tables", attempt(lambda: {n: make().read_all().to_pylist() for n, make in archive.arrow_tables().items()})
    yield "parts", attempt(parts, archive, format)


def parts(archive: Archive, format: Format) -> list[Any]:
    module = format.hook("parts")
    planned: list[Part] = list(module.plan(archive, 500, {}))
    return [[described(p), described(list(module.items(archive, p.selection, {})))] for p in planned[:1]]


def written(path: Path) -> Any:
    """The files a hook wrote, by name; text as values, because it may contain offsets."""
    files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
    return {p.relative_to(path).as_posix(): content(p.read_bytes()) for p in files}


def content(data: bytes) -> Any:
    """JSON lines as values, text as its words (the chunks of a page unpacked), anything else as its digest."""
    if data.startswith(b"<!DOCTYPE"):
        chunks = [zlib.decompress(base64.b64decode(text)) for text in re.findall(rb'id="c\d+">([^<]*)<', data)]
        return [words(data.decode().partition('id="contents">')[2]), *map(content, chunks)]
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return hashlib.sha256(data).hexdigest()
    try:
        return words(text) if text.startswith('{"n":') else [json.loads(line) for line in text.splitlines()]
    except ValueError:
        return words(text)


class Words(list[str]):
    """Text as its numbers and the parts between them, for text that does not mark which numbers are offsets."""


def words(text: str) -> Words:
    plain = re.sub(r"\(0x[0-9a-f]+\)", "", text)
    return Words(re.findall(r"\d+|\D+", " ".join(plain.split())))


def answers(sample: Sample, make: Make, out: Path) -> Iterator[tuple[str, Any]]:
    """Every answer of every hook of a format that takes a source."""
    format = get_format(sample.format)
    yield "probe", attempt(format.hook("probe"), sample.open(make))
    yield "identify", attempt(identify_source, sample.open(make))
    for quick in (True, False):
        found = attempt(exhume.verify, sample.open(make), format=format.id, quick=quick)
        yield f"verify, quick={quick}", found
    try:
        archive = format.hook("open")(sample.open(make))
    except ExhumeError as error:
        yield "open", Finding.from_error(error).to_dict()
    else:
        yield from read(archive, format) if sample.sound else ()
        if sample.sound and format.has("recode"):
            made = out / "recoded"
            yield "recode", attempt(format.hook("recode"), archive, made, stored=True, limits=archive.limits)
            yield "recoded", attempt(written, made)
            remove(made)
        archive.close()
    for mode in SalvageMode:
        made = out / "salvaged"
        options = {"unreferenced": True} if format.id in ("caf", "databundle") else {}
        report = attempt(exhume.salvage, sample.open(make), made, format=format.id, mode=mode, **options)
        yield f"salvage to {mode}", report
        yield f"salvaged to {mode}", attempt(written, made) if made.exists() else None
        remove(made)
    for name, data in sample.files.items():
        for hit in signatures(data, format):
            yield f"locate {name}", attempt(format.hook("locate"), make(data, name), hit)
        yield f"carve {name}", attempt(carve, make(data, name))


def signatures(data: bytes, format: Format) -> Iterator[int]:
    for signature in format.signatures:
        at = data.find(signature.magic)
        while at >= 0:
            yield at
            at = data.find(signature.magic, at + 1)


def remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


OFFSET = re.compile(
    r"shard-\d+/\w+@\d+|got offset \d+|(?<=offset )\d+|(?<=at )\d+(?= \(0x)|"
    r"(?<=\(0x)[0-9a-f]+|(?<=@)\d+|(?<=: )\d+(?=\.\.)|(?<=\.\.)\d+"
)
"""Offsets in messages: of errors, of the names of sections, and the ranges in a picture.

A record of a shard is called by its offset in the uncompressed stream, and a codec counts in what it was given.
"""


def moved(text: str) -> str:
    """Text with its offsets moved."""

    def move(match: re.Match[str]) -> str:
        if match.string[match.start() - 3 : match.start()] == "(0x":
            return f"{int(match[0], 16) + ORIGIN:x}"
        return str(int(match[0]) + ORIGIN) if match[0].isdigit() else match[0]

    return OFFSET.sub(move, text)


def differences(  # noqa: C901 - one case for each kind of value
    plain: Any, other: Any, path: str = "", key: str = ""
) -> Iterator[str]:
    """Where two answers differ by anything but offsets that are moved by `ORIGIN`."""
    if isinstance(plain, dict) and isinstance(other, dict):
        if {"source", "start", "end"} <= set(plain):
            places = [(plain["start"] + ORIGIN, plain["end"] + ORIGIN)]
            places += [(0, 0)] if plain["start"] == plain["end"] == 0 else []  # about the file as a whole
            if (other["start"], other["end"]) not in places:
                yield f"{path}: {plain} {other}"
            plain = {name: value for name, value in plain.items() if name not in ("start", "end")}
            other = {name: value for name, value in other.items() if name not in ("start", "end")}
        if list(map(moved, plain)) != list(other):
            yield f"{path}: {list(plain)} {list(other)}"
        for (name, a), b in zip(plain.items(), other.values(), strict=False):
            yield from differences(a, b, f"{path}.{name}", name)
    elif isinstance(plain, Words):
        differing = [(a, b) for a, b in itertools.zip_longest(plain, other) if a != b]
        if not all(a and b and a.isdigit() and b == str(int(a) + ORIGIN) for a, b in differing):
            yield f"{path}: {differing[:3]}"
    elif isinstance(plain, list) and isinstance(other, list):
        if len(plain) != len(other):
            yield f"{path}: {len(plain)} {len(other)} items"
        for number, (a, b) in enumerate(zip(plain, other, strict=False)):
            yield from differences(a, b, f"{path}[{number}]", key)
    elif type(plain) is int and key in ABSOLUTE:
        if other != plain + ORIGIN:
            yield f"{path}: {plain} {other}"
    elif isinstance(plain, str) and isinstance(other, str):
        if other != moved(plain):
            yield f"{path}: {plain!r} {other!r}"
    elif plain != other:
        yield f"{path}: {plain!r} {other!r}"


IDS = {
    "ark": "ark",
    "caf": "caf",
    "clp_s": "clp-s",
    "data_bundle": "databundle",
    "clp_ir": "clp-ir",
    "kv_ir": "kv-ir",
    "leveldb": "leveldb",
    "zs": "zs",
}


def samples() -> Iterator[Sample]:
    """Every sample, pieces of directories by themselves, the broken samples, and damaged forms of the others."""
    for path in own_archives():
        id = IDS[path.parent.name]
        if path.is_file():
            one = Sample(id, path.name, {"": path.read_bytes()})
            yield one
            if id == "clp-s":
                yield from one.damaged("")
            continue
        files = {p.relative_to(path).as_posix(): p.read_bytes() for p in sorted(path.rglob("*")) if p.is_file()}
        one = Sample(id, path.name, files)
        yield one
        kinds = {(PurePosixPath(name).parent, PurePosixPath(name).suffix): name for name in files}
        for name in kinds.values():
            if THOROUGH or id != "databundle" or path.name == "flat" or not name.endswith(".sst"):  # indexes are alike
                yield from one.damaged(name)
        for name in kinds.values():
            if name.endswith((".ldb", ".sst")):
                yield Sample("leveldb", f"{path.name}-{name}", {"": files[name]})
            elif id == "ark":
                yield Sample("ark", f"{path.name}-{name}", {"": files[name]})
    for folder in sorted(OWN.glob("*/broken")):
        for path in sorted(p for p in folder.iterdir() if p.suffix != ".json")[:: size(6, 1)]:
            yield Sample(IDS[folder.parent.name], path.name, {"": path.read_bytes()}, sound=False)


SAMPLES = list(samples())


@pytest.mark.parametrize("sample", SAMPLES, ids=[f"{one.format}-{one.label}" for one in SAMPLES])
@pytest.mark.bulk
def test_every_hook(sample: Sample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.fsync", lambda _: None)

    def answered(make: Make) -> list[tuple[str, Any]]:
        numbers = itertools.count(1)
        monkeypatch.setattr(
            "exhume.formats.ark.salvage.new_guid", lambda: f"00000000-0000-4000-8000-{next(numbers):012}"
        )
        return list(answers(sample, make, tmp_path))

    plain, other = answered(as_file), answered(as_window)
    assert [name for name, _ in plain] == [name for name, _ in other]
    wrong = [f"{name}{d}" for (name, a), (_, b) in zip(plain, other, strict=True) for d in differences(a, b)]
    assert wrong == []


@pytest.mark.parametrize("id", ["caf", "clp-ir", "clp-s", "kv-ir", "zs"])
@pytest.mark.slow
def test_remote_windows(id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A URL and an offset: prefetching, and reading from the end, stay within the window."""
    monkeypatch.setattr("os.fsync", lambda _: None)
    url = "memory://window-contract/image"

    def as_remote(data: bytes, name: str) -> Source:
        fsspec.filesystem("memory").pipe_file("window-contract/image", BEFORE + data + AFTER)
        source: Any = open_target(url, offset=ORIGIN, length=len(data))
        assert source.is_remote
        source.name = name
        return source  # type: ignore[no-any-return]

    for sample in some([one for one in SAMPLES if one.format == id and "" in one.files][:8]):
        plain, other = list(answers(sample, as_file, tmp_path)), list(answers(sample, as_remote, tmp_path))
        assert [d for (_, a), (_, b) in zip(plain, other, strict=True) for d in differences(a, b)] == []


def test_every_format_is_here() -> None:
    assert {one.format for one in SAMPLES} == set(formats())
    assert max(len(data) for one in SAMPLES for data in one.files.values()) < ORIGIN


# -- the same on the command line: --offset and --length -------------------------------------------------------------

ON_THE_COMMAND_LINE = {
    one.format: one
    for one in sorted(SAMPLES, key=lambda one: sum(map(len, one.files.values())))
    if "" in one.files and one.sound
}
"""One archive of each format that may be a single file (an Ark split, a LevelDB table)."""

VERBS = (
    "identify", "info", "info --stats", "list", "list --sections", "verify", "verify --quick", "explain",
    "explain --all --no-verify", "explain --coverage", "explain --section {section}", "explain --at {at}",
    "explain --range {at}:{to}", "map --svg {out}", "map --svg {out} -q", "payload {section}", "cat",
    "extract -o {out}", "search {query}", "export --to jsonl -o {out}", "export --to csv -o {out}",
    "export --to fsspec-reference -o {out}",
    "explain --html {out}", "recode --stored -o {out}", "salvage -o {out}", "salvage --jsonl -o {out}",
    "salvage --as-files -o {out}", "carve", "carve -o {out}", "carve --range {at}:{to}",
)  # fmt: skip
QUERIES = {"zs": "a", "clp-s": "*", "kv-ir": "*", "clp-ir": "*", "caf": "*", "ark": "*", "leveldb": "a"}


@pytest.mark.parametrize("id", sorted(ON_THE_COMMAND_LINE))
@pytest.mark.slow
def test_every_verb(id: str, tmp_path: Path, exhume_cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The output of a verb for an archive inside an image equals that for the archive by itself."""
    monkeypatch.setattr("os.fsync", lambda _: None)
    monkeypatch.setattr("exhume.formats.ark.salvage.new_guid", lambda: "00000000-0000-4000-8000-000000000001")
    data = ON_THE_COMMAND_LINE[id].files[""]
    monkeypatch.chdir(tmp_path)
    with exhume.open(BytesSource(data, "archive"), format=id) as archive:
        section = next((s.name for s in archive.sections() if s.load is not None), archive.sections()[0].name)
    ran: dict[str, list[Any]] = {"file": [], "image": []}
    for place, origin in (("file", 0), ("image", ORIGIN)):
        Path("archive").write_bytes(BEFORE + data + AFTER if origin else data)
        common = ["--offset", str(ORIGIN), "--length", str(len(data))] if origin else []
        shown = moved(section) if origin else section
        values = {"section": shown, "at": origin + 20, "to": origin + 90, "out": "out", "query": QUERIES[id]}
        for verb, form in itertools.product(VERBS, ([], ["--json"])):
            name, *rest = (word.format(**values) for word in verb.split())
            chosen = [] if name in ("identify", "carve") else ["--format", id]
            result = exhume_cli(name, *form, *chosen, *common, "archive", *rest)
            made = written(Path("out")) if Path("out").exists() else {}
            if verb == "carve -o {out}":  # called by their offsets
                assert [int(one[:12], 16) for one in made] == [origin]
                made = list(made.values())
            remove(Path("out"))
            ran[place].append((f"{verb} {form}", [result.code, result.err, parsed(result.out), made]))
    wrong = [f"{name}{d}" for (name, a), (_, b) in zip(*ran.values(), strict=True) for d in differences(a, b)]
    assert wrong == []


def parsed(out: bytes) -> Any:
    """What a verb printed: documents, or words in which a number may be an offset."""
    for form in (lambda: json.loads(out), lambda: [json.loads(line) for line in out.splitlines()]):
        try:
            return form()
        except ValueError:
            continue
    return words(out.decode("utf-8", "replace"))


def test_verbs_that_take_whole_files_refuse_a_part(tmp_path: Path, exhume_cli: Any) -> None:
    path = OWN / "caf" / "sorted.caf"
    assert exhume_cli("catalog", "build", tmp_path / "db", path, "--offset", 7).code == 2
    bundle = OWN / "data_bundle" / "zlib"
    assert exhume_cli("diff", bundle, bundle, "--length", 7).code == 2


def test_salvage_of_a_part_is_never_in_place(tmp_path: Path) -> None:
    data = (OWN / "zs" / "words-none.zs").read_bytes()
    (tmp_path / "image").write_bytes(BEFORE + data)
    with pytest.raises(WriterError) as caught:
        exhume.salvage(tmp_path / "image", tmp_path / "image", offset=ORIGIN)
    assert caught.value.code == "EX-705"
