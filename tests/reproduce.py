"""One archive by every writer, with every codec and its default level: their content, and their bytes as digests.

    python -m tests.reproduce [--jobs N]      # prints the digests of what this machine writes
    python -m tests.reproduce --write         # rewrites the table tests/digests.json (make digests; needs qemu-user)

The inputs are the same everywhere, and so must the archives be: see docs/testing.md, "The same bytes on every machine".
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib.metadata
import io
import json
import os
import random
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import exhume
from exhume.cli.main import invoke

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "tests" / "digests.json"

ZS = {"none": (), "deflate": ("deflate",), "lzma": ("cramjam", "deflate")}
ARK = {"none": (), "lz4": ("cramjam",), "zstd": ("zstd",), "bz2": (), "lzma": ("cramjam",)}
CLP_S = ("0.3.1", "0.4.1", "0.5.0", "0.5.1")
KV_IR: dict[str, tuple[str, ...]] = {"none": (), "zstd": ("zstd",)}
CLP_IR = KV_IR
BUNDLES: dict[str, tuple[tuple[str, ...], list[str]]] = {
    "zlib": (("cramjam", "deflate"), []),
    "snappy": (("cramjam",), ["--compression", "snappy", "--shards", "2"]),
    "none": (("cramjam",), ["--compression", "none"]),
    "none, plain index": ((), ["--compression", "none", "--records", "--index-compression", "none"]),
}

# Processors that qemu plays, by the vector instructions that libraries choose by.
PROCESSORS = {"AVX2": "Haswell", "AVX": "SandyBridge"}


def libraries() -> dict[str, str]:
    """The versions that bytes may depend on."""
    import zstandard

    found = {name: importlib.metadata.version(name) for name in ("cramjam", "deflate", "isal")}
    return found | {"zstd": ".".join(map(str, zstandard.ZSTD_VERSION)), "python": "{}.{}".format(*sys.version_info)}


def archives() -> dict[str, tuple[str, ...]]:
    """Every archive that is made, with the libraries whose version may change its bytes."""
    found: dict[str, tuple[str, ...]] = {f"zs {codec}": by for codec, by in ZS.items()}
    found |= {f"clp-s {version}": ("zstd",) for version in (*CLP_S, "options", "directory")}
    found |= {f"kv-ir {codec}": by for codec, by in KV_IR.items()}
    found |= {f"clp-ir {codec}": by for codec, by in CLP_IR.items()} | {"clp-s text log": ("zstd",)}
    found |= {f"ark {codec}": by for codec, by in ARK.items()}
    found |= {f"databundle {name}": by for name, (by, _) in BUNDLES.items()}
    return found | {"caf sorted": (), "caf insertion": (), "tar": ("python",), "zip": ("python",)}


# The inputs


def phrases() -> list[bytes]:
    """Sorted records, enough for several blocks."""
    chance = random.Random(5)
    words = ["harbour", "night", "train", "quiet", "block", "reader", "sea", "carries", "follows", "ünder", "the", "a"]
    lines = {" ".join(chance.choices(words, k=5)) + f"\t{chance.randrange(10**6)}" for _ in range(16_000)}
    return sorted(line.encode() for line in lines)


def events() -> Iterator[str]:
    """JSON lines of several schemas, with the values that are hard to keep: floats, big integers, text of any kind."""
    chance = random.Random(6)
    for number in range(1500):
        event: dict[str, Any] = {"t": 1_700_000_000_000 + 37 * number, "level": chance.choice(["INFO", "ERROR"])}
        event["message"] = (
            f"request {chance.randrange(10**5)} took {chance.random() * 900:.3f} ms from 10.0.0.{number % 97}"
        )
        if number % 3 == 0:
            event["load"] = chance.random() * 10 ** chance.randrange(-9, 20)
        if number % 5 == 0:
            event["at"] = f"2024-0{number % 9 + 1}-17 0{number % 10}:30:00,{number % 1000:03d}"
        if number % 7 == 0:
            event["nested"] = {"İ": [number, None, True, {"k": 2**60 + number}], "é": "ß" * (number % 4)}
        yield json.dumps(event, ensure_ascii=number % 2 == 0)


def messages() -> Iterator[dict[str, Any]]:
    """Messages of a log with their times, which go back once: numbers of all sizes, and text that is not a number."""
    chance = random.Random(9)
    for number in range(1500):
        time = 1_700_000_000_000 + 61 * number**2 % 10**9 - (10**7 if number == 700 else 0)
        what = chance.choice(
            [f"task_{number}", "1" * chance.randrange(1, 25), f"-{chance.random() * 10**9:.4f}", "ß\\ü"]
        )
        yield {"timestamp": time, "message": f" INFO {what} done, {chance.randrange(10**12)} bytes\n"}


def text_log() -> bytes:
    """Return a log of lines before the first timestamp, stack traces, two kinds of line ends, and invalid UTF-8."""
    chance = random.Random(10)
    lines = [b"no time yet"]
    for number in range(1500):
        lines.append(b"2024-02-29 %02d:%02d:%02d,%03d " % (number // 60 % 24, number % 60, number % 60, number % 1000))
        lines[-1] += b"took %.3f ms, %d" % (chance.random() * 900, chance.randrange(10**9)) + b"\r" * (number % 4 == 0)
        lines += [b"\tat a.b.C(C.java:%d)" % number] * (number % 7 == 0) + [b"caf\xe9 \xff"] * (number % 11 == 0)
    return b"\n".join(lines)


def members() -> dict[str, bytes]:
    """Files of all sizes, names whose order depends on the locale, and sizes beyond one record."""
    chance = random.Random(7)
    found = {f"many/{n:03d}.txt": f"file {n}\n".encode() * chance.randrange(200) for n in range(60)}
    found |= {"B/upper": b"1" * 5000, "a/lower": chance.randbytes(3000), "ä/umlaut": b"\0" * 200_000, "ı/dotless": b"i"}
    return found | {"large.log": b"".join(b"%d %s\n" % (n, chance.randbytes(4).hex().encode()) for n in range(30_000))}


# The archives


def command(*words: object) -> None:
    """Run `exhume` in this process."""
    outcome = invoke([*map(str, words), "-q"])
    if int(outcome):
        raise SystemExit(f"exhume {' '.join(map(str, words))}: {outcome!r}")


def write_all(folder: Path, jobs: int) -> None:
    """Write every archive of `archives` into a folder."""
    inputs = folder / "inputs"
    inputs.mkdir()
    (inputs / "phrases.txt").write_bytes(b"\n".join(phrases()) + b"\n")
    (inputs / "events.jsonl").write_text("\n".join(events()) + "\n", encoding="utf-8")
    (inputs / "messages.jsonl").write_text("".join(json.dumps(one) + "\n" for one in messages()), encoding="utf-8")
    (inputs / "app.log").write_bytes(text_log())
    files = sorted(members().items(), reverse=jobs > 1)  # a directory lists its files in the order of their making
    for name, data in files:
        path = inputs / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    for codec in ZS:
        made = ["--no-default-metadata", "--codec", codec, "--jobs", jobs]
        command("create", "zs", *made, inputs / "phrases.txt", "-o", folder / f"zs {codec}")
    made = ["create", "clp-s", "--creator-id", "example", "--jobs", jobs, "--timestamp-key", "t", "--allow-loss"]
    for version in CLP_S:
        words = [*made, "--format-version", version, inputs / "events.jsonl", "-o", folder / f"clp-s {version}"]
        if int(invoke([*map(str, words), "-q"])) not in (0, 3):  # older versions keep less of a float
            raise SystemExit(f"clp-s {version}")
    command(*made, "--structurize-arrays", "--disable-log-order", "--min-table-size", 9999, inputs / "events.jsonl",
            "-o", folder / "clp-s options")  # fmt: skip
    command(*made, "--directory", inputs / "events.jsonl", "-o", folder / "clp-s directory")
    for codec in KV_IR:
        command("create", "kv-ir", "--codec", codec, inputs / "events.jsonl", "-o", folder / f"kv-ir {codec}")
    for codec in CLP_IR:
        command("create", "clp-ir", "--codec", codec, "--zone", "Europe/Berlin", inputs / "messages.jsonl",
                "-o", folder / f"clp-ir {codec}")  # fmt: skip
    command("create", "clp-s", "--creator-id", "example", "--jobs", jobs, "--timestamp-key", "timestamp",
            inputs / "app.log", "-o", folder / "clp-s text log")  # fmt: skip
    for codec in ARK:
        write_log(folder / f"ark {codec}", codec)
    base = ["--base-dir", inputs / "tree", inputs / "tree"]
    for name, (_, options) in BUNDLES.items():
        command("create", "databundle", "--jobs", jobs, *options, *base, "-o", folder / f"databundle {name}")
    for order in ("sorted", "insertion"):
        command("create", "caf", "--order", order, *base, "-o", folder / f"caf {order}")
    for kind in ("tar", "zip"):
        command("export", folder / "databundle zlib", "--to", kind, "-o", folder / kind)
    shutil.rmtree(inputs)


def write_log(path: Path, codec: Any) -> None:
    """An Ark log with identifiers that are counted, not drawn."""
    from exhume.formats.ark.writer import ArkWriter
    from tests.ark.logs import REGISTRY, TYPE, counted_guids

    chance = random.Random(8)
    with ArkWriter(path, name="log", compression=codec, split_items=150, guids=counted_guids()) as log:
        channels = [log.channel(f"/channel/{n}", TYPE, REGISTRY, latched=n == 0) for n in range(3)]
        for number in range(400):
            value = {"number": number, "data": b"%d " % number * chance.randrange(40)}
            channels[number % 3].write(chance.randrange(50), value)


def isal_digest() -> str:
    """Digest of the output of the one level whose bytes depend on the processor."""
    from exhume.formats.zs.encode import compressor

    compress = compressor("deflate", "isal")
    return hashlib.sha256(compress(b"\n".join(phrases()))).hexdigest()


# What they are


def digest(path: Path) -> str:
    """SHA-256 over the names and bytes of an archive's files."""
    found = hashlib.sha256()
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        name = file.relative_to(path).as_posix()
        found.update(f"{name}\0{file.stat().st_size if file.is_file() else -1}\0".encode())
        if file.is_file():
            found.update(file.read_bytes())
    return found.hexdigest()


