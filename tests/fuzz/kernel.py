"""The entry points of the kernel and of the generated readers, called with what an input says."""

from __future__ import annotations

import contextlib
import importlib
import json
import pkgutil
import struct
from array import array
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import exhume_ksy.fast
from exhume_ksy.fast._layout import LayoutError

from exhume.codecs.checksums import masked_crc32c
from exhume.formats.ark import kernel as ark_kernel
from exhume.formats.ark.columns import columns_of
from exhume.formats.ark.layout import ENTRY_SIZE
from exhume.formats.ark.lines import plain_json
from exhume.formats.ark.rbuf.decoder import decoder_for
from exhume.formats.ark.rbuf.encoder import encoder_for
from exhume.formats.ark.rbuf.idl import load_registry
from exhume.formats.ark.rbuf.program import program_for
from exhume.formats.caf import kernel as caf_kernel
from exhume.formats.clp_ir.kernel import ClpIrDecoder, ClpIrEncoder
from exhume.formats.clp_ir.patterns import compile_pattern, find_zone
from exhume.formats.clp_ir.units import EventForm as TextHow
from exhume.formats.clp_ir.units import parse_wildcard
from exhume.formats.clp_s.query import kernel as query
from exhume.formats.clp_s.query.wildcard import ANY, STAR, Wildcard
from exhume.formats.clp_s.read import kernel as read
from exhume.formats.clp_s.read import program as ops
from exhume.formats.clp_s.read.timestamps import compile_milli_pattern, compile_nano_pattern
from exhume.formats.clp_s.write import kernel as write
from exhume.formats.clp_s.write.textlog import original
from exhume.formats.clp_s.write.textlog import text_log as text_logs
from exhume.formats.clp_s.write.texts import encode_formatted_float
from exhume.formats.clp_s.write.timestamps import TimeDialect, TimestampPatterns
from exhume.formats.data_bundle.index import FileRow, plain_file_row, plain_record_row
from exhume.formats.data_bundle.layout import (
    FILE_PREFIX,
    build_escaped,
    build_record_key,
    parse_file_key,
    parse_record_key,
)
from exhume.formats.data_bundle.messages import FileMetadata, RecordMetadata
from exhume.formats.kv_ir.arrow import print_array
from exhume.formats.kv_ir.kernel import KvIrDecoder, KvIrEncoder, scan_units
from exhume.formats.kv_ir.units import AUTO, USER, EventForm
from exhume.formats.leveldb.kernel import LeveldbRows
from exhume.formats.leveldb.wire import BlockIndex, Handle, key_text
from exhume.native import kernel
from tests.ark.test_rbuf import ALL_TYPES, everything
from tests.clp_ir import streams as text_streams
from tests.textlogs import SYSTEMS
from tests.textlogs import text_log as made

MOST = 1 << 20
"""Bytes that are printed of one input."""

TIME_PATTERNS = ("yyyy-MM-dd HH:mm:ss,SSSXXX", "EEEE, d MMMM yy G hh:mm a z", "D u k K 'at' Z X", "")
ZONES = ("Europe/Berlin", "UTC", "GMT-03:30", "no such zone")
QUERIES = ("a*b", "?", "", "*", "Task*took ??", "\\*")
"""How times of a stream of text are printed, and what is searched."""


class Place(NamedTuple):
    """The place of a version, as `LeveldbRows.versions` requests it."""

    operations: int | None


