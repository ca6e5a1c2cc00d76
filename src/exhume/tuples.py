"""Named tuples that cost little to define: `typing.NamedTuple` for type checkers, without its checks at run time.

`typing.NamedTuple` compiles the text of each annotation, which took one twentieth of a short command.  These classes
keep annotations as the text that they are (`from __future__ import annotations` is needed); `make check-code`
fails where a module uses the other ones.
"""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:
    _MADE = {"__module__", "__qualname__", "__annotations__", "__classcell__"}

    class _Definition(type):
        """Metaclass that turns the body of a class into a named tuple.

        The class is a subclass of `tuple` alone, as with `typing.NamedTuple`: a base such as `Generic[T]` next to
        `NamedTuple` is for type checkers only.
        """

        def __new__(definition, name, bases, body):
            fields = body.get("__annotations__", {})
            defaults = [body[field] for field in fields if field in body]
            made = namedtuple(name, fields, defaults=defaults, module=body["__module__"])  # noqa: PYI024
            made.__qualname__ = body["__qualname__"]
            made.__annotations__ = fields
            for key in body.keys() - fields.keys() - _MADE:
                setattr(made, key, body[key])
            return made

    NamedTuple = type.__new__(_Definition, "NamedTuple", (), {})
