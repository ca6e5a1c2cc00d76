"""The multi-pattern scanner: every hit once, whatever the windows."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.engines.carve import Scanner
from exhume.errors import MissingDependencyError
from exhume.io.source import BytesSource
from exhume.native import kernel, pykernel
from exhume.registry import formats

PATTERNS = [b"ab", b"aba", b"\x00\xff", b"(.*)"]

ENGINES = [
    "kernel",
    pytest.param(
        "pyperscan",
        marks=pytest.mark.skipif(
            importlib.util.find_spec("pyperscan") is None, reason="pyperscan (extra carve) is not installed"
        ),
    ),
]


@pytest.mark.parametrize("engine", ENGINES)
@given(
    data=st.lists(st.sampled_from([b"a", b"b", b"\0", b"\xff", b"(.*)", b"z"])).map(b"".join), window=st.integers(1, 9)
)
def test_every_occurrence_is_found_once(engine: str, data: bytes, window: int) -> None:
    expected = sorted(
        (at, index) for index, p in enumerate(PATTERNS) for at in range(len(data)) if data.startswith(p, at)
    )
    got = list(Scanner(PATTERNS, engine=engine).scan(BytesSource(data), 0, len(data), window))
    assert sorted(got) == expected
    assert [hit for hit, _ in got] == sorted(hit for hit, _ in got)


MAGICS = [signature.magic for described in formats().values() for signature in described.signatures]


@given(data=st.data())
def test_both_kernels_find_the_same(data: st.DataObject) -> None:
    """Occurrences around the borders of the blocks that the compiled kernel marks at once, and at both ends."""
    patterns = data.draw(
        st.one_of(st.just(MAGICS), st.lists(st.binary(min_size=1, max_size=9), min_size=1, max_size=6))
    )
    text = bytearray(data.draw(st.sampled_from([b"\0", b"\xff", b"ab", b"\xd1\x01"])) * data.draw(st.integers(0, 900)))
    for _ in range(data.draw(st.integers(0, 6))):
        pattern = data.draw(st.sampled_from(patterns))
        at = data.draw(st.one_of(st.integers(0, len(text)), st.integers(500, 520), st.integers(1012, 1032)))
        text[at : at + len(pattern)] = pattern
    assert kernel.find_patterns(text, patterns) == pykernel.find_patterns(text, patterns)


def test_every_hit_of_a_dense_text_is_found() -> None:
    assert kernel.find_patterns(b"a" * 5000, [b"a", b"aa"]) == pykernel.find_patterns(b"a" * 5000, [b"a", b"aa"])


def test_spans_and_progress() -> None:
    seen: list[tuple[int, int | None, str]] = []
    scanner = Scanner([b"xy"], engine="kernel")
    assert scanner.engine == "kernel"
    source = BytesSource(b"xyxyxyxy")
    assert list(scanner.scan(source, 2, 5, 2, lambda *a: seen.append(a))) == [(2, 0), (4, 0)]
    assert seen == [(2, 3, "bytes"), (3, 3, "bytes")]


class Sparse(BytesSource):
    """Bytes whose aligned groups of four zeros are holes."""

    def stored(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        data = self.read_at(0, self.size)
        pages = [at for at in range(0, len(data), 4) if any(data[at : at + 4])]
        for at in pages:
            if max(at, start) < min(at + 4, end):
                yield max(at, start), min(at + 4, end)


@given(data=st.lists(st.sampled_from([b"\0" * 9, b"\0", b"a", b"ab"])).map(b"".join), window=st.integers(1, 9))
@pytest.mark.parametrize("patterns", [[b"ab", b"\0\0a", b"a\0"], [b"ab", b"\0\0"]], ids=["magics", "zeros"])
def test_nothing_is_missed_at_the_border_of_a_hole(patterns: list[bytes], data: bytes, window: int) -> None:
    for start, stop in ((0, len(data)), (3, max(3, len(data) - 2))):
        got = list(Scanner(patterns).scan(Sparse(data), start, stop, window))
        assert got == list(Scanner(patterns).scan(BytesSource(data), start, stop, window))


def test_bad_patterns_and_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    for bad in ([], [b""]):
        with pytest.raises(ValueError, match="must not be empty"):
            Scanner(bad)
    monkeypatch.setattr("exhume.engines.carve._hyperscan", lambda patterns: None)
    with pytest.raises(MissingDependencyError, match="exhume\\[carve\\]"):
        Scanner([b"x"], engine="pyperscan")