def content(path: Path) -> str:
    """SHA-256 over the content of an archive, however it is stored."""
    found = hashlib.sha256()
    for name, data in items(path):
        found.update(b"%d\0%d\0" % (len(name), len(data)) + name + data)
    return found.hexdigest()


def items(path: Path) -> Iterator[tuple[bytes, bytes]]:
    """The records, messages or members of an archive, in its order; members in that of their names."""
    if path.name == "tar":
        with tarfile.open(path) as tar:
            files = {entry.name: tar.extractfile(entry) for entry in tar.getmembers() if entry.isfile()}
            yield from ((name.encode(), (file or io.BytesIO()).read()) for name, file in sorted(files.items()))
        return
    if path.name == "zip":
        with zipfile.ZipFile(path) as archive:
            yield from ((name.encode(), archive.read(name)) for name in sorted(archive.namelist()))
        return
    with exhume.open(path) as opened:
        reader: Any = opened
        match reader.format:
            case "zs":
                yield from ((b"", record) for record in reader.records())
            case "clp-s" | "kv-ir" | "clp-ir":
                yield from ((b"", line if isinstance(line, bytes) else line.encode()) for line in reader.json_lines())
            case "ark":
                yield from ((f"{m.time_ns} {m.channel}".encode(), m.data) for m in reader.messages())
            case _:
                yield from ((name.encode(), reader.read_member(name)) for name in sorted(reader.names()))


