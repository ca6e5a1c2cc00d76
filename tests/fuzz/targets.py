"""Every target: what it runs on an input, what it begins with, and whether it is for the compiled kernel."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from exhume.compiler.instances.draw import NoneDrawnError, draw, seal, spoil
from exhume.compiler.refusal import UnsupportedError
from exhume.testing.strategies import CHECKSUMS
from tests.fuzz import archives, kernel, texts
from tests.fuzz.archives import verb
from tests.fuzz.guard import SIZE
from tests.toolchain.damage import SeededRandom
from tests.toolchain.differential import model

Function = Callable[[bytes], object]


class Target(NamedTuple):
    """One entry to fuzz: `make` takes a folder of its own, and returns the function that takes an input.

    Instances of `schemas` are seeds, after the bytes listed for each; `compiled`: the work is done by compiled code, so
    that only a kernel that counts its blocks shows new behavior to the engine.
    """

    make: Callable[[Path], Function]
    seeds: Callable[[], Iterator[bytes]]
    schemas: Mapping[str, bytes] = {}
    compiled: bool = False


def _verb(*variants: str) -> Target:
    return Target(verb(*variants), archives.seeds, archives.WHOLE)


def _text(make: Callable[[Path], Function], *schemas: str) -> Target:
    return Target(make, partial(texts.seeds, make.__name__), dict.fromkeys(schemas, b""))


def _kernel(function: Function, schemas: Mapping[str, bytes]) -> Target:
    return Target(lambda place: function, partial(kernel.seeds, function.__name__), schemas, compiled=True)


TARGETS: dict[str, Target] = {
    "open": _verb("list {i} --sections", "identify {i}", "payload {i} header", "identify {i} --json"),
    "info": _verb("info {i}", "info {i} --json", "info {i} --stats"),
    "list": _verb("list {i}", "list {i} --long", "list {i} --json", "list {i} --ndjson --sections",
                  "list {i} --all-versions"),
    "cat": _verb("cat {i}", "cat {i} --json", "cat {i} --ndjson", "cat {i} --skip-damaged", "cat {i} --ordered",
                 "cat {i} --pairs both"),
    "extract": _verb("extract {i} -o {o}", "extract {i} --tar {o}", "extract {i} -o {o} --overwrite --jobs 2"),
    "search": _verb("search {i} * --count", "search {i} a", "search {i} level:*o* --ordered",
                    "search {i} a>1 --explain-plan"),
    "verify": _verb("verify {i}", "verify {i} --json", "verify {i} --quick"),
    "explain": _verb("explain {i}", "explain {i} --json", "explain {i} --html {o}", "explain {i} --at 40",
                     "explain {i} --coverage"),
    "map": _verb("map {i} --svg {o}", "map {i} --svg {o} --no-verify"),
    "salvage": _verb("salvage {i} -o {o}", "salvage {i} -o {o} --jsonl", "salvage {i} -o {o} --as-files",
                     "salvage {i} -o {o} --json"),
    "carve": _verb("carve {i}", "carve {i} -o {o}", "carve {i} --json --min-confidence 0"),
    "recode": _verb("recode {i} -o {o}", "recode {i} -o {o} --stored"),
    "diff": _verb("diff {i} {s}/data_bundle/flat", "diff {s}/data_bundle/flat {i} --content --json"),
    "export": _verb("export {i} --to jsonl", "export {i} --to tar -o {o}", "export {i} --to csv"),
    "kql": _text(texts.kql),
    "times": _text(texts.times),
    "idl": _text(texts.idl),
    "rbuf": _text(texts.rbuf, "ark_rbuf"),
    "caf_index": _text(texts.caf_index),
    "json_input": _text(texts.json_input),
    "fsspec": _text(texts.fsspec_paths),
    "ksy": _text(texts.ksy),
    "kernel_zs": _kernel(kernel.zs, {"zs_data_block": b"", "zs_index_block": b""}),
    "kernel_leveldb": _kernel(kernel.leveldb, {"leveldb_block": b"", "leveldb_data_block": b""}),
    "kernel_caf": _kernel(kernel.caf, {}),
    "kernel_clps_read": _kernel(kernel.clps_read, {"clp_s_dictionary_entries": b"\1\3\2"}),
    "kernel_clps_query": _kernel(kernel.clps_query, {"clp_s_dictionary_entries": b"\1\3\2"}),
    "kernel_clps_write": _kernel(kernel.clps_write, {}),
    "kernel_kv_ir": _kernel(kernel.kv_ir, {"clp_kv_ir": b"\0"}),
    "kernel_kv_ir_write": _kernel(kernel.kv_ir_write, {}),
    "kernel_clp_ir": _kernel(kernel.clp_ir, {"clp_ir": b"\6\1\0"}),
    "kernel_clp_ir_write": _kernel(kernel.clp_ir_write, {}),
    "kernel_text_log": _kernel(kernel.text_log, {}),
    "kernel_ark_messages": _kernel(kernel.ark_messages, {"ark_rbuf": b""}),
    "kernel_ark_index": _kernel(kernel.ark_index, {"ark_split": b"\x10"}),
    "kernel_data_bundle": _kernel(kernel.data_bundle, {"data_bundle_key": b"\x10"}),
    "kernel_generated": _kernel(kernel.generated, kernel.SCHEMAS),
}  # fmt: skip
"""Each entry that takes third-party input."""


def size_of(name: str) -> int:
    """Bytes of an input at most: the loops of the kernel are the same over many bytes as over some."""
    return SIZE // 4 if TARGETS[name].compiled else SIZE


def corpus(name: str, drawn: int = 8) -> Iterator[bytes]:
    """What a target begins with: samples, and instances of specifications, whole and nearly so, the same every time."""
    target = TARGETS[name]
    for seed in target.seeds():
        if len(seed) <= SIZE:
            yield seed
    for schema, head in target.schemas.items():
        for data in _instances(schema, drawn):
            if len(head + data) <= SIZE:
                yield head + data


def _instances(schema: str, count: int) -> Iterator[bytes]:
    type = model().schemas[schema]
    dice = SeededRandom(f"fuzz {schema}")
    for number in range(count):
        with contextlib.suppress(NoneDrawnError, UnsupportedError):
            found = seal(type, draw(type, dice, None), CHECKSUMS)
            yield found.data if number % 2 else spoil(type, found, dice).data


def mutate(data: bytes, chance: random.Random) -> bytes:
    """Some small changes, as an engine makes them that does not see what runs."""
    out = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at = chance.randint(0, len(out))
        match chance.randint(0, 3):
            case 0:
                out[at : at + 1] = bytes([chance.randint(0, 255)])
            case 1:
                del out[at : at + chance.choice((1, 2, 8))]
            case 2:
                out[at:at] = chance.randbytes(chance.choice((1, 4)))
            case _:
                out[at : at + 8] = chance.choice((b"\0", b"\xff")) * chance.choice((1, 2, 4, 8))
    return bytes(out[:SIZE])
