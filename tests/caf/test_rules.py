"""Every rule has a sample that breaks it; the reader's error and the verifier's finding agree."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

import exhume
from exhume.errors import ExhumeError
from exhume.findings import Severity
from exhume.formats.caf import layout, verify
from exhume.formats.caf.checks import RULES
from exhume.formats.caf.reader import CafArchive
from exhume.limits import Limits

from .make_samples import BROKEN, DATA, TREE, VARIANTS, chunk, index_of


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
        assert "CAF-105" in {finding.code for finding in archive.verify()}
        assert archive.read_member("a.txt") == data[:20]


@pytest.mark.parametrize(
    ("name", "gaps"),
    [
        ("same-range", []),
        ("contained", []),
        ("empty-inside", []),
        ("gap-first", [(0, 4)]),
        ("gap-of-one", [(20, 21)]),
        ("long-gap", [(20, 30), (60, 64)]),
        ("nothing-inside", [(0, 64)]),
    ],
)
def test_bytes_that_no_file_covers(name: str, gaps: list[tuple[int, int]]) -> None:
    with exhume.open(VARIANTS[name], format="caf") as archive:
        assert isinstance(archive, CafArchive)
        assert verify.unreferenced(archive.index, len(DATA)) == gaps
        assert archive.info().to_dict()["unreferenced"] == sum(end - start for start, end in gaps)


def test_progress_is_reported_in_steps(samples: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "STEP", 3)
    reported: list[tuple[int, int, str]] = []
    list(exhume.verify(samples / "caf" / "sorted.caf", progress=lambda *at: reported.append(at)))
    assert reported == [(done, len(TREE), "entries") for done in (0, 3, 6, 8)]


@pytest.mark.parametrize(("name", "codes"), [("version-3", ["EX-501"]), ("trailing-newline", ["CAF-107", "EX-501"])])
def test_limits_apply_where_it_is_opened_again(name: str, codes: list[str]) -> None:
    found = exhume.verify(BROKEN[name][1], format="caf", limits=Limits(index_size=10))
    assert [finding.code for finding in found] == codes


def test_answers_are_yes_or_no() -> None:
    assert [verify.has_lone_surrogate(name) for name in ("a", "é", "\ud83d")] == [False, False, True]
    assert verify.ends_are_inclusive([(0, 31, 0), (32, 63, 1)], 64) is True
    assert verify.ends_are_inclusive([(0, 63, 0)], 64) is False


def test_the_limits_of_the_specification() -> None:
    """The footer has 32 bits; `{"format_version":"1.0","files":{}}` has 35 bytes; 30 GiB recommended, 32 allowed."""
    assert layout.MAX_INDEX == 2**32 - 1
    assert len(b'{"format_version":"1.0","files":{}}') == layout.MIN_INDEX
    assert (layout.DEFAULT_CHUNK, layout.HARD_LIMIT) == (32_212_254_720, 34_359_738_368)
    shortest = chunk(index_of(), b"")
    assert len(shortest) == layout.MIN_INDEX + layout.FOOTER_SIZE
    assert list(exhume.verify(shortest, format="caf")) == []


def test_clashes_are_those_of_all_names_with_each_other() -> None:
    """In any order of the names, also where the first one of all clashes."""
    for names in itertools.permutations(["a", "a/b", "a/b/c", "a/d", "ab", "c/d"]):
        numbers = {name: number for number, name in enumerate(names)}
        found = []
        for name, number in numbers.items():
            within = [other for one, other in numbers.items() if one.startswith(f"{name}/")]
            found += [(min(within), -len(name), number)] if within else []
        assert len(found) == 2
        expected = [(first, number) for first, _, number in sorted(found)]
        assert verify.clashes(list(numbers.items())) == expected


def test_an_unsafe_name_clashes_with_no_other() -> None:
    data = chunk(index_of(("../a", 0, 20), ("../a/b", 20, 64)))
    assert [finding.code for finding in exhume.verify(data, format="caf")] == ["CAF-501", "CAF-501"]
