"""Search: which records of an archive a KQL query matches, in the order and text of the native search.

The query is compiled, the plan drops what cannot match (`plan.py`), and each table that is left is evaluated column by
column into a mask of its rows; only columns that the query names are touched.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import compress, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from exhume.errors import QueryError
from exhume.formats.clp_s.layout import NodeType
from exhume.formats.clp_s.layout_words import ClassicVariable
from exhume.formats.clp_s.query import kql
from exhume.formats.clp_s.query.condition import EXISTS
from exhume.formats.clp_s.query.kernel import clps_compare_float, clps_compare_int, clps_lookup, clps_match_texts
from exhume.formats.clp_s.query.operand import ARRAYS, BOOLEANS, FLOATS, INTEGERS, STRINGS, TEXTS, TIMES, Operand
from exhume.formats.clp_s.query.plan import Check, Every, Options, Part, Plan, TablePlan, make_plan
from exhume.formats.clp_s.query.resolve import LITERAL_TYPES
from exhume.formats.clp_s.query.tree import EQUAL, EscapeError, Expression, Key, parse_column
from exhume.formats.clp_s.query.wildcard import STAR, Wildcard
from exhume.formats.clp_s.read.decompressing import AheadOfSearch
from exhume.formats.clp_s.read.template import Roots

if TYPE_CHECKING:
    from exhume.formats.clp_s.read.columns import Column
    from exhume.formats.clp_s.read.tables import TableData
    from exhume.formats.clp_s.reader import ClpSArchive


DEFAULT_OPTIONS = Options()


def compile_query(query: str | Expression) -> Expression:
    """The syntax tree of a query text (or the tree itself).  Raises `QueryError`."""
    return kql.parse(query) if isinstance(query, str) else query


class Hits:
    """The matching rows of one table: `rows` in order, None for all of them."""

    __slots__ = ("data", "rows")

    def __init__(self, data: TableData, rows: Sequence[int] | None) -> None:
        self.data = data
        self.rows = rows

    @property
    def count(self) -> int:
        """How many rows match."""
        return self.data.num_messages if self.rows is None else len(self.rows)

    def positions(self) -> Sequence[int]:
        """The `log_event_idx` of each row; 0 where the table has none, as the native search counts it."""
        idx = self.data.log_event_idx
        if idx is None:
            return [0] * self.count
        return idx if self.rows is None else [idx[row] for row in self.rows]


def _following_streams(tables: Sequence[TablePlan]) -> dict[int, int]:
    """For each place where the tables go on to another stream, the sound stream that follows that one."""
    firsts = [
        place
        for place, planned in enumerate(tables)
        if planned.entry.problem is None and (not place or planned.entry.stream_id != tables[place - 1].entry.stream_id)
    ]
    return {place: tables[later].entry.stream_id for place, later in pairwise(firsts)}


class Search:
    """One query on one archive; `printing`: matches will be printed, so that their dictionary may be read ahead.

    Raises `QueryError` for time bounds that the archive has no column for, and the archive's own errors.
    """

    def __init__(
        self,
        archive: ClpSArchive,
        query: str | Expression,
        options: Options = DEFAULT_OPTIONS,
        *,
        printing: bool = False,
    ) -> None:
        self.archive = archive
        self.query = query if isinstance(query, str) else ""
        expression = compile_query(query)
        self._ahead = AheadOfSearch(archive)
        promising = self._ahead.variables if printing else None
        self.plan: Plan = make_plan(
            archive, archive.header.version, expression, options, query=self.query, promising=promising
        )
        if self.plan.tables:
            self.plan.look_up(archive)

    def hits(self) -> Iterator[Hits]:
        """Tables with matching rows, in the archive's order.  Rows before damage are found before it is reported."""
        tables = self.archive.tables
        wanted = [planned for planned in self.plan.tables if planned.entry.num_messages]
        following = _following_streams(wanted)
        for place, planned in enumerate(wanted):
            if place in following:
                self._ahead.stream(following[place])
            data = tables[planned.index].load()
            if planned.part is True:
                yield Hits(data, None)
                continue
            mask = Evaluator(data, self.plan).run(planned.part)
            count = mask.count(1)
            if count == len(mask):
                yield Hits(data, None)
            elif count:
                yield Hits(data, list(compress(range(len(mask)), mask)))

    def count(self) -> int:
        """The number of matching records."""
        total = 0
        for planned in self.plan.tables:
            if planned.part is True:
                total += planned.entry.num_messages
            elif planned.entry.num_messages:
                data = self.archive.tables[planned.index].load()
                total += Evaluator(data, self.plan).run(planned.part).count(1)
        return total

    def lines(
        self,
        *,
        ordered: bool = False,
        complete: bool = False,
        nodes: Collection[int] | None = None,
        roots: Roots = (),
    ) -> Iterator[bytes]:
        """The text of the matching records one by one; `ordered` and `complete` as for `ClpSArchive.json_chunks`,
        `nodes` and `roots` as for `TableRenderer`."""

        def stream(hits: Hits) -> Iterator[bytes]:
            renderer = hits.data.renderer(nodes=nodes, complete=complete, roots=roots)
            rows = range(hits.data.num_messages) if hits.rows is None else hits.rows
            for start in range(0, len(rows), 1024):
                yield from renderer.lines(rows[start : start + 1024])

        return self._in_order(stream, ordered)

    def events(self, *, ordered: bool = False, with_source: bool = False) -> Iterator[Any]:
        """The matching records as Python objects; see `ClpSArchive.events`."""
        from exhume.formats.clp_s.read.records import SourceFinder, event_stream

        finder = SourceFinder(self.archive.range_index) if with_source else None
        return self._in_order(lambda hits: event_stream(hits.data, finder, hits.rows), ordered)

    def _in_order(self, stream: Callable[[Hits], Iterator[Any]], ordered: bool) -> Iterator[Any]:
        """The streams one after the other, or merged by the position of the records in the input."""
        if not ordered or self.archive.schema_tree.log_event_idx is None:
            for hits in self.hits():
                yield from stream(hits)
            return
        loaded = list(self.hits())
        keyed = [zip(hits.positions(), stream(hits), strict=True) for hits in loaded]
        import heapq

        for _, item in heapq.merge(*keyed, key=itemgetter(0)):
            yield item

    def chunks(self, nodes: Collection[int] | None = None) -> Iterator[bytes]:
        """The text of the matching records, one JSON line each, in pieces of whole lines."""
        for hits in self.hits():
            renderer = hits.data.renderer(nodes=nodes)
            if hits.rows is None:
                yield from renderer.chunks()
                continue
            for start in range(0, len(hits.rows), 4096):
                yield b"".join(renderer.lines(hits.rows[start : start + 4096]))

    def ordered_chunks(self, nodes: Collection[int] | None = None, roots: Roots = ()) -> Iterator[bytes]:
        """The same in the order of the input, as far as the archive recorded it."""
        pending: list[bytes] = []
        for line in self.lines(ordered=True, nodes=nodes, roots=roots):
            pending.append(line)
            if len(pending) == 1024:
                yield b"".join(pending)
                pending.clear()
        if pending:
            yield b"".join(pending)


