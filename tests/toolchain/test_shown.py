"""What the tree shows: stored archives by their columns, keys by their parts; and the public collection's folder."""

from __future__ import annotations

import json
import re
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest
from exhume_ksy.clp_s import ClpS
from exhume_ksy.leveldb_table import LeveldbTable
from exhume_ksy.leveldb_varint import LeveldbVarint as VarInt

import exhume
from exhume.engines.explain import Selection, explain_archive
from exhume.engines.recode import recode
from exhume.errors import Span
from exhume.layout.schema import Explainer
from tests.conftest import ROOT
from tests.real import RealSamples
from tests.sizes import some
from tests.toolchain import trees
from tools import generate, ksy_facts, opaque, targets, upstream
from tools.passing import passed


def test_a_stored_clp_s_archive_is_readable() -> None:
    data = (ROOT / "tests/samples/clp_s/demo-stored.clps").read_bytes()
    assert opaque.opaque("clp_s", data).total() < len(data) / 100


def test_what_is_left_as_bytes_has_a_reason() -> None:
    for path in (*opaque.SAMPLES.glob("zs/*.zs"), *opaque.SAMPLES.glob("leveldb/*/*.ldb")):
        schema = "zs" if path.suffix == ".zs" else "leveldb_table"
        assert set(opaque.opaque(schema, path.read_bytes())) <= set(opaque.REASONS), path
    found = opaque.opaque("caf", b"what nobody describes" + b"{}" + b"\2\0\0\0")
    assert found == {"caf.data": 21}
    assert "| `caf.data` | 21 | 0 | the contents" in opaque.table({"CAF": opaque.Row(found, 27)})


def test_columns_of_a_stream_of_several_stored_blocks_are_read_by_their_keys(tmp_path: Path) -> None:
    rows = 17_001  # the truth values come first and move the integers, so that a block ends inside one of them
    with exhume.create(tmp_path / "a.clps", "clp-s") as writer:
        for number in range(rows):
            writer.write({"flag": number % 3 == 0, "number": (-1) ** number * number << 40})
    recode(tmp_path / "a.clps", tmp_path / "stored.clps", stored=True)
    raw: Any = ClpS.from_bytes((tmp_path / "stored.clps").read_bytes())
    (table,) = raw.tables
    columns: dict[str, Any] = {column.key: column for column in table.columns}
    with exhume.open(tmp_path / "stored.clps") as archive:
        payload = bytes(archive.tables[0].load().data)  # type: ignore[attr-defined]
    parted = 0
    for key in ("flag", "number", "log_event_idx"):
        column = columns[key]
        stored = payload[column.ofs_column : column.ofs_after]
        if column.is_split:
            found = [word.integer for word in column.words or []]
            parted += sum(word.len_head < 8 for word in column.words or [])
            pieces = b"".join(piece.data for piece in column.pieces or [])
            assert struct.pack(f"<{len(found)}q", *found) + pieces == stored
        elif key == "flag":
            assert column.content.values == stored
        else:
            assert struct.pack(f"<{rows}q", *column.content.values) == stored
    assert parted, "no block ends inside a value"


def test_a_key_of_a_bundle_is_reported_by_its_parts(tmp_path: Path) -> None:
    with exhume.create(tmp_path / "b", "databundle", index_compression="none") as writer:
        for name in ("docs/first.txt", "docs/second.txt"):
            writer.add(name, b"x")
    with exhume.open(tmp_path / "b") as archive:
        trees = [tree for item in explain_archive(archive, Selection()) for tree in item.trees()]
    keys = [field for tree in trees for _, field in tree.walk() if field.name == "key" and field.children]
    reported = [str(field.value) for field in keys]
    assert any(re.fullmatch(r"/docs/second\.txt.* value \d+", text) for text in reported), reported
    varints = [field for tree in trees for _, field in tree.walk() if field.type == "leveldb_varint"]
    assert varints
    assert all(isinstance(field.value, int) and not field.children for field in varints)


@pytest.mark.parametrize("case", ["rocksdb-zlib", "rocksdb-zstd"])  # versions 3 and 6
def test_a_table_of_rocksdb_shows_every_data_block(case: str, real_samples: RealSamples) -> None:
    files = real_samples.glob(f"leveldb/{case}/db/*.sst")
    assert files
    for file in files:
        table: Any = LeveldbTable.from_file(str(file))
        (properties,) = (block.block.content for block in table.meta_blocks if block.name == "rocksdb.properties")
        stated = {one.whole_name: one.value for one in properties.properties.properties}
        blocks = [each.block for each in table.data_blocks or table.delta_blocks]
        assert len(blocks) == VarInt.from_bytes(stated["rocksdb.num.data.blocks"]).value
        assert sum(block.len_block + 5 for block in blocks) == VarInt.from_bytes(stated["rocksdb.data.size"]).value
        table.close()


