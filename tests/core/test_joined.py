"""Small values that are joined to chunks, up to an error."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from exhume.io.values import joined


def parts(count: int, error: Exception | None = None) -> Iterator[bytes]:
    for number in range(count):
        yield b"%d," % number
    if error is not None:
        raise error


@pytest.mark.parametrize("count", [0, 1, 3, 4, 7])
def test_parts_are_joined(count: int) -> None:
    assert b"".join(joined(parts(count), 3)) == b"".join(parts(count))
    assert len(list(joined(parts(count), 3))) == -(-count // 3)


@pytest.mark.parametrize("count", [0, 1, 3, 4, 7])
def test_parts_before_an_error_come_first(count: int) -> None:
    found = joined(parts(count, ValueError("x")), 3)
    got: list[bytes] = []
    with pytest.raises(ValueError, match="x"):
        got.extend(found)
    assert all(got)
    assert b"".join(got) == b"".join(parts(count))


def test_empty_parts_do_not_end_it() -> None:
    assert list(joined([b"", b"", b"", b"x"], 3)) == [b"", b"x"]