def report(jobs: int, *, contents: bool = False) -> dict[str, Any]:
    """Write everything into a temporary folder and say what came out."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        with contextlib.chdir(folder):  # clp-s keeps the names of its inputs as they were given
            write_all(Path(), jobs)
        found: dict[str, Any] = {
            "libraries": libraries(),
            "isal": isal_digest(),
            "bytes": {name: digest(folder / name) for name in archives()},
        }
        if contents:
            found["contents"] = {name: content(folder / name) for name in archives()}
    return found


def elsewhere(jobs: int, *wrapper: str, **environment: str) -> dict[str, Any]:
    """`report` of another process: under another environment, or on a processor that qemu plays."""
    words = [*wrapper, sys.executable, "-m", "tests.reproduce", "--jobs", str(jobs)]
    paths = os.pathsep.join(map(str, (ROOT, ROOT / "tests", *filter(None, [os.environ.get("PYTHONPATH")]))))
    done = subprocess.run(
        words,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": paths, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: exit {done.returncode}\n{done.stderr[-3000:]}")
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def played(kind: str) -> dict[str, Any]:
    """`report` on a processor that qemu plays."""
    return elsewhere(1, "qemu-x86_64", "-cpu", PROCESSORS[kind])


def main() -> None:
    """Print the report, or write the table."""
    parser = argparse.ArgumentParser(description="What every writer writes, as digests.")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="rewrite tests/digests.json")
    options = parser.parse_args()
    found = report(options.jobs, contents=options.write)
    if not options.write:
        print(json.dumps(found))  # noqa: T201 - that is what it is for
        return
    isal = {"AVX-512": found["isal"]}
    for kind in PROCESSORS:
        other = played(kind)
        if other["bytes"] != found["bytes"]:
            raise SystemExit(f"{kind}: other bytes")
        isal[kind] = other["isal"]
    if len(set(isal.values())) < len(isal):
        raise SystemExit("this processor has no AVX-512: make the table on one that has")
    table = {"libraries": found["libraries"], "archives": {}, "isal": isal}
    for name, by in archives().items():
        table["archives"][name] = {"by": by, "sha256": found["bytes"][name], "content": found["contents"][name]}
    TABLE.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
