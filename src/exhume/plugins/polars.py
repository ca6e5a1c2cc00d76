"""Polars: a lazy scan of an archive that passes columns, conditions and number of rows to the reader.

KQL is the query language of clp-s archives (`level: ERROR AND size >= 5`).  Polars' condition, the predicate, is taken
apart in its JSON form: nested dictionaries such as {"BinaryExpr": {"left": ..., "op": "Eq", "right": ...}}.

    from exhume.plugins.polars import scan
    scan("events.clps").filter(polars.col("level") == "ERROR").select("message").collect()

Columns that are not requested are not decoded.  Those conditions on a clp-s archive that KQL can express become a KQL
query, so that tables that cannot match are not read; Polars applies every condition to the rows as well, so the result
is the same as without the query.
"""

from __future__ import annotations

import io
import json
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Unpack

import polars
from polars.io.plugins import register_io_source

import exhume
from exhume.archive import Archive
from exhume.formats.clp_s.arrow import comparable
from exhume.formats.clp_s.query.tree import Text, parse_literal
from exhume.formats.clp_s.reader import ClpSArchive
from exhume.io.opening import Target
from exhume.parts import ReadingOptions
from exhume.tabular.arrow import import_pyarrow

COMPARISONS: Final = {"Eq": ":", "Lt": "<", "LtEq": "<=", "Gt": ">", "GtEq": ">="}
"""The operator of KQL for one of Polars."""
MIRRORED: Final = {"Eq": "Eq", "Lt": "Gt", "LtEq": "GtEq", "Gt": "Lt", "GtEq": "LtEq"}
"""The operator for exchanged sides: `5 < x` is `x > 5`."""

EXACT: Final = 1 << 53
"""Up to this integers are floats without being rounded; larger ones may compare differently in KQL and Polars."""

PLAIN: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", re.ASCII)
"""Names of columns that need no quoting in KQL; `KEYWORDS` are not names there."""
KEYWORDS: Final = frozenset(("and", "or", "not"))

AFFIXES: Final = {"StartsWith": "{}*", "EndsWith": "*{}", "Contains": "*{}*"}
"""The pattern in KQL for a test of strings in Polars."""

MOST_VALUES: Final = 100
"""Values of an `is_in` that become one query: with more, it would be very long."""


def scan(target: Target | Archive, **options: Unpack[ReadingOptions]) -> polars.LazyFrame:
    """The table of an archive as a `polars.LazyFrame`, read again each time it is collected.

    Args:
        target: What `exhume.open` takes, or an archive, which has to stay open until the frame is collected.
        options: Those of the archive's `to_arrow` (`topic=` chooses the channel of an Ark log); further conditions are
            added to a `query=`.

    Raises:
        ExhumeError: As opening and `to_arrow` do; damage is raised when the frame is collected.

    Example:
        >>> scan("words.zs").collect().height
        3
    """
    archive = target if isinstance(target, Archive) else exhume.open(target)
    pa = import_pyarrow()
    table: Callable[..., Any] = archive.to_arrow  # it refuses the options of other formats
    schema = polars.DataFrame(pa.Table.from_batches([], table(**options).schema)).schema

    def read(
        columns: list[str] | None, predicate: polars.Expr | None, n_rows: int | None, batch_size: int | None
    ) -> Iterator[polars.DataFrame]:
        """Yield the frames that Polars requests; the query selects rows early where it can, the predicate decides.

        `columns` None: all; `n_rows`: at most this many; `batch_size`: rows of a frame, as Polars prefers.
        """
        given: dict[str, Any] = dict(options)
        shown = list(schema) if columns is None else columns
        needed = dict.fromkeys([*shown, *(predicate.meta.root_names() if predicate is not None else ())])
        if predicate is not None and (query := pushed(archive, predicate)) is not None:
            given["query"] = f"({given['query']}) AND ({query})" if given.get("query") else query
        if batch_size:
            given["batch_rows"] = batch_size
        left = n_rows
        # Without any column (to count rows), the first one is read.
        for batch in table(columns=list(needed) or list(schema)[:1], **given):
            frame = polars.DataFrame(pa.Table.from_batches([batch]))
            if predicate is not None:
                frame = frame.filter(predicate)
            if left is not None:
                frame = frame.head(left)
                left -= frame.height
            yield frame.select(shown)
            if left == 0:
                return

    return register_io_source(read, schema=schema, is_pure=True)


def pushed(archive: Archive, predicate: polars.Expr) -> str | None:
    """A KQL query that every row meeting the condition matches; None if there is none, or the archive is not clp-s."""
    if not isinstance(archive, ClpSArchive):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the JSON form is not a stable interface: what is not understood is not pushed
        tree = json.loads(predicate.meta.serialize(format="json"))
    return _KqlTranslation(comparable(archive)).query(tree)


