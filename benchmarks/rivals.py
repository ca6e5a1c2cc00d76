"""What people use today for what a verb does, as commands: `python -m benchmarks.rivals NAME PATH...`

`benchmarks.jobs` runs them.  Programs and packages that are not installed are left out; `benchmarks/README.md` says how
to have them.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from benchmarks.data_bundle import extract_zip, pack_zip


class Rival(NamedTuple):
    """A command that does what a verb does, and whose it is."""

    name: str
    command: list[str]


def python(name: str, shown: str, package: str, *paths: Path | str) -> Rival | None:
    """One of the functions below in a process of its own; None without its package."""
    if importlib.util.find_spec(package) is None:
        return None
    return Rival(shown, [sys.executable, "-m", "benchmarks.rivals", name, *map(str, paths)])


def clp_s_binary() -> str | None:
    """The C++ `clp-s` that is there."""
    named = os.environ.get("EXHUME_CLP_S_BIN", "").split(os.pathsep)[0]
    if named:
        return named
    spec = importlib.util.find_spec("yscope_clp_core")
    return None if spec is None or spec.origin is None else str(Path(spec.origin).parent / "bin" / "clp-s")


def clp_s(shown: str, *arguments: Path | str) -> Rival | None:
    """The C++ `clp-s`."""
    binary = clp_s_binary()
    return None if binary is None else Rival(shown, [binary, *map(str, arguments)])


def zs(shown: str, *arguments: Path | str) -> Rival | None:
    """The reference implementation of ZS."""
    python = os.environ.get("EXHUME_ZS_PYTHON", "")
    return Rival(shown, [python, "-m", "zs", *map(str, arguments)]) if python else None


def clp_s_to_arrow(archive: str) -> None:
    """The printed text through pyarrow's JSON reader, which is what users do."""
    from pyarrow import json

    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([str(clp_s_binary()), "x", archive, folder], check=True)
        json.read_json(next(Path(folder).iterdir()))


def mcap_read(path: str) -> None:
    """All messages in the order of time."""
    from mcap.reader import make_reader

    with Path(path).open("rb") as file:
        for _, _, message in make_reader(file).iter_messages():
            sys.stdout.buffer.write(message.data)


def mcap_copy(path: str, out: str) -> None:
    """Read all messages and write them to another log."""
    from mcap.reader import make_reader
    from mcap.writer import Writer

    with Path(path).open("rb") as file, Path(out).open("wb") as target:
        writer = Writer(target)
        writer.start()
        schema = writer.register_schema("x", "raw", b"")
        channels: dict[str, int] = {}
        for _, channel, message in make_reader(file).iter_messages():
            number = channels.get(channel.topic)
            if number is None:
                number = channels[channel.topic] = writer.register_channel(channel.topic, "raw", schema)
            writer.add_message(number, message.log_time, message.data, message.publish_time)
        writer.finish()  # type: ignore[no-untyped-call]


def zip_test(path: str) -> None:
    """Every member's CRC-32."""
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None


def plyvel_scan(path: str) -> None:
    """All live entries, the checksums of their blocks compared."""
    import plyvel

    with plyvel.DB(path) as database, database.iterator(verify_checksums=True) as rows:
        for key, value in rows:
            sys.stdout.buffer.write(key + value)


NAMED: dict[str, Callable[..., None]] = {
    "clp-s to_arrow": clp_s_to_arrow,
    "mcap read": mcap_read,
    "mcap copy": mcap_copy,
    "zip create": lambda tree, out: pack_zip(Path(tree), Path(out)),
    "zip extract": lambda file, out: extract_zip(Path(file), Path(out)),
    "zip test": zip_test,
    "plyvel scan": plyvel_scan,
}


def main() -> int:
    """Do what is named."""
    NAMED[sys.argv[1]](*sys.argv[2:])
    return 0


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(main())
