"""Every rule has an archive that breaks it: verify reports the code with an offset, and reading says the same."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import msgpack
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import exhume
from exhume.codecs import zstd
from exhume.errors import ExhumeError, LimitExceededError, UnrecognizedFormatError
from exhume.findings import Severity
from exhume.formats.clp_s import layout, verify
from exhume.formats.clp_s.checks import RULES
from exhume.formats.clp_s.layout import PacketType
from exhume.formats.clp_s.names import DICTIONARIES, SECTION_NAMES, STRUCTURES
from exhume.formats.clp_s.read.kernel import ClpsRepeated
from exhume.formats.clp_s.read.template import SchemaLayout
from exhume.formats.clp_s.reader import open_archive
from exhume.formats.clp_s.verify import _frames
from exhume.formats.clp_s.verify_tables import WindowedCheck, check_stream
from exhume.io.activity import measuring
from exhume.io.source import BytesSource
from exhume.limits import Limits
from tests.clp_s import build
from tests.clp_s.build import Built, clp, demo, i64, marker, old, tiny, u64


def reading(data: bytes) -> bytes:
    """What `cat` prints."""
    with open_archive(BytesSource(data)) as archive:
        return b"".join(archive.json_chunks(ordered=False))


def patched(built: Built, offset: int, new: bytes) -> bytes:
    data = bytearray(built.build())
    data[offset : offset + len(new)] = new
    return bytes(data)


def payload(built: Built, name: str, offset: int, new: bytes) -> bytes:
    """The archive with some bytes of a decompressed section replaced."""
    raw = bytearray(built.payloads()[name])
    raw[offset : offset + len(new)] = new
    return built.replace(raw={name: bytes(raw)}).build()


def table_of(data: bytes, **changes: Any) -> bytes:
    """`tiny` with other bytes for its one table."""
    return tiny(streams=[[(0, 2, data)]], **changes).build()


def text_table(node_type: int, column: bytes, **changes: Any) -> bytes:
    return tiny(nodes=[(-1, b"", 5), (0, b"a", node_type)], streams=[[(0, 1, column)]], **changes).build()


def times(epoch: int, ident: int, pattern: bytes, **changes: Any) -> bytes:
    return text_table(14, i64(epoch) + u64(ident), patterns=[(0, pattern)], **changes)


def swapped(files: list[dict[str, Any]]) -> dict[str, Any]:
    return {"files": [files[1], files[0], *files[2:]]}


def stream_order() -> bytes:
    """The table metadata of `demo` with its two tables the other way round."""
    data = demo().payloads()["/table_metadata"]
    return data[:-56] + data[-28:] + data[-56:-28]


UNIT = {"_filename": "x"}
EPOCH = rb"\N"
ARCHIVES: dict[str, Callable[[], bytes]] = {
    "CLPS-101": lambda: b"\0" + tiny().build()[1:],
    "CLPS-102": lambda: tiny(header={"compression": 1}).build(),
    "CLPS-103": lambda: tiny(version=(9, 9, 9)).build(),
    "CLPS-104": lambda: tiny(extra_packets=[(0, b"\x81\xacnum_segments\x02")]).build(),
    "CLPS-301": lambda: tiny().build()[:40],
    "CLPS-302": lambda: tiny().build()[:-1],
    "CLPS-303": lambda: tiny().build() + b"after",
    "CLPS-304": lambda: tiny(header={"metadata_size": 10_000}).build(),
    "CLPS-305": lambda: tiny(raw={"metadata": b"\x02\x00\xff\0\0\0"}).build(),
    "CLPS-306": lambda: tiny(file_info=lambda files: {"files": [{"n": "/schema_tree"}]}).build(),
    "CLPS-307": lambda: tiny(file_info=lambda files: {"files": files[:1] + files[2:]}).build(),
    "CLPS-308": lambda: tiny(file_info=swapped).build(),
    "CLPS-309": lambda: tiny(stored_sections={"/schema_ids": b"\x28\xb5\x2f\xfd\0\x58\xff\xff\xff"}).build(),
    "CLPS-310": lambda: tiny(raw={"/schema_ids": tiny().payloads()["/schema_ids"] + b"\0"}).build(),
    "CLPS-311": lambda: tiny(header={"reserved": 1}).build(),
    "CLPS-320": lambda: payload(tiny(), "/schema_tree", 0, u64(1 << 40)),
    "CLPS-321": lambda: payload(tiny(), "/schema_tree", 8, struct.pack("<i", 1)),
    "CLPS-322": lambda: tiny(nodes=[*tiny().nodes, tiny().nodes[1]]).build(),
    "CLPS-323": lambda: tiny(nodes=[*tiny().nodes, (0, b"b", 77)]).build(),
    "CLPS-324": lambda: tiny(nodes=[(-1, b"@", 5), (0, b"a", 0)]).build(),
    "CLPS-330": lambda: payload(tiny(), "/schema_ids", 16, struct.pack("<I", 9)),
    "CLPS-331": lambda: tiny(schemas=[(0, [1], []), (1, [99], [])]).build(),
    "CLPS-332": lambda: tiny(schemas=[(0, [1], []), (1, [], [marker(9, 5), 1])]).build(),
    "CLPS-333": lambda: tiny(schemas=[(0, [1], []), (0, [1], [])]).build(),
    "CLPS-334": lambda: demo(
        schemas=[*demo().schemas, (9, [], [marker(9, 1), 20])], nodes=[*build.DEMO_NODES, (14, b"", 6)]
    ).build(),
    "CLPS-335": lambda: tiny(nodes=[(-1, b"", 5), (0, b"s", 3), (1, b"a", 0)], schemas=[(0, [2], [])]).build(),
    "CLPS-336": lambda: tiny(
        nodes=[(-1, b"", 5), (0, b"s", 9), (1, b"", 0)],
        schemas=[(0, [], [marker(9, 1), 2, marker(9, 1), 2])],
        streams=[[(0, 2, i64(1, 2, 3, 4))]],
    ).build(),
    "CLPS-340": lambda: payload(tiny(), "/table_metadata", 32, u64(1 << 60)),
    "CLPS-341": lambda: payload(tiny(), "/table_metadata", 24, u64(1)),
    "CLPS-342": lambda: payload(tiny(), "/table_metadata", 40, u64(3)),
    "CLPS-343": lambda: payload(tiny(), "/table_metadata", 8, u64(1 << 30)),
    "CLPS-344": lambda: payload(tiny(), "/table_metadata", 48, u64(17)),
    "CLPS-345": lambda: demo(raw={"/table_metadata": stream_order()}).build(),
    "CLPS-346": lambda: tiny(streams=[[(5, 2, i64(1, 2))]]).build(),
    "CLPS-347": lambda: payload(tiny(), "/table_metadata", 16, u64(24)),
    "CLPS-348": lambda: table_of(i64(1, 2, 3)),
    "CLPS-350": lambda: demo(stored_sections={"/var.dict": u64(2) + build.zstd(u64(1) + b"a" + u64(99))}).build(),
    "CLPS-351": lambda: tiny(variables=[b"a", b"a"]).build(),
    "CLPS-401": lambda: text_table(2, clp([(7, 0)], []), log_types=[b"x y"]),
    "CLPS-402": lambda: text_table(3, u64(1), variables=[b"only"]),
    "CLPS-403": lambda: text_table(2, clp([(0, 1)], [1]), log_types=[b"x \x11"]),
    "CLPS-404": lambda: text_table(2, clp([(0, 0)], [build.float_core(2, 1, 9999)]), log_types=[b"x \x13"]),
    "CLPS-405": lambda: times(0, 7, EPOCH),
    "CLPS-406": lambda: times(0, 0, rb"\Q"),
    "CLPS-407": lambda: times(0, 0, rb"\E.\T"),
    "CLPS-408": lambda: tiny(extra_packets=[(2, b"\xff" * 16)]).build(),
    "CLPS-409": lambda: tiny(range_index=[{"s": 3, "e": 2, "f": {}}]).build(),
    "CLPS-410": lambda: demo(range_index=[{"s": 0, "e": 3, "f": UNIT}, {"s": 1, "e": 3, "f": UNIT}]).build(),
    "CLPS-411": lambda: demo(range_index=[{"s": 0, "e": 2, "f": UNIT}]).build(),
    "CLPS-412": lambda: demo(ranges=[(b"ts", [3], 1, 0, 5)]).build(),
    "CLPS-413": lambda: old(streams=[[(0, 2, i64(1, 1) + old().streams[0][0][2][16:])]]).build(),
    "CLPS-414": lambda: tiny(variables=[b"\xff"]).build(),
    "CLPS-415": lambda: tiny(schemas=[], streams=[]).build(),
    "CLPS-416": lambda: tiny(nodes=[*tiny().nodes, (-1, b"@", 5), (2, b"auto", 0)]).build(),
    "CLPS-417": lambda: tiny(ranges=[(b"a", [44], 1, 1, 2)]).build(),
}


def stored(name: str, payload: bytes, after: bytes = b"", built: Built | None = None) -> bytes:
    """The archive with a section that is compressed as usual and followed by other bytes."""
    built = built or demo()
    count = built.sections()[name][:8] if name.endswith(".dict") else b""
    return built.replace(stored_sections={name: count + build.zstd(payload) + after}).build()


def broken_stream(number: int, built: Built | None = None, after: bytes = b"") -> bytes:
    """`demo` with a stream that does not decompress, or that is followed by other bytes."""
    built = built or demo()
    streams = [built.compress(b"".join(data for _, _, data in stream)) for stream in built.streams]
    streams[number] = streams[number] + after if after else b"junk" + streams[number][4:]
    return built.replace(stored_sections={"/0": b"".join(streams)}).build()


def ranged(*ranges: tuple[int, int]) -> bytes:
    return demo(range_index=[{"s": start, "e": end, "f": UNIT} for start, end in ranges]).build()


def integers(values: tuple[int, ...], encoding: int, begin: float, end: float, node_type: int = 0) -> bytes:
    """One column of integers, and the range that the timestamp dictionary states for it."""
    return tiny(
        nodes=[(-1, b"", 5), (0, b"a", node_type)], streams=[[(0, len(values), i64(*values))]],
        ranges=[(b"a", [1], encoding, begin, end)],
    ).build()  # fmt: skip


VARIANTS: dict[str, Callable[[], bytes]] = {
    "after the packets": lambda: tiny(raw={"metadata": tiny().metadata() + b"\0\0"}).build(),
    "after the frame of the packets": lambda: tiny(
        stored_sections={"metadata": build.zstd(tiny().metadata()) + b"junk"}).build(),
    "timestamps of the first node": lambda: demo(ranges=[(b"ts", [0], 1, 0, 5)]).build(),
    "timestamps of the last node": lambda: demo(ranges=[(b"ts", [len(build.DEMO_NODES) - 1], 1, 0, 5)]).build(),
    "timestamps of no node": lambda: demo(ranges=[(b"ts", [len(build.DEMO_NODES), -1], 1, 0, 5)]).build(),
    "timestamps of a negative node": lambda: demo(ranges=[(b"ts", [-1], 1, 0, 5)]).build(),
    "after the frame of the tree": lambda: stored("/schema_tree", demo().payloads()["/schema_tree"], b"junk"),
    "after the frame of the variables": lambda: stored("/var.dict", demo().payloads()["/var.dict"], b"junk"),
    "after the last variable": lambda: stored("/var.dict", demo().payloads()["/var.dict"] + b"more"),
    "after no variable": lambda: tiny(stored_sections={"/var.dict": u64(0) + build.zstd(b"more")}).build(),
    "after the table metadata": lambda: tiny(
        raw={"/table_metadata": tiny().payloads()["/table_metadata"] + b"\0"}).build(),
    "properties that are not UTF-8": lambda: tiny(
        extra_packets=[(3, b"\x91\x83\xa1s\0\xa1e\2\xa1f\x82\xa1a\x91\xa1b\xa1c\x91\xa1\xff")]).build(),
    "a name of a property that is not UTF-8": lambda: tiny(
        extra_packets=[(3, b"\x91\x83\xa1s\0\xa1e\2\xa1f\x82\xa1a\1\xa1\xfe\2")]).build(),
    "a property whose name is a number": lambda: tiny(range_index=[{"s": 0, "e": 2, "f": {5: "x"}}]).build(),
    "a timestamp key that is not UTF-8": lambda: tiny(ranges=[(b"\xff", [1], 1, 1, 2)]).build(),
    "keys that are not UTF-8": lambda: tiny(nodes=[*tiny().nodes, (0, b"\xff", 0), (0, b"\xfe", 0)]).build(),
    "values that are not UTF-8": lambda: tiny(variables=[b"\xff", b"\xfe", b"\xff", b"\xfe"]).build(),
    "two broken dictionaries": lambda: demo(
        stored_sections={"/var.dict": u64(9), "/log.dict": u64(9), "/array.dict": u64(9)}).build(),
    "two broken structures": lambda: demo(
        stored_sections={"/schema_tree": b"junk", "/schema_ids": b"junk", "/table_metadata": b"junk"}).build(),
    "the first stream is late": lambda: payload(tiny(), "/table_metadata", 8, u64(1)),
    "the first stream is broken": lambda: broken_stream(0),
    "the second stream is broken": lambda: broken_stream(1),
    "after the first stream": lambda: broken_stream(0, after=b"junk"),
    "after the second stream": lambda: broken_stream(1, after=b"junk"),
    "cut in the last stream": lambda: demo().build()[:-3],
    "records between ranges": lambda: ranged((0, 1), (2, 3)),
    "records before ranges": lambda: ranged((1, 3)),
    "ranges in the wrong order": lambda: ranged((1, 3), (0, 1)),
    "integers in their range": lambda: integers((3, 5, 4), 1, 3, 5),
    "integers below their range": lambda: integers((2, 5), 1, 3, 5),
    "integers above their range": lambda: integers((3, 6), 1, 3, 5),
    "integers in a range of fractions": lambda: integers((2, 6), 2, 3.0, 5.0),
    "integers of no encoding": lambda: integers((2, 6), 0, 0, 0),
    "two ranges of one column": lambda: tiny(ranges=[(b"a", [0], 1, 1, 2), (b"a", [1], 1, 2, 2)]).build(),
    "two tables out of order": lambda: old(
        streams=[[(0, 3, i64(5, 4, 3) + bytes(3 * 16) + clp([(1, 0)] * 3, []))]]).build(),
    "a hidden object": lambda: tiny(nodes=[*tiny().nodes, (-1, b"@", 5), (-1, b"b", 5), (3, b"c", 5)]).build(),
    "a hidden value": lambda: tiny(nodes=[*tiny().nodes, (-1, b"x", 0)]).build(),
}  # fmt: skip
"""More damage, for what several rules together, or the words of a finding, depend on."""

CRAFTED_ELSEWHERE = {"CLPS-501", "CLPS-502", "CLPS-105", "CLPS-312", "CLPS-313"}  # the last three: directories
READS_ANYWAY = {
    *("CLPS-103", "CLPS-303", "CLPS-310", "CLPS-311", "CLPS-322", "CLPS-323", "CLPS-324", "CLPS-333", "CLPS-345"),
    *("CLPS-351", "CLPS-410", "CLPS-411", "CLPS-412", "CLPS-413", "CLPS-414", "CLPS-415", "CLPS-416", "CLPS-417"),
    "CLPS-336",
    *("CLPS-331", "CLPS-332", "CLPS-334", "CLPS-408", "CLPS-409"),  # damage that no table of the archive touches
}


def test_every_rule_has_its_archive() -> None:
    assert set(ARCHIVES) | CRAFTED_ELSEWHERE == {rule.code for rule in RULES}


@pytest.mark.parametrize("code", ARCHIVES)
def test_verify_reports_the_rule(code: str) -> None:
    data = ARCHIVES[code]()
    findings = list(exhume.verify(data, format="clp-s"))
    found = [finding for finding in findings if finding.code == code]
    assert found, [str(finding) for finding in findings]
    assert all(f.span is not None and 0 <= f.span.start <= f.span.end <= max(len(data), f.span.end) for f in found)
    assert found[0].spec_ref
    rule = RULES[code]
    assert found[0].severity == rule.severity
    if rule.severity is not Severity.ERROR:
        assert [f for f in findings if f.severity is Severity.ERROR] == []


@pytest.mark.parametrize("code", ARCHIVES)
def test_reading_fails_with_the_same_rule_or_not_at_all(code: str) -> None:
    data = ARCHIVES[code]()
    if code in READS_ANYWAY:
        reading(data)
        return
    with pytest.raises(ExhumeError) as caught:
        reading(data)
    assert caught.value.code == code, str(caught.value)
    assert caught.value.span is not None
    assert "\n" not in str(caught.value)


def test_more_records_than_can_be_counted_are_a_fault_of_the_table() -> None:
    data = payload(tiny(), "/table_metadata", 60, u64((1 << 63) + 1))
    assert [finding.code for finding in exhume.verify(data, format="clp-s")] == ["CLPS-340"]
    with open_archive(BytesSource(data)) as archive:
        for read in (archive.json_lines, archive.events, archive.to_arrow, partial(archive.to_arrow, query="a: 1")):
            with pytest.raises(ExhumeError, match="CLPS-340"):
                list(read())


@pytest.mark.parametrize("info", [{}, {"segments": 1}, {"num_segments": "1"}, [1]])
def test_a_segment_count_that_is_missing_is_refused_as_upstream_does(info: object) -> None:
    data = tiny(extra_packets=[(0, msgpack.packb(info))]).build()
    assert [finding.code for finding in exhume.verify(data, format="clp-s")] == ["CLPS-104"]


@pytest.mark.parametrize("built", [times(0, 0, b""), old(patterns=[(0, b"")]).build()])
def test_a_pattern_that_prints_nothing_is_malformed(built: bytes) -> None:
    assert "CLPS-406" in [finding.code for finding in exhume.verify(built, format="clp-s")]
    with pytest.raises(ExhumeError, match="CLPS-406"):
        reading(built)


ROW = i64(1, 2)
MISPLACED: dict[str, tuple[list[tuple[int, bytes, int]], list[int], list[int], bytes]] = {
    "below a string": ([(-1, b"", 5), (0, b"s", 3), (1, b"a", 0)], [2], [], ROW),
    "below null": ([(-1, b"", 5), (0, b"n", 7), (1, b"a", 0)], [2], [], ROW),
    "below an object below a number": ([(-1, b"", 5), (0, b"n", 0), (1, b"o", 5), (2, b"a", 0)], [3], [], ROW),
    "below a structured array": ([(-1, b"", 5), (0, b"s", 9), (1, b"", 0)], [2], [], ROW),
    "below internal fields of an object": ([(-1, b"", 5), (0, b"m", 10), (1, b"a", 0)], [2], [], ROW),
    "below a root that is a number": ([(-1, b"", 5), (-1, b"", 0), (1, b"a", 0)], [2], [], ROW),
    "a root that is a number": ([(-1, b"", 5), (-1, b"a", 0)], [1], [], ROW),
    "twice": ([(-1, b"", 5), (0, b"a", 0)], [1, 1], [], ROW + ROW),
    "in no array": ([(-1, b"", 5), (0, b"a", 0)], [], [1], ROW),
    "in no array and without a column": ([(-1, b"", 5), (0, b"a", 0), (0, b"n", 7)], [1], [2], ROW),
}
"""Nodes, ordered and unordered entries of a schema, and its table, in which a value is that no record would show."""


@pytest.mark.parametrize("case", MISPLACED)
def test_values_that_no_record_would_show_are_found_and_refused(case: str) -> None:
    nodes, ordered, unordered, table = MISPLACED[case]
    # With a sound table before and after, which all readers still give.
    nodes = [*nodes, (0, b"z", 0)]
    schemas = [(0, [len(nodes) - 1], []), (1, ordered, unordered)]
    data = tiny(nodes=nodes, schemas=schemas, streams=[[(0, 2, ROW), (1, 2, table), (0, 2, ROW)]]).build()
    code = "CLPS-332" if case.startswith("in no array") else "CLPS-335"
    findings = exhume.verify(data, format="clp-s")
    assert {finding.code for finding in findings if finding.severity is Severity.ERROR} == {code}
    with open_archive(BytesSource(data)) as archive:
        lines: list[bytes] = []
        with pytest.raises(ExhumeError, match=code):
            lines.extend(archive.json_lines())
        assert lines == [b'{"z":1}\n', b'{"z":2}\n']
        for ordered_too in (False, True):
            with pytest.raises(ExhumeError, match=code):
                list(archive.json_chunks(ordered=ordered_too))
        with pytest.raises(ExhumeError, match=code):
            list(archive.json_lines("*: *"))


@given(st.data())
def test_what_verify_calls_sound_shows_each_stored_value(data: st.DataObject) -> None:
    """Each column of a table is one of a record, whatever the tree and the schema are."""
    kinds = st.sampled_from([0, 1, 2, 3, 4, 5, 5, 5, 6, 7, 9, 10])
    keys = st.sampled_from([b"", b"a", b"b"])
    more = range(data.draw(st.integers(1, 5)))
    nodes = [(-1, b"", 5), *((data.draw(st.integers(-1, at)), data.draw(keys), data.draw(kinds)) for at in more)]
    ids = st.integers(0, len(nodes) - 1)
    ordered, unordered = data.draw(st.lists(ids, max_size=3)), data.draw(st.lists(ids, max_size=2))
    is_run = data.draw(st.booleans())
    if unordered and is_run:
        unordered = [marker(9, len(unordered)), *unordered]
    tree = layout.SchemaTree([p for p, _, _ in nodes], [k for _, k, _ in nodes], [t for _, _, t in nodes])
    assume(not tree.repeated)
    try:
        found = SchemaLayout(tree, layout.Schema(0, (*ordered, *unordered), len(ordered)))
    except ExhumeError:
        return
    shown = [token.column for token in found.tokens(complete=True) if token.column >= 0]
    internal = [index for index, node in enumerate(found.nodes) if tree.types[tree.path(node)[0]] == 10]
    assert sorted(shown + internal) == list(range(len(found.nodes)))


@pytest.mark.parametrize(
    "built", [demo(), old(), tiny(), demo(compress=build.stored)], ids=["demo", "old", "tiny", "raw"]
)
def test_sound_archives_have_no_findings(built: Built) -> None:
    assert list(exhume.verify(built.build(), format="clp-s")) == []


@pytest.mark.parametrize("at", [24, 55, 62, 63])
def test_each_reserved_byte_is_looked_at(at: int) -> None:
    data = bytearray(tiny().build())
    data[at] = 1
    (found,) = exhume.verify(bytes(data), format="clp-s")
    span = (found.span.start, found.span.end) if found.span else None
    assert (found.code, found.field_path, span) == (
        ("CLPS-311", "header.reserved1", (24, 56)) if at < 56 else ("CLPS-311", "header.reserved2", (62, 64))
    )


def test_a_bomb_is_refused() -> None:
    bomb = tiny(raw={"/schema_tree": u64(2) + bytes(1 << 20)}).build()
    with pytest.raises(LimitExceededError) as caught:
        open_archive(BytesSource(bomb), limits=Limits(structure_size=1 << 16)).schema_tree  # noqa: B018 - reads it
    assert caught.value.code == "CLPS-501"


def endless_schema() -> bytes:
    """4000 arrays, each 4000 levels down."""
    depth = 4000
    nodes = [(-1, b"", 5), *((i, b"k", 5) for i in range(depth)), *((depth, b"%d" % i, 9) for i in range(4000))]
    runs = [entry for i in range(4000) for entry in (marker(9, 1), depth + 1 + i)]
    return tiny(nodes=nodes, schemas=[(0, [], runs)], streams=[[(0, 1, b"")]]).build()


def test_each_section_larger_than_is_allowed_is_named() -> None:
    data = demo().build()
    with open_archive(BytesSource(data)) as archive:
        structures = {one.name: one.span for one in archive.files if one.name in STRUCTURES}
        structures["metadata"] = archive.metadata_place.span

    def named(limits: Limits) -> dict[str, object]:
        found = list(open_archive(BytesSource(data), limits=limits).verify())
        assert {(one.code, one.expected) for one in found} == {("CLPS-501", "at most 8 bytes")}
        return {one.message.split(": ")[1].partition(" (")[0]: one.span for one in found}

    found = named(Limits(payload_size=8))
    assert [*found] == ["stream 0"]  # a row takes more than 8 bytes
    assert named(Limits(structure_size=8)).items() <= structures.items()


def test_a_table_names_the_stream_after_the_last() -> None:
    data = payload(tiny(), "/table_metadata", 40, u64(1))
    assert "CLPS-342" in [one.code for one in exhume.verify(data, format="clp-s")]


def test_a_byte_after_the_number_of_entries_is_no_frame() -> None:
    data = tiny(stored_sections={"/var.dict": u64(0) + b"x"}).build()
    found = [one.code for one in exhume.verify(data, format="clp-s", quick=True)]
    assert found == ["CLPS-309"]


class Parts:
    """A payload in frames that state their sizes, which counts how often all of it is decompressed."""

    is_small = True

    def __init__(self) -> None:
        self.taken = 0

    def take(self) -> None:
        self.taken += 1


def test_ranges_of_two_packets_are_reported_where_they_are() -> None:
    built = demo(range_index=[{"s": 0, "e": 2, "f": {}}])
    data = built.replace(extra_packets=[(PacketType.RANGE_INDEX, msgpack.packb([{"s": 1, "e": 9, "f": {}}]))]).build()
    with open_archive(BytesSource(data)) as archive:
        spans = [packet.span for packet in archive.packets_of(PacketType.RANGE_INDEX)]
    found = [(one.code, one.span, one.field_path) for one in exhume.verify(data, format="clp-s")]
    assert found == [("CLPS-410", spans[1], "ranges[1]"), ("CLPS-411", spans[1], None)]


def test_a_damaged_range_index_is_found_where_the_list_of_sections_is_damaged_too() -> None:
    data = tiny(file_info=lambda files: {"files": [{}]}, range_index=[{"s": 3, "e": 2, "f": {}}]).build()
    assert [one.code for one in exhume.verify(data, format="clp-s")] == ["CLPS-306", "CLPS-409"]


BAD, GOOD = [99], [1]
TWICE = [marker(9, 1), 3, marker(9, 1), 3]


@pytest.mark.parametrize(
    ("schemas", "reported"),
    [
        ([(5, BAD, []), (0, GOOD, []), (2, BAD, []), (1, GOOD, [])], ["CLPS-331 schema 5", "CLPS-331 schema 2"]),
        ([(5, BAD, []), (0, BAD, [])], ["CLPS-331 schema 5", "CLPS-331 schema 0"]),
        (
            [(5, BAD, []), (0, GOOD, []), (2, BAD, []), (5, GOOD, [])],
            ["CLPS-333 duplicate schema id", "CLPS-331 schema 2"],
        ),
        (
            [(4, BAD, []), (0, [], [*TWICE, *[marker(9, 1), 5] * 2]), (1, GOOD, TWICE), (3, BAD, [])],
            [
                "CLPS-331 schema 4",
                "CLPS-336 schema 0, node 2",
                "CLPS-336 schema 0, node 4",
                "CLPS-336 schema 1, node 2",
                "CLPS-331 schema 3",
            ],
        ),
    ],
)
@pytest.mark.parametrize(
    "tables", [{}, {"streams": []}, {"raw": {"/table_metadata": bytes(3)}}], ids=["one", "none", "lost"]
)
def test_schemas_with_a_fault_are_reported_in_stored_order(
    schemas: list[tuple[int, list[int], list[int]]], reported: list[str], tables: dict[str, Any]
) -> None:
    """Each of them once, whether the kernel finds the odd ones, or there are no tables."""
    nodes = [*tiny().nodes, (0, b"s", 9), (2, b"", 0), (0, b"r", 9), (4, b"", 0)]
    data = tiny(nodes=nodes, schemas=schemas, **tables).build()
    found = [one for one in exhume.verify(data, format="clp-s") if (one.code or "").startswith("CLPS-33")]
    assert [f"{one.code} {one.message.rpartition(': ')[2]}" for one in found] == reported


def refuse(place: object, *more: object, **options: object) -> Any:
    raise AssertionError(f"{place} is read once more")


@pytest.mark.parametrize("quick", [True, False])
def test_frames_of_a_dictionary_are_decompressed_once_and_for_all(quick: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that all tasks share, unless nothing else will need them; nothing is decompressed a second time."""
    with open_archive(BytesSource(demo().build())) as archive:
        files, parts = archive.files, {"shared": Parts(), "own": Parts()}
        monkeypatch.setattr(
            archive, "shared_frames", lambda place: parts["shared"] if place.name in DICTIONARIES else refuse(place)
        )
        monkeypatch.setattr(archive, "frames", lambda place: parts["own"])
        monkeypatch.setattr(archive, "fetched", refuse)
        monkeypatch.setattr(verify, "check_frames", refuse)
        for entry in files:
            assert list(_frames(archive, entry, quick)) == []
        sections, dictionaries = 3, 3
        assert parts["shared"].taken == (0 if quick else dictionaries)
        assert parts["own"].taken == sections + (dictionaries if quick else 0)


