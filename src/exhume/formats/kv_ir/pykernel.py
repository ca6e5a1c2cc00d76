"""Pure-Python implementation of the KV-IR part of `exhume.native._kernel` (`native.pxi`, `columns.pxi`, `scan.pxi`).

Import `exhume.formats.kv_ir.kernel`, which picks one of the two; the tests in `tests/kv_ir` run against each.

A unit is an event or a declaration of a key.  Keys are the nodes of two trees, auto (of the logger) and user, numbered
from the root, 0.  A leaf is a key of an event and its value.  An encoded string is a log type (text with marks in place
of its variables) and the variables.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from exhume.formats.clp_s.layout import NodeType
from exhume.formats.clp_s.write import encoder
from exhume.formats.clp_s.write.status import Status as Refusal
from exhume.formats.kv_ir.layout import (
    INTEGERS,
    KEYS,
    LOG_TYPES,
    NODES,
    PARENTS,
    TEXTS,
    VARIABLE_TEXTS,
    Tags,
    Variable,
    join_text,
)
from exhume.formats.kv_ir.pytokens import APART, Columns, PrintArray, StopError, Taken, token
from exhume.formats.kv_ir.pytokens import scan_units as scan_units
from exhume.formats.kv_ir.units import AUTO, MAX_DEPTH, USER, EventForm, Status, array_value

Known = tuple[int, str, int]
"""A key: `(number of its parent, name, type)`; the type is a tag."""

Leaf = tuple[int, Any]
"""`(node, value)`; the value is an `int`, `float`, `bool`, `str`, `None`, `dict` (empty) or `_SplitText`."""

# The types of the values of a key, by its own type; strings and arrays are checked apart.
_KINDS: dict[int, tuple[type, ...]] = {
    Tags.NODE_INTEGER: (int,),
    Tags.NODE_REAL: (float,),
    Tags.NODE_BOOLEAN: (bool,),
    Tags.NODE_OBJECT: (dict, type(None)),
}


PrintEvent = Callable[[tuple[dict[str, Any], dict[str, Any]]], bytes]
"""Returns the bytes of the text log that an event, given as `(auto, user)`, was made of."""

AS_OBJECTS = EventForm.OBJECTS | EventForm.LOG
"""Forms for which arrays become lists; in lines of JSON, they keep their text."""


class _SplitText:
    """An encoded string; `wide`: its variables have eight bytes, not four."""

    __slots__ = ("log_type", "variables", "wide")

    def __init__(self, log_type: bytes, variables: list[Variable], wide: bool) -> None:
        self.log_type, self.variables, self.wide = log_type, variables, wide


class _Array(str):
    """The text of an array, to tell it from other strings."""

    __slots__ = ()


class _Node:
    """A declared key; `offset` is that of its declaration in the stream, `depth` its number of ancestors."""

    __slots__ = ("depth", "name", "offset", "parent", "raw", "type")

    def __init__(self, parent: int, type: int, raw: bytes, depth: int, offset: int) -> None:
        self.parent, self.type, self.raw, self.depth, self.offset = parent, type, raw, depth, offset
        self.name = raw.decode("utf-8", "surrogateescape")


class _Tree:
    """One of the two trees of keys."""

    def __init__(self) -> None:
        self.nodes: list[_Node] = [_Node(-1, Tags.NODE_OBJECT, b"", 0, 0)]  # by number; the first is the root
        self.known: set[tuple[int, int, bytes]] = set()  # (parent, type, name) of each

    def insert(self, parent: int, type: int, name: bytes, offset: int) -> Status | None:
        """Add a node and return None, or return the status that forbids it."""
        if not 0 <= parent < len(self.nodes) or self.nodes[parent].type != Tags.NODE_OBJECT:
            return Status.PARENT
        if (parent, type, name) in self.known:
            return Status.TWICE_KNOWN
        depth = self.nodes[parent].depth + 1
        if depth > MAX_DEPTH:
            return Status.DEPTH
        self.known.add((parent, type, name))
        self.nodes.append(_Node(parent, type, name, depth, offset))
        return None

    def path(self, node: int) -> list[int]:
        """The nodes from below the root to this one."""
        out = []
        while node:
            out.append(node)
            node = self.nodes[node].parent
        return out[::-1]


class KvIrDecoder:
    """Decodes the units of a stream: declarations of keys, and events.

    Attributes:
        events: How many events were decoded.
        utc_offset: The latest offset from UTC in milliseconds; it was set `utc_changes` times so far.
        encodings: 1 if any text had variables of four bytes, plus 2 if any had variables of eight.
        event: The last event as `(auto, user)`, if objects were requested; it begins at `start`.
        start: Offset in the stream of the event `event`.
        stopped: What `run` would have returned at the point where `each` stopped.
        refused: Why the encoder rejected an event (a status of `clp_s.write.status`).
        hold: Whether to stop at the declaration of a key.
        print_event: Makes the bytes of the log of an event that is not just timestamp and message; its exceptions
            are propagated.
    """

    auto: _Tree
    user: _Tree
    events: int
    utc_offset: int | Any
    utc_changes: int
    encodings: int

    def __init__(self) -> None:
        """Start without keys or events."""
        self.auto, self.user = _Tree(), _Tree()
        self.events = self.utc_offset = self.utc_changes = self.encodings = 0
        self.event: tuple[dict[str, Any], dict[str, Any]] | None = None
        self.start: int = 0
        self.stopped: tuple[int, int, int, int] = (int(Status.MORE), 0, 0, -1)
        self.hold = False
        self.print_event: PrintEvent | None = None
        self.refused: int = 0
        self._encoder: Any = None
        self._exact = False
        self._columns: Columns | None = None
        self._lines: list[bytes] = []  # output that was not taken
        self._size = 0  # bytes of it

    def take(self) -> bytes:
        """The lines that were made since the last call."""
        found = b"".join(self._lines)
        self._lines, self._size = [], 0
        return found

    def nodes(self, auto: bool) -> list[tuple[int, int, bytes, int]]:
        """`(parent, type, name, offset in the stream)` of every node of a tree but the root; the type is a tag."""
        return [(one.parent, one.type, one.raw, one.offset) for one in (self.auto if auto else self.user).nodes[1:]]

    def encode_into(self, encoder: Any, exact: bool) -> None:
        """Set the archive (an `Encoder` of clp-s) to which `run` adds the events that it has to encode.

        `exact`: floats keep their digits, if the encoder retains them, and pairs their order, unlike in `clp-s`.
        """
        self._encoder, self._exact = encoder, exact

    def choose_columns(self, kinds: bytes, auto: bytes, user: bytes, print_array: PrintArray) -> None:
        """Set the columns that `run` fills with `EventForm.COLUMNS`; earlier columns are dropped.

        `kinds` has a letter for each column, as listed in `pytokens`.  `auto` and `user` are arrays of int32: by node
        of the tree, the root first, the number of its column; -1 for none, as for nodes past the end of the array.
        `print_array`: see `pytokens.PrintArray`.  Raises `ValueError` for invalid arguments.
        """
        self._columns = Columns(kinds, auto, user, print_array)

    def take_columns(self) -> Taken:
        """The rows since the last call, as `pytokens.Taken`.  Raises `ValueError` if no columns were chosen."""
        if self._columns is None:
            raise ValueError("no columns are chosen")
        return self._columns.take()

    def run(self, data: bytes, at: int, end: int, base: int, how: int, target: int) -> tuple[int, int, int, int]:
        """Decode the units of `data[at:end]`; `data` starts `base` bytes into the stream.

        `how` is an `EventForm`.  Stops when the output (lines, columns, archive) has `target` bytes; in forms without
        output, when `events` has reached `target`; and after each event if objects are requested.

        Returns `(status, unit, place, after)`: a `Status`, and offsets in `data`: of the next unit (the faulty one, or
        the one after the last), of the token with the fault, and of the end of the faulty unit, -1 if unknown.

        Raises `ValueError` for a range outside of `data`, and without columns.
        """
        if not 0 <= at <= end <= len(data):
            raise ValueError("outside of the data")
        if how & EventForm.COLUMNS and self._columns is None:
            raise ValueError("no columns are chosen")
        while at < end:
            try:
                status, after = self._unit(data, at, end, base, how, target)
            except StopError as stop:
                return stop.status, at, stop.at, stop.after
            at = after
            if status is not None:
                return status, at, at, at
        return Status.MORE, at, at, -1

    def each(self, data: bytes, at: int, end: int, base: int) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """The events of `data[at:end]` one by one, as `(auto, user)`.  Raises `ValueError` as `run` does."""
        while True:
            self.stopped = self.run(data, at, end, base, EventForm.OBJECTS | EventForm.BOTH, 0)
            status, after, *_ = self.stopped
            if status != Status.FULL:
                return
            assert self.event is not None
            yield self.event
            at = after

    def _unit(self, data: bytes, at: int, end: int, base: int, how: int, target: int) -> tuple[Status | None, int]:
        """Decode the unit at `at`; return why decoding stops after it (None: it continues), and the next offset.

        The arguments are those of `run`.
        """
        tag, number, after = token(data, at, end)
        # An event: check it, add it to the output, and stop if there is enough of that.
        if tag in KEYS or tag == Tags.EMPTY_OBJECT:
            leaves, after = self._event(data, at, end)
            for tree, some in zip((self.auto, self.user), leaves, strict=True):
                fault = _check(tree, some)
                if fault is not None:
                    raise StopError(fault, at, after)
            fault = self._give(leaves, how)
            if fault is not None:
                raise StopError(fault, at, after)
            self.events += 1
            if how & EventForm.OBJECTS:
                self.start = base + at
                return Status.FULL, after
            if how & EventForm.ENCODE:
                return (Status.FULL if self._encoder.is_full(target) else None), after
            if how & EventForm.COLUMNS:
                assert self._columns is not None
                return (Status.FULL if self._columns.size >= target else None), after
            return (Status.FULL if (self._size if how else self.events) >= target else None), after
        # The declaration of a key.
        if tag in NODES:
            if self.hold:
                raise StopError(Status.HELD, at)
            return None, self._node(data, at, end, base)
        if tag == Tags.UTC_OFFSET_CHANGE:
            self.utc_offset, self.utc_changes = number, self.utc_changes + 1
            return None, after
        if tag == Tags.END_OF_STREAM:
            return Status.END, after
        raise StopError(Status.UNEXPECTED, at)

    def _node(self, data: bytes, start: int, end: int, base: int) -> int:
        """Add the declared key to its tree and return the offset after it; `base` is the stream offset of `data`."""
        type, _, at = token(data, start, end)
        tag, parent, after = token(data, at, end)
        if tag not in PARENTS:
            raise StopError(Status.UNEXPECTED, at)
        tag, name, last = token(data, after, end)
        if tag not in TEXTS:
            raise StopError(Status.UNEXPECTED, after)
        tree, number = (self.auto, -1 - parent) if parent < 0 else (self.user, parent)
        fault = tree.insert(number, type, name, base + start)
        if fault is not None:
            raise StopError(fault, start, last)
        return last

    def _event(self, data: bytes, at: int, end: int) -> tuple[tuple[list[Leaf], list[Leaf]], int]:
        """Return the leaves of an event, `(auto, user)`, and the offset after it.

        In the bytes, each key of the logger (negative) is followed by its value; then come the user's keys, and then
        the values of these.
        """
        auto: list[Leaf] = []
        keys: list[int] = []  # of the user
        tag, key, after = token(data, at, end)
        while tag in KEYS:
            if key >= 0:
                keys.append(key)
            elif keys:
                raise StopError(Status.ORDER, at)
            else:
                value, after = self._value(data, after, end)
                auto.append((-1 - key, value))
            at = after
            tag, key, after = token(data, at, end)
        if not keys:
            if tag != Tags.EMPTY_OBJECT:
                raise StopError(Status.UNEXPECTED, at)
            return (auto, []), after
        user: list[Leaf] = []
        for node in keys:
            value, at = self._value(data, at, end)
            user.append((node, value))
        return (auto, user), at

    def _value(self, data: bytes, at: int, end: int) -> tuple[Any, int]:
        """Return the value at `at` and the offset after it.  Raises `StopError` for a token that is not a value."""
        tag, value, after = token(data, at, end)
        if tag in INTEGERS or tag == Tags.REAL:
            return value, after
        if tag in TEXTS:
            return value.decode("utf-8", "surrogateescape"), after
        if tag in APART:
            return self._apart(data, after, end, wide=tag == Tags.EIGHT_BYTE_ENCODING)
        if tag in (Tags.TRUE_VALUE, Tags.FALSE_VALUE):
            return tag == Tags.TRUE_VALUE, after
        if tag == Tags.NULL_VALUE:
            return None, after
        if tag == Tags.EMPTY_OBJECT:
            return {}, after
        raise StopError(Status.UNEXPECTED, at)

    def _apart(self, data: bytes, at: int, end: int, *, wide: bool) -> tuple[_SplitText, int]:
        """Return an encoded string, split into log type and variables, and the offset after it."""
        self.encodings |= 2 if wide else 1
        number = Tags.VARIABLE_8 if wide else Tags.VARIABLE_4
        variables: list[Variable] = []
        while True:
            tag, value, after = token(data, at, end)
            if tag == number or tag in VARIABLE_TEXTS:
                variables.append(value)
            elif tag in LOG_TYPES:
                return _SplitText(value, variables, wide), after
            else:
                raise StopError(Status.UNEXPECTED, at)
            at = after

    def _encode(self, leaves: Sequence[list[Leaf]]) -> Status | None:
        """Add an event to the clp-s archive; return the fault, or None.  `refused` then has the encoder's reason.

        `leaves`: those of the logger, and those of the user.
        """
        found: list[Any] = []
        for tree, some, root in zip((self.auto, self.user), leaves, (b"@", b""), strict=True):
            nodes = [node for node, _ in some]
            # The order of columns in the archive: that of the event, or the one in which clp-s would encode it.
            places = range(len(some)) if self._exact else order_of(nodes, reserved=tree is self.user)
            for at in places:
                node, value = some[at]
                if isinstance(value, _SplitText):
                    text = join_text(value.log_type, value.variables, wide=value.wide)
                    if text is None:
                        return Status.LOG_TYPE
                    is_array = tree.nodes[node].type == Tags.NODE_ARRAY
                    if is_array and _array(text.decode("utf-8", "surrogateescape")) is None:
                        return Status.ARRAY
                    value = text
                keys = (root, *(tree.nodes[one].raw for one in tree.path(node)))
                found.append(self._leaf(keys, tree.nodes[node].type, value))
        fault = self._encoder.add_leaves(found)
        if fault is None:
            return None
        self.refused = int(fault)
        return Status.NO_ROOM if fault == Refusal.FULL else Status.RECORD

    def _leaf(self, keys: tuple[bytes, ...], type: int, value: Any) -> Any:
        """Return one leaf for the encoder: the keys of its path, its clp-s node type, and its stored value."""
        if type == Tags.NODE_TEXT:
            if isinstance(value, str):
                return encoder.LeafValue(keys, NodeType.VAR_STRING, value.encode("utf-8", "surrogateescape"))
            return encoder.LeafValue(keys, NodeType.CLP_STRING, value)
        if type == Tags.NODE_ARRAY:
            return encoder.LeafValue(keys, NodeType.UNSTRUCTURED_ARRAY, value)
        if type == Tags.NODE_REAL:
            text = _line(value) if self._exact else f"{value:.9f}"  # clp-s keeps nine digits after the point
            return encoder.LeafValue(keys, NodeType.FLOAT, text.encode(), encoder.double_bits(value), self._exact)
        if type == Tags.NODE_OBJECT:
            return encoder.LeafValue(keys, NodeType.NULL_VALUE if value is None else NodeType.OBJECT)
        node_type = NodeType.BOOLEAN if type == Tags.NODE_BOOLEAN else NodeType.INTEGER
        return encoder.LeafValue(keys, node_type, b"%d" % value, int(value))

    def _fill(self, leaves: Sequence[list[Leaf]]) -> Status | None:
        """Add an event as a row of the columns; return the fault, or None.

        A value that no column takes (None) is decoded too: its faults count.
        """
        assert self._columns is not None
        row = self._columns.row()
        for tree, some, space in zip((self.auto, self.user), leaves, (0, 1), strict=True):  # as `columns` numbers them
            for node, value in some:
                column = row.column(space, node)
                if isinstance(value, _SplitText):
                    joined = join_text(value.log_type, value.variables, wide=value.wide)
                    if joined is None:
                        return Status.LOG_TYPE
                    value = joined.decode("utf-8", "surrogateescape")
                    if tree.nodes[node].type == Tags.NODE_ARRAY and (value := _array(value)) is None:
                        return Status.ARRAY
                if column is not None and (fault := row.add(column, value)) is not None:
                    return fault
        row.commit()
        return None

    def _give(self, leaves: Sequence[list[Leaf]], how: int) -> Status | None:  # noqa: C901 - in the kernel's order
        """Add an event to the output in the form `how` (0: only check its values); return the fault found, or None.

        Strings are decoded only for pairs that are wanted, and all of them when values are checked.
        """
        if how & EventForm.ENCODE:
            return self._encode(leaves)
        if how & EventForm.COLUMNS:
            return self._fill(leaves)
        if how & EventForm.KEYS:
            return None  # no output: the caller wants the keys only, which were collected from their declarations
        check_only = not how
        found: list[dict[str, Any]] = []
        # Decode the values, and put those that are wanted into nested objects.
        for tree, some, bit in zip((self.auto, self.user), leaves, (EventForm.AUTO, EventForm.USER), strict=True):
            wanted = bool(how & (bit | EventForm.LOG))  # LOG takes the pairs of both trees
            root: dict[str, Any] = {}
            for node, value in some:
                if check_only and isinstance(value, str) and not _is_text(value):
                    return Status.UTF8
                if isinstance(value, _SplitText) and (wanted or check_only):
                    text = join_text(value.log_type, value.variables, wide=value.wide)
                    if text is None:
                        return Status.LOG_TYPE
                    value = text.decode("utf-8", "surrogateescape")
                    if check_only and not _is_text(value):
                        return Status.UTF8
                    if tree.nodes[node].type == Tags.NODE_ARRAY:
                        value = _Array(value)
                        if _array(value) is None:
                            return Status.ARRAY
                if wanted:
                    into = root  # the object that the value is a member of; missing ones on the path are made
                    for above in tree.path(tree.nodes[node].parent):
                        into = into.setdefault(tree.nodes[above].name, {})
                    into[tree.nodes[node].name] = _array(value) if how & AS_OBJECTS and type(value) is _Array else value
            found.append(root)
        if not check_only:
            auto, user = found
            self._put(auto, user, how)
        return None

    def _put(self, auto: dict[str, Any], user: dict[str, Any], how: int) -> None:
        """Add the pairs of an event to the output: as objects, as bytes of its log, or as a line of JSON."""
        if how & EventForm.OBJECTS:
            self.event = auto, user
            return
        if how & EventForm.LOG:
            assert self.print_event is not None
            raw = self.print_event((auto, user))
        else:
            match EventForm(how):
                case EventForm.AUTO:
                    line = _line(auto)
                case EventForm.USER:
                    line = _line(user)
                case _:
                    line = f'{{"{AUTO}":{_line(auto)},"{USER}":{_line(user)}}}'
            raw = f"{line}\n".encode("utf-8", "surrogateescape")
        self._lines.append(raw)
        self._size += len(raw)


class KvIrEncoder:
    """Encodes lines of JSON as units; here it takes none, and leaves all of them to `writer.KvIrWriter.write`.

    Args:
        auto: Numbers of the logger's declared keys, by (parent number, name, type tag).  New keys are added.
        user: Those of the user.
        names: The members of a line with the pairs of the logger and of the user; None: a line has the user's pairs.

    Attributes:
        events: How many events were encoded.
    """

    def __init__(self, auto: dict[Known, int], user: dict[Known, int], names: tuple[bytes, bytes] | None) -> None:
        self.events = 0

    def feed(self, data: bytes, start: int) -> int:
        """Encode whole lines of `data` from `start` on; return the offset of the first line that was not encoded."""
        return start

    def feed_log(self, log: object, data: bytes, final: bool) -> int:
        """Encode the complete events of a plain-text log, which `log` (a compiled `TextLog`) finds.

        All are complete if `final`.  Returns the offset of the first event that was not encoded: here always 0, so that
        the caller encodes them one by one.
        """
        return 0

    def take(self) -> bytes:
        """The units that were made since the last call."""
        return b""


def _check(tree: _Tree, leaves: list[Leaf]) -> Status | None:
    """Check that all keys are declared, values have the types of their keys, and no object has a name twice.

    Returns the first fault, or None.
    """
    # By (parent, name), which keys of different types can share: the node that has it in this event, and whether the
    # node has a value (True) or is an object with members (False).
    used: dict[tuple[int, bytes], tuple[int, bool]] = {}
    for node, value in leaves:
        if not 0 < node < len(tree.nodes):
            return Status.KEY
        one = tree.nodes[node]
        if one.type == Tags.NODE_TEXT:
            fits = isinstance(value, (str, _SplitText))
        elif one.type == Tags.NODE_ARRAY:
            fits = isinstance(value, _SplitText)
        else:
            fits = type(value) in _KINDS[one.type]
        if not fits:
            return Status.TYPE
        name = (one.parent, one.raw)
        # Used already: by the same key as an object with members (then this is null or empty), or by a second value.
        if name in used:
            return Status.NESTED if used[name] == (node, False) else Status.TWICE
        used[name] = (node, True)
        # The objects around the value, the innermost first, up to one that another value has entered already.
        for above in reversed(tree.path(one.parent)):
            name = (tree.nodes[above].parent, tree.nodes[above].raw)
            if name in used:
                other, has_value = used[name]
                if other != above:
                    return Status.TWICE
                if has_value:
                    return Status.NESTED
                break
            used[name] = (above, False)
    return None


def order_of(nodes: list[int], *, reserved: bool) -> list[int]:
    """The positions of the `nodes` in the order in which clp-s encodes their values: that of its hash table.

    Buckets are ordered with the newest first, and so are the values in a bucket; a larger table is filled from a
    smaller one in that order.  Values of the user go into one that is large enough from the start (`reserved`).
    """
    size = _buckets(len(nodes)) if reserved else _buckets(12)  # the size with which clp-s creates a table
    done: list[int] = []  # positions in the table so far, in its order
    while True:
        filled = len(nodes) if reserved else min(len(nodes), size)  # how many values fit
        table: dict[int, list[int]] = {}
        for at in (*done, *range(len(done), filled)):
            table.setdefault(nodes[at] % size, []).insert(0, at)
        done = [at for bucket in reversed(table.values()) for at in bucket]
        if filled == len(nodes):
            return done
        size = _buckets(2 * size)


def _buckets(wanted: int) -> int:
    """The number of buckets of a hash table for that many values."""
    return next((prime for prime in PRIMES if prime >= wanted), wanted)


PRIMES = (
    2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 103, 109, 113, 127,
    137, 139, 149, 157, 167, 179, 193, 199, 211, 227, 241, 257, 277, 293, 313, 337, 359, 383, 409, 439, 467, 503, 541,
    577, 619, 661, 709, 761, 823, 887, 953, 1031, 1109, 1193, 1289, 1381, 1493, 1613, 1741, 1879, 2029, 2179, 2357,
    2549, 2753, 2971, 3209, 3469, 3739, 4027, 4349, 4703, 5087, 5503, 5953, 6427, 6949, 7517, 8123, 8783, 9497, 10273,
    11113, 12011, 12983, 14033, 15173, 16411, 17749, 19183, 20753, 22447, 24281, 26267, 28411, 30727, 33223, 35933,
    38873, 42043, 45481, 49201, 53201, 57557, 62233, 67307, 72817, 78779, 85229, 92203, 99733, 107897, 116731, 126271,
)  # fmt: skip
"""The possible numbers of buckets of such a table; larger ones are not needed for events."""


def _is_text(text: str) -> bool:
    """Whether the bytes that `text` was decoded from (with `surrogateescape`) are UTF-8."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _array(text: str) -> Any:
    """The value of the JSON text of an array; None when the text is not an array, or has line breaks.

    Serializers never write line breaks, and an array is printed as it is within a line of JSON.
    """
    if not text.startswith("[") or "\n" in text or "\r" in text:
        return None
    try:
        return array_value(text)
    except (ValueError, RecursionError):
        return None


def _line(value: Any) -> str:
    """A value as JSON; arrays keep the text in which they were written."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key, ensure_ascii=False)}:{_line(one)}" for key, one in value.items()) + "}"
    if type(value) is _Array:
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return json.dumps(value, ensure_ascii=False)
