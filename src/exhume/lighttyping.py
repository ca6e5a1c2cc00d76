"""The names of `typing` for the modules that every command imports, at no cost.

Importing `typing` takes 5 of the 50 milliseconds of a short command.  At run time these names only have to be there:
annotations are not evaluated.  Type checkers see the standard ones.  `exhume.lightclass` does the same for
`dataclasses`.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any, BinaryIO, ClassVar, Final, Generic, NoReturn, Protocol, Self, TypeGuard, TypeVar
else:
    from io import IOBase as BinaryIO

    class Any:
        """Stands for every type in aliases and subscripts."""

    class Generic:
        """A base class whose parameters mean nothing."""

        __slots__ = ()

        def __class_getitem__(cls, parameters):
            return cls

    def TypeVar(name):  # noqa: N802 - it is called like the standard one
        """Any type at all."""
        return Any

    Protocol = Generic
    ClassVar = Final = NoReturn = Self = TypeGuard = Any

__all__ = [
    "TYPE_CHECKING",
    "Any",
    "BinaryIO",
    "ClassVar",
    "Final",
    "Generic",
    "NoReturn",
    "Protocol",
    "Self",
    "TypeGuard",
    "TypeVar",
]
