"""CAF, the Chunk Archive Format 1.0: many files in one chunk, found through a JSON index at its end.

This module registers the format: each `module:name` is loaded when it is needed.
"""

from exhume.registry import Format, Signature

FORMAT = Format(
    id="caf",
    title="Chunk Archive Format 1.0: files, JSON index, 4-byte footer",
    package=__name__,
    container="file",
    content="members",
    extensions=(".caf",),
    signatures=(Signature(b'"format_version"', note="first key of the index, after the data"),),
    probe="probe:probe",
    open="reader:open_archive",
    verify="reader:verify_source",
    create="writer:create",
    salvage="salvage:salvage",
    salvages=("archive", "files"),
    tally="exhume.parts.members:tally",
    units=("files",),
    locate="locate:locate",
    tail_first=True,
    inspect="reader:inspect",
    parts="exhume.parts.members",
)
