"""Replacing readers by compiled ones: a part of `_layout` for specifications of users, as source code.

`attach` is called once for a package of readers whose extension module was loaded.  The extension module (`extension`)
is compiled C that does the same as the Python functions.  Those stay for data whose reading compiled code abandons.
"""

from __future__ import annotations

COMPILED = '''

from types import FunctionType, ModuleType


def attach(native: Any, plan: Any, layout: Any, modules: Any, given: Any, left: Any = ()) -> None:
    """Replace readers and instances in `modules` by those of the extension module `native`.

    `modules` are the modules of readers by id, `layout` is the module that they share, `given` has the objects of the
    caller, and `left` are readers that stay interpreted, as (id, name).  `plan` has lists of rows; compiled code knows
    most rows by their number in the list:

        values   (kind, ...)                          the Python objects that it uses, see `_value`
        slots    (id, class, field)                   the fields whose offsets it uses
        makers   (id, class)                          the classes whose objects it makes
        getters  (id, class, name, number, slots)     its instances; number -1: interpreted, but called by it
        readers  (id, name, number, arguments)        its readers
        rows     (id, class of columns, name)         the readers of elements of columns
    """
    if plan["source"] != [(native.SOURCE,)]:
        raise ImportError("the extension module was made of something else")
    values = [_value(row, layout, modules, given) for row in plan["values"]]
    slots = [(getattr(modules[id], owner), name) for id, owner, name in plan["slots"]]
    makers = [getattr(modules[id], owner) for id, owner in plan["makers"]]
    native.give(values, slots, [(cls, _plain_fields(cls)) for cls in makers])
    for id, owner, name, number, kept in plan["getters"]:
        cls = getattr(modules[id], owner)
        setattr(cls, name, native.getter(number, vars(cls)[name], cls, kept))
    copies = _interpreted(modules)
    compiled = {}  # by the Python function that each replaces
    for id, name, number, names in plan["readers"]:
        if (id, name) not in left:
            python = getattr(modules[id], name)
            compiled[python] = native.reader(number, getattr(copies[id], name), names)
            setattr(modules[id], name, compiled[python])
    for id, owner, name in plan["rows"]:
        if (id, name) not in left:
            getattr(modules[id], owner).__iter__ = _over(native.rows, vars(modules[id])[name])
    for module in modules.values():
        for cls in vars(module).values():
            if isinstance(cls, type):
                _attach_class(native, cls, compiled)


def _value(row: Any, layout: Any, modules: Any, given: Any) -> Any:
    """Return a Python object that compiled code uses, by its row of `values` in the plan.

    The row is `("constant", object)`, `("shared", name)` for a name of `layout`, `("given", name)` for an object of the
    caller, `("of", id, name)` for one of a module, or `("enum", id, class)` for the members of an enum by number.
    """
    kind, *where = row
    if kind == "constant":
        return where[0]
    if kind == "shared":
        return getattr(layout, where[0])
    if kind == "given":
        return getattr(given, where[0])
    id, path = where
    value = modules[id]
    for name in path.split("."):
        value = getattr(value, name)
    return value._value2member_map_ if kind == "enum" else value


def _attach_class(native: Any, cls: Any, compiled: Any) -> None:
    """Let a class of structures or columns use its `compiled` reader (by Python function), and own its parts in C."""
    if issubclass(cls, Structure) and cls is not Structure:
        native.owns(cls, "_parent", "_root")
        cls._native = compiled.get(cls._reader)
        if cls._native is not None and not Called(cls._reader).names:
            cls._alone = cls._native.alone
    elif issubclass(cls, Table) and cls is not Table:
        native.owns(cls, "parent", "root")
        cls._scan = compiled.get(cls._scan, cls._scan)


PLAIN = frozenset(("None", "View", "_Stream", "bool", "bytes", "float", "int", "str"))
"""Types, as annotations name them, of values that neither are nor contain structures."""


def _plain_fields(cls: Any) -> set[str]:
    """Return the fields of a class that refer neither to structures nor to lists, by the annotations of the class.

    An instance `size`, a property, has its value in the field `_size`.
    """
    annotations = {name: str(one) for name, one in cls.__dict__.get("__annotations__", {}).items()}
    for name, one in vars(cls).items():
        if isinstance(one, property) and "return" in (one.fget.__annotations__ if one.fget else {}):
            annotations[f"_{name}"] = one.fget.__annotations__["return"]
    plain = {name for name, one in annotations.items() if PLAIN.issuperset(one.split(" | "))}
    return plain | {"_parent", "_root", "_io", "_run"}


def _interpreted(modules: Any) -> dict[str, ModuleType]:
    """Return copies of the modules, by id, whose functions stay Python: compiled readers that give up call these.

    A copied function finds other functions in its copy of the module, so all that it calls is interpreted as well.
    Such calls do not use the machine's stack, so structures may be nested as deep as in Python alone.
    """
    copies = {id: ModuleType(module.__name__) for id, module in modules.items()}
    copy_of = {module: copies[id] for id, module in modules.items()}
    for module, copy in copy_of.items():
        names = vars(copy)
        for name, value in vars(module).items():
            if isinstance(value, FunctionType) and value.__globals__ is vars(module):
                made = FunctionType(value.__code__, names, value.__name__, value.__defaults__, value.__closure__)
                made.__kwdefaults__ = value.__kwdefaults__
                names[name] = made
            else:
                names[name] = copy_of.get(value, value) if isinstance(value, ModuleType) else value
    return copies
'''
