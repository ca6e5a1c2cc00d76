"""The pure-Python encoder of JSON records, used without the compiled kernel.

A record is a JSON object, given as tokens (`jsonscan`).  Each of its values has a node in the schema tree: a key below
that of the object around it, and a type.  A schema is the list of nodes of a record: ordered ones (sorted by id), and
unordered ones, which are those inside structured arrays, in the order of the elements; a marker states how many nodes
of an array or of an object in one follow.  A table has the columns of all records with one schema.  A leaf is a value
that has no members.

The options: `core`: strings are in the dialect of format 0.4.0 on; `structurize`: arrays are opened up into columns,
else each is stored as its text; `retain_floats`: floats keep their spelling, by a format word of 16 bits that states
sign, exponent and digits, or in a dictionary if no word can state it; `time_nodes`: values of the timestamp key
are stored as from 0.5.0 on, numbers included (before, numbers are stored as they are, and only counted in the range of
times); `lossy`: values that do not come back the same are accepted.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from exhume.formats.clp_s.layout import COLUMN_TYPES, MAX_NODE_ID, ROOT, NodeType, pack_marker
from exhume.formats.clp_s.layout_packed import (
    DATE_SIZE,
    ENTRY,
    FORMATTED_FLOAT_SIZE,
    INTEGER_SIZE,
    NUM_VARIABLES,
    TIMESTAMP_SIZE,
    VARIABLE_SIZE,
    WORD_SIZE,
    ClpWord,
    pack_dictionary,
)
from exhume.formats.clp_s.write.encoder import LeafValue, ResolveTimestamp, double_bits
from exhume.formats.clp_s.write.jsonscan import Kind, ScanError, Scanner, Token, fits_integer
from exhume.formats.clp_s.write.status import Status
from exhume.formats.clp_s.write.texts import Dialect, VariableKind, encode_dictionary_id, encode_text
from exhume.tuples import NamedTuple

if TYPE_CHECKING:
    from exhume.formats.clp_s.write.encoder import SpillFile

MAX_IDS: Final = MAX_NODE_ID + 1
"""Number of ids that nodes and log types can have; a larger entry of a schema is a marker."""
SPLIT_TEXT: Final = 1 << 29
"""Bytes of a dictionary after which a new archive is begun, because readers keep dictionaries in memory."""
SPLIT_NODES: Final = 1 << 22
"""Nodes of the schema tree after which a new archive is begun, because readers keep the tree in memory."""
MASK64: Final = (1 << 64) - 1
_VARIABLES, _LOG_TYPES, _ARRAY_TYPES = range(3)
"""Numbers of the dictionaries."""
_TEXT_TYPES: Final = (NodeType.CLP_STRING, NodeType.UNSTRUCTURED_ARRAY)
"""Types whose values are stored as log type and variables."""


class _RefusedError(Exception):
    """A record that is rejected, and why."""

    def __init__(self, status: Status) -> None:
        super().__init__(status)
        self.status = status


class _Column:
    """A growing column."""

    def __init__(self, node_type: int) -> None:
        """Start a column, which is stored as one or two arrays: `values`, and `more` about them."""
        self.type = node_type
        # By row: a number, dictionary id, time, or word of encoded text (log type, first variable).
        self.values = array("Q")
        self.flags = bytearray()  # in place of `values` for booleans
        # All variables of a column of strings; by row: ids of patterns of times, or formats of floats.
        self.more = array("H") if node_type == NodeType.FORMATTED_FLOAT else array("Q")
        self.last = 0  # the last value, if the column stores differences

    def pieces(self) -> Iterator[bytes]:
        """Yield the bytes of the column as they are stored."""
        yield bytes(self.flags) if self.type == NodeType.BOOLEAN else self.values.tobytes()
        if self.type in _TEXT_TYPES:
            yield NUM_VARIABLES.pack(len(self.more))
        yield self.more.tobytes()

    def __len__(self) -> int:
        """Bytes of the column as it is stored."""
        inner = NUM_VARIABLES.size if self.type in _TEXT_TYPES else 0
        return len(self.flags) + inner + sum(len(part) * part.itemsize for part in (self.values, self.more))


class _Table:
    """The records with one schema."""

    def __init__(self, entries: list[int], num_ordered: int, columns: list[_Column]) -> None:
        """`entries`: the nodes and markers of the schema; the first `num_ordered` are ordered nodes."""
        self.entries, self.num_ordered, self.columns = entries, num_ordered, columns
        self.rows = 0


class _Frame(NamedTuple):
    """An object or array of a record that is open: its node, and the keys of its members so far.

    Elements of arrays have no keys.  `in_array`: whether it is an array, or anywhere inside one.  `marker`: index of
    its marker in the unordered entries; -1 without one.
    """

    node: int
    keys: set[bytes]
    is_array: bool
    in_array: bool
    marker: int


class _Record(NamedTuple):
    """The nodes of a record, and the values of those that have a column.

    `ordered`: ids of the nodes of values in objects, with `values`; `unordered`: entries of the schema (nodes and
    markers) for what is in arrays, with `elements`.
    """

    ordered: list[int]
    unordered: list[int]
    values: list[_Value]
    elements: list[_Value]


def _losses(tokens: Sequence[Token]) -> int:
    """Return how many keys and strings of a record do not come back unchanged.

    A record that is an array (accepted only if lossy) counts as one more, because it comes back as {}.
    """
    is_array = bool(tokens) and tokens[0].kind not in (Kind.OPEN_OBJECT, Kind.EMPTY_OBJECT)
    return is_array + sum(token.broken for token in tokens)


def _with_columns(values: Iterable[_Value]) -> list[_Value]:
    """The values whose type is stored in a column; the others, such as null, are in the schema only."""
    return [value for value in values if value.type in COLUMN_TYPES]


def _close(unordered: list[int], marker: int, kind: NodeType) -> None:
    """Write into the marker at index `marker` how many entries follow it.  Raises `_RefusedError` for too many."""
    length = len(unordered) - marker - 1
    if length >= MAX_IDS:
        raise _RefusedError(Status.TOO_LARGE)
    unordered[marker] = pack_marker(kind, length)


class _Value:
    """A token that is about to be appended to a column."""

    __slots__ = ("epoch", "is_time", "lost", "node", "number", "pattern", "text", "type", "word")

    def __init__(self, text: bytes) -> None:
        # Numbers are those of the column: `number` (bits of a float), `epoch` and `pattern` of a time, `word`: the
        # format of a float.  `is_time`: a value of the timestamp key; `lost`: it does not come back unchanged.
        self.text = text
        self.node = self.type = self.number = self.epoch = self.pattern = self.word = 0
        self.is_time = self.lost = False


def clps_count_lines(data: bytes, start: int, stop: int) -> int:
    """Number of lines that end in a part of the data.  Raises `IndexError` if that part is not within it."""
    if not 0 <= start <= stop <= len(data):
        raise IndexError(stop)
    return data.count(b"\n", start, stop)


class ClpsEncoder:
    """The encoder in pure Python; see `Encoder`."""

    saw_integer_time: bool
    saw_float_time: bool
    time_min: int
    time_max: int
    float_time_min: float
    float_time_max: float
    max_document: int
    records: int
    losses: int
    size: int

    def __init__(
        self,
        *,
        core: bool,
        structurize: bool,
        retain_floats: bool,
        time_nodes: bool,
        lossy: bool,
        max_document: int,
        log_order_type: int | None,
        path: Sequence[bytes],
        root: bytes = b"",
        resolve_timestamp: ResolveTimestamp,
        encode_float: Callable[[bytes], tuple[float, int] | None],
    ) -> None:
        """Start an archive.

        `path` has the keys of the timestamp key, `root` the key of the root that it is below; `log_order_type` is the
        node type of the records' numbers, or None if these are not stored; `max_document` is in bytes.
        `resolve_timestamp` returns an `encoder.ResolvedTime`, `encode_float` the value and format word of a float, or
        None if no word brings back its text.
        """
        self._dialect = Dialect.CORE if core else Dialect.CLASSIC
        self._structurize, self._retain_floats = structurize, retain_floats
        self._time_nodes, self._lossy, self.max_document = time_nodes, lossy, max_document
        self._path, self._root = tuple(path), root
        self._resolve_timestamp, self._encode_float = resolve_timestamp, encode_float
        self.records = self.losses = self.size = 0
        self.saw_integer_time = self.saw_float_time = False
        self.time_min = self.time_max = 0
        self.float_time_min = self.float_time_max = 0.0
        self._nodes: list[tuple[int, bytes, int]] = []  # (parent, key, type) by id
        self._ids: dict[tuple[int, bytes, int], int] = {}
        self._depths: list[int] = []  # per node: number of keys of the timestamp path that lead to it; -1: others do
        self._time_ids: set[int] = set()  # nodes with values of the timestamp key
        self._dictionaries: tuple[dict[bytes, int], ...] = ({}, {}, {})  # variables, log types, array types
        self._payload_size = [0, 0, 0]  # bytes of each
        self._tables: dict[tuple[int, tuple[int, ...]], _Table] = {}  # by (number of ordered entries, entries)
        self._numbered: list[_Table] = []  # by schema id
        self._log_node = -1  # the node of the record's number (log_event_idx); -1: these are not stored
        if log_order_type is not None:
            metadata = self._node(ROOT, b"", NodeType.METADATA)
            self._log_node = self._node(metadata, b"log_event_idx", log_order_type)

    # --- records ---

    def feed(self, data: bytes, start: int, final: bool, target: int, single: bool) -> tuple[int, int, int, bool]:
        """Encode documents from `start` on until the data end, one is rejected, or the archive has `target` bytes.

        `final`: nothing follows the data; `single`: they must be one document.

        Returns `(status, start, stop, is_complete)`: why it stopped; the start of the first document not encoded; the
        offset at which scanning stopped; and whether that is the document's end.
        """
        scanner = Scanner(data, structurize=self._structurize, arrays=self._lossy)
        at = start
        while True:
            at = scanner.skip_space(at)
            if at >= len(data):
                return Status.DONE, at, at, False
            try:
                end = scanner.document(at)
            except ScanError as error:
                status = error.status
                if status is Status.MORE and final:
                    # No more data comes: the document is truncated, or a character or word in it is invalid.
                    status = Status.CUT_SHORT
                    if error.position < len(data):
                        status = Status.BAD_UTF8 if data[error.position] >= 0x80 else Status.BAD_JSON
                return status, at, error.position, False
            if end - at > self.max_document:
                return Status.TOO_LARGE, at, end, True
            if single and scanner.skip_space(end) < len(data):
                return Status.BAD_JSON, at, scanner.skip_space(end), False
            if not self._has_ids(len(scanner.tokens)):
                return Status.FULL, at, at, False
            # A refused record leaves no nodes behind. prose: ok
            known = len(self._nodes)
            try:
                record = self._resolve(scanner.tokens)
            except _RefusedError as error:
                self._forget(known)
                return error.status, at, end, True
            self._commit(record)
            at = end
            if self.is_full(target):
                return Status.SPLIT, at, at, False

    def _has_ids(self, count: int) -> bool:
        """Whether `count` further nodes, log types and array types can have ids."""
        _, log_types, array_types = self._dictionaries
        return all(len(known) + count < MAX_IDS for known in (self._nodes, log_types, array_types))

    def is_full(self, target: int) -> bool:
        """Whether the archive is complete: it has the target size, or a section grows too large for readers."""
        return self.size >= target or max(self._payload_size) >= SPLIT_TEXT or len(self._nodes) >= SPLIT_NODES

    def add_leaves(self, leaves: Sequence[LeafValue]) -> Status | None:
        """Add a record of leaves instead of JSON, in the order of their nodes; return why it is rejected, or None."""
        if not self._has_ids(sum(len(leaf.keys) for leaf in leaves)):
            return Status.FULL
        known = len(self._nodes)
        ordered = [self._log_node] if self._log_node >= 0 else []
        values: list[_Value] = []  # of the leaves that have a column
        try:
            for leaf in leaves:
                value = self._leaf(leaf)
                ordered.append(value.node)
                if value.type in COLUMN_TYPES:
                    values.append(value)
        except _RefusedError as error:
            self._forget(known)
            return error.status
        self._commit(_Record(ordered, [], values, []))
        return None

    def _leaf(self, leaf: LeafValue) -> _Value:
        """Return a value that was parsed elsewhere (from KV-IR), with the node and type that it would have in JSON.

        See `LeafValue`: the keys that lead to it, its type, its text, and with `exact`, that a float keeps this text.
        """
        value = _Value(leaf.text)
        value.type, value.number = leaf.type, leaf.number
        parent = ROOT
        for key in leaf.keys[:-1]:
            parent = self._node(parent, key, NodeType.OBJECT)
        is_time = self._is_time(parent, leaf.keys[-1])
        if leaf.type in (NodeType.VAR_STRING, NodeType.CLP_STRING):
            if is_time and self._timestamp(value, quoted=True):
                value.type = NodeType.TIMESTAMP if self._time_nodes else NodeType.DATE_STRING
        elif leaf.type == NodeType.INTEGER and is_time and not self._time_nodes:
            value.is_time, value.epoch = True, leaf.number
        elif leaf.type in (NodeType.INTEGER, NodeType.FLOAT):
            if is_time and self._time_nodes and self._timestamp(value, quoted=False):
                value.type = NodeType.TIMESTAMP
            # Only floats are `exact`; infinities and NaN have no format word, but the dictionary can have their text.
            elif leaf.exact and math.isfinite(float(leaf.text)):
                self._float(value)
            elif leaf.exact and self._retain_floats:
                value.type = NodeType.DICTIONARY_FLOAT
            value.is_time |= is_time and not self._time_nodes
        value.node = self._node(parent, leaf.keys[-1], value.type)
        return value

    def _forget(self, known: int) -> None:
        """Remove all nodes after the first `known`: those of a record that was rejected."""
        while len(self._nodes) > known:
            del self._ids[self._nodes.pop()]
            self._depths.pop()

    def _node(self, parent: int, key: bytes, node_type: int) -> int:
        """Return the number of a node of the schema tree, which is added when it is new."""
        node = (parent, key, node_type)
        found = self._ids.get(node)
        if found is None:
            found = self._ids[node] = len(self._nodes)
            self._nodes.append(node)
            # Whether it is on the path of the timestamp key: see `_depths`.
            depth = -1
            if node_type == NodeType.OBJECT:
                above = self._depths[parent] if parent >= 0 else -1
                if parent < 0:
                    depth = 0 if key == self._root else -1
                elif 0 <= above < len(self._path) and self._path[above] == key:
                    depth = above + 1
            self._depths.append(depth)
        return found

    def _is_time(self, parent: int, key: bytes) -> bool:
        """Whether a key below a node is the timestamp key."""
        depth = self._depths[parent] if parent >= 0 else -1
        return 0 <= depth == len(self._path) - 1 and self._path[depth] == key

    def _resolve(self, tokens: list[Token]) -> _Record:
        """Find the nodes of a record.  Raises `_RefusedError`."""
        unordered: list[int] = []
        leaves: dict[int, _Value] = {}  # the last value of each ordered node
        elements: list[_Value] = []  # values inside structured arrays
        lost = 0
        frames: list[_Frame] = []  # the open objects and arrays
        for token in tokens:
            if token.kind is Kind.CLOSE_OBJECT or token.kind is Kind.CLOSE_ARRAY:
                closed = frames.pop()
                if closed.marker >= 0:
                    kind = NodeType.STRUCTURED_ARRAY if closed.is_array else NodeType.OBJECT
                    _close(unordered, closed.marker, kind)
                continue
            if token.broken and not self._lossy:
                raise _RefusedError(Status.BAD_SURROGATE)
            # The record itself has no key, like the elements of an array.
            parent, keys, is_element, in_array, _ = frames[-1] if frames else _Frame(ROOT, set(), True, False, -1)
            if not is_element:
                if token.key in keys:
                    if not self._lossy:
                        raise _RefusedError(Status.DUPLICATE_KEY)
                    token.broken = True  # counts as a loss
                keys.add(token.key)
            value = self._value(token, not in_array and self._is_time(parent, token.key))
            value.node = self._node(parent, token.key, value.type)
            if token.kind is Kind.OPEN_OBJECT or token.kind is Kind.OPEN_ARRAY:
                is_array = token.kind is Kind.OPEN_ARRAY
                marker = -1  # arrays have one, and objects that are elements of an array
                if is_array or (frames and is_element):
                    marker = len(unordered)
                    unordered.append(0)  # to be filled in by `_close`
                frames.append(_Frame(value.node, set(), is_array, in_array or is_array, marker))
                continue
            lost += value.lost
            if in_array or token.kind is Kind.EMPTY_ARRAY:
                unordered.append(value.node)
                elements.append(value)
            else:  # of a repeated key (accepted only if lossy), the last value: a node has one column in a table
                leaves[value.node] = value
        if self._lossy:
            self.losses += _losses(tokens) + lost
        log_order = [self._log_node] if self._log_node >= 0 else []
        return _Record([*log_order, *leaves], unordered, _with_columns(leaves.values()), _with_columns(elements))

    def _value(self, token: Token, is_time: bool) -> _Value:
        """Return the value of a JSON token with the type of its column."""
        value = _Value(token.text)
        match token.kind:
            # Strings with a space are split into a log type and variables.
            case Kind.STRING:
                value.type = NodeType.CLP_STRING if b" " in token.text else NodeType.VAR_STRING
                if is_time and self._timestamp(value, quoted=True):
                    value.type = NodeType.TIMESTAMP if self._time_nodes else NodeType.DATE_STRING
            case Kind.INTEGER:
                self._integer(value, is_time)
            # Before 0.5.0 a number is stored as such, and only counted in the range of times (`is_time`).
            case Kind.FLOAT:
                if is_time and self._time_nodes and self._timestamp(value, quoted=False):
                    value.type = NodeType.TIMESTAMP
                else:
                    self._float(value)
                    value.is_time = is_time and not self._time_nodes
            case Kind.BOOLEAN:
                value.type, value.number = NodeType.BOOLEAN, token.text == b"true"
            case Kind.NULL:
                value.type = NodeType.NULL_VALUE
            case Kind.ARRAY_TEXT:
                value.type = NodeType.UNSTRUCTURED_ARRAY
            case Kind.OPEN_OBJECT | Kind.EMPTY_OBJECT:
                value.type = NodeType.OBJECT
            case _:
                value.type = NodeType.STRUCTURED_ARRAY
        return value

    def _integer(self, value: _Value, is_time: bool) -> None:
        """Give a value its integer; one beyond 64 bits is refused, or rounded if losses are allowed."""
        value.type = NodeType.INTEGER
        value.number, signed, fits = fits_integer(value.text)  # wrapped to int64; fits int64; fits int64 or uint64
        if not fits or not (signed or self._lossy):
            raise _RefusedError(Status.BIG_INTEGER)
        value.lost = not signed
        if is_time and self._time_nodes:
            if not signed:
                raise _RefusedError(Status.BAD_TIMESTAMP)
            if self._timestamp(value, quoted=False):
                value.type = NodeType.TIMESTAMP
        elif is_time:
            value.is_time, value.epoch = True, value.number

    def _float(self, value: _Value) -> None:
        """Give a value its float; with `retain_floats` also the format in which it is written."""
        number = float(value.text)
        if not math.isfinite(number):
            raise _RefusedError(Status.BIG_FLOAT)
        value.number = double_bits(number)
        value.type = NodeType.FLOAT
        if self._retain_floats:
            encoded = self._encode_float(value.text)
            value.type = NodeType.DICTIONARY_FLOAT if encoded is None else NodeType.FORMATTED_FLOAT
            value.word = 0 if encoded is None else encoded[1]

    def _timestamp(self, value: _Value, *, quoted: bool) -> bool:
        """Give a value its time if it is one in a known pattern; return whether it is.

        `quoted`: whether it is a string, not a number.
        """
        answer = self._resolve_timestamp(value.text, quoted)
        if answer is None:
            raise _RefusedError(Status.BAD_TIMESTAMP)
        epoch, pattern, _, lost = answer
        value.lost |= lost
        if pattern < 0:
            return False
        value.is_time, value.epoch, value.pattern = True, epoch, pattern
        return True

    # --- columns ---

    def _commit(self, record: _Record) -> None:
        """Append a record to the table of its schema."""
        num_ordered = len(record.ordered)
        entries = (*sorted(record.ordered), *record.unordered)
        table = self._tables.get((num_ordered, entries))
        if table is None:
            types = [self._nodes[entry][2] for entry in entries if entry < MAX_IDS]  # larger entries are markers
            columns = [_Column(node_type) for node_type in types if node_type in COLUMN_TYPES]
            table = self._tables[num_ordered, entries] = _Table(list(entries), num_ordered, columns)
            self._numbered.append(table)
        at = 0  # index of the next column
        if self._log_node >= 0:  # the first node of all, and so the first column
            column = table.columns[0]
            column.values.append(self.records - column.last & MASK64)
            # Other types than differences store the number itself, as if the last one were 0.
            column.last = self.records if column.type == NodeType.DELTA_INTEGER else 0
            self.size += INTEGER_SIZE
            at = 1
        for value in sorted(record.values, key=lambda value: value.node):
            self._put(table.columns[at], value)
            at += 1
        for value in record.elements:
            self._put(table.columns[at], value)
            at += 1
        table.rows += 1
        self.records += 1

    def _entry(self, which: int, text: bytes) -> int:
        """Return the number of a string in dictionary `which` (such as `_VARIABLES`); it is added when it is new."""
        dictionary = self._dictionaries[which]
        known = len(dictionary)
        found = dictionary.setdefault(text, known)
        if found == known:
            self._payload_size[which] += ENTRY.size + len(text)
            self.size += ENTRY.size + len(text)
        return found

    def _put(self, column: _Column, value: _Value) -> None:
        """Append a value to the arrays of a column, by its type; `size` counts its stored bytes."""
        match column.type:
            case NodeType.VAR_STRING | NodeType.DICTIONARY_FLOAT:
                column.values.append(self._entry(_VARIABLES, value.text))
                self.size += WORD_SIZE
            case NodeType.CLP_STRING | NodeType.UNSTRUCTURED_ARRAY:
                self._put_text(column, value.text)
            case NodeType.FORMATTED_FLOAT:
                column.values.append(value.number)
                column.more.append(value.word)
                self.size += FORMATTED_FLOAT_SIZE
            case NodeType.BOOLEAN:
                column.flags.append(value.number)
                self.size += 1
            # Times of this type are stored as differences; those of date strings, before 0.5.0, as they are.
            case NodeType.TIMESTAMP:
                column.values.append(value.epoch - column.last & MASK64)
                column.last = value.epoch
                column.more.append(value.pattern)
                self.size += TIMESTAMP_SIZE
            case NodeType.DATE_STRING:
                column.values.append(value.epoch & MASK64)
                column.more.append(value.pattern)
                self.size += DATE_SIZE
            # An integer, or the bits of a float.
            case _:
                column.values.append(value.number & MASK64)
                self.size += INTEGER_SIZE
        if value.is_time:
            self._note_time(value)

    def _put_text(self, column: _Column, text: bytes) -> None:
        """Add a string to a column: encoded variables, and a word with its log type and first variable."""
        encoded = encode_text(text, self._dialect)
        first = len(column.more)
        for variable in encoded.variables:
            word = variable.encoded
            if variable.kind is VariableKind.DICTIONARY or word is None:
                word = encode_dictionary_id(self._entry(_VARIABLES, variable.text), self._dialect)
            column.more.append(word & MASK64)
        which = _LOG_TYPES if column.type == NodeType.CLP_STRING else _ARRAY_TYPES
        known = len(self._dictionaries[which])
        log_type = self._entry(which, encoded.log_type)
        if log_type == known:  # upstream counts the positions of placeholders into the size of a new log type
            self.size += VARIABLE_SIZE * len(encoded.variables)
        column.values.append(log_type << ClpWord.shift.log_type_id | first << ClpWord.shift.ofs_variable)
        self.size += WORD_SIZE + VARIABLE_SIZE * len(encoded.variables)

    def _note_time(self, value: _Value) -> None:
        """Extend the range of times by a value's time."""
        self._time_ids.add(value.node)
        if value.type in (NodeType.FLOAT, NodeType.FORMATTED_FLOAT, NodeType.DICTIONARY_FLOAT):  # before 0.5.0
            (number,) = array("d", array("Q", [value.number]).tobytes())
            first = not self.saw_float_time
            self.float_time_min = number if first else min(self.float_time_min, number)
            self.float_time_max = number if first else max(self.float_time_max, number)
            self.saw_float_time = True
        else:
            first = not self.saw_integer_time
            self.time_min = value.epoch if first else min(value.epoch, self.time_min)
            self.time_max = value.epoch if first else max(value.epoch, self.time_max)
            self.saw_integer_time = True

    # --- what was built ---

    def nodes_list(self) -> list[tuple[int, bytes, int]]:
        """See `Encoder.nodes_list`."""
        return [(parent, key, int(node_type)) for parent, key, node_type in self._nodes]

    def time_nodes_list(self) -> list[int]:
        """See `Encoder.time_nodes_list`."""
        return sorted(self._time_ids)

    def dictionary(self, which: int) -> tuple[int, int]:
        """See `Encoder.dictionary`."""
        entries = self._dictionaries[which]
        return len(entries), sum(map(len, entries)) + len(entries) * ENTRY.size

    def entries(self, which: int, start: int, stop: int) -> bytes:
        """See `Encoder.entries`."""
        return pack_dictionary(list(self._dictionaries[which]))[start:stop]

    def num_schemas(self) -> int:
        """See `Encoder.num_schemas`."""
        return len(self._numbered)

    def schema(self, index: int) -> tuple[list[int], int, int, list[int]]:
        """See `Encoder.schema`."""
        table = self._numbered[index]
        return table.entries, table.num_ordered, table.rows, list(map(len, table.columns))

    def sizes(self) -> tuple[bytes, bytes]:
        """See `Encoder.sizes`."""
        sizes = array("Q", (sum(map(len, table.columns)) for table in self._numbered))
        return sizes.tobytes(), array("q", (table.rows for table in self._numbered)).tobytes()

    def spill(self, spill: SpillFile, least: int) -> None:
        """See `Encoder.spill`: columns stay in memory here."""

    def columns(self, indices: list[int], start: int, stop: int) -> bytes:
        """See `Encoder.columns`."""
        pieces = []
        for column in (column for index in indices for column in self._numbered[index].columns):
            if stop > 0 and start < len(column):
                pieces.append(b"".join(column.pieces())[max(start, 0) : stop])
            start, stop = start - len(column), stop - len(column)  # relative to the next column
        return b"".join(pieces)
