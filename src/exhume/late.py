"""Code that is imported when it is used, by its name: hooks of formats, and the tables that a notebook shows."""

from __future__ import annotations

import functools
import importlib
from typing import Any


@functools.cache
def resolve(package: str, text: str) -> Any:
    """The module or attribute that `"module"` or `"module:attribute"` names, relative to `package`.

    A module that begins with `exhume.` is named in full: formats share it.
    """
    module, _, attribute = text.partition(":")
    found: Any = importlib.import_module(module if module.startswith("exhume.") else f"{package}.{module}")
    return getattr(found, attribute) if attribute else found


def notebook_html(renderer: str, value: object) -> str:
    """The table that a notebook shows of a value; `renderer` is a function of `exhume.view.notebook`.

    Classes of all layers call it for `_repr_html_`, so that none of them imports the view.
    """
    html: str = resolve("exhume.view", f"notebook:{renderer}")(value)
    return html
