"""What is given as text or as one small file: queries, times, schemas, JSON, paths, specifications."""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import exhume
from exhume.errors import QueryError, Span
from exhume.formats.ark.rbuf.decoder import decoder_for
from exhume.formats.ark.rbuf.encoder import encoder_for
from exhume.formats.ark.rbuf.idl import load_registry
from exhume.formats.caf.index import parse_index, parse_partial, parse_strict
from exhume.formats.clp_s.query.kql import parse
from exhume.formats.clp_s.query.operand import parse_with_pattern
from exhume.formats.clp_s.read.timestamps import PatternSet
from exhume.formats.clp_s.write.timestamps import TimeDialect, TimestampPatterns, compile_pattern, parse_timestamp
from tests.ark.test_rbuf import ALL_TYPES, everything
from tests.conftest import ROOT
from tests.fuzz import archives, expressions
from tests.fuzz.archives import SAMPLES, Folder, command

ROBOT = (ROOT / "examples/ark/robot.idl").read_text(encoding="utf-8")
EVERYTHING = "demo::all::Everything"
Function = Callable[[bytes], object]


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def kql(place: Path) -> Function:
    """A query: parsed, and asked of a small archive."""
    archive = exhume.open(SAMPLES / "clp_s" / "demo.clps", format="clp-s")

    def run(data: bytes) -> None:
        text = _text(data)
        parse(text)
        with contextlib.suppress(QueryError):
            list(archive.search(text, ignore_case=bool(len(data) & 1)).lines())

    return run


def times(place: Path) -> Function:
    """A time, a pattern, and both: read, compiled, printed."""
    del place

    def run(data: bytes) -> None:
        first, _, second = data.partition(b"\0")
        text, pattern = _text(first), _text(second)
        for dialect in TimeDialect:
            parsed = parse_timestamp(text, dialect, quoted=len(first) % 2 == 0)
            if parsed is not None:
                compile_pattern(parsed.pattern, dialect)
            with contextlib.suppress(UnicodeDecodeError):
                TimestampPatterns(dialect, lossy=True).resolve(first, True)
        with contextlib.suppress(ValueError, re.error):
            parse_with_pattern(text, pattern)
        for nanoseconds in (False, True):
            patterns = PatternSet.build({0: first, 1: second}, nanoseconds)
            for ident in patterns.compiled:
                for epoch in (0, -1, 1_700_000_000_123, -(1 << 63), (1 << 63) - 1, len(data) << 40):
                    with contextlib.suppress(exhume.ExhumeError):
                        patterns.render(ident, epoch)

    return run


def idl(place: Path) -> Function:
    """The text of a schema, as IDL or as JSON; where it is one, readers and writers of its types are made."""
    del place

    def run(data: bytes) -> None:
        registry = load_registry(_text(data))
        for name in [*registry.schemas][:8]:
            value, _ = decoder_for(registry, name).decode_prefix(data)
            encoder_for(registry, name).encode(value)

    return run


def rbuf(place: Path) -> Function:
    """A message, of each type of a schema with everything in it."""
    del place
    registry = load_registry(ALL_TYPES)
    types = [(decoder_for(registry, name), encoder_for(registry, name)) for name in registry.schemas]

    def run(data: bytes) -> None:
        for decoder, encoder in types:
            with contextlib.suppress(exhume.ExhumeError):
                encoder.encode(decoder.decode(data, notes=[]))

    return run


def caf_index(place: Path) -> Function:
    """The JSON of an index, read as it should be, strictly, and as far as it goes."""
    del place

    def run(data: bytes) -> None:
        where = Span("index", 0, len(data))
        parse_partial(data, where)
        with contextlib.suppress(exhume.ExhumeError):
            parse_strict(data, where)
        parse_index(data, where)

    return run


def json_input(place: Path) -> Function:
    """Lines of JSON that become an archive of clp-s or a stream of KV-IR, which is then printed."""
    os.chdir(place)
    ways = [
        "create clp-s lines -o made --creator-id x", "create clp-s lines -o made --creator-id x --timestamp-key t",
        "create clp-s lines -o made --creator-id x --structurize-arrays", "create kv-ir lines -o made",
    ]  # fmt: skip

    def run(data: bytes) -> None:
        (place / "lines").write_bytes(data[1:])
        try:
            command(ways[data[0] % len(ways) if data else 0].split())
            command(["verify", "made"])
            command(["cat", "made"])
        finally:
            (place / "made").unlink(missing_ok=True)

    return run


