"""Has Timesketch's own import client read files, and prints what it would upload as JSON lines.

Run by the Python of `.venv-plugins`; the server is the only part that is not Timesketch's.
"""

import json
import logging
import sys
from types import SimpleNamespace

from timesketch_import_client.importer import ImportStreamer


class Session:
    """Takes the place of the connection to a server."""

    def post(self, url: str, data: dict, files: dict) -> SimpleNamespace:  # type: ignore[type-arg]
        sys.stdout.write(files["events"][1].rstrip("\n") + "\n")
        return SimpleNamespace(status_code=200, json=lambda: {"objects": [{}], "meta": {}})


logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
for path in sys.argv[1:]:
    with ImportStreamer() as streamer:
        api = SimpleNamespace(api_root="http://localhost/api/v1", session=Session())
        streamer.set_sketch(SimpleNamespace(id=1, api=api))
        streamer.add_file(path)
sys.stdout.write(json.dumps("end") + "\n")
