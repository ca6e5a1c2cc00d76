"""Facts cost little until they are used (see `make generated`); never edited by hand."""

from __future__ import annotations

from types import SimpleNamespace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Facts(SimpleNamespace):
    """What the body of a class defines, without the time that a class takes; itself a key of caches, as a class is."""

    __hash__ = object.__hash__


def fixed(name: str, bases: tuple[type, ...], facts: dict[str, Any]) -> Facts:
    """The facts that a class statement becomes."""
    return Facts(__name__=name, **facts)


def enums(
    module: str, names: dict[str, Any], members: dict[str, tuple[tuple[str, int], ...]]
) -> Callable[[str], Any]:
    """The `__getattr__` of a module of facts: makes the `IntEnum` of a name when it is first imported."""

    def made(name: str) -> Any:
        if name not in members:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        from enum import IntEnum

        names[name] = IntEnum(name, members[name], module=module)
        return names[name]

    return made
