"""What type checkers make of uses of the library: mypy and pyright read this in strict mode, and nothing runs it.

A line with an ignoring comment has to be refused: both checkers report a comment that ignores nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, assert_type

import exhume
from exhume.distributed import partitions
from exhume.formats.ark.messages import ArkMessage

assert_type(exhume.open("a"), exhume.Archive)
assert_type(exhume.open("a", format="zs"), exhume.zs.ZsArchive)
assert_type(exhume.open("a", format="clp-s"), exhume.clps.ClpSArchive)
assert_type(exhume.caf.open("a").stat("b"), exhume.Entry)
assert_type(exhume.zs.open("a"), exhume.zs.ZsArchive)
assert_type(exhume.identify("a"), list[exhume.Identification])
for record in exhume.zs.open("a").records(prefix=b"a"):
    assert_type(record, bytes)
for message in exhume.ark.open("a").messages("/pose", start_ns=1):
    assert_type(message, ArkMessage)
for event in exhume.clps.open("a").events("level: ERROR"):
    assert_type(event, dict[str, Any])
for found in exhume.clps.open("a").events(with_source=True):
    assert_type(found.properties, Mapping[str, Any] | None)
for auto, user in exhume.kvir.open("a").events():
    assert_type((auto, user), tuple[dict[str, Any], dict[str, Any]])
for finding in exhume.verify("a"):
    assert_type(finding.severity, exhume.Severity)

# Options of tables, of each format.
losses: Counter[str] = Counter()
exhume.open("a").to_arrow(columns=["record"], batch_rows=10, losses=losses)
exhume.zs.open("a").to_arrow(prefix=b"a", split=True, errors="replace", jobs=2)
exhume.clps.open("a").to_dataset(query="level: ERROR", ignore_case=True, cache_bytes=0)
exhume.kvir.open("a").to_arrow(widest=100)
exhume.leveldb.open("a").to_dataset(all_versions=True)
exhume.ark.open("a").arrow_tables(topic="/pose", start_ns=1)
exhume.caf.open("a").to_arrow(digest="sha256")
exhume.clpir.open("a").to_arrow(columns=("message",))
partitions(["a", "b"], size=None, query="level: ERROR")

# What has to be refused.
exhume.open("a").to_arrow(prefix=b"a")  # type: ignore[call-arg]
exhume.zs.open("a").to_arrow(topic="/pose")  # type: ignore[call-arg]
exhume.zs.open("a").to_arrow(errors="skip")  # type: ignore[arg-type]
exhume.clpir.open("a").to_arrow(jobs=2)  # type: ignore[call-arg]
exhume.leveldb.open("a").to_dataset(versions=True)  # type: ignore[call-arg]
partitions("a", topik="/pose")  # type: ignore[call-arg]
exhume.zs.create("a", codec="zstd")  # type: ignore[arg-type]
