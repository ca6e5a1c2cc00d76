"""Writes a JSON Schema for each JSON document of the command: `src/exhume/schemas/<verb>.json`.

    python -m tools.json_schemas [--check]

`docs/json.md` explains the keys; their types are defined here.  A key with `!` is always present and never null; others
may be absent or null.  Documents may have more keys than a schema names, because keys are added between versions.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "src" / "exhume" / "schemas"

Form = Mapping[str, Any]

SCALARS: dict[str, dict[str, Any]] = {
    "text": {"type": "string"},
    "int": {"anyOf": [{"type": "integer"}, {"type": "string", "pattern": "^-?[0-9]+$"}]},
    "number": {"anyOf": [{"type": "number"}, {"type": "string"}]},
    "bool": {"type": "boolean"},
    "any": {},
    "object": {"type": "object"},
    "texts": {"type": "array", "items": {"type": "string"}},
    "counts": {"type": "object", "additionalProperties": {"type": "integer"}},
}

SPAN = {"source!": "text", "start!": "int", "end!": "int", "payload_start": "int", "payload_end": "int"}
FINDING = {
    "code!": "text",
    "severity!": ("error", "unchecked", "warning", "note"),
    "message!": "text",
    "span": "$span",
    "field_path": "text",
    "expected": "any",
    "actual": "any",
    "spec_ref": "text",
    "declared_at": "$span",
}
VERDICT = ("ok", "damaged", "incomplete")
SECTION = {
    "name!": "text",
    "kind!": ("structure", "data", "checksum", "padding", "gap", "unread"),
    "offset!": "int",
    "stored_size!": "int",
    "source!": "text",
    "codec": "text",
    "stored_schema": "text",
    "payload_schema": "text",
    "payload_size": "int",
    "parent": "text",
    "note": "text",
}
CHECKSUM = {
    "algorithm!": "text",
    "outcome!": ("matches", "mismatch", "not_checked"),
    "expected": "any",
    "actual": "any",
    "reason": "text",
}
FIELD = {
    "name!": "text",
    "path!": "text",
    "type!": "text",
    "offset": "int",
    "size": "int",
    "payload_offset": "int",
    "payload_size": "int",
    "value": "any",
    "meaning": "text",
    "doc": "text",
    "doc_ref": "text",
    "checksum": "$checksum",
    "note": "text",
    "omitted": "int",
    "children": ["$field"],
}
BYTES = {"text!": "text", "base64": "text"}
ERROR = {
    "code!": "text",
    "message!": "text",
    "span": "$span",
    "field_path": "text",
    "expected": "any",
    "actual": "any",
    "target": "text",
}
TIMES = {"minimum_ns": "int", "maximum_ns": "int"}
CHANNEL = {
    "name": "text",
    "identifier": "text",
    "section": "int",
    "column": "text",
    "type": "text",
    "compression": "text",
    "count": "int",
    "is_estimate": "bool",
    "hidden": "bool",
    "latched": "bool",
    **TIMES,
    "rate_hz": "number",
    "stored_size": "int",
}
LOG = {
    "log": "text",
    "manifest": "text",
    "name": "text",
    "common_identifier": "text",
    "messages": "int",
    **TIMES,
    "splits": "int",
    "missing_splits": "any",
    "problem": "text",
}
VERSION = {
    "sequence": "int",
    "type": "text",
    "status": "text",
    "superseded_by": "int",
    "level": "int",
    "block_offset": "int",
    "entry_offset": "int",
    "checksum": "text",
    "codec": "text",
    "operation": "int",
    "batch_sequence": "int",
    "batch_count": "int",
}
ENTRY = {
    **CHANNEL,
    **{key: kind for key, kind in LOG.items() if key != "log"},
    **VERSION,
    "kind!": "text",
    "offset": "int",
    "size": "int",
    "stored_size": "int",
    "name": "text",
    "ordinal": "int",
    "source": "text",
    "records": "int",
    "schema_id": "int",
    "stream": "int",
    "stream_offset": "int",
    "columns": "texts",
    "namespace": ("auto", "user"),
    "node": "int",
    "payload_offset": "int",
    "timestamp": "int",
    "shard": "int",
    "shard_offset": "int",
    "crc32c": "text",
    "user_data": {"type_url": "text", "value_hex": "text"},
    "implied": "bool",
    "problem": "text",
    "reason": "text",
    "checksum_status": "text",
    "key": "$bytes",
}
RECORD = {
    "record": "any",
    "ordinal": "int",
    "span": "$span",
    "time_ns": "int",
    "channel": "text",
    "latched": "bool",
    "value": "any",
    "data": "$bytes",
    "key": "$bytes",
    "user": "any",
    "auto": "any",
    "timestamp": "int",
    "message": "$bytes",
}
ANSWER = {"type!": "text", "value!": "any"}
MATCH = {**RECORD, **VERSION, "target": "text", "file": "text"}
REFUSED = {"name!": "text", "code!": "text", "message!": "text", "span": "$span"}
SKIPPED = {"path!": "text", "reason!": "text"}
KIND_OF_FILE = {"kind": "text", "size": "int", "crc32c": "text"}
CARVED = {
    "format!": "text",
    "offset!": "int",
    "length!": "int",
    "verdict!": ("complete", "partial", "damaged", "incomplete"),
    "note": "text",
    "verified_by!": ("checksums", "structure", "none"),
    "confidence!": "number",
    "intact_bytes": "int",
    "nested_in": "int",
    "findings!": ["$finding"],
}
HASHED = {"name!": "text", "size!": "int", "sha256!": "text"}
RUN = {
    "started": "text",
    "ended": "text",
    "verb!": "text",
    "targets!": "texts",
    "exit_code": "int",
    "outputs!": "texts",
}
CANDIDATE = {"format!": "text", "confidence!": "number", "span!": "$span", "evidence!": "texts", "note": "text"}
LOCATION = {
    "file_path!": "text",
    "caf_file_id!": "text",
    "location!": "text",
    "start_byte!": "int",
    "end_byte!": "int",
    "size": "int",
    "chunk_size": "int",
    "tail_sha256": "text",
}
DIFFERENCE = {
    "name!": "text",
    "change!": ("added", "removed", "kind", "content", "user-data"),
    "left": KIND_OF_FILE,
    "right": KIND_OF_FILE,
}
FORMAT = {
    "id!": "text",
    "title!": "text",
    "container!": ("file", "directory", "either"),
    "content!": "text",
    "extensions!": "texts",
    "codecs!": "texts",
    "capabilities!": "texts",
    "limitations!": "texts",
}
INSTALLATION = {
    "version!": "text",
    "python!": "text",
    "platform!": "text",
    "kernel!": ("compiled", "partial", "forced", "stale", "broken", "absent"),
    "libraries!": "object",
}
EXPLAINED = {
    "section!": "$section",
    "fields": "$field",
    "payload": "$field",
    "note": "text",
    "skipped": "int",
    "findings": ["$finding"],
}
OUTCOME = {
    **SPAN,
    "outcome!": ("recovered", "rebuilt", "lost", "ignored"),
    "content": "text",
    "reason": "text",
    "code": "text",
}
STATISTICS = {
    "split_indexes": [
        {
            "split!": "text",
            "section": "int",
            "column": "text",
            "size": "int",
            "messages": "int",
            **TIMES,
            "sorted": "bool",
            "problem": "text",
        }
    ],
    "shard_headers": [
        {
            "shard!": "int",
            "shard_count": "int",
            "compression": "text",
            "record_size": "int",
            "record_alignment": "int",
            "data_offset": "int",
            "problem": "text",
        }
    ],
    "levels": [{"kind!": "text", "level!": "int", "blocks!": "int", "stored_bytes!": "int", "payload_bytes!": "int"}],
    **dict.fromkeys(("row_versions", "old_files", "statuses", "types", "checksums"), "counts"),
    "logs": "object",
    "edits": ["object"],
    **dict.fromkeys(
        (
            *("versions", "first_sequence", "highest_sequence", "sequence_numbers_without_entry", "root_index_level"),
            *("records", "data_payload_bytes", "data_stored_bytes", "smallest_data_payload", "largest_data_payload"),
        ),
        "int",
    ),
    "ratio": "number",
}
NUMBERS_OF_INFO = (
    *("messages", "splits", "size", "data_size", "index_size", "files_size", "unreferenced", "unreadable"),
    *("original_size", "archive_size", "metadata_size", "records", "tables", "streams", "schemas", "nodes"),
    *("tables_size", "record_size", "block_size", "directories", "stored_size", "events", "utc_offset_ms"),
    *("begin_ms", "end_ms"),
    *("last_sequence", "next_file_number", "log_number", "previous_log_number", "waterline", "edits"),
    *("root_index_offset", "root_index_length", "total_file_length", "header_extension_bytes"),
)
TEXTS_OF_INFO = (
    *("log_identifier", "common_identifier", "name", "schema_source", "format_version", "index_order", "version"),
    *("magic", "compression", "encoding", "codec", "writer", "comparator", "manifest", "data_sha256"),
)
PAIR = {"key!": "text", "type!": "text"}
INFO = {
    "target!": "text",
    "format!": "text",
    "verdict": VERDICT,
    **dict.fromkeys(NUMBERS_OF_INFO, "int"),
    **dict.fromkeys(TEXTS_OF_INFO, "text"),
    **TIMES,
    "duration_s": "number",
    "ratio": "number",
    "log_order": "bool",
    "raw_packed": "bool",
    "complete": "bool",
    "is_estimate": "bool",
    "metadata": "object",
    "missing_splits": "any",
    "sections": [{"section!": "int", "columns!": "texts", "splits!": "int", "original_log": "text"}],
    "channels": [CHANNEL],
    "logs": [LOG],
    "files": "any",  # how many, or of a LevelDB database which
    "timestamp_ranges": [
        {
            "key!": "text",
            "nodes!": ["int"],
            "begin!": "number",
            "end!": "number",
            "unit": "text",
            "begin_utc": "text",
            "end_utc": "text",
        }
    ],
    "timestamp_patterns": "object",
    "ingestion_units": ["object"],
    "packets": "texts",
    "problems": "any",
    "index": {"writer": "text", "last_sequence": "int", "files": "int", "size": "int"},
    "shards": [{"shard!": "int", "size": "int", "records": "int"}],
    "auto_keys": [PAIR],
    "user_keys": [PAIR],
    "column_families": "counts",
    "counts": "counts",
    "fields": "object",
    "title": "text",
    "lists": "counts",
    "findings": ["$finding"],
    "statistics": STATISTICS,
}
CREATED = {
    "format!": "text",
    "output": "text",
    "target": "text",
    "manifest": "text",
    "version": "text",
    **dict.fromkeys(
        (
            *("records", "bytes", "files", "lossy_names", "events", "messages", "directories", "size", "stored_size"),
            "changed_values",
        ),
        "int",
    ),
    "reasons": "counts",
    "lost": "counts",
    "notes": "texts",
    "chunks": [
        {
            "path!": "text",
            "size!": "int",
            "files!": "int",
            "data_size!": "int",
            "index_size!": "int",
            "unreferenced_bytes!": "int",
        }
    ],
    "archives": [{"path!": "text", "size!": "int"}],
    "skipped": "any",  # how many, or of files which
}
WHERE = {"target!": "text", "format": "text"}

DEFINITIONS: dict[str, Form] = {
    "span": SPAN,
    "finding": FINDING,
    "section": SECTION,
    "field": FIELD,
    "checksum": CHECKSUM,
    "bytes": BYTES,
}


FACTS = {
    "size": "int",
    "sha256": "text",
    "mtime_ns": "int",
    "atime_ns": "int",
    "mode": "text",
    "xattrs": "object",
    "error": "text",
}


def listed(head: Form, name: str, item: Form, *others: Form) -> list[Form]:
    """A document with a list, or one line for each item of it; and the other documents of the same form."""
    return [{**head, f"{name}!": [item]}, {**head, **item}, *others]


FORMS: dict[str, list[Form]] = {
    "audit": [
        {
            "target!": "text",
            "ok!": "bool",
            "records!": "int",
            "last_digest": "text",
            "runs!": [
                {"record!": "int", "digest!": "text", **RUN},
            ],
            "problems!": [{"record!": "int", "problem!": "text"}],
            "files!": [
                {
                    "record!": "int",
                    "name!": "text",
                    "role!": ("input", "output"),
                    "state!": ("unchanged", "changed", "missing", "not_checked"),
                }
            ],
        }
    ],
    "audit-record": [
        {
            "number!": "int",
            "previous": "text",
            "digest!": "text",
            "tool!": "object",
            "command!": "texts",
            "options!": "object",
            "environment!": {
                "directory!": "text",
                "host!": "text",
                "user": "int",
                "encoding!": "text",
                "variables!": "object",
            },
            "started_ns!": "int",
            "ended_ns!": "int",
            "inputs!": [
                {**FACTS, "name!": "text", "changed!": "texts", "after!": "object", "read!": [["int"]]},
            ],
            "remote": [
                {
                    "name!": "text",
                    "size!": "int",
                    "identity!": "object",
                    "version": "text",
                    "modified": "text",
                    "read!": [["int"]],
                    "fetched!": [{"start!": "int", "end!": "int", "sha256!": "text"}],
                    "fetched_total!": "int",
                }
            ],
            "stdin": {"size!": "int", "sha256!": "text"},
            "stdout": {"size!": "int", "sha256!": "text"},
            "outputs!": [{"name!": "text", "size": "int", "sha256": "text", "error": "text"}],
            "findings!": ["object"],
            "findings_total!": "int",
            "exit_code!": "int",
            "error": "any",
        }
    ],
    "carve": listed({"target!": "text"}, "archives", CARVED),
    "catalog": [
        {"catalog!": "text", "chunks!": "int", "files!": "int", "failed!": [ERROR | {"location": "text"}]},
        *listed({"catalog!": "text"}, "locations", LOCATION),
        {
            "catalog!": "text",
            "ok!": "bool",
            "differences!": [
                {"kind!": "text", "caf_file_id": "text", "file_path": "text", "expected": "any", "actual": "any"}
            ],
        },
    ],
    "compile": [
        {
            "specification!": "text",
            "id!": "text",
            "compiled!": "texts",
            "types!": "int",
            "output": "text",
            "files!": "texts",
        }
    ],
    "coverage": [
        {
            "target!": "text",
            **dict.fromkeys(("fields!", "data!", "padding!", "gap!", "overlap!", "total!"), "int"),
            "unexplained!": ["$span"],
        }
    ],
    "create": [CREATED],
    "diff": [
        {
            "left!": "text",
            "right!": "text",
            "equal": "bool",
            "verdict!": VERDICT,
            "compared!": ("index", "content"),
            "findings!": ["$finding"],
            "differences!": [DIFFERENCE],
        },
        {
            **DIFFERENCE,
            "left": "any",
            "right": "any",
            "equal": "bool",
            "verdict!": VERDICT,
            "compared!": ("index", "content"),
            "findings!": ["$finding"],
        },
    ],
    "error": [ERROR],
    "explain": listed(
        WHERE,
        "sections",
        EXPLAINED,
        {"target!": "text", "offset!": "int", "sections!": ["$section"], "fields!": ["$field"]},
    ),
    "explore": [{**WHERE, "url!": "text"}],
    "export": [
        {
            "target!": "text",
            "export_format!": "text",
            "output": "text",
            "written!": "counts",
            "lost!": "counts",
            "notes!": "texts",
            "omitted": "object",
            "unread": "object",
        }
    ],
    "extract": [{"target!": "text", "output": "text", "extracted!": "int", "bytes!": "int", "refused!": [REFUSED]}],
    "file": [
        {
            "target!": "text",
            "kind!": ("archive", "part", "unrecognized", "link", "unreadable"),
            "format": "text",
            "archive": "text",
            "message": "text",
        }
    ],
    "formats": listed({"installation": INSTALLATION}, "formats", FORMAT),
    "identify": listed({"target!": "text"}, "candidates", CANDIDATE),
    "info": [INFO],
    "list": listed(WHERE, "entries", ENTRY),
    "map": [{**WHERE, "verdict": VERDICT, "written!": "texts"}],
    "members": listed(WHERE, "members", {"name!": "text", "start!": "int", "size!": "int", "content!": "$bytes"}),
    "page": [{**WHERE, "verdict": VERDICT, "output!": "text"}],
    "payload": [{**WHERE, "section!": "text", "size!": "int", "content": "$bytes", "output": "text"}],
    "recode": [{**WHERE, "output!": "text", "content_digest!": "text", "size_before!": "int", "size_after!": "int"}],
    "records": listed(WHERE, "records", RECORD),
    "repair": [
        {
            "target!": "text",
            "manifest": "text",
            "log_identifier!": "text",
            "common_identifier!": "text",
            "kept!": "texts",
            "dropped!": "object",
            "rebuilt!": "object",
            "recovered_messages!": "int",
            "lost_messages!": "int",
            "findings!": ["$finding"],
        }
    ],
    "report": [
        {
            "output!": "text",
            "folder!": "text",
            "created!": "text",
            "installation!": INSTALLATION,
            "verdict": VERDICT,
            "targets!": "texts",
            "images!": [HASHED],
            "archives!": [
                {
                    **{name.replace("offset!", "offset"): kind for name, kind in CARVED.items()},
                    "number!": "int",
                    "image": "int",
                    "target!": "text",
                    "sha256": "text",
                    "file": "text",
                    "files": [HASHED],
                    "group": "int",
                    "findings_total!": "int",
                }
            ],
            "others!": [{"name!": "text", "kind!": ("unrecognized", "part", "link", "unreadable"), "message": "text"}],
            "counts!": "counts",
            "groups!": [
                {
                    "number!": "int",
                    "format!": "text",
                    "archive!": "text",
                    "basis!": "text",
                    "archives!": ["int"],
                    "folder!": "text",
                }
            ],
            "recovered!": [
                {
                    "archives!": ["int"],
                    "group": "int",
                    "output!": "text",
                    "error": "text",
                    "format": "text",
                    "recovered": "counts",
                    "lost": "counts",
                    "notes": "texts",
                    "verdict": VERDICT,
                    "verified_by": ("checksums", "structure", "none", "failed", "empty"),
                    "files": [HASHED],
                }
            ],
            "timeline!": [{**RUN, "digest!": "text"}],
            "problems!": "texts",
        }
    ],
    "salvage": [
        {
            **WHERE,
            "output": "text",
            "recovered!": "counts",
            "lost!": "counts",
            "spans!": [OUTCOME],
            "notes!": "texts",
            "verdict!": VERDICT,
            "verified_by!": ("checksums", "structure", "none", "failed", "empty"),
            "read_back": "int",
            "findings!": ["$finding"],
        }
    ],
    "schema": [
        {"name!": "text", "bundle!": "bool", "text!": "text"},
        *listed({}, "schemas", {"name!": "text", "title!": "text"}),
    ],
    "search": [
        {"format": "text", "query": "any", "matches!": [MATCH]},
        {**MATCH, "format": "text", "query": "any"},
        {
            "target": "text",
            "format": "text",
            "query": "any",
            "count!": "int",
            "targets": [{"target!": "text", "count!": "int"}],
        },
        {"format": "text", "query": "any", "interval_ms!": "number", "counts!": "any"},
        {"format": "text", "query": "any", "plans!": ["object"]},
        {"format": "text", "query": "any", "aggregate!": "text", "field!": "text", "values!": [ANSWER]},
    ],
    "sections": listed(WHERE, "sections", SECTION),
    "selftest": [
        {
            "ok!": "bool",
            "installation!": "object",
            "count!": "int",
            "seed!": "int",
            "created_ns!": "int",
            "checks!": [{"part!": "text", "name!": "text", "attempts!": "int", "results!": "counts", "ok!": "bool"}],
        }
    ],
    "snippet": [{"target!": "text", "manifest!": "text", "log_identifier!": "text"}],
    "verify": [
        {
            **WHERE,
            "verdict!": VERDICT,
            "ok!": "bool",
            "note": "text",
            "checked": "texts",
            "unchecked": "texts",
            "findings!": ["$finding"],
        },
        {**WHERE, **FINDING},
    ],
    "total": [
        {
            "targets!": "int",
            "verdict!": VERDICT,
            "verdicts!": dict.fromkeys(("ok!", "damaged!", "incomplete!"), "int"),
        }
    ],
    "walk": [dict.fromkeys(("archive!", "part!", "unrecognized!", "link!", "unreadable!"), "int")],
}


def schema_of(kind: Any, *, nullable: bool = False) -> dict[str, Any]:
    """The JSON Schema of a type as it is written above."""
    made: dict[str, Any]
    if isinstance(kind, list):
        made = {"type": "array", "items": schema_of(kind[0])}
    elif isinstance(kind, tuple):
        made = {"enum": list(kind)}
    elif isinstance(kind, Mapping):
        made = object_of(kind)
    elif kind.startswith("$"):
        made = {"$ref": f"#/$defs/{kind[1:]}"}
    else:
        made = SCALARS[kind]
    return {"anyOf": [made, {"type": "null"}]} if nullable and made else made


def object_of(form: Form) -> dict[str, Any]:
    """The JSON Schema of an object by its keys."""
    required = [key[:-1] for key in form if key.endswith("!")]
    properties = {key.removesuffix("!"): schema_of(kind, nullable=not key.endswith("!")) for key, kind in form.items()}
    return {"type": "object", "properties": properties} | ({"required": required} if required else {})


def referred(kind: Any) -> Iterator[str]:
    """The names of the definitions that a type refers to."""
    if isinstance(kind, str) and kind.startswith("$"):
        yield kind[1:]
    elif isinstance(kind, Mapping):
        yield from (name for one in kind.values() for name in referred(one))
    elif isinstance(kind, list):
        yield from referred(kind[0])


def document(name: str) -> dict[str, Any]:
    """The JSON Schema of the form `exhume.<name>/1`."""
    id = f"exhume.{name}/1"
    forms = [object_of({"schema!": (id,), **form}) for form in FORMS[name]]
    body = forms[0] if len(forms) == 1 else {"anyOf": forms}
    used: dict[str, Any] = {}
    waiting = [*FORMS[name]]
    while waiting:
        for definition in sorted(set(referred(waiting.pop())) - set(used)):
            used[definition] = object_of(DEFINITIONS[definition])
            waiting.append(DEFINITIONS[definition])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:exhume:{name}:1",
        "title": id,
        "description": f"What `docs/json.md` says of {id}: the document, or a line of it with --ndjson.",
        **body,
        **({"$defs": used} if used else {}),
    }


def written() -> dict[Path, str]:
    """Every file and its text."""
    return {FOLDER / f"{name}.json": json.dumps(document(name), ensure_ascii=False) + "\n" for name in sorted(FORMS)}


def main(check: bool) -> int:
    """Write the files; with `check` only says which differ."""
    files = written()
    wrong = [path for path, text in files.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    extra = [path for path in FOLDER.glob("*.json") if path not in files]
    if check:
        for path in (*wrong, *extra):
            print(f"{path.relative_to(ROOT)} is not what tools/json_schemas.py says: make json-schemas")
        return 1 if wrong or extra else 0
    FOLDER.mkdir(exist_ok=True)
    for path in wrong:
        path.write_text(files[path], encoding="utf-8")
    for path in extra:
        path.unlink()
    print(f"json-schemas: {len(wrong)} written")
    return 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
