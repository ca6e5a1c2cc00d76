"""Named pipes as targets, whole sentences in completion, and what archives and signatures say in a Python session."""

from __future__ import annotations

import bz2
import gzip
import inspect
import lzma
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
import zstandard

import exhume
from exhume.archive import COMMON
from exhume.cli.cmd_completion import completions
from exhume.cli.explained import field_value
from exhume.cli.main import main
from exhume.engines.explained import explain_section
from exhume.formats.ark import writer as ark
from exhume.formats.ark.layout import CODEC_NUMBERS
from exhume.formats.clp_ir import writer as clpir
from exhume.formats.clp_s.write import options as clps
from exhume.formats.clp_s.write.inputs import KINDS
from exhume.formats.data_bundle import writer as databundle
from exhume.formats.kv_ir import writer as kvir
from exhume.formats.zs import encode as zs
from exhume.formats.zs.layout_facts import STORED_CODECS
from exhume.registry import formats
from exhume.view.parts import node_values

Cli = Callable[..., Any]


def test_the_output_of_a_command_is_a_target(samples: Path) -> None:
    words = samples / "zs/words-none.zs"
    line = f'"{sys.executable}" -m exhume verify <(cat "{words}")'
    ran = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ": zs: ok" in ran.stdout


def test_a_pipe_with_a_name_of_its_own_is_refused(tmp_path: Path, exhume_cli: Cli) -> None:
    """It may never be written to; a link to it is the same."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    for name in ("pipe", "link"):
        ran = exhume_cli("info", tmp_path / name)
        assert (ran.code, "not a regular file or directory" in ran.err) == (1, True)


def test_completion_shows_whole_sentences() -> None:
    texts = {value: text for _, value, text in completions(main, [], "")}
    assert len(texts) > 20
    assert not [text for text in texts.values() if not text.endswith(".")]
    assert not [text for text in texts.values() if text.endswith("...")]


OFFERED = {
    "ark": ("ark/log", "channels messages missing_splits"),
    "caf": ("caf/sorted.caf", "names open_member read_member stat"),
    "clp-ir": ("clp_ir/small.clp", "count events json_lines search"),
    "clp-s": ("clp_s/demo.clps", "events json_lines search tables"),
    "databundle": ("data_bundle/zlib", "names open_member read_member stat versions"),
    "kv-ir": ("kv_ir/small.clp", "events json_lines search"),
    "leveldb": ("leveldb/small", "database is_incomplete"),
    "zs": ("zs/words-none.zs", "count dump metadata records"),
}
"""An archive of each format, and some of what a user calls there."""


def test_every_format_is_in_the_table() -> None:
    assert set(OFFERED) == set(formats())


@pytest.mark.parametrize("format", OFFERED)
def test_completion_of_an_archive_offers_what_users_call(format: str, samples: Path) -> None:
    sample, called = OFFERED[format]
    with exhume.open(samples / sample, format=format) as archive:
        offered = {name for name in dir(archive) if name[0] != "_"}
        assert [name for name in offered if not hasattr(archive, name)] == []
        given = {*COMMON.split(), *archive._offered.split()}
    assert offered == given
    assert {*called.split(), "closed", "entries", "info", "sections", "to_arrow", "verify"} <= offered
    assert len(offered) <= 17


@pytest.mark.parametrize("format", OFFERED)
def test_an_archive_states_whether_it_is_closed_and_does_not_pickle(format: str, samples: Path) -> None:
    path = samples / OFFERED[format][0]
    with exhume.open(path, format=format) as archive:
        assert (archive.closed, repr(archive)) == (False, f"<{type(archive).__name__} {str(path)!r}>")
        if format != "ark":
            with pytest.raises(TypeError, match=r"cannot pickle an open archive .*: pass its path"):
                pickle.dumps(archive)
    assert (archive.closed, repr(archive)) == (True, f"<{type(archive).__name__} {str(path)!r}, closed>")
    archive.close()  # again does no harm


def test_an_ark_log_is_opened_again_where_it_is_unpickled(samples: Path) -> None:
    with exhume.open(samples / "ark/log", format="ark") as archive:
        with pickle.loads(pickle.dumps(archive)) as again:
            assert [message.data for message in again.messages()] == [message.data for message in archive.messages()]
        assert not archive.closed
    assert archive.closed


def test_a_specification_is_shown_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "pair.ksy"
    path.write_text("meta: {id: pair}\nseq: [{id: first, type: u1}]\n")
    assert repr(exhume.compile_ksy(path)) == "<Specification 'pair'>"


def test_the_truth_of_a_verification_is_not_its_verdict(samples: Path) -> None:
    data = (samples / "zs/words-none.zs").read_bytes()
    found = exhume.verify(data)
    with pytest.raises(TypeError, match="verdict"):
        bool(found)
    assert repr(found) == "<Verification 'bytes': not finished>"
    assert (found.ok, repr(found)) == (True, "<Verification 'bytes', zs: ok>")
    assert repr(exhume.verify("words.zs", format="zs")) == "<Verification 'words.zs', zs: not finished>"


def test_help_names_the_caps_that_differ_from_the_default() -> None:
    assert str(inspect.signature(exhume.open)).count("Limits(") == 1
    assert "payload_size" not in str(inspect.signature(exhume.open))
    assert repr(exhume.Limits(depth=3, entries=50_000_000)) == "Limits(depth=3)"
    assert eval(repr(exhume.Limits(depth=3)), {"Limits": exhume.Limits}) == exhume.Limits(depth=3)
    assert "ForwardRef" not in str(inspect.signature(exhume.Limits))


def test_magic_numbers_are_hexadecimal(samples: Path) -> None:
    with exhume.open(samples / "clp_s/demo.clps") as archive:
        section = archive.sections().named("metadata")
        explained = explain_section(archive.sections(), section)
    assert explained.stored is not None
    nodes = [node for _, node in explained.stored.walk()]
    assert [node.value for node in nodes if node.type == "frame"] == ["0xfd2fb528 (zstandard)"]
    frames = [node for node in nodes if node.name == "magic"]
    assert [(node.value, node.shown) for node in frames] == [("4247762216 (zstandard)", "0xfd2fb528 (zstandard)")]
    assert field_value(frames[0]) == node_values(frames[0], 0)["v"] == frames[0].shown


@pytest.mark.parametrize(
    ("named", "taken"),
    [
        (zs.Codec, STORED_CODECS),
        (zs.Codec, zs.LEVELS),
        (kvir.Codec, kvir.CODECS),
        (clpir.Encoding, clpir.ENCODINGS),
        (databundle.CompressionName, databundle.METHODS),
        (ark.Compression, CODEC_NUMBERS),
        (clps.InputName, KINDS),
    ],
)
def test_the_names_that_type_checkers_know_are_those_that_are_taken(named: Any, taken: Any) -> None:
    assert set(get_args(named)) == set(taken) - {""}


@pytest.mark.parametrize("format", ["clp-s", "kv-ir"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("text", ["2024-01-01 00:00:00 hello", '{"a": 1}'])
def test_wide_encodings_are_named(format: str, encoding: str, text: str, tmp_path: Path, exhume_cli: Cli) -> None:
    log = tmp_path / "wide.log"
    log.write_bytes(f"{text}\n".encode(encoding) * 20)
    ran = exhume_cli("create", format, log, "-o", tmp_path / "out")
    assert ran.code == 1
    name = encoding.upper().replace("-LE", "LE").replace("-BE", "BE")
    assert f"it seems to be {name}" in ran.err
    assert f"iconv -f {name} -t UTF-8" in ran.err
    kept = exhume_cli("create", format, log, "-o", tmp_path / "kept", "--input", "text")
    assert kept.code == 0, "bytes as they are"


@pytest.mark.parametrize("format", ["clp-s", "kv-ir"])
@pytest.mark.parametrize(
    ("name", "pack"),
    [("gzip", lambda log: zstandard.compress(gzip.compress(log))), ("bzip2", bz2.compress), ("xz", lzma.compress)],
)
def test_unsupported_compressions_are_named(
    format: str, name: str, pack: Callable[[bytes], bytes], tmp_path: Path, exhume_cli: Cli
) -> None:
    log = tmp_path / "packed.log"
    log.write_bytes(pack(b"2024-01-01 00:00:00 hello\n"))
    ran = exhume_cli("create", format, log, "-o", tmp_path / "out")
    assert ran.code == 1
    assert f"it is compressed with {name}" in ran.err


def test_text_with_a_magic_number_of_bzip2_is_text(tmp_path: Path, exhume_cli: Cli) -> None:
    log = tmp_path / "app.log"
    log.write_bytes(b"20241AY&SY a word of four letters comes first\n")
    assert exhume_cli("create", "clp-s", log, "-o", tmp_path / "out", "--input", "text").code == 0
    ran = exhume_cli("create", "clp-s", log, "-o", tmp_path / "detected")
    assert "bzip2" not in ran.err


def test_explore_names_a_file_of_no_known_format(tmp_path: Path, exhume_cli: Cli) -> None:
    pytest.importorskip("waitress")
    (tmp_path / "garbage").write_bytes(bytes(range(256)))
    ran = exhume_cli("explore", tmp_path / "garbage", "--no-browser", "--idle", "0.05")
    assert ran.code == 0
    assert "garbage: format not recognized: it is searched for archives" in ran.err


@pytest.mark.parametrize(("format", "things"), [("clp-s", "records"), ("kv-ir", "events")])
def test_a_log_of_blank_lines_has_no_records(format: str, things: str, tmp_path: Path, exhume_cli: Cli) -> None:
    log, out = tmp_path / "blank.log", tmp_path / "out"
    log.write_bytes(b"\n \n\n")
    assert f"there are no {things}" in exhume_cli("create", format, log, "-o", out).err
    assert exhume_cli("cat", out).out == b""
    as_text = tmp_path / "text"
    assert "there are no" not in exhume_cli("create", format, log, "-o", as_text, "--input", "text").err
    assert exhume_cli("cat", "--text", as_text).out == log.read_bytes()


def test_what_follows_an_archive_is_named(samples: Path, tmp_path: Path, exhume_cli: Cli) -> None:
    first, second = (samples / "clp_s" / name for name in ("tiny.clps", "demo.clps"))
    both = tmp_path / "both.clps"
    both.write_bytes(first.read_bytes() + second.read_bytes())
    ran = exhume_cli("salvage", both, "-o", tmp_path / "out.clps")
    size, at = second.stat().st_size, first.stat().st_size
    assert f"not part of it: {size} bytes after its end, at {at} of {both}; carve" in ran.text
    assert "not part of it" not in exhume_cli("salvage", first, "-o", tmp_path / "alone.clps").text


def test_long_values_of_a_header_are_shortened_in_text(samples: Path, tmp_path: Path, exhume_cli: Cli) -> None:
    log = tmp_path / "log"
    shutil.copytree(samples / "ark/log", log)
    manifest = next((log / "manifests").iterdir())
    manifest.write_bytes(b"\xff" + manifest.read_bytes()[1:])
    shown = exhume_cli("info", log)
    assert shown.code == 3
    registry = next(line for line in shown.out.decode().splitlines() if "schema registry" in line)
    assert len(registry) < 240
    assert registry.endswith("…")
    assert b"ark::logging" in shown.out
    assert len(exhume_cli("info", log, "--json").out) > 3000
