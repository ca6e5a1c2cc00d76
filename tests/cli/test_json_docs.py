"""`docs/json.md` names every key that the command prints, and shows no form that does not exist."""

from __future__ import annotations

import base64
import json
import re
import shutil
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.testing.damage import flip
from tests.archives import label, own_archives
from tests.cli.test_every_verb import CALLS, SAMPLES, SPEC
from tests.json_schemas import validate
from tests.sizes import THOROUGH, some

Cli = Callable[..., Any]
PAGE = (Path(__file__).parents[2] / "docs" / "json.md").read_text(encoding="utf-8")
FREE = {
    *(
        "metadata",
        "timestamp_patterns",
        "ingestion_units",
        "counts",
        "column_families",
        "statuses",
        "types",
        "checksums",
    ),
    *("libraries", "reasons", "changed_values"),
    *("recovered", "lost", "written", "row_versions", "old_files", "expected", "actual", "value", "edits"),
}
"""Keys below which the names are data: counts by kind, the archive's own words."""

SECTIONS = re.split(r"^## ", PAGE, flags=re.M)
EVERYWHERE = SECTIONS[0] + "".join(s for s in SECTIONS if s.startswith(("Spans", "Findings")))


def reported(form: str) -> set[str]:
    """The keys that the page names for a form, for the forms it refers to, and everywhere."""
    texts = [s for s in SECTIONS if form in s.split("\n", 1)[0]]
    texts += [line for line in re.split(r"^- ", SECTIONS[-1], flags=re.M) if line.startswith(form)]
    assert texts, f"{form} is not documented"
    for other in set(re.findall(r"as in `(exhume\.\w+)", "".join(texts))):
        texts += [s for s in SECTIONS if s.startswith(other)]
    return set(re.findall(r"`([a-z0-9_]+)`", EVERYWHERE + "".join(texts))) | {"schema"}


def keys(value: Any, free: AbstractSet[str] = FREE) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            if key not in free:
                yield from keys(item, free)
    elif isinstance(value, list):
        for item in value:
            yield from keys(item, free)


def unreported(body: dict[str, Any], free: AbstractSet[str] = FREE) -> set[str]:
    """The keys of a document that the page does not name."""
    form = body["schema"].removesuffix("/1")
    logs = body.get("statistics", {}).get("logs", {}) if isinstance(body.get("statistics"), dict) else {}
    return set(keys(body, free)) - set(logs) - reported(form)


def check(out: bytes) -> None:
    assert unreported(json.loads(out)) == set()
    validate(json.loads(out))


@pytest.mark.parametrize("path", [pytest.param(path, id=label(path)) for path in own_archives()])
@pytest.mark.bulk
def test_every_key_of_reading_verbs_is_reported(path: Path, exhume_cli: Cli) -> None:
    for args in (
        ["identify", path],
        ["info", path, "--stats"],
        ["list", path],
        ["list", path, "--sections"],
        ["verify", path],
        ["explain", path],
        ["explain", path, "--at", "9"],
        ["explain", path, "--coverage"],
    ):
        check(exhume_cli(*args, "--json").out)


def test_every_key_of_other_verbs_is_reported(tmp_path: Path, exhume_cli: Cli, samples: Path) -> None:
    with exhume.create(tmp_path / "a.caf", "caf") as writer:
        members: Any = writer
        members.add_bytes("one", b"1")
        members.add_bytes("two", b"22")
    bundles = samples / "data_bundle"
    damaged = bytearray((tmp_path / "a.caf").read_bytes())
    damaged[-1] ^= 1
    (tmp_path / "b.caf").write_bytes(damaged)
    bad = tmp_path / "bad"
    shutil.copytree(bundles / "zlib", bad)
    (bad / "shard-00000000").write_bytes(flip((bad / "shard-00000000").read_bytes(), -30))
    logs = tmp_path / "logs"  # one of two cannot be read
    shutil.copytree(samples / "ark" / "amended", logs)
    manifest = logs / "manifests" / "00000000-0000-4000-8000-000000000001"
    manifest.write_bytes(manifest.read_bytes()[9:])
    tables = (samples / "clp_s" / "demo-stored.clps").read_bytes()
    with exhume.open(tables) as archive:
        ids = archive.sections().named("/schema_ids").span
    (tmp_path / "bad.clps").write_bytes(flip(tables, ids.start + 30))
    for args in (
        ["list", tmp_path / "bad.clps", "--format", "clp-s"],
        ["list", bad, "--all-versions"],
        ["info", logs],
        ["list", logs],
        ["formats"],
        ["verify", tmp_path / "b.caf"],
        ["salvage", tmp_path / "b.caf", "-o", tmp_path / "c.caf"],
        ["carve", tmp_path / "a.caf"],
        ["extract", tmp_path / "a.caf", "-o", tmp_path / "out"],
        ["export", tmp_path / "a.caf", "--to", "tar", "-o", tmp_path / "a.tar"],
        ["recode", bundles / "zlib", "-o", tmp_path / "bundle", "--codec", "snappy"],
        ["list", bundles / "zlib", "--all-versions"],
        ["diff", bundles / "zlib", bundles / "snappy"],
        ["diff", bundles / "zlib", tmp_path / "out"],
        ["catalog", "build", tmp_path / "catalog.db", tmp_path / "a.caf"],
        ["catalog", "find", tmp_path / "catalog.db", "*"],
        ["catalog", "check", tmp_path / "catalog.db"],
    ):
        ran = exhume_cli(*args, "--json")
        assert ran.code in (0, 3, 4), ran.err
        check(ran.out)


