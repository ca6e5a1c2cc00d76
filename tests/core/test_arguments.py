"""Arguments that mean nothing, or would have no effect, are refused by the call that they are given to."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.choices import near
from exhume.engines.explain import Selection
from exhume.errors import QueryError, SourceError, WriterError
from tests.conftest import ROOT

SAMPLES = ROOT / "tests/samples"
ZS, CAF, CLPS = SAMPLES / "zs/words-none.zs", SAMPLES / "caf/sorted.caf", SAMPLES / "clp_s/demo.clps"
KVIR, BUNDLE = SAMPLES / "kv_ir/small.clp", SAMPLES / "data_bundle/zlib"
DATABASE, LOG = SAMPLES / "leveldb/small", SAMPLES / "ark/log"

READING: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "events": (
        lambda: exhume.clps.open(CLPS).events(ignore_case=True), QueryError, "ignore_case has no effect without a query"
    ),
    "json_lines": (
        lambda: exhume.clps.open(CLPS).json_lines(ignore_case=True), QueryError, "no effect without a query"
    ),
    "arrow": (lambda: exhume.clps.open(CLPS).to_arrow(ignore_case=True), QueryError, "no effect without a query"),
    "dataset": (lambda: exhume.clps.open(CLPS).to_dataset(ignore_case=True), QueryError, "no effect without a query"),
    "times": (lambda: exhume.clps.open(CLPS).search("*", begin_ms=5, end_ms=1), QueryError, "begin_ms is after end_ms"),
    "pairs": (lambda: exhume.kvir.open(KVIR).json_lines(pairs="users"), QueryError, "did you mean 'user'"),
    "pairs of a search": (lambda: exhume.kvir.open(KVIR).search("*", pairs="all"), QueryError, "user, auto, both"),
    "timestamp_key": (lambda: exhume.kvir.open(KVIR).search("*", timestamp_key="t"), QueryError, "begin_ms or end_ms"),
    "query": (lambda: exhume.kvir.open(KVIR).search("level = ERROR"), QueryError, "did you mean"),
    "errors": (lambda: exhume.zs.open(ZS).to_arrow(text=True, errors="skip"), QueryError, "one of raise, replace"),  # type: ignore[arg-type]
    "errors of bytes": (lambda: exhume.zs.open(ZS).to_arrow(errors="replace"), QueryError, "without text or split"),
    "framing": (
        lambda: exhume.zs.open(ZS).dump(io.BytesIO(), terminator=b";", length_prefixed="u64le"), WriterError, "exclude"
    ),
    "on_error": (lambda: exhume.ark.open(LOG).messages(on_error="ignore"), QueryError, "one of raise, skip"),  # type: ignore[arg-type]
    "on_missing": (lambda: exhume.ark.open(LOG, on_missing="skips"), QueryError, "did you mean 'skip'"),  # type: ignore[arg-type]
    "sequence_rule": (
        lambda: exhume.open(DATABASE, sequence_rule="per-bach"),  # type: ignore[call-overload]
        QueryError,
        "did you mean 'per-batch'",
    ),
    "sequence_rule of a bundle": (
        lambda: exhume.open(BUNDLE, sequence_rule="batch"),  # type: ignore[call-overload]
        QueryError,
        "per-operation, per-batch",
    ),
    "size of parts": (lambda: exhume.open(ZS).partitions(0), QueryError, "at least 1 byte"),
    "options of parts": (lambda: exhume.open(ZS).partitions(perfix=b"a"), TypeError, "did you mean 'prefix'"),  # type: ignore[call-arg]
    "format": (lambda: exhume.open(ZS, format=""), exhume.ExhumeError, "unknown format"),
    "swapped letters": (lambda: exhume.open(ZS, format="sz"), exhume.ExhumeError, "did you mean 'zs'"),
    "text file": (lambda: exhume.open(io.StringIO("x")), SourceError, "not open in binary mode"),  # type: ignore[call-overload]
    "damaged": (lambda: exhume.explain(ZS, damaged=True), TypeError, "takes no argument 'damaged'"),  # type: ignore[call-arg]
    "ksy": (
        lambda: exhume.explain(ZS, ksy=exhume.compile_ksy(ROOT / "ksy/zs.ksy"), findings=[]), TypeError, "findings or"
    ),
    "section": (lambda: Selection(section="header", start=1), QueryError, "exclude each other"),
    "confidence": (lambda: exhume.carve(ZS, min_confidence=95), QueryError, "expected 0 to 1"),
    "only": (lambda: exhume.carve(ZS, only=["cfa"]), exhume.ExhumeError, "did you mean 'caf'"),
    "jobs": (lambda: list(exhume.zs.open(ZS).records(jobs=-1)), ValueError, "0 for one per core"),
}  # fmt: skip


@pytest.mark.parametrize("case", READING)
def test_what_means_nothing_is_refused(case: str) -> None:
    call, kind, reported = READING[case]
    with pytest.raises(kind, match=reported):
        call()


@pytest.mark.parametrize("path", [ZS, CAF, CLPS, KVIR, DATABASE, BUNDLE])
@pytest.mark.parametrize("rows", [0, -1])
def test_a_batch_has_rows(path: Path, rows: int) -> None:
    with exhume.open(path) as archive, pytest.raises(QueryError, match="at least 1 row"):
        archive.to_arrow(batch_rows=rows)


def test_a_batch_of_messages_has_rows() -> None:
    with exhume.ark.open(LOG) as log, pytest.raises(QueryError, match="at least 1 row"):
        log.to_arrow(topic="/nav/pose", batch_rows=0)


@pytest.mark.parametrize(
    ("path", "options", "reported"),
    [
        (ZS, {"stored": True, "codec": "deflate", "level": "9"}, "stored payloads have no compression level"),
        (CLPS, {"stored": True, "level": "9"}, "stored payloads have no compression level"),
        (BUNDLE, {"codec": "none", "level": "3"}, "the codec none has no compression level"),
        (KVIR, {"codec": "none", "level": 3}, "the codec none has no compression level"),
    ],
)
def test_recoding_refuses_a_level_without_effect(
    path: Path, options: dict[str, Any], reported: str, tmp_path: Path
) -> None:
    with pytest.raises(WriterError, match=reported):
        exhume.recode(path, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("format", "options", "reported"),
    [
        ("databundle", {"compression": "none", "level": 3}, "the compression none has no level"),
        ("databundle", {"stored": True, "level": 3}, "stored records have no level"),
        ("kv-ir", {"codec": "none", "level": 3}, "the codec none has no compression level"),
        ("clp-ir", {"codec": "none", "level": 3}, "the codec none has no compression level"),
        ("ark", {"compression": "ztsd"}, "did you mean 'zstd'"),
    ],
)
def test_writers_refuse_what_has_no_effect(format: str, options: dict[str, Any], reported: str, tmp_path: Path) -> None:
    with pytest.raises(WriterError, match=reported):
        exhume.create(tmp_path / "out", format, **options)
    assert not (tmp_path / "out").exists()


def test_a_column_without_compression_has_no_level(tmp_path: Path) -> None:
    with exhume.ark.create(tmp_path / "out") as log, pytest.raises(WriterError, match="has no level"):
        log.column("main", "none", level=3)


def test_a_range_may_be_open(tmp_path: Path) -> None:
    names = [one.section.name for one in exhume.explain(ZS)]
    assert [one.section.name for one in exhume.explain(ZS, selection=Selection(start=0))] == names
    last = exhume.open(ZS).sections()[-1].span.start
    assert [one.section.name for one in exhume.explain(ZS, selection=Selection(start=last))] == names[-1:]
    assert [one.section.name for one in exhume.explain(ZS, selection=Selection(end=1))] == names[:1]


def test_the_mode_of_salvage_may_be_a_text(tmp_path: Path) -> None:
    report = exhume.salvage(CAF, tmp_path / "out", mode="files")  # type: ignore[arg-type]
    assert (tmp_path / "out").is_dir()
    assert report.complete
    with pytest.raises(QueryError, match="did you mean 'files'"):
        exhume.salvage(CAF, tmp_path / "more", mode="file")  # type: ignore[arg-type]


def test_hints_know_swapped_letters() -> None:
    assert near("sz", ["zs", "caf"]) == "zs"
    assert near("q", ["zs"]) is None
