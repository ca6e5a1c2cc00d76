"""Random log records for clp-s, within what JSON and the format can hold."""

from __future__ import annotations

import json
import math
from typing import Any, Self

from hypothesis import strategies as st

keys = st.sampled_from(["a", "b", "c", "a.b", "", " ", "@x", 'q"', "\\", "é", "\n", "key with space"]) | st.text(
    max_size=4
)

_words = st.sampled_from(
    [
        *(
            "took",
            "3.14",
            "-7",
            "id=a1",
            "user=bob",
            "10.0.0.1",
            "deadbeef",
            "ab/cd",
            "0.50",
            ".5",
            "00.10",
            "5.",
            "-0",
        ),
        *("99999999999999999999", "4611686018427387904", "-9223372036854775808", "1e5", "x_y-1", "\\", '"', "é7", "\t"),
        *("123456789012345.6", "1234567890123456.7", "+1", "007", "a\x11b", "\x13", "%Y", "[", "\x7f"),
    ]
)
texts = st.lists(_words, max_size=6).map(" ".join) | st.lists(_words, max_size=3).map("".join) | st.text(max_size=12)

integers = st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-100, 100)
floats = st.floats(allow_nan=False, allow_infinity=False) | st.decimals(-1000, 1000, places=2).map(float)


class Number(float):
    """A float with the text that it is written with."""

    text: str

    def __new__(cls, text: str) -> Self:
        made = super().__new__(cls, text)
        made.text = text
        return made

    def __repr__(self) -> str:
        return self.text


_shapes = st.sampled_from(["{:.1f}", "{:.3f}", "{:e}", "{:.2E}", "{:.0e}", "{:.15e}", "{!r}"])
numbers = st.builds(lambda value, shape: Number(shape.format(value)), floats.filter(math.isfinite), _shapes).filter(
    lambda number: any(c in number.text for c in ".eE") and math.isfinite(number)
)

scalars = st.none() | st.booleans() | integers | numbers | texts


def _extend(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(children, max_size=4) | st.dictionaries(keys, children, max_size=4)


values = st.recursive(scalars, _extend, max_leaves=8)
records = st.dictionaries(keys, values, max_size=5)
"""One log record: a JSON object without repeated keys."""


def dumps(value: Any) -> str:
    """JSON text with the numbers' own spelling."""
    if isinstance(value, Number):
        return value.text
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(k)}:{dumps(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(dumps, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
