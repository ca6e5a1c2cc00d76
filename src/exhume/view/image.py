"""What the explorer shows of an image: the archives that are found in it while the page is open."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from exhume.engines.carve import find, join
from exhume.io.source import Source
from exhume.layout.sections import Section, SectionKind, SectionMap
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.recovery import CarvedArchive, CarveVerdict, VerifiedBy
from exhume.view.explored import ExploredArchive


class ExploredImage(ExploredArchive):
    """Bytes of no known format, a disk image or a dump: the archives in it are its sections."""

    kind = "image"

    def __init__(self, source: Source, *, limits: Limits = DEFAULT_LIMITS, verifies: bool = True) -> None:
        """Explore the bytes of an image; the search for archives starts with the page."""
        self._limits = limits
        self._carved: list[CarvedArchive] = []
        self._image = source
        super().__init__(_Bytes(source), verifies=verifies)
        self.verifies = verifies

    def _verify(self) -> None:
        """Search for archives; each one that is found appears on the page at once."""
        found = find(self._image, start=0, stop=self._image.size, limits=self._limits, progress=self._told)
        for carved in found:
            self._carved.append(carved)
            self._adopt_sections(_map_of(self._image, self.archives()))
            self.generation += 1
        self._state = "done"

    def _files(self) -> dict[str, Source]:
        return {self._image.name: self._image}

    def _doing(self) -> str:
        """Return the progress that the page shows in place of a verdict."""
        if self._state == "failed":
            return "not searched completely"
        done, total, _ = self._progress or (0, None, "")
        searched = "" if self._state != "running" else f" ({done / total:.0%} searched)" if total else " (searching …)"
        return f"archives found: {len(list(self.archives()))}{searched}"

    def archives(self) -> list[CarvedArchive]:
        """The archives found until now, in order."""
        return list(join(list(self._carved)))

    def sections(self, first: int, count: int) -> list[dict[str, Any]]:
        """The archives, and what is between them; each archive with the key that opens it."""
        out = super().sections(first, count)
        known = {name_of(carved): carved for carved in self.archives()}
        for values in out:
            if (carved := known.get(values["name"])) is not None:
                values["archive"] = values["name"]
                values["bad"] = carved.verdict is CarveVerdict.DAMAGED
            values["fields"] = False
        return out


class _Bytes:
    """An image in the place of an archive."""

    format = "image"

    def __init__(self, source: Source) -> None:
        self.name, self._source = source.name, source

    def sections(self, *, jobs: int = 1) -> SectionMap:
        """Nothing is known of it yet."""
        return _map_of(self._source, [])

    def __exit__(self, *error: object) -> None:
        self._source.close()


def name_of(carved: CarvedArchive) -> str:
    """What an archive in an image is called: its format and its place."""
    return f"{carved.format}@{carved.offset}+{carved.length}"


def _map_of(image: Source, archives: Iterable[CarvedArchive]) -> SectionMap:
    """An image as sections: nested archives inside those that hold them."""
    names: list[str] = []
    sections = []
    for carved in archives:
        outer = names[carved.nested_in] if carved.nested_in is not None else None
        names.append(name_of(carved))
        basis = f", verified by {carved.verified_by}" if carved.verified_by is not VerifiedBy.NONE else ""
        note = f"{carved.verdict}{basis}" + (f"; {carved.note}" if carved.note else "")
        sections.append(Section(names[-1], carved.span, SectionKind.DATA, note=note, parent=outer))
    return SectionMap([(image, sections)])
