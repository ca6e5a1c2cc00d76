"""`--to fsspec-reference`: the index as a reference file system; fsspec then reads members straight from the archive.

fsspec.filesystem("reference", fo="refs.json").cat("dir/member")
"""

from __future__ import annotations

import io
import json
import os
from typing import Any

from exhume.archive import MemberArchive, Progress, no_progress
from exhume.errors import ExhumeError, WriterError, shorten
from exhume.export._members import each_member, lose
from exhume.io.output.stream import binary_output
from exhume.redaction import redact
from exhume.tabular.report import ExportReport, refuse_options

ACCEPTS = "members"


def export(
    archive: MemberArchive,
    output: str,
    *,
    overwrite: bool = False,
    progress: Progress = no_progress,
    url: str | None = None,
    **options: Any,
) -> ExportReport:
    """Write references (version 1) to `output`: for each member the archive's URL, offset and size in bytes.

    `url` is the URL in the references, if it is not the one that the archive was read from.  Members that are not
    stored uncompressed, and empty names, get no reference and are reported.  Raises `WriterError` when there is no URL.
    """
    refuse_options("fsspec-reference", options)
    report = ExportReport()
    with binary_output(output, overwrite=overwrite) as file:
        text = io.TextIOWrapper(file, "utf-8", write_through=True)
        text.write('{"version":1,"refs":{')
        comma = "\n"
        for entry, _ in each_member(archive, report, progress):
            name = entry.name or ""
            if entry.kind == "directory":
                continue
            try:
                stored = archive.stored_range(name)
            except ExhumeError as error:
                lose(report, error)
                continue
            if stored is None or not name:
                report.lost["members"] += 1
                report.notes.append(f"no reference for {shorten(name)!r}")
                continue
            source, start, end = stored
            place: Any = ""  # an empty member is its own content
            if end > start:
                place = [url or redact(_url(source.outermost.location)), source.origin + start, end - start]
            text.write(f"{comma}{json.dumps(name)}:{json.dumps(place)}")
            comma = ",\n"
            report.written["references"] += 1
        text.write("\n}}\n")
        text.detach()
    return report


def _url(location: str | None) -> str:
    if location is None:
        raise WriterError("references need the URL of the archive: open it by path or URL, or name its URL")
    if "://" in location or "::" in location:
        return location
    return "file://" + os.path.abspath(location)  # noqa: PTH100 - resolve() would follow links
