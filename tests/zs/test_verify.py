"""`verify`: a sample for every rule, every truncation, every changed byte; readers say the same."""

from __future__ import annotations

import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.errors import ExhumeError
from exhume.findings import Severity
from exhume.formats.zs import blocks, layout, references
from exhume.formats.zs.checks import RULES
from exhume.limits import Limits
from exhume.testing.damage import flip
from tests.sizes import some

from .build import File, entries, reader, records, simple
from .make_samples import BROKEN, WORDS, deflate, extended, hidden_disorder, index_first

CASCADES = {
    "index-empty": {"ZS-334"},
    "block-order": {"ZS-323"},
    "key-order": {"ZS-323"},
    "reference-to-itself": {"ZS-338"},
    "root-offset": {"ZS-334"},
    "root-is-extension": {"ZS-334"},
    "root-referenced": {"ZS-334"},
}
"""What else follows from the one fault of a sample."""


def codes(data: bytes | Path, **options: Any) -> set[str]:
    """The codes that verify finds."""
    return {finding.code for finding in exhume.verify(data, format="zs", **options)}


@pytest.mark.parametrize("name", BROKEN)
def test_sample_breaks_its_rule(name: str) -> None:
    code, data = BROKEN[name]
    findings = list(exhume.verify(data, format="zs"))
    assert {finding.code for finding in findings} == {code} | CASCADES.get(name, set())
    for finding in findings:
        assert finding.span is not None
        assert 0 <= finding.span.start <= finding.span.end <= len(data)
        assert "\n" not in str(finding)
        assert finding.spec_ref
    assert findings == list(exhume.verify(data, format="zs", jobs=3))


def test_samples_on_disk_are_these(samples: Path) -> None:
    for name, code in some((name, code) for name, (code, data) in BROKEN.items() if len(data) < 10_000):
        assert code in codes(samples / "zs" / "broken" / f"{name}.zs")


def test_every_rule_has_a_sample() -> None:
    assert {rule.code for rule in RULES} == {code for code, _ in BROKEN.values()} | {"ZS-501", "ZS-502", "ZS-503"}


READ = [name for name, (code, _) in BROKEN.items() if (code < "ZS-320" and code != "ZS-203") or code[3] == "4"]


@pytest.mark.parametrize("name", [name for name in READ if BROKEN[name][0] != "ZS-404"])
def test_reader_raises_what_verify_finds(name: str) -> None:
    code, data = BROKEN[name]
    with pytest.raises(ExhumeError) as caught, reader(data) as archive:
        list(archive.records())
        list(archive.records(start=b"\1"))
    assert caught.value.code == code
    finding = next(f for f in exhume.verify(data, format="zs") if f.code == code)
    assert str(finding) == str(caught.value)


@pytest.mark.parametrize("name", ["root-offset", "root-length", "root-is-data", "root-is-extension", "reference-level",
                                  "reference-length", "reference-beyond-the-end"])  # fmt: skip
def test_search_raises_its_own_code(name: str) -> None:
    code, data = BROKEN[name]
    with reader(data) as archive:
        assert list(archive.records()) == sorted(archive.records())
        with pytest.raises(ExhumeError) as caught:
            list(archive.records(prefix=b"d"))
            list(archive.records(start=b"x"))
    assert caught.value.code == code


def test_repeated_key_is_only_a_warning() -> None:
    _, data = BROKEN["metadata-key-twice"]
    [finding] = exhume.verify(data)
    assert finding.severity is Severity.WARNING
    with reader(data) as archive:
        assert archive.metadata == {"a": 2}


def test_disorder_hidden_after_the_index_is_found() -> None:
    assert codes(hidden_disorder()) == {"ZS-321", "ZS-323"}


def test_legal_oddities_are_valid() -> None:
    for data in (index_first(), extended()):
        assert codes(data) == set()
        with reader(data) as archive:
            everything = list(archive.records())
            assert list(archive.records(start=b"b")) == [r for r in everything if r >= b"b"]


def test_several_faults_are_all_reported() -> None:
    file = File(metadata=b"[]")
    one = file.data(b"b", b"a")
    two = file.block(0, records(b"c"), crc=7)
    three = file.data(b"d")
    file.index(1, (b"b", one), (b"c", two), (b"e", three))
    root = file.index(1, (b"a", one))
    data = file.finish((root[0], root[1] + 3), crc=5, length=1)
    assert codes(data) == {"ZS-201", "ZS-303", "ZS-403", "ZS-320", "ZS-202", "ZS-332", "ZS-324", "ZS-334", "ZS-336"}


SMALL = ("words-none.zs", "words-deflate.zs", "words-lzma.zs", "extended.zs")


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.slow
def test_every_truncation_is_found(samples: Path, name: str) -> None:
    data = (samples / "zs" / name).read_bytes()
    for length in some(range(len(data))):
        findings = list(exhume.verify(data[:length], format="zs"))
        assert any(f.severity is Severity.ERROR for f in findings), length
        assert all(f.span is None or f.span.end <= len(data) for f in findings)


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.slow
def test_every_changed_byte_is_found(samples: Path, name: str) -> None:
    """There are no don't-care bytes: magic and lengths are compared, all else is under a checksum."""
    data = (samples / "zs" / name).read_bytes()
    for offset in some(range(len(data))):
        changed = bytearray(data)
        changed[offset] ^= 0xFF
        findings = list(exhume.verify(bytes(changed), format="zs"))
        assert any(f.severity is Severity.ERROR for f in findings), offset


