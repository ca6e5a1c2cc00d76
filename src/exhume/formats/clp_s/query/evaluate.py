"""Which rows of a table fulfil a plan: the cheapest checks first, as masks over its columns."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Sequence
from itertools import compress
from typing import TYPE_CHECKING, Any

from exhume.formats.clp_s.layout import NodeType
from exhume.formats.clp_s.layout_packed import ClassicVariable
from exhume.formats.clp_s.query.arrays import ArrayTest
from exhume.formats.clp_s.query.kernel import clps_compare_float, clps_compare_int, clps_lookup, clps_match_texts
from exhume.formats.clp_s.query.operand import ARRAYS, BOOLEANS, FLOATS, INTEGERS, STRINGS, TEXTS, TIMES, Operand
from exhume.formats.clp_s.query.plan import Plan, Try
from exhume.formats.clp_s.query.requirement import Check, EveryPart, Requirement
from exhume.formats.clp_s.query.resolve import LITERAL_TYPES
from exhume.formats.clp_s.query.tree import EQUAL

if TYPE_CHECKING:
    from exhume.formats.clp_s.query.texts import TextQuery
    from exhume.formats.clp_s.read.columns import Column, PrintContext
    from exhume.formats.clp_s.read.tables import TableData

_TRUTH = bytes([0]) + b"\1" * 255


class Evaluator:
    """Evaluates the condition of the rows `[start, stop)` of one table; a mask has one byte for each of them, 0 or 1.

    Masks are combined as integers, which is the fastest that plain Python has.
    """

    def __init__(self, data: TableData, plan: Plan, start: int = 0, stop: int | None = None) -> None:
        self.data = data
        self.plan = plan
        self.start, self.stop = start, data.num_messages if stop is None else stop
        self.rows: int = self.stop - start
        self.ones: int = int.from_bytes(b"\1" * self.rows, "little")
        self._masks: dict[tuple[object, ...], int] = {}

    def run(self, part: Requirement) -> bytes:
        """The mask of the rows that fulfil `part`."""
        return self._part(part, self.ones).to_bytes(self.rows, "little")

    def _of(self, values: memoryview[Any]) -> memoryview[Any]:
        """The values of these rows as bytes."""
        return values[self.start : self.stop].cast("B")

    def _part(self, part: Requirement, wanted: int) -> int:
        """The rows among the wanted ones that fulfil `part`; the mask may include other rows."""
        if isinstance(part, bool):
            return self.ones if part else 0
        if isinstance(part, Check):
            return self._check(part, wanted)
        if isinstance(part, EveryPart):
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
                found |= self.of_column(check, column, kind, rows)
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

    def of_column(self, check: Check, column: Column, kind: int, wanted: int) -> int:
        """The rows whose value of one column fulfils a check (not negated)."""
        operand, op = check.test.operand, check.test.op
        if kind == ARRAYS:
            return self._arrays(check, column, wanted)
        assert operand is not None
        if kind in (INTEGERS, TIMES):
            if operand.integer is None:
                return 0
            return int.from_bytes(clps_compare_int(self._of(column.integers), op, operand.integer), "little")
        if kind == FLOATS:
            return self._floats(column, op, operand)
        if kind == BOOLEANS:
            if operand.boolean is None or op != EQUAL:
                return 0
            truth = int.from_bytes(bytes(self._of(column.values)).translate(_TRUTH), "little")
            return truth if operand.boolean else truth ^ self.ones
        if operand.text is None or op != EQUAL:
            return 0
        if kind == STRINGS:
            table = self.plan.tables_of_ids.get(operand.text)
            if table is None:
                ids = self.plan.strings.get(operand.text, frozenset())
                table = self.plan.tables_of_ids[operand.text] = _table(ids, len(self.data.texts.variables))
            return int.from_bytes(clps_lookup(self._of(column.values), table, 64), "little")
        assert kind == TEXTS
        return self._texts(column, operand.text, wanted)

    def _floats(self, column: Column, op: str, operand: Operand) -> int:
        if operand.real is None:
            return 0
        if column.type != NodeType.DICTIONARY_FLOAT:
            return int.from_bytes(clps_compare_float(self._of(column.values), op, operand.real), "little")
        strings = column.texts.variables
        used = [i for i in set(column.values[self.start : self.stop]) if i < len(strings)]
        mask = clps_compare_float(_floats([_real(strings[i]) for i in used]), op, operand.real)
        table = _table(frozenset(compress(used, mask)), max(used, default=-1) + 1)
        return int.from_bytes(clps_lookup(self._of(column.values), table, 64), "little")

    def _texts(self, column: Column, pattern: bytes, wanted: int) -> int:
        query = self.plan.texts.get(pattern)
        if query is None:
            return 0
        texts = column.texts
        words, variables = self._of(column.values), column.variables.cast("B")
        fold = query.pattern.ignore_case
        found = 0
        for table, constraints, pattern_codes in self._tries(pattern, query, texts):
            rows = (wanted & ~found).to_bytes(self.rows, "little")
            mask, bad = clps_match_texts(
                words, variables, texts.raw_log_types, texts.variables, table, constraints, pattern_codes, fold, rows
            )
            if bad >= 0:
                column.strings([self.start + bad])  # raises what is wrong with it
            found |= int.from_bytes(mask, "little")
            if found & wanted == wanted:
                break
        return found

    def _tries(self, pattern: bytes, query: TextQuery, texts: PrintContext) -> list[Try]:
        """The searches to make in sequence, computed once for all tables."""
        tries = self.plan.tries.get(pattern)
        if tries is not None:
            return tries
        codes = query.pattern.codes
        if query.candidates is None:
            tries = [(None, [], codes)]
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
        self.plan.tries[pattern] = tries
        return tries

    def _arrays(self, check: Check, column: Column, wanted: int) -> int:
        """Arrays are kept as text: each is parsed, once for all rows that have the same."""
        tests = self.plan.array_tests
        tester = tests.get(check.key)
        if tester is None:  # one for all tables: a result for a string is valid in all of them
            tester = tests[check.key] = ArrayTest(check, ignore_case=self.plan.options.ignore_case)
        rows = list(compress(range(self.rows), wanted.to_bytes(self.rows, "little")))
        mask = bytearray(self.rows)
        for start in range(0, len(rows), 8192):
            part = rows[start : start + 8192]
            # Rows side by side are looked through as one text, which most often settles it.
            side_by_side = tester.needle and len(part) == part[-1] - part[0] + 1
            if side_by_side and tester.rules_out(column.joined(self.start + part[0], self.start + part[-1] + 1)):
                continue
            for row, text in zip(part, column.strings([self.start + row for row in part]), strict=True):
                mask[row] = tester.verdict(text)
        return int.from_bytes(mask, "little")


def _cost(part: Requirement) -> int:
    """The cost of a part, to evaluate cheap ones first: text and arrays are decoded only where others do not decide."""
    if isinstance(part, Check):
        return (2 if part.types & ARRAYS else 1) if part.types & (TEXTS | ARRAYS) else 0
    return 3


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
