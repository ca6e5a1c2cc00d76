"""The report engine: everything that a case report states about images, files and directories, computed once.

Words: an image is any file that is searched for archives; a piece is a file of an archive that is a directory, found
apart from the others (an Ark split in a disk image); salvage rebuilds what survives of a damaged archive.  An
`ArchivePiece` states to which archive a piece belongs: its own name (`key`), the names that it refers to (`refers`),
and its path in the archive, where `ANY` stands for a number that no other piece has.  `origin` of a source is the
offset of its first byte in the outermost file.

One target is open at a time: it is hashed, searched for archives or, if it is a directory that is an archive, verified,
and closed.  Archives inside a file are copied, pieces that belong together are reassembled, and what is damaged or was
reassembled is salvaged.  Memory grows with the number of files and archives only, and the result depends on their names
and bytes only.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from exhume.archive import Progress, no_progress
from exhume.engines.carve import carve
from exhume.engines.case import UNRECOGNIZED, CaseArchive, CaseReport, Group, Hashed, NonArchive, RecoveryOutcome
from exhume.engines.salvage import salvage
from exhume.engines.verify import Verification
from exhume.engines.walk import Kind, WalkEntry
from exhume.errors import ExhumeError, MissingDependencyError, SourceError, Span
from exhume.findings import Verdict
from exhume.io.activity import stepping
from exhume.io.output.tree import OutputTree
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.recovery import ArchivePiece, CarvedArchive, CarveVerdict, SalvageMode, VerifiedBy
from exhume.registry import formats, get_format

MOST_FINDINGS = 100
"""Findings of an archive that are kept; the rest is counted."""

LARGE = 64 << 20
"""A file among many reports how far it was read if it has this many bytes."""

Check = Callable[[Source, Progress], bool]
"""Compares the digest that an EWF image stores; whether it matches."""

Opener = Callable[[str], AbstractContextManager[Source | Tree]]
"""Opens a file or directory by its name, as often as it is requested, and closes it."""


def build_report(
    targets: Iterable[str],
    entries: Iterable[WalkEntry],
    opened: Opener,
    folder: Path,
    *,
    names: Callable[[Sequence[CarvedArchive]], list[str]],
    several: bool = False,
    only: Iterable[str] = (),
    min_confidence: float = 0.5,
    limits: Limits = DEFAULT_LIMITS,
    progress: Progress = no_progress,
    jobs: int = 1,
    check: Check | None = None,
) -> CaseReport:
    """Examine files and directories, and write the archives in them and what can be salvaged of those below `folder`.

    Args:
        targets: What was requested, to name it.
        entries: The files and directories: `exhume.engines.walk.walk_tree` of directories, and FILE for each image.
        opened: Opens what an entry names.
        folder: Where to write.
        names: Names the copies of archives, differently in one file.
        several: Whether each file and directory gets a folder of its own.
        only: Ids of formats; others are left out.
        min_confidence: Leaves out what is less sure.
        limits: What hostile input may cost.
        progress: Called with (done, total or None, unit).
        jobs: Threads; 0: one per core.
        check: Compares what an image says about itself.

    Returns:
        The case.  What cannot be read is named in it.

    Raises:
        SourceError: Writing fails, or a file changed since it was hashed.
        OutputExistsError: A file is there already.
    """
    case = CaseReport(str(folder), list(targets))
    with OutputTree(folder, limits=limits) as tree:
        work = _ReportBuild(case, opened, tree, names, several, limits, progress, jobs, check)
        work.carving = {"only": tuple(only), "min_confidence": min_confidence}
        for done, entry in enumerate(entries, 1):
            work.look_at(entry)
            if several:
                progress(done, None, "files")
        # Files of archives that are directories: join those that belong together, and salvage each such directory.
        for format in sorted(work.pieces):
            for pieces in _grouped(work.pieces[format]):
                work.reassemble(format, pieces)
        for group in case.groups:
            output = f"{group.folder}-recovered"
            work.salvage(folder / group.folder, RecoveryOutcome(group.archives, group.number, output), group.format)
        # Salvage the other archives that may have lost something.
        for found in case.archives:
            work.save(found)
    return case


_Pieces = list[tuple[CaseArchive, ArchivePiece]]
"""Archives that are pieces, each with what the format says about it: the archive's name, the path in it, references."""


