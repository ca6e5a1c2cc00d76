"""Every rule broken on purpose: `verify` names its code and place, reading fails with the same code or continues."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume import codecs
from exhume.errors import ExhumeError, Span
from exhume.findings import Finding, Severity
from exhume.formats.ark import layout
from exhume.formats.ark.assumptions import MANIFEST_TYPE
from exhume.formats.ark.checks import MISSING_SPLIT, RULES
from exhume.formats.ark.filters import Filter
from exhume.formats.ark.layout import TRAILER_MAGIC_BYTES, build_message_footer, build_serializable_file
from exhume.formats.ark.manifest import Manifest, ManifestSection, build_manifest, own_registry
from exhume.formats.ark.manifest_load import load_manifest
from exhume.formats.ark.rbuf.decoder import decoder_for
from exhume.formats.ark.rbuf.encoder import encoder_for
from exhume.formats.ark.reader import ArkArchive
from exhume.formats.ark.verify import _overlapping
from exhume.formats.ark.writer import ArkWriter, Compression
from exhume.limits import DEFAULT_LIMITS
from tests.ark.logs import REGISTRY, TYPE, counted_guids, message

HEADER = 1024
CAPACITY = 8
DATA = HEADER + 18 * CAPACITY


class Log:
    """A small log on disk that can be damaged: six messages of two channels in one split."""

    def __init__(self, root: Path, compression: Compression = "none") -> None:
        self.root = root
        with ArkWriter(
            root, name="n", metadata={"k": 1}, split_items=CAPACITY, compression=compression, guids=counted_guids()
        ) as log:
            for name in ("/a", "/b"):
                log.channel(name, TYPE, REGISTRY)
            for number in range(6):
                log.write("/a" if number % 2 else "/b", 100 + number, message(number, 3))
        self.manifest_path = root / "manifests" / log.identifier
        (self.split_path,) = (root / "splits").iterdir()

    @property
    def manifest(self) -> Manifest:
        data = self.manifest_path.read_bytes()
        return load_manifest(data, Span("", 0, len(data))).manifest

    def set_manifest(self, manifest: Manifest) -> None:
        self.manifest_path.write_bytes(build_manifest(manifest))

    def change_column(self, **changes: Any) -> None:
        old = self.manifest
        section = old.sections[0]
        column = section.columns[0]._replace(**changes)
        self.set_manifest(old._replace(sections=(section._replace(columns=(column,)),)))

    def change_value(self, change: Callable[[dict[str, Any]], None], *, registry: bool = True) -> None:
        value = self.manifest.to_value()
        change(value)
        content = encoder_for(own_registry(), MANIFEST_TYPE).encode(value)
        text = own_registry().to_json()
        file = build_serializable_file(content, MANIFEST_TYPE if registry else "", text if registry else "")
        self.manifest_path.write_bytes(file)

    def poke(self, offset: int, data: bytes, path: Path | None = None) -> None:
        where = path or self.split_path
        raw = bytearray(where.read_bytes())
        if offset < 0:
            offset += len(raw)
        raw[offset : offset + len(data)] = data
        where.write_bytes(raw)

    def poke_entry(self, position: int, name: str, value: int) -> None:
        start, end = getattr(layout.ENTRY_FIELDS, name)
        self.poke(HEADER + position * 18 + start, value.to_bytes(end - start, "little"))

    def poke_header(self, name: str, value: int) -> None:
        start, end = getattr(layout.HEADER_FIELDS, name)
        self.poke(start, value.to_bytes(end - start, "little"))

    def set_message(self, position: int, data: bytes) -> None:
        """Append bytes and let an index entry point to them."""
        raw = self.split_path.read_bytes()
        self.split_path.write_bytes(raw + data)
        self.poke_entry(position, "ofs_data", len(raw))
        self.poke_entry(position, "len_data", len(data))


def u32(value: int) -> bytes:
    return value.to_bytes(4, "little")


def cut(path: Path, size: int) -> None:
    path.write_bytes(path.read_bytes()[:size])


def write_manifest(log: Log, document: Any, value: Any) -> None:
    """Write a manifest with the registry of a JSON document."""
    from exhume.formats.ark.rbuf.registry import Registry

    registry = Registry.from_json(json.dumps(document))
    content = encoder_for(registry, MANIFEST_TYPE).encode(value)
    log.manifest_path.write_bytes(build_serializable_file(content, MANIFEST_TYPE, registry.to_json()))


def other_registry(log: Log) -> None:
    """A registry whose filter has an unknown field that is set."""
    document = json.loads(own_registry().to_json())
    query = next(schema for schema in document["schemas"] if schema["name"] == "Query")
    query["fields"].append({"name": "strange", "type": "uint8"})
    value = log.manifest.to_value()
    for number, section in enumerate(value["sections"]):
        section["acceptance_filter"]["strange"] = 0 if number else 5
    write_manifest(log, document, value)


def more_fields(log: Log) -> None:
    """A registry whose columns have a field that the specification does not name."""
    document = json.loads(own_registry().to_json())
    column = next(schema for schema in document["schemas"] if schema["name"] == "ColumnDeclaration")
    column["fields"].append({"name": "strange", "type": "uint8"})
    value = log.manifest.to_value()
    value["sections"][0]["columns"][0]["strange"] = 5
    write_manifest(log, document, value)


def with_filter(log: Log, **fields: Any) -> None:
    old = log.manifest
    log.set_manifest(old._replace(sections=(ManifestSection((), filter=Filter(**fields)), *old.sections)))


def group_too_long(log: Log) -> None:
    """The group of the last section list has one byte more than its fields."""
    old = log.manifest
    log.set_manifest(Manifest(old.identifier, old.common_identifier, "n"))
    raw = bytearray(log.manifest_path.read_bytes())
    at = raw.index(b"\xe4\x00\x04\x00\x00\x00")
    content = bytes(raw[: at + 2]) + u32(5) + bytes(raw[at + 6 : at + 10]) + b"\0" + bytes(raw[at + 10 :])
    size = len(load_file(log).content) + 1
    log.manifest_path.write_bytes(build_serializable_file(content[:size], MANIFEST_TYPE, own_registry().to_json()))


def load_file(log: Log) -> layout.SerializableFile:
    data = log.manifest_path.read_bytes()
    return layout.parse_serializable_file(data, Span("", 0, len(data)))


def rename(path: Path, name: str) -> None:
    path.rename(path.with_name(name))


STRAY = "deadbeef-0000-4000-8000-000000000000"
FORGED = "deadbeef-0000-4000-8000-000000000001"

# code, what to do, offset that must be inside the span (None: not examined), and whether reading must fail too
DAMAGE: list[tuple[str, Callable[[Log], Any], int | None, bool]] = [
    ("ARK-102", lambda log: log.poke_header("format_version", 2), 1, True),
    ("ARK-103", lambda log: log.poke(3, b"\xff"), 3, True),
    ("ARK-104", lambda log: rename(log.manifest_path, STRAY), None, False),
    ("ARK-105", lambda log: log.poke(-5, b"\0", log.manifest_path), None, False),
    ("ARK-106", lambda log: log.poke(-17, b"\2", log.manifest_path), None, False),
    ("ARK-107", lambda log: log.manifest_path.write_bytes(build_serializable_file(b"\xd1", "a::B", "{}")), None, True),
    ("ARK-109", lambda log: log.change_value(lambda value: None, registry=False), None, False),
    ("ARK-303", lambda log: log.set_message(1, b"\xd9" + message(1, 3)[1:] + b"\xe0\0\0\0\0\0"), None, False),
    ("ARK-320", lambda log: log.poke(0, b"\x00"), 0, True),
    ("ARK-321", lambda log: cut(log.split_path, 1000), None, True),
    ("ARK-322", lambda log: log.poke_header("ofs_index", 1 << 30), 19, True),
    ("ARK-322", lambda log: log.poke_header("num_indexed_items", 1 << 20), 23, True),
    ("ARK-323", lambda log: log.poke_header("num_maximum_items", 1), 23, False),
    ("ARK-324", lambda log: log.poke_entry(3, "timestamp_ns", 1), HEADER + 54, False),
    ("ARK-325", lambda log: log.poke_entry(2, "ofs_data", 1 << 20), HEADER + 44, True),
    ("ARK-325", lambda log: log.poke_entry(2, "len_data", 1 << 20), HEADER + 48, True),
    ("ARK-326", lambda log: log.poke_entry(2, "object_identifier", 9), HEADER + 52, True),
    ("ARK-327", lambda log: log.poke_entry(2, "flags", 1), HEADER + 53, False),
    ("ARK-328", lambda log: log.poke_entry(2, "len_data", 0), HEADER + 48, True),
    ("ARK-329", lambda log: log.poke_entry(2, "ofs_data", 0), HEADER + 44, True),
    ("ARK-329", lambda log: log.poke_entry(2, "ofs_data", DATA), HEADER + 44, False),
    ("ARK-330", lambda log: log.poke(35 + 18 + 17, b"\0"), 53, True),
    ("ARK-331", lambda log: log.poke(36, b"\xff"), 35, True),
    ("ARK-332", lambda log: log.poke_header("num_indexed_items", 4), None, False),
    ("ARK-333", lambda log: log.split_path.write_bytes(log.split_path.read_bytes() + b"more"), None, False),
    ("ARK-340", lambda log: log.split_path.unlink(), None, True),
    ("ARK-341", lambda log: (log.root / "splits" / STRAY).write_bytes(b"x"), None, False),
    ("ARK-342", lambda log: log.change_column(splits=log.manifest.sections[0].columns[0].splits * 1000), None, True),
    ("ARK-343", lambda log: log.change_column(splits=tuple(
        s._replace(statistics=tuple(each._replace(item_count=1) for each in s.statistics))
        for s in log.manifest.sections[0].columns[0].splits)), None, False),
    ("ARK-344", lambda log: log.poke(-29, u32(5), log.manifest_path), None, False),
    ("ARK-345", group_too_long, None, False),
    ("ARK-348", lambda log: log.poke(60, b"\xff\xff\xff\xff", log.manifest_path), None, True),
    ("ARK-349", more_fields, None, False),
    ("ARK-347", lambda log: log.change_column(objects=log.manifest.sections[0].columns[0].objects * 2), None, False),
    ("ARK-406", lambda log: log.change_column(compression="snappy"), None, True),
    ("ARK-410", lambda log: log.change_column(objects=tuple(
        replace(each, schema_registry='{"schemas": 1}') for each in log.manifest.sections[0].columns[0].objects)),
        None, True),
    ("ARK-411", lambda log: log.change_column(objects=tuple(
        replace(each, type="no::Such") for each in log.manifest.sections[0].columns[0].objects)), None, True),
    ("ARK-412", lambda log: log.change_column(objects=tuple(
        replace(each, schema_registry="") for each in log.manifest.sections[0].columns[0].objects)), None, False),
    ("ARK-413", lambda log: log.set_message(1, message(1, 3) + b"rest"), None, True),
    ("ARK-414", lambda log: log.set_message(1, build_serializable_file(message(1, 3), TYPE, "{}")), None, False),
    ("ARK-420", lambda log: with_filter(log, deny=("/x(",)), None, False),
    ("ARK-421", other_registry, None, False),
    ("ARK-422", lambda log: log.set_manifest(log.manifest._replace(metadata={"k": "not json"})), None, False),
    ("ARK-503", lambda log: with_filter(log, deny=("(a+)+$",)), None, True),
    ("ARK-504", lambda log: log.set_manifest(
        log.manifest._replace(sections=log.manifest.sections * 20)), None, True),
]  # fmt: skip


def index_of_split(log: Log, **columns: list[int]) -> None:
    """Overwrite columns of the index, entry by entry."""
    for name, values in columns.items():
        for position, value in enumerate(values):
            log.poke_entry(position, name, value)


def garble(log: Log) -> None:
    """No message has the header byte of an object, nor the mark of a footer."""
    for start, end in places(log):
        log.poke(start, b"\0")
        log.poke(end - 1, b"\0")


def places(log: Log) -> list[tuple[int, int]]:
    """The byte ranges of the log's messages."""
    data = log.split_path.read_bytes()
    entries = layout.iter_entries(data[HEADER : HEADER + 6 * 18])
    return [(start, start + size) for _, start, size, _, _ in entries]


