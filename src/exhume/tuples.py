"""Named tuples that cost little to define: `typing.NamedTuple` for type checkers, without what that does at run time.

`typing.NamedTuple` compiles the text of each annotation and `collections.namedtuple` that of a constructor, which took
more than one twentieth of a short command.  These classes keep annotations as the text that they are
(`from __future__ import annotations` is needed), share their methods, and take the code of a constructor with as many
fields; `make check-code` fails where a module uses the other ones.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:
    from _collections import _tuplegetter  # what makes the attributes of `collections.namedtuple`
    from types import FunctionType

    _new = tuple.__new__

    @cache
    def _code(size):
        """The code of a constructor that takes `size` fields."""
        fields = "".join(f"_{number}, " for number in range(size))
        return eval(f"lambda _cls, {fields}: _new(_cls, ({fields}))").__code__  # noqa: S307 - text of our own

    class _Row(tuple):
        """The methods that named tuples have in common; they do what those of `collections.namedtuple` do."""

        __slots__ = ()

        @classmethod
        def _make(cls, values):
            made = _new(cls, values)
            if len(made) != len(cls._fields):
                raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
            return made

        def _replace(self, /, **changed):
            made = self._make(map(changed.pop, self._fields, self))
            if changed:
                raise ValueError(f"Got unexpected field names: {list(changed)!r}")
            return made

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self):
            named = (f"{field}={value!r}" for field, value in zip(self._fields, self, strict=True))
            return f"{self.__class__.__name__}({', '.join(named)})"

        def __getnewargs__(self):
            return tuple(self)

    class _Definition(type):
        """Metaclass that turns the body of a class into a named tuple.

        The class has no other base: one such as `Generic[T]` next to `NamedTuple` is for type checkers only.
        """

        def __new__(definition, name, bases, body):
            fields = tuple(body.get("__annotations__", ()))
            given = {field: body[field] for field in fields if field in body}  # defaults
            # The shared code of a constructor, with the names of these fields.
            code = _code(len(fields)).replace(
                co_varnames=("_cls", *fields), co_name="__new__", co_qualname=f"{body['__qualname__']}.__new__"
            )
            made = FunctionType(code, globals(), "__new__", tuple(given.values()) or None)
            made.__module__ = body["__module__"]
            body |= {
                field: _tuplegetter(number, f"Alias for field number {number}") for number, field in enumerate(fields)
            }
            body |= {"_fields": fields, "_field_defaults": given, "__match_args__": fields, "__slots__": ()}
            return type(name, (_Row,), {"__doc__": f"{name}({', '.join(fields)})", "__new__": made} | body)

    # Made without `_Definition.__new__`: it has no fields, and is a base only to select the metaclass.
    NamedTuple = type.__new__(_Definition, "NamedTuple", (), {})
