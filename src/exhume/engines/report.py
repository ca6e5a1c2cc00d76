"""The report engine: everything that a case report states about images, computed once, in one pass for each step.

Each image is hashed and carved; each archive is hashed, copied and judged; pieces that belong together are
reassembled; what is damaged or was reassembled is salvaged.  The result depends on the bytes of the images only.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from exhume.archive import Progress, no_progress
from exhume.engines.carve import carve
from exhume.engines.salvage import salvage
from exhume.errors import ExhumeError, SourceError
from exhume.findings import Verdict
from exhume.io.output.tree import OutputTree
from exhume.io.source import Source
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.recovery import CarvedArchive, CarveVerdict, Piece, SalvageMode, SalvageReport
from exhume.registry import formats, get_format

MOST_FINDINGS = 100
"""Findings of an archive that are kept; the rest is counted."""

Check = Callable[[Source, Progress], bool]
"""Compares the digest that an EWF image stores; whether it matches."""


@dataclass(slots=True)
class Hashed:
    """A file by its name, size and SHA-256."""

    name: str
    size: int
    sha256: str

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {"name": self.name, "size": self.size, "sha256": self.sha256}


@dataclass(slots=True)
class Found:
    """An archive in an image: what it is, where it was copied to, and the pieces that it belongs to."""

    number: int
    image: int
    carved: CarvedArchive
    sha256: str
    file: str
    nested_in: int | None = None
    group: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        values = self.carved.to_dict()
        return {
            "number": self.number,
            "image": self.image,
            **values,
            "nested_in": self.nested_in,
            "findings": values["findings"][:MOST_FINDINGS],
            "findings_total": len(values["findings"]),
            "sha256": self.sha256,
            "file": self.file,
            "group": self.group,
        }


@dataclass(slots=True)
class Group:
    """Pieces of one archive, copied to where they are in it."""

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
class Recovered:
    """What was salvaged of an archive or of a group, or why it could not be."""

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
    """A case: the images that were looked at, the archives found in them, and what was recovered below `folder`."""

    folder: str
    images: list[Hashed] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    """Images whose stored digest does not match."""
    archives: list[Found] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    recovered: list[Recovered] = field(default_factory=list)

    @property
    def verdict(self) -> Verdict | None:
        """The verdict on all archives together; None if there is none."""
        kinds = {found.carved.verdict for found in self.archives}
        if not kinds:
            return None
        if kinds & {CarveVerdict.DAMAGED, CarveVerdict.PARTIAL}:
            return Verdict.DAMAGED
        return Verdict.INCOMPLETE if CarveVerdict.INCOMPLETE in kinds else Verdict.OK

    def to_dict(self) -> dict[str, Any]:
        """The JSON form documented for `exhume report --json`, without what is not about the images."""
        return {
            "verdict": self.verdict,
            "images": [image.to_dict() for image in self.images],
            "archives": [found.to_dict() for found in self.archives],
            "groups": [group.to_dict() for group in self.groups],
            "recovered": [one.to_dict() for one in self.recovered],
        }


def build_report(
    images: Sequence[Source],
    folder: Path,
    *,
    name: Callable[[CarvedArchive], str],
    only: Iterable[str] = (),
    min_confidence: float = 0.5,
    limits: Limits = DEFAULT_LIMITS,
    progress: Progress = no_progress,
    jobs: int = 1,
    check: Check | None = None,
) -> CaseReport:
    """Look at images, and write the archives in them and what can be salvaged of those below `folder`.

    `name` names the copy of an archive; `check` compares what an image says about itself.  Raises `SourceError` when
    reading or writing fails, and `OutputExistsError` if a file is there already.
    """
    case = CaseReport(str(folder))
    sources: list[Source] = []
    with OutputTree(folder, limits=limits) as tree:
        for number, image in enumerate(images):
            case.images.append(Hashed(image.name, image.size, _sha256(image, 0, image.size)))
            how: dict[str, Any] = {"only": tuple(only), "min_confidence": min_confidence, "jobs": jobs}
            first = len(case.archives)
            for carved in carve(image, limits=limits, progress=progress, **how):
                start, end = carved.offset - image.origin, carved.end - image.origin
                place = f"image-{number + 1}/{name(carved)}" if len(images) > 1 else name(carved)
                tree.copy(place, image, start, end)
                found = Found(len(case.archives), number, carved, _sha256(image, start, end), place)
                found.nested_in = None if carved.nested_in is None else first + carved.nested_in
                case.archives.append(found)
                sources.append(image.window(start, end))
            if check is not None and not check(image, progress):
                case.changed.append(image.name)
        for group, pieces in _groups(case.archives, sources, limits):
            case.groups.append(group)
            for found, piece in pieces:
                found.group = group.number
                tree.copy(f"{group.folder}/{piece.path}", sources[found.number], 0, sources[found.number].size)
        for target, recovered, format in _to_salvage(case, sources, folder):
            _salvage(target, recovered, format, folder, limits, jobs)
            case.recovered.append(recovered)
    return case


def _sha256(source: Source, start: int, end: int) -> str:
    hashed = hashlib.sha256()
    for piece in source.chunks(start, end):
        hashed.update(piece)
    return hashed.hexdigest()


_Pieces = list[tuple[Found, Piece]]


def _groups(archives: Sequence[Found], sources: Sequence[Source], limits: Limits) -> Iterator[tuple[Group, _Pieces]]:
    """The pieces of archives that are directories, those that belong together as one group."""
    number = 0
    for described in formats().values():
        if not described.has("piece"):
            continue
        known: _Pieces = []
        for found, source in zip(archives, sources, strict=True):
            try:
                piece = described.hook("piece")(source, found.carved.format, limits=limits)
            except SourceError:
                raise
            except ExhumeError:  # too damaged to say what it is: it stays by itself
                continue
            if piece is not None:
                known.append((found, piece))
        for pieces in _tied(known):
            if not any(found.carved.format == described.id for found, _ in pieces):
                continue  # a table without a shard is a database
            number += 1
            first = max(pieces, key=lambda one: len(one[1].refers))[1]
            numbers = [found.number for found, _ in pieces]
            group = Group(number, described.id, first.archive, first.basis, numbers, f"group-{number}")
            yield group, pieces


def _tied(known: _Pieces) -> Iterator[_Pieces]:
    """Divide pieces into those that belong together; of two with one place in the archive, the first is taken."""
    left = list(known)
    while left:
        group = [left.pop(0)]
        grew = True
        while grew:
            names = {found[1].key for found in group}.union(*(found[1].refers for found in group))
            more = [one for one in left if one[1].key in names or names & one[1].refers]
            left = [one for one in left if one not in more]
            group += more
            grew = bool(more)
        once = {piece.path: (found, piece) for found, piece in reversed(group)}
        yield sorted(once.values(), key=lambda one: one[0].number)


def _to_salvage(
    case: CaseReport, sources: Sequence[Source], folder: Path
) -> Iterator[tuple[Source | Path, Recovered, str]]:
    """What may have lost something: damaged archives, and groups, each with the name of what becomes of it."""
    for group in case.groups:
        yield folder / group.folder, Recovered(group.archives, group.number, f"{group.folder}-recovered"), group.format
    for found in case.archives:
        if found.group is not None or found.carved.verdict not in (CarveVerdict.DAMAGED, CarveVerdict.PARTIAL):
            continue
        stem, _, suffix = found.file.rpartition(".")
        output = f"{stem.removesuffix(f'.{found.carved.verdict}')}.recovered.{suffix}"
        yield sources[found.number], Recovered([found.number], None, output), found.carved.format


def _salvage(target: Source | Path, recovered: Recovered, format: str, folder: Path, limits: Limits, jobs: int) -> None:
    """Salvage one of them; of a directory its members or records, because a new directory has a new identity."""
    described = get_format(format)
    mode = SalvageMode.ARCHIVE
    if described.container == "directory":
        mode = SalvageMode.FILES if described.content == "members" else SalvageMode.RECORDS
        recovered.output += "" if mode is SalvageMode.FILES else ".jsonl"
    output = folder / recovered.output
    try:
        recovered.report = salvage(target, output, format=format, mode=mode, limits=limits, jobs=jobs)
    except SourceError:
        raise
    except ExhumeError as error:
        recovered.error = str(error)
        return
    from exhume.io.opening import open_target

    names = sorted(path for path in output.rglob("*") if path.is_file()) if output.is_dir() else [output]
    for path in names if output.exists() else ():
        with open_target(str(path)) as file:
            assert isinstance(file, Source)
            name = path.relative_to(folder).as_posix()
            recovered.files.append(Hashed(name, file.size, _sha256(file, 0, file.size)))
