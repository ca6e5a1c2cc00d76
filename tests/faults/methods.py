"""Every method that reads an archive, for tests that call all of them: their results can be compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

ARCHIVES = {
    "ark": "ark/log",
    "caf": "caf/sorted.caf",
    "clp-ir": "clp_ir/small.clp",
    "clp-s": "clp_s/demo.clps",
    "clp-s, a directory": "clp_s/directory",
    "databundle": "data_bundle/zlib",
    "kv-ir": "kv_ir/small.clp",
    "leveldb": "leveldb/small",
    "zs": "zs/words-deflate.zs",
}
"""A small archive of every format among the samples."""

Method = Callable[[Any], Any]

_ALL: dict[str, Method] = {
    "info": lambda a: a.info().to_dict(),
    "stats": lambda a: a.stats(),
    "sections": lambda a: [(s.name, str(s.span), str(s.kind), s.codec, s.schema, s.note) for s in a.sections()],
    "entries": lambda a: [entry.to_dict() for entry in a.entries()],
    "verify": lambda a: [finding.to_dict() for finding in a.verify()],
    "arrow_tables": lambda a: {name: table().read_all().to_pylist() for name, table in a.arrow_tables().items()},
}
_MEMBERS: dict[str, Method] = {
    "names": lambda a: list(a.names()),
    "read_member": lambda a: {name: a.read_member(name) for name in a.names()},
    "iter_member": lambda a: {name: b"".join(a.iter_member(name, 7)) for name in a.names()},
    "open_member": lambda a: {name: _read(a.open_member(name)) for name in a.names()},
    "stored_range": lambda a: [str(a.stored_range(name)) for name in a.names()],
}
_OWN: dict[str, dict[str, Method]] = {
    "ark": {
        "messages": lambda a: [(m.time_ns, m.channel, bytes(m.data), repr(m.value)) for m in a.messages()],
        "channel_table": lambda a: [repr(one) for one in a.channel_table()],
        "counted": lambda a: a.counted().to_dict(),
    },
    "caf": {**_MEMBERS, "read_members": lambda a: list(a.read_members(list(a.names())))},
    "clp-s": {
        "json_lines": lambda a: list(a.json_lines(ordered=True)),
        "events": lambda a: list(a.events()),
        "search": lambda a: list(a.search("level: ERROR").lines(ordered=True)),
        "content_digest": lambda a: a.content_digest(),
    },
    "databundle": {
        **_MEMBERS,
        "content_digest": lambda a: a.content_digest(),
        "versions": lambda a: [repr(one) for one in a.versions()],
        "list_directory": lambda a: [entry.to_dict() for entry in a.list_directory()],
    },
    "clp-ir": {
        "json_lines": lambda a: list(a.json_lines()),
        "text_chunks": lambda a: b"".join(a.text_chunks()),
        "events": lambda a: [*a.events()],
        "search": lambda a: list(a.search("*")),
        "content_digest": lambda a: a.content_digest(),
    },
    "kv-ir": {
        "json_lines": lambda a: list(a.json_lines(pairs="both")),
        "events": lambda a: [*a.events()],
        "search": lambda a: list(a.search("*: *")),
        "content_digest": lambda a: a.content_digest(),
    },
    "leveldb": {
        "live": lambda a: [repr(one) for one in a.database.live_versions()],
        "versions": lambda a: [repr(one) for one in a.database.versions()],
    },
    "zs": {
        "records": lambda a: list(a.records()),
        "records_with_origin": lambda a: [(r.data, str(r.span)) for r in a.records_with_origin()],
        "records of a prefix": lambda a: list(a.records(prefix=b"t")),
        "count": lambda a: a.count(prefix=b"a"),
        "content_digest": lambda a: a.content_digest(),
    },
}


def methods(archive: str) -> dict[str, Method]:
    """The methods of one of `ARCHIVES`, each as a function of the archive that returns something to compare."""
    return _ALL | _OWN[archive.partition(",")[0]]


def every_method() -> Iterable[tuple[str, str]]:
    """Pairs of an archive and the name of one of its methods."""
    return [(archive, name) for archive in ARCHIVES for name in methods(archive)]


def _read(file: Any) -> bytes:
    with file:
        data: bytes = file.read()
    return data
