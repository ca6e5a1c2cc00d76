"""Wildcards and the search kernel: the compiled and the pure functions, against plain definitions."""

from __future__ import annotations

import fnmatch
import re
import struct
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.formats.clp_s.query import pykernel as pysearch
from exhume.formats.clp_s.query.texts import TextSearch, split_pattern, stars_for_question_marks
from exhume.formats.clp_s.query.wildcard import ANY, STAR, Wildcard, parse_pattern
from exhume.formats.clp_s.read import pykernel
from exhume.formats.clp_s.write.texts import Dialect as TextDialect
from exhume.formats.clp_s.write.texts import VariableKind, encode_dictionary_id, encode_text
from exhume.native.kernel import COMPILED
from tests.sizes import some

if COMPILED:
    from exhume.native import _kernel

PURE = (pykernel, pysearch)
KERNELS = [pytest.param(PURE, id="pure")]
if COMPILED:
    KERNELS.append(pytest.param((_kernel, _kernel), id="compiled"))
both = pytest.mark.parametrize("kernel", KERNELS)
compiled_too = pytest.mark.skipif(not COMPILED, reason="exhume.native._kernel is not built: nothing to compare")

TEXTS = st.lists(st.sampled_from([b"a", b"b", b"A", b"*", b"?", b"\\", b"1"]), max_size=8).map(b"".join)


def by_regex(pattern: bytes, text: bytes, ignore_case: bool) -> bool:
    """The definition: `*` any bytes, `?` one byte, a backslash protects the byte after it."""
    regex, at = b"", 0
    while at < len(pattern):
        byte = pattern[at : at + 1]
        if byte == b"\\" and at + 1 < len(pattern):
            at += 1
            regex += re.escape(pattern[at : at + 1])
        else:
            regex += {b"*": b".*", b"?": b"."}.get(byte) or re.escape(byte)
        at += 1
    return re.fullmatch(regex, text, re.DOTALL | (re.IGNORECASE if ignore_case else 0)) is not None


def strings(kernel: Any, entries: list[bytes]) -> Any:
    payload = b"".join(len(entry).to_bytes(8, "little") + entry for entry in entries)
    return kernel[0].ClpsStrings(payload, len(entries))


@given(TEXTS, TEXTS, st.booleans())
def test_wildcards_mean_what_is_documented(pattern: bytes, text: bytes, ignore_case: bool) -> None:
    wildcard = Wildcard(pattern, ignore_case)
    assert wildcard.matches(text) == by_regex(pattern, text, ignore_case)
    assert Wildcard.from_codes(wildcard.codes, ignore_case).codes == wildcard.codes


def test_runs_of_wildcards_become_one() -> None:
    assert parse_pattern(b"a*?*?b") == [0x61, ANY, ANY, STAR, 0x62]
    assert parse_pattern(rb"\*\\x") == [0x2A, 0x5C, 0x78]


@both
@given(entries=st.lists(TEXTS, max_size=6), pattern=TEXTS, ignore_case=st.booleans(), unescape=st.booleans())
def test_find(kernel: Any, entries: list[bytes], pattern: bytes, ignore_case: bool, unescape: bool) -> None:
    wildcard = Wildcard(pattern, ignore_case)
    found = kernel[1].clps_find(strings(kernel, entries), wildcard.codes, ignore_case, unescape)
    plain = [re.sub(rb"\\((?s:.)?)", rb"\1", entry) if unescape else entry for entry in entries]
    assert found == [i for i, entry in enumerate(plain) if by_regex(pattern, entry, ignore_case)]


@both
@given(values=st.lists(st.integers(-3, 3) | st.sampled_from([2**63 - 1, -(2**63)])), operand=st.integers(-3, 3))
def test_compare_integers(kernel: Any, values: list[int], operand: int) -> None:
    data = struct.pack(f"<{len(values)}q", *values)
    for op, test in some(pysearch.OPERATORS.items()):
        assert list(kernel[1].clps_compare_int(data, op, operand)) == [test(value, operand) for value in values]


@both
@given(values=st.lists(st.floats(width=64)), operand=st.floats(width=64))
def test_compare_floats(kernel: Any, values: list[float], operand: float) -> None:
    data = struct.pack(f"<{len(values)}d", *values)
    for op, test in some(pysearch.OPERATORS.items()):
        assert list(kernel[1].clps_compare_float(data, op, operand)) == [test(value, operand) for value in values]