def zs(data: bytes) -> None:
    """Payloads of data blocks, and lines that become such."""
    with contextlib.suppress(kernel.MalformedRecordsError):
        kernel.scan_records(data)
    with contextlib.suppress(kernel.MalformedRecordsError):
        records = kernel.split_records(data)
        assert sum(map(len, records)) <= len(data)
        kernel.split_records(kernel.frame_records(records))
    for call in (
        partial(kernel.terminate_records, data, data[:1]), partial(kernel.terminate_records, data, data[:3]),
        partial(kernel.find_range, data, data[1:3], data[2:5]), partial(kernel.find_range, data, None, data[:1]),
        partial(kernel.take_records, data, data[0] if data else 0), partial(kernel.take_records, data, len(data)),
    ):  # fmt: skip
        with contextlib.suppress(kernel.MalformedRecordsError):
            call()
    if data:
        kernel.frame_terminated(data[1:], data[:1])
        kernel.frame_terminated(data[2:], data[:2])
    kernel.next_block(data, 0, len(data), 1 << 20, 63)
    kernel.find_patterns(data, [data[at : at + size] for at, size in ((0, 4), (1, 4), (3, 1)) if data[at : at + size]])


def leveldb(data: bytes) -> None:
    """Blocks, at two ends and two budgets, and the merge of their entries."""
    end = min(len(data), data[0] * 16) if data else 0
    for stop, budget in ((end, 1 << 16), (len(data), 1 << 20), (len(data), 8)):
        kernel.block_entries(data, stop, budget)
        items, *_ = kernel.internal_entries(data, stop, budget, 0, Place(data[0] if data and data[0] & 1 else None))
        _rows(items, data)
    kernel.find_blocks(data)
    for kind in (0, 1):  # as a block whose checksum is right, of entries and of Snappy
        body = data + bytes([kind])
        found = LeveldbRows()
        sealed, handle = body + masked_crc32c(body).to_bytes(4, "little"), Handle(0, len(data))
        blocks = BlockIndex.of([(b"\xff" * 99, handle)])
        limits = MOST, MOST, MOST, MOST, MOST, -1
        if found.add_blocks(sealed, 0, blocks, None, None, data[:1], None, bytes([1]) * 256, limits):
            assert found.facts() is not None or not len(found)


def _rows(items: list[Any], data: bytes) -> None:
    rows = LeveldbRows()
    rows.add_items(items)
    rows.add_items(items[:3])
    rows.resolve((data[:2], 3, 0), 1 << 20, [(data[:1], data[1:2], 9)])
    rows.choose(False, None, data[:3] or None, data[:1])
    rows.versions(tuple, tuple("abcdefghij"), rows.places, lambda place, at: at)
    rows.json(), rows.text(True, key_text), rows.column(True), rows.tally(), rows.facts()


def caf(data: bytes) -> None:
    """Text of an index."""
    at = data[0] if data else 0
    name, _, text = data[1:].partition(b"\0")
    for start in (0, min(at, len(text))):
        caf_kernel.walk(text, start, name)
        with contextlib.suppress(UnicodeDecodeError):
            caf_kernel.caf_entries(text, start)


REGISTRY = load_registry(ALL_TYPES)
TYPES = [
    (decoder_for(REGISTRY, name), program_for(REGISTRY, name), columns_of(REGISTRY, name)) for name in REGISTRY.schemas
]


def ark_messages(data: bytes) -> None:
    """A message of each type: if the kernel accepts it, it prints the same as the decoder."""
    for decoder, program, columns in TYPES:
        programs: list[Any] = [program, *[None] * 255]
        odd = ark_kernel.ark_check([data], bytes(1), programs)
        text, left, _ = ark_kernel.ark_json(
            [0], [([data], array("Q", [7]), bytes(1), programs, [None] * 256)], 1, b"\n"
        )
        assert odd == left
        assert odd or text[:-1] == plain_json(decoder.decode(data))
        assert columns is not None
        piece: Any = ([data, data], array("Q", [7, 8]), bytes(2), programs, [None] * 256)
        made = ark_kernel.ark_columns([0, 0], [piece], columns.packed, columns.texts, MOST)
        assert made is None or not odd
        assert made is None or all(length >= nulls for length, nulls, *_ in made[3])


