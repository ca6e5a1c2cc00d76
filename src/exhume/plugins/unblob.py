"""unblob: a handler per format (entry point `unblob_v1`), which finds as `exhume carve` does and extracts as `salvage`.

unblob searches files for archives and extracts them recursively; a chunk is what it calls an archive that it found.

Archives that are directories are found in their parts: splits and manifests of Ark, shards of a bundle, tables of its
index and of LevelDB.  Zstandard frames are left to unblob's own handler; streams of KV-IR are found inside them then.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from unblob.models import (
    ExtractError,
    Extractor,
    ExtractResult,
    File,
    Handler,
    HandlerDoc,
    HandlerType,
    Regex,
    ValidChunk,
)
from unblob.plugins import hookimpl
from unblob.report import ExtractionProblem

from exhume.engines.salvage import salvage
from exhume.errors import ExhumeError, SourceError
from exhume.formats.data_bundle.names import shard_name
from exhume.formats.data_bundle.shard import read_header
from exhume.io.local import FileObjectSource
from exhume.io.opening import open_target
from exhume.io.source import Source
from exhume.io.tree import MemoryTree
from exhume.limits import DEFAULT_LIMITS as LIMITS
from exhume.recovery import CarvedArchive, Outcome, SalvageMode
from exhume.registry import Format, formats

MIN_CONFIDENCE = 0.5
"""Finds that are less sure are left out, as `exhume carve` does."""

ZSTANDARD = b"\x28\xb5\x2f\xfd"
"""Magic number of a zstd frame."""


class SalvageExtractor(Extractor):  # type: ignore[misc]
    """Writes the members of an archive as files, or its records as `records.jsonl`."""

    def __init__(self, described: Format) -> None:
        self._format = described

    def extract(self, inpath: Path, outdir: Path) -> ExtractResult:
        """Write the surviving content below `outdir`; losses are reported to unblob.

        Raises `ExtractError` where nothing can be read.
        """
        mode = SalvageMode.FILES if SalvageMode.FILES in self._format.salvages else SalvageMode.RECORDS
        output = outdir if mode is SalvageMode.FILES else outdir / "records.jsonl"
        try:
            with open_target(inpath) as source:
                assert isinstance(source, Source)
                target = self._bundle_of(source) if self._format.id == "databundle" else source
                report = salvage(target, output, format=self._format.id, mode=mode)
        except ExhumeError as error:
            raise ExtractError(_problem(inpath, str(error), "Nothing was extracted")) from error
        lost = (outcome for outcome in report.spans if outcome.outcome is Outcome.LOST)
        return ExtractResult(
            reports=[_problem(inpath, f"{one.content} at {one.span}: {one.reason}", "Left out") for one in lost]
        )

    @staticmethod
    def _bundle_of(shard: Source) -> MemoryTree:
        """A bundle of this shard alone, named by the number in its header."""
        number = read_header(shard, LIMITS).shard_index
        return MemoryTree({shard_name(number): shard}, name=shard.name)


def _problem(path: Path, problem: str, resolution: str) -> Any:
    """Return a problem in unblob's form; `resolution` is what was done about it."""
    return ExtractionProblem(path=str(path), problem=problem, resolution=resolution)


class ArchiveHandler(Handler):  # type: ignore[misc]
    """Finds the archives of one format."""

    FORMAT: Format

    def calculate_chunk(self, file: File, start_offset: int) -> ValidChunk | None:
        """The archive whose signature is at `start_offset`; it may begin before it.  None if there is none."""
        try:
            carved: CarvedArchive | None = self.FORMAT.hook("locate")(
                FileObjectSource(file), start_offset, limits=LIMITS
            )
        except SourceError:
            raise
        except ExhumeError:
            return None
        if carved is None or carved.confidence < MIN_CONFIDENCE:
            return None
        return ValidChunk(start_offset=carved.offset, end_offset=carved.end)


def _handlers() -> Iterator[type[ArchiveHandler]]:
    """One handler class for each format that a signature locates, except a signature of zstd frames."""
    for described in formats().values():
        signatures = [signature for signature in described.signatures if signature.magic != ZSTANDARD]
        if described.has("locate") and signatures:
            (offset,) = {signature.offset for signature in signatures}  # the same for all signatures of a format
            members = {
                "NAME": described.id,
                "FORMAT": described,
                "PATTERNS": [Regex(_literal(signature.magic)) for signature in signatures],
                "PATTERN_MATCH_OFFSET": -offset,  # from the signature to the start of the archive
                "EXTRACTOR": SalvageExtractor(described),
                "DOC": HandlerDoc(
                    name=described.id,
                    description=described.title,
                    handler_type=HandlerType.ARCHIVE,
                    vendor=None,
                    references=[],
                    limitations=list(described.limitations),
                ),
            }
            yield type(re.sub(r"\W", "_", described.id), (ArchiveHandler,), members)


def _literal(magic: bytes) -> str:
    """Return a regular expression for these bytes."""
    return "".join(f"\\x{byte:02x}" for byte in magic)


@hookimpl  # type: ignore[untyped-decorator]
def unblob_register_handlers() -> list[type[Handler]]:
    """The handlers of all formats that can be found inside other bytes."""
    return list(_handlers())
