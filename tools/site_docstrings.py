"""An extension of griffe, which reads the docstrings for the site, for two things that it takes in another way.

`Example:` is its section `Examples:`, and an enumeration has no parameters of its own to be documented.
"""

from __future__ import annotations

from typing import Any

import griffe


class Sections(griffe.Extension):  # type: ignore[misc]  # griffe is not in the environment of the tests
    """Renames the sections of docstrings to those that griffe shows."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rename the sections of the docstring of every object."""
        if obj.docstring is None:
            return
        text = obj.docstring.value.replace("\nExample:\n", "\nExamples:\n")
        if isinstance(obj, griffe.Class) and any(str(base).startswith("enum.") for base in obj.bases):
            text = text.replace("\nArgs:\n", "\nCalled with:\n")
        obj.docstring.value = text
