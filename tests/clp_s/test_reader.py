"""Real archives read to the exact text of `clp-s x`, and the reader's nouns on them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from exhume.errors import ExhumeError
from exhume.formats.clp_s.reader import ClpSArchive, open_archive
from exhume.io.local import FileSource
from tests.real import RealSamples
from tests.sizes import some


def cases(root: RealSamples) -> list[Path]:
    """Sample folders that hold at least one archive."""
    return sorted(meta.parent for meta in root.glob("clp_s/*/*/meta.json") if list(meta.parent.glob("*.clps")))


def test_records_with_equal_keys_are_refused_with_the_reason(real_samples: RealSamples) -> None:
    """clp-s stores fewer columns for them than their schema names, and cannot read its own archive either."""
    seen = 0
    for path in real_samples.glob("clp_s/*/dup-keys-same/*.clps"):
        with open_archive(FileSource(path)) as archive:
            with pytest.raises(ExhumeError, match="twice, as of records with two equal keys") as caught:
                list(archive.events())
            assert caught.value.code == "CLPS-335"
            assert caught.value.span is not None
            codes = [finding.code for finding in archive.verify()]
            assert "CLPS-335" in codes
        seen += 1
    assert seen


def test_an_archive_without_records_returns_none(real_samples: RealSamples) -> None:
    """clp-s fails on its own archive of an empty input."""
    seen = 0
    for path in real_samples.glob("clp_s/*/empty/*.clps"):
        with open_archive(FileSource(path)) as archive:
            assert list(archive.events()) == []
            assert b"".join(archive.json_chunks(ordered=True)) == b""
            assert archive.num_messages == 0
        seen += 1
    assert seen


def open_all(case: Path) -> tuple[dict[str, Any], list[ClpSArchive]]:
    meta = json.loads((case / "meta.json").read_text())
    return meta, [open_archive(FileSource(case / item["file"])) for item in meta["archives"]]


@pytest.mark.parametrize("ordered", [False, True], ids=["tables", "ordered"])
@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.slow
def test_prints_what_upstream_prints(real_samples: RealSamples, ordered: bool, jobs: int) -> None:
    seen = 0
    for case in cases(real_samples):
        meta, archives = open_all(case)
        if any(item["x"]["rc"] for item in meta["archives"]):
            continue
        expected = (case / ("expected.ordered.jsonl" if ordered else "expected.jsonl")).read_bytes()
        text = b"".join(chunk for a in archives for chunk in a.json_chunks(ordered=ordered, jobs=jobs))
        assert text == expected, case
        if jobs == 1:
            assert b"".join(line for a in archives for line in a.json_lines(ordered=ordered)) == expected, case
        seen += 1
    assert seen > 60


def test_what_upstream_cannot_read_is_read_or_refused_with_a_reason(real_samples: RealSamples) -> None:
    opened = ((case, *open_all(case)) for case in cases(real_samples))
    for case, _, archives in some(one for one in opened if any(item["x"]["rc"] for item in one[1]["archives"])):
        if case.name == "empty":
            assert [list(a.json_chunks()) for a in archives] == [[]]
        else:
            with pytest.raises(ExhumeError) as caught:
                list(archives[0].json_chunks())
            assert caught.value.code.startswith("CLPS-")
            assert caught.value.span is not None
