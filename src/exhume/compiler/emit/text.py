"""Parts of Python code as text: names, constants, types, doc strings, and how strongly operators bind.

All emitters use it. Their output are readers: functions whose local variables are the fields of a type, next to
variables of their own such as `view` and `at`.
"""

from __future__ import annotations

import builtins
import itertools
import keyword
import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from exhume.compiler import refusal
from exhume.compiler.front import expressions as ex
from exhume.compiler.front.kinds import Bits, Integer, Kind, Sequence, SimpleKind, Structure
from exhume.compiler.front.model import Field, Type
from exhume.compiler.ir.fixed import number_of

TAKEN = frozenset(
    {"view", "at", "end", "base", "start", "stop", "value", "parent", "root", "one", "error", "many", "size", "on"}
)
"""Variables of the readers themselves; a field of such a name gets another one there."""

# Functions that modules of third-party readers import.
_MODULES = frozenset({"struct", "array", "short", "native", "numbers", "keep", "keep_instance"})
_MODULES |= {"find", "ended", "inflated", "xored", "rotated", "bits", "joined", "shifted", "multiplied", "number"}
_MODULES |= {"taken", "all_taken", "weighed", "word", "stream_of", "elements"}
# Further names in third-party readers: variables of their own, and the beginnings of generated names.
_OURS = re.compile(
    r"(read|make|scan|fill[0-9]*|at|end|rest|add|f|names|there|case|base)_|asked[0-9]|(in|of)[0-9]+_|(view|at|end|base|self|columns|count|first|begin|before|inside|bit|big|io|inner|resume|names|failed|named|why|run|turn|element|each|found|index|last|rows|above|fits)$"
)


def local_name(id: str, foreign: bool) -> str:
    """Return the name that a field has inside a reader: one that is not used for anything else there.

    Only `foreign` (third-party) specifications may have fields of any name.
    """
    if not foreign:
        return f"{id}_" if id in TAKEN or keyword.iskeyword(id) else id
    ours = _OURS.match(id) or id in TAKEN or keyword.iskeyword(id) or hasattr(builtins, id) or id in _MODULES
    return f"f_{id}" if ours else id


_STRUCTURES = frozenset(("accepts", "alone", "fields", "from", "inside", "make", "native", "parameters", "reader"))
_STRUCTURES |= {"io", "parent", "root", "big", "run"}
"""Attributes of structures that start with an underscore, without it; an instance of such a name gets another slot."""


def kept_as(field: Field) -> str:
    """Return the slot that keeps the value of an instance."""
    return f"_{field.id}_" if field.id in _STRUCTURES else f"_{field.id}"


class Lines:
    """Lines of code that are being emitted, each at its depth of indentation."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth: int = 1  # levels of four spaces

    def add(self, *lines: str) -> None:
        """Add lines at the current depth."""
        self.lines += ["    " * self.depth + line if line else "" for line in lines]

    @contextmanager
    def block(self, opening: str) -> Iterator[None]:
        """Within the `with` block, add lines one level below `opening`; `pass`, if there are none."""
        self.add(opening)
        self.depth += 1
        before = len(self.lines)
        yield
        if len(self.lines) == before:
            self.add("pass")
        self.depth -= 1


# Strings in Python code, and names that are not attributes.
_WORD = re.compile(r'"""[\s\S]*?"""|f?"(?:[^"\\\n]|\\.)*"|f?\'(?:[^\'\\\n]|\\.)*\'|(?<![.\w])[A-Za-z_]\w*')
_ASSIGNED = re.compile(
    r"( +)((?:\w+(?:, \w+)* = )+|\w+ \+= )"
    r"((?:io\.|self\._(?=io|big))?\w+(?:, io\.\w+|(?: [-+*] \w+)*)|view\[\w+(?: \+ \w+)? ?: ?\w*(?: \+ \w+)?\])$"
)
"""Assignments whose right side cannot fail: simple names and sums of them, slices of the bytes, parts of a stream.

