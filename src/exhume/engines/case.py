"""Contents of a case report: the files that were examined, the archives found, and what was recovered of them.

`exhume report` makes one (`engines/report.py`), `view/report.py` writes it as a page.  Archives, groups and examined
files are numbered, and refer to each other by number.  An examined file is called an image, whatever it contains.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from exhume.engines.walk import Kind
from exhume.findings import Verdict
from exhume.recovery import CarvedArchive, CarveVerdict, SalvageReport
from exhume.redaction import redact
from exhume.tuples import NamedTuple

UNRECOGNIZED = "unrecognized"
"""The kind of a file in which no archive was found."""


@dataclass(slots=True)
class Hashed:
    """A file by its name, size and SHA-256."""

    name: str
    size: int
    sha256: str

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {"name": self.name, "size": self.size, "sha256": self.sha256}


class NonArchive(NamedTuple):
    """Something else than an archive: its name, kind (`unrecognized`, `link`, `part`, `unreadable`), and a message."""

    name: str
    kind: str
    message: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {"name": redact(self.name), "kind": self.kind, "message": self.message or None}


@dataclass(slots=True)
class CaseArchive:
    """An archive found in a case.

    `target` is a file that contains the archive, number `image` of the examined files; or a directory that is the
    archive (`image` None), with the files `files`. `place` is a name for its copy below the folder of the report,
    `file` that copy; None if it is not copied, because it is a directory or a whole file. `carved` has its verdict and
    first findings; `findings_total` and `intact_bytes` cover all findings. `nested_in` is the number of the archive
    that contains it, `group` that of its group; None without one.
    """

    number: int
    target: str
    image: int | None
    carved: CarvedArchive
    place: str
    file: str | None = None
    sha256: str | None = None  # of its bytes; None for a directory
    findings_total: int = 0
    intact_bytes: int | None = None
    nested_in: int | None = None
    group: int | None = None
    files: list[Hashed] = field(default_factory=list)

    @property
    def length(self) -> int:
        """Bytes of the archive, or of all files of a directory."""
        return self.carved.length if self.image is not None else sum(one.size for one in self.files)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        out = {
            "number": self.number,
            "image": self.image,
            "target": redact(self.target),
            **self.carved.to_dict(),
            "length": self.length,
            "intact_bytes": self.intact_bytes,
            "nested_in": self.nested_in,
            "findings_total": self.findings_total,
            "sha256": self.sha256,
            "file": self.file,
            "group": self.group,
        }
        if self.image is None:
            out |= {"offset": None, "files": [file.to_dict() for file in self.files]}
        return out


@dataclass(slots=True)
class Group:
    """Pieces of one archive that were found apart (an Ark log's manifest and splits, a bundle's shards), joined.

    `archive` names the archive, `basis` is why the pieces belong together, `archives` are their numbers.  `folder` is
    the directory to which they were copied under their original names.
    """

    number: int
    format: str
    archive: str
    basis: str
    archives: list[int]
    folder: str

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {name: getattr(self, name) for name in ("number", "format", "archive", "basis", "archives", "folder")}


@dataclass(slots=True)
class RecoveryOutcome:
    """The recovered content of an archive or of a group, or the reason why nothing was recovered (`error`).

    `archives` are the numbers of its archives, `group` is that of the group, if any.  `output` is the path below the
    folder of the report, and `files` are those written there.
    """

    archives: list[int]
    group: int | None
    output: str
    report: SalvageReport | None = None
    error: str = ""
    files: list[Hashed] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        out: dict[str, Any] = {"archives": self.archives, "group": self.group, "output": self.output}
        if self.report is None:
            return {**out, "error": self.error}
        values = self.report.to_dict()
        names = ("format", "recovered", "lost", "notes", "verdict", "verified_by")
        return {**out, **{name: values[name] for name in names}, "files": [file.to_dict() for file in self.files]}


@dataclass(slots=True)
class CaseReport:
    """A case: the files that were examined, the archives found, and what was recovered below `folder`."""

    folder: str
    targets: list[str] = field(default_factory=list)
    images: list[Hashed] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    """Images whose stored digest does not match."""
    archives: list[CaseArchive] = field(default_factory=list)
    others: list[NonArchive] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    recovered: list[RecoveryOutcome] = field(default_factory=list)

    @property
    def has_files(self) -> bool:
        """Whether something was copied or recovered."""
        return bool(self.groups or any(one.file for one in self.archives) or any(one.files for one in self.recovered))

    @property
    def verdict(self) -> Verdict | None:
        """The verdict on all archives together, `incomplete` if a file could not be read; None if there is nothing."""
        kinds = {found.carved.verdict for found in self.archives}
        if kinds & {CarveVerdict.DAMAGED, CarveVerdict.PARTIAL}:
            return Verdict.DAMAGED
        if CarveVerdict.INCOMPLETE in kinds or self.counts[Kind.UNREADABLE]:
            return Verdict.INCOMPLETE
        return Verdict.OK if kinds else None

    @property
    def counts(self) -> dict[str, int]:
        """The number of archives, and of each kind of `others`."""
        kinds = Counter(other.kind for other in self.others)
        names = (UNRECOGNIZED, Kind.PART, Kind.LINK, Kind.UNREADABLE)
        return {"archive": len(self.archives), **{str(name): kinds[name] for name in names}}

    def to_dict(self) -> dict[str, Any]:
        """The JSON form documented for `exhume report --json`, without what is not about the images."""
        return {
            "targets": [redact(target) for target in self.targets],
            "verdict": self.verdict,
            "images": [image.to_dict() for image in self.images],
            "archives": [found.to_dict() for found in self.archives],
            "others": [other.to_dict() for other in self.others],
            "counts": self.counts,
            "groups": [group.to_dict() for group in self.groups],
            "recovered": [one.to_dict() for one in self.recovered],
        }