def every_split(log: Log, **changes: Any) -> None:
    """Change what the manifest states about each channel in a split."""
    log.change_column(splits=tuple(
        s._replace(statistics=tuple(each._replace(**changes) for each in s.statistics))
        for s in log.manifest.sections[0].columns[0].splits))  # fmt: skip


def sections(log: Log, times: int) -> None:
    log.set_manifest(log.manifest._replace(sections=log.manifest.sections * times))


def second_log(log: Log, *, damage: bool = False) -> None:
    """Another manifest of the same root that alone names the split; `damage`: it cannot be read."""
    other = log.manifest._replace(identifier=FORGED)
    path = log.manifest_path.with_name(FORGED)
    path.write_bytes(build_manifest(other)[: 50 if damage else None])
    log.change_column(splits=())


def hidden_and_missing(log: Log) -> None:
    """The split that is gone is one that a section before it hides."""
    hiding = ManifestSection((), filter=Filter(deny=(".*",)))
    log.set_manifest(log.manifest._replace(sections=(hiding, *log.manifest.sections)))
    log.split_path.unlink()


def unknown_filter(log: Log) -> None:
    """The section whose filter is not understood is not the last one."""
    sections(log, 2)
    other_registry(log)


VARIANTS: dict[str, Callable[[Log], Any]] = {
    "all messages lie outside": lambda log: index_of_split(log, ofs_data=[1 << 30] * 6),
    "named sixteen times": lambda log: sections(log, 16),
    "named seventeen times": lambda log: sections(log, 17),
    "another manifest names the split": second_log,
    "another manifest cannot be read": lambda log: second_log(log, damage=True),
    "wrong bytes stated": lambda log: every_split(log, size=1),
    "wrong first time stated": lambda log: every_split(log, minimum_ns=1),
    "wrong last time stated": lambda log: every_split(log, maximum_ns=1),
    "nothing stated": lambda log: every_split(log, item_count=None, size=None, minimum_ns=None, maximum_ns=None),
    "stated for others": lambda log: every_split(log, identifier=STRAY),
    "one channel stated": lambda log: log.change_column(
        splits=tuple(s._replace(statistics=s.statistics[:1]) for s in log.manifest.sections[0].columns[0].splits)
    ),
    "same mapping twice": lambda log: log.poke(53, log.split_path.read_bytes()[35:53]),
    "same number twice": lambda log: log.poke(35 + 18 + 17, log.split_path.read_bytes()[52:53]),
    "same channel twice": lambda log: log.poke(36 + 18, log.split_path.read_bytes()[36:52]),
    "as many as the index holds": lambda log: log.poke_header("num_maximum_items", 6),
    "times that are equal": lambda log: index_of_split(log, timestamp_ns=[7] * 6),
    "no entries": lambda log: log.poke_header("num_indexed_items", 0),
    "message right behind the index": lambda log: log.poke_entry(5, "ofs_data", DATA),
    "all in the header": lambda log: index_of_split(log, ofs_data=[0, 10, 1023, 1024, DATA - 1, DATA]),
    "split of 1024 bytes": lambda log: cut(log.split_path, 1024),
    "hidden and missing": hidden_and_missing,
    "two values that are not JSON": lambda log: log.set_manifest(
        log.manifest._replace(metadata={"k": "no", "l": "[", "m": "1"})
    ),
    "renamed to no GUID": lambda log: rename(log.manifest_path, "manifest"),
    "stray that is no GUID": lambda log: (log.root / "splits" / "notes").write_bytes(b"x"),
    "unknown filter": unknown_filter,
}
"""More damage, for what several rules together, or the words of a finding, depend on."""