def test_every_key_of_documents_by_a_specification_is_reported(tmp_path: Path, exhume_cli: Cli) -> None:
    spec, file = tmp_path / "rows.ksy", tmp_path / "rows.bin"
    spec.write_text(
        "{meta: {id: rows, title: Rows, endian: le}, seq: [{id: n, type: u1}, {id: rows, type: row, repeat: eos}],"
        " types: {row: {seq: [{id: mark, contents: [7]}, {id: size, type: u1}],"
        " instances: {of: {value: 4 / (size - 1)}}}}}"
    )
    file.write_bytes(bytes([3, 7, 1, 7, 2]))
    info = json.loads(exhume_cli("info", "--ksy", spec, file, "--json").out)
    assert (info["title"], info["fields"], info["lists"]) == ("Rows", {"n": 3}, {"rows": 2})
    args = ("export", "--ksy", spec, file, "--path", "rows", "--to", "jsonl", "-o", tmp_path / "rows.jsonl", "--json")
    exported = json.loads(exhume_cli(*args).out)
    assert exported["omitted"] == {"mark": "always the same"}
    assert list(exported["unread"]) == ["of"]
    for body in (info, exported):
        assert unreported(body, FREE | {"fields", "lists", "omitted", "unread"}) == set()
        validate(body)


DATA = {"value", "record", "user", "auto", "metadata", "plans"}
"""Keys whose values are the archive's own data, or a plan of the format."""


@pytest.mark.parametrize("verb", sorted(CALLS))
@pytest.mark.parametrize("format", sorted(SAMPLES))
@pytest.mark.bulk
def test_every_verb_yields_documents(
    format: str, verb: str, exhume_cli: Cli, samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is printed with --json or --ndjson, on either stream, is a document whose keys the page names.

    Or it is a usage error, which is for people.  As a rule each call has one of the two forms, and on the next format
    the other.
    """
    first = sorted(SAMPLES).index(format)
    source = samples / SAMPLES[format]
    (tmp_path / "folder").mkdir()
    (shutil.copytree if source.is_dir() else shutil.copy)(source, tmp_path / source.name)
    monkeypatch.chdir(tmp_path)
    for number, call in some(enumerate(CALLS[verb])):
        forms = ("--json", "--ndjson")
        for form in forms if THOROUGH else (forms[(first + number) % 2],):
            names = {"T": str(tmp_path / source.name), "OUT": f"out-{number}{form}", "FOLDER": "folder", "SPEC": SPEC}
            args = [verb, *(names.get(word, word) for word in call.split()), form]
            ran = exhume_cli(*args)
            assert ran.code in (0, 1, 2, 3, 4), args
            if ran.code == 2:
                assert ran.out == b"", args
                continue
            lines = ran.out.splitlines()
            documents = (
                [json.loads(ran.out)] if form == "--json" and _is_json(ran.out) else list(map(json.loads, lines))
            )
            assert documents or ran.code == 1 or form == "--ndjson", args
            documents += [json.loads(line) for line in ran.err.splitlines() if line.startswith("{")]
            for document in documents:
                assert document["schema"].endswith("/1"), args
                assert unreported(document, FREE | DATA) == set(), args
                validate(document)


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except ValueError:
        return False
    return True


def test_verbs_without_a_document_report_it(exhume_cli: Cli, samples: Path, tmp_path: Path) -> None:
    caf = samples / SAMPLES["caf"]
    exhume_cli("catalog", "build", tmp_path / "c.db", caf)
    for args, shown in (
        (("export", caf, "--to", "csv"), "--json requires -o FILE"),
        (("extract", caf, "--tar", "-"), "--json reports on a file or directory"),
        (("catalog", "find", tmp_path / "c.db", "*", "--cat"), "--cat and --json exclude each other"),
        (("cat", samples / SAMPLES["ark"], "--raw"), "--raw and --json exclude each other"),
    ):
        ran = exhume_cli(*args, "--json")
        assert (ran.code, ran.out) == (2, b"")
        assert shown in ran.err


def test_the_documents_of_cat_and_payload_contain_the_bytes(exhume_cli: Cli, samples: Path) -> None:
    def exact(value: dict[str, str]) -> bytes:
        return base64.b64decode(value["base64"]) if "base64" in value else value["text"].encode()

    for name in ("caf/sorted.caf", "data_bundle/zlib"):
        members = json.loads(exhume_cli("cat", samples / name, "--json").out)["members"]
        assert b"".join(exact(one["content"]) for one in members) == exhume_cli("cat", samples / name).out
    part = json.loads(exhume_cli("cat", samples / name, members[1]["name"], "--range", "1:3", "--json").out)
    assert exact(part["members"][0]["content"]) == exact(members[1]["content"])[1:3]
    zs = samples / "zs/words-none.zs"
    payload = json.loads(exhume_cli("payload", zs, "header", "--json").out)
    assert exact(payload["content"]) == exhume_cli("payload", zs, "header").out
    assert payload["size"] == len(exact(payload["content"]))
    clp = samples / "clp_s/demo.clps"
    records = [one["record"] for one in json.loads(exhume_cli("cat", clp, "--json").out)["records"]]
    assert records == [json.loads(line) for line in exhume_cli("cat", clp).out.splitlines()]
    ark = samples / "ark/log"
    assert json.loads(exhume_cli("cat", ark, "--json").out)["records"] == [
        json.loads(line) for line in exhume_cli("cat", ark).out.splitlines()
    ]


def test_errors(tmp_path: Path, exhume_cli: Cli) -> None:
    ran = exhume_cli("info", tmp_path / "nothing", "--json")
    assert ran.code == 1
    check(ran.err)