class _KqlTranslation:
    """Conditions in Polars' JSON form as KQL; None for those that KQL cannot express or takes differently."""

    def __init__(self, kinds: Mapping[str, str]) -> None:
        self._kinds = kinds  # kind of the values of each column: boolean, integer, float, text or time

    def query(self, node: Any) -> str | None:
        """The query for a condition."""
        match node:
            case {"BinaryExpr": {"left": left, "op": "And" | "LogicalAnd", "right": right}}:
                # One of the two is enough: Polars applies the whole condition to the rows again.
                both = [query for query in (self.query(left), self.query(right)) if query is not None]
                return " AND ".join(f"({query})" for query in both) or None
            case {"BinaryExpr": {"left": left, "op": "Or" | "LogicalOr", "right": right}}:
                one, other = self.query(left), self.query(right)
                return None if one is None or other is None else f"({one}) OR ({other})"
            case {"BinaryExpr": {"left": {"Column": str(name)}, "op": str(sign), "right": value}} if (
                sign in COMPARISONS
            ):
                return self._compared(name, sign, value)
            case {"BinaryExpr": {"left": value, "op": str(sign), "right": {"Column": str(name)}}} if (
                sign in COMPARISONS
            ):
                return self._compared(name, MIRRORED[sign], value)
            case {"Column": str(name)}:
                return f"{name}: true" if self._kind(name) == "boolean" else None
            case {"Function": {"input": [{"Column": str(name)}, *values], "function": function}}:
                return self._function(name, values, function)
        return None

    def _kind(self, name: str) -> str | None:
        """Return the kind of a column's values; None if KQL cannot compare it, or not by this name."""
        plain = PLAIN.fullmatch(name) and name.lower() not in KEYWORDS
        return self._kinds.get(name) if plain else None

    def _compared(self, name: str, sign: str, node: Any) -> str | None:
        """Return the query that compares a column with a literal; `sign` is the operator in Polars."""
        return self._with(name, COMPARISONS[sign], _value(node))

    def _with(self, name: str, sign: str, value: Any) -> str | None:
        """A comparison as KQL, such as `size>= 5`; None if KQL would compare these values in a different way."""
        spelled: str | None = None
        match self._kind(name), value:
            case "boolean", bool():
                spelled = str(value).lower() if sign == ":" else None
            case _, bool():  # which Python takes for an integer
                pass
            case "integer", int():
                spelled = str(value) if abs(value) < 1 << 63 else None  # KQL has integers of 64 bits
            case "float", int() | float() if abs(value) < EXACT:
                spelled = repr(value)
            case "text", str() if sign == ":":
                spelled = _quoted(value)
            case "time", datetime():
                # As nanoseconds since 1970, which Python's times do not count: microseconds, times 1000.
                moment = value if value.tzinfo else value.replace(tzinfo=UTC)
                spelled = str((moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1) * 1000)
        return None if spelled is None else f"{name}{sign} {spelled}"

    def _function(self, name: str, values: list[Any], function: Any) -> str | None:
        """A call of a function on a column as KQL; None if there is no such query, or it would return other rows."""
        match function:
            case {"StringExpr": "StartsWith" | "EndsWith" as affix} if values:
                return self._with_affix(name, affix, values[0])
            case {"StringExpr": {"Contains": {"literal": True}}} if values:
                return self._with_affix(name, "Contains", values[0])
            case {"Boolean": {"IsIn": _}} if values:
                found = _value(values[0])
                if not isinstance(found, list) or not 0 < len(found) <= MOST_VALUES:
                    return None
                each = [self._with(name, ":", value) for value in found]
                return None if None in each else " OR ".join(f"({one})" for one in each)
            case {"Boolean": {"IsBetween": _}} if len(values) == 2:
                # With both ends, even if Polars excludes them: it applies the condition again.
                ends = (self._compared(name, "GtEq", values[0]), self._compared(name, "LtEq", values[1]))
                both = [one for one in ends if one is not None]
                return " AND ".join(f"({one})" for one in both) or None
        return None

    def _with_affix(self, name: str, affix: str, node: Any) -> str | None:
        """Return the query for text that begins or ends with a literal, or contains it."""
        text = _value(node)
        spelled = _quoted(text, AFFIXES[affix]) if self._kind(name) == "text" and isinstance(text, str) else None
        return None if spelled is None else f"{name}: {spelled}"


def _value(node: Any) -> Any:
    """The value of a literal; None for anything else.  Polars itself computes it, whatever its type."""
    if "Literal" not in json.dumps(node) or "Column" in json.dumps(node):  # not a constant
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            literal = polars.Expr.deserialize(io.StringIO(json.dumps(node)), format="json")
            value = polars.select(literal).item()
    except (polars.exceptions.PolarsError, ValueError, TypeError):
        return None
    return value.to_list() if isinstance(value, polars.Series) else value


def _quoted(text: str, affix: str = "{}") -> str | None:
    """A string in KQL's quoting, with the wildcards of `affix` around it; None if KQL would read it differently."""
    if not text or not text.isprintable() or "\ufffd" in text or text.endswith("\\"):
        return None
    written = affix.format(re.sub(r'([\\"*?])', r"\\\1", text))
    return f'"{written}"' if isinstance(parse_literal(written), Text) else None