@dataclass
class _ReportBuild:
    """State of a report while it is built; the attributes without text are the arguments of `build_report`."""

    case: CaseReport
    opened: Opener
    tree: OutputTree
    names: Callable[[Sequence[CarvedArchive]], list[str]]
    several: bool
    limits: Limits
    progress: Progress
    jobs: int
    check: Check | None
    carving: dict[str, Any] = field(default_factory=dict)  # options of `carve`
    pieces: defaultdict[str, _Pieces] = field(default_factory=lambda: defaultdict(list))
    """Files of archives that are directories, by the format of these."""
    directories: dict[str, CaseArchive] = field(default_factory=dict)  # by path

    def look_at(self, entry: WalkEntry) -> None:
        """Examine one file or directory. If it cannot be read, the report names it."""
        owner = self.directories.get(entry.archive or "")
        if entry.kind is Kind.FILE:
            self._search(entry.name)
        elif entry.kind is Kind.ARCHIVE:
            self._verify(entry)
        elif entry.kind is Kind.PART and owner is not None:
            try:
                with self.opened(entry.name) as part:
                    owner.files.append(_hashed(part))
            except SourceError as error:
                self._other(entry.name, Kind.UNREADABLE, _why(error))
        elif entry.kind is Kind.PART:
            self._other(entry.name, Kind.PART, f"part of {entry.archive}")
        else:
            self._other(entry.name, entry.kind, "" if entry.error is None else _why(entry.error))

    def _other(self, name: str, kind: str, message: str = "") -> None:
        """Record something that is not an archive."""
        self.case.others.append(NonArchive(name, kind, message))

    def _search(self, name: str) -> None:
        """Hash a file, search it for archives, and copy those that are not all of it."""
        with ExitStack() as stack:
            try:
                image = stack.enter_context(self.opened(name))
                assert isinstance(image, Source)
                shown = self.progress if not self.several or image.size >= LARGE else no_progress
                hashed = _hashed(image, shown)
                finds = list(carve(image, limits=self.limits, progress=shown, jobs=self.jobs, **self.carving))
                matches = self.check is None or self.check(image, shown)
            except (SourceError, MissingDependencyError) as error:
                self._other(name, Kind.UNREADABLE, _why(error))
                return
            # Record the image, then each archive in it; those that are a part of it are copied.
            number, first = len(self.case.images), len(self.case.archives)
            self.case.images.append(hashed)
            if not matches:
                self.case.changed.append(image.name)
            if not finds:
                self._other(name, UNRECOGNIZED)
            for carved, place in zip(finds, self.names(finds), strict=True):
                place = f"image-{number + 1}/{place}" if self.several else place
                found = self._add(name, number, carved, place)
                found.nested_in = None if carved.nested_in is None else first + carved.nested_in
                start, end = carved.offset - image.origin, carved.end - image.origin
                window = image.window(start, end)
                # An archive that is the whole file has its digest, and is not copied.
                found.sha256 = hashed.sha256 if window.size == hashed.size else _sha256(window, shown)
                if window.size != hashed.size:
                    found.file = place
                    with stepping(shown, 0, window.size, window.size, "bytes copied"):  # 0 of these bytes are done
                        self.tree.copy(place, image, start, end)
                self._note_piece(found, window)

    def _add(self, target: str, image: int | None, carved: CarvedArchive, place: str) -> CaseArchive:
        """Number an archive; of its findings, the first are kept.  The arguments are attributes of `CaseArchive`."""
        kept = dataclasses.replace(carved, findings=carved.findings[:MOST_FINDINGS])
        found = CaseArchive(len(self.case.archives), target, image, kept, place)
        found.findings_total = len(carved.findings)
        found.intact_bytes = carved.intact_bytes if image is not None else None
        self.case.archives.append(found)
        return found

    def _verify(self, entry: WalkEntry) -> None:
        """Verify a directory that is an archive; its files are hashed as they come."""
        assert entry.tree is not None
        assert entry.format is not None
        if self.carving["only"] and entry.format not in self.carving["only"]:
            self._other(entry.name, UNRECOGNIZED, f"{entry.format}, which was not requested")
            return
        shown = no_progress if self.several else self.progress  # with several, files are counted instead
        checked = Verification(entry.tree, format=entry.format, limits=self.limits, jobs=self.jobs, progress=shown)
        try:
            findings = list(islice(checked, MOST_FINDINGS))
            verdict = checked.verdict  # of all that are left
        except SourceError as error:
            self._other(entry.name, Kind.UNREADABLE, _why(error))
            return
        finally:
            entry.tree.close()
        described = get_format(entry.format)
        # `unsealed` is the code of the format's finding that some content has no checksum.
        sealed = described.has_checksums and all(finding.code != described.unsealed for finding in findings)
        proof = VerifiedBy.CHECKSUMS if sealed else VerifiedBy.STRUCTURE
        span = Span(entry.name, 0, 0)
        carved = CarvedArchive(entry.format, span, _AS_CARVED[verdict], 1.0, tuple(findings), proof)
        place = f"directory-{len(self.directories) + 1}/{self.names([carved])[0]}"
        found = self.directories[entry.name] = self._add(entry.name, None, carved, place)
        found.findings_total = sum(checked.counts.values())

    def _note_piece(self, found: CaseArchive, source: Source) -> None:
        """Remember which archives that are directories a file may be a piece of."""
        for described in formats().values():
            if not described.has("piece"):
                continue
            try:
                piece = described.hook("piece")(source, found.carved.format, limits=self.limits)
            except SourceError:
                raise
            except ExhumeError:  # too damaged to say what it is: it stays by itself
                continue
            if piece is not None:
                self.pieces[described.id].append((found, piece))

    def reassemble(self, format: str, pieces: _Pieces) -> None:
        """Copy the pieces of one archive to where they are in it."""
        if not any(found.carved.format == format for found, _ in pieces):
            return  # no piece is certain to be of this format: a LevelDB table without a shard is not a bundle's
        number = len(self.case.groups) + 1
        # The piece with the most references, such as a manifest, names the archive.
        _, first = max(pieces, key=lambda one: len(one[1].refers))
        numbers = [found.number for found, _ in pieces]
        group = Group(number, format, first.archive, first.basis, numbers, f"group-{number}")
        self.case.groups.append(group)
        for found, piece in pieces:
            found.group = number
            with self._source(found) as source:
                assert isinstance(source, Source)
                path = piece.path.replace(ArchivePiece.ANY, f"{found.number + 1:06d}")
                with stepping(self.progress, 0, source.size, source.size, "bytes copied"):
                    self.tree.copy(f"{group.folder}/{path}", source, 0, source.size)

    @contextmanager
    def _source(self, found: CaseArchive) -> Iterator[Source | Tree]:
        """The bytes of an archive, or its directory.  Raises `SourceError` if they changed since they were hashed."""
        with self.opened(found.target) as opened:
            if not isinstance(opened, Source):
                yield opened
                return
            start, end = found.carved.offset - opened.origin, found.carved.end - opened.origin
            if end > opened.size or _sha256(opened.window(start, end), self.progress) != found.sha256:
                raise SourceError("the file changed while the report was made", span=found.carved.span)
            yield opened.window(start, end)

    def save(self, found: CaseArchive) -> None:
        """Salvage an archive that may have lost something."""
        if found.group is not None or found.carved.verdict not in (CarveVerdict.DAMAGED, CarveVerdict.PARTIAL):
            return
        stem, _, suffix = found.place.rpartition(".")
        output = f"{stem.removesuffix(f'.{found.carved.verdict}')}.recovered.{suffix}"
        with self._source(found) as source:
            self.salvage(source, RecoveryOutcome([found.number], None, output), found.carved.format)

    def salvage(self, target: Source | Tree | Path, recovered: RecoveryOutcome, format: str) -> None:
        """Salvage one archive; of a directory its members or records, because a new directory has a new identity.

        `recovered` gets the report, or the error, and the files that were written.
        """
        self.case.recovered.append(recovered)
        described = get_format(format)
        mode = SalvageMode.ARCHIVE
        if described.container == "directory":
            mode = SalvageMode.FILES if described.content == "members" else SalvageMode.RECORDS
            recovered.output += "" if mode is SalvageMode.FILES else ".jsonl"
        output = self.tree.root / recovered.output
        if "/" in recovered.output:
            self.tree.make_directory(recovered.output.rpartition("/")[0])
        try:
            how: dict[str, Any] = {"limits": self.limits, "progress": self.progress, "jobs": self.jobs}
            recovered.report = salvage(target, output, format=format, mode=mode, **how)
        except SourceError:
            raise
        except ExhumeError as error:
            recovered.error = str(error)
            return
        from exhume.io.opening import open_target

        names = sorted(path for path in output.rglob("*") if path.is_file()) if output.is_dir() else [output]
        for path in names if output.exists() else ():
            with open_target(str(path)) as file:
                name = path.relative_to(self.tree.root).as_posix()
                recovered.files.append(dataclasses.replace(_hashed(file, self.progress), name=name))


