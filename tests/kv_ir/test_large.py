"""Strings of a million bytes and more: printed and taken apart without a copy, with the same result as small ones.

Spec: clp-kv-ir, encoded text.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard

import exhume
from exhume.errors import ExhumeError
from exhume.formats.clp_ir.pykernel import ClpIrEncoder as PureClpIrEncoder
from exhume.formats.kv_ir.units import AUTO, USER
from exhume.formats.kv_ir.writer import KvIrWriter
from exhume.io.values import MANY, Gathering
from exhume.native import KERNEL

Cli = Callable[..., Any]

PARTS = [
    *("plain words ", "größe 日本 ", 'quote " and \\ back ', "\x11\x12\x13 ", "12 -7 3.25 ", "key=value7 ", "\n\t\x01"),
    *("0x1f deadbeef ", "99999999999 -0 007 1.50 ", "a" * 5000 + " ", "id_" + "9" * 3000 + " "),
]
"""What strings are made of: literals with what JSON and log types escape, numbers, and words that are variables."""


def long_text(seed: int, size: int) -> str:
    """A string of at least so many characters."""
    chosen = random.Random(seed)
    made, total = [], 0
    while total < size:
        made.append(chosen.choice(PARTS))
        total += len(made[-1])
    return "".join(made)


TEXTS = {
    "mixed": long_text(1, 1 << 20),
    "one literal": "word " * (1 << 16),
    "one variable": "7" * (1 << 20) + " ",
    "one variable after text": "is " + "deadbeef0" * (1 << 18),
    "no space": "x" * (5 << 20),
}


@pytest.mark.parametrize("what", TEXTS)
@pytest.mark.parametrize("both", [False, True])
def test_the_kernel_writes_what_the_writer_does(what: str, both: bool, tmp_path: Path) -> None:
    text = TEXTS[what]
    users: list[dict[str, Any]] = [{"a": 1, "b": {"c": text, "d": [1, "x y"]}}, {"b": {"c": "short 7"}}, {"e": text}]
    autos: list[dict[str, Any]] = [{"level": "a b", "t": text}, {}, {"t": "1"}] if both else [{}, {}, {}]
    lines = [{AUTO: one, USER: other} if both else other for one, other in zip(autos, users, strict=True)]
    data = "".join(f"{json.dumps(one, ensure_ascii=False)}\n" for one in lines).encode()
    with KvIrWriter(tmp_path / "lines") as writer:
        if KERNEL is not None:
            assert writer.write_lines(data, both=both) == len(data)
        else:
            pytest.skip("the kernel is not compiled")
    with KvIrWriter(tmp_path / "objects") as writer:
        for one, other in zip(autos, users, strict=True):
            writer.write(other, one)
    assert read(tmp_path / "lines") == read(tmp_path / "objects") == list(zip(autos, users, strict=True))


def read(path: Path) -> list[tuple[Any, Any]]:
    """The events of a stream."""
    with exhume.open(path) as archive:
        opened: Any = archive
        return list(opened.events())


@pytest.mark.parametrize("what", TEXTS)
def test_long_strings_are_printed_exactly(what: str, exhume_cli: Cli, tmp_path: Path) -> None:
    events: list[dict[str, Any]] = [{"a": "before 1"}, {"a": TEXTS[what], "b": 2}, {"a": "after 2"}]
    with KvIrWriter(tmp_path / "a.clp") as writer:
        for one in events:
            writer.write(one)
    done = exhume_cli("cat", tmp_path / "a.clp")
    assert (done.code, list(map(json.loads, done.out.splitlines()))) == (0, events)


@pytest.mark.parametrize("encoding", ["four-byte", "eight-byte"])
@pytest.mark.parametrize("what", TEXTS)
def test_long_messages_come_back(what: str, encoding: Any, exhume_cli: Cli, tmp_path: Path) -> None:
    text = TEXTS[what]
    with exhume.clpir.create(tmp_path / "a.clp", encoding=encoding) as writer:
        for number, message in enumerate(("before 1\n", text, "after 2\n")):
            writer.write(number, message)
    assert exhume_cli("cat", "--times", "none", tmp_path / "a.clp").out.decode() == f"before 1\n{text}after 2\n"
    with exhume.open(tmp_path / "a.clp") as archive:
        opened: Any = archive
        lines = b"".join(opened.json_lines()).splitlines()
    assert [json.loads(line)["message"] for line in lines] == ["before 1\n", text, "after 2\n"]
    pure = PureClpIrEncoder(encoding == "eight-byte", 0)
    for number, message in enumerate(("before 1\n", text, "after 2\n")):
        pure.add(number, message.encode())
    assert bytes(pure.take()) in (tmp_path / "a.clp").read_bytes()


def test_events_after_a_long_one_are_found(exhume_cli: Cli, tmp_path: Path) -> None:
    events: list[dict[str, Any]] = [
        {"n": 1},
        {"n": 2, "text": "x" * (3 << 20)},
        *({"n": n, "more": "y" * 1000} for n in range(3, 2500)),
    ]
    with KvIrWriter(tmp_path / "a.clp") as writer:
        for one in events:
            writer.write(one)
    found = exhume_cli("search", tmp_path / "a.clp", "n > 2400")
    assert [json.loads(line)[USER]["n"] for line in found.out.splitlines()] == list(range(2401, 2500))
    made = exhume_cli("create", "clp-s", tmp_path / "a.clp", "-o", tmp_path / "a.clps")
    assert made.code == 0, made.err
    listed = exhume_cli("cat", "--ordered", tmp_path / "a.clps").out.splitlines()
    assert list(map(json.loads, listed)) == events


def test_what_precedes_damage_is_found_after_a_long_event(tmp_path: Path) -> None:
    noise = random.Random(3).randbytes(6 << 20).hex()
    with KvIrWriter(tmp_path / "a.clp") as writer:
        writer.write({"text": noise[: 5 << 20]})
        for n in range(2000):
            writer.write({"n": n, "text": noise[n * 1000 : n * 1000 + 900]})
    stored = bytearray(zstandard.ZstdCompressor(level=1).compress((tmp_path / "a.clp").read_bytes()))
    del stored[-100_000:]
    (tmp_path / "b.clp").write_bytes(stored)
    found: list[int] = []

    def numbers() -> Iterator[int]:
        with exhume.open(tmp_path / "b.clp") as archive:
            opened: Any = archive
            yield from (json.loads(line)[USER]["n"] for line in opened.search("n >= 0"))

    with pytest.raises(ExhumeError):
        found.extend(numbers())
    whole = [user["n"] for user in readable(tmp_path / "b.clp") if "n" in user]
    assert len(whole) > 1500
    assert found == whole


def readable(path: Path) -> list[dict[str, Any]]:
    """The events that can be read one by one."""
    found: list[dict[str, Any]] = []
    with exhume.open(path) as archive:
        opened: Any = archive
        try:
            for _, user in opened.events():
                found.append(user)
        except ExhumeError:
            pass
    return found


@pytest.mark.parametrize("size", [1, MANY - 1, MANY, 3 * MANY + 5])
def test_pieces_are_gathered_in_order(size: int) -> None:
    data = random.Random(size).randbytes(size)
    held = Gathering(data[:1])
    for at in range(1, size, 1 << 20):
        held.add(data[at : at + (1 << 20)])
        assert held.size == min(size, at + (1 << 20))
    assert (held.take(), held.size, held.take()) == (data, 0, b"")
