"""From audited readers in Python to one extension module that does the same at the speed of C.

The readers are Python functions that exhume generated from a specification of a user.  They were audited: checked to
contain no statement that exhume would not emit.  Each is translated to a Cython function.  Those that have no
translation stay interpreted ("uncovered").

The text of the module has nothing of a specification in it: variables, fields and constants have numbers, and their
meaning is passed to the module when it is loaded (`Extension.plan`).  Some data cannot be processed by compiled code,
such as numbers too large for the machine, or bytes that are not contiguous.  The interpreted reader stays available
for these.

No name, no text and no constant of a specification is in such source, except numbers.  So it is enough to check each
of its words before it is built (`check_vocabulary`): no specification can make it contain anything else.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from exhume.compiler.emit.extension.c_support import COLUMNS
from exhume.compiler.emit.extension.calls import CALLS
from exhume.compiler.emit.extension.depth import guarded
from exhume.compiler.emit.extension.functions import Function
from exhume.compiler.emit.extension.kinds import UncoveredError
from exhume.compiler.emit.extension.ownership import OWNERSHIP
from exhume.compiler.emit.extension.sources import Source, Table, sources
from exhume.compiler.emit.extension.support import SUPPORT
from exhume.compiler.refusal import UnsupportedError

__all__ = ["Extension", "extension"]

Plan = dict[str, list[tuple[object, ...]]]
"""Rows of each table of the plan, by the name of the table; see `Extension`, and `attach` (`emit.layout.compiled`)."""

Readers = dict[tuple[str, str], str]
"""Names of the C functions of readers, by module and name of the reader."""

AFTER_BYTES = 3
"""Number of the arguments with which each reader begins: `view`, `at`, `end`."""

INTERPRETED = -1
"""In place of the number of a compiled getter: the instance stays in Python."""


@dataclass(frozen=True)
class Extension:
    """An extension module: its text in Cython, and the facts that it is given when it is loaded.

    `plan` has the tables `values`, `slots`, `makers` and `rows`, whose rows have numbers, the functions that replace
    interpreted ones (`readers` and `getters`, which are those of instances), and the digest of the source.  A row of
    `readers` is module, name, number, and the arguments after the bytes; one of `getters` is module, class, name,
    number (-1: interpreted), and the slots for value, stream and budgets.  `left` are the functions that stay
    interpreted, with the reason.
    """

    text: str
    plan: Plan
    left: tuple[tuple[str, str], ...]


def extension(texts: Mapping[str, str]) -> Extension:
    """Return the extension module for the readers of a package; `texts` has their modules by path, which were audited.

    Raises `UnsupportedError` if its text would contain a word that no extension has.
    """
    every, table = sources(texts), Table()
    readers, left = _compilable(every)
    code: list[str] = []
    plan: Plan = {"readers": [], "getters": []}
    # One C function per reader.
    deep = guarded(_calls(every, readers))
    for key, name in readers.items():
        function = _function(every, table, readers, key)
        code += ["", "", *function.compiled(name, guarded=key in deep)]
        plan["readers"].append((*key, len(plan["readers"]), tuple(function.arguments_[AFTER_BYTES:])))
    plan["rows"] = list(_rows(every, readers))
    # One C function per property; those that cannot be compiled stay in Python.
    getters = 0
    for id, source in every.items():
        for cls in source.classes.values():
            for name, node in cls.properties.items():
                function = Function(source, every, table, node, cls)
                function.readers = readers
                try:
                    text = function.compiled(f"g{getters}", guarded=False)
                except UncoveredError as why:
                    left.append((f"{id}.{cls.name}.{name}", str(why)))
                    plan["getters"].append((id, cls.name, name, INTERPRETED, function.kept()))
                    continue
                code += ["", "", *text]
                plan["getters"].append((id, cls.name, name, getters, function.kept()))
                getters += 1
    # Tables of the functions, by number: `READERS[0] = &f0`.
    code += ["", "", *(f"READERS[{i}] = &{name}" for i, name in enumerate(readers.values()))]
    code += [f"GETTERS[{i}] = &g{i}" for i in range(getters)]
    body = "\n".join(code) + "\n"
    check_vocabulary(body)
    plan |= {"values": table.values, "slots": list(table.slots), "makers": list(table.makers)}
    runtime = SUPPORT + OWNERSHIP + COLUMNS + CALLS
    digest = _digest([runtime, body, repr(plan), *(f"{path}\0{texts[path]}" for path in sorted(texts))])
    body += f'\n\nSOURCE = "{digest}"\n"""What this was made of; it is used with nothing else."""\n'
    plan["source"] = [(digest,)]
    # Sizes of the tables in C: one more, as none may be empty.
    for word, many in {"<readers>": len(readers), "<getters>": getters, "<sites>": table.sites}.items():
        runtime = runtime.replace(word, str(many + 1))
    return Extension(runtime + body, plan, tuple(left))


def _digest(inputs: list[str]) -> str:
    """Return a digest of all that an extension is made of."""
    return hashlib.sha256("\0".join(inputs).encode()).hexdigest()[:32]


def _compilable(every: dict[str, Source]) -> tuple[Readers, list[tuple[str, str]]]:
    """Return the readers that have a compiled form, and those that stay interpreted, each with the reason.

    `{("zip", "read_entry"): "f0"}` and `[("zip.read_extra", "a format")]`; `every` has all modules by id.
    """
    keys = [
        (id, name)
        for id, source in every.items()
        for name in source.functions
        if not name.startswith("fill")  # compiled loops are as fast as the functions that fill lists
    ]
    found = {key: f"f{number}" for number, key in enumerate(keys)}
    left: list[tuple[str, str]] = []
    # Compiled readers cannot call interpreted ones, so each that stays interpreted may add others.
    while uncovered := _uncovered(every, found):
        left += [(f"{id}.{name}", why) for (id, name), why in uncovered.items()]
        found = {key: name for key, name in found.items() if key not in uncovered}
    return found, left


def _function(every: dict[str, Source], table: Table, readers: Readers, key: tuple[str, str]) -> Function:
    """Return the reader `key` (module and name) for translation; `readers` are those that it may call.

    `every` has all modules by id; `table` gets the Python objects that its code needs.
    """
    id, name = key
    source = every[id]
    function = Function(source, every, table, source.functions[name])
    function.readers = readers
    return function


def _rows(every: dict[str, Source], readers: Readers) -> Iterator[tuple[object, ...]]:
    """Yield module, class and reader of the classes of columns whose elements a compiled reader reads.

    For example `("zip", "EntryColumns", "read_entry")`.
    `every` has all modules by id.
    """
    for id, source in every.items():
        for cls in source.classes.values():
            if cls.element and (id, cls.element) in readers:
                yield id, cls.name, cls.element


def _uncovered(every: dict[str, Source], readers: Readers) -> dict[tuple[str, str], str]:
    """Return the readers that have no compiled form, with the reason, by module and name.

    `every` has all modules by id.
    """
    reasons = {}
    for key, name in readers.items():
        try:
            _function(every, Table(), readers, key).compiled(name, guarded=False)
        except UncoveredError as why:
            reasons[key] = str(why)
    return reasons


def _calls(every: dict[str, Source], readers: Readers) -> dict[tuple[str, str], set[tuple[str, str]]]:
    """Return the readers that each reader calls, by (module, name); `every` has all modules by id."""
    calls: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for key in readers:
        function = _function(every, Table(), readers, key)
        called = (function.reader_of(node) for node in ast.walk(function.node) if isinstance(node, ast.Call))
        calls[key] = {other for other in called if other is not None}
    return calls


def package_texts(made: Extension) -> dict[str, str]:
    """Return the Python modules of a package next to the extension `_native`: one loads it, one has its plan.

    The plan lists the Python objects that the extension needs; see `attach` in `exhume.compiler.emit.layout.compiled`.
    """
    return {"__init__.py": PACKAGE, "_plan.py": f"{PLAN_DOC}PLAN = {made.plan!r}\n"}


PLAN_DOC = '"""What the extension module beside it is given; never edited by hand."""\n\n'
"""Beginning of the module with the plan."""
PACKAGE = '''"""Readers compiled by `exhume compile`; never edited by hand."""


def _begin() -> None:
    """Puts the extension module in the place of the readers beside it; another Python goes on with those."""
    try:
        from . import _native, _plan  # type: ignore
    except ImportError:
        return
    if _plan.PLAN["source"] != [(_native.SOURCE,)]:
        return
    from importlib import import_module

    from . import _layout

    _native.begin(_layout)
    names = {one[0] for one in _plan.PLAN["readers"]}
    modules = {name: import_module(f".{name}", __name__) for name in sorted(names)}
    _layout.attach(_native, _plan.PLAN, _layout, modules, None)


_begin()
'''


_WORD = re.compile(r'"[^"]*"|\'[^\']*\'|[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[^\sA-Za-z0-9_]')
"""Strings, names, numbers and single signs of a source."""
_NUMBERED = re.compile(r"[vpnfgrqa][0-9]+$")
"""Names with a number: variables, pointers, lengths, functions, getters, arguments."""
_SIGNS = frozenset("()[]{}<>=+-*/%&|^~.,:!?")
"""Signs that an extension module contains."""
_TEXTS = frozenset(("''",))
"""Strings that an extension module contains: only the empty one."""
WORDS = frozenset(
    """
    cdef return if else while for in range pass break and or not is None True False const tuple READERS GETTERS
    MAKERS abandon_if put_word put_unsigned put_float list b object uint8_t uint16_t uint32_t uint64_t int8_t
    int16_t int32_t int64_t Py_ssize_t double bint Stream Run Column NULL CONSTANTS OFFSETS little1 little2
    little4 little8 big1 big2 big4 big8 as_float as_double has_bytes has_range sliced text_of find_byte
    saturated saturated_unsigned checked_place place_of equals slot_get slot_put slot_make slot_word slot_keep
    lend_parent lend_root lend_to_columns elements_of product_of sum_of item_of field_of CACHES member_of SLOT
    is_kept stream_of run_of a_stream a_run column_of end_at_byte bits_of check_contents word_in push1 push2
    push4 push8 push_object push_float push_double cut_column deeper shallower hold ended get_bytes
    require_bytes abandon check_text reached after low high view at end io parent root big run count base left
    held most size steps many getattr setattr str join len int bool bytes float isinstance max min memoryview
    AssertionError AttributeError UnicodeDecodeError append find from_bytes is_eof over pos rstrip
    with_traceback within include short other_view other_bytes other_size parameters
    """.split()  # noqa: SIM905 - many words
)
"""Names and keywords that an extension module contains."""


def check_vocabulary(text: str) -> None:
    """Raise `UnsupportedError` for source with a word that extension modules do not contain."""
    for number, line in enumerate(text.split("\n"), 1):
        for word in _WORD.findall(line):
            known = word.isdigit() or word in _SIGNS or word in WORDS or word in _TEXTS or _NUMBERED.match(word)
            if not known:
                raise UnsupportedError(
                    f"its compiled code would have what no extension has: {word[:60]!r}, line {number}"
                )