# The verdict of `verify` in the words of `carve`.
_AS_CARVED = {
    Verdict.OK: CarveVerdict.COMPLETE,
    Verdict.DAMAGED: CarveVerdict.DAMAGED,
    Verdict.INCOMPLETE: CarveVerdict.INCOMPLETE,
}


def _why(error: ExhumeError) -> str:
    """The fault, for a line that names the file."""
    return error.message if error.actual is None else f"{error.message}: {error.actual}"


def _hashed(source: Source | Tree, progress: Progress = no_progress) -> Hashed:
    """Return name, size and SHA-256 of a file."""
    assert isinstance(source, Source)
    return Hashed(source.name, source.size, _sha256(source, progress))


def _sha256(source: Source, progress: Progress = no_progress) -> str:
    """Return the SHA-256 of a file or window in hexadecimal."""
    hashed, done = hashlib.sha256(), 0
    for piece in source.chunks(0, source.size):
        hashed.update(piece)
        done += len(piece)
        progress(done, source.size, "bytes hashed")
    return hashed.hexdigest()


def _grouped(known: _Pieces) -> Iterator[_Pieces]:
    """Divide pieces into groups that belong to one archive, in the order of their first pieces.

    If a group has two pieces in one place, it consists of copies: it is divided by folder, and within a folder the
    first of the two is taken.
    """
    for pieces in _connected(known):
        places = Counter(piece.path for _, piece in pieces if ArchivePiece.ANY not in piece.path)
        has_copies = max(places.values(), default=0) > 1
        for part in _by_folder(pieces) if has_copies else [pieces]:
            # One piece for each place; a path that any file may have is a place of its own for each file.
            by_place = {(piece.path, found.number if ArchivePiece.ANY in piece.path else 0): (found, piece)
                        for found, piece in reversed(part)}  # fmt: skip
            yield sorted(by_place.values(), key=lambda one: one[0].number)


