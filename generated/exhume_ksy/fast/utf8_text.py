"""Compiled from ksy/utf8_text.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations


from ._layout import View


class Utf8Text:
    """Text whose size is stored elsewhere. It is decoded on first use, so that bytes that are not UTF-8 do not prevent
    reading anything else.
    """
    __slots__ = ('bytes', '_text')
    bytes: View

    @property
    def text(self) -> str:
        """The same as text."""
        try:
            return self._text
        except AttributeError:
            pass
        self._text = str(self.bytes, 'UTF-8')
        return self._text


def read_utf8_text(view: View, at: int, end: int) -> tuple[Utf8Text, int]:
    """`utf8_text` at `at`, and where it ends. Raises `LayoutError`."""
    value = Utf8Text()
    bytes = view[at:end]
    at = max(at, end)
    value.bytes = bytes
    return value, at
