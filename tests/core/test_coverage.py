"""Coverage from fast readers is what the fields of every section, laid side by side, say: of damage as well."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from exhume_ksy.facts._tiling import ROWS, TILING

import exhume
from exhume.compiler.emit.tiling import tiling_text
from exhume.compiler.front.specs import Model
from exhume.engines import coverage as engine
from exhume.engines.coverage import FieldCoverage, coverage
from exhume.engines.explained import explain_section
from exhume.engines.inspect import inspect_archive
from exhume.errors import ExhumeError
from exhume.layout.fast import claimed
from tests.archives import label, own_archives, real_archives
from tests.broken import broken
from tests.sizes import size

Spec = dict[str, Any]


def by_fields(archive: Any, patch: pytest.MonkeyPatch) -> FieldCoverage:
    """The same, computed from the field tree of every section."""
    with patch.context() as patched:
        patched.setattr(engine, "claimed", lambda *_: False)
        found = archive.sections()
        patched.setattr(found, "parts", [one._replace(claims=None) for one in found])
        patched.setattr(archive, "sections", lambda jobs=1: found)
        return coverage(archive)


@pytest.mark.parametrize("path", [*own_archives(), *real_archives()][:: size(2, 1)], ids=label)
@pytest.mark.bulk
def test_it_is_what_the_fields_state(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with exhume.open(path) as archive:
        assert coverage(archive) == by_fields(archive, monkeypatch)


@pytest.mark.parametrize("format", ["zs", "clp-ir", "clp-s", "kv-ir", "ark", "caf", "databundle", "leveldb"])
@pytest.mark.slow
def test_it_is_what_the_fields_state_of_damage(format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compared = 0
    for number, one in enumerate(list(broken(format).values())[:: size(5, 1)]):
        with one.target(tmp_path / str(number)) as target:
            try:
                archive = inspect_archive(target, format=format, limits=one.limits)
            except ExhumeError:
                continue
            with archive:
                assert coverage(archive) == by_fields(archive, monkeypatch)
                compared += 1
    assert compared > 5


def test_what_there_is_much_of_needs_no_field_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    requested: set[str | None] = set()
    real = explain_section

    def explained(found: Any, one: Any, **how: Any) -> Any:
        requested.add(one.schema)
        return real(found, one, **how)

    monkeypatch.setattr(engine, "explain_section", explained)
    for path in own_archives():
        with exhume.open(path) as archive:
            coverage(archive)
    many = {"zs::block", "zstd_frame", "clp_s_dictionary", "ark_split::entry_list", "clp_kv_ir::units", "clp_ir::units"}
    assert requested
    assert requested.isdisjoint(many | {"leveldb_log", "leveldb_data_block", "leveldb_table::block_trailer"})


def spec(seq: list[Any], **more: Any) -> Spec:
    return {"meta": {"id": "one", "endian": "le"}, "seq": seq, **more}


def tiling(found: Spec) -> dict[str, Any]:
    """The tables of a specification."""
    names: dict[str, Any] = {}
    exec(tiling_text(Model({"one": found})), names)
    return names


def test_what_leaves_no_byte_out() -> None:
    inner = {"pair": {"seq": [{"id": "a", "type": "u1"}, {"id": "b", "type": "u2"}]}}
    open_end = {"rest": {"seq": [{"id": "a", "type": "u1"}, {"id": "bytes", "size-eos": True}]}}
    flat = [{"id": "n", "type": "u4"}, {"id": "data", "size": "n"}, {"id": "p", "type": "pair"}]
    assert set(tiling(spec(flat, types=inner))["TILING"]) == {"one", "one::pair"}
    sized = [{"id": "p", "type": "pair", "size": 8}]
    assert set(tiling(spec(sized, types=inner))["TILING"]) == {"one::pair"}, "five bytes of `p` have no field"
    filled = [{"id": "p", "type": "rest", "size": 8}]
    assert set(tiling(spec(filled, types=open_end))["TILING"]) == {"one", "one::rest"}
    listed = spec([], instances={"all": {"pos": 0, "type": "pair", "repeat": "eos"}}, types=inner)
    assert tiling(listed)["TILING"]["one"] == ("one", "read_one", "all")
    later = spec([], instances={"all": {"pos": 4, "type": "pair", "repeat": "eos"}}, types=inner)
    assert "one" not in tiling(later)["TILING"], "four bytes before it have no field"
    cut = [
        {"id": "t", "type": "u1"},
        {"id": "p", "size": 9, "type": {"switch-on": "t", "cases": {1: "pair", 2: "rest"}}},
    ]
    assert "one" not in tiling(spec(cut, types=inner | open_end))["TILING"], "one of the cases leaves bytes out"


def test_rows_of_one_size_without_rules_are_counted() -> None:
    rows = [{"id": "rows", "type": "pair", "repeat": "eos"}]
    plain = {"pair": {"seq": [{"id": "a", "type": "u1"}, {"id": "b", "type": "u2"}]}}
    assert tiling(spec(rows, types=plain))["ROWS"] == {"one": 3}
    ruled = {"pair": {"seq": [{"id": "a", "type": "u1", "valid": 7}, {"id": "b", "type": "u2"}]}}
    assert not tiling(spec(rows, types=ruled))["ROWS"], "a value may not fit"
    assert tiling(spec(rows, types=plain))["SIZES"] == {"one::pair": 3}
    assert not tiling(spec(rows, types=ruled))["SIZES"]
    open_end = {"rest": {"seq": [{"id": "a", "type": "u1"}, {"id": "bytes", "size-eos": True}]}}
    assert not tiling(spec([{"id": "r", "type": "rest"}], types=open_end))["SIZES"], "it has any size"


def test_bytes_are_read_only_where_they_have_to_be() -> None:
    def unread() -> bytes:
        pytest.fail("bytes were read")

    size = ROWS["ark_split::entry_list"]
    assert claimed("ark_split::entry_list", 1000 * size, 0, unread)
    assert not claimed("ark_split::entry_list", 1000 * size + 1, 0, unread)
    assert claimed("leveldb_table::block_trailer", 5, 0, unread)
    assert not claimed("leveldb_table::block_trailer", 10, 0, unread)
    assert "zs::block" in TILING
    assert not claimed("zs::block", 100, 99, unread), "more than may be held"
    assert not claimed("leveldb_block", 100, 1000, unread), "nothing is known of it"
    assert not claimed("zs::block", 3, 1000, lambda: b"\x7f\0\0"), "it does not fit"
    assert not claimed("zs::block", 14, 1000, lambda: b"\x02\0\0" + bytes(11)), "bytes are left over"