@both
@given(ids=st.lists(st.integers(0, 6) | st.integers(0, 2**64 - 1)), table=st.binary(max_size=5))
def test_lookup(kernel: Any, ids: list[int], table: bytes) -> None:
    table = bytes(byte & 1 for byte in table)
    data = struct.pack(f"<{len(ids)}Q", *ids)
    for bits in (64, 24, 1):
        low = [i % (1 << bits) for i in ids]
        expected = [table[i] if i < len(table) else 0 for i in low]
        assert list(kernel[1].clps_lookup(data, table, bits)) == expected


@both
def test_buffers_must_fit(kernel: Any) -> None:
    log_types = kernel[0].ClpsLogTypes(strings(kernel, [b"x"]), True, False)
    assert kernel[1].clps_match_texts(b"", b"", log_types, strings(kernel, []), None, (), None, False, b"") == (b"", -1)
    with pytest.raises(KeyError):
        kernel[1].clps_compare_int(bytes(8), "!=", 0)


# --- encoded strings --------------------------------------------------------------------------------------------------

WORDS = st.sampled_from(
    ["took", "12", "7", "-5", "1.25", "007", "id=a1", "E0042", "k=v", "be", "C:\\d", "a*b", "é", "0.5", "x", "\x11"]
)
LINES = st.lists(WORDS, min_size=1, max_size=4).map(" ".join).map(str.encode)


class Store:
    """Strings encoded as in an archive."""

    def __init__(self, kernel: Any, texts: list[bytes], dialect: TextDialect) -> None:
        log_types: dict[bytes, int] = {}
        variables: dict[bytes, int] = {}
        words: list[int] = []
        values: list[int] = []
        for text in texts:
            encoded = encode_text(text, dialect)
            log_type = log_types.setdefault(encoded.log_type, len(log_types))
            words.append(log_type | len(values) << 24)
            for variable in encoded.variables:
                if variable.kind is VariableKind.DICTIONARY:
                    found = variables.setdefault(variable.text, len(variables))
                    values.append(encode_dictionary_id(found, dialect))
                else:
                    assert variable.encoded is not None
                    values.append(variable.encoded)
        self.words = struct.pack(f"<{len(words)}Q", *words)
        self.values = struct.pack(f"<{len(values)}q", *values)
        self.log_entries, self.variable_entries = strings(kernel, list(log_types)), strings(kernel, list(variables))
        self.log_types = kernel[0].ClpsLogTypes(self.log_entries, dialect is TextDialect.CORE, False)
        self.base = encode_dictionary_id(0, dialect)


def search_texts(kernel: Any, texts: list[bytes], pattern: bytes, dialect: TextDialect, ignore_case: bool) -> list[int]:
    """The strings that the candidates of a pattern find, evaluated as the search does."""
    store = Store(kernel, texts, dialect)

    def lookup(entries: Any, unescape: bool) -> Any:
        return lambda w: kernel[1].clps_find(entries, w.codes, w.ignore_case, unescape)

    search = TextSearch(
        dialect,
        lookup(store.log_entries, dialect is TextDialect.CLASSIC),
        lookup(store.variable_entries, False),
        len(store.log_entries),
        ignore_case=ignore_case,
        verify_question_marks=True,
    )
    query = search.query(pattern)
    if query is None:
        return []
    mask = bytearray(len(texts))
    for candidate in query.candidates or [None]:
        table: bytes | None = None
        needs: list[tuple[int, bytes | None]] = []
        codes: list[int] | None = query.pattern.codes
        if candidate is not None:
            table = bytes(i in candidate.log_types for i in range(len(store.log_entries)))
            for words in candidate.variables:
                ids = {word - store.base for word in words}
                flags = bytes(i in ids for i in range(len(store.variable_entries)))
                needs.append((next(iter(words)), None) if len(words) == 1 else (store.base, flags))
            codes = codes if candidate.verify else None
        wanted = b"\1" * len(texts)
        found, bad = kernel[1].clps_match_texts(
            store.words, store.values, store.log_types, store.variable_entries, table, needs, codes, ignore_case, wanted
        )
        assert bad == -1
        mask = bytearray(a | b for a, b in zip(mask, found, strict=True))
    return [row for row, hit in enumerate(mask) if hit]