COMPRESSED: list[tuple[str, Callable[[Log], Any], bool]] = [
    ("ARK-401", lambda log: log.poke(-1, b"\xf1"), True),
    ("ARK-402", lambda log: log.poke(-2, b"\x09"), True),
    ("ARK-403", lambda log: log.set_message(
        1, codecs.compress("zstd", message(1, 3)) + build_message_footer(len(message(1, 3)), "zstd")), False),
    ("ARK-404", lambda log: log.poke(-6, u32(7)), True),
    ("ARK-404", lambda log: log.poke(-6, u32(1 << 20)), True),
    ("ARK-405", lambda log: log.set_message(1, codecs.compress("zstd", message(1, 3))), False),
]  # fmt: skip


def findings_of(log: Log) -> list[Finding]:
    manifests = list((log.root / "manifests").iterdir())
    return list(exhume.verify(manifests[0]))


def read_error(log: Log) -> ExhumeError | None:
    try:
        with exhume.open(next((log.root / "manifests").iterdir())) as reader:
            assert isinstance(reader, ArkArchive)
            list(reader.messages())
    except ExhumeError as error:
        return error
    return None


@pytest.mark.parametrize(("code", "damage", "offset", "fails"), DAMAGE)
def test_rule(tmp_path: Path, code: str, damage: Callable[[Log], Any], offset: int | None, fails: bool) -> None:
    log = Log(tmp_path / "log")
    damage(log)
    found = findings_of(log)
    mine = [finding for finding in found if finding.code == code]
    assert mine, [str(finding) for finding in found]
    assert mine[0].span is not None
    assert mine[0].spec_ref
    if offset is not None:
        assert any(f.span is not None and f.span.start <= offset < f.span.end for f in mine), [str(f) for f in mine]
    error = read_error(log)
    assert (error is not None) == fails, error
    if error is not None:
        assert "\n" not in str(error)
    assert any(finding.is_problem for finding in found) or error is None


