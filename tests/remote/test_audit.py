"""Remote objects in a record of a run: the store's metadata, and digests of the bytes it sent."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exhume.cli import audit
from tests.conftest import Ran
from tests.json_schemas import validate
from tests.remote.server import serving
from tests.remote.store import Store

Cli = Callable[..., Ran]


def remote(log: Path) -> list[dict[str, Any]]:
    """The remote objects of the last record of a file."""
    record = json.loads(log.read_text().splitlines()[-1])
    validate(record)
    assert record["inputs"] == []
    found: list[dict[str, Any]] = record["remote"]
    return found


def check(one: dict[str, Any], data: bytes) -> None:
    """Every response has the digest of its bytes, and they equal the bytes read."""
    assert one["size"] == len(data)
    assert one["fetched_total"] == len(one["fetched"]) > 0
    for answer in one["fetched"]:
        assert answer["sha256"] == hashlib.sha256(data[answer["start"] : answer["end"]]).hexdigest()
    assert one["read"] == audit.merged([(answer["start"], answer["end"]) for answer in one["fetched"]])


def test_over_http(tmp_path: Path, samples: Path, exhume_cli: Cli) -> None:
    data = (samples / "zs/words-deflate.zs").read_bytes()
    with serving({"a.zs": data}) as served:
        ran = exhume_cli("verify", f"{served.url}/a.zs", "--audit", tmp_path / "log")
        assert ran.code == 0
        (one,) = remote(tmp_path / "log")
        assert one["name"] == f"{served.url}/a.zs"
        assert one["identity"]["ETag"]
        check(one, data)
        ran = exhume_cli("audit", tmp_path / "log", "--json")
        assert [file["state"] for file in json.loads(ran.text)["files"]] == ["not_checked", "not_checked"]


def test_a_directory_of_a_bucket(tmp_path: Path, samples: Path, store: Store, exhume_cli: Cli) -> None:
    url = store.put("audited", samples / "ark/log")
    ran = exhume_cli("verify", url, *store.arguments, "--audit", tmp_path / "log")
    assert ran.code == 0
    found = remote(tmp_path / "log")
    assert len(found) > 1
    for one in found:
        assert one["name"].startswith("s3://")
        assert one["identity"]["ETag"]
        assert one["modified"]
        check(one, (samples / "ark/log" / one["name"].partition("/audited/")[2]).read_bytes())


def test_answers_beyond_the_bound_are_counted(
    tmp_path: Path, samples: Path, exhume_cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsspec = pytest.importorskip("fsspec")
    data = (samples / "zs/words-deflate.zs").read_bytes()
    monkeypatch.setattr(audit, "MOST_ANSWERS", 0)
    fsspec.filesystem("memory").pipe("/audited.zs", data)
    assert exhume_cli("verify", "memory://audited.zs", "--audit", tmp_path / "log").code == 0
    (one,) = remote(tmp_path / "log")
    assert (one["name"], one["fetched"]) == ("memory://audited.zs", [])
    assert one["fetched_total"] > 0
    assert one["read"] == [[0, len(data)]]
