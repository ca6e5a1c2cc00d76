"""Every verb that reads, on every sample: from a bucket it prints, writes and exits as it does locally."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import exhume
from exhume.testing.damage import flip
from tests.archives import label, own_archives
from tests.conftest import Ran
from tests.remote.gcs import GcsStore
from tests.remote.store import Store
from tests.sizes import THOROUGH

Cli = Callable[..., Ran]
ARCHIVES = own_archives()
FIRST = list({path.parent.name: path for path in reversed(ARCHIVES)}.values())
OTHERS = [path for path in ARCHIVES if path not in FIRST][::3]
"""What the first of each format leaves over, which the other store has."""
"""One sample of each format."""


class Both:
    """A command run on a local archive and on its copy in a store; `target` is the archive's place in its words."""

    def __init__(self, cli: Cli, path: Path, url: str, store: Store | GcsStore, tmp_path: Path) -> None:
        self.cli, self.path, self.url, self.store, self.folder = cli, path, url, store, tmp_path
        self.done = 0

    def run(self, verb: str, *words: object, second: tuple[Path, str] | None = None) -> Ran:
        """`{out}` among the words is a place to write; the files written there are compared too."""
        sides: list[tuple[object, object]] = []
        for name, target in (("local", str(self.path)), ("remote", self.url)):
            out = self.folder / name / str(len(list(self.folder.glob(f"{name}/*"))))
            out.parent.mkdir(exist_ok=True)
            more = list(self.store.arguments) if name == "remote" else []
            other = [str(second[name == "remote"])] if second else []
            args = [str(word).replace("{out}", str(out)) for word in words]
            ran = self.cli(verb, target, *other, *args, *more)
            names = [target, str(out), *other]
            sides.append(((ran.code, plain(ran.out, names), plain(ran.err.encode(), names)), content(out, names)))
            last = ran
        assert sides[0] == sides[1], (verb, words)
        self.done += last.code == 0
        return last


def plain(text: bytes, names: list[str]) -> bytes:
    """Output without names, without alignment that depends on their length, and without values that differ by run."""
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(json.dumps(name)[1:-1].encode(), b"@")
        text = text.replace(name.encode(), b"@").replace(name.rsplit("/", 1)[-1].encode() + b"-", b"@-")
    text = re.sub(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", b"GUID", text)
    return re.sub(rb" +", b" ", text)


def content(path: Path, names: list[str]) -> object:
    """The written files by name (without identifiers and times that differ by run)."""
    if path.is_file():
        return plain(path.read_bytes(), names)
    files = {p.relative_to(path).as_posix(): p.read_bytes() for p in sorted(path.rglob("*")) if p.is_file()}
    return {
        name: data
        for name, data in files.items()
        if not (name.endswith(("LOG", "IDENTITY")) or name.startswith("manifests/"))
    }


def every_verb(both: Both) -> None:
    with exhume.open(both.path) as archive:
        id, section = archive.format, next(s.name for s in archive.sections() if s.span.size)
        many = both.path.name == "amended"
        members = isinstance(archive, exhume.MemberArchive)
    both.run("identify", "--json")
    both.run("info")
    both.run("info", "--json", "--stats")
    both.run("list", "--json")
    both.run("list", "--long")
    both.run("list", "--sections")
    both.run("verify")
    both.run("verify", "--json", "--jobs", "2")
    both.run("payload", section)
    both.run("map")
    both.run("map", "--svg", "{out}")
    both.run("explain", "--coverage")
    both.run("explain", "--at", "3", *(["--file", "CURRENT"] if id == "leveldb" else []))
    both.run("cat")
    both.run("carve", "--json")
    both.run("salvage", "--json", "-o", "{out}")
    both.run("search", {"clp-s": "*: *", "ark": "*"}.get(id, ""), "--json")
    both.run("recode", "-o", "{out}")
    both.run("recode", "--stored", "-o", "{out}")
    for kind in ("jsonl", "csv", "parquet", "tar", "mcap"):
        both.run("export", "--to", kind, "-o", "{out}")
    both.run("extract", "-o", "{out}")
    if members:
        both.run("export", "--to", "zip", "-o", "{out}")
    assert both.done >= (12 if many else 17), both.done


@pytest.mark.parametrize("path", ARCHIVES if THOROUGH else OTHERS, ids=label)
@pytest.mark.slow
def test_s3(path: Path, store: Store, exhume_cli: Cli, tmp_path: Path) -> None:
    every_verb(Both(exhume_cli, path, store.put(f"verbs/{path.parent.name}/{path.name}", path), store, tmp_path))


@pytest.mark.parametrize("path", FIRST, ids=label)
@pytest.mark.slow
def test_google_cloud_storage(path: Path, gcs: GcsStore, exhume_cli: Cli, tmp_path: Path) -> None:
    every_verb(Both(exhume_cli, path, gcs.put(f"verbs/{path.parent.name}/{path.name}", path), gcs, tmp_path))


@pytest.mark.parametrize("path", FIRST, ids=label)
@pytest.mark.slow
def test_damaged(path: Path, store: Store, exhume_cli: Cli, tmp_path: Path) -> None:
    copy = tmp_path / path.name
    if path.is_file():
        copy.write_bytes(flip(path.read_bytes(), path.stat().st_size // 2))
    else:
        for file in (p for p in path.rglob("*") if p.is_file()):
            (copy / file.relative_to(path)).parent.mkdir(parents=True, exist_ok=True)
            (copy / file.relative_to(path)).write_bytes(file.read_bytes())
        largest = max((p for p in copy.rglob("*") if p.is_file()), key=lambda p: p.stat().st_size)
        largest.write_bytes(flip(largest.read_bytes(), largest.stat().st_size // 2))
    both = Both(exhume_cli, copy, store.put(f"damaged/{path.parent.name}/{path.name}", copy), store, tmp_path)
    both.run("verify", "--json")
    both.run("salvage", "--json", "-o", "{out}")
    both.run("cat")
    both.run("explain", "--coverage")
    both.run("map")
    assert json.loads(exhume_cli("verify", copy, "--json").out)["findings"]


def test_diff(store: Store, samples: Path, exhume_cli: Cli, tmp_path: Path) -> None:
    left, right = samples / "data_bundle" / "zlib", samples / "data_bundle" / "flat"
    urls = {path: store.put(f"diff/{path.name}", path) for path in (left, right)}
    both = Both(exhume_cli, left, urls[left], store, tmp_path)
    assert both.run("diff", "--json", second=(left, urls[left])).code == 0
    both.run("diff", "--content", second=(right, urls[right]))