def fsspec_paths(place: Path) -> Function:
    """Paths of members, in file systems of archives that are the input, and of one that is whole."""
    from exhume import filesystems as fs

    folder = Folder(place)
    known = {
        "caf": fs.CafFileSystem,
        "databundle": fs.DataBundleFileSystem,
        "clp-s": fs.ClpSFileSystem,
        "zs": fs.ZsFileSystem,
    }

    def ask(system: Any, path: str) -> None:
        for call in (
            system.info,
            system.ls,
            system.find,
            system.cat,
            system.exists,
            system.glob,
            system.size,
            system.walk,
        ):
            with contextlib.suppress(exhume.ExhumeError, FileNotFoundError, IsADirectoryError, NotADirectoryError):
                found = call(path)
                if call == system.walk:
                    list(found)

    whole = {
        "caf": known["caf"](fo=str(SAMPLES / "caf/sorted.caf"), skip_instance_cache=True),
        "databundle": known["databundle"](fo=str(SAMPLES / "data_bundle/flat"), skip_instance_cache=True),
    }

    def run(data: bytes) -> None:
        name, _, rest = data.partition(b"\0")
        path = _text(name)
        for system in whole.values():
            ask(system, path)

        def names(archive: Path, format: str) -> None:
            if format not in known:
                return
            system = known[format](fo=str(archive), skip_instance_cache=True)
            try:
                ask(system, path)
                ask(system, "")
                for one in system.find("")[:4]:
                    ask(system, one)
            finally:
                system.close()

        folder.with_archive(rest, names)

    return run


def ksy(place: Path) -> Function:
    """A foreign specification: compiled, and its readers run on some bytes.

    Bytes that begin with zero choose expressions from a grammar instead, which are executed with a canary in reach.
    """
    shutil.copytree(ROOT / "tests/toolchain/foreign", place / "foreign")
    file = place / "foreign" / "input.ksy"

    def run(data: bytes) -> None:
        if data.startswith(b"\0"):
            texts, _ = expressions.batch(expressions.Grammar(expressions.from_bytes(data[1:])), 1)
            expressions.execute(texts, expressions.inputs(random.Random(len(data)), 4))
            return
        file.write_bytes(data)
        command(["compile", str(file), "-o", str(place / "package"), "--overwrite"])
        found = exhume.compile_ksy(file)
        for size in (0, 16, 256):
            with contextlib.suppress(exhume.ExhumeError):
                found.read(data[:size])
                list(exhume.explain(data[:size], ksy=found))

    return run


def seeds(name: str) -> Iterator[bytes]:
    """What the targets here begin with."""
    if name == "kql":
        yield from (line.encode() for line in QUERIES)
    elif name == "times":
        yield from (line.encode() for line in TIMES)
    elif name == "idl":
        yield from (
            text.encode()
            for text in (ALL_TYPES, ROBOT, load_registry(ALL_TYPES).to_json(), load_registry(ROBOT).to_json())
        )
    elif name == "rbuf":
        registry = load_registry(ALL_TYPES)
        value = everything()
        yield encoder_for(registry, EVERYTHING).encode(value)
        yield encoder_for(registry, EVERYTHING).encode(value | {"children": [value], "twin": value})
    elif name == "fsspec_paths":
        for number, seed in enumerate(archives.seeds()):
            yield (b"files/letters", b"*", b"a/../b", b"")[number % 4] + b"\0" + seed
    elif name == "caf_index":
        yield from (file.read_bytes()[:-4] for file in SAMPLES.glob("caf/**/*.caf"))
    elif name == "json_input":
        for file in SAMPLES.glob("clp_s/*.jsonl"):
            yield from (bytes([way]) + file.read_bytes() for way in range(4))
    elif name == "ksy":
        yield from (b"\0" + random.Random(number).randbytes(40) for number in range(40))
        yield from (file.read_bytes() for file in sorted((ROOT / "tests/toolchain/foreign").glob("*.ksy")))
        yield from (file.read_bytes() for file in sorted((ROOT / "ksy").glob("*.ksy")) if file.stat().st_size < 4096)


QUERIES = [
    "level: ERROR", "*", "a: *b?c* AND NOT (b >= 3 OR c.d: null)", 'timestamp > date("2024-01-02T03:04:05Z")',
    'ts < timestamp("2024", "\\\\Y")', "a: {b: 1 and c: true}", "@level: x", '"took 3.14 ms"', "a.\\*: 1e3",
    "msg: -0.5",
]  # fmt: skip
TIMES = [
    "2024-01-02T03:04:05.123Z\0\\Y-\\m-\\dT\\H:\\M:\\S.\\3\\z{Z}", "1700000000.25\0\\E.\\T",
    "-12\0%Y-%m-%d %H:%M:%S,%3",
    "Mon, 02 Jan 2024 03:04:05 PM\0%a, %d %b %Y %I:%M:%S %p", "1700000000000\0\\A{a,b,c,d,e,f,g} \\B{1,2}",
]  # fmt: skip
