"""Blocks of lines encoded in parallel: the stream, or the error in the lines, is that of one job."""

from __future__ import annotations

import io
import json
import threading
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.cli.main import main
from exhume.errors import ExhumeError, WriterError
from exhume.formats.clp_s.write import inputs
from exhume.formats.kv_ir import kernel, line_encoders, lines, units
from exhume.formats.kv_ir.line_encoders import Encoded, LineEncoders
from exhume.native import KERNEL
from tests.kv_ir.test_lines import PAIRS, RARE

LOG = b"".join(
    b'{"a": %d, "text": "took %d of x%d", "o": {"b": [%d, "c"], "d": 0.5}}\n' % (n, n, n, n % 3) for n in range(300)
)
GROWING = b"".join(b'{"key %d": {"x": %d}, "all": 1}\n' % (n // 3, n) for n in range(300))
BOTH = b"".join(json.dumps({units.USER: {f"u{n // 40}": n}, units.AUTO: {f"a{n // 60}": "b c"}}).encode() + b"\n"
                for n in range(300))  # fmt: skip


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of a few lines."""
    monkeypatch.setattr(inputs, "PIECE", 200)


def written(path: Path, texts: list[bytes], jobs: int, *, both: bool = False) -> tuple[bytes | str, int]:
    """The stream that lines become, or the fault in them, and how many events were written."""
    with exhume.kvir.create(path, codec="none", overwrite=True) as stream:
        try:
            lines.write_lines(stream, [io.BytesIO(text) for text in texts], both=both, jobs=jobs)
        except ExhumeError as error:
            return f"{error} {error.span}", stream.events
    return path.read_bytes(), stream.events


@pytest.mark.parametrize("texts", [[LOG], [GROWING], [LOG, b"", GROWING, LOG], [b""], [LOG[:-1], GROWING[:-1]]])
def test_the_stream_is_that_of_one_job(texts: list[bytes], tmp_path: Path) -> None:
    assert written(tmp_path / "a.clp", texts, 3) == written(tmp_path / "a.clp", texts, 1)


def test_pairs_of_both(tmp_path: Path) -> None:
    for text in (BOTH, BOTH + PAIRS.encode() + b"\n" + BOTH + b"{}\n" + LOG):
        assert written(tmp_path / "a", [text], 2, both=True) == written(tmp_path / "a", [text], 1, both=True)


@pytest.mark.parametrize("line", RARE)
def test_rare_lines_among_others(line: bytes, tmp_path: Path) -> None:
    text = LOG[:3000] + b"\n" + line + b"\n" + GROWING[:3000]
    text = text[: text.rfind(b"\n")]
    assert written(tmp_path / "a.clp", [text], 3) == written(tmp_path / "a.clp", [text], 1)


@pytest.mark.parametrize("most", [0, 5])
def test_many_keys_are_left_to_one_encoder(most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = written(tmp_path / "a.clp", [LOG + GROWING], 1)
    monkeypatch.setattr(line_encoders, "MOST_KEYS", most)
    assert written(tmp_path / "a.clp", [LOG + GROWING], 2) == expected


@pytest.mark.skipif(KERNEL is None, reason="interpreted, no line is encoded apart")
def test_most_blocks_are_taken_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []
    adopt = LineEncoders.adopt

    def counted(self: LineEncoders, encoded: Encoded) -> bool:
        done = adopt(self, encoded)
        taken.append(encoded.events if done else 0)
        return done

    monkeypatch.setattr(LineEncoders, "adopt", counted)
    assert written(tmp_path / "a.clp", [LOG], 2)[1] == 300
    assert sum(taken) > 280


def test_a_block_whose_keys_have_other_numbers_by_now_is_refused() -> None:
    tree: dict[Any, int] = {}
    apart = LineEncoders({}, tree, None)
    known = apart.declared()
    first, second = (apart.encode(b'{"%s": 1}\n' % name, known) for name in (b"a", b"b"))
    if KERNEL is None:
        assert (first.end, second.end) == (0, 0)
        return
    assert apart.adopt(first)
    assert not apart.adopt(second)
    assert [name for _, name, _ in tree] == ["a"]
    again = apart.encode(b'{"b": 1}\n', apart.declared())
    assert apart.adopt(again)
    assert list(tree.values()) == [1, 2]


def test_a_finished_writer_takes_no_block(tmp_path: Path) -> None:
    with exhume.kvir.create(tmp_path / "a.clp") as stream:
        apart = stream.line_encoders(both=False)
        encoded = apart.encode(b"{}\n", apart.declared())
    with pytest.raises(WriterError, match="finished"):
        stream.write_encoded(encoded, apart)


@pytest.mark.skipif(KERNEL is None, reason="interpreted, one encoder takes no line")
def test_an_encoder_serves_one_thread_at_a_time() -> None:
    encoder = kernel.KvIrEncoder({}, {}, None)
    seen = threading.Event()

    def feed() -> None:
        while not seen.is_set():
            try:
                encoder.feed(LOG, 0)
            except RuntimeError as error:
                assert "one thread" in str(error)
                seen.set()

    other = threading.Thread(target=feed)
    other.start()
    feed()
    other.join()
    assert seen.is_set()


@pytest.mark.parametrize("jobs", ["1", "3"])
def test_create_takes_jobs(jobs: str, tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_bytes(LOG)
    out = tmp_path / "a.clp"
    main(["create", "kv-ir", str(tmp_path / "log.jsonl"), "-o", str(out), "--jobs", jobs], standalone_mode=False)
    assert out.read_bytes() == written(tmp_path / "b.clp", [LOG], 1)[0]
