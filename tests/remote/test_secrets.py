"""Passwords, tokens and signatures of targets and options are in nothing that is printed, logged or recorded."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import exhume
from exhume.distributed.carving import Search
from exhume.errors import SourceError, Span
from exhume.redaction import redact, redact_all, redact_option
from tests.conftest import Ran
from tests.remote.hostile import Answer, Request, good, head, hostile

Cli = Callable[..., Ran]
SAMPLE = (Path(__file__).parent.parent / "samples" / "zs" / "words-deflate.zs").read_bytes()
SECRET = "hunter2TOPSECRET"

TEXTS = [
    f"https://user:{SECRET}@host/a.zs",
    f"https://{SECRET}@host/a.zs",
    f"https://user:pa@{SECRET}@host/a.zs?x=1#f",
    f"zip://a.zs::https://user:{SECRET}@host/a.zip",
    f"postgresql+psycopg://user:{SECRET}@host/db",
    f"postgresql://host/db?user=a&password={SECRET}",
    f"mssql+pyodbc:///?odbc_connect=DRIVER%3Da%3BPWD%3D{SECRET}",
    f"https://host/a?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential={SECRET}%2F2025&X-Amz-Date=1",
    f"https://host/a?X-Amz-Signature={SECRET}",
    f"https://host/a?X-Amz-Security-Token={SECRET}",
    f"https://host/a?X%2DAmz%2DSignature={SECRET}",
    f"https://host/a?X-Goog-Signature={SECRET}&X-Goog-Expires=1",
    f"https://host/a?AWSAccessKeyId={SECRET}&Expires=1",
    f"https://host/a?Expires=1&Signature={SECRET}&Key-Pair-Id=K",
    f"https://host/a?sv=2022&sp=r&sig={SECRET}",
    f"https://host/a?a=1;sig={SECRET};b=2",
    f"https://host/a?token={SECRET}",
    f"https://host/a?access_token={SECRET}#part",
    f"https://host/a#access_token={SECRET}",
    f"https://host/a?private_token={SECRET}",
    f"https://host/a?api_key={SECRET}",
    f"https://host/a?apikey={SECRET}",
    f"https://host/a?key={SECRET}",
    f"https://host/a?client_secret={SECRET}",
    f"https://host/a?auth={SECRET}",
    f"https://host/a?jwt={SECRET}",
    f"ClientResponseError: 403, message='Forbidden', url='https://host/a?sig={SECRET}'",
    f"Authorization: Bearer {SECRET}",
    f"{{'Authorization': 'Bearer {SECRET}', 'Range': 'bytes=0-1'}}",
    f'{{"secret": "{SECRET}", "anon": false}}',
    f"<Error><AWSAccessKeyId>{SECRET}</AWSAccessKeyId></Error>",
    f"connection failed: host=db user=a password={SECRET} dbname=x",
    f"DefaultEndpointsProtocol=https;AccountName=a;AccountKey={SECRET}==;EndpointSuffix=core",
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_text(text: str) -> None:
    assert SECRET not in redact(text)
    assert SECRET not in json.dumps(redact_all({"error": {"message": [text]}}))
    error = SourceError(text, span=Span(text, 0, 0) if "://" in text else None, actual=OSError(text), expected=text)
    assert SECRET not in str(error) + repr(error) + json.dumps(error.to_dict())
    assert SECRET not in repr(pickle.loads(pickle.dumps(error)).to_dict())


@pytest.mark.parametrize(
    "text",
    [
        "s3://bucket/key?versionId=3",
        "https://host:8080/a@b?x=y",
        "abfs://container@account.dfs.core.windows.net/a",
        "c.caf: member a@b [CAF-301] at 16 (0x10): expected 5 bytes, found 3",
        "key=value",
        "/data/token=5/a.zs",
    ],
)
def test_other_texts_stay(text: str) -> None:
    shown = str(SourceError("reading failed", span=Span(text, 0, 0)))
    assert text in shown


@pytest.mark.parametrize(
    ("option", "shown"),
    [
        (f"key={SECRET}", "key=***"),
        (f"secret={SECRET}", "secret=***"),
        (f"account_name={SECRET}", "account_name=***"),
        (f'client_kwargs={{"headers": {{"X-Api-Key": "{SECRET}"}}}}', "client_kwargs=***"),
        (f"endpoint_url=https://u:{SECRET}@host", "endpoint_url=https://***@host"),
        ("anon=true", "anon=true"),
        ("token=null", "token=***"),
        (SECRET + "=", "hunter2TOPSECRET=***"),
    ],
)
def test_an_option(option: str, shown: str) -> None:
    assert redact_option(option) == shown


@pytest.fixture
def answer() -> Answer:
    return good(SAMPLE)


def denied(request: Request) -> Iterator[bytes]:
    yield head("403 Forbidden", "Content-Length: 0")


QUERY = f"a.zs?X-Amz-Signature={SECRET}&token={SECRET}"


@pytest.mark.parametrize("verb", ["identify", "info", "list", "verify", "explain", "map", "carve", "salvage", "cat"])
@pytest.mark.parametrize("more", [(), ("--json",)], ids=["text", "json"])
@pytest.mark.parametrize("works", [True, False], ids=["works", "denied"])
def test_a_verb(verb: str, more: tuple[str, ...], works: bool, exhume_cli: Cli, tmp_path: Path) -> None:
    pytest.importorskip("aiohttp", reason="the extra cloud (fsspec[http]) is not installed")
    places = {
        "salvage": ("-o", tmp_path / "out", "--report", tmp_path / "report.json"),
        "explain": ("--html", tmp_path / "page.html"),
        "map": ("--svg", tmp_path / "map.svg"),
    }
    with hostile(good(SAMPLE) if works else denied) as served:
        url = f"{served.url.replace('//', f'//user:{SECRET}@')}/{QUERY}"
        options = ("--storage", f'headers={{"X-Token": "{SECRET}"}}', "--storage", "skip_instance_cache=true")
        ran = exhume_cli(verb, url, *more, *options, *places.get(verb, ()), "--audit", tmp_path / "log")
        assert works == (ran.code == 0), ran.err
        several = exhume_cli("verify", url, f"{url}&x=1", *more, *options)
        from_list = exhume_cli("cat", url, "--recursive", *options)
    for one in (ran, several, from_list):
        assert SECRET not in one.err
        assert SECRET.encode() not in one.out
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert tmp_path / "log" in written
    for path in written:
        assert SECRET.encode() not in path.read_bytes(), path


@pytest.mark.parametrize("arguments", [("--storage", SECRET), ("--limit", f"token={SECRET}")])
def test_a_usage_error(arguments: tuple[str, str], exhume_cli: Cli) -> None:
    ran = exhume_cli("info", "https://host.invalid/a", *arguments)
    assert (ran.code, SECRET in ran.err) == (2, False)


def test_a_catalog_by_url(exhume_cli: Cli) -> None:
    for url in (f"nosuch://user:{SECRET}@host/db", f"postgresql+nosuch://user:{SECRET}@127.0.0.1:1/db"):
        ran = exhume_cli("catalog", "find", url, "x")
        assert (ran.code, SECRET in ran.err) == (1, False)


def test_a_catalog_shows_no_secret_of_a_location(exhume_cli: Cli, samples: Path, tmp_path: Path) -> None:
    pytest.importorskip("aiohttp", reason="the extra cloud (fsspec[http]) is not installed")
    chunk = next((samples / "caf").glob("*.caf"))
    database = tmp_path / "c.db"
    with hostile(good(chunk.read_bytes())) as served:
        url = f"{served.url}/a.caf?sig={SECRET}"
        storage = ("--storage", "skip_instance_cache=true")
        assert exhume_cli("catalog", "build", database, url, *storage).code == 0
        for more in ((), ("--json",)):
            found = exhume_cli("catalog", "find", database, "*", *more)
            assert found.code == 0
            assert b"sig=***" in found.out
            assert SECRET.encode() not in found.out
        served.answer = denied
        for more in ((), ("--json",)):
            ran = exhume_cli("catalog", "check", database, *more, *storage)
            assert SECRET not in ran.err + ran.text
        ran = exhume_cli("catalog", "build", database, url, "--add", *storage)
        assert SECRET not in ran.err + ran.text


def test_objects_of_the_library() -> None:
    pytest.importorskip("aiohttp", reason="the extra cloud (fsspec[http]) is not installed")
    with hostile(good(SAMPLE)) as served:
        options = {"skip_instance_cache": True, "headers": {"X-Token": SECRET}}
        url = f"{served.url}/{QUERY}"
        with exhume.open(url, storage_options=options) as archive:
            assert SECRET not in archive.name + archive.source.name
            parts = archive.partitions(storage_options=options)
            assert parts
            assert SECRET not in repr(parts)
            assert parts[0].target == url  # another process opens it again
        assert SECRET not in repr(Search(storage_options=options))
