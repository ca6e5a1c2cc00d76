"""What a value is in compiled code: one of the machine's numbers of a known width, or an object."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class MachineWord:
    """A signed number of the machine, of whose 64 bits at most this many say how far it is from 0."""

    bits: int


@dataclass(frozen=True)
class ReaderObject:
    """An object of one class of readers, by the module and the name of the class."""

    module: str
    name: str


OBJECT, TRUTH, UNSIGNED, FLOAT = "object", "truth", "unsigned", "float"
STREAM, RUN, LIST, COLUMN = "stream", "run", "list", "column"
Kind = MachineWord | ReaderObject | str

MOST = 62
"""Bits of a number that is still reckoned with in the machine's words."""
PLACE = 58
"""Bits of a place in the data."""
PLACES = frozenset(("at", "end", "stop", "begin", "before", "base", "start", "first", "resume", "turn"))
"""Variables of readers that are places in the data, sizes, or counts."""
BITS = 61
"""Bits of a place in the data that is counted in bits."""

LOADS: dict[str, tuple[int, Kind]] = {
    "B": (1, MachineWord(8)),
    "b": (1, MachineWord(8)),
    "H": (2, MachineWord(16)),
    "h": (2, MachineWord(16)),
    "I": (4, MachineWord(32)),
    "i": (4, MachineWord(32)),
    "Q": (8, UNSIGNED),
    "q": (8, MachineWord(63)),
    "f": (4, FLOAT),
    "d": (8, FLOAT),
    "s": (1, OBJECT),
}
"""Size of a format letter in bytes, and the kind of its value."""
AROUND = ("at", "end", "io", "parent", "root", "big", "run")
"""Parameters of every compiled reader, after the bytes."""
WIDTHS = {"B": 1, "b": 1, "H": 2, "h": 2, "I": 4, "i": 4, "Q": 8, "q": 8, "f": 4, "d": 8}

DECLARED = {
    OBJECT: "object",
    TRUTH: "bint",
    UNSIGNED: "uint64_t",
    FLOAT: "double",
    STREAM: "Stream",
    RUN: "Run",
    LIST: "list",
    COLUMN: "Column",
}
START = {
    OBJECT: "None",
    TRUTH: "False",
    UNSIGNED: "0",
    FLOAT: "0",
    STREAM: "None",
    RUN: "None",
    LIST: "None",
    COLUMN: "None",
}


def declared(kind: Kind) -> str:
    """The type of a variable."""
    if isinstance(kind, MachineWord):
        return "int64_t"
    return DECLARED[kind] if isinstance(kind, str) else "object"


def start(kind: Kind) -> str:
    """What a variable is before anything is put into it."""
    if isinstance(kind, MachineWord):
        return "0"
    return START[kind] if isinstance(kind, str) else "None"


def joined(one: Kind | None, other: Kind | None) -> Kind | None:
    """The kind of a variable that is given values of two."""
    if one is None or other is None or one == other:
        return one if other is None else other
    if isinstance(one, MachineWord) and isinstance(other, MachineWord):
        return MachineWord(max(one.bits, other.bits))
    return OBJECT


@dataclass
class Table:
    """What compiled code takes from the interpreted readers, by number."""

    values: list[tuple[object, ...]] = field(default_factory=list)
    slots: list[tuple[str, str, str]] = field(default_factory=list)
    words: dict[tuple[str, str, str], int | None] = field(default_factory=dict)
    """Bits of the numbers that readers put into fields, by class and field; None for fields of anything else."""
    sites: int = 0
    """Places that ask an object of an unknown class for a field, each of which remembers the last class."""
    _numbers: dict[object, int] = field(default_factory=dict)
    _slots: dict[tuple[str, str, str], int] = field(default_factory=dict)

    def _value(self, *one: object) -> str:
        """Return code for a Python object of the table of constants, which contains equal ones once."""
        key = (*one, type(one[-1]).__name__, repr(one[-1]))
        if key not in self._numbers:
            self._numbers[key] = len(self.values)
            self.values.append(one)
        return f"(<object> K[{self._numbers[key]}])"

    def constant(self, value: object) -> str:
        """A constant."""
        return self._value("constant", value)

    def shared(self, name: str) -> str:
        """Something of the module that all readers share."""
        return self._value("shared", name)

    def of(self, module: str, name: str) -> str:
        """A class, or a function, of the interpreted readers."""
        return self._value("of", module, name)

    def given(self, name: str) -> str:
        """A table of the caller's objects."""
        return self._value("given", name)

    def enum(self, module: str, path: str) -> str:
        """The members of an enum by their numbers."""
        return self._value("enum", module, path)

    def site(self) -> str:
        """What one more place remembers of the class of objects."""
        self.sites += 1
        return f"&S[{self.sites - 1}]"

    def put(self, owner: ReaderObject, name: str, kind: Kind) -> None:
        """Note what a reader puts into a field."""
        key, bits = (owner.module, owner.name, name), kind.bits if isinstance(kind, MachineWord) else MOST + 1
        known = self.words.get(key, 0)
        self.words[key] = None if known is None or bits > MOST else max(known, bits)

    def slot(self, owner: ReaderObject, name: str) -> str:
        """Where an object of a class has a field."""
        key = (owner.module, owner.name, name)
        if key not in self._slots:
            self._slots[key] = len(self.slots)
            self.slots.append(key)
        return f"O[{self._slots[key]}]"