def test_the_folder_for_the_public_collection_is_whole(tmp_path: Path) -> None:
    written = upstream.write(tmp_path)
    assert len(written) == len(list((ROOT / "ksy").glob("*.ksy")))
    for file in written:
        text = file.read_text(encoding="utf-8")
        assert not upstream.KEYS.search(text)
        for block in re.findall(r"  imports:\n((?:    - \S+\n)+)", text):
            for name in re.findall(r"- (\S+)", block):
                place = tmp_path / name[1:] if name.startswith("/") else file.parent / name
                assert place.with_suffix(".ksy").is_file(), (file.name, name)
    assert all(name in (tmp_path / "README.md").read_text() for name in upstream.OWN)


def test_what_only_this_project_writes_is_reported() -> None:
    for name in some(upstream.OWN):
        text = " ".join((ROOT / "ksy" / f"{name}.ksy").read_text(encoding="utf-8").split())
        assert re.search(r"\bthis project\b", text), name


def test_no_key_of_our_own_goes_to_the_public_collection() -> None:
    text = "types:\n  a:\n    -columns: true\n    -element: true\n    -orig-id: A\n    -webide-parse-mode: eager\n"
    assert upstream.moved("zs", text) == "types:\n  a:\n    -orig-id: A\n    -webide-parse-mode: eager\n"


@pytest.mark.node
@pytest.mark.slow
def test_the_folder_for_the_public_collection_compiles_as_a_whole(tmp_path: Path) -> None:
    written = upstream.write(tmp_path / "formats")
    command = [*trees.node_or_skip(), str(ROOT / "tools" / "ksc.mjs"), "each", "--imports", str(tmp_path / "formats")]
    done = subprocess.run(
        [*command, "--out", str(tmp_path / "out"), *map(str, written)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert set(json.loads(done.stdout).values()) == {None}
    made = {file.name: file.read_text() for file in (tmp_path / "out").rglob("*.py")}
    assert sorted(made) == sorted(f"{file.stem}.py" for file in written)
    plain, tracked = generate.TRACKED
    for name, text in made.items():  # omissions for the collection change no parser, imports come in any order
        ours = (ROOT / "generated" / "exhume_ksy" / "debug" / name).read_text().replace(tracked, plain)
        ours = ours.replace("from . import ", "import ")
        assert sorted(passed(text).splitlines()) == sorted(ours.splitlines()), name


def test_compiler_messages_name_their_specification() -> None:
    files = {"Zs.java": "zs", "Caf.java": "caf"}
    given_words = "/tmp/x/Zs.java:3: error: no such thing\n/tmp/x/Zs.java:9: error: more\n"
    assert targets.blame(given_words, r"^(.+\.java):\d+: error: (.*)", files) == {"zs": ["no such thing", "more"]}
    assert targets.blame("killed", r"^(.+\.java):\d+: error: (.*)", files) == {"(all)": ["killed"]}
    assert targets.spec_of("zs_data_block.py", {"zsdatablock": "zs_data_block"}) == "zs_data_block"


def test_only_a_failure_that_is_listed_is_excused() -> None:
    verdict = targets.Verdict("csharp", "compiled", 45, checked=True)
    verdict.errors = {"zstd_frame": ["CS0031: Constant value `4247762216' cannot be converted to a `int'"]}
    assert "/issues/862. `zstd_frame`" in targets.table([verdict], 45)
    verdict.errors = {"zs": ["CS0019: Operator `<=' cannot be applied to operands of type `ulong' and `long'"]}
    assert verdict.reason(verdict.errors["zs"][0]) == ""
    assert "- C#: unknown. `zs`" in targets.table([verdict], 45)


def test_a_language_without_a_runtime_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KAITAI_RUNTIMES", raising=False)
    with pytest.raises(targets.MissingError, match="no java/ in KAITAI_RUNTIMES"):
        targets.runtime("java")
    verdict = targets.Verdict("java", "not checked: no java/ in KAITAI_RUNTIMES", 45)
    assert "| Java | 45 of 45 | - | not checked" in targets.table([verdict], 45)


def shown(schema: str, number: int, name: str) -> list[str]:
    """The lines that `explain` prints for the elements of an array, for the bytes of a fact."""
    data = bytes(ksy_facts.cases(schema)[number].data)
    tree = Explainer(Span("x", 0, len(data))).explain(schema, data)
    (array,) = [field for _, field in tree.walk() if field.name == name and field.children]
    return [str(element.value) for element in array.children]


def test_an_element_states_on_one_line_what_it_is() -> None:
    assert shown("leveldb_filter", 0, "filters")[:2] == ["filter 0", "filter 1"]  # from a parameter
    assert shown("ark_manifest", 0, "groups")[:2] == ["group 0, 4 bytes", "group 1, 17 bytes"]
    assert shown("leveldb_write_batch", 0, "operations")[20].split() == ["commit_with_timestamp", "'id'"]
