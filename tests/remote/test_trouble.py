"""What a user meets: mistyped URLs, missing things, refusals, silence, certificates.  One line with a code for each."""

from __future__ import annotations

import os
import re
import ssl
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import exhume
import exhume.io.remote
import exhume.io.remote.source
import exhume.io.remote.stores
from exhume.errors import SourceError
from tests.conftest import Ran
from tests.remote.server import serving
from tests.remote.store import BUCKET, Store

pytest.importorskip("aiohttp", reason="the extra cloud (fsspec[http]) is not installed")
Cli = Callable[..., Ran]
SAMPLE = Path(__file__).parent.parent / "samples" / "zs" / "words-deflate.zs"


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exhume.io.remote, "RETRY_DELAY", 0.001)
    monkeypatch.setattr(exhume.io.remote.stores, "SILENCE", 0.2)


def stated(ran: Ran, code: str = "EX-601") -> str:
    """The one line that a failed command said."""
    assert ran.code == 1
    assert ran.out == b""
    assert re.fullmatch(rf"exhume: [^\n]+ \[{code}\]\n", ran.err), ran.err
    return ran.err


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("htps://example.org/a.zs", "Protocol not known: htps"),
        ("http://", "reading failed"),
        ("http://127.0.0.1:9/a.zs", "Cannot connect"),
        ("https://nosuch.invalid/a.zs", "nosuch.invalid"),
        ("memory://nothing", "no such file or object"),
        ("zip://inner::memory://nothing.zip", ""),
        ("caf://member", "which archive"),
        ("s3:/bucket/key", "No such file"),
    ],
)
def test_urls_that_lead_nowhere(url: str, words: str, exhume_cli: Cli) -> None:
    assert words in stated(exhume_cli("info", url))


def test_buckets_and_keys_that_are_not_there(store: Store, exhume_cli: Cli) -> None:
    for url in (
        f"s3://{BUCKET}/nothing.zs",
        f"s3://{BUCKET}/nothing/",
        "s3://no-such-bucket/a.zs",
        "s3://no-such-bucket/a/",
    ):
        assert "no such file or object" in stated(exhume_cli("info", url, *store.arguments))
    assert "matches" in stated(exhume_cli("verify", f"s3://{BUCKET}/nothing/*.zs", *store.arguments))


def test_no_credentials(monkeypatch: pytest.MonkeyPatch, store: Store, exhume_cli: Cli, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    endpoint = f"endpoint_url={store.options['endpoint_url']}"
    ran = exhume_cli("info", f"s3://{BUCKET}/a.zs", "--storage", endpoint, "--storage", "skip_instance_cache=true")
    assert "no credentials" in stated(ran)


@pytest.mark.parametrize("status", ["401", "403"])
@pytest.mark.parametrize("later", [False, True])
def test_access_denied(status: str, later: bool) -> None:
    data = b"x" * 500_000
    with serving({"a": data}, "good" if later else status) as served:
        options = {"skip_instance_cache": True}
        with pytest.raises(SourceError, match=f"access denied.*HTTP status {status}"):
            if later:
                with exhume.io.opening.open_target(f"{served.url}/a", storage_options=options) as source:
                    served.mode = status
                    source.read_at(200_000, 10)  # type: ignore[union-attr]
            else:
                exhume.open(f"{served.url}/a", storage_options=options)
        assert len(served.requests) == 1 + later  # not tried again


def test_denied_by_the_store(store: Store, exhume_cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    async def denied(*args: Any, **kwargs: Any) -> Any:
        raise PermissionError("Access Denied")

    monkeypatch.setattr(type(store.fs), "_call_s3", denied)
    ran = exhume_cli("info", f"s3://{BUCKET}/secret.zs", *store.arguments, "--storage", "skip_instance_cache=true")
    assert "access denied" in stated(ran)


def test_a_server_without_answers() -> None:
    with serving({"a": b"x" * 1000}, "silent") as served:
        start = time.monotonic()
        with pytest.raises(SourceError, match="no answer in time after 4 attempts"):
            exhume.open(f"{served.url}/a", storage_options={"skip_instance_cache": True})
        assert time.monotonic() - start < 60


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, Path]:
    """A server's TLS context, and the certificate of the private authority that signed it."""
    trustme: Any = pytest.importorskip("trustme", reason="trustme is not installed")
    root = trustme.CA()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    root.issue_cert("localhost", "127.0.0.1").configure_cert(context)
    path = tmp_path_factory.mktemp("tls") / "authority.pem"
    root.cert_pem.write_to_path(str(path))
    return context, path


@pytest.mark.slow
def test_https(authority: tuple[ssl.SSLContext, Path], exhume_cli: Cli) -> None:
    context, trusted = authority
    with serving({"w.zs": SAMPLE.read_bytes()}, tls=context) as served:
        url = f"{served.url}/w.zs"
        assert url.startswith("https://")
        ran = exhume_cli("info", url, "--storage", "skip_instance_cache=true")
        assert "the server's certificate is not trusted" in stated(ran)
        assert not served.requests
        options = {"ssl": ssl.create_default_context(cafile=str(trusted)), "skip_instance_cache": True}
        with exhume.open(url, storage_options=options) as archive:
            assert archive.format == "zs"
        assert len(served.requests) == 1
        command = [sys.executable, "-m", "exhume", "verify", url]
        done = subprocess.run(
            command,
            env={**os.environ, "SSL_CERT_FILE": str(trusted)},
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stdout.decode()) == (0, f"{url}: zs: ok\n"), done.stderr
        done = subprocess.run(command, env={**os.environ}, capture_output=True, timeout=60, check=False)
        assert done.returncode == 1
        assert b"Traceback" not in done.stderr
