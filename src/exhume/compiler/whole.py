"""The whole of what is compiled: the Python and Cython of all modules of a set of specifications.

`compile_specs` is for the specifications that come with exhume (`ksy/`); `make generated` writes its result into the
package `exhume_ksy`: `fast` has readers, functions that make an object from bytes, and `facts` the constants.
`compile_foreign` is for those of users, which are not trusted; its result is loaded at once, or written as a
package.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping
from typing import Any

from exhume.compiler import refusal
from exhume.compiler.audit import audited
from exhume.compiler.emit.columns import marks_of
from exhume.compiler.emit.elements import elements_text
from exhume.compiler.emit.facts import FIXED, constants_text, facts_texts
from exhume.compiler.emit.layout import FOREIGN, LAYOUT, NATIVE
from exhume.compiler.emit.modules import module_text, module_texts, pausing
from exhume.compiler.emit.native_columns import native_text
from exhume.compiler.emit.shared import Module
from exhume.compiler.emit.tiling import tiling_text
from exhume.compiler.front.kinds import structures
from exhume.compiler.front.model import ExternalNames, Type
from exhume.compiler.front.specs import Model, check
from exhume.compiler.front.validate import check_size, validate
from exhume.compiler.ir.needs import find_needs
from exhume.compiler.ir.rows import always_takes_bytes, is_list_of_rows, mark_rows, rows_are_plain
from exhume.compiler.refusal import UnsupportedError

Specs = Mapping[str, Mapping[str, Any]]
"""Specifications by their ids, as parsed from YAML."""


MOST_IN_JSON = 1 << 53
"""Largest number that JSON keeps exactly, as it may have numbers as doubles."""


def compile_specs(specs: Specs) -> dict[str, str]:
    """Return the Python of specifications by path: `fast/<id>.py` with readers, `facts/<id>.py` with constants.

    `facts/_tiling.py` names the structures that leave no byte out; `facts/_fixed.py` is what modules of facts
    import.

    Raises `UnsupportedError` naming the field and what is not supported.
    """
    for id, spec in specs.items():
        _exact(spec, id)
    model = Model(specs)
    check(model)
    facts, elements = constants_text(model), elements_text(model)
    # Python and compiled code are used together only if both are made of the same text: each has a digest of it.
    included = _digest(facts + elements)
    texts = {"fast/__init__.py": FAST.replace("{source}", included), "facts/__init__.py": FACTS_DOC}
    texts |= {"fast/_layout.py": LAYOUT, **{f"fast/{id}.py": text for id, text in module_texts(model).items()}}
    source = _digest("".join(texts[path] for path in sorted(texts)))
    texts["fast/_layout.py"] += NATIVE.replace("{source}", source)
    texts["fast/_native.pyx"] = native_text(model, source)
    texts["fast/_facts.pxi"] = facts
    texts["fast/_elements.pxi"] = elements + f"\n\nELEMENTS = {included!r}\n"
    texts |= {"facts/_tiling.py": tiling_text(model), "facts/_fixed.py": FIXED}
    return texts | {f"facts/{id}.py": text for id, text in facts_texts(model).items()}


def _exact(part: Any, where: str) -> None:
    """Raise `UnsupportedError` for a number so large that JSON of a specification may lack some of its digits.

    `part` is anything in a specification, `where` its place for the message.
    """
    if isinstance(part, Mapping):
        for key, one in part.items():
            _exact(one, f"{where}: {key}")
    elif isinstance(part, list):
        for one in part:
            _exact(one, where)
    elif type(part) is int and abs(part) > MOST_IN_JSON:
        raise UnsupportedError(f"{part} may have lost digits: write a number of this size between quotes", where)


def compile_foreign(specs: Specs, given: ExternalNames | None = None) -> dict[str, str]:
    """Return the readers of specifications of unknown origin: `<id>.py` each, and `_layout.py` that they share.

    No part of a specification becomes code unless it was parsed and found to be a name or a constant, and the code
    is checked again (`exhume.compiler.audit`).  `given` has names of types and routines that the caller provides.
    Raises `UnsupportedError` naming the field and what is not supported.
    """
    for id, spec in specs.items():
        validate(spec, id)
    check_size(specs)
    try:
        # Checked first: `with_columns` writes readers to find out what is possible, which needs valid expressions.
        check(Model(specs, foreign=True, given=given))
        model = Model(with_columns(specs, given), foreign=True, given=given)
        texts = {f"{id}.py": text for id, text in module_texts(model).items()}
    except RecursionError:  # which specification it was is not known here: the message names the first
        raise UnsupportedError("refers to itself, or is nested too deeply", min(specs)) from None
    if sum(map(len, texts.values())) > refusal.CODE:
        raise UnsupportedError(f"its readers are more than {refusal.CODE} characters of code", min(specs))
    audited(texts, model)
    return {"__init__.py": FOREIGN_DOC, "_layout.py": LAYOUT + FOREIGN} | texts


def paused_texts(
    specs: Specs, given: ExternalNames | None, id: str, steps: list[str], texts: Mapping[str, str]
) -> dict[str, str] | None:
    """Return `texts` with the reader that leads to a list replaced by one that stops there, for reading in batches.

    `texts` are the modules that `compile_foreign` made of `specs` and `given`.  `steps` are the names of the fields
    from the root of the specification `id` to the list; see `exhume.compiler.emit.modules`.  None if the list cannot be
    read in batches.
    """
    model = Model(with_columns(specs, given), foreign=True, given=given)
    found = pausing(model, steps, model.schemas[id])  # the list, and the type that has it
    if found is None:
        return None
    type, field = found
    try:
        text = module_text(type.root, find_needs(model), traced=False, paused=field)
    except UnsupportedError:
        return None
    return {**texts, f"{type.root.id}.py": text}


def with_columns(specs: Specs, given: ExternalNames | None = None) -> Specs:
    """Return third-party specifications with `-columns: true` added to the types whose rows become columns.

    These are types whose fields are numbers, bits, bytes, strings and structures of these, and are always present. An
    instance is read only on request, so each access to a row would read it again. Types with more in them get `-tabled:
    true`: their rows stay objects and become columns when columns are requested.
    """
    specs = copy.deepcopy(specs)
    model = Model(specs, foreign=True, given=given)
    needs = find_needs(model)
    if model.shares:  # structures may begin within a byte: no list becomes columns
        return specs
    for type in model.types():
        is_sized = None if type.params else _are_sized(type, model)
        if is_sized is None:
            continue
        marks: dict[str, bool] = type.raw  # type: ignore[assignment]  # `specs` is a copy, which may be changed
        marks["-sized"] = is_sized
        # Wide rows may have choices and lists; `moving` is None if no expression needs the position of a stream.
        is_wide = model.moving is None and always_takes_bytes(type)
        for mark, can_be in (("-columns", not is_sized and rows_are_plain(type)), ("-tabled", is_wide)):
            if can_be and not marks.get("-columns"):
                marks[mark] = True
                try:
                    # This writes the reader of columns once, to find out whether that is possible.
                    marks |= marks_of(Module(type.root, needs), type)  # type: ignore[arg-type]
                except UnsupportedError:
                    del marks[mark]
    mark_rows(model)
    return specs


def _are_sized(type: Type, model: Model) -> bool | None:
    """Return whether the lists of a type state the size of an element.

    None if some do and others do not, since their rows are not read alike, or if one of them cannot have rows.
    """
    fields = [one for parent in type.parents for one in parent.fields() if one.repeat and one.value is None]
    lists = [one for one in fields if any(kind.type is type for kind in structures(one.value_kind))]
    sized = {one.size is not None for one in lists}
    return sized.pop() if len(sized) == 1 and all(is_list_of_rows(one, model) for one in lists) else None


FOREIGN_DOC = '"""Readers compiled by `exhume compile`; never edited by hand."""\n'


def _digest(text: str) -> str:
    """Return a short digest of a string."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


FAST = '''"""Fast, typed readers compiled from `ksy/` (see `make generated`); never edited by hand.

Each module has a function for each structure of its specification:

    from pathlib import Path

    from exhume_ksy.fast import LayoutError
    from exhume_ksy.fast.zs import read_zs

    data = Path("words.zs").read_bytes()
    try:
        file, end = read_zs(data, 0, len(data))
    except LayoutError as error:
        print(error.path, error.offset, error.expected, error.found)
    else:
        print(file.header.codec_name, file.header.len_root)

It takes the bytes, where the structure starts and where it must end, and returns it with where it does end.
"""

from __future__ import annotations

ELEMENTS = "{source}"
"""What compiled code includes; code that was built from anything else is not used."""

TYPE_CHECKING = False  # `typing` is for type checkers
if TYPE_CHECKING:
    from typing import Any

    from ._layout import LayoutError as LayoutError
    from ._layout import View as View


def __getattr__(name: str) -> Any:
    """`LayoutError` and `View`, which all readers share; loaded on first use."""
    if name in ("LayoutError", "View"):
        from . import _layout

        return getattr(_layout, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
'''
FACTS_DOC = '"""Enums, magics, sizes and fixed places from `ksy/` (see `make generated`); never edited by hand."""\n'
