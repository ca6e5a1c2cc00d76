"""Every broken archive that the tests of a format build, by name, and all that is said about it.

`tests/golden/<format>.json` holds what `verify` finds in each (code, severity, message, place, expected, actual; what
`--quick` leaves out), and what `salvage` makes of it.  `make golden` writes these files again; the difference is what
a change did to the words of the program, and is reviewed like code.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, chdir, contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import exhume
from exhume.errors import ExhumeError
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.recovery import SalvageMode
from tests.ark.logs import counted_guids
from tests.conftest import ROOT

FOLDER = ROOT / "tests" / "golden"

Build = Callable[[Path], Any]
"""Given a folder that is not there yet, builds the archive and returns what to open."""


@dataclass(frozen=True)
class Broken:
    """A broken archive; `bounds` lowers bounds of the code, by their dotted names, so that a small one reaches them."""

    build: Build
    limits: Limits = DEFAULT_LIMITS
    bounds: tuple[tuple[str, int], ...] = ()

    @contextmanager
    def target(self, folder: Path) -> Iterator[Any]:
        """What to open, while the bounds are in place."""
        with ExitStack() as stack:
            for name, bound in self.bounds:
                stack.enter_context(patch(name, bound))
            yield self.build(folder)


@cache
def broken(format: str) -> dict[str, Broken]:
    """The broken archives of a format by name."""
    found: dict[str, Broken] = {}
    for name, case in _BUILDERS[format]():
        assert name not in found, name
        found[name] = case if isinstance(case, Broken) else Broken(case)
    return found


def _numbered(rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """Names that occur again become `NAME 2`, `NAME 3`."""
    seen: Counter[str] = Counter()
    for name, *rest in rows:
        seen[name] += 1
        yield name if seen[name] == 1 else f"{name} {seen[name]}", *rest


def _bytes(data: bytes) -> Build:
    return lambda folder: data


def _empty_directory(folder: Path) -> Path:
    folder.mkdir()
    return folder


Named = Iterator[tuple[str, Build | Broken]]


def _zs() -> Named:
    from tests.zs import make_samples
    from tests.zs.build import File, entries, records
    from tests.zs.damaged import DAMAGED
    from tests.zs.make_samples import BROKEN, deep_index, deflate

    yield from ((name, _bytes(data)) for name, (_, data) in BROKEN.items())
    for name in ("hidden_disorder", "empty_between", "no_data", "beyond_unread_index", "dangling_before_the_end"):
        yield name.replace("_", "-"), _bytes(getattr(make_samples, name)())
    yield from ((f"index-of-level-{level}", _bytes(deep_index(level))) for level in (2, 63, 64))
    file = File(codec=b"deflate")
    index = entries((b"", *file.block(0, records(bytes(70_000)), stored=deflate(records(bytes(70_000))))))
    bomb = file.finish(file.block(1, index, stored=deflate(index)))
    yield "bomb", Broken(_bytes(bomb), Limits(payload_size=1 << 10))
    file = File(codec=b"deflate")
    places = [file.block(0, records(key), stored=deflate(records(key))) for key in (b"a", b"k" * 3000)]
    index = entries((b"", *places[0]), (b"k" * 3000, *places[1]))
    bomb = file.finish(file.block(1, index, stored=deflate(index)))
    yield "bomb in the index", Broken(_bytes(bomb), Limits(payload_size=1 << 10))
    file = File()
    root = file.block(1, entries(*((b"", file.start + 400 + n, 12) for n in range(20))))
    file.raw(bytes(600))
    yield "pending", Broken(_bytes(file.finish(root)), bounds=(("exhume.formats.zs.references.MAX_PENDING", 5),))
    file = File()
    root = file.block(1, entries((b"", *file.data(b"a"))) * 6)
    bounds = (("exhume.formats.zs.layout.MAX_INDEX_ENTRIES", 5),)
    yield "index-too-large", Broken(_bytes(file.finish(root)), bounds=bounds)
    yield "directory", _empty_directory
    yield from ((name, _bytes(data)) for name, data in DAMAGED.items())
    step = (("exhume.formats.zs.salvage.SEARCH_STEP", 7), ("exhume.formats.zs.salvage.LARGEST_GUESS", 40))
    for name in ("root and two blocks", "300 bytes between, no root", "root and a block unframed"):
        yield f"salvage: {name}, in steps", Broken(_bytes(DAMAGED[f"salvage: {name}"]), bounds=step)
    big = _bytes(DAMAGED["salvage: block of 5000"])
    yield "salvage: block of 5000 where 1000 are allowed", Broken(big, Limits(payload_size=1000))
    yield "salvage: block of 5000 where 5012 are allowed", Broken(big, Limits(payload_size=5012))
    yield "salvage: block of 5000 where 5013 are allowed", Broken(big, Limits(payload_size=5013))


def _caf() -> Named:
    from tests.caf.damaged import DAMAGED, WINDOWED
    from tests.caf.make_samples import BROKEN, DATA, VARIANTS, WHOLE, chunk

    yield from ((name, _bytes(data)) for name, (_, data) in BROKEN.items())
    yield from ((name, _bytes(data)) for name, data in VARIANTS.items())

    def sparse(size: int) -> Build:
        def build(folder: Path) -> Path:
            with folder.open("wb") as file:
                file.write(DATA)
                file.seek(size - len(WHOLE) - 4)
                file.write(chunk(WHOLE, b""))
            return folder

        return build

    yield "at-the-hard-limit", sparse(32 << 30)
    yield "above-the-hard-limit", sparse((32 << 30) + 1)
    yield "index-above-a-limit", Broken(_bytes(chunk(WHOLE)), Limits(index_size=len(WHOLE) - 1))
    yield "directory", _empty_directory
    yield from ((name, _bytes(data)) for name, data in DAMAGED.items())
    for name in WINDOWED:
        for size in (13, 60, len(WHOLE)):
            bounds = (("exhume.formats.caf.salvage.WINDOW", size),)
            yield f"salvage: {name}, windows of {size}", Broken(_bytes(DAMAGED[f"salvage: {name}"]), bounds=bounds)
    for size in (len(WHOLE) - 1, len(WHOLE), len(WHOLE) + 3):
        small = Broken(_bytes(DAMAGED["salvage: footer zeros"]), Limits(structure_size=size))
        yield f"salvage: footer zeros where {size} bytes are read", small


def _ark() -> Named:
    from exhume.formats.ark.writer import ArkWriter
    from tests.ark.test_rbuf import HOSTILE, REG, TOLERATED
    from tests.ark.test_rules import COMPRESSED, DAMAGE, VARIANTS, Log, garble, index_of_split, removed_column

    def damaged(compression: Any, damage: Callable[[Log], Any]) -> Build:
        def build(folder: Path) -> Path:
            log = Log(folder, compression)
            damage(log)
            return folder

        return build

    def message(name: str, raw: bytes) -> Build:
        def build(folder: Path) -> Path:
            with ArkWriter(folder, guids=counted_guids()) as log:
                log.channel("/a", name, REG)
                log.write("/a", 1, raw)
            return folder

        return build

    yield from ((name, damaged("none", damage)) for name, damage, *_ in _numbered(DAMAGE))
    yield from ((f"{name} compressed", damaged("lz4", damage)) for name, damage, _ in _numbered(COMPRESSED))
    yield "removed column", damaged("none", removed_column)
    few = (("exhume.findings.MAX_PER_RULE", 3),)
    for count in (2, 3, 4, 6):
        flags = partial(index_of_split, flags=[1] * count)
        yield f"flags of {count} where 3 are told", Broken(damaged("none", flags), bounds=few)
    one_by_one = (*few, ("exhume.formats.ark.verify.CHUNK_BYTES", 1))
    yield "messages one by one where 3 are told", Broken(damaged("none", garble), bounds=one_by_one)
    yield from ((name, damaged("none", damage)) for name, damage in VARIANTS.items())
    messages = [(code, name, raw) for name, raw, code, _ in HOSTILE if raw]
    messages += [(code, name, raw) for name, raw, _, code in TOLERATED if code]
    yield from ((f"{code} in a message", message(name, raw)) for code, name, raw in _numbered(messages))
    yield "empty directory", _empty_directory


def _clp_s() -> Named:
    from tests.clp_s.build import tiny
    from tests.clp_s.damaged import DAMAGED
    from tests.clp_s.directories import CASES, tree
    from tests.clp_s.test_verify import ARCHIVES, VARIANTS, endless_schema

    yield from ((code, lambda folder, make=make: make()) for code, make in {**ARCHIVES, **VARIANTS}.items())
    yield "directory", _empty_directory
    bomb = tiny(raw={"/schema_tree": bytes(1 << 20)}).build()
    yield "CLPS-501", Broken(_bytes(bomb), Limits(structure_size=1 << 16))
    steps = tuple((f"exhume.formats.clp_s.read.template.{name}", 2) for name in ("MAX_STEPS", "STEPS_PER_ENTRY"))
    yield "CLPS-502", Broken(_bytes(endless_schema()), bounds=steps)
    yield from ((f"directory: {name}", lambda folder, files=files: tree(files)) for name, files in CASES.items())
    yield from ((name, _bytes(data)) for name, data in DAMAGED.items())


def _leveldb() -> Named:
    from exhume.io.tree import MemoryTree
    from tests.leveldb.make_samples import build_database
    from tests.leveldb.test_damage import BOMB, CASES, KEY, VARIANTS, table_of

    def build(change: Callable[[dict[str, bytes]], None]) -> Build:
        def make(folder: Path) -> MemoryTree:
            files = build_database()
            change(files)
            return MemoryTree(files)

        return make

    yield from ((name, build(change)) for name, change in _numbered(CASES) if name != "LDB-502")
    yield from ((name, build(change)) for name, change in VARIANTS.items())
    yield "LDB-502", Broken(build(table_of((BOMB, KEY))), Limits(structure_size=20_000))
    few = (("exhume.findings.MAX_PER_RULE", 3),)
    bombs = table_of(*[(BOMB, KEY)] * 5)
    yield "LDB-502 five times where 3 are told", Broken(build(bombs), Limits(structure_size=20_000), bounds=few)
    yield (
        "LDB-502 three times where 3 are told",
        Broken(build(table_of(*[(BOMB, KEY)] * 3)), Limits(structure_size=20_000), bounds=few),
    )


def _databundle() -> Named:
    from exhume.testing.damage import flip
    from tests.data_bundle.make_samples import add_history, write_bundle
    from tests.data_bundle.test_damage import VARIANTS, WRONG_CLAIMS, Bundle

    def build(lie: Callable[[Bundle], None]) -> Build:
        def make(folder: Path) -> Path:
            bundle = Bundle(folder)
            lie(bundle)
            return bundle.build()

        return make

    def aged(folder: Path) -> Path:
        write_bundle(folder, shards=2)
        add_history(folder)
        return folder

    def index_damaged(file: str, offset: int) -> Build:
        def make(folder: Path) -> Path:
            bundle = Bundle(folder).build()
            path = bundle / "index" / file
            path.write_bytes(flip(path.read_bytes(), offset))
            return bundle

        return make

    yield from ((name, build(lie)) for name, lie in _numbered(WRONG_CLAIMS))
    yield from ((name, build(lie)) for name, lie in VARIANTS.items())
    yield "table of the index damaged", index_damaged("000004.sst", 20)
    yield "manifest of the index damaged", index_damaged("MANIFEST-000002", 20)
    yield "record above a limit", Broken(build(lambda bundle: None), Limits(payload_size=10))
    yield "deleted and replaced", aged


def _kv_ir() -> Named:
    from tests.kv_ir.broken import CASES

    yield from ((name, _bytes(data)) for name, data in CASES.items())


def _clp_ir() -> Named:
    from tests.clp_ir.broken import CASES

    yield from ((name, _bytes(data)) for name, data in CASES.items())


_BUILDERS: dict[str, Callable[[], Named]] = {
    "ark": _ark, "caf": _caf, "clp-ir": _clp_ir, "clp-s": _clp_s, "databundle": _databundle, "kv-ir": _kv_ir,
    "leveldb": _leveldb, "zs": _zs,
}  # fmt: skip
FORMATS = tuple(_BUILDERS)
CONTENT = {"caf": SalvageMode.FILES, "databundle": SalvageMode.FILES}
"""The mode in which salvage writes the contents; records for the others."""
MOST = 25
"""Findings that are kept of one archive; the rest are counted."""


def describe(format: str, case: Broken, folder: Path) -> dict[str, Any]:
    """What `verify` finds in a broken archive, then what `salvage` makes of it, as JSON; `folder` is for files.

    None stands for the usual case: the number of findings if all are listed, those of `--quick` if they are the same.
    """
    # Files written here need not survive a power failure, and random names would not be the same twice.
    quiet = patch("os.fsync", lambda _: None), patch("uuid.uuid4", counted_guids(1))
    with chdir(folder), quiet[0], quiet[1], case.target(Path("archive")) as target:
        found = list(exhume.verify(target, format=format, limits=case.limits))
        quick = list(exhume.verify(target, format=format, limits=case.limits, quick=True))
        return {
            "findings": [_plain(finding.to_dict()) for finding in found[:MOST]],
            "counts": Counter(finding.code for finding in found) if len(found) > MOST else None,
            "quick": [str(finding) for finding in quick[:MOST]] if quick != found else None,
            "salvage": _plain(_salvage(format, case, target)),
        }


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value))


def _salvage(format: str, case: Broken, target: Any) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for mode in (SalvageMode.ARCHIVE, CONTENT.get(format, SalvageMode.RECORDS)):
        output = Path(f"as-{mode}")
        try:
            report = exhume.salvage(target, output, format=format, limits=case.limits, mode=mode)
        except ExhumeError as error:
            out[str(mode)] = str(error)
            continue
        made = report.to_dict()
        del made["output"]
        out[str(mode)] = made if mode is SalvageMode.ARCHIVE else {"digest": _digest(output)}
    return out


def _digest(path: Path) -> str:
    """A short digest of a file, or of all files of a directory with their names; "" where nothing was written."""
    digest = hashlib.sha256()
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file.is_file():
            digest.update(file.relative_to(path).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16] if path.exists() else ""


@cache
def golden(format: str) -> dict[str, Any]:
    """What the golden file of a format says."""
    found: dict[str, Any] = json.loads((FOLDER / f"{format}.json").read_text(encoding="utf-8"))
    return found


def write(format: str) -> None:
    """Write the golden file of a format: a line per finding and per span, so that differences can be read."""
    described = {}
    for name, case in broken(format).items():
        with tempfile.TemporaryDirectory() as folder:
            parts = describe(format, case, Path(folder))
            described[name] = {part: stated for part, stated in parts.items() if stated is not None}
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{format}.json").write_text(_lines(described) + "\n", encoding="utf-8")


def _lines(value: Any, depth: int = 0) -> str:
    """JSON in which a list has a line for each of its items, and what fits into a line of its own stays there."""
    flat = json.dumps(value, ensure_ascii=False)
    if len(flat) <= 120 - 2 * depth or not isinstance(value, (dict, list)):
        return flat
    end = "\n" + "  " * depth
    if isinstance(value, list):
        return "[" + ",".join(f"{end}  {json.dumps(item, ensure_ascii=False)}" for item in value) + end + "]"
    rows = (f"{end}  {json.dumps(key, ensure_ascii=False)}: {_lines(item, depth + 1)}" for key, item in value.items())
    return "{" + ",".join(rows) + end + "}"


if __name__ == "__main__":
    for one in sys.argv[1:] or FORMATS:
        write(one)
