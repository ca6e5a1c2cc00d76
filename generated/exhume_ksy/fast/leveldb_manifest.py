"""Compiled from ksy/leveldb_manifest.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations


from ._layout import LayoutError, View, short


class LeveldbManifest:
    """A manifest (`MANIFEST-NNNNNN`): version edits, each a record in the framing of `leveldb_log`. Replayed in order
    they give the files that make up the database.
    """
    __slots__ = ('_blocks', '_io')
    _io: tuple[View, int, int]

    @property
    def extent(self) -> tuple[int, int]:
        """Where its stream starts and ends in the view."""
        return self._io[1], self._io[2]

    @property
    def blocks(self) -> list[Block] | None:
        try:
            return self._blocks
        except AttributeError:
            pass
        from .leveldb_log import read_block
        view, base, end = self._io
        if not (end - base > 0):
            self._blocks = None
            return None
        at = base + 0
        blocks = []
        try:
            while at < end:
                size = end - at if end - at < 0x8000 else 0x8000
                if not 0 <= size <= max(0, end - at):
                    raise short("", at, end, size)
                stop = at + size
                one, _ = read_block(view, at, stop, at, True)
                at = stop
                blocks.append(one)
        except LayoutError as error:
            error.within(f"blocks[{len(blocks)}]")
            raise
        self._blocks = blocks
        return self._blocks


def read_leveldb_manifest(view: View, at: int, end: int, base: int | None = None) -> tuple[LeveldbManifest, int]:
    """`leveldb_manifest` at `at`, and where it ends. Raises `LayoutError`."""
    value = LeveldbManifest()
    if base is None:
        base = at
    value._io = (view, base, end)
    return value, at
