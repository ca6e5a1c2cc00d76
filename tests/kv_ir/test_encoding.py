"""Events into the columns of a clp-s archive: both kernels build the same, and floats lose no digit on the way."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from exhume_ksy.facts.clp_kv_ir import Tags
from hypothesis import given
from hypothesis import strategies as st

from exhume.formats.clp_s.write.encoder import Encoder
from exhume.formats.clp_s.write.kernel import ClpsEncoder
from exhume.formats.clp_s.write.pykernel import ClpsEncoder as PureEncoder
from exhume.formats.kv_ir import pykernel
from exhume.formats.kv_ir.kernel import KvIrDecoder
from exhume.formats.kv_ir.layout import build_integer, build_real, build_text
from exhume.formats.kv_ir.units import EventForm, Status
from tests.clp_s.test_writer_encoders import build, state

from .streams import FALSE, NULL, TRUE, apart, auto, event, user

FLOATS = [
    *(0.0, -0.0, 0.5, 1 / 3, -1 / 3, -2.25e-08, 2.5e-10, 1e-300, 5e-324, 1e15, 1e16, 1e22, 1.7976931348623157e308),
    *(1_700_000_000.25, 1_700_000_000.123456789, -1.5, 123456789.125, 0.1 + 0.2, 9007199254740993.0, 1e9, -5e-09),
]  # fmt: skip

KEYS = [
    make(type, name)
    for make in (auto, user)
    for type, name in ((Tags.NODE_REAL, b"n"), (Tags.NODE_INTEGER, b"n"), (Tags.NODE_TEXT, b"n"),
                       (Tags.NODE_BOOLEAN, b"b"), (Tags.NODE_OBJECT, b"o"))
]  # fmt: skip
"""In each space node 1 is a float, 2 an integer and 3 a string of the same name; 4 a boolean, 5 an object."""

WAYS: dict[str, dict[str, Any]] = {
    "as clp-s": {"root": b""},
    "every digit": {"keep": True, "root": b""},
    "0.4.1": {"time_nodes": False, "root": b"@"},
    "0.4.1, every digit": {"time_nodes": False, "keep": True, "root": b""},
    "0.3.1": {"time_nodes": False, "retain_floats": False, "core": False, "keep": True, "root": b"@"},
}
"""How an archive is built; the timestamp key is `n` below `root`."""

Pair = tuple[int, bytes]

values = (
    st.floats().map(lambda number: (1, build_real(number)))
    | st.sampled_from(FLOATS).map(lambda number: (1, build_real(number)))
    | st.integers(-(1 << 63), (1 << 63) - 1).map(lambda number: (2, build_integer(number)))
    | st.sampled_from([b"1700000000.25", b"2024-01-02T03:04:05Z", b"x"]).map(lambda text: (3, build_text(text)))
    | st.sampled_from([(3, apart(b"took \x12 and \x11", b"a1", -7)), (4, TRUE), (4, FALSE), (5, NULL)])
)
pairs = st.lists(values, max_size=3, unique_by=lambda pair: 0 if pair[0] < 4 else pair[0])


def encoded(data: bytes, way: str, decoder: Callable[[], Any], make: Callable[..., Encoder]) -> dict[str, Any]:
    """What is built of units, and what was refused."""
    options: dict[str, Any] = {"core": True, "structurize": False, "retain_floats": True, "time_nodes": True}
    options |= {"lossy": True, "log_order_type": 11, **WAYS[way]}
    keep = options.pop("keep", False)
    encoder, patterns = build(make, options, path=(b"n",))
    units = decoder()
    units.encode_into(encoder, keep)
    at, refused = 0, list[Any]()
    while True:
        status, at, _, after = units.run(data, at, len(data), 0, EventForm.ENCODE, 1 << 60)
        if status != Status.RECORD:
            assert (status, at) == (Status.MORE, len(data))
            return {**state(encoder, patterns), "refused": refused}
        refused.append((at, units.refused))
        at = after


@pytest.mark.parametrize("way", WAYS)
@given(events=st.lists(st.tuples(pairs, pairs), min_size=1, max_size=6))
def test_both_kernels_build_the_same(way: str, events: Sequence[tuple[list[Pair], list[Pair]]]) -> None:
    data = b"".join(KEYS) + b"".join(event(of_logger, of_user) for of_logger, of_user in events)
    ours = encoded(data, way, KvIrDecoder, ClpsEncoder)
    assert repr(ours) == repr(encoded(data, way, pykernel.KvIrDecoder, PureEncoder))  # as text: NaN differs from itself


@pytest.mark.parametrize("pure", [False, True])
@pytest.mark.parametrize("space", [auto, user])
def test_floats_are_stored_with_every_digit(space: Callable[..., bytes], pure: bool) -> None:
    kernel = (pykernel.KvIrDecoder, PureEncoder) if pure else (KvIrDecoder, ClpsEncoder)
    found = [(1, build_real(number)) for number in FLOATS]
    data = space(Tags.NODE_REAL, b"x") + b"".join(
        event([pair], []) if space is auto else event([], [pair]) for pair in found
    )
    column = encoded(data, "as clp-s", *kernel)["columns"]
    assert column[8 * len(FLOATS) :] == struct.pack(f"<{len(FLOATS)}d", *FLOATS)  # after the numbers of the records


@pytest.mark.parametrize("pure", [False, True])
@pytest.mark.parametrize("text", [b"[1", b"{}", b"[1]]", b"[y z]", b"[1,\n2]", b"[", b""])
def test_arrays_that_are_not_json_are_no_records(text: bytes, pure: bool) -> None:
    make, build_archive = (pykernel.KvIrDecoder, PureEncoder) if pure else (KvIrDecoder, ClpsEncoder)
    options = {"core": True, "structurize": False, "retain_floats": True, "time_nodes": True, "lossy": True}
    encoder, _ = build(build_archive, {**options, "log_order_type": 11})
    units = make()
    units.encode_into(encoder, True)
    keys = auto(Tags.NODE_ARRAY, b"a") + user(Tags.NODE_ARRAY, b"b")
    bad = [(1, apart(text))]
    for data in (keys + event(bad, []), event([], bad)):
        status, *_ = units.run(data, 0, len(data), 0, EventForm.ENCODE, 1 << 60)
        assert status == Status.ARRAY
        assert encoder.records == 0
    data = event([(1, apart(b"[1, inf]"))], [(1, apart(b"[ ]"))])
    assert units.run(data, 0, len(data), 0, EventForm.ENCODE, 1 << 60)[0] == Status.MORE
    assert encoder.records == 1