@both
@pytest.mark.parametrize("dialect", list(TextDialect))
@given(texts=st.lists(LINES, min_size=1, max_size=5), data=st.data(), ignore_case=st.booleans())
def test_a_text_finds_itself_and_nothing_else(
    kernel: Any, dialect: TextDialect, texts: list[bytes], data: Any, ignore_case: bool
) -> None:
    wanted = data.draw(st.sampled_from(texts))
    pattern = re.sub(rb"([*?\\])", rb"\\\1", wanted)
    if b"\x11" in wanted or (dialect is TextDialect.CLASSIC and b"\\" in wanted):
        return  # bytes that the native search mixes up with its own
    found = search_texts(kernel, texts, pattern, dialect, ignore_case)
    assert found == [row for row, text in enumerate(texts) if by_regex(pattern, text, ignore_case)]


@both
@pytest.mark.parametrize("dialect", list(TextDialect))
@given(texts=st.lists(LINES, min_size=1, max_size=5), data=st.data())
@pytest.mark.slow
def test_parts_of_a_text_find_only_matches(kernel: Any, dialect: TextDialect, texts: list[bytes], data: Any) -> None:
    wanted = data.draw(st.sampled_from(texts)).replace(b"\x11", b"")
    start = data.draw(st.integers(0, len(wanted)))
    stop = data.draw(st.integers(start, len(wanted)))
    pattern = b"*" + re.sub(rb"([*?\\])", rb"\\\1", wanted[start:stop]) + b"*"
    found = search_texts(kernel, texts, pattern, dialect, False)
    assert all(by_regex(pattern, texts[row], False) for row in found)


@compiled_too
@pytest.mark.parametrize("dialect", list(TextDialect))
@given(texts=st.lists(LINES, min_size=1, max_size=5), pattern=TEXTS | LINES, ignore_case=st.booleans())
def test_implementations_find_the_same_texts(
    dialect: TextDialect, texts: list[bytes], pattern: bytes, ignore_case: bool
) -> None:
    pattern = b"*" + pattern.replace(b"\\", b"") + b"*"
    assert search_texts(PURE, texts, pattern, dialect, ignore_case) == search_texts(
        (_kernel, _kernel), texts, pattern, dialect, ignore_case
    )


@both
def test_undecodable_rows_are_reported(kernel: Any) -> None:
    store = Store(kernel, [b"took 12 ms", b"no number"], TextDialect.CORE)
    wild = Wildcard(b"*o*")
    words = struct.pack("<2Q", 0 | 99 << 24, 1)
    arguments = (store.values, store.log_types, store.variable_entries, None, (), wild.codes, False)
    assert kernel[1].clps_match_texts(words, *arguments, b"\1\1") == (b"\0\1", 0)
    assert kernel[1].clps_match_texts(words, *arguments, b"\0\1") == (b"\0\1", -1)


def test_tokens_of_patterns() -> None:
    def kinds(pattern: bytes) -> list[tuple[bytes, tuple[str, ...]]]:
        return [(token.value, token.kinds) for token in split_pattern(pattern, TextDialect.CORE)]

    assert kinds(b"took 12 ms") == [(b"12", ("integer", "float", "dictionary"))]
    assert kinds(b"*took 1.2* k=v") == [
        (b"*took", ("static", "dictionary")),
        (b"1.2*", ("integer", "float", "dictionary")),
        (b"v", ("dictionary",)),
    ]
    assert kinds(rb"a\*b \\1") == [(rb"\\1", ("dictionary",))]
    assert kinds(b"*") == [(b"*", ("static",))]
    assert stars_for_question_marks(rb"a?\?", escaped_too=False) == rb"a*\?"
    assert stars_for_question_marks(rb"a?\?", escaped_too=True) == rb"a*\*"


@both
@pytest.mark.parametrize(
    "pattern", [b"*?" * 3000 + b"x", b"*a" * 3000 + b"x", b"*" + b"a?" * 300 + b"x*", b"*a" * 3000], ids=repr
)
def test_no_pattern_takes_long(kernel: Any, pattern: bytes) -> None:
    start = time.process_time()
    wildcard = Wildcard(pattern)
    kernel[1].clps_find(strings(kernel, [b"a" * 50_000, b"a" * 20_000 + b"x"]), wildcard.codes, False, False)
    assert time.process_time() - start < 10


def test_matches_as_the_standard_library_for_simple_patterns() -> None:
    for text in ("", "a", "ab", "abc", "aXc"):
        for pattern in ("*", "a*", "*c", "a?c", "?", "a*c", "abc"):
            assert Wildcard(pattern.encode()).matches(text.encode()) == fnmatch.fnmatchcase(text, pattern)