def resolve_projection(archive: ClpSArchive, columns: Sequence[str]) -> frozenset[int]:
    """The leaf nodes that `--projection` columns name.

    Every key but the last must be that of an object.  Raises `QueryError` for a text that is not a column path, for
    wildcards, and for a column that is named twice.
    """
    tree = archive.schema_tree
    nodes: set[int] = set()
    seen: set[tuple[Key, ...]] = set()
    for text in columns:
        try:
            column = parse_column(text)
        except EscapeError as error:
            raise kql.query_error(f"not a column: {error}", text, error.offset) from None
        if column.open:
            raise QueryError("a projection cannot have wildcards", format="clp-s", query=text)
        if column.keys in seen:
            raise QueryError(f"column {text} is named twice", format="clp-s", query=text)
        seen.add(column.keys)
        node = tree.roots.get((column.namespace.encode(), NodeType.OBJECT))
        for depth, key in enumerate(column.keys):
            if node is None:
                break
            named = [child for child in tree.children[node] if tree.keys[child] == key.name]
            if depth + 1 == len(column.keys):
                nodes.update(child for child in named if tree.types[child] in LITERAL_TYPES)
            else:
                node = next((child for child in named if tree.types[child] == NodeType.OBJECT), None)
    return frozenset(nodes)


# --- evaluation -------------------------------------------------------------------------------------------------------


