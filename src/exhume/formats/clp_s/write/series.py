"""The archives that a writer fills in sequence: each grows to the target size, then the next begins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from exhume.formats.clp_s.write.assemble import write_archive
from exhume.formats.clp_s.write.build import reserve
from exhume.formats.clp_s.write.encoder import Encoder, SpillFile
from exhume.formats.clp_s.write.kernel import make_encoder
from exhume.formats.clp_s.write.options import WriterOptions
from exhume.formats.clp_s.write.texts import Dialect, encode_formatted_float
from exhume.formats.clp_s.write.timestamps import TimeDialect, TimestampPatterns
from exhume.io.output.atomic import AtomicDirectory, AtomicFile

_PENDING: Final = 100
"""Finished archives that wait under temporary names until all are finished; more are put in place one by one."""


@dataclass(slots=True)
class Unit:
    """An ingestion unit within the archive in progress."""

    name: str
    properties: Mapping[str, Any]
    split: int = 0
    start: int = 0
    end: int = 0


@dataclass(slots=True)
class OpenArchive:
    """The archive in progress."""

    encoder: Encoder
    patterns: TimestampPatterns
    units: list[Unit] = field(default_factory=list)
    consumed: int = 0
    spill: SpillFile = field(default_factory=lambda: SpillFile(None))
    full: bool = False
    """Whether the target size is reached: the next record goes into another archive."""


class Series:
    """The archives of one writer: `X.clps`, then `X.1.clps` and so on, under temporary names until `finish`.

    Attributes:
        part: The archive in progress; None if there is none.
        unit: The ingestion unit that records belong to now.
        paths: The archives that are complete.
        records: Records in those.
    """

    def __init__(self, target: Path, options: WriterOptions) -> None:
        self._target = target
        self._options = options
        self._creator = options.new_creator_id()
        self._finished: list[AtomicFile | AtomicDirectory] = []
        self._losses = 0
        self.part: OpenArchive | None = None
        self.unit: Unit | None = None
        self.paths: list[Path] = []
        self.records: int = 0
        self._reserve(0)

    @property
    def losses(self) -> int:
        """Values that do not come back the same."""
        return self._losses + (self.part.encoder.losses if self.part else 0)

    def begin_unit(self, name: str, properties: Mapping[str, Any]) -> None:
        """Begin an ingestion unit; the one before it ends here."""
        self.unit = Unit(name, properties)
        self._join(self.current())

    def current(self) -> OpenArchive:
        """The archive in progress, begun if there is none."""
        if self.part is None:
            self.part = OpenArchive(*begin(self._options), spill=SpillFile(self._target.parent))
            self._join(self.part)
        return self.part

    def room(self) -> OpenArchive:
        """The archive that the next record goes into."""
        if self.part is not None and self.part.full:
            self._close()
        return self.current()

    def relieve(self) -> None:
        """Move columns out of memory where there are many.  Raises `SourceError`."""
        if self.part is not None:
            self.part.spill.relieve(self.part.encoder)

    def _join(self, part: OpenArchive) -> None:
        """Add the current unit to an archive; the unit before it ends there."""
        if self.unit is None or any(unit is self.unit for unit in part.units):
            return
        if part.units:
            part.units[-1].end = part.encoder.records
        self.unit.start = self.unit.end = part.encoder.records
        part.units.append(self.unit)

    def _close(self) -> None:
        """Write the archive in progress under its temporary name; the current unit continues in the next one."""
        part = self.part
        if part is None:
            return
        if part.units:
            part.units[-1].end = part.encoder.records
        if part.full and part.units and part.units[-1] is self.unit and self.unit.start == self.unit.end:
            part.units.pop()  # nothing of it is here: it begins in the next archive
            self.unit.split -= 1
        self._losses += part.encoder.losses
        self.records += part.encoder.records
        ranges = [
            (
                unit.start,
                unit.end,
                {
                    **unit.properties,
                    "_archive_creator_id": self._creator,
                    "_file_split_number": unit.split,
                    "_filename": unit.name,
                },
            )
            for unit in part.units
        ]
        file = self._reserve(len(self.paths))
        self.paths.append(file.path)
        write_archive(file, part.encoder, part.patterns, self._options, ranges, part.consumed)
        self.part = None
        part.spill.close()
        if self.unit is not None:
            self.unit = Unit(self.unit.name, self.unit.properties, self.unit.split + 1)

    def _reserve(self, number: int) -> AtomicFile | AtomicDirectory:
        """The temporary file or directory of archive `number`; the first is made at once, so that errors show early."""
        if number == len(self._finished):
            path = self._target
            if number:
                path = path.with_name(f"{path.stem}.{number}{path.suffix}")
            self._finished.append(reserve(path, self._options.directory, overwrite=self._options.overwrite))
            if number > _PENDING:
                self._finished[number - _PENDING].commit()
        return self._finished[number]

    def finish(self) -> None:
        """Complete the last archive and put all in place."""
        if self.part is None and not self.paths:
            self.current()
        if self.part is not None and (self.part.encoder.records or not self.paths):
            self._close()
        for file in reversed(self._finished):  # with the name that was asked for the others are there
            file.commit()

    def roll_back(self) -> None:
        """Remove everything that was written, what was put in place already included."""
        if self.part is not None:
            self.part.spill.close()
        self.part = None
        for file in self._finished:
            file.roll_back()


def begin(options: WriterOptions) -> tuple[Encoder, TimestampPatterns]:
    """The encoder and the patterns of a new archive."""
    version = options.version_tuple
    patterns = TimestampPatterns(TimeDialect.of_version(version), lossy=options.allow_loss)
    encoder = make_encoder(
        core=Dialect.of_version(version) is Dialect.CORE,
        structurize=options.structurize_arrays,
        retain_floats=options.keeps_floats,
        time_nodes=version >= (0, 5, 0),
        lossy=options.allow_loss,
        max_document=options.max_document_size,
        log_order_type=options.log_order_type,
        path=options.key_path,
        root=options.key_root,
        resolve_timestamp=patterns.resolve,
        encode_float=encode_formatted_float,
    )
    return encoder, patterns
