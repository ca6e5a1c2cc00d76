"""`dataclass` for the modules that every command imports: the same classes, defined in a tenth of the time.

The standard decorator writes and compiles half a dozen methods per class (about half a millisecond each, and a short
command defines forty of them before it reads a byte) and imports `inspect` to do so.  Here the methods are shared, and
a class's constructor is compiled when it has a few instances.  Type checkers see the standard decorator;
`dataclasses.fields`, `replace` and `asdict` work, because the description they ask for is made when they ask.

Only slotted classes, and only the options below.
"""

from __future__ import annotations

from operator import attrgetter

from exhume.lighttyping import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass, field, replace
else:
    _MISSING = object()

    WORTH_COMPILING = 8
    """From so many instances on a class gets a compiled constructor: most classes of a short command have fewer."""

    class _Field:
        """What is known of one field."""

        __slots__ = ("compare", "default", "factory", "init", "name", "repr", "type")

        def __init__(self, default: Any, factory: Any, init: bool, repr: bool, compare: bool) -> None:
            self.name = ""
            self.type = ""
            self.default = default
            self.factory = factory
            self.init = init
            self.repr = repr
            self.compare = compare

        @property
        def required(self) -> bool:
            return self.default is _MISSING and self.factory is _MISSING

    def field(*, default=_MISSING, default_factory=_MISSING, init=True, repr=True, compare=True):
        """As `dataclasses.field`."""
        return _Field(default, default_factory, init, repr, compare)

    def replace(obj, /, **changes):
        """As `dataclasses.replace`."""
        for one in type(obj).__light_fields__.values():
            if not one.init:
                if one.name in changes:
                    raise ValueError(f"field {one.name} is declared with init=False")
            elif one.name not in changes:
                changes[one.name] = getattr(obj, one.name)
        return type(obj)(**changes)

    def dataclass(*, slots, frozen=False, order=False):
        """As `dataclasses.dataclass(slots=True, ...)`."""
        if not slots:
            raise TypeError("only slotted classes")
        return lambda cls: _define(cls, frozen, order)

    class _StandardFields:
        """`__dataclass_fields__`, made when somebody asks: the standard module's own description of the class."""

        def __get__(self, obj, owner):
            import dataclasses

            found = {}
            for name, one in owner.__light_fields__.items():
                default = dataclasses.MISSING if one.default is _MISSING else one.default
                factory = dataclasses.MISSING if one.factory is _MISSING else one.factory
                made = dataclasses.field(
                    default=default, default_factory=factory, init=one.init, repr=one.repr, compare=one.compare
                )
                made.name, made.type, made.kw_only = name, one.type, False
                made._field_type = dataclasses._FIELD  # noqa: SLF001 - what dataclasses.fields() looks for
                found[name] = made
            return found

    class _Parameters:
        """What the standard decorator asks of a base class."""

        def __init__(self, frozen: bool) -> None:
            self.frozen = frozen

    def _define(cls, frozen, order):
        fields = {}
        taken = set()
        for base in reversed(cls.__mro__[1:]):
            fields.update(getattr(base, "__light_fields__", ()))
            slots = base.__dict__.get("__slots__", ())
            taken.update((slots,) if isinstance(slots, str) else slots)
        namespace = dict(cls.__dict__)
        own = []
        for name, annotation in namespace.get("__annotations__", {}).items():
            if "ClassVar" in str(annotation):
                continue
            value = namespace.pop(name, _MISSING)
            one = value if isinstance(value, _Field) else _Field(value, _MISSING, True, True, True)
            if one.default is not _MISSING and type(one.default).__hash__ is None:
                raise ValueError(f"mutable default for field {name}: use default_factory")
            one.name, one.type = name, annotation
            fields[name] = one
            own.append(name)
        optional = ""
        for one in fields.values():
            if one.init and not one.required:
                optional = one.name
            elif one.init and optional:
                raise TypeError(f"field {one.name} without a default follows {optional}, which has one")
        namespace.pop("__dict__", None)
        namespace.pop("__weakref__", None)
        namespace["__slots__"] = tuple(name for name in own if name not in taken)
        namespace["__light_fields__"] = fields
        namespace["__dataclass_fields__"] = _StandardFields()
        namespace["__dataclass_params__"] = _Parameters(frozen)
        methods = _methods(fields, frozen, order)
        methods["__match_args__"] = tuple(one.name for one in fields.values() if one.init)
        if namespace.get("__hash__", _MISSING) is None and "__eq__" not in namespace:
            del namespace["__hash__"]
        for name, method in methods.items():
            namespace.setdefault(name, method)
        # The class anew, as the standard decorator does it: slots cannot be added to a class that exists.
        made = type(cls)(cls.__name__, cls.__bases__, namespace)
        made.__qualname__ = cls.__qualname__
        return made

    def _methods(fields, frozen, order):
        """The methods of a class with these fields."""
        shown = [one for one in fields.values() if one.repr]
        compared = [one.name for one in fields.values() if one.compare]
        if len(compared) > 1:
            values = attrgetter(*compared)
        elif compared:
            (only,) = compared

            def values(self):
                return (getattr(self, only),)
        else:

            def values(self):
                return ()

        made = 0

        def init_(self, *args, **kwargs):
            nonlocal made
            made += 1
            if made < WORTH_COMPILING and _fill(self, fields, args, kwargs):
                return
            # The class that has this very function: its constructor is compiled now, and takes this one's place.
            for cls in type(self).__mro__:
                if cls.__dict__.get("__init__") is init_:
                    cls.__init__ = _constructor(cls, frozen)
                    cls.__init__(self, *args, **kwargs)
                    return
            _constructor(type(self), frozen)(self, *args, **kwargs)  # another thread was faster

        def repr_(self):
            text = ", ".join(f"{one.name}={getattr(self, one.name)!r}" for one in shown)
            return f"{type(self).__qualname__}({text})"

        def eq_(self, other):
            return values(self) == values(other) if type(other) is type(self) else NotImplemented

        methods = {"__init__": init_, "__repr__": repr_, "__eq__": eq_, "__hash__": None}
        if frozen:

            def hash_(self):
                return hash(values(self))

            def setattr_(self, name, value):
                # What a subclass adds to the fields is the subclass's own business.
                if name in fields or type(self).__dict__.get("__light_fields__") is fields:
                    from dataclasses import FrozenInstanceError

                    raise FrozenInstanceError(f"cannot assign to field {name!r}")
                object.__setattr__(self, name, value)

            def delattr_(self, name):
                if name in fields or type(self).__dict__.get("__light_fields__") is fields:
                    from dataclasses import FrozenInstanceError

                    raise FrozenInstanceError(f"cannot delete field {name!r}")
                object.__delattr__(self, name)

            def getstate_(self):
                return [getattr(self, name) for name in fields]

            def setstate_(self, state):
                for name, value in zip(fields, state, strict=True):
                    object.__setattr__(self, name, value)

            methods |= {
                "__hash__": hash_,
                "__setattr__": setattr_,
                "__delattr__": delattr_,
                "__getstate__": getstate_,
                "__setstate__": setstate_,
            }
        if order:

            def lt_(self, other):
                return values(self) < values(other) if type(other) is type(self) else NotImplemented

            def le_(self, other):
                return values(self) <= values(other) if type(other) is type(self) else NotImplemented

            def gt_(self, other):
                return values(self) > values(other) if type(other) is type(self) else NotImplemented

            def ge_(self, other):
                return values(self) >= values(other) if type(other) is type(self) else NotImplemented

            methods |= {"__lt__": lt_, "__le__": le_, "__gt__": gt_, "__ge__": ge_}
        return methods

    def _fill(obj, fields, args, kwargs):
        """What the compiled constructor does; False, with nothing done, where the arguments do not fit."""
        names = [name for name, one in fields.items() if one.init]
        given = dict(zip(names, args, strict=False))
        if len(args) > len(names) or not given.keys().isdisjoint(kwargs) or not kwargs.keys() <= fields.keys():
            return False
        given |= kwargs
        values = {}
        for name, one in fields.items():
            if name in given:
                if not one.init:
                    return False
                values[name] = given[name]
            elif one.factory is not _MISSING:
                values[name] = one.factory()
            elif one.default is not _MISSING:
                values[name] = one.default
            elif one.init:
                return False
        for name, value in values.items():
            object.__setattr__(obj, name, value)  # past the frozen `__setattr__`
        if hasattr(obj, "__post_init__"):
            obj.__post_init__()
        return True

    def _constructor(cls, frozen):
        """The compiled constructor of a class."""
        known = {"_missing": _MISSING}
        parameters, body = ["self"], []
        for name, one in cls.__light_fields__.items():
            value = name
            if one.factory is not _MISSING:
                known[f"_make_{name}"] = one.factory
                value = f"_make_{name}() if {name} is _missing else {name}" if one.init else f"_make_{name}()"
            elif one.default is not _MISSING:
                known[f"_default_{name}"] = one.default
                value = name if one.init else f"_default_{name}"
            elif not one.init:
                continue
            if one.init:
                default = "_missing" if one.factory is not _MISSING else f"_default_{name}"
                parameters.append(name if one.required else f"{name}={default}")
            if frozen:
                known[f"_set_{name}"] = getattr(cls, name).__set__  # the slot itself: past the frozen `__setattr__`
                body.append(f"_set_{name}(self, {value})")
            else:
                body.append(f"self.{name} = {value}")
        if hasattr(cls, "__post_init__"):
            body.append("self.__post_init__()")
        source = f"def __init__({', '.join(parameters)}):\n " + "\n ".join(body or ["pass"])
        exec(source, known)
        made = known["__init__"]
        made.__qualname__ = f"{cls.__qualname__}.__init__"
        return made


__all__ = ["dataclass", "field", "replace"]