Groups: indentation; variables with their `=` or `+=`; value.
"""


def words_of(text: str) -> Iterator[str]:
    """Yield the names in code other than attributes; in strings only those that an f-string inserts."""
    for word in _WORD.findall(text):
        if word[0] == "f" and word[-1] in "\"'":
            yield from re.findall(r"(?<![.\w])[A-Za-z_]\w*", " ".join(re.findall(r"\{([^{}]*)\}", word)))
        elif word[-1] not in "\"'":
            yield word


def pruned(text: str) -> str:
    """Return classes and functions without the assignments to local variables that nothing reads."""
    lines = text.split("\n")
    starts: list[int] = []
    for at, line in enumerate(lines):
        if line.lstrip(" ").startswith("def ") and not (starts and _depth(lines[starts[-1]]) < _depth(line)):
            starts.append(at)
    out = lines[: starts[0]] if starts else lines
    for start, stop in itertools.pairwise([*starts, len(lines)]):
        out += _pruned(lines[start:stop])
    return "\n".join(out)


def _pruned(lines: list[str]) -> list[str]:
    """Return the lines of one function without assignments to variables that nothing reads.

    Removing one may leave others unread, so this repeats until none is.
    """
    while True:
        # The assignments, by line number, and the variables that nothing else mentions.
        found = [(at, one) for at, line in enumerate(lines) if (one := _ASSIGNED.match(line)) and _pairs(one)]
        mentions = Counter(words_of("\n".join(lines)))
        targets = [name for _, one in found for name in re.findall(r"\w+", one[2])]
        mentions.subtract(targets)
        dead = {name for name in targets if not mentions[name]}
        if not dead:
            return lines
        for at, one in reversed(found):
            _remove_targets(lines, at, one, dead)


def _remove_targets(lines: list[str], at: int, assignment: re.Match[str], dead: set[str]) -> None:
    """Remove the `dead` variables from the assignment at line `at`, and the line if none is left.

    The groups of `_ASSIGNED`: indentation, variables with their `=`, value.
    """
    indentation, variables, value = assignment[1], assignment[2], assignment[3]
    if variables.endswith("+= ") and not dead.issuperset(re.findall(r"\w+", variables)):
        return
    # The targets of `a = b = value` that are still read.
    left = "".join(f"{into} = " for into in variables.split(" = ")[:-1] if not dead.issuperset(into.split(", ")))
    if not left:
        lines[at : at + 1] = [f"{indentation}pass"] if _is_alone(lines, at) else []
    elif ", " in left and not dead.isdisjoint(left[:-3].split(", ")):
        # `a, b = x, y`: keep the pairs whose variable is read.
        pairs = zip(left[:-3].split(", "), value.split(", "), strict=True)
        kept = [pair for pair in pairs if pair[0] not in dead]
        lines[at] = indentation + " = ".join(map(", ".join, zip(*kept, strict=True)))
    else:
        lines[at] = f"{indentation}{left}{value}"


def _pairs(one: re.Match[str]) -> bool:
    """Return whether an assignment has a value for each variable."""
    many = one[3].count(", ")
    return one[2].count(", ") == many and (many == 0 or one[2].count(" = ") == 1)


def _is_alone(lines: list[str], at: int) -> bool:
    """Return whether a line is the only one of its block."""
    after = lines[at + 1] if at + 1 < len(lines) else ""
    return lines[at - 1].endswith(":") and _depth(after) < _depth(lines[at])


def _depth(line: str) -> int:
    """Return the spaces before a line."""
    return len(line) - len(line.lstrip(" "))


def safe(id: str) -> str:
    """Return a name as Python accepts it for an attribute: keywords get an underscore."""
    return f"{id}_" if keyword.iskeyword(id) else id


def member(name: str) -> str:
    """Return the name of a value of an enum as a member of its class: `class` becomes `class_`."""
    return f"{name}_" if keyword.iskeyword(name) or name == "mro" else name


def class_names(types: list[Type]) -> list[str]:
    """Return the names of the classes of some types, each once, sorted."""
    return sorted({one.class_name for one in types})


def columned(field: Field) -> Type | None:
    """Return the type of a repeated field that is always read as columns (`-columns`); None for any other."""
    kind = field.value_kind
    return kind.type if field.repeat and isinstance(kind, Structure) and kind.type.raw.get("-columns") else None


def tabled(field: Field) -> Type | None:
    """Return the type of a repeated field that can be read as columns (`-columns` or `-tabled`); None for any other."""
    kind = field.value_kind
    if not field.repeat or not isinstance(kind, Structure):
        return None
    return kind.type if not {"-columns", "-tabled"}.isdisjoint(kind.type.raw) else None


def _class_name(type: Type) -> str:
    """Return the name of the class of a type."""
    return type.class_name


def annotation(kind: Kind, name_of: Callable[[Type], str] = _class_name) -> str:
    """Return a kind as a type annotation, such as `list[Entry]`, in which `name_of` names the classes."""
    if isinstance(kind, Integer):
        return "int"
    if isinstance(kind, Bits):
        return "bool" if kind.width == 1 and kind.enum is None else "int"
    if isinstance(kind, SimpleKind):
        return {"float": "float", "bool": "bool", "text": "str", "bytes": "View"}.get(kind.kind, "object")
    if isinstance(kind, Structure) and kind.type.opaque:
        return "object"
    if isinstance(kind, Structure):
        return annotation(kind.type.field(kind.type.scalar).kind) if kind.type.scalar else name_of(kind.type)
    if isinstance(kind, Sequence):
        kind = Sequence(number_of(kind.of))
        if isinstance(kind.of, (Integer, SimpleKind)) and kind.of.size:
            return "View" if kind.of == Integer(size=1) else f"memoryview[{annotation(kind.of)}]"
        if isinstance(kind.of, Structure) and kind.of.type.raw.get("-columns"):
            return f"{name_of(kind.of.type)}Columns"
        return f"list[{annotation(kind.of, name_of)}]"
    names = {annotation(one, name_of) for one in kind.kinds} | ({"None"} if kind.default is None else set())
    return " | ".join(sorted(names))


CLASSES = {
    "integer": "int",
    "enum": "int",
    "bool": "int",
    "float": "(float, int)",
    "text": "str",
    "bytes": "(bytes, memoryview)",
    "stream": "Stream",
}
"""Python classes of the values of a family of kinds, as code for `isinstance`."""

OWN_NAMES = frozenset(("close", "from_bytes", "from_file", "from_io"))
"""Attributes of every structure that are not fields (`Structure` in `exhume.compiler.emit.layout.structures`)."""


def literal(value: object) -> str:
    """Return a constant as Python; numbers above 99 in hexadecimal."""
    return hex(value) if isinstance(value, int) and not isinstance(value, bool) and value > 99 else repr(value)


ATOM = 20
BINDS = {"or": 2, "and": 3, "not": 4, **dict.fromkeys(("<", "<=", ">", ">=", "==", "!="), 5)}
BINDS |= {"|": 6, "^": 7, "&": 8, "<<": 9, ">>": 9, "+": 10, "-": 10, "*": 11, "/": 11, "%": 11, "~": 12}
"""Precedence of Python's operators: the higher, the tighter they bind.  `ATOM` is that of names and literals."""


