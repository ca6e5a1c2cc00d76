"""Run as a script: damages every byte of some archives in several ways and reads the result.

Prints one JSON object: the CPU seconds of the slowest case, peak memory in MiB, and what was not an `ExhumeError`.
"""

from __future__ import annotations

import json
import sys
import time
import traceback
from pathlib import Path

import exhume
from exhume.errors import ExhumeError
from exhume.formats.clp_s.reader import open_archive
from exhume.io.source import BytesSource
from tests.sizes import peak_memory

QUERIES = ("*: *a1* OR n > 0 OR ts > 5 OR $_filename: *a*", 'list.k: a1 OR *.e: null OR NOT msg: "no *"')


def use(data: bytes, *, all_ways: bool) -> None:
    """What examines an archive: `verify` and the records in order, and with `all_ways` everything."""
    for _ in exhume.verify(data, format="clp-s"):
        pass
    with open_archive(BytesSource(data)) as archive:
        archive.info().to_dict()
        archive.sections()
        for ordered in (False, True)[: 2 if all_ways else 1]:
            try:
                for _ in archive.json_chunks(ordered=ordered):
                    pass
            except ExhumeError:
                pass
        if not all_ways:
            return
        try:
            for _ in archive.events(with_source=True):
                pass
        except ExhumeError:
            pass
        for query in QUERIES:
            try:
                for _ in archive.json_lines(query):
                    pass
            except ExhumeError:
                pass
        list(archive.entries())


def main(paths: list[Path], thorough: bool) -> None:
    found = [examine(path.read_bytes(), thorough) for path in paths]
    failures = [f"{path.name}, {one}" for path, (_, failed) in zip(paths, found, strict=True) for one in failed]
    slowest, peak = max(seconds for seconds, _ in found), peak_memory() >> 20
    json.dump({"slowest": slowest, "peak": peak, "failures": failures[:5]}, sys.stdout)


def examine(data: bytes, thorough: bool) -> tuple[float, list[str]]:
    """The CPU seconds of the slowest case, and what was not an `ExhumeError`."""
    slowest = 0.0
    failures: list[str] = []
    for offset in range(0, len(data), 1 if thorough else 7):
        masks = (0x01, 0x10, 0x80, 0xFF) if thorough else ((0x01, 0xFF)[offset % 2],)
        for value in sorted({data[offset] ^ mask for mask in masks}):
            damaged = data[:offset] + bytes([value]) + data[offset + 1 :]
            start = time.process_time()
            try:
                use(damaged, all_ways=thorough or offset % 16 < 4)  # with either of the masks
            except ExhumeError as error:
                if "\n" in str(error):
                    failures.append(f"{offset}: {error!r}")
            except BaseException:
                failures.append(f"{offset}={value:#x}: {traceback.format_exc()[-600:]}")
            slowest = max(slowest, time.process_time() - start)
    return slowest, failures


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[2:]], sys.argv[1] == "thorough")
