"""What `info` counts, and what it marks as an estimate when splits are missing, damaged or cut by a filter."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import exhume
from exhume.formats.ark.derive import write_snippet
from exhume.formats.ark.info import StatisticsTrust, build_info
from exhume.formats.ark.manifest import LoadedManifest
from exhume.formats.ark.reader import ArkArchive
from exhume.formats.ark.writer import ArkWriter
from tests.archives import OWN
from tests.ark.logs import REGISTRY, TYPE, counted_guids, message
from tests.conftest import Ran


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Twenty messages from 100 ns on, every 10 ns, by turns in two columns."""
    with ArkWriter(tmp_path / "log", guids=counted_guids()) as log:
        channels = (log.channel("/a", TYPE, REGISTRY), log.channel("/b", TYPE, REGISTRY, column="other"))
        for number in range(20):
            channels[number % 2].write(100 + number * 10, message(number, 5))
    return tmp_path / "log"


def without_statistics(loaded: LoadedManifest) -> LoadedManifest:
    manifest = loaded.manifest
    sections = tuple(
        section._replace(
            columns=tuple(
                column._replace(splits=tuple(split._replace(statistics=()) for split in column.splits))
                for column in section.columns
            ),
        )
        for section in manifest.sections
    )
    return loaded._replace(manifest=manifest._replace(sections=sections))


def rows(reader: ArkArchive, trust: StatisticsTrust = StatisticsTrust.NONE) -> list[tuple[str, int, bool]]:
    return [(row.name, row.count, row.is_estimate) for row in build_info(reader, trust).channels]


def split_of(root: Path, column: str) -> Path:
    with exhume.open(root) as log:
        assert isinstance(log, ArkArchive)
        return root / next(f"splits/{each.identifier}" for each in log.references if each.column.name == column)


def test_indexes_and_sound_statistics_agree(root: Path) -> None:
    with exhume.open(root) as log:
        assert isinstance(log, ArkArchive)
        whole = [("/a", 10, False), ("/b", 10, False)]
        assert rows(log) == rows(log, StatisticsTrust.EXACT) == rows(log, StatisticsTrust.ALL) == whole
        assert build_info(log) == build_info(log, StatisticsTrust.ALL) == log.info()


def test_without_statistics(root: Path) -> None:
    with exhume.open(root) as log:
        assert isinstance(log, ArkArchive)
        log.loaded = without_statistics(log.loaded)
        assert rows(log, StatisticsTrust.EXACT) == [("/a", 10, False), ("/b", 10, False)]
        assert rows(log, StatisticsTrust.ALL) == [("/a", 0, True), ("/b", 0, True)]


def test_a_channel_that_is_not_there(root: Path, exhume_cli: Callable[..., Ran]) -> None:
    for words in (["cat", root, "--topic", "/c"], ["search", root, "/c"]):
        ran = exhume_cli(*words)
        assert (ran.code, ran.out, ran.err) == (0, b"", "exhume: no channel matches /c: there are /a, /b\n")
    assert exhume_cli("search", root, "/c", "--exit-code").code == 4
    assert exhume_cli("cat", root, "--topic", "/[ac]").err == ""
    for form in ("jsonl", "csv", "mcap"):
        ran = exhume_cli("export", root, "--to", form, "--topic", "/c", "-o", root / f"none.{form}")
        assert "no channel matches /c: there are /a, /b" in ran.err


@pytest.mark.parametrize("damage", ["missing", "empty"])
def test_splits_that_cannot_be_used(root: Path, damage: str) -> None:
    split = split_of(root, "other")
    split.unlink() if damage == "missing" else split.write_bytes(b"")
    with exhume.open(root) as log:
        assert isinstance(log, ArkArchive)
        assert rows(log) == [("/a", 10, False), ("/b", 10, True)]
        assert log.info().missing_splits == ((split.name,) if damage == "missing" else ())
        good, bad = log.stats()["split_indexes"]
        assert (good["column"], good["messages"], good["minimum_ns"], good["maximum_ns"], good["sorted"]) == (
            "main", 10, 100, 280, True,
        )  # fmt: skip
        assert (bad["split"], bad["section"], bad["column"]) == (split.name, 0, "other")
        assert bad["problem"]
        log.loaded = without_statistics(log.loaded)
    with exhume.open(root) as log:
        assert isinstance(log, ArkArchive)
        log.loaded = without_statistics(log.loaded)
        assert rows(log) == [("/a", 10, False), ("/b", 0, True)]


@pytest.mark.parametrize(
    ("start", "stop", "counts", "cut"),
    [(None, None, 10, False), (100, 301, 10, False), (145, 215, 10, True), (295, 400, 0, False), (1, 90, 0, False)],
)
def test_filters(root: Path, start: int | None, stop: int | None, counts: int, cut: bool) -> None:
    """By statistics alone a split that a filter cuts counts in full, marked; one that it hides counts nothing."""
    with exhume.open(root) as log:
        assert isinstance(log, ArkArchive)
        path = write_snippet(log, start_ns=start, stop_ns=stop).path
    with exhume.open(path) as part:
        assert isinstance(part, ArkArchive)
        expected = sum((start or 0) <= at < (stop or 1000) for at in range(100, 300, 10))
        assert (
            sum(count for _, count, _ in rows(part))
            == expected
            == sum(n for _, n, _ in rows(part, StatisticsTrust.EXACT))
        )
        assert rows(part, StatisticsTrust.ALL) == [("/a", counts, cut), ("/b", counts, cut)]
        estimate = build_info(part, StatisticsTrust.ALL)
        if cut:
            assert start is not None
            assert stop is not None
            assert (estimate.minimum_ns, estimate.maximum_ns) == (start, stop - 1)
        else:
            assert estimate == build_info(part)


@pytest.mark.parametrize("cut", [slice(9, None), slice(0, -9)])
def test_damage_of_a_log_among_several_is_reported(cut: slice, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    shutil.copytree(OWN / "ark" / "amended", logs)
    manifest = logs / "manifests" / "00000000-0000-4000-8000-000000000001"
    manifest.write_bytes(manifest.read_bytes()[cut])
    with exhume.open(logs, format="ark") as archive:
        info = archive.info()
    assert [one.span and Path(one.span.source).name for one in info.findings] == [manifest.name]
    assert all(one.is_problem for one in info.findings)
