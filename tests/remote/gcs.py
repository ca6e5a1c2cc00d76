"""A Google Cloud Storage emulator on loopback, with the preconditions and headers of the real store's downloads."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

BUCKET = "evidence"
os.environ["GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT"] = "false"  # read by gcsfs: do not request the bucket's kind over gRPC


class GcsStore:
    """A running store: `options` reach it, `put` uploads; `asks` has the ranges and generations it was requested."""

    def __init__(self, port: int) -> None:
        import gcsfs

        logging.getLogger("gcsfs").setLevel(logging.CRITICAL)
        self.asks: list[tuple[str, str | None]] = []
        self.options: dict[str, Any] = {
            "endpoint_url": f"http://127.0.0.1:{port}", "token": "anon", "project": "exhume"
        }  # fmt: skip
        self.fs = gcsfs.GCSFileSystem(**self.options)

    @property
    def arguments(self) -> list[str]:
        return [word for key, value in self.options.items() for word in ("--storage", f"{key}={value}")]

    def put(self, name: str, path: Path) -> str:
        if path.is_dir():
            for file in path.rglob("*"):
                if file.is_file():
                    self.pipe(f"{name}/{file.relative_to(path).as_posix()}", file.read_bytes())
        else:
            self.pipe(name, path.read_bytes())
        return f"gs://{BUCKET}/{name}"

    def pipe(self, name: str, data: bytes) -> str:
        self.fs.pipe(f"{BUCKET}/{name}", data)
        return f"gs://{BUCKET}/{name}"


@contextmanager
def gcs_store() -> Iterator[GcsStore]:
    """A store for the length of the block."""
    from gcp_storage_emulator import server as emulator
    from gcp_storage_emulator.exceptions import NotFound
    from gcp_storage_emulator.handlers import objects

    for name in ("server", "handlers.objects", "handlers.buckets", "storage"):
        logging.getLogger(f"gcp_storage_emulator.{name}").setLevel(logging.CRITICAL)
    running = emulator.create_server("127.0.0.1", 0, in_memory=True, default_bucket=BUCKET)
    store: GcsStore | None = None

    def download(request: Any, response: Any, storage: Any) -> None:
        """As the real one: checks `ifGenerationMatch`, and reports the generation."""
        wanted = request.query.get("ifGenerationMatch", [None])[0]
        assert store is not None
        store.asks.append((request.get_header("range", ""), wanted))
        try:
            found = storage.get_file_obj(request.params["bucket_name"], request.params["object_id"])["generation"]
        except NotFound:
            found = None
        if wanted is not None and found is not None and wanted != found:
            response.status = HTTPStatus.PRECONDITION_FAILED
            return
        if found is not None:
            response["X-Goog-Generation"] = found
        objects.download(request, response, storage)

    before = [(methods, method) for _, methods in emulator.HANDLERS for method in methods
              if methods[method] is objects.download]  # fmt: skip
    for methods, method in before:
        methods[method] = download
    running.start()
    try:
        store = GcsStore(running._api._httpd.server_port)
        yield store
    finally:
        running.stop()
        for methods, method in before:
            methods[method] = objects.download