class Evaluator:
    """Evaluates the condition of one table; a mask has one byte per row, 0 or 1.

    Masks are combined as integers, which is the fastest that plain Python has.
    """

    def __init__(self, data: TableData, plan: Plan) -> None:
        self.data = data
        self.plan = plan
        self.rows = data.num_messages
        self.ones = int.from_bytes(b"\1" * self.rows, "little")
        self._masks: dict[tuple[object, ...], int] = {}

    def run(self, part: Part) -> bytes:
        """The mask of the rows that fulfil `part`."""
        return self._part(part, self.ones).to_bytes(self.rows, "little")

    def _part(self, part: Part, wanted: int) -> int:
        """The rows among the wanted ones that fulfil `part`; the mask may include other rows."""
        if isinstance(part, bool):
            return self.ones if part else 0
        if isinstance(part, Check):
            return self._check(part, wanted)
        if isinstance(part, Every):
            for inner in sorted(part.parts, key=_cost):
                wanted &= self._part(inner, wanted)
                if not wanted:
                    break
            return wanted
        found = 0
        for inner in sorted(part.parts, key=_cost):
            found |= self._part(inner, wanted & ~found) & wanted
            if found == wanted:
                break
        return found

    def _check(self, check: Check, wanted: int) -> int:
        key = check.key
        found = self._masks.get(key)
        if found is None:
            partial = bool(check.types & (TEXTS | ARRAYS)) and wanted != self.ones
            found = 0
            rows = wanted
            for column, kind in self._columns(check):
                found |= self._column(check, column, kind, rows)
                if found & wanted == wanted:
                    break
                rows &= ~found
            if check.test.inverted:
                found ^= self.ones
            if not partial:
                self._masks[key] = found
        return found

    def _columns(self, check: Check) -> Iterator[tuple[Column, int]]:
        """The columns that a check looks at, the cheap ones first."""
        if check.node is not None:
            for column in self.data.columns_of(check.node):
                yield column, check.types
            return
        metadata = self.data.tree.roots.get((b"", NodeType.METADATA))
        parents = self.data.tree.parents
        later = []
        for spec in self.data.layout.columns:
            kind = LITERAL_TYPES[spec.type]  # type: ignore[index]  # node types are equal to their numbers
            if not kind & check.types or (metadata is not None and parents[spec.node] == metadata):
                continue
            column = self.data.column_at(spec.index)
            if kind & (TEXTS | ARRAYS):
                later.append((column, kind))
            else:
                yield column, kind
        yield from later

    def _column(self, check: Check, column: Column, kind: int, wanted: int) -> int:
        """The rows whose value of one column fulfils a check (not negated)."""
        operand, op = check.test.operand, check.test.op
        if kind == ARRAYS:
            return self._arrays(check, column, wanted)
        assert operand is not None
        if kind in (INTEGERS, TIMES):
            if operand.integer is None:
                return 0
            return int.from_bytes(clps_compare_int(column.integers.cast("B"), op, operand.integer), "little")
        if kind == FLOATS:
            return self._floats(column, op, operand)
        if kind == BOOLEANS:
            if operand.boolean is None or op != EQUAL:
                return 0
            truth = int.from_bytes(bytes(column.values).translate(_TRUTH), "little")
            return truth if operand.boolean else truth ^ self.ones
        if operand.text is None or op != EQUAL:
            return 0
        if kind == STRINGS:
            table = self.plan.tables_of_ids.get(operand.text)
            if table is None:
                ids = self.plan.strings.get(operand.text, frozenset())
                table = self.plan.tables_of_ids[operand.text] = _table(ids, len(self.data.texts.variables))
            return int.from_bytes(clps_lookup(column.values.cast("B"), table, 64), "little")
        assert kind == TEXTS
        return self._texts(column, operand.text, wanted)

    def _floats(self, column: Column, op: str, operand: Operand) -> int:
        if operand.real is None:
            return 0
        if column.type != NodeType.DICTIONARY_FLOAT:
            return int.from_bytes(clps_compare_float(column.values.cast("B"), op, operand.real), "little")
        strings = column.texts.variables
        used = [i for i in set(column.values) if i < len(strings)]
        mask = clps_compare_float(_floats([_real(strings[i]) for i in used]), op, operand.real)
        table = _table(frozenset(compress(used, mask)), len(strings))
        return int.from_bytes(clps_lookup(column.values.cast("B"), table, 64), "little")

    def _texts(self, column: Column, pattern: bytes, wanted: int) -> int:
        query = self.plan.texts.get(pattern)
        if query is None:
            return 0
        texts = column.texts
        words, variables = column.values.cast("B"), column.variables.cast("B")
        codes, fold = query.pattern.codes, query.pattern.ignore_case
        found = 0
        if query.candidates is None:
            tries: list[tuple[bytes | None, Any, Any]] = [(None, (), codes)]
        else:
            base = 0 if self.plan.dialect.core_text else ClassicVariable.first_id
            tries = [
                (
                    _table(candidate.log_types, len(texts.raw_log_types)),
                    [_constraint(ids, base, len(texts.variables)) for ids in candidate.variables],
                    codes if candidate.verify else None,
                )
                for candidate in query.candidates
            ]
        for table, constraints, pattern_codes in tries:
            rows = (wanted & ~found).to_bytes(self.rows, "little")
            mask, bad = clps_match_texts(
                words, variables, texts.raw_log_types, texts.variables, table, constraints, pattern_codes, fold, rows
            )
            if bad >= 0:
                column.strings([bad])  # raises what is wrong with it
            found |= int.from_bytes(mask, "little")
            if found & wanted == wanted:
                break
        return found

    def _arrays(self, check: Check, column: Column, wanted: int) -> int:
        """Arrays are kept as text: each is parsed, once for all rows that have the same."""
        tests = self.plan.array_tests
        tester = tests.get(check.key)
        if tester is None:  # one for all tables: what it has learned of a text holds in all of them
            tester = tests[check.key] = ArrayTest(check, ignore_case=self.plan.options.ignore_case)
        rows = list(compress(range(self.rows), wanted.to_bytes(self.rows, "little")))
        mask = bytearray(self.rows)
        for start in range(0, len(rows), 8192):
            part = rows[start : start + 8192]
            # Rows side by side are looked through as one text, which most often settles it.
            side_by_side = tester.needle and len(part) == part[-1] - part[0] + 1
            if side_by_side and tester.rules_out(column.joined(part[0], part[-1] + 1)):
                continue
            for row, text in zip(part, column.strings(part), strict=True):
                mask[row] = tester.verdict(text)
        return int.from_bytes(mask, "little")