def ark_index(data: bytes) -> None:
    """An index, and the runs of its messages in a file that is a little too short for some of them."""
    if not data:
        return
    size, index = data[0] << 4, data[1 : 1 + (len(data) - 1) // ENTRY_SIZE * ENTRY_SIZE]
    known = bytes(number & 1 for number in range(256))
    _, _, offsets, sizes, _, _ = ark_kernel.ark_entries(index, size, known, bytes(256))
    ark_kernel.ark_statistics(index, 0, 1 << 62)
    ark_kernel.ark_faults(index, size, known, size >> 1, size, 1 << 62)
    with contextlib.suppress(ValueError):
        ark_kernel.ark_scan(index, 0)
    for start, _, first, stop in ark_kernel.ark_runs(offsets, sizes, data[0], 23) or ():
        with contextlib.suppress(ValueError):
            ark_kernel.ark_cut(bytes(size), start, offsets, sizes, first, stop)
    runs = ark_kernel.ark_runs(offsets, sizes, data[0], 23) or []
    with contextlib.suppress(ValueError):
        blobs = [bytes(max(0, min(size, end) - start)) for start, end, _, _ in runs]
        assert sum(map(len, ark_kernel.ark_stored(blobs, runs, offsets, sizes))) == sum(sizes)


def data_bundle(data: bytes) -> None:
    """A row of an index: what the kernel takes is what the readers of the specification make of it."""
    key, value = data[1 : 1 + data[0]] if data else b"", data[1 + data[0] :] if data else b""
    file, record = plain_file_row(key, value), plain_record_row(key, value)
    if file is not None:
        parts = parse_file_key(key)
        assert file == FileRow(parts.path, FileMetadata.parse(value), parts)
    if record is not None:
        assert record.meta == RecordMetadata.parse(value)
        assert parse_record_key(key) == (record.meta.shard_index, record.meta.offset)
        assert record[:2] == (record.meta.offset, record.meta.byte_offset)


Generated = Callable[..., Any]
GENERATED: list[Generated] = [
    found
    for module in pkgutil.iter_modules(exhume_ksy.fast.__path__)
    if not module.name.startswith("_")
    for name, found in vars(importlib.import_module(f"exhume_ksy.fast.{module.name}")).items()
    if name.startswith(("scan_", "flat_"))
]
"""Compiled readers of single elements and columns, and where there are none, the pure-Python ones."""
SCHEMAS = {found.__module__.rpartition(".")[2]: bytes([number, 0, 0]) for number, found in enumerate(GENERATED)}
"""The specifications that these readers come from, and the bytes that choose one of each."""


def generated(data: bytes) -> None:
    """Readers of elements: the first byte chooses which, the next two where."""
    if len(data) < 3:
        return
    reader = GENERATED[data[0] % len(GENERATED)]
    view = data[3:]
    count = (data[1],) if data[1] and reader.__name__.startswith("scan_") else ()
    for at in (0, min(data[2], len(view))):
        with contextlib.suppress(LayoutError):
            reader(view, at, len(view), *count)


def _words(data: bytes) -> tuple[bytes, int]:
    """As many 64-bit words as there are."""
    rows = len(data) // 8
    return data[: rows * 8], rows


def _dictionary(data: bytes, count: int) -> Any:
    """A dictionary of strings, from lengths of one byte."""
    out, at, entries = bytearray(), 0, 0
    while at < len(data) and entries < count:
        entry = data[at + 1 : at + 1 + data[at]]
        out += struct.pack("<Q", len(entry)) + entry
        at += 1 + data[at]
        entries += 1
    return read.ClpsStrings(bytes(out), entries)


PATTERNS = [
    (compile_milli_pattern, b"%Y %y %m %d %e %H %k %I %l %p %M %S %3 %T %B %b %a %%"),
    (compile_nano_pattern, rb'"\Y \y \m \d \e \H \k \I \p \M \S \3 \6 \9 \T \A{a,b,c,d,e,f,gg} \z{-04:30}"'),
    (compile_nano_pattern, rb"\E.\T"),
    (compile_nano_pattern, rb"\L \C \N \3"),
    (compile_milli_pattern, b"x%F"),
]


def clps_read(data: bytes) -> None:
    """Dictionaries, log types, and rows of all kinds of columns."""
    if len(data) < 4:
        return
    how, count, cut, rest = data[0], data[1], data[2] * 16, data[3:]
    # Dictionaries.
    with contextlib.suppress(ValueError):
        strings = read.ClpsStrings(rest, count, range(0, len(rest), how + 1))
        assert len(strings) == count
        assert sum(map(len, strings)) <= len(rest)
        strings.escaped()
    texts = _dictionary(rest[:cut], 32)
    with contextlib.suppress(IndexError):
        codes, ends, _ = texts.numbered(memoryview(_words(rest)[0]).cast("Q"))
        assert (len(codes), len(ends) % 4) == (4 * (len(rest) // 8), 0)
    repeated, shares = read.ClpsRepeated(texts), 1 + how % 5
    repeated.add(0, len(texts))
    first = min((at for at in map(repeated.first, range(shares), [shares] * shares) if at >= 0), default=-1)
    entries = list(texts)
    assert first == next((at for at, one in enumerate(entries) if one in entries[:at]), -1)
    assert 0 <= texts.first_not_utf8(0, len(texts)) + 1 <= len(texts)
    escaped = texts.escaped()
    # Log types.
    logs = read.ClpsLogTypes(texts, bool(how & 1), bool(how & 2))
    for index in range(len(logs)):
        assert len(logs.literals(index)) == len(logs.holes(index)) + 1
    # Rows of all kinds of columns, one by one and together.
    words, rows = _words(rest[cut:])
    variables = _words(rest)[0]
    masked = b"".join(struct.pack("<Q", word & 0xFF0000FF) for (word,) in struct.iter_unpack("<Q", words))
    patterns = read.ClpsPatterns(
        [(number, found.unit, found.shift, found.steps) for number, found in enumerate(c(p) for c, p in PATTERNS)]
    )
    idents = bytes(byte & 7 if at % 8 == 0 else 0 for at, byte in enumerate(words))
    columns = [
        (ops.LITERAL, rest[:7]), (ops.INTEGER, words), (ops.FLOAT, words), (ops.FORMATTED, words, words),
        (ops.BOOLEAN, words), (ops.STRING, masked, escaped), (ops.TEXT, masked, variables, logs, escaped),
        (ops.TEXT, words, variables, logs, texts), (ops.TIME, words, idents, patterns),
    ]  # fmt: skip
    programs = [read.ClpsProgram([column, (ops.LITERAL, b"\n")], rows) for column in columns]
    programs.append(read.ClpsProgram(columns[how % len(columns) :], rows))
    for program in programs:
        program.render(0, rows, MOST)
        program.lines(range(rows - 1, -1, -1))
        program.spans(rows // 2, rows)
    with contextlib.suppress(ValueError):
        read.ClpsProgram(columns, rows + 1)
    # The rows of three tables in the order of the input.
    order = read.clps_merge_order([words, variables, words[:16]])
    programs = [read.ClpsProgram([(ops.INTEGER, one)], len(one) // 8) for one in (words, variables, words[:16])]
    counts, none = array("Q", [one.rows for one in programs]), array("Q", bytes(24))
    tables = read.ClpsTables(b"", [], b"", -1, bytes(256), b"", b"", b"", b"", array("i", [-1] * 3), none, none, counts)
    merged = read.ClpsMerged(tables, none, [None], -1)
    merged.render(dict(enumerate(programs)), order, 0, len(order), array("q", bytes(24)), MOST)
    read.clps_undelta(words)


def clps_query(data: bytes) -> None:
    """Masks of columns, and patterns over strings."""
    if len(data) < 4:
        return
    how, cut, text, rest = data[0], data[1] * 8, data[2], data[3:]
    codes = Wildcard(rest[:text]).codes if how & 4 else [*rest[:text], *(ANY, STAR)[: how & 3]]
    words, rows = _words(rest[cut:])
    texts = _dictionary(rest[:cut], 32)
    logs = read.ClpsLogTypes(texts, bool(how & 1), False)
    query.clps_find(texts, codes, bool(how & 8), bool(how & 16))
    for op in (":", "<", "<=", ">", ">="):
        query.clps_compare_int(words, op, int.from_bytes(rest[:8], "little", signed=True))
        query.clps_compare_float(words, op, struct.unpack("<d", rest[:8].ljust(8, b"\0"))[0])
    query.clps_lookup(words, rest[:text], how & 63)
    masked = b"".join(struct.pack("<Q", word & 0xFF0000FF) for (word,) in struct.iter_unpack("<Q", words))
    constraints = [(rest[0], None), (how, rest[:text])][: how & 3] if rest else []
    table = rest[:cut] if how & 32 else None
    for column in (words, masked):
        query.clps_match_texts(
            column, _words(rest)[0], logs, texts, table, constraints, codes if how & 64 else None, bool(how & 8),
            bytes([1]) * rows,
        )  # fmt: skip


def _encoder(how: int) -> Any:
    patterns = TimestampPatterns(TimeDialect.BACKSLASH if how & 1 else TimeDialect.PERCENT, lossy=bool(how & 2))
    return write.ClpsEncoder(
        core=bool(how & 1 or how & 4), structurize=bool(how & 8), retain_floats=bool(how & 16),
        time_nodes=bool(how & 1), lossy=bool(how & 2), max_document=10_000,
        log_order_type=2 if how & 32 else None, path=(b"t",), root=b"",
        resolve_timestamp=patterns.resolve, encode_float=encode_formatted_float,
    )  # fmt: skip


def _built(encoder: Any) -> None:
    """Read all tables of an encoder."""
    encoder.nodes_list(), encoder.time_nodes_list()
    for which in range(3):
        encoder.entries(which, 0, encoder.dictionary(which)[1])
    for number in range(encoder.num_schemas()):
        encoder.schema(number)
        encoder.columns([number], 0, sum(encoder.schema(number)[3]))


def clps_write(data: bytes) -> None:
    """JSON text, encoded as a whole and in two pieces."""
    if len(data) < 2:
        return
    text = data[2:]
    encoder = _encoder(data[0])
    at = 0
    for end, final in ((len(text) * data[1] // 256, False), (len(text), True)):
        while at < end:
            _, start, stopped, whole = encoder.feed(text[:end], at, final, MOST, bool(data[0] & 64))
            assert at <= start <= stopped <= end
            if not whole:
                at = start
                break
            at = stopped
    _built(encoder)


def kv_ir(data: bytes) -> None:
    """Units of a stream, checked, printed, encoded and put into columns."""
    if not data:
        return
    text = data[1:]
    _, end, place, declared = scan_units(text, 0, MOST)
    assert 0 <= end <= place <= len(text)
    assert all(start < stop <= end for start, stop in declared)
    ways = [
        EventForm(0),
        EventForm.USER,
        EventForm.AUTO,
        EventForm.BOTH,
        EventForm.ENCODE,
        EventForm.OBJECTS | EventForm.USER | EventForm.AUTO,
        EventForm.KEYS,
        EventForm.COLUMNS,
    ]
    for how in ways:
        decoder = KvIrDecoder()
        if how & EventForm.ENCODE:
            encoder = _encoder(data[0])
            decoder.encode_into(encoder, bool(data[0] & 128))
        if how & EventForm.COLUMNS:
            places = struct.pack("<16i", *(number * (1 + data[0] % 5) % 8 - 1 for number in range(16)))
            decoder.choose_columns(b"UmUmlgb", places, places, print_array)
        at = 0
        while at < len(text):
            before = at
            _, at, _, after = decoder.run(text, at, len(text), 0, how, MOST)
            assert before <= at <= len(text)
            if after <= before:
                break
            at = after
        decoder.take()
        decoder.nodes(True), decoder.nodes(False)
        if how & EventForm.COLUMNS:
            sizes, columns, _ = decoder.take_columns()
            _filled(len(memoryview(sizes).cast("B")) // 8, b"UmUmlgb", columns)
        if how & EventForm.ENCODE:
            _built(encoder)


def _filled(rows: int, kinds: bytes, columns: list[Any]) -> None:
    """Buffers that are those of Arrow's columns."""
    for kind, column in zip(kinds.decode(), columns, strict=True):
        if column is not None:
            nulls, bits, ends, data = column
            assert 0 <= nulls < rows
            assert bits is None or len(bits) == rows + 7 >> 3
            if kind in "Um":
                found = memoryview(ends).cast("B").cast("q").tolist()
                assert len(found) == rows + 1
                assert found == sorted(found)
                assert (found[0], found[-1]) == (0, len(data))
                bytes(data).decode("utf-8")
            else:
                assert memoryview(data).nbytes == (rows + 7 >> 3 if kind == "b" else 8 * rows)


def clp_ir(data: bytes) -> None:
    """Units of a stream of text: checked, printed with times, put into columns, made into objects; and searched."""
    if len(data) < 3:
        return
    wide, text = bool(data[0] & 1), data[3:]
    form, zone = (
        compile_pattern(TIME_PATTERNS[data[1] % len(TIME_PATTERNS)]) or b"",
        find_zone(ZONES[data[1] % len(ZONES)]),
    )
    query = parse_wildcard(QUERIES[data[2] % len(QUERIES)], whole=bool(data[2] & 128), fold=bool(data[2] & 64))
    for how in (TextHow.CHECK, TextHow.TEXT, TextHow.LINES, TextHow.COLUMNS, TextHow.LENIENT, TextHow.KEYED):
        decoder = ClpIrDecoder(wide, 1_700_000_000_000)
        decoder.print_times(form, zone)
        if data[0] & 2:
            decoder.choose(-(1 << 63), (1 << 63) - 1, [query])
        at, events = 0, 0
        while at < len(text):
            before = at
            _, at, place, after = decoder.run(text, at, len(text), 0, how, MOST if data[0] & 4 else 1)
            assert before <= at <= place <= len(text)
            if how == TextHow.COLUMNS and data[0] & 8:
                events += len(decoder.take_events(tuple))
            if after <= before:
                break
            at = after
        if how == TextHow.COLUMNS:
            times, ends, messages = decoder.take_columns()
            found = memoryview(ends).cast("q").tolist()
            assert len(found) == len(times) // 8
            assert found == sorted(found)
            assert (found[-1] if found else 0) == len(messages)
            assert events + len(found) == decoder.matched
        elif how == TextHow.LINES:
            for line in decoder.take().splitlines():
                json.loads(line.decode("utf-8", "replace"))
    decoder = ClpIrDecoder(wide, 0)
    assert all(type(time) is int and type(message) is bytes for time, message in decoder.each(text, 0, len(text), 0))


def clp_ir_write(data: bytes) -> None:
    """Messages between zero bytes; the units made of them read back the same."""
    wide = bool(data[:1] and data[0] & 1)
    encoder = ClpIrEncoder(wide, 0)
    given = [(number * 61 << number % 40, message) for number, message in enumerate(data[1:].split(b"\0"))]
    for time, message in given:
        encoder.add(time, message)
    units = encoder.take()
    assert list(ClpIrDecoder(wide, 0).each(units, 0, len(units), 0)) == given


def text_log(data: bytes) -> None:
    """Split a log into records and lines of JSON, in two chunks or as a whole; joined they are its bytes again."""
    if not data:
        return
    log, cut = data[1:], len(data[1:]) * data[0] // 256
    finder = text_logs()
    first, at = finder.lines(log[:cut], 0, False)
    second, end = finder.lines(log, at, True)
    assert end == len(log)
    assert finder.lines(log, 0, True)[0] == first + second
    records = [json.loads(line) for line in (first + second).splitlines()]
    parts = [[one.get(key) for key in ("timestamp", "message", "invalid_utf8")] for one in records]
    texts = [[None if part is None else part.encode("utf-8") for part in one] for one in parts]
    assert b"".join(original(stamp or b"", message or b"", invalid) for stamp, message, invalid in texts) == log
    encoder = _encoder(data[0])
    _, start, stop, _ = finder.feed(encoder, log, 0, True, MOST)
    assert 0 <= start <= stop <= len(log)
    finder.last(log)
    _built(encoder)


def kv_ir_write(data: bytes) -> None:
    """Lines of JSON; the units made of them can be read completely."""
    for names in (None, (AUTO.encode(), USER.encode())):
        encoder = KvIrEncoder({}, {}, names)
        assert encoder.feed(data, 0) <= len(data)
        units = encoder.take()
        _, end, _, _ = KvIrDecoder().run(units, 0, len(units), 0, EventForm.BOTH, len(units) << 8)
        assert end == len(units)


def seeds(name: str) -> Iterator[bytes]:
    """Seeds of the targets here in addition to instances: strings, and words of small numbers."""
    numbers = struct.pack("<6Q", 0, 1, 2, 1 << 62, 0x213A010000000000, 0x1080000000013A)
    if name in ("clps_read", "clps_query"):
        for how in range(8):
            yield bytes([how, 3, 2]) + b"\x0ftook \x13 ms id=\x12\x03\x11 a\x02a1".ljust(32, b"\0") + numbers
    if name == "clps_write":
        for how in (0, 1, 3, 9, 25, 27, 63):
            yield (
                bytes([how, 128])
                + b'{"t":"2024-01-02T03:04:05.5Z","a":{"b":[1,-2.5e3,{"c":null}]},"d":"took 3.14 ms"}\n{}'
            )
    if name == "ark_messages":
        value = everything()
        for one in (value, value | {"children": [value], "twin": value}):
            yield encoder_for(REGISTRY, "demo::all::Everything").encode(one)
    if name == "data_bundle":
        for key in (FILE_PREFIX + build_escaped(b"a/b/") + build_escaped(b"c"), build_record_key(1, 2)):
            for row in (bytes([8, 1, 16, 2, 24, 3]), bytes([8, 1, 16, 2, 24, 7]), bytes([8, 1, 16, 2, 32, 1])):
                yield bytes([len(key)]) + key + row
    yield from _text_seeds(name)
    if name == "kv_ir_write":
        yield from (
            b'{"a":{"b":[1,-2.5e3,{"c":null}]},"d":"took 3.14 ms \\u00e9"}\n{"a":{},"e":true}\n' + both
            for both in (b"", b'{"auto_generated":{"a":1},"user_generated":{"b":"x y"}}\n')
        )
    if name == "caf":
        yield b'\0a\0"a":{"start_byte":0,"end_byte":12},"a/b\\u0041":{"start_byte":12,"end_byte":99}}}'


def _text_seeds(name: str) -> Iterator[bytes]:
    """Seeds of text, in streams and in logs."""
    if name == "clp_ir":
        for how in range(16):
            for units in (text_streams.UNITS, text_streams.WIDE_UNITS)[how & 1 : (how & 1) + 1]:
                yield bytes([how, how, how << 4]) + b"".join(units) + b"\0"
    if name == "clp_ir_write":
        for how in range(2):
            yield bytes([how]) + b"\0".join(message for _, message in text_streams.EVENTS)
    if name == "text_log":
        yield from (bytes([100]) + made(system, 4) for system in SYSTEMS)
        yield b"\x20no time\n2024-02-29 23:59:60 caf\xe9\xff\xef\xbf\xbd\r\n\tat x\0\n1762445893.001 end"