@pytest.mark.parametrize("quick", [True, False])
def test_sections_of_one_frame_are_decompressed_once_within_the_limit(
    quick: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dictionary is then kept for the check of its entries, if there will be one; above the limit, nothing is."""
    with open_archive(BytesSource(demo(compress=build.stored).build())) as archive:
        places = [archive.metadata_place, *(one for one in archive.files if one.name in SECTION_NAMES[:-1])]
        assert len(places) == 7
        for place in places:
            is_dictionary, kept = place.name in DICTIONARIES, list[Any]()
            monkeypatch.setattr(archive, "keep", lambda place, payload, kept=kept: kept.append((place, payload)))
            size = place.size - 8 * is_dictionary
            for limit, fits in ((size, True), (size - 1, False)):
                monkeypatch.setattr(archive, "limits", Limits(payload_size=limit))
                with monkeypatch.context() as patch:
                    patch.setattr(*((verify, "check_frames") if fits else (zstd, "zstd_whole")), refuse)
                    assert list(_frames(archive, place, quick)) == []
            data = place.part(place.size - size)
            whole = zstd.zstd_whole(data.read(), max_size=1000)
            assert kept == ([(data, whole)] if is_dictionary and not quick else [])


def test_frames_that_do_not_fit_into_memory_together_are_decompressed_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with open_archive(BytesSource(demo().build())) as archive:
        place = archive.file_entry("/schema_tree")
        monkeypatch.setattr(archive, "frames", lambda place: SimpleNamespace(is_small=False))
        monkeypatch.setattr(zstd, "zstd_whole", refuse)
        assert list(_frames(archive, place)) == []


@pytest.mark.parametrize("quick", [True, False])
def test_windows_of_rows_are_read_unless_quick(quick: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    passed: list[int] = []

    def passing(archive: Any, tables: Any) -> WindowedCheck:
        passed.append(len(tables))
        return WindowedCheck(archive, tables)

    monkeypatch.setattr(verify, "WindowedCheck", passing)
    assert list(exhume.verify(demo().build(), format="clp-s", quick=quick)) == []
    assert passed == [0 if quick else 2]


@pytest.mark.parametrize("missing", SECTION_NAMES)
def test_a_missing_section_is_reported_once_even_if_quick(missing: str) -> None:
    def renamed(files: list[dict[str, Any]]) -> dict[str, Any]:
        return {"files": [one | {"n": "/other"} if one["n"] == missing else one for one in files]}

    found = exhume.verify(demo(file_info=renamed).build(), format="clp-s", quick=True)
    assert [(one.code, one.expected) for one in found] == [("CLPS-307", missing)]


def test_frames_of_a_stream_are_decompressed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with open_archive(BytesSource(demo().build())) as archive:
        parts, _ = Parts(), archive.stream_place(0)
        monkeypatch.setattr(archive, "stream_parts", lambda index, *, whole: parts if whole else None)
        monkeypatch.setattr(archive, "fetched", refuse)
        assert list(check_stream(archive, 0, False)) == []
        assert parts.taken == 1


@pytest.mark.parametrize("quick", [True, False])
def test_how_large_the_streams_are_is_noted(quick: bool) -> None:
    with open_archive(BytesSource(demo().build())) as archive, measuring() as sizes:
        assert list(archive.verify(quick=quick)) == []
        span = archive.file_entry("/0").span
        streams = [len(archive.stream_payload(number)) for number in range(2)]
        assert sizes.get((span.source, span.start)) == (None if quick else sum(streams))


def test_a_schema_that_takes_forever_is_refused() -> None:
    with pytest.raises(LimitExceededError) as caught:
        reading(endless_schema())
    assert caught.value.code == "CLPS-502"


def test_a_table_without_columns_cannot_claim_endless_rows() -> None:
    data = tiny(schemas=[(0, [0], [])], streams=[[(0, 1 << 60, b"")]]).build()
    with pytest.raises(LimitExceededError):
        reading(data)


def test_what_comes_before_the_damage_is_printed() -> None:
    good = demo()
    first, second = good.streams
    bad = good.replace(streams=[first, [(7, 1, i64(1) + u64(99))]]).build()
    out: list[bytes] = []
    with open_archive(BytesSource(bad)) as archive, pytest.raises(ExhumeError) as caught:
        out.extend(archive.json_chunks())
    assert caught.value.code == "CLPS-402"
    assert b"".join(out) == b"".join(build.DEMO_TEXT.splitlines(keepends=True)[:2])
    assert second


def test_a_cut_archive_still_yields_its_first_tables() -> None:
    whole = demo(compress=build.stored).build()
    for cut in range(1, 24):
        out: list[bytes] = []
        with open_archive(BytesSource(whole[:-cut])) as archive, pytest.raises(ExhumeError) as caught:
            out.extend(archive.json_chunks())
        assert caught.value.code == "CLPS-302"
        assert b"".join(out) == b"".join(build.DEMO_TEXT.splitlines(keepends=True)[:2])


def test_a_damaged_dictionary_costs_only_the_columns_that_use_it() -> None:
    data = tiny(stored_sections={"/var.dict": b"\1", "/log.dict": u64(5)}).build()
    assert reading(data) == build.TINY_TEXT


def test_directories_are_refused(tmp_path: Any) -> None:
    with pytest.raises(UnrecognizedFormatError):
        exhume.open(tmp_path, format="clp-s")


DICTIONARIES_IN_PARTS = {
    "sound": [b"%d" % number for number in range(200)],
    "none": [],
    "one": [b"alone"],
    "repeated": [*(b"%d" % number for number in range(200)), b"90", b"17"],
    "not text": [b"a", *(b"%d" % number for number in range(100)), b"\xff", b"\xfe"],
    "both": [*(b"%d" % number for number in range(200)), b"\xff", b"\xff", b"5"],
}


@pytest.mark.parametrize("entries", DICTIONARIES_IN_PARTS.values(), ids=DICTIONARIES_IN_PARTS)
def test_a_dictionary_that_is_checked_in_parts(entries: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    """For any parts and shares, the first repeated entry is reported, and the first that is not UTF-8."""
    data = tiny(variables=entries).build()
    texts = [not is_text(entry) for entry in entries]
    wanted = [("CLPS-351", f"entries[{at}]") for at, entry in enumerate(entries) if entry in entries[:at]][:1]
    wanted += [("CLPS-414", f"entries[{texts.index(True)}]")] if True in texts else []
    monkeypatch.setattr(verify, "LARGE_DICTIONARY", 1)
    for parts, jobs in ((1, 1), (3, 1), (7, 2), (7, 16), (64, 5)):
        monkeypatch.setattr(verify, "DICTIONARY_PARTS", parts)
        found = exhume.verify(data, format="clp-s", jobs=jobs)
        assert [(one.code, one.field_path) for one in found] == wanted


def test_parts_of_a_dictionary_share_one_load(monkeypatch: pytest.MonkeyPatch) -> None:
    """A repeated entry is found in whichever parts it is, as all of them add to one table."""
    loads: list[int] = []

    def loading(found: Any) -> ClpsRepeated:
        loads.append(len(found))
        return ClpsRepeated(found)

    monkeypatch.setattr(verify, "ClpsRepeated", loading)
    monkeypatch.setattr(verify, "LARGE_DICTIONARY", 1)
    monkeypatch.setattr(verify, "DICTIONARY_PARTS", 7)
    entries = [*(b"%d" % number for number in range(40)), b"3", b"\xff"]
    found = exhume.verify(tiny(variables=entries).build(), format="clp-s", jobs=2)
    assert [(one.code, one.field_path) for one in found] == [("CLPS-351", "entries[40]"), ("CLPS-414", "entries[41]")]
    assert sorted(loads) == [0, 0, 42]


def is_text(entry: bytes) -> bool:
    try:
        entry.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_dictionaries_are_checked_where_the_list_of_tables_is_damaged() -> None:
    data = payload(tiny(variables=[b"a", b"a"]), "/table_metadata", 32, u64(1 << 60))
    found = [one.code for one in exhume.verify(data, format="clp-s")]
    assert found == ["CLPS-340", "CLPS-351"]


def test_damage_of_a_dictionary_that_is_checked_in_parts_is_reported_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "LARGE_DICTIONARY", 1)
    entries = u64(1) + b"a" + u64(99)
    data = demo(stored_sections={"/var.dict": u64(2) + build.zstd(entries)}).build()
    reported = [(one.code, one.field_path) for one in exhume.verify(data, format="clp-s") if one.code == "CLPS-350"]
    assert len(reported) == 1
    assert reported == [
        (one.code, one.field_path) for one in exhume.verify(data, format="clp-s", jobs=4) if one.code == "CLPS-350"
    ]
    more = stored("/var.dict", u64(1) + b"a" + b"more", built=tiny(variables=[b"a"]))
    for jobs in (1, 4):
        assert [one.code for one in exhume.verify(more, format="clp-s", jobs=jobs)] == ["CLPS-310"]