def _cost(part: Part) -> int:
    """The cost of a part, to evaluate cheap ones first: text and arrays are decoded only where others do not decide."""
    if isinstance(part, Check):
        return (2 if part.types & ARRAYS else 1) if part.types & (TEXTS | ARRAYS) else 0
    return 3


_TRUTH = bytes([0]) + b"\1" * 255


def _table(ids: Collection[int], size: int) -> bytes:
    """One byte per id below `size`: 1 for those in the set."""
    table = bytearray(size)
    for ident in ids:
        if 0 <= ident < size:
            table[ident] = 1
    return bytes(table)


def _constraint(words: frozenset[int], base: int, size: int) -> tuple[int, bytes | None]:
    if len(words) == 1:
        return next(iter(words)), None
    return base, _table([word - base for word in words], size)


def _floats(values: Sequence[float]) -> bytes:
    return array("d", values).tobytes()


def _real(text: bytes) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


# --- arrays kept as text ----------------------------------------------------------------------------------------------


class _Members(list[tuple[str, Any]]):
    """The members of a JSON object in order, equal names included."""


def _parse_array(text: bytes) -> Any:
    decoded = text.decode("utf-8", "surrogateescape")
    import json

    return json.loads(decoded, strict=False, object_pairs_hook=_Members)


class ArrayTest:
    """Whether an array (its JSON text) holds a value that a filter looks for.

    A filter on one column follows the keys left over through objects; a filter on any column looks everywhere.  As in
    the native search a range over array elements means "differs from", and a number that cannot be an integer is
    compared with integers without its fraction.
    """

    def __init__(self, check: Check, *, ignore_case: bool) -> None:
        self.test = check.test
        self.anywhere = check.node is None
        self.keys = [key.name.decode("utf-8", "surrogateescape") for key in check.rest]
        operand = check.test.operand
        self.exists = check.test.op == EXISTS
        self.equal = check.test.op == EQUAL
        self.operand = operand
        self.pattern = Wildcard(operand.text, ignore_case) if operand is not None and operand.text is not None else None
        self.numbers = operand is not None and operand.number
        if self.anywhere:
            self.numbers = self.numbers and bool(check.types & FLOATS)
        self.needle = self._needle()
        self._known: dict[bytes, bool] = {}

    def _needle(self) -> bytes:
        """Bytes that an array without escapes must contain for a string in it to match; b"" if unknown."""
        operand = self.operand
        if operand is None or self.pattern is None or not self.equal or self.numbers or self.pattern.ignore_case:
            return b""
        if operand.null or operand.boolean is not None:
            return b""
        longest, piece = b"", bytearray()
        for code in [*self.pattern.codes, STAR]:
            if code < STAR and code not in b'"\\':
                piece.append(code)
                continue
            longest = max(longest, bytes(piece), key=len)
            piece.clear()
        return longest

    def rules_out(self, text: bytes) -> bool:
        """Whether nothing in the text of one or many arrays can match, told without parsing it."""
        return bool(self.needle) and self.needle not in text and b"\\" not in text

    def verdict(self, text: bytes) -> bool:
        """The result of `matches`, computed once per text because arrays repeat."""
        found = self._known.get(text)
        if found is None:
            if len(self._known) > 65536:
                self._known.clear()
            found = self._known[text] = not self.rules_out(text) and self.matches(text)
        return found

    def matches(self, text: bytes) -> bool:
        """Whether the array of this text matches; what is not JSON does not."""
        try:
            return self._elements(_parse_array(text), 0)
        except (ValueError, RecursionError):
            return False

    def _elements(self, items: Any, depth: int) -> bool:
        return any(self._value(item, depth) for item in items)

    def _value(self, item: Any, depth: int) -> bool:
        if isinstance(item, _Members):
            if self.anywhere:
                return self._elements([value for _, value in item], depth)
            return self._members(item, depth)
        if isinstance(item, list):
            return self._elements(item, depth)
        operand = self.operand
        if self.exists or operand is None:
            return False
        if item is None:
            return operand.null and self.equal
        if depth != len(self.keys) and not self.anywhere:
            return False
        if isinstance(item, bool):
            return operand.boolean is not None and self.equal and item is operand.boolean
        if isinstance(item, str):
            return (
                self.equal
                and self.pattern is not None
                and self.pattern.matches(item.encode("utf-8", "surrogateescape"))
            )
        if not self.numbers:
            return False
        same = item == operand.real if isinstance(item, float) else not (item - operand.array_integer) % (1 << 64)
        return bool(same) == self.equal

    def _members(self, item: _Members, depth: int) -> bool:
        if depth >= len(self.keys):
            return False
        for name, value in item:
            if name == self.keys[depth]:
                if depth + 1 == len(self.keys) and self.exists:
                    return True
                return self._value(value, depth + 1)
        return False