def negated(condition: str) -> str:
    """Return the opposite of a condition (Python code)."""
    if re.fullmatch(r"[^()]+ <= [^()<>=]+", condition) and not re.search(r" (and|or|if) ", condition):
        return condition.replace(" <= ", " > ")
    return f"not {condition}" if condition.isidentifier() else f"not ({condition})"


def bound(text: str, binds: int, level: int) -> str:
    """Return code in parentheses if its precedence, `binds`, is below the `level` that the code around it needs."""
    return f"({text})" if binds < level else text


def one_of(expr: ex.Binary) -> tuple[ex.Expr, list[ex.Expr]] | None:
    """Return the value and the constants that it is compared with, for `x == 1 or x == 2` (or `x != 1 and x != 2`).

    None for any other expression.
    """
    compare = "==" if expr.op == "or" else "!="
    # Flatten the tree of `or`; a loop, because it may be deeper than Python's stack.
    parts, waiting = [], [expr.right, expr.left]
    while waiting:
        one = waiting.pop()
        if isinstance(one, ex.Binary) and one.op == expr.op:
            waiting += [one.right, one.left]
        else:
            parts.append(one)
    values = {part.left for part in parts if isinstance(part, ex.Binary) and part.op == compare}
    constants = [part.right for part in parts if isinstance(part, ex.Binary)]
    simple = all(isinstance(part, ex.Binary) and part.op == compare for part in parts)
    known = all(isinstance(one, (ex.Literal, ex.EnumValue)) for one in constants)
    return (values.pop(), constants) if simple and known and len(values) == 1 else None


def strength(expr: ex.Expr) -> int:
    """Return the least precedence that the code of an expression may have (see `BINDS`)."""
    if isinstance(expr, ex.Choice):
        return 1
    if isinstance(expr, (ex.Literal, ex.EnumValue, ex.Index, ex.Array)):
        return ATOM
    # All others count as the weakest, `or`: a needless pair of parentheses does no harm.
    return BINDS[expr.op] if isinstance(expr, (ex.Binary, ex.Unary)) and expr.op != "-" else 2


def members(values: list[int]) -> str:
    """Return the numbers of an enum, in ascending order, as code for the right side of `in`."""
    if len(values) > 2 and values[-1] - values[0] + 1 == len(values):
        return f"range({values[0]}, {values[-1] + 1})"
    return f"({', '.join(map(str, values))},)"


def written_doc(text: str) -> list[str]:
    """Return a string as the lines of a doc string, indented by one level.

    It is cut at `refusal.DOC` characters and wrapped, and then escaped, so that no escape is torn apart.
    """
    lines: list[str] = []
    for number, part in enumerate(text[: refusal.DOC].strip().split("\n\n")):
        # With indentation and quotation marks, 112 characters are less than a line of 120.
        lines += ([""] if number else []) + textwrap.wrap(" ".join(part.split()), 112)
    if not lines:
        return []
    lines = [_escaped(line) for line in lines]
    if lines[-1].endswith('"'):
        lines[-1] += " "
    if len(lines) == 1:
        return [f'    """{lines[0]}"""']
    return [f'    """{lines[0]}', *(f"    {line}" if line else "" for line in lines[1:]), '    """']


def _escaped(line: str) -> str:
    """Return a line as it is written between three quotation marks: nothing in it ends them or is an escape."""
    line = line.replace("\\", "\\\\").replace('"""', "'''")
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in line)