@pytest.mark.parametrize(("code", "damage", "fails"), COMPRESSED)
def test_rule_of_compressed_messages(tmp_path: Path, code: str, damage: Callable[[Log], Any], fails: bool) -> None:
    log = Log(tmp_path / "log", "lz4")
    damage(log)
    found = [finding for finding in findings_of(log) if finding.code == code]
    assert found
    error = read_error(log)
    assert (error is not None) == fails
    if error is not None:
        assert error.code == code


def test_nothing_here(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for target in (tmp_path / "empty", b"", b"hello"):
        with pytest.raises(ExhumeError) as caught:
            exhume.open(target, format="ark")
        assert caught.value.code == "ARK-101"


def test_several_logs_want_a_choice(tmp_path: Path) -> None:
    (tmp_path / "day").mkdir()
    first, second = Log(tmp_path / "day/one"), Log(tmp_path / "day/two")
    second.set_manifest(second.manifest._replace(identifier=FORGED))
    second.manifest_path.rename(second.manifest_path.with_name(FORGED))
    with exhume.open(tmp_path / "day", format="ark") as logs:
        assert [entry.name for entry in logs.entries()] == [first.manifest.identifier, FORGED]
        with pytest.raises(ExhumeError) as caught:
            next(logs.messages())
        assert caught.value.code == "ARK-108"
        assert [f for f in logs.verify() if f.severity is Severity.ERROR] == []
    with exhume.open(tmp_path / "day", format="ark", log=FORGED[:8]) as one:
        assert isinstance(one, ArkArchive)
        assert len(list(one)) == 6


def removed_column(log: Log) -> None:
    """The list of removed columns of the first section has one entry."""
    raw = load_file(log).content
    at = 33 + 4 + 1
    assert raw[at : at + 4] == u32(0)
    column = b"\xd1" + u32(0) + u32(0) + u32(0) + u32(0)
    content = raw[:at] + u32(1) + column + raw[at + 4 :]
    log.manifest_path.write_bytes(build_serializable_file(content, MANIFEST_TYPE, own_registry().to_json()))


def test_removed_columns_are_ignored(tmp_path: Path) -> None:
    log = Log(tmp_path / "log")
    removed_column(log)
    assert "ARK-346" in [finding.code for finding in findings_of(log)]
    assert read_error(log) is None


@pytest.mark.parametrize("registry", [own_registry().to_json(), ""], ids=["embedded", "built in"])
@pytest.mark.parametrize(("count", "severity"), [(1, Severity.WARNING), (2, Severity.ERROR)])
def test_a_filter_with_an_unknown_group(tmp_path: Path, count: int, severity: Severity, registry: str) -> None:
    """It is unknown what the filter hides; that of the last section hides nothing."""
    log = Log(tmp_path / "log")
    sections(log, count)
    newer = json.loads(own_registry().to_json())
    query = next(schema for schema in newer["schemas"] if schema["name"] == "Query")
    query["groups"] = [{"identifier": 4, "fields": [{"name": "strange", "type": "uint8"}]}]
    from exhume.formats.ark.rbuf.registry import Registry

    encoder = encoder_for(Registry.from_json(json.dumps(newer)), MANIFEST_TYPE)
    value = log.manifest.to_value()
    for section in value["sections"]:
        section["acceptance_filter"]["strange"] = 0
    log.manifest_path.write_bytes(build_serializable_file(encoder.encode(value), MANIFEST_TYPE, registry))
    found = [finding for finding in findings_of(log) if finding.code == "ARK-421"]
    assert severity in [finding.severity for finding in found]
    assert "group 4, 1 byte" in str(found[0])
    error = read_error(log)
    assert (error and error.code) == (None if count == 1 else "ARK-421")


def test_bombs_are_refused(tmp_path: Path) -> None:
    log = Log(tmp_path / "log", "zstd")
    bomb = codecs.compress("zstd", bytes(1 << 24))
    log.set_message(1, bomb + struct.pack("<IBB", 0xFFFF_FFFF, 2, 0xF0))
    error = read_error(log)
    assert error is not None
    with exhume.open(log.manifest_path, limits=DEFAULT_LIMITS._replace(payload_size=1000)) as reader:
        assert isinstance(reader, ArkArchive)
        log.set_message(1, bomb + struct.pack("<IBB", 1 << 24, 2, 0xF0))
        with pytest.raises(ExhumeError) as caught:
            list(reader.messages())
    assert caught.value.code.startswith("EX-5")
    assert caught.value.span is not None


def test_deep_values_are_refused() -> None:
    from exhume.formats.ark.rbuf.idl import parse_idl

    registry = parse_idl("schema R { arraylist<R> r; }")
    with pytest.raises(ExhumeError) as caught:
        decoder_for(registry, "R").decode(b"\xd1\1\0\0\0" * 5000)
    assert caught.value.code == "ARK-501"


def test_every_rule_is_broken_somewhere() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*.py"))
    assert [rule.code for rule in RULES if rule.code not in text] == []


def test_the_magic_is_what_it_is() -> None:
    assert len(TRAILER_MAGIC_BYTES) == 16


@pytest.mark.parametrize("hidden", [False, True])
def test_a_split_that_is_gone_matters_less_where_it_is_hidden(tmp_path: Path, hidden: bool) -> None:
    log = Log(tmp_path / "log")
    if hidden:
        hidden_and_missing(log)
    else:
        log.split_path.unlink()
    [found] = [finding for finding in findings_of(log) if finding.code == MISSING_SPLIT.code]
    assert found.severity is (Severity.WARNING if hidden else Severity.ERROR)


def test_overlaps_are_found_in_the_order_of_the_file() -> None:
    """The order of the index may differ from that of the messages; the first message begins at 0."""
    index = ark_index((10, 20), (0, 100), (200, 5), (100, 100), (150, 10))
    assert _overlapping(index, frozenset()) == [0, 4]
    assert _overlapping(index, frozenset({1, 3})) == []


def ark_index(*places: tuple[int, int]) -> bytes:
    """Entries of messages at offsets and with sizes."""
    return b"".join(struct.pack("<QIIBB", 7, offset, size, 0, 0) for offset, size in places)
