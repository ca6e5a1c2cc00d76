"""The formats: each subpackage of `exhume.formats` describes itself with a `FORMAT`; hooks are imported when used.

A hook is a function or object that a format provides under a fixed name, such as `open` or `probe`.
"""

from __future__ import annotations

import functools
import importlib
import os
from typing import Any

from exhume.choices import hint
from exhume.errors import Span, UnrecognizedFormatError, UnsupportedOperationError
from exhume.findings import NO_CHECKSUMS, RuleTable
from exhume.late import resolve
from exhume.tuples import NamedTuple

FORMATS = "exhume.formats"
"""The package with the formats, a folder each."""


class Identification(NamedTuple):
    """One candidate format for some bytes, as `exhume.identify` returns it.

    Attributes:
        format: Id of the format.
        confidence: How sure, 0 to 1.
        span: Byte range of the archive.
        evidence: Why, a sentence each.

    Example:
        >>> candidate, = exhume.identify("files.caf")
        >>> candidate.format, candidate.confidence
        ('caf', 0.99)
    """

    format: str
    confidence: float
    span: Span
    evidence: tuple[str, ...] = ()

    @property
    def note(self) -> str:
        """Faults that verifying an archive of this format cannot detect; empty if it has checksums for its content."""
        return "" if get_format(self.format).has_checksums else NO_CHECKSUMS

    def to_dict(self) -> dict[str, Any]:
        """The JSON form documented for `exhume identify --json`."""
        return {
            "format": self.format,
            "confidence": round(self.confidence, 3),
            "span": self.span.to_dict(),
            "evidence": list(self.evidence),
            "note": self.note or None,
        }


class Signature(NamedTuple):
    """Bytes by which a format is recognized: `magic`, `offset` bytes from the start of an archive."""

    magic: bytes
    offset: int = 0
    note: str = ""  # what these bytes are, for people


class Format(NamedTuple):
    """Description of a format that is available before its code is imported.

    Hooks are `"module:attribute"` strings, relative to the format's package; a module that begins with `exhume.` is
    named in full, for what formats share.  For all of them, and for the archives
    that `open` returns: a position that is given counts from the first byte of the source that it is given with; every
    offset and `Span` that is reported counts from the first byte of the outermost file, as `Source.span` makes them.
    So the same bytes yield the same result at any place, except that offsets are shifted by `Source.origin`.

    - `open(source_or_tree, *, limits, **options) -> Archive`
    - `probe(source_or_tree) -> Identification | None`, from a few small reads at head and tail
    - `verify(source_or_tree, *, limits, quick, jobs, progress) -> Iterator[Finding]`: used instead of `Archive.verify`,
      for formats that can continue where opening fails
    - `create(target, **options) -> Writer`, None for read-only formats
    - `rules -> RuleTable`
    - `salvage(source_or_tree, output_path, *, mode, limits, progress, jobs, **options) -> recovery.SalvageReport`:
      writes a new archive (or files, or records) at `output_path`; the engine verifies the output, and reads it back:
    - `tally(archive, jobs) -> int`: the number of `units` that the ordinary reader finds in the output
    - `recode(archive, output_path, *, stored, limits, progress, jobs, **options) -> None`: writes the same content,
      stored differently
    - `locate(source, hit, *, limits, jobs) -> recovery.CarvedArchive | None`: the archive whose signature was hit at
      `hit` of a source, with its exact span
    - `piece(source, format, *, limits) -> recovery.ArchivePiece | None`, for formats that are directories: what a file
      found in an image, and taken for one of the format `format`, is in an archive of this format
    - `owns(name) -> bool`, for formats that are directories: whether a file or directory of that name, relative to an
      archive, belongs to it
    - `inspect(source_or_tree, *, limits) -> SectionMap`: the sections of an archive that does not open, as far as they
      can be determined
    - `parts`: the module that plans and reads parts of an archive; see `exhume.parts`
    """

    id: str  # such as zs
    title: str  # for people
    package: str  # full name of its Python package
    container: str  # "file", "directory" or "either"
    content: str  # "members" or "records"
    extensions: tuple[str, ...] = ()  # of its files, with the dot
    aliases: tuple[str, ...] = ()  # further names for `format=` and `--format`: fsspec protocols, common spellings
    signatures: tuple[Signature, ...] = ()
    codecs: tuple[str, ...] = ()  # names of those that it may use, as options take them
    checksums: tuple[str, ...] = ()  # computed and compared by `verify` before it reports "ok"
    payload_checksums: tuple[str, ...] = ()  # the same, but for `quick`, which leaves these out
    unsealed: str = ""  # the code of the note that some content of an archive was written without checksums
    open: str = "reader:open_archive"
    probe: str = "probe:probe"
    verify: str | None = None
    create: str | None = "writer:create"
    rules: str = "checks:RULES"
    salvage: str | None = None
    tally: str | None = None
    locate: str | None = None
    owns: str | None = None
    piece: str | None = None
    recode: str | None = None
    inspect: str | None = None
    parts: str | None = None
    salvages: tuple[str, ...] = ()  # the modes of `salvage` that make sense (`SalvageMode`)
    units: tuple[str, ...] = ()  # the kinds of recovered content that are counted again in what `salvage` wrote
    cli: str | None = "cli:CLI"
    limitations: tuple[str, ...] = ()  # sentences for people
    tail_first: bool = False  # whether opening starts at the end of the file

    @property
    def has_checksums(self) -> bool:
        """Whether the format has checksums for its content."""
        return bool(self.checksums or self.payload_checksums)

    def hook(self, name: str) -> Any:
        """The object that a hook names; raises `UnsupportedOperationError` if the format has none."""
        text = getattr(self, name)
        if text is None:
            raise UnsupportedOperationError(f"there is no {name!r} for {self.id} archives")
        return resolve(self.package, text)

    def has(self, name: str) -> bool:
        """Whether the format has that hook."""
        return getattr(self, name) is not None


@functools.cache
def formats() -> dict[str, Format]:
    """All formats by id, in alphabetical order."""
    found: dict[str, Format] = {}
    for name in _packages():
        described: Format = importlib.import_module(f"{FORMATS}.{name}").FORMAT
        found[described.id] = described
    return dict(sorted(found.items()))


def _packages() -> list[str]:
    """The names of the formats' packages."""
    path = importlib.import_module(FORMATS).__path__
    try:  # folders with an __init__.py: `pkgutil`, which also looks into zip files, takes as long to import as they all
        folders = [entry for folder in path for entry in os.scandir(folder)]
        return sorted(one.name for one in folders if os.access(f"{one.path}/__init__.py", os.R_OK))
    except OSError:
        import pkgutil

        return sorted(module.name for module in pkgutil.iter_modules(path))


def get_format(id: str) -> Format:
    """The format of that id, file extension or fsspec protocol; raises `UnrecognizedFormatError` when there is none."""
    known = formats()
    found = known.get(id)
    if found is None:
        folded = id.casefold()
        names = ((one, (one.id, *one.extensions, *one.aliases)) for one in known.values())
        aliases = {name.lstrip("."): one for one, its in names for name in its}
        found = aliases.get(folded.lstrip("."))
        if found is None:
            raise UnrecognizedFormatError(
                f"unknown format{hint(folded, aliases)}",
                code="EX-103",
                expected=f"one of {', '.join(known)}",
                actual=id,
            )
    return found


def rules_of(described: Format) -> RuleTable:
    """The rule table of a format."""
    table: RuleTable = described.hook("rules")
    return table
