"""A real object store on loopback: moto's S3 server, with each request noted."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.remote.wire import Wire

BUCKET = "evidence"


class Store:
    """A running object store: `options` reach it, `put` uploads; `wire` has what it was asked."""

    def __init__(self, endpoint: str, wire: Wire) -> None:
        import s3fs

        self.wire = wire
        self.options: dict[str, Any] = {"endpoint_url": endpoint, "key": "k", "secret": "s"}
        self.fs = s3fs.S3FileSystem(**self.options)
        self.fs.mkdir(BUCKET)

    @property
    def arguments(self) -> list[str]:
        return [word for key, value in self.options.items() for word in ("--storage", f"{key}={value}")]

    def put(self, name: str, path: Path) -> str:
        url = f"s3://{BUCKET}/{name}"
        self.fs.put(str(path), url, recursive=path.is_dir())
        return url

    def pipe(self, name: str, data: bytes) -> str:
        url = f"s3://{BUCKET}/{name}"
        self.fs.pipe(url, data)
        return url


@contextmanager
def s3_store() -> Iterator[Store]:
    """A store for the length of the block."""
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
    from werkzeug.serving import make_server

    class Silent(MotoRequestHandler):
        def log_request(self, code: Any = "-", size: Any = "-") -> None:
            """Say nothing."""

    wire = Wire()
    moto: Any = DomainDispatcherApplication(create_backend_app)

    def noting(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        words = (environ["REQUEST_METHOD"], environ["PATH_INFO"], environ["QUERY_STRING"], environ.get("HTTP_RANGE"))
        with wire.request(" ".join(word for word in words if word)):
            answer: Iterable[bytes] = moto(environ, start_response)
        return answer

    server = make_server("127.0.0.1", 0, noting, threaded=True, request_handler=Silent)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield Store(f"http://127.0.0.1:{server.server_port}", wire)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