def _by_folder(pieces: _Pieces) -> list[_Pieces]:
    """Divide pieces by the folders of their files."""
    folders: defaultdict[str, _Pieces] = defaultdict(list)
    for found, piece in pieces:
        folders[found.target.rpartition("/")[0]].append((found, piece))
    return list(folders.values())


def _connected(known: _Pieces) -> list[_Pieces]:
    """Divide pieces into groups that refer to a name in common, directly or through other pieces (a union-find)."""
    # By piece (its number) or name: the next on the way to the representative of its group, which has none.
    parent_of: dict[object, object] = {}

    def root_of(name: object) -> object:
        """Return the representative of a piece or name, shortening the way to it."""
        while (parent := parent_of.get(name, name)) != name:
            parent_of[name] = parent_of.get(parent, parent)
            name = parent
        return name

    referred = {name for _, piece in known for name in piece.refers}  # names that some piece refers to
    for number, (_, piece) in enumerate(known):
        # The names that it refers to, and its own name, if others refer to that.
        for name in (*piece.refers, *(referred & {piece.key})):
            parent_of[root_of(number)] = root_of(name)
    groups: defaultdict[object, _Pieces] = defaultdict(list)
    for number, one in enumerate(known):
        groups[root_of(number)].append(one)
    return list(groups.values())
