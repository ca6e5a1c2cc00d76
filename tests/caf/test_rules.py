"""Every rule has a sample that breaks it; the reader's error and the verifier's finding agree."""

from __future__ import annotations

from pathlib import Path

import pytest

import exhume
from exhume.errors import ExhumeError
from exhume.findings import Severity
from exhume.formats.caf.checks import RULES

from .make_samples import BROKEN


@pytest.mark.parametrize("name", BROKEN)
def test_sample_breaks_its_rule(samples: Path, name: str) -> None:
    code, data = BROKEN[name]
    path = samples / "caf" / "broken" / f"{name}.caf"
    assert path.read_bytes() == data, "run: make samples"
    found = {finding.code: finding for finding in exhume.verify(path, format="caf")}
    assert code in found
    finding = found[code]
    assert finding.span is not None
    assert 0 <= finding.span.start <= finding.span.end <= len(data)
    assert "\n" not in str(finding)
    others = {other for other, f in found.items() if f.severity is Severity.ERROR} - {code}
    assert not others, others


@pytest.mark.parametrize("name", [name for name, (code, _) in BROKEN.items() if code < "CAF-303"])
def test_reader_raises_what_verify_finds(name: str) -> None:
    code, data = BROKEN[name]
    with pytest.raises(ExhumeError) as caught:
        exhume.open(data, format="caf")
    assert caught.value.code == code
    [finding] = [f for f in exhume.verify(data, format="caf") if f.code == code]
    assert str(finding) == str(caught.value)


def test_every_rule_has_a_sample() -> None:
    assert {rule.code for rule in RULES} == {code for code, _ in BROKEN.values()} | {"CAF-404"}


def test_chunk_above_the_hard_limit(tmp_path: Path) -> None:
    _, data = BROKEN["gap"]
    path = tmp_path / "sparse.caf"
    tail = data[64:]
    with path.open("wb") as file:
        file.write(data[:64])
        file.seek(33 << 30)
        file.write(tail)
    codes = {finding.code for finding in exhume.verify(path)}
    assert {"CAF-404", "CAF-316"} <= codes
    with exhume.open(path) as archive:
        assert archive.read_member("a.txt") == data[:20]  # type: ignore[attr-defined]


def test_unknown_version_on_request() -> None:
    _, data = BROKEN["version-3"]
    with exhume.open(data, format="caf", any_version=True) as archive:
        assert archive.read_member("a.txt") == data[:20]  # type: ignore[attr-defined]