def test_single_bits_are_found(samples: Path) -> None:
    data = (samples / "zs" / "extended.zs").read_bytes()
    for bit in some(range(len(data) * 8)):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        assert any(f.severity is Severity.ERROR for f in exhume.verify(bytes(changed), format="zs")), bit


def test_quick_leaves_records_alone() -> None:
    assert codes(BROKEN["record-order"][1], quick=True) == set()
    assert codes(BROKEN["data-sha256"][1], quick=True) == set()
    for name in ("block-crc", "reference-twice", "unreferenced", "key-order", "root-length", "stream-cut"):
        code, data = BROKEN[name]
        assert (code in codes(data, quick=True)) == (name != "stream-cut")


def test_long_records_are_compared_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    long = b"m" * (references.EDGE_SIZE + 50)
    for last, first, key, expected in (
        (long + b"a", long + b"c", long + b"b", set()),
        (long + b"b", long + b"c", long + b"a", {"ZS-323"}),
        (long + b"a", long + b"b", long + b"c", {"ZS-324"}),
        (long + b"b", long + b"a", long + b"a", {"ZS-321", "ZS-323"}),
        (long[:-60], long, long[:-30], set()),
        (long[:-30], long, long[:-40], {"ZS-323"}),
    ):
        file = File()
        left, right = file.data(b"a", last), file.data(first)
        data = file.finish(file.index(1, (b"", left), (key, right)))
        assert codes(data) == expected
        monkeypatch.setattr(references, "MAX_REACHES", 0)  # everything is read again
        assert codes(data) == expected
        monkeypatch.undo()


def test_bomb_is_stopped() -> None:
    payload = records(bytes(70 << 20))
    stored = deflate(payload)
    file = File(codec=b"deflate")
    place = file.block(0, payload, stored=stored)
    index = entries((b"", *place))
    data = file.finish(file.block(1, index, stored=deflate(index)))
    del payload
    limits = Limits(payload_size=1 << 20)
    assert codes(data, limits=limits) == set(), "a payload is checked in pieces"
    with reader(data, limits=limits) as archive, pytest.raises(ExhumeError) as caught:
        list(archive.records())
    assert caught.value.code == "ZS-501", "a record is held as a whole"
    few = Limits(expansion=100, expansion_floor=1 << 20)
    assert codes(data, limits=few) == {"ZS-501"}
    with reader(data, limits=few) as archive, pytest.raises(ExhumeError) as caught:
        archive.count()
    assert caught.value.code == "ZS-501"


def test_bomb_is_counted_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "LARGE_PAYLOAD", 1 << 20)
    payload = records(bytes(32 << 20))
    stored = deflate(payload)
    file = File(codec=b"deflate")
    place = file.block(0, payload, stored=stored)
    index = entries((b"", *place))
    data = file.finish(file.block(1, index, stored=deflate(index)))
    size = len(payload)
    del payload
    tracemalloc.start()
    assert codes(data, limits=Limits(expansion=100, expansion_floor=30 << 20)) == {"ZS-501"}
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 12 << 20
    assert codes(data) == set()
    with reader(data) as archive:
        assert archive.stats()["data_payload_bytes"] == size


def test_index_of_too_many_entries_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "MAX_INDEX_ENTRIES", 500)
    file = File()
    place = file.data(b"a")
    payload = entries((b"", *place))
    root = file.block(1, payload * 501)
    data = file.finish(root)
    assert "ZS-503" in codes(data)
    with reader(data) as archive, pytest.raises(ExhumeError) as caught:
        list(archive.records(prefix=b"a"))
    assert caught.value.code == "ZS-503"


def test_hostile_claims_cost_nothing() -> None:
    tracemalloc.start()
    begin = time.process_time()
    for name in ("header-size-huge", "metadata-size-huge", "block-length-huge", "entry-key-cut", "integer-too-large"):
        code, data = BROKEN[name]
        assert code in codes(data)
    spent = time.process_time() - begin
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 << 20
    assert spent < 5


def test_pending_references_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(references, "MAX_PENDING", 5)
    file = File()
    targets = [(b"", file.start + 400 + n, 12) for n in range(20)]
    root = file.block(1, entries(*targets))
    file.raw(bytes(2000))
    assert "ZS-502" in codes(file.finish(root))


def test_carving_looks_at_the_records() -> None:
    [found] = exhume.carve(bytes(100) + BROKEN["record-order"][1])
    assert (found.offset, found.verdict) == (100, "damaged")
    assert [finding.code for finding in found.findings] == ["ZS-320"]


def test_directory_is_not_zs(tmp_path: Path) -> None:
    assert codes(tmp_path) == {"ZS-101"}
    with pytest.raises(ExhumeError) as caught:
        exhume.open(tmp_path, format="zs")
    assert caught.value.code == "ZS-101"


def test_flip_helper_changes_what_it_states() -> None:
    data = simple()
    assert codes(flip(data, 110)) != set()


def test_deep_index_is_followed() -> None:
    file = File()
    place = file.data(WORDS[0])
    for level in range(1, 64):
        place = file.index(level, (b"", place))
    data = file.finish(place)
    assert codes(data) == set()
    with reader(data) as archive:
        assert list(archive.records(prefix=WORDS[0])) == [WORDS[0]]


@pytest.mark.parametrize("metadata", [b'{"a":' + b"9" * 5000 + b"}", b'{"a":1e999}', b'{"a":-1e999}'])
def test_numbers_that_only_json_allows_are_not_checked(metadata: bytes) -> None:
    found = exhume.verify(simple(File(metadata=metadata)), format="zs")
    assert ([one.code for one in found], str(found.verdict)) == (["ZS-504"], "incomplete")
