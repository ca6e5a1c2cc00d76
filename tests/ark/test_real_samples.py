"""Logs of an independent writer: everything that their `expected.json` promises."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.errors import ExhumeError
from exhume.findings import Finding, Severity
from exhume.formats.ark.reader import ArkArchive
from tests.ark.samples import assert_message, load, snapshot
from tests.conftest import Ran
from tests.real import REAL, RealSamples

CASES = REAL.cases("ark")


@pytest.fixture(params=CASES or ["none"])
def case(request: pytest.FixtureRequest, real_samples: RealSamples) -> Path:
    return real_samples.path("ark", request.param)


def open_case(case: Path, expected: dict[str, Any], **options: Any) -> ArkArchive:
    reader = exhume.open(case / expected["manifest"], **options)
    assert isinstance(reader, ArkArchive)
    return reader


def good(expected: dict[str, Any]) -> list[dict[str, Any]]:
    bad = set(expected.get("bad_messages", ()))
    return [message for position, message in enumerate(expected["messages"]) if position not in bad]


def test_manifest(case: Path) -> None:
    expected = load(case)
    with open_case(case, expected) as log:
        assert log.manifest.identifier == expected["log_identifier"]
        assert log.manifest.common_identifier == expected["common_identifier"]
        assert log.manifest.name == expected["name"]
        assert log.metadata == expected["metadata"]
        columns = [column for section in log.manifest.sections for column in section.columns]
        assert [
            {
                "name": column.name,
                "compression_type": column.compression,
                "channels": [each.name for each in column.objects],
                "splits": [each.identifier for each in column.splits],
            }
            for column in columns
        ] == [
            {key: column[key] for key in ("name", "compression_type", "channels", "splits")}
            for column in expected["columns"]
        ]


def test_channels(case: Path) -> None:
    expected = load(case)
    if expected.get("bad_messages") or expected["must_fail_open"]:
        pytest.skip("counts of a damaged log depend on what can be read")
    with open_case(case, expected) as log:
        rows = {(row.identifier, row.column): row for row in log.info().channels}
        for channel in expected["channels"]:
            row = rows[channel["guid"], channel["column"]]
            assert row.name == channel["name"]
            assert row.type == channel["type"]
            assert row.latched == channel["latched"]
            assert row.count == channel["count"]
            if channel["count"]:
                assert row.minimum_ns == channel["min_time_ns"]
                assert row.maximum_ns == channel["max_time_ns"]
                assert row.stored_size == channel["stored_bytes"]
            assert log.channel(channel["guid"]).constants == channel.get("constants", {})


def test_messages(case: Path) -> None:
    expected = load(case)
    with open_case(case, expected) as log:
        if expected["must_fail_open"]:
            with pytest.raises(ExhumeError):
                list(log.messages())
        findings: list[Finding] = []
        found = list(log.messages(on_missing="skip", on_error="skip", findings=findings))
        assert len(found) == len(good(expected))
        for message, wanted in zip(found, good(expected), strict=True):
            assert_message(message, wanted)
        if expected.get("bad_messages") and not expected["must_fail_open"]:
            assert findings
            with pytest.raises(ExhumeError):
                list(log.messages())
        backwards = list(log.messages(on_missing="skip", on_error="skip", reverse=True, decode=False))
        assert [m.data for m in reversed(backwards)] == [m.data for m in found]


def test_windows(case: Path) -> None:
    expected = load(case)
    with open_case(case, expected) as log:
        for window in expected["windows"]:
            found = list(
                log.messages(
                    window["topics"],
                    start_ns=window["from_ns"],
                    stop_ns=window["to_ns"],
                    latched=window["latched_replay"],
                )
            )
            replayed = [message for message in found if message.latched]
            assert found[: len(replayed)] == replayed
            for message, position in zip(replayed, window["latched"], strict=True):
                assert_message(message, expected["messages"][position])
            for message, position in zip(found[len(replayed) :], window["messages"], strict=True):
                assert_message(message, expected["messages"][position])


def test_verify(case: Path) -> None:
    expected = load(case)
    before = snapshot(case)
    findings = list(exhume.verify(case / expected["manifest"]))
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    assert bool(errors) == (0 not in expected["verify_exit"]), [str(finding) for finding in findings]
    for promised in expected["verify_must_report"]:
        assert any(_reports(finding, promised) for finding in findings), promised
    assert snapshot(case) == before
    assert {name: facts for name, facts in before.items() if name in expected["files"]} == {
        name: (file["size"], file["sha256"]) for name, file in expected["files"].items()
    }


def _reports(finding: Finding, promised: dict[str, Any]) -> bool:
    if finding.span is None or not finding.span.source.endswith(promised["file"]):
        return False
    return "offset" not in promised or finding.span.start <= promised["offset"] < max(
        finding.span.end, finding.span.start + 1
    )


def test_command_line(case: Path, exhume_cli: Callable[..., Ran]) -> None:
    expected = load(case)
    target = case / expected["manifest"]
    ran = exhume_cli("cat", target)
    if expected["cat_exit_0"] is not True and expected["cat_exit_0"] != "either":
        assert ran.code != 0
        assert ran.err
    if expected["cat_exit_0"] is True:
        assert ran.code == 0, ran.err
        assert len(ran.text.splitlines()) == len(expected["messages"])
    assert exhume_cli("verify", target).code in expected["verify_exit"]
    assert exhume_cli("info", target).code in ((0,) if expected["verify_exit"] == [0] else (0, 3))
    assert exhume_cli("list", "--long", target).code == 0
