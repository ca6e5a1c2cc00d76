"""One structure without objects: for a type with `-element: true` a function that returns its fields as a plain tuple.

    flat_block(view, at, end) -> (after, ...)

The first value is where the structure ends; then follow the values of its columns (see `columns`), in their order:
integers, the start and end of bytes, 0 for absent fields. It costs a fraction of an object with the same fields. Data
that does not fit raises what the reader raises.
"""

from __future__ import annotations

from exhume.compiler.emit.c_varints import unique_name
from exhume.compiler.emit.scan import Scan
from exhume.compiler.emit.shared import Module
from exhume.compiler.emit.text import Lines, written_doc
from exhume.compiler.front.model import Type


def flat_text(module: Module, type: Type) -> str:
    """The function of one type.  Raises `UnsupportedError`."""
    scan = Scan(None, module, type)
    if type.parent is None:
        scan.base = "base"
    scan.sequence()
    names = ", ".join(name for name, _, _ in scan.columns)
    values = "".join(f", {value}" for _, _, value in scan.columns)
    module.helpers.add("native")
    head = Lines()
    if any("end - base" in line for line in scan.lines.lines):
        head.add("base = at")
    with head.block(
        f"if native is not None and (found := native.flat_{unique_name(type)}(view, at, end)) is not None:"
    ):
        head.add("return found")
    name = type.reader_name.replace("read_", "flat_", 1)
    whole = f"tuple[{', '.join(['int'] * (len(scan.columns) + 1))}]"
    about = f"Where the `{type.where}` at `at` ends, and its fields: {names}. Raises `LayoutError`."
    out = [f"def {name}(view: View, at: int, end: int) -> {whole}:", *written_doc(about)]
    return "\n".join([*out, *head.lines, *scan.lines.lines, f"    return at{values}"])
